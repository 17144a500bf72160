"""What few datasets and files say, in the properties of DCAT: relations, laws, samples, services, states."""

from __future__ import annotations

from typing import TYPE_CHECKING

from crawlers.rdf.namespaces import ADMS, DCAT, DCATAP, DCT, ELI, FOAF, LOCN, RDFS, SKOS, XSD
from crawlers.store.export import nodes
from crawlers.store.export.iris import iri
from crawlers.store.export.literals import literal
from crawlers.values import codes

if TYPE_CHECKING:
    from crawlers.items import Dataset, Relation, Resource, Service
    from crawlers.store.export.nodes import Nodes

_RELATIONS = {
    **{
        name: DCT + name
        for name in (
            *("relation", "source", "references", "isReferencedBy", "replaces", "isReplacedBy", "requires"),
            *("isRequiredBy", "isPartOf"),
        )
    },
    **{name: DCAT + name for name in ("hasVersion", "isVersionOf", "previousVersion", "hasCurrentVersion", "inSeries")},
}
"""The property of each role; other roles are dct:relation."""


def of_dataset(about: Nodes, subject: str, dataset: Dataset) -> None:
    """Add what a dataset says."""
    _of_both(about, subject, dataset)
    about.say(subject, DCT + "type", _concept(about, dataset.type, codes.dataset_type(dataset.type)))
    about.say(subject, ADMS + "versionNotes", literal(dataset.version_notes))
    about.say(
        subject, DCATAP + "hvdCategory", *[about.node(iri(each), SKOS + "Concept") for each in dataset.hvd_categories]
    )
    about.say(subject, ADMS + "sample", *[_sample(about, each) for each in dataset.sample])
    for each in dataset.relations:
        about.say(subject, _RELATIONS.get(each.role, DCT + "relation"), _relation(about, each))
    if dataset.state or dataset.city or (dataset.country and not any(place.code for place in dataset.spatial)):
        about.say(subject, DCT + "spatial", _region(about, dataset))


def of_file(about: Nodes, subject: str, resource: Resource) -> None:
    """Add what a file says."""
    _of_both(about, subject, resource)
    availability = codes.availability(resource.availability)
    about.say(subject, DCATAP + "availability", _concept(about, resource.availability, availability))
    about.say(subject, DCAT + "accessService", *[_service(about, each) for each in resource.access_services])


def _of_both(about: Nodes, subject: str, item: Dataset | Resource) -> None:
    about.say(subject, ADMS + "status", _concept(about, item.status, codes.status(item.status)))
    pages = [nodes.labelled(about, each, FOAF + "Document") for each in item.documentation]
    about.say(subject, FOAF + "page", *pages)
    laws = [about.node(name, ELI + "LegalResource") for each in item.applicable_legislation if (name := iri(each))]
    about.say(subject, DCATAP + "applicableLegislation", *laws)
    if item.spatial_resolution is not None:
        metres = literal(f"{item.spatial_resolution:f}".rstrip("0").rstrip("."), XSD + "decimal")
        about.say(subject, DCAT + "spatialResolutionInMeters", metres)
    if item.temporal_resolution:
        about.say(subject, DCAT + "temporalResolution", literal(item.temporal_resolution, XSD + "duration"))


def _concept(about: Nodes, text: str | None, known: str | None) -> str | None:
    """Return a concept: of a vocabulary if that has it, else by its own IRI, else with the text as its label."""
    name = known or (iri(text) if text and "://" in text else None)
    label = literal(text)
    if not name and not label:
        return None
    node = about.node(name, SKOS + "Concept")
    if not name:
        about.say(node, SKOS + "prefLabel", label)
    return node


def _sample(about: Nodes, text: str) -> str | None:
    address = iri(text)
    if not address:
        return None
    node = about.node(address, DCAT + "Distribution")
    about.say(node, DCAT + "accessURL", address)
    return node


def _relation(about: Nodes, relation: Relation) -> str | None:
    label, name = literal(relation.title), iri(relation.uri)
    if not name and not label:
        return None
    node = name or about.blank()
    about.say(node, RDFS + "label", label)
    return node


def _region(about: Nodes, dataset: Dataset) -> str:
    place, address = about.node(None, DCT + "Location"), about.node(None, LOCN + "Address")
    about.say(place, LOCN + "address", address)
    about.say(address, LOCN + "adminUnitL1", literal(dataset.country))
    about.say(address, LOCN + "adminUnitL2", literal(dataset.state))
    about.say(address, LOCN + "postName", literal(dataset.city))
    return place


def _service(about: Nodes, service: Service) -> str:
    node = about.node(iri(service.uri), DCAT + "DataService")
    about.say(node, DCT + "title", literal(service.title) or literal(service.endpoint_url) or literal(service.uri))
    about.say(node, DCT + "description", literal(service.description))
    about.say(node, DCAT + "endpointURL", iri(service.endpoint_url))
    description = service.endpoint_description
    about.say(node, DCAT + "endpointDescription", iri(description) if description and "://" in description else None)
    nodes.standards(about, node, service.conforms_to)
    return node
