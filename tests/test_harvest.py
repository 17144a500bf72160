"""Whole harvests: `scrapy harvest` with portals on the loopback, killed, stopped, twice at once, and a year later."""

from __future__ import annotations

import asyncio
import fcntl
import json
import os
import re
import signal
import socket
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from crawlers.components.ledger import FORMAT
from crawlers.exceptions import HarvestError
from crawlers.operate.harvest.crawls import remove_logs, remove_reports
from crawlers.operate.harvest.harvest import Harvest
from crawlers.operate.harvest.job import Claim, Job, Ledger, Plan, hosts_at_work, read_claim
from crawlers.operate.harvest.processes import last_line
from crawlers.safety.locks import LOCK, is_crawled, is_held, take
from crawlers.store.runs import Run, last, runs
from tests import forked
from tests.conftest import FAST, ROOT, Crawl, scrapy
from tests.test_resume import left
from tests.waiting import HANG, until

SLOW = ("-s", "REQUESTS_PER_SECOND=40")


@dataclass
class Place:
    """A folder with a sources.toml, and the harvests there."""

    folder: Path
    harvests: list[subprocess.Popen[str]] = field(default_factory=list)

    @property
    def output(self) -> Path:
        return self.folder / "output"

    @property
    def jobs(self) -> Path:
        return self.folder / "jobs"

    def sources(self, **tables: dict[str, Any]) -> None:
        text = [
            f"[{name}]\n" + "".join(f"{key} = {_toml(value)}\n" for key, value in table.items())
            for name, table in tables.items()
        ]
        (self.folder / "sources.toml").write_text("\n".join(text))

    def options(self) -> list[str]:
        folders = {f"{name.upper()}_DIR": str(self.folder / name) for name in ("output", "jobs", "logs")}
        chosen = {**FAST, **folders, "SOURCES_FILE": str(self.folder / "sources.toml"), "HEARTBEAT_INTERVAL": "0.1"}
        return [word for name, value in chosen.items() for word in ("-s", f"{name}={value}")]

    def harvest(self, *words: str) -> subprocess.CompletedProcess[str]:
        return scrapy("harvest", *self.options(), *words)

    def begin(self, *words: str) -> subprocess.Popen[str]:
        command = [sys.executable, "-W", "error", "-m", "scrapy", "harvest", *self.options(), *words]
        pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
        self.harvests.append(forked.Popen(command, cwd=ROOT, text=True, **pipes))
        return self.harvests[-1]

    def last(self, source: str) -> Run:
        run = last(self.output, source, jobs=self.jobs)
        assert run is not None
        return run

    def until(self, source: str, *, state: str = "running", documents: int = 1) -> Run:
        """The run of a source, once it is in a state and has done something."""

        def reached() -> Run | None:
            run = last(self.output, source, jobs=self.jobs)
            return run if run and run.state == state and run.counts.get("new", 0) >= documents else None

        run = until(reached)
        assert isinstance(run, Run)
        return run

    def kill(self, source: str) -> int:
        """Kills the crawl of a source as the system does when memory ends."""
        while True:  # until one is hit; `until` ends it when none runs any more
            pid = int(self.until(source).details["pid"])
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
                return pid

    def left(self, source: str) -> Any:
        return left(Crawl(0, "", self.output / source))

    def rewrite(self, run: Run, **fields: Any) -> None:
        assert run.report is not None
        run.report.write_text(json.dumps({**run.details, **fields}))

    def begun(self, source: str, moment: datetime) -> None:
        """Says that a harvest began the source's last crawl then."""
        (self.jobs / f"{source}.lock").write_text(json.dumps({"begun": moment.isoformat()}))


@contextmanager
def halted(run: Run) -> Iterator[None]:
    """Its crawl stands still meanwhile: it is not done before its time, however slow the machine is."""
    os.kill(run.details["pid"], signal.SIGSTOP)
    try:
        yield
    finally:
        os.kill(run.details["pid"], signal.SIGCONT)


def _toml(value: Any) -> str:
    if isinstance(value, dict):
        return "{" + ", ".join(f"{name} = {_toml(one)}" for name, one in value.items()) + "}"
    return json.dumps(value)


def ckan(site: Any, **arguments: str) -> dict[str, Any]:
    return {"spider": "ckan", "arguments": {"portal": site if isinstance(site, str) else site.url, **arguments}}


def hdx(site: Any, **table: Any) -> dict[str, Any]:
    return {"spider": "hdx", "arguments": {"portal": site.url}, **table}


def table(out: str) -> dict[str, list[str]]:
    """The rows of the table at the end, by source."""
    rows = out[out.index("\nsource") + 1 :].splitlines()
    return {row.split()[0]: re.split(r"  +", row)[1:] for row in rows[1:]}


def ended(process: subprocess.Popen[str]) -> str:
    out, err = process.communicate(timeout=HANG)
    assert "Traceback" not in err, err
    return out


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Place]:
    place = Place(tmp_path)
    yield place
    for harvest in place.harvests:
        if harvest.poll() is None:  # a test has failed
            harvest.kill()
        harvest.communicate()


# What runs, and how


