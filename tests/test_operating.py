"""Ten sources of four kinds: harvested at once, two of them on Scrapyd, killed, resumed, and harvested the next day."""

from __future__ import annotations

import json
import os
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import ROOT, Crawl, options, scrapy
from tests.portal.portal import Portal
from tests.scrapyd import LOGIN, Scrapyd, checkout
from tests.ten import ON_NODES, VERDICTS, Ten
from tests.test_resume import left
from tests.waiting import HANG, until

pytestmark = pytest.mark.slow
HERE = [name for name in VERDICTS if name not in ON_NODES]
PATIENT = {"RETRY_TIMES": "2", "BLOCKED_AFTER": "1", "SHRINK_LIMIT": "0.9"}
SLOW = {"REQUESTS_PER_SECOND": "0.15"}  # on a busy machine ten crawls take their time to begin: none is over by then
REQUESTS = {
    "river": 8,
    "flaky": 16,
    "aid": 6,
    "walled": 1,  # what changed, and the ids, ten a page; each twice; exports
    "ministry": 13,
    "region": 13,
    "agency": 2,
    "bureau": 2,  # pages can't be asked for by an ETag, files can
    "city": 25,
    "museum": 26,  # by an ETag each, and the listing
}
AT_WORK = 5  # sources in the middle of their crawl when the power goes
UPDATED = {**dict.fromkeys(VERDICTS, 1), "walled": 0}


class House:
    """Where it all goes: OUTPUT_DIR, jobs, logs; and the harvests there."""

    def __init__(self, folder: Path, ten: Ten) -> None:
        self.folder, self.ten = folder, ten
        self.output = folder / "output"
        self.dead: list[str] = []
        self.log = ""
        self.places = {
            "SOURCES_FILE": str(ten.sources),
            "JOBS_DIR": str(folder / "jobs"),
            "LOGS_DIR": str(folder / "logs"),
            "HEARTBEAT_INTERVAL": "0.5",
        }

    def words(self, **settings: str) -> list[str]:
        return options(self.output, {**self.places, **PATIENT, **settings})

    def run(self, command: str, *words: str, **settings: str) -> subprocess.CompletedProcess[str]:
        return scrapy(command, *words, *self.words(**settings), timeout=300)

    def harvest(self, *words: str, **settings: str) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [sys.executable, "-W", "error", "-m", "scrapy", "harvest", *words, *self.words(**settings)],
            cwd=ROOT,
            env={**os.environ, "SCRAPYD_LOGIN": LOGIN},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )

    def night(self, node: Scrapyd, **settings: str) -> list[subprocess.Popen[str]]:
        """Eight sources here, two on a node, all at once."""
        return [
            self.harvest(*HERE, "--parallel", "8", **settings),
            self.harvest(*ON_NODES, "--scrapyd", node.url, **settings),
        ]

    def jobs(self) -> dict[str, dict[str, Any]]:
        """The last run of each source, as `scrapy jobs` has it."""
        newest_first = json.loads(self.run("jobs", "--json").stdout)
        return {run["source"]: run for run in reversed(newest_first)}

    def crawl(self, name: str) -> Crawl:
        return Crawl(0, "", self.output / name)


def whole(folder: Path, ten: Ten) -> dict[str, Crawl]:
    """What crawls that nobody disturbs leave, one for each source."""
    crawls = {
        name: subprocess.Popen(
            [
                *(sys.executable, "-m", "scrapy", "crawl", spider, "-a", f"source={name}"),
                *options(folder, PATIENT, **given),
            ],
            cwd=ROOT,
            stderr=subprocess.PIPE,
            text=True,
        )
        for name, (spider, given) in ten.arguments().items()
    }
    logs = {name: one.communicate(timeout=HANG)[1] for name, one in crawls.items()}
    return {name: Crawl(crawls[name].returncode, log, folder / name) for name, log in logs.items()}


def begun(house: House) -> bool:
    """Whether enough sources are at work and have documents on disk, those on the node among them."""
    found = {path.parent.name for path in house.output.glob("*/running.json") if any(path.parent.glob("datasets/*"))}
    return len(found) >= AT_WORK and found.issuperset(ON_NODES)


def at_work(house: House) -> list[int]:
    """The processes that have its folder in their command: crawls, the node's among them."""
    commands = {path.parent: path for path in Path("/proc").glob("[0-9]*/cmdline")}
    found = []
    for process, command in commands.items():
        with suppress(OSError):
            if str(house.output).encode() in command.read_bytes():
                found.append(int(process.name))
    return found


def ended(harvests: list[subprocess.Popen[str]]) -> tuple[str, list[int]]:
    """What they said, and their exit codes."""
    logs = [one.communicate(timeout=HANG)[0] for one in harvests]
    return "\n".join(logs), [one.returncode for one in harvests]


