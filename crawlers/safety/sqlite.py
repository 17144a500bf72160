"""SQLite: how a database is opened and changed, and how a cache that is damaged is set aside so that another is made.

Outside of a `transaction` each statement is one by itself: what belongs together is changed in a transaction, so that
after a kill all of it is there, or nothing.
"""

from __future__ import annotations

import sqlite3
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from typing import TYPE_CHECKING, TypeVar
from urllib.parse import quote

from crawlers.safety.locks import alone

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

Opened = TypeVar("Opened", bound=sqlite3.Connection)
Identity = tuple[int, int]
"""What tells a file from another of its name."""

_DAMAGED = {sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB}
_TORN = {sqlite3.SQLITE_IOERR_READ, sqlite3.SQLITE_IOERR_SHORT_READ}
_UNUSABLE = {sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_PERM}


_DURABLE = "PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL;"
_GONE_AFTERWARDS = "PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF;"


class Connection(sqlite3.Connection):
    """A database that is open for writing.

    Attributes:
        committed: called after each `transaction`.
    """

    committed: Callable[[], None] = staticmethod(lambda: None)


def connect(path: Path | None, schema: str = "", *, patience: float, gives_back: bool = False) -> Connection:
    """Open a database for writing, with a write-ahead log; it is made where there is none.

    Args:
        path: its file; ``None``: a temporary one.
        schema: SQL that is run each time it is opened.
        patience: seconds to wait for another writer.
        gives_back: whether a new file can give pages back to the disk (``PRAGMA incremental_vacuum``).

    Raises:
        sqlite3.Error: it can't be used.
    """
    db = sqlite3.connect(path or "", isolation_level=None, timeout=patience, factory=Connection)
    try:
        db.executescript(f"{'PRAGMA auto_vacuum = INCREMENTAL;' if gives_back else ''}{_DURABLE}{schema}")
    except sqlite3.Error:
        db.close()
        raise
    return db


def connect_existing(path: Path, mode: str, *, patience: float) -> sqlite3.Connection:
    """Open a database that is there; no other is made in its place.

    Args:
        mode: of SQLite's URI: ``mode=ro``, ``mode=rw``, ``immutable=1``.
        patience: seconds to wait for another writer.

    Raises:
        sqlite3.Error: it can't be opened.
    """
    return sqlite3.connect(f"file:{quote(str(path))}?{mode}", uri=True, isolation_level=None, timeout=patience)


def temporary(schema: str) -> sqlite3.Connection:
    """Open a database that is gone when it is closed, however the process ends; on disk only once it is large."""
    db = sqlite3.connect("", isolation_level=None)
    db.executescript(_GONE_AFTERWARDS + schema)
    return db


@contextmanager
def transaction(db: sqlite3.Connection) -> Iterator[None]:
    """Commit all that is done within, or nothing."""
    db.execute("BEGIN IMMEDIATE")
    try:
        yield
        db.execute("COMMIT")
    except BaseException:
        if db.in_transaction:  # a full disk ends it
            db.execute("ROLLBACK")
        raise
    if isinstance(db, Connection):
        db.committed()


def code(error: Exception) -> int:
    """Return SQLite's primary error code, 0 for another error (https://www.sqlite.org/rescode.html)."""
    return _extended_code(error) & 0xFF


def is_damaged(error: Exception) -> bool:
    """Return whether an error says that a database, or a part of it, can't be read."""
    return code(error) in _DAMAGED or _extended_code(error) in _TORN


def is_unusable(error: Exception) -> bool:
    """Return whether an error says that a database can't be opened, or not be written by this user."""
    return code(error) in _UNUSABLE


def _extended_code(error: Exception) -> int:
    return getattr(error, "sqlite_errorcode", None) or 0


def open_cache(
    path: Path,
    connect: Callable[[], Opened],
    *,
    tell: Callable[[str, str], None],
    is_replaceable: Callable[[sqlite3.DatabaseError], bool] = is_damaged,
    damaged: Identity | None = None,
) -> Opened:
    """Return a database that is a cache, a new one if it is damaged.

    Args:
        connect: opens the database and lays it out; called by one process at a time.
        tell: told why the file was replaced, and what it is called now.
        is_replaceable: whether a file that gives an error is replaced.
        damaged: the identity of a file that turned out to be damaged after it was opened.

    Raises:
        sqlite3.DatabaseError, OSError: it can't be used, or not be set aside.
    """
    with alone(path):
        if damaged and damaged == identity(path):
            tell("it is damaged", set_aside(path).name)
        try:
            return connect()
        except sqlite3.DatabaseError as error:
            if not is_replaceable(error):
                raise
            tell(str(error), set_aside(path).name)
        return connect()


def identity(path: Path) -> Identity | None:
    """Return what tells a file from another of its name; ``None`` if there is none."""
    try:
        status = path.stat()
    except OSError:
        return None
    return status.st_dev, status.st_ino


def set_aside(path: Path, *, keeps_others: bool = False) -> Path:
    """Rename a database and its log, and remove those set aside before; return its new name.

    Programs that have it open continue with the renamed file: SQLite notices the move, and does not touch
    the log of the new one.

    Args:
        keeps_others: whether those set aside before stay: what is in them is nowhere else.

    Raises:
        OSError: it can't be renamed.
    """
    for old in path.parent.glob(f"{path.name}.damaged-*"):
        if not (keeps_others or old.is_dir()):
            old.unlink(missing_ok=True)
    name = path.with_name(f"{path.name}.damaged-{datetime.now(UTC):%Y%m%dT%H%M%SZ}")
    path.rename(name)
    with suppress(FileNotFoundError):
        path.with_name(f"{path.name}-wal").rename(f"{name}-wal")
    path.with_name(f"{path.name}-shm").unlink(missing_ok=True)
    return name
