"""A catalogue service (CSW), listed whole: by version, schema and method, and with each trap of real servers."""

from __future__ import annotations

import random
import re
import sqlite3
import subprocess
import sys
import time
from contextlib import closing
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from itertools import cycle

import pytest

from crawlers.kinds.csw import spider
from tests import forked
from tests.conftest import ROOT, Crawl, options, scrapy
from tests.portal.csw import CSW, DCAT, GEODCAT, ISO, ISO_3, Catalogue, Record, records
from tests.site import Answer, Site
from tests.waiting import until
from tests.walked import Walked, answers_of, walk


def crawled(site, output, given=None, more=(), **settings):
    ran = scrapy("crawl", "csw", *options(output, settings, url=f"{site.url}/csw", **(given or {})), *more)
    return Crawl(ran.returncode, ran.stderr, output / "127.0.0.1")


def crawl_of(catalogue, output, given=None, **settings):
    with Site(catalogue) as site:
        return crawled(site, output, given, **settings)


def walk_of(catalogue, folder, **given):
    with Site(catalogue) as site:
        return walk(spider.CSW, answers_of(site), folder, url=f"{site.url}/csw", **given)


def ids(done):
    return done.ids() if isinstance(done, Walked) else sorted(line["dataset_id"] for line in done.manifest)


def expected(count, prefix="r-"):
    return [f"{prefix}{number:05}" for number in range(count)]


def is_complete(done, count, evidence="total"):
    if isinstance(done, Walked):
        verdict, _, listed = done.judged
        assert (verdict, listed, done.evidence) == ("complete", count, {"datasets": evidence}), done.errors
    else:
        judged = (done.code, done.report["verdict"], done.report["listed"], done.report["evidence"])
        assert judged == (0, "complete", count, {"datasets": evidence}), done.log[-2000:]
    assert not done.errors
    return True


def is_incomplete(done, listed, *kinds):
    """A walk is: nothing but this is missing."""
    verdict, _, found = done.judged
    assert (verdict, found, [one.kind for one in done.errors]) == ("incomplete", listed, [*kinds])
    return True


SCHEMAS = {
    ISO: ("iso19139", "r-"),
    ISO_3: ("iso19115_3", "r-"),
    DCAT: ("rdf_xml", "https://example.org/id/r-"),
    GEODCAT: ("rdf_xml", "https://example.org/id/r-"),
    "": ("dublin_core", "r-"),
}


@pytest.mark.parametrize("faults", [(), ("no_post",)], ids=["POST", "GET"])
@pytest.mark.parametrize("version", CSW)
@pytest.mark.parametrize("schema", SCHEMAS)
def test_every_version_schema_and_method(tmp_path, version, schema, faults):
    catalogue = Catalogue(records(130), version=version, schemas=(schema,) if schema else (), faults=faults)
    done = walk_of(catalogue, tmp_path)
    metadata_source, prefix = SCHEMAS[schema]
    assert is_complete(done, 130)
    assert ids(done) == expected(130, prefix)
    assert {item.metadata_source for item in done.items} == {metadata_source}
    assert {one.schema for one in catalogue.questions} == {schema or CSW[version]}
    assert [(one.start, one.rows) for one in catalogue.questions] == [(1, 100), (100, 100)]


@pytest.mark.parametrize(
    ("schema", "version", "faults"), [*zip(SCHEMAS, cycle(CSW), cycle([(), (), ("no_post",)]), strict=False)]
)
def test_a_whole_crawl(output, version, schema, faults):
    catalogue = Catalogue(records(130), version=version, schemas=(schema,) if schema else (), faults=faults)
    done = crawl_of(catalogue, output)
    metadata_source, prefix = SCHEMAS[schema]
    assert is_complete(done, 130)
    assert ids(done) == expected(130, prefix)
    assert {line["metadata_source"] for line in done.manifest} == {metadata_source}
    assert {one.schema for one in catalogue.questions} == {schema or CSW[version]}
    assert [(one.start, one.rows) for one in catalogue.questions] == [(1, 100), (100, 100)]
    document = done.folder / done.manifest[0]["metadata_file"]
    assert document.suffix == ".xml"
    assert b"Record 0" in document.read_bytes()
    assert "request=GetRecordById&id=r-00000&" in done.manifest[0]["metadata_url"]


# What servers do


def of(*numbers):
    return tuple(f"r-{number:05}" for number in numbers)


