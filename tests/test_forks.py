"""Harvests whose crawls are forks of the fork server: real processes from the first to the last, killed and edited."""

from __future__ import annotations

import asyncio
import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import nullcontext, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from crawlers.operate.harvest.fork_server import LONGEST
from crawlers.operate.harvest.processes import Forks
from crawlers.safety.locks import take
from crawlers.store.runs import Run, last, runs
from tests.conftest import ROOT
from tests.portal.html.families import FAMILIES
from tests.test_harvest import SLOW, Place, ckan, ended, halted, hdx, table, whole
from tests.waiting import HANG, until

pytestmark = pytest.mark.slow

SERVER = "fork_server.py"


@dataclass
class RealPlace(Place):
    """A place whose harvests are new processes, so that the fork server is the product's own."""

    cwd: Path = ROOT
    path: str = str(ROOT)

    def harvest(self, *words: str) -> subprocess.CompletedProcess[str]:
        harvest = self.begin(*words)
        out, err = harvest.communicate(timeout=HANG)
        return subprocess.CompletedProcess(words, harvest.returncode, out, err)

    def begin(self, *words: str) -> subprocess.Popen[str]:
        command = [sys.executable, "-W", "error", "-m", "scrapy", "harvest", *self.options(), *words]
        environment = {**os.environ, "PYTHONPATH": self.path}
        pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
        self.harvests.append(subprocess.Popen(command, cwd=self.cwd, env=environment, text=True, **pipes))
        return self.harvests[-1]


@pytest.fixture
def place(tmp_path: Path) -> Iterator[RealPlace]:
    place = RealPlace(tmp_path)
    yield place
    for harvest in place.harvests:
        if harvest.poll() is None:  # a test has failed
            harvest.kill()
        harvest.communicate()


def command_line(pid: int) -> str:
    """What `ps` shows; a new process has NUL between its words."""
    return Path(f"/proc/{pid}/cmdline").read_text()


def servers(parent: int) -> list[int]:
    """The fork servers of a harvest; what they fork are its own children."""
    found = Path(f"/proc/{parent}/task/{parent}/children").read_text().split()
    return [int(pid) for pid in found if SERVER in command_line(int(pid))]


def is_new_process(run: Run) -> bool:
    """Whether a run's crawl is `python -m scrapy crawl`, and is at work."""
    with suppress(OSError):
        return "\0-m\0scrapy\0crawl\0hdx\0" in command_line(run.details.get("pid", 0))
    return False


def target(descriptor: Path) -> str:
    return str(descriptor.readlink()).partition(":")[0]


def forked(place: RealPlace, *sources: str) -> dict[str, int]:
    """The processes of crawls that run, each of them a fork."""
    found = {source: int(place.until(source).details["pid"]) for source in sources}
    for pid in found.values():
        assert " -m scrapy crawl hdx " in command_line(pid), "it is a fork"
    return found


# A crawl is what it was


def test_a_fork_is_a_process_of_its_own(place, portal):
    sites = [portal(datasets=30) for _ in range(3)]
    place.sources(**{f"s{number}": hdx(site) for number, site in enumerate(sites)})
    harvest = place.begin("--all", "--parallel", "3", *SLOW)
    crawls = forked(place, "s0", "s1", "s2")
    for pid in crawls.values():
        assert os.getsid(pid) == os.getpgid(pid) == pid
    (server,) = servers(harvest.pid)
    assert os.getsid(server) == server, "Ctrl-C on the terminal reaches the harvest alone"
    out, err = harvest.communicate(timeout=HANG)
    assert (harvest.returncode, err) == (0, "")
    assert {row[0] for row in table(out).values()} == {"complete"}
    for source, site in zip(crawls, sites, strict=True):
        log = place.last(source).log
        assert log
        assert Path(log).read_text().count("Spider opened") == 1
        assert site.requests() > 30
    assert place.left("s0") == whole(place, sites[0])


