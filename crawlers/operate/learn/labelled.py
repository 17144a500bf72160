"""Rules that find a value by the label beside or above it."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from crawlers.kinds.html.mapping.confidence import is_outside
from crawlers.kinds.html.mapping.labels import Label, labels, text_of
from crawlers.kinds.html.mapping.vocabulary import fields, key
from crawlers.operate.learn.candidates import Candidate
from crawlers.operate.learn.selectors import TAG, ancestors, anchors
from crawlers.operate.learn.selectors import stability as stability_of
from crawlers.operate.learn.texts import escaped, normal
from crawlers.records.html_page import text

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from crawlers.operate.learn.sample import Place, Sample, Wanted

ATTRIBUTE = 0.97
KNOWN = 0.95
_RELATED = {"contact_email": ("contact", "maintainer", "creator"), "publisher_email": ("publisher", "contact")}
UNKNOWN = 0.85
OTHERS = 0.5
ANCHORED = 0.82
_MOST = 500
_MOST_SHOWN = 20_000
_MOST_COMPARED = 40
_MOST_NEAR = 3
_MOST_ALIKE = 20  # labels with the same text; beyond it the page is a table of many things
_DEEPEST = 6
_FRAMES = ("div", "span")  # a row of these has only its label if the value is empty
_LONGEST = 60  # characters of a label that is proposed


def known(sample: Sample, named: str | None = None) -> list[Label]:
    """Return the page's labels that a rule may name.

    Args:
        named: a label that the user names; it may be any text with a value.
    """
    every = labels(sample.page)
    if named is not None and (same := [item for item in every if item.key == key(named)]):
        return same
    found = [item for item in every[:_MOST] if item.key and len(item.text) <= _LONGEST]
    found = [item for item in found if item.is_marked or item.key in fields()]
    return [item for item in found if not any(map(str.isdigit, item.text)) and not heads_column(item)]


def heads_column(label: Label) -> bool:
    """Return whether a label stands over the cells of a table's column: they are of many things, not of the dataset.

    A row of labels over one row of values is a record.
    """
    cell = next((each for each in (label.element, *label.element.iterancestors()) if each.tag in ("td", "th")), None)
    below = [value[0].getparent() for value in label.values if not isinstance(value[0], str) and value[0].tag == "td"]
    if cell is None or len(below) < len(label.values) or cell.getparent() in below:
        return False
    return len(below) > 1 or below[0][0].tag == "th"


def beside(every: list[Label], wanted: Wanted) -> list[Label]:
    """Return the labels whose value may be what is wanted: those of its place, where that is known."""
    elements = [place.element for place in wanted.at]
    return [label for label in every if _contains(label, elements)] if elements else every


def by_label(
    name: str, every: list[Label], beside: list[Label], values: Sequence[str], named: str | None = None
) -> Iterator[Candidate]:
    """Yield a rule for each label that may have the value beside it; the trial shows which do."""
    inside = [label for label in beside if not is_outside(label.element)]
    texts = {label.key: label.text for label in reversed(inside) if named or _may_have(label, values)}
    for wording, shown in texts.items():
        if named is None or key(named) == wording:
            yield _by_wording(name, every, wording, named=named, shown=shown)


def by_attribute(name: str, every: list[Label], places: list[Place], named: str | None = None) -> Iterator[Candidate]:
    """Yield a rule for each label beside an element that has the value in an attribute, such as a link's address."""
    counts = Counter(label.key for label in every)
    for place in places:
        near = [item for item in every if counts[item.key] <= _MOST_ALIKE and _contains(item, [place.element])]
        for label in near[:_MOST_NEAR] if place.attr else ():
            found = _by_wording(name, every, label.key, named=named, shown=label.text)
            yield replace(found, table={**found.table, "attr": place.attr}, stability=found.stability * ATTRIBUTE)


def _by_wording(name: str, every: list[Label], wording: str, *, named: str | None, shown: str) -> Candidate:
    count = sum(1 for label in every if label.key == wording)
    stability, why = _trust(name, wording, is_named=named is not None and key(named) == wording)
    if count > 1:
        stability *= 0.8
        why = (*why, f"the label stands {count} times on the page")
    return Candidate({"label": named or shown}, stability, "label", why)