@pytest.mark.slow
def test_sources_side_by_side(place, portal):
    sites = [portal(datasets=number) for number in (30, 20, 10)]
    place.sources(**{f"s{site.url[-5:]}": hdx(site) for site in sites})
    names = [f"s{site.url[-5:]}" for site in sites]
    ran = place.harvest("--all", "--parallel", "3", "-s", "REQUESTS_PER_SECOND=40")
    assert (ran.returncode, ran.stderr) == (0, "")
    assert {name: row[:2] for name, row in table(ran.stdout).items()} == {
        name: ["complete", f"{number} of {number}"] for name, number in zip(names, (30, 20, 10), strict=True)
    }
    first, *others = [place.last(name) for name in names]
    assert all(one.started < first.finished for one in others), "they ran at the same time"
    assert f"  {names[0]}  started\n" in ran.stdout
    assert (
        f"  {names[0]}  complete. 30 of 30 datasets listed; documents: 120 new, 0 updated, 0 unchanged." in ran.stdout
    )
    assert not [path for path in place.jobs.iterdir() if path.is_dir() and path.name != ".hosts"], "no job is left"
    assert Path(first.log).read_text().count("Spider opened") == 1
    assert not list(place.output.glob("*/running.json"))


@pytest.mark.slow
def test_no_more_than_so_many_at_once(place, portal):
    sites = [portal(datasets=8) for _ in range(3)]
    place.sources(**{f"s{number}": hdx(site) for number, site in enumerate(sites)})
    assert place.harvest("--all", "--parallel", "1", "-s", "REQUESTS_PER_SECOND=40").returncode == 0
    spans = sorted((run.started, run.finished) for run in runs(place.output))
    assert all(before[1] <= after[0] for before, after in pairwise(spans)), spans


@pytest.mark.slow
def test_two_sources_of_one_host_take_turns(place, portal):
    site, other = portal(datasets=40), portal(datasets=40)
    place.sources(one=hdx(site), two=ckan(site, organization="river-gauge-network"), three=hdx(other))
    assert place.harvest("--all", "--parallel", "3", "-s", "REQUESTS_PER_SECOND=60").returncode == 0
    one, two, three = (place.last(name) for name in ("one", "two", "three"))
    assert one.finished <= two.started
    assert three.started < one.finished


@pytest.mark.slow
def test_what_is_wrong_with_one_is_not_wrong_with_others(place, portal):
    well, refusing, broken = portal(datasets=5), portal(datasets=5), portal(datasets=5)
    refusing.fault(robot_check="package_search")
    broken.fault(error="package_search")
    place.sources(well=ckan(well), refusing=ckan(refusing), broken=ckan(broken), dead=ckan("http://127.0.0.1:9"))
    ran = place.harvest("--all", "--parallel", "4")
    assert ran.returncode == 4
    states = {name: row[0] for name, row in table(ran.stdout).items()}
    assert states == {"well": "complete", "refusing": "blocked", "broken": "failed", "dead": "failed"}
    assert "failed. 0 datasets listed; documents: 0 new, 0 updated, 0 unchanged. Errors: connection 1." in ran.stdout


def test_an_incomplete_one(place, portal):
    place.sources(well=ckan(portal(datasets=5)), half=hdx(portal(datasets=5, faults=("gone=show", "error=download"))))
    assert (place.harvest("--all").returncode, place.last("half").state) == (3, "incomplete")


def test_settings_come_from_the_command_then_from_the_source(place, portal):
    site = portal(datasets=5)
    place.sources(one={**ckan(site), "settings": {"FILENAME_SLUG": "False", "CONTACT": "desk@example.org"}})
    assert place.harvest("one", "-s", "CONTACT=me@example.org").returncode == 0
    assert not list((place.output / "one").rglob("*__*"))
    assert "me@example.org" in site.log()[-1]["user_agent"]


def test_what_a_source_takes(place, portal):
    place.sources(one=ckan(portal(datasets=5)), dated=ckan(portal(datasets=5), since="2020-01-01"))
    assert place.harvest("--all").returncode == 0
    assert place.last("one").arguments["since"] == "last"
    assert place.last("dated").arguments["since"] == "2020-01-01"


def test_the_next_one_is_incremental(place, portal):
    site = portal(datasets=20)
    place.sources(one=hdx(site))
    place.harvest("one")
    site.change(
        edit={site.ids()[0]: {"metadata_modified": f"{datetime.now(UTC):%Y-%m-%dT%H:%M:%S.%f}", "title": "New"}}
    )
    site.reset()
    ran = place.harvest("one")
    assert (ran.returncode, site.requests("download_metadata")) == (0, 3)
    assert "complete. 1 of 1 datasets listed; documents: 0 new, 1 updated, 3 unchanged." in ran.stdout


# Mistakes


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["wel"], "There is no source 'wel'. Did you mean well? There are: other, well."),
        ([], "Name sources, or choose --all or --due; `scrapy sources` lists them."),
        (["well", "--all"], "Name sources, or choose --all or --due; `scrapy sources` lists them."),
        (["well", "--parallel", "0"], "--parallel '0' is not a whole number, 1 or more."),
        (["well", "-s", "JOBS_DIR=/dev/null/jobs"], "/dev/null/jobs is not writable (Not a directory)"),
        (["well", "-s", "SOURCES_FILE=/nowhere.toml"], "There is no /nowhere.toml"),
        (["well", "-s", "RUNS_KEPT_DAYS=abc"], "RUNS_KEPT_DAYS='abc' is not a number of days from 1 to 36500, or 0"),
        (["well", "-s", "LOGS_KEPT_DAYS=1000000"], "LOGS_KEPT_DAYS='1000000' is not a number of days"),
        (["well", "--scrapyd", "http://127.0.0.1:9"], "Scrapyd at http://127.0.0.1:9 is unreachable"),
    ],
)
def test_mistakes(place, words, told):
    place.sources(well=ckan("http://127.0.0.1:9"), other=ckan("http://127.0.0.1:9", q="flood"))
    ran = place.harvest(*words)
    assert (ran.returncode, ran.stdout) == (1, "")
    assert told in ran.stderr
    assert "Traceback" not in ran.stderr
    assert not place.output.exists()


