"""The end of a file that only grows, a log or errors.jsonl, where the newest lines are."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
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
    """The bytes that may still be read, of all files together; ``spent`` if something was left unread."""

    left: int
    spent: bool = False

    def take(self, wanted: int) -> bool:
        """Return whether a number of bytes may be read, and count them."""
        if wanted > self.left:
            self.spent = True
            return False
        self.left -= wanted
        return True


def backwards(path: Path, budget: Budget) -> Iterator[bytes]:
    """Yield whole lines, the last first, as far as the budget goes; none if the file does not exist."""
    torn, endless = b"", False  # the part of a line that is read, and whether it is too long already
    for block in _blocks(path, budget):
        first, *lines = (block + torn).split(b"\n")
        yield from (line for line in reversed(lines[:-1] if endless else lines) if line and len(line) <= LONGEST)
        endless = len(first) > LONGEST or (endless and not lines)
        torn = b"" if endless else first
    if torn and not budget.spent:
        yield torn


def _blocks(path: Path, budget: Budget) -> Iterator[bytes]:
    """Open the file for each block: a hundred sources are read in parallel."""
    try:
        end = inside.size(path.parent, path.name)
        while end:
            size = min(end, BLOCK)
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


def log_end(logs: Path, log: str | None) -> list[str]:
    """Return the last lines of a run's log, redacted; none if it does not exist or is not below LOGS_DIR.

    Scrapy's statistics, which are last, are left out: the log ends with the summary of the run.

    Args:
        logs: LOGS_DIR.
        log: the path of the log, as the run has it.
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
