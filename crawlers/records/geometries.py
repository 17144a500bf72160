"""What publishers write of a shape, as GeoJSON: WGS 84, longitude first.

GeoJSON itself, as an object or a text; WKT; GML; boxes and points as numbers; the words of schema.org, DCMI, DataCite.
Which axis stands first is said by RFC 7946 for GeoJSON; by GeoSPARQL 1.1, requirement 16, for WKT with a reference
system; and by GeoServer's page "Axis ordering" for the ways to name one: ``EPSG:4326`` is longitude first,
``urn:ogc:def:crs:EPSG::4326`` latitude first. Project Open Data and schema.org write the latitude first. Where a
reference system is named or numbers stand alone, and only the other order lies on Earth, that one is taken.
"""

from __future__ import annotations

import re
from collections import Counter
from functools import cache
from itertools import chain, islice, pairwise
from math import isfinite
from typing import TYPE_CHECKING, Any

from lxml import etree

from crawlers.exceptions import AnswerError
from crawlers.records.linked import label
from crawlers.records.record import parse
from crawlers.records.tables import csv_rows
from crawlers.safety import bounds

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

Geometry = dict[str, Any]
Orders = tuple[bool, ...]
"""The orders of the axes that are tried: whether the latitude stands first."""

_LONGITUDE: Orders = (False,)
_LONGITUDE_BEFORE: Orders = (False, True)
_LATITUDE_BEFORE: Orders = (True, False)

_LONGEST = 1_500_000
MOST_WORK = 4 * _LONGEST
"""What reading the places of one field may cost, see `work`: four shapes of the most positions."""
_LONGEST_BOX = 1_000
_LONGEST_SYSTEM = 200
_DEEPEST = 6
_MOST_SHAPES = 1_000
_OFF = 1e-6  # rounding
_NARROWEST = 90
"""Degrees. West beyond east by less is a mistake: as a box across the antimeridian it would span most of the Earth."""

_DEPTHS = {"Point": 0, "MultiPoint": 1, "LineString": 1, "Polygon": 2, "MultiLineString": 2, "MultiPolygon": 3}
_RANKS = ("MultiLineString", "LineString", "MultiPoint", "Point")
_MEMBERS = {"Feature": "geometry", "FeatureCollection": "features", "GeometryCollection": "geometries"}
_KINDS = {kind.upper(): kind for kind in (*_DEPTHS, *_MEMBERS, "Envelope")}

_NUMBER = r"[-+]?(?:[0-9]++(?:\.[0-9]*+)?|\.[0-9]++)(?:[eE][-+]?[0-9]++)?+"
_NUMBERS = re.compile(rf"{_NUMBER}(?![0-9A-Za-z.])")
_ALONE = re.compile(r"[-+0-9.eE,;\s]++")
_DRAWING = re.compile(r"[-+0-9.eE,;()\s]++")
_BLANK = re.compile(r"[,;]?+\s++|;")
_DECIMAL_COMMA = re.compile(r"[-+]?[0-9]++,[0-9]++")
_POSITION = re.compile(rf"(?<![0-9.eE+-])({_NUMBER})\s++({_NUMBER})(?:\s++{_NUMBER}){{0,2}}+(?=\s*+[,)])")
_TAGGED = r"((?:MULTI)?(?:POINT|LINESTRING|POLYGON)|GEOMETRYCOLLECTION|ENVELOPE|BBOX|BOX(?:[23]D)?)\s*+(?:ZM|Z|M)?\s*+"
_WKT = re.compile(rf"(?:<([^<>\s]*+)>|SRID=([0-9]{{1,6}});)?\s*+{_TAGGED}(?=\()", re.IGNORECASE)
_MEMBER = re.compile(rf"{_TAGGED}(?=\()", re.IGNORECASE)
_RING = re.compile(r"\s*+\(\s*+\(([-+0-9.,eE\s]++)\)\s*+\)\s*+")
_DCMI = re.compile(r"\s*+\b([A-Za-z]++)\s*+=\s*+([^;=\n]*+)")
_EPSG = re.compile(r"(?:urn:(?:x-)?ogc:def:crs:|https?://.*/)EPSG[/:](?:[0-9.]*[/:])?([0-9]{4,5})", re.IGNORECASE)
_EAST_FIRST = re.compile(r".*[/:]CRS:?84h?", re.IGNORECASE)

