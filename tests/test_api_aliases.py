"""Whole crawls of a portal that gives datasets other ids, and says which ids they had: its records' aliases."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys

import pytest

from tests import forked
from tests.conftest import ROOT, Crawl, command, options, scrapy
from tests.site import Answer, Site
from tests.test_resume import left
from tests.waiting import until

RIVERS = """
metadata_url = "{portal}/r/{id}"
[list]
url = "{portal}/list"
records = "r"
total = "t"
since = { params = { since = "{since}" } }
[list.paging]
kind = "offset"
param = "offset"
size = { param = "limit", max = 10 }
[dataset]
id = "id"
title = "title"
aliases = "also"
"""


class Rivers:
    """A portal of 30 datasets, three pages.

    Attributes:
        records: what it lists; ``changed`` in one is listed by ``since``, too.
    """

    def __init__(self, tmp_path, output):
        folder = tmp_path / "catalogues" / "kinds"
        folder.mkdir(parents=True)
        (folder / "rivers.toml").write_text(RIVERS, encoding="utf-8")
        os.environ["CRAWLERS_HOME"] = str(tmp_path)
        self.output = output
        self.records = [{"id": f"d{number:02d}", "title": f"River {number}"} for number in range(30)]
        self.site = Site(self.answer)

    def answer(self, asked):
        if asked.path == "/robots.txt":
            return Answer(b"", 404)
        given = asked.parameters
        found = [record for record in self.records if "since" not in given or "changed" in record]
        page = found[int(given["offset"]) :][: int(given["limit"])]
        return Answer(json.dumps({"r": page, "t": len(found)}).encode())

    def rename(self, number, new, **more):
        """Give a dataset another id; its record has the one before."""
        record = self.records[number]
        self.records[number] = record | {"id": new, "also": [record["id"]], "changed": True} | more

    def words(self, given, settings):
        return options(self.output, settings, portal=self.site.url, kind="rivers", source="rivers", **given)

    def crawl(self, given=None, **settings):
        ran = scrapy("crawl", "api", *self.words(given or {}, settings))
        assert ran.returncode in (0, 3), ran.stderr
        return Crawl(ran.returncode, ran.stderr, self.output / "rivers")


@pytest.fixture
def rivers(tmp_path, output):
    api = Rivers(tmp_path, output)
    with api.site:
        yield api


def withdrawn(done):
    """The ids of withdrawn datasets, each with the reason and the id that it has now."""
    lines = [line for line in done.manifest if line["status"] == "withdrawn"]
    return {line["dataset_id"]: (line["reason"], line.get("renamed_to")) for line in lines}


def test_a_dataset_that_has_another_id_is_renamed(rivers):
    assert len(rivers.crawl().manifest) == 30
    rivers.rename(4, "elbe")
    rivers.rename(29, "oder")
    (rivers.output / "index.sqlite").unlink()
    assert command("reindex", *options(rivers.output, {})).returncode == 0
    done = rivers.crawl()
    assert (done.code, done.report["verdict"]) == (0, "complete")
    counts = done.report["counts"]
    assert (counts["new"], counts["withdrawn"], counts["unchanged"]) == (2, 2, 28)
    assert withdrawn(done) == {"d04": ("renamed", "elbe"), "d29": ("renamed", "oder")}
    done = rivers.crawl()
    assert (done.report["counts"]["unchanged"], len(done.manifest)) == (30, 34)


def test_a_catalogue_with_new_ids_has_not_shrunk(rivers):
    rivers.crawl()
    for number in range(30):
        rivers.rename(number, f"new{number}")
    done = rivers.crawl()
    assert (done.code, done.errors, len(withdrawn(done))) == (0, [], 30)


def test_what_is_listed_itself_is_not_renamed(rivers):
    rivers.crawl()
    rivers.records.append({"id": "copy", "title": "River 4", "also": ["d04", "d05", "copy"]})
    done = rivers.crawl()
    assert (done.code, done.report["counts"]["new"], withdrawn(done)) == (0, 1, {})


def test_what_was_there_before_is_no_new_id(rivers):
    rivers.records.append({"id": "copy", "title": "River 4", "also": ["d04"]})
    rivers.crawl()
    del rivers.records[4]
    settings = {"SHRINK_LIMIT": "0.1"}
    assert withdrawn(rivers.crawl(**settings)) == {}
    assert withdrawn(rivers.crawl(**settings)) == {"d04": ("not found", None)}


def test_an_id_that_two_datasets_had_is_none_of_theirs(rivers):
    rivers.crawl()
    rivers.rename(4, "elbe")
    rivers.records.append({"id": "oder", "title": "Oder", "also": ["d04"]})
    settings = {"SHRINK_LIMIT": "0.1"}
    assert withdrawn(rivers.crawl(**settings)) == {}
    assert withdrawn(rivers.crawl(**settings)) == {"d04": ("not found", None)}


def test_a_listing_of_changes_leaves_it_to_the_next_whole_one(rivers):
    rivers.crawl()
    rivers.rename(4, "elbe")
    done = rivers.crawl({"since": "last"})
    assert (done.report["counts"]["new"], withdrawn(done)) == (1, {})
    done = rivers.crawl()
    assert (done.code, withdrawn(done)) == (0, {"d04": ("renamed", "elbe")})


def test_an_id_that_comes_back_is_restored(rivers):
    rivers.crawl()
    before = rivers.records[4]
    rivers.rename(4, "elbe")
    rivers.crawl()
    rivers.records[4] = before | {"also": ["elbe"]}
    done = rivers.crawl()
    assert done.report["counts"]["restored"] == 1
    assert withdrawn(done)["elbe"] == ("renamed", "d04")


@pytest.mark.slow
@pytest.mark.parametrize("job", [True, False])
def test_a_kill_hides_no_new_id(rivers, tmp_path, job):
    def killed(asked):
        """Kill the crawl when it has asked for so many pages."""
        words = rivers.words({}, settings)
        crawl = forked.Popen(
            [sys.executable, "-m", "scrapy", "crawl", "api", *words], cwd=ROOT, stderr=subprocess.PIPE, text=True
        )
        until(lambda: len(rivers.site.asked) >= asked, unless=lambda: crawl.poll() is not None)
        crawl.send_signal(signal.SIGKILL)
        crawl.communicate()

    rivers.crawl()
    settings = {"JOBDIR": str(tmp_path / "job")} if job else {}
    for number in (4, 14, 24):
        rivers.rename(number, f"new{number}")
    for more in range(1, 6):
        killed(len(rivers.site.asked) + more)
    done = rivers.crawl(**settings)
    assert withdrawn(done) == {f"d{number:02d}": ("renamed", f"new{number}") for number in (4, 14, 24)}
    lines = [(line["dataset_id"], line["status"]) for line in done.manifest]
    assert len(lines) == len(set(lines)) == 36
    assert left(done)
