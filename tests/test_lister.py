"""The engine that reads all lists, with a fake kind: each rule of evidence, each fault on each rung, kills."""

from __future__ import annotations

import json
from dataclasses import dataclass, field, fields, replace
from types import SimpleNamespace
from typing import Any, ClassVar
from urllib.parse import parse_qs, urlsplit

import pytest
from scrapy import Request
from scrapy.http import TextResponse
from scrapy.utils.test import get_crawler

from crawlers.exceptions import AnswerError
from crawlers.items import Dataset
from crawlers.listing import evidence, ladder
from crawlers.listing.crawl import Limits, Walks
from crawlers.listing.dialect import Dialect, Fault, Traits
from crawlers.listing.evidence import RULES, Ended, Taken, after, check_end, decide, is_end, is_met, judge
from crawlers.listing.ladder import Again, Halve, Instead, Onward, Other, Renew, Skip, Smaller
from crawlers.listing.lister import Intake, Lister
from crawlers.listing.spider import ListedSpider
from crawlers.listing.walk import Entry, ListingPage, Offer, Walk, restored
from tests.walked import walk

URL = "https://example.org/api"


@dataclass(frozen=True, slots=True, kw_only=True)
class Ask:
    """A place in the list, by an offset or a number, or the address of the next page; and how it is asked."""

    at: int = 0
    address: str = ""
    method: str = "POST"
    since: str = ""
    until: str = ""
    overlap: int = 0


@dataclass(kw_only=True)
class Server:
    """A list of numbers, and what is wrong with the server that gives it.

    Args:
        cap: how many it gives at most at once.
        says: the total that it states; ``None`` for none.
        faults: what comes instead of an answer, by the number of the request, from 1: a status, or a text.
        broken: the positions of records that break each page that has them.
        ends: answers an offset from here on with nothing.
    """

    ids: list[str]
    cap: int = 10
    says: int | None = None
    way: str = "place"
    faults: dict[int, Any] = field(default_factory=dict)
    broken: set[int] = field(default_factory=set)
    ends: int = 10**9
    requests: list[dict[str, str]] = field(default_factory=list)
    moves: dict[int, list[str]] = field(default_factory=dict)

    def __call__(self, request: Request) -> TextResponse:
        asked = {name: values[0] for name, values in parse_qs(urlsplit(request.url).query).items()}
        self.requests.append(asked)
        number = len(self.requests)
        self.ids = self.moves.get(number, self.ids)
        if (fault := self.faults.get(number)) is not None:
            status, body = (fault, "{}") if isinstance(fault, int) else (200, fault)
            return TextResponse(request.url, status=status, body=body.encode(), request=request)
        return TextResponse(request.url, body=json.dumps(self.page(asked)).encode(), request=request)

    def page(self, asked: dict[str, str]) -> dict[str, Any]:
        start, rows = int(asked.get("at", 0)), min(int(asked.get("rows", 100)), self.cap)
        found = [name for name in self.ids if asked.get("since", "") <= name < (asked.get("until") or "~")]
        if self.broken & set(range(start, min(start + rows, len(found)))):
            return {"error": "a record can't be rendered"}
        came = [] if start >= self.ends else found[start : start + rows]
        answer: dict[str, Any] = {"ids": came, "total": self.says if self.says != -1 else len(found)}
        if self.way == "stated" and start + rows < min(len(found), self.ends):
            answer["next"] = start + rows
        return answer


class Numbers(Dialect[Ask]):
    asks = Ask
    traits = Traits(way="place")
    subject = "the server"

    def __init__(self, spider: Any) -> None:
        self.spider = spider

    def first(self) -> Walk[Ask]:
        return Walk(ask=Ask(), rows=100, most=100)

    def request(self, walk: Walk[Ask]) -> Request:
        ask = walk.ask
        since, until = walk.parts[0] if walk.parts else (ask.since, ask.until)
        query = f"at={ask.at}&rows={walk.rows}&since={since}&until={until}&method={ask.method}"
        return Request(f"{URL}?{query}")

    def read(self, response: Any, walk: Walk[Ask]) -> ListingPage[Ask]:
        try:
            answer = json.loads(response.text)
        except ValueError:
            whole = [each for each in response.text.split('"')[3::2] if each.strip(", ")]
            fault = AnswerError("truncated", "the answer breaks off")
            following = replace(walk.ask, at=walk.ask.at + len(whole)) if whole else None
            return ListingPage(entries=[Entry(each, each) for each in whole], next=following, fault=fault)
        if "error" in answer:
            raise AnswerError("unreadable", answer["error"])
        entries = [Entry(each, each, 1) for each in answer["ids"]]
        if self.traits.way == "stated":
            at = answer.get("next")
            following = None if at is None else replace(walk.ask, at=at)
        else:
            following = replace(walk.ask, at=walk.ask.at + len(entries))
        return ListingPage(
            entries=entries, next=following, asked=walk.rows, total=answer.get("total"), printed=answer.get("printed")
        )

    def items(self, response: Any, entry: Entry, allowed: int, walk: Walk[Ask], position: int) -> Any:
        yield Dataset(id=str(entry.id), title=entry.record, source="x", document={})

    def place(self, walk: Walk[Ask], count: int) -> Ask | None:
        return replace(walk.ask, at=walk.ask.at + count)

    def renewed(self, walk: Walk[Ask]) -> Ask | None:
        return replace(walk.ask, at=0)

    def ranged(self, walk: Walk[Ask], part: tuple[str, str]) -> Ask | None:
        return Ask()

    def laps(self, walk: Walk[Ask]) -> list[Ask]:
        return [Ask()]


def listed(tmp_path, server, limits=None, *, twice=0, is_late=False, **changes):
    """Walks the fake kind, with other class attributes, through a server."""
    dialect = type("Changed", (Numbers,), changes)

    class Spider(ListedSpider):
        name = "numbers"
        kind = "sdmx"
        url = URL

        def make_dialect(self):
            return dialect(self)

    return walk(Spider, server, tmp_path, twice=twice, is_late=is_late, **(limits or {}))


def names(count, begin=0):
    return [f"n{number:05}" for number in range(begin, begin + count)]


def stated(**more):
    return {"traits": Traits(way="stated", **more)}


# Whole lists, and what shows that


@pytest.mark.parametrize(
    ("server", "changes", "shown", "requests"),
    [
        (Server(ids=names(7), says=7), {}, "total", 1),
        (Server(ids=names(7)), {}, "pager", 2),
        (Server(ids=names(35), says=35), {}, "total", 4),
        (Server(ids=names(35)), {}, "pager", 4),
        (Server(ids=names(40)), {}, "pager", 5),
        (Server(ids=names(35), says=20), {"traits": Traits(way="place", total="hint")}, "pager", 4),
        (Server(ids=names(35), way="stated"), stated(), "pager", 4),
        (Server(ids=names(3), way="stated"), stated(), "file", 1),
    ],
)
def test_a_whole_list(tmp_path, server, changes, shown, requests):
    done = listed(tmp_path, server, **changes)
    assert (done.ids(), done.evidence, len(server.requests)) == (server.ids, {"datasets": shown}, requests)
    assert not done.errors


def test_more_than_were_asked_for_without_a_way_on_is_all(tmp_path):
    server = Server(ids=names(126), cap=126)
    ignoring = {"read": lambda self, response, walk: replaced(Numbers.read(self, response, walk), next=None)}
    server_all = lambda request: server(request.replace(url=f"{URL}?rows=1000"))  # noqa: E731  # ignores the limit
    done = listed(tmp_path, server_all, **ignoring)
    assert (done.evidence, len(done.items)) == ({"datasets": "file"}, 126)


def replaced(page, **changes):
    for name, value in changes.items():
        setattr(page, name, value)
    return page


def test_a_capped_server_whose_total_is_met_is_asked_for_one_page_more(tmp_path):
    server = Server(ids=names(35), says=20)
    done = listed(tmp_path, server)
    assert (len(done.items), done.kinds()) == (35, {"count_mismatch": 1}), "P9: it had said 20, and gave 35"


def test_empty_pages_in_the_middle_are_passed_by_the_patience(tmp_path):
    server = Server(ids=names(12), ends=12)
    done = listed(tmp_path, server)
    assert len(done.items) == 12


@pytest.mark.parametrize(
    ("walked", "page", "traits", "kind"),
    [
        ({"total": 30, "listed": 18}, {}, {}, "count_mismatch"),
        ({"total": 20, "listed": 17, "lost": 2}, {}, {}, "count_mismatch"),
        ({"stated": 20, "listed": 17, "lost": 2}, {}, {}, "count_mismatch"),
        ({"total": 30, "listed": 18, "stale": 2, "turned": 2}, {"next": Ask(at=99)}, {}, "paging"),
        ({"total": 18, "listed": 20}, {}, {}, "count_mismatch"),
        ({"printed": 30, "listed": 18, "turned": 2}, {}, {}, "count_mismatch"),
        ({"printed": 30, "listed": 18, "total": 18}, {}, {}, "count_mismatch"),
        ({"total": 10_000, "listed": 10_000, "pages": 100}, {}, {}, "unproven"),
        ({"listed": 12, "turned": 1, "left": "3 others are outside"}, {}, {}, "unproven"),
        ({"listed": 12, "total": 12, "left": "3 others are outside"}, {}, {}, "unproven"),
        ({"listed": 12, "stale": 2, "turned": 2}, {"next": Ask(at=99)}, {}, "paging"),
        ({"listed": 20, "turned": 2, "is_ring": True, "total": 25}, {"next": Ask(at=99)}, {}, "paging"),
        ({"listed": 6, "pages": 2}, {"turns": 0}, {"way": "turn"}, "unproven"),
        ({"listed": 10, "pages": 1}, {"asked": 10}, {}, "unproven"),
        ({"contradiction": "two counts", "listed": 9, "total": 9}, {}, {}, "count_mismatch"),
        ({"listed": 5, "total": 5}, {"fault": AnswerError("truncated", "it breaks off")}, {}, "truncated"),
        ({"listed": 18, "total": 18, "lap": 2, "has_shrunk": True}, {}, {}, "count_mismatch"),
        ({"listed": 10_000, "total": 10_000, "turned": 99, "pages": 100}, {}, {}, "unproven"),
        ({"listed": 28, "total": 20, "before": 8, "stated": 30, "parts": (("a", "b"),)}, {}, {}, "count_mismatch"),
        ({"listed": 10, "largest": 10, "stale": 2}, {"asked": 10, "next": Ask(at=99)}, {}, "paging"),
        ({"listed": 126, "largest": 126, "stale": 2, "total": 130}, {"asked": 9, "next": Ask(at=99)}, {}, "paging"),
        ({"listed": 126, "largest": 126, "lap": 2, "pages": 2}, {"asked": 100}, {}, "unproven"),
        ({"listed": 5, "pages": 1}, {"next": Ask(at=9), "end": "none"}, {}, "unproven"),
        ({"listed": 5, "pages": 1}, {}, {"way": "place"}, "unproven"),
        ({"listed": 25, "total": 20, "turned": 3, "stale": 2}, {"next": Ask(at=99)}, {"total": "hint"}, "unproven"),
        ({"listed": 25, "pages": 3, "parts": (("a", "b"),)}, {}, {"way": "place"}, "unproven"),
    ],
)
def test_what_contradicts_or_shows_nothing(walked, page, traits, kind):
    ended = Ended(Walk(ask=Ask(), came=walked.get("listed", 0), **walked), ListingPage(**page), Traits(**traits))
    with pytest.raises(AnswerError) as raised:
        judge(ended)
    assert raised.value.kind == kind


HINT = {"total": "hint"}


