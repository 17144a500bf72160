"""Catalogues that publish DCAT, walked through or crawled whole: every serialisation, every paging, every failure."""

from __future__ import annotations

import gzip
import hashlib
import io
import json
import random
import re
import signal
import sqlite3
import subprocess
import sys
import time
import zipfile
from collections import Counter
from dataclasses import replace
from itertools import permutations
from types import SimpleNamespace

import pytest
from pyoxigraph import RdfFormat, parse
from scrapy.http import Response

from crawlers.exceptions import AnswerError
from crawlers.kinds.dcat.answer import read
from crawlers.kinds.dcat.elsewhere import is_part, joined
from crawlers.kinds.dcat.frontier import Frontier
from crawlers.kinds.dcat.page import PageRecord
from crawlers.kinds.dcat.records import PageRecords
from crawlers.kinds.dcat.spider import DCAT
from crawlers.records.lazy_dataset import LazyDataset
from crawlers.records.rdf.document import document as written
from crawlers.records.rdf.terms import TYPE, Literal
from tests import forked
from tests.conftest import ROOT, Crawl, options, scrapy
from tests.portal.dcat import SERIALISATIONS, Catalogue
from tests.site import Answer, Site
from tests.test_resume import left
from tests.waiting import until
from tests.walked import Walked, answers_of, walk


@pytest.fixture
def harvest(output):
    """Crawls a catalogue: ``harvest(catalogue.address, since="last", settings={...})``."""

    def run(url, *, settings=None, **arguments) -> Crawl:
        ran = scrapy("crawl", "dcat", *options(output, settings or {}, url=url, **arguments))
        return Crawl(ran.returncode, ran.stderr, output / arguments.get("source", "127.0.0.1"))

    return run


@pytest.fixture
def walked(tmp_path):
    """Walks through a site, without a crawl: ``walked(site, site.address, max_datasets="3", settings={...})``."""

    def run(site: Site, url: str, *, settings=None, twice: int = 0, **arguments: str) -> Walked:
        return walk(DCAT, answers_of(site), tmp_path, settings, twice=twice, url=url, **arguments)

    return run


@pytest.fixture
def catalogue():
    """Starts catalogues: ``catalogue(250, paging="hydra", faults={"loop": ""})``. They end when the test does."""
    started = []

    def start(*arguments, **keywords) -> Catalogue:
        started.append(Catalogue(*arguments, **keywords).__enter__())
        return started[-1]

    yield start
    for one in started:
        one.__exit__()


def ids(crawl: Crawl) -> list[str]:
    return sorted(path.name.partition("__")[0].removesuffix(".json") for path in crawl.folder.glob("datasets/*"))


def statuses(crawl: Crawl) -> Counter[str]:
    return Counter(line["status"] for line in crawl.manifest)


def judged(crawl: Crawl) -> tuple[str, int, int]:
    return crawl.report["verdict"], crawl.report["expected"], crawl.report["listed"]


# Serialisations


@pytest.mark.parametrize("serialisation", SERIALISATIONS)
def test_every_serialisation(walked, catalogue, serialisation):
    site = catalogue(12, serialisation=serialisation)
    done = walked(site, site.address)
    assert (done.judged, done.ids(), done.errors) == (("complete", 12, 12), site.ids(), [])
    source = "data_json" if serialisation == "data.json" else "rdf"
    assert {(item.metadata_source, item.metadata_url) for item in done.items} == {(source, site.address)}


def test_a_document_is_json_ld_by_itself(harvest, catalogue):
    site = catalogue(3, serialisation="ttl")
    crawl = harvest(site.address)
    for document in crawl.documents().values():
        triples = list(parse(json.dumps(document), RdfFormat.JSON_LD))
        assert len(triples) == 20
        assert document["title"] == {"@language": "en", "@value": f"Dataset {document['identifier']}, revision 1"}


def test_the_items(harvest, catalogue, tmp_path, output):
    site = catalogue(2, serialisation="rdf")
    feed = tmp_path / "datasets.jsonl"
    scrapy("crawl", "dcat", *options(output, {}, url=site.address), "-O", str(feed))
    first = min(map(json.loads, feed.read_text().splitlines()), key=lambda item: item["id"])
    assert first["id"] == first["identifier"] == "d0000"
    assert first["uri"] == "https://data.example.org/dataset/d0000"
    assert first["title"] == "Dataset d0000, revision 1"
    assert first["publisher"]["name"] == "The agent of all"
    assert [contact["name"] for contact in first["contacts"]] == ["The desk of d0000"]
    assert [resource["format"] for resource in first["resources"]] == ["csv", "json"]
    assert first["metadata_source"] == "rdf"


@pytest.mark.parametrize(
    "wrong", ["text/plain", "application/octet-stream", "text/html", "application/xml", "nonsense"]
)
@pytest.mark.parametrize("serialisation", ["rdf", "ttl", "jsonld", "nq", "trig"])
def test_a_wrong_content_type_is_survived(walked, catalogue, serialisation, wrong):
    site = catalogue(2, serialisation=serialisation, path="dump", faults={"wrong_type": wrong})
    assert walked(site, site.address).judged == ("complete", 2, 2)


PLAIN, GZIP, SPOOLED = {}, {"gzip": ""}, {"SPOOL_ABOVE": "1000"}


@pytest.mark.parametrize(
    ("serialisation", "faults", "settings"),
    [
        ("rdf", PLAIN, SPOOLED),
        ("ttl", GZIP, {}),
        *((serialisation, GZIP, SPOOLED) for serialisation in ("rdf", "ttl", "jsonld", "data.json")),
    ],
)
def test_spooled_or_not(harvest, catalogue, serialisation, faults, settings):
    crawl = harvest(catalogue(40, serialisation=serialisation, faults=faults).address, settings=settings)
    assert judged(crawl) == ("complete", 40, 40)


# HTML


@pytest.mark.parametrize("link", ["", "a"])
def test_a_page_leads_to_the_rdf(harvest, catalogue, link):
    site = catalogue(3, serialisation="ttl", faults={"html": link})
    crawl = harvest(site.url + "/")
    assert (crawl.code, len(ids(crawl)), len(site.asked)) == (0, 3, 3), "robots.txt, the page, the catalogue"


def test_a_page_that_leads_nowhere(walked, catalogue):
    site = catalogue(3, faults={"html": "none"})
    (error,) = walked(site, site.url + "/").errors
    assert (error.stage, error.kind) == ("list", "not_rdf")
    assert "an HTML page came instead of RDF: look there for a link" in error.error


@pytest.mark.parametrize(
    ("page", "kind"),
    [
        (b"<a href=a.ttl>a</a> <a href=b.ttl>b</a>", "not_rdf"),
        (b"<link rel=alternate type=text/turtle href='http://[bad'> <a href='mailto:x.ttl'>", "not_rdf"),
        (b"<base href='http://[bad'> <a href='ftp://a.org/x.ttl'> <a href='http://a:99999/x.ttl'>", "not_rdf"),
    ],
)
def test_a_page_with_links_of_no_use(walked, page, kind):
    with Site(lambda _: Answer(b"<html>" + page, headers={"Content-Type": "text/html"})) as site:
        assert walked(site, site.url).kinds() == {kind: 1}


def test_a_page_that_leads_to_itself(walked):
    page = b'<html><link rel="alternate" type="text/turtle" href="/other"></html>'
    with Site(lambda _: Answer(page, headers={"Content-Type": "text/html"})) as site:
        assert walked(site, site.url).kinds() == {"not_rdf": 1}
        assert len(site.asked) < 5


@pytest.mark.parametrize("serialisation", ["rdf", "ttl", "jsonld"])
def test_the_server_negotiates(walked, catalogue, serialisation):
    site = catalogue(3, serialisation=serialisation, path="catalogue", faults={"negotiates": ""})
    assert walked(site, site.address).judged == ("complete", 3, 3)


# Paging


@pytest.mark.parametrize("totals", [True, False], ids=["with total", "without"])
@pytest.mark.parametrize(("relative", "literal"), [(True, True), (True, False), (False, True), (False, False)])
@pytest.mark.parametrize("paging", ["hydra", "paged"])
def test_hydra(walked, catalogue, paging, relative, literal, totals):  # noqa: PLR0917  # one for each choice
    site = catalogue(25, per_page=10, paging=paging, relative=relative, literal=literal, totals=totals)
    done = walked(site, site.address)
    assert (done.judged, done.ids()) == (("complete", 25, 25), site.ids())
    assert done.evidence == {"pages": "total" if totals else "pager"}
    assert site.pages() == [1, 2, 3]


@pytest.mark.parametrize("serialisation", ["ttl", "jsonld", "nt"])
def test_hydra_in_other_serialisations(walked, catalogue, serialisation):
    site = catalogue(25, per_page=10, paging="hydra", serialisation=serialisation)
    assert walked(site, site.address).judged == ("complete", 25, 25)


def test_the_link_header(walked, catalogue):
    site = catalogue(25, per_page=10, paging="link")
    assert walked(site, site.address).judged == ("complete", 25, 25)
    assert site.pages() == [1, 2, 3]


def test_page_numbers_that_nothing_says(walked, catalogue):
    site = catalogue(25, per_page=10, paging="ckan")
    assert walked(site, site.address + "?page=1").judged == ("complete", 25, 25)
    assert site.pages() == [1, 2, 3, 4], "the page behind the last is empty"


def test_page_numbers_that_end_with_404(walked, catalogue):
    site = catalogue(25, per_page=10, paging="link", path="dump.rdf")
    site.paging = "hydra"
    site.links = lambda number: ()
    assert walked(site, site.address + "?page=1").judged == ("complete", 25, 25)


def test_one_file_is_asked_for_once(walked, catalogue):
    site = catalogue(25)
    assert walked(site, site.address).judged == ("complete", 25, 25)
    assert site.pages() == [1]


@pytest.mark.parametrize(
    ("paging", "fault", "listed"),
    [
        ("hydra", "self", 25),
        ("hydra", "ignores_page", 10),
        ("paged", "ignores_page", 10),
        ("link", "ignores_page", 10),
        ("ckan", "ignores_page", 10),
        ("paged", "repeat_content", 10),
        ("hydra", "endless", 10),
    ],
)
def test_pages_that_repeat(walked, catalogue, paging, fault, listed):
    """The walk ends, and says so."""
    site = catalogue(25, per_page=10, paging=paging, totals=False, faults={fault: "same"})
    done = walked(site, site.address + ("?page=1" if paging == "ckan" else ""))
    assert (done.judged[0], done.judged[2], done.kinds()) == ("incomplete", listed, {"paging": 1})
    assert len(site.asked) < 10


