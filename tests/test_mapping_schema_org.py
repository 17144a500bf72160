"""schema.org's Dataset: out of pages in one shape, into items, whatever else a page or a record holds."""

from __future__ import annotations

import copy
import json
import random
from dataclasses import asdict
from time import process_time
from typing import TYPE_CHECKING, Any

import pytest

from crawlers.items import Agent, Checksum, License, Period, Place
from crawlers.records.html_page import Page
from crawlers.records.record import FLAWS
from crawlers.records.schema_org import dataset, describing, records
from tests.golden import GOLDEN, URL, bare

if TYPE_CHECKING:
    from crawlers.items import Dataset


def read(html: str, url: str = URL, flaws: list[str] | None = None) -> list[dict[str, Any]]:
    return records(Page(html, url).root, url, flaws)


def script(*documents: Any) -> str:
    written = (one if isinstance(one, str) else json.dumps(one) for one in documents)
    return "".join(f'<script type="application/ld+json">{one}</script>' for one in written)


def of(*documents: Any) -> list[dict[str, Any]]:
    return read(script(*documents))


def item(record: dict[str, Any]) -> Dataset:
    return dataset(record, source="example", id="a")


def names(found: list[dict[str, Any]]) -> list[Any]:
    return [one.get("name") for one in found]


DATASET = {"@context": "https://schema.org/", "@type": "Dataset", "name": "Rivers"}


@pytest.mark.parametrize(
    "document",
    [
        DATASET,
        {"@type": "Dataset", "name": "Rivers"},
        {**DATASET, "@type": ["Thing", "Dataset"]},
        {**DATASET, "@context": ["https://example.org/own.jsonld", "http://www.schema.org"]},
        {"@type": "https://schema.org/Dataset", "https://schema.org/name": "Rivers"},
        {"@type": ["http://schema.org/Dataset"], "http://schema.org/name": [{"@value": "Rivers"}]},
        {"@context": {"s": "https://schema.org/"}, "@type": "s:Dataset", "s:name": "Rivers"},
        {"@context": {"schema": {"@id": "http://schema.org/"}}, "@type": "schema:Dataset", "schema:name": "Rivers"},
        {"@context": {"t": "schema:name", "is": "@type", "D": "schema:Dataset"}, "is": "D", "t": "Rivers"},
        {"@context": "schema.org", "type": "Dataset", "name": "Rivers"},
        {"@graph": [{"@type": "WebSite", "name": "Site"}, DATASET]},
        {"@context": "https://schema.org", "@graph": {"@set": [DATASET]}},
        [{"@type": "BreadcrumbList"}, DATASET],
        {"@type": "WebPage", "mainEntity": DATASET},
        {"@type": "ItemPage", "about": DATASET},
        {"@type": "WebPage", "@graph": [{"@type": "ItemPage", "about": [{"@id": "x:r"}]}, {**DATASET, "@id": "x:r"}]},
        {"@type": "ItemList", "itemListElement": [{"@type": "ListItem", "position": 1, "item": DATASET}]},
        {"@type": "DataCatalog", "name": "All", "dataset": [DATASET, {"@type": "Dataset", "url": "https://a.org/b"}]},
    ],
)
def test_every_place_and_spelling_of_a_dataset(document: Any) -> None:
    found = of(document)
    assert [item(one).title for one in found] == ["Rivers"]
    assert "Dataset" in found[0]["@type"]
    assert not found[0].keys() - {"@type", "@id", "name", "mainEntityOfPage"}


