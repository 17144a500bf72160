"""Datasets that the index lacks, described from their documents on disk."""

from __future__ import annotations

import errno
from typing import TYPE_CHECKING

from crawlers.index.batch import DOCUMENTS, Batch
from crawlers.index.held import UNREADABLE, item, left_out
from crawlers.index.known import Known

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Callable, Iterator
    from pathlib import Path

_LASTING = (errno.ENOENT, errno.EINVAL, errno.ELOOP, errno.ENOTDIR, errno.EFBIG)
_LACKING = """
SELECT d.dataset_id, d.file, d.sha256, d.bytes, d.metadata_modified, d.status, d.run, d.last_seen,
    d.metadata_source, d.metadata_url
FROM documents d LEFT JOIN datasets s ON s.source = d.source AND s.dataset_id = d.dataset_id
WHERE d.source = ? AND d.kind = 'dataset' AND d.dataset_id > ? AND s.sha256 IS NOT d.sha256
ORDER BY d.dataset_id LIMIT ?
"""


def described(db: sqlite3.Connection, folder: Path, lost: Callable[[str], None]) -> Iterator[Batch]:
    """Batches of what a source's documents describe and the index does not have.

    Args:
        folder: the source's.
        lost: told, in a sentence, of each document that can't be read; the others follow. Where that may pass, their
            batch is not ``described``.
    """
    batch = Batch(folder.name)
    for dataset_id, known in _lacking(db, folder.name):
        try:
            batch.describe(item(folder, dataset_id, known), known)
        except UNREADABLE as error:
            lost(left_out(folder, known, error))
            batch.described = batch.described and not _may_pass(error)
        if batch.full:
            yield batch
            batch = Batch(folder.name)
    yield batch


def _may_pass(error: Exception) -> bool:
    """Too many open files, a drive that is not there: the document may be read the next time."""
    return isinstance(error, OSError) and error.errno not in _LASTING


def _lacking(db: sqlite3.Connection, source: str) -> Iterator[tuple[str, Known]]:
    last = ""
    while rows := db.execute(_LACKING, (source, last, DOCUMENTS)).fetchall():
        for dataset_id, *columns in rows:
            yield dataset_id, Known(*columns)
        last = rows[-1][0]
