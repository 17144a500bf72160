"""Labels in tables: at the head of a row or of a column."""

from __future__ import annotations

import re
from itertools import islice
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lxml.html import HtmlElement

    from crawlers.kinds.html.mapping.adjacent_value import Value

_COLON = re.compile(r"\s*[:\uff1a]?\s*")
_NUMBER = re.compile(r"\s*[0-9]{1,3}[.)]?\s*")
_CELLS = frozenset(("td", "th"))
_MOST_CELLS = 100
_MOST_PIECES = 100
_MOST_ROWS = 200
_MOST_SPANNED = 50


def marks(cell: HtmlElement) -> bool:
    """Return whether a ``td`` is a label: it has just one more beside it, or stands in the table's head."""
    if cell.tag != "td":
        return False
    following = cell.getnext()
    is_pair = following is not None and following.getnext() is None and cell.getprevious() is None
    return is_pair or _is_in_head(cell.getparent())


def values(cell: HtmlElement, *, is_marked: bool) -> list[Value]:
    """Return the values of a row's or a column's label."""
    row = cell.getparent()
    if row is None or row.tag != "tr":
        return []
    across = [] if _is_in_head(row) else _across(cell, row)
    if across:
        return across + _spanned(cell, row)
    return _below(cell, row) if is_marked and _is_head(row) else []


def _row(row: HtmlElement) -> list[HtmlElement]:
    """Return a row's cells without a cell for the colon or for the row's number; empty ones count."""
    found = [each for each in islice(row, _MOST_CELLS) if each.tag in _CELLS and not _is_colon(each)]
    is_numbered = len(found) > 2 and not len(found[0]) and _NUMBER.fullmatch(found[0].text or "")
    return found[1:] if is_numbered else found


def _is_colon(cell: HtmlElement) -> bool:
    return not len(cell) and bool(cell.text) and not cell.text.isspace() and _COLON.fullmatch(cell.text) is not None


def _has_value(cell: HtmlElement) -> bool:
    """Return whether there is a value in a cell."""
    found = islice(cell.itertext(), _MOST_PIECES)
    return (
        any(any(map(str.isalnum, piece)) for piece in found) or next(cell.iter("img", "input", "a"), None) is not None
    )


def _across(cell: HtmlElement, row: HtmlElement) -> list[Value]:
    """Return every ``td`` between a ``th`` and the next one; without ``th`` labels and values alternate."""
    cells = _row(row)
    if cell not in cells:
        return []
    if cell.tag == "th":
        return [[each] for each in _until_th(cells[cells.index(cell) + 1 :]) if _has_value(each)]
    if any(each.tag == "th" for each in cells):
        return []
    value = _beside(cell, cells) if _takes_turns(cell, cells) else _beside(cell, [*filter(_has_value, cells)])
    return [[value]] if value is not None and _has_value(value) else []


def _takes_turns(cell: HtmlElement, cells: list[HtmlElement]) -> bool:
    return not len(cells) % 2 and not cells.index(cell) % 2


def _beside(cell: HtmlElement, cells: list[HtmlElement]) -> HtmlElement | None:
    return cells[cells.index(cell) + 1] if cell in cells and _takes_turns(cell, cells) else None


def _until_th(cells: list[HtmlElement]) -> Iterator[HtmlElement]:
    for each in cells:
        if each.tag == "th":
            return
        yield each


def _spanned(cell: HtmlElement, row: HtmlElement) -> list[Value]:
    """Return the cells of the further rows that the label spans."""
    rows = islice(row.itersiblings("tr"), _span(cell, "rowspan") - 1)
    return [[each] for below in rows for each in _row(below) if each.tag == "td" and _has_value(each)]


def _span(cell: HtmlElement, name: str) -> int:
    """
    >>> from lxml.html import fromstring
    >>> [_span(fromstring(f"<p rowspan='{number}'>"), "rowspan") for number in ("3", "0", "x", "99999999", "²")]
    [3, 1, 1, 50, 1]
    """
    given = (cell.get(name) or "1").strip()[:9]
    return max(1, min(int(given), _MOST_SPANNED)) if given.isascii() and given.isdigit() else 1


def _is_head(row: HtmlElement) -> bool:
    """Return whether a row has only labels: all ``th``, maybe after an empty corner, or a single cell."""
    cells = _row(row)
    is_cornered = len(cells) > 2 and not _has_value(cells[0])
    return len(cells) == 1 or _is_in_head(row) or all(each.tag == "th" for each in cells[is_cornered:])


def _is_in_head(row: HtmlElement | None) -> bool:
    around = None if row is None else row.getparent()
    return around is not None and around.tag == "thead"


def _below(cell: HtmlElement, row: HtmlElement) -> list[Value]:
    column = _column(cell)
    is_alone = len(_row(row)) == 1  # a label above its value
    found: list[Value] = []
    for below in islice(_rows_after(row), _MOST_ROWS):
        under = _at(below, column)
        if under is None or under.tag == "th" or (is_alone and len(_row(below)) > 1):
            break
        if _has_value(under):
            found.append([under])
        if is_alone:
            break
    return found


def _rows_after(row: HtmlElement) -> Iterator[HtmlElement]:
    yield from row.itersiblings("tr")
    part = row.getparent()
    if part.tag in ("thead", "tbody"):
        for after in part.itersiblings("tbody"):
            yield from after.iterchildren("tr")


def _column(cell: HtmlElement) -> int:
    before = (each for each in islice(cell.itersiblings(preceding=True), _MOST_CELLS) if each.tag in _CELLS)
    return sum(_span(each, "colspan") for each in before)


def _at(row: HtmlElement, column: int) -> HtmlElement | None:
    left = column
    for cell in islice(row, _MOST_CELLS):
        if cell.tag in _CELLS:
            left -= _span(cell, "colspan")
            if left < 0:
                return cell
    return None
