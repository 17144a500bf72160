"""Politeness, measured at the other end: what a host was asked, and when."""

from __future__ import annotations

import asyncio
import json
import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import pairwise
from types import SimpleNamespace
from unittest.mock import Mock

import pytest
from OpenSSL import SSL
from scrapy import Spider
from scrapy.core.downloader import Slot
from scrapy.exceptions import DownloadFailedError
from scrapy.http import Request, Response
from scrapy.robotstxt import ProtegoRobotParser
from scrapy.settings import Settings
from scrapy.utils.test import get_crawler
from twisted.internet.endpoints import HostnameEndpoint
from twisted.internet.error import ConnectionLost
from twisted.internet.protocol import Factory
from twisted.internet.testing import MemoryReactorClock
from twisted.python.failure import Failure
from twisted.web._newclient import ParseError
from twisted.web.client import ResponseFailed

from crawlers.components.politeness import failures
from crawlers.components.politeness import pace as pace_module
from crawlers.components.politeness import robots as robots_module
from crawlers.components.politeness import turns as turns_module
from crawlers.components.politeness.blocked import Blocked
from crawlers.components.politeness.pace import BackoffRetry, Downloader, Pace, Politeness, WaitTooLong, retry_after
from crawlers.components.politeness.robots import Robots, Rules
from crawlers.components.politeness.turns import TURN, Turns
from crawlers.components.scrapy_internals import wrap_twisted_exceptions
from crawlers.safety.locks import of_host, take
from crawlers.settings import ROBOTS_EXEMPT
from tests import forked
from tests.archives import Archives
from tests.conftest import ROOT, options
from tests.portal.counting import count
from tests.portal.files import CSV, Files, Reply
from tests.waiting import HANG, until

EXPORT = "download_metadata"
LISTING = "package_search"


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
        count()
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


def test_the_rate_is_kept(crawl, host):
    """41 gaps of 50 ms: no machine is too slow for a lower bound."""
    site = host(robots(200, "User-agent: *\nCrawl-delay: 10\n"), datasets=40)
    done = crawl("hdx", site, settings={"REQUESTS_PER_SECOND": "40", "CRAWL_DELAY_MAX": "0.05"})
    assert (done.code, site.requests()) == (0, 1 + 1 + 40), "robots.txt, the listing, the exports"
    assert site.times()[-1] - site.times()[0] > 1.6
    assert "robots.txt of 127.0.0.1 asks for a delay of 10 s; capped to 0.05 s by CRAWL_DELAY_MAX" in done.log


def test_a_crawl_delay_is_ignored_without_a_limit(crawl, host):
    done = crawl("hdx", host(robots(200, "User-agent: *\nCrawl-delay: 10\n")))
    assert (done.code, "asks for a delay" in done.log) == (0, False)


def test_a_crawl_delay_may_be_less_than_a_second(crawl, host):
    site = host(robots(200, "User-agent: *\nCrawl-delay: 0.01\n"), datasets=2)
    done = crawl("hdx", site, settings={"REQUESTS_PER_SECOND": "200", "CRAWL_DELAY_MAX": "5"})
    assert (done.code, "asks for a delay of 0.01 s" in done.log) == (0, True)


@pytest.mark.parametrize(("rate", "delay"), [("5", 0.2), ("0.5", 2), ("0", 0)])
def test_the_rate_is_the_delay_between_two_requests(rate, delay):
    settings = Settings({"REQUESTS_PER_SECOND": rate, "BOT_NAME": "x", "VERSION": "1"})
    Politeness().update_settings(settings)
    assert (settings.getfloat("DOWNLOAD_DELAY"), settings.getbool("AUTOTHROTTLE_ENABLED")) == (delay, delay > 0)


@pytest.mark.parametrize("wanted", [False, True])
def test_the_middleware_of_cookies_is_imported_where_there_are_cookies(wanted):
    cookies = "scrapy.downloadermiddlewares.cookies.CookiesMiddleware"
    settings = Settings({"REQUESTS_PER_SECOND": 2, "BOT_NAME": "x", "VERSION": "1", "COOKIES_ENABLED": wanted})
    Politeness().update_settings(settings)
    assert (cookies in settings["DOWNLOADER_MIDDLEWARES_BASE"]) == wanted


class Clock:
    """A time that passes when it is told to."""

    now = 1000.0

    def __call__(self):
        return self.now


def paced(**settings):
    """A pace whose host is "here", and its slot."""
    slot = Slot(8, 0.0, 0.0)
    downloader = SimpleNamespace(slots={"here": slot}, per_slot_settings={}, get_slot_key=lambda _: "here")
    crawler = SimpleNamespace(
        settings=Settings(settings),
        engine=SimpleNamespace(downloader=downloader),
        signals=SimpleNamespace(connect=lambda *_, **__: None),
        stats=SimpleNamespace(inc_value=lambda *_: None),
    )
    pace = Pace(crawler)
    pace.clock = pace.pauses.clock = Clock()
    slot.delay = pace.floor("here")
    return pace, slot


def answers(pace, seconds, *, count=1, latency=0.0, refusal=""):
    """So many answers, each so long after the one before."""
    for _ in range(count):
        pace.clock.now += seconds
        pace.answered(Request("http://here", meta={"download_latency": latency}), refusal=refusal)