DCAT_US_SIDES = ("westBoundingLongitude", "southBoundingLatitude", "eastBoundingLongitude", "northBoundingLatitude")
_SIDES = (
    ("westBoundLongitude", "southBoundLatitude", "eastBoundLongitude", "northBoundLatitude"),  # DataCite
    DCAT_US_SIDES,
    ("westlimit", "southlimit", "eastlimit", "northlimit"),  # DCMI
    ("xmin", "ymin", "xmax", "ymax"),  # Esri
    ("west", "south", "east", "north"),
)
_PAIRS = (
    ("longitude", "latitude"),  # schema.org
    ("pointLongitude", "pointLatitude"),  # DataCite
    ("east", "north"),  # DCMI
    ("long", "lat"),
    ("lon", "lat"),
)
_DRAWN = {"polygon": "polygon", "box": "box", "line": "line", "circle": "circle"}
_DRAWN |= {"geoLocationBox": "box", "geoLocationPoint": "point"}  # DataCite's kernels before 4
"""What schema.org's GeoShape and its like write as a text, the latitude first."""
_HELD = ("geometry", "geom", "geo", *_DRAWN, "geoLocationPolygon")
_ROUGH = ("bbox", "centroid")
"""What counts where there is no shape more exact."""
WORDS = frozenset((*_HELD, *_ROUGH, *chain.from_iterable((*_SIDES, *_PAIRS))))
"""The names under which an object has a shape."""


def geometry(*written: Any) -> Geometry | None:
    """Return the shape that values give: texts, numbers, lists and objects in any notation.

    All polygons are one geometry; points and lines count only without polygons. What can't be read, or does not lie on
    Earth, is left out.

    >>> geometry("POINT(15.4 47.1)"), geometry("47.1 15.4"), geometry({"latitude": "47.1", "longitude": 15.4})["type"]
    ({'type': 'Point', 'coordinates': [15.4, 47.1]}, {'type': 'Point', 'coordinates': [15.4, 47.1]}, 'Point')
    >>> geometry("Graz"), geometry("POINT(500000 5200000)"), geometry("POLYGON((1 2, 3 2, 3 4))")["coordinates"]
    (None, None, [[[1.0, 2.0], [3.0, 2.0], [3.0, 4.0], [1.0, 2.0]]])
    """
    return _merged([shape for value in written for shape in _shapes(value, _DEEPEST)])


def work(value: Any, most: int) -> int:
    """Return what it costs to read a value: its characters, and ten for each number; if that is more than `most`, that.

    >>> work("POINT(1 2)", 100), work({"type": "Point", "coordinates": [1, 2]}, 100), work([[1, 2]] * 1000, 100)
    (10, 27, 1000)
    """
    cost, left = 0, [value]
    while left and cost <= most:
        each = left.pop()
        if isinstance(each, str):
            cost += len(each)
        elif isinstance(each, dict | list):
            parts = each.values() if isinstance(each, dict) else each
            is_position = set(map(type, parts)) <= {int, float}
            cost += len(parts) * (10 if is_position else 1)
            left += parts if not is_position and cost <= most else ()
        else:
            cost += 10
    return cost


def is_geojson(value: Any) -> bool:
    """Return whether an object says that it is a shape of GeoJSON, in whatever case, and has its members."""
    return isinstance(value, dict) and _kind(value) is not None


def is_box(value: Any) -> bool:
    """Return whether a list is a box: four or six numbers, or two corners.

    >>> is_box([1, 2, 3, 4]), is_box([[1, 2], [3, 4]]), is_box(["Graz", "Wien"]), is_box([[1, 2, 3, 4], [5, 6, 7, 8]])
    (True, True, False, False)
    """
    return isinstance(value, list) and (_sides(value) is not None or _two_corners(value) is not None)


