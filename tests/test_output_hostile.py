"""An output folder that others may write into: no link and no path in it leads a crawl, or a reader, out of it."""

from __future__ import annotations

import json
import os
import sqlite3
import subprocess
import sys

import pytest

from crawlers.exceptions import OutputError
from crawlers.operate.dashboard import datasets
from crawlers.operate.harvest.crawls import remove_reports
from crawlers.safety import inside
from crawlers.store import lines
from crawlers.store.folder import lock
from crawlers.store.index import Index, catch_up
from crawlers.store.lines import JSONLines
from crawlers.store.runs import runs
from tests.conftest import ROOT, command

SECRET = b'{"title": "a secret"}'
LINE = {
    "kind": "dataset",
    "dataset_id": "a",
    "resource_id": None,
    "metadata_source": "package_search",
    "metadata_file": "datasets/a.json",
    "metadata_url": "http://127.0.0.1/a",
    "time": "2026-11-20T00:00:00.000Z",
    "run": "20261120T000000Z",
    "status": "new",
    "sha256": "0" * 64,
    "bytes": len(SECRET),
    "metadata_modified": None,
}


@pytest.fixture
def folder(tmp_path):
    made = tmp_path / "output" / "127.0.0.1"
    (made / "datasets").mkdir(parents=True)
    return made


@pytest.fixture
def outside(tmp_path):
    file = tmp_path / "outside" / "secret.json"
    file.parent.mkdir()
    file.write_bytes(SECRET)
    return file


def manifest(folder, *lines):
    body = b"".join((line if isinstance(line, bytes) else json.dumps(line).encode()) + b"\n" for line in lines)
    (folder / "manifest.jsonl").write_bytes(body)


# One file


def _size_of_many(folder, file):
    with inside.Writer(folder) as files:
        return files.size(file)


def test_the_size_of_a_file_is_asked_for_without_making_its_folder(folder):
    inside.write(folder, "datasets/a.json", b"12")
    assert _size_of_many(folder, "datasets/a.json") == inside.size(folder, "datasets/a.json") == 2
    for missing in ("datasets/b.json", "profiles/sites/b.json"):
        with pytest.raises(FileNotFoundError):
            _size_of_many(folder, missing)
    assert not (folder / "profiles").exists()


@pytest.mark.parametrize(
    "file", ["../../outside/secret.json", "datasets/../../../outside/secret.json", "\0", "", "a//b"]
)
def test_no_path_leads_out(folder, outside, file):
    for way in (inside.read, inside.size, _size_of_many, inside.remove, inside.opened):
        with pytest.raises(OSError, match="leads out of its folder"):
            way(folder, file)
    with pytest.raises(OSError, match="leads out of its folder"):
        inside.write(folder, file, b"")
    with pytest.raises(OSError, match="leads out of its folder"):
        inside.read(folder, str(outside))
    assert outside.read_bytes() == SECRET


@pytest.mark.parametrize("link", ["file", "folder", "pipe"])
def test_no_link_is_followed(folder, outside, link):
    file = "datasets/secret.json"
    if link == "file":
        (folder / file).symlink_to(outside)
    elif link == "pipe":
        os.mkfifo(folder / file)
    else:
        (folder / "datasets").rmdir()
        (folder / "datasets").symlink_to(outside.parent)
    for way in (inside.read, inside.size, _size_of_many, inside.opened):
        with pytest.raises(OSError, match=r"symbolic link|no regular file"):
            way(folder, file)
    if link == "folder":
        with pytest.raises(OSError, match="symbolic link"):
            inside.write(folder, file, b"new")
        with pytest.raises(OSError, match="symbolic link"):
            inside.remove(folder, file)
    else:
        inside.write(folder, file, b"new")  # in its place, not through it
        assert inside.read(folder, file) == b"new"
        inside.remove(folder, file)
        inside.remove(folder, file)
    assert outside.read_bytes() == SECRET


@pytest.mark.parametrize("planted", ["link", "hard link", "pipe"])
def test_what_is_planted_as_a_scratch_file_is_not_written_through(folder, outside, planted):
    scratch = folder / ".writing"
    {"link": scratch.symlink_to, "hard link": scratch.hardlink_to, "pipe": lambda _: os.mkfifo(scratch)}[planted](
        outside
    )
    inside.write(folder, "datasets/a.json", b"new")
    assert (outside.read_bytes(), inside.read(folder, "datasets/a.json")) == (SECRET, b"new")
    assert not scratch.exists()


def test_a_file_is_read_up_to_a_size(folder):
    inside.write(folder, "datasets/a.json", b"12345")
    assert inside.read(folder, "datasets/a.json", 5) == b"12345"
    with pytest.raises(OSError, match="it is larger than 4 bytes"):
        inside.read(folder, "datasets/a.json", 4)


def test_the_users_own_link_to_a_folder_is_followed(folder, tmp_path):
    (tmp_path / "link").symlink_to(folder)
    inside.write(tmp_path / "link", "datasets/a.json", b"new")
    assert inside.read(folder, "datasets/a.json") == b"new"
    os.close(lock(tmp_path / "link"))


# A source's folder


@pytest.mark.parametrize("name", ["manifest.jsonl", "errors.jsonl", "runs", "datasets", "resource_metadata"])
def test_a_crawl_does_not_begin_where_a_link_is(folder, outside, name):
    (folder / "datasets").rmdir()
    target = outside if name.endswith("l") else outside.parent
    (folder / name).symlink_to(target)
    with pytest.raises(OutputError, match=f"{name} is a symbolic link, and links are not followed there: remove it."):
        lock(folder)
    if name.endswith("l"):
        with pytest.raises(OSError, match="symbolic link"):
            JSONLines(folder / name)
    assert outside.read_bytes() == SECRET


