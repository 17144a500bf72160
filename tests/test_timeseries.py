"""Time series: what each run observed is in timeseries/<year>.csv once, the index follows it, and a gap stays a gap."""

from __future__ import annotations

import csv
import json
import logging
import os
import random
import signal
import sqlite3
import subprocess
import sys
import time
from contextlib import closing
from typing import TYPE_CHECKING, Any

import pytest
from pyarrow import parquet

from crawlers.extensions.timeseries import TimeSeries
from crawlers.store import timeseries
from crawlers.store.index import catch_up
from crawlers.store.index.database import connect
from crawlers.store.timeseries import Observation, line, measures, observation, write
from tests import forked
from tests.conftest import ROOT, Crawl, command, options, scrapy
from tests.profiled import SETTINGS
from tests.site import Answer, Asked, Site, listing
from tests.waiting import until

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

DAY, LATER = "2026-11-20", "2026-11-27"
ALL = "SELECT day, subject, metric, value FROM observations ORDER BY 1, 2, 3"


def source(output: Path, name: str = "town") -> Path:
    folder = output / name
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "manifest.jsonl").touch()
    return folder


def rows(folder: Path) -> list[tuple[str, ...]]:
    """What any program reads from the files, header included."""
    found = []
    for path in sorted((folder / "timeseries").glob("*.csv")):
        with path.open(encoding="utf-8", newline="") as file:
            found += [tuple(row) for row in csv.reader(file, strict=True)]
    return found


def indexed(output: Path) -> list[tuple[str, ...]]:
    catch_up(output)
    with closing(sqlite3.connect(output / "index.sqlite")) as db:
        return db.execute(ALL).fetchall()


# The file


def test_a_year_has_a_file_with_a_header(tmp_path):
    folder = source(tmp_path)
    for day in ("2026-12-27", "2027-01-03"):
        assert write(folder, day, [("b", "stars", "2"), ("a", "stars", "1")])
    text = (folder / "timeseries" / "2026.csv").read_bytes()
    assert text == b"day,subject,metric,value\r\n2026-12-27,a,stars,1\r\n2026-12-27,b,stars,2\r\n"
    assert [path.name for path in sorted((folder / "timeseries").iterdir())] == ["2026.csv", "2027.csv"]


def test_a_second_run_of_a_day_replaces_its_own_observations_and_no_others(tmp_path):
    folder = source(tmp_path)
    write(folder, DAY, [("a", "stars", "1"), ("a", "forks", "5"), ("b", "stars", "7")])
    write(folder, LATER, [("a", "stars", "2")])
    for _ in range(2):
        write(folder, LATER, [("a", "stars", "3"), ("c", "stars", "9")])
        write(folder, LATER, [])
    assert rows(folder)[1:] == [
        (DAY, "a", "forks", "5"),
        (DAY, "a", "stars", "1"),
        (DAY, "b", "stars", "7"),
        (LATER, "a", "stars", "3"),
        (LATER, "c", "stars", "9"),
    ]


def test_what_is_not_known_has_no_row(tmp_path):
    document = {"num_datasets": None, "num_groups": 0, "url": "https://a.example", "tls": False, "response_time": 0.25}
    document |= {
        "ckan_version": None,
        "last_known": {"num_datasets": {"value": 25, "day": DAY}},
        "extensions": ["dcat"],
    }
    known = {"num_groups": "0", "tls": "false", "response_time": "0.25"}
    assert dict(measures(document)) == known
    folder = source(tmp_path)
    assert not write(folder, DAY, [])
    assert not write(folder, DAY, [("", "stars", "1"), ("a", "stars", " \n ")])
    assert not (folder / "timeseries").exists()


HOSTILE = (
    *("=1+1", "+1-800", "@SUM(A1)", "-2+3+cmd|' /C calc'!A0", "＝1", "'", "''=1", "a;=1;b;'c", ";", ";;=", '"', '=";"'),
    *("-5", "-1e-5", "1,234", 'say "hi", then go', "Ünïcode 数据", "a'b", "0x1p5", "--"),
)


