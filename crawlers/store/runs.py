"""The runs of each source: those that ended, by their reports, and those that are queued, running or crashed.

Values of a wrong type in a report, in running.json and in a claim are treated as absent.
"""

from __future__ import annotations

import heapq
import json
import os
import re
import socket
from bisect import bisect_right
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import closing, suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from itertools import chain, islice
from pathlib import Path
from typing import Any, Literal, get_args

from crawlers.exceptions import IndexUnreadableError, RunError, hint
from crawlers.records.moment import moment, seconds
from crawlers.safety import inside
from crawlers.safety.locks import is_crawled, is_held
from crawlers.store import lines
from crawlers.store.folder import json_object

State = Literal["pending", "running", "complete", "partial", "incomplete", "blocked", "failed", "interrupted"]
"""The verdict, once there is one; a run that crashed without one is interrupted."""
STATES: tuple[State, ...] = get_args(State)

RUN = re.compile(r"[0-9]{8}T[0-9]{6}Z(-[0-9]+)?")
"""The name of a run."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """
    Args:
        run: its name, the moment it started; ``None`` while it is pending.
        since: the moment after which only changes were requested; ``None`` if everything was listed.
        started: UTC; of a pending run, when it was queued.
        listed: datasets so far, while it runs.
        counts: new, updated, unchanged, withdrawn, restored, fallback, failed.
        errors: how many of each kind.
        flaws: how many of each kind stood after it.
        pace: requests per second: since its last sign of life while it runs, else on the whole; ``None`` if not known.
        why: while it runs, why it waits; else why it ended, unless it finished.
        log: the file it logs to, where there is one.
        where: the process that has it: ``"pid 4711 on host"``; ``None`` if the run has ended.
        folder: the source's, in OUTPUT_DIR.
    """

    source: str
    run: str | None
    state: State
    spider: str | None = None
    arguments: dict[str, str] = field(default_factory=dict)
    since: str | None = None
    started: str | None = None
    finished: str | None = None
    seconds: float | None = None
    expected: int | None = None
    listed: int = 0
    counts: dict[str, int] = field(default_factory=dict)
    errors: dict[str, int] = field(default_factory=dict)
    flaws: dict[str, int] = field(default_factory=dict)
    requests: int = 0
    retries: int = 0
    bytes: int = 0
    resumed: bool = False
    pace: float | None = None
    why: str = ""
    log: str | None = None
    where: str | None = None
    folder: Path | None = None
    report: Path | None = None
    """runs/<run>.json, once it is written."""
    details: dict[str, Any] = field(default_factory=dict)
    """The whole report; before there is one, the content of running.json, and how a crashed run ended."""

    @property
    def over(self) -> bool:
        return self.state not in ("pending", "running")


Verdict = Literal["complete", "partial", "incomplete", "blocked", "failed", "interrupted"]

EXIT_CODES: dict[Verdict, int] = {
    "complete": 0,
    "partial": 0,
    "incomplete": 3,
    "blocked": 4,
    "failed": 4,
    "interrupted": 130,
}

_LIMITS = ("closespider_timeout", "closespider_itemcount", "closespider_pagecount")


def verdict(
    finish_reason: str, *, expected: int | None, listed: int, limited: bool, blocked: bool, errors: Mapping[str, int]
) -> Verdict:
    """
    Args:
        finish_reason: Scrapy's: finished, shutdown, closespider_itemcount ...; rate_limit if an API's is used up.
        expected: how many datasets the portal said it has; None when it never said.
        listed: how many it listed.
        limited: whether a limit that the user set ended the listing.
        blocked: whether a block cut the listing short, or made the crawl leave the host alone.
        errors: how many error lines of each kind.

    >>> verdict("finished", expected=305, listed=305, limited=False, blocked=False, errors={})
    'complete'
    >>> verdict("finished", expected=305, listed=304, limited=False, blocked=False, errors={})
    'incomplete'
    >>> verdict("finished", expected=305, listed=304, limited=False, blocked=True, errors={"blocked": 1})
    'blocked'
    """
    if finish_reason == "shutdown":
        return "interrupted"
    if finish_reason in (*_LIMITS, "rate_limit"):
        return "incomplete" if errors or finish_reason == "rate_limit" else "partial"
    if finish_reason != "finished" or (expected is None and not listed and not blocked):
        return "failed"
    if blocked:
        return "blocked"
    if errors or not (limited or (expected is not None and listed >= expected)):
        return "incomplete"
    return "partial" if limited else "complete"


# A run as its report, running.json or its claim says

UNREADABLE = "unreadable report"
"""Why a run failed whose report can't be read."""
_LARGEST = 8 * 1024 * 1024  # bytes; a report has a few thousand
_VERDICTS: dict[str, State] = {one: one for one in get_args(State) if one not in ("pending", "running")}
_SILENT = 6  # intervals without a heartbeat after which a crawl on another machine counts as crashed
_SLOWEST = 600  # seconds between two heartbeats
_AHEAD = 60  # seconds that another machine's clock may be


