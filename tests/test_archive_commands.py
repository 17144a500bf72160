"""`scrapy archive`: what it says of an archive on disk, what it takes out, and what it removes."""

from __future__ import annotations

import argparse
import asyncio
import hashlib
import io
import json
import os
import sqlite3
import subprocess
import sys
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import bagit
import lxml.html
import pytest
from scrapy.settings import BaseSettings
from warcio.archiveiterator import ArchiveIterator

from crawlers.archive.blobs import Blob, key
from crawlers.archive.store import FolderBlobs, open_blobs
from crawlers.exceptions import ArchiveError
from crawlers.items import Capture
from crawlers.operate.archive.holdings import VERSIONS, Holdings
from crawlers.operate.archive.inventory import USERS
from crawlers.operate.archive.pruning import prune
from crawlers.operate.place import Bucket
from crawlers.safety import strict_json
from crawlers.safety.locks import LOCK, take
from crawlers.store.index.captures import line
from tests import forked
from tests.archives import SOURCE, Archives
from tests.conftest import ROOT, command, json_lines
from tests.portal.files import Files, Reply
from tests.seaweed import Seaweed, seaweed
from tests.test_commands import on_terminal
from tests.test_export import put_ckan, record

__all__ = ["seaweed"]

HOST = "https://data.example.org"
HEADERS = [["Content-Type", "text/csv; charset=utf-8"], ["Content-Encoding", "gzip"], ["Content-Length", "44"]]
CSV = b"well,depth\nA,12\nB,31\n"


def sha256(body: bytes) -> str:
    return hashlib.sha256(body).hexdigest()


@dataclass
class Archive:
    """An archive of the source `town`, in a folder of a test; its captures are written by hand."""

    folder: Path
    source: str = "town"
    settings: dict[str, str] = field(default_factory=dict)

    @property
    def output(self) -> Path:
        return self.folder / "output"

    @property
    def home(self) -> Path:
        return self.output / f"archive-of-{self.source}"

    @property
    def store(self) -> Path:
        return self.folder / "store"

    def blob(self, body: bytes) -> Path:
        return self.store / key(sha256(body))

    def put(self, body: bytes) -> str:
        path = self.blob(body)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(body)
        return sha256(body)

    def append(self, name: str, entry: dict[str, Any]) -> None:
        self.home.mkdir(parents=True, exist_ok=True)
        with (self.home / name).open("ab") as lines:
            lines.write(strict_json.line(entry))

    def put_long_ago(self, body: bytes) -> None:
        """Put a file into the store that no crawl that runs now can have stored."""
        self.put(body)
        os.utime(self.blob(body), (0, 0))

    def look(self, day: int, body: bytes | None = None, *, url: str = f"{HOST}/wells.csv", **more: Any) -> Capture:
        """A look at a file on a day of November; a body that was not there before is put into the store."""
        state = more.pop("state", "kept" if body is not None else "broken")
        time = f"2026-11-{day:02}T10:00:00.000Z"
        known = {"dataset_id": "d1", "resource_id": "r1", "title": "Wells", "name": "wells", "extension": "csv"}
        known |= {"time": time, "run": f"202611{day:02}T100000Z", "http_status": 200, "headers": HEADERS}
        if body is not None:
            known |= {"sha256": sha256(body), "size": len(body), "last_success": time, "status": 0}
            known |= {"found_type": "text/csv", "kept_at": time}
        else:
            known |= {"is_broken": True, "http_status": 404, "error": "http", "reason": "The server answers 404."}
        found = Capture(source=self.home.name, url=url, state=state, **(known | more))
        if state == "kept" and body is not None and not self.blob(body).exists():
            self.put(body)
            self.append("manifest.jsonl", self.added(found))
        self.append("captures.jsonl", line(found))
        (self.home / "manifest.jsonl").touch()
        return found

    @staticmethod
    def added(found: Capture) -> dict[str, Any]:
        subject = {name: getattr(found, name) for name in ("dataset_id", "resource_id", "time", "run", "sha256")}
        return subject | {
            "kind": "file",
            "metadata_source": "archive",
            "metadata_file": key(str(found.sha256)),
            "metadata_url": found.url,
            "status": "new",
            "bytes": found.size,
            "metadata_modified": None,
        }

    def run(self, *words: str) -> subprocess.CompletedProcess[str]:
        chosen = {"OUTPUT_DIR": self.output, "ARCHIVE_STORE": self.store, **self.settings}
        return command("archive", *words, *(f"-s{name}={value}" for name, value in chosen.items()))

    def manifest(self) -> list[dict[str, Any]]:
        return json_lines(self.home / "manifest.jsonl")

    def files(self) -> set[str]:
        return {path.name for path in self.store.glob("sha256/*/*")}


def resource(number: int, name: str) -> dict[str, Any]:
    return {"id": f"r{number}", "name": name, "format": "CSV", "url": f"{HOST}/{name}"}


@pytest.fixture
def archive(tmp_path: Path) -> Archive:
    """A source with two datasets, and an archive without a capture."""
    found = Archive(tmp_path)
    wells = [resource(1, "wells.csv"), resource(2, "rain.csv")]
    about = {"organization": {"title": "Water Office"}}
    put_ckan(found.output, "town", record(1, id="d1", name="wells", title="Wells", resources=wells, **about))
    put_ckan(
        found.output, "town", record(2, id="d2", name="roads", title="Roads", resources=[resource(3, "roads.csv")])
    )
    return found


@pytest.fixture
def full(archive: Archive) -> Archive:
    """Two versions of one file, one that two resources share, one that is gone, one that never came."""
    archive.look(1, b"old\n")
    archive.look(5, CSV)
    archive.look(6, CSV, state="unchanged", kept_at="2026-11-05T10:00:00.000Z", http_status=304, headers=[])
    archive.look(6, CSV, url=f"{HOST}/rain.csv", resource_id="r2", name="rain")
    archive.look(6, url=f"{HOST}/roads.csv", dataset_id="d2", resource_id="r3", name=None, extension=None)
    archive.look(2, b"gone", url="http://old.example.org/x.pdf", resource_id="r9", extension="pdf", name="Map 1")
    return archive


# After a crawl


