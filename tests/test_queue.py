"""Crawls by several nodes on one queue: a real PostgreSQL, real nodes, and what happens when one of them dies."""

from __future__ import annotations

import asyncio
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, suppress
from itertools import count, groupby, pairwise
from types import SimpleNamespace
from typing import Any

import pytest
from procrastinate.sql import queries

from crawlers.exceptions import HarvestError
from crawlers.fleet import worker
from crawlers.fleet.database import checked
from crawlers.fleet.hosts import Hosts, reach
from crawlers.fleet.queue import ARCHIVES, DUTIES, Queue, locks, prepare
from crawlers.fleet.worker import NodeConnector
from crawlers.operate.dashboard.login import Project
from crawlers.operate.dashboard.operators import ACTIONS, Typed
from crawlers.store.runs import runs
from tests.archives import Archives
from tests.conftest import ROOT, json_lines, options, scrapy
from tests.portal.files import Files
from tests.postgres import Postgres, postgres
from tests.test_digest import read, words, zone
from tests.test_forks import project, servers
from tests.test_harvest import SLOW, Place, ckan, hdx, place, whole
from tests.test_notify import Post
from tests.waiting import HANG, until

__all__ = ["place", "postgres"]
NUMBERS = count(1)
pytestmark = pytest.mark.slow
PATIENCE = "60"
SHORT = "8"
RIVERS = "river-gauge-network"
OWN = """
from pathlib import Path
from crawlers.kinds.ckan.spider import CKANSpider


class Own(CKANSpider):
    name = "own"

    def closed(self, reason):
        Path({path!r}).write_text("{number}")
"""


class Fleet:
    """Nodes that share a folder, and their queue."""

    def __init__(self, place: Place, address: str) -> None:
        self.place = place
        self.address = address
        self.nodes: list[subprocess.Popen[str]] = []
        self.patience = PATIENCE
        self.folder = ROOT

    def node(self, *words: str) -> subprocess.Popen[str]:
        """Start a node; return it once it works."""
        command = [sys.executable, "-W", "error", "-m", "scrapy", "worker", *self.options(), *words]
        log = self.place.folder / f"node{len(self.nodes)}.log"
        with log.open("ab") as file:
            node = subprocess.Popen(
                command, cwd=self.folder, stdout=file, stderr=file, text=True, start_new_session=True
            )
        self.nodes.append(node)
        until(lambda: "works on" in log.read_text(), unless=lambda: node.poll() is not None)
        assert node.poll() is None, log.read_text()
        return node

    def harvest(self, *words: str) -> subprocess.CompletedProcess[str]:
        return self.place.harvest("--queue", self.address, *words)

    def options(self) -> list[str]:
        return [*self.place.options(), "--queue", self.address, "-s", f"QUEUE_PATIENCE={self.patience}"]

    def told(self, number: int) -> str:
        return (self.place.folder / f"node{number}.log").read_text()

    def ended(self, *sources: str) -> None:
        """Wait until the queue is empty and the sources have ended."""
        until(lambda: not Queue(self.address).jobs())
        for name in sources:
            until(lambda name=name: self.place.last(name).over)

    def stop(self) -> None:
        for node in self.nodes:
            with suppress(ProcessLookupError):
                os.killpg(node.pid, signal.SIGCONT)
                node.terminate()
        for node in self.nodes:
            with suppress(subprocess.TimeoutExpired):
                node.wait(60)
            if node.poll() is None:
                node.kill()
                node.wait()


@pytest.fixture
def fleet(place: Place, postgres: Postgres, monkeypatch: pytest.MonkeyPatch) -> Iterator[Fleet]:
    for name, value in postgres.environment.items():
        monkeypatch.setenv(name, value)
    fleet = Fleet(place, postgres.database(f"queue{next(NUMBERS)}_{os.getpid()}"))
    yield fleet
    fleet.stop()
    for number, _ in enumerate(fleet.nodes):
        assert "Traceback" not in fleet.told(number), fleet.told(number)


def written(place: Place, source: str) -> list[tuple[Any, ...]]:
    lines = json_lines(place.output / source / "manifest.jsonl")
    return [(line["kind"], line["dataset_id"], line.get("resource_id")) for line in lines]


