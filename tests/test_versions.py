"""Former versions: kept before a document is replaced, and read again by the manifest's lines."""

from __future__ import annotations

import hashlib
import json
import os
import random
import sqlite3
from datetime import datetime
from typing import TYPE_CHECKING, Any

import pytest
from backports import zstd

from crawlers.exceptions import OutputError
from crawlers.store import history, lines
from crawlers.store.index.known import Known
from crawlers.store.lines import JSONLines
from crawlers.store.versions import FILE, Versions

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.conftest import Crawl
    from tests.portal.portal import Portal

RUNS = "20261120T0300{:02}Z"
TIMES = "2026-11-20T03:{:02}:{:02}.000Z"


def known(body: bytes, run: str = "20261120T030000Z", file: str = "datasets/a.json", status: Any = "new") -> Known:
    return Known(file, hashlib.sha256(body).hexdigest(), len(body), None, status, run, TIMES.format(0, 0))


def keep(versions: Versions, body: bytes | None, dataset: str = "a", *, of: Known | None = None, **more: Any) -> Known:
    found = of or known(body or b"")
    given: dict[str, Any] = {"replaced": TIMES.format(1, 0), "run": "later", "status": "updated", "fields": ["title"]}
    versions.keep(("dataset", dataset, ""), found, body, **(given | more))
    return found


def record(number: int, **more: Any) -> bytes:
    text = {"id": f"d{number}", "title": f"Rivers {number}", "notes": f"What {number * 7919} rivers carry. " * 20}
    return json.dumps(text | more, indent=2).encode()


def test_a_version_is_there_once_whatever_is_repeated(tmp_path: Path) -> None:
    with Versions.writing(tmp_path) as versions:
        first = keep(versions, b"one")
        keep(versions, b"one")
        keep(versions, None, of=first, run="even later")  # a killed crawl kept it, and replaced the document
    with Versions.reading(tmp_path) as versions:
        assert versions.body(first.sha256) == b"one"
        assert versions.body("0" * 64) is None
        assert versions.body("no hash") is None
        assert versions.fields(("dataset", "a", ""), "even later", "updated") == ["title"]
        assert versions.fields(("dataset", "a", ""), "later", "updated") is None
        assert versions.size().versions == 1
        assert versions.db
        assert versions.db.execute("SELECT count(*) FROM versions").fetchone() == (1,)
        assert versions.db.execute("SELECT field, replaced_by FROM changed_fields").fetchall() == [
            ("title", "even later")
        ]


def test_a_version_of_a_few_bytes_is_one(tmp_path: Path) -> None:
    with Versions.writing(tmp_path) as versions:
        short = [keep(versions, body, run=str(number)) for number, body in enumerate((b"{}", b"{ }", b"[]"))]
        assert [versions.body(one.sha256) for one in short] == [b"{}", b"{ }", b"[]"]
        assert versions.prune(2**40) == 3


def test_a_file_is_as_large_as_what_it_keeps(tmp_path: Path) -> None:
    """Of 60 datasets that change each day, the last three days are kept, for forty days."""
    draw, sizes = random.Random(34), []
    with Versions.writing(tmp_path) as versions:
        for day in range(1, 41):
            for number in range(60):
                body = record(number, day=day, noise=draw.randbytes(200).hex())
                moment = f"2026-{1 + day // 28:02}-{1 + day % 28:02}T03:00:00.000Z"
                keep(versions, body, f"d{number}", of=known(body, run=str(day)), replaced=moment)
            versions.prune(datetime.fromisoformat(moment).timestamp() - 3 * 24 * 3600 + 1)
            assert versions.db
            versions.db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
            sizes.append((tmp_path / FILE).stat().st_size)
    former = 40 * 60 * 150  # bytes of the rows that say what changed, which stay
    assert sizes[-1] < 2 * sizes[5] + former


def test_damage_that_is_met_while_a_version_is_kept_is_set_aside(tmp_path: Path) -> None:
    with Versions.writing(tmp_path) as versions:
        for number in range(200):
            keep(versions, record(number, noise=random.Random(number).randbytes(300).hex()), f"d{number}")
    body = bytearray((tmp_path / FILE).read_bytes())
    body[8192:] = b"\xff" * (len(body) - 8192)
    (tmp_path / FILE).write_bytes(body)
    with Versions.writing(tmp_path) as versions:
        one = keep(versions, record(1, edit=1), "d1")
        assert versions.body(one.sha256) == record(1, edit=1)
    assert [*tmp_path.glob(f"{FILE}.damaged-*")]


