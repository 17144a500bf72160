"""The positions of the lines, ticks and names of a plot: numbers from 0 to 100, so that it fills its page."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import date
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

_APART = 8.0  # of 100: the height of a line's name
_STEPS = (1, 2, 5, 10)
_TICKS = 5


@dataclass(slots=True)
class Mark:
    """A label, its position and its value."""

    label: str
    at: float
    value: int = 0


@dataclass(frozen=True, slots=True)
class Series:
    """A line; a minor line has no label."""

    label: str
    path: str
    minor: bool


@dataclass(frozen=True, slots=True)
class Spark:
    """A small line in a box of 100 x 20, with its minimum at the bottom and its maximum at the top."""

    path: str
    least: float
    most: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Chart:
    """A plot, drawn by the macro ``line``, and the table below it."""

    x: list[Mark]
    y: list[Mark]
    series: list[Series]
    named: list[Mark]
    area: str
    columns: list[str]
    rows: list[list[str | int]] = field(default_factory=list)


def top(maximum: float) -> tuple[float, float]:
    """Return the end of an axis that begins at 0, and the step between its ticks.

    >>> top(26456), top(7), top(0)
    ((30000.0, 10000.0), (8.0, 2.0), (1.0, 1.0))
    """
    if maximum <= 0:
        return 1.0, 1.0
    power = 10.0 ** (len(str(int(maximum))) - 1)
    steps = (step * scale for scale in (power / 10, power) for step in _STEPS)
    step = max(1.0, next(step for step in steps if maximum / step <= _TICKS - 1))
    return step * -(-maximum // step), step


def steps(values: Sequence[float], maximum: float) -> str:
    """Return the path of a step line with steps of equal width; the maximum is at the top.

    >>> steps([0, 5, 5, 10], 10)
    'M0 100H25V50H75V0H100'
    """
    line, before = f"M0 {_short(100 - 100 * values[0] / maximum)}", values[0]
    for number, value in enumerate(values):
        if value != before:
            line += f"H{_short(100 * number / len(values))}V{_short(100 - 100 * value / maximum)}"
        before = value
    return f"{line}H100"


def spark(values: Sequence[float]) -> Spark | None:
    """Return a line through equidistant values; ``None`` if all are the same.

    >>> spark([10, 15, 20])
    Spark(path='M0 20L50 10L100 0', least=10, most=20)
    >>> spark([7, 7, 7]), spark([])
    (None, None)
    """
    if len(set(values)) < 2:
        return None
    least, most = min(values), max(values)
    step, scale = 100 / (len(values) - 1), 20 / (most - least)
    points = (f"{_short(number * step)} {_short(20 - scale * (value - least))}" for number, value in enumerate(values))
    return Spark("M" + "L".join(points), least, most)


def apart(marks: list[Mark]) -> list[Mark]:
    """Return the marks from top to bottom, moved as little as possible so that none overlap.

    >>> [mark.at for mark in apart([Mark("a", 50), Mark("b", 50), Mark("c", 10), Mark("d", 100)])]
    [10.0, 46.0, 54.0, 100.0]
    """
    marks = sorted(marks, key=lambda mark: mark.at)
    groups: list[list[float]] = []  # of touching marks: the sum of their wanted starts, and their number
    for number, mark in enumerate(marks):
        groups.append([mark.at - number * _APART, 1])
        while len(groups) > 1 and groups[-2][0] / groups[-2][1] > groups[-1][0] / groups[-1][1]:
            total, count = groups.pop()
            groups[-1] = [groups[-1][0] + total, groups[-1][1] + count]
    starts = [total / count for total, count in groups for _ in range(int(count))]
    for number, (mark, start) in enumerate(zip(marks, starts, strict=True)):
        below = (len(marks) - 1 - number) * _APART
        mark.at = min(max(start, 0) + number * _APART, 100 - below)
    return marks


def moments(days: Sequence[date]) -> list[Mark]:
    """Return marks for the first, middle and last of some days; without the middle if there are few days."""
    places = (0, len(days) // 2, len(days) - 1) if len(days) > 4 else (0, len(days) - 1)
    return [Mark(days[place].isoformat(), 100 * place / (len(days) - 1)) for place in places]


def _short(value: float) -> str:
    return f"{value:.2f}".rstrip("0").rstrip(".")
