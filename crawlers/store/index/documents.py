"""The documents of a source in the index, and whether they match those on disk."""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING, Any

from crawlers import kind as kinds
from crawlers.items import Kind
from crawlers.safety import inside, strict_json
from crawlers.safety.redact import has_login, without_logins, writable
from crawlers.store.index import reports
from crawlers.store.index.known import Held, Key, Known, Record
from crawlers.store.index.search import of_datasets

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Collection, Iterator
    from pathlib import Path

    from crawlers.items import Dataset
    from crawlers.records.volatile import Volatile
    from crawlers.store.index.batch import Batch
    from crawlers.store.index.database import Database


_PAGE = 500  # datasets read in one query
_KNOWN = "file, sha256, bytes, metadata_modified, status, run, last_seen, metadata_source, metadata_url, renamed_from"
_GET = f"SELECT {_KNOWN} FROM documents WHERE source = ? AND kind = ? AND dataset_id = ? AND resource_id = ?"  # noqa: S608
_SOME = f"""
SELECT kind, d.dataset_id, resource_id, {_KNOWN} FROM json_each(?2) AS wanted CROSS JOIN documents d
ON d.source = ?1 AND d.kind = wanted.value ->> 0 AND d.dataset_id = wanted.value ->> 1
AND d.resource_id = wanted.value ->> 2
"""  # noqa: S608
_EXPORTS = f"""
SELECT dataset_id, resource_id, {_KNOWN} FROM documents
WHERE source = ?1 AND kind = 'resource_metadata' AND dataset_id IN ({{ids}})
"""  # noqa: S608
_FLAWLESS = """
SELECT dataset_id, sha256 FROM datasets
WHERE source = ?1 AND dataset_id IN ({ids}) AND flaws = 0
AND NOT EXISTS (SELECT 1 FROM flaws f WHERE f.source = ?1 AND f.dataset_id = datasets.dataset_id)
"""
_HELD = """
SELECT dataset_id, file, last_seen, metadata_source, metadata_url, metadata_modified, renamed_from FROM documents
WHERE source = ? AND kind = ? AND dataset_id > ? AND status != 'withdrawn' ORDER BY dataset_id LIMIT ?
"""
_COUNT = "SELECT count(*) FROM documents WHERE source = ? AND kind = 'dataset' AND status != 'withdrawn'"
_NEWEST = "SELECT max(metadata_modified) FROM documents WHERE source = ? AND kind = 'dataset'"
_DESCRIBED = """
SELECT uri FROM datasets WHERE source = ? AND withdrawn = 0 AND uri IN (SELECT value FROM json_each(?))
"""
_TITLE = "SELECT title FROM datasets WHERE source = ? AND dataset_id = ?"

_CURRENT_EXPORT = """
SELECT 1 FROM documents e WHERE e.source = d.source AND e.dataset_id = d.dataset_id
AND e.metadata_modified IS d.metadata_modified
AND replace(replace(substr(e.last_seen, 1, 19), '-', ''), ':', '') || 'Z' >= substr(d.run, 1, 16)
"""
_LACKS = {
    "dataset": f"NOT EXISTS ({_CURRENT_EXPORT} AND e.kind = 'dataset_metadata' AND e.resource_id = '')",
    "resource": f"""
        EXISTS (SELECT 1 FROM resources r WHERE r.source = d.source AND r.dataset_id = d.dataset_id AND NOT EXISTS
        ({_CURRENT_EXPORT} AND e.kind = 'resource_metadata' AND e.resource_id = r.resource_id))
    """,  # noqa: S608
}
_WITHOUT_EXPORTS = """
SELECT d.dataset_id FROM documents d WHERE d.source = ? AND d.kind = 'dataset' AND d.resource_id = ''
AND d.dataset_id IN (SELECT value FROM json_each(?)) AND ({lacks})
"""