def test_a_damaged_version_is_no_base_of_others(tmp_path: Path) -> None:
    with Versions.writing(tmp_path) as versions:
        first = keep(versions, record(1), "d1", replaced=TIMES.format(1, 0))
        second = keep(versions, record(1, edit=1), "d1", run="2", replaced=TIMES.format(2, 0))
        assert versions.db
        versions.db.execute("UPDATE bodies SET body = x'00' WHERE id = 1")
        third = keep(versions, record(1, edit=2), "d1", run="3", replaced=TIMES.format(3, 0))
        fourth = keep(versions, record(2), "d2", replaced=TIMES.format(3, 0))
        assert [versions.body(one.sha256) for one in (third, fourth)] == [record(1, edit=2), record(2)]
        for one in (first, second):
            with pytest.raises(OutputError, match="damaged"):
                versions.body(one.sha256)
        versions.prune(datetime.fromisoformat(TIMES.format(1, 30)).timestamp())
        assert versions.body(first.sha256) is None
        assert versions.body(third.sha256) == record(1, edit=2)


def test_lines_of_both_forms_are_found(tmp_path: Path) -> None:
    """A line with half a character is written by Python's own writer: with blanks, and all but ASCII escaped."""
    folder = tmp_path / "town"
    written(
        folder,
        {"dataset_id": "ö", "time": TIMES.format(0, 0)},
        {"dataset_id": "ö", "dataset_title": "\ud83d", "time": TIMES.format(1, 0), "status": "withdrawn"},
    )
    assert b'"dataset_id": "' in (folder / "manifest.jsonl").read_bytes()
    assert [one.status for one in history.of_dataset(folder, "ö")] == ["new", "withdrawn"]
    assert [one.status for one in history.between(folder, TIMES.format(1, 0), TIMES.format(1, 0))] == ["withdrawn"]


def test_a_folder_without_versions_has_none_and_gets_no_file(tmp_path: Path) -> None:
    with Versions.reading(tmp_path) as versions:
        assert versions.body("0" * 64) is None
        assert versions.size() == (0, 0, 0)
        assert versions.prune(1) == 0
    assert not (tmp_path / FILE).exists()


def test_a_thousand_edits_are_read_again(tmp_path: Path) -> None:
    """Whatever is compressed with what: of 20 documents, some small, some that are no text, some empty."""
    draw = random.Random(34)
    now = {number: record(number) for number in range(20)}
    former: list[tuple[str, bytes]] = []
    with Versions.writing(tmp_path) as versions:
        for edit in range(1_000):
            number = draw.randrange(20)
            former.append((keep(versions, now[number], f"d{number}").sha256, now[number]))
            now[number] = draw.choice(
                (
                    record(number, edit=edit),
                    record(number, notes=draw.randbytes(draw.randrange(2_000)).hex()),
                    now[number] + b"\n",
                    draw.randbytes(draw.randrange(100)),
                    b"",
                )
            )
    with Versions.reading(tmp_path) as versions:
        assert all(versions.body(sha256) == body for sha256, body in former)


def test_versions_take_less_than_each_alone(tmp_path: Path) -> None:
    """Former documents of a catalogue of 300, edited once or twice; each takes 2 kB."""
    draw, alone = random.Random(34), 0
    words = ["".join(draw.choices("etaoinshrdlu", k=draw.randrange(2, 9))) for _ in range(2_000)]
    with Versions.writing(tmp_path) as versions:
        for number in range(300):
            notes = " ".join(draw.choices(words, k=300))
            for edit in range(1 + (number % 3 > 0)):
                body = record(number, notes=notes, edit=edit)
                alone += len(zstd.compress(body, 3))
                keep(versions, body, f"d{number}")
    assert (tmp_path / FILE).stat().st_size <= 1.2 * alone


