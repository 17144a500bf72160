"""A source's folder: what the pipelines write into, locked while a crawl does."""

from __future__ import annotations

import errno
import fcntl
import json
import os
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from crawlers.exceptions import OutputError
from crawlers.safety import strict_json

if TYPE_CHECKING:
    from collections.abc import Iterator

    from scrapy.crawler import Crawler


_PAUSES = (0.01, 0.02, 0.04, 0.08, 0.16)  # seconds


def folder(crawler: Crawler) -> Path:
    """OUTPUT_DIR/<source>."""
    return Path(crawler.settings["OUTPUT_DIR"]) / crawler.spider.source  # type: ignore[union-attr, no-any-return]


def lock(path: Path) -> int:
    """Makes the folder and locks it until the returned file descriptor is closed or the process ends, however it ends.

    Raises:
        OutputError: it can't be made or written into, or another crawl has it.
    """
    try:
        path.mkdir(parents=True, exist_ok=True)
        (path / ".writing").touch()
        descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    except OSError as error:
        message = f"{path} can't be written into ({error.strerror}): choose another with -s OUTPUT_DIR="
        raise OutputError(message) from None
    if not _locked(descriptor):
        os.close(descriptor)
        raise OutputError(f"another crawl is writing into {path}: wait for it, or choose another -a source=.")
    return descriptor


def _locked(descriptor: int) -> bool:
    """Tries for a moment: whoever looks whether a crawl runs holds a shared lock that long."""
    for pause in _PAUSES:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            time.sleep(pause)
        else:
            return True
    return False


def write(path: str, body: bytes, scratch: str) -> None:
    """Writes a file so that a reader sees the old one or the new one, never a part."""
    with open(scratch, "wb") as file:  # noqa: PTH123  # pathlib costs a tenth of a listing's time
        file.write(body)
    try:
        os.replace(scratch, path)  # noqa: PTH105
    except FileNotFoundError:
        os.makedirs(os.path.dirname(path), exist_ok=True)  # noqa: PTH103, PTH120
        os.replace(scratch, path)  # noqa: PTH105


class JSONLines:
    """A file that only grows, a JSON object a line; a line torn by a killed run is cut off before the first append."""

    def __init__(self, path: Path) -> None:
        self.file = path.open("ab+", buffering=0)
        self._repair()

    def append(self, line: dict[str, Any]) -> None:
        body = strict_json.line(line)
        if self.file.write(body) != len(body):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    def since(self, offset: int) -> Iterator[dict[str, Any]]:
        """The lines behind an offset."""
        self.file.seek(offset)
        for line in self.file:
            yield json.loads(line)

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