def is_unmistakable(text: str) -> bool:
    """Return whether a text can be nothing but a shape: WKT, JSON, XML or DCMI's, wherever it stands.

    >>> is_unmistakable("POINT(1 2)"), is_unmistakable('{"type": "Point"}'), is_unmistakable("east=1; north=2")
    (True, True, True)
    >>> is_unmistakable("12 34"), is_unmistakable("name=Graz")
    (False, False)
    """
    text = text.lstrip()
    return text[:1] in ("{", "<") or _WKT.match(text) is not None or not dcmi(text).keys() <= {"name"}


def dcmi(text: str) -> dict[str, str]:
    """Return the components of a DCMI Box or Point; none if the text is neither.

    >>> dcmi("name=Perth, W.A.; east=115.85717; north=-31.95301"), dcmi("a = b")
    ({'name': 'Perth, W.A.', 'east': '115.85717', 'north': '-31.95301'}, {})
    """
    if not _DCMI.match(text):
        return {}
    found = {name.lower(): value.strip() for name, value in _DCMI.findall(text[:_LONGEST_BOX])}
    return found if not found.keys().isdisjoint(("name", "northlimit", "westlimit", "east", "north")) else {}


def box(west: Any, south: Any, east: Any, north: Any) -> Geometry | None:
    """Return a box in degrees: a polygon, or a line or a point if it has no extent.

    One that crosses the 180th meridian is two polygons, as RFC 7946 asks. South and north may be swapped.

    >>> box(1, "2", 3, "4,5")
    {'type': 'Polygon', 'coordinates': [[[1.0, 2.0], [3.0, 2.0], [3.0, 4.5], [1.0, 4.5], [1.0, 2.0]]]}
    >>> box(1, 2, 1, 2), box(1, 2, 1, 3)["type"], box(170, 2, -170, 3)["type"], box(1, 2, 3, "nan")
    ({'type': 'Point', 'coordinates': [1.0, 2.0]}, 'LineString', 'MultiPolygon', None)
    """
    sides = [degrees(each) for each in (west, south, east, north)]
    if fault(sides) is not None:
        return None
    west, south, east, north = sides
    south, north = min(south, north), max(south, north)
    if west > east:
        return _merged([*filter(None, (box(west, south, 180, north), box(-180, south, east, north)))])
    corners = [[west, south], [east, south], [east, north], [west, north], [west, south]]
    if west != east and south != north:
        return {"type": "Polygon", "coordinates": [corners]}
    if (west, south) == (east, north):
        return {"type": "Point", "coordinates": corners[0]}
    return {"type": "LineString", "coordinates": [corners[0], corners[2]]}


def fault(sides: Sequence[float | None]) -> str | None:
    """Return what is wrong with the west, south, east and north of a box, as the end of a sentence."""
    west, south, east, north = sides
    if west is None or south is None or east is None or north is None:
        return "is not four numbers"
    if not any(sides):
        return "is 0 on all sides"
    if not _is_on_earth([(west, south), (east, north)]):
        return "is not in degrees, or its sides are swapped"
    if south > north and west > east:
        return "has its corners exchanged, or its sides swapped"
    return "has its west east of its east" if 0 < west - east < _NARROWEST else None


def degrees(value: Any) -> float | None:
    """Return a number, also one with a decimal comma.

    >>> degrees("14,5"), degrees(" -3.2 "), degrees("nan"), degrees("1e999"), degrees("14° 30'"), degrees(True)
    (14.5, -3.2, None, None, None, None)
    """
    if isinstance(value, str):
        text = value[:40].strip()
        if not _NUMBERS.fullmatch(text):
            text = text.replace(",", ".") if _DECIMAL_COMMA.fullmatch(text) else ""
        value = float(text) if text else None
    elif type(value) not in {int, float}:
        return None
    return float(value) if value is not None and abs(value) < 1e9 else None


