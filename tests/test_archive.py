"""The archive as a crawl: each case of ckanext-archiver with its state, conditional requests, kills, many hosts."""

from __future__ import annotations

import asyncio
import csv
import hashlib
import json
import os
import random
import re
import signal
import time
from collections import Counter
from datetime import UTC, datetime, timedelta
from operator import attrgetter
from types import SimpleNamespace
from unittest.mock import Mock

import pytest
from scrapy.http import Request, Response
from scrapy.settings import Settings

from crawlers.archive import cookies, findings
from crawlers.archive import spider as archive_spider
from crawlers.archive import targets as archive_targets
from crawlers.archive.generic import Archive
from crawlers.archive.looks import Looks, asked_about, leaves_a_capture
from crawlers.archive.spider import ArchiveSpider
from crawlers.archive.store import open_blobs
from crawlers.archive.targets import AddressError, Choice, Subject, is_fresh, is_put_off, requestable, targets, utc
from crawlers.items import Capture
from crawlers.safety.locks import of_host, take
from tests.archives import SOURCE, Archives
from tests.conftest import ROOT, options, scrapy
from tests.portal.files import CHANGED, CSV, ERRORS, HTML, MODIFIED, Files, Reply
from tests.seaweed import Faults, seaweed
from tests.test_certificates import served
from tests.waiting import HANG, until

__all__ = ["seaweed"]

SHA256 = hashlib.sha256(CSV).hexdigest()
NOW = datetime(2026, 11, 22, 12, tzinfo=UTC)
MONTH = timedelta(days=30)
PAGE = [("Content-Type", "text/html")]


@pytest.fixture
def files():
    with Files(hosts=4) as hosts:
        yield hosts


@pytest.fixture
def archives(tmp_path, files):
    return Archives(tmp_path, files)


# Cases


CASES = {
    "/ok.csv": ("kept", 0, False, None),
    "/untyped": ("kept", 0, False, None),
    "/redirect/1": ("kept", 0, False, None),
    "/length-none.csv": ("kept", 0, False, None),
    "/chunked.csv": ("kept", 0, False, None),
    "/gzip.csv": ("kept", 0, False, None),
    "/cut-once.csv": ("kept", 0, False, None),
    "/wms?service=WMS&request=GetCapabilities": ("kept", 0, False, None),
    "/status/404": ("broken", 11, True, "http"),
    "/status/410": ("broken", 11, True, "http"),
    "/status/500": ("unknown", 11, None, "http"),
    "/redirect/loop": ("broken", 11, True, "ignored"),
    "/empty.csv": ("broken", 12, True, "empty"),
    "/wms-exception": ("broken", 12, True, "exception"),
    "/chunked-cut.csv": ("unknown", 22, None, "truncated"),
    "/promised.bin": ("not_taken", 21, None, "too_large"),
    "/endless.bin": ("not_taken", 21, None, "too_large"),
    "/about.html": ("not_taken", 21, None, "page"),
    "/redirect/private": ("not_taken", 21, None, "forbidden_address"),
    "/redirect/metadata": ("not_taken", 21, None, "forbidden_address"),
    "/redirect/file": ("broken", 11, True, "http"),
    "/redirect/ftp": ("broken", 11, True, "http"),
    "/redirect/data": ("broken", 11, True, "http"),
    "/redirect/broken": ("broken", 11, True, "http"),
    "/redirect/empty": ("broken", 11, True, "ignored"),
    "/redirect/missing": ("broken", 11, True, "http"),
    "/length-abc.csv": ("kept", 0, False, None),
    "/length-two.csv": ("kept", 0, False, None),
    "/length-long.csv": ("unknown", 22, None, "truncated"),
    "/drip.csv?seconds=3": ("unknown", 11, None, "timeout"),
}


@pytest.mark.slow
def test_each_case_gets_its_state(archives, files):
    refused = {files.url(f"/status/{status}", 1): "CSV" for status in (403,)}
    elsewhere = {"ftp://127.0.0.1/a.csv": "CSV", files.url("/ok.csv?other", 2): "CSV"}
    archives.list({**dict.fromkeys(CASES, "CSV"), **refused, **elsewhere})
    ran = archives.crawl({"ARCHIVE_MAX_SIZE": "100000", "DOWNLOAD_TIMEOUT": "5"})
    last = archives.last()
    found = {path: tuple(last[path][name] for name in ("state", "status", "is_broken", "error")) for path in CASES}
    assert found == CASES
    assert last[next(iter(refused))]["state"] == "unknown"
    assert last["ftp://127.0.0.1/a.csv"]["error"] == "unsupported_scheme"
    assert (ran.code, ran.report["verdict"]) == (3, "incomplete"), ran.log
    assert len(archives.captures) == len(CASES) + 3
    assert ran.report["captures"]["kept"] == 11
    assert "11 kept" in ran.lines[-3], ran.lines
    assert set(archives.blobs()) == {line["sha256"] for line in archives.captures if line["sha256"]}
    assert archives.blobs()[SHA256] == CSV
    assert [line["kind"] for line in ran.manifest] == ["file"] * len(archives.blobs())
    assert {line["metadata_file"] for line in ran.manifest} == {
        f"sha256/{name[:2]}/{name}" for name in archives.blobs()
    }
    lines = {(error["kind"], error["url"].removeprefix(files.sites[0])) for error in ran.errors}
    assert {("broken_link", "/status/404"), ("http", "/status/500"), ("not_taken", "/about.html")} <= lines
    assert last["/promised.bin"]["size"] == 10**10
    assert last["/redirect/1"]["redirects"] == [files.url("/ok.csv")]
    assert "Traceback" not in ran.log


