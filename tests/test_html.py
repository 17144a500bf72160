"""Catalogues of HTML pages, by their rules files: every family crawled whole, and what goes wrong at such."""

from __future__ import annotations

import csv
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from crawlers.kinds.html.rules import loads
from crawlers.kinds.html.spider import HTML
from tests import forked
from tests.conftest import ROOT, Crawl, command, json_lines, options, scrapy
from tests.portal.html.catalogue import HTMLCatalogue
from tests.portal.html.data import found, truth
from tests.portal.html.families import BROWSER, FAMILIES, PLAIN
from tests.test_resume import left
from tests.waiting import until
from tests.walked import Walked, answers_of, walk

RULES = Path(__file__).parent / "rules"
PATIENT = {"SHRINK_LIMIT": "0.9"}
WITH_BROWSER = [pytest.param(name, marks=pytest.mark.browser) for name in BROWSER]


@pytest.fixture
def rules(tmp_path):
    """A family's rules file for a catalogue: ``rules(site, ("old", "new"))``."""

    def write(site: HTMLCatalogue, *changes: tuple[str, str]) -> Path:
        text = (RULES / f"{family_of(site)}.toml").read_text(encoding="utf-8").replace("{url}", site.url)
        for old, new in changes:
            assert old in text, old
            text = text.replace(old, new)
        path = tmp_path / f"{family_of(site)}.toml"
        path.write_text(text, encoding="utf-8")
        return path

    return write


@pytest.fixture
def harvest(output, rules):
    """Crawls a catalogue: ``harvest(site, ("old", "new"), since="last", settings={...}, more=("-O", "x.jsonl"))``."""

    def run(site: HTMLCatalogue, *changes, settings=None, more=(), **arguments) -> Crawl:
        words = options(output, settings or {}, rules=str(rules(site, *changes)), **arguments)
        ran = scrapy("crawl", "html", *words, *more)
        return Crawl(ran.returncode, ran.stderr, output / arguments.get("source", "127.0.0.1"))

    return run


@pytest.fixture
def walked(rules, tmp_path):
    """Walks through a catalogue, without a crawl: ``walked(site, ("old", "new"))``."""

    def run(site: HTMLCatalogue, *changes: tuple[str, str]) -> Walked:
        return walk(HTML, answers_of(site), tmp_path, rules=str(rules(site, *changes)))

    return run


@pytest.fixture
def catalogue():
    """Starts catalogues: ``catalogue("drupal", 25, faults={"etag": ""})``. They end when the test does."""
    started = []

    def start(family: str, *arguments, **keywords) -> HTMLCatalogue:
        started.append(FAMILIES[family](*arguments, **keywords).__enter__())
        return started[-1]

    yield start
    for one in started:
        one.__exit__()


def family_of(site: HTMLCatalogue) -> str:
    return next(name for name, family in FAMILIES.items() if type(site) is family)


def judged(crawl: Crawl) -> tuple[str, int, int]:
    return crawl.report["verdict"], crawl.report["expected"], crawl.report["listed"]


def ids(crawl: Crawl) -> list[str]:
    """Of the datasets that stand, by the manifest, in order."""
    last = {line["dataset_id"]: line["status"] for line in crawl.manifest}
    return sorted(dataset_id for dataset_id, status in last.items() if status != "withdrawn")


def statuses(crawl: Crawl) -> Counter[str]:
    return Counter(line["status"] for line in crawl.manifest)


def counts(crawl: Crawl) -> dict[str, int]:
    return {name: number for name, number in crawl.report["counts"].items() if number}


def sources(crawl: Crawl) -> Counter[str]:
    return Counter(line["metadata_source"] for line in crawl.manifest)


def truths(site: HTMLCatalogue) -> dict[str, object]:
    return {entry.title: ordered(truth(entry, site.url), site) for entry in site.listed()}


def items(feed: Path, site: HTMLCatalogue) -> dict[str, object]:
    return {item["title"]: ordered(found(item), site) for item in json_lines(feed)}


def ordered(values: dict[str, Any], site: HTMLCatalogue) -> dict[str, Any]:
    """RDF has no order."""
    unordered = family_of(site) == "rdf_link"
    return {name: sorted(one) if unordered and isinstance(one, list) else one for name, one in values.items()}


# Every family


