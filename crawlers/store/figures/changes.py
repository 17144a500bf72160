"""Recent changes of datasets."""

from __future__ import annotations

import json
from collections import defaultdict
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterator

DAYS = 7
LATEST = 200
STATUSES = ("new", "updated", "withdrawn", "restored")
_WEEK = """
    SELECT day, source, status, sum(count) FROM daily_changes
    WHERE day >= ? AND source IN (SELECT value FROM json_each(?)) GROUP BY 1, 2, 3
"""
_LATEST = """
    SELECT time, source, dataset_id, seen.status, run, datasets.id IS NOT NULL AS known,
        substr(title, 1, 1000) AS title, substr(landing_page, 1, 2001) AS page
    FROM (
        SELECT * FROM changes WHERE {chosen} ORDER BY time DESC, source DESC, dataset_id DESC, status DESC LIMIT ?2
    ) seen LEFT JOIN datasets USING (source, dataset_id)
    ORDER BY time DESC, source DESC, dataset_id DESC, seen.status DESC
"""  # in the order of the table's indexes, the one of all sources and the one of each
_OF_SOME = "+source IN (SELECT value FROM json_each(?1))"
_OF_ONE = "source = ?1"
_WITHDRAWN = """
    SELECT d.dataset_id, d.title, d.publisher,
        (SELECT max(time) FROM changes c WHERE c.source = d.source AND c.dataset_id = d.dataset_id
            AND c.status = 'withdrawn') AS time
    FROM datasets d INDEXED BY datasets_withdrawn WHERE source = ? AND withdrawn = 1 ORDER BY 4 DESC, 1
"""


def week(db: sqlite3.Connection, names: str, now: datetime) -> dict[str, Any]:
    """Return the changes of the last days by status: for each day, today first, and for each source, most first."""
    days: dict[str, dict[str, int]] = {}
    for back in range(DAYS):
        days[(now - timedelta(days=back)).date().isoformat()] = dict.fromkeys(STATUSES, 0)
    sources: dict[str, dict[str, int]] = defaultdict(lambda: dict.fromkeys(STATUSES, 0))
    for day, source, status, count in db.execute(_WEEK, (min(days), names)):
        if day in days and status in STATUSES:
            days[day][status] += count
            sources[source][status] += count
    return {
        "days": days,
        "sources": dict(sorted(sources.items(), key=lambda item: -sum(item[1].values()))),
        "total": sum(sum(counts.values()) for counts in days.values()),
    }


def latest(db: sqlite3.Connection, names: str, limit: int = LATEST) -> list[dict[str, Any]]:
    """Return the latest changes of some sources; ``known`` is whether the index has the dataset."""
    sources = json.loads(names)
    chosen, value = (_OF_ONE, sources[0]) if len(sources) == 1 else (_OF_SOME, names)
    return [dict(row) for row in db.execute(_LATEST.format(chosen=chosen), (value, limit))]


def withdrawn(db: sqlite3.Connection, source: str) -> Iterator[dict[str, Any]]:
    """Yield the withdrawn datasets of a source, the last first."""
    return map(dict, db.execute(_WITHDRAWN, (source,)))
