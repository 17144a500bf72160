"""Ranges of dates: a list that is longer than what the server gives is read in parts."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from crawlers.values.moment import moment, written

Range = tuple[str, str]
"""From a moment on, and before another; empty for no bound."""
UNDATED: Range = ("undated", "")
"""The records without a date of modification."""
MOST = 500
"""How often ranges are split, in all."""
_EARLY = "1900-01-01T00:00:00Z"
_SOON = timedelta(days=2)


def beginning(since: str) -> tuple[Range, ...]:
    """Return the ranges to begin with; no later one depends on the clock, which differs when a crawl is resumed.

    Nearly nothing was modified in the first of them, and in the last one: a server that gives much for the first does
    not filter. Records without a date come last, unless only those are wanted that were modified.

    Args:
        since: only what was modified then or later; empty for all.
    """
    soon = written(datetime.now(UTC) + _SOON)
    return ("", _EARLY), (since or _EARLY, soon), (soon, ""), *(() if since else (UNDATED,))


def halves(dates: Range) -> tuple[Range, Range] | None:
    """Return both halves of a range; ``None`` if it is too short, or has no end.

    >>> halves(("2020-01-01T00:00:00Z", "2020-01-03T00:00:00Z"))
    (('2020-01-01T00:00:00Z', '2020-01-02T00:00:00Z'), ('2020-01-02T00:00:00Z', '2020-01-03T00:00:00Z'))
    """
    begin, end = moment(dates[0]), moment(dates[1])
    if begin is None or end is None or end - begin < timedelta(seconds=2):
        return None
    middle = written(begin + (end - begin) / 2)
    return (dates[0], middle), (middle, dates[1])


def is_probe(ranges: tuple[Range, ...]) -> bool:
    """Return whether the present range is the one that is nearly empty."""
    return bool(ranges) and ranges[0] == ("", _EARLY)
