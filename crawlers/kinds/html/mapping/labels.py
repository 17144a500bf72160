"""The labels on a page, and the values that stand beside or under them."""

from __future__ import annotations

import re
from functools import cached_property
from itertools import islice, takewhile
from typing import TYPE_CHECKING, Any, NamedTuple

from crawlers.kinds.html.mapping.vocabulary import COLONS, LONGEST, bare, colon, fields, has_colon, key
from crawlers.records.html_page import BREAKS, UNSEEN, has_text, text, tidy

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from lxml.html import HtmlElement

    from crawlers.records.html_page import Page

    Value = list[HtmlElement | str]
    """The elements and texts of one value, in order; the elements count without their tails."""


MOST = 5_000
"""Labels of a page; a catalogue's page has dozens."""

MARKED = ("dt", "th", "label", "legend", "b", "strong", "h2", "h3", "h4", "h5", "h6")
"""The elements that say of themselves that they are labels."""

_TAGS = frozenset((*MARKED, "td", "p", "div", "span", "em", "i", "u", "font", "small", "summary"))
_MARKED = frozenset(MARKED)
_MOST_ELEMENTS = 200_000
_MOST_INSIDE = 12  # elements in a label
_HIGHEST = 4  # elements about a piece of a label
_CELLS = frozenset(("dt", "th", "td"))  # what is about one of them is more than the label
_PRESSED = frozenset(("a", "button"))  # what folds a heading's section, or sorts by a column
_SIGNS = frozenset(("i", "svg", "br", "wbr", "hr", "sup", "button", "script"))  # beside a label, and no value
_CLASSES = ("label", "caption", "term", "heading", "header", "-key", "_key", "-name", "_name", "field-title", "legend")
_MOST_AFTER = 200  # elements that are looked at after a label
_HEADINGS = frozenset(("h1", "h2", "h3", "h4", "h5", "h6"))
_LISTED = frozenset(("field-item", "field__item"))
_BOLD = frozenset(("b", "strong", "label"))
_PLACES = frozenset(("div", "span", "td", "li"))
_DEEPEST = 5
_OBJECTS = ("img", "input", "meta", "time", "data", "audio", "video", "object")
_COLON = re.compile(r"\s*[:\uff1a]\s*")
_NUMBER = re.compile(r"\s*[0-9]{1,3}[.)]?\s*")
_TABLE_CELLS = frozenset(("td", "th"))
_MOST_CELLS = 100
_MOST_PIECES = 100
_MOST_ROWS = 200
_MOST_SPANNED = 50


class Piece(NamedTuple):
    """A text of the page: an element's own, or the one after it."""

    text: str
    element: HtmlElement
    is_tail: bool


class Label:
    """
    Attributes:
        text: as it stands on the page, without its colon.
        key: what it has in common with other spellings; see `crawlers.kinds.html.mapping.vocabulary.key`.
        element: the label's own; of "Label: value" in one text the element before or around it.
        is_marked: whether the page says that it is one, by an element, a class or a colon.
        rest: what follows the label in its text; ``None`` where the label is the element.
        is_tail: whether that text is behind the element.
        is_last: whether the elements after the text belong to the value too.
    """

    __slots__ = ("__dict__", "element", "is_last", "is_marked", "is_tail", "key", "rest", "text")

    def __init__(
        self,
        text: str,
        element: HtmlElement,
        *,
        is_marked: bool,
        rest: str | None = None,
        is_tail: bool = False,
        is_last: bool = True,
    ) -> None:
        self.text, self.key = bare(text), key(text)
        self.element, self.is_marked = element, is_marked
        self.rest, self.is_tail, self.is_last = rest, is_tail, is_last

    @cached_property
    def values(self) -> list[Value]:
        """Return each value: its elements and texts in order. A ``dt`` may have several ``dd``."""
        if self.rest is not None:
            return _of_text(self.element, self.rest, is_tail=self.is_tail, is_last=self.is_last)
        if self.element.tag == "dt":
            return _definitions(self.element)
        if self.element.tag in _TABLE_CELLS:
            return _of_cell(self.element, is_marked=self.is_marked)
        return _of_element(self.element, is_marked=self.is_marked)

    def __repr__(self) -> str:
        return f"Label({self.text!r})"


def labels(page: Page, node: HtmlElement | None = None) -> list[Label]:
    """Return every label with a value, in page order."""
    around = page.root if node is None else node
    found = (each for piece in text_pieces(around) for each in at(piece, around))
    return [label for label in islice(unrepeated(found), MOST) if label.key and label.values]


def unrepeated(found: Iterator[Label]) -> Iterator[Label]:
    """Yield each label once: a label in several pieces is found several times."""
    met: set[tuple[object, ...]] = set()
    for each in found:
        mark = (each.element, each.text, each.rest)
        if mark not in met:
            met.add(mark)
            yield each


