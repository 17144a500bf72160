"""The ledger by itself: what is planned, noticed and failed; what a queue gives back; how large its files get."""

from __future__ import annotations

import sqlite3
from pathlib import Path
from types import SimpleNamespace

import pytest
from scrapy import Request, Spider
from scrapy import signals as scrapy_signals
from scrapy.utils.test import get_crawler

from crawlers import signals
from crawlers.components.ledger import _LONGEST, Job, Records
from crawlers.components.scheduler import Hosts, LedgerScheduler, restored_request, stored_request
from crawlers.exceptions import JobError, JobFinished
from crawlers.extensions.report import Report
from crawlers.kinds.ckan.spider import CKAN

IDENTITY = {"spider": "one", "arguments": {}}


class One(Spider):
    name = "one"

    def parse_other(self, response):
        pass


class Pages:
    def parse(self, response):
        pass


@pytest.fixture
def crawler():
    made = get_crawler(One)
    made.spider = made._create_spider("one")
    yield made
    Job.from_crawler(made).db.close()


@pytest.fixture
def records(crawler):
    return Records(crawler)


# What was planned


def test_a_document_is_planned_by_one_request(records):
    first = ("dataset", "a", None)
    assert records.expect(first, "page 1")
    assert records.expect(first, "page 1"), "the same request again, after a kill"
    assert not records.expect(first, "page 2")
    assert records.expect(("dataset", "a", "r"), "page 2"), "a resource of it is another document"
    assert records.stats.get_value("catalogue/planned") == 2
    assert records.is_planned("dataset", "a")
    assert not records.is_planned("dataset", "b")
    assert not records.is_planned("resource_metadata", "a")


def test_a_list_has_a_dataset_once(records):
    assert records.see("a", "ids", "page 1")
    assert records.see("a", "ids", "page 1")
    assert not records.see("a", "ids", "page 2")
    assert records.see("a", "datasets", "page 2"), "another list"
    assert records.see("b", "ids", "page 2")
    assert (list(records.listed("ids")), list(records.listed("datasets"))) == (["a", "b"], ["a"])
    assert list(records.listed("ids", without="datasets")) == ["b"]
    assert [records.is_listed(*asked) for asked in (("b", "ids"), ("b", "datasets"), ("c", "ids"))] == [
        True,
        False,
        False,
    ]


def test_those_of_some_that_are_listed_or_expected(records):
    records.see("a", "ids", "page")
    records.see("b\0", "datasets", "page")
    records.see("c", "pages", "page")
    assert records.listed_among(["ids", "datasets"], ["a", "b", "b\0", "c", "d"]) == {"a", "b\0"}
    records.expect(("dataset", "a", None), "page")
    records.expect(("resource_metadata", "b", "r"), "page")
    records.expect(("resource_metadata", "c", None), "page")
    assert records.planned_among("dataset", ["a", "b", "c"]) == {"a"}
    assert records.planned_among("dataset", []) == set()


@pytest.mark.parametrize("rows", [0, 1, 2, 3, 5])
def test_long_lists_are_read_in_batches(records, monkeypatch, rows):
    monkeypatch.setattr("crawlers.components.ledger._BATCH", 2)
    names = [f"{number}" for number in range(rows)]
    for name in reversed(names):
        records.see(name, "ids", "page")
        records.expect(("dataset", name, None), "page")
        records.expect(("dataset", name, "r"), "page")
    assert list(records.listed("ids")) == list(records.listed("ids", without="datasets")) == names
    found = [("dataset", name, resource) for name in names for resource in (None, "r")]
    assert list(records.unaccounted()) == found
    for reference in records.unaccounted():  # which ends them
        records.settle(reference, "failed")
    assert list(records.unaccounted()) == []


def test_what_ended_is_counted_once(records):
    for name in "abc":
        records.expect(("dataset", name, None), "page")
    records.settle(("dataset", "a", None), "new")
    records.settle(("dataset", "a", None), "unchanged")
    records.settle(("dataset", "b", None), "new", fallback=True)
    records.settle(("dataset", "unplanned", None), "withdrawn")
    assert records.counts() == {"unchanged": 1, "new": 1, "withdrawn": 1, "fallback": 1}
    assert list(records.unaccounted()) == [("dataset", "c", None)]


def test_a_failure_is_new_once(records):
    assert records.failures.add("key", "http")
    assert not records.failures.add("key", "http")
    assert records.failures.add("another", "timeout")
    assert records.failures.counts() == {"http": 1, "timeout": 1}


# The queue


@pytest.fixture
def queue(crawler):
    crawler.request_fingerprinter = SimpleNamespace(fingerprint=lambda request: request.url.encode())
    crawler.engine = SimpleNamespace(_slot=SimpleNamespace(inprogress=set()))
    made = LedgerScheduler.from_crawler(crawler)
    made.open(crawler.spider)
    return made


