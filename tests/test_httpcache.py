"""The HTTP cache: what is kept, what is used again, and that nothing is which should not be."""

from __future__ import annotations

import gzip
import hashlib
import json
import os
import signal
import sqlite3
import subprocess
import sys
import time
from contextlib import closing

import pytest
from scrapy import Request, Spider
from scrapy.http import HtmlResponse, JsonResponse, Response
from scrapy.settings import Settings
from scrapy.utils.request import fingerprint
from scrapy.utils.test import get_crawler

from crawlers.components.httpcache import AcceptFingerprinter, Policy, SqliteStorage
from tests import forked
from tests.conftest import ROOT
from tests.site import Answer, Asked, Site, redirect
from tests.waiting import HANG, until

URL = "https://example.org/catalogue"
HTML = "text/html; charset=utf-8"
ROBOT_CHECK = b"<!doctype html><title>Please verify that you're not a robot</title>"

PROBE = """
import json
from pathlib import Path
from scrapy import Request, Spider

class Probe(Spider):
    name = "probe"

    async def start(self):
        for asked in json.loads(Path("requests.json").read_text()):
            yield Request(**asked, dont_filter=True, callback=self.parse, errback=self.failed)

    def parse(self, response):
        yield {"url": response.url, "body": response.text, "flags": response.flags}

    def failed(self, failure):
        yield {"failed": repr(failure.value)}

    def closed(self, reason):
        Path("stats.json").write_text(json.dumps(self.crawler.stats.get_stats(), default=str))
"""


class Probe:
    """A spider of no project, with the settings that docs/httpcache.md gives for one."""

    def __init__(self, folder):
        self.folder = folder
        (folder / "probe.py").write_text(PROBE)

    def command(self, **settings):
        chosen = {
            "HTTPCACHE_ENABLED": "1",
            "HTTPCACHE_DIR": str(self.folder / "cache"),
            "HTTPCACHE_POLICY": "crawlers.components.httpcache.Policy",
            "HTTPCACHE_STORAGE": "crawlers.components.httpcache.SqliteStorage",
            "REQUEST_FINGERPRINTER_CLASS": "crawlers.components.httpcache.AcceptFingerprinter",
            "DOWNLOADER_MIDDLEWARES": json.dumps(
                {
                    "scrapy.downloadermiddlewares.httpcache.HttpCacheMiddleware": None,
                    "crawlers.components.httpcache.HttpCache": 900,
                    "scrapy.downloadermiddlewares.httpcompression.HttpCompressionMiddleware": 910,
                }
            ),
            "RETRY_TIMES": "0",
            "LOG_LEVEL": "WARNING",  # nobody reads while it runs
            **settings,
        }
        words = [f"-s{name}={value}" for name, value in chosen.items()]
        return [sys.executable, "-m", "scrapy", "runspider", "probe.py", "-O", "items.jsonl", *words]

    def start(self, *requests, **settings):
        asked = [{"url": one} if isinstance(one, str) else one for one in requests]
        (self.folder / "requests.json").write_text(json.dumps(asked))
        environment = os.environ | {"PYTHONPATH": str(ROOT)}
        return forked.Popen(
            self.command(**settings), cwd=self.folder, env=environment, stderr=subprocess.PIPE, text=True
        )

    def run(self, *requests, **settings):
        """The items that came, and the cache's stats."""
        _, self.log = self.start(*requests, **settings).communicate(timeout=HANG)
        items = [json.loads(line) for line in (self.folder / "items.jsonl").read_text().splitlines()]
        stats = json.loads((self.folder / "stats.json").read_text())
        return items, {name.partition("/")[2]: value for name, value in stats.items() if name.startswith("httpcache/")}

    def rows(self):
        with closing(sqlite3.connect(self.folder / "cache" / "probe.sqlite")) as db:
            return db.execute("SELECT about, body FROM responses").fetchall()


@pytest.fixture
def probe(tmp_path):
    return Probe(tmp_path)


def catalogue(asked: Asked) -> Answer:
    """A catalogue that does as HTTP says."""
    kind = asked.headers["Accept"].split(",")[0]
    tag = f'"{hashlib.sha256(kind.encode()).hexdigest()[:8]}"'
    headers = {"Content-Type": kind, "ETag": tag, "Vary": "Accept"}
    if asked.headers["If-None-Match"] == tag:
        return Answer(status=304, headers={"ETag": tag})
    return Answer(f"{kind} {asked.path}".encode(), headers=headers)


