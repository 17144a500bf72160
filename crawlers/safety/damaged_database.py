"""SQLite files that are caches: recognised when they are damaged, and set aside so that others can be made."""

from __future__ import annotations

import sqlite3
from contextlib import suppress
from datetime import UTC, datetime
from typing import TYPE_CHECKING, TypeVar

from crawlers.safety.locks import alone

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

Opened = TypeVar("Opened", bound=sqlite3.Connection)
Identity = tuple[int, int]
"""What tells a file from another of its name."""

_DAMAGED = {sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB}
_TORN = {sqlite3.SQLITE_IOERR_READ, sqlite3.SQLITE_IOERR_SHORT_READ}
_UNUSABLE = {sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_PERM}


def is_damaged(error: Exception) -> bool:
    """Return whether an error says that a database, or a part of it, can't be read (https://www.sqlite.org/rescode.html)."""
    code = _code(error)
    return code & 0xFF in _DAMAGED or code in _TORN


def is_unusable(error: Exception) -> bool:
    """Return whether an error says that a database can't be opened, or not be written by this user."""
    return _code(error) & 0xFF in _UNUSABLE


def _code(error: Exception) -> int:
    return getattr(error, "sqlite_errorcode", None) or 0


def opened(
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


def set_aside(path: Path) -> Path:
    """Rename a database and its log, and remove those set aside before; return its new name.

    Programs that have it open continue with the renamed file: SQLite notices the move, and does not touch
    the log of the new one.

    Raises:
        OSError: it can't be renamed.
    """
    for old in path.parent.glob(f"{path.name}.damaged-*"):
        if not old.is_dir():
            old.unlink(missing_ok=True)
    name = path.with_name(f"{path.name}.damaged-{datetime.now(UTC):%Y%m%dT%H%M%SZ}")
    path.rename(name)
    with suppress(FileNotFoundError):
        path.with_name(f"{path.name}-wal").rename(f"{name}-wal")
    path.with_name(f"{path.name}-shm").unlink(missing_ok=True)
    return name
