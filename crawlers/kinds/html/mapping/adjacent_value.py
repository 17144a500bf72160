"""What stands beside or under a label."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING

from crawlers.kinds.html.mapping.normalise import LONGEST, colon, key
from crawlers.kinds.html.mapping.synonyms import fields
from crawlers.records.html_page import BREAKS, UNSEEN, has_text, text, tidy

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lxml.html import HtmlElement

    Value = list[HtmlElement | str]
    """The elements and texts of one value, in order; the elements count without their tails."""

_MOST = 200
"""Elements that are looked at after a label."""

_HEADINGS = frozenset(("h1", "h2", "h3", "h4", "h5", "h6"))
_LISTED = ("field-item", "field__item")
_BOLD = frozenset(("b", "strong", "label"))
_PLACES = frozenset(("div", "span", "td", "li"))
_DEEPEST = 5
_OBJECTS = ("img", "input", "meta", "time", "data", "audio", "video", "object")


def written(value: Value) -> str:
    """Return the value's text."""
    if len(value) == 1:
        return text(value[0])
    return tidy("".join(_joined(value)))


def _joined(value: Value) -> Iterator[str]:
    for part in value:
        if isinstance(part, str):
            yield part
        else:
            yield f" {text(part)} " if part.tag in BREAKS else _spaced(part)


def _spaced(part: HtmlElement) -> str:
    """Return a text with the space at the edges of inline markup, which is space between words."""
    found, before = text(part), part.text or ""
    return f"{before[:1] if before[:1].isspace() else ''}{found}{' ' if _ends_in_space(part) else ''}"


def _ends_in_space(part: HtmlElement) -> bool:
    last = next(part.iterchildren(reversed=True), None)
    end = (part.text if last is None else last.tail) or ""
    return end[-1:].isspace()


def definitions(term: HtmlElement) -> list[Value]:
    """Return every ``dd`` of a ``dt``; several ``dt`` in a row share them."""
    found: list[Value] = []
    for sibling in islice(term.itersiblings(), _MOST):
        if sibling.tag == "dd":
            found.append([sibling])
        elif sibling.tag == "dt" and found:
            break
        elif sibling.tag not in ("dt", "dd", *UNSEEN) and not found:
            return _filled([[sibling]])
    return _filled(found)


def of_text(element: HtmlElement, rest: str, *, is_tail: bool, is_last: bool) -> list[Value]:
    """Return what follows "Label:" in a text: the rest of it, and the inline elements after it."""
    if not is_last:
        return [[rest]] if rest.strip() else []
    first = element.getnext() if is_tail else next(iter(element), None)
    value = _run(rest, first, None, is_open=True)
    return _listed(value)


def of_element(label: HtmlElement, *, is_marked: bool) -> list[Value]:
    """Return what follows a label's element in its line, or the next line or block where the line has nothing."""
    if label.tag in _HEADINGS:
        return _under(label)
    tail = (label.tail or "").lstrip(" \t\r\n\u00a0:\uff1a")
    value = _run(tail, label.getnext(), label, is_open=is_marked and label.tag not in BREAKS)
    return _listed(value)


def _under(heading: HtmlElement) -> list[Value]:
    """Return each block up to the next heading."""
    found: list[Value] = [[heading.tail]] if heading.tail and heading.tail.strip() else []
    for sibling in islice(heading.itersiblings(), _MOST):
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
    for _ in range(_MOST):
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
        if _is_followed(inner):
            is_marked = inner.tag in BREAKS or inner.tag == "label" or inner.get("class")
            return bool(is_marked) or _is_label(inner) or _is_label(own)
    return False


def _first(element: HtmlElement) -> HtmlElement | None:
    """Return the element that it begins with, if it does not begin with text."""
    return None if element.text and element.text.strip() else next(iter(element), None)


def _is_followed(element: HtmlElement) -> bool:
    after = element.getnext()
    return bool(element.tail and element.tail.strip()) or (after is not None and after.tag not in ("br", *_OBJECTS))


def _is_on_a_new_line(element: HtmlElement) -> bool:
    """Return whether it has text beside it, or an empty line before it; a value in bold type has neither."""
    before = element.getprevious()
    if before is None or before.tag != "br":
        return False
    earlier = before.getprevious()
    return _is_followed(element) or (earlier is not None and earlier.tag == "br")


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
    items = [each for each in islice(only.iter("div", "li", "span"), _MOST) if _is_item(each)]
    return _filled([[each] for each in items]) or [value]


def _is_item(element: HtmlElement) -> bool:
    return any(name in _LISTED for name in (element.get("class") or "").split())


def _filled(values: list[Value]) -> list[Value]:
    return [value for value in values if any(_has_content(part) for part in value)]


def _has_content(part: HtmlElement | str) -> bool:
    if isinstance(part, str):
        return bool(part.strip())
    return has_text(part) or next(part.iter(*_OBJECTS), None) is not None
