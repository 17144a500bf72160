"""Commands with output in a store: pull and push, and those that change a source's folder; a real S3 server."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import signal
import subprocess
import sys
import urllib.request
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from crawlers.exceptions import StoreError
from crawlers.fleet.store.owner import Owner
from crawlers.store import lines
from crawlers.store.contract import LINES
from crawlers.store.index.known import Known
from crawlers.store.versions import Versions
from tests.buckets import Folder, contents
from tests.conftest import ROOT, scrapy
from tests.conftest import command as here
from tests.machines import Node
from tests.seaweed import seaweed
from tests.test_bucket_crawl import BOTH, address, node
from tests.waiting import HANG, until

__all__ = ["address", "node", "seaweed"]
NUMBERS = count(1)
FIRST, SECOND = "20261120T030000Z", "20261121T030000Z"
pytestmark = pytest.mark.slow


@pytest.fixture
def output(tmp_path: Path) -> Path:
    """A plain folder, as crawls of one machine leave it."""
    made = Folder(tmp_path / "plain" / "hdx")
    for number in range(40):
        made.write(f"id{number}", slug="a-name")
    made.append("errors.jsonl", {"run": FIRST})
    made.report(FIRST)
    Folder(tmp_path / "plain" / "other").write("x")
    return tmp_path / "plain"


# Pull and push


def test_what_is_pushed_is_pulled(output, address, tmp_path):
    before = contents(output)
    pushed = scrapy("push", str(output), address)
    assert (pushed.returncode, pushed.stderr) == (0, "")
    assert pushed.stdout == "hdx: 41 files pushed\nother: 1 files pushed\n"
    pulled = scrapy("pull", address, str(tmp_path / "pulled"))
    assert (pulled.returncode, pulled.stderr) == (0, "")
    assert pulled.stdout == "hdx: 41 files pulled\nother: 1 files pulled\n"
    assert contents(tmp_path / "pulled") == before == contents(output)
    found = scrapy("search", "-s", f"OUTPUT_DIR={tmp_path / 'pulled'}", "--source", "hdx", "zzz")
    assert (found.returncode, found.stdout) == (0, "No dataset has: zzz\n"), "the index is there"


@BOTH
def test_the_same_commands_take_what_is_new(output, address, tmp_path):
    for command in (("push", str(output), address), ("pull", address, str(tmp_path / "pulled"))) * 2:
        assert scrapy(*command).returncode == 0
    assert scrapy("push", str(output), address).stdout == "hdx: nothing new\nother: nothing new\n"
    Folder(output / "hdx").write("new", run=SECOND)
    assert scrapy("push", str(output), address, "hdx").stdout == "hdx: 1 files pushed\n"
    assert scrapy("pull", address, str(tmp_path / "pulled"), "hdx").stdout == "hdx: 1 files pulled\n"
    assert contents(tmp_path / "pulled") == contents(output)


def test_a_pull_into_a_folder_of_others(output, address, tmp_path):
    scrapy("push", str(output), address)
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "notes.txt").write_text("mine")
    ran = scrapy("pull", address, str(tmp_path / "mine"))
    sentence = f"{tmp_path / 'mine'} is not empty, and no copy of {address}: name another folder.\n"
    assert (ran.returncode, ran.stdout, ran.stderr) == (1, "", sentence)
    assert [path.name for path in (tmp_path / "mine").iterdir()] == ["notes.txt"]


def test_a_pull_into_what_is_no_folder(output, address, tmp_path):
    scrapy("push", str(output), address)
    (tmp_path / "mine").write_text("mine")
    ran = scrapy("pull", address, str(tmp_path / "mine"))
    assert (ran.returncode, ran.stdout, ran.stderr) == (1, "", f"{tmp_path / 'mine'} is a file: name a folder.\n")


def test_a_pull_with_a_link_in_the_place_of_a_folder(output, address, tmp_path):
    scrapy("push", str(output), address)
    scrapy("pull", address, str(tmp_path / "pulled"), "other")
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "pulled" / "hdx").mkdir()
    (tmp_path / "pulled" / "hdx" / "datasets").symlink_to(tmp_path / "elsewhere")
    ran = scrapy("pull", address, str(tmp_path / "pulled"))
    assert (ran.returncode, ran.stdout) == (3, "other: nothing new\n")
    assert ran.stderr.startswith(f"{tmp_path / 'pulled' / 'hdx'} can't be brought up to date (")
    assert ran.stderr.count("\n") == 1
    assert not any((tmp_path / "elsewhere").iterdir())


def test_a_mirror_that_lost_files_is_mended(output, address, tmp_path):
    scrapy("push", str(output), address)
    a = Node(tmp_path, address)
    assert a.run("jobs").returncode == 0
    shutil.rmtree(a.output / "hdx")
    assert a.run("jobs").returncode == 0
    assert contents(a.output / "hdx") == contents(output / "hdx")
    shutil.rmtree(a.output / "hdx" / "datasets")
    ran = a.run("reindex")
    assert (ran.returncode, ran.stdout, ran.stderr) == (0, "hdx: 40 datasets\nother: 1 datasets\n", "")
    assert contents(a.output / "hdx") == contents(output / "hdx")


@BOTH
def test_a_push_over_what_others_have_stored(output, address, tmp_path):
    scrapy("push", str(output), address)
    Folder(tmp_path / "second" / "hdx").write("mine")
    Folder(tmp_path / "second" / "third").write("mine")
    ran = scrapy("push", str(tmp_path / "second"), address)
    assert (ran.returncode, ran.stdout) == (1, "")
    assert ran.stderr.startswith(f"{address} has [hdx] already, with runs that {tmp_path / 'second'} has not: ")
    scrapy("pull", address, str(tmp_path / "pulled"))
    assert contents(tmp_path / "pulled") == contents(output), "not even a source that the store lacks was pushed"


@pytest.mark.parametrize("address", ["file"], indirect=True)
@pytest.mark.parametrize(
    ("words", "looked_at"),
    [
        (("history", "other", "x"), {"other"}),
        (("jobs", "hdx"), {"hdx"}),
        (("jobs", "show", f"hdx/{FIRST}"), {"hdx"}),
        (("search", "--source", "other", "x"), {"other"}),
        (("sources", "show", "hdx"), {"hdx"}),
        (("archive", "status", "hdx"), {"hdx"}),
        (("publish", "datasets", "hdx", "--to", "http://127.0.0.1:9"), {"hdx"}),
        (("verify", "hdx", "other"), {"hdx", "other"}),
        (("verify",), {"hdx", "other", "third"}),
        (("history", "othr", "x"), {"hdx", "other", "third"}),
    ],
)
def test_a_command_looks_at_the_sources_that_it_reads(output, address, tmp_path, words, looked_at):
    Folder(output / "third").write("x")
    assert scrapy("push", str(output), address).returncode == 0
    a = Node(tmp_path, address)
    ran = a.run(*words)
    assert {path.stem for path in a.output.glob(".mirror/*/*.sqlite")} == looked_at
    assert ("There are: hdx, other, third." in ran.stderr) == ("othr" in words)


@pytest.mark.parametrize("source", ["été", "index.sqlite.d"])
@pytest.mark.parametrize("is_named", [False, True])
def test_a_push_of_a_source_that_no_reader_would_find(output, address, seaweed, source, is_named):
    Folder(output / source).write("x")
    ran = scrapy("push", str(output), address, *([source] * is_named))
    assert (ran.returncode, ran.stdout, ran.stderr.count("\n")) == (1, "", 1)
    assert ran.stderr.startswith(f"{source!r} can't be stored: the name of a source has at most 100 letters")
    assert seaweed.files(address.removeprefix("s3://").partition("/")[0]) == {}
    assert scrapy("push", str(output), address, "hdx").stdout == "hdx: 41 files pushed\n"


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("push", "{tmp}"), "scrapy push takes FOLDER s3://BUCKET/PREFIX|file:///FOLDER [SOURCE ...].\n"),
        (("pull", "{address}"), "scrapy pull takes s3://BUCKET/PREFIX|file:///FOLDER FOLDER [SOURCE ...].\n"),
        (("push", "{tmp}/nowhere", "{address}"), "{tmp}/nowhere has no source: name an OUTPUT_DIR.\n"),
        (
            ("push", "{tmp}/plain", "{address}", "hdy"),
            "has no source 'hdy'. Did you mean hdx? There are: hdx, other.\n",
        ),
        (("push", "{tmp}/plain", "elsewhere"), "OUTPUT_DIR is no s3://bucket/prefix: only small letters"),
        (("pull", "{address}", "{tmp}/x"), "{address} is empty: crawl a source first, or `scrapy push` a folder.\n"),
    ],
)
def test_words_that_are_wrong(output, address, tmp_path, words, told):
    given = {"tmp": str(tmp_path), "address": address}
    ran = scrapy(*(word.format(**given) for word in words))
    assert (ran.returncode, ran.stdout) == (1, "")
    assert told.format(**given) in ran.stderr
    assert ran.stderr.count("\n") == 1


def test_a_pull_of_a_source_that_is_damaged(output, address, seaweed, tmp_path):
    scrapy("push", str(output), address)
    bucket = address.removeprefix("s3://").partition("/")[0]
    file = next(name for name in seaweed.files(bucket) if "/other/" in name and name.endswith(".parquet"))
    url = f"http://127.0.0.1:{seaweed.ports['filer.port']}/buckets/{bucket}/{file}"
    urllib.request.build_opener(urllib.request.ProxyHandler({})).open(
        urllib.request.Request(url, b"damaged", method="PUT"), timeout=60
    ).close()
    ran = scrapy("pull", address, str(tmp_path / "pulled"))
    assert (ran.returncode, ran.stdout, ran.stderr.count("\n")) == (3, "hdx: 41 files pulled\n", 1)
    assert ran.stderr.startswith(f"[other] is damaged in {address} (")


def test_a_push_that_is_interrupted_goes_on(address, seaweed, tmp_path):
    made = Folder(tmp_path / "plain" / "hdx")
    for number in range(8000):
        made.write(f"id{number}")
    command = [sys.executable, "-W", "error", "-m", "scrapy", "push", str(tmp_path / "plain"), address]
    push = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    bucket = address.removeprefix("s3://").partition("/")[0]
    until(
        lambda: any(name.endswith(".parquet") for name in seaweed.files(bucket)), unless=lambda: push.poll() is not None
    )
    push.send_signal(signal.SIGTERM)
    assert push.communicate(timeout=HANG)[1] == "Stopped: run the same command to continue.\n"
    assert push.returncode == 130
    assert scrapy("push", str(tmp_path / "plain"), address).returncode == 0
    assert Node(tmp_path, address).stored() == contents(tmp_path / "plain")


# Commands that change a folder


@pytest.fixture
def nodes(node, portal) -> tuple[Node, Node]:
    """Two machines, and a source that the first one has crawled twice."""
    a, b = node("a"), node("b")
    site = portal(datasets=5)
    for made in (a, b):
        (made.folder / "sources.toml").write_text(f'[one]\nspider = "hdx"\narguments = {{portal = "{site.url}"}}\n')
    assert a.run("harvest", "one").returncode == 0
    site.change(touch=site.ids()[:2])
    assert a.run("harvest", "one").returncode == 0
    return a, b


def test_a_harvest_is_of_all_machines(nodes):
    a, b = nodes
    assert b.run("jobs").stdout.count(" complete ") == 2
    assert b.run("harvest", "one").returncode == 0
    assert a.run("jobs").stdout.count(" complete ") == 3
    assert contents(a.output) == contents(b.output) == a.stored()


@BOTH
def test_compact_is_of_one_machine_and_of_the_store(nodes):
    a, b = nodes
    ran = b.run("compact", "one")
    assert ran.returncode == 0, ran.stderr
    assert "lines of manifest.jsonl are in manifest-" in ran.stdout
    assert a.run("jobs").returncode == 0
    assert contents(a.output) == a.stored()
    assert not any(name.endswith(".jsonl.zst") for name in a.stored()), "each machine packs its own lines"
    assert a.run("harvest", "one").returncode == 0
    assert contents(a.output) == a.stored()
    assert b.run("jobs").stdout.count(" complete ") == 3
    for file in LINES:
        found = [_lines(machine.output / "one", file) for machine in (a, b)]
        assert found[0] == found[1], "lines read the same"


def _lines(folder: Path, file: str) -> list[Any]:
    return list(lines.read(folder, file)) if (folder / file).exists() else []


@BOTH
def test_rename_on_one_machine_renames_on_all(nodes):
    a, b = nodes
    ran = b.run("sources", "rename", "one", "two")
    assert ran.returncode == 0, ran.stderr
    assert {name.partition("/")[0] for name in a.stored()} == {"two"}
    assert " two " in a.run("jobs").stdout
    assert contents(a.output) == contents(b.output)
    assert not (a.output / "one").exists()
    changed = [json.loads(line)["dataset_id"] for line in a.stored()["two/manifest.jsonl"].splitlines()][-1]
    assert "+" in a.run("diff", "two", changed).stdout, "former versions are of the new name"


@BOTH
def test_a_rename_stores_the_new_name_before_the_old_one_is_gone(nodes, monkeypatch):
    a, b = nodes
    before = contents(a.output)

    def _put(owner: Owner, found: list[Any], *, is_end: bool = False) -> bool:
        if owner.name == "two" and found:
            raise StoreError("There is no room.")
        return put(owner, found, is_end=is_end)

    put = Owner._put
    with monkeypatch.context() as patched:
        patched.setattr(Owner, "_put", _put)
        ran = here("sources", "rename", "one", "two", *b.options())
    assert ran.returncode == 1
    advice = "`scrapy harvest two` stores it, then `scrapy sources purge one` removes that"
    assert ran.stderr == f"There is no room. [one] is [two] here; the store has its old name still: {advice}.\n"
    assert a.stored() == before, "nothing is lost"
    for words in (("harvest", "two"), ("sources", "purge", "one", "--yes")):  # what it said
        ran = b.run(*words)
        assert ran.returncode == 0, ran.stderr
    assert {name.partition("/")[0] for name in a.stored()} == {"two"}
    assert a.run("jobs").returncode == 0
    assert contents(a.output) == contents(b.output)


def test_purge_on_one_machine_purges_on_all(nodes):
    a, b = nodes
    assert b.run("sources", "remove", "one").returncode == 0
    ran = b.run("sources", "purge", "one", "--yes")
    assert ran.returncode == 0, ran.stderr
    assert a.stored() == {}
    assert a.run("jobs").stdout == f"{a.output} has no runs yet.\n"
    assert contents(a.output) == {}


def test_versions_are_of_all_machines(node, portal):
    a, b = node("a"), node("b")
    site = portal(datasets=5)
    one = site.ids()[0]
    assert a.crawl(site).code == 0
    site.change(edit={one: {"title": "Streams"}})
    assert a.crawl(site).code == 0
    for words in (("history", "hdx", one), ("diff", "hdx", one), ("show", "hdx", one, "--at", "2099-01-01")):
        first, second = (machine.run(*words) for machine in (a, b))
        assert (first.returncode, first.stdout, first.stderr) == (0, second.stdout, second.stderr), words
    assert "    + Streams\n" in b.run("diff", "hdx", one).stdout
    changes = b.run("changes", "--status", "updated").stdout
    assert changes.endswith(f"  hdx  updated    {one}  Streams  title\n1 change: 1 updated\n")
    assert (b.run("versions", "prune", "--all", "--days", "1").stdout) == "hdx: 0 versions dropped, 0 B\n"


def _changed(made: Folder, identifier: str, time: str) -> None:
    """Replace a document, as a crawl at that time does."""
    file = f"datasets/{identifier}__a-name.json"
    before = (made.path / file).read_bytes()
    known = Known(file, hashlib.sha256(before).hexdigest(), len(before), None, "new", FIRST, "")
    with Versions.writing(made.path) as versions:
        key = ("dataset", identifier, "")
        versions.keep(key, known, before, replaced=time, run=SECOND, status="updated", fields=["text"])
    made.write(identifier, "newer", slug="a-name", run=SECOND)
    *others, last = (made.path / "manifest.jsonl").read_text().splitlines()
    told = [*others, json.dumps(json.loads(last) | {"time": time, "status": "updated"}), ""]
    (made.path / "manifest.jsonl").write_text("\n".join(told))


@BOTH
def test_versions_prune_prunes_the_store(output, address, tmp_path):
    _changed(Folder(output / "hdx"), "id3", "2020-01-01T00:00:00.000Z")
    scrapy("push", str(output), address)
    a = Node(tmp_path, address)
    tried = a.run("versions", "prune", "hdx", "--days", "3", "--dry-run")
    assert (tried.returncode, tried.stderr) == (0, "")
    assert tried.stdout.startswith("hdx: 1 version would be dropped, ")
    pruned = a.run("versions", "prune", "hdx", "--days", "3")
    assert (pruned.returncode, pruned.stderr) == (0, "")
    assert pruned.stdout.splitlines()[1:] == ["hdx: 1 version dropped from the store"]
    scrapy("pull", address, str(tmp_path / "pulled"))
    assert contents(tmp_path / "pulled") == contents(output), "the lines stay, and the documents as they are"
    history = scrapy("history", "-s", f"OUTPUT_DIR={tmp_path / 'pulled'}", "hdx", "id3").stdout
    assert history.count("bytes not kept") == 1
    assert a.run("versions", "prune", "--all", "--days", "3").stdout.count(": 0 versions dropped, 0 B\n") == 2


def test_a_command_that_changes_a_folder_waits_for_its_crawl(node, portal):
    a, b = node("a"), node("b")
    site = portal(datasets=300)
    crawl = a.begin(site, REQUESTS_PER_SECOND="40", OUTPUT_STORE_INTERVAL="0.2")
    until(lambda: a.has_stored(1), unless=lambda: crawl.poll() is not None)
    ran = b.run("compact", "hdx", OUTPUT_LEASE="60")  # a crawl of a busy machine is not taken for dead
    waits, why = ran.stderr.splitlines()
    assert (ran.returncode, waits.endswith(" seconds for a sign of life.")) == (1, True)
    assert why.startswith("[hdx] is taken by ")
    crawl.kill()
    crawl.communicate()


@BOTH
def test_a_harvest_that_forks_its_crawls_stores_them(node, portal):
    """What forks has opened no table: the engine's threads are in no fork."""
    a = node("a")
    tables = [f'[{name}]\nspider = "hdx"\narguments = {{portal = "{portal(datasets=3).url}"}}\n' for name in "abc"]
    (a.folder / "sources.toml").write_text("".join(tables))
    for _ in range(2):
        ran = a.run("harvest", "--all", "--parallel", "2")
        assert (ran.returncode, ran.stderr) == (0, "")
    stored = a.stored()
    assert stored == contents(a.output)
    assert len([file for file in stored if "/runs/" in file]) == 6


