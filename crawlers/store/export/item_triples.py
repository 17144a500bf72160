"""What a dataset's item says, in the properties of DCAT."""

from __future__ import annotations

from typing import TYPE_CHECKING

from crawlers.rdf.namespaces import DCAT, DCT, FOAF, GEODCATAP, RDFS
from crawlers.store.export import details, distributions, nodes, vocabularies
from crawlers.store.export.iris import iri, minted
from crawlers.store.export.literals import literal, moment
from crawlers.store.export.nodes import Nodes

if TYPE_CHECKING:
    from crawlers.items import Dataset
    from crawlers.store.export.iris import Taken

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


def item_triples(dataset: Dataset, subject: str) -> Nodes:
    """Return what a dataset's item says, without its files.

    Args:
        subject: what the dataset is called in the export.
    """
    about = Nodes()
    about.node(subject, DCAT + "Dataset")
    _texts(about, subject, dataset)
    _agents(about, subject, dataset)
    _vocabularies(about, subject, dataset)
    _coverage(about, subject, dataset)
    details.of_dataset(about, subject, dataset)
    return about


def files(about: Nodes, subject: str, dataset: Dataset, taken: Taken) -> None:
    """Add the files that an item has, each with an IRI that no other node of the export has."""
    names: list[str] = []
    for position, resource in enumerate(dataset.resources):
        if distributions.access_url(dataset, resource):
            wanted = distributions.own_iri(subject, resource)
            name = taken.first(wanted, minted(dataset.source, dataset.id, resource.id, str(position)))
            names.append(about.node(name, DCAT + "Distribution"))
            distributions.distribution(about, name, dataset, resource)
    about.say(subject, DCAT + "distribution", *names)


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
    found: dict[str, list[str]] = {}
    for one in dataset.contacts:
        if one.role in _CONTACTS:
            found.setdefault(DCAT + "contactPoint", []).append(nodes.contact(about, one))
        elif one != dataset.publisher:
            role = _ROLES.get(one.role or "", DCT + "contributor")
            found.setdefault(role, []).append(nodes.agent(about, one))
    for name, agents in found.items():
        about.say(subject, name, *agents)


def _vocabularies(about: Nodes, subject: str, dataset: Dataset) -> None:
    about.say(subject, DCAT + "theme", *[nodes.theme(about, theme) for theme in dataset.themes])
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
    about.say(subject, DCT + "spatial", *[nodes.place(about, place) for place in dataset.spatial])
    if dataset.temporal:
        about.say(subject, DCT + "temporal", nodes.period(about, dataset.temporal))