def test_what_a_crawl_leaves(tmp_path: Path) -> None:
    with Files(hosts=1) as files:
        archives = Archives(tmp_path, files)
        archives.list(["/ok.csv", "/gzip.csv", "/redirect/1", "/status/404", "/about.html", "/promised.bin"])
        archives.crawl()
        archives.crawl()
        asked = [(one.method, one.path, one.headers) for one in files.requests()]
    archive = Archive(tmp_path, SOURCE, {"ARCHIVE_STORE": str(archives.store)})
    (row,) = json.loads(archive.run("status", "--json").stdout)
    assert (row["files"], row["unchanged"] + row["kept"], row["not_data"], row["too_large"]) == (6, 3, 1, 1)
    assert row["broken_by_reason"] == {"HTTP 404": 1}
    assert in_table(archive.run("verify"))[2:] == ["0", "0", "0", "–"]
    assert archive.run("prune").stdout == "Nothing can be removed.\n"
    ran = archive.run("get", files.url("/redirect/1"), "-o", str(tmp_path / "x"))
    assert (ran.returncode, sha256((tmp_path / "x").read_bytes()) in archives.blobs()) == (0, True), ran.stderr
    assert archive.run("bag", "d0", "-o", str(tmp_path / "bag.zip")).returncode == 0
    bagit.Bag(str(unpacked(tmp_path / "bag.zip"))).validate()
    assert archive.run("warc", "-o", str(tmp_path / "x.warc.gz")).returncode == 0
    check_warc(tmp_path / "x.warc.gz")
    records = list(warc_records(tmp_path / "x.warc.gz"))
    assert [kind for kind, *_ in records].count("response") == len(archives.blobs())
    answers = {about.get_header("WARC-Record-ID") for kind, about, *_ in records if kind != "request"}
    requests = [(about, http) for kind, about, http, _ in records if kind == "request"]
    assert {about.get_header("WARC-Concurrent-To") for about, _ in requests} <= answers
    for about, http in requests:
        path = http.statusline.partition(" ")[0]
        sent = (http.protocol, path, {name.lower(): value for name, value in http.headers})
        assert sent in asked, about.get_header("WARC-Target-URI")
    assert any(http.get_header("If-None-Match") or http.get_header("If-Modified-Since") for _, http in requests)


def test_a_file_that_comes_back_after_it_was_pruned_is_restored(tmp_path: Path) -> None:
    with Files(hosts=1) as files:
        archives = Archives(tmp_path, files)
        archives.list(["/wells.csv"])
        archive = Archive(tmp_path, SOURCE, {"ARCHIVE_STORE": str(archives.store), "ARCHIVE_KEEP_VERSIONS": "1"})

        def crawl(letter: str) -> None:
            reply = Reply(b"well,depth\n%s,12\n" % letter.encode(), headers=[("Content-Type", "text/csv")])
            files.answers["/wells.csv"] = lambda _: reply
            archives.crawl()

        for letter in "ABCD":
            crawl(letter)
        first, second = (entry["sha256"] for entry in archive.manifest()[:2])
        assert archive.run("prune", "--yes").returncode == 0
        assert archives.blobs().keys().isdisjoint((first, second))
        for letter in "AA":
            crawl(letter)
    lines = [(entry["status"], entry["sha256"]) for entry in archive.manifest()[4:]]
    assert lines == [("withdrawn", first), ("withdrawn", second), ("restored", first)]
    assert archive.run("verify").returncode == 0
    (archives.store / key(first)).unlink()
    assert archive.run("verify").returncode == 3
    for words in (["get", "d0"], ["warc"]):
        ran = archive.run(*words, "-o", str(tmp_path / words[0]))
        assert (ran.returncode, "pruned" in ran.stderr, first in ran.stderr) == (3, False, True), ran.stderr


# Mistakes


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ([], "scrapy archive takes: status"),
        (["stat"], "scrapy archive takes: status"),
        (["get"], "scrapy archive takes: get DATASET"),
        (["prune", "town"], "scrapy archive takes: prune [--yes]"),
        (["status", "--yes"], "scrapy archive status takes no --yes."),
        (["status", "twon"], "No archive has the name 'twon'. Did you mean town? There are: town."),
        (["get", "nothing"], "No archived dataset, resource or address is called 'nothing'."),
        (["get", "r1", "--at", "yesterday"], "--at 'yesterday' is neither a date nor a time: write"),
        (["get", "r1", "--at", "2026-10-01T10:00"], "--at '2026-10-01T10:00' has no offset: write a date such as"),
        (["get", "r1", "--at", "2026-10-01"], "is called 'r1' at 2026-10-01."),
        (["get", "r3"], "No file of 'r3' is held: The server answers 404."),
        (["get", "d1", "-o", "x"], "3 files are meant"),
        (["verify", "--sample", "many"], "--sample 'many' is neither a number of files"),
        (["verify", "--sample", "101%"], "--sample '101%' is neither a number of files"),
        (["bag", "nothing", "-o", "x.zip"], "No archived dataset is called 'nothing'"),
        (["bag", "d1"], "Name the file to write: -o x.zip"),
        (["warc"], "Name the file to write: -o x.warc.gz"),
        (["warc", "nothing", "-o", "x.warc"], "is called 'nothing'."),
    ],
)
def test_a_mistake_is_a_sentence(full: Archive, words: list[str], message: str) -> None:
    ran = full.run(*words)
    assert (ran.returncode, ran.stdout) == (1, "")
    assert message in ran.stderr
    assert len(ran.stderr.splitlines()) == 1
    assert not list(ROOT.glob("x*"))


def test_a_capture_that_no_crawl_wrote_is_left_out(full: Archive) -> None:
    full.append("captures.jsonl", json_lines(full.home / "captures.jsonl")[0] | {"url": "http://x/\udcff"})
    ran = full.run("status", "--json")
    assert (ran.returncode, json.loads(ran.stdout)[0]["files"]) == (0, 4)


def test_without_an_archive(tmp_path: Path) -> None:
    ran = Archive(tmp_path).run("status")
    assert ran.returncode == 1
    assert "has no archive yet: `scrapy crawl archive -a of=SOURCE` fills one." in ran.stderr


# Status


def test_the_status_of_a_source(full: Archive) -> None:
    ran = full.run("status")
    assert ran.returncode == 0, ran.stderr
    heading, row, broken, total = ran.stdout.splitlines()
    assert heading.split()[:3] == ["archive", "files", "kept"]
    assert heading.split()[3:] == ["unchanged", "broken", "last", "copies", "blobs", "bytes", "linked"]
    assert row.split() == ["archive-of-town", "4", "2", "1", "1", "1", "2", "25", "B", "46", "B"]
    assert broken == "Broken: HTTP 404 1"
    assert total == "With older versions: 3 files, 29 B."


def test_the_status_as_json(full: Archive) -> None:
    full.look(7, url=f"{HOST}/big", resource_id="r4", state="not_taken", error="too_large", is_broken=None)
    (row,) = json.loads(full.run("status", "archive-of-town", "--json").stdout)
    assert (row["source"], row["files"], row["kept"], row["unchanged"], row["broken"]) == (
        "archive-of-town",
        5,
        2,
        1,
        1,
    )
    assert (row["broken_by_reason"], row["too_large"], row["not_taken"]) == ({"HTTP 404": 1}, 1, 0)
    assert (row["blobs"], row["bytes"], row["linked_bytes"]) == (2, len(CSV) + 4, 2 * len(CSV) + 4)


