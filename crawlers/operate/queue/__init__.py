"""A queue of crawls in PostgreSQL, which any number of nodes work on; the queue itself is Procrastinate."""

from __future__ import annotations

import re
from importlib import import_module
from typing import Any
from urllib.parse import parse_qs, urlsplit

from crawlers.exceptions import HarvestError

_PACKAGES = ("procrastinate", "psycopg", "psycopg_pool")


def need(module: str) -> Any:
    """Return a module of this package.

    Raises:
        HarvestError: what it needs is not installed.
    """
    try:
        return import_module(f"{__name__}.{module}")
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] not in _PACKAGES:
            raise
        raise HarvestError('A queue needs Procrastinate: pip install "catalogue-crawlers[queue]"') from None


def checked(address: str) -> str:
    """Return the address of a queue.

    Raises:
        HarvestError: it is not one, or has a password in it.
    """
    try:
        parts = urlsplit(address)
        has_password = parts.password is not None or "password" in parse_qs(parts.query)
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