# Whole crawls


def test_a_copy_is_asked_about_and_not_sent_again(probe):
    with Site(catalogue) as site:
        first, stats = probe.run(f"{site.url}/a", f"{site.url}/b")
        assert stats == {"miss": 2, "firsthand": 2, "store": 2}
        second, stats = probe.run(f"{site.url}/a", f"{site.url}/b")
        assert stats == {"revalidate": 2, "store": 2}
    assert sorted(one["body"] for one in first) == sorted(one["body"] for one in second)
    assert [one["flags"] for one in second] == [["cached"], ["cached"]]
    assert [bool(asked.headers["If-None-Match"]) for asked in site.asked] == [False, False, True, True]


def test_a_copy_with_a_lifetime_is_used_without_asking(probe):
    with Site(
        lambda _: Answer(b"{}", headers={"Content-Type": "application/json", "Cache-Control": "max-age=60"})
    ) as site:
        probe.run(site.url)
        _, stats = probe.run(site.url)
    assert (stats, len(site.asked)) == ({"hit": 1}, 1)


def test_each_form_has_its_own_copy(probe):
    forms = ["text/turtle", "application/rdf+xml", "text/html"]
    requests = [{"url": "", "headers": {"Accept": form}} for form in forms]
    with Site(lambda asked: Answer(asked.headers["Accept"].encode() + b">", headers={"ETag": "1"})) as site:
        for one in requests:
            one["url"] = site.url
        probe.run(*requests)
        items, _ = probe.run(*requests, HTTPCACHE_IGNORE_MISSING="1")
    assert len(site.asked) == 6
    assert sorted(item["body"] for item in items) == sorted(f"{form}>" for form in forms)


@pytest.mark.parametrize(
    ("cached", "requests"),
    [
        ({}, 2),
        ({"HTTPCACHE_ALWAYS_STORE": "1"}, 1),
        ({"HTTPCACHE_ALWAYS_STORE": "1", "HTTPCACHE_EXPIRATION_SECS": "1"}, 2),
    ],
    ids=["RFC", "always", "expired"],
)
def test_an_answer_of_which_the_server_says_nothing(probe, cached, requests):
    with Site(lambda _: Answer(b"{}")) as site:
        probe.run(site.url, **cached)
        time.sleep(1.1 if "HTTPCACHE_EXPIRATION_SECS" in cached else 0)
        probe.run(site.url, **cached)
    assert len(site.asked) == requests


@pytest.mark.parametrize(
    "answer",
    [
        Answer(b"{}", status=429),
        Answer(b"{}", status=404),
        Answer(b"{}", status=500),
        Answer(ROBOT_CHECK, headers={"Content-Type": HTML}),
        Answer(gzip.compress(ROBOT_CHECK), headers={"Content-Type": HTML, "Content-Encoding": "gzip"}),
        Answer(b'{"count": 7, "results": [{"id"'),
    ],
    ids=["429", "404", "500", "robot check", "robot check, compressed", "cut JSON"],
)
def test_what_is_no_answer_is_not_kept(probe, answer):
    answer = Answer(answer.body, answer.status, answer.headers | {"ETag": "1", "Cache-Control": "max-age=99"})
    with Site(lambda _: answer) as site:
        for _ in range(2):
            _, stats = probe.run(site.url, HTTPCACHE_ALWAYS_STORE="1")
            assert stats == {"miss": 1, "firsthand": 1, "uncacheable": 1}


def test_a_redirect_is_not_kept_and_takes_no_validator_along(probe):
    moved = []

    def answer(asked):
        if asked.path == "/there" or not moved:
            same = asked.headers["If-None-Match"] == "1"
            return Answer(status=304) if same else Answer(b"{}", headers={"ETag": "1"})
        return redirect("/there")

    with Site(answer) as site:
        probe.run(f"{site.url}/here")
        moved.append(True)
        items, _ = probe.run(f"{site.url}/here")
    assert [item["url"] for item in items] == [f"{site.url}/there"]
    assert [asked.headers["If-None-Match"] for asked in site.asked] == [None, "1", None]


