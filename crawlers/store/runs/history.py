"""The runs: those that have a report on disk, and those that have none yet."""

from __future__ import annotations

import heapq
import os
import re
from bisect import bisect_right
from collections.abc import Collection, Iterable
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from itertools import chain
from pathlib import Path
from typing import Any

from crawlers.exceptions import RunError, hint
from crawlers.safety import inside
from crawlers.store.runs.run import STATES, Run, State
from crawlers.store.runs.stored import at_work, claimed, reported

Key = tuple[bool, str, int]
"""What reports are sorted by that have names alone: those of a wrong clock first, then by when their run began."""

_LATER = 50  # runs that may have begun after an interrupted one, and ended before it
_UNFINISHED = ("running", "pending")
_DIGITS = re.compile(r"[0-9]+")
_HOUR = len("2026112003")
_PLAIN = len("20261120T030000Z.json")


def runs(
    output: Path,
    source: str | None = None,
    *,
    limit: int | None = None,
    jobs: Path | None = None,
    states: Collection[State] = STATES,
) -> list[Run]:
    """Return the runs of one source, or of all: those queued and running, then those that ended last.

    Runs are ordered by their end, also one that was interrupted and resumed. A run that ended in the future, by a wrong
    clock, is the oldest. Damaged and incomplete reports are left out.

    Args:
        output: OUTPUT_DIR.
        source: the only source to look at.
        limit: the number of runs to return; at most twice as many reports are read, the newest of each source.
        jobs: JOBS_DIR, for the runs that a harvest has queued.
        states: those of the runs to return; unless it is all, every report is read.
    """
    names = _names(output, source)
    current = _without_report(output, names, source, jobs)
    without = {(run.source, run.run) for run in current}
    latest = _latest()
    found = _candidates(output, names, limit, states, latest)
    paths = (output / name / "runs" / file for name, file in found if (name, file.removesuffix(".json")) not in without)
    every = [run for run in chain(current, map(reported, paths)) if run.state in states]
    return sorted(every, key=lambda run: _ended(run, latest), reverse=True)[:limit]


def _candidates(
    output: Path, names: list[str], limit: int | None, states: Collection[State], latest: str
) -> Iterable[tuple[str, str]]:
    """Return the reports to read, each a source and a file.

    Args:
        names: of the sources.
        latest: see `_latest`.
    """
    if not set(states) >= set(STATES):
        from crawlers.store.runs.judged import judged  # noqa: PLC0415 -- `scrapy jobs` needs no index for the last runs

        found = judged(output, names, states, limit)
        if found is not None:
            return found
        limit = None
    if limit is None:
        return [(name, file) for name in names for file in _reports(output / name)]
    return _newest(output, names, limit, latest)


def last(output: Path, source: str, *, jobs: Path | None = None) -> Run | None:
    """Return a source's last run; the one that is queued or running, if there is one."""
    names, latest = _names(output, source), _latest()
    current = _without_report(output, names, source, jobs)
    without = frozenset(run.run for run in current)
    ended = [run for name in names if (run := _last_ended(output / name, _now(output / name), without, latest[:_HOUR]))]
    return max([*ended, *current], key=lambda run: _ended(run, latest), default=None)


def _now(folder: Path) -> tuple[float, int]:
    """Return what is another one as soon as a source has another report."""
    return _written(f"{folder}/runs"), hash(frozenset(_reports(folder)))


@lru_cache(maxsize=1024)
def _last_ended(folder: Path, now: tuple[float, int], without: frozenset[str | None], hour: str) -> Run | None:  # noqa: ARG001 -- what the result depends on
    """Return the run of a source that ended last and has a report: pages ask for that of each source.

    Args:
        now: see `_now`.
        without: names of runs to leave out.
        hour: the one that has begun; a report of a later one comes from a wrong clock.
    """
    latest = _latest()
    found = (
        reported(folder / "runs" / file) for _, file in _newest(folder.parent, [folder.name], 1 + len(without), latest)
    )
    return max((run for run in found if run.run not in without), key=lambda run: _ended(run, latest), default=None)


def unfinished(output: Path, jobs: Path | None = None, source: str | None = None) -> list[Run]:
    """Return the runs without a report: first those that run, then those that are queued, then those that crashed.

    Args:
        output: OUTPUT_DIR.
        jobs: JOBS_DIR, for the runs that a harvest has queued.
        source: the only source to look at.
    """
    found = _without_report(output, _names(output, source), source, jobs)
    return sorted(found, key=lambda run: ((*_UNFINISHED, run.state).index(run.state), run.source))


def find(output: Path, name: str) -> Run:
    """Return a run.

    Args:
        output: OUTPUT_DIR.
        name: ``"hdx/20261120T030000Z"``, or the run alone if only one source has a run of that name; or the source
            alone for its last run.

    Raises:
        RunError: there is none, or more than one.
    """
    source, _, run = name.rpartition("/")
    known = sources(output)
    among = [name for name in known if source in ("", name)]
    if source and not among:
        raise RunError(
            f"{output} has no source {source!r}.{hint(source, known)} There are: {', '.join(known) or 'none'}."
        )
    found = [match for folder in among if (match := _find(output / folder, run))]
    if not found and name in known and (newest := last(output, name)):
        return newest
    if not found:
        raise RunError(f"{output} has no run or source {name!r}.{hint(name, known)} `scrapy jobs` lists the runs.")
    if len(found) > 1:
        names = ", ".join(f"{match.source}/{match.run}" for match in found)
        raise RunError(f"{len(found)} sources have a run {name!r}, name one: {names}.")
    return found[0]


