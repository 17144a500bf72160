"""Single values of DCAT: descriptions, periods, places, themes, and which of several languages is taken."""

from __future__ import annotations

import json
import random
import sys
from collections.abc import Callable
from pathlib import Path
from time import process_time
from typing import Any

import pytest
from lxml.html import fragment_fromstring
from pyoxigraph import BlankNode, RdfFormat, parse
from pyoxigraph import Literal as PyoxigraphLiteral

from crawlers.items import Period, Place
from crawlers.records import markup
from crawlers.records.dcat.description import Description, languages_first, text
from crawlers.records.dcat.extents import spatial, temporal
from crawlers.records.dcat.themes import themes
from crawlers.records.markup import SHOWN, as_html, as_text, markdown
from crawlers.records.rdf import authorities
from crawlers.records.rdf.terms import (
    DCAT,
    DCAT_US,
    DCATAP,
    DCT,
    GEO,
    LOCN,
    RDF,
    RDFS,
    SCHEMA,
    SCHEMA_HTTPS,
    SCOVO,
    SKOS,
    TIME,
    TYPE,
    XSD,
    Graph,
    Literal,
    Node,
    Term,
)

REAL = Path(__file__).parents[2] / "shared" / "fixtures"
DATA_THEME = "http://publications.europa.eu/resource/authority/data-theme/"
COUNTRY = "http://publications.europa.eu/resource/authority/country/"
INSPIRE = "http://inspire.ec.europa.eu/theme/"
HVD = "http://data.europa.eu/bna/"
CALENDAR = "http://reference.data.gov.uk/id/"
WGS84 = "http://www.w3.org/2003/01/geo/wgs84_pos#"
CRS84 = "<http://www.opengis.net/def/crs/OGC/1.3/CRS84>"
EPSG = "<http://www.opengis.net/def/crs/EPSG/0/{}>"
SQUARE = [[[1, 2], [3, 2], [3, 4], [1, 4], [1, 2]]]
OTHER = [[[11, 2], [13, 2], [13, 4], [11, 2]]]
SQUARE_WKT = "POLYGON((1 2, 3 2, 3 4, 1 4, 1 2))"
JUNK = [
    "",
    " ",
    "x",
    "NaN",
    "/",
    "//",
    "a/b",
    "2016-13",
    "\ud800",
    "\x00",
    "{",
    "[" * 5000,
    "POLYGON((",
    "1,2,3",
    "<",
    "0",
]
JUNK += [
    "POINT(nan inf)",
    '{"type":[]}',
    '{"type":"Point","coordinates":{}}',
    "P1Y/2016",
    "2016/P9999Y",
    "9999-12-31/P1D",
]
JUNK += ["http://[", "file:///etc/passwd", "_:", f"{CALENDAR}day/2016", f"{CALENDAR}gregorian-interval/x/P", "9" * 9999]


def literals(*values: str) -> list[Term]:
    return [Literal(value) for value in values]


def fixture(name: str) -> Graph:
    path = REAL / name
    if not path.exists():
        pytest.skip("the real inputs are not at hand")
    nodes: Graph = {}
    for quad in parse(path.read_bytes(), RdfFormat.RDF_XML, base_iri="http://example.org/"):
        subject, predicate, value = (term(part) for part in tuple(quad)[:3])
        nodes.setdefault(subject, {}).setdefault(predicate, []).append(value)
    return nodes


def term(part: Any) -> Any:
    if isinstance(part, PyoxigraphLiteral):
        return Literal(part.value, part.language, part.datatype.value)
    return str(part) if isinstance(part, BlankNode) else part.value


# Which language


@pytest.mark.parametrize(
    ("language", "expected"),
    [
        ("fr", "fr"),
        ("FR", "fr"),
        ("pt-br", "pt-BR"),
        ("pt", "pt-BR"),
        ("fr-CH", "fr"),
        ("zh", "none"),
        (None, "none"),
        ("", "none"),
    ],
)
def test_the_language_asked_for_then_none(language: str | None, expected: str) -> None:
    values: list[Term] = [Literal("pt-BR", "pt-BR"), Literal("fr", "fr"), Literal("none"), Literal("en", "en")]
    for order in (values, values[::-1]):
        assert text(order, language) == expected


@pytest.mark.parametrize(
    ("tags", "expected"),
    [
        (["de", "en", "en-GB"], "en"),
        (["de", "en-GB"], "en-GB"),
        (["sv", "de", "fr"], "de"),
        (["FR", "de"], "FR"),
    ],
)
def test_then_english_then_the_alphabet(tags: list[str], expected: str) -> None:
    values: list[Term] = [Literal(tag, tag) for tag in tags]
    assert text(values) == text(values[::-1]) == expected


def test_the_tag_asked_for_comes_before_its_language() -> None:
    values = [Literal("de", "de"), Literal("de-AT", "de-AT")]
    assert text([*values], "de-AT") == "de-AT"
    assert text([*values], "de") == "de"
    assert [one.value for one in languages_first(values[::-1], "de-CH")] == ["de", "de-AT"]


def test_no_iri_is_a_text_and_blank_ones_are_none() -> None:
    assert text(["http://a.org/"]) is text(literals(" ")) is text([]) is text(None) is None
    assert text([Literal(" ", "en"), Literal(" b ", "de")]) == "b"
    assert text(["http://a.org/", *literals("a")]) == "a"