def test_a_refusal_halves_the_rate_for_the_rest_of_the_run():
    pace, slot = paced(DOWNLOAD_DELAY=0.5)
    answers(pace, 1, count=100)
    assert slot.delay == 0.5
    answers(pace, 1, refusal="HTTP 429")
    assert (slot.delay, pace.crawler.engine.downloader.per_slot_settings["here"]["delay"]) == (1, 1)
    answers(pace, 1, refusal="HTTP 429")
    assert slot.delay == 2


def test_a_burst_of_refusals_halves_it_once():
    pace, slot = paced(DOWNLOAD_DELAY=0.5)
    answers(pace, 0.01, count=8, latency=1, refusal="HTTP 429")
    assert slot.delay == 1


def test_answers_raise_the_rate_again_a_little_at_a_time_and_never_above_what_is_set():
    pace, slot = paced(DOWNLOAD_DELAY=0.5)
    answers(pace, 1, refusal="HTTP 429")
    rates = []
    for _ in range(12):
        answers(pace, 1, count=20)
        rates.append(round(1 / slot.delay, 6))
    assert rates == [1.1, 1.2, 1.3, 1.4, 1.5, 1.6, 1.7, 1.8, 1.9, 2.0, 2.0, 2.0]
    pace.raise_floor("here", 3)
    answers(pace, 1, count=20)
    assert slot.delay == 3


def test_an_outage_full_of_refusals_is_not_felt_for_hours():
    """Each refusal halves the rate, and none the steps by which it rises again: 60 answers take half an hour."""
    pace, slot = paced(DOWNLOAD_DELAY=0.5)
    answers(pace, 100, count=10, refusal="HTTP 429")
    assert round(slot.delay) == 60
    answers(pace, 1, count=60)
    assert round(1 / slot.delay, 3) == round(1 / 60 + 0.3, 3)


def test_no_limit_is_one_after_a_refusal():
    pace, slot = paced()
    answers(pace, 0.01, count=50)
    assert (slot.delay, pace.floor("here")) == (0, 0)
    answers(pace, 0.01, refusal="HTTP 429")
    assert round(1 / slot.delay) == 50, "half of what it was asked"
    fresh, slot = paced()
    answers(fresh, 1, refusal="HTTP 429")
    assert slot.delay == 1


def test_no_refusal_makes_it_slower_than_one_a_minute():
    pace, slot = paced(DOWNLOAD_DELAY=0.5)
    answers(pace, 1000, count=50, refusal="HTTP 429")
    assert round(slot.delay) == 60


def test_the_pace_learns_what_a_portal_takes():
    """Of 1,000 requests to a portal that takes 20 a second; as fast as it went, 59 of 101 were refused."""
    pace, slot = paced()
    answers(pace, 0.01, count=20)
    refused = 0
    for _ in range(1000):
        seconds = max(slot.delay, 0.01)
        refused += seconds < 0.05
        answers(pace, seconds, refusal="HTTP 429" if seconds < 0.05 else "")
    assert 2 <= refused < 20
    assert 0.05 <= slot.delay < 0.1, "and asks it nearly as often"


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


# Pauses of a host


@pytest.mark.slow
def test_a_burst_of_429s_is_one_pause_of_the_host(crawl, host):
    site = host(for_a_while(429, {"Retry-After": "2"}, EXPORT, 6), datasets=30)
    done = crawl("hdx", site)
    assert (done.code, done.report["retries"]) == (0, 6)
    assert done.log.count("is paused") == 1
    assert "127.0.0.1 is paused for 2.0 s: HTTP 429, Retry-After" in done.log
    assert "'politeness/holds': 1," in done.log
    assert "'politeness/held_seconds': 2.0," in done.log
    assert "'politeness/slowdowns': 1," in done.log
    assert max(site.gaps()) > 1.8


def test_a_refusal_during_a_pause_is_of_an_earlier_request(monkeypatch):
    monkeypatch.setattr(pace_module, "call_later", lambda *_: None)
    pace, slot = paced(DOWNLOAD_DELAY=0.5)
    pace.crawler.stats = SimpleNamespace(
        inc_value=lambda *_: None, set_value=lambda *_: None, get_value=lambda _, default: default
    )
    answers(pace, 1, refusal="HTTP 429")
    pace.pauses.start("here", 2, "HTTP 429")
    answers(pace, 1, latency=0.1, refusal="HTTP 429")
    assert slot.delay == 1, "though its latency says that it was sent since"


def test_a_longer_wait_extends_a_pause(monkeypatch):
    pace, slot = paced()
    counted, waits = {}, []
    pace.crawler.stats = SimpleNamespace(
        inc_value=lambda name, count=1: counted.update({name: counted.get(name, 0) + count}),
        set_value=counted.__setitem__,
        get_value=lambda name, default=None: counted.get(name, default),
    )
    monkeypatch.setattr(pace_module, "call_later", lambda seconds, *_: waits.append(seconds))
    pace.pauses.start("here", 1, "HTTP 503")
    pace.clock.now += 0.5
    for seconds in (0.9, 2, 1, 2):
        pace.pauses.start("here", seconds, "HTTP 503")
    assert (waits, slot.lastseen) == ([1, 2], pace.clock.now + 2)
    assert counted["politeness/waits"] == {"here": "waits 2 s for here: HTTP 503"}
    assert (counted["politeness/holds"], counted["politeness/held_seconds"]) == (1, 2.5)
    monkeypatch.setattr(pace_module, "process_queue", lambda *_: None)
    pace.pauses._end("here", slot)
    assert (counted["politeness/waits"], "here" in pace.pauses) == ({}, False)


