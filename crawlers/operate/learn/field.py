"""The best rule for a field: every way to what the user has seen is tried on every page, and compared."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from crawlers.kinds.html.rules import MANY
from crawlers.operate.learn.candidates import Candidate, Learned
from crawlers.operate.learn.expected_value import EMAILS, Wanted, date_order, is_date
from crawlers.operate.learn.proposals import proposals
from crawlers.operate.learn.texts import normal, shortened

if TYPE_CHECKING:
    from crawlers.operate.learn.candidates import Trial

_ONE_PAGE = 0.93
_GOOD = 0.6
_SILENT = 0.5  # a rule that gives nothing is weak evidence: it may be a bad rule
_MARKED_UP = ("description", "provenance", "rights")
_WHY = {
    "position": "it is found by its position, which moves when another field is missing",
    "path": "it is found by tags alone",
    "tag": "it is found by a tag alone",
    "first": "it is the first of several that are alike",
}


def learned(trial: Trial, wanted: Wanted) -> Learned | None:
    """Return the best rule for a field; ``None`` when no rule gives what was seen."""
    tried = []
    found = proposals(trial, wanted)
    if wanted.is_list and wanted.name not in MANY:
        found = (replace(item, table={**item.table, "many": True}) for item in found)
    for candidate in {str(item.table): item for item in found}.values():
        given = trial.first(wanted.name, candidate.table)
        fit = wanted.gives(given)
        if fit:
            tried.append(replace(candidate, stability=candidate.stability * fit))
    if not tried:
        return None
    fits = {id(item): wanted.gives(trial.first(wanted.name, item.table)) for item in tried}
    if any(fits[id(item)] == 1 and item.stability >= _GOOD for item in tried):
        tried = [item for item in tried if fits[id(item)] >= 0.9]
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
    return Learned(wanted.name, table, best.by, given, round(_sure(trial, wanted, best, agreed), 2), tuple(why))
