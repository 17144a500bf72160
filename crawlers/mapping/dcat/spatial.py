"""The places that a dataset is about: names, IRIs and shapes, in the notations that catalogues use."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from crawlers.items import Place
from crawlers.mapping import places
from crawlers.mapping.dcat.choice import label, languages_first
from crawlers.mapping.record import parse
from crawlers.rdf.namespaces import DCAT, DCT, GEO, LOCN, RDFS, SCHEMA, SCHEMA_HTTPS, SKOS
from crawlers.rdf.terms import Literal, is_blank

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from crawlers.rdf.terms import Graph, Node, Term

Geometry = dict[str, Any]

_WGS84 = "http://www.w3.org/2003/01/geo/wgs84_pos#"
_SPATIAL = (DCT + "spatial", DCAT + "spatial", SCHEMA + "spatialCoverage", SCHEMA_HTTPS + "spatialCoverage")
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

_COUNTRY = re.compile(r"https?://publications\.europa\.eu/resource/authority/country/([A-Z]{3})")
_LONGEST_NAME = 1_000
_LONGEST = 1_500_000
_MOST_POSITIONS = 50_000
_DEEPEST = 2  # Location, schema:geo, GeoShape
_OFF = 1e-6  # rounding
_RANKS = ("MultiLineString", "LineString", "MultiPoint", "Point")

_NUMBER = r"[-+]?(?:[0-9]++(?:\.[0-9]*+)?|\.[0-9]++)(?:[eE][-+]?[0-9]++)?+"
_POSITION = re.compile(rf"(?<![0-9.eE+-])({_NUMBER})\s++({_NUMBER})(?:\s++{_NUMBER}){{0,2}}+(?=\s*+[,)])")
_NUMBERS = re.compile(rf"{_NUMBER}(?![0-9A-Za-z.])")
_WKT = re.compile(
    r"\s*+(?:<([^<>\s]*+)>|SRID=([0-9]{1,6});)?\s*+"
    r"((?:MULTI)?(?:POINT|LINESTRING|POLYGON)|ENVELOPE|BBOX|BOX)\s*+(?:ZM|Z|M)?\s*+(?=\()",
    re.IGNORECASE,
)
_KINDS = {
    kind.upper(): kind for kind in ("Point", "LineString", "Polygon", "MultiPoint", "MultiLineString", "MultiPolygon")
}
_DCMI = re.compile(r"\b(north|east|south|west)limit\s*=\s*([^;\s]+)", re.IGNORECASE)
_LONGITUDE_FIRST = re.compile(r".*[/:]CRS84h?|4326|4258|4269")
_LATITUDE_FIRST = re.compile(r".*EPSG[/:](?:[0-9.]*[/:])?(?:4326|4258|4269|4979)", re.IGNORECASE)


def spatial(description: Graph, node: Node, language: str | None = None) -> list[Place]:
    """Places in the order of their names, for RDF has none, each once.

    All polygons of a place, whatever predicate has them and in whatever notation, are one geometry; a point or a line
    counts where there is no polygon. Of names in several languages one is taken. Coordinates are WGS 84, longitude
    first; a shape with one that is not is dropped.

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
    written = f"{shape['type']} {_frozen(shape['coordinates'])}" if shape else ""
    return not place.name, place.name or "", place.uri or "", written


def _in_one_language(values: list[Term], language: str | None) -> list[Term]:
    """A name in twenty languages is one place."""
    tagged = languages_first((one for one in values if isinstance(one, Literal) and one.language), language)
    chosen = tagged[0].language if tagged else None
    return [one for one in values if not isinstance(one, Literal) or one.language in (None, chosen)]


def _place(description: Graph, value: Term, language: str | None) -> Place | None:
    if isinstance(value, Literal):
        return _written(value.value)
    node = description.get(value) or {}
    place = Place(name=label(node, _NAMES, language), code=_code(value), uri=_uri(value, node))
    place.geometry = _merged(list(_shapes(description, node, _DEEPEST))) if node else None
    return place if place.name or place.uri or place.geometry else None


def _written(text: str) -> Place | None:
    if found := _merged(list(_shapes_of(text))):
        return Place(geometry=found)
    short = len(text) <= _LONGEST_NAME and not _WKT.match(text) and not _DCMI.search(text)
    place = places.place(text) if short else None
    if not place or place.geometry:  # a shape that is not valid
        return None
    place.code = _code(place.uri or "")
    return place


def _uri(iri: str, node: Node) -> str | None:
    if not is_blank(iri):
        return iri
    units = (one for predicate in _UNITS for one in node.get(predicate, ()))
    return min((one for one in units if isinstance(one, str) and not is_blank(one)), default=None)


def _code(iri: str) -> str | None:
    found = _COUNTRY.fullmatch(iri)
    return found[1] if found else None


def _shapes(description: Graph, node: Node, depth: int) -> Iterator[Geometry]:
    """Of the literals under any predicate but a name's, and of the geometries that have a node to themselves."""
    for predicate, values in node.items():
        for value in values if predicate not in _NAMES else ():
            if isinstance(value, Literal):
                yield from _shapes_of(value.value)
            elif depth and predicate in _SHAPES and value in description:
                yield from _shapes(description, description[value], depth - 1)
    yield from _point(node)
    yield from _corners(node)


def _point(node: Node) -> Iterator[Geometry]:
    latitude, longitude = label(node, _LATITUDES), label(node, _LONGITUDES)
    if latitude and longitude:
        yield from _wkt(f"({longitude} {latitude})", "POINT", swapped=False)


