"""The report: a page whose facts are the index's, that does no harm, and that can be read on any screen."""

from __future__ import annotations

import base64
import hashlib
import io
import json
import os
import re
import shutil
import sqlite3
import subprocess
import sys
import unicodedata
import zipfile
from contextlib import closing
from datetime import UTC, datetime
from html.parser import HTMLParser
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING

import cmarkgfm
import pytest
from cmarkgfm.cmark import Options
from lxml import html

from crawlers import settings
from crawlers.causes import ADVICE, KINDS
from crawlers.components.browser import executables
from crawlers.exceptions import SourcesError
from crawlers.operate.report.chart import Mark, apart, top
from crawlers.operate.report.report import SCRIPT, cut, environment, inert, link, write, write_summary
from crawlers.store.figures.contents import AGES, FIELDS
from crawlers.store.index import catch_up
from crawlers.store.index.database import connect
from crawlers.store.run_text import minute
from crawlers.store.runs import Run, unfinished
from tests import forked, observed
from tests.conftest import ROOT, command
from tests.indexed import indexed, recounted
from tests.site import Site, listing

if TYPE_CHECKING:
    from collections.abc import Sequence

NOW = datetime(2026, 1, 30, 12, tzinfo=UTC)
VERDICTS = ("complete", "partial", "incomplete", "blocked", "failed", "interrupted")
HOSTILE = {
    "script": "<script>alert(1)</script><img src=x onerror=alert(2)>",
    "quotes": "\"'><svg onload=alert(3)>{{ 7 * 7 }}{% raw %}",
    "bidi": "safe \u202etxt.exe\u202c \u2066hidden\u2069 \u200f",
    "controls": "a\x00b\x1b[31mc\x7f\u0085d\u2028e",
    "long": "x" * 10_000,
    "words": "word " * 2_000,
    "marks": "Z" + "\u0301" * 200 + "algo",
    "wide": "\ufdfd" * 300,
}
LINKS = ("javascript:alert(1)", " JaVaScRiPt:alert(1)", "data:text/html,x", "file:///etc/passwd", "//evil.example/x")


class Page:
    """A report as a reader's program sees it."""

    def __init__(self, source: bytes) -> None:
        self.source = source
        self.tree = html.document_fromstring(source.decode("utf-8"))

    def tables(self) -> dict[str, list[list[str]]]:
        """The cells of each table's body, by its caption."""
        return {
            words(table.find("caption")): [[words(cell) for cell in row] for row in table.iterfind("tbody/tr")]
            for table in self.tree.iter("table")
        }

    def rows(self, caption: str) -> list[list[str]]:
        return next(rows for name, rows in self.tables().items() if name.startswith(caption))

    def facts(self) -> dict[str, str]:
        return {words(one.find("dt")): words(one.find("dd")) for one in self.tree.find_class("facts")[0]}

    def links(self) -> list[str]:
        return [str(address) for address in self.tree.xpath("//a/@href")]


def words(element: html.HtmlElement) -> str:
    return " ".join(element.text_content().split())


def report(output: Path, *named: str, now: datetime = NOW, current: Sequence[Run] = ()) -> Page:
    file = io.BytesIO()
    with closing(connect(output)) as db:
        write(db, file, named, now, current)
    return Page(file.getvalue())


def ask(output: Path, query: str, *values: object) -> list[tuple]:
    with closing(sqlite3.connect(output / "index.sqlite")) as db:
        return db.execute(query, values).fetchall()


def change(output: Path, *statements: str) -> None:
    with closing(sqlite3.connect(output / "index.sqlite")) as db:
        for statement in statements:
            db.execute(statement)
        if re.search("datasets|resources|changes", " ".join(statements)):
            recounted(db)
        db.commit()


def run(output: Path, *arguments: str, **keywords):
    return command("report", "-s", f"OUTPUT_DIR={output}", *arguments, **keywords)


@pytest.fixture(scope="module")
def made(tmp_path_factory) -> Path:
    """For tests that only look: its figures are computed once."""
    output = tmp_path_factory.mktemp("made")
    indexed(output, datasets=400, sources=4)
    report(output)
    return output


@pytest.fixture
def copy(made, tmp_path) -> Path:
    """The same, for a test that changes it."""
    return Path(shutil.copytree(made, tmp_path / "copy"))


@pytest.fixture(scope="module")
def full(tmp_path_factory) -> Path:
    """An index with all that a report shows: every verdict, errors of several kinds, changes of this week."""
    output = tmp_path_factory.mktemp("full")
    indexed(output, datasets=600, sources=8)
    last = "(SELECT max(run) FROM runs WHERE source = 'source-{0}')"
    change(
        output,
        *(
            f"UPDATE runs SET verdict = '{verdict}', seconds = 3 WHERE source = 'source-{number}' AND run = "
            + last.format(number)
            for number, verdict in enumerate(VERDICTS)
        ),
        *(
            f"INSERT OR REPLACE INTO run_errors VALUES ('source-3', {last.format(3)}, '{kind}', 7)"
            for kind in ("timeout", "count_mismatch", "blocked")
        ),
        "INSERT INTO changes (source, time, run, dataset_id, status) "
        "SELECT source, strftime('%Y-%m-%dT01:02:03.000Z', 'now', '-' || (id % 6) || ' days'), 'r',"
        " dataset_id, 'updated' FROM datasets WHERE id % 5 = 0",
    )
    return output


# The facts are the index's


def test_the_first_numbers_are_those_of_the_index(made):
    facts = report(made).facts()
    ((datasets, resources),) = ask(made, "SELECT count(*), sum(resources) FROM datasets WHERE NOT withdrawn")
    ((withdrawn,),) = ask(made, "SELECT count(*) FROM datasets WHERE withdrawn")
    ((errors,),) = ask(made, "SELECT sum(count) FROM broken")
    assert facts["Datasets"] == f"{datasets} {withdrawn} more withdrawn"
    assert facts["Resources"].split()[0] == f"{resources:,}"
    ((whole,),) = ask(made, "SELECT count(*) FROM overview WHERE last_verdict = 'complete'")
    assert facts["Sources"] == f"4 {whole} complete at the last run"
    assert facts["Errors"].split()[0] == str(errors)


def test_each_source_stands_as_the_index_has_it(copy):
    change(
        copy,
        "UPDATE datasets SET contact = 'Ann' WHERE source = 'source-1' AND id % 8 = 2",
        "UPDATE datasets SET contact_email = 'bo@example.org' WHERE source = 'source-2' AND id % 8 = 3",
    )
    query = """
        SELECT source, last_verdict, datasets, resources, withdrawn, last_finished, last_complete,
            (SELECT count(*) FROM datasets d WHERE d.source = o.source AND NOT withdrawn
                AND coalesce(contact, contact_email) IS NULL),
            (SELECT count(*) FROM late WHERE late.source = o.source)
        FROM overview o ORDER BY source
    """
    told = sorted(report(copy).rows("Each source"))
    for row, known in zip(told, ask(copy, query), strict=True):
        source, verdict, datasets, resources, withdrawn, finished, complete, nameless, late = known
        assert row[:5] == [source, verdict, str(datasets), str(resources), str(withdrawn)]
        assert (row[5].split()[0], row[6].split()[0]) == (str(nameless), str(late))
        said = r"\d+ days? ago|\d+ h ago|just now" if verdict == "complete" else f"complete {minute(complete)}"
        assert re.fullmatch(f"{minute(finished)} ({said})", row[9])
    assert [row[5].endswith("100 %") for row in told] == [True, False, False, True]


