"""index.sqlite after crawls: what it says of the datasets, and that it says the same when it is made anew."""

from __future__ import annotations

import json
import logging
import os
import re
import shutil
import sqlite3
import subprocess
import sys
import tracemalloc
from contextlib import closing, contextmanager
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any
from unittest.mock import Mock, patch

import pytest

from crawlers.exceptions import IndexUnreadableError
from crawlers.items import Agent, Checksum, Dataset, License, Period, Place, Resource
from crawlers.safety.locks import LOCK, take
from crawlers.store.index import Index, Known, catch_up, reports
from crawlers.store.index.columns import LONG, MOST, SHORT
from crawlers.store.index.database import connect
from crawlers.store.index.known import DATASET, RESOURCE, RESOURCES, describe
from crawlers.store.index.missing_descriptions import described
from crawlers.store.index.schema import VERSION
from crawlers.store.index.search import search
from tests.conftest import ROOT, command
from tests.finished import SOURCES, Finished
from tests.site import Site, listing
from tests.test_export import put, put_ckan, record

if TYPE_CHECKING:
    from collections.abc import Iterator

KNOWN = Known("datasets/a.json", "a" * 64, 1, None, "new", "run", "2026-01-01T00:00:00.000Z", "package_search")
ALL_TABLES = {
    "datasets": ", ".join(DATASET),
    "resources": "*",
    "changes": "source, time, run, dataset_id, status",
    "runs": "*",
    "run_errors": "*",
}


def everything(output: Path, tables: dict[str, str] = ALL_TABLES) -> dict[str, list[tuple[Any, ...]]]:
    """What the index says of datasets and runs."""
    with closing(sqlite3.connect(output / "index.sqlite")) as db:
        return {table: db.execute(f"SELECT {columns} FROM {table} ORDER BY 1, 2, 3, 4").fetchall()
                for table, columns in tables.items()}  # fmt: skip


def made_anew(output: Path) -> None:
    before = everything(output)
    (output / "index.sqlite").unlink()
    lost: list[str] = []
    catch_up(output, lost.append)
    assert lost == []
    assert everything(output) == before
    assert agrees(output)


def rows(output: Path, query: str, *values: Any) -> list[dict[str, Any]]:
    with closing(connect(output)) as db:
        return [dict(row) for row in db.execute(query, values)]


def agrees(output: Path) -> bool:
    """Whether the full text says what the datasets say, neither more nor less."""
    with closing(sqlite3.connect(output / "index.sqlite")) as db:
        try:
            db.execute("INSERT INTO search (search, rank) VALUES ('integrity-check', 1)")
        except sqlite3.DatabaseError:
            return False
        assert db.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        indexed = db.execute("SELECT count(*) FROM search_docsize").fetchone()
        return indexed == db.execute("SELECT count(*) FROM datasets").fetchone()


def found(output: Path, words: str, **keywords: Any) -> list[str]:
    with closing(connect(output)) as db:
        return sorted(one.dataset_id for one in search(db, words, limit=1000, **keywords).rows)


# What crawls describe


@pytest.fixture(scope="module")
def crawled(finished: Finished) -> Path:
    return finished.output


def test_every_dataset_is_described(crawled: Path) -> None:
    counts = {row["source"]: row["datasets"] for row in rows(crawled, "SELECT * FROM overview")}
    assert counts == SOURCES
    assert agrees(crawled)


def test_an_index_made_from_the_documents_says_what_the_crawls_said(crawled: Path, tmp_path: Path) -> None:
    before = everything(crawled)
    output = tmp_path / "copy"
    shutil.copytree(crawled, output, ignore=shutil.ignore_patterns("index.sqlite*"))
    lost: list[str] = []
    catch_up(output, lost.append)
    assert lost == []
    for table, found_ in everything(output).items():
        assert found_ == before[table], table
    assert agrees(output)


def test_reindex_says_it_too(crawled: Path, tmp_path: Path) -> None:
    before = everything(crawled)
    output = tmp_path / "copy"
    shutil.copytree(crawled, output)
    ran = command("reindex", "-s", f"OUTPUT_DIR={output}")
    assert (ran.returncode, ran.stderr) == (0, "")
    assert ran.stdout.splitlines()[0] == "agency: 9 datasets"
    assert everything(output) == before
    ran = command("reindex", "town", "-s", f"OUTPUT_DIR={output}")
    assert (ran.returncode, ran.stdout) == (1, "")
    assert ran.stderr == "scrapy reindex takes no 'town': it rebuilds the index of all sources.\n"


