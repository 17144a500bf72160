"""The file that a download writes, which is kept when the download is cut, so that the next one resumes it."""

from __future__ import annotations

import errno
import fcntl
import hashlib
import json
import os
import re
import secrets
import time
import weakref
from contextlib import suppress
from email.utils import parsedate_to_datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Self

from crawlers.exceptions import AnswerError

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import BinaryIO

OLD = 7 * 24 * 3600.0
"""Seconds after which `sweep` removes a cut file."""
NOTED_FROM = 256 * 1024
"""Bytes from which on a file can be resumed after a kill; after a cut that is noticed, it always can."""
_OURS = re.compile(r"[0-9a-f]{64}(\.part|\.json|-[0-9a-f]{16}\.(part|file))")
_CHUNK = 1024 * 1024
_HEAD = 64 * 1024


class DiskFullError(AnswerError):
    """The disk, or our share of it, is full; raised by `Partial`, and stops the crawl."""


class DownloadedFile:
    """A complete file in the scratch folder; a `crawlers.items.Body`.

    It is deleted with the last reference to it, unless it was moved away.

    Args:
        size: its bytes.
        sha256, md5: hexadecimal.

    Attributes:
        head: its first 64 KiB.
    """

    def __init__(self, path: Path, size: int, sha256: str, md5: str) -> None:
        self.path, self.size, self.sha256, self.md5 = path, size, sha256, md5
        with self.open() as file:
            self.head = file.read(_HEAD)
        self._delete = weakref.finalize(self, path.unlink, missing_ok=True)

    def discard(self) -> None:
        """Delete it, if it was not moved away."""
        self._delete()

    def open(self) -> BinaryIO:
        """Return a new reader, at the beginning."""
        return self.path.open("rb")


class Version(NamedTuple):
    """What a cut file is a part of.

    Args:
        validator: a strong entity tag, or a date that counts as strong: RFC 9110, 8.8.
        total: bytes of the whole file, if they are known.
    """

    url: str
    validator: str
    total: int | None


def version(url: str, headers: Mapping[str, str], total: int | None) -> Version | None:
    """Return what the answer with these headers is; ``None`` if it can't be distinguished from a later version.

    Args:
        headers: by name in lower case.
    """
    tag, date = headers.get("etag", ""), headers.get("last-modified", "")
    if headers.get("accept-ranges", "").lower() == "none":
        return None
    if tag:
        return Version(url, tag, total) if re.fullmatch(r'"[\x21\x23-\x7e\x80-\xff]*"', tag) else None
    return Version(url, date, total) if _is_strong(date, headers.get("date", "")) else None


def _is_strong(modified: str, answered: str) -> bool:
    """Return whether a second or more lies between two HTTP dates: RFC 9110, 8.8.2.2."""
    try:
        return (parsedate_to_datetime(answered) - parsedate_to_datetime(modified)).total_seconds() >= 1
    except (ValueError, TypeError, OverflowError):
        return False


