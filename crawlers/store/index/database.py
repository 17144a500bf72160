"""index.sqlite as a file: opened and laid out, made again for another version, replaced when it is damaged."""

from __future__ import annotations

import logging
import os
import sqlite3
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from crawlers.exceptions import DamagedSourceError, IndexUnreadableError, OutputError
from crawlers.safety import sqlite
from crawlers.safety.sqlite import identity, is_damaged, is_unusable, set_aside, transaction
from crawlers.store import lines
from crawlers.store.index import search
from crawlers.store.index.schema import TABLES, VERSION, VIEWS

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

    def _opened(self, damaged: sqlite.Identity | None = None) -> sqlite.Connection:
        db = sqlite.open_cache(
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


def _laid_out(path: Path, patience: float) -> sqlite.Connection:
    if path.is_symlink():  # it may lead to another database, whose tables would be dropped
        raise sqlite3.DatabaseError("it is a symbolic link, which is not followed")
    db = sqlite.connect(path, f"PRAGMA journal_size_limit = {LARGEST_LOG}", patience=patience)
    try:
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
    """Drop whatever is there, the full text first, which owns some of the other tables, and create all tables."""
    there = sorted(db.execute(_EXISTING).fetchall(), key=lambda row: row[1] != "search")
    names = ((kind, name.replace('"', '""')) for kind, name in there)  # others may have made them
    old = "".join(f'DROP {kind} IF EXISTS "{name}";' for kind, name in names)
    views = ";".join(f"CREATE VIEW {name} AS {view.query}" for name, view in VIEWS.items())
    db.executescript(f"BEGIN IMMEDIATE; {old} {TABLES} {views}; PRAGMA user_version = {VERSION}; COMMIT;")


@contextmanager
def usable(output: Path) -> Iterator[None]:
    """Say what to do if the index cannot be used, or what it is made of cannot be read.

    Raises:
        OutputError: instead of an error of SQLite or of the operating system.
    """
    try:
        yield
    except sqlite3.DatabaseError as error:
        advice = _ADVICE.get(sqlite.code(error), "rebuild it with `scrapy reindex`")
        raise OutputError(f"{output / NAME} can't be used ({error}): {advice}.") from None
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


# For those who only read it: search, the report, the dashboard


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
        db = sqlite.connect_existing(path.resolve(), _mode(path), patience=60)
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


def _mode(path: Path) -> str:
    """Return how to open it; as immutable if this user cannot create the files that readers and writers share."""
    is_alone = not os.access(path.parent, os.W_OK) and not path.with_name(f"{path.name}-wal").exists()
    return "immutable=1" if is_alone else "mode=ro"


# Rows that are removed or marked some thousands at a time: in one transaction, the log gets as large as they are

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
_UNDESCRIBED = "UPDATE sources SET described = 0, stamp = lower(hex(randomblob(8))) WHERE source = ?"
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
            search.take_out(db, ids)
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


# Files of lines that tables follow: new lines become rows, some hundred in a transaction

ROWS = 500
"""Lines of a transaction."""


class Followed:
    """A file of lines in the folder of each source, and how much of it the index has read.

    Args:
        file: its name.
        table: what its lines become rows of; ``<table>_read`` has to which offset it was read, and the mark there.
    """

    def __init__(self, file: str, table: str) -> None:
        self.file = file
        self.table = table

    def size(self, folder: Path) -> int:
        """Return the bytes of all lines of a source's file; 0 if there is none."""
        return lines.size(folder, self.file)

    def read_to(self, db: sqlite3.Connection, folder: Path) -> int | None:
        """Return how many bytes of the file the index has read; ``None`` if it has read another file."""
        query = f"SELECT bytes, tail FROM {self.table}_read WHERE source = ?"  # noqa: S608  # a name of this room
        covered, mark = db.execute(query, (folder.name,)).fetchone() or (0, b"")
        return covered if lines.is_marked(folder, self.file, covered, mark) else None

    def is_behind(self, db: sqlite3.Connection, folder: Path) -> bool:
        """Return whether the file has lines that the index has not read."""
        return self.read_to(db, folder) != self.size(folder)

    def note(self, db: sqlite3.Connection, folder: Path, end: int) -> None:
        """Note to which offset the file was read; the caller begins the transaction."""
        statement = f"INSERT OR REPLACE INTO {self.table}_read VALUES (?, ?, ?)"  # noqa: S608
        db.execute(statement, (folder.name, end, lines.mark(folder, self.file, end)))

    def moved(self, db: sqlite3.Connection, folder: Path) -> None:
        """Note that lines are in another file now; an index that had not read all of them reads them again."""
        end = self.size(folder)
        statement = f"UPDATE {self.table}_read SET tail = ? WHERE source = ? AND bytes = ?"  # noqa: S608
        db.execute(statement, (lines.mark(folder, self.file, end), folder.name, end))

    def catch_up(
        self,
        db: sqlite3.Connection,
        folder: Path,
        read: Callable[[bytes | None], T | None],
        put: Callable[[list[T]], None],
    ) -> None:
        """Store what the file has and the table lacks; all of it if the file is another one.

        Args:
            read: returns what a line says; ``None`` for one that no crawl wrote: others may write into the folder.
            put: stores what some lines say; a transaction has begun.
        """
        begin = self.read_to(db, folder)
        if begin is None:
            forget_rows(db, self.table, folder.name)
            with transaction(db):
                self.note(db, folder, 0)
            begin = 0
        if begin == self.size(folder):
            return
        batch: list[T] = []
        end, damaged = begin, 0
        for end, text in lines.follow(folder, self.file, begin):
            found = read(text)
            if found is None:
                damaged += 1
            else:
                batch.append(found)
            if len(batch) >= ROWS:
                with transaction(db):
                    put(batch)
                    self.note(db, folder, end)
                batch = []
        with transaction(db):
            put(batch)
            self.note(db, folder, end)
        if damaged:
            logger.warning("%s: %s", folder / self.file, lines.left_out(damaged))
