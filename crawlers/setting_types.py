"""What a setting takes, by its default: a number where that is one."""

from __future__ import annotations

import logging
import math
from typing import Any

_WHOLE_BY_CHANCE = frozenset(
    ("CLOSESPIDER_TIMEOUT", "DNS_TIMEOUT", "DOWNLOAD_DELAY", "DOWNLOAD_DELAY_JITTER", "DOWNLOAD_TIMEOUT")
)
"""Their defaults are whole numbers; they may be any."""


def lacks(name: str, default: Any, value: Any) -> str | None:
    """What a value is not, and has to be; `None` where nothing is to be said.

    Args:
        default: a whole number wants a whole number, any other wants any.

    >>> lacks("RETRY_TIMES", 5, "1.5"), lacks("RETRY_BACKOFF", 1.0, "1.5"), lacks("RETRY_BACKOFF", 1.0, "nan")
    ('a whole number', None, 'a number')
    >>> lacks("LOG_LEVEL", "INFO", "FOO")
    'one of CRITICAL, ERROR, WARNING, INFO, DEBUG'
    """
    if name == "LOG_LEVEL":
        return None if _is_level(value) else "one of CRITICAL, ERROR, WARNING, INFO, DEBUG"
    is_number = isinstance(default, int | float) and not isinstance(default, bool)
    if not is_number or value is None or name.endswith("_ENABLED"):  # Scrapy's one switch whose default is 1
        return None
    if isinstance(default, float) or name in _WHOLE_BY_CHANCE:
        return None if _is(float, value) else "a number"
    return None if _is(int, value) else "a whole number"


def _is_level(value: Any) -> bool:
    """As `logging` takes it: a number is one only where it is no text."""
    return isinstance(value, int) or value in logging.getLevelNamesMapping()


def _is(kind: type[int | float], value: Any) -> bool:
    """Whether it can be read so, as Scrapy reads it, and is neither `nan` nor `inf`."""
    try:
        return math.isfinite(kind(value))
    except (TypeError, ValueError, OverflowError):
        return False