WHOLE = {
    "fewer per page than requested": {"most": 40},
    "a number of returned records that is wrong": {"faults": ("returned_lies",)},
    "a next record behind what came": {"most": 40, "faults": ("next_lies",)},
    "no order": {"faults": ("no_sort",)},
    "no order, and pages that overlap": {"faults": ("no_sort", "unordered")},
    "no capabilities": {"faults": ("no_capabilities",)},
    "capabilities without schemas": {"faults": ("unnamed",)},
    "capabilities that promise more": {"listed": (GEODCAT, DCAT, ISO_3, ISO)},
    "exceptions with HTTP 400": {"listed": (GEODCAT, DCAT, ISO_3, ISO), "faults": ("http_400",)},
    "only csw:Record": {"faults": ("only_plain",)},
    "a schema that the server ignores": {"listed": (DCAT, ISO), "faults": ("ignores_schema",)},
}


@pytest.mark.parametrize("version", CSW)
@pytest.mark.parametrize("trap", WHOLE)
def test_a_trap_loses_no_record(tmp_path, trap, version):
    catalogue = Catalogue(records(230), version=version, **WHOLE[trap])
    assert is_complete(walk_of(catalogue, tmp_path), 230)
    if catalogue.most == 40:
        assert [one.start for one in catalogue.questions] == [1, 40, 79, 118, 157, 196]


def test_records_that_break_their_page_come_as_dublin_core(output):
    """Each is found by smaller pages; it keeps its id, so that no other source of ids is needed."""
    for faults in ((), ("broken_500",)):
        catalogue = Catalogue(records(230), broken=of(60, 150, 151, 229), faults=faults)
        done = crawl_of(catalogue, output / "-".join(faults))
        assert is_complete(done, 230)
        plain = [line["dataset_id"] for line in done.manifest if line["metadata_source"] == "dublin_core"]
        assert tuple(sorted(plain)) == of(60, 150, 151, 229)


@pytest.mark.parametrize("faults", [(), ("broken_html",), ("broken_500",), ("comments",)])
def test_records_that_break_their_page_are_asked_for_as_dublin_core(tmp_path, faults):
    done = walk_of(Catalogue(records(230), broken=of(60, 150, 151, 229), faults=faults), tmp_path)
    assert is_complete(done, 230)
    plain = [item.id for item in done.items if item.metadata_source == "dublin_core"]
    assert tuple(sorted(plain)) == of(60, 150, 151, 229)


@pytest.mark.parametrize("faults", [(), ("comments",)])
def test_a_record_that_the_server_can_not_give_is_an_error(output, faults):
    done = crawl_of(Catalogue(records(230), lost=of(60, 150), faults=faults), output)
    assert (done.code, done.report["verdict"], done.report["listed"]) == (3, "incomplete", 228)
    assert done.kinds() == [("list", "refused"), ("list", "refused")]
    assert not done.report["whole_listing"], "nothing is taken to be gone"
    positions = [re.findall(r"position (\d+)", one["error"]) for one in done.errors]
    assert positions == [["61"], ["151"]]


@pytest.mark.parametrize("given", [{}, {"schema": "iso19139"}], ids=str)
@pytest.mark.parametrize("lost", [(0,), (0, 1, 2), (0, 60)], ids=str)
@pytest.mark.parametrize("listed", [(ISO,), (GEODCAT, DCAT, ISO_3, ISO)], ids=["ISO", "more"])
def test_a_first_record_that_is_refused_in_every_schema_is_left_out(tmp_path, lost, listed, given):
    catalogue = Catalogue(records(230), lost=of(*lost), listed=listed)
    done = walk_of(catalogue, tmp_path, **given)
    assert (done.judged, len(done.ids())) == (("incomplete", 230, 230 - len(lost)), 230 - len(lost))
    assert [re.findall(r"position (\d+)", error.error)[0] for error in done.errors] == [f"{n + 1}" for n in lost]
    assert {item.metadata_source for item in done.items} == {"iso19139"}
    assert len(catalogue.questions) < 50


@pytest.mark.parametrize("broken", [(0,), (0, 1), (0, 60)], ids=str)
@pytest.mark.parametrize("listed", [(ISO,), (GEODCAT, DCAT, ISO_3, ISO)], ids=["ISO", "more"])
def test_a_first_record_that_is_refused_in_its_schema_leaves_the_others_in_it(tmp_path, broken, listed):
    catalogue = Catalogue(records(230), broken=of(*broken), listed=listed)
    done = walk_of(catalogue, tmp_path)
    assert is_complete(done, 230)
    plain = [item.id for item in done.items if item.metadata_source == "dublin_core"]
    assert tuple(sorted(plain)) == of(*broken)
    assert len(catalogue.questions) < 50


def test_a_server_that_refuses_its_first_records_in_a_schema_is_asked_for_another(tmp_path):
    """Three of them: the first may be broken, or the server does not give what it promises. A short list, too."""
    for count in (230, 3, 1):
        (folder := tmp_path / str(count)).mkdir()
        done = walk_of(Catalogue(records(count), broken=of(0, 1, 2)), folder)
        assert is_complete(done, count)
        assert {item.metadata_source for item in done.items} == {"dublin_core"}