@pytest.mark.parametrize("text", HOSTILE)
def test_a_cell_is_no_formula_and_is_read_as_it_was(text):
    told = line((DAY, text, text, text))
    assert observation(told, "2026") == Observation(DAY, text, text, text)
    for separator in (",", ";"):  # a spreadsheet's own settings say which
        (cells,) = csv.reader([told.decode()], delimiter=separator)
        acting = [cell for cell in cells if cell[:1] in tuple("=+-@\t＝＋－＠")]
        assert acting in ([], [text] * 3 if text in ("-5", "-1e-5") else []), "a number is a number"


@pytest.mark.parametrize(
    ("text", "kept"),
    [("a\r\nb", "a b"), ("a\x00\x1b[2Jb\u202e", "a[2Jb"), ("x" * 999, "x" * 299 + "…"), ("\ud800a", "a")],
)
def test_a_text_stays_on_its_line(tmp_path, text, kept):
    folder = source(tmp_path)
    write(folder, DAY, [("town", "state", text)])
    assert rows(folder)[1:] == [(DAY, "town", "state", kept)]


FOREIGN = (
    *(
        b"\n",
        b"2026-11-20,a,stars\n",
        b"2026-11-20,a,stars,1,2\n",
        b"2026-11-31,a,stars,1\n",
        b"20/11/2026,a,stars,1\n",
    ),
    *(b"2025-11-20,a,stars,1\n", b"2026-11-20,,stars,1\n", b"2026-11-20,a,stars,\n", b"2026-11-20,a,\xff,1\n"),
    *(b'2026-11-20,"a,stars,1\n', b"2026-11-20,a,stars,\x1b[2J\n", b"2026-11-20,a,stars,%b\n" % (b"1" * 9000)),
)


def test_foreign_lines_are_left_out_with_one_warning_and_kept_by_the_next_run(tmp_path, caplog):
    folder = source(tmp_path)
    write(folder, DAY, [("a", "stars", "1")])
    path = folder / "timeseries" / "2026.csv"
    with path.open("ab") as file:
        file.writelines(FOREIGN)
    write(folder, LATER, [("a", "stars", "2")])
    with caplog.at_level(logging.WARNING):
        assert indexed(tmp_path) == [(DAY, "a", "stars", "1"), (LATER, "a", "stars", "2")]
        catch_up(tmp_path)
    assert [record.getMessage() for record in caplog.records] == [
        f"{path}: {len(FOREIGN)} damaged lines are left out; the others are read"
    ]
    assert all(one in path.read_bytes() for one in FOREIGN)


def test_half_a_line_is_no_value_and_goes(tmp_path):
    """25 is half of 2577: what a torn line says is not known."""
    folder = source(tmp_path)
    write(folder, DAY, [("a", "stars", "2577")])
    path = folder / "timeseries" / "2026.csv"
    path.write_bytes(path.read_bytes()[:-4])
    assert indexed(tmp_path) == []
    write(folder, LATER, [("a", "stars", "3")])
    assert rows(folder)[1:] == [(LATER, "a", "stars", "3")]
    assert indexed(tmp_path) == [(LATER, "a", "stars", "3")]


def test_an_error_leaves_the_old_file(tmp_path, monkeypatch):
    folder = source(tmp_path)
    write(folder, DAY, [("a", "stars", "1")])
    before = (folder / "timeseries" / "2026.csv").read_bytes()

    def full(*_: object) -> bytes:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(timeseries, "line", full)
    with pytest.raises(OSError, match="No space"):
        write(folder, LATER, [("a", "stars", "2")])
    assert (folder / "timeseries" / "2026.csv").read_bytes() == before


WRITER = """
import sys
from pathlib import Path
from crawlers.store.timeseries import write
for number in range(1000):
    write(Path(sys.argv[1]), sys.argv[2], ((f"portal-{one}", "num_datasets", str(number)) for one in range(500)))
    print(number, flush=True)
"""


