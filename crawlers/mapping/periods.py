"""Periods of time as one text."""

from __future__ import annotations

from crawlers.items import Period
from crawlers.mapping.values import date

_OPEN = ("", "..", "*")


def period(text: str) -> Period | None:
    """An ISO 8601 interval, or one date: a year or a month is a period too.

    >>> period("2016-01-01/2016-12-05"), period("2016/..")
    (Period(start='2016-01-01', end='2016-12-05'), Period(start='2016', end=None))
    >>> period("2016-03"), period("lately"), period("/")
    (Period(start='2016-03', end='2016-03'), None, None)
    """
    first, slash, last = (part.strip() for part in text.partition("/"))
    if not slash:
        last = first
    start, end = date(first), date(last)
    readable = (start or first in _OPEN) and (end or last in _OPEN)
    return Period(start=start, end=end) if readable and (start or end) else None
