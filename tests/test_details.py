"""What few sources say of a dataset: from the record to the item, the index, its page and the exports."""

from __future__ import annotations

import csv
import io
import json
import os
import re
import subprocess
import sys
from contextlib import closing
from typing import TYPE_CHECKING

import pyarrow.parquet
import pytest

from crawlers.items import Agent, Dataset, Place, Relation, Service
from crawlers.kinds.api import file
from crawlers.kinds.api.mapping import Reading
from crawlers.kinds.html.mapping import Page, dataset, document
from crawlers.kinds.html.rules import loads
from crawlers.records import xml
from crawlers.store.export.output import WRITERS, held_items, held_sources
from crawlers.store.index import catch_up
from crawlers.store.index.database import connect
from crawlers.store.index.search import search
from tests import test_datacite as datacite
from tests import test_iso as iso
from tests import test_sdmx as sdmx
from tests.conftest import ROOT, Crawl, options, scrapy
from tests.dashboards import page, text
from tests.golden import GOLDEN
from tests.held import put, put_ckan, put_rdf
from tests.test_dashboard import client

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.portal.portal import Portal

RECORD = json.loads((GOLDEN / "ckan" / "details" / "input.json").read_bytes())
DECLARED = """
title = "Levels"
[list]
url = "{portal}/api"
records = "items"
[list.paging]
kind = "none"
[dataset]
id = "id"
title = "title"
creator = "who"
maintainer = "{name: desk, email: mail}"
country = "where.country"
state = "where.state"
city = "where.city"
spatial_resolution = "fine"
temporal_resolution = "step"
type = "sort"
status = "state"
version_notes = "notes"
relations = "links"
documentation = "docs"
sample = "sample"
applicable_legislation = "laws"
hvd_categories = "hvd"
[[resource]]
each = "files"
url = "href"
availability = "there"
access_services = "apis"
"""
GIVEN = {
    "id": "1",
    "title": "Levels",
    "who": "Gauge network",
    "desk": "Data desk",
    "mail": "desk@example.org",
    "where": {"country": "Austria", "state": "Styria", "city": "Graz"},
    "fine": "0.05 km",
    "step": "PT15M",
    "sort": "http://publications.europa.eu/resource/authority/dataset-type/GEOSPATIAL",
    "state": "http://purl.org/adms/status/UnderDevelopment",
    "notes": "Two <b>gauges</b> were added.",
    "links": ["https://example.org/rain", {"role": "source", "uri": "10.5072/raw", "title": "Raw"}, "The yearbook"],
    "docs": ["https://example.org/doc"],
    "sample": "https://example.org/sample",
    "laws": ["http://data.europa.eu/eli/reg_impl/2023/138/oj"],
    "hvd": ["http://data.europa.eu/bna/c_dd313021"],
    "files": [{"href": "https://example.org/a.csv", "there": "STABLE", "apis": ["https://example.org/api"]}],
}


def put_rdf_of_itself(output: Path) -> None:
    said = "dcat:Dataset ; dct:title 'Levels' ; dct:isPartOf <{0}>, <https://example.org/series>"
    prefixes = "@prefix dcat: <http://www.w3.org/ns/dcat#> . @prefix dct: <http://purl.org/dc/terms/> ."
    put_rdf(output, "nation", f"{prefixes} <{ITSELF}> a {said.format(ITSELF)} .".encode())


ITSELF = "https://example.org/levels"
OF_ITSELF = {
    "rdf": put_rdf_of_itself,
    "ckan": lambda output: put_ckan(
        output,
        "town",
        RECORD | {"id": "levels", "uri": ITSELF, "in_series": [ITSELF, "https://example.org/series"]},
    ),
    "data_json": lambda output: put(
        output,
        "agency",
        "levels",
        {"identifier": "levels", "title": "Levels", "isPartOf": ["levels", "https://example.org/series"]},
        by="data_json",
    ),
}


@pytest.mark.parametrize("kind", OF_ITSELF)
def test_a_dataset_has_no_relation_to_itself(kind: str, tmp_path: Path) -> None:
    OF_ITSELF[kind](tmp_path)
    (item,) = held_items(tmp_path, held_sources(tmp_path), print)
    parts = [each.uri or each.title for each in item.relations if each.role in ("isPartOf", "inSeries")]
    assert parts == ["https://example.org/series"]


