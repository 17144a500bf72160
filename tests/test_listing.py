"""What every listing stands on, piece by piece: limits, state, withdrawals, pages. No crawl, no network."""

from __future__ import annotations

import asyncio
import json
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace

import pytest
from scrapy import Request
from scrapy.http import TextResponse
from scrapy.utils.test import get_crawler

from crawlers import signals
from crawlers.arguments import Argument
from crawlers.components.ledger import Job
from crawlers.exceptions import AnswerError
from crawlers.kinds.html.spider import HTML
from crawlers.listing import confirmation, since, withdrawals
from crawlers.listing.confirmation import Confirmation, Fate, GoneRecords
from crawlers.listing.crawl import Limits, RunState, stat
from crawlers.listing.dialect import Dialect, Traits
from crawlers.listing.lister import Lister
from crawlers.listing.spider import CatalogueSpider
from crawlers.listing.walk import Entry, ListingPage, Walk

URL = "https://example.org/api"


class Numbers(CatalogueSpider):
    name = "numbers"
    portal: str | None = None
    arguments = CatalogueSpider.arguments | {"since": Argument(help="Only what changed.", parse=since.since)}


@pytest.fixture
def spiders():
    """Makes spiders, each with a ledger of its own and the errors it reports."""
    made = []

    def make(folder=None, days=7, **given):
        settings = {"SHRINK_LIMIT": 0.02, "CONFIRM_MAX": 1000, "FULL_LISTING_DAYS": days}
        chosen = [name for name in given if name.startswith("setting_")]
        settings |= {name.removeprefix("setting_"): given.pop(name) for name in chosen}
        crawler = get_crawler(Numbers, settings | ({"JOBDIR": str(folder)} if folder else {}))
        spider = crawler.spider = Numbers.from_crawler(crawler, **given)
        spider.errors, spider.gone = [], []
        spider.note = lambda failed: spider.errors.append((failed.stage, failed.kind, failed.error))
        spider.mark = lambda dataset_id, reason: spider.gone.append((dataset_id, reason))
        crawler.signals.connect(spider.note, signal=signals.record_failed)
        crawler.signals.connect(spider.mark, signal=signals.dataset_withdrawn)
        made.append(crawler)
        return spider

    yield make
    for crawler in made:
        Job.from_crawler(crawler).db.close()


def test_the_source_is_the_users_name_or_the_spiders_or_the_host(spiders):
    assert spiders().source == "numbers"
    assert spiders(source="mine").source == "mine"
    spider = spiders()
    spider.portal = "https://Data.example.org:8000/"
    assert spider.source == "data.example.org", "for a spider of any catalogue"


def test_the_place_of_a_catalogue_is_its_address(spiders):
    spider = spiders()
    assert spider.place == ""
    spider.portal = URL
    assert spider.place == URL
    rules = Path(__file__).parent.parent / "catalogues" / "example.toml"
    assert HTML(rules=str(rules)).place == "https://data.example.org/datasets", "not the path of its rules"


# Limits


@pytest.mark.parametrize(
    ("limits", "taken", "left"),
    [
        (Limits(), (9, 9), "many"),
        (Limits(datasets=3), (2, 50), "many"),
        (Limits(datasets=3), (3, 0), 0),
        (Limits(resources=5), (1, 4), 1),
        (Limits(resources=5), (1, 5), 0),
        (Limits(datasets=3, resources=5), (2, 1), 4),
        (Limits(datasets=3, resources=5), (3, 1), 0),
    ],
)
def test_what_a_limit_leaves(limits, taken, left):
    found = limits.resources_left(datasets=taken[0], resources=taken[1])
    assert found > 10**9 if left == "many" else found == left
    assert limits.is_reached(datasets=taken[0], resources=taken[1]) is (left == 0)
    assert limits.is_set is (limits != Limits())


def test_no_more_rows_are_requested_than_wanted():
    assert [Limits(datasets=7).rows(5, listed) for listed in (0, 4)] == [5, 3]
    assert Limits(resources=1).rows(1000, 4) == 1000


# The state


