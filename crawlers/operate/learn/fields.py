"""The best rule for a field: every way to what was seen is tried on every page, and compared."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from crawlers.kinds.html.mapping.confidence import OUTSIDE, is_outside
from crawlers.kinds.html.mapping.vocabulary import fields as labels
from crawlers.kinds.html.mapping.vocabulary import key
from crawlers.kinds.html.rules import MANY
from crawlers.operate.learn import labelled, selectors
from crawlers.operate.learn.candidates import Candidate, Learned
from crawlers.operate.learn.sample import addressed_places, alike_places, containing_places, equal_places
from crawlers.operate.learn.texts import (
    DATES,
    EMAILS,
    date_order,
    is_date,
    normal,
    patterns,
    same_date,
    shortened,
)
from crawlers.records.values import email

if TYPE_CHECKING:
    from collections.abc import Iterator

    from crawlers.kinds.html.mapping.labels import Label
    from crawlers.operate.learn.candidates import Trial
    from crawlers.operate.learn.sample import Place, Sample, Wanted


_MOST = 8  # elements with the same text
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
    beside = labelled.beside(every, wanted)
    near = _places(sample, wanted)
    yield from labelled.by_label(wanted.name, every, beside, wanted.values, wanted.label)
    yield from labelled.by_attribute(wanted.name, every, near, wanted.label)
    if wanted.label:  # the user has said how
        return
    yield from labelled.inline(wanted.name, sample, every, beside, wanted.values)
    for place in near:
        yield from _at(sample, place)
        if place.attr is None:
            yield from labelled.anchored(wanted.name, sample, every, [place.element])
    for elements in _groups(sample, wanted):
        yield from selectors.several(sample, elements)
        yield from labelled.anchored(wanted.name, sample, every, elements)


def _places(sample: Sample, wanted: Wanted) -> list[Place]:
    if wanted.at or not wanted.values:
        return list(wanted.at[:1])
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
    return list({(id(item.element), item.attr): item for item in found}.values())[:_MOST]


def _at(sample: Sample, place: Place) -> Iterator[Candidate]:
    """Yield selectors of a place; those in the site's header, footer or navigation are less likely to fit."""
    found = selectors.single(sample, place.element)
    if place.attr:
        found = [_with(each, labelled.ATTRIBUTE, attr=place.attr) for each in found]
    elif all(each.by == "position" for each in found):
        found += selectors.first(sample, place.element)
    if is_outside(place.element):
        found = [_with(each, OUTSIDE, "it stands in a header, a footer or a navigation") for each in found]
    yield from found


def _groups(sample: Sample, wanted: Wanted) -> Iterator[list[Any]]:
    """Yield elements that have a value each, and are alike."""
    if not wanted.is_list:
        return
    if len(wanted.at) > 1:
        yield [place.element for place in wanted.at]
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
        beside = labelled.beside(every, wanted)
        ways = [*labelled.by_label(wanted.name, every, beside, wanted.values, wanted.label)]
        near = list(wanted.at) or containing_places(sample, value)[:_MOST]
        ways += labelled.by_attribute(wanted.name, every, near, wanted.label)
        for place in near if not wanted.label else ():
            ways += _at(sample, place)
        for way in ways:
            for text in trial.first(wanted.name, way.table)[:1]:
                for pattern, stability in patterns(text, value):
                    yield _with(way, stability, "it is part of a text", regex=pattern)


def _with(candidate: Candidate, stability: float, *why: str, **keys: str) -> Candidate:
    return Candidate(candidate.table | keys, candidate.stability * stability, candidate.by, (*candidate.why, *why))


_ONE_PAGE = 0.93
_GOOD = 0.6
_SILENT = 0.5  # a rule that gives nothing is weak evidence: it may be a bad rule
LONGEST = {"title": 400, "publisher": 300, "license": 400, "version": 60, "identifier": 300, "frequency": 80}
_TYPES = frozenset(
    (
        *("text", "number", "date", "string", "integer", "double", "float", "boolean", "datetime", "timestamp", "oid"),
        *("object id", "global id", "objectid", "globalid", "geometry", "floating timestamp", "plain text", "url"),
    )
)
"""What a table of columns says of each: a type is nothing that a dataset says."""
_MARKED_UP = ("description", "provenance", "rights")
_WHY = {
    "position": "it is found by its position, which moves when another field is missing",
    "path": "it is found by tags alone",
    "tag": "it is found by a tag alone",
    "first": "it is the first of several that are alike",
}


def learned(trial: Trial, wanted: Wanted) -> Learned | None:
    """Return the best rule for a field; ``None`` when no rule gives what was seen."""
    fits = []
    found = proposals(trial, wanted)
    if wanted.is_list and wanted.name not in MANY:
        found = (replace(item, table={**item.table, "many": True}) for item in found)
    for candidate in {str(item.table): item for item in found}.values():
        fit = wanted.gives(trial.first(wanted.name, candidate.table))
        if fit:
            fits.append((fit, replace(candidate, stability=candidate.stability * fit)))
    if not fits:
        return None
    least = 0.9 if any(fit == 1 and item.stability >= _GOOD for fit, item in fits) else 0
    tried = [item for fit, item in fits if fit >= least]
    agreed = _agreed(trial, wanted, tried)
    ranked = sorted(tried, key=lambda item: (-_sure(trial, wanted, item, agreed), len(item.selector)))
    return _result(trial, wanted, ranked[0], agreed)


