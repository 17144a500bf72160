"""Files below a folder that others may write into: no path and no link leads out of it.

The folder itself may be a link, for the user names it. Below it, every part of a path is opened by itself, from the
descriptor of the one before (openat), and links are refused: replacing a part at the same time achieves nothing.
"""

from __future__ import annotations

import errno
import os
import stat
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path
    from typing import BinaryIO

LARGEST = 256 * 1024 * 1024
"""Bytes of a file that is read as a whole."""
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC
_FILE = os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC


def is_inside(file: str) -> bool:
    """Return whether a relative path leads nowhere but below its folder, links aside.

    >>> [is_inside(file) for file in ("datasets/a.json", "../x", "/etc/passwd", "a/../../x", "")]
    [True, False, False, False, False]
    """
    return not any(part in ("", ".", "..") or "\0" in part for part in file.split("/"))


def opened(folder: Path, file: str) -> BinaryIO:
    """Open a regular file below a folder for reading.

    Args:
        file: its path, relative to the folder.

    Raises:
        OSError: it is not there, leads out of the folder, or is something else: a link, a pipe, a device.
    """
    with _place(folder, file) as (name, where):
        descriptor = _open(name, _FILE, where)
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise OSError(errno.EINVAL, "it is no regular file", file)
    return os.fdopen(descriptor, "rb")


def read(folder: Path, file: str, largest: int = LARGEST) -> bytes:
    """Return the bytes of a file below a folder.

    Args:
        largest: bytes that it may have.

    Raises:
        OSError: as `opened`; or it is larger.
    """
    with opened(folder, file) as content:
        body = content.read(largest + 1)
    if len(body) > largest:
        raise OSError(errno.EFBIG, f"it is larger than {largest} bytes", file)
    return body


def size(folder: Path, file: str) -> int:
    """Return the bytes that a regular file below a folder has.

    Raises:
        OSError: as `opened`.
    """
    with _place(folder, file) as (name, where):
        found = os.stat(name, dir_fd=where, follow_symlinks=False)
    if not stat.S_ISREG(found.st_mode):
        raise OSError(errno.EINVAL, "it is no regular file", file)
    return found.st_size


def names(folder: Path, below: str) -> list[str]:
    """Return the names in a folder below a folder, in no order.

    Args:
        below: its path, relative to the folder.

    Raises:
        OSError: it is not there, leads out of the folder, or is something else: a link, a file.
    """
    with _place(folder, f"{below}/*") as (_, where):
        return os.listdir(where)  # noqa: PTH208 -- pathlib takes no descriptor


def write(folder: Path, file: str, body: bytes, scratch: str = ".writing") -> None:
    """Write a file below a folder, so that a reader sees the old one or the new one, never a part.

    Args:
        scratch: what it is called in the folder until it is whole; whatever has that name goes.

    Raises:
        OSError: it can't be written, or leads out of the folder.
    """
    with _place(folder, scratch) as (name, where):
        with os.fdopen(_scratch(name, where), "wb", buffering=0) as content:
            _write_all(content, body)
        with _place(folder, file, make=True) as (last, place):
            os.replace(name, last, src_dir_fd=where, dst_dir_fd=place)


def remove(folder: Path, file: str) -> None:
    """Remove a file below a folder, or the link that is there in its place.

    Raises:
        OSError: it can't be removed, or leads out of the folder. A missing file is not an error.
    """
    try:
        with _place(folder, file) as (name, where):
            os.unlink(name, dir_fd=where)
    except FileNotFoundError:
        return


def appended(folder: Path, file: str) -> BinaryIO:
    """Open a regular file in a folder for reading and appending, unbuffered; it is made where there is none.

    Raises:
        OSError: as `opened`.
    """
    flags = os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    with _place(folder, file) as (name, where):
        descriptor = _open(name, flags, where)
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise OSError(errno.EINVAL, "it is no regular file", file)
    return os.fdopen(descriptor, "ab+", buffering=0)


@contextmanager
def _place(folder: Path, file: str, *, make: bool = False) -> Iterator[tuple[str, int]]:
    """The file's own name, and the descriptor of the folder that it is in."""
    *above, name = _parts(file)
    where = os.open(folder, _FOLDER)
    try:
        for part in above:
            below = _below(part, where, make=make)
            os.close(where)
            where = below
        yield name, where
    finally:
        os.close(where)


def _parts(file: str) -> list[str]:
    if not is_inside(file):
        raise OSError(errno.EINVAL, "it leads out of its folder", file)
    return file.split("/")


def _below(name: str, where: int, *, make: bool) -> int:
    try:
        return _open(name, _FOLDER | os.O_NOFOLLOW, where)
    except FileNotFoundError:
        if not make:
            raise
        os.mkdir(name, dir_fd=where)
        return _open(name, _FOLDER | os.O_NOFOLLOW, where)


def _open(name: str, flags: int, where: int) -> int:
    try:
        return os.open(name, flags, 0o666, dir_fd=where)
    except OSError as error:
        if error.errno in (errno.ELOOP, errno.ENOTDIR):
            raise OSError(error.errno, "it is a symbolic link, which is not followed, or no folder", name) from None
        raise


def _scratch(name: str, where: int) -> int:
    """A new file: whatever a killed run left, or somebody planted, is removed and never written through."""
    try:
        return os.open(name, _NEW, 0o666, dir_fd=where)
    except FileExistsError:
        os.unlink(name, dir_fd=where)
        return os.open(name, _NEW, 0o666, dir_fd=where)


def _write_all(content: BinaryIO, body: bytes) -> None:
    rest = memoryview(body)
    while rest:
        rest = rest[content.write(rest) :]
