"""Places in all forms: a table of what publishers write, and what hostile ones may."""

from __future__ import annotations

import csv
import json
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from time import process_time
from typing import Any

import pytest

from crawlers.items import Place
from crawlers.records.geometries import geometry
from crawlers.records.places import places_of
from crawlers.records.record import FLAWS, Record
from crawlers.safety import bounds
from crawlers.store.export.nodes import wkt

with (Path(__file__).parent / "places.csv").open(encoding="utf-8", newline="") as file:
    TABLE = list(csv.DictReader(file))


def read(value: Any) -> tuple[list[Place], Record]:
    record = Record({})
    return places_of(record, [("spatial", value)]), record


def shown(value: Any) -> str:
    """What is found, as the table has it."""
    found, record = read(value)
    return " | ".join([*map(parts, found), *("flaw" for _ in record.flaws)])


def parts(place: Place) -> str:
    written = {"name": place.name, "uri": place.uri, "code": place.code}
    shape = place.geometry
    drawn = [f"{shape['type']} {json.dumps(plain(shape['coordinates']), separators=(',', ':'))}"] if shape else []
    return " + ".join([*(f"{name} {text}" for name, text in written.items() if text), *drawn])


def plain(coordinates: Any) -> Any:
    """Whole numbers without a point."""
    if isinstance(coordinates, list):
        return list(map(plain, coordinates))
    return int(coordinates) if coordinates == int(coordinates) else coordinates


def test_each_form() -> None:
    assert len(TABLE) > 250
    wrong = []
    for row in TABLE:
        found = shown(json.loads(row["value"]) if row["given_as"] == "json" else row["value"])
        if found != row["found"]:
            wrong.append(f"{row['form']}: {row['value'][:40]} is {found}, not {row['found']}")
    assert wrong == []


def test_the_table_has_each_row_once() -> None:
    given = [(row["given_as"], row["value"]) for row in TABLE]
    assert len(set(given)) == len(given)
    assert all(row.keys() == {"form", "given_as", "value", "found"} for row in TABLE)


def test_what_is_read_can_be_exported_and_read_again() -> None:
    values = [json.loads(row["value"]) if row["given_as"] == "json" else row["value"] for row in TABLE]
    shapes = [place.geometry for value in values for place in read(value)[0] if place.geometry]
    assert len(shapes) > 100
    for shape in shapes:
        again = geometry(wkt(shape))
        assert again == shape or "1795" in str(shape), "WKT has no heights"


# Flaws


@pytest.mark.parametrize(
    ("value", "sentence", "field"),
    [
        ("POINT(500000 5200000)", "spatial 'POINT(500000 5200000)' is no place", "spatial"),
        (["POINT(1 91)"], "spatial[0] 'POINT(1 91)' is no place", "spatial"),
        ({"name": "Graz", "bbox": "GML"}, "spatial.bbox 'GML' is no place", "spatial.bbox"),
        ({"type": "Point"}, "spatial {'type': 'Point'} is no place", "spatial"),
        (10**5000, "spatial of many digits is no place", "spatial"),
        ("POINT(" + "9" * 500 + " 1)", f"spatial 'POINT({'9' * 54}' is no place", "spatial"),
    ],
    ids=["a text", "a list", "a shape of an object", "an object", "a number", "a long text"],
)
def test_what_a_flaw_says(value: Any, sentence: str, field: str) -> None:
    _, record = read(value)
    (flaw,) = record.flaws
    assert (flaw, flaw.field, flaw.kind) == (sentence, field, "unreadable_value")


def test_many_unreadable_places_are_some_flaws() -> None:
    assert len(read([f"POINT({number} 91)" for number in range(500)])[1].flaws) == FLAWS + 1


def test_more_places_than_are_read_are_a_flaw() -> None:
    found, record = read([f"Place {number}" for number in range(1_002)])
    assert len(found) == 1_000
    assert [(flaw, flaw.kind) for flaw in record.flaws] == [
        ("spatial: 1002 places, 1000 are read: the document has all", "cut_value")
    ]