FAULTS = {"HTTP 500": ("broken_500",), "cut XML": ("cut",), "cut gzip": ("cut_gzip",)}


@pytest.mark.parametrize("fault", FAULTS)
def test_each_fault_of_a_page_is_met_by_the_same_recovery(output, fault):
    """One record breaks each page in its schema, another one in any: the first comes as Dublin Core."""
    catalogue = Catalogue(records(130), broken=of(7), lost=of(60), faults=FAULTS[fault])
    done = crawl_of(catalogue, output, RETRY_TIMES="0")
    assert (done.code, done.report["verdict"], done.report["listed"]) == (3, "incomplete", 129)
    assert ids(done) == [name for name in expected(130) if name != "r-00060"]
    assert [line["dataset_id"] for line in done.manifest if line["metadata_source"] == "dublin_core"] == ["r-00007"]
    [lost] = done.errors
    assert "the record at position 61" in lost["error"]
    assert len(catalogue.questions) <= 41 + 18 * (fault == "HTTP 500"), "with the retry of each"


@pytest.mark.parametrize("place", [0, 1, 40, 99, 100, 129])
def test_a_page_that_is_cut_once_keeps_its_whole_records(tmp_path, place):
    """What follows is asked for behind them, or the same page again if it has none."""
    catalogue = Catalogue(records(130), lost=of(place), faults=("cut",))

    def change(catalogue, asked):
        if asked.start - 1 <= place < asked.start - 1 + asked.rows:
            catalogue.lost = ()

    done = walk_of(changing(catalogue, change), tmp_path)
    assert is_complete(done, 130)
    assert {item.metadata_source for item in done.items} == {"iso19139"}
    starts = {0: [1, 1, 100], 1: [1, 2, 101], 40: [1, 40, 130], 99: [1, 99], 100: [1, 100, 100], 129: [1, 100, 129]}
    assert [one.start for one in catalogue.questions] == starts[place]


def test_records_of_dcat_that_break_their_page_are_errors(output):
    """In Dublin Core they would have other ids."""
    for faults in ((), ("comments",)):
        catalogue = Catalogue(records(130), schemas=(DCAT,), broken=of(7), faults=faults)
        done = crawl_of(catalogue, output / "-".join(faults))
        assert (done.code, done.report["listed"]) == (3, 129)
        assert done.kinds() == [("list", "refused")]
        assert {one.schema for one in catalogue.questions} == {DCAT}


def test_after_three_records_in_a_row_the_listing_ends(output):
    catalogue = Catalogue(records(300), lost=of(*range(120, 300)))
    done = crawl_of(catalogue, output)
    assert (done.code, done.report["verdict"], done.report["listed"]) == (3, "incomplete", 120)
    assert done.kinds() == [("list", "refused")] * 4
    assert len(catalogue.questions) < 30


@pytest.mark.parametrize(
    ("fault", "kind", "verdict"),
    [
        ("login", "blocked", "blocked"),
        ("acknowledgement", "refused", "failed"),
        ("no_results", "refused", "failed"),
    ],
)
def test_an_answer_without_results_is_no_empty_catalogue(output, fault, kind, verdict):
    done = crawl_of(Catalogue(records(30), faults=(fault,)), output)
    assert (done.code, done.report["verdict"], done.kinds()) == (4, verdict, [("list", kind)])


def test_an_empty_catalogue_is_complete(output):
    assert is_complete(crawl_of(Catalogue([]), output), 0)


def test_the_same_page_for_each_position_ends_as_an_error(output):
    catalogue = Catalogue(records(500), faults=("same_page",))
    done = crawl_of(catalogue, output)
    assert (done.code, done.report["listed"], done.kinds()) == (3, 100, [("list", "paging")])
    assert len(catalogue.questions) == 3


def test_fewer_records_than_the_server_says_is_incomplete_after_a_second_walk(output):
    catalogue = Catalogue([*records(130), *records(2)])
    done = crawl_of(catalogue, output)
    assert (done.code, done.report["listed"], done.kinds()) == (3, 130, [("list", "count_mismatch")])
    assert [(one.start, one.rows) for one in catalogue.questions] == [(1, 100), (100, 100), (1, 99), (99, 99)]


def test_another_record_with_the_same_identifier_is_reported(output):
    catalogue = Catalogue([*records(30), Record("r-00029", "Another"), *records(130)[30:]])
    done = crawl_of(catalogue, output)
    assert (done.code, done.report["listed"]) == (3, 130)
    assert [(one["kind"], one["dataset_id"]) for one in done.errors] == [("duplicate_id", "r-00029")]
    assert len(catalogue.questions) == 2, "a second walk would find no other"


