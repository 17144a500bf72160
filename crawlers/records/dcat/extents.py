"""The places that a dataset is about."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from crawlers.items import Dataset, Period, Place
from crawlers.records import places
from crawlers.records.dcat.description import label, languages_first, properties
from crawlers.records.geometries import DCAT_US_SIDES, frozen, geometry, is_unmistakable
from crawlers.records.periods import any_period, between, envelope, is_reversed, until
from crawlers.records.rdf.terms import (
    DCAT,
    DCAT_US,
    DCT,
    GEO,
    LOCN,
    RDF,
    RDFS,
    SCHEMA,
    SCHEMA_HTTPS,
    TIME,
    Literal,
    is_blank,
)
from crawlers.records.values import xsd_date

if TYPE_CHECKING:
    from collections.abc import Iterator

    from crawlers.records.dcat.description import Description
    from crawlers.records.rdf.terms import Graph, Node, Term


_WGS84 = "http://www.w3.org/2003/01/geo/wgs84_pos#"
_NAMES = properties(Place, "name")
_BOX = DCAT_US + "geographicBoundingBox"
_UNITS = (LOCN + "adminUnitL2", LOCN + "adminUnitL1")
_SHAPES = (
    *properties(Place, "geometry"),
    _BOX,
    *(GEO + name for name in ("hasGeometry", "defaultGeometry", "hasDefaultGeometry", "hasBoundingBox", "hasCentroid")),
)
_WRITTEN = frozenset((*_SHAPES, *(GEO + name for name in ("asWKT", "asGML", "asGeoJSON"))))
"""What leads to the text of a shape, and to nothing else."""
_VALUE = RDF + "value"
_ROUGH = (DCAT + "bbox", DCAT + "centroid", GEO + "hasBoundingBox", GEO + "hasCentroid", _BOX)
"""What counts where there is no shape more exact."""
_WORDS = {
    **{schema + name: name for schema in (SCHEMA, SCHEMA_HTTPS) for name in ("box", "polygon", "line", "circle")},
    **{schema + name: name for schema in (SCHEMA, SCHEMA_HTTPS) for name in ("latitude", "longitude")},
    _WGS84 + "lat": "latitude",
    _WGS84 + "long": "longitude",
    **{DCAT_US + name: name for name in DCAT_US_SIDES},
}
_CODES = re.compile(r"\s*+[0-9]++(?:[\s,;]++[0-9]++)?+\s*+")
"""One or two whole numbers, which may be codes: no shape, if nothing else says that they are one."""
_DEEPEST = 2  # Location, schema:geo, GeoShape


def spatial(node: Description, *names: str) -> list[Place]:
    """Return places sorted by name, for RDF has no order, each once.

    All polygons of a place, whatever predicate has them and in whatever notation, are one geometry; see
    `crawlers.records.geometries.geometry`. Of names in several languages one is taken.
    """
    values = [value for name in names for value in node.fields[name]]
    if len(values) > 1:
        values = _in_one_language(values, node.language)
    written = [value.value for value in values if isinstance(value, Literal)]
    found = [place for value in values if isinstance(value, str) and (place := _described(node.at(value)))]
    found += places.places_of(node, [("spatial", text) for text in sorted(written)])
    return _in_order(found) if len(found) > 1 else found


def _in_order(found: list[Place]) -> list[Place]:
    unique = {_key(place): place for place in sorted(found, key=repr, reverse=True)}
    return [unique[key] for key in sorted(unique)]


def _key(place: Place) -> tuple[bool, str, str, str]:
    shape = place.geometry
    written = f"{shape['type']} {frozen(shape['coordinates'])}" if shape else ""
    return not place.name, place.name or "", place.uri or "", written


def _in_one_language(values: list[Term], language: str | None) -> list[Term]:
    """Return the values with names in one language: a name in twenty languages is one place."""
    tagged = languages_first((each for each in values if isinstance(each, Literal) and each.language), language)
    chosen = tagged[0].language if tagged else None
    return [each for each in values if not isinstance(each, Literal) or each.language in (None, chosen)]


def _described(node: Description) -> Place | None:
    """Return the place of an IRI or a blank node."""
    uri, fields = node.iri, node.fields
    place = Place(name=label(fields, _NAMES, node.language), code=places.country(uri), uri=uri or _unit(fields))
    if fields:
        rough = {name: fields[name] for name in _ROUGH if name in fields}
        exact = [*_shapes(node.nodes, {name: each for name, each in fields.items() if name not in rough}, _DEEPEST)]
        shapes = [*exact, *_shapes(node.nodes, rough, _DEEPEST)]
        place.geometry = geometry(*(shape for _, shape in exact)) or geometry(*(shape for _, shape in shapes))
        if not place.geometry and (meant := [shape for is_meant, shape in shapes if is_meant]):
            places.note(node, "spatial", min(meant, key=str))
    return place if place.name or place.uri or place.geometry else None


def _unit(node: Node) -> str | None:
    units = (each for predicate in _UNITS for each in node.get(predicate, ()))
    return min((each for each in units if isinstance(each, str) and not is_blank(each)), default=None)


def _shapes(
    description: Graph, node: Node, depth: int, read: dict[str, int] | None = None
) -> Iterator[tuple[bool, Any]]:
    """Yield what may be a shape, and whether it must be one: also that of a node which belongs to it.

    Args:
        read: the nodes that were read, each with how deep: hostile ones have each other many times.
    """
    read = {} if read is None else read
    words: dict[str, str] = {}
    for predicate, values in node.items():
        if word := _WORDS.get(predicate):
            if written := label(node, (predicate,)):
                words[word] = written
            continue
        for value in values if predicate not in _NAMES else ():
            if isinstance(value, Literal):
                is_meant = predicate in _WRITTEN or (value.datatype or "").startswith(GEO)
                is_stated = is_meant or (predicate == _VALUE and not _CODES.fullmatch(value.value))
                if value.value.strip() and (is_stated or is_unmistakable(value.value)):
                    yield is_meant, value.value
            elif depth > read.get(value, 0) and predicate in _SHAPES and value in description:
                read[value] = depth
                yield from _shapes(description, description[value], depth - 1, read)
    if words:
        yield True, words


_TEMPORAL = properties(Dataset, "temporal")
_STARTS, _ENDS = properties(Period, "start"), properties(Period, "end")
_INSTANTS = tuple(
    TIME + name for name in ("inXSDDateTimeStamp", "inXSDDateTime", "inXSDDate", "inXSDgYearMonth", "inXSDgYear")
)
_TIME_WORDS = (RDF + "value", RDFS + "label", DCT + "title")

_CALENDAR = re.compile(r"https?://reference\.data\.gov\.uk/id/(?:gregorian-)?(year|month|day|interval|instant)/(\S+)")
_PRECISIONS = {"year": 4, "month": 7, "day": 10}


def temporal(description: Graph, node: Node) -> Period | None:
    """Return the period from the start of the first one to the end of the last, open where one is open.

    An IRI is looked up in the description and never fetched; of those of reference.data.gov.uk the name tells the
    period. A period that ends before it starts is none.

    >>> temporal({}, {DCT + "temporal": [Literal("2016-01/2016-12-05")]})
    Period(start='2016-01', end='2016-12-05')
    >>> node = {"http://schema.org/startDate": [Literal("2016-01-01T00:00:00")]}
    >>> temporal({"_:a": node}, {DCT + "temporal": ["_:a"]})
    Period(start='2016-01-01T00:00:00Z', end=None)
    >>> temporal({}, {DCT + "temporal": ["http://reference.data.gov.uk/id/year/2012", Literal("2014")]})
    Period(start='2012', end='2014')
    """
    found = [
        each
        for predicate in _TEMPORAL
        if predicate in node
        for value in node[predicate]
        if (each := _period(description, value)) and not is_reversed(each)
    ]
    if len(found) < 2:
        return found[0] if found else None
    joined = envelope(found)
    return between(joined.start, joined.end)


def _period(description: Graph, value: Term) -> Period | None:
    if isinstance(value, Literal):
        return any_period(value.value)
    node = description.get(value)
    return (_described_period(description, node) if node else None) or _named(value)


def _described_period(description: Graph, node: Node) -> Period | None:
    found = between(
        min(_moments(description, node, _STARTS), default=None),
        max(_moments(description, node, _ENDS), default=None, key=until),
    )
    if found:
        return found
    if moment := min(_moments({}, node, _INSTANTS), default=None):
        return Period(start=moment, end=moment)
    words = sorted(each.value for name in _TIME_WORDS for each in node.get(name, ()) if isinstance(each, Literal))
    return next((each for word in words if (each := any_period(word))), None)


def _moments(description: Graph, node: Node, predicates: tuple[str, ...]) -> list[str]:
    for predicate in predicates:
        if predicate in node:
            found = [each for value in node[predicate] if (each := _moment(description, value))]
            if found:
                return found
    return []


def _moment(description: Graph, value: Term) -> str | None:
    """Return a date, or that of an instant of OWL-Time."""
    if isinstance(value, Literal):
        return xsd_date(value.value)
    node = description.get(value)
    if node and (found := min(_moments({}, node, _INSTANTS), default=None)):
        return found
    named = _named(value)
    return named.start if named else None


def _named(iri: str) -> Period | None:
    """Return the period that its IRI tells.

    >>> _named("http://reference.data.gov.uk/id/gregorian-interval/2012-04-01T00:00:00/P3M")
    Period(start='2012-04-01', end='2012-06-30')
    >>> _named("http://reference.data.gov.uk/id/month/2012-03"), _named("http://example.org/2012")
    (Period(start='2012-03', end='2012-03'), None)
    """
    found = _CALENDAR.fullmatch(iri)
    if not found:
        return None
    unit, name = found.groups()
    if unit == "interval":
        return any_period(name)
    moment = xsd_date(name) if len(name) == _PRECISIONS.get(unit, len(name)) else None
    return between(moment, moment)