# Many hosts


@pytest.fixture
def files():
    with Files(hosts=5) as hosts:
        yield hosts


def test_what_is_redirected_keeps_the_rate_of_the_host_that_it_is_sent_to(tmp_path, files):
    archives = Archives(tmp_path, files)
    files.answers["/from/"] = lambda asked: Reply(status=302, headers=[("Location", files.url(asked.path[5:]))])
    files.answers["/n/"] = lambda _: Reply(CSV)
    archives.list([files.url(f"/from/n/{host}-{number}", host) for host in range(1, 5) for number in range(3)])
    done = archives.crawl({"REQUESTS_PER_SECOND": "8"})
    asked = files.requests("/n/")
    assert (done.code, len(asked), {one.host for one in asked}) == (0, 12, {"127.0.0.1"})
    assert asked[-1].time - asked[0].time > 0.75 * 11 / 8, "four hosts that keep their rates would take half as long"


def test_a_host_that_a_redirect_leads_to_is_the_one_that_is_paused(tmp_path, files):
    archives = Archives(tmp_path, files)
    files.answers["/from"] = lambda _: Reply(status=302, headers=[("Location", files.url("/busy", 2))])
    files.answers["/busy"] = lambda asked: Reply(CSV, 200 if asked.before else 429, [("Retry-After", "1")])
    archives.list([files.url("/from", 1)])
    done = archives.crawl()
    assert (done.code, re.findall(r"(\S+) is paused for 1.0 s", done.log)) == (0, ["127.0.0.3"])


@pytest.mark.parametrize(("slot", "kept"), [("127.0.0.1", {}), ("mine", {"download_slot": "mine"})])
def test_only_a_slot_that_scrapy_named_ends_with_the_request(slot, kept):
    request = Request("http://127.0.0.1:1/", meta={"download_slot": slot})
    paced()[0].request_left(request)
    assert request.meta == kept


@pytest.mark.slow
def test_hosts_that_are_paused_do_not_hold_up_the_others(tmp_path, files):
    archives = Archives(tmp_path, files)
    files.answers["/busy/"] = lambda asked: Reply(
        CSV, 503 if asked.time < files.log[0].time + 1 else 200, [("Retry-After", "3")]
    )
    files.answers["/good/"] = lambda _: Reply(CSV)
    busy = [files.url(f"/busy/{host}-{number}", host) for host in range(1, 5) for number in range(2)]
    archives.list(busy + [files.url(f"/good/{number}") for number in range(9)])
    done = archives.crawl({"CONCURRENT_REQUESTS": "5", "REQUESTS_PER_SECOND": "50"})
    again = [asked.time for asked in files.requests("/busy/") if asked.before]
    assert (done.code, len(again) >= 4, len(files.requests("/good/"))) == (0, True, 9)
    assert max(asked.time for asked in files.requests("/good/")) < min(again)


@pytest.mark.parametrize(
    ("waiting", "sent", "paused", "is_full"),
    [(0, 0, True, True), (3, 0, False, True), (3, 0, True, False), (3, 3, True, True), (300, 0, True, True)],
)
def test_what_waits_for_a_paused_host_holds_no_place_up_to_a_limit(waiting, sent, paused, is_full):
    """Of ten places, all are taken, or more: by requests that wait for one host, or are being sent, and by others'."""
    downloader, slot = object.__new__(Downloader), Slot(2, 0.0, 0.0)
    here = [Request("http://here/") for _ in range(waiting)]
    slot.transferring.update(here[:sent])
    downloader.active = {*here, *(Request("http://there/") for _ in range(10 - waiting))}
    downloader.total_concurrency, downloader.ip_concurrency, downloader.slots = 10, 0, {"here": slot}
    downloader.pace = SimpleNamespace(pauses={"here"} if paused else set())
    downloader.turns = SimpleNamespace(waiting=set())
    assert downloader.needs_backout() is is_full


@pytest.mark.slow
def test_hosts_whose_robots_txt_waits_do_not_hold_up_the_others(tmp_path, files):
    archives = Archives(tmp_path, files)
    files.answers["/robots.txt"] = lambda asked: Reply(
        status=503 if asked.host != "127.0.0.1" and not asked.before else 404, headers=[("Retry-After", "3")]
    )
    files.answers["/n/"] = lambda _: Reply(CSV)
    archives.list([files.url(f"/n/{host}-{number}", host) for number in range(9) for host in range(5)][:-9])
    done = archives.crawl({"CONCURRENT_REQUESTS": "5", "REQUESTS_PER_SECOND": "50", "ARCHIVE_ROBOTSTXT_OBEY": "1"})
    asked = files.requests("/n/")
    assert (done.code, len(asked), {one.host for one in asked[:8]}) == (0, 36, {"127.0.0.1"})


@pytest.mark.parametrize(("value", "seconds"), [("5", 5), (" 7 ", 7), ("7200", 7200), ("007", 7)])
def test_a_wait_in_seconds(value, seconds):
    assert retry_after(Response("http://x", headers={"Retry-After": value})) == seconds


@pytest.mark.parametrize("zone", ["GMT", "-0000"])
def test_a_date_to_wait_for(zone):
    later = format_datetime(datetime.now(UTC) + timedelta(seconds=1000), usegmt=True).replace("GMT", zone)
    assert 900 < retry_after(Response("http://x", headers={"Retry-After": later})) <= 1000