@pytest.mark.parametrize(
    "document",
    [
        {"@context": "https://schema.org/", "@type": "Thing", "name": "Rivers"},
        {"@context": {"@vocab": "http://www.w3.org/ns/dcat#"}, "@type": "Dataset", "name": "Rivers"},
        {"@context": "https://project-open-data.cio.gov/v1.1/schema/catalog.jsonld", "@type": "Dataset", "name": "R"},
        {"@type": "dcat:Dataset", "name": "Rivers"},
        {"@type": 7, "name": "Rivers"},
        {"@type": "Dataset", "@id": "https://example.org/only-named"},
        {"@type": "Thing", "isPartOf": DATASET},
        [None, 1, "Dataset", [[]]],
    ],
)
def test_what_is_no_dataset(document: Any) -> None:
    assert of(document) == []


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('<!-- {"@type": "Dataset", "name": "A"} -->', False),
        ('//<![CDATA[\n{"@type": "Dataset", "name": "A"}\n//]]>', False),
        ('/* <![CDATA[ */ [{"@type": "Dataset", "name": "A"}] /* ]]> */', False),
        ('\ufeff\n{"@type": "Dataset", "name": "A",};;', False),
        ('{"@type": "Dataset", "keywords": ["a, ]", "}",], "name": "A",\n}', False),
        ("{&quot;@type&quot;: &quot;Dataset&quot;, &quot;name&quot;: &quot;A&quot;}", False),
        ('{"@type": "Dataset", "size": NaN, "name": "A"}', False),
        ("  ", False),
        ('{"@type": "Dataset", "name": "A"', True),
        ("{'@type': 'Dataset', 'name': 'A'}", True),
        ('{"@type": "Dataset", "name": "A" "B"}', True),
        ('{"a": "\\', True),
        ("<html>", True),
        ("[" * 100_000, True),
        ('{"name":' * 100_000, True),
        ("[" + "9" * 5000 + "]", True),
    ],
)
def test_scripts_that_people_broke(text: str, said: bool) -> None:
    flaws: list[str] = []
    found = read(script(text), flaws=flaws)
    assert bool(flaws) is said
    assert names(found) == ([] if said or not text.strip() else ["A"])


def test_other_scripts_are_left_alone() -> None:
    text = json.dumps(DATASET)
    flaws: list[str] = []
    assert (
        read(f"<script>{text}</script><script type='application/json'>{text}</script><p>{text}</p>", flaws=flaws) == []
    )
    assert not flaws


def test_a_broken_script_does_not_hide_the_next() -> None:
    assert names(of("{", DATASET)) == ["Rivers"]


@pytest.mark.parametrize(
    "fault",
    ['"description": "He said "yes, no", today"}', '"keywords": ["a, b', '"description" "x"}', '"x": {"y": 1, '],
)
def test_what_stands_before_a_fault_is_used(fault: str) -> None:
    flaws: list[str] = []
    (found,) = read(script('{"@type": "Dataset", "name": "A, \\"B]", "creator": {"name": "C"}, ' + fault), flaws=flaws)
    assert (found["name"], found["creator"], len(flaws)) == ('A, "B]', {"name": "C"}, 1)


def test_entities_are_decoded_in_every_text() -> None:
    given = {
        "@type": "Dataset",
        "name": "R&amp;D",
        "keywords": "R&amp;D; caf&eacute;",
        "creator": {"name": "A &#38; B"},
    }
    given |= {"description": "<p>a &lt; b</p>", "version": "R&amp;amp;D <9"}
    found = item(of(given | {"url": "https://a.org/?a=1&copy=2&amp;b=3&lang;=4"})[0])
    assert (found.title, found.keywords, found.contacts[0].name) == ("R&D", ["R&D", "café"], "A & B")
    assert (found.description, found.landing_page) == ("a < b", "https://a.org/?a=1&copy=2&b=3&lang;=4")
    assert (found.version, item(of(given | {"description": "R&amp;amp;D"})[0]).description) == ("R&amp;D <9", "R&amp;D")


def test_references_lead_to_other_scripts_and_are_cut_where_they_return() -> None:
    office = {"@id": "https://a.org/o", "@type": "Organization", "name": "Office", "owns": {"@id": "https://a.org/d"}}
    (found,) = of({**DATASET, "@id": "https://a.org/d", "publisher": {"@id": "https://a.org/o"}}, office)
    assert found["publisher"] == office


def test_blank_nodes_of_two_scripts_are_two() -> None:
    def of_one(name: str, office: str) -> dict[str, Any]:
        dataset_ = {**DATASET, "name": name, "publisher": {"@id": "_:b0"}}
        return {"@graph": [dataset_, {"@id": "_:b0", "@type": "Organization", "name": office}]}

    found = of(of_one("A", "First"), of_one("B", "Second"))
    assert [one["publisher"] for one in found] == [
        {"@type": "Organization", "name": "First"},
        {"@type": "Organization", "name": "Second"},
    ]


def test_other_datasets_are_mentioned_not_written_out() -> None:
    graph = [{**DATASET, "@id": f"x:{one}", "name": one, "isPartOf": {"@id": "x:b"}, "version": "1"} for one in "ab"]
    assert of({"@graph": graph})[0]["isPartOf"] == {"@id": "x:b", "@type": "Dataset", "name": "b"}


