"""OAI-PMH repositories, and what they do wrong: whole crawls, judged by the folder they leave."""

from __future__ import annotations

import os
import random
import re
import signal
import subprocess
import sys
import threading
import time
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING
from unittest.mock import patch

import pytest

from crawlers.kinds.oai import spider
from crawlers.kinds.oai.answers import OAIAnswer, OAIRecord
from crawlers.kinds.oai.dialect import Question
from tests import forked
from tests.conftest import ROOT, Crawl, options, scrapy
from tests.portal.oai import Held, Repository, held, oops
from tests.site import Answer, Site
from tests.waiting import HANG, until
from tests.walked import Walked, answers_of, walk

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


@pytest.fixture
def crawled(output) -> Iterator[Callable[..., Crawl]]:
    """Crawls repositories, all at one address; ``asked`` has the requests, as the question alone."""
    with Site(Repository([])) as site:

        def run(repository, settings=None, folder=output, **arguments) -> Crawl:
            site.answer = repository
            site.asked.clear()
            ran = scrapy("crawl", "oai", *options(folder, settings or {}, url=f"{site.url}/oai", **arguments))
            name = arguments.get("source") or next((path.name for path in folder.glob("127.0.0.1*")), "127.0.0.1")
            done = Crawl(ran.returncode, ran.stderr, folder / name)
            done.asked = [question for one in site.asked if (question := one.path.partition("?verb=")[2])]
            return done

        yield run


class Then(datetime):
    """A day that does not go on: windows end at the present, so that how many there are depends on it."""

    @classmethod
    def now(cls, tz=None):
        return datetime(2026, 11, 26, 13, 20, tzinfo=tz)


def walked(repository, folder, **given) -> Walked:
    with Site(repository) as site, patch("crawlers.kinds.oai.dialect.datetime", Then):
        return walk(spider.OAI, answers_of(site), folder, url=f"{site.url}/oai", **given)


def names(done: Crawl) -> list[str]:
    """The records on disk, by the names that the test gave them."""
    kept = {line["dataset_id"] for line in done.manifest if line["status"] != "withdrawn"}
    return sorted(name.removeprefix("oai:test:") for name in kept)


def verdict(done: Crawl) -> tuple[int, str, int]:
    return done.code, done.report["verdict"], len(names(done))


WHOLE = (0, "complete", 35)


TRAPS = [
    {},
    {"says": None},
    {"says": 20},
    {"no_element": True},
    {"full_end": True},
    {"full_end": True, "says": None},
    {"full_end": True, "says": None, "error_status": 422},
    {"never_ends": True},
    {"never_ends": True, "says": None},
    {"repeats": 40},
    {"repeats": 20, "says": None},
    {"beside": True},
    {"beside": True, "error_status": 400},
    {"dead_at": (3,)},
    {"dead_at": (3, 6, 9, 12), "says": None},
    {"dies_behind": 20},
    {"dies_behind": 10, "says": None},
    {"breaks_behind": 20},
    {"identify": True},
    {"identify": 500, "formats": 500},
    {"identify": 404},
    {"identify": 200, "formats": 200},
    {"error_status": 422, "dies_behind": 20},
    {"cut_behind": 20},
    {"cut_behind": 10, "says": None},
    {"extra_token": "badResumptionToken"},
    {"extra_token": "badResumptionToken", "undated": True},
    {"extra_token": "badResumptionToken", "error_status": 422},
    {"extra_token": 500},
    {"extra_token": 404, "undated": True},
]


@pytest.mark.parametrize("traps", TRAPS, ids=str)
@pytest.mark.parametrize("daily", [False, True])
def test_a_trap_that_can_be_got_round(tmp_path, traps, daily):
    done = walked(Repository(held(35), traps, daily=daily), tmp_path)
    verdict, _, listed = done.judged
    assert (verdict, listed, len(done.ids()), done.errors) == ("complete", 35, 35, [])
    assert len(done.asked) < 60
    assert {item.metadata_source for item in done.items} == {"dublin_core"}


def shuffled(count: int, seed: int = 1) -> list[Held]:
    records = held(count)
    random.Random(seed).shuffle(records)
    return records


TOKENS = ["badResumptionToken", "noRecordsMatch", "badArgument", 404]


@pytest.mark.parametrize("records", [held(35), held(50)], ids=["35", "50"])
@pytest.mark.parametrize("token", TOKENS, ids=str)
def test_a_superfluous_token_without_a_total_costs_few_requests(tmp_path, records, token):
    """What is not older than the newest record is requested: one short page of that moment, so it is the end."""
    done = walked(Repository(records, {"extra_token": token, "says": None}), tmp_path)
    assert (done.judged, done.evidence, done.errors) == (
        ("complete", len(records), len(records)),
        {"datasets": "pager"},
        [],
    )
    assert len(done.asked) < 30


@pytest.mark.parametrize("token", [*TOKENS, None], ids=str)
@pytest.mark.parametrize("count", [8, 10, 35, 50, 55])
def test_a_superfluous_token_of_an_unsorted_list_without_a_total_proves_no_end(tmp_path, count, token):
    """All records come; but windows that bring nothing more may have been cut, too: by their bytes, or at hidden ones.

    Args:
        token: what it is answered; ``None`` for a page without records.
    """
    repository = Repository(shuffled(count), {"extra_token": token or "none", "says": None})
    if token is None:
        repository.error = lambda *_: repository.answered("<ListRecords></ListRecords>")
    done = walked(repository, tmp_path)
    is_shown = token is None and count > 10  # an empty page behind one that came by a token
    assert (done.judged[0], len(done.ids())) == ("complete" if is_shown else "incomplete", count)
    assert len(done.asked) < 80