def text_pieces(around: HtmlElement, is_wanted: Callable[[str], bool] = bool) -> Iterator[Piece]:
    """Yield the texts in an element, in page order; `at` finds the labels they belong to."""
    for element in islice(around.iter(), _MOST_ELEMENTS):
        text = element.text
        if text and is_wanted(text):
            yield Piece(text, element, is_tail=False)
        text = element.tail
        if text and is_wanted(text) and element is not around:
            yield Piece(text, element, is_tail=True)


def at(piece: Piece, around: HtmlElement) -> Iterator[Label]:
    """Yield the labels that a text may be, begin, or be the first piece of."""
    element = piece.element.getparent() if piece.is_tail else piece.element
    if element is None or element.tag in UNSEEN or next(element.iterancestors(*UNSEEN), None) is not None:
        return
    if has_colon(piece.text):
        yield from _in_line(piece)
    elif not piece.is_tail:
        yield from _begun(piece)
    parent = element.getparent()
    if element.tag in _PRESSED and parent is not None and parent.tag in _MARKED:
        element = parent
    for _ in range(_HIGHEST):
        if element is None or element.tag not in _TAGS or (label := _short(element)) is None:
            return
        if label:
            yield _whole(element, label)
        if element is around or element.tag in _CELLS or _is_followed(element):
            return
        element = element.getparent()


def _begun(piece: Piece) -> Iterator[Label]:
    """Yield a label before a time in the same element, and one with its explanation in a block below it."""
    element, first = piece.element, next(iter(piece.element), None)
    if first is None or len(piece.text) > LONGEST:
        return
    if first.tag == "time":
        yield Label(piece.text, element, is_marked=False, rest="")
    elif element.tag in _CELLS and any(each.tag in BREAKS and each.tag != "br" for each in element):
        yield _whole(element, piece.text)


def _is_followed(element: HtmlElement) -> bool:
    """Return whether a place for the value follows, even an empty one: an element around both can't be a label."""
    after = next((each for each in islice(element.itersiblings(), _MOST_INSIDE) if each.tag not in _SIGNS), None)
    return after is not None and not (after.tag not in BREAKS and marks(element.getparent()))


def _whole(element: HtmlElement, written: str) -> Label:
    """Return a label that is the largest element with the same content; it, or one on the way, may mark a label."""
    is_marked = marks(element)
    while element.tag not in _CELLS and (parent := element.getparent()) is not None and parent.tag in _TAGS:
        if not _is_alone(element):
            break
        element = parent
        is_marked = is_marked or marks(element)
    return Label(written, element, is_marked=is_marked or written[-1] in COLONS or marks_cell(element))


def _short(element: HtmlElement) -> str | None:
    """Return its text; "" where it only frames another element, ``None`` where the text is too long."""
    own, first = element.text, next(iter(element), None)
    if own and len(own) > 4 * LONGEST:
        return None
    if first is None:
        found = tidy(own or "")
        return found if len(found) <= LONGEST else None
    if first.tag in _TAGS and _is_alone(first):
        return ""
    if sum(1 for _ in islice(element.iter(), _MOST_INSIDE + 1)) > _MOST_INSIDE:
        return None
    found = text(element)
    return found if len(found) <= LONGEST else None


def _is_alone(element: HtmlElement) -> bool:
    """Return whether nothing else is in the element around it."""
    if element.getnext() is not None or element.getprevious() is not None:
        return False
    before, after = element.getparent().text, element.tail
    return not (before and not before.isspace()) and not (after and not after.isspace())


def marks(element: HtmlElement) -> bool:
    """Return whether its tag or its class marks an element as a label."""
    if element.tag in _MARKED:
        return True
    classes: Any = element.get("class")
    return bool(classes) and any(each in classes for each in _CLASSES)


def _in_line(piece: Piece) -> Iterator[Label]:
    """Yield a label and its value in one text, or several of them with a bar between."""
    parts = piece.text.split("|")
    for number, part in enumerate(parts[:MOST]):
        line = part.lstrip()
        end = colon(line)
        is_last = number == len(parts) - 1
        if 0 < end <= LONGEST and (is_last or line[end + 1 :].strip()):
            rest, is_tail = line[end + 1 :], piece.is_tail
            yield Label(line[:end], piece.element, is_marked=True, rest=rest, is_tail=is_tail, is_last=is_last)


# What stands beside or under a label


def text_of(value: Value) -> str:
    """Return the value's text; the space at the edges of inline markup is space between words."""
    if len(value) == 1:
        return text(value[0])
    found = []
    for part in value:
        if isinstance(part, str):
            found.append(part)
            continue
        end = (part[-1].tail if len(part) else part.text) or ""
        is_block = part.tag in BREAKS
        found += [" " if is_block or (part.text or "")[:1].isspace() else "", text(part)]
        found += [" " if is_block or end[-1:].isspace() else ""]
    return tidy("".join(found))