def test_a_declaration_has_every_detail() -> None:
    item = Reading(GIVEN, file.loads(DECLARED, "levels")).dataset("https://example.org", "s")
    desk, network = (
        Agent(name="Data desk", email="desk@example.org", role="maintainer"),
        Agent(name="Gauge network", role="creator"),
    )
    assert (item.creator, item.maintainer, item.contacts) == (network, desk, [network, desk])
    assert (item.country, item.state, item.city) == ("Austria", "Styria", "Graz")
    assert (item.spatial_resolution, item.temporal_resolution) == (50.0, "PT15M")
    assert (item.type, item.status, item.version_notes) == ("GEOSPATIAL", "DEVELOP", "Two **gauges** were added.")
    assert item.relations == [
        Relation(uri="https://example.org/rain"),
        Relation(role="source", uri="https://doi.org/10.5072/raw", title="Raw"),
        Relation(title="The yearbook"),
    ]
    assert (item.documentation, item.sample) == (["https://example.org/doc"], ["https://example.org/sample"])
    assert (item.applicable_legislation, item.hvd_categories) == (GIVEN["laws"], GIVEN["hvd"])
    (one,) = item.resources
    assert (one.availability, one.access_services) == ("STABLE", [Service(endpoint_url="https://example.org/api")])
    assert item.flaws == []


@pytest.mark.parametrize(
    ("places", "country"),
    [
        ([Place(name="Kenya", code="KEN"), Place(name="Somalia")], None),
        ([Place(name="Kenya", code="KEN"), Place(geometry={"type": "Point", "coordinates": [37, 0]})], "KEN"),
        ([Place(name="Africa")], None),
    ],
)
def test_the_country_is_that_of_all_places_that_are_named(places: list[Place], country: str | None) -> None:
    item = Dataset(source="s", id="1", spatial=places)
    item.derive()
    assert item.country == country


def test_rules_have_every_detail() -> None:
    rules = loads("""
start = "https://example.org/"
[links]
css = "a"
[fields]
title = "h1"
maintainer = ".desk"
maintainer_email = ".desk a"
country = ".country"
city = ".city"
status = ".status"
type = ".type"
version_notes = ".notes"
documentation = ".docs a"
relations = ".related li"
spatial_resolution = ".fine"
temporal_resolution = ".step"
[resources]
css = ".files li"
availability = ".there"
documentation = ".about"
""")
    html = """<h1>Levels</h1><p class=desk>Data desk <a href="mailto:desk@example.org">desk@example.org</a>
    <p class=country>Austria<p class=city>Graz<p class=status>http://purl.org/adms/status/Completed<p class=type>map
    <p class=notes>Two gauges.<p class=docs><a href="https://example.org/doc">How it is made</a>
    <ul class=related><li>The yearbook<li>https://example.org/rain</ul><p class=fine>50 m<p class=step>PT15M
    <ul class=files><li><a href=/a.csv>a</a><i class=there>STABLE</i><a class=about href=/a.html>about a</a></ul>"""
    item = dataset(document(Page(html, "https://example.org/d/1"), rules), source="s", id="1")
    assert item.maintainer
    assert item.maintainer.email == "desk@example.org"
    assert (item.country, item.city, item.status, item.type) == ("Austria", "Graz", "COMPLETED", "map")
    assert (item.version_notes, item.documentation) == ("Two gauges.", ["https://example.org/doc"])
    assert item.relations == [Relation(title="The yearbook"), Relation(uri="https://example.org/rain")]
    assert (item.spatial_resolution, item.temporal_resolution) == (50.0, "PT15M")
    (one,) = item.resources
    assert (one.availability, one.documentation) == ("STABLE", ["https://example.org/a.html"])


# XML


