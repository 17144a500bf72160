"""Portals that are odd in one way: nothing is lost to the oddity, or what is lost is told."""

from __future__ import annotations

import csv
import json
import re
import signal
import subprocess
import sys
import time

import pytest

from crawlers.kinds.ckan.spider import CKAN
from tests import forked
from tests.conftest import ROOT, json_lines, options
from tests.portal.odd import HTML, Answer, OddPortal, Request
from tests.waiting import HANG, until
from tests.walked import Walked, path, response, walk

EXPORT = "download_metadata"
ROBOT_CHECK = b"<!doctype html>Confirm that you are not a robot"
HARD_IDS = [
    *('a b|a"c|a{b|a]|a:b|a\\b|a*|a?b|a&&b|a!|a^2|a~|a(|a)|a/b|a+|a%20|a#|-a|+a|A|a|Z|TO|AND|OR|NOT|..|.'.split("|")),
    *("a||b", "\t", "a\nb", "\0", "ä", "é", "e\u0301", "日本", "𝔘", "﹏", "ﬁ", "a" * 101, "a" * 2000),
]


@pytest.fixture
def walked(tmp_path):
    """Walks through a portal, without a crawl: ``walked(OddPortal("empty_first"))``."""

    def run(site: OddPortal) -> Walked:
        def answers(request):
            asked = Request.read(request.method, path(request), request.body)
            site.log.append(f"{request.method} {path(request)}")
            given = site.answer(asked)
            return response(request, given.body, given.status, given.headers)

        return walk(CKAN, answers, tmp_path, portal="https://data.example.org")

    return run


# Listings


@pytest.mark.parametrize(
    ("oddity", "about"),
    [
        ("empty_first", ()),
        ("count_is_text", ()),
        ("count_is_off", (-5,)),
        ("count_is_off", (-35,)),
        ("empty_second", ()),
        ("empty_second_with_a_count", ()),
        ("dropsome", ()),
        ("duplicates", ()),
        ("uneven", ()),
        ("growing", ()),
        ("changes_at_once", (20,)),
        ("changes_at_once", (-20,)),
        ("latin1", ()),
        ("bom", ()),
        ("utf16", ()),
        ("second_is", (Answer(status=204),)),
        ("second_is", (Answer(b""),)),
    ],
)
def test_nothing_is_lost(walked, oddity, about):
    site = OddPortal(oddity, *about)
    done = walked(site)
    assert (done.judged, done.ids()) == (("complete", len(site.ids()), len(site.ids())), site.ids())


def test_what_is_no_ckan_is_told_with_what_to_do(tmp_path):
    """DKAN 1 has package_list and package_show, and no package_search."""

    def answers(request):
        is_list = request.url.endswith("/package_list")
        return response(request, b'{"success": true, "result": []}' if is_list else b"<html>", 200 if is_list else 404)

    done = walk(CKAN, answers, tmp_path, portal="https://data.example.org")
    [error] = done.errors
    assert error.http_status == 404
    assert error.error.startswith("HTTP 404 Not Found: CKAN's package_search is not there. DKAN 1, ")
    assert "scrapy crawl api -a kind=dkan1 -a portal=" in error.error


@pytest.mark.parametrize("oddity", ["empty_second", "growing", "zipped"])
def test_nothing_is_lost_by_a_crawl(crawl, oddity):
    with OddPortal(oddity) as site:
        done = crawl("ckan", site)
    assert (done.code, done.report["verdict"], done.errors) == (0, "complete", [])
    assert done.ids() == site.ids()
    assert done.report["listed"] == done.report["expected"] == len(site.ids())


def test_a_portal_that_sorts_in_another_way_than_it_compares(walked):
    site = OddPortal("ignores_case")
    for dataset in site.datasets[20:]:
        dataset["id"] = dataset["id"].upper()
    done = walked(site)
    assert (done.judged, done.ids()) == (("complete", 40, 40), site.ids())


def test_ids_that_a_query_may_not_hold_as_they_are(crawl):
    with OddPortal("are_called", HARD_IDS, datasets=0, most=1) as site:
        done = crawl("ckan", site)
    assert (done.code, done.ids(), done.errors) == (0, sorted(HARD_IDS), [])
    assert not site.asked("start="), "each page begins behind an id"


@pytest.mark.parametrize(
    ("oddity", "about", "listed", "kind"),
    [
        ("count_is_off", (5,), 40, "count_mismatch"),
        ("dropsome_everywhere", (), 39, "count_mismatch"),
        ("dropsome_and_counts_no_more", (), 39, "count_mismatch"),
        ("second_is", (Answer(status=304),), 10, "http"),
    ],
)
def test_what_is_not_sure_is_not_complete(walked, oddity, about, listed, kind):
    done = walked(OddPortal(oddity, *about))
    assert (done.judged[0], done.judged[2], done.kinds()) == ("incomplete", listed, {kind: 1})
    assert len(done.items) == listed