def _definitions(term: HtmlElement) -> list[Value]:
    """Return every ``dd`` of a ``dt``; several ``dt`` in a row share them."""
    found: list[Value] = []
    for sibling in islice(term.itersiblings(), _MOST_AFTER):
        if sibling.tag == "dd":
            found.append([sibling])
        elif sibling.tag == "dt" and found:
            break
        elif sibling.tag not in ("dt", "dd", *UNSEEN) and not found:
            return _filled([[sibling]])
    return _filled(found)


def _of_text(element: HtmlElement, rest: str, *, is_tail: bool, is_last: bool) -> list[Value]:
    """Return what follows "Label:" in a text: the rest of it, and the inline elements after it."""
    if not is_last:
        return [[rest]] if rest.strip() else []
    first = element.getnext() if is_tail else next(iter(element), None)
    value = _run(rest, first, None, is_open=True)
    return _listed(value)


def _of_element(label: HtmlElement, *, is_marked: bool) -> list[Value]:
    """Return what follows a label's element in its line, or the next line or block where the line has nothing."""
    if label.tag in _HEADINGS:
        return _under(label)
    tail = (label.tail or "").lstrip(" \t\r\n\u00a0:\uff1a")
    value = _run(tail, label.getnext(), label, is_open=is_marked and label.tag not in BREAKS)
    return _listed(value)


def _under(heading: HtmlElement) -> list[Value]:
    """Return each block up to the next heading."""
    found: list[Value] = [[heading.tail]] if heading.tail and heading.tail.strip() else []
    for sibling in islice(heading.itersiblings(), _MOST_AFTER):
        if sibling.tag in _HEADINGS:
            break
        if found and found[-1][-1:] and sibling.tag not in BREAKS:
            found[-1].append(sibling)
        elif sibling.tag not in UNSEEN:
            found += _listed([sibling])
        if sibling.tail and sibling.tail.strip():
            found.append([sibling.tail])
    return _filled(found)


def _run(before: str, first: HtmlElement | None, label: HtmlElement | None, *, is_open: bool) -> Value:
    """
    Args:
        before: the text before the first element.
        label: the label's element, if it has one: another one like it begins the next label.
        is_open: whether several inline elements make up the value; else the first one with a text does.
    """
    value: Value = [before] if before.strip() else []
    element = first
    for _ in range(_MOST_AFTER):
        if element is None or _ends(element, label, is_empty=not value):
            break
        if element.tag not in UNSEEN and element.tag != "br" and _has_content(element):
            value.append(element)
            if element.tag in BREAKS or not (is_open or element.tag == "img"):
                break
        if element.tail and element.tail.strip():
            if element.tag == "br" and not value and _begins_label(element.tail.lstrip()):
                break
            value.append(element.tail)
        elif value and element.tail:
            value.append(" ")
        element = element.getnext()
    return value if any(not isinstance(part, str) or part.strip() for part in value) else []


def _ends(element: HtmlElement, label: HtmlElement | None, *, is_empty: bool) -> bool:
    """Return whether the value ends before this element."""
    if element.tag in UNSEEN:
        return False
    if element.tag in BREAKS and not is_empty:
        return True
    if is_empty and label is not None and (_is_empty_place(element, label) or _is_next(element, label)):
        return True
    if element.tag in _HEADINGS and label is not None and label.tag not in _HEADINGS:
        return True
    if not is_empty and (element.tag in _BOLD or _is_like(element, label)):
        return True
    return element.tag not in BREAKS and _is_label(element)


def _is_empty_place(element: HtmlElement, label: HtmlElement) -> bool:
    """Return whether the value would stand here; empty paragraphs make space, other empty elements end a float."""
    if element.tag not in _PLACES or element.tag != label.tag or _has_content(element):
        return False
    return not (element.tail and element.tail.strip()) and "clear" not in (element.get("class") or "")


def _is_next(element: HtmlElement, label: HtmlElement) -> bool:
    """Return whether another label begins here, with its value behind it: this label has no value."""
    if element.tag not in BREAKS:
        return element.tag in _BOLD and _is_like(element, label) and _is_on_a_new_line(element)
    if not _is_like(element, label):
        return False
    if _begins_label(text(element)):
        return True
    inner, own = element, label
    for _ in range(_DEEPEST):
        inner, own = _first(inner), _first(own)
        if inner is None or own is None or not _is_like(inner, own):
            return False
        if _has_value_behind(inner):
            is_marked = inner.tag in BREAKS or inner.tag == "label" or inner.get("class")
            return bool(is_marked) or _is_label(inner) or _is_label(own)
    return False


