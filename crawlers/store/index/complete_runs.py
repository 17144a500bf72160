"""What a run covers, and the last complete run that covered the same: a new run may build on that one."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from crawlers.safety.redact import redact
from crawlers.store.index import reports
from crawlers.store.index.database import transaction

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from crawlers.store.index.batch import Batch
    from crawlers.store.index.database import Database

_SAME_SCOPE = ("since", "rows", "source", "defaults", "overrides")
FILTERS = ("q", "fq", "organization", "group", "tag")
"""CKAN's arguments that choose a part of a source."""
_CHOICES = (*FILTERS, "set", "graph")
"""Those of all kinds."""

_COMPLETE = "INSERT OR REPLACE INTO complete VALUES (?, ?, ?, ?, ?)"
_STARTED = "SELECT started FROM complete WHERE source = ? AND scope = ?"
_STATUS = """
SELECT status FROM complete JOIN changes USING (source)
WHERE source = ? AND scope = ? AND dataset_id = ? AND changes.run <= complete.run ORDER BY time DESC LIMIT 1
"""
_ARGUMENTS = "SELECT DISTINCT spider, arguments FROM runs WHERE source = ?"
_RUNS = "SELECT run, spider, arguments FROM runs WHERE source = ?"
_SEEN_BY = """
SELECT dataset_id FROM documents d WHERE d.source = :source AND d.kind = 'dataset' AND d.dataset_id > :after
    AND d.status != 'withdrawn' AND (:origins IS NULL OR d.metadata_source IN (SELECT value FROM json_each(:origins)))
    AND EXISTS (
        SELECT 1 FROM runs r WHERE r.source = d.source AND r.spider = :spider
        AND r.arguments IN (SELECT value FROM json_each(:arguments)) AND (
            r.started = d.last_seen OR (r.run = d.run AND NOT EXISTS (
                SELECT 1 FROM runs o WHERE o.source = d.source AND o.started = d.last_seen
            ))
        )
    ) ORDER BY d.dataset_id LIMIT :many
"""
_VALIDATORS = """
SELECT validators, run FROM complete WHERE source = :source AND scope = :scope AND NOT EXISTS
(SELECT 1 FROM documents WHERE source = :source AND run > complete.run)
"""
_MANY = 500  # datasets read in one query
_MARKED = 10_000  # datasets that are marked as seen in one transaction
_SEEN = """
UPDATE documents SET last_seen = :at WHERE source = :source AND kind = 'dataset'
    AND dataset_id > :after AND dataset_id <= :last AND status != 'withdrawn' AND last_seen < :at
    AND (:runs IS NULL OR run IN (SELECT value FROM json_each(:runs)))
"""
_LAST = """
SELECT max(dataset_id) FROM (
    SELECT dataset_id FROM documents WHERE source = :source AND kind = 'dataset' AND dataset_id > :after
    ORDER BY dataset_id LIMIT :many
)
"""


def sees_all(given: Mapping[str, str]) -> bool:
    """Return whether a run without errors sees all that the source has: a filter leaves some out."""
    return given.keys().isdisjoint(_CHOICES)


def from_the_beginning(given: Mapping[str, str]) -> bool:
    """Return whether a complete run leaves nothing out: ``since`` a date leaves out what was never crawled."""
    return given.get("since", "last") == "last"


def scope(spider: str, given: Mapping[str, str]) -> str:
    """Return what a run covers: two runs of one scope list the same datasets and ask the same of them.

    Fields that the operator sets are set without a request, and make no difference; what is excluded does.

    Args:
        spider: the spider's name.
        given: the run's arguments; a report has them without credentials, which make no difference here.
    """
    kept = {name: redact(value) for name, value in given.items() if name not in _SAME_SCOPE}
    return json.dumps({"spider": spider, **kept}, sort_keys=True)


def _selection(given: Mapping[str, str]) -> dict[str, str]:
    """Return the arguments that choose the portal and what is listed of it."""
    return {name: value for name, value in given.items() if name in (*_CHOICES, "portal", "url")}


def listing(scope: str) -> str:
    """Return the scope of the listing alone: it may be whole although a record of it fails in every run."""
    return f"listing {scope}"


