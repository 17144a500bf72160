"""The lines of a file that only grows, from its end: what is new stands there, and nobody reads all of it."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING

from crawlers.safety import inside

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

BLOCK = 16 * 1024
LONGEST = 256 * 1024  # bytes in a line; a longer one is left out


@dataclass(slots=True)
class Budget:
    """How many bytes may still be read, of all files together; ``spent`` once something was left unread for it."""

    left: int
    spent: bool = False

    def take(self, wanted: int) -> bool:
        if wanted > self.left:
            self.spent = True
            return False
        self.left -= wanted
        return True


def backwards(path: Path, budget: Budget) -> Iterator[bytes]:
    """Whole lines, the last first, as far as the budget goes. A file that is not there has none."""
    torn, endless = b"", False  # the part of a line that is read, and whether it is too long already
    for block in _blocks(path, budget):
        first, *lines = (block + torn).split(b"\n")
        yield from (line for line in reversed(lines[:-1] if endless else lines) if line and len(line) <= LONGEST)
        endless = len(first) > LONGEST or (endless and not lines)
        torn = b"" if endless else first
    if torn and not budget.spent:
        yield torn


def _blocks(path: Path, budget: Budget) -> Iterator[bytes]:
    """Each is opened anew: a hundred sources are read side by side."""
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