def _may_have(label: Label, values: Sequence[str]) -> bool:
    """Return whether a label's text contains one of the values, or a number, which may be a date."""
    shown = normal(" ".join(text_of(value) for value in label.values)[:_MOST_SHOWN])
    has_number = any(map(str.isdigit, shown))
    return any(normal(value)[:_MOST_COMPARED] in shown or (value[-1:].isdigit() and has_number) for value in values)


def _trust(name: str, wording: str, *, is_named: bool) -> tuple[float, tuple[str, ...]]:
    owners = fields().get(wording, ())
    if is_named:
        return 0.99, ()
    if name in owners:
        return KNOWN, ()
    if set(_RELATED.get(name, ())) & set(owners):
        return UNKNOWN, ()
    if owners:
        return OTHERS, (f"the label is usually that of {owners[0]}",)
    return UNKNOWN, ("the label is no known word for it",)


def anchored(name: str, sample: Sample, every: list[Label], elements: list[Any]) -> Iterator[Candidate]:
    """Yield XPaths from a label's own text to elements near it, within a named part of the page.

    They work where a label rule fails: if another box has the same label, or elements lie side by side.
    """
    counts = Counter(label.key for label in every)
    near = [item for item in every if counts[item.key] <= _MOST_ALIKE and _contains(item, elements)]
    for label in [*near[:_MOST_NEAR], *pairs(sample, elements)]:
        beside = elements[0].getparent() is label.element.getparent()
        shared = label.element.getparent() if beside else next(iter(ancestors([label.element, *elements])), None)
        way = None if shared is None else steps(label.element, elements, shared)
        stability, why = _trust(name, label.key, is_named=False)
        for scope in _scopes(shared, is_within=beside) if way else ():
            xpath = f"{scope}{way}"
            trust = stability * ANCHORED / KNOWN * (1 if sample.page.find(xpath) == elements else 0.75)
            yield Candidate({"xpath": xpath}, round(trust, 3), "label", why)


def inline(
    name: str, sample: Sample, every: list[Label], beside: list[Label], values: Sequence[str]
) -> Iterator[Candidate]:
    """Yield rules for "Label: value" in a text if the label is elsewhere too: a part of the page, cut by a pattern."""
    counts = Counter(label.key for label in every)
    for label in beside:
        if counts[label.key] < 2 or label.rest is None or is_outside(label.element):
            continue
        if not _may_have(label, values):
            continue
        stability, why = _trust(name, label.key, is_named=False)
        regex = rf"^{escaped(label.text)}\s*[:\x{{ff1a}}]\s*(.+)"
        box = label.element.getparent() if label.is_tail else label.element
        for ancestor in box.iterancestors():
            for anchor in anchors(ancestor)[:2]:
                css = f"{anchor.css} {box.tag}"
                starting = (each for each in sample.css(css)[:_MOST] if key(text(each)).startswith(label.key))
                if anchor.stability > TAG and len(list(starting)) == 1:
                    yield Candidate({"css": css, "regex": regex}, round(stability * 0.85, 3), "label", why)


def _contains(label: Label, elements: list[Any]) -> bool:
    """Return whether the elements are the label's value, or lie in it."""
    parts = {part for value in label.values for part in value if not isinstance(part, str)}
    return all(element in parts or any(above in parts for above in element.iterancestors()) for element in elements)


def steps(label: Any, elements: list[Any], shared: Any) -> str | None:
    """Return the XPath from the element around both: a condition on the label, then the way to the value."""
    wording = _quoted(label)
    if wording is None:
        return None
    after = label.getnext()
    is_before = label.getparent() is shared and after is not None
    rest = {_way(element, after) for element in elements} if is_before else set()
    if len(rest) == 1 and None not in rest:
        inner = rest.pop()
        inmost = f"[not({label.tag})]" if label.tag in _FRAMES and label.find(label.tag) is None else ""
        beside = f"//{label.tag}[normalize-space()={wording}]{inmost}/following-sibling::*[1][self::{after.tag}]"
        return f"{beside}/{inner}" if inner else beside
    here, there = _way(label, shared), {_way(element, shared) for element in elements}
    if len(there) != 1 or here is None or None in there:
        return None
    return f"//{shared.tag}[{here}[normalize-space()={wording}]]/{there.pop()}"


