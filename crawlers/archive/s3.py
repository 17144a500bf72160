"""Blobs in an S3 bucket, by obstore; credentials and endpoint come from the environment only."""

from __future__ import annotations

import asyncio
import errno
import io
import os
import tempfile
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Literal
from weakref import WeakValueDictionary

import obstore
from obstore.exceptions import AlreadyExistsError, BaseError

from crawlers.archive.blobs import Blob, Blobs, key, make_folder, named_by
from crawlers.exceptions import OutputError
from crawlers.s3.address import parse
from crawlers.s3.connection import REPEATED, STATUS, Patience, connected, failure

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import BinaryIO

    from _typeshed import WriteableBuffer

PART = 5 * 1024 * 1024
"""Bytes that are uploaded in one request: the smallest part that S3 takes. Larger files come in several."""
_PARTS = 9_999  # of S3's 10,000
_AT_ONCE = 2  # parts of a file
_SMALL = 256 * 1024
_UPLOADS = {True: 8, False: 1}  # small files, and others
_FIRST, _LARGEST = 256 * 1024, 8 * 1024 * 1024  # bytes of a request for a part of a blob; doubled while it is read on
_TRIES = 3
_ATTRIBUTES = {"Content-Type": "application/octet-stream", "Content-Disposition": "attachment"}
_SETTING = "ARCHIVE_STORE"


def open_bucket(location: str, spool: str | None, patience: Patience | None = None) -> S3Blobs:
    """Return the store in a bucket, after one request that shows that it can be used.

    Args:
        location: ``s3://bucket/prefix``.
        spool: SPOOL_DIR, the folder that downloads are written into before they are uploaded.

    Raises:
        OutputError: the address is wrong, the environment has no credentials, or the server refuses.
    """
    bucket, prefix = parse(location, _SETTING)
    blobs = S3Blobs(bucket, prefix, spool, patience or Patience())
    try:
        blobs.check()
    except OSError as error:
        raise OutputError(str(error.strerror)) from None
    return blobs