def test_findings_alone_leave_a_run_complete(archives):
    """A dead link is the catalogue's, not the crawl's: nothing is missing that could be had."""
    archives.list(["/ok.csv", "/status/404"])
    ran = archives.crawl()
    assert (ran.code, ran.report["verdict"], ran.report["errors"]) == (0, "complete", {"broken_link": 1})
    assert ran.report["evidence"] == {"files": "file"}
    assert ran.report["robotstxt_obeyed"] is False


LONG = "http://a.org/" + "x" * 7_987
WRONG = [
    ("http://user:secret@a.org/", "credentials", "has a user name"),
    ("", "invalid_address", "gives no address"),
    ("N/A", "invalid_address", "it is a text"),
    ("on request, see above", "invalid_address", "it is a text"),
    ("www.a.org/y.csv", "invalid_address", "http: or https: is missing"),
    ("a.org/y.csv", "invalid_address", "http: or https: is missing"),
    ("127.0.0.1:8000/y.csv", "invalid_address", "http: or https: is missing"),
    ("//a.org/b", "invalid_address", "http: or https: is missing"),
    ("/data/y.csv", "invalid_address", "lacks the name of the host"),
    (r"C:\data\y.csv", "invalid_address", "a file on somebody's computer"),
    (r"\\server\y.csv", "invalid_address", "a file on somebody's computer"),
    ("file:///etc/passwd", "invalid_address", "a file on somebody's computer"),
    ('<a href="http://a.org/">x</a>', "invalid_address", "it is HTML"),
    ("http:host.com", "invalid_address", "two slashes are missing"),
    (r"http:\\a.org\y", "invalid_address", "two slashes are missing"),
    ("http://", "invalid_address", "its host is missing"),
    ("ftp://a.org/b", "unsupported_scheme", "not ftp:"),
    ("mailto:a@a.org", "unsupported_scheme", "not mailto:"),
    ("data:text/csv,a", "unsupported_scheme", "not data:"),
    ("http://[1::2/", "invalid_address", "is invalid"),
    ("http://a.org:99999/", "invalid_address", "is invalid"),
    ("http://a.org:0/", "invalid_address", "its port is 0"),
    (r"http://a.org:x\[::1]", "invalid_address", "is invalid"),
    ("http://a b.org/", "invalid_address", "its host has a space in it"),
    ("http://a%20b.org/", "invalid_address", "its host has a space in it"),
    ("http://a.org,b.org/", "invalid_address", "its host has ',' in it"),
    ("http://a..org/", "invalid_address", "an empty part"),
    ("http://" + "\xfc" * 60 + ".org/", "invalid_address", "a name that no host can have"),
    ("http://xn--\xfc.org/", "invalid_address", "a name that no host can have"),
    (f"http://{'a' * 64}.org/", "invalid_address", "too long"),
    ("http://a.invalid/", "invalid_address", "ends in .invalid"),
    (f"{LONG}x", "too_long", "more than 8000 characters"),
    ("http://a.org/" + "\xe4" * 1_400, "too_long", "more than 8000 characters"),
    ("http://a.org/\ud800", "invalid_address", "half a character"),
]


@pytest.mark.parametrize(("url", "cause", "reason"), WRONG)
def test_an_address_that_can_not_be_requested(url, cause, reason):
    with pytest.raises(AddressError, match=reason) as error:
        requestable(url)
    assert error.value.cause == cause


@pytest.mark.parametrize(
    ("url", "asked"),
    [
        (LONG, LONG),
        ("https://a.org/x?b", "https://a.org/x?b"),
        (" \ufeff\u200bhttps://a.org/x", "https://a.org/x"),
        ("https://a.org/x?b=#top", "https://a.org/x?b="),
        ("https://a.org/x?", "https://a.org/x?"),
        ("HTTPS://A.org/x", "HTTPS://A.org/x"),
        ("https://a.org/../x/./y/%2E%2e/z?u=/../b", "https://a.org/x/z?u=/../b"),
        ("https://a.org/x/..", "https://a.org/"),
        ("https://a.org/..data/x", "https://a.org/..data/x"),
        ("https://m\xfcnchen.de/x_y", "https://m\xfcnchen.de/x_y"),
        ("https://a\u3002org/", "https://a\u3002org/"),
        ("http://my_host.org./[::1]", "http://my_host.org./[::1]"),
        ("http://[::1]:8000/x", "http://[::1]:8000/x"),
    ],
)
def test_an_address_is_requested_as_it_stands(url, asked):
    assert requestable(url) == asked


