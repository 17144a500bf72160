"""Files below a folder that others may write into: no path and no link leads out of it.

The folder itself may be a link, for the user names it. Below it, every part of a path is opened by itself, from the
descriptor of the one before (openat), and links are refused: replacing a part at the same time achieves nothing.
"""

from __future__ import annotations

import errno
import os
import stat
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Self

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path
    from typing import BinaryIO

LARGEST = 256 * 1024 * 1024
"""Bytes of a file that is read as a whole."""
_NO_NAMES = {"", ".", ".."}
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC
_FILE = os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC


def is_inside(file: str) -> bool:
    """Return whether a relative path leads nowhere but below its folder, links aside.

    >>> [is_inside(file) for file in ("datasets/a.json", "../x", "/etc/passwd", "a/../../x", "")]
    [True, False, False, False, False]
    """
    return "\0" not in file and _NO_NAMES.isdisjoint(file.split("/"))


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
        size = os.fstat(content.fileno()).st_size  # a buffer of the largest size takes longer than the reading
        body = content.read(min(size, largest) + 1)
        if size < len(body) <= largest:  # it grows
            body += content.read(largest + 1 - len(body))
    if len(body) > largest:
        raise OSError(errno.EFBIG, f"it is larger than {largest} bytes", file)
    return body


def size(folder: Path, file: str) -> int:
    """Return the bytes that a regular file below a folder has.

    Raises:
        OSError: as `opened`.
    """
    return status(folder, file).st_size


def status(folder: Path, file: str) -> os.stat_result:
    """Return what the operating system knows of a regular file below a folder.

    Raises:
        OSError: as `opened`.
    """
    with _place(folder, file) as (name, where):
        return _status(name, where, file)


def names(folder: Path, below: str) -> list[str]:
    """Return the names in a folder below a folder, in no order.

    Args:
        below: its path, relative to the folder.

    Raises:
        OSError: it is not there, leads out of the folder, or is something else: a link, a file.
    """
    with _place(folder, f"{below}/*") as (_, where):
        return os.listdir(where)  # noqa: PTH208 -- pathlib takes no descriptor


def statuses(folder: Path, below: str) -> Iterator[tuple[str, os.stat_result]]:
    """Yield the names of the regular files in a folder below a folder, and what the operating system knows of them.

    Args:
        below: its path, relative to the folder.

    Raises:
        OSError: as `names`.
    """
    with _place(folder, f"{below}/*") as (_, where), os.scandir(where) as entries:
        for entry in entries:
            if entry.is_file(follow_symlinks=False):
                yield entry.name, entry.stat(follow_symlinks=False)


def write(folder: Path, file: str, body: bytes, scratch: str = ".writing") -> None:
    """Write a file below a folder, so that a reader sees the old one or the new one, never a part.

    Args:
        scratch: what it is called in the folder until it is whole; whatever has that name goes.

    Raises:
        OSError: it can't be written, or leads out of the folder.
    """
    with Writer(folder, scratch) as writer:
        writer.write(file, body)


@contextmanager
def replaced(folder: Path, file: str, scratch: str = ".writing") -> Iterator[BinaryIO]:
    """Open a new file, which takes the place of the old one at the end, on the disk: also after a power cut.

    Args:
        file: its path, relative to the folder; folders above it are made where there are none.
        scratch: as in `write`; in the folder itself.

    Raises:
        OSError: it can't be written, or leads out of the folder; the old one stays, as after any other error.
    """
    with _place(folder, scratch) as (_, where), _place(folder, file, make=True) as (name, place):
        with os.fdopen(_scratch(scratch, where), "wb") as new:
            yield new
            new.flush()
            os.fsync(new.fileno())
        os.replace(scratch, name, src_dir_fd=where, dst_dir_fd=place)
        os.fsync(place)


def move(folder: Path, file: str, source: Path) -> None:
    """Move a whole file below a folder, so that a reader sees the old one or the new one, never a part.

    Args:
        file: its new path, relative to the folder; folders above it are made where there are none.
        source: where it is, on the same file system.

    Raises:
        OSError: it can't be moved, or leads out of the folder.
    """
    with _place(folder, file, make=True) as (name, where):
        os.replace(source, name, dst_dir_fd=where)