@pytest.mark.parametrize("paging", ["hydra", "paged"])
def test_a_stated_way_back_to_the_first_page_is_a_ring(walked, catalogue, paging):
    """The last page says that the first one is next: that is the end, and costs no request."""
    site = catalogue(25, per_page=10, paging=paging, totals=False, faults={"loop": ""})
    done = walked(site, site.address)
    assert (done.judged, done.errors, done.evidence) == (("complete", 25, 25), [], {"pages": "pager"})
    assert site.pages() == [1, 2, 3]
    site.faults = {}
    site.asked.clear()
    site.entries["ghost"] = site.entries["d0001"]
    site.totals, site.faults = True, {"loop": ""}
    assert walked(site, site.address).kinds() == {"count_mismatch": 1}, "the total is not met"


@pytest.mark.parametrize(
    ("third", "judged_"),
    [
        ("/c", ("complete", 3, 3)),
        ("/c?p=1", ("complete", 3, 3)),
        ("/c?p=2", ("incomplete", 3, 3)),
        ("/c?p=3", ("incomplete", 3, 3)),
    ],
    ids=["the first page", "the first page under another address", "the second", "itself"],
)
def test_where_a_ring_leads(walked, turtle, third, judged_):
    following = b"<> hydra:next <%b> ."
    pages = {
        "/c": described("a") + following % b"/c?p=2",
        "/c?p=2": described("b") + following % b"/c?p=3",
        "/c?p=3": described("x") + following % third.encode(),
    }
    pages["/c?p=1"] = pages["/c"]
    site = turtle(pages)
    done = walked(site, site.url + "/c")
    assert done.judged == judged_
    assert done.kinds() == ({} if judged_[0] == "complete" else {"paging": 1})
    assert len(site.asked) <= 4


@pytest.mark.parametrize(
    ("said", "judged_"),
    [
        (b"hydra:last </c?p=3>", ("incomplete", 2, 2)),
        (b"hydra:last </c?p=2>", ("complete", 2, 2)),
        (b"hydra:last </c>", ("complete", 2, 2)),
        (b"hydra:last </c?p=3> ; hydra:totalItems 2", ("complete", 2, 2)),
    ],
    ids=["a page that no page leads to", "this page", "a page that was read", "all came"],
)
def test_a_last_page_that_was_not_read_contradicts_the_end_of_the_pages(walked, turtle, said, judged_):
    pages = {"/c": described("a") + b"<> hydra:next </c?p=2> .", "/c?p=2": described("b") + b"<> %b ." % said}
    site = turtle(pages)
    done = walked(site, site.url + "/c")
    assert done.judged == judged_
    assert done.kinds() == ({} if judged_[0] == "complete" else {"unproven": 1})


def test_pages_that_repeat_take_nothing_for_gone(harvest, catalogue):
    site = catalogue(25, per_page=10, paging="hydra", totals=False)
    assert judged(harvest(site.address)) == ("complete", 25, 25)
    site.faults["ignores_page"] = ""
    for _ in range(2):
        crawl = harvest(site.address)
        assert (crawl.code, crawl.report["verdict"], crawl.report["listed"]) == (3, "incomplete", 10)
        assert crawl.report["errors"] == {"paging": 1}
    assert statuses(crawl) == {"new": 25}, "nothing is withdrawn"


def test_pages_that_repeat_when_all_is_there(walked, catalogue):
    site = catalogue(25, per_page=10, paging="hydra", totals=True, faults={"loop": ""})
    assert walked(site, site.address).judged == ("complete", 25, 25)


def test_a_catalogue_without_end(walked, catalogue):
    site = catalogue(25, per_page=10, paging="hydra", totals=False, faults={"endless": "new"})
    done = walked(site, site.address, max_datasets="45")
    assert (done.judged[0], len(done.items), done.errors) == ("partial", 45, [])
    assert site.pages() == [1, 2, 3, 4, 5]


def test_fewer_than_promised(walked, catalogue):
    site = catalogue(25, per_page=10, paging="hydra")
    site.entries["ghost"] = site.entries["d0001"]
    done = walked(site, site.address)
    assert (done.judged, done.kinds()) == (("incomplete", 26, 25), {"count_mismatch": 1})


@pytest.mark.parametrize("limit", [3, 10, 12])
def test_max_datasets(walked, catalogue, limit):
    site = catalogue(25, per_page=10, paging="paged")
    done = walked(site, site.address, max_datasets=str(limit))
    assert (done.judged[0], len(done.items), done.errors) == ("partial", limit, [])
    assert site.pages() == ([1] if limit <= 10 else [1, 2])


@pytest.mark.parametrize("limit", [{"max_datasets": "25"}, {"max_resources": "50"}, {"max_resources": "49"}])
@pytest.mark.parametrize("paging", ["none", "hydra"])
def test_a_limit_that_leaves_nothing_out_is_none(walked, catalogue, paging, limit):
    """The dataset that reaches the limit is kept with all its resources."""
    site = catalogue(25, per_page=10, paging=paging)
    done = walked(site, site.address, **limit)
    assert (done.judged, done.spider.run_state.is_limited) == (("complete", 25, 25), False)


def test_max_resources(harvest, catalogue):
    crawl = harvest(catalogue(25).address, max_resources="7")
    assert (crawl.report["verdict"], len(ids(crawl))) == ("partial", 4)


TURTLE = {"Content-Type": "text/turtle"}
PREFIXES = b"""
@prefix dcat: <http://www.w3.org/ns/dcat#> . @prefix dct: <http://purl.org/dc/terms/> . @prefix : <http://a.org/> .
@prefix hydra: <http://www.w3.org/ns/hydra/core#> . @prefix foaf: <http://xmlns.com/foaf/0.1/> .
"""

RDF_XML = """<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#"
 xmlns:dcat="http://www.w3.org/ns/dcat#" xmlns:dct="http://purl.org/dc/terms/">"""


def described(*names: str) -> bytes:
    return b"".join(f":{one} a dcat:Dataset ; dct:title '{one}' . :c dcat:dataset :{one} . ".encode() for one in names)


@pytest.fixture
def turtle():
    """Serves Turtle by path: ``turtle({"/c": b"..."})``; a text is where a path is redirected to."""
    started = []

    def start(pages) -> Site:
        def answer(asked):
            page = pages.get(asked.path)
            if isinstance(page, str):
                return Answer(status=302, headers={"Location": page})
            return Answer(b"", 404) if page is None else Answer(PREFIXES + page, headers=TURTLE)

        started.append(Site(answer).__enter__())
        return started[-1]

    yield start
    for one in started:
        one.__exit__()


PROMISED = {"/c": described("a", "b") + b"<> hydra:next <?page=2> ."}


@pytest.mark.parametrize("empty", [b"", b":c a dcat:Catalog ."])
def test_a_promised_page_that_is_empty(walked, turtle, empty):
    site = turtle(PROMISED | {"/c?page=2": empty})
    done = walked(site, site.url + "/c")
    assert (done.judged[0], done.kinds()) == ("incomplete", {"paging": 1})


def test_a_promised_page_that_is_empty_takes_nothing_for_gone(harvest, turtle):
    pages = PROMISED | {"/c?page=2": described("x")}
    site = turtle(pages)
    assert judged(harvest(site.url + "/c")) == ("complete", 3, 3)
    pages["/c?page=2"] = b""
    for _ in range(3):
        crawl = harvest(site.url + "/c", settings={"SHRINK_LIMIT": "1"})
        assert (crawl.report["verdict"], crawl.report["errors"]) == ("incomplete", {"paging": 1})
    assert statuses(crawl) == {"new": 3}


@pytest.mark.parametrize(("paging", "last"), [("paged", "modified_since="), ("hydra", "catalog.rdf")])
def test_a_catalogue_that_is_edited_while_it_is_read(walked, catalogue, paging, last):
    """Its pages shift: what moved to a page that was read already is found by a second look."""
    site = catalogue(25, per_page=10, paging=paging, faults={"edited": "2"})
    done = walked(site, site.address)
    assert (done.judged, done.ids()) == (("complete", 25, 25), sorted(site.ids()))
    assert (done.evidence, len(site.pages())) == ({"pages": "total"}, 4)
    assert last in site.asked[-1].path


def test_a_second_look_is_no_request_that_was_sent_before(harvest, catalogue):
    site = catalogue(25, per_page=10, paging="hydra", faults={"edited": "2"})
    crawl = harvest(site.address)
    assert (crawl.code, judged(crawl), crawl.errors) == (0, ("complete", 25, 25), [])
    assert ids(crawl) == sorted(site.ids())


def test_the_first_page_is_all_that_is_named(walked, turtle):
    first = b"<> a hydra:Collection ; hydra:totalItems 3 ; hydra:first </c?page=1> ; hydra:last </c?page=2> ."
    pages = {"/c": b":c a dcat:Catalog . " + first, "/c?page=2": described("y", "z")}
    pages["/c?page=1"] = described("x") + b"<> hydra:next </c?page=2> ."
    site = turtle(pages)
    assert walked(site, site.url + "/c").judged == ("complete", 3, 3)


MORE = b"@prefix foaf: <http://xmlns.com/foaf/0.1/> . @prefix tree: <https://w3id.org/tree#> . "


def linked(name: bytes) -> bytes:
    return b"<%b> a dcat:Dataset ; dct:title 'linked' ." % name


def test_what_a_catalogue_names_is_asked_for(harvest, turtle):
    """Catalogues in it, TREE nodes, the topics of records, datasets that are only linked; on its own host."""
    catalogue = b""":c a dcat:Catalog ; dcat:catalog </sub> ; dct:hasPart </part> ; dcat:record :r .
        :r a dcat:CatalogRecord ; foaf:primaryTopic </topic> . :c dcat:dataset </link#it>, </gone> . """
    elsewhere = b":c dcat:dataset <https://b.example.net/d> ; dcat:catalog <https://b.example.net/c> ."
    pages = {
        "/c": MORE + catalogue + described("a") + elsewhere,
        "/sub": MORE + b"</sub> a dcat:Catalog . <> tree:relation [ tree:node </sub/2> ] ." + described("s"),
        "/sub/2": described("t"),
        "/part": described("p") + b"</part> dcat:catalog </sub>, </part/of> .",
        "/part/of": described("q"),
        "/link": linked(b"#it"),
        "/topic": linked(b""),
    }
    site = turtle(pages)
    crawl = harvest(site.url + "/c")
    assert (crawl.code, judged(crawl)) == (3, ("incomplete", 9, 7))
    told = sorted((error["kind"], error["error"].partition("is not read: ")[2][:23]) for error in crawl.errors)
    assert told == [("offsite", "it is on another host; "), ("undescribed", ""), ("undescribed", "")]
    reasons = {error["error"].partition("describe it: ")[2] for error in crawl.errors}
    assert {"its address is on another host", "HTTP 404 Not Found"} < reasons
    assert len({one.path for one in site.asked}) == len(site.asked), "each once"
    pages["/c"] = MORE + catalogue + described("a")
    pages["/gone"] = linked(b"")
    crawl = harvest(site.url + "/c")
    assert (crawl.code, judged(crawl), crawl.report["counts"]["new"]) == (0, ("complete", 8, 8), 1)
    assert set(crawl.report["evidence"].values()) == {"file", "pager"}
    settings = {"LINKED_DATASETS_MAX": "1"}
    errors = harvest(site.url + "/c", settings=settings).errors[3:]
    assert [error["error"].partition("describe it: ")[2] for error in errors] == [
        "LINKED_DATASETS_MAX allows 1 to be requested one by one"
    ] * 2