def test_crawls_into_a_store_are_forked_too(place, portal):
    """Delta-rs starts a thread when it is imported, and a process with threads is not forked."""
    place.sources(**{f"s{number}": hdx(portal(datasets=30)) for number in range(3)})
    store = ("-s", f"OUTPUT_DIR=file://{place.folder}/store", "-s", f"OUTPUT_MIRROR={place.folder}/mirrors")
    harvest = place.begin("--all", "--parallel", "3", *SLOW, *store)
    crawls = Path(f"/proc/{harvest.pid}/task/{harvest.pid}/children")

    def at_work() -> list[str]:
        return [line for pid in crawls.read_text().split() if " crawl hdx " in (line := command_line(int(pid)))]

    until(lambda: harvest.poll() is not None or len(at_work()) == 3)
    assert harvest.poll() is None, "each is a fork"
    out, err = harvest.communicate(timeout=HANG)
    assert (harvest.returncode, err) == (0, "")
    assert {row[0] for row in table(out).values()} == {"complete"}
    assert {path.name for path in (place.folder / "store").iterdir() if path.is_dir()} == {"s0", "s1", "s2"}


def test_two_crawls_are_new_processes(place, portal):
    place.sources(one=hdx(portal(datasets=40)), two=ckan(portal(datasets=5)))
    harvest = place.begin("--all", *SLOW)
    assert is_new_process(place.until("one"))
    assert servers(harvest.pid) == []
    assert ended(harvest).count("  complete. ") == 2


def test_no_fork_server_is_asked_for(place, portal):
    place.sources(one=hdx(portal(datasets=40)), two=ckan(portal(datasets=5)), three=ckan(portal(datasets=5)))
    harvest = place.begin("--all", "-s", "FORK_SERVER=False", *SLOW)
    assert is_new_process(place.until("one"))
    assert ended(harvest).count("  complete. ") == 3


def test_a_switch_that_is_neither_on_nor_off(place):
    place.sources(one=ckan("http://127.0.0.1:9"))
    ran = place.harvest("one", "-s", "FORK_SERVER=perhaps")
    assert (ran.returncode, ran.stderr) == (1, "FORK_SERVER='perhaps' is not true or false.\n")


SPIDER = '''
import gc, json, locale, os, random, resource, signal, sys, threading, time, warnings
from pathlib import Path
from crawlers.kinds.ckan.spider import CKANSpider


def kind(link):
    return link.replace(str(os.getpid()), "self") if link.startswith("/") else link.partition(":")[0]


class Probe(CKANSpider):
    """Says what it finds around it."""

    name = "probe"

    @classmethod
    def from_crawler(cls, crawler, *arguments, **keywords):
        spider = super().from_crawler(crawler, *arguments, **keywords)
        streams = (sys.stdin, sys.stdout, sys.stderr)
        found = {
            "argv": sys.argv, "folder": os.getcwd(), "environment": dict(os.environ), "path": sys.path,
            "parent": os.getppid(), "umask": os.umask(0o22), "leads": os.getsid(0) == os.getpgrp() == os.getpid(),
            "warnings": [sys.warnoptions, [repr(one) for one in warnings.filters if "." not in repr(one[2])]],
            "streams": [[one.fileno(), one.isatty(), one.encoding, one.errors, one.line_buffering, one.mode]
                        for one in streams],
            "input": sys.stdin.read(), "limits": [resource.getrlimit(which) for which in range(16)],
            "signals": {number: str(signal.getsignal(number)).partition(" at ")[0] for number in range(1, 32)},
            "threads": [one.name for one in threading.enumerate()], "garbage": [gc.isenabled(), gc.get_threshold()],
            "files": sorted(kind(os.readlink(one.path)) for one in os.scandir("/proc/self/fd") if int(one.name) > 2),
            "zone": [time.tzname, locale.getlocale(), locale.setlocale(locale.LC_ALL)],
            "name": Path("/proc/self/comm").read_text(),
            "command": Path("/proc/self/cmdline").read_text().replace(chr(0), " ").strip(),
            "main": sys.modules["__main__"].__file__, "nice": os.nice(0),
        }
        name = crawler.settings["OUTPUT_DIR"] + f"/{spider.source}.probed"
        Path(name).parent.mkdir(exist_ok=True)
        Path(name).write_text(json.dumps({**found, "random": random.random()}))
        return spider
'''