def test_the_runs_are_what_their_reports_say(crawled: Path) -> None:
    for row in rows(crawled, "SELECT * FROM runs"):
        report = json.loads((crawled / row["source"] / "runs" / f"{row['run']}.json").read_bytes())
        for name in ("spider", "started", "finished", "finish_reason", "verdict", "expected", "listed", "requests"):
            assert row[name] == report[name], name
        assert {name: row[name] for name in report["counts"]} == report["counts"]
        assert json.loads(row["arguments"]) == report["arguments"]
        assert 0 < row["seconds"] < 60
        errors = rows(
            crawled, "SELECT kind, count FROM run_errors WHERE run = ? AND source = ?", row["run"], row["source"]
        )
        assert {error["kind"]: error["count"] for error in errors} == report["errors"]
    kinds = {(row["source"], row["kind"]) for row in rows(crawled, "SELECT * FROM broken")}
    assert kinds == {("agency", "duplicate_id"), ("broken", "http")}


def test_a_dataset_says_what_its_document_says(crawled: Path) -> None:
    (row,) = rows(crawled, "SELECT * FROM datasets WHERE source = 'nation' AND dataset_id = 'd0003'")
    assert row["title"] == "Dataset d0003, revision 1"
    assert (row["publisher"], row["contact"], row["uri"]) == (
        "The agent of all",
        "The desk of d0003",
        "https://data.example.org/dataset/d0003",
    )
    assert (crawled / "nation" / row["file"]).exists()
    resources = rows(crawled, "SELECT * FROM resources WHERE source = 'nation' AND dataset_id = 'd0003'")
    assert [one["format"] for one in resources] == json.loads(row["formats"]) == ["csv", "json"]
    assert row["resources"] == 2


# A record's rows


def test_the_columns_are_those_of_the_item() -> None:
    md5 = Checksum(algorithm="md5", value="0")
    item = Dataset(
        source="s",
        id="i",
        title="Rain",
        publisher=Agent(uri="https://a.example.org"),
        contacts=[Agent(email="a@example.org"), Agent(name="Desk", email="b@example.org")],
        keywords=["a b", "c\nd", ""],
        license=License(uri="https://l.example.org", title="Free"),
        temporal=Period(start="2020"),
        spatial=[Place(name="Kenya", code="KEN", geometry={"type": "Point"}), Place(geometry={"type": "Point"})],
        resources=[
            Resource(id="1", dataset_id="i", title="one", format="CSV", size=2**70, checksum=md5),
            Resource(id="2", dataset_id="i", title="two", format="CSV", size=7),
            Resource(id="3", dataset_id="i"),
        ],
    )
    described = describe(item, KNOWN)
    row = dict(zip(DATASET, described.dataset, strict=True))
    assert {name for name, value in row.items() if value is None} >= {"name", "modified", "rights", "temporal_end"}
    assert (row["publisher"], row["contact"], row["contact_email"]) == (
        "https://a.example.org",
        "Desk",
        "a@example.org",
    )
    assert (row["license"], row["temporal_start"], row["withdrawn"]) == ("Free", "2020", 0)
    assert (row["keywords"], row["spatial"]) == (
        '["a b","c d"]',
        '[{"name":"Kenya","code":"KEN"},{"geometry":"Point"}]',
    )
    assert (row["places"], row["resource_titles"], row["formats"]) == ("Kenya KEN", "one two", '["CSV"]')
    resources = [dict(zip(RESOURCE, one, strict=True)) for one in described.resources]
    assert [(one["position"], one["size"], one["checksum"]) for one in resources] == [
        (0, None, "md5:0"),
        (1, 7, None),
        (2, None, None),
    ]