@pytest.mark.parametrize("place", [21, 99, 100, 101])
def test_another_version_of_a_record_takes_a_position_of_the_total(tmp_path, place):
    listed = records(130)
    listed.insert(place, replace(listed[place - 1], modified="2024-05-01T00:00:00Z"))
    done = walk_of(Catalogue(listed), tmp_path)
    assert is_complete(done, 130)
    assert [(flaw.kind, flaw.dataset_id) for flaw in done.flaws] == [("repeated_id", listed[place].id)]
    assert done.judged[1] == 130


@pytest.mark.parametrize("has_total", [True, False])
def test_one_record_an_answer_is_listed_whole(tmp_path, has_total):
    catalogue = Catalogue(records(50), most=1)
    plain = catalogue.response
    if not has_total:
        catalogue.response = lambda *given: re.sub('Matched="[0-9]+"', 'Matched=""', plain(*given))
    assert is_complete(walk_of(catalogue, tmp_path), 50, "total" if has_total else "pager")
    assert [one.start for one in catalogue.questions][:50] == [*range(1, 51)]
    assert len(catalogue.questions) <= 51, "but one more than there are records, at a server that caps pages"


def test_a_refusal_behind_the_last_record_is_the_end(tmp_path):
    """A server that gives less than it is asked for is asked for one page more."""

    def change(catalogue, asked):
        return catalogue.exception("NoApplicableCode", "", "No such position") if asked.start > 20 else None

    catalogue = Catalogue(records(20), most=1)
    assert is_complete(walk_of(changing(catalogue, change), tmp_path), 20)
    assert [one.start for one in catalogue.questions] == [*range(1, 22)]


@pytest.mark.parametrize("count", [30, 130])
def test_an_answer_that_is_cut_behind_its_last_record_lacks_none(tmp_path, count):
    def change(catalogue, asked):
        whole = says(catalogue, asked, count)
        return Answer(whole.body[: whole.body.index(b"</csw:SearchResults>")], 200, whole.headers)

    assert is_complete(walk_of(changing(Catalogue(records(count)), change), tmp_path), count)


def test_one_record_an_answer_is_listed_whole_by_a_crawl(output):
    assert is_complete(crawl_of(Catalogue(records(12), most=1), output), 12)


# Lists that change while they are read


def changing(catalogue, change):
    """Return the answers of a catalogue that changes: ``change(catalogue, question)`` may return another answer."""

    def answer(asked):
        known, usual = len(catalogue.questions), catalogue(asked)
        is_page = len(catalogue.questions) > known
        return (change(catalogue, catalogue.questions[-1]) if is_page else None) or usual

    return answer


def says(catalogue, asked, matched, count=100):
    here = catalogue.records[asked.start - 1 :][:count]
    texts = [one.xml(asked.schema) for one in here]
    return catalogue.xml(catalogue.response(asked, texts, str(matched)))


@pytest.mark.parametrize(("matched", "count"), [(0, 0), (200, 100)])
def test_a_page_that_says_less_once_ends_nothing(tmp_path, matched, count):
    def change(catalogue, asked):
        return says(catalogue, asked, matched, count) if len(catalogue.questions) == 2 else None

    assert is_complete(walk_of(changing(Catalogue(records(300)), change), tmp_path), 300)


@pytest.mark.parametrize("is_from_the_start", [False, True])
def test_a_server_that_gives_nothing_any_more_is_incomplete(tmp_path, is_from_the_start):
    def change(catalogue, asked):
        is_over = len(catalogue.questions) > 1 and (asked.start > 1 or is_from_the_start)
        return says(catalogue, asked, 0, 0) if is_over else None

    catalogue = Catalogue(records(300))
    assert is_incomplete(walk_of(changing(catalogue, change), tmp_path), 100, "count_mismatch")
    assert len(catalogue.questions) < 10


@pytest.mark.parametrize("added", [0, 1])
@pytest.mark.parametrize("count", [1, 7])
def test_records_that_are_deleted_meanwhile_hide_no_other(tmp_path, count, added):
    def change(catalogue, asked):
        if len(catalogue.questions) == 1:
            del catalogue.records[50 : 50 + count]
            catalogue.records.extend([Record("r-99999", "New")] * added)

    catalogue = Catalogue(records(300))
    done = walk_of(changing(catalogue, change), tmp_path)
    assert ids(done) == expected(300) + ["r-99999"] * added
    assert is_complete(done, 300 + added)
    assert len(catalogue.questions) <= 7, "only one page more was requested for it, and two at the end"


