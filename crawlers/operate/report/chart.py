"""Draws figures as SVG: paths, ticks and names at positions from 0 to 100, so that a plot fills its page.

A line or column ends where nothing was found out: nothing is interpolated.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from crawlers.store.figures.formatting import amount
from crawlers.store.figures.series import slots

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from crawlers.store.figures.overview import Growth
    from crawlers.store.figures.series import Columns, Lines, Slot, Values

    Point = tuple[float, float]
    """Position on the time axis from 0 to 100, value."""

NAMED = 5  # sources with a name of their own beside their line
NOT_KNOWN = "–"
_WIDEST = 8.0  # of 100, for a column
_ROWS = 12
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


@dataclass(frozen=True, slots=True)
class Part:
    """What has a colour of its own in columns.

    Args:
        style: the class that gives the colour.
        path: the part of each column.
    """

    name: str
    style: str
    path: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Stacks:
    """A plot of stacked columns, drawn by the macro ``columns``, and the table below it."""

    x: list[Mark]
    y: list[Mark]
    parts: list[Part]
    columns: list[str]
    rows: list[list[str]]


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
    line, before = f"M0 {short(100 - 100 * values[0] / maximum)}", values[0]
    for number, value in enumerate(values):
        if value != before:
            line += f"H{short(100 * number / len(values))}V{short(100 - 100 * value / maximum)}"
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
    points = (f"{short(number * step)} {short(20 - scale * (value - least))}" for number, value in enumerate(values))
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


def moments(labels: Sequence[str], places: Sequence[float]) -> list[Mark]:
    """Return marks for the first, the middle and the last place of a time axis; without the middle if there are few."""
    chosen = (0, len(labels) // 2, len(labels) - 1) if len(labels) > 4 else (0, len(labels) - 1)
    return [Mark(labels[place], places[place]) for place in dict.fromkeys(chosen)]


def short(value: float) -> str:
    return f"{value:.2f}".rstrip("0").rstrip(".")


def ticks(maximum: float, step: float) -> list[Mark]:
    places = range(int(maximum / step) + 1)
    return [Mark(f"{number * step:,.0f}", 100 - 100 * number * step / maximum) for number in places]


def segments(slots: Iterable[Slot], values: Values) -> Iterator[list[Point]]:
    """Yield the parts of a line; it ends where a day of the source's has no value, or where days are too far apart.

    >>> list(segments(slots(["2026-11-01", "2026-11-02", "2026-11-03"]), {"2026-11-01": 5, "2026-11-03": 7}))
    [[(0.0, 5)], [(100.0, 7)]]
    """
    found: list[Point] = []
    for slot in slots:
        known = [values[day] for day in slot.days if day in values]
        if found and (slot.is_apart or len(known) < len(slot.days)):
            yield found
            found = []
        if known:
            found.append((slot.at, known[-1]))
    if found:
        yield found


def path(slots: Iterable[Slot], values: Values, maximum: float, minimum: float = 0, height: float = 100) -> str:
    """Return the path of a line; the maximum is at the top. A point without neighbours is a dot, by a round line end.

    >>> path(slots(["2026-11-01", "2026-11-02", "2026-11-03"]), {"2026-11-01": 5, "2026-11-03": 10}, 10)
    'M0 50h0M100 0h0'
    """
    scale = height / ((maximum - minimum) or 1)
    parts = []
    for segment in segments(slots, values):
        points = [f"{short(at)} {short(height - scale * (value - minimum))}" for at, value in segment]
        parts.append(f"M{'L'.join(points)}{'h0' if len(points) == 1 else ''}")
    return "".join(parts)


def trend(known: Lines) -> Spark | None:
    """Return the first line as a small one with its gaps; ``None`` if all values are the same."""
    axis, values = slots(known.days), next(iter(known.values.values()))
    found = [values[day] for day in known.days if day in values]
    if len(set(found)) < 2:
        return None
    least, most = min(found), max(found)
    return Spark(path(axis, values, most, least, height=20), least, most)


def draw_growth(growth: Growth | None) -> Chart | None:
    """Return a plot with a line of steps for each source, and an area below the first one."""
    if growth is None:
        return None
    days, counts = [day.isoformat() for day in growth.days], growth.counts
    most, step = top(max(max(line) for line in counts.values()))
    total, named = next(iter(counts)), list(counts)[: NAMED + 1]
    return Chart(
        x=moments(days, [100 * place / (len(days) - 1) for place in range(len(days))]),
        y=ticks(most, step),
        series=[Series(name, steps(line, most), minor=name != total) for name, line in reversed(counts.items())],
        named=apart([Mark(name, 100 - 100 * counts[name][-1] / most, counts[name][-1]) for name in named]),
        area=f"{steps(counts[total], most)}V100H0Z",
        columns=["Day", *named],
        rows=[[days[at], *(counts[name][at] for name in named)] for at in _some(range(len(days)))],
    )


def draw_lines(known: Lines) -> Chart | None:
    """Return a plot with a line for each series; ``None`` with fewer than two days."""
    if not known.is_drawn:
        return None
    axis, lines, labels = slots(known.days), known.values, list(known.values)
    most, step = top(max(value for series in lines.values() for value in series.values()))
    ends = [(label, max(lines[label])) for label in labels if lines[label]]
    marks = [Mark(label, 100 - 100 * lines[label][day] / most, round(lines[label][day])) for label, day in ends]
    drawn = [Series(label, path(axis, lines[label], most), minor=label != labels[0]) for label in reversed(labels)]
    return Chart(
        x=_slot_moments(axis),
        y=ticks(most, step),
        series=drawn,
        named=apart(marks),
        area="",
        columns=["Day", *labels],
        rows=[[day, *(_cell(lines[label].get(day)) for label in labels)] for day in _some(known.days)],
    )


def draw_columns(known: Columns | None) -> Stacks | None:
    """Return a plot with a column for each place on the time axis; ``None`` if there is nothing to show."""
    axis = [slot for slot in slots(known.days) if slot.days[-1] in known.values] if known else []
    if known is None or not axis:
        return None
    values, parts = known.values, list(known.styles)
    most, step = top(max(sum(numbers.values()) for numbers in values.values()))
    width = min([_WIDEST, *(0.8 * (later.at - earlier.at) for earlier, later in pairwise(axis))])
    bars = {slot.at * (100 - width) / 100: values[slot.days[-1]] for slot in axis}
    shown = [day for day in known.days if day in values]
    return Stacks(
        x=_slot_moments(axis),
        y=ticks(most, step),
        parts=[Part(name, style, _bars(bars, parts, name, most, width)) for name, style in known.styles.items()],
        columns=["Day", *parts],
        rows=[[day, *(_cell(values[day].get(name, 0)) for name in parts)] for day in _some(shown)],
    )


def _bars(bars: Mapping[float, Mapping[str, float]], parts: list[str], name: str, maximum: float, width: float) -> str:
    """Return the path of one part of all columns."""
    below = parts[: parts.index(name) + 1]
    drawn = ""
    for left, numbers in bars.items():
        if number := numbers.get(name):
            upper = 100 - 100 * sum(numbers.get(part, 0) for part in below) / maximum
            drawn += f"M{short(left)} {short(upper)}h{short(width)}v{short(100 * number / maximum)}h-{short(width)}z"
    return drawn


def _cell(value: float | None) -> str:
    return NOT_KNOWN if value is None else amount(value)


def _slot_moments(axis: Sequence[Slot]) -> list[Mark]:
    return moments([slot.days[-1] for slot in axis], [slot.at for slot in axis])


def _some(days: Sequence[Any]) -> Sequence[Any]:
    """Return about a dozen of the days, the last first."""
    return days[:: -max(1, len(days) // _ROWS)]
