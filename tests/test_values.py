"""Values in the notations that publishers use: the codes of four vocabularies, lists in one text, types in any case."""

from __future__ import annotations

import json
from typing import Any

from crawlers.kinds.ckan import mapping as ckan_mapping
from crawlers.records import data_json
from crawlers.records.periods import frequency
from tests.conftest import Crawl, options, scrapy
from tests.site import Answer, Site

EU = {  # http://publications.europa.eu/resource/authority/frequency/, all codes of 2025
    *("1MIN", "5MIN", "10MIN", "15MIN", "30MIN", "HOURLY", "BIHOURLY", "TRIHOURLY", "12HRS", "CONT", "UPDATE_CONT"),
    *("DAILY_3", "DAILY_2", "DAILY", "WEEKLY_5", "WEEKLY_3", "WEEKLY_2", "WEEKLY", "BIWEEKLY", "MONTHLY_3"),
    *("MONTHLY_2", "MONTHLY", "BIMONTHLY", "QUARTERLY", "ANNUAL_3", "ANNUAL_2", "ANNUAL", "BIENNIAL", "TRIENNIAL"),
    *("QUADRENNIAL", "QUINQUENNIAL", "DECENNIAL", "BIDECENNIAL", "TRIDECENNIAL", "IRREG", "AS_NEEDED", "NEVER"),
    *("NOT_PLANNED", "OTHER", "UNKNOWN", "OP_DATPRO"),
}
DUBLIN_CORE = {
    "triennial": "TRIENNIAL",
    "biennial": "BIENNIAL",
    "annual": "ANNUAL",
    "semiannual": "ANNUAL_2",
    "threeTimesAYear": "ANNUAL_3",
    "quarterly": "QUARTERLY",
    "bimonthly": "BIMONTHLY",
    "monthly": "MONTHLY",
    "semimonthly": "MONTHLY_2",
    "biweekly": "BIWEEKLY",
    "threeTimesAMonth": "MONTHLY_3",
    "weekly": "WEEKLY",
    "semiweekly": "WEEKLY_2",
    "threeTimesAWeek": "WEEKLY_3",
    "daily": "DAILY",
    "continuous": "CONT",
    "irregular": "IRREG",
}
SDMX = {
    "A": "ANNUAL",
    "S": "ANNUAL_2",
    "Q": "QUARTERLY",
    "M": "MONTHLY",
    "W": "WEEKLY",
    "B": "WEEKLY_5",
    "D": "DAILY",
    "H": "HOURLY",
    "N": "1MIN",
}
ISO = {
    "continual": "CONT",
    "daily": "DAILY",
    "weekly": "WEEKLY",
    "fortnightly": "BIWEEKLY",
    "monthly": "MONTHLY",
    "quarterly": "QUARTERLY",
    "biannually": "ANNUAL_2",
    "annually": "ANNUAL",
    "asNeeded": "AS_NEEDED",
    "irregular": "IRREG",
    "notPlanned": "NOT_PLANNED",
    "unknown": "UNKNOWN",
    "periodic": "OTHER",
    "semimonthly": "MONTHLY_2",
    "biennially": "BIENNIAL",
}
_EUROPA = "http://publications.europa.eu/"
_INSPIRE = "http://inspire.ec.europa.eu/metadata-codelist/MaintenanceFrequency/"
CODES = {
    **{f"{_EUROPA}{mdr}resource/authority/frequency/{one}": one for one in sorted(EU) for mdr in ("", "mdr/")},
    **{f"http://purl.org/cld/freq/{name}": code for name, code in DUBLIN_CORE.items()},
    **{f"http://purl.org/linked-data/sdmx/2009/code#freq-{name}": code for name, code in SDMX.items()},
    **{f"{_INSPIRE}{name}": code for name, code in ISO.items()},
    **{f"http://a.org/gmxCodelists.xml#MD_MaintenanceFrequencyCode_{name}": code for name, code in ISO.items()},
}
DURATIONS = {
    "P1Y": "ANNUAL",
    "P12M": "ANNUAL",
    "P0Y12M0DT0H": "ANNUAL",
    "R/P52W": "ANNUAL",
    "P366D": "ANNUAL",
    "P6M": "ANNUAL_2",
    "P0.5Y": "ANNUAL_2",
    "P3M": "QUARTERLY",
    "P7D": "WEEKLY",
    "p1w": "WEEKLY",
    "PT24H": "DAILY",
    "PT1440M": "DAILY",
    "P0.5M": "MONTHLY_2",
    "R/2012-01-01/P1M": "MONTHLY",
    "PT1M": "1MIN",
    "P05M": None,
    "P": None,
    "P7X": None,
    "P0D": None,
    "P999999999Y": None,
}


