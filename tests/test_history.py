"""`scrapy history`, `show`, `diff`, `changes`, `versions prune` and `export --at`, after three nights of a portal."""

from __future__ import annotations

import csv
import io
import json
import os
import re
import shlex
import shutil
import sqlite3
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import duckdb
import jsonpatch
import pytest
from lxml import etree

from crawlers.operate.changes import FORMATS, Changes
from crawlers.safety.locks import LOCK, take
from crawlers.safety.logs import Terminal
from crawlers.store.export.folder import write
from crawlers.store.figures.changes import Kept
from crawlers.store.history import Bodies, of_dataset
from crawlers.store.index import catch_up
from crawlers.store.index.database import connect
from crawlers.store.versions import FILE
from tests import forked, waiting
from tests.conftest import FAST, ROOT, json_lines, scrapy
from tests.portal.portal import Portal
from tests.test_api_aliases import Rivers
from tests.waiting import HANG

DAYS = ("2024-11-20", "2024-11-21", "2024-11-22")
NOTES = "The rivers of the county. " * 8


@dataclass
class Nights:
    """A source that was crawled on three nights.

    Attributes:
        output: OUTPUT_DIR.
        ids: of its datasets. The first one was updated each night, the second renamed on the second one, the third
            withdrawn then and restored on the last one, the fourth updated on both.
        copies: of its folder, after each night.
    """

    output: Path
    ids: list[str] = field(default_factory=list)
    copies: list[Path] = field(default_factory=list)

    def run(self, *words: str) -> subprocess.CompletedProcess[str]:
        """Run a command there, with the sources.toml beside it."""
        listed = f"-sSOURCES_FILE={self.output.parent / 'sources.toml'}"
        return scrapy(words[0], f"-sOUTPUT_DIR={self.output}", listed, *words[1:])

    def lines(self, *words: str) -> list[str]:
        ran = self.run(*words)
        assert (ran.returncode, ran.stderr) == (0, "")
        return ran.stdout.splitlines()

    def refused(self, *words: str) -> str:
        ran = self.run(*words)
        assert (ran.returncode, ran.stdout) == (1, "")
        return ran.stderr.strip()


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Nights:
    """The nights as they were; a test that changes something takes `nights`."""
    place = tmp_path_factory.mktemp("nights")
    nights = Nights(place / "output")
    with Portal(20) as portal:
        nights.ids = one, two, three, four = portal.ids()[:4]
        files = portal.packages()[four]["resources"]
        files[0] |= {"description": "One row per flooded place."}
        north = "Districts in the north were visited by air.\n\nTheir figures are those of the year before."
        changes: tuple[dict[str, Any], ...] = (
            {"edit": {one: {"notes": f"{NOTES}Old."}}},
            {
                "edit": {
                    one: {"title": "=Rivers\x1b[2J", "notes": f"{NOTES}New."},
                    three: {"private": True},
                    four: {"title": "Yemen: flood extent (2019 to 2026)", "caveats": north},
                },
                "rename": {two: "another-name"},
            },
            {
                "edit": {
                    one: {"title": "Streams"},
                    three: {"private": False},
                    four: {"data_update_frequency": "30", "resources": files},
                }
            },
        )
        for day, change in zip(DAYS, changes, strict=True):
            portal.change(**change)
            settings = (f"-s{name}={value}" for name, value in (FAST | {"OUTPUT_DIR": str(nights.output)}).items())
            ran = scrapy("crawl", "hdx", "-a", f"portal={portal.url}", *settings)
            assert ran.returncode == 0, ran.stderr
            _move(nights.output / "hdx" / "manifest.jsonl", day)
            nights.copies.append(place / day)
            shutil.copytree(nights.output / "hdx", nights.copies[-1])
    return nights


def _move(manifest: Path, day: str) -> None:
    """Let the last run's lines be of a day, at three."""
    run = json_lines(manifest)[-1]["run"].encode()
    lines = manifest.read_bytes().splitlines(keepends=True)
    then = b'"time":"%bT03' % day.encode()
    manifest.write_bytes(b"".join(re.sub(rb'"time":"[^T]*T..', then, one) if run in one else one for one in lines))


@pytest.fixture
def nights(whole: Nights, tmp_path: Path) -> Nights:
    shutil.copytree(whole.output, tmp_path / "output")
    return Nights(tmp_path / "output", whole.ids, whole.copies)