def reported(path: Path) -> Run:
    """Return the run of a report; if it cannot be read, a failed run with that reason."""
    report = json_object(path.parent.parent, f"runs/{path.name}", _LARGEST) or {"finish_reason": UNREADABLE}
    state = _VERDICTS.get(str(report.get("verdict")), "failed")
    return _run(path.parent.parent, path.stem, report, state=state, report=path)


def at_work(folder: Path) -> Run | None:
    """Return the run that locks a source's folder, or that crashed in it; ``None`` if all have ended."""
    path = folder / "running.json"
    held, state = is_crawled(folder), content(path)
    name = _text(state.get("run"))
    run = _run(folder, name, {**state, "finished": None, "finish_reason": None}, state="running", where=_where(state))
    if held or _beats(state):
        return run
    if name is None:
        return None
    report = json_object(folder, f"runs/{Path(name).name}.json", _LARGEST)
    if (_text(report.get("finished")) or "") >= (_text(state.get("heartbeat")) or "never"):
        return None
    return as_crashed(run)


def as_crashed(run: Run) -> Run:
    """Return a run as a crashed one: it ended at its last heartbeat, and left no report."""
    end = _text(run.details.get("heartbeat"))
    details = {**run.details, "finished": end, "finish_reason": "died", "verdict": "interrupted"}
    return replace(run, state="interrupted", finished=end, where=None, details=details, pace=None, why="died")


def claimed(lock: Path) -> Run | None:
    """Return the pending run of a source that a harvest has claimed; ``None`` if its lock is free."""
    if not is_held(lock):
        return None
    claim = content(lock)
    source = lock.name.removesuffix(".lock")
    queued = _text(claim.get("queued"))
    return Run(source=source, run=None, state="pending", started=queued, where=_where(claim), details=claim)


def content(path: Path) -> dict[str, Any]:
    """Return a JSON file's object; an empty one if it cannot be read."""
    return json_object(path.parent, path.name, _LARGEST)


def _run(folder: Path, name: str | None, record: dict[str, Any], *, state: State, **known: Any) -> Run:
    started, finished = _text(record.get("started")), _text(record.get("finished"))
    if started is None:
        with suppress(ValueError):
            started = datetime.strptime((name or "")[:16], "%Y%m%dT%H%M%SZ").replace(tzinfo=UTC).isoformat()
    took = seconds(started, finished or _text(record.get("heartbeat")))
    return Run(
        source=folder.name,
        run=name,
        state=state,
        spider=_text(record.get("spider")),
        arguments=_mapping(record.get("arguments"), str),
        since=_text(record.get("since")),
        started=started,
        finished=finished,
        seconds=took,
        expected=record["expected"] if isinstance(record.get("expected"), int) else None,
        listed=_number(record.get("listed")),
        requests=_number(record.get("requests")),
        retries=_number(record.get("retries")),
        bytes=_number(record.get("bytes")),
        counts=_mapping(record.get("counts"), int),
        errors=_mapping(record.get("errors"), int),
        flaws=_mapping(record.get("flaws"), int),
        resumed=record.get("resumed") is True,
        pace=_pace(record, took),
        why=_why(record),
        log=_text(record.get("log")),
        folder=folder,
        details=record,
        **known,
    )