def test_relative_addresses_are_against_the_base_of_the_page() -> None:
    record = {**DATASET, "@id": "#d", "url": "r?a=1", "distribution": {"contentUrl": "../r.csv"}, "license": "/terms"}
    found = read(f'<base href="/data/x/">{script(record)}')[0]
    assert (found["@id"], found["url"]) == (
        "https://golden.example.org/data/x/#d",
        "https://golden.example.org/data/x/r?a=1",
    )
    assert found["distribution"] == {"contentUrl": "https://golden.example.org/data/r.csv"}
    assert found["license"] == "https://golden.example.org/terms"
    assert names(read(f'<base href="http://[">{script({**record, "url": "http://["})}')) == ["Rivers"]


@pytest.mark.parametrize(
    ("element", "value"),
    [
        ('<meta itemprop=x content=" a ">', "a"),
        ("<a itemprop=x href=b>text</a>", "https://golden.example.org/dataset/b"),
        ("<link itemprop=x href=//a.org/b>", "https://a.org/b"),
        ("<img itemprop=x src=/i.png>", "https://golden.example.org/i.png"),
        ("<object itemprop=x data=/o></object>", "https://golden.example.org/o"),
        ("<data itemprop=x value=7>seven</data>", "7"),
        ("<meter itemprop=x value=0.5>half</meter>", "0.5"),
        ("<time itemprop=x datetime=2020>last year</time>", "2020"),
        ("<time itemprop=x>2020-01</time>", "2020-01"),
        ("<span itemprop=x>a <b>b</b><br>c</span>", "a b c"),
        ('<span itemprop=x content="machine">human</span>', "machine"),
        ("<span itemprop='x x'>a</span><span itemprop=x>b</span>", ["a", "b"]),
        ("<span itemprop=https://schema.org/x>a</span>", "a"),
        ("<span itemprop=x><i itemprop=y>a</i></span>", "a"),
        ("<b itemprop=x itemscope><i itemprop=x>inner</i></b>", {"x": "inner"}),
        ("<span itemprop=x> </span>", None),
        ("<a itemprop=x href=http://[>a</a>", "http://["),
    ],
)
def test_values_of_microdata(element: str, value: Any) -> None:
    (found,) = read(f"<div itemscope itemtype=https://schema.org/Dataset><i itemprop=name>A</i>{element}</div>")
    assert found.get("x") == value


def test_links_that_mean_their_text() -> None:
    links = "<a itemprop=name href=a>A</a><a itemprop=keywords href=/t>k</a><a itemprop=publisher href=/o>Office</a>"
    (found,) = read(f"<div itemscope itemtype=http://schema.org/Dataset>{links}<a itemprop=license href=/l></a></div>")
    assert found == {
        "@type": "Dataset",
        "name": "A",
        "keywords": "k",
        "publisher": {"name": "Office", "url": "https://golden.example.org/o"},
        "license": "https://golden.example.org/l",
    }


def test_items_are_taken_where_they_stand() -> None:
    page = (
        "<i itemprop=name>of nothing</i>"
        "<div itemscope itemtype=http://schema.org/Product><i itemprop=name>of a product</i>"
        "<div itemprop=about itemscope itemtype='http://example.org/X https://schema.org/Dataset' itemref='b a none b'>"
        "<i itemprop=name>A</i><div itemscope itemtype=http://schema.org/Thing><i itemprop=name>of a thing</i></div>"
        "<div itemprop=hasPart itemscope itemtype=http://schema.org/Dataset><i itemprop=name>Part</i></div></div></div>"
        "<p id=a itemprop=version>1</p><div id=b><p itemprop=keywords>k</p></div><p id=a itemprop=version>2</p>"
    )
    assert read(page) == [
        {
            "@type": ["http://example.org/X", "Dataset"],
            "name": "A",
            "hasPart": {"@type": "Dataset", "name": "Part"},
            "keywords": "k",
            "version": "1",
        }
    ]


