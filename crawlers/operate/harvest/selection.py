"""Select the sources of a harvest, with the reason for each, by schedule, last run and retries."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from itertools import takewhile
from pathlib import Path

from crawlers.exceptions import HarvestError, hint
from crawlers.operate.harvest.job import ClaimRecord, read_claim
from crawlers.operate.sources.schedule import Schedule
from crawlers.operate.sources.source import Source
from crawlers.records.moment import moment
from crawlers.safety.redact import redact
from crawlers.store.runs import Run, claimed, last, runs

_NEVER = "never harvested before"
_TRIALS = 50  # consecutive runs with other arguments that are skipped to find the last harvest
_SKEW = timedelta(hours=1)  # between clocks; a run with a later date is ignored


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """Whether a harvest takes a source.

    Args:
        last: its last run, which may still be running.
        time: when its next run is due, or since when it has been; ``None`` without a schedule.
        is_waiting: whether it was never harvested and waits for its window.
    """

    source: Source
    is_taken: bool
    reason: str
    last: Run | None = None
    time: datetime | None = None
    is_waiting: bool = False


def named(sources: Mapping[str, Source], names: Iterable[str]) -> list[Choice]:
    """Return the choice of the sources that the user named.

    Raises:
        HarvestError: a source of that name does not exist, or was refused.
    """
    wanted = dict.fromkeys(names)
    for name in wanted:
        if name not in sources:
            there = ", ".join(sorted(sources)) or "none"
            raise HarvestError(f"There is no source {name!r}.{hint(name, sources)} There are: {there}.")
        if sources[name].review == "refused":
            comment = sources[name].review_comment
            why = f": {comment.rstrip('.')}" if comment else ""
            raise HarvestError(f"[{name}] was refused{why}. `scrapy sources approve {name}` allows its harvest.")
    return [Choice(source=sources[name], is_taken=True, reason="named") for name in wanted]


def enabled(sources: Mapping[str, Source]) -> list[Choice]:
    """Return the choice of all sources that are enabled and approved."""
    return [
        Choice(source=source, is_taken=not source.left_out, reason=source.left_out or "enabled")
        for source in sources.values()
    ]


def due(sources: Mapping[str, Source], output: Path, jobs: Path, now: datetime) -> list[Choice]:
    """Return the choice of sources that are due: by their schedule since their last run, or as that crashed.

    Only runs with the table's own arguments count.
    """
    found = []
    for source in sources.values():
        run, known = last(output, source.name), read_claim(jobs, source.name)
        if known.is_held and not (run and run.state == "running"):
            run = claimed(jobs / f"{source.name}.lock") or run
        found.append(replace(_judged(source, run, known, output, now), last=run))
    return found


def still_due(source: Source, output: Path, jobs: Path, now: datetime) -> bool:
    """Return whether a source is still due once this harvest has claimed it."""
    known = replace(read_claim(jobs, source.name), is_held=False)
    return _judged(source, last(output, source.name), known, output, now).is_taken


def _judged(source: Source, run: Run | None, known: ClaimRecord, output: Path, now: datetime) -> Choice:
    """Return the choice by the last run that counts for the schedule: running, or with the table's own arguments.

    A test such as ``scrapy crawl hdx -a max_datasets=1`` does not count.
    """

    def harvests() -> Iterator[Run]:  # that have ended, the newest first
        before = runs(output, source.name, limit=_TRIALS)
        return (one for one in before if one.over and is_own(source, one.arguments))

    if run and run.over and not is_own(source, run.arguments):
        run = next(harvests(), None)
    retry = None
    if run and run.state in RETRIED and source.schedule and source.schedule.retry:
        retry = next_retry(source.schedule, list(harvests()))
    return _due(source, run, known, now, retry)


def is_own(source: Source, arguments: Mapping[str, str]) -> bool:
    """Return whether a run's arguments are those of the source's table, as a harvest gives them.

    Credentials are not compared, since reports do not contain them.

    >>> own = Source(name="hdx", spider="hdx", arguments={"q": "flood"})
    >>> is_own(own, {"q": "flood", "source": "hdx", "since": "last"}), is_own(own, {"q": "flood", "max_datasets": "1"})
    (True, False)
    """
    return _without_added(arguments) == _without_added(source.arguments)


def _without_added(arguments: Mapping[str, str]) -> dict[str, str]:
    """Return the arguments without those that a harvest adds: the folder's name and ``since=last``."""
    added = {"source": arguments.get("source"), "since": "last"}
    return {name: redact(value) for name, value in arguments.items() if added.get(name) != value}