@pytest.mark.parametrize("is_text", [True, False])
def test_a_field_has_a_bound_on_what_is_read(is_text: bool) -> None:
    line = {"type": "LineString", "coordinates": [[number / 1000, 2] for number in range(40_000)]}
    lines = [{"name": f"Line {number}", "geometry": json.dumps(line) if is_text else line} for number in range(20)]
    found, record = read(lines)
    (flaw,) = record.flaws
    assert (flaw.kind, flaw.partition(" and ")[0]) == ("cut_value", f"spatial[{len(found)}]")
    assert 4 <= len(found) < 20


def test_a_shape_of_too_many_parts_takes_no_time() -> None:
    points = [{"type": "Point", "coordinates": [1, 2]}] * 2_000_000
    before = process_time()
    found, record = read({"type": "GeometryCollection", "geometries": points})
    assert process_time() - before < 1
    assert (found, [flaw.kind for flaw in record.flaws]) == ([], ["cut_value"])


# Several notations of one shape


def test_one_polygon_in_three_notations_is_one() -> None:
    """As SEMIC's GeoDCAT-AP writes it: the rings begin at other corners, and turn the other way."""
    envelope = (
        "<gml:Envelope><gml:lowerCorner>1 2</gml:lowerCorner><gml:upperCorner>3 4</gml:upperCorner></gml:Envelope>"
    )
    ring = [[1, 4], [3, 4], [3, 2], [1, 2], [1, 4]]
    texts = [envelope, "POLYGON((1 4, 3 4, 3 2, 1 2, 1 4))", json.dumps({"type": "Polygon", "coordinates": [ring]})]
    found = geometry(*texts)
    assert found
    assert (found["type"], found) == ("Polygon", geometry(*reversed(texts)))


def test_a_ring_that_meets_its_least_corner_twice_is_one_in_two_notations() -> None:
    corners = ["0 0", "3 0", "3 3", "0 0", "2 5", "1 5"]
    turned = [[*corners[start:], *corners[:start]] for start in range(len(corners))]
    texts = [f"POLYGON(({', '.join([*ring, ring[0]])}))" for one in turned for ring in (one, one[::-1])]
    for text in texts:
        found = geometry(texts[0], text)
        assert found
        assert found["type"] == "Polygon", text


def test_two_polygons_with_the_same_corners_are_two() -> None:
    rings = ["0 0, 4 0, 4 4, 0 4, 2 2, 0 0", "0 0, 2 2, 4 0, 4 4, 0 4, 0 0"]
    found = geometry(*(f"POLYGON(({ring}))" for ring in rings))
    assert found
    assert (found["type"], len(found["coordinates"])) == ("MultiPolygon", 2)
    turned = "2 2, 0 4, 4 4, 4 0, 0 0, 2 2"
    assert geometry(*(f"POLYGON(({ring}))" for ring in (*rings, turned))) == found


def test_the_source_is_not_changed() -> None:
    given = {"type": "Polygon", "coordinates": [[[1, 2], [3, 2], [3, 4]]]}
    before = json.dumps(given)
    assert geometry(given)
    assert json.dumps(given) == before


# Hostile


def nested(kind: str, member: str, depth: int) -> Any:
    value: Any = {"type": "Point", "coordinates": [1, 2]}
    for _ in range(depth):
        value = {"type": kind, member: [value]}
    return value