def _pace(record: dict[str, Any], took: float | None) -> float | None:
    now = record.get("requests_per_second")
    if isinstance(now, int | float):
        return now
    return round(_number(record.get("requests")) / took, 2) if took and record.get("resumed") is not True else None


def _why(record: dict[str, Any]) -> str:
    waits, ended = record.get("waits"), _text(record.get("finish_reason"))
    if ended:
        return "" if ended == "finished" else ended
    return "; ".join(one for one in waits if isinstance(one, str)) if isinstance(waits, list) else ""


def _beats(state: dict[str, Any]) -> bool:
    """Return whether a crawl on another machine, where locks may not work, has a recent heartbeat."""
    if not state or (state.get("host") == socket.gethostname() and not state.get("elsewhere")):
        return False
    interval, heard = state.get("interval"), moment(state.get("heartbeat"))
    if heard is None or not isinstance(interval, int | float) or not 0 < interval <= _SLOWEST:
        return False
    return -_AHEAD <= (datetime.now(UTC) - heard).total_seconds() <= _SILENT * max(interval, 1)


def _where(state: dict[str, Any]) -> str | None:
    pid, host = state.get("pid"), state.get("host")
    return f"pid {pid} on {host}" if isinstance(pid, int) and isinstance(host, str) else None


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) else None


def _number(value: Any) -> int:
    return value if isinstance(value, int) else 0


def _mapping(value: Any, kind: type) -> dict[str, Any]:
    if not isinstance(value, dict):
        return {}
    return {name: one for name, one in value.items() if isinstance(one, kind)}


# What a run wrote, marked or failed at

ITEM_STATES = ("new", "updated", "withdrawn", "restored", "failed")


@dataclass(frozen=True, slots=True, kw_only=True)
class Item:
    """
    Args:
        status: one of `ITEM_STATES`.
        kind: the document's: dataset, dataset_metadata, resource_metadata; ``None`` of what failed.
        file: relative to the source's folder.
        error: one sentence; ``None`` unless it failed, as for the next two.
        error_kind: one of `crawlers.causes.KINDS`.
        stage: where it failed: start, list, fetch, parse, write.
    """

    time: str
    status: str
    kind: str | None = None
    dataset_id: str | None = None
    resource_id: str | None = None
    title: str | None = None
    file: str | None = None
    url: str | None = None
    error: str | None = None
    error_kind: str | None = None
    stage: str | None = None
    http_status: int | None = None


def items(run: Run) -> Iterator[Item]:
    """Yield a run's items by time, read as they are asked for; a damaged line is left out."""
    written, failed = map(_written, entries(run, "manifest")), map(_failed, entries(run, "errors"))
    yield from heapq.merge(written, failed, key=lambda item: item.time)


def entries(run: Run, name: str) -> Iterator[dict[str, Any]]:
    """Yield the lines of a run in manifest.jsonl or errors.jsonl; little else of the file is read.

    Args:
        name: manifest or errors.
    """
    if run.folder is None or run.run is None:
        return
    sought = run.run.encode()
    try:
        for line in lines.between(run.folder, f"{name}.jsonl", *bounds(run.details, name)):
            if sought in line and (entry := lines.entry(line)) and entry.get("run") == run.run:
                yield entry
    except OSError:
        return


def bounds(report: Mapping[str, Any], name: str) -> tuple[int, int | None]:
    """Return where the lines of a run begin and end in a file, as its report says.

    A report of an older version, and that of a run that crashed, do not say where they end.

    >>> bounds({"errors_bytes": 70, "errors_end": 90}, "errors"), bounds({}, "errors")
    ((70, 90), (0, None))
    """
    begin, end = report.get(f"{name}_bytes"), report.get(f"{name}_end")
    return max(begin, 0) if isinstance(begin, int) else 0, end if isinstance(end, int) else None