def test_a_hostile_record_is_bounded_and_breaks_nothing(crawl, output: Path) -> None:
    hostile = record(
        1,
        title="A\x00 \ud800flood \x1b[31m" + "x" * 10_000,
        notes="flood " * 900_000,
        tags=[{"name": f"keyword {number}"} for number in range(10_000)],
        resources=[
            {
                "id": f"r{number}\ud800",
                "name": "n" * 9000,
                "url": f"https://a.example.org/{number}",
                "size": str(10**30),
            }
            for number in range(1_500)
        ],
        groups=[{"name": "g\x00"}, 7, None],
        organization={"title": "\ud800" * 5000},
    )
    with Site(lambda _: listing(hostile, record(2) | {"id": "x\x00y"})) as site:
        done = crawl("ckan", site)
    assert done.code in {0, 3}
    assert len(done.documents()) == 2
    before = everything(output)
    (row,) = rows(output, "SELECT * FROM datasets WHERE dataset_id = 'id-00001'")
    assert len(row["title"]) <= SHORT
    assert len(row["description"]) <= LONG
    assert len(row["resource_titles"]) <= LONG
    assert len(json.loads(row["keywords"])) == MOST
    assert row["resources"] == 1_500
    assert len([one for one in before["resources"] if one[1] == "id-00001"]) == RESOURCES
    assert not re.search("[\x00\ud800-\udfff]", str(row))
    assert (found(output, "flood"), found(output, "rain")) == (["id-00001"], ["id-00001", "x\x00y"])
    assert agrees(output)
    made_anew(output)


# Changes


def test_the_full_text_follows_updates_withdrawals_and_returns(crawl, portal, output: Path) -> None:
    site = portal(datasets=200)
    first = crawl("ckan", site)
    gone, changed = site.ids()[7:9]
    kept = next(one for one in first.documents().values() if one["id"] == gone)
    site.change(
        edit={changed: {"title": "Zanzibar causeways"}, gone: {"title": "Quixotic ferries"}}, touch=[changed, gone]
    )
    crawl("ckan", site)
    assert (found(output, "zanzibar"), found(output, "quixotic"), agrees(output)) == ([changed], [gone], True)

    site.change(remove=[gone], edit={changed: {"title": "Plain roads"}}, touch=[changed])
    crawl("ckan", site)
    assert (found(output, "zanzibar"), found(output, "quixotic"), agrees(output)) == ([], [], True)
    assert found(output, "quixotic", withdrawn=True) == [gone]
    assert rows(output, "SELECT withdrawn FROM datasets WHERE dataset_id = ?", gone) == [{"withdrawn": 1}]
    made_anew(output)

    (added,) = site.change(add=1)["added"]
    site.change(edit={added: kept | {"title": "Quixotic ferries"}})
    crawl("ckan", site)
    assert (found(output, "quixotic"), agrees(output)) == ([gone], True)
    history = rows(output, "SELECT status FROM changes WHERE dataset_id = ? ORDER BY time", gone)
    assert [row["status"] for row in history] == ["new", "updated", "withdrawn", "restored"]
    made_anew(output)


def test_each_change_is_there_once_whoever_reads_the_manifest(tmp_path: Path) -> None:
    """A crawl that has lines in hand, and a reader that catches up meanwhile."""
    put_ckan(tmp_path, "town", record(1))
    catch_up(tmp_path)
    index = Index(tmp_path, "town")
    put_ckan(tmp_path, "town", record(2))
    line = json.loads((tmp_path / "town" / "manifest.jsonl").read_bytes().splitlines()[-1])
    item = Dataset(source="town", id="id-00002", title="Rain 2")
    index.put("dataset", "id-00002", None, KNOWN, item=item, time=line["time"])
    catch_up(tmp_path)
    index.close()
    assert [row["dataset_id"] for row in rows(tmp_path, "SELECT * FROM changes ORDER BY 1")] == ["id-00001", "id-00002"]
    assert agrees(tmp_path)


def test_a_manifest_that_is_another_one_leaves_nothing_of_the_first(tmp_path: Path) -> None:
    put_ckan(tmp_path, "town", record(1, title="Zanzibar"))
    catch_up(tmp_path)
    (tmp_path / "town" / "manifest.jsonl").unlink()
    put_ckan(tmp_path, "town", record(2))
    catch_up(tmp_path)
    assert [row["dataset_id"] for row in rows(tmp_path, "SELECT * FROM datasets")] == ["id-00002"]
    assert (found(tmp_path, "zanzibar"), found(tmp_path, "rain"), agrees(tmp_path)) == ([], ["id-00002"], True)


