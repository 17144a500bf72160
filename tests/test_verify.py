"""`scrapy verify`: what is on disk against what the manifests say."""

from __future__ import annotations

import hashlib
import json
import os
import shutil

from crawlers.safety.locks import LOCK, take
from crawlers.store import lines
from tests.conftest import Crawl, command, options, scrapy
from tests.finished import SOURCES
from tests.site import Site, listing

HEADING = "source  files  size  damaged  missing  unreferenced  credentials".split()


def written(output, source, **bodies):
    """A source's folder with these datasets, as a crawl leaves it."""
    folder = output / source
    (folder / "datasets").mkdir(parents=True, exist_ok=True)
    with (folder / "manifest.jsonl").open("ab") as manifest:
        for name, body in bodies.items():
            (folder / "datasets" / f"{name}.json").write_bytes(body)
            manifest.write(line(name, body) + b"\n")
    return folder


def line(name, body=b"", **more):
    entry = {
        "kind": "dataset",
        "dataset_id": name,
        "resource_id": None,
        "metadata_source": "package_search",
        "metadata_file": f"datasets/{name}.json",
        "metadata_url": None,
        "time": "2026-11-20T00:00:00.000Z",
        "run": "20261120T000000Z",
        "status": "new",
        "sha256": hashlib.sha256(body).hexdigest(),
        "bytes": len(body),
        "metadata_modified": None,
    }
    return json.dumps(entry | more).encode()


def verified(output, *names):
    return command("verify", *names, f"-sOUTPUT_DIR={output}")


def rows(ran):
    """The table's rows, by source."""
    lines = [text.split("  ") for text in ran.stdout.splitlines()]
    cells = [[cell.strip() for cell in parts if cell] for parts in lines]
    start = cells.index(HEADING)
    return {row[0]: row[1:] for row in cells[start + 1 :] if len(row) == len(HEADING)}


def everything(folder):
    return {path: (path.read_bytes(), path.stat().st_mtime_ns) for path in folder.rglob("*") if path.is_file()}


def test_what_is_as_the_manifest_says(finished):
    done = Crawl(0, "", finished.output / "hdx")
    before = everything(finished.output)
    ran = verified(finished.output)
    assert (ran.returncode, ran.stderr) == (0, "")
    size = sum(path.stat().st_size for path in done.folder.rglob("*/*.json") if path.parent.name != "runs")
    assert {source: row[2:] for source, row in rows(ran).items()} == {source: ["0"] * 4 for source in SOURCES}
    assert rows(ran)["hdx"][0] == str(len(done.manifest))
    assert rows(ran)["hdx"][1] in (f"{size / 1000:.1f} kB", f"{size / 1000:.0f} kB")
    assert everything(finished.output) == before, "nothing is changed"


def test_what_differs_is_named_and_how_to_mend_it(output):
    folder = written(output, "town", a=b"{}", b=b"{}", c=b"{}", d=b"{}")
    written(output, "city", a=b"{}")
    (folder / "datasets" / "a.json").write_bytes(b"[]")
    (folder / "datasets" / "b.json").write_bytes(b"{ }")
    (folder / "datasets" / "c.json").unlink()
    (folder / "resource_metadata").mkdir()
    (folder / "resource_metadata" / "a__b\x1b[31m.json").write_bytes(b"{}")
    (folder / "datasets" / "d.json").unlink()
    (folder / "datasets" / "d.json").symlink_to("/etc/passwd")
    ran = verified(output)
    assert (ran.returncode, ran.stderr) == (3, "")
    told = [text.split(maxsplit=2) for text in ran.stdout.splitlines()[:5]]
    assert [parts[:2] for parts in told] == [
        ["damaged", "town/datasets/a.json"],
        ["damaged", "town/datasets/b.json"],
        ["missing", "town/datasets/c.json"],
        ["unreadable", "town/datasets/d.json"],
        ["unreferenced", "town/resource_metadata/a__b[31m.json"],
    ]
    assert "symbolic link" in told[3][2]
    assert rows(ran) == {"city": ["1", "2 B", "0", "0", "0", "0"], "town": ["4", "2 B", "3", "1", "1", "0"]}
    assert "`scrapy harvest town -s VERIFY_DOCUMENTS=True` writes what is damaged or missing again" in ran.stdout
    assert "No line of a manifest names the unreferenced files" in ran.stdout
    city = verified(output, "city", "city")
    assert (city.returncode, len(city.stdout.splitlines())) == (0, 2)


