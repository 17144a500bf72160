"""Three nodes with folders of their own, a queue in PostgreSQL and a store in S3: every fault, and nothing is lost."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import suppress
from itertools import count, pairwise
from pathlib import Path
from typing import Any

import pytest

from crawlers.fleet.queue import Queue
from crawlers.store.runs import last
from tests.buckets import contents, documents, told
from tests.conftest import ROOT
from tests.machines import Node
from tests.postgres import Postgres, postgres
from tests.seaweed import Faults, Seaweed, seaweed
from tests.test_harvest import Place, hdx
from tests.waiting import HANG, until

__all__ = ["postgres", "seaweed"]
NUMBERS = count(1)
pytestmark = pytest.mark.slow
DATASETS = 40
PATIENCE = "8"  # seconds until a node that is silent is taken for dead; its leases last less


class Fleet:
    """Three nodes, each a process group of its own with its own folders.

    Attributes:
        nodes: their folders and settings.
        workers: their processes.
    """

    def __init__(self, folder: Path, address: str, queue: str) -> None:
        self.folder = folder
        self.queue = queue
        self.nodes = []
        for name in ("a", "b", "c"):
            (folder / name).mkdir()
            settings = {"CONTACT": f"node-{name}", "REQUESTS_PER_SECOND": "40", "OUTPUT_STORE_INTERVAL": "0.2"}
            self.nodes.append(Node(folder / name, address, settings | {"QUEUE_PATIENCE": PATIENCE}))
        self.workers: list[subprocess.Popen[str]] = []

    def sources(self, **tables: dict[str, Any]) -> None:
        place = Place(self.folder)
        place.sources(**tables)
        for node in self.nodes:
            (node.folder / "sources.toml").write_bytes((self.folder / "sources.toml").read_bytes())

    def start(self, number: int) -> subprocess.Popen[str]:
        """Start a node; return its process once it works."""
        node = self.nodes[number]
        words = ["worker", "--queue", self.queue, "--parallel", "2", *node.options()]
        log = node.folder / "log"
        with log.open("ab") as file:
            worker = subprocess.Popen(
                [sys.executable, "-W", "error", "-m", "scrapy", *words],
                cwd=ROOT,
                stdout=file,
                stderr=file,
                text=True,
                start_new_session=True,
            )
        self.workers.append(worker)
        until(lambda: "works on" in log.read_text(), unless=lambda: worker.poll() is not None)
        assert worker.poll() is None, log.read_text()
        return worker

    def harvest(self, *words: str) -> subprocess.CompletedProcess[str]:
        return self.nodes[0].run("harvest", "--queue", self.queue, *words)

    def at_work(self, source: str, least: int) -> tuple[int, int]:
        """Wait until a node has stored so many documents of a source; return the node and the crawl's process."""

        def found() -> tuple[int, int] | None:
            for number, node in enumerate(self.nodes):
                run = last(node.output, source)
                if run and run.state == "running" and not run.details.get("elsewhere"):
                    done = run.counts.get("new", 0) >= least
                    return (number, int(run.details["pid"])) if done else None
            return None

        where = until(found)
        assert where is not None
        return where  # type: ignore[no-any-return]

    def ended(self) -> None:
        """Wait until the queue is empty."""
        until(lambda: not Queue(self.queue).jobs())

    def stop(self) -> None:
        for worker in self.workers:
            for pid in _group(worker.pid):
                with suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGCONT)
            if worker.poll() is None:
                worker.terminate()
        for worker in self.workers:
            with suppress(subprocess.TimeoutExpired):
                worker.wait(60)
            if worker.poll() is None:
                worker.kill()
                worker.wait()

    def told(self) -> str:
        logs = [path for node in self.nodes for path in (node.folder / "log", *node.folder.glob("logs/*/*.log"))]
        return "\n".join(path.read_text() for path in logs if path.exists())


def _group(pid: int) -> list[int]:
    """Return a process and those that it has started."""
    found = [pid]
    for path in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError, ValueError):
            if int(path.read_text().rpartition(")")[2].split()[1]) == pid:
                found += _group(int(path.parent.name))
    return found


@pytest.fixture
def address(seaweed: Seaweed) -> str:
    os.environ.update(seaweed.environment)
    name = f"fleet-{next(NUMBERS)}-{os.getpid()}"
    seaweed.make_bucket(name)
    return f"s3://{name}/catalogues"


