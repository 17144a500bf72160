"""Whole and tidy: flaws.jsonl, the verdict beside it, and what tells a flaw from something that is missing."""

from __future__ import annotations

import json
import sqlite3
from errno import ENOSPC
from unittest.mock import Mock

import pytest
from scrapy.utils.test import get_crawler

from crawlers import causes, settings, signals
from crawlers.components.ledger import EXCLUDED, Job
from crawlers.extensions import report
from crawlers.extensions.error_log import ErrorLog
from crawlers.items import Dataset, Flaw
from crawlers.listing.crawl import RunState
from crawlers.listing.spider import CatalogueSpider
from crawlers.records.record import FLAWS, Record
from crawlers.safety import strict_json
from crawlers.store import lines
from crawlers.store.index import Index, Known
from pipelines.documents import _without_logins
from tests.conftest import command, json_lines, options
from tests.portal.odd import OddPortal

KEPT = ("new", "updated", "unchanged", "restored")
LINE = ("time", "run", "status", "kind", "dataset_id", "dataset_name", "dataset_title", "resource_id", "field", "url")
UNTIDY = {4: {"resources": None}, 7: {"title": ["not", 7]}}


# Where a flaw is


@pytest.mark.parametrize(
    ("read", "place"),
    [
        (lambda record: record.text("title"), ("title", None)),
        (lambda record: record.texts("tags"), ("tags", None)),
        (lambda record: [each.text("size") for each in record.objects("resources")], ("size", "r1")),
        (lambda record: [each.text("size") for each in record.objects("files")], ("files[0].size", None)),
    ],
)
def test_a_flaw_says_which_field_of_what(read, place):
    sized = {"id": "r1", "size": {"b": 2}}
    record = Record({"title": {"x": [1]}, "tags": [{"a": 1}], "resources": [sized], "files": [sized]})
    read(record)
    (flaw,) = record.flaws
    assert (flaw.field, flaw.resource_id, flaw.kind) == (*place, "unreadable_value")


def test_of_many_flaws_some_are_told():
    record = Record({})
    for number in range(100):
        record.flaw(f"{number} is no date", str(number))
    assert len(record.flaws) == FLAWS + 1


# What is a flaw, and what is missing


class Catalogue(CatalogueSpider):
    """Of no kind."""

    name = "town"
    portal = "https://town.example"


@pytest.fixture
def log(tmp_path):
    """The error log of a crawl that has an index and a ledger, and sends no request."""
    crawler = get_crawler(Catalogue, {"OUTPUT_DIR": str(tmp_path), "SHRINK_LIMIT": settings.SHRINK_LIMIT})
    crawler.spider = Catalogue.from_crawler(crawler)
    folder = tmp_path / "town"
    folder.mkdir()
    index = Index(tmp_path, "town")
    crawler.get_extension = lambda _: index
    Job.from_crawler(crawler).state["errors_bytes"] = 0
    found = ErrorLog(crawler, folder, "20261125T030000Z")
    found.spider_opened()
    yield found
    found.close()
    index.close()
    found.job.db.close()


def failed(kind, dataset_id="a", **more):
    return signals.Failed(stage="parse", kind=kind, error="it is odd", dataset_id=dataset_id, **more)


def told(log):
    """The kinds in errors.jsonl, and those in flaws.jsonl with what became of them."""
    return (
        [line["kind"] for line in json_lines(log.path)],
        [(line["kind"], line["status"]) for line in json_lines(log.flaws.path)],
    )


@pytest.mark.parametrize("outcome", [*KEPT, "failed", "withdrawn", None])
@pytest.mark.parametrize("kind", causes.FLAWS)
def test_a_flaw_is_one_if_the_document_of_its_dataset_is_kept(log, kind, outcome):
    log.records.expect(("dataset", "a", None), "page 1")
    log.record_failed(failed(kind, field="title"))
    if outcome:
        log.records.settle(("dataset", "a", None), outcome)
    assert told(log) == ([], []), "whether it is one is not known yet"
    log.flaws.keep([Dataset(source="town", id="a")] if outcome in KEPT else [])
    log.reconcile()
    missing = ["unaccounted"] if outcome is None else []
    expected = ([], [(kind, "new")]) if outcome in KEPT else ([*missing, causes.FLAWS[kind]], [])
    assert told(log) == expected
    assert log.failures().keys() == set(expected[0])