def sources(output: Path) -> list[str]:
    """Return the names of the folders in OUTPUT_DIR that have runs."""
    try:
        folders = [path for path in output.iterdir() if _is_plain(path.name) and path.is_dir()]
    except OSError:
        return []
    return sorted(path.name for path in folders if (path / "runs").is_dir() or (path / "running.json").exists())


def damaged(output: Path) -> list[str]:
    """Return a sentence for each source in OUTPUT_DIR whose run reports can't be read."""
    places = (path / "runs" for path in sorted(output.glob("[!.]*/")))
    return [
        f"{place.parent.name}: {place} is not a folder: restore it from a backup, or remove it."
        for place in places
        if place.is_symlink() or (place.exists() and not place.is_dir())
    ]


def _names(output: Path, source: str | None) -> list[str]:
    if source is None:
        return sources(output)
    return [source] if _is_plain(source) else []


def _without_report(output: Path, names: list[str], source: str | None, jobs: Path | None) -> list[Run]:
    current = [run for name in names if (run := at_work(output / name))]
    return [*_pending(jobs, source, {run.source for run in current if run.state == "running"}), *current]


def _find(folder: Path, run: str) -> Run | None:
    current = at_work(folder)
    if current and current.run == run:
        return current
    path = folder / "runs" / f"{run}.json"
    return reported(path) if _is_plain(run) and path.exists() else None


def _reports(folder: Path) -> list[str]:
    """Return the names of a source's reports."""
    try:
        return [name for name in inside.names(folder, "runs") if name.endswith(".json")]
    except OSError:
        return []


def _newest(output: Path, names: list[str], limit: int, latest: str) -> set[tuple[str, str]]:
    """Return the reports that may have ended last: they began or were written last, not by a wrong clock."""
    began: list[tuple[Key, str, str]] = []
    wrote: list[tuple[bool, float, str, str]] = []
    last = {name: _written(f"{output}/{name}/runs") for name in names}
    for source in sorted(names, key=last.__getitem__, reverse=True):
        recent = _recent(_reports(output / source), limit + _LATER, latest)
        began = heapq.nlargest(limit, [*began, *((key, source, file) for key, file in recent[:limit])])
        if len(wrote) < limit or wrote[-1][:2] <= (True, last[source]):  # no report is younger than its folder
            times = ((key[0], _written(f"{output}/{source}/runs/{file}"), source, file) for key, file in recent)
            wrote = heapq.nlargest(limit, [*wrote, *times])
    return {one[-2:] for one in began} | {one[-2:] for one in wrote}


def _recent(names: list[str], count: int, latest: str) -> list[tuple[Key, str]]:
    """Return the reports of a source that began last, by their names alone, each with what it is sorted by."""
    plain = sorted(name for name in names if len(name) == _PLAIN and name[8] == "T" and name[15:] == "Z.json")
    end = bisect_right(plain, f"{latest[:8]}T{latest[8:]}Z.json")
    others = set(names).difference(plain) if len(plain) < len(names) else ()
    some = [*plain[max(0, end - count) : end], *others, *(plain[end:] if end < count else ())]
    return heapq.nlargest(count, ((_key(name.removesuffix(".json"), latest), name) for name in some))


def _key(name: str, latest: str) -> Key:
    """Return what to sort runs by that have names alone: when each began, the oldest first."""
    return _digits(name) <= latest, *_order(name)


def _written(path: str) -> float:
    try:
        return os.stat(path).st_mtime  # noqa: PTH116 -- of thousands
    except OSError:
        return 0


def _pending(jobs: Path | None, source: str | None, running: set[str]) -> list[Run]:
    if jobs is None:
        return []
    paths = sorted(jobs.glob("*.lock")) if source is None else [jobs / f"{name}.lock" for name in _names(jobs, source)]
    return [run for path in paths if (run := claimed(path)) and run.source not in running]


def _ended(run: Run, latest: str) -> tuple[Any, ...]:
    """Return what to sort a run by: when it ended, or when it began if it is running."""
    time = _digits((run.finished if run.over else run.started) or run.started)
    return not run.over, time <= latest, time, _order(run.run)


def _latest() -> str:
    """Return the digits of the time in an hour: a later one comes from a wrong clock."""
    return _digits((datetime.now(UTC) + timedelta(hours=1)).isoformat())


def _digits(time: str | None) -> str:
    """Return the digits of a time.

    >>> _digits("2026-11-20T03:00:01.250Z"), _digits("20261120T030001Z-2")
    ('20261120030001', '20261120030001')
    """
    return "".join(_DIGITS.findall(time or ""))[:14]


def _order(name: str | None) -> tuple[str, int]:
    """Return what to sort a run's name by: its time, and the number of runs that began in the same second.

    >>> _order("20261120T030000Z-2") > _order("20261120T030000Z") > _order("2026-11-20T02:59:00.000Z")
    True
    """
    stem, _, number = (name or "").rpartition("Z-") if name and "Z-" in name else (name or "", "", "0")
    return _digits(stem), int(number) if number.isdecimal() else 0


def _is_plain(name: str) -> bool:
    """Return whether a name is that of a folder in OUTPUT_DIR, not a path elsewhere."""
    return not name.startswith(".") and "/" not in name and "\0" not in name and bool(name)
