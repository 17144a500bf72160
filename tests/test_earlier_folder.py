"""A folder that an earlier version left: everything that reads it, and the crawls that go on in it."""

from __future__ import annotations

import csv
import errno
import io
import json
import sqlite3
import zipfile
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any
from urllib.error import HTTPError
from urllib.request import ProxyHandler, Request, build_opener

import pytest

from crawlers.store import lines
from tests.conftest import FAST, ROOT, Crawl, scrapy
from tests.portal.apis import API
from tests.portal.csw import Catalogue as CatalogueService
from tests.portal.csw import records
from tests.portal.dcat import Catalogue
from tests.portal.html.linked import SchemaOrg
from tests.portal.portal import Portal
from tests.site import Answer, Asked, Site
from tests.waiting import until

if TYPE_CHECKING:
    import subprocess
    from pathlib import Path

FOLDERS = sorted((ROOT / "tests" / "earlier").glob("*.zip"))
WRITTEN_AT = "/srv/catalogues"
DATASETS = {"aid": 5, "city": 3, "geo": 5, "ministry": 7, "museum": 5, "rivers": 8, "town": 6}
"""How many each source has, without those withdrawn; ``rivers`` was killed behind its listing."""
HARVESTED = sorted(DATASETS.keys() - {"rivers"})
UNCHANGED = {source: DATASETS[source] for source in HARVESTED} | {"aid": 15}
"""The documents of those: the first has two exports for each dataset."""
KINDS = {"http", "invalid_rdf", "invalid_record", "duplicate_id"}
"""Of its errors."""


class Door(Site):
    """Another address of a server on the loopback: its answers name this one.

    Args:
        number: the last of the address, which the folder's sources know.
        inside: the server's own address.
    """

    def __init__(self, number: int, inside: str) -> None:
        self.inside = inside
        super().__init__(self.pass_on, f"127.6.54.{number}", 16554)

    @classmethod
    def free(cls, number: int, inside: str) -> Door | None:
        """Return one, unless another run of the tests has the address."""
        try:
            return cls(number, inside)
        except OSError as error:
            if error.errno != errno.EADDRINUSE:
                raise
            return None

    def pass_on(self, asked: Asked) -> Answer:
        left_out = ("host", "connection", "accept-encoding")
        headers = {name: value for name, value in asked.headers.items() if name.lower() not in left_out}
        request = Request(self.inside + asked.path, asked.body or None, headers, method=asked.method)
        try:
            answer = build_opener(ProxyHandler({})).open(request, timeout=60)
        except HTTPError as refused:
            answer = refused
        with answer:
            body, told = answer.read().replace(self.inside.encode(), self.url.encode()), answer.headers
        names = [name for name in ("Content-Type", "ETag", "Last-Modified") if told[name]]
        return Answer(body, answer.status, {name: told[name] for name in names})


def city(asked: Asked) -> Answer:
    """Return a data.json of three datasets with a file each, of which one is not there."""
    files = {f"/files/{name}.csv": f"name,height\n{name},1\n".encode() for name in ("oak", "elm")}
    if asked.path in files:
        return Answer(files[asked.path], headers={"Content-Type": "text/csv"})
    trees = enumerate((("Oaks", "oak"), ("Elms", "elm"), ("Ashes", "ash")))
    known = {"description": "Trees.", "modified": "2026-03-01"}
    datasets = [
        {"identifier": f"c{number}", "title": title, **known, "distribution": [_csv(title, asked, name)]}
        for number, (title, name) in trees
    ]
    found = {"conformsTo": "https://project-open-data.cio.gov/v1.1/schema", "dataset": datasets}
    return Answer(json.dumps(found).encode()) if asked.path == "/data.json" else Answer(b"", 404)


def _csv(title: str, asked: Asked, name: str) -> dict[str, str]:
    return {"title": title, "downloadURL": f"http://{asked.headers['Host']}/files/{name}.csv", "format": "CSV"}


