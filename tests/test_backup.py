"""`scrapy backup` and `scrapy restore`: what a backup of a folder that is crawled has, and what comes back."""

from __future__ import annotations

import errno
import hashlib
import json
import os
import shutil
import signal
import sqlite3
import subprocess
from contextlib import closing

import pytest

from crawlers import settings
from crawlers.components import ledger
from crawlers.exceptions import BackupError
from crawlers.operate import backup as backups
from crawlers.operate.backup import SUMS, Backup, Places, restore
from crawlers.safety.locks import LOCK, take
from crawlers.store import versions as stored
from crawlers.store.index import schema
from crawlers.store.index.known import Known
from crawlers.store.versions import Versions
from tests.conftest import ROOT, scrapy
from tests.test_resume import begun, left, resumed
from tests.test_verify import line, written
from tests.waiting import until

RUN = "20261120T000000Z"


def words(home, **settings):
    """The options of a project in a folder."""
    places = {"OUTPUT_DIR": "output", "JOBS_DIR": "jobs", "SOURCES_FILE": "sources.toml", "ARCHIVE_STORE": "archive"}
    places |= {"FORMS_FILE": "forms.toml"}
    return [f"-s{name}={value}" for name, value in ({k: home / v for k, v in places.items()} | settings).items()]


def places(home):
    return Places.of(
        {
            "OUTPUT_DIR": home / "output",
            "JOBS_DIR": home / "jobs",
            "SOURCES_FILE": home / "sources.toml",
            "ARCHIVE_STORE": str(home / "archive"),
            "FORMS_FILE": home / "forms.toml",
        }
    )


@pytest.fixture
def home(tmp_path):
    """A project with all that a backup takes."""
    home = tmp_path / "home"
    written(home / "output", "town", a=b'{"id": "a"}\n', b=b'{"id": "b"}\n')
    (home / "output/town/runs").mkdir()
    (home / f"output/town/runs/{RUN}.json").write_text("{}")
    (home / "output/town/timeseries").mkdir()
    (home / "output/town/timeseries/2026.csv").write_text("day,subject,metric,value\r\n")
    with closing(sqlite3.connect(home / "output/town/publish.sqlite")) as db:
        db.executescript("PRAGMA journal_mode = WAL; CREATE TABLE sent (id); INSERT INTO sent VALUES (7)")
    for name in ("sources.toml", "users.toml", "forms.toml", "catalogues/town.toml", "spiders/town.py"):
        (home / name).parent.mkdir(exist_ok=True)
        (home / name).write_text(f"# {name}\n")
    (home / "audit.jsonl").write_text('{"who": "ada"}\n')
    for name, facts in (("town", "{}"), ("done", '{"finished": 1}')):
        (home / "jobs" / name).mkdir(parents=True)
        with closing(sqlite3.connect(home / "jobs" / name / "ledger.sqlite", isolation_level=None)) as db:
            db.execute("CREATE TABLE facts (name TEXT PRIMARY KEY, value TEXT)")
            db.executemany("INSERT INTO facts VALUES (?, ?)", [(key, str(v)) for key, v in json.loads(facts).items()])
            identity = json.dumps({"output": str((home / "output").resolve()), "spider": "ckan"})
            db.execute("INSERT INTO facts VALUES ('identity', ?)", (identity,))
    blob = hashlib.sha256(b"file").hexdigest()
    (home / f"archive/sha256/{blob[:2]}").mkdir(parents=True)
    (home / f"archive/sha256/{blob[:2]}/{blob}").write_bytes(b"file")
    return home


def taken(home, folder, *more):
    return scrapy("backup", str(folder), *more, *words(home))


def content(folder):
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and not path.name.startswith((".", "index.sqlite"))
    }


