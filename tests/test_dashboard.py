"""The dashboard: what each page shows, what it never does, and how it looks in a real browser."""

from __future__ import annotations

import gc
import json
import os
import re
import shutil
import signal
import socket
import sqlite3
import threading
import time
import tracemalloc
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import unquote, urlsplit

import pytest
from flask import Flask
from scrapy.settings import Settings
from waitress import wasyncore

from crawlers.components.browser import executables
from crawlers.operate.dashboard import addresses, app
from crawlers.operate.dashboard.schema import cursor
from crawlers.operate.dashboard.server import Server
from crawlers.operate.dashboard.site import Remembered
from crawlers.operate.dashboard.tail import MOST
from crawlers.safety.locks import LOCK, take
from crawlers.store.index import catch_up
from crawlers.store.lines import BLOCK, SHOWN, Budget, backwards
from tests.conftest import command, options, scrapy
from tests.dashboards import HERE, ask, dashboard, get, page, text
from tests.finished import IDS, SOURCES, Finished
from tests.indexed import indexed
from tests.portal.portal import Portal
from tests.test_export import put_ckan, record
from tests.waiting import HANG

if TYPE_CHECKING:
    from collections.abc import Iterator

    from flask.testing import FlaskClient

LARGE = 20_000


@pytest.fixture(scope="module")
def made(finished) -> Finished:
    return finished


@pytest.fixture(scope="module")
def large(tmp_path_factory) -> Path:
    output = tmp_path_factory.mktemp("large") / "output"
    indexed(output, datasets=LARGE)
    return output


@pytest.fixture
def copy(made, tmp_path) -> Finished:
    """The same, for tests that change it."""
    return made.copy(tmp_path)


@pytest.fixture(scope="module")
def browser(made) -> FlaskClient:
    """Looks at it, for tests that only look: an application compiles its pages once."""
    return client(made)


def client(where: Finished | Path) -> FlaskClient:
    if isinstance(where, Path):
        return app(where).test_client()
    return app(where.output, jobs=where.jobs, logs=where.logs).test_client()


def rows(output: Path, query: str, *values: object) -> list[tuple]:
    db = sqlite3.connect(f"file:{output / 'index.sqlite'}?mode=ro", uri=True)
    try:
        return db.execute(query, values).fetchall()
    finally:
        db.close()


def change(output: Path, query: str, *values: object) -> None:
    with sqlite3.connect(output / "index.sqlite") as db:
        db.execute(query, values)
    db.close()


def known(output: Path, source: str) -> str:
    """The id of a dataset."""
    return str(rows(output, "SELECT dataset_id FROM datasets WHERE source = ? LIMIT 1", source)[0][0])


def last_run(output: Path, source: str) -> str:
    return max(path.stem for path in (output / source / "runs").glob("*.json"))


# What the pages show


def test_every_link_leads_to_a_page(browser, made):
    """All that can be reached by links alone, hostile ids among it."""
    seen, waiting = set(), ["/"]
    files = {".csv": "text/csv", ".atom": "application/atom+xml", "/api/versions/": "application/json"}
    while waiting and len(seen) < 4000:
        path = waiting.pop()
        seen.add(path)
        if kind := next((kind for word, kind in files.items() if word in path.partition("?")[0]), None):
            with get(browser, path) as answer:
                assert answer.mimetype == kind
            continue
        found = page(browser, path)
        assert not found.xpath(
            "//script[not(@src='/tables.js')] | //iframe | //object | //link[@rel='stylesheet'] | //base"
        ), path
        assert not found.xpath("//img | //@onerror | //@onload | //@onclick"), path
        assert not [one for one in found.xpath("//@href") if one.lower().startswith(("javascript:", "data:text"))], path
        for link in found.xpath("//a[starts-with(@href, '/')][not(@rel='nofollow')]"):  # searches have no end
            if link.get("href") not in seen and link.get("href") not in waiting:
                waiting.append(link.get("href"))
    assert not waiting, len(waiting)
    ids = {
        dataset_id for (dataset_id,) in rows(made.output, "SELECT dataset_id FROM datasets WHERE source = 'hostile'")
    }
    assert ids == set(IDS)
    assert {addresses.dataset("hostile", one) for one in ids} <= seen


def test_the_overview_has_the_sources_and_their_verdicts(browser, made):
    shown = text(page(browser, "/"))
    for source, verdict in rows(made.output, "SELECT source, verdict FROM runs"):
        assert re.search(rf"\b{source}\b.{{0,40}}{verdict}", shown), source
    (count,) = rows(made.output, "SELECT count(*) FROM datasets WHERE NOT withdrawn")[0]
    assert f"Datasets {count:,}" in shown


@pytest.mark.parametrize("dataset_id", IDS)
def test_whatever_its_id_a_dataset_has_a_page(browser, dataset_id):
    path = addresses.dataset("hostile", dataset_id)
    normal = urlsplit(path).path.split("/")
    assert "." not in normal, "a browser would make another path of it"
    assert ".." not in normal, "a browser would make another path of it"
    found = page(browser, path)
    assert found.findtext(".//title").startswith("<script>")
    shown = text(found)
    assert "49" not in re.findall(r"flood (\S+)", shown), "a template was run"
    if dataset_id.isprintable():
        assert " ".join(dataset_id.split()) in shown


def test_a_dataset_page_says_all_that_is_known(browser, made):
    query = "SELECT * FROM datasets WHERE source = 'rivers' ORDER BY dataset_id LIMIT 1"
    db = sqlite3.connect(made.output / "index.sqlite")
    db.row_factory = sqlite3.Row
    row = db.execute(query).fetchone()
    resources = db.execute("SELECT * FROM resources WHERE source = 'rivers' AND dataset_id = ?", (row["dataset_id"],))
    urls = {one["url"] for one in resources}
    db.close()
    found = page(browser, addresses.dataset("rivers", row["dataset_id"]))
    shown = text(found)
    for name in ("title", "publisher", "license", "dataset_id", "name", "file"):
        assert " ".join((row[name] or "").split()) in shown, name
    outside = found.xpath("//a[starts-with(@href, 'http')]")
    assert urls <= {one.get("href") for one in outside}
    assert all(one.get("rel") == "noopener noreferrer nofollow" for one in outside)
    assert found.xpath("string(//pre)") == (made.output / "rivers" / row["file"]).read_text(encoding="utf-8")
    assert f"/runs/rivers/{last_run(made.output, 'rivers')}" in found.xpath("//@href")


def test_what_a_dataset_has_leads_to_those_that_are_alike(browser, made):
    ask = "SELECT dataset_id FROM datasets WHERE source = 'rivers' AND keywords IS NOT NULL AND license IS NOT NULL"
    dataset_id = rows(made.output, f"{ask} AND publisher IS NOT NULL AND formats <> '[]' LIMIT 1")[0][0]
    found = page(browser, addresses.dataset("rivers", dataset_id))
    links = [link for link in found.xpath("//main//@href") if link.startswith("/search?q=")]
    named = {unquote(link).partition("?q=")[2].partition(":")[0] for link in links}
    assert named >= {"publisher", "license", "format", "keyword"}
    for link in {unquote(link).partition(":")[0]: link for link in links}.values():
        assert addresses.dataset("rivers", dataset_id) in page(browser, f"{link}&source=rivers").xpath("//main//@href")


