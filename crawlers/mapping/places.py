"""Places: GeoJSON geometries, bounding boxes, names."""

from __future__ import annotations

import re
from typing import Any

from crawlers.items import Place
from crawlers.mapping import values
from crawlers.mapping.record import parse

_DEPTHS = {"Point": 0, "MultiPoint": 1, "LineString": 1, "Polygon": 2, "MultiLineString": 2, "MultiPolygon": 3}
_NAME = re.compile(r"(?!(?:multi)?(?:point|linestring|polygon)\b|geometrycollection|nan,|-?inf)[^\W\d_]", re.IGNORECASE)
_FARTHEST = 1e9
"""Beyond any projection: PostGIS writes -1.797e308 for the extent of nothing."""


def place(value: Any) -> Place | None:
    """What CKAN's ``spatial`` holds: GeoJSON (an object or its text), a box ``west,south,east,north``, a URI, a name.

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
    """A GeoJSON geometry (RFC 7946), or a feature's, if every coordinate is a finite number.

    >>> geometry({"type": "Feature", "geometry": {"type": "Point", "coordinates": [1, 2]}, "properties": {}})
    {'type': 'Point', 'coordinates': [1, 2]}
    """
    if not isinstance(value, dict):
        return None
    kind = value.get("type")
    if kind == "Feature":
        return _shape(value.get("geometry"))
    if kind != "GeometryCollection":
        return _shape(value)
    parts = value.get("geometries")
    shapes = [_shape(part) for part in parts] if isinstance(parts, list) else []
    return {"type": kind, "geometries": shapes} if shapes and None not in shapes else None


def _shape(value: Any) -> dict[str, Any] | None:
    if not isinstance(value, dict):
        return None
    kind, coordinates = value.get("type"), value.get("coordinates")
    depth = _DEPTHS.get(kind) if isinstance(kind, str) else None
    if depth is None or not _are_positions(coordinates, depth):
        return None
    return {"type": kind, "coordinates": coordinates}


def _are_positions(value: Any, depth: int) -> bool:
    if not isinstance(value, list) or not value:
        return False
    if depth:
        return all(_are_positions(one, depth - 1) for one in value)
    return len(value) in {2, 3, 4} and all(_is_coordinate(one) for one in value)


def _is_coordinate(value: Any) -> bool:
    return type(value) in {int, float} and -_FARTHEST < value < _FARTHEST


def box(text: str) -> dict[str, Any] | None:
    """A GeoJSON polygon, a point where the box has no extent.

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