def test_a_source_whose_folder_is_gone_is_no_source(tmp_path: Path) -> None:
    for source in ("town", "city"):
        put_ckan(tmp_path, source, record(1))
    catch_up(tmp_path)
    shutil.rmtree(tmp_path / "town")
    catch_up(tmp_path)
    assert [row["source"] for row in rows(tmp_path, "SELECT source FROM overview")] == ["city"]
    shutil.copytree(tmp_path / "city", tmp_path.with_name("kept"))
    shutil.rmtree(tmp_path / "city")
    catch_up(tmp_path)
    assert rows(tmp_path, "SELECT source FROM overview") == []
    shutil.copytree(tmp_path.with_name("kept"), tmp_path / "city")
    catch_up(tmp_path)
    assert all(row[0] == "city" for found_ in everything(tmp_path).values() for row in found_)
    assert agrees(tmp_path)


def test_what_is_withdrawn_keeps_where_its_record_came_from(tmp_path: Path) -> None:
    """The line that marks it says where it was missed."""
    put_ckan(tmp_path, "town", record(1))
    Index(tmp_path, "town").close()
    put(tmp_path, "town", "id-00001", record(1), by="", url="https://a.example.org/missed", status="withdrawn")
    index = Index(tmp_path, "town")
    known = index.documents.get("dataset", "id-00001", None)
    index.close()
    assert known is not None
    assert (known.status, known.metadata_source) == ("withdrawn", "package_search")
    assert known.metadata_url != "https://a.example.org/missed"


@pytest.mark.parametrize("apart", [False, True], ids=["in one batch", "each in its own"])
def test_what_was_updated_and_withdrawn_keeps_where_its_last_record_came_from(tmp_path: Path, *, apart: bool) -> None:
    put_ckan(tmp_path, "town", record(1))
    Index(tmp_path, "town").close()
    for by, url, status in (
        ("rdf", "https://a.example.org/b", "updated"),
        ("", "https://a.example.org/c", "withdrawn"),
    ):
        put(tmp_path, "town", "id-00001", record(1), by=by, url=url, status=status)
        if apart:
            Index(tmp_path, "town").close()
    index = Index(tmp_path, "town")
    known = index.documents.get("dataset", "id-00001", None)
    index.close()
    assert known is not None
    assert (known.metadata_source, known.metadata_url) == ("rdf", "https://a.example.org/b")


# What is lacking


def flushed(output: Path, *numbers: int) -> Index:
    """An index whose crawl has written documents and goes on."""
    index = Index(output, "town", for_crawl=True)
    for number in numbers:
        put_ckan(output, "town", record(number))
        known, name = KNOWN._replace(file=f"datasets/{number}.json"), f"id-{number:05}"
        index.put("dataset", name, None, known, item=Dataset(source="town", id=name, title="Rain"), time=KNOWN.seen)
    assert index.flush()
    return index


def test_a_reader_finds_what_a_running_crawl_has_written(tmp_path: Path) -> None:
    index = flushed(tmp_path, 1, 2)
    assert found(tmp_path, "rain") == ["id-00001", "id-00002"]
    index.engine_stopped()
    assert (index.failed, found(tmp_path, "rain")) == (None, ["id-00001", "id-00002"])


def test_what_a_killed_crawl_has_described_needs_no_document(tmp_path: Path) -> None:
    flushed(tmp_path, 1, 2).database.db.close()
    shutil.rmtree(tmp_path / "town" / "datasets")
    lost: list[str] = []
    catch_up(tmp_path, lost.append)
    assert (found(tmp_path, "rain"), lost) == (["id-00001", "id-00002"], [])


def test_a_dataset_that_is_withdrawn_after_it_was_described_is_withdrawn(tmp_path: Path) -> None:
    index = flushed(tmp_path, 1, 2)
    gone = KNOWN._replace(file="datasets/1.json", status="withdrawn")
    index.put("dataset", "id-00001", None, gone, time="2026-01-02T00:00:00.000Z")
    index.engine_stopped()
    assert found(tmp_path, "rain") == ["id-00002"]