class CompleteRuns:
    """The last complete runs of a source, by their scope.

    Args:
        database: index.sqlite.
        batch: the documents that wait to be written.
        folder: the source's.
    """

    def __init__(self, database: Database, batch: Batch, folder: Path) -> None:
        self.database = database
        self.batch = batch
        self.folder = folder

    def last_complete(self, scope: str) -> str | None:
        """Return when the last complete run of this scope began."""
        rows = self.database.rows(_STARTED, (self.folder.name, scope))
        return str(rows[0][0]) if rows else None

    def last_had(self, dataset_id: str, scope: str) -> bool:
        """Return whether the last complete run of this scope left a dataset that is not withdrawn."""
        rows = self.database.rows(_STATUS, (self.folder.name, scope, dataset_id))
        return bool(rows) and rows[0][0] != "withdrawn"

    def last_seen_by(
        self, spider: str, given: Mapping[str, str], origins: Sequence[str] | None = None
    ) -> Iterator[str]:
        """Yield the datasets that are not withdrawn and that a run with these filters saw last, by id.

        Where an index was rebuilt, which run saw a dataset last is not known: then the one that wrote it counts.

        Args:
            spider: the spider's name.
            given: the run's arguments.
            origins: the ``metadata_source`` names of the documents that count; by default all do.
        """
        runs, last = self.database.rows(_ARGUMENTS, (self.folder.name,)), ""
        chosen = _selection({name: redact(value) for name, value in given.items()})
        arguments = [known for name, known in runs if name == spider and _selection(json.loads(known)) == chosen]
        words: dict[str, Any] = {"source": self.folder.name, "spider": spider, "arguments": json.dumps(arguments)}
        words |= {"origins": json.dumps(origins) if origins else None, "many": _MANY}
        pending = self.batch.of_kind("dataset")
        while rows := self.database.rows(_SEEN_BY, {**words, "after": last}):
            yield from (dataset_id for (dataset_id,) in rows if dataset_id not in pending)
            last = rows[-1][0]

    def validators(self, scope: str) -> dict[str, str]:
        """Return the ETag and Last-Modified headers that the last complete run of this scope received.

        None are returned if a later run has written documents: they no longer describe what is on disk.
        """
        rows = self.database.rows(_VALIDATORS, {"source": self.folder.name, "scope": scope})
        if not rows or any(known.run > rows[0][1] for known in self.batch.documents.values()):
            return {}
        return dict(json.loads(rows[0][0]))

    def read_reports(self) -> None:
        """Read from the run reports what the manifest lacks: which runs were complete, and when they saw datasets."""
        whole, db = [], self.database.db
        for path in sorted((self.folder / "runs").glob("*.json"), key=lambda path: path.stem):
            try:
                report = reports.read(path)
            except reports.UNREADABLE:
                continue  # it was logged when the index caught up
            reports.prepare(db, reports.rows(self.folder.name, report))
            with transaction(db):
                if remember(db, self.folder.name, report):
                    whole.append((report["started"], report["spider"], report["arguments"]))
        mark_seen(db, self.folder.name, whole)


def remember(db: sqlite3.Connection, source: str, report: Mapping[str, Any]) -> bool:
    """Store a run; return whether its listing was whole, so that later runs may build on it.

    The caller begins the transaction.
    """
    reports.store(db, reports.rows(source, report))
    if not from_the_beginning(report["arguments"]) or report.get("provisional"):
        return False
    covered, is_whole = scope(report["spider"], report["arguments"]), bool(report.get("whole_listing"))
    complete = [covered] if report["verdict"] == "complete" else []
    for name in [*complete, listing(covered)] if is_whole else complete:
        validators = json.dumps(report.get("validators", {}))
        db.execute(_COMPLETE, (source, name, report["started"], report["run"], validators))
    return is_whole


def mark_seen(db: sqlite3.Connection, source: str, whole: Iterable[tuple[str, str, Mapping[str, str]]]) -> None:
    """Note that whole listings had all datasets that are not withdrawn; with a filter, those that it wrote.

    Args:
        whole: when each began, by which spider, with which arguments.
    """
    newest: dict[tuple[str, str] | None, str] = {}
    for started, spider, arguments in whole:
        part = None if sees_all(arguments) else _part(spider, arguments)
        newest[part] = max(newest.get(part, ""), started)
    writers: dict[tuple[str, str] | None, list[str]] = {}
    for run, spider, arguments in db.execute(_RUNS, (source,)):
        writers.setdefault(_part(spider, json.loads(arguments)), []).append(run)
    for part, moment in newest.items():
        _mark_seen(db, source, moment, json.dumps(writers.get(part, [])) if part else None)


def _part(spider: str, arguments: Mapping[str, str]) -> tuple[str, str]:
    """Return what identifies the part of a source that a run lists."""
    return spider, json.dumps(_selection(arguments), sort_keys=True)


def _mark_seen(db: sqlite3.Connection, source: str, moment: str, runs: str | None) -> None:
    """Note that what some runs wrote was there at a moment, in several transactions; ``None``: what any run wrote."""
    words = {"source": source, "at": moment, "runs": runs, "after": "", "many": _MARKED}
    while last := db.execute(_LAST, words).fetchone()[0]:
        with transaction(db):
            db.execute(_SEEN, words | {"last": last})
        words["after"] = last
