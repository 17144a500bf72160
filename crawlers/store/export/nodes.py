"""What descriptions are made of: IRIs and texts that any parser accepts, and nodes with the classes of DCAT-AP.

A node is an agent, a place, a period, a licence ...; one without an IRI gets a generated one, or is blank.
"""

from __future__ import annotations

import re
import sqlite3
from typing import TYPE_CHECKING, Any, Self
from urllib.parse import quote
from uuid import NAMESPACE_URL, uuid5

from pyoxigraph import NamedNode

from crawlers.exceptions import ExportError
from crawlers.records import values
from crawlers.records.formats import eu_file_type
from crawlers.records.licenses import license as license_of
from crawlers.records.rdf.authorities import authority
from crawlers.records.rdf.dcat_context import NAMES
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
from crawlers.safety import sqlite
from crawlers.store.export import vocabularies

if TYPE_CHECKING:
    from crawlers.items import Agent, Checksum, License, Period, Place

_UNFIT = re.compile('[\x00-\x20\x7f-\xa0<>"{}|\\\\^`\ud800-\udfff\ufdd0-\ufdef\ufff0-\uffff]|%(?![0-9A-Fa-f]{2})')


def iri(text: str | None) -> str | None:
    """Return a text as an absolute IRI with invalid characters percent-encoded; ``None`` if it is not one.

    A text that begins with a prefix of the exports is refused too: JSON-LD would take ``dct:a`` for a property.

    >>> iri("http://a.org/50%/{x} y"), iri("http://a.org/é")
    ('http://a.org/50%25/%7Bx%7D%20y', 'http://a.org/é')
    >>> iri("http://[a/"), iri("data/1"), iri("dct:a"), iri(None)
    (None, None, None, None)
    """
    written = _UNFIT.sub(lambda found: quote(found[0], safe="", errors="replace"), (text or "").strip())
    before, sharp, fragment = written.partition("#")
    written = before + sharp + fragment.replace("#", "%23")
    try:
        NamedNode(written)
    except ValueError:
        return None
    return None if before.partition(":")[0] in NAMES else written


def minted(*names: str) -> str:
    """Return the IRI of a node that has none of its own; it is the same in every export.

    >>> minted("hdx", "a") == minted("hdx", "a") != minted("hd", "xa")
    True
    """
    return uuid5(NAMESPACE_URL, "\n".join(names).encode(errors="replace").decode()).urn


_SCHEMA = """
CREATE TABLE taken (iri TEXT PRIMARY KEY, owner TEXT) WITHOUT ROWID;
CREATE TABLE described (what TEXT PRIMARY KEY, said TEXT, owner TEXT) WITHOUT ROWID;
"""


class Taken:
    """The IRIs that an export uses, in a file: two datasets with the same IRI would become one."""

    def __init__(self) -> None:
        self.db = sqlite.temporary(_SCHEMA)

    def __enter__(self) -> Self:
        self.db.execute("BEGIN")
        return self

    def __exit__(self, *_: object) -> None:
        self.db.close()

    def first(self, wanted: str | None, otherwise: str, owner: str | None = None) -> str:
        """Return the wanted IRI unless it is in use; else the other.

        Args:
            owner: who may use an IRI several times: a source that says that two datasets have one file.
        """
        if wanted and (self.take(wanted, owner) or self._is_owners(wanted, owner)):
            return wanted
        self.take(otherwise, owner)
        return otherwise

    def take(self, name: str, owner: str | None = None) -> bool:
        """Return whether a name was free; it is in use then."""
        return self._is_new("INSERT OR IGNORE INTO taken VALUES (?, ?)", name, owner)

    def _is_owners(self, name: str, owner: str | None) -> bool:
        found = self.db.execute("SELECT owner FROM taken WHERE iri = ?", (name,)).fetchone()
        return bool(owner) and found == (owner,)

    def has(self, name: str) -> bool:
        return self.db.execute("SELECT 1 FROM taken WHERE iri = ?", (name,)).fetchone() is not None

    def agrees(self, what: str, said: str, owner: str | None) -> bool:
        """Return whether what is said of something is what was said of it first.

        Args:
            owner: who may say several things of it: a source whose datasets have one graph.
        """
        self._is_new("INSERT OR IGNORE INTO described VALUES (?, ?, ?)", what, said, owner)
        first = self.db.execute("SELECT said, owner FROM described WHERE what = ?", (what,)).fetchone()
        return first[0] == said or (bool(owner) and first[1] == owner)

    def _is_new(self, statement: str, *values: str | None) -> bool:
        try:
            return self.db.execute(statement, values).rowcount == 1
        except sqlite3.OperationalError as error:
            raise ExportError(f"a temporary file can't be written: {error}.") from None


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
    return labelled(about, values.access_right(text) or text, DCT + "RightsStatement")


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


def format(about: Nodes, text: str) -> str | None:  # noqa: A001
    """Add a node for a format: of the EU's file types, else with its label."""
    known, kind = eu_file_type(text), DCT + "MediaTypeOrExtent"
    return about.node(known.iri, kind) if known else labelled(about, text, kind)


def media_type(about: Nodes, text: str) -> str | None:
    """Add a node for a media type that IANA has."""
    name = iri(vocabularies.media_type(text))
    return about.node(name, DCT + "MediaType") if name else None