@pytest.mark.parametrize(
    ("walked", "page", "traits", "shown"),
    [
        ({"total": 18, "listed": 18}, {}, {}, "total"),
        ({"total": 18, "listed": 18, "stale": 2}, {"next": Ask(at=99)}, {}, "total"),
        ({"total": 20, "listed": 18, "apart": 2}, {}, {}, "total"),
        ({"total": 20, "listed": 18, "lost": 2}, {}, {}, "total"),
        ({"total": 18, "listed": 20, "has_moved": True}, {}, {}, "total"),
        ({"total": 5, "listed": 18, "turned": 1, "pages": 2}, {}, {"total": "hint"}, "pager"),
        ({"total": 10_000, "listed": 10_005, "turned": 99, "pages": 100}, {}, {}, "pager"),
        ({"listed": 18, "pages": 2}, {"end": "declared"}, {}, "rules"),
        ({"listed": 24, "pages": 4, "turned": 3, "is_ring": True, "stale": 2}, {"next": Ask(at=99)}, {}, "pager"),
        ({"listed": 24, "pages": 4, "turned": 3}, {}, {"ends_by": "short_page"}, "short_page"),
        ({"listed": 24, "pages": 2}, {"is_guessed": True, "came": 0}, {}, "short_page"),
        ({"total": 0}, {}, {}, "total"),
        ({}, {"is_file": True}, {}, "file"),
        ({"listed": 5, "pages": 1}, {}, {}, "file"),
        ({"listed": 126, "largest": 126, "stale": 2}, {"asked": 100, "next": Ask(at=99)}, {}, "file"),
        ({"listed": 18, "total": 18, "has_shrunk": True}, {}, {}, "total"),
        ({"listed": 24, "total": 24, "is_ring": True, "turned": 3}, {"next": Ask(at=99)}, {}, "total"),
        ({"listed": 25, "total": 20, "stale": 2, "turned": 3}, {"next": Ask(at=9)}, HINT | {"way": "place"}, "pager"),
        ({"listed": 25, "pages": 3, "parts": (("a", "b"),)}, {}, {}, "pager"),
        ({"listed": 28, "apart": 2, "total": 22, "before": 8, "stated": 30}, {}, {}, "total"),
        ({"listed": 8, "total": 8, "stated": 10_000, "parts": (("a", "b"),)}, {}, {}, "total"),
        ({"listed": 10_000, "total": 10_000, "parts": (("a", "b"),)}, {}, {}, "total"),
    ],
)
def test_what_shows_that_all_came(walked, page, traits, shown):
    ended = Ended(Walk(ask=Ask(), came=walked.get("listed", 0), **walked), ListingPage(**page), Traits(**traits))
    assert judge(ended) == shown


@pytest.mark.parametrize("stated", [None, 20])
def test_the_total_less_what_the_portal_does_not_have(stated):
    ended = Ended(Walk(ask=Ask(), total=20, listed=18, stated=stated), ListingPage(), Traits(), absent=2)
    assert judge(ended) == "total less 2 that the portal does not have"


@pytest.mark.parametrize(("total", "of"), [(None, ""), (30, " of 30")])
def test_pages_that_repeat_are_told_with_what_came(total, of):
    ended = Ended(
        Walk(ask=Ask(), listed=18, stale=2, total=total), ListingPage(next=Ask(at=99)), Traits(), "the server"
    )
    with pytest.raises(AnswerError, match=f"^the server gives the same pages again after 18{of} datasets$"):
        judge(ended)


@pytest.mark.parametrize(
    ("walked", "page", "kind"),
    [
        ({}, {"fault": AnswerError("truncated", "it breaks off")}, "truncated"),
        ({"stale": 2}, {"next": Ask(at=99)}, "paging"),
    ],
)
def test_a_part_that_breaks_off_or_repeats_itself_has_no_end(walked, page, kind):
    with pytest.raises(AnswerError) as raised:
        check_end(Ended(Walk(ask=Ask(), **walked), ListingPage(**page), Traits()))
    assert raised.value.kind == kind


def test_the_table_has_a_line_for_each_rule():
    lines = evidence.table().splitlines()
    assert len(lines) == len(RULES) + 2
    assert all(line.count("|") == 4 for line in lines)
    assert lines[2].startswith("| 1 | The last answer broke off")


# What is taken from a page


class Ledger:
    """A crawl of which the user wants so much; some records were planned before a kill, some are known."""

    listed_kind = "dataset"

    def __init__(self, limits, *, planned=(), known=(), expected=0, resources=0):
        self.limits, self.known = limits, set(known)
        self.records = SimpleNamespace(is_planned=lambda kind, name: name in planned, expected=expected)
        self.run_state = SimpleNamespace(resources=resources)

    def seen(self, name, **_):
        return name not in self.known

    def expect(self, kind, name, **_):
        return name not in self.known


@pytest.mark.parametrize(
    ("limits", "here", "crawl", "taken"),
    [
        (Limits(datasets=2), {}, {}, {"a": 2, "b": 2}),
        (Limits(datasets=4), {"listed": 2, "earlier": 1}, {}, {"a": 2}),
        (Limits(datasets=2), {}, {"known": ["a"]}, {"b": 2, "c": 2}),
        (Limits(datasets=1), {}, {"planned": ["b"]}, {"a": 2}),
        (Limits(resources=3), {}, {}, {"a": 2, "b": 1}),
        (Limits(resources=4), {"resources": 1}, {}, {"a": 2, "b": 1}),
        (Limits(resources=4), {}, {}, {"a": 2, "b": 2}),
        (Limits(datasets=1), {"is_of_ids": True}, {}, {"a": 2, "b": 2, "c": 2, None: 2}),
    ],
)
def test_what_the_user_s_limits_leave_of_a_page(limits, here, crawl, taken):
    entries = [Entry(name, {"of": name}, 2) for name in ("a", "b", "c", None)]
    found, of_page = Intake(Ledger(limits, **crawl)).take(entries, Walk(ask=Ask(), **here))
    assert {entry.id: allowed for entry, allowed in found} == taken
    assert replace(of_page, digest="") == Taken(
        came=4, new=len(taken), resources=sum(taken.values()), is_cut=1 in taken.values()
    )


@pytest.mark.parametrize(
    ("crawl", "left", "taken"),
    [
        ({"expected": 2, "resources": 3}, 2, ["a", "b"]),
        ({"expected": 9}, 0, []),
        ({"expected": 9, "planned": ["b"]}, 0, []),
        ({"expected": 9, "planned": ["a", "b"]}, 0, ["a", "b"]),
        ({"resources": 5}, 0, []),
    ],
)
def test_the_limits_of_several_lists_are_the_catalogue_s(monkeypatch, crawl, left, taken):
    """What a killed process had planned is asked for, whatever the limit says now."""
    monkeypatch.setattr(Intake, "_seen", lambda self, ids, here: set(ids))
    intake = Intake(Ledger(Limits(datasets=9, resources=5), **crawl), is_one_list=False)
    here = Walk(ask=Ask(), listed=99)
    assert intake.left(here) == left
    found, of_page = intake.take([Entry("a", {}), Entry("b", {})], here)
    assert ([entry.id for entry, _ in found], of_page.doubles) == (taken, 2 - len(taken))


def test_a_page_says_nothing_of_what_it_does_not_mention():
    said = {name for name in ListingPage.__slots__ if getattr(ListingPage(), name)}
    assert (said, Entry("a", {}).resources, ListingPage().purpose) == ({"purpose"}, 0, "page")


# Behind a page


def behind(here, page, taken, **traits):
    return after(Walk(ask=Ask(), **here), ListingPage(**page), Taken(**taken), Traits(**traits))


FULL: dict[str, Any] = {
    "step": 4,
    "pages": 3,
    "turned": 2,
    "came": 30,
    "reached": 30,
    "listed": 28,
    "resources": 50,
    "apart": 2,
    "lost": 1,
    "gaps": 1,
    "largest": 10,
    "total": 90,
    "printed": 80,
    "first": "a",
    "digest": "c",
    "stale": 1,
    "skipped": 2,
    "tried": ("again",),
}
"""A walk in the midst of its list."""
NEW: dict[str, Any] = {"came": 10, "new": 9, "resources": 20, "digest": "d"}


@pytest.mark.parametrize(
    ("here", "page", "taken", "traits", "changed"),
    [
        (  # a page of new records
            {},
            {"next": Ask(at=40), "asked": 10, "total": 90, "apart": 1, "lost": 1, "gaps": 1, "printed": 70},
            NEW,
            {},
            {
                "pages": 4,
                "turned": 3,
                "came": 40,
                "reached": 40,
                "listed": 37,
                "resources": 70,
                "apart": 3,
                "lost": 2,
                "gaps": 2,
                "counted": 90,
                "digest": "d",
                "stale": 0,
                "skipped": 0,
                "tried": (),
            },
        ),
        (  # one that broke off, and can't be gone on behind: its records are taken, its place is still to come
            {},
            {"fault": AnswerError("truncated", "cut")},
            NEW,
            {},
            {"pages": 4, "turned": 3, "listed": 37, "resources": 70, "digest": "d", "stale": 0, "skipped": 0},
        ),
        (  # an empty one at a computed place
            {},
            {"next": Ask(at=40), "asked": 10},
            {},
            {"way": "place"},
            {"pages": 4, "turned": 3, "stale": 2},
        ),
        (  # an empty one behind a stated way
            {},
            {},
            {},
            {"way": "stated"},
            {"pages": 4, "stale": 2},
        ),
        (  # known records on the same ground, after the list was begun again
            {"came": 10, "stale": 0},
            {"next": Ask(at=20)},
            NEW | {"new": 0, "resources": 0},
            {},
            {"pages": 4, "turned": 3, "came": 20, "stale": 0, "digest": "d", "skipped": 0},
        ),
        (  # a known record up to where it had come
            {"came": 29, "stale": 0},
            {"next": Ask(at=30)},
            {"came": 1, "digest": "d"},
            {},
            {"pages": 4, "turned": 3, "came": 30, "stale": 0, "digest": "d", "skipped": 0},
        ),
        (  # known records beyond it
            {"stale": 0},
            {"next": Ask(at=40)},
            NEW | {"new": 0, "resources": 0},
            {},
            {
                "pages": 4,
                "turned": 3,
                "came": 40,
                "reached": 40,
                "stale": 1,
                "digest": "d",
                "skipped": 0,
                "tried": (),
            },
        ),
        (  # known records of a further look
            {"lap": 2, "stale": 0, "came": 10, "reached": 10},
            {"next": Ask(at=40)},
            NEW | {"new": 0, "resources": 0},
            {},
            {
                "pages": 4,
                "turned": 3,
                "came": 20,
                "reached": 20,
                "stale": 0,
                "digest": "d",
                "skipped": 0,
                "tried": (),
            },
        ),
        (  # the page before once more
            {"lap": 2, "stale": 0},
            {"next": Ask(at=40)},
            NEW | {"new": 0, "resources": 0, "digest": "c"},
            {},
            {"pages": 4, "came": 40, "reached": 40, "stale": 1, "skipped": 0, "tried": ()},
        ),
        (  # one that shares a record with the page before
            {"stale": 0},
            {"next": Ask(at=40), "overlap": 1},
            NEW,
            {},
            {
                "pages": 4,
                "turned": 3,
                "came": 40,
                "reached": 40,
                "listed": 37,
                "resources": 70,
                "largest": 11,
                "digest": "d",
                "skipped": 0,
                "tried": (),
            },
        ),
        (  # a larger number is printed, a smaller total said, of a first look
            {},
            {"next": Ask(at=40), "printed": 95, "total": 89, "is_new": True},
            {"came": 1, "digest": "d"},
            {},
            {
                "pages": 4,
                "turned": 3,
                "came": 31,
                "reached": 31,
                "counted": 89,
                "printed": 95,
                "has_moved": True,
                "has_shrunk": True,
                "stale": 0,
                "digest": "d",
                "skipped": 0,
                "tried": (),
            },
        ),
        (  # and of a second look
            {"lap": 2},
            {"next": Ask(at=40), "total": 91, "ask": Ask(method="GET")},
            {"came": 11, "new": 1, "digest": "d"},
            {},
            {
                "ask": Ask(method="GET"),
                "pages": 4,
                "turned": 3,
                "came": 41,
                "reached": 41,
                "listed": 29,
                "largest": 11,
                "total": 91,
                "counted": 91,
                "has_moved": True,
                "stale": 0,
                "digest": "d",
                "skipped": 0,
                "tried": (),
            },
        ),
    ],
)
def test_where_a_walk_stands_behind_a_page(here, page, taken, traits, changed):
    before = Walk(ask=Ask(), **FULL | here)
    found = after(before, ListingPage(**page), Taken(**taken), Traits(**traits))
    assert found == replace(before, **changed)