@pytest.mark.parametrize("code", ["badResumptionToken", "noRecordsMatch"])
@pytest.mark.parametrize(
    ("lengths", "lives"), [((10,), (5, 1, 3)), ((10,), (1, 1)), ((4, 6, 5, 3), (4, 1)), ((4, 6, 5, 3), (1, 1))]
)
def test_a_token_that_dies_in_an_unsorted_list_is_no_end(tmp_path, lengths, lives, code):
    for seed in (0, 4):
        (folder := tmp_path / f"{seed}").mkdir()
        repository = Uneven(shuffled(60, seed), {"says": None}, lengths=lengths, lives=lives, code=code)
        done = walked(repository, folder)
        assert done.judged[0] == ("complete" if len(done.ids()) == 60 else "incomplete")


class PerPage(Repository):
    """The size that it gives for the list is that of the page."""

    def page(self, found, start, rest):
        self.traps["says"] = len(found[start : start + self.size])
        return super().page(found, start, rest)


@pytest.mark.parametrize("records", [held(35), held(8)], ids=["35", "8"])
@pytest.mark.parametrize(
    "traps", [{"extra_token": "noRecordsMatch"}, {"extra_token": "badResumptionToken"}, {"dies_behind": 10}], ids=str
)
def test_a_total_that_is_as_long_as_its_page_is_none_of_the_list(tmp_path, records, traps):
    for name, order in (("sorted", records), ("shuffled", random.Random(3).sample(records, len(records)))):
        (folder := tmp_path / name).mkdir()
        done = walked(PerPage(order, {**traps}), folder)
        is_alone = len(records) < 10 and traps.get("extra_token") == "badResumptionToken"
        is_shown = (name == "sorted" and not is_alone) or "extra_token" not in traps
        assert (done.judged[0], len(done.ids())) == ("complete" if is_shown else "incomplete", len(records))


def test_a_page_of_five_that_calls_itself_five_and_dies_is_not_whole(tmp_path):
    """It has no dates, so nothing else shows more."""
    done = walked(PerPage(held(35), {"dies_behind": 5, "undated": True}, size=5), tmp_path)
    assert (done.judged, len(done.ids())) == (("incomplete", None, 5), 5)


@pytest.mark.parametrize("records", [held(60), random.Random(1).sample(held(60), 60)], ids=["sorted", "shuffled"])
@pytest.mark.parametrize(
    "trap",
    [{"dies_behind": 20}, {"cut_behind": 20}, {"breaks_at": ("r00057",), "breaks_with": 500}, {"dead_at": (3, 6, 9)}],
)
def test_what_a_list_said_before_it_was_split_is_expected_where_windows_are_ignored(tmp_path, records, trap):
    done = walked(Repository(records, {**trap, "ignores": True}), tmp_path)
    assert done.judged[1] == 60
    assert done.judged[0] == ("complete" if len(done.ids()) == 60 else "incomplete")


def test_a_total_that_is_met_is_an_end_where_windows_are_ignored(tmp_path):
    done = walked(Repository(held(35), {"extra_token": "badResumptionToken", "ignores": True}), tmp_path)
    assert (done.judged, done.errors) == (("complete", 35, 35), [])


@dataclass
class Uneven(Repository):
    """Its pages have the lengths of `lengths`, in turn, and its tokens are good for `lives` pages, in turn.

    Args:
        code: what it answers to a token that died.
    """

    lengths: tuple[int, ...] = (10,)
    lives: tuple[int, ...] = (4, 2)
    code: str = "badResumptionToken"

    def page(self, found, start, rest):
        page, place = 0, 0
        while place < start:
            place, page = place + self.lengths[page % len(self.lengths)], page + 1
        is_whole = len(found) == len(self.records)
        life = self.lives[0] if is_whole else self.lives[1:][len(found) % len(self.lives[1:])]
        if page >= life:
            return self.error(self.code)
        self.size = self.lengths[page % len(self.lengths)]
        return super().page(found, start, rest)


@pytest.mark.parametrize("code", ["badResumptionToken", "noRecordsMatch"])
@pytest.mark.parametrize(
    ("count", "lengths", "lives"),
    [
        (60, (10, 9, 10, 8), (3, 2)),
        (120, (10, 9, 10, 8), (4, 1, 3, 2)),
        (60, (5, 4, 6, 3), (4, 2)),
        (60, (4, 6, 5, 3), (4, 1)),
        (200, (7, 9, 8), (4, 2)),
        (200, (9, 7), (4, 2)),
        (100, (10, 10, 7), (3, 2)),
        (100, (10, 10, 7), (5, 1, 3)),
    ],
    ids=str,
)
def test_a_token_that_dies_where_pages_vary_in_length_is_no_end(tmp_path, count, lengths, lives, code):
    """Hidden records, or pages that are cut by their bytes: a short page is no last one."""
    done = walked(Uneven(held(count), {"says": None}, lengths=lengths, lives=lives, code=code), tmp_path)
    assert (done.judged[0], len(done.ids())) == ("complete", count)


