"""The charts of the time series of a source, or of one profile of it."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, Any

from crawlers.store.figures.history import POINTS, Columns, Lines, change, slots
from crawlers.store.index import observations
from crawlers.store.timeseries import TEXTS

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Sequence

Row = dict[str, Any]

SOURCES = 12
"""Charts of sources in a report."""
_LOOKED_AT = 50
_PARTS = 5  # formats, or licences, with a line
_CHANGES = {"new": "complete", "updated": "partial", "withdrawn": "failed", "restored": "pending"}


def values(
    db: sqlite3.Connection, source: str, days: Sequence[str], metrics: Sequence[str], subjects: Sequence[str]
) -> dict[tuple[str, str], dict[str, float]]:
    """Return the numbers of some metrics of some subjects, by both and by day."""
    found: dict[tuple[str, str], dict[str, float]] = defaultdict(dict)
    for one in observations.select(db, source, days, metrics, subjects) if metrics and subjects else ():
        number = observations.number(one)
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
        days = observations.days(db, source)
        known = values(db, source, days, ["datasets"], [source])["datasets", source]
        if len(known) > 1 and len(found) < SOURCES:
            found.append(_chart(source, days, {source: known}))
    return found


def _chart(name: str, days: Sequence[str], known: dict[str, dict[str, float]]) -> Row:
    return {"name": name, "sentence": change(next(iter(known.values()))), "lines": Lines(days, known)}


def source_charts(db: sqlite3.Connection, source: str) -> Row | None:
    """Return what ``series.html`` shows of a source; ``None`` if it was not observed on two days."""
    days = observations.days(db, source)
    if len(days) < 2:
        return None
    known = values(db, source, days, ["datasets", "resources", *_CHANGES], [source])
    return {
        "days": [days[0], days[-1]],
        "numbers": [
            _chart(metric.capitalize(), days, {metric: known[metric, source]})
            for metric in ("datasets", "resources")
            if known[metric, source]
        ],
        "changes": _changes(days, {metric: known[metric, source] for metric in _CHANGES}),
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
    return Columns(days[1:], by_day, _CHANGES)


def _largest(db: sqlite3.Connection, source: str, days: Sequence[str], prefix: str) -> Lines:
    """Return a line for each of the parts of a metric that were the largest on the last day that has some."""
    last: list[tuple[float, str]] = []
    for day in reversed(days):
        parts = [metric for metric in observations.metrics(db, source, [day]) if metric.startswith(prefix)]
        if parts:
            numbers = values(db, source, [day], parts, [source])
            last = sorted((-numbers[part, source].get(day, 0), part) for part in parts)[:_PARTS]
            break
    named = [part for _, part in last]
    known = values(db, source, days, named, [source])
    return Lines(days, {part.removeprefix(prefix): known[part, source] for part in named})


def profile_charts(db: sqlite3.Connection, source: str, subject: str) -> Row:
    """Return what ``profile.html`` shows of a profile over time: a chart for each number, and its states."""
    days = observations.days(db, source)
    metrics = observations.metrics(db, source, days[-POINTS:])
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
    for one in observations.select(db, source, days, [metric], [subject]):
        if not found or found[-1]["value"] != one.value:
            found.append({"metric": _heading(metric), "value": one.value.replace("_", " "), "since": one.day})
        found[-1]["until"] = one.day
    return found[::-1]