class Folder:
    """What was unpacked, and what commands say of it.

    Args:
        path: the user's folder.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.output = path / "output"

    def words(self) -> list[str]:
        paths = {"JOBS_DIR": "jobs", "LOGS_DIR": "logs", "OUTPUT_DIR": "output", "SOURCES_FILE": "sources.toml"}
        given = {**FAST, **{name: str(self.path / file) for name, file in paths.items()}}
        return [word for name, value in given.items() for word in ("-s", f"{name}={value}")]

    def run(self, *words: str, codes: tuple[int, ...] = (0,)) -> str:
        """Run a command of the project on this folder."""
        ran = scrapy(words[0], *self.words(), *words[1:])
        assert "Traceback" not in ran.stdout + ran.stderr, ran.stderr
        assert ran.returncode in codes, ran.stderr
        return ran.stdout or ran.stderr

    def run_inside(self, *words: str) -> subprocess.CompletedProcess[str]:
        """Run a command as its user does, in the folder, whose spiders and settings are then those of the project."""
        given = [word for name, value in FAST.items() for word in ("-s", f"{name}={value}")]
        return scrapy(*words, *given, cwd=self.path, fresh=True)

    def documents(self, source: str = "*") -> dict[str, bytes]:
        files = [path for suffix in ("json", "xml") for path in self.output.glob(f"{source}/*data*/*.{suffix}")]
        return {str(path.relative_to(self.output)): path.read_bytes() for path in files}

    def records(self, source: str) -> list[dict[str, Any]]:
        """Return the datasets that are not withdrawn, of a CKAN portal."""
        lines = {line["dataset_id"]: line for line in self.lines(source) if line["kind"] == "dataset"}
        kept = [line["metadata_file"] for line in lines.values() if line["status"] != "withdrawn"]
        return [json.loads((self.output / source / file).read_bytes()) for file in kept]

    def lines(self, source: str, file: str = "manifest.jsonl") -> list[dict[str, Any]]:
        """Return all lines of a file, compacted ones too."""
        parts = lines.read(self.output / source, file, 0)
        return [json.loads(line) for _, text in parts for line in (text or b"").splitlines()]

    def manifests(self) -> dict[str, list[dict[str, Any]]]:
        return {path.parent.name: self.lines(path.parent.name) for path in self.output.glob("*/manifest.jsonl")}

    def known(self) -> tuple[list[tuple[str, str]], set[tuple[str, str]]]:
        """Return all datasets that the index has, and those that a search finds."""
        rows = csv.DictReader(io.StringIO(self.run("export", "--format", "csv", "-o", "-")))
        found = json.loads(self.run("search", "--json", "--limit", "1000", "data*"))["datasets"]
        return sorted((row["source"], row["id"]) for row in rows), {(one["source"], one["dataset_id"]) for one in found}

    def report(self, source: str) -> Any:
        return Crawl(0, "", self.output / source).report


@pytest.fixture(params=FOLDERS, ids=lambda path: path.stem)
def folder(request: pytest.FixtureRequest, tmp_path: Path) -> Folder:
    with zipfile.ZipFile(request.param) as packed:
        packed.extractall(tmp_path / "catalogues")
    return Folder(tmp_path / "catalogues")


@contextmanager
def stored(source: str, folder: Folder) -> Iterator[Portal]:
    """A portal that has what the folder has of it."""
    with Portal(0) as site:
        site.change(put=folder.records(source))
        yield site


SERVERS = {
    "aid": partial(stored, "aid"),
    "ministry": lambda _: Catalogue(6, serialisation="ttl", faults={"duplicates": "", "titleless": ""}),
    "museum": lambda _: SchemaOrg(5, per_page=3, faults={"last_modified": ""}),
    "geo": lambda _: Site(CatalogueService(records(5))),
    "town": lambda _: API("opendatasoft", 6),
    "city": lambda _: Site(city),
    "rivers": partial(stored, "rivers"),
}
"""The sources' catalogues, in the order of their addresses."""


@contextmanager
def doors(folder: Folder, *sources: str) -> Iterator[None]:
    """Open the addresses of sources."""
    with ExitStack() as stack:
        for number, (source, server) in enumerate(SERVERS.items(), 1):
            if source in sources:
                inside = stack.enter_context(server(folder)).url
                stack.enter_context(until(partial(Door.free, number, inside)))
        yield


def test_everything_reads_it(folder):
    assert {line["kind"] for source in DATASETS for line in folder.lines(source, "errors.jsonl")} == KINDS
    known, found = folder.known()
    assert Counter(source for source, _ in known) == DATASETS
    assert {source for source, _ in found} >= {"ministry", "rivers", "town"}
    states = {job["source"]: job["state"] for job in reversed(json.loads(folder.run("jobs", "--json", "--limit", "0")))}
    assert states.pop("rivers") == "interrupted"
    assert {*states.values()} == {"complete", "incomplete"}
    assert {one["name"] for one in json.loads(folder.run("sources", "--json"))} == {*HARVESTED}
    folder.run("report", "-o", str(folder.path / "report.html"))
    page = (folder.path / "report.html").read_text(encoding="utf-8")
    assert [source for source in (*DATASETS, "archive-of-city") if source not in page] == []
    assert "withdrawn" in folder.run("timeseries", "aid")
    before = folder.manifests()
    folder.run("compact", "--all")
    assert folder.manifests() == before
    (folder.output / "index.sqlite").unlink()
    folder.run("reindex")
    assert folder.known() == (known, found)