def test_nodes_share_the_work(fleet, portal):
    sites = [portal(datasets=20) for _ in range(3)]
    tables = {f"s{number}a": hdx(site) for number, site in enumerate(sites)}
    tables |= {f"s{number}b": ckan(site, organization=RIVERS) for number, site in enumerate(sites)}
    fleet.place.sources(**tables)
    for _ in range(3):
        fleet.node("--parallel", "2")
    ran = fleet.harvest("--all", "--wait", "-s", "REQUESTS_PER_SECOND=40")
    assert (ran.returncode, ran.stderr) == (0, "")
    assert ran.stdout.count(" is queued.\n") == 6
    assert {run.source: run.state for run in runs(fleet.place.output)} == dict.fromkeys(tables, "complete")
    for number in range(3):
        spans = sorted((run.started, run.finished) for run in runs(fleet.place.output) if run.source[1] == str(number))
        assert all(before[1] <= after[0] for before, after in pairwise(spans)), spans
    for name in tables:
        assert len(written(fleet.place, name)) == len(set(written(fleet.place, name))) > 0


def test_what_a_dead_node_had_goes_on_elsewhere(fleet, portal):
    site = portal(datasets=40)
    fleet.patience = SHORT
    fleet.place.sources(one=hdx(site))
    first = fleet.node(*SLOW)
    assert fleet.harvest("one").returncode == 0
    fleet.place.until("one", documents=20)
    first.kill()
    first.wait()
    fleet.place.kill("one")
    fleet.node()
    fleet.ended("one")
    assert [(run.state, run.resumed) for run in runs(fleet.place.output)] == [("complete", True)]
    assert "is put back into the queue: its node is silent." in fleet.told(1)
    assert fleet.place.left("one") == whole(fleet.place, site)


def test_a_node_that_crashed_at_a_duty_keeps_no_other_from_it(fleet, portal, postgres):
    site = portal(datasets=40)
    fleet.patience = SHORT
    fleet.place.sources(one=hdx(site))
    asyncio.run(prepare(fleet.address))
    columns, values = (
        "queue_name, task_name, lock, status",
        f"'{DUTIES}', '{DUTIES}:rescue', '{DUTIES}:rescue', 'doing'",
    )
    postgres.sql(f"INSERT INTO procrastinate_jobs ({columns}) VALUES ({values})", fleet.address.rpartition("/")[2])
    first = fleet.node(*SLOW)
    assert fleet.harvest("one").returncode == 0
    fleet.place.until("one", documents=20)
    first.kill()
    first.wait()
    fleet.place.kill("one")
    fleet.node()
    fleet.ended("one")
    assert [(run.state, run.resumed) for run in runs(fleet.place.output)] == [("complete", True)]


def test_a_node_that_was_paused_leaves_its_crawls_to_others(fleet, portal):
    site = portal(datasets=40)
    fleet.patience = SHORT
    fleet.place.sources(one=hdx(site))
    first = fleet.node(*SLOW)
    assert fleet.harvest("one").returncode == 0
    crawl = int(fleet.place.until("one", documents=20).details["pid"])
    os.kill(crawl, signal.SIGSTOP)
    os.kill(first.pid, signal.SIGSTOP)
    fleet.node()
    until(lambda: "is put back into the queue: its node is silent." in fleet.told(1))
    os.kill(first.pid, signal.SIGCONT)
    until(lambda: "the crawls are left to other nodes." in fleet.told(0))
    fleet.ended("one")
    assert [(run.state, run.resumed) for run in runs(fleet.place.output)] == [("complete", True)]
    assert fleet.place.left("one") == whole(fleet.place, site)
    until(lambda: fleet.told(0).count("works on") == 2)


def test_a_restart_of_the_database_disturbs_nothing(fleet, portal, postgres):
    site = portal(datasets=40)
    fleet.place.sources(one=hdx(site), two=ckan(portal(datasets=5)))
    node = fleet.node("--parallel", "1", *SLOW)
    assert fleet.harvest("one", "two").returncode == 0
    fleet.place.until("one", documents=20)
    postgres.stop()
    time.sleep(2)
    postgres.start()
    fleet.ended("one", "two")
    assert sorted((run.source, run.state, run.resumed) for run in runs(fleet.place.output)) == [
        ("one", "complete", False),
        ("two", "complete", False),
    ]
    assert node.poll() is None
    assert fleet.place.left("one") == whole(fleet.place, site)