def test_rules_are_short():
    files = sorted(RULES.glob("*.toml"))
    assert [path.stem for path in files] == sorted(FAMILIES)
    for path in files:
        lines = path.read_text(encoding="utf-8").splitlines()
        assert sum(1 for line in lines if line.strip() and not line.strip().startswith("#")) <= 20, path.name


ASKED = {
    "aspnet": {"listing": 7},
    "schema_org": {"listing": 4},  # nothing says that there is no page after the last, but that page
    "rdf_link": {"listing": 3, "other": 25},
    "sitemap": {"sitemaps": 3},
    "categories": {"listing": 6},
    "search_post": {"listing": 4},  # the form, and three pages
    "search_get": {"listing": 4},
    "js_pager": {"listing": 1, "pieces": 3},
    "js_datasets": {"listing": 1, "pieces": 3, "parts": 25},
    "js_buttons": {"listing": 1, "pieces": 3},
    "js_script": {"listing": 1, "pieces": 3},
    "infinite": {"listing": 1, "pieces": 4},
    "load_more": {"listing": 1, "pieces": 3},
}


@pytest.mark.parametrize("family", [*PLAIN, *WITH_BROWSER])
def test_every_family(harvest, catalogue, tmp_path, family):
    """Complete, everything right in every item, nothing asked for that need not be, and nothing written twice."""
    site = catalogue(family, 25, per_page=4 if family == "aspnet" else 10)
    feed = tmp_path / "datasets.jsonl"
    crawl = harvest(site, more=("-O", str(feed)))
    assert (crawl.code, crawl.errors, judged(crawl)) == (0, [], ("complete", 25, 25))
    wanted = site.ids() if family != "sitemap" else sorted(site.url + site.href(one) for one in site.listed())
    assert ids(crawl) == wanted
    assert (statuses(crawl), len(crawl.documents())) == ({"new": 25}, 25)
    assert items(feed, site) == truths(site)
    assert site.requests() == {"robots": 1, "datasets": 25, **ASKED.get(family, {"listing": 3})}
    assert site.hosts() == {f"127.0.0.1:{site.port}"}
    site.change(site.key(site.listed()[7]))
    again = harvest(site)
    assert (again.code, again.errors, counts(again)) == (0, [], {"unchanged": 24, "updated": 1})
    assert statuses(again) == {"new": 25, "updated": 1}


def test_many_pages_of_postbacks(walked, catalogue):
    """Their numbers are shown ten by ten, with dots before and after."""
    site = catalogue("aspnet", 93, per_page=4)
    assert walked(site).judged == ("complete", 93, 93)
    assert (site.requests(), site.answered) == ({"listing": 24, "datasets": 93}, {200: 117})


@pytest.mark.browser
@pytest.mark.parametrize("family", ["js_buttons", "js_pager"])
def test_many_pages_of_buttons(harvest, catalogue, family):
    site = catalogue(family, 36, per_page=3)
    crawl = harvest(site)
    assert (crawl.code, judged(crawl)) == (0, ("complete", 36, 36))
    assert site.requests() == {"robots": 1, "listing": 1, "pieces": 12, "datasets": 36}


@pytest.mark.parametrize(
    ("family", "wanted"),
    [
        ("drupal", {"html": 6}),
        ("schema_org", {"schema_org": 3, "schema_org+html": 3}),
        ("rdf_link", {"rdf": 6}),
    ],
)
def test_where_it_is_from_and_that_it_is_exported(harvest, catalogue, output, family, wanted):
    """Each document is read again, whatever its record was made of."""
    site = catalogue(family, 6)
    crawl = harvest(site)
    assert sources(crawl) == wanted
    assert all(line["metadata_url"].startswith("http://127.0.0.1:") for line in crawl.manifest)
    exported = command("export", "--format", "csv", "-s", f"OUTPUT_DIR={output}")
    assert (exported.returncode, exported.stderr) == (0, "")
    assert sorted(row["title"] for row in csv.DictReader(exported.stdout.splitlines())) == sorted(truths(site))


def test_structured_data_need_not_be_used(walked, catalogue):
    rules = (("[fields]", '[fields]\ntitle = "h1"'), ("[links]", "structured = false\n[links]"))
    done = walked(catalogue("schema_org", 6), *rules)
    assert ([item.metadata_source for item in done.items], done.errors) == (["html"] * 6, [])


