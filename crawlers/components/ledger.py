"""A crawl that can be stopped anywhere, kill -9 included, and goes on where it was.

Any Scrapy project can use it with one setting: ``SCHEDULER = "crawlers.components.scheduler.LedgerScheduler"``.
"""

from __future__ import annotations

import errno
import json
import logging
import sqlite3
import time
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, Self
from weakref import WeakKeyDictionary

from scrapy import signals

from crawlers.exceptions import CrawlersError, JobError, JobFinished
from crawlers.safety import sqlite

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Sequence

    from scrapy import Request
    from scrapy.crawler import Crawler
    from scrapy.statscollectors import StatsCollector


logger = logging.getLogger(__name__)

FORMAT = 7
_SCHEMA = """
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
        try:
            self.db = sqlite.connect(self.path, _SCHEMA, patience=0.5, gives_back=True)
            self.state = self._begun(identity)
        except sqlite3.OperationalError as error:
            raise JobError(f"{self.path} can't be used ({error}): is another crawl running with this JOBDIR?") from None
        except sqlite3.DatabaseError as error:
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
                for table in _ROWS:  # the numbers of a finished job are in its run's report
                    self.db.execute(f"DELETE FROM {table}")  # noqa: S608  # the names are this module's
            self.commit()
        except (OSError, sqlite3.OperationalError) as error:
            logger.error("%s: run the same command to continue", error)  # noqa: TRY400
        if self.finished and not self.broken:
            with suppress(sqlite3.OperationalError):  # a full disk, say: the ledger stays as large as it is
                self.db.execute("ROLLBACK")
                self.db.execute("VACUUM")
        self.db.close()

    def fact(self, name: str) -> str | None:
        row = self.db.execute("SELECT value FROM facts WHERE name = ?", (name,)).fetchone()
        return str(row[0]) if row else None

    def set_fact(self, name: str, value: str) -> None:
        self.db.execute("INSERT OR REPLACE INTO facts VALUES (?, ?)", (name, value))

    def rows(self, query: str, first: tuple[str, ...], *more: str) -> Iterator[tuple[Any, ...]]:
        """Yield the rows of a query, some at a time, whatever is changed meanwhile.

        Args:
            query: its first parameters are the key of the row before, with which each row begins; its last is a LIMIT.
            first: the key before all others.
            more: the other parameters.
        """
        last = first
        while rows := self.db.execute(query, (*last, *more, _BATCH)).fetchall():
            yield from rows
            last = rows[-1][: len(first)]

    def execute(self, statement: str, parameters: Iterable[Any] = ()) -> sqlite3.Cursor:
        """Make a change that is stored with the next commit, soon."""
        with self.changing(1):
            return self.db.execute(statement, tuple(parameters))

    def execute_many(self, statement: str, rows: Collection[Sequence[Any]]) -> None:
        """Make a change for each of the rows."""
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

    def _begun(self, identity: dict[str, Any]) -> dict[str, Any]:
        """Begin the first transaction, in which a new ledger gets its identity and its tables; return the state."""
        try:
            self.db.execute("BEGIN IMMEDIATE")
            self._check(identity)
            for statement in _TABLES.split(";"):
                self.db.execute(statement)
            return self._object("state")
        except (CrawlersError, sqlite3.Error):
            self.db.close()
            raise

    def _check(self, identity: dict[str, Any]) -> None:
        self.resumed = self.fact("identity") is not None
        known, wanted = self._object("identity"), {"format": FORMAT} | identity
        if self.resumed:
            finished = self.fact("finished")
            other = [name for name in known | wanted if known.get(name) != wanted.get(name)]
            if other and not (finished and other == ["format"]):  # an earlier format has the lists of another machine
                difference = f"{other[0]} {known.get(other[0])!r}, not {wanted.get(other[0])!r}"
                raise JobError(f"the job in {self.path} is of {difference}: choose another JOBDIR")
            if finished:
                state = self._object("state")
                verdict = state.get("verdict")
                how = f": {verdict}, says {state.get('report')}" if verdict else ""
                sentence = f"the job in {self.path} is finished{how}. Nothing was requested; delete it to crawl again."
                raise JobFinished(sentence, verdict)
        self.set_fact("identity", json.dumps(wanted))

    def _object(self, name: str) -> dict[str, Any]:
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


def _give_back(db: sqlite3.Connection) -> None:
    """Give some of the disk back that the rows of done requests took; outside of a transaction."""
    free, pages = (db.execute(f"PRAGMA {name}").fetchone()[0] for name in ("freelist_count", "page_count"))
    if free > _FREED and _SPARE * free > pages:
        db.executescript(f"PRAGMA incremental_vacuum({_FREED})")  # `execute` would free one page


# What a run expects and has seen

Reference = tuple[str, str, str | None]
"""Kind, dataset id, resource id."""
EXCLUDED = "excluded"
"""The outcome of what the operator leaves out, and the list of such datasets."""
IS_KEPT = "outcome IN ('new', 'updated', 'unchanged', 'restored')"
"""SQL: whether a record's document is on disk."""
IS_EXCLUDED = "dataset_id IN (SELECT dataset_id FROM listed WHERE list = 'excluded')"
"""SQL: whether the operator leaves a dataset out. Its outcome may be that it is withdrawn."""

