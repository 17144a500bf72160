"""The values that a setting takes, by its default: whole numbers, any numbers, true or false, and their range."""

from __future__ import annotations

import logging
import math
from collections.abc import Callable, Mapping
from typing import Any
from urllib.parse import urlsplit

from scrapy.settings import BaseSettings

_FRACTIONAL = frozenset(
    ("CLOSESPIDER_TIMEOUT", "DNS_TIMEOUT", "DOWNLOAD_DELAY", "DOWNLOAD_DELAY_JITTER", "DOWNLOAD_TIMEOUT")
)
"""Their defaults are whole numbers, but other numbers are valid, too."""
_ABOVE_0 = frozenset(
    (
        *("AUTOTHROTTLE_TARGET_CONCURRENCY", "CONCURRENT_ITEMS", "CONCURRENT_REQUESTS"),
        *("CONCURRENT_REQUESTS_PER_DOMAIN", "DOWNLOAD_TIMEOUT", "REACTOR_THREADPOOL_MAXSIZE"),
    )
)
"""With 0, a crawl makes no progress."""
_BELOW_0 = ("_PRIORITY", "_PRIORITY_ADJUST", "SHRINK_LIMIT")
"""These may be negative, or the spider checks them."""
_SWITCH = ("true", "false", "1", "0")
_LONGEST = 100  # characters of an invalid value


def invalid(values: Mapping[str, Any], defaults: Mapping[str, Any]) -> str | None:
    """Return a message for the first setting whose value does not have its default's type or range.

    >>> invalid({"RETRY_TIMES": "x", "SENTRY_DSN": "y"}, {"RETRY_TIMES": 5})
    "RETRY_TIMES='x' is not a whole number: see docs/settings.md."
    """
    for name, value in values.items():
        wanted = lacks(name, defaults[name], value) if name in defaults else None
        if wanted:
            return f"{name}={str(value)[:_LONGEST]!r} is not {wanted}: see docs/settings.md."
    return None


def lacks(name: str, default: Any, value: Any) -> str | None:
    """Return what a value should be but is not; `None` if it is valid, or the setting has no known type.

    Args:
        default: its type is the setting's: true or false, a whole number, or any number.

    >>> lacks("RETRY_TIMES", 5, "1.5"), lacks("RETRY_BACKOFF", 1.0, "1.5"), lacks("RETRY_BACKOFF", 1.0, "nan")
    ('a whole number', None, 'a number')
    >>> lacks("RETRY_TIMES", 5, "-1"), lacks("CONCURRENT_REQUESTS", 16, "0"), lacks("DEPTH_PRIORITY", 0, "-1")
    ('0 or more', 'more than 0', None)
    >>> lacks("LOG_LEVEL", "INFO", "FOO"), lacks("ROBOTSTXT_OBEY", True, "perhaps")
    ('one of CRITICAL, ERROR, WARNING, INFO, DEBUG', 'true or false')
    """
    if name in _OWN:
        is_valid, wanted = _OWN[name]
        return None if is_valid(value) else wanted
    is_switch = name.endswith("_ENABLED") and not isinstance(default, list)  # Scrapy has one with the default 1
    if isinstance(default, bool) or is_switch:
        return None if str(value).lower() in _SWITCH else "true or false"
    if not isinstance(default, int | float) or value is None:
        return None
    is_whole = isinstance(default, int) and name not in _FRACTIONAL
    if not _is(int if is_whole else float, value):
        return "a whole number" if is_whole else "a number"
    return _outside(name, float(value))


def _outside(name: str, value: float) -> str | None:
    """Return the range that a number is outside of."""
    if name in _ABOVE_0:
        return None if value > 0 else "more than 0"
    return None if value >= 0 or name.endswith(_BELOW_0) else "0 or more"


def _is_host(text: str) -> bool:
    """
    >>> [_is_host(text) for text in ("a.org", "10.0.0.7:8080", "a.org:b", "[", "http://a.org", "me@a.org")]
    [True, True, False, False, False, False]
    """
    try:
        parts = urlsplit(f"//{text}")
        host, port = parts.hostname, parts.port
    except ValueError:
        return False
    return host is not None and port != 0 and parts.netloc == text and parts.username is None


def _is_address(text: str) -> bool:
    """
    >>> [_is_address(text) for text in ("https://a.org/x", "a.org", "ftp://a.org", "https://me:secret@a.org", "http://[")]
    [True, False, False, False, False]
    """
    try:
        parts = urlsplit(text)
        return parts.scheme in ("http", "https") and _is_host(parts.netloc) and text.isprintable() and " " not in text
    except ValueError:
        return False


def _are_hosts(value: Any) -> bool:
    name = "ALLOWED_PRIVATE_HOSTS"
    return all(_is_host(str(host)) for host in BaseSettings({name: value}).getlist(name))


def _is_level(value: Any) -> bool:
    """Return whether `logging` accepts a level; it takes numbers, but not as text."""
    return isinstance(value, int) or value in logging.getLevelNamesMapping()


_OWN: dict[str, tuple[Callable[[Any], bool], str]] = {
    "ALLOWED_PRIVATE_HOSTS": (_are_hosts, "hosts, or host:port"),
    "DASHBOARD_URL": (
        lambda value: not value or _is_address(str(value)),
        "an http(s) address without user and password",
    ),
    "DIGEST": (lambda value: value in ("", "daily", "weekly"), "daily, weekly or empty"),
    "LOG_LEVEL": (_is_level, "one of CRITICAL, ERROR, WARNING, INFO, DEBUG"),
}
"""Settings that take something else than a type: whether a value is valid, and what they take."""


def _is(kind: type[int | float], value: Any) -> bool:
    """Return whether Scrapy can read a value as this type, and it is neither `nan` nor `inf`."""
    try:
        return math.isfinite(kind(value))
    except (TypeError, ValueError, OverflowError):
        return False
