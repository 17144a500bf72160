"""Moments as files have them: UTC, ISO 8601, with a Z; and as users write them."""

from __future__ import annotations

import re
import time
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from datetime import tzinfo


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


# What a user writes for a moment: a date in the zone of a source, or a time with its offset

_DATE = re.compile(r"\d{4}-\d\d-\d\d", re.ASCII)
_LONGEST = 100  # characters of a text in a message
_WRITTEN = (
    "write a date such as 2026-11-20, or a time with its offset such as 2026-11-20T10:00Z or 2026-11-20T10:00+01:00"
)


def beginning(text: str, zone: tzinfo = UTC) -> datetime:
    """Return the first moment of what a user wrote, in UTC: what ``--since`` and ``--from`` mean.

    Args:
        text: a date, or a time with its offset.
        zone: the one that the date is in: the source's (`crawlers.store.sources_file.zone_of`).

    Raises:
        ValueError: it is neither; the message says what is valid, and follows the option's name.

    >>> str(beginning("2026-11-20")), str(beginning("2026-11-20T10:00+01:00"))
    ('2026-11-20 00:00:00+00:00', '2026-11-20 09:00:00+00:00')
    """
    return _midnight(text, zone, 0) if is_date(text) else _time(text)


def end(text: str, zone: tzinfo = UTC) -> datetime:
    """Return the last moment of what a user wrote, in UTC, as `beginning` does: what ``--at`` and ``--to`` mean.

    Of a time that is the time itself.

    >>> str(end("2026-11-20"))
    '2026-11-20 23:59:59.999999+00:00'
    """
    return _midnight(text, zone, 1) - timedelta.resolution if is_date(text) else _time(text)


def is_date(text: str) -> bool:
    """Return whether a user wrote a date: only of one the zone counts.

    >>> is_date("2026-11-20"), is_date("2026-11-20T10:00Z")
    (True, False)
    """
    return bool(_DATE.fullmatch(text))


def _midnight(text: str, zone: tzinfo, later: int) -> datetime:
    """Return when a day begins, or the day that is some days later; where clocks skip midnight, when they do."""
    try:
        day = datetime.fromisoformat(text) + timedelta(days=later)
        return day.replace(tzinfo=zone).astimezone(UTC)
    except (ValueError, OverflowError):  # the 30th of February; the last day of the year 9999
        raise ValueError(f"{text} is not a date: {_WRITTEN}") from None


def _time(text: str) -> datetime:
    try:
        found = datetime.fromisoformat(text)
        if found.tzinfo:
            return found.astimezone(UTC)
    except (ValueError, OverflowError):
        raise ValueError(f"{text[:_LONGEST]!r} is neither a date nor a time: {_WRITTEN}") from None
    raise ValueError(f"{text[:_LONGEST]!r} has no offset: {_WRITTEN}")