def test_a_listing_that_can_not_be_unpacked_is_no_bug_of_ours(crawl):
    with OddPortal("says_it_is_zipped") as site:
        done = crawl("ckan", site)
    assert (done.code, done.kinds()) == (4, [("list", "truncated")])


@pytest.mark.parametrize("oddity", ["loses_the_query", "post_becomes_get"])
def test_a_redirect_never_widens_a_crawl(crawl, oddity):
    """The portal would give everything, and one dataset was asked for."""
    with OddPortal(oddity) as site:
        done = crawl("ckan", site, fq="name:dataset-4")
    assert site.searches, "it was led to where everything is"
    assert (done.code, done.report["verdict"], done.documents()) == (4, "failed", {})


# Records


@pytest.mark.parametrize("number", [4, 9])
def test_an_id_that_is_half_a_character(crawl, number):
    """In the middle of a page, and at its end."""
    with OddPortal("have", {number: {"id": f"id{number:05d}\ud800"}}) as site:
        done = crawl("ckan", site)
    assert done.ids() == [identifier for identifier in site.ids() if "\ud800" not in identifier]
    assert (done.code, done.kinds(), done.report["listed"]) == (3, [("list", "missing_id")], 40)


@pytest.mark.parametrize("there", [True, False])
@pytest.mark.parametrize("identifier", ["r\ud800", 7, " padded "])
def test_a_resource_id_that_is_odd(crawl, identifier, there):
    answer = () if there else (Answer(b"gone", 404),)
    with OddPortal("have", {4: {"resources": [{"id": identifier, "name": "odd"}]}}) as site:
        site.is_now("" if there else "exports_are", *answer)
        done = crawl("hdx", site)
    written = [name for name in done.documents("resource_metadata") if name.startswith("id00004__")]
    told = [error for error in done.errors if error["dataset_id"] == "id00004"]
    assert len(written) + len(told) == 1
    assert (len(done.documents()), len(done.documents("resource_metadata"))) == (40, 39 + len(written))
    assert done.code == (3 if told else 0)


@pytest.mark.parametrize("resources", [None, {"a": 1}])
def test_resources_that_are_no_list(crawl, resources):
    with OddPortal("have", {4: {"resources": resources}}) as site:
        done = crawl("hdx", site)
    assert (done.code, done.ids(), done.kinds()) == (0, site.ids(), [])
    assert [(flaw["dataset_id"], flaw["field"]) for flaw in done.flaws] == [("id00004", "resources")]
    assert len(done.documents("resource_metadata")) == 39


def test_integers_beyond_64_bits_keep_their_digits(crawl):
    """The writer's library takes integers from -2**63 to 2**64 - 1; what is longer is written in another way."""
    numbers = [-(2**63), -(2**63) - 1, 2**63, 2**64 - 1, 2**64, 10**30 + 1, 10**400 + 1]
    with OddPortal("have", {number: {"views": value} for number, value in enumerate(numbers)}) as site:
        done = crawl("ckan", site)
        again = crawl("ckan", site)
    assert (done.code, done.errors, again.report["counts"]["unchanged"]) == (0, [], 40)
    for number, value in enumerate(numbers):
        (path,) = (done.folder / "datasets").glob(f"id{number:05}*")
        assert f'\n  "views": {value}' in path.read_text(encoding="utf-8")


@pytest.mark.parametrize("oddity", ["", "exports_are"])
def test_a_resource_of_two_datasets(crawl, oddity):
    shared = {"resources": [{"id": "shared", "name": "shared"}]}
    with OddPortal("have", {4: shared, 5: shared}) as site:
        site.is_now(oddity, *([Answer(b"gone", 404)] if oddity else []))
        done = crawl("hdx", site)
    names = [name for name in done.documents("resource_metadata") if "shared" in name]
    assert (done.code, names) == (0, ["id00004__shared__shared.json", "id00005__shared__shared.json"])


def test_names_that_are_too_long(crawl):
    long = {"id": "x" * 100, "name": "z" * 80, "resources": [{"id": "y" * 100, "name": "z" * 80}]}
    with OddPortal("have", {4: long}) as site:
        done = crawl("hdx", site, level="both")
    names = [path.name for path in done.folder.rglob("xxx*.json")]
    assert (done.code, len(names), len(done.documents())) == (0, 3, 40)
    assert max(map(len, names)) == 255


# Exports


@pytest.mark.parametrize(
    "answer",
    [
        *(Answer(body) for body in (b"", b"null", b"[1]", b"3", b"{}", b'{"error": "not found"}')),
        Answer(b'{"success": true, "result": {"id": "r00000", "name": "in an envelope"}}'),
        Answer(b'{"id": "another", "name": "another"}'),
        Answer(status=204),
    ],
    ids=lambda answer: f"{answer.status} {answer.body.decode()}",
)
def test_an_export_that_is_none_falls_back(crawl, answer):
    with OddPortal("exports_are", answer, datasets=2) as site:
        done = crawl("hdx", site)
    assert (done.code, done.errors, done.report["counts"]["fallback"]) == (0, [], 2)
    assert all(document["_fallback_reason"] for document in done.documents("resource_metadata").values())


