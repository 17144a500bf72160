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
_OTHER = re.compile(rf"runs/{RUN.pattern}\.json|timeseries/[0-9]{{4}}\.csv|{re.escape(MEMORY)}")


def is_document(file: str) -> bool:
    """Return whether a file, relative to its source's folder, is a document.

    >>> is_document("datasets/1f2e__limits.json"), is_document("datasets/../../x.json"), is_document("runs/x.json")
    (True, False, False)
    """
    return _DOCUMENT.fullmatch(file) is not None


def is_other(file: str) -> bool:
    """Return whether a file is a run report, a time series, or memory.json.

    >>> is_other("runs/20261120T030000Z.json"), is_other("timeseries/2026.csv"), is_other("running.json")
    (True, True, False)
    """
    return _OTHER.fullmatch(file) is not None


def others(folder: Path) -> Iterator[tuple[str, os.stat_result]]:
    """Yield the files of a source's folder that are neither documents nor grow, in no order; links are not followed."""
    for below in _OTHER_FOLDERS:
        with suppress(OSError):  # there is none
            for name, status in inside.statuses(folder, below):
                if is_other(file := f"{below}/{name}"):
                    yield file, status
    with suppress(OSError):
        yield MEMORY, inside.status(folder, MEMORY)


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
