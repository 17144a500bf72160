"""Lock files, and the caches that one process at a time may replace."""

from __future__ import annotations

import os
import signal
import sqlite3
import subprocess
import sys
import time
from contextlib import closing, suppress
from pathlib import Path

import pytest

from crawlers.safety import sqlite as cache
from crawlers.safety.locks import alone, is_held, is_open_in, take
from tests.conftest import ROOT


def test_a_lock_is_one_holders_and_free_when_that_ends(tmp_path):
    path = tmp_path / ".lock"
    with alone(path):
        lock = tmp_path / "..lock.lock"
        assert is_held(lock)
        with alone(path, patience=0.05):  # it does not get the lock, and does not take it away
            assert lock.exists()
        assert is_held(lock)
    assert not lock.exists()


def test_who_waits_gets_the_lock_once_it_is_free(tmp_path):
    path, lock = tmp_path / "a", tmp_path / ".a.lock"
    for patience in (None, 60):
        with alone(path, patience):
            assert is_held(lock)
        assert not lock.exists()


def test_a_patience_that_is_over_is_no_lock(tmp_path, monkeypatch):
    monkeypatch.setattr(time, "monotonic", iter((0, 1, 2, 3)).__next__)
    with alone(tmp_path / "a", patience=1):
        assert not (tmp_path / ".a.lock").exists()


def test_a_lock_file_that_its_holder_removed_is_made_again(tmp_path, monkeypatch):
    """Who opened it before it was removed would hold what nobody else sees."""
    lock, real = tmp_path / ".a.lock", Path.stat
    removed = []

    def stat(path, **keywords):
        if path == lock and not removed:
            removed.append(path)
            lock.unlink()
        return real(path, **keywords)

    monkeypatch.setattr(Path, "stat", stat)
    with alone(tmp_path / "a"):
        assert (removed, is_held(lock)) == ([lock], True)


def test_a_lock_is_taken_once(tmp_path):
    first = take(tmp_path / "folder" / ".lock", tries=1)
    assert first is not None
    assert take(tmp_path / "folder" / ".lock", tries=2) is None


@pytest.mark.parametrize(
    ("name", "is_damaged", "is_unusable"),
    [
        ("SQLITE_CORRUPT", True, False),
        ("SQLITE_CORRUPT_VTAB", True, False),
        ("SQLITE_NOTADB", True, False),
        ("SQLITE_IOERR_READ", True, False),
        ("SQLITE_IOERR_SHORT_READ", True, False),
        ("SQLITE_IOERR_WRITE", False, False),
        ("SQLITE_FULL", False, False),
        ("SQLITE_BUSY", False, False),
        ("SQLITE_READONLY", False, True),
        ("SQLITE_CANTOPEN_ISDIR", False, True),
        ("SQLITE_PERM", False, True),
    ],
)
def test_what_an_error_says_of_a_file(name, is_damaged, is_unusable):
    error = sqlite3.DatabaseError("no")
    error.sqlite_errorcode = getattr(sqlite3, name)
    assert (cache.is_damaged(error), cache.is_unusable(error)) == (is_damaged, is_unusable)
    assert not cache.is_damaged(ValueError())


def test_a_damaged_cache_is_set_aside_with_its_log_and_the_one_before_is_removed(tmp_path, monkeypatch):
    path = tmp_path / "index.sqlite"
    for suffix in ("", "-wal", "-shm", ".damaged-20200101T000000Z"):
        path.with_name(path.name + suffix).write_text(suffix)
    name = cache.set_aside(path)
    assert sorted(one.name for one in tmp_path.iterdir()) == [name.name, f"{name.name}-wal"]
    path.write_text("again")
    gone = tmp_path / "index.sqlite.damaged-gone"  # another process has removed it meanwhile
    monkeypatch.setattr(Path, "glob", lambda *_: iter([gone]))
    cache.set_aside(path)
    assert not path.exists()


def test_a_file_that_turned_out_to_be_damaged_is_replaced_once(tmp_path):
    path, said = tmp_path / "index.sqlite", []
    path.write_text("damaged")
    damaged = cache.identity(path)

    def opened():
        db = cache.open_cache(
            path, lambda: sqlite3.connect(path), tell=lambda *words: said.append(words), damaged=damaged
        )
        db.execute("CREATE TABLE IF NOT EXISTS a (b)")
        db.close()

    opened()
    opened()
    assert [why for why, _ in said] == ["it is damaged"]
    assert cache.identity(tmp_path / "gone") is None


CHANGE = """
import os, signal, sys
from pathlib import Path
from crawlers.safety import sqlite

db = sqlite.connect(Path(sys.argv[1]), "CREATE TABLE IF NOT EXISTS facts (name TEXT, value INTEGER)", patience=1)
with sqlite.transaction(db):
    db.execute("INSERT INTO facts VALUES ('lines', 5)")
    if sys.argv[2] == "between":
        os.kill(os.getpid(), signal.SIGKILL)
    db.execute("INSERT INTO facts VALUES ('read', 5)")
os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.mark.parametrize(("moment", "facts"), [("between", []), ("after", [("lines", 5), ("read", 5)])])
def test_what_belongs_together_is_there_after_a_kill_or_nothing_of_it(tmp_path, moment, facts):
    path = tmp_path / "facts.sqlite"
    ran = subprocess.run([sys.executable, "-c", CHANGE, str(path), moment], cwd=ROOT, check=False)
    assert ran.returncode == -signal.SIGKILL
    with closing(cache.connect_existing(path, "mode=ro", patience=1)) as db:
        assert db.execute("SELECT * FROM facts").fetchall() == facts


def test_a_transaction_that_fails_leaves_nothing_and_no_lock(tmp_path):
    told = []
    db = cache.connect(tmp_path / "facts.sqlite", "CREATE TABLE facts (name TEXT UNIQUE)", patience=0)
    db.committed = lambda: told.append("committed")
    for names in (("a", "a"), ("b", "c")):
        with suppress(sqlite3.IntegrityError), cache.transaction(db):
            for name in names:
                db.execute("INSERT INTO facts VALUES (?)", (name,))
    assert db.execute("SELECT name FROM facts").fetchall() == [("b",), ("c",)]
    assert told == ["committed"]
    db.close()


def test_a_file_is_open_in_the_process_that_has_it_open(tmp_path):
    path, other = tmp_path / "file", tmp_path / "other"
    other.touch()
    with path.open("w"):
        assert (is_open_in(os.getpid(), path), is_open_in(os.getpid(), other)) == (True, False)
    assert not is_open_in(os.getpid(), path)
