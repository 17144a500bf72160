"""A value as a profile asks for it: a literal of a datatype, a node of a class, an IRI of an authority's table."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from crawlers.records import values
from crawlers.records.formats import AUTHORITY, eu_file_type, media_type
from crawlers.records.languages import language
from crawlers.records.periods import frequency
from crawlers.records.rdf.terms import (
    DCT,
    FOAF,
    GEO,
    RDF,
    RDFS,
    SCHEMA,
    SCHEMA_HTTPS,
    SKOS,
    TYPE,
    VCARD,
    XSD,
    Literal,
    Term,
    is_blank,
)
from crawlers.store.export import vocabularies
from crawlers.store.export.iris import iri
from crawlers.store.export.nodes import moment

if TYPE_CHECKING:
    from collections.abc import Callable

    from crawlers.records.rdf.terms import Graph

NAMES = (
    *(FOAF + "name", VCARD + "fn", SKOS + "prefLabel", RDFS + "label", DCT + "title", SCHEMA + "name"),
    *(SCHEMA_HTTPS + "name", VCARD + "organization-name", VCARD + "organisation-name"),
)
LABELS = (*NAMES, SKOS + "notation", DCT + "identifier", RDF + "value", DCT + "description")
_SHAPES = {
    GEO + "asWKT": GEO + "wktLiteral",
    GEO + "asGeoJSON": GEO + "geoJSONLiteral",
    GEO + "asGML": GEO + "gmlLiteral",
}
_NAMES = {
    FOAF + "Agent": FOAF + "name",
    VCARD + "Kind": VCARD + "fn",
    SKOS + "Concept": SKOS + "prefLabel",
    DCT + "Location": SKOS + "prefLabel",
    DCT + "LicenseDocument": DCT + "title",
    FOAF + "Document": DCT + "title",
}
_DURATION = re.compile(
    r"-?P(?=[0-9T])(?:[0-9]+Y)?(?:[0-9]+M)?(?:[0-9]+D)?"
    r"(?:T(?=[0-9])(?:[0-9]+H)?(?:[0-9]+M)?(?:[0-9]+(?:\.[0-9]+)?S)?)?"
)
_DECIMAL = re.compile(r"[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)")
_COUNT = re.compile(r"([0-9]{1,18})(?:\.0*)?")
_HEX = re.compile(r"(?:[0-9A-Fa-f]{2})+")
_MAILBOX = re.compile(r"[^\s@<>]+@[^\s@<>]+")
_SPACE = re.compile(r"\s")


def name_of(kind: str) -> str:
    """Return the property that names a node of a class."""
    return _NAMES.get(kind, RDFS + "label")


def label(nodes: Graph, term: Term) -> str | None:
    """Return what a literal says, or what a node is called."""
    if isinstance(term, Literal):
        return term.value
    node = nodes.get(term, {})
    found = (each.value for name in LABELS for each in node.get(name, ()) if isinstance(each, Literal))
    return next(found, None)


def names(nodes: Graph, subject: str) -> list[Literal]:
    """Return what a node is called, in all languages, by the first property that says it."""
    said = ([each for each in nodes.get(subject, {}).get(name, ()) if isinstance(each, Literal)] for name in NAMES)
    return next((found for found in said if any(each.value.strip() for each in found)), [])


def only_name(nodes: Graph, subject: str) -> str | None:
    """Return a node's name if the node says nothing else, besides its class."""
    said = [each for name, found in nodes.get(subject, {}).items() if name != TYPE for each in found]
    called = names(nodes, subject)
    return called[0].value if len(said) == 1 and said == called else None


def literal_as(kind: str, nodes: Graph, term: Term) -> Literal | None:
    """Return a value as a literal of a kind; ``None`` if it is none.

    >>> literal_as("count", {}, Literal("1024.0")), literal_as("moment", {}, Literal("soon"))
    (Literal(value='1024', language=None, datatype='http://www.w3.org/2001/XMLSchema#nonNegativeInteger'), None)
    """
    if kind == "shape":
        return _shape(nodes, term)
    if kind == "word" and isinstance(term, str):
        return None
    is_name = kind == "literal" and isinstance(term, str) and not is_blank(term)
    text = term.value if isinstance(term, Literal) else label(nodes, term) or (term if is_name else None)
    if text is None:
        return None
    return _LITERALS[kind](term if isinstance(term, Literal) else Literal(text), text.strip())


