"""A crawl that is killed goes on where it was, and ends as if nothing had happened."""

from __future__ import annotations

import random
import signal
import sqlite3
import subprocess
import sys
import time
from contextlib import closing

import pytest
from scrapy import Request
from scrapy.utils.test import get_crawler

from crawlers.components.ledger import FORMAT
from crawlers.components.scheduler import restored_request, stored_request
from crawlers.kinds.ckan.spider import CKAN
from tests import forked
from tests.conftest import ROOT, Crawl, options, scrapy
from tests.waiting import HANG, until

EXPORT = "download_metadata"
KILLS = 20


def begun(output, jobdir, portal, **settings):
    """A crawl that has asked for something since it was started."""
    words = options(output, {"JOBDIR": str(jobdir), **settings}, portal=portal.url)
    asked = portal.requests()
    crawl = forked.Popen(
        [sys.executable, "-m", "scrapy", "crawl", "hdx", *words], cwd=ROOT, stderr=subprocess.PIPE, text=True
    )
    until(lambda: portal.requests() != asked, unless=lambda: crawl.poll() is not None)
    return crawl


def resumed(output, jobdir, portal, **settings) -> Crawl:
    words = options(output, {"JOBDIR": str(jobdir), **settings}, portal=portal.url)
    ran = scrapy("crawl", "hdx", *words)
    return Crawl(ran.returncode, ran.stderr, output / "hdx")


def left(crawl: Crawl):
    """All that a crawl leaves, without what tells one run from another."""
    documents = {
        str(path.relative_to(crawl.folder)): path.read_bytes()
        for path in crawl.folder.rglob("*.json")
        if path.parent.name != "runs"
    }
    passing = ("time", "run", "attempts")
    looked_up = ("dataset_title",)  # of a failure: in the index, if the dataset is there by then
    lines = [
        sorted(str({name: value for name, value in line.items() if name not in left_out}) for line in part)
        for part, left_out in ((crawl.manifest, passing), (crawl.errors, passing + looked_up))
    ]
    counted = {name: crawl.report[name] for name in ("verdict", "expected", "listed", "counts", "errors")}
    return documents, *lines, counted


@pytest.mark.slow
def test_killed_twenty_times(crawl, portal, tmp_path):
    """At random moments, while the portal answers 503 and cuts connections."""
    random.seed(2026)
    site = portal(datasets=70, rows_max=20, faults=("unavailable=1", "truncated_once=resource"))
    whole = crawl("hdx", site)
    output, jobdir = tmp_path / "killed", tmp_path / "job"
    site.fault(unavailable=None, truncated_once=None)
    site.fault(unavailable=1, truncated_once="resource")
    for _ in range(KILLS):
        killed = begun(output, jobdir, site, REQUESTS_PER_SECOND="40")
        time.sleep(random.uniform(0, 0.3))
        killed.send_signal(signal.SIGKILL)
        killed.communicate()
    done = resumed(output, jobdir, site)
    assert (done.code, done.report["resumed"]) == (0, True)
    assert left(done) == left(whole)
    assert len(list((done.folder / "runs").iterdir())) == 1, "it is one run, however often it was killed"


@pytest.mark.parametrize("kills", [1, pytest.param(4, marks=pytest.mark.slow)])
def test_failures_are_told_once(crawl, portal, tmp_path, kills):
    site = portal(datasets=40, faults=(f"gone={EXPORT}", "forbidden=resource_show"))
    whole = crawl("hdx", site, settings={"BLOCKED_AFTER": "0"})
    output, jobdir = tmp_path / "killed", tmp_path / "job"
    for _ in range(kills):
        killed = begun(output, jobdir, site, REQUESTS_PER_SECOND="60", BLOCKED_AFTER="0")
        time.sleep(0.3)
        killed.send_signal(signal.SIGKILL)
        killed.communicate()
    done = resumed(output, jobdir, site, BLOCKED_AFTER="0")
    assert done.code == whole.code == 3
    assert left(done) == left(whole)
    assert all(line["dataset_title"] for line in whole.errors if line["dataset_id"])


