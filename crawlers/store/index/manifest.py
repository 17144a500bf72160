"""How much of a source's manifest the index has read, and the lines that it has not."""

from __future__ import annotations

import json
import logging
from typing import TYPE_CHECKING, Any

from crawlers.safety import inside
from crawlers.safety.sqlite import transaction
from crawlers.store import lines
from crawlers.store.index.batch import Batch
from crawlers.store.index.documents import stored
from crawlers.store.index.known import Key, Known

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    Line = tuple[Key, Known, str]
    """A document's key, the document, and the time of its line."""

logger = logging.getLogger(__name__)

FILE = "manifest.jsonl"

_LARGEST = 2**63
_LOGGED = 20  # damaged lines that are logged one by one
_TEXT, _PERHAPS = str, (str, type(None))
_TYPES: dict[str, type | tuple[type, ...]] = {
    **dict.fromkeys(("kind", "dataset_id", "metadata_file", "sha256", "status", "run", "time"), _TEXT),
    **dict.fromkeys(("resource_id", "metadata_modified", "metadata_source", "metadata_url"), _PERHAPS),
    "renamed_from": _PERHAPS,
    "bytes": int,
}
_FIELDS = (
    *("metadata_file", "sha256", "bytes", "metadata_modified", "status", "run", "time"),
    *("metadata_source", "metadata_url", "renamed_from"),
)
_READ_TO = "SELECT manifest_bytes, manifest_tail FROM sources WHERE source = ?"
_MOVED = "UPDATE sources SET manifest_tail = ? WHERE source = ? AND manifest_bytes = ?"
_STORE = """
INSERT INTO sources (source, manifest_bytes, manifest_tail, described) VALUES (?1, ?2, ?3, ?4)
ON CONFLICT DO UPDATE SET manifest_bytes = ?2, manifest_tail = ?3, described = min(described, ?4)
"""


def size(folder: Path) -> int:
    """Return the bytes of all lines of a source's manifest; 0 if there is none."""
    return lines.size(folder, FILE)


def read_to(db: sqlite3.Connection, folder: Path) -> int | None:
    """Return how many bytes of the manifest the index has read; ``None`` if it has read another manifest."""
    covered, before = db.execute(_READ_TO, (folder.name,)).fetchone() or (-1, b"")
    return covered if lines.is_marked(folder, FILE, covered, before) else None


def moved(db: sqlite3.Connection, folder: Path) -> None:
    """Note that lines are in another file now; an index that had not read all of them reads them again."""
    end = size(folder)
    db.execute(_MOVED, (lines.mark(folder, FILE, end), folder.name, end))


def store(db: sqlite3.Connection, folder: Path, batch: Batch, end: int) -> None:
    """Write a batch, and note that the manifest has been read to an offset; the caller begins the transaction."""
    batch.write(db)
    db.execute(_STORE, (folder.name, end, lines.mark(folder, FILE, end), int(batch.described)))


def read(db: sqlite3.Connection, folder: Path, begin: int) -> None:
    """Store the manifest's lines from an offset on, some hundred in a transaction.

    The datasets of these lines are not described yet (`crawlers.store.index.missing_descriptions`).
    """
    end, batch = begin, Batch(folder.name, described=False)
    for end, line in entries(folder, begin):
        if line:
            batch.add(*_with_origin(db, folder.name, batch, line))
        if batch.full:
            with transaction(db):
                store(db, folder, batch, end)
            batch = Batch(folder.name, described=False)
    with transaction(db):
        store(db, folder, batch, end)


def _with_origin(db: sqlite3.Connection, source: str, batch: Batch, line: Line) -> Line:
    """Keep the origin of a withdrawn document's record: its line has the address where it was missing."""
    key, known, time = line
    if known.status == "withdrawn" and (before := batch.documents.get(key) or stored(db, source, key)):
        origin = {name: getattr(before, name) for name in ("metadata_source", "metadata_url", "renamed_from")}
        known = known._replace(**origin)
    return key, known, time


def entries(folder: Path, offset: int) -> Iterator[tuple[int, Line | None]]:
    """Yield where each line ends and what it says; ``None`` for a damaged line: its document is written again."""
    damaged = 0
    for end, text in lines.follow(folder, FILE, offset):
        line = line_of(lines.entry(text))
        if line is None and damaged < _LOGGED:
            _log_damaged(folder, end)
        damaged += line is None
        yield end, line
    if damaged > _LOGGED:
        logger.warning("%s: %d more lines are damaged and left out", folder / FILE, damaged - _LOGGED)


def _log_damaged(folder: Path, end: int) -> None:
    number = next(number for number, (one, _) in enumerate(lines.follow(folder, FILE, 0), 1) if one >= end)
    logger.warning("%s: line %d is damaged and left out; the others are read", folder / FILE, number)


def line_of(entry: Mapping[str, Any] | None) -> Line | None:
    """Return what a line says; ``None`` for one that no crawl wrote: others may write into the folder."""
    if entry is None or any(not isinstance(entry.get(name), kind) for name, kind in _TYPES.items()):
        return None
    entry = {name: entry.get(name) for name in _TYPES}
    try:
        json.dumps(list(entry.values()), ensure_ascii=False).encode()
    except UnicodeEncodeError:  # half a surrogate pair, which SQLite refuses
        return None
    if not inside.is_inside(entry["metadata_file"]) or not 0 <= entry["bytes"] < _LARGEST:
        return None
    key = (entry["kind"], entry["dataset_id"], entry["resource_id"] or "")
    return key, Known(*(entry[name] for name in _FIELDS)), entry["time"]