def test_what_is_taken_is_nothing_at_first():
    assert Taken() == Taken(came=0, new=0, resources=0, digest="", is_cut=False)


def test_a_page_that_is_taken_in_steps_is_one_page():
    first = Taken(came=100, new=90, resources=7, digest="a", is_cut=True, doubles=4)
    both = first + Taken(came=20, new=10, resources=5, digest="b", doubles=1)
    assert replace(both, digest="") == Taken(came=120, new=100, resources=12, doubles=5)
    assert both.digest not in {(first + Taken(digest="c")).digest, "a", "b", "ab", ""}
    assert (Taken() + first, (first + Taken()).digest) == (first, "a")


@pytest.mark.parametrize(
    ("here", "says", "total"),
    [
        ({}, 0, 0),
        ({"came": 10}, 0, None),  # an empty page behind the last one counts itself
        ({"came": 1}, 0, None),
        ({"came": 10}, 1, 1),
        ({"came": 10}, 35, 35),
        ({"came": 10, "lap": 2, "total": 20}, 0, 0),
        ({}, -1, None),
        ({"total": 20}, -1, 20),
    ],
)
def test_what_a_page_says_is_a_total(here, says, total):
    assert behind(here, {"total": says}, {}).total == total


@pytest.mark.parametrize(
    ("here", "came", "stale"),
    [
        ({"lap": 2, "listed": 20, "apart": 3, "lost": 2, "came": 15}, 10, 0),
        ({"lap": 2, "listed": 20, "apart": 3, "lost": 2, "came": 15}, 11, 1),
        ({"lap": 1, "listed": 20, "apart": 3, "lost": 2, "came": 15}, 10, 1),
        ({"lap": 1}, 1, 1),
    ],
)
def test_a_further_look_finds_as_many_known_records_as_there_are(here, came, stale):
    assert behind(here, {"next": Ask(at=99)}, {"came": came, "digest": "b"}).stale == stale


@pytest.mark.parametrize(
    ("here", "says", "has_moved"),
    [
        ({"largest": 1, "total": 1}, 2, False),
        ({"largest": 1, "total": 1}, 3, True),
        ({"largest": 2, "total": 1}, 2, True),
        ({"largest": 0, "total": 0}, 2, True),
    ],
)
def test_pages_that_count_themselves_have_not_moved(here, says, has_moved):
    assert behind(here, {"total": says}, {"came": 2, "new": 2}).has_moved is has_moved


def test_a_way_on_counts_once_it_brought_another_page():
    first = {"came": 6, "new": 6, "digest": "a"}
    assert behind({}, {}, first, way="turn").turned == 0
    shown = {"first": "a", "digest": "a", "pages": 1, "came": 6}
    assert behind(shown, {"turns": 0}, first, way="turn").turned == 0, "the button never was there"
    assert behind(shown, {"turns": 2}, {"came": 6, "new": 6, "digest": "b"}, way="turn").turned == 1
    assert behind(shown, {"turns": 0}, {"came": 6, "new": 6, "digest": "b"}, way="turn").turned == 0, (
        "it is another list"
    )
    assert behind(shown, {"turns": 1}, {"came": 6, "new": 6, "digest": "b"}, way="turn").turned == 1
    assert behind(shown, {}, {"came": 0}, way="stated").turned == 0, "an empty page shows nothing of a stated way"
    assert behind(shown, {}, {"came": 0}, way="place").turned == 1


def test_what_a_page_has_of_the_one_before_makes_it_no_shorter():
    page = ListingPage(next=Ask(at=99), overlap=1, asked=10)
    taken = Taken(came=9, new=9, digest="b")
    found = after(Walk(ask=Ask(), first="a", digest="a", came=10, largest=10), page, taken, Traits(way="place"))
    assert (found.came, found.largest, found.is_capped) == (19, 10, False)
    assert decide(found, page, taken, Traits(way="place")) == "follow"


def test_a_total_that_may_be_that_of_its_page_ends_nothing():
    here = Walk(ask=Ask(), first="a", came=7, largest=7, total=7)
    for is_open, decision in ((True, "follow"), (False, "end")):
        page = ListingPage(next=Ask(at=7), asked=10, is_open=is_open)
        assert decide(here, page, Taken(came=7), Traits(way="place")) == decision


def test_what_a_page_shows_of_its_place_stays_at_the_end():
    assert behind({}, {}, {"came": 3}).ask == Ask()
    assert behind({}, {"ask": Ask(since="n00003")}, {"came": 3}).ask == Ask(since="n00003")


@pytest.mark.parametrize(
    ("here", "asked", "came", "is_capped"),
    [
        ({}, 100, 10, True),
        ({"first": "a", "came": 10, "largest": 10}, 100, 10, True),
        ({"first": "a", "came": 1, "largest": 1}, 5, 5, False),
        ({"first": "a", "came": 36, "largest": 25}, 100, 94, False),
        ({"first": "a", "came": 10, "largest": 10, "total": None}, 100, 10, True),
    ],
)
def test_a_server_that_gives_fewer_than_were_asked_for_and_more_behind_them_is_capped(here, asked, came, is_capped):
    found = behind(
        {"total": 130} | here, {"asked": asked, "next": Ask(at=99)}, {"came": came, "digest": "b"}, way="place"
    )
    assert found.is_capped is is_capped


def test_what_a_page_lost_as_was_reported_is_counted():
    assert behind({"lost": 1}, {"lost": 2}, {"came": 5, "new": 3}).lost == 3


def test_a_stated_way_back_to_the_first_page_is_a_ring():
    here = {"first": "a", "digest": "c", "pages": 3, "turned": 2, "came": 18}
    again = {"came": 6, "digest": "a"}
    assert behind(here, {"next": Ask(at=99)}, again, way="stated").is_ring
    assert not behind(here, {"next": Ask(at=99)}, again, way="place").is_ring, "a number that is clamped"
    assert not behind(here | {"digest": "a"}, {"next": Ask(at=99)}, again, way="stated").is_ring, (
        "the page that just came"
    )
    for page in ({"is_guessed": True}, {"is_new": True}):
        assert not behind(here, {"next": Ask(at=99), **page}, again, way="stated").is_ring


@pytest.mark.parametrize(
    ("before", "now", "is_contradiction"), [(2977, 746, True), (2977, 3036, False), (2977, 3037, True), (5, 16, True)]
)
def test_pages_that_count_differently_answer_two_questions(before, now, is_contradiction):
    found = behind({"total": before, "pages": 1}, {"total": now}, {"came": 10, "new": 10, "digest": "b"})
    assert (bool(found.contradiction), found.has_moved) == (is_contradiction, True)


def test_what_is_left_behind_a_page_counts_with_what_came():
    found = behind({"listed": 10, "came": 10, "apart": 2, "total": 40}, {"behind": 28}, {"came": 10, "new": 10})
    assert (found.total, found.expected, found.has_moved) == (40, 38, False)
    again = behind({"listed": 10, "came": 10, "total": 40}, {"behind": 31}, {"came": 10, "new": 9})
    assert again.total == 40, "one of them was on the page before"


@pytest.mark.parametrize(
    ("here", "left", "taken", "total"),
    [
        ({}, 7, {"came": 3, "new": 3}, 7),
        ({}, 2, {"came": 3, "new": 3}, 3),  # it counts fewer than it gives
        ({"listed": 10, "apart": 2}, 7, {"came": 3, "new": 3}, 19),
        ({"listed": 10, "apart": 2, "total": 5}, 7, {"came": 3, "new": 2}, 18),
        ({"listed": 10, "apart": 2, "total": 5}, 1, {"came": 3, "new": 2}, 14),
        ({"listed": 10, "apart": 2, "total": 5}, 3, {"came": 3, "new": 0}, 12),
    ],
)
def test_how_many_there_are_by_what_is_left(here, left, taken, total):
    assert behind(here, {"behind": left}, taken).total == total


def test_other_datasets_of_the_page_count_with_what_is_left():
    found = behind({"listed": 10, "total": 5}, {"behind": 4, "apart": 2}, {"came": 3, "new": 1})
    assert (found.total, found.expected) == (14, 12)


@pytest.mark.parametrize(
    ("before", "now", "moved", "shrunk"),
    [(40, 40, False, False), (40, 39, True, True), (40, 41, True, False), (1, 0, True, True), (0, 1, True, False)],
)
def test_whether_a_list_changed_while_it_was_read(before, now, moved, shrunk):
    found = behind({"total": before}, {"total": now}, {"came": 1, "new": 1})
    assert (found.has_moved, found.has_shrunk) == (moved, shrunk)


@pytest.mark.parametrize(
    ("before", "printed", "found"), [(None, 5, 5), (7, 5, 7), (5, 7, 7), (5, None, 5), (None, 0, 0)]
)
def test_the_largest_number_that_is_printed_counts(before, printed, found):
    assert behind({"printed": before}, {"printed": printed}, {"came": 1}).printed == found


@pytest.mark.parametrize(
    ("before", "now", "is_contradiction"), [(100, 110, False), (100, 111, True), (1000, 1020, False)]
)
def test_a_catalogue_changes_while_it_is_listed_but_not_by_so_much(before, now, is_contradiction):
    assert bool(behind({"total": before}, {"total": now}, {"came": 1}).contradiction) is is_contradiction


@pytest.mark.parametrize(
    ("here", "page", "taken", "is_capped"),
    [
        ({}, {"asked": 100, "total": 50}, {"came": 10}, True),
        ({}, {"asked": 10, "total": 50}, {"came": 10}, False),
        ({}, {"asked": 100, "total": 10}, {"came": 10}, False),
        ({}, {"asked": 100}, {"came": 10}, False),
        ({}, {"asked": 11, "total": 50, "overlap": 1}, {"came": 10}, False),
        ({"first": "a", "largest": 10}, {"asked": 100}, {"came": 5}, True),
        ({"first": "a", "largest": 10}, {"asked": 10}, {"came": 5}, False),
        ({"first": "a", "largest": 10}, {"asked": 100}, {}, False),
        ({"is_capped": True}, {}, {}, True),
    ],
)
def test_whether_a_server_gives_fewer_than_it_is_asked_for(here, page, taken, is_capped):
    assert behind(here, page, taken, way="place").is_capped is is_capped


