"""Which runs there are: those of the reports on disk, and those that have none yet."""

from __future__ import annotations

import heapq
import re
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from crawlers.exceptions import RunError
from crawlers.runs.run import Run
from crawlers.runs.stored import at_work, claimed, reported
from crawlers.safety import inside

_LATER = 50  # runs that may have begun after one that was interrupted, and ended before it
_DIGITS = re.compile(r"[0-9]+")


def runs(output: Path, source: str | None = None, *, limit: int | None = None, jobs: Path | None = None) -> list[Run]:
    """The runs of one source, or of all: those queued and at work, then those that ended last.

    A run that was interrupted, went on and ended after a later one comes before that one. What ended in the future, by
    a clock that was wrong, is the oldest. What is damaged or half is left out, and never an error.

    Args:
        output: OUTPUT_DIR.
        limit: how many at most; no more reports are read than twice that, and of each source only the newest are
            looked at.
        jobs: JOBS_DIR, for the runs that a harvest has queued.
    """
    names = sources(output) if source is None else [source] if _is_plain(source) else []
    current = [run for name in names if (run := at_work(output / name))]
    pending = _pending(jobs, source, {run.source for run in current if run.state == "running"})
    without = {(run.source, run.run) for run in current}
    latest = _latest()
    found = (_recent(output / name, limit, latest) for name in names)
    paths = [path for paths in found for path in paths if (path.parent.parent.name, path.stem) not in without]
    if limit is not None:
        paths = _newest(paths, limit, latest)
    every = [*pending, *current, *map(reported, paths)]
    return sorted(every, key=lambda run: _ended(run, latest), reverse=True)[:limit]


def last(output: Path, source: str, *, jobs: Path | None = None) -> Run | None:
    """A source's last run; the one that is queued or at work, where there is one."""
    return next(iter(runs(output, source, limit=1, jobs=jobs)), None)


def find(output: Path, name: str) -> Run:
    """
    Args:
        name: ``"hdx/20261120T030000Z"``, or the run alone where only one source has one of that name.

    Raises:
        RunError: there is none, or more than one.
    """
    source, _, run = name.rpartition("/")
    among = [one for one in sources(output) if source in ("", one)]
    if source and not among:
        raise RunError(f"{output} has no source {source!r}. There are: {', '.join(sources(output)) or 'none'}.")
    found = [one for folder in among if (one := _find(output / folder, run))]
    if not found:
        raise RunError(f"{output} has no run {name!r}: `scrapy jobs` lists them.")
    if len(found) > 1:
        names = ", ".join(f"{one.source}/{one.run}" for one in found)
        raise RunError(f"{len(found)} sources have a run {name!r}, name one: {names}.")
    return found[0]


def sources(output: Path) -> list[str]:
    """The names of the folders in OUTPUT_DIR that runs have been at work in."""
    try:
        folders = [path for path in output.iterdir() if _is_plain(path.name) and path.is_dir()]
    except OSError:
        return []
    return sorted(path.name for path in folders if (path / "runs").is_dir() or (path / "running.json").exists())


def _find(folder: Path, run: str) -> Run | None:
    current = at_work(folder)
    if current and current.run == run:
        return current
    path = folder / "runs" / f"{run}.json"
    return reported(path) if _is_plain(run) and path.exists() else None


def _reports(folder: Path) -> list[Path]:
    try:
        return [folder / "runs" / name for name in inside.names(folder, "runs") if name.endswith(".json")]
    except OSError:
        return []


def _recent(folder: Path, limit: int | None, latest: str) -> list[Path]:
    """The reports of a source that may be among the last so many, by their names alone."""
    paths = _reports(folder)
    if limit is None:
        return paths
    return heapq.nlargest(limit + _LATER, paths, key=lambda path: (_digits(path.stem) <= latest, *_order(path.stem)))


def _newest(paths: list[Path], limit: int, latest: str) -> list[Path]:
    """Those that may have ended last: they began last, or were written last; a clock that was wrong is not believed."""
    named = {path: (_digits(path.stem) <= latest, *_order(path.stem)) for path in paths}
    began = heapq.nlargest(limit, paths, key=named.__getitem__)
    wrote = heapq.nlargest(limit, paths, key=lambda path: (named[path][0], _written(path), named[path]))
    return list({*began, *wrote})


def _written(path: Path) -> float:
    try:
        return path.stat().st_mtime
    except OSError:
        return 0


def _pending(jobs: Path | None, source: str | None, running: set[str]) -> list[Run]:
    if jobs is None:
        return []
    found = [run for path in sorted(jobs.glob("*.lock")) if (run := claimed(path))]
    return [run for run in found if source in (None, run.source) and run.source not in running]


def _ended(run: Run, latest: str) -> tuple[Any, ...]:
    """Runs by when they ended; those at work by when they began."""
    time = _digits((run.finished if run.over else run.started) or run.started)
    return not run.over, time <= latest, time, _order(run.run)


def _latest() -> str:
    """An hour from now: what is dated later has no time that can be believed."""
    return _digits((datetime.now(UTC) + timedelta(hours=1)).isoformat())


def _digits(time: str | None) -> str:
    """
    >>> _digits("2026-11-20T03:00:01.250Z"), _digits("20261120T030001Z-2")
    ('20261120030001', '20261120030001')
    """
    return "".join(_DIGITS.findall(time or ""))[:14]


def _order(name: str | None) -> tuple[str, int]:
    """Runs by time, and by the number that tells those of one second.

    >>> _order("20261120T030000Z-2") > _order("20261120T030000Z") > _order("2026-11-20T02:59:00.000Z")
    True
    """
    stem, _, number = (name or "").rpartition("Z-") if name and "Z-" in name else (name or "", "", "0")
    return _digits(stem), int(number) if number.isdecimal() else 0


def _is_plain(name: str) -> bool:
    """Whether it names a folder in OUTPUT_DIR, and no other place."""
    return not name.startswith(".") and "/" not in name and "\0" not in name and bool(name)