def test_a_file_of_a_run_that_was_killed_counts_as_the_last_line_says(output):
    """The last line about a document counts, also behind compacted ones; one that is withdrawn is still there."""
    folder = written(output, "town", a=b"old")
    written(output, "town", a=b"new", b=b"gone")
    with (folder / "manifest.jsonl").open("ab") as manifest:
        manifest.write(line("b", b"gone", status="withdrawn", run="20261121T000000Z") + b"\n")
    assert lines.compact(folder, "manifest.jsonl")
    assert rows(verified(output)) == {"town": ["2", "7 B", "0", "0", "0", "0"]}


def test_an_archive_is_named_and_has_no_documents(output):
    folder = written(output, "archive-of-town")
    (folder / "manifest.jsonl").write_bytes(line("a", kind="file", metadata_file="sha256/ab/abc") + b"\n")
    ran = verified(output)
    assert (ran.returncode, rows(ran)) == (0, {"archive-of-town": ["0", "0 B", "0", "0", "0", "0"]})


def test_documents_with_logins_are_counted(output):
    written(output, "town", a=b'"ftp://me:pw@a.org"', b=b'"ftp://a.org/b@c"')
    written(output, "city", a=b'"ftp://me:pw@a.org"')
    ran = verified(output)
    assert (ran.returncode, {name: row[-1] for name, row in rows(ran).items()}) == (0, {"city": "1", "town": "1"})
    *_, mend, told = ran.stdout.splitlines()
    assert "`scrapy harvest city town -s VERIFY_DOCUMENTS=True` writes these documents again" in mend
    assert told == "2 documents have user:password@ in an address, from an earlier version."


def test_lines_that_are_damaged_differ(output):
    folder = written(output, "town", a=b"{}")
    with (folder / "manifest.jsonl").open("ab") as manifest:
        manifest.write(b"[]\n" + line("x", metadata_file="../../x") + b"\n")
    ran = verified(output)
    assert (ran.returncode, ran.stdout.split("\n")[0]) == (3, "unreadable    town/manifest.jsonl  damaged lines: 2")


def test_a_source_that_cannot_be_verified_does_not_end_it_for_the_others(output):
    for name in ("a", "c", "d", "e"):
        written(output, name, x=b"{}")
    (output / "b" / "manifest.jsonl").mkdir(parents=True)
    (output / "c" / "manifest-20261119T000000Z.jsonl.zst").write_bytes(b"no zstd")
    shutil.rmtree(output / "d" / "datasets")
    (output / "d" / "datasets").write_text("no folder")
    lock = take(output / "e" / LOCK)
    try:
        ran = verified(output)
    finally:
        os.close(lock)
    assert (ran.returncode, list(rows(ran))) == (3, ["a"])
    sentences = ran.stderr.splitlines()
    assert [text.split()[0] for text in sentences] == ["b", "c", "d", "e"]
    assert sentences[0].startswith("b can't be verified: ")
    assert sentences[-1] == "e is being crawled: verify it when the crawl has ended."
    assert "Traceback" not in ran.stderr


def test_a_source_that_is_not_there(output):
    written(output, "town", a=b"{}")
    ran = verified(output, "twon")
    assert (ran.returncode, ran.stderr) == (
        1,
        f"{output} has no source 'twon'. Did you mean town? There are: town.\n",
    )
    nowhere = verified(output / "empty")
    assert (nowhere.returncode, nowhere.stderr) == (
        1,
        f"{output / 'empty'} is no folder: name another with -s OUTPUT_DIR=.\n",
    )
    (output / "empty").mkdir()
    nothing = verified(output / "empty")
    assert (nothing.returncode, nothing.stdout) == (
        0,
        f"{output / 'empty'} holds no source: crawl one first, or name another folder with -s OUTPUT_DIR=.\n",
    )


def test_the_command_that_it_names_mends(output):
    """Also a file with other bytes of the same number, and though only changes were asked for."""
    records = [{"id": one, "title": one, "resources": []} for one in "abc"]
    with Site(lambda _: listing(*records)) as site:
        words = options(output, {}, portal=site.url, source="town", since="last")
        assert scrapy("crawl", "ckan", *words).returncode == 0
        folder = output / "town"
        before = {path: path.read_bytes() for path in (folder / "datasets").iterdir()}
        a, b, _ = sorted(before)
        a.write_bytes(a.read_bytes().replace(b'"a"', b'"x"'))
        b.unlink()
        assert verified(output).returncode == 3
        ran = scrapy("crawl", "ckan", *words, "-sVERIFY_DOCUMENTS=True")
    done = Crawl(ran.returncode, ran.stderr, folder)
    assert (done.report["counts"]["updated"], done.report["counts"]["unchanged"], done.report["since"]) == (2, 1, None)
    assert {path: path.read_bytes() for path in (folder / "datasets").iterdir()} == before
    assert verified(output).returncode == 0