def test_the_runs_are_shown_as_they_went(made):
    page = report(made)
    for row in page.tree.xpath("//table[contains(@class, 'runs')]/tbody/tr"):
        source = words(row.find("th"))
        known = ask(made, "SELECT verdict, started FROM runs WHERE source = ? ORDER BY run", source)
        marks = row.xpath(".//ol//svg")
        assert [mark.get("class") for mark in marks] == [f"mark {verdict}" for verdict, _ in known]
        for mark, (verdict, started) in zip(marks, known, strict=True):
            assert words(mark.find("title")).startswith(f"{started[:10]} {started[11:16]} {verdict}, ")
            assert mark.get("aria-label") == mark.find("title").text
        assert len(marks) == 30


def test_only_the_last_thirty_runs_are_shown(tmp_path):
    indexed(tmp_path, datasets=3, sources=1, runs=45)
    page = report(tmp_path)
    marks = page.tree.xpath("//table//ol//svg/@aria-label")
    assert page.tree.xpath("//ul[@class='strips']//ol//svg/@aria-label") == marks
    known = ask(tmp_path, "SELECT started FROM runs ORDER BY run DESC LIMIT 30")
    assert [mark[:10] for mark in marks] == [started[:10] for (started,) in reversed(known)]


def test_errors_are_told_with_what_to_do(full):
    told = report(full).rows("What is missing")
    known = ask(full, "SELECT kind, sum(count) FROM broken GROUP BY kind ORDER BY 2 DESC, 1")
    assert [(row[0], int(row[1])) for row in told] == known
    assert len(told) == 4
    for kind, _, sources, meaning, advice in told:
        among = ask(full, "SELECT source, count FROM broken WHERE kind = ? ORDER BY count DESC, source", kind)
        assert sources == ", ".join(f"{source} {count}" for source, count in among)
        assert (meaning, advice) == (KINDS[kind], ADVICE[kind])


def test_an_error_of_another_version_is_shown_without_advice(copy):
    change(copy, "UPDATE run_errors SET kind = 'meteor'")
    assert report(copy).rows("What is missing")[0][0::3] == ["meteor", ""]


def test_what_changed_this_week(copy):
    moment = "SELECT source, '2026-01-28T05:00:00.000Z', 'r', dataset_id, 'updated' FROM datasets"
    change(copy, f"INSERT INTO changes (source, time, run, dataset_id, status) {moment} WHERE id < 40")
    days = {day: row for day, *row in report(copy).rows("Changes of the last 7 days")}
    query = "SELECT substr(time, 1, 10), status, count(*) FROM changes WHERE time >= '2026-01-24' GROUP BY 1, 2"
    known = {(day, status): count for day, status, count in ask(copy, query)}
    assert list(days) == [f"2026-01-{day}" for day in range(30, 23, -1)]
    assert known
    for day, row in days.items():
        assert [int(one) for one in row] == [
            known.get((day, status), 0) for status in ("new", "updated", "withdrawn", "restored")
        ]
    sources = {source: sum(map(int, row)) for source, *row in report(copy).rows("The same changes by source")}
    query = "SELECT source, count(*) FROM changes WHERE time >= '2026-01-24' GROUP BY 1"
    assert sources == dict(ask(copy, query))
    assert list(sources.values()) == sorted(sources.values(), reverse=True)


def test_a_week_without_changes_is_a_sentence(made):
    page = report(made, now=datetime(2026, 3, 1, tzinfo=UTC))
    assert "Nothing in the last 7 days." in words(page.tree)
    assert not [name for name in page.tables() if "last 7 days" in name]


def test_the_latest_changes_are_told(made):
    page = report(made)
    told = [row for name in ("The latest changes", "Changes before those") for row in page.rows(name)]
    order = "time DESC, source DESC, dataset_id DESC, status DESC"
    known = ask(made, f"SELECT status, time FROM changes ORDER BY {order} LIMIT 200")
    assert [(status, time) for _, status, _, time in told] == [
        (status, time[:16].replace("T", " ")) for status, time in known
    ]
    pages = dict(ask(made, "SELECT title, landing_page FROM datasets"))
    links = {words(one): one.get("href") for one in page.tree.xpath("//table[contains(@class, 'flow')]//th//a")}
    assert len(links) > 100
    assert links.items() <= pages.items()


@pytest.mark.parametrize(
    ("title", "query"),
    [
        (
            "Resources of each format",
            """
            SELECT r.format, count(*) FROM resources r JOIN datasets d USING (source, dataset_id)
            WHERE NOT withdrawn GROUP BY 1
            """,
        ),
        ("Datasets under each licence", "SELECT license, count(*) FROM datasets WHERE NOT withdrawn GROUP BY 1"),
    ],
)
def test_bars_are_sorted_and_whole(made, title, query):
    told = [(name, int(count.replace(",", ""))) for name, count, _ in report(made).rows(title)]
    known = {name or "not stated": count for name, count in ask(made, query)}
    assert dict(told) == known
    assert told[-1][0] == "not stated"
    assert [count for _, count in told[:-1]] == sorted((count for _, count in told[:-1]), reverse=True)


def test_many_formats_are_twelve_and_the_rest(copy):
    change(copy, "UPDATE resources SET format = 'F' || (abs(random()) % 40) WHERE format IS NOT NULL")
    told = [(name, int(count)) for name, count, _ in report(copy).rows("Resources of each format")]
    ((kinds,),) = ask(copy, "SELECT count(DISTINCT format) FROM formats WHERE format")
    assert len(told) == 14
    assert told[12][0].endswith(" other formats")
    ((total,),) = ask(copy, "SELECT sum(resources) FROM formats")
    assert sum(count for _, count in told) == total
    assert kinds == 0  # copy-up names are no numbers


def test_freshness_is_the_views(made):
    told = {source: [int(one) for one in row] for source, *row in report(made).rows("Freshness")}
    for source, age, count in ask(made, "SELECT * FROM freshness"):
        assert told[source][list(AGES).index(age)] == count
    assert told["All sources"] == [sum(column) for column in zip(*list(told.values())[1:], strict=True)]
    assert next(iter(told)) == "All sources"


def test_completeness_is_the_views(copy):
    change(copy, "UPDATE datasets SET frequency = NULL WHERE id > 3", "UPDATE datasets SET issued = NULL WHERE id = 7")
    told = {source: row for source, *row in report(copy).rows("Which fields")}
    for source, field, filled, datasets in ask(copy, "SELECT * FROM completeness"):
        if field in FIELDS:
            share, cell = 100 * filled / datasets, told[source][list(FIELDS).index(field)]
            assert cell == "<1" if 0 < share < 1 else abs(int(cell) - share) <= 1
            assert (cell == "100") == (filled == datasets)
            assert (cell == "0") == (filled == 0)


