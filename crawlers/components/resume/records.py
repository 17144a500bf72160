"""The documents that a run expects, and how each ended: nothing that the portal listed may be silently missing."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Protocol
from weakref import WeakKeyDictionary

from crawlers.components.resume.job import Job

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from scrapy import Request
    from scrapy.crawler import Crawler

Reference = tuple[str, str, str | None]
"""Kind, dataset id, resource id."""
EXCLUDED = "excluded"
"""The outcome of what the operator leaves out, and the list of such datasets."""

_BATCH = 1000  # rows per query: while a statement is being read, the WAL grows with every write
_PLAN = "INSERT OR IGNORE INTO records (kind, dataset_id, resource_id, planned_by) VALUES (?, ?, ?, ?)"
_PLAN_SOME = """
INSERT OR IGNORE INTO records (kind, dataset_id, resource_id, planned_by)
SELECT ?1, value, '', ?2 FROM json_each(?3) WHERE true RETURNING dataset_id
"""
_PLANNED_BY = """
SELECT dataset_id FROM records WHERE kind = ? AND resource_id = '' AND planned_by = ?
AND dataset_id IN (SELECT value FROM json_each(?))
"""
_OPEN = "listed before a kill"
"""What stands for the request that planned a document which is to be listed again."""
_CLAIM = f"""
UPDATE records SET planned_by = ?2 WHERE kind = ?1 AND resource_id = '' AND planned_by = '{_OPEN}'
AND dataset_id IN (SELECT value FROM json_each(?3))
"""  # noqa: S608
_SEE_SOME = "INSERT OR IGNORE INTO listed SELECT value, ?1, ?2 FROM json_each(?3) WHERE true"
_SEEN_BY = """
SELECT dataset_id FROM listed WHERE list = ? AND by = ? AND dataset_id IN (SELECT value FROM json_each(?))
"""
_LISTED_AMONG = "SELECT dataset_id FROM listed WHERE dataset_id IN ({ids}) AND list IN ({lists})"
_PLANNED_AMONG = "SELECT dataset_id FROM records WHERE kind = ? AND resource_id = '' AND dataset_id IN ({ids})"
_END = """
INSERT INTO records VALUES (?, ?, ?, '', ?, ?)
ON CONFLICT DO UPDATE SET outcome = excluded.outcome, fallback = excluded.fallback
"""
_UNACCOUNTED = """
SELECT kind, dataset_id, resource_id FROM records
WHERE (kind, dataset_id, resource_id) > (?, ?, ?) AND outcome IS NULL ORDER BY kind, dataset_id, resource_id LIMIT ?
"""

IS_KEPT = "outcome IN ('new', 'updated', 'unchanged', 'restored')"
"""SQL: whether a record's document is on disk."""
IS_EXCLUDED = "dataset_id IN (SELECT dataset_id FROM listed WHERE list = 'excluded')"
"""SQL: whether the operator leaves a dataset out. Its outcome may be that it is withdrawn."""
_KEPT = f"""
SELECT count(*) FROM records WHERE kind = ? AND resource_id = '' AND ({IS_KEPT} OR {IS_EXCLUDED})
"""  # noqa: S608
_SETTLED = f"""
SELECT dataset_id FROM records WHERE kind = ? AND dataset_id > ? AND resource_id = '' AND {IS_KEPT}
ORDER BY dataset_id LIMIT ?
"""  # noqa: S608


class Settled(Protocol):
    """A document and its outcome."""

    @property
    def key(self) -> tuple[str, str, str]: ...
    @property
    def status(self) -> str: ...
    @property
    def is_fallback(self) -> bool: ...