def test_rdf_by_an_alternate_link(harvest, catalogue, tmp_path):
    site = catalogue("rdf_link", 6, per_page=3, by="alternate")
    feed = tmp_path / "datasets.jsonl"
    crawl = harvest(site, ('rdf = { css = "a.rdf", attr = "href" }', ""), more=("-O", str(feed)))
    assert (crawl.code, set(sources(crawl)) <= {"rdf", "rdf+html"}) == (0, True)
    assert items(feed, site) == truths(site)
    assert site.requests() == {"robots": 1, "listing": 2, "datasets": 6, "other": 6}


def test_the_rdf_of_the_whole_catalogue_is_no_dataset_s(harvest, catalogue):
    """Every page links to it: none is taken for all of them, and it is not read for each."""
    site = catalogue("rdf_link", 6, per_page=3, by="whole")
    crawl = harvest(site, ('rdf = { css = "a.rdf", attr = "href" }', ""))
    assert (crawl.code, len(ids(crawl))) == (0, 6)
    assert sorted(document_title(one) for one in crawl.documents().values()) == sorted(truths(site))
    assert site.requests()["other"] == 1


def document_title(document) -> str:
    return document["fields"]["title"]["value"]


def test_a_document_says_what_was_found_how_and_how_sure(walked, catalogue):
    site = catalogue("table_de", 3)
    document = walked(site).items[0].document
    entry = next(entry for entry in site.listed() if entry.title == document_title(document))
    licence, title = document["fields"]["license"], document["fields"]["title"]
    assert (licence["value"], licence["label"].rstrip(":")) == (entry.licence.name, "Lizenz")
    assert (licence["by"], title["by"]) == ("label Lizenz", "css h2.titel")
    assert 0.8 <= licence["confidence"] <= 1
    assert document["url"] == f"{site.url}/datensatz.php?id={site.key(entry)}&tab=info"
    assert len(document["resources"]) == len(entry.files)


# Limits


@pytest.mark.parametrize(
    ("family", "asked"),
    [("table_es", {"listing": 2}), pytest.param("js_pager", {"listing": 1, "pieces": 2}, marks=pytest.mark.browser)],
)
def test_max_datasets(harvest, catalogue, family, asked):
    site = catalogue(family, 25)
    crawl = harvest(site, max_datasets="12")
    assert (crawl.code, crawl.report["verdict"], len(ids(crawl))) == (0, "partial", 12)
    assert site.requests() == {"robots": 1, "datasets": 12, **asked}


# Where it ends

BY_QUERY = (
    ("total = { css = \".view-header\", regex = '(\\d+)' }", ""),
    ("[fields]", '[paging]\nquery = "page"\nfirst = 0\n\n[fields]'),
)
NO_TOTAL = BY_QUERY[:1]


@pytest.mark.parametrize(
    ("faults", "pages"),
    [({"repeat_last": ""}, 4), ({"no_such_page": ""}, 6), ({}, 5)],
    ids=["the last page comes again", "404, which is asked for again, and so is the one behind it", "empty pages come"],
)
def test_pages_that_nothing_counts(walked, catalogue, faults, pages):
    site = catalogue("drupal", 25, faults=faults)
    done = walked(site, *BY_QUERY)
    assert (done.judged, done.ids()) == (("complete", 25, 25), site.ids())
    assert site.requests()["listing"] == pages


def test_pages_that_come_again_and_again(walked, catalogue):
    site = catalogue("table_es", 25, faults={"endless": "same"})
    done = walked(site)
    assert (done.judged, len(done.items)) == (("complete", 25, 25), 25)
    assert site.requests()["listing"] <= 5


def test_a_calendar(walked, catalogue):
    site = catalogue("drupal", 25, faults={"calendar": ""})
    done = walked(site, *NO_TOTAL)
    assert (done.judged, len(done.items)) == (("complete", 25, 25), 25)
    assert site.requests()["listing"] <= 5


def test_a_trap(harvest, catalogue):
    """What came until then is kept, and nothing is taken for gone."""
    site = catalogue("table_es", 25)
    harvest(site)
    site.faults |= {"gone": "ds-0000", "endless": "new"}
    crawl = harvest(site, ('"Siguiente" }', '"Siguiente", max_pages = 5 }'), settings=PATIENT)
    assert (crawl.code, crawl.report["verdict"], crawl.kinds()) == (3, "incomplete", [("list", "trap")])
    assert "max_pages" in crawl.errors[0]["error"]
    assert site.requests()["listing"] == 3 + 5
    assert "withdrawn" not in statuses(crawl)


