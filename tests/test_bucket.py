"""Output in a store: its log, its leases, its packs, and mirrors of it; without crawls, the store in memory."""

from __future__ import annotations

import json
import os
import shutil
import sys
import threading
import time
from itertools import pairwise
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING
from unittest.mock import Mock

import obstore
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from obstore.store import MemoryStore
from scrapy.settings import BaseSettings

from crawlers.exceptions import OutputError, StoreError, StoreUnreachableError, TakenError
from crawlers.operate.harvest.job import job
from crawlers.operate.sources.source import Source
from crawlers.safety import inside
from crawlers.store import lines, location
from crawlers.store.bucket import changes, packs, summary
from crawlers.store.bucket import lease as leases
from crawlers.store.bucket.documents import Documents
from crawlers.store.bucket.log import Log
from crawlers.store.bucket.mirror import Mirror
from crawlers.store.bucket.objects import Objects
from crawlers.store.bucket.packs import Row, packed, unpacked
from crawlers.store.bucket.plain import may_push, pull
from crawlers.store.bucket.shelf import Shelf
from crawlers.store.location import bring_up, folder_name, resolve
from tests.buckets import ADDRESS, Folder, contents, documents, mirror

if TYPE_CHECKING:
    from collections.abc import Callable

    from crawlers.store.bucket.log import Commit, Logged
    from crawlers.store.bucket.owner import Owner

FIRST, SECOND, THIRD = (f"20261120T03000{number}Z" for number in range(3))


@pytest.fixture
def store() -> MemoryStore:
    return MemoryStore()


@pytest.fixture
def one(tmp_path: Path, store: MemoryStore) -> Mirror:
    return mirror(tmp_path / "one", store)


