"""The Parquet files of figures: a cache of the index, which may be old, damaged, gone or not writable."""

from __future__ import annotations

import json
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import time
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import duckdb
import pytest

from crawlers.exceptions import FiguresError
from crawlers.items import Dataset, Resource
from crawlers.store import columns
from crawlers.store.columns import FOLDER, MEMORY, connected, opened, roots
from crawlers.store.figures import contents
from crawlers.store.figures.contents import descriptions
from crawlers.store.index import Index, catch_up
from crawlers.store.index import index as module
from crawlers.store.index.database import connect
from tests.captured import broken, written
from tests.conftest import ROOT, command, options, scrapy
from tests.held import put_ckan
from tests.indexed import indexed, recounted
from tests.needed import need
from tests.observed import ecosystem
from tests.site import Answer, Asked, Site
from tests.test_index import KNOWN
from tests.waiting import HANG, until

if TYPE_CHECKING:
    from collections.abc import Iterator

NAMES = ["source-0", "source-1", "source-2"]


@pytest.fixture
def output(tmp_path: Path) -> Path:
    made = tmp_path / "output"
    indexed(made, datasets=300)
    for name in NAMES:  # without its folder a source is taken for removed
        (made / name).mkdir()
        (made / name / "manifest.jsonl").touch()
    catch_up(made)
    return made


def figures(output: Path, names: list[str] | None = None) -> dict[str, Any]:
    with closing(connect(output)) as db, opened(db, names) as columns:
        chosen = names or NAMES
        return {
            "formats": contents.formats(columns, chosen),
            "licences": contents.licences(columns, chosen),
            "described": descriptions(columns, chosen),
            "duplicates": contents.duplicates(columns, chosen),
        }


def change(output: Path, statement: str) -> None:
    with closing(sqlite3.connect(output / "index.sqlite", isolation_level=None)) as db:
        db.execute(statement)
        recounted(db)


def files(output: Path) -> dict[str, tuple[int, int]]:
    """Each file, with what tells it from another one."""
    found = (path for path in (output / FOLDER).rglob("*.parquet"))
    return {str(path.relative_to(output)): (path.stat().st_ino, path.stat().st_mtime_ns) for path in found}


def folder_of(output: Path, name: str = "source-0") -> Path:
    (found,) = (output / FOLDER / name).iterdir()
    return found


# When they are written


def test_the_first_reader_writes_them_and_the_next_ones_do_not(output: Path) -> None:
    assert not (output / FOLDER).exists()
    first = figures(output)
    written = files(output)
    assert len(written) == 2 * len(NAMES)
    assert figures(output) == first
    assert figures(output, ["source-1"])["licences"]["total"] < first["licences"]["total"]
    assert files(output) == written


def test_only_those_that_are_asked_for_are_written(output: Path) -> None:
    figures(output, ["source-1"])
    assert {Path(name).parts[1] for name in files(output)} == {"source-1"}


def test_what_has_changed_is_written_again_and_seen_at_once(output: Path) -> None:
    before, written = figures(output), files(output)
    with closing(sqlite3.connect(output / "index.sqlite", isolation_level=None)) as db:
        db.execute("UPDATE datasets SET license = 'Ours' WHERE source = 'source-1'")
        db.execute("UPDATE sources SET stamp = 'another' WHERE source = 'source-1'")
    after = figures(output)
    assert before["licences"] != after["licences"]
    assert "Ours" in {row["label"] for row in after["licences"]["rows"]}
    kept = {name: known for name, known in files(output).items() if name in written}
    assert kept == written, "somebody may still read the old ones"


