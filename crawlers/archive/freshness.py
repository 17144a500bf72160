"""How long an answer is fresh: RFC 9111, as a private cache reads it. Nothing is guessed from other headers."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING

from crawlers.records.moment import written

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

LONGEST = 2**31
"""Seconds that stand for any larger number: RFC 9111, 1.2.2."""
YEAR = 365 * 24 * 3600
"""Seconds for which ``immutable`` counts where no other lifetime is given: RFC 8246 leaves that open."""
_DIGITS = 1000  # Python reads no number with many more
_DIRECTIVE = re.compile(r"""([^\s,;="]+)(?:\s*=\s*("[^"]*"|[^\s,;"]*))?""")


def fresh_until(headers: Iterable[Sequence[str]], now: datetime) -> str | None:
    """Return the moment until which an answer need not be asked for again; ``None`` if it is stale already.

    ``s-maxage`` is for shared caches, and ``must-revalidate`` begins when the answer is stale: neither counts here.

    Args:
        headers: pairs of name and value, in any case, as `crawlers.items.Capture` has them.
        now: when the answer came, with its zone.
    """
    found: dict[str, list[str]] = {}
    for name, value in headers:
        found.setdefault(name.lower(), []).append(value.strip())
    lifetime = _lifetime(found, now)
    left = 0 if lifetime is None else lifetime - _age(found, now)
    return written(now + timedelta(seconds=left)) if left > 0 else None


def _lifetime(headers: dict[str, list[str]], now: datetime) -> int | None:
    """Return the seconds of RFC 9111, 4.2.1; ``None`` if there is none, or the answer may not be used again."""
    control = directives(headers.get("cache-control", []))
    if control.keys() & {"no-store", "no-cache"} or "*" in "".join(headers.get("vary", [])):
        return None
    if "max-age" in control:
        return _seconds(control["max-age"])
    if "expires" in headers:
        return _until_expires(headers, now)
    return YEAR if "immutable" in control else None


def _until_expires(headers: dict[str, list[str]], now: datetime) -> int | None:
    """Return Expires minus Date; an invalid or contradictory one is in the past: RFC 9111, 5.3."""
    expires = {_date(value) for value in headers["expires"]}
    date = _date(headers["date"][0]) if "date" in headers else now
    end = expires.pop()
    return None if expires or end is None or date is None else min(int((end - date).total_seconds()), LONGEST)


def _age(headers: dict[str, list[str]], now: datetime) -> int:
    """Return the seconds since the answer was made, by its Age or its Date: RFC 9111, 4.2.3."""
    stated = _seconds(headers["age"][:1]) if "age" in headers else 0
    date = _date(headers["date"][0]) if "date" in headers else None
    return max(stated or 0, int((now - date).total_seconds()) if date else 0)


def directives(values: Iterable[str]) -> dict[str, list[str]]:
    """Return the arguments of each directive of Cache-Control, by its name in lower case: RFC 9111, 5.2.

    >>> directives(['Public, max-age="60"', 'no-cache="Set-Cookie, max-age=1"'])
    {'public': [''], 'max-age': ['60'], 'no-cache': ['Set-Cookie, max-age=1']}
    """
    found: dict[str, list[str]] = {}
    for name, argument in _DIRECTIVE.findall(", ".join(values)):
        found.setdefault(name.lower(), []).append(argument.strip('"'))
    return found


def _seconds(values: Sequence[str]) -> int | None:
    """Return a number of seconds that may be stated several times; ``None`` if it is none, or another each time."""
    if len(set(values)) != 1 or not (values[0].isascii() and values[0].isdigit()):
        return None
    return min(int(values[0]), LONGEST) if len(values[0]) <= _DIGITS else LONGEST


def _date(text: str) -> datetime | None:
    """Return an HTTP date in any of the three forms of RFC 9110, 5.6.7."""
    try:
        date = parsedate_to_datetime(text)
        return date.replace(tzinfo=date.tzinfo or UTC)
    except (ValueError, OverflowError):
        return None
