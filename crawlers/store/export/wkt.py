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
