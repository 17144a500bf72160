"""How large index.sqlite-wal and a ledger get: the log of millions of rows must not stay as large as they are."""

from __future__ import annotations

import json
import shutil
import sqlite3
import threading
from contextlib import closing, contextmanager
from itertools import cycle
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from crawlers.components import ledger as job_module
from crawlers.components.ledger import Job
from crawlers.items import Dataset
from crawlers.store.index import Index, catch_up, database
from crawlers.store.index.database import OF_A_SOURCE, Database, connect
from crawlers.store.index.index import drop
from tests.indexed import indexed
from tests.test_index import KNOWN
from tests.test_index_growth import put_reports, report

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

DATASETS = 12_000
LOG = "index.sqlite-wal"
MEGABYTES = 12
"""Bytes that the log may take: SQLite empties it every 4 MB, and one transaction comes on top."""


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An index of about 25 MB, all of it of one source."""
    made = tmp_path_factory.mktemp("large")
    path = indexed(made, datasets=DATASETS, sources=1)
    with closing(sqlite3.connect(path, isolation_level=None)) as db:
        db.execute("BEGIN")
        words = "dataset_id, '', file, sha256, 4, '2026', 'new', '20260101T000000Z', '2026', '2026', 'x', 'y', NULL"
        db.execute(f"INSERT INTO documents SELECT source, 'dataset', {words} FROM datasets")
        db.executemany("INSERT INTO observations VALUES ('source-0', ?, ?, 's', '1')", _observations())
        db.execute("COMMIT")
        db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
    assert path.stat().st_size > 2 * MEGABYTES * 2**20
    return made


def _observations() -> Iterator[tuple[str, str]]:
    return ((f"2026-01-{day:02}", f"metric-{metric:05}") for day in range(1, 4) for metric in range(7_000))


@pytest.fixture
def copied(large: Path, tmp_path: Path) -> Path:
    shutil.copy(large / "index.sqlite", tmp_path)
    return tmp_path


def logged(output: Path) -> float:
    return (output / LOG).stat().st_size / 2**20


@contextmanager
def opened(output: Path) -> Iterator[sqlite3.Connection]:
    with closing(Database(output).db) as db:
        yield db


@pytest.mark.parametrize(
    "work",
    [
        lambda db: database.forget(db, "source-0"),
        lambda db: database.outdate(db, "source-0"),
    ],
    ids=["forget", "outdate"],
)
def test_rows_are_changed_some_at_a_time(copied: Path, work: Callable[[sqlite3.Connection], None]) -> None:
    with opened(copied) as db:
        work(db)
        assert logged(copied) < MEGABYTES


def test_a_source_is_forgotten_as_a_whole(copied: Path) -> None:
    with opened(copied) as db:
        database.forget(db, "source-0")
        tables = {table: db.execute(f"SELECT count(*) FROM {table}").fetchone()[0] for table in OF_A_SOURCE}
        assert set(tables.values()) == {0}
        found = "SELECT count(*) FROM search WHERE search MATCH 'flood'"
        assert db.execute(found).fetchone() == (0,)
        db.execute("INSERT INTO search (search) VALUES ('integrity-check')")


@contextmanager
def dying(monkeypatch: pytest.MonkeyPatch, transactions: int) -> Iterator[None]:
    """Die after some transactions, as by a kill."""
    left = iter(range(transactions))
    really = database.transaction

    def transaction(db: sqlite3.Connection) -> Any:
        if next(left, None) is None:
            raise KeyboardInterrupt
        return really(db)

    with monkeypatch.context() as patch:
        patch.setattr(database, "transaction", transaction)
        with pytest.raises(KeyboardInterrupt):
            yield


@pytest.mark.parametrize("stop", [1, 5, 12, 18])
def test_a_source_that_was_half_forgotten_is_forgotten_later(
    copied: Path, stop: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As a kill would leave it: some transactions are there, the others are not."""
    with dying(monkeypatch, stop):
        drop(copied, ["source-0"])
    with closing(connect(copied)) as db:
        assert db.execute("SELECT source FROM sources").fetchall()
    catch_up(copied)
    with closing(connect(copied)) as db:
        assert not [table for table in OF_A_SOURCE if db.execute(f"SELECT 1 FROM {table} LIMIT 1").fetchone()]