@pytest.fixture
def two(tmp_path: Path, store: MemoryStore) -> Mirror:
    return mirror(tmp_path / "two", store)


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is waited for takes milliseconds."""
    monkeypatch.setattr(leases, "_LOOK", 0.01)
    monkeypatch.setattr(leases, "_GRACE", 0.0)
    monkeypatch.setattr(leases, "_TRIES", 3)


def folder(mirror: Mirror, source: str = "hdx") -> Folder:
    return Folder(mirror.folder / source)


def names(store: MemoryStore, below: str = "") -> list[str]:
    return [entry.name for entry in Objects(store, ADDRESS).entries(below)]


def harvest(mirror: Mirror, number: int, *, run: str = FIRST, text: str = "") -> None:
    """Do as a crawl of some datasets does."""
    with mirror.own("hdx"):
        for identifier in range(number):
            folder(mirror).write(f"id{identifier:05d}", text, run=run)
        folder(mirror).append("errors.jsonl", {"run": run})
        folder(mirror).append("flaws.jsonl", {"run": run})
        folder(mirror).report(run)


# What is stored


def test_what_one_stores_another_reads(one, two):
    harvest(one, 2500)
    assert two.refresh() == ["hdx"]
    assert contents(two.folder) == contents(one.folder)
    assert len(contents(two.folder)) == 2504
    assert two.refresh() == []


@pytest.mark.slow
def test_documents_are_in_packs_of_a_thousand(one, store):
    harvest(one, 2500)
    bodies = [bytes(obstore.get(store, name).bytes()) for name in names(store, "sources/hdx/packs")]
    tables = [pq.read_table(pa.BufferReader(body)) for body in bodies]
    assert sorted(table.num_rows for table in tables) == [500, 1000, 1000]
    assert tables[0].schema.names == ["kind", "dataset_id", "resource_id", "file", "sha256", "bytes", "content"]
    assert {pq.ParquetFile(pa.BufferReader(body)).metadata.row_group(0).column(6).compression for body in bodies} == {
        "ZSTD"
    }
    ids = [table.column("dataset_id").to_pylist() for table in tables]
    assert all(found == sorted(found) for found in ids), "readers find an id by the statistics of the pages"


def test_lines_are_segments_and_reports_are_objects(one, store):
    harvest(one, 3)
    parts = [name.split("/") for name in names(store, "sources/hdx")]
    assert sorted({part[2] for part in parts}) == ["files", "log", "packs", "segments"]
    assert sorted(part[3].partition("-")[0] for part in parts if part[2] == "segments") == [
        "errors",
        "flaws",
        "manifest",
    ]
    assert [part[4:] for part in parts if part[2] == "files"] == [["runs", f"{FIRST}.json"]]


def test_a_run_without_news_stores_its_report_alone(one, two, store):
    harvest(one, 3)
    before = set(names(store))
    with one.own("hdx"):
        folder(one).report(SECOND)
    new = sorted(set(names(store)) - before)
    assert [name.split("/")[2] for name in new] == ["files", "log", "log"]
    two.refresh()
    assert contents(two.folder) == contents(one.folder)


def test_a_document_that_has_another_name_now(one, two):
    harvest(one, 3)
    two.refresh()
    with two.own("hdx"):
        (two.folder / "hdx" / "datasets" / "id00001.json").unlink()
        folder(two).write("id00001", slug="new-name", run=SECOND)
    one.refresh()
    assert sorted(path.name for path in (one.folder / "hdx" / "datasets").iterdir()) == [
        "id00000.json",
        "id00001__new-name.json",
        "id00002.json",
    ]
    assert contents(two.folder) == contents(one.folder)


def test_a_document_that_is_missing_here_is_not_removed_there(one, two):
    harvest(one, 3)
    (one.folder / "hdx" / "datasets" / "id00001.json").unlink()
    with one.own("hdx"):
        pass
    two.refresh()
    assert "hdx/datasets/id00001.json" in contents(two.folder)


def test_old_reports_that_are_removed_are_removed_everywhere(one, two):
    harvest(one, 1)
    harvest(one, 1, run=SECOND, text="new")
    two.refresh()
    (one.folder / "hdx" / "runs" / f"{FIRST}.json").unlink()
    with one.own("hdx"):
        pass
    two.refresh()
    assert sorted(path.stem for path in (two.folder / "hdx" / "runs").iterdir()) == [SECOND]


@pytest.mark.parametrize("name", ["timeseries/2026.csv", "memory.json"])
def test_a_file_that_is_rewritten(one, two, name):
    harvest(one, 1)
    file = one.folder / "hdx" / name
    file.parent.mkdir(exist_ok=True)
    for text in ("day\r\n", "day\r\n2026-11-20\r\n"):
        with one.own("hdx"):
            file.write_text(text, newline="")
        two.refresh()
        assert contents(two.folder) == contents(one.folder)


def test_a_line_that_is_being_written_waits(one, two):
    with one.own("hdx") as owner:
        file = folder(one).write("a")
        with (one.folder / "hdx" / "manifest.jsonl").open("ab") as lines:
            lines.write(b'{"kind": "dataset", "dataset_id": "b"')
        owner.store()
        two.refresh()
        assert (two.folder / "hdx" / "manifest.jsonl").read_bytes().count(b"\n") == 1
        assert (two.folder / "hdx" / file).exists()
        with (one.folder / "hdx" / "manifest.jsonl").open("ab") as lines:
            lines.write(b"}\n")
    two.refresh()
    assert contents(two.folder) == contents(one.folder)


def test_compacted_lines_are_compacted_everywhere(one, two, tmp_path, store):
    harvest(one, 30)
    harvest(one, 30, run=SECOND, text="new")
    two.refresh()
    with one.own("hdx"):
        for file in lines.FILES:
            assert lines.compact(one.folder / "hdx", file)
    two.refresh()
    assert contents(two.folder) == contents(one.folder)
    assert f"hdx/manifest-{FIRST}.jsonl.zst" in contents(two.folder)
    harvest(two, 30, run=THIRD, text="newer")
    one.refresh()
    three = mirror(tmp_path / "three", store)
    three.refresh()
    assert contents(three.folder) == contents(two.folder) == contents(one.folder)


def test_what_is_not_of_a_source_stays_here(one, two):
    harvest(one, 1)
    for name in ("notes.txt", "running.json", "publish.sqlite", "datasets/.hidden.json", "datasets/x.html"):
        (one.folder / "hdx" / name).write_text("mine")
    (one.folder / "hdx" / "datasets" / "link.json").symlink_to("/etc/passwd")
    with one.own("hdx"):
        pass
    two.refresh()
    kept = {"datasets/id00000.json", "errors.jsonl", "flaws.jsonl", "manifest.jsonl", f"runs/{FIRST}.json"}
    assert set(contents(two.folder / "hdx")) == kept


def test_an_empty_file_is_a_file(one, two):
    with one.own("hdx"):
        folder(one).write("a")
        (one.folder / "hdx" / "errors.jsonl").touch()
    two.refresh()
    assert contents(two.folder)["hdx/errors.jsonl"] == b""


def test_a_source_that_is_removed_is_removed_everywhere(one, two, tmp_path, store):
    harvest(one, 3)
    two.refresh()
    with one.own("hdx") as owner:
        owner.empty()
    assert two.refresh() == ["hdx"]
    assert not (one.folder / "hdx").exists()
    assert not (two.folder / "hdx").exists()
    three = mirror(tmp_path / "three", store)
    three.refresh()
    assert contents(three.folder) == {}
    harvest(two, 2, run=SECOND)
    three.refresh()
    assert contents(three.folder) == contents(two.folder)


def test_a_source_that_is_removed_and_crawled_again_is_read_by_all(one, two, tmp_path, store):
    harvest(one, 3)
    two.refresh()
    with one.own("hdx") as owner:
        owner.empty()
    harvest(one, 2, run=SECOND)
    three = mirror(tmp_path / "three", store)
    assert two.refresh() == three.refresh() == ["hdx"]
    assert contents(three.folder) == contents(two.folder) == contents(one.folder)
    assert len(documents(contents(three.folder))) == 2


def test_what_was_never_stored_of_a_source_that_is_removed_is_removed(one, two):
    harvest(one, 2)
    two.refresh()
    folder(one).write("new")
    folder(one).append("captures.jsonl", {"run": SECOND})
    folder(one).report(SECOND)
    with two.own("hdx") as owner:
        owner.empty()
    with one.own("hdx") as owner:
        assert owner.is_rebuilt
        assert not (one.folder / "hdx").exists()
    two.refresh()
    assert contents(two.folder) == contents(one.folder) == {}


@pytest.mark.slow
def test_a_compacted_manifest_of_many_lines_is_stored(one, two):
    harvest(one, 3)
    for number in range(2500):
        folder(one).write(f"new{number}", run=SECOND)
    assert lines.compact(one.folder / "hdx", "manifest.jsonl")
    with one.own("hdx"):
        pass
    two.refresh()
    assert contents(two.folder) == contents(one.folder)


def test_what_was_compacted_and_never_stored_is_undone_if_others_went_on(one, two, tmp_path, store):
    harvest(one, 3)
    harvest(one, 3, run=SECOND, text="new")
    two.refresh()
    for file in lines.FILES:
        assert lines.compact(two.folder / "hdx", file)
    with one.own("hdx"):
        folder(one).write("more", run=THIRD)
    two.refresh()
    assert contents(two.folder) == contents(one.folder)
    harvest(two, 4, run=THIRD, text="newer")
    one.refresh()
    three = mirror(tmp_path / "three", store)
    three.refresh()
    assert contents(three.folder) == contents(two.folder) == contents(one.folder)


def test_a_kill_before_what_was_never_stored_is_undone(one, two, monkeypatch):
    harvest(one, 3)
    harvest(one, 3, run=SECOND, text="new")
    two.refresh()
    assert lines.compact(two.folder / "hdx", "manifest.jsonl")
    folder(two).write("mine", run=THIRD)
    with one.own("hdx"):
        folder(one).write("more", run=THIRD)
    with monkeypatch.context() as patched:
        patched.setattr(Documents, "restore", lambda _: sys.exit())
        with pytest.raises(SystemExit):
            two.refresh()
    with two.own("hdx"):
        assert contents(two.folder) == contents(one.folder)
    one.refresh()
    assert contents(two.folder) == contents(one.folder)


def test_a_part_that_was_written_before_a_kill_is_undone_if_others_went_on(one, two):
    harvest(one, 3)
    harvest(one, 3, run=SECOND, text="new")
    two.refresh()
    manifest = two.folder / "hdx" / "manifest.jsonl"
    content = manifest.read_bytes()
    assert lines.compact(two.folder / "hdx", manifest.name)
    manifest.write_bytes(content)  # its lines were to be removed next
    with one.own("hdx"):
        folder(one).write("more", run=THIRD)
    two.refresh()
    assert contents(two.folder) == contents(one.folder)


def test_a_folder_that_is_lost_is_brought_again(one, two):
    harvest(one, 3)
    with one.own("never-listed"):
        folder(one, "never-listed").path.mkdir()
        folder(one, "never-listed").report(FIRST)
    two.refresh()
    shutil.rmtree(two.folder / "hdx")
    shutil.rmtree(two.folder / "never-listed")
    assert two.refresh() == ["hdx", "never-listed"]
    assert contents(two.folder) == contents(one.folder)
    assert two.refresh() == []


def test_documents_that_are_lost_are_brought_again(one, two):
    harvest(one, 3)
    two.refresh()
    shutil.rmtree(two.folder / "hdx" / "datasets")
    (two.folder / "hdx" / "runs" / f"{FIRST}.json").unlink()
    with two.free("hdx") as replay:
        replay.bring_lost()
    assert contents(two.folder) == contents(one.folder)


# A long log


@pytest.mark.slow
def test_a_long_log_is_summed_up(one, two, tmp_path, store):
    for number in range(40):
        run = f"20261121T0300{number:02d}Z"
        with (one, two)[number % 2].own("hdx"):
            here = folder((one, two)[number % 2])
            here.write(f"id{number % 7:05d}", f"version {number}", run=run)
            if number % 5 == 0:
                here.write(f"more{number}", run=run)
            here.report(run)
    assert [name for name in names(store, "sources/hdx/log") if name.endswith(".whole")]
    one.refresh()
    asked = []
    three = mirror(tmp_path / "three", store)
    get = obstore.get
    three.objects.store = store
    try:
        obstore.get = lambda *words: asked.append(words[1]) or get(*words)
        three.refresh()
    finally:
        obstore.get = get
    assert contents(three.folder) == contents(one.folder)
    assert len(asked) <= 2 * summary.COMMITS, "not one for each of the commits and of what they name"
    two.refresh()
    assert contents(two.folder) == contents(one.folder)


def test_old_objects_are_removed_after_a_day(one, two, tmp_path, store):
    for number in range(4):
        harvest(one, 3, run=f"20261121T0300{number:02d}Z", text=str(number))
    two.refresh()
    harvest(one, 3, run=SECOND, text="last")
    with one.own("hdx") as owner:
        assert owner.sum_up() == 0, "what is young stays: a reader may be on its way"
        assert owner.sum_up(kept=-10) > 10
    assert len(names(store, "sources/hdx/packs")) == 1
    assert len(names(store, "sources/hdx/log")) == 2
    two.refresh()
    three = mirror(tmp_path / "three", store)
    three.refresh()
    assert contents(three.folder) == contents(two.folder) == contents(one.folder)


def test_full_packs_are_not_packed_again(one, store):
    harvest(one, 1200)
    before = set(names(store, "sources/hdx/packs"))
    with one.own("hdx") as owner:
        folder(one).write("id00000", "new")
        owner.store(is_end=True)
        owner.sum_up(kept=-10)
    after = set(names(store, "sources/hdx/packs"))
    assert (len(before), len(before & after), len(after)) == (2, 1, 2)


def test_a_file_that_went_out_of_a_full_pack_stays_away(one, tmp_path, store):
    harvest(one, 600)
    with one.own("hdx") as owner:
        (one.folder / "hdx" / "datasets" / "id00007.json").unlink()
        folder(one).write("id00007", slug="other")
        owner.store(is_end=True)
        owner.sum_up(kept=-10)
        (one.folder / "hdx" / "datasets" / "id00007__other.json").unlink()
        folder(one).write("id00007", slug="third")
        owner.store(is_end=True)
        owner.sum_up(kept=-10)
    three = mirror(tmp_path / "three", store)
    three.refresh()
    assert contents(three.folder) == contents(one.folder)


def test_a_reader_whose_objects_are_removed_looks_again(one, two, store, monkeypatch):
    for number in range(3):
        harvest(one, 2, run=f"20261121T0300{number:02d}Z", text=str(number))
    read, done = Log.read, []

    def cleaned(self: Log, number: int):
        found = read(self, number)
        if not done:
            done.append(number)
            with one.own("hdx") as owner:
                owner.sum_up(kept=-10)
        return found

    monkeypatch.setattr(Log, "read", cleaned)
    two.refresh()
    assert contents(two.folder) == contents(one.folder)


def test_segments_are_merged_so_that_there_are_few(one):
    for number in range(60):
        with one.own("hdx"):
            folder(one).write(f"id{number}", run=f"20261121T0300{number:02d}Z")
    with one.own("hdx") as owner:
        owner.sum_up()
        lengths = [segment.length for segment in owner.replay.lines.growing.segments("manifest.jsonl")]
    assert len(lengths) < 8
    assert all(before >= 2 * after for before, after in pairwise(lengths))


# Owners


def test_a_source_has_one_owner(one, two):
    with one.own("hdx"):
        renewing = threading.Thread(target=renewed, args=(one, stopped := threading.Event()), daemon=True)
        renewing.start()
        with pytest.raises(TakenError, match=r"^\[hdx\] is taken by .+: wait for it to end\.$"):
            two.own("hdx")
        stopped.set()
        renewing.join()
        two.own("other").close()


def renewed(mirror: Mirror, stopped: threading.Event) -> None:
    """Change a lease as its owner's renewals do."""
    while not stopped.wait(0.01):
        found = leases.read(mirror.objects, "leases/hdx.json")
        assert found is not None
        body = json.loads(found[1].body) | {"beat": time.monotonic_ns()}
        mirror.objects.replace("leases/hdx.json", json.dumps(body).encode(), found[1].tag)


