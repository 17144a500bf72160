"""Files of lines that only grow: how a line is appended, read, followed, and moved into a compressed part.

`scrapy compact` moves old lines into compressed parts. An offset counts the bytes of all lines that were ever written,
in whatever file they are now. Others may write into the folder: no line is too long, too deep or too broken for the
rest.
"""

from __future__ import annotations

import errno
import json
import os
import re
import sys
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING, Any, BinaryIO, cast

from crawlers.safety import inside, strict_json

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
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
TAIL = 256
"""Bytes of the end of a file that only grows: they differ in another file of that name."""
_FIRST = 4096  # bytes
LONGEST = 16 * 1024 * 1024
"""Bytes of a line that is read."""
_STEP = 64 * 1024  # bytes
_HALF = re.compile("[\ud800-\udfff]")  # of a surrogate pair


# One line


def split(file: BinaryIO) -> Iterator[tuple[int, bytes | None]]:
    """Yield each line's length in bytes and the line itself; ``None`` for one that is longer than LONGEST."""
    while line := file.readline(LONGEST):
        if len(line) < LONGEST or line.endswith(b"\n"):
            yield len(line), line
        else:
            yield LONGEST + _rest(file), None


def _rest(file: BinaryIO) -> int:
    """Read to the end of a line, and return the bytes that were left of it."""
    size = 0
    while part := file.readline(LONGEST):
        size += len(part)
        if part.endswith(b"\n"):
            break
    return size


def line_start(file: BinaryIO, offset: int) -> int:
    """Return where the line at an offset begins; the offset, if one ended there."""
    while offset:
        step = min(offset, _STEP)
        file.seek(offset - step)
        newline = file.read(step).rfind(b"\n")
        if newline >= 0:
            return offset - step + newline + 1
        offset -= step
    return 0


def entry(line: bytes | None) -> dict[str, Any] | None:
    """Return the object that a line is; ``None`` for anything else.

    >>> entry(b'{"a": 1}'), entry(b"[" * 100_000), entry(b"[1]"), entry(None)
    ({'a': 1}, None, None, None)
    """
    try:
        found = json.loads(line or b"null")
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None


def is_text(value: Any) -> bool:
    r"""Return whether a value is a text that SQLite takes: one without half of a surrogate pair.

    >>> is_text("Côte"), is_text("\ud800"), is_text(None)
    (True, False, False)
    """
    return isinstance(value, str) and not _HALF.search(value)


def left_out(damaged: int) -> str:
    """Return what is said of damaged lines, behind their file.

    >>> left_out(1), left_out(3)
    ('1 damaged line is left out; the others are read', '3 damaged lines are left out; the others are read')
    """
    return f"{'1 damaged line is' if damaged == 1 else f'{damaged} damaged lines are'} left out; the others are read"


# Appending


class JSONLines:
    """A file that only grows, with a JSON object on each line.

    A line that a killed run left incomplete is removed before the first append.

    Raises:
        OSError: it can't be opened, or is no regular file.
    """

    def __init__(self, path: Path) -> None:
        self.file = inside.appended(path.parent, path.name)
        end = self.file.seek(0, os.SEEK_END)
        if (begin := line_start(self.file, end)) < end:
            self.file.truncate(begin)

    def append(self, line: dict[str, Any]) -> None:
        self.extend([strict_json.line(line)])

    def extend(self, lines: Iterable[bytes]) -> None:
        """Append lines in one write; what is written of them in vain is removed.

        Raises:
            OSError: the disk is full.
        """
        body = b"".join(lines)
        end = self.file.seek(0, os.SEEK_END)
        written = 0
        try:
            written = self.file.write(body)
        finally:
            if written != len(body):
                self.file.truncate(end)
        if written != len(body):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    def last(self) -> dict[str, Any] | None:
        """Return the last line; ``None`` if there is none, or it is damaged or longer than 64 KiB."""
        end = self.file.seek(0, os.SEEK_END)
        self.file.seek(max(0, end - _STEP))
        lines = self.file.read(_STEP).splitlines()
        return entry(lines[-1]) if lines else None

    def close(self) -> None:
        self.file.close()


