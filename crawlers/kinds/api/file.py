"""Finds and reads declarations; an error names in one sentence what is wrong and where."""

from __future__ import annotations

import re
from functools import cache
from importlib import resources
from operator import attrgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Self, TypeVar, get_args, get_type_hints
from urllib.parse import parse_qsl, urlsplit

from crawlers.exceptions import RulesError, hint
from crawlers.kind import registered
from crawlers.kinds.api.declaration import (
    CHECKS,
    DATASET_FIELDS,
    PLACES,
    RESOURCE_FIELDS,
    WALKS,
    Count,
    Declaration,
    Follow,
    Header,
    Listing,
    Paging,
    Recognition,
    Resources,
    Restart,
    Size,
    Variable,
    Window,
)
from crawlers.kinds.api.expressions import Expression, Template, expression, is_template, template
from crawlers.records import toml
from crawlers.records.toml import Readers
from crawlers.records.values import url
from crawlers.safety.addresses import host
from crawlers.safety.redact import redact

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping
    from importlib.resources.abc import Traversable

    from crawlers.kinds.api.declaration import Filler, Sought, Value, Values


T = TypeVar("T")

PORTAL = frozenset(("portal", "host"))
"""The names that any template may have."""
SECRETS = (
    'which never stands in a file: send it as a header, from the environment: headers = { X-Token = { env = "NAME" } }.'
)
"""The end of the sentence about a secret in a declaration."""
_HEADER = re.compile(r"[A-Za-z0-9-]{1,100}")
_BEGINNING = re.compile(r"\{portal\}(?:[/?#]|$)|https?://.")
FOLDER = "catalogues/kinds"
"""Where users have their own declarations; one of the same name overrides the project's."""
_PLACE = re.compile(r"[?]|/?\{(?:page|offset)\}")
_NAME = re.compile(r"[a-z0-9][a-z0-9-]{0,60}")
_LANGUAGE = re.compile(r"[A-Za-z]{2,3}(?:-[A-Za-z0-9]{1,8}){0,4}")
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


def load(name: str) -> Declaration:
    """Return a declaration by its name, or by the path of its file.

    A name is looked for in catalogues/kinds/, in the working directory, below CRAWLERS_HOME and in this project; then
    among those of the project.

    Raises:
        RulesError: there is none, or it is not one; the message names the file, the key and what it takes.
    """
    path = _path(name)
    stem = path.name.removesuffix(".toml")
    return toml.load(path, "The declaration", lambda text: loads(text, stem))  # type: ignore[arg-type]


def lasting(name: str) -> Declaration:
    """Return a declaration as `load` does, if its records on disk can be mapped again: their name leads to the file.

    Raises:
        RulesError: as `load`; or the file is elsewhere than where its name is looked for.
    """
    found = load(name)
    try:
        is_lasting = not name.endswith(".toml") or _resolved(found.name) == _resolved(name)
    except RulesError:
        is_lasting = False
    if not is_lasting:
        message = "its records could not be mapped again, as they have only its name"
        raise RulesError(
            f"The declaration {name[:200]} is not where {found.name!r} is looked for: {message}. "
            f"Put the file into {FOLDER}/, and say -a kind={found.name}."
        )
    return found


def is_there(name: str) -> bool:
    """Return whether there is a declaration of this name, whatever is in it."""
    try:
        return bool(_path(name))
    except RulesError:
        return False


def _resolved(name: str) -> Path:
    return Path(str(_path(name))).resolve()


def shipped() -> dict[str, Traversable]:
    """Return the project's own declarations by name."""
    found = (each for each in resources.files("crawlers.kinds.api").iterdir() if each.name.endswith(".toml"))
    return {each.name.removesuffix(".toml"): each for each in sorted(found, key=attrgetter("name"))}


def _path(name: str) -> Path | Traversable:
    if name.endswith(".toml"):
        return toml.needed(name, "The declaration")
    own = f"{FOLDER}/{name}.toml"
    if _NAME.fullmatch(name) and (found := toml.find(own, "The declaration")):
        return found
    known = shipped()
    if name not in known:
        message = f"There is no declaration {name[:200]!r}: neither {own} nor one of the project's."
        if not _NAME.fullmatch(name):
            message = f"There is no declaration {name[:200]!r}: names are of small letters, digits and hyphens."
        raise RulesError(f"{message}{hint(name, known)} There are: {', '.join(known)}.")
    return known[name]


