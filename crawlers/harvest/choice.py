"""Which sources a harvest takes, and why."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

from crawlers.exceptions import HarvestError
from crawlers.harvest.claim import Begun, begun
from crawlers.runs import Run, last
from crawlers.runs.stored import moment
from crawlers.sources import Source

_SKEW = timedelta(hours=1)  # that clocks may differ; what is dated later than that says nothing


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """
    Args:
        taken: whether it is harvested now.
        reason: why, or why not: for people.
    """

    source: Source
    taken: bool
    reason: str


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
    """Those whose time has come since their last run began, or whose last run was interrupted or left no trace."""
    return [_due(one, last(output, one.name), begun(jobs, one.name), now) for one in sources.values()]


def still_due(source: Source, output: Path, jobs: Path, now: datetime) -> bool:
    """Whether it is due, asked by the harvest that has claimed it meanwhile."""
    return _due(source, last(output, source.name), replace(begun(jobs, source.name), held=False), now).taken


def _due(source: Source, run: Run | None, known: Begun, now: datetime) -> Choice:
    schedule = source.schedule
    if not source.enabled or schedule is None:
        reason = "no schedule" if source.enabled else "disabled"
        return Choice(source=source, taken=False, reason=reason)
    if run and run.state == "running":
        return Choice(source=source, taken=False, reason="running")
    if known.held:
        return Choice(source=source, taken=False, reason="another harvest has it")
    if why := _died(run, known):
        return Choice(source=source, taken=True, reason=why)
    moments = (_moment(run.started if run else None), known.begun)
    before = max((one for one in moments if one and one <= now + _SKEW), default=None)
    if before is None:
        why = "its last run is dated in the future" if any(moments) else "never harvested before"
        return Choice(source=source, taken=True, reason=why)
    taken, time = schedule.due(before, now), schedule.after(min(before, now))
    return Choice(source=source, taken=taken, reason=f"due {'since' if taken else 'at'} {time:%Y-%m-%d %H:%M} UTC")


def _died(run: Run | None, known: Begun) -> str:
    """Why what was begun must go on; empty when it needs not."""
    if run and run.state == "interrupted":
        return "its last run was interrupted"
    ends = (known.ended, _moment(run.finished if run else None))
    if known.begun and not any(end and end >= known.begun for end in ends):
        return "its last run died before its first sign of life"
    return ""


def _moment(text: str | None) -> datetime | None:
    try:
        return moment(text).astimezone(UTC)
    except (ValueError, OverflowError):
        return None


def _unknown(name: str, sources: Mapping[str, Source]) -> str:
    close = difflib.get_close_matches(name, sources, n=1)
    hint = f" Did you mean {close[0]}?" if close else ""
    return f"There is no source {name!r}.{hint} There are: {', '.join(sorted(sources)) or 'none'}."