def _typed(pattern: re.Pattern[str], datatype: str, group: int = 0) -> Callable[[Literal, str], Literal | None]:
    def read(_: Literal, text: str) -> Literal | None:
        found = pattern.fullmatch(text)
        return Literal(found[group], None, XSD + datatype) if found else None

    return read


def _moment(_: Literal, text: str) -> Literal | None:
    return moment(text) or moment(values.xsd_date(text))


_LITERALS: dict[str, Callable[[Literal, str], Literal | None]] = {
    "literal": lambda term, text: term if text else None,
    "string": lambda term, text: Literal(term.value) if text else None,
    "word": lambda term, text: Literal(term.value, term.language) if text else None,
    "text": lambda term, text: Literal(term.value, term.language) if text else None,
    "moment": _moment,
    "decimal": _typed(_DECIMAL, "decimal"),
    "duration": _typed(_DURATION, "duration"),
    "count": _typed(_COUNT, "nonNegativeInteger", 1),
    "hex": _typed(_HEX, "hexBinary"),
}


def _shape(nodes: Graph, term: Term) -> Literal | None:
    """Return a geometry's text, which may have a node to itself; ``None`` if that has other notations, too."""
    if isinstance(term, Literal):
        return term
    node = nodes.get(term, {})
    written = [(name, each) for name, values in node.items() if name != TYPE for each in values]
    name, each = written[0] if len(written) == 1 else ("", "")
    if isinstance(each, Literal) and name in _SHAPES:
        return Literal(each.value, None, each.datatype or _SHAPES[name])
    return None


def mailbox(text: str) -> str | None:
    """Return a mail address as an IRI.

    >>> mailbox("ana@example.org"), mailbox("mailto: ana@example.org"), mailbox("ask us")
    ('mailto:ana@example.org', 'mailto:ana@example.org', None)
    """
    written = text.strip()
    written = written[7:].strip() if written[:7].lower() == "mailto:" else written
    return iri(f"mailto:{written}") if _MAILBOX.fullmatch(written) else None


def authority_iri(kind: str, text: str) -> str | None:
    """Return the IRI that an authority's table has for a text or for another table's IRI.

    >>> authority_iri(DCT + "Frequency", "http://purl.org/cld/freq/daily")
    'http://publications.europa.eu/resource/authority/frequency/DAILY'
    >>> authority_iri(DCT + "MediaTypeOrExtent", "csv"), authority_iri(DCT + "MediaTypeOrExtent", "text/csv")
    ('http://publications.europa.eu/resource/authority/file-type/CSV', 'https://www.iana.org/assignments/media-types/text/csv')
    """
    read = _TABLES.get(kind)
    return read(text.strip()) if read else None


def _frequency(text: str) -> str | None:
    code = frequency(text)
    return vocabularies.frequency(code) if code else None


def _language(text: str) -> str | None:
    tag = None if _SPACE.search(text) else language(text)
    return vocabularies.language(tag) if tag and "-" not in tag else None  # the EU's table has no regions


def _file_type(text: str) -> str | None:
    if named := media_type(text):
        return vocabularies.media_type(named)
    known = eu_file_type(text.removeprefix(AUTHORITY))
    return known.iri if known else None


def _media_type(text: str) -> str | None:
    known = media_type(text) or ((found := eu_file_type(text.removeprefix(AUTHORITY))) and found.media_type)
    return vocabularies.media_type(known) if known else None


_TABLES: dict[str, Callable[[str], str | None]] = {
    DCT + "Frequency": _frequency,
    DCT + "LinguisticSystem": _language,
    DCT + "MediaTypeOrExtent": _file_type,
    DCT + "MediaType": _media_type,
    DCT + "RightsStatement": vocabularies.access_right,
    DCT + "LicenseDocument": vocabularies.license,
}


def address(text: str, *, is_only: bool = False) -> str | None:
    """Return a text that is an address as an IRI.

    Args:
        is_only: whether nothing but an address stands there; it may have blanks.
    """
    first, *more = _SPACE.split(text.strip())
    return iri(text) if "://" in first and (is_only or not more) else None