class Documents:
    """The documents of one source: those that wait to be written, then those in index.sqlite.

    Args:
        database: index.sqlite.
        batch: the documents that wait to be written; they are newer than those in the database.
        folder: the source's.

    Attributes:
        differing: files that are not what the manifest says, and their documents (`crawlers.store.comparison`).
        are_hashed: whether a file is compared by its SHA-256, too, not by its size alone: VERIFY_DOCUMENTS.
        keeps_counters: whether a counter that moved makes a record another one.
    """

    def __init__(self, database: Database, batch: Batch, folder: Path) -> None:
        self.database = database
        self.batch = batch
        self.folder = folder
        self.differing: dict[str, Key] = {}
        self.are_hashed = False
        self.keeps_counters = False

    def get(self, kind: str, dataset_id: str, resource_id: str | None) -> Known | None:
        """Return what is known of a document; ``None`` if it was never written."""
        key = (kind, dataset_id, resource_id or "")
        if key in self.batch.documents:
            return self.batch.documents[key]
        return self.database.healing(lambda db: stored(db, self.folder.name, key))

    def some(self, keys: Collection[Key]) -> dict[Key, Known]:
        """Return what is known of some documents, in one query; those that were never written are left out."""
        if len(keys) == 1 or any("\0" in part for key in keys for part in key):  # which ends a text in SQLite's JSON
            each = {key: self.get(*key) for key in keys}
            return {key: known for key, known in each.items() if known}
        pending = {key: self.batch.documents[key] for key in keys if key in self.batch.documents}
        wanted = [key for key in keys if key not in pending]
        rows = self.database.rows(_SOME, (self.folder.name, json.dumps(wanted))) if wanted else []
        return {(kind, dataset_id, resource_id): Known(*row) for kind, dataset_id, resource_id, *row in rows} | pending

    def flawless(self, ids: Collection[str]) -> dict[str, str]:
        """Return the SHA-256 of the datasets among these whose record has no flaw, and had none."""
        return dict(self.database.healing(lambda db: of_datasets(db, _FLAWLESS, self.folder.name, ids)))

    def current(
        self, kind: str, dataset_id: str, resource_id: str | None, modified: str | None, file: str
    ) -> Known | None:
        """Return the document on disk with that name and stamp; ``None`` when it must be written.

        Args:
            modified: the source's own stamp; a document without a stamp is never current.
            file: the document's name now: the document of a renamed dataset is not current.
        """
        known = self.get(kind, dataset_id, resource_id) if modified else None
        same = known and known.status != "withdrawn" and (known.metadata_modified, known.file) == (modified, file)
        return known if known and same and self.is_intact(known) else None

    def is_intact(self, known: Known, files: inside.Writer | None = None) -> bool:
        """Return whether the document is on disk with the recorded size: a power cut may leave an empty file.

        Args:
            files: has the folders open, where many documents are looked at.
        """
        if known.file in self.differing:
            return False
        try:
            size = files.size(known.file) if files else inside.size(self.folder, known.file)
            if size != known.bytes:
                return False
            return not self.are_hashed or _sha256(self.folder, known.file) == known.sha256
        except OSError:
            return False

    def is_whole(self, dataset_id: str) -> bool:
        """Return whether the dataset's document is on disk with the recorded size."""
        known = self.get("dataset", dataset_id, None)
        return known is not None and self.is_intact(known)

    def is_on_disk(self, known: Known, record: Record, files: inside.Writer | None = None) -> bool:
        """Return whether the document on disk is this record.

        A new stamp alone, and what a kind declares as volatile, do not count as changes. The document is read only if
        the bytes differ. Its content decides, so a rebuilt index decides the same.

        Args:
            known: the document on disk.
            record: the document as the portal gives it now.
            files: as in `is_intact`.
        """
        if known.file != record.file or known.status == "withdrawn" or not self.is_intact(known, files):
            return False
        return known.sha256 == record.sha256 or self._says_the_same(known, record)

    def _says_the_same(self, known: Known, record: Record) -> bool:
        if not isinstance(record.document, dict):
            return False
        volatile = kinds.volatile(record.metadata_source)
        volatile = volatile.without_counters() if self.keeps_counters else volatile
        stamp = record.stamp if known.metadata_modified else None
        if not stamp and not volatile.inner:
            return False
        body = inside.read(self.folder, known.file)
        if hashlib.sha256(body).hexdigest() != known.sha256:  # a run was killed before it wrote the manifest's line
            return False
        if has_login(body):  # an earlier version wrote it
            return False
        return _is_same_but_for(stamp, volatile, strict_json.loads(body), record.document)

    def is_edited(self, dataset_id: str, record: dict[str, Any], metadata_source: str) -> bool:
        """Return whether a dataset's record says something else than its document on disk, if that can be read.

        A new stamp, and what a kind declares as volatile, do not count, whatever `keeps_counters` says.

        Args:
            record: as the portal gives it now.
            metadata_source: what gave it.
        """
        known = self.get("dataset", dataset_id, None)
        if known is None or not self.is_intact(known):
            return False
        before = strict_json.loads(inside.read(self.folder, known.file))
        now, volatile = without_logins(record), kinds.volatile(metadata_source)
        return not _is_same_but_for(now.get("metadata_modified"), volatile, before, now)

    def held(self, kind: Kind = "dataset") -> Iterator[Held]:
        """Yield the source's datasets that are not withdrawn: those in the batch, then the others by id.

        Args:
            kind: dataset, or the kind of a profile: site, extension.
        """
        pending, last = self.batch.of_kind(kind), ""
        yield from (_held(dataset_id, known) for dataset_id, known in pending.items() if known.status != "withdrawn")
        while rows := self.database.rows(_HELD, (self.folder.name, kind, last, _PAGE)):
            yield from (Held._make(row) for row in rows if row[0] not in pending)
            last = rows[-1][0]

    def exports(self, ids: Collection[str]) -> dict[str, dict[str, Known]]:
        """Return the documents on disk about the resources of some datasets, withdrawn ones too.

        By the dataset's id, then the resource's.
        """
        found: dict[str, dict[str, Known]] = {dataset_id: {} for dataset_id in ids}
        rows = self.database.healing(lambda db: of_datasets(db, _EXPORTS, self.folder.name, ids))
        for dataset_id, resource_id, *row in rows:
            found[dataset_id][resource_id] = Known(*row)
        for (kind, dataset_id, resource_id), known in self.batch.documents.items():
            if kind == "resource_metadata" and dataset_id in found:
                found[dataset_id][resource_id] = known
        return found

    def newest_stamp(self) -> str | None:
        """Return the newest stamp that the source has given a dataset."""
        found: str | None = self.database.rows(_NEWEST, (self.folder.name,))[0][0]
        return found

    def count(self) -> int:
        """Return how many of the source's datasets are in the database and not withdrawn."""
        return int(self.database.rows(_COUNT, (self.folder.name,))[0][0])

    def described(self, uris: Collection[str]) -> set[str]:
        """Return those of some IRIs that are the names of the source's datasets."""
        rows = self.database.rows(_DESCRIBED, (self.folder.name, json.dumps([*uris]))) if uris else ()
        return {row[0] for row in rows}

    def title(self, dataset_id: str) -> str | None:
        """Return a dataset's title; ``None`` if the index does not have it."""
        pending = self.batch.title(dataset_id)
        if pending:
            return pending
        rows = self.database.rows(_TITLE, (self.folder.name, dataset_id))
        return rows[0][0] if rows else None


