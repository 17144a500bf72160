"""Rules that find a value by the label beside or above it."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from crawlers.learn.anchors import TAG, anchors
from crawlers.learn.anchors import stability as stability_of
from crawlers.learn.candidate import Candidate
from crawlers.learn.pairs import Pair, pairs
from crawlers.learn.selectors import ancestors
from crawlers.learn.texts import escaped, normal
from crawlers.mapping.html.beside import written
from crawlers.mapping.html.labels import Label, labels
from crawlers.mapping.html.page import text
from crawlers.mapping.html.surroundings import is_outside
from crawlers.mapping.html.synonyms import fields
from crawlers.mapping.html.wording import key

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from crawlers.learn.sample import Place, Sample

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
_FRAMES = ("div", "span")  # a row of these says no more than its label where the value is empty
_LONGEST = 60  # characters of a label that is proposed


def known(sample: Sample, told: str | None = None) -> list[Label]:
    """The page's labels that a rule may name.

    Args:
        told: a label that the user names; it may be any text with a value.
    """
    every = labels(sample.page)
    if told is not None and (same := [one for one in every if one.key == key(told)]):
        return same
    found = [one for one in every[:_MOST] if one.key and len(one.text) <= _LONGEST]
    found = [one for one in found if one.is_marked or one.key in fields()]
    return [one for one in found if not any(letter.isdigit() for letter in one.text)]


def by_label(name: str, every: list[Label], values: Sequence[str], told: str | None = None) -> Iterator[Candidate]:
    """A rule for each label that has the value beside it, or may have it; the trial tells which do."""
    inside = [label for label in every if not is_outside(label.element)]
    texts = {label.key: label.text for label in reversed(inside) if told or _may_have(label, values)}
    for wording, shown in texts.items():
        if told is None or key(told) == wording:
            yield _by_wording(name, every, wording, told=told, shown=shown)


def by_attribute(name: str, every: list[Label], places: list[Place], told: str | None = None) -> Iterator[Candidate]:
    """A rule for each label that has an element beside it with the value in an attribute, such as a link's address."""
    counts = Counter(label.key for label in every)
    for place in places:
        near = [one for one in every if counts[one.key] <= _MOST_ALIKE and _is_of(one, [place.element])]
        for label in near[:_MOST_NEAR] if place.attr else ():
            found = _by_wording(name, every, label.key, told=told, shown=label.text)
            yield replace(found, table={**found.table, "attr": place.attr}, stability=found.stability * ATTRIBUTE)


def _by_wording(name: str, every: list[Label], wording: str, *, told: str | None, shown: str) -> Candidate:
    count = sum(1 for label in every if label.key == wording)
    stability, why = _trust(name, wording, is_told=told is not None and key(told) == wording)
    if count > 1:
        stability *= 0.8
        why = (*why, f"the label stands {count} times on the page")
    return Candidate({"label": told or shown}, stability, "label", why)


def _may_have(label: Label, values: Sequence[str]) -> bool:
    """Whether its text has one of the values in it, or a number, which may be a date."""
    shown = normal(" ".join(written(value) for value in label.values)[:_MOST_SHOWN])
    has_number = any(map(str.isdigit, shown))
    return any(normal(one)[:_MOST_COMPARED] in shown or (one[-1:].isdigit() and has_number) for one in values)


def _trust(name: str, wording: str, *, is_told: bool) -> tuple[float, tuple[str, ...]]:
    owners = fields().get(wording, ())
    if is_told:
        return 0.99, ()
    if name in owners:
        return KNOWN, ()
    if set(_RELATED.get(name, ())) & set(owners):
        return UNKNOWN, ()
    if owners:
        return OTHERS, (f"the label is usually that of {owners[0]}",)
    return UNKNOWN, ("the label is no known word for it",)