def test_no_wait_is_none():
    assert retry_after(Response("http://x")) == 0


@pytest.mark.parametrize(
    ("attempt", "least", "most"), [(0, 0.5, 1), (1, 1, 2), (3, 4, 8), (6, 30, 60), (10**6, 30, 60)]
)
def test_a_pause_doubles_up_to_a_limit(attempt, least, most):
    retry = object.__new__(BackoffRetry)
    retry.base, retry.cap = 1.0, 60.0
    pauses = [retry.pause(attempt) for _ in range(200)]
    assert least <= min(pauses) < least * 1.2
    assert most * 0.8 < max(pauses) <= most


@pytest.mark.parametrize(
    "value", ["0", "-5", "soon", "", "1e3", "99 bottles", "Fri, 31 Dec 1999 23:59:59 GMT", "²", "Mon, 99 Foo 2026", ","]
)
def test_a_wait_that_makes_no_sense_is_none(value):
    assert retry_after(Response("http://x", headers={"Retry-After": value})) == 0


def test_a_burst_counts_once_and_a_new_address_begins_with_the_shortest_pause():
    """The pause grows with the failures in a row, and with the retries of the address."""
    waits = []

    class Started(set):
        def start(self, _key, seconds, _reason):
            waits.append(seconds)

    pauses = Started()
    retry = object.__new__(BackoffRetry)
    retry.failures, retry.pause = {}, float
    retry.pace = SimpleNamespace(pauses=pauses)
    for times in (0, 1, 2, 0, 9):
        retry._back_off("here", Request("http://here", meta={"retry_times": times}), "HTTP 503")
    retry._back_off("here", Request("http://here"), "HTTP 503")
    pauses.add("here")
    retry._back_off("here", Request("http://here"), "HTTP 503")
    assert (waits, retry.failures) == ([0, 1, 2, 0, 4, 0], {"here": 6})


def slot(*urls):
    waiting = [(Request(url, meta={"download_slot": "a.org"}), None) for url in urls]
    return SimpleNamespace(queue=waiting, active=set(urls), transferring=set())


@pytest.fixture
def turns(tmp_path, monkeypatch):
    monkeypatch.setattr(turns_module, "create_looping_call", lambda _: Mock())
    crawler = get_crawler(Spider, {"JOBS_DIR": str(tmp_path)})
    crawler.spider = SimpleNamespace(crosses_hosts=True)
    turns = Turns(crawler, lambda key, reason: turns.told.append((key, bool(reason))))
    turns.told, turns.now = [], 1000.0
    turns.clock = lambda: turns.now
    return turns


def test_hosts_take_turns_port_by_port(turns, tmp_path):
    other = take(of_host(tmp_path, "a.org:8000"))
    assert turns.may_ask(slot("https://a.org/x", "http://a.org:80/y"))
    assert not turns.may_ask(slot("http://a.org/z", "http://a.org:8000/z"))
    assert turns.told == [("a.org", True)]
    os.close(other)
    assert turns.may_ask(slot("http://a.org:8000/z"))
    assert (turns.told, turns.waiting) == ([("a.org", True), ("a.org", False)], {})
    assert take(of_host(tmp_path, "a.org"), tries=1) is None
    turns.end()
    assert not [*(tmp_path / ".hosts").iterdir()]


def test_a_turn_ends_when_nothing_is_left_or_when_it_was_long(turns, tmp_path):
    idle, busy = slot("http://a.org/x"), slot("http://b.org/x")
    busy.transferring = {"one"}
    assert turns.may_ask(idle)
    assert turns.may_ask(busy)
    idle.active.clear()
    turns.look()
    assert list(turns.held) == ["a.org", "b.org"]  # the next request may come soon, and nobody else wants it
    turns.now += TURN
    turns.look()
    assert list(turns.held) == ["b.org"]
    assert turns.may_ask(busy)  # nobody waits for it
    assert take(of_host(tmp_path, "b.org"), tries=1) is None
    assert not turns.may_ask(busy)  # what is under way is waited for
    turns.look()
    assert list(turns.held) == ["b.org"]
    busy.transferring.clear()
    turns.look()
    assert (turns.held, turns.may_ask(busy)) == ({}, False)  # who waits for it has time to take it
    turns.now += 3
    assert (turns.may_ask(busy), turns.told) == (True, [])


def test_a_host_that_is_not_asked_is_given_to_who_wants_it(turns, tmp_path, monkeypatch):
    waits = [slot(f"http://{name}.org/x") for name in "abc"]
    assert all(map(turns.may_ask, waits))
    waits[0].active.clear()
    assert take(of_host(tmp_path, "a.org"), tries=1) is None
    assert take(of_host(tmp_path, "b.org"), tries=1) is None
    turns.look()
    assert list(turns.held) == ["b.org", "c.org"]
    waits[2].active.clear()
    assert turns.may_ask(slot("http://c.org/y"))  # in a slot of its own
    turns.now += TURN
    turns.look()
    assert list(turns.held) == ["c.org"]
    turns.held["c.org"].slot.active.clear()
    monkeypatch.setattr(turns_module, "_MOST", 0)
    turns.look()
    assert turns.held == {}


