"""What a source's folder has that the store has not: documents by the lines of the manifest, other files by a look."""

from __future__ import annotations

import hashlib
import os
from itertools import chain
from typing import TYPE_CHECKING, NamedTuple

from crawlers.exceptions import StoreError
from crawlers.safety import inside, json_lines
from crawlers.store import compacted
from crawlers.store.bucket.contract import files as files_in
from crawlers.store.bucket.contract import is_document, is_other
from crawlers.store.bucket.packs import BYTES, MOST, Row

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from crawlers.store.bucket.documents import Documents

MANIFEST = "manifest.jsonl"
_LINES = 20_000  # of the manifest, for one commit


class Read(NamedTuple):
    """A file as it was read here, and when it had been written, in nanoseconds."""

    row: Row
    changed: int


class Chunk(NamedTuple):
    """The documents of some lines of the manifest, as many as fit into a pack.

    Args:
        read: those that the store lacks.
        removed: those that have another file now.
        end: where the lines end, counting all that were ever written.
        is_last: whether the manifest has no more lines now.
    """

    read: list[Read]
    removed: list[str]
    end: int
    is_last: bool


def by_lines(documents: Documents, begin: int) -> Chunk:
    """Return what the lines of the manifest from an offset on say.

    A document that was written again since its line is taken as it is: its next line follows.
    """
    found, removed = dict[str, Read](), dict[str, None]()
    end, size, count = begin, 0, 0
    is_last = True
    for length, line in _lines(documents, begin):
        if len(found) >= MOST or size >= BYTES or count >= _LINES:
            is_last = False
            break
        end, count = end + length, count + 1
        new = _of_line(documents, json_lines.entry(line) or {}, removed)
        if new:
            size += len(new.row.content)
            found[new.row.file] = new
    return Chunk(list(found.values()), [file for file in removed if file not in found], end, is_last)


def _lines(documents: Documents, begin: int) -> Iterator[tuple[int, bytes | None]]:
    """Yield the lines of the manifest, but for one that is being written."""
    if (documents.folder / MANIFEST).exists():
        for length, line in compacted.lines(documents.folder, MANIFEST, begin):
            if line is not None and not line.endswith(b"\n"):
                return
            yield length, line


def _of_line(documents: Documents, entry: dict[str, object], removed: dict[str, None]) -> Read | None:
    """Return the document of a line if the store lacks it; note the file that it had before, if that is gone."""
    kind, dataset_id, resource_id, file = (
        value if isinstance(value := entry.get(name), str) else None
        for name in ("kind", "dataset_id", "resource_id", "metadata_file")
    )
    if not (kind and dataset_id and file and is_document(file)):
        return None
    for before in documents.files.previous(kind, dataset_id, resource_id):
        if before != file and not _exists(documents, before):
            removed[before] = None
    return _read(documents, file, (kind, dataset_id, resource_id))


def _read(documents: Documents, file: str, about: tuple[str | None, str | None, str | None]) -> Read | None:
    """Return a file of the folder; ``None`` if it is not there, or is stored as it is.

    Args:
        about: its kind, dataset and resource, as in the manifest.

    Raises:
        StoreError: it is too large.
    """
    known = documents.files.get(file)
    if known and documents.is_there(file, known):
        return None
    try:
        with inside.opened(documents.folder, file) as opened:
            changed = os.fstat(opened.fileno()).st_mtime_ns
            content = opened.read(inside.LARGEST + 1)
    except OSError:
        return None
    if len(content) > inside.LARGEST:
        raise StoreError(f"{documents.folder / file} has more than {inside.LARGEST} bytes: no store takes it.")
    sha256 = hashlib.sha256(content).hexdigest()
    if known and known.sha256 == sha256:
        documents.files.put(file, known._replace(changed=changed))
        return None
    return Read(Row(*about, file, sha256, content), changed)


def by_look(documents: Documents) -> Iterator[Read]:
    """Yield the documents and the other files that the store lacks, whether or not the manifest has them."""
    return _those(documents, sorted(files_in(documents.folder)))


def parts(documents: Documents) -> Iterator[Read]:
    """Yield the compressed parts of lines that the store lacks."""
    return _those(documents, chain.from_iterable(compacted.parts(documents.folder, file) for file in compacted.FILES))


def _those(documents: Documents, files: Iterable[str]) -> Iterator[Read]:
    for file in files:
        known = documents.files.get(file)
        found = _read(documents, file, known[-3:] if known else (None, None, None))
        if found:
            yield found


def packfuls(found: Iterator[Read]) -> Iterator[list[Read]]:
    """Yield files by as many as fit into a pack."""
    some, size = list[Read](), 0
    for one in found:
        some.append(one)
        size += len(one.row.content)
        if len(some) >= MOST or size >= BYTES:
            yield some
            some, size = [], 0
    if some:
        yield some


def gone(documents: Documents) -> list[str]:
    """Return the stored reports that are not in the folder any more; a document that is missing is not gone."""
    stored = (file for file, _ in documents.files.each() if is_other(file))
    return [file for file in stored if not _exists(documents, file)]


def has_other_reports(documents: Documents) -> bool:
    """Return whether the folder has reports that the store lacks, or lacks some that the store has."""
    there = {file for file in files_in(documents.folder) if is_other(file)}
    return there != {file for file, _ in documents.files.each() if is_other(file)}


def _exists(documents: Documents, file: str) -> bool:
    try:
        inside.status(documents.folder, file)
    except OSError:
        return False
    return True