def test_a_crawl_that_ended_while_its_node_was_cut_off_is_not_repeated(fleet, portal, postgres):
    site = portal(datasets=40)
    fleet.place.sources(one=hdx(site))
    first = fleet.node(*SLOW)
    assert fleet.harvest("one").returncode == 0
    fleet.place.until("one", documents=5)
    postgres.stop()
    until(lambda: fleet.place.last("one").over)
    first.kill()
    first.wait()
    postgres.start()
    fleet.patience = SHORT
    fleet.node()
    fleet.ended("one")
    assert "is put back into the queue: its node is silent." in fleet.told(1)
    assert [(run.state, run.resumed) for run in runs(fleet.place.output)] == [("complete", False)]


def test_what_a_stopped_node_had_goes_on_elsewhere(fleet, portal):
    site = portal(datasets=40)
    fleet.place.sources(one=hdx(site))
    first = fleet.node(*SLOW)
    assert fleet.harvest("one").returncode == 0
    fleet.place.until("one", documents=20)
    first.send_signal(signal.SIGINT)
    assert first.wait(HANG) == 0
    assert fleet.place.last("one").state == "interrupted"
    assert [job.state for job in Queue(fleet.address).jobs()] == ["todo"]
    fleet.node()
    fleet.ended("one")
    assert [(run.state, run.resumed) for run in runs(fleet.place.output)] == [("complete", True)]
    assert fleet.place.left("one") == whole(fleet.place, site)


def test_a_node_stops_at_once_the_second_time(fleet, portal):
    fleet.place.sources(one=hdx(portal(datasets=5, faults=("hang=download_metadata",))))
    node = fleet.node()
    assert fleet.harvest("one").returncode == 0
    fleet.place.until("one", documents=1)
    node.send_signal(signal.SIGINT)
    time.sleep(1)
    assert node.poll() is None, "what is under way is waited for"
    node.send_signal(signal.SIGINT)
    assert node.wait(HANG) == 0
    assert fleet.place.last("one").state == "interrupted"
    assert [(job.source, job.state) for job in Queue(fleet.address).jobs()] == [("one", "todo")]


def test_ctrl_c_reaches_the_nodes(fleet, portal):
    fleet.place.sources(one=hdx(portal(datasets=200)))
    fleet.node(*SLOW)
    harvest = fleet.place.begin("--queue", fleet.address, "--wait", "one")
    fleet.place.until("one", documents=10)
    harvest.send_signal(signal.SIGINT)
    out, err = harvest.communicate(timeout=HANG)
    assert (harvest.returncode, err) == (130, ""), out
    fleet.ended("one")
    assert fleet.place.last("one").state == "interrupted"


def test_the_dashboard_stops_a_crawl_on_its_node(fleet, portal):
    fleet.place.sources(one=hdx(portal(datasets=200)))
    fleet.node(*SLOW)
    assert fleet.harvest("one").returncode == 0
    fleet.place.until("one", documents=10)
    project = Project(None, fleet.place.output, fleet.place.jobs, fleet.place.folder, queue=fleet.address)
    assert ACTIONS["stop"].act(project, "one", Typed()) == "[one] is being stopped on its node."
    fleet.ended("one")
    assert fleet.place.last("one").state == "interrupted"


def test_a_crawl_that_was_stopped_on_a_node_runs_there_again(fleet, portal):
    fleet.place.sources(one=hdx(portal(datasets=200)))
    fleet.node(*SLOW)
    assert fleet.harvest("one").returncode == 0
    fleet.place.until("one", documents=10)
    project = Project(None, fleet.place.output, fleet.place.jobs, fleet.place.folder, queue=fleet.address)
    ACTIONS["stop"].act(project, "one", Typed())
    fleet.ended("one")
    assert fleet.place.last("one").state == "interrupted"
    assert fleet.harvest("one").returncode == 0
    fleet.ended("one")
    assert [(run.state, run.resumed) for run in runs(fleet.place.output)] == [("complete", True)]


