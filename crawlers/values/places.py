"""Places: names, IRIs and shapes, in the notations that catalogues use."""

from __future__ import annotations

import re
from itertools import chain
from math import isfinite
from typing import TYPE_CHECKING, Any

from crawlers import values
from crawlers.items import Place
from crawlers.values.record import parse

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

Geometry = dict[str, Any]

_DEPTHS = {"Point": 0, "MultiPoint": 1, "LineString": 1, "Polygon": 2, "MultiLineString": 2, "MultiPolygon": 3}
_NAME = re.compile(r"(?!(?:multi)?(?:point|linestring|polygon)\b|geometrycollection|nan,|-?inf)[^\W\d_]", re.IGNORECASE)
_FARTHEST = 1e9
"""Beyond any projection: PostGIS writes -1.797e308 for the extent of nothing."""
_COUNTRY = re.compile(r"https?://publications\.europa\.eu/resource/authority/country/([A-Z]{3})")
_LONGEST_NAME = 1_000
_LONGEST = 1_500_000
_MOST_POSITIONS = 50_000
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
_RING = re.compile(r"\s*+\(\s*+\(([-+0-9.,eE\s]++)\)\s*+\)\s*+")
_KINDS = {kind.upper(): kind for kind in (*_DEPTHS, "Feature", "FeatureCollection", "GeometryCollection")}
_DCMI = re.compile(r"\b(north|east|south|west)limit\s*=\s*([^;\s]+)", re.IGNORECASE)
_LONGITUDE_FIRST = re.compile(r".*[/:]CRS84h?|4326|4258|4269")
_LATITUDE_FIRST = re.compile(r".*EPSG[/:](?:[0-9.]*[/:])?(?:4326|4258|4269|4979)", re.IGNORECASE)


def place(value: Any) -> Place | None:
    """Return the place of CKAN's ``spatial``: GeoJSON (an object or text), box ``west,south,east,north``, URI or name.

    >>> place("Kenya"), place("http://sws.geonames.org/192950/").uri
    (Place(name='Kenya', code=None, uri=None, geometry=None), 'http://sws.geonames.org/192950/')
    >>> place('{"type": "Point", "coordinates": [36.8, -1.3]}').geometry
    {'type': 'Point', 'coordinates': [36.8, -1.3]}
    >>> place("1,2,3,nan"), place('{"type": "Point", "coordinates": [NaN, 0]}'), place("POINT(36.8 -1.3)")
    (None, None, None)
    """
    if not isinstance(value, str):
        found = geometry(value)
        return Place(geometry=found) if found else None
    text = values.text(value) or ""
    if text.startswith("{"):
        return place(parse(text))
    if found := box(text):
        return Place(geometry=found)
    return _named(text)


def _named(text: str) -> Place | None:
    if text.startswith(("http://", "https://")):
        return Place(uri=text)
    return Place(name=text) if _NAME.match(text) else None


def geometry(value: Any) -> dict[str, Any] | None:
    """Return a GeoJSON geometry (RFC 7946), or a feature's, if every coordinate is a finite number.

    >>> geometry({"type": "Feature", "geometry": {"type": "Point", "coordinates": [1, 2]}, "properties": {}})
    {'type': 'Point', 'coordinates': [1, 2]}
    >>> geometry({"type": "POINT", "coordinates": [1, 2]})
    {'type': 'Point', 'coordinates': [1, 2]}
    """
    if not isinstance(value, dict):
        return None
    kind = _type(value)
    if kind == "Feature":
        return _shape(value.get("geometry"))
    if kind != "GeometryCollection":
        return _shape(value)
    parts = value.get("geometries")
    shapes = [_shape(part) for part in parts] if isinstance(parts, list) else []
    return {"type": kind, "geometries": shapes} if shapes and None not in shapes else None


def _type(value: dict[str, Any]) -> str | None:
    """
    >>> _type({"type": "multipolygon"}), _type({"type": "FEATURE"}), _type({"type": "Circle"}), _type({"type": []})
    ('MultiPolygon', 'Feature', None, None)
    """
    kind = value.get("type")
    return _KINDS.get(kind.upper()) if isinstance(kind, str) else None


def _shape(value: Any) -> dict[str, Any] | None:
    if not isinstance(value, dict):
        return None
    kind, coordinates = _type(value), value.get("coordinates")
    depth = _DEPTHS.get(kind or "")
    if depth is None or not _positions(coordinates, depth):
        return None
    return {"type": kind, "coordinates": coordinates}


def _positions(coordinates: Any, depth: int) -> list[list[float]]:
    """Return the positions of a geometry; none if it is not valid."""
    found = [coordinates]
    for _ in range(depth):
        if set(map(type, found)) != {list} or not all(found):
            return []
        found = list(chain.from_iterable(found))
    if set(map(type, found)) != {list} or not set(map(len, found)) <= {2, 3, 4}:
        return []
    return found if _are_coordinates(list(chain.from_iterable(found))) else []


def _are_coordinates(numbers: list[Any]) -> bool:
    is_near = set(map(type, numbers)) <= {int, float} and max(map(abs, numbers)) < _FARTHEST
    return is_near and all(map(isfinite, numbers))  # max may pass over a NaN


