"""A document on disk, whatever its source, mapped again."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from crawlers import arguments
from crawlers.exceptions import AnswerError
from crawlers.mapping import ckan, data_json, html
from crawlers.mapping import dcat as rdf
from crawlers.mapping.dcat.document import graph_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from crawlers.items import Dataset, Document

    Reader = Callable[[Document, str, str, str], Dataset]

UNREADABLE = (ValueError, AnswerError, SyntaxError)
"""What `dataset` raises of a document that is not what it should be; the last is pyoxigraph's of what is no JSON-LD."""


class NoReaderError(ValueError):
    """Nothing here reads the documents of that ``metadata_source``: they are of another version of this project."""


def dataset(
    document: Any,
    *,
    source: str,
    id: str,  # noqa: A002 -- an item's field
    metadata_source: str | None,
    metadata_url: str | None,
    retrieved: str | None,
) -> Dataset:
    """The item that the document was written from.

    Args:
        metadata_source: of its manifest line; says who reads it.
        metadata_url: where it came from.
        retrieved: when the portal last had it.

    Raises:
        ValueError: it is no JSON object, or not that dataset's.
        NoReaderError: nothing here reads what its ``metadata_source`` gives.
        AnswerError: it is not what its ``metadata_source`` gives.
        SyntaxError: it is no JSON-LD.
    """
    item = _read(document, source, id, metadata_source or "", metadata_url or "")
    item.id = id
    for resource in item.resources:
        resource.dataset_id = id
    item.metadata_source, item.metadata_url, item.retrieved = metadata_source, metadata_url, retrieved
    return item


def _read(document: Any, source: str, name: str, metadata_source: str, metadata_url: str) -> Dataset:
    if not isinstance(document, dict):
        raise ValueError("it is no JSON object")  # noqa: TRY004
    read = _READERS.get(metadata_source)
    if read is None:
        raise NoReaderError(f"nothing here reads what {metadata_source or None} gives")
    return read(document, source, name, metadata_url)


def _ckan(document: Document, source: str, name: str, metadata_url: str) -> Dataset:
    if document.get("id") != name:
        raise ValueError(f"it is not the record of {name}")
    return ckan.dataset(document, source=source, portal=arguments.portal(metadata_url.partition("?")[0]))


def _rdf(document: Document, source: str, name: str, metadata_url: str) -> Dataset:
    """A description as JSON-LD; that of a page stands beside the page's fields."""
    if "fields" in document:
        return _html(document, source, name, metadata_url)
    subject = str(document.setdefault("@id", "_:dataset"))  # a blank node has no name
    return rdf.dataset(graph_of(document), subject, source=source, language=None)


def _data_json(document: Document, source: str, name: str, _: str) -> Dataset:
    return data_json.dataset(document, source=source, id=name)


def _html(document: Document, source: str, name: str, _: str) -> Dataset:
    return html.dataset(document, source=source, id=name)


_READERS: dict[str, Reader] = {
    **dict.fromkeys(("package_search", "package_show"), _ckan),
    **dict.fromkeys(("html", "schema_org", "schema_org+html", "rdf+html"), _html),
    "rdf": _rdf,
    "data_json": _data_json,
}
"""Who maps a document again, by the ``metadata_source`` of its manifest line."""