def test_an_index_of_another_version_is_described_by_the_next_crawl(crawl, portal, output: Path) -> None:
    site = portal(datasets=12)
    crawl("ckan", site)
    before = everything(output)
    (output / "index.sqlite").unlink()
    with closing(sqlite3.connect(output / "index.sqlite")) as db:
        db.executescript(
            f"CREATE TABLE datasets (x); CREATE VIEW overview AS SELECT 1; PRAGMA user_version = {VERSION - 1};"
        )
    with pytest.raises(IndexUnreadableError, match="another version"):
        connect(output)
    crawl("ckan", site)
    after = everything(output)
    assert (after["datasets"], after["changes"]) == (before["datasets"], before["changes"])
    assert len(after["runs"]) == 2


def test_what_a_killed_run_left_is_described(tmp_path: Path) -> None:
    """Lines that are in the manifest, and were never in the index."""
    put_ckan(tmp_path, "town", record(1))
    catch_up(tmp_path)
    put_ckan(tmp_path, "town", record(1, title="Snow", name="snow"))
    put_ckan(tmp_path, "town", record(2))
    with (tmp_path / "town" / "manifest.jsonl").open("r+b") as file:
        body = file.read().replace(b"0" * 64, b"1" * 64).replace(b"1" * 64, b"0" * 64, 1)  # the first is known
        file.seek(0)
        file.write(body)
    catch_up(tmp_path)
    assert (found(tmp_path, "snow"), found(tmp_path, "rain"), agrees(tmp_path)) == (["id-00001"], ["id-00002"], True)


def test_a_document_that_can_not_be_read_now_is_read_the_next_time(tmp_path: Path) -> None:
    put_ckan(tmp_path, "town", record(1))
    lost: list[str] = []
    with patch("crawlers.store.index.missing_descriptions.item", side_effect=OSError(24, "Too many open files")):
        catch_up(tmp_path, lost.append)
    assert (lost[0].partition("left out: ")[2], found(tmp_path, "rain")) == ("Too many open files.", [])
    catch_up(tmp_path, lost.append)
    assert (len(lost), found(tmp_path, "rain")) == (1, ["id-00001"])


def test_what_a_crawl_writes_is_not_overwritten_by_who_read_the_document_before(tmp_path: Path) -> None:
    for number in (1, 2):
        put_ckan(tmp_path, "town", record(number))
    slow = Index(tmp_path, "town")
    overtaken = described(slow.database.db, tmp_path / "town", print)
    (batch,) = overtaken
    crawl = Index(tmp_path, "town")
    known = KNOWN._replace(sha256="b" * 64)
    crawl.put("dataset", "id-00001", None, known, item=Dataset(source="town", id="id-00001", title="Zanzibar"))
    crawl.close()
    with patch("crawlers.store.index.missing_descriptions.described", lambda *_: iter([batch])):
        slow.describe(print)
    assert rows(tmp_path, "SELECT described FROM sources") == [{"described": 0}]
    slow.describe(print)
    slow.close()
    assert (found(tmp_path, "zanzibar"), found(tmp_path, "rain")) == (["id-00001"], ["id-00002"])
    assert rows(tmp_path, "SELECT described FROM sources") == [{"described": 1}]
    assert agrees(tmp_path)


def test_a_document_that_can_not_be_read_is_told_once_and_the_others_follow(tmp_path: Path) -> None:
    broken, missing = (put_ckan(tmp_path, "town", record(number)) for number in (1, 2))
    put_ckan(tmp_path, "town", record(3))
    broken.write_bytes(b"{")
    missing.unlink()
    lost: list[str] = []
    catch_up(tmp_path, lost.append)
    assert sorted(sentence.partition("left out: ")[2].partition(" (")[0] for sentence in lost) == [
        "No such file or directory.",
        "it is no JSON",
    ]
    assert [row["dataset_id"] for row in rows(tmp_path, "SELECT * FROM datasets")] == ["id-00003"]
    catch_up(tmp_path, lost.append)
    assert len(lost) == 2
    ran = command("reindex", "-s", f"OUTPUT_DIR={tmp_path}")
    assert (ran.returncode, len(ran.stderr.splitlines()), ran.stdout) == (3, 2, "town: 3 datasets\n")


