"""What a mirror knows of a source: up to which commit its folder is, and in which object each file is."""

from __future__ import annotations

import json
import sqlite3
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NamedTuple, Self

from crawlers.exceptions import OutputError, StoreError
from crawlers.store.bucket.log import Growth, Part, Segment

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator
    from pathlib import Path
    from types import TracebackType

    from crawlers.store.bucket.log import Logged

_SCHEMA = """
CREATE TABLE IF NOT EXISTS facts (name TEXT PRIMARY KEY, value) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS packs (
    name TEXT PRIMARY KEY, bytes INTEGER NOT NULL, sha256 TEXT NOT NULL, files INTEGER NOT NULL, place INTEGER NOT NULL
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS files (
    file TEXT PRIMARY KEY, object TEXT NOT NULL, sha256 TEXT NOT NULL, bytes INTEGER NOT NULL, changed INTEGER NOT NULL,
    kind TEXT, dataset_id TEXT, resource_id TEXT
) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS subjects ON files (dataset_id, kind, resource_id);
CREATE INDEX IF NOT EXISTS objects ON files (object);
CREATE TABLE IF NOT EXISTS gone (file TEXT, object TEXT, PRIMARY KEY (file, object)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS growing (
    file TEXT PRIMARY KEY, generation INTEGER NOT NULL, bytes INTEGER NOT NULL, written INTEGER NOT NULL, tail BLOB
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS segments (
    file TEXT, offset INTEGER, name TEXT NOT NULL, bytes INTEGER NOT NULL, sha256 TEXT NOT NULL,
    length INTEGER NOT NULL, PRIMARY KEY (file, offset)
) WITHOUT ROWID;
"""
_TABLES = ("facts", "packs", "files", "gone", "growing", "segments")
_FILE = "INSERT OR REPLACE INTO files VALUES (?, ?, ?, ?, ?, ?, ?, ?)"
_BEFORE = """
SELECT kind, dataset_id, resource_id, file FROM json_each(?) AS wanted CROSS JOIN files
WHERE dataset_id = wanted.value ->> 1 AND kind = wanted.value ->> 0 AND resource_id IS wanted.value ->> 2
"""
_SOME = "SELECT f.* FROM json_each(?) AS wanted CROSS JOIN files f ON f.file = wanted.value"
_GONE = "INSERT OR IGNORE INTO gone SELECT file, object FROM files WHERE file = ? AND object != ?"
_LIVE = """
SELECT p.name, p.bytes, p.sha256, p.files, (SELECT count(*) FROM files f WHERE f.object = p.name)
FROM packs p ORDER BY p.place
"""
_DEAD = "SELECT file, object FROM gone WHERE file NOT IN (SELECT file FROM files) ORDER BY file"


class Stored(NamedTuple):
    """A file in the store.

    Args:
        object: the object that it is in: a pack, or its own.
        changed: when the file was written here, in nanoseconds, as the operating system says.
    """

    object: str
    sha256: str
    size: int
    changed: int
    kind: str | None = None
    dataset_id: str | None = None
    resource_id: str | None = None


class Grown(NamedTuple):
    """A file that grows, as far as it is stored.

    Args:
        size: here.
        written: bytes of all its lines, also of those that were moved into compressed parts.
        tail: the bytes before its end.
    """

    generation: int
    size: int
    written: int
    tail: bytes