def test_items_that_refer_to_themselves_are_cut() -> None:
    page = (
        "<div id=a itemscope itemtype=http://schema.org/Dataset itemref='a b'><i itemprop=name>A</i></div>"
        "<div id=b itemprop=isPartOf itemscope itemtype=http://schema.org/Dataset itemref='b a c'></div>"
        "<div id=c itemprop=isPartOf itemscope itemtype=http://schema.org/Dataset itemref=b></div>"
    )
    part = {"@type": "Dataset", "isPartOf": {"@type": "Dataset"}}
    assert read(page) == [{"@type": "Dataset", "name": "A", "isPartOf": part}]


def test_json_ld_and_microdata_of_one_dataset_are_one_record() -> None:
    marked = "<div itemscope itemtype=http://schema.org/Dataset><i itemprop=name>{}</i><i itemprop=version>1</i></div>"
    assert read(script(DATASET) + marked.format("Rivers")) == [{"@type": "Dataset", "name": "Rivers", "version": "1"}]
    assert names(read(script(DATASET) + marked.format("Lakes"))) == ["Rivers", "Lakes"]


def test_namesakes_with_addresses_of_their_own_stay_two() -> None:
    found = of(*({**DATASET, "url": f"https://a.org/{year}"} for year in (2020, 2021, 2020)))
    assert [one["url"] for one in found] == ["https://a.org/2020", "https://a.org/2021"]
    assert len(of(*({**DATASET, "@id": f"x://{one}", "url": "https://a.org/"} for one in "ab"))) == 2


@pytest.mark.parametrize(
    "own",
    [
        {"url": "http://golden.example.org/dataset/second/#top"},
        {"@id": "https://GOLDEN.example.org/dataset/second"},
        {"@id": "#this"},
        {"mainEntityOfPage": {"@type": "WebPage", "@id": URL}},
        {"mainEntityOfPage": URL},
        {"url": ["https://golden.example.org/elsewhere", "/dataset/second"]},
    ],
)
def test_the_page_s_own_dataset_goes_first(own: dict[str, Any]) -> None:
    others = [{**DATASET, "name": one, "url": f"https://golden.example.org/dataset/{one}"} for one in ("a", "b")]
    found = of(others[0], {**DATASET, "name": "Own", **own}, others[1])
    assert names(found) == ["Own", "a", "b"]
    assert describing(found, URL) is found[0]


def test_a_page_that_names_its_main_entity() -> None:
    page = {"@context": "https://schema.org", "@type": "WebPage", "mainEntity": {**DATASET, "name": "Own"}}
    found = of({**DATASET, "name": "Other"}, page)
    assert describing(found, URL) == {"@type": "Dataset", "name": "Own", "mainEntityOfPage": URL}


@pytest.mark.parametrize(
    ("record", "head", "is_own"),
    [
        ({}, "", True),
        ({"url": "https://golden.example.org/dataset/other"}, "", False),
        ({"@id": "https://www.golden.example.org/#data"}, "", False),
        ({"@id": "https://doi.org/10.5072/a"}, "", True),
        ({"url": "/dataset/other"}, "<link rel=canonical href=/dataset/other>", True),
        ({"url": "/dataset/other"}, "<link rel=canonical href=/dataset/third>", False),
        ({"url": "/"}, "<link rel=canonical href=/>", False),
        ({"url": "/dataset/other"}, "<title> RIVERS\n</title>", True),
        ({"url": "/dataset/other"}, "<title>Rivers and more</title>", False),
        ({"url": "/dataset/other"}, "<h1>Ri<b>vers</b></h1>", True),
        ({"url": "/dataset/other", "name": None, "license": "x:y"}, "<title></title>", False),
    ],
)
def test_the_only_dataset_may_be_another_page_s(record: dict[str, Any], head: str, is_own: bool) -> None:
    found = read(head + script({**DATASET, **record}))
    assert len(found) == 1
    assert describing(found, URL) == (found[0] if is_own else None)


def test_the_canonical_address_is_the_page_s() -> None:
    others = [{**DATASET, "name": one, "url": f"/dataset/{one}"} for one in "ab"]
    found = read("<link rel='x Canonical' href=https://golden.example.org/dataset/b>" + script(*others))
    assert names(found) == ["b", "a"]
    assert describing(found, URL) is found[0]
    assert item(found[0]).landing_page == "https://golden.example.org/dataset/b"


def test_no_dataset_is_the_page_s_own() -> None:
    found = of(*({**DATASET, "name": one} for one in "ab"))
    assert names(found) == ["a", "b"]
    assert describing(found, URL) is None
    assert describing(found[:1], URL) is found[0]
    assert describing([], URL) is None


