"""The runs of each source, as what is on disk says, and the command that shows them."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from crawlers.exceptions import RunError
from crawlers.safety.locks import LOCK, take
from crawlers.store import runs as stored
from crawlers.store.run_text import item_line
from crawlers.store.runs import find, items, last, runs, sources
from tests import forked
from tests.conftest import ROOT, command
from tests.waiting import HANG

RUN = "20261120T0{}0000Z"


def report(output: Path, source: str = "one", hour: int = 3, **fields: Any) -> Path:
    run = fields.get("run", RUN.format(hour))
    known = {
        "source": source,
        "spider": "ckan",
        "run": run,
        "arguments": {"portal": "https://example.org"},
        "started": f"2026-11-20T0{hour}:00:00.000Z",
        "finished": f"2026-11-20T0{hour}:07:03.000Z",
        "finish_reason": "finished",
        "verdict": "complete",
        "expected": 12,
        "listed": 12,
        "counts": {"new": 3, "updated": 2, "unchanged": 7, "withdrawn": 1, "restored": 0, "fallback": 0, "failed": 2},
        "errors": {"http": 2},
        "requests": 9,
    }
    path = output / source / "runs" / f"{run}.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(known | fields))
    return path


def running(output: Path, source: str = "one", *, ago: float = 0, **fields: Any) -> None:
    beat = (datetime.now(UTC) - timedelta(seconds=ago)).isoformat()
    state = {"run": RUN.format(5), "spider": "ckan", "started": "2026-11-20T05:00:00.000Z", "heartbeat": beat}
    state |= {"interval": 10.0, "pid": 4711, "host": socket.gethostname(), "listed": 4, "counts": {"new": 4}}
    (output / source).mkdir(parents=True, exist_ok=True)
    (output / source / "running.json").write_text(json.dumps(state | fields))


@contextmanager
def locked(path: Path) -> Iterator[None]:
    descriptor = take(path / LOCK if path.is_dir() else path)
    assert descriptor is not None
    yield
    os.close(descriptor)


def lines(folder: Path, name: str, *entries: Any) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    body = b"".join((one if isinstance(one, bytes) else json.dumps(one).encode()) + b"\n" for one in entries)
    (folder / name).write_bytes(body)


# What is on disk


def test_newest_first_of_all_sources(tmp_path):
    for source, hour in (("one", 3), ("two", 4), ("one", 5)):
        report(tmp_path, source, hour)
    report(tmp_path, "two", 3, run=RUN.format(3) + "-10")
    report(tmp_path, "two", 3, run=RUN.format(3) + "-9")
    found = [(run.source, run.run) for run in runs(tmp_path)]
    first, second, third = (RUN.format(hour) for hour in (3, 4, 5))
    assert found == [
        *(("one", third), ("two", second), ("two", f"{first}-10"), ("two", f"{first}-9"), ("one", first)),
    ]
    assert [run.source for run in runs(tmp_path, "two")] == ["two"] * 3
    assert [(run.source, run.run) for run in runs(tmp_path, limit=2)] == found[:2]
    assert last(tmp_path, "one").run == third
    assert sources(tmp_path) == ["one", "two"]


def test_what_a_run_says(tmp_path):
    path = report(tmp_path, retries=1, bytes=4000, resumed=True, log="/logs/a.log")
    (run,) = runs(tmp_path)
    assert (run.seconds, run.expected, run.listed, run.requests, run.retries, run.bytes) == (423.0, 12, 12, 9, 1, 4000)
    assert (run.state, run.spider, run.arguments) == ("complete", "ckan", {"portal": "https://example.org"})
    assert (run.resumed, run.log, run.where, run.report) == (True, "/logs/a.log", None, path)
    assert (run.errors, run.counts["new"], run.details["finish_reason"]) == ({"http": 2}, 3, "finished")


def test_no_more_reports_are_read_than_asked_for(tmp_path, monkeypatch):
    for source in ("one", "two", "three"):
        for hour in range(9):
            report(tmp_path, source, hour)
    read, really = [], stored.json_object
    monkeypatch.setattr(
        stored, "json_object", lambda folder, file, most: read.append(Path(file)) or really(folder, file, most)
    )
    assert len(runs(tmp_path, limit=4)) == 4
    assert len([path for path in read if path.parent.name == "runs"]) <= 8
    read.clear()
    find(tmp_path, f"two/{RUN.format(7)}")
    assert len([path for path in read if path.parent.name == "runs"]) == 1


def test_of_a_year_of_reports_only_the_newest_are_looked_at(tmp_path, monkeypatch):
    for minute in range(365):
        report(tmp_path, run=f"20261120T{minute // 60:02}{minute % 60:02}00Z")
    looked, really = [], stored._changed
    monkeypatch.setattr(stored, "_changed", lambda path: looked.append(path) or really(path))
    found = last(tmp_path, "one")
    assert found.run == "20261120T060400Z"
    assert len(looked) <= 51 + 2, "and their folder"


@pytest.mark.parametrize("content", [b"", b'{"verdict": "comp', b"[]", b"\xff\xfe", b"[" * 100_000, b"null"])
def test_a_damaged_report_is_of_a_run_that_failed(tmp_path, content):
    report(tmp_path, hour=4).write_bytes(content)
    report(tmp_path)
    damaged, whole = runs(tmp_path)
    assert (damaged.run, damaged.state, damaged.started) == (RUN.format(4), "failed", "2026-11-20T04:00:00+00:00")
    assert whole.state == "complete"


def test_fields_of_other_kinds_are_left_out(tmp_path):
    odd = {"started": 7, "finished": [], "arguments": "q", "counts": {"new": "x", "updated": 1}, "errors": 3}
    report(tmp_path, **odd, listed="many", expected="all", spider={}, log=1, resumed="yes", verdict="running")
    (run,) = runs(tmp_path)
    assert (run.state, run.spider, run.seconds, run.arguments, run.errors) == ("failed", None, None, {}, {})
    assert (run.counts, run.listed, run.expected, run.log, run.resumed) == ({"updated": 1}, 0, None, None, False)


def test_other_things_in_the_folder(tmp_path):
    report(tmp_path)
    (tmp_path / "index.sqlite").touch()
    (tmp_path / ".hidden" / "runs").mkdir(parents=True)
    (tmp_path / "one" / "runs" / "note.txt").touch()
    (tmp_path / "empty").mkdir()
    assert (len(runs(tmp_path)), sources(tmp_path)) == (1, ["one"])
    assert runs(tmp_path / "nowhere") == []
    assert runs(tmp_path, "nowhere") == []
    assert runs(tmp_path / "one", "../one") == []


# At work


def test_a_crawl_at_work(tmp_path):
    report(tmp_path, hour=6)
    running(tmp_path, heartbeat="2026-11-20T05:30:00.000Z")
    with locked(tmp_path / "one"):
        first, second = runs(tmp_path)
    assert (first.state, first.run, first.listed, first.finished) == ("running", RUN.format(5), 4, None)
    assert first.where == f"pid 4711 on {socket.gethostname()}"
    assert second.state == "complete"
    assert [(run.state, run.finished is None) for run in runs(tmp_path, limit=2)] == [
        ("complete", False),
        ("interrupted", False),
    ]


def test_a_crawl_that_is_about_to_be_at_work(tmp_path):
    (tmp_path / "one").mkdir()
    report(tmp_path)
    with locked(tmp_path / "one"):
        assert [(run.state, run.run) for run in runs(tmp_path)] == [("running", None), ("complete", RUN.format(3))]


@pytest.mark.parametrize(
    ("ago", "state"), [(50, "running"), (70, "interrupted"), (-50, "running"), (-900, "interrupted")]
)
def test_a_crawl_of_another_machine(tmp_path, ago, state):
    running(tmp_path, ago=ago, host="elsewhere")
    assert [run.state for run in runs(tmp_path)] == [state]


@pytest.mark.parametrize("interval", [1e308, float("inf"), float("nan"), 601, -1, 0])
def test_an_interval_that_none_has(tmp_path, interval):
    running(tmp_path, ago=10, host="elsewhere", interval=interval)
    assert [run.state for run in runs(tmp_path)] == ["interrupted"]


@pytest.mark.parametrize("ahead", [70, 3000])
def test_a_heartbeat_of_the_future(tmp_path, ahead):
    running(tmp_path, ago=-ahead, host="elsewhere", interval=600)
    assert [run.state for run in runs(tmp_path)] == ["interrupted"]


@pytest.mark.parametrize("what", ["pipe", "folder", "link"])
def test_what_is_no_file_is_not_read(tmp_path, what):
    running(tmp_path, "other", host="elsewhere")
    report(tmp_path)
    path, real = tmp_path / "one" / "running.json", tmp_path / "other" / "running.json"
    {"pipe": lambda: os.mkfifo(path), "folder": path.mkdir, "link": lambda: path.symlink_to(real)}[what]()
    os.mkfifo(tmp_path / "one" / "manifest.jsonl")
    os.mkfifo(tmp_path / "one.lock")
    command = [sys.executable, "-W", "error", "-m", "scrapy", "jobs", "one", "--json"]
    settings = ["-s", f"OUTPUT_DIR={tmp_path}", "-s", f"JOBS_DIR={tmp_path}"]
    shown = forked.run([*command, *settings], cwd=ROOT, capture_output=True, check=True, timeout=HANG)
    (run,) = json.loads(shown.stdout)
    assert (run["state"], run["run"]) == ("complete", RUN.format(3))
    assert list(items(runs(tmp_path, "one")[0])) == []


@pytest.mark.parametrize("odd", [{"heartbeat": 7}, {"heartbeat": "now"}, {"interval": "x"}, {"interval": None}])
def test_a_heartbeat_that_is_none(tmp_path, odd):
    running(tmp_path, host="elsewhere", **odd)
    assert [run.state for run in runs(tmp_path)] == ["interrupted"]


def test_a_run_that_has_its_report_is_over(tmp_path):
    """Killed between the report and the removal of running.json."""
    report(tmp_path, hour=5, finished="2999-01-01T00:00:00.000Z")
    running(tmp_path)
    assert [run.state for run in runs(tmp_path)] == ["complete"]


def test_a_run_that_is_queued(tmp_path):
    output, jobs = tmp_path / "output", tmp_path / "jobs"
    report(output)
    jobs.mkdir()
    for source in ("one", "two"):
        (jobs / f"{source}.lock").write_text(json.dumps({"queued": "2026-11-20T09:00:00Z", "pid": 7, "host": "here"}))
    with locked(jobs / "two.lock"), locked(output / "one"), locked(jobs / "one.lock"):
        found = [(run.source, run.state, run.run, run.started) for run in runs(output, jobs=jobs)]
    assert ("two", "pending", None, "2026-11-20T09:00:00Z") in found
    assert ("one", "running", None, None) in found
    assert len(found) == 3
    assert [run.state for run in runs(output, jobs=jobs)] == ["complete"]


# Which was last


def test_the_last_is_the_one_that_ended_last(tmp_path):
    """A run was interrupted, the next could not start, and then it went on."""
    report(tmp_path, hour=3, finished="2026-11-20T09:00:00.000Z")
    report(tmp_path, hour=4, verdict="failed", finished="2026-11-20T04:00:00.000Z")
    os.utime(tmp_path / "one" / "runs" / f"{RUN.format(4)}.json", (1, 1))  # it was written first
    assert (last(tmp_path, "one").run, last(tmp_path, "one").state) == (RUN.format(3), "complete")
    assert [run.run for run in runs(tmp_path)] == [RUN.format(3), RUN.format(4)]


def test_one_that_died_later_is_the_last(tmp_path):
    report(tmp_path, hour=6)
    running(tmp_path, heartbeat="2026-11-20T08:00:00.000Z")
    assert [run.state for run in runs(tmp_path)] == ["interrupted", "complete"]


def test_a_clock_that_was_wrong(tmp_path):
    wrong = report(tmp_path, run="20990101T000000Z", finished="2099-01-01T00:01:00.000Z", verdict="failed")
    os.utime(wrong, (4_070_908_860, 4_070_908_860))
    assert last(tmp_path, "one").state == "failed"
    right = report(tmp_path, run="20250101T000000Z", finished="2025-01-01T00:01:00.000Z")
    assert last(tmp_path, "one").report == right
    assert [run.report for run in runs(tmp_path)] == [right, wrong]


# One run


def test_find(tmp_path):
    report(tmp_path, "one")
    report(tmp_path, "two")
    report(tmp_path, "two", 4)
    running(tmp_path, "two")
    assert find(tmp_path, f"one/{RUN.format(3)}").source == "one"
    assert find(tmp_path, RUN.format(4)).source == "two"
    assert find(tmp_path, RUN.format(5)).state == "interrupted"
    assert find(tmp_path, "one").run == RUN.format(3)
    assert find(tmp_path, "two").run == RUN.format(5), "its last run"


@pytest.mark.parametrize(
    ("name", "told"),
    [
        (RUN.format(3), f"2 sources have a run '{RUN.format(3)}', name one: one/{RUN.format(3)}, two/{RUN.format(3)}."),
        (RUN.format(9), f"has no run or source '{RUN.format(9)}'. `scrapy jobs` lists the runs."),
        ("oen", "has no run or source 'oen'. Did you mean one? `scrapy jobs` lists the runs."),
        (f"three/{RUN.format(3)}", "has no source 'three'. There are: one, two."),
        (f"../output/one/{RUN.format(3)}", "has no source '../output/one'."),
        (f"one/../two/{RUN.format(3)}", "has no source 'one/../two'."),
        ("one/../../secret", "has no source 'one/../..'."),
        ("", "has no run or source ''"),
        ("/", "has no run or source '/'"),
    ],
)
def test_find_what_is_not_there(tmp_path, name, told):
    report(tmp_path / "output", "one")
    report(tmp_path / "output", "two")
    with pytest.raises(RunError) as error:
        find(tmp_path / "output", name)
    assert told in str(error.value)


def test_items(tmp_path):
    report(tmp_path)
    run, other = RUN.format(3), RUN.format(3) + "-2"
    written = {"kind": "dataset", "dataset_id": "d1", "resource_id": None, "metadata_file": "datasets/d1.json"}
    written |= {"dataset_title": "Floods", "dataset_name": "floods", "status": "new", "run": run}
    failed = {"stage": "fetch", "kind": "http", "url": "https://example.org/x", "http_status": 500, "run": run}
    lines(
        tmp_path / "one",
        "manifest.jsonl",
        written | {"time": "2026-11-20T03:00:01Z"},
        written | {"time": "2026-11-20T03:00:02Z", "run": other, "dataset_title": run},
        b'{"run": "' + run.encode() + b'", torn',
        written | {"time": "2026-11-20T03:00:04Z", "status": "withdrawn", "dataset_title": 7},
        [run],
    )
    lines(
        tmp_path / "one", "errors.jsonl", failed | {"time": "2026-11-20T03:00:03Z", "dataset_id": "d2", "error": "No"}
    )
    found = list(items(runs(tmp_path)[0]))
    assert [(item.status, item.dataset_id, item.title) for item in found] == [
        ("new", "d1", "Floods"),
        ("failed", "d2", None),
        ("withdrawn", "d1", "floods"),
    ]
    assert (found[0].file, found[0].kind) == ("datasets/d1.json", "dataset")
    assert (found[1].error, found[1].error_kind, found[1].stage, found[1].http_status) == ("No", "http", "fetch", 500)


def test_items_are_read_as_they_are_asked_for(tmp_path):
    report(tmp_path)
    (tmp_path / "one" / "manifest.jsonl").write_bytes(
        (json.dumps({"run": RUN.format(3), "time": "t", "status": "new"}) + "\n").encode() * 1000
    )
    found = items(runs(tmp_path)[0])
    assert next(found).status == "new"
    (tmp_path / "one" / "manifest.jsonl").write_bytes(b"")
    assert len(list(found)) < 999


def test_items_are_read_from_where_their_run_began(tmp_path):
    old, new = ({"run": RUN.format(hour), "time": f"t{hour}", "status": "new"} for hour in (3, 5))
    lines(tmp_path / "one", "manifest.jsonl", *[new | {"time": "before"}] * 9, old)
    begun = (tmp_path / "one" / "manifest.jsonl").stat().st_size
    lines(tmp_path / "one", "manifest.jsonl", *[new | {"time": "before"}] * 9, old, new)
    for offset, expected in ((begun, 1), (begun - 1, 10), (10**9, 10), (-1, 10), ("x", 10), (None, 10)):
        report(tmp_path, hour=5, manifest_bytes=offset, errors_bytes=offset)
        assert len(list(items(find(tmp_path, f"one/{RUN.format(5)}")))) == expected, offset


def test_one_run_is_found_without_reading_the_names_of_others(tmp_path, monkeypatch):
    report(tmp_path, "one")
    report(tmp_path, "two")
    listed = []
    iterdir = Path.iterdir
    monkeypatch.setattr(Path, "iterdir", lambda path: listed.append(path) or iterdir(path))
    assert find(tmp_path, f"one/{RUN.format(3)}").source == "one"
    assert listed == [tmp_path]


# The command


def jobs(output: Path, *words: str) -> subprocess.CompletedProcess[str]:
    return command("jobs", *words, "-s", f"OUTPUT_DIR={output}", "-s", f"JOBS_DIR={output.parent / 'jobs'}")


def test_the_table(tmp_path):
    report(tmp_path, "one", 4)
    report(tmp_path, "two", 5, verdict="blocked", finish_reason="shutdown")
    waits = {"requests_per_second": 0.25, "waits": ["waits 60 s for example.org: HTTP 429, Retry-After"]}
    running(tmp_path, "one", run=RUN.format(3), **waits)
    with locked(tmp_path / "one"):
        shown = jobs(tmp_path).stdout.splitlines()
    assert (
        shown[0].split()
        == "run source state datasets new updated unchanged withdrawn errors flaws took started req/s why".split()
    )
    assert [line.split()[:3] for line in shown[1:]] == [
        [RUN.format(3), "one", "running"],
        [RUN.format(5), "two", "blocked"],
        [RUN.format(4), "one", "complete"],
    ]
    assert shown[3].split()[3:] == "12 of 12 3 2 7 1 http 2 7 min 3 s 2026-11-20 04:00 0.02".split()
    assert shown[1].endswith("  0.25   waits 60 s for example.org: HTTP 429, Retry-After")
    assert shown[2].endswith("  0.02   shutdown")
    assert len(jobs(tmp_path, "--limit", "1").stdout.splitlines()) == 2
    assert len(jobs(tmp_path, "two").stdout.splitlines()) == 2


def test_the_table_for_programs(tmp_path):
    report(tmp_path)
    (run,) = json.loads(jobs(tmp_path, "--json").stdout)
    assert (run["source"], run["run"], run["state"], run["seconds"]) == ("one", RUN.format(3), "complete", 423.0)
    assert run["report"] == str(tmp_path / "one" / "runs" / f"{RUN.format(3)}.json")


def test_one_run_in_words(tmp_path):
    report(tmp_path, finish_reason="finished")
    entry = {"run": RUN.format(3), "time": "t", "status": "new", "kind": "dataset", "dataset_id": "d1"}
    lines(tmp_path / "one", "manifest.jsonl", entry | {"dataset_title": "Floods \x1b[2J\nfailed    all"})
    error = {"run": RUN.format(3), "time": "u", "stage": "fetch", "kind": "http", "url": "https://me:pw@example.org/"}
    lines(tmp_path / "one", "errors.jsonl", error | {"error": "HTTP 500"})
    shown = jobs(tmp_path, "show", RUN.format(3)).stdout.splitlines()
    assert shown[0] == f"one/{RUN.format(3)}: complete"
    assert "  started    2026-11-20 03:00 UTC, took 7 min 3 s" in shown
    assert "  datasets   12 of 12 listed" in shown
    assert "  documents  3 new, 2 updated, 7 unchanged, 1 withdrawn, 2 failed" in shown
    errors = shown.index("  errors     2 http: The portal answered with an HTTP error that retries did not cure.")
    assert shown[errors + 1].startswith("  advice     See http_status: 404 is gone")
    assert shown[-2:] == [
        "new       dataset  d1  Floods [2J failed all",
        "failed    fetch/http  HTTP 500  https://***@example.org/",
    ]

    def items(*words: str) -> list[str]:
        told = json.loads(jobs(tmp_path, "show", f"one/{RUN.format(3)}", "--json", *words).stdout)
        assert told["run"]["state"] == "complete"
        return [item["status"] for item in told["items"]]

    assert items() == items("--limit", "0") == ["new", "failed"]
    assert items("--limit", "1") == items("--status", "updated,new") == ["new"]
    assert items("--failed") == items("--status", "failed", "--limit", "5") == ["failed"]
    assert items("--status", "restored") == []


def test_the_last_run_of_a_source(tmp_path):
    report(tmp_path, "one", 3)
    report(tmp_path, "one", 4, log="/srv/logs/one.log", verdict="failed")
    shown = jobs(tmp_path, "show", "one").stdout.splitlines()
    assert shown[0] == f"one/{RUN.format(4)}: failed"
    assert {"  spider     ckan portal=https://example.org", "  log        /srv/logs/one.log"} <= {*shown}


def test_runs_by_their_state(tmp_path):
    for hour, verdict in enumerate(("complete", "incomplete", "blocked", "failed", "partial", "complete")):
        report(tmp_path, "one", hour, verdict=verdict)

    def states(*words):
        return [line.split()[2] for line in jobs(tmp_path, *words).stdout.splitlines()[1:]]

    assert states("--failed") == ["failed", "blocked", "incomplete"]
    assert states("--failed", "--limit", "1") == ["failed"]
    assert states("one", "--status", "complete, incomplete") == ["complete", "incomplete", "complete"]
    assert jobs(tmp_path, "--status", "running").stdout == "No run is in these states.\n"
    assert jobs(tmp_path, "one", "--status", "running").stdout == "No run is in these states.\n"


def test_runs_since_a_moment(tmp_path):
    """A date is in the source's zone; what has not ended is there; the number of runs has no limit of its own."""
    for minute in range(30):
        report(tmp_path, "far", 3, run=f"20261120T03{minute:02}00Z")
    report(tmp_path, "far", 2, finished="2026-11-20T14:59:59.999Z")  # it took until then
    report(tmp_path, "far", 4, finished="2026-11-20T15:00:00.000Z", verdict="failed")
    running(tmp_path, "one")
    (tmp_path / "sources.toml").write_text('[far]\nspider = "ckan"\ntimezone = "Asia/Tokyo"\n')

    def found(*words):
        ran = jobs(tmp_path, *words, "-s", f"SOURCES_FILE={tmp_path / 'sources.toml'}")
        assert ran.returncode == 0, ran.stderr
        return [line.split()[0] for line in ran.stdout.splitlines()[1:]]

    with locked(tmp_path / "one"):
        assert len(found("--since", "2026-11-20")) == 33
        assert len(found("--since", "2026-11-20", "--limit", "5")) == 5
        assert found("--since", "2026-11-21") == [RUN.format(5)]
        assert found("far", "--since", "2026-11-21") == [RUN.format(4)]
        assert found("--since", "2026-11-20T15:59:59+01:00") == [RUN.format(5), RUN.format(4), RUN.format(2)]
        assert found("--since", "2026-11-20T15:00Z", "--status", "failed,complete") == [RUN.format(4)]
    told = jobs(tmp_path, "far", "--since", "2026-11-22")
    assert (told.returncode, told.stdout) == (0, "No run has ended since 2026-11-22.\n")
    told = jobs(tmp_path, "far", "--failed", "--since", "2026-11-22")
    assert told.stdout == "No run in these states has ended since 2026-11-22.\n"


