"""Run reports in the index: a row for each and for each of its kinds of errors, and what later runs may build on."""

from __future__ import annotations

import json
import logging
import os
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

from crawlers.exceptions import AnswerError
from crawlers.records.moment import seconds
from crawlers.safety import inside
from crawlers.safety.redact import redact
from crawlers.safety.sqlite import transaction
from crawlers.signals import OUTCOMES
from crawlers.store.index.database import outdate

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from crawlers.items import Dataset
    from crawlers.store.index.batch import Batch
    from crawlers.store.index.database import Database


logger = logging.getLogger(__name__)

UNREADABLE = (OSError, ValueError, RecursionError)
"""What `read` raises for a damaged report; `rows` raises ValueError."""

_RUN = f"INSERT OR REPLACE INTO runs VALUES ({', '.join('?' * 24)})"  # noqa: S608
_NO_ERRORS = "DELETE FROM run_errors WHERE source = ? AND run = ?"
_ERROR = "INSERT INTO run_errors VALUES (?, ?, ?, ?)"
_ARGUMENTS = "SELECT arguments FROM runs WHERE source = ? AND run < ? ORDER BY run DESC LIMIT 1"
_OF_A_RUN = ("runs", "run_errors", "interrupted")
_OF_VERDICT = 8
_KNOWN = """
SELECT run, CASE WHEN verdict = 'interrupted' THEN coalesce(changed, -1) END
FROM runs LEFT JOIN interrupted USING (source, run) WHERE source = ?
"""
_NOTE = "INSERT OR REPLACE INTO interrupted VALUES (?, ?, ?)"
_LARGEST = 2**63 - 1
_MOST = 16 * 1024 * 1024  # bytes of a report


class Rows(NamedTuple):
    """A report's rows in the tables runs and run_errors."""

    key: tuple[str, str]
    run: tuple[Any, ...]
    errors: list[tuple[Any, ...]]


def read(path: Path) -> dict[str, Any]:
    """Return a run report.

    Raises:
        OSError, ValueError, RecursionError: it cannot be read, or is not a report (`UNREADABLE`).
    """
    report = json.loads(inside.read(path.parent.parent, f"runs/{path.name}", _MOST))
    rows("", report)
    if report["run"] != path.stem:
        raise ValueError(f"it is the report of {report['run']}")
    return dict(report)


def amendments(folder: Path) -> tuple[Callable[[Dataset], None], ...]:
    """Return what changes the items of a source, in order: the spider of its last run, then its operator.

    Args:
        folder: the source's.
    """
    try:
        return _amendments(folder, (folder / "runs").stat().st_mtime_ns)
    except OSError:
        return ()


@lru_cache(maxsize=16)
def _amendments(folder: Path, changed: int) -> tuple[Callable[[Dataset], None], ...]:  # noqa: ARG001 -- when a report was added last
    for name in sorted(names(folder), reverse=True):
        try:
            report = read(folder / "runs" / f"{name}.json")
            return tuple(_changes(report["arguments"], report.get("completed_by")))
        except UNREADABLE:
            continue
    return ()


def _changes(arguments: Mapping[str, str], spider: str | None) -> Iterator[Callable[[Dataset], None]]:
    """Yield the changes of a run; few sources have any, so what they need is imported here."""
    if spider:
        yield _completion(spider)
    if arguments.keys() & {"defaults", "overrides"}:
        from crawlers.records.curation import Curation  # noqa: PLC0415

        yield Curation.from_arguments(arguments).amend


def _completion(name: str) -> Callable[[Dataset], None]:
    from scrapy.spiderloader import get_spider_loader  # noqa: PLC0415
    from scrapy.utils.project import get_project_settings  # noqa: PLC0415

    try:
        spider: Any = get_spider_loader(get_project_settings()).load(name)
    except KeyError:
        logger.warning("There is no spider %s here, which completes its items: they are as mapped.", name)
        return lambda _: None

    def complete(item: Dataset) -> None:
        try:
            spider.complete_item(item)
        except Exception as error:
            raise AnswerError("bug", f"{name}.complete_item fails: {type(error).__name__}: {error}") from error

    return complete


def rows(source: str, report: Mapping[str, Any]) -> Rows:
    """Return the rows of a run report.

    Raises:
        ValueError: it is not a report: a field is missing, or of another type.
    """
    try:
        return _rows(source, report)
    except (KeyError, TypeError, AttributeError) as error:
        raise ValueError(f"{type(error).__name__}: {error}") from None


def _rows(source: str, report: Mapping[str, Any]) -> Rows:
    took = seconds(report["started"], report["finished"])
    if took is None:
        raise ValueError(f"{report['started']!r} or {report['finished']!r} is no time")
    key, expected = (source, _text(report["run"])), report["expected"]
    run = (
        *(*key, _text(report["spider"]), json.dumps(report["arguments"])),
        *map(_text, (report["started"], report["finished"])),
        took,
        *map(_text, (report["finish_reason"], report["verdict"])),
        *(None if expected is None else _number(expected), _number(report["listed"])),
        *(_number(report["counts"].get(name, 0)) for name in OUTCOMES),
        *map(_number, (report["requests"], report["retries"], report["bytes"], report["resumed"])),
        _text(report["since"]) if report.get("since") else None,
        json.dumps({_text(kind): _number(count) for kind, count in (report.get("flaws") or {}).items()}),
    )
    return Rows(key, run, [(*key, _text(kind), _number(count)) for kind, count in report["errors"].items()])


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError(f"{value!r} is no text")
    value.encode()  # half a surrogate pair is a ValueError
    return value