@pytest.mark.slow
@pytest.mark.parametrize("behind", [4, 1])
def test_killed_while_it_asks_what_is_gone(portal, tmp_path, behind):
    """Behind every so many requests: what is changed, what is gone, and what is a ghost of the search index."""
    site = portal(datasets=80)
    whole, killed = tmp_path / "whole", tmp_path / "killed"
    for output in (whole, killed):
        words = options(output, {}, portal=site.url, level="snapshot")
        assert scrapy("crawl", "hdx", *words).returncode == 0
    ids = site.ids()
    edited = {name: {"title": "Another", "metadata_modified": "2026-02-01T00:00:00"} for name in ids[70:73]}
    site.change(remove=ids[:6], ghosts=ids[40:42], edit=edited)
    reference = Crawl(*_ran(whole, site), whole / "hdx")
    assert (reference.code, reference.report["counts"]["withdrawn"], reference.report["listed"]) == (0, 8, 72)
    kills, settings = 0, {"JOBDIR": str(tmp_path / "job"), "REQUESTS_PER_SECOND": "30"}
    while kills < 30 and not list((killed / "hdx" / "runs").glob("*.json"))[1:]:
        words = options(killed, settings, portal=site.url, level="snapshot")
        asked = site.requests()
        running = forked.Popen(
            [sys.executable, "-m", "scrapy", "crawl", "hdx", *words], cwd=ROOT, stderr=subprocess.PIPE, text=True
        )
        until(lambda: site.requests() >= asked + behind or running.poll() is not None)  # noqa: B023
        running.send_signal(signal.SIGKILL)
        running.communicate()
        kills += 1
    done = Crawl(*_ran(killed, site, **settings), killed / "hdx")
    assert (done.code, kills > 2) == (0, True)
    assert left(done) == left(reference)


def _ran(output, portal, **settings):
    ran = scrapy("crawl", "hdx", *options(output, settings, portal=portal.url, level="snapshot"))
    return ran.returncode, ran.stderr


@pytest.mark.parametrize("signals", [[signal.SIGTERM], [signal.SIGINT, signal.SIGINT]])
def test_stopped_and_resumed_asks_for_nothing_twice(portal, tmp_path, signals):
    site = portal(datasets=60)
    output, jobdir = tmp_path / "output", tmp_path / "job"
    stopped = begun(output, jobdir, site, REQUESTS_PER_SECOND="40")
    time.sleep(0.5)
    for number in signals:
        stopped.send_signal(number)
        time.sleep(0.2)
    stopped.communicate(timeout=HANG)
    assert stopped.returncode == 130
    done = resumed(output, jobdir, site)
    assert (done.code, done.report["verdict"], done.report["counts"]["new"]) == (0, "complete", 240)
    asked = site.requests() - site.requests("robots.txt")
    assert asked <= 181 + 16 * (len(signals) - 1), "only what was under way at a forced stop is asked for again"


@pytest.mark.parametrize(("faults", "code", "verdict"), [((), 0, "complete"), (("count_off=5",), 3, "incomplete")])
def test_a_finished_job_says_how_it_ended(portal, tmp_path, faults, code, verdict):
    site = portal(datasets=5, faults=faults)
    output, jobdir = tmp_path / "output", tmp_path / "job"
    first = resumed(output, jobdir, site)
    asked = site.requests()
    again = resumed(output, jobdir, site)
    assert (first.code, again.code, site.requests()) == (code, code, asked)
    (report,) = (output / "hdx" / "runs").iterdir()
    told = f"the job in {jobdir}/ledger.sqlite is finished: {verdict}, says {report}. Nothing was requested;"
    assert again.lines[-1] == f"{told} delete it to crawl again."
    assert "Traceback" not in again.log