class Forgotten(dict):
    """What a crawl that was killed has in memory: nothing."""

    def __contains__(self, name: object) -> bool:
        return False


@pytest.mark.parametrize("twice", range(1, 11))
def test_an_answer_that_is_read_again_after_a_kill_leads_to_the_same(walked, turtle, monkeypatch, twice):
    """Pages, TREE nodes, catalogues in catalogues and datasets that are only named."""
    first = Frontier.__init__
    monkeypatch.setattr(
        Frontier, "__init__", lambda self, crawl: (first(self, crawl), vars(self).update(waiting=Forgotten()))[0]
    )
    nodes = b"<> tree:relation [ tree:node </n1> ], [ tree:node </n2> ] ; hydra:next </c?page=2> . "
    site = turtle(
        {
            "/c": MORE
            + described("a", "b")
            + nodes
            + b":c a dcat:Catalog ; dcat:catalog </s>, </t> ; dcat:dataset </l>, </gone> .",
            "/c?page=2": MORE + described("x") + STUB.replace(b":x", b":w"),
            "/n1": described("n1"),
            "/n2": described("n2"),
            "/s": described("s") + b"<> hydra:next </s?page=2> .",
            "/s?page=2": described("s2", "a"),
            "/t": described("t"),
            "/l": linked(b""),
        }
    )
    done = walked(site, site.url + "/c", twice=twice)
    names = sorted(name.rpartition("/")[2] for name in done.ids())
    assert names == sorted(["a", "b", "x", "w", "n1", "n2", "s", "s2", "t", "l"])
    assert done.judged[2] == 10
    assert {error.kind for error in done.errors} == {"undescribed"}
    assert set(done.evidence.values()) == {"pager", "file"}
    assert len(done.evidence) == 3
    assert [asked.path for asked in site.asked] == [
        *("/c", "/c?page=2", "/n1", "/n2", "/s", "/s?page=2", "/t", "/gone", "/l")
    ]


def test_a_catalogue_that_a_data_json_only_names(walked):
    def record(name):
        return {"@type": "dcat:Dataset", "identifier": name, "title": name}

    named = ["/b.json", "https://b.example.net/c.json"]
    pages = {
        "/a.json": {"@type": "Catalog", "dataset": [record("a")], "catalog": named},
        "/b.json": {"@type": "Catalog", "dataset": [record("b")]},
    }
    with Site(lambda asked: Answer(json.dumps(pages.get(asked.path, {})).encode())) as site:
        done = walked(site, site.url + "/a.json")
        assert (done.ids(), done.kinds()) == (["a", "b"], {"offsite": 1})
        named.pop()
        assert walked(site, site.url + "/a.json").judged == ("complete", 2, 2)


def test_a_record_that_can_not_be_mapped_costs_no_other_of_its_page():
    def fails():
        raise RecursionError

    crawl = SimpleNamespace(
        seen=lambda *_, **__: True,
        limits=SimpleNamespace(resources=5, is_set=False),
        records=SimpleNamespace(is_planned=lambda *_: False),
    )
    walk = SimpleNamespace(key="", name="", earlier=0, listed=0, resources=0)
    page, response = SimpleNamespace(is_first=lambda _: True), SimpleNamespace(url="")
    records = PageRecords(crawl, page, response, walk, None, address="")
    item = LazyDataset(fails, source="s", id="a")
    entry = records.entry(PageRecord("a", "a", "record 1", lambda: item))
    assert (entry.id, entry.resources, records.resources) == ("a", 0, 0)


def test_a_numbered_page_that_is_missing_is_not_the_end(walked, turtle):
    site = turtle({"/c?page=1": described("a"), "/c?page=3": described("b")})
    done = walked(site, site.url + "/c?page=1")
    assert (done.judged[2], done.kinds()) == (2, {"paging": 1})


def test_what_leads_back_is_not_asked_for_again(walked, turtle):
    """A TREE node, a catalogue in another, and a dataset's name may be pages that were read; what follows counts."""
    nodes = b"<> tree:relation [ tree:node </c> ], [ tree:node </c?p=2#x> ], [ tree:node </c?p=3> ] . "
    site = turtle(
        {
            "/c": MORE + b":c dcat:dataset <#f>, </d> ; dcat:catalog </c?p=2>, </sub> ." + nodes + described("a"),
            "/c?p=2": MORE + nodes + described("b"),
            "/c?p=3": MORE + nodes + described("x"),
            "/sub": MORE + b"</sub> a dcat:Catalog ; dcat:catalog </c>, </sub/of> ." + described("s"),
            "/sub/of": MORE + b"</sub/of> a dcat:Catalog ; dcat:catalog </sub> ." + described("y"),
            "/d": b"</d> a dcat:Dataset ; dct:title 'D' .",
        }
    )
    done = walked(site, site.url + "/c")
    assert (done.judged[2], done.kinds()) == (6, {"undescribed": 1})
    assert [asked.path for asked in site.asked] == ["/c", "/c?p=2", "/c?p=3", "/sub", "/sub/of", "/d"]


def test_a_page_that_is_redirected_to_another(walked, turtle):
    total = b"<> hydra:totalItems 4 ; hydra:first </c> ; hydra:next </c?page=2> ."
    site = turtle({"/c": described("a", "b") + total, "/c?page=2": "/c"})
    done = walked(site, site.url + "/c")
    assert (done.judged[2], done.kinds()) == (2, {"paging": 1})


def test_a_total_that_is_too_small_ends_nothing(walked, turtle):
    total = b"<> hydra:totalItems 2 ; hydra:next </c?page=2> ."
    site = turtle({"/c": described("a", "b") + total, "/c?page=2": described("x", "y")})
    assert walked(site, site.url + "/c").judged[2] == 4


def test_a_total_of_something_else(walked, turtle):
    site = turtle({"/c": described("a") + b":a :has [ hydra:totalItems 70 ] ."})
    assert walked(site, site.url + "/c").judged == ("complete", 1, 1)


@pytest.mark.parametrize(
    "following",
    [
        b"<> hydra:next <mailto:a@b.org> .",
        b"<> hydra:next 'http://[bad' .",
        b"<> hydra:next 'http://127.0.0.1:99999/' .",
        b":v hydra:next </one> . :w hydra:next </two> .",
    ],
)
def test_a_next_page_that_can_not_be_asked_for(walked, turtle, following):
    site = turtle({"/c": described("a") + following})
    assert walked(site, site.url + "/c").kinds() == {"paging": 1}


def test_the_same_id_on_another_page(walked, turtle):
    record = b"[] a dcat:Dataset ; dct:identifier 'x' ; dct:title '%b' . "
    site = turtle(
        {"/c": record % b"one" + b"<> hydra:next </c?page=2> .", "/c?page=2": record % b"two" + described("y")}
    )
    done = walked(site, site.url + "/c")
    assert (done.judged[2], done.kinds()) == (3, {"duplicate_id": 1})


def test_what_is_only_mentioned_is_described_elsewhere(walked, turtle):
    mention = b":a dct:relation :x . :x a dcat:Dataset ; dct:title 'a mention' . <> hydra:next </c?page=2> ."
    site = turtle({"/c": described("a") + mention, "/c?page=2": described("x") + b":x dct:description 'all of it' ."})
    done = walked(site, site.url + "/c")
    assert done.judged == ("complete", 2, 2)
    assert "all of it" in str([item.document for item in done.items])


STUB = b":a dct:isVersionOf :x . :x a dcat:Dataset ; dct:title 'a stub' ; dct:publisher :office . "


@pytest.mark.parametrize("twice", [0, 1, 2])
def test_what_a_page_describes_in_passing_waits_for_the_list_of_another(walked, turtle, twice):
    full = described("x") + b":x dct:description 'all of it' ."
    site = turtle({"/c": described("a") + STUB + b"<> hydra:next </c?page=2> .", "/c?page=2": full})
    done = walked(site, site.url + "/c", twice=twice)
    assert (done.judged, done.kinds()) == (("complete", 2, 2), {})
    assert ["all of it" in str(item.document) for item in done.items] == [False, True]


@pytest.mark.parametrize("has_list", [True, False])
@pytest.mark.parametrize("order", [*permutations(range(3))], ids=str)
def test_a_full_description_wins_over_one_in_passing_in_every_order_of_pages(walked, turtle, order, has_list):
    """It is a value of isVersionOf, with a title of its own; without a list it has neither files nor a description."""
    full = described("x") + b":x dct:description 'all of it' ."
    contents = [described("a") + STUB, described("b") + STUB.replace(b":a ", b":b "), full]
    pages = {}
    for number, place in enumerate(order, 1):
        content = contents[place] if has_list else re.sub(rb":c dcat:dataset :\w+ \. ", b"", contents[place])
        assert (b":c dcat:dataset" in content) is has_list
        ahead = b"<> hydra:next </c?page=%d> ." % (number + 1) if number < 3 else b""
        pages["/c" if number == 1 else f"/c?page={number}"] = content + ahead
    site = turtle(pages)
    done = walked(site, site.url + "/c")
    assert (done.judged, done.errors) == (("complete", 3, 3), [])
    assert [item.description for item in done.items if item.uri == "http://a.org/x"] == ["all of it"]


@pytest.mark.parametrize("is_last_alone", [True, False])
def test_a_dataset_that_another_page_describes_otherwise_is_one_line(walked, turtle, is_last_alone):
    """It is the only one of the last page, or has another beside it: no line says besides that the pages repeat."""
    second = b":a a dcat:Dataset ; dct:description 'only here' . :c dcat:dataset :a . "
    last = second if is_last_alone else second + described("c")
    site = turtle({"/c": described("a", "b") + b"<> hydra:next </c?page=2> .", "/c?page=2": last})
    done = walked(site, site.url + "/c")
    assert (done.judged[0], done.kinds()) == ("incomplete", {"duplicate_id": 1})
    assert done.errors[0].dataset_id == "http://a.org/a"


@pytest.mark.parametrize("twice", [0, 1, 2])
def test_what_no_page_lists_is_kept_as_it_was_described(walked, turtle, twice):
    """Of two descriptions in passing the longer one, from the page that has it; one file keeps it at once."""
    longer = STUB + b":x dct:description 'longer' ."
    pages = {"/c": described("a") + STUB + b"<> hydra:next </c?page=2> .", "/c?page=2": described("b") + longer}
    site = turtle(pages)
    done = walked(site, site.url + "/c", twice=twice)
    assert (done.judged, done.kinds(), done.evidence) == (("complete", 3, 3), {}, {"pages": "pager"})
    assert len(site.asked) == 2
    (kept,) = [item for item in done.items if item.uri == "http://a.org/x"]
    assert (kept.description, kept.metadata_url) == ("longer", site.url + "/c?page=2")
    pages["/c"] = described("a") + STUB
    assert walked(site, site.url + "/c").judged == ("complete", 2, 2)