def test_growth_ends_with_what_there_is(made):
    (last, *_), *_ = [report(made).rows("Growth")]
    day, total, *named = last
    ((known,),) = ask(made, "SELECT count(*) FROM datasets WHERE NOT withdrawn")
    assert (day, total) == ("2026-01-30", str(known))
    assert [int(one) for one in named] == sorted((int(one) for one in named), reverse=True)
    assert report(made).rows("Growth")[-1][1:2] == ["0"]


def test_a_day_that_is_none_spoils_nothing(copy):
    before = report(copy).rows("Growth")
    change(
        copy,
        "INSERT INTO changes (source, time, run, dataset_id, status) "
        "VALUES ('source-0', 'yesterday', 'r', 'x', 'new'), ('source-0', '', 'r', 'y', 'new')",
    )
    assert [row[0] for row in report(copy).rows("Growth")] == [row[0] for row in before]


def test_a_dataset_of_two_catalogues_is_told(copy):
    change(
        copy,
        "DELETE FROM datasets WHERE id > 9",
        "UPDATE datasets SET title = 'Same', publisher = 'Office', landing_page = NULL, uri = NULL, identifier = NULL"
        " WHERE id IN (1, 2, 3)",
    )
    ((datasets,),) = ask(copy, "SELECT count(*) FROM datasets WHERE title = 'Same' AND NOT withdrawn")
    told = report(copy).rows("The same address")
    assert ["Same", "title and publisher", str(datasets)] in [row[:3] for row in told]
    assert len(told) == len(ask(copy, "SELECT * FROM duplicates"))


def test_only_the_sources_that_are_named(made):
    page = report(made, "source-1", "source-2")
    assert sorted(row[0] for row in page.rows("Each source")) == ["source-1", "source-2"]
    datasets = ask(made, "SELECT count(*) FROM datasets WHERE source IN ('source-1', 'source-2') AND NOT withdrawn")
    assert page.facts()["Datasets"].split()[0] == str(datasets[0][0])
    shown = page.tree.xpath("//section[not(@aria-labelledby = 'duplicates')]")
    assert not [one for one in shown if "source-0" in words(one) or "source-3" in words(one)]
    formats = ask(
        made,
        "SELECT count(*) FROM resources JOIN datasets USING (source, dataset_id)"
        " WHERE source IN ('source-1', 'source-2') AND NOT withdrawn",
    )
    assert sum(int(row[1].replace(",", "")) for row in page.rows("Resources of each format")) == formats[0][0]


def test_a_source_that_is_not_there_is_told(made):
    with pytest.raises(
        SourcesError, match=r"source-9'\. Did you mean source-3\? There are: source-0, source-1, source-2, source-3\."
    ):
        report(made, "source-9")
    assert report(made, "new", current=[Run(source="new", run=None, state="pending")]).rows("Each source")


# How the sources stand


def begun(source: str, state: str, run: str | None = "20260129T030000Z", **more) -> Run:
    return Run(source=source, state=state, run=run, started="2026-01-29T03:00:00.000Z", listed=30, expected=120, **more)


@pytest.fixture
def well(copy) -> Path:
    """All sources are complete."""
    change(copy, "UPDATE runs SET verdict = 'complete', failed = 0", "DELETE FROM run_errors")
    change(copy, "DELETE FROM runs WHERE run > '20260129'")
    return copy


def test_a_run_that_died_is_interrupted_and_to_be_looked_at(well):
    before, after = report(well), report(well, current=[begun("source-2", "interrupted")])
    assert "Needs attention Nothing: no last run failed" in words(before.tree)
    assert "None: nothing is missing after the last runs." in words(before.tree)
    (row,) = after.rows("The sources that need attention")
    assert row[:3] == ["source-2", "interrupted 30 of 120 datasets", "it crashed"]
    assert row[4].endswith("it goes on where it was. scrapy harvest source-2")
    assert "nothing is missing" not in words(after.tree)
    assert "The last run of source-2 crashed and left no report" in words(after.tree)
    assert [row[:2] for row in after.rows("Each source")][:2] == [["source-2", "interrupted"], ["source-0", "complete"]]
    assert after.facts()["Sources"].startswith("4 3 complete")
    marks = after.tree.xpath("//table[contains(@class, 'runs')]//tr[th//bdi = 'source-2']//ol//svg/@aria-label")
    assert marks[-1] == "2026-01-29 03:00 interrupted, 30 of 120 datasets listed so far"


def test_a_run_that_goes_on_is_one_mark(well):
    change(well, "UPDATE runs SET verdict = 'interrupted' WHERE source = 'source-2' AND run = '20260128T030000Z'")
    page = report(well, current=[begun("source-2", "running", "20260128T030000Z")])
    marks = page.tree.xpath("//table[contains(@class, 'runs')]//tr[th//bdi = 'source-2']//ol//svg/@class")
    assert marks[-2:] == ["mark complete", "mark running"]
    assert page.rows("Each source")[0][:2] == ["source-2", "interrupted running"]


def test_what_is_at_work_or_waits_is_told(well):
    page = report(
        well, current=[begun("source-3", "running"), begun("new", "pending", None), begun("first", "running")]
    )
    told = {row[0]: row[1:3] for row in page.rows("Each source")}
    ((there,),) = ask(well, "SELECT count(*) FROM datasets WHERE source = 'source-3' AND NOT withdrawn")
    assert told["source-3"] == ["complete running", str(there)]
    assert (told["new"], told["first"]) == (["pending", "0"], ["running", "0"])
    assert page.facts()["Sources"] == "6 4 complete at the last run, 2 running"
    check(page)


def test_a_source_whose_first_run_died_has_its_datasets(well):
    change(well, "DELETE FROM runs WHERE source = 'source-1'")
    assert dict(row[:2] for row in report(well).rows("Each source"))["source-1"] == "never run"
    row = report(well, current=[begun("source-1", "interrupted")]).rows("Each source")[0]
    ((there,),) = ask(well, "SELECT count(*) FROM datasets WHERE source = 'source-1' AND NOT withdrawn")
    assert row[:3] == ["source-1", "interrupted", str(there)]


def test_dead_runs_on_disk_are_in_the_report(finished, tmp_path):
    output = finished.copy(tmp_path, "city", "nation").output
    running = {"run": "20301121T030000Z", "spider": "ckan", "listed": 3, "heartbeat": "2030-11-21T03:01:00.000Z"}
    (output / "city" / "running.json").write_text(json.dumps(running))
    (output / "young").mkdir()
    (output / "young" / "running.json").write_text(json.dumps(running))
    assert [run.source for run in unfinished(output)] == ["city", "young"]
    ran = run(output, "-o", str(tmp_path / "x.html"))
    assert (ran.returncode, ran.stderr) == (0, "")
    told = Page((tmp_path / "x.html").read_bytes()).rows("Each source")
    assert [row[:3] for row in told[:2]] == [["city", "interrupted", "6"], ["young", "interrupted", "0"]]
    assert [row[:3] for row in told[2:]] == [["nation", "complete", "8"]]


