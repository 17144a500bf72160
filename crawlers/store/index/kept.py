"""What was counted of a source's rows, kept until one changes: counting is much of what a run without changes takes."""

from __future__ import annotations

import json
import sqlite3
from contextlib import suppress
from typing import TYPE_CHECKING, Any, TypeVar, cast

if TYPE_CHECKING:
    from collections.abc import Callable

T = TypeVar("T", bound=dict[str, Any])

_KEPT = "SELECT stamp, counted FROM sources WHERE source = ?"
_KEEP = "UPDATE sources SET counted = ? WHERE source = ? AND stamp = ?"


def kept(
    db: sqlite3.Connection, source: str, version: str, name: str, count: Callable[[sqlite3.Connection, str], T]
) -> T:
    """Return what ``count`` returns for the index and the source; it is called once until a row of them changes.

    Args:
        db: the index.
        version: of this project; another one may count in another way. What changes a count without a new version, or
            a new version of the index, is seen when a row of the source changes.
        name: under which the result is kept, as JSON.
        count: reads the rows of the source's datasets and their resources, and nothing that changes without them.
    """
    stamp, text = db.execute(_KEPT, (source,)).fetchone() or (None, None)
    known: dict[str, Any] = json.loads(text) if text else {}
    if known.get("of") != (of := f"{stamp} {version}"):
        known = {"of": of}
    if name not in known:
        known[name] = count(db, source)
        with suppress(sqlite3.OperationalError):  # another process writes: the next run counts, too
            db.execute(_KEEP, (json.dumps(known), source, stamp))
    return cast("T", known[name])