def test_where_a_dataset_is_is_drawn(tmp_path):
    shape = {"type": "Polygon", "coordinates": [[[15.2, 46.9], [15.6, 46.9], [15.6, 47.2], [15.2, 46.9]]]}
    put_ckan(tmp_path, "town", record(1, extras=[{"key": "spatial", "value": json.dumps(shape)}]))
    put_ckan(tmp_path, "town", record(2))
    catch_up(tmp_path)
    browser = client(tmp_path)
    (drawing,) = page(browser, addresses.dataset("town", "id-00001")).xpath("//figure[@class='map']")
    assert drawing.xpath("string(figcaption)") == "46.9° N to 47.2° N, 15.2° E to 15.6° E"
    assert drawing.xpath("string(.//path[@class='area']/@d)").startswith("M15.2,-46.9 15.6,-46.9")
    assert drawing.xpath(".//path[@class='countries']/@d")
    assert not page(browser, addresses.dataset("town", "id-00002")).xpath("//figure")


def test_only_harmless_addresses_are_links(browser):
    found = page(browser, addresses.dataset("hostile", "a/b"))
    outside = {one for one in found.xpath("//a/@href") if not one.startswith(("/", "#"))}
    assert "https://files.example.org/a%20b.csv?x=%22" in outside
    assert all(one.startswith(("http://127.0.0.1:", "https://files.example.org/")) for one in outside)
    assert not [one for one in outside if "hidden" in one]


NAMELESS = "9f86d081884c7d659a2feaa0c55ad015"


def test_a_description_is_shown_as_it_is_meant_and_a_resource_by_its_file(copy):
    (dataset, resource) = rows(copy.output, "SELECT dataset_id, resource_id FROM resources WHERE source = 'rivers'")[0]
    about = (
        "# Floods\n\n**One** of [many](https://example.org/m)\n\n|a|b|\n|-|-|\n|1|2|\n\n![m](https://example.org/m.png)"
    )
    change(copy.output, "UPDATE datasets SET description = ? WHERE dataset_id = ?", about, dataset)
    named = "UPDATE resources SET title = NULL, url = ?, format = 'XLSX', resource_id = ? WHERE resource_id = ?"
    change(copy.output, named, "https://example.org/files/levels?x=1", NAMELESS, resource)
    browser = client(copy)
    shown = page(browser, addresses.dataset("rivers", dataset))
    (theirs,) = shown.find_class("text-of-theirs")
    assert [one.tag for one in theirs.iterdescendants()][:5] == ["p", "strong", "p", "strong", "a"]
    assert (len(theirs.xpath(".//td")), theirs.xpath(".//img")) == (2, [])
    assert theirs.xpath("string(p[2])") == "One of many"
    assert "levels (XLSX)" in shown.xpath("string(//section[@aria-labelledby='resources'])")
    assert NAMELESS not in shown.xpath("string(//section[@aria-labelledby='resources'])")


def test_the_same_dataset_in_another_catalogue_is_named(browser, made):
    (title,) = rows(made.output, "SELECT title FROM datasets WHERE source = 'broken' LIMIT 1")[0]
    (dataset_id,) = rows(made.output, "SELECT dataset_id FROM datasets WHERE source='rivers' AND title = ?", title)[0]
    found = page(browser, addresses.dataset("rivers", dataset_id))
    section = found.xpath("//section[@aria-labelledby='others']")[0]
    assert [one for one in section.xpath(".//@href") if one.startswith("/sources/broken/datasets/")]


def test_a_document_is_read_below_its_folder_only(copy, tmp_path):
    secret = tmp_path / "secret.json"
    secret.write_text('{"password": "hunter2"}')
    (copy.output / "secret.json").write_text('{"password": "hunter2"}')
    (copy.output / "rivers" / "datasets" / "link.json").symlink_to(secret)
    os.mkfifo(copy.output / "rivers" / "datasets" / "pipe.json")
    browser = client(copy)
    dataset_id = known(copy.output, "rivers")
    names = ("../secret.json", str(secret), "datasets/link.json", "datasets/pipe.json", "datasets", "no.json", "a\0b")
    for name in names:
        change(copy.output, "UPDATE datasets SET file = ? WHERE dataset_id = ?", name, dataset_id)
        found = get(browser, addresses.dataset("rivers", dataset_id)).text
        assert "hunter2" not in found
        assert "does not exist or is not readable" in found


def test_a_long_document_is_cut(browser):
    found = page(browser, addresses.dataset("hostile", IDS[0]))
    assert 190_000 < len(found.xpath("string(//pre)").encode()) <= 200_000
    assert "This is the beginning; the file has" in text(found)


def test_a_source_has_its_runs_changes_errors_and_what_is_gone(copy):
    change(copy.output, "UPDATE datasets SET withdrawn = 1 WHERE source = 'broken' AND id % 4 < 3")
    gone = rows(copy.output, "SELECT count(*) FROM datasets WHERE source = 'broken' AND withdrawn")[0][0]
    assert gone > 25
    browser = client(copy)
    first, second = page(browser, "/sources/broken"), page(browser, "/sources/broken?page=2")
    listed = [one.xpath("count(//section[@aria-labelledby='gone']//tbody/tr)") for one in (first, second)]
    assert listed == [25, gone - 25]
    assert f"Withdrawn {gone}" in text(first)
    (count,) = rows(copy.output, "SELECT sum(count) FROM run_errors WHERE source = 'broken'")[0]
    assert f"http {count}" in text(first)
    assert f"/runs/broken/{last_run(copy.output, 'broken')}" in first.xpath("//@href")


def test_a_run_is_told_in_words(browser, made):
    name = last_run(made.output, "broken")
    report = json.loads((made.output / "broken" / "runs" / f"{name}.json").read_bytes())
    found = page(browser, f"/runs/broken/{name}")
    shown = text(found)
    assert f"incomplete. {report['listed']} of {report['expected']} datasets listed" in shown
    assert f"New {report['counts']['new']}" in shown
    assert f"http {report['errors']['http']} The portal answered with an HTTP error" in shown
    assert "500 Internal Server Error" in shown
    assert found.xpath("count(//section[@aria-labelledby='written']//tbody/tr)") == min(report["counts"]["new"], 50)


def test_the_log_is_shown_from_below_logs_dir_only(copy):
    name = last_run(copy.output, "rivers")
    report = copy.output / "rivers" / "runs" / f"{name}.json"
    content = json.loads(report.read_bytes())
    inside, outside = copy.logs / "rivers" / "x.log", copy.folder / "elsewhere.log"
    inside.parent.mkdir()
    lines = "first\n" + "x" * 100_000 + "\n\x1b[31mred <b> https://me:hunter2@example.org/?token=hunter2\nlast\n"
    for path in (inside, outside):
        path.write_text(lines)
    browser = client(copy)
    report.write_text(json.dumps(content | {"log": str(inside)}))
    log = page(browser, f"/runs/rivers/{name}").xpath("string(//pre)")
    assert log.splitlines() == ["\\x1b[31mred <b> https://***@example.org/?token=***", "last"]
    for path in (outside, copy.logs / "rivers" / ".." / ".." / "elsewhere.log", copy.logs, "a\0b", None):
        report.write_text(json.dumps(content | {"log": path and str(path)}))
        assert not page(browser, f"/runs/rivers/{name}").xpath("//pre")