def _corners(node: Node) -> Iterator[Geometry]:
    """schema.org writes the south-west corner, then the north-east, latitude first."""
    numbers = _NUMBERS.findall((label(node, _CORNERS) or "")[:_LONGEST_NAME])
    if len(numbers) == 4:
        south, west, north, east = numbers
        yield from _box(west, south, east, north)


def _shapes_of(text: str) -> Iterator[Geometry]:
    """From GeoJSON, WKT, a box or a DCMI box."""
    if len(text) > _LONGEST:
        return
    if found := _WKT.match(text):
        swapped = _swapped(*found.groups()[:2])
        if swapped is not None:
            yield from _wkt(text[found.end() :], found[3].upper(), swapped=swapped)
    elif text.lstrip()[:1] == "{":
        yield from _geojson(parse(text))
    elif text.count(",", 0, _LONGEST_NAME) == 3:
        yield from _box(*text.split(","))
    elif "limit" in text and len(limits := dict(_DCMI.findall(text[:_LONGEST_NAME].lower()))) == 4:
        yield from _box(limits["west"], limits["south"], limits["east"], limits["north"])


def _swapped(iri: str | None, srid: str | None) -> bool | None:
    """Whether the latitude stands first; ``None`` for a reference system whose numbers are no degrees."""
    system = iri or srid
    if not system or _LONGITUDE_FIRST.fullmatch(system):
        return False
    return True if _LATITUDE_FIRST.fullmatch(system) else None


def _box(*sides: str) -> Iterator[Geometry]:
    found = places.box(",".join(sides))
    return _valid([found] if found else [])


def _geojson(value: Any) -> Iterator[Geometry]:
    if not isinstance(value, dict):
        return
    kind = value.get("type")
    members = value.get("features") if kind == "FeatureCollection" else [value]
    for member in members if isinstance(members, list) else ():
        found = places.geometry(member)
        if found:
            yield from _valid(found.get("geometries") or [found])


def _wkt(body: str, kind: str, *, swapped: bool) -> Iterator[Geometry]:
    if kind in ("ENVELOPE", "BBOX", "BOX"):
        numbers = _NUMBERS.findall(body[:_LONGEST_NAME])
        order = (0, 3, 1, 2) if kind == "ENVELOPE" else (1, 0, 3, 2) if swapped else (0, 1, 2, 3)
        yield from _box(*(numbers[place] for place in order)) if len(numbers) == 4 else ()
    elif body.count(",") < _MOST_POSITIONS:
        coordinates = parse(_as_json(body, swapped=swapped))
        if isinstance(coordinates, list):
            yield from _valid([{"type": _KINDS[kind], "coordinates": _nested(kind, coordinates)}])


def _as_json(body: str, *, swapped: bool) -> str:
    """
    >>> _as_json("((1 2 0, 3 4 0))", swapped=False)
    '[[[1.0,2.0], [3.0,4.0]]]'
    """
    first, second = (2, 1) if swapped else (1, 2)
    pairs = _POSITION.sub(lambda pair: f"[{float(pair[first])},{float(pair[second])}]", body)
    return pairs.replace("(", "[").replace(")", "]")


def _nested(kind: str, coordinates: list[Any]) -> Any:
    if kind == "POINT":
        return coordinates[0] if len(coordinates) == 1 else None
    if kind == "MULTIPOINT":  # ((1 2), (3 4)) is (1 2, 3 4)
        return [one[0] if isinstance(one, list) and len(one) == 1 else one for one in coordinates]
    return coordinates


def _valid(shapes: Iterable[Geometry]) -> Iterator[Geometry]:
    for shape in shapes:
        if places.geometry(shape) and _on_earth(shape["coordinates"]) and _is_whole(shape):
            yield shape


def _on_earth(coordinates: list[Any]) -> bool:
    if isinstance(coordinates[0], list):
        return all(map(_on_earth, coordinates))
    longitude, latitude = coordinates[:2]
    return bool(abs(longitude) <= 180 + _OFF and abs(latitude) <= 90 + _OFF)


def _is_whole(shape: Geometry) -> bool:
    """A ring comes back to where it began; a line has two ends."""
    kind, coordinates = shape["type"], shape["coordinates"]
    if kind == "LineString":
        return len(coordinates) > 1
    if kind == "MultiLineString":
        return all(len(line) > 1 for line in coordinates)
    return all(len(ring) > 3 and ring[0] == ring[-1] for polygon in _polygons(shape) for ring in polygon)


def _polygons(shape: Geometry) -> list[Any]:
    coordinates: list[Any] = shape["coordinates"]
    return {"Polygon": [coordinates], "MultiPolygon": coordinates}.get(shape["type"], [])


def _merged(shapes: list[Geometry]) -> Geometry | None:
    polygons = [polygon for shape in shapes for polygon in _polygons(shape)]
    if len(polygons) > 1:
        unique = {_frozen(polygon): polygon for polygon in sorted(polygons, key=repr, reverse=True)}
        polygons = [unique[key] for key in sorted(unique)]
    if len(polygons) == 1:
        return {"type": "Polygon", "coordinates": polygons[0]}
    if polygons:
        return {"type": "MultiPolygon", "coordinates": polygons}
    return min(shapes, key=lambda shape: (_RANKS.index(shape["type"]), repr(shape["coordinates"])), default=None)


def _frozen(coordinates: Any) -> Any:
    """Whatever notation they were in: 1 and 1.0 are one number."""
    return tuple(map(_frozen, coordinates)) if isinstance(coordinates, list) else float(coordinates)
