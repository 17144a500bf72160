"""A release: its tables, its changelog against the one before, its page, and what is not released."""

from __future__ import annotations

import errno
import json
import os
import re
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

import duckdb
import pytest
import yaml
from obstore.store import MemoryStore

from crawlers.exceptions import COMMAND, ExportError
from crawlers.operate.release import card, release
from crawlers.operate.release.card import Card
from crawlers.s3 import connection
from crawlers.store.figures.contents import countries
from crawlers.store.index.database import connect
from tests.conftest import ROOT, command
from tests.indexed import indexed, recounted
from tests.test_pages import LOOKS, check_access, chromium, tab  # noqa: F401 -- a fixture

if TYPE_CHECKING:
    from collections.abc import Iterator

NOTHING = dict.fromkeys(("title", "license", "publisher", "url"))
GIVEN = {"title": "Rivers & <more>", "license": "https://example.org/cc0", "publisher": "Us", "url": "https://e.org/r"}
NEXT_RUN = (
    "UPDATE runs SET run = '20260303T000000Z', finished = '2026-03-03T00:00:00.000Z' WHERE run = '20260202T030000Z'",
)
HOSTILE = "<script>alert(1)</script> \u202e|`x` " + "é" * 300


@pytest.fixture
def output(tmp_path: Path) -> Path:
    made = tmp_path / "output"
    indexed(made, datasets=240)
    return made


def change(output: Path, *statements: str) -> None:
    with closing(sqlite3.connect(output / "index.sqlite", isolation_level=None)) as db:
        for statement in statements:
            db.execute(statement)
        recounted(db)


def made(output: Path, folder: object, **given: Any) -> str:
    return release.release(output, str(folder), NOTHING | given, None)


def bytes_of(folder: Path) -> dict[str, bytes]:
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def asked(query: str, **folders: Path) -> list[Any]:
    for name, folder in folders.items():
        for table in ("datasets", "resources"):
            query = query.replace(f"{name}.{table}", f"'{folder / table}.parquet'")
    return duckdb.sql(query).fetchall()


# What is in it


def test_a_release_has_what_the_index_has(output, tmp_path):
    change(output, f"UPDATE datasets SET title = '{HOSTILE}' WHERE id = 5")
    one = tmp_path / "one"
    said = made(output, one, **GIVEN)
    assert said == f"{one}: 237 datasets of run 20260202T030000Z. The first release: there is none to compare it with."
    with closing(sqlite3.connect(output / "index.sqlite")) as db:
        kept = db.execute("SELECT source, dataset_id, title, resources FROM datasets WHERE NOT withdrawn ORDER BY 1, 2")
        assert asked("SELECT source, dataset_id, title, resources FROM one.datasets", one=one) == kept.fetchall()
        files = db.execute(
            "SELECT count(*) FROM resources JOIN datasets USING (source, dataset_id) WHERE NOT withdrawn"
        )
        assert asked("SELECT count(*) FROM one.resources", one=one) == files.fetchall()
    for table in ("datasets", "resources"):
        every = f"SELECT * FROM '{one}/{table}.parquet'"
        each = f"SELECT * FROM '{one}/sources/*/{table}.parquet'"
        assert duckdb.sql(f"({every} EXCEPT ALL {each}) UNION ALL ({each} EXCEPT ALL {every})").fetchall() == []
        groups = duckdb.sql(f"SELECT DISTINCT row_group_id FROM parquet_metadata('{one}/{table}.parquet')").fetchall()
        assert groups == [(0,)], "of small sources together"
    assert asked("SELECT typeof(keywords) FROM one.datasets LIMIT 1", one=one) == [("VARCHAR[]",)]


def test_without_a_run_it_has_the_name_of_one(output, tmp_path):
    seen = "2026-02-03T04:05:06.789Z"
    document = f"VALUES ('source-0', 'dataset', 'x', '', 'x', 'x', 1, 'new', 'x', '{seen}', '{seen}')"
    columns = "source, kind, dataset_id, resource_id, file, sha256, bytes, status, run, first_seen, last_seen"
    change(output, "DELETE FROM runs", f"INSERT INTO documents ({columns}) {document}")
    assert " of run 20260203T040506Z. " in made(output, tmp_path / "one")


