"""Files of lines that only grow, and the compressed parts that `scrapy compact` has moved their old lines to.

An offset counts the bytes of all lines that were ever written, in whatever file they are now.
"""

from __future__ import annotations

import os
import re
import sys
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, BinaryIO, cast

from crawlers.safety import inside, json_lines

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

FILES = ("manifest.jsonl", "errors.jsonl", "flaws.jsonl")
"""The files that can be compacted."""
_RUN = re.compile(r"[0-9]{8}T[0-9]{6}Z(?:-[0-9]{1,6})?")
_PART = re.compile(r"(\w+)-([0-9]{8}T[0-9]{6}Z)(?:-([0-9]{1,6}))?(?:\.([0-9]{1,9}))?\.jsonl\.zst")
_SCRATCH = ".compacting"
_BLOCK = 1024 * 1024
_HEAD = 18  # bytes in which a frame says how long its content is
_LEVEL = 10
_COMPRESSION = zstd.CompressionParameter
_TAIL = 256
_FIRST = 4096  # bytes


@dataclass(frozen=True, slots=True)
class Moved:
    """What was moved out of a file.

    Args:
        lines: how many lines.
        bytes: how long they are.
        packed: how long the part is that has them.
    """

    file: str
    part: str
    lines: int
    bytes: int
    packed: int


# Reading


def parts(folder: Path, file: str) -> list[str]:
    """Return the names of the compressed parts of a file, the oldest first."""
    try:
        names = [path.name for path in folder.iterdir()]
    except OSError:
        return []
    ordered = sorted((_order(name), name) for name in names if _PART.fullmatch(name))
    return [name for _, name in ordered if file_of(name) == file]


def file_of(part: str) -> str:
    """Return the file whose lines are in a compressed part.

    >>> file_of("manifest-20261120T030000Z.jsonl.zst")
    'manifest.jsonl'
    """
    return f"{_order(part)[0]}.jsonl"


def _order(part: str) -> tuple[str, str, int, int]:
    """Return what parts are ordered by: the file, the run, its number within a second, the part's number."""
    stem, began, later, number = cast("re.Match[str]", _PART.fullmatch(part)).groups()
    return stem, began, int(later or 0), int(number or 0)


def size(folder: Path, file: str) -> int:
    """Return the bytes of all lines.

    Raises:
        OSError: a part can't be read. A missing file has none.
    """
    try:
        now = inside.size(folder, file)
    except FileNotFoundError:
        now = 0
    return packed(folder, file) + now - doubled(folder, file)


def packed(folder: Path, file: str) -> int:
    """Return the bytes of the lines that are in parts.

    Raises:
        OSError: a part can't be read.
    """
    return sum(length(folder, name) for name in parts(folder, file))


def doubled(folder: Path, file: str) -> int:
    """Return the bytes at the beginning of a file that its last part has, too.

    There are some if a compaction was killed before it removed them: `finish` does that, before anything is appended.

    Raises:
        OSError: the part can't be read. A missing file has none.
    """
    for name in parts(folder, file)[-1:]:
        status, held = inside.status(folder, name), length(folder, name)
        with suppress(OSError), inside.opened(folder, file) as now:  # readers of the part report that it is damaged
            head = _head(folder, name, status.st_mtime_ns, status.st_size)
            is_same = now.read(len(head)) == head  # its first lines say when they were written
            return held if head and is_same and os.fstat(now.fileno()).st_size >= held else 0
    return 0


@lru_cache(maxsize=1_000)
def _head(folder: Path, name: str, changed: int, long: int) -> bytes:  # noqa: ARG001 -- as for _content
    with _unpacked(folder, name) as file:
        return file.read(_FIRST)


def lines(folder: Path, file: str, offset: int = 0) -> Iterator[tuple[int, bytes | None]]:
    """Yield each line's length and the line itself, from an offset on; ``None`` for one that is too long.

    Raises:
        OSError: a file can't be read, or there is none.
    """
    for name in parts(folder, file):
        if offset >= (held := length(folder, name)):
            offset -= held
            continue
        with _unpacked(folder, name) as file_:
            file_.seek(offset)
            yield from json_lines.lines(file_)
        offset = 0
    begin = doubled(folder, file)
    with inside.opened(folder, file) as now:
        now.seek(begin + offset)
        yield from json_lines.lines(now)


def between(folder: Path, file: str, begin: int, end: int | None = None) -> Iterator[bytes]:
    """Yield the lines between two offsets; all lines if none begins at the first one, for the file is another by now.

    Args:
        end: by default the last line's.

    Raises:
        OSError: a file can't be read, or there is none.
    """
    if not _is_line_start(folder, file, begin):
        begin, end = 0, None
    for long, text in lines(folder, file, begin):
        if end is not None and begin >= end:
            return
        begin += long
        if text is not None:
            yield text


def _is_line_start(folder: Path, file: str, offset: int) -> bool:
    here = offset - packed(folder, file)  # what is moved stays as it was
    if here <= 0:
        return True
    begin = doubled(folder, file)
    with inside.opened(folder, file) as now:
        now.seek(begin + here - 1)
        return now.read(1) == b"\n"