def test_a_dataset_of_a_kind_that_nothing_reads_is_kept_and_told_once(tmp_path: Path) -> None:
    """Its spider is of another version, or its reader was forgotten: it has no less been crawled."""
    put_ckan(tmp_path, "town", record(1))
    for number in range(3):
        put(tmp_path, "town", f"strange-{number}", {"id": "strange"}, by="telepathy")
    put(tmp_path, "town", "strange-2", {"id": "strange"}, by="", status="withdrawn")
    manifest = tmp_path / "town" / "manifest.jsonl"
    lines = [json.loads(line) for line in manifest.read_bytes().splitlines()]
    told = [line | {"dataset_name": "thought", "dataset_title": f"Thought {line['dataset_id']}"} for line in lines]
    manifest.write_bytes(b"".join(json.dumps(line).encode() + b"\n" for line in told))
    lost: list[str] = []
    for _ in range(2):
        catch_up(tmp_path, lost.append)
    (sentence,) = lost
    assert sentence.startswith(
        "town: no kind of catalogue is installed that reads telepathy documents: 3 datasets are in the index with "
    )
    kept = rows(tmp_path, "SELECT title, name, metadata_source, withdrawn FROM datasets WHERE dataset_id LIKE 's%'")
    assert [(row["title"], row["withdrawn"]) for row in kept] == [
        ("Thought strange-0", 0),
        ("Thought strange-1", 0),
        ("Thought strange-2", 1),
    ]
    assert {(row["name"], row["metadata_source"]) for row in kept} == {("thought", "telepathy")}
    assert (found(tmp_path, "thought"), agrees(tmp_path)) == (["strange-0", "strange-1"], True)


def test_a_source_that_is_being_crawled_is_left_alone(tmp_path: Path) -> None:
    for source in ("town", "city"):
        put_ckan(tmp_path, source, record(1))
    descriptor = take(tmp_path / "town" / LOCK)
    assert descriptor is not None
    try:
        catch_up(tmp_path)
        assert [row["source"] for row in rows(tmp_path, "SELECT source FROM datasets")] == ["city"]
        ran = command("reindex", "-s", f"OUTPUT_DIR={tmp_path}")
        assert (ran.returncode, ran.stdout) == (1, "")
        assert ran.stderr.startswith(f"A crawl is writing into {tmp_path / 'town'}: ")
    finally:
        os.close(descriptor)
    catch_up(tmp_path)
    assert len(rows(tmp_path, "SELECT source FROM datasets")) == 2


