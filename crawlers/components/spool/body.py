"""A body while it is received: in memory as long as it is small, then in a temporary file."""

from __future__ import annotations

from dataclasses import dataclass
from io import BytesIO
from typing import TYPE_CHECKING, TypeVar

from crawlers.components.spool.encoding import GZIP, Encoding
from crawlers.components.spool.errors import NotUnpacked, TooLarge
from crawlers.components.spool.file import SpooledFile

if TYPE_CHECKING:
    from collections.abc import Sequence


T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """
    Args:
        above: the bytes that are kept in memory; a body with more goes into a file.
        most: the bytes that may come, and the bytes that they may unpack to; 0 = no limit.
        folder: where the file takes space.
    """

    above: int
    most: int
    folder: str | None


class Body:
    """What Scrapy's reader writes into: it takes this for the buffer of a body.

    Args:
        is_looked_at: whether a body without encodings is unpacked if it begins like a gzip file, such as a dump's.

    Attributes:
        is_packed_file: whether it is such a file.
        received: the bytes that came.
        size: the bytes that they unpack to.
        file: None as long as they are in memory.
    """

    def __init__(self, limits: Limits, encodings: Sequence[bytes], *, is_looked_at: bool = False) -> None:
        self.limits = limits
        self.is_packed_file = False
        self.received = 0
        self.size = 0
        self.file: SpooledFile | None = None
        self._encoding = Encoding(encodings)
        self._is_looked_at = is_looked_at and not encodings
        self._memory = BytesIO()

    def write(self, data: bytes) -> None:
        """
        Raises:
            TooLarge, NotUnpacked, AnswerError: nothing more may be written.
        """
        if self._is_looked_at and not self.received and data.startswith(GZIP):
            self.is_packed_file, self._encoding = True, Encoding([b"gzip"])
        self.received += len(data)
        self._check(self.received)
        for part in self._encoding.decode(data):
            self.size += len(part)
            self._check(self.size, " when it is unpacked")
            self._keep(part)

    def _check(self, size: int, how: str = "") -> None:
        if self.limits.most and size > self.limits.most:
            raise TooLarge(self.limits.most, how)

    def _keep(self, part: bytes) -> None:
        if self.file:
            self.file.write(part)
        elif self.size <= self.limits.above:
            self._memory.write(part)
        else:
            self.file = SpooledFile(self.limits.folder)
            self.file.write(self._memory.getbuffer())
            self._memory = BytesIO()
            self.file.write(part)

    def getvalue(self) -> bytes:
        """Return the whole body, or nothing if it is in a file."""
        return self._memory.getvalue()

    def drop(self, why: T) -> T:
        """Release memory and disk at once; an errback."""
        self._memory = BytesIO()
        if self.file:
            self.file.close()
        return why

    def end(self) -> None:
        """
        Raises:
            NotUnpacked: it breaks off.
        """
        try:
            self._encoding.end()
        except NotUnpacked as error:
            raise self.drop(error) from None