# Descriptions


@pytest.mark.parametrize(
    ("html", "expected"),
    [
        ("<h1>h1 title</h1><h2>h2 title</h2> <b>and bold text</b>", "# h1 title\n\n## h2 title\n\n**and bold text**"),
        ("<p>one</p><p>two<br/>three</p>", "one\n\ntwo  \nthree"),
        ("<ul><li>a<li>b</ul>", "- a\n- b"),
        ("<ol><li>a</li><li>b</li></ol>", "1. a\n2. b"),
        ('<a href="https://example.org/a b">here</a>', "[here](https://example.org/a%20b)"),
        ('<A HREF="/rel">here</A>', "[here](/rel)"),
        (
            "<table><tr><th>a</th><th>b</th></tr><tr><td>1</td><td>2</td></tr></table>",
            "| a | b |\n| --- | --- |\n| 1 | 2 |",
        ),
        ("<table><tr><td>a</td></tr><tr><td>1</td></tr></table>", "| a |\n| --- |\n| 1 |"),
        ("<p>one</p><b style='color: red'>two</b>", "one\n\n**two**"),
        ("<p>one</p><b a='<'>two</b>", "one \\<b a=' two"),
        ("<p>file_name *x*</p>", "file_name \\*x\\*"),
        ("<p>&nbsp;</p><p>a</p><p>&nbsp;</p><p>b</p>", "a\n\nb"),
        ("one\n\ntwo <b>three</b>", "one\n\ntwo **three**"),
        ("caf&eacute; <i>noir</i>", "café *noir*"),
        ("&lt;p&gt;escaped twice&lt;/p&gt;", "escaped twice"),
        ("<!-- hidden -->shown", "shown"),
        ('<img src="data:image/png;base64,AAAA" alt="map">', "map"),
        ("<p> </p>", None),
    ],
)
def test_html_becomes_markdown(html: str, expected: str | None) -> None:
    assert markdown(html) == expected


@pytest.mark.parametrize(
    ("plain", "expected"),
    [
        (" two\n\n  lines \n", "two\n\n  lines"),
        ("a < b and c > d", "a < b and c > d"),
        ("if a<b && c>d", "if a<b && c>d"),
        ("by <jane@doe.org>, <your name>, <http://a.org/?b=c>", "by <jane@doe.org>, <your name>, <http://a.org/?b=c>"),
        ("# *not* [escaped](b) &c", "# *not* [escaped](b) &c"),
        ("R&amp;D &lt; 3 &#8364; &#x20AC; caf&eacute;", "R&D < 3 € € café"),
        ("?a=1&region=2 &notit; &copy", "?a=1&region=2 &notit; &copy"),
        ("\ud800", "\ufffd"),
        (" \n", None),
        ("&nbsp;", None),
    ],
)
def test_plain_text_stays(plain: str, expected: str | None) -> None:
    assert markdown(plain) == expected


@pytest.mark.parametrize(
    "html",
    [
        "<script>alert(1)</script>x",
        "x<style>alert(1)</style>",
        "<a href='javascript:alert(1)'>x</a>",
        "<a href=' JaVa&#x0A;Script:alert(1)'>x</a>",
        "<img src='javascript:alert(1)' alt='x'>",
        "<p onclick='alert(1)'>x</p>",
        "<a href='magnet:?xt=1'>x</a>",
        "<svg/onload=alert(1)>x",
        "<foo bar onclick=alert(1)>x",
        "<iframe src='data:text/html,alert(1)'></iframe>x",
        "&lt;script&gt;alert(1)&lt;/script&gt;x",
    ],
)
def test_nothing_runs(html: str) -> None:
    assert markdown(html) == "x"


@pytest.mark.parametrize(
    "html",
    [
        "<p>&lt;script&gt;alert(1)&lt;/script&gt;</p>",
        "<p>&amp;lt;script&amp;gt; &lt;img src=x onerror=y&gt;</p>",
        "<a href='http://a.org/) <script>'>x</a>",
        "<img src='http://a.org/b.png' alt='<script>'>",
        "<div>" * 200 + "&lt;script&gt;",
        "<p>" * 40_000 + "&lt;script&gt;",
    ],
)
def test_no_tag_is_left(html: str) -> None:
    assert not [place for place in (markdown(html) or "").replace("\\<", "").split("<")[1:] if place[:1].isalpha()]


def test_text_cannot_end_its_fence() -> None:
    assert (markdown("<pre>a\n```\n&lt;script&gt;</pre>") or "").count("```") == 2


