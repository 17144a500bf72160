"""A source that has not been harvested for longer than it used to be: its schedule may have stopped."""

from __future__ import annotations

from datetime import timedelta
from itertools import pairwise
from statistics import median
from typing import TYPE_CHECKING

from crawlers.moment import moment

if TYPE_CHECKING:
    from collections.abc import Sequence

TIMES = 3  # as long as is usual
LEAST = timedelta(days=2)
_GAPS = 10  # the last of them say what is usual
_FEWEST = 2  # gaps, without which nothing is usual


def silent_since(starts: Sequence[str | None], now: str) -> str | None:
    """When the last of some runs began, if that is longer ago than is usual between them.

    >>> days = [f"2026-01-0{day}T03:00:00Z" for day in (1, 2, 3)]
    >>> silent_since(days, "2026-01-05T12:00:00Z"), silent_since(days, "2026-01-06T12:00:00Z")
    (None, '2026-01-03T03:00:00Z')
    """
    began = {start: found for start in starts if start and (found := moment(start))}
    gaps = [(later - earlier).total_seconds() for earlier, later in pairwise(sorted(began.values()))][-_GAPS:]
    today = moment(now)
    if len(gaps) < _FEWEST or today is None:
        return None
    last = max(began, key=lambda start: began[start])
    return last if today - began[last] > max(timedelta(seconds=TIMES * median(gaps)), LEAST) else None