def test_a_node_crawls_with_the_spider_that_is_there(fleet, portal, monkeypatch):
    """Its crawls are forks of a process that lives as long as it does, which may be killed, too."""
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    fleet.folder = project(fleet.place.folder / "project")
    fleet.place.sources(one=ckan(portal(datasets=3)) | {"spider": "own"})
    told = fleet.place.folder / "told"
    for number, slain in enumerate((False, True, False)):
        (fleet.folder / "spiders" / "own.py").write_text(OWN.format(path=str(told), number=number))
        node = fleet.nodes[0] if fleet.nodes else fleet.node()
        words = [*fleet.place.options(), "--queue", fleet.address, "one"]
        assert scrapy("harvest", *words, cwd=fleet.folder).returncode == 0
        fleet.ended("one")
        assert told.read_text() == str(number)
        (server,) = servers(node.pid)
        if slain:
            os.kill(server, signal.SIGKILL)
    assert [run.state for run in runs(fleet.place.output)] == ["complete"] * 3
    assert fleet.told(0).count("The fork server has ended: another is started.") == 1


def test_two_harvests_queue_a_source_once(fleet, portal):
    site = portal(datasets=3)
    fleet.place.sources(one=ckan(site), two=ckan(site, organization=RIVERS))
    assert fleet.harvest("--all").stdout == "[one] is queued.\n[two] is queued.\n"
    assert fleet.harvest("--all").stdout == "[one] is in the queue already.\n[two] is in the queue already.\n"
    shown = scrapy("jobs", *fleet.place.options(), "--queue", fleet.address).stdout
    assert re.findall(r"^ +(\w+) +pending", shown, re.MULTILINE) == ["one", "two"]
    fleet.node()
    fleet.ended("one", "two")
    assert sorted((run.source, run.state) for run in runs(fleet.place.output)) == [
        ("one", "complete"),
        ("two", "complete"),
    ]


def test_nodes_take_what_is_due(fleet, portal):
    fleet.place.sources(one=ckan(portal(datasets=3)) | {"schedule": "daily"}, two=ckan(portal(datasets=3)))
    assert fleet.harvest("--due").stdout == "[one] is queued.\n"
    fleet.node()
    fleet.ended("one")
    assert fleet.harvest("--due").stdout == ""
    assert [(run.source, run.state) for run in runs(fleet.place.output)] == [("one", "complete")]


def test_nodes_send_the_digest_that_is_due_once(fleet, portal):
    fleet.place.sources(one=ckan(portal(datasets=3)) | {"timezone": zone(8)})
    assert fleet.place.harvest("one").returncode == 0
    with Post() as post:
        for _ in range(2):
            fleet.node("--due", *words(post, DIGEST="daily"))
        until(lambda: post.mails)
        assert fleet.place.harvest("--due", *words(post, DIGEST="daily")).returncode == 0
    assert [read(mail)["Subject"] for mail in post.mails] == ["one: 3 added (daily digest)"]


def test_an_archive_follows_its_source(fleet, portal):
    fleet.place.sources(one=ckan(portal(datasets=2)) | {"archive": True})
    fleet.node("-s", f"ARCHIVE_STORE={fleet.place.folder / 'blobs'}")
    assert fleet.harvest("one").returncode == 0
    until(lambda: len(runs(fleet.place.output)) == 2 and not Queue(fleet.address).jobs())
    assert sorted(run.source for run in runs(fleet.place.output)) == ["archive-of-one", "one"]


def test_sources_that_share_a_host_share_a_lock():
    hosts = {"a": {"x.org"}, "b": {"y.org", "z.org"}, "c": {"z.org", "x.org"}, "d": {"other.org"}, "archive": set()}
    found = locks({name: frozenset(some) for name, some in hosts.items()})
    assert found["a"] == found["b"] == found["c"] != found["d"]
    assert found["archive"] == f"{ARCHIVES}:archive"


# Hosts


@pytest.fixture
def shared(fleet: Fleet) -> Iterator[Any]:
    """Make crawls of several machines, by their names, that share hosts for two seconds without a sign of life."""

    @asynccontextmanager
    async def crawls(*nodes: str, patience: float = 2.0) -> AsyncIterator[list[Hosts]]:
        made = [Hosts(fleet.address, node, patience) for node in nodes]
        reach(fleet.address)
        for one in made:
            one.start()
        yield made
        for one in made:
            await one.close()

    return crawls


async def happens(found: Callable[[], Any]) -> None:
    async with asyncio.timeout(HANG):
        while not found():  # noqa: ASYNC110 -- as the downloader looks
            await asyncio.sleep(0.02)