HOSTILE: dict[str, Callable[[], str]] = {
    "divs closed": lambda: "<div>" * 100_000 + "x" + "</div>" * 100_000,
    "divs": lambda: "<div>" * 11_000 + "x",
    "few divs": lambda: "<div>" * 1_500 + "x",
    "uls": lambda: "<ul><li>" * 7_000 + "x",
    "dds": lambda: "<dd><li>" * 90_000 + "x",
    "ols": lambda: "<ol>" + "<li>x" * 11_000,
    "few ols": lambda: "<ol>" + "<li>x" * 1_900,
    "odd bs": lambda: "<p>" + "".join(f"<b a={number}>" for number in range(3000)) + "<p>x" * 6000,
    "quoted bs": lambda: "<p>" + "".join(f"<b a='<' {number}>" for number in range(3000)) + "<p>x" * 6000,
    "scripts": lambda: "<script>" * 120_000 + "x",
    "escaped": lambda: "&lt;b&gt;" * 100_000,
    "data": lambda: "<b>" + "data:" * 190_000,
    "signs": lambda: "<" * 999_999 + ">",
    "as": lambda: "<a " * 333_000 + ">",
    "blanks": lambda: "<p>" + " \n" * 29_000 + "x</p>",
    "references": lambda: "&#" * 500_000,
    "quotes": lambda: "<blockquote>" * 95 + "x",
    "paragraphs": lambda: "<p>x</p>" * 10_000_000,
    "marks of quotes": lambda: ">" * 50_000,
    "lists": lambda: "".join(" " * depth + "- x\n" for depth in range(300)),
    "brackets": lambda: "[" * 50_000,
    "links": lambda: "[x](" * 20_000,
    "pictures": lambda: "![" * 30_000,
    "stars": lambda: "**x" * 20_000,
    "cells": lambda: "|a" * 10_000 + "\n" + "|-" * 10_000 + "\n" + "|a|b\n" * 5_000,
    "rows": lambda: "|a|b\n|-|-\n" + "|\n" * 20_000,
}


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_html_is_bounded(name: str) -> None:
    hostile = HOSTILE[name]()
    begun = process_time()
    assert len(markdown(hostile) or "") < 1_500_000
    assert len(as_html(hostile)) < 400_000
    assert len(as_text(hostile[:SHOWN])) <= SHOWN
    assert process_time() - begun < 6


def test_deep_html_needs_no_deep_stack() -> None:
    def below(depth: int) -> str | None:
        return below(depth - 1) if depth else markdown("<div>" * 99 + "<b>x</b>" + "</div>" * 99)

    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(1000)
    try:
        assert below(200) == "**x**"
    finally:
        sys.setrecursionlimit(limit)


def test_what_is_heavy_only_for_its_pictures_and_styles_stays_markdown() -> None:
    style, picture = "<style>" + "p{} " * 30_000 + "</style>", f"<img src='data:image/png;base64,{'A' * 500_000}'>"
    assert markdown(f"{style}<p>a <b>b</b></p>{picture}") == "a **b**"
    assert markdown("<p>a <b>b</b></p>" * 5_000) == " ".join(["a b"] * 5_000)


def test_html_is_imported_only_where_there_is_some() -> None:
    markup._cleaner.cache_clear()
    markdown("plain &amp; simple")
    assert markup._cleaner.cache_info().currsize == 0


# Periods


def period_of(description: Graph, *values: Term) -> tuple[str | None, str | None] | None:
    found = temporal(description, {DCT + "temporal": list(values)})
    return (found.start, found.end) if found else None


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        ("2016-01-01/2016-12-05", ("2016-01-01", "2016-12-05")),
        ("2016-01-01T10:00:00/2016-12-05T11:00:00+02:00", ("2016-01-01T10:00:00Z", "2016-12-05T11:00:00+02:00")),
        ("2016", ("2016", "2016")),
        ("2016-03", ("2016-03", "2016-03")),
        ("2016Z", ("2016", "2016")),
        ("2016/..", ("2016", None)),
        ("../2016-03-04", (None, "2016-03-04")),
        ("start=1999-09-25; end=2000-06; scheme=W3C-DTF;", ("1999-09-25", "2000-06")),
        ("name=The 1990s", None),
        ("2012-01-31/P1D", ("2012-01-31", "2012-01-31")),
        ("2012-11-01T00:00:00Z/P3M", ("2012-11-01", "2013-01-31")),
        ("2012-01-02/P2W", ("2012-01-02", "2012-01-15")),
        ("2012-01-31/P1M", None),
        ("2012-01-01/PT1H", None),
        ("2012-01-01T10:00:00/P1D", None),
        ("9999-12-31/P2D", None),
        ("9999-12-31/P2Y", None),
        ("2012-01-01/P", None),
        ("2016-12-05/2016-01-01", None),
        ("lately", None),
        ("2016-01-01/soon", None),
    ],
)
def test_a_period_that_is_written(written: str, expected: object) -> None:
    assert period_of({}, Literal(written)) == expected


START, END = Literal("2016-01-01", None, XSD + "date"), Literal("2016-12-05T00:00:00", None, XSD + "dateTime")


@pytest.mark.parametrize(
    ("start", "end"),
    [
        (DCAT + "startDate", DCAT + "endDate"),
        (SCHEMA + "startDate", SCHEMA + "endDate"),
        (SCHEMA_HTTPS + "startDate", SCHEMA_HTTPS + "endDate"),
        (SCOVO + "min", SCOVO + "max"),
        (TIME + "hasBeginning", TIME + "hasEnd"),
    ],
)
@pytest.mark.parametrize("name", ["_:a", "file:///base/temporal-2", f"{CALENDAR}year/1999"])
def test_a_period_that_is_described(name: str, start: str, end: str) -> None:
    whole: Node = {TYPE: [DCT + "PeriodOfTime"], start: [START], end: [END]}
    assert period_of({name: whole}, name) == ("2016-01-01", "2016-12-05T00:00:00Z")
    assert period_of({name: {start: [START]}}, name) == ("2016-01-01", None)
    assert period_of({name: {end: [END]}}, name) == (None, "2016-12-05T00:00:00Z")