def test_what_a_browser_gets_is_kept_and_each_reason_is_a_sentence(archives, files, tmp_path):
    """One crawl over what browsers do, and what catalogues give; then what publishers are told."""
    looping, later = ([*PAGE, ("Refresh", text)] for text in ("0;url=/loop.csv", "1800; url=/never.html"))
    files.answers["/loop.csv"] = lambda _: Reply(HTML, headers=looping)
    files.answers["/later.csv"] = lambda _: Reply(b"<!doctype html><a href='/ok.csv?later'>CSV</a>", headers=later)
    foreign = "/cookie.csv?to=" + files.url("/cookie.csv", 1)
    kept = ["/cookie.csv", foreign, "/refresh.csv", "/x/../ok.csv", "/ok.csv?b", "/ok.csv?b=", "/ok.csv?" + "x" * 7_900]
    kept += ["/no-gzip.csv", "/wms-lower?service=WMS"]
    status = dict.fromkeys(("www.example.org/a.csv", "N/A", "http://a b.org/", "http://a.org,b.org/"), 10)
    status |= dict.fromkeys(ERRORS, 12) | {
        "/loop.csv": 21,
        "/later.csv": 21,
        "/refresh.csv?to=http://169.254.169.254/": 21,
    }
    with served(tmp_path, body=CSV) as secure, served(tmp_path, "127.0.0.2", CSV) as refused:
        unknown = ["/garbage.csv", "/closes.csv", "http://127.0.0.1:1/x", refused]
        again = f"{secure}/again.csv"  # over the same connection
        archives.list([*kept, secure, again, *status, *unknown])
        ran = archives.crawl({"ARCHIVE_VERIFY_HTTPS_EXCEPT": "b.org, 127.0.0.1", "RETRY_TIMES": "0"})
    last = archives.last()
    found = {path.replace(" ", "%20"): last[path.replace(" ", "%20")] for path in (*kept, secure, *status, *unknown)}
    assert {path: line["reason"] for path, line in found.items() if line["state"] == "kept"}.keys() == {*kept, secure}
    assert {path: found[path.replace(" ", "%20")]["status"] for path in status} == status
    assert {found[path]["state"] for path in unknown} == {"unknown"}
    accepted = "certificate not trusted: 127.0.0.1 has one that is self-signed"
    assert [last[url]["finding"] for url in (secure, again)] == [accepted, accepted]
    assert found[refused]["finding"] == "certificate not trusted"
    assert not [
        line["reason"] for line in found.values() if re.search(r"twisted|Failure|b'|\[<|\('", line["reason"] or "")
    ]
    assert {path for path, line in found.items() if not (line["reason"] or line["state"] == "kept")} == set()
    assert "bug" not in ran.report["errors"]
    sent = {(one.host, one.path.partition("?")[0], one.headers.get("cookie")) for one in files.log}
    assert {one for one in sent if one[2]} == {
        ("127.0.0.1", "/cookie.csv", "seen=1"),
        ("127.0.0.2", "/cookie.csv", "seen=1"),
    }
    assert [one.headers.get("cookie") for one in files.log if one.host == "127.0.0.2"] == [None, "seen=1"]
    asked = Counter(one.path for one in archives.asked())
    assert [asked[path] for path in ("/ok.csv", "/ok.csv?b", "/ok.csv?b=", "/x/../ok.csv")] == [1, 1, 1, 0]
    assert [asked[path] for path in ("/loop.csv", "/ok.csv?later", "/never.html")] == [1, 1, 0]
    told = scrapy("report", "-o", str(tmp_path / "x.html"), *options(archives.output, archives.settings))
    assert told.returncode == 0, told.stderr
    (told_csv,) = tmp_path.glob("*.broken-links.csv")
    told_urls = {line["url"] for line in csv.DictReader(told_csv.read_text(encoding="utf-8").splitlines())}
    assert {"www.example.org/a.csv", "N/A"} <= told_urls


# Again
COOKIES = ["one=1; Domain=.example.org", "two=2; Secure; HttpOnly", f"big={'x' * 5000}", "far=1; Max-Age=" + "9" * 30]
COOKIES += [
    "gone=1; Max-Age=0",
    "foreign=1; Domain=example.com",
    "odd\x80=\xff; Expires=never",
    "=; ;",
    "below=1; Path=/y",
]


@pytest.mark.parametrize(
    ("url", "sent"),
    [
        ("https://a.example.org/x/z", {"one=1", "two=2"}),
        ("http://a.example.org/", {"one=1"}),
        ("https://a.example.org/y/", {"one=1", "two=2", "below=1"}),
        ("https://b.example.org/", set()),
        ("https://example.org/", set()),
        ("https://b.a.example.org/", set()),
    ],
)
def test_a_cookie_goes_back_to_its_own_host_alone(url, sent):
    first = Request("https://a.example.org/x")
    cookies.keep(first, Response(first.url, headers={"Set-Cookie": COOKIES}))
    assert "one" not in str(first.meta), "the queue of requests is on disk"
    following = Request(url, meta=json.loads(json.dumps(first.meta)), headers={"Cookie": "another=1"})
    cookies.send(following)
    got = following.headers.get("Cookie", b"").decode("utf-8", "replace")
    assert {one for one in got.split("; ") if one and not one.startswith("odd")} == sent


# Again


def test_what_is_unchanged_costs_one_304_and_what_is_fresh_costs_nothing(archives, files):
    paths = ["/ok.csv", "/cache/max-age.csv", "/etag/changing.csv", "/etag/new.csv", "/etag/gone.csv", "/untyped"]
    archives.list(paths)
    archives.crawl()
    first = archives.last()
    assert {line["state"] for line in first.values()} == {"kept"}
    fresh = [path for path, line in first.items() if line["fresh_until"]]
    before = len(files.log)
    again = archives.crawl()
    asked = {one.path: one for one in files.log[before:]}
    assert sorted(asked) == sorted(set(paths) - set(fresh))
    last = archives.last()
    assert asked["/ok.csv"].headers["if-none-match"] == '"1"'
    states = {path: last[path]["state"] for path in paths if path not in fresh}
    assert states == {
        "/ok.csv": "unchanged",
        "/etag/changing.csv": "kept",
        "/etag/new.csv": "unchanged",
        "/etag/gone.csv": "broken",
        "/untyped": "unchanged",
    }
    assert last["/etag/changing.csv"]["sha256"] == hashlib.sha256(CHANGED).hexdigest()
    assert last["/ok.csv"]["kept_at"] == first["/ok.csv"]["kept_at"]
    gone = last["/etag/gone.csv"]
    assert (gone["sha256"], gone["is_broken"], gone["failure_count"]) == (SHA256, True, 1)
    assert gone["last_success"] == first["/etag/gone.csv"]["time"]
    assert again.report["captures"].get("fresh", 0) == len(fresh)
    assert len(again.manifest) == 2