def project(folder: Path) -> Path:
    """A folder of a user, with one spider."""
    (folder / "spiders").mkdir(parents=True)
    (folder / "scrapy.cfg").write_text("[settings]\ndefault = crawlers.settings\n")
    (folder / "spiders" / "__init__.py").touch()
    (folder / "spiders" / "probe.py").write_text(SPIDER)
    return folder


def copy_project(folder: Path) -> None:
    for name in ("crawlers", "pipelines"):
        shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__"))


def test_a_fork_finds_what_a_new_process_does(place, portal, monkeypatch):
    monkeypatch.setenv("TZ", "Asia/Tokyo")
    monkeypatch.setenv("PROBED", "ü")
    place.cwd = project(place.folder / "project")
    site = portal(datasets=2)
    tables = {name: ckan(site, q=name) | {"spider": "probe"} for name in ("one", "two", "three")}
    place.sources(**tables)
    found = {}
    for switch in ("True", "False"):
        harvest = place.begin("--all", "-s", f"FORK_SERVER={switch}")
        assert ended(harvest).count("  complete. ") == 3
        probed = [json.loads((place.output / f"{name}.probed").read_text()) for name in tables]
        assert len({one.pop("random") for one in probed}) == 3
        assert {one.pop("parent") for one in probed} == {harvest.pid}
        found[switch] = re.sub(
            r"\d{8}T\d{6}(\.\d+)?Z", "TIME", json.dumps(probed).replace(f"FORK_SERVER={switch}", "SWITCH")
        )
    for fork, new in zip(json.loads(found["True"]), json.loads(found["False"]), strict=True):
        assert {name: (fork[name], new[name]) for name in fork if fork[name] != new[name]} == {}


def test_a_harvest_below_the_folder_of_the_project(place, portal):
    """Scrapy finds the project's modules by its scrapy.cfg there; so does the fork server."""
    folder = project(place.folder / "project")
    copy_project(folder)
    place.cwd, place.path = folder / "spiders", ""
    tables = {name: hdx(portal(datasets=30)) for name in ("one", "two", "three")}
    code = "import sys\nfrom pathlib import Path\n"
    code += "Path(__file__).with_name('known').write_text(str('crawlers.kinds.csw.dialect' in sys.modules))\n"
    (folder / "spiders" / "hdx.py").write_text(code + (ROOT / "spiders" / "hdx.py").read_text())
    place.sources(**tables)
    harvest = place.begin("--all", *SLOW)
    forked(place, "one")
    out, err = harvest.communicate(timeout=HANG)
    assert (out.count("  complete. "), err) == (3, "")
    assert (folder / "spiders" / "known").read_text() == "True", "a fork has all kinds before it imports its spider"


def test_what_can_not_start_says_why(place, portal):
    wrong = {**ckan(portal(datasets=5)), "settings": {"SHRINK_LIMIT": "7"}}
    place.sources(one=ckan(portal(datasets=5)), wrong=wrong, two=ckan(portal(datasets=5)))
    ran = place.harvest("--all")
    assert ran.returncode == 4
    assert "  wrong  not started: SHRINK_LIMIT='7' is not a part of a catalogue, from 0 to 1." in ran.stdout
    assert ran.stdout.count("  complete. ") == 2