def test_one_that_can_not_start(place, portal):
    rules = {"spider": "html", "arguments": {"rules": "nowhere.toml"}}
    place.sources(well=ckan(portal(datasets=5)), wrong=rules)
    ran = place.harvest("wrong")
    assert ran.returncode == 1
    assert "  wrong  not started: The rules nowhere.toml can't be read" in ran.stdout
    assert place.harvest("--all").returncode == 4
    run = place.last("wrong")
    assert (run.state, "nowhere.toml can't be read" in run.details["finish_reason"]) == ("failed", True)


def test_one_that_can_not_start_is_told_of_as_its_source_says(place):
    file = place.folder / "wrong.prom"
    rules = {"spider": "html", "arguments": {"rules": "nowhere.toml"}}
    place.sources(wrong={**rules, "settings": {"PROMETHEUS_FILE": str(file)}}, other=rules)
    assert place.harvest("--all").returncode == 1
    assert 'catalogue_last_run_verdict{source="wrong",verdict="failed"} 1.0' in file.read_text()


def test_one_that_the_crawl_refuses(place, portal):
    place.sources(one={**ckan(portal(datasets=5)), "settings": {"SHRINK_LIMIT": "7"}})
    ran = place.harvest("one")
    assert ran.returncode == 1
    assert "  one  not started: SHRINK_LIMIT='7' is not a part of a catalogue, from 0 to 1." in ran.stdout


def test_a_table_that_is_wrong_stops_no_other(place, portal):
    place.sources(well=ckan(portal(datasets=5)), wrong={"spider": "ckna"})
    ran = place.harvest("--all")
    assert (ran.returncode, place.last("well").state) == (4, "complete")
    assert "[wrong]: spider: there is no spider 'ckna'. Did you mean ckan?" in ran.stderr


def test_a_table_that_is_wrong_and_disabled_is_left_out(place, portal):
    place.sources(well=ckan(portal(datasets=5)), wrong={"spider": "ckna", "enabled": False})
    ran = place.harvest("--all")
    assert (ran.returncode, ran.stderr, place.last("well").state) == (0, "", "complete")
    assert (place.harvest("--due").returncode, place.harvest("wrong").returncode) == (0, 1)


def test_nothing_is_enabled(place):
    place.sources(one={"spider": "hdx", "enabled": False})
    ran = place.harvest("--all")
    assert (ran.returncode, "sources.toml has no enabled source" in ran.stdout) == (0, True)
    assert place.harvest("--due").stdout == ""


def test_a_name_that_can_not_be_said_stops_no_other(place, portal, monkeypatch):
    monkeypatch.setenv("PYTHONIOENCODING", "ascii")
    place.sources(one={"spider": "html", "arguments": {"rules": "größe.toml"}}, two=ckan(portal(datasets=5)))
    ran = place.harvest("--all")
    assert (ran.returncode, place.last("two").state) == (4, "complete")
    assert "gr\\xf6\\xdfe.toml can't be read" in ran.stdout


def test_names_after_nodes(place):
    place.sources(one={"spider": "hdx"})
    ran = place.harvest("--dry-run", "--scrapyd", "http://127.0.0.1:9", "one")
    assert ran.returncode == 0
    assert "one" in ran.stdout
    assert "There is no source 'two'" in place.harvest("--scrapyd", "http://127.0.0.1:9", "two").stderr


# Stopped and killed


def whole(place: Place, site: Any) -> Any:
    """What a harvest leaves that nobody disturbs."""
    other = Place(place.folder / "undisturbed")
    other.folder.mkdir()
    other.sources(one=hdx(site))
    assert other.harvest("one").returncode == 0
    return other.left("one")


@pytest.mark.slow
def test_a_crawl_that_is_killed_goes_on_at_once(place, portal):
    site = portal(datasets=40)
    place.sources(one=hdx(site))
    harvest = place.begin("one", "-s", "REQUESTS_PER_SECOND=20")
    for _ in range(3):
        killed = place.kill("one")
        place.until("one", documents=0)
        until(lambda pid=killed: place.last("one").details.get("pid") != pid)
    out = ended(harvest)
    assert (harvest.returncode, out.count("resumed: process")) == (0, 3)
    assert "(ended by SIGKILL, log " in out
    assert place.left("one") == whole(place, site)
    assert [(run.state, run.resumed) for run in runs(place.output)] == [("complete", True)]


@pytest.mark.slow
def test_a_crawl_that_dies_again_and_again(place, portal):
    site = portal(datasets=40)
    place.sources(one=hdx(site))
    harvest = place.begin("one", *SLOW)
    killed = set()
    while harvest.poll() is None:
        run = last(place.output, "one")
        if run and run.state == "running" and run.run and run.details["pid"] not in killed:
            killed.add(run.details["pid"])
            os.kill(run.details["pid"], signal.SIGKILL)
        time.sleep(0.01)
    out = ended(harvest)
    assert (harvest.returncode, len(killed), place.last("one").state) == (3, 4, "interrupted")
    assert table(out)["one"][0] == "interrupted"
    again = place.harvest("one")
    assert again.returncode == 0
    assert "  one  resumed\n" in again.stdout
    assert place.left("one") == whole(place, site)