def test_a_report_that_could_not_be_written_is_written_by_the_next_start(portal, tmp_path):
    site = portal(datasets=5, faults=("count_off=5",))
    output, jobdir = tmp_path / "output", tmp_path / "job"
    (output / "hdx").mkdir(parents=True)
    (output / "hdx" / "runs").write_text("in the way")
    first = resumed(output, jobdir, site)
    asked = site.requests()
    (output / "hdx" / "runs").unlink()
    again = resumed(output, jobdir, site)
    assert (first.code, again.code, site.requests()) == (4, 3, asked)
    assert (again.report["verdict"], again.report["listed"], again.report["counts"]["new"]) == ("incomplete", 5, 20)
    assert again.kinds() == [("list", "count_mismatch")]


def test_a_row_that_can_not_be_restored_is_one_error_line(portal, tmp_path):
    """As after an upgrade that renamed a callback."""
    site = portal(datasets=5)
    output, jobdir = tmp_path / "output", tmp_path / "job"
    begun = resumed(output, jobdir, site, CLOSESPIDER_ITEMCOUNT="1", CONCURRENT_REQUESTS="1")
    assert begun.report["verdict"] == "partial"
    with closing(sqlite3.connect(jobdir / "ledger.sqlite")) as ledger, ledger:
        ledger.execute("INSERT INTO requests (priority, state, request) VALUES (9, 0, 'no JSON')")
        ledger.execute("""UPDATE requests SET request = replace(request, '"exports.', '"gone_by.')""")
        (rows,) = ledger.execute("SELECT count(*) FROM requests WHERE state != 2").fetchone()
    done = resumed(output, jobdir, site)
    unrestored = [line for line in done.errors if line["kind"] == "bug"]
    assert (done.code, done.report["verdict"], len(unrestored)) == (3, "incomplete", rows)
    assert rows > 5
    assert {line["stage"] for line in unrestored} == {"fetch"}
    assert sum(line["url"] is None for line in unrestored) == 1
    assert "can't be restored, so it was not made: AttributeError: 'HDX' object has no attribute 'gone_by'" in str(
        unrestored[-1]
    )
    assert "Traceback" not in done.log
    assert done.report["counts"]["failed"] == len(done.errors)


@pytest.mark.parametrize(
    ("spider", "arguments", "told"),
    [
        ("ckan", {}, "is of spider 'hdx', not 'ckan'"),
        ("hdx", {"q": "flood"}, "is of arguments {"),
    ],
)
def test_another_ones_job_is_refused(portal, tmp_path, spider, arguments, told):
    site = portal(datasets=5)
    output, jobdir = tmp_path / "output", tmp_path / "job"
    resumed(output, jobdir, site)
    asked = site.requests()
    words = options(output, {"JOBDIR": str(jobdir)}, portal=site.url, **arguments)
    ran = scrapy("crawl", spider, *words)
    assert (ran.returncode, site.requests()) == (1, asked)
    assert told in ran.stderr.splitlines()[-1]
    assert "Traceback" not in ran.stderr


def test_a_job_that_wrote_elsewhere_is_refused(portal, tmp_path):
    site, jobdir = portal(datasets=5), tmp_path / "job"
    resumed(tmp_path / "output", jobdir, site)
    other = resumed(tmp_path / "other", jobdir, site)
    assert (other.code, "is of output" in other.lines[-1]) == (1, True)


def test_a_job_of_another_format_is_refused_unless_it_is_finished(portal, tmp_path):
    site = portal(datasets=5)
    output, jobdir = tmp_path / "output", tmp_path / "job"
    resumed(output, jobdir, site)
    with sqlite3.connect(jobdir / "ledger.sqlite") as ledger:
        ledger.execute(
            "UPDATE facts SET value = replace(value, ?, '\"format\": 0') WHERE name = 'identity'",
            (f'"format": {FORMAT}',),
        )
    ledger.close()
    again = resumed(output, jobdir, site)
    assert (again.code, "is finished" in again.log) == (0, True)
    with sqlite3.connect(jobdir / "ledger.sqlite") as ledger:
        ledger.execute("DELETE FROM facts WHERE name = 'finished'")
    ledger.close()
    again = resumed(output, jobdir, site)
    assert (again.code, f"is of format 0, not {FORMAT}" in again.lines[-1]) == (1, True)


