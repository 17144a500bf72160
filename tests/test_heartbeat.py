"""running.json: there while a crawl is at work, gone when it has a report, and told of by the next when it died."""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from scrapy import Spider
from scrapy.crawler import Crawler
from scrapy.settings import Settings
from scrapy.statscollectors import StatsCollector

from crawlers.components.politeness.pace import Pauses
from crawlers.extensions.progress import Heartbeat
from crawlers.records import moment
from crawlers.safety.locks import LOCK, take
from crawlers.store.runs import runs
from tests import forked
from tests.conftest import ROOT, json_lines, options, scrapy
from tests.site import Answer, Asked, Site, listing
from tests.waiting import HANG, until

FAST_BEAT = {"HEARTBEAT_INTERVAL": "0.1"}
ENDS = {"manifest_end", "errors_end", "flaws_end"}


def begun(output: Path, portal: Any, **settings: str) -> subprocess.Popen[str]:
    words = options(output, {**FAST_BEAT, "REQUESTS_PER_SECOND": "30", **settings}, portal=portal.url)
    command = [sys.executable, "-W", "error", "-m", "scrapy", "crawl", "hdx", *words]
    return forked.Popen(command, cwd=ROOT, stderr=subprocess.PIPE, text=True)


def beating(output: Path, *, other_than: str = "") -> dict[str, Any]:
    """What running.json says, once a crawl has written it and a document."""
    path = output / "hdx" / "running.json"

    def beat() -> dict[str, Any] | None:
        state: dict[str, Any] = json.loads(path.read_bytes()) if path.exists() else {}
        counts = state.get("counts", {"new": 0, "unchanged": 0})
        return state if counts["new"] + counts["unchanged"] and state["run"] != other_than else None

    found: dict[str, Any] = until(beat)
    return found


def killed(output: Path, portal: Any, **settings: str) -> dict[str, Any]:
    crawl = begun(output, portal, **settings)
    beating(output)
    crawl.kill()
    crawl.communicate()
    return beating(output)


def test_it_is_there_before_any_request_and_gone_afterwards(tmp_path):
    path, seen = tmp_path / "one" / "running.json", []

    def answer(asked: Asked) -> Answer:
        seen.append(json.loads(path.read_bytes()))
        return Answer(status=404) if asked.action == "robots.txt" else listing({"id": "1", "name": "one"})

    with Site(answer) as site:
        words = options(tmp_path, {"LOG_FILE": str(tmp_path / "a.log")}, portal=site.url, source="one")
        scrapy("crawl", "ckan", *words)
    first = seen[0]
    report = json.loads(next((tmp_path / "one" / "runs").iterdir()).read_bytes())
    own = {"heartbeat", "interval", "pid", "host", "job", "requests_per_second", "waits"}
    known = [name for name in report if name not in ENDS]
    assert list(first)[: len(known)] == known
    assert (set(first) - set(report), set(report) - set(first)) == (own, ENDS)
    assert (first["run"], first["spider"]) == (report["run"], "ckan")
    assert first["arguments"] == {"portal": site.url, "source": "one"}
    assert (first["host"], first["interval"], first["job"]) == (socket.gethostname(), 10.0, None)
    assert first["log"] == report["log"] == str(tmp_path / "a.log")
    assert (first["verdict"], first["listed"], first["requests_per_second"], first["waits"]) == (None, 0, 0, [])
    left = sorted(path.name for path in path.parent.iterdir())
    assert left == [".lock", "datasets", "errors.jsonl", "flaws.jsonl", "manifest.jsonl", "runs", "timeseries"]


def test_it_says_how_fast_it_is_and_why_it_waits(monkeypatch):
    crawler = Crawler(Spider, Settings())
    crawler.stats = StatsCollector(crawler)
    pauses, heartbeat = object.__new__(Pauses), object.__new__(Heartbeat)
    pauses.crawler = heartbeat.crawler = crawler
    heartbeat.interval, heartbeat.before = 10.0, (0, 100.0)
    vars(heartbeat)["report"] = SimpleNamespace(so_far=dict)
    crawler.stats.set_value("downloader/request_count", 15)
    monkeypatch.setattr("crawlers.extensions.progress.monotonic", lambda: 110.0)
    pauses.tell("example.org", "waits 60 s for example.org: HTTP 429, Retry-After")
    pauses.tell("example.com", "waits 2 s for example.com: HTTP 503, back-off")
    pauses.tell("example.com", None)
    state = heartbeat._state()
    assert state["requests_per_second"] == 1.5
    assert state["waits"] == ["waits 60 s for example.org: HTTP 429, Retry-After"]


def test_it_beats_and_counts(portal, output):
    crawl = begun(output, portal(datasets=40), JOBDIR=str(output.parent / "job"))
    first = beating(output)
    while (later := beating(output))["counts"]["new"] <= first["counts"]["new"]:
        time.sleep(0.05)
    crawl.terminate()
    crawl.communicate(timeout=HANG)
    assert later["heartbeat"] > first["heartbeat"]
    assert (later["expected"], later["listed"], later["pid"]) == (40, 40, crawl.pid)
    assert later["job"] == str(output.parent / "job")


@pytest.mark.parametrize("signals", [1, 2])
def test_it_goes_when_the_crawl_is_stopped(portal, output, signals):
    crawl = begun(output, portal(datasets=40))
    beating(output)
    for _ in range(signals):
        crawl.send_signal(signal.SIGINT)
        time.sleep(0.2)
    crawl.communicate(timeout=HANG)
    assert crawl.returncode in (130, -signal.SIGINT)[:signals]  # the second may come when the crawl is over
    assert not [path.name for path in (output / "hdx").iterdir() if "running" in path.name or "heartbeat" in path.name]
    assert [run.state for run in runs(output)] == ["interrupted"]


