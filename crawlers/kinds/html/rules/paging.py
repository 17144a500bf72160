"""``[paging]``: the way in which a listing continues."""

from __future__ import annotations

from typing import Any, get_args
from urllib.parse import urljoin, urlsplit

from crawlers.exceptions import RulesError
from crawlers.kinds.html.rules.rules import Kind, Paging
from crawlers.kinds.html.rules.selectors import selector
from crawlers.records.toml import Table

_LONGEST_WAIT = 600
_COUNTED_UP = {
    "next": "numbers",
    "numbers": "numbers",
    "postback": "postback",
    "button": "buttons",
    "buttons": "buttons",
}
"""The way that is meant where the text of a link or button is a number: that of page 2 leads to no page 3."""
WAYS = tuple(kind for kind in get_args(Kind) if kind != "none")


def paging(table: Table | None) -> Paging:
    """
    Raises:
        RulesError: it names several ways, or a key that the way does not take.
    """
    if table is None:
        return Paging()
    ways = [way for way in WAYS if way in table.left]
    if len(ways) > 1:
        raise RulesError(f"paging goes on in one way, not in {' and '.join(ways)}.")
    kind: Any = ways[0] if ways else "next"
    way = _way(kind, table) if ways else {}
    if kind in _COUNTED_UP and str(way.get("text")).strip().isdecimal():
        way = {"kind": _COUNTED_UP[kind]}
    found = Paging(
        kind=way.pop("kind", kind),
        **way,
        first=table.number("first", 1, 0),
        step=table.number("step", 1, 1),
        max_pages=table.number("max_pages", 10_000, 1),
        patience=table.number("patience", 2, 1),
        wait=_wait(table),
    )
    table.end(WAYS)
    return found


def _wait(table: Table) -> float:
    value = table.typed("wait", float, 10.0)
    if not 0 < value <= _LONGEST_WAIT:
        raise RulesError(f"paging.wait is {value:g}, and must be more than 0 and at most {_LONGEST_WAIT} seconds.")
    return value


def _way(kind: str, table: Table) -> dict[str, Any]:
    value = table.left[kind]
    if kind == "next" and value is False:
        table.value(kind)
        return {"kind": "none"}
    if kind in ("query", "path", "script"):
        return _with_text(kind, table)
    if value is True:
        table.value(kind)
        return {}
    if isinstance(value, dict) and kind != "sitemap":
        return _selected(table.table(kind) or Table({}))
    text = table.text(kind)
    if kind == "sitemap":
        return {"address": _address(str(text), "paging.sitemap")}
    return {"text": text}


def _with_text(kind: str, table: Table) -> dict[str, Any]:
    """Return a way that needs a text: a parameter, an address or a script."""
    text = table.text(kind)
    if not text:
        raise RulesError(f"paging.{kind} is empty.")
    if kind == "path" and "{page}" not in text:
        raise RulesError(f"paging.path is {text!r}, and has no {{page}} where the number goes.")
    if kind == "path":
        _address(text.replace("{page}", "1"), "paging.path")
    return {"address" if kind == "path" else kind: text}


def _address(text: str, where: str) -> str:
    """Return an address that is absolute, or relative to the site's."""
    try:
        parts = urlsplit(urljoin("https://example.org/", text))
        usable = parts.scheme in ("http", "https") and bool(parts.hostname) and "{" not in text
    except ValueError:
        usable = False
    if not usable:
        raise RulesError(f"{where} is {text!r}, which is not an address.")
    return text


def _selected(table: Table) -> dict[str, Any]:
    css, xpath = selector(table)
    table.end()
    if xpath is None:
        raise RulesError(f"{table.path} needs css or xpath.")
    return {"css": css, "xpath": xpath}