def test_sources_of_one_host_take_turns(place, portal):
    """A lock that the fork server kept would stop the next one for ever."""
    site = portal(datasets=5)
    place.sources(**{name: ckan(site, q=name) for name in ("river", "flood", "drought")})
    ran = place.harvest("--all", "--parallel", "3")
    assert (ran.returncode, ran.stderr) == (0, "")
    spans = sorted((run.started, run.finished) for run in runs(place.output))
    assert len(spans) == 3
    assert spans[0][1] <= spans[1][0] <= spans[1][1] <= spans[2][0]


@pytest.mark.browser
def test_a_browser_in_a_fork(place, portal):
    with FAMILIES["js_pager"](60, per_page=5) as site:
        rules = place.folder / "site.toml"
        rules.write_text((ROOT / "tests" / "rules" / "js_pager.toml").read_text().replace("{url}", site.url))
        tables = {name: ckan(portal(datasets=5)) for name in ("two", "three")}
        place.sources(one={"spider": "html", "arguments": {"rules": str(rules)}}, **tables)
        harvest = place.begin("--all", *SLOW)
        crawl = until(lambda: (run := last(place.output, "one")) and run.details.get("pid"))
        assert " -m scrapy crawl html " in command_line(crawl)
        chromium = until(lambda: browsers(crawl), unless=lambda: harvest.poll() is not None)
        assert chromium
        out, err = harvest.communicate(timeout=HANG)
        assert (harvest.returncode, err) == (0, "")
        assert table(out)["one"][:2] == ["complete", "60 of 60"]
        until(lambda: not any(Path(f"/proc/{pid}").exists() for pid in chromium))