def test_a_mention_behind_a_limit_is_none(walked, turtle):
    pages = {"/c": described("a") + STUB + b"<> hydra:next </c?page=2> .", "/c?page=2": described("b")}
    site = turtle(pages)
    done = walked(site, site.url + "/c", max_datasets="2")
    assert (done.judged[0], len(done.items), done.errors) == ("partial", 2, [])


EDITED = b":a a dcat:Dataset ; dct:title 'new' ; dct:modified '2026-11-20' ; "


@pytest.mark.parametrize(
    ("second", "title", "is_told"),
    [
        (b":a a dcat:Dataset ; dct:title 'b' ; dct:description 'only here' . :c dcat:dataset :a . ", "a", True),
        (b":a a dcat:Dataset ; dct:identifier '1' ; dct:title 'a' . :c dcat:dataset :a . ", "a", False),
        (EDITED + b"dct:identifier '1' . :c dcat:dataset :a . ", "new", False),
        (EDITED + b"dct:description 'only here' . :c dcat:dataset :a . ", "a", True),
    ],
    ids=["another", "repeated", "edited meanwhile", "another with a date"],
)
def test_what_contradicts_is_told_unless_it_is_a_later_version(harvest, turtle, second, title, is_told):
    first = described("a") + b":a dct:identifier '1' . <> hydra:next </c?page=2> ."
    site = turtle({"/c": first, "/c?page=2": second + described("b")})
    for crawl in (harvest(site.url + "/c"), harvest(site.url + "/c")):
        assert (crawl.code, judged(crawl)[2]) == (3 if is_told else 0, 2)
        assert [(error["kind"], error["dataset_id"]) for error in crawl.errors[-1:]] == [
            ("duplicate_id", "1")
        ] * is_told
        (known,) = [one for one in crawl.documents().values() if one["@id"] == "http://a.org/a"]
        assert known["title"] == title


OFFICE = b":x dct:publisher :office . :office a foaf:Agent ; foaf:name 'The Office' . "
LISTED = b":c dcat:dataset :x . :x a dcat:Dataset ; "
WHOLE = described("x") + b":x dct:description 'all of it' . " + OFFICE
IN_PARTS = {
    "a stub that is listed, then all of it": (LISTED + b"dct:title 'x' .", WHOLE),
    "all of it, then a stub that is listed": (WHOLE, LISTED + b"dct:title 'x' ."),
    "two halves": (described("x"), LISTED + b"dct:description 'all of it' . " + OFFICE),
    "the second half has a date": (
        described("x"),
        LISTED + b"dct:modified '2020-01-01' ; dct:description 'all of it' . " + OFFICE,
    ),
    "the second half has no list": (described("x"), b":x a dcat:Dataset ; dct:description 'all of it' . " + OFFICE),
    "the first half has no list": (b":x a dcat:Dataset ; dct:description 'all of it' . " + OFFICE, described("x")),
}


@pytest.mark.parametrize("parts", IN_PARTS.values(), ids=IN_PARTS)
def test_what_pages_say_of_a_dataset_is_joined(harvest, turtle, parts):
    """The first crawl may write it twice; a later one writes nothing, nor does one that can't see all pages."""
    first, second = parts
    pages = {
        "/c": described("a") + first + b"<> hydra:next </c?page=2> .",
        "/c?page=2": described("b") + second,
    }
    site = turtle(pages)
    crawl = harvest(site.url + "/c")
    assert (crawl.code, judged(crawl), crawl.errors) == (0, ("complete", 3, 3), [])
    (known,) = [line["metadata_file"] for line in crawl.manifest if line["dataset_title"] == "x"][-1:]
    whole = crawl.documents()[known.rpartition("/")[2]]
    assert (whole["title"], whole["description"], whole["publisher"]["name"]) == ("x", "all of it", "The Office")
    lines = len(crawl.manifest)
    assert lines <= 4
    again = harvest(site.url + "/c")
    assert (again.code, again.report["counts"]["unchanged"], len(again.manifest)) == (0, 3, lines)
    limited = harvest(site.url + "/c", max_datasets="2")
    assert (limited.code, limited.documents()) == (0, crawl.documents())
    pages["/c?page=2"] = None
    broken = harvest(site.url + "/c")
    assert (broken.code, broken.documents(), len(broken.manifest)) == (3, crawl.documents(), lines)
    pages |= {"/c": described("a", "x") + b"<> hydra:next </c?page=2> .", "/c?page=2": described("b")}
    less = harvest(site.url + "/c")
    assert (less.code, less.report["counts"]["updated"], len(less.manifest)) == (0, 1, lines + 1)
    assert "The Office" not in json.dumps(less.documents())


@pytest.mark.parametrize("second", [b"dct:modified '2020-01-01'", b"dct:modified '2020-01-01' ; dct:title 'y'"])
def test_a_last_page_with_the_rest_of_a_dataset_alone_is_no_repeated_one(harvest, turtle, second):
    """With another title it may be one: a server that gives each answer a new date."""
    pages = {"/c": described("a", "x") + b"<> hydra:next </c?page=2> .", "/c?page=2": LISTED + second + b" ."}
    crawl = harvest(turtle(pages).url + "/c")
    is_other = b"title" in second
    assert (crawl.code, judged(crawl)) == ((3, ("incomplete", 2, 2)) if is_other else (0, ("complete", 2, 2)))
    assert crawl.kinds() == [("list", "paging")] * is_other


def test_a_part_of_which_a_statement_can_not_be_read_takes_nothing_from_the_document(harvest, turtle):
    rest = LISTED + b"dct:description 'all of it' . " + OFFICE
    pages = {"/c": described("a", "x") + b"<> hydra:next </c?page=2> .", "/c?page=2": described("b") + rest}
    site = turtle(pages)
    before = harvest(site.url + "/c").documents()
    pages["/c?page=2"] = described("b") + rest.replace(b"'all of it'", b"all of it") + described("d")
    crawl = harvest(site.url + "/c")
    assert crawl.flaws or crawl.errors
    assert {name: document for name, document in crawl.documents().items() if name in before} == before
    pages["/c"] = described("a") + b":e dct:title no . " + described("x") + b"<> hydra:next </c?page=2> ."
    assert harvest(site.url + "/c").documents() == crawl.documents(), "nor if each page has one, of another dataset"


def test_a_part_that_is_edited_between_its_pages_takes_nothing_from_the_document(harvest, turtle):
    """It comes again with the next crawl, which joins it: neither half of it is written alone."""
    date = b"dct:modified '2020-01-01' ; "
    pages = {"/c": described("a") + LISTED + date + b"dct:title 'x' . <> hydra:next </c?page=2> ."}
    pages["/c?page=2"] = described("b") + LISTED + date + b"dct:description 'all of it' ."
    site = turtle(pages)
    before = harvest(site.url + "/c").documents()
    pages["/c?page=2"] = pages["/c?page=2"].replace(b"2020", b"2021")
    between = harvest(site.url + "/c")
    assert (between.code, between.documents(), between.errors) == (0, before, [])
    pages["/c"] = pages["/c"].replace(b"2020", b"2021")
    after = harvest(site.url + "/c")
    assert (after.code, after.report["counts"]["updated"], len(after.manifest)) == (0, 1, 5)
    (known,) = [one for one in after.documents().values() if one["@id"] == "http://a.org/x"]
    assert (known["title"], known["description"], known["modified"]) == ("x", "all of it", "2021-01-01")


def test_a_part_that_is_edited_while_another_page_is_missing_takes_nothing_from_the_document(harvest, turtle):
    second = described("b") + LISTED + b"dct:description 'all of it' ."
    pages = {"/c": described("a", "x") + b"<> hydra:next </c?page=2> .", "/c?page=2": second}
    site = turtle(pages)
    before = harvest(site.url + "/c").documents()
    pages["/c"] = pages["/c"].replace(b"dct:title 'x'", b"dct:title 'X'")
    limited = harvest(site.url + "/c", max_datasets="2")
    assert (limited.code, limited.documents()) == (0, before)
    del pages["/c?page=2"]
    assert harvest(site.url + "/c").documents() == before
    pages["/c?page=2"] = second
    after = harvest(site.url + "/c")
    (known,) = [one for one in after.documents().values() if one["@id"] == "http://a.org/x"]
    assert (after.code, known["title"], known["description"]) == (0, "X", "all of it")


def test_what_leaves_a_page_leaves_the_document_though_another_page_contradicts(harvest, turtle):
    first = LISTED + b"dct:title 'x' ; dcat:keyword 'secret' . " + described("a") + b"<> hydra:next </c?page=2> ."
    pages = {"/c": first, "/c?page=2": described("b") + LISTED + b"dct:title 'y' ."}
    site = turtle(pages)
    harvest(site.url + "/c")
    pages["/c"] = first.replace(b" ; dcat:keyword 'secret'", b"")
    crawl = harvest(site.url + "/c")
    assert ("secret" in json.dumps(crawl.documents()), crawl.kinds()) == (False, [("list", "duplicate_id")] * 2)


def test_nothing_is_joined_to_a_description_that_is_too_long_to_wait(harvest, turtle):
    first = described("a", "x") + b":x dct:provenance '" + b"x" * 70_000 + b"' . <> hydra:next </c?page=2> ."
    site = turtle({"/c": first, "/c?page=2": described("b") + LISTED + b"dct:description 'all of it' ."})
    for number in (1, 2):
        crawl = harvest(site.url + "/c")
        assert (crawl.code, len(crawl.manifest)) == (3, 3)
        assert crawl.kinds() == [("list", "duplicate_id")] * number


def test_what_contradicts_is_one_line_and_the_other_parts_are_joined(harvest, turtle):
    """Neither another title is kept, nor a description that is too long to wait."""
    long = b"dct:provenance '" + b"x" * 70_000 + b"'"
    parts = [b"dct:title 'x'", b"dct:title 'other'", b"dct:title 'another'", b"dct:description 'all of it'", long]
    pages = {"/c": described("a") + b"<> hydra:next </c?page=1> ."}
    for number, part in enumerate(parts, 1):
        ahead = b"<> hydra:next </c?page=%d> ." % (number + 1) if number < len(parts) else b""
        pages[f"/c?page={number}"] = LISTED + part + b" . " + described(f"d{number}") + ahead
    site = turtle(pages)
    crawl = harvest(site.url + "/c")
    assert (crawl.code, judged(crawl)) == (3, ("incomplete", 7, 7))
    assert [(error["kind"], error["dataset_id"]) for error in crawl.errors] == [("duplicate_id", "http://a.org/x")]
    (known,) = [one for one in crawl.documents().values() if one["@id"] == "http://a.org/x"]
    assert (known["title"], known["description"], "provenance" in known) == ("x", "all of it", False)


