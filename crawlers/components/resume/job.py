"""A job: what a crawl must remember to go on after it was stopped, in one SQLite file in JOBDIR, the ledger."""

from __future__ import annotations

import errno
import json
import logging
import sqlite3
import time
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self
from weakref import WeakKeyDictionary

from scrapy import signals

from crawlers.exceptions import CrawlersError, JobError, JobFinished

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Sequence

    from scrapy.crawler import Crawler
    from scrapy.statscollectors import StatsCollector

logger = logging.getLogger(__name__)

FORMAT = 7
_SCHEMA = """
PRAGMA auto_vacuum = INCREMENTAL;
PRAGMA journal_mode = WAL;
PRAGMA synchronous = NORMAL;
PRAGMA journal_size_limit = 8388608;
CREATE TABLE IF NOT EXISTS facts (name TEXT PRIMARY KEY, value TEXT) WITHOUT ROWID;
"""
_TABLES = """
CREATE TABLE IF NOT EXISTS seen (fingerprint BLOB PRIMARY KEY) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS requests (
    id INTEGER PRIMARY KEY, host TEXT NOT NULL DEFAULT '', priority INTEGER, state INTEGER NOT NULL, request TEXT
);
CREATE INDEX IF NOT EXISTS waiting ON requests (host, priority DESC, id) WHERE state = 0;
CREATE TABLE IF NOT EXISTS records (
    kind TEXT, dataset_id TEXT, resource_id TEXT, planned_by TEXT, outcome TEXT, fallback INTEGER,
    PRIMARY KEY (kind, dataset_id, resource_id)
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS listed (dataset_id TEXT, list TEXT, by TEXT, PRIMARY KEY (dataset_id, list)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS walks (
    name TEXT PRIMARY KEY, tree TEXT NOT NULL DEFAULT '', state TEXT NOT NULL, evidence TEXT, total INTEGER,
    listed INTEGER
);
CREATE INDEX IF NOT EXISTS open_walks ON walks (name) WHERE state = 'open';
CREATE TABLE IF NOT EXISTS failures (key TEXT PRIMARY KEY, kind TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS flaws (
    dataset_id TEXT, resource_id TEXT, field TEXT, kind TEXT, failed TEXT NOT NULL,
    PRIMARY KEY (dataset_id, resource_id, field, kind)
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS notes (topic TEXT, name TEXT, value TEXT, PRIMARY KEY (topic, name)) WITHOUT ROWID;
"""  # made once the facts say that the ledger is of this format
_JOBS: WeakKeyDictionary[Any, Any] = WeakKeyDictionary()
_STATS = (
    "catalogue/planned",
    "catalogue/ended",
    "catalogue/failed",
    "politeness/",
    "downloader/request_count",
    "downloader/response_bytes",
    "retry/count",
)
_COMMIT_SECONDS = 0.1
_COMMIT_CHANGES = 2000
_LONGEST = 20_000  # changes of a callback that does not pause: a transaction takes its size in the WAL, for good
_FREED = 256  # pages that a commit gives back to the disk, at most: that takes 5 ms
_SPARE = 4  # if less than this part of the pages is free, it is kept for the next rows
_ROWS = ("seen", "requests", "records", "listed", "failures", "flaws", "notes", "walks")


