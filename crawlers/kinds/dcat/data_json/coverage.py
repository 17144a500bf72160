"""Which time and which places a dataset is about."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from crawlers.items import Place
from crawlers.values import xsd_date
from crawlers.values.linked import label
from crawlers.values.periods import any_period, between, envelope, is_reversed
from crawlers.values.places import any_place, country, geometry, outline

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from crawlers.items import Period
    from crawlers.values.linked import LinkedRecord

_NAMES = ("prefLabel", "label", "title", "name", "altLabel")
_SHAPES = ("geometry", "bbox", "centroid", "@value")
_SIDES = ("westBoundingLongitude", "southBoundingLatitude", "eastBoundingLongitude", "northBoundingLatitude")
_FARTHEST = 180


def temporal(fields: LinkedRecord) -> Period | None:
    """Return the period from the start of the first one to the end of the last, in any notation that DCAT has."""
    return covered(fields, "temporal", fields.many("temporal"), _described)


def covered(
    fields: LinkedRecord,
    name: str,
    given: Sequence[tuple[str, Any]],
    described: Callable[[LinkedRecord], Period | None],
) -> Period | None:
    """Return the period that values cover together.

    Args:
        name: the field's, for the flaw.
        given: the values, and where each stands.
        described: reads an object.
    """
    if not given:
        return None
    nodes = [described(fields.node(place, value)) for place, value in given if isinstance(value, dict)]
    texts = (fields.as_text(place, value) for place, value in given if not isinstance(value, dict))
    found = [each for each in (*nodes, *(any_period(text) for text in texts if text)) if each and not is_reversed(each)]
    joined = envelope(found) if found else None
    if joined is None or not (joined.start or joined.end):
        fields.flaw(f"{name} is no period", name)
        return None
    return joined


def _described(fields: LinkedRecord) -> Period | None:
    """Return the period of an object with two ends, or with a period for its label."""
    start, end, named = fields.text("startDate", "start"), fields.text("endDate", "end"), fields.text("@value", "label")
    return between(xsd_date(start or ""), xsd_date(end or "")) or (any_period(named) if named else None)


def spatial(fields: LinkedRecord) -> list[Place]:
    """Return names, IRIs, boxes, GeoJSON and WKT, as texts, or in a Location's fields."""
    given = fields.value("spatial")
    listed = [("spatial", given)] if _is_box(given) else fields.many("spatial")
    found = [_place(fields, *each) for each in listed]
    boxes = (",".join(box.text(side) or "" for side in _SIDES) for box in fields.nodes("geographicBoundingBox"))
    found += map(any_place, boxes)
    return [each for each in found if each]


def _place(fields: LinkedRecord, place: str, value: Any) -> Place | None:
    if isinstance(value, dict) and not geometry(value):
        found = _location(fields.node(place, value))
    else:
        found = any_place(_notation(value) or "")
    if not found:
        fields.flaw(f"{fields.path}{place} is no place", place)
    return found


def _location(fields: LinkedRecord) -> Place | None:
    """Return the place of a Location, with the most exact of its shapes."""
    uri, name = fields.iri(), fields.text(*_NAMES)
    shapes = (outline(_notation(fields.value(key)) or "") for key in _SHAPES)
    shape = next(filter(None, shapes), None)
    if not uri and not name and not shape:
        return None
    return Place(name=name, code=country(uri) if uri else None, uri=uri, geometry=shape)


def _notation(value: Any) -> str | None:
    """Return a place as a text; ArcGIS Hub writes a box as a list: west, south, east, north."""
    if _is_box(value):
        return ",".join(map(str, value))
    shape = geometry(value)
    return json.dumps(shape) if shape else label(value)


def _is_box(value: Any) -> bool:
    return isinstance(value, list) and len(value) == 4 and all(map(_is_degree, value))


def _is_degree(value: Any) -> bool:
    return type(value) in {int, float} and abs(value) <= _FARTHEST