def test_a_source_has_one_owner_on_one_machine(one):
    with one.own("hdx"):
        with pytest.raises(TakenError, match=r"^\[hdx\] is used by another process of this machine"):
            mirror(one.folder, one.objects.store).own("hdx")
        assert one.refresh() == [], "its own crawl keeps it up to date"


def test_a_lease_that_is_not_renewed_expires(one, two, tmp_path, store):
    one.seconds = 0.2
    late = one.own("hdx")
    folder(one).write("a")
    late.store()
    fence = late.lease.fence
    with two.own("hdx") as owner:
        assert owner.lease.fence == fence + 1
        assert not late.lease.is_held
        folder(two).write("b")
    late.close()
    three = mirror(tmp_path / "three", store)
    three.refresh()
    assert contents(three.folder) == contents(two.folder)


def test_an_expired_lease_is_taken_at_once_if_the_server_says_its_time(one, two):
    late = one.own("hdx")
    found = leases.read(one.objects, "leases/hdx.json")
    two.offset = found[1].modified + 61 - leases.clock()
    begun = time.monotonic()
    two.own("hdx").close()
    assert time.monotonic() - begun < 5
    late.close()


def test_the_late_writes_of_an_owner_are_refused(one, two, tmp_path, store):
    one.seconds = 0.1
    late = one.own("hdx")
    folder(one).write("a")
    late.store()
    folder(one).write("late")
    with two.own("hdx"):
        folder(two).write("b")
    with pytest.raises(TakenError, match=r"^\[hdx\] was taken by .+ \(fence 2, ours is 1\): nothing more is stored"):
        late.store()
    with pytest.raises(TakenError, match=r"^\[hdx\] was taken by .+ meanwhile\.$"):
        late.lease.renew(9)
    late.reset()
    late.close()
    one.refresh()
    three = mirror(tmp_path / "three", store)
    three.refresh()
    assert contents(three.folder) == contents(two.folder) == contents(one.folder)
    assert sorted(path.stem for path in (three.folder / "hdx" / "datasets").iterdir()) == ["a", "b"]


@pytest.mark.slow
def test_a_late_writer_that_was_between_its_pack_and_its_commit(one, two, monkeypatch):
    one.seconds = 0.1
    late = one.own("hdx")
    folder(one).write("late")
    append = Log.append

    def paused(self: Log, commit):
        monkeypatch.undo()
        with two.own("hdx"):
            folder(two).write("b")
        return append(self, commit)

    monkeypatch.setattr(Log, "append", paused)
    with pytest.raises(TakenError):
        late.store()
    late.close()
    assert sorted(path.stem for path in (two.folder / "hdx" / "datasets").iterdir()) == ["b"]


def test_an_expired_lease_that_nobody_took_is_renewed(one):
    one.seconds = 0.05
    with one.own("hdx") as owner:
        time.sleep(0.1)
        assert not owner.lease.is_held
        owner.lease.seconds = 60
        owner.lease.renew(1)
        assert owner.lease.is_held


def test_a_lease_that_somebody_removed(one, two, store):
    """Its fence is above that of the log, so that others go on to read it; and the job of who had it last goes on."""
    for run in (FIRST, SECOND):
        harvest(one, 2, run=run)
    obstore.delete(store, "leases/hdx.json")
    with one.own("hdx") as owner:
        assert (owner.lease.fence, owner.is_rebuilt) == (3, False)
        folder(one).write("after")
    two.refresh()
    assert contents(two.folder) == contents(one.folder)
    obstore.delete(store, "leases/hdx.json")
    with two.own("hdx") as owner:
        assert (owner.lease.fence, owner.is_rebuilt) == (4, True)
    with one.own("hdx") as owner:
        assert (owner.lease.fence, owner.is_rebuilt) == (5, True)


def test_a_lease_that_somebody_removed_while_it_was_held(one, two, store):
    held = one.own("hdx")
    folder(one).write("a")
    held.store()
    obstore.delete(store, "leases/hdx.json")
    with two.own("hdx"):
        folder(two).write("b")
    folder(one).write("late")
    with pytest.raises(TakenError):
        held.lease.renew(9)
    with pytest.raises(TakenError):
        held.store()
    held.close()


@pytest.fixture
def copied(one, store, tmp_path) -> Mirror:
    """A copy of a mirror that has a source, as an image of its machine or rsync makes it."""
    one.own("hdx").close()  # it was killed
    shutil.copytree(one.folder, tmp_path / "copied")
    return mirror(tmp_path / "copied", store)


