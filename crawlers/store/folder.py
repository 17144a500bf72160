"""A source's folder, which the pipelines write into; it is locked during a crawl."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from crawlers.exceptions import OutputError
from crawlers.safety import inside, strict_json
from crawlers.safety.locks import LOCK, take

if TYPE_CHECKING:
    from scrapy.crawler import Crawler


_FOLDERS = ("datasets", "dataset_metadata", "resource_metadata", "sites", "extensions", "timeseries", "runs")
_FILES = ("manifest.jsonl", "errors.jsonl", "flaws.jsonl", "versions.sqlite", ".batch")
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


MEMORY = "memory.json"
_LARGEST = 64 * 1024 * 1024  # bytes
_SCRATCH = ".remembering"


def recall(folder: Path, name: str) -> Any:
    """Return what a source's runs have remembered under a name; ``None`` if that is nothing, or can't be read."""
    return json_object(folder, MEMORY, _LARGEST).get(name)


def remember(folder: Path, name: str, value: Any) -> None:
    """Remember a JSON value under a name, instead of what was there; ``None`` forgets it. The folder is locked.

    Raises:
        OSError: the file can't be written.
    """
    known = json_object(folder, MEMORY, _LARGEST)
    before = known.pop(name, None)
    if value != before:
        new = known | ({} if value is None else {name: value})
        inside.write(folder, MEMORY, strict_json.dumps(dict(sorted(new.items()))), _SCRATCH)


def json_object(folder: Path, file: str, largest: int) -> dict[str, Any]:
    """Return the object that a JSON file is; an empty one if it can't be read, or is none.

    Args:
        file: relative to the folder.
        largest: the bytes that it may have.
    """
    try:
        found = json.loads(inside.read(folder, file, largest))
    except (OSError, ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}
