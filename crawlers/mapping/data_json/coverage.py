"""Which time and which places a dataset is about."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from crawlers.items import Place
from crawlers.mapping.data_json.node import label
from crawlers.mapping.dcat.spatial import spatial as places
from crawlers.mapping.dcat.temporal import temporal as periods
from crawlers.mapping.places import geometry
from crawlers.rdf.namespaces import DCAT, DCT, RDF
from crawlers.rdf.terms import Literal

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from crawlers.items import Period
    from crawlers.mapping.data_json.node import Node
    from crawlers.rdf import terms as rdf

_ENDS = {
    DCAT + "startDate": ("startDate", "start"),
    DCAT + "endDate": ("endDate", "end"),
    RDF + "value": ("@value", "label"),
}
_NAMES = ("prefLabel", "label", "title", "name", "altLabel")
_SHAPES = ("geometry", "bbox", "centroid", "@value")
_SIDES = ("westBoundingLongitude", "southBoundingLatitude", "eastBoundingLongitude", "northBoundingLatitude")
_FARTHEST = 180


def temporal(fields: Node) -> Period | None:
    """From the start of the first period to the end of the last, in any notation that DCAT has for them."""
    return covered(fields, "temporal", fields.many("temporal"), _ends)


def covered(
    fields: Node, name: str, given: Sequence[tuple[str, Any]], ends: Callable[[Node], rdf.Node]
) -> Period | None:
    """
    Args:
        name: the field's, for people.
        given: the values, and where each stands.
        ends: what an object says of its ends.
    """
    if not given:
        return None
    nodes = {f"_:{where}": ends(fields.node(where, value)) for where, value in given if isinstance(value, dict)}
    texts = (fields.written(where, value) for where, value in given if not isinstance(value, dict))
    found = periods(nodes, {DCT + "temporal": [*nodes, *(Literal(text) for text in texts if text)]})
    if not found:
        fields.flaw(f"{name} is no period")
    return found


def _ends(fields: Node) -> rdf.Node:
    return {predicate: [Literal(text)] for predicate, names in _ENDS.items() if (text := fields.text(*names))}


def spatial(fields: Node) -> list[Place]:
    """Names, IRIs, boxes, GeoJSON and WKT, as texts, or in a Location's fields."""
    given = fields.value("spatial")
    listed = [("spatial", given)] if _is_box(given) else fields.many("spatial")
    found = [_place(fields, *one) for one in listed]
    found += [_read(_sides(one)) for one in fields.nodes("geographicBoundingBox")]
    return [one for one in found if one]


def _place(fields: Node, where: str, value: Any) -> Place | None:
    located = isinstance(value, dict) and not geometry(value)
    found = _location(fields.node(where, value)) if located else _read(_notation(value))
    if not found:
        fields.flaw(f"{fields.path}{where} is no place")
    return found


def _read(notation: str | None) -> Place | None:
    return next(iter(places({}, {DCT + "spatial": [Literal(notation)]})), None) if notation else None


def _location(fields: Node) -> Place | None:
    """The most exact of its shapes."""
    uri, name = fields.iri(), fields.text(*_NAMES)
    shapes = (_read(_notation(fields.value(key))) for key in _SHAPES)
    shape = next((one.geometry for one in shapes if one and one.geometry), None)
    if not uri and not name and not shape:
        return None
    found = next(iter(places({uri: {}}, {DCT + "spatial": [uri]})), None) if uri else None
    return Place(name=name, code=found.code if found else None, uri=uri, geometry=shape)


def _notation(value: Any) -> str | None:
    """What it is as a text; ArcGIS Hub writes a box as a list: west, south, east, north."""
    if _is_box(value):
        return ",".join(map(str, value))
    shape = geometry(value)
    return json.dumps(shape) if shape else label(value)


def _is_box(value: Any) -> bool:
    return isinstance(value, list) and len(value) == 4 and all(map(_is_degree, value))


def _is_degree(value: Any) -> bool:
    return type(value) in {int, float} and abs(value) <= _FARTHEST


def _sides(fields: Node) -> str:
    return ",".join(fields.text(side) or "" for side in _SIDES)