def test_a_copied_mirror_does_not_take_the_lease_of_the_other_one(one, copied):
    with one.own("hdx") as owner:
        renewing = threading.Thread(target=renewed, args=(one, stopped := threading.Event()), daemon=True)
        renewing.start()
        with pytest.raises(TakenError, match=r"^\[hdx\] is taken by .+: wait for it to end\.$"):
            copied.own("hdx")
        stopped.set()
        renewing.join()
        assert owner.lease.is_held


def test_a_copied_mirror_is_brought_up_to_what_the_other_one_stores(one, store, tmp_path):
    with one.own("hdx") as owner:
        folder(one).write("a")
        owner.store()
        shutil.copytree(one.folder, tmp_path / "copied")
        folder(one).write("b")
        folder(one).append("errors.jsonl", {"run": FIRST})
        owner.store()
    copied = mirror(tmp_path / "copied", store)
    copied.refresh()
    assert contents(copied.folder) == contents(one.folder)


def test_a_mirror_takes_its_own_lease_at_once_but_not_after_the_machine_was_started_again(one, copied, monkeypatch):
    told: list[str] = []
    one.objects.tell = copied.objects.tell = told.append
    one.seconds = copied.seconds = 0.2
    one.own("hdx").close()
    assert told == [], "it has the same lock file, so the process that had it has ended"
    copied.own("hdx").close()
    assert len(told) == 1
    monkeypatch.setattr(leases, "identity", lambda _: "another boot")
    copied.own("hdx").close()
    assert len(told) == 2


def test_where_machines_do_not_say_when_they_started_a_lease_is_waited_for(one, monkeypatch):
    monkeypatch.setattr(leases, "identity", lambda _: "")
    told: list[str] = []
    one.objects.tell, one.seconds = told.append, 0.2
    one.own("hdx").close()
    one.own("hdx").close()
    assert len(told) == 1


def test_what_is_waited_for_is_told(one, two):
    told: list[str] = []
    two.objects.tell, one.seconds = told.append, 0.5
    one.own("hdx").close()  # it was killed
    two.own("hdx").close()
    node = os.uname().nodename
    assert told == [f"[hdx] is taken by {node}: waiting at most 1 seconds for its lease to expire."]


def test_what_a_crawl_had_not_stored_is_stored_when_its_machine_is_back(one, two):
    late = one.own("hdx")
    folder(one).write("a")
    late.store()
    folder(one).write("b")
    late.close()  # it was killed
    with one.own("hdx") as owner:
        assert not owner.is_rebuilt
    two.refresh()
    assert contents(two.folder) == contents(one.folder)
    assert len(list((two.folder / "hdx" / "datasets").iterdir())) == 2


def test_what_a_crawl_had_not_stored_is_undone_if_others_went_on(one, two):
    one.seconds = 0.1
    late = one.own("hdx")
    folder(one).write("a", "first")
    folder(one).write("c", "first")
    late.store()
    folder(one).write("b")
    folder(one).write("a", "second")
    folder(one).report(FIRST)
    late.close()
    with two.own("hdx"):
        folder(two).write("d")
    with one.own("hdx") as owner:
        assert owner.is_rebuilt
        assert contents(one.folder) == contents(two.folder)


def test_an_owner_that_stored_nothing_undoes_nothing(one, two):
    one.seconds = 0.1
    late = one.own("hdx")
    folder(one).write("a")
    late.close()
    with two.own("hdx"):
        pass
    with one.own("hdx") as owner:
        assert owner.is_rebuilt, "its job may not go on: others had the source"
    two.refresh()
    assert contents(two.folder) == contents(one.folder)
    assert (two.folder / "hdx" / "datasets" / "a.json").exists()


def test_a_folder_that_somebody_emptied_is_brought_again(one, two):
    harvest(one, 5)
    for path in ("manifest.jsonl", "datasets/id00003.json"):
        (one.folder / "hdx" / path).unlink()
    with one.own("hdx") as owner:
        assert owner.is_rebuilt
    two.refresh()
    assert contents(two.folder) == contents(one.folder)
    assert len(list((one.folder / "hdx" / "datasets").iterdir())) == 5


def test_a_crawl_elsewhere_is_seen_as_running(one, two):
    with one.own("hdx") as owner:
        folder(one).write("a")
        owner.store()
        owner.lease.renew(owner.state.head, {"run": FIRST, "heartbeat": "2020", "host": "far"})
        two.refresh()
        running = json.loads((two.folder / "hdx" / "running.json").read_bytes())
        assert (running["run"], running["elsewhere"], running["host"]) == (FIRST, True, "far")
        assert running["heartbeat"] > "2026", "by this machine's clock"
    two.refresh()
    assert not (two.folder / "hdx" / "running.json").exists()


# Kills between a commit and the state of the mirror


@pytest.fixture
def dies(monkeypatch) -> Callable[..., None]:
    """Own a source, and die as soon as a commit is put that has something."""

    def own(mirror: Mirror, field: str, work: Callable[[Owner], None] = lambda _: None) -> None:
        append = Log.append

        def dying(self: Log, commit: Commit) -> Logged | None:
            found = append(self, commit)
            if getattr(commit, field):
                raise SystemExit
            return found

        with monkeypatch.context() as patched:
            patched.setattr(Log, "append", dying)
            with pytest.raises(SystemExit), mirror.own("hdx") as owner:
                work(owner)

    return own


def test_what_changes_after_a_kill_is_stored(one, two, dies):
    series = one.folder / "hdx" / "timeseries" / "2026.csv"
    folder(one).write("a", "old")
    folder(one).write("b", "old")
    folder(one).report(FIRST)
    series.parent.mkdir()
    series.write_text("old\n")
    for field in ("packs", "files"):
        dies(one, field)
    folder(one).write("a", "new", run=SECOND)
    folder(one).report(FIRST, listed=2)
    series.write_text("old\nnew\n")
    before = contents(one.folder)
    with one.own("hdx"):
        pass
    two.refresh()
    assert contents(two.folder) == contents(one.folder) == before


def test_what_changes_after_a_kill_in_a_whole_commit_is_stored(one, two, dies):
    for number in range(3):
        harvest(one, 3, run=f"20261121T0300{number:02d}Z", text=str(number))
    dies(one, "lines", lambda owner: owner.sum_up())
    (one.folder / "hdx" / "datasets" / "id00001.json").unlink()
    folder(one).write("id00001", slug="other", run=SECOND)
    folder(one).write("id00000", "longer than before", run=SECOND)
    before = contents(one.folder)
    with one.own("hdx"):
        pass
    two.refresh()
    assert contents(two.folder) == contents(one.folder) == before


def test_what_others_only_repeat_replaces_nothing_newer(one, two):
    """Another node sums up the log: its commit has what was stored, not what this mirror has written since."""
    series = one.folder / "hdx" / "timeseries" / "2026.csv"
    series.parent.mkdir(parents=True)
    series.write_text("old\n")
    harvest(one, 2, text="first")
    folder(one).write("id00000", "second", run=SECOND)
    series.write_text("old\nnew\n")
    before = contents(one.folder)
    with two.own("hdx") as owner:
        owner.sum_up()
    with one.own("hdx"):
        pass
    two.refresh()
    assert contents(two.folder) == contents(one.folder) == before


def test_what_others_have_stored_replaces_what_was_not_with_its_lines(one, two):
    harvest(one, 2)
    two.refresh()
    folder(one).write("id00000", "ours", run=SECOND)
    with two.own("hdx"):
        folder(two).write("id00000", "theirs", run=THIRD)
    with one.own("hdx") as owner:
        assert owner.is_rebuilt
    assert contents(one.folder) == contents(two.folder)
    assert b"ours" not in b"".join(contents(one.folder).values())


