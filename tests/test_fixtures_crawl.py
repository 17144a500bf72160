"""Files of real catalogues and of their tools' own tests, where they are at hand: each crawled whole, from a server."""

from __future__ import annotations

import json
import re
from email.message import Message
from pathlib import Path

import pytest

from tests.conftest import Crawl, options, scrapy
from tests.site import Answer, Asked, Site

REAL = Path(__file__).parents[2] / "shared" / "fixtures"
UDATA = "opendatateam+udata/dcat"
INLINE = "opendatateam+udata/inline"
CKAN = "ckan+ckanext-dcat/dcat"
CKAN_INLINE = "ckan+ckanext-dcat/harvest_inline"
HARVESTER = "GSA+datagov-harvester/dcatus"

PROPER = {
    ".json": "application/json",
    ".jsonld": "application/ld+json",
    ".rdf": "application/rdf+xml; charset=utf-8",
    ".ttl": "text/turtle",
    ".xml": "application/rdf+xml",
}
WRONG = {
    ".json": "text/html",
    ".jsonld": "text/turtle",
    ".rdf": "text/html; charset=iso-8859-1",
    ".ttl": "application/rdf+xml",
    ".xml": "text/plain",
}
TYPES = {"proper": PROPER, "wrong": WRONG}

SOME = "https://data.some.org/catalog/datasets/"
VANVES = "https://vanves-seineouest.opendatasoft.com/explore/dataset"
GOVERNMENT = "https://example.gov/datasets"

pytestmark = pytest.mark.skipif(not REAL.is_dir(), reason="the shared fixtures are not at hand")


@pytest.fixture
def harvest(output):
    def run(url: str) -> Crawl:
        ran = scrapy("crawl", "dcat", *options(output, {"RETRY_TIMES": "0"}, url=url))
        assert "Traceback" not in ran.stderr, ran.stderr
        return Crawl(ran.returncode, ran.stderr, output / "127.0.0.1")

    return run


@pytest.fixture
def site():
    """Serves files by their path, query and all; anything else is 404. What is at ``host`` in them is on the site."""
    with Site(lambda _: Answer(status=404)) as started:

        def serve(files: dict[str, str], types: dict[str, str], host: str = "http://data.test.org") -> Site:
            started.answer = lambda asked: reply(started, files, types, host, asked.path)
            return started

        yield serve


def reply(site: Site, files: dict[str, str], types: dict[str, str], host: str, path: str) -> Answer:
    if path not in files:
        return Answer(status=404)
    file = REAL / files[path]
    body = file.read_bytes().replace(host.encode(), site.url.encode())
    return Answer(body, headers={"Content-Type": types[file.suffix]})


def ids(crawl: Crawl) -> list[str]:
    """Those of the manifest's last lines, each of which has its document."""
    files = {line["metadata_file"]: line["dataset_id"] for line in crawl.manifest}
    assert all((crawl.folder / file).is_file() for file in files)
    assert len(files) == len(list(crawl.folder.glob("datasets/*")))
    return sorted(files.values())


COMPLETE = {
    f"{UDATA}/catalog.xml": ["1", "2", "3", "4"],
    f"{UDATA}/flat.jsonld": ["1", "2", "3"],
    f"{UDATA}/nested.jsonld": ["1"],
    f"{UDATA}/series.xml": ["FR-33071536800297-ATLAS_DCE_ARTOIS_PICARDIE_ETATGLOBAL"],
    f"{UDATA}/udata.xml": [f"{VANVES}/bureau-de-vote-vanves/", f"{VANVES}/vfe_public_219200755_20240506/"],
    f"{CKAN}/catalog.rdf": [f"{SOME}1", f"{SOME}2"],
    f"{CKAN}/catalog_pod.jsonld": ["widgets-0001"],
    f"{CKAN}/dataset_gov_de.rdf": ["c1be4007-d811-48fb-8818-2cb358b06a63"],
    f"{CKAN}/dataset_multilingual.ttl": ["0112cf32-bce0-4071-9504-923375f9f2ad"],
    f"{CKAN_INLINE}/ttl_commas_in_keywords.ttl": [f"{SOME}1", f"{SOME}2"],
    f"{HARVESTER}/dcatus.json": [f"cftc-dc{number}" for number in range(1, 8)],
    f"{HARVESTER}/dcatus3_0_nested_catalog.json": [
        f"{GOVERNMENT}/nested-child",
        f"{GOVERNMENT}/nested-grandchild",
        f"{GOVERNMENT}/nested-parent",
    ],
}


@pytest.mark.parametrize("types", TYPES)
@pytest.mark.parametrize(("file", "expected"), COMPLETE.items(), ids=[Path(file).name for file in COMPLETE])
def test_complete(harvest, site, file, expected, types):
    path = f"/{Path(file).name}"
    crawl = harvest(site({path: file}, TYPES[types]).url + path)
    assert (crawl.code, crawl.kinds(), crawl.report["verdict"]) == (0, [], "complete")
    assert ids(crawl) == expected
    assert crawl.report["expected"] == crawl.report["listed"] == len(expected)


@pytest.mark.parametrize("types", TYPES)
def test_blank_nodes_one_of_which_is_named_and_missing(harvest, site, types):
    """The file names a node ``_:dataset-3``, and describes its third dataset as another."""
    crawl = harvest(site({"/b.jsonld": f"{UDATA}/bnodes.jsonld"}, TYPES[types]).url + "/b.jsonld")
    assert ids(crawl) == ["1", "2", "3"]
    assert (crawl.code, [error["kind"] for error in crawl.errors]) == (3, ["undescribed"])
    assert "_:dataset-3" in crawl.errors[0]["error"]