def test_categories_below_categories(walked, catalogue):
    site = catalogue("categories", 12, faults={"endless": ""})
    done = walked(site, ('follow = "ul.themen a"', 'follow = "ul.themen a"\ndepth = 2'))
    assert (done.judged[0], len(done.items)) == ("incomplete", 12)
    assert set(done.kinds()) == {"trap", "unproven"}, "its categories are one page each"
    assert "links.depth" in done.errors[0].error
    assert site.requests()["listing"] == 1 + 3 + 3


def test_a_listing_without_datasets(walked, catalogue):
    done = walked(catalogue("drupal", 3), *NO_TOTAL, (".views-row h2 a", "h6 a"))
    assert (done.judged[0], done.kinds()) == ("incomplete", {"no_datasets": 1})


# Sessions


@pytest.mark.parametrize(("family", "kind"), [("drupal", "path"), ("table_de", "query"), ("sitemap", "query")])
def test_session_ids_make_no_other_dataset(harvest, catalogue, family, kind):
    site = catalogue(family, 25, faults={"session": kind})
    first = ids(harvest(site))
    crawl = harvest(site)
    assert (crawl.code, len(first), ids(crawl)) == (0, 25, first)
    assert counts(crawl) == {"unchanged": 25}
    assert "withdrawn" not in statuses(crawl)


# Elsewhere


def test_links_to_other_hosts_are_told(walked, catalogue):
    done = walked(catalogue("drupal", 12, faults={"foreign": ""}))
    assert (done.kinds(), len(done.items)) == ({"offsite": 1}, 12)
    assert "https://other.example.org/dataset/ds-9999" in done.errors[0].error


def test_a_redirect_to_another_host(harvest, catalogue):
    site = catalogue("drupal", 12, faults={"redirect": "ds-0003"})
    crawl = harvest(site)
    assert (crawl.code, len(ids(crawl))) == (3, 11)
    assert [(error["kind"], error["dataset_id"]) for error in crawl.errors] == [("offsite", "ds-0003")]
    assert site.hosts() == {f"127.0.0.1:{site.port}"}


def test_robots_txt(harvest, catalogue):
    site = catalogue("drupal", 12, faults={"robots": "/dataset/ds-0003"})
    crawl = harvest(site)
    assert (crawl.code, len(ids(crawl)), {error["kind"] for error in crawl.errors}) == (3, 11, {"robots"})
    assert site.requests()["datasets"] == 11
    site.faults["robots"] = "/datasets"
    crawl = harvest(site)
    assert (crawl.code, site.requests()["listing"]) == (4, 2)
    assert "withdrawn" not in statuses(crawl)


@pytest.mark.browser
def test_robots_txt_in_a_browser(harvest, catalogue):
    site = catalogue("js_pager", 5, faults={"robots": "/explorador"})
    crawl = harvest(site)
    assert (crawl.code, site.requests()) == (4, {"robots": 1})


@pytest.mark.browser
@pytest.mark.parametrize("fault", ["private", "off_host"])
def test_a_browser_stays_where_it_is(harvest, catalogue, fault):
    site = catalogue("js_pager", 5, per_page=3, faults={fault: ""})
    crawl = harvest(site)
    assert (crawl.code, judged(crawl)) == (0, ("complete", 5, 5))
    assert site.hosts() == {f"127.0.0.1:{site.port}"}


# Failures


@pytest.mark.parametrize("fault", ["http_500", "cut"])
def test_a_page_that_fails_for_a_while(harvest, catalogue, fault):
    site = catalogue("table_es", 25, faults={fault: "2:2"})
    assert judged(harvest(site)) == ("complete", 25, 25)
    assert site.requests()["listing"] == 5


@pytest.mark.parametrize(
    ("family", "fault", "kind"),
    [
        ("drupal", {"http_500": "2:99"}, "http"),
        ("aspnet", {"http_500": "2:99"}, "http"),
        ("sitemap", {"http_500": "2:99"}, "http"),
        ("categories", {"http_500": "2001:99"}, "http"),
        ("drupal", {"empty_middle": "2"}, "count_mismatch"),
        ("table_es", {"empty_middle": "2"}, "paging"),
    ],
)
def test_an_error_in_the_middle_of_the_listing(walked, catalogue, family, fault, kind):
    done = walked(catalogue(family, 25, faults=fault))
    assert (done.judged[0], kind in done.kinds()) == ("incomplete", True)


