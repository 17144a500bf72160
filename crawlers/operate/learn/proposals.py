"""Every rule that may find a value."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from crawlers.kinds.html.mapping.confidence import OUTSIDE, is_outside
from crawlers.operate.learn import labelled, selectors
from crawlers.operate.learn.candidates import Candidate
from crawlers.operate.learn.expected_value import same_date
from crawlers.operate.learn.sample import addressed_places, alike_places, containing_places, equal_places
from crawlers.operate.learn.texts import normal, patterns

if TYPE_CHECKING:
    from collections.abc import Iterator

    from crawlers.kinds.html.mapping.labels import Label
    from crawlers.operate.learn.candidates import Trial
    from crawlers.operate.learn.expected_value import Wanted
    from crawlers.operate.learn.sample import Place, Sample

_MOST = 8  # elements with the same text
_OUTSIDE = "it stands in a header, a footer or a navigation"
_LONGEST_LIST = 2_000  # characters of several values in one text


def proposals(trial: Trial, wanted: Wanted) -> Iterator[Candidate]:
    """Yield rules that may give what was seen; rules that give too much are split or cut."""
    sample = trial.samples[0]
    every = labelled.known(sample, wanted.label)
    direct = list(_direct(sample, wanted, every))
    yield from direct
    for candidate in direct:
        given = trial.first(wanted.name, candidate.table)
        for separator in wanted.separators(given):
            yield _with(candidate, 0.98, split=separator)
    if not any(wanted.gives(trial.first(wanted.name, item.table)) for item in direct):
        yield from _parts(trial, wanted, every)


def _direct(sample: Sample, wanted: Wanted, every: list[Label]) -> Iterator[Candidate]:
    yield from labelled.by_label(wanted.name, every, wanted.values, wanted.label)
    near = _places(sample, wanted)[:_MOST] if wanted.values else []
    yield from labelled.by_attribute(wanted.name, every, near, wanted.label)
    if wanted.label:  # the user has said how
        return
    yield from labelled.inline(wanted.name, sample, every, wanted.values)
    for place in near:
        yield from _at(sample, place)
        if place.attr is None:
            yield from labelled.anchored(wanted.name, sample, every, [place.element])
    for elements in _groups(sample, wanted):
        for found in selectors.several(sample, elements):
            yield Candidate({"css": found.css}, found.stability, found.by)
        yield from labelled.anchored(wanted.name, sample, every, elements)


def _places(sample: Sample, wanted: Wanted) -> list[Place]:
    found = [place for value in wanted.values[:1] for place in equal_places(sample, value)]
    if wanted.is_date and not found:
        seen = wanted.values[0]
        found += [
            place for place in sample.places if len(place.text) <= 60 and same_date(place.text, seen, wanted.language)
        ]
    if len(wanted.values) > 1:
        found += [
            place for place in sample.places if len(place.text) <= _LONGEST_LIST and wanted.separators([place.text])
        ]
    if wanted.values and wanted.values[0].startswith(("http://", "https://", "/")):
        found += addressed_places(sample, wanted.values[0])
    if not found or wanted.name == "description":
        found += [place for value in wanted.values[:1] for place in alike_places(sample, value)]
    return list({(id(item.element), item.attr): item for item in found}.values())


def _at(sample: Sample, place: Place) -> Iterator[Candidate]:
    """Yield selectors of a place; those in the site's header, footer or navigation are less likely to fit."""
    if not is_outside(place.element):
        yield from _selected(sample, place)
        return
    for found in _selected(sample, place):
        yield replace(found, stability=found.stability * OUTSIDE, why=(*found.why, _OUTSIDE))


def _selected(sample: Sample, place: Place) -> Iterator[Candidate]:
    alone = selectors.single(sample, place.element)
    for found in alone:
        if place.attr is None:
            yield Candidate({"css": found.css}, found.stability, found.by)
        else:
            yield Candidate({"css": found.css, "attr": place.attr}, found.stability * labelled.ATTRIBUTE, found.by)
    if place.attr is None and all(item.by == "position" for item in alone):
        for first in selectors.first(sample, place.element):
            yield Candidate({"xpath": first.xpath}, first.stability, "first")


def _groups(sample: Sample, wanted: Wanted) -> Iterator[list[Any]]:
    """Yield elements that have a value each, and are alike."""
    if not wanted.is_list:
        return
    for option in wanted.options:
        aims = {normal(item) for item in option}
        alike: dict[Any, list[Any]] = defaultdict(list)
        for place in sample.places:
            if place.attr is None and normal(place.text) in aims:
                alike[place.element.tag, place.element.get("class")].append(place.element)
        for elements in alike.values():
            if len(aims) == 1 and wanted.name == "keywords":
                yield from _siblings(elements[0])
            yield from _together(elements, len(aims))


def _together(elements: list[Any], count: int) -> Iterator[list[Any]]:
    """Yield elements that share a box and are as many as the values."""
    for level in range(1, 4):
        boxes: dict[Any, list[Any]] = defaultdict(list)
        for element in elements:
            above = [ancestor for ancestor, _ in zip(element.iterancestors(), range(level), strict=False)]
            boxes[above[-1] if above else None].append(element)
        yield from (inside for inside in boxes.values() if len(inside) == count)


def _siblings(element: Any) -> Iterator[list[Any]]:
    """Yield the element with a value, and those like it beside it."""
    parent = element.getparent()
    if parent is None:
        return
    yield [item for item in parent if item.tag == element.tag and item.get("class") == element.get("class")]
    above = parent.getparent()
    if above is not None:
        alike = [item for item in above if item.tag == parent.tag]
        yield [child for item in alike for child in item if child.tag == element.tag]


def _parts(trial: Trial, wanted: Wanted, every: list[Label]) -> Iterator[Candidate]:
    """Yield rules with a regular expression, for a value that is always part of a longer text."""
    sample = trial.samples[0]
    for value in wanted.values[:1]:
        ways = [*labelled.by_label(wanted.name, every, wanted.values, wanted.label)]
        near = containing_places(sample, value)[:_MOST]
        ways += labelled.by_attribute(wanted.name, every, near, wanted.label)
        for place in near if not wanted.label else ():
            ways += _at(sample, place)
        for way in ways:
            for text in trial.first(wanted.name, way.table)[:1]:
                for pattern, stability in patterns(text, value):
                    yield _with(way, stability, "it is part of a text", regex=pattern)


def _with(candidate: Candidate, stability: float, *why: str, **keys: str) -> Candidate:
    return Candidate(candidate.table | keys, candidate.stability * stability, candidate.by, (*candidate.why, *why))