@pytest.mark.parametrize(
    ("field", "value", "expected"),
    [
        ("title", {"headline": "A\n b"}, "A b"),
        ("title", {"name": [{"@language": "fr", "@value": "Eau"}, {"@language": "en", "@value": "Water"}]}, "Water"),
        ("title", {"name": {"fr": "Eau", "en": "Water"}}, "Water"),
        ("identifier", {"identifier": ["x", "https://doi.org/10.5072/a"]}, "https://doi.org/10.5072/a"),
        ("identifier", {"sameAs": ["https://a.org/", "https://doi.org/10.5072/a"]}, "https://doi.org/10.5072/a"),
        ("identifier", {"identifier": [{"@id": "urn:a"}, "https://a.org/10.5072/b"]}, "urn:a"),
        ("identifier", {}, "a"),
        ("uri", {"identifier": "https://doi.org/10.5072/a"}, "https://doi.org/10.5072/a"),
        ("landing_page", {"mainEntityOfPage": {"@id": "https://a.org/p"}}, "https://a.org/p"),
        ("license", {"license": "CC-BY-4.0"}, License(id="CC-BY-4.0")),
        ("license", {"license": [{"@id": "https://a.org/l"}, "CC0"]}, License(uri="https://a.org/l")),
        ("license", {"distribution": {"license": "CC0-1.0"}}, License(id="CC0-1.0")),
        ("keywords", {"keywords": "a; b,c,,a"}, ["a", "b", "c"]),
        ("keywords", {"keywords": [{"@type": "DefinedTerm", "name": "a, b"}, "c"]}, ["a, b", "c"]),
        ("themes", {"about": [{"name": "Water"}, "Air"]}, ["Air", "Water"]),
        ("publisher", {"publisher": "https://a.org/"}, Agent(url="https://a.org/", role="publisher")),
        ("publisher", {"publisher": [{}, {"legalName": "Office"}]}, Agent(name="Office", role="publisher")),
        ("contacts", {"author": ["A", "A"], "creator": {"name": "A"}}, [Agent(name="A", role="creator")]),
        ("contacts", {"publisher": ["A", "B"]}, [Agent(name="B", role="publisher")]),
        ("contacts", {"contactPoint": {"email": "mailto:a@b.org"}}, [Agent(email="a@b.org", role="contact")]),
        ("issued", {"dateCreated": "2019", "datePublished": "2020-02"}, "2020-02"),
        ("issued", {"dateCreated": "2019"}, "2019"),
        ("modified", {"dateModified": ["2020-01-01T10:00:00"]}, "2020-01-01T10:00:00Z"),
        ("temporal", {"temporalCoverage": "../2019"}, Period(end="2019")),
        ("temporal", {"temporalCoverage": "2020"}, Period(start="2020", end="2020")),
        ("temporal", {"temporalCoverage": ["2001/2002", "1990-05"]}, Period(start="1990-05", end="2002")),
        ("temporal", {"temporalCoverage": {"startDate": "2001", "endDate": "2002"}}, Period(start="2001", end="2002")),
        ("temporal", {"temporal": "2001-01-01T00:00:00Z/P1Y"}, Period(start="2001-01-01", end="2001-12-31")),
        ("spatial", {"spatialCoverage": ["Graz", "Graz"]}, [Place(name="Graz")]),
        ("spatial", {"spatialCoverage": {"@id": "http://a.org/g"}}, [Place(uri="http://a.org/g")]),
        (
            "spatial",
            {"spatialCoverage": {"address": {"addressLocality": "Graz", "addressCountry": {"name": "Austria"}}}},
            [Place(name="Graz, Austria")],
        ),
        ("languages", {"inLanguage": "en, de_AT"}, ["en", "de-AT"]),
        ("access_rights", {"isAccessibleForFree": "https://schema.org/False"}, "not accessible for free"),
        ("access_rights", {"isAccessibleForFree": True, "conditionsOfAccess": "Ask"}, "Ask"),
        ("provenance", {"isBasedOn": "https://a.org/b"}, "https://a.org/b"),
        ("version", {"version": 2.5}, "2.5"),
    ],
)
def test_fields(field: str, value: dict[str, Any], expected: Any) -> None:
    found = item(value)
    assert getattr(found, field) == expected
    assert not [flaw for flaw in found.flaws if "distribution" not in flaw]


