"""What was learned, as a rules file for a person to check and continue."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from urllib.parse import urljoin

import tomlkit

from crawlers.kinds.html.rules import loads
from crawlers.operate.learn.listing import shape
from crawlers.operate.learn.sample import is_made_up
from crawlers.operate.learn.texts import shortened

if TYPE_CHECKING:
    from tomlkit import TOMLDocument
    from tomlkit.items import Item, Table

    from crawlers.operate.learn.candidates import Learned
    from crawlers.operate.learn.files import Files
    from crawlers.operate.learn.listing import Listing
    from crawlers.operate.learn.result import Result

_MOST = 90  # characters of a comment


def toml(result: Result) -> str:
    """Return the rules file.

    Raises:
        RulesError: never, for what is learned is what a rules file takes; it is loaded all the same.
    """
    file = tomlkit.document()
    _head(file, result)
    if result.listing:
        _listing(file, result.listing)
    else:
        _no_listing(file, result)
    if result.fields:
        file.add("fields", _fields(result.fields))
    if result.files:
        file.add("resources", _resources(result.files))
    for warning in result.warnings:
        file.add(tomlkit.comment(shortened(warning, 400)))
    text = tomlkit.dumps(file)
    loads(text)
    return text


def _head(file: TOMLDocument, result: Result) -> None:
    more = len(result.samples) - 1
    file.add(tomlkit.comment(f"Learned from {shortened(result.samples[0], 200)}{f' and {more} more' if more else ''}"))
    seen = "one page only" if len(result.samples) == 1 else f"{len(result.samples)} pages"
    file.add(tomlkit.comment(f"The comments say how sure each rule is, by {seen}, and what speaks against it."))
    if result.structured:
        file.add(tomlkit.comment(f"The page has {' and '.join(result.structured)}, which overrides the fields."))
    if result.software:
        file.add(tomlkit.comment(shortened(f"The pages are of {result.software.called}, whose rules these are.", 200)))
    start = result.listing.start if result.listing else urljoin(result.samples[0], "/")
    if result.software and not result.listing:
        start = result.software.listing(result.samples[0])
    is_known = (result.listing or (result.software and result.software.tables)) and not is_made_up(start)
    file.add("start", _commented(start, None if is_known else "to do: the address of the listing"))
    turned = bool(result.listing and result.listing.pager.in_browser)
    if result.encoding:
        file.add("encoding", _commented(result.encoding))
    where = [*result.browser, *(["listing"] if turned and "listing" not in result.browser else [])]
    if where:
        why = "scripts fill the pages" if result.browser else "its pages are turned by JavaScript"
        file.add("browser", _commented(where[0] if len(where) == 1 else True, why))


def _listing(file: TOMLDocument, listing: Listing) -> None:
    links = tomlkit.table()
    for number, (name, value) in enumerate(listing.links.table.items()):
        comment = f"{_percent(listing.links.sure)}: {listing.count} links" if not number else None
        links.add(name, _commented(value, comment, listing.links.why if not number else ()))
    if listing.total:
        links.add("total", _commented(listing.total.css, f"{listing.total.count} now; each crawl is compared with it"))
    file.add("links", links)
    if listing.pager.table:
        paging = tomlkit.table()
        for number, (name, value) in enumerate(listing.pager.table.items()):
            paging.add(name, _commented(value, _percent(listing.pager.sure) if not number else None))
        file.add("paging", paging)
    else:
        file.add(tomlkit.comment(shortened(listing.pager.description, _MOST)))


def _no_listing(file: TOMLDocument, result: Result) -> None:
    if result.software and result.software.tables:
        for name in ("links", "paging"):
            table = tomlkit.table()
            for key, value in result.software.tables[name].items():
                table.add(key, _commented(value))
            file.add(name, table)
        return
    found = shape(list(dict.fromkeys(result.samples)))
    links = tomlkit.table()
    pattern = found.pattern if found else "/"
    links.add("pattern", _commented(pattern, "a guess: `scrapy learn --list URL` looks at a listing"))
    if found:
        links.add("id", _commented(found.id))
    file.add("links", links)


def _fields(fields: tuple[Learned, ...]) -> Table:
    table = tomlkit.table()
    for name in fields:
        table.add(name.name, _commented(name.value, name.certainty, name.why))
    return table


def _resources(files: Files) -> Table:
    table = tomlkit.table()
    for name, value in files.table.items():
        table.add(name, _commented(value, _percent(files.sure), files.why))
    for name, rule in files.tables.items():
        table.add(name, _commented(rule["css"] if isinstance(rule, dict) and set(rule) == {"css"} else rule))
    return table


def _commented(value: Any, comment: str | None = None, why: tuple[str, ...] = ()) -> Item:
    """Return a value with a comment behind it."""
    item: Item = tomlkit.item(_inline(value))
    if comment:
        item.comment(shortened(", ".join([comment, *why]), _MOST))
    return item


def _inline(value: Any) -> Any:
    if isinstance(value, list):
        array = tomlkit.array()
        array.extend(map(_inline, value))
        return array
    if not isinstance(value, dict):
        return _literal(value) if isinstance(value, str) else value
    table = tomlkit.inline_table()
    for name, item in value.items():
        table.add(name, _inline(item))
    return table


def _literal(text: str) -> Any:
    """Return a text in single quotes if that spares backslashes; escape what cannot be printed."""
    if not text.isprintable():
        return tomlkit.value(f'"{_escaped(text)}"')
    return tomlkit.string(text, literal=True) if "'" not in text and set(text) & set('"\\') else tomlkit.string(text)


def _escaped(text: str) -> str:
    r"""Return a text as it is written between double quotes, with control characters escaped.

    >>> _escaped('a\x9b"\u202e')
    'a\\U0000009b\\"\\U0000202e'
    """
    written = text.replace("\\", "\\\\").replace('"', '\\"')
    return "".join(item if item.isprintable() else f"\\U{ord(item):08x}" for item in written)


def _percent(sure: float) -> str:
    """
    >>> _percent(0.934)
    '93 %'
    """
    return f"{round(100 * sure)} %"
