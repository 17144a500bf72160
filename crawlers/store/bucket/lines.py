"""The files of a source's folder that grow: what is stored of them, and what they have beyond that."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from crawlers.exceptions import StoreError
from crawlers.safety import inside
from crawlers.store import compacted
from crawlers.store.bucket.contract import LINES
from crawlers.store.bucket.documents import SCRATCH
from crawlers.store.bucket.log import Growth
from crawlers.store.bucket.shelf import SEGMENT
from crawlers.store.bucket.state import Growing, Grown
from crawlers.store.folder import tail

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
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

    # From the store to the folder

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

    # From the folder to the store

    def is_whole(self) -> bool:
        """Return whether the files have all lines that are stored."""
        return all(self._has_all(file) for file in self.growing.names())

    def has_more(self) -> bool:
        """Return whether a file has lines beyond those that the folder once got from the store, or others."""
        return any(
            self.is_rewritten(file) or self._is_longer(file) for file in self.growing.names() if self._has_all(file)
        )

    def _is_longer(self, file: str) -> bool:
        known = self.growing.get(file)
        return known is not None and inside.size(self.folder, file) > known.size

    def _has_all(self, file: str) -> bool:
        known = self.growing.get(file)
        try:
            return known is None or inside.size(self.folder, file) + self.packed(file) >= known.written
        except OSError:
            return False

    def new(self, ends: Mapping[str, int]) -> Iterator[tuple[str, Growth]]:
        """Put the lines that the store lacks, and yield what a commit says of each file.

        Args:
            ends: where files end for this commit; of others, all whole lines are put. One that was rewritten is left
                for a commit with all its lines.
        """
        for file in LINES:
            if not _exists(self.folder, file) or (file in ends and self.is_rewritten(file)):
                continue
            known, generation = self.growing.get(file), self._generation(file)
            begin = known.size if known and known.generation == generation else 0
            end = min(inside.size(self.folder, file), ends.get(file, 1 << 62))
            segments = list(self._put(file, begin, end)) if end > begin else []
            size = segments[-1].offset + segments[-1].length if segments else begin
            if segments or known is None or known.generation != generation:
                yield file, Growth(size, generation, segments)

    def _generation(self, file: str) -> int:
        """Return the number of a file's content; a higher one if it does not begin with what is stored."""
        known = self.growing.get(file)
        if known is None:
            return 1
        is_longer = inside.size(self.folder, file) >= known.size
        return known.generation + (not is_longer or tail(self.folder, file, known.size) != known.tail)

    def is_rewritten(self, file: str) -> bool:
        """Return whether a file does not begin with what is stored of it."""
        known = self.growing.get(file)
        return known is not None and known.generation != self._generation(file)

    def _put(self, file: str, begin: int, end: int) -> Iterator[Segment]:
        with inside.opened(self.folder, file) as lines:
            lines.seek(begin)
            while block := lines.read(min(SEGMENT, end - begin)):
                whole = block[: block.rfind(b"\n") + 1]  # without a line that is being written
                if not whole:
                    return
                yield self.shelf.put_segment(file, begin, whole)
                begin += len(whole)
                lines.seek(begin)

    def merged(self, file: str) -> Growth:
        """Put small segments again as larger ones; return the file as a whole commit says it.

        The last segments are merged while one is not twice as long as all behind it: there are few, and a line is put
        again a few times in all.
        """
        growth = self.growing.growth(file)
        segments, length = list(growth.segments), 0
        while segments and length + segments[-1].length <= SEGMENT and segments[-1].length < 2 * (length or SEGMENT):
            length += segments.pop().length
        begin = growth.bytes - length
        if len(growth.segments) - len(segments) < 2:
            return growth
        return Growth(growth.bytes, growth.generation, [*segments, *self._put(file, begin, growth.bytes)])


def _exists(folder: Path, file: str) -> bool:
    try:
        inside.status(folder, file)
    except OSError:
        return False
    return True


def _reach(segments: list[Segment], begin: int, end: int) -> bool:
    """Return whether segments have all that is between two offsets."""
    for segment in segments:
        if segment.offset > begin:
            return False
        begin = segment.offset + segment.length
    return begin == end
