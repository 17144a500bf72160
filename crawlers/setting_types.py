"""What a setting takes, by its default: a number where that is one, and which numbers."""

from __future__ import annotations

import logging
import math
from typing import Any

_WHOLE_BY_CHANCE = frozenset(
    ("CLOSESPIDER_TIMEOUT", "DNS_TIMEOUT", "DOWNLOAD_DELAY", "DOWNLOAD_DELAY_JITTER", "DOWNLOAD_TIMEOUT")
)
"""Their defaults are whole numbers; they may be any."""
_ABOVE_0 = frozenset(
    (
        *("AUTOTHROTTLE_TARGET_CONCURRENCY", "CONCURRENT_ITEMS", "CONCURRENT_REQUESTS"),
        *("CONCURRENT_REQUESTS_PER_DOMAIN", "DOWNLOAD_TIMEOUT", "REACTOR_THREADPOOL_MAXSIZE"),
    )
)
"""With 0 of these a crawl stands still."""
_BELOW_0 = ("_PRIORITY", "_PRIORITY_ADJUST", "SHRINK_LIMIT")
"""May be negative, or is checked by the spider."""
_SWITCH = ("true", "false", "1", "0")


def lacks(name: str, default: Any, value: Any) -> str | None:
    """Return what a value is not, and has to be; `None` if it is right, or nothing is known of the setting.

    Args:
        default: true or false wants one of these, a whole number a whole number, any other number any.

    >>> lacks("RETRY_TIMES", 5, "1.5"), lacks("RETRY_BACKOFF", 1.0, "1.5"), lacks("RETRY_BACKOFF", 1.0, "nan")
    ('a whole number', None, 'a number')
    >>> lacks("RETRY_TIMES", 5, "-1"), lacks("CONCURRENT_REQUESTS", 16, "0"), lacks("DEPTH_PRIORITY", 0, "-1")
    ('0 or more', 'more than 0', None)
    >>> lacks("LOG_LEVEL", "INFO", "FOO"), lacks("ROBOTSTXT_OBEY", True, "perhaps")
    ('one of CRITICAL, ERROR, WARNING, INFO, DEBUG', 'true or false')
    """
    if name == "LOG_LEVEL":
        return None if _is_level(value) else "one of CRITICAL, ERROR, WARNING, INFO, DEBUG"
    if isinstance(default, bool) or name.endswith("_ENABLED"):  # Scrapy has one switch whose default is 1
        return None if str(value).lower() in _SWITCH else "true or false"
    if not isinstance(default, int | float) or value is None:
        return None
    is_whole = isinstance(default, int) and name not in _WHOLE_BY_CHANCE
    if not _is(int if is_whole else float, value):
        return "a whole number" if is_whole else "a number"
    return _outside(name, float(value))


def _outside(name: str, value: float) -> str | None:
    """Return the range that a number is not in."""
    if name in _ABOVE_0:
        return None if value > 0 else "more than 0"
    return None if value >= 0 or name.endswith(_BELOW_0) else "0 or more"


def _is_level(value: Any) -> bool:
    """As `logging` takes it: a number is one only where it is no text."""
    return isinstance(value, int) or value in logging.getLevelNamesMapping()


def _is(kind: type[int | float], value: Any) -> bool:
    """Whether it can be read so, as Scrapy reads it, and is neither `nan` nor `inf`."""
    try:
        return math.isfinite(kind(value))
    except (TypeError, ValueError, OverflowError):
        return False
