"""The number of datasets on each day: of all sources, and of the largest ones."""

from __future__ import annotations

from collections import defaultdict
from datetime import date, timedelta
from typing import TYPE_CHECKING

from crawlers.operate.report import chart
from crawlers.operate.report.chart import Chart, Mark, Series

if TYPE_CHECKING:
    import sqlite3

NAMED = 5  # sources with a name of their own beside their line
POINTS = 90
ALL = "All sources"
_GROWTH = """
    SELECT source, day, datasets FROM growth WHERE source IN (SELECT value FROM json_each(?)) AND date(day) = day
"""


def growth(db: sqlite3.Connection, names: str, today: date) -> Chart | None:
    """Return the plot; ``None`` if there never was a dataset."""
    known: dict[str, dict[date, int]] = defaultdict(dict)
    for source, day, datasets in db.execute(_GROWTH, (names,)):
        known[source][date.fromisoformat(day)] = datasets
    if not known:
        return None
    first = min(min(of_one) for of_one in known.values())
    days = _days(first - timedelta(days=1), max(today, first))  # from when there was nothing yet
    counts = {source: _counts(of_one, days) for source, of_one in known.items()}
    return _chart(days, counts)


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


def _chart(days: list[date], counts: dict[str, list[int]]) -> Chart:
    largest = sorted(counts, key=lambda source: (-counts[source][-1], source))
    lines = {ALL: [sum(column) for column in zip(*counts.values(), strict=True)]} if len(counts) > 1 else {}
    lines |= {source: counts[source] for source in largest}
    most, step = chart.top(max(max(line) for line in lines.values()))
    total = next(iter(lines))
    path = chart.steps(lines[total], most)
    return Chart(
        x=chart.moments(days),
        y=[Mark(f"{value * step:,.0f}", 100 - 100 * value * step / most) for value in range(int(most / step) + 1)],
        series=[Series(name, chart.steps(line, most), minor=name != total) for name, line in reversed(lines.items())],
        named=chart.apart([_end(name, lines[name], most) for name in list(lines)[: NAMED + 1]]),
        area=f"{path}V100H0Z",
        columns=["Day", *list(lines)[: NAMED + 1]],
        rows=[[day.isoformat(), *(lines[name][at] for name in list(lines)[: NAMED + 1])] for at, day in _some(days)],
    )


def _end(name: str, line: list[int], maximum: float) -> Mark:
    return Mark(name, 100 - 100 * line[-1] / maximum, line[-1])


def _some(days: list[date]) -> list[tuple[int, date]]:
    """Return about a dozen of the days, the last first."""
    every = max(1, len(days) // 12)
    return [(at, days[at]) for at in range(len(days) - 1, -1, -every)]