SQUARE = [[[9.0, 46.0], [17.0, 46.0], [17.0, 49.0], [9.0, 49.0], [9.0, 46.0]]]
POLYGON = {"type": "Polygon", "coordinates": SQUARE}
POINT = {"type": "Point", "coordinates": [9.0, 46.0]}


@pytest.mark.parametrize(
    ("geo", "expected"),
    [
        ({"@type": "GeoShape", "box": "46 9 49 17"}, POLYGON),
        ({"@type": "GeoShape", "box": "46,9 49,17"}, POLYGON),
        (
            {"@type": "GeoShape", "box": "9.0,46.0,17.0,49.0 "},
            {"type": "Polygon", "coordinates": [[[46.0, 9.0], [49.0, 9.0], [49.0, 17.0], [46.0, 17.0], [46.0, 9.0]]]},
        ),
        ({"polygon": "46 9 46 17 49 17 49 9 46 9"}, POLYGON),
        ({"polygon": "46,9 46,17 49,17 49,9"}, POLYGON),
        ({"polygon": json.dumps(POLYGON)}, POLYGON),
        ({"polygon": "POLYGON((9 46, 17 46, 17 49, 9 49, 9 46))"}, POLYGON),
        ({"polygon": POLYGON}, POLYGON),
        (POLYGON, POLYGON),
        ("POINT (9 46)", POINT),
        ({"@type": "GeoCoordinates", "latitude": 46, "longitude": "9.0"}, POINT),
        ({"circle": "46 9 1000"}, POINT),
        ({"line": "46 9 49 17"}, {"type": "LineString", "coordinates": [[9.0, 46.0], [17.0, 49.0]]}),
        ([{"@type": "GeoShape"}, {"latitude": 46, "longitude": 9}], POINT),
        ([{"box": "46 9 49"}, {"box": "46 9 49 17"}], POLYGON),
        ({"@type": "GeoShape", "polygon": "POLYGON((9 46, 17 46, 17 49, 9 49))"}, POLYGON),
        ({"@type": "Polygon", "type": "Polygon", "coordinates": SQUARE[:1]}, POLYGON),
        ({"box": "46 9 49"}, None),
        ({"box": "1e999 9 49 17"}, None),
        ({"polygon": "200 300 400 500 600 700"}, None),
        ({"latitude": 91, "longitude": 181}, None),
        ({"line": "46 9 49"}, None),
    ],
)
def test_shapes(geo: Any, expected: Any) -> None:
    found = item({"spatialCoverage": {"@type": "Place", "name": "Here", "geo": geo}})
    assert found.spatial == [Place(name="Here", geometry=expected)]
    assert [flaw.field for flaw in found.flaws] == ([] if expected else ["spatialCoverage.geo"])


@pytest.mark.parametrize("ring", [SQUARE[0], SQUARE[0][:4], [[500000, 2]] * 4])
def test_geojson_in_json_ld_stays_as_it_is(ring: Any) -> None:
    shape = {"type": "Polygon", "coordinates": [ring]}
    (found,) = of({**DATASET, "spatialCoverage": {"geo": shape}})
    assert found["spatialCoverage"] == {"geo": shape}
    assert bool(item(found).flaws) is (ring[0][0] == 500000)


def test_distributions() -> None:
    found = item(
        {
            "distribution": [
                "https://a.org/a.csv",
                {
                    "contentUrl": "https://a.org/b",
                    "encodingFormat": ".xlsx",
                    "contentSize": "12 bytes",
                    "md5": "ab" * 16,
                },
                {"@id": "https://a.org/c", "encodingFormat": "text/turtle"},
                {"url": "https://a.org/page", "contentUrl": "https://a.org/d.zip", "fileFormat": "application/zip"},
            ]
        }
    )
    assert [(one.format, one.media_type, one.size) for one in found.resources] == [
        ("CSV", None, None),
        ("xlsx", None, 12),
        ("RDF_TURTLE", "text/turtle", None),
        ("ZIP", "application/zip", None),
    ]
    assert [(one.url, one.access_url) for one in found.resources] == [
        ("https://a.org/a.csv", None),
        ("https://a.org/b", None),
        ("https://a.org/c", "https://a.org/c"),
        ("https://a.org/d.zip", "https://a.org/page"),
    ]
    assert found.resources[1].checksum == Checksum(algorithm="md5", value="ab" * 16)
    assert not found.flaws


