"""A feed that can't be stored is found before any request, or told at the end; the others are not affected."""

from __future__ import annotations

import json
import os
from types import SimpleNamespace

import pytest
from scrapy.settings import Settings

from crawlers.exceptions import ArgumentError
from crawlers.extensions.feeds import DatasetFeeds, unstorable
from tests.conftest import json_lines, options, scrapy


@pytest.fixture
def reason(tmp_path):
    """Why a feed can't be stored; of a name below the test's folder."""
    (tmp_path / "file").write_text("kept")
    crawler = SimpleNamespace(settings=Settings(), spider=SimpleNamespace(name="hdx"))
    return lambda uri, **options: unstorable(uri.replace("TMP", str(tmp_path)), options, crawler)


@pytest.mark.parametrize(
    ("uri", "options", "told"),
    [
        ("TMP/a.jsonl", {}, None),
        ("TMP/new/deep/a.csv", {}, None),
        ("TMP/%(name)s-%(time)s-100%.csv", {}, None),
        ("TMP/%(nothing)s.json", {"uri_params": "the.users.function"}, None),
        ("file://TMP/a%20b.xml", {}, None),
        ("TMP/file", {"format": "json"}, None),
        ("stdout:", {"format": "json"}, None),
        ("/dev/full", {"format": "json"}, None),
        ("ftp://here/a.json", {}, None),
        ("TMP", {"format": "json"}, "it is a folder"),
        ("TMP/file/a.jsonl", {}, "Not a directory"),
        ("/proc/none/a.jsonl", {}, "No such file or directory"),
        (f"TMP/{'a' * 300}.json", {}, "File name too long"),
        ("TMP/%(nothing)s.json", {}, "its name can't be read"),
        ("TMP/a.txt", {}, "there is no format 'txt', but csv, jl, json"),
        ("TMP/a", {}, "there is no format ''"),
        ("TMP/a.csv", {"format": "parquet"}, "there is no format 'parquet'"),
        ("foo://here/a.json", {}, "there is no storage for foo: addresses"),
        ("s3:///a.json", {}, "its address has no host or bucket"),
        ("ftp:///a.json", {}, "its address has no host or bucket"),
        ("s3://[/a.json", {}, "its name can't be read (Invalid IPv6 URL)"),
    ],
)
def test_why_a_feed_can_not_be_stored(reason, uri, options, told):
    found = reason(uri, **options)
    assert found == told if told is None else (found or "").startswith(told)


@pytest.mark.parametrize(("uri", "package"), [("s3://b/a.json", "boto3"), ("gs://b/a.json", "google-cloud-storage")])
def test_a_package_that_is_missing_is_named(reason, monkeypatch, uri, package):
    def find(name):
        assert name.replace(".", "-") == package
        if "." in name:
            raise ModuleNotFoundError(name)

    monkeypatch.setattr("crawlers.extensions.feeds.find_spec", find)
    assert reason(uri) == f"the package {package} is not installed"
    monkeypatch.setattr("crawlers.extensions.feeds.find_spec", lambda name: name)
    assert reason(uri) is None


def test_to_look_changes_nothing(reason, tmp_path):
    os.utime(tmp_path / "file", (5, 5))
    assert reason("TMP/file", format="json") is None
    assert reason("TMP/new/a.json") is None
    assert ((tmp_path / "file").read_text(), (tmp_path / "file").stat().st_mtime) == ("kept", 5)
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


def test_options_that_are_none_are_a_sentence():
    settings = Settings({"FEEDS": {"ftp://me:secret@here/a.csv": 5}})
    with pytest.raises(ArgumentError, match=r"The options of the feed ftp://\*\*\*@here/a\.csv are no table"):
        DatasetFeeds().update_settings(settings)


def test_nothing_is_requested_for_a_feed_that_can_not_be_stored(portal, output, tmp_path):
    site = portal(datasets=1)
    words = options(output, {}, portal=site.url)
    ran = scrapy("crawl", "hdx", "--nolog", *words, "-O", f"{tmp_path}:json")
    assert (ran.returncode, site.requests(), output.exists()) == (1, 0, False)
    assert ran.stderr == f"The feed {tmp_path} can't be stored: it is a folder.\n"


def test_a_feed_that_fails_at_the_end_is_an_error_of_the_run(crawl, portal, tmp_path):
    whole, refused = tmp_path / "whole.jsonl", "ftp://me:secret@127.0.0.1:9/a.csv"
    feeds = {"/dev/full": {"format": "xml"}, refused: {}, str(whole): {}}
    done = crawl("ckan", portal(datasets=5), settings={"FEEDS": json.dumps(feeds)}, more=("--nolog",))
    assert (done.code, done.report["verdict"], done.report["errors"]) == (3, "incomplete", {"feed": 2})
    assert sorted((line["stage"], line["kind"], line["error"]) for line in done.errors) == [
        ("write", "feed", "the feed /dev/full could not be stored: No space left on device"),
        ("write", "feed", "the feed ftp://***@127.0.0.1:9/a.csv could not be stored: Connection refused"),
    ]
    assert "2 errors (feed 2)" in done.lines[1]
    assert len(json_lines(whole)) == done.report["listed"] == 5