class Sidecar:
    """The small JSON file beside a cut file."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._is_there = False

    def read(self, url: str) -> Version | None:
        """Return what it says, if that is about this address."""
        try:
            version = Version(**json.loads(self._path.read_bytes()))
        except (OSError, ValueError, TypeError):
            return None
        self._is_there = True
        return version if version.url == url else None

    def write(self, version: Version) -> None:
        """Write it, if it is not there."""
        if not self._is_there:
            self._path.write_text(json.dumps(version._asdict()), encoding="utf-8")
            self._is_there = True

    def remove(self) -> None:
        """Delete it, if it was read or written."""
        if self._is_there:
            self._path.unlink(missing_ok=True)
            self._is_there = False


class Partial:
    """A file in `scratch` that one download writes; use it as a context manager.

    It is named by a hash of the address and locked. If another download of that address has the lock, this one writes
    a file of its own, which is not kept. Beside it is a small JSON file with its `Version`.

    Args:
        scratch: is made if it is not there.

    Attributes:
        url: the address.
        path: of the file.
        size: bytes that are written.
        version: what the bytes are of; ``None`` if they can't be kept for another download.

    Raises:
        AnswerError: of kind ``disk``, here and by all that write.
    """

    def __init__(self, scratch: Path, url: str) -> None:
        self.size = 0
        self.version: Version | None = None
        self.url = url
        self._name = scratch / hashlib.sha256(url.encode()).hexdigest()
        self._sidecar = Sidecar(self._name.with_suffix(".json"))
        self._digests = _digests()
        with _disk_errors():
            scratch.mkdir(parents=True, exist_ok=True)
            self.path, self._file = self._claimed() or self._own()
        if self.is_shared:
            self._resume()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        """Keep what can be resumed, and delete everything else."""
        if self._file.closed:
            return
        if self.version and self.size:
            with suppress(OSError):
                self._sidecar.write(self.version)
        else:
            self._remove()
        self._file.close()

    @property
    def is_shared(self) -> bool:
        """Whether the file has the name under which the next download finds it."""
        return self.path.suffix == ".part" and self.path.stem == self._name.name

    def _claimed(self) -> tuple[Path, Any] | None:
        path = self._name.with_suffix(".part")
        file = _opened(path, os.O_CREAT)
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if path.stat().st_ino == os.fstat(file.fileno()).st_ino:
                return path, file
        except OSError:  # another has it, has just moved it, or the file system knows no locks
            pass
        file.close()
        return None

    def _own(self) -> tuple[Path, Any]:
        path = self._unique("part")
        return path, _opened(path, os.O_CREAT | os.O_EXCL)

    def _unique(self, suffix: str) -> Path:
        return self._name.with_name(f"{self._name.name}-{secrets.token_hex(8)}.{suffix}")

    def _resume(self) -> None:
        with _disk_errors():
            self.size = self._file.seek(0, os.SEEK_END)
        if self.size:
            self.version = self._sidecar.read(self.url)
        if self.size and (self.version is None or self.size >= (self.version.total or self.size + 1)):
            self.restart(None)

    def restart(self, version: Version | None) -> None:
        """Forget all bytes: those that come now are of this version, from the first one on."""
        self._digests = _digests()
        with _disk_errors():
            self._sidecar.remove()
            self._file.seek(0)
            self._file.truncate()
        self.size = 0
        self.version = version if self.is_shared else None

    def write(self, data: bytes) -> None:
        rest = memoryview(data)
        with _disk_errors():
            while rest:
                written = self._file.write(rest) or 0
                self.size += written
                rest = rest[written:]
            if self.version and self.size >= NOTED_FROM:
                self._sidecar.write(self.version)
        for digest in self._digests:
            digest.update(data)

    def read(self) -> None:
        """Compute the hashes of what is there already; it takes a second for a gigabyte, so call it in a thread."""
        with _disk_errors(), self.path.open("rb") as file:
            while part := file.read(_CHUNK):
                for digest in self._digests:
                    digest.update(part)

    def finish(self) -> DownloadedFile:
        """Give the complete file a name of its own, which no other download will use, and return it."""
        path = self._unique("file")
        with _disk_errors():
            self._sidecar.remove()
            self.path.rename(path)
            self._file.close()
        return DownloadedFile(path, self.size, *(digest.hexdigest() for digest in self._digests))

    def _remove(self) -> None:
        with suppress(OSError):
            self.path.unlink(missing_ok=True)
            self._sidecar.remove()


def _digests() -> tuple[Any, Any]:
    return hashlib.sha256(), hashlib.md5(usedforsecurity=False)


def sweep(scratch: Path) -> int:
    """Remove what downloads left in a folder more than `OLD` seconds ago; return how many files that were.

    Only names that downloads give are removed; what can't be removed stays.
    """
    removed, before = 0, time.time() - OLD
    with suppress(FileNotFoundError):
        for entry in os.scandir(scratch):
            with suppress(OSError):
                if _OURS.fullmatch(entry.name) and entry.stat(follow_symlinks=False).st_mtime < before:
                    Path(entry).unlink()
                    removed += 1
    return removed


def _opened(path: Path, flags: int) -> Any:
    return open(
        path,
        "r+b",
        buffering=0,
        opener=lambda name, _: os.open(name, os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW | flags, 0o666),
    )


class _disk_errors:  # noqa: N801
    """An OSError as what Scrapy does not retry."""

    def __enter__(self) -> None:
        pass

    def __exit__(self, _: object, error: BaseException | None, __: object) -> None:
        if isinstance(error, OSError):
            sentence = f"the file can't be written to the temporary folder of ARCHIVE_STORE: {error.strerror}"
            is_full = error.errno in (errno.ENOSPC, errno.EDQUOT)
            raise (DiskFullError if is_full else AnswerError)("disk", sentence) from error