def test_the_state_outlives_the_process(spiders, tmp_path):
    first = spiders(tmp_path)
    state = first.run_state
    state.expected, state.is_limited, state.access = 7, True, "accepted"
    state.count_listed(5)
    state.count_listed(3)
    first.run_state.walks.begin("datasets")
    Job.from_crawler(first.crawler).commit()
    Job.from_crawler(first.crawler).db.close()
    again = spiders(tmp_path)
    assert vars(again.run_state) == vars(state)
    assert (again.run_state.listed, again.run_state.walks.lists) == (5, {"datasets": "begun"})
    assert again.crawler.stats.get_value("catalogue/token") == "accepted"


def test_the_state_is_published_as_stats(spiders):
    spider = spiders()
    spider.run_state.has_stale_answer = True
    spider.run_state.expected = None
    stats = spider.crawler.stats.get_stats()
    assert (stats["catalogue/provisional"], stats["catalogue/expected"]) == (True, None)
    assert {"catalogue/limited", "catalogue/whole_listing"} <= {stat(name) for name in vars(RunState())}


# Withdrawals


def index(known, last, folder=None, status="new"):
    """Return an index of datasets with the moments they were seen, and of the last whole listing."""
    found = {name: SimpleNamespace(seen=seen, status=status, metadata_url=None) for name, seen in known.items()}
    get, title = lambda _kind, name, _: found.get(name), lambda name: f"Title of {name}"
    held = lambda _: (SimpleNamespace(dataset_id=name) for name in found)  # noqa: E731
    documents = SimpleNamespace(get=get, title=title, held=held, differing={})
    return SimpleNamespace(documents=documents, runs=SimpleNamespace(last_complete=lambda _: last), folder=folder)


@pytest.fixture
def night(spiders, tmp_path):
    """A run of a day whose whole listing lacks some of the datasets on disk."""

    def run(day, known, gone, *, seen=None, last="2026-10-31", errors=None, is_killed=False, **settings):
        spider = spiders(**{f"setting_{name}": value for name, value in settings.items()})
        spider.records.job.state |= {"run": f"{day.replace('-', '')}T060000Z", "started": f"{day}T06:00:00.000Z"}
        moments = {name: (seen or {}).get(name, f"{day}T06:00:00.000Z") for name in known}
        spider.opened_index = lambda: index(moments, last, tmp_path)
        for name in sorted(set(known) - set(gone)):
            spider.expect("dataset", name, listed_by=None)
        spider.withdrawals.mark_missed_twice(known)
        if is_killed:
            return spider
        kinds = dict.fromkeys([kind for _, kind, _ in spider.errors], 1) | dict.fromkeys(errors or (), 1)
        report = {"started": f"{day}T06:00:00.000Z", "errors": kinds, "finish_reason": "finished"}
        spider.crawler.signals.send_catch_log(signals.run_ended, report=report, folder=tmp_path)
        return spider

    return run


def names(count, letter="a"):
    return [f"{letter}{number:03}" for number in range(count)]


@pytest.mark.parametrize(
    ("gone", "known", "most", "follows"),
    [
        (0, 100, None, "believed"),
        (2, 100, None, "believed"),
        (3, 100, None, "believed"),  # at most three, and at most a tenth
        (1, 10, None, "believed"),
        (1, 9, None, "wait"),
        (3, 29, None, "wait"),
        (4, 100, None, "wait"),
        (50, 100, None, "wait"),
        (51, 100, None, "refused"),
        (1, 1, None, "refused"),
        (3, 100, 1000, "ask"),
        (100, 100, 1000, "ask"),
        (1000, 1200, 1000, "ask"),
        (1001, 1200, 1000, "refused"),
        (1001, 100_000, 1000, "ask"),  # within SHRINK_LIMIT
    ],
)
def test_how_much_of_a_catalogue_may_be_gone(gone, known, most, follows):
    assert withdrawals.decision(gone, known, limit=0.02, confirm_max=most) == follows


def test_a_few_listed_datasets_are_the_controls(spiders):
    spider = spiders()
    for _ in spider.withdrawals.compare(["a", *names(10, "b"), "c"], lambda _: names(10, "b")):
        pass
    found = spider.withdrawals
    assert (found.controls, found.gone, found.known, found.renamed) == (names(4, "b"), 2, 12, 0)
    assert list(found.ids()) == ["a", "c"]


