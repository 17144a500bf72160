"""Which names a source's folder and a store may have; what others put there is refused."""

from __future__ import annotations

import os
import re
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from crawlers.exceptions import OutputError
from crawlers.safety import inside
from crawlers.safety.names import is_source
from crawlers.store.folder import MEMORY
from crawlers.store.runs import RUN

if TYPE_CHECKING:
    from collections.abc import Iterator

LINES = ("manifest.jsonl", "errors.jsonl", "flaws.jsonl", "captures.jsonl")
"""The files that only grow."""
FOLDERS = ("datasets", "dataset_metadata", "resource_metadata", "sites", "extensions")
"""The folders of documents."""
_OTHER_FOLDERS = ("runs", "timeseries")
_NAME = r"(?!\.)[A-Za-z0-9._-]{1,250}"
_DOCUMENT = re.compile(rf"(?:{'|'.join(FOLDERS)})/{_NAME}\.(?:json|xml)")
_OTHER = re.compile(
    rf"runs/{RUN.pattern}\.json|timeseries/[0-9]{{4}}\.csv|{re.escape(MEMORY)}|"
    rf"(?:manifest|errors|flaws)-{RUN.pattern}(?:\.[0-9]{{1,9}})?\.jsonl\.zst"
)
_SOURCE = re.compile(r"leases/(.+)\.json")


def is_document(file: str) -> bool:
    """Return whether a file, relative to its source's folder, is a document.

    >>> is_document("datasets/1f2e__limits.json"), is_document("datasets/../../x.json"), is_document("runs/x.json")
    (True, False, False)
    """
    return _DOCUMENT.fullmatch(file) is not None


def is_other(file: str) -> bool:
    """Return whether a file is a run report, a time series, memory.json, or a part of a compacted file.

    >>> is_other("runs/20261120T030000Z.json"), is_other("timeseries/2026.csv"), is_other("running.json")
    (True, True, False)
    """
    return _OTHER.fullmatch(file) is not None


def is_file(file: str) -> bool:
    """Return whether a file is a document, or one of the others."""
    return is_document(file) or is_other(file)


def files(folder: Path) -> Iterator[tuple[str, os.stat_result]]:
    """Yield the files of a source's folder, but for those that only grow, in no order; links are not followed."""
    for below in (*FOLDERS, *_OTHER_FOLDERS):
        with suppress(OSError):  # there is none
            for name, status in inside.statuses(folder, below):
                if is_file(file := f"{below}/{name}"):
                    yield file, status
    for name in names(folder):
        with suppress(OSError):
            yield name, inside.status(folder, name)


def names(folder: Path) -> list[str]:
    """Return the files in a source's folder itself that are neither documents nor grow: memory.json, old lines."""
    try:
        return sorted(path.name for path in folder.iterdir() if is_other(path.name))
    except OSError:
        return []


def named(source: str) -> str:
    """Return the name of a source that is to be stored.

    Raises:
        OutputError: no reader would take it for one.
    """
    if not is_source(source):
        raise OutputError(
            f"{source[:200]!r} can't be stored: the name of a source has at most 100 letters (a-z), digits, dots, "
            "dashes and underscores, and does not begin with a dot or index.sqlite."
        )
    return source


def source_of(lease: str) -> str | None:
    """Return the source that an object is the lease of.

    >>> source_of("leases/hdx.json"), source_of("leases/../hdx.json")
    ('hdx', None)
    """
    found = _SOURCE.fullmatch(lease)
    return found[1] if found and is_source(found[1]) else None
