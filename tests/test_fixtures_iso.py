"""ISO records of real catalogues and of their tools' own tests, where they are at hand: what is known of them."""

from __future__ import annotations

from collections import Counter
from dataclasses import fields
from pathlib import Path
from urllib.parse import urlsplit

import pyoxigraph
import pytest
from scrapy.http import HtmlResponse

from crawlers.exceptions import AnswerError
from crawlers.items import Agent, Dataset, License, Period, Resource
from crawlers.kinds.waf.folder import entries, is_listing
from crawlers.records import xml
from crawlers.records.dcat import dataset
from crawlers.records.rdf.graphs import graph
from crawlers.records.rdf.terms import DCAT, TYPE
from tests.conftest import Crawl, options, scrapy
from tests.site import Answer, Site

ANSWERS = Path(__file__).parents[2] / "shared" / "answers"
ISO, WAF = ANSWERS / "iso", ANSWERS / "waf"
pytestmark = pytest.mark.skipif(not ISO.is_dir(), reason="the recorded answers are not at hand")


def mapped(name: str, **given: str) -> Dataset:
    root = xml.parse((ISO / f"{name}.xml").read_bytes())
    return xml.dataset(root, source="s", url="https://example.org/r.xml", **given)


def known(name: str) -> tuple[str, str | None, str, int, int]:
    item = mapped(name)
    boxes = [place for place in item.spatial if place.geometry]
    return item.id, item.title, str(item.metadata_source), len(boxes), len(item.resources)


PRISM = "Parameter-elevation Regressions on Independent Slopes Model Monthly Climate Data for the Continental "
PRISM += "United States."
FOUND = {
    "owslib-19115-3-auscope-3d-model": (
        *("5ebc3cb7-a3b5-4760-a8ff-851d5d5beb32", "3D geological model of the Otway and Torquay Basin 2011"),
        *("iso19115_3", 1, 0),
    ),
    "owslib-19115-3-metawal.wallonie.be-srv": (
        "1714cd1e-6685-4dea-a6f4-b51612a15ed0",
        "INSPIRE - Santé et sécurité des personnes en Wallonie (BE) - Service de visualisation WMS",
        *("iso19115_3", 1, 1),
    ),
    "owslib-csw_geobretagne_mdmetadata": (
        *("955c3e47-411e-4969-b61b-3556d1b9f879", "Cadastre 2018 en Bretagne", "iso19139", 1, 0),
    ),
    "owslib-iso19139_srv": (
        *("01ef8e6a-df59-4c2d-8468-79da95046705", "ALKIS®-vereinfacht ohne Eigentümer - Web Feature Service"),
        *("iso19139", 1, 1),
    ),
    "owslib-iso_che": ("3d2981af-d5db-4122-8db6-1ea41ed44b3f", "Gewässerschutzkarte", "iso19139", 1, 0),
    "owslib-iso_mi": ("3f342f64-9348-11df-ba6a-0014c2c00eab", "title in English", "iso19139", 1, 0),
    "owslib-iso_xml_srv": (
        "31dc90a6-1945-489c-b31d-957ab36f8315",
        PRISM,
        *("iso19139", 2, 3),
    ),
    "semic-basic_dataset.input": (
        *("123e4567-e89b-12d3-a456-426655440000", "Land Use map of MyCountry", "iso19139", 1, 2),
    ),
    "semic-multilingual-metadata.input": (
        *("CZ-CUZK-ATOM-DATA50", "Stahovací služba ATOM pro Data50", "iso19139", 1, 3),
    ),
    "spatial-error_validation": ("test-error-validation-1", "FCS Administrative Boundaries WMS", "iso19139", 1, 1),
}


@pytest.mark.parametrize("name", FOUND)
def test_what_the_records_are(name: str) -> None:
    assert known(name) == FOUND[name]
    assert mapped(name).flaws == []


@pytest.mark.parametrize("name", FOUND)
def test_a_document_gives_the_item_back(name: str) -> None:
    item = mapped(name)
    assert xml.read(item.document, "s", item.id, "https://example.org/r.xml") == item


def test_services_are_known_by_their_scope() -> None:
    scopes = {name: xml.scope(xml.parse((ISO / f"{name}.xml").read_bytes())) for name in FOUND}
    assert {name for name, scope in scopes.items() if scope == "service"} == {
        *("owslib-19115-3-metawal.wallonie.be-srv", "owslib-iso19139_srv"),
        *("semic-multilingual-metadata.input", "spatial-error_validation"),
    }


def test_a_record_in_three_languages() -> None:
    name = "semic-multilingual-metadata.input"
    assert mapped(name, language="en").title == "ATOM Download Service for the Data50"
    assert str(mapped(name, language="fr").title).startswith("Service de télécharg")