@cache
def loads(text: str, name: str) -> Declaration:
    """
    Args:
        name: the file's, without ``.toml``.

    Raises:
        RulesError: it is not TOML, a key is unknown, or a value is not what the key takes.
    """
    with toml.located(text):
        _check_name(name)
        file = Table(toml.table(text).left)
        found = _declaration(file, text, name)
        file.end()
    return found


def _check_name(name: str) -> None:
    if not _NAME.fullmatch(name):
        raise RulesError(f"the file's name {name[:80]!r} is not of small letters, digits and hyphens.")
    if any(name in kind.readers for kind in registered().values()):
        raise RulesError(f"the file's name {name!r} is that of records of another kind; rename the file.")


# What a file has


def _declaration(file: Table, text: str, name: str) -> Declaration:
    file.language = file.text("language") or "en"
    if not _LANGUAGE.fullmatch(file.language):
        raise RulesError(f"language is {file.language[:80]!r}, and must be the code of a language: en, de-AT.")
    listed, names, dataset = _listing(file.required("list")), file.part("names", _names) or {}, file.required("dataset")
    known = PORTAL | {"id"} | names.keys()
    of_resource = known | {"dataset_id"}
    stated = file.address("metadata_url", known) if "metadata_url" in file.left else None
    found = Declaration(
        text=text,
        name=name,
        title=file.text("title") or name,
        recorded=file.typed("recorded", bool, True),
        language=file.language,
        list=listed,
        id=dataset.expression("id"),
        aliases=dataset.optional("aliases"),
        skip=dataset.optional("skip"),
        counters=dataset.texts("counters"),
        sets=dataset.texts("sets"),
        names=names,
        metadata_url=stated or Template(_PLACE.split(listed.url.text, maxsplit=1)[0]),
        fields=dataset.fields(DATASET_FIELDS, known),
        resources=tuple(
            one.read(Resources, of_resource, fields=one.fields(RESOURCE_FIELDS, of_resource))
            for one in file.tables("resource")
        ),
        follow=tuple(one.read(Follow, known) for one in file.tables("follow")),
        check=file.choice("check", CHECKS),
        recognise=file.part("recognise", _recognition) or Recognition(),
    )
    dataset.end()
    _check_portal(found)
    for key, value in (("follow", found.follow), ("check", found.check)):  # a walk would pass over it without a word
        if found.list.walk and value:
            raise RulesError(f"{key} means nothing beside list.walk, which only reads files: leave it out.")
    return found


def _names(table: Table) -> dict[str, Expression]:
    for name in table.left:
        if name in SINCE | {"id", "dataset_id", "seen"}:
            raise RulesError(f"{table.name(name)}: that name has another meaning.")
    return {name: table.expression(name) for name in list(table.left)}


def _recognition(table: Table) -> Recognition:
    doors = (address(text, table.name("doors"), PORTAL) for text in table.texts("doors"))
    return table.read(Recognition, doors=tuple(doors))


def _check_portal(found: Declaration) -> None:
    """Refuse a file whose records could not be mapped again, for their address would not tell the portal."""
    fillers = (*found.fields.values(), *(one for each in found.resources for one in (each.id, *each.fields.values())))
    used = {name for one in fillers if isinstance(one, Template) for name in one.names}
    if used & PORTAL and not found.metadata_url.text.startswith(("{portal}", "https://{host}", "http://{host}")):
        raise RulesError(
            "metadata_url begins neither with {portal} nor with https://{host}, so records do not tell it."
        )


# ``[list]``: where the records are, and how the listing goes on


def _listing(table: Table) -> Listing:
    """Return what the table says; a mistake in it is a `RulesError`."""
    for key in _NOT_WALKED if table.left.get("walk") in WALKS else ():
        if key in table.left:
            raise RulesError(f"{table.name(key)} means nothing beside walk, which requests no pages: leave it out.")
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
        window=table.part("window", lambda window: window.read(Window, restart=window.part("restart", _restart))),
        since=table.part("since", _since) or {},
        count=table.part("count", lambda count: count.read(Count)),
        walk=table.choice("walk", WALKS),
    )
    _agree(found, table)
    return found


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


