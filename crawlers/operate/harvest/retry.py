"""When a source is due again after a failed or incomplete run; what was tried already is what its reports say."""

from __future__ import annotations

from itertools import takewhile
from typing import TYPE_CHECKING

from crawlers.records.moment import moment

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from crawlers.operate.sources import Schedule
    from crawlers.store.runs import Run

RETRIED = ("failed", "incomplete")
"""The verdicts after which a source is tried again; a blocked one waits for its next time."""


def next_retry(schedule: Schedule, runs: Sequence[Run]) -> datetime | None:
    """Return when a source is due again before its next time; ``None`` if it waits for that.

    Args:
        schedule: the source's.
        runs: those that count for the schedule and have ended, the newest first.
    """
    started, ended = (moment(time) for time in (runs[0].started, runs[0].finished)) if runs else (None, None)
    if not started or not ended:
        return None
    slot = schedule.after(started)
    tried = len(list(takewhile(lambda run: run.state in RETRIED and _is_before(run, slot, schedule), runs)))
    if not 0 < tried <= len(schedule.retry):
        return None
    time = ended + schedule.retry[tried - 1]
    return time if time < slot else None


def _is_before(run: Run, slot: datetime, schedule: Schedule) -> bool:
    """Return whether a time of the schedule is the next one after a run's start."""
    started = moment(run.started)
    return started is not None and schedule.after(started) == slot