def test_the_status_by_publisher_and_host(full: Archive) -> None:
    by_publisher = {
        row["publisher"]: row for row in json.loads(full.run("status", "--by", "publisher", "--json").stdout)
    }
    assert by_publisher["Water Office"]["files"] == 3
    assert by_publisher[None]["broken"] == 1
    by_host = {row["host"]: row["files"] for row in json.loads(full.run("status", "--by", "host", "--json").stdout)}
    assert by_host == {"data.example.org": 3, "old.example.org": 1}
    assert "old.example.org" in full.run("status", "--by", "host").stdout


def test_last_copies_are_of_resources_that_the_portal_removed(full: Archive) -> None:
    (row,) = json.loads(full.run("status", "--json").stdout)
    assert row["last_copies"] == 1
    put_ckan(full.output, "town", record(1, id="d1", name="wells"), status="withdrawn")
    (row,) = json.loads(full.run("status", "--json").stdout)
    assert row["last_copies"] == 3


# Get


def test_a_file_is_taken_out_under_a_readable_name(full: Archive, tmp_path: Path) -> None:
    ran = scrapy_in(tmp_path, full, "get", "r1")
    assert ran.returncode == 0, ran.stderr
    assert (tmp_path / "wells.csv").read_bytes() == CSV
    said = dict(part.split(None, 1) for part in map(str.strip, ran.stdout.replace("came from", "from").splitlines()))
    assert said["wells.csv:"] == "21 B, text/csv"
    assert said["SHA-256"] == f"{sha256(CSV)}, checked"
    assert said["from"] == f"{HOST}/wells.csv"
    assert said["on"] == "2026-11-05 10:00 UTC, run 20261105T100000Z of archive-of-town"
    assert said["confirmed"] == "2026-11-06 10:00 UTC"


def scrapy_in(folder: Path, archive: Archive, *words: str) -> subprocess.CompletedProcess[str]:
    """Runs `scrapy archive` in a folder."""
    chosen = {"OUTPUT_DIR": archive.output, "ARCHIVE_STORE": archive.store}
    (folder / "scrapy.cfg").write_text("[settings]\ndefault = crawlers.settings\n")
    command = [sys.executable, "-W", "error", "-m", "scrapy", "archive", *words]
    command += [f"-s{name}={value}" for name, value in chosen.items()]
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    return forked.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)


@pytest.mark.parametrize("field_name", ["found_type", "media_type", "state"])
def test_what_a_server_declares_acts_on_no_terminal(archive: Archive, tmp_path: Path, field_name: str) -> None:
    archive.look(1, CSV, is_broken=None, **{"found_type": None, field_name: "text/\x1b[2J\x9b2Jcsv"})
    if field_name == "state":
        archive.put(CSV)
    ran = archive.run("get", "r1", "-o", str(tmp_path / "x"))
    assert ran.returncode == 0, ran.stderr
    assert "text/[2J2Jcsv" in ran.stdout
    assert not set("\x1b\x9b") & set(ran.stdout)


def test_nothing_is_overwritten_without_force(full: Archive, tmp_path: Path) -> None:
    path = tmp_path / "mine.csv"
    path.write_bytes(b"mine")
    ran = full.run("get", "r1", "-o", str(path))
    assert (ran.returncode, path.read_bytes()) == (1, b"mine")
    assert ran.stderr == f"{path} exists: --force overwrites it.\n"
    assert full.run("get", "r1", "-o", str(path), "--force").returncode == 0
    assert path.read_bytes() == CSV


def test_a_file_as_it_was_at_a_date(full: Archive, tmp_path: Path) -> None:
    for at, body in (("2026-11-01", b"old\n"), ("2026-11-04", b"old\n"), ("2026-11-05", CSV), ("2026-11-30", CSV)):
        path = tmp_path / at
        assert full.run("get", f"{HOST}/wells.csv", "--at", at, "-o", str(path)).returncode == 0
        assert path.read_bytes() == body
    assert full.run("get", "r1", "--at", "2026-11-01T09:59Z").returncode == 1


def test_all_files_of_a_dataset(full: Archive, tmp_path: Path) -> None:
    (tmp_path / "all").mkdir()
    ran = full.run("get", "wells", "-o", str(tmp_path / "all"))
    assert ran.returncode == 0, ran.stderr
    assert sorted(path.name for path in (tmp_path / "all").iterdir()) == ["map-1.pdf", "rain.csv", "wells.csv"]
    full.look(8, url=f"{HOST}/more.csv", resource_id="r7")
    ran = full.run("get", "d1", "-o", str(tmp_path / "all"), "--force")
    assert ran.returncode == 3
    assert ran.stderr == f"not held: {HOST}/more.csv (The server answers 404.)\n"


def test_a_file_on_standard_output(full: Archive) -> None:
    ran = full.run("get", "r2", "-o", "-")
    assert (ran.returncode, ran.stdout.encode()) == (0, CSV)
    assert f"{HOST}/rain.csv" in ran.stderr


def test_an_address_of_two_resources_is_one_file(full: Archive) -> None:
    kept = {"sha256": sha256(CSV), "kept_at": "2026-11-05T10:00:00.000Z"}
    for name in ("r8", "r9"):
        full.look(9, resource_id=name, url=f"{HOST}/shared.csv", state="kept", **kept)
    ran = full.run("get", f"{HOST}/shared.csv", "-o", "-")
    assert (ran.returncode, ran.stdout.encode()) == (0, CSV)


def test_what_is_held_although_the_portal_lost_it(full: Archive, tmp_path: Path) -> None:
    last = full.look(9, sha256=sha256(CSV), kept_at="2026-11-05T10:00:00.000Z", last_success="2026-11-06T10:00:00.000Z")
    assert last.state == "broken"
    ran = full.run("get", "r1", "-o", str(tmp_path / "x"))
    assert (ran.returncode, (tmp_path / "x").read_bytes()) == (0, CSV)
    assert "last look  broken: The server answers 404." in ran.stdout
    assert "2026-11-05 10:00 UTC" in ran.stdout


def test_a_damaged_file_is_not_taken_out(full: Archive, tmp_path: Path) -> None:
    full.blob(CSV).write_bytes(CSV.replace(b"31", b"32"))
    path = tmp_path / "x"
    ran = full.run("get", "r1", "-o", str(path))
    assert (ran.returncode, path.exists()) == (3, False)
    assert f"has a damaged file: {sha256(CSV)}" in ran.stderr
    full.blob(CSV).unlink()
    ran = full.run("get", "r1", "-o", str(path))
    assert (ran.returncode, path.exists()) == (3, False)
    assert "lacks the file" in ran.stderr
    assert [one.name for one in tmp_path.iterdir() if one.name.endswith(".writing")] == []