def test_a_file_that_the_store_has_lost_is_asked_for_again(archives, files):
    archives.list(["/ok.csv", "/etag/unasked.csv"])
    archives.crawl()
    for path in archives.store.glob("sha256/*/*"):
        path.unlink()
    ran = archives.crawl()
    assert [one.headers.get("if-none-match") for one in archives.asked("/ok.csv")] == [None, '"1"', None]
    assert (archives.blobs(), len(ran.manifest)) == ({SHA256: CSV}, 1)
    assert archives.last()["/etag/unasked.csv"]["reason"] == "HTTP 304 to a request that was not conditional"


def test_a_304_counts_only_where_it_can_be_true(archives, files):
    """Not to a request without conditions, not from another place, and never for ever."""
    paths = ["/plain.csv", "/latest.csv", "/lost.csv"]
    tagged = [("Content-Type", "text/csv"), ("Last-Modified", MODIFIED), ("ETag", '"1"')]
    files.answers["/plain.csv"] = lambda _: Reply(CSV, headers=tagged[:1])
    files.answers["/lost.csv"] = lambda _: Reply(CHANGED, headers=tagged)
    files.answers["/v1.csv"] = lambda _: Reply(CSV, headers=tagged)
    files.answers["/latest.csv"] = lambda _: Reply(status=302, headers=[("Location", "/v1.csv")])
    archives.list(paths)
    archives.crawl()
    other = CSV.replace(b"town", b"port")
    files.answers |= dict.fromkeys(("/plain.csv", "/lost.csv"), lambda _: Reply(status=304))
    files.answers["/latest.csv"] = lambda _: Reply(status=302, headers=[("Location", "/v2.csv")])
    files.answers["/v2.csv"] = lambda asked: (
        Reply(status=304) if "if-none-match" in asked.headers else Reply(other, headers=[("Content-Type", "text/csv")])
    )
    for blob in archives.store.glob("sha256/*/*"):
        blob.unlink()
    archives.crawl()
    last = archives.last()
    assert [last[path]["state"] for path in paths] == ["unknown", "kept", "unknown"]
    assert last["/latest.csv"]["sha256"] == hashlib.sha256(other).hexdigest()
    assert len(archives.asked("/lost.csv")) <= 3


def test_a_file_behind_a_redirect_is_never_fresh(archives, files):
    archives.list(["/redirect/?to=/cache/immutable.csv", "/cache/immutable.csv"])
    archives.crawl()
    last = archives.last()
    assert last["/cache/immutable.csv"]["fresh_until"] is not None
    assert last["/redirect/?to=/cache/immutable.csv"]["fresh_until"] is None


def test_a_fresh_file_that_the_store_has_lost_is_asked_for(archives, files):
    archives.list(["/cache/max-age.csv"])
    archives.crawl()
    for blob in archives.store.glob("sha256/*/*"):
        blob.unlink()
    archives.crawl()
    assert archives.blobs() == {SHA256: CSV}


def test_resources_that_claim_other_formats_are_judged_by_themselves(archives, files):
    archives.list({"/about.html": "HTML", files.url("/about.html"): "CSV", "/untyped": "SPARQL", "/untyped?": "CSV"})
    archives.crawl()
    found = sorted((line["format"], line["state"], line["finding"]) for line in archives.captures)
    assert ("CSV", "kept", None) in found
    assert [state for _, state, _ in found].count("broken") == 1


def test_a_page_that_links_the_address_that_led_to_it(archives, files):
    page = b"<html><body><a href='/dl.csv'>Download CSV</a></body></html>"
    files.answers["/dl.csv"] = lambda _: Reply(status=302, headers=[("Location", "/landing.html")])
    files.answers["/landing.html"] = lambda _: Reply(page, headers=[("Content-Type", "text/html")])
    archives.list(["/dl.csv"])
    ran = archives.crawl()
    assert (ran.code, [line["state"] for line in archives.captures]) == (0, ["not_taken"])


def test_an_odd_address_costs_itself(archives, files):
    archives.list(["/ok.csv", "http://u:p\\@127.0.0.1/x.csv", "http://user:hunter2@127.0.0.1/x.csv"])
    ran = archives.crawl()
    assert ran.report["errors"] == {"connection": 2}, ran.log  # nothing listens there
    assert archives.last()["/ok.csv"]["state"] == "kept"
    assert "hunter2" not in (archives.folder / "errors.jsonl").read_text()


def test_a_202_is_no_file(archives, files):
    body = b'{"status": "Pending"}'
    files.answers["/hub.csv"] = lambda _: Reply(body, 202, [("Content-Type", "application/json")])
    archives.list(["/hub.csv"])
    assert (archives.crawl().code, archives.last()["/hub.csv"]["state"]) == (3, "unknown")


def test_resources_that_share_an_address_share_the_request_and_the_blob(archives, files):
    services = [f"/wms?service=WMS&request=GetMap&layers={layer}" for layer in "abc"]
    archives.list(["/ok.csv", files.url("/ok.csv#part"), files.url("/ok.csv "), *services])
    ran = archives.crawl()
    assert (ran.code, len(archives.asked("/ok.csv")), len(archives.asked("/wms"))) == (0, 1, 1)
    assert {line["state"] for line in archives.captures} == {"kept"}
    assert (len(archives.captures), len(archives.blobs()), len(ran.manifest)) == (6, 2, 2)
    assert len(archives.crawl().manifest) == 2