@pytest.mark.slow
def test_killed_at_any_moment_there_is_the_old_file_or_the_new_one(tmp_path):
    random.seed(2026)
    folder = source(tmp_path)
    write(folder, DAY, [(f"portal-{one}", "num_datasets", "1") for one in range(5000)])
    seen = set()
    for _ in range(30):
        command = [sys.executable, "-c", WRITER, str(folder), LATER]
        with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE) as process:
            for _ in range(random.randrange(8)):
                process.stdout.readline()
            time.sleep(random.uniform(0, 0.02))  # about as long as a write takes
            process.kill()
        found = rows(folder)
        later = {value for day, _, _, value in found if day == LATER}
        assert len(found) in (5001, 5501)
        assert len(later) == (1 if len(found) == 5501 else 0)
        seen |= later
    assert len(seen) > 3, "it was killed at different moments"


# The index


def test_only_what_is_new_is_read(tmp_path):
    folder = source(tmp_path)
    write(folder, DAY, [("a", "stars", "1")])
    indexed(tmp_path)
    with closing(sqlite3.connect(tmp_path / "index.sqlite", isolation_level=None)) as db:
        db.execute("UPDATE observations SET value = 'from before'")
    write(folder, LATER, [("a", "stars", "2")])
    assert indexed(tmp_path) == [(DAY, "a", "stars", "from before"), (LATER, "a", "stars", "2")]


def test_a_day_that_was_replaced_is_read_again_though_its_file_has_the_same_size_and_end(tmp_path):
    folder = source(tmp_path)
    others = [(f"portal-{number}", "num_datasets", "10") for number in range(30)]
    write(folder, DAY, [("a", "num_datasets", "1"), *others])
    indexed(tmp_path)
    write(folder, DAY, [("a", "num_datasets", "2"), *others])
    assert indexed(tmp_path)[0] == (DAY, "a", "num_datasets", "2")


def test_what_was_taken_out_of_a_file_is_no_longer_indexed(tmp_path):
    folder = source(tmp_path)
    for day in ("2025-12-28", DAY, LATER):
        write(folder, day, [("a", "stars", "1"), ("b", "stars", "2")])
    assert len(indexed(tmp_path)) == 6
    path = folder / "timeseries" / "2026.csv"
    path.write_bytes(b"".join(one for one in path.read_bytes().splitlines(keepends=True) if b",b," not in one))
    assert len(indexed(tmp_path)) == 4
    (folder / "timeseries" / "2025.csv").unlink()
    assert indexed(tmp_path) == [(DAY, "a", "stars", "1"), (LATER, "a", "stars", "1")]


def test_rows_and_how_far_the_file_was_read_are_stored_together(tmp_path, monkeypatch):
    write(source(tmp_path), DAY, [("town", "num_datasets", "25")])
    really = timeseries._sha256
    with monkeypatch.context() as broken:
        broken.setattr(
            timeseries, "_sha256", lambda folder, file, size: really(folder, file, size) if not size else 1 / 0
        )
        with pytest.raises(ZeroDivisionError):
            catch_up(tmp_path)
    with closing(connect(tmp_path)) as db:
        assert db.execute("SELECT count(*) FROM observations").fetchone()[0] == 0
    assert len(indexed(tmp_path)) == 1


@pytest.mark.parametrize("name", ["2026.csv", "x.csv", "20261.csv", "2026.csv.bak"])
def test_what_is_no_file_of_a_year_is_not_read(tmp_path, name):
    folder = source(tmp_path)
    write(folder, "2027-01-03", [("a", "stars", "1")])
    (tmp_path / "elsewhere.csv").write_bytes(line((DAY, "a", "stars", "9")))
    (folder / "timeseries" / name).symlink_to(tmp_path / "elsewhere.csv")
    assert indexed(tmp_path) == [("2027-01-03", "a", "stars", "1")]


def test_reindex_makes_the_same_rows(tmp_path):
    for name in ("town", "region"):
        folder = source(tmp_path, name)
        for day in (DAY, LATER):
            write(folder, day, [(f"portal-{number}", "num_datasets", str(number)) for number in range(300)])
    before = indexed(tmp_path)
    ran = command("reindex", f"-sOUTPUT_DIR={tmp_path}")
    assert ran.returncode == 0, ran.stderr
    assert (indexed(tmp_path), len(before)) == (before, 1200)