def _written(line: dict[str, Any]) -> Item:
    return Item(
        time=_text(line.get("time")) or "",
        status=_text(line.get("status")) or "",
        kind=_text(line.get("kind")),
        dataset_id=_text(line.get("dataset_id")),
        resource_id=_text(line.get("resource_id")),
        title=_text(line.get("resource_name")) or _text(line.get("dataset_title")) or _text(line.get("dataset_name")),
        file=_text(line.get("metadata_file")),
        url=_text(line.get("metadata_url")),
    )


def _failed(line: dict[str, Any]) -> Item:
    status = line.get("http_status")
    return Item(
        time=_text(line.get("time")) or "",
        status="failed",
        dataset_id=_text(line.get("dataset_id")),
        resource_id=_text(line.get("resource_id")),
        title=_text(line.get("dataset_name")),
        url=_text(line.get("url")),
        error=_text(line.get("error")) or "",
        error_kind=_text(line.get("kind")),
        stage=_text(line.get("stage")),
        http_status=status if isinstance(status, int) else None,
    )


# Which runs there are

Key = tuple[bool, str, int]
"""What reports are sorted by that have names alone: those of a wrong clock first, then by when their run began."""

_LATER = 50  # runs that may have begun after an interrupted one, and ended before it
_UNFINISHED = ("running", "pending")
_DIGITS = re.compile(r"[0-9]+")
_HOUR = len("2026112003")
_PLAIN = len("20261120T030000Z.json")
_RUNS = """
SELECT source, run FROM runs WHERE verdict IN (SELECT value FROM json_each(?))
ORDER BY finished <= strftime('%Y-%m-%dT%H:%M', 'now', '+1 hour') DESC, finished DESC, run DESC
"""  # a run that ended in the future had a wrong clock