@pytest.mark.parametrize(
    ("predicate", "written", "expected"),
    [
        ("inXSDDate", "2016-01-01+01:00", "2016-01-01"),
        ("inXSDDateTime", "2016-01-01T10:00:00", "2016-01-01T10:00:00Z"),
        ("inXSDDateTimeStamp", "2016-01-01T10:00:00+01:00", "2016-01-01T10:00:00+01:00"),
        ("inXSDgYear", "2016", "2016"),
        ("inXSDgYearMonth", "2016-02", "2016-02"),
    ],
)
def test_an_instant(predicate: str, written: str, expected: str) -> None:
    instant: Node = {TYPE: [TIME + "Instant"], TIME + predicate: literals(written)}
    description: Graph = {"_:b": instant, "_:a": {TIME + "hasBeginning": ["_:b"], TIME + "hasEnd": ["_:b"]}}
    assert period_of(description, "_:a") == period_of(description, "_:b") == (expected, expected)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("year/2012", ("2012", "2012")),
        ("gregorian-year/2012", ("2012", "2012")),
        ("month/2012-03", ("2012-03", "2012-03")),
        ("day/2012-03-04", ("2012-03-04", "2012-03-04")),
        ("gregorian-instant/2012-03-04T05:06:07", ("2012-03-04T05:06:07Z", "2012-03-04T05:06:07Z")),
        ("gregorian-interval/2012-01-01T00:00:00/P1Y", ("2012-01-01", "2012-12-31")),
        ("gregorian-interval/2012-01-01T00:00:00/PT5M", None),
        ("year/2012-03", None),
        ("government-year/2012-2013", None),
        ("week/2012-W03", None),
    ],
)
def test_a_period_that_only_its_name_tells(name: str, expected: object) -> None:
    assert period_of({}, CALENDAR + name) == expected
    assert period_of({CALENDAR + name: {TYPE: [DCT + "PeriodOfTime"]}}, CALENDAR + name) == expected
    assert period_of({}, "http://example.org/id/" + name) is None


def test_an_end_that_is_named() -> None:
    node: Node = {TIME + "hasBeginning": [f"{CALENDAR}day/2012-01-01"], TIME + "hasEnd": ["http://example.org/end"]}
    assert period_of({"_:a": node}, "_:a") == ("2012-01-01", None)


def test_a_period_that_only_its_label_tells() -> None:
    assert period_of({"_:a": {RDFS + "label": literals("2016/2017")}}, "_:a") == ("2016", "2017")


@pytest.mark.parametrize(
    ("periods", "expected"),
    [
        (["2014", "2012/2013"], ("2012", "2014")),
        (["2016", "2016-01-01/2016-06-30"], ("2016", "2016")),
        (["2012", "2014/.."], ("2012", None)),
        (["../2012", "2014/.."], None),
        (["2012", "lately", "2020/2010"], ("2012", "2012")),
    ],
)
def test_several_periods_are_one(periods: list[str], expected: object) -> None:
    values = literals(*periods)
    assert period_of({}, *values) == period_of({}, *values[::-1]) == expected


def test_no_order_of_the_source_counts_in_a_period() -> None:
    node: Node = {DCAT + "startDate": literals("2017", "2016"), DCAT + "endDate": literals("2019", "2019-06")}
    backwards = {name: values[::-1] for name, values in node.items()}
    assert period_of({"_:a": node}, "_:a") == period_of({"_:a": backwards}, "_:a") == ("2016", "2019")


@pytest.mark.parametrize(
    ("number", "expected"),
    [
        (1, Period(start="2016-01-01T00:00:00Z", end="2016-12-05T00:00:00Z")),
        (2, Period(start="2016-01-01T00:00:00Z", end="2016-12-05T00:00:00Z")),
        (4, None),
    ],
)
def test_the_periods_of_a_real_catalogue(number: int, expected: Period | None) -> None:
    description = fixture("opendatateam+udata/dcat/catalog.xml")
    assert temporal(description, description[f"http://data.test.org/datasets/{number}"]) == expected


# Places


def places_of(description: Graph, *values: Term, language: str | None = None) -> list[Place]:
    return spatial(described(description, *values, language=language), DCT + "spatial")


def described(description: Graph, *values: Term, language: str | None = None) -> Description:
    """A dataset with these places."""
    return Description({**description, "_:set": {DCT + "spatial": list(values)}}, "_:set", language)


def shape_of(*written: str, predicate: str = LOCN + "geometry", datatype: str | None = None) -> Any:
    """The geometry of a node with these literals."""
    node: Node = {predicate: [Literal(one, None, datatype) for one in written]}
    found = places_of({"_:a": node}, "_:a")
    return found[0].geometry if found else None


def places(description: Graph, name: str) -> list[Place]:
    """The places of a node of a catalogue."""
    return spatial(Description(description, name), *({DCT + "spatial"} & description[name].keys()))


def polygon(*polygons: Any) -> dict[str, Any]:
    if len(polygons) == 1:
        return {"type": "Polygon", "coordinates": polygons[0]}
    return {"type": "MultiPolygon", "coordinates": list(polygons)}


@pytest.mark.parametrize(
    "written", [SQUARE_WKT, "1 2 3 4", json.dumps({"type": "envelope", "coordinates": [[1, 4], [3, 2]]})]
)
def test_a_shape_is_one_with_a_node_and_without(written: str) -> None:
    assert shape_of(written) == polygon(SQUARE)
    assert places_of({}, Literal(written)) == [Place(geometry=polygon(SQUARE))]


