"""A temporary file without a name: it is deleted with the last object that can read it, or with the process."""

from __future__ import annotations

import io
import weakref
from tempfile import TemporaryFile
from threading import Lock
from typing import TYPE_CHECKING

from crawlers.exceptions import AnswerError

if TYPE_CHECKING:
    from typing import BinaryIO

    from _typeshed import ReadableBuffer, WriteableBuffer

_BUFFER = 128 * 1024


class SpooledFile:
    """Written once, then read by any number of readers, each from its own place.

    Args:
        folder: where it takes space; by default where Python puts temporary files (TMPDIR).

    Raises:
        AnswerError: of kind ``disk``, here and by `write`. No OSError, which Scrapy would retry.
    """

    def __init__(self, folder: str | None = None) -> None:
        self.size = 0
        self._lock = Lock()
        try:
            self._file = TemporaryFile(dir=folder, buffering=0)  # noqa: SIM115
        except OSError as error:
            raise _disk(error) from error
        self.close = weakref.finalize(self, self._file.close)

    def write(self, data: ReadableBuffer) -> None:
        rest = memoryview(data)
        try:
            while rest:
                written = self._file.write(rest) or 0
                self.size += written
                rest = rest[written:]
        except OSError as error:
            raise _disk(error) from error

    def read_into(self, buffer: WriteableBuffer, place: int) -> int:
        with self._lock:
            self._file.seek(place)
            return self._file.readinto(buffer) or 0

    def open(self) -> BinaryIO:
        """Return a new reader, at the beginning."""
        return io.BufferedReader(_Reader(self), _BUFFER)


class _Reader(io.RawIOBase):
    """Keeps the file while it is read."""

    def __init__(self, file: SpooledFile) -> None:
        super().__init__()
        self._spooled = file
        self._place = 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def readinto(self, buffer: WriteableBuffer) -> int:
        count = self._spooled.read_into(buffer, self._place)
        self._place += count
        return count

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        place = {io.SEEK_SET: 0, io.SEEK_CUR: self._place, io.SEEK_END: self._spooled.size}[whence] + offset
        if place < 0:
            raise ValueError(f"{place} is before the beginning")
        self._place = place
        return place


def _disk(error: OSError) -> AnswerError:
    return AnswerError("disk", f"the answer can't be kept in a temporary file (SPOOL_DIR): {error.strerror}")