def test_the_log_ends_in_the_summary_and_not_in_scrapys_statistics(copy):
    name = last_run(copy.output, "rivers")
    report = copy.output / "rivers" / "runs" / f"{name}.json"
    log = copy.logs / "x.log"
    log.parent.mkdir(exist_ok=True)
    report.write_text(json.dumps(json.loads(report.read_bytes()) | {"log": str(log)}))
    statistics = "".join(f" 'stat/{number}': {number},\n" for number in range(100))
    log.write_text(
        "2026-11-22 05:00:01 [rivers] INFO: page 1\n"
        "2026-11-22 05:00:02 [crawlers.extensions.report] INFO: rivers: complete. 60 of 60 datasets listed\n"
        "    output/rivers has the documents\n"
        f"2026-11-22 05:00:03 [scrapy.statscollectors] INFO: Dumping Scrapy stats:\n{{'a': 1,\n{statistics}}}\n"
        "2026-11-22 05:00:04 [scrapy.core.engine] INFO: Spider closed (finished)\n"
    )
    shown = page(client(copy), f"/runs/rivers/{name}").xpath("string(//pre)").splitlines()
    assert [line[20:] for line in shown] == [
        "[rivers] INFO: page 1",
        "[crawlers.extensions.report] INFO: rivers: complete. 60 of 60 datasets listed",
        "s the documents",
        "[scrapy.core.engine] INFO: Spider closed (finished)",
    ]


def test_pages_reload_while_a_crawl_runs(copy):
    """The script renews the figures, else the browser the page; the reader may stop it, and what is over is still."""
    browser, folder, name = client(copy), copy.output / "rivers", "20261121T030000Z"
    state = {"run": name, "started": "2026-11-21T03:00:00.000Z", "heartbeat": "2030-01-01T00:00:00Z", "listed": 7}
    state |= {"requests_per_second": 1.5, "waits": ["waits 60 s for example.org: HTTP 429"]}
    (folder / "running.json").write_text(json.dumps(state))
    pages = [f"/runs/rivers/{name}", "/runs?source=rivers", "/sources/rivers", "/sources", "/"]
    live, refresh = "string(//body/@data-live)", "string(//noscript/meta[@http-equiv='refresh']/@content)"
    with held(folder):
        for path in pages:
            shown = page(browser, path)
            assert (shown.xpath(live), shown.xpath(refresh)) == ("5", "30")
            assert shown.xpath("//*[@data-renew]/@id"), "what is renewed"
            assert not shown.xpath("//script[not(@src='/tables.js')]")
            (still,) = shown.xpath("//a[text()='Stop this']/@href")
            assert page(browser, still).xpath(live) == page(browser, still).xpath(refresh) == ""
        assert "source=rivers&live=no" in page(browser, "/runs?source=rivers").xpath("//footer//a/@href")[0]
        shown = text(page(browser, f"/runs/rivers/{name}"))
        assert "7 datasets listed so far" in shown
        assert "Pace 1.50 requests per second Now waits 60 s for example.org: HTTP 429" in shown
    for path in pages:
        assert page(browser, path).xpath(live) == page(browser, path).xpath(refresh) == ""


def test_no_page_has_a_secret(copy):
    name = last_run(copy.output, "rivers")
    report = copy.output / "rivers" / "runs" / f"{name}.json"
    address = "https://me:hunter2@example.org/?api_key=hunter2"
    report.write_text(json.dumps(json.loads(report.read_bytes()) | {"arguments": {"portal": address}}))
    line = {"time": "2027-01-01", "run": name, "kind": "http", "url": address, "error": f"not at {address}"}
    with (copy.output / "rivers" / "errors.jsonl").open("a") as file:
        file.write(json.dumps(line) + "\n")
    browser = client(copy)
    for path in (f"/runs/rivers/{name}", "/errors?source=rivers"):
        found = get(browser, path).text
        assert "hunter2" not in found
        assert "https://***@example.org/?api_key=***" in found
    assert "hidden@" not in text(page(browser, addresses.dataset("hostile", "a/b")).xpath("//main/section")[1])


def test_runs_are_chosen_by_source_and_state(browser):
    assert text(page(browser, "/runs")).count("2026") >= 3
    chosen = page(browser, "/runs?source=broken&state=incomplete")
    assert chosen.xpath("//tbody//th//text()[normalize-space()]") == ["broken"]
    assert "There is no such run." in text(page(browser, "/runs?source=broken&state=complete"))


def test_runs_and_errors_are_chosen_since_a_moment(copy):
    """A date is in the source's zone, of all sources in UTC; a run that has not ended is always shown."""
    listed = copy.folder / "sources.toml"
    listed.write_text('[broken]\nspider = "hdx"\ntimezone = "Asia/Tokyo"\n')
    browser = app(copy.output, jobs=copy.jobs, listed=listed).test_client()
    change(copy.output, "UPDATE runs SET finished = '2020-01-01T15:00:00.000Z'")
    shown = [
        len(page(browser, f"/runs?{query}").xpath("//tbody/tr"))
        for query in ("since=2020-01-01", "since=2020-01-02", "since=2020-01-02&source=broken", "since=2020-01-03")
    ]
    ((runs,),) = rows(copy.output, "SELECT count(*) FROM runs")
    assert shown == [runs, 0, 1, 0]
    plus = page(browser, "/runs?since=2020-01-01T16:00+01:00")  # which is a blank in a query
    assert len(plus.xpath("//tbody/tr")) == runs
    mistake = page(browser, "/runs?since=yesterday", 400)
    assert "since: 'yesterday' is neither a date nor a time: write a date such as 2026-11-20" in text(mistake)
    with (copy.output / "rivers" / "errors.jsonl").open("a") as file:
        for hour in (14, 16):
            line = {"time": f"2020-01-01T{hour}:00:00.000Z", "kind": "http", "stage": "list", "error": f"at {hour}"}
            file.write(json.dumps(line) + "\n")
    listed.write_text('[rivers]\nspider = "ckan"\ntimezone = "Asia/Tokyo"\n')
    found = text(page(browser, "/errors?source=rivers&since=2020-01-02"))
    assert "at 16" in found
    assert "at 14" not in found


@pytest.mark.slow
def test_runs_whose_reports_are_gone_are_in_the_index(large):
    browser = client(large)
    (run,) = rows(large, "SELECT run FROM runs WHERE source = 'source-1' AND failed ORDER BY run DESC LIMIT 1")[0]
    assert "The portal answered with an HTTP error" in text(page(browser, f"/runs/source-1/{run}"))
    assert len(page(browser, "/runs").xpath("//tbody/tr")) == 50
    assert len(page(browser, "/runs?page=2").xpath("//tbody/tr")) == 40
    assert "no such run" in text(page(browser, "/runs?page=3"))