def test_it_says_what_it_is_in_each_form(output, tmp_path):
    change(output, f"UPDATE datasets SET title = '{HOSTILE}' WHERE id = 5")
    one = tmp_path / "one"
    made(output, one, **GIVEN)
    known = json.loads((one / "metadata.json").read_text())
    assert (known["schema"], known["id"], known["time"]) == (1, "20260202T030000Z", "2026-02-02T03:07:00.000Z")
    assert {name: known[name] for name in ("datasets", "withdrawn")} == {"datasets": 237, "withdrawn": 3}
    (first, *_) = known["sources"]
    assert (first["source"], first["datasets"], first["kind"]) == ("source-0", 79, "ckan")
    assert first["verdict"] in {"complete", "incomplete", "partial", "blocked", "failed", "interrupted"}
    assert first["evidence"].keys() >= {"expected", "listed", "failed", "errors", "flaws", "last_complete"}
    assert {*known["files"]} | {"metadata.json"} == {*bytes_of(one)}
    _, front, rest = (one / "README.md").read_text().split("---\n", 2)
    card = yaml.safe_load(front)
    assert (card["pretty_name"], card["size_categories"]) == (GIVEN["title"], ["n<1K"])
    assert {each["data_files"] for each in card["configs"]} == {"datasets.parquet", "resources.parquet"}
    assert all(f"| `{field['name']}` |" in rest for fields in known["tables"].values() for field in fields)
    query = rest.partition("```sql\n")[2].partition("```")[0]
    assert duckdb.sql(re.sub(r"'(?=\w+\.parquet)", f"'{one}/", query)).fetchall(), "what the card shows can be asked"
    croissant = json.loads((one / "croissant.json").read_text())
    assert (croissant["license"], croissant["version"]) == (GIVEN["license"], "2026.2.2")
    assert {each["@id"]: each["sha256"] for each in croissant["distribution"]} == {
        name: known["files"][name]["sha256"] for name in ("datasets.parquet", "resources.parquet")
    }
    for records in croissant["recordSet"]:
        described = duckdb.sql(f"DESCRIBE SELECT * FROM '{one}/{records['name']}.parquet'").fetchall()
        assert [field["name"] for field in records["field"]] == [column for column, *_ in described]
        assert {key["@id"] for key in records["key"]} <= {field["@id"] for field in records["field"]}
        sources = {field["source"]["fileObject"]["@id"] for field in records["field"]}
        assert sources == {f"{records['name']}.parquet"}
    page = (one / "index.html").read_text()
    linked = json.loads(page.partition('<script type="application/ld+json">')[2].partition("</script>")[0])
    assert (linked["@type"], linked["name"], linked["creator"]["name"]) == ("Dataset", GIVEN["title"], "Us")
    report = (one / "report.html").read_text() + (one / "report.md").read_text()
    assert all(f"{words}" in report for words in ("Countries", "Languages", "Licences", "ckan", "AFG", "sufficient"))
    for name, body in bytes_of(one).items():
        if name.endswith((".html", ".md", ".js")):
            assert "<script>alert" not in body.decode() or name.startswith("page/datasets-"), name
            assert "\u202e" not in body.decode(), name


def test_what_is_given_is_a_line_without_a_password(output, tmp_path):
    one, given = tmp_path / "one", "Rivers\n---\x7f\u2028</script>\udcff"
    address = "https://me:hunter22@e.org/r"
    made(output, one, title=given, publisher=given, license=address, url=address)
    _, front, _ = (one / "README.md").read_text().split("---\n", 2)
    card = yaml.safe_load(front)
    assert (card["pretty_name"], card["license_link"]) == ("Rivers ---</script>", "https://e.org/r")
    assert [name for name, body in bytes_of(one).items() if b"hunter22" in body] == []
    made(output, one, title=" \t")
    assert yaml.safe_load((one / "README.md").read_text().split("---\n")[1])["pretty_name"] == "Catalogue metadata"


