"""The former versions of a source's documents, by the SHA-256 that the manifest's lines have: versions.sqlite.

The manifest says which versions a document had; here are their bytes, kept before a document is replaced, withdrawn or
restored, and which fields that changed. What is the document on disk now is here only once it is former.

A version is compressed with one that is like it: the document's first one that is kept, or else the first one of its
kind. So that of a record in which a date changed takes some fifty bytes, and reading a version takes a few others.
"""

from __future__ import annotations

import errno
import hashlib
import json
import logging
import sqlite3
import sys
import time
from contextlib import suppress
from datetime import datetime
from typing import TYPE_CHECKING, Any, NamedTuple, Self

from crawlers.exceptions import OutputError
from crawlers.safety import inside, sqlite
from crawlers.safety.sqlite import transaction

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path
    from types import TracebackType

    from crawlers.store.index.known import Key, Known

logger = logging.getLogger(__name__)

FILE = "versions.sqlite"
FORMAT = 1
"""The layout of the file; one of another format is refused."""
_PATIENCE = 30  # seconds to wait for another writer
_LEVEL = 3
_LARGEST_MODEL = 64 * 1024  # bytes of a document that others of its kind are compressed with
_LARGEST_OWN = 4 * 1024 * 1024  # bytes of one that the document's later versions are compressed with
_WEEK = 7 * 24 * 3600
_SCHEMA = """
CREATE TABLE IF NOT EXISTS bodies (
    id INTEGER PRIMARY KEY AUTOINCREMENT, sha256 BLOB NOT NULL UNIQUE, bytes INTEGER NOT NULL, kept INTEGER NOT NULL,
    base INTEGER, body BLOB
);
CREATE TABLE IF NOT EXISTS models (kind TEXT PRIMARY KEY, id INTEGER NOT NULL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS former (
    kind TEXT NOT NULL, dataset_id TEXT NOT NULL, resource_id TEXT NOT NULL, run TEXT NOT NULL, body INTEGER NOT NULL,
    replaced TEXT NOT NULL, replaced_by TEXT NOT NULL, status TEXT NOT NULL, fields TEXT,
    PRIMARY KEY (kind, dataset_id, resource_id, run, body)
) WITHOUT ROWID;
CREATE VIEW IF NOT EXISTS versions AS
SELECT f.kind, f.dataset_id, nullif(f.resource_id, '') AS resource_id, lower(hex(b.sha256)) AS sha256, b.bytes,
    length(b.body) AS bytes_kept, f.run, f.replaced, f.replaced_by, f.status, f.fields
FROM former f LEFT JOIN bodies b ON b.id = f.body;
CREATE VIEW IF NOT EXISTS changed_fields AS
SELECT f.kind, f.dataset_id, nullif(f.resource_id, '') AS resource_id, f.replaced, f.replaced_by, f.status,
    each.value AS field
FROM former f, json_each(f.fields) AS each;
"""
_KEPT = "UPDATE bodies SET kept = ? WHERE sha256 = ? RETURNING id, body IS NOT NULL"
_ADDED = "INSERT INTO bodies (sha256, bytes, kept) VALUES (?, ?, ?) RETURNING id, 0"
_FILLED = "UPDATE bodies SET base = ?, body = ? WHERE id = ?"
_REPLACED = """
INSERT OR REPLACE INTO former (kind, dataset_id, resource_id, run, replaced, replaced_by, status, fields, body)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
"""
_OWN = """
SELECT min(b.id), b.bytes FROM former f JOIN bodies b ON b.id = f.body AND b.body IS NOT NULL
WHERE f.kind = ? AND f.dataset_id = ? AND f.resource_id = ?
"""
_ALL_KEPT = "SELECT lower(hex(sha256)) FROM bodies WHERE body IS NOT NULL"
_FOUND = "SELECT id FROM bodies WHERE sha256 = ? AND body IS NOT NULL"
_BODY = "SELECT body, base, bytes FROM bodies WHERE id = ?"
_FIELDS = """
SELECT fields FROM former WHERE kind = ? AND dataset_id = ? AND resource_id = ? AND replaced_by = ? AND status = ?
"""
_FORMER = """
SELECT lower(hex(b.sha256)), b.bytes, f.run FROM former f JOIN bodies b ON b.id = f.body
WHERE f.kind = ? AND f.dataset_id = ? AND f.resource_id = ? AND f.{column} = ? AND f.status = coalesce(?, f.status)
ORDER BY f.replaced DESC LIMIT 1
"""
_STAYS = """
SELECT b.id, b.base, base.base FROM bodies b JOIN bodies base ON base.id = b.base
WHERE b.id > ?2 AND b.kept >= ?1 AND base.kept < ?1 ORDER BY b.id LIMIT 1
"""
_STAYING = "SELECT max(id) FROM bodies WHERE id = ? AND kept >= ?"
_GONE = "DELETE FROM bodies WHERE kept < ?"
_OLDER = "SELECT count(*), coalesce(sum(length(body)), 0) FROM bodies WHERE kept < ? AND body IS NOT NULL"
_COUNT = "SELECT count(body), coalesce(sum(length(body)) FILTER (WHERE kept >= ?), 0) FROM bodies"


