"""The errors after the last runs, by kind: how many, in which sources, what they mean, what to do; and flaws."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from crawlers.signals import ADVICE, KINDS

if TYPE_CHECKING:
    import sqlite3


_BROKEN = "SELECT * FROM broken WHERE source IN (SELECT value FROM json_each(?)) ORDER BY count DESC, source"

_FLAWS = "SELECT kind, count(*) FROM flaws WHERE source = ? GROUP BY kind ORDER BY 2 DESC, kind"
_NEWEST = """
    SELECT dataset_id, coalesce(d.title, f.dataset_title) AS dataset_title, resource_id, field, f.kind, error, time
    FROM flaws f LEFT JOIN datasets d USING (source, dataset_id) WHERE source = ?
    ORDER BY time DESC, dataset_id, resource_id, field LIMIT ?
"""


def flaws(db: sqlite3.Connection, source: str) -> list[tuple[str, int]]:
    """Return how many flaws of each kind a source has, the most frequent first."""
    return [(kind, count) for kind, count in db.execute(_FLAWS, (source,))]


def newest_flaws(db: sqlite3.Connection, source: str, limit: int) -> list[dict[str, Any]]:
    """Return the flaws of a source that appeared last."""
    return [dict(row) for row in db.execute(_NEWEST, (source, limit))]


def errors(db: sqlite3.Connection, names: str) -> list[dict[str, Any]]:
    """Return a row for each kind of error, the most frequent first; so are its sources."""
    found: dict[str, dict[str, Any]] = {}
    for row in db.execute(_BROKEN, (names,)):
        kind = found.setdefault(row["kind"], _kind(row["kind"]))
        kind["count"] += row["count"]
        kind["sources"].append({"source": row["source"], "run": row["run"], "count": row["count"]})
    return sorted(found.values(), key=lambda kind: (-kind["count"], kind["kind"]))


def _kind(kind: str) -> dict[str, Any]:
    """Return the row of a kind; an unknown kind is from another version, since the index may be older."""
    return {"kind": kind, "count": 0, "sources": [], "meaning": KINDS.get(kind, ""), "advice": ADVICE.get(kind, "")}