@pytest.mark.parametrize("name", ["../../etc/passwd", "/etc/passwd", "..", ".", "a" * 10_000, "\x1b[2J", "con\x00", ""])
def test_no_name_leads_out_of_the_folder(archive: Archive, tmp_path: Path, name: str) -> None:
    archive.look(1, CSV, name=name, extension="../csv", resource_id="../r1")
    (tmp_path / "here" / "in").mkdir(parents=True)
    ran = archive.run("get", "../r1", "-o", str(tmp_path / "here" / "in"))
    assert ran.returncode == 0, ran.stderr
    (only,) = (path for path in (tmp_path / "here").rglob("*") if path.is_file())
    assert only.parent == tmp_path / "here" / "in"
    assert only.read_bytes() == CSV


# Verify

HEADING = ("source", "files", "size", "damaged", "missing", "unreferenced", "credentials")


def in_table(ran: subprocess.CompletedProcess[str]) -> list[str]:
    """The row of the table, without its name."""
    lines = ran.stdout.splitlines()
    (place,) = (number for number, text in enumerate(lines) if tuple(text.split()) == HEADING)
    return [cell.strip() for cell in lines[place + 1].split("  ") if cell][1:]


def test_a_good_store(full: Archive) -> None:
    ran = full.run("verify")
    assert (ran.returncode, ran.stderr) == (0, "")
    assert ran.stdout.splitlines()[0].split() == [*HEADING]
    assert in_table(ran) == ["3", "29 B", "0", "0", "0", "–"]


def test_damage_is_found_and_named(full: Archive) -> None:
    full.blob(CSV).write_bytes(CSV[:-1] + b"?")
    full.blob(b"gone").unlink()
    full.put(b"nobody wants it")
    ran = full.run("verify")
    assert ran.returncode == 3
    missing, damaged, loose, *_, mend, hint = ran.stdout.splitlines()
    assert missing.split() == [
        "missing",
        sha256(b"gone"),
        "archive-of-town",
        "d1",
        "r9",
        "http://old.example.org/x.pdf",
    ]
    assert damaged.split()[:2] == ["damaged", sha256(CSV)]
    assert f"{HOST}/" in damaged
    assert loose.split()[:2] == ["unreferenced", sha256(b"nobody wants it")]
    assert in_table(ran)[2:5] == ["1", "1", "1"]
    assert mend.startswith("Delete a damaged file from the store: the next crawl that asks for it fetches it again")
    assert "`scrapy archive prune` lists unreferenced files" in hint


def test_a_file_of_the_manifest_that_no_capture_has_is_missing_too(full: Archive) -> None:
    full.append(
        "manifest.jsonl", {"kind": "file", "sha256": "ab" * 32, "status": "new", "time": "2026-11-07T10:00:00Z"}
    )
    ran = full.run("verify")
    assert ran.returncode == 3
    assert ran.stdout.splitlines()[0].split() == ["missing", "ab" * 32, "archive-of-town"]


def test_what_is_unreferenced_differs_unless_an_archive_is_crawled(full: Archive) -> None:
    """Then a capture may follow."""
    full.put(b"loose")
    ran = full.run("verify")
    assert (ran.returncode, in_table(ran)[2:5]) == (3, ["0", "0", "1"])
    lock = take(full.home / LOCK)
    try:
        ran = full.run("verify")
    finally:
        os.close(lock)
    assert (ran.returncode, in_table(ran)[2:5]) == (0, ["0", "0", "1"])
    assert "An archive is being crawled" in ran.stdout


def test_one_archive_is_verified(full: Archive) -> None:
    other = Archive(full.folder, "city")
    other.look(3, b"city")
    full.put(b"loose")
    full.blob(CSV).write_bytes(b"")
    ran = full.run("verify", "city")
    assert (ran.returncode, ran.stdout.splitlines()[-1].split()[0]) == (0, "archive-of-city")
    assert in_table(ran)[:2] == ["1", "4 B"]
    assert full.run("verify", "town").returncode == full.run("verify").returncode == 3


def test_a_sample_is_verified(full: Archive) -> None:
    for number in range(30):
        full.look(3, b"%d" % number, url=f"{HOST}/{number}", resource_id=f"n{number}")
    assert full.run("verify", "--sample", "5").stdout.splitlines()[0] == "5 files of 33 are checked, chosen at random."
    assert (
        full.run("verify", "--sample", "10%").stdout.splitlines()[0] == "4 files of 33 are checked, chosen at random."
    )
    for number in range(30):
        full.blob(b"%d" % number).write_bytes(b"x")
    ran = full.run("verify", "--sample", "8")
    assert ran.returncode == 3
    assert 5 <= len([text for text in ran.stdout.splitlines() if text.startswith("damaged")]) <= 8


def test_a_terminal_sees_what_is_done_and_nothing_acts_on_it(full: Archive) -> None:
    full.look(9, b"odd", url=f"{HOST}/\x1b[2J\x9b2J.csv", resource_id="r8\u202e")
    full.blob(b"odd").unlink()
    chosen = (f"-sOUTPUT_DIR={full.output}", f"-sARCHIVE_STORE={full.store}")
    code, shown = on_terminal(sys.executable, "-W", "error", "-m", "scrapy", "archive", "verify", *chosen)
    assert code == 3
    assert "missing" in shown
    assert not set("\x9b\u202e") & set(shown)
    assert "\x1b[2J" not in shown


def test_a_pipe_sees_lines(full: Archive) -> None:
    ran = full.run("verify", "-sLOGSTATS_INTERVAL=0.000001")
    assert "0 of 3 files, 4 B of 29 B checked so far" in ran.stderr or "of 3 files, " in ran.stderr
    assert full.run("verify", "-sLOGSTATS_INTERVAL=0").stderr == ""


def test_a_store_that_is_not_there(full: Archive) -> None:
    full.settings["ARCHIVE_STORE"] = str(full.home / "captures.jsonl")
    ran = full.run("verify")
    assert ran.returncode == 1
    assert len(ran.stderr.splitlines()) == 1


# Prune


def versions(archive: Archive, *bodies: bytes, **more: Any) -> None:
    for day, body in enumerate(bodies, 1):
        archive.look(day, body, **more)


def test_prune_says_first_what_it_would_remove(full: Archive) -> None:
    full.put_long_ago(b"loose")
    leftover = full.store / "tmp" / "a1b2"
    leftover.parent.mkdir()
    leftover.write_bytes(b"half")
    os.utime(leftover, (0, 0))
    before = full.files()
    ran = full.run("prune")
    assert (ran.returncode, full.files(), leftover.exists()) == (0, before, True)
    assert [text.split()[0] for text in ran.stdout.splitlines()[:2]] == ["unreferenced", "leftover"]
    assert ran.stdout.splitlines()[2:] == ["2 files, 9 B.", "Nothing was removed: add --yes to remove these files."]
    ran = full.run("prune", "--yes")
    assert ran.returncode == 0, ran.stderr
    assert (before - full.files(), leftover.exists()) == ({sha256(b"loose")}, False)
    assert full.run("prune").stdout == "Nothing can be removed.\n"
    assert full.run("verify").returncode == 0