def test_sources_that_need_a_look_come_first_then_as_people_count(tmp_path):
    indexed(tmp_path, datasets=12, sources=12)
    last = "run = (SELECT max(run) FROM runs)"
    change(tmp_path, "UPDATE runs SET verdict = 'complete'")
    for source, verdict in (("source-11", "incomplete"), ("source-4", "failed"), ("source-10", "failed")):
        change(tmp_path, f"UPDATE runs SET verdict = '{verdict}' WHERE source = '{source}' AND {last}")
    page = report(tmp_path, now=datetime(2026, 2, 3, tzinfo=UTC))
    shown = [row[0].removeprefix("source-") for row in page.rows("Each source")]
    assert shown == ["4", "10", "11", "0", "1", "2", "3", "5", "6", "7", "8", "9"]
    assert [row[0].removeprefix("source-") for row in page.rows("Verdicts, durations")] == shown


def test_what_is_to_be_looked_at_leads_to_its_row(tmp_path):
    indexed(tmp_path, datasets=20, sources=20)
    change(tmp_path, "UPDATE runs SET verdict = 'failed'")
    page = report(tmp_path, now=datetime(2026, 2, 3, tzinfo=UTC))
    links = page.tree.xpath("//section[@aria-labelledby='attention']//a")
    of_rows = [one for one in links if one.get("href").startswith("#source-")]
    assert [words(one) for one in of_rows] == [f"source-{number}" for number in (*range(4), *range(5))]
    for link_ in of_rows:
        assert words(page.tree.get_element_by_id(link_.get("href")[1:]).find("th")) == words(link_)
    more = [(words(one), one.get("href")) for one in links if "more" in words(one)]
    assert more == [("16 more", "#sources"), ("15 more sources", "#runs")]


def test_a_source_that_stopped_is_silent(well):
    change(well, "DELETE FROM runs WHERE source = 'source-3' AND run > '20260111'")
    page = report(well)
    assert page.rows("Each source")[0][1] == "complete no run since 2026-01-10"
    assert page.rows("The sources that need attention")[0][:2] == ["source-3", "no run since 2026-01-10"]
    assert "no run since" not in words(report(well, current=[begun("source-3", "running")]).tree)
    change(well, "DELETE FROM runs WHERE source = 'source-3' AND run NOT IN ('20260101T030000Z', '20260110T030000Z')")
    assert "no run since" not in words(report(well).tree), "two runs say nothing of what is usual"


def test_weekly_runs_are_not_silent_after_a_week(well):
    weekly = "substr(run, 7, 2) NOT IN ('01', '08', '15', '22')"
    change(well, f"DELETE FROM runs WHERE source = 'source-3' AND {weekly}")
    assert "no run since" not in words(report(well).tree)
    assert "no run since 2026-01-22" in words(report(well, now=datetime(2026, 2, 13, tzinfo=UTC)).tree)


def test_a_small_line_says_from_what_to_what(well):
    change(well, "UPDATE runs SET seconds = 60 + 60 * (substr(run, 7, 2) % 3) WHERE source = 'source-0'")
    rows = {row[0]: row for row in report(well).rows("Verdicts, durations")}
    assert rows["source-0"][2].endswith("1 min to 3 min")
    assert rows["source-1"][2] == "7 min", "all the same: no line"
    lines = report(well).tree.xpath("//tr[th//bdi = 'source-0']//svg[contains(@class, 'spark')]")
    assert lines[0].get("aria-label").endswith("from 1 min to 3 min")
    heights = re.findall(r" ([\d.]+)", lines[0].xpath("string(path/@d)"))
    assert {*heights} == {"0", "10", "20"}


def test_an_incremental_run_does_not_fall_to_one(well):
    change(
        well,
        "UPDATE runs SET since = '2026-01-10T03:00:00Z', listed = 1, expected = 1"
        " WHERE source = 'source-1' AND run > '20260110'",
    )
    row = next(row for row in report(well).rows("Verdicts, durations") if row[0] == "source-1")
    ((there,),) = ask(well, "SELECT count(*) FROM datasets WHERE source = 'source-1' AND NOT withdrawn")
    assert row[3].endswith(f" {there} 0 to {there}"), "it begins before the first dataset"
    assert row[4] == "1 changed"
    marks = report(well).tree.xpath("//tr[th//bdi = 'source-1']//ol//svg/@aria-label")
    assert "1 of 1 datasets that had changed listed" in marks[-1]
    assert "changed" not in marks[0]


def test_growth_goes_in_steps(made):
    paths = report(made).tree.xpath("//div[contains(@class, 'chart')]//path[contains(@class, 'series')]/@d")
    assert paths
    assert all(re.fullmatch(r"M0 [\d.]+(H[\d.]+V[\d.]+)+H100", path) for path in paths)


# A page that keeps the rules


class Balanced(HTMLParser):
    """Every element is closed by its own tag."""

    VOID = ("meta", "link", "br", "img", "input", "hr", "wbr")

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.wrong: list[str] = []

    def handle_starttag(self, tag, attrs):
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        pass

    def handle_endtag(self, tag):
        if not self.open or self.open.pop() != tag:
            self.wrong.append(f"{tag} at {self.getpos()}")


def check(page: Page) -> None:
    """What holds for every report."""
    tree, parser = page.tree, Balanced()
    parser.feed(page.source.decode())
    assert (parser.wrong, parser.open) == ([], [])
    assert tree.get("lang") == "en"
    assert [one.text for one in tree.iter("script")] == [SCRIPT]
    assert not list(tree.iter("iframe", "object", "embed", "form", "base", "audio", "video", "img"))
    assert not [name for one in tree.iter() for name in one.attrib if name.startswith("on") or name == "src"]
    policy = tree.xpath("//meta[@http-equiv='Content-Security-Policy']/@content")[0]
    digest = base64.b64encode(hashlib.sha256(SCRIPT.encode()).digest()).decode()
    assert policy.startswith(
        f"default-src 'none'; script-src 'sha256-{digest}'; style-src 'unsafe-inline'; img-src data:;"
    )
    assert "url(" not in page.source.decode()
    assert "@import" not in page.source.decode()
    ids = tree.xpath("//@id")
    assert len(ids) == len(set(ids))
    inside = [one for one in tree.xpath("//@href") if one.startswith("#")]
    assert {one[1:] for one in inside} <= set(ids)
    outside = [one for one in tree.xpath("//*[not(self::link)]/@href") if not one.startswith("#")]
    assert all(one.startswith(("http://", "https://")) for one in outside)
    check_headings(tree)


def check_headings(tree) -> None:
    levels = [int(one.tag[1]) for one in tree.iter("h1", "h2", "h3", "h4")]
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(after <= before + 1 for before, after in pairwise(levels))
    for table in tree.iter("table"):
        assert words(table.find("caption"))
        assert all(one.get("scope") in ("row", "col") for one in table.iter("th"))
    assert all(one.get("aria-label") or one.get("aria-hidden") for one in tree.iter("svg"))
    assert all(one.get("aria-label") for one in tree.xpath("//*[@role='img' or @role='region']"))
    for figure in tree.iter("figure"):
        assert figure.xpath("figcaption[h3 and p]")
        assert list(figure.iter("table")) or "nothing to show" in words(figure)