class Size(NamedTuple):
    """What the former versions of a source take on disk.

    Args:
        versions: how many are kept.
        bytes: of the file.
        week: bytes that the last seven days added, without the rows beside them.
    """

    versions: int
    bytes: int
    week: int


class Versions:
    """The former versions of one source's documents.

    Args:
        folder: the source's.
        db: its versions.sqlite; ``None`` if there is none.
    """

    def __init__(self, folder: Path, db: sqlite3.Connection | None) -> None:
        self.folder = folder
        self.db = db
        self._models: dict[str, tuple[int | None, bytes]] = {}

    @classmethod
    def writing(cls, folder: Path) -> Self:
        """Open the file to keep versions, or make it; the caller has the source's lock.

        One that is damaged is renamed, for it may be mended by hand, and another is made.

        Raises:
            OSError: it can't be written, or a newer version of this program wrote it.
        """
        path = folder / FILE
        try:
            try:
                return cls(folder, _opened(path))
            except sqlite3.DatabaseError as error:
                if not sqlite.is_damaged(error):
                    raise
                return cls(folder, _begun_anew(path, error))
        except sqlite3.Error as error:
            raise _unwritable(error, path) from None

    @classmethod
    def reading(cls, folder: Path) -> Self:
        """Open the file to read versions; a source without one has none.

        Raises:
            OutputError: it can't be read, or another version of this program wrote it.
        """
        path = folder / FILE
        try:
            inside.status(folder, FILE)
        except FileNotFoundError:
            return cls(folder, None)
        except OSError as error:
            raise OutputError(f"{path} can't be read ({error.strerror}).") from None
        for mode in ("mode=ro", "immutable=1"):  # a folder that can't be written in has no place for a log
            db = None
            try:
                db = sqlite.connect_existing(path, mode, patience=_PATIENCE)
                if _check(db):
                    return cls(folder, db)
                db.close()  # a crawl was killed when it had just made the file
                return cls(folder, None)
            except sqlite3.Error as error:
                if db:
                    db.close()
                if mode != "mode=ro" or not sqlite.is_unusable(error):
                    raise OutputError(f"{path} can't be read ({error}).") from None
        raise AssertionError

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        if self.db:
            self.db.close()

    # What is kept

    def keep(
        self,
        key: Key,
        known: Known,
        body: bytes | None,
        *,
        replaced: str,
        run: str,
        status: str,
        fields: Sequence[str] | None,
    ) -> None:
        """Keep a version, which is former from now on; done again after a kill, it is there once.

        Args:
            key: the document's.
            known: the version, as its line in the manifest describes it.
            body: its bytes; ``None`` if they are lost, or here already.
            replaced: when it became former.
            run: by which run.
            status: what its document is from now on: updated, withdrawn, restored.
            fields: which fields changed; ``None`` if that can't be known.

        Raises:
            OSError: it can't be written.
        """
        names = None if fields is None else json.dumps([*fields], ensure_ascii=False)
        row = (*key, known.run, replaced, run, status, names)
        try:
            try:
                self._keep(key, known, body, _seconds(replaced), row)
            except sqlite3.DatabaseError as error:
                if not sqlite.is_damaged(error):
                    raise
                self._begin_anew(error)
                self._keep(key, known, body, _seconds(replaced), row)
        except sqlite3.Error as error:
            raise _unwritable(error, self.folder / FILE) from None

    def _keep(self, key: Key, known: Known, body: bytes | None, kept: int, row: tuple[Any, ...]) -> None:
        sha256, db = bytes.fromhex(known.sha256), self._open
        with transaction(db):
            found = db.execute(_KEPT, (kept, sha256)).fetchone()
            version, is_here = found or db.execute(_ADDED, (sha256, known.bytes, kept)).fetchone()
            if not is_here and body is not None:
                self._fill(key, version, body)
            db.execute(_REPLACED, (*row, version))

    def _begin_anew(self, error: sqlite3.Error) -> None:
        """Rename the file, which is damaged, and make another."""
        self._open.close()
        self._models.clear()
        self.db = _begun_anew(self.folder / FILE, error)

    @property
    def _open(self) -> sqlite3.Connection:
        assert self.db is not None  # noqa: S101  # it was opened for writing
        return self.db

    def _fill(self, key: Key, version: int, body: bytes) -> None:
        base, its_body = self._base(key)
        self._open.execute(_FILLED, (base, _packed(body, its_body), version))
        if base is None and len(body) <= _LARGEST_MODEL:
            self._open.execute("INSERT OR IGNORE INTO models VALUES (?, ?)", (key[0], version))

    def _base(self, key: Key) -> tuple[int | None, bytes]:
        """Return the version that another one of a document is compressed with, and its bytes."""
        own, size = self._open.execute(_OWN, key).fetchone()
        if own and size <= _LARGEST_OWN and (body := self._whole(own)) is not None:
            return int(own), body
        if key[0] not in self._models:
            model = self._open.execute("SELECT id FROM models WHERE kind = ?", (key[0],)).fetchone()
            body = self._whole(model[0]) if model else None
            self._models[key[0]] = (None, b"") if body is None else (model[0], body)
        found = self._models[key[0]]
        if found[0] is None:
            del self._models[key[0]]  # the next version may be one
        return found

    def _whole(self, version: int) -> bytes | None:
        """Return the bytes of a version; ``None`` if they are damaged: then others can do without them."""
        try:
            return self._body(version)
        except zstd.ZstdError:
            return None

    # What is read

    def body(self, sha256: str) -> bytes | None:
        """Return the bytes of a version; ``None`` if they are not kept.

        Raises:
            OutputError: the file is damaged.
        """
        try:
            row = self.db.execute(_FOUND, (bytes.fromhex(sha256),)).fetchone() if self.db else None
            body = self._body(row[0]) if row else None
        except ValueError:  # a line that no crawl wrote
            return None
        except (sqlite3.Error, zstd.ZstdError) as error:
            raise self._damaged(error) from None
        if body is not None and hashlib.sha256(body).hexdigest() != sha256:
            raise self._damaged(f"{sha256} is not")
        return body

    def _body(self, version: int) -> bytes:
        assert self.db is not None  # noqa: S101
        packed, base, size = self.db.execute(_BODY, (version,)).fetchone() or (None, None, 0)
        if packed is None:
            raise zstd.ZstdError("a version that another is compressed with is gone")
        return _unpacked(packed, size, self._body(base) if base else b"")

    def fields(self, key: Key, run: str, status: str) -> list[str] | None:
        """Return which fields a run changed in a document; ``None`` if that is not known.

        Args:
            status: of the document's line of that run.

        Raises:
            OutputError: the file is damaged.
        """
        row = self._row(_FIELDS, (*key, run, status))
        try:
            return [*map(str, json.loads(row[0]))] if row and row[0] is not None else None
        except (ValueError, TypeError) as error:
            raise self._damaged(error) from None

    def has(self, sha256: str) -> bool:
        """Return whether the bytes of a version are kept.

        Raises:
            OutputError: the file is damaged.
        """
        try:
            return self._row(_FOUND, (bytes.fromhex(sha256),)) is not None
        except ValueError:  # a line that no crawl wrote
            return False

    def kept(self) -> Iterator[str]:
        """Yield the SHA-256 of each version whose bytes are kept.

        Raises:
            OutputError: the file is damaged.
        """
        try:
            yield from (row[0] for row in self.db.execute(_ALL_KEPT)) if self.db else ()
        except sqlite3.Error as error:
            raise self._damaged(error) from None

    def before(self, key: Key, known: Known, run: str, status: str) -> Known | None:
        """Return the version that a run replaced or marked; ``None`` if that is not known.

        Args:
            known: the document now: where its former versions came from, too.
            status: of the document's line of that run.

        Raises:
            OutputError: the file is damaged.
        """
        return self._former("replaced_by", (*key, run, status), known)

    def of_run(self, key: Key, known: Known, run: str) -> Known | None:
        """Return the version that a run wrote, as `before` does."""
        return known if known.run == run else self._former("run", (*key, run, None), known)

    def _former(self, column: str, values: tuple[str | None, ...], known: Known) -> Known | None:
        row = self._row(_FORMER.format(column=column), values)
        return known._replace(sha256=row[0], bytes=row[1], run=row[2]) if row else None

    def size(self, now: float | None = None) -> Size:
        """Return what the versions take on disk.

        Args:
            now: seconds since 1970; by default the clock's.

        Raises:
            OutputError: the file is damaged.
        """
        if self.db is None:
            return Size(0, 0, 0)
        path, file = self.folder / FILE, 0
        for each in (path, path.with_name(f"{FILE}-wal")):
            with suppress(OSError):
                file += each.stat().st_size
        count, week = self._row(_COUNT, (int(now or time.time()) - _WEEK,)) or (0, 0)
        return Size(count, file, week)

    def _row(self, query: str, values: Sequence[Any]) -> tuple[Any, ...] | None:
        """
        Raises:
            OutputError: the file is damaged.
        """
        try:
            row: tuple[Any, ...] | None = self.db.execute(query, values).fetchone() if self.db else None
        except sqlite3.Error as error:
            raise self._damaged(error) from None
        return row

    def _damaged(self, error: object) -> OutputError:
        return OutputError(f"{self.folder / FILE} is damaged ({error}): take it from your backup.")

    # What is dropped

    def older(self, before: float) -> tuple[int, int]:
        """Return how many versions became former before a moment and are kept, and the bytes that they take.

        Args:
            before: seconds since 1970.

        Raises:
            OutputError: the file is damaged.
        """
        count, taken = self._row(_OLDER, (int(before),)) or (0, 0)
        return count, taken

    def prune(self, before: float) -> int:
        """Drop the bytes of versions that became former before a moment, and return how many; what they were stays.

        Args:
            before: seconds since 1970.

        Raises:
            OSError: the file can't be written.
        """
        if self.db is None:
            return 0
        try:
            self._models.clear()
            moment = max(0, int(before))
            with transaction(self.db):
                self._free_of(moment)
                dropped = self.db.execute(_GONE, (moment,)).rowcount
            self.db.execute("PRAGMA incremental_vacuum").fetchall()
        except sqlite3.Error as error:
            raise _unwritable(error, self.folder / FILE) from None
        return dropped

    def _free_of(self, before: int) -> None:
        """Compress what stays without what goes: the first version that another is the base of takes its place."""
        db, last = self._open, 0
        db.execute("CREATE TEMP TABLE IF NOT EXISTS heirs (gone INTEGER PRIMARY KEY, id)")
        db.execute("DELETE FROM temp.heirs")
        while row := db.execute(_STAYS, (before, last)).fetchone():
            last, gone, above = row
            body, heir = self._whole(last), self._heir(gone)
            if body is None:
                continue
            if heir is None:
                db.execute("INSERT INTO temp.heirs VALUES (?, ?)", (gone, last))
                heir = above and (self._heir(above) or db.execute(_STAYING, (above, before)).fetchone()[0])
            base = self._whole(heir) if heir else None
            db.execute(_FILLED, (heir if base else None, _packed(body, base or b""), last))
        db.execute("UPDATE models SET id = heirs.id FROM temp.heirs WHERE models.id = heirs.gone")
        db.execute("DELETE FROM models WHERE id IN (SELECT id FROM bodies WHERE kept < ?)", (before,))

    def _heir(self, gone: int) -> int | None:
        row = self._open.execute("SELECT id FROM temp.heirs WHERE gone = ?", (gone,)).fetchone()
        return row[0] if row else None


