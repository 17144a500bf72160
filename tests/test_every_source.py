"""What holds for a source of any kind: a second crawl, the index rebuilt, search, exports, the report, sources.toml."""

from __future__ import annotations

import csv
import io
import json
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.conftest import Crawl, options, scrapy
from tests.portal.apis import API
from tests.portal.csw import ISO, Catalogue, Record, records
from tests.portal.oai import Repository, held
from tests.portal.sparql import Endpoint
from tests.site import Answer, Asked, Site

COUNT = 12


class Place(NamedTuple):
    """A catalogue on the loopback.

    Args:
        spider: the generic spider of its kind.
        given: where it is.
        suffix: of its documents.
        title: a word that every title has.
    """

    spider: str
    given: dict[str, str]
    suffix: str
    title: str = "dataset"


@contextmanager
def api() -> Iterator[Place]:
    with API("opendatasoft", COUNT) as site:
        yield Place("api", {"kind": "opendatasoft", "portal": site.portal}, "json")


@contextmanager
def csw() -> Iterator[Place]:
    with Site(Catalogue(records(COUNT))) as site:
        yield Place("csw", {"url": f"{site.url}/csw"}, "xml", "record")


@contextmanager
def oai() -> Iterator[Place]:
    with Site(Repository(held(COUNT))) as site:
        yield Place("oai", {"url": f"{site.url}/oai"}, "xml", "record")


@contextmanager
def sparql() -> Iterator[Place]:
    with Endpoint(COUNT) as site:
        yield Place("sparql", {"url": site.endpoint}, "json")


@contextmanager
def sdmx() -> Iterator[Place]:
    flow = '<s:Dataflow id="T{0}" agencyID="A" version="1.0"><c:Name xml:lang="en">Table {0}</c:Name></s:Dataflow>'
    url = "http://www.sdmx.org/resources/sdmxml/schemas/v2_1"
    body = f'<m:Structure xmlns:m="{url}/message" xmlns:s="{url}/structure" xmlns:c="{url}/common"><m:Structures>'
    body += f"<s:Dataflows>{''.join(map(flow.format, range(COUNT)))}</s:Dataflows></m:Structures></m:Structure>"
    with Site(lambda _: Answer(body.encode(), headers={"Content-Type": "application/xml"})) as site:
        yield Place("sdmx", {"url": f"{site.url}/sdmx/2.1"}, "xml", "table")


@contextmanager
def waf() -> Iterator[Place]:
    found = {f"/meta/{number}.xml": Record(f"f-{number}", f"Folder record {number}") for number in range(COUNT)}
    page = "<title>Index of /meta</title>" + "".join(f'<a href="{path}">x</a>' for path in found)

    def answer(asked: Asked) -> Answer:
        if asked.path == "/meta/":
            return Answer(page.encode(), headers={"Content-Type": "text/html"})
        record = found.get(asked.path)
        return Answer(record.xml(ISO).encode(), headers={"Content-Type": "text/xml"}) if record else Answer(status=404)

    with Site(answer) as site:
        yield Place("waf", {"url": f"{site.url}/meta/"}, "xml", "record")


KINDS = {each.__name__: each for each in (api, csw, oai, sdmx, sparql, waf)}


@pytest.fixture(params=KINDS)
def place(request) -> Iterator[Place]:
    with KINDS[request.param]() as found:
        yield found


def crawled(place: Place, output: Path, **given: str) -> Crawl:
    ran = scrapy("crawl", place.spider, *options(output, {}, **place.given, source="town", **given))
    assert "Traceback" not in ran.stderr, ran.stderr
    return Crawl(ran.returncode, ran.stderr, output / "town")


def command(output: Path, *words: str) -> str:
    ran = scrapy(*words, f"-sOUTPUT_DIR={output}")
    assert ran.returncode == 0, ran.stderr
    return ran.stdout


def described(output: Path) -> list[tuple[object, ...]]:
    """What the index says of each dataset and resource."""
    with closing(sqlite3.connect(output / "index.sqlite")) as db:
        names = [row[1] for row in db.execute("PRAGMA table_info(datasets)") if row[1] not in ("rowid", "id")]
        rows = db.execute(f"SELECT {', '.join(names)} FROM datasets ORDER BY dataset_id").fetchall()
        files = db.execute("SELECT dataset_id, resource_id, url, format, title FROM resources ORDER BY 1, 2").fetchall()
    return [*rows, *files]


def test_the_index_is_rebuilt_from_the_documents(place, output):
    done = crawled(place, output)
    assert (done.code, done.report["verdict"], done.report["counts"]["new"]) == (0, "complete", COUNT), done.log
    assert {Path(line["metadata_file"]).suffix for line in done.manifest} == {f".{place.suffix}"}
    command(output, "search", place.title)  # it writes what the crawl left
    before = described(output)
    (output / "index.sqlite").unlink()
    command(output, "reindex")
    command(output, "search", place.title)
    assert described(output) == before
    assert len([row for row in before if "town" in row]) == COUNT


def test_a_second_crawl_writes_nothing(place, output):
    first = crawled(place, output)
    again = crawled(place, output)
    assert (again.code, again.report["counts"]["unchanged"], again.report["counts"]["new"]) == (0, COUNT, 0)
    assert again.manifest == first.manifest


@pytest.mark.slow
def test_a_limit_and_an_interrupted_job(place, output, tmp_path):
    few = crawled(place, output / "few", max_datasets="3")
    assert (few.code, few.report["verdict"], len(few.manifest)) == (0, "partial", 3)
    done = scrapy("crawl", place.spider, *options(output, {"JOBDIR": str(tmp_path / "job")}, **place.given))
    again = scrapy("crawl", place.spider, *options(output, {"JOBDIR": str(tmp_path / "job")}, **place.given))
    assert (done.returncode, again.returncode) == (0, 0)
    assert "finished" in again.stderr


def test_search_exports_and_the_report(place, output, tmp_path):
    done = crawled(place, output)
    ids = {line["dataset_id"] for line in done.manifest}
    found = json.loads(command(output, "search", "--json", "--limit", "100", place.title))
    assert {one["dataset_id"] for one in found["datasets"]} == ids
    rows = list(csv.DictReader(io.StringIO(command(output, "export", "--format", "csv", "-o", "-"))))
    assert {row["id"] for row in rows} == ids
    assert all(row["title"] for row in rows)
    assert command(output, "export", "--format", "jsonld", "-o", "-").count('"dcat:Dataset"') == COUNT
    command(output, "report", "-o", str(tmp_path / "report.html"))
    assert "town" in (tmp_path / "report.html").read_text(encoding="utf-8")


def test_a_table_of_sources_toml_is_validated(place, output, tmp_path):
    file = tmp_path / "sources.toml"
    lines = [f"[town]\nspider = '{place.spider}'\n[town.arguments]"]
    file.write_text("\n".join([*lines, *(f"{name} = '{value}'" for name, value in place.given.items())]) + "\n")
    ran = scrapy("sources", "validate", "town", *options(output, {"SOURCES_FILE": str(file)}))
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert f"town: complete, {COUNT}" in ran.stdout or f"{COUNT} of {COUNT} datasets crawled" in ran.stdout
    assert "title" in ran.stdout


@pytest.mark.parametrize("place", [name for name in KINDS if name not in ("sdmx", "waf")], indirect=True)
def test_what_changed_since_today_withdraws_nothing(place, output):
    first = crawled(place, output)
    day = datetime.now(UTC).strftime("%Y-%m-%d")
    since = crawled(place, output, since=day)
    assert since.code == 0
    assert since.report["counts"]["withdrawn"] == 0
    assert since.manifest == first.manifest