def _shapes(value: Any, deepest: int) -> Iterator[Geometry]:
    if isinstance(value, str):
        yield from _written(value, deepest)
    elif deepest and isinstance(value, dict):
        kind = _kind(value)
        yield from _geojson(kind, value, deepest - 1) if kind else _described(value, deepest - 1)
    elif deepest and isinstance(value, list):
        yield from _listed(value, deepest - 1)


def _written(text: str, deepest: int) -> Iterator[Geometry]:
    if len(text) > _LONGEST:
        return
    text = text.strip()
    if text[:1] in ("{", "["):
        yield from _shapes(parse(text) if deepest else None, deepest - 1)
    elif found := _WKT.match(text):
        yield from _wkt(found[3], text[found.end() :], _orders(found[1] or found[2]))
    elif text[:1] == "<":
        yield from _gml(text)
    elif len(text) <= _LONGEST_BOX and _ALONE.fullmatch(text):
        yield from _numbers_alone(text)
    elif components := dcmi(text):
        yield from _described(components, 0)


def _orders(system: str | None) -> Orders:
    """Return the orders of the axes that a reference system allows.

    Other systems than longitude and latitude are named by mistake where their numbers are degrees: GeoNetwork writes
    that of the data beside a box in degrees.
    """
    system = (system or "")[:_LONGEST_SYSTEM]
    if not system or _EAST_FIRST.fullmatch(system):
        return _LONGITUDE
    found = _EPSG.fullmatch(system)
    return _LATITUDE_BEFORE if found and int(found[1]) in _latitude_first() else _LONGITUDE_BEFORE


@cache
def _latitude_first() -> frozenset[int]:
    rows = csv_rows(__package__, "latitude_first.csv")
    return frozenset(code for first, last in rows for code in range(int(first), int(last) + 1))


# GeoJSON, and coordinates in its form


def _kind(value: dict[str, Any]) -> str | None:
    """
    >>> _kind({"type": "multipolygon", "coordinates": []}), _kind({"type": "FEATURE", "geometry": None})
    ('MultiPolygon', 'Feature')
    >>> _kind({"type": "Point", "name": "Paris"}), _kind({"type": [], "coordinates": []})
    (None, None)
    """
    kind = value.get("type")
    found = _KINDS.get(kind.upper()) if isinstance(kind, str) else None
    return found if found and _MEMBERS.get(found, "coordinates") in value else None


def _geojson(kind: str, value: dict[str, Any], deepest: int) -> Iterator[Geometry]:
    if kind in _MEMBERS:
        members = value.get(_MEMBERS[kind])
        for member in members if isinstance(members, list) else [members]:
            yield from _shapes(member if isinstance(member, dict) else None, deepest)
    elif kind != "Envelope":
        yield from _placed(kind, value.get("coordinates"), _LONGITUDE)
    elif corners := _two_corners(value.get("coordinates")):  # Elasticsearch: the upper left one, the lower right one
        (west, north), (east, south) = corners
        yield from _between((west, south), (east, north), _LONGITUDE)


def _placed(kind: str, coordinates: Any, orders: Orders) -> Iterator[Geometry]:
    """Yield a shape whose coordinates are valid, and lie on Earth in one of the orders."""
    depth = _DEPTHS[kind]
    positions = _positions(coordinates, depth)
    if not _are_coordinates(positions):
        coordinates = _converted(coordinates, depth + 1) if positions else None
        positions = _positions(coordinates, depth)
        if not _are_coordinates(positions):
            return
    is_swapped = next((each for each in orders if _is_on_earth(positions, is_swapped=each)), None)
    if is_swapped is None:
        return
    if is_swapped:
        coordinates = _swapped(coordinates, depth)
    if "Polygon" in kind:
        coordinates = _closed(coordinates, depth)
    if _is_whole(kind, coordinates):
        yield {"type": kind, "coordinates": coordinates}


def _positions(coordinates: Any, depth: int) -> list[list[Any]]:
    """Return the positions of a geometry; none if there is something else, or too many."""
    found = [coordinates]
    for _ in range(depth):
        if set(map(type, found)) != {list} or not all(found):
            return []
        found = list(chain.from_iterable(found))
    is_bounded = len(found) <= bounds.POSITIONS.most and set(map(type, found)) == {list}
    return found if is_bounded and set(map(len, found)) <= {2, 3, 4} else []