# Reading, in the file and its compressed parts


def parts(folder: Path, file: str) -> list[str]:
    """Return the names of the compressed parts of a file, the oldest first."""
    try:
        names = [path.name for path in folder.iterdir()] if file in FILES else []
    except OSError:
        return []
    return sorted((name for name in names if _PART.fullmatch(name) and file_of(name) == file), key=_order)


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


def read(folder: Path, file: str, offset: int = 0) -> Iterator[tuple[int, bytes | None]]:
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
            yield from split(file_)
        offset = 0
    begin = doubled(folder, file)
    with inside.opened(folder, file) as now:
        now.seek(begin + offset)
        yield from split(now)


def between(folder: Path, file: str, begin: int, end: int | None = None) -> Iterator[bytes]:
    """Yield the lines between two offsets; all lines if none begins at the first one, for the file is another by now.

    Args:
        end: by default the last line's.

    Raises:
        OSError: a file can't be read, or there is none.
    """
    if not _is_line_start(folder, file, begin):
        begin, end = 0, None
    for long, text in read(folder, file, begin):
        if end is not None and begin >= end:
            return
        begin += long
        if text is not None:
            yield text


def containing(folder: Path, file: str, texts: Iterable[bytes]) -> Iterator[bytes]:
    """Yield the lines that have one of some texts, in order; found in blocks, for that takes a third of the time.

    Raises:
        OSError: a file can't be read, or there is none.
    """
    wanted = [*texts]
    for name in parts(folder, file):
        with _unpacked(folder, name) as part:
            yield from _containing(part, wanted)
    begin = doubled(folder, file)
    with inside.opened(folder, file) as now:
        now.seek(begin)
        yield from _containing(now, wanted)


def _containing(file: BinaryIO, texts: list[bytes]) -> Iterator[bytes]:
    kept = b""  # the beginning of a line whose end is in the next block
    while read := file.read(_BLOCK):
        block = kept + read
        end = block.rfind(b"\n") + 1
        yield from _lines_with(block, end, texts)
        kept = block[end:]
        if len(kept) >= LONGEST:
            _rest(file)
            kept = b""
    yield from _lines_with(kept, len(kept), texts)


def _lines_with(block: bytes, end: int, texts: list[bytes]) -> Iterator[bytes]:
    begins: set[int] = set()
    for text in texts:
        at = block.find(text, 0, end)
        while at >= 0:
            begins.add(block.rfind(b"\n", 0, at) + 1)
            at = block.find(text, at + 1, end)
    found = (block[begin : block.find(b"\n", begin) + 1 or None] for begin in sorted(begins))
    return (line for line in found if len(line) <= LONGEST)


def _is_line_start(folder: Path, file: str, offset: int) -> bool:
    here = offset - packed(folder, file)  # what is moved stays as it was
    if here <= 0:
        return True
    begin = doubled(folder, file)
    with inside.opened(folder, file) as now:
        now.seek(begin + here - 1)
        return now.read(1) == b"\n"


def unpacked(folder: Path, part: str) -> Iterator[tuple[int, bytes | None]]:
    """Yield the lines of a part, as `read` does.

    Raises:
        OSError: it can't be read.
    """
    with _unpacked(folder, part) as file:
        yield from split(file)


def follow(folder: Path, file: str, offset: int) -> Iterator[tuple[int, bytes | None]]:
    """Yield where each line ends and the line itself, as `read` does.

    Args:
        offset: to which the file was read before; a line that was torn there is read from its beginning, for a later
            crawl may have written it again.
    """
    moved, begin = packed(folder, file), doubled(folder, file)
    if offset > moved:
        with inside.opened(folder, file) as now:
            offset = moved + max(0, line_start(now, begin + offset - moved) - begin)
    for long, text in read(folder, file, offset):
        offset += long
        yield offset, text


def mark(folder: Path, file: str, end: int) -> bytes:
    """Return what tells the lines before an offset from others: the last part, and the bytes after it."""
    names = parts(folder, file)
    here = end - packed(folder, file)
    if here < 0:
        return b"?"
    if not end:
        return b""
    begin = doubled(folder, file)
    return (names[-1].encode() + b"\n" if names else b"") + tail(folder, file, begin + here, begin)


