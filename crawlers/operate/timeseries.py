"""A part of a source's time series, as `scrapy timeseries` shows and writes it."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import date
from itertools import islice
from pathlib import Path

from crawlers.exceptions import ExportError, hint
from crawlers.store import timeseries
from crawlers.store.export.output import target
from crawlers.store.export.tables import SERIES_WRITERS
from crawlers.store.figures.formatting import amount
from crawlers.store.run_text import table
from crawlers.store.timeseries import Observation

Series = tuple[str, str]
"""Metric, subject."""

COLUMNS = 8
"""Series that are shown side by side; more have a row each."""
MOST = 200
"""Rows of series that are shown."""
_NAMED = 8  # in a message
_SOURCES = "SELECT source FROM sources ORDER BY 1"
_SUBJECTS = "SELECT DISTINCT subject FROM observations WHERE source = ? AND day = ? ORDER BY 1"


class Selection:
    """The observations of a source, of some metrics and subjects, since a day.

    Args:
        metrics: names of metrics, or what stands before a colon in them; none means all.
        subjects: none means all.
        since: YYYY-MM-DD; empty for all days.

    Raises:
        ExportError: the source has no observations, or none of that metric or subject; the day is not a day.
    """

    def __init__(
        self, db: sqlite3.Connection, source: str, metrics: Sequence[str], subjects: Sequence[str], since: str
    ) -> None:
        self.db = db
        self.source = source
        self.subjects = list(subjects)
        all_days = _days(db, source)
        self.days = [day for day in all_days if day >= _day(since)]
        self.metrics = _chosen(metrics, timeseries.metrics(db, source, all_days), source) if metrics else None
        self._check_subjects(all_days)

    def __iter__(self) -> Iterator[Observation]:
        return timeseries.select(self.db, self.source, self.days, self.metrics, self.subjects)

    def _check_subjects(self, days: Sequence[str]) -> None:
        for subject in self.subjects:
            if next(timeseries.select(self.db, self.source, days, None, [subject]), None) is None:
                known = [row[0] for row in self.db.execute(_SUBJECTS, (self.source, days[-1]))]
                raise ExportError(_unknown(f"{self.source} has no subject", subject, known))


def _days(db: sqlite3.Connection, source: str) -> list[str]:
    known = [name for (name,) in db.execute(_SOURCES)]
    if source not in known:
        raise ExportError(_unknown("The index has no source", source, known))
    days = timeseries.days(db, source)
    if not days:
        raise ExportError(f"{source} has no time series yet: its next complete run begins it.")
    return days


def _day(text: str) -> str:
    try:
        return date.fromisoformat(text).isoformat() if text else ""
    except ValueError:
        raise ExportError(f"--since {text} is not a day: write it as 2026-11-20.") from None


def _chosen(wanted: Sequence[str], known: list[str], source: str) -> list[str]:
    chosen = [name for name in known if name in wanted or name.partition(":")[0] in wanted]
    parts = {name.partition(":")[0] for name in known}
    unknown = next((name for name in wanted if name not in known and name not in parts), None)
    if unknown is not None:
        raise ExportError(_unknown(f"{source} has no metric", unknown, sorted(parts)))
    return chosen


def _unknown(sentence: str, name: str, known: Sequence[str]) -> str:
    more = f" and {len(known) - _NAMED} more" if len(known) > _NAMED else ""
    return f"{sentence} {name!r}.{hint(name, known)} There are: {', '.join(known[:_NAMED]) or 'none'}{more}."


def write(selection: Selection, path: Path) -> None:
    """Write the observations as CSV or Parquet.

    Args:
        path: ends with .csv or .parquet; "-" for CSV to standard output.

    Raises:
        ExportError: it ends otherwise, or can't be written.
    """
    is_stream = str(path) == "-"
    writer = SERIES_WRITERS[".csv"] if is_stream else SERIES_WRITERS.get(path.suffix.lower())
    if writer is None:
        raise ExportError(f"{path} must end with .csv or .parquet: that says what is written.")
    with target(None if is_stream else path) as file:
        writer(selection, file)


@dataclass(slots=True)
class Summary:
    """The first and the last observation of a series, and how many there are."""

    first: Observation
    last: Observation
    days: int = 0


def shown(selection: Selection) -> Iterator[str]:
    """Yield the lines of a table: a row for each day if there are few series, else a row for each series."""
    found: dict[Series, Summary] = {}
    for one in selection:
        summary = found.setdefault((one.metric, one.subject), Summary(one, one))
        summary.last, summary.days = one, summary.days + 1
    if not found:
        yield f"{selection.source} was not observed since then."
    elif len(found) <= COLUMNS:
        yield from table(list(_by_day(selection, list(found))), colours=False)
    else:
        yield from table(list(_by_series(found)), colours=False)
        if len(found) > MOST:
            yield f"{len(found) - MOST:,} more series: choose with --metric and --subject, or write all with -o x.csv."


def _by_day(selection: Selection, series: list[Series]) -> Iterator[list[str]]:
    """Yield a row for each day; a cell is empty where nothing was found out."""
    yield ["day", *_labels(series)]
    values = {day: dict.fromkeys(series, "") for day in selection.days}
    for one in selection:
        values[one.day][one.metric, one.subject] = one.value
    yield from ([day, *cells.values()] for day, cells in values.items())


def _labels(series: list[Series]) -> list[str]:
    metrics, subjects = ({names[part] for names in series} for part in (0, 1))
    if len(subjects) == 1:
        return [metric for metric, _ in series]
    return [subject if len(metrics) == 1 else f"{metric} of {subject}" for metric, subject in series]


def _by_series(found: dict[Series, Summary]) -> Iterator[list[str]]:
    yield ["metric", "subject", "days", "first", "value", "last", "value", "change"]
    for (metric, subject), summary in islice(sorted(found.items()), MOST):
        first, last = summary.first, summary.last
        ends = (first.day, first.value, last.day, last.value)
        yield [metric, subject, str(summary.days), *ends, _change(first, last)]


def _change(first: Observation, last: Observation) -> str:
    before, after = timeseries.number(first), timeseries.number(last)
    if before is None or after is None or before == after:
        return ""
    return f"{'+' if after > before else ''}{amount(after - before)}"