@pytest.mark.parametrize("kills", [1, 2, 3])
def test_a_job_goes_on_however_often_its_crawl_was_killed(one, kills, monkeypatch):
    append, owner = Log.append, one.own("hdx")
    folder(one).write("a")
    owner.store()
    owner.close()
    with monkeypatch.context() as patched:
        patched.setattr(Log, "append", lambda log, commit: append(log, commit) and sys.exit())
        for _ in range(1, kills):
            with pytest.raises(SystemExit):
                one.own("hdx")
    with one.own("hdx") as owner:
        assert not owner.is_rebuilt


def test_a_folder_that_is_compacted_after_a_kill_is_stored(one, two, dies):
    harvest(one, 3)
    harvest(one, 3, run=SECOND, text="new")
    folder(one).write("more", run=THIRD)
    dies(one, "lines")
    assert lines.compact(one.folder / "hdx", "manifest.jsonl")
    before = contents(one.folder)
    with one.own("hdx"):
        pass
    two.refresh()
    assert contents(two.folder) == contents(one.folder) == before


def test_a_folder_that_is_crawled_after_a_kill_in_its_removal_stays(one, two, dies):
    harvest(one, 3)
    two.refresh()
    dies(one, "is_empty", lambda owner: owner.empty())
    folder(one).write("id00000", "new", run=SECOND)
    with one.own("hdx"):
        pass
    two.refresh()
    assert contents(two.folder) == contents(one.folder)
    assert "hdx/datasets/id00000.json" in contents(two.folder)


def test_a_source_that_a_killed_removal_left_is_no_half_of_one(one, two, monkeypatch):
    harvest(one, 3)
    two.refresh()

    def dying(path: Path, **_: object) -> None:
        for document in path.rglob("id00001.json"):
            document.unlink()
            raise SystemExit

    with monkeypatch.context() as patched:
        patched.setattr("crawlers.store.bucket.owner.shutil.rmtree", dying)
        with pytest.raises(SystemExit), one.own("hdx") as owner:
            owner.empty()
    for each in (one, two):
        each.refresh()
        with each.own("hdx"):
            pass
    assert not contents(two.folder) | contents(one.folder)
    harvest(one, 2)
    with one.own("hdx") as owner:
        owner.empty()
    two.refresh()
    assert not [path for each in (one, two) for path in each.folder.rglob("id0000*.json")]


def test_a_source_whose_folder_can_not_be_moved_is_removed(one, two, monkeypatch):
    harvest(one, 3)
    two.refresh()
    with monkeypatch.context() as patched, one.own("hdx") as owner:
        patched.setattr(Path, "rename", Mock(side_effect=OSError(16, "busy")))
        owner.empty()
    with one.own("hdx"):
        pass
    two.refresh()
    assert not contents(two.folder) | contents(one.folder)


def test_a_damaged_part_keeps_nobody_from_the_source(one):
    harvest(one, 1)
    harvest(one, 1, run=SECOND, text="new")
    with one.own("hdx"):
        lines.compact(one.folder / "hdx", "manifest.jsonl")
        folder(one).write("more", "much more" * 100, run=SECOND)
    (part,) = (one.folder / "hdx").glob("manifest-*.zst")
    part.write_bytes(part.read_bytes()[:-6] + b"dam" + part.read_bytes()[-3:])
    with one.own("hdx") as owner:
        assert owner.lease.fence


@pytest.mark.parametrize("commits", [0, 1, 2])
def test_each_line_is_once_on_other_mirrors_when_its_compaction_was_killed(one, two, commits, monkeypatch):
    monkeypatch.setattr(changes, "MOST", 2)
    for run in (FIRST, SECOND):
        harvest(one, 5, run=run, text=run)
        folder(one).append("errors.jsonl", {"run": run, "kind": "http"})
    with one.own("hdx"):
        pass
    two.refresh()
    before, left, append = lines_of(two), iter([True] * commits), Log.append
    owner = one.own("hdx")
    for number in range(5):
        folder(one).write(f"id{number:05d}", "changed", run=SECOND)
    for file in lines.FILES:
        lines.compact(one.folder / "hdx", file)
    with monkeypatch.context() as patched:
        patched.setattr(Log, "append", lambda log, commit: append(log, commit) if next(left, None) else sys.exit())
        with pytest.raises(SystemExit):
            owner.store(is_end=True)
    owner.close()
    two.refresh()
    assert lines_of(two)[: len(before)] == before
    with one.own("hdx"):
        pass
    two.refresh()
    assert contents(two.folder) == contents(one.folder)
    assert lines_of(two) == lines_of(one)
    assert len(lines_of(two)) == len(before) + 5


def test_the_progress_counts_documents_and_compressed_parts(one, two):
    harvest(one, 3)
    harvest(one, 2, run=SECOND, text="new")
    two.refresh()
    before, told = contents(two.folder).keys(), []
    folder(one).write("more", run=THIRD)
    lines.compact(one.folder / "hdx", "manifest.jsonl")
    one.tell = told.append
    with one.own("hdx"):
        pass
    two.refresh()
    new = contents(two.folder).keys() - before
    assert {Path(name).suffix for name in new} == {".json", ".zst"}
    assert sum(told) == len(new)


def test_a_compaction_that_was_killed_before_the_lines_went_is_finished(one, two, monkeypatch):
    harvest(one, 2)
    harvest(one, 2, run=SECOND, text="new")
    two.refresh()
    before = lines_of(two)
    owner = one.own("hdx")
    with monkeypatch.context() as patched:
        patched.setattr(lines, "_cut", lambda *_: sys.exit())
        with pytest.raises(SystemExit):
            lines.compact(one.folder / "hdx", "manifest.jsonl")
    owner.close()
    with one.own("hdx"):
        pass
    two.refresh()
    assert lines_of(two) == lines_of(one) == before


def lines_of(mirror: Mirror) -> list[bytes]:
    """The lines of the error log and the manifest, those in compressed parts, too."""
    files = ("errors.jsonl", "flaws.jsonl", "manifest.jsonl")
    return [line for file in files for _, line in lines.read(mirror.folder / "hdx", file)]


# What can be wrong


def replaced(store: MemoryStore, below: str, body: bytes) -> str:
    """Damage the last object below a folder."""
    name = names(store, below)[-1]
    obstore.put(store, name, body)
    return name


@pytest.mark.parametrize("below", ["packs", "segments", "files"])
def test_a_damaged_object(one, two, store, below):
    harvest(one, 2)
    name = replaced(store, f"sources/hdx/{below}", b"damaged")
    with pytest.raises(StoreError, match=rf"^{ADDRESS}/{name} is damaged \(its content is not that in the log\)\.$"):
        two.refresh()


@pytest.mark.parametrize("below", ["packs", "segments", "files"])
def test_a_missing_object(one, two, store, below):
    harvest(one, 2)
    name = names(store, f"sources/hdx/{below}")[-1]
    obstore.delete(store, name)
    with pytest.raises(StoreError, match=rf"^{ADDRESS}/{name} is missing\.$"):
        two.refresh()


def test_a_source_that_is_damaged_does_not_stop_the_others(one, two, store):
    harvest(one, 2)
    with one.own("other"):
        folder(one, "other").write("a")
    replaced(store, "sources/hdx/packs", b"damaged")
    told: list[str] = []
    assert two.refresh(lost=told.append) == ["other"]
    assert len(told) == 1
    assert "sources/hdx/packs" in told[0]


