"""Software whose pages are known: its rules on pages of its own templates, and what `learn` makes of them."""

from __future__ import annotations

import re
import shlex
from typing import Any

import pytest

from crawlers.kinds.ckan.mapping import dataset as of_package
from crawlers.kinds.html import software
from crawlers.kinds.html.links import dataset_links
from crawlers.kinds.html.mapping import Page, dataset
from crawlers.kinds.html.mapping.document import document
from crawlers.kinds.html.paging import next_link
from crawlers.kinds.html.rules import loads
from crawlers.kinds.html.totals import total
from crawlers.operate.learn import Sample, learn
from crawlers.operate.learn.report import report
from crawlers.operate.learn.toml import toml
from tests.portal.data import package
from tests.rendered import CKAN, PORTAL, Udata, versions

COUNT = 200
VERSIONS, UDATA = versions("ckan"), versions("udata-front")
GERMAN = {
    "License": "Lizenz",
    "No License Provided": "Keine Lizenz angegeben",
    "Author": "Verfasser",
    "Last Updated": "Zuletzt aktualisiert",
    "Created": "Angelegt",
    "Navigate to resource: {name_or_id}": "Zur Ressource: {name_or_id}",
    "Search datasets with the tag: {name}": "Datensätze mit dem Schlagwort suchen: {name}",
}
ckan = pytest.mark.skipif(not VERSIONS, reason="CKAN's templates are not there: `make test` fetches them")

TAGS = (
    "cyclones-hurricanes-typhoons-and-storms",
    "öffentlicher Verkehr und Straßen",
    "R & D",
    "C++",
    "100 % Ökostrom",
    "подземные воды и источники",
    "a=b",
    "x",
)
NAMES = (
    "Levels of all rivers and lakes, hourly, since the first of January 1999: corrected values",
    "Note: values",
    "2020.csv",
)


def described(index: int) -> dict[str, Any]:
    """Return a package dict as ``package_show`` gives it; many lack something."""
    made = package(index, index % 7) | {"dataset_source": None}
    tags = [TAGS[(index + step) % len(TAGS)] for step in range(index % 5)]
    made["tags"] = [*made["tags"], *({"name": each, "display_name": each} for each in tags)]
    made |= {"maintainer": "Ann Öz", "maintainer_email": "ann@example.org"} if index % 3 else {"maintainer": None}
    made |= {"author": f"Office {index}"} if index % 4 == 1 else {}
    made |= {"license_id": "", "license_title": ""} if index % 11 == 3 else {}
    made |= {"organization": None} if index % 13 == 5 else {}
    made |= {"notes": ""} if index % 17 == 8 else {}
    for number, each in enumerate(made["resources"]):
        each["name"] = NAMES[(index + number) % len(NAMES)] if number % 2 else each["name"]
    return made


def read(html: str, address: str) -> Any:
    page = Page(html, address)
    found = software.known(page)
    assert found
    return dataset(document(page, found.rules(address)), source="s", id="1")


def plain(text: str | None) -> str:
    """Return the words of Markdown."""
    return " ".join(re.findall(r"\w+", text or ""))


def said(item: Any) -> dict[str, Any]:
    """Return what a page of CKAN can say of an item."""
    return {
        "title": plain(item.title),
        "description": plain(item.description),
        "publisher": item.publisher and item.publisher.name,
        "license": item.license and item.license.title,
        "keywords": sorted(item.keywords),
        "agents": [item.creator, *item.contacts],
        "files": [(each.url, each.title, (each.format or "").casefold()) for each in item.resources],
    }


@ckan
@pytest.mark.parametrize("version", VERSIONS)
def test_pages_of_ckan(version: str) -> None:
    """The package dicts are dealt out to the versions."""
    pages, first = CKAN(version, GERMAN if VERSIONS.index(version) % 2 else None), VERSIONS.index(version)
    for index in range(first, COUNT, len(VERSIONS)):
        given = described(index)
        shown = read(pages.dataset(given), f"{PORTAL}/dataset/{given['name']}")
        assert said(shown) == said(of_package(given, source="s", portal=PORTAL)), index
        dates = given["metadata_created"], given["metadata_modified"]
        assert (shown.issued, shown.modified) == tuple(f"{each[:19]}+00:00" for each in dates)


