"""A source that can't be read: it is named, the exit code says so, and every command goes on with the others."""

from __future__ import annotations

import json
import sqlite3
from types import SimpleNamespace

import pytest

from crawlers.exceptions import DamagedSourceError
from crawlers.operate import dashboard
from crawlers.operate.commands.search import Command
from crawlers.operate.dashboard import addresses
from crawlers.store import location
from crawlers.store.index import Index, catch_up
from tests.buckets import Folder, contents, mirror
from tests.captured import look, written
from tests.conftest import command, options, scrapy
from tests.site import Site, listing

RUN = "20261120T030000Z"


@pytest.fixture
def output(tmp_path):
    """Three sources and an archive; the second source is to be damaged."""
    folder = tmp_path / "output"
    for source in "abc":
        made = Folder(folder / source)
        body = json.dumps({"id": source, "title": f"Rivers of {source}", "resources": []}).encode()
        (made.path / "datasets").mkdir(parents=True)
        (made.path / "datasets" / f"{source}.json").write_bytes(body)
        made.line(source, f"datasets/{source}.json", body, RUN)
        made.append("errors.jsonl", {"time": "2026-11-20T03:00:00Z", "run": RUN, "stage": "list", "kind": "http"})
        made.report(RUN)
    written(folder, "a", [look("a", "a", "r", "https://a.example.org/x.csv")])
    return folder


def no_manifest(folder):
    (folder / "manifest.jsonl").unlink()
    (folder / "manifest.jsonl").mkdir()


def no_part(folder):
    for file in ("manifest", "errors"):
        (folder / f"{file}-20261119T000000Z.jsonl.zst").write_bytes(b"no frame")


def no_runs(folder):
    (folder / "runs" / f"{RUN}.json").unlink()
    (folder / "runs").rmdir()
    (folder / "runs").write_text("no folder")


def no_captures(folder):
    (folder / "captures.jsonl").mkdir()


def no_folder(folder):
    folder.rename(folder.with_name(".gone"))
    folder.write_text("no folder")


def a_link(folder):
    folder.rename(folder.with_name(".gone"))
    folder.symlink_to("/etc/passwd")


def run(output, *words):
    given = {"OUTPUT_DIR": output, "SOURCES_FILE": output / "none.toml", "ARCHIVE_STORE": output.parent / "archive"}
    ran = command(*words, *(f"-s{name}={value}" for name, value in given.items()))
    assert "Traceback" not in ran.stderr
    return ran


@pytest.mark.parametrize(
    ("damage", "words", "code", "shown"),
    [
        (no_manifest, ["search", "rivers"], 3, ["Rivers of a", "Rivers of c"]),
        (no_part, ["search", "rivers"], 3, ["Rivers of a", "Rivers of c"]),
        (no_captures, ["search", "rivers"], 3, ["Rivers of a", "Rivers of c"]),
        (no_part, ["report", "--format", "markdown"], 3, ["a", "c"]),
        (no_manifest, ["export", "--format", "csv"], 3, ["Rivers of a", "Rivers of c"]),
        (no_part, ["reindex"], 3, ["a: 1 datasets", "c: 1 datasets"]),
        (no_part, ["compact", "--all"], 1, ["a: its lines", "c: its lines"]),
        (no_manifest, ["verify"], 3, ["a  ", "c  "]),
        *((damage, ["verify"], 3, ["a  ", "c  "]) for damage in (no_folder, a_link)),
        (no_folder, ["export", "--format", "csv"], 3, ["Rivers of a", "Rivers of c"]),
        (no_folder, ["reindex"], 3, ["a: 1 datasets", "c: 1 datasets"]),
        (no_runs, ["jobs"], 3, ["a  ", "c  "]),
        (no_part, ["archive", "status"], 3, ["archive-of-a"]),
    ],
    ids=lambda one: getattr(one, "__name__", None) or (" ".join(one[:2]) if isinstance(one, list) else ""),
)
def test_a_damaged_source_is_named_and_the_others_are_read(output, damage, words, code, shown):
    catch_up(output)
    damage(output / "b")
    ran = run(output, *words)
    assert (ran.returncode, [text for text in shown if text not in ran.stdout]) == (code, []), ran.stdout + ran.stderr
    assert [line for line in ran.stderr.splitlines() if line.startswith(("b: ", "b can't "))]


def test_a_crawl_of_it_does_not_begin(output):
    no_part(output / "b")
    with Site(lambda _: listing()) as site:
        ran = scrapy("crawl", "ckan", *options(output, {}, portal=site.url, source="b"), "--nolog")
    assert (ran.returncode, site.asked, len(ran.stderr.splitlines())) == (1, [], 1)
    assert ran.stderr.startswith(
        f"b: {output / 'b' / 'manifest-20261119T000000Z.jsonl.zst'} can't be read (it is damaged)"
    )


