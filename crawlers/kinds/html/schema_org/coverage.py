"""Which time and which places a dataset is about; schema.org's shapes write the latitude first."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

from crawlers.items import Place
from crawlers.kinds.dcat.data_json.coverage import covered
from crawlers.values import xsd_date
from crawlers.values.linked import LinkedRecord
from crawlers.values.periods import any_period, between
from crawlers.values.places import Geometry, any_place, country, outline
from crawlers.values.places import geometry as geojson

if TYPE_CHECKING:
    from collections.abc import Iterator

    from crawlers.items import Period

_TIMES = ("temporalCoverage", "temporal", "datasetTimeInterval")
_PLACES = ("spatialCoverage", "spatial")
_MOST = 1000
_REGION = ("addressLocality", "addressRegion", "addressCountry")
_ADDRESS = ("streetAddress", *_REGION)
_LONGEST = 1_500_000
_NUMBER = re.compile(r"[-+]?(?:[0-9]++(?:\.[0-9]*+)?|\.[0-9]++)(?:[eE][-+]?[0-9]{1,3})?+")
_NUMBERS = re.compile(r"[-+0-9.eE\s,;()]++")
_MOST_SHAPES = 100
_KINDS = ("polygon", "box", "line", "circle")


def temporal(fields: LinkedRecord) -> Period | None:
    """Return the period from the first start to the last end: of intervals, dates, or objects with two ends."""
    return covered(fields, "temporalCoverage", fields.many(*_TIMES)[:_MOST], _described_period)


def _described_period(fields: LinkedRecord) -> Period | None:
    """Return the period of an object; its name counts where it has no ends."""
    texts = {name: fields.text(name) for name in ("startDate", "endDate")}
    if any(texts.values()):
        return between(xsd_date(texts["startDate"] or ""), xsd_date(texts["endDate"] or ""))
    return next(filter(None, map(any_period, sorted(fields.texts("name")))), None)


def spatial(fields: LinkedRecord) -> list[Place]:
    """Return names, IRIs, and shapes: schema.org's own, or GeoJSON and WKT in their place."""
    found = [_place(fields, where, value) for where, value in fields.many(*_PLACES)[:_MOST]]
    return list({repr(each): each for each in found if each}.values())


def _place(fields: LinkedRecord, where: str, value: Any) -> Place | None:
    if not isinstance(value, dict):
        found = any_place(fields.as_text(where, value) or "")
    elif shaped := notation(value):
        found = Place(geometry=shaped)
    else:
        found = _described(fields.node(where, value))
    if not found:
        fields.flaw(f"{fields.path}{where} is no place", where)
    return found


def _described(fields: LinkedRecord) -> Place | None:
    uri = fields.iri() or fields.link("sameAs")
    name = fields.text("name", "alternateName") or _address(fields)
    found = Place(name=name, uri=uri, geometry=_geometry(fields), code=country(uri) if uri else None)
    return found if found.name or found.uri or found.geometry else None


def _geometry(fields: LinkedRecord) -> Geometry | None:
    for where, value in fields.many("geo")[:_MOST]:
        found = notation(value) or (shape(fields.node(where, value)) if isinstance(value, dict) else None)
        if found:
            return found
        fields.flaw(f"{fields.path}{where} is no shape", where)
    return shape(fields)


def _address(fields: LinkedRecord) -> str | None:
    for where, value in fields.many("address"):
        if not isinstance(value, dict):
            return fields.as_text(where, value)
        return ", ".join(filter(None, map(fields.node(where, value).text, _ADDRESS))) or None
    return None


def region(fields: LinkedRecord) -> tuple[str | None, str | None, str | None]:
    """Return country, state and city: of the first place that has an address, or is inside of others that are named."""
    for where, value in fields.many(*_PLACES)[:_MOST]:
        if isinstance(value, dict):
            place = fields.node(where, value)
            addresses = (place.node(*given) for given in place.many("address") if isinstance(given[1], dict))
            for address in (*addresses, place):
                city, state, country_ = map(address.text, _REGION)
                if country_ or state or city:
                    return country_, state, city
    return None, None, None


def shape(fields: LinkedRecord) -> Geometry | None:
    """Return the most exact shape of a GeoShape or GeoCoordinates, or of a Place that has their properties itself.

    Numbers that are no position with the latitude first, but are one with the longitude first, are taken so.

    >>> shape(LinkedRecord({"@type": "GeoShape", "box": "46.3 9.5 49.0 17.2"}))["coordinates"][0][0]
    [9.5, 46.3]
    >>> shape(LinkedRecord({"latitude": "47.1", "longitude": 15.4})), shape(LinkedRecord({"polygon": "1 2 3"}))
    ({'type': 'Point', 'coordinates': [15.4, 47.1]}, None)
    """
    for kind in _KINDS:
        for _, value in fields.many(kind)[:_MOST_SHAPES]:
            if found := _written(kind, value) if isinstance(value, str) else notation(value):
                return found
    latitude, longitude = fields.text("latitude"), fields.text("longitude")
    return _written("point", f"{latitude} {longitude}") if latitude and longitude else None


def notation(value: Any) -> Geometry | None:
    """Return the shape of GeoJSON, an object or its text; of WKT; of a box with commas, longitude first."""
    if found := geojson(value):
        value = json.dumps(found)
    return outline(value) if isinstance(value, str) else None


def _written(kind: str, text: str) -> Geometry | None:
    if len(text) > _LONGEST:
        return None
    if not _NUMBERS.fullmatch(text):
        return notation(text)
    numbers = [float(each) for each in _NUMBER.findall(text)]
    return _drawn(kind, numbers) or _drawn(kind, _swapped(kind, numbers))


def _swapped(kind: str, numbers: list[float]) -> list[float]:
    centre, rest = (numbers[:2], numbers[2:]) if kind == "circle" else (numbers, [])
    return [each for pair in _pairs(centre) for each in pair] + rest


def _drawn(kind: str, numbers: list[float]) -> Geometry | None:
    return notation(next(_SHAPES[kind](numbers), None))


def _pairs(numbers: list[float]) -> list[list[float]]:
    """Return longitudes and latitudes."""
    return [list(pair) for pair in zip(numbers[1::2], numbers[::2], strict=False)]


def _point(numbers: list[float]) -> Iterator[Geometry]:
    if len(numbers) == 2:
        yield {"type": "Point", "coordinates": _pairs(numbers)[0]}


def _circle(numbers: list[float]) -> Iterator[Geometry]:
    """Yield the centre: GeoJSON has no circles."""
    if len(numbers) == 3:
        yield from _point(numbers[:2])


def _line(numbers: list[float]) -> Iterator[Geometry]:
    if len(numbers) >= 4 and not len(numbers) % 2:
        yield {"type": "LineString", "coordinates": _pairs(numbers)}


def _box(numbers: list[float]) -> Iterator[str]:
    """Yield the box of one corner and the opposite one."""
    if len(numbers) == 4:
        south, west, north, east = numbers
        yield f"{west},{south},{east},{north}"


def _polygon(numbers: list[float]) -> Iterator[Geometry]:
    """Yield the polygon of a ring, closed if it was left open."""
    ring = _pairs(numbers)
    if len(ring) >= 3 and not len(numbers) % 2:
        yield {"type": "Polygon", "coordinates": [ring if ring[0] == ring[-1] else [*ring, ring[0]]]}


_SHAPES = {"point": _point, "circle": _circle, "line": _line, "box": _box, "polygon": _polygon}