def test_each_frequency():
    known = {**CODES, **DURATIONS}
    assert {text: frequency(text) for text in known} == known


def test_the_codes_of_sdmx_are_not_taken_for_words():
    assert [frequency(text) for text in ("W", "freq-X", "freq-")] == [None, None, None]


# Other kinds than RDF


def of_ckan(**fields: Any) -> Any:
    return ckan_mapping.dataset({"id": "a", "title": "A", **fields}, source="s", portal="https://a.org")


def of_data_json(**fields: Any) -> Any:
    return data_json.dataset({"identifier": "a", "title": "A", **fields}, source="s", id="a")


def test_values_of_ckan():
    spatial = '{"type": "polygon", "coordinates": [[[1, 2], [3, 2], [3, 4], [1, 2]]]}'
    keywords = "rain; snow | hail"
    item = of_ckan(spatial=spatial, keywords=keywords, frequency="http://purl.org/linked-data/sdmx/2009/code#freq-Q")
    assert (item.spatial[0].geometry["type"], item.keywords) == ("Polygon", ["rain", "snow", "hail"])
    assert item.frequency == "QUARTERLY"


def test_values_of_data_json():
    item = of_data_json(
        spatial={"type": "POINT", "coordinates": [1, 2]},
        keyword=["rain|snow", "a, b, c, d"],
        accrualPeriodicity="R/P12M",
        rights={"@type": "dct:RightsStatement", "comment": "Not for resale"},
        distribution=[{"downloadURL": "https://a.org/1", "mediaType": "ZIP"}],
    )
    assert item.spatial[0].geometry == {"type": "Point", "coordinates": [1, 2]}
    assert (item.keywords, item.frequency) == (["rain", "snow", "a", "b", "c", "d"], "ANNUAL")
    assert (item.rights, item.resources[0].media_type) == ("Not for resale", "application/zip")


# A whole crawl

CATALOGUE = """
@prefix dcat: <http://www.w3.org/ns/dcat#> .
@prefix dct: <http://purl.org/dc/terms/> .
@prefix locn: <http://www.w3.org/ns/locn#> .
@prefix rdf: <http://www.w3.org/1999/02/22-rdf-syntax-ns#> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
@prefix time: <http://www.w3.org/2006/time#> .
<> a dcat:Catalog ; dcat:dataset <1> .
<1> a dcat:Dataset ; dct:title "Rain" ; dcat:keyword "rain; hail, snow" ;
    dct:accrualPeriodicity [ rdf:value [ a time:DurationDescription ; time:months 3 ] ] ;
    dct:spatial [ a dct:Location ; locn:geometry '{"type": "point", "coordinates": [1, 2]}' ] ;
    dct:rights [ a dct:RightsStatement ; rdfs:comment "Not for resale" ] ;
    dcat:distribution [ a dcat:Distribution ; dcat:accessURL <1.csv> ; dcat:mediaType <text/csv> ],
        [ a dcat:Distribution ; dcat:accessURL <1.bin> ; dcat:mediaType "ZIP" ] .
"""


def test_a_crawl_reads_them(output, tmp_path):
    feed = tmp_path / "datasets.jsonl"
    with Site(lambda _: Answer(CATALOGUE.encode(), headers={"Content-Type": "text/turtle"})) as site:
        ran = scrapy("crawl", "dcat", *options(output, {}, url=f"{site.url}/catalog.ttl"), "-O", str(feed))
    crawl = Crawl(ran.returncode, ran.stderr, output / "127.0.0.1")
    assert (crawl.report["verdict"], crawl.errors) == ("complete", [])
    [item] = map(json.loads, feed.read_text().splitlines())
    assert (item["keywords"], item["frequency"]) == (["hail", "rain", "snow"], "QUARTERLY")
    assert item["spatial"][0]["geometry"] == {"type": "Point", "coordinates": [1, 2]}
    assert item["rights"] == "Not for resale"
    assert {one["media_type"] for one in item["resources"]} == {"text/csv", "application/zip"}