@pytest.mark.parametrize(
    ("sources", "datasets", "runs"),
    [(1, 5, 1), (1, 1, 2), pytest.param(60, 600, 30, marks=pytest.mark.slow), (2, 0, 3), (3, 30, 0)],
)
def test_a_report_of_any_size_keeps_the_rules(tmp_path, sources, datasets, runs):
    indexed(tmp_path, datasets=datasets, sources=sources, runs=runs)
    page = report(tmp_path)
    check(page)
    rows = page.rows("Each source")
    assert len(rows) == sources
    assert all((row[1] == "never run") == (runs == 0) for row in rows)
    if not datasets:
        assert words(page.tree).count("There is nothing to show yet.") == 6


def test_a_report_of_nothing(tmp_path):
    indexed(tmp_path, datasets=0, sources=0)
    page = report(tmp_path)
    check(page)
    assert "The index has no source yet. Crawl one: scrapy crawl ckan -a portal=https://" in words(page.tree)


@pytest.mark.slow
def test_a_report_does_not_grow_with_the_datasets(tmp_path):
    sizes = []
    for datasets in (1_000, 8_000):
        output = tmp_path / str(datasets)
        indexed(output, datasets=datasets)
        sizes.append(len(report(output).source))
    assert sizes[1] < 1.1 * sizes[0]


# Hostile text


def hostile(output: Path) -> Page:
    """Every text of datasets and resources that a report might show is hostile, titles one after the other."""
    with closing(sqlite3.connect(output / "index.sqlite")) as db:
        for number, text in enumerate(HOSTILE.values()):
            stored = text.replace("\0", "")
            among = (stored, number, len(HOSTILE))
            for column in ("title", "name", "publisher", "license"):
                db.execute(f"UPDATE datasets SET {column} = ? WHERE id % ?3 = ?2", among)
        for number, address in enumerate(LINKS):
            db.execute("UPDATE datasets SET landing_page = ? WHERE id % ? = ?", (address, len(LINKS), number))
        db.execute("UPDATE resources SET format = ? WHERE position = 0", (HOSTILE["script"],))
        db.execute("UPDATE resources SET format = ? WHERE position = 1", (HOSTILE["wide"],))
        db.execute("UPDATE resources SET format = ? WHERE position = 2", (HOSTILE["bidi"],))
        recounted(db)
        db.commit()
    return report(output)


def check_text(page: Page) -> None:
    """No text acts on what is around it, and none is long."""
    check(page)
    for text in page.tree.xpath("//body//text()|//body//@*"):
        kinds = {unicodedata.category(letter) for letter in text.replace("\n", "").replace("\t", "")}
        assert not kinds & {"Cc", "Cf", "Cs", "Zl", "Zp"}, ascii(text[:80])
        marks = "".join("m" if unicodedata.combining(letter) else "." for letter in text)
        assert "mmmm" not in marks
    assert all(len(one) < 300 for one in page.tree.xpath("//body//text()[not(parent::script)]"))


def test_hostile_titles_are_shown_and_inert(copy):
    page = hostile(copy)
    check_text(page)
    assert all(one.startswith("#") for one in page.links())
    titles = [row[0] for row in page.rows("The latest changes") + page.rows("Changes before those")]
    assert any(title.startswith("<script>alert(1)</script>") for title in titles)
    assert any(title.startswith("safe txt.exe hidden") for title in titles)
    assert any("{{ 7 * 7 }}" in title for title in titles)
    assert max(map(len, titles)) <= 161
    assert "<script>alert(1)</script><img src=x onerror=alert(2)>" in [
        row[0] for row in page.rows("Resources of each format")
    ]


def test_a_hostile_portal_is_crawled_and_reported(crawl, output, tmp_path):
    records = [
        {"id": f"id-{number}", "name": name, "title": title, "url": address, "license_title": title, "notes": title}
        | {"resources": [{"id": f"r-{number}", "format": title[:300], "url": address, "name": title}]}
        | {"metadata_modified": "2026-11-20T00:00:00"}
        for number, (name, title) in enumerate(HOSTILE.items())
        for address in LINKS[number % len(LINKS) :][:1]
    ]
    with Site(lambda asked: listing(*records)) as site:
        done = crawl("ckan", site, source="odd")
    ((datasets,),) = ask(output, "SELECT count(*) FROM datasets")
    assert datasets == len(HOSTILE), done.log
    file = tmp_path / "report.html"
    ran = run(output, "-o", str(file))
    assert (ran.returncode, ran.stderr) == (0, "")
    page = Page(file.read_bytes())
    check_text(page)
    assert len(page.rows("The latest changes")) == len(HOSTILE)
    assert [one for one in page.links() if one.startswith("http")] == [
        one for one in page.links() if one.startswith(site.url)
    ]


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        (None, ""),
        (7, 7),
        ("نص عادي", "نص عادي"),
        ("می\u200cخواهم", "می\u200cخواهم"),
        ("a\nb\tc", "a\nb\tc"),
        ("a\rb\x0bc", "abc"),
        ("\ufeffa\u00adb", "ab"),
        ("e\u0301\u0301\u0301\u0301", "e\u0301\u0301\u0301"),
        ("\ud800x", "x"),
    ],
)
def test_what_acts_is_left_out(text, shown):
    assert inert(text) == shown


@pytest.mark.parametrize(
    ("address", "leads"),
    [
        ("https://example.org/a?b=c#d", "https://example.org/a?b=c#d"),
        ("HTTP://example.org", "HTTP://example.org"),
        *((one, None) for one in LINKS),
        ("java\tscript:alert(1)", None),
        ("https://", None),
        ("https://user@example.org/", None),
        ("http://[::1", None),
        ("https://example.org/" + "a" * 3000, None),
        ("vbscript:x", None),
    ],
)
def test_where_a_link_may_lead(address, leads):
    assert link(address) == leads


def test_a_cut_is_never_longer():
    assert cut("a b " * 500, 10) == "a b a b a…"
    assert cut("\u202e" * 5000 + "late", 10) == "…"
    assert cut("ten letter", 10) == "ten letter"
    assert cut(None) == ""


def test_templates_escape_whatever_they_are_given():
    made = environment().from_string("{{ one }}<a title='{{ one }}'>{{ one ~ two }}</a>")
    assert "<script" not in made.render(one="<script>'", two="<script>")
    assert "\u202e" not in made.render(one="\u202e", two="\u202e")


# As Markdown


def summary(output: Path, *named: str, current: Sequence[Run] = ()) -> tuple[html.HtmlElement, bytes]:
    """The summary as GitHub's own parser renders it, and its bytes."""
    file = io.BytesIO()
    with closing(connect(output)) as db:
        write_summary(db, file, named, current)
    rendered = cmarkgfm.github_flavored_markdown_to_html(file.getvalue().decode(), Options.CMARK_OPT_UNSAFE)
    return html.fragment_fromstring(rendered, create_parent="body"), file.getvalue()


def rows(table: html.HtmlElement) -> list[list[str]]:
    return [[words(cell) for cell in row] for row in table.iterfind("tbody/tr")]


