"""data.json into records and items: every place a dataset can stand, hostile records."""

from __future__ import annotations

import copy
import random
from time import process_time
from typing import TYPE_CHECKING, Any

import pytest

from crawlers.items import Agent, License, Period, Place
from crawlers.records.data_json import dataset, identity, recognised, records
from crawlers.records.data_json.catalogue import DEEPEST
from crawlers.records.record import FLAWS
from tests.conftest import as_json
from tests.golden import GOLDEN, inputs, load

if TYPE_CHECKING:
    from collections.abc import Iterator

    from crawlers.items import Dataset, Resource

CASES = inputs("data_json")
POD = "https://project-open-data.cio.gov/v1.1/schema"
JUNK: list[Any] = [None, 0, 1.5, True, "", "x", [], {}, [None], {"a": 1}, float("nan"), float("inf"), 10**5000]
JUNK += ["\ud800", "[" * 5000, [[]], {"en": {}}, "NaN,1,2,3", {"@id": []}, {"@value": {"@value": {"@value": [{}]}}}]
JUNK += [[10**5000] * 4, {"@type": ["Catalog", 1]}, {"@type": "Dataset"}, [{"@language": 7}], "2999-01-01", "a@b"]
NESTED: list[Any] = []
for _ in range(500):
    NESTED = [NESTED]
JUNK += [NESTED, {"@id": NESTED, "label": NESTED}]


def mapped(record: dict[str, Any]) -> Dataset:
    return dataset(record, source="example", id=identity(record) or "none")


def ids(document: Any) -> list[Any]:
    return [identity(one.value) if isinstance(one.value, dict) else one.value for one in records(document)]


def named(name: str, **more: Any) -> dict[str, Any]:
    return {"@type": "Dataset", "identifier": name, "title": f"The {name}", **more}


def test_documents_are_the_records_themselves() -> None:
    record = load(GOLDEN / "data_json" / "pod11" / "input.json")
    before, distributions = copy.deepcopy(record), record["distribution"]
    item = mapped(record)
    assert item.document is record
    assert all(one.document is given for one, given in zip(item.resources, distributions, strict=True))
    assert record == before


RECORD = {"title": "Rivers", "identifier": "r", "accessLevel": "public"}


@pytest.mark.parametrize(
    "document",
    [
        {"dataset": []},
        {"conformsTo": POD, "dataset": [RECORD]},
        {"@context": f"{POD}/catalog.jsonld", "@type": "dcat:Catalog", "dataset": [RECORD]},
        {"@context": {"title": "http://purl.org/dc/terms/title"}, "conformsTo": POD, "dataset": [RECORD]},
        {"@type": "Catalog", "conformsTo": {"@type": "Standard", "title": "DCAT-US 3.0"}, "catalog": [{"dataset": []}]},
        {"conformsTo": "https://resources.data.gov/dcat-us/3.0", "dataset": RECORD},
        RECORD,
        {"@type": "DatasetSeries", "@id": "urn:a", "title": "Yearbooks", "publisher": {"name": "Office"}},
        [RECORD],
        [None, {"title": "Rivers", "identifier": "r"}],
    ],
)
def test_recognised(document: Any) -> None:
    assert recognised(document)


TITLE = "http://purl.org/dc/terms/title"


@pytest.mark.parametrize(
    "document",
    [
        None,
        "dataset",
        [],
        {},
        [1, "dataset"],
        {"error": "not found", "identifier": "x"},
        {"title": "An article", "identifier": "10.1/a", "journal": "Rivers"},
        {"help": "", "success": True, "result": [{"id": "a", "title": "A"}]},
        {"@graph": [RECORD], "dataset": []},
        {"@id": "urn:a", TITLE: "Rivers", **RECORD},
        [{"@id": "urn:a", "@type": ["http://www.w3.org/ns/dcat#Dataset"], TITLE: [{"@value": "Rivers"}]}],
        {"@context": "https://schema.org/", "@type": "Dataset", **RECORD},
        {"@context": {"title": TITLE}, "@type": "Dataset", **RECORD},
        {"@context": ["https://example.org/dcat-ap.jsonld"], "dataset": [RECORD]},
        {"@type": "DataCatalog", "dataset": [RECORD]},
    ],
)
def test_not_recognised(document: Any) -> None:
    assert not recognised(document)


