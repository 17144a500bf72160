"""Old lines in compressed files: everything that reads manifest.jsonl and errors.jsonl reads them, too."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
from contextlib import closing
from typing import TYPE_CHECKING, Any

import pytest
from backports import zstd

from crawlers.operate.dashboard.tail import Wanted, newest
from crawlers.safety.locks import LOCK, take
from crawlers.store import lines
from crawlers.store.index.database import connect
from crawlers.store.lines import Budget
from pipelines.archive import _withdrawn
from tests.conftest import ROOT, command

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.conftest import Crawl
    from tests.portal.portal import Portal

DAY = "2026110{}T030000Z"


def line(run: str, number: int, **more: Any) -> bytes:
    time = f"2026-11-0{run[7]}T03:00:00.{number:03}Z"
    return json.dumps({"kind": "dataset", "dataset_id": f"d{number}", "run": run, "time": time} | more).encode() + b"\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Three runs of two lines each."""
    made = tmp_path / "output" / "town"
    made.mkdir(parents=True)
    body = b"".join(line(DAY.format(day), number) for day in (1, 2, 3) for number in (1, 2))
    (made / "manifest.jsonl").write_bytes(body)
    return made


def everything(folder: Path, offset: int = 0) -> bytes:
    return b"".join(text or b"" for _, text in lines.read(folder, "manifest.jsonl", offset))