def test_pages_that_count_what_is_left_are_compared_too():
    """And a total that shrinks is not believed before it is asked for: records may be lost."""
    here = {"listed": 10, "came": 10, "total": 200, "counted": 200, "pages": 1}
    found = behind(here, {"behind": 10}, {"came": 10, "new": 10, "digest": "b"})
    assert (bool(found.contradiction), found.counted, found.total) == (True, 20, 200)
    fewer = behind(here, {"behind": 188}, {"came": 10, "new": 10, "digest": "b"})
    assert (fewer.contradiction, fewer.counted, fewer.total, fewer.has_moved) == ("", 198, 200, False)


@pytest.mark.parametrize(
    ("walked", "page", "taken", "traits", "decision"),
    [
        ({"total": 30, "came": 28, "largest": 20}, {"next": Ask(at=9), "behind": 8}, {"came": 8}, {}, "end"),
        ({"total": 30, "came": 28, "largest": 20}, {"next": Ask(at=9), "behind": 10}, {"came": 8}, {}, "follow"),
        ({"total": 10, "came": 10, "largest": 10}, {"next": Ask(at=9), "behind": 5}, {"came": 10}, {}, "follow"),
        ({}, {"next": None}, {"came": 3}, {}, "end"),
        ({"largest": 10, "came": 10, "first": "a"}, {"next": Ask(at=99), "asked": 100}, {"came": 10}, {}, "follow"),
        ({"largest": 7, "came": 7, "first": "a"}, {"next": Ask(at=99), "asked": 100}, {"came": 7}, {}, "follow"),
        ({"largest": 10, "came": 13, "turned": 1}, {"next": Ask(at=99), "asked": 100}, {"came": 3}, {}, "end"),
        ({"largest": 10, "came": 20, "turned": 1}, {"next": Ask(at=99), "asked": 100}, {"came": 10}, {}, "follow"),
        (
            {"largest": 10, "came": 13, "total": 30, "turned": 1},
            {"next": Ask(at=99), "asked": 10},
            {"came": 3},
            {},
            "follow",
        ),
        (
            {"largest": 10, "came": 20, "total": 20, "turned": 1},
            {"next": Ask(at=9), "asked": 10},
            {"came": 10},
            {},
            "end",
        ),
        (
            {"largest": 10, "came": 20, "total": 20, "turned": 1, "is_capped": True},
            {"next": Ask(at=99), "asked": 100},
            {"came": 10},
            {},
            "follow",
        ),
        ({"largest": 10, "came": 2000, "total": 2000}, {"next": Ask(at=99), "asked": 10}, {"came": 10}, {}, "follow"),
        ({"came": 20, "stale": 2}, {"next": Ask(at=99)}, {"came": 10}, {}, "end"),
        (
            {"largest": 9, "came": 12, "total": 12},
            {"next": Ask(at=99)},
            {"came": 3},
            {"has_short_pages": True},
            "follow",
        ),
        ({"came": 12, "stale": 1}, {"next": Ask()}, {}, {"has_short_pages": True, "patience": 1}, "end"),
        ({"came": 20, "total": 20}, {"next": Ask(at=99)}, {"came": 10}, {"way": "stated"}, "follow"),
        ({"largest": 10, "came": 3}, {"next": Ask(at=9)}, {"came": 3}, {}, "follow"),
        ({"largest": 9, "came": 10_003, "total": 10_000}, {"next": Ask(at=9)}, {"came": 3}, {}, "follow"),
        ({"pages": 5}, {"next": Ask(at=99)}, {"came": 10}, {"way": "stated", "most_pages": 5}, "trap"),
        ({"pages": 5, "came": 10}, {"next": Ask(at=99), "end": "none"}, {"came": 10}, {"way": "stated"}, "end"),
    ],
)
def test_whether_a_walk_goes_on(walked, page, taken, traits, decision):
    chosen = Traits(**{"way": "place"} | traits)
    assert decide(Walk(ask=Ask(), **walked), ListingPage(**page), Taken(**taken), chosen) == decision


@pytest.mark.parametrize(
    ("walked", "traits", "is_all", "is_over"),
    [
        ({}, {}, False, False),
        ({"total": 20, "listed": 19}, {}, False, False),
        ({"total": 20, "listed": 18, "lost": 2}, {}, True, True),
        ({"total": 20, "listed": 25}, {}, True, True),
        ({"total": 20, "listed": 20}, HINT, True, True),
        ({"total": 20, "listed": 25}, HINT, True, False),
        ({"total": 20, "listed": 25, "parts": (("a", "b"),)}, HINT, True, True),
        ({"total": 2000, "listed": 2000}, {}, True, False),
        ({"total": 10_000, "listed": 10_000}, {}, False, False),
    ],
)
def test_whether_all_came_and_a_refusal_behind_it_is_the_end(walked, traits, is_all, is_over):
    here = Walk(ask=Ask(), **walked)
    assert (is_met(here, Traits(**traits)), is_end(here, Traits(**traits))) == (is_all, is_over)


def test_a_walk_begins_with_nothing():
    begun = Walk(ask=Ask())
    given = {field.name for field in fields(begun) if getattr(begun, field.name)}
    assert (given, begun.plain().keys()) == ({"ask", "name", "purpose", "lap"}, {"ask"}), (
        "what is by default is not stored"
    )
    assert (begun.lap, begun.expected, begun.seen) == (1, None, 0)
    assert [replace(begun, **each).has_records for each in ({}, {"is_of_ids": True}, {"purpose": "count"})] == [
        True,
        False,
        False,
    ]
    assert replace(begun, listed=3, lost=2).seen == 5


def test_what_parts_have_twice_counts_once():
    here = Walk(ask=Ask(), before=10, total=20, apart=2, doubles=1)
    there = after(here, ListingPage(total=20, doubles=2), Taken(came=5, new=2), Traits())
    assert (there.doubles, there.expected, there.apart) == (3, 25, 2)
    assert ladder.lapped(there, Ask()).doubles == 0


@pytest.mark.parametrize("doubles", [0, 1])
def test_a_page_that_has_but_what_another_part_had_brings_something_new(doubles):
    there = after(
        Walk(ask=Ask(), first="a", digest="a"), ListingPage(doubles=doubles), Taken(came=5, digest="b"), Traits()
    )
    assert there.stale == 1 - doubles


@pytest.mark.parametrize(
    ("here", "expected"),
    [
        ({"total": 40, "before": 30, "stated": 60, "listed": 50}, 60),
        ({"total": 40, "before": 30, "stated": 60, "listed": 50, "apart": 2, "doubles": 3}, 58),
        ({"total": 40, "before": 30, "stated": 60, "listed": 61}, 70),
        ({"total": 40, "before": 30, "stated": 10_000, "listed": 50}, 70),
        ({"total": 40, "before": 30, "listed": 50}, 70),
        ({"total": 40, "stated": 60, "listed": 35, "parts": ()}, 40),
        ({"total": None, "stated": 60, "listed": 35}, 60),
    ],
    ids=str,
)
def test_how_many_are_expected_of_a_list_that_is_read_in_parts(here, expected):
    lister = SimpleNamespace(dialect=SimpleNamespace(traits=Traits(total="hint")))
    assert Lister._expected(lister, Walk(ask=Ask(), **({"parts": (("", ""),)} | here))) == expected


def test_a_fault_is_that_of_a_page_unless_it_is_said():
    assert not Fault(AnswerError("connection", "reset")).is_of_host
    assert not Fault(AnswerError("http", "busy"), 503).is_of_host
    assert Fault(AnswerError("http", "busy"), 503, has_waited=True).is_of_host
    assert not Fault(AnswerError("http", "busy"), 503, has_waited=True, is_help=True).is_of_host
    assert not Fault(AnswerError("http", "busy"), 429, is_help=True).is_of_host
    assert Fault(AnswerError("robots", "closed"), is_help=True).is_of_host


# Pages that do not come


LADDER = (Other("method", ("POST", "GET"), is_for_first_only=True, when=("http",)), Again(), Smaller(), Skip())


@pytest.mark.parametrize("fault", [500, 503, 408, '{"ids": ["', "<html>busy</html>", '{"error": "x"}'])
@pytest.mark.parametrize("number", [1, 3])
def test_each_fault_of_a_page_is_met_by_the_ladder(tmp_path, fault, number):
    server = Server(ids=names(35), says=35, faults={number: fault})
    done = listed(tmp_path, server, ladder=LADDER)
    assert (done.ids(), done.evidence, done.errors) == (server.ids, {"datasets": "total"}, [])
    assert len(server.requests) <= 9


@pytest.mark.parametrize("status", [403, 404, 429])
def test_a_refusal_ends_the_list(tmp_path, status):
    server = Server(ids=names(35), says=35, faults=dict.fromkeys(range(3, 50), status))
    done = listed(tmp_path, server, ladder=LADDER)
    assert (len(done.items), len(server.requests), sum(done.kinds().values())) == (20, 3, 1)


def test_whole_records_of_a_cut_page_are_kept_and_the_walk_goes_on_behind_them(tmp_path):
    server = Server(ids=names(35), says=35, faults={2: '{"ids": ["n00010", "n00011", "n00012'})
    done = listed(tmp_path, server, ladder=LADDER)
    assert (done.ids(), [asked["at"] for asked in server.requests]) == (server.ids, ["0", "10", "13", "23", "33"])


@pytest.mark.parametrize("says", [13, None])
def test_a_cut_page_is_no_end_even_if_the_total_is_met_by_it(tmp_path, says):
    server = Server(ids=names(13), says=says, faults={2: '{"ids": ["n00010", "n00011", "n00012"'})
    done = listed(tmp_path, server, ladder=LADDER)
    assert (done.ids(), [asked["at"] for asked in server.requests][:3], done.errors) == (
        server.ids,
        ["0", "10", "13"],
        [],
    )
    assert done.evidence == {"datasets": "total" if says else "pager"}


def test_one_record_that_breaks_each_page_is_named_and_passed(tmp_path):
    server = Server(ids=names(35), says=35, broken={17})
    done = listed(tmp_path, server, ladder=LADDER)
    assert (done.ids(), done.evidence) == (names(17) + names(17, 18), {"datasets": "total"})
    [error] = done.errors
    assert error.missing == "dataset"
    assert error.error == "the server can't give the record at position 18: a record can't be rendered"


@pytest.mark.parametrize(("is_substitute", "rows"), [(False, ["1", "5", "25"]), (True, ["1", "1", "1"])])
def test_small_pages_grow_unless_they_stand_for_a_record_that_can_not_be_given(tmp_path, is_substitute, rows):
    def read(self, response, walk):
        return replaced(Numbers.read(self, response, walk), is_substitute=is_substitute)

    server = Server(ids=names(35), says=35)
    listed(tmp_path, server, read=read, first=lambda self: Walk(ask=Ask(), rows=1, most=100))
    assert [asked["rows"] for asked in server.requests][:3] == rows


def test_fewer_retries_are_spent_on_the_small_pages_behind_a_fault(tmp_path):
    done = listed(tmp_path, Server(ids=names(300), says=300, cap=100, broken={17}), ladder=LADDER)
    small = ["rows=100" not in request.url for request in done.asked]
    assert [request.meta.get("max_retry_times") == 1 for request in done.asked] == small
    assert small[-1] is False


def test_a_page_that_never_comes_ends_the_list_once_every_rung_was_tried(tmp_path):
    server = Server(ids=names(35), says=35, faults=dict.fromkeys(range(2, 500), '{"ids": ["'))
    done = listed(tmp_path, server, ladder=LADDER)
    assert (len(done.items), done.kinds()["truncated"]) == (10, 1)
    assert len(server.requests) < 12, "rungs count until there is progress"


def test_a_list_is_begun_again_if_its_token_expired(tmp_path):
    server = Server(ids=names(35), way="stated", faults={3: 400})
    done = listed(tmp_path, server, **stated(), ladder=(Renew(),))
    assert (done.ids(), done.evidence) == (server.ids, {"datasets": "pager"})


