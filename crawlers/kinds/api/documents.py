"""The documents of a JSON API, mapped again; the declaration that gave a document is its ``metadata_source``."""

from __future__ import annotations

import logging
from functools import cache, partial
from typing import TYPE_CHECKING

from crawlers.exceptions import RulesError
from crawlers.kinds.api.file import is_there, load
from crawlers.kinds.api.mapping import Reading, portal_of

if TYPE_CHECKING:
    from crawlers.items import Dataset, Document
    from crawlers.kind import Reader
    from crawlers.kinds.api.declaration import Declaration
    from crawlers.records.volatile import Volatile

logger = logging.getLogger(__name__)


def reader(metadata_source: str | None) -> Reader | None:
    """Return the function that reads the documents of a declaration; ``None`` if there is none of that name.

    A declaration with a mistake reads nothing, and the mistake is logged once.
    """
    if not metadata_source or "." in metadata_source or not is_there(metadata_source):
        return None
    try:
        return partial(read, load(metadata_source))
    except RulesError as error:
        _log(str(error))
        return None


def volatile(metadata_source: str | None) -> Volatile | None:
    """Return what a declaration says moves in its records by itself; ``None`` if there is none of that name."""
    found = reader(metadata_source)
    return found.args[0].volatile if isinstance(found, partial) else None


@cache
def _log(mistake: str) -> None:
    logger.warning("%s", mistake)


def read(declaration: Declaration, document: Document, source: str, dataset_id: str, metadata_url: str) -> Dataset:
    """Return the item of a document on disk.

    Raises:
        ValueError: it is another dataset's.
    """
    record = Reading(document, declaration)
    if record.id != dataset_id:
        raise ValueError(f"it is not the record of {dataset_id}")
    return record.dataset(portal_of(metadata_url, declaration), source)