HOSTILE: dict[str, Callable[[], Any]] = {
    "digits": lambda: "POLYGON((" + "1" * 1_000_000,
    "positions": lambda: "POLYGON((" + "1 1," * 370_000 + "1 1))",
    "blanks": lambda: "POINT(" + " " * 1_000_000 + "1 2",
    "brackets": lambda: "POLYGON" + "(" * 1_000_000,
    "points": lambda: "POLYGON((" + "1.1." * 300_000,
    "exponents": lambda: "POLYGON((" + "1e" * 600_000,
    "objects": lambda: '{"geometry":' * 100_000,
    "lists": lambda: "[" * 1_000_000,
    "an envelope": lambda: "ENVELOPE(" + "1" * 1_000_000 + ")",
    "limits": lambda: "northlimit=" * 100_000,
    "an address": lambda: "<http://" + "a" * 1_000_000,
    "components": lambda: "a = " * 300_000,
    "numbers": lambda: "1 " * 600_000,
    "commas": lambda: "1," * 600_000,
    "a drawing": lambda: {"polygon": "1 1 " * 370_000},
    "a collection": lambda: "GEOMETRYCOLLECTION(" + "POINT(1 91)," * 100_000 + ")",
    "collections": lambda: nested("GeometryCollection", "geometries", 500),
    "features": lambda: nested("FeatureCollection", "features", 500),
    "GeoJSON": lambda: {"type": "Polygon", "coordinates": [[[1, 2]] * 2_000_000]},
    "GeoJSON of texts": lambda: {"type": "Polygon", "coordinates": [[["1", "x"]] * 100_000]},
    "tags": lambda: "<a>" * 400_000,
    "a shape among tags": lambda: "<a><Point><pos>1 2</pos></Point>" + "<a/>" * 100_000 + "</a>",
    "short tags": lambda: "<a/>" * 370_000,
    "a reference system": lambda: f'<a srsName="http://{"/EPSG/" * 10_000}">{"<b/>" * 20_000}</a>',
    "a reference system of WKT": lambda: f"<http://{'/EPSG/' * 200_000}> POINT(181 200)",
    "polygons in polygons": lambda: "<Polygon>" * 250 + "<pos>1 1</pos>" * 90_000,
    "a list of positions": lambda: f"<Polygon><posList>{'1 1 ' * 370_000}</posList></Polygon>",
    "coordinates": lambda: "<Polygon><coordinates>" + " " * 1_400_000 + "</coordinates></Polygon>",
    "entities": lambda: "<Point><pos>&a;&b;</pos></Point>" * 3_000,
    "a DTD": lambda: '<!DOCTYPE a [<!ENTITY b "' + "x" * 1_000_000 + '">]><a>&b;</a>',
}


@pytest.mark.parametrize("made", HOSTILE.values(), ids=HOSTILE.keys())
def test_hostile_places_are_bounded(made: Callable[[], Any]) -> None:
    value = made()
    begun = process_time()
    found, record = read(value)
    assert (found, len(record.flaws)) == ([], 1)
    assert process_time() - begun < 5


@pytest.mark.parametrize("name", ["a drawing", "a list of positions", "GeoJSON", "short tags", "positions"])
def test_the_memory_of_hostile_places_is_bounded(name: str) -> None:
    value = HOSTILE[name]()
    tracemalloc.start()
    try:
        assert read(value)[0] == []
        assert tracemalloc.get_traced_memory()[1] < 32_000_000
    finally:
        tracemalloc.stop()


def test_of_many_shapes_under_one_name_the_first_are_read() -> None:
    for word in ("geometry", "box"):
        assert geometry({word: ["POINT(1 200)"] * 999 + ["POINT(1 2)"]})
        assert not geometry({word: ["POINT(1 200)"] * 1_000 + ["POINT(1 2)"]})


def test_a_shape_of_as_many_positions_as_may_be() -> None:
    most = bounds.POSITIONS.most
    ring = [[number / most, 1 + number / most] for number in range(most - 1)]
    for rings in (ring, [*ring, ring[0]]):
        assert geometry({"type": "Polygon", "coordinates": [rings]})
        assert geometry(f"POLYGON(({','.join(f'{x} {y}' for x, y in rings)}))")
    assert not geometry({"type": "LineString", "coordinates": [*ring, *ring]})
