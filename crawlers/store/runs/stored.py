"""Run reports, running.json and claims as `Run`; values of a wrong type are treated as absent."""

from __future__ import annotations

import json
import socket
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, get_args

from crawlers.records.moment import moment, seconds
from crawlers.safety import inside
from crawlers.safety.locks import is_crawled, is_held
from crawlers.store.runs.run import Run, State

UNREADABLE = "unreadable report"
"""Why a run failed whose report can't be read."""
_LARGEST = 8 * 1024 * 1024  # bytes; a report has a few thousand
_VERDICTS: dict[str, State] = {one: one for one in get_args(State) if one not in ("pending", "running")}
_SILENT = 6  # intervals without a heartbeat after which a crawl on another machine counts as crashed
_SLOWEST = 600  # seconds between two heartbeats
_AHEAD = 60  # seconds that another machine's clock may be


def reported(path: Path) -> Run:
    """Return the run of a report; if it cannot be read, a failed run with that reason."""
    report = _object(path.parent.parent, f"runs/{path.name}") or {"finish_reason": UNREADABLE}
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
    report = _object(folder, f"runs/{Path(name).name}.json")
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
    return _object(path.parent, path.name)


def _object(folder: Path, file: str) -> dict[str, Any]:
    try:
        found = json.loads(inside.read(folder, file, _LARGEST))
    except (OSError, ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def _run(folder: Path, name: str | None, record: dict[str, Any], *, state: State, **known: Any) -> Run:
    started, finished = _text(record.get("started")) or _moment(name), _text(record.get("finished"))
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


def _moment(name: str | None) -> str | None:
    """Return when a run of that name began."""
    with suppress(ValueError):
        return datetime.strptime((name or "")[:16], "%Y%m%dT%H%M%SZ").replace(tzinfo=UTC).isoformat()
    return None


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