def test_a_source_that_is_gone_takes_its_observations_along(tmp_path):
    for name in ("town", "region"):
        write(source(tmp_path, name), DAY, [("a", "stars", name)])
    indexed(tmp_path)
    for path in (tmp_path / "town" / "timeseries" / "2026.csv", tmp_path / "town" / "manifest.jsonl"):
        path.unlink()
    assert indexed(tmp_path) == [(DAY, "a", "stars", "region")]


def test_questions_have_answers_in_order(tmp_path):
    folder = source(tmp_path)
    write(folder, DAY, [("b", "stars", "1"), ("a", "stars", "2"), ("a", "forks", "3")])
    write(folder, LATER, [("a", "stars", "4")])
    catch_up(tmp_path)
    with closing(connect(tmp_path)) as db:
        days = timeseries.days(db, "town")
        assert (days, timeseries.days(db, "town", LATER), timeseries.days(db, "twon")) == (
            [DAY, LATER],
            [LATER],
            [],
        )
        assert timeseries.metrics(db, "town", days) == ["forks", "stars"]
        assert [one.value for one in timeseries.select(db, "town", days)] == ["3", "2", "1", "4"]
        assert [one.value for one in timeseries.select(db, "town", days, ["stars"], ["a"])] == ["2", "4"]
        query = "SELECT * FROM observations WHERE source = 's' AND day = 'd' AND metric = 'm'"
        (plan,) = db.execute(f"EXPLAIN QUERY PLAN {query}").fetchall()
        assert "USING PRIMARY KEY (source=? AND day=? AND metric=?)" in plan["detail"]


# Crawls


def own(folder: Path, *names: str) -> dict[str, str]:
    """The last values of a source's own metrics."""
    found = {metric: value for _, subject, metric, value in rows(folder) if subject == folder.name}
    return {name: found[name] for name in names} if names else found


def move_to(folder: Path, day: str) -> None:
    """Let what was observed have been observed on another day."""
    (path,) = (folder / "timeseries").glob("*.csv")
    today = rows(folder)[-1][0]
    path.rename(path.with_name(f"{day[:4]}.csv")).write_text(
        path.with_name(f"{day[:4]}.csv").read_text(encoding="utf-8").replace(today, day), encoding="utf-8", newline=""
    )


def test_a_catalogue_has_a_series_of_its_own(crawl, portal, output):
    site = portal(datasets=60)
    done = crawl("ckan", site)
    assert (done.code, rows(done.folder)[0]) == (0, ("day", "subject", "metric", "value"))
    assert {row[0] for row in rows(done.folder)[1:]} == {done.report["started"][:10]}
    found = own(done.folder)
    assert {name: value for name, value in found.items() if ":" not in name} == {
        "datasets": "60",
        "resources": "180",
        "flaws": "0",
        "new": "60",
        "updated": "0",
        "withdrawn": "0",
        "restored": "0",
    }
    with closing(connect(output)) as db:
        formats = dict(db.execute("SELECT format, resources FROM formats WHERE format <> ''").fetchall())
        licences = dict(db.execute("SELECT license, datasets FROM licences WHERE license <> ''").fetchall())
        kept = [tuple(one) for one in timeseries.select(db, "127.0.0.1", timeseries.days(db, "127.0.0.1"))]
    assert {name[7:]: int(value) for name, value in found.items() if name.startswith("format:")} == formats
    assert {name[8:]: int(value) for name, value in found.items() if name.startswith("license:")} == licences
    assert sorted(kept) == sorted(rows(done.folder)[1:]), "the crawl has told the index, too"


