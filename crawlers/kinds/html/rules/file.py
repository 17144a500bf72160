"""Reads a rules file; an error names in one sentence what is wrong and where."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, get_args
from urllib.parse import urlsplit

from crawlers.exceptions import RulesError
from crawlers.kinds.html.rules.field import LINK_KEYS, field, fields, single
from crawlers.kinds.html.rules.paging import paging
from crawlers.kinds.html.rules.rules import FIELDS, RESOURCE_FIELDS, Links, Resources, Rules, Where
from crawlers.kinds.html.rules.selectors import pattern, selector
from crawlers.records import toml
from crawlers.records.toml import Table
from crawlers.safety.text import codec

if TYPE_CHECKING:
    from pathlib import Path

    from crawlers.kinds.html.rules.rules import Rule, SearchForm


def load(path: Path) -> Rules:
    """
    Raises:
        RulesError: it can't be read, or is no rules file; the message names the file, the key and what it takes.
    """
    return toml.load(path, "The rules", loads)


def loads(text: str) -> Rules:
    """
    Raises:
        RulesError: it is not TOML, a key is unknown, or a value is not what the key takes.
    """
    file = toml.table(text)
    rules = _rules(file, text)
    file.end()
    _agree(rules)
    return rules


def _rules(file: Table, text: str) -> Rules:
    start = _start(file)
    return Rules(
        text=text,
        start=start,
        hosts=_hosts([*(urlsplit(item).hostname or "" for item in start), *file.texts("hosts")]),
        source=file.text("source"),
        language=file.text("language"),
        encoding=_encoding(file),
        browser=_browser(file),
        cookies=file.typed("cookies", bool, False),  # the default, as in dict.get
        structured=file.typed("structured", bool, True),
        links=_links(file.table("links")),
        paging=paging(file.table("paging")),
        form=_form(file.table("form")),
        rdf=_optional_field(file, "rdf"),
        fields=fields(file.table("fields"), FIELDS),
        extras=fields(file.table("extras"), None),
        resources=_resources(file.table("resources")),
    )


def _encoding(file: Table) -> str | None:
    label = file.text("encoding")
    if label and codec(label) is None:
        raise RulesError(f"encoding: {label!r} is not an encoding of texts such as windows-1251.")
    return label


def _start(file: Table) -> tuple[str, ...]:
    start = file.texts("start")
    if not start:
        raise RulesError('start is missing: the address of the listing, start = "https://example.org/datasets".')
    for address in start:
        _address(address)
    return start


def _address(address: str) -> None:
    try:
        parts = urlsplit(address)
        usable = parts.scheme in ("http", "https") and bool(parts.hostname) and not parts.username and parts.port != 0
    except ValueError:
        usable = False
    if not usable:
        raise RulesError(f"start: {address!r} is not an http(s) address without user or password.")


def _hosts(names: list[str]) -> tuple[str, ...]:
    """Return the hosts as requested addresses write them.

    >>> _hosts(["Data.example.org", "bücher.example"])
    ('data.example.org', 'xn--bcher-kva.example')
    """
    return tuple(dict.fromkeys(map(_host, names)))


def _host(name: str) -> str:
    try:
        host = name.lower().encode("idna").decode()
    except UnicodeError:
        host = ""
    if not host or set(host) & set("/@?#* ") or re.fullmatch(r"[^:]*:[0-9]*", host):
        raise RulesError(f"hosts: {name!r} is not the name of a host such as data.example.org.")
    return host


def _browser(file: Table) -> frozenset[Where]:
    value: Any = file.value("browser")
    every: frozenset[Where] = frozenset(get_args(Where))
    if value in (None, False):
        return frozenset()
    if value is True:
        return every
    if not isinstance(value, str) or value not in every:
        raise RulesError('browser is neither true, "listing" nor "datasets".')
    return frozenset([value])


def _links(table: Table | None) -> Links:
    if table is None:
        raise RulesError('[links] is missing: which links lead to datasets, css = "h2 a" or pattern = "/dataset/".')
    css, xpath = selector(table)
    links = Links(
        css=css,
        xpath=xpath,
        pattern=pattern(table, "pattern"),
        id=pattern(table, "id"),
        drop=table.texts("drop"),
        follow=selector(table, "follow", None)[1],
        depth=table.number("depth", 3, 1),
        total=_optional_field(table, "total"),
    )
    table.end()
    if not (links.xpath or links.pattern):
        raise RulesError("links needs css, xpath or pattern: what tells the links to datasets from others.")
    return links


def _form(table: Table | None) -> SearchForm | None:
    if table is None:
        return None
    from crawlers.kinds.html.rules.form import search_form  # noqa: PLC0415 -- few listings are behind one

    return search_form(table)


def _optional_field(table: Table, name: str) -> Rule | None:
    value = table.value(name)
    return None if value is None else single(name, value, table.name(name))


def _resources(table: Table | None) -> Resources | None:
    if table is None:
        return None
    css, xpath = selector(table)
    if xpath is None:
        raise RulesError('resources needs css or xpath: the element of each file, css = "ul.files li".')
    found = tuple(
        field(name, table.value(name), table.name(name), LINK_KEYS) for name in RESOURCE_FIELDS if name in table.left
    )
    table.end(RESOURCE_FIELDS)
    return Resources(css=css, xpath=xpath, fields=found)


def _agree(rules: Rules) -> None:
    """
    Raises:
        RulesError: two parts contradict each other.
    """
    if rules.paging.kind in ("button", "buttons", "scroll", "script") and "listing" not in rules.browser:
        raise RulesError(f'paging.{rules.paging.kind} is done by a browser: it needs browser = "listing".')
    if rules.paging.kind in ("postback", "sitemap") and "listing" in rules.browser:
        raise RulesError(f'paging.{rules.paging.kind} needs no browser: say browser = "datasets", or none.')
    if rules.form and rules.paging.kind not in ("next", "numbers", "postback", "none"):
        raise RulesError(f"paging.{rules.paging.kind} can't go on behind [form]: say next, numbers or postback.")
    if rules.form and "listing" in rules.browser:
        raise RulesError('[form] needs no browser: say browser = "datasets", or none.')
    if rules.rdf and not rules.rdf.xpath:
        raise RulesError('rdf is found by css or xpath, rdf = "a.rdf": it is a link.')
    if not (rules.fields or rules.structured or rules.rdf):
        raise RulesError("[fields] is missing, and without structured data nothing else describes a page.")