def test_ids_of_resources_stay_when_the_order_changes() -> None:
    files = [{"contentUrl": f"https://a.org/{one}.csv"} for one in "abc"]
    first = {one.url: one.id for one in item({"distribution": files}).resources}
    again = {one.url: one.id for one in item({"distribution": [*reversed(files), "https://a.org/d.csv"]}).resources}
    assert first.items() <= again.items()
    assert len(set(again.values())) == 4


def test_the_document_is_the_record_itself() -> None:
    (record,) = read((GOLDEN / "schema_org" / "jsonld" / "input.html").read_text(encoding="utf-8"))
    before = copy.deepcopy(record)
    found = item(record)
    assert found.document is record
    assert record == before


JUNK: list[Any] = [None, 0, -1, 1.5, True, "", "x", [], {}, [None], {"a": 1}, float("nan"), float("inf"), 10**40]
JUNK += ["\ud800", "[" * 5000, "{" * 5000, [[]], {"en": {}}, {"@id": []}, {"@id": 7}, {"@value": {"@value": [{}]}}]
JUNK += [{"@type": ["Dataset", 1]}, {"name": ["", {}]}, "2999-01-01", "a@b", "http://[", "//", "1 2", "1e999 1 1 1"]
JUNK += [
    "1 2 3 4",
    "-/-",
    "../..",
    "10.5072/x",
    {"latitude": "x", "longitude": []},
    {"box": {}},
    {"value": {"value": 1}},
]
NESTED: Any = []
for _ in range(150):
    NESTED = [{"name": NESTED, "geo": []}]
JUNK += [NESTED, {"geo": NESTED, "address": NESTED, "@id": NESTED}]
WORDS = """
@id @type @value @language name headline alternateName description abstract identifier url sameAs license keywords about
genre creator author publisher provider sourceOrganization maintainer contactPoint contributor givenName familyName
email dateCreated datePublished dateModified uploadDate temporalCoverage temporal startDate endDate spatialCoverage geo
box polygon line circle latitude longitude address addressCountry coordinates type inLanguage version usageInfo
isAccessibleForFree conditionsOfAccess copyrightNotice isBasedOn conformsTo distribution encoding contentUrl embedUrl
encodingFormat fileFormat contentSize sha256 md5 mainEntityOfPage mainEntity dataset hasPart @graph @context @list
""".split()


def junk(chance: random.Random, deepest: int = 4) -> Any:
    kind = chance.random()
    if kind < 0.4 or not deepest:
        return chance.choice(JUNK)
    if kind < 0.6:
        return [junk(chance, deepest - 1) for _ in range(chance.randrange(4))]
    return {chance.choice(WORDS): junk(chance, deepest - 1) for _ in range(chance.randrange(6))}


def is_text(value: Any) -> bool:
    return value is None or (isinstance(value, str) and bool(value) and value == value.strip())


def check(found: Dataset) -> None:
    parts: list[Any] = [found, *found.resources]
    for one in parts:
        plain = ("title", "description", "issued", "modified", "rights", "url", "landing_page", "version", "uri")
        assert all(is_text(getattr(one, name, None)) for name in plain)
        assert all(is_text(text) and text for text in (*one.languages, *one.conforms_to))
        assert isinstance(one.license, License | None)
    agents = [found.publisher] if found.publisher else []
    for agent in (*agents, *found.contacts):
        assert isinstance(agent, Agent)
        assert all(map(is_text, asdict(agent).values()))
        assert agent.name or agent.uri or agent.email or agent.url
    assert all(is_text(text) and text for text in (*found.keywords, *found.themes, *found.flaws))
    assert isinstance(found.temporal, Period | None)
    assert all(isinstance(one, Place) and (one.name or one.uri or one.geometry) for one in found.spatial)
    assert len({one.id for one in found.resources}) == len(found.resources)
    assert all(is_text(one.id) and one.id and isinstance(one.size, int | None) for one in found.resources)
    assert len(found.flaws) <= FLAWS + 1
    json.dumps(bare(found), allow_nan=False)


def test_any_json_is_a_record() -> None:
    chance = random.Random(5)
    for _ in range(150):
        record = {word: junk(chance) for word in chance.sample(WORDS, 12)}
        before = repr(record)
        check(item(record))
        assert repr(record) == before