def test_every_place_where_a_dataset_stands() -> None:
    series = {"@type": "DatasetSeries", "@id": "urn:series", "title": "S", "seriesMember": [named("member")]}
    document = {
        "@type": "Catalog",
        "record": [{"primaryTopic": named("topic")}, {"primaryTopic": "urn:other"}],
        "dataset": [named("first"), {"@type": "Catalog", "dataset": [named("inside")]}, 7, None, "urn:text"],
        "catalog": [{"title": "Child", "dataset": named("child"), "catalog": [{"dataset": [named("grandchild")]}]}],
        "datasetSeries": [series, "urn:elsewhere"],
        "service": [{"@type": "DataService", "identifier": "api", "title": "API", "servesDataset": [named("served")]}],
    }
    listed = ["first", "inside", 7, None, "urn:text", "child", "grandchild", "urn:series"]
    assert ids(document) == ["topic", *listed, "member", "served"]
    assert [one.place for one in records(document)][1:7:5] == ["dataset[0]", "catalog[0].dataset"]


def test_a_list_of_records_and_a_single_one() -> None:
    assert ids([named("a"), 5, named("b")]) == ["a", 5, "b"]
    assert ids(named("a")) == ["a"]
    assert ids({"@type": "dcat:Catalog", "dataset": None}) == []


def test_members_count_once() -> None:
    series = {"title": "S", "@id": "urn:s", "seriesMember": [named("a"), named("b")], "first": named("a")}
    document = {"datasetSeries": [{**series, "last": named("b")}], "dataset": [named("b"), named("b")]}
    assert ids({"dataset": [series]}) == ["urn:s", "a", "b"]
    assert ids(document) == ["urn:s", "a", "b", "b"]
    assert [one.place for one in records(document)] == [
        "datasetSeries[0]",
        "datasetSeries[0].seriesMember[0]",
        "dataset[0]",
        "dataset[1]",
    ]


def test_what_is_only_named_and_what_is_no_dataset() -> None:
    stub = {"@type": "Dataset", "@id": "urn:stub"}
    document = {
        "dataset": [named("a", hasPart=[named("part")], inSeries=[named("other")])],
        "datasetSeries": [{"@id": "urn:s", "title": "S", "seriesMember": [stub, "urn:b"]}],
        "service": [{"title": "API", "identifier": "api", "servesDataset": stub}, "urn:api"],
        "record": [{"primaryTopic": {"@type": "DataService", "title": "API", "identifier": "api"}}],
        "catalog": ["https://example.gov/other.json"],
    }
    assert ids(document) == ["a", "urn:s"]


def test_members_without_an_identifier_are_for_the_caller_to_report() -> None:
    members = [{"title": "One"}, {"title": "Two"}]
    series = {"title": "S", "@id": "urn:s", "seriesMember": members, "last": {"title": "Two"}}
    document = {"@type": "Catalog", "datasetSeries": series}
    assert [one.value["title"] for one in records(document)] == ["S", "One", "Two"]


def nest(levels: int, *deepest: dict[str, Any]) -> dict[str, Any]:
    document: dict[str, Any] = {"dataset": [*deepest]}
    for level in range(levels):
        document = {"dataset": [named(f"{level}")], "catalog": [document]}
    return document


def test_depth_is_bounded() -> None:
    assert ids(nest(DEEPEST - 1, named("deepest")))[-1] == "deepest"
    assert ids(nest(DEEPEST))[-1] == "0"
    found = ids(nest(5_000))
    assert len(found) == DEEPEST + 1
    assert found[-1] == f"nested more than {DEEPEST} deep"


FRANCE = "http://publications.europa.eu/resource/authority/country/FRA"
POINT = {"type": "Point", "coordinates": [1, 2]}
SQUARE = {"type": "Polygon", "coordinates": [[[1, 2], [3, 2], [3, 4], [1, 4], [1, 2]]]}
TRIANGLE = {"type": "Polygon", "coordinates": [[[1, 2], [3, 2], [3, 4], [1, 2]]]}