def test_what_a_crawl_may_have_stored_a_moment_ago_stays(archive: Archive) -> None:
    """The index of an archive that a crawl has just begun has no capture yet."""
    versions(archive, b"1", b"2", b"3")
    archive.settings["ARCHIVE_KEEP_VERSIONS"] = "1"
    archive.put(b"in flight")
    download = archive.store / "tmp" / "a1b2"
    download.parent.mkdir()
    download.write_bytes(b"half")
    ran = archive.run("prune", "--yes")
    assert (ran.returncode, ran.stdout.splitlines()[-1]) == (0, "1 file removed.")
    assert archive.files() == set(map(sha256, (b"2", b"3", b"in flight")))
    assert download.exists()


def test_nothing_is_removed_when_a_new_archive_is_crawled_meanwhile(full: Archive) -> None:
    full.put_long_ago(b"loose")

    class Meanwhile(FolderBlobs):
        def __iter__(self) -> Iterator[Blob]:
            yield from super().__iter__()
            Archive(full.folder, "city").look(1, b"loose")

    with Holdings(full.output, BaseSettings()) as holdings:
        holdings.blobs = Meanwhile(full.store)
        with pytest.raises(ArchiveError, match="An archive was crawled a moment ago"):
            prune(holdings, [], argparse.Namespace(yes=True))
    assert sha256(b"loose") in full.files()


def test_a_file_whose_only_capture_is_damaged_stays(archive: Archive) -> None:
    archive.look(1, CSV)
    archive.look(2, b"2", url=f"{HOST}/rain.csv", resource_id="r2")
    os.utime(archive.blob(CSV), (0, 0))
    damaged, whole = (archive.home / "captures.jsonl").read_bytes().splitlines(keepends=True)
    (archive.home / "captures.jsonl").write_bytes(damaged[:-20] + b"\n" + whole)
    ran = archive.run("prune", "--yes")
    assert (ran.returncode, ran.stdout) == (0, "Nothing can be removed.\n")
    assert sha256(CSV) in archive.files()
    assert in_table(archive.run("verify"))[4] == "0"


def test_old_versions_beyond_a_number(archive: Archive) -> None:
    versions(archive, b"1", b"2", b"3", b"4")
    archive.settings["ARCHIVE_KEEP_VERSIONS"] = "2"
    ran = archive.run("prune", "--yes")
    assert ran.returncode == 0, ran.stderr
    assert archive.files() == set(map(sha256, (b"2", b"3", b"4")))
    assert "beyond ARCHIVE_KEEP_VERSIONS = 2, last seen 2026-11-01 10:00  d1  r1" in ran.stdout
    last = archive.manifest()[-1]
    assert (last["kind"], last["status"], last["sha256"], last["bytes"]) == ("file", "withdrawn", sha256(b"1"), 1)
    assert (last["reason"], last["dataset_id"]) == ("pruned: beyond ARCHIVE_KEEP_VERSIONS = 2", "d1")
    assert last["metadata_file"] == key(sha256(b"1"))


def test_what_was_pruned_is_not_missing(archive: Archive, tmp_path: Path) -> None:
    versions(archive, b"1", b"2")
    archive.settings["ARCHIVE_KEEP_VERSIONS"] = "1"
    archive.look(8, b"3")
    archive.look(9, b"3", state="unchanged")
    assert archive.run("prune", "--yes").returncode == 0
    assert sha256(b"1") not in archive.files()
    assert archive.run("verify").returncode == 0
    ran = archive.run("get", "r1", "--at", "2026-11-01", "-o", str(tmp_path / "x"))
    assert ran.returncode == 1
    assert "That file is not held any more: pruned: beyond ARCHIVE_KEEP_VERSIONS = 1, on 2" in ran.stderr


def test_what_came_back_after_it_was_pruned_is_missing_again(archive: Archive) -> None:
    versions(archive, b"1", b"2", b"3")
    archive.settings["ARCHIVE_KEEP_VERSIONS"] = "1"
    assert archive.run("prune", "--yes").returncode == 0
    archive.look(28, b"1", kept_at="2999-01-01T00:00:00.000Z")
    assert archive.run("verify").returncode == 0
    archive.blob(b"1").unlink()
    ran = archive.run("verify")
    assert (ran.returncode, ran.stdout.split()[:2]) == (3, ["missing", sha256(b"1")])


def test_old_versions_beyond_some_days(archive: Archive) -> None:
    versions(archive, b"1", b"2", b"3")
    archive.look(4, b"4", time="2999-01-01T00:00:00.000Z")
    archive.look(5, b"5", time="2999-01-02T00:00:00.000Z")
    archive.settings["ARCHIVE_KEEP_DAYS"] = "1000"
    assert archive.run("prune").stdout == "Nothing can be removed.\n"
    archive.settings["ARCHIVE_KEEP_DAYS"] = "1"
    versions(archive, *[b"%d" % number for number in range(1)], url=f"{HOST}/other", resource_id="r2")
    ran = archive.run("prune", "--yes")
    assert ran.returncode == 0
    assert "beyond ARCHIVE_KEEP_DAYS = 1" in ran.stdout


def test_the_oldest_versions_beyond_the_bytes(archive: Archive) -> None:
    versions(archive, b"1" * 100, b"2" * 100, b"3" * 100, b"4" * 100)
    archive.settings["ARCHIVE_MAX_BYTES"] = "250"
    ran = archive.run("prune", "--yes")
    assert archive.files() == set(map(sha256, (b"3" * 100, b"4" * 100)))
    assert ran.stdout.count("beyond ARCHIVE_MAX_BYTES = 250") == 2
    archive.settings["ARCHIVE_MAX_BYTES"] = "30"
    ran = archive.run("prune", "--yes")
    assert archive.files() == {sha256(b"4" * 100)}
    assert "The files that stay have 70 B more than ARCHIVE_MAX_BYTES: all of them are current." in ran.stdout


def test_what_a_resource_needs_stays(archive: Archive) -> None:
    """The current file of another resource, a last copy, and the file of another archive."""
    archive.settings |= {"ARCHIVE_KEEP_VERSIONS": "1", "ARCHIVE_MAX_BYTES": "1"}
    versions(archive, b"shared", b"removed", b"2", b"3")
    archive.look(1, b"shared", url=f"{HOST}/rain.csv", resource_id="r2")
    archive.look(2, url=f"{HOST}/rain.csv", resource_id="r2", sha256=sha256(b"shared"))
    archive.look(1, b"last copy", url=f"{HOST}/gone.csv", resource_id="gone")
    Archive(archive.folder, "city").look(1, b"2")
    assert archive.run("prune", "--yes").returncode == 0
    assert archive.files() == set(map(sha256, (b"shared", b"2", b"3", b"last copy")))
    assert archive.run("verify").returncode == 0


