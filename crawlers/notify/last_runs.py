"""The last run of each source, by the reports on disk."""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from crawlers.moment import moment
from crawlers.notify.verdicts import VERDICTS
from crawlers.safety import inside, strict_json

if TYPE_CHECKING:
    from collections.abc import Iterator

SOURCES = 10_000
REPORTS = 400
"""How far back a complete run is looked for: a year of nights, and some."""
_LARGEST = 16 * 1024 * 1024
_RUN = re.compile(r"([0-9]{8}T[0-9]{6}Z)(?:-([0-9]{1,6}))?")


@dataclass(frozen=True, slots=True)
class LastRun:
    """
    Args:
        source: its folder's name.
        report: of its last run.
        finished: when that ended, in seconds since 1970.
        complete: when its last complete run did.
    """

    source: str
    report: dict[str, Any]
    finished: float | None
    complete: float | None


def last_runs(output: Path, ended: dict[str, Any] | None = None) -> Iterator[LastRun]:
    """
    Args:
        output: OUTPUT_DIR.
        ended: a report that may not be on disk: of a run that died, or of a disk that is full.
    """
    names = {path.parent.name for path in islice(output.glob("*/runs"), SOURCES)}
    names |= {ended["source"]} if ended else set()
    for name in sorted(names):
        reports = list(_reports(output / name / "runs", ended if ended and ended["source"] == name else None))
        if reports:
            last = max(reports, key=lambda report: str(report.get("finished")))  # an older one may have gone on
            yield LastRun(name, last, _finished(last), _complete(reports))


def _complete(reports: list[dict[str, Any]]) -> float | None:
    return next((_finished(one) for one in reports if one["verdict"] == "complete"), None)


def _finished(report: dict[str, Any]) -> float | None:
    found = moment(report.get("finished"))
    return found.timestamp() if found else None


def _reports(folder: Path, ended: dict[str, Any] | None) -> Iterator[dict[str, Any]]:
    """Newest first, to the last complete one."""
    runs = {path.stem: path for path in folder.glob("*.json") if _RUN.fullmatch(path.stem)}
    own = {str(ended["run"]): ended} if ended and _RUN.fullmatch(str(ended.get("run"))) else {}
    for run in sorted({*runs, *own}, key=_order, reverse=True)[:REPORTS]:
        report = own.get(run) or _read(runs[run])
        if report:
            yield report
            if report["verdict"] == "complete":
                return


def _order(run: str) -> tuple[str, int]:
    """
    >>> sorted(["20261120T030000Z-10", "20261120T030000Z-2", "20261120T030000Z"], key=_order)
    ['20261120T030000Z', '20261120T030000Z-2', '20261120T030000Z-10']
    """
    start, _, number = run.partition("-")
    return start, int(number or 1)


def _read(path: Path) -> dict[str, Any] | None:
    try:
        report = strict_json.loads(inside.read(path.parent.parent, f"runs/{path.name}", _LARGEST))
    except (OSError, ValueError):
        return None
    return report if isinstance(report, dict) and report.get("verdict") in VERDICTS else None