@ckan
@pytest.mark.parametrize("version", VERSIONS)
def test_listings_of_ckan(version: str) -> None:
    packages = [described(index) for index in range(45)]
    for number, count in ((1, 20), (3, 5)):
        page = Page(CKAN(version).listing(packages, number), f"{PORTAL}/dataset/?page={number}")
        found = software.known(page)
        assert found
        assert found.called == f"CKAN {version}"
        rules = found.rules(page.url)
        shown = packages[20 * (number - 1) :][:count]
        assert [each.id for each in dataset_links(page, rules)] == [each["name"] for each in shown]
        assert total(page, rules) == 45
        assert bool(next_link(page, rules.paging)) == (number == 1)


@ckan
def test_rules_that_are_learned_are_those_of_the_software() -> None:
    """The guess said nothing of files, or named them by the menu, and cut keywords."""
    pages, given = CKAN(VERSIONS[-1]), [described(index) for index in (4, 23, 9)]
    samples = [Sample(Page(pages.dataset(each), f"{PORTAL}/dataset/{each['name']}")) for each in given]
    result = learn(samples, {}, {})
    written = toml(result)
    rules = loads(written)
    assert (rules.start, rules.links.id) == ((f"{PORTAL}/dataset/",), "/dataset/([^/?#]+)")
    for sample, package_ in zip(samples, given, strict=True):
        learned_ = dataset(document(sample.page, rules), source="s", id="1")
        assert said(learned_) == said(of_package(package_, source="s", portal=PORTAL))
    said_ = report(result, samples, rules)
    command = f"scrapy crawl ckan -a portal={PORTAL}"
    assert any(line.startswith(f"CKAN {VERSIONS[-1]} has an API") and command in line for line in said_)


@ckan
def test_what_the_user_has_seen_corrects_the_software() -> None:
    given = described(4)
    sample = Sample(Page(CKAN(VERSIONS[-1]).dataset(given), f"{PORTAL}/dataset/{given['name']}"))
    result = learn([sample], {"publisher": ["Ann Öz"]}, {}, ["keywords"])
    assert all(one.certainty.endswith("%") == any(one.given) for one in result.fields)
    assert "# shipped, not seen here" in toml(result)
    item = dataset(document(sample.page, loads(toml(result))), source="s", id="1")
    assert (item.publisher.name, item.keywords) == ("Ann Öz", [])
    assert (plain(item.title), len(item.resources)) == (plain(given["title"]), 4)


@ckan
def test_a_field_that_the_software_has_not_is_guessed() -> None:
    """Portals add fields of their own, and rename those of CKAN."""
    page = CKAN(VERSIONS[-1]).dataset(described(4) | {"extras": [{"key": "Update frequency", "value": "monthly"}]})
    page = page.replace('class="notes embedded-content"', 'class="about" property="dct:description"')
    learned_ = loads(toml(learn([Sample(Page(page, f"{PORTAL}/dataset/a"))], {}, {})))
    item = dataset(document(Page(page, f"{PORTAL}/dataset/a"), learned_), source="s", id="1")
    assert (item.frequency, bool(item.resources)) == ("MONTHLY", True)


def test_a_link_to_a_person_s_page_is_no_e_mail_address() -> None:
    row = "<td property='dc:{}'><a href='{}'>Ann</a></td>"
    people = row.format("creator", "/user/7") + row.format("contributor", "mailto:ann@example.org")
    head = "<meta name=generator content='ckan 2.10'>"
    page = Page(f"{head}<article><h1>A</h1></article><table class=additional-info><tr>{people}</table>", PORTAL)
    found = software.known(page)
    assert found
    fields = document(page, found.rules(f"{PORTAL}/dataset/a"))["fields"]
    assert (fields["creator"]["value"], "creator_email" in fields) == ("Ann", False)
    assert fields["maintainer_email"]["value"] == "mailto:ann@example.org"