def killed(house: House, harvests: list[subprocess.Popen[str]]) -> list[str]:
    """Ends the harvests, then the crawls, as a power cut does; the sources that were at work."""
    for one in harvests:
        one.kill()
        one.communicate()
    for pid in at_work(house):
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    assert until(lambda: not at_work(house))
    return sorted(path.parent.name for path in house.output.glob("*/running.json"))


@pytest.fixture(scope="module")
def ten(tmp_path_factory) -> Iterator[Ten]:
    with Ten(tmp_path_factory.mktemp("ten")) as one:
        yield one


@pytest.fixture(scope="module")
def node(tmp_path_factory) -> Iterator[Scrapyd]:
    folder = tmp_path_factory.mktemp("scrapyd")
    with Scrapyd(folder, folder / "home") as one:
        deployed = one.deploy(checkout(tmp_path_factory.mktemp("checkout")))
        assert '"status": "ok"' in deployed.stdout, deployed
        yield one


@pytest.fixture(scope="module")
def wholes(tmp_path_factory, ten) -> dict[str, Crawl]:
    return whole(tmp_path_factory.mktemp("whole"), ten)


@pytest.fixture(scope="module")
def house(tmp_path_factory, ten, wholes, node) -> House:
    """After a night that ended with a power cut, and the next attempt that went on from there."""
    assert {name: crawl.report["verdict"] for name, crawl in wholes.items()} == VERDICTS
    house = House(tmp_path_factory.mktemp("house"), ten)
    ten.rearm()
    harvests = house.night(node, **SLOW)
    were_at_work = until(lambda: begun(house))
    house.dead = killed(house, harvests)
    assert were_at_work
    jobs = house.jobs()
    assert {name: jobs[name]["state"] for name in house.dead} == dict.fromkeys(house.dead, "interrupted")
    assert until(lambda: not node.ask("listjobs.json", project="crawlers")["running"])
    house.log, codes = ended(house.night(node))
    assert codes == [4, 0], "a portal blocks, here"
    return house


def test_killed_and_resumed_is_as_never_killed(house, wholes):
    jobs = house.jobs()
    assert {name: run["state"] for name, run in jobs.items()} == VERDICTS
    assert len(house.dead) >= AT_WORK
    assert {*ON_NODES} <= {*house.dead}
    for name in house.dead:
        assert left(house.crawl(name)) == left(wholes[name]), name
        assert jobs[name]["resumed"]
    assert house.log.count("resumed") == len(house.dead)
    for name, crawl in wholes.items():
        assert documents(house.crawl(name)) == documents(crawl), name


def documents(crawl: Crawl) -> dict[str, Any]:
    return {path.name: path.read_bytes() for path in crawl.folder.glob("*metadata/*.json")} | crawl.documents()


def test_the_next_day_asks_for_what_changed(house, ten, node):
    before = asked(ten)
    ten.change()
    assert ended(house.night(node))[1] == [4, 0]
    jobs = house.jobs()
    assert {name: run["state"] for name, run in jobs.items()} == VERDICTS
    assert {name: run["counts"]["updated"] for name, run in jobs.items()} == UPDATED
    assert {name: run["counts"]["new"] for name, run in jobs.items()} == dict.fromkeys(jobs, 0)
    now = asked(ten)
    assert {name: now[name] - before[name] for name in now} == REQUESTS


def asked(ten: Ten) -> dict[str, int]:
    """How many requests each portal has had."""
    portals = {name: getattr(ten, name) for name in VERDICTS}
    return {name: one.requests() if isinstance(one, Portal) else len(one.asked) for name, one in portals.items()}


def test_what_the_commands_say_of_it(house, tmp_path):
    found = json.loads(house.run("search", "another title", "--json").stdout)
    hits = found["datasets"]
    have = {one["source"] for hit in hits for one in (hit, *hit["places"])}  # portals of the tests mirror each other
    assert have >= {"river", "aid", "flaky"}
    shown = house.run("jobs", "show", f"bureau/{house.jobs()['bureau']['run']}").stdout
    assert "1 duplicate_id: A record has the id of another dataset" in shown
    listed = {row["name"]: row for row in json.loads(house.run("sources", "--json").stdout)}
    assert {name: row["state"] for name, row in listed.items()} == VERDICTS
    report = tmp_path / "report.html"
    assert house.run("report", "-o", str(report)).returncode == 0
    page = report.read_text(encoding="utf-8")
    assert all(name in page for name in VERDICTS)
    with sqlite3.connect(house.output / "index.sqlite") as db:
        counted = dict(db.execute("SELECT source, count(*) FROM datasets WHERE NOT withdrawn GROUP BY 1"))
    assert counted == {name: len(list(house.crawl(name).documents())) for name in VERDICTS if name != "walled"}