@pytest.mark.slow
def test_a_harvest_that_is_killed_leaves_crawls_that_nobody_overlaps(place, portal):
    site = portal(datasets=40)
    place.sources(one=hdx(site), two=ckan(site, q="flood"))
    harvest = place.begin("--all", *SLOW)
    running = place.until("one")
    assert {run.source: run.state for run in runs(place.output, jobs=place.jobs)} == {
        "one": "running",
        "two": "pending",
    }
    with halted(running):
        harvest.kill()
        harvest.communicate()
        again = place.harvest("one")
        assert (again.returncode, again.stdout.count("is already running")) == (0, 1)
        assert {run.source: run.state for run in runs(place.output, jobs=place.jobs)} == {"one": "running"}
    done = place.until("one", state="complete")
    assert done.run == running.run
    assert not (place.output / "two").exists()
    third = place.harvest("--all")
    assert third.returncode == 0
    assert {run.state for run in runs(place.output, jobs=place.jobs)} == {"complete"}
    assert "nothing changed since" in third.stdout.lower(), "the job that was over is not taken for one to go on with"


@pytest.mark.slow
def test_a_host_stays_taken_when_its_harvest_is_killed(place, portal):
    site = portal(datasets=30)
    place.sources(one=hdx(site), two=ckan(site, q="flood"))
    harvest = place.begin("one", *SLOW)
    place.until("one")
    harvest.kill()
    harvest.communicate()
    assert place.harvest("two").returncode == 0
    assert place.last("one").finished <= place.last("two").started


@pytest.mark.slow
def test_all_killed(place, portal):
    site = portal(datasets=40)
    place.sources(one=hdx(site, schedule="daily"))
    harvest = place.begin("--due", *SLOW)
    pid = place.until("one").details["pid"]
    harvest.kill()
    os.kill(pid, signal.SIGKILL)
    harvest.communicate()
    place.until("one", state="interrupted")
    again = place.harvest("--due")
    assert again.returncode == 0
    assert "  one  resumed\n" in again.stdout
    assert place.left("one") == whole(place, site)
    assert {run.state for run in runs(place.output, jobs=place.jobs)} == {"complete"}


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_stopped_and_gone_on(place, portal, number):
    site, other = portal(datasets=40), portal(datasets=5)
    place.sources(one=hdx(site), two=ckan(other))
    harvest = place.begin("--all", "--parallel", "1", *SLOW)
    running = place.until("one", documents=60)
    harvest.send_signal(number)
    out = ended(harvest)
    assert harvest.returncode == 130
    assert [row[0] for row in table(out).values()] == ["interrupted", "skipped"]
    stopped = place.last("one")
    assert (stopped.state, stopped.run, stopped.report is not None) == ("interrupted", running.run, True)
    again = place.harvest("--all")
    assert again.returncode == 0
    assert (place.last("one").run, place.last("one").resumed) == (running.run, True)
    assert place.left("one") == whole(place, site)


def test_stopped_at_once(place, portal):
    site = portal(datasets=5, faults=("hang=download_metadata",))
    place.sources(one=hdx(site))
    harvest = place.begin("one")
    place.until("one", documents=1)
    harvest.terminate()
    time.sleep(1)
    assert harvest.poll() is None, "what is under way is waited for"
    harvest.terminate()
    ended(harvest)
    assert (harvest.returncode, place.last("one").state) == (130, "interrupted")


@pytest.mark.slow
def test_a_crawl_that_hangs_is_killed_the_third_time(place, portal):
    place.sources(one=hdx(portal(datasets=40)))
    harvest = place.begin("one", *SLOW)
    os.kill(place.until("one").details["pid"], signal.SIGSTOP)
    for _ in range(3):
        assert harvest.poll() is None
        harvest.send_signal(signal.SIGINT)
        time.sleep(0.5)
    out = ended(harvest)
    assert (harvest.returncode, place.last("one").state) == (130, "interrupted")
    assert "(ended by SIGKILL, log " in out


@pytest.mark.slow
def test_two_harvests_at_once(place, portal):
    place.sources(one=hdx(portal(datasets=30)))
    first = place.begin("one", *SLOW)
    with halted(place.until("one")):
        second = place.harvest("one")
    assert (second.returncode, table(second.stdout)["one"][0]) == (0, "running")
    ended(first)
    assert (first.returncode, len(runs(place.output))) == (0, 1)


@pytest.mark.slow
def test_a_crawl_by_hand_is_not_overlapped(place, portal):
    site = portal(datasets=80)
    place.sources(one=hdx(site))
    words = [*place.options(), *SLOW, "-a", f"portal={site.url}", "-a", "source=one"]
    crawl = forked.Popen([sys.executable, "-m", "scrapy", "crawl", "hdx", *words], cwd=ROOT, stderr=subprocess.PIPE)
    with halted(place.until("one")):
        ran = place.harvest("one")
    crawl.communicate(timeout=HANG)
    assert (ran.returncode, crawl.returncode) == (0, 0)
    assert "  one  is already running." in ran.stdout
    assert [run.state for run in runs(place.output)] == ["complete"]


@pytest.mark.slow
def test_a_job_dir_in_use_is_left_alone(place, portal):
    site = portal(datasets=80)
    place.sources(one=hdx(site))
    words = [*place.options(), *SLOW, "-a", f"portal={site.url}", "-s", f"JOBDIR={place.jobs / 'one'}"]
    words += ["-s", "HOST_TURNS=False"]  # else the harvest waits for the host first
    crawl = forked.Popen([sys.executable, "-m", "scrapy", "crawl", "hdx", *words], cwd=ROOT, stderr=subprocess.PIPE)
    with halted(place.until("hdx")):
        ran = place.harvest("one")
    crawl.communicate(timeout=HANG)
    assert (ran.returncode, crawl.returncode) == (0, 0)
    assert "  one  is already running." in ran.stdout


# What a job is gone on with


def test_a_limit_is_gone_on_from(place, portal):
    site = portal(datasets=40)
    place.sources(one=hdx(site))
    first = place.harvest("one", "-s", "CLOSESPIDER_ITEMCOUNT=30", *SLOW)
    assert (first.returncode, place.last("one").state) == (0, "partial")
    again = place.harvest("one")
    assert (again.returncode, len(runs(place.output)), "resumed" in again.stdout) == (0, 1, True)
    assert place.left("one") == whole(place, site)