def test_a_last_known_record_that_is_deleted_leads_to_a_second_walk(output):
    def change(catalogue, asked):
        if len(catalogue.questions) == 1:
            del catalogue.records[30:170]

    catalogue = Catalogue(records(600))
    done = crawl_of(changing(catalogue, change), output)
    assert ids(done) == expected(100) + expected(600)[170:]
    assert "the list changed meanwhile: listing again" in done.log


def test_a_list_that_changes_in_each_walk_is_incomplete(tmp_path):
    def change(catalogue, asked):
        catalogue.records[:] = random.sample(catalogue.records, len(catalogue.records))

    done = walk_of(changing(Catalogue(records(1000)), change), tmp_path)
    assert done.judged[0] == "incomplete"
    assert done.kinds().keys() <= {"unproven", "count_mismatch"}


@pytest.mark.parametrize("ending", [1, 9])
def test_an_empty_page_without_a_total_proves_nothing(output, ending):
    def change(catalogue, asked):
        here = (
            []
            if asked.start > 1 and 2 <= len(catalogue.questions) < 2 + ending
            else catalogue.records[asked.start - 1 :]
        )
        body = catalogue.response(asked, [one.xml(asked.schema) for one in here[:100]], "300")
        return catalogue.xml(body.replace('numberOfRecordsMatched="300" ', ""))

    done = crawl_of(changing(Catalogue(records(300)), change), output)
    if ending == 9:
        assert (done.code, done.report["listed"], done.kinds()) == (3, 100, [("list", "unproven")])
    else:
        assert is_complete(done, 300, "pager")


def test_a_list_without_a_total_ends_at_an_empty_page_not_at_a_short_one(tmp_path):
    def change(catalogue, asked):
        answer = says(catalogue, asked, 300, 40 if len(catalogue.questions) == 2 else 100)
        return Answer(answer.body.replace(b'numberOfRecordsMatched="300" ', b""), 200, answer.headers)

    catalogue = Catalogue(records(300))
    assert is_complete(walk_of(changing(catalogue, change), tmp_path), 300, "pager")
    assert [one.start for one in catalogue.questions] == [1, 100, 139, 238, 300]


# Windows


def test_a_list_beyond_the_window_is_read_by_dates(output):
    catalogue = Catalogue(records(1200), window=200)
    done = crawl_of(catalogue, output)
    assert is_complete(done, 1200)
    assert ids(done) == expected(1200)


@pytest.mark.parametrize("faults", [(), ("no_post",)], ids=["POST", "GET"])
@pytest.mark.parametrize("version", CSW)
def test_records_without_a_date_are_listed_beyond_the_window_too(tmp_path, version, faults):
    undated = [Record(f"u-{number:05}", "Undated", "") for number in range(50)]
    done = walk_of(Catalogue([*records(400), *undated], version=version, window=100, faults=faults), tmp_path)
    assert is_complete(done, 450)
    assert ids(done) == expected(400) + expected(50, "u-")


def test_records_without_a_date_that_can_not_be_listed_are_incomplete(output):
    undated = [Record(f"u-{number:05}", "Undated", "") for number in range(50)]
    done = crawl_of(Catalogue([*records(400), *undated], window=100, faults=("no_null",)), output)
    assert (done.code, done.report["verdict"], done.report["listed"]) == (3, "incomplete", 400)
    assert done.kinds() == [("list", "unproven")]
    assert "records without a date of modification" in done.errors[0]["error"]


@pytest.mark.parametrize("faults", [("no_filter",), ("ignores_filter",), ("no_filter", "repeats")])
def test_a_window_that_can_not_be_got_round_is_incomplete(tmp_path, faults):
    done = walk_of(Catalogue(records(700), window=300, faults=faults), tmp_path)
    assert (done.judged[0], done.judged[2]) == ("incomplete", 300)
    assert done.kinds().keys() <= {"count_mismatch", "unproven", "paging"}


@pytest.mark.slow
def test_too_many_records_of_one_date_are_incomplete(tmp_path):
    same = [Record(f"s-{number:03}", "Same", "2015-05-05T05:05:05Z") for number in range(300)]
    assert is_incomplete(walk_of(Catalogue([*records(500), *same], window=200), tmp_path), 700, "unproven")


# Records


@pytest.mark.parametrize("schema", SCHEMAS)
def test_services_are_kept_apart(output, schema):
    catalogue = Catalogue(
        [
            *records(120),
            *(Record(f"w-{number}", "Web map", level="service") for number in range(250)),
            *records(130)[120:],
        ],
        schemas=(schema,) if schema else (),
    )
    done = crawl_of(catalogue, output)
    assert is_complete(done, 130)
    assert done.report["expected"] == 130
    assert "'catalogue/not_datasets': 250" in done.log