def test_every_address_in_the_metadata_can_be_archived(archives, files, monkeypatch):
    """A page is kept as it is; what only names a term is not asked for; one address is asked for once."""
    words = f"Read {files.url('/note.txt')}, or ftp://x.org. <http://www.w3.org/ns/dcat>"
    documented = {"landingPage": files.url("/about.html"), "describedBy": files.url("/untyped"), "description": words}
    documented["references"] = [files.url("/ok.csv")]  # a resource's, too: whatever comes is kept
    archives.list(["/ok.csv", "/other.csv"], **documented)
    archives.crawl(what="all", dataset="d0")
    last = archives.last()
    assert {path: line["resource_id"].partition("-")[0] for path, line in last.items() if path != "/ok.csv"} == {
        "/about.html": "@page",
        "/untyped": "@documentation",
        "/note.txt": "@metadata",
    }
    kept = sorted(path for path, line in last.items() if line["state"] == "kept")
    assert kept == ["/about.html", "/ok.csv", "/untyped"]
    assert sorted(one.path for one in archives.asked()) == [
        "/about.html",
        "/note.txt",
        "/ok.csv",
        "/ok.csv",
        "/untyped",
    ]
    archives.files.reset()
    ran = archives.crawl(what="pages")
    assert ran.report["captures"] == {"kept": 1, "unchanged": 1}, "of two datasets, by one request"
    assert [one.path for one in archives.asked()] == ["/about.html"]
    choice, lost = Choice(source=SOURCE, dataset="d0", what="documentation"), list[str]()
    found = [one.url for some in targets(archives.output, choice, lost.append) for one in some]
    assert (found, lost) == ([files.url("/untyped"), files.url("/ok.csv")], [])
    monkeypatch.setattr(archive_targets, "_MOST", 1)
    assert [one for one in targets(archives.output, choice, lost.append) if one][1:] == []
    assert "only 1 addresses are looked at" in lost[0]


def test_half_a_character_in_the_metadata_ends_no_archive(archives):
    """SQLite refuses it."""
    archives.list(["/ok.csv"], title="Wells \ud800", description="https://a.org/\ud800x", landingPage="https://b.org/")
    choice = Choice(source=SOURCE, what="all")
    found = [one for some in targets(archives.output, choice, print) for one in some]
    assert {one.url for one in found} >= {"https://a.org/?x", "https://b.org/"}
    assert {one.title for one in found} >= {"Wells \ufffd"}


def test_a_check_stores_nothing_and_forgets_nothing(archives, files):
    archives.list(["/ok.csv", "/head-405.csv", "/status/404", "/etag/changing.csv", "/html.csv", "/empty.csv"])
    archives.crawl()
    held = archives.last()
    ran = archives.crawl(mode="check")
    last = archives.last()
    assert {path: line["state"] for path, line in last.items()} == {
        "/ok.csv": "alive",
        "/head-405.csv": "alive",
        "/status/404": "broken",
        "/etag/changing.csv": "alive",
        "/html.csv": "not_taken",
        "/empty.csv": "broken",
    }
    assert [one.method for one in files.log if one.path == "/head-405.csv"][-2:] == ["HEAD", "GET"]
    assert (ran.code, len(ran.manifest)) == (0, 1)
    kept = ("sha256", "etag", "last_modified", "kept_at", "size")
    for path in ("/ok.csv", "/etag/changing.csv"):
        assert [last[path][name] for name in kept] == [held[path][name] for name in kept]
    assert archives.crawl().code == 0
    assert archives.last()["/etag/changing.csv"]["sha256"] == hashlib.sha256(CHANGED).hexdigest()


def capture(**given):
    known = {"source": "archive-of-a", "dataset_id": "d", "resource_id": "r", "url": "https://a.org/", "run": "r"}
    return Capture(**known | {"time": "2026-11-22T11:00:00.000Z"} | given)


def look(kind, *, is_online=True, **given):
    cause = findings.cause(kind, given.get("http_status"), is_online=is_online)
    return capture(**findings.CAUSES[cause]._asdict() | given)


def test_a_failed_file_is_asked_for_in_three_more_runs_then_weekly():
    last = None
    for failures in range(1, 6):
        now = look("timeout")
        findings.settle(now, last, NOW, 7)
        last = now
        assert last.failure_count == failures
        assert is_put_off(last, NOW) == (failures > 3)
    assert not is_put_off(last, NOW + timedelta(days=7))
    now = capture(state="kept", sha256="a")
    findings.settle(now, last, NOW, 7)
    assert (now.failure_count, now.first_failure, is_put_off(now, NOW)) == (0, None, False)


def test_our_own_failures_are_not_the_files():
    broken = look("timeout")
    findings.settle(broken, None, NOW, 7)
    ours = capture(state="failed_here", error="disk")
    offline = [look(kind, is_online=False) for kind in ("dns", "timeout")]
    assert look("connection", is_online=False).error == "connection"
    for now in (ours, *offline, look("blocked")):
        findings.settle(now, broken, NOW + timedelta(days=9), 7)
        assert (now.failure_count, now.first_failure, now.state == "broken") == (1, broken.time, False)


@pytest.mark.parametrize("fails", ["a callback", "an async one"])
def test_a_fault_of_ours_leaves_a_capture(fails, caplog):
    class Answers:
        looks = Looks("archive-of-a", "archive")

        @leaves_a_capture
        def callback(self, _answer, asked):
            yield asked["request_type"]
            raise KeyError("https://me:hunter22@a.org/")

        @leaves_a_capture
        async def async_one(self, _answer, asked):
            yield asked["request_type"]
            requestable("http://a b.org/")

    async def found():
        asked = asked_about([Subject("d", "r", "https://a.org/", None, None)])
        parse = Answers().callback if fails == "a callback" else Answers().async_one
        return [one async for one in parse(None, asked)]

    first, look = asyncio.run(found())
    expected = ("failed_here", "bug") if fails == "a callback" else ("broken", "invalid_address")
    assert (first, look.resource_id, look.state, look.error) == ("file", "r", *expected)
    assert "hunter22" not in look.reason
    assert ("please report this" in caplog.text) == (fails == "a callback")