def test_the_history_of_a_dataset(whole: Nights) -> None:
    one, two, three, _ = whole.ids
    first, heading, *rows = whole.lines("history", "hdx", one)
    own, exports = rows[:3], rows[3:]
    assert first == f"hdx/{one}: Streams"
    assert heading.split() == ["time", "run", "status", "size", "changed"]
    assert [row.split()[0][:13] for row in own] == [f"{day}T03" for day in DAYS]
    assert [row.split()[2] for row in own] == ["new", "updated", "updated"]
    assert [re.split(r" {2,}", row)[4:] for row in own] == [[], ["title, description"], ["title"]]
    assert exports[0] == ""
    assert exports[1].startswith("resource_metadata ")
    assert sum(row.startswith("resource_metadata") for row in exports) == len({v for v in exports if v[:2] == "re"})
    assert "name" in " ".join(whole.lines("history", "hdx", two))
    gone = whole.lines("history", "hdx", three[:20])
    assert [row.split()[2] for row in gone[2:5]] == ["new", "withdrawn", "restored"]
    assert gone[3].endswith("no longer public")


def test_a_dataset_as_it_is_and_as_it_was(whole: Nights) -> None:
    one, *_ = whole.ids
    now = whole.lines("show", "hdx", one)
    assert now[0].startswith(f"hdx/{one}: updated {DAYS[2]}T03")
    assert "Title: Streams" in now
    assert any(line.startswith("Resource ") for line in now)
    then = whole.lines("show", "hdx", one, "--at", DAYS[1])
    assert "Title: =Rivers[2J" in then
    assert next(line for line in then if line.startswith("Description: ")).endswith("New.")
    time = json_lines(whole.output / "hdx" / "manifest.jsonl")[0]["time"]
    for at, copy in ((DAYS[0], 0), (f"{DAYS[1]}T05:00+01:00", 1), (DAYS[2], 2), ("2030-01-01", 2)):
        raw = whole.run("show", "hdx", one, "--at", at, "--raw").stdout.encode()
        (path,) = (whole.copies[copy] / "datasets").glob(f"{one}*")
        assert raw == path.read_bytes(), at
    refused = whole.refused("show", "hdx", one, "--at", "2024-11-19")
    assert refused.startswith(f"--at: hdx/{one} had no version then; its first is of 2024-11-20T03")
    assert "has no offset" in whole.refused("show", "hdx", one, "--at", time.rstrip("Z"))


def test_a_date_is_one_of_the_source(nights: Nights) -> None:
    """At three in UTC, it is the evening before in New York."""
    (nights.output.parent / "sources.toml").write_text(
        '[hdx]\nspider = "hdx"\nschedule = "daily"\ntimezone = "America/New_York"\n'
    )
    one = nights.ids[0]
    assert "Title: Streams" in nights.lines("show", "hdx", one, "--at", "2024-11-21")
    assert nights.lines("diff", "hdx", one, "--from", "2024-11-21")[0].startswith(f"--- {DAYS[1]}T03")
    changed = nights.lines("changes", "hdx", "--since", "2024-11-21", "--status", "updated")
    assert [line[:10] for line in changed[:-1]] == [DAYS[2]] * 2


def test_the_difference_of_two_versions(whole: Nights) -> None:
    one = whole.ids[0]
    last = whole.lines("diff", "hdx", one)
    assert last[0].startswith(f"--- {DAYS[1]}T03")
    assert last[1].startswith(f"+++ {DAYS[2]}T03")
    assert last[2:6] == ["1 change of fields", "  title", "    - =Rivers[2J", "    + Streams"]
    assert last[6].endswith("of the record itself")
    assert "  /title" in last
    all_of_it = whole.lines("diff", "hdx", one, "--from", DAYS[1], "--to", DAYS[1])
    assert all_of_it[2] == "2 changes of fields"
    at = all_of_it.index("  description")
    assert all_of_it[at + 1 : at + 6] == [
        "    @ 6 lines that are the same",
        "      The rivers of the county.",
        "      The rivers of the county.",
        "    - Old.",
        "    + New.",
    ]
    same = whole.lines("diff", "hdx", one, "--from", "2024-11-22T04:00Z")
    assert same[2:] == ["They are the same."]
    assert whole.lines("diff", "hdx", one, "--from", "2024-11-01", "--to", DAYS[0])[0] == "--- no version"


def test_the_patch_of_two_versions_is_applied_by_jsonpatch(whole: Nights) -> None:
    one = whole.ids[0]
    records = [json.loads(next((copy / "datasets").glob(f"{one}*")).read_bytes()) for copy in whole.copies]
    for words, before, after in (
        ((), 1, 2),
        (("--from", DAYS[1], "--to", DAYS[1]), 0, 1),
        (("--from", f"{DAYS[0]}T12:00Z"), 0, 2),
    ):
        ran = whole.run("diff", "hdx", one, "--json", *words)
        assert jsonpatch.apply_patch(records[before], json.loads(ran.stdout)) == records[after]


