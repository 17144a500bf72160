"""The captures of archives in the index: read from captures.jsonl, and what the views say of them."""

from __future__ import annotations

import json
import logging
import sqlite3
from contextlib import closing
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from crawlers.items import Capture
from crawlers.store.index import catch_up
from crawlers.store.index.captures import CAPTURES, FIELDS, FILE, HAS_BLOB, Captures, capture, line
from crawlers.store.index.database import Database, connect
from crawlers.store.index.schema import VIEWS
from tests.captured import RUN, TIME, archived, broken, look, sha256, written
from tests.conftest import command
from tests.indexed import indexed

if TYPE_CHECKING:
    from pathlib import Path

ALL = "SELECT * FROM captures ORDER BY dataset_id, resource_id, url, run"
LATER, LATER_TIME = "20261127T030000Z", "2026-11-27T03:00:05.250Z"
URL = "https://files.example.org/a.csv"


def ask(output: Path, query: str, *values: object) -> list[dict[str, Any]]:
    with closing(sqlite3.connect(output / "index.sqlite")) as db:
        db.row_factory = sqlite3.Row
        return [dict(row) for row in db.execute(query, values)]


def change(output: Path, query: str, *values: object) -> None:
    with closing(sqlite3.connect(output / "index.sqlite", isolation_level=None)) as db:
        db.execute(query, values)


# From captures.jsonl into the table


def test_a_capture_is_the_same_after_its_line_and_its_row(tmp_path: Path) -> None:
    found = look("town", "d", "r", URL, redirects=[URL + "?2"], headers=[["ETag", "é"]], is_broken=None, md5="0" * 32)
    written(tmp_path, "town", [found])
    catch_up(tmp_path)
    (row,) = ask(tmp_path, f"SELECT {', '.join(FIELDS)} FROM captures")
    assert capture(row.values()) == found
    assert Capture(**json.loads(json.dumps(line(found)))) == found


@pytest.mark.parametrize("is_broken", [True, False, None])
def test_broken_is_true_false_or_unknown(tmp_path: Path, *, is_broken: bool | None) -> None:
    written(tmp_path, "town", [broken("town", "d", "r", URL, is_broken=is_broken)])
    catch_up(tmp_path)
    with closing(Database(tmp_path).db):
        found = Captures(Database(tmp_path), "archive-of-town").last("d", "r", URL)
    assert found is not None
    assert found.is_broken is is_broken


@pytest.mark.parametrize(
    ("url", "host"),
    [
        ("https://Files.Example.org/a", "files.example.org"),
        ("http://127.0.0.1:8000/a", "127.0.0.1:8000"),
        ("https://me:secret@a.org:443/", "a.org"),
        ("ftp://old.example.org/a", "old.example.org"),
        ("http:a.org", ""),
        ("", ""),
        ("http://[bad", ""),
        ("http://a.org:port/", ""),
    ],
)
def test_the_host_is_a_column(tmp_path: Path, url: str, host: str) -> None:
    written(tmp_path, "town", [look("town", "d", "r", url)])
    catch_up(tmp_path)
    assert ask(tmp_path, "SELECT host FROM captures") == [{"host": host}]


def test_the_newest_look_at_each_file_is_the_last(tmp_path: Path) -> None:
    first = [look("town", "d", "r", URL), look("town", "d", "r", URL + "2"), look("town", "d", "other", URL)]
    written(tmp_path, "town", [*first, replace(first[0], run=LATER, time=LATER_TIME, state="unchanged")])
    catch_up(tmp_path)
    last = {(row["resource_id"], row["url"], row["run"]) for row in ask(tmp_path, f"{ALL}") if row["is_last"]}
    assert last == {("r", URL, LATER), ("r", URL + "2", RUN), ("other", URL, RUN)}
    assert len(ask(tmp_path, ALL)) == 4


def test_a_line_that_is_there_twice_is_one_row(tmp_path: Path) -> None:
    """A run that was killed and resumed may write a capture again."""
    one = look("town", "d", "r", URL)
    written(tmp_path, "town", [one, one])
    catch_up(tmp_path)
    assert [row["is_last"] for row in ask(tmp_path, ALL)] == [1]