def test_an_australian_record() -> None:
    item = mapped("owslib-19115-3-auscope-3d-model")
    assert item.license == License(id="CC-BY-4.0", uri="https://creativecommons.org/licenses/by/4.0/")
    assert [place.name for place in item.spatial] == [None, "Victoria", "Otway Basin", "Torquay Basin"]
    assert (item.keywords, item.issued, item.modified) == (["3D Geological Models"], None, None)
    assert str(item.landing_page).startswith("http://geology.data.vic.gov.au/")


def test_a_belgian_service() -> None:
    item = mapped("owslib-19115-3-metawal.wallonie.be-srv")
    [wms] = item.resources
    assert (wms.format, item.access_rights, item.languages) == ("WMS", "PUBLIC", ["fr"])
    assert item.license
    assert str(item.license.uri).endswith("/LicServicesSPW.pdf")
    assert item.themes == ["INSPIRE", "Santé et sécurité des personnes"]


def test_a_french_dataset() -> None:
    item = mapped("owslib-csw_geobretagne_mdmetadata")
    assert (item.modified, item.frequency) == ("2018-09-01", "ANNUAL")
    assert item.landing_page == "http://www.cadastre.gouv.fr"
    assert "Parcelles cadastrales" in item.themes
    assert len(item.keywords) + len([each for each in item.spatial if each.name]) == 16  # the 17th is the theme


def test_a_record_of_the_geological_survey() -> None:
    item = mapped("owslib-iso_xml_srv")
    assert item.temporal == Period(start="1895-01-01T00:00:00Z", end="2013-12-01T00:00:00Z")
    assert {each.format for each in item.resources} == {"OPeNDAP"}


# SEMIC's own transformation to GeoDCAT-AP, read by the mapping of RDF

DIFFERENT = {
    "id": "ISO's is the record's; SEMIC's is the identifier of the data",
    "publisher": "SEMIC takes only the role publisher; here the owner is the publisher if there is no other",
    "contacts": "SEMIC names the owner rightsHolder, and has the contact of the record with the record",
    "keywords": "SEMIC makes themes of keywords that have an address",
    "themes": "the same, and topic categories are not themes there",
    "license": "SEMIC takes INSPIRE's noConditionsApply for a licence",
    "access_rights": "SEMIC keeps the address of INSPIRE's limitation, here its text is kept",
    "rights": "what SEMIC takes for a licence is a statement of rights here",
    "spatial": "SEMIC's ring begins at another corner",
    "metadata_modified": "the stamp of the record",
    "metadata_source": "",
    "document": "",
    "type": "the scope of the record, for which SEMIC's has a class",
    "resources": "compared below",
}
DIFFERENT_OF_RESOURCES = {
    "id": "SEMIC's have none",
    "dataset_id": "as the id of the dataset",
    "media_type": "SEMIC gives a service the format of the distribution",
    "license": "SEMIC repeats the licence with each distribution",
    "rights": "the same with access rights",
    "access_services": "SEMIC describes a service for each link to one; here that is the resource",
}


@pytest.fixture(params=["identifiers-anchor", "transfersize-bytesize"])
def pair(request: pytest.FixtureRequest) -> tuple[Dataset, Dataset]:
    """The item of a record, and that of SEMIC's Turtle of it."""
    triples = pyoxigraph.parse(
        path=str(ISO / f"semic-{request.param}.expected.ttl"), format=pyoxigraph.RdfFormat.TURTLE
    )
    found = graph(triples)
    [subject] = [subject for subject, node in found.items() if DCAT + "Dataset" in node.get(TYPE, [])]
    return mapped(f"semic-{request.param}.input"), dataset(found, subject, source="s")


def test_the_same_as_semic_but_for_known_differences(pair: tuple[Dataset, Dataset]) -> None:
    ours, theirs = pair
    same = [each.name for each in fields(Dataset) if each.name not in DIFFERENT]
    assert {name: getattr(ours, name) for name in same} == {name: getattr(theirs, name) for name in same}
    assert {"title", "description", "identifier", "uri", "issued", "temporal", "conforms_to", "provenance"} < set(same)
    corners = [sorted(map(tuple, item.spatial[0].geometry["coordinates"][0]))[1:4] for item in pair]  # type: ignore[index]
    assert set(corners[0]) <= {*corners[1], (14.18, 35.81), (14.58, 36.08)}


def test_the_same_resources_as_semic(pair: tuple[Dataset, Dataset]) -> None:
    same = [each.name for each in fields(Resource) if each.name not in DIFFERENT_OF_RESOURCES]
    ours, theirs = (sorted(item.resources, key=lambda each: str(each.url)) for item in pair)
    assert [[getattr(each, name) for name in same] for each in ours] == [
        [getattr(each, name) for name in same] for each in theirs
    ]
    assert {"url", "title", "format", "size"} < set(same)