def browsers(pid: int) -> list[int]:
    """The Chromiums among what a process has started."""
    with suppress(OSError):
        children = [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
        own = [child for child in children if "chromium" in command_line(child)]
        return own + [found for child in children for found in browsers(child)]
    return []


# Stopped and killed


def three(place: RealPlace, portal: Any) -> list[Any]:
    sites = [portal(datasets=40), portal(datasets=40), portal(datasets=5)]
    place.sources(one=hdx(sites[0]), two=hdx(sites[1]), three=hdx(sites[2]))
    return sites


def test_a_fork_that_is_killed_goes_on_as_a_new_process(place, portal):
    sites = three(place, portal)
    harvest = place.begin("--all", "--parallel", "2", *SLOW)
    killed = forked(place, "one", "two")["one"]
    os.kill(killed, signal.SIGKILL)
    until(lambda: is_new_process(place.last("one")), unless=lambda: harvest.poll() is not None)
    assert harvest.poll() is None
    out = ended(harvest)
    assert (harvest.returncode, out.count("resumed: process")) == (0, 1)
    assert f"process {killed} (ended by SIGKILL, log " in out
    assert place.left("one") == whole(place, sites[0])


def test_a_fork_server_that_is_killed_loses_nothing(place, portal):
    sites = three(place, portal)
    harvest = place.begin("--all", "--parallel", "2", *SLOW)
    crawls = forked(place, "one", "two")
    (first,) = servers(harvest.pid)
    os.kill(first, signal.SIGKILL)
    assert forked(place, "three")
    (second,) = servers(harvest.pid)
    assert second != first
    out, err = harvest.communicate(timeout=HANG)
    assert (harvest.returncode, err) == (0, "The fork server has ended: another is started.\n"), out
    assert {row[0] for row in table(out).values()} == {"complete"}
    assert "resumed" not in out
    assert {name: place.last(name).details.get("pid", pid) for name, pid in crawls.items()} == crawls
    assert place.left("one") == whole(place, sites[0])


def test_fork_servers_that_are_killed_again_and_again(place, portal):
    sites = [portal(datasets=5) for _ in range(6)]
    place.sources(**{f"s{number}": hdx(site) for number, site in enumerate(sites)})
    harvest = place.begin("--all", "--parallel", "2", *SLOW)
    random.seed(2026)
    killed = set()
    while harvest.poll() is None:
        with suppress(OSError):
            for pid in servers(harvest.pid):
                killed.add(pid)
                os.kill(pid, signal.SIGKILL)
        with suppress(subprocess.TimeoutExpired):
            harvest.wait(random.uniform(0.1, 3))
    out, err = harvest.communicate()
    assert killed
    assert harvest.returncode == 0, out + err
    assert {run.source: run.state for run in runs(place.output)} == {f"s{number}": "complete" for number in range(6)}
    assert len(runs(place.output)) == 6


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_stopped_and_gone_on(place, portal, number):
    sites = three(place, portal)
    harvest = place.begin("--all", "--parallel", "2", *SLOW)
    forked(place, "one", "two")
    harvest.send_signal(number)
    out = ended(harvest)
    assert harvest.returncode == 130
    assert {name: row[0] for name, row in table(out).items()} == {
        "one": "interrupted",
        "two": "interrupted",
        "three": "skipped",
    }
    assert place.last("one").report is not None
    again = place.harvest("--all")
    assert (again.returncode, again.stdout.count("  resumed\n")) == (0, 2)
    assert place.left("one") == whole(place, sites[0])


def test_a_fork_that_hangs_is_killed_the_third_time(place, portal):
    three(place, portal)
    harvest = place.begin("--all", "--parallel", "2", *SLOW)
    os.kill(forked(place, "one", "two")["one"], signal.SIGSTOP)
    for _ in range(3):
        assert harvest.poll() is None
        harvest.send_signal(signal.SIGINT)
        time.sleep(0.5)
    out = ended(harvest)
    assert harvest.returncode == 130
    assert "(ended by SIGKILL, log " in out


def test_a_harvest_that_is_killed_leaves_its_forks_but_no_fork_server(place, portal):
    sites = three(place, portal)
    harvest = place.begin("--all", "--parallel", "2", *SLOW)
    crawls = forked(place, "one", "two")
    (server,) = servers(harvest.pid)
    with halted(place.last("one")):
        harvest.kill()
        harvest.communicate()
        until(lambda: not Path(f"/proc/{server}").exists())
        again = place.harvest("one")
        assert again.stdout.count("is already running") == 1
    done = place.until("one", state="complete")
    assert done.run
    assert place.left("one") == whole(place, sites[0])
    until(lambda: not any(Path(f"/proc/{pid}").exists() for pid in crawls.values()))


def test_a_process_with_threads_is_not_forked(place, portal, monkeypatch):
    """As where an agent watches every Python: what its threads have locked would stay so in a fork."""
    started = place.folder / "agent"
    started.mkdir()
    agent = "import sys, threading, time\nif any('fork_server' in word for word in sys.orig_argv):\n"
    agent += "    threading.Thread(target=time.sleep, args=(600,), daemon=True).start()\n"
    (started / "sitecustomize.py").write_text(agent)
    command = [sys.executable, "-m", "scrapy", "harvest", *place.options(), "--all"]
    place.sources(**{name: ckan(portal(datasets=5)) for name in ("one", "two", "three")})
    path = os.pathsep.join((str(started), str(ROOT)))
    ran = subprocess.run(
        command, cwd=ROOT, env={**os.environ, "PYTHONPATH": path}, capture_output=True, text=True, check=False
    )
    assert ran.stdout.count("  complete. ") == 3
    assert ran.stderr == "The fork server has ended: each crawl is a new process from now on.\n"


# A server that lives for long


class Commands:
    """Commands as forks of one server, and what they print.

    Args:
        folder: where they run.
    """

    def __init__(self, folder: Path) -> None:
        self.log = folder / "printed"
        self.forks = Forks(is_wanted=True)

    async def run(self, *words: str, code: int = 0) -> str:
        self.log.write_bytes(b"")
        with self.log.open("ab") as file:
            fork = await self.forks.start(words, [file.fileno()])
        assert fork
        assert await fork.wait() == code
        return self.log.read_text()


@pytest.fixture
def commands(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Commands]:
    """In a folder of a user."""
    folder = project(tmp_path / "project")
    monkeypatch.chdir(folder)
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    commands = Commands(folder)
    yield commands
    commands.forks.close()


def write(path: Path, text: str) -> None:
    path.write_text(text)


def test_a_spider_that_is_edited_is_the_new_one(commands):
    spider = Path("spiders/probe.py")

    async def edited() -> None:
        assert "probe" in (await commands.run("list")).split()
        assert commands.forks.server
        pid = commands.forks.server.process.pid
        write(spider, SPIDER.replace('name = "probe"', 'name = "edited"'))
        write(Path("spiders/other.py"), SPIDER.replace('name = "probe"', 'name = "other"'))
        assert {"edited", "other"} < set((await commands.run("list")).split())
        write(spider, "")
        assert not {"edited", "probe"} & set((await commands.run("list")).split())
        assert commands.forks.server.process.pid == pid

    asyncio.run(edited())


def test_settings_that_are_edited_are_the_new_ones(commands):
    Path("scrapy.cfg").write_text("[settings]\ndefault = spiders.settings\n")
    settings = Path("spiders/settings.py")

    async def edited() -> None:
        for contact in ("one@example.org", "two@example.org"):
            write(settings, f"from crawlers.settings import *\nCONTACT = {contact!r}\n")
            assert await commands.run("settings", "--get", "CONTACT") == f"{contact}\n"

    asyncio.run(edited())


def test_a_project_that_is_edited_is_the_new_one(commands):
    """The fork server begins again when a file of the project is another one, and finds the request where it was."""
    copy_project(Path())
    command = Path("crawlers/operate/commands/check.py")
    text = command.read_text()

    async def edited() -> None:
        for number in range(3):
            write(command, f"{text}\n    def short_desc(self) -> str:\n        return 'edited {number}'\n")
            assert f"edited {number}" in await commands.run("-h")

    asyncio.run(edited())


@pytest.mark.parametrize(("file", "code"), [("kinds/sdmx/spider.py", 0), ("kind.py", 1), ("__init__.py", 1)])
def test_a_project_that_is_broken_and_mended(commands, file, code):
    copy_project(Path())
    module = Path("crawlers") / file
    text = module.read_text()

    async def edited() -> None:
        assert "sdmx" in await commands.run("list")
        assert commands.forks.server
        pid = commands.forks.server.process.pid
        write(module, "this is no Python")
        assert "SyntaxError" in await commands.run("list", code=code)
        write(module, text)
        mended = await commands.run("list")
        assert "sdmx" in mended
        assert "SyntaxError" not in mended
        assert commands.forks.server.process.pid == pid

    asyncio.run(edited())


def test_a_package_that_is_installed_counts_at_once(commands):
    """As a new version does: the folder of packages has other files then."""
    packages = Path("lib/site-packages")
    packages.mkdir(parents=True)
    os.environ["PYTHONPATH"] += os.pathsep + str(packages.absolute())
    entry = "[catalogue_crawlers.kinds]\nexample = example_kind:KIND\n"

    async def installed() -> None:
        assert "example" not in (await commands.run("list")).split()
        shutil.copytree(ROOT / "docs" / "kind-template" / "example_kind", packages / "example_kind")
        distribution = packages / "example_kind-1.dist-info"
        distribution.mkdir()
        write(distribution / "entry_points.txt", entry)
        write(distribution / "METADATA", "Metadata-Version: 2.1\nName: example_kind\nVersion: 1\n")
        assert "example" in (await commands.run("list")).split()

    asyncio.run(installed())


@pytest.mark.slow
def test_its_memory_and_files_stay_the_same(commands):
    async def forked_often() -> None:
        figures = []
        for number in range(301):
            descriptor = take(Path(f"{number % 7}.lock"))
            assert descriptor
            with commands.log.open("ab") as file:
                fork = await commands.forks.start(["version"], [file.fileno(), descriptor])
            os.close(descriptor)
            assert fork
            assert await fork.wait() == 0
            assert commands.forks.server
            if number % 100 == 0:
                pid = commands.forks.server.process.pid
                until(lambda pid=pid: taken(pid)[1] == 3)  # it closes what it handed on, though not at once
                figures.append(taken(pid)[0])
        assert max(figures) - figures[0] < 2**10, figures

    asyncio.run(forked_often())
    assert commands.log.read_text().count("Scrapy ") == 301


def taken(pid: int) -> tuple[int, int]:
    """The memory of a process that is its own, in KiB, and how many files it has open."""
    rollup = Path(f"/proc/{pid}/smaps_rollup").read_text()
    private = sum(map(int, re.findall(r"^Private_\w+: +(\d+) kB$", rollup, re.MULTILINE)))
    return private, len(list(Path(f"/proc/{pid}/fd").iterdir()))


def test_it_has_one_thread_and_one_connection(commands):
    async def looked_at() -> int:
        await commands.run("version")
        assert commands.forks.server
        return commands.forks.server.process.pid

    pid = asyncio.run(looked_at())
    assert len(list(Path(f"/proc/{pid}/task").iterdir())) == 1
    assert sorted(map(target, Path(f"/proc/{pid}/fd").iterdir())) == ["/dev/null", "/dev/null", "socket"]


def test_what_is_too_much_for_it_is_a_new_process(commands):
    async def refused() -> None:
        with commands.log.open("ab") as file:
            assert await commands.forks.start(["version", "x" * LONGEST], [file.fileno()]) is None
            assert await commands.forks.start(["version"], [file.fileno()] * 300) is None
        assert commands.forks.is_usable
        assert "Scrapy" in await commands.run("version")

    asyncio.run(refused())


def test_where_nothing_can_be_forked(commands, monkeypatch):
    monkeypatch.setattr(sys, "platform", "darwin")
    assert asyncio.run(Forks(is_wanted=True).start(["version"], [])) is None


def test_a_server_that_does_not_answer_is_given_up(commands, monkeypatch, capsys):
    async def left() -> None:
        await commands.run("version")
        assert commands.forks.server
        server = commands.forks.server.process
        os.kill(server.pid, signal.SIGSTOP)
        monkeypatch.setattr("crawlers.operate.harvest.processes._FORK_PATIENCE", 0.1)
        assert await commands.forks.start(["version"], [1]) is None
        assert server.returncode == -signal.SIGKILL

    asyncio.run(left())
    assert capsys.readouterr().err.splitlines() == [
        "The fork server has ended: another is started.",
        "The fork server has ended: each crawl is a new process from now on.",
    ]


def test_what_can_not_be_adopted_is_a_new_process(commands, monkeypatch, capsys):
    """Its exit code would never be known."""
    monkeypatch.setattr("crawlers.operate.harvest.processes._adopting", nullcontext)

    async def refused() -> None:
        with commands.log.open("ab") as file:
            assert await commands.forks.start(["version"], [file.fileno()]) is None

    asyncio.run(refused())
    assert commands.log.read_text() == ""
    assert capsys.readouterr().err == "The fork server has ended: each crawl is a new process from now on.\n"


def test_a_fork_that_nobody_waits_for_does_nothing(commands):

    async def left() -> None:
        await commands.run("version")
        assert commands.forks.server
        os.kill(commands.forks.server.process.pid, signal.SIGSTOP)
        with commands.log.open("ab") as file:
            start = asyncio.ensure_future(commands.forks.start(["version"], [file.fileno()]))
            await asyncio.sleep(0.2)
            start.cancel()
            await asyncio.gather(start, return_exceptions=True)
        os.kill(commands.forks.server.process.pid, signal.SIGCONT)
        assert (await commands.run("list")).count("Scrapy") == 0

    asyncio.run(left())
