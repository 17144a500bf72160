"""The flaws that stand: what of kept records could not be read. flaws.jsonl is the truth, the table a cache."""

from __future__ import annotations

import logging
from functools import partial
from typing import TYPE_CHECKING, Any

from crawlers.safety import json_lines
from crawlers.store import compacted
from crawlers.store.index import new_lines
from crawlers.store.index.full_text import of_datasets

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Collection, Iterable, Iterator, Mapping
    from pathlib import Path

    from crawlers.store.index.database import Database

    Key = tuple[str, str, str, str]
    """Dataset id ("" of a flaw of the source), resource id or "", field, kind: what a flaw is known by."""
    Line = Mapping[str, Any]

logger = logging.getLogger(__name__)

FILE = "flaws.jsonl"

_KEY = ("dataset_id", "resource_id", "field", "kind")
_REQUIRED = ("kind", "time", "run")
_COLUMNS = (*_KEY, "time", "run", "dataset_name", "dataset_title", "url", "error")
_PUT = f"INSERT OR REPLACE INTO flaws (source, {', '.join(_COLUMNS)}) VALUES ({', '.join('?' * 11)})"  # noqa: S608
_DROP = "DELETE FROM flaws WHERE source = ? AND dataset_id = ? AND resource_id = ? AND field = ? AND kind = ?"
_OF = "SELECT dataset_id, resource_id, field, kind FROM flaws WHERE source = ?1 AND dataset_id IN ({ids})"
_COUNTS = "SELECT kind, count(*) FROM flaws WHERE source = ? GROUP BY kind ORDER BY kind"
_GONE = """
SELECT f.dataset_id, f.resource_id, f.field, f.kind FROM flaws f JOIN documents d ON d.source = f.source
AND d.kind = ?2 AND d.dataset_id = f.dataset_id AND d.resource_id = '' WHERE f.source = ?1 AND d.status = 'withdrawn'
"""
_READ_TO = "SELECT bytes, tail FROM flaws_read WHERE source = ?"
_STORE = "INSERT OR REPLACE INTO flaws_read VALUES (?, ?, ?)"
_MOVED = "UPDATE flaws_read SET tail = ? WHERE source = ? AND bytes = ?"


class Flaws:
    """The flaws of one source that stand: those that wait to be written, then those in index.sqlite."""

    def __init__(self, database: Database, source: str) -> None:
        self.database = database
        self.source = source
        self.waiting: dict[Key, Line] = {}

    @property
    def is_full(self) -> bool:
        """Whether it is time to write."""
        return len(self.waiting) >= new_lines.ROWS

    def put(self, lines: Iterable[Line]) -> None:
        """Remember flaws that appeared or are gone, after their lines are in flaws.jsonl."""
        self.waiting.update((key(line), line) for line in lines)

    def of(self, ids: Collection[str]) -> set[Key]:
        """Return the flaws of some datasets that stand, in one query.

        Args:
            ids: of the datasets; "" for the flaws of the source.
        """
        wanted = set(ids)
        rows = self.database.healing(lambda db: of_datasets(db, _OF, self.source, wanted))
        stored: set[Key] = {(dataset_id, resource_id, field, kind) for dataset_id, resource_id, field, kind in rows}
        waiting = {each: line["status"] for each, line in self.waiting.items() if each[0] in wanted}
        return (stored | waiting.keys()) - {each for each, status in waiting.items() if status == "gone"}

    def of_withdrawn(self, kind: str) -> set[Key]:
        """Return the flaws whose dataset is withdrawn; what waits is written before.

        Args:
            kind: of the documents: dataset, site ...
        """
        return {tuple(row) for row in self.database.rows(_GONE, (self.source, kind))}

    def counts(self) -> dict[str, int]:
        """Return how many flaws of each kind stand; what waits is written before."""
        return dict(self.database.rows(_COUNTS, (self.source,)))

    def write(self, db: sqlite3.Connection, folder: Path) -> None:
        """Write what waits, and note that flaws.jsonl has been read to its end; the caller begins the transaction.

        What waits is forgotten by `clear`, once the transaction has ended.
        """
        if self.waiting:
            _apply(db, folder.name, self.waiting.values())
            _note(db, folder, size(folder))

    def clear(self) -> None:
        """Forget what has been written."""
        self.waiting.clear()


def key(line: Line) -> Key:
    """Return what the flaw of a line is known by."""
    return line.get("dataset_id") or "", line.get("resource_id") or "", line.get("field") or "", line["kind"]


def size(folder: Path) -> int:
    """Return the bytes of all lines of a source's flaws.jsonl; 0 if there is none."""
    return compacted.size(folder, FILE)


def read_to(db: sqlite3.Connection, folder: Path) -> int | None:
    """Return how many bytes of flaws.jsonl the index has read; ``None`` if it has read another file."""
    covered, before = db.execute(_READ_TO, (folder.name,)).fetchone() or (0, b"")
    return covered if 0 <= covered <= size(folder) and before == compacted.mark(folder, FILE, covered) else None


def moved(db: sqlite3.Connection, folder: Path) -> None:
    """Note that lines are in another file now; an index that had not read all of them reads them again."""
    end = size(folder)
    db.execute(_MOVED, (compacted.mark(folder, FILE, end), folder.name, end))


def catch_up(db: sqlite3.Connection, folder: Path) -> None:
    """Read what flaws.jsonl has and the index lacks; all of it if the file is another one."""
    new_lines.store(
        db,
        "flaws",
        folder.name,
        span=(read_to(db, folder), size(folder)),
        lines=partial(_lines, folder),
        put=partial(_apply, db, folder.name),
        note=partial(_note, db, folder),
    )


def _apply(db: sqlite3.Connection, source: str, lines: Iterable[Line]) -> None:
    for line in lines:
        if line["status"] == "gone":
            db.execute(_DROP, (source, *key(line)))
        else:
            db.execute(_PUT, (source, *key(line), *(line.get(name) for name in _COLUMNS[len(_KEY) :])))


def _note(db: sqlite3.Connection, folder: Path, end: int) -> None:
    db.execute(_STORE, (folder.name, end, compacted.mark(folder, FILE, end)))


def _lines(folder: Path, offset: int) -> Iterator[tuple[int, Line | None]]:
    """Yield where each line ends and the flaw in it; ``None`` for a line that no crawl wrote."""
    damaged = 0
    for length, text in compacted.lines(folder, FILE, offset):
        offset += length
        line = json_lines.entry(text)
        is_valid = line is not None and _is_valid(line)
        damaged += not is_valid
        yield offset, line if is_valid else None
    if damaged:
        logger.warning("%s: %s", folder / FILE, json_lines.left_out(damaged))


def _is_valid(line: Line) -> bool:
    """Return whether a crawl can have written a line: others may write into the folder."""
    if line.get("status") not in ("new", "gone") or not all(isinstance(line.get(name), str) for name in _REQUIRED):
        return False
    return all(text is None or json_lines.is_text(text) for text in map(line.get, _COLUMNS))