def test_a_job_of_other_arguments_begins_anew(place, portal):
    site = portal(datasets=40)
    place.sources(one=hdx(site))
    place.harvest("one", "-s", "CLOSESPIDER_ITEMCOUNT=30", *SLOW)
    table = hdx(site)
    table["arguments"]["level"] = "snapshot"
    place.sources(one=table)
    ran = place.harvest("one")
    assert ran.returncode == 0
    assert "  one  starts from the beginning: the saved job has other arguments or is of another version." in ran.stdout
    assert len(runs(place.output)) == 2


def test_a_job_that_is_no_job_begins_anew(place, portal):
    place.sources(one=ckan(portal(datasets=5)))
    job = place.jobs / "one"
    job.mkdir(parents=True)
    (job / "ledger.sqlite").write_bytes(b"something else" * 500)
    (job / "mine.txt").write_text("kept")
    ran = place.harvest("one")
    assert (ran.returncode, "  one  starts from the beginning" in ran.stdout) == (0, True)
    assert [path.name for path in job.iterdir()] == ["mine.txt"]


def test_an_empty_ledger_begins_anew(place, portal):
    """What a kill between making the file and filling it leaves."""
    place.sources(one=ckan(portal(datasets=5)))
    (place.jobs / "one").mkdir(parents=True)
    (place.jobs / "one" / "ledger.sqlite").touch()
    ran = place.harvest("one")
    told = "  one  starts from the beginning: the saved job is damaged or is not a job, and was removed.\n"
    assert (ran.returncode, told in ran.stdout, place.last("one").state) == (0, True, "complete")


def test_a_ledger_says_what_it_is(tmp_path):
    ledger = Ledger(tmp_path / "no job")
    assert (ledger.state({}), ledger.run()) == ("none", None)


@pytest.fixture
def ledger(tmp_path) -> Ledger:
    """One to go on with, of some pages."""
    with closing(sqlite3.connect(tmp_path / "ledger.sqlite")) as db, db:
        db.execute("CREATE TABLE facts (name, value)")
        db.execute("INSERT INTO facts VALUES ('identity', ?)", (json.dumps({"format": FORMAT}),))
        db.execute("CREATE TABLE requests (request)")
        db.executemany("INSERT INTO requests VALUES (?)", [("x" * 1000,)] * 50)
    return Ledger(tmp_path)


def test_a_ledger_that_is_damaged_behind_its_facts(ledger):
    assert ledger.state({}) == "unfinished"
    body = ledger.path.read_bytes()
    ledger.path.write_bytes(body[:20_000] + b"\xff" * (len(body) - 20_000))
    assert ledger.state({}) == "damaged"


def test_only_a_lock_is_in_use(ledger):
    with closing(sqlite3.connect(ledger.path, isolation_level=None)) as db:
        db.execute("BEGIN IMMEDIATE")
        assert ledger.state({}) == "in use"
    ledger.path.unlink()
    ledger.path.mkdir()
    assert ledger.state({}) == "damaged"
    with pytest.raises(HarvestError, match=r"ledger\.sqlite is obsolete and can't be removed \(Is a directory"):
        ledger.remove()


def test_no_crawl_begins_between_the_look_at_a_ledger_and_its_new_names(ledger, monkeypatch):
    with closing(sqlite3.connect(ledger.path)) as db, db:
        db.execute("UPDATE facts SET value = ?", (json.dumps({"arguments": {"source": "old", "q": "old"}}),))
    meanwhile, really = [], json.dumps

    def dumps(value: Any) -> str:
        meanwhile.append(Ledger(ledger.folder).state({}))
        return really(value)

    monkeypatch.setattr("crawlers.operate.harvest.job.json.dumps", dumps)
    ledger.rename({"old": "new"})
    assert meanwhile == ["in use"]
    with closing(sqlite3.connect(ledger.path)) as db:
        assert json.loads(db.execute("SELECT value FROM facts").fetchone()[0])["arguments"] == {
            "source": "new",
            "q": "old",
        }


def test_a_file_where_a_job_is(ledger):
    with pytest.raises(HarvestError, match="is a file where the folder of this source's job belongs: remove it"):
        Ledger(ledger.path).state({})


# What is due


@pytest.fixture
def known(place, portal) -> Place:
    """A source that was harvested daily at 03:00 and was so just now."""
    place.sources(one=ckan(portal(datasets=5)) | {"schedule": "0 3 * * *"})
    assert place.harvest("one").returncode == 0
    return place


def yesterday(place: Place, **fields: Any) -> None:
    before = datetime.now(UTC) - timedelta(days=1, minutes=1)
    place.begun("one", before)
    place.rewrite(place.last("one"), started=before.isoformat(), **fields)


def test_nothing_is_due_and_nothing_is_said(known):
    ran = known.harvest("--due")
    assert (ran.returncode, ran.stdout, ran.stderr) == (0, "", "")
    assert re.search(r"^one +due at \d{4}-\d\d-\d\d 03:00 UTC$", known.harvest("--due", "-v").stdout, re.MULTILINE)


@pytest.mark.parametrize("verdict", ["complete", "failed", "blocked"])
def test_it_is_due_a_day_later(known, verdict):
    yesterday(known, verdict=verdict)
    ran = known.harvest("--due")
    assert (ran.returncode, "  one  started" in ran.stdout) == (0, True)
    assert len(runs(known.output)) == 2
    assert known.harvest("--due").stdout == ""