def test_reports_of_runs_that_ended_before_are_not_read(tmp_path, monkeypatch):
    for minute in range(40):
        written = datetime(2026, 11, 20, 5, tzinfo=UTC).timestamp()
        os.utime(report(tmp_path, run=f"20261120T00{minute:02}00Z"), (0, written))
    report(tmp_path, hour=6)
    read, really = [], stored.reported
    monkeypatch.setattr(stored, "reported", lambda path: read.append(path.stem) or really(path))
    found = runs(tmp_path, since=datetime(2026, 11, 20, 5, 30, tzinfo=UTC))
    assert [run.run for run in found] == read == [RUN.format(6)]
    assert len(runs(tmp_path, since=datetime(2026, 11, 20, 4, 30, tzinfo=UTC))) == 1
    assert len(read) == 1 + 41  # what was written since may be of a run that took until then


def test_a_run_at_work_has_its_process_and_one_that_died_has_ended(tmp_path):
    running(tmp_path, finish_reason="running", verdict="failed")
    with locked(tmp_path / "one"):
        at_work = jobs(tmp_path, "show", RUN.format(5)).stdout.splitlines()
    died = jobs(tmp_path, "show", RUN.format(5)).stdout.splitlines()
    assert at_work[0] == f"one/{RUN.format(5)}: running"
    assert f"  process    pid 4711 on {socket.gethostname()}" in at_work
    assert not [line for line in at_work if line.startswith("  ended")]
    assert died[0] == f"one/{RUN.format(5)}: interrupted"
    assert "  ended      died" in died
    assert not [line for line in died if line.startswith("  process")]


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["oen"], "has no runs of a source 'oen'. Did you mean one? There are: one."),
        (["show", "nothing"], "has no run or source 'nothing'. `scrapy jobs` lists the runs."),
        (["show"], "scrapy jobs takes: show NAME|RUN [--failed | --status STATE,...] [--limit N] [--json]; `scr"),
        (
            ["show", "one", "--status", "complete"],
            "'complete' is not a state. There are: new, updated, withdrawn, restored, fa",
        ),
        (["show", "one", "--since", "2026-11-20"], "scrapy jobs show takes no --since."),
        (["--status", "faild"], "--status: 'faild' is not a state. Did you mean failed? There are: pending, running, "),
        (["--status", "failed", "--failed"], "Give --failed or --status, not both."),
        (["one", "two"], "scrapy jobs takes: [NAME]"),
        (
            ["--since", "2026-11-20T10:00"],
            "--since '2026-11-20T10:00' has no offset: write a date such as",
        ),
        (["one", "--since", "friday"], "--since 'friday' is neither a date nor a time: write"),
        (["--limit", "few"], "--limit 'few' is not a whole number."),
    ],
)
def test_mistakes(tmp_path, words, told):
    report(tmp_path)
    ran = jobs(tmp_path, *words)
    assert (ran.returncode, ran.stdout) == (1, "")
    assert told in ran.stderr
    assert "Traceback" not in ran.stderr


