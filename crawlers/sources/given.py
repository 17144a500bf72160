"""A source's arguments and settings as `-a` and `-s` take them."""

from __future__ import annotations

import datetime as dt
import re
from typing import TYPE_CHECKING, Any

from crawlers.exceptions import SourcesError
from crawlers.safety.redact import redact
from crawlers.sources.setting import named, typed

if TYPE_CHECKING:
    from collections.abc import Mapping

    from crawlers.sources.known import Known

_SECRET = re.compile(r"(?i)(api_?key|token|secret|passw(or)?d|credential|access_?key|authorization|_pass$|\bauth\b)")
_KEYS = re.compile(r"[?&;](?:(?:sig|pwd|pass|auth)=[^&;]|(?:key|code)=[^&;]{16})", re.IGNORECASE)
"""Signatures and keys in an address, by names that `redact` leaves alone: a short key may be a key of a table."""
_ENVIRONMENT = "which would be in this file, in logs and in reports. Put it into the environment variable that"


def texts(given: Mapping[str, Any], table: str) -> dict[str, str]:
    """
    Args:
        table: where they stand, for people: ``hdx.arguments``.

    Raises:
        SourcesError: a value is neither text, number, boolean nor date; or it is a secret.

    >>> texts({"level": "both", "max_datasets": 20, "since": dt.date(2026, 1, 1)}, "hdx.arguments")
    {'level': 'both', 'max_datasets': '20', 'since': '2026-01-01'}
    """
    for name, value in given.items():
        _open(f"[{table}]: {name}", name, value)
    return {name: _text(f"[{table}]: {name}", value) for name, value in given.items()}


def settings(given: Mapping[str, Any], table: str, known: Known) -> dict[str, Any]:
    """
    Raises:
        SourcesError: there is no such setting, it is the harvest's own, or its value is none that it takes.
    """
    found: dict[str, Any] = {}
    for name, value in given.items():
        where = f"[{table}]: {name}"
        _open(where, name, value)
        named(where, name, known)
        is_list = isinstance(value, list)
        found[name] = [_text(where, one) for one in value] if is_list else _text(where, value)
        typed(where, name, found[name], known)
    return found


def _text(where: str, value: Any) -> str:
    if isinstance(value, str | int | float):
        found = str(value)
    elif isinstance(value, dt.date | dt.datetime):
        found = value.isoformat()
    else:
        raise SourcesError(f"{where} is not a text, a number, true or false.")
    if "\x00" in found or "\n" in found or "\r" in found:
        raise SourcesError(f"{where} is no single line.")
    return found


def _open(where: str, name: str, value: Any) -> None:
    """
    Raises:
        SourcesError: it is a secret.
    """
    if _SECRET.search(name) and not name.endswith("_ENV"):
        raise SourcesError(f"{where} is a secret, {_ENVIRONMENT} API_TOKEN_ENV names (CKAN_API_TOKEN).")
    for one in value if isinstance(value, list) else [value]:
        if isinstance(one, str) and has_key(one):
            raise SourcesError(
                f"{where} is an address that has a password or key in it, {_ENVIRONMENT} API_TOKEN_ENV names."
            )


def has_key(text: str) -> bool:
    """
    >>> has_key("https://example.org/c.ttl?sig=9f8"), has_key("https://example.org/c.ttl?key=roads")
    (True, False)
    """
    return "://" in text and ("***" in redact(text) or _KEYS.search(text) is not None)