@pytest.mark.parametrize(
    ("lists", "is_short"),
    [
        (["5t 5t 2t"], True),
        (["5t 5t 2t", "1t"], True),
        (["5t 5t 5t"], False),
        (["2t"], False),
        (["5t 4t 2t"], False),
        (["5t 4t 5t", "5t 2t"], False),
        (["5t 5t 6t", "2t"], False),
        (["5t 5t 2", "5t 2t"], False),
        (["5t 5t 2t", "5t 3", "2t"], False),
        (["5t 5t 2t", "0", "2t"], True),
    ],
    ids=str,
)
def test_a_page_is_a_last_one_if_it_alone_is_shorter_and_no_list_ends_without_a_token(lists, is_short):
    """Each word is a page: how many records it has, and whether a token."""
    ask = Question()
    for pages in lists:
        ask = ask.first()
        for page in pages.split():
            records = [OAIRecord(identifier=str(n)) for n in range(int(page[0]))]
            ask = ask.behind(OAIAnswer(records=records, token=page[1:]))
    assert ask.is_short is is_short


def test_a_list_that_ends_at_a_limit_within_a_page_is_no_end(tmp_path):
    """Each list gives 25 records at most, 10 on a page, and a token that is refused."""

    class Limited(Repository):
        def page(self, found, start, rest):
            return super().page(found[:25], start, rest)

    done = walked(Limited(shuffled(100), {"extra_token": "badResumptionToken", "says": None}), tmp_path)
    assert (done.judged[0], len(done.ids())) == ("incomplete", 100)


def test_a_token_that_dies_behind_a_full_page_of_a_window_is_no_end(tmp_path):
    class Dying(Repository):
        def page(self, found, start, rest):
            dies = start >= (30 if not (rest[2] or rest[3]) else 10)
            return self.error("badResumptionToken") if dies else super().page(found, start, rest)

    done = walked(Dying(shuffled(100), {"says": None}), tmp_path)
    assert (done.judged[0], len(done.ids())) == ("complete", 100)


def test_a_page_for_people_is_asked_for_once_more(tmp_path):
    repository = Repository(held(35), {})
    repository.page = lambda found, start, rest: (
        oops(200) if repository.served == 2 else Repository.page(repository, found, start, rest)
    )
    done = walked(repository, tmp_path)
    assert (done.judged, done.errors, len(done.asked)) == (("complete", 35, 35), [], 7)


@pytest.mark.parametrize("records", [held(35), shuffled(35)], ids=["sorted", "shuffled"])
def test_a_record_at_the_edge_of_two_windows_counts_once(tmp_path, records):
    done = walked(Repository(records, {"breaks_behind": 20}), tmp_path)
    assert (done.judged, done.errors) == (("complete", 35, 35), [])


def test_a_token_behind_an_empty_page_is_no_end(tmp_path):
    """Nothing came at all since then, and it is refused."""
    repository = Repository([], {"extra_token": "badResumptionToken", "says": None})
    repository.page = lambda found, start, rest: (
        repository.answered("<ListRecords><resumptionToken>10||||!0</resumptionToken></ListRecords>")
        if not start
        else repository.error("badResumptionToken")
    )
    done = walked(repository, tmp_path, since="2026-11-01")
    assert (done.judged[0], done.evidence) == ("incomplete", {})
    assert len(done.asked) < 60


@pytest.mark.parametrize("records", [held(50), shuffled(50)], ids=["sorted", "shuffled"])
@pytest.mark.parametrize("says", [{}, {"says": None}], ids=str)
@pytest.mark.parametrize(
    "fault", [{"breaks_with": 500}, {"breaks_with": 408}, {"breaks_with": 200}, {"cut": True}], ids=str
)
def test_each_fault_of_a_page_is_met_by_the_same_rungs(tmp_path, records, says, fault):
    """A record breaks each page that has it: an error, a page for people, or XML that breaks off."""
    for broken in (("r00024",), ("r00000", "r00034")):
        traps = {"cut_in": broken} if "cut" in fault else {"breaks_at": broken}
        done = walked(Repository(records, traps | says | fault), tmp_path)
        kept = {one.removeprefix("oai:test:") for one in done.ids()}
        assert {held.name for held in records} - kept == {*broken}
        assert (done.judged[0], len(done.asked) < 80 * len(broken)) == ("incomplete", True)


def test_a_host_that_is_down_is_not_asked_for_each_window(tmp_path):
    repository = Repository(held(50), {})
    repository.page = lambda found, start, rest: (
        oops(500) if repository.served > 2 else Repository.page(repository, found, start, rest)
    )
    done = walked(repository, tmp_path)
    assert (done.judged[0], len(done.ids()), set(done.kinds())) == ("incomplete", 20, {"http"})
    assert len(done.asked) < 20


@pytest.mark.parametrize("traps", [traps for traps in TRAPS if {"error_status", "breaks_behind", "beside"} & {*traps}])
def test_a_trap_that_a_crawl_gets_round(crawled, traps):
    done = crawled(Repository(held(35), traps), {"RETRY_TIMES": "0"})
    assert not done.errors
    assert verdict(done) == WHOLE
    assert len(done.asked) < 60
    assert {line["metadata_source"] for line in done.manifest} == {"dublin_core"}


@pytest.mark.parametrize(
    ("traps", "kind", "kept"),
    [
        ({"says": 40}, "count_mismatch", 35),
        ({"repeats": 20, "undated": True, "says": None}, "paging", 20),
        ({"dies_behind": 20, "undated": True}, "refused", 20),
        ({"dies_behind": 20, "undated": True, "says": None}, "refused", 20),
        ({"dies_behind": 20, "ignores": True}, "paging", 20),
        ({"nameless": ("r00003",)}, "missing_id", 34),
        ({"bad_xml": ("r00003",)}, "invalid_record", 34),
    ],
    ids=str,
)
def test_a_trap_that_can_not_be_got_round_leaves_the_crawl_incomplete(crawled, traps, kind, kept):
    done = crawled(Repository(held(35), traps))
    assert (done.code, done.report["verdict"]) == (3, "incomplete")
    assert kind in {error["kind"] for error in done.errors}
    assert len(names(done)) == kept
    assert len(done.asked) < 200


