"""Whole crawls with output in a store: a real S3 server, several machines, and what happens when one of them dies."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path

import obstore
import pytest
from deltalake import DeltaTable

from tests.buckets import Folder, contents, documents, told
from tests.machines import Node
from tests.seaweed import Faults, Seaweed, seaweed
from tests.waiting import HANG, until

__all__ = ["seaweed"]
NUMBERS = count(1)
EXPORT = "download_metadata"
SLOW = {"REQUESTS_PER_SECOND": "40", "OUTPUT_STORE_INTERVAL": "0.2"}
pytestmark = pytest.mark.slow


BOTH = pytest.mark.parametrize("address", ["s3", "file"], indirect=True)
"""For a test with a store in a bucket, and with one in a folder."""


@pytest.fixture
def address(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """The address of a store that is empty."""
    if getattr(request, "param", "s3") == "file":
        return (tmp_path / "store").as_uri()
    seaweed = request.getfixturevalue("seaweed")
    os.environ.update(seaweed.environment)
    name = f"crawls-{next(NUMBERS)}-{os.getpid()}"
    seaweed.make_bucket(name)
    return f"s3://{name}/catalogues"


@pytest.fixture
def node(tmp_path: Path, address: str) -> Callable[..., Node]:
    """Makes machines that share a store: ``node("a")``."""

    def make(name: str, **settings: str) -> Node:
        (tmp_path / name).mkdir()
        return Node(tmp_path / name, address, settings)

    return make


@pytest.fixture
def faults(seaweed: Seaweed, address: str) -> Iterator[Faults]:
    """A proxy before the server: what starts from now on is behind it."""
    with Faults(seaweed.url) as proxy:
        os.environ["AWS_ENDPOINT_URL"] = proxy.url
        yield proxy


def files(seaweed: Seaweed, node: Node) -> dict[str, int]:
    return seaweed.files(node.address.removeprefix("s3://").partition("/")[0])


def ended(crawl: subprocess.Popen[str]) -> str:
    err = crawl.communicate(timeout=HANG)[1]
    assert "Traceback" not in err, err
    return err


def kill(crawl: subprocess.Popen[str]) -> None:
    crawl.kill()
    crawl.communicate()


def _as(files: dict[str, bytes]) -> tuple[dict[str, bytes], set[str], int]:
    """What a harvest leaves, without what tells one run from another."""
    lines = told(files)
    return documents(files), set(lines), len(lines)


# One machine after the other


@BOTH
def test_the_pulled_folder_is_that_of_a_single_machine(node, crawl, portal, tmp_path):
    site = portal(datasets=40)
    alone = crawl("hdx", site)
    assert node("a").crawl(site).code == 0
    ran = node("b").run("pull", node("c").address, str(tmp_path / "pulled"))
    assert (ran.returncode, ran.stdout, ran.stderr) == (0, "hdx: 162 files pulled\n", "")
    found, single = contents(tmp_path / "pulled"), contents(alone.folder.parent)
    assert documents(found) == documents(single)
    assert told(found) == told(single)
    assert found["hdx/errors.jsonl"] == single["hdx/errors.jsonl"]
    assert [json.loads(part["hdx/runs/" + name])["counts"] for part, name in _reports(found, single)] == [
        json.loads(single["hdx/runs/" + name])["counts"] for _, name in _reports(single)
    ] * 2
    assert sorted(found) == sorted(contents(next((tmp_path / "a" / "mirror").iterdir())))


def _reports(*parts: dict[str, bytes]) -> list[tuple[dict[str, bytes], str]]:
    return [(part, Path(name).name) for part in parts for name in part if name.startswith("hdx/runs/")]


def test_another_machine_asks_for_nothing_that_is_stored(node, portal):
    site = portal(datasets=40)
    a, b = node("a"), node("b")
    assert a.crawl(site).code == 0
    asked = site.requests(EXPORT)
    again = b.crawl(site)
    assert (again.code, again.report["counts"]["unchanged"]) == (0, 160)
    assert site.requests(EXPORT) == asked == 120
    since = b.crawl(site, "-a", "since=last")
    assert (since.code, since.report["since"] is not None) == (0, True), "its last complete run is known here"


@BOTH
def test_a_crawl_without_news_is_one_commit_of_two_objects(node, portal):
    site = portal(datasets=3)
    a = node("a", OUTPUT_LEASE="60")
    assert a.crawl(site).code == 0
    before = objects(a)
    assert a.crawl(site).report["counts"]["unchanged"] == 12
    assert sorted(name.rpartition(".")[2] for name in objects(a) - before) == ["json", "parquet"]


@pytest.mark.parametrize("address", ["file"], indirect=True)
def test_a_crawl_merges_many_small_files_at_its_end(node, portal):
    """Who reads the table slowly finds the files of before."""
    a = node("a", OUTPUT_LEASE="60")
    here = a.mirror()
    here.check(creates=True)
    for number in range(50):
        with here.own("hdx"):
            Folder(here.folder / "hdx").write(f"other{number}")
    slow = DeltaTable(f"{a.address}/hdx", storage_options=here.store.options)
    before, rows = objects(a), slow.to_pyarrow_table().num_rows
    assert a.crawl(portal(datasets=3)).code == 0
    now = DeltaTable(f"{a.address}/hdx", storage_options=here.store.options)
    assert (len(slow.file_uris()), len(now.file_uris())) == (50, 1)
    assert before <= objects(a)
    assert slow.to_pyarrow_table().num_rows == rows
    assert documents(contents(a.output)) == documents(a.stored())


def objects(node: Node) -> set[str]:
    """Return the names of all objects of a source's table."""
    store = node.mirror().store.objects
    return {found["path"] for page in obstore.list(store, "hdx") for found in page}