def test_a_summary_has_each_source_with_its_last_run_and_its_errors(full):
    page, source = summary(full)
    sources, errors, latest = page.iter("table")
    query = "SELECT source, last_verdict, datasets FROM overview ORDER BY source"
    assert sorted(row[:3] for row in rows(sources)) == [[*map(str, row)] for row in ask(full, query)]
    new, failed = ask(full, "SELECT new, failed FROM runs WHERE source = 'source-3' ORDER BY run DESC LIMIT 1")[0]
    row = next(row for row in rows(sources) if row[0] == "source-3")
    assert row[3:9] == ["1,029", str(new), "1", "2", str(failed), "3.0 s"]
    kinds = ask(full, "SELECT kind, sum(count) FROM broken GROUP BY kind ORDER BY 2 DESC, 1")
    assert [(row[0], int(row[1])) for row in rows(errors)] == kinds
    assert [row[3:] for row in rows(errors)] == [[KINDS[kind], ADVICE[kind]] for kind, _ in kinds]
    assert len(rows(latest)) == 20
    assert source.endswith(b"|\n")


def test_hostile_texts_are_cells_of_a_summary(copy):
    told = {
        **HOSTILE,
        "table": "a|b\n|---|\n| c",
        "link": "[x](javascript:alert(1)) www.evil.example https://evil.example",
    }
    told |= {"inline": "`code` *b* __c__ ~~d~~ <!-- $x$ @someone #1", "escape": "\\| \\", "entity": "&lt;b&gt; &#124;"}
    with closing(sqlite3.connect(copy / "index.sqlite")) as db:
        for number, text in enumerate(told.values()):
            db.execute(
                "UPDATE datasets SET title = ? WHERE id / 28 % ? = ?", (text.replace("\0", ""), len(told), number)
            )
        db.execute("UPDATE run_errors SET kind = 'a|<b>'")
        db.commit()
    page, _ = summary(copy)
    assert {cell.tag for cell in page.iter()} == {*"body h2 h3 p strong table thead tbody tr th td".split()}
    sources, errors, latest = page.iter("table")
    assert {len(row) for row in rows(sources)} == {10}
    assert rows(errors)[0][0] == "a|<b>"
    shown = {title for title, *_ in rows(latest)}
    assert {len(row) for row in rows(latest)} == {4}
    assert shown <= {cut(text.replace("\0", "")) for text in told.values()}
    assert len(shown) > 10


@pytest.mark.slow
def test_a_summary_of_anything_is_less_than_github_takes(tmp_path):
    indexed(tmp_path, datasets=40, sources=2)
    with closing(sqlite3.connect(tmp_path / "index.sqlite")) as db:
        for number in range(3000):
            name = f"{number:_>100}"
            db.execute("INSERT INTO sources (source, manifest_bytes, manifest_tail) VALUES (?, 0, '')", (name,))
            db.execute("INSERT INTO run_errors SELECT ?, run, kind || ?, 1 FROM run_errors LIMIT 1", (name, number))
        db.execute("UPDATE datasets SET title = ?", ("\U0001f600|" * 500,))
        db.commit()
    current = [Run(source=f"{number:_>100}", run=None, state="interrupted") for number in range(3000)]
    page, source = summary(tmp_path, current=current)
    assert len(source) < 1 << 20
    assert "2,602 more sources are not shown." in words(page)


def test_a_summary_of_nothing(tmp_path):
    indexed(tmp_path, datasets=0, sources=0)
    assert summary(tmp_path)[1] == b"## 0 of 0 sources complete\n\nThe index has no source yet.\n"


def test_a_summary_is_written_to_standard_output(finished, tmp_path):
    output = finished.output
    ran = run(output, "--format", "markdown", "nation")
    assert (ran.returncode, ran.stderr) == (0, "")
    assert ran.stdout.startswith("## 1 of 1 sources complete\n\n8 datasets,")
    assert run(output, "--format", "markdown", "-o", str(tmp_path / "x.md")).stdout == f"Wrote {tmp_path / 'x.md'}.\n"
    assert (tmp_path / "x.md").read_text().startswith("## 6 of 8 sources complete")


# Advice


def test_every_kind_of_error_has_advice():
    assert set(ADVICE) == set(KINDS)
    assert all(text[0].isupper() and text.endswith((".", "?")) and len(text) < 130 for text in ADVICE.values())


def test_advice_names_settings_that_there_are():
    names = set(re.findall(r"\b[A-Z]+(?:_[A-Z]+)+\b", " ".join(ADVICE.values()))) - {"DOWNLOAD_TIMEOUT"}
    assert not [name for name in names if not hasattr(settings, name)]


# Plots


def test_names_of_lines_never_touch():
    marks = apart([Mark(str(number), at) for number, at in enumerate((100, 100, 99, 50, 49, 0))])
    places = [mark.at for mark in marks]
    assert all(after - before >= 7.99 for before, after in pairwise(places))
    assert places[0] >= 0
    assert places[-1] <= 100


@pytest.mark.parametrize("most", [0, 1, 2, 3, 9, 10, 11, 99, 101, 1_234, 26_456, 10**7])
def test_an_axis_has_few_ticks_at_round_numbers(most):
    end, step = top(most)
    assert end >= most
    assert 1 <= end / step <= 5
    assert step in (1, *(one * 10**power for one in (1, 2, 5) for power in range(8)))


# The command


def test_crawls_are_reported_as_they_went(crawl, portal, output, tmp_path):
    healthy, faulty = portal(datasets=12), portal(datasets=9)
    crawl("ckan", healthy, source="town")
    crawl("ckan", healthy, source="town")
    crawl("ckan", faulty, source="part", max_datasets="4")
    faulty.stop()
    crawl("ckan", faulty, source="dead", settings={"RETRY_TIMES": "0"})
    ran = run(output, "-o", str(tmp_path / "x.html"))
    assert (ran.returncode, ran.stdout, ran.stderr) == (0, f"Wrote {tmp_path / 'x.html'}.\n", "")
    page = Page((tmp_path / "x.html").read_bytes())
    check(page)
    told = {row[0]: row[1:3] for row in page.rows("Each source")}
    assert told == {"dead": ["failed", "0"], "part": ["partial", "4"], "town": ["complete", "12"]}
    assert [(row[0], row[2]) for row in page.rows("What is missing")] == [("connection", "dead 1")]
    assert page.rows("The sources that need attention")[0][:3] == ["dead", "failed", "connection 1"]
    marks = page.tree.xpath("//table[contains(@class, 'runs')]//tr[th//bdi = 'town']//ol//svg/@class")
    assert marks == ["mark complete", "mark complete"]
    assert page.facts()["Changes"].startswith("16 ")
    shown = {row[0] for row in page.rows("The latest changes")}
    listed = [json.loads(path.read_bytes()) for path in output.glob("*/datasets/*.json")]
    assert len(shown & {" ".join(one["title"].split()) for one in listed}) > 5


def test_an_index_that_is_gone_is_made_anew(finished, tmp_path):
    ran = run(finished.copy(tmp_path, "city").output, "-o", "-")
    assert (ran.returncode, ran.stderr) == (0, "")
    assert Page(ran.stdout.encode()).facts()["Datasets"].startswith("6 ")