GML = "<gml:Envelope><gml:lowerCorner>1 2</gml:lowerCorner><gml:upperCorner>3 4</gml:upperCorner></gml:Envelope>"


def test_a_place_whose_shape_is_written_three_times() -> None:
    """As SEMIC writes it: the rings begin at other corners."""
    ring = "POLYGON((1 4, 3 4, 3 2, 1 2, 1 4))"
    node: Node = {
        DCAT + "bbox": [Literal(ring, None, GEO + "wktLiteral"), Literal(GML, None, GEO + "gmlLiteral")],
        LOCN + "geometry": [Literal(json.dumps(polygon(SQUARE)), None, GEO + "geoJSONLiteral")],
    }
    assert places_of({"_:a": node}, "_:a") == [Place(geometry=polygon(SQUARE))]
    del node[LOCN + "geometry"]
    assert places_of({"_:a": node}, "_:a") == [Place(geometry=polygon(SQUARE))]


def test_a_box_around_a_shape_is_no_part_of_it() -> None:
    node: Node = {LOCN + "geometry": literals("POLYGON((1 2, 3 2, 3 4))"), DCAT + "bbox": literals(SQUARE_WKT)}
    triangle = [[[1, 2], [3, 2], [3, 4], [1, 2]]]
    assert places_of({"_:a": node}, "_:a") == [Place(geometry=polygon(triangle))]
    node[LOCN + "geometry"] = literals("POINT(500000 5200000)")
    assert places_of({"_:a": node}, "_:a") == [Place(geometry=polygon(SQUARE))]


DCAT_US_BOX = {
    DCAT_US + "westBoundingLongitude": literals("1"),
    DCAT_US + "southBoundingLatitude": literals("2"),
    DCAT_US + "eastBoundingLongitude": literals("3"),
    DCAT_US + "northBoundingLatitude": literals("4"),
}


@pytest.mark.parametrize(
    "description",
    [
        {"_:a": {RDF + "value": [Literal("northlimit=4; southlimit=2; eastlimit=3; westlimit=1")]}},
        {"_:a": {DCT + "description": [Literal("northlimit=4; southlimit=2; eastlimit=3; westlimit=1")]}},
        {"_:a": {RDF + "value": [Literal("1,2,3,4")]}},
        {"_:a": {LOCN + "geometry": ["_:b"]}, "_:b": {RDF + "value": [Literal("1,2,3,4")]}},
        {"_:a": DCAT_US_BOX},
        {"_:a": {DCAT_US + "geographicBoundingBox": ["_:b"]}, "_:b": DCAT_US_BOX},
    ],
    ids=["a DCMI Box", "a DCMI Box anywhere", "a value", "a value of a shape", "DCAT-US 3", "DCAT-US 3 of a place"],
)
def test_a_box_in_a_text_of_a_node(description: Graph) -> None:
    assert places_of(description, "_:a") == [Place(geometry=polygon(SQUARE))]


@pytest.mark.parametrize("written", ["75, 92", "12 34", "8010"])
def test_codes_of_a_place_are_no_shape(written: str) -> None:
    node = {RDF + "value": [Literal(written)], RDFS + "label": [Literal("Graz")]}
    assert places_of({"_:a": node}, "_:a") == [Place(name="Graz")]


@pytest.mark.parametrize(
    ("description", "value", "found", "flaws"),
    [
        ({}, Literal("POINT(1 91)"), [], ["spatial 'POINT(1 91)' is no place"]),
        ({}, Literal("Graz"), [Place(name="Graz")], []),
        (
            {"_:a": {RDFS + "label": [Literal("Graz")], LOCN + "geometry": [Literal("GML")]}},
            *("_:a", [Place(name="Graz")], ["spatial 'GML' is no place"]),
        ),
        (
            {"_:a": {LOCN + "geometry": ["_:b"]}, "_:b": {GEO + "asWKT": [Literal("POINT(1 91)")]}},
            *("_:a", [], ["spatial 'POINT(1 91)' is no place"]),
        ),
        (
            {"_:a": {"http://a.org/any": [Literal("POINT(1 91)", None, GEO + "wktLiteral")]}},
            *("_:a", [], ["spatial 'POINT(1 91)' is no place"]),
        ),
        (
            {"_:a": {SCHEMA + "latitude": [Literal("91")], SCHEMA + "longitude": [Literal("181")]}},
            *("_:a", [], ["spatial {'latitude': '91', 'longitude': '181'} is no place"]),
        ),
        (
            {"_:a": {LOCN + "geometry": [Literal("POINT(1 91)"), Literal("POINT(1 2)")]}},
            *("_:a", [Place(geometry={"type": "Point", "coordinates": [1, 2]})], []),
        ),
        ({"_:a": {DCT + "identifier": [Literal("42 15")]}}, "_:a", [], []),
        (
            {"_:a": {RDFS + "label": literals("Graz"), LOCN + "geometry": literals(" ")}},
            "_:a",
            [Place(name="Graz")],
            [],
        ),
    ],
    ids=[
        "a text",
        "a name",
        "a name and a shape",
        "a node",
        "a datatype",
        "two numbers",
        "two shapes",
        "an identifier",
        "an empty text",
    ],
)
def test_what_can_not_be_read_is_a_flaw(description: Graph, value: Term, found: list[Place], flaws: list[str]) -> None:
    node = described(description, value)
    assert (spatial(node, DCT + "spatial"), node.sentences()) == (found, flaws)