def test_a_damaged_commit(one, two, store):
    harvest(one, 2)
    replaced(store, "sources/hdx/log", b"{")
    with pytest.raises(StoreError, match=rf"^{ADDRESS}: commit [0-9]+ of \[hdx\] is damaged \(.+\)\.$"):
        two.refresh()


def test_a_missing_commit(one, two, store):
    harvest(one, 2)
    obstore.delete(store, names(store, "sources/hdx/log")[0])
    with pytest.raises(StoreError, match=rf"^{ADDRESS}: the log of \[hdx\] has a gap behind commit 0\.$"):
        two.refresh()


def test_a_commit_of_another_history(one, two, tmp_path, store):
    harvest(one, 2)
    two.refresh()
    other = MemoryStore()
    for name in names(store):
        obstore.put(other, name, bytes(obstore.get(store, name).bytes()))
    for here, text in ((store, "a"), (other, "b")):
        harvest(mirror(tmp_path / text, here), 2, text=text, run=SECOND)
    last = names(other, "sources/hdx/log")[-1]
    obstore.put(store, last, bytes(obstore.get(other, last).bytes()))
    with pytest.raises(StoreError, match=r"commit [0-9]+ of \[hdx\] does not follow on the others\.$"):
        two.refresh()


OUTSIDE = ("../../outside.json", "datasets/../../../outside.json", "/tmp/outside.json", "index.sqlite", ".lock")


@pytest.mark.parametrize("file", OUTSIDE)
def test_a_pack_that_names_a_file_outside(one, two, store, file):
    with one.own("hdx") as owner:
        body = packed([Row("dataset", "x", None, file, inside_sha(b"x"), b"x")])
        obstore.put(store, "sources/hdx/packs/evil.parquet", body)
        part = {"name": "packs/evil.parquet", "bytes": len(body), "sha256": inside_sha(body), "files": 1}
        commit_by_hand(store, owner, packs=[part])
    with pytest.raises(StoreError, match="is not a valid path in a source's folder"):
        two.refresh()
    assert contents(two.folder) == {}


@pytest.mark.parametrize("field", ["removed", "files", "lines"])
@pytest.mark.parametrize("file", OUTSIDE)
def test_a_commit_that_names_a_file_outside(one, two, store, field, file):
    part = {"name": "files/x", "bytes": 1, "sha256": inside_sha(b"x")}
    value = {"removed": [file], "files": {file: part}, "lines": {file: {"bytes": 0, "generation": 1}}}[field]
    with one.own("hdx") as owner:
        commit_by_hand(store, owner, **{field: value})
    two.folder.mkdir()
    (two.folder / "index.sqlite").write_bytes(b"mine")
    with pytest.raises(StoreError, match="is damaged \\(it names"):
        two.refresh()
    assert (two.folder / "index.sqlite").read_bytes() == b"mine"


@pytest.mark.parametrize("name", ["../x", "packs/../../x", "packs//x", "elsewhere/x"])
def test_a_commit_that_names_an_object_outside(one, two, store, name):
    with one.own("hdx") as owner:
        commit_by_hand(store, owner, packs=[{"name": name, "bytes": 1, "sha256": inside_sha(b"x"), "files": 1}])
    with pytest.raises(StoreError, match=r"commit [0-9]+ of \[hdx\] is damaged"):
        two.refresh()


def inside_sha(body: bytes) -> str:
    import hashlib  # noqa: PLC0415

    return hashlib.sha256(body).hexdigest()


def commit_by_hand(store: MemoryStore, owner, **fields) -> None:
    """Put a commit as somebody would who may write into the bucket, in the place of the owner's next one."""
    state = owner.state
    commit = {"source": "hdx", "number": state.head + 1, "previous": state.fact("sha256"), "fence": owner.lease.fence}
    commit |= {"writer": "evil", "node": "evil", "time": "now", "kind": "stored", **fields}
    obstore.put(store, f"sources/hdx/log/{state.head + 1:010d}.json", json.dumps(commit).encode())


def test_lines_that_unpack_to_more_than_they_say(one, two, store):
    with one.own("hdx") as owner:
        segment = Shelf(one.objects, "hdx").put_segment("manifest.jsonl", 0, b"x" * 10_000_000)
        growth = {"bytes": 10, "generation": 1, "segments": [{**plain(segment), "offset": 0, "length": 10}]}
        commit_by_hand(store, owner, lines={"manifest.jsonl": growth})
    with pytest.raises(StoreError, match="is damaged \\(its length is not that in the log\\)"):
        two.refresh()


def plain(part) -> dict:
    return {name: getattr(part, name) for name in ("name", "bytes", "sha256")}


def test_a_pack_that_is_too_large(one, two, store, monkeypatch):
    harvest(one, 3)
    monkeypatch.setattr(packs, "LARGEST", 100)
    with pytest.raises(StoreError, match="is damaged \\(it is too large\\)"):
        two.refresh()


def test_a_pack_that_unpacks_to_too_much(one, two, store, monkeypatch):
    monkeypatch.setattr(packs, "_UNPACKED", 1024 * 1024)
    with one.own("hdx") as owner:
        content = bytes(1024 * 1024)
        body = packed([Row("dataset", "x", None, "datasets/x.json", inside_sha(content), content)])
        assert len(body) < 5000
        obstore.put(store, "sources/hdx/packs/evil.parquet", body)
        part = {"name": "packs/evil.parquet", "bytes": len(body), "sha256": inside_sha(body), "files": 1}
        commit_by_hand(store, owner, packs=[part])
    with pytest.raises(StoreError, match=r"packs/evil\.parquet is damaged \(it is too large\)$"):
        two.refresh()


@pytest.mark.slow
def test_a_pack_whose_rows_share_a_large_content():
    content = bytes(1024 * 1024)
    rows = [["dataset"], ["x"], [None], ["datasets/x.json"], [inside_sha(content)], [len(content)], [content]]
    output = pa.BufferOutputStream()
    pq.write_table(pa.table([column * 400 for column in rows], schema=packs._schema()), output, compression="zstd")
    with pytest.raises(StoreError, match=r"^The pack here is damaged \(it is too large\)$"):
        list(unpacked(bytes(output.getvalue()), "here"))


@pytest.mark.parametrize("name", ["file", "sha256", "bytes", "content"])
def test_a_pack_with_a_null(name):
    content = b"x"
    row = {"kind": "dataset", "dataset_id": "x", "resource_id": None, "file": "datasets/x.json"}
    row |= {"sha256": inside_sha(content), "bytes": 1, "content": content, name: None}
    output = pa.BufferOutputStream()
    pq.write_table(pa.Table.from_pylist([row], schema=packs._schema()), output, use_dictionary=False)
    with pytest.raises(StoreError, match=r"^The pack here is damaged \(.+\)$"):
        list(unpacked(bytes(output.getvalue()), "here"))


def test_a_pack_whose_names_are_no_text():
    body = packed([Row("dataset", "x" * 10, None, "datasets/x.json", inside_sha(b"x"), b"x")])
    names = pa.array([b"\xff\xfe"], pa.binary()).view(pa.string())
    rows = {"kind": names, "dataset_id": ["x"], "resource_id": [None], "file": ["datasets/x.json"]}
    rows |= {"sha256": [inside_sha(b"x")], "bytes": [1], "content": [b"x"]}
    output = pa.BufferOutputStream()
    pq.write_table(pa.table(rows, schema=packs._schema()), output, use_dictionary=False)
    assert list(unpacked(body, "here"))
    with pytest.raises(StoreError, match=r"^The pack here is damaged \(.+\)$"):
        list(unpacked(bytes(output.getvalue()), "here"))


