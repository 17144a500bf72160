"""Small catalogues of all that is crawled: of each kind, each declaration of an API, an archive, the ecosystem.

with SUBJECTS["csw"](folder) as subject:
    scrapy("crawl", subject.spider, "-a", ...)
    assert subject.faults(folder / "output") == []
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from crawlers.kinds.api.file import shipped
from tests.conftest import ROOT, json_lines
from tests.portal.apis import API, SOFTWARE
from tests.portal.csw import ISO, Record, records
from tests.portal.csw import Catalogue as CatalogueService
from tests.portal.dcat import Catalogue
from tests.portal.github import TOKEN, GitHub, Repository
from tests.portal.github import Catalogue as Extensions
from tests.portal.html.linked import SchemaOrg
from tests.portal.oai import Repository as Repositories
from tests.portal.oai import held
from tests.portal.portal import Portal
from tests.portal.sites import CKAN, Portals
from tests.portal.sparql import Endpoint
from tests.site import Answer, Asked, Site

ANSWERS = ROOT / "tests" / "portal" / "answers"
COUNT = 6


@dataclass(frozen=True)
class Subject:
    """
    Args:
        spider: the spider's name.
        given: its ``-a``.
        count: how many datasets, profiles or files the catalogue has.
        word: what a search finds all of them by; empty if it finds none.
        exports: how many documents there are besides, for all of them.
        settings: what its crawls need.
        archived: whether it is the archive of a source, which has the spider and the arguments.
        measured: whether each crawl finds other figures, such as the time of an answer.
    """

    spider: str
    given: dict[str, str]
    count: int = COUNT
    word: str = "dataset"
    exports: int = 0
    settings: dict[str, str] = field(default_factory=dict)
    archived: bool = False
    measured: bool = False

    def table(self, name: str) -> str:
        """Return its table of a sources.toml."""
        lines = [f"[{name}]", f"spider = {json.dumps(self.spider)}", 'schedule = "daily"']
        lines += ["archive = true"] * self.archived
        for part, values in (("arguments", self.given), ("settings", self.settings)):
            lines += [f"[{name}.{part}]", *(f"{key} = {json.dumps(value)}" for key, value in values.items())]
        return "\n".join([*lines, ""])

    def folder(self, output: Path, name: str) -> Path:
        return output / (f"archive-of-{name}" if self.archived else name)

    def faults(self, folder: Path, store: Path, runs: int) -> list[str]:
        """Return what is wrong with what crawls of the unchanged catalogue left.

        Args:
            folder: the source's.
            store: where an archive has its files.
            runs: how many crawls there were.
        """
        reports = [json.loads(path.read_bytes()) for path in folder.glob("runs/*.json")]
        lines, errors, flaws = (_lines(folder / f"{name}.jsonl") for name in ("manifest", "errors", "flaws"))
        files = {line["metadata_file"]: line["sha256"] for line in lines}
        store = store if self.archived else folder
        new = lines[: len(files)]
        rewritten = [] if self.measured else lines[len(files) :]
        return [
            *([f"{len(reports)} runs"] if len(reports) != runs else []),
            *(f"{one['verdict']}, {one['listed']} listed" for one in reports if one["verdict"] != "complete"),
            *(f"{told['kind']}: {told['error']}" for told in (*errors, *flaws)),
            *([f"{len(files)} documents"] if len(files) != self.count + self.exports else []),
            *(f"{line['metadata_file']} is {line['status']}" for line in new if line["status"] != "new"),
            *(f"{line['metadata_file']} is {line['status']}" for line in rewritten),
            *(f"{file} is not what its line says" for file in files if _sha256(store / file) != files[file]),
        ]


def _lines(path: Path) -> list[dict[str, Any]]:
    return json_lines(path) if path.exists() else []


def _sha256(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest() if path.exists() else ""


# CKAN


@contextmanager
def ckan(_: Path) -> Iterator[Subject]:
    with Portal(COUNT, rows_max=4) as site:
        yield Subject("ckan", {"portal": site.url}, word="part")


@contextmanager
def hdx(_: Path) -> Iterator[Subject]:
    with Portal(COUNT, resources=2) as site:
        yield Subject("hdx", {"portal": site.url, "level": "resource"}, word="part", exports=2 * COUNT)


# RDF, XML and pages


@contextmanager
def dcat(_: Path, **form: Any) -> Iterator[Subject]:
    with Catalogue(COUNT, **form) as site:
        yield Subject("dcat", {"url": site.address})


@contextmanager
def sparql(_: Path) -> Iterator[Subject]:
    with Endpoint(COUNT) as site:
        yield Subject("sparql", {"url": site.endpoint})


@contextmanager
def csw(_: Path) -> Iterator[Subject]:
    with Site(CatalogueService(records(COUNT), most=4)) as site:
        yield Subject("csw", {"url": f"{site.url}/csw"}, word="record")


@contextmanager
def oai(_: Path) -> Iterator[Subject]:
    with Site(Repositories(held(COUNT), size=4)) as site:
        yield Subject("oai", {"url": f"{site.url}/oai"}, word="record")


@contextmanager
def sdmx(_: Path) -> Iterator[Subject]:
    flow = '<s:Dataflow id="T{0}" agencyID="A" version="1.0"><c:Name xml:lang="en">Table {0}</c:Name></s:Dataflow>'
    url = "http://www.sdmx.org/resources/sdmxml/schemas/v2_1"
    body = f'<m:Structure xmlns:m="{url}/message" xmlns:s="{url}/structure" xmlns:c="{url}/common"><m:Structures>'
    body += f"<s:Dataflows>{''.join(map(flow.format, range(COUNT)))}</s:Dataflows></m:Structures></m:Structure>"
    with Site(lambda _: Answer(body.encode(), headers={"Content-Type": "application/xml"})) as site:
        yield Subject("sdmx", {"url": f"{site.url}/sdmx/2.1"}, word="table")


@contextmanager
def waf(_: Path) -> Iterator[Subject]:
    found = {f"/meta/{number}.xml": Record(f"f-{number}", f"Folder record {number}") for number in range(COUNT)}
    page = "<title>Index of /meta</title>" + "".join(f'<a href="{path}">x</a>' for path in found)

    def answer(asked: Asked) -> Answer:
        if asked.path == "/meta/":
            return Answer(page.encode(), headers={"Content-Type": "text/html"})
        record = found.get(asked.path)
        return Answer(record.xml(ISO).encode(), headers={"Content-Type": "text/xml"}) if record else Answer(status=404)

    with Site(answer) as site:
        yield Subject("waf", {"url": f"{site.url}/meta/"}, word="record")


@contextmanager
def html(folder: Path) -> Iterator[Subject]:
    with SchemaOrg(COUNT, per_page=4, faults={"last_modified": ""}) as site:
        rules = folder / "rules.toml"
        rules.write_text((ROOT / "tests" / "rules" / "schema_org.toml").read_text().replace("{url}", site.url))
        yield Subject("html", {"rules": str(rules)}, word="fassung")


# JSON APIs


@contextmanager
def api(kind: str, _: Path) -> Iterator[Subject]:
    """A portal of a declaration: one that filters and pages as that software does, or else answers that are stored."""
    with API(kind, COUNT) if kind in SOFTWARE else Stored(kind) as site:
        yield Subject("api", {"kind": kind, "portal": site.portal}, site.count)


class Stored(Site):
    """The portal of ``tests/portal/answers/KIND.json``: its path, its datasets' number and its answers by path.

    In the file {url} is the address of this server.
    """

    def __init__(self, kind: str) -> None:
        super().__init__(self.stored)
        found = json.loads((ANSWERS / f"{kind}.json").read_text().replace("{url}", self.url))
        self.portal, self.count = self.url + found["portal"], int(found["datasets"])
        self.answers: dict[str, Any] = found["answers"]

    def stored(self, asked: Asked) -> Answer:
        found = self.answers.get(urlsplit(asked.path).path)
        return Answer(b"{}", 404) if found is None else Answer(json.dumps(found).encode())


# What is crawled besides


@contextmanager
def archive(_: Path) -> Iterator[Subject]:
    """The archive of a data.json whose three datasets have a file each."""

    def answer(asked: Asked) -> Answer:
        if asked.path == "/data.json":
            files = [f"http://{asked.headers['Host']}/{number}.csv" for number in range(3)]
            datasets = [
                {"identifier": url[-5], "title": "Dataset", "distribution": [{"downloadURL": url, "format": "CSV"}]}
                for url in files
            ]
            found = {"conformsTo": "https://project-open-data.cio.gov/v1.1/schema", "dataset": datasets}
            return Answer(json.dumps(found).encode())
        return Answer(f"of,{asked.path}\n".encode(), headers={"Content-Type": "text/csv"})

    with Site(answer) as site:
        settings = {"ALLOWED_PRIVATE_HOSTS": "127.0.0.1"}
        yield Subject("dcat", {"url": f"{site.url}/data.json"}, 3, word="", settings=settings, archived=True)


@contextmanager
def ckan_sites(folder: Path) -> Iterator[Subject]:
    hosts = [f"127.1.7.{number}" for number in range(1, 4)]
    with Portals({host: CKAN() for host in hosts}) as portals:
        rows = "".join(f"site-{number},{portals.url(host)}\n" for number, host in enumerate(hosts))
        (folder / "sites.csv").write_text(f"name,url\n{rows}")
        yield Subject("ckan_sites", {"sites": str(folder / "sites.csv")}, len(hosts), word="", measured=True)


@contextmanager
def ckan_extensions(folder: Path) -> Iterator[Subject]:
    names = [f"ckan/ckanext-{number}" for number in range(3)]
    packages = {name.partition("/")[2]: {"url": f"https://github.com/{name}"} for name in names}
    with Extensions(packages) as site, GitHub({name: Repository() for name in names}) as github:
        settings = {"GITHUB_API": github.url, "HTTPCACHE_DIR": str(folder / "cache")}
        yield Subject("ckan_extensions", {"catalogue": site.url}, len(names), word="", settings=settings)


SUBJECTS: dict[str, Callable[[Path], AbstractContextManager[Subject]]] = {
    **{each.__name__: each for each in (ckan, hdx, sparql, csw, oai, sdmx, waf, html)},
    "dcat": partial(dcat, per_page=4, paging="hydra"),
    "dcat-data-json": partial(dcat, serialisation="data.json"),
    **{f"api-{kind}": partial(api, kind) for kind in shipped()},
    **{each.__name__: each for each in (archive, ckan_sites, ckan_extensions)},
}
ENVIRONMENT = {"GITHUB_TOKEN": TOKEN}
"""What crawls of them have in their environment."""
