"""The documents of a DCAT source, mapped again."""

from __future__ import annotations

from typing import TYPE_CHECKING

from crawlers import kind
from crawlers.kinds.dcat import data_json, mapping
from crawlers.rdf.document import graph_of

if TYPE_CHECKING:
    from crawlers.items import Dataset, Document


def rdf(document: Document, source: str, name: str, metadata_url: str) -> Dataset:
    """Return the item of a description as JSON-LD; that of a page stands beside the page's fields."""
    if "fields" in document:
        return kind.reader("html")(document, source, name, metadata_url)
    subject = str(document.setdefault("@id", "_:dataset"))  # a blank node has no name
    return mapping.dataset(graph_of(document), subject, source=source, language=None)


def pod(document: Document, source: str, name: str, _: str) -> Dataset:
    """Return the item of an entry of data.json."""
    return data_json.dataset(document, source=source, id=name)