async def asked(hosts: Hosts, host: str) -> None:
    """Wait until a crawl may ask a host."""
    await happens(lambda: hosts.may_ask(host))


def test_a_host_is_one_machines_at_a_time(shared):
    async def scenario() -> None:
        async with shared("a", "b", "a") as (one, two, three):
            await asked(one, "x.org")
            await asked(two, "y.org")
            assert two.why("x.org") == "", "nobody knows yet"
            assert not two.may_ask("x.org")
            await happens(lambda: one.is_called("x.org") and two.why("x.org"))
            assert (two.why("x.org"), two.is_called("y.org")) == ("another machine asks it", False)
            assert one.may_ask("x.org"), "it is renewed"
            released: list[bool] = []
            one.give_back("x.org", lambda: released.append(True))
            assert not released
            await asked(two, "x.org")
            assert released == [True], "lock files are given back when the row is gone"
            assert not one.may_ask("x.org")
            two.task.cancel()  # as a kill does
            killed = time.monotonic()
            await asked(three, "x.org")
            assert time.monotonic() - killed > 1, "until nothing can be under way any more"
            three.task.cancel()
            await asked(one, "x.org")

    asyncio.run(scenario())


def test_the_hosts_of_a_crawl_outlast_a_restart_of_the_database_and_no_outage(shared, postgres, caplog):
    async def scenario() -> None:
        async with shared("a", "b", patience=20.0) as (one, two):
            await asked(one, "x" * 300 + "\0.org")
            await asked(one, "x.org")
            two.may_ask("x.org")
            await asyncio.to_thread(postgres.stop)
            assert one.may_ask("x.org")
            await happens(lambda: not one.may_ask("x.org"))
            assert one.why("x.org") == "the queue gives no answer"
            await asyncio.to_thread(postgres.start)
            await asked(one, "x.org")
            assert not two.may_ask("x.org")

    asyncio.run(scenario())
    told = [text for text in caplog.messages if "Hosts that others may ask" in text]
    assert 2 <= len(told) <= 4, "once for each crawl and outage"
    assert all("check its address" in text for text in told)


def test_an_archive_asks_no_host_that_another_machine_crawls(fleet, portal, tmp_path):
    """It asks the others meanwhile, and that host when it is free."""
    site = portal(datasets=60)
    fleet.place.sources(one=hdx(site))
    with Files(hosts=2) as files:
        archives = Archives(tmp_path / "other", files)
        archives.list([*(f"{site.url}/file/{number}" for number in range(3)), files.url("/ok.csv", host=1)])
        fleet.node(*SLOW, "-s", "CONTACT=node")
        assert fleet.harvest("one").returncode == 0
        fleet.place.until("one", documents=5)
        archive = archives.start({"QUEUE": fleet.address, "CONTACT": "other", "LOG_LEVEL": "INFO"})
        seen = archives.folder / "captures.jsonl"
        until(lambda: seen.exists() and archives.captures, unless=lambda: archive.poll() is not None)
        assert fleet.place.last("one").state == "running", "the other host is not waited for"
        _, log = archive.communicate(timeout=HANG)
        assert (archive.returncode, len(archives.captures)) == (0, 4), log
    assert log.count("waits for its turn: another machine asks it") == 1
    who = ["node" if "node" in entry["user_agent"] else "other" for entry in site.log()]
    assert [name for name, _ in groupby(who)] == ["node", "other"]
    assert fleet.place.last("one").state == "complete"


# What can be wrong