def test_only_what_is_new_is_read(tmp_path: Path) -> None:
    folder = written(tmp_path, "town", [look("town", "d", "r", URL)])
    catch_up(tmp_path)
    change(tmp_path, "UPDATE captures SET title = 'from before'")
    written(tmp_path, "town", [look("town", "d", "r", URL, run=LATER, time=LATER_TIME)])
    catch_up(tmp_path)
    assert [row["title"] for row in ask(tmp_path, ALL)] == ["from before", None]
    with closing(sqlite3.connect(tmp_path / "index.sqlite")) as db:
        assert not CAPTURES.is_behind(db, folder)


def test_another_captures_file_replaces_all_rows(tmp_path: Path) -> None:
    folder = written(tmp_path, "town", [look("town", "d", "r", URL), look("town", "d", "s", URL)])
    catch_up(tmp_path)
    (folder / FILE).unlink()
    written(tmp_path, "town", [look("town", "d", name, URL) for name in ("other", "s", "t")])
    catch_up(tmp_path)
    assert [row["resource_id"] for row in ask(tmp_path, ALL)] == ["other", "s", "t"]


def test_a_captures_file_that_is_gone_leaves_no_rows(tmp_path: Path) -> None:
    folder = written(tmp_path, "town", [look("town", "d", "r", URL)])
    catch_up(tmp_path)
    (folder / FILE).unlink()
    catch_up(tmp_path)
    assert ask(tmp_path, ALL) == []


DAMAGED = (
    b"\n",
    b"no JSON\n",
    b"[]\n",
    b'{"source": "archive-of-town"}\n',
    json.dumps(line(look("region", "d", "r", URL))).encode() + b"\n",
    json.dumps(line(look("town", "d", "r", URL)) | {"headers": "none"}).encode() + b"\n",
    json.dumps(line(look("town", "d", "r", URL)) | {"size": [1]}).encode() + b"\n",
    json.dumps(line(look("town", "d", "r", URL)) | {"time": None}).encode() + b"\n",
    json.dumps(line(look("town", "d", "r", URL)) | {"title": "\ud800"}).encode() + b"\n",
    json.dumps(line(look("town", "d", "r", URL)) | {"size": 2**70}).encode() + b"\n",
    *(
        json.dumps(line(look("town", "d", "r", URL)) | {name: value}).encode() + b"\n"
        for name, values in {
            "sha256": ("../../../etc/passwd", "AB" * 32, "ab" * 31, "ab" * 32 + "\n", 5),
            "md5": ("x", 5),
            "headers": (["ETag"], [["ETag"]], [["ETag", "a", "b"]], [["ETag", 5]], [{"ETag": "a"}], ["ab"]),
            "redirects": ([5], [[URL]], [None], ["\udfff"]),
            "size": (-1, True, "4", 0.5),
            "failure_count": (-1, None),
            "http_status": ("200", -200, False),
            "is_broken": (1, "no"),
            "name": (5, ["wells"]),
            "kept_at": ("yesterday", "\x1b[2J", 5),
            "time": ("\x1b[2J",),
        }.items()
        for value in values
    ),
)


