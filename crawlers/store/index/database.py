"""index.sqlite as a file: opened and laid out, made again for another version, replaced when it is damaged."""

from __future__ import annotations

import logging
import sqlite3
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from crawlers.exceptions import DamagedSourceError, OutputError
from crawlers.safety import damaged_database
from crawlers.safety.damaged_database import identity, is_damaged, is_unusable, set_aside
from crawlers.store.index.schema import TABLES, VERSION
from crawlers.store.index.views import VIEWS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

T = TypeVar("T")

logger = logging.getLogger(__name__)

NAME = "index.sqlite"
OF_A_SOURCE = (
    "documents",
    "complete",
    "datasets",
    "resources",
    "changes",
    "daily_changes",
    "runs",
    "run_errors",
    "interrupted",
    "flaws",
    "flaws_read",
    "captures",
    "captures_read",
    "observations",
    "observations_read",
    "sources",
)
"""The tables whose rows belong to one source."""

_NOT_YOURS = "run this as the user who crawls into that folder"
_ADVICE = {
    **dict.fromkeys((sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR), "free some space"),  # the second beyond a quota
    **dict.fromkeys((sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED), "wait until the program that writes into it ends"),
    **dict.fromkeys((sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_PERM), _NOT_YOURS),
}
"""What to do about SQLite's primary error codes (https://www.sqlite.org/rescode.html)."""
_EXISTING = "SELECT type, name FROM sqlite_master WHERE name NOT LIKE 'sqlite_%' AND type IN ('table', 'view')"

PATIENT = 60.0  # seconds: crawls of other sources write briefly, but there may be many
_BRIEFLY = 0.2  # seconds to wait for a reader until the log is emptied
LARGEST_LOG = 64 * 1024 * 1024
"""Bytes of index.sqlite-wal beyond which it is emptied as soon as no reader needs it."""
_REPLACED = "{path} can't be used ({reason}): it was renamed to {name} and is rebuilt from the manifests."
_PRAGMAS = f"PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL; PRAGMA journal_size_limit = {LARGEST_LOG};"


class Connection(sqlite3.Connection):
    """index.sqlite, open for writing.

    Attributes:
        committed: called after each `transaction`.
    """

    committed: Callable[[], None] = staticmethod(lambda: None)


class Database:
    """index.sqlite, open for writing; a damaged one is set aside, and another is filled from the manifests.

    Args:
        output: OUTPUT_DIR.
        fill: brings a new file up to date.
        patience: seconds to wait for another writer.
        for_crawl: also replace what cannot be opened or not be written.
        tell: called with a sentence when the file was set aside.

    Attributes:
        db: the connection; another one after the file was replaced.

    Raises:
        sqlite3.DatabaseError, OSError: it cannot be used or not be set aside.
    """

    def __init__(
        self,
        output: Path,
        fill: Callable[[sqlite3.Connection], None] = lambda _: None,
        patience: float = PATIENT,
        *,
        for_crawl: bool = False,
        tell: Callable[[str], None] = logger.warning,
    ) -> None:
        self.path = output / NAME
        self.fill = fill
        self.patience = patience
        self.for_crawl = for_crawl
        self.tell = tell
        self.is_partial = False  # it could not be filled to the end: what it lacks may be on disk
        self.log_allowed = LARGEST_LOG
        self.db = self._opened()

    def rows(self, query: str, values: Any) -> list[Any]:
        """Return the rows of a query."""
        return self.healing(lambda db: db.execute(query, values).fetchall())

    def healing(self, work: Callable[[sqlite3.Connection], T]) -> T:
        """Return the result of some work; if the file is damaged, replace it and do the work again.

        Raises:
            sqlite3.DatabaseError: the file is not damaged, or the new one cannot be written either.
        """
        try:
            if self.is_partial:
                self._replace()
            return work(self.db)
        except sqlite3.DatabaseError as error:
            if not self._is_replaceable(error):
                raise
            self._replace(error)
            return work(self.db)

    def reopen(self) -> None:
        """Open and fill the file of that name, if another program has replaced or removed the open one.

        Raises:
            sqlite3.DatabaseError: it cannot be opened or filled.
        """
        if identity(self.path) != self.identity:
            self._replace()

    def wait(self, seconds: float) -> None:
        """Wait so long for another writer from now on."""
        self.patience = seconds
        self.db.execute(f"PRAGMA busy_timeout = {round(1000 * seconds)}")

    def bound_log(self) -> None:
        """Empty index.sqlite-wal when it is large: readers that follow each other closely keep SQLite from doing so."""
        size = self._log_size()
        if size > self.log_allowed:
            self.empty_log()
            self.log_allowed = self._log_size() + LARGEST_LOG  # a long query is not waited for each time

    def empty_log(self) -> None:
        """Empty index.sqlite-wal, unless a reader still needs it after a moment."""
        patience = self.patience
        self.wait(min(patience, _BRIEFLY))
        self.db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
        self.wait(patience)

    def _log_size(self) -> int:
        try:
            return self.path.with_name(f"{NAME}-wal").stat().st_size
        except FileNotFoundError:
            return 0

    def _replace(self, error: sqlite3.DatabaseError | None = None) -> None:
        """Open another file and fill it.

        Raises:
            sqlite3.DatabaseError: there is none and none can be made, or it cannot be filled.
        """
        old, patience = self.db, self.patience
        self.is_partial, self.patience = True, PATIENT
        try:
            self.db = self._opened(self.identity)
            old.close()
            self.fill(self.db)
            self.is_partial = False
        except OSError:
            raise error or sqlite3.OperationalError(f"{NAME} is gone, and no other can be made") from None
        finally:
            self.wait(patience)

    def _opened(self, damaged: damaged_database.Identity | None = None) -> Connection:
        db = damaged_database.opened(
            self.path,
            partial(_laid_out, self.path, self.patience),
            tell=lambda reason, name: self.tell(_REPLACED.format(path=self.path, reason=reason, name=name)),
            is_replaceable=self._is_replaceable,
            damaged=damaged,
        )
        self.identity = identity(self.path)
        db.committed = self.bound_log
        return db

    def _is_replaceable(self, error: sqlite3.DatabaseError) -> bool:
        is_other = self.path.is_symlink() or self.path.is_dir()
        return is_damaged(error) or is_other or (self.for_crawl and is_unusable(error))


