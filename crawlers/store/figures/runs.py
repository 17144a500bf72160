"""The runs that the index has, with what they found."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import islice
from typing import TYPE_CHECKING, Any, get_args

from crawlers.exceptions import IndexUnreadableError
from crawlers.records.moment import moment
from crawlers.signals import OUTCOMES
from crawlers.store.folder import json_object
from crawlers.store.index.database import connect
from crawlers.store.index.reports import names
from crawlers.store.runs import RUN, Run, State, name_order, sources

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping
    from pathlib import Path


_RUNS = """
    SELECT *,
        (SELECT group_concat(kind || ' ' || count, ', ') FROM run_errors e
        WHERE e.source = r.source AND e.run = r.run) AS errors,
        CASE WHEN listed = 0 AND verdict = 'complete' THEN (
            SELECT sum(CASE status WHEN 'withdrawn' THEN -count ELSE count END) FROM daily_changes d
            WHERE d.source = r.source AND d.run <= r.run AND status IN ('new', 'restored', 'withdrawn')
        ) END AS held
    FROM runs r WHERE (:source = '' OR source = :source) AND (:state = '' OR verdict = :state)
        AND coalesce(finished, started) >= :since
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
        AND coalesce(finished, started) >= :since
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
    db: sqlite3.Connection,
    words: Mapping[str, str],
    limit: int,
    current: Collection[tuple[str, str | None]] = (),
    since: str = "",
) -> Iterator[dict[str, Any]]:
    """Yield the runs that have a report, the newest first.

    Args:
        db: the index.
        words: ``source`` and ``state``; empty for all.
        limit: the number of runs to look at.
        current: runs to leave out, each a source and a run: those that were resumed and are running.
        since: the moment before which runs ended that are left out, as `crawlers.records.moment.written` writes it.
    """
    rows = db.execute(_RUNS, {**words, "limit": limit, "since": since})
    there = (dict(row) for row in rows if (row["source"], row["run"]) not in current)
    return (row | {"flaws": sum(json.loads(row["flaws"] or "{}").values())} for row in there)


def indexed(db: sqlite3.Connection, source: str, name: str) -> Run | None:
    """Return a run as the index has it, whose report may be gone; ``None`` if there is none."""
    row = db.execute(_RUN, (source, name)).fetchone()
    return _run(dict(row)) if row else None


def newest(
    db: sqlite3.Connection,
    source: str | None = None,
    state: str | None = None,
    before: Key | None = None,
    since: str = "",
) -> Iterator[Run]:
    """Yield the runs that have a report, those that started last first.

    Args:
        db: the index.
        source: the only source.
        state: the only verdict.
        before: the run after which the list goes on; by default it begins.
        since: the moment before which runs ended that are left out, as in `reported`.
    """
    started, before_source, before_run = before or (None, None, None)
    words = {"started": started, "before_source": before_source, "before_run": before_run}
    rows = db.execute(_NEWEST, {"source": source, "state": state, "since": since, **words})
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


SOURCES = 10_000
OPENED = 5
"""How many reports of a source are opened to find a complete run, if the index knows the others."""
REPORTS = 400
"""How many are, if it does not: more than a year of nights."""
_LARGEST_REPORT = 16 * 1024 * 1024  # bytes
_SUCCESSFUL = ("complete", "partial")
_VERDICTS = frozenset(get_args(State)) - {"pending", "running"}
_LAST = "SELECT run, max(finished), count(*) AS count FROM runs WHERE source = ? GROUP BY verdict"


@dataclass(frozen=True, slots=True)
class LastRun:
    """The last run of a source.

    Args:
        source: its folder's name.
        report: of its last run.
        finished: when that ended, in seconds since 1970.
        complete: when its last complete run ended.
        success: when its last complete or partial run ended.
        datasets: how many datasets are on disk; ``None`` if no report says it.
    """

    source: str
    report: dict[str, Any]
    finished: float | None
    complete: float | None
    success: float | None
    datasets: int | None


def last_runs(output: Path, ended: dict[str, Any] | None = None) -> Iterator[LastRun]:
    """Yield the last run of each source, by the reports on disk.

    Args:
        output: OUTPUT_DIR.
        ended: the report of a run that may not be on disk: it crashed, or the disk is full.
    """
    there = set(islice((name for name in sources(output) if (output / name / "runs").is_dir()), SOURCES))
    there |= {ended["source"]} if ended else set()
    with _index(output) as db:
        for name in sorted(there):
            own = ended if ended and ended["source"] == name else None
            reports = list(_reports(db, output / name, own))
            if reports:
                yield _last_run(name, reports)


@contextmanager
def _index(output: Path) -> Iterator[sqlite3.Connection | None]:
    """Open the index; ``None`` if there is none that can be read."""
    try:
        db = connect(output)
    except IndexUnreadableError:
        yield None
        return
    with closing(db):
        yield db


def _last_run(source: str, reports: list[dict[str, Any]]) -> LastRun:
    reports = sorted(reports, key=lambda report: str(report.get("finished")), reverse=True)  # one may be resumed late
    counts = (report.get("datasets_on_disk") for report in reports)
    return LastRun(
        source,
        reports[0],
        _finished(reports[0]),
        complete=next((_finished(report) for report in reports if report["verdict"] == "complete"), None),
        success=next((_finished(report) for report in reports if report["verdict"] in _SUCCESSFUL), None),
        datasets=next((count for count in counts if isinstance(count, int)), None),
    )


def _finished(report: dict[str, Any]) -> float | None:
    found = moment(report.get("finished"))
    return found.timestamp() if found else None


def _reports(db: sqlite3.Connection | None, folder: Path, ended: dict[str, Any] | None) -> Iterator[dict[str, Any]]:
    """Yield a source's reports, newest first, up to the last complete one; of older ones the last of each verdict.

    Args:
        db: the index; without it, more reports are opened.
        folder: the source's.
        ended: see `last_runs`.
    """
    runs = {name for name in names(folder) if RUN.fullmatch(name)}
    own = {str(ended["run"]): ended} if ended and RUN.fullmatch(str(ended.get("run"))) else {}
    newest = sorted({*runs, *own}, key=name_order, reverse=True)[:REPORTS]
    for place, run in enumerate(newest):
        if place == OPENED and db and (last := _last(db, folder.name, runs)):
            yield from filter(None, (_read(folder, run) for run in last))
            return
        report = own.get(run) or _read(folder, run)
        if report:
            yield report
            if report["verdict"] == "complete":
                return


def _last(db: sqlite3.Connection, source: str, runs: set[str]) -> list[str]:
    """Return the run of each verdict that ended last; none if the index lacks one of the source's runs."""
    try:
        rows = db.execute(_LAST, (source,)).fetchall()
    except sqlite3.DatabaseError:
        return []
    return [row["run"] for row in rows] if sum(row["count"] for row in rows) >= len(runs) else []


def _read(folder: Path, run: str) -> dict[str, Any] | None:
    report = json_object(folder, f"runs/{run}.json", _LARGEST_REPORT)
    return report if report.get("verdict") in _VERDICTS else None