@pytest.mark.parametrize(
    ("spatial", "expected"),
    [
        ("United States", [Place(name="United States")]),
        ("http://sws.geonames.org/6252001/", [Place(uri="http://sws.geonames.org/6252001/")]),
        ({"type": "Point", "coordinates": [1, 2]}, [Place(geometry=POINT)]),
        ('{"type": "Point", "coordinates": [1, 2]}', [Place(geometry=POINT)]),
        ("POINT(1 2)", [Place(geometry=POINT)]),
        ({"@type": "Location", "geometry": "POINT(1 2)", "bbox": "3,4,3,4"}, [Place(geometry=POINT)]),
        ({"bbox": "POLYGON((1 2, 3 2, 3 4, 1 2))"}, [Place(geometry=TRIANGLE)]),
        ([1, 2, 1, 2], [Place(geometry=POINT)]),
        ({"bbox": "1,2,1,2"}, [Place(geometry=POINT)]),
        ({"prefLabel": "Ohio", "bbox": [1, 2]}, [Place(name="Ohio")]),
        ({"@id": FRANCE}, [Place(uri=FRANCE, code="FRA")]),
        (["Ohio", "Utah"], [Place(name="Ohio"), Place(name="Utah")]),
        ("1 2 3 4", [Place(geometry=SQUARE)]),
        ("POLYGON((1 2, 3 2, 3 4))", [Place(geometry=TRIANGLE)]),
        ([[1, 2, 3, 4], "1,2,1,2"], [Place(geometry=SQUARE), Place(geometry=POINT)]),
        ({"type": "envelope", "coordinates": [[1, 4], [3, 2]]}, [Place(geometry=SQUARE)]),
        ("2.0 1.0", [Place(geometry=POINT)]),
        ("<gml:Point><gml:pos>1 2</gml:pos></gml:Point>", [Place(geometry=POINT)]),
    ],
)
def test_spatial(spatial: Any, expected: list[Place]) -> None:
    found = mapped({**RECORD, "spatial": spatial})
    assert found.spatial == expected
    assert found.flaws == (["spatial.bbox [1, 2] is no place"] if "Ohio" in str(spatial) and "bbox" in spatial else [])


@pytest.mark.parametrize(
    ("spatial", "flaw"),
    [
        ([float("nan"), 2, 3, 4], "spatial [nan, 2, 3, 4] is no place"),
        ("{{extent:computeSpatialProperty}}", "spatial '{{extent:computeSpatialProperty}}' is no place"),
        ("500000 5200000", "spatial '500000 5200000' is no place"),
        ({"geometry": "POINT(1 91)", "bbox": "x"}, "spatial {'bbox': 'x', 'geometry': 'POINT(1 91)'} is no place"),
    ],
)
def test_what_is_no_place_is_a_flaw(spatial: Any, flaw: str) -> None:
    found = mapped({**RECORD, "spatial": spatial})
    assert (found.spatial, found.flaws[0]) == ([], flaw)


def test_a_box_of_dcat_us_3() -> None:
    sides = {"westBoundingLongitude": 1, "southBoundingLatitude": "2", "eastBoundingLongitude": 3}
    found = mapped({**RECORD, "geographicBoundingBox": sides | {"northBoundingLatitude": 4}})
    assert (found.spatial, found.flaws) == ([Place(geometry=SQUARE)], [])
    found = mapped({**RECORD, "geographicBoundingBox": sides})
    assert (found.spatial, len(found.flaws)) == ([], 1)


@pytest.mark.parametrize(
    ("temporal", "expected"),
    [
        ("2000-01-15T00:45:00Z/2010-01-15T00:06:00Z", Period(start="2000-01-15T00:45:00Z", end="2010-01-15T00:06:00Z")),
        ("2012-01-01/P1Y", Period(start="2012-01-01", end="2012-12-31")),
        ({"startDate": "2020", "endDate": "2021-03"}, Period(start="2020", end="2021-03")),
        (["2015/2016", {"startDate": "2020", "endDate": "2021"}], Period(start="2015", end="2021")),
        ({"label": "1999"}, Period(start="1999", end="1999")),
        ("lately", None),
    ],
)
def test_temporal(temporal: Any, expected: Period | None) -> None:
    item = mapped({**RECORD, "temporal": temporal})
    assert item.temporal == expected
    assert item.flaws == ([] if expected else ["temporal is no period"])


@pytest.mark.parametrize(
    ("modified", "date", "frequency", "flaws"),
    [
        ("2020-03", "2020-03", None, []),
        ("R/P1W", None, "WEEKLY", []),
        ("R/2012-01-01/P1M", None, "MONTHLY", []),
        ("daily", None, "DAILY", []),
        ("{{modified:toISO}}", None, None, []),
        ("2999-01-01", None, None, ["modified '2999-01-01' is in the future"]),
        ("last spring", None, None, ["modified 'last spring' is no date"]),
    ],
)
def test_modified(modified: str, date: str | None, frequency: str | None, flaws: list[str]) -> None:
    item = mapped({**RECORD, "modified": modified})
    assert (item.modified, item.frequency, item.flaws) == (date, frequency, flaws)


