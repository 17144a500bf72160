"""What a source's folder has that the store has not: documents by the lines of the manifest, other files by a look."""

from __future__ import annotations

import hashlib
import os
from itertools import islice
from typing import TYPE_CHECKING, NamedTuple

from crawlers.exceptions import StoreError
from crawlers.safety import inside
from crawlers.store import lines
from crawlers.store.bucket.contract import files as files_in
from crawlers.store.bucket.contract import is_document, is_other
from crawlers.store.bucket.packs import BYTES, MOST, Row

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from crawlers.store.bucket.documents import Documents
    from crawlers.store.bucket.state import Stored

MANIFEST = "manifest.jsonl"
_AT_ONCE = 500  # files that are looked at


About = tuple[str | None, str | None, str | None]
"""Kind, dataset and resource of a file, as in the manifest; of another file, none."""


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
    """Return what the next thousand lines of the manifest say, or as many as fit into a pack.

    A document that was written again since its line is taken as it is: its next line follows.
    """
    lines = list(islice(_lines(documents, begin), MOST))
    known = documents.files.known([line.file for line in lines if line.file])
    before = documents.files.before([line.about for line in lines if line.file])
    found, removed = dict[str, Read](), dict[str, None]()
    end, size, is_last = begin, 0, len(lines) < MOST
    for line in lines:
        if size >= BYTES:
            is_last = False
            break
        end = line.end
        if line.file:
            gone_ = (file for file in before.get(line.about, ()) if file != line.file and not _exists(documents, file))
            removed |= dict.fromkeys(gone_)
            new = _read(documents, line.file, line.about, known.get(line.file))
            if new:
                size += len(new.row.content)
                found[line.file] = new
    return Chunk(list(found.values()), [file for file in removed if file not in found], end, is_last)


class _Line(NamedTuple):
    """A line of the manifest.

    Args:
        end: where it ends, counting all lines that were ever written.
        about: kind, dataset and resource.
        file: its document; empty if it has none here.
    """

    end: int
    about: tuple[str, str, str | None] = ("", "", None)
    file: str = ""


def _lines(documents: Documents, end: int) -> Iterator[_Line]:
    """Yield the lines of the manifest from an offset on, but for one that is being written."""
    if not (documents.folder / MANIFEST).exists():
        return
    for length, line in lines.read(documents.folder, MANIFEST, end):
        if line is not None and not line.endswith(b"\n"):
            return
        end += length
        entry = lines.entry(line) or {}
        kind, dataset_id, file = (str(entry.get(name) or "") for name in ("kind", "dataset_id", "metadata_file"))
        resource_id = str(entry["resource_id"]) if entry.get("resource_id") else None
        yield _Line(end, (kind, dataset_id, resource_id), file) if dataset_id and is_document(file) else _Line(end)


def _read(documents: Documents, file: str, about: About, known: Stored | None) -> Read | None:
    """Return a file of the folder; ``None`` if it is not there, or is stored as it is.

    Args:
        about: its kind, dataset and resource, as in the manifest.
        known: what is stored.

    Raises:
        StoreError: it is too large.
    """
    if known and documents.is_there(file, known):
        return None
    try:
        with inside.opened(documents.folder, file) as opened:
            status = os.fstat(opened.fileno())
            content = opened.read(min(status.st_size, inside.LARGEST) + 1)
    except OSError:
        return None
    if len(content) > inside.LARGEST:
        raise StoreError(f"{documents.folder / file} has more than {inside.LARGEST} bytes: no store takes it.")
    sha256 = hashlib.sha256(content).hexdigest()
    if known and known.sha256 == sha256:
        documents.files.put_all([(file, known._replace(changed=status.st_mtime_ns))])
        return None
    return Read(Row(*about, file, sha256, content), status.st_mtime_ns)


def by_look(documents: Documents) -> Iterator[Read]:
    """Yield the documents and the other files that the store lacks, whether or not the manifest has them."""
    found = files_in(documents.folder)
    while some := dict(islice(found, _AT_ONCE)):
        known = documents.files.known(some)
        changed = (file for file, status in some.items() if not _is_same(status, known.get(file)))
        yield from _those(documents, sorted(changed), known)


def _is_same(status: os.stat_result, known: Stored | None) -> bool:
    return known is not None and (status.st_size, status.st_mtime_ns) == (known.size, known.changed)


def parts(documents: Documents) -> Iterator[Read]:
    """Yield the compressed parts of lines that the store lacks."""
    files = [part for file in lines.FILES for part in lines.parts(documents.folder, file)]
    return _those(documents, files, documents.files.known(files))


def _those(documents: Documents, files: Iterable[str], known: Mapping[str, Stored]) -> Iterator[Read]:
    for file in files:
        found = _read(documents, file, known[file][-3:] if file in known else (None, None, None), known.get(file))
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
    there = {file for file, _ in files_in(documents.folder) if is_other(file)}
    return there != {file for file, _ in documents.files.each() if is_other(file)}


def _exists(documents: Documents, file: str) -> bool:
    try:
        inside.status(documents.folder, file)
    except OSError:
        return False
    return True