def test_a_backup_and_its_way_back(home, tmp_path):
    """One command each; what is not in it is said."""
    ran = taken(home, tmp_path / "backup", "--files")
    assert (ran.returncode, ran.stderr) == (0, "")
    assert "CKAN_API_TOKEN" in ran.stdout
    told = subprocess.run(["sha256sum", "--check", "--quiet", SUMS], cwd=tmp_path / "backup", check=False)
    assert told.returncode == 0, "any program can check it"
    assert (tmp_path / "backup").stat().st_mode & 0o077 == 0, "it has hashes of passwords"

    new = tmp_path / "new"
    new.mkdir()
    ran = scrapy("restore", str(tmp_path / "backup"), *words(new))
    assert ran.returncode == 0
    before, after = content(home), content(new)
    changing = {"jobs/town/ledger.sqlite", "jobs/done/ledger.sqlite", "output/town/publish.sqlite"}
    assert before.keys() - after.keys() == {"jobs/done/ledger.sqlite"}, "a job that is finished is not taken"
    assert {file for file in after if after[file] != before[file]} <= changing
    with closing(sqlite3.connect(new / "output/town/publish.sqlite")) as db:
        assert db.execute("SELECT * FROM sent").fetchall() == [(7,)]
    with closing(sqlite3.connect(new / "jobs/town/ledger.sqlite")) as db:
        (identity,) = db.execute("SELECT value FROM facts WHERE name = 'identity'").fetchone()
    assert json.loads(identity)["output"] == str((new / "output").resolve()), "it is resumed there"
    assert (new / "output/index.sqlite").exists()
    assert scrapy("verify", *words(new)).returncode == 0


def test_without_files_their_bytes_are_told(home, tmp_path):
    ran = taken(home, tmp_path / "backup")
    assert "The archive's 1 file, 4 B, are not in it: --files copies them, too." in ran.stdout
    assert not (tmp_path / "backup/archive").exists()
    ran = scrapy("restore", str(tmp_path / "backup"), *words(tmp_path / "new"))
    assert "The archive's files, 4 B, are not in the backup." in ran.stdout


def test_a_crawl_goes_on_from_a_backup_that_was_taken_while_it_ran(crawl, portal, tmp_path):
    """As if it had been killed at that moment, on the machine that the backup is restored on."""
    site = portal(datasets=60, rows_max=20)
    whole = crawl("hdx", site)
    home, new = tmp_path / "home", tmp_path / "new"
    running = begun(home / "output", home / "jobs/hdx", site, REQUESTS_PER_SECOND="40")
    try:
        manifest = home / "output/hdx/manifest.jsonl"
        until(lambda: manifest.exists() and manifest.stat().st_size > 30_000, unless=lambda: running.poll() is not None)
        ran = taken(home, tmp_path / "backup")
        assert running.poll() is None, "it crawls on"
    finally:
        running.send_signal(signal.SIGKILL)
        running.communicate()
    assert (ran.returncode, ran.stderr) == (0, "")
    shutil.rmtree(home)
    assert scrapy("restore", str(tmp_path / "backup"), *words(new)).returncode == 0
    assert scrapy("verify", *words(new)).returncode == 0
    done = resumed(new / "output", new / "jobs/hdx", site)
    assert (done.code, done.report["resumed"]) == (0, True)
    assert left(done) == left(whole)


def test_the_formats_of_this_version_are_documented():
    """docs/upgrading.md says what an update changes on disk."""
    rows = [row for row in (ROOT / "docs/upgrading.md").read_text().splitlines() if row.startswith("| 0.")]
    version, jobs, index, versions, _ = (cell.strip() for cell in rows[-1].strip("|").split("|"))
    assert settings.VERSION.startswith(version)
    assert jobs.startswith(f"format {ledger.FORMAT}:")
    assert (index, versions.partition(",")[0]) == (str(schema.VERSION), f"format {stored.FORMAT}")


@pytest.mark.parametrize("text", [None, "[", "a = 1\n"])
def test_a_project_without_sources_that_can_be_read_is_copied(home, tmp_path, text):
    (home / "sources.toml").unlink()
    if text:
        (home / "sources.toml").write_text(text)
    assert taken(home, tmp_path / "backup").returncode == 0
    assert (tmp_path / "backup/sources.toml").exists() == bool(text)