_OPEN = "listed before a kill"
"""What stands for the request that planned a document which is to be listed again."""
_CLAIM = f"""
UPDATE records SET planned_by = ?2 WHERE kind = ?1 AND resource_id = '' AND planned_by = '{_OPEN}'
AND dataset_id IN (SELECT value FROM json_each(?3))
"""  # noqa: S608
_END = """
INSERT INTO records VALUES (?, ?, ?, '', ?, ?)
ON CONFLICT DO UPDATE SET outcome = excluded.outcome, fallback = excluded.fallback
"""
_BATCH = 1000  # rows per query: while a statement is being read, the WAL grows with every write


class Records:
    """The documents of a run, in the job's ledger: expected, then settled; and the lists that its datasets are in.

    Nothing that the portal listed may be silently missing.

    All of it is idempotent: a request that is repeated after a kill expects and settles the same documents as before.
    Ids that come many at a time are without NUL, which ends a text in SQLite's JSON.
    """

    def __init__(self, crawler: Crawler) -> None:
        self.job = Job.from_crawler(crawler)
        self.stats = crawler.stats
        self.failures = Failures(self.job)
        self.request_names = RequestNames(crawler)

    def expect(self, reference: Reference, by: str) -> bool:
        """Expect a document; return whether no other request has listed it before.

        Args:
            by: identifies the request that lists it.
        """
        key = _key(reference)
        plan = "INSERT OR IGNORE INTO records (kind, dataset_id, resource_id, planned_by) VALUES (?, ?, ?, ?)"
        if self.job.execute(plan, (*key, by)).rowcount:
            self.stats.inc_value("catalogue/planned")
            return True
        if self.job.resumed:
            self.job.execute(_CLAIM, (key[0], by, json.dumps([key[1]])))
        query = "SELECT planned_by FROM records WHERE kind = ? AND dataset_id = ? AND resource_id = ?"
        return bool(self.job.db.execute(query, key).fetchone()[0] == by)

    def expect_all(self, kind: str, ids: Sequence[str], by: str) -> set[str]:
        """Expect a document of each dataset, as `expect` does; return the ids of those that are new."""
        plan = """
            INSERT OR IGNORE INTO records (kind, dataset_id, resource_id, planned_by)
            SELECT ?1, value, '', ?2 FROM json_each(?3) WHERE true RETURNING dataset_id
        """
        query = """
            SELECT dataset_id FROM records WHERE kind = ? AND resource_id = '' AND planned_by = ?
            AND dataset_id IN (SELECT value FROM json_each(?))
        """
        parameters = (kind, by, json.dumps(ids))
        new = self.job.execute(plan, parameters).fetchall()
        self.stats.inc_value("catalogue/planned", len(new))
        if self.job.resumed:
            self.job.execute(_CLAIM, parameters)
        return {row[0] for row in self.job.db.execute(query, parameters)}

    @property
    def expected(self) -> int:
        """The number of documents expected so far, of all kinds."""
        return int(self.stats.get_value("catalogue/planned", 0))

    def is_planned(self, kind: str, dataset_id: str, resource_id: str | None = None) -> bool:
        query = "SELECT 1 FROM records WHERE kind = ? AND dataset_id = ? AND resource_id = ?"
        return self.job.db.execute(query, (kind, dataset_id, resource_id or "")).fetchone() is not None

    def planned_among(self, kind: str, ids: Sequence[str]) -> set[str]:
        """Return those of some ids whose document is expected."""
        marks = ", ".join("?" * len(ids))
        query = f"SELECT dataset_id FROM records WHERE kind = ? AND resource_id = '' AND dataset_id IN ({marks})"  # noqa: S608
        return {row[0] for row in self.job.db.execute(query, (kind, *ids))}

    def forget_open(self) -> None:
        """Forget what planned the documents that are not settled: what lists them again plans them."""
        query = "UPDATE records SET planned_by = ? WHERE kind = 'dataset' AND outcome IS NULL"
        self.job.execute(query, (_OPEN,))

    def settle(self, reference: Reference, outcome: str, *, fallback: bool = False) -> None:
        self.job.execute(_END, (*_key(reference), outcome, fallback))
        self.stats.inc_value("catalogue/ended")

    def settle_all(self, entries: Sequence[Settled]) -> None:
        self.job.execute_many(_END, [(*entry.key, entry.status, entry.is_fallback) for entry in entries])
        self.stats.inc_value("catalogue/ended", len(entries))

    def is_settled(self, reference: Reference) -> bool:
        query = "SELECT outcome FROM records WHERE kind = ? AND dataset_id = ? AND resource_id = ?"
        row = self.job.db.execute(query, _key(reference)).fetchone()
        return row is not None and row[0] is not None

    def counts(self) -> dict[str, int]:
        """Return the number of documents by outcome, and of ``fallback`` ones among them."""
        found = dict(self.job.db.execute("SELECT outcome, count(*) FROM records WHERE outcome IS NOT NULL GROUP BY 1"))
        fallback = self.job.db.execute("SELECT count(*) FROM records WHERE fallback").fetchone()[0]
        return {**found, "fallback": fallback}

    def kept(self, kind: str) -> int:
        """Return how many records of a kind have their document on disk, or are left out by the operator."""
        query = f"""
            SELECT count(*) FROM records WHERE kind = ? AND resource_id = '' AND ({IS_KEPT} OR {IS_EXCLUDED})
        """  # noqa: S608
        return int(self.job.db.execute(query, (kind,)).fetchone()[0])

    def received(self, kind: str) -> Iterator[str]:
        """Yield the ids of the documents of a kind that the run has received, also before it was resumed."""
        query = f"""
            SELECT dataset_id FROM records WHERE dataset_id > ? AND kind = ? AND resource_id = '' AND {IS_KEPT}
            ORDER BY dataset_id LIMIT ?
        """  # noqa: S608
        return (row[0] for row in self.job.rows(query, ("",), kind))

    def unaccounted(self) -> Iterator[Reference]:
        query = """
            SELECT kind, dataset_id, resource_id FROM records WHERE (kind, dataset_id, resource_id) > (?, ?, ?)
            AND outcome IS NULL ORDER BY kind, dataset_id, resource_id LIMIT ?
        """
        rows = self.job.rows(query, ("", "", ""))
        return ((kind, dataset_id, resource_id or None) for kind, dataset_id, resource_id in rows)

    # Lists

    def see(self, dataset_id: str, name: str, by: str) -> bool:
        """Record that a list contains a dataset; return whether no other request has listed it before."""
        if self.job.execute("INSERT OR IGNORE INTO listed VALUES (?, ?, ?)", (dataset_id, name, by)).rowcount:
            return True
        return self.listed_by(dataset_id, name) == by

    def see_all(self, ids: Sequence[str], name: str, by: str) -> set[str]:
        """Record that a list contains datasets, as `see` does; return the ids of those that are new."""
        query = (
            "SELECT dataset_id FROM listed WHERE list = ? AND by = ? AND dataset_id IN (SELECT value FROM json_each(?))"
        )
        parameters = (name, by, json.dumps(ids))
        self.job.execute("INSERT OR IGNORE INTO listed SELECT value, ?1, ?2 FROM json_each(?3) WHERE true", parameters)
        return {row[0] for row in self.job.db.execute(query, parameters)}

    def count(self, name: str) -> int:
        """Return the number of datasets in a list."""
        return int(self.job.db.execute("SELECT count(*) FROM listed WHERE list = ?", (name,)).fetchone()[0])

    def behind(self, dataset_id: str, name: str, count: int) -> list[str]:
        """Return at most `count` ids of a list in their order, all greater than the id given."""
        query = "SELECT dataset_id FROM listed WHERE list = ? AND dataset_id > ? ORDER BY dataset_id LIMIT ?"
        return [row[0] for row in self.job.db.execute(query, (name, dataset_id, count))]

    def listed(self, name: str, without: str = "") -> Iterator[str]:
        """Yield the ids of a list in their order.

        Args:
            without: another list, whose datasets are left out.
        """
        query = """
            SELECT dataset_id FROM listed AS mine WHERE dataset_id > ? AND list = ? AND NOT EXISTS
            (SELECT 1 FROM listed WHERE dataset_id = mine.dataset_id AND list = ?) ORDER BY dataset_id LIMIT ?
        """
        return (row[0] for row in self.job.rows(query, ("",), name, without))

    def pending(self, name: str, other: str, by: str) -> Iterator[str]:
        """Yield what is in one list and not in another, after what only the request `by` put into the other.

        Args:
            by: the request. It is handled again after a kill, and must choose the same datasets.
        """
        query = """
            SELECT mine.dataset_id FROM listed AS mine
            LEFT JOIN listed AS other ON other.dataset_id = mine.dataset_id AND other.list = ?
            WHERE mine.list = ? AND (other.by IS NULL OR other.by = ?) ORDER BY other.by IS NULL
        """
        return (row[0] for row in self.job.db.execute(query, (other, name, by)))

    def is_listed(self, dataset_id: str, *names: str) -> bool:
        """Return whether one of the lists contains a dataset."""
        query = "SELECT list FROM listed WHERE dataset_id = ?"
        return any(row[0] in names for row in self.job.db.execute(query, (dataset_id,)))

    def listed_among(self, names: Sequence[str], ids: Sequence[str]) -> set[str]:
        """Return those of some ids that one of the lists has."""
        some, lists = (", ".join("?" * len(values)) for values in (ids, names))
        query = f"SELECT dataset_id FROM listed WHERE dataset_id IN ({some}) AND list IN ({lists})"  # noqa: S608
        return {row[0] for row in self.job.db.execute(query, (*ids, *names))}

    def listed_by(self, dataset_id: str, name: str) -> str | None:
        """Return the ``by`` with which `see` put a dataset into a list; ``None`` if the list has it not."""
        query = "SELECT by FROM listed WHERE dataset_id = ? AND list = ?"
        row = self.job.db.execute(query, (dataset_id, name)).fetchone()
        return row[0] if row else None


