"""Labels in tables: at the head of a row or of a column."""

from __future__ import annotations

import re
from itertools import islice
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lxml.html import HtmlElement

    from crawlers.mapping.html.beside import Value

_COLON = re.compile(r"\s*[:\uff1a]?\s*")
_NUMBER = re.compile(r"\s*[0-9]{1,3}[.)]?\s*")
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
    """Its cells, empty ones too; some tables have the colon in one of its own, or a number before each label."""
    found = [one for one in islice(row, _MOST_CELLS) if one.tag in _CELLS and not _is_colon(one)]
    is_numbered = len(found) > 2 and not len(found[0]) and _NUMBER.fullmatch(found[0].text or "")
    return found[1:] if is_numbered else found


def _is_colon(cell: HtmlElement) -> bool:
    return not len(cell) and bool(cell.text) and not cell.text.isspace() and _COLON.fullmatch(cell.text) is not None


def _says(cell: HtmlElement) -> bool:
    """Whether there is a value in it."""
    found = islice(cell.itertext(), _MOST_PIECES)
    return (
        any(any(map(str.isalnum, piece)) for piece in found) or next(cell.iter("img", "input", "a"), None) is not None
    )


def _across(cell: HtmlElement, row: HtmlElement) -> list[Value]:
    """After a ``th`` every ``td`` up to the next one; without ``th`` labels and values take turns."""
    cells = _row(row)
    if cell not in cells:
        return []
    if cell.tag == "th":
        return [[one] for one in _until_th(cells[cells.index(cell) + 1 :]) if _says(one)]
    if any(one.tag == "th" for one in cells):
        return []
    value = _beside(cell, cells) if _takes_turns(cell, cells) else _beside(cell, [*filter(_says, cells)])
    return [[value]] if value is not None and _says(value) else []


def _takes_turns(cell: HtmlElement, cells: list[HtmlElement]) -> bool:
    return not len(cells) % 2 and not cells.index(cell) % 2


def _beside(cell: HtmlElement, cells: list[HtmlElement]) -> HtmlElement | None:
    return cells[cells.index(cell) + 1] if cell in cells and _takes_turns(cell, cells) else None


def _until_th(cells: list[HtmlElement]) -> Iterator[HtmlElement]:
    for one in cells:
        if one.tag == "th":
            return
        yield one


def _spanned(cell: HtmlElement, row: HtmlElement) -> list[Value]:
    """The cells of the further rows that the label spans."""
    rows = islice(row.itersiblings("tr"), _span(cell, "rowspan") - 1)
    return [[one] for below in rows for one in _row(below) if one.tag == "td" and _says(one)]


def _span(cell: HtmlElement, name: str) -> int:
    """
    >>> from lxml.html import fromstring
    >>> [_span(fromstring(f"<p rowspan='{number}'>"), "rowspan") for number in ("3", "0", "x", "99999999", "²")]
    [3, 1, 1, 50, 1]
    """
    given = (cell.get(name) or "1").strip()[:9]
    return max(1, min(int(given), _MOST_SPANNED)) if given.isascii() and given.isdigit() else 1


def _is_head(row: HtmlElement) -> bool:
    """Whether it has nothing but labels: all ``th``, maybe after an empty corner, or one cell alone."""
    cells = _row(row)
    is_cornered = len(cells) > 2 and not _says(cells[0])
    return len(cells) == 1 or _is_in_head(row) or all(one.tag == "th" for one in cells[is_cornered:])


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
        if _says(under):
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
