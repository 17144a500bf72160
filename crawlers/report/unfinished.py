"""The runs that have no report yet: queued, at work, or dead."""

from __future__ import annotations

from typing import TYPE_CHECKING

from crawlers.runs import sources
from crawlers.runs.stored import at_work, claimed

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from crawlers.runs import Run

_ORDER = ("running", "pending")


def unfinished(output: Path, jobs: Path | None = None, source: str | None = None) -> list[Run]:
    """Those of one source, or of all: first those that run, then those that are queued, then those that died.

    Args:
        output: OUTPUT_DIR.
        jobs: JOBS_DIR, for the runs that a harvest has queued.
    """
    running = [run for name in sources(output) if source in (None, name) and (run := at_work(output / name))]
    names = {run.source for run in running if run.state == "running"}
    queued = [run for run in _queued(jobs) if source in (None, run.source) and run.source not in names]
    found = [*running, *queued]
    return sorted(found, key=lambda run: (_ORDER.index(run.state) if run.state in _ORDER else 9, run.source))


def _queued(jobs: Path | None) -> Iterator[Run]:
    for path in sorted(jobs.glob("*.lock")) if jobs else ():
        run = claimed(path)
        if run:
            yield run
