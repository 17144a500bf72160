"""Labels in tables: at the head of a row or of a column."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING

from crawlers.mapping.html.page import says

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lxml.html import HtmlElement

    from crawlers.mapping.html.beside import Value

_CELLS = frozenset(("td", "th"))
_MOST_CELLS = 100
_MOST_PIECES = 100
_MOST_ROWS = 200
_MOST_SPANNED = 50


def marks(cell: HtmlElement) -> bool:
    """Whether a ``td`` is a label: it has just one more beside it, or stands in the table's head."""
    if cell.tag != "td":
        return False
    following = cell.getnext()
    is_pair = following is not None and following.getnext() is None and cell.getprevious() is None
    return is_pair or _is_in_head(cell.getparent())


def values(cell: HtmlElement, *, is_marked: bool) -> list[Value]:
    """What a row's or a column's label is the label of."""
    row = cell.getparent()
    if row is None or row.tag != "tr":
        return []
    across = [] if _is_in_head(row) else _across(cell, row)
    if across:
        return across + _spanned(cell, row)
    return _below(cell, row) if is_marked and _is_head(row) else []


def _row(row: HtmlElement) -> list[HtmlElement]:
    """Its cells that say anything; some tables have the colon in one of its own."""
    cells = (one for one in islice(row, _MOST_CELLS) if one.tag in _CELLS)
    return [one for one in cells if _says(one)]


def _says(cell: HtmlElement) -> bool:
    found = islice(cell.itertext(), _MOST_PIECES)
    return (
        any(any(map(str.isalnum, piece)) for piece in found) or next(cell.iter("img", "input", "a"), None) is not None
    )


def _across(cell: HtmlElement, row: HtmlElement) -> list[Value]:
    """After a ``th`` every ``td`` up to the next one; without ``th`` labels and values take turns."""
    cells = _row(row)
    if cell not in cells:
        return []
    place = cells.index(cell)
    after = cells[place + 1 :]
    if cell.tag == "th":
        return [[one] for one in _until_th(after)]
    if any(one.tag == "th" for one in cells) or len(cells) % 2 or place % 2:
        return []
    return [[after[0]]]


def _until_th(cells: list[HtmlElement]) -> Iterator[HtmlElement]:
    for one in cells:
        if one.tag == "th":
            return
        yield one


def _spanned(cell: HtmlElement, row: HtmlElement) -> list[Value]:
    """The cells of the further rows that the label spans."""
    rows = islice(row.itersiblings("tr"), _span(cell, "rowspan") - 1)
    return [[one] for below in rows for one in _row(below) if one.tag == "td"]


def _span(cell: HtmlElement, name: str) -> int:
    """
    >>> from lxml.html import fromstring
    >>> [_span(fromstring(f"<p rowspan='{number}'>"), "rowspan") for number in ("3", "0", "x", "99999999", "²")]
    [3, 1, 1, 50, 1]
    """
    given = (cell.get(name) or "1").strip()[:9]
    return max(1, min(int(given), _MOST_SPANNED)) if given.isascii() and given.isdigit() else 1


def _is_head(row: HtmlElement) -> bool:
    """Whether it has nothing but labels: all ``th``, or one cell alone."""
    cells = _row(row)
    return len(cells) == 1 or _is_in_head(row) or all(one.tag == "th" for one in cells)


def _is_in_head(row: HtmlElement | None) -> bool:
    around = None if row is None else row.getparent()
    return around is not None and around.tag == "thead"


def _below(cell: HtmlElement, row: HtmlElement) -> list[Value]:
    column = _column(cell)
    found: list[Value] = []
    for below in islice(_rows_after(row), _MOST_ROWS):
        under = _at(below, column)
        if under is None or under.tag == "th":
            break
        if says(under):
            found.append([under])
        if len(_row(row)) == 1:  # a label above its value
            break
    return found


def _rows_after(row: HtmlElement) -> Iterator[HtmlElement]:
    yield from row.itersiblings("tr")
    part = row.getparent()
    if part.tag in ("thead", "tbody"):
        for after in part.itersiblings("tbody"):
            yield from after.iterchildren("tr")


def _column(cell: HtmlElement) -> int:
    before = (one for one in islice(cell.itersiblings(preceding=True), _MOST_CELLS) if one.tag in _CELLS)
    return sum(_span(one, "colspan") for one in before)


def _at(row: HtmlElement, column: int) -> HtmlElement | None:
    left = column
    for cell in islice(row, _MOST_CELLS):
        if cell.tag in _CELLS:
            left -= _span(cell, "colspan")
            if left < 0:
                return cell
    return None