@pytest.mark.parametrize(
    ("traps", "kept", "most"),
    [
        ({"cut_in": ("r00012",)}, 34, 90),
        ({"cut_in": ("r00000", "r00034")}, 33, 130),
        ({"cut_behind": 20, "undated": True}, 25, 10),
        ({"cut_in": ("r00004",), "undated": True}, 4, 10),
    ],
    ids=str,
)
def test_of_a_page_that_breaks_off_the_whole_records_are_kept(tmp_path, traps, kept, most):
    done = walked(Repository(held(35), traps), tmp_path)
    assert (done.judged[0], len(done.ids()), set(done.kinds())) == ("incomplete", kept, {"truncated"})
    assert len(done.asked) < most


def test_a_crawl_loses_only_the_record_that_breaks_its_page(crawled):
    """By HTTP 500; what the repository says of itself is a page for people."""
    traps = {"breaks_at": ("r00012",), "breaks_with": 500, "identify": 200}
    done = crawled(Repository(held(35), traps), {"RETRY_TIMES": "0"})
    assert (done.code, len(names(done)), set(done.kinds())) == (3, 34, {("list", "http")})
    assert len(done.asked) < 80


def test_a_crawl_keeps_the_whole_records_of_a_page_that_breaks_off(crawled):
    done = crawled(Repository(held(35), {"cut_in": ("r00012",)}))
    assert (done.code, len(names(done)), set(done.kinds())) == (3, 34, {("list", "truncated")})


def test_a_file_that_breaks_off_and_that_nothing_else_brings_keeps_its_whole_records(tmp_path):
    """It ignores from and until, and its one page ends within record 150."""
    records = [replace(one, stamp=datetime(2024, 1, 1, tzinfo=UTC)) for one in held(200)]
    done = walked(Repository(records, {"cut_in": ("r00150",), "ignores": True}, size=200), tmp_path)
    assert (done.judged[0], len(done.ids()), done.kinds()) == ("incomplete", 150, {"paging": 1})
    assert len(done.asked) < 10


def test_a_repository_that_ignores_windows_is_noticed(crawled):
    repository = Repository(held(35, start="2026-01-01"), {"dies_behind": 20, "ignores": True}, earliest="1990-01-01")
    done = crawled(repository)
    assert [error["error"] for error in done.errors] == [
        "the repository ignores from and until: it gives records of other dates"
    ]
    assert (done.code, len(names(done))) == (3, 20)


def test_a_page_whose_xml_is_bad_loses_only_the_bad_record(crawled):
    done = crawled(Repository(held(35), {"bad_xml": ("r00003", "r00012")}))
    assert len(names(done)) == 33
    assert "35 of 35 datasets listed, 2 of them not kept; documents: 33 new" in done.log
    told = [(error["stage"], error["kind"], error["dataset_id"]) for error in done.errors]
    assert told == [("parse", "invalid_record", f"oai:test:{name}") for name in ("r00003", "r00012")]
    assert len([question for question in done.asked if question.startswith("GetRecord")]) == 2


def test_a_record_whose_xml_is_good_by_itself_is_kept(crawled):
    done = crawled(Repository(held(35), {"bad_xml": ("r00003",), "cured": True}))
    assert verdict(done) == WHOLE


def test_a_limit_of_the_server_is_got_round_by_windows(crawled):
    done = crawled(Repository(held(1500, hours=6), {"limit": 1000}, size=500))
    assert (verdict(done), done.errors) == ((0, "complete", 1500), [])


@pytest.mark.slow
def test_a_size_that_is_a_limit_of_the_server_is_not_believed(crawled):
    """Its lists end at 10,000 records, and that is the size it gives."""
    done = crawled(Clamped(held(10_400, hours=6), size=1000))
    assert (verdict(done), done.errors) == ((0, "complete", 10_400), [])


class Clamped(Repository):
    def page(self, found, start, rest):
        return super().page(found[:10_000], start, rest)


def test_a_large_repository_is_read_in_windows_of_its_dates(crawled):
    repository = Repository(held(300), {"says": 12_000}, earliest="2020-01-01")
    done = crawled(repository)
    windows = [question for question in done.asked if "until=" in question]
    assert windows
    assert "from=" not in windows[0]  # there may be records before the earliestDatestamp
    assert (done.code, len(names(done))) == (3, 300)  # it says that it has more


def test_records_before_the_earliest_datestamp_are_found(crawled):
    old = Held("old", datetime(2001, 1, 1, tzinfo=UTC), "Old")
    done = crawled(Repository([*held(35), old], {"dies_behind": 20}))
    assert verdict(done) == (0, "complete", 36)


# Formats and sets


def test_the_richest_format_is_taken_and_kept(crawled, output):
    records, both = held(5), ("oai_dc", "marcxml", "oai_datacite")
    first = crawled(Repository(records))
    assert {line["metadata_source"] for line in first.manifest} == {"dublin_core"}
    again = crawled(Repository(records, formats=both))
    assert again.report["counts"]["unchanged"] == 5  # the source keeps the format that it began with
    changed = crawled(Repository(records, formats=both), prefix="oai_datacite")
    assert changed.report["counts"]["updated"] == 5
    assert names(changed) == names(first)
    rich = crawled(Repository(records, formats=both), folder=output / "other")
    assert {line["metadata_source"] for line in rich.manifest} == {"datacite"}
    assert len({line["dataset_id"] for line in rich.manifest}) == 5
    assert all("GetRecord" in line["metadata_url"] for line in rich.manifest)


