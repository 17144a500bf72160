"""index.sqlite as a file: opened, laid out, and made anew when it is of another version."""

from __future__ import annotations

import sqlite3
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from crawlers.exceptions import OutputError
from crawlers.index import full_text
from crawlers.index.schema import TABLES, VERSION
from crawlers.index.views import VIEWS
from crawlers.locks import alone

if TYPE_CHECKING:
    from collections.abc import Iterator

NAME = "index.sqlite"
OF_A_SOURCE = ("documents", "complete", "datasets", "resources", "changes", "runs", "run_errors", "sources")
"""The tables whose rows belong to one source."""

_NOT_YOURS = "run this as who crawls into that folder"
_ADVICE = {
    **dict.fromkeys((sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR), "free some space"),  # the second beyond a quota
    **dict.fromkeys((sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED), "another program writes into it: wait until it ends"),
    **dict.fromkeys((sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_PERM), _NOT_YOURS),
}
"""What to do about SQLite's primary error codes (https://www.sqlite.org/rescode.html)."""
_MADE = "SELECT type, name FROM sqlite_master WHERE name NOT LIKE 'sqlite_%' AND type IN ('table', 'view')"


PATIENT = 60.0  # seconds: crawls of other sources write briefly, but there may be many


def opened(output: Path, patience: float = PATIENT) -> sqlite3.Connection:
    """The index in OUTPUT_DIR, to be written.

    Args:
        patience: seconds to wait for another who writes into it.

    Raises:
        sqlite3.DatabaseError: it is none, or can't be written.
    """
    db = sqlite3.connect(output / NAME, isolation_level=None, timeout=patience)
    with alone(output / NAME):
        db.executescript("PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL;")
        if db.execute("PRAGMA user_version").fetchone()[0] != VERSION:
            _make(db)
    return db


def _make(db: sqlite3.Connection) -> None:
    """Whatever is there goes: full text first, which owns some of the other tables."""
    with transaction(db):
        found = db.execute(_MADE).fetchall()
        for kind, name in sorted(found, key=lambda row: row[1] != "search"):
            db.execute(f'DROP {kind} IF EXISTS "{name}"')
    views = ";".join(f"CREATE VIEW {name} AS {view.query}" for name, view in VIEWS.items())
    db.executescript(f"BEGIN IMMEDIATE; {TABLES} {views}; PRAGMA user_version = {VERSION}; COMMIT;")


@contextmanager
def usable(output: Path) -> Iterator[None]:
    """
    Raises:
        OutputError: says what to do, where the file can't be used, or what it is made of not be read.
    """
    try:
        yield
    except sqlite3.DatabaseError as error:
        raise OutputError(f"{output / NAME} can't be used ({error}): {_what_to_do(error)}.") from None
    except OSError as error:
        path = error.filename or output
        raise OutputError(f"{path} can't be used ({error.strerror}): {_NOT_YOURS}.") from None


def _what_to_do(error: sqlite3.DatabaseError) -> str:
    code = getattr(error, "sqlite_errorcode", None)
    return _ADVICE.get(code & 0xFF if code else 0, "`scrapy reindex` makes it anew")


@contextmanager
def transaction(db: sqlite3.Connection) -> Iterator[None]:
    """All of it, or nothing."""
    db.execute("BEGIN IMMEDIATE")
    try:
        yield
        db.execute("COMMIT")
    except BaseException:
        if db.in_transaction:  # a full disk has ended it already
            db.execute("ROLLBACK")
        raise


def forget(db: sqlite3.Connection, source: str) -> None:
    """Within a transaction of the caller's."""
    full_text.forget(db, source)
    for table in OF_A_SOURCE:
        db.execute(f"DELETE FROM {table} WHERE source = ?", (source,))  # noqa: S608  # the tables above
