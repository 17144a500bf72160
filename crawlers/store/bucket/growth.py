"""The files of a source's folder that grow: what is stored of them, and what they have beyond that."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from crawlers.exceptions import StoreError
from crawlers.safety import inside
from crawlers.store import compacted
from crawlers.store.bucket.documents import SCRATCH
from crawlers.store.bucket.log import Growth
from crawlers.store.bucket.state import Growing, Grown
from crawlers.store.folder import tail

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from crawlers.store.bucket.log import Segment
    from crawlers.store.bucket.shelf import Shelf
    from crawlers.store.bucket.state import State


class Lines:
    """The manifest, the error log and the captures of a source.

    Args:
        folder: the source's.
        state: of the folder.
        shelf: its objects.

    Attributes:
        diverged: whether a file had lines that were never stored, and others are in their place now.
    """

    def __init__(self, folder: Path, state: State, shelf: Shelf) -> None:
        self.folder = folder
        self.state = state
        self.shelf = shelf
        self.growing = Growing(state)
        self.diverged = False

    def grow(self, file: str, growth: Growth) -> None:
        """Write the lines that a file lacks; `measure` remembers them.

        Raises:
            StoreError: lines are missing or damaged.
            OSError: the file can't be written.
        """
        known = self.growing.get(file)
        is_same = known is None or known.generation == growth.generation
        begin = known.size if known and is_same else 0
        segments = [one for one in growth.segments if one.offset + one.length > begin]
        if not _reach(segments, begin, growth.bytes):
            raise StoreError(f"{self.shelf.objects.address}: the log of [{self.shelf.source}] lacks lines of {file}.")
        if is_same:
            self._append(file, segments, begin)
        else:
            with inside.replaced(self.folder, file, SCRATCH) as new:
                new.writelines(map(self.shelf.lines, segments))
        with self.state.changing():
            self.note(file, growth)

    def _append(self, file: str, segments: list[Segment], begin: int) -> None:
        with inside.appended(self.folder, file) as lines:
            size = lines.seek(0, os.SEEK_END)
            for segment in segments:
                here = max(begin, segment.offset)
                body = self.shelf.lines(segment)[here - segment.offset :]
                lines.seek(here)
                if lines.read(len(body)) != body:
                    self.diverged = self.diverged or size > here
                    lines.truncate(here)
                    lines.write(body)

    def note(self, file: str, growth: Growth) -> None:
        """Remember the segments of a file that has grown, and how long it is; the caller begins the transaction."""
        begins = growth.segments[0].offset if growth.segments else growth.bytes
        written = self.packed(file) + growth.bytes
        self.growing.set_segments(file, growth.segments, begins=begins)
        self.growing.put(file, Grown(growth.generation, growth.bytes, written, tail(self.folder, file, growth.bytes)))

    def packed(self, file: str) -> int:
        """Return the bytes of the lines that were moved into compressed parts."""
        return compacted.packed(self.folder, file) if file in compacted.FILES else 0

    def cut(self) -> None:
        """Remove the lines that were never stored."""
        for file in self.growing.names():
            grown = self.growing.get(file)
            with inside.appended(self.folder, file) as lines:
                if grown and lines.seek(0, os.SEEK_END) > grown.size:
                    lines.truncate(grown.size)

    def leave_only(self, names: Iterable[str]) -> None:
        """Remove the files that are not among these."""
        for file in set(self.growing.names()).difference(names):
            inside.remove(self.folder, file)
            with self.state.changing():
                self.growing.remove(file)

    def is_whole(self) -> bool:
        """Return whether the files have all lines that are stored."""
        return all(self._has_all(file) for file in self.growing.names())

    def _has_all(self, file: str) -> bool:
        known = self.growing.get(file)
        try:
            return known is None or inside.size(self.folder, file) + self.packed(file) >= known.written
        except OSError:
            return False


def _reach(segments: list[Segment], begin: int, end: int) -> bool:
    """Return whether segments have all that is between two offsets."""
    for segment in segments:
        if segment.offset > begin:
            return False
        begin = segment.offset + segment.length
    return begin == end