def _opened(path: Path) -> sqlite3.Connection:
    db = sqlite.connect(path, patience=_PATIENCE, gives_back=True)
    try:
        if not _check(db):
            db.executescript(f"BEGIN; {_SCHEMA} PRAGMA user_version = {FORMAT}; COMMIT;")
    except BaseException:
        db.close()
        raise
    return db


def _begun_anew(path: Path, error: sqlite3.Error) -> sqlite3.Connection:
    """Rename a damaged file, and return another."""
    named = sqlite.set_aside(path, keeps_others=True).name
    logger.warning("%s is damaged (%s): it is %s now, and another is begun", path, error, named)
    return _opened(path)


def _check(db: sqlite3.Connection) -> bool:
    """Return whether the file has been laid out.

    Raises:
        sqlite3.NotSupportedError: the file is of another format.
    """
    if (found := db.execute("PRAGMA user_version").fetchone()[0]) > FORMAT:
        raise sqlite3.NotSupportedError(f"a newer version of this program wrote it, in format {found}: update this one")
    return bool(found)


def _unwritable(error: sqlite3.Error, path: Path) -> OSError:
    is_full = sqlite.code(error) == sqlite3.SQLITE_FULL
    return OSError(errno.ENOSPC if is_full else 0, str(error), str(path))


def _seconds(moment: str) -> int:
    return int(datetime.fromisoformat(moment).timestamp())


_SHORTEST = 8  # bytes of what zstd takes as a dictionary


def _packed(body: bytes, base: bytes) -> bytes:
    return zstd.compress(body, _LEVEL, zstd_dict=_prefix(base))


def _unpacked(packed: bytes, size: int, base: bytes) -> bytes:
    """
    Raises:
        zstd.ZstdError: it is damaged.
    """
    return zstd.ZstdDecompressor(zstd_dict=_prefix(base)).decompress(packed, max_length=size + 1) if size else b""


def _prefix(base: bytes) -> Any:
    return zstd.ZstdDict(base, is_raw=True).as_prefix if len(base) >= _SHORTEST else None
