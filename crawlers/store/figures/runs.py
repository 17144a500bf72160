"""The runs that the index has, with what they found."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from crawlers.records.moment import moment
from crawlers.signals import OUTCOMES
from crawlers.store.runs import Run

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Collection, Iterator, Mapping

_RUNS = """
    SELECT *,
        (SELECT group_concat(kind || ' ' || count, ', ') FROM run_errors e
        WHERE e.source = r.source AND e.run = r.run) AS errors
    FROM runs r WHERE (:source = '' OR source = :source) AND (:state = '' OR verdict = :state)
    ORDER BY started DESC, source LIMIT :limit
"""
_FOUND = """
    SELECT *, (
        SELECT json_group_object(kind, count) FROM (
            SELECT kind, count FROM run_errors e WHERE e.source = r.source AND e.run = r.run ORDER BY count DESC, kind
        )
    ) AS errors FROM runs r
"""
_RUN = f"{_FOUND} WHERE source = ? AND run = ?"
_NEWEST = f"""
    {_FOUND} WHERE (:source IS NULL OR source = :source) AND (:state IS NULL OR verdict = :state)
        AND (:started IS NULL OR (started, source, run) < (:started, :before_source, :before_run))
    ORDER BY started DESC, source DESC, run DESC
"""


def time_left(run: Run, now: datetime | None = None) -> float | None:
    """Return the seconds that a running crawl still needs at its pace so far; ``None`` if nothing says it.

    >>> run = Run(source="a", run=None, state="running", started="2026-11-20T03:00:00Z", listed=30, expected=120)
    >>> time_left(run, datetime(2026, 11, 20, 3, 1, tzinfo=UTC))
    180.0
    """
    started = moment(run.started)
    if run.state != "running" or run.resumed or not started or not run.listed or not run.expected:
        return None
    seconds = ((now or datetime.now(UTC)) - started).total_seconds()
    return max(seconds, 0.0) * max(run.expected - run.listed, 0) / run.listed


Key = tuple[str, str, str]
"""When a run started, its source and its name: what a list of runs is ordered by that goes on after any of them."""


def reported(
    db: sqlite3.Connection, words: Mapping[str, str], limit: int, current: Collection[tuple[str, str | None]] = ()
) -> Iterator[dict[str, Any]]:
    """Yield the runs that have a report, the newest first.

    Args:
        db: the index.
        words: ``source`` and ``state``; empty for all.
        limit: the number of runs to look at.
        current: runs to leave out, each a source and a run: those that were resumed and are running.
    """
    rows = db.execute(_RUNS, {**words, "limit": limit})
    there = (dict(row) for row in rows if (row["source"], row["run"]) not in current)
    return (row | {"flaws": sum(json.loads(row["flaws"] or "{}").values())} for row in there)


def indexed(db: sqlite3.Connection, source: str, name: str) -> Run | None:
    """Return a run as the index has it, whose report may be gone; ``None`` if there is none."""
    row = db.execute(_RUN, (source, name)).fetchone()
    return _run(dict(row)) if row else None


def newest(
    db: sqlite3.Connection, source: str | None = None, state: str | None = None, before: Key | None = None
) -> Iterator[Run]:
    """Yield the runs that have a report, those that started last first.

    Args:
        db: the index.
        source: the only source.
        state: the only verdict.
        before: the run after which the list goes on; by default it begins.
    """
    started, before_source, before_run = before or (None, None, None)
    words = {"started": started, "before_source": before_source, "before_run": before_run}
    rows = db.execute(_NEWEST, {"source": source, "state": state, **words})
    return (_run(dict(row)) for row in rows)


def key(run: Run) -> Key:
    """Return what the list of `newest` is ordered by."""
    return run.started or "", run.source, run.run or ""


def _run(row: dict[str, Any]) -> Run:
    counts = {count: row.pop(count) or 0 for count in OUTCOMES}
    state, arguments, errors = row.pop("verdict"), row.pop("arguments"), json.loads(row.pop("errors"))
    reason, seconds, flaws = row.pop("finish_reason"), row["seconds"], json.loads(row.pop("flaws") or "{}")
    row["resumed"] = bool(row["resumed"])
    return Run(
        **row,
        state=state,
        arguments=json.loads(arguments) if arguments else {},
        counts=counts,
        errors=errors,
        flaws=flaws,
        pace=round(row["requests"] / seconds, 2) if seconds and not row["resumed"] else None,
        why="" if reason in (None, "finished") else reason,
        details={"finish_reason": reason},
    )