def test_a_shared_old_version_stays_while_one_resource_may_keep_it(archive: Archive) -> None:
    archive.settings["ARCHIVE_KEEP_VERSIONS"] = "1"
    versions(archive, b"shared", b"2", b"3")
    versions(archive, b"shared", b"4", url=f"{HOST}/rain.csv", resource_id="r2")
    assert archive.run("prune").stdout == "Nothing can be removed.\n"


def test_a_file_that_one_resource_replaced_and_another_has_stays(archive: Archive) -> None:
    archive.settings |= {"ARCHIVE_KEEP_DAYS": "1", "ARCHIVE_MAX_BYTES": "1"}
    versions(archive, b"shared", b"2")
    archive.look(1, b"shared", url=f"{HOST}/rain.csv", resource_id="r2")
    assert archive.run("prune", "--yes").returncode == 0
    assert archive.files() == set(map(sha256, (b"shared", b"2")))


@pytest.mark.parametrize("words", [["prune"], ["prune", "--yes"]])
def test_an_archive_that_is_crawled_is_not_pruned(full: Archive, words: list[str]) -> None:
    full.put(b"in flight")
    descriptor = take(full.home / LOCK)
    assert descriptor is not None
    ran = full.run(*words)
    os.close(descriptor)
    assert (ran.returncode, ran.stdout) == (1, "")
    assert ran.stderr == f"A crawl is writing into {full.home}: run scrapy archive prune when it has ended.\n"
    assert sha256(b"in flight") in full.files()


def test_a_prune_that_is_killed_loses_nothing(archive: Archive, monkeypatch: pytest.MonkeyPatch) -> None:
    """The line comes first: a file that stays is removed by the next prune, and verify finds nothing wrong."""
    versions(archive, b"1", b"2", b"3")
    archive.settings["ARCHIVE_KEEP_VERSIONS"] = "1"
    archive.append(
        "manifest.jsonl", archive.manifest()[0] | {"status": "withdrawn", "reason": "pruned: x", "time": "2999"}
    )
    assert archive.run("verify").returncode == 0
    assert archive.run("prune", "--yes").returncode == 0
    assert archive.files() == set(map(sha256, (b"2", b"3")))
    assert archive.run("verify").returncode == 0


# Bags


def unpacked(path: Path) -> Path:
    with zipfile.ZipFile(path) as file:
        file.extractall(path.with_suffix(""))
    (only,) = path.with_suffix("").iterdir()
    return only


def test_a_bag_is_valid(full: Archive, tmp_path: Path) -> None:
    path = tmp_path / "wells.zip"
    ran = full.run("bag", "wells", "-o", str(path))
    assert (ran.returncode, ran.stderr) == (0, "")
    folder = unpacked(path)
    found = bagit.Bag(str(folder))
    found.validate()
    names = ["captures.jsonl", "dataset.json", "files/map-1.pdf", "files/rain.csv", "files/wells.csv", "headers.warc"]
    assert sorted(found.payload_files()) == [f"data/{name}" for name in [*names, "item.json"]]
    assert (found.info["External-Identifier"], found.info["External-Description"]) == ("d1", "Wells")
    assert (found.info["Gaps"], found.version_info) == ("0", (1, 0))
    assert (folder / "data" / "files" / "wells.csv").read_bytes() == CSV
    assert json.loads((folder / "data" / "dataset.json").read_bytes())["name"] == "wells"
    item = json.loads((folder / "data" / "item.json").read_bytes())
    assert (item["id"], item["resources"][0]["url"], "document" in item) == ("d1", f"{HOST}/wells.csv", False)
    assert len(json_lines(folder / "data" / "captures.jsonl")) == 5


def test_a_bag_has_the_headers(full: Archive, tmp_path: Path) -> None:
    assert full.run("bag", "d1", "-o", str(tmp_path / "x.zip")).returncode == 0
    path = unpacked(tmp_path / "x.zip") / "data" / "headers.warc"
    records = list(warc_records(path))
    assert [kind for kind, *_ in records].count("revisit") == 4
    headers = [about for kind, about, *_ in records if kind == "revisit"]
    assert f"sha256:{sha256(CSV)}" in {about.get_header("WARC-Payload-Digest") for about in headers}
    assert any(b"file: data/files/wells.csv" in body for *_, body in records)
    assert b"Request records have the headers as they were sent" in records[0][-1]
    check_warc(path)


def test_a_bag_is_the_same_each_time(full: Archive, tmp_path: Path) -> None:
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        assert full.run("bag", "d1", "d2", "-o", str(tmp_path / name / "x.zip")).returncode == 3
    assert (tmp_path / "a" / "x.zip").read_bytes() == (tmp_path / "b" / "x.zip").read_bytes()


def test_a_bag_of_two_datasets_says_what_it_lacks(full: Archive, tmp_path: Path) -> None:
    full.blob(b"gone").unlink()
    path = tmp_path / "x.zip"
    ran = full.run("bag", "d1", "roads", "-o", str(path))
    assert ran.returncode == 3
    folder = unpacked(path)
    bagit.Bag(str(folder)).validate()
    gaps = (folder / "gaps.txt").read_text().splitlines()
    assert gaps == [
        "http://old.example.org/x.pdf  the file is missing in the store",
        f"{HOST}/roads.csv  The server answers 404.",
    ]
    assert ran.stderr.splitlines() == [f"not in the bag: {gap}" for gap in gaps]
    assert (folder / "data" / "archive-of-town__d1" / "files" / "wells.csv").read_bytes() == CSV
    assert "gaps.txt" in (folder / "tagmanifest-sha256.txt").read_text()


def test_a_damaged_file_makes_no_bag(full: Archive, tmp_path: Path) -> None:
    full.blob(CSV).write_bytes(b"other")
    ran = full.run("bag", "d1", "-o", str(tmp_path / "x.zip"))
    assert (ran.returncode, list(tmp_path.glob("*x.zip*"))) == (3, [])
    assert "has a damaged file" in ran.stderr


def test_files_of_one_name_are_both_in_the_bag(archive: Archive, tmp_path: Path) -> None:
    archive.look(1, b"1")
    archive.look(1, b"2", url=f"{HOST}/2")
    assert archive.run("bag", "d1", "-o", str(tmp_path / "x.zip")).returncode == 0
    folder = unpacked(tmp_path / "x.zip") / "data" / "files"
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == {"wells.csv": b"2", "wells-2.csv": b"1"}


# WARC


