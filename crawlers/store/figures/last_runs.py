"""The last run of each source by the reports on disk, for metrics: they are right even without an index."""

from __future__ import annotations

import re
import sqlite3
from contextlib import closing, contextmanager
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Any, get_args

from crawlers.exceptions import IndexUnreadableError
from crawlers.records.moment import moment
from crawlers.safety import inside, strict_json
from crawlers.store.index.reader import connect
from crawlers.store.index.reports import names
from crawlers.store.runs import sources
from crawlers.store.runs.run import State

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

SOURCES = 10_000
OPENED = 5
"""How many reports of a source are opened to find a complete run, if the index knows the others."""
REPORTS = 400
"""How many are, if it does not: more than a year of nights."""
_LARGEST_REPORT = 16 * 1024 * 1024  # bytes
_RUN = re.compile(r"([0-9]{8}T[0-9]{6}Z)(?:-([0-9]{1,6}))?")
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
    """Return the last run of a source.

    Args:
        reports: the newest first; an older run may have been resumed, and so have ended later.
    """
    reports = sorted(reports, key=lambda report: str(report.get("finished")), reverse=True)
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
    runs = {name for name in names(folder) if _RUN.fullmatch(name)}
    own = {str(ended["run"]): ended} if ended and _RUN.fullmatch(str(ended.get("run"))) else {}
    newest = sorted({*runs, *own}, key=_order, reverse=True)[:REPORTS]
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


def _order(run: str) -> tuple[str, int]:
    """Return the sort key of a run's name.

    >>> sorted(["20261120T030000Z-10", "20261120T030000Z-2", "20261120T030000Z"], key=_order)
    ['20261120T030000Z', '20261120T030000Z-2', '20261120T030000Z-10']
    """
    start, _, number = run.partition("-")
    return start, int(number or 1)


def _read(folder: Path, run: str) -> dict[str, Any] | None:
    try:
        report = strict_json.loads(inside.read(folder, f"runs/{run}.json", _LARGEST_REPORT))
    except (OSError, ValueError):
        return None
    return report if isinstance(report, dict) and report.get("verdict") in _VERDICTS else None
