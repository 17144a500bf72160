"""The last run of each source by the reports on disk, for metrics: they are right even without an index."""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Any, get_args

from crawlers.safety import inside, strict_json
from crawlers.store.runs.run import State
from crawlers.values.moment import moment

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

SOURCES = 10_000
REPORTS = 400
"""How many reports are searched for a complete run: more than a year of nights."""
_LARGEST_REPORT = 16 * 1024 * 1024  # bytes
_RUN = re.compile(r"([0-9]{8}T[0-9]{6}Z)(?:-([0-9]{1,6}))?")
_SUCCESSFUL = ("complete", "partial")
_VERDICTS = frozenset(get_args(State)) - {"pending", "running"}


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
    names = {path.parent.name for path in islice(output.glob("*/runs"), SOURCES)}
    names |= {ended["source"]} if ended else set()
    for name in sorted(names):
        reports = list(_reports(output / name / "runs", ended if ended and ended["source"] == name else None))
        if reports:
            yield _last_run(name, reports)


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


def _reports(folder: Path, ended: dict[str, Any] | None) -> Iterator[dict[str, Any]]:
    """Yield a source's reports, newest first, up to the last complete one."""
    runs = {path.stem: path for path in folder.glob("*.json") if _RUN.fullmatch(path.stem)}
    own = {str(ended["run"]): ended} if ended and _RUN.fullmatch(str(ended.get("run"))) else {}
    for run in sorted({*runs, *own}, key=_order, reverse=True)[:REPORTS]:
        report = own.get(run) or _read(runs[run])
        if report:
            yield report
            if report["verdict"] == "complete":
                return


def _order(run: str) -> tuple[str, int]:
    """Return the sort key of a run's name.

    >>> sorted(["20261120T030000Z-10", "20261120T030000Z-2", "20261120T030000Z"], key=_order)
    ['20261120T030000Z', '20261120T030000Z-2', '20261120T030000Z-10']
    """
    start, _, number = run.partition("-")
    return start, int(number or 1)


def _read(path: Path) -> dict[str, Any] | None:
    try:
        report = strict_json.loads(inside.read(path.parent.parent, f"runs/{path.name}", _LARGEST_REPORT))
    except (OSError, ValueError):
        return None
    return report if isinstance(report, dict) and report.get("verdict") in _VERDICTS else None