def is_marked(folder: Path, file: str, end: int, known: bytes) -> bool:
    """Return whether a file still has the lines before an offset whose mark is known."""
    return 0 <= end <= size(folder, file) and known == mark(folder, file, end)


def tail(folder: Path, file: str, end: int, begin: int = 0) -> bytes:
    """Return the bytes before an offset of the file itself, without its parts; none before another offset."""
    if end <= begin:
        return b""
    with inside.opened(folder, file) as now:
        now.seek(max(begin, end - TAIL))
        return now.read(min(end - begin, TAIL))


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


# The newest first

SHOWN = 256 * 1024
"""Bytes of a line that `backwards` yields; a longer one is left out."""
BLOCK = 16 * 1024
"""Bytes that it reads at a time."""


@dataclass(slots=True)
class Budget:
    """The bytes that may still be read, of all files together.

    Args:
        left: how many.
        spent: whether something was left unread.
        damaged: the sources with a file that can't be read.
    """

    left: int
    spent: bool = False
    damaged: set[str] = field(default_factory=set)

    def take(self, wanted: int) -> bool:
        """Return whether a number of bytes may be read, and count them."""
        if wanted > self.left:
            self.spent = True
            return False
        self.left -= wanted
        return True


def backwards(path: Path, budget: Budget, begin: int = 0, end: int | None = None) -> Iterator[bytes]:
    """Yield whole lines of one file, the last first, as far as the budget goes; none if the file does not exist.

    Args:
        begin: the offset of the first line to yield.
        end: the offset behind the last one; by default the file's end.
    """
    torn, endless = b"", False  # the part of a line that is read, and whether it is too long already
    for block in _blocks(path, budget, begin, end):
        first, *whole = (block + torn).split(b"\n")
        yield from (line for line in reversed(whole[:-1] if endless else whole) if line and len(line) <= SHOWN)
        endless = len(first) > SHOWN or (endless and not whole)
        torn = b"" if endless else first
    if torn and not budget.spent:
        yield torn


def _blocks(path: Path, budget: Budget, begin: int, end: int | None) -> Iterator[bytes]:
    """Open the file for each block: a hundred sources are read in parallel."""
    try:
        last = inside.size(path.parent, path.name)
        end = last if end is None else min(end, last)
        while end > begin:
            size = min(end - begin, BLOCK)
            if not budget.take(size):
                return
            end -= size
            with inside.opened(path.parent, path.name) as file:
                file.seek(end)
                yield file.read(size)
    except OSError:
        return


# Compacting


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
    with inside.opened(folder, file) as now, inside.replaced(folder, part, _SCRATCH) as new:
        _pack(now, end, new)
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
    with inside.opened(folder, file) as now, _unpacked(folder, part) as moved:
        while block := moved.read(_BLOCK):
            if now.read(len(block)) != block:
                return False
    return True


def _old(folder: Path, file: str) -> tuple[int, str, int]:
    """Return where the lines of the last run begin, the run of the line before, and how many lines that are."""
    offset, end, count, before = 0, 0, 0, ""
    last = ""
    with inside.opened(folder, file) as now:
        for number, (long, text) in enumerate(split(now)):
            run = str((entry(text) or {}).get("run") or last)
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


def _pack(now: BinaryIO, end: int, new: BinaryIO) -> None:
    packer = zstd.ZstdCompressor(options={_COMPRESSION.compression_level: _LEVEL, _COMPRESSION.checksum_flag: 1})
    packer.set_pledged_input_size(end)
    left = end
    while left and (block := now.read(min(left, _BLOCK))):
        new.write(packer.compress(block))
        left -= len(block)
    new.write(packer.flush())


def _cut(folder: Path, file: str, begin: int) -> None:
    """Remove the beginning of a file."""
    with inside.opened(folder, file) as old, inside.replaced(folder, file, _SCRATCH) as new:
        old.seek(begin)
        while block := old.read(_BLOCK):
            new.write(block)
