"""index.sqlite, opened by those who only read it: search, the report, the dashboard."""

from __future__ import annotations

import os
import sqlite3
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote

from crawlers.exceptions import IndexUnreadableError
from crawlers.store.index.schema import VERSION

if TYPE_CHECKING:
    from collections.abc import Iterator


def connect(output: Path) -> sqlite3.Connection:
    """Open the index read-only; its rows have names (`sqlite3.Row`).

    Raises:
        IndexUnreadableError: there is none in OUTPUT_DIR, or it is of another version.
    """
    path = output / "index.sqlite"
    if not path.exists():
        raise IndexUnreadableError(
            f"{output} has no index.sqlite: crawl a source first, or name another folder with -s OUTPUT_DIR=."
        )
    with readable(output):
        db = sqlite3.connect(_address(path), uri=True, isolation_level=None, timeout=60)
        db.row_factory = sqlite3.Row
        try:
            version = db.execute("PRAGMA user_version").fetchone()[0]
        except sqlite3.DatabaseError:
            db.close()
            raise
    if version != VERSION:
        db.close()
        raise IndexUnreadableError(f"{path} is of another version: rebuild it with `scrapy reindex`.")
    return db


def output_of(db: sqlite3.Connection) -> Path:
    """Return the folder of an open index, OUTPUT_DIR."""
    return Path(db.execute("PRAGMA database_list").fetchone()[2]).parent


@contextmanager
def readable(output: Path) -> Iterator[None]:
    """Say what to do if SQLite cannot read the index in OUTPUT_DIR.

    Raises:
        IndexUnreadableError: instead of SQLite's error.
    """
    try:
        yield
    except sqlite3.DatabaseError as error:
        path = output / "index.sqlite"
        raise IndexUnreadableError(f"{path} can't be read ({error}): rebuild it with `scrapy reindex`.") from None


def _address(path: Path) -> str:
    """Return the address to open; as immutable if this user cannot create the files that readers and writers share."""
    alone = not os.access(path.parent, os.W_OK) and not path.with_name(f"{path.name}-wal").exists()
    return f"file:{quote(str(path.resolve()))}?{'immutable=1' if alone else 'mode=ro'}"
