"""The house rules that a program can keep: who may import whom, and what a spider looks like."""

from __future__ import annotations

import ast
import inspect
import subprocess
import sys
from pathlib import Path

import pytest
from scrapy.settings import Settings
from scrapy.spiderloader import SpiderLoader

from crawlers import settings
from crawlers.catalogue import CatalogueSpider

ROOT = Path(__file__).parent.parent
FILES = sorted(path for folder in ("crawlers", "pipelines", "spiders") for path in (ROOT / folder).rglob("*.py"))
SPIDERS = SpiderLoader.from_settings(Settings({"SPIDER_MODULES": settings.SPIDER_MODULES}))

ANY = ("crawlers", "pipelines", "spiders")
STAND_ALONE = ("crawlers.exceptions", "crawlers.moment", "crawlers.quiet", "crawlers.signals")
MAY_IMPORT = {
    "crawlers.items": (),
    "crawlers.exceptions": (),
    "crawlers.moment": (),
    "crawlers.signals": (),
    "crawlers.quiet": ("crawlers.moment",),
    "crawlers.setting_types": (),
    "crawlers.arguments": ("crawlers.exceptions", "crawlers.safety"),
    "crawlers.mapping": (
        *("crawlers.items", "crawlers.exceptions", "crawlers.safety", "crawlers.rdf", "crawlers.mapping"),
        *("crawlers.rules", "crawlers.arguments"),
    ),
    "crawlers.rules": ("crawlers.exceptions", "crawlers.safety", "crawlers.rules"),
    "crawlers.browser": (*STAND_ALONE, "crawlers.safety", "crawlers.politeness", "crawlers.spool", "crawlers.browser"),
    "crawlers.learn": (
        *("crawlers.exceptions", "crawlers.items", "crawlers.mapping", "crawlers.rules", "crawlers.html"),
        "crawlers.learn",
    ),
    "crawlers.html": (
        *(
            "crawlers.catalogue",
            "crawlers.listing",
            "crawlers.mapping",
            "crawlers.moment",
            "crawlers.items",
            "crawlers.exceptions",
            "crawlers.arguments",
        ),
        *("crawlers.failures", "crawlers.safety", "crawlers.rules", "crawlers.browser", "crawlers.dcat"),
        *("crawlers.index", "crawlers.rdf", "crawlers.signals", "crawlers.html"),
    ),
    "crawlers.rdf": ("crawlers.exceptions", "crawlers.safety", "crawlers.rdf"),
    "crawlers.spool": (*STAND_ALONE, "crawlers.spool"),
    "crawlers.politeness": (*STAND_ALONE, "crawlers.politeness"),
    "crawlers.safety": (*STAND_ALONE, "crawlers.safety"),
    "crawlers.resume": (*STAND_ALONE, "crawlers.resume"),
    "crawlers.locks": (),
    "crawlers.damaged_database": ("crawlers.locks",),
    "crawlers.index": (
        *(*STAND_ALONE, "crawlers.items", "crawlers.safety", "crawlers.resume", "crawlers.locks", "crawlers.index"),
        *("crawlers.mapping", "crawlers.damaged_database"),
    ),
    "crawlers.sources": (
        *(
            "crawlers.exceptions",
            "crawlers.moment",
            "crawlers.arguments",
            "crawlers.safety",
            "crawlers.catalogue",
            "crawlers.rules",
        ),
        *("crawlers.learn", "crawlers.rdf", "crawlers.mapping", "crawlers.html", "crawlers.runs", "crawlers.sources"),
        *("crawlers.dcat", "crawlers.locks", "crawlers.notify", "crawlers.setting_types"),
    ),
    "crawlers.runs": (
        *(*STAND_ALONE, "crawlers.locks", "crawlers.items", "crawlers.safety", "crawlers.index"),
        "crawlers.runs",
    ),
    "crawlers.harvest": (
        "crawlers.signals",
        *(
            "crawlers.exceptions",
            "crawlers.moment",
            "crawlers.sources",
            "crawlers.runs",
            "crawlers.safety",
            "crawlers.index",
            "crawlers.locks",
        ),
        *("crawlers.resume", "crawlers.notify", "crawlers.rules", "crawlers.harvest"),
    ),
    "crawlers.report": (*STAND_ALONE, "crawlers.index", "crawlers.runs", "crawlers.safety", "crawlers.report"),
    "crawlers.dashboard": (
        *STAND_ALONE,
        *("crawlers.index", "crawlers.runs", "crawlers.report", "crawlers.safety", "crawlers.dashboard"),
        *("crawlers.locks", "crawlers.damaged_database"),
    ),
    "crawlers.notify": (
        *(*STAND_ALONE, "crawlers.locks", "crawlers.runs", "crawlers.safety", "crawlers.index", "crawlers.notify"),
    ),
    "crawlers.httpcache": (*(*STAND_ALONE, "crawlers.damaged_database", "crawlers.politeness", "crawlers.httpcache"),),
    "crawlers.failures": ("crawlers.exceptions", "crawlers.politeness"),
    "crawlers.catalogue": (
        *STAND_ALONE,
        "crawlers.arguments",
        "crawlers.failures",
        "crawlers.index",
        "crawlers.items",
        "crawlers.listing",
        "crawlers.resume",
    ),
    "crawlers.listing": (*STAND_ALONE, "crawlers.listing"),
    "crawlers.errback": ("crawlers.catalogue",),
    "crawlers.declared_encoding": ("crawlers.catalogue",),
    "crawlers.ckan": (
        *(
            "crawlers.catalogue",
            "crawlers.listing",
            "crawlers.mapping",
            "crawlers.moment",
            "crawlers.items",
            "crawlers.exceptions",
            "crawlers.arguments",
        ),
        *("crawlers.failures", "crawlers.politeness", "crawlers.safety", "crawlers.ckan"),
        *("crawlers.index", "crawlers.resume", "crawlers.signals"),
    ),
    "crawlers.dcat": (
        *(
            "crawlers.catalogue",
            "crawlers.listing",
            "crawlers.mapping",
            "crawlers.moment",
            "crawlers.items",
            "crawlers.exceptions",
            "crawlers.arguments",
        ),
        *("crawlers.failures", "crawlers.safety", "crawlers.rdf", "crawlers.spool", "crawlers.index", "crawlers.dcat"),
        "crawlers.resume",
    ),
    "crawlers.export": (
        *("crawlers.items", "crawlers.exceptions", "crawlers.arguments", "crawlers.safety", "crawlers.index"),
        *("crawlers.mapping", "crawlers.rdf", "crawlers.export"),
    ),
    "crawlers.feeds": (*STAND_ALONE, "crawlers.items", "crawlers.safety"),
    "crawlers.progress": (),
    "crawlers.spider_loader": (),
    "crawlers.strict_command": (),
    "crawlers.settings": ("crawlers", "pipelines"),
    "crawlers.commands": ("crawlers", "pipelines"),
    "crawlers": (),
    "pipelines": (
        *STAND_ALONE,
        "crawlers.locks",
        "crawlers.items",
        "crawlers.safety",
        "crawlers.index",
        "crawlers.resume",
        "pipelines",
    ),
    "spiders": ("crawlers.ckan", "crawlers.dcat", "crawlers.html"),
}