def test_two_descriptions_are_one_unless_they_contradict_each_other():
    """Joined twice, as after a kill, or the other way round, they are the same; equal blank nodes are one."""
    one = "http://a.org/1"
    first = {one: {TYPE: ["T"], "p": ["_:a"], "t": [Literal("x")]}, "_:a": {"q": ["_:b"]}, "_:b": {"r": [Literal("1")]}}
    second = {one: {TYPE: ["U"], "p": ["_:x"], "d": ["_:a"]}, "_:x": {"q": ["_:y"]}, "_:y": {"r": [Literal("1")]}}
    second["_:a"] = {"s": ["_:z"]}
    both = joined(first, second)
    assert is_part(first, both)
    assert is_part(second, both)
    assert written(both, one) == written(joined(second, first), one)
    assert (joined(both, second), joined(first, both)) == (both, both)
    assert both[one] == {TYPE: ["T", "U"], "p": ["_:a"], "t": [Literal("x")], "d": ["_:a-3"]}
    assert (both["_:a-3"], {*both}) == ({"s": ["_:z-3"]}, {one, "_:a", "_:b", "_:a-3"})
    other = {one: {"t": [Literal("y")], "d": [Literal("d")]}}
    assert (joined(first, other), joined(other, first)) == (None, None)


def test_nodes_that_are_named_on_many_ways_are_joined_once():
    deep = {f"_:{at}": {"p": [f"_:{at + 1}"], "q": [f"_:{at + 1}"]} for at in range(200)}
    both = joined({"s": {"a": [Literal("1")]}}, {"s": {"b": ["_:0"]}} | deep)
    assert len(both) == 201


def test_pages_that_repeat_end_though_each_says_something_else(walked):
    """A server that ignores the page's number, and gives each answer a new session: none of its pages is news."""

    def answer(_):
        if (number := len(site.asked)) > 9:  # else a walk that takes them for news has no end
            return Answer(b"", 404)
        links = b"".join(b":%b dcat:landingPage </%d> . " % (name, number) for name in (b"a", b"b"))
        return Answer(PREFIXES + described("a", "b") + links, headers=TURTLE)

    with Site(answer) as site:
        done = walked(site, site.url + "/c?page=1")
        assert (len(site.asked), done.judged, len(done.items)) == (3, ("incomplete", 2, 2), 2)
        assert done.kinds() == {"duplicate_id": 2, "paging": 1}, "each dataset once"


def test_datasets_of_one_identifier_are_known_by_their_iris(harvest, turtle):
    """None is lost, on one page or another, in the first crawl or the second, and when they are read again."""
    record = b":%b a dcat:Dataset ; dct:identifier '1' ; dct:title '%b' . :c dcat:dataset :%b . "
    pages = {
        "/c": record % (b"x", b"x", b"x") + record % (b"y", b"y", b"y") + b"<> hydra:next </c?page=2> .",
        "/c?page=2": record % (b"z", b"z", b"z") + record % (b"y", b"y", b"y"),
    }
    site = turtle(pages)
    for new in (3, 0):
        crawl = harvest(site.url + "/c")
        assert (crawl.code, judged(crawl), crawl.report["counts"]["new"]) == (0, ("complete", 3, 3), new)
    known = {line["dataset_id"] for line in crawl.manifest}
    assert known == {"1", "http://a.org/y", "http://a.org/z"}
    assert crawl.report["counts"]["unchanged"] == 3


def test_a_part_of_a_file_is_not_the_whole(walked):
    body = PREFIXES + described("a", "b")
    headers = TURTLE | {"Content-Range": "bytes 0-300/900"}
    with Site(lambda _: Answer(body, 206, headers=headers)) as site:
        done = walked(site, site.url + "/c")
    assert (done.judged[0], done.kinds(), done.evidence) == ("incomplete", {"truncated": 1}, {})


@pytest.mark.parametrize(
    ("total", "judged_"),
    [
        (b":c a dcat:Catalog ; hydra:totalItems 3000 .", ("incomplete", 3000, 2)),
        (b":c hydra:totalItems 2 .", ("complete", 2, 2)),
        (b":l hydra:member :a ; hydra:totalItems 3000 .", ("incomplete", 3000, 2)),
        (b":l a hydra:Collection ; hydra:totalItems 3000 ; hydra:view <> .", ("incomplete", 3000, 2)),
        (b"<> a hydra:PagedCollection ; hydra:totalItems 3000 .", ("incomplete", 3000, 2)),
        (b":l a hydra:Collection ; hydra:totalItems 70 .", ("complete", 2, 2)),
        (b":l hydra:totalItems 70 ; hydra:member :s . :s a dcat:DataService .", ("complete", 2, 2)),
        (b":l hydra:totalItems 70 ; hydra:view </services?page=1> . <> hydra:totalItems 2 .", ("complete", 2, 2)),
        (b":l hydra:totalItems 70 ; hydra:view </services?page=1> .", ("complete", 2, 2)),
        (b":a :comments [ a hydra:Collection ; hydra:totalItems 70 ] .", ("complete", 2, 2)),
        (b":c a dcat:Catalog . :part a dcat:Catalog . :d :has [ hydra:totalItems 70 ] .", ("complete", 2, 2)),
        (b":c hydra:totalItems 2 . :part a dcat:Catalog ; hydra:totalItems 70 .", ("complete", 2, 2)),
    ],
)
def test_a_total_without_a_view_counts_if_it_is_that_of_the_list(walked, turtle, total, judged_):
    site = turtle({"/c": described("a", "b") + total})
    done = walked(site, site.url + "/c")
    assert done.judged == judged_
    assert done.kinds() == ({"count_mismatch": 1} if judged_[0] == "incomplete" else {})


def test_the_total_of_the_only_collection_counts_where_nothing_else_lists_datasets(walked, turtle):
    record = b":a a dcat:Dataset ; dct:title 'a' . :l a hydra:Collection ; hydra:totalItems 3000 ."
    site = turtle({"/c": record})
    assert walked(site, site.url + "/c").judged == ("incomplete", 3000, 1)


def test_a_part_that_is_a_file_is_no_catalogue(walked, turtle):
    parts = b":c a dcat:Catalog ; dct:hasPart </report.pdf>, <https://b.example.net/map.zip>, </part> ."
    site = turtle({"/c": described("a") + parts, "/part": described("p")})
    done = walked(site, site.url + "/c")
    assert (done.judged, done.kinds()) == (("complete", 2, 2), {})
    assert [asked.path for asked in site.asked] == ["/c", "/part"]


NO_RDF = {
    "a page": Answer(b"<!doctype html><h1>About us</h1>", headers={"Content-Type": "text/html"}),
    "a page that leads back": Answer(
        b"<!doctype html><link rel=alternate type=text/turtle href=/c><h1>About us</h1>",
        headers={"Content-Type": "text/html"},
    ),
    "a PDF": Answer(b"%PDF-1.4 x", headers={"Content-Type": "application/pdf"}),
}


@pytest.fixture
def with_others():
    """Serves a catalogue at /c, and other answers by path: ``with_others(b"...", {"/about": Answer(...)})``."""
    started = []

    def start(catalogue: bytes, others: dict[str, Answer]) -> Site:
        pages = {"/c": Answer(PREFIXES + catalogue, headers=TURTLE)} | others
        started.append(Site(lambda asked: pages.get(asked.path, Answer(b"", 404))).__enter__())
        return started[-1]

    yield start
    for one in started:
        one.__exit__()


@pytest.mark.parametrize("what", NO_RDF)
def test_a_part_that_has_no_rdf_is_no_catalogue_and_told(walked, with_others, what):
    parts = b":c a dcat:Catalog ; dct:hasPart </about> ."
    site = with_others(described("a") + parts, {"/about": NO_RDF[what]})
    done = walked(site, site.url + "/c")
    assert (done.judged, done.kinds(), done.evidence) == (("complete", 1, 1), {"no_rdf": 1}, {"pages": "file"})
    assert done.errors[0].url == site.url + "/about"


@pytest.mark.parametrize(
    ("named", "answer", "kind"),
    [
        (b"dct:hasPart", Answer(b"", 500), "http"),
        (b"dcat:catalog", NO_RDF["a page"], "not_rdf"),
        (b"a dcat:Catalog . </about> a dcat:Catalog . :c dct:hasPart", NO_RDF["a page"], "not_rdf"),
    ],
    ids=["it may be a catalogue", "it is said to be one", "it is described as one"],
)
def test_a_catalogue_that_does_not_come_is_missing(walked, with_others, named, answer, kind):
    site = with_others(described("a") + b":c a dcat:Catalog ; %b </about> ." % named, {"/about": answer})
    done = walked(site, site.url + "/c")
    assert (done.judged[0], done.kinds()) == ("incomplete", {kind: 1})


def test_a_part_whose_rdf_describes_no_dataset_has_none(walked, turtle):
    parts = b":c a dcat:Catalog ; dct:hasPart </about> ."
    site = turtle({"/c": described("a") + parts, "/about": b"</about> dct:title 'About us' ."})
    done = walked(site, site.url + "/c")
    assert (done.judged, done.kinds()) == (("complete", 1, 1), {})


@pytest.mark.parametrize("what", NO_RDF)
def test_a_dataset_that_has_no_rdf_is_told_as_that(walked, with_others, what):
    """The catalogue names a page of a dataset: there is nothing of it that could be kept."""
    site = with_others(described("a", "b") + b":c dcat:dataset </page> .", {"/page": NO_RDF[what]})
    done = walked(site, site.url + "/c")
    assert (done.judged, done.kinds()) == (("complete", 2, 2), {"no_rdf": 1})
    assert done.errors[0].error.startswith(f"the catalogue names the dataset {site.url}/page, ")


def test_datasets_without_rdf_that_are_more_than_the_others_are_missing(walked, with_others):
    """The address is not where the catalogue has its RDF, or the server gives none today."""
    names = [f"/page/{number}" for number in range(3)]
    listed = described("a", "b") + b"".join(b":c dcat:dataset <%b> ." % name.encode() for name in names)
    site = with_others(listed, dict.fromkeys(names, NO_RDF["a page"]))
    done = walked(site, site.url + "/c")
    assert (done.judged, done.kinds()) == (("incomplete", 5, 2), {"undescribed": 3})


def test_a_page_that_leads_to_several_files_is_not_without_rdf(walked, with_others):
    page = b"<!doctype html><a href=/x.ttl>one</a> <a href=/y.ttl>two</a>"
    pages = {"/page": Answer(page, headers={"Content-Type": "text/html"})}
    site = with_others(described("a", "b") + b":c dcat:dataset </page> .", pages)
    done = walked(site, site.url + "/c")
    assert (done.judged[0], done.kinds()) == ("incomplete", {"undescribed": 1})


