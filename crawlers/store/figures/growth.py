"""The number of datasets on each day: of all sources, and of the largest ones."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from datetime import date, timedelta
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import sqlite3

POINTS = 90
ALL = "All sources"
_GROWTH = """
    SELECT source, day, datasets FROM growth WHERE source IN (SELECT value FROM json_each(?)) AND date(day) = day
"""


@dataclass(frozen=True, slots=True)
class Growth:
    """How many datasets there were.

    Args:
        days: in order, the first one before there was anything; a count is that at the day's end.
        counts: of each source, the largest first; those of all sources are before them if there are several.
    """

    days: list[date]
    counts: dict[str, list[int]]


def growth(db: sqlite3.Connection, names: str, today: date) -> Growth | None:
    """Return the growth of some sources; ``None`` if there never was a dataset."""
    known: dict[str, dict[date, int]] = defaultdict(dict)
    for source, day, datasets in db.execute(_GROWTH, (names,)):
        known[source][date.fromisoformat(day)] = datasets
    if not known:
        return None
    first = min(min(of_one) for of_one in known.values())
    days = _days(first - timedelta(days=1), max(today, first))  # from when there was nothing yet
    counts = {source: _counts(of_one, days) for source, of_one in known.items()}
    largest = sorted(counts, key=lambda source: (-counts[source][-1], source))
    total = {ALL: [sum(column) for column in zip(*counts.values(), strict=True)]} if len(counts) > 1 else {}
    return Growth(days, total | {source: counts[source] for source in largest})


def _days(first: date, last: date) -> list[date]:
    """Return as many days as a plot has room for, including both ends."""
    between = (last - first).days
    points = min(POINTS, between)
    return [first + timedelta(days=between * point // points) for point in range(points + 1)]


def _counts(known: dict[date, int], days: list[date]) -> list[int]:
    """Return the number of datasets at the end of each day; the days must be in order."""
    found, count, left = [], 0, sorted(known.items(), reverse=True)
    for day in days:
        while left and left[-1][0] <= day:
            count = left.pop()[1]
        found.append(count)
    return found