class Settled(Protocol):
    """A document and its outcome, as a line of the manifest has it."""

    @property
    def key(self) -> tuple[str, str, str]: ...
    @property
    def status(self) -> str: ...
    @property
    def is_fallback(self) -> bool: ...


def _key(reference: Reference) -> tuple[str, str, str]:
    kind, dataset_id, resource_id = reference
    return kind, dataset_id, resource_id or ""


class RequestNames:
    """What identifies each request in the ledger: its fingerprint, computed once for all that its answer lists."""

    def __init__(self, crawler: Crawler) -> None:
        self.crawler = crawler
        self.names: WeakKeyDictionary[Request, str] = WeakKeyDictionary()

    def get(self, request: Request | str | None) -> str:
        if request is None or isinstance(request, str):
            return request or ""
        if request not in self.names:
            self.names[request] = self.crawler.request_fingerprinter.fingerprint(request).hex()
        return self.names[request]

    def mark(self, request: Request, mark: str) -> None:
        """Tell a request apart from an earlier one for the same address: what both list is new only once."""
        self.names[request] = f"{self.crawler.request_fingerprinter.fingerprint(request).hex()} {mark}"


class Failures:
    """The failures of a run, in the job's ledger: each is counted once, also after a kill."""

    def __init__(self, job: Job) -> None:
        self.job = job

    def add(self, key: str, kind: str) -> bool:
        """Record a failure; return whether it is new."""
        return self.job.execute("INSERT OR IGNORE INTO failures VALUES (?, ?)", (key, kind)).rowcount == 1

    def counts(self) -> dict[str, int]:
        return dict(self.job.db.execute("SELECT kind, count(*) FROM failures GROUP BY kind ORDER BY kind"))


