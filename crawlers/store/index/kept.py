"""What was counted of a source's rows, kept until one of them changes: in a run without changes, counting weighs."""

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
    """Return what ``count`` returns for the index and the source; it is called if a row of the datasets has changed.

    Args:
        db: the index.
        version: of this project; another one may count in another way.
        name: under which the result is kept, as JSON.
        count: reads nothing but the rows of the source's datasets and their resources.
    """
    stamp, text = db.execute(_KEPT, (source,)).fetchone() or (None, None)
    before = json.loads(text) if text else {}
    known: dict[str, Any] = {"of": f"{stamp} {version}"}
    if before.get("of") == known["of"]:
        known = before
    if name not in known:
        known[name] = count(db, source)
        with suppress(sqlite3.OperationalError):  # another process writes: the next run counts, too
            db.execute(_KEEP, (json.dumps(known), source, stamp))
    return cast("T", known[name])