def test_iso_has_its_details() -> None:
    law, category = "http://data.europa.eu/eli/reg_impl/2023/138/oj", "http://data.europa.eu/bna/c_dd313021"
    resolution = '<gmd:distance><gco:Distance uom="km">0.05</gco:Distance></gmd:distance>'
    inner = (
        iso.code("status", "onGoing")
        + iso.in_("spatialResolution/MD_Resolution", resolution)
        + iso.in_("spatialResolution/MD_Resolution", resolution.replace("0.05", "1").replace('"km"', '"deg"'))
        + iso.in_("descriptiveKeywords/MD_Keywords", iso.anchor("keyword", category, "Meteorological"))
        + iso.in_("resourceConstraints/MD_LegalConstraints", iso.anchor("otherConstraints", law, "HVD"))
        + iso.in_(
            "aggregationInfo/MD_AggregateInformation",
            iso.in_("aggregateDataSetName/CI_Citation", iso.text("title", "Gauges"))
            + iso.in_("aggregateDataSetIdentifier/MD_Identifier", iso.anchor("code", "https://example.org/g", "g"))
            + iso.code("associationType", "crossReference"),
        )
    )
    item = iso.mapped(iso.about(inner))
    assert (item.type, item.status, item.spatial_resolution) == ("dataset", "onGoing", 50.0)
    assert item.relations == [Relation(role="crossReference", uri="https://example.org/g", title="Gauges")]
    assert (item.applicable_legislation, item.hvd_categories) == ([law], [category])
    assert item.flaws == []


def test_iso_19115_3_has_them_too() -> None:
    inner = iso.code("status", "completed", prefix="mri") + iso.in_(
        "mri:associatedResource/mri:MD_AssociatedResource",
        iso.in_("mri:name/cit:CI_Citation", iso.text("title", "Gauges", prefix="cit"))
        + iso.code("associationType", "series", prefix="mri"),
    )
    cited = iso.in_("mri:citation/cit:CI_Citation", iso.text("title", "Soils", prefix="cit"))
    body = iso.in_("mdb:identificationInfo/mri:MD_DataIdentification", cited + inner)
    item = iso.mapped(iso.MDB % body)
    assert (item.status, item.relations) == ("completed", [Relation(role="series", title="Gauges")])


def test_datacite_has_its_details() -> None:
    more = """<relatedIdentifiers><relatedIdentifier relatedIdentifierType="DOI" relationType="IsSupplementTo">
    10.5072/paper</relatedIdentifier><relatedIdentifier relatedIdentifierType="URL" relationType="IsDocumentedBy">
    https://example.org/doc</relatedIdentifier></relatedIdentifiers>"""
    item = datacite.item(
        datacite.FULL.replace('resourceTypeGeneral="Dataset"/>', 'resourceTypeGeneral="Dataset">Raster</resourceType>')
        + more
    )
    assert item.type == "Raster"
    assert item.relations == [Relation(role="isSupplementTo", uri="https://doi.org/10.5072/paper")]
    assert item.documentation == ["https://example.org/doc"]
    assert (item.creator and item.creator.name, item.flaws) == ("Meyer, Ada", [])


def test_sdmx_has_its_details() -> None:
    flow = sdmx.FLOW.format(name="T1", version="1.0")
    note = "<c:Annotation><c:AnnotationTitle>About it</c:AnnotationTitle><c:AnnotationURL>https://example.org/m</c:AnnotationURL><c:AnnotationType>ESMS_HTML</c:AnnotationType>"
    flow = flow.replace("</c:Annotations>", f"{note}</c:Annotation></c:Annotations>")
    structure = '<s:Structure><Ref id="DSD" version="2.0" agencyID="ESTAT"/></s:Structure></s:Dataflow>'
    body = sdmx.MESSAGE.format(flow.replace("</s:Dataflow>", structure))
    element = xml.parse(body.encode()).find(".//{*}Dataflow")
    item = sdmx.dataset(element, source="s", url=sdmx.address_of("ESTAT:T1", "https://example.org/rest"))
    definition = "urn:sdmx:org.sdmx.infomodel.datastructure.DataStructure=ESTAT:DSD(2.0)"
    assert item.relations == [Relation(role="structure", uri=definition)]
    assert item.documentation == ["https://example.org/m"]
    assert item.resources[0].access_services == [Service(endpoint_url="https://example.org/rest")]


# On disk


@pytest.fixture(scope="module")
def held(tmp_path_factory: pytest.TempPathFactory) -> Path:
    output = tmp_path_factory.mktemp("details") / "output"
    put_ckan(output, "town", RECORD)
    catch_up(output)
    return output