def test_each_run_adds_how_complete_the_fields_are(crawl, portal, output):
    """The figures of the view and of the page; a field that nothing has any more is 0, also on the same day."""
    site = portal(datasets=30)
    untidy, gone, *others = site.ids()
    edits = {name: {"version": "1"} for name in others[:4]} | {untidy: {"title": ["not", 7], "resources": []}}
    site.change(edit={name: edit | {"metadata_modified": "2030-01-01T00:00:00"} for name, edit in edits.items()})
    done = crawl("ckan", site)
    found = own(done.folder)
    fields = {name.removeprefix("field:"): int(value) for name, value in found.items() if name.startswith("field:")}
    with closing(connect(output)) as db:
        view = dict(db.execute("SELECT field, filled FROM completeness").fetchall())
        typed = "SELECT count(*) FROM resources WHERE format IS NOT NULL"
        formats = db.execute(typed).fetchone()[0]
    assert {name: fields.get(name, 0) for name in view} == view
    assert "resource.size" in fields.keys() - view.keys()
    assert 0 not in fields.values()
    assert (fields["version"], fields["resources"], fields["resource.format"]) == (4, 29, formats)
    assert found["flaws"] == str(sum(done.report["flaws"].values())) != "0"
    assert (found["datasets"], found["resources"]) == ("30", "87")
    edits = {name: {"version": "", "metadata_modified": "2030-01-02T00:00:00"} for name in others[:4]}
    site.change(edit=edits, remove=[gone])
    done = crawl("ckan", site)
    assert own(done.folder, "datasets", "resources", "field:version", "field:title", "field:resource.title") == {
        "datasets": "29",
        "resources": "84",
        "field:version": "0",
        "field:title": "28",  # one is no text
        "field:resource.title": "84",
    }
    assert len([row for row in rows(done.folder) if row[2] == "field:version"]) == 1
    move_to(done.folder, "2020-02-02")
    crawl("ckan", site, max_datasets="3")  # observes nothing of what there is
    crawl("ckan", site)
    assert own(done.folder, "field:version") == {"field:version": "0"}, "it stays 0 once there was one"


def test_all_runs_of_a_day_make_one_observation(crawl, portal):
    site = portal(datasets=40)
    crawl("ckan", site)
    first, *others = site.ids()
    site.change(edit={name: {"title": "New", "metadata_modified": "2030-01-01T00:00:00"} for name in others[:3]})
    done = crawl("ckan", site)
    assert done.report["counts"]["new"] == 0
    assert own(done.folder, "datasets", "new", "updated") == {"datasets": "40", "new": "40", "updated": "3"}
    move_to(done.folder, "2020-02-02")
    site.change(edit={first: {"title": "Newer", "metadata_modified": "2030-01-02T00:00:00"}})
    done = crawl("ckan", site, since="last")
    assert own(done.folder, "datasets", "updated") == {"datasets": "40", "updated": "4"}, "of this day, by the manifest"
    assert len([row for row in rows(done.folder) if row[2] == "datasets"]) == 2


PARTIAL = {
    "incomplete": (("count_off=5",), {}, {"new"}),
    "partial": ((), {"max_datasets": "10"}, {"new"}),
    "failed": (("error=package_search",), {}, set()),
    "complete": ((), {"since": "2001-01-01"}, {"new"}),
}


@pytest.mark.parametrize("verdict", PARTIAL)
def test_a_run_that_has_not_seen_all_writes_no_count_of_what_there_is(crawl, portal, verdict):
    """What is new is new; that nothing was updated is not known."""
    faults, arguments, metrics = PARTIAL[verdict]
    done = crawl("ckan", portal(datasets=20, faults=faults), settings={"RETRY_TIMES": "0"}, **arguments)
    assert done.report["verdict"] == verdict
    assert set(own(done.folder)) == metrics


@pytest.mark.parametrize(("broken", "is_counted"), [(1, True), (5, False)])
def test_a_whole_listing_with_few_broken_records_counts(crawl, output, broken, is_counted):
    """Some portals have a record that never can be read: they would have no series at all."""
    records = [{"id": f"d{number}", "name": f"d{number}"} for number in range(100)]

    def answer(asked: Asked) -> Answer:
        return Answer(status=404) if asked.action == "robots.txt" else listing(*records)

    for record in records[:broken]:
        record["id"] = {"not": "an id"}
    with Site(answer) as site:
        ran = scrapy("crawl", "ckan", *options(output, {}, portal=site.url, source="town"))
    done = Crawl(ran.returncode, ran.stderr, output / "town")
    assert (done.code, done.report["verdict"]) == (3, "incomplete"), done.log
    assert ("datasets" in own(done.folder)) == is_counted
    assert own(done.folder, "new") == {"new": str(100 - broken)}


