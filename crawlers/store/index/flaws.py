"""The flaws that stand: what of kept records could not be read. flaws.jsonl is the truth, the table a cache."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from crawlers.store import lines
from crawlers.store.index.database import ROWS, Followed
from crawlers.store.index.search import of_datasets

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Collection, Iterable, Iterator, Mapping
    from pathlib import Path

    from crawlers.store.index.database import Database

    Key = tuple[str, str, str, str]
    """Dataset id ("" of a flaw of the source), resource id or "", field, kind: what a flaw is known by."""
    Line = Mapping[str, Any]

FILE = "flaws.jsonl"

_KEY = ("dataset_id", "resource_id", "field", "kind")
_REQUIRED = ("kind", "time", "run")
_COLUMNS = (*_KEY, "time", "run", "dataset_name", "dataset_title", "url", "error")
_PUT = f"INSERT OR REPLACE INTO flaws (source, {', '.join(_COLUMNS)}) VALUES ({', '.join('?' * 11)})"  # noqa: S608
_DROP = "DELETE FROM flaws WHERE source = ? AND dataset_id = ? AND resource_id = ? AND field = ? AND kind = ?"
_OF = "SELECT dataset_id, resource_id, field, kind FROM flaws WHERE source = ?1 AND dataset_id IN ({ids})"
_COUNTS = "SELECT kind, count(*) FROM flaws WHERE source = ? GROUP BY kind ORDER BY kind"
_STANDING = f"""
SELECT source, {", ".join(_COLUMNS)} FROM flaws
WHERE (source, {", ".join(_KEY)}) > (:after_source, {", ".join(f":after_{name}" for name in _KEY)}) {{only}}
    AND (:run IS NULL OR run = :run) AND (:of_kind IS NULL OR kind = :of_kind) AND time >= :since
ORDER BY source, {", ".join(_KEY)}
"""  # noqa: S608
_GONE = """
SELECT f.dataset_id, f.resource_id, f.field, f.kind FROM flaws f JOIN documents d ON d.source = f.source
AND d.kind = ?2 AND d.dataset_id = f.dataset_id AND d.resource_id = '' WHERE f.source = ?1 AND d.status = 'withdrawn'
"""

FLAWS = Followed(FILE, "flaws")
"""flaws.jsonl, which the table follows."""


class Flaws:
    """The flaws of one source that stand: those that wait to be written, then those in index.sqlite."""

    def __init__(self, database: Database, source: str) -> None:
        self.database = database
        self.source = source
        self.waiting: dict[Key, Line] = {}

    @property
    def is_full(self) -> bool:
        """Whether it is time to write."""
        return len(self.waiting) >= ROWS

    def put(self, found: Iterable[Line]) -> None:
        """Remember flaws that appeared or are gone, after their lines are in flaws.jsonl."""
        self.waiting.update((key(line), line) for line in found)

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
            FLAWS.note(db, folder, FLAWS.size(folder))

    def clear(self) -> None:
        """Forget what has been written."""
        self.waiting.clear()


def standing(
    db: sqlite3.Connection,
    source: str | None = None,
    *,
    run: str | None = None,
    kind: str | None = None,
    since: str = "",
    after: tuple[str, ...] = ("", "", "", "", ""),
) -> Iterator[sqlite3.Row]:
    """Yield the flaws that stand, by source, dataset, resource, field and kind.

    Args:
        db: the index.
        source: the only source.
        run: the only run in which they appeared.
        kind: the only kind.
        since: the moment before which they appeared that are left out, in UTC and in milliseconds.
        after: source, dataset id, resource id, field and kind of the flaw after which the list goes on.
    """
    names = ("source", *_KEY)
    query = _STANDING.format(only="AND source = :source" if source else "")
    given = {f"after_{name}": value for name, value in zip(names, after, strict=True)}
    yield from db.execute(query, {**given, "source": source, "run": run, "of_kind": kind, "since": since})


def key(line: Line) -> Key:
    """Return what the flaw of a line is known by."""
    return line.get("dataset_id") or "", line.get("resource_id") or "", line.get("field") or "", line["kind"]


def catch_up(db: sqlite3.Connection, folder: Path) -> None:
    """Read what flaws.jsonl has and the index lacks; all of it if the file is another one."""
    FLAWS.catch_up(db, folder, _flaw, lambda found: _apply(db, folder.name, found))


def _apply(db: sqlite3.Connection, source: str, found: Iterable[Line]) -> None:
    for line in found:
        if line["status"] == "gone":
            db.execute(_DROP, (source, *key(line)))
        else:
            db.execute(_PUT, (source, *key(line), *(line.get(name) for name in _COLUMNS[len(_KEY) :])))


def _flaw(text: bytes | None) -> Line | None:
    """Return the flaw of a line; ``None`` for a line that no crawl wrote."""
    line = lines.entry(text)
    if line is None or line.get("status") not in ("new", "gone"):
        return None
    if not all(isinstance(line.get(name), str) for name in _REQUIRED):
        return None
    return line if all(value is None or lines.is_text(value) for value in map(line.get, _COLUMNS)) else None
