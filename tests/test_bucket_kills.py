"""Kills -9 at the borders of what brings a folder and a store together: whoever does the same again has lost nothing.

A border lies before each call that changes the disk, the state or the table; in S3, on both sides of each request that
changes something, where the engine is between its file and its commit.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from itertools import count
from pathlib import Path
from typing import NamedTuple, Self

import pytest
from deltalake import DeltaTable

from crawlers.store.contract import LINES
from crawlers.store.location import opened
from crawlers.store.versions import Versions
from tests.buckets import Folder, contents
from tests.conftest import ROOT
from tests.seaweed import Faults, seaweed
from tests.waiting import HANG, until

__all__ = ["seaweed"]
FIRST, SECOND = "20261120T030000Z", "20261121T030000Z"

COMMITTED = -1
"""The border after a commit, before the state says so."""
ALL = -2
"""No border: all of them are told."""
WORKER = '''
import gc, json, os, signal, sys, traceback
from pathlib import Path
from crawlers.fleet.store import owner, table
from crawlers.store import lines
from crawlers.store.location import opened

owner.MOST = 6  # several batches
table._MOST = 8  # and windows
table._KEPT = 0  # old files go at once
table._CONFIGURATION["delta.deletedFileRetentionDuration"] = "interval 0 seconds"

CHANGES = {"write", "truncate", "fsync", "replace", "rename", "unlink", "mkdir", "rmdir", "FileIO.write",
    "BufferedWriter.write", "BufferedWriter.flush", "FileIO.truncate", "Connection.executescript",
    "Connection.executemany", "write_to_deltalake", "put", "RawDeltaTable.compact_optimize", "RawDeltaTable.vacuum",
    "RawDeltaTable.create_checkpoint", "RawDeltaTable.update"}
COMMITTED = -1
READS = {"fact", "end", "subject", "subjects", "files", "__init__", "known", "_base", "_body", "_check"}

def place(frame):
    """Return where this project changes something."""
    while "/crawlers/" not in frame.f_code.co_filename:
        frame = frame.f_back
    return f"{Path(frame.f_code.co_filename).stem}.{frame.f_code.co_name}:{frame.f_lineno}"

def dies(left):
    """Tell each change before it is made, and let this process be killed before one, or after a commit."""
    def look(frame, event, called):
        nonlocal left
        name = getattr(called, "__qualname__", "")
        if left == COMMITTED and (event, name) == ("c_return", "write_to_deltalake"):
            os.kill(os.getpid(), signal.SIGKILL)
        changes = name in CHANGES or (name == "Connection.execute" and frame.f_code.co_name not in READS)
        if event == "c_call" and changes:
            os.write(told, f"{name} in {place(frame)}\\n".encode())
            left -= left > 0
            if left == 0:
                os.kill(os.getpid(), signal.SIGKILL)
    sys.setprofile(look)

def work(what, address, folder):
    here = opened(address, Path(folder), keeps=what in ("push", "pull"))
    here.check(creates=what != "pull")
    if what == "pull":
        here.pull("hdx")
    elif what == "refresh":
        here.refresh()
    else:
        with here.own("hdx") as taken:
            if what == "tidy":
                taken.store(is_end=True)
                taken.tidy()
            if what == "compact":
                for file in lines.FILES:
                    lines.compact(here.folder / "hdx", file)
                taken.tidy()

gc.collect()
gc.freeze()  # else a fork copies what it only counts
for line in sys.stdin:
    number, *words = line.split()
    heard, told = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            if int(number):
                dies(int(number))
            work(*words)
        except BaseException:
            traceback.print_exc()
            os._exit(1)
        os._exit(0)
    print(child, flush=True)
    os.close(told)
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    print(code, json.dumps(os.read(heard, 1 << 16).decode().splitlines()), flush=True)
    os.close(heard)
'''


class Ended(NamedTuple):
    """How a fork ended: its exit code, and the borders to which it came."""

    code: int
    borders: list[str]


class Worker:
    """A process that has imported the store, and works in forks of itself.

    Attributes:
        child: the fork that works.
    """

    def __init__(self) -> None:
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
        self.process = subprocess.Popen([sys.executable, "-c", WORKER], cwd=ROOT, text=True, **pipes)
        self.child = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.process.stdin.close()
        self.process.wait(HANG)
        self.process.stdout.close()

    def work(self, what: str, address: str, folder: Path, border: int = 0) -> Ended:
        """Push, pull, refresh or compact; be killed at a border, if one is named and reached."""
        self.child = 0
        self.process.stdin.write(f"{border} {what} {address} {folder}\n")
        self.process.stdin.flush()
        self.child = int(self.process.stdout.readline())
        code, _, told = self.process.stdout.readline().rstrip("\n").partition(" ")
        assert int(code) in (0, -signal.SIGKILL), (what, border)
        return Ended(int(code), json.loads(told))


@pytest.fixture(scope="module")
def worker() -> Iterator[Worker]:
    with Worker() as made:
        yield made


# What is there before, and after


def crawl(folder: Path, run: str = FIRST) -> None:
    """Leave what a crawl of some datasets leaves; the second one changes, renames, removes and adds."""
    made = Folder(folder / "hdx")
    for number in range(9):
        made.write(f"id{number}", run if number < 3 else "", slug="a-name", run=run)
    if run == SECOND:
        (made.path / "datasets" / "id4__a-name.json").unlink()
        made.write("id4", slug="new-name", run=run)
        (made.path / "runs" / f"{FIRST}.json").unlink()
    made.write(f"only-{run}", run=run)
    for file in LINES[1:]:
        made.append(file, {"run": run})
    made.report(run)
    series = made.path / "timeseries" / "2026.csv"
    series.parent.mkdir(exist_ok=True)
    with series.open("a") as rows:
        rows.write(f"{run}\n")


def start(worker: Worker, address: str, root: Path, what: str) -> str:
    """Make the folder and the store in which something begins; return the command that is killed then."""
    folder = root / "folder"
    crawl(folder)
    if what == "settle":
        assert worker.work("push", address, folder, COMMITTED).code
    if what in ("push", "settle"):
        return "push"
    worker.work("push", address, folder)
    if what == "compact":
        crawl(folder, SECOND)
        worker.work("push", address, folder)
        return "compact"
    if what == "pull":
        shutil.rmtree(folder)
        return "pull"
    command = "pull" if what == "pull on" else "refresh"
    folder.rename(root / "other")
    worker.work(command, address, folder)
    crawl(root / "other", SECOND)
    worker.work("push", address, root / "other")
    if what == "anew":
        Folder(folder / "hdx").write("mine", run=SECOND)
    return command


def found(address: str, root: Path) -> tuple[object, ...]:
    """Return what a folder and a store have: files, former versions, rows; and what another machine pulls."""
    folder, copy = root / "folder", root / "copy"
    shutil.rmtree(copy, ignore_errors=True)
    opened(address, copy, keeps=True).pull("hdx")
    table = DeltaTable(f"{address}/hdx").to_pyarrow_table().to_pylist()
    rows = Counter(
        (row["part"], row["file"], row["offset"], row["line"], row["sha256"]) for row in table if row["part"] != "run"
    )
    (known,) = (folder / ".mirror").iterdir()
    mine = {path.name for path in known.rglob("*") if path.is_file() and not path.name.endswith(("-wal", "-shm"))}
    return contents(folder), contents(copy), [_versions(one / "hdx") for one in (folder, copy)], rows, mine


def _versions(folder: Path) -> list[tuple[object, ...]]:
    with Versions.reading(folder) as kept:
        query = "SELECT dataset_id, sha256, run, replaced_by, status FROM versions ORDER BY 1, 2, 3, 4"
        return [(*row, kept.body(row[1])) for row in kept.db.execute(query)] if kept.db else []


# Kills


KILLS = {"push": 19, "pull": 13, "pull on": 20, "follow": 20, "settle": 15, "compact": 20, "anew": 30}
"""At least so many borders has each; `pull on` and `follow` are those of a folder that has a part already."""
assert sum(KILLS.values()) > 130


class Killed:
    """Something that is begun anew, killed at a border, done again and compared with what no kill leaves.

    Attributes:
        borders: all to which it comes.
    """

    def __init__(self, worker: Worker, root: Path, what: str) -> None:
        self.worker = worker
        self.root, self.before = root / "now", root / "before"
        self.address = (self.root / "store").as_uri()
        self.what = what
        self.command = start(worker, self.address, self.root, what)
        shutil.copytree(self.root, self.before)
        self.borders = self._work(ALL).borders
        self.expected = found(self.address, self.root)

    def _work(self, border: int = 0) -> Ended:
        return self.worker.work(self.command, self.address, self.root / "folder", border)

    def kill(self, border: int) -> None:
        """Kill it at a border."""
        shutil.rmtree(self.root)
        shutil.copytree(self.before, self.root)
        ended = self._work(border)
        assert ended.code, "it has come to its end"
        assert ended.borders == self.borders[:border]
        assert self._work().code == 0
        for now, expected in zip(found(self.address, self.root), self.expected, strict=True):
            assert now == expected, (self.what, border, ended.borders[-1])


@pytest.mark.parametrize("what", KILLS)
def test_a_kill(worker, tmp_path, what):
    killed = Killed(worker, tmp_path, what)
    killed.kill(len(killed.borders) // 2)


@pytest.mark.slow
@pytest.mark.parametrize("what", KILLS)
def test_a_kill_at_every_border(worker, tmp_path, what):
    """At each place that changes something, when it does so for the first time; of short ones for the last, too."""
    killed = Killed(worker, tmp_path, what)
    numbered = [*enumerate(killed.borders, 1)]
    first = {border: number for number, border in reversed(numbered)}
    last = {border: number for number, border in numbered if len(numbered) <= 50}
    wanted = sorted({*first.values(), *last.values()})
    assert len(wanted) >= KILLS[what]
    for border in wanted:
        killed.kill(border)


@pytest.mark.slow
def test_kills_around_every_request_to_a_bucket(seaweed, tmp_path):
    """Before it goes on and before its answer, while a folder that changes is stored and its table kept small."""
    folder, twin = tmp_path / "folder", tmp_path / "twin"
    killed, ever = list[str](), set[str]()
    seaweed.make_bucket("kills")
    os.environ |= seaweed.environment
    with Faults(seaweed.url) as proxy:
        os.environ["AWS_ENDPOINT_URL"] = proxy.url
        with Worker() as worker:
            os.environ |= seaweed.environment  # others ask past the proxy
            for border in count(1):
                left = [border]

                def seen(line: str, left: list[int] = left) -> None:
                    if line.startswith("GET "):
                        return
                    left[0] -= 1
                    if not left[0]:
                        until(lambda: worker.child)
                        os.kill(worker.child, signal.SIGKILL)
                        killed.append(line)

                for path in (folder, twin):
                    _change(path / "hdx", border)
                ever |= contents(twin).keys()
                if border % 10 == 7:
                    other = opened("s3://kills/x", tmp_path / f"seen{border}")
                    other.refresh()
                    assert contents(other.folder).keys() <= ever
                proxy.seen = seen
                if not worker.work("tidy", "s3://kills/x", folder).code:
                    break
            proxy.seen = lambda _: None
            worker.work("own", "s3://kills/x", folder)
    assert len(killed) > 20
    for what in ("/catalogue-crawlers.json", "zstd.parquet", "0.json", "checkpoint.parquet", "_checkpoint", "?delete"):
        assert any(f"{what} HTTP" in line for line in killed)
    copy = opened("s3://kills/x", tmp_path / "copy", keeps=True)
    copy.pull("hdx")
    assert contents(copy.folder) == contents(folder) == contents(twin)


def _change(path: Path, number: int) -> None:
    """Change a document by as many bytes as it has, rename another one, and add to a report and a time series."""
    made, series = Folder(path), path / "timeseries" / "2026.csv"
    made.write(f"id{number % 7}", f"new {number:04}", slug="a-name", run=SECOND)
    for renamed in (path / "datasets").glob(f"id{number % 5 + 10}__*"):
        renamed.unlink()
    made.write(f"id{number % 5 + 10}", slug=f"name-{number}", run=SECOND)
    made.report(FIRST, listed=number)
    series.parent.mkdir(exist_ok=True)
    with series.open("a") as rows:
        rows.write(f"{number}\n")
