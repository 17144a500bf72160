"""The database of a queue: its address, and what is wrong if it can't be used."""

from __future__ import annotations

import re
from typing import Any
from urllib.parse import parse_qs, urlsplit

import psycopg

from crawlers.exceptions import HarvestError

UTF8: dict[str, Any] = {"client_encoding": "utf8"}


def checked(address: str) -> str:
    """Return the address of a queue.

    Raises:
        HarvestError: it is not one, or has a password in it.
    """
    try:
        parts = urlsplit(address)
        has_password = parts.password is not None or "password" in parse_qs(parts.query)
        (parts.hostname or "").encode("idna")  # as the socket will: a host that none can have is a ValueError
        is_valid = parts.scheme in ("postgresql", "postgres") and len(parts.path) > 1
    except ValueError:
        has_password, is_valid = False, False
    if has_password:
        raise HarvestError(f"{shown(address)} has a password in it, which others can read: set PGPASSWORD instead.")
    if not is_valid:
        raise HarvestError(f"{shown(address)!r} is not the address of a queue, such as postgresql://host/database.")
    return address


def shown(address: str) -> str:
    """Return an address without its credentials.

    >>> shown("postgresql://me:secret@host/catalogues?password=secret")
    'postgresql://host/catalogues'
    """
    return re.sub(r"//[^/@]*@", "//", address).partition("?")[0]


def unreachable(address: str, error: BaseException | None) -> str:
    """Return a sentence about a queue that does not answer."""
    lines = [line for line in str(error or "").splitlines() if line.strip()]
    reason = lines[0].rpartition("failed: ")[2].removeprefix("FATAL:  ").strip() if lines else "no answer"
    advice = "check its address, and PGUSER and PGPASSWORD in the environment"
    return f"The queue {shown(address)} can't be reached ({reason}): {advice}."


def failure(address: str, error: Exception) -> str:
    """Return a sentence about a queue that can't be reached, or used."""
    if isinstance(error, psycopg.OperationalError):
        return unreachable(address, error)
    return f"The queue {shown(address)} can't be used: {str(error).strip().partition(chr(10))[0]}."