@pytest.mark.slow
def test_one_that_died_is_interrupted_until_it_goes_on(portal, output):
    site, job = portal(datasets=30), {"JOBDIR": str(output.parent / "job")}
    dead = killed(output, site, **job)
    assert [(run.run, run.state, run.finished) for run in runs(output)] == [
        (dead["run"], "interrupted", dead["heartbeat"])
    ]
    crawl = begun(output, site, **job)
    until(lambda: beating(output)["pid"] != dead["pid"])
    assert [(run.run, run.state, run.resumed) for run in runs(output)] == [(dead["run"], "running", True)]
    crawl.communicate(timeout=HANG)
    assert [(run.run, run.state) for run in runs(output)] == [(dead["run"], "complete")]


def test_one_that_died_after_it_had_a_report_is_interrupted(portal, output):
    """It was stopped, which is reported, went on, and was killed."""
    site, job = portal(datasets=30), {"JOBDIR": str(output.parent / "job")}
    crawl = begun(output, site, **job)
    beating(output)
    crawl.terminate()
    crawl.communicate(timeout=HANG)
    reported = runs(output)[0]
    dead = killed(output, site, **job)
    assert dead["run"] == reported.run
    (run,) = runs(output)
    assert (run.state, run.report, run.finished) == ("interrupted", None, dead["heartbeat"])


@pytest.mark.slow
def test_one_that_died_for_good_gets_its_report_from_the_next(portal, output):
    site = portal(datasets=30)
    dead = killed(output, site)
    until(lambda: moment.name() != dead["run"])  # a run is named by the second in which it starts
    crawl = begun(output, site)
    beating(output, other_than=dead["run"])
    crawl.communicate(timeout=HANG)
    after, before = runs(output)
    assert (after.state, before.state, before.run) == ("complete", "interrupted", dead["run"])
    assert before.details.keys() == after.details.keys() - ENDS
    assert before.details["finish_reason"] == "died"
    assert (before.finished, before.counts) == (dead["heartbeat"], dead["counts"])


@pytest.mark.parametrize("how", ["locked", "finished", "another job"])
def test_a_crawl_that_is_refused_leaves_what_a_dead_one_left(portal, output, how):
    site, job = portal(datasets=10), output.parent / "job"
    words = options(output, {"JOBDIR": str(job)}, portal=site.url)
    assert scrapy("crawl", "hdx", *words).returncode == 0
    site.change(touch=site.ids())
    killed(output, site, REQUESTS_PER_SECOND="5")
    before = (output / "hdx" / "running.json").read_bytes()
    holder = take(output / "hdx" / LOCK) if how == "locked" else None
    if holder is not None:
        words += ["-s", f"JOBDIR={job}2"]
    ran = scrapy("crawl", "hdx", *words, *(["-a", "q=flood"] if how == "another job" else []))
    if holder is not None:
        os.close(holder)
    assert ran.returncode == (0 if how == "finished" else 1)
    assert (output / "hdx" / "running.json").read_bytes() == before
    assert [run.state for run in runs(output)] == ["interrupted", "complete"]


@pytest.mark.parametrize(
    "content",
    [
        None,
        b"",
        b"{",
        b"[" * 100_000,
        b"[1]",
        b'{"run": "../../evil"}',
        b'{"run": "20261120T030000Z"}',
        b'{"run": 7}',
        b"\xff" * 100,
    ],
)
def test_whatever_is_in_it_stops_no_crawl(portal, output, content):
    folder = output / "hdx"
    folder.mkdir(parents=True)
    if content is None:
        os.mkfifo(folder / "running.json")
    else:
        (folder / "running.json").write_bytes(content)
    ran = scrapy("crawl", "hdx", *options(output, {}, portal=portal(datasets=2).url))
    assert ran.returncode == 0
    assert "Traceback" not in ran.stderr
    assert len(list((folder / "runs").iterdir())) == 1
    assert not list(output.parent.rglob("*evil*"))


def test_a_heartbeat_that_can_not_be_written_stops_no_crawl(portal, output):
    folder = output / "hdx"
    folder.mkdir(parents=True)
    (folder / ".heartbeat").mkdir()
    ran = scrapy("crawl", "hdx", *options(output, FAST_BEAT, portal=portal(datasets=5).url, level="snapshot"))
    assert ran.returncode == 0
    told = "running.json can't be written; the run will be reported as crashed: [Errno 21] Is a directory: '.heartbeat'"
    assert ran.stderr.count(told) == 1
    assert json_lines(folder / "errors.jsonl") == []


def test_it_stays_when_the_report_can_not_be_written(portal, output):
    folder = output / "hdx"
    folder.mkdir(parents=True)
    (folder / "runs").write_text("in the way")
    ran = scrapy("crawl", "hdx", *options(output, {}, portal=portal(datasets=2).url))
    path = re.search(r"The run report (.*)/runs/(.*).json", ran.stderr)
    path = path and f"{path[1]}/runs/{path[2]}.json"
    assert ran.returncode == 4
    why = "can't be written ([Errno 20] it is a symbolic link, which is not followed, or no folder: 'runs')"
    assert ran.stderr.count(f"{path}, this run's report, {why}.") == 1
    assert "Without it the run counts as interrupted: see to what is in the way" in ran.stderr
    assert f"The run report {path} {why}" in ran.stderr
    assert [(run.source, run.state) for run in runs(output)] == [("hdx", "interrupted")]