def _laid_out(path: Path, patience: float) -> Connection:
    if path.is_symlink():  # it may lead to another database, whose tables would be dropped
        raise sqlite3.DatabaseError("it is a symbolic link, which is not followed")
    db = sqlite3.connect(path, isolation_level=None, timeout=patience, factory=Connection)
    try:
        db.executescript(_PRAGMAS)
        if db.execute("PRAGMA user_version").fetchone()[0] != VERSION:
            _lay_out(db)
    except sqlite3.DatabaseError:
        db.close()
        raise
    return db


def remove(output: Path) -> None:
    """Remove the index, so that another can be made; a folder of its name is set aside.

    Raises:
        OSError: it cannot be removed.
    """
    if (output / NAME).is_dir():
        set_aside(output / NAME)
    for suffix in ("", "-wal", "-shm"):
        (output / f"{NAME}{suffix}").unlink(missing_ok=True)


def _lay_out(db: sqlite3.Connection) -> None:
    """Drop whatever is there, the full text first, which owns some of the other tables; then create all tables."""
    with transaction(db):
        found = db.execute(_EXISTING).fetchall()
        for kind, name in sorted(found, key=lambda row: row[1] != "search"):
            db.execute(f'DROP {kind} IF EXISTS "{name}"')
    views = ";".join(f"CREATE VIEW {name} AS {view.query}" for name, view in VIEWS.items())
    db.executescript(f"BEGIN IMMEDIATE; {TABLES} {views}; PRAGMA user_version = {VERSION}; COMMIT;")


@contextmanager
def usable(output: Path) -> Iterator[None]:
    """Say what to do if the index cannot be used, or what it is made of cannot be read.

    Raises:
        OutputError: instead of an error of SQLite or of the operating system.
    """
    try:
        yield
    except sqlite3.DatabaseError as error:
        raise OutputError(f"{output / NAME} can't be used ({error}): {_what_to_do(error)}.") from None
    except OSError as error:
        path = error.filename or output
        raise OutputError(f"{path} can't be used ({error.strerror}): {_NOT_YOURS}.") from None


@contextmanager
def reading(folder: Path) -> Iterator[None]:
    """Say which source can't be read, if one of its files can't be.

    Args:
        folder: the source's.

    Raises:
        DamagedSourceError: instead of an error of the operating system.
    """
    try:
        yield
    except OSError as error:
        what = f"{folder.name}: {folder / (error.filename or '')} can't be read ({error.strerror or error})"
        advice = "restore it from a backup, or move it away and crawl the source again"
        raise DamagedSourceError(f"{what}: {advice}.") from None


def _what_to_do(error: sqlite3.DatabaseError) -> str:
    code = getattr(error, "sqlite_errorcode", None)
    return _ADVICE.get(code & 0xFF if code else 0, "rebuild it with `scrapy reindex`")


@contextmanager
def transaction(db: sqlite3.Connection) -> Iterator[None]:
    """Commit all that is done within, or nothing; then keep the log of index.sqlite small."""
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