@pytest.mark.parametrize("comes", ["an answer", "nothing", "a stop"])
def test_whether_we_are_offline_is_decided_when_nothing_is_left_to_be_asked(comes, monkeypatch):
    waits = {"has_pending_requests.return_value": True, "has_free_requests.return_value": False}  # for these two
    slot = SimpleNamespace(inprogress={1, 2, 3}, scheduler=Mock(**waits), closing=None)
    spider = SimpleNamespace(is_online=False, doubtful=0, has_begun_all=True)
    spider.crawler = SimpleNamespace(engine=SimpleNamespace(_slot=slot))
    spider._may_be_answered = lambda: ArchiveSpider._may_be_answered(spider)
    monkeypatch.setattr(archive_spider, "_LOOK", 0)

    async def waited():
        waiting = [asyncio.ensure_future(ArchiveSpider.any_answer(spider)) for _ in range(2)]
        await asyncio.sleep(0.01)
        assert not any(one.done() for one in waiting), "the third may be answered"
        if comes == "an answer":
            spider.is_online = True
        elif comes == "nothing":
            slot.inprogress.clear()
        else:
            slot.closing = object()
        await asyncio.wait_for(asyncio.gather(*waiting), 5)

    asyncio.run(waited())
    assert spider.doubtful == 0


def test_a_jobdir_of_an_earlier_version_names_callbacks_that_there_are():
    spider = Archive(of="towns")
    assert all(callable(attrgetter(now)(spider)) for now in spider.former_callbacks.values())


def test_a_robots_txt_that_is_unreachable_is_no_finding():
    reason = "robots.txt of a.org is unreachable (HTTP 503), so nothing is requested until it answers"
    assert findings.cause("robots", None, is_online=True, reason=reason) == "robots_unreachable"
    assert findings.cause("robots", None, is_online=True, reason="robots.txt disallows") == "robots"


def test_each_cause_is_judged_as_the_page_says():
    """Day 1 and day 8 of each cause: what only failed on the way is broken when it has lasted."""
    assert findings.table() in (ROOT / "docs" / "archive.md").read_text(encoding="utf-8")
    judged = {}
    for row in findings.ROWS:
        found = findings.CAUSES[row["cause"]]._asdict() | {"http_status": 403, "sha256": None}
        first, later = capture(**found), capture(**found)
        findings.settle(first, None, NOW, 7)
        findings.settle(later, first, NOW + timedelta(days=8), 7)
        judged[row["cause"]] = (first.state, later.state, later.is_broken)
    said = {row["cause"]: (row["state"], row["then"] or row["state"]) for row in findings.ROWS}
    assert {name: states[:2] for name, states in judged.items()} == said
    broken = {"broken": True, "kept": False, "unchanged": False, "alive": False}
    assert all(is_broken == broken.get(state) for _, state, is_broken in judged.values())


@pytest.mark.parametrize(
    ("kind", "status", "expected"),
    [
        *[("http", status, "denied") for status in (400, 404, 410, 300, 305)],
        *[("http", status, "refused") for status in (401, 402, 403, 405, 406, 418, 429, 451, 500, 502, 503, 522, 999)],
        *[(kind, None, kind) for kind in ("timeout", "dns", "connection", "truncated", "ignored", "forbidden_address")],
        ("too_large", None, "headers"),
        ("offsite", None, "other"),
        ("bug", None, "bug"),
    ],
)
def test_the_cause_of_a_failed_request(kind, status, expected):
    assert findings.cause(kind, status, is_online=True) == expected


def test_what_is_unknown_for_long_is_broken():
    first = look("http", http_status=503)
    findings.settle(first, None, NOW, 7)
    assert (first.state, first.is_broken) == ("unknown", None)
    later = look("http", http_status=503)
    findings.settle(later, first, NOW + timedelta(days=6), 7)
    assert later.is_broken is None
    last = look("http", http_status=503)
    findings.settle(last, later, NOW + timedelta(days=7), 7)
    assert (last.state, last.is_broken, last.first_failure) == ("broken", True, first.time)


def test_validators_are_those_of_the_blob_that_is_held():
    held = capture(state="kept", sha256="a", etag='"1"', last_modified="x", size=3)
    findings.settle(held, None, NOW, 7)
    failed = look("http", http_status=404, etag='"2"', last_modified="y")
    findings.settle(failed, held, NOW, 7)
    assert (failed.sha256, failed.etag, failed.last_modified, failed.size) == ("a", '"1"', "x", 3)
    never = look("http", http_status=404, etag='"2"')
    findings.settle(never, None, NOW, 7)
    assert (never.sha256, never.etag) == (None, None)


def test_freshness_ends():
    kept = capture(state="kept", sha256="a", fresh_until="2026-11-22T12:00:01Z")
    assert is_fresh(kept, NOW, MONTH)
    assert not is_fresh(kept, NOW + timedelta(seconds=1), MONTH)
    assert not is_fresh(capture(state="broken", sha256="a", fresh_until="2026-11-22T12:00:01Z"), NOW, MONTH)


@pytest.mark.parametrize(("resource", "is_due"), [("r", False), ("f" * 24, True)])
def test_a_resource_without_a_capture_of_its_own_is_due(resource, is_due):
    """Its id was made of its title, which is another one now: the file would be in no capture of it for a month."""
    kept = capture(state="kept", sha256="a", fresh_until="2094-01-01T00:00:00Z", time=utc().isoformat())
    records = Mock(**{"is_settled.return_value": False})
    spider = SimpleNamespace(is_check=False, longest_fresh=MONTH, expect=Mock(), run_state=Mock(), records=records)
    spider.blobs, spider.last = Mock(), lambda _: kept
    assert ArchiveSpider.is_due(spider, Subject("d", resource, "https://a.org/", None, None), resource) is is_due
    assert records.settle.called is not is_due


