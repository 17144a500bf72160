"""The end of a log, where the newest lines are."""

from __future__ import annotations

import re
from pathlib import Path

from crawlers.safety.redact import redact
from crawlers.store.lines import Budget, backwards

MOST = 32 * 1024  # bytes
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
        skipped = max(path.stat().st_size - MOST, 0)
        file.seek(skipped)
        body = file.read(MOST)
    return body.partition(b"\n")[2] if skipped else body