def test_datasets_are_described_again_after_a_kill_in_between(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from tests.held import put_ckan  # noqa: PLC0415

    for number in range(9):
        put_ckan(tmp_path, "town", {"id": f"id-{number}", "name": "a", "title": "Rain", "resources": []})
    put_reports(tmp_path, report(1))
    catch_up(tmp_path)
    put_reports(tmp_path, report(2, arguments={"defaults": json.dumps({"license": "CC0-1.0"})}))
    monkeypatch.setattr(database, "_DATASETS", 2)
    with dying(monkeypatch, 4):
        catch_up(tmp_path)
    query = "SELECT license, count(*) FROM datasets GROUP BY 1"
    with closing(connect(tmp_path)) as db:
        assert [tuple(row) for row in db.execute(query)] == [(None, 9)]
    catch_up(tmp_path)
    with closing(connect(tmp_path)) as db:
        assert [tuple(row) for row in db.execute(query)] == [("CC0-1.0", 9)]


@contextmanager
def overlapping_readers(output: Path) -> Iterator[list[int]]:
    """Readers of which there is always one, so that SQLite never empties the log; gives its sizes meanwhile."""
    sizes: list[int] = []
    over = threading.Event()

    def read() -> None:
        readers = [connect(output) for _ in range(2)]
        for reader in cycle(readers):
            reader.execute("BEGIN")
            reader.execute("SELECT count(*) FROM sources").fetchall()
            other = readers[reader is readers[0]]
            if other.in_transaction:
                other.execute("ROLLBACK")
            sizes.append((output / LOG).stat().st_size)
            if over.wait(0.002):
                break
        for reader in readers:
            reader.close()

    thread = threading.Thread(target=read)
    thread.start()
    try:
        yield sizes
    finally:
        over.set()
        thread.join()


def test_readers_that_follow_each_other_do_not_swell_the_log(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(database, "LARGEST_LOG", 500_000)
    (tmp_path / "town").mkdir()
    (tmp_path / "town" / "manifest.jsonl").touch()
    index = Index(tmp_path, "town")
    for number in range(8_000):
        item = Dataset(source="town", id=f"{number:05}", title=f"Rain {number}", description="rain and floods " * 60)
        index.put("dataset", item.id, None, KNOWN, item=item, time=KNOWN.seen)
    index.flush()
    with overlapping_readers(tmp_path) as sizes:
        index.settle()
    index.database.empty_log()
    assert (tmp_path / LOG).stat().st_size == 0
    assert (tmp_path / "index.sqlite").stat().st_size > 16 * 2**20
    assert max(sizes) < MEGABYTES * 2**20
    index.close()


# The ledger


REQUEST = json.dumps({"url": "https://example.org/", "headers": {"Accept": ["application/json"] * 20}})


def filled(folder: Path, count: int) -> Job:
    job = Job(folder, {"spider": "one", "arguments": {}})
    for number in range(count):
        with job.changing(2):
            job.db.execute("INSERT INTO seen VALUES (?)", (number.to_bytes(20, "big"),))
            job.db.execute("INSERT INTO requests (host, priority, state, request) VALUES ('h', 0, 0, ?)", (REQUEST,))
        if not number % 500:
            job.commit()
    return job


def finish(job: Job, begin: int, end: int) -> None:
    for number in range(begin, end):
        job.execute("DELETE FROM requests WHERE id = ?", (number + 1,))
        if not number % 200:
            job.commit()


def size(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.glob("ledger.sqlite*"))


def test_a_ledger_that_is_mostly_done_is_small(tmp_path: Path) -> None:
    job = filled(tmp_path, 20_000)
    full = size(tmp_path)
    finish(job, 0, 19_000)
    job.db.execute("COMMIT")
    job.db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
    assert size(tmp_path) < full / 4
    assert job.db.execute("SELECT count(*) FROM seen").fetchone() == (20_000,)
    assert job.db.execute("SELECT count(*) FROM requests").fetchone() == (1_000,)
    assert job.db.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    job.db.close()


def test_a_commit_gives_back_a_little(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    job = filled(tmp_path, 5_000)
    monkeypatch.setattr(job_module, "_FREED", 10)
    finish(job, 0, 3_000)
    before = job.db.execute("PRAGMA page_count").fetchone()[0]
    job.execute("DELETE FROM requests WHERE id = 3001")
    job.commit()
    assert before - job.db.execute("PRAGMA page_count").fetchone()[0] == 10
    job.db.close()