@pytest.mark.parametrize("kind", causes.FLAWS)
def test_a_flaw_that_comes_late_is_told_at_once(log, kind):
    log.records.settle(("dataset", "a", None), "unchanged")
    log.record_failed(failed(kind, field="rdf"))
    log.record_failed(failed(kind, field="rdf"))
    assert told(log) == ([], [(kind, "new")])


@pytest.mark.parametrize("outcome", ["excluded", "withdrawn"])
@pytest.mark.parametrize("kind", causes.FLAWS)
def test_a_flaw_of_what_is_excluded_is_none(log, kind, outcome):
    """What is excluded while it is on disk is withdrawn."""
    log.record_failed(failed(kind))
    log.records.see("a", EXCLUDED, "")
    log.records.settle(("dataset", "a", None), outcome)
    log.reconcile()
    assert told(log) == ([], [])
    assert log.records.kept("dataset") == 1


@pytest.mark.parametrize("has_error", [True, False])
def test_a_flaw_that_stands_is_no_error_of_a_record_that_failed_for_another_reason(log, has_error):
    flaws = [Flaw("it has no title", "title")]
    keep(log, Dataset(source="town", id="a", flaws=flaws))
    log.reconcile()
    again(log)
    log.flaws.note_item(Dataset(source="town", id="a", flaws=[*flaws, Flaw("it is no date", "modified")]))
    if has_error:
        log.record_failed(failed("http"))
    log.records.settle(("dataset", "a", None), "failed")
    log.reconcile()
    assert told(log) == (["http" if has_error else "invalid_record", "invalid_record"], [("unreadable_value", "new")])


def test_half_a_character_in_the_id_of_a_resource(log):
    odd = Flaw("its size \ud800 is no number", "size", resource_id="\ud800x")
    keep(log, Dataset(source="town", id="a", title="\ud800", flaws=[odd]))
    (line,) = json_lines(log.flaws.path)
    assert (line["resource_id"], line["error"]) == ("?x", "its size ? is no number")
    again(log)
    keep(log, Dataset(source="town", id="a", flaws=[odd]))
    log.reconcile()
    assert len(json_lines(log.flaws.path)) == 1


def test_a_disk_that_is_full_at_the_end(log, monkeypatch):
    keep(log, Dataset(source="town", id="a", flaws=[Flaw("it has no title", "title")]))
    again(log)
    keep(log, Dataset(source="town", id="a"))
    stopped = []
    monkeypatch.setattr(log.flaws.lines, "extend", Mock(side_effect=OSError(ENOSPC, "No space left on device")))
    monkeypatch.setattr(log, "_stop", lambda path, error: stopped.append((path, error.errno)))
    log.reconcile()
    assert stopped == [(log.flaws.path, ENOSPC)]


def test_a_flaw_without_its_login_keeps_its_place():
    item = Dataset(source="town", id="a", flaws=[Flaw("'ftp://me:secret@h/' is no date", "modified", "cut_value", "r")])
    (flaw,) = _without_logins(item).flaws
    assert (flaw, flaw.field, flaw.kind, flaw.resource_id) == ("'ftp://h/' is no date", "modified", "cut_value", "r")


@pytest.mark.parametrize("kind", causes.FLAWS)
def test_a_flaw_of_a_page_is_one_if_all_that_is_listed_was_read(log, kind):
    log.record_failed(failed(kind, None, url="https://town.example/page/1"))
    log.reconcile()
    assert told(log) == ([], [(kind, "new")])
    assert json_lines(log.flaws.path)[0]["dataset_id"] is None


LOST = {*causes.FLAWS.values(), "undescribed"}