CC0 = "https://creativecommons.org/publicdomain/zero/1.0/"


@pytest.mark.parametrize(
    ("record", "expected"),
    [
        ({"license": CC0}, License(id="CC0-1.0", uri=CC0)),
        ({"license": {"@id": CC0, "title": "CC0"}}, License(id="CC0-1.0", uri=CC0, title="CC0")),
        ({"license": [None, "CC0-1.0"]}, License(id="CC0-1.0")),
        ({"rights": f"See {CC0}."}, License(id="CC0-1.0", uri=CC0)),
        ({"rights": "See https://example.gov/terms"}, None),
        ({"distribution": [{"license": CC0}, {"license": CC0}, {}]}, License(id="CC0-1.0", uri=CC0)),
        ({"distribution": [{"license": CC0}, {"license": "MIT"}]}, None),
        ({"license": "word " * 100}, License(text=("word " * 100).strip())),
    ],
)
def test_license(record: dict[str, Any], expected: License | None) -> None:
    assert mapped({**RECORD, **record}).license == expected


@pytest.mark.parametrize(
    ("publisher", "expected"),
    [
        ("Office", Agent(name="Office", role="publisher")),
        ("urn:office", Agent(uri="urn:office", role="publisher")),
        ([{"name": "Office"}, {"name": "Other"}], Agent(name="Office", role="publisher")),
        ({"@id": "urn:o", "subOrganizationOf": {"name": "Department"}}, Agent(name="Department", uri="urn:o")),
        ({"subOrganizationOf": {}}, None),
    ],
)
def test_publisher(publisher: Any, expected: Agent | None) -> None:
    if expected:
        expected.role = "publisher"
    assert mapped({**RECORD, "publisher": publisher}).publisher == expected


def test_organisations_are_not_climbed_for_ever() -> None:
    publisher: dict[str, Any] = {"name": "Government"}
    for _ in range(500):
        publisher = {"subOrganizationOf": publisher}
    assert mapped({**RECORD, "publisher": publisher}).publisher is None


@pytest.mark.parametrize(
    ("keyword", "expected"),
    [
        ("a, b; c", ["a", "b", "c"]),
        (["a, b"], ["a", "b"]),
        (["Washington, D.C.", "b", "b"], ["Washington, D.C.", "b"]),
        ({"es": ["río"]}, ["río"]),
    ],
)
def test_keywords(keyword: Any, expected: list[str]) -> None:
    assert mapped({**RECORD, "keyword": keyword}).keywords == expected


@pytest.mark.parametrize(("levels", "expected"), [(["a", "a"], "a"), (["a", "b"], None), (["a", None], None)])
def test_access_rights_bubble_up_where_all_agree(levels: list[str | None], expected: str | None) -> None:
    record = {"identifier": "r", "title": "R", "distribution": [{"accessRights": level} for level in levels]}
    assert mapped(record).access_rights == expected


def resources(*distributions: dict[str, Any], of: str = "r") -> list[Resource]:
    return mapped({"identifier": of, "title": "R", "distribution": list(distributions)}).resources


FILES = [
    {"downloadURL": "https://example.gov/a.csv", "title": "A"},
    {"downloadURL": "https://example.gov/b.csv", "title": "A"},
    {"downloadURL": "https://example.gov/b.csv", "title": "B"},
    {"downloadURL": "https://example.gov/b.csv", "title": "B", "format": "ZIP"},
    {"@id": "urn:own", "downloadURL": "https://example.gov/a.csv", "title": "A", "format": "TXT"},
    {"accessURL": "https://example.gov/"},
]


def test_resource_ids_are_unique_and_stay() -> None:
    found = [one.id for one in resources(*FILES)]
    assert len(set(found)) == len(FILES)
    assert found[4] == "urn:own"
    assert [one.id for one in resources(*reversed(FILES))] == found[::-1]
    assert resources(*FILES[1:])[0].id == found[1]
    assert resources(FILES[0])[0].id != resources(FILES[0], of="other")[0].id