def _agreed(trial: Trial, wanted: Wanted, tried: list[Candidate]) -> list[tuple[str, ...]]:
    """Return what most ways give on each further page, weighted by the stability of the best way to each place."""
    agreed = []
    places = [_place(trial, candidate) for candidate in tried]
    for number in range(1, len(trial.samples)):
        voices: dict[tuple[str, ...], dict[Any, float]] = defaultdict(dict)
        for place, candidate in zip(places, tried, strict=True):
            is_stray = _stray(trial, wanted, candidate, number)
            values = () if is_stray else _normalised(trial.on(number, wanted.name, candidate.table))
            loud = candidate.stability if values else candidate.stability * _SILENT
            voices[values][place] = max(loud, voices[values].get(place, 0))
        agreed.append(max(voices, key=lambda item: sum(voices[item].values())))
    return agreed


def _place(trial: Trial, candidate: Candidate) -> Any:
    """Return the element that a way leads to, without what only frames it."""
    css, sample = candidate.table.get("css"), trial.samples[0]
    found = sample.css(css) if css else []
    if candidate.by == "first":
        found = sample.page.find(candidate.table["xpath"])
    if not found:
        return candidate.by
    element = found[0]
    while len(element) == 1 and not (element.text or "").strip() and not (element[0].tail or "").strip():
        element = element[0]
    return element


def _normalised(values: list[str]) -> tuple[str, ...]:
    return tuple(sorted(map(normal, values)))


def _sure(trial: Trial, wanted: Wanted, candidate: Candidate, agreed: list[tuple[str, ...]]) -> float:
    """Return the certainty: the stability, and how far the further pages confirm it."""
    if not agreed:
        return candidate.stability * _ONE_PAGE
    marks = [_mark(trial, wanted, candidate, number, item) for number, item in enumerate(agreed, 1)]
    mark = sum(marks) / len(marks)
    if mark == 1:
        return candidate.stability * (1 + (1 - candidate.stability) * 0.4)
    return candidate.stability * (0.2 + 0.8 * mark)


def _mark(trial: Trial, wanted: Wanted, candidate: Candidate, number: int, agreed_values: tuple[str, ...]) -> float:
    given = trial.on(number, wanted.name, candidate.table)
    if wanted.name == "title" and (
        not given or _normalised(given) == _normalised(trial.first(wanted.name, candidate.table))
    ):
        return 0.0
    if not given:
        return 1.0 if not agreed_values else 0.2
    mark = 1.0 if _normalised(given) == agreed_values else 0.1
    is_good = _is_plausible(wanted, given) and not _stray(trial, wanted, candidate, number)
    return mark if is_good else mark * 0.3


def _stray(trial: Trial, wanted: Wanted, candidate: Candidate, number: int) -> str | None:
    """Return another field's label at the beginning of a value; long texts may have headings."""
    return None if wanted.name in _MARKED_UP else trial.stray(number, wanted.name, candidate.table)


def is_plausible(name: str, given: list[str], language: str | None) -> bool:
    """Return whether a text may be a value of the field."""
    if not any(map(str.isalnum, "".join(given))) or all(each.casefold() in _TYPES for each in given):
        return False
    if all(key(each) in labels() for each in given):  # the head of the next column
        return False
    if name in DATES:
        return is_date(given[0], language)
    if name in EMAILS:
        return email(given[0]) is not None
    if name in ("keywords", "themes"):
        return max(map(len, given)) <= 1_600
    return max(map(len, given)) <= LONGEST.get(name, 20_000)


def _is_plausible(wanted: Wanted, given: list[str]) -> bool:
    if wanted.is_date:
        return all(is_date(item, wanted.language) for item in given)
    if wanted.name in EMAILS:
        return all("@" in item for item in given)
    return wanted.name == "description" or max(map(len, given)) <= 20 * max((20, *map(len, wanted.values)))


def _result(trial: Trial, wanted: Wanted, best: Candidate, agreed: list[tuple[str, ...]]) -> Learned:
    given = trial.every(wanted.name, best.table)
    table = dict(best.table)
    if wanted.is_date:
        table["date"] = date_order([value for values in given for value in values], wanted.seen, wanted.language)
    if wanted.name in _MARKED_UP and any("<" in item for item in trial.first(wanted.name, {**table, "html": True})):
        table["html"] = True
    why = [*best.why, *([_WHY[best.by]] if best.by in _WHY and "h1" not in str(table.get("css")) else [])]
    why += [f"nothing on page {number}" for number, values in enumerate(given[1:], 2) if not values]
    for number, (values, item) in enumerate(zip(given[1:], agreed, strict=True), 2):
        if stray := _stray(trial, wanted, best, number - 1):
            why.append(f"on page {number} it takes {shortened(stray, 40)!r}, which looks like another field's label")
        elif values and _normalised(values) != item:
            why.append(f"other ways give {shortened(', '.join(item), 40)!r} on page {number}")
    found = tuple(
        number
        for number, values in enumerate(given[1:], 2)
        if is_plausible(wanted.name, values, wanted.language)
        and not _stray(trial, wanted, best, number - 1)
        and (wanted.name != "title" or values != given[0])
    )
    sure = round(_sure(trial, wanted, best, agreed), 2)
    return Learned(wanted.name, table, best.by, given, sure, tuple(why), found)