def settle(folder: Path, file: str, source: Path, body: bytes | None, mode: int) -> int | None:
    """Move a whole file below a folder as `move` does, so that it is there also after a power cut.

    It is on the disk before it has its name, and then its name is.

    Args:
        file: as in `move`.
        source: where it is, on the same file system; with a ``body``, where that is written first, a new file.
        mode: who may read it.

    Returns:
        the bytes of the file that was there; ``None`` for none.

    Raises:
        OSError: as `move`.
    """
    with _place(folder, file, make=True) as (name, where):
        content = os.open(source, _NEW if body is not None else os.O_RDONLY | os.O_CLOEXEC, 0o600)
        try:
            if body is not None:
                _write_all(content, body)
            os.fchmod(content, mode)
            os.fsync(content)
        finally:
            os.close(content)
        try:
            held = os.stat(name, dir_fd=where, follow_symlinks=False).st_size
        except FileNotFoundError:
            held = None
        os.replace(source, name, dst_dir_fd=where)
        os.fsync(where)
        return held


class Writer:
    """Writes many files below a folder, as `write` does; the folders that they are in stay open meanwhile.

    Args:
        scratch: as in `write`; in the folder itself.
    """

    def __init__(self, folder: Path, scratch: str = ".writing") -> None:
        self.folder = folder
        self.scratch = scratch
        self.places: dict[str, int] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for place in self.places.values():
            os.close(place)
        self.places.clear()

    def write(self, file: str, body: bytes, *, is_new: bool = False) -> None:
        """Write a file, so that a reader sees the old one or the new one, never a part.

        Args:
            is_new: whether nobody can know of it yet: if there is none, it has its name from the first byte on, which
                takes two thirds of the time.

        Raises:
            OSError: it can't be written, or leads out of the folder.
        """
        _parts(file)
        above, _, name = file.rpartition("/")
        where, place = self._place("", _below), self._place(above, _below)
        if is_new and _made(name, place, body):
            return
        scratch = _scratch(self.scratch, where)
        try:
            _write_all(scratch, body)
        finally:
            os.close(scratch)
        os.replace(self.scratch, name, src_dir_fd=where, dst_dir_fd=place)

    def size(self, file: str) -> int:
        """Return the bytes that a regular file has, as `size` does, in the folders that were opened first.

        Raises:
            OSError: as `opened`.
        """
        _parts(file)
        above, _, name = file.rpartition("/")
        return _status(name, self._place(above, _opened), file).st_size

    def _place(self, above: str, reach: Callable[[str, int], int]) -> int:
        if above not in self.places:
            before, _, name = above.rpartition("/")
            self.places[above] = reach(name, self._place(before, reach)) if name else os.open(self.folder, _FOLDER)
        return self.places[above]


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
    """The file's own name, and the descriptor of the folder that it is in, which is made if that is asked for."""
    *above, name = _parts(file)
    where = os.open(folder, _FOLDER)
    try:
        for part in above:
            below = _below(part, where) if make else _opened(part, where)
            os.close(where)
            where = below
        yield name, where
    finally:
        os.close(where)


def _parts(file: str) -> list[str]:
    if not is_inside(file):
        raise OSError(errno.EINVAL, "it leads out of its folder", file)
    return file.split("/")


def _status(name: str, where: int, file: str) -> os.stat_result:
    """What the operating system knows of a regular file in a folder, which errors call by its path."""
    found = os.stat(name, dir_fd=where, follow_symlinks=False)
    if not stat.S_ISREG(found.st_mode):
        raise OSError(errno.EINVAL, "it is no regular file", file)
    return found


def _opened(name: str, where: int) -> int:
    """The descriptor of a folder in a folder."""
    return _open(name, _FOLDER | os.O_NOFOLLOW, where)


def _below(name: str, where: int) -> int:
    """The same, of one that is made if there is none."""
    try:
        return _opened(name, where)
    except FileNotFoundError:
        with suppress(FileExistsError):  # another process was first
            os.mkdir(name, dir_fd=where)
            os.fsync(where)
        return _opened(name, where)


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


def _made(name: str, where: int, body: bytes) -> bool:
    """Write a file if there is none of its name; return whether there was none."""
    try:
        file = os.open(name, _NEW, 0o666, dir_fd=where)
    except FileExistsError:
        return False
    try:
        _write_all(file, body)
    except OSError:  # a full disk
        os.unlink(name, dir_fd=where)
        raise
    finally:
        os.close(file)
    return True


def _write_all(file: int, body: bytes) -> None:
    rest = memoryview(body)
    while rest:
        rest = rest[os.write(file, rest) :]