@pytest.mark.skipif(not UDATA, reason="udata's templates are not there: `make test` fetches them")
@pytest.mark.parametrize("version", UDATA)
def test_pages_of_udata(version: str) -> None:
    """Without the JSON-LD of its pages, which names twenty files."""
    pages, packages = Udata(version), [described(index) for index in range(45)]
    for given in packages[:12]:
        shown = read(pages.dataset(given), f"{PORTAL}/datasets/{given['name']}/")
        wanted = said(of_package(given, source="s", portal=PORTAL))
        unsaid = {
            "agents": said(shown)["agents"],
            "publisher": given["organization"] and given["organization"]["title"],
        }
        assert said(shown) == wanted | unsaid
    page = Page(pages.listing(packages, 2), f"{PORTAL}/datasets/?page=2")
    found = software.known(page)
    assert found
    rules = found.rules(page.url)
    assert [each.id for each in dataset_links(page, rules)] == [each["name"] for each in packages[20:40]]
    assert next_link(page, rules.paging) == f"{PORTAL}/datasets/?page=3"


DKAN = """<html lang="en"><head><meta name="Generator" content="Drupal 7 (http://drupal.org)"><title>Street trees |
Town</title> </head><body class="node-type-dataset"><h1 class="page-header">Street trees</h1> <div class="field
field-name-og-group-ref"><div class="field-items"><div class="field-item even"><a href="/group/parks">Parks
</a></div></div></div><div class="field field-name-body"><div class="field-items"><div class="field-item even"
property="content:encoded"><p>All trees,</p><p>and their <b>age</b>.</p></div></div></div> <div class="field
field-name-field-resources"><h4>Data and Resources</h4><div property="dcat:distribution"> <div
class="item-list"><ul class="resource-list"><li><div property="dcat:Distribution"><a href="/node/7"
class="heading" title="Trees 2020" property="dcat:accessURL">Trees 2020<span class="format-label"
property="dc:format" data-format="csv">csv</span></a><p class="description">Every tree in the town
that...</p><span class="links"><a href="/node/7/preview" class="btn btn-primary">Preview</a><a
href="/f/trees.csv" class="btn btn-primary data-link">Download </a></span></div></li><li><div
property="dcat:Distribution"><a href="/node/8" class="heading" title="Map of trees"
property="dcat:accessURL">Map of trees<span class="format-label" data-format="html">html</span></a><p
class="description">A map </p><span class="links"><a href="https://map.example.org/" class="btn btn-primary
data-link">Go to resource</a></span></div></li> <li><div property="dcat:Distribution"><span class="links"><a
href="/node/3/dataset/download" class="btn">Download All</a></span> </div></li></ul></div></div></div><div
class="field field-name-field-tags"><div class="field-items"><div class="field-item even"><a
href="/tags/a">trees</a></div><div class="field-item odd"><a href="/tags/b">parks &amp;
gardens</a></div></div></div> <table
class="group_additional"><tr><th>Field</th><th>Value</th></tr><tr><th>Modified Date</th><td><div
property="dcterms:modified" class="field-name-field-modified-date">2020-03-12</div></td></tr><tr><th>Release
Date</th><td><div property="dcterms:issued"
class="field-name-field-release-date">2019-01-02</div></td></tr><tr><th>License</th><td><div
class="field-name-field-license"><a href="https://creativecommons.org/licenses/by/4.0/">CC BY
4.0</a></div></td></tr></table> </body></html>"""