def _are_coordinates(positions: list[list[Any]]) -> bool:
    numbers = list(chain.from_iterable(positions))
    try:
        return bool(numbers) and set(map(type, numbers)) <= {int, float} and all(map(isfinite, numbers))
    except OverflowError:  # of an integer
        return False


def _converted(coordinates: Any, depth: int) -> Any:
    """Return coordinates whose numbers may be texts."""
    if depth and isinstance(coordinates, list):
        return [_converted(each, depth - 1) for each in coordinates]
    return degrees(coordinates)


def _swapped(coordinates: Any, depth: int) -> Any:
    if depth:
        return [_swapped(each, depth - 1) for each in coordinates]
    return [coordinates[1], coordinates[0], *coordinates[2:]]


def _closed(coordinates: list[Any], depth: int) -> list[Any]:
    """Return polygons whose rings end where they begin."""
    if depth > 2:
        return [_closed(polygon, depth - 1) for polygon in coordinates]
    return [ring if ring[0] == ring[-1] else [*ring, ring[0]] for ring in coordinates]


def _is_on_earth(positions: Sequence[Sequence[float]], *, is_swapped: bool = False) -> bool:
    latitude, longitude = (0, 1) if is_swapped else (1, 0)
    x, y = [each[longitude] for each in positions], [each[latitude] for each in positions]
    return max(x) <= 180 + _OFF and min(x) >= -180 - _OFF and max(y) <= 90 + _OFF and min(y) >= -90 - _OFF


def _is_whole(kind: str, coordinates: Any) -> bool:
    """Return whether each line has two ends, and each ring three corners."""
    if kind == "LineString":
        return len(coordinates) > 1
    if kind == "MultiLineString":
        return all(len(line) > 1 for line in coordinates)
    return all(len(ring) > 3 for polygon in _polygons(kind, coordinates) for ring in polygon)


def _polygons(kind: str, coordinates: Any) -> Any:
    return {"Polygon": [coordinates], "MultiPolygon": coordinates}.get(kind, [])


def _merged(shapes: list[Geometry]) -> Geometry | None:
    if len(shapes) == 1:  # nearly always
        kind, coordinates = shapes[0]["type"], shapes[0]["coordinates"]
        is_one = kind == "MultiPolygon" and len(coordinates) == 1
        return {"type": "Polygon", "coordinates": coordinates[0]} if is_one else shapes[0]
    polygons = [polygon for shape in shapes for polygon in _polygons(shape["type"], shape["coordinates"])]
    if len(polygons) > 1:  # one polygon in several notations may begin at another corner, and turn the other way
        unique = {tuple(map(_edges, polygon)): polygon for polygon in sorted(polygons, key=repr, reverse=True)}
        polygons = sorted(unique.values(), key=frozen)
    if len(polygons) == 1:
        return {"type": "Polygon", "coordinates": polygons[0]}
    if polygons:
        return {"type": "MultiPolygon", "coordinates": polygons}
    return min(shapes, key=lambda shape: (_RANKS.index(shape["type"]), repr(shape["coordinates"])), default=None)


def _edges(ring: list[Any]) -> frozenset[Any]:
    """Return a ring's edges, and how often it has each: the same wherever it begins and whichever way it turns."""
    corners = [(float(at[0]), float(at[1])) for at in ring]
    return frozenset(Counter(map(frozenset, pairwise(corners))).items())


def frozen(coordinates: Any) -> Any:
    """Return coordinates to compare by: 1 and 1.0 are the same number."""
    return tuple(map(frozen, coordinates)) if isinstance(coordinates, list) else float(coordinates)


# Boxes and numbers