def test_a_dataset_with_a_country_has_one(output):
    places = json.dumps([{"name": "Kabul", "code": None}, {"code": "AFG"}, {"code": "KEN"}, {"geometry": "Point"}])
    change(
        output,
        "UPDATE datasets SET spatial = NULL, country = NULL",
        f"UPDATE datasets SET spatial = '{places}' WHERE id = 5",
        'UPDATE datasets SET spatial = \'[{"name": "Kabul", "code": null}]\', country = \'Afghanistan\' WHERE id = 7',
    )
    with closing(connect(output)) as db:
        rows = countries(db, ["source-0", "source-1", "source-2"])["rows"]
    assert {row["label"]: row["value"] for row in rows} == {"AFG": 1, "KEN": 1, "Afghanistan": 1, "not stated": 235}


def test_it_is_the_same_byte_for_byte(output, tmp_path, monkeypatch):
    made(output, tmp_path / "one")
    pages = card._pages.__wrapped__()
    pages.bytecode_cache = None
    with monkeypatch.context() as patched:
        patched.setenv(COMMAND, "catalogue-crawlers")
        patched.setattr(card, "_pages", lambda: pages)
        made(output, tmp_path / "other/two")
    first = bytes_of(tmp_path / "one")
    assert bytes_of(tmp_path / "other/two") == first
    made(output, tmp_path / "one")
    assert bytes_of(tmp_path / "one") == first, "in the place of itself"


def test_a_page_of_a_dataset_is_bounded(tmp_path, output):
    """20,000 of them are loaded in less than 10 MB, whatever the catalogues send."""
    long = "'" + '"\\é漢🌊' * 100 + "'"
    columns = ", ".join(f"{name} = {long}" for name in ("title", "publisher", "description", "license"))
    change(output, f"UPDATE datasets SET {columns} WHERE id < 40")
    one = tmp_path / "one"
    made(output, one)
    parts = sorted((one / "page").glob("datasets-*.js"))
    rows = [line for path in parts for line in path.read_bytes().splitlines() if line.startswith(b'["')]
    assert len(rows) == 237
    assert 440 < max(map(len, rows)) < 460
    parsed = [json.loads(row.rstrip(b",")) for row in rows]
    assert all(row[0] and row[1].startswith("https://") for row in parsed)


# Against the release before


def test_the_changelog_is_what_the_tables_say(output, tmp_path):
    folder, before = tmp_path / "release", tmp_path / "before"
    first_said = made(output, folder)
    shutil.copytree(folder, before)
    change(
        output,
        "UPDATE datasets SET withdrawn = 1 WHERE id % 40 = 1",
        "UPDATE datasets SET withdrawn = 0 WHERE id = 98",
        "UPDATE datasets SET title = 'Another', sha256 = 'x' WHERE id % 50 = 2",
        "UPDATE resources SET url = 'https://new.example.org' WHERE dataset_id IN "
        "(SELECT dataset_id FROM datasets WHERE id % 60 = 3) AND position = 0",
        *NEXT_RUN,
    )
    said = made(output, folder)
    log = json.loads((folder / "changelog.json").read_text())
    found = {(each["source"], each["dataset_id"]): (each["status"], each.get("fields")) for each in log["datasets"]}
    key = "SELECT source, dataset_id FROM"
    expected: dict[str, set[Any]] = {
        "added": {*asked(f"{key} now.datasets EXCEPT {key} old.datasets", now=folder, old=before)},
        "removed": {*asked(f"{key} old.datasets EXCEPT {key} now.datasets", now=folder, old=before)},
    }
    differing = " UNION ".join(
        f"{key} (SELECT * FROM now.{table} EXCEPT SELECT * FROM old.{table})" for table in ("datasets", "resources")
    )
    expected["changed"] = {*asked(differing, now=folder, old=before)} - expected["added"]
    for status, ids in expected.items():
        assert {one for one, (said_of, _) in found.items() if said_of == status} == ids != set(), status
    assert log["counts"] == {status: len(ids) for status, ids in expected.items()}
    assert {tuple(fields or ()) for _, fields in found.values()} == {(), ("title", "sha256"), ("resources",)}
    assert (log["release"]["id"], log["before"]["id"]) == ("20260303T000000Z", "20260202T030000Z")
    sentence = "Since release 20260202T030000Z: " + ", ".join(f"{n} {status}" for status, n in log["counts"].items())
    assert said.endswith(f". {sentence}.")
    shown = (ROOT / "docs/release.md").read_text()
    printed = [*(one.replace(str(folder), "release") for one in (first_said, said, release.check(str(folder))[0]))]
    assert re.findall(r"^release: .*$", shown, re.MULTILINE) == printed, "the page shows what is printed"
    text = (folder / "changelog.md").read_text()
    assert f"\n{sentence}.\n" in text
    assert "- Another (source-1): title, sha256\n" in text
    assert sentence in (folder / "README.md").read_text()
    first = bytes_of(folder)
    made(output, folder)
    assert bytes_of(folder) == first, "the same release again tells the same changes"
    change(output, "DELETE FROM datasets WHERE source = 'source-2'", "DELETE FROM sources WHERE source = 'source-2'")
    made(output, folder)
    assert not (folder / "sources/source-2").exists()
    assert json.loads((folder / "changelog.json").read_text())["counts"]["removed"] > 50