def test_what_has_no_rdf_any_more_is_not_gone_and_hides_nothing_that_is(harvest, with_others):
    """A dataset that was kept and is still listed is missing; one that never had RDF hinders no withdrawal."""
    own = Answer(PREFIXES + b"</own> a dcat:Dataset ; dct:identifier 'own' ; dct:title 'own' .", headers=TURTLE)
    others = {"/own": own, "/page": NO_RDF["a page"]}
    listed = described(*(f"a{number}" for number in range(60)))
    site = with_others(listed + b":c dcat:dataset </own>, </page> .", others)
    crawl = harvest(site.url + "/c")
    assert (crawl.code, judged(crawl), crawl.report["errors"]) == (0, ("complete", 61, 61), {"no_rdf": 1})
    whole = site.answer
    site.answer = lambda asked: NO_RDF["a page"] if asked.path == "/own" else whole(asked)
    for _ in range(2):
        crawl = harvest(site.url + "/c")
        assert (crawl.code, crawl.report["errors"]) == (3, {"no_rdf": 1, "undescribed": 1})
    assert statuses(crawl)["withdrawn"] == 0
    fewer = PREFIXES + listed.replace(b":c dcat:dataset :a59 .", b"").replace(b":a59 a", b":z a")
    site.answer = lambda asked: (
        Answer(fewer + b":c dcat:dataset </own>, </page> .", headers=TURTLE) if (asked.path == "/c") else whole(asked)
    )
    for _ in range(2):
        crawl = harvest(site.url + "/c")
        assert (crawl.code, crawl.report["errors"]) == (0, {"no_rdf": 1})
    assert statuses(crawl)["withdrawn"] == 1


@pytest.mark.parametrize("named", [b"dcat:dataset", b"tree:node"])
def test_an_address_that_is_forbidden_keeps_nothing_from_the_others(harvest, turtle, named):
    """A dataset, or a TREE node, that robots.txt disallows, or that leads to a private host."""
    names = b", ".join(b"</%b>" % name for name in (b"closed/1", b"away", b"open/1", b"open/2"))
    pages = {"/c": MORE + described("a") + b":c %b %b ." % (named, names), "/away": "http://10.0.0.1/x"}
    pages |= {f"/open/{number}": linked(b"") for number in (1, 2)}
    site = turtle(pages)
    whole = site.answer
    robots = Answer(b"User-agent: *\nDisallow: /closed/", headers={"Content-Type": "text/plain"})
    site.answer = lambda asked: robots if asked.path == "/robots.txt" else whole(asked)
    crawl = harvest(site.url + "/c")
    assert (crawl.code, crawl.report["listed"], sum(crawl.report["errors"].values())) == (3, 3, 2)


def test_relative_iris_are_those_of_the_address(walked):
    """A Content-Location names the representation; since RFC 7231 it is no base of what the answer says."""
    body = PREFIXES + b"<> a dcat:Catalog ; dcat:dataset <d> . <d> a dcat:Dataset ; dct:title 'D' ."
    headers = TURTLE | {"Content-Location": "/other/c.ttl"}
    with Site(lambda _: Answer(body, headers=headers)) as site:
        assert walked(site, site.url + "/dir/c").ids() == [site.url + "/dir/d"]


def zipped(files):
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, body in files.items():
            archive.writestr(name, body)
    return made.getvalue()


@pytest.mark.parametrize(
    ("name", "media_type"),
    [
        ("dump.ttl.gz", "application/gzip"),
        ("dump.ttl.gz", "application/octet-stream"),
        ("dump.ttl.gz", "text/turtle"),
        ("dump.zip", "application/zip"),
        ("dump.zip", "text/turtle"),
    ],
)
def test_a_dump_that_is_packed_is_read(harvest, name, media_type):
    dump = PREFIXES + b"<> a dcat:Catalog ; dcat:dataset <d> . <d> a dcat:Dataset ; dct:title 'D' ."
    files = {"dump/": b"", "dump/catalog.ttl": dump, "dump/README.txt": b"Ours", "__MACOSX/dump/._catalog.ttl": b"?"}
    body = gzip.compress(dump) if name.endswith(".gz") else zipped(files)
    with Site(lambda _: Answer(body, headers={"Content-Type": media_type})) as site:
        crawl = harvest(f"{site.url}/{name}")
    assert (crawl.code, crawl.report["verdict"], crawl.report["listed"]) == (0, "complete", 1)


def test_the_error_of_a_nameless_dataset_says_its_title(walked, turtle):
    site = turtle({"/c": described("a") + b":c dcat:dataset [ a dcat:Dataset ; dct:title 'Rain', 'Fog' ] ."})
    (error,) = walked(site, site.url + "/c").errors
    assert (error.kind, error.dataset_title) == ("missing_id", "Fog")
    assert error.error.startswith("dataset 2 of the page, 'Fog', which has no IRI,")


def test_one_tree_node_that_fails_costs_its_own_datasets(walked, turtle):
    nodes = b"<> tree:relation [ tree:node </n1> ], [ tree:node </n2> ], [ tree:node </n3> ] . "
    pages = {"/c": MORE + nodes + described("a"), "/n2": described("b"), "/n3": described("x")}
    site = turtle(pages)
    done = walked(site, site.url + "/c")
    assert (done.judged[0], done.ids(), done.kinds(), done.evidence) == (
        "incomplete",
        ["http://a.org/a", "http://a.org/b", "http://a.org/x"],
        {"http": 1},
        {},
    )
    pages["/n1"] = described("y")
    assert (walked(site, site.url + "/c").judged, done.kinds()) == (("complete", 4, 4), {"http": 1})


def test_pages_that_count_differently_answer_two_questions(walked, turtle):
    site = turtle(
        {
            "/c": described("a") + b"<> hydra:totalItems 2 ; hydra:next </c?page=2> .",
            "/c?page=2": described("b") + b"<> hydra:totalItems 70 ; hydra:first </c> .",
        }
    )
    assert set(walked(site, site.url + "/c").kinds()) == {"count_mismatch"}


def test_two_catalogues_in_one_folder(harvest, turtle):
    pages = {"/a": described(*(f"a{number}" for number in range(60))), "/b": described("b")}
    site = turtle(pages)
    for path in ("/a", "/b", "/a", "/a", "/b", "/b"):
        crawl = harvest(site.url + path)
        assert (crawl.code, crawl.report["counts"]["withdrawn"]) == (0, 0)
    pages["/a"] = described(*(f"a{number}" for number in range(59)))
    assert [harvest(site.url + "/a").report["counts"]["withdrawn"] for _ in range(2)] == [0, 1]


def test_a_host_that_is_no_folder(output):
    ran = scrapy("crawl", "dcat", *options(output, {"RETRY_TIMES": "0"}, url="http://../c.ttl"))
    assert ran.returncode in (3, 4)
    assert sorted(path.name for path in output.parent.iterdir()) == ["output"]


@pytest.mark.parametrize(("limit", "told"), [("2", ["a"]), ("1", ["a"]), (None, ["a", "c", "h"])])
def test_what_lies_behind_a_limit_is_neither_flaw_nor_error(walked, limit, told):
    """Where the second dataset has been looked at, too, its own flaw is none either."""
    dataset = '<dcat:dataset><dcat:Dataset rdf:about="{0}"><dct:title>{0}</dct:title>{1}</dcat:Dataset></dcat:dataset>'
    bad = '<dct:license rdf:resource="http://a.org/l">x</dct:license>'
    catalogue = "".join(dataset.format(one, bad if one in "ach" else "") for one in "abcdefghijk")
    body = f'{RDF_XML}<dcat:Catalog rdf:about="z">{catalogue}</dcat:Catalog></rdf:RDF>'.encode()
    with Site(lambda asked: Answer(body, headers={"Content-Type": "application/rdf+xml"})) as site:
        done = walked(site, f"{site.url}/", **({"max_datasets": limit} if limit else {}))
    assert (done.judged[0], done.errors) == ("partial" if limit else "complete", [])
    assert [flaw.dataset_id.removeprefix(f"{site.url}/") for flaw in done.flaws] == told


# Failures


@pytest.mark.parametrize("fault", [{"http_500": "2:2"}, {"cut": "2:2"}])
def test_a_page_that_fails_for_a_while(harvest, catalogue, fault):
    site = catalogue(25, per_page=10, paging="hydra", faults=fault)
    assert judged(harvest(site.address)) == ("complete", 25, 25)
    assert site.pages() == [1, 2, 2, 2, 3]


def test_a_page_that_fails(walked, catalogue):
    site = catalogue(25, per_page=10, paging="paged", faults={"http_500": "2:99"})
    done = walked(site, site.address)
    assert (done.judged[0], len(done.items), done.kinds()) == ("incomplete", 10, {"http": 1})
    assert [error.http_status for error in done.errors] == [500]


@pytest.mark.parametrize("serialisation", ["ttl", "n3"])
def test_an_error_in_the_middle_costs_a_statement(walked, catalogue, serialisation):
    """The catalogue's list names all datasets, and reading goes on behind the error: it is a flaw of one of them."""
    site = catalogue(40, serialisation=serialisation, faults={"syntax_error": "1"})
    done = walked(site, site.address)
    assert (done.judged, done.errors) == (("complete", 40, 40), [])
    flaws = {(flaw.kind, flaw.dataset_id) for flaw in done.flaws}
    assert ("unreadable_statement", "d0019") in flaws
    assert flaws <= {("unreadable_statement", "d0019"), ("repaired_text", None)}
    assert not [item.id for item in done.items if item.torn]


@pytest.mark.parametrize("serialisation", ["rdf", "nt", "nq", "trig", "jsonld"])
def test_an_error_in_the_middle_may_cost_a_dataset(walked, catalogue, serialisation):
    """What is lost may be a line of the catalogue's list, or the rest of the file is not read."""
    site = catalogue(40, serialisation=serialisation, faults={"syntax_error": "1"})
    done = walked(site, site.address)
    assert done.judged[0] == "incomplete"
    assert done.judged[2] >= 20 - (serialisation == "jsonld")
    assert {"d0019"} & {each.dataset_id for each in (*done.errors, *done.flaws)}
    assert [item.id for item in done.items if item.torn]
    assert set(done.kinds()) <= {"invalid_rdf", "undescribed"}


def test_a_list_that_lacks_a_lost_statement_is_no_evidence(walked, catalogue):
    """Without a list that names the datasets, the lost statement may have been one."""
    site = catalogue(40, serialisation="ttl", faults={"syntax_error": "1"})
    whole = site.body
    site.body = lambda number: re.sub(rb"dcat:dataset[^;.]*[;.]", b";", whole(number)).replace(b"; ;", b";")
    done = walked(site, site.address)
    assert (done.judged[0], set(done.kinds())) == ("incomplete", {"invalid_rdf"})


