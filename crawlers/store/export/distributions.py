"""A resource's nodes in DCAT-AP 3."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING
from urllib.parse import quote

from crawlers.rdf.namespaces import DCAT, DCT, SPDX, XSD
from crawlers.store.export import details, nodes, vocabularies
from crawlers.store.export.iris import iri
from crawlers.store.export.literals import literal, moment
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
    if _NAMED.match(resource.id):
        return iri(resource.id)
    at_ckan = dataset.endswith(f"/dataset/{_quoted(resource.dataset_id)}")
    return f"{dataset}/resource/{_quoted(resource.id)}" if at_ckan else None


def _quoted(name: str) -> str:
    return quote(name, safe="", errors="replace")


def distribution(about: Nodes, subject: str, dataset: Dataset, resource: Resource) -> None:
    """Add the properties of a distribution; without a licence of its own it has its dataset's."""
    about.say(subject, DCAT + "accessURL", access_url(dataset, resource))
    about.say(subject, DCAT + "downloadURL", iri(resource.download_url))
    about.say(subject, DCT + "title", literal(resource.title))
    about.say(subject, DCT + "description", literal(resource.description))
    about.say(subject, DCT + "issued", moment(resource.issued))
    about.say(subject, DCT + "modified", moment(resource.modified))
    nodes.languages(about, subject, resource.languages)
    nodes.standards(about, subject, resource.conforms_to)
    if one := resource.license or dataset.license:
        about.say(subject, DCT + "license", nodes.license(about, one))
    if resource.rights:
        about.say(subject, DCT + "rights", nodes.rights(about, resource.rights))
    _file(about, subject, resource)
    details.of_file(about, subject, resource)


def _file(about: Nodes, subject: str, resource: Resource) -> None:
    if not _NAMED.match(resource.id):
        about.say(subject, DCT + "identifier", literal(resource.id))
    if resource.format:
        known, kind = file_type(resource.format), DCT + "MediaTypeOrExtent"
        node = about.node(known.iri, kind) if known else nodes.labelled(about, resource.format, kind)
        about.say(subject, DCT + "format", node)
    if resource.media_type and (name := iri(vocabularies.media_type(resource.media_type))):
        about.say(subject, DCAT + "mediaType", about.node(name, DCT + "MediaType"))
    if resource.size is not None:
        about.say(subject, DCAT + "byteSize", literal(str(resource.size), XSD + "nonNegativeInteger"))
    if resource.checksum:
        about.say(subject, SPDX + "checksum", nodes.checksum(about, resource.checksum))