def test_software_and_feature_catalogues_are_kept_apart(output):
    odd = [Record("s-1", "Software", level="software"), Record("t-1", "Tiles", level="tile")]
    done = crawl_of(Catalogue([*records(10), *odd, *records(1, level="series")][:12]), output)
    assert is_complete(done, 11)
    assert "t-1" in ids(done)


class Odd(Record):
    """A record whose element is broken in one way."""

    def xml(self, schema):
        text = super().xml(schema)
        return {
            "o-1": text.replace(self.id, ""),
            "o-2": '<gmd:MD_Metadata xmlns:gmd="http://unknown.example/gmd"><gmd:fileIdentifier>o-2</gmd:fileIdentifier>'
            "</gmd:MD_Metadata>",
            "o-3": '<metadata xmlns=""><idinfo>FGDC</idinfo></metadata>',
            "o-4": text.replace("2024", "soon"),
        }[self.id]


def test_a_record_that_can_not_be_read_loses_no_other(output):
    done = crawl_of(Catalogue([*records(50), *(Odd(f"o-{number}", "Odd") for number in range(1, 5))]), output)
    assert (done.code, done.report["verdict"]) == (3, "incomplete")
    assert ids(done) == ["o-2", "o-4", *expected(50)]
    assert sorted((one["kind"], one["dataset_id"]) for one in done.errors) == [
        ("missing_id", None),
        ("unsupported", None),
    ]
    [flaw] = [one["error"] for one in done.flaws if one["dataset_id"] == "o-2"]
    assert flaw == "this is an ISO record in an unknown namespace"


class Torn(Record):
    """A record in which a property has an address and a text, as GeoNetwork writes licences."""

    def xml(self, schema):
        licence = '<dct:license rdf:resource="https://example.org/l">Licence ouverte</dct:license>'
        return super().xml(schema).replace("<dcat:distribution>", f"{licence}<dcat:distribution>")


@pytest.mark.parametrize("schema", [DCAT, GEODCAT])
def test_rdf_of_which_a_statement_can_not_be_read_is_kept(output, schema):
    done = crawl_of(Catalogue([*records(3), Torn("t-1", "Torn")], schemas=(schema,)), output)
    assert (done.report["listed"], len(done.manifest)) == (4, 4)
    [line] = [line for line in done.manifest if line["dataset_title"] == "Torn"]
    assert b">Licence ouverte</dct:license>" in (done.folder / line["metadata_file"]).read_bytes()
    [flaw] = done.flaws
    assert (flaw["kind"], flaw["dataset_id"], done.code) == ("unreadable_statement", line["dataset_id"], 0)
    assert flaw["error"] == "its RDF can't be read in full: Unexpected text event: 'Licence ouverte'"


def test_an_answer_in_another_encoding_than_it_says_is_read_and_told(tmp_path):
    catalogue = Catalogue([Record("r-1", "Größe der Straßen")])

    def answer(asked):
        given = catalogue(asked)
        return Answer(given.body.decode().encode("latin-1"), given.status, given.headers)

    with Site(answer) as site:
        done = walk(spider.CSW, answers_of(site), tmp_path, url=f"{site.url}/csw")
    assert [item.title for item in done.items] == ["Größe der Straßen"]
    assert [flaw.error for flaw in done.flaws] == [
        "Its encoding is not the declared one, and was guessed (cp1252): set `encoding`."
    ]


def test_a_large_page_is_requested_in_parts(output):
    catalogue = Catalogue([Record(f"b-{number:03}", "Big " + "x" * 20_000) for number in range(100)])
    done = crawl_of(catalogue, output, DOWNLOAD_MAXSIZE="700000")
    assert is_complete(done, 100)
    assert [one.rows for one in catalogue.questions][:4] == [100, 25, 5, 5]
    assert {one.rows for one in catalogue.questions[2:]} == {5}


def test_limits(output):
    catalogue = Catalogue(records(250))
    done = crawl_of(catalogue, output, {"max_datasets": "120"})
    assert (done.code, done.report["verdict"], len(done.manifest)) == (0, "partial", 120)
    assert [(one.start, one.rows) for one in catalogue.questions] == [(1, 100), (100, 21)]
    done = crawl_of(Catalogue(records(250)), output / "resources", {"max_resources": "7"})
    assert (done.code, done.report["verdict"], len(done.manifest)) == (0, "partial", 7)
    with closing(sqlite3.connect(output / "resources" / "index.sqlite")) as db:
        assert db.execute("SELECT count(*) FROM resources").fetchone() == (7,)


# Runs that follow


