"""What changed in the datasets: of all sources, of one, of a publisher or of a dataset; and what differs then.

The index has a row for each change, so that no manifest is read; which fields changed is in versions.sqlite.
"""

from __future__ import annotations

import sqlite3
from collections import OrderedDict
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple, Self

from crawlers.exceptions import OutputError
from crawlers.store.difference import difference
from crawlers.store.history import Bodies, Version
from crawlers.store.index.documents import stored

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    from crawlers.store.difference import Difference
    from crawlers.store.index.known import Known

Row = dict[str, Any]
Place = tuple[str, str, str, str]
"""Where a list of changes stops: time, source, dataset id, status."""

_ALL = "changes c LEFT JOIN datasets d ON d.source = c.source AND d.dataset_id = c.dataset_id"
_OF_PUBLISHER = "datasets d CROSS JOIN changes c ON c.source = d.source AND c.dataset_id = d.dataset_id"
_CONDITIONS = {
    "source": "c.source = :source",
    "dataset_id": "c.dataset_id = :dataset_id",
    "publisher": "d.id IN (SELECT rowid FROM search WHERE search MATCH :words) AND d.publisher = :publisher",
    "status": "c.status = :status",
    "since": "c.time >= :since",
    "until": "c.time <= :until",
}
_AFTER = "(c.time, c.source, c.dataset_id, c.status) < (:a_time, :a_source, :a_dataset_id, :a_status)"
_AFTER_OF_ONE = "(c.time, c.dataset_id, c.status) < (:a_time, :a_dataset_id, :a_status)"
_CHANGES = """
    SELECT c.time, c.source, c.dataset_id, c.status, c.run, d.id IS NOT NULL AS known,
        substr(d.title, 1, 1000) AS title, d.name, substr(d.publisher, 1, 1000) AS publisher, {about} AS about
    FROM {tables} WHERE {conditions} ORDER BY c.time DESC, {source}c.dataset_id DESC, c.status DESC
"""  # in the order of the table's indexes, the one of all sources and the one of each
_DAYS = """
    SELECT day, status, sum(count) AS count FROM daily_changes
    WHERE ?1 = '' OR source = ?1 GROUP BY day, status ORDER BY day DESC
"""
_OPEN = 8
_LARGEST = 1024 * 1024  # bytes of a version that is compared for a list


@dataclass(frozen=True, slots=True)
class Wanted:
    """The changes that are wanted; an empty text matches all.

    Args:
        source: its name.
        publisher: of the dataset, as the index has it now.
        dataset_id: the dataset's; with its source.
        status: new, updated, withdrawn or restored.
        since, until: moments in UTC, as lines have them; both count.
    """

    source: str = ""
    publisher: str = ""
    dataset_id: str = ""
    status: str = ""
    since: str = ""
    until: str = ""


def changes(
    db: sqlite3.Connection, output: Path, wanted: Wanted, after: Place | None = None, *, has_about: bool = False
) -> Iterator[Row]:
    """Yield the changes of datasets, the newest first: each with its dataset's title, and ``fields``, which changed.

    ``fields`` is ``None`` if that is not known; ``known`` is whether the index has the dataset.

    Args:
        output: OUTPUT_DIR.
        after: the change after which the list goes on.
        has_about: whether the beginning of the dataset's description is wanted.
    """
    with Kept(output) as kept:
        yield from kept.with_fields(rows(db, wanted, after, has_about=has_about))


def rows(
    db: sqlite3.Connection, wanted: Wanted, after: Place | None = None, *, has_about: bool = False
) -> Iterator[sqlite3.Row]:
    """Yield the same without ``fields``: no source's versions are opened."""
    for since, until in _spans(db, wanted):
        yield from _rows(db, replace(wanted, since=since, until=until), after, has_about=has_about)


def _spans(db: sqlite3.Connection, wanted: Wanted) -> Iterator[tuple[str, str]]:
    """Yield the times between which there are changes, the last first: few days may have one of a status."""
    if not wanted.status or wanted.publisher or wanted.dataset_id:
        yield wanted.since, wanted.until
        return
    for day, counts in days(db, wanted.source).items():
        if day < wanted.since[:10]:
            return
        if wanted.status in counts:
            yield max(wanted.since, day), min(wanted.until or "~", f"{day}~")


