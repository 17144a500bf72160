"""The nodes about a dataset: agents, places, periods, licences ..., each with the class that DCAT-AP requires."""

from __future__ import annotations

from typing import TYPE_CHECKING

from crawlers.records.licenses import license as license_of
from crawlers.records.rdf.authorities import authority
from crawlers.records.rdf.terms import (
    DCAT,
    DCT,
    FOAF,
    GEO,
    LOCN,
    OWL,
    PROV,
    RDFS,
    SKOS,
    SPDX,
    TYPE,
    VCARD,
    XSD,
    Graph,
    Literal,
    Term,
)
from crawlers.store.export import vocabularies
from crawlers.store.export.iris import iri, minted
from crawlers.store.export.literals import literal, moment
from crawlers.store.export.wkt import wkt

if TYPE_CHECKING:
    from crawlers.items import Agent, Checksum, License, Period, Place


_ROLES = "http://inspire.ec.europa.eu/metadata-codelist/ResponsiblePartyRole/"
_INSPIRE = {
    *("author", "custodian", "distributor", "originator", "owner", "pointOfContact", "principalInvestigator"),
    *("processor", "publisher", "resourceProvider", "user"),
}


class Nodes:
    """A small graph that is being written."""

    def __init__(self) -> None:
        self.graph: Graph = {}
        self.blanks = 0
        self.parties: dict[str, tuple[str | None, ...]] = {}
        """What is said of each agent with an IRI."""

    def say(self, subject: str, predicate: str, *values: Term | None) -> None:
        """Add the values that are not ``None``, each once; many at once take a time in proportion."""
        properties = self.graph.setdefault(subject, {})
        held = dict.fromkeys((*properties.get(predicate, ()), *(value for value in values if value is not None)))
        if held:
            properties[predicate] = list(held)

    def blank(self) -> str:
        """Return a name for a blank node."""
        self.blanks += 1
        return f"_:n{self.blanks}"

    def node(self, name: str | None, kind: str) -> str:
        """Add a node of a class, blank if it has no name; return its name."""
        subject = name or self.blank()
        self.say(subject, TYPE, kind)
        return subject


def labelled(about: Nodes, text: str, kind: str) -> str | None:
    """Add a node for a text: with that IRI if it is one, else blank with the text as label."""
    is_address = ("://" in text or text.startswith("urn:")) and " " not in text.strip()
    if is_address and (name := iri(text)):
        return about.node(name, kind)
    label = literal(text)
    if not label:
        return None
    node = about.node(None, kind)
    about.say(node, RDFS + "label", label)
    return node


def _party(about: Nodes, value: Agent, kind: str) -> str:
    """Add the node of an agent: its IRI's, or a blank one if another agent of the dataset has that IRI."""
    name, said = iri(value.uri), (value.name, value.email, value.url)
    if not name or about.parties.setdefault(name, said) == said:
        return about.node(name, kind)
    node = about.node(None, kind)
    about.say(node, OWL + "sameAs", name)
    return node


def agent(about: Nodes, value: Agent) -> str:
    node = _party(about, value, FOAF + "Agent")
    about.say(node, FOAF + "name", literal(value.name))
    about.say(node, FOAF + "mbox", _mailto(value.email))
    about.say(node, FOAF + "homepage", iri(value.url))
    return node


def named_agent(about: Nodes, name: str) -> str:
    """Add an agent of whom the name alone is known."""
    node = about.node(None, FOAF + "Agent")
    about.say(node, FOAF + "name", literal(name))
    return node


def contact(about: Nodes, value: Agent) -> str:
    node = _party(about, value, VCARD + "Kind")
    about.say(node, VCARD + "fn", literal(value.name))
    about.say(node, VCARD + "hasEmail", _mailto(value.email))
    about.say(node, VCARD + "hasURL", iri(value.url))
    return node


def attribution(about: Nodes, value: Agent) -> str:
    """Add an agent with a role that no property has: by INSPIRE's IRI if its table has the role, else in words."""
    node = about.node(None, PROV + "Attribution")
    about.say(node, PROV + "agent", agent(about, value))
    about.say(node, DCAT + "hadRole", _ROLES + value.role if value.role in _INSPIRE else role(about, value.role))
    return node


def role(about: Nodes, text: str | None) -> str | None:
    """Add a role in words: an item does not have the address that its source may have had for it."""
    return labelled(about, text, DCAT + "Role") if text else None


def _mailto(email: str | None) -> str | None:
    return iri(f"mailto:{email}") if email and "@" in email else None


def theme(about: Nodes, text: str) -> str | None:
    """Return the theme of a label or an IRI: the EU's, its own, else one whose IRI is made of the label."""
    if known := vocabularies.theme(text):
        node = about.node(known, SKOS + "Concept")
        about.say(node, SKOS + "prefLabel", Literal(str(authority(known)[0]), "en"))
        return node
    if "://" in text and (name := iri(text)):
        return name
    if not (label := literal(text)):
        return None
    node = about.node(minted("theme", label.value), SKOS + "Concept")
    about.say(node, SKOS + "prefLabel", label)
    return node


def access_rights(about: Nodes, text: str) -> str | None:
    return labelled(about, vocabularies.access_right(text) or text, DCT + "RightsStatement")


def language(about: Nodes, tag: str) -> str | None:
    """Return the EU's language; that of a region, which it has not, is a node with the tag."""
    known = None if "-" in tag else vocabularies.language(tag)
    return labelled(about, known or tag, DCT + "LinguisticSystem")


def license(about: Nodes, value: License) -> str:  # noqa: A001
    node = about.node(iri(value.uri) or vocabularies.license(value.id), DCT + "LicenseDocument")
    about.say(node, DCT + "title", literal(value.title))
    by_address = license_of(None, value.uri)
    about.say(node, DCT + "identifier", literal(value.id) if not by_address or by_address.id != value.id else None)
    about.say(node, DCT + "description", literal(value.text))
    return node


def checksum(about: Nodes, value: Checksum) -> str | None:
    """Add a checksum; return ``None`` if SPDX does not know its algorithm."""
    algorithm = vocabularies.algorithm(value.algorithm)
    if not algorithm:
        return None
    node = about.node(None, SPDX + "Checksum")
    about.say(node, SPDX + "algorithm", about.node(algorithm, SPDX + "ChecksumAlgorithm"))
    about.say(node, SPDX + "checksumValue", literal(value.value, XSD + "hexBinary"))
    return node


def place(about: Nodes, value: Place) -> str:
    name = iri(value.uri) or (vocabularies.country(value.code) if value.code else None)
    node = about.node(name, DCT + "Location")
    about.say(node, SKOS + "prefLabel", literal(value.name))
    if value.geometry:
        about.say(node, LOCN + "geometry", Literal(wkt(value.geometry), datatype=GEO + "wktLiteral"))
    return node


def period(about: Nodes, value: Period) -> str | None:
    start, end = moment(value.start), moment(value.end)
    if not start and not end:
        return None
    node = about.node(None, DCT + "PeriodOfTime")
    about.say(node, DCAT + "startDate", start)
    about.say(node, DCAT + "endDate", end)
    return node
