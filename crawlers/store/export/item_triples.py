"""What the item of a dataset or of a file says, in the properties of DCAT-AP: each field by its spec."""

from __future__ import annotations

import re
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from crawlers.fields import specs
from crawlers.items import Dataset, Resource
from crawlers.records import values
from crawlers.records.rdf.terms import (
    DCAT,
    DCT,
    ELI,
    FOAF,
    GEODCATAP,
    LOCN,
    PROV,
    RDFS,
    SCHEMA,
    SKOS,
    XSD,
    iris,
    is_blank,
)
from crawlers.store.export import nodes, vocabularies
from crawlers.store.export.nodes import Nodes, iri, literal, moment

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from crawlers.items import Relation, Service
    from crawlers.records.rdf.terms import Term
    from crawlers.store.export.nodes import Taken

    Writer = Callable[[Nodes, Any], Iterable[Term | None]]

_NAMED = re.compile(r"https?://|urn:", re.IGNORECASE)
_ROLES = {
    **{role: DCT + role for role in ("creator", "contributor", "rightsHolder")},
    "maintainer": SCHEMA + "maintainer",
    **{
        role: GEODCATAP + role
        for role in (
            *("custodian", "distributor", "originator", "principalInvestigator"),
            *("processor", "resourceProvider", "user"),
        )
    },
}
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
"""The property of each role; other roles are those of a dcat:Relationship."""


def item_triples(dataset: Dataset, subject: str, single: frozenset[str] = frozenset()) -> Nodes:
    """Return what a dataset's item says, without its files.

    Args:
        subject: what the dataset is called in the export.
        single: the properties that may have one value.
    """
    about = Nodes()
    about.node(subject, DCAT + "Dataset")
    about.say(subject, DCT + "identifier", literal(dataset.identifier) or literal(dataset.id))
    about.say(subject, RDFS + "comment", literal(dataset.caveats))
    _say(about, subject, dataset, _OF_DATASETS)
    _spread(about, subject, "documentation", single)
    _agents(about, subject, dataset, single)
    for each in dataset.relations:
        if found := _relation(about, each):
            about.say(subject, _RELATIONS.get(each.role, DCAT + "qualifiedRelation"), found)
    if dataset.state or dataset.city or (dataset.country and not any(place.code for place in dataset.spatial)):
        about.say(subject, DCT + "spatial", _region(about, dataset))
    return about


def _spread(about: Nodes, subject: str, field: str, single: frozenset[str]) -> None:
    """Say the values for which a property has no room by the next one that the field is read from."""
    first, second = iris(specs(Dataset)[field].rdf)[:2]
    values = about.graph[subject].get(first, [])
    if first in single and len(values) > 1:
        about.say(subject, second, *values[1:])
        del values[1:]


def files(about: Nodes, subject: str, dataset: Dataset, taken: Taken) -> None:
    """Add the files that an item has, each with an IRI that no other node of the export has."""
    names: list[str] = []
    for resource in dataset.resources:
        wanted = iri(resource.id) if _NAMED.match(resource.id) else None
        name = about.node(taken.first(wanted, about.blank()) if wanted else None, DCAT + "Distribution")
        names.append(name)
        about.say(
            name, DCAT + "accessURL", iri(resource.access_url) or (None if resource.download_url else iri(resource.url))
        )
        if resource.access_url and resource.url != resource.access_url and not resource.download_url:
            about.say(name, DCAT + "downloadURL", iri(resource.url))
        is_given = resource.document is None or resource.id in resource.document.values()
        if name != wanted and is_given:  # where records have no id, the project makes it of the content
            about.say(name, DCT + "identifier", literal(resource.id))
        _say(about, name, resource, _OF_RESOURCES)
    about.say(subject, DCAT + "distribution", *names)


def _say(about: Nodes, subject: str, item: Dataset | Resource, writers: dict[str, tuple[str, Writer]]) -> None:
    for name, (property_, writer) in writers.items():
        if value := getattr(item, name):
            about.say(subject, property_, *writer(about, value))


def _agents(about: Nodes, subject: str, dataset: Dataset, single: frozenset[str]) -> None:
    """Add the agents: by the property of their role, else, or if it is full, in an attribution that has the role."""
    if dataset.publisher:
        about.say(subject, DCT + "publisher", nodes.agent(about, dataset.publisher))
    for one in dataset.contacts:
        if one.role == "contact":
            about.say(subject, DCAT + "contactPoint", nodes.contact(about, one))
        elif (name := _ROLES.get(one.role or "")) and not (name in single and name in about.graph[subject]):
            about.say(subject, name, nodes.agent(about, one))
        else:
            about.say(subject, PROV + "qualifiedAttribution", nodes.attribution(about, one))


def _concept(about: Nodes, text: str | None, known: str | None) -> str | None:
    """Return a concept: of a vocabulary if that has it, else by its own IRI, else with the text as its label.

    Of an IRI nothing but that is known: whether it is a concept is for `Conformity` to say.
    """
    name = known or (iri(text) if text and "://" in text else None)
    label = literal(text)
    if name or not label:
        return name
    node = about.node(None, SKOS + "Concept")
    about.say(node, SKOS + "prefLabel", label)
    return node