def test_the_page_is_written_where_you_are(made, tmp_path):
    there = tmp_path / "there"
    there.mkdir()
    environment_ = {**os.environ, "PYTHONPATH": str(ROOT), "SCRAPY_SETTINGS_MODULE": "crawlers.settings"}
    command = [sys.executable, "-W", "error", "-m", "scrapy", "report", "-s", f"OUTPUT_DIR={made}"]
    ran = forked.run(command, cwd=there, env=environment_, capture_output=True, text=True, check=False)
    assert (ran.returncode, ran.stdout, ran.stderr) == (0, "Wrote report.html.\n", "")
    assert [path.name for path in there.iterdir()] == ["report.html"]


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["-o", ""], "-o names no file: give one, or - for standard output.\n"),
        (["-o", "."], "-o names no file: give one, or - for standard output.\n"),
        (["-o", "/"], "-o names no file: give one, or - for standard output.\n"),
        (["-o", "{made}/no/x.html"], "{made}/no/x.html can't be written: No such file or directory.\n"),
        (["-o", "{made}"], "{made} can't be written: Is a directory.\n"),
    ],
)
def test_a_mistake_is_a_sentence_and_leaves_nothing(made, tmp_path, arguments, told):
    before = sorted(path.name for path in made.iterdir() if not path.name.endswith(("-shm", "-wal")))
    kept = tmp_path / "kept.html"
    kept.write_text("before")
    words_ = [one.format(made=made) for one in arguments]
    ran = run(made, *(words_ if "-o" in words_ else ["-o", str(kept), *words_]))
    assert (ran.returncode, ran.stdout, ran.stderr) == (1, "", told.format(made=made))
    assert sorted(path.name for path in made.iterdir() if not path.name.endswith(("-shm", "-wal"))) == before
    assert kept.read_text() == "before"
    assert not [*made.parent.glob(".*.writing"), *tmp_path.glob(".*.writing")]


def test_no_index_is_a_sentence(tmp_path):
    ran = run(tmp_path / "none", "-o", str(tmp_path / "x.html"))
    assert ran.returncode == 1
    assert ran.stderr.startswith(f"{tmp_path / 'none'} has no index.sqlite: crawl a source first")
    assert not list(tmp_path.iterdir())


def test_an_index_that_is_none_is_a_sentence(tmp_path):
    (tmp_path / "index.sqlite").write_bytes(b"no database, but long enough to be one" * 99)
    ran = run(tmp_path, "-o", str(tmp_path / "x.html"))
    assert ran.returncode == 1
    assert re.fullmatch(r".*index\.sqlite can't be .*\n", ran.stderr)
    assert [path.name for path in tmp_path.iterdir()] == ["index.sqlite"]


def test_an_index_that_is_damaged_is_a_sentence(copy, tmp_path):
    with (copy / "index.sqlite").open("r+b") as file:
        file.seek(40_960)
        file.write(b"\xff" * 400_000)
    (tmp_path / "x.html").write_text("before")
    ran = run(copy, "-o", str(tmp_path / "x.html"))
    assert (ran.returncode, ran.stdout) == (1, "")
    assert re.fullmatch(r".*index\.sqlite can't be .* rebuild it with `scrapy reindex`\.", ran.stderr.splitlines()[-1])
    assert "Traceback" not in ran.stderr
    assert (tmp_path / "x.html").read_text() == "before"


def test_templates_are_found_in_an_egg(tmp_path):
    egg = tmp_path / "project.egg"
    with zipfile.ZipFile(egg, "w") as file:
        for path in (ROOT / "crawlers").rglob("*"):
            if path.suffix in (".py", ".html", ".css", ".js", ".svg", ".toml"):
                file.write(path, path.relative_to(ROOT))
    code = "from crawlers.operate.report.report import environment as e; import crawlers; "
    code += "print(crawlers.__file__, end=' '); "
    code += "print(e().get_template('report.html').name, e().get_template('style.css').name)"
    ran = subprocess.run(
        [sys.executable, "-c", code],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(egg)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.stdout.split() == [str(egg / "crawlers/__init__.py"), "report.html", "style.css"], ran.stderr


# In a browser

CONTRAST = """() => {
  const light = value => (value /= 255) <= 0.03928 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4;
  const luminance = colour => 0.2126 * light(colour[0]) + 0.7152 * light(colour[1]) + 0.0722 * light(colour[2]);
  const parts = text => (text.match(/[\\d.]+/g) || []).map(Number);
  const ground = element => {
    for (; element; element = element.parentElement) {
      const colour = parts(getComputedStyle(element).backgroundColor);
      if (colour.length == 3 || colour[3] == 1) return colour;
    }
    return [255, 255, 255];
  };
  const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT), found = [];
  while (texts.nextNode()) {
    const element = texts.currentNode.parentElement, style = getComputedStyle(element);
    if (!texts.currentNode.data.trim() || element.closest('svg') || style.visibility == 'hidden') continue;
    const pair = [luminance(parts(style.color)), luminance(ground(element))].sort((a, b) => b - a);
    found.push([(pair[0] + 0.05) / (pair[1] + 0.05), element.className + ' ' + texts.currentNode.data.slice(0, 40)]);
  }
  return found;
}"""
MARKS = """() => [...document.querySelectorAll('.mark, .bar, .series:not(.minor)')].map(one => {
  const style = getComputedStyle(one);
  return [one.getAttribute('class'), style.fill, style.backgroundColor, style.stroke];
})"""
COLOURS = """async source => {
  const image = await createImageBitmap(await (await fetch(source)).blob());
  const canvas = new OffscreenCanvas(image.width, image.height), context = canvas.getContext('2d');
  context.drawImage(image, 0, 0);
  const pixels = context.getImageData(0, 0, image.width, image.height).data, counts = {};
  for (let at = 0; at < pixels.length; at += 4) {
    const name = [pixels[at], pixels[at + 1], pixels[at + 2]].join();
    counts[name] = (counts[name] || 0) + 1;
  }
  return {width: image.width, height: image.height, colours: Object.entries(counts).sort((a, b) => b[1] - a[1])};
}"""


@pytest.fixture(scope="module")
def browser():
    from playwright.sync_api import sync_playwright  # noqa: PLC0415 -- only where there is a browser

    path = next(found for name in executables.NAMES if (found := shutil.which(name)))
    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=path, args=["--no-sandbox"])
        yield chromium
        chromium.close()


@pytest.fixture
def opened(browser):
    """Opens a file as a browser of a scheme and a width shows it; nothing may be said on the console, or asked for."""
    contexts = []

    def open_(file: Path, scheme: str = "light", width: int = 1280):
        contexts.append(browser.new_context(color_scheme=scheme, viewport={"width": width, "height": 900}))
        page = contexts[-1].new_page()
        page.said, page.asked = [], []
        page.on("console", lambda message: page.said.append(message.text))
        page.on("pageerror", lambda error: page.said.append(str(error)))
        page.on("request", lambda request: page.asked.append(request.url))
        page.goto(file.as_uri())
        page.evaluate("document.querySelectorAll('details.fold').forEach(one => one.open = true)")
        return page

    yield open_
    for context in contexts:
        context.close()