def test_no_runs_yet(tmp_path):
    ran = jobs(tmp_path / "output")
    assert (ran.returncode, ran.stdout) == (0, f"{tmp_path / 'output'} has no runs yet.\n")
    assert jobs(tmp_path / "output", "--json").stdout == "[]\n"


def test_head_is_no_mistake(tmp_path):
    report(tmp_path)
    entry = {"run": RUN.format(3), "time": "t", "status": "new", "kind": "dataset", "dataset_id": "d1"}
    (tmp_path / "one" / "manifest.jsonl").write_bytes((json.dumps(entry) + "\n").encode() * 100_000)
    words = ["jobs", "show", RUN.format(3), "-s", f"OUTPUT_DIR={tmp_path}"]
    command = [sys.executable, "-W", "error", "-m", "scrapy", *words]
    pipe = subprocess.PIPE
    with forked.Popen(command, cwd=ROOT, stdout=pipe, stderr=pipe, text=True) as shown:
        assert shown.stdout
        assert shown.stderr
        shown.stdout.readline()
        shown.stdout.close()
        assert shown.stderr.read() == ""
    assert shown.returncode == 0


def test_what_can_not_be_printed(tmp_path):
    report(tmp_path, log="/logs/\udcff.log")
    entry = {"run": RUN.format(3), "time": "t", "status": "new", "kind": "dataset", "dataset_id": "d1"}
    lines(tmp_path / "one", "manifest.jsonl", entry | {"dataset_title": "\ud800 Überflutung 水"})
    for encoding, title in (("utf-8", "  Überflutung 水"), ("ascii", "  \\xdcberflutung \\u6c34")):
        command = [sys.executable, "-W", "error", "-m", "scrapy", "jobs", "show", RUN.format(3)]
        environment = os.environ | {"PYTHONIOENCODING": encoding}
        words = [*command, "-s", f"OUTPUT_DIR={tmp_path}"]
        ran = forked.run(words, cwd=ROOT, env=environment, capture_output=True, check=False)
        assert (ran.returncode, ran.stderr) == (0, b"")
        assert ran.stdout.decode().splitlines()[-1].endswith(title)


