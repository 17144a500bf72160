"""Well-known text, which more catalogues read than GeoJSON."""

from __future__ import annotations

from typing import Any


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


def centre(geometry: dict[str, Any]) -> str | None:
    """Return the centre of a polygon's bounds, or a point itself, in well-known text; of other shapes none.

    >>> centre({"type": "Polygon", "coordinates": [[[1, 2], [3, 2], [3, 4], [1, 2]]]})
    'POINT(2.0 3.0)'
    """
    if geometry["type"] == "Point":
        return wkt(geometry)
    if geometry["type"] not in ("Polygon", "MultiPolygon"):
        return None
    polygons = [geometry["coordinates"]] if geometry["type"] == "Polygon" else geometry["coordinates"]
    longitudes, latitudes = zip(*((at[0], at[1]) for polygon in polygons for at in polygon[0]), strict=True)
    middle = [(min(each) + max(each)) / 2 for each in (longitudes, latitudes)]
    return f"POINT({_position(middle)})"


def is_box(geometry: dict[str, Any]) -> bool:
    """Return whether a shape is a rectangle of longitudes and latitudes.

    >>> is_box({"type": "Polygon", "coordinates": [[[1, 2], [3, 2], [3, 4], [1, 4], [1, 2]]]})
    True
    """
    if geometry["type"] != "Polygon" or len(geometry["coordinates"]) != 1 or len(geometry["coordinates"][0]) != 5:
        return False
    ring = geometry["coordinates"][0]
    corners = {(at[0], at[1]) for at in ring}
    return len(corners) == 4 and all(len({corner[axis] for corner in corners}) == 2 for axis in (0, 1))
