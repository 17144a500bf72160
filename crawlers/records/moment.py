"""Moments as files have them: UTC, ISO 8601, with a Z."""

from __future__ import annotations

import time
from datetime import UTC, datetime
from functools import lru_cache


def now(timespec: str = "seconds") -> str:
    """
    Args:
        timespec: how precise, as `datetime.datetime.isoformat` has it.
    """
    return _second(int(time.time())) if timespec == "seconds" else written(datetime.now(UTC), timespec)


@lru_cache(maxsize=1)  # a page's records are made in one
def _second(since_1970: int) -> str:
    return written(datetime.fromtimestamp(since_1970, UTC))


def written(when: datetime, timespec: str = "seconds") -> str:
    """
    >>> written(datetime(2026, 11, 20, 3, tzinfo=UTC), "milliseconds")
    '2026-11-20T03:00:00.000Z'
    """
    return when.astimezone(UTC).isoformat(timespec=timespec).replace("+00:00", "Z")


def name(when: datetime | None = None) -> str:
    """Return the name of a run or a log that started then, or starts now.

    >>> name(datetime(2026, 11, 20, 3, tzinfo=UTC))
    '20261120T030000Z'
    """
    return (when or datetime.now(UTC)).strftime("%Y%m%dT%H%M%SZ")


def moment(text: object) -> datetime | None:
    """Return the moment that a text names, in UTC; without a zone it is UTC.

    >>> moment("2026-01-05T03:00:00.000Z") == moment("2026-01-05T03:00:00"), moment("yesterday"), moment(None)
    (True, None, None)
    """
    try:
        found = datetime.fromisoformat(text) if isinstance(text, str) else None
        return found and (found.astimezone(UTC) if found.tzinfo else found.replace(tzinfo=UTC))
    except (ValueError, OverflowError):  # the year 0 in another zone
        return None


def seconds(started: object, finished: object) -> float | None:
    """Return the seconds from one moment to another, if both are given.

    >>> seconds("2026-11-20T03:00:00.000Z", "2026-11-20T03:01:30.500Z"), seconds("2026-11-20T03:00:00.000Z", None)
    (90.5, None)
    """
    begun, over = moment(started), moment(finished)
    return None if begun is None or over is None else (over - begun).total_seconds()