def test_damaged_lines_are_left_out_with_one_warning(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    folder = written(tmp_path, "town", [look("town", "d", "before", URL)])
    with (folder / FILE).open("ab") as file:
        file.writelines(DAMAGED)
    written(tmp_path, "town", [look("town", "d", "after", URL)])
    with caplog.at_level(logging.WARNING):
        catch_up(tmp_path)
    assert [row["resource_id"] for row in ask(tmp_path, ALL)] == ["after", "before"]
    told = f"{folder / FILE}: {len(DAMAGED)} damaged lines are left out; the others are read"
    assert [record.getMessage() for record in caplog.records] == [told]


def test_a_torn_last_line_is_read_once_it_is_whole(tmp_path: Path) -> None:
    """A crawl was killed while it wrote; the next one removes what is torn and writes the line again."""
    folder = written(tmp_path, "town", [look("town", "d", "first", URL)])
    whole = (folder / FILE).read_bytes()
    with (folder / FILE).open("ab") as file:
        file.write(json.dumps(line(look("town", "d", "torn", URL))).encode()[:-20])
    catch_up(tmp_path)
    assert [row["resource_id"] for row in ask(tmp_path, ALL)] == ["first"]
    (folder / FILE).write_bytes(whole)
    written(tmp_path, "town", [look("town", "d", "torn", URL)])
    catch_up(tmp_path)
    assert [row["resource_id"] for row in ask(tmp_path, ALL)] == ["first", "torn"]


def test_reindex_makes_the_same_rows(tmp_path: Path) -> None:
    looks = [look("town", f"d{number}", "r", URL) for number in range(1200)]
    again = [replace(one, run=LATER, time=LATER_TIME, state="broken", is_broken=True) for one in looks[:300]]
    folder = written(tmp_path, "town", looks)
    catch_up(tmp_path)
    written(tmp_path, "town", again)
    catch_up(tmp_path)
    before = ask(tmp_path, ALL)
    assert (len(before), sum(row["is_last"] for row in before)) == (1500, 1200)
    (tmp_path / "index.sqlite").unlink()
    ended = command("reindex", "-s", f"OUTPUT_DIR={tmp_path}")
    assert ended.returncode == 0, ended.stderr
    assert ask(tmp_path, ALL) == before
    assert ask(tmp_path, "SELECT bytes FROM captures_read") == [{"bytes": (folder / FILE).stat().st_size}]


def test_a_folder_that_is_gone_takes_its_captures_along(tmp_path: Path) -> None:
    folder = written(tmp_path, "town", [look("town", "d", "r", URL)])
    written(tmp_path, "region", [look("region", "d", "r", URL)])
    catch_up(tmp_path)
    for path in folder.iterdir():
        path.unlink()
    folder.rmdir()
    catch_up(tmp_path)
    assert [row["source"] for row in ask(tmp_path, ALL)] == ["archive-of-region"]


def test_the_last_look_is_the_one_that_waits_or_the_one_in_the_index(tmp_path: Path) -> None:
    written(tmp_path, "town", [look("town", "d", "r", URL)])
    catch_up(tmp_path)
    known = Captures(Database(tmp_path), "archive-of-town")
    assert known.last("d", "r", URL) == look("town", "d", "r", URL)
    assert known.last("d", "r", URL + "2") is None
    assert known.last("d", "f" * 24, URL) == known.last("d", "r", URL), "its id was made of the address with a login"
    assert known.last("other", "f" * 24, URL) is None
    newer = look("town", "d", "r", URL, run=LATER, time=LATER_TIME, sha256=sha256("newer"))
    known.put(line(newer))
    assert known.last("d", "r", URL) == newer
    assert known.has_blob(sha256(URL))
    assert known.has_blob(sha256("newer"))
    assert not known.has_blob(sha256("elsewhere"))
    known.database.db.close()


# What the views say


@pytest.fixture
def index(tmp_path: Path) -> tuple[Path, list[dict[str, Any]]]:
    """An index of made-up catalogues, and the resources of one; those of datasets that are not withdrawn."""
    indexed(tmp_path, datasets=30, sources=2)
    query = (
        "SELECT r.*, d.publisher, d.title AS dataset FROM resources r JOIN datasets d USING (source, dataset_id) "
        "WHERE source = 'source-1' AND NOT withdrawn ORDER BY dataset_id, position"
    )
    return tmp_path, ask(tmp_path, query)


def of(resource: dict[str, Any], url: str | None = None) -> tuple[str, str, str, str]:
    return "source-1", resource["dataset_id"], resource["resource_id"], url or resource["url"]


def names(output: Path, view: str) -> list[str]:
    return sorted(row["resource_id"] for row in ask(output, f"SELECT * FROM {view}"))


def test_a_file_has_its_publisher_and_host(index) -> None:
    output, (first, *_) = index
    archived(output, "source-1", [look(*of(first))])
    (row,) = ask(output, "SELECT * FROM files")
    assert list(row) == list(VIEWS["files"].columns)
    expected = {"source": "archive-of-source-1", "catalogue": "source-1", "host": "source-1.example.org", "gone": None}
    expected |= {name: first[name] for name in ("publisher", "dataset", "resource_id", "url")}
    assert expected.items() <= row.items()


def test_broken_and_unknown_links_are_listed_and_no_others(index) -> None:
    output, resources = index
    unknown = {"state": "unknown", "is_broken": None, "status": 22}
    archived(
        output,
        "source-1",
        [
            look(*of(resources[0])),
            broken(*of(resources[1])),
            broken(*of(resources[2]), **unknown),
            broken(*of(resources[3]), **unknown | {"is_broken": True}),
            broken(*of(resources[4]), state="not_taken", is_broken=None, status=21),
            broken(*of(resources[5]), state="failed_here", is_broken=None, status=23),
            look(*of(resources[6]), state="alive"),
        ],
    )
    assert names(output, "broken_links") == sorted(resources[number]["resource_id"] for number in (1, 2, 3))
    (row,) = ask(output, "SELECT * FROM files_by_source")
    counts = {"files": 7, "held": 2, "bytes": 8, "broken": 2, "unknown": 1, "not_taken": 1, "last_copies": 0}
    assert row == {"source": "archive-of-source-1", **counts}


def test_a_link_that_was_mended_is_not_broken(index) -> None:
    output, (first, *_) = index
    archived(output, "source-1", [broken(*of(first)), look(*of(first), run=LATER, time=LATER_TIME)])
    assert names(output, "broken_links") == []


def test_an_address_that_the_catalogue_replaced_is_no_broken_link(index) -> None:
    output, (first, second, *_) = index
    later = {"run": LATER, "time": LATER_TIME}
    replaced = [broken(*of(first, URL)), look(*of(first), **later)]
    twice = [broken(*of(second)), look(*of(second, URL), **later)]  # both are links of the resource: the first stays
    archived(output, "source-1", [*replaced, *twice])
    assert [row["url"] for row in ask(output, "SELECT url FROM broken_links")] == [second["url"]]


def test_the_files_of_a_page_stand_beside_each_other(index) -> None:
    output, (first, *_) = index
    page = look(*of(first), request_type="page", state="not_taken", sha256=None, is_broken=None)
    found = [look(*of(first, f"{URL}?{number}"), origin=first["url"]) for number in range(3)]
    archived(output, "source-1", [page, *found, replace(found[0], run=LATER, time=LATER_TIME)])
    assert ask(output, "SELECT count(*) AS files, count(sha256) AS held FROM files") == [{"files": 4, "held": 3}]


def test_what_a_catalogue_removed_is_a_last_copy(index) -> None:
    output, resources = index
    withdrawn = next(row for row in resources if row["dataset_id"] != resources[0]["dataset_id"])
    archived(output, "source-1", [look(*of(row)) for row in resources])
    assert names(output, "last_copies") == []
    change(output, "DELETE FROM resources WHERE resource_id = ?", resources[0]["resource_id"])
    change(output, "UPDATE datasets SET withdrawn = 1 WHERE dataset_id = ?", withdrawn["dataset_id"])
    gone = {row["resource_id"]: row["gone"] for row in ask(output, "SELECT * FROM last_copies")}
    expected = {row["resource_id"]: "dataset" for row in resources if row["dataset_id"] == withdrawn["dataset_id"]}
    assert gone == expected | {resources[0]["resource_id"]: "resource"}
    (counts,) = ask(output, "SELECT last_copies FROM files_by_source")
    assert counts["last_copies"] == len(gone)


def test_a_broken_link_of_a_removed_resource_is_a_last_copy_if_a_file_is_held(index) -> None:
    output, (first, second, *_) = index
    held = {"sha256": sha256("held"), "kept_at": TIME, "size": 4}
    archived(output, "source-1", [broken(*of(first), **held), broken(*of(second))])
    assert names(output, "broken_links") == sorted((first["resource_id"], second["resource_id"]))
    for row in (first, second):
        change(output, "DELETE FROM resources WHERE resource_id = ?", row["resource_id"])
    assert names(output, "broken_links") == []
    assert names(output, "last_copies") == [first["resource_id"]]


def test_a_file_that_another_resource_links_is_no_last_copy(index) -> None:
    """Some portals give their resources new ids every night."""
    output, (first, second, *_) = index
    archived(output, "source-1", [look(*of(first)), look(*of(second), sha256=sha256(first["url"]))])
    change(output, "DELETE FROM resources WHERE resource_id = ?", first["resource_id"])
    assert names(output, "last_copies") == []
    archived(output, "source-1", [broken(*of(second), sha256=sha256(first["url"]), run=LATER, time=LATER_TIME)])
    assert names(output, "last_copies") == [first["resource_id"]]


def test_of_a_catalogue_that_the_index_lacks_nothing_is_gone(index) -> None:
    output, (first, *_) = index
    archived(output, "elsewhere", [look("elsewhere", *of(first)[1:])])
    assert ask(output, "SELECT gone, publisher FROM files") == [{"gone": None, "publisher": None}]


def test_of_a_dataset_that_the_index_cut_nothing_is_gone(index) -> None:
    output, (first, *_) = index
    archived(output, "source-1", [look(*of(first))])
    change(output, "DELETE FROM resources WHERE resource_id = ?", first["resource_id"])
    change(output, "UPDATE datasets SET resources = 1001 WHERE dataset_id = ?", first["dataset_id"])
    assert names(output, "last_copies") == []


def test_counts_are_by_publisher_and_by_host(index) -> None:
    output, resources = index
    archived(output, "source-1", [broken(*of(row, f"https://h{n % 2}.org/{n}")) for n, row in enumerate(resources)])
    for column in ("publisher", "host"):
        of_each: dict[str, int] = {}
        for n, row in enumerate(resources):
            name = row["publisher"] if column == "publisher" else f"h{n % 2}.org"
            of_each[name] = of_each.get(name, 0) + 1
        found = ask(output, f"SELECT * FROM files_by_{column}")
        assert {row[column]: row["broken"] for row in found} == of_each
        assert [row["files"] for row in found] == sorted(of_each.values(), reverse=True)


@pytest.mark.parametrize("view", ["files", "broken_links", "last_copies"])
def test_no_view_scans_a_table(index, view: str) -> None:
    """Of a hundred looks at each file, only the last one is read, and for each a few rows of the catalogue."""
    output, _ = index
    plan = [row["detail"] for row in ask(output, f"EXPLAIN QUERY PLAN SELECT * FROM {view}")]
    scans = {detail for detail in plan if detail.startswith("SCAN")}
    used = "captures_broken" if view == "broken_links" else "captures_last"
    assert scans == {f"SCAN c USING INDEX {used}"}


def test_a_blob_is_looked_for_by_its_hash(index) -> None:
    """Not among all that a run has looked at: that is asked for each new file."""
    output, _ = index
    with closing(connect(output)) as db:
        plan = [row["detail"] for row in db.execute(f"EXPLAIN QUERY PLAN {HAS_BLOB}", ("0" * 64, "source-1"))]
    assert [detail for detail in plan if "captures" in detail] == [
        "SEARCH captures USING INDEX captures_blob (sha256=?)"
    ]


def test_logins_of_earlier_versions_stay_out_of_the_index(tmp_path: Path) -> None:
    """The next look at the file follows on them."""
    before = look("town", "d", "r", "https://me:hunter22@files.example.org/a.csv", redirects=["ftp://a:b@c.org/x"])
    written(tmp_path, "town", [before, look("town", "d", "r", URL, run=LATER, time=LATER_TIME)])
    catch_up(tmp_path)
    first, last = ask(tmp_path, ALL)
    assert (first["url"], first["redirects"], first["is_last"]) == (URL, '["ftp://c.org/x"]', 0)
    assert (last["url"], last["is_last"]) == (URL, 1)