def box(text: str) -> dict[str, Any] | None:
    """Return a GeoJSON polygon, or a point if the box has no extent.

    >>> box("1,2,3,4")
    {'type': 'Polygon', 'coordinates': [[[1.0, 2.0], [3.0, 2.0], [3.0, 4.0], [1.0, 4.0], [1.0, 2.0]]]}
    >>> box("1,2,1,2"), box("1,2,3"), box("1,2,3,1e308")
    ({'type': 'Point', 'coordinates': [1.0, 2.0]}, None, None)
    """
    try:
        west, south, east, north = (float(part) for part in text[:200].split(","))
    except ValueError:
        return None
    if (west, south) == (east, north):
        return _shape({"type": "Point", "coordinates": [west, south]})
    ring = [[west, south], [east, south], [east, north], [west, north], [west, south]]
    return _shape({"type": "Polygon", "coordinates": [ring]})


def any_place(text: str) -> Place | None:
    """Return the place that a text in any notation names or outlines; a shape that is not on Earth is none.

    >>> any_place("POINT(15.4 47.1)").geometry, any_place("POINT(15.4 147.1)"), any_place("Graz").name
    ({'type': 'Point', 'coordinates': [15.4, 47.1]}, None, 'Graz')
    """
    if found := outline(text):
        return Place(geometry=found)
    short = len(text) <= _LONGEST_NAME and not _WKT.match(text) and not _DCMI.search(text)
    named = place(text) if short else None
    if not named or named.geometry:  # a shape that is not valid
        return None
    named.code = country(named.uri or "")
    return named


def outline(*texts: str) -> Geometry | None:
    """Return the shape that texts give: GeoJSON, WKT, boxes or DCMI boxes.

    All polygons are one geometry; points and lines count only without polygons. Coordinates are WGS 84, longitude
    first; a shape with other coordinates is dropped.
    """
    return _merged([shape for text in texts for shape in _shapes(text)])


def country(iri: str) -> str | None:
    """Return the ISO 3166-1 alpha-3 code that an IRI of the EU's vocabulary ends with."""
    found = _COUNTRY.fullmatch(iri)
    return found[1] if found else None


def _shapes(text: str) -> Iterator[Geometry]:
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
    """Return whether the latitude stands first; ``None`` for a reference system whose numbers are not degrees."""
    system = iri or srid
    if not system or _LONGITUDE_FIRST.fullmatch(system):
        return False
    return True if _LATITUDE_FIRST.fullmatch(system) else None


def _box(*sides: str) -> Iterator[Geometry]:
    found = box(",".join(sides))
    return _valid([found] if found else [])


def _geojson(value: Any) -> Iterator[Geometry]:
    if not isinstance(value, dict):
        return
    kind = _type(value)
    members = value.get("features") if kind == "FeatureCollection" else [value]
    for member in members if isinstance(members, list) else ():
        found = geometry(member)
        if found:
            yield from _valid(found.get("geometries") or [found])


def _wkt(body: str, kind: str, *, swapped: bool) -> Iterator[Geometry]:
    if kind in ("ENVELOPE", "BBOX", "BOX"):
        numbers = _NUMBERS.findall(body[:_LONGEST_NAME])
        order = (0, 3, 1, 2) if kind == "ENVELOPE" else (1, 0, 3, 2) if swapped else (0, 1, 2, 3)
        yield from _box(*(numbers[place] for place in order)) if len(numbers) == 4 else ()
    elif body.count(",") < _MOST_POSITIONS:
        coordinates = _ring(body, swapped=swapped) or parse(_as_json(body, swapped=swapped))
        if isinstance(coordinates, list):
            yield from _valid([{"type": _KINDS[kind], "coordinates": _nested(kind, coordinates)}])


def _ring(body: str, *, swapped: bool) -> list[Any] | None:
    """Return a polygon's only ring, which nearly all are; ``None`` if it is something else.

    >>> _ring("((1 2 0, 3 4 0))", swapped=True), _ring("((1 2, 3))", swapped=False)
    ([[[2.0, 1.0], [4.0, 3.0]]], None)
    """
    if not (ring := _RING.fullmatch(body)):
        return None
    try:
        positions = [list(map(float, each.split())) for each in ring[1].split(",")]
    except ValueError:
        return None
    if not set(map(len, positions)) <= {2, 3, 4}:
        return None
    return [[each[1::-1] if swapped else each[:2] for each in positions]]


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
        return [each[0] if isinstance(each, list) and len(each) == 1 else each for each in coordinates]
    return coordinates


def _valid(shapes: Iterable[Geometry]) -> Iterator[Geometry]:
    for shape in shapes:
        positions = _positions(shape["coordinates"], _DEPTHS[shape["type"]])
        on_earth = [abs(each[0]) <= 180 + _OFF and abs(each[1]) <= 90 + _OFF for each in positions]
        if positions and all(on_earth) and _is_whole(shape):
            yield shape


def _is_whole(shape: Geometry) -> bool:
    """Return whether each ring ends where it begins, and each line has two ends."""
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
        unique = {frozen(polygon): polygon for polygon in sorted(polygons, key=repr, reverse=True)}
        polygons = [unique[key] for key in sorted(unique)]
    if len(polygons) == 1:
        return {"type": "Polygon", "coordinates": polygons[0]}
    if polygons:
        return {"type": "MultiPolygon", "coordinates": polygons}
    return min(shapes, key=lambda shape: (_RANKS.index(shape["type"]), repr(shape["coordinates"])), default=None)


def frozen(coordinates: Any) -> Any:
    """Return coordinates to compare by: 1 and 1.0 are the same number."""
    return tuple(map(frozen, coordinates)) if isinstance(coordinates, list) else float(coordinates)