def test_a_source_keeps_its_format_if_the_formats_are_not_given(crawled):
    records, formats = held(5), ("oai_dc", "oai_datacite")
    crawled(Repository(records, formats=formats))
    again = crawled(Repository(records, {"identify": 500, "formats": 500}, formats=formats), {"RETRY_TIMES": "0"})
    assert (again.code, again.report["counts"]["unchanged"]) == (0, 5)


@pytest.mark.parametrize("status", [200, 422])
def test_a_format_that_is_listed_and_not_given(crawled, status):
    done = crawled(Repository(held(5), {"lies": ("dcat", "datacite"), "error_status": status}))
    assert verdict(done) == (0, "complete", 5)


@pytest.mark.parametrize("gone", [0, 12])
def test_a_format_that_is_given_and_can_not_be_read_is_not_taken(crawled, gone):
    records = [replace(each, is_deleted=n < gone) for n, each in enumerate(held(35))]
    done = crawled(Repository(records, formats=("oai_dc", "datacite")))
    assert verdict(done) == (0, "complete", 35 - gone)
    assert not done.errors
    assert {line["metadata_source"] for line in done.manifest} == {"dublin_core"}
    pages = [question for question in done.asked if question.startswith("ListRecords")]
    assert [question for question in pages if "=datacite" in question] == pages[:1]
    assert len(pages) == 1 + 4 + (gone > 10)
    again = crawled(Repository(records, formats=("oai_dc", "datacite")))
    assert (again.code, again.report["counts"]["unchanged"]) == (0, 35 - gone)
    assert not [question for question in again.asked if "datacite" in question]  # the source keeps what it has


def test_records_in_a_format_that_nobody_reads_are_kept_as_they_are(crawled):
    done = crawled(Repository(held(5), formats=("oai_dc", "marcxml")), prefix="marcxml")
    assert (done.report["listed"], len(names(done)), len(done.flaws)) == (5, 5, 5)
    assert {line["metadata_source"] for line in done.manifest} == {"xml"}
    assert {flaw["dataset_id"] for flaw in done.flaws} == {line["dataset_id"] for line in done.manifest}
    assert "its root is {http://www.loc.gov/MARC21/slim}record" in done.flaws[0]["error"]
    document = (done.folder / done.manifest[0]["metadata_file"]).read_bytes()
    assert b"<leader>Record 0</leader>" in document


def test_rdf_of_which_a_statement_can_not_be_read_is_kept(crawled):
    done = crawled(Repository(held(5), formats=("oai_dc", "dcat")))
    assert (done.code, done.report["listed"], len(names(done)), done.kinds()) == (0, 5, 5, [])
    assert {flaw["kind"] for flaw in done.flaws} == {"unreadable_statement"}
    assert {line["metadata_source"] for line in done.manifest} == {"rdf_xml"}
    assert {flaw["error"] for flaw in done.flaws} == {
        "its RDF can't be read in full: Unexpected text event: 'Licence ouverte'"
    }


def test_an_answer_in_another_encoding_than_it_says_is_read_and_told(tmp_path):
    repository = Repository([replace(one, title="Größe der Straßen") for one in held(1)])

    def answer(asked):
        given = repository(asked)
        return Answer(given.body.decode().encode("latin-1"), given.status, given.headers)

    done = walked(answer, tmp_path)
    assert [item.title for item in done.items] == ["Größe der Straßen"]
    assert [flaw.error for flaw in done.flaws] == [
        "Its encoding is not the declared one, and was guessed (cp1252): set `encoding`."
    ]


def test_a_format_that_the_user_wants_and_nobody_gives(crawled):
    done = crawled(Repository(held(5)), prefix="ddi")
    assert (done.code, done.kinds()) == (4, [("list", "refused")])
    assert "cannotDisseminateFormat" in done.errors[0]["error"]


def test_two_sets_have_two_folders(crawled, output):
    records = [replace(each, sets=("a:b",) if n % 2 else ("a_b",)) for n, each in enumerate(held(10))]
    found = [crawled(Repository(records), set=name) for name in ("a:b", "a_b")]
    assert [one.code for one in found] == [0, 0]
    folders = sorted(path.name for path in output.glob("127.0.0.1*"))
    assert folders[0] == "127.0.0.1__a_b"
    assert re.fullmatch(r"127\.0\.0\.1__a_b-[0-9a-f]{8}", folders[1])


def test_an_empty_set_is_an_error(crawled):
    done = crawled(Repository(held(5)), set="nothing", source="s")
    assert (done.code, done.kinds()) == (4, [("list", "no_datasets")])


@pytest.mark.parametrize("traps", [{"html": True}])
def test_an_address_that_is_no_repository(crawled, traps):
    done = crawled(Repository(held(5), traps))
    assert (done.code, done.kinds()) == (4, [("list", "refused")])
    assert "not of an OAI-PMH repository" in done.errors[0]["error"]


# Repositories that change while they are read, and tokens whose death looks like an end


class Changing(Repository):
    """Calls ``change`` once, before the list's request of that number."""

    def __init__(self, *given, at, change, **more):
        super().__init__(*given, **more)
        self.at, self.change = at, change

    def ListRecords(self, given):
        if self.served + 1 == self.at:
            self.change(self.records)
        return super().ListRecords(given)


