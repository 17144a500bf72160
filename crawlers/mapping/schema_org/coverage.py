"""Which time and which places a dataset is about."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from crawlers.items import Place
from crawlers.mapping.data_json.coverage import covered
from crawlers.mapping.dcat.spatial import spatial as places
from crawlers.mapping.schema_org.shapes import notation, shape
from crawlers.rdf.namespaces import DCT, SCHEMA
from crawlers.rdf.terms import Literal

if TYPE_CHECKING:
    from crawlers.items import Period
    from crawlers.mapping.data_json.node import Node
    from crawlers.rdf import terms as rdf

_TIMES = ("temporalCoverage", "temporal", "datasetTimeInterval")
_PLACES = ("spatialCoverage", "spatial")
_MOST = 1000
_ADDRESS = ("streetAddress", "addressLocality", "addressRegion", "addressCountry")


def temporal(fields: Node) -> Period | None:
    """From the start of the first period to the end of the last: intervals, dates, or objects with two ends."""
    return covered(fields, "temporalCoverage", fields.many(*_TIMES)[:_MOST], _ends)


def _ends(fields: Node) -> rdf.Node:
    texts = {name: fields.text(name) for name in ("startDate", "endDate")}
    found: rdf.Node = {SCHEMA + name: [Literal(text)] for name, text in texts.items() if text}
    return found or {DCT + "title": [Literal(text) for text in fields.texts("name")]}


def spatial(fields: Node) -> list[Place]:
    """Names, IRIs, and shapes: schema.org's own, or GeoJSON and WKT in their place."""
    found = [_place(fields, where, value) for where, value in fields.many(*_PLACES)[:_MOST]]
    return list({repr(one): one for one in found if one}.values())


def _place(fields: Node, where: str, value: Any) -> Place | None:
    if not isinstance(value, dict):
        found = _written(fields.written(where, value))
    elif shaped := notation(value):
        found = Place(geometry=shaped)
    else:
        found = _described(fields.node(where, value))
    if not found:
        fields.flaw(f"{fields.path}{where} is no place")
    return found


def _written(text: str | None) -> Place | None:
    return next(iter(places({}, {DCT + "spatial": [Literal(text)]})), None) if text else None


def _described(fields: Node) -> Place | None:
    uri = fields.iri() or fields.link("sameAs")
    name = fields.text("name", "alternateName") or _address(fields)
    found = Place(name=name, uri=uri, geometry=_geometry(fields))
    known = _written(uri) if uri else None
    found.code = known.code if known else None
    return found if found.name or found.uri or found.geometry else None


def _geometry(fields: Node) -> dict[str, Any] | None:
    for where, value in fields.many("geo")[:_MOST]:
        found = notation(value) or (shape(fields.node(where, value)) if isinstance(value, dict) else None)
        if found:
            return found
        fields.flaw(f"{fields.path}{where} is no shape")
    return shape(fields)


def _address(fields: Node) -> str | None:
    for where, value in fields.many("address"):
        if not isinstance(value, dict):
            return fields.written(where, value)
        address = fields.node(where, value)
        return ", ".join(filter(None, map(address.text, _ADDRESS))) or None
    return None
