"""The labels on a page, and the values that stand beside or under them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from typing import TYPE_CHECKING, Any, NamedTuple

from crawlers.kinds.html.mapping import adjacent_value, cells
from crawlers.kinds.html.mapping.normalise import COLONS, LONGEST, bare, colon, has_colon, key
from crawlers.records.html_page import BREAKS, UNSEEN, text, tidy

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from lxml.html import HtmlElement

    from crawlers.kinds.html.mapping.adjacent_value import Value
    from crawlers.records.html_page import Page

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


class Piece(NamedTuple):
    """A text of the page: an element's own, or the one after it."""

    text: str
    element: HtmlElement
    is_tail: bool


@dataclass(slots=True, eq=False)
class Place:
    """Where a label stands: an element, or a text and what follows it."""

    element: HtmlElement
    rest: str | None = None
    """What follows the label in its text node; ``None`` where the label is the element."""
    is_tail: bool = False
    is_last: bool = True
    """Whether the elements after the text belong to the value too."""


class Label:
    """
    Attributes:
        text: as it stands on the page, without its colon.
        key: what it has in common with other spellings; see `crawlers.kinds.html.mapping.normalise.key`.
        is_marked: whether the page says that it is one, by an element, a class or a colon.
        element: the label's own; of "Label: value" in one text the element before or around it.
    """

    __slots__ = ("__dict__", "element", "is_marked", "key", "place", "text")

    def __init__(self, text: str, place: Place, *, is_marked: bool) -> None:
        self.text = bare(text)
        self.key = key(text)
        self.place = place
        self.element = place.element
        self.is_marked = is_marked

    @cached_property
    def values(self) -> list[Value]:
        """Return each value: its elements and texts in order. A ``dt`` may have several ``dd``."""
        place = self.place
        if place.rest is not None:
            return adjacent_value.of_text(place.element, place.rest, is_tail=place.is_tail, is_last=place.is_last)
        if place.element.tag == "dt":
            return adjacent_value.definitions(place.element)
        if place.element.tag in ("td", "th"):
            return cells.values(place.element, is_marked=self.is_marked)
        return adjacent_value.of_element(place.element, is_marked=self.is_marked)

    def __repr__(self) -> str:
        return f"Label({self.text!r})"


def labels(page: Page, node: HtmlElement | None = None) -> list[Label]:
    """Return every label with a value, in page order."""
    around = page.root if node is None else node
    found = (each for piece in pieces(around) for each in at(piece, around))
    return [label for label in islice(unrepeated(found), MOST) if label.key and label.values]


def unrepeated(found: Iterator[Label]) -> Iterator[Label]:
    """Yield each label once: a label in several pieces is found several times."""
    met: set[tuple[object, ...]] = set()
    for each in found:
        mark = (each.element, each.text, each.place.rest)
        if mark not in met:
            met.add(mark)
            yield each


def pieces(around: HtmlElement, is_wanted: Callable[[str], bool] = bool) -> Iterator[Piece]:
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
            yield _of_element(element, label)
        if element is around or element.tag in _CELLS or _is_followed(element):
            return
        element = element.getparent()


def _begun(piece: Piece) -> Iterator[Label]:
    """Yield a label before a time in the same element, and one with its explanation in a block below it."""
    element, first = piece.element, next(iter(piece.element), None)
    if first is None or len(piece.text) > LONGEST:
        return
    if first.tag == "time":
        yield Label(piece.text, Place(element, ""), is_marked=False)
    elif element.tag in _CELLS and any(each.tag in BREAKS and each.tag != "br" for each in element):
        yield _of_element(element, piece.text)


def _is_followed(element: HtmlElement) -> bool:
    """Return whether a place for the value follows, even an empty one: an element around both can't be a label."""
    after = next((each for each in islice(element.itersiblings(), _MOST_INSIDE) if each.tag not in _SIGNS), None)
    return after is not None and not (after.tag not in BREAKS and marks(element.getparent()))


def _of_element(element: HtmlElement, written: str) -> Label:
    place, is_marked = _outermost(element)
    return Label(written, Place(place), is_marked=is_marked or written[-1] in COLONS or cells.marks(place))


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


def _outermost(element: HtmlElement) -> tuple[HtmlElement, bool]:
    """Return the largest element with the same content, and whether it or one on the way marks a label."""
    is_marked = marks(element)
    while True:
        parent = element.getparent()
        if element.tag in _CELLS or parent is None or parent.tag not in _TAGS or not _is_alone(element):
            return element, is_marked
        element = parent
        is_marked = is_marked or marks(element)


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
            place = Place(piece.element, line[end + 1 :], is_tail=piece.is_tail, is_last=is_last)
            yield Label(line[:end], place, is_marked=True)