def unpacked(folder: Path, part: str) -> Iterator[tuple[int, bytes | None]]:
    """Yield the lines of a part, as `lines` does.

    Raises:
        OSError: it can't be read.
    """
    with _unpacked(folder, part) as file:
        yield from json_lines.lines(file)


def mark(folder: Path, file: str, end: int) -> bytes:
    """Return what tells the lines before an offset from others: the last part, and the bytes after it."""
    names = parts(folder, file)
    here = end - packed(folder, file)
    if here < 0:
        return b"?"
    if not end:
        return b""
    begin = doubled(folder, file)
    with inside.opened(folder, file) as now:
        now.seek(begin + max(0, here - _TAIL))
        return (names[-1].encode() + b"\n" if names else b"") + now.read(min(here, _TAIL))


def length(folder: Path, name: str) -> int:
    """Return the bytes of the lines of a part.

    Raises:
        OSError: it can't be read.
    """
    status = inside.status(folder, name)
    return _content(folder, name, status.st_mtime_ns, status.st_size)


@lru_cache(maxsize=10_000)
def _content(folder: Path, name: str, changed: int, long: int) -> int:  # noqa: ARG001 -- a part that was replaced is another
    """Return how long the lines of a part are; of one whose frame has no length, by reading it."""
    with inside.opened(folder, name) as file:
        try:
            found = zstd.get_frame_info(file.read(_HEAD)).decompressed_size
        except zstd.ZstdError:
            raise OSError(0, "it is damaged", name) from None
    if found is not None:
        return found
    with _unpacked(folder, name) as file_:
        return sum(len(block) for block in iter(lambda: file_.read(_BLOCK), b""))


@contextmanager
def _unpacked(folder: Path, name: str) -> Iterator[BinaryIO]:
    """
    Raises:
        OSError: the part can't be read, or is damaged.
    """
    try:
        with inside.opened(folder, name) as file, zstd.ZstdFile(file) as moved:
            yield cast("BinaryIO", moved)
    except (zstd.ZstdError, EOFError):
        raise OSError(0, "it is damaged", name) from None


# Writing


def compact(folder: Path, file: str) -> Moved | None:
    """Move the lines of all runs but the last one into a compressed part; return ``None`` without any.

    The part is whole on the disk before the lines go. A kill between the two is noticed by `finish`. The caller has the
    source's lock.

    Raises:
        OSError: a file can't be read or written.
    """
    finish(folder, file)
    try:
        end, run, count = _old(folder, file)
    except FileNotFoundError:
        return None
    if not end:
        return None
    part = _next(folder, file, run)
    with inside.opened(folder, file) as lines_, inside.replaced(folder, part, _SCRATCH) as new:
        _pack(lines_, end, new)
    _cut(folder, file, end)
    return Moved(file, part, count, end, inside.size(folder, part))


def finish(folder: Path, file: str) -> None:
    """Remove the lines of a file that its last part has, too: a compaction was killed before it did so.

    Raises:
        OSError: a file can't be read or written.
    """
    names = parts(folder, file)
    if not names:
        return
    held = length(folder, names[-1])
    try:
        if inside.size(folder, file) < held or not _begins_with(folder, file, names[-1]):
            return
    except FileNotFoundError:
        return
    _cut(folder, file, held)


def _begins_with(folder: Path, file: str, part: str) -> bool:
    with inside.opened(folder, file) as lines_, _unpacked(folder, part) as moved:
        while block := moved.read(_BLOCK):
            if lines_.read(len(block)) != block:
                return False
    return True


def _old(folder: Path, file: str) -> tuple[int, str, int]:
    """Return where the lines of the last run begin, the run of the line before, and how many lines that are."""
    offset, end, count, before = 0, 0, 0, ""
    last = ""
    with inside.opened(folder, file) as lines_:
        for number, (long, text) in enumerate(json_lines.lines(lines_)):
            run = str((json_lines.entry(text) or {}).get("run") or last)
            if run != last:
                end, count, before, last = offset, number, last, run
            offset += long
    return (end, before, count) if _RUN.fullmatch(before) else (0, "", 0)


def _next(folder: Path, file: str, run: str) -> str:
    """Return the name of the part of a run, the last one: also if the run was resumed, or its clock was behind."""
    named = f"{file.removesuffix('.jsonl')}-{run}.jsonl.zst"
    for last in parts(folder, file)[-1:]:
        if _order(last) >= _order(named):
            stem, began, later, number = _order(last)
            return f"{stem}-{began}{f'-{later}' if later else ''}.{number + 1}.jsonl.zst"
    return named


def _pack(lines_: BinaryIO, end: int, new: BinaryIO) -> None:
    packer = zstd.ZstdCompressor(options={_COMPRESSION.compression_level: _LEVEL, _COMPRESSION.checksum_flag: 1})
    packer.set_pledged_input_size(end)
    left = end
    while left and (block := lines_.read(min(left, _BLOCK))):
        new.write(packer.compress(block))
        left -= len(block)
    new.write(packer.flush())


def _cut(folder: Path, file: str, begin: int) -> None:
    """Remove the beginning of a file."""
    with inside.opened(folder, file) as old, inside.replaced(folder, file, _SCRATCH) as new:
        old.seek(begin)
        while block := old.read(_BLOCK):
            new.write(block)