def test_resources_alike_in_everything_are_counted() -> None:
    first, second, third = (one.id for one in resources(FILES[0], FILES[0], FILES[0]))
    assert (second, third) == (f"{first}-2", f"{first}-3")
    for order in (1, -1):
        files = [{"identifier": second}, FILES[0], FILES[0], {"@id": "urn:twice"}, {"@id": "urn:twice"}][::order]
        assert len({one.id for one in resources(*files)}) == 5


@pytest.mark.parametrize(
    ("distribution", "expected"),
    [
        ({"format": "CSV", "mediaType": "application/zip"}, ("CSV", "application/zip")),
        ({"format": "text/csv"}, ("CSV", "text/csv")),
        ({"mediaType": "application/vnd.ms-excel"}, ("XLS", "application/vnd.ms-excel")),
        ({"downloadURL": "https://example.gov/a.zip"}, ("ZIP", None)),
        ({"accessService": {"conformsTo": {"@id": "http://www.opengeospatial.org/standards/wms"}}}, ("WMS", None)),
        ({"accessService": "https://example.gov/api"}, (None, None)),
    ],
)
def test_format(distribution: dict[str, Any], expected: tuple[str | None, str | None]) -> None:
    item = mapped({**RECORD, "distribution": {"accessURL": "https://example.gov/", **distribution}})
    assert [(one.format, one.media_type) for one in item.resources] == [expected]
    assert item.flaws == []


def test_resource_without_an_address() -> None:
    item = mapped({**RECORD, "distribution": [{"title": "A", "downloadURL": "/a.csv"}]})
    assert item.resources[0].url is None
    assert item.flaws == ["distribution[0] has no web address"]


def nodes(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    if path:
        yield path
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, one in inner:
        yield from nodes(one, (*path, key))


def replaced(value: Any, path: tuple[Any, ...], junk: Any) -> Any:
    """A copy along the path, with junk at its end."""
    if not path:
        return junk
    value = copy.copy(value)
    value[path[0]] = replaced(value[path[0]], path[1:], junk)
    return value


def survives(record: dict[str, Any]) -> None:
    item = mapped(record)
    assert len(item.flaws) <= FLAWS + 1
    assert len({one.id for one in item.resources}) == len(item.resources)
    as_json(item)


def is_walked(document: dict[str, Any]) -> None:
    recognised(document)
    recognised([document])
    for place in (document, [document], {"dataset": [document], "record": document, "service": [document]}):
        assert all(identity(one.value) != "" for one in records(place) if isinstance(one.value, dict))


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES, ids=lambda path: path.parent.name)
def test_never_raises(case: str) -> None:
    record = load(case)
    for path in nodes(record):
        for junk in JUNK:
            survives(replaced(record, path, junk))


def test_never_raises_whatever_is_mixed() -> None:
    chance = random.Random(4)
    given = [load(case) for case in CASES]
    parts = [*JUNK[:-2], *given, *(value for record in given for value in record.values())]
    for _ in range(500):
        record = chance.choice(given)
        for _ in range(4):
            record = replaced(record, chance.choice(list(nodes(record))), chance.choice(parts))
        survives(record)
        is_walked(record)


def test_a_walk_never_raises() -> None:
    names = (
        "dataset",
        "datasetSeries",
        "catalog",
        "record",
        "service",
        "seriesMember",
        "primaryTopic",
        "@type",
        "title",
    )
    for junk in JUNK:
        document = dict.fromkeys(names, junk)
        is_walked(document)
        is_walked(dict.fromkeys(names, document) | {"@context": junk, "conformsTo": junk})


def test_every_field_may_be_junk_at_once() -> None:
    names = {path[-1] for case in CASES for path in nodes(load(case)) if isinstance(path[-1], str)}
    for junk in JUNK:
        inner = dict.fromkeys(names, junk)
        survives(inner)
        survives(dict.fromkeys(names, inner) | {"distribution": [inner, junk]})


def test_hostile_sizes_lose_nothing() -> None:
    files = [{"downloadURL": "https://example.gov/a", "title": "A"} for _ in range(8_327)]
    start = process_time()
    item = mapped({**RECORD, "keyword": [f"tag {number}" for number in range(34_866)], "distribution": files})
    assert process_time() - start < 5
    assert (len(item.keywords), len({one.id for one in item.resources}), item.flaws) == (34_866, 8_327, [])