def test_two_whole_listings_must_lack_a_dataset(night):
    seen = {"old": "2026-11-01", "new": "2026-11-09"}
    spider = night("2026-11-09", [*names(200), *seen], seen, seen=seen, last="2026-11-08")
    assert (spider.gone, spider.run_state.is_whole_listing) == ([("old", "not found")], True)
    never = night("2026-11-09", [*names(200), *seen], seen, seen=seen, last=None)
    assert never.gone == [], "there was no whole listing before"


def test_a_dataset_that_a_killed_run_marked_is_marked_again(spiders):
    spider = spiders()
    spider.opened_index = lambda: index({"a": "2026-11-09"}, last="2026-11-08", status="withdrawn")
    assert spider.withdrawals.mark_if_missed_before("a", URL)


def test_what_is_too_much_is_refused_with_names_and_the_way_to_accept_it(night):
    spider = night("2026-11-20", names(20), names(12))
    [(stage, kind, error)] = spider.errors
    assert (stage, kind, spider.gone, spider.run_state.is_whole_listing) == ("list", "shrink", [], False)
    assert error == (
        "12 of 20 datasets are no longer listed (60.0%), more than SHRINK_LIMIT allows (2.0%): nothing is withdrawn. "
        f"They are {', '.join(f'Title of {name}' for name in names(10))} and 2 more. "
        "If these are gone indeed, accept this list, once: -s ACCEPT_SHRINK=20261120T060000Z"
    )


def test_a_job_that_is_finished_can_not_accept_a_list(night, tmp_path):
    [(_, _, error)] = night("2026-11-20", names(20), names(12), JOBDIR=str(tmp_path / "job")).errors
    assert error.endswith("-s ACCEPT_SHRINK=20261120T060000Z (scrapy crawl needs another JOBDIR for it)")


def test_a_refused_list_is_accepted_once_and_no_other(night):
    night("2026-11-20", names(20), names(12))
    other = night("2026-11-21", names(20), names(13), ACCEPT_SHRINK="20261120T060000Z")
    assert (other.gone, [kind for _, kind, _ in other.errors]) == ([], ["shrink"])
    assert "ACCEPT_SHRINK=20261120T060000Z accepts another list, or none" in other.errors[0][2]
    same = night("2026-11-22", names(20), names(12), ACCEPT_SHRINK="20261120T060000Z")
    assert (same.gone, same.errors) == ([(name, "not found") for name in names(12)], [])
    assert same.run_state.is_whole_listing
    again = night("2026-11-23", names(20), names(12), ACCEPT_SHRINK="20261120T060000Z")
    assert (again.gone, [kind for _, kind, _ in again.errors]) == ([], ["shrink"]), "they came back, and went again"
    last = night("2026-11-24", names(20), names(13), ACCEPT_SHRINK="20261121T060000Z")
    assert len(last.gone) == 13, "each night's list has its name"


def test_what_a_kill_left_of_an_accepted_list_is_accepted_by_the_same_command(night):
    """And nothing else, once."""
    accepts = {"ACCEPT_SHRINK": "20261120T060000Z"}
    night("2026-11-20", names(400), names(300))
    night("2026-11-21", names(400), names(300), **accepts, is_killed=True)
    other = night("2026-11-21", names(400)[100:], [*names(300)[100:], "a399"], **accepts)
    assert (other.gone, [kind for _, kind, _ in other.errors]) == ([], ["shrink"]), "100 are marked, and one more went"
    night("2026-11-21", names(400)[100:], names(300)[100:], **accepts, is_killed=True)
    rest = night("2026-11-21", names(400)[299:], names(300)[299:], **accepts)
    assert (rest.gone, rest.errors) == ([("a299", "not found")], []), "although so few must be lacked twice"
    again = night("2026-11-22", names(400), names(300)[100:], **accepts)
    assert (again.gone, [kind for _, kind, _ in again.errors]) == ([], ["shrink"]), "they came back, and went again"


