"""schema.org's shapes, which write the latitude first, as GeoJSON."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

from crawlers.mapping.dcat.spatial import spatial
from crawlers.mapping.places import geometry as geojson
from crawlers.rdf.namespaces import DCT
from crawlers.rdf.terms import Literal

if TYPE_CHECKING:
    from collections.abc import Iterator

    from crawlers.mapping.data_json.node import Node

_Position = list[float]
_Shape = dict[str, Any]

_LONGEST = 1_500_000
_NUMBER = re.compile(r"[-+]?(?:[0-9]++(?:\.[0-9]*+)?|\.[0-9]++)(?:[eE][-+]?[0-9]{1,3})?+")
_NUMBERS = re.compile(r"[-+0-9.eE\s,;()]++")
_MOST = 100
_KINDS = ("polygon", "box", "line", "circle")


def shape(fields: Node) -> _Shape | None:
    """Of a GeoShape or GeoCoordinates, or a Place that has their properties itself: the most exact one.

    Numbers that are no position with the latitude first, but are one with the longitude first, are taken so.

    >>> from crawlers.mapping.data_json.node import Node
    >>> shape(Node({"@type": "GeoShape", "box": "46.3 9.5 49.0 17.2"}))["coordinates"][0][0]
    [9.5, 46.3]
    >>> shape(Node({"latitude": "47.1", "longitude": 15.4})), shape(Node({"polygon": "1 2 3"}))
    ({'type': 'Point', 'coordinates': [15.4, 47.1]}, None)
    """
    for kind in _KINDS:
        for _, value in fields.many(kind)[:_MOST]:
            if found := _written(kind, value) if isinstance(value, str) else notation(value):
                return found
    latitude, longitude = fields.text("latitude"), fields.text("longitude")
    return _written("point", f"{latitude} {longitude}") if latitude and longitude else None


def notation(value: Any) -> _Shape | None:
    """GeoJSON as an object, or as a text; WKT; a box with commas, longitude first. Nothing that is not on Earth."""
    if found := geojson(value):
        value = json.dumps(found)
    if not isinstance(value, str):
        return None
    places = spatial({}, {DCT + "spatial": [Literal(value)]})
    return next((one.geometry for one in places), None)


def _written(kind: str, text: str) -> _Shape | None:
    if len(text) > _LONGEST:
        return None
    if not _NUMBERS.fullmatch(text):
        return notation(text)
    numbers = [float(one) for one in _NUMBER.findall(text)]
    return _drawn(kind, numbers) or _drawn(kind, _swapped(kind, numbers))


def _swapped(kind: str, numbers: list[float]) -> list[float]:
    centre, rest = (numbers[:2], numbers[2:]) if kind == "circle" else (numbers, [])
    return [one for pair in _pairs(centre) for one in pair] + rest


def _drawn(kind: str, numbers: list[float]) -> _Shape | None:
    return notation(next(_SHAPES[kind](numbers), None))


def _pairs(numbers: list[float]) -> list[_Position]:
    """Longitude, latitude."""
    return [list(pair) for pair in zip(numbers[1::2], numbers[::2], strict=False)]


def _point(numbers: list[float]) -> Iterator[_Shape]:
    if len(numbers) == 2:
        yield {"type": "Point", "coordinates": _pairs(numbers)[0]}


def _circle(numbers: list[float]) -> Iterator[_Shape]:
    """Its centre: GeoJSON has no circles."""
    if len(numbers) == 3:
        yield from _point(numbers[:2])


def _line(numbers: list[float]) -> Iterator[_Shape]:
    if len(numbers) >= 4 and not len(numbers) % 2:
        yield {"type": "LineString", "coordinates": _pairs(numbers)}


def _box(numbers: list[float]) -> Iterator[str]:
    """One corner, and the one opposite."""
    if len(numbers) == 4:
        south, west, north, east = numbers
        yield f"{west},{south},{east},{north}"


def _polygon(numbers: list[float]) -> Iterator[_Shape]:
    """A ring that was left open is closed."""
    ring = _pairs(numbers)
    if len(ring) >= 3 and not len(numbers) % 2:
        yield {"type": "Polygon", "coordinates": [ring if ring[0] == ring[-1] else [*ring, ring[0]]]}


_SHAPES = {"point": _point, "circle": _circle, "line": _line, "box": _box, "polygon": _polygon}