def test_what_is_refused_once_the_total_is_met_is_the_end(tmp_path):
    server = Server(ids=names(20), says=20, way="stated", faults={3: 400})
    superfluous = {"read": lambda self, response, walk: replaced(Numbers.read(self, response, walk), next=Ask(at=20))}
    server.ends = 20
    pages = iter((10, 20))
    superfluous = {
        "read": lambda self, response, walk: replaced(Numbers.read(self, response, walk), next=Ask(at=next(pages)))
    }
    done = listed(tmp_path, server, **stated(), **superfluous)
    assert (done.ids(), done.evidence, done.errors) == (server.ids, {"datasets": "total"}, [])


def test_a_total_of_any_size_is_told(tmp_path):
    done = listed(tmp_path, Server(ids=names(3), says=10**25), laps=lambda self, walk: ())
    assert (done.kinds(), done.spider.run_state.expected) == ({"count_mismatch": 1}, 10**25)


@pytest.mark.parametrize(("says", "kinds", "shown"), [(10, {}, {"datasets": "total"}), (8, {"http": 1}, {})])
def test_what_is_refused_behind_a_total_that_is_too_small_is_no_end(tmp_path, says, kinds, shown):
    server = Server(ids=names(35), says=says, way="stated", faults={2: 400})
    done = listed(tmp_path, server, **stated(total="hint"), ladder=())
    assert (len(done.items), done.kinds(), done.evidence) == (10, kinds, shown)


def test_a_part_is_not_the_whole(tmp_path):
    part = lambda request: TextResponse(request.url, status=206, body=b'{"ids": ["a"]}')  # noqa: E731
    done = listed(tmp_path, part, **stated())
    assert (done.kinds(), done.evidence) == ({"truncated": 1}, {})


@pytest.mark.parametrize(
    ("error", "status", "is_first", "is_of_host", "is_of_question"),
    [
        ("blocked", 403, True, True, True),
        ("connection", None, True, True, False),
        ("connection", None, False, False, False),
        ("http", 429, False, True, False),
        ("http", 500, False, False, False),
        ("http", 408, False, False, False),
        ("http", 404, False, False, True),
        ("timeout", None, True, False, False),
        ("dns", None, False, True, False),
        ("disk", None, False, True, False),
        ("refused", 200, False, False, True),
    ],
)
def test_whose_fault_it_is(error, status, is_first, is_of_host, is_of_question):
    fault = Fault(AnswerError(error, "it failed"), status, is_first=is_first)
    assert (fault.is_of_host, fault.is_of_question) == (is_of_host, is_of_question)
    assert not is_of_host or ladder.climbed(Walk(ask=Ask(), rows=10), fault, Numbers(None)) is None


def test_a_refusal_may_be_of_one_record_of_the_page():
    fault = Fault(AnswerError("refused", "no such schema"), 400, is_spoken=True, is_of_page=True)
    assert not fault.is_of_question
    assert Smaller().instead(Walk(ask=Ask(), rows=10, most=10), fault, Numbers(None)).rows == 5


CUT, HTTP = Fault(AnswerError("truncated", "cut")), Fault(AnswerError("http", "HTTP 500"), 500)
BUSY = Fault(AnswerError("not_json", "busy"), 200)
NO = Fault(AnswerError("http", "HTTP 400"), 400)


class Ranged(Numbers):
    def split(self, walk):
        begin, end = walk.parts[0] if walk.parts else ("a", "z")
        middle = "f" if walk.parts else "m"
        return (begin, middle), (middle, end)

    def ranged(self, walk, part):
        return Ask(since=part[0], until=part[1])


@pytest.mark.parametrize(
    ("rung", "here", "fault", "changed"),
    [
        (Again(), {}, CUT, {}),
        (Again(), {}, HTTP, None),
        (Again(), {}, NO, None),
        (Again(when=("not_json",)), {}, CUT, None),
        (Again(when=("not_json",)), {}, BUSY, {}),
        (Other("method", ("POST", "GET")), {}, CUT, {"ask": Ask(method="GET")}),
        (Other("method", ("POST",)), {}, CUT, None),
        (Other("method", ("GET",)), {"pages": 1}, CUT, {"ask": Ask(method="GET")}),
        (Other("method", ("PUT", "GET")), {}, CUT, {"ask": Ask(method="PUT")}),
        (Other("method", lambda walk: ("POST", walk.name)), {}, CUT, {"ask": Ask(method="datasets")}),
        (Other("method", ("GET",), is_for_first_only=True), {"pages": 1}, CUT, None),
        (Other("method", ("GET",), is_for_first_only=True), {"pages": 0}, CUT, {"ask": Ask(method="GET")}),
        (Other("method", ("GET",), when=lambda fault: fault.status == 400), {}, CUT, None),
        (Other("method", ("GET",), when=lambda fault: fault.status == 400), {}, NO, {"ask": Ask(method="GET")}),
        (Smaller(), {"rows": 100, "most": 100}, CUT, {"rows": 25, "most": 25}),
        (Smaller(), {"rows": 5, "most": 100}, CUT, {"rows": 1, "most": 1}),
        (
            Smaller(),
            {"rows": 100, "most": 100},
            Fault(AnswerError("timeout", "slow")),
            {"rows": 25, "most": 25},
        ),
        (Smaller(), {"rows": 100, "most": 100}, HTTP, {"rows": 25, "most": 100}),
        (Smaller(), {"rows": 1, "most": 100}, CUT, None),
        (Smaller(), {"rows": None}, CUT, None),
        (Smaller(), {"rows": 25}, NO, None),
        (
            Skip(),
            {"rows": 1, "came": 7, "lost": 1},
            CUT,
            {"ask": Ask(at=1), "came": 8, "lost": 2, "skipped": 1, "most": 100},
        ),
        (Skip(), {"rows": 2}, CUT, None),
        (Skip(), {"rows": 1}, Fault(AnswerError("http", "HTTP 404"), 404), None),
        (Renew(), {}, CUT, None),
        (Renew(when=("not_json",)), {"came": 1}, CUT, None),
        (
            Renew(),
            {
                "ask": Ask(at=9),
                "came": 9,
                "reached": 9,
                "total": 20,
                "turned": 1,
                "first": "a",
                "digest": "b",
                "stale": 1,
            },
            CUT,
            {
                "ask": Ask(at=0),
                "came": 0,
                "total": None,
                "turned": 0,
                "first": "",
                "digest": "",
                "stale": 0,
            },
        ),
        (Halve(), {}, CUT, {"parts": (("a", "m"), ("m", "z")), "ask": Ask(since="a", until="m"), "splits": 1}),
        (Halve(when=("http",)), {}, CUT, None),
        (Halve(), {"splits": 500}, CUT, None),
        (
            Halve(),
            {"parts": (("m", "z"), ("z", "")), "splits": 3, "came": 4, "reached": 4},
            CUT,
            {
                "parts": (("m", "f"), ("f", "z"), ("z", "")),
                "ask": Ask(since="m", until="f"),
                "splits": 4,
                "came": 0,
                "reached": 0,
            },
        ),
        (Onward(), {}, CUT, None),
        (Onward(), {"parts": (("a", "m"),)}, CUT, None),
        (Onward(when=("http",)), {"parts": (("a", "m"), ("m", "z"))}, CUT, None),
        (
            Onward(),
            {"parts": (("a", "m"), ("m", "z")), "before": 5, "total": 7, "came": 3, "turned": 2, "gaps": 1},
            CUT,
            {
                "parts": (("m", "z"),),
                "ask": Ask(since="m", until="z"),
                "before": 12,
                "total": None,
                "came": 0,
                "gaps": 2,
            },
        ),
        (
            Onward(),
            {"parts": (("a", "m"), ("m", "z")), "total": 10_000, "came": 3},
            CUT,
            {
                "parts": (("m", "z"),),
                "ask": Ask(since="m", until="z"),
                "before": 3,
                "total": None,
                "came": 0,
                "gaps": 1,
            },
        ),
    ],
)
def test_what_a_rung_tries_instead(rung, here, fault, changed):
    before = Walk(**{"ask": Ask()} | here)
    found = rung.instead(before, fault, Ranged(None))
    assert found == (None if changed is None else replace(before, **changed))


def test_the_ladder_is_climbed_from_the_top_and_a_rung_has_its_number():
    class Laddered(Numbers):
        ladder = (Again(most=2), Other("method", ("POST", "GET")), Smaller(most=1))

    walk, taken = Walk(ask=Ask(), rows=100, most=100), []
    while (walk := ladder.climbed(walk, CUT, Laddered(None))) is not None:
        taken.append((walk.tried[-1], walk.rows))
    assert taken == [("again", 100), ("again", 100), ("method", 100), ("smaller", 25)]


def test_a_host_that_says_when_to_come_again_is_not_asked_otherwise(tmp_path):
    def answers(request):
        return TextResponse(request.url, status=503, headers={"Retry-After": "1"}, body=b"{}", request=request)

    done = listed(tmp_path, answers, ladder=LADDER)
    assert (len(done.asked), done.kinds()) == (1, {"http": 1})


def test_a_help_for_which_a_host_asks_for_a_pause_without_end_is_left_out(tmp_path):
    server, count = Server(ids=names(30), says=30), iter(range(100))

    def answers(request):
        if next(count):
            return server(request)
        return TextResponse(request.url, status=503, headers={"Retry-After": "1"}, body=b"{}", request=request)

    first = Walk(ask=Ask(), purpose="count", rows=10, most=10)
    done = listed(tmp_path, answers, first=lambda dialect: first)
    assert (done.judged, done.kinds()) == (("complete", 30, 30), {})


@pytest.mark.parametrize(
    ("rung", "here", "most"),
    [
        (Again(), {}, 1),
        (Other("method", lambda walk: ("PUT",)), {}, 20),
        (Smaller(), {"rows": 100}, 20),
        (Skip(), {"rows": 1}, 3),
        (Renew(), {"came": 3}, 1),
        (Halve(), {}, 500),
        (Onward(), {"parts": (("a", "m"), ("m", "z"))}, 500),
    ],
)
def test_how_often_a_rung_is_tried_without_progress(rung, here, most):
    dialect = type("Laddered", (Ranged,), {"ladder": (rung,)})(None)
    once_less = Walk(**{"ask": Ask(), "tried": (rung.name,) * (most - 1)} | here)
    there = ladder.climbed(once_less, CUT, dialect)
    assert there.tried == (rung.name,) * most
    assert ladder.climbed(replace(once_less, tried=there.tried), CUT, dialect) is None


def test_the_sizes_of_smaller_pages():
    here, sizes = Walk(ask=Ask(), rows=1000), []
    while (here := Smaller().instead(here, HTTP, Numbers(None))) is not None:
        sizes.append(here.rows)
    assert sizes == [100, 25, 5, 1]


# Lists that are too long, or move


def halves(part):
    begin, end = int(part[0][1:] or 0), int(part[1][1:] or 99_999)
    return None if end - begin < 2 else ((part[0], f"n{(begin + end) // 2:05}"), (f"n{(begin + end) // 2:05}", part[1]))


def test_a_list_longer_than_the_servers_window_is_read_in_parts(tmp_path):
    server = Server(ids=names(70), says=-1, cap=10)
    parts = {"split": lambda self, walk: halves(walk.parts[0]) or () if walk.parts else [("n00000", "n00100")]}
    traits = Traits(way="place", windows={70, 50})
    done = listed(tmp_path, server, traits=traits, ladder=(Halve(),), **parts)
    assert (len(done.items), done.evidence, done.errors) == (70, {"datasets": "total"}, [])


