"""A source's folder, which the pipelines write into; it is locked during a crawl."""

from __future__ import annotations

import errno
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from crawlers.exceptions import OutputError
from crawlers.safety import inside, json_lines, strict_json
from crawlers.safety.locks import LOCK, take

if TYPE_CHECKING:
    from collections.abc import Iterable

    from scrapy.crawler import Crawler


_FOLDERS = ("datasets", "dataset_metadata", "resource_metadata", "sites", "extensions", "timeseries", "runs")
_FILES = ("manifest.jsonl", "errors.jsonl", "flaws.jsonl", ".batch")
TAIL = 256
"""Bytes of the end of a file that only grows: they differ in another file of that name."""
_TRIES = 30  # a process that checks whether a crawl runs holds a shared lock for a moment


def folder(crawler: Crawler) -> Path:
    """Return the source's folder, OUTPUT_DIR/<source>."""
    return Path(crawler.settings["OUTPUT_DIR"]) / crawler.spider.source  # type: ignore[union-attr, no-any-return]


def lock(path: Path) -> int:
    """Make the folder and lock it until the returned file descriptor is closed or the process ends.

    Raises:
        OutputError: it cannot be made or written into, contains a symbolic link, or is locked by another crawl.
    """
    try:
        descriptor = take(path / LOCK, tries=_TRIES)
    except OSError as error:
        message = f"{path} can't be written into ({error.strerror}): choose another with -s OUTPUT_DIR="
        raise OutputError(message) from None
    if descriptor is None:
        raise OutputError(f"another crawl is writing into {path}: wait for it, or choose another -a source=.")
    try:
        _check(path)
    except OutputError:
        os.close(descriptor)
        raise
    return descriptor


def _check(path: Path) -> None:
    for place in (path / name for name in (*_FOLDERS, *_FILES)):
        if place.is_symlink():
            raise OutputError(f"{place} is a symbolic link, and links are not followed there: remove it.")
        if place.name in _FILES and place.exists() and not place.is_file():
            raise OutputError(f"{place} is no regular file: remove it.")


def tail(path: Path, name: str, end: int) -> bytes:
    """Return the bytes before an offset of a file that only grows: they differ in another file of that name."""
    if not end:
        return b""
    with inside.opened(path, name) as file:
        file.seek(max(0, end - TAIL))
        return file.read(min(end, TAIL))


_LAST = 64 * 1024  # bytes from the end


class JSONLines:
    """A file that only grows, with a JSON object on each line.

    A line that a killed run left incomplete is removed before the first append.
    """

    def __init__(self, path: Path) -> None:
        self.file = inside.appended(path.parent, path.name)
        self._repair()

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
        self.file.seek(max(0, end - _LAST))
        lines = self.file.read(_LAST).splitlines()
        return json_lines.entry(lines[-1]) if lines else None

    def close(self) -> None:
        self.file.close()

    def _repair(self) -> None:
        end = position = self.file.seek(0, os.SEEK_END)
        while position:
            step = min(position, 64 * 1024)
            position -= step
            self.file.seek(position)
            newline = self.file.read(step).rfind(b"\n")
            if newline >= 0:
                position += newline + 1
                break
        if position < end:
            self.file.truncate(position)