@pytest.mark.parametrize("kept_from", range(1, 9))
def test_what_is_pruned_is_gone_and_the_rest_is_read(tmp_path: Path, kept_from: int) -> None:
    """Also of versions that were compressed with one that is gone: the document's first, or the kind's."""
    bodies = {(minute, number): record(number, minute=minute) for minute in range(1, 9) for number in range(5)}
    with Versions.writing(tmp_path) as versions:
        kept = {at: keep(versions, body, f"d{at[1]}", replaced=TIMES.format(at[0], 0)) for at, body in bodies.items()}
        keep(versions, None, "d0", of=kept[1, 0], replaced=TIMES.format(8, 30))  # the same bytes are former again
        row = "SELECT kept FROM bodies WHERE sha256 = ?"
        assert versions.db
        moment = versions.db.execute(row, (bytes.fromhex(kept[kept_from, 1].sha256),)).fetchone()[0]
        assert versions.prune(moment) == 5 * (kept_from - 1) - (kept_from > 1)
        stays = {at for at in bodies if at[0] >= kept_from or at == (1, 0)}
        for at, body in bodies.items():
            assert versions.body(kept[at].sha256) == (body if at in stays else None)
        later = keep(versions, record(9), "d9")
        assert versions.body(later.sha256) == record(9)
        assert versions.prune(2**40) == len(stays) + 1
        assert versions.db.execute("SELECT count(*) FROM models").fetchone() == (0,)
        assert versions.db.execute("SELECT count(*) FROM changed_fields").fetchone()[0]


def test_a_file_whose_maker_was_killed_has_no_versions_and_gets_some(tmp_path: Path) -> None:
    (tmp_path / FILE).write_bytes(b"")
    with Versions.reading(tmp_path) as versions:
        assert versions.body("0" * 64) is None
        assert not versions.has("0" * 64)
    with Versions.writing(tmp_path) as versions:
        assert versions.body(keep(versions, b"one").sha256) == b"one"


def test_damage_within_a_file_is_a_sentence(tmp_path: Path) -> None:
    with Versions.writing(tmp_path) as versions:
        for number in range(200):
            keep(versions, record(number, noise=random.Random(number).randbytes(300).hex()), f"d{number}")
    body = bytearray((tmp_path / FILE).read_bytes())
    body[8192:] = b"\xff" * (len(body) - 8192)
    (tmp_path / FILE).write_bytes(body)
    given = known(record(7))
    with Versions.reading(tmp_path) as versions:
        for ask in (
            lambda: versions.body(given.sha256),
            lambda: versions.has(given.sha256),
            lambda: versions.fields(("dataset", "d7", ""), "later", "updated"),
            lambda: versions.before(("dataset", "d7", ""), given, "later", "updated"),
            lambda: versions.of_run(("dataset", "d7", ""), given, "later"),
            versions.size,
        ):
            with pytest.raises(OutputError, match=r"versions\.sqlite is damaged"):
                ask()