@pytest.mark.parametrize("body", [b"", b"PAR1", b"x" * 1000, packed([Row(None, None, None, "runs/x", "0" * 64, b"")])])
def test_a_pack_that_is_none(body):
    with pytest.raises(StoreError, match=r"^The pack here is damaged \(.+\)$"):
        list(unpacked(body, "here"))


def test_a_parquet_file_of_others():
    output = pa.BufferOutputStream()
    pq.write_table(pa.table({"a": [1]}), output)
    with pytest.raises(StoreError, match="its columns are others"):
        list(unpacked(bytes(output.getvalue()), "here"))


def test_a_damaged_lease(one, store):
    harvest(one, 1)
    obstore.put(store, "leases/hdx.json", b"{")
    with pytest.raises(StoreError, match=rf"^{ADDRESS}/leases/hdx.json is damaged \(.+\): remove it\.$"):
        one.own("hdx")


NO_SOURCES = ("été", "a b", "o'brien", "x" * 101, "index.sqlite.d", ".hidden", "../x")


@pytest.mark.parametrize("source", NO_SOURCES)
def test_a_source_that_no_reader_would_find(one, store, source):
    before = names(store)
    with pytest.raises(OutputError, match=r" can't be stored: the name of a source has at most 100 letters"):
        one.own(source)
    assert names(store) == before


def test_objects_that_are_no_leases_are_no_sources(one, two, store):
    harvest(one, 1)
    for name in ("leases/.hidden.json", "leases/notes.txt", "leases/index.sqlite.json"):
        obstore.put(store, name, b"mine")
    assert list(two.sources()) == ["hdx"]


@pytest.mark.parametrize(
    ("body", "told"),
    [
        (b'{"schema": 2}', "is of schema 2, and this version knows 1: install a newer one."),
        (b'{"schema": 0}', "is of schema 0, older than 1: pull it by the version that wrote it."),
        (b"{", "is of schema None, older than 1: pull it by the version that wrote it."),
    ],
)
def test_another_schema(tmp_path, store, body, told):
    obstore.put(store, "catalogue-crawlers.json", body)
    here = Mirror(Objects(store, ADDRESS), tmp_path / "here")
    with pytest.raises(StoreError) as raised:
        here.check(creates=True)
    assert str(raised.value) == f"{ADDRESS} {told}"
    assert names(store) == ["catalogue-crawlers.json"]
    assert not (tmp_path / "here").exists()


def test_a_prefix_that_others_use(tmp_path, store):
    obstore.put(store, "photos/cat.jpg", b"x")
    with pytest.raises(StoreError, match=r"^s3://bucket/prefix is not empty \('photos/cat.jpg'\) and no store: name"):
        Mirror(Objects(store, ADDRESS), tmp_path).check(creates=True)
    assert names(store) == ["photos/cat.jpg"]


@pytest.mark.parametrize("ignored", ["create", "e_tag"])
def test_a_server_that_ignores_conditions(tmp_path, store, monkeypatch, ignored):
    put = obstore.put

    def lenient(*words, mode="overwrite", **options):
        return put(*words, mode="overwrite" if ignored in mode else mode, **options)

    monkeypatch.setattr(obstore, "put", lenient)
    with pytest.raises(StoreError, match=r"is on a server that ignores If-None-Match and If-Match: several nodes"):
        Mirror(Objects(store, ADDRESS), tmp_path).check(creates=True)


def test_a_store_that_is_empty(tmp_path, store):
    with pytest.raises(StoreError, match="is empty: crawl a source first, or `scrapy push` a folder"):
        Mirror(Objects(store, ADDRESS), tmp_path).check(creates=False)
    assert names(store) == []


def test_a_full_disk_leaves_what_was_there(one, two, monkeypatch):
    harvest(one, 2)
    two.refresh()
    before = contents(two.folder)
    harvest(one, 2, run=SECOND, text="new")

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr(inside.Writer, "write", full)
        with pytest.raises(StoreError, match=r"/hdx can't be brought up to date \(No space left on device\)\.$"):
            two.refresh()
    assert contents(two.folder) == before
    two.refresh()
    assert contents(two.folder) == contents(one.folder)


@pytest.mark.parametrize("place", ["hdx", "hdx/datasets", "hdx/manifest.jsonl", "hdx/datasets/id00000.json"])
@pytest.mark.parametrize("other", ["link", "file", "folder"])
def test_what_is_in_the_place_of_a_folder_or_a_file(one, two, tmp_path, place, other):
    with one.own("a-source"):
        folder(one, "a-source").write("a")
    harvest(one, 1)
    path = two.folder / place
    path.parent.mkdir(parents=True)
    (tmp_path / "elsewhere").mkdir()
    {"link": lambda: path.symlink_to(tmp_path / "elsewhere"), "file": path.touch, "folder": path.mkdir}[other]()
    told: list[str] = []
    assert "a-source" in two.refresh(lost=told.append)
    assert len(told) <= 1
    assert all(sentence.startswith(f"{two.folder / 'hdx'} can't be brought up to date (") for sentence in told)
    if not told and not path.is_symlink():
        assert contents(two.folder) == contents(one.folder)
    if place != "hdx":
        assert contents(tmp_path / "elsewhere") == {}


# A plain folder


def test_a_copy_is_a_plain_folder(one, tmp_path, store):
    harvest(one, 3)
    copy = mirror(tmp_path / "copy", store)
    with one.own("hdx") as owner:
        owner.lease.renew(owner.state.head, {"run": FIRST})
        pull(copy, "hdx")
    assert contents(copy.folder) == contents(one.folder)


def test_a_copy_that_was_crawled_is_not_pulled_again(one, tmp_path, store):
    harvest(one, 3)
    copy = mirror(tmp_path / "copy", store)
    pull(copy, "hdx")
    folder(copy).write("mine")
    before = contents(copy.folder)
    with pytest.raises(OutputError, match=r"copy/hdx was changed since it was pulled: name another folder\.$"):
        pull(copy, "hdx")
    assert contents(copy.folder) == before


def test_a_folder_that_was_crawled_after_half_a_pull_keeps_its_documents(one, tmp_path, store, monkeypatch):
    harvest(one, 3)
    copy = mirror(tmp_path / "copy", store)
    pull(copy, "hdx")
    harvest(one, 3, run=SECOND, text="new")
    with monkeypatch.context() as patched:
        patched.setattr(Log, "numbers", _unreachable)
        with pytest.raises(StoreUnreachableError):
            pull(copy, "hdx")
    folder(copy).write("mine", run=THIRD)
    lines = (copy.folder / "hdx" / "manifest.jsonl").read_bytes()
    with pytest.raises(OutputError, match=r"copy/hdx was changed since it was pulled: name another folder\.$"):
        pull(copy, "hdx")
    assert (copy.folder / "hdx" / "datasets" / "mine.json").exists()
    assert (copy.folder / "hdx" / "manifest.jsonl").read_bytes() == lines


def _unreachable(*_: object) -> None:
    raise StoreUnreachableError("It gives no answer.")


def test_a_copy_of_a_folder_that_was_pushed_is_another_one(one, tmp_path, store):
    harvest(one, 1, text="old")
    shutil.copytree(one.folder, tmp_path / "copy")
    copy = mirror(tmp_path / "copy", store)
    folder(one).write("mine", run=SECOND)
    folder(copy).write("theirs", run=SECOND)
    assert may_push(copy, "hdx")
    with copy.own("hdx"):
        pass
    assert not may_push(one, "hdx")