def _sides(values: list[Any]) -> list[float] | None:
    """Return west, south, east and north of four numbers, or of six: west, south, low, east, north, high.

    If they do not lie on Earth, the latitudes stand first.
    """
    if len(values) not in (4, 6) or not all(isinstance(each, str | int | float) for each in values):
        return None
    numbers = [degrees(each) for each in values]
    if len(numbers) == 6:
        numbers = [*numbers[:2], *numbers[3:5]]
    found = [each for each in numbers if each is not None]
    if len(found) != 4:
        return None
    return found if _is_on_earth([found[:2], found[2:]]) else [found[1], found[0], found[3], found[2]]


def _two_corners(values: Any) -> tuple[list[float], list[float]] | None:
    if not isinstance(values, list) or len(values) != 2:
        return None
    if not all(isinstance(each, list) and len(each) == 2 for each in values):
        return None
    first, second = _converted(values, 2)
    return None if None in (*first, *second) else (first, second)


def _listed(values: list[Any], deepest: int) -> Iterator[Geometry]:
    if sides := _sides(values):
        yield from filter(None, [box(*sides)])
    elif corners := _two_corners(values):
        yield from _between(*corners, _LONGITUDE)
    else:
        for each in values:
            yield from _shapes(each, deepest)


def _between(first: Sequence[float], second: Sequence[float], orders: Orders) -> Iterator[Geometry]:
    """Yield the box between one corner and the opposite one."""
    for is_swapped in orders:
        if _is_on_earth([first, second], is_swapped=is_swapped):
            (west, south), (east, north) = (each[1::-1] if is_swapped else each[:2] for each in (first, second))
            if west > east and (south > north or west - east < _NARROWEST):
                west, east = east, west
            yield from filter(None, [box(west, south, east, north)])
            return


def _numbers_alone(text: str) -> Iterator[Geometry]:
    """Yield the box of west, south, east and north, or the point of a latitude and a longitude.

    Numbers are separated by blanks, commas or semicolons. A comma is a decimal one where nothing else makes sense.
    """
    words = _BLANK.split(text)
    numbers = re.split(r"[,;\s]+", text)
    with_comma = [word for word in words if "," in word]
    if with_comma and all(map(_DECIMAL_COMMA.fullmatch, with_comma)):
        numbers = [] if len(words) in (1, 2) else words if len(words) in (4, 6) else numbers
    found = [degrees(each) for each in numbers]
    if None not in found and len(found) == 2:
        yield from _placed("Point", found, _LATITUDE_BEFORE)
    elif sides := _sides(found):
        yield from filter(None, [box(*sides)])


# Well-known text


def _wkt(kind: str, body: str, orders: Orders) -> Iterator[Geometry]:
    kind = kind.upper()
    if kind == "GEOMETRYCOLLECTION":
        members = list(_MEMBER.finditer(body))
        ends = [*(member.start() for member in members[1:]), len(body.rstrip()) - 1]
        for member, end in zip(members, ends, strict=True) if len(members) <= bounds.POSITIONS.most else ():
            if member[1].upper() != kind:
                yield from _wkt(member[1], body[member.end() : end].rstrip(", \t\n\r"), orders)
    elif kind not in _KINDS or kind == "ENVELOPE":
        numbers = [float(each) for each in _NUMBERS.findall(body[:_LONGEST_BOX])]
        if len(numbers) == 6:
            numbers = [*numbers[:2], *numbers[3:5]]
        if len(numbers) == 4 and kind == "ENVELOPE":  # of CQL and Solr: west, east, north, south
            yield from filter(None, [box(numbers[0], numbers[3], numbers[1], numbers[2])])
        elif len(numbers) == 4:
            yield from _between(numbers[:2], numbers[2:], orders)
    elif body.count(",") < bounds.POSITIONS.most:
        coordinates = _ring(body) or parse(_as_json(body))
        if isinstance(coordinates, list):
            yield from _placed(_KINDS[kind], _nested(kind, coordinates), orders)