class Dead(Repository):
    """Answers a token with noRecordsMatch from the fifth page on."""

    def page(self, found, start, rest):
        return self.error("noRecordsMatch") if start >= 50 else super().page(found, start, rest)


def lists(done: Crawl) -> list[str]:
    return [question for question in done.asked if question.startswith("ListRecords")]


def test_a_record_that_vanishes_while_others_are_listed(crawled):
    """Those behind it move up, one of them to a page that has come."""
    done = crawled(Changing(held(100), at=4, change=lambda records: records.pop(5)))
    assert verdict(done) == (0, "complete", 100)  # the one that vanished, too: the next two crawls withdraw it
    assert len(lists(done)) == 20


def test_records_that_vanish_in_the_second_list_too_leave_the_crawl_incomplete(crawled):
    repository = Changing(held(100), at=4, change=lambda records: records.pop(5))
    repository.page = lambda *given: (repository.records.pop(0), Repository.page(repository, *given))[1]
    done = crawled(repository)
    assert (done.code, done.kinds()) == (3, [("list", "count_mismatch")])
    assert len(lists(done)) <= 20


@pytest.mark.parametrize("place", [0, 100])
def test_a_record_that_appears_while_others_are_listed(crawled, place):
    def change(records):
        records.insert(place, Held("new", datetime(2026, 1, 1, tzinfo=UTC), "New"))

    done = crawled(Changing(held(100), at=3, change=change))
    assert verdict(done) == (0, "complete", 101)
    assert len(lists(done)) == (11 if place else 22)


@pytest.mark.parametrize(
    ("traps", "is_sorted"),
    [({}, True), ({}, False), ({"says": None}, True), ({"says": None}, False), ({"says": 20}, True)],
    ids=str,
)
def test_a_token_that_is_dead_is_no_end_even_if_it_matches_no_records(tmp_path, traps, is_sorted):
    records = held(100)
    if not is_sorted:
        random.Random(3).shuffle(records)
    done = walked(Dead(records, traps), tmp_path)
    assert (done.judged[0], done.judged[2], done.errors) == ("complete", 100, [])


@pytest.mark.parametrize("says", [{}, {"says": None}], ids=str)
def test_a_record_that_is_modified_while_others_are_listed(tmp_path, says):
    """It moves to the end: as many records came as there are, one of them twice and another one not at all."""

    def change(records):
        records.append(replace(records.pop(5), stamp=datetime(2026, 1, 1, tzinfo=UTC)))

    done = walked(Changing(held(50), says, at=2, change=change), tmp_path)
    assert (done.judged[0], len(done.ids()), done.errors) == ("complete", 50, [])
    assert len([one for one in done.asked if "ListRecords" in one.url]) == 10


def test_a_token_that_is_dead_while_the_list_grows(crawled):
    def change(records):
        records.append(Held("new", datetime(2026, 1, 1, tzinfo=UTC), "New"))

    class Both(Changing, Dead):
        pass

    done = crawled(Both(held(100), at=3, change=change))
    assert verdict(done) == (0, "complete", 101)


def test_records_of_one_moment_behind_a_dead_token_leave_the_crawl_incomplete(crawled):
    done = crawled(Dead(held(100, hours=0), {"says": None}))
    assert (done.code, done.kinds()) == (3, [("list", "paging")])
    assert "no records (noRecordsMatch) after 50" in done.errors[0]["error"]


def test_many_records_of_one_moment_cost_few_requests(crawled):
    records = held(300)
    for each in records[50:250]:
        each.stamp = datetime(2021, 5, 5, tzinfo=UTC)
    done = crawled(Repository(records, {"dies_behind": 100, "says": None}))
    assert (done.code, set(done.kinds())) == (3, {("list", "refused")})
    assert len(names(done)) == 200  # all others, and as many of these as a list gives
    assert len(done.asked) < 200


@pytest.mark.parametrize(("says", "asked"), [({}, 5), ({"says": None}, 6)], ids=str)
def test_a_full_last_page_with_a_token_costs_one_request(crawled, says, asked):
    done = crawled(Repository(held(40), {"full_end": True} | says))
    assert (verdict(done), len(lists(done))) == ((0, "complete", 40), asked)


def test_a_record_that_comes_deleted_and_then_alive_is_not_withdrawn(crawled):
    records = held(30)
    crawled(Repository(records))
    today = datetime.now(UTC)
    records[0] = replace(records[0], is_deleted=True)

    def change(records):
        records.append(replace(records.pop(0), is_deleted=False, stamp=today))

    done = crawled(Changing(records, at=2, change=change))
    assert (verdict(done), done.report["counts"]["withdrawn"]) == ((0, "complete", 30), 0)
    assert len(lists(done)) == 6  # what was behind it moved up, so the list is read again