def test_where_there_is_no_source_no_index_is_made(tmp_path: Path) -> None:
    catch_up(tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_what_is_no_database_is_told(tmp_path: Path) -> None:
    put_ckan(tmp_path, "town", record(1))
    (tmp_path / "index.sqlite").write_bytes(b"no database " * 1000)
    with pytest.raises(IndexUnreadableError, match=r"can't be read .*: rebuild it with `scrapy reindex`"):
        connect(tmp_path)
    lost: list[str] = []
    catch_up(tmp_path, lost.append)
    (sentence,) = lost
    assert "can't be used (file is not a database): it was renamed to index.sqlite.damaged-" in sentence
    assert found(tmp_path, "rain") == ["id-00001"]


@pytest.mark.slow
def test_memory_does_not_grow_with_what_is_lacking(tmp_path: Path) -> None:
    peaks = []
    for count in (1_100, 2_000):  # more than are written at once
        output = tmp_path / str(count)
        for number in range(count):
            put_ckan(output, "town", record(number, notes=f"{number:05} " * 2_000))
        index = Index(output, "town")
        tracemalloc.start()
        index.describe(print)
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
        index.close()
    assert peaks[1] < peaks[0] * 1.3, peaks


# Runs


def test_reports_come_and_go(crawl, portal, output: Path, caplog: pytest.LogCaptureFixture) -> None:
    site = portal(datasets=5)
    done = crawl("ckan", site)
    crawl("ckan", site)
    reports = sorted((done.folder / "runs").iterdir())
    (done.folder / "runs" / "20200101T000000Z.json").write_bytes(b'{"run": 7}')
    reports[0].unlink()
    with caplog.at_level(logging.WARNING):
        catch_up(output)
    assert [row["run"] for row in rows(output, "SELECT run FROM runs")] == [reports[1].stem]
    assert "20200101T000000Z.json is left out of index.sqlite: it is no run report" in caplog.text


def test_the_report_of_a_run_that_was_resumed_is_read_again(finished: Finished, tmp_path: Path) -> None:
    output = finished.copy(tmp_path, "city").output
    path = next((output / "city" / "runs").iterdir())
    report = json.loads(path.read_bytes())
    for verdict in ("interrupted", "complete"):
        path.write_text(json.dumps(report | {"verdict": verdict}))
        catch_up(output)
        assert [row["verdict"] for row in rows(output, "SELECT verdict FROM runs")] == [verdict]


def test_a_full_disk_does_not_keep_a_run_from_its_report(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    put_ckan(tmp_path, "town", record(1))
    index = Index(tmp_path, "town")
    report = {"run": "r", "spider": "ckan", "arguments": {}, "started": "2026-01-01T00:00:00Z", "verdict": "failed"}
    report |= {"finished": "2026-01-01T00:00:01Z", "finish_reason": "disk", "expected": None, "listed": 0, "counts": {}}
    report |= {"errors": {"disk": 1}, "requests": 0, "retries": 0, "bytes": 0, "resumed": False}
    index.database.db.execute("PRAGMA query_only = ON")
    index.read_report(report)
    assert rows(tmp_path, "SELECT * FROM runs") == []
    index.close()
    assert caplog.text.count("index.sqlite is behind (attempt to write a readonly database)") == 1

    index = Index(tmp_path, "town")
    index.database.db.execute("PRAGMA query_only = ON")
    index.read_report(report)
    index.database.db.execute("PRAGMA query_only = OFF")
    index.close()
    assert [row["run"] for row in rows(tmp_path, "SELECT run FROM runs")] == ["r"]


@pytest.mark.parametrize(
    "wrong", [{"expected": [1]}, {"listed": 0.5}, {"verdict": "\ud800"}, {"errors": {"http": "x"}}, {"counts": None}]
)
def test_a_report_of_another_shape_is_left_out_and_the_others_follow(
    finished: Finished, tmp_path: Path, caplog: pytest.LogCaptureFixture, wrong: dict[str, Any]
) -> None:
    output = finished.copy(tmp_path, "city").output
    path = next((output / "city" / "runs").iterdir())
    odd = path.with_name("20200101T000000Z.json")
    odd.write_text(json.dumps(json.loads(path.read_bytes()) | {"run": odd.stem} | wrong))
    with caplog.at_level(logging.WARNING):
        catch_up(output)
    assert [row["run"] for row in rows(output, "SELECT run FROM runs")] == [path.stem]
    assert f"{odd.name} is left out of index.sqlite: it is no run report" in caplog.text


def test_numbers_that_a_portal_made_up_are_stored(finished: Finished, tmp_path: Path) -> None:
    output = finished.copy(tmp_path, "city").output
    path = next((output / "city" / "runs").iterdir())
    path.write_text(json.dumps(json.loads(path.read_bytes()) | {"expected": 10**26, "listed": -(10**26)}))
    catch_up(output)
    assert rows(output, "SELECT expected, listed FROM runs") == [{"expected": 2**63 - 1, "listed": 1 - 2**63}]


# Others who write into it, and readers who may not


@contextmanager
def locked(output: Path) -> Iterator[None]:
    with closing(sqlite3.connect(output / "index.sqlite", isolation_level=None)) as db:
        db.execute("BEGIN IMMEDIATE")
        yield


def test_what_can_not_be_written_is_written_later(tmp_path: Path) -> None:
    index = Index(tmp_path, "town")
    index.database.wait(0.05)
    flush = index.flush = Mock(wraps=index.flush)
    with locked(tmp_path):
        for number in range(6_001):
            item = Dataset(source="town", id=f"{number:04}", title="Rain")
            index.put("dataset", item.id, None, KNOWN, item=item, time=KNOWN.seen)
        assert flush.call_count < 100, "not every document waits for the other who writes"
        assert rows(tmp_path, "SELECT * FROM documents") == []
        assert index.documents.get("dataset", "0007", None) == KNOWN
        assert sum(1 for _ in index.documents.held()) == 6_001
        assert index.batch.described is False
    index.put("dataset", "last", None, KNOWN._replace(status="withdrawn"))
    assert sum(1 for _ in index.documents.held()) == 6_001
    index.close()
    assert [row["n"] for row in rows(tmp_path, "SELECT count(*) AS n FROM documents")] == [6_002]
    assert rows(tmp_path, "SELECT described FROM sources") == [{"described": 0}]


@pytest.mark.slow
def test_a_crawl_is_not_judged_by_who_holds_the_index(crawl, portal, output: Path) -> None:
    site = portal(datasets=200)
    crawl("ckan", site)
    gone, changed = site.ids()[7:9]
    site.change(remove=[gone], touch=[changed], add=2)
    with locked(output):
        done = crawl("ckan", site)
    assert (done.code, done.report["verdict"], done.report["errors"]) == (0, "complete", {})
    assert done.log.count("index.sqlite is behind (database is locked)") == 1
    assert len(rows(output, "SELECT * FROM runs")) == 1
    catch_up(output)
    assert [row["last_run"] for row in rows(output, "SELECT * FROM overview")] == [done.report["run"]]
    made_anew(output)


def test_a_reader_waits_for_nobody_when_nothing_is_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(import_module("crawlers.store.index.index"), "PATIENCE", 0.1)
    put_ckan(tmp_path, "town", record(1))
    catch_up(tmp_path)
    lost: list[str] = []
    with locked(tmp_path):
        catch_up(tmp_path, lost.append)
        assert lost == []
        put_ckan(tmp_path, "town", record(2))
        catch_up(tmp_path, lost.append)
    (sentence,) = lost
    assert "(database is locked): wait until the program that writes into it ends. It is behind" in sentence
    assert found(tmp_path, "rain") == ["id-00001"]
    catch_up(tmp_path)
    assert found(tmp_path, "rain") == ["id-00001", "id-00002"]


def test_who_asks_about_one_source_looks_at_no_reports_of_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for source in ("town", "city"):
        put_ckan(tmp_path, source, record(1))
    catch_up(tmp_path)
    put_ckan(tmp_path, "town", record(2))
    put_ckan(tmp_path, "city", record(2))
    looked, really = set(), reports.names
    monkeypatch.setattr(reports, "names", lambda folder: looked.add(folder.name) or really(folder))
    catch_up(tmp_path, named=["town"])
    assert looked == {"town"}
    counted = "SELECT source, count(*) FROM datasets GROUP BY 1 ORDER BY 1"
    assert [tuple(row.values()) for row in rows(tmp_path, counted)] == [("city", 1), ("town", 2)]
    catch_up(tmp_path, named=["nowhere"])
    assert [tuple(row.values()) for row in rows(tmp_path, counted)] == [("city", 2), ("town", 2)]


def by_another(output: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Scrapy by who may only read OUTPUT_DIR: root without its right to write anywhere, anybody else by the mode."""
    modes = {path: path.stat().st_mode for path in (output, *output.rglob("*"))}
    for path, mode in modes.items():
        path.chmod(mode & ~0o222)
    bound = ["setpriv", "--bounding-set=-dac_override"] if os.geteuid() == 0 else []
    command = [*bound, sys.executable, "-W", "error", "-m", "scrapy", *arguments, "-s", f"OUTPUT_DIR={output}"]
    try:
        return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    finally:
        for path, mode in modes.items():
            path.chmod(mode)


@pytest.mark.slow
def test_who_may_only_read_reads(tmp_path: Path) -> None:
    put_ckan(tmp_path, "town", record(1))
    ran = by_another(tmp_path, "search", "rain")
    assert (ran.returncode, ran.stdout) == (1, "")
    assert "can't be used (Permission denied): run this as the user who crawls into that folder." in ran.stderr

    catch_up(tmp_path)
    ran = by_another(tmp_path, "search", "rain")
    assert (ran.returncode, ran.stderr, ran.stdout.splitlines()[-1]) == (0, "", "1 dataset has: rain")

    put_ckan(tmp_path, "town", record(2))
    ran = by_another(tmp_path, "search", "rain")
    assert (ran.returncode, ran.stdout.splitlines()[-1]) == (0, "1 dataset has: rain")
    assert ran.stderr.endswith("It is behind: what follows may be old.\n")

    ran = by_another(tmp_path, "reindex")
    assert (ran.returncode, ran.stdout) == (1, "")
    assert ran.stderr.endswith("can't be used (Permission denied): run this as the user who crawls into that folder.\n")
