"""The documents that rules mapped, mapped again; the rules' name is in their ``metadata_source``."""

from __future__ import annotations

import logging
from functools import partial
from typing import TYPE_CHECKING

from crawlers.exceptions import RulesError
from crawlers.kinds.dcat.rules.file import PREFIX, named
from crawlers.kinds.dcat.rules.translation import Translation
from crawlers.records import dcat
from crawlers.records.rdf.document import graph_of

if TYPE_CHECKING:
    from crawlers.items import Dataset, Document
    from crawlers.kind import Reader
    from crawlers.kinds.dcat.rules.rules import RDFRules

logger = logging.getLogger(__name__)


def reader(metadata_source: str) -> Reader | None:
    """Return the function that reads the documents that rules mapped; ``None`` if there are no rules of that name.

    Rules with a mistake read nothing, and the mistake is logged.
    """
    try:
        found = named(metadata_source.removeprefix(PREFIX))
    except RulesError as error:
        logger.warning("%s", error)
        return None
    return partial(read, found) if found else None


def read(rules: RDFRules, document: Document, source: str, name: str, metadata_url: str) -> Dataset:  # noqa: ARG001
    """Return the item of a description as JSON-LD."""
    subject = str(document.setdefault("@id", "_:dataset"))
    known = Translation(rules, graph_of(document), subject)
    return dcat.dataset(known.graph, subject, source=source, amend=known.amend)
