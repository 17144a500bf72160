"""Each source in the index, and its last runs."""

from __future__ import annotations

import json
from collections import defaultdict
from typing import TYPE_CHECKING, Any

from crawlers.exceptions import SourcesError, hint
from crawlers.store.figures import formatting
from crawlers.store.figures.formatting import natural

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Collection, Sequence

RUNS = 30  # shown of each source
_COUNTS = ("new", "updated", "withdrawn", "restored", "failed")
_NOW = "SELECT * FROM overview WHERE source IN (SELECT value FROM json_each(?)) ORDER BY source"
_NAMES = "SELECT source FROM sources"
_SUCCESS = "SELECT max(finished) FROM runs WHERE source = ? AND verdict IN ('complete', 'partial')"
_NAMELESS = """
    SELECT source, count(*) FROM datasets
    WHERE NOT withdrawn AND contact IS NULL AND contact_email IS NULL GROUP BY source
"""
_LATE = "SELECT source, count(*) FROM late GROUP BY source"
_RUNS = """
    SELECT source, run, started, seconds, verdict, expected, listed, new, updated, withdrawn, restored, failed, since
    FROM (SELECT *, row_number() OVER (PARTITION BY source ORDER BY finished DESC, run DESC) AS back FROM runs)
    WHERE back <= ? AND source IN (SELECT value FROM json_each(?)) ORDER BY source, back DESC
"""
_GROWN = """
    SELECT source, run, sum(CASE status WHEN 'withdrawn' THEN -1 ELSE 1 END) FROM changes
    WHERE status IN ('new', 'restored', 'withdrawn') AND source IN (SELECT value FROM json_each(?)) GROUP BY 1, 2
"""

Row = dict[str, Any]


def chosen(db: sqlite3.Connection, named: Sequence[str] | None = None, begun: Collection[str] = ()) -> str:
    """Return the names of the selected sources, as JSON for a query: those named, or all.

    Args:
        begun: sources that the index may not have yet.

    Raises:
        SourcesError: there is none of that name.
    """
    known = sorted({name for (name,) in db.execute(_NAMES)}.union(begun), key=natural)
    unknown = next((name for name in named or () if name not in known), None)
    if unknown is not None:
        meant = hint(unknown, known)
        raise SourcesError(f"The index has no source {unknown!r}.{meant} There are: {', '.join(known) or 'none'}.")
    return json.dumps(list(named or known))


def sources(db: sqlite3.Connection, names: str) -> list[Row]:
    """Return a row for each source: its last verdict, its counts, and its last runs, the oldest first."""
    nameless, late = (dict(db.execute(query).fetchall()) for query in (_NAMELESS, _LATE))
    runs = _runs(db, names)
    found = [dict(row) for row in db.execute(_NOW, (names,))]
    for row in found:
        row["resources"] = row["resources"] or 0
        row["contactless"] = nameless.get(row["source"], 0)
        row["late"] = late.get(row["source"], 0)
        row["history"] = _history(runs[row["source"]])
    return found


def counts(db: sqlite3.Connection, source: str) -> dict[str, int]:
    """Return how many datasets, withdrawn ones and resources a source has."""
    row = db.execute(_NOW, (json.dumps([source]),)).fetchone()
    return {name: (row[name] if row else None) or 0 for name in ("datasets", "withdrawn", "resources")}


def figures(db: sqlite3.Connection, source: str) -> dict[str, Any]:
    """Return the counts of a source, when its last complete run started, and when its last successful one ended."""
    row = db.execute(_NOW, (json.dumps([source]),)).fetchone()
    (success,) = db.execute(_SUCCESS, (source,)).fetchone()
    return counts(db, source) | {"last_complete": row["last_complete"] if row else None, "last_success": success}


def _runs(db: sqlite3.Connection, names: str) -> dict[str, list[Row]]:
    """Return the last runs of each source, each with the number of datasets after it."""
    grown: dict[str, list[tuple[str, int]]] = defaultdict(list)
    for source, run, change in db.execute(_GROWN, (names,)):
        grown[source].append((run, change))
    found = defaultdict(list)
    for row in db.execute(_RUNS, (RUNS, names)):
        held = sum(change for run, change in grown[row["source"]] if run <= row["run"])
        found[row["source"]].append({**dict(row), "held": held})
    return found


def _history(runs: list[Row]) -> Row:
    last = runs[-1] if runs else dict.fromkeys(("seconds", "listed", "expected", "held", "since", *_COUNTS))
    for run in runs:
        run["title"] = _title(run)
    return {
        "runs": runs,
        "last": last,
        "durations": [run["seconds"] for run in runs if run["seconds"] is not None],
        "holdings": [run["held"] for run in runs],
    }


def _title(run: Row) -> str:
    """Return the tooltip of a run's mark: the moment, the verdict, and the counts that are not 0."""
    expected = "" if run["expected"] is None else f" of {run['expected']:,}"
    among = " that had changed" if run["since"] else ""
    changes = [f"{run[name]:,} {name}" for name in _COUNTS if run[name]]
    started = formatting.date(run["started"])
    what = [f"{started} {run['verdict']}", f"{run['listed'] or 0:,}{expected} datasets{among} listed", *changes]
    return ", ".join([*what, formatting.duration(run["seconds"])])


NOTHING: Row = {
    **dict.fromkeys(("datasets", "resources", "withdrawn", "contactless", "late"), 0),
    **dict.fromkeys(("last_run", "last_verdict", "last_finished", "last_complete")),
    "history": _history([]),
}
"""The row of a source that is not in the index yet."""
