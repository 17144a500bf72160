"""Removes run reports and logs that are older than the settings keep them."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path

from crawlers.records import moment
from crawlers.safety import inside
from crawlers.store.index import from_the_beginning, listing, scope
from crawlers.store.index.reports import names
from crawlers.store.runs import Run, last, reported

_DAY = 86_400  # seconds


def remove_reports(output: Path, source: str, days: int) -> int:
    """Remove a source's old run reports, except its last and those that the next run builds on; return their number.

    Args:
        days: how long reports are kept; 0: forever.
    """
    edge, folder = moment.name(datetime.now(UTC) - timedelta(days=days)), output / source
    known = sorted(names(folder), reverse=True) if days else []
    recent = [name for name in known if name >= edge]
    if len(recent) == len(known):
        return 0
    newest, removed = last(output, source), 0
    old = sorted(map(partial(_read, folder), known[len(recent) :]), key=lambda run: run.finished or "", reverse=True)
    covered = _covered(folder, recent, {scope for run in old for scope in _built_on(run)})
    for run in old:
        new = set(_built_on(run)) - covered
        covered |= new
        if not new and not (newest and run.run == newest.run):
            with suppress(OSError):
                inside.remove(folder, f"runs/{run.run}.json")
                removed += 1
    return removed


def _covered(folder: Path, names: Iterable[str], wanted: set[str]) -> set[str]:
    """Return which scopes have a run among some; no more reports are opened than that takes."""
    found = set[str]()
    for name in names:
        if wanted <= found:
            break
        found.update(_built_on(_read(folder, name)))
    return found


def _read(folder: Path, name: str) -> Run:
    return reported(folder / "runs" / f"{name}.json")


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