@pytest.mark.parametrize("word", WORDS)
def test_any_json_is_a_field(word: str) -> None:
    for value in (*JUNK, 10**5000):
        check(item({word: value}))
        check(item({"distribution": [{word: value}], "publisher": {word: value}, "spatialCoverage": {word: value}}))


def test_any_json_is_a_script() -> None:
    chance, found = random.Random(6), 0
    for _ in range(500):
        record = {"@type": "Dataset", "name": "A", **{word: junk(chance, 3) for word in chance.sample(WORDS, 8)}}
        written = json.dumps({chance.choice(("@graph", "dataset", "mainEntity")): [junk(chance), record]})
        for one in read(script(written)):
            found += 1
            check(item(one))
    assert found > 100


def many(element: str, amount: int) -> str:
    return element * amount


MICRODATA = "<div itemscope itemtype=http://schema.org/Dataset>"
HOSTILE = {
    "long": lambda: script({**DATASET, "description": "x" * 15_000_000}),
    "long and broken": lambda: script('{"a": "' + '\\"' * 2_000_000),
    "commas": lambda: script("[" + "," * 2_000_000),
    "semicolons": lambda: script("[]" + ";" * 2_000_000 + "x" + "]]>" * 150_000),
    "escapes": lambda: script('["' + "\\\\" * 1_000_000 + '",]'),
    "deep": lambda: script('[{"@graph":' * 60_000),
    "deep and whole": lambda: script('{"@type":"Dataset","name":"A","hasPart":' * 400 + "1" + "}" * 400),
    "wide": lambda: script("[" + ",".join(['{"@type":"Dataset","name":"A"}'] * 30_000) + "]"),
    "scripts": lambda: script(DATASET) * 15_000,
    "one id": lambda: script(
        "[" + ",".join(f'{{"@id":"x:a","@type":"Dataset","p{n}":{n}}}' for n in range(18_000)) + "]"
    ),
    "contexts": lambda: script(
        {"@context": [{f"t{n}": "schema:name"} for n in range(15_000)], "@graph": [DATASET] * 6_000}
    ),
    "context circle": lambda: script(
        {**DATASET, "@context": {"a": "b:", "b": "a:", "c": "d", "d": "c"}, "a:a": 1, "c": 1}
    ),
    "items": lambda: MICRODATA + many("<div itemprop=p itemscope><i itemprop=q>v</i></div>", 30_000),
    "datasets": lambda: many(MICRODATA + "<i itemprop=name>A</i></div>", 30_000),
    "nested items": lambda: many(MICRODATA.replace("<div", "<div itemprop=hasPart"), 6_000),
    "nested texts": lambda: MICRODATA + many("<div itemprop=name>a", 6_000),
    "no scope": lambda: many("<i itemprop=name>v</i>", 30_000),
    "references": lambda: (
        many("<div itemscope itemtype=http://schema.org/Dataset itemref='all'></div>", 5_000)
        + "<div id=all>"
        + many("<i itemprop=name>A</i>", 5_000)
        + "</div>"
    ),
    "references to nothing": lambda: (
        many("<div itemscope itemtype=http://schema.org/Dataset itemref='all'></div>", 10_000)
        + "<div id=all>"
        + many("<i>A</i>", 10_000)
        + "</div>"
    ),
    "many references": lambda: (
        f"<div itemscope itemtype=http://schema.org/Dataset itemref='{many('all ', 30_000)}'></div>"
        "<div id=all>" + many("<i itemprop=name>A</i>", 15_000) + "</div>"
    ),
}


def branching(levels: int = 40) -> str:
    """Each node refers to the next one thirty times."""
    nodes = [{"@id": f"x:{n}", "a": [{"@id": f"x:{n + 1}"}] * 30} for n in range(levels)]
    return script({"@graph": [{**DATASET, "publisher": {"@id": "x:0"}}, *nodes, {"@id": f"x:{levels}", "name": "end"}]})


@pytest.mark.slow
@pytest.mark.parametrize("name", [*HOSTILE, "branching"])
def test_hostile_pages_take_bounded_time(name: str) -> None:
    page = Page(branching() if name == "branching" else HOSTILE[name](), URL)
    flaws: list[str] = []
    start = process_time()
    found = records(page.root, URL, flaws)
    for one in found[:10]:
        check(item(one))
    assert process_time() - start < 4
    assert len(json.dumps(found)) < 30_000_000