def test_two_crawls_do_not_wait_for_each_other_at_two_ports(turns, tmp_path):
    crawler = get_crawler(Spider, {"JOBS_DIR": str(tmp_path)})
    crawler.spider = SimpleNamespace(crosses_hosts=False)
    other = Turns(crawler, lambda *_: None)
    one, two = slot("http://a.org:1/x"), slot("http://a.org:2/x")
    assert turns.may_ask(one)
    assert other.may_ask(two)
    one.queue += slot("http://a.org:2/y").queue
    two.queue += slot("http://a.org:1/y").queue
    assert not turns.may_ask(one)
    assert other.may_ask(two)
    other.end()
    assert turns.may_ask(one)


class Elsewhere:
    """The hosts that several machines share, as a test has it."""

    def __init__(self) -> None:
        self.state: dict[str, str | None] = {}  # why they are not ours; None if they are
        self.called: set[str] = set()
        self.left = {}

    def may_ask(self, host):
        return self.state.setdefault(host, "") is None

    def why(self, host):
        return self.state[host]

    def is_called(self, host):
        return host in self.called

    def give_back(self, host, then):
        self.left[host] = then


def test_a_host_that_another_machine_asks_is_waited_for(turns, tmp_path):
    shared = turns.elsewhere = Elsewhere()
    one = slot("http://a.org/x")
    for state, may in (("", False), ("another machine asks it", False), (None, True)):
        shared.state["a.org"] = state
        assert (turns.may_ask(one), turns.told, set(turns.waiting)) == (
            may,
            [("a.org", True)] * (state != "") + [("a.org", False)] * may,
            {"a.org"} if state else set(),
        )
    turns.now += TURN
    turns.look()
    assert turns.may_ask(one), "nobody waits for it"
    shared.called.add("a.org")
    turns.look()
    assert (turns.may_ask(one), list(shared.left), turns.held) == (False, ["a.org"], {})
    assert take(of_host(tmp_path, "a.org"), tries=1) is None, "until it is given back elsewhere"
    shared.left.pop("a.org")()
    turns.now += 3
    one.active.clear()
    assert turns.may_ask(one)
    turns.look()
    assert list(turns.held) == ["a.org"], "a request may follow"
    turns.now += 3
    turns.look()
    assert list(shared.left) == ["a.org"]


def test_a_turn_begins_when_the_host_may_be_asked(turns):
    """Not when this machine's lock was taken, to wait for another machine's turn to end."""
    shared = turns.elsewhere = Elsewhere()
    one = slot("http://a.org/x")
    for why in ("the queue gives no answer", "another machine asks it"):
        shared.state["a.org"] = why
        assert not turns.may_ask(one)
        assert turns.waiting["a.org"] == why, "what is told is what holds now"
    turns.now += TURN
    shared.state["a.org"] = None
    shared.called.add("a.org")
    assert turns.may_ask(one)
    turns.now += TURN - 1
    assert turns.may_ask(one)
    turns.now += 1
    turns.look()
    assert not turns.may_ask(one)
    assert turns.waiting == {}, "it is this crawl that has it until it is given back"


def test_two_machines_do_not_wait_for_each_other_at_two_ports(turns):
    shared = turns.elsewhere = Elsewhere()
    shared.state = {"a.org:1": None, "a.org:2": ""}
    both = slot("http://a.org:1/x", "http://a.org:2/x")
    assert (turns.may_ask(both), shared.left) == (False, {}), "it may be ours in a moment"
    shared.state["a.org:2"] = "another machine asks it"
    assert (turns.may_ask(both), list(shared.left), list(turns.held)) == (False, ["a.org:1"], ["a.org:2"])


def test_a_crawl_of_a_harvest_waits_for_other_machines_too(tmp_path):
    crawler = get_crawler(Spider, {"JOBS_DIR": str(tmp_path), "HOST_TURNS": "False"})
    crawler.spider = SimpleNamespace(crosses_hosts=False)
    turns = Turns(crawler, lambda *_: None)
    turns.elsewhere = Elsewhere()
    assert not turns.may_ask(slot("http://a.org/x"))
    turns.elsewhere.state["a.org"] = None
    assert turns.may_ask(slot("http://a.org/x"))


@pytest.mark.parametrize(
    ("spider", "settings"), [({"crosses_hosts": False}, {"HOST_TURNS": "False"}), ({}, {})], ids=["harvested", "shell"]
)
def test_no_locks_are_taken_twice_or_by_other_commands(spider, settings, tmp_path):
    crawler = get_crawler(Spider, {"JOBS_DIR": str(tmp_path), **settings})
    crawler.spider = SimpleNamespace(**spider)
    assert Turns(crawler, lambda *_: None).may_ask(slot("http://a.org/x"))
    assert not [*tmp_path.iterdir()]


def test_a_lock_that_a_harvest_has_given_is_not_waited_for(turns, tmp_path):
    """One that began before an update does not set HOST_TURNS, and waits for the crawl's end."""
    lock = take(of_host(tmp_path, "a.org"))
    assert not turns.may_ask(slot("http://a.org/x"))
    os.set_inheritable(lock, True)
    assert turns.may_ask(slot("http://a.org/x"))
    os.close(lock)


def test_where_no_lock_can_be_made_hosts_are_asked_all_the_same(turns, tmp_path, caplog):
    (tmp_path / ".hosts").write_text("")
    assert turns.may_ask(slot("http://a.org/x"))
    assert "its lock can't be made" in caplog.text