def runs(
    output: Path,
    source: str | None = None,
    *,
    limit: int | None = None,
    jobs: Path | None = None,
    states: Collection[State] = STATES,
    since: datetime | None = None,
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
        since: the moment before which runs ended that are left out; those that have not ended are not.
    """
    names = _names(output, source)
    current = _without_report(output, names, source, jobs)
    without = {(run.source, run.run) for run in current}
    latest = _latest()
    found = _candidates(output, names, limit, states, latest)
    if since:
        found = [(name, file) for name, file in found if _may_have_ended(output / name / "runs" / file, since)]
    paths = (output / name / "runs" / file for name, file in found if (name, file.removesuffix(".json")) not in without)
    every = (run for run in chain(current, map(reported, paths)) if run.state in states and is_since(run, since))
    return sorted(every, key=lambda run: _ended(run, latest), reverse=True)[:limit]


def _candidates(
    output: Path, names: list[str], limit: int | None, states: Collection[State], latest: str
) -> Iterable[tuple[str, str]]:
    """Return the reports to read, each a source and a file."""
    if not set(states) >= set(STATES):
        found = _judged(output, names, states, limit)
        if found is not None:
            return found
        limit = None
    if limit is None:
        return [(name, file) for name in names for file in _reports(output / name)]
    return _newest(output, names, limit, latest)


def _judged(
    output: Path, sources: Collection[str], states: Collection[str], limit: int | None
) -> list[tuple[str, str]] | None:
    """Return the reports of runs that may be in some states, each a source and a file; ``None`` without an index.

    Those that the index has not read are among them: it cannot know what they say.

    Args:
        limit: the number of runs that are known to be in these states, those that ended last; by default all.
    """
    from crawlers.store.index import reports  # noqa: PLC0415 -- `scrapy jobs` needs no index for the last runs
    from crawlers.store.index.database import connect, readable  # noqa: PLC0415

    try:
        with readable(output), closing(connect(output)) as db:
            found = {source: reports.differences(db, output / source) for source in sources}
            waiting = {(source, run) for source, (unread, _) in found.items() for run in unread}
            rows = db.execute(_RUNS, (json.dumps(list(states)),))
            there = ((source, run) for source, run in rows if source in found and run not in found[source][1])
            known = islice((key for key in there if key not in waiting), limit)
            return [(source, f"{run}.json") for source, run in (*waiting, *known)]
    except IndexUnreadableError:
        return None


def is_since(run: Run, since: datetime | None) -> bool:
    """Return whether a run ended at a moment or later, or has not ended; one whose end is not known did."""
    ended = moment(run.finished or run.started) if run.over and since else None
    return since is None or ended is None or ended >= since


def _may_have_ended(report: Path, since: datetime) -> bool:
    """Return whether a report, which is not read, may be of a run that ended since: it began or was written since."""
    return _digits(report.stem) >= _digits(since.isoformat()) or _changed(str(report)) >= int(since.timestamp())


def last(output: Path, source: str, *, jobs: Path | None = None) -> Run | None:
    """Return a source's last run; the one that is queued or running, if there is one."""
    names, latest = _names(output, source), _latest()
    current = _without_report(output, names, source, jobs)
    without = frozenset(run.run for run in current)
    ended = []
    for folder in (output / name for name in names):
        now = (_changed(f"{folder}/runs"), hash(frozenset(_reports(folder))))  # another one with another report
        ended += [run for run in (_last_ended(folder, now, without, latest[:_HOUR]),) if run]
    return max([*ended, *current], key=lambda run: _ended(run, latest), default=None)


@lru_cache(maxsize=1024)
def _last_ended(folder: Path, now: tuple[float, int], without: frozenset[str | None], hour: str) -> Run | None:  # noqa: ARG001 -- what the result depends on
    """Return the run of a source that ended last and has a report: pages ask for that of each source."""
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
    last = {name: _changed(f"{output}/{name}/runs") for name in names}
    for source in sorted(names, key=last.__getitem__, reverse=True):
        recent = _recent(_reports(output / source), limit + _LATER, latest)
        began = heapq.nlargest(limit, [*began, *((key, source, file) for key, file in recent[:limit])])
        if len(wrote) < limit or wrote[-1][:2] <= (True, last[source]):  # no report is younger than its folder
            times = ((key[0], _changed(f"{output}/{source}/runs/{file}"), source, file) for key, file in recent)
            wrote = heapq.nlargest(limit, [*wrote, *times])
    return {one[-2:] for one in began} | {one[-2:] for one in wrote}


def _recent(names: list[str], count: int, latest: str) -> list[tuple[Key, str]]:
    """Return the reports of a source that began last, by their names alone, each with what it is sorted by."""
    plain = sorted(name for name in names if len(name) == _PLAIN and name[8] == "T" and name[15:] == "Z.json")
    end = bisect_right(plain, f"{latest[:8]}T{latest[8:]}Z.json")
    others = set(names).difference(plain) if len(plain) < len(names) else ()
    some = [*plain[max(0, end - count) : end], *others, *(plain[end:] if end < count else ())]
    stems = ((name.removesuffix(".json"), name) for name in some)
    return heapq.nlargest(count, (((_digits(stem) <= latest, *name_order(stem)), name) for stem, name in stems))


def _changed(path: str) -> float:
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
    return not run.over, time <= latest, time, name_order(run.run)


def _latest() -> str:
    """Return the digits of the time in an hour: a later one comes from a wrong clock."""
    return _digits((datetime.now(UTC) + timedelta(hours=1)).isoformat())


def _digits(time: str | None) -> str:
    """Return the digits of a time.

    >>> _digits("2026-11-20T03:00:01.250Z"), _digits("20261120T030001Z-2")
    ('20261120030001', '20261120030001')
    """
    return "".join(_DIGITS.findall(time or ""))[:14]


def name_order(name: str | None) -> tuple[str, int]:
    """Return what to sort the name of a run by: its time, and the number of runs that began in the same second.

    >>> name_order("20261120T030000Z-2") > name_order("20261120T030000Z") > name_order("2026-11-20T02:59:00.000Z")
    True
    """
    stem, _, number = (name or "").rpartition("Z-") if name and "Z-" in name else (name or "", "", "0")
    return _digits(stem), int(number) if number.isdecimal() else 0


def _is_plain(name: str) -> bool:
    """Return whether a name is that of a folder in OUTPUT_DIR, not a path elsewhere."""
    return not name.startswith(".") and "/" not in name and "\0" not in name and bool(name)