def test_what_whole_listings_on_three_days_lack_is_believed(night, tmp_path):
    known, gone = names(100), names(10)
    seen = dict.fromkeys(gone, "2026-11-01T06:00:00.000Z")
    for day in ("2026-11-02", "2026-11-03", "2026-11-03"):
        spider = night(day, known, gone, seen=seen)
        assert (spider.gone, [kind for _, kind, _ in spider.errors]) == ([], ["shrink"]), day
        assert "; what whole listings on 3 days lack is believed: nothing" in spider.errors[0][2]
    moments = json.loads((tmp_path / "memory.json").read_bytes())["listings that lacked too much"]
    assert [[moment[:10] for moment in one] for one in moments.values()] == [["2026-11-02", "2026-11-03"]]
    third = night("2026-11-05", known, gone, seen=seen)
    assert (third.gone, third.errors) == ([(name, "not found") for name in gone], [])
    assert third.run_state.is_whole_listing
    assert "listings that lacked too much" not in json.loads((tmp_path / "memory.json").read_bytes())


def test_a_day_counts_that_another_process_ends(spiders, tmp_path):
    """The one that judged the listing was killed behind it."""
    known = dict.fromkeys(names(100), "2026-11-01")
    first, again = (spiders(tmp_path / "job") for _ in range(2))
    first.records.job.state |= {"started": "2026-11-02T06:00:00.000Z"}
    first.opened_index = again.opened_index = lambda: index(known, last="2026-11-01", folder=tmp_path)
    for name in sorted(known.keys() - set(names(10))):
        first.expect("dataset", name, listed_by=None)
    first.withdrawals.mark_missed_twice(known)
    Job.from_crawler(first.crawler).commit()
    Job.from_crawler(first.crawler).db.close()
    report = {"started": "2026-11-02T06:00:00.000Z", "errors": {"shrink": 1}, "finish_reason": "finished"}
    again.crawler.signals.send_catch_log(signals.run_ended, report=report, folder=tmp_path)
    [days] = json.loads((tmp_path / "memory.json").read_bytes())["listings that lacked too much"].values()
    assert days == ["2026-11-02T06:00:00.000Z"]


def test_only_what_each_of_the_three_lacks_is_believed(night):
    known = names(100)
    seen = dict.fromkeys(names(10), "2026-11-01T06:00:00.000Z")
    for day in ("2026-11-02", "2026-11-03"):
        night(day, known, names(10), seen=seen)
    back = seen | dict.fromkeys(names(4), "2026-11-02T06:00:00.000Z")
    third = night("2026-11-04", known, names(10), seen=back)
    assert [name for name, _ in third.gone] == names(10)[4:], "four were there on the first of the three days"
    assert "4 of 100" not in third.errors[0][2] if third.errors else True


def test_what_a_portal_leaves_open_is_judged_after_a_kill_as_before(spiders, tmp_path):
    """The process that compared the listing with the disk is gone."""
    known = dict.fromkeys(names(100), "2026-11-09")
    first = spiders(tmp_path / "job")
    first.opened_index = lambda: index(known, last="2026-11-10", folder=tmp_path)
    for _ in first.withdrawals.compare(known, lambda ids: [name for name in ids if name not in names(30)]):
        pass
    assert first.withdrawals.is_to_ask(has_control=True)
    for name in names(5):
        first.seen(name, list_name="open", listed_by=None)
    Job.from_crawler(first.crawler).commit()
    Job.from_crawler(first.crawler).db.close()
    again = spiders(tmp_path / "job")
    again.opened_index = lambda: index(known, last="2026-11-10", folder=tmp_path)
    assert not again.withdrawals.by_listings("open")
    assert "5 of 100 datasets are no longer listed (5.0%)" in again.errors[0][2]


@pytest.mark.parametrize("errors", [["http"], ["unaccounted", "shrink"]])
def test_a_listing_with_another_fault_does_not_count(night, errors):
    seen = dict.fromkeys(names(10), "2026-11-01T06:00:00.000Z")
    night("2026-11-02", names(100), names(10), seen=seen, errors=errors)
    night("2026-11-03", names(100), names(10), seen=seen)
    third = night("2026-11-04", names(100), names(10), seen=seen)
    assert (third.gone, [kind for _, kind, _ in third.errors]) == ([], ["shrink"])