@pytest.mark.parametrize(
    "datatype",
    [
        None,
        GEO + "geoJSONLiteral",
        "https://www.iana.org/assignments/media-types/application/vnd.geo+json",
        "http://www.opengis.net/ont/gsp#geoJSONLiteral",
    ],
)
@pytest.mark.parametrize(
    "predicate",
    [LOCN + "geometry", DCAT + "bbox", DCAT + "centroid", GEO + "asWKT", GEO + "asGeoJSON", "http://example.org/any"],
)
def test_any_predicate_and_datatype(predicate: str, datatype: str | None) -> None:
    assert shape_of(json.dumps(polygon(SQUARE)), predicate=predicate, datatype=datatype) == polygon(SQUARE)
    assert shape_of(SQUARE_WKT, predicate=predicate, datatype=datatype) == polygon(SQUARE)


def test_polygons_of_a_place_are_one_geometry() -> None:
    square, other, point = json.dumps(polygon(SQUARE)), json.dumps(polygon(OTHER)), "POINT(0 0)"
    assert shape_of(square, SQUARE_WKT, "BBOX(1,2,3,4)") == polygon(SQUARE)
    for order in ([square, other, SQUARE_WKT, point], [point, SQUARE_WKT, other, square]):
        assert shape_of(*order) == polygon(SQUARE, OTHER)
    assert shape_of("POINT(2 2)", point) == shape_of(point, "POINT(2 2)") == {"type": "Point", "coordinates": [0, 0]}
    assert shape_of(point, "LINESTRING(1 2, 3 4)")["type"] == "LineString"
    assert repr(shape_of(square, SQUARE_WKT)) == repr(shape_of(SQUARE_WKT, square))
    assert shape_of("1,2,3,nan", square) == polygon(SQUARE)


@pytest.mark.parametrize("predicate", [LOCN + "geometry", GEO + "hasGeometry", SCHEMA + "geo", SCHEMA_HTTPS + "geo"])
def test_a_geometry_with_a_node_to_itself(predicate: str) -> None:
    description: Graph = {"_:a": {predicate: ["_:b"]}, "_:b": {GEO + "asWKT": literals(SQUARE_WKT)}}
    assert places_of(description, "_:a") == [Place(geometry=polygon(SQUARE))]


@pytest.mark.parametrize(
    "node",
    [
        {SCHEMA + "latitude": literals("2"), SCHEMA + "longitude": literals("1")},
        {SCHEMA_HTTPS + "latitude": literals("2"), SCHEMA_HTTPS + "longitude": literals("1")},
        {WGS84 + "lat": literals("2"), WGS84 + "long": literals("1")},
        {SCHEMA + "box": literals("2 1 2 1")},
    ],
)
def test_a_point_of_two_numbers(node: Node) -> None:
    expected = [Place(geometry={"type": "Point", "coordinates": [1, 2]})]
    assert places_of({"_:a": node}, "_:a") == expected
    assert places_of({"_:a": {SCHEMA + "geo": ["_:b"]}, "_:b": node}, "_:a") == expected


def test_geometries_that_hold_each_other() -> None:
    description: Graph = {"_:a": {LOCN + "geometry": ["_:a", "_:b"]}, "_:b": {LOCN + "geometry": ["_:a", "_:b"]}}
    assert places_of(description, "_:a") == []


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (Literal("Graz"), Place(name="Graz")),
        (Literal("http://example.org/graz"), Place(uri="http://example.org/graz")),
        (Literal(COUNTRY + "FRA"), Place(uri=COUNTRY + "FRA", code="FRA")),
        (COUNTRY + "FRA", Place(uri=COUNTRY + "FRA", code="FRA")),
        (COUNTRY + "1A0", Place(uri=COUNTRY + "1A0")),
        ("http://sws.geonames.org/2778067/", Place(uri="http://sws.geonames.org/2778067/")),
        ("http://example.org/FRA", Place(uri="http://example.org/FRA")),
    ],
)
def test_a_place_that_nothing_describes(value: Term, expected: Place) -> None:
    assert places_of({}, value) == [expected]


@pytest.mark.parametrize("value", [Literal(" "), Literal("POINT EMPTY"), Literal("x" * 5000), Literal("42"), "_:a"])
def test_no_place(value: Term) -> None:
    assert places_of({}, value) == []


@pytest.mark.parametrize(
    "predicate",
    [
        SKOS + "prefLabel",
        RDFS + "label",
        LOCN + "geographicName",
        DCT + "title",
        SCHEMA + "name",
        SCHEMA_HTTPS + "name",
    ],
)
def test_the_name_of_a_place(predicate: str) -> None:
    node: Node = {predicate: [Literal("Österreich", "de"), Literal("Austria", "en"), Literal("Autriche", "fr")]}
    assert places_of({COUNTRY + "AUT": node}, COUNTRY + "AUT") == [
        Place(name="Austria", code="AUT", uri=COUNTRY + "AUT"),
    ]
    assert places_of({"_:a": node}, "_:a", language="de") == [Place(name="Österreich")]