@pytest.mark.parametrize("words", ["gauge network", "data desk", "graz", "styria", "completed", "yearbook", "levels-2"])
def test_a_search_finds_it(held: Path, words: str) -> None:
    with closing(connect(held)) as db:
        assert [one.dataset_id for one in search(db, words).rows] == [RECORD["id"]]


def test_the_index_has_it(held: Path) -> None:
    with closing(connect(held)) as db:
        row = dict(db.execute("SELECT * FROM datasets").fetchone())
        (file_, other) = map(dict, db.execute("SELECT * FROM resources ORDER BY position"))
    assert (row["creator"], row["creator_email"]) == ("Gauge network", "gauges@example.org")
    assert (row["maintainer"], row["maintainer_email"]) == ("Data desk", "desk@example.org")
    assert (row["country"], row["state"], row["city"]) == ("Austria", "Styria", "Graz")
    assert (row["spatial_resolution"], row["temporal_resolution"]) == (50.0, "PT15M")
    assert (row["status"], row["version_notes"]) == ("COMPLETED", "Two gauges were added.")
    assert json.loads(row["relations"])[0] == {"role": "relation", "uri": "https://example.org/dataset/rain"}
    for name in ("documentation", "sample", "applicable_legislation"):
        assert json.loads(row[name]) == RECORD[name]
    assert json.loads(row["hvd_categories"]) == RECORD["hvd_category"]
    assert (file_["availability"], file_["status"]) == ("STABLE", "COMPLETED")
    assert json.loads(file_["services"]) == [{"title": "Levels", "url": "https://example.org/api"}]
    assert (other["availability"], other["services"]) == (None, None)


def test_its_page_shows_it(held: Path) -> None:
    browser = client(held)
    shown = text(page(browser, f"/sources/town/datasets/{RECORD['id']}"))
    for expected in (
        *("Creator Gauge network gauges@example.org", "Maintainer Data desk desk@example.org", "Country Austria"),
        *("State Styria", "City Graz", "Spatial resolution 50 m", "Temporal resolution PT15M", "Status COMPLETED"),
        *("Version notes Two gauges were added.", "relation: The yearbook", "isVersionOf: https://example.org"),
        *("https://example.org/doc/gauges", "STABLE", "Levels (https://example.org/api)"),
    ):
        assert expected in shown
    told = browser.get(f"/api/datasets/town/{RECORD['id']}").get_json()
    assert told["relations"][1] == {"role": "relation", "title": "The yearbook"}
    assert told["resources"][0]["services"] == [{"title": "Levels", "url": "https://example.org/api"}]


def test_credentials_in_its_addresses_are_not_shown(tmp_path: Path) -> None:
    secret = "https://example.org/x?api_key=s3cr3t99"
    service = json.dumps([{"title": "Levels", "endpoint_url": [secret]}])
    record = RECORD | {"documentation": [secret], "sample": [secret], "related_resource": [secret]}
    record["resources"] = [RECORD["resources"][0] | {"access_services": service, "url": secret}]
    put_ckan(tmp_path / "output", "town", record)
    catch_up(tmp_path / "output")
    browser = client(tmp_path / "output")
    for address in (f"/sources/town/datasets/{RECORD['id']}", f"/api/datasets/town/{RECORD['id']}"):
        shown = browser.get(address).get_data(as_text=True).partition("The document, as the catalogue gave it")[0]
        assert "api_key" in shown
        assert "s3cr3t99" not in re.sub(r'href="[^"]*"', "", shown)  # a link leads where the catalogue's does


def written(held: Path, format_: str) -> bytes:
    body = io.BytesIO()
    lost: list[str] = []
    WRITERS[format_](held_items(held, held_sources(held), lost.append), body)
    assert not lost
    return body.getvalue()


def test_a_table_has_it(held: Path) -> None:
    (row,) = csv.DictReader(io.StringIO(written(held, "csv").decode()))
    assert (row["creator"], row["creator_email"]) == ("Gauge network", "gauges@example.org")
    assert (row["maintainer"], row["maintainer_email"]) == ("Data desk", "desk@example.org")
    assert (row["country"], row["spatial_resolution"], row["status"]) == ("Austria", "50", "COMPLETED")
    assert row["relations"].startswith("relation: https://example.org/dataset/rain | relation: The yearbook")
    assert (row["access_services"], row["availability"]) == ("https://example.org/api", "STABLE")