def test_each_dataset_has_its_bag_with_the_place_of_each_file(full: Archive, tmp_path: Path) -> None:
    """As somebody reads it who has only a server of files: the index, then one range of the zip file."""
    to = tmp_path / "to"
    full.look(7, CSV, dataset_id="index", resource_id="r4", url="javascript:alert(1)", title="<script>")
    ran = full.run("bag", "--each", "--to", str(to))
    assert (ran.returncode, ran.stdout) == (3, f"{to}/town: 3 bags written, 0 as they were, 2 gaps.\n"), ran.stderr
    assert "not in the bag of d2: https://data.example.org/roads.csv  The server answers 404." in ran.stderr
    datasets = to / "town/datasets"
    for path in sorted(datasets.glob("*.zip")):
        bagit.Bag(str(unpacked(path))).validate()
        index, body = json.loads(path.with_suffix(".json").read_bytes()), path.read_bytes()
        assert index["bytes"] == len(body)
        for file in index["files"]:
            found = zlib.decompress(body[file["offset"] :][: file["compressed"]], wbits=-zlib.MAX_WBITS)
            assert (len(found), sha256(found)) == (file["bytes"], file["sha256"])
    came = {file["path"]: file["url"] for file in json.loads((datasets / "d1.json").read_bytes())["files"]}
    assert came["data/files/wells.csv"] == f"{HOST}/wells.csv"
    assert came["bagit.txt"] is None
    bags = json_lines(to / "town/bags.jsonl")
    assert [(one["dataset_id"], one["title"], one["files"], one["gaps"]) for one in bags] == [
        ("d1", "Wells", 3, 0), ("d2", "Roads", 0, 1), ("index", "index", 1, 1)
    ]  # fmt: skip
    pages = [to / "index.html", to / "town/index.html", *sorted(datasets.glob("*.html"))]
    for page in pages:
        for link in lxml.html.parse(page).xpath("//a/@href"):
            assert link.startswith(("http://", "https://")) or (page.parent / link).is_file(), link
    again = full.run("bag", "--each", "--to", str(to), "town")
    assert "town: 2 bags written, 1 as they were, 2 gaps" in again.stdout, "what has gaps may have fewer by now"
    whole = {path: path.read_bytes() for path in (datasets / f"d1.{suffix}" for suffix in ("zip", "html", "json"))}
    state = json.dumps({"state": json.loads(whole[datasets / "d1.json"])["state"]}).encode()
    for name, cut in (("d1.zip", b"PK"), ("d1.zip", None), ("d1.html", None), ("d1.json", b"[]"), ("d1.json", state)):
        (datasets / name).unlink() if cut is None else (datasets / name).write_bytes(cut)
        assert "3 bags written, 0 as they were" in full.run("bag", "--each", "--to", str(to)).stdout
        assert {path: path.read_bytes() for path in whole} == whole
    full.look(8, b"new\n")
    assert "town: 3 bags written" in full.run("bag", "--each", "--to", str(to)).stdout
    full.look(9, b"newer\n")
    full.blob(CSV).write_bytes(b"other")
    assert "1 bags written, 2 as they were, 2 gaps, 2 damaged" in full.run("bag", "--each", "--to", str(to)).stdout
    assert [one["dataset_id"] for one in json_lines(to / "town/bags.jsonl")] == ["d1", "d2", "index"]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--each"], "takes -o FILE for one bag, or --each --to FOLDER"),
        (["d1", "--to", "x"], "takes -o FILE for one bag, or --each --to FOLDER"),
        (["--each", "--to", "-"], "takes -o FILE for one bag, or --each --to FOLDER"),
        (["--each", "--to", "ftp://x"], "--to must be a folder or s3://bucket/prefix"),
        (["--each", "--to", "x", "nothing"], "No archive has the name 'nothing'"),
        (["--each", "--to", "{file}"], "d1.json can't be read: Not a directory."),
        ([], "Name a dataset"),
    ],
)
def test_a_mistake_at_the_bags_is_a_sentence(full: Archive, tmp_path: Path, words: list[str], message: str) -> None:
    (tmp_path / "file").touch()
    ran = full.run("bag", *(word.format(file=tmp_path / "file") for word in words))
    assert (ran.returncode, ran.stderr.count("\n")) == (1, 1)
    assert message in ran.stderr


def warc_records(path: Path) -> Any:
    with path.open("rb") as file:
        for found in ArchiveIterator(file, check_digests="raise"):
            yield found.rec_type, found.rec_headers, found.http_headers, found.content_stream().read()