def _due(source: Source, run: Run | None, known: ClaimRecord, now: datetime, retry: datetime | None = None) -> Choice:
    reason = _busy(source, run, known)
    if reason or source.schedule is None:
        return Choice(source=source, is_taken=False, reason=reason, last=run)
    starts = (moment(run.started if run else None), known.begun)
    before = max((start for start in starts if start and start <= now + _SKEW), default=None)
    why = _crashed(run, known) or ("" if before else "its last run is dated in the future" if any(starts) else _NEVER)
    is_waiting = why == _NEVER and run is None and source.schedule.has_window
    if is_waiting:
        before = known.seen or now
    elif why or before is None:
        return Choice(source=source, is_taken=True, reason=why, last=run, time=now)
    is_due, time = source.schedule.due(before, now), source.schedule.after(min(before, now))
    before_it, after_it = f"{_NEVER}, " if is_waiting else "", ""
    if run and retry and retry < time:
        is_due, time, after_it = retry <= now, retry, f" to retry its {run.state} run"
    reason = f"{before_it}due {'since' if is_due else 'at'} {time:%Y-%m-%d %H:%M} UTC{after_it}"
    return Choice(source=source, is_taken=is_due, reason=reason, last=run, time=time, is_waiting=is_waiting)


def _busy(source: Source, run: Run | None, known: ClaimRecord) -> str:
    """Return why a source is not due whatever its schedule says; empty if the schedule decides."""
    if source.left_out:
        return source.left_out
    if source.schedule is None:
        return "no schedule"
    if run and run.state == "running":
        return "running"
    return "claimed by another harvest" if known.is_held else ""


def _crashed(run: Run | None, known: ClaimRecord) -> str:
    """Return why the last run must be resumed; empty if it need not be."""
    if run and run.state == "interrupted":
        return "its last run was interrupted"
    ends = (known.ended, moment(run.finished if run else None))
    if known.begun and not any(end and end >= known.begun for end in ends):
        return "its last run crashed before its first heartbeat"
    return ""


def not_approved(sources: Mapping[str, Source]) -> str:
    """Return a sentence that names the enabled sources that are left out until they are approved; empty if none is."""
    found: dict[str, list[str]] = {}
    for source in sources.values():
        if source.enabled and source.left_out:
            found.setdefault(source.left_out, []).append(source.name)
    words = "; ".join(f"{why}: {', '.join(names)}" for why, names in found.items())
    return f"Left out, {words}. `scrapy sources approve NAME` approves one." if words else ""


RETRIED = ("failed", "incomplete")
"""The verdicts after which a source is tried again; a blocked one waits for its next time."""


def next_retry(schedule: Schedule, runs: Sequence[Run]) -> datetime | None:
    """Return when a source is due again before its next time; ``None`` if it waits for that.

    Args:
        runs: those that count for the schedule and have ended, the newest first.
    """
    started, ended = (moment(time) for time in (runs[0].started, runs[0].finished)) if runs else (None, None)
    if not started or not ended:
        return None
    slot = schedule.after(started)
    starts = ((run.state, moment(run.started)) for run in runs)
    failed = takewhile(lambda one: one[0] in RETRIED and one[1] is not None and schedule.after(one[1]) == slot, starts)
    tried = len(list(failed))  # before the same time of the schedule
    if not 0 < tried <= len(schedule.retry):
        return None
    time = ended + schedule.retry[tried - 1]
    return time if time < slot else None