def test_more_than_half_is_never_believed_without_a_person(night):
    seen = dict.fromkeys(names(51), "2026-11-01T06:00:00.000Z")
    for day in ("2026-11-02", "2026-11-03", "2026-11-04", "2026-11-05"):
        spider = night(day, names(100), names(51), seen=seen)
        assert (spider.gone, [kind for _, kind, _ in spider.errors]) == ([], ["shrink"])
        assert "3 days" not in spider.errors[0][2]


UNREMEMBERED = (
    "It can't be accepted: memory.json can't be written (No space left on device). Mend that, and crawl again"
)


def test_a_memory_that_can_not_be_written_ends_no_crawl(night, tmp_path, monkeypatch):
    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(withdrawals.folder, "remember", full)
    [(_, kind, error)] = night("2026-11-02", names(20), names(12)).errors
    assert (kind, error.endswith(UNREMEMBERED)) == ("shrink", True)


@pytest.mark.parametrize("value", [[1, 2], 5, "abc", {"a": 1}, [["a"], ["b"]], [None, "x"], ["9999"]], ids=repr)
def test_a_memory_with_other_values_only_knows_less(night, asked, tmp_path, value):
    accepts = {"ACCEPT_SHRINK": "20261101T060000Z"}
    night("2026-11-01", names(40), names(4))
    [scope] = json.loads((tmp_path / "memory.json").read_bytes())["listings that lacked too much"]
    for inner in (value, {scope: value, "20261101T060000Z": value}):
        remembered = ("listings that lacked too much", "withdrawals being accepted", "given by their own address")
        (tmp_path / "memory.json").write_text(json.dumps(dict.fromkeys((*remembered, "refused withdrawals"), inner)))
        seen = dict.fromkeys(names(4), "2026-10-01T06:00:00.000Z")
        done = night("2026-11-02", names(40), names(4), seen=seen, **accepts)
        assert [kind for _, kind, _ in done.errors] == ["shrink"]
    assert [kind for _, kind, _ in asked(names(40), names(4), lambda *_: 503, **accepts).errors] == ["shrink"]


def test_what_is_not_confirmed_is_reported(spiders):
    spider = spiders()
    left_open = Confirmation.left_open
    left_open(SimpleNamespace(crawl=spider, by="its page"), "a", AnswerError("timeout", "it took too long"), None, None)
    message = "the dataset is no longer listed, and its page does not say that it is gone: it took too long"
    assert spider.errors == [("fetch", "timeout", message)]


# What the portal is asked


class Asking(GoneRecords):
    """Asks a portal whose answers are HTTP statuses: 404 is gone, 200 is there, any other says nothing."""

    def question(self, dataset_id, about):
        return Request(f"{URL}/{dataset_id}", meta={"id": dataset_id})

    def fate(self, response, dataset_id, about):
        if response.status not in (200, 404):
            raise AnswerError("http", f"HTTP {response.status}")
        return Fate("not found" if response.status == 404 else None)


@pytest.fixture
def asked(spiders, tmp_path):
    """A run whose whole listing lacks some of the datasets on disk, which are asked for; ``asked`` has the requests."""

    def run(known, gone, status, *, seen="2026-11-09", **settings):
        spider = spiders(**{f"setting_{name}": value for name, value in settings.items()})
        moments = dict.fromkeys(known, seen)
        spider.opened_index = lambda: index(moments, last="2026-11-10", folder=tmp_path)
        for name in sorted(set(known) - set(gone)):
            spider.expect("dataset", name, listed_by=None)
        spider.asked, waiting = [], list(filter(None, Asking(spider, spider.withdrawals).find()))
        while waiting:
            request = waiting.pop(0)
            spider.asked.append(request)
            found = TextResponse(request.url, status(request.meta["id"], len(spider.asked)), request=request)
            waiting += asyncio.run(everything(request.callback(found, **request.cb_kwargs)))
        spider.names = [request.meta["id"] for request in spider.asked]
        return spider

    return run


async def everything(output):
    return [found async for found in output]