def _restart(table: Table) -> Restart:
    value = table.template("value", {"seen"})
    if "seen" not in value.names:
        raise RulesError(f"{table.name('value')} lacks {{seen}}: the last date or id that was seen.")
    rest = table.value("rest") if table.left.get("rest") is False else table.text("rest")
    return table.read(Restart, value=value, rest=rest)


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
    found = {}
    for name in list(table.left):
        given = table.value(name)
        several = given if isinstance(given, list) else [given]
        found[name] = tuple(_value(each, table.name(name), name, known) for each in several)
    return found


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
    """Return the JSON of a POST; refuse a secret in it, and what JSON has not: a date."""
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


# A table of a declaration


class Table(toml.Table):
    """
    Args:
        path: its place in the file, for messages.
        language: the one that ``lang()`` prefers.
    """

    readers: ClassVar[Readers] = toml.Table.readers | {
        "Expression": lambda table, key, _: table.expression(key),
        "Sought": lambda table, key, _: table.sought(key),
        "Template": lambda table, key, known: table.address(key, known),
        "Filler": lambda table, key, known: table.filler(key, known),
    }
    known: ClassVar[Collection[str]] = PORTAL

    def __init__(self, content: Mapping[str, Any], path: str = "", language: str = "en") -> None:
        super().__init__(content, path)
        self.language = language

    def inner(self, content: Mapping[str, Any], path: str) -> Self:
        return type(self)(content, path, self.language)

    def text(self, key: str) -> str | None:
        """Return a text; ``None`` if there is none.

        Raises:
            RulesError: it is empty, which nobody means.
        """
        is_given, text = key in self.left, super().text(key)
        if is_given and text is None:
            raise RulesError(f"{self.name(key)} is empty: write a value, or leave it out.")
        return text

    def template(self, key: str, known: Collection[str]) -> Template:
        found = template(self.needed(key), self.name(key), known)
        _check_address(found, self.name(key))
        return found

    def address(self, key: str, known: Collection[str] = PORTAL) -> Template:
        """Return the template of a web address."""
        return address(self.needed(key), self.name(key), known)

    def expression(self, key: str) -> Expression:
        return expression(self.needed(key), self.name(key), self.language)

    def optional(self, key: str) -> Expression | None:
        """Return an expression; ``None`` if there is none."""
        return self.expression(key) if key in self.left else self.value(key)

    def sought(self, key: str) -> Sought | None:
        """Return an expression, or the header that ``{ header = "Link" }`` names; ``None`` if there is none."""
        if not isinstance(self.left.get(key), dict):
            return self.optional(key)
        table = self.required(key)
        name = table.needed("header")
        table.end()
        if not _HEADER.fullmatch(name):
            raise RulesError(f"{table.name('header')} is {name[:80]!r}, and must be the name of a header: Link.")
        return Header(header=name)

    def filler(self, key: str, known: Collection[str]) -> Filler:
        """Return a template if the text begins as one, else an expression."""
        is_address = isinstance(text := self.left.get(key), str) and is_template(text.strip())
        return self.template(key, known) if is_address else self.expression(key)

    def fields(self, names: Collection[str], known: Collection[str]) -> dict[str, Filler]:
        self.asked += names
        return {name: self.filler(name, known) for name in list(self.left) if name in names}


def address(text: str, where: str, known: Collection[str]) -> Template:
    """Return the template of a web address; refuse one that makes what could not be requested."""
    found = template(text, where, known)
    _check_address(found, where)
    filled = {"portal": "https://example.org", "host": "example.org"}
    made = found.address(dict.fromkeys(found.names, "x") | filled)
    if not _BEGINNING.match(text) or not made or not url(made):
        raise RulesError(f"{where} is {text[:80]!r}, and must begin with {{portal}}/, https:// or http://.")
    return found


def _check_address(found: Template, where: str) -> None:
    """Refuse a template that says a user's password, or the value of a parameter that is one."""
    text = found.fill(dict.fromkeys(found.names, " ")) or ""
    if redact(text) != text:
        raise RulesError(f"{where} may have a secret, {SECRETS}")