@pytest.mark.parametrize("kind", sorted(causes.KINDS.keys() - causes.FLAWS.keys() - {"disk"}))
@pytest.mark.parametrize("stage", ["list", "parse"])
def test_a_flaw_of_a_page_is_an_error_if_it_may_have_cost_a_record(log, stage, kind):
    """Nothing that was repaired in a page is the reason of a time-out, or of a record without an id."""
    log.record_failed(failed("repaired_text", None))
    log.record_failed(signals.Failed(stage=stage, kind=kind, error="it is lost"))
    log.reconcile()
    expected = ([kind, "invalid_record"], []) if kind in LOST else ([kind], [("repaired_text", "new")])
    assert told(log) == expected


def test_a_flaw_of_a_page_is_an_error_if_a_dataset_s_flaws_are(log):
    log.record_failed(failed("repaired_text", None))
    log.record_failed(failed("unreadable_statement"))
    log.records.settle(("dataset", "a", None), "failed")
    log.reconcile()
    assert told(log) == (["invalid_rdf", "invalid_record"], [])


@pytest.mark.parametrize("kind", [kind for kind in causes.KINDS if kind not in causes.FLAWS])
def test_any_other_kind_is_an_error_whatever_is_kept(log, kind):
    log.records.settle(("dataset", "a", None), "new")
    log.record_failed(failed(kind))
    assert told(log) == ([kind], [])


def test_each_kind_says_whether_something_is_missing():
    assert set(causes.FINDINGS) == {"broken_link", "no_rdf", "not_taken"}
    assert set(causes.FLAWS.values()) <= causes.KINDS.keys() - causes.FLAWS.keys()


def put(log, dataset_id, status="new"):
    known = Known(f"datasets/{dataset_id}.json", "0" * 64, 2, None, status, "1", "2026-11-25T03:00:00.000Z")
    log.flaws.index.put("dataset", dataset_id, None, known)


def keep(log, *items):
    for item in items:
        log.records.settle(("dataset", item.id, None), "unchanged")
    log.flaws.keep(items)


def test_flaws_of_one_place_are_one(log):
    dates = [Flaw("a is no date", "modified"), Flaw("b is no date", "modified")]
    flaws = [*dates, Flaw("no title", "title", "missing_value")]
    keep(log, Dataset(source="town", id="a", title="Rivers", metadata_url="https://u:p@town.example/a", flaws=flaws))
    lines = json_lines(log.flaws.path)
    assert [(line["field"], line["error"]) for line in lines] == [
        ("modified", "a is no date; b is no date"),
        ("title", "no title"),
    ]
    assert {line["dataset_title"] for line in lines} == {"Rivers"}
    assert not [line for line in lines if "u:p@" in line["url"]]


def test_the_words_of_a_flaw_do_not_tell_it_apart(log):
    keep(log, Dataset(source="town", id="a", flaws=[Flaw("'1.1.' is no date", "modified")]))
    keep(log, Dataset(source="town", id="a", flaws=[Flaw("'2.2.' is no date", "modified")]))
    log.reconcile()
    assert told(log) == ([], [("unreadable_value", "new")])


def again(log):
    """Begin the next run, which knows nothing but what is on disk."""
    log.flaws.index.flush()
    for table in ("flaws", "listed", "records"):
        log.job.execute(f"DELETE FROM {table}")


def test_a_flaw_that_is_read_away_is_gone(log):
    keep(log, *(Dataset(source="town", id=one, flaws=[Flaw("it has no title", "title")]) for one in "ab"))
    log.reconcile()
    again(log)
    keep(log, Dataset(source="town", id="a"))  # b is not read in this run
    log.reconcile()
    assert [(line["dataset_id"], line["status"]) for line in json_lines(log.flaws.path)] == [
        ("a", "new"),
        ("b", "new"),
        ("a", "gone"),
    ]
    assert log.flaws.counts() == {"unreadable_value": 1}


def test_a_flaw_of_what_did_not_come_tonight_stands(log):
    """The page is read, and the file that it links is not."""
    keep(log, Dataset(source="town", id="a", flaws=[Flaw("it is broken", "rdf"), Flaw("it has none", "title")]))
    log.reconcile()
    again(log)
    log.record_failed(failed("http", field="rdf"))
    keep(log, Dataset(source="town", id="a"))
    log.reconcile()
    assert [(line["field"], line["status"]) for line in json_lines(log.flaws.path)] == [
        ("rdf", "new"),
        ("title", "new"),
        ("title", "gone"),
    ]


