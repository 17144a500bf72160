"""What each command imports: Scrapy reads all settings and all commands for each of them, and few need the rest."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.conftest import ROOT, options
from tests.portal.portal import Portal
from tests.site import Answer, Site

pytestmark = pytest.mark.slow  # each is a new process, which imports all it needs
PROGRAM = """
import atexit, json, sys
from pathlib import Path
from scrapy.cmdline import execute

path = Path(sys.argv.pop())
atexit.register(lambda: path.write_text(json.dumps(sorted(sys.modules))))
execute()
"""

BROWSER = ("playwright", "scrapy_playwright", "crawlers.components.browser")
RDF = ("pyoxigraph", "rdflib", "crawlers.records.rdf")
EXTRAS = ("aiohttp", "duckdb", "flask", "jinja2", "markdownify", "nh3", "prometheus_client", "pyarrow", "tomlkit")
EXTRAS += ("waitress",)
FLEET = ("crawlers.fleet.", "deltalake", "obstore", "procrastinate", "psycopg")
ROOMS = ("dashboard", "harvest", "learn", "report", "sources")
OPERATE = (*(f"crawlers.operate.{room}" for room in ROOMS), "crawlers.store.export", *EXTRAS)
WITHOUT_FIGURES = tuple(name for name in OPERATE if name != "duckdb")
HTTP = ("scrapy.core.downloader.handlers.http11",)
MAPPING = ("crawlers.records.languages", "crawlers.records.licenses", "langcodes", "rapidfuzz")
NO_CRAWL = (*BROWSER, *RDF, *HTTP, *MAPPING, "spiders", "pipelines", "crawlers.listing", "crawlers.extensions")
KINDS = ("api", "ckan", "csw", "dcat", "html", "oai", "sdmx", "sparql", "waf")

TURTLE = "<http://x/c> a <http://www.w3.org/ns/dcat#Catalog>; <http://www.w3.org/ns/dcat#dataset> <http://x/1>. "
TURTLE += '<http://x/1> a <http://www.w3.org/ns/dcat#Dataset>; <http://purl.org/dc/terms/title> "One".'
RULES = """
start = ["{url}/list"]

[links]
css = ".dataset"