def test_what_was_given_by_its_own_address_is_gone_only_by_the_portals_word(asked):
    """Its listings decided when its single addresses were down, a night later."""
    known = names(200)
    there = asked(known, known[-2:], lambda *_: 200)
    assert (there.gone, there.errors, there.run_state.is_whole_listing) == ([], [], True)
    for _ in range(2):
        down = asked(known, known[-2:], lambda *_: 503)
        assert (down.gone, down.errors, down.run_state.is_whole_listing) == ([], [], True)
    more = asked(known, known[-3:], lambda *_: 503)
    assert (more.gone, [kind for _, kind, _ in more.errors]) == ([], ["shrink"])
    assert "1 of 200 datasets are no longer listed (0.5%), and the portal does not answer for a" in more.errors[0][2]
    silent = asked(known, known[-2:], lambda name, _: 503 if name == known[-1] else 404 if name == known[-2] else 200)
    assert (silent.gone, silent.errors) == ([(known[-2], "not found")], []), "of the last one, it says nothing"
    last = asked(known, known[-1:], lambda name, _: 404 if name == known[-1] else 200)
    assert (last.gone, last.errors) == ([(known[-1], "not found")], [])


def test_what_was_given_before_is_still_known_if_the_portal_closes_while_it_is_asked(asked, monkeypatch):
    """What it said before is not believed without a control; the last one belongs to a part that was not asked for."""
    monkeypatch.setattr(confirmation, "PART", 2)
    known = names(200)
    there = asked(known, known[-4:], lambda *_: 200)
    assert there.withdrawals.recall(GoneRecords._GIVEN) == known[-4:]
    cut = asked(known, known[-3:], lambda name, at: 503 if at > 3 else 404 if name == known[-3] else 200)
    assert (cut.gone, cut.names[:3]) == ([], [known[0], known[-3], known[-2]]), "a control, and the first part"
    assert cut.withdrawals.recall(GoneRecords._GIVEN) == known[-3:], "but for what is listed again"


def test_where_no_single_address_ever_answered_the_listings_decide(asked):
    known = names(200)
    assert asked(known, known[-2:], lambda *_: 503).gone == [(name, "not found") for name in known[-2:]]


def test_what_a_cache_answers_is_no_control(asked):
    """The portal was throttled behind the first control, which a cache gave again."""
    known = names(100)
    done = asked(known, known[70:], lambda name, _: 200 if name == known[0] else 404)
    assert (done.gone, len(done.errors)) == ([], 1)
    assert "afterwards the portal does not give one either that it lists" in done.errors[0][2]
    assert {request.headers[b"Cache-Control"] for request in done.asked} == {b"no-cache"}


def test_a_control_that_is_listed_and_not_there_stands_for_no_other(asked):
    """A stale entry of the search index kept all that was gone."""
    known, stale = names(100), names(3)
    done = asked(known, known[97:], lambda name, _: 404 if name in (stale[0], stale[2], *known[97:]) else 200)
    assert (done.gone, done.errors) == ([(name, "not found") for name in known[97:]], [])
    assert done.names == ["a000", "a001", *known[97:], "a002", "a003"], "one is there, and another one"
    closed = asked(known, known[97:], lambda *_: 404)
    assert (closed.gone, closed.names) == ([], names(4)), "a few are tried"


def test_a_catalogue_that_lists_one_dataset_is_controlled_by_it(asked):
    done = asked(["a", "b"], ["b"], lambda name, _: 404 if name == "b" else 200)
    assert (done.gone, done.names) == ([("b", "not found")], ["a", "b", "a"])


# Only what changed


@pytest.mark.parametrize(
    ("full", "days", "is_due"),
    [
        ("2026-11-08T00:00:00Z", 7, False),
        ("2026-11-01T00:00:00Z", 7, False),
        ("2026-10-31T23:59:59Z", 7, True),
        ("2026-11-09T00:00:00Z", 7, True),
        ("2026-11-06T00:00:00Z", 1, True),
        ("2026-11-06T00:00:00Z", 0, False),
        (None, 7, True),
        (None, 0, False),
    ],
)
def test_a_whole_listing_is_due_now_and_then(monkeypatch, spiders, full, days, is_due):
    """One in the future came from a wrong clock."""
    monkeypatch.setattr(since, "now", lambda _: "2026-11-08T00:00:00Z")
    spider = spiders(days=days)
    spider.opened_index = lambda: index({}, last=full)
    reason = since.why_everything(spider, "2026-11-07T00:00:00Z")
    assert bool(reason) == is_due
    assert not is_due or (full or "There was no full listing")[:10] in reason