def test_what_can_not_be_compared_is_told_in_a_sentence(whole: Nights) -> None:
    other = json_lines(whole.output / "hdx" / "manifest.jsonl")
    alone = next(line["dataset_id"] for line in other if line["dataset_id"] not in whole.ids)
    assert "has no other version before 2024-11-20T03" in whole.refused("diff", "hdx", alone)
    assert "has no other version before 2024-11-22T03" in whole.refused("diff", "hdx", whole.ids[2])  # it came back
    refused = whole.refused("diff", "hdx", whole.ids[0], "--from", "2024-11-22T12:00Z", "--to", DAYS[0])
    assert (
        refused == "--from 2024-11-22T12:00Z is after --to 2024-11-20: what is compared is older than what it became."
    )
    assert "--from 2024-11-22 is after" in whole.refused(
        "diff", "hdx", whole.ids[0], "--from", DAYS[2], "--to", DAYS[1]
    )
    assert "has no source 'hxd'. Did you mean hdx?" in whole.refused("history", "hxd", alone)
    assert "has no dataset 'x y'" in whole.refused("history", "hdx", "x y")
    shared = next(one for one in "0123456789abcdef" if sum(line["dataset_id"][0] == one for line in other) > 9)
    assert "is not one dataset of hdx but" in whole.refused("show", "hdx", shared)
    assert whole.refused("show", "hdx").startswith("scrapy show takes: SOURCE DATASET")


def test_versions_are_in_the_order_of_writing_whatever_the_clock_said(nights: Nights) -> None:
    _move(nights.output / "hdx" / "manifest.jsonl", "2020-01-01")
    one = nights.ids[0]
    said = nights.lines("diff", "hdx", one)
    assert [said[0][:18], said[1][:18]] == ["--- 2024-11-21T03:", "+++ 2020-01-01T03:"]
    assert "    + Streams" in said
    assert "Title: Streams" in nights.lines("show", "hdx", one)


def test_a_name_is_that_of_the_dataset_that_has_it_now(nights: Nights) -> None:
    """Of a withdrawn one and of one that is called otherwise now, a name is told only if no other has it."""
    one, two, three, four = nights.ids
    manifest = nights.output / "hdx" / "manifest.jsonl"
    last = {line["dataset_id"]: line for line in json_lines(manifest) if line["kind"] == "dataset"}
    first = next(line for line in json_lines(manifest) if line["dataset_id"] == two)["dataset_name"]

    def append(dataset_id: str, **more: str) -> None:
        with manifest.open("a") as file:
            file.write(json.dumps(last[dataset_id] | more) + "\n")

    def found(given: str) -> str:
        return of_dataset(nights.output / "hdx", given)[-1].key[1]

    assert found(first) == two  # its former name, which no other has
    append(four, dataset_name=first)
    assert found(first) == four
    assert found(first[:-1]) == four
    append(four, status="withdrawn", reason="gone")
    assert found(last[one]["dataset_name"]) == one
    append(one, dataset_name=first)
    assert found(first) == one
    append(three, dataset_name=first)
    refused = nights.refused("history", "hdx", first)
    assert refused.startswith(f"{first!r} is not one dataset of hdx but 2: ")
    assert {*re.split(r"[ ,.]+", refused)} >= {one, three}
    for dataset_id in (one, three):
        append(dataset_id, dataset_name=first, status="withdrawn", reason="gone")
    assert " is not one dataset of hdx but " in nights.refused("history", "hdx", first)
    assert found(two) == two


def test_an_archive_has_no_versions_of_datasets(tmp_path: Path) -> None:
    nights = Nights(tmp_path / "output")
    folder = nights.output / "archive-of-towns"
    folder.mkdir(parents=True)
    for name in ("captures.jsonl", "manifest.jsonl"):
        (folder / name).touch()
    for command in ("history", "show", "diff"):
        assert nights.refused(command, "archive-of-towns", "d0") == (
            "archive-of-towns is an archive of files, whose versions `scrapy archive get NAME --at DATE` takes out: "
            "the datasets are those of the source that it is of."
        )


def test_a_version_from_before_says_that_its_bytes_are_not_kept(nights: Nights) -> None:
    one = nights.ids[0]
    (nights.output / "hdx" / FILE).unlink()
    rows = nights.lines("history", "hdx", one)[2:5]
    assert ["bytes not kept" in row for row in rows] == [True, True, False]
    for words in (("show", "hdx", one, "--at", DAYS[0]), ("diff", "hdx", one)):
        assert ": bytes not kept. They are there if VERSIONS was on" in nights.refused(*words)
    assert "Title: Streams" in nights.lines("show", "hdx", one)