def _first(element: HtmlElement) -> HtmlElement | None:
    """Return the element that it begins with, if it does not begin with text."""
    return None if element.text and element.text.strip() else next(iter(element), None)


def _has_value_behind(element: HtmlElement) -> bool:
    after = element.getnext()
    return bool(element.tail and element.tail.strip()) or (after is not None and after.tag not in ("br", *_OBJECTS))


def _is_on_a_new_line(element: HtmlElement) -> bool:
    """Return whether it has text beside it, or an empty line before it; a value in bold type has neither."""
    before = element.getprevious()
    if before is None or before.tag != "br":
        return False
    earlier = before.getprevious()
    return _has_value_behind(element) or (earlier is not None and earlier.tag == "br")


def _begins_label(text: str) -> bool:
    """Return whether a text begins with a word for a field and a colon."""
    end = colon(text)
    return 0 < end <= LONGEST and key(text[:end]) in fields()


def _is_like(element: HtmlElement, label: HtmlElement | None) -> bool:
    return label is not None and element.tag == label.tag and element.get("class") == label.get("class")


def _is_label(element: HtmlElement) -> bool:
    """Return whether a colon at its end, or after it, makes an element a label."""
    found = text(element)
    if not 0 < len(found) <= LONGEST:
        return False
    return colon(found) == len(found) - 1 or (element.tail or "").lstrip()[:1] in (":", "\uff1a")


def _listed(value: Value) -> list[Value]:
    """Return the values apart: Drupal gives each value of a field an element of its own."""
    only = value[0] if len(value) == 1 else None
    if only is None or isinstance(only, str):
        return [value] if value else []
    inside = islice(only.iter("div", "li", "span"), _MOST_AFTER)
    items = [[each] for each in inside if not _LISTED.isdisjoint((each.get("class") or "").split())]
    return _filled(items) or [value]


def _filled(values: list[Value]) -> list[Value]:
    return [value for value in values if any(_has_content(part) for part in value)]


def _has_content(part: HtmlElement | str) -> bool:
    if isinstance(part, str):
        return bool(part.strip())
    return has_text(part) or next(part.iter(*_OBJECTS), None) is not None


# Labels in tables: at the head of a row or of a column


def marks_cell(cell: HtmlElement) -> bool:
    """Return whether a ``td`` is a label: it has just one more beside it, or stands in the table's head."""
    if cell.tag != "td":
        return False
    following = cell.getnext()
    is_pair = following is not None and following.getnext() is None and cell.getprevious() is None
    return is_pair or _is_in_head(cell.getparent())


def _of_cell(cell: HtmlElement, *, is_marked: bool) -> list[Value]:
    """Return the values of a row's or a column's label."""
    row = cell.getparent()
    if row is None or row.tag != "tr":
        return []
    across = [] if _is_in_head(row) else _across(cell, row)
    if across:  # and the cells of the further rows that the label spans
        rows = islice(row.itersiblings("tr"), _span(cell, "rowspan") - 1)
        return across + [[each] for below in rows for each in _row(below) if each.tag == "td" and _has_value(each)]
    return _below(cell, row) if is_marked and _is_head(row) else []


def _row(row: HtmlElement) -> list[HtmlElement]:
    """Return a row's cells without a cell for the colon or for the row's number; empty ones count."""
    cells = (each for each in islice(row, _MOST_CELLS) if each.tag in _TABLE_CELLS)
    found = [each for each in cells if len(each) or not _COLON.fullmatch(each.text or "")]
    is_numbered = len(found) > 2 and not len(found[0]) and _NUMBER.fullmatch(found[0].text or "")
    return found[1:] if is_numbered else found


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
        behind = takewhile(lambda each: each.tag != "th", cells[cells.index(cell) + 1 :])
        return [[each] for each in behind if _has_value(each)]
    if any(each.tag == "th" for each in cells):
        return []
    value = _beside(cell, cells)
    if value is None:
        value = _beside(cell, [*filter(_has_value, cells)])
    return [[value]] if value is not None and _has_value(value) else []


def _beside(cell: HtmlElement, cells: list[HtmlElement]) -> HtmlElement | None:
    """Return the cell behind a label, where labels and values take turns."""
    takes_turns = cell in cells and not len(cells) % 2 and not cells.index(cell) % 2
    return cells[cells.index(cell) + 1] if takes_turns else None


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
    before = (each for each in islice(cell.itersiblings(preceding=True), _MOST_CELLS) if each.tag in _TABLE_CELLS)
    column = sum(_span(each, "colspan") for each in before)
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


def _at(row: HtmlElement, column: int) -> HtmlElement | None:
    left = column
    for cell in islice(row, _MOST_CELLS):
        if cell.tag in _TABLE_CELLS:
            left -= _span(cell, "colspan")
            if left < 0:
                return cell
    return None
