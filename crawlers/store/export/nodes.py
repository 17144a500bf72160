"""The nodes about a dataset: agents, places, periods, licences ..., each with the class that DCAT-AP requires."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from crawlers.records.formats import eu_file_type
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

if TYPE_CHECKING:
    from crawlers.items import Agent, Checksum, License, Period, Place, Resource


_UNPRINTABLE = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\ud800-\udfff\ufffe\uffff]")  # XML can't hold these
_MOMENT = re.compile(
    r"[0-9]{4}(?P<month>-[0-9]{2}(?P<day>-[0-9]{2}"
    r"(?P<time>T[0-9]{2}:[0-9]{2}(?P<seconds>:[0-9]{2}(\.[0-9]+)?)?"
    r"(?P<zone>Z|[+-](?:(?:0[0-9]|1[0-3]):[0-5][0-9]|14:00)))?)?)?"
)


def plain(text: str | None) -> str | None:
    r"""Return a text without characters that XML cannot hold, with ``\n`` as line end; ``None`` if nothing is left.

    >>> plain("a\r\nb\x00"), plain("\x1b")
    ('a\nb', None)
    """
    if not text:
        return None
    return _UNPRINTABLE.sub("", text.replace("\r\n", "\n").replace("\r", "\n")).strip() or None


def printable(text: str) -> str:
    """Return a text without characters that XML cannot hold."""
    return _UNPRINTABLE.sub("", text)


def literal(text: str | None, datatype: str | None = None) -> Literal | None:
    written = plain(text)
    return Literal(written, datatype=datatype) if written else None


def moment(text: str | None) -> Literal | None:
    """Return a date or time with the datatype of its precision; ``None`` if it is neither.

    >>> [moment(text).datatype.partition("#")[2] for text in ("2020", "2020-03", "2020-03-01", "2020-03-01T10:00:00Z")]
    ['gYear', 'gYearMonth', 'date', 'dateTime']
    >>> moment("2020-03-01T10:00+02:00").value, moment("yesterday"), moment(None)
    ('2020-03-01T10:00:00+02:00', None, None)
    """
    found = _MOMENT.fullmatch(text or "")
    if not found:
        return None
    written, kind = found[0], "gYear"
    if found["time"]:
        zone = found["zone"]
        written, kind = written if found["seconds"] else written.removesuffix(zone) + ":00" + zone, "dateTime"
    elif found["month"]:
        kind = "date" if found["day"] else "gYearMonth"
    return Literal(written, datatype=XSD + kind)


def wkt(geometry: dict[str, Any]) -> str:
    """Return a GeoJSON geometry in well-known text, in two dimensions.

    >>> wkt({"type": "Point", "coordinates": [36.8, -1.3, 1795]})
    'POINT(36.8 -1.3)'
    >>> wkt({"type": "Polygon", "coordinates": [[[1, 2], [3, 2], [3, 4], [1, 2]]]})
    'POLYGON((1 2,3 2,3 4,1 2))'
    >>> wkt({"type": "GeometryCollection", "geometries": [{"type": "MultiPoint", "coordinates": [[1, 2], [3, 4]]}]})
    'GEOMETRYCOLLECTION(MULTIPOINT((1 2),(3 4)))'
    """
    name = geometry["type"].upper()
    if name == "GEOMETRYCOLLECTION":
        return f"{name}({','.join(map(wkt, geometry['geometries']))})"
    coordinates = geometry["coordinates"]
    if name == "MULTIPOINT":
        coordinates = [[one] for one in coordinates]
    return f"{name}({_position(coordinates)})" if name == "POINT" else f"{name}{_list(coordinates)}"


def _list(coordinates: list[Any]) -> str:
    parts = (_list(one) if isinstance(one[0], list) else _position(one) for one in coordinates)
    return f"({','.join(parts)})"


def _position(position: list[float]) -> str:
    return f"{position[0]} {position[1]}"


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
    return about.node(known.iri, kind) if known else labelled(about, text, kind)


def media_type(about: Nodes, text: str) -> str | None:
    """Add a node for a media type that IANA has."""
    name = iri(vocabularies.media_type(text))
    return about.node(name, DCT + "MediaType") if name else None
