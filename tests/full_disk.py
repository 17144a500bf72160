"""A disk that is full, for downloads of an archive: ``DOWNLOAD_HANDLERS = {"http": "tests.full_disk.FullDisk"}``."""

from __future__ import annotations

import errno
import io
import os
from typing import TYPE_CHECKING, Any

from crawlers.archive import partial
from crawlers.archive.download import ArchiveHandler

if TYPE_CHECKING:
    from pathlib import Path

    from scrapy.crawler import Crawler


class FullDisk(ArchiveHandler):
    """The handler, in a process whose disk takes no byte of a download."""

    def __init__(self, crawler: Crawler) -> None:
        super().__init__(crawler)
        partial._opened = _opened


class _FullFile(io.FileIO):
    def write(self, _: Any) -> int:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def _opened(path: Path, flags: int) -> _FullFile:
    return _FullFile(path, "r+", opener=lambda name, _: os.open(name, os.O_RDWR | os.O_CLOEXEC | flags, 0o666))