def test_the_first_name_of_a_place_is_its_preferred_label() -> None:
    node: Node = {DCT + "title": literals("c"), RDFS + "label": literals("b"), SKOS + "prefLabel": literals("a")}
    assert places_of({"_:a": node}, "_:a") == [Place(name="a")]


def test_a_name_is_no_shape() -> None:
    assert places_of({"_:a": {DCT + "title": literals("1,2,3,4")}}, "_:a") == [Place(name="1,2,3,4")]


def test_a_name_in_many_languages_is_one_place() -> None:
    names: list[Term] = [Literal("Österreich", "de"), Literal("Austria", "en"), Literal("Graz")]
    for order in (names, names[::-1]):
        assert places_of({}, *order) == [Place(name="Austria"), Place(name="Graz")]
        assert places_of({}, *order, language="de") == [Place(name="Graz"), Place(name="Österreich")]


def test_each_place_once_and_in_one_order() -> None:
    values: list[Term] = [
        "http://b.org/",
        *literals("Graz", " Graz ", json.dumps(polygon(SQUARE)), SQUARE_WKT),
        "http://a.org/",
    ]
    expected = [
        Place(name="Graz"),
        Place(geometry=polygon(SQUARE)),
        Place(uri="http://a.org/"),
        Place(uri="http://b.org/"),
    ]
    for _ in range(5):
        random.shuffle(values)
        assert repr(places_of({}, *values)) == repr(expected)


def test_an_administrative_unit_stands_for_a_place_without_a_name() -> None:
    unit = "http://dcat-ap.de/def/politicalGeocoding/regionalKey/130030000000"
    assert places_of({"_:a": {LOCN + "adminUnitL2": [unit]}}, "_:a") == [Place(uri=unit)]


@pytest.mark.parametrize(
    "made",
    [
        lambda: "POLYGON((" + "1" * 1_000_000,
        lambda: "POLYGON((" + "1 1 " * 300_000 + "))",
        lambda: "POINT" + " " * 1_000_000,
        lambda: "POLYGON" + "(" * 1_000_000,
        lambda: "POLYGON((" + "1.1." * 300_000,
        lambda: "POLYGON((" + "1e" * 600_000,
        lambda: '{"a":' * 200_000,
        lambda: "[" * 1_000_000,
        lambda: "ENVELOPE(" + "1" * 1_000_000 + ")",
        lambda: "northlimit=" * 100_000,
        lambda: "<http://" + "a" * 1_000_000,
        lambda: "start=" * 200_000,
        lambda: "POINT(1 2)" + " " * 10_000_000,
    ],
    ids=lambda made: made()[:12],
)
def test_hostile_places_and_periods_are_bounded(made: Callable[[], str]) -> None:
    written = made()
    begun = process_time()
    assert shape_of(written) is None
    assert places_of({}, Literal(written)) == []
    assert period_of({}, Literal(written)) is None
    assert process_time() - begun < 5


def test_the_places_of_real_catalogues() -> None:
    german = fixture("ckan+ckanext-dcat/dcat/dataset_gov_de.rdf")
    found = [place for name in german for place in places(german, name)]
    ring = [[11.9936, 54.0486], [11.9936, 54.2466], [12.3045, 54.2466], [12.3045, 54.0486], [11.9936, 54.0486]]
    assert {place.uri for place in found} == {None, "http://dcat-ap.de/def/politicalGeocoding/regionalKey/130030000000"}
    assert [place.geometry for place in found if place.geometry] == [polygon([ring])]
    series = fixture("opendatateam+udata/dcat/series.xml")
    assert [place.geometry["type"] for name in series for place in places(series, name) if place.geometry]


# Themes


def themes_of(description: Graph, *values: Term, language: str | None = None) -> list[str]:
    return themes(description, {DCAT + "theme": list(values)}, language)


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (Literal(" Parks "), ["Parks"]),
        (Literal(" "), []),
        (DATA_THEME + "AGRI", ["Agriculture, fisheries, forestry and food"]),
        (DATA_THEME.replace("http:", "https:") + "TRAN", ["Transport"]),
        (Literal(DATA_THEME + "GOVE"), ["Government and public sector"]),
        (DATA_THEME + "NONE", [DATA_THEME + "NONE"]),
        (HVD + "c_dd313021", ["Earth observation and environment", "hvd"]),
        (HVD + "c_00000000", ["http://data.europa.eu/bna/c_00000000", "hvd"]),
        (INSPIRE + "ps", ["INSPIRE", "Protected sites"]),
        (Literal(INSPIRE + "ps"), ["INSPIRE", "Protected sites"]),
        ("http://www.eionet.europa.eu/gemet/nl/inspire-theme/ps", ["INSPIRE", "Protected sites"]),
        ("http://eurovoc.europa.eu/100156", ["http://eurovoc.europa.eu/100156"]),
        ("_:a", []),
    ],
)
def test_a_theme_that_nothing_describes(value: Term, expected: list[str]) -> None:
    assert themes_of({}, value) == expected
    if isinstance(value, str):
        assert themes_of({value: {TYPE: [SKOS + "Concept"]}}, value) == expected


@pytest.mark.parametrize("predicate", [SKOS + "prefLabel", RDFS + "label", DCT + "title", SCHEMA + "name"])
def test_the_label_of_the_source_comes_first(predicate: str) -> None:
    node: Node = {predicate: [Literal("Environnement", "fr"), Literal("Umwelt", "de")]}
    for name in (DATA_THEME + "ENVI", "http://example.org/t", "_:a"):
        assert themes_of({name: node}, name, language="fr") == ["Environnement"]
        assert themes_of({name: node}, name) == ["Umwelt"]
    assert themes_of({INSPIRE + "ps": node}, INSPIRE + "ps") == ["INSPIRE", "Umwelt"]