def test_a_list_too_long_for_its_way_on_is_read_in_parts_unless_it_is_one_page(tmp_path):
    halved = {"split": lambda self, walk: halves(walk.parts[0] if walk.parts else ("", "n00070")) or ()}
    changes = {**stated(longest=30), **halved, "ranged": lambda self, walk, part: Ask(since=part[0], until=part[1])}
    server = Server(ids=names(70), says=-1, way="stated")
    done = listed(tmp_path, server, **changes)
    assert (done.ids(), done.evidence, done.errors) == (server.ids, {"datasets": "total"}, [])
    assert {asked.get("since", "") for asked in server.requests} == {"", "n00017", "n00035", "n00052"}, "in quarters"
    server = Server(ids=names(70), says=-1, cap=100, way="stated")
    assert listed(tmp_path, server, **changes).evidence == {"datasets": "total"}
    assert len(server.requests) == 1


def test_ranges_without_a_total_of_their_own_have_to_give_what_the_list_said(tmp_path):
    halved = {"split": lambda self, walk: () if walk.parts else halves(("", "n00040"))}
    changes = {**stated(longest=30), **halved, "ranged": lambda self, walk, part: Ask(since=part[0], until=part[1])}

    def read(self, response, walk):
        page = Numbers.read(self, response, walk)
        return replaced(page, total=None if walk.parts else page.total)

    for says, shown in ((40, {"datasets": "pager"}), (41, {})):
        done = listed(tmp_path, Server(ids=names(40), says=says, way="stated"), **changes, read=read)
        assert (done.ids(), done.evidence, done.kinds()) == (names(40), shown, {} if shown else {"count_mismatch": 1})


def test_a_part_that_does_not_come_is_reported_and_the_next_ones_are_listed(tmp_path):
    server = Server(ids=names(40), says=-1, faults=dict.fromkeys((2, 3), '{"ids": ["'))
    parts = {"split": lambda self, walk: () if walk.parts else halves(("", "n00040"))}
    done = listed(tmp_path, server, traits=Traits(way="place", windows={40}), ladder=(Again(), Onward()), **parts)
    assert (done.ids(), done.evidence, done.kinds()) == (names(10) + names(20, 20), {}, {"truncated": 1})


def test_halves_of_a_part_that_does_not_come_may_wait_for_the_others():
    """Where a part fails, the others show whether the host is there."""
    here = Walk(ask=Ask(), parts=(("a", "m"), ("m", "z")), splits=1)
    first, last = ladder.split(here, Ranged(None)), ladder.split(here, Ranged(None), is_last=True)
    assert (first.parts, first.ask) == ((("a", "f"), ("f", "m"), ("m", "z")), Ask(since="a", until="f"))
    assert (last.parts, last.ask) == ((("m", "z"), ("a", "f"), ("f", "m")), Ask(since="m", until="z"))


def test_what_a_broken_page_showed_is_asked_by_once_more(tmp_path):
    server = Server(ids=names(35), says=35, faults={2: '{"ids": ["n00010", "n00011", "n00012'})

    def read(self, response, walk):
        page = Numbers.read(self, response, walk)
        return replaced(page, next=None, ask=replace(walk.ask, at=12)) if page.fault else page

    done = listed(tmp_path, server, ladder=(Again(),), read=read)
    assert (done.ids(), [asked["at"] for asked in server.requests][:4]) == (server.ids, ["0", "10", "12", "22"])


def test_a_list_that_becomes_shorter_each_time_is_read_is_not_whole(tmp_path):
    ids = names(38)
    server = Server(ids=ids, says=-1, moves={3: ids[1:], 7: ids[2:]})
    done = listed(tmp_path, server, traits=Traits(way="place", total="hint"))
    assert (len(done.items), done.kinds(), len(server.requests)) == (38, {"count_mismatch": 1}, 9)


def test_a_number_that_is_a_hint_does_not_stop_the_ladder(tmp_path):
    server = Server(ids=names(35), says=10, way="stated", faults={2: '{"ids": ["'})
    done = listed(tmp_path, server, **stated(total="hint"), ladder=(Again(),))
    assert (done.ids(), done.evidence, done.spider.run_state.expected) == (server.ids, {"datasets": "pager"}, 35)


def test_a_rung_helps_against_what_it_is_for():
    [cut, other] = (Fault(AnswerError(kind, "")) for kind in ("truncated", "paging"))
    rung, here = Again(when=("truncated",)), Walk(ask=Ask())
    assert (rung.instead(here, cut, Numbers(None)), rung.instead(here, other, Numbers(None))) == (here, None)


def test_a_list_that_moved_is_read_again(tmp_path):
    ids = names(35)
    server = Server(ids=ids, says=-1, moves={3: ids[1:]})
    done = listed(tmp_path, server)
    assert (done.ids(), done.evidence) == (ids, {"datasets": "total"})
    assert len(server.requests) == 9


def test_offers_are_lists_of_their_own_and_what_is_left_is_counted(tmp_path):
    tree = {"a": (["1", "2"], ["b", "c"]), "b": (["3"], ["a"]), "c": (["4"], [])}

    class Tree(Numbers):
        traits = Traits(way="single", is_one_list=False)

        def first(self):
            return Walk(ask=Ask(address="a"), name="a")

        def request(self, walk):
            return Request(f"{URL}/{walk.ask.address}")

        def read(self, response, walk):
            ids, below = tree[response.url.rpartition("/")[2]]
            offers = [Offer("walk", name, Ask(address=name)) for name in below]
            offers += [Offer("left", "https://other.org/x", None, "x is on another host")] * (walk.name in LEFT)
            return ListingPage(entries=[Entry(each, each) for each in ids], offers=offers)

    answers = lambda request: TextResponse(request.url, body=b"{}")  # noqa: E731
    LEFT: set[str] = set()  # noqa: N806
    members = {name: value for name, value in vars(Tree).items() if not name.startswith("_")}
    done = listed(tmp_path, answers, **members)
    assert (done.ids(), done.evidence) == (list("1234"), dict.fromkeys("abc", "file"))
    LEFT.add("c")
    done = listed(tmp_path, answers, **members)
    assert [error.error for error in done.errors] == ["c listed 1 datasets, and x is on another host"]


@pytest.mark.parametrize(("says", "shown"), [(None, {}), (7, {"datasets": "total"}), (8, {})])
def test_a_part_that_was_reported_is_told_once_and_only_a_total_shows_more(tmp_path, says, shown):
    closed = []

    def read(self, response, walk):
        self.spider.failed("parse", AnswerError("invalid_rdf", "a part can't be read"), response.request)
        page = Numbers.read(self, response, walk)
        page.entries, page.gaps = iter(page.entries), 1
        page.close = lambda: closed.append(len(closed))
        return page

    done = listed(tmp_path, Server(ids=names(7), says=says), read=read, **stated())
    assert (len(done.items), done.evidence, len(closed)) == (7, shown, len(done.asked))
    assert done.kinds() == {"invalid_rdf": len(done.asked)} | ({"count_mismatch": 1} if says == 8 else {})


@pytest.mark.parametrize("is_late", [False, True])
@pytest.mark.parametrize("twice", range(4))
def test_what_waits_for_all_lists_comes_when_they_have_ended_whole_or_not(tmp_path, twice, is_late):
    """Another list, whose datasets count for the user's limit with those of the first; and a dataset; after a kill."""

    def ended(self, walk):
        if walk.name == "datasets":
            yield Walk(ask=Ask(at=6), name="another", earlier=walk.listed, rows=10, most=10)
        else:
            yield Dataset(id="last", title="last", source="x", document={})

    changes = stated() | {"ended": ended, "ladder": (), "called": lambda self, walk: f"the list {walk.name}"}
    done = listed(
        tmp_path, Server(ids=names(12), cap=6, way="stated", faults={2: 500}), twice=twice, is_late=is_late, **changes
    )
    assert (len(done.items), set(done.kinds()), done.evidence) == (13, {"http"}, {"another": "file"})
    done = listed(
        tmp_path, Server(ids=names(12), cap=6, way="stated", faults={2: 500}), {"max_datasets": "8"}, **changes
    )
    assert (len(done.items), done.spider.run_state.is_limited) == (8, True)


def test_a_page_that_was_only_guessed_and_is_refused_is_the_end(tmp_path):
    def ending(self, fault, walk):
        return ListingPage(is_guessed=True, came=0) if fault.status == 404 else None

    done = listed(tmp_path, Server(ids=names(12), way="stated", faults={2: 404}), ending=ending, ladder=(), **stated())
    assert (len(done.items), done.evidence, done.errors) == (10, {"datasets": "short_page"}, [])


def test_a_page_that_is_passed_over_is_reported(tmp_path):
    """By a rung that only this kind has."""

    def over(self, walk, fault):
        return replace(walk, ask=replace(walk.ask, at=walk.ask.at + 10), gaps=walk.gaps + 1)

    server = Server(ids=names(35), way="stated", faults={2: 500})
    done = listed(tmp_path, server, ladder=(Instead("over"),), over=over, **stated())
    assert (len(done.items), done.kinds(), done.evidence) == (25, {"http": 1}, {})


def test_what_explains_a_difference_comes_before_a_further_look(tmp_path):
    """A list of ids, say, which is read for the sake of the other one; here it shows that two are not there."""

    class Explaining(Numbers):
        def is_doubtful(self, walk):
            return walk.name == "all ids" or Numbers.is_doubtful(self, walk)

        def explained(self, walk):
            if walk.name == "all ids":
                short = Walk(ask=Ask(), total=12, listed=10, came=10, pages=2)
                return self.spider.lister.judged(short, ListingPage(), None, absent=2)
            ids = replace(ladder.begun(walk, Ask(since="n")), name="all ids", is_of_ids=True)
            return iter([self.spider.lister.onward(walk, ids)])

        def whole(self, walk):
            yield Dataset(id="later", title="x", source="x", document={})

    explaining = {name: vars(Explaining)[name] for name in ("is_doubtful", "explained", "whole")}
    done = listed(tmp_path, Server(ids=names(10), says=12), **explaining)
    assert (done.evidence, done.errors) == ({"datasets": "total less 2 that the portal does not have"}, [])
    assert (done.spider.run_state.expected, done.ids()) == (10, ["later", *names(10)])


def test_two_questions_may_precede_the_first_page(tmp_path):
    """What a portal says of itself, say, and then its number of records."""

    class Asking(Numbers):
        def first(self):
            return replace(Numbers.first(self), ask=Ask(method="WHO"), purpose="count")

        def read(self, response, walk):
            if walk.ask.method == "WHO":
                return ListingPage(next=Ask(method="COUNT"), purpose="count")
            return ListingPage(next=Ask(), total=7) if walk.purpose == "count" else Numbers.read(self, response, walk)

    server = Server(ids=names(7))
    done = listed(tmp_path, server, first=Asking.first, read=Asking.read)
    assert [asked["method"] for asked in server.requests] == ["WHO", "COUNT", "POST"]
    assert (done.ids(), done.evidence) == (names(7), {"datasets": "total"})


@pytest.mark.parametrize("second", ["the number is another one, asked for so", ""])
def test_a_number_may_be_asked_for_in_two_ways(tmp_path, second):
    """The second question settles whether the answers to the first ones contradict each other."""

    class Counting(Numbers):
        def count(self, walk):
            return Ask(method="COUNT")

        def read(self, response, walk):
            if walk.purpose == "page":
                return Numbers.read(self, response, walk)
            following = Ask(method="AGAIN") if walk.ask.method == "COUNT" else None
            return ListingPage(total=10, next=following, contradiction=None if following else second)

    counting = {name: vars(Counting)[name] for name in ("count", "read")}
    server = Server(ids=names(10), says=12)
    done = listed(tmp_path, server, **counting)
    assert [one["method"] for one in server.requests[-2:]] == ["COUNT", "AGAIN"]
    assert done.kinds() == ({"count_mismatch": 1} if second else {})


