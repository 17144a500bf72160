"""The files of a source's folder that grow: what is stored of them, and what they have beyond that."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from crawlers.exceptions import StoreError
from crawlers.safety import inside
from crawlers.store import lines
from crawlers.store.bucket.contract import LINES
from crawlers.store.bucket.documents import SCRATCH
from crawlers.store.bucket.log import Growth
from crawlers.store.bucket.state import Files, Growing, Grown
from crawlers.store.lines import TAIL, tail

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
    """

    def __init__(self, folder: Path, state: State, shelf: Shelf) -> None:
        self.folder = folder
        self.state = state
        self.shelf = shelf
        self.growing = Growing(state)
        self.files = Files(state)

    def grow(self, file: str, growth: Growth) -> None:
        """Write the lines that a file lacks; one that does not begin with what is stored is written as a whole.

        Raises:
            StoreError: lines are missing or damaged.
            OSError: the file can't be written.
        """
        known, segments = self.growing.get(file), self.growing.segments_after(file, growth)
        if not _reach(segments, growth.bytes):
            raise StoreError(f"{self.shelf.objects.address}: the log of [{self.shelf.source}] lacks lines of {file}.")
        if self._parts(file) != lines.parts(self.folder, file):
            self.state.diverge()
        if known is None:
            self._append(file, segments, 0)
        elif known.generation == growth.generation and begins_with(self.folder, file, known):
            self._append(file, [one for one in segments if one.offset + one.length > known.size], known.size)
        else:
            if not _ends_with(self.folder, file, known):
                self.state.diverge()
            self._write(file, segments)
        with self.state.changing():
            self.note(file, growth)

    def _write(self, file: str, segments: list[Segment]) -> None:
        with inside.replaced(self.folder, file, SCRATCH) as new:
            new.writelines(map(self.shelf.lines, segments))

    def _append(self, file: str, segments: list[Segment], begin: int) -> None:
        with inside.appended(self.folder, file) as lines:
            size = lines.seek(0, os.SEEK_END)
            for segment in segments:
                here = max(begin, segment.offset)
                body = self.shelf.lines(segment)[here - segment.offset :]
                lines.seek(here)
                if lines.read(len(body)) != body:
                    if size > here:
                        self.state.diverge()
                    lines.truncate(here)
                    lines.write(body)

    def note(self, file: str, growth: Growth, end: bytes | None = None) -> None:
        """Remember the segments of a file that has grown, and how long it is; the caller begins the transaction.

        Args:
            end: the last bytes that are stored; by default, those that the file has there.
        """
        written = self.packed(file) + growth.bytes
        self.growing.set_segments(file, self.growing.segments_after(file, growth))
        end = tail(self.folder, file, growth.bytes) if end is None else end
        self.growing.put(file, Grown(growth.generation, growth.bytes, written, end))

    def note_own(self, file: str, growth: Growth) -> None:
        """Remember what this mirror has put of a file: the folder has it, or another one by now, which stays.

        Raises:
            StoreError: lines are missing or damaged.
        """
        known = self.growing.get(file)
        is_same = known is not None and known.generation == growth.generation
        begin, end = (known.size, known.tail) if known and is_same else (0, b"")
        for segment in growth.segments:
            if segment.offset >= begin:
                end = (end + self.shelf.lines(segment))[-TAIL:]
        with self.state.changing():
            self.note(file, growth, end)

    def packed(self, file: str) -> int:
        """Return the bytes of the lines that are stored in compressed parts."""
        return sum(lines.length(self.folder, part) for part in self._parts(file))

    def _parts(self, file: str) -> list[str]:
        """Return the compressed parts of a file that are stored."""
        parts = lines.parts(self.folder, file)
        known = self.files.known(parts)
        return [part for part in parts if part in known]

    def restore(self) -> None:
        """Bring the files back to what is stored.

        Raises:
            StoreError: the store can't be read.
            OSError: the folder can't be written.
        """
        for file in LINES:
            known = self.growing.get(file)
            if known is None:
                inside.remove(self.folder, file)
            elif not begins_with(self.folder, file, known):
                self._write(file, self.growing.segments(file))
            elif inside.size(self.folder, file) > known.size:
                with inside.appended(self.folder, file) as lines:
                    lines.truncate(known.size)

    def leave_only(self, names: Iterable[str]) -> None:
        """Remove the files that are not among these."""
        others = set(self.growing.names()).difference(names)
        for file in others:
            inside.remove(self.folder, file)
        self.forget(others)

    def forget(self, files: Iterable[str]) -> None:
        """Remember that nothing of some files is stored any more; what the folder has of them stays."""
        with self.state.changing():
            for file in files:
                self.growing.remove(file)

    def is_whole(self) -> bool:
        """Return whether the files have all lines that are stored."""
        return all(self._has_all(file) for file in self.growing.names())

    def _has_all(self, file: str) -> bool:
        known = self.growing.get(file)
        try:
            here = inside.size(self.folder, file) + lines.packed(self.folder, file)
        except OSError:
            return False
        return known is None or here >= known.written


def begins_with(folder: Path, file: str, known: Grown) -> bool:
    """Return whether a file begins with what is stored of it, as far as its length and a few bytes tell.

    Raises:
        OSError: it can't be read.
    """
    return inside.size(folder, file) >= known.size and tail(folder, file, known.size) == known.tail


def _ends_with(folder: Path, file: str, known: Grown) -> bool:
    """Return whether a file has nothing but what is stored of it."""
    return inside.size(folder, file) == known.size and begins_with(folder, file, known)


def _reach(segments: list[Segment], end: int) -> bool:
    """Return whether segments have all lines up to an offset, each once."""
    begin = 0
    for segment in segments:
        if segment.offset != begin:
            return False
        begin += segment.length
    return begin == end
