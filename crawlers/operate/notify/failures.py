"""The failed runs of a source directly before a run, by the reports on disk: is it failing again, or recovered?"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import takewhile
from typing import TYPE_CHECKING, Any

from crawlers.store.runs import runs

if TYPE_CHECKING:
    from collections.abc import Collection
    from pathlib import Path

FAILED = frozenset(("incomplete", "blocked", "failed", "interrupted"))
"""The verdicts of a run that failed."""
_SUCCESSFUL = frozenset(("complete", "partial"))
_MOST = 50  # runs that are looked at


@dataclass(frozen=True, slots=True)
class Failures:
    """The failed runs directly before a run.

    Args:
        count: how many in a row.
        since: when the first of them started.
    """

    count: int = 0
    since: str | None = None


def failures_before(report: dict[str, Any], folder: Path, verdicts: Collection[str]) -> Failures:
    """Return the failed runs before a run, among those with the same arguments.

    Args:
        report: the run's.
        folder: the source's.
        verdicts: those that are notified of; a failed run with another one is passed over.
    """
    before = (
        run
        for run in runs(folder.parent, folder.name, limit=_MOST)
        if run.over and run.run != report.get("run") and run.arguments == report.get("arguments", run.arguments)
    )
    judged = (run for run in before if run.state in _SUCCESSFUL or run.state in verdicts)
    failed = list(takewhile(lambda run: run.state in FAILED, judged))
    return Failures(len(failed), failed[-1].started) if failed else Failures()
