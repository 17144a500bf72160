"""How each source stands: by what the index knows of it, and by its run that has no report."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, Any

from crawlers.report import quantities
from crawlers.report.natural import natural
from crawlers.report.silence import silent_since
from crawlers.report.sources import NOTHING, RUNS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from crawlers.runs import Run

_BAD = ("failed", "blocked", "interrupted", "incomplete", None)  # the worst first; the last is only silent
_SUMS = ("datasets", "resources", "withdrawn", "contactless")

Row = dict[str, Any]


def standing(known: dict[str, Any], current: Sequence[Run]) -> dict[str, Any]:
    """What is known of the index, with the sources as they stand: first those that need a look, the worst first.

    Args:
        known: of `crawlers.report.overview.known`; it stays as it is.
        current: of `crawlers.report.unfinished.unfinished`.
    """
    runs: dict[str, list[Run]] = defaultdict(list)
    for run in current:
        runs[run.source].append(run)
    indexed = {row["source"]: row for row in known["sources"]}
    rows = [
        _stands(indexed.get(name, {**NOTHING, "source": name}), runs[name], known["now"])
        for name in {**indexed, **runs}
    ]
    rows.sort(key=_order)
    return {
        **known,
        "sources": rows,
        "attention": [row for row in rows if row["reasons"]],
        "totals": {name: sum(row[name] for row in rows) for name in _SUMS},
        "whole": sum(row["state"] == "complete" for row in rows),
        "running": sum(row["doing"] == "running" for row in rows),
        "dead": [row["source"] for row in rows if row["dead"]],
    }


def _stands(row: Row, current: list[Run], now: str) -> Row:
    dead = next((run for run in current if run.state == "interrupted"), None)
    doing = next((run.state for run in current if not run.over), None)
    state = dead.state if dead else row["last_verdict"]
    starts = [*(run["started"] for run in row["history"]["runs"]), *(run.started for run in current)]
    silent = None if doing else silent_since(starts, now)
    bad = [state] if state in _BAD[:-1] else []
    return {
        **row,
        "state": state,
        "doing": doing,
        "dead": bool(dead),
        "silent": silent,
        "reasons": [*bad, f"silent since {quantities.date(silent)[:10]}"] if silent else bad,
        "last_time": (dead.finished or dead.started) if dead else row["last_finished"],
        "history": {**row["history"], "runs": _marks(row["history"]["runs"], current)},
    }


def _order(row: Row) -> tuple[bool, int, list[tuple[str, int]]]:
    worst = _BAD.index(row["state"] if row["state"] in _BAD else None)
    return not row["reasons"], worst if row["reasons"] else 0, natural(row["source"])


def _marks(runs: list[Row], current: list[Run]) -> list[Row]:
    """A run that goes on under its name is told once."""
    begun = [run for run in current if run.run]
    names = {run.run for run in begun}
    marks = [{"run": run.run, "verdict": run.state, "title": _title(run)} for run in begun]
    return [*(run for run in runs if run["run"] not in names), *marks][-RUNS:]


def _title(run: Run) -> str:
    expected = "" if run.expected is None else f" of {run.expected:,}"
    return f"{quantities.date(run.started)} {run.state}, {run.listed:,}{expected} datasets listed until then"