def _sample(about: Nodes, text: str) -> str | None:
    node = nodes.labelled(about, text, DCAT + "Distribution")
    if node and not is_blank(node):
        about.say(node, DCAT + "accessURL", node)
    return node


def _relation(about: Nodes, relation: Relation) -> str | None:
    label, name = literal(relation.title), iri(relation.uri)
    if not name and not label:
        return None
    if not label and name and relation.role in _RELATIONS:
        return name
    node = name or about.blank()
    about.say(node, RDFS + "label", label)
    if relation.role in _RELATIONS:
        return node
    qualified = about.node(None, DCAT + "Relationship")
    about.say(qualified, DCT + "relation", node)
    about.say(qualified, DCAT + "hadRole", nodes.role(about, relation.role))
    return qualified


def _region(about: Nodes, dataset: Dataset) -> str:
    place, address = about.node(None, DCT + "Location"), about.node(None, LOCN + "Address")
    about.say(place, LOCN + "address", address)
    about.say(address, LOCN + "adminUnitL1", literal(dataset.country))
    about.say(address, LOCN + "adminUnitL2", literal(dataset.state))
    about.say(address, LOCN + "postName", literal(dataset.city))
    return place


def _service(about: Nodes, service: Service) -> str:
    node = about.node(iri(service.uri), DCAT + "DataService")
    about.say(node, DCT + "title", literal(service.title))
    about.say(node, DCT + "description", literal(service.description))
    about.say(node, DCAT + "endpointURL", iri(service.endpoint_url))
    if description := service.endpoint_description:
        about.say(node, DCAT + "endpointDescription", nodes.labelled(about, description, RDFS + "Resource"))
    about.say(node, DCT + "conformsTo", *_OWN["conforms_to"](about, service.conforms_to))
    return node


def _coded(known: Callable[[str | None], str | None]) -> Writer:
    return lambda about, text: [_concept(about, text, known(text))]


def _each(writer: Callable[[Nodes, Any], Term | None]) -> Writer:
    return lambda about, values: [writer(about, value) for value in values]


def _page(about: Nodes, text: str) -> str | None:
    return about.node(name, FOAF + "Document") if (name := iri(text)) else None


def _labelled(kind: str) -> Callable[[Nodes, str], str | None]:
    """Return what writes a text as a node of a class: its IRI or its label."""
    return lambda about, text: nodes.labelled(about, text, kind)


def _metres(_: Nodes, value: float) -> list[Term | None]:
    whole, part = f"{Decimal(repr(value)):f}.".split(".")[:2]  # all its digits, and no exponent
    return [literal(f"{whole}.{part}".rstrip("0").rstrip("."), XSD + "decimal")]


def _one(writer: Callable[[Nodes, Any], Term | None]) -> Writer:
    return lambda about, value: [writer(about, value)]


_BY_KIND: dict[str, Writer] = {
    **dict.fromkeys(("text", "markdown"), lambda _, text: [literal(text)]),
    "moment": lambda _, text: [moment(text)],
    "code": _coded(lambda _: None),
    "iri": lambda _, text: [iri(text)],
    "address": _one(_page),
    "addresses": _each(_labelled(FOAF + "Document")),
    "references": _each(lambda _, text: iri(text) or literal(text)),
    "labels": _each(lambda _, text: literal(text)),
    "languages": _each(nodes.language),
    "frequency": lambda about, code: [about.node(iri(vocabularies.frequency(code)), DCT + "Frequency")],
    "license": _one(nodes.license),
    "period": _one(nodes.period),
    "places": _each(nodes.place),
    "metres": _metres,
    "duration": lambda _, text: [literal(text, XSD + "duration")],
    "size": lambda _, size: [literal(str(size), XSD + "nonNegativeInteger")],
    "checksum": _one(nodes.checksum),
    "services": _each(_service),
}
"""How a field of each kind is written."""
_OWN: dict[str, Writer] = {
    "themes": _each(nodes.theme),
    "conforms_to": _each(_labelled(DCT + "Standard")),
    "access_rights": _one(nodes.access_rights),
    "rights": _one(_labelled(DCT + "RightsStatement")),
    "provenance": _one(_labelled(DCT + "ProvenanceStatement")),
    "applicable_legislation": _each(_labelled(ELI + "LegalResource")),
    "hvd_categories": _each(lambda about, text: _concept(about, text, None)),
    "sample": _each(_sample),
    "type": _coded(values.dataset_type),
    "status": _coded(values.status),
    "availability": _coded(values.availability),
    "format": _one(nodes.format),
    "media_type": _one(nodes.media_type),
    "download_url": lambda _, text: [iri(text)],
}
"""How these fields are written, instead."""


def _writers(item: type, left: Iterable[str]) -> dict[str, tuple[str, Writer]]:
    """Return the property and the writer of each field.

    Args:
        left: the fields that are written otherwise, besides agents and relations.
    """
    known = {name: spec for name, spec in specs(item).items() if spec.rdf and name not in left}
    writers = {name: _OWN.get(name) or _BY_KIND.get(spec.kind) for name, spec in known.items()}
    return {name: (iris(known[name].rdf)[0], writer) for name, writer in writers.items() if writer}


_OF_DATASETS = _writers(Dataset, ("identifier",))
_OF_RESOURCES = _writers(Resource, ("url", "access_url"))
