"""A dataset's nodes in DCAT-AP 3, for any source."""

from __future__ import annotations

from typing import TYPE_CHECKING

from crawlers.rdf.namespaces import DCAT, DCT, FOAF, GEODCATAP, RDFS
from crawlers.store.export import distributions, nodes, vocabularies
from crawlers.store.export.iris import Taken, iri, minted
from crawlers.store.export.literals import literal, moment
from crawlers.store.export.nodes import Nodes

if TYPE_CHECKING:
    from crawlers.items import Dataset
    from crawlers.rdf.terms import Graph

_CONTACTS = ("contact", "maintainer", None)
_ROLES = {
    "creator": DCT + "creator",
    "rightsHolder": DCT + "rightsHolder",
    **{
        role: GEODCATAP + role
        for role in (
            *("custodian", "distributor", "originator", "principalInvestigator"),
            *("processor", "resourceProvider", "user"),
        )
    },
}


def description(dataset: Dataset, taken: Taken) -> tuple[Graph, str]:
    """Return the dataset's graph and its IRI in it; mandatory properties are never missing.

    Args:
        taken: the IRIs that are in use; those of the dataset and its distributions are added.
    """
    about = Nodes()
    subject = taken.first(iri(dataset.uri), minted(dataset.source, dataset.id))
    about.node(subject, DCAT + "Dataset")
    _texts(about, subject, dataset)
    _agents(about, subject, dataset)
    _vocabularies(about, subject, dataset)
    _coverage(about, subject, dataset)
    for position, resource in enumerate(dataset.resources):
        if distributions.access_url(dataset, resource):
            wanted = distributions.own_iri(subject, resource)
            name = taken.first(wanted, minted(dataset.source, dataset.id, resource.id, str(position)))
            about.say(subject, DCAT + "distribution", about.node(name, DCAT + "Distribution"))
            distributions.distribution(about, name, dataset, resource)
    return about.graph, subject


def _texts(about: Nodes, subject: str, dataset: Dataset) -> None:
    title = literal(dataset.title) or literal(dataset.name) or literal(dataset.id) or literal(subject)
    about.say(subject, DCT + "title", title)
    about.say(subject, DCT + "description", literal(dataset.description) or title)
    about.say(subject, DCT + "identifier", literal(dataset.identifier) or literal(dataset.id))
    about.say(subject, DCAT + "version", literal(dataset.version))
    about.say(subject, DCAT + "keyword", *map(literal, dataset.keywords))
    about.say(subject, DCT + "issued", moment(dataset.issued))
    about.say(subject, DCT + "modified", moment(dataset.modified))
    about.say(subject, RDFS + "comment", literal(dataset.caveats))
    if page := iri(dataset.landing_page):
        about.say(subject, DCAT + "landingPage", about.node(page, FOAF + "Document"))


def _agents(about: Nodes, subject: str, dataset: Dataset) -> None:
    """Add the agents; further publishers become contributors, since DCAT-AP allows only one."""
    if dataset.publisher:
        about.say(subject, DCT + "publisher", nodes.agent(about, dataset.publisher))
    for one in dataset.contacts:
        if one.role in _CONTACTS:
            about.say(subject, DCAT + "contactPoint", nodes.contact(about, one))
        elif one != dataset.publisher:
            about.say(subject, _ROLES.get(one.role or "", DCT + "contributor"), nodes.agent(about, one))


def _vocabularies(about: Nodes, subject: str, dataset: Dataset) -> None:
    for theme in dataset.themes:
        about.say(subject, *nodes.theme(about, theme))
    nodes.languages(about, subject, dataset.languages)
    nodes.standards(about, subject, dataset.conforms_to)
    if dataset.frequency:
        frequency = about.node(iri(vocabularies.frequency(dataset.frequency)), DCT + "Frequency")
        about.say(subject, DCT + "accrualPeriodicity", frequency)
    if dataset.license:
        about.say(subject, DCT + "license", nodes.license(about, dataset.license))
    if dataset.access_rights:
        about.say(subject, DCT + "accessRights", nodes.rights(about, dataset.access_rights))
    if dataset.rights:
        about.say(subject, DCT + "rights", nodes.rights(about, dataset.rights))
    if dataset.provenance:
        about.say(subject, DCT + "provenance", nodes.labelled(about, dataset.provenance, DCT + "ProvenanceStatement"))


def _coverage(about: Nodes, subject: str, dataset: Dataset) -> None:
    for place in dataset.spatial:
        about.say(subject, DCT + "spatial", nodes.place(about, place))
    if dataset.temporal:
        about.say(subject, DCT + "temporal", nodes.period(about, dataset.temporal))