def test_what_failed_is_not_due_before_its_time(known):
    known.rewrite(known.last("one"), verdict="failed")
    assert known.harvest("--due").stdout == ""


def test_what_died_before_its_first_sign_of_life_is_due(known):
    known.begun("one", datetime.now(UTC))
    foreseen = known.harvest("--due", "--dry-run").stdout
    assert re.search("one +would run +its last run crashed before its first heartbeat", foreseen)
    assert "  one  started" in known.harvest("--due").stdout
    assert known.harvest("--due").stdout == ""


def test_what_was_stopped_before_it_began_is_due(place):
    claim = Claim.take(place.jobs, "one")
    assert claim
    claim.begin()
    assert read_claim(place.jobs, "one").is_held
    claim.release()
    left = read_claim(place.jobs, "one")
    assert (left.begun is not None, left.ended, left.is_held) == (True, None, False)


def test_what_another_harvest_has_is_not_spoken_of(known):
    yesterday(known)
    descriptor = take(known.jobs / "one.lock")
    assert descriptor
    ran = known.harvest("--due")
    assert (ran.returncode, ran.stdout, ran.stderr) == (0, "", "")
    assert "claimed by another harvest" in known.harvest("--due", "-v").stdout
    os.close(descriptor)
    assert "  one  started" in known.harvest("--due").stdout


@pytest.mark.parametrize("moment", ["2099-01-01T03:00:00.000Z", "9999-12-31T23:59:59-12:00"])
def test_a_run_that_is_dated_in_the_future(known, moment):
    known.rewrite(known.last("one"), started=moment)
    (known.jobs / "one.lock").unlink()
    assert "  one  started" in known.harvest("--due").stdout


def test_what_was_interrupted_is_due(known):
    known.rewrite(known.last("one"), verdict="interrupted")
    assert "  one  started" in known.harvest("--due").stdout


def test_what_could_not_start_is_not_due_before_its_time(place, portal):
    place.sources(one={**ckan(portal(datasets=5)), "schedule": "daily", "settings": {"SHRINK_LIMIT": "7"}})
    assert place.harvest("--due").returncode == 1
    assert place.harvest("--due").stdout == ""


def test_a_job_that_goes_on_is_due_by_when_it_last_went_on(known):
    """Its run began days ago; a cron job every hour is no reason to go on every hour."""
    known.rewrite(known.last("one"), started="2026-01-01T03:00:00.000Z")
    assert known.harvest("--due").stdout == ""


def test_a_dry_run_says_what_would_be_done(known, portal):
    site = portal(datasets=5)
    tables = {"off": {"schedule": "daily", "enabled": False}, "never": {"schedule": "weekly"}, "by-hand": {}}
    more = {name: ckan(site, q=name) | table for name, table in tables.items()}
    place_one = ckan(known.last("one").arguments["portal"]) | {"schedule": "0 3 * * *"}
    known.sources(one=place_one, **more)
    ran = known.harvest("--due", "--dry-run")
    assert ran.returncode == 0
    rows = [re.split(r"  +", line) for line in ran.stdout.splitlines()]
    assert rows[2:] == [
        ["off", "disabled"],
        ["never", "would run", "never harvested before"],
        ["by-hand", "no schedule"],
    ]
    assert site.requests() == 0
    yesterday(known)
    assert re.search(r"one +would run +due since .* 03:00 UTC", known.harvest("--due", "--dry-run").stdout)


# What is kept


def old(folder: Path, days: float, **fields: Any) -> Path:
    started = datetime.now(UTC) - timedelta(days=days)
    run = started.strftime("%Y%m%dT%H%M%SZ")
    report = {"source": folder.name, "spider": "ckan", "run": run, "started": started.isoformat(), "arguments": {}}
    path = folder / "runs" / f"{run}.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps({**report, "verdict": "complete", **fields}))
    return path


def test_old_reports_go_but_for_what_the_next_run_builds_on(tmp_path):
    folder = tmp_path / "one"
    gone = [
        old(folder, 900, verdict="complete"),
        old(folder, 800, verdict="failed"),
        old(folder, 790, verdict="complete", arguments={"q": "flood", "since": "2020-01-01"}),
        old(folder, 780, verdict="complete", arguments={"q": "flood"}, provisional=True),
    ]
    kept = [
        old(folder, 700, verdict="complete"),
        old(folder, 1000, verdict="complete", arguments={"q": "flood"}),
        old(folder, 1100, verdict="incomplete", arguments={"q": "drought"}, whole_listing=True),
        old(folder, 300, verdict="failed"),
        old(folder, 2, verdict="failed"),
    ]
    assert remove_reports(tmp_path, "one", 365) == 4
    assert [path.exists() for path in gone + kept] == [False] * 4 + [True] * 5
    assert remove_reports(tmp_path, "one", 0) == 0


def test_the_last_report_stays_however_old(tmp_path):
    path = old(tmp_path / "one", 900, verdict="failed")
    assert remove_reports(tmp_path, "one", 365) == 0
    assert path.exists()


def test_old_logs_go(tmp_path):
    logs = [tmp_path / "one" / name for name in ("a.log", "b.log", "c.txt")]
    logs[0].parent.mkdir()
    for path in logs:
        path.touch()
    os.utime(logs[0], (0, 0))
    os.utime(logs[2], (0, 0))
    assert remove_logs(tmp_path, "one", 0) == 0
    assert remove_logs(tmp_path, "one", 90) == 1
    assert [path.exists() for path in logs] == [False, True, True]


def test_a_harvest_tidies_up(known):
    paths = [old(known.output / "one", days, verdict="failed") for days in (500, 400)]
    assert known.harvest("one").returncode == 0
    assert not any(path.exists() for path in paths)


