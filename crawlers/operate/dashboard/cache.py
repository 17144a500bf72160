"""Results of slow queries of the index, cached until the index changes."""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar
from weakref import WeakValueDictionary

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable
    from pathlib import Path

Value = TypeVar("Value")

OLDEST = 600.0  # seconds: the meaning of "last month" changes with time
SHARE = 20  # while a crawl writes, a result is used for this multiple of the time it took
LEAST = 2.0  # seconds that it is used at least
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
    """The results that were used last, by name.

    One request at a time computes a result, and the old one is used meanwhile. Results do not block each other.
    """

    def __init__(self, output: Path) -> None:
        self.files = (output / "index.sqlite", output / "index.sqlite-wal")
        self.entries: OrderedDict[Hashable, _Entry] = OrderedDict()
        self._making: WeakValueDictionary[Hashable, threading.Lock] = WeakValueDictionary()
        self._changing = threading.Lock()  # held for moments, to change the two above

    def get(self, name: Hashable, make: Callable[[], Value]) -> Value:
        """Return the result of a name; compute it if there is none, or if the index has changed since."""
        with self._changing:
            entry = self._entry(name)
            making = self._making.setdefault(name, threading.Lock())
        if entry and entry.serves(self._stamp()):
            return entry.value  # type: ignore[no-any-return]
        if not making.acquire(blocking=entry is None) and entry:
            return entry.value  # type: ignore[no-any-return]
        try:
            entry = self.entries.get(name)
            return entry.value if entry and entry.serves(self._stamp()) else self._make(name, make)
        finally:
            making.release()

    def _entry(self, name: Hashable) -> _Entry | None:
        if name in self.entries:
            self.entries.move_to_end(name)
        return self.entries.get(name)

    def _make(self, name: Hashable, make: Callable[[], Value]) -> Value:
        stamp, begun = self._stamp(), time.monotonic()
        value = make()
        made = time.monotonic()
        with self._changing:
            self.entries[name] = _Entry(value, stamp, made, made - begun)
            while len(self.entries) > _ENTRIES:
                self.entries.popitem(last=False)
        return value

    def _stamp(self) -> tuple[tuple[int, int], ...]:
        """Return the files' times and sizes, which each write changes; SQLite's counter needs an open connection."""
        return tuple(_changed(file) for file in self.files)


def _changed(file: Path) -> tuple[int, int]:
    try:
        status = file.stat()
    except OSError:
        return 0, 0
    return status.st_mtime_ns, status.st_size