def test_what_since_builds_on_is_fixed_for_a_job(spiders):
    spider = spiders(days=0, since="last")
    spider.opened_index = lambda: index({}, last="2026-11-08T06:00:00Z")
    assert since.beginning(spider) == "2026-11-08T05:00:00Z"
    spider.opened_index = lambda: index({}, last="2026-11-09T06:00:00Z")
    assert since.beginning(spider) == "2026-11-08T05:00:00Z"
    never = spiders(since="last")
    never.opened_index = lambda: index({}, last=None)
    assert (since.beginning(never), never.run_state.since) == ("", "")


@pytest.mark.parametrize("given", ["2026-11-01T00:00:00Z", ""])
def test_since_a_moment_needs_no_crawl_before(spiders, given):
    spider = spiders(since=given) if given else spiders()
    assert (since.beginning(spider), spider.run_state.since) == (given, given)


# Pages


@dataclass(frozen=True, slots=True, kw_only=True)
class Offset:
    start: int = 0


class Numbered(Dialect[Offset]):
    """A listing of numbers, of which a page has so many."""

    asks = Offset

    def first(self):
        return Walk(ask=Offset())

    def request(self, walk):
        return Request(f"{URL}?start={walk.ask.start}")

    def read(self, response, walk):
        answer = json.loads(response.text)
        if "numbers" not in answer:
            raise AnswerError("refused", "it has no numbers")
        entries = [Entry(str(number), number, resources=2) for number in answer["numbers"]]
        following = Offset(start=walk.ask.start + len(entries)) if answer.get("more") else None
        return ListingPage(entries=entries, total=answer.get("total"), next=following)

    def items(self, response, entry, allowed, walk, position):
        yield entry.id, allowed, position

    def whole(self, walk):
        yield from ()  # there is no index here in which something could be withdrawn


def answer(spider, request, flags=(), **found):
    body = json.dumps(found).encode()
    response = TextResponse(request.url, body=body, request=request, encoding="utf-8", flags=[*flags])
    output = asyncio.run(gathered(spider.lister.answered(response, **request.cb_kwargs)))
    return [one for one in output if isinstance(one, Request)], [one for one in output if isinstance(one, tuple)]


async def gathered(outputs):
    return [one async for one in outputs]


@pytest.fixture
def numbered(spiders):
    def make(traits=None, **given):
        spider = spiders(**given)
        dialect = Numbered()
        dialect.traits = traits or Numbered.traits
        spider.lister = Lister(spider, dialect, spider.withdrawals)
        [first] = spider.lister.begin()
        return spider, first

    return make


def test_pages_are_followed_to_their_end(numbered):
    spider, first = numbered()
    (second,), items = answer(spider, first, numbers=[1, 2], more=True)
    assert (second.url, items) == (f"{URL}?start=2", [("1", 2, 0), ("2", 2, 1)])
    assert answer(spider, second, numbers=[2, 3]) == ([], [("3", 2, 0)]), "each record is taken once"
    state = spider.run_state
    assert (state.listed, state.expected, state.walks.evidence, spider.errors) == (3, 3, {"datasets": "pager"}, [])


@pytest.mark.parametrize(
    ("total", "kinds", "evidence"),
    [
        (4, [], {"datasets": "total"}),  # a pager that never ends, and a total that is met
        (5, ["paging"], {}),  # only known ids, and the total is not met
        (None, ["paging"], {}),
    ],
)
def test_a_pager_that_never_ends_is_believed_where_the_total_is_met(numbered, total, kinds, evidence):
    spider, first = numbered()
    (request,), _ = answer(spider, first, numbers=[1, 2], more=True, total=total)
    (request,), _ = answer(spider, request, numbers=[3, 4], more=True, total=total)
    (request,), _ = answer(spider, request, numbers=[3, 4], more=True, total=total)
    assert answer(spider, request, numbers=[3, 4], more=True, total=total) == ([], [])
    assert [kind for _, kind, _ in spider.errors] == kinds
    assert spider.run_state.walks.evidence == evidence


