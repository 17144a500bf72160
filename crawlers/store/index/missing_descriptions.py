"""Descriptions that the index lacks, read from the documents on disk, or else from the manifest."""

from __future__ import annotations

import errno
from collections import Counter
from typing import TYPE_CHECKING, Any

from crawlers.items import Dataset
from crawlers.kind import NoReaderError
from crawlers.safety.sqlite import transaction
from crawlers.store import lines
from crawlers.store.index.batch import DOCUMENTS, Batch
from crawlers.store.index.documents import UNREADABLE, item, left_out
from crawlers.store.index.known import Known
from crawlers.store.index.known import describe as description

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Callable, Iterator
    from pathlib import Path

_UNREAD = (
    "{source}: no kind of catalogue is installed that reads {kind} documents: {count} datasets are in the index with "
    "only the title from the manifest."
)
_LASTING = (errno.ENOENT, errno.EINVAL, errno.ELOOP, errno.ENOTDIR, errno.EFBIG)
_DOCUMENTS = """
SELECT d.dataset_id, d.file, d.sha256, d.bytes, d.metadata_modified, d.status, d.run, d.last_seen,
    d.metadata_source, d.metadata_url, d.renamed_from
FROM documents d LEFT JOIN datasets s ON s.source = d.source AND s.dataset_id = d.dataset_id
WHERE d.source = ? AND d.kind = 'dataset' AND s.sha256 IS NOT d.sha256
"""
_LACKING = f"{_DOCUMENTS} AND d.dataset_id > ? ORDER BY d.dataset_id LIMIT ?"
_ONE = f"{_DOCUMENTS} AND d.dataset_id = ?"
_IS_DESCRIBED = "SELECT described FROM sources WHERE source = ?"
_NOW = "SELECT manifest_bytes, stamp FROM sources WHERE source = ?"
_DESCRIBED = "UPDATE sources SET described = 1 WHERE source = ?1 AND manifest_bytes = ?2 AND stamp IS ?3"


def is_described(db: sqlite3.Connection, source: str) -> bool:
    """Return whether the index knows the source, and lacks no description of its datasets."""
    known = db.execute(_IS_DESCRIBED, (source,)).fetchone()
    return bool(known and known[0])


def describe(db: sqlite3.Connection, folder: Path, lost: Callable[[str], None]) -> None:
    """Describe the datasets that the index lacks, unless it says that it lacks none.

    Args:
        db: the index.
        folder: the source's.
        lost: called with a sentence for each document that cannot be read; the others follow.
    """
    if is_described(db, folder.name):
        return
    is_complete, before = True, db.execute(_NOW, (folder.name,)).fetchone()
    for batch in described(db, folder, lost):
        with transaction(db):
            is_complete = db.execute(_NOW, (folder.name,)).fetchone() == before and batch.described and is_complete
            is_complete = not batch.drop_overtaken(db) and is_complete
            batch.write(db)
            before = db.execute(_NOW, (folder.name,)).fetchone()
    if is_complete:  # unless a crawl has written meanwhile: who reads next describes what that left
        db.execute(_DESCRIBED, (folder.name, *before))


def described(db: sqlite3.Connection, folder: Path, lost: Callable[[str], None]) -> Iterator[Batch]:
    """Yield batches of what a source's documents describe and the index lacks.

    Args:
        db: the index.
        folder: the source's.
        lost: called with a sentence for each document that cannot be read; the others follow. If the cause may pass,
            their batch is not ``described``. Called once for each kind of document that has no reader: their datasets
            get the names and titles of the manifest.
    """
    batch, unread = Batch(folder.name), Counter[str | None]()
    for dataset_id, known in _lacking(db, folder.name):
        try:
            batch.describe(description(item(folder, dataset_id, known), known))
        except NoReaderError:
            unread[known.metadata_source] += 1
        except UNREADABLE as error:
            lost(left_out(folder, known, error))
            batch.described = batch.described and not _may_pass(error)
        if batch.full:
            yield batch
            batch = Batch(folder.name)
    yield batch
    for kind, count in unread.items():
        lost(_UNREAD.format(source=folder.name, kind=kind, count=count))
    if unread:
        yield from _named(db, folder, set(unread))


def _named(db: sqlite3.Connection, folder: Path, kinds: set[str | None]) -> Iterator[Batch]:
    """Yield batches of the datasets of some kinds, with the names and titles of the manifest."""
    batch = Batch(folder.name)
    for _, line in lines.read(folder, "manifest.jsonl"):
        entry = lines.entry(line) or {}
        for known in _unread(db, folder.name, entry, kinds):
            name, title = (_text(entry.get(key)) for key in ("dataset_name", "dataset_title"))
            named = Dataset(source=folder.name, id=entry["dataset_id"], name=name, title=title)
            batch.describe(description(named, known))
        if batch.full:
            yield batch
            batch = Batch(folder.name)
    yield batch


def _unread(db: sqlite3.Connection, source: str, entry: dict[str, Any], kinds: set[str | None]) -> Iterator[Known]:
    """Yield the dataset of a manifest's line, if it is of one of the kinds and the index lacks it."""
    if entry.get("kind") == "dataset" and _text(entry.get("dataset_id")):
        for _, *columns in db.execute(_ONE, (source, entry["dataset_id"])).fetchall():
            known = Known(*columns)
            if known.metadata_source in kinds:
                yield known


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) else None


def _may_pass(error: Exception) -> bool:
    """Return whether the document may be readable next time: too many files were open, or a drive was missing."""
    return isinstance(error, OSError) and error.errno not in _LASTING


def _lacking(db: sqlite3.Connection, source: str) -> Iterator[tuple[str, Known]]:
    last = ""
    while rows := db.execute(_LACKING, (source, last, DOCUMENTS)).fetchall():
        for dataset_id, *columns in rows:
            yield dataset_id, Known(*columns)
        last = rows[-1][0]
