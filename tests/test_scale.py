"""What an answer about one run or one source costs as the others grow: counted in files that are opened."""

from __future__ import annotations

import json
import sqlite3
import sys
from contextlib import closing, contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from crawlers.operate.dashboard import app
from crawlers.operate.harvest.crawls import remove_reports
from crawlers.operate.notify.notice import Notice, body
from crawlers.store import lines
from crawlers.store.figures.runs import OPENED, last_runs
from crawlers.store.index import catch_up
from crawlers.store.index.database import connect
from crawlers.store.runs import find, items, last, runs, unfinished
from tests.conftest import command
from tests.test_jobs import locked, report

if TYPE_CHECKING:
    from collections.abc import Iterator

SOURCES, RUNS = 6, 40
FAILED = ("incomplete", "blocked", "failed", "interrupted")
VERDICTS = ("complete", "incomplete", "failed", "interrupted", "partial")
LINES = 10

_LISTENERS: list[list[str]] = []
sys.addaudithook(lambda event, args: _heard(event, args) if event == "open" else None)


def _heard(_: str, args: tuple[Any, ...]) -> None:
    for heard in _LISTENERS:
        heard.append(str(args[0]))


@contextmanager
def opening() -> Iterator[list[str]]:
    """Gives the names of the files that are opened meanwhile."""
    heard: list[str] = []
    _LISTENERS.append(heard)
    try:
        yield heard
    finally:
        _LISTENERS.remove(heard)


def reports(opened: list[str]) -> list[str]:
    return [name for name in opened if name.endswith("Z.json")]


def name(number: int) -> str:
    return f"202611{number // 24 + 1:02}T{number % 24:02}0000Z"


@pytest.fixture
def output(tmp_path: Path) -> Path:
    """Sources with a run an hour, of every verdict; each run wrote some lines."""
    for source in range(SOURCES):
        for number in range(RUNS):
            put(tmp_path, f"source-{source}", number)
    catch_up(tmp_path)
    return tmp_path


def put(output: Path, source: str, number: int, verdict: str | None = None, **more: Any) -> None:
    folder, run = output / source, name(number)
    folder.mkdir(exist_ok=True)
    began = {f"{file}_bytes": lines.size(folder, f"{file}.jsonl") for file in ("manifest", "errors")}
    time = f"2026-11-{number // 24 + 1:02}T{number % 24:02}"
    line = {"run": run, "kind": "dataset", "status": "new", "sha256": "0" * 64, "bytes": 4}
    with (folder / "manifest.jsonl").open("a") as manifest, (folder / "errors.jsonl").open("a") as errors:
        for place in range(LINES):
            named = {"dataset_id": f"{number}-{place}", "metadata_file": f"datasets/{number}-{place}.json"}
            manifest.write(json.dumps({**line, **named, "time": f"{time}:00:01Z"}) + "\n")
            errors.write(
                json.dumps({"run": run, "time": f"{time}:00:02Z", "kind": "http", "error": f"No {place}."}) + "\n"
            )
    ends = {f"{file}_end": lines.size(folder, f"{file}.jsonl") for file in ("manifest", "errors")}
    known = {"resumed": False, "retries": 0, "bytes": 0} | began | ends | more
    known |= {"verdict": verdict or VERDICTS[number % 5], "started": f"{time}:00:00Z", "finished": f"{time}:07:00Z"}
    report(output, source, run=run, **known)


# Runs


def test_the_last_runs_of_all_sources_open_few_reports(output: Path) -> None:
    with opening() as opened:
        found = runs(output, limit=7)
    assert [run.run for run in found] == [name(RUNS - 1)] * SOURCES + [name(RUNS - 2)]
    assert len(reports(opened)) <= 2 * 7


def test_runs_of_some_states_are_found_by_the_index(output: Path) -> None:
    every = [run for run in runs(output) if run.state in FAILED]
    with opening() as opened:
        found = runs(output, limit=7, states=FAILED)
    assert [(run.source, run.run) for run in found] == [(run.source, run.run) for run in every[:7]]
    assert len(reports(opened)) <= 7
    assert [run.run for run in runs(output, "source-3", states=("partial",))] == [
        name(number) for number in reversed(range(RUNS)) if VERDICTS[number % 5] == "partial"
    ]
    with opening() as opened:
        runs(output, "source-3", limit=2, states=("partial",))
    assert len(reports(opened)) <= 2