@pytest.mark.parametrize(
    ("address", "told"),
    [
        ("redis://here", "'redis://here' is not the address of a queue, such as postgresql://host/database."),
        (
            "postgresql://a..b/x",
            "'postgresql://a..b/x' is not the address of a queue, such as postgresql://host/database.",
        ),
        ("postgresql://me:secret@here/db", "postgresql://here/db has a password in it, which others can read"),
        ("postgresql://127.0.0.1:1/db", "The queue postgresql://127.0.0.1:1/db can't be reached (Connection refused"),
        ("{server}/nothing", 'can\'t be reached (database "nothing" does not exist): check its address'),
        ("{server}/postgres?user=nobody", 'can\'t be reached (password authentication failed for user "nobody")'),
    ],
)
@pytest.mark.parametrize("command", ["worker", "harvest"])
def test_a_queue_that_can_not_be_used(fleet, portal, postgres, command, address, told):  # noqa: PLR0917
    fleet.place.sources(one=ckan(portal(datasets=1)))
    fleet.address = address.format(server=f"postgresql://127.0.0.1:{postgres.port}")
    words = [sys.executable, "-W", "error", "-m", "scrapy", command, *fleet.place.options(), "--queue", fleet.address]
    ran = subprocess.run(
        [*words, *(["one"] if command == "harvest" else [])], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert (ran.returncode, ran.stdout) == (1, "")
    assert told in ran.stderr
    assert ran.stderr.count("\n") == 1, ran.stderr
    assert "secret" not in ran.stderr
    assert not fleet.place.output.exists()


def test_a_crawl_by_hand_needs_the_queue_that_is_named(tmp_path):
    words = options(
        tmp_path / "output", {"QUEUE": "postgresql://127.0.0.1:1/db", "QUEUE_PATIENCE": "1"}, portal="http://x"
    )
    ran = scrapy("crawl", "ckan", *words)
    assert ran.returncode == 1
    assert ran.stderr.splitlines()[-1].startswith("The queue postgresql://127.0.0.1:1/db can't be reached (Connection")
    assert not (tmp_path / "output").exists()


def test_the_tables_of_another_version(fleet, postgres):
    asyncio.run(prepare(fleet.address))
    name = fleet.address.rpartition("/")[2]
    postgres.sql("DROP FUNCTION procrastinate_retry_job_v2", name)
    with pytest.raises(HarvestError, match=r"of another version \(procrastinate_retry_job_v2 is missing\): apply the"):
        asyncio.run(prepare(fleet.address))


@pytest.mark.parametrize(("ahead", "way"), [(300, "300 seconds ahead of"), (-300, "300 seconds behind")])
def test_clocks_that_differ(fleet, postgres, monkeypatch, ahead, way):
    now = time.time
    monkeypatch.setattr("crawlers.fleet.queue.time.time", lambda: now() + ahead)
    with pytest.raises(HarvestError, match=f"The clock of this machine is {way} that of the queue"):
        asyncio.run(prepare(fleet.address))
    found = postgres.sql("SELECT count(*) FROM pg_proc WHERE proname ~ 'procrast'", fleet.address.rpartition("/")[2])
    assert found == "0", "nothing is touched"


def test_nobody_makes_the_tables_twice(fleet):
    async def both() -> None:
        await asyncio.gather(*(prepare(fleet.address) for _ in range(4)))

    asyncio.run(both())
    assert Queue(fleet.address).jobs() == []


def test_a_node_of_which_a_part_fails_ends(fleet, postgres):
    fleet.patience = SHORT
    node = fleet.node()
    database = fleet.address.rpartition("/")[2]
    fails = "LANGUAGE plpgsql AS $$ BEGIN RAISE 'no duty is given any more'; END $$"
    postgres.sql(f"CREATE FUNCTION fails() RETURNS trigger {fails}", database)
    duty = f"WHEN (NEW.status = 'doing' AND NEW.queue_name = '{DUTIES}')"
    postgres.sql(
        f"CREATE TRIGGER fails BEFORE UPDATE ON procrastinate_jobs FOR EACH ROW {duty} EXECUTE FUNCTION fails()",
        database,
    )
    assert node.wait(HANG) == 1
    fleet.nodes.clear()  # it ends with a traceback: this is no mistake of a user


def test_a_node_that_was_lost_stays_so_whatever_answer_comes_late(monkeypatch):
    clock = SimpleNamespace(monotonic=lambda: now)
    monkeypatch.setattr(worker, "time", clock)
    now = 0.0
    node = NodeConnector("postgresql://host/db", patience=8)

    async def heartbeat(_: str) -> None:
        nonlocal now
        now = 4.5
        assert node.is_lost, "as another statement finds, which waits for ever from now on"

    now = 3.0
    asyncio.run(node._repeated(heartbeat, queries["update_heartbeat"], {}))
    assert node.is_lost


def test_an_address_is_taken_as_it_is():
    assert checked("postgres://host:5433/db?sslmode=require") == "postgres://host:5433/db?sslmode=require"
