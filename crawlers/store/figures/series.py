"""The charts of the time series of a source, or of one profile of it."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from datetime import date
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from crawlers.store import timeseries
from crawlers.store.figures.contents import FIELDS
from crawlers.store.figures.formatting import amount
from crawlers.store.index.completeness import FIELD
from crawlers.store.timeseries import TEXTS

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Mapping, Sequence

    Values = Mapping[str, float]
    """By day."""


POINTS = 120  # places on the time axis
_USUAL = 0.9  # of the intervals between days are at most as long as the usual one
_APART = 1.5  # usual intervals, beyond which what was in between is not known


@dataclass(frozen=True, slots=True)
class Slot:
    """A place on the time axis: a day, or several ones where there are more of them than places.

    Args:
        at: the last day's position, from 0 to 100.
        is_apart: whether more time than usual passed without an observation before it, or in it.
    """

    days: Sequence[str]
    at: float
    is_apart: bool


@dataclass(frozen=True, slots=True)
class Lines:
    """Numbers that are drawn as lines over time.

    Args:
        days: those on which the source was observed, in order.
        values: of each line, by its label; the first one is drawn strongest.
    """

    days: Sequence[str]
    values: Mapping[str, Values]

    @property
    def is_drawn(self) -> bool:
        """Return whether there are two days or more, and a value."""
        return len(self.days) > 1 and any(self.values.values())


@dataclass(frozen=True, slots=True)
class Columns:
    """Numbers that are drawn as stacked columns over time.

    Args:
        days: those on which the source was observed, in order.
        values: by day, the number of each part; where several days share a place, the last one's.
        styles: the style of each part, from the bottom.
    """

    days: Sequence[str]
    values: Mapping[str, Values]
    styles: Mapping[str, str]


def slots(days: Sequence[str]) -> list[Slot]:
    """Return the time axis of the days on which a source was observed.

    >>> [(slot.at, slot.is_apart) for slot in slots(["2026-11-01", "2026-11-08", "2026-11-29"])]
    [(0.0, False), (25.0, False), (100.0, True)]
    """
    numbers = [date.fromisoformat(day).toordinal() for day in days]
    gaps = [0, *(later - earlier for earlier, later in pairwise(numbers))]
    usual = sorted(gaps[1:])[int(_USUAL * (len(gaps) - 2))] if len(gaps) > 1 else 0
    many = min(POINTS, len(days))
    found = []
    for begin, end in pairwise(len(days) * number // many for number in range(many + 1 if many else 0)):
        at = 100 * (numbers[end - 1] - numbers[0]) / ((numbers[-1] - numbers[0]) or 1)
        found.append(Slot(days[begin:end], at, max(gaps[begin:end]) > _APART * usual))
    return found


def change(values: Values) -> str:
    """Return what the first and the last value of a series are, in a sentence.

    >>> change({"2026-11-15": 20311, "2026-11-22": 20804}), change({"2026-11-15": 5})
    ('From 20,311 on 2026-11-15 to 20,804 on 2026-11-22: +493.', '5 on 2026-11-15.')
    """
    if not values:
        return ""
    first, last = min(values), max(values)
    end = f"{amount(values[last])} on {last}"
    if first == last:
        return f"{end}."
    difference = values[last] - values[first]
    sign = "+" if difference > 0 else ""
    return f"From {amount(values[first])} on {first} to {end}: {sign}{amount(difference)}."


Row = dict[str, Any]

SOURCES = 12
"""Charts of sources in a report."""
_LOOKED_AT = 50
_PARTS = 5  # formats, licences or fields with a line
CHANGES = {"new": "complete", "updated": "partial", "withdrawn": "failed", "restored": "pending"}


def values(
    db: sqlite3.Connection, source: str, days: Sequence[str], metrics: Sequence[str], subjects: Sequence[str]
) -> dict[tuple[str, str], dict[str, float]]:
    """Return the numbers of some metrics of some subjects, by both and by day."""
    found: dict[tuple[str, str], dict[str, float]] = defaultdict(dict)
    for one in timeseries.select(db, source, days, metrics, subjects) if metrics and subjects else ():
        number = timeseries.number(one)
        if number is not None:
            found[one.metric, one.subject][one.day] = number
    return found


def growth(db: sqlite3.Connection, names: Sequence[str]) -> list[Row]:
    """Return charts of the datasets of sources that were observed on two days or more, at most `SOURCES`.

    Args:
        names: the sources, the most important ones first; the first `_LOOKED_AT` are looked at.
    """
    found: list[Row] = []
    for source in names[:_LOOKED_AT]:
        days = timeseries.days(db, source)
        known = values(db, source, days, ["datasets"], [source])["datasets", source]
        if len(known) > 1 and len(found) < SOURCES:
            found.append(_chart(source, days, {source: known}))
    return found


def _chart(name: str, days: Sequence[str], known: dict[str, dict[str, float]]) -> Row:
    return {"name": name, "sentence": change(next(iter(known.values()))), "lines": Lines(days, known)}


def source_charts(db: sqlite3.Connection, source: str) -> Row | None:
    """Return what ``series.html`` shows of a source; ``None`` if it was not observed on two days."""
    days = timeseries.days(db, source)
    if len(days) < 2:
        return None
    known = values(db, source, days, ["datasets", "resources", "flaws", *CHANGES], [source])
    return {
        "days": [days[0], days[-1]],
        "numbers": [
            _chart(metric.capitalize(), days, {metric: known[metric, source]})
            for metric in ("datasets", "resources", "flaws")
            if any(known[metric, source].values())
        ],
        "fields": _fields(db, source, days, known["datasets", source]),
        "changes": _changes(days, {metric: known[metric, source] for metric in CHANGES}),
        "formats": _largest(db, source, days, "format:"),
        "licences": _largest(db, source, days, "license:"),
    }


def _changes(days: Sequence[str], known: dict[str, dict[str, float]]) -> Columns:
    """Return the columns of what changed since the first day, on which everything was new."""
    by_day: dict[str, dict[str, float]] = defaultdict(dict)
    for slot in slots(days[1:]):
        for metric, numbers in known.items():
            there = [numbers[day] for day in slot.days if day in numbers]
            if there:
                by_day[slot.days[-1]][metric] = sum(there)
    return Columns(days[1:], by_day, CHANGES)


def _fields(db: sqlite3.Connection, source: str, days: Sequence[str], datasets: Values) -> Lines:
    """Return a line for each of the fields whose completeness changed most: per cent of the datasets."""
    labels = {f"{FIELD}{name}": label for name, label in FIELDS.items()}
    found = values(db, source, days, list(labels), [source])
    shares = {
        labels[metric]: {day: 100 * count / datasets[day] for day, count in counts.items() if datasets.get(day)}
        for (metric, _), counts in found.items()
    }
    moved = {label: abs(known[max(known)] - known[min(known)]) for label, known in shares.items() if known}
    most = sorted(filter(moved.__getitem__, moved), key=lambda label: (-moved[label], label))[:_PARTS]
    return Lines(days, {label: shares[label] for label in most})


def _largest(db: sqlite3.Connection, source: str, days: Sequence[str], prefix: str) -> Lines:
    """Return a line for each of the parts of a metric that were the largest on the last day that has some."""
    last: list[tuple[float, str]] = []
    for day in reversed(days):
        parts = [metric for metric in timeseries.metrics(db, source, [day]) if metric.startswith(prefix)]
        if parts:
            numbers = values(db, source, [day], parts, [source])
            last = sorted((-numbers[part, source].get(day, 0), part) for part in parts)[:_PARTS]
            break
    named = [part for _, part in last]
    known = values(db, source, days, named, [source])
    return Lines(days, {part.removeprefix(prefix): known[part, source] for part in named})


def profile_charts(db: sqlite3.Connection, source: str, subject: str) -> Row:
    """Return what ``profile.html`` shows of a profile over time: a chart for each number, and its states."""
    days = timeseries.days(db, source)
    metrics = timeseries.metrics(db, source, days[-POINTS:])
    known = values(db, source, days, metrics, [subject])
    changing = [metric for metric in metrics if len(set(known[metric, subject].values())) > 1]
    return {
        "charts": [_chart(_heading(metric), days, {metric: known[metric, subject]}) for metric in changing],
        "texts": [row for metric in TEXTS for row in _turns(db, source, days, subject, metric)],
    }


def _heading(metric: str) -> str:
    """
    >>> _heading("num_datasets"), _heading("ckan_version"), _heading("open_issues")
    ('Datasets', 'CKAN version', 'Open issues')
    """
    words = metric.removeprefix("num_").replace("_", " ")
    return f"{words[:1].upper()}{words[1:]}".replace("Ckan", "CKAN")


def _turns(db: sqlite3.Connection, source: str, days: Sequence[str], subject: str, metric: str) -> list[Row]:
    """Return the days on which a text changed, the last first."""
    found: list[Row] = []
    for one in timeseries.select(db, source, days, [metric], [subject]):
        if not found or found[-1]["value"] != one.value:
            found.append({"metric": _heading(metric), "value": one.value.replace("_", " "), "since": one.day})
        found[-1]["until"] = one.day
    return found[::-1]
