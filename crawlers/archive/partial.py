"""What a download writes: into memory as long as it is small, else into a file.

What is there when the download is cut is kept in a file, so that the next one resumes it.
"""

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
from functools import cache
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Self

from crawlers.exceptions import AnswerError

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import BinaryIO

OLD = 7 * 24 * 3600.0
"""Seconds after which `sweep` removes a cut file."""
HELD = 1024 * 1024
"""Bytes that a download holds in memory; with more it is in a file, which can be resumed after a kill, too."""
ALL_HELD = 64 * HELD
"""Bytes that all downloads of a process hold in memory, and files that are not in the store yet: it may be slow."""
_OURS = re.compile(r"[0-9a-f]{64}(\.part|\.json|-[0-9a-f]{16}\.(part|file))")
_CHUNK = 1024 * 1024
_HEAD = 64 * 1024


class DiskFullError(AnswerError):
    """The disk, or our share of it, is full; raised by `Partial`, and stops the crawl."""


class _Memory:
    """What the downloads of this process hold.

    Attributes:
        free: bytes that may still be held.
    """

    free = ALL_HELD

    def take(self, size: int) -> bool:
        """Return whether so many bytes more may be held; they then are."""
        if size > self.free:
            return False
        self.free -= size
        return True

    def give_back(self, size: int) -> None:
        self.free += size


memory = _Memory()


class DownloadedFile:
    """A complete file, in memory or in the scratch folder; a `crawlers.items.Body`.

    One in the folder is deleted with the last reference to it, unless it was moved away.

    Args:
        content: its bytes, or where they are.
        size: how many.
        sha256, md5: hexadecimal.

    Attributes:
        head: its first 64 KiB.
    """

    def __init__(self, content: bytes | Path, size: int, sha256: str, md5: str) -> None:
        self.content, self.size, self.sha256, self.md5 = content, size, sha256, md5
        with self.open() as file:
            self.head = file.read(_HEAD)
        if isinstance(content, bytes):
            weakref.finalize(self, memory.give_back, size)
        else:
            weakref.finalize(self, content.unlink, missing_ok=True)

    def open(self) -> BinaryIO:
        """Return a new reader, at the beginning."""
        return BytesIO(self.content) if isinstance(self.content, bytes) else self.content.open("rb")


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
    """What one download writes; use it as a context manager.

    More than `HELD` bytes go into a file in `scratch`, named by a hash of the address and locked. If another download
    of that address has the lock, this one writes a file of its own, which is not kept. Beside it is a small JSON file
    with its `Version`.

    Args:
        scratch: is made if it is not there.

    Attributes:
        url: the address.
        path: of the file; ``None`` as long as the bytes are in memory.
        size: bytes that are written.
        version: what the bytes are of; ``None`` if they can't be kept for another download.

    Raises:
        AnswerError: of kind ``disk``, here and by all that write.
    """

    def __init__(self, scratch: Path, url: str) -> None:
        self.size = 0
        self.version: Version | None = None
        self.url = url
        self.path: Path | None = None
        self._held = bytearray()
        self._name = scratch / hashlib.sha256(url.encode()).hexdigest()
        self._sidecar = Sidecar(self._name.with_suffix(".json"))
        self._digests = _digests()
        self._file: Any = None
        if self._name.name in _cut(scratch):
            with _disk_errors(), suppress(FileNotFoundError):
                self._claim(0)
            if self._file:
                self._resume()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        """Keep what can be resumed, and delete everything else."""
        if self._file is None and self.version and self.size:
            with suppress(AnswerError):
                self._spill()
        self._forget()
        if self._file is None or self._file.closed:
            return
        if self.version and self.size:
            with suppress(OSError):
                self._sidecar.write(self.version)
        else:
            self._remove()
        self._file.close()

    @property
    def is_shared(self) -> bool:
        """Whether the file has the name under which the next download finds it, or will have."""
        return self.path is None or (self.path.suffix == ".part" and self.path.stem == self._name.name)

    def _claim(self, flags: int) -> None:
        path = self._name.with_suffix(".part")
        file = _opened(path, flags)
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if path.stat().st_ino == os.fstat(file.fileno()).st_ino:
                self.path, self._file = path, file
                return
        except OSError:  # another has it, has just moved it, or the file system knows no locks
            pass
        file.close()

    def _spill(self) -> None:
        """Write what is in memory into a file; it is our own if there is one now, which another download has left."""
        with _disk_errors():
            self._name.parent.mkdir(parents=True, exist_ok=True)
            self._claim(os.O_CREAT)
            if self._file and self._file.seek(0, os.SEEK_END):
                self._file.close()
                self._file = None
            if self._file is None:
                self.path, self.version = self._unique("part"), None
                self._file = _opened(self.path, os.O_CREAT | os.O_EXCL)
            self._write(self._held)
        _cut(self._name.parent).add(self._name.name)
        self._forget()

    def _forget(self) -> None:
        memory.give_back(len(self._held))
        self._held = bytearray()

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
        if self.size:
            self._digests = _digests()
        self._forget()
        if self._file:
            with _disk_errors():
                self._sidecar.remove()
                self._file.seek(0)
                self._file.truncate()
        self.size = 0
        self.version = version if self.is_shared else None

    def write(self, data: bytes) -> None:
        size = len(data)
        if self._file is None and (self.size + size > HELD or not memory.take(size)):
            self._spill()
        if self._file is None:
            self._held += data
        else:
            with _disk_errors():
                self._write(data)
                if self.version:
                    self._sidecar.write(self.version)
        self.size += size
        for digest in self._digests:
            digest.update(data)

    def _write(self, data: bytes | bytearray) -> None:
        rest = memoryview(data)
        while rest:
            rest = rest[self._file.write(rest) or 0 :]

    def read(self) -> None:
        """Compute the hashes of what is there already; it takes a second for a gigabyte, so call it in a thread."""
        with _disk_errors(), self._name.with_suffix(".part").open("rb") as file:
            while part := file.read(_CHUNK):
                for digest in self._digests:
                    digest.update(part)

    def finish(self) -> DownloadedFile:
        """Return the complete file; one on disk gets a name of its own, which no other download will use."""
        content: bytes | Path = bytes(self._held)
        if self.path:
            content = self._unique("file")
            with _disk_errors():
                self._sidecar.remove()
                self.path.rename(content)
                self._file.close()
        self._held, self.version = bytearray(), None
        return DownloadedFile(content, self.size, *(digest.hexdigest() for digest in self._digests))

    def _remove(self) -> None:
        with suppress(OSError):
            self.path.unlink(missing_ok=True)  # type: ignore[union-attr]  # it is called for a file only
            self._sidecar.remove()


