"""The documents of a DCAT source, mapped again."""

from __future__ import annotations

from typing import TYPE_CHECKING

from crawlers import kind
from crawlers.records import data_json, dcat
from crawlers.records.rdf.document import graph_of

if TYPE_CHECKING:
    from crawlers.items import Dataset, Document
    from crawlers.kind import Reader
    from crawlers.records.rdf.terms import Graph


def rdf(document: Document, source: str, name: str, metadata_url: str) -> Dataset:
    """Return the item of a description as JSON-LD; that of a page stands beside the page's fields."""
    if "fields" in document:
        return kind.reader("html")(document, source, name, metadata_url)
    subject = str(document.setdefault("@id", "_:dataset"))  # a blank node has no name
    return dcat.dataset(graph_of(document), subject, source=source, language=None)


def taught(metadata_source: str | None) -> Reader | None:
    """Return the function that reads the documents that rules mapped; ``None`` for others."""
    if not (metadata_source or "").startswith("rdf:"):
        return None
    from crawlers.kinds.dcat.rules.mapping import reader  # noqa: PLC0415 -- few sources have rules

    return reader(str(metadata_source))


def triples(document: Document, _: str) -> tuple[Graph, str] | None:
    """Return the description that a document has, and the dataset's name there; that of a page may have none."""
    found = document.get("rdf") if "fields" in document else document
    if not isinstance(found, dict):
        return None
    subject = str(found.get("@id") or "_:dataset")
    return graph_of(found | {"@id": subject}), subject


def pod(document: Document, source: str, name: str, _: str) -> Dataset:
    """Return the item of an entry of data.json."""
    return data_json.dataset(document, source=source, id=name)