def test_a_withdrawn_dataset_has_no_flaws(log):
    put(log, "a")
    keep(log, Dataset(source="town", id="a", flaws=[Flaw("no title", "title")]))
    put(log, "a", "withdrawn")
    log.reconcile()
    assert told(log) == ([], [("unreadable_value", "new"), ("unreadable_value", "gone")])
    assert log.flaws.counts() == {}


def test_a_flaw_of_the_source_is_gone_if_everything_was_listed_without_it(log):
    log.record_failed(failed("repaired_text", None))
    log.reconcile()
    again(log)
    log.reconcile()
    assert log.flaws.counts() == {"repaired_text": 1}, "nothing was listed"
    RunState.from_crawler(log.crawler).is_whole_listing = True
    log.reconcile()
    assert log.flaws.counts() == {}


def test_an_index_that_is_rebuilt_has_the_flaws_of_the_file(log, tmp_path):
    keep(log, *(Dataset(source="town", id=f"{number}", flaws=[Flaw("no", "title")]) for number in range(1200)))
    log.reconcile()
    again(log)
    keep(log, Dataset(source="town", id="7"))
    log.reconcile()
    log.flaws.index.close()
    (tmp_path / "index.sqlite").unlink()
    index = Index(tmp_path, "town")
    try:
        assert index.flaws.counts() == {"unreadable_value": 1199}
        assert index.flaws.of(["7", "8"]) == {("8", "", "title", "unreadable_value")}
    finally:
        index.close()


def test_lines_that_no_crawl_wrote_are_left_out(tmp_path, caplog):
    (tmp_path / "town").mkdir()
    good = {"time": "t", "run": "r", "status": "new", "kind": "cut_value", "dataset_id": "a", "resource_id": None}
    bad = [{"status": "old"}, {"kind": 7}, {"dataset_id": ["a"]}, {"time": None}]
    lines = [strict_json.line(good | change) for change in ({}, *bad)] + [b"[[[\n", b'{"kind": "\\ud800"}\n']
    (tmp_path / "town" / "flaws.jsonl").write_bytes(b"".join(lines))
    index = Index(tmp_path, "town")
    assert index.flaws.counts() == {"cut_value": 1}
    index.close()
    assert "6 damaged lines are left out" in caplog.text


@pytest.mark.parametrize(
    ("reports", "begin", "is_new", "told"),
    [
        ([], 90, True, 0),
        ([{"flaws_end": 50}], 90, True, 50),
        ([{"flaws_end": 50}, {"flaws_end": None}], 90, True, 50),
        ([{"flaws_end": 120}], 90, True, 90),
        ([{}], 90, True, 90),
        ([{"flaws_end": 50}], 60, False, 60),
        ([{"flaws_end": 120}], 60, False, 120),
        ([{}], 60, False, 60),
    ],
    ids=[
        *("none", "the report before", "that of a killed crawl", "a file that was cut", "of an earlier version"),
        *("a job goes on", "another crawl has told some of its own", "the same, of an earlier version"),
    ],
)
def test_where_the_flaws_begin_that_no_report_has_told(tmp_path, reports, begin, is_new, told):
    (tmp_path / "runs").mkdir()
    for number, each in enumerate(reports):
        (tmp_path / "runs" / f"2026112{number}T030000Z.json").write_text(json.dumps(each))
    assert report._told(tmp_path, begin, is_new=is_new) == told


# A catalogue that is whole and untidy