def test_what_is_stored_can_be_read_while_it_is_crawled(node, portal):
    site = portal(datasets=60)
    a, b = node("a"), node("b")
    crawl = a.begin(site, **SLOW)
    until(lambda: a.has_stored(20), unless=lambda: crawl.poll() is not None)
    jobs = b.run("jobs")
    found = b.run("search", "--limit", "1", "--json", "water")
    assert crawl.poll() is None
    assert " running " in jobs.stdout
    assert json.loads(found.stdout)["total"] > 0
    crawl.send_signal(signal.SIGINT)
    ended(crawl)
    assert crawl.returncode == 130
    assert " interrupted " in b.run("jobs").stdout
    assert documents(a.stored()) == documents(contents(a.output)), "all that it had is stored"


@BOTH
def test_of_two_crawls_at_once_one_goes_on(node, portal):
    site = portal(datasets=300)
    a, b = node("a"), node("b")
    crawl = a.begin(site, **SLOW)
    until(lambda: a.has_stored(1), unless=lambda: crawl.poll() is not None)
    asked = site.requests()
    refused = b.crawl(site)
    assert refused.code == 1
    assert " is taken by " in refused.lines[-1]
    assert refused.lines[-1].endswith(": wait for it to end.")
    agents = {entry["user_agent"] for entry in site.log()[asked:]}
    assert len(agents) == 1
    assert [run.split()[2] for run in b.run("jobs").stdout.splitlines()[1:]] == ["running"]
    crawl.send_signal(signal.SIGINT)
    ended(crawl)
    assert b.crawl(site).code == 0


def test_a_crawl_whose_only_batch_is_refused_is_interrupted(node, portal):
    """Also one that is complete by then: another machine has stored the source since it began."""
    site = portal(datasets=30)
    a = node("a", OUTPUT_LEASE="600")
    crawl = a.begin(site, **SLOW | {"OUTPUT_STORE_INTERVAL": "600"})
    until(lambda: site.requests() > 2, unless=lambda: crawl.poll() is not None)
    other = a.mirror()
    with other.own("hdx"):
        Folder(other.folder / "hdx").write("others")
    err = ended(crawl)
    assert err.splitlines()[-1].endswith(" meanwhile (batch 1): nothing more is stored from here.")
    assert crawl.returncode == 130


def test_a_machine_that_died_goes_on_where_it_was(node, portal, crawl):
    site = portal(datasets=60)
    a = node("a")
    jobdir = ("-s", f"JOBDIR={a.folder / 'job'}")
    first = a.begin(site, *jobdir, **SLOW)
    until(lambda: a.has_stored(20), unless=lambda: first.poll() is not None)
    kill(first)
    done = a.crawl(site, *jobdir)
    assert (done.code, done.report["resumed"]) == (0, True)
    alone = contents(crawl("hdx", site).folder.parent)
    assert _as(a.stored()) == _as(alone)