@cache
def _cut(scratch: Path) -> set[str]:
    """Return which files were cut, as far as this process knows: a system call for each download costs more.

    Raises:
        AnswerError: the folder can't be read.
    """
    with _disk_errors(), suppress(FileNotFoundError):
        return {name.removesuffix(".part") for name in os.listdir(scratch) if name.endswith(".part")}  # noqa: PTH208
    return set()


def _digests() -> tuple[Any, Any]:
    return hashlib.sha256(), hashlib.md5(usedforsecurity=False)


def sweep(scratch: Path) -> int:
    """Remove what killed downloads left in a folder, and what can be resumed, but is older than `OLD` seconds.

    Only names that downloads give are removed; what can't be removed stays. While others use the folder, nothing goes
    that is not old: it may be theirs.

    Returns:
        the descriptor that says that the folder is used, until it is closed.

    Raises:
        OSError: the folder can't be opened.
    """
    used = os.open(scratch, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    is_alone, before = _locked(used, fcntl.LOCK_EX | fcntl.LOCK_NB), time.time() - OLD
    for entry in [*os.scandir(scratch)]:
        path = Path(entry)
        with suppress(OSError):
            if _OURS.fullmatch(entry.name) and (
                entry.stat(follow_symlinks=False).st_mtime < before or (is_alone and not _can_be_resumed(path))
            ):
                path.unlink()
    _locked(used, fcntl.LOCK_SH)
    return used


def _can_be_resumed(path: Path) -> bool:
    """Return whether a file, or its sidecar, has the other beside it."""
    return all(path.with_suffix(suffix).exists() for suffix in (".part", ".json"))


def _locked(descriptor: int, how: int) -> bool:
    try:
        fcntl.flock(descriptor, how)
    except OSError:  # another has it, or the file system knows no locks
        return False
    return True


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