# Its place


class Killed(BaseException):
    pass


def test_a_release_that_is_cut_short_leaves_the_old_one(output, tmp_path, monkeypatch):
    folder = tmp_path / "release"
    made(output, folder)
    first = bytes_of(folder)
    change(output, "UPDATE datasets SET title = 'Another' WHERE id = 2")

    def killed(*_: object) -> None:
        raise Killed

    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), "report.md")

    with monkeypatch.context() as patched:
        patched.setattr(release.shutil, "rmtree", lambda *_, **__: None)  # nobody cleans up behind a kill
        patched.setattr(Card, "write", killed)
        with pytest.raises(Killed):
            made(output, folder)
    with monkeypatch.context() as patched:
        patched.setattr(Card, "write_report", full)
        with pytest.raises(ExportError, match=r"^report\.md can't be written: No space left on device\.$"):
            made(output, folder)
    assert bytes_of(folder) == first
    made(output, folder)
    assert bytes_of(folder) != first
    assert [path.name for path in tmp_path.iterdir() if path.name.startswith(".")] == []


def test_an_old_one_that_was_moved_away_is_put_back(output, tmp_path):
    """By one that was killed where two folders can't change places."""
    folder, away = tmp_path / "release", tmp_path / ".release.before"
    made(output, folder)
    folder.rename(away)
    change(output, "UPDATE datasets SET title = 'Another' WHERE id = 2", *NEXT_RUN)
    assert made(output, folder).endswith("Since release 20260202T030000Z: 0 added, 1 changed, 0 removed.")
    shutil.copytree(folder, away)
    made(output, folder)
    assert [path.name for path in tmp_path.iterdir() if path.name.startswith(".")] == []


@pytest.mark.parametrize("is_atomic", [True, False])
def test_two_folders_change_places(tmp_path, monkeypatch, is_atomic):
    for name in ("made", "into"):
        (tmp_path / name).mkdir()
        (tmp_path / name / name).touch()
    if not is_atomic:
        monkeypatch.setattr(release.ctypes, "CDLL", lambda *_, **__: None)
    release._exchange(tmp_path / "made", tmp_path / "into")
    assert [path.name for path in (tmp_path / "into").iterdir()] == ["made"]
    assert (tmp_path / "made").exists() == is_atomic, "else it is removed at once"


@pytest.fixture
def store(monkeypatch: pytest.MonkeyPatch) -> MemoryStore:
    found = MemoryStore()
    monkeypatch.setattr(connection, "connected", lambda *_: found)
    return found


def objects(store: MemoryStore) -> dict[str, bytes]:
    return {one["path"]: bytes(store.get(one["path"]).bytes()) for some in store.list() for one in some}


