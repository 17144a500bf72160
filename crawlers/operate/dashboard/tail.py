"""The end of a file that only grows, a log or errors.jsonl, where the newest lines are."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from crawlers.safety import inside
from crawlers.safety.redact import redact

if TYPE_CHECKING:
    from collections.abc import Iterator


BLOCK = 16 * 1024
LONGEST = 256 * 1024  # bytes in a line; a longer one is left out


@dataclass(slots=True)
class Budget:
    """The bytes that may still be read, of all files together.

    Args:
        left: how many.
        spent: whether something was left unread.
        damaged: the sources with a file that can't be read.
    """

    left: int
    spent: bool = False
    damaged: set[str] = field(default_factory=set)

    def take(self, wanted: int) -> bool:
        """Return whether a number of bytes may be read, and count them."""
        if wanted > self.left:
            self.spent = True
            return False
        self.left -= wanted
        return True


def backwards(path: Path, budget: Budget, begin: int = 0, end: int | None = None) -> Iterator[bytes]:
    """Yield whole lines, the last first, as far as the budget goes; none if the file does not exist.

    Args:
        begin: the offset of the first line to yield.
        end: the offset behind the last one; by default the file's end.
    """
    torn, endless = b"", False  # the part of a line that is read, and whether it is too long already
    for block in _blocks(path, budget, begin, end):
        first, *lines = (block + torn).split(b"\n")
        yield from (line for line in reversed(lines[:-1] if endless else lines) if line and len(line) <= LONGEST)
        endless = len(first) > LONGEST or (endless and not lines)
        torn = b"" if endless else first
    if torn and not budget.spent:
        yield torn


def _blocks(path: Path, budget: Budget, begin: int, end: int | None) -> Iterator[bytes]:
    """Open the file for each block: a hundred sources are read in parallel."""
    try:
        last = inside.size(path.parent, path.name)
        end = last if end is None else min(end, last)
        while end > begin:
            size = min(end - begin, BLOCK)
            if not budget.take(size):
                return
            end -= size
            with inside.opened(path.parent, path.name) as file:
                file.seek(end, os.SEEK_SET)
                yield file.read(size)
    except OSError:
        return


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