GEONETWORK = """<html ng-app="gn" lang="en" id="ng-app"><head><title>River levels</title><link rel="canonical"
href="https://data.example.org/geonetwork/srv/api/records/r-1"></head><body class="gn-nojs"><div
class="container gn-metadata-view gn-view-advanced gn-schema-iso19139"><article id="gn-metadata-view-7"
class="gn-md-view gn-metadata-display"> <div class="row"><div class="col-md-9"><header><h1><i class="fa
gn-icon-dataset"></i>River levels</h1><div><div class="gn-abstract">Levels, hourly.<br>All
rivers.</div></div></header><div><div id="gn-tab-default"><h1 class="view-header">Default</h1><dl
class="gn-keyword"><dt>GEMET (Theme)</dt><dd><div><ul><li>water</li><li>rivers, lakes</li>
</ul></div></dd></dl><dl class="gn-keyword"><dt>Other
keywords</dt><dd><div><ul><li>levels</li></ul></div></dd></dl> <div
class="gn-contact"><strong>Publisher</strong><address><i class="fa"></i><a href="mailto:w@example.org">Water
office - Ann</a> </address></div><dl class="gn-link"><dt>OnLine resource</dt><dd><a
href="https://w.example.org/wms" title="levels"><span>levels </span></a>(<span>OGC:WMS</span>)<p>As a
map</p></dd></dl><dl class="gn-link"><dt>OnLine resource</dt><dd><a href="https://w.example.org/levels.zip"
title="https://w.example.org/levels.zip"><span>https://w.example.org/levels.zip</span></a>
</dd></dl></div></div></div><div class="gn-md-side col-md-3"><section class="gn-md-side-social"><a
href="#/search?keyword=water"> <span
class="badge">water</span></a></section></div></div></article></div></body></html>"""


CKAN_PAGE = """<html lang=en><meta name=generator content="ckan 2.10.4"><article><h1>A</h1></article><ul class=tag-list>
<li><a href="/dataset/?tags=water">water</a></li><li><a href="/t/{tag}">parks</a></li></ul><table class=additional-info>
<tr><th>Author<td property="dc:creator"><a href="https://a.org/ann">Ann</a></tr>{rows}</table></html>"""
CREATED = "<tr><th>Created<td><span data-datetime='2019-01-02T03:04:05+0000'>January 2, 2019</span>"
UPDATED = "<tr><th>Last Updated<td><span data-datetime='2020-03-12T03:04:05+0000'>March 12, 2020</span>"


@pytest.mark.parametrize(
    ("rows", "dates"),
    [
        (UPDATED + CREATED, ("2019", "2020")),
        (UPDATED, ("", "2020")),
        (CREATED, ("2019", "")),
        (3 * CREATED, ("2019", "")),
    ],
)
def test_a_page_of_ckan_that_lacks_a_date(rows: str, dates: tuple[str, str]) -> None:
    """Of two rows the order tells which is which; of others, their labels."""
    item = read(CKAN_PAGE.format(tag="?tags=parks", rows=rows), f"{PORTAL}/dataset/a")
    assert ((item.issued or "")[:4], (item.modified or "")[:4]) == dates
    assert item.keywords == ["water", "parks"]
    other = read(CKAN_PAGE.format(tag="parks", rows=rows), f"{PORTAL}/dataset/a")
    assert (other.keywords, other.creator and other.creator.email) == (["water", "parks"], None)


@pytest.mark.parametrize(
    ("shown", "count"),
    [("5’030 Datensätze", 5030), ("5\u2009030 datasets", 5030), ("Datasets 2020: 17 datasets found", None)],
)
def test_the_total_of_a_listing_of_ckan(shown: str, count: int | None) -> None:
    page = Page(CKAN_PAGE.format(tag="", rows=f"<form class=search-form><h1>{shown}</h1></form>"), f"{PORTAL}/dataset/")
    found = software.known(page)
    assert found
    assert total(page, found.rules(page.url)) == count


def test_a_command_is_safe_to_paste() -> None:
    address = f"{PORTAL}/x;touch$IFS/tmp/p;/dataset/a"
    found = software.known(Page(CKAN_PAGE, address))
    assert found
    assert shlex.split(found.advice(address))[-1] == f"portal={PORTAL}/x;touch$IFS/tmp/p;"


def test_a_page_of_dkan() -> None:
    item = read(DKAN, f"{PORTAL}/dataset/street-trees")
    assert (item.title, plain(item.description), item.publisher.name) == (
        "Street trees",
        "All trees and their age",
        "Parks",
    )
    assert (item.license.id, item.keywords) == ("CC-BY-4.0", ["trees", "parks & gardens"])
    assert (item.issued, item.modified) == ("2019-01-02", "2020-03-12")
    assert [(each.url, each.title, each.format, each.description) for each in item.resources] == [
        (f"{PORTAL}/f/trees.csv", "Trees 2020", "csv", None),
        ("https://map.example.org/", "Map of trees", "html", "A map"),
    ]


