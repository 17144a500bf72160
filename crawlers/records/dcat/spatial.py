"""The places that a dataset is about."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from crawlers.items import Place
from crawlers.records import places
from crawlers.records.dcat.description import properties
from crawlers.records.dcat.translations import label, languages_first
from crawlers.records.geometries import DCAT_US_SIDES, frozen, geometry, is_unmistakable
from crawlers.records.rdf.namespaces import DCAT, DCAT_US, GEO, LOCN, RDF, SCHEMA, SCHEMA_HTTPS
from crawlers.records.rdf.terms import Literal, is_blank

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


def _shapes(description: Graph, node: Node, depth: int) -> Iterator[tuple[bool, Any]]:
    """Yield what may be a shape, and whether it must be one: also that of a node which belongs to it."""
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
            elif depth and predicate in _SHAPES and value in description:
                yield from _shapes(description, description[value], depth - 1)
    if words:
        yield True, words