# What is not said


def test_no_secret_is_told(place, portal, monkeypatch):
    monkeypatch.setenv("CKAN_API_TOKEN", "s3cr3t-t0ken")
    monkeypatch.setenv("SCRAPYD_LOGIN", "me:s3cr3t-t0ken")
    place.sources(one=ckan(portal(datasets=5)), dead=ckan("http://127.0.0.1:9"))
    ran = place.harvest("--all")
    assert "s3cr3t" not in ran.stdout + ran.stderr
    files = [path for path in place.folder.rglob("*") if path.is_file()]
    assert not [path for path in files if b"s3cr3t" in path.read_bytes()]
    assert any(path.suffix == ".log" for path in files)


# Locks


def test_a_source_that_is_named_as_a_lock(place, portal):
    place.sources(**{"one": ckan(portal(datasets=5)), '"one.lock"': ckan(portal(datasets=5))})
    assert place.harvest("--all", "--parallel", "1").returncode == 0
    assert {run.source: run.state for run in runs(place.output)} == {"one": "complete", "one.lock": "complete"}


def test_hosts_that_can_not_be_locked(place, portal):
    place.sources(one=ckan(portal(datasets=5)))
    place.jobs.mkdir()
    (place.jobs / ".hosts").touch()
    ran = place.harvest("one")
    assert ran.returncode == 1
    assert f"check {place.jobs / '.hosts'}\n" in ran.stdout


class Told:
    """A harvest of one source with a crawl that is what the test makes it."""

    def __init__(self, place: Place, crawl: Callable[[], str], **words: Any) -> None:
        self.crawl_one = crawl
        self.reports: list[Any] = []
        self.harvest = Harvest(
            place.output, place.jobs, parallel=1, tell=lambda *_: None, report=self.reports.append, **words
        )
        settings = {"JOBDIR": str(place.jobs / "one"), "OUTPUT_DIR": str(place.output)}
        job = Job(source="one", spider="ckan", arguments={}, settings=settings)
        self.outcomes = asyncio.run(
            self.harvest.run([Plan(job=job, hosts=frozenset({"example.org"}), identity={})], self)
        )

    async def crawl(self, _: Job) -> str:
        return self.crawl_one()

    async def busy(self, _: str) -> bool:
        return False

    async def cancel(self, _: str) -> None:
        """Nothing."""

    async def close(self) -> None:
        """Nothing."""


def test_a_node_that_dies_with_its_crawl(place):
    def crawl() -> str:
        state = {"run": "20261120T030000Z", "heartbeat": "2026-11-20T03:00:01Z", "host": socket.gethostname()}
        (place.output / "one").mkdir(parents=True)
        (place.output / "one" / "running.json").write_text(json.dumps(state))
        raise HarvestError("Scrapyd is silent. Job one-1 may still run there.")

    told = Told(place, crawl)
    assert [outcome.state for outcome in told.outcomes] == ["interrupted"]
    assert told.outcomes[0].sentence.endswith(". Scrapyd is silent. Job one-1 may still run there.")
    (report,) = told.reports
    assert (report["verdict"], report["finish_reason"]) == ("interrupted", "died")
    assert report["why"] == "Scrapyd is silent. Job one-1 may still run there."
    assert not list(place.output.glob("one/runs/*")), "no second report"


def test_a_crawl_that_is_over_has_died_whatever_its_heartbeat_says(place):
    """As when its node, another machine, says that it is over a moment after it was last heard of."""
    beat = datetime.now(UTC).isoformat()
    facts = {"state": {"run": "20261120T030000Z"}, "finished": True}

    def crawl() -> str:
        state = {"run": "20261120T030000Z", "heartbeat": beat, "interval": 10, "pid": 7, "host": "elsewhere"}
        for name in ("output", "jobs"):
            (place.folder / name / "one").mkdir(parents=True)
        (place.output / "one" / "running.json").write_text(json.dumps({**state, "finish_reason": "running"}))
        with closing(sqlite3.connect(place.jobs / "one" / "ledger.sqlite")) as db, db:
            db.execute("CREATE TABLE facts (name, value)")
            rows = [(name, json.dumps(value)) for name, value in facts.items()]
            db.executemany("INSERT INTO facts VALUES (?, ?)", rows)
        return "process 7 (ended by SIGKILL)"

    told = Told(place, crawl)
    (outcome,), (report,) = told.outcomes, told.reports
    assert outcome.run is not None
    assert (outcome.state, outcome.run.finished, outcome.run.where) == ("interrupted", beat, None)
    assert (report["verdict"], report["finish_reason"], report["finished"]) == ("interrupted", "died", beat)
    assert report["why"] == "Process 7 (ended by SIGKILL) left no report."


def test_a_crawl_that_another_machine_overtook(place):
    """Its own report goes aside with its folder; the source is what the other crawl says."""
    runs_ = place.output / "one" / "runs"
    runs_.mkdir(parents=True)
    before = {"source": "one", "verdict": "complete", "finish_reason": "finished", "started": "2026-11-19T03:00:00Z"}
    (runs_ / "20261119T030000Z.json").write_text(json.dumps({**before, "finished": "2026-11-19T03:01:00Z"}))

    def crawl() -> str:
        after = {**before, "started": "2026-11-20T03:00:00Z", "finished": "2026-11-20T03:01:00Z"}
        (runs_ / "20261120T030000Z.json").write_text(json.dumps(after))
        return "process 7 (ended with exit code 130)"

    told = Told(place, crawl)
    (outcome,) = told.outcomes
    assert outcome.run is not None
    assert (outcome.state, outcome.run.run, told.reports) == ("complete", "20261120T030000Z", [])
    assert outcome.sentence.endswith("It was crawled by another process meanwhile.")
    assert len(list(runs_.iterdir())) == 2, "nothing is said to have failed"
    told = Told(place, lambda: "process 8 (ended with exit code 1)")
    assert [outcome.state for outcome in told.outcomes] == ["not started"], "what was there before is nobody's"


