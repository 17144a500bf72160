"""The mark of a store: the object that says what the prefix is, and which schema it has."""

from __future__ import annotations

import json
import time
from typing import TYPE_CHECKING
from uuid import uuid4

import obstore

from crawlers.exceptions import StoreError
from crawlers.s3.connection import server_time

if TYPE_CHECKING:
    from crawlers.fleet.store.store import Store

SCHEMA = 2
"""1 was a log of commits of packs and segments."""
_LAST_OF_1 = "11a44c41"
"""The last commit of this project that reads a store of schema 1."""
NAME = "catalogue-crawlers.json"
_LARGEST = 1024 * 1024  # bytes
_SKEW = 60  # seconds that the clocks of a node and of the store may differ


def check(store: Store, *, creates: bool) -> float | None:
    """Check that a store can be used; return the server's time, ``None`` if it does not say, or a folder is only read.

    Args:
        creates: whether an empty prefix becomes a store.

    Raises:
        StoreError: its schema is another one, the prefix has other objects, or the clocks differ.
        StoreUnreachableError: it gives no answer.
    """
    found = store.get(NAME, _LARGEST)
    now = server_time(store.timeout) if store.timeout else None
    _compare_clocks(store.address, now)
    _compare_schemas(store.address, found.body if found else _made(store, creates=creates))
    if creates and store.is_local:  # a file system has no conditions on content
        now = _file_time(store)
        _compare_clocks(store.address, now)
    elif creates:
        _check_conditions(store)
    return now


def _file_time(store: Store) -> float | None:
    """Return the time of a file that is written now: that of the file server."""
    name = f".clock-{uuid4().hex}"
    store.create(name, b"")
    try:
        return store.modified(name)
    finally:
        store.asked(lambda: obstore.delete(store.objects, name))


def _made(store: Store, *, creates: bool) -> bytes:
    """Mark an empty prefix; return its mark, which may be another's."""
    first = store.first()
    if first not in (None, NAME):
        raise StoreError(f"{store.address} is not empty ({first[:200]!r}) and no store: name another prefix.")
    if not creates and first is None:
        raise StoreError(f"{store.address} is empty: crawl a source first, or `scrapy push` a folder.")
    about = {"schema": SCHEMA, "what": "the output of catalogue-crawlers"}
    if creates:
        store.create(NAME, json.dumps(about).encode())
    found = store.get(NAME, _LARGEST)
    return found.body if found else b""


def _check_conditions(store: Store) -> None:
    """Check that the server refuses puts whose condition does not hold: two nodes would overwrite each other's store.

    A server that ignores conditions replaces the mark by one that says the same.
    """
    found = store.get(NAME, _LARGEST)
    other = found.body.rstrip() + b"\n" * (1 - found.body.count(b"\n")) if found else b""
    if store.create(NAME, other) or store.replace(NAME, other, '"0123456789abcdef0123456789abcdef"'):
        raise StoreError(
            f"{store.address} is on a server that ignores If-None-Match and If-Match: several nodes can't share it."
        )


def _compare_clocks(address: str, now: float | None) -> None:
    ahead = 0.0 if now is None else time.time() - now
    if abs(ahead) > _SKEW:
        way = "ahead of" if ahead > 0 else "behind"
        raise StoreError(
            f"The clock of this machine is {abs(ahead):.0f} seconds {way} that of {address}: set both by NTP."
        )


def _compare_schemas(address: str, body: bytes) -> None:
    try:
        schema = json.loads(body)["schema"]
    except (ValueError, RecursionError, KeyError, TypeError):
        schema = None
    if schema == SCHEMA:
        return
    if isinstance(schema, int) and schema > SCHEMA:
        raise StoreError(f"{address} is of schema {schema}, and this version knows {SCHEMA}: install a newer one.")
    raise StoreError(
        f"{address} is of schema {schema}, and this version knows {SCHEMA}: `scrapy pull` it into a folder with commit "
        f"{_LAST_OF_1} of this project, the last one that reads it, and `scrapy push` that folder to an empty prefix "
        "with this one."
    )
