"""The newest lines of files that only grow: logs, and errors.jsonl of one source or merged from all."""

from __future__ import annotations

import heapq
import json
import re
from dataclasses import dataclass
from operator import itemgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any

from crawlers.safety import inside
from crawlers.safety.redact import redact
from crawlers.store import lines
from crawlers.store.lines import Budget, backwards
from crawlers.store.runs import bounds

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from crawlers.store.runs import Run


_LOG_END = 32 * 1024  # bytes
_LINES = 60
_STATISTICS = "[scrapy.statscollectors] INFO: Dumping Scrapy stats:"
_RECORD = re.compile(r"\d{4}-\d\d-\d\d[ T]\d\d:\d\d")


_WARNING = re.compile(r"\d{4}-\d\d-\d\d[ T][^\[]{0,40}\[[^\]]{1,200}\] (WARNING|ERROR|CRITICAL): ")
_READ = 1024 * 1024  # bytes of a log that are searched
_WARNINGS = 20
_LINES_OF_ONE = 12


def warnings(logs: Path, log: str | None) -> list[str]:
    """Return the last warnings and errors of a run's log, in order, redacted, with the first lines of each traceback.

    Args:
        logs: LOGS_DIR.
        log: the path of the log, as the run has it.
    """
    path = _below(logs, log)
    found: list[list[str]] = []
    if path is None:
        return []
    after: list[str] = []  # lines of the record that is read, the last first
    for line in backwards(path, Budget(_READ)):
        after.append(line.decode("utf-8", "replace").rstrip())
        if _RECORD.match(after[-1]):
            if _WARNING.match(after[-1]):
                found.append(after[::-1][:_LINES_OF_ONE])
            after = []
        if len(found) == _WARNINGS:
            break
    return [redact(line) for record in reversed(found) for line in record]


def _below(logs: Path, log: str | None) -> Path | None:
    """Return the path of a log that exists below LOGS_DIR."""
    try:
        path = Path(log).resolve() if log else None
        return path if path and path.is_relative_to(logs.resolve()) and path.is_file() else None
    except (OSError, ValueError):
        return None


def log_end(logs: Path, log: str | None) -> list[str]:
    """Return the last lines of a run's log, redacted; none if it does not exist or is not below LOGS_DIR.

    Scrapy's statistics, which are last, are left out: the log ends with the summary of the run.

    Args:
        logs: LOGS_DIR.
        log: the path of the log, as the run has it.
    """
    path = _below(logs, log)
    try:
        body = _end(path) if path else b""
    except OSError:
        return []
    lines = _without_statistics(body.decode("utf-8", "replace").splitlines())
    return [redact(line) for line in lines[-_LINES:]]


def _without_statistics(lines: list[str]) -> list[str]:
    """Leave out the record of Scrapy's statistics, which has many lines."""
    kept, is_left_out = [], False
    for line in lines:
        if _RECORD.match(line):
            is_left_out = _STATISTICS in line
        if not is_left_out:
            kept.append(line)
    return kept


def _end(path: Path) -> bytes:
    with path.open("rb") as file:
        skipped = max(path.stat().st_size - _LOG_END, 0)
        file.seek(skipped)
        body = file.read(_LOG_END)
    return body.partition(b"\n")[2] if skipped else body


_FILE = "errors.jsonl"
MOST = 16 * 1024 * 1024  # bytes that are read for a page, of all sources together


@dataclass(frozen=True, slots=True)
class Wanted:
    """A filter of error lines; an empty text matches all.

    Args:
        since: the moment before which lines are left out, as `crawlers.records.moment.written` writes it.
    """

    kind: str = ""
    run: str = ""
    since: str = ""


Place = tuple[str, str, int]
"""Where a line stands in the list, which goes down: its time, or an earlier one that a later line has; its source; how
many lines of both come before it, as a negative number."""


def newest(
    output: Path, sources: Iterable[str], wanted: Wanted, budget: Budget, after: Place | None = None
) -> Iterator[tuple[Place, dict[str, Any]]]:
    """Yield the error lines that match the filter, each with its ``source``, and where it stands.

    Args:
        after: the line after which the list goes on; by default it begins.
    """
    files = [_placed(_read_all(_newest_first(output / source, budget), source, wanted), source) for source in sources]
    merged = heapq.merge(*files, key=itemgetter(0), reverse=True)
    return (found for found in merged if after is None or found[0] < after)


def _placed(lines: Iterable[dict[str, Any]], source: str) -> Iterator[tuple[Place, dict[str, Any]]]:
    """Yield the lines of a file with places that never go up, though a clock may have gone back."""
    time, before = "", 0
    for line in lines:
        before = before - 1 if time and line["time"] >= time else 0
        time = min(time, line["time"]) if time else line["time"]
        yield (time, source, before), line


def of_run(run: Run, budget: Budget) -> Iterator[dict[str, Any]]:
    """Yield the error lines of a run that has a report, the newest first; nothing else of the file is read."""
    if run.folder is None or run.run is None:
        return
    begin, end = bounds(run.details, "errors")
    try:
        moved = lines.packed(run.folder, _FILE) - lines.doubled(run.folder, _FILE)
    except OSError:
        budget.damaged.add(run.source)
        return
    if begin >= moved:
        texts = backwards(run.folder / _FILE, budget, begin - moved, None if end is None else end - moved)
    else:
        texts = _newest_first(run.folder, budget)
    yield from _read_all(texts, run.source, Wanted(run=run.run))


def _read_all(texts: Iterable[bytes], source: str, wanted: Wanted) -> Iterator[dict[str, Any]]:
    for text in texts:
        line = _read(text, wanted)
        if line is not None:
            yield {**line, "source": source}


def _newest_first(folder: Path, budget: Budget) -> Iterator[bytes]:
    """Yield the lines of errors.jsonl, then those of its compressed parts, the newest first.

    A source whose lines can't be read is noted in the budget.
    """
    try:
        if (folder / _FILE).exists():
            inside.size(folder, _FILE)
        yield from backwards(folder / _FILE, budget, lines.doubled(folder, _FILE))
        for part in reversed(lines.parts(folder, _FILE)):
            if not budget.take(lines.length(folder, part)):
                return
            yield from reversed([text for _, text in lines.unpacked(folder, part) if text])
    except OSError:
        budget.damaged.add(folder.name)


def _read(text: bytes, wanted: Wanted) -> dict[str, Any] | None:
    """Return a line if it is valid and matches the filter; most others are recognised without being parsed."""
    if wanted.kind.encode() not in text or wanted.run.encode() not in text:
        return None
    try:
        line = json.loads(text)
    except (ValueError, RecursionError):
        return None
    if not isinstance(line, dict) or not isinstance(line.get("time"), str):
        return None
    fits = wanted.kind in ("", line.get("kind")) and wanted.run in ("", line.get("run"))
    fits = fits and line["time"] >= wanted.since
    return dict.fromkeys(_FIELDS) | line if fits else None


_FIELDS = (
    *("time", "run", "stage", "kind", "url", "http_status", "attempts"),
    *("dataset_id", "dataset_name", "resource_id", "error"),
)