def _way(element: Any, shared: Any) -> str | None:
    """Return the tags from one element down to another; a class where its siblings have the same tag."""
    steps: list[str] = []
    while element is not shared and element.getparent() is not None and len(steps) < _DEEPEST:
        steps.append(_step(element))
        element = element.getparent()
    return "/".join(reversed(steps)) if element is shared else None


def _step(element: Any) -> str:
    siblings = [item for item in element.getparent() if item.tag == element.tag and item is not element]
    different = [sibling for sibling in siblings if sibling.get("class") != element.get("class")]
    token = next(iter((element.get("class") or "").split()), None)
    if not different or not token or not stability_of(token):
        return str(element.tag)
    return f"{element.tag}[{_has_class(token)}]"


def _quoted(label: Any) -> str | None:
    """Return the label's text as an XPath literal, including the colon; ``None`` if rules can't have it."""
    found = " ".join(label.xpath("string()").split())
    is_usual = found.isprintable() and '"' not in found
    return f'"{found}"' if is_usual and 0 < len(found) <= _LONGEST + 5 else None


def _scopes(shared: Any, *, is_within: bool) -> Iterator[str]:
    """Yield the nearest named parts of the page, and the page.

    Args:
        is_within: whether the target lies in the element, and is not the element itself.
    """
    above = [shared, *shared.iterancestors()][0 if is_within else 1 :]
    scopes = [scope for item in above if item.tag not in ("html", "body") and (scope := _scope(item))]
    yield from scopes[:3]
    yield ""


def _scope(element: Any) -> str | None:
    best = anchors(element)[0]
    if best.css.startswith("#"):
        return f'//*[@id="{best.css[1:]}"]'
    if best.css.startswith("."):
        return f"//{element.tag}[{_has_class(best.css[1:])}]"
    return f"//{element.tag}" if element.tag in ("main", "article") else None


def _has_class(token: str) -> str:
    return f'contains(concat(" ",@class," ")," {token} ")'


_LEVELS = 4
_LONGEST_PAIR = 40  # characters
_MOST_INSIDE = 2  # elements in a label; a row of label and value has more
_LEAST = 3  # pairs that make a table of them


def pairs(sample: Sample, elements: list[Any]) -> Iterator[Label]:
    """Yield labels without markup: the text right before the elements or the boxes around them, the nearest first."""
    texts = sample.texts
    for here in _around(elements):
        before = here.getprevious()
        shown = texts.get(before, "") if before is not None else ""
        if (
            shown
            and len(before) < _MOST_INSIDE
            and _is_label(shown)
            and len(_table(sample)[_shape(before, here)]) >= _LEAST
        ):
            yield Label(shown, before, is_marked=False)


def _around(elements: list[Any]) -> list[Any]:
    shared = [elements[0], *elements[0].iterancestors()]
    for element in elements[1:]:
        own = {element, *element.iterancestors()}
        shared = [item for item in shared if item in own]
    return shared[:_LEVELS]


def _is_label(shown: str) -> bool:
    return len(shown) <= _LONGEST_PAIR and not any(map(str.isdigit, shown)) and bool(key(shown))


def _table(sample: Sample) -> dict[Any, set[str]]:
    """Return the texts of elements by their shape and that of the element that follows."""
    if sample.pairs is None:
        found: dict[Any, set[str]] = defaultdict(set)
        for element, shown in sample.texts.items():
            after = element.getnext()
            if after is not None and _is_label(shown):
                found[_shape(element, after)].add(shown)
        sample.pairs = found
    return sample.pairs


def _shape(element: Any, other: Any) -> tuple[Any, ...]:
    return element.tag, element.get("class"), element.get("role"), other.tag, other.get("class"), other.get("role")