def test_a_search_of_a_mirror_that_can_not_be_read_says_so(tmp_path, monkeypatch, capsys):
    store = tmp_path / "store"
    one, two = (mirror(tmp_path / name, store) for name in ("one", "two"))
    Folder(one.folder / "b").write("x")
    with one.own("b"):
        pass
    for path in store.glob("b/_delta_log/*.json"):
        path.write_bytes(b"damaged")
    (two.folder / "a" / "runs").mkdir(parents=True)
    catch_up(Folder(two.folder / "a").path.parent)
    monkeypatch.setattr(location, "mirror", lambda *_, **__: two)
    command = Command()
    command.settings = {"OUTPUT_STORE": "s3://bucket", "OUTPUT_DIR": str(two.folder)}
    Folder(two.folder / "a").write("x")
    given = {"source": None, "sort": "relevance", "limit": 20, "withdrawn": False}
    forms = dict.fromkeys(("facets", "json", "csv", "atom"), False)
    command.run(["rivers"], SimpleNamespace(**given, **forms))
    said = capsys.readouterr()
    assert command.exitcode == 3
    assert f"[b] is damaged in {store.as_uri()}" in said.err
    assert said.out.splitlines() == [
        "No dataset has: rivers",
        "Sources that can't be read are left out, or shown as they were.",
    ]


def test_an_archive_that_can_not_be_read_keeps_all_files(output):
    """The others are verified, and nothing is removed."""
    written(output, "b", [look("b", "b", "r", "https://b.example.org/x.csv")])
    no_part(output / "archive-of-b")
    verified, pruned = run(output, "archive", "verify"), run(output, "archive", "prune", "--yes")
    assert verified.returncode == 3
    assert "archive-of-a  a  r" in verified.stdout, "its file is missing"
    assert verified.stderr.startswith("archive-of-b: ")
    assert (pruned.returncode, pruned.stderr.splitlines()[-1]) == (
        1,
        "archive-of-b can't be read, and may need any of the files: nothing was removed.",
    )


def test_the_index_keeps_what_it_had_of_a_damaged_source(output):
    sentences = []
    assert catch_up(output, sentences.append) == []
    no_manifest(output / "b")
    Folder(output / "c").write("new")
    assert catch_up(output, sentences.append) == ["b"]
    no_folder(output / "a")
    assert catch_up(output, sentences.append) == ["b", "a"]
    assert [sentence.partition(":")[0] for sentence in sentences] == ["b", "b", "a"]
    assert sentences[0].endswith("restore it from a backup, or move it away and crawl the source again.")
    db = sqlite3.connect(output / "index.sqlite")
    assert sorted(db.execute("SELECT source, dataset_id FROM documents WHERE kind = 'dataset'")) == [
        *(("a", "a"), ("b", "b"), ("c", "c"), ("c", "new"))
    ]
    db.close()
    with pytest.raises(DamagedSourceError, match=r"^b: "):
        Index(output, "b")


@pytest.mark.parametrize("damage", [no_manifest, no_part, no_runs, no_captures, no_folder])
def test_the_dashboard_shows_the_others(output, damage):
    catch_up(output)
    damage(output / "b")
    folders = {"jobs": output.parent / "jobs", "logs": output.parent / "logs"}
    client = dashboard.app(output, **folders, blobs=None, listed=output / "none.toml", operators=None).test_client()
    pages = (
        "/",
        "/sources",
        "/runs",
        "/search?q=rivers",
        addresses.source("a"),
        addresses.source("b"),
        addresses.run("b", RUN),
        "/errors",
    )
    answers = {page: client.get(page, headers={"Host": "127.0.0.1"}) for page in pages}
    assert {page: answer.status_code for page, answer in answers.items() if answer.status_code >= 500} == {}
    text = answers["/errors"].text
    assert addresses.run("a", RUN) in text
    assert ("The errors of b can't be read" in text) == (damage is no_part)


@pytest.mark.parametrize("body", [b"no database" * 100, b"SQLite format 3\0" + b"\0" * 4080], ids=["text", "zeros"])
def test_a_mirror_with_a_damaged_state_does_not_stop_the_others(tmp_path, body):
    one, two = (mirror(tmp_path / name, tmp_path / "store") for name in ("one", "two"))
    for name in ("a", "b", "c"):
        Folder(one.folder / name).write("x")
        with one.own(name):
            pass
    assert two.refresh(lost=pytest.fail) == ["a", "b", "c"]
    path = two.known / "b.sqlite"
    for other in path.parent.glob("b.sqlite-*"):
        other.unlink()
    path.write_bytes(body)
    for name in ("a", "b", "c"):
        Folder(one.folder / name).write("y")
        with one.own(name):
            pass
    assert two.refresh(lost=pytest.fail) == ["a", "b", "c"], "it is made anew"
    assert contents(two.folder) == contents(one.folder)