def _rows(db: sqlite3.Connection, wanted: Wanted, after: Place | None, *, has_about: bool) -> Iterator[sqlite3.Row]:
    given = {name: value for name, value in asdict(wanted).items() if value}
    conditions = [_CONDITIONS[name] for name in given]
    if after:
        given |= dict(zip(("a_time", "a_source", "a_dataset_id", "a_status"), after, strict=True))
        conditions.append(_AFTER_OF_ONE if wanted.source else _AFTER)
    query = _CHANGES.format(
        about="substr(d.description, 1, 4000)" if has_about else "NULL",
        tables=_OF_PUBLISHER if wanted.publisher else _ALL,
        conditions=" AND ".join(conditions) or "1",
        source="" if wanted.source else "c.source DESC, ",
    )
    quoted = '"{}"'.format(wanted.publisher.replace('"', '""').replace("\0", " "))
    return iter(db.execute(query, given | {"words": f"publisher : {quoted}"}))


def days(db: sqlite3.Connection, source: str = "") -> dict[str, dict[str, int]]:
    """Return how many changes of each status each day has, in UTC, the newest first; of a source, or of all."""
    found: dict[str, dict[str, int]] = {}
    for day, status, count in db.execute(_DAYS, (source,)):
        found.setdefault(day, {})[status] = count
    return found


class Compared(NamedTuple):
    """What differs in a change.

    Args:
        difference: ``None`` if there is none to tell.
        reason: a sentence that says why, if it is not evident.
    """

    difference: Difference | None = None
    reason: str | None = None


class Kept:
    """The former versions of several sources, each opened when it is asked for; what is damaged has none.

    Few are open at a time: a process may open about a thousand files, and there may be more sources.

    Args:
        output: OUTPUT_DIR.
    """

    def __init__(self, output: Path) -> None:
        self.output = output
        self.opened: OrderedDict[str, Bodies | None] = OrderedDict()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        while self.opened:
            self._close_first()

    def _close_first(self) -> None:
        _, bodies = self.opened.popitem(last=False)
        if bodies:
            bodies.versions.close()

    def of(self, source: str) -> Bodies | None:
        """Return the versions of a source; ``None`` if they can't be read."""
        if source not in self.opened:
            if len(self.opened) >= _OPEN:
                self._close_first()
            try:
                self.opened[source] = Bodies(self.output / source)
            except OutputError:
                self.opened[source] = None
        self.opened.move_to_end(source)
        return self.opened[source]

    def with_fields(self, found: Iterable[sqlite3.Row]) -> Iterator[Row]:
        """Yield changes with ``fields``, which changed."""
        return (dict(row) | {"fields": self.fields(row)} for row in found)

    def fields(self, change: sqlite3.Row | Row) -> list[str] | None:
        """Return which fields a change changed; ``None`` if that is not known, as of a dataset that is new."""
        bodies = None if change["status"] == "new" else self.of(change["source"])
        try:
            return bodies.versions.fields(_key(change), change["run"], change["status"]) if bodies else None
        except OutputError:
            return None

    def size(self, db: sqlite3.Connection, change: Row) -> int | None:
        """Return the bytes of the version that a change made; ``None`` if that is not known."""
        bodies, known = self.of(change["source"]), stored(db, change["source"], _key(change))
        try:
            found = bodies.versions.of_run(_key(change), known, change["run"]) if bodies and known else None
        except OutputError:
            return None
        return found.bytes if found else None

    def compared(self, db: sqlite3.Connection, change: Row) -> Compared:
        """Return what differs from the version before.

        A former version is read as today's would be: where it came from then is in the manifest alone.
        """
        if change["status"] not in ("updated", "restored"):
            return Compared()
        bodies, known = self.of(change["source"]), stored(db, change["source"], _key(change))
        try:
            pair = _pair(bodies, known, change) if bodies and known else (None, None)
            if not bodies or not all(pair):
                return Compared(None, "What changed is not known: the bytes of a version are not kept.")
            before, after = (Version(_key(change), version, "") for version in pair if version)
            if max(before.known.bytes, after.known.bytes) > _LARGEST:
                return Compared(None, "The versions are too large to be compared here.")
            one, other = bodies.body(before), bodies.body(after)
            if one is None or other is None:
                return Compared(None, "What changed is not known: the bytes of a version are not kept.")
            return Compared(difference(one, other, bodies.item(before), bodies.item(after)))
        except OutputError:
            return Compared(None, "What changed can't be read: versions.sqlite is damaged.")


def _pair(bodies: Bodies, known: Known, change: Row) -> tuple[Known | None, Known | None]:
    key, run = _key(change), change["run"]
    return bodies.versions.before(key, known, run, change["status"]), bodies.versions.of_run(key, known, run)


def _key(change: sqlite3.Row | Row) -> tuple[str, str, str]:
    return ("dataset", change["dataset_id"], "")