# At work


def test_a_run_at_work_is_shown_with_how_far_it_is(copy):
    running = {"run": "20261121T030000Z", "spider": "ckan", "listed": 30, "expected": 120, "counts": {"new": 7}}
    running |= {"heartbeat": "2026-11-21T03:05:00.000Z", "finish_reason": "running"}
    folder = copy.output / "rivers"
    (folder / "running.json").write_text(json.dumps(running | {"started": "2026-11-21T03:00:00.000Z"}))
    browser = client(copy)
    assert "interrupted 30 of 120 datasets" in text(page(browser, "/")), "it is locked by nobody"
    assert "03:05 (died)" in text(page(browser, "/runs/rivers/20261121T030000Z"))
    copy.jobs.mkdir()
    for source in ("broken", "rivers"):  # a harvest holds its claim while the crawl runs
        (copy.jobs / f"{source}.lock").write_text("{}")
    with held(copy.jobs / "broken.lock"), held(copy.jobs / "rivers.lock"), held(folder):
        for path in ("/", "/runs", "/sources/rivers"):
            assert "running 30 of 120 datasets" in text(page(browser, path)), path
        shown = text(page(browser, "/runs/rivers/20261121T030000Z"))
        assert "30 of 120 datasets listed so far" in shown
        assert "Finished – Requests" in shown
        assert "broken pending" in text(page(browser, "/runs?state=pending"))
        assert "pending" not in text(page(browser, "/sources/rivers"))


def test_the_overview_has_the_runs_as_they_are_now(copy):
    """What the index says is remembered; which runs have died, begun or wait is not."""
    change(copy.output, "UPDATE runs SET verdict = 'complete' WHERE source = 'rivers'")
    browser, folder = client(copy), copy.output / "rivers"
    stands = "string(//section[@aria-labelledby='sources']//tr[th//bdi = 'rivers']/td[1])"
    assert page(browser, "/").xpath(stands).split() == ["complete"]
    running = {"run": "20261121T030000Z", "started": "2026-11-21T03:00:00.000Z", "heartbeat": "2030-01-01T00:00:00Z"}
    (folder / "running.json").write_text(json.dumps(running))
    shown = page(browser, "/")
    assert shown.xpath(stands).split() == ["interrupted"]
    assert "rivers interrupted" in text(shown)
    assert "the last run crashed and left no report" in text(page(browser, "/sources/rivers"))
    with held(folder):
        shown = page(browser, "/")
        assert shown.xpath(stands).split()[:3] == ["complete", "running", "begun,"]
        assert "rivers running begun" in text(shown), "not that it has found 0 datasets"
    (folder / "running.json").unlink()
    assert page(browser, "/").xpath(stands).split() == ["complete"]


def test_a_run_of_what_changed_says_so(copy):
    name = last_run(copy.output, "rivers")
    path = copy.output / "rivers" / "runs" / f"{name}.json"
    report = json.loads(path.read_bytes())
    report["since"] = "2026-11-01T00:00:00Z"
    path.write_text(json.dumps(report))
    change(copy.output, "UPDATE runs SET since = ? WHERE source = 'rivers'", report["since"])
    browser = client(copy)
    assert "datasets that had changed listed" in text(page(browser, f"/runs/rivers/{name}"))
    assert "complete 60 changed" in text(page(browser, "/runs?source=rivers"))
    assert " changed" not in text(page(browser, "/runs?source=broken"))
    quiet = {"listed": 0, "expected": 0, "unchanged_since": report["since"], "datasets_on_disk": 60}
    path.write_text(json.dumps(report | quiet))
    change(copy.output, "UPDATE runs SET listed = 0, expected = 0 WHERE source = 'rivers'")
    for address in ("/runs?source=rivers", "/sources/rivers", "/"):
        assert "60 on disk" in text(page(browser, address))
        assert "0 of 0" not in get(browser, address).text
    shown = text(page(browser, f"/runs/rivers/{name}"))
    assert "Nothing changed since 2026-11-01 00:00 UTC; 60 datasets on disk" in shown


def test_a_run_that_goes_on_is_listed_once(copy):
    name = last_run(copy.output, "rivers")
    running = {"run": name, "spider": "ckan", "heartbeat": "2030-01-01T00:00:00.000Z", "resumed": True}
    (copy.output / "rivers" / "running.json").write_text(json.dumps(running))
    browser = client(copy)
    with held(copy.output / "rivers"):
        assert page(browser, "/runs").xpath(f"count(//a[@href='/runs/rivers/{name}'])") == 1
        assert "No run has finished yet." in text(page(browser, "/sources/rivers"))


@contextmanager
def held(path: Path) -> Iterator[None]:
    """Locked, as by the process that is at work."""
    descriptor = take(path / LOCK if path.is_dir() else path)
    assert descriptor is not None
    try:
        yield
    finally:
        os.close(descriptor)


def test_a_crawl_and_the_dashboard_do_not_disturb_each_other(tmp_path):
    output = tmp_path / "output"
    over, answers = threading.Event(), []

    def look():
        browser = client(output)
        while not over.is_set():
            paths = ("/", "/search?q=water", "/sources/busy", "/runs", "/errors?source=busy")
            answers.extend((path, browser.get(path, base_url=HERE).status_code) for path in paths)

    looking = threading.Thread(target=look)
    looking.start()
    try:
        with Portal(datasets=305, faults=("slow=0.05",)) as portal:
            ended = scrapy("crawl", "ckan", *options(output, {}, portal=portal.url, source="busy"))
    finally:
        over.set()
        looking.join()
    assert ended.returncode == 0, ended.stderr
    assert len(list((output / "busy" / "datasets").iterdir())) == 305
    assert {status for _, status in answers} <= {200, 404}, set(answers)
    assert all(status == 200 for path, status in answers if path != "/sources/busy")
    assert "busy" in text(page(client(output), "/"))


def test_nothing_on_disk_changes(made):
    def everything():
        caches = {".figures", "index.sqlite-shm", "index.sqlite-wal"}  # of whoever reads
        paths = [path for path in made.folder.rglob("*") if not caches & {*path.parts}]
        return {str(path): (path.stat().st_mtime_ns, path.stat().st_size) for path in paths if path != made.output}

    before = everything()
    browser, name = client(made), last_run(made.output, "broken")
    for path in ("/", "/search", "/search?q=water", "/sources/hostile", "/runs", f"/runs/broken/{name}", "/errors"):
        get(browser, path)
    get(browser, addresses.dataset("hostile", "a//b"))
    assert everything() == before


# Search


def test_search_finds_marks_and_counts(browser, made):
    found = page(browser, "/search?q=flood+%22extent%22&source=rivers")
    (total,) = rows(
        made.output,
        "SELECT count(*) FROM search JOIN datasets d ON d.id = search.rowid"
        " WHERE search MATCH 'flood extent' AND source = 'rivers' AND NOT withdrawn",
    )[0]
    assert total
    assert f"{total} dataset" in text(found)
    assert len(found.xpath("//ol[@class='found']/li")) == min(total, 20)
    assert {one.lower() for one in found.xpath("//mark/text()")} <= {"flood", "floods", "extent", "extents"}
    assert found.xpath("//input[@name='q']/@value") == ['flood "extent"']