def left(done):
    """All that a crawl leaves, without what distinguishes one run from another."""
    documents = {path.name: path.read_bytes() for path in (done.folder / "datasets").iterdir()}
    passing = ("time", "run", "attempts")
    lines = [
        sorted(str({name: value for name, value in line.items() if name not in passing}) for line in part)
        for part in (done.manifest, done.errors)
    ]
    counted = {name: done.report[name] for name in ("verdict", "expected", "listed", "counts", "errors")}
    return documents, *lines, counted


WALKS = {
    "one list": {"most": 20, "broken": of(30, 77), "lost": of(50)},
    "a second walk": {"most": 20, "faults": ("no_sort", "unordered")},
    "ranges": {"window": 60},
}


@pytest.mark.slow
@pytest.mark.parametrize("walk", WALKS)
def test_killed_and_resumed_it_ends_as_if_nothing_had_happened(output, tmp_path, walk):
    random.seed(walk)
    services = [Record(f"w-{number:03}", "Web map", "2010-02-02T00:00:00Z", "service") for number in range(15)]
    catalogue = Catalogue([*records(100), *services, *records(160)[100:]], **WALKS[walk])
    with Site(catalogue) as site:
        whole = crawled(site, output)
        words = options(tmp_path / "killed", {"JOBDIR": str(tmp_path / "job")}, url=f"{site.url}/csw")
        for _ in range(8):
            asked = len(site.asked)
            command = [sys.executable, "-m", "scrapy", "crawl", "csw", *words, "-sREQUESTS_PER_SECOND=40"]
            killed = forked.Popen(command, cwd=ROOT, stderr=subprocess.PIPE, text=True)
            until(lambda: len(site.asked) >= asked + 2, unless=lambda: killed.poll() is not None)  # noqa: B023
            time.sleep(random.uniform(0, 0.1))
            killed.kill()
            killed.communicate()
        ran = scrapy("crawl", "csw", *words)
    done = Crawl(ran.returncode, ran.stderr, tmp_path / "killed" / "127.0.0.1")
    assert left(done) == left(whole)
    assert done.report["listed"] == (159 if walk == "one list" else 160)


@pytest.mark.parametrize("version", CSW)
@pytest.mark.parametrize("faults", [(), ("no_post",)], ids=["POST", "GET"])
def test_only_what_changed(output, version, faults):
    catalogue = Catalogue(records(250), version=version, faults=faults)
    with Site(catalogue) as site:
        assert is_complete(crawled(site, output), 250)
        now = datetime.now(UTC)
        for number in (3, 77):
            catalogue.records[number].title += " changed"
            catalogue.records[number].modified = (now + timedelta(minutes=number)).strftime("%Y-%m-%dT%H:%M:%SZ")
        catalogue.questions.clear()
        done = crawled(site, output, {"since": "last"})
        assert (done.code, done.report["verdict"], done.report["listed"]) == (0, "complete", 2)
        assert [line["dataset_id"] for line in done.manifest[250:]] == ["r-00003", "r-00077"]
        days = {str((now - timedelta(days=days)).date()) for days in (0, 1)}
        assert {one.bounds[0] for one in catalogue.questions} <= days
        catalogue.questions.clear()
        done = crawled(site, output, {"since": "2010-09-01"})
    assert {one.bounds for one in catalogue.questions} == {("2010-09-01", "")}
    assert done.report["listed"] == 9


def test_a_server_that_does_not_filter_lists_everything(output):
    catalogue = Catalogue(records(150), faults=("no_filter",))
    catalogue.listed, catalogue.faults = (DCAT, ISO), ("no_filter", "ignores_schema")
    done = crawl_of(catalogue, output, {"since": "2010-02-01"})
    assert is_complete(done, 150)
    assert "does not filter by date: everything is listed" in done.log
    assert "'catalogue/whole_listing': True" in done.log, "what it lacks may be withdrawn"


def test_what_is_gone_twice_is_withdrawn(output):
    catalogue = Catalogue(records(150))
    with Site(catalogue) as site:
        assert is_complete(crawled(site, output), 150)
        del catalogue.records[149]
        assert crawled(site, output, {"since": "2010-01-02"}).report["counts"]["withdrawn"] == 0
        assert [crawled(site, output).report["counts"]["withdrawn"] for _ in range(2)] == [0, 1]
        last = crawled(site, output).manifest[-1]
        assert (last["dataset_id"], last["status"]) == ("r-00149", "withdrawn")
        catalogue.lost = of(5)
        del catalogue.records[100]
        assert [crawled(site, output).report["counts"]["withdrawn"] for _ in range(2)] == [0, 0], "incomplete"


