"""What files that grow have beyond what is stored of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from crawlers.safety import inside
from crawlers.store.bucket.contract import LINES
from crawlers.store.bucket.growth import begins_with
from crawlers.store.bucket.log import Growth
from crawlers.store.bucket.shelf import SEGMENT
from crawlers.store.bucket.state import Growing

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from crawlers.store.bucket.log import Segment
    from crawlers.store.bucket.shelf import Shelf
    from crawlers.store.bucket.state import State


class Tails:
    """The ends of the manifest, the error log and the captures of a source.

    Args:
        folder: the source's.
        state: of the folder.
        shelf: its objects.
    """

    def __init__(self, folder: Path, state: State, shelf: Shelf) -> None:
        self.folder = folder
        self.shelf = shelf
        self.growing = Growing(state)

    def has_more(self) -> bool:
        """Return whether a file has lines beyond those that the folder once got from the store, or others."""
        there = [file for file in self.growing.names() if _exists(self.folder, file)]
        return any(self.is_rewritten(file) or self._is_longer(file) for file in there)

    def _is_longer(self, file: str) -> bool:
        known = self.growing.get(file)
        return known is not None and inside.size(self.folder, file) > known.size

    def new(self, ends: Mapping[str, int]) -> Iterator[tuple[str, Growth]]:
        """Put the lines that the store lacks, and yield what a commit says of each file.

        Args:
            ends: where files end for this commit, -1 for one that is left out; of others, all whole lines are put.
        """
        for file in LINES:
            if not _exists(self.folder, file) or ends.get(file, 0) < 0:
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
        return known.generation + (not begins_with(self.folder, file, known))

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