@pytest.fixture
def fleet(tmp_path: Path, address: str, postgres: Postgres) -> Iterator[Fleet]:
    os.environ.update(postgres.environment)
    made = Fleet(tmp_path, address, postgres.database(f"fleet{next(NUMBERS)}_{os.getpid()}"))
    yield made
    made.stop()
    assert "Traceback" not in made.told(), made.told()


@pytest.fixture
def sites(portal: Callable[..., Any]) -> dict[str, Any]:
    """Three portals, by the source that they are."""
    return {name: portal(datasets=DATASETS) for name in ("one", "two", "three")}


def proved(fleet: Fleet, sites: dict[str, Any], tmp_path: Path, *others: str, is_in_turns: bool = True) -> None:
    """Prove that each source is complete once, asked by one node at a time, and as a single machine has it.

    Args:
        others: verdicts that runs may have besides complete and interrupted.
        is_in_turns: whether only one node at a time may ask a source.
    """
    pulled = tmp_path / "pulled"
    assert fleet.nodes[2].run("pull", fleet.nodes[2].address, str(pulled)).returncode == 0
    found = contents(pulled)
    for name, site in sites.items():
        nodes = [entry["user_agent"].partition("node-")[2][:1] for entry in site.log() if "/api/" in entry["path"]]
        turns = [before for before, after in pairwise([*nodes, ""]) if before != after]
        is_right = len(turns) == len(set(turns)) or not is_in_turns
        assert is_right, f"{name} was asked by {turns}: two nodes in turns, or at once"
        verdicts = Counter(json.loads(found[file])["verdict"] for file in found if file.startswith(f"{name}/runs/"))
        assert verdicts["complete"] == 1, verdicts
        assert verdicts.keys() <= {"complete", "interrupted", *others}, verdicts
        alone = single(name, site, tmp_path)
        assert of(found, name) == of(alone, name)


def of(files: dict[str, bytes], source: str) -> tuple[dict[str, bytes], list[str]]:
    """Return the documents of a source and the lines of its manifest: none twice, none missing."""
    mine = {name: body for name, body in files.items() if name.startswith(f"{source}/")}
    return documents(mine), told(mine, f"{source}/manifest.jsonl")


def single(source: str, site: Any, tmp_path: Path) -> dict[str, bytes]:
    """Return what a harvest of one machine leaves that nobody disturbs."""
    place = Place(tmp_path / f"alone-{source}")
    place.folder.mkdir()
    place.sources(**{source: hdx(site)})
    assert place.harvest(source).returncode == 0
    return contents(place.output)


def begun(fleet: Fleet, sites: dict[str, Any]) -> None:
    """Start three nodes, and put all sources into the queue."""
    fleet.sources(**{name: hdx(site) for name, site in sites.items()})
    for number in range(3):
        fleet.start(number)
    assert fleet.harvest("--all").returncode == 0


def test_nodes_share_the_work_and_no_disk(fleet, sites, tmp_path):
    begun(fleet, sites)
    fleet.ended()
    proved(fleet, sites, tmp_path)
    shown = fleet.nodes[1].run("jobs")
    assert shown.stdout.count(" complete ") == 3


def test_a_node_is_killed(fleet, sites, tmp_path):
    begun(fleet, sites)
    number, _ = fleet.at_work("one", 40)
    for pid in _group(fleet.workers[number].pid):
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    fleet.workers[number].wait()
    fleet.ended()
    proved(fleet, sites, tmp_path)


def test_a_node_is_paused_past_its_lease(fleet, sites, tmp_path):
    begun(fleet, sites)
    number, _ = fleet.at_work("one", 40)
    paused = _group(fleet.workers[number].pid)
    for pid in paused:
        os.kill(pid, signal.SIGSTOP)
    fleet.ended()
    asked = {name: site.requests() for name, site in sites.items()}
    for pid in reversed(paused):
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGCONT)
    log = fleet.nodes[number].folder / "log"
    until(lambda: log.read_text().count("works on") == 2)
    more = {name: site.requests() - asked[name] for name, site in sites.items()}
    assert sum(more.values()) <= 2, f"it asks for nothing more but what was on its way when it was paused: {more}"
    proved(fleet, sites, tmp_path)