@pytest.fixture(scope="module")
def pages(full, tmp_path_factory) -> dict[str, Path]:
    """Reports as files: one with everything, one of 60 sources, one hostile, one of portals, one of nothing."""
    folder = tmp_path_factory.mktemp("pages")
    for name, sources, datasets in (("many", 60, 300), ("hostile", 3, 90), ("empty", 1, 0)):
        indexed(folder / name, datasets=datasets, sources=sources, runs=0 if name == "empty" else 30)
    found = {"full": report(full, now=datetime.now(UTC)), "hostile": hostile(folder / "hostile")}
    observed.ecosystem(folder / "ecosystem", portals=40, many=30, missed=(9, 10))
    catch_up(folder / "ecosystem")
    found |= {name: report(folder / name) for name in ("many", "empty", "ecosystem")}
    for name, page in found.items():
        (folder / f"{name}.html").write_bytes(page.source)
    return {name: folder / f"{name}.html" for name in found}


@pytest.mark.browser
@pytest.mark.parametrize("width", [360, 700, 1280])
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("name", ["full", "many", "hostile", "empty", "ecosystem"])
def test_a_browser_shows_it(opened, pages, name, scheme, width):
    page = opened(pages[name], scheme, width)
    page.evaluate("document.querySelectorAll('details').forEach(one => one.open = true)")
    assert page.said == []
    assert page.asked == [pages[name].as_uri()]
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert page.evaluate("document.documentElement.clientWidth") == width
    faint = [one for one in page.evaluate(CONTRAST) if one[0] < 4.5]
    assert faint == []
    assert page.evaluate("document.querySelectorAll('script, [onerror], [onload]').length") == 1


KEYS = """() => {
  const shown = one => getComputedStyle(one)[one instanceof SVGElement ? "fill" : "backgroundColor"];
  const wrong = [];
  for (const figure of document.querySelectorAll("figure:has(.key .swatch)")) {
    for (const swatch of figure.querySelectorAll(".key .swatch")) {
      const style = [...swatch.classList].find(name => name !== "swatch");
      const inside = swatch.querySelector("path") || swatch;
      const marks = [...figure.querySelectorAll(`.stack > .${style}, .chart path.${style}`)];
      const is_wrong = marks.some(mark => shown(mark) !== shown(inside));
      if (is_wrong || shown(inside) === "rgba(0, 0, 0, 0)") wrong.push(`${figure.innerText.slice(0, 20)} ${style}`);
    }
  }
  return [document.querySelectorAll(".key .swatch").length, wrong];
}"""


@pytest.mark.browser
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("name", ["full", "ecosystem"])
def test_a_key_has_the_colours_of_its_marks(opened, pages, name, scheme):
    page = opened(pages[name], scheme)
    swatches, wrong = page.evaluate(KEYS)
    assert swatches > 4
    assert wrong == []


@pytest.mark.browser
def test_cards_are_still_tables_to_who_hears_them(opened, pages):
    page = opened(pages["full"], width=360)
    cells = page.get_by_role("table", name="Each source").get_by_role("row").nth(1)
    assert cells.get_by_role("rowheader").inner_text() == "source-4"
    assert cells.get_by_role("cell").count() == 10
    assert page.get_by_role("columnheader", name="Late").count() == 1


@pytest.mark.browser
def test_marks_are_seen_against_their_ground(opened, pages):
    for scheme in ("light", "dark"):
        page = opened(pages["full"], scheme)
        ground = luminance(page.evaluate("getComputedStyle(document.body).backgroundColor"))
        kinds = {tuple(one) for one in page.evaluate(MARKS)}
        assert {kind.split()[-1] for kind, *_ in kinds} >= {*VERDICTS, "bar", "series"}
        for kind, fill, background, stroke in kinds:
            shown = background if "bar" in kind else stroke if "series" in kind else fill
            least = 3 if "mark" in kind or "series" in kind else 1.4
            assert contrast(luminance(shown), ground) >= least, (scheme, kind, shown)


def luminance(colour: str) -> float:
    channels = [int(one) / 255 for one in re.findall(r"\d+", colour)[:3]]
    linear = [one / 12.92 if one <= 0.03928 else ((one + 0.055) / 1.055) ** 2.4 for one in channels]
    return sum(weight * one for weight, one in zip((0.2126, 0.7152, 0.0722), linear, strict=True))


def contrast(one: float, other: float) -> float:
    return (max(one, other) + 0.05) / (min(one, other) + 0.05)


@pytest.mark.browser
def test_screenshots_are_not_blank_and_schemes_differ(opened, pages, browser, tmp_path):
    grounds = {}
    for scheme in ("light", "dark"):
        for width in (360, 1280):
            page = opened(pages["full"], scheme, width)
            shot = page.screenshot(full_page=True, path=tmp_path / f"{scheme}-{width}.png")
            seen = colours(browser, shot)
            assert seen["width"] == width
            assert seen["height"] > 2000
            (ground, most), *others = seen["colours"]
            assert most > 0.4 * seen["width"] * seen["height"]
            assert len(others) > 200
            painted = sum(count for _, count in others)
            assert painted > 0.05 * seen["width"] * seen["height"]
            grounds[scheme, width] = luminance(ground)
    assert grounds["light", 360] == grounds["light", 1280] > 0.8
    assert grounds["dark", 360] == grounds["dark", 1280] < 0.05


def colours(browser, png: bytes) -> dict:
    page = browser.new_page()
    try:
        return page.evaluate(COLOURS, "data:image/png;base64," + base64.b64encode(png).decode())
    finally:
        page.close()


@pytest.mark.browser
def test_it_can_be_printed(opened, pages, tmp_path):
    page = opened(pages["full"], "dark")
    page.set_viewport_size({"width": 718, "height": 1000})  # A4 with a browser's margins
    page.emulate_media(media="print", color_scheme="dark")
    assert page.evaluate("document.documentElement.scrollWidth") <= 718
    assert luminance(page.evaluate("getComputedStyle(document.body).backgroundColor")) > 0.8
    assert not page.is_visible("nav")
    assert page.pdf()[:5] == b"%PDF-"


@pytest.mark.browser
def test_lines_and_bars_are_as_long_as_their_numbers(opened, pages):
    page = opened(pages["full"])
    bars = page.evaluate(
        """() => [...document.querySelector('.bars').querySelectorAll('.bar')].map(one =>
            [one.getBoundingClientRect().width, parseInt(one.nextElementSibling.firstChild.data.replace(',', ''))])"""
    )
    scale = bars[0][0] / bars[0][1]
    assert all(abs(width - scale * value) < 1 for width, value in bars)
    stacks = page.evaluate(
        """() => [...document.querySelectorAll('.stack')].map(one => [one.getBoundingClientRect().width,
            [...one.children].reduce((sum, part) => sum + part.getBoundingClientRect().width, 0)])"""
    )
    assert stacks
    assert all(abs(whole - parts) < 8 for whole, parts in stacks)