def test_a_record_that_was_deleted_and_is_listed_alive_after_a_kill_is_not_withdrawn(crawled, output, tmp_path):
    """What came deleted is remembered by the job; it is withdrawn at the end of the list."""
    records = held(30)
    crawled(Repository(records))
    records[0], records[1] = replace(records[0], is_deleted=True), replace(records[1], is_deleted=True)
    reached, killed = threading.Event(), threading.Event()
    first = Repository(records)

    def answer(asked):
        if first.served == 2:
            reached.set()
            killed.wait(HANG)
        return first(asked)

    with Site(answer) as site:
        words = options(output, {"JOBDIR": str(tmp_path / "job")}, url=f"{site.url}/oai")
        crawl = forked.Popen([sys.executable, "-m", "scrapy", "crawl", "oai", *words], cwd=ROOT, stderr=subprocess.PIPE)
        assert reached.wait(HANG)
        crawl.send_signal(signal.SIGKILL)
        crawl.communicate()
        killed.set()
        records[0] = replace(records[0], is_deleted=False, stamp=datetime.now(UTC))
        site.answer = Repository([*records[1:], records[0]])
        ran = scrapy("crawl", "oai", *words)
    done = Crawl(ran.returncode, ran.stderr, output / "127.0.0.1")
    gone = [line["dataset_id"] for line in done.manifest if line["status"] == "withdrawn"]
    assert (done.code, gone) == (0, ["oai:test:r00001"]), ran.stderr


# What changed, and what is gone


@pytest.mark.parametrize("daily", [False, True])
def test_what_changed_is_requested_by_datestamp(crawled, daily):
    records = held(35)
    crawled(Repository(records, daily=daily))
    today = datetime.now(UTC)
    records[3] = replace(records[3], title="Changed", stamp=today)
    records[4] = replace(records[4], is_deleted=True, stamp=today)
    done = crawled(Repository([*records, Held("new", today, "New")], daily=daily), since="last")
    counts = done.report["counts"]
    assert (done.code, counts["new"], counts["updated"], counts["withdrawn"]) == (0, 1, 1, 1)
    [question] = [question for question in done.asked if question.startswith("ListRecords")]
    assert re.search(r"from=\d{4}-\d\d-\d\d$" if daily else r"from=\d{4}-\d\d-\d\dT\d\d%3A\d\d%3A\d\dZ$", question)


def test_a_repository_that_ignores_since_is_listed_whole(tmp_path):
    done = walked(Repository(held(35), {"ignores": True}), tmp_path, since="2026-11-01")
    assert (done.judged[0], len(done.ids()), done.errors, done.spider.run_state.since) == ("complete", 35, [], "")
    assert len(done.asked) == 2 + 1 + 4


def test_nothing_changed_is_a_complete_crawl(crawled):
    crawled(Repository(held(35)))
    done = crawled(Repository(held(35)), since="last")
    assert (done.code, done.report["verdict"], done.report["listed"]) == (0, "complete", 0)
    assert done.report["counts"]["withdrawn"] == 0


@pytest.mark.parametrize("policy", ["no", "persistent"])
def test_a_deleted_record_is_withdrawn_whatever_the_policy_says(crawled, policy):
    records = held(35)
    crawled(Repository(records))
    for number in range(10):
        records[number] = replace(records[number], is_deleted=True)
    unknown = Held("never", records[0].stamp, is_deleted=True)
    done = crawled(Repository([*records, unknown], deleted_record=policy))
    assert (done.code, done.report["verdict"], done.report["counts"]["withdrawn"]) == (0, "complete", 10)
    assert not done.errors  # no shrink guard: the repository says it of each
    reasons = {line["reason"] for line in done.manifest if line["status"] == "withdrawn"}
    assert reasons == {"deleted"}
    again = crawled(Repository([*records, unknown], deleted_record=policy))
    assert (again.code, again.report["counts"]["withdrawn"], len(again.manifest)) == (0, 0, len(done.manifest))


def withdrawn(done):
    """Why datasets are withdrawn, by id."""
    return {line["dataset_id"]: line["reason"] for line in done.manifest if line["status"] == "withdrawn"}


def test_a_record_that_is_not_listed_is_asked_for(crawled):
    """The repository does not know it: that is more than 2 %, and more than three."""
    crawled(Repository(held(35)))
    done = crawled(Repository(held(20)))
    assert (done.code, done.errors, set(withdrawn(done).values())) == (0, [], {"not found"})
    assert len(withdrawn(done)) == 15


def test_a_record_that_is_not_listed_and_still_there_stays(crawled):
    records = held(35)
    crawled(Repository(records))
    for _ in range(3):
        done = crawled(Repository(records, {"unlisted": ("r00004",)}))
        assert (done.code, done.errors, withdrawn(done)) == (0, [], {})


def test_a_record_that_is_in_another_set_is_no_longer_in_the_filter(crawled):
    records = [replace(one, sets=("water:rivers",)) for one in held(35)]
    crawled(Repository(records), set="water")
    records[4] = replace(records[4], sets=("air",))
    done = crawled(Repository(records), set="water")
    assert (done.code, withdrawn(done)) == (0, {"oai:test:r00004": "no longer in the filter"})


def test_two_sets_in_one_folder_withdraw_their_own_records_only(crawled, output):
    """Each withdrew the other's, every night. A rebuilt index knows whose they are, too."""
    records = [replace(one, sets=("water" if number < 20 else "air",)) for number, one in enumerate(held(35))]
    for chosen in ("water", "air", "water"):
        done = crawled(Repository(records), source="both", set=chosen)
        assert (done.code, withdrawn(done)) == (0, {}), chosen
    assert scrapy("reindex", "-s", f"OUTPUT_DIR={output}").returncode == 0
    done = crawled(Repository(records[:34]), source="both", set="air")
    assert (done.code, withdrawn(done)) == (0, {"oai:test:r00034": "not found"})


def test_a_repository_that_gives_no_single_record_must_lack_one_twice(crawled):
    """One that says of what it lists that it does not know it."""
    records = held(100)
    crawled(Repository(records, {"no_get": "idDoesNotExist"}))
    for expected in (0, 1):
        done = crawled(Repository(records[1:], {"no_get": "idDoesNotExist"}))
        assert (done.code, done.report["counts"]["withdrawn"]) == (0, expected)