def test_a_series_that_can_not_be_written_is_a_failure_of_the_run(crawl, portal, output):
    site = portal(datasets=5)
    (output / "127.0.0.1").mkdir(parents=True)
    (output / "127.0.0.1" / "timeseries").touch()
    done = crawl("ckan", site)
    assert (done.code, done.report["verdict"], done.report["errors"]) == (3, "incomplete", {"disk": 1})
    (error,) = done.errors
    assert (error["stage"], error["kind"]) == ("write", "disk")
    assert f"{done.folder / 'timeseries'} can't be written" in error["error"]
    assert "Traceback" not in done.log
    assert len(done.ids()) == 5


# Profiles


def profiles(asked: Asked) -> Answer:
    number = int(asked.action)
    document = {"id": f"portal-{number}", "state": "up", "num_datasets": 10 * number, "ckan_version": "2.10.4"}
    if number % 5 == 4:
        document |= {"state": "down", "num_datasets": None, "ckan_version": None}
    return Answer(status=500) if number == 7 else Answer(json.dumps(document).encode())


def expected(numbers: Iterable[int]) -> list[tuple[str, str, str]]:
    found = []
    for number in numbers:
        if number != 7:
            found.append((f"portal-{number}", "state", "down" if number % 5 == 4 else "up"))
        if number != 7 and number % 5 != 4:
            found += [
                (f"portal-{number}", "ckan_version", "2.10.4"),
                (f"portal-{number}", "num_datasets", f"{10 * number}"),
            ]
    return sorted(found)


def words(output: Path, site: Site, many: int, **settings: str) -> list[str]:
    chosen = {**SETTINGS, "RETRY_TIMES": "0", "BLOCKED_AFTER": "0", **settings}
    return ["crawl", "profiled", *options(output, chosen, portal=site.url, source="sites", max_datasets=str(many))]


def test_profiles_are_observed_each_by_itself_whatever_the_verdict(output):
    with Site(profiles) as site:
        ran = scrapy(*words(output, site, 12))
    done = Crawl(ran.returncode, ran.stderr, output / "sites")
    assert (done.code, done.report["verdict"]) == (3, "incomplete")
    found = [row[1:] for row in rows(done.folder)[1:]]
    assert found == expected(range(12)), "what failed was not observed, what is null is not known"


@pytest.mark.slow
def test_a_run_that_was_killed_and_resumed_loses_no_observation(output, tmp_path):
    """Those of before the kill, also of documents that are unchanged and have no line in the manifest."""
    with Site(profiles) as site:
        first = scrapy(*words(output, site, 30))
        assert first.returncode == 3, first.stderr
        (output / "sites" / "timeseries" / "2026.csv").unlink(missing_ok=True)
        asked = len(site.asked)
        killed = begin(words(output, site, 30, JOBDIR=str(tmp_path / "job"), REQUESTS_PER_SECOND="20"))
        until(lambda: len(site.asked) >= asked + 12)
        killed.send_signal(signal.SIGKILL)
        killed.communicate()
        asked = len(site.asked)
        ran = scrapy(*words(output, site, 30, JOBDIR=str(tmp_path / "job")))
        assert len(site.asked) - asked < 30, "it went on"
    done = Crawl(ran.returncode, ran.stderr, output / "sites")
    assert done.report["resumed"]
    assert [row[1:] for row in rows(done.folder)[1:]] == expected(range(30))


def begin(arguments: list[str]) -> subprocess.Popen[Any]:
    command = [sys.executable, "-W", "error", "-m", "scrapy", *arguments]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    return forked.Popen(command, cwd=ROOT, env=environment, stderr=subprocess.PIPE)


def test_a_damaged_document_is_left_out_and_the_others_are_observed(tmp_path, caplog):
    folder = source(tmp_path)
    (folder / "sites").mkdir()
    (folder / "sites" / "a.json").write_text('{"num_datasets": 2')
    with caplog.at_level(logging.WARNING):
        assert list(TimeSeries._profile(None, folder, "sites/a.json")) == []
    assert "sites/a.json is left out of the time series" in caplog.text