def test_a_harvest_of_unchanged_catalogues_rewrites_nothing(folder):
    """Its old error lines stay; what is a flaw now is told once. A second dataset of one identifier is kept now."""
    before, errors = (folder.documents(), folder.manifests()), folder.lines("ministry", "errors.jsonl")
    whole = ("-s", "FULL_LISTING_DAYS=0.000001", "-s", "ALLOWED_PRIVATE_HOSTS=127.6.54.6")
    with doors(folder, *HARVESTED):
        ran = folder.run_inside("harvest", "--all", *whole)
        flaws = folder.lines("ministry", "flaws.jsonl")
        folder.run_inside("harvest", "ministry", *whole)
    assert [flaw["kind"] for flaw in flaws] == ["missing_value"]
    assert folder.lines("ministry", "flaws.jsonl") == flaws
    assert folder.lines("ministry", "errors.jsonl")[: len(errors)] == errors
    assert (ran.returncode in (0, 3), "Traceback" in ran.stderr) == (True, False), ran.stdout + ran.stderr
    counts = {source: folder.report(source)["counts"] for source in HARVESTED}
    assert {source: found["unchanged"] for source, found in counts.items()} == UNCHANGED | {"ministry": 8}
    changes = ("new", "updated", "withdrawn", "restored")
    assert [source for source, found in counts.items() if any(found[change] for change in changes)] == []
    documents, manifests = folder.documents(), folder.manifests()
    [added] = documents.keys() - before[0].keys()
    [line] = [each for each in manifests["ministry"] if each not in before[1]["ministry"]]
    assert (line["status"], f"ministry/{line['metadata_file']}") == ("new", added)
    manifests["ministry"].remove(line)
    del documents[added]
    assert (documents, manifests) == before


def test_a_spider_and_settings_of_its_user_are_loaded(folder):
    listed = folder.run_inside("list")
    assert (listed.returncode, listed.stderr) == (0, "")
    assert {"harbour", "hdx", "archive"} <= {*listed.stdout.split()}
    with doors(folder, "aid"):
        ran = folder.run_inside("crawl", "harbour", "-L", "WARNING")
    assert (ran.returncode, "Traceback" in ran.stderr) == (0, False), ran.stderr
    assert len(folder.documents("harbour")) == DATASETS["aid"]
    assert folder.run_inside("settings", "--get", "CONTACT").stdout == "data@example.org\n"


def test_an_unfinished_job_goes_on_or_is_refused(folder):
    """Where it was written, it goes on; in another place, or in a later format, a sentence names it."""
    kept, lines, jobdir = folder.documents("rivers"), folder.lines("rivers"), folder.path / "jobs" / "by-hand"

    def crawl() -> int:
        given = ("source=rivers", "level=both", "portal=http://127.6.54.7:16554")
        ran = scrapy("crawl", "ckan", *folder.words(), *(f"-a{one}" for one in given), "-s", f"JOBDIR={jobdir}")
        is_refused = ran.returncode == 1 and str(jobdir) in ran.stderr.splitlines()[-1]
        assert (is_refused or ran.returncode == 0, "Traceback" in ran.stderr) == (True, False), ran.stderr
        return ran.returncode

    assert crawl() == 1
    with closing(sqlite3.connect(jobdir / "ledger.sqlite")) as db, db:
        db.execute("UPDATE facts SET value = replace(value, ?, ?)", (WRITTEN_AT, str(folder.path)))
    with doors(folder, "rivers"):
        is_refused = crawl() == 1
    documents, after = folder.documents("rivers"), folder.lines("rivers")
    assert {file: documents[file] for file in kept} == kept
    assert after[: len(lines)] == lines
    if not is_refused:
        report = folder.report("rivers")
        assert (report["verdict"], report["resumed"]) == ("complete", True)
        assert len(documents) == DATASETS["rivers"] * (1 + 1 + 2)
        assert len({line["metadata_file"] for line in after}) == len(after) == len(documents)