@pytest.mark.parametrize(
    ("family", "fault", "kind"),
    [("table_de", {"cut": "2:99"}, "truncated"), ("table_es", {"empty_middle": "2"}, "paging")],
)
def test_an_error_in_the_middle_takes_nothing_for_gone(harvest, catalogue, family, fault, kind):
    site = catalogue(family, 25)
    harvest(site)
    del site.entries[site.key(site.listed()[24])]
    site.faults |= fault
    crawl = harvest(site, settings=PATIENT)
    assert (crawl.code, crawl.report["verdict"]) == (3, "incomplete")
    assert ("list", kind) in crawl.kinds()
    assert "withdrawn" not in statuses(crawl)


def test_no_answer_in_time(harvest, catalogue):
    site = catalogue("drupal", 3, faults={"slow": "3"})
    crawl = harvest(site, settings={"DOWNLOAD_TIMEOUT": "1", "RETRY_TIMES": "0"})
    assert (crawl.code, crawl.kinds()) == (4, [("list", "timeout")])


@pytest.mark.browser
@pytest.mark.parametrize("family", ["js_pager", "js_buttons", "js_script", "infinite", "load_more"])
def test_an_error_in_the_middle_of_javascript(harvest, catalogue, family):
    """Status 500 for a piece: the list stays empty or as it was, and that is no last page."""
    site = catalogue(family, 25, faults={"http_500": "2:99"})
    crawl = harvest(site, (" }\n\n[fields]", ", wait = 2 }\n\n[fields]"))
    assert (crawl.code, crawl.report["verdict"], len(ids(crawl))) == (3, "incomplete", 10)
    assert {error["stage"] for error in crawl.errors} == {"list"}


@pytest.mark.browser
def test_a_piece_that_fails_for_a_while(harvest, catalogue):
    site = catalogue("js_pager", 25, faults={"http_500": "2:1"})
    assert judged(harvest(site)) == ("complete", 25, 25)


def test_a_page_without_a_title_is_no_dataset(harvest, catalogue):
    site = catalogue("drupal", 12, faults={"missing_title": "ds-0003"})
    crawl = harvest(site)
    assert (crawl.code, crawl.report["verdict"], len(ids(crawl))) == (3, "incomplete", 11)
    (error,) = crawl.errors
    assert (error["stage"], error["kind"], error["dataset_id"]) == ("parse", "missing_field", "ds-0003")
    assert error["url"] == f"{site.url}/dataset/ds-0003"
    assert "title" in error["error"]


@pytest.mark.parametrize("family", ["schema_org", "table_es", "sitemap"])
def test_nor_is_it_in_other_families(walked, catalogue, family):
    done = walked(catalogue(family, 6, per_page=3, faults={"missing_title": "ds-0002"}))
    assert (done.kinds(), len(done.items)) == ({"missing_field": 1}, 5)


def test_a_dataset_that_fails_stays(harvest, catalogue):
    site = catalogue("drupal", 12)
    harvest(site)
    site.faults["missing_title"] = "ds-0003"
    crawl = harvest(site)
    assert (crawl.code, len(ids(crawl)), statuses(crawl)) == (3, 12, {"new": 12})


# What has changed


@pytest.mark.parametrize("fault", ["etag", "last_modified"])
@pytest.mark.parametrize("family", ["drupal", "aspnet"])
def test_since_last(harvest, catalogue, family, fault):
    site = catalogue(family, 25, faults={fault: ""})
    before = harvest(site).report["bytes"]
    site.change(site.key(site.listed()[7]))
    site.answered.clear()
    crawl = harvest(site, since="last")
    assert (crawl.code, judged(crawl)) == (0, ("complete", 25, 25))
    assert counts(crawl) == {"unchanged": 24, "updated": 1}
    assert site.answered == {200: 3 + 1, 304: 24, 404: 1}
    assert crawl.report["bytes"] < before * 0.4
    site.answered.clear()
    assert counts(harvest(site, since="last")) == {"unchanged": 25}
    assert site.answered == {200: 3, 304: 25, 404: 1}


@pytest.mark.browser
def test_since_last_in_a_browser(harvest, catalogue):
    """The page that is asked for is a shell, whose ETag does not change when the dataset does."""
    site = catalogue("js_datasets", 6, per_page=4, faults={"etag": ""})
    harvest(site)
    site.change("ds-0003")
    assert counts(harvest(site, since="last")) == {"unchanged": 5, "updated": 1}