class Records:
    """The documents of a run, in the job's ledger: expected, then settled.

    Both are idempotent: a request that is repeated after a kill expects and settles the same documents as before.
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
        if self.job.execute(_PLAN, (*key, by)).rowcount:
            self.stats.inc_value("catalogue/planned")
            return True
        if self.job.resumed:
            self.job.execute(_CLAIM, (key[0], by, json.dumps([key[1]])))
        query = "SELECT planned_by FROM records WHERE kind = ? AND dataset_id = ? AND resource_id = ?"
        return bool(self.job.db.execute(query, key).fetchone()[0] == by)

    @property
    def expected(self) -> int:
        """The number of documents expected so far, of all kinds."""
        return int(self.stats.get_value("catalogue/planned", 0))

    def see(self, dataset_id: str, name: str, by: str) -> bool:
        """Record that a list contains a dataset; return whether no other request has listed it before."""
        if self.job.execute("INSERT OR IGNORE INTO listed VALUES (?, ?, ?)", (dataset_id, name, by)).rowcount:
            return True
        query = "SELECT by FROM listed WHERE dataset_id = ? AND list = ?"
        return bool(self.job.db.execute(query, (dataset_id, name)).fetchone()[0] == by)

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
        last: str | None = ""
        while last is not None:
            rows = self.job.db.execute(query, (last, name, without, _BATCH)).fetchall()
            yield from (row[0] for row in rows)
            last = rows[-1][0] if rows else None

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

    def is_planned(self, kind: str, dataset_id: str, resource_id: str | None = None) -> bool:
        query = "SELECT 1 FROM records WHERE kind = ? AND dataset_id = ? AND resource_id = ?"
        return self.job.db.execute(query, (kind, dataset_id, resource_id or "")).fetchone() is not None

    def settle(self, reference: Reference, outcome: str, *, fallback: bool = False) -> None:
        self.job.execute(_END, (*_key(reference), outcome, fallback))
        self.stats.inc_value("catalogue/ended")

    def settle_all(self, entries: Sequence[Settled]) -> None:
        """Settle documents in one statement."""
        self.job.execute_many(_END, [(*entry.key, entry.status, entry.is_fallback) for entry in entries])
        self.stats.inc_value("catalogue/ended", len(entries))

    def counts(self) -> dict[str, int]:
        """Return the number of documents by outcome, and of ``fallback`` ones among them."""
        found = dict(self.job.db.execute("SELECT outcome, count(*) FROM records WHERE outcome IS NOT NULL GROUP BY 1"))
        fallback = self.job.db.execute("SELECT count(*) FROM records WHERE fallback").fetchone()[0]
        return {**found, "fallback": fallback}

    def kept(self, kind: str) -> int:
        """Return how many records of a kind have their document on disk, or are left out by the operator."""
        return int(self.job.db.execute(_KEPT, (kind,)).fetchone()[0])

    def unaccounted(self) -> Iterator[Reference]:
        """Yield what was expected and never settled."""
        last: tuple[str, str, str] | None = ("", "", "")
        while last is not None:
            rows = self.job.db.execute(_UNACCOUNTED, (*last, _BATCH)).fetchall()
            yield from ((kind, dataset_id, resource_id or None) for kind, dataset_id, resource_id in rows)
            last = rows[-1] if rows else None


def expect_all(records: Records, kind: str, ids: Sequence[str], by: str) -> set[str]:
    """Expect a document of each dataset, as `Records.expect` does; return the ids of those that are new.

    Args:
        ids: without NUL, which ends a text in SQLite's JSON.
    """
    parameters = (kind, by, json.dumps(ids))
    new = records.job.execute(_PLAN_SOME, parameters).fetchall()
    records.stats.inc_value("catalogue/planned", len(new))
    if records.job.resumed:
        records.job.execute(_CLAIM, parameters)
    return {row[0] for row in records.job.db.execute(_PLANNED_BY, parameters)}


def see_all(records: Records, ids: Sequence[str], name: str, by: str) -> set[str]:
    """Record that a list contains datasets, as `Records.see` does; return the ids of those that are new.

    Args:
        ids: without NUL, which ends a text in SQLite's JSON.
    """
    parameters = (name, by, json.dumps(ids))
    records.job.execute(_SEE_SOME, parameters)
    return {row[0] for row in records.job.db.execute(_SEEN_BY, parameters)}


def listed_among(records: Records, names: Sequence[str], ids: Sequence[str]) -> set[str]:
    """Return those of some ids that one of the lists has."""
    query = _LISTED_AMONG.format(ids=_marks(ids), lists=_marks(names))
    return {row[0] for row in records.job.db.execute(query, (*ids, *names))}


def planned_among(records: Records, kind: str, ids: Sequence[str]) -> set[str]:
    """Return those of some ids whose document is expected."""
    return {row[0] for row in records.job.db.execute(_PLANNED_AMONG.format(ids=_marks(ids)), (kind, *ids))}


def _marks(values: Sequence[str]) -> str:
    return ", ".join("?" * len(values))


def listed_by(records: Records, dataset_id: str, name: str) -> str | None:
    """Return the ``by`` with which `Records.see` put a dataset into a list; ``None`` if the list has it not."""
    query = "SELECT by FROM listed WHERE dataset_id = ? AND list = ?"
    row = records.job.db.execute(query, (dataset_id, name)).fetchone()
    return row[0] if row else None


def forget_open(records: Records) -> None:
    """Forget what planned the documents that are not settled: it is replaced, and what lists them again plans them."""
    query = "UPDATE records SET planned_by = ? WHERE kind = 'dataset' AND outcome IS NULL"
    records.job.execute(query, (_OPEN,))


def is_settled(records: Records, reference: Reference) -> bool:
    """Return whether a document's outcome is known."""
    query = "SELECT outcome FROM records WHERE kind = ? AND dataset_id = ? AND resource_id = ?"
    row = records.job.db.execute(query, _key(reference)).fetchone()
    return row is not None and row[0] is not None


def received(records: Records, kind: str) -> Iterator[str]:
    """Yield the ids of the documents of a kind that the run has received, also before it was resumed."""
    last: str | None = ""
    while last is not None:
        rows = records.job.db.execute(_SETTLED, (kind, last, _BATCH)).fetchall()
        yield from (row[0] for row in rows)
        last = rows[-1][0] if rows else None


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
        """Return the number of failures of each kind."""
        return dict(self.job.db.execute("SELECT kind, count(*) FROM failures GROUP BY kind ORDER BY kind"))


def _key(reference: Reference) -> tuple[str, str, str]:
    kind, dataset_id, resource_id = reference
    return kind, dataset_id, resource_id or ""