def test_a_crawl_that_breaks_off(place):
    def crawl() -> str:
        raise PermissionError(13, "Permission denied", "/srv/x")

    outcomes = Told(place, crawl).outcomes
    assert [outcome.sentence for outcome in outcomes] == ["not started: /srv/x: Permission denied"]


def test_what_another_harvest_has_just_done(place):
    assert Told(place, lambda: pytest.fail("crawled"), is_wanted=lambda _: False).outcomes == []
    assert not is_held(place.jobs / "one.lock")


def test_a_host_stays_taken_by_a_crawl_that_nobody_waits_for(place):
    """As on a node, when the harvest was killed: the source's folder is locked, its hosts are not."""
    folder = place.output / "other"
    folder.mkdir(parents=True)
    claim = Claim.take(place.jobs, "other")
    assert claim
    assert claim.take_hosts(frozenset({"example.org"}))
    claim.release()
    descriptor = take(folder / LOCK)
    assert descriptor is not None
    assert hosts_at_work(place.output, place.jobs, ()) == {"example.org"}
    assert hosts_at_work(place.output, place.jobs, ("other",)) == set()
    timer = threading.Timer(1, os.close, [descriptor])
    timer.start()
    free: list[bool] = []
    Told(place, lambda: str(free.append(not is_crawled(folder))))
    timer.join()
    assert free == [True]


# Nobody listens


@pytest.fixture
def unheard(place, portal):
    """The words of a harvest; at the end it is judged by what it crawled."""
    place.sources(one=ckan(portal(datasets=5)), two=ckan(portal(datasets=5)), wrong={"spider": "ckna"})
    yield [sys.executable, "-W", "error", "-m", "scrapy", "harvest", *place.options(), "--all", "--parallel", "1"]
    assert {run.source: run.state for run in runs(place.output)} == {"one": "complete", "two": "complete"}


@pytest.mark.slow
@pytest.mark.parametrize("closed", [(1,), (1, 2)])
def test_nobody_listens(unheard, closed):
    ran = forked.run(unheard, cwd=ROOT, check=False, stderr=subprocess.PIPE, text=True, closed=closed)
    assert "Traceback" not in ran.stderr
    assert "Exception" not in ran.stderr
    assert ran.returncode == 4, "the exit code is that of what was crawled"


@pytest.mark.parametrize("errors", [subprocess.PIPE, subprocess.STDOUT])
def test_what_it_says_can_not_be_written(unheard, errors):
    with Path("/dev/full").open("w") as full:
        ran = forked.run(unheard, cwd=ROOT, check=False, stdout=full, stderr=errors, text=True)
    assert "Traceback" not in (ran.stderr or "")
    assert "Exception" not in (ran.stderr or "")
    assert ran.returncode == 4


def test_who_listens_goes_away(unheard):
    with forked.Popen(unheard, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as harvest:
        assert "Traceback" not in harvest.stdout.readline()
        harvest.stdout.close()
    assert harvest.returncode == 4


# Why


def test_why_a_crawl_broke_off(tmp_path):
    log = tmp_path / "one.log"
    log.write_text("Traceback (most recent call last):\nsqlite3.DatabaseError: malformed\n")
    assert last_line(log) == f"the crawl failed with sqlite3.DatabaseError: malformed; see {log}"
    log.write_text("2026-11-20 03:00:00 [crawlers.x] ERROR: SHRINK_LIMIT='7' is not a part.\n")
    assert last_line(log) == "SHRINK_LIMIT='7' is not a part."


@pytest.mark.parametrize(
    "left", ["", "\n", "2026-11-22 06:17:08", "a line\n2026-11-22 06:17:08 [crawlers.x] ERROR: SHRI"]
)
def test_a_crawl_that_a_full_disk_cut_short(tmp_path, monkeypatch, left):
    log = tmp_path / "one.log"
    log.write_text(left)
    assert "is full" not in last_line(log)
    monkeypatch.setattr(os, "statvfs", lambda _: SimpleNamespace(f_bavail=0))
    assert last_line(log) == f"the disk of {tmp_path} is full: free some space, then harvest again to resume"
    log.write_text("2026-11-22 06:17:08 [crawlers.x] ERROR: SHRINK_LIMIT='7' is not a part.\n")
    assert last_line(log) == "SHRINK_LIMIT='7' is not a part."


def test_who_looks_at_a_lock_turns_nobody_away(tmp_path):
    """A reader holds a shared lock for a moment; a crawl that comes just then waits for it."""
    descriptor = os.open(tmp_path / LOCK, os.O_RDONLY | os.O_CREAT)
    fcntl.flock(descriptor, fcntl.LOCK_SH)
    code = "import sys; from pathlib import Path; from crawlers.store.folder import lock; print(0, flush=True)"
    code += "; lock(Path(sys.argv[1])); print(1)"
    code += "; sys.stdout.flush(); sys.stdin.read()"
    words = [sys.executable, "-c", code, str(tmp_path)]
    holder = subprocess.Popen(words, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert holder.stdin
    assert holder.stdout
    with holder.stdin, holder.stdout:
        assert holder.stdout.readline() == "0\n", "it is about to take the lock"
        time.sleep(0.05)
        os.close(descriptor)
        assert holder.stdout.readline() == "1\n"
        assert is_crawled(tmp_path)
    holder.wait()
    assert not is_crawled(tmp_path)