def module(path: Path) -> str:
    return ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")


def imported(path: Path) -> set[str]:
    """The modules of this project that a file imports, ``TYPE_CHECKING`` ones too."""
    found = set()
    for node in ast.walk(ast.parse(path.read_bytes())):
        if isinstance(node, ast.Import):
            found |= {name.name for name in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert not node.level, f"{path}: relative import"
            found |= {f"{node.module}.{name.name}" for name in node.names} if node.module in ANY else {str(node.module)}
    return {name for name in found if name.split(".")[0] in ANY}


def room(name: str) -> str:
    return max((room for room in MAY_IMPORT if name == room or name.startswith(room + ".")), key=len)


@pytest.mark.parametrize("path", FILES, ids=module)
def test_who_may_import_whom(path):
    allowed = MAY_IMPORT[room(module(path))]
    wrong = {name for name in imported(path) if not name.startswith(tuple(allowed))}
    assert not wrong, f"{module(path)} may not import {wrong}"


@pytest.mark.parametrize("path", [path for path in FILES if "mapping" in path.parts], ids=module)
def test_a_mapping_is_pure(path):
    assert "scrapy" not in path.read_text(encoding="utf-8")


def test_the_mapping_runs_without_scrapy():
    modules = [module(path) for path in FILES if module(path).startswith("crawlers.mapping")]
    program = f"import {', '.join(modules)}, sys; print('scrapy' in sys.modules)"
    ran = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=True)
    assert ran.stdout == "False\n"


@pytest.mark.parametrize("name", SPIDERS.list())
def test_a_spider_is_a_declaration(name):
    spider = SPIDERS.load(name)
    path = Path(inspect.getfile(spider))
    assert issubclass(spider, CatalogueSpider)
    assert path.stem == name.replace("-", "_")
    assert spider.__doc__
    assert len(path.read_text(encoding="utf-8").splitlines()) <= 15
    assert not [value for value in vars(spider).values() if isinstance(value, list | dict | set)], "state on a class"
    assert all(argument.help.endswith(".") for argument in spider.arguments.values())


def test_functions_are_short():
    long = [
        f"{module(path)}.{node.name}"
        for path in FILES
        for node in ast.walk(ast.parse(path.read_bytes()))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and _length(node) > 30
    ]
    allowed = ["crawlers.mapping.ckan.dataset", "pipelines.report._report"]
    assert sorted(long) in ([], sorted(set(long) & set(allowed)))


def _length(node: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    return (node.end_lineno or 0) - node.lineno + 1


SELDOM = {"aiohttp", "flask", "jinja2", "markdownify", "nh3", "playwright", "prometheus_client", "pyarrow"}
SELDOM |= {"crawlers.export", "crawlers.harvest", "crawlers.learn", "crawlers.sources", "tomlkit", "waitress"}


def test_a_crawl_imports_nothing_that_few_crawls_need(tmp_path):
    """Scrapy would import all commands, and with them what they alone need, for each crawl."""
    words = ["-X", "importtime", "-m", "scrapy", "crawl", "dcat", "-a", "url=http://127.0.0.1:9/"]
    crawl = subprocess.run(
        [sys.executable, *words, "-s", f"OUTPUT_DIR={tmp_path}", "-s", "RETRY_TIMES=0"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    imported = {line.rpartition("|")[2].strip() for line in crawl.stderr.splitlines() if "import time:" in line}
    assert {"crawlers.exceptions", "pipelines.report", "rapidfuzz"} <= imported
    assert not SELDOM & imported