@BOTH
def test_attach_on_one_machine_attaches_on_all(nodes):
    a, b = nodes
    ids = sorted(json.loads(body)["id"] for name, body in a.stored().items() if "/datasets/" in name)
    (b.folder / "ids.csv").write_text(f"local,remote\n{ids[0]},new-id\n")
    assert b.run("sources", "attach", "one", str(b.folder / "ids.csv")).returncode == 0
    assert a.run("verify", "one").returncode == 0
    assert contents(a.output) == contents(b.output)
    assert any("datasets/new-id" in name for name in a.stored())


def test_the_dashboard_shows_what_other_machines_store(nodes, portal, monkeypatch):
    a, b = nodes
    command = [sys.executable, "-W", "error", "-m", "scrapy", "dashboard", "--port", "0", *b.options()]
    dashboard = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        url = dashboard.stdout.readline().split()[0]
        assert _page(f"{url}runs").count("complete") > 0
        runs = len(list((b.output / "one" / "runs").iterdir()))
        assert a.run("harvest", "one").returncode == 0
        last = max(path.stem for path in (a.output / "one" / "runs").iterdir())
        until(lambda: last in _page(f"{url}runs"), unless=lambda: dashboard.poll() is not None)
        assert len(list((b.output / "one" / "runs").iterdir())) == runs + 1
    finally:
        dashboard.terminate()
        dashboard.communicate()


