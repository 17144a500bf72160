"""index.sqlite as a file: opened, laid out, and rebuilt when it is of another version, replaced when it is damaged."""

from __future__ import annotations

import logging
import sqlite3
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from crawlers import damaged_database
from crawlers.damaged_database import Identity, is_damaged, is_unusable, set_aside
from crawlers.exceptions import OutputError
from crawlers.index import full_text
from crawlers.index.schema import TABLES, VERSION
from crawlers.index.views import VIEWS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

logger = logging.getLogger(__name__)

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
LARGEST_LOG = 64 * 1024 * 1024
"""Bytes of index.sqlite-wal beyond which it is emptied as soon as no reader needs it."""
_REPLACED = "{path} can't be used ({reason}): it was renamed to {name} and is rebuilt from the manifests."
_PRAGMAS = f"PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL; PRAGMA journal_size_limit = {LARGEST_LOG};"


def opened(
    output: Path,
    patience: float = PATIENT,
    *,
    for_crawl: bool = False,
    damaged: Identity | None = None,
    tell: Callable[[str], None] = logger.warning,
) -> sqlite3.Connection:
    """Open the index in OUTPUT_DIR to write into it; set it aside first if it is damaged.

    Args:
        patience: seconds to wait for another who writes into it.
        for_crawl: also set aside what can't be opened or not be written.
        damaged: the identity of a file that turned out to be damaged after it was opened.
        tell: told, in a sentence, that it was set aside.

    Raises:
        sqlite3.DatabaseError, OSError: it can't be used, or not be set aside.
    """
    path = output / NAME
    return damaged_database.opened(
        path,
        partial(_laid_out, path, patience),
        tell=lambda reason, name: tell(_REPLACED.format(path=path, reason=reason, name=name)),
        is_replaceable=partial(is_replaceable, output=output, for_crawl=for_crawl),
        damaged=damaged,
    )


def log_size(output: Path) -> int:
    """Return the bytes of index.sqlite-wal."""
    try:
        return (output / f"{NAME}-wal").stat().st_size
    except FileNotFoundError:
        return 0


def is_replaceable(error: sqlite3.DatabaseError, output: Path, *, for_crawl: bool) -> bool:
    """Return whether the index is to be set aside for an error that it gave."""
    path = output / NAME
    return is_damaged(error) or path.is_symlink() or path.is_dir() or (for_crawl and is_unusable(error))


def _laid_out(path: Path, patience: float) -> sqlite3.Connection:
    if path.is_symlink():  # whoever made it may have meant another database, whose tables would go
        raise sqlite3.DatabaseError("it is a symbolic link, which is not followed")
    db = sqlite3.connect(path, isolation_level=None, timeout=patience)
    try:
        db.executescript(_PRAGMAS)
        if db.execute("PRAGMA user_version").fetchone()[0] != VERSION:
            _make(db)
    except sqlite3.DatabaseError:
        db.close()
        raise
    return db


def remove(output: Path) -> None:
    """Remove the index, for another to be made; a folder of its name is set aside.

    Raises:
        OSError: it can't be removed.
    """
    if (output / NAME).is_dir():
        set_aside(output / NAME)
    for suffix in ("", "-wal", "-shm"):
        (output / f"{NAME}{suffix}").unlink(missing_ok=True)


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