def test_a_queue_gives_requests_by_priority_and_once(queue):
    assert queue.enqueue_request(Request("https://example.org/1", callback=queue.spider.parse_other))
    assert queue.enqueue_request(Request("https://example.org/2", priority=5))
    assert not queue.enqueue_request(Request("https://example.org/1"))
    assert queue.enqueue_request(Request("https://example.org/1", dont_filter=True))
    given = [queue.next_request() for _ in range(3)]
    assert [request.url[-1] for request in given] == ["2", "1", "1"]
    assert given[1].callback == queue.spider.parse_other
    assert queue.next_request() is None
    assert not queue.has_pending_requests()


def test_a_request_that_can_not_be_stored_is_reported_and_not_made(tmp_path):
    """Without a JOBDIR nothing has to be stored, so it is made."""
    for folder, is_made in (("", True), (str(tmp_path), False)):
        made, said = get_crawler(One, {"JOBDIR": folder}), []

        def note(failed, said=said):
            said.append((failed.stage, failed.kind, failed.url))

        made.spider = One.from_crawler(made, "one")
        made.request_fingerprinter = SimpleNamespace(fingerprint=lambda request: request.url.encode())
        made.signals.connect(note, signal=signals.record_failed)
        queue = LedgerScheduler.from_crawler(made)
        queue.open(made.spider)
        url = "https://example.org/"
        assert queue.enqueue_request(Request(url, meta={"odd": object()})) is is_made
        assert said == ([] if is_made else [("fetch", "bug", url)])
        Job.from_crawler(made).db.close()


def test_a_callback_may_belong_to_an_object_that_the_spider_has():
    spider = One()
    spider.pages, stranger = Pages(), Pages()
    request = Request("https://example.org/1", callback=spider.pages.parse, errback=spider.parse_other)
    restored = restored_request(stored_request(request, spider), spider)
    assert (restored.callback, restored.errback) == (spider.pages.parse, spider.parse_other)
    for method in (stranger.parse, lambda response: None, len):
        with pytest.raises(ValueError, match="is not a method of"):
            stored_request(request.replace(callback=method), spider)


def test_a_callback_that_was_renamed_is_found():
    spider = One()
    spider.pages = Pages()
    stored = stored_request(Request("https://example.org/1", callback=spider.pages.parse, errback=spider.parse), spider)
    spider.answers, spider.former_callbacks = spider.pages, {"pages.parse": "answers.parse"}
    del spider.pages
    restored = restored_request(stored, spider)
    assert (restored.callback, restored.errback) == (spider.answers.parse, spider.parse)


def test_what_was_under_way_waits_again(queue):
    queue.enqueue_request(Request("https://example.org/1"))
    queue.enqueue_request(Request("https://example.org/2"))
    done, under_way = queue.next_request(), queue.next_request()
    queue.crawler.engine._slot.inprogress.add(under_way)
    queue.close("shutdown")
    assert done not in queue.leased
    queue.open(queue.spider)
    assert (queue.hosts.waiting.total(), queue.next_request().url) == (1, under_way.url)


@pytest.mark.parametrize("damage", ["not JSON", "[]", "{}", "null", '"text"', "[" * 100_000, None])
def test_a_damaged_row_holds_up_no_other(queue, damage, caplog):
    queue.enqueue_request(Request("https://example.org/1", priority=1))
    queue.enqueue_request(Request("https://example.org/2"))
    queue.job.db.execute("UPDATE requests SET request = ? WHERE priority = 1", (damage,))
    queue.at_hand.clear()  # the next run has none
    assert queue.next_request().url == "https://example.org/2"
    assert not queue.has_pending_requests()
    (told,) = caplog.records
    assert "can't be restored, so it was not made" in told.getMessage()
    assert told.exc_info is None


# The file


def reopened(folder, name, value):
    """A job, begun and closed, with a fact changed."""
    job = Job(folder, IDENTITY)
    job.commit()
    job.set_fact(name, value)
    job.db.execute("COMMIT")
    job.db.close()
    return Job(folder, IDENTITY)


@pytest.mark.parametrize("name", ["identity", "state"])
@pytest.mark.parametrize("value", ["{", "5", "[" * 100_000, '{"stats": 5}', "\x00"])
def test_a_damaged_fact_is_a_sentence(tmp_path, name, value):
    with pytest.raises(JobError, match=r"ledger\.sqlite is (damaged|of )"):
        reopened(tmp_path, name, value)


@pytest.mark.parametrize(
    "state",
    [
        {"run": "../../x"},
        {"run": 5},
        {"started": "yesterday"},
        {"errors_bytes": "many"},
        {"manifest_bytes": None},
        {"listing": {"x": 1}},
        {"listing": 5},
    ],
)
def test_a_run_that_is_none_is_a_sentence(tmp_path, state):
    settings = {"JOBDIR": str(tmp_path / "job"), "OUTPUT_DIR": str(tmp_path / "output")}
    crawler = get_crawler(CKAN, settings)
    crawler.spider = CKAN.from_crawler(crawler, portal="https://example.org")
    Job.from_crawler(crawler).state |= state
    with pytest.raises(JobError, match=r"ledger\.sqlite is damaged \(state\): choose another JOBDIR"):
        Report(crawler)
    Job.from_crawler(crawler).db.close()