@pytest.mark.parametrize("serialisation", ["rdf", "ttl", "jsonld"])
def test_a_file_that_breaks_off_is_not_whole(harvest, catalogue, serialisation):
    """The server has half a file, and says that it is all: the parser does not tell it of RDF/XML."""
    site = catalogue(40, serialisation=serialisation)
    assert harvest(site.address).code == 0
    whole = site.body
    site.body = lambda number: whole(number)[: len(whole(number)) // 2]
    for _ in range(3):
        crawl = harvest(site.address)
        assert (crawl.code, crawl.report["verdict"]) == (3, "incomplete")
        assert "invalid_rdf" in crawl.report["errors"]
        assert "withdrawn" not in statuses(crawl)
    assert len(crawl.documents()) == 40


@pytest.mark.parametrize("serialisation", ["jsonld"])
def test_an_error_in_the_middle_takes_nothing_for_gone(harvest, catalogue, serialisation):
    site = catalogue(40, serialisation=serialisation)
    whole = harvest(site.address)
    assert whole.code == 0
    before = whole.documents()
    site.faults["syntax_error"] = "1"
    site.change("d0001")
    crawl = harvest(site.address)
    assert (crawl.code, crawl.report["verdict"]) == (3, "incomplete")
    after = crawl.documents()
    publisher_is_lost = serialisation == "jsonld"  # it stands behind the error, and nothing there is read
    changed = [name for name, document in before.items() if after[name] != document]
    assert changed == ([] if publisher_is_lost else ["d0001.json"]), "a torn one replaces nothing"
    torn = {error["dataset_id"] for error in crawl.errors if error["kind"] == "invalid_rdf"}
    assert torn & {"d0018", "d0019", "d0020"}
    assert crawl.report["errors"]["invalid_rdf"] >= 1
    assert set(crawl.report["errors"]) <= {"invalid_rdf", "undescribed", "invalid_record"}
    assert crawl.report["listed"] >= 20 - (serialisation == "jsonld")
    assert "withdrawn" not in statuses(crawl)


def test_rdf_xml_with_a_prefix_that_is_not_bound_replaces_nothing(harvest, catalogue):
    """What follows it in its dataset is lost, and the crawl says so."""
    site = catalogue(3, serialisation="rdf")
    before = harvest(site.address).documents()
    whole = site.body
    site.body = lambda number: whole(number).replace(b"<dct:modified", b"<foo:x>1</foo:x><dct:modified", 1)
    crawl = harvest(site.address)
    assert (crawl.code, crawl.report["verdict"], crawl.documents()) == (3, "incomplete", before)


def test_a_torn_description_replaces_nothing(harvest, turtle):
    """A new one is written and marked; the document on disk stays, and what is whole is updated."""
    whole = b":%b a dcat:Dataset ; dct:identifier '%b' ; dct:title 'One' ; dcat:keyword 'k' ; dct:description 'd' ."
    torn = b":b a dcat:Dataset ; dct:identifier 'b' ; dct:title 'One' ; dct:description <<oops>> ; dcat:keyword 'k' ."
    pages = {"/c": b"".join((whole % (b"a", b"a"), torn, whole % (b"c", b"c"), whole % (b"z", b"z")))}
    site = turtle(pages)
    first = harvest(site.url + "/c")
    assert (first.code, statuses(first)) == (3, {"new": 4})
    told = {(error["kind"], error["dataset_id"]) for error in first.errors}
    assert told == {("invalid_rdf", "b")}
    assert {(flaw["kind"], flaw["dataset_id"]) for flaw in first.flaws} == {
        ("unreadable_statement", "b"),
        ("unreadable_statement", "c"),  # it is next to it
    }
    pages["/c"] = b"".join(whole % (one, one) for one in (b"a", b"b", b"c", b"z"))
    assert harvest(site.url + "/c").report["counts"]["updated"] == 1
    pages["/c"] = b"".join((whole % (b"a", b"a"), torn, (whole % (b"z", b"z")).replace(b"One", b"Two")))
    crawl = harvest(site.url + "/c")
    assert crawl.report["counts"]["updated"] == 0, "z is next to it"
    pages["/c"] += whole % (b"a2", b"a2") + (whole % (b"c", b"c")).replace(b"One", b"Two")
    crawl = harvest(site.url + "/c")
    counts = crawl.report["counts"]
    assert (crawl.code, counts["new"], counts["updated"], counts["withdrawn"]) == (3, 1, 1, 0)
    kept = crawl.documents()
    assert [kept[f"{one}.json"].get("description") for one in "abcz"] == ["d"] * 4
    assert [kept[f"{one}.json"]["title"] for one in "abcz"] == ["One", "One", "Two", "One"]


def test_duplicate_and_missing_ids_and_titles(harvest, catalogue):
    site = catalogue(5, faults={"duplicates": "", "nameless": "", "titleless": ""})
    crawl = harvest(site.address)
    assert (crawl.code, crawl.report["listed"]) == (3, 8)
    another = "sha256-" + hashlib.sha256(site.extra()[0].iri.encode()).hexdigest()[:32]
    assert ids(crawl) == [*site.ids(), another, "titleless"], "whose identifier another one has is known by its IRI"
    (error,) = crawl.errors
    assert (error["kind"], error["dataset_title"]) == ("missing_id", site.extra()[1].title)
    assert f", {error['dataset_title']!r}," in error["error"]
    assert [(flaw["kind"], flaw["field"], flaw["dataset_id"]) for flaw in crawl.flaws] == [
        ("missing_value", "title", "titleless")
    ]


@pytest.mark.parametrize("faults", [{"nameless": "", "titleless": "", "duplicates": ""}])
def test_the_same_in_data_json(harvest, catalogue, faults):
    crawl = harvest(catalogue(5, serialisation="data.json", faults=faults).address)
    assert sorted(error["kind"] for error in crawl.errors) == ["duplicate_id", "missing_id"]
    assert [flaw["kind"] for flaw in crawl.flaws] == ["missing_value"]
    assert len(ids(crawl)) == 6


def test_records_without_ids_are_not_told_for_ever(walked):
    body = json.dumps({"conformsTo": "https://project-open-data.cio.gov/v1.1/schema", "dataset": [[]] * 100_000})
    with Site(lambda _: Answer(body.encode())) as site:
        done = walked(site, site.url + "/data.json")
    assert done.kinds() == {"missing_id": 1001}


@pytest.mark.parametrize("body", [b"%b" % ("\xe9".encode("latin-1")), b"\xef\xbf\xbd"])
def test_a_data_json_with_a_bad_byte(walked, catalogue, body):
    site = catalogue(5, serialisation="data.json")
    whole = site.body(1)
    site.body = lambda number: whole.replace(b"nobody", body)
    done = walked(site, site.address)
    assert (done.judged[2], set(done.kinds()) <= {"invalid_rdf"}) == (5, True)


def test_a_data_json_that_breaks_off(walked, catalogue):
    site = catalogue(5, serialisation="data.json")
    whole = site.body(1)
    site.body = lambda number: whole[: len(whole) * 3 // 4]
    done = walked(site, site.address)
    assert (done.judged[2], done.kinds()) == (3, {"invalid_rdf": 1})


def test_a_remote_context_is_never_fetched(walked, catalogue):
    site = catalogue(5, serialisation="jsonld", faults={"remote_context": ""})
    (error,) = walked(site, site.address).errors
    assert (error.stage, error.kind, len(site.asked)) == ("list", "remote_context", 1)
    assert "https://contexts.example.org/unknown.jsonld" in error.error


def test_json_is_read_up_to_a_limit(walked, catalogue):
    site = catalogue(50, serialisation="jsonld")
    (error,) = walked(site, site.address, settings={"JSON_MAXSIZE": "1000"}).errors
    assert (error.stage, error.kind) == ("list", "too_large")
    assert "JSON_MAXSIZE" in error.error


def test_documents_are_written_up_to_a_limit(harvest, catalogue):
    site = catalogue(3)
    site.entries["d0001"] = replace(site.entries["d0001"], node="d0001" + 200 * "x")
    crawl = harvest(site.address, settings={"DOCUMENT_MAXSIZE": "2060"})
    assert (crawl.code, judged(crawl), ids(crawl)) == (3, ("incomplete", 3, 3), ["d0000", "d0002"])
    assert [(error["kind"], error["dataset_id"]) for error in crawl.errors] == [("too_large", "d0001")]


OTHERS = {
    "an Atom feed": ("application/atom+xml", b"<?xml version='1.0'?><feed xmlns='http://www.w3.org/2005/Atom'></feed>"),
    "a sitemap": ("text/xml", b"<urlset xmlns='http://www.sitemaps.org/schemas/sitemap/0.9'></urlset>"),
    "a SPARQL result": ("application/sparql-results+json", b'{"head": {"vars": []}, "results": {"bindings": []}}'),
    "an ISO 19115 record": ("text/xml", b"<gmd:MD_Metadata xmlns:gmd='http://www.isotc211.org/2005/gmd'/>"),
    "the capabilities of an OGC service": ("text/xml", b"<!-- x --><csw:Capabilities xmlns:csw='c' version='2.0.2'/>"),
    "an answer of CKAN's API": ("application/json", b'{"help": "h", "success": true, "result": []}'),
}


@pytest.mark.parametrize("what", OTHERS)
def test_what_is_no_catalogue_is_named(what):
    content_type, body = OTHERS[what]
    response = Response("https://example.org/x", headers={"Content-Type": content_type}, body=body)
    with pytest.raises(AnswerError, match=f"this is {what}") as raised:
        read(response, name="x", language=None, max_json=10**6)
    assert raised.value.kind == "not_rdf"


def test_an_empty_catalogue_is_complete(walked, catalogue):
    site = catalogue(0)
    assert walked(site, site.address).judged == ("complete", 0, 0)


@pytest.mark.parametrize(
    ("body", "kind"),
    [
        (b"<a:x xmlns:a='http://a.org/'><a:y/></a:x>", "no_datasets"),
        (b"@prefix dcat: <http://www.w3.org/ns/dcat#> . <a> dcat:keyword 'x' .", "no_datasets"),
        (b'{"@id": "a", "http://a.org/b": "c"}', "no_datasets"),
        (b"%PDF-1.4 nothing", "not_rdf"),
        (b"", "not_rdf"),
        (b'{"broken', "not_json"),
    ],
)
def test_what_is_no_catalogue(walked, body, kind):
    with Site(lambda _: Answer(body, headers={"Content-Type": "text/plain"})) as site:
        done = walked(site, site.url + "/c")
    assert (done.judged[0], kind in done.kinds(), done.items) == ("incomplete", True, [])


UNDESCRIBED = b"""
@prefix dcat: <http://www.w3.org/ns/dcat#> . @prefix dct: <http://purl.org/dc/terms/> .
<c> a dcat:Catalog ; dcat:dataset <1>, <2>, <3> .
<1> dct:title "untyped, and described" . <2> a dcat:Dataset .
<service> a dcat:DataService ; dct:title "A service" ; dcat:servesDataset <1>, <4> .
<4> a dcat:Dataset ; dct:identifier "a stub" .
"""


def test_which_nodes_are_datasets(walked):
    with Site(lambda _: Answer(UNDESCRIBED, headers={"Content-Type": "text/turtle"})) as site:
        done = walked(site, site.url + "/dir/c.ttl")
        assert done.ids() == [f"{site.url}/dir/1"], "relative IRIs are resolved"
    assert [(error.kind, error.error.rpartition("/")[2][0]) for error in done.errors] == [
        ("undescribed", "2"),
        ("undescribed", "3"),
    ]


# Again, later


def test_nothing_is_written_twice(harvest, catalogue):
    site = catalogue(25, per_page=10, paging="hydra")
    harvest(site.address)
    site.change("d0003")
    crawl = harvest(site.address)
    assert crawl.report["counts"] | {"failed": 0} == {**zero(), "unchanged": 24, "updated": 1}
    assert statuses(crawl) == {"new": 25, "updated": 1}


def zero():
    return dict.fromkeys(("new", "updated", "unchanged", "withdrawn", "restored", "fallback", "failed"), 0)


def test_the_order_of_triples_is_no_change(harvest, catalogue):
    site = catalogue(10, serialisation="nt")
    harvest(site.address)
    site.body = lambda number: shuffled(Catalogue.body(site, number))
    assert harvest(site.address).report["counts"] == {**zero(), "unchanged": 10}


def shuffled(body: bytes) -> bytes:
    lines = body.replace(b"_:contact", b"_:other").splitlines(keepends=True)
    random.Random(7).shuffle(lines)
    return b"".join(lines)


def test_since_last(harvest, catalogue):
    site = catalogue(30, faults={"etag": ""})
    harvest(site.address)
    crawl = harvest(site.address, since="last")
    assert (crawl.code, judged(crawl)) == (0, ("complete", 30, 30))
    assert crawl.report["counts"] == {**zero(), "unchanged": 30}
    assert crawl.report["bytes"] < 2000, "304"
    site.change("d0007")
    crawl = harvest(site.address, since="last")
    assert crawl.report["counts"] == {**zero(), "unchanged": 29, "updated": 1}
    assert harvest(site.address, since="last").report["bytes"] < 2000


def test_since_last_when_a_document_is_lost(harvest, catalogue):
    site = catalogue(3, faults={"etag": ""})
    crawl = harvest(site.address)
    min((crawl.folder / "datasets").iterdir()).unlink()
    crawl = harvest(site.address, since="last")
    assert crawl.report["counts"] == {**zero(), "unchanged": 2, "updated": 1}
    assert len(ids(crawl)) == 3


def test_since_last_after_a_run_that_wrote_something_else(harvest, catalogue):
    site = catalogue(30, faults={"etag": ""})
    harvest(site.address)
    before = site.body(1)
    site.change("d0003")
    harvest(site.address, max_datasets="10")
    site.body = lambda number: before
    assert harvest(site.address, since="last").report["counts"]["updated"] == 1


def test_since_last_after_reindex(harvest, catalogue, output):
    site = catalogue(3, faults={"etag": ""})
    harvest(site.address)
    assert scrapy("reindex", "-s", f"OUTPUT_DIR={output}").returncode == 0
    assert harvest(site.address, since="last").report["bytes"] < 2000


def test_an_etag_that_is_always_another(harvest, catalogue):
    site = catalogue(3, faults={"etag_lies": "changes"})
    harvest(site.address)
    assert harvest(site.address, since="last").report["counts"] == {**zero(), "unchanged": 3}


def test_pages_have_no_common_etag(harvest, catalogue):
    site = catalogue(25, per_page=10, paging="hydra", faults={"etag": ""})
    harvest(site.address)
    site.change("d0024")
    assert harvest(site.address, since="last").report["counts"]["updated"] == 1


def test_withdrawn_when_missed_twice(harvest, catalogue):
    site = catalogue(100)
    harvest(site.address)
    site.remove("d0042")
    crawl = harvest(site.address)
    assert (crawl.code, statuses(crawl)) == (0, {"new": 100})
    assert "1 datasets are gone" in crawl.log
    crawl = harvest(site.address)
    assert (crawl.code, statuses(crawl)) == (0, {"new": 100, "withdrawn": 1})
    assert (crawl.manifest[-1]["dataset_id"], crawl.manifest[-1]["dataset_title"]) == (
        "d0042",
        "Dataset d0042, revision 1",
    )
    assert len(ids(crawl)) == 100, "the document is kept"
    assert harvest(site.address).report["counts"]["withdrawn"] == 0
    site.entries["d0042"] = site.entries["d0041"].__class__("d0042", "d0042")
    assert statuses(harvest(site.address)) == {"new": 100, "withdrawn": 1, "restored": 1}


def test_a_catalogue_that_shrinks(harvest, catalogue):
    site = catalogue(100)
    harvest(site.address)
    for number in range(5):
        site.remove(f"d000{number}")
    for _ in range(2):
        crawl = harvest(site.address)
        assert (crawl.code, crawl.report["errors"]) == (3, {"shrink": 1})
    crawl = harvest(site.address, settings={"SHRINK_LIMIT": "0.06"})
    assert (crawl.code, crawl.report["counts"]["withdrawn"]) == (0, 0), "missed by one complete crawl"
    assert harvest(site.address, settings={"SHRINK_LIMIT": "0.06"}).report["counts"]["withdrawn"] == 5


def test_a_few_of_a_small_catalogue_may_be_gone(harvest, catalogue):
    """Two of 25 are 8 %."""
    site = catalogue(25)
    harvest(site.address)
    for number in range(2):
        site.remove(f"d000{number}")
    assert [harvest(site.address).report["counts"]["withdrawn"] for _ in range(2)] == [0, 2]


def test_what_whole_listings_on_three_days_lack_is_withdrawn(harvest, catalogue, output):
    site = catalogue(100)
    harvest(site.address)
    for number in range(30):
        site.remove(f"d00{number:02}")
    refused = harvest(site.address)
    assert (refused.code, refused.report["errors"]) == (3, {"shrink": 1})
    path = refused.folder / "memory.json"
    memory = json.loads(path.read_bytes())
    [[scope, moments]] = memory["listings that lacked too much"].items()
    assert moments == [refused.report["started"]]
    memory["listings that lacked too much"][scope] = ["2026-01-02T00:00:00.000Z", "2026-01-03T00:00:00.000Z"]
    path.write_text(json.dumps(memory))  # as if these were the days
    with sqlite3.connect(output / "index.sqlite") as index:
        index.execute("UPDATE documents SET last_seen = '2026-01-01T00:00:00.000Z' WHERE dataset_id LIKE '%d00%'")
    index.close()
    done = harvest(site.address)
    assert (done.code, done.report["counts"]["withdrawn"]) == (0, 30)
    assert "listings that lacked too much" not in json.loads(path.read_bytes())


def test_a_faulty_record_keeps_nothing_from_being_withdrawn(harvest, catalogue):
    site = catalogue(100, faults={"titleless": ""})
    harvest(site.address)
    site.remove("d0042")
    assert harvest(site.address).report["counts"]["withdrawn"] == 0
    crawl = harvest(site.address)
    assert (crawl.report["verdict"], crawl.report["counts"]["withdrawn"]) == ("complete", 1)


def test_a_record_without_id_may_be_any(harvest, catalogue):
    site = catalogue(100, faults={"nameless": ""})
    harvest(site.address)
    site.remove("d0042")
    for _ in range(3):
        assert harvest(site.address).report["counts"]["withdrawn"] == 0


def test_reindex_withdraws_nothing_sooner(harvest, catalogue, output):
    site = catalogue(100)
    for _ in range(2):
        harvest(site.address)
    site.remove("d0042")
    assert scrapy("reindex", "-s", f"OUTPUT_DIR={output}").returncode == 0
    assert harvest(site.address).report["counts"]["withdrawn"] == 0
    assert harvest(site.address).report["counts"]["withdrawn"] == 1


def test_a_cached_answer_is_no_second_listing(harvest, catalogue, tmp_path):
    site = catalogue(100)
    harvest(site.address)
    site.remove("d0042")
    site.page = lambda number, asked: Answer(
        Catalogue.page(site, number, asked).body, headers={"Content-Type": site.type, "Cache-Control": "max-age=600"}
    )
    for _ in range(3):
        crawl = harvest(site.address, settings={"HTTPCACHE_ENABLED": "1", "HTTPCACHE_DIR": str(tmp_path / "cache")})
        assert crawl.report["counts"]["withdrawn"] == 0
    assert harvest(site.address).report["counts"]["withdrawn"] == 1


def test_a_304_does_not_count_what_is_gone(harvest, catalogue):
    site = catalogue(100, faults={"etag": ""})
    harvest(site.address)
    site.remove("d0042")
    harvest(site.address)
    assert judged(harvest(site.address, since="last")) == ("complete", 99, 99)


# Killed


def begun(output, jobdir, site):
    words = options(output, {"JOBDIR": str(jobdir), "REQUESTS_PER_SECOND": "20"}, url=site.address)
    crawl = forked.Popen([sys.executable, "-m", "scrapy", "crawl", "dcat", *words], cwd=ROOT, stderr=subprocess.PIPE)
    asked = len(site.asked)
    until(lambda: len(site.asked) != asked, unless=lambda: crawl.poll() is not None)
    return crawl


@pytest.mark.parametrize("kills", [2, pytest.param(8, marks=pytest.mark.slow)])
def test_killed_and_resumed(harvest, catalogue, tmp_path, output, kills):
    """At random moments, while pages fail and connections are cut."""
    random.seed(4)
    faults = {"http_500": "3:2", "cut": "5:2", "duplicates": "", "titleless": "", "nameless": ""}
    site = catalogue(300, per_page=10, paging="hydra", faults=faults)
    whole = harvest(site.address, source="whole")
    site.failed.clear()
    jobdir = tmp_path / "job"
    for _ in range(kills):
        killed = begun(output, jobdir, site)
        time.sleep(random.uniform(0, 0.2))
        killed.send_signal(signal.SIGKILL)
        killed.communicate()
    done = harvest(site.address, settings={"JOBDIR": str(jobdir)})
    assert (done.code, done.report["resumed"]) == (3, True)
    assert left(done) == left(whole)


@pytest.mark.parametrize("page", [2, 3])
def test_a_crawl_that_is_killed_between_two_parts_of_a_dataset_joins_them(harvest, turtle, tmp_path, output, page):
    first, second = IN_PARTS["two halves"]
    pages = {
        "/c": described("a") + first + b"<> hydra:next </c?page=2> .",
        "/c?page=2": described("b") + second + b"<> hydra:next </c?page=3> .",
        "/c?page=3": described("d") + LISTED + b"dcat:keyword 'rain' .",
    }
    site, killed = turtle(pages), []
    answer = site.answer

    def kill(asked):
        if asked.path == f"/c?page={page}" and killed and killed[0].poll() is None:
            killed[0].send_signal(signal.SIGKILL)
        return answer(asked)

    whole = harvest(site.url + "/c", source="whole")
    site.answer = kill
    words = options(output, {"JOBDIR": str(tmp_path / "job")}, url=site.url + "/c")
    killed.append(forked.Popen([sys.executable, "-m", "scrapy", "crawl", "dcat", *words], cwd=ROOT))
    killed[0].communicate()
    done = harvest(site.url + "/c", settings={"JOBDIR": str(tmp_path / "job")})
    assert (done.code, done.report["resumed"], judged(done)) == (0, True, ("complete", 4, 4))
    assert left(done) == left(whole)
    assert "rain" in json.dumps(done.documents())