@pytest.mark.parametrize(
    ("output", "code", "told"),
    [
        ("closed", 0, ""),
        ("full", 1, "The output can't be written: No space left on device.\n"),
        ("a pipe that nobody reads", 0, ""),
    ],
)
@pytest.mark.parametrize("words", ["", "show {run}", "--json"])
def test_an_output_that_takes_nothing(tmp_path, output, code, told, words):
    report(tmp_path)
    words = ["jobs", *words.format(run=RUN.format(3)).split(), "-s", f"OUTPUT_DIR={tmp_path}"]
    reader, writer = os.pipe()
    os.close(reader)
    with Path("/dev/full").open("w") as full, os.fdopen(writer, "w") as unread:
        ran = forked.run(
            [sys.executable, "-W", "error", "-m", "scrapy", *words],
            closed=(1,) if output == "closed" else (),
            stdout=full if output == "full" else unread,
            stderr=subprocess.PIPE,
            cwd=ROOT,
            text=True,
            check=False,
        )
    assert (ran.returncode, ran.stderr) == (code, told)


def test_a_state_has_its_colour_on_a_terminal_only(tmp_path):
    report(tmp_path)
    lines(tmp_path / "one", "errors.jsonl", {"run": RUN.format(3), "time": "u", "error": "no"})
    (item,) = items(runs(tmp_path)[0])
    assert item_line(item, colours=True).startswith("\x1b[31mfailed   \x1b[0m ")
    assert item_line(item, colours=False).startswith("failed    ")
