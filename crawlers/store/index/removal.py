"""Rows that are removed or marked some thousands at a time: in one transaction, the log gets as large as they are."""

from __future__ import annotations

from typing import TYPE_CHECKING

from crawlers.store.index import full_text
from crawlers.store.index.database import OF_A_SOURCE, transaction

if TYPE_CHECKING:
    import sqlite3

_ROWS = 10_000  # in a transaction
_DATASETS = 1_000  # with their full text, which is larger than they are
_KEYS = {
    "documents": ("kind", "dataset_id"),
    "resources": ("dataset_id",),
    "changes": ("dataset_id",),
    "flaws": ("dataset_id",),
    "observations": ("day", "metric"),
}
"""The tables without a rowid that may be large, and by what their rows are ordered within a source."""
_WITH_ROWID = ("captures",)
_IDS = "SELECT id FROM datasets WHERE source = ? LIMIT ?"
_UNDESCRIBED = "UPDATE sources SET described = 0 WHERE source = ?"
_OBSOLETE = """
UPDATE datasets SET sha256 = ''
WHERE id IN (SELECT id FROM datasets WHERE source = ? AND id > ? ORDER BY id LIMIT ?) RETURNING id
"""


def forget(db: sqlite3.Connection, source: str) -> None:
    """Delete all rows of a source; its row in `sources` goes last, so that a kill is noticed."""
    _forget_datasets(db, source)
    for table in OF_A_SOURCE:
        forget_rows(db, table, source)


def forget_rows(db: sqlite3.Connection, table: str, source: str) -> None:
    """Delete the rows of a source from one of the tables `OF_A_SOURCE`."""
    if table in _WITH_ROWID:
        some = f"DELETE FROM {table} WHERE rowid IN (SELECT rowid FROM {table} WHERE source = ? LIMIT ?)"  # noqa: S608
        while _changed(db, some, source, _ROWS):
            pass
    elif table in _KEYS:
        keys = ", ".join(_KEYS[table])
        next_one = f"SELECT {keys} FROM {table} WHERE source = ? ORDER BY {keys} LIMIT 1 OFFSET ?"  # noqa: S608
        upto = f"DELETE FROM {table} WHERE source = ? AND ({keys}) <= ({', '.join('?' * len(_KEYS[table]))})"  # noqa: S608
        while row := db.execute(next_one, (source, _ROWS)).fetchone():
            _changed(db, upto, source, *row)
    _changed(db, f"DELETE FROM {table} WHERE source = ?", source)  # noqa: S608  # what is left


def _forget_datasets(db: sqlite3.Connection, source: str) -> None:
    """Delete the datasets of a source and their full text."""
    while ids := [row[0] for row in db.execute(_IDS, (source, _DATASETS))]:
        with transaction(db):
            full_text.take_out(db, ids)
            db.executemany("DELETE FROM datasets WHERE id = ?", ((one,) for one in ids))


def outdate(db: sqlite3.Connection, source: str) -> None:
    """Have all datasets of a source described again by `missing_descriptions.describe`."""
    last = -1
    with transaction(db):
        db.execute(_UNDESCRIBED, (source,))
    while True:
        with transaction(db):
            ids = [row[0] for row in db.execute(_OBSOLETE, (source, last, _DATASETS)).fetchall()]
        if not ids:
            return
        last = max(ids)


def _changed(db: sqlite3.Connection, statement: str, *values: object) -> int:
    with transaction(db):
        return db.execute(statement, values).rowcount