@pytest.mark.parametrize("version", ["2.0.2", "3.0.0"])
def test_what_is_not_listed_is_asked_for(output, version):
    """30 of 150 are more than 2 %: the server has none of them, and has the one that it does not list."""
    catalogue = Catalogue(records(150), version=version, shows=True)
    with Site(catalogue) as site:
        assert is_complete(crawled(site, output), 150)
        del catalogue.records[100:130]
        catalogue.unlisted = of(7)
        done = crawled(site, output)
        assert (done.code, done.errors, done.report["counts"]["withdrawn"]) == (0, [], 30)
        assert {line["reason"] for line in done.manifest if line["status"] == "withdrawn"} == {"not found"}
        assert [crawled(site, output).report["counts"]["withdrawn"] for _ in range(2)] == [0, 0]


# One schema per source


def test_a_source_keeps_its_schema(output):
    """Although the server gives a richer one by and by: in that, all ids would be others."""
    catalogue = Catalogue(records(60), broken=of(*range(5, 14)))
    with Site(catalogue) as site:
        assert is_complete(crawled(site, output), 60)
        catalogue.schemas = (DCAT, ISO)
        catalogue.questions.clear()
        done = crawled(site, output)
        assert is_complete(done, 60)
        assert done.report["counts"]["new"] == 0
        assert DCAT not in {one.schema for one in catalogue.questions}
        catalogue.schemas = (DCAT,)
        done = crawled(site, output)
        assert (done.code, done.report["verdict"], done.kinds()) == (4, "failed", [("list", "refused")])
        assert "this source's records are in iso19139" in done.errors[0]["error"]
        assert "choose it with -a schema=" in done.errors[0]["error"]
        catalogue.broken = ()
        done = crawled(site, output, {"schema": "dcat"})
    assert (done.code, done.report["counts"]["new"], done.report["counts"]["withdrawn"]) == (3, 60, 0)
    assert done.kinds()[-1] == ("list", "shrink")
    assert "those in dcat have other ids" in done.log


@pytest.mark.parametrize("name", ["dublin-core", "http://www.opengis.net/cat/csw/2.0.2"])
def test_the_schema_that_the_user_chooses(output, name):
    catalogue = Catalogue(records(20), schemas=(DCAT, ISO))
    done = crawl_of(catalogue, output, {"schema": name})
    assert is_complete(done, 20)
    assert {line["metadata_source"] for line in done.manifest} == {"dublin_core"}


def test_a_schema_that_the_server_does_not_give(output):
    done = crawl_of(Catalogue(records(20)), output, {"schema": "geodcat-ap"})
    assert (done.code, done.kinds()) == (4, [("list", "refused")])
    ran = scrapy("crawl", "csw", "-aurl=https://example.org/csw", "-aschema=iso")
    assert ran.returncode == 1
    assert "schema='iso' is not one of geodcat-ap, dcat-ap, dcat, iso19115-3, iso19139, dublin-core" in ran.stderr


def test_the_address_may_be_a_request(output):
    catalogue = Catalogue(records(20))
    with Site(catalogue) as site:
        words = options(output, {}, url=f"{site.url}/csw.py?config=a.yml&SERVICE=CSW&request=GetCapabilities")
        ran = scrapy("crawl", "csw", *words)
        assert ran.returncode == 0
        paths = {one.path.partition("&")[0] for one in site.asked if one.path != "/robots.txt"}
    assert paths == {"/csw.py?config=a.yml"}


# What a hostile server sends


@pytest.mark.parametrize(
    "body",
    [
        b'<!DOCTYPE a [<!ENTITY b "bbbbbbbbbb"><!ENTITY c "&b;&b;&b;&b;&b;&b;&b;&b;&b;&b;">]><a>&c;</a>',
        b"<csw:GetRecordsResponse",
        b"\x00\xff\xfe",
        b"",
        b'{"numberMatched": 3}',
        b"<a>" * 100_000,
        b"<ExceptionReport/>",
    ],
)
def test_an_answer_that_is_something_else_is_an_error(output, body):
    def answer(asked):
        return Answer(body, headers={"Content-Type": "text/xml"}) if "csw" in asked.path else Answer(b"", 404)

    with Site(answer) as site:
        done = crawled(site, output)
    assert (done.code, done.report["verdict"]) == (4, "failed")
    assert "Traceback" not in done.log
    assert done.errors
    assert len(site.asked) < 30


@pytest.mark.parametrize("matched", ["1e9", "-5", "9" * 40, "", "٣"])
def test_a_number_that_is_none_is_no_total(output, matched):
    catalogue = Catalogue(records(130))
    plain = catalogue.response
    catalogue.response = lambda *given: re.sub('Matched="[0-9]+"', f'Matched="{matched}"', plain(*given))
    assert is_complete(crawl_of(catalogue, output), 130, "pager")
