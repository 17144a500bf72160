"""What pages say by themselves: rules learned without values, RDFa, organisations, listings of other software."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from typing import Any

import pytest

from crawlers.fields import specs
from crawlers.items import Dataset, Resource
from crawlers.kinds.html.mapping import Page, dataset, rdfa
from crawlers.kinds.html.mapping.document import document
from crawlers.kinds.html.rules import loads
from crawlers.operate.learn import Sample, learn, listing
from crawlers.operate.learn.toml import toml
from crawlers.records.rdf.terms import Literal
from crawlers.records.values import email
from tests.conftest import scrapy
from tests.layouts.further import FURTHER
from tests.layouts.held_out import HELD_OUT
from tests.layouts.layouts import LAYOUTS
from tests.layouts.measure import given_of, is_right, page
from tests.layouts.records import record
from tests.site import Answer, Site

EVERY = (*LAYOUTS, *FURTHER, *HELD_OUT)
HERE = "https://data.example.org/datasets/one"


# The labelled set, without what a person has seen


@dataclass
class Found:
    titles: int = 0
    files: int = 0
    right: int = 0
    wrong: list[tuple[str, str, Any, Any]] = field(default_factory=list)


def unaided() -> Found:
    found = Found()
    for layout in EVERY:
        shown = page(layout, 0)
        extracted = document(shown, loads(toml(learn([Sample(shown)], {}, {}))))
        found.files += bool(extracted["resources"])
        for name, truth in record(0, layout.language).truth().items():
            given = given_of(extracted, name)
            if name in layout.without or given is None or name == "resource.format":  # items have it from the address
                continue
            given = email(given) if name == "contact_email" else given
            if is_right(name, given, truth):
                found.right += 1
                found.titles += name == "title"
            else:
                found.wrong.append((layout.name, name, truth, given))
    return found


def test_without_values_most_is_found_and_little_is_wrong() -> None:
    """Before, of 27 pages: 24 titles, 222 values right and 11 wrong."""
    found = unaided()
    assert (found.titles, found.files) >= (26, 27), found
    assert found.right >= 251
    assert len(found.wrong) <= 8, found.wrong


# Pages as software of the field makes them


def taught(html: str, address: str = HERE) -> Any:
    """The item that a page gives by the rules that it teaches."""
    shown = Page(html, address)
    rules = loads(toml(learn([Sample(shown)], {}, {})))
    return dataset(document(shown, rules), source="s", id="1")


HUB = """<html lang="en"><head><title>Noise map | Graz Open Data</title></head><body><main><h2>Noise map</h2>
<dl><dt>License</dt><dd>Text</dd></dl><table><tr><th>Name</th><th>Type</th></tr><tr><td>Identifier</td><td>Number</td></tr>
<tr><td>Publisher</td><td>Text</td></tr><tr><td>Modified</td><td>Date</td></tr></table></main></body></html>"""

META = """<html lang="en"><head><title>Home</title><meta property="og:title" content="River levels | Town">
<meta name="DC.publisher" content="Water office"><meta name="dcterms.modified" content="2020-03-12">
<meta name="DC.subject" content="water; levels"></head><body><main><p>Text.</p></main></body></html>"""


def test_types_of_columns_are_no_values() -> None:
    item = taught(HUB)
    assert (item.title, item.license, item.publisher, item.modified) == ("Noise map", None, None, None)
    assert item.identifier in (None, "1")


def test_the_head_of_the_next_column_is_no_value() -> None:
    head = (
        "<div class=thead><div>Publisher</div><div>Licence</div></div><div class=tr><div>Town</div><div>MIT</div></div>"
    )
    item = taught(f"<h1>Rivers</h1>{head}")
    assert (item.publisher, item.license) == (None, None)


def test_dublin_core_and_opengraph_of_the_head() -> None:
    item = taught(META)
    assert (item.title, item.publisher and item.publisher.name) == ("River levels", "Water office")
    assert (item.modified, item.keywords) == ("2020-03-12", ["water", "levels"])


@pytest.mark.parametrize(
    ("head", "body", "expected"),
    [
        ("<title>Rivers - 2020 | Town</title>", "<p>Rivers - 2020</p>", "Rivers - 2020"),
        (
            "<title>Rivers of Graz | Town</title>",
            "<h1>Town</h1><h2>Rivers of Graz</h2>",
            "Rivers of Graz",
        ),
        ("<title>Town</title><meta property='og:title' content='Rivers :: Town'>", "<h1>Welcome</h1>", "Rivers"),
        ("<title>Rivers</title>", "<footer><h1>Riv</h1></footer><h2>Rivers</h2>", "Rivers"),
        ("", "<h1>Rivers</h1>", "Rivers"),
        (
            "",
            "<h1>Rivers</h1><a href='http://[bad/a.csv'>CSV</a><li><a href='http://[bad/b.csv' download>CSV</a>",
            "Rivers",
        ),
    ],
)
def test_a_title(head: str, body: str, expected: str) -> None:
    assert taught(f"<html><head>{head}</head><body>{body}</body></html>").title == expected


def test_an_organisation_without_its_blurb() -> None:
    rules = loads("start = 'https://a.org/'\n[links]\ncss = 'a'\n[fields]\ntitle = 'h1'\npublisher = '.org'\n")
    for box, name in (
        ("<h3>Parks</h3><p>We plant trees.</p>", "Parks"),
        (f"<a href='/o'>Parks</a> {'We plant trees. ' * 20}", "Parks"),
        ("Parks", "Parks"),
    ):
        shown = Page(f"<h1>A</h1><div class=org>{box}</div>", HERE)
        item = dataset(document(shown, rules), source="s", id="1")
        assert item.publisher
        assert item.publisher.name == name


@pytest.mark.parametrize("heading", ["Files", "Files\x01"], ids=["", "with a character that no rule can have"])
@pytest.mark.parametrize("cell", ["th", "td"])
def test_files_in_a_table(cell: str, heading: str) -> None:
    rows = "".join(f"<tr><{cell}><a href='/{name}.csv'>{name}</a></{cell}></tr>" for name in ("Levels", "Flows"))
    html = f"<title>Rivers | Town</title><h1>Rivers</h1><h2>{heading}</h2><table class=resources>{rows}</table>"
    rules = toml(learn([Sample(Page(html, HERE))], {}, {}))
    item = dataset(document(Page(html, HERE), loads(rules)), source="s", id="1")
    assert [each.url for each in item.resources] == [f"https://data.example.org/{n}.csv" for n in ("Levels", "Flows")]


# RDFa

RULES = "start = 'https://a.org/'\n[links]\ncss = 'a'\n[fields]\ntitle = 'title'\n"
DCAT = """<html lang="en"><title>x</title><body prefix="dcat: http://www.w3.org/ns/dcat#">
<div resource="/d/1" typeof="dcat:Dataset" vocab="http://purl.org/dc/terms/"><h1 property="title">River levels</h1>
<div rel="publisher"><div typeof="foaf:Agent"><b property="foaf:name">Water office</b></div></div>
<a property="license" href="https://creativecommons.org/licenses/by/4.0/">CC</a>
<span property="issued" content="2020-03-12" datatype="xsd:date">March</span>
<ul rel="dcat:distribution"><li resource="/f/1" typeof="dcat:Distribution">
<a property="dcat:downloadURL" href="/f/1.csv">CSV</a></li></ul></div></body></html>"""
SCHEMA = """<html><title>x</title><body vocab="https://schema.org/" typeof="Dataset">
<h1 property="name">River levels</h1>
<div property="publisher" typeof="Organization"><b property="name">Water office</b></div>
<a property="license" href="https://creativecommons.org/licenses/by/4.0/">CC</a>
<time property="datePublished" datetime="2020-03-12">March</time>
<p property="distribution" typeof="DataDownload"><a property="contentUrl" href="/f/1.csv">CSV</a></body></html>"""


@pytest.mark.parametrize("html", [DCAT, SCHEMA], ids=["dcat", "schema.org"])
def test_the_rdfa_of_a_page(html: str) -> None:
    item = dataset(document(Page(html, "https://a.org/d/1"), loads(RULES)), source="s", id="1")
    assert (item.metadata_source, item.title, item.issued) == ("rdf", "River levels", "2020-03-12")
    assert (item.publisher and item.publisher.name, item.license and item.license.id) == ("Water office", "CC-BY-4.0")
    assert [one.url for one in item.resources] == ["https://a.org/f/1.csv"]


def test_schema_org_is_read_alike_however_a_page_embeds_it() -> None:
    json_ld = {
        "@context": "https://schema.org/",
        "@type": "Dataset",
        "@id": "https://a.org/d/1",
        "name": "River levels",
        "creator": {"@type": "Organization", "name": "Water office", "email": "water@a.org"},
        "isAccessibleForFree": "true",
        "license": "https://creativecommons.org/licenses/by/4.0/",
        "distribution": {"@type": "DataDownload", "contentUrl": "https://a.org/f/1.csv", "contentSize": "512 B"},
        "spatialCoverage": {"@type": "Place", "geo": {"@type": "GeoShape", "box": "46 9 49 17"}},
    }
    rdfa_ = """<body vocab="https://schema.org/" typeof="Dataset" resource="/d/1"><h1 property="name">River levels</h1>
    <div property="creator" typeof="Organization"><b property="name">Water office</b><i property="email">water@a.org</i>
    </div><i property="isAccessibleForFree">true</i>
    <a property="license" href="https://creativecommons.org/licenses/by/4.0/"></a>
    <p property="distribution" typeof="DataDownload"><a property="contentUrl" href="/f/1.csv">CSV</a>
    <i property="contentSize">512 B</i></p><p property="spatialCoverage" typeof="Place"><b property="geo"
    typeof="GeoShape"><i property="box">46 9 49 17</i></b></p></body>"""
    microdata = rdfa_.replace('vocab="https://schema.org/" ', "").replace("resource=", "itemid=")
    microdata = re.sub(r'typeof="(\w+)"', r'itemscope itemtype="https://schema.org/\1"', microdata)
    pages = {
        "JSON-LD": f"<body><script type='application/ld+json'>{json.dumps(json_ld)}</script></body>",
        "microdata": microdata.replace("property=", "itemprop="),
        "RDFa": rdfa_,
    }
    found = {}
    for name, body in pages.items():
        page = Page(f"<html><title>x</title>{body}</html>", "https://a.org/d/1")
        item = dataset(document(page, loads(RULES)), source="s", id="1")
        found[name] = {field: getattr(item, field) for field in specs(Dataset)} | {
            "files": [{field: getattr(each, field) for field in specs(Resource)} for each in item.resources]
        }
    assert found["JSON-LD"] == found["microdata"] == found["RDFa"]
    assert found["RDFa"]["access_rights"] == "accessible for free"
    assert found["RDFa"]["files"][0]["size"] == 512
    assert found["RDFa"]["spatial"][0].geometry


@pytest.mark.parametrize("type_", ["schema:Dataset dcat:Dataset", "schema:Dataset void:Dataset", "schema:Dataset"])
def test_what_other_words_say_of_a_dataset_of_schema_org_is_read(type_: str) -> None:
    prefixes = "dcat: http://www.w3.org/ns/dcat# void: http://rdfs.org/ns/void# schema: http://schema.org/"
    html = f"""<html><title>x</title><body prefix="{prefixes}"><div resource="/d/1" typeof="{type_}">
    <h1 property="dct:title">River levels</h1><p property="dct:description">All</p><i property="dcat:keyword">rain</i>
    <p rel="dcat:distribution"><b typeof="dcat:Distribution"><a property="dcat:downloadURL" href="/f/1.csv">CSV</a></b>
    </div></body></html>"""
    item = dataset(document(Page(html, "https://a.org/d/1"), loads(RULES)), source="s", id="1")
    assert (item.title, item.description, item.keywords) == ("River levels", "All", ["rain"])
    assert [one.url for one in item.resources] == ["https://a.org/f/1.csv"]


def test_rdfa_as_its_recommendation_reads_it() -> None:
    html = """<body vocab="http://v.org/" lang="de"><div about="#a" rel="knows"><p property="name">Jo</p></div>
    <p about="#b" rev="knows" resource="#c"></p><p about="#d" property="x:y [no] label" content="L" lang="en"></p>
    <p about="_:e" property="name" datatype="xsd:int" content="7"></p></body>"""
    found, _ = rdfa.triples(Page(html, "https://a.org/"))
    (jo,) = found["https://a.org/#a"]["http://v.org/knows"]
    assert found[str(jo)] == {"http://v.org/name": [Literal("Jo", "de")]}
    assert found["https://a.org/#c"] == {"http://v.org/knows": ["https://a.org/#b"]}
    assert found["https://a.org/#d"]["http://v.org/label"] == [Literal("L", "en")]
    assert found["_:re"]["http://v.org/name"] == [Literal("7", None, "http://www.w3.org/2001/XMLSchema#int")]


def test_teasers_of_several_datasets_are_not_the_pages() -> None:
    teasers = "".join(f'<p resource="/d/{n}" typeof="Dataset"><b property="name">{n}</b></p>' for n in (1, 2))
    html = f'<body vocab="https://schema.org/">{teasers}</body>'
    assert rdfa.described(Page(html, "https://a.org/x")) is None
    graph, name, _ = rdfa.described(Page(html, "https://a.org/d/2")) or ({}, "", True)
    assert (name, list(graph)) == ("https://a.org/d/2", ["https://a.org/d/2"])


ODD = (
    "<p property=''>",
    "<p typeof=' '>",
    "<p prefix='a:'><b about='[a:' property='x:' href='http://['>",
    "<p rel='x'>" * 500,
)


@pytest.mark.parametrize("html", ODD)
def test_rdfa_never_raises(html: str) -> None:
    rdfa.triples(Page(f"<body vocab='x'>{html}</body>", "https://a.org/"))


# Listings

SOCRATA = [("Parks", "Trees", "abcd-1234"), ("Roads", "Signs", "bbcd-1234"), ("Water", "Taps", "cbcd-1234")]
HUB_LINKS = ["datasets/g::trees", "maps/g::noise", "documents/g::report", "datasets/g::bins"]


@pytest.mark.parametrize(
    ("links", "ids"),
    [
        ([f"/?p={number}" for number in range(1, 6)], ["1", "2", "3"]),
        (["/".join(("", *parts)) for parts in SOCRATA], ["abcd-1234", "bbcd-1234", "cbcd-1234"]),
        ([f"/{each}/about" for each in HUB_LINKS], HUB_LINKS[:3]),
    ],
    ids=["WordPress", "Socrata", "ArcGIS Hub"],
)
def test_a_listing(links: list[str], ids: list[str]) -> None:
    body = "".join(f"<li class=hit><a href='{link}'>Dataset named {link}</a></li>" for link in links)
    found = listing(Sample(Page(f"<body><main>{body}</main></body>", "https://data.example.org/browse")), [])
    assert (found.count, found.ids) == (len(links), ids)


# Pages that scripts fill


@pytest.mark.browser
def test_a_page_that_scripts_fill_is_asked_for_again_in_a_browser(tmp_path: Any) -> None:
    script = "document.body.innerHTML = '<main><h1>Street trees</h1><dl><dt>License<dd>CC BY 4.0</dl></main>'"
    html = f"<html><head><title>Street trees | Town</title></head><body><script>{script}</script></body></html>"
    more = "document.querySelector('ul').innerHTML += '<li><a href=/d/' + ++last + '>Street trees</a></li>'"
    rows = "<ul><li><a href=/d/1>Street trees</a></li><li><a href=/d/2>Street trees</a></li></ul>"
    drawn = f"document.body.innerHTML = `{rows}<i style='display: block; height: 3000px'></i>`"
    scrolled = f"let last = 2; onscroll = () => last < 5 && scrollY && ({more})"
    listed = f"<html><body><script>{drawn}; {scrolled}</script></body></html>"
    answers = {"/d/": html, "/list": listed}
    with Site(
        lambda asked: (
            Answer(
                next(answers[each] for each in answers if asked.path.startswith(each)).encode(),
                headers={"Content-Type": "text/html"},
            )
            if asked.path != "/robots.txt"
            else Answer(status=404)
        )
    ) as site:
        ran = scrapy("learn", f"{site.url}/d/1", "--list", f"{site.url}/list", "-o", str(tmp_path / "x.toml"))
    assert ran.returncode == 0, ran.stderr
    assert "Scripts fill the listing and the datasets' pages: a browser has loaded them." in ran.stdout
    rules = loads((tmp_path / "x.toml").read_text())
    assert rules.browser == {"datasets", "listing"}
    assert rules.paging.kind == "scroll"
    assert {rule.name for rule in rules.fields} == {"title", "license"}