@pytest.mark.parametrize("status", [500, 503])
def test_an_old_copy_stands_in_for_no_error(probe, status):
    failing = []
    with Site(lambda _: Answer(status=status) if failing else Answer(b"{}", headers={"ETag": "1"})) as site:
        probe.run(site.url)
        failing.append(True)
        items, _ = probe.run(site.url)
        assert "failed" in items[0]
        failing.clear()
        items, _ = probe.run(site.url)
    assert items[0]["body"] == "{}"


def test_an_old_copy_stands_in_for_no_portal(probe):
    with Site(lambda _: Answer(b"{}", headers={"ETag": "1"})) as site:
        probe.run(site.url)
    items, stats = probe.run(site.url)
    assert ("failed" in items[0], stats) == (True, {})


@pytest.mark.parametrize("encoding", ["gzip", "identity"])
def test_bodies_are_kept_as_they_are_read(probe, encoding):
    body = json.dumps({"title": "Côte d’Ivoire"}, ensure_ascii=False).encode()
    sent = gzip.compress(body) if encoding == "gzip" else body
    headers = {"Content-Type": "application/json", "Content-Encoding": encoding, "Cache-Control": "max-age=60"}
    with Site(lambda _: Answer(sent, headers=headers | {"Vary": "Accept-Encoding"})) as site:
        first, _ = probe.run(site.url)
        second, stats = probe.run(site.url)
    assert (stats, first[0]["body"], second[0]["body"]) == ({"hit": 1}, body.decode(), body.decode())


@pytest.mark.slow
def test_a_cache_that_was_killed_is_whole_and_goes_on(probe):
    with Site(catalogue) as site:
        urls = [f"{site.url}/{number}" for number in range(400)]
        crawl = probe.start(*urls)
        until(lambda: len(site.asked) >= 150, unless=lambda: crawl.poll() is not None)
        crawl.send_signal(signal.SIGKILL)
        crawl.communicate()
        kept = len(probe.rows())
        assert kept > 50
        items, stats = probe.run(*urls)
    assert (len(items), stats["revalidate"], stats["miss"]) == (400, kept, 400 - kept)


def test_two_crawls_share_a_cache(probe, tmp_path):
    others = tmp_path / "other"
    others.mkdir()
    other = Probe(others)
    with Site(catalogue) as site:
        urls = [f"{site.url}/{number}" for number in range(150)]
        both = [one.start(*urls, HTTPCACHE_DIR=str(tmp_path / "cache")) for one in (probe, other)]
        logs = [crawl.communicate(timeout=HANG)[1] for crawl in both]
        assert len(probe.rows()) == 150
        assert not any("ERROR" in log or "WARNING" in log for log in logs)
        _, stats = probe.run(*urls)
    assert stats["revalidate"] == 150


def test_a_row_that_is_broken_is_a_miss(probe):
    with Site(catalogue) as site:
        probe.run(f"{site.url}/a", f"{site.url}/b")
        with sqlite3.connect(probe.folder / "cache" / "probe.sqlite") as db:
            db.execute("UPDATE responses SET body = substr(body, 1, 9) WHERE about LIKE '%/a%'")
            db.execute("UPDATE responses SET about = 'x' WHERE about LIKE '%/b%'")
        db.close()
        items, stats = probe.run(f"{site.url}/a", f"{site.url}/b")
        assert (len(items), stats["miss"], stats["retrieve_error"]) == (2, 2, 2)
        assert probe.run(f"{site.url}/a", f"{site.url}/b")[1]["revalidate"] == 2


def test_a_cache_that_can_not_be_used_stops_no_crawl(probe):
    (probe.folder / "cache" / "probe.sqlite").mkdir(parents=True)
    with Site(catalogue) as site:
        items, _ = probe.run(site.url)
    assert (len(items), probe.log.count("the crawl goes on without it"), "Traceback" in probe.log) == (1, 1, False)


def torn(path):
    """The cache's table overwritten, and the file's header left as it is: it is opened, and then can't be read."""
    with closing(sqlite3.connect(path)) as db:
        page = db.execute("SELECT rootpage FROM sqlite_master WHERE name = 'responses'").fetchone()[0]
        size = db.execute("PRAGMA page_size").fetchone()[0]
    body = path.read_bytes()
    path.write_bytes(body[: (page - 1) * size] + b"\xa5" * size + body[page * size :])


