"""Output in a store: its tables, their owners, and mirrors of them; without crawls, the store in a folder."""

from __future__ import annotations

import hashlib
import json
import os
import random
import re
import shutil
import sqlite3
import sys
import threading
import time
from contextlib import closing, contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import obstore
import pyarrow as pa
import pytest
from deltalake import CommitProperties, DeltaTable, Transaction, write_deltalake
from deltalake.exceptions import CommitFailedError, DeltaError
from obstore.store import MemoryStore
from scrapy.settings import BaseSettings

from crawlers.exceptions import ExtraError, OutputError, StoreError, StoreUnreachableError, TakenError
from crawlers.fleet.store import Mirror, Store, owner, rows
from crawlers.fleet.store import mirror as mirrors
from crawlers.fleet.store.source import Source as Followed
from crawlers.fleet.store.state import State
from crawlers.fleet.store.table import Table
from crawlers.operate import mirrored
from crawlers.operate.harvest.job import job
from crawlers.operate.sources.source import Source
from crawlers.safety import inside
from crawlers.store import lines, location
from crawlers.store.location import bring_up, folder_name, resolve
from crawlers.store.versions import Versions
from tests.buckets import Folder, contents, documents, mirror
from tests.conftest import ROOT
from tests.waiting import HANG

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

FIRST, SECOND, THIRD = (f"20261120T03000{number}Z" for number in range(3))
ADDRESS = "s3://bucket/prefix"


@pytest.fixture
def store(tmp_path: Path) -> Path:
    return tmp_path / "store"


@pytest.fixture
def one(tmp_path: Path, store: Path) -> Mirror:
    return mirror(tmp_path / "one", store)