@BOTH
def test_another_machine_goes_on_from_what_is_stored(node, portal, crawl):
    site = portal(datasets=60)
    a, b = node("a"), node("b")
    jobdir = ("-s", f"JOBDIR={a.folder / 'job'}")
    first = a.begin(site, *jobdir, **SLOW)
    until(lambda: a.has_stored(40), unless=lambda: first.poll() is not None)
    kill(first)
    before = documents(a.stored())
    site.reset()
    done = b.crawl(site)
    assert (done.code, done.report["resumed"]) == (0, False)
    exports = [name for name in before if "resource_metadata" in name]
    assert site.requests(EXPORT) == 180 - len(exports), "what is stored is not asked for"
    alone = contents(crawl("hdx", site).folder.parent)
    stored = b.stored()
    assert _as(stored) == _as(alone)
    states = sorted(json.loads(body)["verdict"] for name, body in stored.items() if "/runs/" in name)
    assert states == ["complete", "interrupted"]
    again = a.crawl(site, *jobdir)
    assert (again.code, again.report["resumed"], again.report["counts"]["unchanged"]) == (0, False, 240)
    assert "Another node has crawled hdx since; listing starts over." in again.log
    assert documents(a.stored()) == documents(contents(a.output)) == documents(alone)


@BOTH
def test_a_machine_that_was_paused_past_its_lease_stores_nothing_more(node, portal, crawl):
    site = portal(datasets=60)
    a, b = node("a", CONTACT="first"), node("b", CONTACT="second")
    late = a.begin(site, **SLOW)
    until(lambda: a.has_stored(20), unless=lambda: late.poll() is not None)
    late.send_signal(signal.SIGSTOP)
    done = b.crawl(site, REQUESTS_PER_SECOND="40")
    asked = site.requests()
    late.send_signal(signal.SIGCONT)
    err = ended(late)
    assert (done.code, late.returncode) == (0, 130)
    last = err.splitlines()[-1]
    assert last.startswith("[hdx] was crawled by ")
    assert last.endswith(": nothing more is stored from here.")
    assert len(site.log()[asked:]) <= 1, f"it asks for nothing more, unless the pause hit one: {site.log()[asked:]}"
    nodes = ["first" in entry["user_agent"] for entry in site.log()[:asked]]
    assert nodes == sorted(nodes, reverse=True), "the host was asked by one machine at a time"
    alone = contents(crawl("hdx", site).folder.parent)
    stored = b.stored()
    assert _as(stored) == _as(alone)
    assert documents(contents(a.output)).items() <= documents(stored).items(), "it has nothing that is not stored"
    assert a.run("search", "water").returncode == 0
    assert documents(contents(a.output)) == documents(stored)


def test_the_second_ctrl_c_stops_at_once_and_gives_the_source_back(node, portal):
    site = portal(datasets=60, faults=(f"hang={EXPORT}",))
    a, b = node("a"), node("b")
    crawl = a.begin(site, **SLOW)
    until(lambda: a.has_stored(20), unless=lambda: crawl.poll() is not None)
    crawl.send_signal(signal.SIGINT)
    time.sleep(1)
    crawl.send_signal(signal.SIGINT)
    ended(crawl)
    assert crawl.returncode == 130
    site.fault(hang=None)
    begun = time.monotonic()
    assert b.crawl(site, OUTPUT_LEASE="600").code == 0
    assert time.monotonic() - begun < HANG / 2, "no lease was waited for"


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_crawl_that_waits_for_a_machine_that_died_can_be_stopped(node, portal, number):
    site = portal(datasets=60)
    a, b = node("a"), node("b")
    first = a.begin(site, **SLOW)
    until(lambda: a.has_stored(1), unless=lambda: first.poll() is not None)
    kill(first)
    asked = site.requests()
    crawl = b.begin(site, LOG_FILE=str(b.folder / "log"), OUTPUT_LEASE="3600")
    log = b.folder / "log"
    until(lambda: log.exists() and " is taken by " in log.read_text(), unless=lambda: crawl.poll() is not None)
    crawl.send_signal(number)
    assert ended(crawl) == "Stopped before the crawl began.\n"
    assert (crawl.returncode, site.requests()) == (130, asked)
    assert " seconds for a sign of life." in log.read_text()
    assert "Traceback" not in log.read_text()


def test_a_command_that_tries_a_spider_stores_nothing(node, portal, seaweed):
    a = node("a")
    site = portal(datasets=3)
    ran = a.run("parse", f"{site.url}/api/3/action/package_search", "--spider", "hdx", "-a", f"portal={site.url}")
    assert ran.returncode == 0
    assert files(seaweed, a) == {}