[fields]
title = "h1"
"""
HTML = {"/list": '<a class="dataset" href="/d/1">One</a>', "/d/1": "<h1>One</h1>", "/folder/": "<h1>Index of /</h1>"}


def kinds(*needed: str) -> tuple[str, ...]:
    """What is in the folders of all other kinds; their declarations are read by every command."""
    return tuple(f"crawlers.kinds.{name}." for name in KINDS if name not in needed)


def imported(tmp_path: Path, *words: str, code: int = 0) -> list[str]:
    """The modules that a command has imported when it ends."""
    path = tmp_path / "imported.json"
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    ran = subprocess.run(
        [sys.executable, "-c", PROGRAM, *words, str(path)],
        cwd=ROOT,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == code, ran.stderr
    return json.loads(path.read_text())


def within(names: list[str], packages: tuple[str, ...]) -> list[str]:
    """The modules that are in one of the packages; one that ends with a dot stands for all below it."""
    return [
        name
        for name in names
        for one in packages
        if name.startswith(one if one.endswith(".") else f"{one}.") or name == one
    ]


def answer(asked):
    if asked.path == "/catalog.ttl":
        return Answer(TURTLE.encode(), headers={"Content-Type": "text/turtle"})
    if asked.path in HTML:
        return Answer(HTML[asked.path].encode(), headers={"Content-Type": "text/html"})
    return Answer(b"", 404)


@pytest.fixture(scope="module")
def harvested(tmp_path_factory):
    """A folder with one source, and its catalogue."""
    folder = tmp_path_factory.mktemp("harvested")
    with ExitStack() as stack:
        portal = stack.enter_context(Portal(5))
        words = options(folder / "output", {}, portal=portal.url)
        assert imported(folder, "crawl", "ckan", *words)
    (folder / "output" / "archive-of-x").mkdir()
    (folder / "output" / "archive-of-x" / "captures.jsonl").touch()
    (folder / "sources.toml").write_text('[x]\nspider = "hdx"\nschedule = "daily"\n')
    return folder


@pytest.mark.parametrize(
    ("words", "forbidden"),
    [
        (["--help"], (*NO_CRAWL, *OPERATE, "crawlers.components.ledger", "crawlers.store.index", *kinds())),
        (["jobs"], (*NO_CRAWL, *OPERATE, "crawlers.components.ledger", "crawlers.store.index", *kinds())),
        (["search", "water"], (*NO_CRAWL, *set(OPERATE).difference(("nh3",)), *kinds())),
        (
            ["report", "-o", "-"],
            (*BROWSER, *RDF, "tomlkit", "crawlers.operate.learn", *kinds("ckan", "html")),
        ),
        (
            ["export", "--format", "csv"],
            (*BROWSER, *HTTP, "spiders", "crawlers.listing", "rdflib", *kinds("ckan")),
        ),
        (["archive", "status"], (*NO_CRAWL, *EXTRAS, "warcio", "crawlers.operate.learn", *kinds())),
        (["archive", "prune"], (*NO_CRAWL, *EXTRAS, "warcio", "crawlers.operate.learn", *kinds())),
        (["reindex"], (*BROWSER, *HTTP, *WITHOUT_FIGURES, "spiders", "rdflib", *kinds("ckan"))),
        (["sources"], (*BROWSER, *RDF, "crawlers.operate.learn", *kinds("ckan", "html"))),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_a_command_imports_what_it_needs(harvested, tmp_path, words, forbidden):
    settings = {"OUTPUT_DIR": harvested / "output", "SOURCES_FILE": harvested / "sources.toml"}
    settings["ARCHIVE_STORE"] = harvested / "archive"
    given = [] if words == ["--help"] else [f"-s{name}={value}" for name, value in settings.items()]
    names = imported(tmp_path, *words, *given)
    assert within(names, ("crawlers.operate.commands.", "crawlers.settings"))
    assert within(names, (*forbidden, *FLEET)) == []


@pytest.mark.parametrize(
    ("spider", "given", "forbidden"),
    [
        ("ckan", {"portal": ""}, (*BROWSER, *RDF, *OPERATE, "rapidfuzz", *kinds("ckan"))),
        ("hdx", {"portal": ""}, (*BROWSER, *RDF, *OPERATE, "rapidfuzz", *kinds("ckan"))),
        ("dcat", {"url": "/catalog.ttl"}, (*BROWSER, *OPERATE, "rdflib", "rapidfuzz", *kinds("dcat"))),
        ("waf", {"url": "/folder/"}, (*BROWSER, *OPERATE, "rdflib", "rapidfuzz", *kinds("waf", "dcat"))),
        ("csw", {"url": "/csw"}, (*BROWSER, *OPERATE, "rdflib", "rapidfuzz", *kinds("csw", "dcat"))),
        ("sdmx", {"url": "/sdmx"}, (*BROWSER, *OPERATE, "rdflib", "rapidfuzz", *kinds("sdmx", "dcat"))),
        ("oai", {"url": "/oai"}, (*BROWSER, *OPERATE, "rdflib", "rapidfuzz", *kinds("oai", "dcat"))),
        ("html", {"rules": "rules.toml"}, (*BROWSER[:2], *OPERATE, "rdflib", *kinds("html", "dcat"))),
    ],
)
def test_a_crawl_imports_what_its_kind_needs(tmp_path, spider, given, forbidden):
    with Portal(5) as portal, Site(answer) as site:
        (tmp_path / "rules.toml").write_text(RULES.format(url=site.url))
        where = {"portal": portal.url, "url": site.url, "rules": f"{tmp_path}/"}
        arguments = {name: where[name] + value for name, value in given.items()}
        words = options(tmp_path / "output", {}, **arguments)
        names = imported(
            tmp_path, "crawl", spider, *words, code={"html": 3, "waf": 4, "csw": 4, "oai": 4, "sdmx": 4}.get(spider, 0)
        )
    assert {"crawlers.extensions.report", "crawlers.components.scheduler"} <= set(names)
    assert within(names, (*forbidden, *FLEET)) == []


def test_what_is_within_a_package():
    names = [
        "crawlers.components.browser",
        "crawlers.browsers",
        "crawlers.kinds.ckan",
        "crawlers.kinds.ckan.api",
        "playwright.x",
    ]
    assert within(names, ("crawlers.components.browser", "playwright")) == [
        "crawlers.components.browser",
        "playwright.x",
    ]
    assert within(names, kinds()) == ["crawlers.kinds.ckan.api"]