def test_rules_that_lie_elsewhere_are_told(home, tmp_path):
    for name in ("elsewhere.toml", "home/catalogues/a.toml"):
        (tmp_path / name).write_text("")
    tables = {"a": "catalogues/a.toml", "b": str(tmp_path / "elsewhere.toml"), "c": "catalogues/missing.toml"}
    text = "".join(f'[{name}]\nspider = "html"\narguments.rules = "{path}"\n' for name, path in tables.items())
    (home / "sources.toml").write_text(text)
    said = [line for line in taken(home, tmp_path / "backup").stdout.splitlines() if line.startswith("[")]
    assert said == [f"[b]: {tmp_path}/elsewhere.toml is not in it: move it to catalogues/."]


# One file


def made(home, folder):
    told = []
    backup = Backup(folder, places(home), told.append)
    for _ in backup.sources():
        pass
    backup.finish({})
    return told


def test_a_line_that_is_being_written_is_not_taken(home, tmp_path):
    with (home / "output/town/manifest.jsonl").open("ab") as manifest:
        whole = manifest.tell()
        manifest.write(line("c", b"{}")[:40])
    assert made(home, tmp_path / "backup") == []
    assert (tmp_path / "backup/output/town/manifest.jsonl").stat().st_size == whole


def test_a_document_that_was_replaced_since_comes_from_the_versions(home, tmp_path):
    town, body = home / "output/town", b'{"id": "a"}\n'
    known = Known("datasets/a.json", hashlib.sha256(body).hexdigest(), len(body), None, "new", RUN, "", "", "", None)
    with Versions.writing(town) as versions:
        replaced = {"replaced": "2026-11-21T00:00:00Z", "run": "20261121T000000Z", "status": "updated", "fields": None}
        versions.keep(("dataset", "a", ""), known, body, **replaced)
        (town / "datasets/a.json").write_bytes(b'{"id": "a", "title": "new"}\n')
        assert made(home, tmp_path / "backup") == []
    assert (tmp_path / "backup/output/town/datasets/a.json").read_bytes() == body


def test_the_line_of_a_document_that_is_being_written_is_waited_for(home, tmp_path, monkeypatch):
    """A crawl has replaced a document, and writes its line next; the former bytes are not kept."""
    town, body = home / "output/town", b'{"id": "b", "title": "new"}\n'
    (town / "datasets/b.json").write_bytes(body)
    lock = take(town / LOCK)

    def go_on(_):
        with (town / "manifest.jsonl").open("ab") as manifest:
            manifest.write(line("b", body, status="updated") + b"\n")

    monkeypatch.setattr(backups.time, "sleep", go_on)
    try:
        assert made(home, tmp_path / "backup") == []
    finally:
        os.close(lock)
    assert (tmp_path / "backup/output/town/datasets/b.json").read_bytes() == body


def test_what_is_damaged_or_a_link_is_left_out_and_named(home, tmp_path):
    (home / "output/town/datasets/a.json").write_bytes(b"{}")
    (home / "output/town/elsewhere").symlink_to("/etc")
    (home / "output/town/publish.sqlite").write_bytes(b"no database" * 100)
    ran = taken(home, tmp_path / "backup")
    assert ran.returncode == 3
    told = sorted(line.partition(" ")[0].rpartition("/town/")[2] for line in ran.stderr.splitlines())
    assert told == ["datasets/a.json", "elsewhere", "publish.sqlite"]
    assert all(line.endswith("it is not in the backup.") for line in ran.stderr.splitlines())
    assert "output/town/datasets/a.json" not in (tmp_path / "backup" / SUMS).read_text()


def test_a_file_that_the_manifest_does_not_name_is_not_taken(home, tmp_path):
    """A crawl is writing it, or was killed."""
    (home / "output/town/datasets/c.json").write_bytes(b"{}")
    made(home, tmp_path / "backup")
    assert not (tmp_path / "backup/output/town/datasets/c.json").exists()


# Where it goes


