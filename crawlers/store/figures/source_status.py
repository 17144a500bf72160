"""The status of each source: by the index, by its run that has no report, and whether its next run is overdue."""

from __future__ import annotations

from collections import defaultdict
from datetime import timedelta
from itertools import pairwise
from statistics import median
from typing import TYPE_CHECKING, Any

from crawlers.records.moment import moment
from crawlers.store.figures import formatting
from crawlers.store.figures.formatting import natural
from crawlers.store.figures.sources import NOTHING, RUNS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from crawlers.store.runs import Run


TIMES = 3  # the usual time between runs
LEAST = timedelta(days=2)
_GAPS = 10  # the last ones say what is usual
_FEWEST = 2  # gaps; with fewer, nothing is usual


def overdue_since(starts: Sequence[str | None], now: str) -> str | None:
    """Return when the last of some runs began, if that is longer ago than usual; else ``None``.

    The schedule of the source may have stopped.

    >>> days = [f"2026-01-0{day}T03:00:00Z" for day in (1, 2, 3)]
    >>> overdue_since(days, "2026-01-05T12:00:00Z"), overdue_since(days, "2026-01-06T12:00:00Z")
    (None, '2026-01-03T03:00:00Z')
    """
    began = {start: found for start in starts if start and (found := moment(start))}
    gaps = [(later - earlier).total_seconds() for earlier, later in pairwise(sorted(began.values()))][-_GAPS:]
    today = moment(now)
    if len(gaps) < _FEWEST or today is None:
        return None
    last = max(began, key=lambda start: began[start])
    return last if today - began[last] > max(timedelta(seconds=TIMES * median(gaps)), LEAST) else None


_BAD = ("failed", "blocked", "interrupted", "incomplete", None)  # the worst first; the last is only overdue
_SUMS = ("datasets", "resources", "withdrawn", "contactless")

Row = dict[str, Any]
NO_STATUS: Row = {
    **NOTHING,
    **dict.fromkeys(("state", "doing", "overdue", "last", "last_time", "command")),
    "dead": False,
    "reached": "",
    "reasons": [],
    "causes": [],
}
"""The row of a source whose runs are not known."""


def with_status(known: dict[str, Any], current: Sequence[Run]) -> dict[str, Any]:
    """Return the overview with the status of each source; those that need attention come first, the worst first.

    Args:
        known: the result of `crawlers.store.figures.overview_data.known`, which is not changed.
        current: the runs without a report (`crawlers.store.runs.unfinished`).
    """
    runs: dict[str, list[Run]] = defaultdict(list)
    for run in current:
        runs[run.source].append(run)
    indexed = {row["source"]: row for row in known["sources"]}
    causes = _causes(known["errors"])
    rows = [
        _with_status(indexed.get(name, {**NOTHING, "source": name}), runs[name], known["now"])
        | {"causes": causes.get(name, []), "command": f"scrapy harvest {name}"}
        for name in {**indexed, **runs}
    ]
    rows.sort(key=_order)
    return {
        **known,
        "sources": rows,
        "listed": [],
        "mistake": None,
        "attention": [row for row in rows if row["reasons"]],
        "totals": {name: sum(row[name] for row in rows) for name in _SUMS},
        "whole": sum(row["state"] == "complete" for row in rows),
        "running": sum(row["doing"] == "running" for row in rows),
        "dead": [row["source"] for row in rows if row["dead"]],
    }


def _causes(errors: list[Row]) -> dict[str, list[tuple[str, int]]]:
    """Return the errors of each source's last run, as kinds and counts, the most frequent first."""
    found: dict[str, list[tuple[str, int]]] = defaultdict(list)
    for kind in errors:
        for one in kind["sources"]:
            found[one["source"]].append((kind["kind"], one["count"]))
    return {source: sorted(causes, key=lambda cause: (-cause[1], cause[0])) for source, causes in found.items()}


def _with_status(row: Row, current: list[Run], now: str) -> Row:
    dead = next((run for run in current if run.state == "interrupted"), None)
    doing = next((run.state for run in current if not run.over), None)
    state = dead.state if dead else row["last_verdict"]
    starts = [*(run["started"] for run in row["history"]["runs"]), *(run.started for run in current)]
    overdue = None if doing else overdue_since(starts, now)
    bad = [state] if state in _BAD[:-1] else []
    return {
        **row,
        "state": state,
        "doing": doing,
        "dead": bool(dead),
        "reached": _reached(dead) if dead else "",
        "overdue": overdue,
        "reasons": [*bad, f"no run since {formatting.date(overdue)[:10]}"] if overdue else bad,
        "last": dead.run if dead else row["last_run"],
        "last_time": (dead.finished or dead.started) if dead else row["last_finished"],
        "history": {**row["history"], "runs": _marks(row["history"]["runs"], current)},
    }


def _order(row: Row) -> tuple[bool, int, list[tuple[str, int]]]:
    worst = _BAD.index(row["state"] if row["state"] in _BAD else None)
    return not row["reasons"], worst if row["reasons"] else 0, natural(row["source"])


def _marks(runs: list[Row], current: list[Run]) -> list[Row]:
    """Return the marks of a source's runs; a resumed run has one mark."""
    begun = [run for run in current if run.run]
    names = {run.run for run in begun}
    marks = [{"run": run.run, "verdict": run.state, "title": _title(run)} for run in begun]
    return [*(run for run in runs if run["run"] not in names), *marks][-RUNS:]


def _title(run: Run) -> str:
    return f"{formatting.date(run.started)} {run.state}, {_reached(run)} listed so far"


def _reached(run: Run) -> str:
    return f"{run.listed:,}{'' if run.expected is None else f' of {run.expected:,}'} datasets"
