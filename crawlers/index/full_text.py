"""The full text of datasets, kept in step with their rows.

No triggers: in one, FTS5 writes each row to disk by itself, which takes four times as long.
"""

from __future__ import annotations

import json
from contextlib import contextmanager
from typing import TYPE_CHECKING

from crawlers.index.schema import INDEXED

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Collection, Iterator

_COLUMNS = ", ".join(INDEXED)
_ID = "SELECT id FROM datasets WHERE source = ? AND dataset_id = ?"
_SOME = "FROM datasets WHERE id IN (SELECT value FROM json_each(?))"
_TAKE_OUT = f"INSERT INTO search (search, rowid, {_COLUMNS}) SELECT 'delete', id, {_COLUMNS}"
_PUT_IN = f"INSERT INTO search (rowid, {_COLUMNS}) SELECT id, {_COLUMNS}"


@contextmanager
def changing(db: sqlite3.Connection, source: str, dataset_ids: Collection[str]) -> Iterator[None]:
    """Within it those datasets' rows may be written: what they said is taken out before, what they say put in after."""
    db.execute(f"{_TAKE_OUT} {_SOME}", (_ids(db, source, dataset_ids),))
    yield
    db.execute(f"{_PUT_IN} {_SOME}", (_ids(db, source, dataset_ids),))


def _ids(db: sqlite3.Connection, source: str, dataset_ids: Collection[str]) -> str:
    """Those that are there, as JSON, which may hold any number of them."""
    rows = (db.execute(_ID, (source, one)).fetchone() for one in dataset_ids)
    return json.dumps([row[0] for row in rows if row])


def forget(db: sqlite3.Connection, source: str) -> None:
    """Takes a source's datasets out, before their rows go."""
    db.execute(f"{_TAKE_OUT} FROM datasets WHERE source = ?", (source,))
