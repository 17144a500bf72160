"""The mark of a store: the object that says what the prefix is, and which schema it has."""

from __future__ import annotations

import json
import time

from crawlers.exceptions import StoreError
from crawlers.s3.connection import server_time
from crawlers.store.bucket.objects import Objects

SCHEMA = 1
NAME = "catalogue-crawlers.json"
_LARGEST = 1024 * 1024  # bytes
_SKEW = 60  # seconds that the clocks of a node and of the store may differ


def check(objects: Objects, *, creates: bool) -> float | None:
    """Check that a store can be used; return the server's time, ``None`` if it does not say.

    Args:
        creates: whether an empty prefix becomes a store.

    Raises:
        StoreError: its schema is another one, the prefix has other objects, or the clocks differ.
        StoreUnreachableError: it gives no answer.
    """
    body = objects.get(NAME, _LARGEST)
    now = server_time(objects.timeout) if objects.timeout else None
    _compare_clocks(objects.address, now)
    _compare_schemas(objects.address, body or _made(objects, creates=creates))
    if creates:
        _check_conditions(objects)
    return now


def _made(objects: Objects, *, creates: bool) -> bytes:
    """Mark an empty prefix; return its mark, which may be another's."""
    first = next(objects.entries(""), None)
    if first is not None and first.name != NAME:
        raise StoreError(f"{objects.address} is not empty ({first.name[:200]!r}) and no store: name another prefix.")
    if not creates and first is None:
        raise StoreError(f"{objects.address} is empty: crawl a source first, or `scrapy push` a folder.")
    about = {"schema": SCHEMA, "what": "the output of catalogue-crawlers"}
    if creates:
        objects.create(NAME, json.dumps(about).encode())
    return objects.get(NAME, _LARGEST) or b""


def _check_conditions(objects: Objects) -> None:
    """Check that the server refuses puts whose condition does not hold: two nodes would overwrite each other's objects.

    A server that ignores conditions replaces the mark by one that says the same.
    """
    found = objects.tagged(NAME, _LARGEST)
    other = found.body.rstrip() + b"\n" * (1 - found.body.count(b"\n")) if found else b""
    if objects.create(NAME, other) or objects.replace(NAME, other, '"0123456789abcdef0123456789abcdef"'):
        raise StoreError(
            f"{objects.address} is on a server that ignores If-None-Match and If-Match: several nodes can't share it."
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
    raise StoreError(f"{address} is of schema {schema}, older than {SCHEMA}: pull it by the version that wrote it.")
