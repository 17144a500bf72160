"""Each source in the index, and its last runs."""

from __future__ import annotations

import json
from bisect import bisect_right
from itertools import accumulate
from typing import TYPE_CHECKING, Any

from crawlers.exceptions import SourcesError, hint
from crawlers.store.figures import formatting
from crawlers.store.figures.descriptions import Described
from crawlers.store.figures.formatting import natural

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Collection, Mapping, Sequence

RUNS = 30  # shown of each source
_COUNTED = ("datasets", "withdrawn", "resources")
_DESCRIBED = ("datasets", "resources", "contactless", "late")
_COUNTS = ("new", "updated", "withdrawn", "restored", "failed")
_NAMES = "SELECT source FROM sources"
_LAST = """
    SELECT source, last_run, last_verdict, last_finished, last_complete FROM overview
    WHERE source IN (SELECT value FROM json_each(?)) ORDER BY source
"""
_WITHDRAWN = """
    SELECT source, count(*) FROM datasets INDEXED BY datasets_withdrawn
    WHERE source IN (SELECT value FROM json_each(?)) AND withdrawn = 1 GROUP BY 1
"""
_COUNTS_OF_ONE = """
    SELECT count(*) FILTER (WHERE withdrawn = 0) AS datasets, count(*) FILTER (WHERE withdrawn = 1) AS withdrawn,
        coalesce(sum(resources) FILTER (WHERE withdrawn = 0), 0) AS resources
    FROM datasets INDEXED BY datasets_withdrawn WHERE source = ?
"""
_SUCCESS = "SELECT max(finished) FROM runs WHERE source = ? AND verdict IN ('complete', 'partial')"
_LAST_COMPLETE = "SELECT max(started) FROM runs WHERE source = ? AND verdict = 'complete'"
_RUNS = """
    SELECT source, run, started, seconds, verdict, expected, listed, new, updated, withdrawn, restored, failed, since,
        (SELECT coalesce(sum(value), 0) FROM json_each(flaws)) AS flaws
    FROM runs WHERE source = ? ORDER BY finished DESC, run DESC LIMIT ?
"""
_GROWN = """
    SELECT run, sum(CASE status WHEN 'withdrawn' THEN -count ELSE count END) FROM daily_changes
    WHERE source = ? AND status IN ('new', 'restored', 'withdrawn') GROUP BY 1 ORDER BY 1
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


def sources(db: sqlite3.Connection, known: Mapping[str, Described], names: str) -> list[Row]:
    """Return a row for each source: its last verdict, its counts, and its last runs, the oldest first.

    Args:
        db: the index.
        known: the result of `crawlers.store.figures.descriptions.descriptions`.
        names: the sources, as JSON.
    """
    withdrawn = dict(db.execute(_WITHDRAWN, (names,)).fetchall())
    return [
        {
            **dict(row),
            **{name: getattr(known.get(row["source"], Described()), name) for name in _DESCRIBED},
            "withdrawn": withdrawn.get(row["source"], 0),
            "history": _history(_runs(db, row["source"])),
        }
        for row in db.execute(_LAST, (names,))
    ]


def counts(db: sqlite3.Connection, source: str, known: Described | None = None) -> dict[str, int]:
    """Return how many datasets, withdrawn ones and resources a source has.

    Args:
        known: the source's in `crawlers.store.figures.descriptions.descriptions`; else the index counts its rows.
    """
    if known is None:
        return dict(db.execute(_COUNTS_OF_ONE, (source,)).fetchone())
    withdrawn = dict(db.execute(_WITHDRAWN, (json.dumps([source]),)).fetchall())
    return {"datasets": known.datasets, "withdrawn": withdrawn.get(source, 0), "resources": known.resources}


def figures(db: sqlite3.Connection, source: str, known: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """Return the counts of a source, when its last complete run started, and when its last successful one ended.

    Args:
        known: the source's row of `sources`, whose counts are taken.
    """
    last = {"last_complete": _LAST_COMPLETE, "last_success": _SUCCESS}
    found = {name: known[name] for name in _COUNTED} if known else counts(db, source)
    return found | {name: db.execute(query, (source,)).fetchone()[0] for name, query in last.items()}


def _runs(db: sqlite3.Connection, source: str) -> list[Row]:
    """Return the last runs of a source, the oldest first, each with the number of datasets after it."""
    grown = db.execute(_GROWN, (source,)).fetchall()
    runs, held = [run for run, _ in grown], [0, *accumulate(change for _, change in grown)]
    rows = db.execute(_RUNS, (source, RUNS)).fetchall()
    return [{**dict(row), "held": held[bisect_right(runs, row["run"])]} for row in reversed(rows)]


def _history(runs: list[Row]) -> Row:
    last = runs[-1] if runs else dict.fromkeys(("seconds", "listed", "expected", "held", "since", "flaws", *_COUNTS))
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
    changes = [f"{run[name]:,} {name}" for name in (*_COUNTS, "flaws") if run[name]]
    started = formatting.date(run["started"])
    what = [f"{started} {run['verdict']}", f"{run['listed'] or 0:,}{expected} datasets{among} listed", *changes]
    return ", ".join([*what, formatting.duration(run["seconds"])])


NOTHING: Row = {
    **dict.fromkeys((*_DESCRIBED, "withdrawn"), 0),
    **dict.fromkeys(("last_run", "last_verdict", "last_finished", "last_complete")),
    "history": _history([]),
}
"""The row of a source that is not in the index yet."""