@pytest.fixture
def retrying(monkeypatch):
    """The middleware, and what it tells the pace: answers and refusals in words, pauses in seconds."""
    said = []
    pauses = type("Pauses", (set,), {"start": lambda _, key, seconds, reason: said.append((seconds, reason))})()
    answered = lambda request, refusal="": said.append(refusal or "answered")  # noqa: E731
    pace = SimpleNamespace(key=lambda _: "here", pauses=pauses, answered=answered)
    monkeypatch.setattr(Pace, "installed", lambda _: pace)
    settings = {"RETRY_TIMES": 2, "RETRY_HTTP_CODES": [429, 500, 503], "RETRY_BACKOFF": 8, "RETRY_AFTER_MAX": 60}
    crawler = get_crawler(Spider, settings)
    crawler.spider = Spider.from_crawler(crawler, "one")
    retry = BackoffRetry.from_crawler(crawler)
    monkeypatch.setattr(retry, "pause", lambda attempt: attempt)
    return retry, said


@pytest.mark.parametrize(
    ("status", "headers", "expected"),
    [
        (200, {}, ["answered"]),
        (404, {}, ["answered"]),
        (500, {}, [(0, "HTTP 500, back-off")]),
        (503, {}, [(0, "HTTP 503, back-off")]),
        (429, {}, ["HTTP 429", (0, "HTTP 429, back-off")]),
        (503, {"Retry-After": "9"}, ["HTTP 503", (9, "HTTP 503, Retry-After"), (0, "HTTP 503, back-off")]),
        (500, {"Retry-After": "9"}, [(9, "HTTP 500, Retry-After"), (0, "HTTP 500, back-off")]),
    ],
)
def test_what_an_answer_means_for_its_host(retrying, status, headers, expected):
    """A failure is asked for again after a pause; a refusal slows the host down; all else is an answer."""
    retry, said = retrying
    request = Request("http://here")
    response = Response("http://here", status=status, headers=headers)
    outcome = retry.process_response(request, response)
    assert said == expected
    if "answered" in expected:
        assert outcome is response
    else:
        assert (outcome.url, outcome.meta["retry_times"], retry.failures) == (request.url, 1, {"here": 1})


def test_an_answer_ends_a_row_of_failures_and_one_of_the_cache_tells_nothing_of_the_host(retrying):
    retry, said = retrying
    retry.failures["here"] = 3
    cached = Response("http://here", flags=["cached"])
    assert retry.process_response(Request("http://here"), cached) is cached
    assert (said, retry.failures) == ([], {})


def test_after_the_last_retry_the_failure_is_the_answer(retrying):
    retry, said = retrying
    failed = Response("http://here", status=500)
    assert retry.process_response(Request("http://here", meta={"retry_times": 2}), failed) is failed
    assert said == []


def test_a_wait_beyond_the_limit_is_given_up(retrying):
    retry, said = retrying
    with pytest.raises(WaitTooLong):
        retry.process_response(Request("http://here"), Response("http://here", status=429, headers={"Retry-After": 61}))
    assert said == ["HTTP 429"]


def test_a_back_off_grows(crawl, host):
    site = host(for_a_while(503, {"Retry-After": "0"}, LISTING, 3))
    done = crawl("ckan", site, settings={"RETRY_BACKOFF": "0.4"})
    first, second, third = (float(wait) for wait in re.findall(r"paused for ([\d.]+) s: HTTP 503, back-off", done.log))
    assert (done.code, 0.2 <= first <= 0.4 <= second <= 0.8 <= third <= 1.6) == (0, True)


def test_a_wait_that_is_too_long_is_no_wait(crawl, host):
    site = host(for_a_while(503, {"Retry-After": "7200"}, LISTING, 99))
    done = crawl("ckan", site)
    assert (done.code, done.kinds(), site.requests()) == (4, [("list", "blocked")], 1)
    assert "the portal asks to wait 7200 s, longer than RETRY_AFTER_MAX" in done.errors[0]["error"]


def test_a_crawl_that_waits_is_stopped_at_once_and_goes_on_later(crawl, host, output):
    site = host(for_a_while(503, {"Retry-After": "3000"}, EXPORT, 99))  # if it waits, this test hangs
    jobdir = {"JOBDIR": str(output.parent / "job")}
    command = [sys.executable, "-m", "scrapy", "crawl", "hdx", *options(output, jobdir, portal=site.url)]
    process = forked.Popen(command, cwd=ROOT, stderr=subprocess.PIPE, text=True)
    until(lambda: site.requests(EXPORT) == 6, unless=lambda: process.poll() is not None)
    time.sleep(0.5)
    process.send_signal(signal.SIGINT)
    _, log = process.communicate(timeout=HANG)
    assert (process.returncode, site.requests(EXPORT)) == (130, 6)
    assert "Traceback" not in log
    site.instead = lambda *_: None
    done = crawl("hdx", site, settings=jobdir)
    assert (done.code, done.errors, done.report["counts"]["fallback"]) == (0, [], 0), "what was not sent is no failure"
    assert len(done.documents("resource_metadata")) == 6


# robots.txt


def robot(**attributes):
    """The middleware without a crawl."""
    made = object.__new__(Robots)
    made.rules, made.exempt_paths, made.exempt_hosts = {}, [re.compile(one) for one in ROBOTS_EXEMPT], {"named.example"}
    made.crawler = SimpleNamespace(spider=SimpleNamespace(portal="https://portal.example/"))
    for name, value in attributes.items():
        setattr(made, name, value)
    return made