def test_what_a_repository_does_not_say_its_listings_decide(crawled):
    records = held(100)
    crawled(Repository(records))
    for expected in (0, 1):
        done = crawled(Repository(records[1:], {"says_nothing_of": ("r00000",)}))
        assert (done.code, done.report["counts"]["withdrawn"]) == (0, expected)


def test_an_incomplete_listing_withdraws_nothing(crawled):
    crawled(Repository(held(35)))
    for _ in range(2):
        done = crawled(Repository(held(34), {"says": 35}), {"SHRINK_LIMIT": "1"})
        assert (done.code, done.report["counts"]["withdrawn"]) == (3, 0)


@pytest.mark.parametrize("says", [{}, {"says": None}], ids=str)
def test_services_are_kept_apart(crawled, says):
    services = ("r00005", "r00006", "r00030")
    done = crawled(Repository(held(35), {"services": services} | says))
    assert (verdict(done), done.errors, done.report["expected"]) == ((0, "complete", 32), [], 32)
    assert "'catalogue/not_datasets': 3" in done.log


# Limits, kills, robots


def test_limits(crawled):
    done = crawled(Repository(held(35)), max_datasets="15")
    assert (done.code, done.report["verdict"], len(names(done))) == (0, "partial", 15)
    assert len([question for question in done.asked if question.startswith("ListRecords")]) == 2


def test_a_repository_that_is_busy_is_asked_again_later(crawled):
    repository = Repository(held(35))
    count = iter(range(100))

    def answer(asked):
        is_busy = "resumptionToken" in asked.path and next(count) == 0
        return Answer(b"busy", 503, {"Retry-After": "1"}) if is_busy else repository(asked)

    done = crawled(answer)
    assert verdict(done) == WHOLE
    assert done.report["retries"] == 1


@pytest.mark.parametrize("verb", ["Identify", "ListMetadataFormats"])
def test_what_a_busy_repository_says_of_itself_is_left_out(crawled, verb):
    """It asks for a pause each time; the list decides."""
    repository = Repository(held(35))
    busy = Answer(b"busy", 503, {"Retry-After": "1"})
    done = crawled(lambda asked: busy if f"verb={verb}" in asked.path else repository(asked), {"RETRY_TIMES": "1"})
    assert (verdict(done), done.errors) == (WHOLE, [])
    assert len([question for question in done.asked if question.startswith(verb)]) == 2


def test_robots(crawled):
    done = crawled(lambda asked: Answer(b"User-agent: *\nDisallow: /oai"))
    assert (done.code, done.kinds()) == (4, [("list", "robots")])


@pytest.mark.slow
@pytest.mark.parametrize("traps", [{}, {"dies_behind": 20}], ids=str)
@pytest.mark.parametrize("killed_at", [1, 2, 4])
def test_a_killed_crawl_is_resumed_to_the_same_folder(crawled, output, tmp_path, traps, killed_at):
    """The token of the first run is dead in the second one."""
    records = held(35)
    whole = crawled(Repository(records, traps), folder=output / "whole")
    first, reached, killed, lists = Repository(records, traps), threading.Event(), threading.Event(), []

    def answer(asked):
        if "ListRecords" in asked.path:
            lists.append(asked)
        if len(lists) == killed_at:
            reached.set()
            killed.wait(HANG)
        return first(asked)

    with Site(answer) as site:
        words = options(output / "cut", {"JOBDIR": str(tmp_path / "job")}, url=f"{site.url}/oai")
        crawl = forked.Popen([sys.executable, "-m", "scrapy", "crawl", "oai", *words], cwd=ROOT, stderr=subprocess.PIPE)
        assert reached.wait(HANG)
        crawl.send_signal(signal.SIGKILL)
        crawl.communicate()
        killed.set()
        site.answer = Repository(records, traps, generation=1)
        ran = scrapy("crawl", "oai", *words)
    done = Crawl(ran.returncode, ran.stderr, output / "cut" / "127.0.0.1")
    assert (done.code, done.report["verdict"], done.report["resumed"]) == (0, "complete", True), ran.stderr
    assert contents(done) == contents(whole)


@pytest.mark.slow
def test_a_crawl_that_is_killed_at_any_moment(output, tmp_path):
    """Each run finds the token of the run before it dead."""
    random.seed(5)
    records = held(600)
    with Site(Repository(records)) as site:
        words = options(output, {"JOBDIR": str(tmp_path / "job")}, url=f"{site.url}/oai")
        for number in range(12):
            site.answer = Repository(records, generation=number)
            asked = len(site.asked)
            command = [sys.executable, "-W", "error", "-m", "scrapy", "crawl", "oai", *words]
            crawl = forked.Popen(command, cwd=ROOT, env=dict(os.environ), stderr=subprocess.PIPE, text=True)
            until(lambda: len(site.asked) != asked, unless=lambda: crawl.poll() is not None)  # noqa: B023
            time.sleep(random.uniform(0, 0.15))
            crawl.send_signal(signal.SIGKILL)
            crawl.communicate()
        site.answer = Repository(records, generation=12)
        ran = scrapy("crawl", "oai", *words)
    done = Crawl(ran.returncode, ran.stderr, output / "127.0.0.1")
    assert len(names(done)) == len(contents(done)) == 600, ran.stderr
    assert (done.code, done.kinds()) == (0, []), ran.stderr


def contents(done: Crawl) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted((done.folder / "datasets").iterdir())}