# The command


def shown(output: Path, *arguments: str) -> list[str]:
    ran = command("timeseries", *arguments, f"-sOUTPUT_DIR={output}")
    assert ran.returncode == 0, ran.stderr
    return ran.stdout.splitlines()


@pytest.fixture
def town(tmp_path: Path) -> Path:
    folder = source(tmp_path / "output")
    write(folder, "2026-11-06", [("town", "datasets", "300"), ("town", "new", "300"), ("town", "format:CSV", "9")])
    write(folder, "2026-11-13", [("town", "new", "2")])
    write(folder, DAY, [("town", "datasets", "305"), ("town", "new", "3"), ("town", "format:=cmd", "1")])
    return tmp_path / "output"


def test_few_series_are_shown_by_day_with_their_gaps(town):
    assert shown(town, "town", "--metric", "datasets", "new") == [
        "day         datasets  new",
        "2026-11-06  300       300",
        "2026-11-13            2",
        "2026-11-20  305       3",
    ]
    assert shown(town, "town", "--metric", "format", "--since", "2026-11-13") == [
        "day         format:=cmd",
        "2026-11-13",
        "2026-11-20  1",
    ]
    assert shown(town, "town", "--since", "2027-01-01") == ["town was not observed since then."]


def test_many_series_have_a_row_each(tmp_path):
    folder = source(tmp_path)
    for day, number in ((DAY, 1), (LATER, 1500)):
        write(folder, day, [(f"portal-{one:03}", "num_datasets", str(number)) for one in range(250)])
    lines = shown(tmp_path, "town")
    assert lines[0].split() == ["metric", "subject", "days", "first", "value", "last", "value", "change"]
    assert lines[1].split() == ["num_datasets", "portal-000", "2", DAY, "1", LATER, "1500", "+1,499"]
    assert lines[201:] == ["50 more series: choose with --metric and --subject, or write all with -o x.csv."]
    few = shown(tmp_path, "town", "--subject", "portal-007", "portal-008", "--since", LATER)
    assert few == ["day         portal-007  portal-008", f"{LATER}  1500        1500"]


def test_it_is_written_as_csv_as_it_is_on_disk_and_as_parquet_with_numbers(town, tmp_path):
    csv_file, parquet_file = tmp_path / "x.csv", tmp_path / "x.parquet"
    assert shown(town, "town", "-o", str(csv_file)) == shown(town, "town", "-o", str(parquet_file)) == []
    on_disk = town / "town" / "timeseries" / "2026.csv"
    assert sorted(csv_file.read_bytes().splitlines()) == sorted(on_disk.read_bytes().splitlines())
    table = parquet.read_table(parquet_file).to_pylist()
    assert {"day": DAY, "subject": "town", "metric": "format:=cmd", "value": "1", "number": 1.0} in table
    assert len(table) == 7
    assert shown(town, "town", "--metric", "datasets", "-o", "-")[1:] == [
        "2026-11-06,town,datasets,300",
        "2026-11-20,town,datasets,305",
    ]


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ("twon", "The index has no source 'twon'. Did you mean town? There are: empty, town."),
        ("town --metric formt", "town has no metric 'formt'. Did you mean format? There are: datasets, format, new."),
        ("town --subject Town", "town has no subject 'Town'. Did you mean town? There are: town."),
        ("empty", "empty has no time series yet: its next complete run begins it."),
        ("town --since yesterday", "--since yesterday is not a day: write it as 2026-11-20."),
        ("town -o x.pdf", "x.pdf must end with .csv or .parquet: that says what is written."),
        ("town -o /nowhere/x.csv", "/nowhere/x.csv can't be written: No such file or directory."),
        ("", "name one source, before the options."),
    ],
)
def test_a_mistake_is_one_sentence(town, arguments, sentence):
    source(town, "empty")
    ran = command("timeseries", *arguments.split(), f"-sOUTPUT_DIR={town}")
    assert (ran.returncode, ran.stdout) == (1, "")
    assert ran.stderr.strip().endswith(sentence)
    assert len(ran.stderr.splitlines()) == 1