def test_search_goes_on_page_by_page(browser, made):
    (total,) = rows(made.output, "SELECT count(*) FROM datasets WHERE source = 'rivers' AND NOT withdrawn")[0]
    titles, path = [], "/search?source=rivers"
    while path:
        found = page(browser, path)
        titles += found.xpath("//ol[@class='found']//h2/a/@href")
        path = next(iter(found.xpath("//a[@rel='next']/@href")), None)
    assert len(titles) == len(set(titles)) == total


@pytest.mark.parametrize(
    "query",
    [
        *(
            "page=abc",
            "page=-1",
            f"page={10**9}",
            f"page={10**40}",
            f"page={'9' * 5000}",
            "page=1.5",
            "page=٣",
            "page=",
        ),
        *("q=%00", "q=%ff%fe", "q=%22", "q=%22%22", "q=NEAR(", "q=title:", "q=-", "q=*", "q=(", "q=%F0%9F%8C%8A"),
        *("q=" + "x" * 10_000, "q=" + "a+" * 5_000, "q=" + "%22" * 3_000, "source=..%2F..", "source=%00", "q=a&q=b"),
        *("q=%3Cscript%3E", "q=%27+OR+1=1", "q=AND", "q={title}:x", "kind=%22%3E%3Cb%3E", "run=..%2F", "state=x"),
    ],
)
def test_whatever_is_asked_gives_a_page(browser, made, query):
    for path in ("/search", "/runs", "/errors", "/sources/rivers", f"/runs/rivers/{last_run(made.output, 'rivers')}"):
        found = page(browser, f"{path}?{query}")
        assert not found.xpath("//script[not(@src='/tables.js')] | //main//b")
        assert len(found.xpath("string(//input[@name='q']/@value)")) <= 300


def test_beyond_the_last_page_a_narrower_question_is_asked_for(large):
    found = page(client(large), "/search?page=999999")
    assert "Page 100" in text(found)
    assert "There are more" in text(found)
    assert not found.xpath("//a[@rel='next']")


# Errors


def test_errors_are_chosen_and_explained(browser, made):
    found = page(browser, "/errors?kind=http&source=broken")
    assert len(found.xpath("//tbody/tr")) == 50
    assert "The portal answered with an HTTP error" in text(found)
    assert found.xpath("//a[@rel='next']/@href") == ["/errors?kind=http&source=broken&page=2"]
    assert "No errors found." in text(page(browser, "/errors?kind=dns"))
    assert "No errors found." in text(page(browser, "/errors?kind=ttp&source=broken"))
    name = last_run(made.output, "broken")
    assert len(page(browser, f"/errors?run={name}").xpath("//tbody/tr")) == 50


def test_errors_of_all_sources_come_newest_first(copy):
    for source, seconds in (("rivers", (1, 4, 5)), ("broken", (2, 3, 6))):
        lines = [{"time": f"2027-01-01T00:00:0{one}Z", "kind": "bug", "error": f"no {one}."} for one in seconds]
        with (copy.output / source / "errors.jsonl").open("a") as file:
            file.writelines(json.dumps(line) + "\n" for line in lines)
    shown = text(page(client(copy), "/errors?kind=bug"))
    assert re.findall(r"no (\d)\.", shown) == list("654321")


def test_a_dataset_that_was_never_written_is_no_link(copy):
    name, there = last_run(copy.output, "rivers"), known(copy.output, "rivers")
    line = {"time": "2027-01-01", "run": name, "kind": "http", "stage": "dataset", "error": "404 Not Found"}
    with (copy.output / "rivers" / "errors.jsonl").open("a") as file:
        file.writelines(json.dumps(line | {"dataset_id": one, "dataset_name": one}) + "\n" for one in ("lost", there))
    moment = "2030-01-01T00:00:00.000Z"
    change(
        copy.output,
        "INSERT INTO changes (source, time, run, dataset_id, status) VALUES ('rivers', ?, ?, 'lost', 'new')",
        moment,
        name,
    )
    manifest = {"time": moment, "run": name, "status": "new", "kind": "dataset", "dataset_id": "lost"}
    with (copy.output / "rivers" / "manifest.jsonl").open("a") as file:
        file.write(json.dumps(manifest) + "\n")
    report = copy.output / "rivers" / "runs" / f"{name}.json"
    known_ends = {key: value for key, value in json.loads(report.read_bytes()).items() if not key.endswith("_end")}
    report.write_text(json.dumps(known_ends))  # else what came later is not read for the run
    browser = client(copy)
    for path in (
        "/",
        "/errors?source=rivers",
        f"/runs/rivers/{name}",
        f"/runs/rivers/{name}?page=2",
        "/sources/rivers",
    ):
        found = page(browser, path)
        assert addresses.dataset("rivers", "lost") not in found.xpath("//@href"), path
        assert "lost" in text(found) or path == f"/runs/rivers/{name}", path
    assert addresses.dataset("rivers", there) in page(browser, "/errors?source=rivers").xpath("//@href")


def test_odd_error_lines_are_left_out(copy):
    odd = b'{"time":\n\xff\xfe\n[]\nnull\n{"kind":"bug"}\n{"time":5}\n' + b"[" * 100_000 + b"\n"
    nested = b'{"time":"2027","kind":["bug"],"error":{"a":1},"url":7,"dataset_id":5,"run":8,"stage":null}\n'
    with (copy.output / "rivers" / "errors.jsonl").open("ab") as file:
        file.write(odd + nested + b'{"time":"2027-01-02","kind":"bug","error":"the good one"}\n{"time":"torn')
    shown = text(page(client(copy), "/errors?source=rivers"))
    assert "the good one" in shown


