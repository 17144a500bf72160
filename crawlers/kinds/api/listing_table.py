"""Reads the table ``[list]`` of a declaration: where the records are, and how the listing goes on."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Literal, get_args, get_type_hints
from urllib.parse import parse_qsl, urlsplit

from crawlers.exceptions import RulesError
from crawlers.kinds.api.declaration import PLACES, WALKS, Count, Listing, Paging, Restart, Size, Variable, Window
from crawlers.kinds.api.expressions import Template, template
from crawlers.kinds.api.table import PORTAL, SECRETS
from crawlers.records.addresses import host
from crawlers.safety.redact import redact

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from crawlers.kinds.api.declaration import Value, Values
    from crawlers.kinds.api.table import Table

SINCE = PORTAL | {"since", "since_day", "since_ms", "since_s"}
_SECRET = re.compile(
    r"(?i)auth(?!or)|cookie|token|secret|passw|pwd|credential|(?:api|access|app|subscription)[_-]?key|^key$"
)
"""Names of headers and parameters that have secrets."""
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_PAGED = ("offset", "page", "token", "last-id", "search-after")
_OF_PAGING = {
    "param": _PAGED,
    "first": ("offset", "page"),
    "token": ("token",),
    "last": ("last-id", "search-after"),
    "url": ("token",),
}
"""The kinds of paging that a key of ``[list.paging]`` means something to; the others mean something to all."""
_NOT_WALKED = ("params", "body", "total", "next", "paging", "window", "since", "count")
"""Keys of ``[list]`` that say how pages are requested; a walk has none."""


def listing(table: Table) -> Listing:
    """Return what the table says; a mistake in it is a `RulesError`."""
    _check_pages(table)
    body, is_post = table.table("body"), table.left.get("method") == "POST"
    url = table.address("url", PORTAL | set(PLACES))
    paging = _paging(table.required("paging"), url) if "walk" not in table.left else Paging(kind="none")
    table.choice("method", ("GET", "POST"))
    found = table.read(
        Listing,
        url=url,
        method="POST" if body is not None or is_post else "GET",
        params=_values(table.table("params"), PORTAL),
        headers=_headers(table.table("headers")),
        body=_body(body) if body else {} if is_post else None,
        join=table.typed("join", str, "") or None,
        hosts=_hosts(table),
        paging=paging,
        window=table.part("window", _window),
        since=table.part("since", _since) or {},
        count=table.part("count", lambda count: count.read(Count)),
        walk=table.choice("walk", WALKS),
    )
    _agree(found, table)
    return found


def _check_pages(table: Table) -> None:
    """Refuse what says how pages are requested where there are none."""
    for key in _NOT_WALKED if table.left.get("walk") in WALKS else ():
        if key in table.left:
            raise RulesError(f"{table.name(key)} means nothing beside walk, which requests no pages: leave it out.")


def _agree(found: Listing, table: Table) -> None:
    """Refuse what each key allows and all together do not."""
    if found.paging.kind == "next" and found.next is None:
        raise RulesError(f"{table.name('next')} is missing: where a page has the address of the next one.")
    if found.paging.kind == "search-after" and found.body is None:
        raise RulesError(f"{table.name('body')} is missing: paging of kind search-after is in the body of a POST.")
    if found.next and found.paging.kind != "next":
        raise RulesError(f"{table.name('next')} is for paging of kind next, and not of {found.paging.kind}.")
    restart = found.window.restart if found.window else None
    conditions = [*found.since, *([restart.param] if restart else [])]
    given = [*found.params, *conditions]
    for name in given:
        if given.count(name) > 1 and found.join is None:
            message = f"{name} takes several conditions: write what stands between two, for example ' and '"
            raise RulesError(f"{table.name('join')} is missing: {message}.")
    _check_parameters(found, conditions, table)


def _check_parameters(found: Listing, conditions: list[str], table: Table) -> None:
    """Refuse a parameter that two keys fill: a request would have one of them, or both."""
    size = found.paging.size.param if found.paging.size else None
    places = [name for name in (found.paging.param, size) if name]
    for name in places:
        if [*places, *conditions].count(name) > 1:
            raise RulesError(f"{table.name('paging')}: {name} is filled twice, and a request has it once.")
    for name, _ in parse_qsl(urlsplit(found.url.text).query, keep_blank_values=True):
        if name in {*places, *conditions, *found.params}:
            raise RulesError(
                f"{table.name('url')} has {name} in its query, which is filled otherwise: leave it out there."
            )


# How it goes on


def _paging(table: Table, listed: Template) -> Paging:
    kind = table.choice("kind", get_args(get_type_hints(Paging)["kind"]))
    if kind is None:
        raise RulesError(f"{table.name('kind')} is missing: how the listing goes on, none if one answer has it all.")
    for key in table.left:
        if kind not in (kinds := _OF_PAGING.get(key, (kind,))):
            raise RulesError(f"{table.name(key)} is for paging of kind {' or '.join(kinds)}, and not of {kind}.")
    first = table.number("first", int(kind == "page"), 0)
    size = table.part("size", lambda size: size.read(Size))
    found = table.read(Paging, kind=kind, first=first, size=size)
    needs = {"token": ("token",), "last-id": ("last",), "search-after": ("last",)}.get(kind, ())
    is_in_path = _is_in_path(found, listed, table)
    for key in (*(("param",) if kind in _PAGED and not is_in_path else ()), *needs):
        if getattr(found, key) is None:
            raise RulesError(f"{table.name(key)} is missing, which paging of kind {kind} needs.")
    return found


def _is_in_path(found: Paging, listed: Template, table: Table) -> bool:
    """Return whether the address of the listing says where a page begins."""
    named = [name for name in PLACES if name in listed.names]
    for name in named:
        if name != found.kind:
            raise RulesError(f"list.url: {{{name}}} is for paging of kind {name}, and not of {found.kind}.")
        if found.param:
            raise RulesError(f"{table.name('param')} and {{{name}}} in list.url say the same: leave one out.")
    return bool(named)


def _window(table: Table) -> Window:
    return table.read(Window, restart=table.part("restart", _restart))


def _restart(table: Table) -> Restart:
    value = table.template("value", {"seen"})
    if "seen" not in value.names:
        raise RulesError(f"{table.name('value')} lacks {{seen}}: the last date or id that was seen.")
    return table.read(Restart, value=value, rest=_rest(table))


def _rest(table: Table) -> str | Literal[False] | None:
    """Return the condition for records without a stamp; ``False`` where all have one, ``None`` if that is not known."""
    if table.left.get("rest") is False:
        table.value("rest")
        return False
    return table.text("rest")


def _hosts(table: Table) -> tuple[str, ...]:
    found = table.texts("hosts")
    for name in found:
        if host(f"https://{name}") != name or "*" in name:
            raise RulesError(f"{table.name('hosts')} has {name[:80]!r}, and must have hosts: data.example.org.")
    return found


# What is sent


def _since(table: Table) -> Values:
    found = _values(table.table("params"), SINCE)
    table.end()
    if not found:
        raise RulesError(f"{table.name('params')} is missing: the parameters that ask for what has changed.")
    filled = {name for each in found.values() for one in each if isinstance(one, Template) for name in one.names}
    if filled <= PORTAL:
        raise RulesError(f"{table.name('params')} lacks {{since}}: the moment after which changes are wanted.")
    return found


def _values(table: Table | None, known: Collection[str]) -> Values:
    if table is None:
        return {}
    return {name: tuple(_value(*each, name, known) for each in _each(table, name)) for name in list(table.left)}


def _each(table: Table, name: str) -> Iterator[tuple[Any, str]]:
    value = table.value(name)
    for each in value if isinstance(value, list) else [value]:
        yield each, table.name(name)


def _value(value: Any, where: str, name: str, known: Collection[str]) -> Value:
    if isinstance(value, bool) or not isinstance(value, str | int):
        raise RulesError(f"{where} is neither a text nor a number.")
    _check_secret(name, str(value), where)
    return template(str(value), where, known)


def _headers(table: Table | None) -> Values:
    """Return headers; one with a secret names the environment variable that has it."""
    found: dict[str, tuple[Value, ...]] = {}
    for name in list(table.left) if table else ():
        value, where = table.value(name), table.name(name)  # type: ignore[union-attr]
        is_variable = isinstance(value, dict) and value.keys() == {"env"} and isinstance(value["env"], str)
        if is_variable and not _VARIABLE.fullmatch(value["env"]):
            given = f"{where}.env is {value['env'][:80]!r}"
            raise RulesError(f"{given}, and must be the name of an environment variable: MY_TOKEN.")
        found[name] = (Variable(env=value["env"]) if is_variable else _value(value, where, name, PORTAL),)
        if not name.isascii() or not name.replace("-", "").isalnum() or "\n" in str(value):
            raise RulesError(f"{where} is not a header of letters, digits and hyphens, in one line.")
    return found


def _body(table: Table) -> dict[str, Any]:
    """Return the JSON of a POST.

    Raises:
        RulesError: it has a secret, or what JSON has not: a date.
    """
    waiting = [(table.path, table.left)]
    while waiting:
        where, value = waiting.pop()
        if isinstance(value, dict):
            waiting += [(f"{where}.{name}", each) for name, each in value.items()]
        elif isinstance(value, list):
            waiting += [(where, each) for each in value]
        elif not isinstance(value, str | int | float):
            raise RulesError(f"{where} is a {type(value).__name__}, which JSON has not: write a text.")
        else:
            _check_secret(where.rpartition(".")[2], str(value), where)
    return dict(table.left)


def _check_secret(name: str, text: str, where: str) -> None:
    if _SECRET.search(name) or redact(f"{name}={text}") != f"{name}={text}":
        raise RulesError(f"{where} may be a secret, {SECRETS}")
