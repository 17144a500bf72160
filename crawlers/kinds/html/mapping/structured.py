"""The structured data of a page, RDF or schema.org's: it overrides the rules."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from crawlers.exceptions import AnswerError
from crawlers.items import Dataset, Flaw
from crawlers.records import dcat, schema_org
from crawlers.records.rdf.document import graph_of
from crawlers.records.rdf.terms import is_blank

if TYPE_CHECKING:
    from crawlers.items import Document

_BLANK = "_:dataset"
_HERE = "urn:example:dataset"  # what has no identifier is called so while it is read
# No JSON-LD is a SyntaxError of pyoxigraph's, half a character an AttributeError.
_UNREADABLE = (AnswerError, ValueError, SyntaxError, AttributeError, RecursionError)


def structured(document: Document, *, source: str, id: str) -> tuple[Dataset, str | None]:  # noqa: A002
    """Return the item, and what it was made of: rdf, else schema_org, else ``None`` and an empty item."""
    item, flaws = None, list[Flaw]()
    rdf, record = document.get("rdf"), document.get("schema_org")
    if isinstance(rdf, dict):
        try:
            own = schema_org.of_rdf(rdf, str(document.get("url", "")))
            item = schema_org.dataset(own, source=source, id=id) if own else _rdf(rdf, source)
        except _UNREADABLE as error:
            flaws.append(Flaw(f"the RDF can't be read: {error}", "rdf", "unreadable_statement"))
    origin = "rdf" if item else None
    if item is None and isinstance(record, dict):
        item, origin = schema_org.dataset(record, source=source, id=id), "schema_org"
    item = item or Dataset(source=source, id=id)
    item.flaws = [*flaws, *(each for each in item.flaws if each.field != "title")]
    item.id = id
    for resource in item.resources:
        resource.dataset_id = id
    return item, origin


def _rdf(rdf: dict[str, Any], source: str) -> Dataset:
    """
    Raises:
        ValueError, SyntaxError, AttributeError: it does not describe a dataset.
    """
    subject = str(rdf.get("@id") or _BLANK)  # a blank node has no name
    graph = graph_of(rdf | {"@id": subject})
    node = graph.get(subject)
    if not node:
        raise ValueError("it does not describe the dataset")
    if not is_blank(subject):
        return dcat.dataset(graph, subject, source=source, language=None)
    item = dcat.dataset(graph | {_HERE: node}, _HERE, source=source, language=None)
    item.uri = None
    return item