class Job:
    """The ledger, held open while a spider crawls. Without JOBDIR it is a temporary file, gone when the crawl ends.

    All changes go through one transaction after another, in order: after a kill the ledger is in a recent
    consistent state, and work that it does not contain is repeated.

    Attributes:
        state: facts about the run, JSON values by name; stored with every commit. A finished job's ``verdict`` and
            ``report`` are shown when it is started again.
        resumed: whether the job was started before.
        broken: whether something could not be written: from then on no request counts as done, so all are repeated.
    """

    def __init__(self, folder: Path | None, identity: dict[str, Any]) -> None:
        self.path = folder and folder / "ledger.sqlite"
        if folder:
            folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        self.db = sqlite3.connect(self.path or "", isolation_level=None, timeout=0.5)
        try:
            self.db.executescript(_SCHEMA)
            self.db.execute("BEGIN IMMEDIATE")
            self._check(identity)
            for statement in _TABLES.split(";"):
                self.db.execute(statement)
            self.state: dict[str, Any] = self._object("state")
        except CrawlersError:
            self.db.close()
            raise
        except sqlite3.OperationalError as error:
            self.db.close()
            raise JobError(f"{self.path} can't be used ({error}): is another crawl running with this JOBDIR?") from None
        except sqlite3.DatabaseError as error:
            self.db.close()
            raise JobError(f"{self.path} is no ledger ({error}): choose another JOBDIR") from None
        self.committed = time.monotonic()
        self.changes = 0
        self.finished = False
        self.broken = False
        self.stats: StatsCollector | None = None

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        """Return the crawler's job, and open it at the first call.

        Raises:
            JobError: JOBDIR belongs to another spider, other arguments or another version, or is damaged.
            JobFinished: there is nothing left to do in it.
        """
        jobdir, spider = crawler.settings["JOBDIR"], crawler.spider
        identity = {"spider": spider.name, "arguments": getattr(spider, "given", {})}  # type: ignore[union-attr]
        identity |= getattr(spider, "identity", {})
        if crawler.settings["OUTPUT_DIR"]:
            identity["output"] = str(Path(crawler.settings["OUTPUT_DIR"]).resolve())
        if crawler in _JOBS:
            return _JOBS[crawler]  # type: ignore[no-any-return]
        job = _JOBS[crawler] = cls(Path(jobdir) if jobdir else None, identity)
        job.stats = crawler.stats
        for name, value in job.state.get("stats", {}).items():
            crawler.stats.set_value(name, value)
        crawler.signals.connect(job.spider_closed, signal=signals.spider_closed)
        crawler.signals.connect(job.engine_stopped, signal=signals.engine_stopped)
        return job

    def spider_closed(self, reason: str) -> None:
        self.finished = reason == "finished"

    def engine_stopped(self) -> None:
        """Close the ledger after all others have stored what they learn when the spider closes."""
        try:
            if self.finished and not self.broken:
                self.set_fact("finished", "1")
                _clear(self.db)
            self.commit()
        except (OSError, sqlite3.OperationalError) as error:
            logger.error("%s: the same command goes on from what is stored", error)  # noqa: TRY400
        if self.finished and not self.broken:
            _shrink(self.db)
        self.db.close()

    def fact(self, name: str) -> str | None:
        row = self.db.execute("SELECT value FROM facts WHERE name = ?", (name,)).fetchone()
        return str(row[0]) if row else None

    def set_fact(self, name: str, value: str) -> None:
        self.db.execute("INSERT OR REPLACE INTO facts VALUES (?, ?)", (name, value))

    def execute(self, statement: str, parameters: Iterable[Any] = ()) -> sqlite3.Cursor:
        """Make a change that is stored with the next commit, soon.

        Raises:
            OSError: the disk is full.
        """
        with self.changing(1):
            return self.db.execute(statement, tuple(parameters))

    def execute_many(self, statement: str, rows: Collection[Sequence[Any]]) -> None:
        """Make a change for each of the rows.

        Raises:
            OSError: the disk is full.
        """
        with self.changing(len(rows)):
            self.db.executemany(statement, rows)

    @contextmanager
    def changing(self, count: int) -> Iterator[None]:
        """Make some changes of ``db`` within that are stored together, with the next commit.

        Args:
            count: how many, about.

        Raises:
            OSError: the disk is full.
        """
        if self.changes >= _LONGEST:
            self.commit()
        self.changes += count
        with self._full_disk():
            if self.broken:  # SQLite has rolled back, and would store each change from here on by itself
                raise sqlite3.OperationalError("it is left as it was")
            yield

    def commit_soon(self) -> None:
        """Commit if enough changes or enough time have passed since the last commit."""
        if self.changes and (self.changes >= _COMMIT_CHANGES or time.monotonic() - self.committed >= _COMMIT_SECONDS):
            self.commit()

    def commit(self) -> None:
        if self.stats is not None:
            known = self.stats.get_stats().items()
            self.state["stats"] = {name: value for name, value in known if name.startswith(_STATS)}
        if self.broken:
            return
        with self._full_disk():
            self.set_fact("state", json.dumps(self.state))
            self.db.execute("COMMIT")
            _give_back(self.db)
            self.db.execute("BEGIN IMMEDIATE")
        self.committed = time.monotonic()
        self.changes = 0

    @contextmanager
    def _full_disk(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.DatabaseError as error:
            self.broken = True
            raise OSError(errno.ENOSPC, f"the ledger can't be written: {error}") from None

    def _check(self, identity: dict[str, Any]) -> None:
        self.resumed = self.fact("identity") is not None
        known, wanted = self._object("identity"), {"format": FORMAT} | identity
        if self.resumed:
            is_other = known != wanted | {"format": known.get("format")}
            if is_other or not self._is_readable(known):
                raise JobError(_difference(self.path, known, wanted))
            if self.fact("finished"):
                raise _finished(self.path, self._object("state"))
        self.set_fact("identity", json.dumps(wanted))

    def _is_readable(self, identity: dict[str, Any]) -> bool:
        """Return whether a job is finished, or of this format: one before has the lists of another machine."""
        return bool(self.fact("finished")) or identity.get("format") == FORMAT

    def _object(self, name: str) -> dict[str, Any]:
        """
        Raises:
            JobError: the fact is no JSON object.
        """
        try:
            found = json.loads(self.fact(name) or "{}")
        except (ValueError, RecursionError):
            found = None
        if not isinstance(found, dict) or not isinstance(found.get("stats", {}), dict):
            raise JobError(f"{self.path} is damaged ({name}): choose another JOBDIR")
        return found


def discard(folder: Path) -> bool:
    """Remove the ledger in a JOBDIR, so that the next job starts from the beginning; return whether there was one.

    Raises:
        JobError: it can't be removed.
    """
    paths = list(folder.glob("ledger.sqlite*"))
    try:
        for path in paths:
            path.unlink(missing_ok=True)
    except OSError as error:
        raise JobError(f"{error.filename} is obsolete and can't be removed ({error.strerror}): remove it") from None
    return bool(paths)


def _finished(path: Path | None, state: dict[str, Any]) -> JobFinished:
    """
    Args:
        state: may have the run's verdict, and the path of its report.
    """
    verdict = state.get("verdict")
    how = f": {verdict}, says {state.get('report')}" if verdict else ""
    return JobFinished(f"the job in {path} is finished{how}. Nothing was requested; delete it to crawl again.", verdict)


def _difference(path: Path | None, known: dict[str, Any], wanted: dict[str, Any]) -> str:
    name = next(name for name in (*known, *wanted) if known.get(name) != wanted.get(name))
    return f"the job in {path} is of {name} {known.get(name)!r}, not {wanted.get(name)!r}: choose another JOBDIR"


def _clear(db: sqlite3.Connection) -> None:
    """Delete what a job needs to go on; the numbers of a finished one are in its run's report."""
    for table in _ROWS:
        db.execute(f"DELETE FROM {table}")  # noqa: S608  # the names are this module's


def _give_back(db: sqlite3.Connection) -> None:
    """Give some of the disk back that the rows of done requests took; outside of a transaction."""
    free, pages = (db.execute(f"PRAGMA {name}").fetchone()[0] for name in ("freelist_count", "page_count"))
    if free > _FREED and _SPARE * free > pages:
        db.executescript(f"PRAGMA incremental_vacuum({_FREED})")  # `execute` would free one page


def _shrink(db: sqlite3.Connection) -> None:
    """Give the disk back what the rows took."""
    with suppress(sqlite3.OperationalError):  # a full disk, say: the ledger stays as large as it is
        db.execute("ROLLBACK")
        db.execute("VACUUM")