def test_since_last_by_the_sitemap(harvest, catalogue):
    """What it says is older is not asked for at all."""
    site = catalogue("sitemap", 25)
    harvest(site)
    site.change("ds-0007")
    site.asked.clear()
    crawl = harvest(site, since="last")
    assert counts(crawl) == {"unchanged": 24, "updated": 1}
    assert site.requests() == {"robots": 1, "sitemaps": 3, "datasets": 1}


def test_other_rules_read_everything_anew(harvest, catalogue):
    site = catalogue("drupal", 12, faults={"etag": ""})
    harvest(site)
    site.answered.clear()
    crawl = harvest(site, ("description =", "provenance ="), since="last")
    assert (counts(crawl), site.answered[304]) == ({"updated": 12}, 0)


def test_a_lost_document_is_read_again(harvest, catalogue):
    site = catalogue("drupal", 6, faults={"etag": ""})
    crawl = harvest(site)
    min((crawl.folder / "datasets").iterdir()).unlink()
    crawl = harvest(site, since="last")
    assert (counts(crawl), len(crawl.documents())) == ({"unchanged": 5, "updated": 1}, 6)


def test_a_cache(harvest, catalogue, tmp_path):
    site = catalogue("aspnet", 12, per_page=4)
    settings = {"HTTPCACHE_ENABLED": "1", "HTTPCACHE_DIR": str(tmp_path / "cache"), "HTTPCACHE_ALWAYS_STORE": "1"}
    whole = harvest(site, settings=settings)
    asked = site.requests()
    again = harvest(site, settings=settings, source="again")
    assert (again.code, judged(again), ids(again)) == (0, ("complete", 12, 12), ids(whole))
    assert site.requests()["datasets"] == asked["datasets"] == 12


@pytest.mark.browser
def test_page_turns_are_told_apart_by_a_cache(harvest, catalogue, tmp_path):
    site = catalogue("js_pager", 25)
    settings = {"HTTPCACHE_ENABLED": "1", "HTTPCACHE_DIR": str(tmp_path / "cache"), "HTTPCACHE_ALWAYS_STORE": "1"}
    whole = harvest(site, settings=settings)
    again = harvest(site, settings=settings, source="again")
    assert (judged(again), ids(again)) == (("complete", 25, 25), ids(whole))


# What is gone


@pytest.mark.parametrize(
    ("family", "fault"), [("drupal", "gone"), ("table_es", "gone"), ("drupal", "soft_404"), ("table_es", "leads_back")]
)
def test_withdrawn_and_restored(harvest, catalogue, family, fault):
    site = catalogue(family, 25)
    harvest(site)
    site.faults[fault] = "ds-0007"
    crawl = harvest(site, settings=PATIENT)
    if fault != "gone":  # something answers: a second whole listing must lack it, too
        assert (crawl.code, statuses(crawl)) == (0, {"new": 25})
        crawl = harvest(site, settings=PATIENT)
    assert (crawl.code, statuses(crawl)) == (0, {"new": 25, "withdrawn": 1})
    assert crawl.manifest[-1]["dataset_id"] == "ds-0007"
    assert len(crawl.documents()) == 25, "the document is kept"
    assert harvest(site, settings=PATIENT).report["counts"]["withdrawn"] == 0
    del site.faults[fault]
    assert statuses(harvest(site)) == {"new": 25, "withdrawn": 1, "restored": 1}


def test_what_is_not_listed_and_still_there_stays(harvest, catalogue):
    site = catalogue("drupal", 25)
    harvest(site)
    site.faults["unlisted"] = "ds-0007"
    crawl = harvest(site, settings=PATIENT)
    assert (crawl.code, statuses(crawl), len(ids(crawl))) == (0, {"new": 25}, 25)


def test_a_catalogue_that_shrinks(harvest, catalogue):
    site = catalogue("drupal", 50, per_page=25)
    harvest(site)
    for number in range(4):
        del site.entries[f"ds-{number:04}"]
    crawl = harvest(site, settings={"CONFIRM_MAX": "3"})
    assert (crawl.code, crawl.report["errors"]) == (3, {"shrink": 1})
    assert "4 of 50 datasets are no longer listed (8.0%)" in crawl.errors[0]["error"]
    crawl = harvest(site)
    assert (crawl.code, crawl.errors[1:], crawl.report["counts"]["withdrawn"]) == (0, [], 4), "each page is gone"