def _ring(body: str) -> list[Any] | None:
    """Return a polygon's only ring, which nearly all are; ``None`` if it is something else.

    >>> _ring("((1 2 0, 3 4 0))"), _ring("((1 2, 3))")
    ([[[1.0, 2.0], [3.0, 4.0]]], None)
    """
    if not (ring := _RING.fullmatch(body)):
        return None
    try:
        positions = [list(map(float, each.split())) for each in ring[1].split(",")]
    except ValueError:
        return None
    return [[each[:2] for each in positions]] if set(map(len, positions)) <= {2, 3, 4} else None


def _as_json(body: str) -> str:
    """
    >>> _as_json("((1 2 0, 3 4 0))")
    '[[[1.0,2.0], [3.0,4.0]]]'
    """
    pairs = _POSITION.sub(lambda pair: f"[{float(pair[1])},{float(pair[2])}]", body)
    return pairs.replace("(", "[").replace(")", "]")


def _nested(kind: str, coordinates: list[Any]) -> Any:
    if kind == "POINT":
        return coordinates[0] if len(coordinates) == 1 else None
    if kind == "MULTIPOINT":  # ((1 2), (3 4)) is (1 2, 3 4)
        return [each[0] if isinstance(each, list) and len(each) == 1 else each for each in coordinates]
    return coordinates


# GML


def _gml(text: str) -> Iterator[Geometry]:
    """Yield the shapes of GML 2 and 3, and OWS's boxes. Prefixes need no declaration: in RDF they often have none."""
    body = re.sub(r"^<\?xml[^>]*+>\s*+", "", text).encode("utf-8", "replace")
    if b"<!" in body or b"<?" in body:
        return
    try:
        bounds.check_markup(body, bounds.GML)
        root = etree.fromstring(body, etree.XMLParser(recover=True, resolve_entities=False, no_network=True))
    except (AnswerError, etree.XMLSyntaxError):
        return
    elements = [(root, _LONGITUDE)] if root is not None else []
    while elements:
        element, orders = elements.pop()
        is_shape = _local(element) in _SHAPES
        systems = (each.get("srsName") or each.get("crs") for each in (element.iter("*") if is_shape else [element]))
        if system := next(filter(None, systems), None):
            orders = _orders(system)
        if is_shape:
            yield from _read(element, orders)
        else:
            elements += [(child, orders) for child in element.iterchildren("*")]


def _read(element: Any, orders: Orders) -> Iterator[Geometry]:
    name = _local(element)
    if name in ("Polygon", "PolygonPatch"):
        rings = [_corners(child) for child in element.iterchildren("*") if _local(child) in _BOUNDARIES]
        return _placed("Polygon", rings or [_corners(element)], orders)
    if name in ("LineString", "LineStringSegment"):
        return _placed("LineString", _corners(element), orders)
    if name == "Point":
        return _placed("Point", next(iter(_corners(element)), None), orders)
    corners = _corners(element)
    if len(corners) != 2:
        return iter(())
    first, second = corners
    if name == "BoundingBox" and first[0] > second[0]:  # GeoNetwork: east south, west north, whatever the system
        first, second, orders = [second[0], first[1]], [first[0], second[1]], _LONGITUDE
    return _between(first, second, orders)


_BOUNDARIES = ("exterior", "interior", "outerBoundaryIs", "innerBoundaryIs")
_SHAPES = frozenset(("Polygon", "PolygonPatch", "LineString", "LineStringSegment", "Point"))
_SHAPES |= {"Envelope", "Box", "BoundingBox", "WGS84BoundingBox"}


def _local(element: Any) -> str:
    """Return an element's name without its namespace or prefix."""
    return str(re.split("[}:]", element.tag)[-1])


def _corners(element: Any) -> list[list[float]]:
    """Return the positions inside an element; none if one of them can't be read."""
    try:
        parts = sorted(element.iter("*"), key=lambda child: _local(child).lower() == "uppercorner")
        found = [each[:2] for child in parts for each in _positions_of(child)]
    except ValueError:
        return []
    return found if all(len(each) == 2 for each in found) else []