def test_what_is_reported_may_be_a_fault_before_the_last(tmp_path):
    first = Fault(AnswerError("refused", "no such list"), 404)
    short = {"short": lambda self, walk: iter([Dataset(id="later", title="x", source="x", document={})])}
    done = listed(tmp_path, Server(ids=[], faults={1: 500}), reported=lambda self, fault, walk: first, **short)
    assert [(error.kind, error.http_status) for error in done.errors] == [("refused", 404)]
    assert done.ids() == ["later"], "what there is to do when a list was not whole"


def test_records_of_a_page_may_lead_to_something_together(tmp_path):
    def together(self, response, taken, walk):
        yield Dataset(id=" ".join(str(entry.id) for entry, _ in taken), title="", source="x", document={})

    done = listed(tmp_path, Server(ids=names(13), says=13), together=together)
    assert [len(item.id.split()) for item in done.items] == [10, 3]


# Limits


@pytest.mark.parametrize(
    ("limits", "count", "is_limited"), [({"max_datasets": "7"}, 7, True), ({"max_datasets": "35"}, 35, False)]
)
def test_a_limit_ends_the_list(tmp_path, limits, count, is_limited):
    done = listed(tmp_path, Server(ids=names(35), says=35), limits)
    assert (len(done.items), done.spider.run_state.is_limited) == (count, is_limited)


@pytest.mark.parametrize("limits", [{"max_datasets": "7"}, {"max_resources": "7"}])
def test_a_limit_that_leaves_nothing_out_is_none_where_the_kind_says_so(tmp_path, limits):
    def read(self, response, walk):
        page = Numbers.read(self, response, walk)
        page.is_limited = False
        return page

    done = listed(tmp_path, Server(ids=names(7)), limits, read=read, **stated())
    assert (len(done.items), done.evidence, done.spider.run_state.is_limited) == (7, {"datasets": "file"}, False)


# What a request carries


def test_a_walk_outlives_json():
    here = Walk(ask=Ask(at=3), parts=(("a", "b"), ("b", "")), tried=("again",), above=("x",), name="y")
    assert restored(json.loads(json.dumps(here.plain())), Ask) == here


def test_requests_of_one_address_are_told_apart(tmp_path):
    server = Server(ids=names(35), says=35, faults={2: '{"ids": ["'})
    done = listed(tmp_path, server, ladder=LADDER)
    assert len({request.meta["walk"] for request in done.asked}) == len(done.asked)
    assert done.asked[2].headers["Cache-Control"] == b"no-cache"


def test_a_count_is_a_hint(tmp_path):
    server = Server(ids=names(3), faults={1: 500})

    def first(self):
        return Walk(ask=Ask(), rows=100, most=100, purpose="count")

    done = listed(tmp_path, server, first=first, ladder=())
    assert (len(done.items), done.evidence) == (3, {"datasets": "pager"})


def test_a_kill_between_any_two_answers_loses_nothing(tmp_path):
    ids = names(35)
    faults = {2: '{"ids": ["n00010", "n00011", "n00012'}
    for twice in range(1, 6):
        done = listed(tmp_path, Server(ids=ids, says=35, faults=faults), ladder=LADDER, twice=twice)
        assert (done.ids(), done.evidence, done.errors) == (ids, {"datasets": "total"}, [])


@pytest.mark.parametrize("twice", range(1, 6))
def test_an_answer_that_is_read_again_behind_the_end_does_not_open_the_list(tmp_path, twice):
    faults = {2: '{"ids": ["n00010", "n00011", "n00012'}
    done = listed(tmp_path, Server(ids=names(35), says=35, faults=faults), ladder=LADDER, twice=twice, is_late=True)
    assert (done.ids(), done.errors, done.judged) == (names(35), [], ("complete", 35, 35))
    assert done.evidence == {"datasets": "total"}


@pytest.mark.parametrize("twice", range(1, 6))
@pytest.mark.parametrize("way", ["place", "stated"])
def test_it_does_not_change_what_is_expected_of_a_list_without_a_total(tmp_path, twice, way):
    traits = {} if way == "place" else stated()
    done = listed(tmp_path, Server(ids=names(35), way=way), twice=twice, is_late=True, **traits)
    assert (done.ids(), done.errors, done.judged) == (names(35), [], ("complete", 35, 35))


def test_thousands_of_lists_are_noted_in_place(tmp_path):
    """A copy of them all for each would take minutes."""
    crawler = get_crawler(None, {"JOBDIR": str(tmp_path)})
    crawler.spider = SimpleNamespace(name="x")
    walks = Walks(crawler)
    lists, shown = walks.lists, walks.evidence
    assert (walks.begin("one"), walks.begin("two"), walks.begin("one")) == (True, True, False)
    walks.end("one", "whole", evidence="file", listed=1)
    assert (lists, shown) == ({"one": "ended", "two": "begun"}, {"one": "file"})
    assert crawler.stats.get_value("catalogue/lists") is lists
    walks.job.commit()
    again = Walks(crawler)
    assert (again.lists, again.evidence, again.is_short) == (lists, shown, False)
    again.end("two", "short")
    assert again.is_short
    walks.job.db.close()


# Ranges


def ranges(**changes):
    halves = {"split": lambda self, walk: walk.parts[:1] * 2, "ranged": lambda self, walk, part: Ask(since=part[0])}
    return type("Ranges", (Numbers,), halves | {"traits": Traits(way="place")} | changes)(None)


def test_a_list_is_not_split_for_ever():
    walk, count = Walk(ask=Ask(), parts=(("a", "b"),)), 0
    while (there := ladder.split(walk, ranges())) is not None and count < 1000:
        walk, count = there, count + 1
    assert count == ladder.SPLITS


@pytest.mark.parametrize(("total", "before"), [(8, 18), (10_000, 15), (None, 10)])
def test_a_range_that_is_longer_than_what_is_given_counts_what_came(total, before):
    walk = Walk(ask=Ask(), parts=(("a", "b"), ("b", "")), before=10, total=total, came=5)
    there = ladder.next_part(walk, ranges())
    assert (there.before, there.parts, there.came) == (before, (("b", ""),), 0)


# Several lists


class Several(Numbers):
    """Lists by name, which may have datasets in common; the first only leads to others if it has none of its own."""

    traits = Traits(way="stated", is_one_list=False, judges_single_pages_last=True)
    lists: ClassVar[dict[str, list[list[str]]]] = {}

    def first(self):
        return Walk(ask=Ask(address=next(iter(self.lists))), name=next(iter(self.lists)))

    def request(self, walk):
        return Request(f"{URL}/{walk.name}?{walk.ask.at}")

    def read(self, response, walk):
        if walk.ask.at == 99:
            raise AnswerError("truncated", "it broke off")
        pages = self.lists[walk.name]
        at, below = walk.ask.at, [name for name in self.lists if walk.name == "a" and name != "a"]
        following = replace(walk.ask, at=at + 1) if at + 1 < len(pages) else None
        offers = [Offer("walk", name, Ask(address=name)) for name in below] if at == 0 else []
        end = "closed" if offers and not pages[0] else ""
        return ListingPage(
            entries=[Entry(each, each) for each in pages[at]], next=following, offers=offers, end=end, **self.more(walk)
        )

    def more(self, walk):
        return {}


def several(tmp_path, lists, limits=None, twice=0, is_late=False, **changes):
    answers = lambda request: TextResponse(request.url, body=b"{}")  # noqa: E731
    members = {name: value for name, value in vars(Several).items() if not name.startswith("_")}
    return listed(tmp_path, answers, limits, twice=twice, is_late=is_late, **members | {"lists": lists} | changes)


def test_a_list_that_only_leads_to_others_shows_nothing_and_needs_not(tmp_path):
    done = several(tmp_path, {"a": [[]], "b": [["1", "2"], ["3"]], "c": [["4"]]})
    assert (done.ids(), done.evidence, done.errors) == (list("1234"), {"b": "pager", "c": "pager"}, [])


@pytest.mark.parametrize("is_late", [False, True])
@pytest.mark.parametrize("twice", range(4))
def test_what_another_list_has_too_counts_for_a_list_and_once_for_the_catalogue(tmp_path, twice, is_late):
    def more(self, walk):
        return {"total": len({each for page in self.lists[walk.name] for each in page})}

    done = several(
        tmp_path, {"a": [["1", "2"], ["3"]], "b": [["2", "3", "4"]]}, twice=twice, is_late=is_late, more=more
    )
    assert (set(done.ids()), done.evidence, done.errors) == (set("1234"), {"a": "total", "b": "total"}, [])
    assert done.spider.run_state.listed == 4


def test_a_printed_number_counts_what_another_list_has_too(tmp_path):
    shared = {"a": [["1", "2"], ["3"]], "b": [["2", "3"], ["4"]]}
    done = several(tmp_path, shared, more=lambda self, walk: {"printed": 3})
    assert (done.evidence, done.errors) == ({"a": "pager", "b": "pager"}, [])
    done = several(tmp_path, shared, more=lambda self, walk: {"printed": 4 if walk.name == "b" else 3})
    assert done.kinds() == {"count_mismatch": 1}


def test_a_limit_is_the_catalogue_s(tmp_path):
    done = several(tmp_path, {"a": [["1", "2"]], "b": [["3", "4"]], "c": [["5", "6"]]}, {"max_datasets": "3"})
    assert (done.ids(), done.spider.run_state.is_limited) == (list("123"), True)


@dataclass(frozen=True)
class File:
    """A file of a tree: the records in it, the files and others that it names; "!" breaks it, "-" is not there."""

    records: str = ""
    names: str = ""
    left: str = ""


class Files(Several):
    traits = Traits(way="single", is_one_list=False, tree="files")
    lists: ClassVar[dict[str, File]] = {}

    def read(self, response, walk):
        file = self.lists[walk.name]
        if "!" in file.records:
            raise AnswerError("truncated", "it broke off")
        offers = [Offer("walk", name, Ask(address=name)) for name in file.names]
        offers += [Offer("left", name, why_not="is outside") for name in file.left]
        lost, entries = file.records.count("?"), [Entry(each, each) for each in file.records if each != "?"]
        return ListingPage(entries=entries, offers=offers, lost=lost)

    def ending(self, fault, walk):
        return ListingPage(lost=1) if "-" in self.lists[walk.name].records else None


TREE = {"a": File("1", names="bc"), "b": File("2", names="cda"), "c": File("3"), "d": File()}


@pytest.mark.parametrize("twice", range(6))
def test_the_files_of_a_tree_are_read_once_and_told_as_one(tmp_path, twice):
    done = tree(tmp_path, {}, twice=twice)
    assert (done.ids(), done.evidence, done.errors) == (list("123"), {"files": "file"}, [])
    assert (done.judged, done.spider.run_state.walks.lists) == (("complete", 3, 3), {"files": "ended"})
    assert len(done.asked) == 4
    assert done.spider.run_state.is_whole_listing


def tree(tmp_path, changes, limits=None, twice=0):
    members = {name: value for name, value in vars(Files).items() if not name.startswith("_") and name != "lists"}
    return several(tmp_path, TREE | changes, limits, twice, **members)