class Notes:
    """What a spider has to remember between its requests: JSON values by topic and name, in the job's ledger.

    A request that is repeated after a kill notes the same as before.
    """

    def __init__(self, crawler: Crawler) -> None:
        self.job = Job.from_crawler(crawler)

    def put(self, topic: str, name: str, value: Any) -> None:
        """Note a value; one that was there before is replaced."""
        self.job.execute("INSERT OR REPLACE INTO notes VALUES (?, ?, ?)", (topic, name, json.dumps(value)))

    def get(self, topic: str, name: str) -> Any:
        query = "SELECT value FROM notes WHERE topic = ? AND name = ?"
        row = self.job.db.execute(query, (topic, name)).fetchone()
        return json.loads(row[0]) if row else None

    def count(self, topic: str) -> int:
        """Return how many names a topic has."""
        return int(self.job.db.execute("SELECT count(*) FROM notes WHERE topic = ?", (topic,)).fetchone()[0])

    def below(self, topic: str, prefix: str = "") -> Iterator[tuple[str, Any]]:
        """Yield the names that begin with a prefix and are longer, with their values, in their order."""
        query = "SELECT name, value FROM notes WHERE name > ? AND topic = ? AND name < ? ORDER BY name LIMIT ?"
        rows = self.job.rows(query, (prefix,), topic, f"{prefix}\U0010ffff")
        return ((name, json.loads(value)) for name, value in rows)

    def counts(self, topic: str) -> dict[str, int]:
        """Return how many names have each value, a text."""
        query = "SELECT value, count(*) FROM notes WHERE topic = ? GROUP BY value ORDER BY value"
        return {json.loads(value): count for value, count in self.job.db.execute(query, (topic,))}