def test_runs_that_the_index_has_not_read_are_found_too(output: Path) -> None:
    put(output, "source-2", RUNS, "failed")
    put(output, "source-2", 3, "complete")  # it was interrupted, and has been resumed
    (output / "source-4" / "runs" / f"{name(0)}.json").unlink()
    found = {(run.source, run.run) for run in runs(output, states=("failed", "complete"))}
    assert {("source-2", name(RUNS)), ("source-2", name(3))} <= found
    assert ("source-4", name(0)) not in found
    (output / "index.sqlite").unlink()
    assert {(run.source, run.run) for run in runs(output, states=("failed", "complete"))} == found


def test_the_last_run_of_a_source_is_read_once(output: Path) -> None:
    assert last(output, "source-1").run == name(RUNS - 1)
    with opening() as opened:
        assert last(output, "source-1").run == name(RUNS - 1)
    assert not reports(opened)
    put(output, "source-1", RUNS)
    assert last(output, "source-1").run == name(RUNS)
    (output / "source-1" / "runs" / f"{name(RUNS)}.json").unlink()
    assert last(output, "source-1").run == name(RUNS - 1)


def test_a_source_asks_for_its_own_lock_alone(tmp_path: Path) -> None:
    jobs = tmp_path / "jobs"
    jobs.mkdir()
    for number in range(30):
        (jobs / f"source-{number}.lock").touch()
    with locked(jobs / "source-7.lock"), opening() as opened:
        assert last(tmp_path / "output", "source-7", jobs=jobs).state == "pending"
        assert last(tmp_path / "output", "source-8", jobs=jobs) is None
        assert [run.source for run in unfinished(tmp_path / "output", jobs, "source-7")] == ["source-7"]
    assert {Path(file).name for file in opened if file.endswith(".lock")} <= {
        *(".lock", "source-7.lock", "source-8.lock")
    }