def test_errors_are_read_from_the_end_and_not_all(copy):
    line = json.dumps({"time": "2026-01-01", "kind": "http", "error": "x" * 400}) + "\n"
    with (copy.output / "rivers" / "errors.jsonl").open("a") as file:
        file.write(json.dumps({"time": "2025-01-01", "kind": "dns", "error": "old"}) + "\n")
        for _ in range(20):
            file.write(line * (MOST // 10 // len(line)))
    browser = client(copy)
    started = time.process_time()
    assert "Only the last 16.8 MB" in text(page(browser, "/errors?kind=dns"))
    assert time.process_time() - started < 1
    assert "x" * 400 in get(browser, "/errors?source=rivers").text


def test_lines_come_from_the_end(tmp_path):
    path = tmp_path / "lines"
    lines = [bytes([65 + number % 26]) * (number * 37 % 5000) for number in range(400)]
    path.write_bytes(b"".join(line + b"\n" for line in lines))
    assert list(backwards(path, Budget(10**9))) == [line for line in reversed(lines) if line]
    path.write_bytes(b"first\n" + b"x" * (SHOWN + BLOCK) + b"\nlast\ntorn")
    assert list(backwards(path, Budget(10**9))) == [b"torn", b"last", b"first"]
    budget = Budget(BLOCK)
    assert list(backwards(path, budget)) == [b"torn", b"last"]
    assert budget.spent
    assert list(backwards(tmp_path / "none", Budget(10))) == []


# What it refuses, and what goes wrong


@pytest.mark.parametrize("method", ["POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "PROPFIND"])
@pytest.mark.parametrize("path", ["/", "/search", "/nothing"])
def test_it_takes_get_and_head_only(browser, method, path):
    answer = browser.open(path, method=method, base_url=HERE)
    assert answer.status_code == 405
    assert answer.headers["Allow"] == "GET, HEAD"


def test_head_is_get_without_the_page(browser):
    answer = browser.head("/search", base_url=HERE)
    assert (answer.status_code, answer.data) == (200, b"")


@pytest.mark.parametrize(
    ("host", "status"),
    [
        *(("127.0.0.1:8710", 200), ("localhost", 200), ("LOCALHOST:1", 200), ("[::1]:8710", 200)),
        *(("evil.example", 400), ("127.0.0.1.evil.example", 400), ("localhost.", 400), ("", 400), ("127.0.0.1:x", 400)),
        *(("10.0.0.7:8710", 400), ("localhost@evil.example", 400), ("0.0.0.0:8710", 400), ("localhost\x0b", 400)),
    ],
)
def test_it_answers_to_this_machine_only(browser, host, status):
    """Else a page elsewhere could have its name lead here, and read what is shown."""
    for path in ("/search", "/nothing", "/healthz"):
        answer = browser.get(path, headers={"Host": host})
        assert answer.status_code == (404 if (status, path) == (200, "/nothing") else status)
        assert "frame-ancestors 'none'" in answer.headers["Content-Security-Policy"]


@pytest.mark.parametrize("path", ["/", "/healthz", "/nothing", "/sources/rivers/datasets"])
def test_every_answer_ties_the_browsers_hands(browser, path):
    headers = browser.get(path, base_url=HERE).headers
    assert headers["Content-Security-Policy"] == (
        "default-src 'none'; script-src 'self'; connect-src 'self'; style-src 'self' 'unsafe-inline'; "
        "img-src 'self' data:; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
    )
    assert headers["X-Content-Type-Options"] == "nosniff"
    assert headers["Referrer-Policy"] == "same-origin"
    assert headers["Cache-Control"] == "no-store"
    assert "Set-Cookie" not in headers


@pytest.mark.parametrize(
    "path",
    [
        *(
            "/nothing",
            "/sources/none",
            "/sources/rivers/datasets/none",
            "/sources/none/datasets/none",
            "/runs/rivers/x",
        ),
        *(
            "/runs/none/x",
            "/runs/..%2f/x",
            "/sources/%00",
            "/runs/%00/%00",
            "/sources/a%0d%0aSet-Cookie:x",
            "/%ff",
        ),
        *(
            "/sources/rivers/datasets?id=%00",
            "/sources/rivers/datasets?id=",
            "/runs/rivers/..%2F..%2Frivers%2Fruns%2Fx",
        ),
        *("/static/x", "/sources/..", "/sources/../index.sqlite", "/search/"),
    ],
)
def test_what_is_not_there_has_a_page(browser, path):
    found = page(browser, path, 404)
    assert "Nothing here" in text(found)
    assert found.xpath("//form[@role='search']")


def test_a_mistake_of_its_own_has_a_page(made, monkeypatch, caplog):
    served = app(made.output)
    monkeypatch.setattr(served.extensions["site"], "overview", lambda _: 1 / 0)
    answer = served.test_client().get("/?\x1b", base_url=HERE)
    assert answer.status_code == 500
    assert "This page could not be made" in answer.text
    assert "ZeroDivision" not in answer.text
    assert "ZeroDivisionError" in caplog.text
    assert get(served.test_client(), "/runs")


def test_without_an_index_it_says_what_to_do(tmp_path):
    browser = client(tmp_path / "none")
    for path in ("/", "/search?q=x", "/sources/x", "/runs", "/errors"):
        assert "crawl a source first" in text(page(browser, path))
    assert get(browser, "/healthz").text == "ok\n"
    page(browser, "/runs/a/b", 404)


def test_an_index_that_cant_be_read_says_so(copy):
    change(copy.output, "PRAGMA user_version = 1")
    assert "of another version" in text(page(client(copy), "/", 503))
    (copy.output / "index.sqlite").write_bytes(b"no database at all" * 1000)
    assert "can't be read" in text(page(client(copy), "/search", 503))


def test_an_index_that_is_gone_is_not_nothing(copy):
    for path in copy.output.glob("index.sqlite*"):
        path.unlink()
    shown = text(page(client(copy), "/", 503))
    assert f"has {len(SOURCES)} sources, but no index.sqlite: rebuild it with `scrapy reindex`" in shown
    assert "Nothing to show" not in shown
    for source in SOURCES.keys() - {"rivers"}:
        shutil.rmtree(copy.output / source)
    with held(copy.output / "rivers"):
        assert "The first crawl is running" in text(page(client(copy), "/"))


def test_an_index_that_breaks_on_the_way_says_so(copy):
    change(copy.output, "DROP TABLE resources")
    shown = text(page(client(copy), addresses.dataset("rivers", known(copy.output, "rivers")), 503))
    assert "index.sqlite can't be read (no such table: resources): try again" in shown


# Large


def paths_of(output: Path) -> list[str]:
    dataset_id, deep = known(output, "source-1"), cursor("source-2", "f")
    (run,) = rows(output, "SELECT run FROM runs WHERE source = 'source-1' ORDER BY run DESC LIMIT 1")[0]
    return [
        *("/", "/search", "/search?page=100", "/search?q=flood+afg", "/search?q=flood&page=100", "/search?q=f*"),
        *("/search?source=source-1&page=100", "/sources/source-1", "/sources/source-1?page=14", "/runs", "/errors"),
        *(f"/runs/source-1/{run}", addresses.dataset("source-1", dataset_id)),
        *(
            "/api/sources",
            "/api/runs",
            "/api/datasets?limit=1000",
            "/api/search?q=flood",
            f"/api/datasets?after={deep}",
        ),
        *("/changes", "/changes?page=100", "/changes?source=source-1&status=withdrawn", "/changes.atom"),
        *("/changes?publisher=Organisation+9", "/api/changes?limit=1000", "/api/changes?status=restored"),
    ]


@pytest.mark.slow
def test_a_page_of_a_large_index_takes_less_than_half_a_second(large):
    served = app(large)
    served.extensions["site"].warm()  # as `scrapy dashboard` does
    browser, took = served.test_client(), {}
    for path in 2 * list(paths_of(large)):  # the better of two: a busy machine takes more
        started = time.process_time()
        get(browser, path)
        took[path] = min(took.get(path, 9.0), time.process_time() - started)
    assert not {path: seconds for path, seconds in took.items() if seconds > 0.5}


@pytest.mark.slow
def test_a_page_of_a_large_index_takes_little_memory(large):
    browser = client(large)
    get(browser, "/healthz")
    gc.collect()
    tracemalloc.start()
    try:
        for path in paths_of(large):
            get(browser, path)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 24_000_000


# What is remembered


def test_what_is_remembered_goes_when_the_index_changes(tmp_path, monkeypatch):
    remembered, made = Remembered(tmp_path), []
    monkeypatch.setattr("crawlers.operate.dashboard.site.LEAST", 0)

    def make():
        made.append(1)
        return len(made)

    assert [remembered.get("x", make) for _ in range(3)] == [1, 1, 1]
    for name in ("index.sqlite", "index.sqlite-wal"):
        (tmp_path / name).write_bytes(b"more")
        time.sleep(0.01)
        remembered.get("x", make)
    assert len(made) == 3
    for number in range(100):
        remembered.get(number, make)
    assert len(remembered.entries) == 32


def test_while_a_crawl_writes_an_answer_serves_for_a_while(tmp_path):
    remembered, made = Remembered(tmp_path), []
    for number in range(5):
        (tmp_path / "index.sqlite").write_bytes(b"x" * number)
        assert remembered.get("x", lambda: made.append(1) or len(made)) == 1


def test_nobody_waits_for_what_is_made_anew(tmp_path, monkeypatch):
    monkeypatch.setattr("crawlers.operate.dashboard.site.LEAST", 0)
    monkeypatch.setattr("crawlers.operate.dashboard.site.SHARE", 0)
    remembered = Remembered(tmp_path)
    assert remembered.get("x", lambda: "old") == "old"
    (tmp_path / "index.sqlite").write_bytes(b"changed")
    begun, go_on = threading.Event(), threading.Event()

    def slow():
        begun.set()
        assert go_on.wait(HANG)
        return "new"

    thread = threading.Thread(target=remembered.get, args=("x", slow))
    thread.start()
    assert begun.wait(HANG)
    assert remembered.get("x", lambda: pytest.fail("made twice")) == "old"
    go_on.set()
    thread.join()
    assert remembered.get("x", lambda: pytest.fail("made twice")) == "new"


def test_an_answer_does_not_wait_for_another(tmp_path):
    remembered = Remembered(tmp_path)
    begun, go_on = threading.Event(), threading.Event()

    def slow():
        begun.set()
        return "the overview" if go_on.wait(HANG) else pytest.fail("the small one waits for the large one")

    large = threading.Thread(target=remembered.get, args=("overview", slow))
    large.start()
    assert begun.wait(HANG)
    small = threading.Thread(target=remembered.get, args=("small", lambda: go_on.set() or "small"))
    small.start()
    small.join(HANG)
    assert go_on.is_set(), "it waits for the large one"
    large.join()
    assert remembered.get("overview", lambda: pytest.fail("made twice")) == "the overview"


def test_what_is_asked_for_often_is_remembered_longest(tmp_path):
    remembered = Remembered(tmp_path)
    assert remembered.get("overview", lambda: 1) == 1
    for number in range(100):
        remembered.get(number, lambda: None)
        assert remembered.get("overview", lambda: pytest.fail("forgotten")) == 1


# The command


def asked(url: str, head: str) -> str:
    with socket.create_connection(("127.0.0.1", urlsplit(url).port), timeout=10) as connection:
        connection.sendall(f"{head}\r\n\r\n".encode())
        parts = list(iter(lambda: connection.recv(65536), b""))
    return b"".join(parts).decode()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_it_without_a_word(made, number):
    with dashboard(made.output) as (url, process):
        assert asked(url, "GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close").endswith("ok\n")
        process.send_signal(number)
        out, err = process.communicate(timeout=HANG)
        assert (process.returncode, out, err) == (0, "", "")


def test_it_listens_on_the_loopback_only(made):
    with dashboard(made.output) as (url, _):
        assert url.startswith("http://127.0.0.1:")
        with pytest.raises(OSError, match="refused"):
            socket.create_connection(("127.0.0.2", urlsplit(url).port), timeout=5)


def test_odd_requests_do_no_harm(made):
    with dashboard(made.output) as (url, process):
        assert " 400 " in asked(url, "GET / HTTP/1.1\r\nHost: evil.example\r\nConnection: close").splitlines()[0]
        assert " 400 " in asked(url, "GET / HTTP/1.0").splitlines()[0]
        assert " 405 " in asked(url, "POST / HTTP/1.0\r\nHost: localhost\r\nContent-Length: 0").splitlines()[0]
        assert " 404 " in asked(url, "GET /../../etc/passwd HTTP/1.0\r\nHost: localhost").splitlines()[0]
        assert " 404 " in asked(url, "GET //evil.example/%2e%2e HTTP/1.0\r\nHost: localhost").splitlines()[0]
        assert " 404 " in asked(url, "GET /%ff%00 HTTP/1.0\r\nHost: localhost").splitlines()[0]
        answer = asked(url, "GET /search HTTP/1.0\r\nHost: localhost")
        assert " 200 " in answer.splitlines()[0]
        assert "waitress" not in answer.lower()
        process.terminate()
        assert process.communicate(timeout=HANG)[1] == ""


def test_a_port_that_is_taken_is_a_sentence(tmp_path):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        ran = scrapy("dashboard", "--port", str(port), "-s", f"OUTPUT_DIR={tmp_path}")
    sentence = f"Port {port} of 127.0.0.1 is not available (Address already in use): name another with --port.\n"
    assert (ran.returncode, ran.stdout, ran.stderr) == (1, "", sentence)


def test_words_that_it_does_not_take_are_a_sentence(tmp_path):
    ran = command("dashboard", "foo", "-s", f"OUTPUT_DIR={tmp_path}")
    sentence = "scrapy dashboard takes [--port PORT] [--open], not 'foo': it shows all sources.\n"
    assert (ran.returncode, ran.stdout, ran.stderr) == (1, "", sentence)


def test_many_who_ask_at_once_are_no_news(made):
    with dashboard(made.output) as (url, process):
        head = b"GET /search?q=water HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
        asking = [socket.create_connection(("127.0.0.1", urlsplit(url).port), timeout=30) for _ in range(40)]
        for one in asking:
            one.sendall(head)
        for one in asking:
            with one, one.makefile("rb") as answer:
                assert answer.read().startswith(b"HTTP/1.1 200 OK")
        process.terminate()
        assert process.communicate(timeout=HANG)[1] == ""


@pytest.mark.parametrize("port", ["99999", "-1"])
def test_what_is_no_port_is_a_sentence(tmp_path, port):
    ran = scrapy("dashboard", f"--port={port}", "-s", f"OUTPUT_DIR={tmp_path}")
    assert ran.returncode == 1
    assert ran.stderr == f"There is no port {port}: name one from 1 to 65535, or 0 for any.\n"


def test_it_opens_the_browser(made, tmp_path):
    note = tmp_path / "opened"
    script = tmp_path / "browser"
    script.write_text(f'#!/bin/sh\necho "$1" > {note}.part; mv {note}.part {note}\n')
    script.chmod(0o755)
    with dashboard(made.output, "--open", BROWSER=f"{script} %s") as (url, _):
        for _ in range(100):
            if note.exists():
                break
            time.sleep(0.1)
        assert note.read_text().strip() == url


def test_an_index_that_is_missing_is_made_first(copy):
    for path in copy.output.glob("index.sqlite*"):
        path.unlink()
    with dashboard(copy.output) as (url, _):
        assert "rivers" in asked(url, "GET / HTTP/1.0\r\nHost: localhost")


# In a browser


@pytest.fixture(scope="module")
def chromium():
    from playwright.sync_api import sync_playwright  # noqa: PLC0415  # it is not needed without a browser

    sandbox = [] if os.getuid() else ["--no-sandbox"]
    with sync_playwright() as playwright:
        path = executables.executable(Settings())
        browser = playwright.chromium.launch(executable_path=path, args=[*sandbox, "--disable-dev-shm-usage"])
        yield browser
        browser.close()


@pytest.fixture(scope="module")
def address(made) -> Iterator[str]:
    """A dashboard that runs while the browser looks at it."""
    with dashboard(made.output, "-s", f"LOGS_DIR={made.logs}") as (url, _):
        yield url


@contextmanager
def tab(chromium, url: str, width: int = 1280, scheme: str = "light"):
    """A page that must say nothing on the console, and ask nobody else for anything."""
    context = chromium.new_context(viewport={"width": width, "height": 800}, color_scheme=scheme)
    opened, said, strangers = context.new_page(), [], []
    opened.on("console", lambda message: said.append(message.text))
    opened.on("pageerror", lambda error: said.append(str(error)))
    opened.on("dialog", lambda dialog: (said.append("dialog"), dialog.dismiss()))
    opened.on("request", lambda one: strangers.append(one.url) if not one.url.startswith((url, "data:")) else None)
    opened.goto(url)
    yield opened
    context.close()
    assert (said, strangers) == ([], [])


@pytest.mark.browser
def test_in_a_browser_from_the_search_to_a_run(address, chromium):
    with tab(chromium, address) as opened:
        opened.get_by_role("searchbox").fill("flood extent")
        opened.keyboard.press("Enter")
        opened.wait_for_url("**/search?q=flood+extent*")
        result = opened.locator("ol.found h2 a").first
        title = result.inner_text()
        result.click()
        assert opened.locator("h1").inner_text().startswith(title)
        assert opened.locator("pre").inner_text().startswith("{")
        opened.locator("section[aria-labelledby=history] a").first.click()
        opened.wait_for_url("**/runs/*/*")
        assert opened.locator("h1").inner_text().startswith("Run of 20")
        opened.go_back()
        opened.get_by_role("link", name="Overview").click()
        assert opened.locator("h1").inner_text() == "What the catalogues hold"


@pytest.mark.browser
@pytest.mark.parametrize("dataset_id", IDS)
def test_in_a_browser_every_dataset_is_reached(address, chromium, dataset_id):
    """Browsers change paths before they ask: ``..``, backslashes, spaces."""
    with tab(chromium, address) as opened:
        opened.goto(address.rstrip("/") + addresses.dataset("hostile", dataset_id))
        assert opened.title().startswith("<script>")
        shown = json.loads(re.sub(r",\s*$", "", re.search(r'"id": (".*")', opened.locator("pre").inner_text())[1]))
        assert shown == dataset_id.replace("\u202e", "")


@pytest.mark.browser
def test_in_a_browser_it_fits_and_is_seen(made, address, chromium, tmp_path):
    name = last_run(made.output, "broken")
    paths = [
        "",
        "search",
        "search?q=flood",
        "sources/broken",
        "sources/hostile",
        "runs",
        f"runs/broken/{name}",
        "errors",
    ]
    paths += [addresses.dataset("hostile", one).lstrip("/") for one in (IDS[0], IDS[3])]
    grounds = set()
    for width, scheme in ((1280, "light"), (360, "dark"), (360, "light")):
        with tab(chromium, address, width, scheme) as opened:
            for number, path in enumerate(paths):
                opened.goto(address + path)
                assert opened.evaluate(WIDER) == [], (path, width)
                assert opened.evaluate("document.title") != "owned"
                assert opened.evaluate(PALE) == [], (path, scheme)
                opened.screenshot(path=tmp_path / f"{number}-{width}-{scheme}.png", full_page=True)
            grounds.add(opened.evaluate("getComputedStyle(document.body).backgroundColor"))
    assert len(grounds) == 2


WIDER = """() => document.documentElement.scrollWidth <= document.documentElement.clientWidth ? [] :
    [...document.querySelectorAll('body *')].filter(one => one.getBoundingClientRect().right > innerWidth + 1
        && !one.closest('.scroll, pre')).map(one => one.outerHTML.slice(0, 120)).slice(0, 5).concat('wider')"""
PALE = """() => {
    const light = colour => {
        const [r, g, b] = colour.match(/[0-9.]+/g).map(Number).map(one => one / 255)
            .map(one => one <= 0.03928 ? one / 12.92 : ((one + 0.055) / 1.055) ** 2.4);
        return 0.2126 * r + 0.7152 * g + 0.0722 * b;
    };
    const ground = one => {
        for (let at = one; at; at = at.parentElement) {
            const colour = getComputedStyle(at).backgroundColor;
            if (!colour.endsWith(', 0)')) return colour;
        }
        return 'rgb(255, 255, 255)';
    };
    const pale = [];
    for (const one of document.querySelectorAll('main *, header *')) {
        const own = [...one.childNodes].some(node => node.nodeType === 3 && node.data.trim());
        if (!own || !one.offsetParent || one.closest('svg, .unseen')) continue;
        const a = light(getComputedStyle(one).color), b = light(ground(one));
        const contrast = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
        if (contrast < 4.5) pale.push([one.outerHTML.slice(0, 120), contrast]);
    }
    return pale;
}"""


def test_addresses_lead_where_they_say():
    for one in IDS:
        path, _, query = addresses.dataset("s", one).partition("?")
        assert (
            unquote(query.removeprefix("id=").replace("+", " "))
            if query
            else unquote(path)[len("/sources/s/datasets/") :]
        ) == one


def test_idle_connections_stop_nothing(tmp_path):
    """A browser keeps some for each of its tabs, and a page of another site can make it open more."""
    (tmp_path / "output").mkdir()
    with dashboard(tmp_path / "output") as (url, _), ExitStack() as stack:
        where = urlsplit(url)
        for _ in range(150):
            stack.enter_context(socket.create_connection((where.hostname, where.port)))
        assert ask(url, "/").status == 200


def test_an_idle_connection_is_closed():
    server = Server(Flask("x"), 0)
    where = urlsplit(server.url)
    try:
        with socket.create_connection((where.hostname, where.port)):
            while not server.server.active_channels:
                server.server.handle_accept()
            (channel,) = server.server.active_channels.values()
            server.server.maintenance(time.time())
            assert not channel.will_close
            server.server.maintenance(time.time() + 60)
            assert channel.will_close
    finally:
        wasyncore.close_all(server.connections)
