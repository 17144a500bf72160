"""What a spider has to remember between its requests, on disk instead of in memory."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from crawlers.components.resume.job import Job

if TYPE_CHECKING:
    from collections.abc import Iterator

    from scrapy.crawler import Crawler

_BATCH = 1000  # rows per query: while a statement is being read, the WAL grows with every write
_LAST = "\U0010ffff"
_PUT = "INSERT OR REPLACE INTO notes VALUES (?, ?, ?)"
_GET = "SELECT value FROM notes WHERE topic = ? AND name = ?"
_BELOW = "SELECT name, value FROM notes WHERE topic = ? AND name > ? AND name < ? ORDER BY name LIMIT ?"
_COUNTS = "SELECT value, count(*) FROM notes WHERE topic = ? GROUP BY value ORDER BY value"


class Notes:
    """JSON values by topic and name, in the job's ledger: a crawl that is resumed still has them.

    A request that is repeated after a kill notes the same as before.
    """

    def __init__(self, crawler: Crawler) -> None:
        self.job = Job.from_crawler(crawler)

    def put(self, topic: str, name: str, value: Any) -> None:
        """Note a value; one that was there before is replaced.

        Raises:
            OSError: the disk is full.
        """
        self.job.execute(_PUT, (topic, name, json.dumps(value)))

    def get(self, topic: str, name: str) -> Any:
        """Return a value; ``None`` if there is none."""
        row = self.job.db.execute(_GET, (topic, name)).fetchone()
        return json.loads(row[0]) if row else None

    def count(self, topic: str) -> int:
        """Return how many names a topic has."""
        return int(self.job.db.execute("SELECT count(*) FROM notes WHERE topic = ?", (topic,)).fetchone()[0])

    def below(self, topic: str, prefix: str = "") -> Iterator[tuple[str, Any]]:
        """Yield the names that begin with a prefix and are longer, with their values, in their order."""
        last = prefix
        while rows := self.job.db.execute(_BELOW, (topic, last, prefix + _LAST, _BATCH)).fetchall():
            yield from ((name, json.loads(value)) for name, value in rows)
            last = rows[-1][0]

    def counts(self, topic: str) -> dict[str, int]:
        """Return how many names have each value, a text."""
        return {json.loads(value): count for value, count in self.job.db.execute(_COUNTS, (topic,))}
