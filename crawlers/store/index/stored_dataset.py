"""A dataset on disk: the item that it was written from, or why there is none."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from crawlers import kind
from crawlers.safety import inside, strict_json

if TYPE_CHECKING:
    from pathlib import Path

    from crawlers.items import Dataset
    from crawlers.store.index.documents import Held, Known

UNREADABLE = (OSError, *kind.UNREADABLE)
"""What `item` raises if the document cannot be read."""


def item(folder: Path, dataset_id: str, known: Known | Held) -> Dataset:
    """Return the item that a document was written from.

    Args:
        folder: the source's.
        dataset_id: the dataset's.
        known: the document.

    Raises:
        OSError, ValueError, AnswerError, SyntaxError: see `UNREADABLE`.
    """
    return kind.dataset(
        strict_json.loads(inside.read(folder, known.file)),
        source=folder.name,
        id=dataset_id,
        metadata_source=known.metadata_source,
        metadata_url=known.metadata_url,
        retrieved=known.seen,
    )


def left_out(folder: Path, known: Known | Held, error: Exception) -> str:
    """Return the sentence that says which document is left out, and why."""
    return f"{folder.name}: {known.file} is left out: {_reason(error)}."


def _reason(error: Exception) -> str:
    if isinstance(error, OSError):
        return error.strerror or str(error)
    return f"it is no JSON ({error})" if isinstance(error, json.JSONDecodeError | UnicodeDecodeError) else str(error)