@pytest.mark.parametrize("predicate", [DCAT + "theme", DCT + "subject", DCATAP + "hvdCategory"])
def test_the_predicates_of_a_theme(predicate: str) -> None:
    marks = ["hvd"] if predicate == DCATAP + "hvdCategory" else []
    assert themes({}, {predicate: literals("A")}) == ["A", *marks]


@pytest.mark.parametrize(
    "scheme",
    [
        {INSPIRE[:-1]: {}},
        {"http://www.eionet.europa.eu/gemet/inspire_themes": {}},
        {"_:s": {DCT + "title": literals("GEMET - INSPIRE themes, version 1.0")}},
        {"_:s": {RDFS + "label": literals("GEMET - INSPIRE themes, version 1.0")}},
    ],
)
def test_a_scheme_that_is_inspires(scheme: Graph) -> None:
    concept: Node = {SKOS + "prefLabel": literals("Protected sites"), SKOS + "inScheme": list(scheme)}
    assert themes_of({"_:a": concept, **scheme}, "_:a") == ["INSPIRE", "Protected sites"]
    other: Node = concept | {SKOS + "inScheme": ["http://example.org/", *literals(INSPIRE)]}
    assert themes_of({"_:a": other, **scheme}, "_:a") == ["Protected sites"]


def test_themes_are_unique_and_in_one_order() -> None:
    values: list[Term] = [*literals("b", "a", "A", "b"), DATA_THEME + "ENER", "http://example.org/t"]
    for _ in range(5):
        random.shuffle(values)
        assert themes_of({}, *values) == ["A", "a", "b", "Energy", "http://example.org/t"]


def test_the_vocabularies_are_complete() -> None:
    sizes = [len(authorities.labels(vocabulary)) for vocabulary in ("data-theme", "high-value", "inspire")]
    assert sizes == [14, 6, 34]


# All of them


@pytest.mark.parametrize("junk", JUNK, ids=lambda junk: ascii(junk[:20]))
def test_nothing_raises(junk: str) -> None:
    names = (DCT, DCAT, SCHEMA, SKOS, TIME, LOCN, GEO)
    words = ("temporal", "spatial", "theme", "startDate", "endDate", "prefLabel", "hasBeginning", "geometry", "bbox")
    for value in (Literal(junk), Literal(junk, "en", None), junk, f"_:{junk}"):
        node: Node = {
            base + word: [value] for base in names for word in (*words, "geo", "box", "latitude", "longitude")
        }
        description: Graph = {"_:": node, junk: node, f"_:{junk}": node}
        temporal(description, node)
        themes(description, node)
        for place in spatial(Description(description, junk), *(name for name in node if name.endswith("spatial"))):
            json.dumps(place.geometry, allow_nan=False)
        markdown(junk)


@pytest.mark.parametrize(
    "hostile",
    [
        "<script>x()</script>",
        "<img src=x onerror=x()>",
        '<svg onload=x()><a xlink:href="javascript:x()">x</a></svg>',
        "<iframe src=https://evil.example></iframe>",
        "<style>* { display: none }</style><link rel=stylesheet href=https://evil.example/a.css>",
        "<form action=https://evil.example><input name=password><button>Log in</button></form>",
        "<p style='position: fixed' class=flash id=content onclick=x()>x</p>",
        "<meta http-equiv=refresh content=0;https://evil.example><base href=https://evil.example>",
        "<math><mtext><table><mglyph><style><img src=x onerror=x()>",
        "<noscript><p title='</noscript><img src=x onerror=x()>'>",
        "[a](javascript:x()) [b](JaVa\nScRiPt:x()) [c](data:text/html,x) [d](vbscript:x) [e](&#106;avascript:x())",
        "[logout](/logout) [far](//evil.example) <a href=/users>users</a> <a href='java\tscript:x()'>x</a>",
        "![pixel](https://evil.example/p.gif) ![x](javascript:x()) ![](data:image/svg+xml,x)",
        '![a](https://a.org/"onerror=x) ![<script>x()</script>](https://a.org)',
        "[x]: javascript:x()\n\n[x] <javascript:x()> <https://evil.example/<b>>",
        "<table background=https://evil.example/p.gif><tr><td style='background: url(https://evil.example)'>1",
        "<!-- --!><img src=x onerror=x()> --> <![CDATA[<script>x()</script>]]> <?php x() ?>",
        "`<script>x()</script>`\n\n```html\n</code></pre><script>x()</script>\n```",
        "\ud800<b>\x00\u202e</b>",
    ],
)
def test_a_description_does_nothing_on_a_page(hostile: str) -> None:
    for said in (hostile, f"Floods {hostile} **more**", f"<p>{hostile}</p>", f"| a |\n|---|\n| {hostile} |"):
        for one in fragment_fromstring(as_html(said), create_parent="div").iterdescendants():
            assert one.tag in markup.SHOWN_TAGS
            assert {*one.keys()} <= {"href", "rel", "start"}
            assert one.get("href", "https://").startswith(("http://", "https://", "ftp://", "mailto:"))