# A server that fails


def test_a_server_that_fails_for_a_while(node, portal, crawl, faults):
    site = portal(datasets=60)
    a = node("a")
    first = a.begin(site, **SLOW)
    until(lambda: faults.count("PUT") > 8, unless=lambda: first.poll() is not None)
    faults.planned["PUT"] = ["503"] * 6 + ["cut", "lose"] * 4
    faults.planned["GET"] = ["503", "lose"] * 4
    err = ended(first)
    assert first.returncode == 0, err
    assert "503 Service Unavailable" in err
    faults.planned.clear()
    alone = contents(crawl("hdx", site).folder.parent)
    stored = a.stored()
    assert _as(stored) == _as(alone)
    assert len([name for name in stored if "/runs/" in name]) == 1


def test_a_server_that_is_gone_stops_the_crawl_so_that_it_can_go_on(node, portal, crawl, faults):
    site = portal(datasets=60)
    a = node("a", OUTPUT_STORE_PATIENCE="1")
    jobdir = ("-s", f"JOBDIR={a.folder / 'job'}")
    first = a.begin(site, *jobdir, **SLOW)
    until(lambda: faults.count("PUT") > 12, unless=lambda: first.poll() is not None)
    faults.planned = {method: ["503"] * 1000 for method in ("GET", "PUT", "HEAD")}
    err = ended(first)
    assert first.returncode == 4
    assert err.splitlines()[-1].endswith("Not all is stored: the same command stores the rest.")
    faults.planned.clear()
    done = a.crawl(site, *jobdir)
    assert (done.code, done.report["resumed"]) == (0, True)
    alone = contents(crawl("hdx", site).folder.parent)
    assert _as(a.stored()) == _as(alone)


def test_no_host_is_asked_while_the_lease_is_not_renewed(node, portal, faults):
    site = portal(datasets=200)
    a = node("a")
    first = a.begin(site, **SLOW)
    until(lambda: a.has_stored(20), unless=lambda: first.poll() is not None)
    faults.planned = {method: ["503"] * 10_000 for method in ("GET", "PUT", "HEAD")}
    time.sleep(4)  # the lease lasts two
    asked = site.requests()
    time.sleep(2)
    assert site.requests() == asked
    faults.planned.clear()
    until(lambda: site.requests() > asked, unless=lambda: first.poll() is not None)
    first.send_signal(signal.SIGINT)
    ended(first)
    assert first.returncode == 130


# What can be wrong


COMMANDS = {
    "crawl": ("ckan", "-a", "portal=http://127.0.0.1:1"),
    "search": ("water",),
    "report": ("-o", "-"),
    "jobs": (),
    "export": ("--format", "csv"),
    "archive": ("status",),
    "compact": ("--all",),
    "harvest": ("--all",),
    "timeseries": ("hdx",),
    "dashboard": ("--port", "0"),
    "sources": ("list",),
}


def refused(node: Node, command: str, sentence: str) -> None:
    ran = node.run(command, *COMMANDS[command], LOG_LEVEL="ERROR")
    assert (ran.returncode, ran.stdout) == (1, ""), ran.stderr
    assert sentence in ran.stderr
    assert len(ran.stderr.strip().splitlines()) == 1, ran.stderr
    assert contents(node.folder) == {"sources.toml": b""}


@pytest.fixture
def lonely(node) -> Node:
    """A machine that has nothing."""
    made = node("lonely")
    (made.folder / "sources.toml").touch()
    return made


@pytest.mark.parametrize("command", COMMANDS)
def test_a_bucket_that_can_not_be_reached(lonely, command):
    os.environ["AWS_ENDPOINT_URL"] = "http://127.0.0.1:1"
    refused(lonely, command, "the server can't be reached; check AWS_ENDPOINT_URL.")


@pytest.mark.parametrize("command", COMMANDS)
def test_wrong_keys(lonely, seaweed, command):
    os.environ["AWS_SECRET_ACCESS_KEY"] = "wrong-and-private"
    refused(lonely, command, "access is denied (SignatureDoesNotMatch); check AWS_ACCESS_KEY_ID and AWS_SECRET")
    assert files(seaweed, lonely) == {}


