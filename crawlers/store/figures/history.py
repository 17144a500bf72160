"""What was observed over time, as data: a value for each day, and what a plot of them is made of."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date
from itertools import pairwise
from typing import TYPE_CHECKING

from crawlers.store.figures.formatting import amount

if TYPE_CHECKING:
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