@pytest.mark.parametrize("status", [429, 500, 503, 599])
def test_a_robots_txt_that_fails_forbids_everything(status):
    counted = SimpleNamespace(inc_value=lambda *_: None)
    made = robot(_stats=counted)
    rules = asyncio.run(made._read(Response("http://x/robots.txt", status=status), Request("http://x/a")))
    assert rules.refusal("x", "http://x/a", "me") == (
        f"robots.txt of x is unreachable (HTTP {status}), so nothing is requested until it answers"
    )


@pytest.mark.parametrize("status", [300, 404])
def test_a_robots_txt_that_is_not_there_forbids_nothing(status):
    made = robot(_stats=SimpleNamespace(inc_value=lambda *_: None))
    response = Response("http://x/robots.txt", status=status, body=FORBIDDEN.encode())
    rules = asyncio.run(made._read(response, Request("http://x/a")))
    assert rules.refusal("x", "http://x/a", "me") is None


@pytest.mark.parametrize(
    ("url", "exempt"),
    [
        ("https://portal.example/api/3/action/package_show?id=1", True),
        ("http://named.example:80/api/action/package_search", True),
        ("https://other.example/api/3/action/package_show", False),
        ("https://portal.example.evil.test/api/3/action/package_show", False),
        ("https://portal.example/dataset/a", False),
        ("https://portal.example/x?/api/3/action/package_show", False),
    ],
)
def test_the_api_is_exempt_at_the_hosts_that_the_user_named(url, exempt):
    assert robot().exempt(Request(url)) is exempt


def test_a_robots_txt_that_failed_is_asked_for_again_after_a_while_and_one_that_was_read_never(monkeypatch):
    clock, asked = Clock(), []
    monkeypatch.setattr(robots_module, "monotonic", clock)

    async def fetched(request):
        asked.append(request.url)
        return made._unreachable("fails", "HTTP 503") if "fails" in request.url else Rules()

    made = robot(_fetch=fetched)

    async def requests():
        for seconds in (0, 299, 2, 10_000):
            clock.now += seconds
            for url in ("http://fails/a", "http://read/a"):
                await made.of_host(Request(url))

    asyncio.run(requests())
    assert asked == ["http://fails/a", "http://read/a", "http://fails/a", "http://fails/a"]


def test_a_robots_txt_at_a_forbidden_address_is_unreachable(crawl, host):
    """A redirect into the private network: not as good as none."""
    site = host(lambda _, path: (302, {"Location": "http://10.0.0.1/robots.txt"}, b"") if "robots" in path else None)
    done = crawl("hdx", site)
    assert (site.requests(EXPORT), done.report["counts"]["fallback"]) == (0, 6)
    assert "robots.txt of 127.0.0.1:" in done.log
    assert "is unreachable (10.0.0.1:80 leads to 10.0.0.1, which is not public" in done.log


