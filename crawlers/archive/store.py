"""The store that ARCHIVE_STORE names: a folder, or a bucket in S3."""

from __future__ import annotations

import asyncio
import secrets
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING
from weakref import WeakValueDictionary

from crawlers.archive.blobs import Blob, Blobs, key, make_folder, named_by
from crawlers.exceptions import OutputError
from crawlers.s3.address import is_address, need
from crawlers.safety import inside

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import BinaryIO

    from scrapy.settings import BaseSettings


def open_blobs(settings: BaseSettings) -> Blobs:
    """Return the store that ARCHIVE_STORE names; a folder is made where there is none.

    Raises:
        OutputError: it is neither a folder nor an S3 bucket, or can't be used; or obstore is not installed.
    """
    location = str(settings.get("ARCHIVE_STORE") or "")
    if is_address(location, "ARCHIVE_STORE"):
        need("ARCHIVE_STORE", "obstore")
        from crawlers.archive.s3 import open_bucket  # noqa: PLC0415  # obstore takes long to import

        return open_bucket(location, settings.get("SPOOL_DIR"))
    if not location:
        raise OutputError("ARCHIVE_STORE must be a folder or s3://bucket/prefix.")
    return FolderBlobs(Path(location))


class FolderBlobs(Blobs):
    """Blobs in a folder, renamed into their place: no link below the folder is followed.

    A blob may be read by everyone who may read the folder.

    Raises:
        OutputError: the folder can't be made.
    """

    def __init__(self, folder: Path) -> None:
        self.location = str(folder)
        self.folder = folder
        self._under_way: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()
        make_folder(folder, 0o777)

    @cached_property
    def _mode(self) -> int:
        return self.folder.stat().st_mode & 0o666

    @cached_property
    def scratch(self) -> Path:
        """Make the folder for downloads: on the same file system, and closed to others."""
        make_folder(self.folder / "tmp", 0o700)
        return self.folder / "tmp"

    async def put(self, content: bytes | Path, sha256: str) -> bool:
        async with self._under_way.setdefault(sha256, asyncio.Lock()):
            return await asyncio.to_thread(self._put, content, sha256)

    def _put(self, content: bytes | Path, sha256: str) -> bool:
        """Return whether the blob is new: the disk is waited for, and nothing else.

        The file's hash is known to be right, that of a blob of the same size is not: it may be damaged.
        """
        body = content if isinstance(content, bytes) else None
        path = content if isinstance(content, Path) else self.scratch / f"{sha256}-{secrets.token_hex(8)}.file"
        try:
            size = path.stat().st_size if body is None else len(body)
            return size != inside.settle(self.folder, key(sha256), path, body, self._mode)
        except OSError as error:
            if body is not None:
                path.unlink(missing_ok=True)
            raise OSError(error.errno, f"{path} can't be moved into {self.location}: {error.strerror}.") from None

    def open(self, sha256: str) -> BinaryIO:
        return inside.opened(self.folder, key(sha256))

    def get(self, sha256: str) -> Blob | None:
        try:
            found = inside.status(self.folder, key(sha256))
        except FileNotFoundError:
            return None
        return Blob(sha256, found.st_size, found.st_mtime)

    async def find(self, sha256: str) -> Blob | None:
        return self.get(sha256)  # a thread takes longer than the disk

    def __iter__(self) -> Iterator[Blob]:
        for below in (f"sha256/{number:02x}" for number in range(256)):
            for name in self._names(below):
                sha256 = named_by(f"{below}/{name}")
                if sha256 and (blob := self.get(sha256)):
                    yield blob

    def remove(self, sha256: str) -> None:
        inside.remove(self.folder, key(sha256))

    def _names(self, below: str) -> list[str]:
        try:
            return sorted(inside.names(self.folder, below))
        except FileNotFoundError:
            return []