def test_a_crawl_keeps_to_its_folder(crawl, portal, folder, outside):
    """It removes no file that a manifest names elsewhere, and writes through no link."""
    site = portal(datasets=3)
    ids = site.ids()
    manifest(folder, LINE | {"dataset_id": ids[0], "metadata_file": "../../outside/secret.json"})
    (folder / ".writing").symlink_to(outside)
    (folder / "running.json").symlink_to(outside)
    done = crawl("ckan", site)
    assert (done.code, done.ids()) == (0, sorted(ids))
    assert outside.read_bytes() == SECRET
    assert "manifest.jsonl: line 1 is damaged and left out; the others are read" in done.log


# Who reads it


def test_readers_keep_to_the_folder(folder, outside, caplog):
    for number, way in enumerate(("../../outside/secret.json", "datasets/link.json")):
        manifest(folder, LINE | {"dataset_id": str(number), "metadata_file": way})
        (folder / "datasets" / "link.json").unlink(missing_ok=True)
        (folder / "datasets" / "link.json").symlink_to(outside)
        lost = []
        catch_up(folder.parent, lost.append)
        assert datasets.document(folder, way) is None
        index = Index(folder.parent, folder.name)
        assert not index.documents.is_whole(str(number))
        assert not list(index.database.db.execute("SELECT * FROM datasets"))
        index.close()
    assert "line 1 is damaged" in caplog.text
    assert "symbolic link" in lost[0]


def test_run_reports_behind_a_link_are_not_read_or_removed(folder, tmp_path):
    report = tmp_path / "elsewhere" / "20200101T000000Z.json"
    report.parent.mkdir()
    for name in ("20200101T000000Z", "20200102T000000Z"):
        report.with_stem(name).write_text(json.dumps({"run": name, "verdict": "complete", "listed": 7}))
    (folder / "runs").symlink_to(report.parent)
    assert runs(folder.parent) == [], "not even their names"
    remove_reports(folder.parent, folder.name, 1)
    assert report.exists()


def test_another_database_behind_a_link_keeps_its_tables(folder, tmp_path, caplog):
    other = sqlite3.connect(tmp_path / "other.sqlite")
    other.execute("CREATE TABLE mine (a)")
    (folder.parent / "index.sqlite").symlink_to(tmp_path / "other.sqlite")
    manifest(folder, LINE)
    Index(folder.parent, folder.name).close()
    assert other.execute("SELECT name FROM sqlite_master").fetchall() == [("mine",)]
    other.close()
    assert "it is a symbolic link, which is not followed" in caplog.text
    assert (folder.parent / "index.sqlite").is_file()


# Its lines


WRONG = [
    b"[" * 100_000,
    b'{"kind": ' + b"[" * 100_000,
    b"\x00\xff",
    b"5",
    LINE | {"bytes": "x"},
    LINE | {"bytes": 2**70},
    LINE | {"metadata_file": ["a"]},
    LINE | {"metadata_file": "/etc/passwd"},
    LINE | {"dataset_id": "\ud800"},
    LINE | {"resource_id": {}},
    b"",
]


def test_a_damaged_line_costs_no_other(folder, caplog):
    manifest(folder, LINE, *WRONG, LINE | {"dataset_id": "z"})
    index = Index(folder.parent, folder.name)
    assert [held.dataset_id for held in index.documents.held()] == ["a", "z"]
    index.close()
    told = [record.getMessage().partition("manifest.jsonl: ")[2].split(" is ")[0] for record in caplog.records]
    assert told == [f"line {number}" for number in range(2, 2 + len(WRONG))]


def test_a_damaged_line_stops_no_command(folder):
    manifest(folder, WRONG[0], LINE)
    for words in (("search", "secret"), ("export", "--format", "csv")):
        ran = command(*words, "-s", f"OUTPUT_DIR={folder.parent}")
        assert "Traceback" not in ran.stderr, words
        assert ran.returncode in (0, 3), ran.stderr


def test_error_lines_that_are_damaged_are_left_out(tmp_path):
    (tmp_path / "errors.jsonl").write_bytes(b"[" * 100_000 + b'\n{"a": 1}\nnull\n')
    found = (lines.entry(text) for _, text in lines.read(tmp_path, "errors.jsonl"))
    assert list(filter(None, found)) == [{"a": 1}]


ENDLESS = """
import resource, sys
from pathlib import Path
from crawlers.store.index import Index
from crawlers.store.runs import entries
from crawlers.store.runs import Run
output = Path(sys.argv[1])
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
index = Index(output, "127.0.0.1")
held = [held.dataset_id for held in index.documents.held()]
run = Run(source="127.0.0.1", run="20261120T000000Z", state="complete", folder=output / "127.0.0.1")
runs = [line["dataset_id"] for line in entries(run, "manifest")]
print(held, runs, (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) // 1024)
"""


@pytest.mark.slow
def test_a_line_without_end(folder):
    """256 MiB of zeros, which take no space on the disk."""
    manifest(folder, LINE)
    with (folder / "manifest.jsonl").open("r+b") as file:
        file.seek(256 << 20, os.SEEK_END)
        file.write(b"\n" + json.dumps(LINE | {"dataset_id": "z"}).encode() + b"\n")
    command = [sys.executable, "-c", ENDLESS, str(folder.parent)]
    ran = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    held, megabytes = ran.stdout.rsplit(" ", 1)
    assert held == "['a', 'z'] ['a', 'z']"
    assert int(megabytes) < 4 * lines.LONGEST / (1 << 20)
    assert "line 2 is damaged" in ran.stderr