def _sha256(folder: Path, file: str) -> str:
    return hashlib.sha256(inside.read(folder, file)).hexdigest()


def stored(db: sqlite3.Connection, source: str, key: Key) -> Known | None:
    """Return what index.sqlite has of a document; ``None`` if it has nothing."""
    row = db.execute(_GET, (source, *key)).fetchone()
    return Known(*row) if row else None


def without_exports(db: sqlite3.Connection, source: str, ids: list[str], kinds: Collection[str]) -> set[str]:
    """Return the datasets that lack an export of their current record: it failed, or the run was interrupted.

    Args:
        ids: the datasets to look at.
        kinds: the exports that they should have, at least one of ``dataset`` and ``resource``.
    """
    query = _WITHOUT_EXPORTS.format(lacks=" OR ".join(_LACKS[kind] for kind in kinds))
    return {row[0] for row in db.execute(query, (source, json.dumps(ids)))}


def _held(dataset_id: str, known: Known) -> Held:
    origin = (known.metadata_source, known.metadata_url)
    return Held(dataset_id, known.file, known.seen, *origin, known.metadata_modified, known.renamed_from)


def _is_same_but_for(stamp: str | None, volatile: Volatile, before: dict[str, Any], now: dict[str, Any]) -> bool:
    """Return whether two records are equal apart from the stamp and what is volatile.

    The stamp on disk may be older than the last one seen: an unchanged record is not written again.
    """
    stamps = {name for name, value in now.items() if stamp and value == stamp}
    if len({repr(before.get(name)) for name in stamps}) > 1:
        return False  # one of them was no stamp before
    try:
        return volatile.essence(before, stamps) == volatile.essence(now, stamps)
    except RecursionError:
        return False


# A dataset on disk

UNREADABLE = (OSError, *kinds.UNREADABLE)
"""What `item` raises if the document cannot be read."""


def item(folder: Path, dataset_id: str, known: Known | Held) -> Dataset:
    """Return the item that a document was written from, with the document and what its spider and operator change.

    Args:
        folder: the source's.
        dataset_id: the dataset's.
        known: the document.

    Raises:
        OSError, ValueError, AnswerError, SyntaxError: see `UNREADABLE`.
    """
    return item_of(inside.read(folder, known.file), folder, dataset_id, known)


def item_of(given: bytes, folder: Path, dataset_id: str, known: Known | Held) -> Dataset:
    """Return the item that a document was written from: of bytes that need not be those on disk; else as `item`.

    Args:
        given: the document's bytes.
        known: what its line says of it.

    Raises:
        ValueError, AnswerError, SyntaxError: see `UNREADABLE`.
    """
    body = writable(given)  # an earlier version wrote logins, too
    document = body if known.file.endswith(".xml") else strict_json.loads(body)
    found = kinds.dataset(
        document,
        source=folder.name,
        id=known.renamed_from or dataset_id,
        metadata_source=known.metadata_source,
        metadata_url=known.metadata_url,
        retrieved=known.seen,
    )
    found.id, found.document = dataset_id, document
    for resource in found.resources:
        resource.dataset_id = dataset_id
    for amend in reports.amendments(folder):
        amend(found)
    return found


def left_out(folder: Path, known: Known | Held, error: Exception) -> str:
    """Return the sentence that says which document is left out, and why."""
    return f"{folder.name}: {known.file} is left out: {_reason(error)}."


def _reason(error: Exception) -> str:
    if isinstance(error, OSError):
        return error.strerror or str(error)
    return f"it is no JSON ({error})" if isinstance(error, json.JSONDecodeError | UnicodeDecodeError) else str(error)