def test_what_changed_since_a_moment(whole: Nights) -> None:
    one, two, three, _ = whole.ids
    *rows, total = whole.lines("changes", "--since", DAYS[1])
    assert total == "7 changes: 5 updated, 1 withdrawn, 1 restored"
    assert [row[:13] for row in rows] == [f"{day}T03" for day in (*[DAYS[2]] * 3, *[DAYS[1]] * 4)]
    assert sum(f"  hdx  updated    {one}  Streams  title" in row for row in rows) == 2
    assert any(row.endswith("title, description") for row in rows)
    assert not any("\x1b" in row for row in rows)
    found = json.loads("\n".join(whole.lines("changes", "hdx", "--since", DAYS[1], "--format", "json")))
    assert [row["status"] for row in found if row["dataset_id"] == three] == ["restored", "withdrawn"]
    assert {row["source"] for row in found} == {"hdx"}
    assert next(row for row in found if row["dataset_id"] == two)["name"] == "another-name"
    only = json.loads("\n".join(whole.lines("changes", "--since", DAYS[0], "--status", "new", "--format", "json")))
    assert len(only) == 20
    several = whole.lines("changes", "--since", DAYS[1], "--status", "restored, withdrawn")
    assert [row.split("  ")[2].strip() for row in several[:-1]] == ["restored", "withdrawn"]
    twice = whole.lines("changes", "--since", DAYS[1], "--status", "restored,restored")
    assert twice[1:] == ["1 change: 1 restored"]
    assert whole.lines("changes", "--since", "2024-11-23") == ["No dataset changed."]
    assert whole.lines("changes", "--since", "2024-11-23", "--format", "json") == ["[]"]
    assert "'gone' is not a status" in whole.refused("changes", "--status", "gone")
    assert "'soon' is neither a date nor a time" in whole.refused("changes", "--since", "soon")


def test_changes_as_csv_and_as_markdown_run_nothing(whole: Nights) -> None:
    words = ("changes", "--since", DAYS[1], "--format")
    table = [*csv.DictReader(io.StringIO("\n".join(whole.lines(*words, "csv"))))]
    assert len(table) == 7
    changed = next(row for row in table if row["dataset_id"] == whole.ids[0] and row["time"].startswith(DAYS[1]))
    assert changed["fields"] == "title | description"
    markdown = whole.lines(*words, "markdown")
    assert markdown[0] == "| Time | Source | Status | Dataset | Changed |"
    assert len(markdown) == 2 + 7 + 2
    assert any("| updated | Streams | title, description |" in row for row in markdown)
    assert markdown[-1].startswith("7 changes: 5 updated")


def test_csv_on_a_terminal_shows_no_end_of_line(whole: Nights) -> None:
    catch_up(whole.output, print)
    shown = io.StringIO()
    with connect(whole.output) as db, Kept(whole.output) as kept:
        FORMATS["csv"](Changes(db, kept, {"hdx": DAYS[1]}, ["restored"]), Terminal(shown))  # type: ignore[arg-type]
    db.close()
    heading, row, *rest = shown.getvalue().split("\n")
    assert (heading.split(",")[0], row.split(",")[1:3], rest) == ("time", ["hdx", whole.ids[2]], [""])
    assert "\\" not in shown.getvalue()


def test_few_files_are_open_whatever_the_number_of_sources(whole: Nights, tmp_path: Path) -> None:
    for number in range(40):
        (tmp_path / f"s{number}").mkdir()
        for name in ("manifest.jsonl", FILE):
            shutil.copy(whole.copies[2] / name, tmp_path / f"s{number}" / name)
    catch_up(tmp_path, print)
    since = dict.fromkeys((f"s{number}" for number in range(40)), DAYS[1])
    descriptors = Path("/proc/self/fd")
    with connect(tmp_path) as db, Kept(tmp_path) as kept:
        before = len([*descriptors.iterdir()])
        found = Changes(db, kept, since, ["new", "updated", "withdrawn"])
        rows = [(row["fields"], len([*descriptors.iterdir()])) for row in found]
    db.close()
    assert len(rows) == 40 * 6
    assert sum(bool(fields) for fields, _ in rows) == 40 * 5
    assert max(count for _, count in rows) - before <= 30