def test_an_untidy_catalogue_is_complete_with_flaws(crawl):
    """The first crawl tells them, the second repeats none, the third tells what is gone, and so does a withdrawal."""
    with OddPortal("have", UNTIDY) as site:
        first = crawl("ckan", site)
        assert (first.code, first.report["verdict"], first.errors) == (0, "complete", [])
        assert "complete, 2 flaws. 40 of 40 datasets listed; documents: 40 new" in first.log
        assert "see " + str(first.folder / "flaws.jsonl") in first.log
        assert {(line["dataset_id"], line["field"], line["kind"]) for line in first.flaws} == {
            ("id00004", "resources", "missing_value"),
            ("id00007", "title", "unreadable_value"),
        }
        assert all({*LINE} <= line.keys() for line in first.flaws)
        assert first.report["flaws"] == {"missing_value": 1, "unreadable_value": 1}
        assert (first.report["new_flaws"], first.report["not_kept"]) == (2, 0)

        again = crawl("ckan", site)
        assert (again.code, again.report["counts"]["unchanged"], len(again.flaws)) == (0, 40, 2)
        assert (again.report["flaws"], again.report["new_flaws"]) == (first.report["flaws"], 0)

        with (first.folder / "flaws.jsonl").open("ab") as file:  # of a crawl that was killed
            file.write(strict_json.line(first.flaws[0] | {"run": "20261125T030000Z", "dataset_id": "id00005"}))
        told = crawl("ckan", site)
        assert (told.report["new_flaws"], len(told.flaws)) == (1, 4)
        assert (told.flaws[-1]["status"], told.flaws[-1]["dataset_id"]) == ("gone", "id00005")

        site.datasets[7]["title"] = "Rivers"
        mended = crawl("ckan", site)
        assert [line["status"] for line in mended.flaws] == ["new", "new", "new", "gone", "gone"]
        assert (mended.flaws[-1]["dataset_id"], mended.report["flaws"]) == ("id00007", {"missing_value": 1})


def test_a_place_that_can_not_be_read_is_told(crawl, output):
    beyond, open_ring = "POINT(500000 5200000)", "POLYGON((15 47, 16 47, 16 48))"
    with OddPortal("have", {4: {"spatial": beyond}, 5: {"spatial": open_ring}}) as site:
        done = crawl("ckan", site)
    assert (done.code, done.report["verdict"]) == (0, "complete")
    (line,) = done.flaws
    assert (line["dataset_id"], line["field"]) == ("id00004", "spatial")
    assert f"spatial '{beyond}' is no place" in line.values()
    with sqlite3.connect(output / "index.sqlite") as db:
        told = dict(db.execute("SELECT dataset_id, spatial FROM datasets WHERE spatial LIKE '%geometry%'"))
    assert told == {"id00005": '[{"geometry":"Polygon"}]'}


def test_a_lost_index_and_a_compacted_file_change_nothing(crawl, output):
    with OddPortal("have", UNTIDY) as site:
        crawl("ckan", site)
        (output / "index.sqlite").unlink()
        site.datasets[9]["resources"] = None
        done = crawl("ckan", site)
        assert [line["status"] for line in done.flaws] == ["new", "new", "new"]
        ran = command("compact", "--all", *options(output, {}))
        assert (ran.returncode, len(done.flaws)) == (0, 1)
        again = crawl("ckan", site)
    assert again.report["flaws"] == {"missing_value": 2, "unreadable_value": 1}
    assert len(list(lines.read(again.folder, "flaws.jsonl"))) == 3


def test_what_is_listed_and_not_kept_is_not_told_as_kept(crawl):
    with OddPortal("have", {9: {"notes": "x" * 300_000}}) as site:
        done = crawl("ckan", site, settings={"DOCUMENT_MAXSIZE": "200000"})
    assert (done.code, [error["kind"] for error in done.errors]) == (3, ["too_large"])
    assert ", 1 of them not kept; documents: " in done.log
    assert done.report["not_kept"] == 1


def test_the_flaws_are_shown_beside_the_verdict(crawl, output):
    with OddPortal("have", UNTIDY) as site:
        done = crawl("ckan", site)
    listed = command("jobs", *options(output, {})).stdout
    shown = command("jobs", "show", done.report["run"], *options(output, {})).stdout
    assert listed.splitlines()[0].split()[8:10] == ["errors", "flaws"]
    assert " 2 " in listed.splitlines()[1]
    assert ": complete, 2 flaws" in shown
    assert "1 missing_value: " in shown
    data = json.loads(command("jobs", "--json", *options(output, {})).stdout)
    assert (data[0]["errors"], data[0]["flaws"]) == ({}, done.report["flaws"])
