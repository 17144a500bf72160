"""Which sources a harvest takes, and why."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from pathlib import Path

from crawlers.exceptions import HarvestError, hint
from crawlers.harvest.claim import Begun, begun, pending
from crawlers.moment import moment
from crawlers.runs import Run, last, runs
from crawlers.safety.redact import redact
from crawlers.sources import Schedule, Source

_NEVER = "never harvested before"
_TRIALS = 50  # runs with other arguments, one after another, that the last harvest is looked for behind
_SKEW = timedelta(hours=1)  # that clocks may differ; what is dated later than that says nothing


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """
    Args:
        taken: whether it is harvested now.
        reason: why, or why not: for people.
        last: its last run, be it over or not.
        time: when its next run is due, or has been since; ``None`` when nothing says so.
        is_waiting: whether it was never harvested, and waits for its window.
    """

    source: Source
    taken: bool
    reason: str
    last: Run | None = None
    time: datetime | None = None
    is_waiting: bool = False


def named(sources: Mapping[str, Source], names: Iterable[str]) -> list[Choice]:
    """
    Raises:
        HarvestError: there is no source of that name.
    """
    wanted = dict.fromkeys(names)
    for name in wanted:
        if name not in sources:
            raise HarvestError(_unknown(name, sources))
    return [Choice(source=sources[name], taken=True, reason="named") for name in wanted]


def enabled(sources: Mapping[str, Source]) -> list[Choice]:
    return [
        Choice(source=one, taken=one.enabled, reason="enabled" if one.enabled else "disabled")
        for one in sources.values()
    ]


def due(sources: Mapping[str, Source], output: Path, jobs: Path, now: datetime) -> list[Choice]:
    """All of them; taken are those whose time has come since their last run began, or whose last run died.

    A run with other arguments than the table's is no harvest, and counts for nothing.
    """
    return [_standing(one, output, jobs, now) for one in sources.values()]


def still_due(source: Source, output: Path, jobs: Path, now: datetime) -> bool:
    """Whether it is due, asked by the harvest that has claimed it meanwhile."""
    run = _counted(source, last(output, source.name), output)
    return _due(source, run, replace(begun(jobs, source.name), held=False), now).taken


def _standing(source: Source, output: Path, jobs: Path, now: datetime) -> Choice:
    run, known = last(output, source.name), begun(jobs, source.name)
    if known.held and not (run and run.state == "running"):
        run = pending(jobs, source.name) or run
    return replace(_due(source, _counted(source, run, output), known, now), last=run)


def _counted(source: Source, run: Run | None, output: Path) -> Run | None:
    """Return the last run that counts for the schedule: at work, or with the table's own arguments.

    A trial (``scrapy crawl hdx -a max_datasets=1``) is no harvest.

    Args:
        run: the source's last.
    """
    if run is None or not run.over or is_own(source, run.arguments):
        return run
    before = runs(output, source.name, limit=_TRIALS)
    return next((one for one in before if one.over and is_own(source, one.arguments)), None)


def is_own(source: Source, arguments: Mapping[str, str]) -> bool:
    """Return whether a run's arguments are those of the source's table, as a harvest gives them.

    Reports have arguments without credentials, so neither are these compared with them.

    >>> own = Source(name="hdx", spider="hdx", arguments={"q": "flood"})
    >>> is_own(own, {"q": "flood", "source": "hdx", "since": "last"}), is_own(own, {"q": "flood", "max_datasets": "1"})
    (True, False)
    """
    return _asked_for(arguments) == _asked_for(source.arguments)


def _asked_for(arguments: Mapping[str, str]) -> dict[str, str]:
    """The arguments without those that a harvest adds: the folder's name and ``since=last``."""
    added = {"source": arguments.get("source"), "since": "last"}
    return {name: redact(value) for name, value in arguments.items() if added.get(name) != value}


def _due(source: Source, run: Run | None, known: Begun, now: datetime) -> Choice:
    reason = _busy(source, run, known)
    if reason or source.schedule is None:
        return Choice(source=source, taken=False, reason=reason, last=run)
    moments = (moment(run.started if run else None), known.begun)
    before = max((one for one in moments if one and one <= now + _SKEW), default=None)
    why = _died(run, known) or ("" if before else "its last run is dated in the future" if any(moments) else _NEVER)
    if why == _NEVER and run is None and source.schedule.has_window:
        return _first(source, source.schedule, known.seen or now, now)
    if why or before is None:
        return Choice(source=source, taken=True, reason=why, last=run, time=now)
    taken, time = source.schedule.due(before, now), source.schedule.after(min(before, now))
    reason = f"due {'since' if taken else 'at'} {time:%Y-%m-%d %H:%M} UTC"
    return Choice(source=source, taken=taken, reason=reason, last=run, time=time)


def _first(source: Source, schedule: Schedule, seen: datetime, now: datetime) -> Choice:
    """Of a source that was never harvested and names its hours."""
    taken, time = schedule.due(seen, now), schedule.after(min(seen, now))
    reason = f"{_NEVER}, due {'since' if taken else 'at'} {time:%Y-%m-%d %H:%M} UTC"
    return Choice(source=source, taken=taken, reason=reason, time=time, is_waiting=True)


def _busy(source: Source, run: Run | None, known: Begun) -> str:
    """Why it is not even asked when it is due; empty when it is."""
    if not source.enabled:
        return "disabled"
    if source.schedule is None:
        return "no schedule"
    if run and run.state == "running":
        return "running"
    return "another harvest has it" if known.held else ""


def _died(run: Run | None, known: Begun) -> str:
    """Why what was begun must go on; empty when it needs not."""
    if run and run.state == "interrupted":
        return "its last run was interrupted"
    ends = (known.ended, moment(run.finished if run else None))
    if known.begun and not any(end and end >= known.begun for end in ends):
        return "its last run died before its first sign of life"
    return ""


def _unknown(name: str, sources: Mapping[str, Source]) -> str:
    return f"There is no source {name!r}.{hint(name, sources)} There are: {', '.join(sorted(sources)) or 'none'}."