def test_no_header_is_believed_for_longer_than_a_setting_says():
    kept = capture(state="kept", sha256="a", fresh_until="2094-01-01T00:00:00Z")
    assert is_fresh(kept, NOW + timedelta(days=29), MONTH)
    assert not is_fresh(kept, NOW + timedelta(days=30), MONTH)
    assert not is_fresh(kept, NOW, timedelta(0))


# Many hosts


@pytest.mark.slow
def test_a_slow_host_holds_up_no_other(archives, files):
    """Of one slow host 40 files come first; those of the others do not wait for them."""
    slow = {files.url(f"/slow.csv?seconds=0.5&{number}", 1): "CSV" for number in range(20)}
    quick = {files.url(f"/ok.csv?{number}", 2 + number % 2): "CSV" for number in range(20)}
    archives.list({**slow, **quick})
    assert archives.crawl().code == 0
    order = [one.host for one in archives.asked("/") if one.host != "127.0.0.1"]
    last_quick = max(place for place, host in enumerate(order) if host != "127.0.0.2")
    assert order[:last_quick].count("127.0.0.2") <= 8


def test_a_host_is_not_asked_faster_than_its_pace(archives, files):
    """Four requests to each host take a second and a half; a busy machine may date the first of them late."""
    archives.list({files.url(f"/ok.csv?{number}", number % 2): "CSV" for number in range(8)})
    assert archives.crawl({"REQUESTS_PER_SECOND": "2"}).code == 0
    for host in ("127.0.0.1", "127.0.0.2"):
        times = [one.time for one in archives.asked("/ok.csv") if one.host == host]
        assert max(times) - min(times) > 0.5


def test_a_host_that_blocks_does_not_block_the_others(archives, files):
    refusing = {files.url(f"/status/403?{number}", 1): "CSV" for number in range(6)}
    archives.list({**refusing, "/ok.csv": "CSV"})
    ran = archives.crawl()
    assert (ran.report["verdict"], archives.last()["/ok.csv"]["state"]) == ("incomplete", "kept")
    assert len(archives.asked("/status/403")) < 6
    assert {archives.last()[url]["state"] for url in refusing} == {"unknown"}


# Limits, choices


def test_the_choice_of_files(archives, files):
    archives.list({"/ok.csv": "CSV", "/untyped": "XLSX", "/ok.csv?b": "JSON"}, publisher={"name": "The Office"})
    ran = archives.crawl(format="csv,json")
    assert (ran.report["verdict"], sorted(archives.last())) == ("complete", ["/ok.csv", "/ok.csv?b"])
    assert archives.crawl(dataset="d1", publisher="the office").report["listed"] == 1
    limited = archives.crawl(max_files="1")
    assert (limited.code, limited.report["verdict"]) == (0, "partial")
    assert limited.report["captures"]["unchanged"] == 1


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ({"of": "nope"}, f"has no source of that name: it has {SOURCE}"),
        ({"of": f"archive-of-{SOURCE}"}, "has no source of that name"),
        ({}, "needs to know the source whose files it archives: -a of=hdx"),
        ({"of": SOURCE, "mode": "look"}, "mode"),
        ({"of": SOURCE, "dataset": "nope"}, "-a dataset=nope: the source towns has no such resource"),
        ({"of": SOURCE, "publisher": "nobody"}, "-a publisher=nobody: the source towns has no such resource"),
        ({"of": SOURCE, "max_datasets": "1"}, "has no argument 'max_datasets'"),
        (
            {"of": SOURCE, "what": "pages", "format": "CSV"},
            "-a format= chooses resources: leave it out with -a what=pages",
        ),
    ],
)
def test_a_wrong_argument_is_one_sentence(archives, arguments, told):
    archives.list(["/ok.csv"])
    ran = scrapy("crawl", "archive", *options(archives.output, archives.settings, **arguments))
    assert (ran.returncode, "Traceback" in ran.stderr) == (1, False)
    assert told in ran.stderr


# Kills


WORDS = ("verify", "prune")


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(20))
def test_a_kill_loses_nothing_and_keeps_nothing_twice(archives, files, tmp_path, seed):
    sizes = [*(3000 * number for number in range(1, 28)), 1_200_000, 1_400_000]  # the last are not held in memory
    links = [f"/made/{number}.txt?size={size}" for number, size in enumerate(sizes)]
    archives.list([*links, "/status/404", "/ok.csv", "/page.html"])
    job = {"JOBDIR": str(tmp_path / "job")}
    crawl = archives.start(job)
    answers = random.Random(seed).randrange(1, 32)
    until(lambda: len(files.log) >= answers or crawl.poll() is not None)
    time.sleep(random.Random(seed).random() / 20)
    crawl.send_signal(signal.SIGKILL)
    crawl.communicate(timeout=HANG)
    stored = set(archives.blobs())
    assert all(hashlib.sha256(body).hexdigest() == name for name, body in archives.blobs().items())
    known = b"".join(path.read_bytes() for path in archives.folder.glob("*.jsonl"))  # the last line may be torn
    left = {name for name in stored if name.encode() not in known}
    for path in archives.store.glob("sha256/*/*"):
        os.utime(path, (1, 1))  # prune spares what may belong to a crawl that has just begun
    verified, pruned = (scrapy("archive", word, *options(archives.output, archives.settings)) for word in WORDS)
    assert verified.returncode == (3 if left else 0), verified.stdout + verified.stderr
    assert {name for name in stored if name in pruned.stdout} == left, pruned.stdout
    ran = archives.crawl(job)
    assert ran.report["verdict"] == "complete", ran.log
    assert stored <= set(archives.blobs())
    seen = [(line["resource_id"], line["url"]) for line in archives.captures]
    assert len(seen) == len(set(seen))
    assert {line["sha256"] for line in archives.captures if line["sha256"]} == set(archives.blobs())
    assert sorted(line["sha256"] for line in ran.manifest) == sorted(archives.blobs())
    assert ran.report["captures"]["kept"] >= 30
    assert list((archives.store / "tmp").iterdir()) == []