def test_a_bucket_has_what_a_folder_has(output, tmp_path, store, monkeypatch):
    address = "s3://bucket/release"
    made(output, tmp_path / "one")
    assert made(output, address).startswith("s3://bucket/release: 237 datasets of run 2026")
    first = bytes_of(tmp_path / "one")
    assert objects(store) == first
    change(
        output, "UPDATE datasets SET title = 'Another' WHERE id = 2", "DELETE FROM datasets WHERE source = 'source-2'"
    )
    change(output, "DELETE FROM sources WHERE source = 'source-2'")
    place = release.Bucket
    for method, calls in (("upload", 0), ("upload", 11), ("copy", 3)):
        left = iter(range(calls))
        real = getattr(place, method)

        def until(*args: Any, left: Iterator[int] = left, real: Any = real) -> None:
            if next(left, None) is None:
                raise Killed
            real(*args)

        with monkeypatch.context() as patched:
            patched.setattr(place, method, until)
            with pytest.raises(Killed):
                made(output, address)
        kept = {name: body for name, body in objects(store).items() if not name.startswith(".releasing/")}
        assert (kept == first) == (method == "upload"), "what is uploaded as a whole is finished by the next one"
    made(output, tmp_path / "one")
    made(output, address)
    assert objects(store) == bytes_of(tmp_path / "one"), "and what it lacks is gone"
    assert release.check(address)[1] == []
    store.delete("report.md")
    store.put("index.html", b"other")
    assert release.check(address)[1] == ["index.html is not what metadata.json says.", "report.md is missing."]
    store.delete("datasets.parquet")
    change(output, "UPDATE datasets SET title = 'A third' WHERE id = 2")
    with pytest.raises(
        ExportError, match=r"has a broken release, datasets.parquet is missing: see `scrapy release --che"
    ):
        made(output, address)


def test_a_bucket_with_other_things_is_left_alone(output, store):
    store.put("index.html", b"mine")
    with pytest.raises(ExportError, match=r"^s3://bucket/r is not empty and has no release: name another prefix\.$"):
        made(output, "s3://bucket/r")
    store.delete("index.html")
    store.put(".releasing/metadata.json", b"[]")
    with pytest.raises(ExportError, match=r"its \.releasing/metadata\.json is not one of a release"):
        made(output, "s3://bucket/r")
    store.delete(".releasing/metadata.json")
    store.put(".releasing/sources/gone/datasets.parquet", b"of one that was cut short")
    made(output, "s3://bucket/r")
    assert [name for name in objects(store) if name.startswith(".")] == []


def test_check_names_each_file_that_differs(output, tmp_path):
    folder = tmp_path / "release"
    made(output, folder)
    (folder / "note.txt").touch()
    (folder / "report.md").unlink()
    (folder / "changelog.md").unlink()
    os.mkfifo(folder / "changelog.md")  # nobody writes into it
    with (folder / "datasets.parquet").open("ab") as file:
        file.write(b"x")
    ran = command("release", "--check", str(folder))
    assert (ran.returncode, ran.stdout.splitlines()) == (
        3,
        [
            "changelog.md is missing.",
            "datasets.parquet is not what metadata.json says.",
            "report.md is missing.",
            "note.txt is no part of the release.",
            f"{folder}: 4 of 19 files differ.",
        ],
    )


# Mistakes


def _with_other_things(folder: Path) -> None:
    (folder / "mine.txt").touch()


def _without_tables(folder: Path) -> None:
    (folder / "datasets.parquet").write_bytes(b"PAR1")


def _without_sense(folder: Path) -> None:
    (folder / "metadata.json").write_text("[" * 2_000)


def _outside(folder: Path) -> None:
    path = folder / "metadata.json"
    path.write_text(path.read_text().replace('"report.md"', '"../report.md"'))


def _of_another_version(folder: Path) -> None:
    path = folder / "metadata.json"
    path.write_text(path.read_text().replace('"schema": 1,', '"schema": 2,'))


def _without_metadata(folder: Path) -> None:
    (folder / "metadata.json").unlink()