def test_a_crawl_is_paused_past_its_lease_and_the_fence_refuses_what_it_writes(fleet, sites, tmp_path):
    """The node lives and keeps its job, while its crawl stands still; another machine takes the source."""
    begun(fleet, {"one": sites["one"]})
    number, pid = fleet.at_work("one", 40)
    os.kill(pid, signal.SIGSTOP)
    other = fleet.nodes[(number + 1) % 3]
    until(lambda: "one     complete" in other.run("harvest", "one").stdout)
    asked = sites["one"].requests()
    os.kill(pid, signal.SIGCONT)
    until(lambda: not Path(f"/proc/{pid}").exists() or _is_zombie(pid))
    assert sites["one"].requests() - asked <= 2, "what was on its way"
    assert " was crawled by " in fleet.told()
    proved(fleet, {"one": sites["one"]}, tmp_path)


def _is_zombie(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except OSError:
        return True


def test_the_store_fails_and_loses_connections(fleet, sites, tmp_path, seaweed):
    with Faults(seaweed.url) as faults:
        os.environ["AWS_ENDPOINT_URL"] = faults.url
        begun(fleet, sites)
        fleet.at_work("one", 20)
        for _ in range(3):
            faults.planned = {"PUT": ["503", "lose", "cut"] * 15, "GET": ["503", "lose"] * 15}
            time.sleep(1)
        fleet.ended()
        faults.planned.clear()
        proved(fleet, sites, tmp_path, "failed")  # a crawl that could not begin meanwhile, and was tried again


def test_the_database_is_restarted(fleet, sites, tmp_path, postgres):
    begun(fleet, sites)
    fleet.at_work("one", 20)
    postgres.stop()
    time.sleep(2)
    postgres.start()
    fleet.ended()
    proved(fleet, sites, tmp_path)


def test_two_harvests_at_once(fleet, sites, tmp_path):
    fleet.sources(**{name: hdx(site) | {"schedule": "daily"} for name, site in sites.items()})
    for number in range(3):
        fleet.start(number)
    words = [sys.executable, "-W", "error", "-m", "scrapy", "harvest", "--queue", fleet.queue, "--due", "--wait"]
    both = [
        subprocess.Popen([*words, *node.options()], cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        for node in fleet.nodes[:2]
    ]
    for harvest in both:
        _, err = harvest.communicate(timeout=HANG)
        assert (harvest.returncode, err) == (0, "")
    fleet.ended()
    proved(fleet, sites, tmp_path)


def test_two_machines_by_cron_without_a_queue(fleet, sites, tmp_path):
    """Of two that begin at once, one goes on: the other's first batch is refused. That hosts are shared is told."""
    tables = {name: hdx(site) | {"schedule": "daily"} for name, site in sites.items()}
    fleet.sources(**tables)
    words = [sys.executable, "-W", "error", "-m", "scrapy", "harvest", "--due", "--parallel", "3"]
    slowly = {"REQUESTS_PER_SECOND": "8"}  # the first has not ended when the other begins
    both = [
        subprocess.Popen(
            [*words, *node.options(**slowly)], cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        for node in fleet.nodes[:2]
    ]
    for harvest in both:
        _, err = harvest.communicate(timeout=HANG)
        assert "Traceback" not in err
        assert err.count("may ask one host at the same time: only a queue keeps them apart (QUEUE).") == 1
    for node in fleet.nodes:
        ran = node.run("harvest", "--due")
        assert (ran.returncode, ran.stdout) == (0, ""), "nothing is due any more"
    proved(fleet, sites, tmp_path, is_in_turns=False)


def test_ctrl_c_reaches_a_crawl_on_another_node(fleet, portal):
    site = portal(datasets=300)
    fleet.sources(one=hdx(site))
    for number in range(3):
        fleet.start(number)
    node = fleet.nodes[0]
    words = [sys.executable, "-W", "error", "-m", "scrapy", "harvest", "--queue", fleet.queue, "--wait", "one"]
    harvest = subprocess.Popen([*words, *node.options()], cwd=ROOT, stdout=subprocess.PIPE, text=True)
    fleet.at_work("one", 20)
    until(lambda: " running " in node.run("jobs").stdout, unless=lambda: harvest.poll() is not None)
    harvest.send_signal(signal.SIGINT)
    harvest.communicate(timeout=HANG)
    assert harvest.returncode == 130
    fleet.ended()
    assert " interrupted " in node.run("jobs").stdout