@pytest.mark.parametrize("types", TYPES)
def test_what_is_no_turtle(harvest, site, types):
    """What can be read of it is kept, an error line says where it can't be."""
    crawl = harvest(site({"/d.ttl": f"{CKAN}/dataset.ttl"}, TYPES[types]).url + "/d.ttl")
    assert (crawl.code, crawl.report["verdict"]) == (3, "incomplete")
    assert crawl.report["errors"]["invalid_rdf"] == 6
    assert "healthdcatap: has not been declared (line 149)" in crawl.errors[0]["error"]
    assert ids(crawl) == ["http://example.com/dataset/1234567890", "http://example.com/series"]


@pytest.mark.parametrize("types", TYPES)
def test_a_record_without_identifier(harvest, site, types):
    """It is the file's only one, so others are put beside it."""
    served = site({"/d.json": f"{HARVESTER}/dcatus_no_identifier.json"}, TYPES[types])
    alone = served.answer
    crawl = harvest(served.url + "/d.json")
    assert (crawl.code, ids(crawl)) == (3, [])
    assert [error["kind"] for error in crawl.errors] == ["missing_id"]
    assert "'Commitment of Traders'" in crawl.errors[0]["error"]
    others = json.loads((REAL / HARVESTER / "dcatus.json").read_bytes())
    others["dataset"][3:3] = json.loads(alone(Asked("/d.json", Message())).body)["dataset"]
    served.answer = lambda _: Answer(json.dumps(others).encode(), headers={"Content-Type": TYPES[types][".json"]})
    crawl = harvest(served.url + "/d.json")
    assert (crawl.code, ids(crawl)) == (3, [f"cftc-dc{number}" for number in range(1, 8)])
    assert "dataset[3], 'Commitment of Traders'" in crawl.errors[-1]["error"]


def test_what_is_only_a_context(harvest, site):
    crawl = harvest(site({"/c.jsonld": "project-open-data/catalog.jsonld"}, PROPER).url + "/c.jsonld")
    assert [error["kind"] for error in crawl.errors] == ["no_datasets"]
    assert (crawl.code, ids(crawl)) == (3, [])


# Pages


PARTIAL = {f"/catalog.jsonld?page={page}": f"{UDATA}/partial-collection-{page}.jsonld" for page in (1, 2)}
PAGED = {f"/page/{page}": f"{CKAN_INLINE}/rdf_content_pagination_{page}.rdf" for page in (1, 2)}
PAGINATIONS = {
    "hydra": (PARTIAL, "http://data.test.org", ["1", "2", "3", "4"]),
    "legacy hydra": (PAGED, "http://some.dcat.file.pagination.rdf", [f"{SOME}{number}" for number in range(1, 5)]),
}


def pages(served: Site) -> list[str]:
    return [asked.path for asked in served.asked if asked.path != "/robots.txt"]


@pytest.mark.parametrize("types", TYPES)
@pytest.mark.parametrize(("files", "host", "expected"), PAGINATIONS.values(), ids=PAGINATIONS)
def test_two_pages(harvest, site, files, host, expected, types):  # noqa: PLR0917  # one for each choice
    served = site(files, TYPES[types], host)
    crawl = harvest(served.url + next(iter(files)))
    assert (crawl.code, crawl.kinds()) == (0, [])
    assert (ids(crawl), pages(served)) == (expected, list(files))
    assert (crawl.report["verdict"], crawl.report["expected"], crawl.report["listed"]) == ("complete", 4, 4)


@pytest.mark.parametrize(("files", "host", "expected"), PAGINATIONS.values(), ids=PAGINATIONS)
def test_a_second_page_that_is_the_first(harvest, site, files, host, expected):
    served = site(files, PROPER, host)
    first = next(iter(files))
    assert harvest(served.url + first).code == 0
    site(dict.fromkeys(files, files[first]), PROPER, host)
    for _ in range(2):  # withdrawn is what two crawls in a row did not see
        before = len(served.asked)
        crawl = harvest(served.url + first)
        assert (crawl.code, crawl.report["verdict"]) == (3, "incomplete")
        assert crawl.report["listed"] < crawl.report["expected"] == 4
        assert {error["kind"] for error in crawl.errors} <= {"paging", "count_mismatch"}
        assert crawl.report["counts"]["withdrawn"] == 0
        assert len(served.asked) - before <= 5, "robots.txt and a few pages"
    assert {line["status"] for line in crawl.manifest} == {"new"}
    assert ids(crawl) == expected


# DTDs


@pytest.mark.parametrize("name", ["external_dtd", "external_entities"])
def test_what_a_dtd_points_to_is_not_asked_for(harvest, site, name):
    """The files are records within CSW's answers; the record is served by itself, and the DTD points to a listener."""
    text = (REAL / INLINE / f"CswDcatBackendTest.test_disallow_{name}.xml").read_text(encoding="utf-8")
    record = re.search("<rdf:RDF.*</rdf:RDF>", text, re.DOTALL)
    dtd = re.search(r"<!DOCTYPE.*?(\]>|dtd\">)", text, re.DOTALL)
    assert record
    assert dtd
    with Site(lambda _: Answer(b"<!-- read -->")) as listener:
        pointing = re.sub(r'SYSTEM "[^"]*"', f'SYSTEM "{listener.url}/evil"', dtd[0])
        served = site({}, PROPER)
        body = f'<?xml version="1.0"?>\n{pointing}\n{record[0]}'.encode()
        served.answer = lambda _: Answer(body, headers={"Content-Type": "application/rdf+xml"})
        crawl = harvest(served.url + "/record")
        assert (crawl.code, ids(crawl)) == (0, ["https://example.com/test/"])
        assert [document["title"] for document in crawl.documents().values()] == ["test"]
        assert listener.asked == []