@pytest.mark.parametrize(
    ("spoil", "sentence"),
    [
        (_with_other_things, "has mine.txt, which is no part of its release: move that elsewhere."),
        (_without_tables, "has a broken release, datasets.parquet is not what metadata.json says: see `scrapy release"),
        (_without_sense, "has a broken release, its metadata.json is not one of a release: see"),
        (_outside, "has a broken release, its metadata.json is not one of a release: see"),
        (_of_another_version, "has a release of another version: name another folder."),
        (_without_metadata, "is not empty and has no release: name another folder."),
    ],
)
def test_what_is_no_release_is_left_alone(output, tmp_path, spoil, sentence):
    folder = tmp_path / "release"
    made(output, folder)
    spoil(folder)
    before = bytes_of(folder)
    change(output, "UPDATE datasets SET title = 'Another' WHERE id = 2")
    with pytest.raises(ExportError) as caught:
        made(output, folder)
    assert (sentence in str(caught.value), "\n" in str(caught.value)) == (True, False)
    assert bytes_of(folder) == before
    assert [path.name for path in tmp_path.iterdir() if path.name.startswith(".")] == []


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["{empty}/r"], "{empty} holds no source: crawl one first"),
        (["{file}/r"], "{file} can't be written: File exists."),
        (["{file}"], "{file} is not a folder: name another."),
        (["{empty}/\udcff"], "/ is not in UTF-8, which the tables need: name another folder."),
        (["s3://"], "FOLDER is no s3://bucket/prefix"),
        (["ftp://x"], "FOLDER must be a folder or s3://bucket/prefix"),
        ([], "scrapy release takes: FOLDER|s3://BUCKET/PREFIX"),
        (["--check", "{empty}"], "{empty} has no release: there is no metadata.json."),
        (["--check", "{empty}", "--title", "x"], "scrapy release takes: "),
    ],
)
def test_a_mistake_is_a_sentence(output, tmp_path, words, sentence):
    empty, file = tmp_path / "empty", tmp_path / "file"
    empty.mkdir()
    file.touch()
    known = {"empty": str(empty), "file": str(file)}
    if sentence.startswith("{empty} holds"):
        output = empty
    else:
        (output / "source-0").mkdir()
        (output / "source-0/manifest.jsonl").touch()
    ran = command("release", *(word.format(**known) for word in words), "-s", f"OUTPUT_DIR={output}")
    assert (ran.returncode, ran.stderr.count("\n")) == (1, 1), ran.stderr
    assert sentence.format(**known) in ran.stderr
    assert not (tmp_path / "release").exists()


# In Chromium


@pytest.mark.browser
def test_the_page_lists_and_searches_from_a_folder(output, tmp_path, chromium):  # noqa: F811 -- the fixture
    folder = tmp_path / "release"
    change(output, f"UPDATE datasets SET title = 'Zürich {HOSTILE}', landing_page = 'javascript:x' WHERE id = 5")
    made(output, folder, title="Rivers")
    for width, scheme in LOOKS:
        with tab(chromium, width, scheme) as page:
            asked_for: list[str] = []
            page.on("request", lambda request, seen=asked_for: seen.append(Path(request.url).name))
            page.goto(f"file://{folder}/index.html")
            page.get_by_text("237 datasets, the first 50 shown.").wait_for()
            assert asked_for == ["index.html", "search.js", "datasets-0.js"], "only what is shown"
            page.get_by_role("button", name="Show more").click()
            page.get_by_text("the first 100 shown.").wait_for()
            page.get_by_label("Words").fill("zurich SCRIPT")
            page.get_by_text("1 dataset.", exact=True).wait_for()
            (row,) = page.locator("#found li").all()
            assert ("<script>alert(1)" in row.inner_text(), row.locator("a").count()) == (True, 0)
            page.get_by_label("Words").fill("nothing-like-it")
            page.get_by_text("No dataset has all of these words.").wait_for()
            page.get_by_label("Words").fill("afg flood")
            page.get_by_label("Source").select_option("source-1 (79)")
            page.locator("#found a").first.wait_for()
            assert {"source-1" in text for text in page.locator("#found .of").all_inner_texts()} == {True}
            check_access(page, width)
            page.goto(f"file://{folder}/report.html")
            check_access(page, width)