class S3Blobs(Blobs):
    """Blobs in a bucket.

    Args:
        prefix: of all keys; may be empty.
        spool: as in `open_bucket`.

    Raises:
        OutputError: the endpoint in the environment can't be used.
    """

    def __init__(self, bucket: str, prefix: str, spool: str | None, patience: Patience) -> None:
        self.location = f"s3://{bucket}/{prefix}".rstrip("/")
        self._spool = spool
        self._timeout = patience.timeout
        self._store = connected(bucket, prefix, patience, _SETTING)
        self._uploads = {is_small: asyncio.Semaphore(most) for is_small, most in _UPLOADS.items()}
        self._under_way: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()

    @cached_property
    def scratch(self) -> Path:
        """Make the folder for downloads; it is the user's own, as it may be below /tmp."""
        folder = Path(self._spool or tempfile.gettempdir()) / f"archive-{os.getuid()}"
        make_folder(folder, 0o700)
        if folder.is_symlink() or folder.stat().st_uid != os.getuid():
            raise OutputError(f"{folder} is another user's, or a link: set SPOOL_DIR to a folder of your own.")
        return folder

    def check(self) -> None:
        """Ask for the first blob.

        Raises:
            OSError: the bucket can't be used.
        """
        with self._failures():
            next(iter(obstore.list(self._store, "sha256", chunk_size=1)), None)

    async def put(self, content: bytes | Path, sha256: str) -> bool:
        is_small = _size(content) <= _SMALL
        async with self._under_way.setdefault(sha256, asyncio.Lock()), self._uploads[is_small]:
            is_new = await self._put(content, sha256, _TRIES)
        if isinstance(content, Path):
            _remove(content)
        return is_new

    async def _put(self, content: bytes | Path, sha256: str, tries: int) -> bool:
        """Upload a file that is not there; repeat it if the answer is lost, which obstore does not do with writes."""
        size = _size(content)
        try:
            held = await self._size(sha256)
            if held == size:
                return tries < _TRIES  # then it is there by an answer that was lost
            return await self._upload(content, key(sha256), size, replace=held is not None)
        except BaseError as error:
            if tries == 1 or STATUS.search(str(error)):
                raise self._failure(error) from None
        except FileNotFoundError as error:
            raise self._failure(error) from None
        return await self._put(content, sha256, tries - 1)

    async def _size(self, sha256: str) -> int | None:
        try:
            return (await obstore.head_async(self._store, key(sha256)))["size"]
        except FileNotFoundError:
            return None

    async def _upload(self, content: bytes | Path, name: str, size: int, *, replace: bool) -> bool:
        if size > PART:  # S3 has no conditional upload in parts that obstore knows: two writers write the same bytes
            part = max(PART, -(-size // _PARTS))
            await obstore.put_async(
                self._store, name, content, attributes=_ATTRIBUTES, chunk_size=part, max_concurrency=_AT_ONCE
            )
            return True
        mode: Literal["create", "overwrite"] = "overwrite" if replace else "create"
        try:
            await obstore.put_async(self._store, name, content, attributes=_ATTRIBUTES, mode=mode, use_multipart=False)
        except AlreadyExistsError as error:
            return bool(REPEATED.search(str(error)))  # the first request stored it, and its answer was lost
        return True

    def open(self, sha256: str) -> BinaryIO:
        blob = self.get(sha256)
        if blob is None:
            raise FileNotFoundError(errno.ENOENT, f"{self.location} has no {key(sha256)}")
        return io.BufferedReader(_Reader(self, sha256, blob.bytes), 128 * 1024)

    def get(self, sha256: str) -> Blob | None:
        with self._failures():
            try:
                found = obstore.head(self._store, key(sha256))
            except FileNotFoundError:
                return None
        return Blob(sha256, found["size"], found["last_modified"].timestamp())

    async def find(self, sha256: str) -> Blob | None:
        return await asyncio.to_thread(self.get, sha256)

    def read(self, sha256: str, start: int, length: int) -> memoryview:
        """Return bytes of a blob.

        Raises:
            OSError: they can't be read.
        """
        with self._failures():
            return memoryview(obstore.get_range(self._store, key(sha256), start=start, length=length))

    def __iter__(self) -> Iterator[Blob]:
        with self._failures():
            for batch in obstore.list(self._store, "sha256", chunk_size=1000):
                for found in batch:
                    sha256 = named_by(found["path"])
                    if sha256:
                        yield Blob(sha256, found["size"], found["last_modified"].timestamp())

    def remove(self, sha256: str) -> None:
        with self._failures():
            obstore.delete(self._store, key(sha256))

    @contextmanager
    def _failures(self) -> Iterator[None]:
        try:
            yield
        except (BaseError, FileNotFoundError) as error:
            raise self._failure(error) from None

    def _failure(self, error: Exception) -> OSError:
        return failure(error, self.location, _SETTING, self._timeout)


class _Reader(io.RawIOBase):
    """Reads a blob in requests that grow while it is read on; after a seek they are small again."""

    def __init__(self, blobs: S3Blobs, sha256: str, size: int) -> None:
        super().__init__()
        self._blobs, self._sha256, self._size = blobs, sha256, size
        self._place = self._start = 0
        self._part = memoryview(b"")
        self._stride = _FIRST

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def readinto(self, buffer: WriteableBuffer) -> int:
        if self._place >= self._size:
            return 0
        if not self._start <= self._place < self._start + len(self._part):
            self._fetch()
        target, skipped = memoryview(buffer).cast("B"), self._place - self._start
        count = min(len(target), len(self._part) - skipped)
        target[:count] = self._part[skipped : skipped + count]
        self._place += count
        return count

    def _fetch(self) -> None:
        goes_on = self._place == self._start + len(self._part)
        self._stride = min(2 * self._stride, _LARGEST) if goes_on else _FIRST
        self._part = memoryview(b"")  # two parts are never in memory
        self._start = self._place
        self._part = self._blobs.read(self._sha256, self._place, min(self._stride, self._size - self._place))

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        place = {io.SEEK_SET: 0, io.SEEK_CUR: self._place, io.SEEK_END: self._size}[whence] + offset
        if place < 0:
            raise ValueError(f"{place} is before the beginning")
        self._place = place
        return place


def _size(content: bytes | Path) -> int:
    return len(content) if isinstance(content, bytes) else content.stat().st_size


def _remove(path: Path) -> None:
    path.unlink()