def test_old_ones_go_once_nobody_reads_them(output: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    figures(output)
    (output / FOLDER / "source-0" / ".killed.writing").mkdir()
    monkeypatch.setattr(columns, "_READ", -1)
    change(output, "UPDATE datasets SET license = 'Ours'")
    figures(output)
    assert len(files(output)) == 2 * len(NAMES)
    assert len(list((output / FOLDER / "source-0").iterdir())) == 1


def test_many_datasets_are_several_files(output: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    known = figures(output)
    monkeypatch.setattr(columns, "_BATCH", 7)
    monkeypatch.setattr(columns, "_FILE", 21)
    shutil.rmtree(output / FOLDER)
    assert figures(output) == known
    assert len(list(folder_of(output).glob("datasets-*.parquet"))) == 1 + 100 // 21


# The index


def put(index: Index, number: int, status: str = "new", **fields: Any) -> None:
    item = Dataset(source="town", id=f"id-{number}", title=f"Rain {number}", resources=[_csv(number)], **fields)
    known = module.Known(**{name: getattr(KNOWN, name) for name in KNOWN._fields} | {"status": status})
    described = item if status != "withdrawn" else None
    index.put("dataset", item.id, None, known, item=described, time=f"2026-11-2{number % 9}T03:00:00Z")


def _csv(number: int) -> Resource:
    return Resource(id=f"r-{number}", dataset_id=f"id-{number}", format="CSV")


def stamp(output: Path) -> str:
    with closing(connect(output)) as db:
        return str(db.execute("SELECT stamp FROM sources WHERE source = 'town'").fetchone()[0])


def closed(output: Path, *puts: Any) -> str:
    index = Index(output, "town")
    for words in puts:
        put(index, *words)
    index.settle()
    index.close()
    return stamp(output)


def test_the_stamp_changes_with_the_datasets_alone(tmp_path: Path) -> None:
    (tmp_path / "town").mkdir()
    (tmp_path / "town" / "manifest.jsonl").touch()
    first = closed(tmp_path, (1,), (2,))
    assert closed(tmp_path) == first
    unchanged = Index(tmp_path, "town")
    unchanged.put("dataset", "id-1", None, KNOWN)
    unchanged.settle()
    unchanged.close()
    assert stamp(tmp_path) == first
    second = closed(tmp_path, (3,))
    withdrawn = closed(tmp_path, (3, "withdrawn"))
    assert len({first, second, withdrawn, closed(tmp_path, (3, "restored"))}) == 4


def test_changes_are_counted_as_they_are_written(tmp_path: Path) -> None:
    (tmp_path / "town").mkdir()
    (tmp_path / "town" / "manifest.jsonl").touch()
    for _ in range(2):  # what is read again counts once
        closed(tmp_path, *((number,) for number in range(20)))
        closed(tmp_path, (3, "withdrawn"), (4, "withdrawn"))
    with closing(connect(tmp_path)) as db:
        raw = "SELECT source, run, substr(time, 1, 10), status, count(*) FROM changes GROUP BY 1, 2, 3, 4"
        known = [tuple(row) for row in db.execute("SELECT * FROM daily_changes ORDER BY 1, 2, 3, 4")]
        assert known == [tuple(row) for row in db.execute(f"{raw} ORDER BY 1, 2, 3, 4")]
        assert sum(row[-1] for row in known) == 22


def test_a_crawl_of_a_large_source_writes_its_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "LARGE", 3)
    (tmp_path / "town").mkdir()
    (tmp_path / "town" / "manifest.jsonl").touch()
    for number, expected in ((2, 0), (3, 2)):
        index = Index(tmp_path, "town")
        put(index, number)
        put(index, number - 1)
        index.engine_stopped()
        assert len(files(tmp_path)) == expected
    known = files(tmp_path)
    Index(tmp_path, "town").engine_stopped()
    assert files(tmp_path) == known, "nothing has changed"


def test_a_crawl_ends_well_if_they_can_not_be_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(module, "LARGE", 1)
    monkeypatch.setattr(columns, "_write", _no_room)
    (tmp_path / "town").mkdir()
    (tmp_path / "town" / "manifest.jsonl").touch()
    index = Index(tmp_path, "town")
    put(index, 1)
    index.engine_stopped()
    assert "The files of figures are not written (The figures of town can't be stored: [Errno 28]" in caplog.text
    with (
        closing(connect(tmp_path)) as db,
        pytest.raises(FiguresError, match="The figures of town can't be stored"),
        opened(db),
    ):
        pass


def _no_room(*_: Any) -> None:
    raise OSError(28, os.strerror(28))


@pytest.mark.slow
def test_a_whole_crawl_writes_them_once_and_unchanged_not_again(tmp_path: Path) -> None:
    output, titles = tmp_path / "output", ["Old"]

    def answer(asked: Asked) -> Answer:
        if asked.path == "/robots.txt":
            return Answer(status=404)
        datasets = [{"identifier": f"{number}", "title": titles[-1]} for number in range(module.LARGE + 50)]
        body = json.dumps({"conformsTo": "https://project-open-data.cio.gov/v1.1/schema", "dataset": datasets})
        return Answer(body.encode(), headers={"Content-Type": "application/json"})

    with Site(answer) as site:
        words = options(output, {}, url=f"{site.url}/data.json", source="town")
        assert scrapy("crawl", "dcat", *words).returncode == 0
        known = files(output)
        assert len(known) == 2
        assert scrapy("crawl", "dcat", *words).returncode == 0
        assert files(output) == known
        titles.append("New")
        assert scrapy("crawl", "dcat", *words).returncode == 0
    assert len(files(output)) == 4
    assert f"{module.LARGE + 50:,}" in report(output)


# What is wrong with them


def report(output: Path, *words: str) -> str:
    page = output.parent / "report.html"
    ended = command("report", "-s", f"OUTPUT_DIR={output}", "-o", str(page), *words)
    assert ended.returncode == 0, ended.stderr
    return page.read_text(encoding="utf-8")


def truncate(file: Path) -> None:
    file.write_bytes(file.read_bytes()[:-20])


def empty(file: Path) -> None:
    file.write_bytes(b"")


def zero(file: Path) -> None:
    file.write_bytes(bytes(file.stat().st_size))


def overwrite(file: Path) -> None:
    body = file.read_bytes()
    file.write_bytes(body[:4] + b"\xff" * (len(body) - 12) + body[-8:])


def another(file: Path) -> None:
    with closing(duckdb.connect()) as db:
        db.execute("COPY (SELECT 'source-0' AS source, 'x' AS id) TO $file (FORMAT parquet)", {"file": str(file)})


def folder(file: Path) -> None:
    file.unlink()
    file.mkdir()


@pytest.mark.parametrize("name", ["datasets-0.parquet", pytest.param("formats-1.parquet", marks=pytest.mark.slow)])
@pytest.mark.parametrize("damage", [truncate, empty, zero, overwrite, another, folder, Path.unlink])
def test_damaged_files_are_written_again(output: Path, damage: Any, name: str) -> None:
    known = figures(output)
    damage(folder_of(output) / name)
    assert figures(output) == known
    assert figures(output) == known
    assert (folder_of(output) / name).is_file()


def test_what_is_deleted_is_written_again(output: Path) -> None:
    known = figures(output)
    for place in (output / FOLDER, output / FOLDER / "source-1"):
        shutil.rmtree(place)
        assert figures(output) == known


def test_files_that_go_while_they_are_read_are_written_again(output: Path) -> None:
    known = figures(output)
    with closing(connect(output)) as db, opened(db) as columns:
        assert contents.licences(columns, NAMES) == known["licences"]
        shutil.rmtree(output / FOLDER)
        assert contents.formats(columns, NAMES) == known["formats"]
        assert contents.duplicates(columns, NAMES) == known["duplicates"]


def test_a_reader_sees_one_moment(output: Path) -> None:
    known = figures(output)
    with closing(connect(output)) as db, opened(db) as columns:
        assert contents.licences(columns, NAMES) == known["licences"]
        change(output, "UPDATE datasets SET license = 'Ours'")
        shutil.rmtree(output / FOLDER)
        assert contents.licences(columns, NAMES) == known["licences"]
    assert [row["label"] for row in figures(output)["licences"]["rows"]] == ["Ours"]


def test_a_query_that_fails_for_another_reason_says_so(output: Path) -> None:
    with closing(connect(output)) as db, opened(db) as columns:
        written = files(output)
        with pytest.raises(FiguresError, match="A figure can't be computed: Catalog Error"):
            columns.rows("SELECT * FROM nothing")
        assert files(output) == written


def test_links_are_not_followed(output: Path, tmp_path: Path) -> None:
    known = figures(output)
    shutil.rmtree(output / FOLDER)
    elsewhere = tmp_path / "elsewhere"
    (elsewhere / "source-0" / "precious").mkdir(parents=True)
    (output / FOLDER).symlink_to(elsewhere)
    assert figures(output) == known
    (output / FOLDER).unlink()
    (output / FOLDER).mkdir()
    (output / FOLDER / "source-0").symlink_to(elsewhere / "source-0")
    assert figures(output) == known
    catch_up(output)
    shutil.rmtree(output / "source-0")
    catch_up(output)
    assert [path.name for path in elsewhere.rglob("*")] == ["source-0", "precious"]


# Where nothing can be written


@contextmanager
def read_only(output: Path) -> Iterator[list[str]]:
    """Makes a folder read-only; gives what a command begins with that even root's processes must obey."""
    if os.geteuid() == 0:
        need("setpriv")
    places = [output, *(path for path in output.rglob("*"))]
    modes = {path: path.stat().st_mode for path in places}
    for path in places:
        path.chmod(modes[path] & ~0o222)
    try:
        yield ["setpriv", "--bounding-set=-dac_override"] if os.geteuid() == 0 else []
    finally:
        for path in places:
            path.chmod(modes[path])


@pytest.mark.parametrize("state", ["none", "current", "old"])
def test_readers_need_not_write(output: Path, state: str) -> None:
    with closing(sqlite3.connect(output / "index.sqlite")) as db:
        db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
    if state != "none":
        figures(output)
    if state == "old":
        change(output, "UPDATE datasets SET license = 'Ours'")
    for suffix in ("-wal", "-shm"):
        (output / f"index.sqlite{suffix}").unlink(missing_ok=True)
    page = output.parent / "report.html"
    before = files(output)
    with read_only(output) as bound:
        command = [
            *bound,
            sys.executable,
            "-W",
            "error",
            "-m",
            "scrapy",
            "report",
            "-s",
            f"OUTPUT_DIR={output}",
            "-o",
            str(page),
        ]
        environment = {**os.environ, "TMPDIR": str(output.parent)}
        ended = subprocess.run(
            command, cwd=ROOT, env=environment, timeout=HANG, capture_output=True, text=True, check=False
        )
    assert ended.returncode == 0, ended.stderr
    assert ("Ours" in page.read_text()) == (state == "old")
    assert files(output) == before
    assert not list(output.parent.glob("figures-*")), "the temporary folder is removed"


def test_a_page_that_can_not_be_made_is_a_sentence(output: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from crawlers.operate.dashboard import app  # noqa: PLC0415

    monkeypatch.setattr(columns, "_write", _no_room)
    answer = app(output).test_client().get("/")
    assert answer.status_code == 503
    assert "The figures of source-0 can&#39;t be stored: [Errno 28]" in answer.text
    assert app(output).test_client().get("/search").status_code == 200


# Several processes


def start(output: Path, page: Path) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "scrapy", "report", "-s", f"OUTPUT_DIR={output}", "-o", str(page)]
    return subprocess.Popen(command, cwd=ROOT, stderr=subprocess.PIPE, text=True)


@pytest.mark.slow
def test_readers_at_once_are_both_right(output: Path) -> None:
    pages = [output.parent / f"{number}.html" for number in range(3)]
    running = [start(output, page) for page in pages]
    assert [process.communicate(timeout=HANG)[1] for process in running] == [""] * 3
    assert [process.returncode for process in running] == [0] * 3
    assert len({page.read_text().partition("<h2")[2].count("<tr") for page in pages}) == 1
    assert len(files(output)) == 2 * len(NAMES)
    assert {path.name for path in (output / FOLDER).iterdir()} == set(NAMES), "no lock is left"


@pytest.mark.slow
def test_a_kill_while_they_are_written_leaves_none(tmp_path: Path) -> None:
    output = tmp_path / "output"
    indexed(output, datasets=20_000, sources=1)
    (output / "source-0").mkdir()
    (output / "source-0" / "manifest.jsonl").touch()
    catch_up(output)
    kills = 0
    for pause in (0, 0.02, 0.05, 0.1, 0.2):
        shutil.rmtree(output / FOLDER, ignore_errors=True)
        process = start(output, tmp_path / "report.html")
        until(lambda: list((output / FOLDER).glob("*/.*.writing")), unless=process.poll)
        time.sleep(pause)
        os.kill(process.pid, signal.SIGKILL)
        process.communicate(timeout=HANG)
        kills += process.returncode == -signal.SIGKILL and not files_of(output)
        assert figures(output, ["source-0"])["licences"]["total"] == 20_000 - 207
    assert kills


def files_of(output: Path) -> list[Path]:
    return list((output / FOLDER).glob("source-0/[!.]*/formats-*.parquet"))


# The other commands


def test_a_removed_source_takes_its_files_along(output: Path) -> None:
    figures(output)
    shutil.rmtree(output / "source-1")
    catch_up(output)
    assert {Path(name).parts[1] for name in files(output)} == {"source-0", "source-2"}


def town(tmp_path: Path) -> tuple[Path, list[str]]:
    output = tmp_path / "output"
    for number in range(4):
        record = {"id": f"id-{number}", "name": f"rain-{number}", "title": f"Rain {number}", "license_id": "cc-by"}
        put_ckan(output, "town", record | {"resources": [{"id": "r", "format": "CSV", "url": "https://a.org/1"}]})
    catch_up(output)
    (tmp_path / "sources.toml").write_text('[town]\nspider = "ckan"\narguments = { portal = "https://a.org" }\n')
    places = {"OUTPUT_DIR": output, "SOURCES_FILE": tmp_path / "sources.toml"}
    places |= {"JOBS_DIR": tmp_path / "jobs", "LOGS_DIR": tmp_path / "logs"}
    return output, [f"-s{name}={path}" for name, path in places.items()]


def test_rename_remove_and_purge(tmp_path: Path) -> None:
    output, places = town(tmp_path)
    assert figures(output, ["town"])["formats"]["total"] == 4
    renamed = scrapy("sources", "rename", "town", "city", *places)
    assert renamed.returncode == 0, renamed.stderr
    assert not (output / FOLDER / "town").exists()
    assert figures(output, ["city"])["formats"]["total"] == 4
    assert scrapy("sources", "remove", "city", *places).returncode == 0
    purged = scrapy("sources", "purge", "city", "--yes", *places)
    assert purged.returncode == 0, purged.stderr
    assert not (output / FOLDER / "city").exists()


def test_reindex_writes_them_all(tmp_path: Path) -> None:
    output, places = town(tmp_path)
    known, before = figures(output, ["town"]), files(output)
    ended = command("reindex", *places)
    assert (ended.returncode, ended.stderr) == (0, "")
    assert len(files(output)) == 2
    assert not files(output).keys() & before.keys()
    assert figures(output, ["town"]) == known


def test_archives_and_profiles(tmp_path: Path) -> None:
    output, places = town(tmp_path)
    ecosystem(output, portals=5, many=3)
    written(output, "town", [broken("town", "id-1", "r", "https://a.org/1")])
    page = report(output, *places)
    assert "CC-BY" in page or "cc-by" in page
    found = figures(output)
    assert found["described"] == {}
    known = figures(output, ["town", "ckan_sites", "archive-of-town"])
    assert {name: one.datasets for name, one in known["described"].items()} == {"town": 4}
    assert known["formats"]["total"] == 4
    assert {path.name for path in (output / FOLDER).iterdir()} == {"town", "ckan_sites", "archive-of-town"}


def test_a_source_whose_name_is_that_of_a_file_is_no_other_source(tmp_path: Path) -> None:
    for name in ("runs", "manifest.jsonl", "captures.jsonl"):
        put_ckan(tmp_path, name, {"id": "a", "name": "a", "title": "A", "resources": []})
    catch_up(tmp_path)
    figures(tmp_path, ["runs", "manifest.jsonl", "captures.jsonl"])
    catch_up(tmp_path)
    with closing(connect(tmp_path)) as db:
        found = [name for (name,) in db.execute("SELECT source FROM sources ORDER BY 1")]
    assert found == ["captures.jsonl", "manifest.jsonl", "runs"]


# DuckDB


def test_duckdb_stays_within_its_bounds(output: Path) -> None:
    figures(output)
    (file,) = folder_of(output).glob("datasets-*.parquet")
    outside = output.parent / "outside.parquet"
    shutil.copy(file, outside)
    settings = "SELECT value FROM duckdb_settings() WHERE name = ?"
    with connected(roots(output)) as engine:
        assert engine.execute("SELECT count(*) FROM read_parquet(?)", [str(file)]).fetchone() == (98,)
        for name in ("autoinstall_known_extensions", "autoload_known_extensions", "allow_community_extensions"):
            assert engine.execute(settings, [name]).fetchone() == ("false",)
        assert engine.execute(settings, ["threads"]).fetchone() == ("1",)
        limit = engine.execute(settings, ["memory_limit"]).fetchone()[0]
        assert MEMORY == "256MB"
        assert limit.startswith("244")
        for statement, *values in (
            ("INSTALL httpfs",),
            ("LOAD httpfs",),
            ("SET memory_limit = '8GB'",),
            ("SET enable_external_access = true",),
            ("SELECT * FROM read_parquet(?)", str(outside)),
            ("SELECT * FROM read_csv(?)", "/etc/passwd"),
            ("SELECT * FROM read_parquet(?)", "https://example.org/x.parquet"),
            ("COPY (SELECT 1) TO $1", str(outside)),
        ):
            with pytest.raises(duckdb.Error):
                engine.execute(statement, values)
    assert not (Path.home() / ".duckdb").exists() or not list((Path.home() / ".duckdb").rglob("*.duckdb_extension"))


def test_the_lines_of_a_portal_are_never_a_query(output: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    hostile = "'); COPY (SELECT 1) TO 'x.parquet'; --"
    change(output, f"UPDATE datasets SET license = '{hostile.replace(chr(39), chr(39) * 2)}', title = license")
    seen: list[str] = []
    real = duckdb.DuckDBPyConnection.execute

    class Engine:
        def __init__(self, engine: duckdb.DuckDBPyConnection) -> None:
            self.engine = engine

        def execute(self, query: str, *values: Any) -> Any:
            seen.append(query)
            return real(self.engine, query, *values)

    @contextmanager
    def watched(folders: list[Path]) -> Iterator[Engine]:
        with connected(folders) as engine:
            yield Engine(engine)

    monkeypatch.setattr("crawlers.store.columns.connected", watched)
    found = figures(output)
    assert [row["label"] for row in found["licences"]["rows"]] == [hostile]
    assert seen
    assert not [query for query in seen if "x.parquet" in query or "source-0" in query]


def test_a_number_that_json_can_not_hold_is_none(output: Path) -> None:
    change(output, f"UPDATE datasets SET resources = {2**62} WHERE id <= 3")
    known = figures(output)["described"]
    assert sum(one.resources for one in known.values()) > 2**62
    assert json.dumps(known["source-0"].resources)