@pytest.mark.parametrize("stage", ["empty", "stopped", "whole"])
def test_each_backup_has_a_folder_of_its_own(home, tmp_path, stage):
    folder = tmp_path / "backup"
    folder.mkdir()
    if stage == "stopped":
        (folder / "sources.toml").touch()
    if stage == "whole":
        (folder / SUMS).touch()
    ran = taken(home, folder)
    said = {
        "empty": "",
        "stopped": f"{folder} is not empty: name a new folder, or remove a backup that was not finished.\n",
        "whole": f"{folder} has a backup already: name a new folder for each.\n",
    }
    assert (ran.returncode, ran.stderr) == (int(stage != "empty"), said[stage])


def test_a_backup_is_not_in_what_it_copies(home):
    ran = taken(home, home / "output/backup")
    assert (ran.returncode, "which is copied" in ran.stderr) == (1, True)
    assert not (home / "output/backup").exists()


def test_a_full_disk_is_a_sentence(home, tmp_path, monkeypatch):
    def full(*_):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(backups.inside, "move", full)
    with pytest.raises(BackupError, match=r"can't be written \(No space left on device\).*Make room"):
        made(home, tmp_path / "backup")
    assert not (tmp_path / "backup" / SUMS).exists()


# The way back


@pytest.fixture
def backup(home, tmp_path):
    assert taken(home, tmp_path / "backup").returncode == 0
    return tmp_path / "backup"


def refused(backup, new):
    with pytest.raises(BackupError) as caught:
        restore(backup, places(new))
    return str(caught.value)


def test_an_unfinished_backup_is_none(backup, tmp_path):
    (backup / SUMS).unlink()
    assert (
        refused(backup, tmp_path / "new") == f"{backup} has no {SUMS}: it is no backup, or one that was not finished."
    )
    assert not (tmp_path / "new").exists()


@pytest.mark.parametrize("damage", ["changed", "missing", "link"])
def test_all_is_checked_before_anything_is_written(backup, tmp_path, damage):
    path = backup / "spiders/town.py"  # the last but one
    path.unlink()
    if damage == "changed":
        path.write_text("# spiders/town.pu\n")
    if damage == "link":
        path.symlink_to(tmp_path / "home/spiders/town.py")
    said = f"{path} is missing or damaged. Nothing was restored: take another backup."
    assert refused(backup, tmp_path / "new") == said
    assert not (tmp_path / "new").exists()


@pytest.mark.parametrize(
    "name", ["../x", "output/../../x", "/etc/x", "output/", "elsewhere/x", "archive", "output/town\0"]
)
def test_a_backup_names_no_file_outside_of_the_project(backup, tmp_path, name):
    with (backup / SUMS).open("a") as sums:
        sums.write(f"{hashlib.sha256(b'').hexdigest()}  {name}\n")
    for path in (backup / "elsewhere/x", backup / "archive"):
        path.parent.mkdir(exist_ok=True)
        path.touch()
    assert "Nothing was restored" in refused(backup, tmp_path / "new")
    assert not (tmp_path / "new").exists()


@pytest.mark.parametrize("there", ["output/town/datasets/c.json", "output/city/manifest.jsonl", "sources.toml"])
def test_nothing_is_overwritten(backup, tmp_path, there):
    path = tmp_path / "new" / there
    path.parent.mkdir(parents=True)
    path.write_text("mine")
    assert "Nothing was restored" in refused(backup, tmp_path / "new")
    assert [file for file in (tmp_path / "new").rglob("*") if file.is_file()] == [path]


def test_what_is_the_same_may_be_there_already(backup, tmp_path):
    """The declarations and spiders come from a repository, or a restore was killed."""
    new = tmp_path / "new"
    shutil.copytree(backup / "spiders", new / "spiders")
    shutil.copytree(backup / "output", new / "output", ignore=shutil.ignore_patterns("b.json"))
    (new / "output/.copying").write_text("half of")
    (new / "output/index.sqlite").touch()
    restore(backup, places(new))
    assert (new / "output/town/datasets/b.json").read_bytes() == (backup / "output/town/datasets/b.json").read_bytes()


def test_a_later_format_is_refused(backup, tmp_path, monkeypatch):
    monkeypatch.setattr(backups, "FORMAT", 0)
    assert "of another version of this program" in refused(backup, tmp_path / "new")
