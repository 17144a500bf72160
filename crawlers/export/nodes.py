"""The nodes about a dataset: agents, places, periods, licences ..., each with the class that DCAT-AP asks for."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from crawlers.export import vocabularies
from crawlers.export.iris import iri
from crawlers.export.literals import literal, moment
from crawlers.export.wkt import wkt
from crawlers.mapping.dcat.authorities import authority
from crawlers.rdf.namespaces import DCAT, DCT, FOAF, GEO, LOCN, RDFS, SKOS, SPDX, TYPE, VCARD, XSD
from crawlers.rdf.terms import Graph, Literal, Term

if TYPE_CHECKING:
    from collections.abc import Iterable

    from crawlers.items import Agent, Checksum, License, Period, Place


class Nodes:
    """A small graph that is being written."""

    def __init__(self) -> None:
        self.graph: Graph = {}

    def say(self, subject: str, predicate: str, *values: Term | None) -> None:
        """Adds the values that are some, each once."""
        said = self.graph.setdefault(subject, {})
        for value in values:
            if value is not None and value not in said.setdefault(predicate, []):
                said[predicate].append(value)

    def node(self, name: str | None, kind: str) -> str:
        """A node of that class, blank when it has no name."""
        subject = name or f"_:n{len(self.graph)}"
        self.say(subject, TYPE, kind)
        return subject


def labelled(about: Nodes, text: str, kind: str) -> str | None:
    """What is an IRI or a text: a node with that IRI, or a blank one that is labelled so."""
    if "://" in text and " " not in text.strip() and (name := iri(text)):
        return about.node(name, kind)
    label = literal(text)
    if not label:
        return None
    node = about.node(None, kind)
    about.say(node, RDFS + "label", label)
    return node


def agent(about: Nodes, one: Agent) -> str:
    node = about.node(iri(one.uri), FOAF + "Agent")
    names = (one.name, one.email, one.url, one.uri, one.role)
    about.say(node, FOAF + "name", next(filter(None, map(literal, names)), Literal("?")))
    about.say(node, FOAF + "mbox", _mailto(one.email))
    about.say(node, FOAF + "homepage", iri(one.url))
    return node


def contact(about: Nodes, one: Agent) -> str:
    node = about.node(iri(one.uri), VCARD + "Kind")
    about.say(node, VCARD + "fn", literal(one.name) or literal(one.email))
    about.say(node, VCARD + "hasEmail", _mailto(one.email))
    about.say(node, VCARD + "hasURL", iri(one.url))
    return node


def _mailto(email: str | None) -> str | None:
    return iri(f"mailto:{email}") if email and "@" in email else None


def theme(about: Nodes, text: str) -> tuple[str, Term | None]:
    """The property and its value: ``dcat:theme`` for the EU's themes, ``dct:subject`` for others."""
    if known := vocabularies.theme(text):
        node = about.node(known, SKOS + "Concept")
        about.say(node, SKOS + "prefLabel", Literal(str(authority(known)[0]), "en"))
        return DCAT + "theme", node
    if "://" in text and (name := iri(text)):
        return DCT + "subject", name
    if not (label := literal(text)):
        return DCT + "subject", None
    node = about.node(None, SKOS + "Concept")
    about.say(node, SKOS + "prefLabel", label)
    return DCT + "subject", node


def languages(about: Nodes, subject: str, tags: Iterable[str]) -> None:
    for name in filter(None, map(vocabularies.language, tags)):
        about.say(subject, DCT + "language", about.node(name, DCT + "LinguisticSystem"))


def standards(about: Nodes, subject: str, texts: Iterable[str]) -> None:
    for text in texts:
        about.say(subject, DCT + "conformsTo", labelled(about, text, DCT + "Standard"))


def rights(about: Nodes, text: str) -> str | None:
    return labelled(about, vocabularies.access_right(text) or text, DCT + "RightsStatement")


def license(about: Nodes, one: License) -> str:  # noqa: A001
    node = about.node(iri(one.uri) or vocabularies.license(one.id), DCT + "LicenseDocument")
    about.say(node, DCT + "title", literal(one.title))
    about.say(node, DCT + "identifier", literal(one.id))
    about.say(node, DCT + "description", literal(one.text))
    return node


def checksum(about: Nodes, one: Checksum) -> str | None:
    """None when SPDX does not know its algorithm."""
    algorithm = vocabularies.algorithm(one.algorithm)
    if not algorithm:
        return None
    node = about.node(None, SPDX + "Checksum")
    about.say(node, SPDX + "algorithm", about.node(algorithm, SPDX + "ChecksumAlgorithm"))
    about.say(node, SPDX + "checksumValue", literal(one.value, XSD + "hexBinary"))
    return node


def place(about: Nodes, one: Place) -> str:
    name = iri(one.uri) or (vocabularies.country(one.code) if one.code else None)
    node = about.node(name, DCT + "Location")
    about.say(node, SKOS + "prefLabel", literal(one.name))
    if one.geometry:
        written = (
            Literal(json.dumps(one.geometry), datatype=GEO + "geoJSONLiteral"),
            Literal(wkt(one.geometry), datatype=GEO + "wktLiteral"),
        )
        about.say(node, LOCN + "geometry", *written)
    return node


def period(about: Nodes, one: Period) -> str | None:
    start, end = moment(one.start), moment(one.end)
    if not start and not end:
        return None
    node = about.node(None, DCT + "PeriodOfTime")
    about.say(node, DCAT + "startDate", start)
    about.say(node, DCAT + "endDate", end)
    return node