def test_parquet_has_it(held: Path) -> None:
    (row,) = pyarrow.parquet.read_table(io.BytesIO(written(held, "parquet"))).to_pylist()
    assert (row["spatial_resolution"], row["maintainer"]["email"]) == (50.0, "desk@example.org")
    assert row["relations"][1] == {"role": "relation", "uri": None, "title": "The yearbook"}
    assert row["resources"][0]["access_services"][0]["endpoint_url"] == "https://example.org/api"


# By a method of the spider

TOWN = '''from crawlers.kinds.ckan.spider import CKANSpider


class Town(CKANSpider):
    """A town."""

    name, portal = "town", "{url}"

    {above}
    def complete_item({arguments}):
        {does}
'''


def own(folder: Path, url: str, does: str, above: str = "@staticmethod", arguments: str = "item") -> Crawl:
    (folder / "towns").mkdir(exist_ok=True)
    (folder / "towns" / "town.py").write_text(TOWN.format(url=url, does=does, above=above, arguments=arguments))
    (folder / "here.py").write_text('from crawlers.settings import *\n\nSPIDER_MODULES = ["towns"]\n')
    ran = here(folder, "crawl", "town", *options(folder / "output", {}))
    return Crawl(ran.returncode, ran.stderr, folder / "output" / "town")


def here(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """Run a command where the folder's spiders are."""
    command = [sys.executable, "-W", "error", "-m", "scrapy", *words]
    own = {"PYTHONPATH": f"{ROOT}:{folder}", "SCRAPY_SETTINGS_MODULE": "here"}
    return subprocess.run(command, cwd=ROOT, env=os.environ | own, capture_output=True, text=True, check=False)


def caveats(folder: Path) -> set[str | None]:
    ran = here(folder, "export", "town", "--format", "csv", "-s", f"OUTPUT_DIR={folder / 'output'}")
    assert ran.returncode == 0, ran.stderr
    return {row["caveats"] for row in csv.DictReader(io.StringIO(ran.stdout))}


def test_a_spider_completes_its_items(portal: Callable[..., Portal], tmp_path: Path) -> None:
    done = own(tmp_path, portal(datasets=3).url, 'item.caveats = "see " + item.document["name"]')
    assert (done.code, done.errors) == (0, []), done.log
    assert done.report["completed_by"] == "town"
    expected = {"see " + one["name"] for one in done.documents().values()}
    with closing(connect(tmp_path / "output")) as db:
        assert {one for (one,) in db.execute("SELECT caveats FROM datasets")} == expected
    (tmp_path / "output" / "index.sqlite").unlink()
    assert caveats(tmp_path) == expected
    ran = scrapy("export", "town", "--format", "csv", "-s", f"OUTPUT_DIR={tmp_path / 'output'}")
    assert "There is no spider town here, which completes its items" in ran.stderr
    assert not any(row["caveats"].startswith("see") for row in csv.DictReader(io.StringIO(ran.stdout)))


def test_a_method_that_breaks_costs_its_records_only(portal: Callable[..., Portal], tmp_path: Path) -> None:
    done = own(tmp_path, portal(datasets=12).url, 'item.caveats = {"": "odd"}["" if int(item.id[0], 16) % 2 else "?"]')
    lost = {error["dataset_id"] for error in done.errors}
    assert (done.code, {error["kind"] for error in done.errors}) == (3, {"bug"})
    assert lost
    assert not any(int(one[0], 16) % 2 for one in lost)
    kept = [one["id"] for one in done.documents().values()]
    assert len(kept) + len(lost) == 12
    assert all(int(one[0], 16) % 2 for one in kept)


def test_a_method_that_is_not_static_is_a_sentence(portal: Callable[..., Portal], tmp_path: Path) -> None:
    town = portal(datasets=1)
    done = own(tmp_path, town.url, "pass", above="", arguments="self, item")
    assert (done.code, town.requests("package_search")) == (1, 0)
    assert "Town.complete_item must be a static method: write @staticmethod above it." in done.log
    assert "Traceback" not in done.log
