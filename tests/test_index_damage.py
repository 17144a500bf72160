"""A damaged index.sqlite stops no crawl and loses nothing: it is set aside and rebuilt from the manifests."""

from __future__ import annotations

import os
import shutil
import sqlite3
import subprocess
import sys
from contextlib import closing
from typing import TYPE_CHECKING
from unittest.mock import patch

import pytest

from crawlers.exceptions import OutputError
from crawlers.items import Dataset
from crawlers.operate.dashboard.site import Site
from crawlers.store.index import Index, catch_up, database, missing_descriptions
from crawlers.store.index.batch import DOCUMENTS
from crawlers.store.index.schema import VERSION
from tests.conftest import ROOT, command, options, scrapy
from tests.test_export import put_ckan, record
from tests.test_index import KNOWN, agrees, everything, found, rows
from tests.test_index_growth import report

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

LATER = "2026-11-22T00:00:00.000Z"


def overwrite(path: Path, start: int, length: int = 0) -> None:
    with path.open("r+b") as file:
        file.seek(start)
        file.write(b"\xa5" * (length or path.stat().st_size - start))


def tear(output: Path, *tables: str) -> None:
    """Overwrites the first page of tables and leaves the others, and the file's header, as they are."""
    path = output / "index.sqlite"
    with closing(sqlite3.connect(path)) as db:
        assert db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone() == (0, 0, 0)
        size = db.execute("PRAGMA page_size").fetchone()[0]
        query = "SELECT rootpage FROM sqlite_master WHERE name = ?"
        pages = [db.execute(query, (table,)).fetchone()[0] for table in tables]
    for page in pages:
        overwrite(path, (page - 1) * size, size)


def a_directory(path: Path) -> None:
    path.unlink()
    path.mkdir()