@pytest.mark.parametrize("damage", [torn, lambda path: path.write_bytes(b"no database" * 1000)], ids=["torn", "none"])
def test_a_damaged_cache_is_set_aside_and_another_is_begun(probe, damage):
    path = probe.folder / "cache" / "probe.sqlite"
    with Site(catalogue) as site:
        probe.run(site.url)
        damage(path)
        items, _ = probe.run(f"{site.url}/a", f"{site.url}/b")
        assert (len(items), probe.log.count("and another is begun"), "Traceback" in probe.log) == (2, 1, False)
        assert len(list(path.parent.glob("probe.sqlite.damaged-*Z"))) == 1
        assert path.stat().st_mode & 0o777 == 0o600
        assert "revalidate" in probe.run(f"{site.url}/a", f"{site.url}/b")[1]


def test_a_cache_that_is_full_stops_no_crawl(probe):
    with Site(catalogue) as site:
        probe.run(site.url)
        with sqlite3.connect(probe.folder / "cache" / "probe.sqlite") as db:
            db.execute("CREATE TRIGGER full BEFORE INSERT ON responses BEGIN SELECT RAISE(FAIL, 'disk is full'); END")
        db.close()
        items, _ = probe.run(f"{site.url}/other", f"{site.url}/more")
    assert (len(items), probe.log.count("the crawl goes on without it"), "Traceback" in probe.log) == (2, 1, False)


def test_nothing_is_pickled_and_nobody_else_may_read_it(probe):
    with Site(catalogue) as site:
        probe.run(site.url)
    about, body = probe.rows()[0]
    assert json.loads(about)["status"] == 200
    assert not body.startswith(b"\x80")
    assert (probe.folder / "cache" / "probe.sqlite").stat().st_mode & 0o077 == 0
    assert [path.name for path in (probe.folder / "cache").iterdir()] == ["probe.sqlite"]


def test_a_second_crawl_of_a_silent_portal_asks_nothing(crawl, portal, tmp_path):
    site = portal(datasets=40)
    settings = {"HTTPCACHE_ENABLED": "1", "HTTPCACHE_ALWAYS_STORE": "1", "HTTPCACHE_DIR": str(tmp_path / "cache")}
    first = crawl("hdx", site, settings=settings)
    asked = site.requests()
    second = crawl("hdx", site, settings=settings)
    assert (first.code, second.code, site.requests()) == (0, 0, asked)
    assert second.report["requests"] == 0
    plain = crawl("hdx", site, settings=settings | {"HTTPCACHE_ENABLED": "0"})
    assert plain.report["requests"] > 0


def test_without_more_ado_a_silent_portal_is_asked_again(crawl, portal, tmp_path):
    site = portal(datasets=40)
    settings = {"HTTPCACHE_ENABLED": "1", "HTTPCACHE_DIR": str(tmp_path / "cache")}
    crawl("ckan", site, settings=settings)
    asked = site.requests()
    assert crawl("ckan", site, settings=settings).code == 0
    assert site.requests() == 2 * asked


# The fingerprint


@pytest.fixture
def fingerprinter():
    return AcceptFingerprinter.from_crawler(get_crawler())


def test_the_form_that_is_asked_for_is_part_of_a_request(fingerprinter):
    headers = [{}, {"Accept": "text/turtle"}, {"Accept": "application/rdf+xml"}, {"Accept-Language": "de"}]
    assert len({fingerprinter.fingerprint(Request(URL, headers=one)) for one in headers}) == 4


def test_a_default_that_scrapy_adds_later_changes_nothing(fingerprinter):
    defaults = Settings().getdict("DEFAULT_REQUEST_HEADERS")
    assert fingerprinter.fingerprint(Request(URL, headers=defaults)) == fingerprint(Request(URL))
    assert fingerprinter.fingerprint(Request(URL, headers={"User-Agent": "x"})) == fingerprint(Request(URL))


# The policy


def policy(**settings):
    return Policy(Settings(settings))


def answered(body=b"{}", status=200, kind=JsonResponse, flags=(), **headers):
    headers = {"ETag": "1", "Content-Type": "application/json"} | {
        name.replace("_", "-"): one for name, one in headers.items()
    }
    return kind(URL, status=status, body=body, headers=headers, flags=list(flags))