def test_a_wrong_time_zone_is_told_and_stops_no_other_source(nights: Nights) -> None:
    shutil.copytree(nights.output / "hdx", nights.output / "other")
    table = '[{}]\nspider = "hdx"\nschedule = "daily"\ntimezone = "{}"\n'
    listed = table.format("hdx", "Mars/North") + table.format("other", "America/New_York")
    (nights.output.parent / "sources.toml").write_text(listed)
    for words in ((), ("--since", DAYS[1])):
        ran = nights.run("changes", *words)
        assert ran.returncode == 3
        (told,) = ran.stderr.splitlines()
        assert told.startswith("[hdx]: timezone: 'Mars/North' is not a time zone.")
        assert told.endswith(" Until that is right, its days are those of UTC.")
    counts = [sum(f"  {name}  " in line for line in ran.stdout.splitlines()) for name in ("hdx", "other")]
    assert counts == [7, 3]  # the second night began before midnight there
    one = nights.ids[0]
    assert len(nights.lines("changes", "--since", "2024-11-21T00:00Z")) == 15
    assert "Title: =Rivers[2J" in nights.lines("show", "hdx", one, "--at", f"{DAYS[1]}T05:00+01:00")
    assert "is not a time zone" in nights.refused("show", "hdx", one, "--at", DAYS[1])
    (nights.output.parent / "sources.toml").write_text("[hdx\n")
    assert "is not TOML" in nights.refused("changes")
    assert len(nights.lines("changes", "--since", "2024-11-21T00:00Z")) == 15


def test_changes_as_a_feed(whole: Nights) -> None:
    words = ("changes", "hdx", "--since", DAYS[1], "--format", "atom")
    ran = whole.run(*words, "-sDASHBOARD_URL=https://town.example/")
    feed = etree.fromstring(ran.stdout.encode())
    assert etree.RelaxNG(file=str(ROOT / "tests" / "atom.rng")).validate(feed)
    space = {"a": "http://www.w3.org/2005/Atom"}
    entries = feed.findall("a:entry", space)
    assert len(entries) == 7
    assert entries[0].findtext("a:updated", None, space) == feed.findtext("a:updated", None, space)
    links = [str(entry.find("a:link", space).get("href")) for entry in entries]
    assert all(re.match(r"https://town\.example/sources/hdx/versions/[\w-]+\?to=2024-11-2", link) for link in links)
    some = etree.fromstring(whole.run(*words, "--status", "withdrawn").stdout.encode())
    assert some.findtext("a:title", None, space) == "Changes of hdx that are withdrawn"
    assert len(some.findall("a:entry", space)) == 1
    assert feed.findtext("a:id", None, space) != some.findtext("a:id", None, space)


def test_the_default_is_since_yesterday(nights: Nights) -> None:
    assert nights.lines("changes") == ["No dataset changed."]
    _move(nights.output / "hdx" / "manifest.jsonl", "2999-01-01")
    assert nights.lines("changes")[-1] == "3 changes: 2 updated, 1 restored"


def test_a_source_that_can_not_be_read_ends_no_command_for_the_others(nights: Nights) -> None:
    shutil.copytree(nights.output / "hdx", nights.output / "other")
    (nights.output / "other" / FILE).write_bytes(b"no database" * 1_000)
    ran = nights.run("changes", "--since", DAYS[1])
    assert ran.returncode == 3
    assert ran.stdout.splitlines()[-1] == "14 changes: 10 updated, 2 withdrawn, 2 restored"
    assert ran.stderr.endswith("other/versions.sqlite can't be read: which fields changed is left out.\n")
    assert "other/versions.sqlite can't be read (" in nights.refused("history", "other", nights.ids[0])


# The folder as it was


def content(folder: Path) -> dict[str, bytes]:
    """The documents and the manifest."""
    kinds = ("datasets", "dataset_metadata", "resource_metadata")
    paths = [path for kind in kinds for path in (folder / kind).glob("*")] + [folder / "manifest.jsonl"]
    return {str(path.relative_to(folder)): path.read_bytes() for path in paths}


@pytest.mark.parametrize("night", range(3))
def test_the_folder_as_it_was_is_the_copy_of_that_night(whole: Nights, tmp_path: Path, night: int) -> None:
    into = tmp_path / "then" / "hdx"
    into.mkdir(parents=True)
    said = whole.lines("export", "hdx", "--at", DAYS[night], "--format", "folder", "-o", str(into))
    there = content(whole.copies[night])
    assert said == [f"{into}: {len(there) - 1} documents of hdx at {DAYS[night]}T23:59:59Z."]
    assert content(into) == there
    assert [path.name for path in into.parent.iterdir()] == ["hdx"]
    then = Nights(tmp_path / "then", whole.ids)
    assert then.lines("verify")[-1].split()[4:7] == ["0", "0", "0"]
    title = "Title: " + ("Streams" if night == 2 else "=Rivers[2J" if night else "")
    assert any(line.startswith(title) for line in then.lines("show", "hdx", whole.ids[0]))


