"""The places that a dataset is about."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from crawlers.items import Dataset, Place
from crawlers.kinds.dcat.mapping.description import properties
from crawlers.kinds.dcat.mapping.translations import label, languages_first
from crawlers.rdf.namespaces import DCAT, DCT, GEO, LOCN, RDFS, SCHEMA, SCHEMA_HTTPS, SKOS
from crawlers.rdf.terms import Literal, is_blank
from crawlers.values import places

if TYPE_CHECKING:
    from collections.abc import Iterator

    from crawlers.rdf.terms import Graph, Node, Term

_WGS84 = "http://www.w3.org/2003/01/geo/wgs84_pos#"
_SPATIAL = properties(Dataset, "spatial")
_NAMES = (
    *(SKOS + "prefLabel", RDFS + "label", LOCN + "geographicName", DCT + "title"),
    *(SCHEMA + "name", SCHEMA_HTTPS + "name"),
)
_UNITS = (LOCN + "adminUnitL2", LOCN + "adminUnitL1")
_SHAPES = (
    *(LOCN + "geometry", DCAT + "bbox", DCAT + "centroid", SCHEMA + "geo", SCHEMA_HTTPS + "geo"),
    *(GEO + name for name in ("hasGeometry", "defaultGeometry", "hasDefaultGeometry", "hasBoundingBox", "hasCentroid")),
)
_LATITUDES = (_WGS84 + "lat", SCHEMA + "latitude", SCHEMA_HTTPS + "latitude")
_LONGITUDES = (_WGS84 + "long", SCHEMA + "longitude", SCHEMA_HTTPS + "longitude")
_CORNERS = (SCHEMA + "box", SCHEMA_HTTPS + "box")

_DEEPEST = 2  # Location, schema:geo, GeoShape
_NUMBER = re.compile(r"[-+]?(?:[0-9]++(?:\.[0-9]*+)?|\.[0-9]++)(?:[eE][-+]?[0-9]++)?+(?![0-9A-Za-z.])")
_LONGEST_BOX = 1_000


def spatial(description: Graph, node: Node, language: str | None = None) -> list[Place]:
    """Return places sorted by name, for RDF has no order, each once.

    All polygons of a place, whatever predicate has them and in whatever notation, are one geometry; see
    `crawlers.values.places.outline`. Of names in several languages one is taken.

    >>> spatial({}, {DCT + "spatial": [Literal("Graz"), "http://sws.geonames.org/2778067/"]})
    [Place(name='Graz', ...), Place(..., uri='http://sws.geonames.org/2778067/', geometry=None)]
    >>> place = {LOCN + "geometry": [Literal("POINT(15.4 47.1)", None, GEO + "wktLiteral")]}
    >>> spatial({"_:a": place}, {DCT + "spatial": ["_:a"]})[0].geometry
    {'type': 'Point', 'coordinates': [15.4, 47.1]}
    """
    values = [value for predicate in _SPATIAL if predicate in node for value in node[predicate]]
    if len(values) > 1:
        values = _in_one_language(values, language)
    found = [place for value in values if (place := _place(description, value, language))]
    return _in_order(found) if len(found) > 1 else found


def _in_order(found: list[Place]) -> list[Place]:
    unique = {_key(place): place for place in sorted(found, key=repr, reverse=True)}
    return [unique[key] for key in sorted(unique)]


def _key(place: Place) -> tuple[bool, str, str, str]:
    shape = place.geometry
    written = f"{shape['type']} {places.frozen(shape['coordinates'])}" if shape else ""
    return not place.name, place.name or "", place.uri or "", written


def _in_one_language(values: list[Term], language: str | None) -> list[Term]:
    """Return the values with names in one language: a name in twenty languages is one place."""
    tagged = languages_first((each for each in values if isinstance(each, Literal) and each.language), language)
    chosen = tagged[0].language if tagged else None
    return [each for each in values if not isinstance(each, Literal) or each.language in (None, chosen)]


def _place(description: Graph, value: Term, language: str | None) -> Place | None:
    if isinstance(value, Literal):
        return places.any_place(value.value)
    node = description.get(value) or {}
    place = Place(name=label(node, _NAMES, language), code=places.country(value), uri=_uri(value, node))
    place.geometry = places.outline(*_shapes(description, node, _DEEPEST)) if node else None
    return place if place.name or place.uri or place.geometry else None


def _uri(iri: str, node: Node) -> str | None:
    if not is_blank(iri):
        return iri
    units = (each for predicate in _UNITS for each in node.get(predicate, ()))
    return min((each for each in units if isinstance(each, str) and not is_blank(each)), default=None)


def _shapes(description: Graph, node: Node, depth: int) -> Iterator[str]:
    """Yield what may be a shape: all literals but names, also those of geometries that have a node to themselves."""
    for predicate, values in node.items():
        for value in values if predicate not in _NAMES else ():
            if isinstance(value, Literal):
                yield value.value
            elif depth and predicate in _SHAPES and value in description:
                yield from _shapes(description, description[value], depth - 1)
    latitude, longitude = label(node, _LATITUDES), label(node, _LONGITUDES)
    if latitude and longitude:
        yield f"POINT({longitude} {latitude})"
    corners = _NUMBER.findall((label(node, _CORNERS) or "")[:_LONGEST_BOX])
    if len(corners) == 4:  # schema.org writes the south-west corner, then the north-east, latitude first
        south, west, north, east = corners
        yield f"{west},{south},{east},{north}"
