"""What the index costs as catalogues, runs and sources grow: counted in statements and steps, never in seconds."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from typing import TYPE_CHECKING, Any
from unittest.mock import patch

from crawlers.items import Dataset
from crawlers.store.index import Index
from crawlers.store.index import database as module
from crawlers.store.index.database import connect
from crawlers.store.index.schema import VIEWS
from tests.indexed import indexed
from tests.test_export import put_ckan, record
from tests.test_index import KNOWN

if TYPE_CHECKING:
    from pathlib import Path

    import pytest

EACH = 100  # of SQLite's virtual instructions, a step


def steps(db: sqlite3.Connection, query: str) -> int:
    """Hundreds of SQLite's virtual instructions that a query takes."""
    count = 0

    def step() -> int:
        nonlocal count
        count += 1
        return 0

    db.set_progress_handler(step, EACH)
    db.execute(query).fetchall()
    db.set_progress_handler(None, EACH)
    return count


# Views


def test_no_view_grows_with_the_square_of_the_runs(tmp_path: Path) -> None:
    costs = {}
    for runs in (30, 300):
        indexed(tmp_path / str(runs), datasets=60, sources=5, runs=runs)
        with closing(connect(tmp_path / str(runs))) as db:
            costs[runs] = {view: steps(db, f"SELECT * FROM {view}") for view in VIEWS}
    assert not [view for view in VIEWS if costs[300][view] > 15 * costs[30][view] + 15]


# Reindex


def report(number: int, **words: Any) -> dict[str, Any]:
    day = f"2026-{number // 28 + 1:02}-{number % 28 + 1:02}"
    return {
        "run": f"{day.replace('-', '')}T030000Z",
        "spider": "ckan",
        "arguments": {},
        "started": f"{day}T03:00:00.000Z",
        "finished": f"{day}T03:07:00.000Z",
        "finish_reason": "finished",
        "verdict": "complete",
        "expected": 3,
        "listed": 3,
        "counts": {},
        "errors": {},
        **dict.fromkeys(("requests", "retries", "bytes"), 0),
        "resumed": False,
        "whole_listing": True,
    } | words


def put_reports(output: Path, *reports: dict[str, Any]) -> None:
    runs = output / "town" / "runs"
    runs.mkdir(parents=True, exist_ok=True)
    for told in reports:
        (runs / f"{told['run']}.json").write_text(json.dumps(told))


def test_reports_are_read_without_reading_the_documents_for_each(tmp_path: Path) -> None:
    changes = []
    for reports in (1, 50):
        output = tmp_path / str(reports)
        for number in range(40):
            put_ckan(output, "town", record(number))
        put_reports(output, *map(report, range(reports)))
        index = Index(output, "town")
        before = index.database.db.total_changes
        index.runs.read_reports()
        changes.append(index.database.db.total_changes - before)
        index.close()
    per_report = (changes[1] - changes[0]) / 49
    assert per_report < 10, "rows that are written for each report, whatever the documents"


def test_the_last_whole_listing_says_when_datasets_were_last_seen(tmp_path: Path) -> None:
    put_ckan(tmp_path, "town", record(1))
    put_ckan(tmp_path, "town", record(2), status="withdrawn")
    put_reports(tmp_path, report(250), report(300), report(310, whole_listing=False))
    index = Index(tmp_path, "town")
    line = index.documents.get("dataset", "id-00002", None)
    index.runs.read_reports()
    seen = [index.documents.get("dataset", name, None) for name in ("id-00001", "id-00002")]
    index.close()
    assert line is not None
    assert [one and one.seen for one in seen] == [report(300)["started"], line.seen]


# The log


def test_the_log_is_emptied_once_a_long_reader_ends(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "LARGEST_LOG", 200_000)
    put_ckan(tmp_path, "town", record(1))
    index = Index(tmp_path, "town", for_crawl=True)
    index.database.wait(0.01)
    log = tmp_path / "index.sqlite-wal"

    def write(start: int) -> int:
        for number in range(start, start + 1_000):
            item = Dataset(source="town", id=f"{number:05}", title="Rain", description="rain " * 20)
            index.put("dataset", item.id, None, KNOWN, item=item, time=KNOWN.seen)
        assert index.flush()
        return log.stat().st_size

    with closing(connect(tmp_path)) as reader:
        reader.execute("BEGIN")
        assert reader.execute("SELECT count(*) FROM datasets").fetchone()[0] == 0
        grown = write(0)
        assert grown > 200_000
        reader.execute("COMMIT")
        assert write(1_000) < grown
        index.database.wait(60)  # as one who is no crawl does
        with patch.object(index.database, "wait") as wait:
            index.database.empty_log()
        assert [call.args for call in wait.call_args_list] == [(0.2,), (60,)], "a long reader is not waited for"
        index.close()
        assert log.stat().st_size == 0
