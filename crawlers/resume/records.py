"""What was planned, and what became of it: nothing that a portal said it has may be silently missing."""

from __future__ import annotations

from typing import TYPE_CHECKING

from crawlers.resume.job import Job

if TYPE_CHECKING:
    from collections.abc import Iterator

    from scrapy.crawler import Crawler

Reference = tuple[str, str, str | None]
"""Kind, dataset id, resource id."""

_BATCH = 1000  # rows that are read at a time: while a statement is read, the WAL grows with all that is written
_PLAN = "INSERT OR IGNORE INTO records (kind, dataset_id, resource_id, planned_by) VALUES (?, ?, ?, ?)"
_END = """
INSERT INTO records VALUES (?, ?, ?, '', ?, ?)
ON CONFLICT DO UPDATE SET outcome = excluded.outcome, fallback = excluded.fallback
"""
_UNACCOUNTED = """
SELECT kind, dataset_id, resource_id FROM records
WHERE (kind, dataset_id, resource_id) > (?, ?, ?) AND outcome IS NULL ORDER BY kind, dataset_id, resource_id LIMIT ?
"""


class Records:
    """The documents of a run, in the job's ledger: planned, then ended.

    Planning and ending are idempotent: a request that is asked for again after a kill plans and ends the same again.
    """

    def __init__(self, crawler: Crawler) -> None:
        self.job = Job.of(crawler)
        self.stats = crawler.stats

    def plan(self, reference: Reference, by: str) -> bool:
        """Whether it is the first plan for this document, or that of the same request again.

        Args:
            by: what identifies the request that lists it.
        """
        key = _key(reference)
        if self.job.execute(_PLAN, (*key, by)).rowcount:
            self.stats.inc_value("catalogue/planned")
            return True
        query = "SELECT planned_by FROM records WHERE kind = ? AND dataset_id = ? AND resource_id = ?"
        return bool(self.job.db.execute(query, key).fetchone()[0] == by)

    def notice(self, dataset_id: str, name: str, by: str) -> bool:
        """Takes note that a list has a dataset; whether it had not before, in the answer to another request."""
        if self.job.execute("INSERT OR IGNORE INTO listed VALUES (?, ?, ?)", (dataset_id, name, by)).rowcount:
            return True
        query = "SELECT by FROM listed WHERE dataset_id = ? AND list = ?"
        return bool(self.job.db.execute(query, (dataset_id, name)).fetchone()[0] == by)

    def count(self, name: str) -> int:
        """Return how many datasets a list has."""
        return int(self.job.db.execute("SELECT count(*) FROM listed WHERE list = ?", (name,)).fetchone()[0])

    def behind(self, dataset_id: str, name: str, most: int) -> list[str]:
        """Return the next ids of a list, in their order: so many at most, all of them greater than the one given."""
        query = "SELECT dataset_id FROM listed WHERE list = ? AND dataset_id > ? ORDER BY dataset_id LIMIT ?"
        return [row[0] for row in self.job.db.execute(query, (name, dataset_id, most))]

    def listed(self, name: str) -> Iterator[str]:
        """What a list has, by id."""
        query = "SELECT dataset_id FROM listed WHERE dataset_id > ? AND list = ? ORDER BY dataset_id LIMIT ?"
        return self._ids(query, name)

    def only_in(self, name: str, other: str) -> Iterator[str]:
        """The datasets that one list has and another has not, by id."""
        query = """
            SELECT dataset_id FROM listed AS one WHERE dataset_id > ? AND list = ? AND NOT EXISTS
            (SELECT 1 FROM listed WHERE dataset_id = one.dataset_id AND list = ?) ORDER BY dataset_id LIMIT ?
        """
        return self._ids(query, name, other)

    def _ids(self, query: str, *names: str) -> Iterator[str]:
        last: str | None = ""
        while last is not None:
            rows = self.job.db.execute(query, (last, *names, _BATCH)).fetchall()
            yield from (row[0] for row in rows)
            last = rows[-1][0] if rows else None

    def pending(self, name: str, other: str, by: str) -> Iterator[str]:
        """What one list has and another has not, or has from one request only, which comes first.

        Args:
            by: that request. It is handled once more after a kill, and must choose the same again.
        """
        query = """
            SELECT one.dataset_id FROM listed AS one
            LEFT JOIN listed AS other ON other.dataset_id = one.dataset_id AND other.list = ?
            WHERE one.list = ? AND (other.by IS NULL OR other.by = ?) ORDER BY other.by IS NULL
        """
        return (row[0] for row in self.job.db.execute(query, (other, name, by)))

    def has(self, name: str, dataset_id: str) -> bool:
        """Return whether a list has a dataset."""
        query = "SELECT 1 FROM listed WHERE dataset_id = ? AND list = ?"
        return self.job.db.execute(query, (dataset_id, name)).fetchone() is not None

    def is_listed(self, dataset_id: str, *names: str) -> bool:
        """Return whether one of the lists has a dataset."""
        query = "SELECT list FROM listed WHERE dataset_id = ?"
        return any(row[0] in names for row in self.job.db.execute(query, (dataset_id,)))

    def is_planned(self, kind: str, dataset_id: str, resource_id: str | None = None) -> bool:
        query = "SELECT 1 FROM records WHERE kind = ? AND dataset_id = ? AND resource_id = ?"
        return self.job.db.execute(query, (kind, dataset_id, resource_id or "")).fetchone() is not None

    def end(self, reference: Reference, outcome: str, *, fallback: bool = False) -> None:
        self.job.execute(_END, (*_key(reference), outcome, fallback))
        self.stats.inc_value("catalogue/ended")

    def counts(self) -> dict[str, int]:
        """How many documents ended how, and how many ``fallback`` ones are among them."""
        found = dict(self.job.db.execute("SELECT outcome, count(*) FROM records WHERE outcome IS NOT NULL GROUP BY 1"))
        fallback = self.job.db.execute("SELECT count(*) FROM records WHERE fallback").fetchone()[0]
        return {**found, "fallback": fallback}

    def unaccounted(self) -> Iterator[Reference]:
        """What was planned and never ended."""
        last: tuple[str, str, str] | None = ("", "", "")
        while last is not None:
            rows = self.job.db.execute(_UNACCOUNTED, (*last, _BATCH)).fetchall()
            yield from ((kind, dataset_id, resource_id or None) for kind, dataset_id, resource_id in rows)
            last = rows[-1] if rows else None

    def first_failure(self, key: str, kind: str) -> bool:
        """Whether this failure was not known yet."""
        return self.job.execute("INSERT OR IGNORE INTO failures VALUES (?, ?)", (key, kind)).rowcount == 1

    def failures(self) -> dict[str, int]:
        """How many failures there are of each kind."""
        return dict(self.job.db.execute("SELECT kind, count(*) FROM failures GROUP BY kind ORDER BY kind"))


def _key(reference: Reference) -> tuple[str, str, str]:
    kind, dataset_id, resource_id = reference
    return kind, dataset_id, resource_id or ""