@pytest.fixture
def two(tmp_path: Path, store: Path) -> Mirror:
    return mirror(tmp_path / "two", store)


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is waited for takes milliseconds."""
    monkeypatch.setattr(owner, "_LOOK", 0.01)
    for module in (owner, mirrors):
        monkeypatch.setattr(module, "_TRIES", 3)


def folder(mirror: Mirror, source: str = "hdx") -> Folder:
    return Folder(mirror.folder / source)


def table(store: Path, source: str = "hdx") -> DeltaTable:
    return DeltaTable(str(store / source))


def stored(store: Path, *columns: str, source: str = "hdx", **wanted: Any) -> list[tuple[Any, ...]]:
    """Return columns of the rows with these values, by part and offset."""
    found = (
        table(store, source).to_pyarrow_table().sort_by([("batch", "ascending"), ("offset", "ascending")]).to_pylist()
    )
    return [tuple(row[name] for name in columns) for row in found if all(row[name] == wanted[name] for name in wanted)]


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


def test_a_row_for_each_line_and_file(one, store):
    harvest(one, 3)
    parts = sorted(part for (part,) in stored(store, "part"))
    assert parts == [*["document"] * 3, "error", "file", "flaw", "run"]
    body = (one.folder / "hdx" / "datasets" / "id00001.json").read_bytes()
    columns = ("source", "kind", "file", "run", "status", "sha256", "bytes", "content")
    expected = (
        "hdx",
        "dataset",
        "datasets/id00001.json",
        FIRST,
        "new",
        hashlib.sha256(body).hexdigest(),
        len(body),
        body,
    )
    assert stored(store, *columns, dataset_id="id00001") == [expected]
    manifest = (one.folder / "hdx" / "manifest.jsonl").read_text().splitlines(keepends=True)
    assert stored(store, "line", part="document") == [(line.rstrip("\n"),) for line in manifest]
    offsets = [sum(map(len, manifest[:number])) for number in range(3)]
    assert [offset for (offset,) in stored(store, "offset", part="document")] == offsets


def test_a_run_without_news_is_one_commit_of_two_objects(one, two, store):
    harvest(one, 3)
    before = {path for path in store.rglob("*") if path.is_file()}
    with one.own("hdx"):
        folder(one).report(SECOND)
    new = sorted(path.suffix for path in {path for path in store.rglob("*") if path.is_file()} - before)
    assert new == [".json", ".parquet"]
    two.refresh()
    assert contents(two.folder) == contents(one.folder)


def test_a_batch_has_a_thousand_lines_at_most(one, two, store, monkeypatch):
    monkeypatch.setattr(owner, "MOST", 2)
    harvest(one, 5)
    counts = [sum(batch == number for (batch,) in stored(store, "batch", part="document")) for number in (1, 2, 3)]
    assert counts == [2, 2, 1]
    two.refresh()
    assert contents(two.folder) == contents(one.folder)


@pytest.mark.parametrize(("length", "windows"), [(10, 1), (3_000_000, 2)])
def test_what_is_read_at_once_is_what_rows_have(one, two, length, windows):
    """And not the sizes of the files that captures name, which are elsewhere."""
    with one.own("hdx") as taken:
        for _ in range(3):
            folder(one).append("captures.jsonl", {"run": FIRST, "bytes": 100_000_000, "url": "x" * length})
            taken.store()
    assert len([*Table(two.store, "hdx").after(0)]) == windows


def test_a_line_that_is_no_text_is_stored_as_it_is(one, two):
    with one.own("hdx"):
        folder(one).write("a")
        with (one.folder / "hdx" / "errors.jsonl").open("ab") as file:
            file.write(b'\xff{"run"\r\n\n{"error": "\\ud800"}\n{"url": "\xed\xa0\x80"}\n')
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


def test_each_machine_compacts_its_own_lines(one, two, tmp_path, store):
    harvest(one, 30)
    harvest(one, 30, run=SECOND, text="new")
    two.refresh()
    before = lines_of(two)
    with one.own("hdx"):
        for file in lines.FILES:
            assert lines.compact(one.folder / "hdx", file)
    assert two.refresh() == []
    assert lines_of(one) == lines_of(two) == before
    harvest(two, 30, run=THIRD, text="newer")
    one.refresh()
    three = mirror(tmp_path / "three", store)
    three.refresh()
    assert lines_of(three) == lines_of(two) == lines_of(one)
    assert (one.folder / "hdx" / f"manifest-{FIRST}.jsonl.zst").exists()
    assert documents(contents(three.folder)) == documents(contents(two.folder)) == documents(contents(one.folder))


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


def test_what_was_never_stored_of_a_source_that_is_removed_is_kept_aside(one, two):
    harvest(one, 2)
    two.refresh()
    folder(one).write("new")
    folder(one).append("captures.jsonl", {"run": SECOND})
    folder(one).report(SECOND)
    before, told = contents(one.folder / "hdx"), []
    one.store.tell = told.append
    with two.own("hdx") as taken:
        taken.empty()
    with one.own("hdx") as taken:
        assert taken.is_rebuilt
        assert not (one.folder / "hdx").exists()
    two.refresh()
    assert contents(two.folder) == contents(one.folder) == {}
    (left,) = one.known.glob("left/*/hdx")
    assert {str(path.relative_to(left)): path.read_bytes() for path in left.rglob("*") if path.is_file()} == before
    assert told == [f"[hdx] was removed from {one.store.address}. What this machine had is in {left}."]


@pytest.mark.slow
def test_a_compacted_manifest_of_many_lines_is_stored(one, two):
    harvest(one, 3)
    for number in range(2500):
        folder(one).write(f"new{number}", run=SECOND)
    assert lines.compact(one.folder / "hdx", "manifest.jsonl")
    with one.own("hdx"):
        pass
    two.refresh()
    assert documents(contents(two.folder)) == documents(contents(one.folder))
    assert lines_of(two) == lines_of(one)


def test_what_was_never_stored_is_kept_aside_if_others_went_on(one, two, store):
    """Documents, lines, versions and memory that only this machine has; what the store has, too, is not kept twice."""
    harvest(one, 3)
    two.refresh()
    harvest(one, 3, run=SECOND, text="new")
    two.refresh()
    mine = two.folder / "hdx"
    file = folder(two).write("mine", run=THIRD)
    folder(two).write("id00001", "mine", run=THIRD)
    (mine / "memory.json").write_text("{}")
    with Versions.writing(mine) as kept:
        known = SimpleNamespace(sha256=hashlib.sha256(b"old").hexdigest(), bytes=3, run=FIRST)
        key = ("dataset", "id00001", "")
        kept.keep(key, known, b"old", replaced="2026-11-20T03:00:00.000Z", run=SECOND, status="updated", fields=[])
    had, told = contents(two.folder), []
    two.store.tell = told.append
    with one.own("hdx"):
        folder(one).write("more", run=THIRD)
    assert two.refresh() == ["hdx"]
    assert contents(two.folder) == contents(one.folder)
    (left,) = two.known.glob("left/*/hdx")
    kept_files = {str(path.relative_to(left)): path.read_bytes() for path in left.rglob("*") if path.is_file()}
    assert kept_files.pop("versions.sqlite")
    names = {"manifest.jsonl", "memory.json", file, "datasets/id00001.json"}
    assert kept_files == {name: had[f"hdx/{name}"] for name in names}
    why = "manifest.jsonl has lines that are not stored"
    sentence = f"[hdx] was brought up anew from {two.store.address}: {why}. What only this machine had is in {left}."
    assert told == [sentence]
    with two.own("hdx") as taken:
        assert taken.is_rebuilt
    assert two.refresh() == []


@pytest.mark.parametrize("damage", ["state", "lines", "folder"])
def test_what_is_damaged_is_brought_up_anew(one, two, damage, tmp_path):
    """And no other source is touched."""
    harvest(one, 3)
    with one.own("other"):
        folder(one, "other").write("a")
    two.refresh()
    state, manifest = two.known / "hdx.sqlite", two.folder / "hdx" / "manifest.jsonl"
    other = (two.folder / "other").stat().st_ino
    if damage == "state":
        state.write_bytes(b"no database" * 1000)
        (two.known / "hdx.sqlite-wal").unlink(missing_ok=True)
    elif damage == "lines":
        manifest.write_bytes(manifest.read_bytes()[:-10])
    else:
        shutil.rmtree(two.folder / "hdx")
    assert two.refresh() == ([] if damage != "state" else ["hdx"])
    assert contents(two.folder) == contents(one.folder)
    assert (two.folder / "other").stat().st_ino == other
    assert two.refresh() == []


@pytest.mark.parametrize("damage", ["pages", "fact", "newer"])
@pytest.mark.parametrize("does", ["follows", "mends"])
def test_a_state_that_turns_out_to_be_damaged_is_made_anew(one, two, store, damage, does):
    for number in range(300):
        folder(one).write(f"id{number:05d}")
    with one.own("hdx"):
        pass
    two.refresh()
    state = two.known / "hdx.sqlite"
    if damage == "pages":
        content = bytearray(state.read_bytes())
        for page in range(4096 * 5, len(content), 4096):
            content[page : page + 200] = b"\xff" * 200
        state.write_bytes(content)
    else:
        with closing(sqlite3.connect(state)) as db:
            db.execute("PRAGMA user_version = 9" if damage == "newer" else "UPDATE facts SET value = '{'")
            db.commit()
    if does == "follows":
        harvest(one, 5, run=SECOND, text="new")
        assert two.refresh() == ["hdx"]
    else:
        (two.folder / "hdx" / "datasets" / "id00007.json").unlink()
        with two.free("hdx") as source:
            source.bring_lost()
    assert contents(two.folder) == contents(one.folder)
    assert two.refresh() == []
    (aside,) = two.known.glob("hdx.sqlite.damaged-*[0-9]Z")
    copy = mirror(two.folder, store, keeps=True)
    aside.replace(state)
    sentence = r"hdx\.sqlite is damaged .*: name another folder\.$"
    with pytest.raises(OutputError, match=sentence), copy.free("hdx") as source:
        source.bring_lost()


def test_a_compaction_of_lines_that_was_killed_is_finished_by_who_follows(one, two):
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
    assert lines_of(two) == lines_of(one)
    assert documents(contents(two.folder)) == documents(contents(one.folder))


def test_a_folder_that_is_lost_is_brought_again(one, two):
    harvest(one, 3)
    with one.own("never-listed"):
        folder(one, "never-listed").path.mkdir()
        folder(one, "never-listed").report(FIRST)
    two.refresh()
    shutil.rmtree(two.folder / "hdx")
    shutil.rmtree(two.folder / "never-listed")
    two.refresh()
    assert contents(two.folder) == contents(one.folder)
    assert two.refresh() == []


def test_documents_that_are_lost_are_brought_again(one, two):
    harvest(one, 3)
    two.refresh()
    shutil.rmtree(two.folder / "hdx" / "datasets")
    (two.folder / "hdx" / "runs" / f"{FIRST}.json").unlink()
    with two.free("hdx") as source:
        source.bring_lost()
    assert contents(two.folder) == contents(one.folder)


def test_a_document_whose_newest_bytes_are_lost_is_not_an_older_one(one, two):
    """Nor a file of another line; and no more is read at once than a window has."""
    for each in ("a", "b", "c"):
        folder(one).write(each, "1")
    with one.own("hdx"):
        pass
    two.refresh()
    with one.own("hdx"):
        update(one, "a", "2", SECOND)
        (one.folder / "hdx" / "datasets" / "a.json").unlink()
    two.refresh()
    assert contents(two.folder) == contents(one.folder), "the old document is none of the new line's"
    (two.folder / "hdx" / "datasets" / "b.json").unlink()
    with two.free("hdx") as source:
        source.bring_lost()
    assert contents(two.folder) == contents(one.folder)


def test_what_is_lost_is_brought_by_a_few_bytes_at_a_time(one, two, monkeypatch):
    harvest(one, 5)
    harvest(one, 4, run=SECOND, text="new")
    two.refresh()
    shutil.rmtree(two.folder / "hdx" / "datasets")
    monkeypatch.setattr("crawlers.fleet.store.table._WINDOW", 100)
    read, counts = Table._rows, []

    def counted(self: Table, *words: Any, **options: Any) -> list[Any]:
        found = read(self, *words, **options)
        counts.append(sum(row.content is not None for row in found))
        return found

    monkeypatch.setattr(Table, "_rows", counted)
    with two.free("hdx") as source:
        source.bring_lost()
    assert contents(two.folder) == contents(one.folder)
    assert max(counts) <= 4


def test_a_damaged_source_keeps_no_other_from_being_mended(monkeypatch):
    mended, told = [], []

    class Here:
        @contextmanager
        def free(self, name: str) -> Iterator[Any]:
            def bring_lost() -> None:
                if name == "a":
                    raise StoreError("[a] is damaged")
                mended.append(name)

            yield SimpleNamespace(bring_lost=bring_lost)

    monkeypatch.setattr(mirrored, "_mirror", lambda _: Here())
    mirrored.mend({}, ["a", "b"], told.append)
    assert (mended, told) == (["b"], ["[a] is damaged"])


# Former versions


def versions(mirror: Mirror) -> list[tuple[Any, ...]]:
    with Versions.reading(mirror.folder / "hdx") as found:
        query = "SELECT dataset_id, sha256, run, replaced_by, status, fields FROM versions ORDER BY dataset_id, run"
        return [(*row, found.body(row[1])) for row in found.db.execute(query)] if found.db else []


def update(mirror: Mirror, identifier: str, text: str, run: str, status: str = "updated") -> None:
    """Do as a crawl does that replaces a document, or marks it."""
    here = mirror.folder / "hdx"
    (entry,) = [
        found for line in (here / "manifest.jsonl").read_text().splitlines()[-1:] if (found := json.loads(line))
    ]
    body = (here / f"datasets/{identifier}.json").read_bytes()
    with Versions.writing(here) as kept:
        known = SimpleNamespace(sha256=hashlib.sha256(body).hexdigest(), bytes=len(body), run=entry["run"])
        when = f"2026-11-20T03:00:0{run[-2]}.000Z"
        key = ("dataset", identifier, "")
        kept.keep(key, known, body, replaced=when, run=run, status=status, fields=["text"] if text else [])
    new = json.dumps({"id": identifier, "text": text}).encode() if text else body
    (here / f"datasets/{identifier}.json").write_bytes(new)
    line = entry | {
        "dataset_id": identifier,
        "metadata_file": f"datasets/{identifier}.json",
        "run": run,
        "status": status,
        "time": when,
    }
    folder(mirror).append("manifest.jsonl", line | {"sha256": hashlib.sha256(new).hexdigest(), "bytes": len(new)})


def test_former_versions_go_with_the_lines(one, two, tmp_path, store):
    """Also those of a folder that was crawled long before it is stored, and those of a mirror that follows."""
    folder(one).write("a", "1")
    update(one, "a", "2", SECOND)
    with one.own("hdx"):
        pass
    two.refresh()
    with one.own("hdx"):
        update(one, "a", "3", THIRD)
        update(one, "a", "", "20261120T030003Z", "withdrawn")
    two.refresh()
    three = mirror(tmp_path / "three", store)
    three.refresh()
    assert len(versions(one)) == 3
    assert versions(two) == versions(three) == versions(one)
    assert [json.loads(body)["text"] for *_, body in versions(one)] == ["1", "2", "3"]
    assert all(content for (content,) in stored(store, "content", part="document"))
    four = mirror(tmp_path / "four", store, versions=False)
    four.refresh()
    assert not (four.folder / "hdx" / "versions.sqlite").exists()


@pytest.mark.parametrize("is_damaged", [True, False])
def test_versions_that_a_folder_lacks_are_brought_from_the_store(one, two, is_damaged):
    folder(one).write("a", "1")
    folder(one).write("b", "1")
    for number, run in enumerate((SECOND, THIRD)):
        update(one, "a", str(number + 2), run)
    with one.own("hdx"):
        pass
    two.refresh()
    assert len(versions(two)) == 2
    file = two.folder / "hdx" / "versions.sqlite"
    if is_damaged:
        file.write_bytes(b"damaged" * 100)
        with two.free("hdx") as source:
            source.bring_lost()
        assert [*file.parent.glob("versions.sqlite.damaged-*")]
    else:
        file.unlink()
        two.refresh()
    assert versions(two) == versions(one)


@pytest.mark.parametrize("why", ["killed", "off for a while", "off in a crawl", "damaged in a crawl"])
def test_versions_that_a_folder_has_a_part_of_are_brought_from_the_store(one, two, store, monkeypatch, why):
    folder(one).write("a", "1")
    for number, run in enumerate((SECOND, THIRD)):
        update(one, "a", str(number + 2), run)
    with one.own("hdx"):
        pass
    two.versions = why != "off for a while"
    two.refresh()
    file = two.folder / "hdx" / "versions.sqlite"
    last = "20261120T030003Z"
    if why == "killed":
        file.unlink()
        keep, calls = Followed._keep, iter((True, False))

        def dying(*words: Any) -> None:
            if not next(calls):
                raise KeyboardInterrupt
            keep(*words)

        with monkeypatch.context() as patched:
            patched.setattr(Followed, "_keep", dying)
            with pytest.raises(KeyboardInterrupt):
                two.refresh()
    elif why == "off for a while":
        with one.own("hdx"):
            update(one, "a", "4", last)
    elif why == "off in a crawl":
        two.versions = False
        with two.own("hdx"):
            before = file.read_bytes()
            update(two, "a", "4", last)
            file.with_name(f"{file.name}-wal").unlink(missing_ok=True)
            file.write_bytes(before)
        update(one, "a", "4", last)
        one.refresh()
    else:
        file.write_bytes(b"damaged" * 100)
        with Versions.writing(file.parent):
            pass
    two = mirror(two.folder, store)
    two.refresh()
    assert versions(two) == versions(one)
    assert len(versions(two)) == (2 if why in ("killed", "damaged in a crawl") else 3)
    monkeypatch.setattr(Followed, "_bring_versions", pytest.fail)
    two.refresh()


def test_a_source_with_versions_that_is_removed_is_removed_everywhere(one, two):
    folder(one).write("a", "1")
    update(one, "a", "2", SECOND)
    with one.own("hdx"):
        pass
    two.refresh()
    with one.own("hdx") as taken:
        taken.empty()
    for each in (two, one):
        each.refresh()
        assert contents(each.folder) == {}


def test_versions_that_are_dropped_are_dropped_from_the_store(one, two, tmp_path, store):
    folder(one).write("a", "1")
    for number, run in enumerate((SECOND, THIRD)):
        update(one, "a", str(number + 2), run)
    folder(one).write("b", "1")
    with one.own("hdx") as taken:
        taken.store()
        day = 1795143601.5  # between the two
        assert taken.forget(day) == 1
        assert taken.forget(day) == 0
    kept = [
        json.loads(content)["text"] if content else None for (content,) in stored(store, "content", part="document")
    ]
    assert kept == [None, "2", "3", "1"]
    two.refresh()
    assert contents(two.folder) == contents(one.folder)
    assert [body and json.loads(body)["text"] for *_, body in versions(two)] == [None, "2"]


# Other programs


def test_the_queries_of_the_docs(tmp_path, store):
    """On what three machines have stored, while one of them goes on."""
    for number, name in enumerate("abc"):
        here = mirror(tmp_path / name, store)
        with here.own("hdx") as taken:
            folder(here).write(f"id{number}", "river", run=(FIRST, SECOND, THIRD)[number])
            folder(here).write("same", f"of {name}", run=(FIRST, SECOND, THIRD)[number])
            folder(here).append("errors.jsonl", {"run": (FIRST, SECOND, THIRD)[number], "stage": "download"})
            taken.store()
            if name == "c":
                found = {}
                page = (ROOT / "docs" / "object-store.md").read_text()
                for code in re.findall(r"<!-- a store is asked -->\n```python\n(.*?)```", page, re.DOTALL):
                    exec(code.replace("s3://catalogues/europe", str(store)), found)
    assert found["licences"] == [(None, 4)]
    newest = {row["dataset_id"]: json.loads(row["content"])["text"] for row in found["newest"].to_dicts()}
    assert newest == {"id0": "river", "id1": "river", "id2": "river", "same": "of c"}
    failures = [(run, "download", 1) for run in (FIRST, SECOND, THIRD)]
    assert list(zip(*(column.to_pylist() for column in found["failures"].columns), strict=True)) == failures


# Keeping tables small


def test_small_files_are_merged_and_old_ones_stay_for_a_week(one, two, tmp_path, store, monkeypatch):
    monkeypatch.setattr("crawlers.fleet.store.table._SMALL", 10)
    for number in range(12):
        run = f"20261121T0300{number:02d}Z"
        with (one, two)[number % 2].own("hdx"):
            here = folder((one, two)[number % 2])
            here.write(f"id{number % 7:05d}", f"version {number}", run=run)
            here.report(run)
    behind = table(store)
    behind_files = len(behind.file_uris())
    with one.own("hdx") as taken:
        taken.tidy_if_due()
        assert taken.tidy() == 0, "what is young stays: a reader may be on its way"
        monkeypatch.setattr(taken, "forget", pytest.fail)
        taken.tidy_if_due(days=1)  # nothing is due
    assert (behind_files, len(table(store).file_uris())) == (12, 1)
    assert behind.to_pyarrow_table().num_rows == table(store).to_pyarrow_table().num_rows
    for each in (one, two, three := mirror(tmp_path / "three", store)):
        each.refresh()
    assert contents(three.folder) == contents(one.folder) == contents(two.folder)
    with one.own("hdx"):
        folder(one).write("more", run=SECOND)
    two.refresh()
    assert contents(two.folder) == contents(one.folder)


def test_merged_files_are_of_a_bounded_size(one, store, monkeypatch):
    """To make one takes ten times its size of memory."""
    most = 256 * 1024
    monkeypatch.setattr("crawlers.fleet.store.table._TARGET", most)
    with one.own("hdx") as taken:
        for number in range(24):
            folder(one).write(f"id{number}", random.Random(number).randbytes(15_000).hex(), run=SECOND)
            taken.store()
        taken.tidy()
        sizes = [Path(uri).stat().st_size for uri in table(store).file_uris()]
    assert 1 < len(sizes) < 24, "they are merged, and not into one"
    assert max(sizes) <= most


def test_a_table_that_another_program_tidies_while_it_is_written(one, two, tmp_path, store):
    """As a job of delta-rs or Spark does, which keeps nothing for slow readers."""
    with one.own("hdx") as taken:
        for number in range(12):
            folder(one).write(f"id{number % 5}", f"version {number}", run=SECOND)
            taken.store()
            if number % 3 == 2:
                tidied = table(store)
                tidied.optimize.compact()
                tidied.vacuum(0, dry_run=False, enforce_retention_duration=False)
                two.refresh()
    for each in (two, three := mirror(tmp_path / "three", store)):
        each.refresh()
    assert contents(three.folder) == contents(two.folder) == contents(one.folder)
    assert len(stored(store, "offset", part="document")) == 12


def test_many_versions_are_dropped_by_one_commit(one, store):
    made, entry = Table(one.store, "hdx"), {"kind": "dataset", "dataset_id": "x", "time": FIRST}
    found = [document("datasets/x.json", b"x", offset, entry=entry) for offset in range(2100)]
    assert made.commit(1, "t", found) == "put"
    assert made.forget(SECOND) == 2099
    assert table(store).version() == 1
    assert [offset for (offset,) in stored(store, "offset", content=b"x")] == [2099]
    assert made.forget(SECOND) == 0


def test_a_change_of_a_table_that_others_write_is_made_again(one, two, store, monkeypatch):
    for run in (FIRST, SECOND):
        harvest(one, 2, run=run, text=run)
    current, end = Table._current, (one.folder / "hdx" / "manifest.jsonl").stat().st_size
    others = [document("datasets/x.json", b"x", end)]
    others.append(document("datasets/x.json", b"y", end + len(others[0].text)))

    def behind(self: Table) -> DeltaTable | None:
        found = current(self)
        if self.store is two.store and others:
            by_hand(store, [others.pop(0)])
        return found

    monkeypatch.setattr(Table, "_current", behind)
    assert Table(two.store, "hdx").forget(THIRD) == 2
    assert not others
    one.refresh()
    harvest(one, 1, run=THIRD)


def test_a_commit_that_is_refused_for_what_is_no_batch_is_made_again(one, two, monkeypatch):
    harvest(one, 1)
    append = Table._append

    def refused(*_: Any) -> None:
        monkeypatch.setattr(Table, "_append", append)
        raise CommitFailedError("Metadata changed since last commit.")

    monkeypatch.setattr(Table, "_append", refused)
    harvest(one, 1, run=SECOND, text="new")
    two.refresh()
    assert contents(two.folder) == contents(one.folder)


def test_of_two_that_make_a_table_at_once_one_does(one, two):
    """Else both had the first batch, and the table two of it."""
    for number in range(5):
        both, found = threading.Barrier(2), []

        def put(mirror: Mirror, both=both, found=found, number=number):
            made = Table(mirror.store, f"source{number}")
            made.last()
            both.wait()
            found.append(made.commit(1, mirror.folder.name, [rows.of_run({"status": "begun"})]))

        threads = [threading.Thread(target=put, args=(each,)) for each in (one, two)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert sorted(map(str, found)) == ["None", "put"]


def test_a_reader_whose_files_are_removed_looks_again(one, two, store, monkeypatch):
    for number in range(3):
        harvest(one, 2, run=f"20261121T0300{number:02d}Z", text=str(number))
    current, done = Table._current, []

    def cleaned(self: Table):
        found = current(self)
        if self.store is two.store and not done:
            done.append(table(store).optimize.compact())
            found_here = table(store)
            found_here.vacuum(0, dry_run=False, enforce_retention_duration=False, full=True)
        return found

    monkeypatch.setattr(Table, "_current", cleaned)
    two.refresh()
    assert done
    assert contents(two.folder) == contents(one.folder)


# Owners


def test_a_source_has_one_owner(one, two, monkeypatch):
    with one.own("hdx") as taken:
        folder(one).write("a")
        taken.store()
        batches = iter(range(100))

        def goes_on(_: float) -> None:
            folder(one).write(f"b{next(batches)}")
            taken.store()

        monkeypatch.setattr("crawlers.fleet.store.owner.time.sleep", goes_on)
        with pytest.raises(TakenError, match=r"^\[hdx\] is taken by .+: wait for it to end\.$"):
            two.own("hdx")
        two.own("other").close()


def test_a_source_has_one_owner_on_one_machine(one, store):
    with one.own("hdx"):
        with pytest.raises(TakenError, match=r"^\[hdx\] is used by another process of this machine"):
            mirror(one.folder, store).own("hdx")
        assert one.refresh() == [], "its own crawl keeps it up to date"


def test_a_source_that_nobody_stores_into_is_taken(one, two, tmp_path, store):
    late = one.own("hdx")
    folder(one).write("a")
    late.store()
    told: list[str] = []
    two.store.tell, two.seconds = told.append, 2.0
    with two.own("hdx") as taken:
        assert not taken.is_open or taken.source.state.batch == 2, "who had it is refused from now on"
        folder(two).write("b")
    late.close()
    node = os.uname().nodename
    (sentence,) = told
    assert re.fullmatch(rf"\[hdx\] is taken by {node}: waiting at most [0-2] seconds for a sign of life\.", sentence)
    three = mirror(tmp_path / "three", store)
    three.refresh()
    assert contents(three.folder) == contents(two.folder)


def test_the_age_of_a_batch_is_by_the_servers_clock(one, two):
    late = one.own("hdx")
    folder(one).write("a")
    late.store()
    two.offset = time.time() + 61 - owner.clock()
    two.own("hdx").close()
    late.close()


def test_the_clock_of_a_file_server_counts(tmp_path, store, monkeypatch):
    modified, ahead = Store.modified, 30
    monkeypatch.setattr(Store, "modified", lambda self, name: modified(self, name) + ahead)
    here = mirror(tmp_path / "here", store)
    assert here.now() == pytest.approx(time.time() + 30, abs=15)
    assert [path.name for path in store.iterdir()] == ["catalogue-crawlers.json"]
    ahead = 200
    with pytest.raises(StoreError, match=r"^The clock of this machine is \d+ seconds behind that of file:.+ by NTP\.$"):
        here.check(creates=True)
    here.check(creates=False)  # who reads writes nothing


def test_the_late_writes_of_an_owner_are_refused(one, two, tmp_path, store):
    late = one.own("hdx")
    folder(one).write("a")
    late.store()
    folder(one).write("late")
    two.seconds = 0.0
    with two.own("hdx"):
        folder(two).write("b")
    sentence = r"^\[hdx\] was crawled by .+ meanwhile \(batch 2\): nothing more is stored from here\.$"
    for _ in range(2):
        with pytest.raises(TakenError, match=sentence):
            late.store()
    assert not late.is_held
    late.reset()
    late.close()
    three = mirror(tmp_path / "three", store)
    three.refresh()
    assert contents(three.folder) == contents(two.folder) == contents(one.folder)
    assert sorted(path.stem for path in (three.folder / "hdx" / "datasets").iterdir()) == ["a", "b"]


def test_a_late_writer_whose_snapshot_is_old_is_refused(one, two, monkeypatch):
    """Delta takes a lower number of a batch on a new snapshot: it is compared on the snapshot of the commit."""
    with one.own("hdx"):
        folder(one).write("first")
    late = one.own("hdx")
    folder(one).write("late")
    append = Table._append

    def paused(self: Table, *words: Any):
        monkeypatch.undo()
        with two.own("hdx"):
            folder(two).write("b")
        return append(self, *words)

    monkeypatch.setattr(Table, "_append", paused)
    with pytest.raises(TakenError):
        late.store()
    late.close()
    assert sorted(path.stem for path in (two.folder / "hdx" / "datasets").iterdir()) == ["b", "first"]


def test_two_that_begin_a_source_at_once(one, two, monkeypatch):
    late = one.own("hdx")
    folder(one).write("late")
    with two.own("hdx"):
        folder(two).write("b")
    with pytest.raises(TakenError):
        late.store()
    late.close()


@pytest.mark.parametrize("is_new", [True, False])
def test_an_answer_that_is_lost_is_no_other_batch(one, two, store, monkeypatch, is_new):
    if not is_new:
        harvest(one, 1)
    append = Table._append

    def lost(self: Table, *words: Any) -> None:
        append(self, *words)
        monkeypatch.undo()
        raise OSError("Generic S3 error: HTTP error: connection closed")

    one.store.patience = 60
    monkeypatch.setattr(Table, "_append", lost)
    harvest(one, 2, run=SECOND, text="new")
    two.refresh()
    assert contents(two.folder) == contents(one.folder)
    assert len(stored(store, "line", run=SECOND, part="document")) == 2


def test_a_copied_mirror_is_brought_up_to_what_the_other_one_stores(one, store, tmp_path):
    with one.own("hdx") as taken:
        folder(one).write("a")
        taken.store()
        shutil.copytree(one.folder, tmp_path / "copied")
        folder(one).write("b")
        folder(one).append("errors.jsonl", {"run": FIRST})
        taken.store()
    copied = mirror(tmp_path / "copied", store)
    copied.refresh()
    assert contents(copied.folder) == contents(one.folder)
    with copied.own("hdx") as taken:
        assert taken.is_rebuilt, "its job may not go on"


def test_of_a_mirror_and_its_copy_the_first_batch_counts(one, store, tmp_path):
    late = one.own("hdx")
    folder(one).write("a")
    late.store()
    shutil.copytree(one.folder, tmp_path / "copied")
    copied = mirror(tmp_path / "copied", store)
    with copied.own("hdx"):
        folder(copied).write("theirs")
    folder(one).write("late")
    with pytest.raises(TakenError):
        late.store()
    late.reset()
    late.close()
    assert contents(one.folder) == contents(copied.folder)
    (left,) = one.known.glob("left/*/hdx")
    assert (left / "datasets" / "late.json").exists()


def test_a_table_that_others_tidy_takes_nothing_of_what_is_not_stored_yet(one, two):
    series = one.folder / "hdx" / "timeseries" / "2026.csv"
    series.parent.mkdir(parents=True)
    series.write_text("old\n")
    harvest(one, 2, text="first")
    folder(one).write("id00000", "second", run=SECOND)
    series.write_text("old\nnew\n")
    before = contents(one.folder)
    with two.own("hdx") as taken:
        taken.tidy()
    with one.own("hdx"):
        pass
    two.refresh()
    assert contents(two.folder) == contents(one.folder) == before


def test_a_table_that_was_made_again_with_as_many_batches(one, two, tmp_path, store):
    for number in range(2):
        harvest(one, 2, run=(FIRST, SECOND)[number])
    shutil.rmtree(store / "hdx")
    for number in range(2):
        harvest(two, 3, run=(FIRST, SECOND)[number], text="other")
    one.refresh()
    assert contents(one.folder) == contents(two.folder)
    harvest(one, 4, run=THIRD)
    two.refresh()
    assert contents(one.folder) == contents(two.folder)


def test_a_removal_that_was_killed_takes_nothing_of_what_comes_later(one, two, tmp_path, store, monkeypatch):
    """The rows before it stay in the table until it is tidied."""
    harvest(one, 3)
    with monkeypatch.context() as patch, pytest.raises(SystemExit), one.own("hdx") as taken:  # noqa: PT012
        patch.setattr(Table, "empty", lambda *_: sys.exit())
        taken.empty()
    shutil.rmtree(one.folder / "hdx", ignore_errors=True)
    harvest(one, 3, run=SECOND, text="new")
    with one.own("hdx") as taken:
        assert taken.forget(time.time()) == 0
        assert len(stored(store, "line", part="document")) == 6
        taken.tidy()
    assert [json.loads(content)["text"] for (content,) in stored(store, "content", part="document")] == ["new"] * 3
    two.refresh()
    assert contents(two.folder) == contents(one.folder)


def test_what_a_user_has_in_a_folder_that_is_brought_up_anew_stays(one, two, tmp_path):
    told: list[str] = []
    harvest(one, 2)
    (one.folder / "hdx" / "notes.txt").write_text("mine")
    (one.folder / "hdx" / "manifest.jsonl").write_bytes(b"")
    one.store.tell = told.append
    one.refresh()
    (left,) = one.known.glob("left/*/hdx")
    assert {path.name for path in left.rglob("*") if path.is_file()} == {"notes.txt"}
    assert told[0].endswith(f"What only this machine had is in {left}.")
    elsewhere = tmp_path / "elsewhere"
    (one.folder / "hdx").rename(elsewhere)
    (one.folder / "hdx").symlink_to(elsewhere)
    (elsewhere / "mine.txt").write_text("mine")
    (elsewhere / "manifest.jsonl").write_bytes(b"")
    one.refresh()
    assert (elsewhere / "mine.txt").exists()
    assert (elsewhere / "datasets" / "id00001.json").exists()


def test_two_copies_of_a_machine_that_was_committing_store_nothing_twice(one, two, tmp_path, store):
    """The batch of both has one token."""
    harvest(one, 2)
    with State(one.known / "hdx.sqlite") as state:
        state.note(pending={"batch": state.batch + 1, "token": "of both"})
    shutil.copytree(one.folder, tmp_path / "copied")
    harvest(one, 3, run=SECOND, text="of one")
    copy = mirror(tmp_path / "copied", store)
    folder(copy).write("id00009", "of the copy, and longer than what the other one has", run=SECOND)
    copy.refresh()
    two.refresh()
    assert contents(copy.folder) == contents(two.folder) == contents(one.folder)
    (left,) = copy.known.glob("left/*/hdx")
    assert (left / "datasets" / "id00009.json").exists()


def test_a_copy_that_was_committing_when_it_stored_finds_that_the_other_one_has(one, two, tmp_path, store, monkeypatch):
    harvest(one, 2)
    copied = tmp_path / "copied"
    shutil.copytree(one.folder, copied)
    copy = mirror(copied, store)
    with pytest.raises(TakenError, match="crawled by a copy of this machine"), copy.own("hdx") as taken:  # noqa: PT012
        folder(copy).write("id00009", "of the copy, and longer than what the other one has", run=SECOND)
        real = Table.commit

        def late(self: Table, number: int, token: str, batch: Any) -> Any:
            monkeypatch.setattr(Table, "commit", real)
            with State(one.known / "hdx.sqlite") as state:
                state.note(pending={"batch": number, "token": token})
            harvest(one, 3, run=SECOND, text="of one")
            return real(self, number, token, batch)

        monkeypatch.setattr(Table, "commit", late)
        taken.store()
    for each in (copy, two):
        each.refresh()
    assert contents(copy.folder) == contents(two.folder) == contents(one.folder)


def test_a_pulled_folder_that_was_changed_stays_if_its_source_is_removed(one, tmp_path, store):
    harvest(one, 2)
    copy = copied(tmp_path, store)
    copy.pull("hdx")
    folder(copy).write("late", run=SECOND)
    with one.own("hdx") as taken:
        taken.empty()
    with pytest.raises(OutputError, match="was changed since it was pulled"):
        copy.pull("hdx")
    assert (copy.folder / "hdx" / "datasets" / "late.json").exists()


def test_a_reader_waits_for_another_one(one, two, monkeypatch):
    harvest(one, 2)
    monkeypatch.setattr(mirrors, "_TRIES", 1000)
    held = two.lock("hdx")
    lock = mirrors.take(held)
    threading.Timer(0.2, os.close, (lock,)).start()
    assert two.refresh() == ["hdx"]


def test_what_was_compacted_and_never_stored_is_kept_aside_if_others_went_on(one, two):
    harvest(one, 3)
    harvest(one, 3, run=SECOND, text="new")
    two.refresh()
    assert lines.compact(two.folder / "hdx", "manifest.jsonl")
    folder(two).write("mine", run=THIRD)
    with one.own("hdx"):
        folder(one).write("more", run=THIRD)
    two.refresh()
    assert contents(two.folder) == contents(one.folder)
    (left,) = two.known.glob("left/*/hdx")
    assert any(b'"mine"' in line for _, line in lines.read(left, "manifest.jsonl"))
    assert (left / "datasets" / "mine.json").exists()


def test_what_a_crawl_had_not_stored_is_stored_when_its_machine_is_back(one, two):
    late = one.own("hdx")
    folder(one).write("a")
    late.store()
    folder(one).write("b")
    late.close()  # it was killed
    with one.own("hdx") as taken:
        assert not taken.is_rebuilt
    two.refresh()
    assert contents(two.folder) == contents(one.folder)
    assert len(list((two.folder / "hdx" / "datasets").iterdir())) == 2


def test_a_killed_crawl_that_had_nothing_more_gives_its_source_back_when_it_is_back(one, two):
    late = one.own("hdx")
    folder(one).write("a")
    late.store()
    late.close()
    one.own("hdx").close()
    two.seconds = 1e9
    two.own("hdx").close()


def test_what_a_crawl_had_not_stored_is_undone_if_others_went_on(one, two):
    late = one.own("hdx")
    folder(one).write("a", "first")
    folder(one).write("c", "first")
    late.store()
    folder(one).write("b")
    folder(one).write("a", "second")
    folder(one).report(FIRST)
    late.close()
    two.seconds = 0.0
    with two.own("hdx"):
        folder(two).write("d")
    with one.own("hdx") as taken:
        assert taken.is_rebuilt
        assert contents(one.folder) == contents(two.folder)


def test_a_document_that_was_written_without_its_line_is_undone_if_others_went_on(one, two):
    harvest(one, 2)
    two.refresh()
    (two.folder / "hdx" / "datasets" / "id00001.json").write_text("{}")
    (two.folder / "hdx" / ".batch").write_text("[]\n")  # a crawl was killed there
    with one.own("hdx"):
        folder(one).write("more", run=SECOND)
    two.refresh()
    assert contents(two.folder) == contents(one.folder)


def test_an_owner_that_stored_nothing_undoes_nothing(one, two):
    late = one.own("hdx")
    folder(one).write("a")
    late.close()
    with two.own("hdx"):
        pass
    with one.own("hdx"):
        pass
    two.refresh()
    assert contents(two.folder) == contents(one.folder)
    assert (two.folder / "hdx" / "datasets" / "a.json").exists()


def test_a_folder_that_somebody_emptied_is_brought_again(one, two):
    harvest(one, 5)
    for path in ("manifest.jsonl", "datasets/id00003.json"):
        (one.folder / "hdx" / path).unlink()
    with one.own("hdx") as taken:
        assert taken.is_rebuilt
    two.refresh()
    assert contents(two.folder) == contents(one.folder)
    assert len(list((one.folder / "hdx" / "datasets").iterdir())) == 5


def test_a_crawl_elsewhere_is_seen_as_running(one, two):
    with one.own("hdx") as taken:
        folder(one).write("a")
        running = {"run": FIRST, "heartbeat": "2020", "host": "far"}
        (one.folder / "hdx" / "running.json").write_text(json.dumps(running))
        taken.store()
        two.refresh()
        seen = json.loads((two.folder / "hdx" / "running.json").read_bytes())
        assert (seen["run"], seen["elsewhere"], seen["host"]) == (FIRST, True, "far")
        assert seen["heartbeat"] > "2026", "by this machine's clock"
        (one.folder / "hdx" / "running.json").unlink()
    two.refresh()
    assert not (two.folder / "hdx" / "running.json").exists()


def test_a_sign_of_life_is_stored_while_there_is_nothing_else(one, two, store, monkeypatch):
    with one.own("hdx") as taken:
        taken.store()
        assert two.sources() == [], "not before it is needed"
        one.beat = 0.0
        taken.store()
        monkeypatch.setattr("crawlers.fleet.store.owner.time.sleep", lambda _: taken.store())
        with pytest.raises(TakenError):
            two.own("hdx")
    assert stored(store, "status", part="run")[0] == ("begun",)
    assert {status for (status,) in stored(store, "status", part="run")[1:-1]} <= {"going"}
    assert stored(store, "status", part="run")[-1] == ("ended",)


def test_a_source_is_given_back_while_a_thread_stores_it(one, two, store, monkeypatch):
    append, is_put, goes_on = Table._append, threading.Event(), threading.Event()

    def slowly(self: Table, *words: Any) -> None:
        append(self, *words)
        is_put.set()
        goes_on.wait(HANG)

    taken = one.own("hdx")
    folder(one).write("a")
    monkeypatch.setattr(Table, "_append", slowly)
    thread = threading.Thread(target=taken.store)
    thread.start()
    assert is_put.wait(HANG)
    threading.Timer(0.1, goes_on.set).start()
    taken.release()
    thread.join()
    folder(one).write("b")
    with pytest.raises(StoreError, match=r"^\[hdx\] was given back: nothing more is stored from here\.$"):
        taken.store()
    taken.close()
    assert stored(store, "status", part="run") == [("begun",), ("ended",)]
    monkeypatch.setattr("crawlers.fleet.store.owner.time.sleep", lambda _: pytest.fail("it is not free"))
    two.own("hdx").close()


@pytest.mark.parametrize("is_first", [True, False])
def test_a_source_is_given_back_after_a_batch_whose_answer_was_lost(one, two, monkeypatch, is_first):
    append = Table._append

    def lost(self: Table, *words: Any) -> None:
        append(self, *words)
        raise OSError("Generic S3 error: HTTP error: connection closed")

    taken = one.own("hdx")
    if not is_first:
        folder(one).write("a")
        taken.store()
    folder(one).write("b")
    one.store.patience = 0
    with monkeypatch.context() as patched:
        patched.setattr(Table, "_append", lost)
        with pytest.raises(StoreError):
            taken.store()
    taken.release()
    taken.close()
    monkeypatch.setattr("crawlers.fleet.store.owner.time.sleep", lambda _: pytest.fail("it is not free"))
    two.own("hdx").close()


def test_a_batch_that_lands_and_is_answered_as_a_conflict_is_one_batch(one, store, monkeypatch):
    append = Table._append

    def refused(self: Table, *words: Any) -> None:
        append(self, *words)
        raise CommitFailedError("version exists")

    with one.own("hdx") as taken:
        folder(one).write("a")
        taken.store()
        monkeypatch.setattr(Table, "_append", refused)
        folder(one).report(FIRST)
    assert stored(store, "batch", "status", part="run") == [(1, "begun"), (2, "ended")]


def test_former_versions_are_read_by_a_thread_and_the_source_is_closed_by_another(one):
    with one.own("hdx") as taken:
        folder(one).write("a")
        taken.store()
        Versions.writing(one.folder / "hdx").close()
        folder(one).write("a", "changed")
        file = one.folder / "hdx" / "manifest.jsonl"
        before, last = file.read_text().splitlines()
        file.write_text(f"{before}\n{json.dumps(json.loads(last) | {'status': 'updated'})}\n")
        thread = threading.Thread(target=taken.store)
        thread.start()
        thread.join()
    one.own("hdx").close()


# Kills


@pytest.fixture
def dies(monkeypatch) -> Callable[..., None]:
    """Own a source, and die where the batch is, or is not, committed, before this machine notes that."""

    def own(mirror: Mirror, when: str = "after", work: Callable[[Any], None] = lambda _: None) -> None:
        append = Table._append

        def dying(self: Table, *words: Any) -> None:
            if when == "after":
                append(self, *words)
            raise SystemExit

        with monkeypatch.context() as patched:
            patched.setattr(Table, "_append", dying)
            with pytest.raises(SystemExit), mirror.own("hdx") as taken:
                work(taken)

    return own


@pytest.mark.parametrize("when", ["before", "after"])
def test_what_changes_after_a_kill_is_stored(one, two, dies, when):
    series = one.folder / "hdx" / "timeseries" / "2026.csv"
    folder(one).write("a", "old")
    folder(one).write("b", "old")
    folder(one).report(FIRST)
    series.parent.mkdir()
    series.write_text("old\n")
    dies(one, when)
    folder(one).write("a", "new", run=SECOND)
    folder(one).report(FIRST, listed=2)
    series.write_text("old\nnew\n")
    before = contents(one.folder)
    with one.own("hdx"):
        pass
    two.refresh()
    assert contents(two.folder) == contents(one.folder) == before


def test_a_commit_that_lands_after_a_kill_is_known_as_ours(one, two, dies, monkeypatch, store):
    """The server puts it late: it has the token of the batch that is tried next."""
    harvest(one, 1)
    folder(one).write("late", run=SECOND)
    put: list[Any] = []
    append = Table._append

    def held(self: Table, *words: Any) -> None:
        put.append((words[1:], self.source))
        raise SystemExit

    with monkeypatch.context() as patched:
        patched.setattr(Table, "_append", held)
        with pytest.raises(SystemExit):
            one.own("hdx")
    folder(one).write("next", run=SECOND)

    def late(self: Table, *words: Any) -> None:
        patched_words, _ = put[0]
        append(Table(self.store, self.source), table(store), *patched_words)
        monkeypatch.undo()
        append(self, *words)

    monkeypatch.setattr(Table, "_append", late)
    with one.own("hdx") as taken:
        assert not taken.is_rebuilt
    two.refresh()
    assert contents(two.folder) == contents(one.folder)
    assert len(documents(contents(two.folder))) == 3


def test_what_others_have_stored_replaces_what_was_not_with_its_lines(one, two):
    harvest(one, 2)
    two.refresh()
    folder(one).write("id00000", "ours", run=SECOND)
    with two.own("hdx"):
        folder(two).write("id00000", "theirs", run=THIRD)
    with one.own("hdx") as taken:
        assert taken.is_rebuilt
    assert contents(one.folder) == contents(two.folder)
    assert b"ours" not in b"".join(contents(one.folder).values())


@pytest.mark.parametrize("kills", [1, 2, 3])
def test_a_job_goes_on_however_often_its_crawl_was_killed(one, kills, dies):
    taken = one.own("hdx")
    folder(one).write("a")
    taken.store()
    taken.close()
    for number in range(1, kills):
        folder(one).write(f"b{number}")
        dies(one)
    with one.own("hdx") as taken:
        assert not taken.is_rebuilt


def test_a_folder_that_is_compacted_after_a_kill_is_stored(one, two, dies):
    harvest(one, 3)
    harvest(one, 3, run=SECOND, text="new")
    folder(one).write("more", run=THIRD)
    dies(one)
    assert lines.compact(one.folder / "hdx", "manifest.jsonl")
    before = lines_of(one)
    with one.own("hdx"):
        pass
    two.refresh()
    assert lines_of(two) == lines_of(one) == before


@pytest.mark.parametrize("when", ["before", "after"])
def test_a_folder_that_is_crawled_after_a_kill_in_its_removal_stays(one, two, dies, when):
    harvest(one, 3)
    two.refresh()
    dies(one, when, lambda taken: taken.empty())
    folder(one).write("id00000", "new", run=SECOND)
    with one.own("hdx"):
        pass
    two.refresh()
    assert contents(two.folder) == contents(one.folder)
    assert "hdx/datasets/id00000.json" in contents(two.folder)


@pytest.mark.parametrize("where", ["version", "document", "append", "file", "note"])
@pytest.mark.parametrize("count", [1, 2])
def test_a_kill_while_a_mirror_is_brought_up_is_made_good(one, two, monkeypatch, where, count):
    """At each border; also if others store more before it goes on."""
    folder(one).write("a", "1")
    harvest(one, 3)
    two.refresh()
    with one.own("hdx"):
        update(one, "a", "2", SECOND)
        folder(one).write("id00001", slug="renamed", run=SECOND)
        folder(one).report(SECOND)
    (one.folder / "hdx" / "datasets" / "id00001.json").unlink()
    place, name = {
        "version": (Versions, "keep"),
        "document": (inside.Writer, "write"),
        "append": (Followed, "_append"),
        "file": (Followed, "_write"),
        "note": (State, "note"),
    }[where]
    done, real = [], getattr(place, name)

    def dying(*words: Any, **options: Any) -> Any:
        done.append(where)
        if len(done) == count + (where == "note"):
            raise SystemExit
        return real(*words, **options)

    with monkeypatch.context() as patched:
        patched.setattr(place, name, dying)
        with pytest.raises(SystemExit) if where not in ("version", "append", "file") or count == 1 else _nothing():
            two.refresh()
    if count == 2:
        (one.folder / "hdx" / "datasets" / "id00001__renamed.json").unlink()
        harvest(one, 4, run=THIRD, text="newer")
    two.refresh()
    assert contents(two.folder) == contents(one.folder)
    assert not list(two.known.glob("left/*")), "nothing of it was this machine's own"
    assert [row for row in versions(two) if row[0] == "a"] == [row for row in versions(one) if row[0] == "a"]


def _nothing() -> Any:
    from contextlib import nullcontext  # noqa: PLC0415

    return nullcontext()


@pytest.mark.parametrize("where", ["built", "left", "swapped"])
def test_a_kill_while_a_folder_is_brought_up_anew_is_made_good(one, two, monkeypatch, where):
    harvest(one, 3)
    two.refresh()
    folder(two).write("mine", run=SECOND)
    with one.own("hdx"):
        folder(one).write("more", run=THIRD)
    real, count = Path.rename, {"built": 1, "left": 2, "swapped": 3}[where]
    done: list[Path] = []
    told: list[str] = []
    two.store.tell = told.append

    def dying(self: Path, target: Path) -> Path:
        done.append(self)
        if len(done) == count:
            raise SystemExit
        return real(self, target)

    with monkeypatch.context() as patched:
        patched.setattr(Path, "rename", dying)
        with pytest.raises(SystemExit):
            two.refresh()
    two.refresh()
    with two.own("hdx"):
        pass
    assert contents(two.folder) == contents(one.folder)
    (left,) = two.known.glob("left/*/hdx")
    assert (left / "datasets" / "mine.json").exists(), "nothing is deleted"
    assert [sentence.endswith(f"What only this machine had is in {left}.") for sentence in told] == [True]


def test_a_source_whose_folder_can_not_be_moved_is_removed(one, two, monkeypatch):
    harvest(one, 3)
    two.refresh()

    def busy(*_: object) -> None:
        raise OSError(16, "busy")

    with monkeypatch.context() as patched, one.own("hdx") as taken:
        patched.setattr(Path, "rename", busy)
        taken.empty()
    with one.own("hdx"):
        pass
    two.refresh()
    assert not contents(two.folder) | contents(one.folder)


def test_a_source_that_a_killed_removal_left_is_no_half_of_one(one, two, monkeypatch):
    harvest(one, 3)
    two.refresh()

    def dying(path: Path, **_: object) -> None:
        for document in path.rglob("id00001.json"):
            document.unlink()
            raise SystemExit

    with monkeypatch.context() as patched:
        patched.setattr("crawlers.fleet.store.source.shutil.rmtree", dying)
        with pytest.raises(SystemExit), one.own("hdx") as taken:
            taken.empty()
    for each in (one, two):
        each.refresh()
        with each.own("hdx"):
            pass
    assert not contents(two.folder) | contents(one.folder)


def test_a_damaged_part_keeps_nobody_from_the_source(one):
    harvest(one, 1)
    harvest(one, 1, run=SECOND, text="new")
    with one.own("hdx"):
        lines.compact(one.folder / "hdx", "manifest.jsonl")
        folder(one).write("more", "much more" * 100, run=SECOND)
    (part,) = (one.folder / "hdx").glob("manifest-*.zst")
    part.write_bytes(part.read_bytes()[:-6] + b"dam" + part.read_bytes()[-3:])
    with one.own("hdx") as taken:
        assert taken.source.state.batch


def test_the_progress_counts_documents_and_files(one, two):
    harvest(one, 3)
    two.refresh()
    told: list[int] = []
    one.tell = told.append
    with one.own("hdx"):
        folder(one).write("more", run=THIRD)
        folder(one).report(THIRD)
    assert sum(told) == 2


def test_a_compaction_that_was_killed_before_the_lines_went_is_finished(one, two, monkeypatch):
    harvest(one, 2)
    harvest(one, 2, run=SECOND, text="new")
    two.refresh()
    before = lines_of(two)
    taken = one.own("hdx")
    with monkeypatch.context() as patched:
        patched.setattr(lines, "_cut", lambda *_: sys.exit())
        with pytest.raises(SystemExit):
            lines.compact(one.folder / "hdx", "manifest.jsonl")
    taken.close()
    with one.own("hdx"):
        pass
    two.refresh()
    assert lines_of(two) == lines_of(one) == before


def lines_of(mirror: Mirror) -> list[bytes]:
    """The lines of the error log and the manifest, those in compressed parts, too."""
    files = ("errors.jsonl", "flaws.jsonl", "manifest.jsonl")
    return [line for file in files for _, line in lines.read(mirror.folder / "hdx", file)]


# What can be wrong


def by_hand(store: Path, found: list[rows.Row], number: int | None = None) -> None:
    """Commit a batch as somebody would who may write into the store."""
    here = table(store)
    number = number or (here.transaction_version("hdx") or 0) + 1
    batch = rows.as_table("hdx", number, "evil", [*found, rows.of_run({"status": "ended", "node": "evil"})])
    commit = CommitProperties(app_transactions=[Transaction("hdx", number)])
    write_deltalake(here, batch, mode="append", schema_mode="merge", commit_properties=commit)


def document(file: str, body: bytes, offset: int, **changed: Any) -> rows.Row:
    sha256 = hashlib.sha256(body).hexdigest()
    line = {"kind": "dataset", "dataset_id": "x", "metadata_file": file, "sha256": sha256, "bytes": len(body)}
    made = rows.of_line("manifest.jsonl", offset, json.dumps(line | {"run": FIRST, "status": "new"}).encode() + b"\n")
    return made._replace(**{"content": body, **changed})


OUTSIDE = ("../../outside.json", "datasets/../../../outside.json", "/tmp/outside.json", "index.sqlite", ".lock")


@pytest.mark.parametrize("file", OUTSIDE)
@pytest.mark.parametrize("part", ["document", "file", "gone"])
def test_a_row_that_names_a_file_outside(one, two, store, file, part):
    harvest(one, 1)
    end = (one.folder / "hdx" / "manifest.jsonl").stat().st_size
    row = document(file, b"x", end) if part == "document" else rows.of_file(file, b"x", 0)._replace(part=part)
    two.folder.mkdir()
    (two.folder / "index.sqlite").write_bytes(b"mine")
    by_hand(store, [row])
    with pytest.raises(
        StoreError, match=r"^\[hdx\] is damaged in file:.+ is not a valid path in a source's folder\)\.$"
    ):
        two.refresh()
    assert (two.folder / "index.sqlite").read_bytes() == b"mine"


def test_lines_are_not_removed_by_a_row(one, two, store):
    harvest(one, 1)
    two.refresh()
    before = contents(two.folder)
    by_hand(store, [rows.Row("gone", "manifest.jsonl")])
    with pytest.raises(StoreError, match="is not a valid path in a source's folder"):
        two.refresh()
    assert contents(two.folder) == before


def test_a_document_that_is_not_what_its_hash_says(one, two, store):
    harvest(one, 1)
    end = (one.folder / "hdx" / "manifest.jsonl").stat().st_size
    by_hand(store, [document("datasets/x.json", b"x", end, content=b"y")])
    with pytest.raises(StoreError, match=r"^\[hdx\] is damaged .+'datasets/x.json' is not what its hash says\)\.$"):
        two.refresh()


def test_lines_that_are_missing(one, two, store):
    harvest(one, 1)
    by_hand(store, [document("datasets/x.json", b"x", 10_000)])
    with pytest.raises(StoreError, match=r"^\[hdx\] is damaged .+lines of manifest.jsonl are missing\)\.$"):
        two.refresh()


def test_rows_without_what_they_need_are_lines_alone(one, two, store):
    harvest(one, 1)
    two.refresh()
    end = (one.folder / "hdx" / "manifest.jsonl").stat().st_size
    made = rows.of_line("manifest.jsonl", end, b'{"dataset_id": 7, "sha256": [1], "bytes": "x"}\n')
    by_hand(store, [made])
    two.refresh()
    assert (two.folder / "hdx" / "manifest.jsonl").read_bytes().endswith(b'"bytes": "x"}\n')


@pytest.mark.parametrize("what", ["log", "parquet", "commit"])
def test_a_source_that_is_damaged_does_not_stop_the_others(one, two, store, what):
    harvest(one, 2)
    with one.own("other"):
        folder(one, "other").write("a")
    if what == "parquet":
        next((store / "hdx").glob("*.parquet")).write_bytes(b"damaged")
    elif what == "log":
        next((store / "hdx" / "_delta_log").glob("*.json")).write_bytes(b"{")
    else:
        for path in (store / "hdx").glob("*.parquet"):
            path.unlink()
    told: list[str] = []
    assert two.refresh(lost=told.append) == ["other"]
    (sentence,) = told
    assert sentence.startswith(("[hdx] is damaged in file:", "file:"))
    assert "\n" not in sentence
    assert "\x1b" not in sentence


OTHER_TYPES: dict[str, Any] = {"line": b"{}", "raw": "x", "content": ["x"], "batch": 1.0, "offset": "0", "status": 1}


@pytest.mark.parametrize("column", OTHER_TYPES)
def test_a_table_whose_columns_have_other_types(one, two, store, column):
    with one.own("other"):
        folder(one, "other").write("a")
    hostile = pa.table({"part": ["run"], "batch": [1], "line": ["{}"]} | {column: [OTHER_TYPES[column]]})
    commit = CommitProperties(app_transactions=[Transaction("hdx", 1)])
    write_deltalake(str(store / "hdx"), hostile, commit_properties=commit)
    told: list[str] = []
    assert two.refresh(lost=told.append) == ["other"]
    (sentence,) = told
    assert sentence.startswith("[hdx] is damaged in file:")
    assert sentence.endswith(f" (column {column} has another type).")


def test_a_crawl_elsewhere_that_says_what_is_no_json(one, two):
    harvest(one, 1)
    said = '{"status": "going", "running": {"requests": 1e999, "host": "\\ud800"}}'
    assert Table(one.store, "hdx").commit(2, "evil", [rows.Row("run", None, line=said)]) == "put"
    two.refresh()
    assert not (two.folder / "hdx" / "running.json").exists()


def test_a_table_of_another_history(one, two, tmp_path, store):
    harvest(one, 2)
    two.refresh()
    shutil.rmtree(store / "hdx")
    three = mirror(tmp_path / "three", store)
    for run in (FIRST, SECOND, THIRD):
        harvest(three, 2, run=run, text=f"other {run}")
    two.refresh()
    assert contents(two.folder) == contents(three.folder)


def test_a_table_that_is_gone_is_made_again_by_who_has_the_folder(one, two, store):
    harvest(one, 2)
    shutil.rmtree(store / "hdx")
    before = contents(one.folder)
    with one.own("hdx"):
        pass
    two.refresh()
    assert contents(two.folder) == contents(one.folder) == before


def test_a_column_that_a_newer_version_has(one, two, store):
    """An older and a newer program beside each other: both go on."""
    harvest(one, 1)
    newer = pa.table(
        {
            "source": ["hdx"],
            "part": ["run"],
            "batch": [2],
            "token": ["t"],
            "taste": ["sweet"],
            "line": ['{"status": "ended"}'],
        }
    )
    commit = CommitProperties(app_transactions=[Transaction("hdx", 2)])
    write_deltalake(table(store), newer, mode="append", schema_mode="merge", commit_properties=commit)
    one.refresh()
    with one.own("hdx"):
        folder(one).write("b", run=SECOND)
    two.refresh()
    assert contents(two.folder) == contents(one.folder)
    assert "taste" in table(store).to_pyarrow_table().column_names


def test_a_column_that_an_older_version_has_not(one, two, store, monkeypatch):
    older = [name for name in rows.schema().names if name != "fields"]
    real = rows.as_table
    with monkeypatch.context() as patched:
        patched.setattr("crawlers.fleet.store.table.as_table", lambda *words: real(*words).select(older))
        harvest(one, 1)
    two.refresh()
    assert contents(two.folder) == contents(one.folder)


NO_SOURCES = ("été", "a b", "o'brien", "x" * 101, "index.sqlite.d", ".hidden", "../x")


@pytest.mark.parametrize("source", NO_SOURCES)
def test_a_source_that_no_reader_would_find(one, store, source):
    before = sorted(store.rglob("*"))
    with pytest.raises(OutputError, match=r" can't be stored: the name of a source has at most 100 letters"):
        one.own(source)
    assert sorted(store.rglob("*")) == before


def test_folders_that_are_no_tables_are_no_sources(one, two, store):
    harvest(one, 1)
    for name in (".hidden/x", "index.sqlite/x", "a b/x"):
        (store / name).parent.mkdir()
        (store / name).write_text("mine")
    (store / "empty").mkdir()
    assert two.refresh() == ["hdx"]


OF_BEFORE = "`scrapy pull` it into a folder with commit "


@pytest.mark.parametrize(
    ("body", "told"),
    [
        (b'{"schema": 3}', "is of schema 3, and this version knows 2: install a newer one."),
        (b'{"schema": 1}', f"is of schema 1, and this version knows 2: {OF_BEFORE}"),
        (b"{", f"is of schema None, and this version knows 2: {OF_BEFORE}"),
    ],
)
def test_another_schema(tmp_path, store, body, told):
    store.mkdir()
    (store / "catalogue-crawlers.json").write_bytes(body)
    here = Mirror(Store.local(store, store.as_uri()), tmp_path / "here")
    with pytest.raises(StoreError) as raised:
        here.check(creates=True)
    assert str(raised.value).startswith(f"{store.as_uri()} {told}")
    assert [path.name for path in store.iterdir()] == ["catalogue-crawlers.json"]
    assert not (tmp_path / "here").exists()


def in_memory(objects: Any = None) -> Store:
    return Store(objects or MemoryStore(), ADDRESS)


def test_a_prefix_that_others_use(tmp_path):
    objects = MemoryStore()
    obstore.put(objects, "photos/cat.jpg", b"x")
    with pytest.raises(StoreError, match=r"^s3://bucket/prefix is not empty \('photos/cat.jpg'\) and no store: name"):
        Mirror(in_memory(objects), tmp_path).check(creates=True)


@pytest.mark.parametrize("ignored", ["create", "e_tag"])
def test_a_server_that_ignores_conditions(tmp_path, monkeypatch, ignored):
    put = obstore.put

    def lenient(*words, mode="overwrite", **options):
        return put(*words, mode="overwrite" if ignored in mode else mode, **options)

    monkeypatch.setattr(obstore, "put", lenient)
    with pytest.raises(StoreError, match=r"is on a server that ignores If-None-Match and If-Match: several nodes"):
        Mirror(in_memory(), tmp_path).check(creates=True)


def test_a_store_that_is_empty(tmp_path):
    with pytest.raises(StoreError, match="is empty: crawl a source first, or `scrapy push` a folder"):
        Mirror(in_memory(), tmp_path).check(creates=False)


def test_a_full_disk_leaves_what_was_there(one, two, monkeypatch):
    harvest(one, 2)
    two.refresh()
    before = contents(two.folder)
    harvest(one, 2, run=SECOND, text="new")

    def full(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr(inside.Writer, "write", full)
        with pytest.raises(StoreError, match=r"/hdx can't be brought up to date \(No space left on device\)\.$"):
            two.refresh()
    assert contents(two.folder) == before
    two.refresh()
    assert contents(two.folder) == contents(one.folder)


def test_a_full_disk_is_told_where_a_source_is_given_back(one, monkeypatch):
    taken = one.own("hdx")
    folder(one).write("a")
    taken.store()

    def full(*_: object, **__: object) -> None:
        raise sqlite3.OperationalError("database or disk is full")

    monkeypatch.setattr(State, "note", full)
    with pytest.raises(StoreError, match=r"/hdx can't be brought up to date \(database or disk is full\)\.$"):
        taken.release()
    taken.close()


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


def copied(tmp_path: Path, store: Path, name: str = "copy") -> Mirror:
    return mirror(tmp_path / name, store, keeps=True)


def test_a_copy_is_a_plain_folder(one, tmp_path, store):
    harvest(one, 3)
    copy = copied(tmp_path, store)
    with one.own("hdx"):
        copy.pull("hdx")
    assert contents(copy.folder) == contents(one.folder)


def test_a_copy_that_was_crawled_is_not_pulled_again(one, tmp_path, store):
    harvest(one, 3)
    copy = copied(tmp_path, store)
    copy.pull("hdx")
    folder(copy).write("mine")
    before = contents(copy.folder)
    sentence = r"copy/hdx was changed since it was pulled, or pushed: name another folder\.$"
    with pytest.raises(OutputError, match=sentence):
        copy.pull("hdx")
    harvest(one, 3, run=SECOND, text="new")
    with pytest.raises(OutputError, match=sentence):
        copy.pull("hdx")
    assert contents(copy.folder) == before


def test_a_folder_that_was_crawled_after_half_a_pull_keeps_its_documents(one, tmp_path, store, monkeypatch):
    harvest(one, 3)
    copy = copied(tmp_path, store)
    copy.pull("hdx")
    harvest(one, 3, run=SECOND, text="new")
    with monkeypatch.context() as patched:
        patched.setattr(Followed, "_append", lambda *_: sys.exit())
        with pytest.raises(SystemExit):
            copy.pull("hdx")
    folder(copy).write("mine", run=THIRD)
    manifest = (copy.folder / "hdx" / "manifest.jsonl").read_bytes()
    with pytest.raises(OutputError, match=r"copy/hdx was changed since it was pulled, or pushed: name another folder"):
        copy.pull("hdx")
    assert (copy.folder / "hdx" / "datasets" / "mine.json").exists()
    assert (copy.folder / "hdx" / "manifest.jsonl").read_bytes() == manifest


@pytest.mark.parametrize("where", ["document", "append"])
def test_a_first_pull_that_was_killed_goes_on(one, tmp_path, store, monkeypatch, where):
    harvest(one, 3)
    copy, done = copied(tmp_path, store), []
    place, name = {"document": (inside.Writer, "write"), "append": (Followed, "_append")}[where]
    real = getattr(place, name)

    def dying(*words: Any, **options: Any) -> Any:
        done.append(1)
        return sys.exit() if len(done) == 2 else real(*words, **options)

    with monkeypatch.context() as patched:
        patched.setattr(place, name, dying)
        with pytest.raises(SystemExit):
            copy.pull("hdx")
    copy.pull("hdx")
    assert contents(copy.folder) == contents(one.folder)


def test_a_copy_of_a_folder_that_was_pushed_is_another_one(tmp_path, store):
    pushed = copied(tmp_path, store, "pushed")
    harvest(pushed, 1, text="old")
    shutil.copytree(pushed.folder, tmp_path / "copy")
    copy = copied(tmp_path, store)
    folder(pushed).write("mine", run=SECOND)
    folder(copy).write("theirs", run=SECOND)
    assert copy.may_push("hdx")
    with copy.own("hdx"):
        pass
    assert not pushed.may_push("hdx")
    before = contents(pushed.folder)
    with pytest.raises(OutputError, match="was changed since it was pulled, or pushed"):
        pushed.own("hdx")
    assert contents(pushed.folder) == before


def test_a_folder_that_was_pushed_is_followed_until_others_store(one, two):
    assert one.may_push("hdx")
    harvest(one, 2)
    assert one.may_push("hdx")
    two.refresh()
    harvest(two, 2, run=SECOND, text="new")
    assert not one.may_push("hdx")


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


@pytest.mark.parametrize("address", ["gs://bucket/x", "az://x", "https://user:password@host/x"])
def test_an_address_of_another_kind(address):
    settings = BaseSettings({"OUTPUT_DIR": address, "OUTPUT_STORE": ""})
    with pytest.raises(OutputError) as raised:
        resolve(settings)
    assert str(raised.value) == "OUTPUT_DIR must be a folder or s3://bucket/prefix."


@pytest.mark.parametrize("address", ["file://host/x", "file:///", "file:x", "file:///a/../b"])
def test_a_folder_that_is_no_store(address):
    settings = BaseSettings({"OUTPUT_DIR": address, "OUTPUT_STORE": ""})
    with pytest.raises(OutputError) as raised:
        resolve(settings)
    assert str(raised.value) == "OUTPUT_DIR is no file:///folder: the folder's whole path follows three slashes."


PLACES = [f"s3://bucket/{sign}/x" for sign in ("a b", "a%20b", "ä", "~", "[1]", "a\\b", "*")]
PLACES += [f"file:///{sign}/x" for sign in ("%25", "%5B1]", "a|b", "a\\b", "^")]


@pytest.mark.parametrize("address", PLACES)
def test_a_place_that_the_engine_would_not_find_again(address):
    with pytest.raises(OutputError, match=r"^OUTPUT_DIR has .+: choose another (prefix|folder)\.$"):
        location.checked(address)


def test_a_folder_that_is_a_store(tmp_path):
    settings = BaseSettings({"OUTPUT_MIRROR": str(tmp_path), "OUTPUT_STORE": "", "OUTPUT_DIR": "FILE:///a%20b/c/"})
    resolve(settings)
    assert settings["OUTPUT_STORE"] == "file:///a%20b/c"
    assert settings["OUTPUT_DIR"] == str(tmp_path / folder_name("file:///a%20b/c"))


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
    for name in [name for name in sys.modules if name.startswith("crawlers.fleet.store")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "deltalake", None)
    sentence = r"^OUTPUT_DIR needs deltalake, of the extra fleet: pip install 'catalogue-crawlers\[fleet\]'\.$"
    with pytest.raises(ExtraError, match=sentence):
        location.opened(ADDRESS, tmp_path)


def test_a_harvest_gives_its_crawls_the_store():
    source = Source(name="hdx", spider="hdx")
    spider = SimpleNamespace(name="hdx", arguments={"source"}, crosses_hosts=True)
    given = {"OUTPUT_DIR": "elsewhere", "OUTPUT_STORE": "s3://other/x", "OUTPUT_MIRROR": "elsewhere"}
    made = job(source, spider, output=Path("/m/x"), jobs=Path("/j"), settings=given, store=ADDRESS)
    assert made.settings == {"OUTPUT_DIR": "/m/x", "OUTPUT_STORE": ADDRESS, "JOBDIR": "/j/hdx", "JOBS_DIR": "/j"}
    plain = job(source, spider, output=Path("/m/x"), jobs=Path("/j"), settings={})
    assert "OUTPUT_STORE" not in plain.settings


def test_a_request_is_repeated_until_patience_ends():
    here = in_memory()
    here.patience, told, asked = 0.6, [], []
    here.tell = told.append

    def ask() -> None:
        asked.append(1)
        raise obstore.exceptions.GenericError("Server returned non-2xx status code: 503 Service Unavailable")

    with pytest.raises(StoreUnreachableError, match=rf"^{ADDRESS}: the server answered 503 Service Unavailable\.$"):
        here.asked(ask)
    assert len(asked) == 2
    assert told == [f"{ADDRESS}: the server answered 503 Service Unavailable. It is tried again for 1 seconds."]


def test_an_error_of_a_file_system_is_no_lost_answer(store):
    here = Store.local(store, store.as_uri())
    here.patience = 600

    def ask() -> None:
        raise obstore.exceptions.GenericError("Generic LocalFileSystem error: x: Input/output error (os error 5)")

    with pytest.raises(StoreError, match=r"^file:.+/store: Input/output error; check the file system\.$") as raised:
        here.asked(ask)
    assert not isinstance(raised.value, StoreUnreachableError)


@pytest.mark.parametrize(
    ("text", "is_damaged"),
    [
        ("Object at location x not found: Server returned non-2xx status code: 404 Not Found: ", True),
        ("Server returned non-2xx status code: 404 Not Found: <Code>NoSuchBucket</Code>", False),
        ("Object at location /x not found: No such file or directory (os error 2)", True),
        ("Generic LocalFileSystem error: Permission denied (os error 13)", False),
        ("HTTP error: Connection reset by peer (os error 104)", False),
    ],
)
def test_a_file_that_is_missing_is_damage(one, text, is_damaged):
    def ask() -> None:
        raise DeltaError(text)

    with pytest.raises(StoreError) as raised:
        Table(one.store, "hdx")._asked(ask)
    assert str(raised.value).startswith("[hdx] is damaged in ") == is_damaged