def check_warc(path: Path) -> None:
    """Run warcio's own checker."""
    command = [sys.executable, "-m", "warcio.cli", "check", "-v", str(path)]
    ran = subprocess.run(command, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stdout
    assert "failed" not in ran.stdout


def test_a_warc_file(full: Archive, tmp_path: Path) -> None:
    path = tmp_path / "town.warc.gz"
    ran = full.run("warc", "-o", str(path))
    assert (ran.returncode, ran.stdout) == (0, f"{path}: 6 captures, 0 gaps.\n"), ran.stderr
    check_warc(path)
    records = list(warc_records(path))
    assert path.read_bytes()[:2] == b"\x1f\x8b"
    assert [kind for kind, *_ in records if kind != "metadata"] == [
        *("warcinfo", "response", "revisit", "response", "response", "revisit")
    ] or sorted(kind for kind, *_ in records if kind != "metadata") == ["response"] * 3 + ["revisit"] * 2 + ["warcinfo"]
    assert b"Response records are reconstructed" in records[0][-1]
    bodies = [body for kind, *_, body in records if kind == "response"]
    assert sorted(bodies) == sorted([CSV, b"old\n", b"gone"])
    response = next((about, http) for kind, about, http, body in records if kind == "response" and body == CSV)
    about, http = response
    assert about.get_header("WARC-Payload-Digest") == f"sha256:{sha256(CSV)}"
    assert http.get_header("Content-Encoding") is None
    assert (http.get_header("X-Archive-Orig-Content-Encoding"), http.get_header("X-Archive-Orig-Content-Length")) == (
        "gzip",
        "44",
    )
    assert (http.get_header("Content-Length"), http.statusline) == (str(len(CSV)), "200 OK")
    revisit = [about for kind, about, *_ in records if kind == "revisit"]
    assert {about.get_header("WARC-Profile").rpartition("/")[2] for about in revisit} == {"identical-payload-digest"}
    assert about.protocol == "WARC/1.1"


def test_what_failed_is_metadata(full: Archive, tmp_path: Path) -> None:
    path = tmp_path / "x.warc"
    assert full.run("warc", "d2", "-o", str(path)).returncode == 0
    kinds = [(kind, body) for kind, *_, body in warc_records(path)]
    assert [kind for kind, _ in kinds] == ["warcinfo", "metadata"]
    assert b"reason: The server answers 404.\r\n" in kinds[1][1]
    assert path.read_bytes()[:8] == b"WARC/1.1"


def test_a_warc_file_says_what_is_missing(full: Archive, tmp_path: Path) -> None:
    full.blob(b"gone").unlink()
    path = tmp_path / "x.warc.gz"
    ran = full.run("warc", "town", "-o", str(path))
    assert ran.returncode == 3
    assert ran.stderr == f"missing: {sha256(b'gone')}, the file of http://old.example.org/x.pdf\n"
    check_warc(path)
    full.blob(CSV).write_bytes(b"x" * len(CSV))
    ran = full.run("warc", "town", "-o", str(tmp_path / "y.warc.gz"))
    assert (ran.returncode, (tmp_path / "y.warc.gz").exists()) == (3, False)


def test_hostile_headers_and_addresses_break_no_record(archive: Archive, tmp_path: Path) -> None:
    headers = [["X-\r\nEvil: 1", "a\r\n\r\nWARC/1.1\r\n"], ["Ö", 'ü; filename="ö"'], ["Transfer-Encoding", "chunked"]]
    archive.look(1, CSV, url="https://ex ample.org/ä\r\nWARC-Type: response?", headers=headers, title="T\r\nX: 1")
    path = tmp_path / "x.warc"
    ran = archive.run("warc", "-o", str(path))
    assert ran.returncode == 0, ran.stderr
    check_warc(path)
    records = list(warc_records(path))
    assert [kind for kind, *_ in records] == ["warcinfo", "response", "metadata"]
    assert records[1][-1] == CSV


@pytest.mark.slow
def test_a_warc_file_on_standard_output(full: Archive) -> None:
    chosen = [f"-sOUTPUT_DIR={full.output}", f"-sARCHIVE_STORE={full.store}"]
    command = [sys.executable, "-W", "error", "-m", "scrapy", "archive", "warc", "r2", "-o", "-", *chosen]
    ran = subprocess.run(command, cwd=ROOT, capture_output=True, check=True)
    kinds = [found.rec_type for found in ArchiveIterator(io.BytesIO(ran.stdout))]
    assert kinds == ["warcinfo", "response", "metadata"]


# S3, and large files


@pytest.mark.slow
def test_an_archive_in_s3(full: Archive, seaweed: Seaweed, tmp_path: Path) -> None:
    os.environ.update(seaweed.environment)
    seaweed.make_bucket("towns")
    full.settings["ARCHIVE_STORE"] = "s3://towns/kept"
    blobs = open_blobs(BaseSettings(full.settings))
    for body in (b"old\n", CSV, b"gone", b"loose"):
        path = tmp_path / "download"
        path.write_bytes(body)
        asyncio.run(blobs.put(path, sha256(body)))
    assert in_table(full.run("verify"))[2:5] == ["0", "0", "1"]
    assert full.run("get", "r1", "-o", str(tmp_path / "x")).returncode == 0
    assert (tmp_path / "x").read_bytes() == CSV
    assert full.run("warc", "-o", str(tmp_path / "x.warc.gz")).returncode == 0
    check_warc(tmp_path / "x.warc.gz")
    assert full.run("bag", "d1", "-o", str(tmp_path / "bag.zip")).returncode == 0
    bagit.Bag(str(unpacked(tmp_path / "bag.zip"))).validate()
    assert "2 bags written" in full.run("bag", "--each", "--to", "s3://towns/bags").stdout
    assert "1 bags written, 1 as" in full.run("bag", "--each", "--to", "s3://towns/bags").stdout
    (tmp_path / "d1.zip").write_bytes(Bucket("s3://towns/bags", "--to", None).read("town/datasets/d1.zip") or b"")
    bagit.Bag(str(unpacked(tmp_path / "d1.zip"))).validate()
    assert full.run("prune", "--yes", "-sARCHIVE_KEEP_DAYS=1").returncode == 0
    assert {blob.sha256 for blob in blobs} == {sha256(CSV), sha256(b"gone"), sha256(b"loose")}  # that is too young
    blobs.remove(sha256(b"gone"))
    ran = full.run("verify")
    assert (ran.returncode, ran.stdout.split()[:2]) == (3, ["missing", sha256(b"gone")])
    os.environ["AWS_ENDPOINT_URL"] = "http://127.0.0.1:9"
    ran = full.run("verify")
    assert (ran.returncode, len(ran.stderr.splitlines())) == (1, 1)


PEAK = """
import atexit, resource, sys
from pathlib import Path
from scrapy.cmdline import execute

path = Path(sys.argv.pop())
atexit.register(lambda: path.write_text(str(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)))
execute()
"""


@pytest.mark.slow
@pytest.mark.parametrize("words", [["verify"], ["get", "r1"], ["bag", "d1"], ["warc"]], ids=lambda words: words[0])
def test_a_large_file_takes_no_memory(archive: Archive, tmp_path: Path, words: list[str]) -> None:
    def peak(name: str) -> int:
        chosen = {"OUTPUT_DIR": archive.output, "ARCHIVE_STORE": archive.store}
        given = [*words, *([] if words == ["verify"] else ["-o", str(tmp_path / f"{name}.zip")])]
        command = [
            sys.executable,
            "-c",
            PEAK,
            "archive",
            *given,
            *(f"-s{key}={value}" for key, value in chosen.items()),
        ]
        ran = subprocess.run([*command, str(tmp_path / name)], cwd=ROOT, capture_output=True, text=True, check=False)
        assert ran.returncode == 0, ran.stderr
        return int((tmp_path / name).read_text())

    archive.look(1, CSV)
    small = peak("small")
    size, digest = 200_000_000, hashlib.sha256()
    for _ in range(100):
        digest.update(bytes(size // 100))
    path = archive.store / key(digest.hexdigest())
    path.parent.mkdir(parents=True)
    path.touch()
    os.truncate(path, size)
    archive.look(2, b"", sha256=digest.hexdigest(), size=size)
    archive.blob(b"").unlink()
    assert peak("large") - small < 20_000, "KiB"


def test_a_file_is_named_first_where_it_is_current() -> None:
    names = "source, dataset_id, resource_id, url, state, time, sha256, size, kept_at, is_last"
    looks = [
        ("archive-of-a", "d", "r", "u", "kept", "2026-01-01", "x", 1, None, 1),
        ("archive-of-b", "d", "r", "u", "kept", "2026-02-01", "x", 1, None, 0),
        ("archive-of-b", "d", "r", "u", "kept", "2026-03-01", "y", 1, None, 1),
    ]
    with closing(sqlite3.connect(":memory:")) as db:
        db.execute(f"CREATE TABLE captures ({names})")
        db.executemany("INSERT INTO captures VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", looks)
        db.execute(VERSIONS)
        assert [row[0] for row in db.execute(USERS, ("x",))] == ["archive-of-a", "archive-of-b"]