@pytest.mark.parametrize(
    ("status", "reason", "asked"),
    [
        (200, "robots.txt of 127.0.0.1:{port} disallows this address", 1),
        (503, "robots.txt of 127.0.0.1:{port} is unreachable (HTTP 503)", 2),
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


FORBIDDEN = "User-agent: *\nDisallow: /\n"


@pytest.mark.parametrize(
    ("status", "text", "is_allowed"),
    [
        (200, FORBIDDEN, False),
        (404, FORBIDDEN, True),
        (403, "no", True),
        (302, FORBIDDEN, True),
        (200, "# long\n" * 80_000 + FORBIDDEN, True),
        (200, "<html><body>Welcome</body></html>", True),
    ],
    ids=["forbidden", "404", "403", "302", "behind 512 KiB", "a page"],
)
def test_what_robots_txt_does_not_say_is_allowed(status, text, is_allowed):
    async def sent(**_):
        return None

    made = robot(_stats=SimpleNamespace(inc_value=lambda *_: None), _parserimpl=ProtegoRobotParser, longest=0)
    made._robotstxt_useragent = "me"
    made.crawler.signals = SimpleNamespace(send_catch_log_async=sent)
    answer = Response("http://x/robots.txt", status=status, body=text.encode())
    rules = asyncio.run(made._read(answer, Request("http://x/a")))
    assert (rules.refusal("x", "http://x/a", "me") is None) is is_allowed


def test_without_a_robots_txt_everything_is_asked_for(crawl, host):
    site = host(robots(404, FORBIDDEN))
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
    assert "with CONTACT set" in done.lines[-3]


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
    assert (
        "127.0.0.1 gets no more requests in this run: the portal refused access (HTTP 403), 3 times in a row"
        in done.log
    )


def test_a_challenge_is_not_retried(crawl, host):
    site = host(lambda *_: (503, {"cf-mitigated": "challenge"}, b"<html>Just a moment</html>"))
    done = crawl("ckan", site)
    assert (done.code, done.kinds(), site.requests()) == (4, [("list", "blocked")], 1)


def test_an_api_that_blocks_is_asked_no_more(crawl, host):
    site = host(
        lambda _, path: (202, {"x-amzn-waf-action": "challenge"}, b"") if "_show" in path else None, datasets=40
    )
    done = crawl("ckan", site, level="resource", settings={"CONCURRENT_REQUESTS": "1"})
    assert (done.code, done.report["verdict"], len(done.errors)) == (4, "blocked", 40)
    assert site.requests("_show") == 3
    assert {kind for _, kind in done.kinds()} == {"blocked"}


@pytest.mark.parametrize("fault", ["waf", "forbidden"])
def test_exports_that_are_blocked_while_the_api_works(crawl, portal, fault):
    site = portal(datasets=20, faults=(f"{fault}={EXPORT}",))
    done = crawl("hdx", site, settings={"REQUESTS_PER_SECOND": "50", "CONCURRENT_REQUESTS": "2"})
    assert (done.code, done.report["verdict"], done.report["counts"]["fallback"]) == (0, "complete", 60)
    assert site.requests(EXPORT) <= 3 + 1, "one may be on its way when the third answer comes"
    assert done.log.count("127.0.0.1, route export, gets no more requests in this run") == 1


def blocked(after=3):
    """The middleware without a crawl, and a function that gives it an answer; it returns whether the host is left."""
    made = object.__new__(Blocked)
    made.after, made.longest, made.refusals, made.blocked = after, 60, Counter(), {}
    made.crawler = SimpleNamespace(stats=SimpleNamespace(inc_value=lambda _: None))
    made.pace = SimpleNamespace(key=lambda _: "here", dismiss=lambda *_: None)

    def answer(status, route="", body=b"<html>no", **headers):
        request = Request("http://here/a", meta={"route": route})
        made.process_response(request, Response("http://here/a", status=status, body=body, headers=headers))
        return made.refusal(request) is not None

    return made, answer


@pytest.mark.parametrize("between", [200, 301, 404])
def test_an_answer_between_refusals_resets_their_count(between):
    _, answer = blocked()
    assert [answer(status) for status in (403, 403, between, 403, 403, 403)] == [False] * 5 + [True]


@pytest.mark.parametrize("between", [429, 500, 503])
def test_an_outage_between_refusals_does_not_reset_their_count(between):
    _, answer = blocked()
    assert [answer(status) for status in (403, 403, between, 403)] == [False] * 3 + [True]


def test_exports_are_blocked_apart_from_the_host():
    made, answer = blocked()
    assert [answer(403, "export") for _ in range(3)] == [False, False, True]
    assert made.refusal(Request("http://here/b")) is None
    assert [answer(403, "show") for _ in range(3)] == [False, False, True], "any other route is the host's"
    assert made.refusal(Request("http://here/b")) is not None


def test_no_host_is_blocked_where_that_is_switched_off():
    _, answer = blocked(after=0)
    assert [answer(403) for _ in range(9)] == [False] * 9


@pytest.mark.parametrize(
    ("status", "given", "is_refused"),
    [
        (403, {"body": b' {"success": false}'}, False),
        (200, {"body": b"<html>are you not a robot?"}, True),
        (200, {"body": b'"not a robot"'}, False),
        (202, {"body": b"", "cf-mitigated": "challenge"}, True),
        (429, {"Retry-After": "60"}, False),
        (429, {"Retry-After": "61"}, True),
        (500, {"Retry-After": "61"}, False),
    ],
)
def test_what_is_a_refusal(status, given, is_refused):
    assert blocked(after=1)[1](status, **given) is is_refused


def test_a_success_between_refusals_resets_their_count(crawl, host):
    def refuse(_host, path):
        return (403, {}, b"<html>no") if EXPORT in path and int(path.split("/")[2][1:]) % 3 else None

    site = host(refuse, datasets=15)
    done = crawl("hdx", site, settings={"REQUESTS_PER_SECOND": "50", "CONCURRENT_REQUESTS": "1"})  # in their order
    assert (done.code, done.report["counts"]["fallback"], site.requests(EXPORT)) == (0, 10, 15)


def test_a_403_in_json_is_about_a_record(crawl, host):
    site = host(lambda _, path: (403, {}, b'{"success": false}') if "_show" in path else None)
    done = crawl("ckan", site, level="resource")
    assert (done.code, site.requests("_show"), {kind for _, kind in done.kinds()}) == (3, 6, {"http"})


def test_a_user_agent_that_hdx_refuses_is_warned_of(crawl, host):
    done = crawl("ckan", host(lambda *_: None), settings={"USER_AGENT": "my-Harvester/1"})
    assert "WARNING: HDX and others refuse a user agent with 'harvester' in it: my-Harvester/1" in done.log


def test_a_host_name_that_can_be_none_is_no_bug():
    with pytest.raises(UnicodeEncodeError) as unwritable:
        "\xfc.org".encode("ascii")
    assert failures.from_error(unwritable.value).kind == "dns"
    found = []
    HostnameEndpoint(MemoryReactorClock(), b"a%20b", 80).connect(Factory()).addErrback(found.append)
    error = failures.from_error(found[0].value)
    assert (error.kind, str(error)) == ("dns", "the host name can't be resolved: it is none")


@pytest.mark.parametrize(
    ("reason", "said"),
    [
        (ParseError("non-integer status code", b"\0\1"), "what came is not HTTP"),
        (ConnectionLost(), "the host broke it off"),
        (SSL.Error([("SSL routines", "", "tlsv1 alert protocol version")]), "tlsv1 alert protocol version"),
        (OSError("odd."), "odd"),
    ],
)
def test_a_failure_is_told_in_words_and_not_as_an_object(reason, said):
    with pytest.raises(DownloadFailedError) as found, wrap_twisted_exceptions():
        raise ResponseFailed([Failure(reason)])
    assert str(failures.from_error(found.value)) == f"the connection failed ({said})"