def _page(url: str) -> str:
    return urllib.request.build_opener(urllib.request.ProxyHandler({})).open(url, timeout=60).read().decode()


def test_a_harvest_that_could_not_start_is_seen_on_all_machines(node):
    a, b = node("a"), node("b")
    (a.folder / "sources.toml").write_text('[bad]\nspider = "html"\narguments = {rules = "missing.toml"}\n')
    assert a.run("harvest", "bad").returncode == 1
    shown = b.run("jobs")
    assert (shown.stdout.count(" failed "), "not started: " in shown.stdout) == (1, True)


def test_scrapyd_nodes_have_no_store(node):
    a = node("a")
    (a.folder / "sources.toml").write_text('[one]\nspider = "hdx"\n')
    ran = a.run("harvest", "one", "--scrapyd", "http://127.0.0.1:9")
    sentence = "Scrapyd nodes share a folder, and OUTPUT_DIR is a store: take --queue for several nodes.\n"
    assert (ran.returncode, ran.stdout, ran.stderr) == (1, "", sentence)


def test_an_archive_in_a_folder_is_of_one_machine(node, portal):
    a, b = node("a"), node("b")
    assert a.crawl(portal(datasets=1)).code == 0
    ran = b.run("crawl", "archive", "-a", "of=hdx", ARCHIVE_STORE=str(b.folder / "blobs"))
    assert ran.returncode in (0, 3), ran.stderr
    assert "ARCHIVE_STORE is a folder of this machine: other machines will lack these files." in ran.stderr


def test_an_archive_is_of_all_machines(node, portal, seaweed):
    bucket = f"blobs-{next(NUMBERS)}-{os.getpid()}"
    seaweed.make_bucket(bucket)
    a, b = node("a", ARCHIVE_STORE=f"s3://{bucket}/x"), node("b", ARCHIVE_STORE=f"s3://{bucket}/x")
    site = portal(datasets=3)
    assert a.crawl(site).code == 0
    ran = b.run("crawl", "archive", "-a", "of=hdx")
    assert ran.returncode in (0, 3), ran.stderr
    assert "archive-of-hdx/captures.jsonl" in a.stored()
    status = a.run("archive", "status", "--json")
    assert status.returncode == 0, status.stderr
    assert contents(a.output) == contents(b.output)