@pytest.fixture
def read(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How long the lines are that are read."""
    found: list[int] = []
    really = lines.read

    def counted(folder: Path, file: str, offset: int = 0) -> Iterator[tuple[int, bytes | None]]:
        for long, text in really(folder, file, offset):
            found.append(long)
            yield long, text

    monkeypatch.setattr(lines, "read", counted)
    return found


def test_a_run_is_shown_by_its_own_report_and_lines(output: Path, read: list[int]) -> None:
    for number in (0, RUNS // 2, RUNS - 1):
        read.clear()
        with opening() as opened:
            found = list(items(find(output, f"source-1/{name(number)}")))
        ours = {f"{number}-{place}" for place in range(LINES)}
        assert len(found) == 2 * LINES
        assert {item.dataset_id for item in found if item.status == "new"} == ours
        assert len(read) <= 2 * (LINES + 1), "the line after the last one says where to stop"
        assert [Path(one).name for one in reports(opened)] == [f"{name(number)}.json"]


def test_lines_behind_a_run_that_crashed_are_its_own(output: Path) -> None:
    path = output / "source-1" / "runs" / f"{name(RUNS - 1)}.json"
    known = {key: value for key, value in json.loads(path.read_bytes()).items() if not key.endswith("_end")}
    path.write_text(json.dumps(known))
    assert len(list(items(find(output, f"source-1/{name(RUNS - 1)}")))) == 2 * LINES


@pytest.mark.slow
def test_what_a_run_wrote_is_found_after_a_compaction(output: Path) -> None:
    before = {number: list(items(find(output, f"source-1/{name(number)}"))) for number in (0, 7, RUNS - 1)}
    ended = command("compact", "source-1", "-s", f"OUTPUT_DIR={output}")
    assert ended.returncode == 0, ended.stderr
    assert (output / "source-1" / f"manifest-{name(RUNS - 2)}.jsonl.zst").exists()
    put(output, "source-1", RUNS)
    for number, known in before.items():
        assert list(items(find(output, f"source-1/{name(number)}"))) == known
    assert len(list(items(find(output, f"source-1/{name(RUNS)}")))) == 2 * LINES
    browser = app(output).test_client()
    for number in (0, RUNS - 1, RUNS):
        page = browser.get(f"/runs/source-1/{name(number)}").text
        assert f"{number}-3" in page
        assert page.count("No 3.") == 1


def test_another_manifest_is_read_from_its_begin(output: Path) -> None:
    path = output / "source-1" / "manifest.jsonl"
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"x" + b"".join(lines[: 2 * LINES]))
    assert len([item for item in items(find(output, f"source-1/{name(1)}")) if item.status == "new"]) == LINES


# Pages


@pytest.mark.slow
@pytest.mark.parametrize(
    ("path", "most"),
    [
        (f"/runs/source-1/{name(0)}", 1),
        (f"/api/runs/{name(0)}?source=source-1", 1),
        ("/sources/source-1", 2),
        ("/api/sources/source-1", 2),
        ("/runs", 0),
        ("/api/runs?status=failed", 0),
        ("/errors?source=source-1", 0),
        ("/search?q=x&source=source-1", 0),
    ],
)
def test_a_page_opens_the_reports_of_its_own_source_only(output: Path, path: str, most: int) -> None:
    browser = app(output).test_client()
    browser.get("/healthz")
    with opening() as opened:
        assert browser.get(path).status_code in (200, 404)
    assert len(reports(opened)) <= most
    others = [one for one in opened if "source-" in one and "source-1" not in one]
    assert not [one for one in others if one.endswith((".json", ".jsonl", ".zst", ".parquet")) and "running" not in one]


def test_the_overview_opens_a_few_reports_of_each_source(output: Path) -> None:
    browser = app(output).test_client()
    for path in ("/", "/sources"):
        with opening() as opened:
            assert browser.get(path).status_code == 200
        assert len(reports(opened)) <= 2 * SOURCES
        assert not [one for one in opened if one.endswith((".jsonl", ".zst"))]


# After a run


def test_metrics_open_few_reports_of_each_source(output: Path) -> None:
    for source in ("source-1", "source-2"):
        for number in range(RUNS):
            put(output, source, number, "failed" if number != 2 else "complete")
    (output / "index.sqlite").unlink()
    exact = {one.source: one for one in last_runs(output)}
    catch_up(output)
    with opening() as opened:
        found = {one.source: one for one in last_runs(output)}
    assert found == exact
    assert found["source-1"].complete < found["source-0"].complete
    assert len(reports(opened)) <= SOURCES * (OPENED + len(VERDICTS))


def test_metrics_do_not_trust_an_index_that_lacks_runs(output: Path) -> None:
    for number in range(RUNS):
        put(output, "source-1", number, "failed" if number != 2 else "complete")
    (output / "index.sqlite").unlink()
    exact = {one.source: one for one in last_runs(output)}["source-1"]
    catch_up(output)
    with closing(sqlite3.connect(output / "index.sqlite")) as db:
        db.execute("DELETE FROM runs WHERE source = 'source-1' AND run = ?", (name(2),))
        db.commit()
    assert {one.source: one for one in last_runs(output)}["source-1"] == exact


def test_old_reports_are_removed_without_reading_the_new_ones(output: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Day(datetime):
        @classmethod
        def now(cls, tz: Any = None) -> datetime:
            return datetime(2026, 11, 2, 20, 30, tzinfo=UTC)

    monkeypatch.setattr("crawlers.operate.harvest.crawls.datetime", Day)
    for number in range(RUNS):
        put(output, "source-1", number, "complete", whole_listing=True)
    with opening() as opened:
        assert remove_reports(output, "source-1", 1) == 21
    assert len(reports(opened)) <= 21 + 3
    with opening() as opened:
        assert remove_reports(output, "source-1", 1) == 0
    assert not reports(opened)


def test_a_mail_reads_the_errors_of_its_run(output: Path, read: list[int]) -> None:
    found = find(output, f"source-1/{name(7)}").details
    text = body(Notice(found, output / "source-1"))
    assert text.count("No ") == LINES
    assert len(read) <= LINES + 1


# The index


def test_a_reader_opens_new_reports_only(output: Path) -> None:
    with opening() as opened:
        catch_up(output)
    assert not reports(opened)
    put(output, "source-1", RUNS, "interrupted")
    with opening() as opened:
        catch_up(output)
    assert set(reports(opened)) == {f"{name(RUNS)}.json"}
    with opening() as opened:
        catch_up(output)
    assert not reports(opened)


def test_a_run_that_was_resumed_is_read_again(output: Path) -> None:
    put(output, "source-1", 3, "complete")
    catch_up(output)
    query = "SELECT verdict FROM runs WHERE source = 'source-1' AND run = ?"
    with closing(connect(output)) as db:
        assert db.execute(query, (name(3),)).fetchone()[0] == "complete"
        assert db.execute("SELECT count(*) FROM interrupted WHERE source = 'source-1'").fetchone()[0] == 8
    (output / "source-1" / "runs" / f"{name(8)}.json").unlink()
    catch_up(output)
    with closing(connect(output)) as db:
        assert db.execute(query, (name(8),)).fetchone() is None
        assert db.execute("SELECT count(*) FROM interrupted WHERE source = 'source-1'").fetchone()[0] == 7


@pytest.mark.slow
def test_to_compact_one_source_reads_no_other(output: Path) -> None:
    put(output, "source-3", RUNS)
    ended = command("compact", "source-1", "-s", f"OUTPUT_DIR={output}")
    assert ended.returncode == 0, ended.stderr
    with closing(connect(output)) as db:
        assert db.execute("SELECT count(*) FROM runs WHERE source = 'source-3'").fetchone()[0] == RUNS