def test_a_job_that_is_no_job(portal, tmp_path):
    jobdir = tmp_path / "job"
    jobdir.mkdir()
    (jobdir / "ledger.sqlite").write_bytes(b"something else" * 500)
    again = resumed(tmp_path / "output", jobdir, portal(datasets=1))
    assert (again.code, "is no ledger" in again.lines[-1], "Traceback" in again.log) == (1, True, False)


def test_scrapyd_s_own_arguments_do_not_make_another_job(portal, tmp_path):
    site = portal(datasets=40)
    output, jobdir = tmp_path / "output", tmp_path / "job"
    killed = begun(output, jobdir, site, REQUESTS_PER_SECOND="40")
    killed.send_signal(signal.SIGKILL)
    killed.communicate()
    words = options(output, {"JOBDIR": str(jobdir)}, portal=site.url, _job="another")
    assert scrapy("crawl", "hdx", *words).returncode == 0


@pytest.fixture
def spider():
    return CKAN.from_crawler(get_crawler(CKAN), portal="https://example.org")


def test_a_request_comes_back_as_it_was(spider):
    request = Request(
        "https://example.org/?q=%C3%A9",
        method="POST",
        body=bytes(range(256)),
        headers={"Accept": ["a", "b"], "X-Odd": "é"},
        callback=spider.parse_page,
        errback=spider.lister.failed,
        cb_kwargs={"cursor": {"rows": 5, "last": None}},
        meta={"max_retry_times": 1},
        priority=3,
    )
    back = restored_request(stored_request(request, spider), spider)
    assert (back.callback, back.errback) == (request.callback, request.errback)
    plain = [one.replace(callback=None, errback=None).to_dict() for one in (back, request)]
    assert plain[0] == plain[1]


@pytest.mark.parametrize(
    "odd",
    [
        {"callback": lambda response: response},
        {"meta": {"page": object()}},
        {"cb_kwargs": {"pair": (1, 2)}},
        {"cb_kwargs": {"numbers": {1: 2}}},
        {"meta": {"raw": b"bytes"}},
    ],
    ids=["closure", "object", "tuple", "number as key", "bytes"],
)
def test_a_request_that_can_not_be_stored_is_refused_at_once(spider, odd):
    with pytest.raises((TypeError, ValueError)):
        stored_request(Request("https://example.org", **odd), spider)


OTHER_PROJECT = """
import scrapy


class Other(scrapy.Spider):
    name = "other"
    start_urls = ["{url}/api/3/action/package_list?limit=200"]

    def parse(self, response):
        for name in response.json()["result"]:
            yield response.follow("/api/3/action/package_show?id=" + name, self.parse_one)
        yield scrapy.Request("{url}/robots.txt", lambda response: None)

    def parse_one(self, response):
        yield {{"id": response.json()["result"]["id"]}}
"""


@pytest.mark.slow
def test_any_project_can_use_it_with_one_setting(portal, tmp_path):
    site = portal(datasets=150)
    (tmp_path / "other.py").write_text(OTHER_PROJECT.format(url=site.url))
    (tmp_path / "crawlers").symlink_to(ROOT / "crawlers")
    words = [
        "runspider",
        "other.py",
        "-sSCHEDULER=crawlers.components.scheduler.LedgerScheduler",
        "-sJOBDIR=job",
        "-sDOWNLOAD_DELAY=0.03",
    ]
    command = [sys.executable, "-m", "scrapy", *words, "-sDOWNLOAD_DELAY_JITTER=0"]
    killed = forked.Popen(command, cwd=tmp_path, stderr=subprocess.PIPE, text=True)
    until(lambda: site.requests("package_show") >= 40, unless=lambda: killed.poll() is not None)
    killed.kill()
    _, log = killed.communicate()
    asked = site.requests("package_show")
    done = forked.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=HANG, check=True)
    assert 150 <= site.requests("package_show") <= 150 + 16
    assert asked < 150
    assert "can't be stored" in log + done.stderr
