"""A resource's nodes in DCAT-AP 3."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from crawlers.records.formats import eu_file_type
from crawlers.records.rdf.terms import DCT
from crawlers.store.export import nodes, vocabularies
from crawlers.store.export.iris import iri

if TYPE_CHECKING:
    from crawlers.items import Resource
    from crawlers.store.export.nodes import Nodes

_NAMED = re.compile(r"https?://|urn:", re.IGNORECASE)


def access_url(resource: Resource) -> str | None:
    """Return where to get a file: its own address, if it has no other."""
    return iri(resource.access_url) or (None if resource.download_url else iri(resource.url))


def own_iri(resource: Resource) -> str | None:
    """Return a resource's id if that is an IRI."""
    return iri(resource.id) if _NAMED.match(resource.id) else None


def identifier(resource: Resource) -> str | None:
    """Return a resource's id if its publisher gave it: where records have none, the project makes it of the content."""
    return resource.id if resource.document is None or resource.id in resource.document.values() else None


def format(about: Nodes, text: str) -> str | None:  # noqa: A001
    """Add a node for a format: of the EU's file types, else with its label."""
    known, kind = eu_file_type(text), DCT + "MediaTypeOrExtent"
    return about.node(known.iri, kind) if known else nodes.labelled(about, text, kind)


def media_type(about: Nodes, text: str) -> str | None:
    """Add a node for a media type that IANA has."""
    name = iri(vocabularies.media_type(text))
    return about.node(name, DCT + "MediaType") if name else None