class State:
    """A SQLite file beside the folder.

    Args:
        path: the file.

    Attributes:
        keeps: the sentence of an error, where the folder must keep what was never stored; else empty.

    Raises:
        StoreError: it can't be used.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.keeps = ""
        try:
            self.db = sqlite3.connect(path, isolation_level=None, timeout=10.0, check_same_thread=False)
            self.db.executescript(f"PRAGMA synchronous = NORMAL; {_SCHEMA}")
        except sqlite3.DatabaseError as error:
            if hasattr(self, "db"):
                self.db.close()
            raise StoreError(f"{path} can't be used ({error}): remove it, and its source's folder.") from None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.db.close()

    @contextmanager
    def changing(self) -> Iterator[None]:
        """Change all that is changed within at once, or nothing."""
        self.db.execute("BEGIN IMMEDIATE")
        try:
            yield
        except BaseException:
            self.db.execute("ROLLBACK")
            raise
        self.db.execute("COMMIT")

    def fact(self, name: str, default: Any = None) -> Any:
        """Return a fact: head, sha256 (of the last commit), putting (of the next one), fence, lease (its ETag) ..."""
        row = self.db.execute("SELECT value FROM facts WHERE name = ?", (name,)).fetchone()
        return row[0] if row else default

    def note(self, **facts: Any) -> None:
        """Remember facts."""
        self.db.executemany("INSERT OR REPLACE INTO facts VALUES (?, ?)", facts.items())

    def diverge(self) -> None:
        """Remember that the folder has what was never stored, and others have stored something in its place.

        Raises:
            OutputError: the folder must keep it.
        """
        if self.keeps:
            raise OutputError(self.keeps)
        self.note(is_diverged=True)

    @property
    def head(self) -> int:
        """The last commit that the folder has."""
        return int(self.fact("head", 0))

    def advance(self, logged: Logged) -> None:
        """Remember that the folder has a commit."""
        self.note(head=logged.commit.number, sha256=logged.sha256, fence=logged.commit.fence)

    def forget(self) -> None:
        """Forget all: the folder is to be brought up from the beginning."""
        with self.changing():
            for table in _TABLES:
                self.db.execute(f"DELETE FROM {table}")  # noqa: S608 -- the names are this module's


class Files:
    """The files of a source that are stored, and the packs that they are in."""

    def __init__(self, state: State) -> None:
        self.db = state.db

    def get(self, file: str) -> Stored | None:
        row = self.db.execute("SELECT * FROM files WHERE file = ?", (file,)).fetchone()
        return Stored(*row[1:]) if row else None

    def known(self, files: Collection[str]) -> dict[str, Stored]:
        """Return those of some files that are stored, by one query."""
        rows = self.db.execute(_SOME, (json.dumps(list(files)),))
        return {row[0]: Stored(*row[1:]) for row in rows}

    def each(self) -> Iterator[tuple[str, Stored]]:
        """Yield all files; the table may be changed meanwhile."""
        last = ""
        while rows := self.db.execute("SELECT * FROM files WHERE file > ? ORDER BY file LIMIT 500", (last,)).fetchall():
            yield from ((row[0], Stored(*row[1:])) for row in rows)
            last = rows[-1][0]

    def put_all(self, files: Collection[tuple[str, Stored]]) -> None:
        """Remember where files are; the objects that had them before still have them."""
        self.db.executemany(_GONE, [(file, stored.object) for file, stored in files])
        self.db.executemany(_FILE, [(file, *stored) for file, stored in files])

    def remove(self, file: str) -> None:
        """Forget a file; its object still has it."""
        self.db.execute(_GONE, (file, ""))
        self.db.execute("DELETE FROM files WHERE file = ?", (file,))

    def before(self, subjects: Collection[tuple[str, str, str | None]]) -> dict[tuple[str, str, str | None], list[str]]:
        """Return the files that documents have had, by what these are about: kind, dataset and resource."""
        found: dict[tuple[str, str, str | None], list[str]] = {}
        for *about, file in self.db.execute(_BEFORE, (json.dumps(list(subjects)),)):
            found.setdefault(tuple(about), []).append(file)
        return found

    def has_pack(self, name: str) -> bool:
        return self.db.execute("SELECT 1 FROM packs WHERE name = ?", (name,)).fetchone() is not None

    def add_pack(self, pack: Part) -> None:
        place = self.db.execute("SELECT coalesce(max(place), 0) + 1 FROM packs").fetchone()[0]
        row = (pack.name, pack.bytes, pack.sha256, pack.files, place)
        self.db.execute("INSERT OR REPLACE INTO packs VALUES (?, ?, ?, ?, ?)", row)

    def packs(self) -> list[tuple[Part, int]]:
        """Return the packs in order, each with how many of its files are still those of the folder."""
        rows = self.db.execute(_LIVE)
        return [(Part(name, size, sha256, files), live) for name, size, sha256, files, live in rows]

    def outside(self, objects: Iterable[str]) -> list[str]:
        """Return the files whose object is none of these."""
        kept = set(objects)
        return [file for file, stored in self.each() if stored.object not in kept]

    def keep(self, objects: Iterable[str]) -> None:
        """Forget the packs that are not among these objects, and what they had."""
        kept = set(objects)
        for (name,) in self.db.execute("SELECT name FROM packs").fetchall():
            if name not in kept:
                self.db.execute("DELETE FROM packs WHERE name = ?", (name,))
        gone = self.db.execute("SELECT DISTINCT object FROM gone").fetchall()
        self.db.executemany("DELETE FROM gone WHERE object = ?", [row for row in gone if row[0] not in kept])

    def dead(self, objects: Collection[str]) -> list[str]:
        """Return the files that these objects have and the folder has not."""
        return sorted({file for file, name in self.db.execute(_DEAD) if name in objects})


class Growing:
    """The files of a source that grow, as far as they are stored."""

    def __init__(self, state: State) -> None:
        self.db = state.db

    def get(self, file: str) -> Grown | None:
        row = self.db.execute("SELECT * FROM growing WHERE file = ?", (file,)).fetchone()
        return Grown(*row[1:]) if row else None

    def put(self, file: str, grown: Grown) -> None:
        self.db.execute("INSERT OR REPLACE INTO growing VALUES (?, ?, ?, ?, ?)", (file, *grown))

    def remove(self, file: str) -> None:
        for table in ("growing", "segments"):
            self.db.execute(f"DELETE FROM {table} WHERE file = ?", (file,))  # noqa: S608 -- the names are this module's

    def names(self) -> list[str]:
        return [row[0] for row in self.db.execute("SELECT file FROM growing ORDER BY file")]

    def segments(self, file: str) -> list[Segment]:
        rows = self.db.execute("SELECT name, bytes, sha256, offset, length FROM segments WHERE file = ?", (file,))
        found = [Segment(name, size, sha256, 0, offset, length) for name, size, sha256, offset, length in rows]
        return sorted(found, key=lambda segment: segment.offset)

    def segments_after(self, file: str, growth: Growth) -> list[Segment]:
        """Return all segments of a file that has grown, or was rewritten."""
        known = self.get(file)
        if known is None or known.generation != growth.generation:
            return growth.segments
        begins = growth.segments[0].offset if growth.segments else growth.bytes
        return [*(one for one in self.segments(file) if one.offset < begins), *growth.segments]

    def set_segments(self, file: str, segments: Iterable[Segment]) -> None:
        """Replace the segments of a file."""
        self.db.execute("DELETE FROM segments WHERE file = ?", (file,))
        rows = [(file, one.offset, one.name, one.bytes, one.sha256, one.length) for one in segments]
        self.db.executemany("INSERT OR REPLACE INTO segments VALUES (?, ?, ?, ?, ?, ?)", rows)

    def growth(self, file: str) -> Growth:
        """Return a file with all its segments."""
        grown = self.get(file)
        assert grown is not None  # noqa: S101  # the caller has its name from here
        return Growth(grown.size, grown.generation, self.segments(file))