# Turns


def test_a_host_that_another_crawl_asks_is_asked_when_that_ends(archives, files, tmp_path):
    """The others meanwhile; and a host that is asked is not crawled by others."""
    archives.list([*(f"/made/{number}.txt?host=0" for number in range(9)), files.url("/made/a.txt", host=1)])
    hosts = [site.removeprefix("http://") for site in files.sites]
    crawled = take(of_host(tmp_path / "jobs", hosts[0]))
    crawl = archives.start({"CONCURRENT_REQUESTS": "4", "LOG_LEVEL": "INFO"})
    until(lambda: (archives.folder / "captures.jsonl").exists() and archives.captures)
    assert {asked.host for asked in files.log} == {hosts[1].partition(":")[0]}
    os.close(crawled)
    _, log = crawl.communicate(timeout=HANG)
    assert (crawl.returncode, len(archives.captures)) == (0, 10), log
    assert log.count("waits for its turn: another crawl of this machine asks it") == 1
    assert list((tmp_path / "jobs" / ".hosts").iterdir()) == []


# After a harvest


def test_a_harvest_archives_what_its_table_says(archives, files, tmp_path):
    archives.list(["/ok.csv"])
    address, output, jobs = files.url("/data.json"), archives.output, tmp_path / "jobs"
    (tmp_path / "sources.toml").write_text(
        f'[{SOURCE}]\nspider = "dcat"\narchive = true\narguments = {{ url = "{address}" }}\n'
        f'[{SOURCE}.settings]\nALLOWED_PRIVATE_HOSTS = ["127.0.0.1"]\nARCHIVE_STORE = "{archives.store}"\n'
    )
    settings = {"SOURCES_FILE": tmp_path / "sources.toml", "JOBS_DIR": jobs, "LOGS_DIR": tmp_path / "logs"}
    ran = scrapy("harvest", SOURCE, *options(output, {name: str(value) for name, value in settings.items()}))
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert [line.split()[2] for line in ran.stdout.splitlines() if "started" in line] == [
        SOURCE,
        f"archive-of-{SOURCE}",
    ]
    assert "complete. 1 file: 1 kept." in ran.stdout
    assert archives.blobs() == {SHA256: CSV}


def test_an_archive_in_the_table_is_named_after_its_source(archives, tmp_path):
    table = tmp_path / "sources.toml"
    table.write_text('[files]\nspider = "archive"\narguments = { of = "towns" }\n')
    ran = scrapy("sources", "-s", f"SOURCES_FILE={table}", "-s", f"OUTPUT_DIR={archives.output}")
    assert '[files]: an archive is named after its source: [archive-of-NAME], of = "NAME".' in ran.stderr


# In S3


@pytest.fixture
def in_s3(archives, seaweed, monkeypatch):
    for name, value in seaweed.environment.items():
        monkeypatch.setenv(name, value)
    bucket = f"b{time.time_ns()}"
    seaweed.make_bucket(bucket)
    archives.settings["ARCHIVE_STORE"] = f"s3://{bucket}/files"
    return archives


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(20))
def test_a_kill_loses_nothing_in_s3(in_s3, files, tmp_path, seed):
    links = [f"/made/{number}.txt?size={90_000 * number}" for number in range(1, 20)]
    in_s3.list([*links, "/status/404"])
    job = {"JOBDIR": str(tmp_path / "job")}
    crawl = in_s3.start(job)
    answers = random.Random(seed).randrange(1, 20)
    until(lambda: len(files.log) >= answers or crawl.poll() is not None)
    time.sleep(random.Random(seed).random() / 5)
    crawl.send_signal(signal.SIGKILL)
    crawl.communicate(timeout=HANG)
    ran = in_s3.crawl(job)
    assert ran.report["verdict"] == "complete", ran.log
    blobs = open_blobs(Settings(in_s3.settings | {"SPOOL_DIR": str(tmp_path)}))
    stored = {blob.sha256: blob.bytes for blob in blobs}
    captured = {line["sha256"]: line["size"] for line in in_s3.captures if line["sha256"]}
    assert stored == captured
    assert sorted(line["sha256"] for line in ran.manifest) == sorted(stored)
    assert len(in_s3.captures) == len(in_s3.last()) == 20
    for sha256 in stored:
        with blobs.open(sha256) as blob:
            assert hashlib.file_digest(blob, "sha256").hexdigest() == sha256


@pytest.mark.slow
def test_a_file_that_s3_does_not_take_is_a_failure_of_ours(in_s3, files, seaweed, monkeypatch, tmp_path):
    in_s3.list(["/ok.csv"])
    with Faults(seaweed.url) as proxy:
        monkeypatch.setenv("AWS_ENDPOINT_URL", proxy.url)
        proxy.planned["PUT"] = ["503"] * 40
        ran = in_s3.crawl()
        (failed,) = in_s3.captures
        assert (ran.code, ran.report["verdict"], len(ran.manifest)) == (3, "incomplete", 0)
        assert (failed["state"], failed["status"], failed["is_broken"], failed["sha256"]) == (
            "failed_here",
            23,
            None,
            None,
        )
        assert failed["reason"].startswith("the file can't be stored: ")
        assert "Traceback" not in ran.log
        proxy.planned["PUT"] = []
        ran = in_s3.crawl()
    assert (ran.code, in_s3.last()["/ok.csv"]["state"], len(ran.manifest)) == (0, "kept", 1)