def test_a_damaged_file_is_set_aside_and_kept(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    for day in (1, 2):
        (tmp_path / f"{FILE}.damaged-2026010{day}T000000Z").write_bytes(b"mended by hand")
    (tmp_path / FILE).write_bytes(b"no database" * 1_000)
    with Versions.writing(tmp_path) as versions:
        one = keep(versions, b"one")
        assert versions.body(one.sha256) == b"one"
    assert len([*tmp_path.glob(f"{FILE}.damaged-*")]) == 3
    assert "and another is begun" in caplog.text


def test_a_file_of_a_newer_version_is_refused(tmp_path: Path) -> None:
    with sqlite3.connect(tmp_path / FILE) as db:
        db.execute("PRAGMA user_version = 9")
    with pytest.raises(OSError, match="a newer version of this program wrote it, in format 9"):
        Versions.writing(tmp_path)


def written(folder: Path, *entries: dict[str, Any]) -> None:
    (folder / "datasets").mkdir(parents=True, exist_ok=True)
    manifest = JSONLines(folder / "manifest.jsonl")
    for entry in entries:
        manifest.append(
            {
                "kind": "dataset",
                "dataset_name": None,
                "dataset_title": "Rivers",
                "metadata_source": "package_search",
                "metadata_url": "https://portal.example/",
                "metadata_file": f"datasets/{entry['dataset_id']}.json",
                "time": TIMES.format(0, 0),
                "run": RUNS.format(0),
                "status": "new",
                "sha256": hashlib.sha256(entry["dataset_id"].encode()).hexdigest(),
                "bytes": 1,
            }
            | entry
        )
    manifest.close()


def test_a_dataset_is_found_by_id_by_name_and_by_what_begins_only_one(tmp_path: Path) -> None:
    folder = tmp_path / "town"
    written(
        folder,
        {"dataset_id": "ab", "dataset_name": "the-rivers"},
        {"dataset_id": "abc", "dataset_name": "lakes"},
        {"dataset_id": "abc", "dataset_name": "the-lakes", "status": "updated", "time": TIMES.format(1, 0)},
        {"dataset_id": 'q"ö', "dataset_name": "twice"},
        {"dataset_id": "x", "dataset_name": "twice"},
    )

    def found(given: str) -> list[str]:
        return [version.key[1] for version in history.of_dataset(folder, given)]

    assert found("ab") == ["ab"]
    assert found("abc") == found("the-lakes") == found("lakes") == found("the-l") == ["abc", "abc"]
    assert found('q"') == ['q"ö']
    for given, sentence in {
        "a": "'a' is not one dataset of town but 2: ab, abc.",
        "twice": """'twice' is not one dataset of town but 2: q"ö, x.""",
        "y": "town has no dataset 'y': `scrapy search` finds one by its words.",
        "": "town has no dataset '': `scrapy search` finds one by its words.",
    }.items():
        with pytest.raises(OutputError) as raised:
            history.of_dataset(folder, given)
        assert str(raised.value) == sentence


def test_the_folder_as_it_was(tmp_path: Path) -> None:
    folder = tmp_path / "town"
    written(
        folder,
        {"dataset_id": "a"},
        {"dataset_id": "b"},
        {"dataset_id": "a", "status": "updated", "time": TIMES.format(1, 0), "bytes": 2},
        {"dataset_id": "b", "status": "withdrawn", "time": TIMES.format(2, 0), "metadata_source": None},
        {"dataset_id": "b", "status": "restored", "time": TIMES.format(3, 0)},
    )

    def at(until: str) -> list[tuple[str, str, int]]:
        return [(one.key[1], one.status, one.known.bytes) for one in history.at(folder, until)]

    assert at(TIMES.format(0, 0)) == [("a", "new", 1), ("b", "new", 1)]
    assert at(TIMES.format(2, 30)) == [("a", "updated", 2), ("b", "withdrawn", 1)]
    assert at(TIMES.format(9, 0)) == [("a", "updated", 2), ("b", "restored", 1)]
    assert at("2026-11-19") == []
    minutes = [one.status for one in history.between(folder, TIMES.format(1, 0), TIMES.format(2, 0))]
    assert minutes == ["updated", "withdrawn"]
    assert [one.known.metadata_source for one in history.of_dataset(folder, "b")] == ["package_search"] * 3


def test_lines_that_were_compacted_are_read(tmp_path: Path) -> None:
    folder = tmp_path / "town"
    written(folder, {"dataset_id": "a"}, {"dataset_id": "a", "status": "updated", "run": RUNS.format(1)})
    assert lines.compact(folder, "manifest.jsonl")
    assert [version.status for version in history.of_dataset(folder, "a")] == ["new", "updated"]
    assert [version.status for version in history.at(folder, "9")] == ["updated"]


def test_bytes_are_read_from_the_disk_or_from_the_versions(tmp_path: Path) -> None:
    folder = tmp_path / "town"
    bodies = [record(1, edit=edit) for edit in range(3)]
    written(
        folder,
        *(
            {
                "dataset_id": "d1",
                "status": "updated" if edit else "new",
                "time": TIMES.format(edit, 0),
                "run": RUNS.format(edit),
                "sha256": hashlib.sha256(body).hexdigest(),
                "bytes": len(body),
            }
            for edit, body in enumerate(bodies)
        ),
    )
    (folder / "datasets" / "d1.json").write_bytes(bodies[2])
    with Versions.writing(folder) as versions:
        keep(versions, bodies[1], "d1", run=RUNS.format(2))
    first, second, third = history.of_dataset(folder, "d1")
    with history.Bodies(folder) as found:
        assert [found.body(one) for one in (first, second, third)] == [None, *bodies[1:]]
        assert found.fields(third) == ["title"]
        item = found.item(second)
        assert item
        assert (item.title, found.item(first)) == ("Rivers 1", None)
    os.truncate(folder / FILE, 100)
    with pytest.raises(OutputError, match=r"versions.sqlite can't be read"):
        history.Bodies(folder)


# Whole crawls


def said(folder: Path, dataset_id: str) -> list[tuple[str, str, list[str] | None, bool]]:
    """Kind, status and changed fields of each version, and whether its bytes are kept."""
    with history.Bodies(folder) as bodies:
        return [
            (one.key[0], one.status, bodies.fields(one), bodies.body(one) is not None)
            for one in history.of_dataset(folder, dataset_id)
        ]


def test_each_line_of_a_crawl_has_its_bytes(crawl: Callable[..., Crawl], portal: Callable[..., Portal]) -> None:
    """Updated, renamed, withdrawn and restored; of datasets and of the exports of their resources."""
    site = portal(datasets=60)
    first = crawl("hdx", site)
    folder = first.folder
    one, two, three, *_ = site.ids()
    nights = {first.manifest[-1]["time"]: {name: path.read_bytes() for name, path in files(folder).items()}}
    for change in (
        {"edit": {one: {"title": "Another", "notes": "More of it"}}, "rename": {two: "another-name"}},
        {"edit": {one: {"title": "A third"}, three: {"private": True}}},
        {"edit": {three: {"private": False, "notes": "Back again"}}},
    ):
        site.change(**change)
        done = crawl("hdx", site)
        assert (done.code, done.errors) == (0, [])
        nights[done.manifest[-1]["time"]] = {name: path.read_bytes() for name, path in files(folder).items()}
    of_one, of_two, of_three = (
        [found[1:] for found in said(folder, each) if found[0] == "dataset"] for each in (one, two, three)
    )
    new = ("new", None, True)
    assert of_one == [new, ("updated", ["title", "description"], True), ("updated", ["title"], True)]
    assert [found[0] for found in of_two] == ["new", "updated"]
    assert "name" in (of_two[1][1] or ())
    assert of_three == [new, ("withdrawn", [], True), ("restored", ["description"], True)]
    with history.Bodies(folder) as bodies:
        for moment, there in nights.items():
            assert {each.known.file: bodies.body(each) for each in history.at(folder, moment)} == there


def files(folder: Path) -> dict[str, Path]:
    return {f"{path.parent.name}/{path.name}": path for path in folder.glob("*/*.json") if path.parent.name != "runs"}


def test_a_crawl_without_versions_keeps_none(crawl: Callable[..., Crawl], portal: Callable[..., Portal]) -> None:
    site = portal(datasets=20)
    crawl("ckan", site)
    site.change(edit={site.ids()[0]: {"title": "Another"}})
    done = crawl("ckan", site, settings={"VERSIONS": "False"})
    assert done.report["counts"]["updated"] == 1
    assert not (done.folder / FILE).exists()
    assert said(done.folder, site.ids()[0]) == [("dataset", "new", None, False), ("dataset", "updated", None, True)]


def test_a_crawl_drops_what_is_older_than_it_may_be(crawl: Callable[..., Crawl], portal: Callable[..., Portal]) -> None:
    site = portal(datasets=20)
    one, two = site.ids()[:2]
    crawl("ckan", site)
    site.change(edit={one: {"title": "Another"}})
    done = crawl("ckan", site)
    with sqlite3.connect(done.folder / FILE) as db:
        db.execute("UPDATE bodies SET kept = kept - 3 * 24 * 3600")
    site.change(edit={two: {"title": "Another"}})
    crawl("ckan", site, settings={"VERSIONS_KEEP_DAYS": "4"})
    assert [found[3] for found in said(done.folder, one)] == [True, True]
    crawl("ckan", site, settings={"VERSIONS_KEEP_DAYS": "2"})
    assert said(done.folder, one) == [("dataset", "new", None, False), ("dataset", "updated", ["title"], True)]
    assert [found[3] for found in said(done.folder, two)] == [True, True]


def test_nothing_is_replaced_when_its_version_can_not_be_kept(
    crawl: Callable[..., Crawl], portal: Callable[..., Portal]
) -> None:
    site = portal(datasets=20)
    first = crawl("ckan", site)
    (first.folder / FILE).mkdir()
    refused = crawl("ckan", site)
    assert refused.code == 1
    assert f"{first.folder / FILE} is no regular file: remove it." in refused.log
    (first.folder / FILE).rmdir()
    with sqlite3.connect(first.folder / FILE) as db:
        db.execute("PRAGMA user_version = 9")
    site.change(edit={site.ids()[0]: {"title": "Another"}})
    before = first.documents()
    stopped = crawl("ckan", site)
    assert (stopped.code, stopped.kinds()) == (4, [("write", "disk")])
    assert "a newer version of this program wrote it, in format 9: update this one" in stopped.errors[-1]["error"]
    assert first.documents() == before
    (first.folder / FILE).unlink()
    done = crawl("ckan", site)
    assert (done.code, done.report["counts"]["updated"]) == (0, 1)