@pytest.mark.parametrize(
    ("changes", "evidence", "judged", "told"),
    [
        ({"c": File("!")}, {}, ("incomplete", None, 2), ["it broke off"]),
        ({"c": File("3?")}, {"files": "file"}, ("incomplete", 4, 3), []),
        ({"c": File("-!")}, {"files": "file"}, ("incomplete", 3, 2), ["it broke off"]),
        (
            {"c": File("3", left="x"), "b": File("2", left="yz")},
            {},
            ("incomplete", None, 3),
            ["the server listed 3 datasets, and names 3 addresses that were not followed, such as x: they lie outside"],
        ),
        (
            {"c": File("!", left="x"), "b": File("2", left="y")},
            {},
            ("incomplete", None, 2),
            ["it broke", "1 addresses"],
        ),
    ],
)
def test_what_is_seen_of_a_tree(tmp_path, changes, evidence, judged, told):
    done = tree(tmp_path, changes)
    assert (done.evidence, done.judged) == (evidence, judged)
    assert all(says in error.error for says, error in zip(told, done.errors, strict=True)), done.errors
    assert all("end" in state for state in done.spider.run_state.walks.lists.values())


def test_what_is_lost_with_a_file_is_no_part_of_the_list(tmp_path):
    [error] = tree(tmp_path, {"c": File("-!")}).errors
    assert (error.stage, error.kind) == ("fetch", "truncated")


def test_a_limit_ends_a_tree(tmp_path):
    done = tree(tmp_path, {}, {"max_datasets": "1"})
    assert (done.ids(), done.judged, done.spider.run_state.walks.lists) == (
        ["1"],
        ("partial", None, 1),
        {"files": "ended"},
    )


def test_a_tree_goes_on_if_a_file_does(tmp_path):
    """After a kill the same request may bring another answer, or one that breaks off."""
    crawler = get_crawler(None, {"JOBDIR": str(tmp_path)})
    crawler.spider = SimpleNamespace(name="x")
    walks = Walks(crawler)
    assert (walks.begin("a", "tree"), walks.begin("a", "tree"), [*walks.waiting("tree")]) == (True, False, ["a"])
    walks.end("a", "whole", evidence="file", total=3, listed=1)
    assert ([*walks.waiting("tree")], [*walks.waiting()], walks.lacking) == ([], ["tree"], 2)
    for goes_on in (lambda: walks.go_on("a", "tree"), lambda: walks.begin("b", "tree")):
        walks.end("tree", "whole", evidence="file", listed=1)
        assert (walks.lists, walks.evidence) == ({"tree": "ended"}, {"tree": "file"})
        goes_on()
        assert (walks.lists, walks.evidence) == ({"tree": "begun"}, {})
    assert (Walks(crawler).lists, [*walks.waiting("tree")]) == ({"tree": "begun"}, ["a", "b"])
    walks.job.db.close()


def test_the_answer_of_a_session_that_was_replaced_is_dropped(tmp_path):
    done = several(tmp_path, {"a": [["1"]], "b": [["2"]]}, is_current=lambda self, walk: walk.name != "b")
    assert (done.ids(), done.spider.run_state.walks.lists) == (["1"], {"a": "ended", "b": "begun"})


def test_a_page_that_a_browser_never_turned_is_judged_with_the_single_ones(tmp_path):
    """It is whole where it is shorter than the first page of a list that was turned."""
    turns = {"a": lambda walk: min(walk.ask.at, 1), "b": lambda walk: 0, "c": lambda walk: 0}
    grown = ["1", "2", "3"]
    lists = {"a": [["1", "2"], grown, grown], "b": [["4"], ["4"]], "c": [["5", "6"], ["5", "6"]]}
    traits = Traits(way="turn", is_one_list=False, judges_single_pages_last=True)
    done = several(tmp_path, lists, traits=traits, more=lambda self, walk: {"turns": turns[walk.name](walk)})
    assert done.evidence == {"a": "pager", "b": "pager"}
    assert [error.error.partition(" listed")[0] for error in done.errors] == ["c"]


def test_a_list_that_was_not_whole_may_lead_to_another(tmp_path):
    def short(self, walk):
        yield Walk(ask=Ask(), name="b")

    done = several(tmp_path, {"a": [["1"]], "b": [["2"], ["3"]]}, first=first_broken, short=short)
    assert (done.ids(), done.kinds(), done.evidence) == (["2", "3"], {"truncated": 1}, {"b": "pager"})


def first_broken(self):
    return Walk(ask=Ask(address="a", at=99), name="a")


# What was tried to break it


class Wrapping(Server):
    """It goes on from the beginning behind its end."""

    def page(self, asked):
        at, rows = int(asked["at"]) % len(self.ids), min(int(asked["rows"]), self.cap)
        return {"ids": self.ids[at : at + rows], "total": self.says}


@pytest.mark.parametrize("says", [35, 2000])
def test_a_server_that_wraps_has_an_end_in_a_further_look_too(tmp_path, says):
    done = listed(tmp_path, Wrapping(ids=names(30), says=says))
    assert (len(done.items), done.evidence, done.kinds()) == (30, {}, {"paging": 1})
    assert len(done.asked) < 14


def test_a_small_page_after_a_fault_is_no_short_one(tmp_path):
    server = Server(ids=names(41), faults={3: 500})
    done = listed(tmp_path, server, ladder=(Smaller((5, 1)),))
    assert (done.ids(), done.errors) == (server.ids, [])


@pytest.mark.parametrize(
    ("server", "limit", "traits"),
    [
        (Server(ids=names(35), says=20), 25, {}),
        (Server(ids=names(60), says=30, cap=30), 30, {"windows": (30,)}),
        (Server(ids=names(35), says=10, way="stated"), 10, {"way": "stated", "total": "hint"}),
    ],
)
def test_a_limit_leaves_something_out_where_the_total_may_be_too_small(tmp_path, server, limit, traits):
    done = listed(tmp_path, server, {"max_datasets": str(limit)}, traits=Traits(**{"way": "place"} | traits))
    assert (len(done.items), done.spider.run_state.is_limited) == (limit, True)


@pytest.mark.parametrize(("says", "fault", "number"), [(20, 500, 3), (1000, 400, 11)])
def test_what_fails_behind_a_total_that_is_doubtful_proves_nothing(tmp_path, says, fault, number):
    server = Server(ids=names(1500), says=says, cap=10 if says == 20 else 100, faults={number: fault})
    done = listed(tmp_path, server, ladder=())
    assert (len(done.items), done.evidence, done.kinds()) == (says, {}, {"http": 1})


def test_a_negative_total_is_none(tmp_path):
    done = listed(tmp_path, Server(ids=names(7), says=-5))
    assert (done.evidence, done.errors) == ({"datasets": "pager"}, [])


def test_records_without_an_id_are_told_apart_in_a_page(tmp_path):
    def read(self, response, walk):
        page = Numbers.read(self, response, walk)
        page.entries = [Entry(None, entry.id) for entry in page.entries]
        return page

    def items(self, response, entry, *_):
        yield Dataset(id=entry.record, title=entry.record, source="x", document={})

    done = listed(tmp_path, Server(ids=names(29), way="stated"), read=read, items=items, **stated())
    assert (len(done.items), done.evidence) == (29, {"datasets": "pager"})


@pytest.mark.parametrize("limits", [{}, {"max_datasets": "2"}])
@pytest.mark.parametrize("ids", [["a", "a", "b"], ["a", "b", "a"], ["a\0", "a\0", "b"], ["a\0", "a", "a\0"]])
def test_what_a_page_has_twice_is_taken_once(tmp_path, ids, limits):
    """NUL ends a text in SQLite's JSON: such an id is noted by itself."""
    done = listed(tmp_path, Server(ids=ids, way="stated"), limits, **stated())
    assert [item.id for item in done.items] == [*dict.fromkeys(ids)]


def test_a_record_without_an_id_is_known_by_its_content_in_whatever_order(tmp_path):
    def read(self, response, walk):
        page = Numbers.read(self, response, walk)
        record = {"a": 1, "b": 2} if walk.pages else {"b": 2, "a": 1}
        return replaced(page, entries=[Entry(None, record)])

    def items(self, response, entry, *_):
        yield Dataset(id="x", title=str(entry.record), source="x", document={})

    done = listed(tmp_path, Server(ids=names(20), way="stated"), read=read, items=items, **stated())
    assert (len(done.asked), len(done.items)) == (2, 1)


def test_a_part_that_repeats_itself_is_told_and_the_next_one_is_read(tmp_path):
    class Clamped(Server):
        def page(self, asked):
            found = [name for name in self.ids if asked["since"] <= name < asked["until"]]
            at = min(int(asked["at"]), 10)
            return {"ids": found[at : at + 10]}

    def first(self):
        return Walk(ask=Ask(), rows=10, most=10, parts=(("n00000", "n00030"), ("n00030", "n00060")))

    done = listed(tmp_path, Clamped(ids=names(60)), first=first)
    assert (len(done.items), done.evidence) == (40, {})
    assert done.kinds()["paging"] >= 1


@pytest.mark.parametrize("length", [3, 4])
def test_a_single_page_is_as_long_as_what_it_shows(tmp_path, length):
    """One of its datasets is on another list, too: that makes it no shorter."""
    lists = {"a": [[*"1234"], ["5"]], "b": [["3", "6", "7", "8"][:length]]}
    done = several(tmp_path, lists)
    assert ("b" in done.evidence) is (length == 3)


def test_a_list_that_goes_on_after_a_kill_is_open_again(tmp_path):
    crawler = get_crawler(None, {"JOBDIR": str(tmp_path)})
    crawler.spider = SimpleNamespace(name="x")
    walks = Walks(crawler)
    walks.begin("one")
    walks.end("one", "whole", evidence="file", listed=1)
    walks.go_on("one")
    walks.go_on("two")
    assert (walks.evidence, walks.lists) == ({}, {"one": "begun"})
    assert Walks(crawler).lists == {"one": "begun"}
    walks.end("one", "short")
    assert walks.is_short
    walks.job.db.close()


@pytest.mark.parametrize("cap", [7, 12, 24, 64])
def test_a_server_that_caps_its_first_page_is_asked_for_more(tmp_path, cap):
    server = Server(ids=names(100), cap=cap)
    done = listed(tmp_path, server)
    assert (done.ids(), done.evidence) == (server.ids, {"datasets": "pager"})


def test_one_cut_record_makes_no_later_page_small(tmp_path):
    server = Server(ids=names(400), says=400, cap=100, broken={77})
    done = listed(tmp_path, server, ladder=LADDER)
    assert (len(done.items), done.kinds()["refused"]) == (399, 1)
    assert len(done.asked) < 30


def test_pages_that_count_themselves_answer_one_question(tmp_path):
    class Own(Server):
        def page(self, asked):
            found = super().page(asked)
            return found | {"total": len(found["ids"])}

    def read(self, response, walk):
        return replaced(Numbers.read(self, response, walk), is_open=True)

    done = listed(tmp_path, Own(ids=names(172), cap=50), read=read, traits=Traits(way="place", total="hint"))
    assert (len(done.items), done.kinds()) == (172, {})


def test_a_first_page_that_has_more_than_was_asked_for_and_comes_again_is_all(tmp_path):
    class All(Server):
        def page(self, asked):
            return {"ids": self.ids}

    done = listed(tmp_path, All(ids=names(126)))
    assert (len(done.items), done.evidence) == (126, {"datasets": "file"})


def test_a_part_of_records_is_a_page(tmp_path):
    """As PostgREST answers: the range is of records, not of bytes."""
    headers = {"Content-Range": "0-1/2"}
    answers = lambda request: TextResponse(request.url, status=206, headers=headers, body=b'{"ids": ["a", "b"]}')  # noqa: E731
    done = listed(tmp_path, answers, **stated())
    assert (len(done.items), done.errors) == (2, [])
