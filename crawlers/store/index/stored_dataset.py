"""A dataset on disk: the item that it was written from, or why there is none."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from crawlers import kind
from crawlers.safety import inside, strict_json
from crawlers.safety.redact import writable
from crawlers.store.index import reports

if TYPE_CHECKING:
    from pathlib import Path

    from crawlers.items import Dataset
    from crawlers.store.index.documents import Held, Known

UNREADABLE = (OSError, *kind.UNREADABLE)
"""What `item` raises if the document cannot be read."""


def item(folder: Path, dataset_id: str, known: Known | Held) -> Dataset:
    """Return the item that a document was written from, with the document and what its spider and operator change.

    Args:
        folder: the source's.
        dataset_id: the dataset's.
        known: the document.

    Raises:
        OSError, ValueError, AnswerError, SyntaxError: see `UNREADABLE`.
    """
    body = writable(inside.read(folder, known.file))  # an earlier version wrote logins, too
    document = body if known.file.endswith(".xml") else strict_json.loads(body)
    found = kind.dataset(
        document,
        source=folder.name,
        id=known.renamed_from or dataset_id,
        metadata_source=known.metadata_source,
        metadata_url=known.metadata_url,
        retrieved=known.seen,
    )
    found.id, found.document = dataset_id, document
    for resource in found.resources:
        resource.dataset_id = dataset_id
    for amend in reports.amendments(folder):
        amend(found)
    return found


def left_out(folder: Path, known: Known | Held, error: Exception) -> str:
    """Return the sentence that says which document is left out, and why."""
    return f"{folder.name}: {known.file} is left out: {_reason(error)}."


def _reason(error: Exception) -> str:
    if isinstance(error, OSError):
        return error.strerror or str(error)
    return f"it is no JSON ({error})" if isinstance(error, json.JSONDecodeError | UnicodeDecodeError) else str(error)