def test_all_lines_but_those_of_the_last_run_are_moved(folder: Path) -> None:
    before = (folder / "manifest.jsonl").read_bytes()
    moved = lines.compact(folder, "manifest.jsonl")
    assert moved
    assert (moved.part, moved.lines, moved.bytes) == (f"manifest-{DAY.format(2)}.jsonl.zst", 4, 4 * len(before) // 6)
    assert sorted(path.name for path in folder.iterdir()) == [moved.part, "manifest.jsonl"]
    assert zstd.decompress((folder / moved.part).read_bytes()) == before[: moved.bytes]
    assert (folder / "manifest.jsonl").read_bytes() == before[moved.bytes :]
    assert everything(folder) == before
    assert lines.size(folder, "manifest.jsonl") == len(before)
    for offset in (0, 1, 100, moved.bytes, moved.bytes + 5, len(before)):
        assert everything(folder, offset) == before[offset:]
    assert lines.compact(folder, "manifest.jsonl") is None


@pytest.mark.parametrize("block", [1, 50, 10_000])
def test_lines_with_a_text_are_those_that_reading_all_gives(
    folder: Path, block: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In parts and in the file, across blocks; a torn line is one, one that is too long is none."""
    lines.compact(folder, "manifest.jsonl")
    monkeypatch.setattr(lines, "_BLOCK", block)
    monkeypatch.setattr(lines, "LONGEST", 1_000)
    with (folder / "manifest.jsonl").open("ab") as file:
        file.write(b"x" * 3_000 + b'"d1"\n' + line(DAY.format(3), 1) + b'\n"d1" and "d1"\n"d1" torn')
    everywhere = [text for _, text in lines.read(folder, "manifest.jsonl") if text]
    for texts, count in (([b'"d1"'], 6), ([b'"d2"', b'"d1"'], 9), ([b"torn"], 1), ([b"nowhere"], 0), ([], 0)):
        wanted = [text for text in everywhere if any(one in text for one in texts)]
        assert [*lines.containing(folder, "manifest.jsonl", texts)] == wanted
        assert len(wanted) == count


def test_parts_follow_one_another(folder: Path) -> None:
    before = (folder / "manifest.jsonl").read_bytes()
    for day in ("4", "5", "5-2", "5-10"):
        lines.compact(folder, "manifest.jsonl")
        run = DAY.format(day[0]) + day[1:]
        with (folder / "manifest.jsonl").open("ab") as file:
            file.write(line(run, 1))
        before += line(run, 1)
    lines.compact(folder, "manifest.jsonl")
    assert [name[9:26] for name in lines.parts(folder, "manifest.jsonl")] == [
        "20261102T030000Z.", "20261103T030000Z.", "20261104T030000Z.", "20261105T030000Z.", "20261105T030000Z-"
    ]  # fmt: skip
    assert everything(folder) == before


def test_a_run_that_went_on_after_another_has_two_parts(folder: Path) -> None:
    body = b"".join(line(DAY.format(day), number) for number, day in enumerate((1, 2)))
    (folder / "manifest.jsonl").write_bytes(body)
    lines.compact(folder, "manifest.jsonl")
    with (folder / "manifest.jsonl").open("ab") as file:
        file.write(line(DAY.format(1), 7) + line(DAY.format(3), 8))
    lines.compact(folder, "manifest.jsonl")
    names = lines.parts(folder, "manifest.jsonl")
    assert names == [f"manifest-{DAY.format(1)}.jsonl.zst", f"manifest-{DAY.format(1)}.1.jsonl.zst"]
    assert everything(folder) == body + line(DAY.format(1), 7) + line(DAY.format(3), 8)


@pytest.mark.parametrize("days", ["914", "9124", "91919", "312145"])
def test_lines_keep_their_order_whatever_a_clock_said(folder: Path, days: str) -> None:
    """A clock was ahead, or an older run was resumed: what was written last counts."""
    before = (folder / "manifest.jsonl").read_bytes()
    for number, day in enumerate(days):
        with (folder / "manifest.jsonl").open("ab") as file:
            file.write(line(DAY.format(day), number))
        before += line(DAY.format(day), number)
        lines.compact(folder, "manifest.jsonl")
        assert everything(folder) == before
        assert lines.compact(folder, "manifest.jsonl") is None
    assert len(lines.parts(folder, "manifest.jsonl")) == len(days)


def test_a_part_after_the_last_number_of_six_digits_is_one(folder: Path) -> None:
    before = (folder / "manifest.jsonl").read_bytes()
    moved = lines.compact(folder, "manifest.jsonl")
    assert moved
    (folder / moved.part).rename(folder / moved.part.replace(".jsonl", ".999999.jsonl"))
    with (folder / "manifest.jsonl").open("ab") as file:
        file.write(line(DAY.format(1), 1) + line(DAY.format(4), 1))
    lines.compact(folder, "manifest.jsonl")
    assert everything(folder) == before + line(DAY.format(1), 1) + line(DAY.format(4), 1)


def test_a_line_that_was_torn_is_followed_from_its_beginning(folder: Path) -> None:
    """A run that was killed in a line writes it again, perhaps with the same beginning."""
    lines.compact(folder, "manifest.jsonl")
    path, last = folder / "manifest.jsonl", line(DAY.format(3), 3)
    path.write_bytes(path.read_bytes() + last[:60])
    *_, (end, text) = lines.follow(folder, "manifest.jsonl", 0)
    assert text == last[:60]
    path.write_bytes(path.read_bytes() + last[60:] + last)
    assert list(lines.follow(folder, "manifest.jsonl", end)) == [
        (end - 60 + len(last), last),
        (end - 60 + 2 * len(last), last),
    ]
    assert list(lines.follow(folder, "manifest.jsonl", end - 60)) == list(lines.follow(folder, "manifest.jsonl", end))


@pytest.mark.parametrize("step", ["_pack", "_cut"])
def test_a_kill_loses_nothing_and_leaves_nothing_twice(folder: Path, step: str) -> None:
    """Before the part is whole, and between the part and the removal of its lines."""
    before = (folder / "manifest.jsonl").read_bytes()
    program = (
        "import os, signal, sys; from pathlib import Path; from crawlers.store import lines\n"
        f"lines.{step} = lambda *_: os.kill(os.getpid(), signal.SIGKILL)\n"
        "lines.compact(Path(sys.argv[1]), 'manifest.jsonl')"
    )
    ran = subprocess.run([sys.executable, "-c", program, str(folder)], cwd=ROOT, check=False)
    assert ran.returncode == -signal.SIGKILL
    assert (folder / "manifest.jsonl").read_bytes() == before
    end = lines.size(folder, "manifest.jsonl")
    assert (end, everything(folder)) == (len(before), before), "no reader sees a line twice"
    for offset in (1, len(before) - 50, len(before)):
        assert everything(folder, offset) == before[offset:]
    runs = [lines.between(folder, "manifest.jsonl", begin) for begin in (0, len(before) * 2 // 3)]
    assert [b"".join(texts) for texts in runs] == [before, before[len(before) * 2 // 3 :]]
    assert lines.mark(folder, "manifest.jsonl", end)[-50:] == before[-50:]
    lines.finish(folder, "manifest.jsonl")
    assert everything(folder) == before
    lines.compact(folder, "manifest.jsonl")
    assert everything(folder) == before
    assert len(lines.parts(folder, "manifest.jsonl")) == 1


def test_a_part_that_is_damaged_is_an_error_and_no_end(folder: Path) -> None:
    moved = lines.compact(folder, "manifest.jsonl")
    assert moved
    whole = (folder / moved.part).read_bytes()
    for body in (whole[:-5], whole[:40] + b"\0\0\0\0" + whole[44:], b"no zstd"):
        (folder / moved.part).write_bytes(body)
        os.utime(folder / moved.part, ns=(0, hash(body) % 10**18))
        with pytest.raises(OSError, match="damaged"):
            everything(folder)


def test_a_link_is_not_followed(folder: Path, tmp_path: Path) -> None:
    moved = lines.compact(folder, "manifest.jsonl")
    assert moved
    (folder / moved.part).rename(tmp_path / "elsewhere")
    (folder / moved.part).symlink_to(tmp_path / "elsewhere")
    with pytest.raises(OSError, match="no regular file"):
        everything(folder)


# Whole crawls


def compact(output: Path, *words: str) -> subprocess.CompletedProcess[str]:
    return command("compact", *words, "-s", f"OUTPUT_DIR={output}")


def told(output: Path) -> dict[str, Any]:
    """What readers say of the source."""
    with closing(connect(output)) as db:
        rows = {
            name: sorted(map(tuple, db.execute(f"SELECT * FROM {name}")), key=repr)
            for name in ("documents", "changes", "datasets", "runs")
        }
    rows["datasets"] = [row[1:] for row in rows["datasets"]]
    exported = command("export", "--format", "csv", "-s", f"OUTPUT_DIR={output}")
    errors = list(newest(output, ["127.0.0.1"], Wanted(), Budget(10**7)))
    return {**rows, "export": exported.stdout, "errors": errors}


@pytest.fixture
def harvested(portal: Callable[..., Portal], crawl: Callable[..., Crawl], output: Path) -> tuple[Portal, Crawl]:
    """Two runs: two datasets changed, and some exports are missing, between them."""
    town = portal(datasets=6, faults=("gone=resource_show",))
    crawl("ckan", portal=town, level="resource")
    town.change(touch=town.ids()[:2])
    second = crawl("ckan", portal=town, level="resource")
    return town, second


def test_readers_see_no_difference(harvested: tuple[Portal, Crawl], output: Path) -> None:
    _, last = harvested
    assert command("reindex", "-s", f"OUTPUT_DIR={output}").returncode == 0  # a new index lacks when all was last seen
    before = told(output)
    ran = compact(output, last.folder.name)
    assert ran.returncode == 0, ran.stderr
    assert "lines of manifest.jsonl are in manifest-" in ran.stdout
    assert lines.parts(last.folder, "manifest.jsonl")
    assert told(output) == before
    (output / "index.sqlite").unlink()
    assert command("reindex", "-s", f"OUTPUT_DIR={output}").returncode == 0
    assert told(output) == before
    assert compact(output, "--all").stdout == "127.0.0.1: its lines are all of one run\n"


def test_a_crawl_goes_on_after_it(harvested: tuple[Portal, Crawl], crawl: Callable[..., Crawl], output: Path) -> None:
    town, last = harvested
    copy = output.parent / "copy"
    shutil.copytree(output, copy)
    assert compact(output, "--all").returncode == 0
    town.change(touch=town.ids()[:1])
    after = crawl("ckan", portal=town, level="resource")
    assert after.report["counts"]["updated"] == 1
    assert after.report["counts"]["unchanged"] == 5
    now = [json.loads(text or b"{}") for _, text in lines.read(last.folder, "manifest.jsonl")]
    before = [json.loads(text) for text in (copy / "127.0.0.1" / "manifest.jsonl").read_bytes().splitlines()]
    assert now[: len(before)] == before
    assert {one["run"] for one in now[len(before) :]} == {after.report["run"]}


def test_what_can_not_be_compacted_is_a_sentence(harvested: tuple[Portal, Crawl], output: Path) -> None:
    _, last = harvested
    before = (last.folder / "manifest.jsonl").read_bytes()
    for words, says in (
        ([], "name the sources to compact, or all of them by --all"),
        (["127.0.0.2"], "has no source '127.0.0.2'. Did you mean 127.0.0.1?"),
        (["127.0.0.1", "--all"], "name the sources to compact, or all of them by --all"),
    ):
        ran = compact(output, *words)
        assert (ran.returncode, ran.stderr.count("\n")) == (1, 1)
        assert says in ran.stderr
    held = take(last.folder / LOCK)
    assert held is not None
    ran = compact(output, "--all")
    os.close(held)
    assert ran.returncode == 1
    assert "another crawl is writing into" in ran.stderr
    assert "Traceback" not in ran.stderr
    assert (last.folder / "manifest.jsonl").read_bytes() == before


def test_a_run_that_goes_on_has_its_errors(harvested: tuple[Portal, Crawl], output: Path) -> None:
    """Offsets count all lines: those of a ledger that was begun before stay right."""
    _, last = harvested
    begun = last.report["errors_bytes"]
    own = [text for _, text in lines.read(last.folder, "errors.jsonl", begun)]
    assert own
    assert compact(output, "--all").returncode == 0
    assert [text for _, text in lines.read(last.folder, "errors.jsonl", begun)] == own


def test_an_archive_knows_what_was_pruned_before(folder: Path) -> None:
    pruned = line(DAY.format(1), 1, kind="file", sha256="a", status="withdrawn")
    back = line(DAY.format(2), 1, kind="file", sha256="b", status="withdrawn")
    rest = line(DAY.format(3), 1, kind="file", sha256="b", status="restored")
    (folder / "manifest.jsonl").write_bytes(pruned + back + rest)
    for _ in range(2):
        assert _withdrawn(folder) == {"a"}
        lines.compact(folder, "manifest.jsonl")
