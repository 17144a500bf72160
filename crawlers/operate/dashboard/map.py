"""A map as SVG: shapes of a dataset over the outlines of the countries, longitudes across and latitudes up."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from itertools import accumulate, chain
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

_POINTS = 5_000  # that are drawn, at most
_LEAST = 24.0  # degrees across: less shows no country whole
_AROUND = 0.35  # of the shapes' width, on each side
_WIDTH, _HEIGHT = 360.0, 180.0
_DRAWN = ("area", "line")


class Box(NamedTuple):
    """A part of the map, in degrees."""

    west: float
    south: float
    east: float
    north: float

    def meets(self, other: Box) -> bool:
        """Return whether two have a point in common."""
        is_beside = self.east < other.west or other.east < self.west
        return not (is_beside or self.north < other.south or other.north < self.south)


@dataclass(frozen=True, slots=True)
class Map:
    """What is drawn.

    Args:
        view: the part of the world, as ``viewBox`` has it: north is up, so latitudes are negative.
        countries: their outlines there, as a path.
        areas: polygons, as a path.
        lines: lines, as a path.
        points: longitude and latitude, the latter negative.
        dot: the radius of a point.
        says: the sides of the shapes in words.
    """

    view: str
    countries: str
    areas: str
    lines: str
    points: tuple[tuple[float, float], ...]
    dot: float
    says: str


def drawn(geometries: Iterable[dict[str, Any]]) -> Map | None:
    """Return the map of some shapes; ``None`` if there is none.

    Args:
        geometries: GeoJSON of `crawlers.items.Place`, longitude first.

    >>> of_graz = drawn([{"type": "Point", "coordinates": [15.4, 47.1]}])
    >>> of_graz.view, of_graz.points, of_graz.says
    ('3.4 -53.1 24.0 12.0', ((15.4, -47.1),), '47.1° N, 15.4° E')
    >>> drawn([{"type": "Polygon", "coordinates": [[[-20, -10], [-20, 5.25], [30, 5.25], [-20, -10]]]}]).says
    '10° S to 5.25° N, 20° W to 30° E'
    >>> drawn([])
    """
    shapes = list(chain.from_iterable(map(_shapes, geometries)))
    points = [point for _, line in shapes for point in line]
    if not points:
        return None
    step = -(-len(points) // _POINTS)
    across, up = [point[0] for point in points], [point[1] for point in points]
    box = Box(min(across), min(up), max(across), max(up))
    view = _view(box)
    areas, lines = ("".join(_path(line[::step], kind) for one, line in shapes if one == kind) for kind in _DRAWN)
    dots = [(round(x, 4), round(-y, 4)) for kind, line in shapes if kind == "point" for x, y in line]
    return Map(
        f"{view.west:.5g} {-view.north:.5g} {view.east - view.west:.1f} {view.north - view.south:.1f}",
        "".join(path for extent, path in _countries() if extent.meets(view)),
        areas,
        lines,
        tuple(dots[::step]),
        round((view.east - view.west) / 120, 3),
        _said(box),
    )


def _shapes(geometry: dict[str, Any]) -> Iterator[tuple[str, list[tuple[float, float]]]]:
    """Yield each ring, line and set of points, in degrees."""
    kind, coordinates = geometry["type"], geometry.get("coordinates", ())
    if kind == "GeometryCollection":
        yield from chain.from_iterable(map(_shapes, geometry["geometries"]))
    elif kind in ("Point", "MultiPoint"):
        yield "point", _positions([coordinates] if kind == "Point" else coordinates)
    elif kind in ("LineString", "MultiLineString"):
        yield from (("line", _positions(line)) for line in ([coordinates] if kind == "LineString" else coordinates))
    else:
        polygons = [coordinates] if kind == "Polygon" else coordinates
        yield from (("area", _positions(ring)) for rings in polygons for ring in rings)


def _positions(written: Iterable[Sequence[float]]) -> list[tuple[float, float]]:
    return [(float(position[0]), float(position[1])) for position in written]


def _view(box: Box) -> Box:
    """Return the part that is shown: the shapes with what is around them, twice as wide as high, on the map."""
    width = min(_WIDTH, max(_LEAST, (1 + 2 * _AROUND) * max(box.east - box.west, 2 * (box.north - box.south))))
    height = width / 2
    west = min(max((box.west + box.east - width) / 2, -_WIDTH / 2), _WIDTH / 2 - width)
    south = min(max((box.south + box.north - height) / 2, -_HEIGHT / 2), _HEIGHT / 2 - height)
    return Box(west, south, west + width, south + height)


def _path(line: Sequence[tuple[float, float]], kind: str) -> str:
    text = " ".join(f"{x:.5g},{-y:.5g}" for x, y in line)
    return f"M{text}{'Z' if kind == 'area' else ''}"


@cache
def _countries() -> list[tuple[Box, str]]:
    """Return the outlines of the countries: where each line lies, and its path."""
    found = []
    for line in json.loads(files("crawlers.operate.dashboard").joinpath("outlines.json").read_bytes()):
        across, up = line[::2], line[1::2]
        xs, ys = list(accumulate(across)), list(accumulate(up))
        steps = " ".join(f"{x / 10:g},{-y / 10:g}" for x, y in zip(across[1:], up[1:], strict=True))
        extent = Box(min(xs) / 10, min(ys) / 10, max(xs) / 10, max(ys) / 10)
        found.append((extent, f"M{xs[0] / 10:g},{-ys[0] / 10:g}l{steps}"))
    return found


def _said(box: Box) -> str:
    sides = ((box.south, box.north, "SN"), (box.west, box.east, "WE"))
    return ", ".join(" to ".join(dict.fromkeys(_degrees(side, ends) for side in pair)) for *pair, ends in sides)


def _degrees(value: float, ends: str) -> str:
    return f"{abs(round(value, 2)):g}° {ends[value >= 0]}"
