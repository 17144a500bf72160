"""What takes long to ask of the index, kept until the index changes."""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable
    from pathlib import Path

Value = TypeVar("Value")

OLDEST = 600.0  # seconds: what "last month" means moves on
SHARE = 20  # while a crawl writes, an answer is used for so many times what it took
LEAST = 2.0  # seconds, of the same
_ENTRIES = 32


@dataclass(frozen=True, slots=True)
class _Entry:
    value: Any
    stamp: tuple[tuple[int, int], ...]
    made: float
    took: float

    def serves(self, stamp: tuple[tuple[int, int], ...]) -> bool:
        age = time.monotonic() - self.made
        return age < (OLDEST if stamp == self.stamp else max(LEAST, SHARE * self.took))


class Remembered:
    """Answers by name; each is made by one request at a time, and an old one serves while it is made anew."""

    def __init__(self, output: Path) -> None:
        self.files = (output / "index.sqlite", output / "index.sqlite-wal")
        self.entries: OrderedDict[Hashable, _Entry] = OrderedDict()
        self.making = threading.Lock()

    def get(self, name: Hashable, make: Callable[[], Value]) -> Value:
        entry = self.entries.get(name)
        if entry and entry.serves(self._stamp()):
            return entry.value  # type: ignore[no-any-return]
        if not self.making.acquire(blocking=entry is None) and entry:
            return entry.value  # type: ignore[no-any-return]
        try:
            entry = self.entries.get(name)
            return entry.value if entry and entry.serves(self._stamp()) else self._make(name, make)
        finally:
            self.making.release()

    def _make(self, name: Hashable, make: Callable[[], Value]) -> Value:
        stamp, begun = self._stamp(), time.monotonic()
        value = make()
        made = time.monotonic()
        self.entries[name] = _Entry(value, stamp, made, made - begun)
        while len(self.entries) > _ENTRIES:
            self.entries.popitem(last=False)
        return value

    def _stamp(self) -> tuple[tuple[int, int], ...]:
        """Whatever a write changes: SQLite's own counter says nothing to a connection that was not there before."""
        return tuple(_changed(file) for file in self.files)


def _changed(file: Path) -> tuple[int, int]:
    try:
        status = file.stat()
    except OSError:
        return 0, 0
    return status.st_mtime_ns, status.st_size
