"""Every way that may lead to a value."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from crawlers.learn import labelled, places, selectors
from crawlers.learn.candidate import Candidate
from crawlers.learn.dated import same_date
from crawlers.learn.partly import patterns
from crawlers.learn.texts import normal
from crawlers.mapping.html.confidence import OUTSIDE
from crawlers.mapping.html.surroundings import is_outside

if TYPE_CHECKING:
    from collections.abc import Iterator

    from crawlers.learn.sample import Place, Sample
    from crawlers.learn.trial import Trial
    from crawlers.learn.wanted import Wanted
    from crawlers.mapping.html.labels import Label

_MOST = 8  # elements with the same text
_OUTSIDE = "it stands in a header, a footer or a navigation"
_LONGEST_LIST = 2_000  # characters of several values in one text


def proposals(trial: Trial, wanted: Wanted) -> Iterator[Candidate]:
    """Rules that give what was seen, or may; those that are split or cut follow from those that give too much."""
    sample = trial.samples[0]
    every = labelled.known(sample, wanted.label)
    whole = list(_whole(sample, wanted, every))
    yield from whole
    for candidate in whole:
        given = trial.first(wanted.name, candidate.table)
        for separator in wanted.separators(given):
            yield _with(candidate, 0.98, split=separator)
    if not any(wanted.gives(trial.first(wanted.name, one.table)) for one in whole):
        yield from _parts(trial, wanted, every)


def _whole(sample: Sample, wanted: Wanted, every: list[Label]) -> Iterator[Candidate]:
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
    found = [place for value in wanted.values[:1] for place in places.equal(sample, value)]
    if wanted.is_date and not found:
        seen = wanted.values[0]
        found += [one for one in sample.places if len(one.text) <= 60 and same_date(one.text, seen, wanted.language)]
    if len(wanted.values) > 1:
        found += [one for one in sample.places if len(one.text) <= _LONGEST_LIST and wanted.separators([one.text])]
    if wanted.values and wanted.values[0].startswith(("http://", "https://", "/")):
        found += places.addressed(sample, wanted.values[0])
    if not found or wanted.name == "description":
        found += [place for value in wanted.values[:1] for place in places.alike(sample, value)]
    return list({(id(one.element), one.attr): one for one in found}.values())


def _at(sample: Sample, place: Place) -> Iterator[Candidate]:
    """Selectors of one place; in the site's header, footer or navigation few of them are about the dataset."""
    if not is_outside(place.element):
        yield from _selected(sample, place)
        return
    for found in _selected(sample, place):
        yield replace(found, stability=found.stability * OUTSIDE, why=(*found.why, _OUTSIDE))


def _selected(sample: Sample, place: Place) -> Iterator[Candidate]:
    alone = selectors.one(sample, place.element)
    for found in alone:
        if place.attr is None:
            yield Candidate({"css": found.css}, found.stability, found.by)
        else:
            yield Candidate({"css": found.css, "attr": place.attr}, found.stability * labelled.ATTRIBUTE, found.by)
    if place.attr is None and all(one.by == "position" for one in alone):
        for first in selectors.first(sample, place.element):
            yield Candidate({"xpath": first.xpath}, first.stability, "first")


def _groups(sample: Sample, wanted: Wanted) -> Iterator[list[Any]]:
    """Elements that have a value each, and are alike."""
    if not wanted.is_list:
        return
    for option in wanted.options:
        aims = {normal(one) for one in option}
        alike: dict[Any, list[Any]] = defaultdict(list)
        for place in sample.places:
            if place.attr is None and normal(place.text) in aims:
                alike[place.element.tag, place.element.get("class")].append(place.element)
        for elements in alike.values():
            if len(aims) == 1 and wanted.name == "keywords":
                yield from _siblings(elements[0])
            yield from _together(elements, len(aims))


def _together(elements: list[Any], count: int) -> Iterator[list[Any]]:
    """Those that lie in one box, and are as many as the values."""
    for level in range(1, 4):
        boxes: dict[Any, list[Any]] = defaultdict(list)
        for element in elements:
            above = [ancestor for ancestor, _ in zip(element.iterancestors(), range(level), strict=False)]
            boxes[above[-1] if above else None].append(element)
        yield from (inside for inside in boxes.values() if len(inside) == count)


def _siblings(element: Any) -> Iterator[list[Any]]:
    """A value among others like it, where one was seen."""
    parent = element.getparent()
    if parent is None:
        return
    yield [one for one in parent if one.tag == element.tag and one.get("class") == element.get("class")]
    above = parent.getparent()
    if above is not None:
        alike = [one for one in above if one.tag == parent.tag]
        yield [child for one in alike for child in one if child.tag == element.tag]


def _parts(trial: Trial, wanted: Wanted, every: list[Label]) -> Iterator[Candidate]:
    """Rules with a regular expression, for a value that nothing has alone."""
    sample = trial.samples[0]
    for value in wanted.values[:1]:
        ways = [*labelled.by_label(wanted.name, every, wanted.values, wanted.label)]
        near = places.containing(sample, value)[:_MOST]
        ways += labelled.by_attribute(wanted.name, every, near, wanted.label)
        for place in near if not wanted.label else ():
            ways += _at(sample, place)
        for way in ways:
            for text in trial.first(wanted.name, way.table)[:1]:
                for pattern, stability in patterns(text, value):
                    yield _with(way, stability, "it is part of a text", regex=pattern)


def _with(candidate: Candidate, stability: float, *why: str, **keys: str) -> Candidate:
    return Candidate(candidate.table | keys, candidate.stability * stability, candidate.by, (*candidate.why, *why))