def filled(folder, rows):
    job = Job(folder, IDENTITY)
    for number in range(rows):
        job.execute("INSERT INTO listed VALUES (?, 'ids', ?)", (f"{number:036}", "f" * 40))
    return job


def test_a_callback_that_does_not_pause_does_not_swell_the_wal(tmp_path, monkeypatch):
    """Else a list of a million ids is one transaction, and the WAL as large as that for ever."""
    monkeypatch.setattr("crawlers.components.ledger._LONGEST", 500)
    job = filled(tmp_path, 5_000)
    assert job.changes <= 500
    job.commit()
    assert (tmp_path / "ledger.sqlite-wal").stat().st_size < 8 * 1024 * 1024
    assert job.db.execute("PRAGMA journal_size_limit").fetchone() == (8 * 1024 * 1024,)
    assert _LONGEST <= 100_000
    job.db.close()


def test_a_finished_job_gives_its_rows_back_and_keeps_its_facts(tmp_path):
    job = filled(tmp_path, 3_000)
    job.state |= {"run": "20261120T030000Z", "verdict": "incomplete", "report": "runs/20261120T030000Z.json"}
    job.commit()
    job.spider_closed("finished")
    job.engine_stopped()
    assert [path.name for path in tmp_path.iterdir()] == ["ledger.sqlite"]
    assert (tmp_path / "ledger.sqlite").stat().st_size < 100_000
    with pytest.raises(JobFinished, match=r"finished: incomplete, says runs/20261120T030000Z\.json\. Nothing") as told:
        Job(tmp_path, IDENTITY)
    assert told.value.verdict == "incomplete"


def left_open(folder):
    """The files below a folder that this process has open."""
    opened = (path.readlink() for path in Path("/proc/self/fd").iterdir() if path.is_symlink())
    return [path for path in opened if path.is_relative_to(folder)]


@pytest.mark.parametrize("wrong", ["another", "locked", "no ledger"])
def test_a_job_that_can_not_be_opened_is_left_closed(tmp_path, wrong):
    """So nothing keeps the crawl from it that it belongs to."""
    ledger, identity = tmp_path / "ledger.sqlite", IDENTITY
    holder = sqlite3.connect(ledger, isolation_level=None)
    if wrong == "locked":
        holder.execute("BEGIN EXCLUSIVE")
    elif wrong == "another":
        Job(tmp_path, IDENTITY).engine_stopped()
        identity = {"spider": "two", "arguments": {}}
    else:
        ledger.write_bytes(b"no database" * 1000)
    with pytest.raises(JobError) as refused:
        Job(tmp_path, identity)
    holder.close()
    assert (left_open(tmp_path), refused.type) == ([], JobError)


def test_a_job_is_finished_when_its_crawl_says_so(tmp_path):
    for reason in ("shutdown", "finished"):
        crawler = get_crawler(One, {"JOBDIR": str(tmp_path)})
        crawler.spider = One()
        job = Job.from_crawler(crawler)
        assert (job.finished, job.broken) == (False, False)
        crawler.signals.send_catch_log(scrapy_signals.spider_closed, reason=reason)
        crawler.signals.send_catch_log(scrapy_signals.engine_stopped)
        assert not left_open(tmp_path)
    with pytest.raises(JobFinished):
        Job(tmp_path, {"spider": "one", "arguments": {}})


def test_a_job_without_an_end_is_not_finished(tmp_path):
    Job(tmp_path, IDENTITY).engine_stopped()
    again = Job(tmp_path, IDENTITY)
    assert again.resumed
    again.db.close()


def test_a_job_that_is_not_finished_keeps_its_rows(tmp_path):
    job = filled(tmp_path, 10)
    job.spider_closed("shutdown")
    job.engine_stopped()
    job = Job(tmp_path, IDENTITY)
    assert job.db.execute("SELECT count(*) FROM listed").fetchone() == (10,)
    assert job.resumed
    job.db.close()


# Turns


def test_a_slow_host_holds_up_no_other(queue):
    """A host has at most twice as many requests in progress as it is sent in parallel; the others go on."""
    for number in range(40):
        queue.enqueue_request(Request(f"https://slow.example.org/{number}"))
    queue.enqueue_request(Request("https://quick.example.org/1", priority=-5))
    queue.hosts.limit = 4
    given = []
    while request := queue.next_request():
        queue.crawler.engine._slot.inprogress.add(request)
        given.append(request)
    assert [request.url.split(".")[0] for request in given] == ["https://slow", "https://quick", *["https://slow"] * 3]
    assert (queue.has_pending_requests(), queue.has_free_requests()) == (True, False)
    queue.crawler.engine._slot.inprogress.remove(given[0])
    assert queue.next_request().url == "https://slow.example.org/4"


def test_hosts_take_turns():
    hosts = Hosts(10)
    for host, count in (("a", 3), ("b", 1), ("c", 2)):
        hosts.add(host, count)
    order = []
    while (host := hosts.turn()) is not None:
        order.append(host)
        hosts.take(host)
    assert order == ["a", "b", "c", "a", "c", "a"]
