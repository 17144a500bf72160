"""What a machine knows of a source in the store: up to which batch its folder is, and what it has of that."""

from __future__ import annotations

import json
import sqlite3
from typing import TYPE_CHECKING, Any, NamedTuple, Self

from crawlers.exceptions import StoreError
from crawlers.safety import sqlite

if TYPE_CHECKING:
    import os
    from collections.abc import Iterable, Iterator
    from pathlib import Path
    from types import TracebackType

FORMAT = 1
_SCHEMA = """
CREATE TABLE IF NOT EXISTS facts (name TEXT PRIMARY KEY, value) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS ends (file TEXT PRIMARY KEY, offset INTEGER NOT NULL, tail BLOB NOT NULL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS subjects (
    kind TEXT, dataset_id TEXT, resource_id TEXT, file TEXT NOT NULL, sha256 TEXT NOT NULL, bytes INTEGER NOT NULL,
    run TEXT NOT NULL, PRIMARY KEY (kind, dataset_id, resource_id)
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS files (
    file TEXT PRIMARY KEY, sha256 TEXT NOT NULL, bytes INTEGER NOT NULL, changed INTEGER NOT NULL
) WITHOUT ROWID;
"""
_WANTED = "CREATE TEMP TABLE wanted (kind TEXT, dataset_id TEXT, resource_id TEXT)"
_OF_WANTED = """
SELECT kind, dataset_id, resource_id, file, sha256, bytes, run
FROM wanted CROSS JOIN subjects USING (kind, dataset_id, resource_id)
"""


class Subject(NamedTuple):
    """What a document's last stored line says."""

    file: str
    sha256: str
    bytes: int
    run: str


class Stored(NamedTuple):
    """A file that is stored, and when it was written here, in nanoseconds."""

    sha256: str
    bytes: int
    changed: int

    def is_of(self, status: os.stat_result) -> bool:
        """Return whether the file was not written since."""
        return (status.st_size, status.st_mtime_ns) == (self.bytes, self.changed)


class End(NamedTuple):
    """Where the stored lines of a file end, counting all that were ever written, and the bytes before that."""

    offset: int = 0
    tail: bytes = b""


class State:
    """A SQLite file beside the sources; what belongs to a batch is changed in one transaction.

    Args:
        path: the file.

    Raises:
        DamagedStateError: it can't be read, or is of a newer version.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        db = None
        try:
            db = sqlite3.connect(path, isolation_level=None, timeout=10.0, check_same_thread=False)
            db.execute("PRAGMA synchronous = FULL")
            if (found := db.execute("PRAGMA user_version").fetchone()[0]) > FORMAT:
                db.close()
                raise DamagedStateError(f"a newer version of this program wrote it, in format {found}")
            if not found:
                db.executescript(f"PRAGMA journal_mode = WAL; {_SCHEMA} PRAGMA user_version = {FORMAT};")
            db.execute("SELECT count(*) FROM facts, ends").fetchone()
            db.execute(_WANTED)
        except sqlite3.Error as error:
            if db:
                db.close()
            if sqlite.is_damaged(error):
                raise DamagedStateError(str(error)) from None
            raise StoreError(f"{path} can't be used ({error}): check who may write there.") from None
        self.db = db

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.db.close()

    def fact(self, name: str, default: Any = None) -> Any:
        row = self.db.execute("SELECT value FROM facts WHERE name = ?", (name,)).fetchone()
        try:
            return default if row is None else json.loads(row[0])
        except (ValueError, TypeError):
            raise DamagedStateError(f"{self.path} is damaged ({name} is no JSON).") from None

    def note(self, **facts: Any) -> None:
        """Note facts, together."""
        rows = ", ".join(["(?, ?)"] * len(facts))
        values = [value for name, fact in facts.items() for value in (name, json.dumps(fact))]
        self.db.execute(f"INSERT OR REPLACE INTO facts VALUES {rows}", values)  # noqa: S608 -- placeholders

    @property
    def batch(self) -> int:
        """The last batch that the folder has."""
        return int(self.fact("batch", 0))

    # Lines

    def end(self, file: str) -> End:
        row = self.db.execute("SELECT offset, tail FROM ends WHERE file = ?", (file,)).fetchone()
        return End(*row) if row else End()

    def set_end(self, file: str, end: End) -> None:
        self.db.execute("INSERT OR REPLACE INTO ends VALUES (?, ?, ?)", (file, *end))

    # Documents

    def known(self, keys: Iterable[tuple[str, str, str]]) -> dict[tuple[str, str, str], Subject]:
        """Return those of some documents that are known: by one query, for each of its own takes twice as long."""
        with sqlite.transaction(self.db):
            self.db.execute("DELETE FROM wanted")
            self.db.executemany("INSERT INTO wanted VALUES (?, ?, ?)", keys)
            found = self.db.execute(_OF_WANTED)
            return {(kind, dataset, resource): Subject(*rest) for kind, dataset, resource, *rest in found}

    def set_subjects(self, subjects: Iterable[tuple[tuple[str, str, str], Subject]]) -> None:
        rows = ((*key, *subject) for key, subject in subjects)
        self.db.executemany("INSERT OR REPLACE INTO subjects VALUES (?, ?, ?, ?, ?, ?, ?)", rows)

    def subjects(self) -> Iterator[Subject]:
        yield from (Subject(*row) for row in self.db.execute("SELECT file, sha256, bytes, run FROM subjects"))

    # Other files

    def files(self) -> dict[str, Stored]:
        return {file: Stored(*rest) for file, *rest in self.db.execute("SELECT * FROM files")}

    def set_file(self, file: str, stored: Stored) -> None:
        self.db.execute("INSERT OR REPLACE INTO files VALUES (?, ?, ?, ?)", (file, *stored))

    def remove_file(self, file: str) -> None:
        self.db.execute("DELETE FROM files WHERE file = ?", (file,))

    def forget(self) -> None:
        """Forget all of what the folder has."""
        for table in ("ends", "subjects", "files"):
            self.db.execute(f"DELETE FROM {table}")  # noqa: S608 -- the names are this module's
        self.note(has_former=False, lacks_former=False)


class DamagedStateError(StoreError):
    """A state can't be read: it is made anew from the table."""