def test_every_export_is_redirected_to_one_login(crawl):
    with OddPortal("exports_need_a_login") as site:
        done = crawl("hdx", site)
    assert (done.code, done.errors, done.report["counts"]["fallback"]) == (0, [], 40)
    assert len(done.documents("resource_metadata")) == 40


@pytest.mark.parametrize(
    ("answer", "again"),
    [
        (Answer(ROBOT_CHECK, 200, HTML), True),
        (Answer(ROBOT_CHECK, 404, HTML), True),
        (Answer(b"gone", 404, HTML), False),
    ],
    ids=["robot check", "robot check 404", "404"],
)
def test_a_fallback_for_what_will_come_is_asked_for_again(crawl, answer, again):
    with OddPortal("exports_are", answer, datasets=5) as site:
        before = crawl("hdx", site, settings={"BLOCKED_AFTER": "0"}).report["counts"]
        site.is_now("")
        site.log.clear()
        after = crawl("hdx", site).report["counts"]
    assert (before["fallback"], after["updated"]) == (5, 5 if again else 0)
    assert len(site.asked(EXPORT)) == after["updated"]


# What is on disk


def test_a_document_of_no_bytes_is_written_again(crawl):
    with OddPortal() as site:
        first = crawl("hdx", site)
        emptied = [next((first.folder / kind).glob("id00004*")) for kind in ("datasets", "resource_metadata")]
        before = [path.read_bytes() for path in emptied]
        for path in emptied:
            path.write_bytes(b"")
        second = crawl("hdx", site)
    assert (second.code, [path.read_bytes() for path in emptied]) == (0, before)
    assert second.report["counts"]["unchanged"] == 78


def test_another_manifest_is_noticed(crawl):
    """It is as long as the one before, so that its size tells nothing."""
    with OddPortal() as site:
        manifest = crawl("ckan", site).folder / "manifest.jsonl"
        other = re.sub(rb'(?<="sha256":")\w+', b"0" * 64, manifest.read_bytes())
        manifest.write_bytes(other.replace(b'"metadata_modified":"2026', b'"metadata_modified":"2025'))
        second = crawl("ckan", site)
    assert (second.code, second.report["counts"]["updated"]) == (0, 40)


def test_a_manifest_without_its_last_newline(crawl):
    with OddPortal(datasets=5) as site:
        manifest = crawl("ckan", site).folder / "manifest.jsonl"
        whole = manifest.read_bytes()
        manifest.write_bytes(whole[:-1])
        done = crawl("ckan", site)
    assert [line["dataset_id"] for line in done.manifest] == [
        json.loads(line)["dataset_id"] for line in whole.splitlines()
    ]


def test_names_change_with_the_settings(crawl):
    with OddPortal(datasets=5) as site:
        crawl("hdx", site)
        site.log.clear()
        done = crawl("hdx", site, settings={"FILENAME_SLUG": "False"})
    assert list(done.documents()) == [f"{identifier}.json" for identifier in site.ids()]
    assert list(done.documents("resource_metadata")) == [f"id0000{one}__r0000{one}.json" for one in range(5)]
    assert (done.code, done.report["counts"]["updated"]) == (0, 10)


# Feeds


def test_a_feed_of_tables(crawl, tmp_path):
    feed = tmp_path / "datasets.csv"
    with OddPortal() as site:
        assert crawl("hdx", site, more=("-O", str(feed))).code == 0
    with feed.open(encoding="utf-8", newline="") as lines:
        assert sorted(row["id"] for row in csv.DictReader(lines)) == site.ids()


def test_a_feed_of_runspider_holds_datasets_only(output, tmp_path):
    feed = tmp_path / "datasets.jsonl"
    with OddPortal() as site:
        words = options(output, {}, portal=site.url)
        command = [
            sys.executable,
            "-m",
            "scrapy",
            "runspider",
            str(ROOT / "spiders" / "hdx.py"),
            *words,
            "-O",
            str(feed),
        ]
        forked.run(command, cwd=ROOT, capture_output=True, check=True, timeout=HANG)
    assert sorted(item["id"] for item in json_lines(feed)) == site.ids()


# Stopping


@pytest.mark.parametrize("oddity", ["second_is", "exports_are"])
def test_a_crawl_that_waits_to_ask_again_is_stopped_at_once(output, oddity):
    with OddPortal(oddity, Answer(status=503)) as site:
        words = options(output, {"RETRY_BACKOFF": "3600", "RETRY_BACKOFF_MAX": "3600"}, portal=site.url)
        command = [sys.executable, "-m", "scrapy", "crawl", "hdx", *words]
        crawl = forked.Popen(command, cwd=ROOT, stderr=subprocess.PIPE)
        until(lambda: len(site.log) >= 3, unless=lambda: crawl.poll() is not None)
        time.sleep(0.3)
        crawl.send_signal(signal.SIGINT)
        crawl.communicate(timeout=HANG)
    assert crawl.returncode == 130
