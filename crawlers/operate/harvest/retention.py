"""Removes run reports and logs that are older than the settings keep them."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path

from crawlers.safety import inside
from crawlers.store.index import from_the_beginning, listing, scope
from crawlers.store.runs import Run, runs
from crawlers.values import moment

_DAY = 86_400  # seconds


def remove_reports(output: Path, source: str, days: int) -> int:
    """Remove a source's old run reports, except its last and those that the next run builds on; return their number.

    Args:
        days: how long reports are kept; 0: forever.
    """
    edge = moment.name(datetime.now(UTC) - timedelta(days=days))
    folder = output / source / "runs"
    if not days or not any(path.stem < edge for path in folder.glob("*.json")):
        return 0
    removed, covered = 0, set[str]()
    for number, run in enumerate(run for run in runs(output, source) if run.report):
        new = set(_built_on(run)) - covered
        covered |= new
        if number and not new and run.report and run.report.stem < edge:
            with suppress(OSError):
                inside.remove(output / source, f"runs/{run.report.name}")
                removed += 1
    return removed


def remove_logs(logs: Path, source: str, days: int) -> int:
    """Remove a source's logs that were not written to for some days; return their number.

    Args:
        days: how long logs are kept; 0: forever.
    """
    edge, removed = time.time() - days * _DAY, 0
    for path in (logs / source).glob("*.log") if days else ():
        with suppress(OSError):
            if path.stat().st_mtime < edge:
                path.unlink()
                removed += 1
    return removed


def _built_on(run: Run) -> Iterator[str]:
    """Yield the scopes, as in index.sqlite, for which the next run builds on this one."""
    if run.spider is None or run.details.get("provisional") or not from_the_beginning(run.arguments):
        return
    covered = scope(run.spider, run.arguments)
    if run.state == "complete":
        yield covered
    if run.details.get("whole_listing"):
        yield listing(covered)
