"""A dataset on disk: its item again, or why there is none."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from crawlers.mapping import document
from crawlers.safety import inside, strict_json

if TYPE_CHECKING:
    from pathlib import Path

    from crawlers.index.known import Held, Known
    from crawlers.items import Dataset

UNREADABLE = (OSError, *document.UNREADABLE)
"""What `item` raises of a document that can't be read."""


def item(folder: Path, dataset_id: str, known: Known | Held) -> Dataset:
    """The item that a document was written from.

    Args:
        folder: the source's.

    Raises:
        one of `UNREADABLE`.
    """
    return document.dataset(
        strict_json.loads(inside.read(folder, known.file)),
        source=folder.name,
        id=dataset_id,
        metadata_source=known.metadata_source,
        metadata_url=known.metadata_url,
        retrieved=known.seen,
    )


def left_out(folder: Path, known: Known | Held, error: Exception) -> str:
    """The sentence that says so."""
    return f"{folder.name}: {known.file} is left out: {_reason(error)}."


def _reason(error: Exception) -> str:
    if isinstance(error, OSError):
        return error.strerror or str(error)
    return f"it is no JSON ({error})" if isinstance(error, json.JSONDecodeError | UnicodeDecodeError) else str(error)
