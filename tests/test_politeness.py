"""Politeness, measured at the other end: what a host was asked, and when."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import threading
import time
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import pairwise
from types import SimpleNamespace

import pytest
from scrapy.core.downloader import Slot
from scrapy.http import Response
from scrapy.settings import Settings

from crawlers.politeness.pace import Pace
from crawlers.politeness.retry import retry_after
from tests.conftest import ROOT, options
from tests.waiting import HANG

EXPORT = "download_metadata"
LISTING = "package_search"

# A busy machine notes a request late once in a while. What the crawl itself does wrong, it does three times.
by_the_clock = pytest.mark.flaky(reruns=2, only_rerun="AssertionError")


class Host(ThreadingHTTPServer):
    """The smallest CKAN: a page of datasets with a resource each, and whatever `instead` answers first.

    Attributes:
        instead: (host, path) -> (status, headers, body), or ``None``.
        asked: (time, path) of each request.
    """

    daemon_threads = True
    request_queue_size = 128

    def __init__(self, instead, datasets=6):
        super().__init__(("127.0.0.1", 0), Handler)
        self.instead, self.datasets, self.asked = instead, datasets, []
        self.url = f"http://127.0.0.1:{self.server_port}"
        threading.Thread(target=self.serve_forever, args=(0.05,), daemon=True).start()

    def answer(self, path):
        self.asked.append((time.monotonic(), path))
        return self.instead(self, path) or self.usual(path)

    def usual(self, path):
        if LISTING in path:
            return reply({"count": self.datasets, "results": [package(number) for number in range(self.datasets)]})
        if "resource_show" in path:
            return reply({"id": path.split("=")[1]})
        if EXPORT in path:
            return 200, {}, json.dumps({"id": path.split("/")[4]}).encode()
        return 404, {}, b"no such page"

    def times(self, part=""):
        return [when for when, path in self.asked if part in path]

    def gaps(self, part=""):
        return [after - before for before, after in pairwise(self.times(part))]

    def requests(self, part=""):
        return len(self.times(part))


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def do_GET(self):
        status, headers, body = self.server.answer(self.path)
        self.send_response(status)
        for name, value in {**headers, "Content-Length": len(body)}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def do_POST(self):
        self.rfile.read(int(self.headers.get("Content-Length", 0)))
        self.do_GET()

    def log_message(self, *words):
        pass


def package(number):
    return {"id": f"d{number}", "name": f"d{number}", "title": "D", "resources": [{"id": f"r{number}", "name": "R"}]}


def reply(result):
    return 200, {"Content-Type": "application/json"}, json.dumps({"success": True, "result": result}).encode()


def for_a_while(status, headers, part, times):
    """The first so many requests for a part of the host are answered so; headers may be a function."""

    def instead(host, path):
        if part in path and host.requests(part) <= times:
            return status, headers() if callable(headers) else headers, b"not now"
        return None

    return instead


def robots(status, text):
    return lambda _host, path: (status, {"Content-Type": "text/plain"}, text.encode()) if "robots" in path else None


@pytest.fixture
def host():
    started = []

    def start(instead, **keywords):
        started.append(Host(instead, **keywords))
        return started[-1]

    yield start
    for one in started:
        one.shutdown()
        one.server_close()


# How fast


@by_the_clock
def test_the_rate_is_kept(crawl, host):
    site = host(lambda *_: None)
    done = crawl("hdx", site, settings={"REQUESTS_PER_SECOND": "5"})
    assert (done.code, site.requests()) == (0, 1 + 1 + 6), "robots.txt, the listing, six exports"
    assert min(site.gaps()) > 0.18


@by_the_clock
def test_a_crawl_delay_is_capped_and_autothrottle_never_undercuts_it(crawl, host):
    site = host(robots(200, "User-agent: *\nCrawl-delay: 10\n"), datasets=8)
    done = crawl("hdx", site, settings={"REQUESTS_PER_SECOND": "20", "CRAWL_DELAY_MAX": "0.3"})
    assert done.code == 0
    assert min(site.gaps()[1:]) > 0.28
    assert max(site.gaps()[1:]) < 1
    assert "127.0.0.1 asks for 10 s between requests; kept are 0.3 s (CRAWL_DELAY_MAX)" in done.log


@by_the_clock
def test_a_crawl_delay_is_ignored_without_a_limit(crawl, host):
    site = host(robots(200, "User-agent: *\nCrawl-delay: 10\n"))
    assert crawl("hdx", site).code == 0
    assert site.times()[-1] - site.times()[0] < 2


def test_a_floor_outlives_its_slot():
    downloader = SimpleNamespace(slots={"here": Slot(8, 0.5, 0.5)}, per_slot_settings={})
    crawler = SimpleNamespace(
        settings=Settings({"DOWNLOAD_DELAY": 0.5}),
        engine=SimpleNamespace(downloader=downloader),
        signals=SimpleNamespace(connect=lambda *_, **__: None),
    )
    pace = Pace(crawler)
    assert pace.floor("here") == 0.5
    pace.raise_floor("here", 2)
    pace.raise_floor("here", 1)
    assert (downloader.slots["here"].delay, downloader.per_slot_settings["here"]["delay"]) == (2, 2)
    assert (pace.floor("here"), pace.floor("there")) == (2, 0.5)


# Leaving a host alone


@by_the_clock
def test_a_burst_of_429s_is_one_pause_of_the_host(crawl, host):
    site = host(for_a_while(429, {"Retry-After": "2"}, EXPORT, 6), datasets=30)
    done = crawl("hdx", site)
    assert (done.code, done.report["retries"]) == (0, 6)
    assert done.log.count("is left alone") == 1
    assert "127.0.0.1 is left alone for 2.0 s: HTTP 429, Retry-After" in done.log
    assert "'politeness/holds': 1," in done.log
    assert "'politeness/held_seconds': 2.0," in done.log
    pauses = [gap for gap in site.gaps() if gap > 0.5]
    assert len(pauses) == 1
    assert 1.8 < pauses[0] < 2.5


@by_the_clock
def test_a_longer_wait_extends_a_pause(crawl, host):
    seconds = iter(["1", "2", "1", "2"])
    site = host(for_a_while(503, lambda: {"Retry-After": next(seconds)}, EXPORT, 4))
    done = crawl("hdx", site)
    assert done.code == 0
    assert "'politeness/holds': 1," in done.log
    assert 1.8 < max(site.gaps()) < 2.5


@by_the_clock
def test_a_date_to_wait_for(crawl, host):
    def later():
        return {"Retry-After": format_datetime(datetime.now(UTC) + timedelta(seconds=2.5), usegmt=True)}

    site = host(for_a_while(503, later, LISTING, 1))
    assert crawl("ckan", site).code == 0
    assert 1.4 < site.gaps()[0] < 3


@pytest.mark.parametrize(
    "value", ["0", "-5", "soon", "", "1e3", "99 bottles", "Fri, 31 Dec 1999 23:59:59 GMT", "²", "Mon, 99 Foo 2026", ","]
)
def test_a_wait_that_makes_no_sense_is_none(value):
    assert retry_after(Response("http://x", headers={"Retry-After": value})) == 0


@by_the_clock
def test_a_back_off_grows(crawl, host):
    site = host(for_a_while(503, {"Retry-After": "0"}, LISTING, 3))
    assert crawl("ckan", site, settings={"RETRY_BACKOFF": "0.4"}).code == 0
    first, second, third = site.gaps()
    assert 0.18 < first < 0.6
    assert 0.38 < second < 1.0
    assert 0.78 < third < 1.8


def test_a_wait_that_is_too_long_is_no_wait(crawl, host):
    site = host(for_a_while(503, {"Retry-After": "7200"}, LISTING, 99))
    done = crawl("ckan", site)
    assert (done.code, done.kinds(), site.requests()) == (4, [("list", "blocked")], 1)
    assert "the portal asks to wait 7200 s, longer than RETRY_AFTER_MAX" in done.errors[0]["error"]


def test_a_crawl_that_waits_is_stopped_at_once_and_goes_on_later(crawl, host, output):
    site = host(for_a_while(503, {"Retry-After": "60"}, EXPORT, 99))
    jobdir = {"JOBDIR": str(output.parent / "job")}
    command = [sys.executable, "-m", "scrapy", "crawl", "hdx", *options(output, jobdir, portal=site.url)]
    process = subprocess.Popen(command, cwd=ROOT, stderr=subprocess.PIPE, text=True)
    deadline = time.monotonic() + 30
    while site.requests(EXPORT) < 6 and time.monotonic() < deadline:
        time.sleep(0.05)
    time.sleep(0.5)
    begin = time.monotonic()
    process.send_signal(signal.SIGINT)
    _, log = process.communicate(timeout=HANG)
    assert time.monotonic() - begin < 30
    assert (process.returncode, site.requests(EXPORT)) == (130, 6)
    assert "Traceback" not in log
    site.instead = lambda *_: None
    done = crawl("hdx", site, settings=jobdir)
    assert (done.code, done.errors, done.report["counts"]["fallback"]) == (0, [], 0), "what was not sent is no failure"
    assert len(done.documents("resource_metadata")) == 6


# robots.txt


@pytest.mark.parametrize(
    ("status", "reason", "asked"),
    [
        (200, "robots.txt of 127.0.0.1:{port} disallows this address", 1),
        (503, "robots.txt of 127.0.0.1:{port} can't be had (HTTP 503)", 2),
    ],
)
def test_what_robots_txt_disallows_is_not_asked_for(crawl, host, status, reason, asked):
    site = host(robots(status, "User-agent: *\nDisallow: /dataset/\nDisallow: /api/\n"))
    done = crawl("hdx", site, settings={"RETRY_TIMES": "1", "REQUESTS_PER_SECOND": "50"})
    assert (done.code, done.report["counts"]["fallback"]) == (0, 6), "the documented API is exempt"
    assert (site.requests("robots.txt"), site.requests(EXPORT)) == (asked, 0)
    reasons = [document["_fallback_reason"] for document in done.documents("resource_metadata").values()]
    assert all(reason.format(port=site.server_port) in one for one in reasons)
    assert done.report["robots_exempt"] == 7


def test_what_is_not_exempt_is_an_error(crawl, host):
    site = host(robots(200, "User-agent: *\nDisallow: /api/\n"))
    done = crawl("ckan", site, settings={"ROBOTS_EXEMPT": ""})
    assert (done.code, done.kinds(), site.requests()) == (4, [("list", "robots")], 1)


@pytest.mark.parametrize(
    ("status", "text"),
    [
        (404, "User-agent: *\nDisallow: /\n"),
        (403, "no"),
        (200, "# long\n" * 80_000 + "User-agent: *\nDisallow: /\n"),
        (200, "<html><body>Welcome</body></html>"),
    ],
    ids=["404", "403", "behind 512 KiB", "a page"],
)
def test_what_robots_txt_does_not_say_is_allowed(crawl, host, status, text):
    site = host(robots(status, text))
    done = crawl("hdx", site)
    assert (done.code, done.report["counts"]["fallback"], site.requests(EXPORT)) == (0, 0, 6)


def test_robots_txt_is_not_asked_for_when_it_changes_nothing(crawl, host):
    site = host(robots(200, "User-agent: *\nDisallow: /api/\nCrawl-delay: 10\n"))
    done = crawl("ckan", site)
    assert (done.code, site.requests(), done.report["robots_exempt"]) == (0, 1, 1)


# Blocked


def test_a_blocked_listing(crawl, portal):
    site = portal(datasets=20, faults=(f"waf={LISTING}",))
    done = crawl("ckan", site)
    assert (done.code, done.report["verdict"], done.kinds()) == (4, "blocked", [("list", "blocked")])
    assert site.requests() <= 4
    assert "set CONTACT" in done.lines[-3].replace("Set", "set")


def test_a_listing_cut_by_a_block(crawl, portal):
    site = portal()
    site.fault(waf=site.ids()[199])
    done = crawl("ckan", site)
    assert (done.code, done.report["verdict"], len(done.documents())) == (4, "blocked", 200)


def test_a_host_that_refuses_everything(crawl, host):
    site = host(lambda *_: (403, {"Content-Type": "text/html"}, b"<html>Forbidden</html>"))
    done = crawl("ckan", site)
    assert (done.code, done.report["verdict"], done.kinds()) == (4, "blocked", [("list", "blocked")])
    assert site.requests() == 3
    assert "127.0.0.1 is left alone from now on: the portal refused access (HTTP 403), 3 times in a row" in done.log


def test_a_challenge_is_not_retried(crawl, host):
    site = host(lambda *_: (503, {"cf-mitigated": "challenge"}, b"<html>Just a moment</html>"))
    done = crawl("ckan", site)
    assert (done.code, done.kinds(), site.requests()) == (4, [("list", "blocked")], 1)


@by_the_clock
def test_an_api_that_blocks_is_asked_no_more(crawl, host):
    site = host(
        lambda _, path: (202, {"x-amzn-waf-action": "challenge"}, b"") if "_show" in path else None, datasets=40
    )
    done = crawl("ckan", site, level="resource", settings={"REQUESTS_PER_SECOND": "20"})
    assert (done.code, done.report["verdict"], len(done.errors)) == (4, "blocked", 40)
    assert site.requests("_show") == 3
    assert {kind for _, kind in done.kinds()} == {"blocked"}


@pytest.mark.parametrize("fault", ["waf", "forbidden"])
def test_exports_that_are_blocked_while_the_api_works(crawl, portal, fault):
    site = portal(datasets=20, faults=(f"{fault}={EXPORT}",))
    done = crawl("hdx", site, settings={"REQUESTS_PER_SECOND": "50", "CRAWL_DELAY_MAX": "0"})
    assert (done.code, done.report["verdict"], done.report["counts"]["fallback"]) == (0, "complete", 60)
    assert site.requests(EXPORT) <= 3 + 1, "one may be on its way when the third answer comes"
    assert done.log.count("127.0.0.1, route export, is left alone from now on") == 1


def test_a_success_between_refusals_resets_their_count(crawl, host):
    def refuse(_host, path):
        return (403, {}, b"<html>no") if EXPORT in path and int(path.split("/")[2][1:]) % 3 else None

    site = host(refuse, datasets=15)
    done = crawl("hdx", site, settings={"REQUESTS_PER_SECOND": "50"})
    assert (done.code, done.report["counts"]["fallback"], site.requests(EXPORT)) == (0, 10, 15)


def test_a_403_in_json_is_about_a_record(crawl, host):
    site = host(lambda _, path: (403, {}, b'{"success": false}') if "_show" in path else None)
    done = crawl("ckan", site, level="resource")
    assert (done.code, site.requests("_show"), {kind for _, kind in done.kinds()}) == (3, 6, {"http"})


def test_a_user_agent_that_hdx_refuses_is_warned_of(crawl, host):
    done = crawl("ckan", host(lambda *_: None), settings={"USER_AGENT": "my-Harvester/1"})
    assert "WARNING: HDX and others refuse a user agent with 'harvester' in it: my-Harvester/1" in done.log