def test_a_page_of_geonetwork() -> None:
    address = f"{PORTAL}/geonetwork/srv/api/records/r-1"
    item = read(GEONETWORK, address)
    assert (item.title, plain(item.description)) == ("River levels", "Levels hourly All rivers")
    assert item.keywords == ["water", "rivers, lakes", "levels"]
    assert item.contacts[0].email == "w@example.org"
    assert [(each.url, each.title, each.description) for each in item.resources] == [
        ("https://w.example.org/wms", "levels", "As a map"),
        ("https://w.example.org/levels.zip", "https://w.example.org/levels.zip", None),
    ]
    found = software.known(Page(GEONETWORK, address))
    assert found
    assert found.rules(address).start == (f"{PORTAL}/geonetwork/srv/api/sitemap",)
    assert f"-a url={PORTAL}/geonetwork/srv/eng/csw" in found.advice(address)
    assert f" -a url='{PORTAL}/a;$(b)'/srv/eng/csw" in found.advice(f"{PORTAL}/a;$(b)/srv/api/records/r-1")


@pytest.mark.parametrize(
    ("html", "command"),
    [
        ("<script>window.__SITE=1</script>", "-a kind=arcgis-hub"),
        ("<link rel=canonical href=https://a.opendata.arcgis.com/datasets/1>", "-a kind=arcgis-hub"),
        ("<script src=https://d.example/socrata-visualizations.js></script>", "-a kind=socrata"),
    ],
)
def test_a_service_has_an_api_and_no_rules(html: str, command: str) -> None:
    """What the page shows is learned as that of any other."""
    page = Page(f"<head>{html}</head><h1>Rivers</h1><dl><dt>License<dd>CC BY 4.0</dl>", f"{PORTAL}/datasets/rivers")
    result = learn([Sample(page)], {}, {})
    assert {field.name for field in result.fields} == {"title", "license"}
    rules, advice = loads(toml(result)), f"scrapy crawl api {command} -a portal="
    saved = Sample(Page("<h1>A</h1>", "https://example.org/a.html"))
    for sample, portal in ((Sample(page), PORTAL), (saved, "ADDRESS")):
        assert any(line.endswith(advice + portal) for line in report(result, [sample], rules))


def test_what_links_to_software_is_not_of_it() -> None:
    links = "<a href='https://a.hub.arcgis.com/'>x</a><a href='https://socrata.com/'>Socrata</a>"
    links += "<script src=/js/socrata.js></script><script>fetch('https://a.org/?from=socrata')</script>"
    page = f"<h1>A</h1>{links}<p>ckan udata dkan</p>"
    assert software.known(Page(page, PORTAL)) is None


def test_rules_that_ship_are_rules() -> None:
    for each in software.every():
        assert each.signs
        assert "{portal}" in each.api
        if each.tables:
            rules = each.rules(f"{PORTAL}/dataset/a")
            assert {"title", "description", "keywords"} <= {rule.name for rule in rules.fields}
            assert rules.resources
            assert rules.links.id


def test_a_part_of_an_address_is_decoded() -> None:
    rules = loads(
        "start = 'https://a.org/'\n[links]\ncss = 'a'\n[fields]\ntitle = 'h1'\n"
        "keywords = { css = 'a', attr = 'href', regex = 'tags=([^&]+)', decode = true }\n"
    )
    html = "<h1>A</h1><a href='?tags=R+%26+D'>R...</a><a href='?tags=C%2B%2B&x=1'>C</a><a href='?q=x'>x</a>"
    html += "<a href='?tags=%CB%E5%F1'>Лес</a><a href='?tags=a%00b'>ab</a>"
    assert document(Page(html, PORTAL), rules)["fields"]["keywords"]["value"] == ["R & D", "C++", "Лес", "ab"]