DAMAGES: dict[str, Callable[[Path], object]] = {
    "a torn header": lambda path: overwrite(path, 0, 100),
    "torn pages": lambda path: overwrite(path, 4096),
    "half of it": lambda path: os.truncate(path, path.stat().st_size // 2),
    "no database": lambda path: path.write_bytes(b"no database " * 1000),
    "no bytes": lambda path: os.truncate(path, 0),
    "a directory": a_directory,
    "a log that is none": lambda path: path.with_name("index.sqlite-wal").write_bytes(b"\xa5" * 50_000),
    "no tables": lambda path: (path.unlink(), sqlite3.connect(path).executescript("PRAGMA user_version = 1").close()),
}


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    output = tmp_path_factory.mktemp("whole")
    for number in range(60):
        put_ckan(output, ("town", "city")[number % 2], record(number))
    catch_up(output)
    return output


@pytest.fixture
def copy(whole: Path, tmp_path: Path) -> Path:
    return shutil.copytree(whole, tmp_path / "copy")


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_crawl_and_a_reader_rebuild_it(copy: Path, damage: str, caplog: pytest.LogCaptureFixture) -> None:
    before = everything(copy)
    DAMAGES[damage](copy / "index.sqlite")
    index = Index(copy, "town", for_crawl=True)
    known = index.documents.get("dataset", "id-00002", None)
    assert known is not None
    assert index.documents.get("dataset", "id-00001", None) is None
    assert len(list(index.documents.held())) == 30
    index.put("dataset", "id-00002", None, known._replace(seen=LATER))
    index.close()
    aside = [path.name for path in copy.glob("index.sqlite.damaged-*")]
    assert len(caplog.records) == len(aside) == (damage not in ("no bytes", "a log that is none", "no tables"))
    lost: list[str] = []
    catch_up(copy, lost.append)
    assert lost == []
    assert everything(copy) == before
    assert agrees(copy)


@pytest.mark.parametrize("table", ["sources", "documents", "changes", "complete"])
def test_what_is_found_to_be_damaged_while_a_crawl_writes(copy: Path, table: str, caplog) -> None:
    index = Index(copy, "town", for_crawl=True)
    index.database.wait(0.2)
    item = Dataset(source="town", id="id-00002", title="Zanzibar")
    index.put("dataset", "id-00002", None, KNOWN._replace(sha256="b" * 64), item=item)
    tear(copy, table)
    index.database.db.close()  # what it has read of the pages is forgotten
    index.database.db = sqlite3.connect(copy / "index.sqlite", isolation_level=None)
    index.runs.last_complete("x")
    index.put("dataset", "new", None, KNOWN, item=Dataset(source="town", id="new", title="Causeway"), time=KNOWN.seen)
    known = index.documents.get("dataset", "id-00002", None)
    assert known is not None
    assert known.sha256 == "b" * 64, "what is in hand is newer than the manifest"
    index.engine_stopped()
    assert index.failed is None
    assert (found(copy, "zanzibar"), found(copy, "causeway")) == (["id-00002"], ["new"])
    catch_up(copy)
    assert (len(found(copy, "rain")), agrees(copy)) == (59, True)
    assert len([one for one in caplog.records if "was renamed to" in one.message]) == 1


@pytest.mark.parametrize("table", ["datasets", "search_data"])
def test_what_is_found_to_be_damaged_when_a_crawl_ends(copy: Path, table: str, caplog) -> None:
    """What is in hand goes into the new file, and the rest is read from the documents."""
    index = Index(copy, "town", for_crawl=True)
    put_ckan(copy, "town", record(61))
    item = Dataset(source="town", id="id-00061", title="Rain in hand")
    index.put("dataset", "id-00061", None, KNOWN, item=item, time=KNOWN.seen)
    tear(copy, table)
    index.database.db.close()  # what it has read of the pages is forgotten
    index.database.db = sqlite3.connect(copy / "index.sqlite", isolation_level=None)
    index.engine_stopped()
    assert index.failed is None
    catch_up(copy)
    assert (len(found(copy, "rain")), agrees(copy)) == (61, True)
    assert len([one for one in caplog.records if "was renamed to" in one.message]) == 1


@pytest.mark.parametrize(
    ("table", "look"),
    [
        ("resources", lambda index: index.without_exports(["id-00002"], ["resource"]) == set()),
        ("documents", lambda index: index.documents.exports(["id-00002"]) == {"id-00002": {}}),
        ("documents", lambda index: index.documents.newest_stamp() is None),
    ],
)
def test_a_crawl_that_looks_at_a_torn_page_rebuilds_the_index(
    copy: Path, table: str, look: Callable[..., bool]
) -> None:
    tear(copy, table)
    index = Index(copy, "town", for_crawl=True)
    assert look(index)
    index.engine_stopped()
    catch_up(copy)
    assert agrees(copy)


@pytest.mark.parametrize("damaged", [True, False])
def test_what_a_run_saw_before_the_index_was_lost_is_not_taken_for_missing(copy: Path, *, damaged: bool) -> None:
    """DCAT and HTML withdraw what two whole listings lack: the first would be one whose datasets are forgotten."""
    index = Index(copy, "town", for_crawl=True)
    if damaged:
        tear(copy, "documents")
        index.database.db.close()
        index.database.db = sqlite3.connect(copy / "index.sqlite", isolation_level=None)
    assert index.documents.get("dataset", "id-00002", None) is not None
    told = report(300)
    index.read_report(told)
    index.close()
    seen = {row["last_seen"] for row in rows(copy, "SELECT last_seen FROM documents WHERE source = 'town'")}
    assert (seen == {told["started"]}) is damaged


def test_what_could_not_be_rebuilt_to_the_end_is_not_believed(copy: Path) -> None:
    """A dataset that such an index lacks may be on disk: the crawl would count it as new."""
    index = Index(copy, "town", for_crawl=True)
    tear(copy, "documents")
    index.database.db.close()
    index.database.db = sqlite3.connect(copy / "index.sqlite", isolation_level=None)
    with (
        patch.object(index.database, "fill", side_effect=sqlite3.OperationalError("database or disk is full")),
        pytest.raises(sqlite3.OperationalError),
    ):
        index.documents.get("dataset", "id-00002", None)
    known = index.documents.get("dataset", "id-00002", None)
    index.close()
    assert known is not None


def test_a_dataset_withdrawn_long_after_it_was_written_survives_a_rebuild(copy: Path) -> None:
    """Its first line is in the database when its last line is read, no longer in the batch."""
    for number in range(100, 100 + DOCUMENTS):
        put_ckan(copy, "town", record(number))
    put_ckan(copy, "town", record(2), status="withdrawn")
    index = Index(copy, "town", for_crawl=True)
    tear(copy, "documents")
    index.database.db.close()
    index.database.db = sqlite3.connect(copy / "index.sqlite", isolation_level=None)
    known = index.documents.get("dataset", "id-00002", None)
    index.close()
    assert known is not None
    assert (known.status, known.metadata_source) == ("withdrawn", "package_search")


def test_one_that_another_program_replaced_or_removed_is_not_written_into(copy: Path) -> None:
    before = everything(copy)
    index = Index(copy, "town", for_crawl=True)
    other = Index(copy, "city", for_crawl=True)
    tear(copy, "documents")
    other.database.db.close()
    other.database.db = sqlite3.connect(copy / "index.sqlite", isolation_level=None)
    assert other.documents.get("dataset", "id-00001", None) is not None
    known = index.documents.get("dataset", "id-00002", None)
    assert known is not None
    index.put("dataset", "id-00002", None, known._replace(seen=LATER))
    index.close()
    other.engine_stopped()
    assert rows(copy, "SELECT last_seen FROM documents WHERE dataset_id = 'id-00002'") == [{"last_seen": LATER}]
    catch_up(copy)
    assert everything(copy) == before
    index = Index(copy, "town", for_crawl=True)
    (copy / "index.sqlite").unlink()
    index.put("dataset", "id-00002", None, known._replace(seen=LATER))
    index.close()
    assert len(rows(copy, "SELECT * FROM documents WHERE source = 'town'")) == 30


def test_a_dashboard_that_is_running_adds_the_sources_that_a_crawl_did_not(copy: Path) -> None:
    site = Site(copy, None, None)
    (copy / "index.sqlite").write_bytes(b"no database " * 1000)
    Index(copy, "town", for_crawl=True).engine_stopped()
    assert rows(copy, "SELECT source FROM sources") == [{"source": "town"}]
    site.warm()
    assert rows(copy, "SELECT source, described FROM sources") == [
        {"source": "city", "described": 1},
        {"source": "town", "described": 1},
    ]
    with patch("crawlers.operate.dashboard.site.catch_up") as again:
        site.warm()
    assert not again.called


def test_only_the_last_one_set_aside_is_kept(copy: Path) -> None:
    (copy / "index.sqlite.damaged-20260101T000000Z").write_bytes(b"old")
    (copy / "index.sqlite.damaged-20260101T000000Z-wal").write_bytes(b"old")
    (copy / "index.sqlite").write_bytes(b"no database " * 1000)
    catch_up(copy)
    (aside,) = copy.glob("index.sqlite.damaged-*")
    assert aside.read_bytes() == b"no database " * 1000


def test_a_reader_does_not_set_aside_what_another_user_writes(copy: Path) -> None:
    """It may only not be written by who searches; to its crawls it is as good as ever."""
    put_ckan(copy, "town", record(100))
    index = Index(copy, "town")
    index.database.db.execute("PRAGMA query_only = ON")
    index.batch.add(("dataset", "x", ""), KNOWN)
    assert not index.flush()
    assert "readonly" in str(index.failed)
    assert list(copy.glob("index.sqlite.damaged-*")) == []


def test_a_query_that_meets_a_torn_page_is_one_sentence(copy: Path) -> None:
    tear(copy, "search_data")
    ran = command("search", "rain", "-s", f"OUTPUT_DIR={copy}")
    assert (ran.returncode, ran.stdout, len(ran.stderr.splitlines())) == (1, "", 1)
    assert "index.sqlite can't be read (" in ran.stderr
    assert "scrapy reindex" in ran.stderr
    (copy / "index.sqlite").unlink()
    (copy / "index.sqlite").mkdir()
    ran = command("reindex", "-s", f"OUTPUT_DIR={copy}")
    assert (ran.returncode, ran.stderr, ran.stdout) == (0, "", "city: 30 datasets\ntown: 30 datasets\n")


def test_what_was_not_described_when_a_crawl_was_killed_is_described_by_the_first_reader(copy: Path) -> None:
    before = everything(copy)
    (copy / "index.sqlite").unlink()
    killed = Index(copy, "town", for_crawl=True)
    killed.database.db.close()
    assert rows(copy, "SELECT * FROM datasets") == []
    ran = command("search", "rain", "-s", f"OUTPUT_DIR={copy}")
    assert (ran.returncode, ran.stderr, ran.stdout.splitlines()[-1]) == (
        0,
        "",
        "60 datasets have: rain; showing the first 20",
    )
    assert everything(copy) == before


def test_a_run_that_was_killed_before_it_described_a_dataset_leaves_its_exports_to_the_next(tmp_path: Path) -> None:
    put_ckan(tmp_path, "town", record(1, resources=[{"id": "r1", "name": "R"}]))
    index = Index(tmp_path, "town", for_crawl=True)
    assert index.without_exports(["id-00001"], ["resource"]) == {"id-00001"}
    index.close()


# Whole crawls


def test_a_crawl_that_meets_a_torn_page_counts_as_any_other(crawl, portal, output: Path) -> None:
    site = portal(datasets=305)
    crawl("ckan", site)
    gone, changed = site.ids()[7:9]
    site.change(remove=[gone], touch=[changed], edit={changed: {"title": "Zanzibar"}}, add=2)
    tear(output, "documents", "changes")
    done = crawl("ckan", site)
    assert (done.code, done.report["verdict"], done.report["errors"]) == (0, "complete", {})
    counts = done.report["counts"]
    assert {name: counts[name] for name in ("new", "updated", "unchanged", "withdrawn")} == {
        "new": 2,
        "updated": 1,
        "unchanged": 303,
        "withdrawn": 1,
    }
    assert done.log.count("is rebuilt from the manifests") == 1
    assert "Traceback" not in done.log
    assert len(rows(output, "SELECT * FROM datasets WHERE NOT withdrawn")) == 306
    assert (found(output, "zanzibar"), agrees(output)) == ([changed], True)


@pytest.mark.slow
def test_a_crawl_replaces_an_index_that_it_may_not_write(portal, output: Path) -> None:
    site = portal(datasets=3)
    words = ["crawl", "ckan", *options(output, {}, portal=site.url, source="town")]
    assert scrapy(*words, "--nolog").returncode == 0
    site.change(add=1)
    (output / "index.sqlite").chmod(0o444)
    bound = ["setpriv", "--bounding-set=-dac_override"] if os.geteuid() == 0 else []
    command = [*bound, sys.executable, "-W", "error", "-m", "scrapy", *words]
    ran = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert (ran.returncode, ran.stderr.count("is rebuilt from the manifests")) == (0, 1), ran.stderr
    assert len(rows(output, "SELECT * FROM datasets")) == 4
    assert len(rows(output, "SELECT * FROM runs")) == 2


def test_an_index_of_another_version_is_replaced_as_a_whole_or_stays(tmp_path, monkeypatch):
    (tmp_path / "town").mkdir()
    Index(tmp_path, "town").close()
    with closing(sqlite3.connect(tmp_path / "index.sqlite")) as db:
        db.execute("PRAGMA user_version = 1")
    before = "SELECT count(*) FROM sqlite_master"
    with closing(sqlite3.connect(tmp_path / "index.sqlite")) as db:
        there = db.execute(before).fetchone()
    with monkeypatch.context() as broken:
        broken.setattr(database, "TABLES", database.TABLES + "CREATE TABLE sources (source);")
        with pytest.raises(OutputError):
            Index(tmp_path, "town")
    with closing(sqlite3.connect(tmp_path / "index.sqlite")) as db:
        assert db.execute(before).fetchone() == there
    Index(tmp_path, "town").close()
    with closing(sqlite3.connect(tmp_path / "index.sqlite")) as db:
        assert (db.execute(before).fetchone(), db.execute("PRAGMA user_version").fetchone()) == (there, (VERSION,))


def test_no_name_in_an_index_of_another_version_is_a_statement(tmp_path):
    (tmp_path / "town").mkdir()
    with closing(sqlite3.connect(tmp_path / "index.sqlite")) as db:
        db.execute(f"""CREATE TABLE "a""; ATTACH '{tmp_path / "made"}' AS made; CREATE TABLE made.t (x); --" (x)""")
    Index(tmp_path, "town").close()
    assert not (tmp_path / "made").exists()


def test_who_describes_a_source_does_not_hide_what_a_crawl_outdates_meanwhile(tmp_path, monkeypatch):
    for number in range(3):
        put_ckan(tmp_path, "town", record(number))
    is_described = "SELECT described FROM sources"
    catch_up(tmp_path)
    really = missing_descriptions.described

    def described(*arguments):
        yield from really(*arguments)
        with closing(database.Database(tmp_path).db) as other:
            database.outdate(other, "town")

    index = Index(tmp_path, "town")
    database.outdate(index.database.db, "town")
    with monkeypatch.context() as meanwhile:
        meanwhile.setattr(missing_descriptions, "described", described)
        index.describe(print)
    assert index.database.rows(is_described, ()) == [(0,)]
    index.describe(print)
    assert index.database.rows(is_described, ()) == [(1,)]
    index.close()