def _positions_of(element: Any) -> list[list[float]]:
    name, text = _local(element).lower(), str(element.text or "")
    if name in ("pos", "lowercorner", "uppercorner"):
        return [list(map(float, text.split()))]
    if name == "poslist":
        around = (element, *islice(element.iterancestors(), _DEEPEST))
        size = 3 if any("3" in (each.get("srsDimension"), each.get("dimension")) for each in around) else 2
        numbers = list(map(float, text.split(None, 4 * bounds.POSITIONS.most)))
        return [numbers[start : start + size] for start in range(0, len(numbers), size)]
    if name == "coord":
        return [[float(child.text or "") for child in element.iterchildren("*")]]
    if name == "coordinates":
        pairs = ",".join(part.strip() for part in text.split(",")).split()
        return [list(map(float, pair.split(","))) for pair in pairs]
    return []


# Objects that have a shape under words of their own


def _described(value: dict[str, Any], deepest: int) -> Iterator[Geometry]:
    """Yield the shapes of an object; a box or a point by its sides only without another one."""
    for words in (_HELD, *((word,) for word in _ROUGH)):
        if shapes := [shape for name in words if name in value for shape in _held(name, value[name], deepest)]:
            yield from shapes
            return
    for names in (*_SIDES, *_PAIRS):
        if all(name in value for name in names):
            numbers = [degrees(_first(value[name])) for name in names]
            found = box(*numbers) if len(numbers) == 4 else next(_placed("Point", numbers, _LONGITUDE_BEFORE), None)
            if found:
                yield found
                return


def _held(name: str, value: Any, deepest: int) -> Iterator[Geometry]:
    if name == "geoLocationPolygon":
        for ring in _rings(value):
            yield from _placed("Polygon", [ring], _LONGITUDE)
        return
    several = value if isinstance(value, list) and not is_box(value) else [value]
    for each in map(_plain, several[:_MOST_SHAPES]):
        yield from _drawn(_DRAWN[name], each, deepest) if name in _DRAWN else _shapes(each, deepest)


def _plain(value: Any) -> Any:
    """Return what an object of JSON-LD is a value of, or its label where it has no shape."""
    if isinstance(value, dict) and "@value" in value:
        return value["@value"]
    is_label = isinstance(value, dict) and not is_geojson(value) and WORDS.isdisjoint(value)
    return label(value) if is_label else value


def _rings(value: Any) -> list[list[Any]]:
    """Return the rings of DataCite's polygons: a list of points each, or a list of objects with one point each."""
    parts = value if isinstance(value, list) else [value]
    given = [part["polygonPoint"] for part in parts if isinstance(part, dict) and "polygonPoint" in part]
    several = [each for each in given if isinstance(each, list)] or [given]
    words = ("pointLongitude", "pointLatitude")
    return [[[each.get(word) for word in words] for each in ring if isinstance(each, dict)] for ring in several]


def _drawn(kind: str, value: Any, deepest: int) -> Iterator[Geometry]:
    """Return the shape that schema.org writes as numbers; what is none of its notation may be another."""
    if not isinstance(value, str) or len(value) > _LONGEST or not _DRAWING.fullmatch(value):
        return _shapes(value, deepest)
    found = islice(re.finditer(_NUMBER, value), 2 * bounds.POSITIONS.most + 1)
    numbers = [float(each[0]) for each in found]
    pairs = [list(pair) for pair in zip(numbers[::2], numbers[1::2], strict=False)]
    if kind == "box" and len(numbers) == 4:
        return _between(pairs[0], pairs[1], _LATITUDE_BEFORE)
    if len(numbers) == {"point": 2, "circle": 3}.get(kind):  # GeoJSON has no circles: the centre
        return _placed("Point", pairs[0], _LATITUDE_BEFORE)
    if kind == "line" and not len(numbers) % 2:
        return _placed("LineString", pairs, _LATITUDE_BEFORE)
    if kind == "polygon" and not len(numbers) % 2:
        return _placed("Polygon", [pairs], _LATITUDE_BEFORE)
    return iter(())


def _first(value: Any) -> Any:
    """Return one of several values."""
    if isinstance(value, list):
        value = value[0] if value else None
    return _plain(value)