@pytest.mark.parametrize("command", ["crawl", "search", "harvest"])
def test_no_keys(lonely, command):
    del os.environ["AWS_ACCESS_KEY_ID"]
    refused(lonely, command, "OUTPUT_DIR is in S3, but the environment has no AWS_ACCESS_KEY_ID.")


@pytest.mark.parametrize("command", ["crawl", "search", "harvest"])
def test_an_endpoint_that_is_none(lonely, command):
    os.environ["AWS_ENDPOINT_URL"] = "localhost:8333"
    refused(lonely, command, "AWS_ENDPOINT_URL in the environment is not https://host or http://host:port")


@pytest.mark.parametrize("command", ["harvest", "crawl"])
def test_a_lease_that_is_no_number(lonely, command):
    lonely.settings["OUTPUT_LEASE"] = "abc"
    refused(lonely, command, "is not a number")


def test_a_command_with_a_lease_that_is_no_number(lonely):
    lonely.settings["OUTPUT_LEASE"] = "abc"
    ran = lonely.run("search", *COMMANDS["search"], LOG_LEVEL="ERROR")
    assert (ran.returncode, ran.stdout) == (2, ""), ran.stderr
    assert "OUTPUT_LEASE='abc' is not a number: see docs/settings.md." in ran.stderr


@pytest.mark.parametrize("command", ["crawl", "search", "harvest"])
@pytest.mark.parametrize(("ahead", "way"), [(300, "behind"), (-300, "ahead of")])
def test_clocks_that_differ(lonely, seaweed, faults, command, ahead, way):  # noqa: PLR0917
    faults.ahead = ahead
    refused(lonely, command, f" seconds {way} that of {lonely.address}: set both by NTP.")
    assert files(seaweed, lonely) == {}


@pytest.mark.parametrize("command", ["crawl", "search", "harvest"])
def test_another_schema(lonely, seaweed, command):
    place = f"buckets/{lonely.address.removeprefix('s3://')}/catalogue-crawlers.json"
    _put(seaweed, place, b'{"schema": 1}')
    refused(lonely, command, f"{lonely.address} is of schema 1, and this version knows 2: `scrapy pull` it into")
    assert list(files(seaweed, lonely)) == ["catalogues/catalogue-crawlers.json"]


@pytest.mark.parametrize("command", ["crawl", "search", "harvest"])
def test_a_bucket_that_is_not_empty(lonely, seaweed, command):
    _put(seaweed, f"buckets/{lonely.address.removeprefix('s3://')}/photos/cat.jpg", b"x")
    refused(lonely, command, f"{lonely.address} is not empty ('photos/cat.jpg') and no store: name another prefix.")
    assert list(files(seaweed, lonely)) == ["catalogues/photos/cat.jpg"]


def test_a_bucket_that_is_not_there(lonely):
    lonely.address = "s3://not-there/x"
    refused(lonely, "crawl", "s3://not-there/x: there is no such bucket; make it, or correct OUTPUT_DIR.")


def _put(seaweed: Seaweed, path: str, body: bytes) -> None:
    import urllib.request  # noqa: PLC0415

    url = f"http://127.0.0.1:{seaweed.ports['filer.port']}/{path}"
    request = urllib.request.Request(url, body, {"Content-Type": "application/octet-stream"}, method="PUT")
    urllib.request.build_opener(urllib.request.ProxyHandler({})).open(request, timeout=60).close()


@pytest.mark.parametrize("address", ["s3://UPPER/x", "s3:bucket", "s3://me:secret@bucket/x", "s3://bucket/../x"])
def test_an_address_that_is_none(tmp_path, address):
    made = Node(tmp_path, address)
    (tmp_path / "sources.toml").touch()
    ran = made.run("search", "water")
    assert (ran.returncode, ran.stdout) == (1, "")
    assert ran.stderr.startswith("OUTPUT_DIR is no s3://bucket/prefix: only small letters")
    assert "secret" not in ran.stderr


def test_a_machine_without_a_connection_reads_what_it_has(node, portal):
    a = node("a")
    assert a.crawl(portal(datasets=30)).code == 0
    os.environ["AWS_ENDPOINT_URL"] = "http://127.0.0.1:1"
    ran = a.run("search", "--limit", "1", "water")
    assert ran.returncode == 0
    assert "have: water" in ran.stdout
    assert ran.stderr == (
        f"{a.address}: the server can't be reached; check AWS_ENDPOINT_URL. "
        f"What follows is what {a.output} had of it.\n"
    )
