"""The end of a run's log, up to its summary: Scrapy's statistics, which stand last, are left out."""

from __future__ import annotations

import re
from pathlib import Path

from crawlers.safety.redact import redact

MOST = 32 * 1024  # bytes
_LINES = 60
_STATISTICS = "[scrapy.statscollectors] INFO: Dumping Scrapy stats:"
_RECORD = re.compile(r"\d{4}-\d\d-\d\d[ T]\d\d:\d\d")


def tail(logs: Path, log: str | None) -> list[str]:
    """The last lines, redacted; none when the file is not there, or not below LOGS_DIR.

    Args:
        log: as the run has it.
    """
    if not log:
        return []
    try:
        path = Path(log).resolve()
        if not path.is_relative_to(logs.resolve()) or not path.is_file():
            return []
        body = _end(path)
    except (OSError, ValueError):
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