def test_an_empty_listing_takes_nothing_away(harvest, catalogue):
    site = catalogue("table_es", 12)
    harvest(site)
    site.entries.clear()
    crawl = harvest(site)
    assert (crawl.code in (3, 4), statuses(crawl)) == (True, {"new": 12})


# Killed


def begun(output, jobdir, site, path, enough):
    """A crawl that has asked for that many pages of the listing since it was started."""
    words = options(output, {"JOBDIR": str(jobdir), "REQUESTS_PER_SECOND": "20"}, rules=str(path))
    before = turns(site)
    crawl = forked.Popen([sys.executable, "-m", "scrapy", "crawl", "html", *words], cwd=ROOT, stderr=subprocess.PIPE)
    until(lambda: turns(site) >= before + enough, unless=lambda: crawl.poll() is not None)
    return crawl


def turns(site: HTMLCatalogue) -> int:
    asked = site.requests()
    return asked["listing"] + asked["pieces"]


def killed_and_resumed(harvest, site, path, enough) -> Crawl:
    output, jobdir = path.parent / "output", path.parent / "job"
    for number in enough:
        killed = begun(output, jobdir, site, path, number)
        time.sleep(random.uniform(0, 0.1))
        killed.send_signal(signal.SIGKILL)
        killed.communicate()
    return harvest(site, settings={"JOBDIR": str(jobdir)})


@pytest.mark.parametrize(
    ("family", "pages"),
    [
        ("aspnet", (4,)),
        *(pytest.param(one, (4, 5, 3, 5), marks=pytest.mark.slow) for one in ("aspnet", "table_es", "categories")),
    ],
)
def test_killed_and_resumed(harvest, catalogue, rules, family, pages):
    """After so many pages each time."""
    random.seed(5)
    site = catalogue(family, 12 + 12 * len(pages), per_page=3, faults={"missing_title": "ds-0003"})
    whole = harvest(site, source="whole")
    done = killed_and_resumed(harvest, site, rules(site), pages)
    assert (done.code, done.report["resumed"]) == (whole.code, True)
    assert left(done) == left(whole)


@pytest.mark.browser
@pytest.mark.parametrize("family", ["js_pager", "js_buttons", "infinite"])
def test_killed_in_the_middle_of_javascript(harvest, catalogue, rules, family):
    random.seed(6)
    site = catalogue(family, 40, per_page=4)
    whole = harvest(site, source="whole")
    done = killed_and_resumed(harvest, site, rules(site), (4, 7))
    assert (done.code, done.report["resumed"], judged(done)) == (0, True, ("complete", 40, 40))
    assert left(done) == left(whole)


def test_other_rules_are_another_job(harvest, catalogue, tmp_path):
    site = catalogue("drupal", 3)
    settings = {"JOBDIR": str(tmp_path / "job")}
    harvest(site, settings=settings)
    other = harvest(site, ("description =", "provenance ="), settings=settings)
    assert (other.code, "choose another JOBDIR" in other.lines[-1]) == (1, True)


# Before any request


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ({}, "needs to know the catalogue"),
        ({"rules": "no/such.toml"}, "can't be read"),
        ({"rules": "README.md"}, "this is not TOML"),
        ({"rules": "x" * 300}, "can't be read: File name too long."),
    ],
)
def test_without_rules(output, arguments, told):
    ran = scrapy("crawl", "html", *options(output, {}, **arguments))
    assert (ran.returncode, "Traceback" in ran.stderr) == (1, False)
    assert told in ran.stderr.splitlines()[-1]


def test_wrong_rules(harvest, catalogue):
    site = catalogue("drupal", 3)
    crawl = harvest(site, ("title =", "titel ="))
    assert (crawl.code, site.asked) == (1, [])
    assert "fields.titel is unknown. Did you mean title?" in crawl.lines[-1]


# The catalogues themselves


def test_the_rules_files_load():
    for path in RULES.glob("*.toml"):
        loads(path.read_text(encoding="utf-8").replace("{url}", "http://127.0.0.1"))


def test_a_postback_must_be_of_the_page(catalogue):
    site = catalogue("aspnet", 12, per_page=4)
    assert site.turned({}) == 0
    assert site.turned({"__VIEWSTATE": "AAAA", "__EVENTARGUMENT": "Page$2"}) == 0