def test_a_folder_of_now_has_the_reports_and_a_compacted_one_its_lines(nights: Nights, tmp_path: Path) -> None:
    assert nights.run("compact", "hdx").returncode == 0
    into = tmp_path / "now"
    nights.lines("export", "hdx", "--at", "2999-01-01", "--format", "folder", "-o", str(into))
    assert content(into) == content(nights.copies[2])
    assert len([*(into / "runs").glob("*.json")]) == 3


def test_a_dataset_with_another_id_has_both_documents(nights: Nights, tmp_path: Path) -> None:
    (nights.output.parent / "sources.toml").write_text('[hdx]\nspider = "hdx"\n')
    (tmp_path / "ids.csv").write_text(f"local,remote\n{nights.ids[0]},another-id\n")
    ran = nights.run("sources", "attach", "hdx", str(tmp_path / "ids.csv"))
    assert ran.returncode == 0, ran.stderr
    into = tmp_path / "now"
    nights.lines("export", "hdx", "--at", "2999-01-01", "--format", "folder", "-o", str(into))
    assert content(into) == content(nights.output / "hdx")
    assert content(into).keys() > content(nights.copies[2]).keys()
    assert Nights(tmp_path / "output").lines("verify", "hdx")[1].split()[-4:] == ["0"] * 4
    shutil.copytree(into, tmp_path / "then" / "hdx")
    assert Nights(tmp_path / "then").lines("verify", "hdx")[1].split()[-4:] == ["0"] * 4


def test_a_dataset_that_a_crawl_renamed_has_both_documents(
    tmp_path: Path, output: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CRAWLERS_HOME", str(tmp_path))
    rivers = Rivers(tmp_path, output)
    with rivers.site:
        rivers.crawl()
        rivers.rename(4, "elbe")
        rivers.crawl()
    into = tmp_path / "then" / "rivers"
    now = Nights(output)
    assert now.lines("verify")[1].split()[0] == "rivers"
    now.lines("export", "rivers", "--at", "2999-01-01", "--format", "folder", "-o", str(into))
    assert content(into) == content(output / "rivers")
    assert {"datasets/d04.json", "datasets/elbe.json"} < content(into).keys()
    then = Nights(tmp_path / "then")
    assert then.lines("verify")[1].split()[-4:] == ["0"] * 4
    assert then.lines("show", "rivers", "d04")[0].startswith("rivers/d04: withdrawn (renamed) ")


def test_a_folder_whose_bytes_are_not_kept_is_refused_or_partial(nights: Nights, tmp_path: Path) -> None:
    (nights.output / "hdx" / FILE).unlink()
    words = ("export", "hdx", "--at", DAYS[0], "--format", "folder", "-o", str(tmp_path / "then"))
    refused = nights.refused(*words)
    assert re.match(r"hdx, \d documents of 2024-11-20T23:59:59.999Z: bytes not kept: ", refused)
    assert refused.endswith(". --partial writes the others.")
    assert not [path for path in tmp_path.iterdir() if "then" in path.name]
    partly = nights.run(*words, "--partial")
    assert partly.returncode == 3
    lacking = [line.split(":")[0].removeprefix("hdx/") for line in partly.stderr.splitlines()]
    assert str(len(lacking)) == refused.split()[1]
    assert content(tmp_path / "then").keys() == content(nights.copies[0]).keys() - {*lacking}


def test_a_folder_is_written_over_nothing(whole: Nights, tmp_path: Path) -> None:
    words = ("export", "hdx", "--at", DAYS[0], "--format", "folder", "-o")
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "mine").write_text("mine")
    (tmp_path / "file").write_text("mine")
    (tmp_path / "link").symlink_to(tmp_path / "nowhere")
    for name in ("full", "file", "link"):
        assert whole.refused(*words, str(tmp_path / name)) == (
            f"{tmp_path / name} is not an empty folder: name another with -o FOLDER."
        )
    (tmp_path / ".then.exporting").mkdir()  # of one that was killed
    (tmp_path / ".then.exporting" / "half").write_text("half")
    whole.lines(*words, str(tmp_path / "then"))
    assert content(tmp_path / "then") == content(whole.copies[0])
    assert not (tmp_path / ".then.exporting").exists()
    assert "had no documents at 2024-11-01" in whole.refused(
        "export", "hdx", "--at", "2024-11-01", "--format", "folder", "-o", str(tmp_path / "none")
    )
    for wrong in (
        ("export", "hdx", "--format", "folder", "-o", "x"),
        ("export", "hdx", "--at", DAYS[0], "--format", "csv"),
        ("export", "--at", DAYS[0], "--format", "folder", "-o", "x"),
        ("export", "hdx", "--at", DAYS[0], "--format", "folder"),
    ):
        assert whole.refused(*wrong).startswith("A folder as it was is: SOURCE --at TIME")