def _number(value: Any) -> int:
    """Return a number that SQLite can hold: a portal may claim a larger one."""
    if not isinstance(value, int):
        raise TypeError(f"{value!r} is no number")
    return max(-_LARGEST, min(int(value), _LARGEST))


def prepare(db: sqlite3.Connection, rows: Rows) -> None:
    """Have the source's datasets described again if a run sets other fields than the one before; called before `store`.

    That may be many transactions. After a kill it is done again: the run is not stored yet.
    """
    before = db.execute(_ARGUMENTS, rows.key).fetchone()
    if before and _set_fields(before[0]) != _set_fields(rows.run[3]):
        outdate(db, rows.key[0])


def store(db: sqlite3.Connection, rows: Rows) -> None:
    """Write a report's rows; the caller begins the transaction."""
    db.execute(_RUN, rows.run)
    db.execute(_NO_ERRORS, rows.key)
    db.executemany(_ERROR, rows.errors)


def _set_fields(arguments: str) -> list[Any]:
    given = json.loads(arguments)
    return [given.get(name) for name in ("defaults", "overrides")]


def update(db: sqlite3.Connection, folder: Path) -> None:
    """Read the source's reports that are new, and forget those that are gone."""
    unread, gone = differences(db, folder)
    if not (unread or gone):
        return
    with transaction(db):
        for table in _OF_A_RUN:
            keys = ((folder.name, run) for run in gone)
            db.executemany(f"DELETE FROM {table} WHERE source = ? AND run = ?", keys)  # noqa: S608  # the three
    for report in _readable(folder, unread, logger.warning):
        prepare(db, report)
        with transaction(db):
            store(db, report)
            if report.run[_OF_VERDICT] == "interrupted":
                db.execute(_NOTE, (*report.key, unread[report.key[1]]))


def is_behind(db: sqlite3.Connection, folder: Path) -> bool:
    """Return whether the index lacks a report of a source, or has one that is gone; only new ones are opened."""
    unread, gone = differences(db, folder)
    return bool(gone) or any(True for _ in _readable(folder, unread, lambda _: None))


def differences(db: sqlite3.Connection, folder: Path) -> tuple[dict[str, int], set[str]]:
    """Return the names of the source's reports that are to be read, each with when it was last changed; and those gone.

    To be read are the reports that are new, and those of interrupted runs that were changed: a resumed run has another.
    """
    known, there = dict(db.execute(_KNOWN, (folder.name,)).fetchall()), names(folder)
    interrupted = {name: changed for name, changed in known.items() if changed is not None and name in there}
    now = {name: _changed(folder, name) for name in (*(there - known.keys()), *interrupted)}
    unread = {name: changed for name, changed in now.items() if changed != interrupted.get(name)}
    return unread, known.keys() - there


def _changed(folder: Path, name: str) -> int:
    """Return when a report was last changed, in nanoseconds; 0 if that can't be known."""
    try:
        return os.stat(f"{folder}/runs/{name}.json", follow_symlinks=False).st_mtime_ns  # noqa: PTH116 -- of hundreds
    except OSError:
        return 0


def _readable(folder: Path, unread: Iterable[str], lost: Callable[[str], None]) -> Iterator[Rows]:
    """Yield the rows of reports, the oldest first.

    Args:
        lost: called with a sentence for each file that is not a report.
    """
    for path in (folder / "runs" / f"{name}.json" for name in sorted(unread)):
        try:
            yield rows(folder.name, read(path))
        except UNREADABLE as error:
            lost(f"{path} is left out of index.sqlite: it is no run report ({error})")


def names(folder: Path) -> set[str]:
    """Return the runs of a source that have a report; the reports are not read."""
    try:
        found = inside.names(folder, "runs")
    except OSError:
        return set()
    return {name.removesuffix(".json") for name in found if name.endswith(".json")}


# What a run covers, and the last complete run that covered the same: a new run may build on that one

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
_GIVEN = "SELECT DISTINCT spider, arguments FROM runs WHERE source = ?"
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
        runs, last = self.database.rows(_GIVEN, (self.folder.name,)), ""
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
                report = read(path)
            except UNREADABLE:
                continue  # it was logged when the index caught up
            prepare(db, rows(self.folder.name, report))
            with transaction(db):
                if remember(db, self.folder.name, report):
                    whole.append((report["started"], report["spider"], report["arguments"]))
        mark_seen(db, self.folder.name, whole)


def remember(db: sqlite3.Connection, source: str, report: Mapping[str, Any]) -> bool:
    """Store a run; return whether its listing was whole, so that later runs may build on it.

    The caller begins the transaction.
    """
    store(db, rows(source, report))
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
