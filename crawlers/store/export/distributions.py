"""A resource's nodes in DCAT-AP 3."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING
from urllib.parse import quote

from crawlers.rdf.namespaces import DCT
from crawlers.store.export import nodes, vocabularies
from crawlers.store.export.iris import iri
from crawlers.values.file_types import file_type

if TYPE_CHECKING:
    from crawlers.items import Dataset, Resource
    from crawlers.store.export.nodes import Nodes

_NAMED = re.compile(r"https?://|urn:", re.IGNORECASE)


def access_url(dataset: Dataset, resource: Resource) -> str | None:
    """Return a resource's address, else its dataset's page; ``None`` if there is neither, so no distribution either."""
    return next(filter(None, map(iri, (resource.access_url, resource.url, resource.download_url))), None) or iri(
        dataset.landing_page
    )


def own_iri(dataset: str, resource: Resource) -> str | None:
    """Return the resource's own IRI, or the address of its page at a CKAN portal.

    Args:
        dataset: its IRI.
    """
    if is_named(resource):
        return iri(resource.id)
    at_ckan = dataset.endswith(f"/dataset/{_quoted(resource.dataset_id)}")
    return f"{dataset}/resource/{_quoted(resource.id)}" if at_ckan else None


def _quoted(name: str) -> str:
    return quote(name, safe="", errors="replace")


def is_named(resource: Resource) -> bool:
    """Return whether a resource's id is an IRI."""
    return _NAMED.match(resource.id) is not None


def format(about: Nodes, text: str) -> str | None:  # noqa: A001
    """Add a node for a format: of the EU's file types, else with its label."""
    known, kind = file_type(text), DCT + "MediaTypeOrExtent"
    return about.node(known.iri, kind) if known else nodes.labelled(about, text, kind)


def media_type(about: Nodes, text: str) -> str | None:
    """Add a node for a media type that IANA has."""
    name = iri(vocabularies.media_type(text))
    return about.node(name, DCT + "MediaType") if name else None