@pytest.mark.parametrize(
    "response",
    [
        *(answered(status=status) for status in (202, 206, 301, 302, 304, 308, 401, 403, 404, 410, 429, 500, 503)),
        *(answered(flags=[flag]) for flag in ("dataloss", "partial", "download_stopped")),
        answered(b'{"a": 1, "b'),
        answered(b""),
        answered(b"<rdf:RDF><dcat:Cat", Content_Type="application/rdf+xml"),
        answered(Vary="Accept, *"),
        answered(Cache_Control="no-store"),
        answered(cf_mitigated="challenge"),
        answered(ROBOT_CHECK, kind=HtmlResponse, Content_Type=HTML),
    ],
    ids=lambda response: f"{response.status} {response.body[:20]} {response.flags}",
)
@pytest.mark.parametrize("always", [False, True])
def test_what_is_never_kept(response, always):
    assert not policy(HTTPCACHE_ALWAYS_STORE=always).should_cache_response(response, Request(URL))


@pytest.mark.parametrize(
    "response",
    [
        answered(),
        answered(b"[]\n\n"),
        answered(b"<a/>\n", Content_Type="application/rdf+xml"),
        answered(b"<p>not closed", kind=HtmlResponse, Content_Type=HTML),
        answered(b"<a> <b> <c> .", kind=Response, Content_Type="text/turtle"),
        answered(Cache_Control="private"),
    ],
    ids=lambda response: response.body,
)
def test_what_is_kept(response):
    assert policy().should_cache_response(response, Request(URL))


def test_a_last_change_long_ago_promises_nothing():
    old = answered(Date="Fri, 20 Nov 2026 00:00:00 GMT", Last_Modified="Sun, 01 Jan 2006 00:00:00 GMT")
    request = Request(URL)
    assert not policy().is_cached_response_fresh(old, request)
    assert request.headers["If-Modified-Since"] == b"Sun, 01 Jan 2006 00:00:00 GMT"


def test_always_stored_answers_are_used_unless_the_server_or_the_request_says_otherwise():
    always = policy(HTTPCACHE_ALWAYS_STORE=True)
    silent = JsonResponse(URL, body=b"{}", headers={"Cache-Control": "private"})
    assert always.is_cached_response_fresh(silent, Request(URL))
    assert not always.is_cached_response_fresh(silent, Request(URL, headers={"Cache-Control": "no-cache"}))
    assert not always.is_cached_response_fresh(answered(), Request(URL))
    assert not policy().is_cached_response_fresh(silent, Request(URL))


# The storage


@pytest.fixture
def storage(tmp_path):
    crawler = get_crawler(settings_dict={"HTTPCACHE_DIR": str(tmp_path / "cache")})
    crawler.request_fingerprinter = AcceptFingerprinter.from_crawler(crawler)
    spider = Spider("probe")
    spider.crawler = crawler
    storage = SqliteStorage(crawler.settings)
    storage.open_spider(spider)
    yield storage
    storage.close_spider(spider)


@pytest.mark.parametrize(
    "response",
    [
        HtmlResponse(URL, body="Grüße".encode("latin-1"), encoding="latin-1", headers={"X": [b"\xff\x00", b"2"]}),
        Response(URL, status=203, body=bytes(range(256))),
        JsonResponse(f"{URL}#a", body=b'{"a": "\xc3\xa9"}', headers={"Content-Type": "application/json"}),
    ],
    ids=lambda response: type(response).__name__,
)
def test_an_answer_comes_back_as_it_was(storage, response):
    storage.store_response(None, Request(URL), response)
    back = storage.retrieve_response(None, Request(URL))
    ours, theirs = ({**one.to_dict(), "flags": [], "ip_address": None, "protocol": None} for one in (back, response))
    assert (type(back), ours) == (type(response), theirs)


@pytest.mark.parametrize("name", ["Authorization", "Cookie", "User-Agent"])
def test_an_answer_is_for_those_who_asked_alike(storage, name):
    storage.store_response(
        None, Request(URL, headers={name: "a"}), answered(Vary="cookie,User-Agent , Accept-Encoding")
    )
    assert storage.retrieve_response(None, Request(URL, headers={name: "b"})) is None
    assert storage.retrieve_response(None, Request(URL)) is None
    assert storage.retrieve_response(None, Request(URL, headers={name: "a", "Accept-Encoding": "br"}))


def test_no_credentials_are_stored(storage):
    storage.store_response(None, Request(URL, headers={"Authorization": "s3cr3t"}), answered())
    assert "s3cr3t" not in "".join(storage.db.iterdump())