def anchored(name: str, sample: Sample, every: list[Label], elements: list[Any]) -> Iterator[Candidate]:
    """XPaths from a label's own text to elements near it, within a named part of the page.

    They hold where a label rule is misled: by the same label in another box, or by elements that lie side by side.
    """
    counts = Counter(label.key for label in every)
    near: list[Label | Pair] = [one for one in every if counts[one.key] <= _MOST_ALIKE and _is_of(one, elements)]
    for label in [*near[:_MOST_NEAR], *pairs(sample, elements)]:
        beside = elements[0].getparent() is label.element.getparent()
        shared = label.element.getparent() if beside else next(iter(ancestors([label.element, *elements])), None)
        way = None if shared is None else steps(label.element, elements, shared)
        stability, why = _trust(name, label.key, is_told=False)
        for scope in _scopes(shared, is_within=beside) if way else ():
            xpath = f"{scope}{way}"
            trust = stability * ANCHORED / KNOWN * (1 if sample.page.find(xpath) == elements else 0.75)
            yield Candidate({"xpath": xpath}, round(trust, 3), "label", why)


def inline(name: str, sample: Sample, every: list[Label], values: Sequence[str]) -> Iterator[Candidate]:
    """For "Label: value" in one text that stands elsewhere too: the paragraphs of one part of the page, cut."""
    counts = Counter(label.key for label in every)
    for label in every:
        if counts[label.key] < 2 or label.place.rest is None or is_outside(label.element):
            continue
        if not _may_have(label, values):
            continue
        stability, why = _trust(name, label.key, is_told=False)
        regex = rf"^{escaped(label.text)}\s*[:\x{{ff1a}}]\s*(.+)"
        box = label.element.getparent() if label.place.is_tail else label.element
        for ancestor in box.iterancestors():
            for anchor in anchors(ancestor)[:2]:
                css = f"{anchor.css} {box.tag}"
                if anchor.stability > TAG and _starts(sample, css, label) == 1:
                    yield Candidate({"css": css, "regex": regex}, round(stability * 0.85, 3), "label", why)


def _starts(sample: Sample, css: str, label: Label) -> int:
    """How many of the elements begin with the label."""
    return sum(1 for one in sample.css(css)[:_MOST] if key(text(one)).startswith(label.key))


def _is_of(label: Label, elements: list[Any]) -> bool:
    """Whether the elements are the label's value, or lie in it."""
    parts = {part for value in label.values for part in value if not isinstance(part, str)}
    return all(element in parts or any(above in parts for above in element.iterancestors()) for element in elements)


def steps(label: Any, elements: list[Any], shared: Any) -> str | None:
    """From the element around both: the label's way as a condition, the value's as what follows."""
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
    """The tags from one element down to another; a class where its siblings have the same tag."""
    steps: list[str] = []
    while element is not shared and element.getparent() is not None and len(steps) < _DEEPEST:
        steps.append(_step(element))
        element = element.getparent()
    return "/".join(reversed(steps)) if element is shared else None


def _step(element: Any) -> str:
    siblings = [one for one in element.getparent() if one.tag == element.tag and one is not element]
    different = [one for one in siblings if one.get("class") != element.get("class")]
    token = next(iter((element.get("class") or "").split()), None)
    if not different or not token or not stability_of(token):
        return str(element.tag)
    return f"{element.tag}[{_has_class(token)}]"


def _quoted(label: Any) -> str | None:
    """The label's text as an XPath literal, colon and all."""
    found = " ".join(label.xpath("string()").split())
    return None if not found or len(found) > _LONGEST + 5 or '"' in found else f'"{found}"'


def _scopes(shared: Any, *, is_within: bool) -> Iterator[str]:
    """The nearest parts of the page that have a name of their own, and the page.

    Args:
        is_within: whether what is looked for lies in the element, and not is the element.
    """
    above = [shared, *shared.iterancestors()][0 if is_within else 1 :]
    scopes = [scope for one in above if one.tag not in ("html", "body") and (scope := _scope(one))]
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
