"""The documents of a DCAT source, mapped again."""

from __future__ import annotations

import logging
from functools import partial
from typing import TYPE_CHECKING

from crawlers import kind
from crawlers.exceptions import RulesError
from crawlers.records import data_json, dcat
from crawlers.records.rdf.document import graph_of

if TYPE_CHECKING:
    from crawlers.items import Dataset, Document
    from crawlers.kind import Reader
    from crawlers.kinds.dcat.rules import RDFRules
    from crawlers.records.rdf.terms import Graph

logger = logging.getLogger(__name__)


def rdf(document: Document, source: str, name: str, metadata_url: str) -> Dataset:
    """Return the item of a description as JSON-LD; that of a page stands beside the page's fields."""
    if "fields" in document:
        return kind.reader("html")(document, source, name, metadata_url)
    subject = str(document.setdefault("@id", "_:dataset"))  # a blank node has no name
    return dcat.dataset(graph_of(document), subject, source=source, language=None)


def taught(metadata_source: str | None) -> Reader | None:
    """Return the function that reads the documents that rules mapped; ``None`` for others, and if the rules are gone.

    Rules with a mistake read nothing, and the mistake is logged.
    """
    if not metadata_source or not metadata_source.startswith("rdf:"):
        return None
    from crawlers.kinds.dcat import rules  # noqa: PLC0415 -- few sources have any

    try:
        found = rules.named(metadata_source.removeprefix(rules.PREFIX))
    except RulesError as error:
        logger.warning("%s", error)
        return None
    return partial(_translated, found) if found else None


def _translated(rules: RDFRules, document: Document, source: str, name: str, metadata_url: str) -> Dataset:  # noqa: ARG001
    from crawlers.kinds.dcat.translation import Translation  # noqa: PLC0415

    subject = str(document.setdefault("@id", "_:dataset"))
    known = Translation(rules, graph_of(document), subject)
    return dcat.dataset(known.graph, subject, source=source, amend=known.amend)


def triples(document: Document, _: str) -> tuple[Graph, str] | None:
    """Return the description that a document has, and the dataset's name there; that of a page may have none."""
    found = document.get("rdf") if "fields" in document else document
    if not isinstance(found, dict) or "rdf_by" in document:  # which is not DCAT
        return None
    subject = str(found.get("@id") or "_:dataset")
    return graph_of(found | {"@id": subject}), subject


def pod(document: Document, source: str, name: str, _: str) -> Dataset:
    """Return the item of an entry of data.json."""
    return data_json.dataset(document, source=source, id=name)