@pytest.mark.parametrize(
    ("numbers", "kind"), [([1, 2, 3], "unproven"), ([1, 2], "count_mismatch"), ([1, 2, 3, 4], None)]
)
def test_a_total_that_is_a_window_means_at_least(numbered, numbers, kind):
    spider, first = numbered(Traits(windows={3}))
    answer(spider, first, numbers=numbers, total=3)
    assert [found for _, found, _ in spider.errors] == ([kind] if kind else [])
    assert spider.run_state.walks.evidence == ({} if kind else {"datasets": "file"})


def test_the_same_page_after_a_kill_gives_the_same(numbered):
    spider, first = numbered()
    given = answer(spider, first, numbers=[1, 2], more=True)[1]
    assert answer(spider, first, numbers=[1, 2], more=True)[1] == given
    assert spider.run_state.listed == 2


@pytest.mark.parametrize(
    ("found", "evidence", "error"),
    [
        ({"numbers": [1, 2]}, {"datasets": "file"}, None),
        ({"numbers": [1, 2], "total": 2}, {"datasets": "total"}, None),
        ({"numbers": [1, 2], "total": 3}, {}, "count_mismatch"),
        ({"error": "no"}, {}, "refused"),
    ],
)
def test_the_end_is_judged(numbered, found, evidence, error):
    spider, first = numbered()
    answer(spider, first, **found)
    assert (spider.run_state.walks.evidence, [kind for _, kind, _ in spider.errors]) == (
        evidence,
        [error] if error else [],
    )
    assert spider.run_state.walks.lists == {"datasets": "ended"}


def test_pages_that_repeat_are_a_loop(numbered):
    spider, request = numbered()
    for _ in range(2):
        (request,), _ = answer(spider, request, numbers=[1], more=True)
    assert answer(spider, request, numbers=[1], more=True) == ([], [])
    assert spider.errors == [("list", "paging", "the catalogue gives the same pages again after 1 datasets")]
    assert not spider.run_state.walks.evidence


@pytest.mark.parametrize(
    ("given", "items", "is_limited"),
    [
        ({"max_datasets": "1"}, [("1", 2, 0)], True),
        ({"max_datasets": "2"}, [("1", 2, 0), ("2", 2, 1)], False),
        ({"max_resources": "3"}, [("1", 2, 0), ("2", 1, 1)], True),
        ({"max_resources": "4"}, [("1", 2, 0), ("2", 2, 1)], False),
    ],
)
def test_a_limit_ends_the_list(numbered, given, items, is_limited):
    spider, first = numbered(**given)
    assert answer(spider, first, numbers=[1, 2], total=2, more=True) == ([], items)
    assert (spider.run_state.is_limited, spider.run_state.walks.lists) == (is_limited, {"datasets": "ended"})


def test_a_single_resource_that_a_limit_leaves_is_worth_a_page(numbered):
    spider, first = numbered(max_resources="5")
    (second,), items = answer(spider, first, numbers=[1, 2], total=3, more=True)
    assert items == [("1", 2, 0), ("2", 2, 1)]
    assert answer(spider, second, numbers=[3], total=3) == ([], [("3", 1, 0)])
    assert spider.run_state.is_limited


def test_a_page_that_does_not_come_ends_the_list(numbered):
    spider, first = numbered()
    failure = SimpleNamespace(value=TimeoutError("slow"), request=first)
    asyncio.run(gathered(spider.lister.failed(failure)))
    assert [error[0] for error in spider.errors] == ["list"]
    assert spider.run_state.walks.lists == {"datasets": "ended"}


def test_an_answer_from_a_cache_is_noted(numbered):
    spider, first = numbered()
    answer(spider, first, flags=["cached"], numbers=[1])
    assert spider.run_state.has_stale_answer
