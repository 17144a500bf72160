"""The objects of one source: packs, segments of lines, and files; each is put once, under a name of its own."""

from __future__ import annotations

import hashlib
import secrets
import sys
from itertools import chain
from typing import TYPE_CHECKING

from crawlers.exceptions import StoreError
from crawlers.safety import inside
from crawlers.store.bucket import packs
from crawlers.store.bucket.log import MissingError, Part, Segment

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence

    from crawlers.store.bucket.objects import Objects

SEGMENT = 32 * 1024 * 1024
"""Bytes of lines in a segment."""
_LEVEL = 6


class Shelf:
    """The objects of a source.

    Args:
        source: its name.
    """

    def __init__(self, objects: Objects, source: str) -> None:
        self.objects = objects
        self.source = source
        self.below = f"sources/{source}"

    def put_pack(self, rows: Sequence[packs.Row]) -> Part:
        """Put a pack; as the other objects, it is not read until a commit names it.

        Raises:
            StoreError: the store can't be written.
        """
        return self._put(f"packs/{_unique()}.parquet", packs.packed(rows), files=len(rows))

    def put_segment(self, file: str, offset: int, lines: bytes) -> Segment:
        """Put lines of a file that grows."""
        stem = file.removesuffix(".jsonl")
        part = self._put(f"segments/{stem}-{offset:012d}-{_unique()}.jsonl.zst", zstd.compress(lines, _LEVEL))
        return Segment(part.name, part.bytes, part.sha256, 0, offset, len(lines))

    def put_file(self, file: str, body: bytes) -> Part:
        """Put a file as it is."""
        return self._put(f"files/{_unique()}/{file}", body)

    def _put(self, name: str, body: bytes, files: int = 0) -> Part:
        self.objects.put(f"{self.below}/{name}", body)
        return Part(name, len(body), hashlib.sha256(body).hexdigest(), files)

    def rows(self, pack: Part) -> Iterator[packs.Row]:
        """Yield the files of a pack.

        Raises:
            StoreError: it is damaged or missing, or can't be read.
        """
        return packs.unpacked(self._object(pack, packs.LARGEST), self._named(pack.name))

    def lines(self, segment: Segment) -> bytes:
        """Return the lines of a segment.

        Raises:
            StoreError: as `rows`.
        """
        body = self._object(segment, 2 * SEGMENT)
        try:
            found = zstd.ZstdDecompressor().decompress(body, min(segment.length, 2 * SEGMENT) + 1)
        except zstd.ZstdError as error:
            raise StoreError(f"{self._named(segment.name)} is damaged ({error}).") from None
        if len(found) != segment.length:
            raise StoreError(f"{self._named(segment.name)} is damaged (its length is not that in the log).")
        return found

    def file(self, part: Part) -> bytes:
        """Return a file.

        Raises:
            StoreError: as `rows`.
        """
        return self._object(part, inside.LARGEST)

    def _object(self, part: Part, largest: int) -> bytes:
        """
        Raises:
            MissingError: it is not there.
            StoreError: it is damaged, or can't be read.
        """
        if part.bytes > largest:
            raise StoreError(f"{self._named(part.name)} is damaged (it is too large).")
        body = self.objects.get(f"{self.below}/{part.name}", part.bytes)
        if body is None:
            raise MissingError(f"{self._named(part.name)} is missing.")
        if len(body) != part.bytes or hashlib.sha256(body).hexdigest() != part.sha256:
            raise StoreError(f"{self._named(part.name)} is damaged (its content is not that in the log).")
        return body

    def _named(self, name: str) -> str:
        return f"{self.objects.address}/{self.below}/{name}"

    def clean(self, kept: Collection[str], oldest: float) -> int:
        """Remove the objects that are not among these and were put before a moment; return how many.

        Args:
            kept: names, as in parts.
            oldest: by the server's clock, in seconds since 1970.
        """
        below = [f"{self.below}/{name}" for name in ("packs", "segments", "files")]
        entries = chain.from_iterable(map(self.objects.entries, below))
        named = {f"{self.below}/{name}" for name in kept}
        names = [entry.name for entry in entries if entry.name not in named and entry.modified < oldest]
        self.objects.remove(names)
        return len(names)


def _unique() -> str:
    return secrets.token_hex(8)
