"""What is missing after the last runs, by kind: how often, where, what it means and what to do."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from crawlers.report.advice import ADVICE
from crawlers.signals import KINDS

if TYPE_CHECKING:
    import sqlite3

_BROKEN = "SELECT * FROM broken WHERE source IN (SELECT value FROM json_each(?)) ORDER BY count DESC, source"


def errors(db: sqlite3.Connection, names: str) -> list[dict[str, Any]]:
    """A row for each kind, the most frequent first; its sources, those with the most first."""
    found: dict[str, dict[str, Any]] = {}
    for row in db.execute(_BROKEN, (names,)):
        kind = found.setdefault(row["kind"], _kind(row["kind"]))
        kind["count"] += row["count"]
        kind["sources"].append({"source": row["source"], "run": row["run"], "count": row["count"]})
    return sorted(found.values(), key=lambda kind: (-kind["count"], kind["kind"]))


def _kind(kind: str) -> dict[str, Any]:
    """A kind that is not known is another version's: the index may be older than this."""
    return {"kind": kind, "count": 0, "sources": [], "meaning": KINDS.get(kind, ""), "advice": ADVICE.get(kind, "")}