@pytest.mark.parametrize("field", ["publisher", "contacts", "license", "themes"])
def test_the_known_differences_are_still_there(pair: tuple[Dataset, Dataset], field: str) -> None:
    ours, theirs = pair
    assert getattr(ours, field) != getattr(theirs, field), f"take {field} out of DIFFERENT"


def test_semics_owner_is_the_publisher(pair: tuple[Dataset, Dataset]) -> None:
    assert pair[0].publisher == Agent(name="MyOrganisation", email="info@my-organisation.eu", role="publisher")


# Records that CSW and OAI-PMH bring


@pytest.mark.parametrize(
    ("name", "source", "count"),
    [
        ("csw/terria-iso-page1.xml", "dublin_core", 100),
        ("csw/terria-iso-page3-last.xml", "dublin_core", 30),
        ("csw/2.0.2-getrecords-dc-geonetwork.xml", "dublin_core", 1),
        ("csw/pycsw3b-2.0.2-dc-page1.xml", "dublin_core", 3),
        ("csw/2.0.2-getrecords-iso-small.xml", "iso19139", 3),
        ("csw/geonetwork-iso19139-page-1.xml", "iso19139", 2),
        ("csw/pycsw-2.0.2-getrecords-iso19115-3.xml", "iso19115_3", 4),
        ("csw/geonetwork-geodcatap-page-1.xml", "rdf_xml", 2),
        ("oai-pmh/pycsw-ListRecords_iso19139.xml", "iso19139", 10),
    ],
)
def test_every_record_of_a_page_is_an_item(name: str, source: str, count: int) -> None:
    root = xml.parse((ANSWERS / name).read_bytes())
    items = [xml.dataset(each, source="s", url="https://example.org/") for each in xml.records(root)]
    assert ({item.metadata_source for item in items}, len(items)) == ({source}, count)
    assert len({item.id for item in items}) == count
    assert all(item.title or item.flaws == ["the record has no title"] for item in items)


# Web-accessible folders

LISTINGS = {
    "gsa-bts-waf.html": ("https://transtats.bts.gov/NTADmetadata/", 2, 0),
    "gsa-nginx-dggs-waf.html": ("https://dggs.alaska.gov/webpubs/metadata/", 2, 0),
    "spatial-apache-folder.html": ("https://apache.server/apache-folder/", 1, 1),
    "spatial-iis-folder.html": ("https://iis.server/iis-folder/", 1, 1),
    "spatial-iis-subfolder.html": ("https://iis.server/iis-folder/subfolder/", 1, 0),
    "spatial-nginx-subfolder.html": ("https://nginx.server/nginx/subfolder/", 1, 0),
}


@pytest.mark.parametrize("name", LISTINGS)
def test_recorded_listings(name: str) -> None:
    url, records, folders = LISTINGS[name]
    body = (WAF / name).read_bytes()
    found = list(entries(HtmlResponse(url, body=body), url))
    assert is_listing(body)
    assert Counter(each.what for each in found) == +Counter(record=records, folder=folders)


@pytest.mark.parametrize(
    ("name", "kind"), [("gsa-USGSHydroCached.xml", "unsupported"), ("gsa-decode_error.xml", "invalid_record")]
)
def test_recorded_files_that_are_no_records(name: str, kind: str) -> None:
    with pytest.raises(AnswerError) as refused:
        xml.dataset(xml.parse((WAF / name).read_bytes()), source="s", url="https://example.org/")
    assert refused.value.kind == kind


def test_a_crawl_of_recorded_listings_and_records(output: Path) -> None:
    files = {
        "/apache-folder/": (WAF / "spatial-apache-folder.html", "text/html"),
        "/apache-folder/record-1.xml": (ISO / "owslib-iso_che.xml", "text/xml"),
        "/apache-folder/subfolder/": (WAF / "spatial-nginx-subfolder.html", "text/html"),
        "/apache-folder/subfolder/record-2.xml": (ISO / "owslib-19115-3-auscope-3d-model.xml", "text/xml"),
    }

    def answer(asked: object) -> Answer:
        path, media_type = files.get(urlsplit(asked.path).path, (None, ""))  # type: ignore[attr-defined]
        return Answer(path.read_bytes(), headers={"Content-Type": media_type}) if path else Answer(b"", 404)

    with Site(answer) as site:
        ran = scrapy("crawl", "waf", *options(output, {}, url=f"{site.url}/apache-folder/"))
    done = Crawl(ran.returncode, ran.stderr, output / "127.0.0.1")
    assert (done.code, done.report["verdict"]) == (0, "complete")
    assert {line["dataset_id"]: line["metadata_source"] for line in done.manifest} == {
        "3d2981af-d5db-4122-8db6-1ea41ed44b3f": "iso19139",
        "5ebc3cb7-a3b5-4760-a8ff-851d5d5beb32": "iso19115_3",
    }