@pytest.mark.parametrize("documents", [0, 1, 40, 79])
def test_a_killed_export_leaves_no_folder(
    whole: Nights, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, documents: int
) -> None:
    """Killed after so many documents, and before the lines."""
    folder, until = whole.output / "hdx", f"{DAYS[1]}T23:59:59.999Z"
    body, read = Bodies.body, iter(range(100))
    monkeypatch.setattr(
        Bodies, "body", lambda self, version: body(self, version) if next(read) < documents else os._exit(9)
    )
    if not (child := os.fork()):
        write(folder, until, tmp_path / "then")
        os._exit(0)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 9
    monkeypatch.undo()
    assert {path.name for path in tmp_path.iterdir()} == {".then.exporting", ".then.lock"}
    assert write(folder, until, tmp_path / "then").lacking == []
    assert content(tmp_path / "then") == content(whole.copies[1])
    assert [path.name for path in tmp_path.iterdir()] == ["then"]


def test_of_two_exports_at_once_one_is_whole_and_the_other_is_refused(
    whole: Nights, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The second one comes when the first has written half."""
    folder, until = whole.output / "hdx", f"{DAYS[1]}T23:59:59.999Z"
    words = ("export", "hdx", "--at", DAYS[1], "--format", "folder", "-o", str(tmp_path / "then"))
    given = (f"-sOUTPUT_DIR={whole.output}", f"-sSOURCES_FILE={tmp_path / 'none'}")
    body, read = Bodies.body, iter(range(100))
    others: list[subprocess.Popen[str]] = []

    def interrupted(self: Bodies, version: Any) -> bytes | None:
        if next(read) == 40:
            command = [sys.executable, "-m", "scrapy", words[0], *given, *words[1:]]
            pipes = dict.fromkeys(("stdout", "stderr"), subprocess.PIPE)
            others.append(forked.Popen(command, cwd=ROOT, text=True, **pipes))
            waiting.until(lambda: is_waiting(others[0].pid), unless=lambda: others[0].poll() is not None)
        return body(self, version)

    monkeypatch.setattr(Bodies, "body", interrupted)
    assert write(folder, until, tmp_path / "then").lacking == []
    said, told = others[0].communicate(timeout=HANG)
    assert (others[0].returncode, said) == (1, "")
    assert told.strip() == f"{tmp_path / 'then'} is not an empty folder: name another with -o FOLDER."
    assert content(tmp_path / "then") == content(whole.copies[1])
    assert [path.name for path in tmp_path.iterdir()] == ["then"]


def is_waiting(pid: int) -> bool:
    """Return whether a process waits for a lock."""
    return bool(re.search(rf"-> FLOCK .* {pid} ", Path("/proc/locks").read_text()))


# Pruning


def test_versions_are_pruned_by_their_age(nights: Nights) -> None:
    folder = nights.output / "hdx"
    with sqlite3.connect(folder / FILE) as db:
        total = db.execute("SELECT count(*) FROM bodies").fetchone()[0]
        db.execute("UPDATE bodies SET kept = kept - 10 * 24 * 3600 WHERE id <= 2")
    said = nights.lines("versions", "prune", "hdx", "--days", "5", "--dry-run")
    assert re.fullmatch(r"hdx: 2 versions would be dropped, [\d.]+ k?B", said[0])
    assert nights.lines("versions", "prune", "--all", "-sVERSIONS_KEEP_DAYS=5") == [
        said[0].replace("would be dropped", "dropped")
    ]
    with sqlite3.connect(folder / FILE) as db:
        assert db.execute("SELECT count(body) FROM bodies").fetchone()[0] == total - 2
    assert nights.lines("versions", "prune", "hdx", "--days", "5") == ["hdx: 0 versions dropped, 0 B"]
    assert "name the days by --days N" in nights.refused("versions", "prune", "--all")
    assert "is not a whole number" in nights.refused("versions", "prune", "--all", "--days", "0")
    assert "name the sources" in nights.refused("versions", "prune", "--days", "5")
    assert "scrapy versions takes: prune" in nights.refused("versions")
    held = take(folder / LOCK)
    assert held is not None
    with open(held):  # noqa: PTH123 -- a descriptor
        busy = nights.refused("versions", "prune", "hdx", "--days", "5")
    assert "another crawl is writing into" in busy


def test_a_damaged_file_is_not_pruned(nights: Nights) -> None:
    file = nights.output / "hdx" / FILE
    shutil.copytree(nights.output / "hdx", nights.output / "other")
    for body in (b"no database" * 1_000, file.read_bytes()[: file.stat().st_size // 2]):
        for name in (f"{FILE}-wal", f"{FILE}-shm"):
            (file.parent / name).unlink(missing_ok=True)
        file.write_bytes(body)
        for more in ((), ("--dry-run",)):
            ran = nights.run("versions", "prune", "--all", "--days", "5", *more)
            assert ran.returncode == 1
            assert re.match(r"hdx: .*versions\.sqlite (can't be read|is damaged) \(", ran.stderr)
            assert ran.stdout.startswith("other: 0 versions ")
        assert file.read_bytes() == body


def test_what_versions_take_is_said(nights: Nights) -> None:
    with sqlite3.connect(nights.output / "hdx" / FILE) as db:
        count = db.execute("SELECT count(body) FROM bodies").fetchone()[0]
    (nights.output.parent / "sources.toml").write_text('[hdx]\nspider = "hdx"\n')
    shown = next(line for line in nights.lines("sources", "show", "hdx") if line.startswith("  versions"))
    assert re.fullmatch(rf"  versions   {count} former, [\d.]+ kB; [\d.]+ k?B a week", shown)
    assert "Former versions take " in "\n".join(nights.lines("report", "--format", "markdown"))
    nights.lines("report", "-o", str(nights.output.parent / "report.html"))
    page = (nights.output.parent / "report.html").read_text()
    assert re.search(r'data-label="Versions">\s*[\d.]+ kB <span class="sub">[\d.]+ k?B a week</span>', page)
    (nights.output / "hdx" / FILE).write_bytes(b"no database" * 1_000)
    ran = nights.run("sources", "show", "hdx")
    assert "  versions   -" in ran.stdout.splitlines()
    assert "versions.sqlite can't be read" in ran.stderr
    assert nights.run("report", "-o", str(nights.output.parent / "report.html")).returncode == 0


# The page that shows all this

PAGE = (ROOT / "docs" / "versions.md").read_text()
SHOWN = re.findall(r"^```text\n\$ (.*?)\n(.*?)```$", PAGE, re.MULTILINE | re.DOTALL)


def masked(text: str) -> str:
    """A text without what differs from one crawl to another: minutes, and names of runs."""
    text = re.sub(r"T03:\d\d:\d\d\.\d{3}Z", "T03:..Z", text.replace("2026-11", "2024-11"))
    return re.sub(r" {2,}", "  ", re.sub(r"\d{8}T\d{6}Z(-\d+)?", "RUN", text))


@pytest.mark.parametrize(("line", "expected"), SHOWN, ids=[line[:40] for line, _ in SHOWN])
def test_the_page_shows_what_is_there(
    whole: Nights, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, line: str, expected: str
) -> None:
    (tmp_path / "output").symlink_to(whole.output)
    monkeypatch.chdir(tmp_path)
    program, *words = shlex.split(line.replace("2026-11", "2024-11").replace("then/", f"{tmp_path}/then/"))
    asked = {"sqlite3": asked_sqlite, "datasette": asked_datasette, "duckdb": asked_duckdb}
    found = asked[program](*words) if program in asked else whole.run(*words).stdout
    told = masked(found.replace(f"{tmp_path}/", "")).splitlines()
    for part in masked(expected).split("...\n"):
        lines = part.splitlines()
        begin = told.index(lines[0]) if lines else 0
        assert told[begin : begin + len(lines)] == lines
        told = told[begin + len(lines) :]
    assert expected.count("...") or not told


def asked_sqlite(*words: str) -> str:
    with sqlite3.connect(words[0]) as db:
        return "".join(f"{'|'.join(map(str, row))}\n" for row in db.execute(words[1]))


def asked_datasette(*words: str) -> str:
    command = [sys.executable, "-m", "datasette", *words]
    return subprocess.run(command, capture_output=True, text=True, timeout=HANG, check=True).stdout


def asked_duckdb(*words: str) -> str:
    with duckdb.connect(config={"autoinstall_known_extensions": "false"}) as db:
        *before, query = words[-1].split("; ")
        try:
            for each in before:
                db.execute(each)
        except duckdb.Error as error:
            pytest.skip(f"DuckDB has no extension for SQLite here: {str(error)[:80]}")
        found = db.execute(query)
        rows = [[name for name, *_ in found.description], *found.fetchall()]
    return "".join(f"{','.join(map(str, row))}\n" for row in rows)


def test_the_page_describes_the_columns_of_the_views(whole: Nights) -> None:
    with sqlite3.connect(whole.output / "hdx" / FILE) as db:
        for view in ("versions", "changed_fields"):
            columns = [row[1] for row in db.execute(f"PRAGMA table_info({view})")]
            assert columns
            assert [name for name in columns if f"`{name}`" not in PAGE.partition("## Ask with SQL")[2]] == []