def test_a_folder_that_was_pushed_is_followed_until_others_store(one, two):
    assert may_push(one, "hdx")
    harvest(one, 2)
    assert may_push(one, "hdx")
    two.refresh()
    harvest(two, 2, run=SECOND, text="new")
    assert not may_push(one, "hdx")


# Settings


def test_an_address_becomes_a_mirror_and_a_store(tmp_path):
    settings = BaseSettings({"OUTPUT_MIRROR": str(tmp_path), "OUTPUT_STORE": ""})
    settings.set("OUTPUT_DIR", "s3://bucket/a/b/", "cmdline")
    for _ in range(2):
        resolve(settings)
        assert settings["OUTPUT_STORE"] == "s3://bucket/a/b"
        assert settings["OUTPUT_DIR"] == str(tmp_path / folder_name("s3://bucket/a/b"))
    assert settings.getpriority("OUTPUT_DIR") == settings.getpriority("OUTPUT_STORE") == 40
    assert folder_name("s3://bucket/a/b") != folder_name("s3://bucket/a-b")


def test_a_folder_stays_a_folder():
    settings = BaseSettings({"OUTPUT_DIR": "output", "OUTPUT_STORE": "", "OUTPUT_MIRROR": "mirror"})
    resolve(settings)
    assert (settings["OUTPUT_DIR"], settings["OUTPUT_STORE"]) == ("output", "")
    assert location.mirror(settings) is None
    assert bring_up(settings, None, pytest.fail) == []


@pytest.mark.parametrize("address", ["S3://bucket/a/b", "s3://bucket/a/b/"])
def test_an_address_in_capitals(tmp_path, address):
    settings = BaseSettings({"OUTPUT_MIRROR": str(tmp_path), "OUTPUT_STORE": "", "OUTPUT_DIR": address})
    resolve(settings)
    assert settings["OUTPUT_STORE"] == "s3://bucket/a/b"


@pytest.mark.parametrize("address", ["gs://bucket/x", "az://x", "file:///x", "https://user:password@host/x"])
def test_an_address_of_another_kind(address):
    settings = BaseSettings({"OUTPUT_DIR": address, "OUTPUT_STORE": ""})
    with pytest.raises(OutputError) as raised:
        resolve(settings)
    assert str(raised.value) == "OUTPUT_DIR must be a folder or s3://bucket/prefix."


@pytest.mark.parametrize("seconds", ["0.5", "4000", "abc", "nan", ""])
def test_a_lease_of_no_use(seconds):
    settings = BaseSettings({"OUTPUT_STORE": ADDRESS, "OUTPUT_DIR": "x", "OUTPUT_LEASE": seconds})
    with pytest.raises(OutputError, match=rf"^OUTPUT_LEASE={seconds} is not a number of seconds from 1 to 3600\.$"):
        location.mirror(settings)


@pytest.mark.parametrize("value", ["abc", "-1", "nan", "inf", None, []])
def test_seconds_that_are_none(value):
    settings = BaseSettings({"OUTPUT_STORE_PATIENCE": value})
    sentence = f"OUTPUT_STORE_PATIENCE={value} is not a number of seconds from 0 on."
    with pytest.raises(OutputError) as raised:
        location.seconds(settings, "OUTPUT_STORE_PATIENCE")
    assert str(raised.value) == sentence


KEYS = {"AWS_ACCESS_KEY_ID": "key", "AWS_SECRET_ACCESS_KEY": "secret"}
ENDPOINTS = ["localhost:8333", "file:///x", "http://h:70000", "http://h:0", "http://h:x", "http://[bad", "http://[bad]"]
ENDPOINTS += ["http://a b", "http://h\r", "http://u:secret@h", "http://256.1.1.1", "http://[1.2.3.4]", "http://"]
ENDPOINTS += ["http://xn--a", "https://xn--0.example.org:9000/x"]


@pytest.mark.parametrize("endpoint", ENDPOINTS)
@pytest.mark.parametrize("name", ["AWS_ENDPOINT_URL", "AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT"])
def test_an_endpoint_that_is_none(tmp_path, name, endpoint):
    os.environ |= {**KEYS, name: endpoint}
    with pytest.raises(OutputError) as raised:
        location.opened(ADDRESS, tmp_path)
    assert str(raised.value) == f"{name} in the environment is not https://host or http://host:port: correct it."


@pytest.mark.parametrize(
    "endpoint",
    [
        "https://xn--bcher-kva.example",
        "HTTP://127.0.0.1:1",
        "http://[::1]:1/x",
        "https://a_b.org/storage/v1",
        "http://localhost",
    ],
)
def test_an_endpoint_that_is_one(tmp_path, endpoint):
    os.environ |= {**KEYS, "AWS_ENDPOINT_URL": endpoint}
    location.opened(ADDRESS, tmp_path)


@pytest.mark.parametrize("name", [*KEYS, "AWS_SESSION_TOKEN", "AWS_REGION"])
@pytest.mark.parametrize("end", ["\r", "\n", " ", "\x7f", "é"])
def test_a_key_with_what_no_key_has(tmp_path, name, end):
    os.environ |= {**KEYS, name: f"private{end}"}
    with pytest.raises(OutputError) as raised:
        location.opened(ADDRESS, tmp_path)
    assert str(raised.value) == f"{name} in the environment has a line's end, a blank or another such sign: correct it."


def test_an_empty_variable_is_none(tmp_path):
    """GitHub passes a secret that is not set as an empty one, which obstore would send, or refuse."""
    empty = ("AWS_SESSION_TOKEN", "AWS_REGION", "AWS_ENDPOINT_URL", "AWS_ALLOW_HTTP")
    os.environ |= {**KEYS, **dict.fromkeys(empty, "")}
    location.opened(ADDRESS, tmp_path)
    assert not set(empty) & set(os.environ)


def test_packages_that_are_not_installed(tmp_path, monkeypatch):
    monkeypatch.setattr("crawlers.s3.address.find_spec", lambda _: None)
    with pytest.raises(OutputError, match=r"^OUTPUT_DIR is in S3, which needs obstore and pyarrow: pip install 'cata"):
        location.opened(ADDRESS, tmp_path)


def test_a_harvest_gives_its_crawls_the_store():
    source = Source(name="hdx", spider="hdx")
    spider = SimpleNamespace(name="hdx", arguments={"source"}, crosses_hosts=True)
    given = {"OUTPUT_DIR": "elsewhere", "OUTPUT_STORE": "s3://other/x", "OUTPUT_MIRROR": "elsewhere"}
    made = job(source, spider, output=Path("/m/x"), jobs=Path("/j"), settings=given, store=ADDRESS)
    assert made.settings == {"OUTPUT_DIR": "/m/x", "OUTPUT_STORE": ADDRESS, "JOBDIR": "/j/hdx", "JOBS_DIR": "/j"}
    plain = job(source, spider, output=Path("/m/x"), jobs=Path("/j"), settings={})
    assert "OUTPUT_STORE" not in plain.settings


def test_a_request_is_repeated_until_patience_ends(store):
    objects = Objects(store, ADDRESS)
    objects.patience, told, asked = 0.6, [], []
    objects.tell = told.append

    def ask() -> None:
        asked.append(1)
        raise obstore.exceptions.GenericError("Server returned non-2xx status code: 503 Service Unavailable")

    with pytest.raises(StoreUnreachableError, match=rf"^{ADDRESS}: the server answered 503 Service Unavailable\.$"):
        objects._asked(ask)
    assert len(asked) == 2
    assert told == [f"{ADDRESS}: the server answered 503 Service Unavailable. It is tried again for 1 seconds."]
