"""The house rules that a program can keep: who may import whom, and what a spider looks like."""

from __future__ import annotations

import ast
import csv
import inspect
import re
import subprocess
import sys
import tomllib
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest
from scrapy.settings import Settings

from crawlers.exceptions import ExtraError
from crawlers.fleet import PACKAGES, load
from crawlers.listing.spider import CatalogueSpider
from crawlers.spider_loader import SpiderLoader

ROOT = Path(__file__).parent.parent
FILES = sorted(path for folder in ("crawlers", "pipelines", "spiders") for path in (ROOT / folder).rglob("*.py"))
SPIDERS = SpiderLoader.from_settings(Settings({"SPIDER_MODULES": ["spiders"], "KINDS_ENABLED": ["*"]}))

ANY = ("crawlers", "pipelines", "spiders")
FLOORS = (
    (
        "crawlers.exceptions",
        "crawlers.records.moment",
        "crawlers.fields",
        "crawlers.items",
        "crawlers.signals",
        "crawlers.causes",
        "crawlers.components.scrapy_internals",
    ),
    ("crawlers.safety",),
    ("crawlers.components",),
    ("crawlers.arguments", "crawlers.records", "crawlers.s3", "crawlers.fleet"),
    ("crawlers.kind",),
    ("crawlers.store",),
    ("crawlers.fleet.store",),
    ("crawlers.listing",),
    ("crawlers.kinds.ckan", "crawlers.kinds.dcat"),
    ("crawlers.records.xml",),
    (
        *("crawlers.kinds.html", "crawlers.kinds.waf", "crawlers.kinds.api", "crawlers.kinds.csw"),
        *("crawlers.kinds.oai", "crawlers.kinds.sdmx", "crawlers.kinds.sparql"),
    ),
    ("crawlers.kinds",),
    ("crawlers.archive", "crawlers.ecosystem", "crawlers.publish"),
    ("crawlers.extensions",),
    ("pipelines",),
    ("crawlers.operate",),
    ("crawlers.fleet.worker", "crawlers.fleet.storing"),
    ("crawlers.spider_loader",),
    ("crawlers.settings",),
    ("crawlers.__main__",),
    ("spiders",),
)
"""The house from the ground up: nobody imports from a floor above, or from another room of the same floor."""
GROUND = FLOORS[0]
BY_NAME_ONLY = {
    ("crawlers.archive.spider", "pipelines.archive"),  # Scrapy's setting of that spider: files take another way to disk
    ("crawlers.kind", "crawlers.kinds"),  # the registry asks the list of kinds, which names each of them
    ("crawlers.operate.sources.source", "crawlers.settings"),  # as Scrapy does: SCRAPY_SETTINGS_MODULE
}
"""Who may name a module above as a text, which is imported when it is needed."""
ROOMS = {name: floor for floor, rooms in enumerate(FLOORS) for name in rooms}


def module(path: Path) -> str:
    return ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")


MODULES = frozenset(map(module, FILES))


@dataclass
class Facts:
    """What a file has.

    Attributes:
        imports: the modules of this project that it imports, ``TYPE_CHECKING`` ones too.
        texts: its texts.
    """

    imports: set[str]
    texts: list[str]


@cache
def facts(path: Path) -> Facts:
    nodes = list(ast.walk(ast.parse(path.read_bytes())))
    texts = [node.value for node in nodes if isinstance(node, ast.Constant) and isinstance(node.value, str)]
    return Facts(imports=_imported(nodes, path), texts=texts)


def _imported(nodes: list[ast.AST], path: Path) -> set[str]:
    found = set()
    for node in nodes:
        if isinstance(node, ast.Import):
            found |= {name.name for name in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert not node.level, f"{path}: relative import"
            names = {f"{node.module}.{name.name}" for name in node.names}
            found |= names if node.module in ANY else {name if name in MODULES else str(node.module) for name in names}
    return {name for name in found if name.split(".")[0] in ANY}


def named(path: Path) -> set[str]:
    """The modules of this project that a file has as a text: ``package.module``, ``package.module:object``."""
    return {found for text in facts(path).texts if (found := _module_of(text))}


def _module_of(text: str) -> str | None:
    """The module that a dotted name begins with, or what stands before the blank of f"crawlers.kinds.{name}"."""
    dotted = re.fullmatch(r"(\w+(?:\.\w+)+)\.?(?::[\w.]*)?", text)
    words = dotted[1].split(".") if dotted else []
    names = (".".join(words[:last]) for last in range(len(words), 0, -1))
    return next((name for name in names if name in MODULES), None)


def room(name: str) -> str:
    return max((room for room in ROOMS if name == room or name.startswith(room + ".")), key=len, default="")


def test_every_file_stands_on_a_floor():
    named_by_a_folder_above = {"crawlers", "crawlers.operate", "crawlers.store"}
    assert {module(path) for path in FILES if not room(module(path))} <= named_by_a_folder_above


def test_nobody_imports_upwards():
    imported = {(module(path), name) for path in FILES for name in facts(path).imports}
    used = imported | ({(module(path), name) for path in FILES for name in named(path)} - BY_NAME_ONLY)
    wrong = {f"{name} imports {other}" for name, other in used if not _may_import(room(name), room(other))}
    assert wrong == set()


def test_the_fleet_is_loaded_by_its_function_alone():
    """It is an extra: what is imported with any other module may not need its packages."""
    packages = ("deltalake", "procrastinate", "psycopg")
    imported = {
        (module(path), name)
        for path in FILES
        if not module(path).startswith("crawlers.fleet")
        for name in _at_run_time(path)
        if name.startswith("crawlers.fleet") or name.partition(".")[0] in packages
    }
    assert {name for _, name in imported} == {"crawlers.fleet.load"}


def _at_run_time(path: Path) -> set[str]:
    """Return what a file imports, wherever it does, but for the types."""
    tree = ast.parse(path.read_bytes())
    typed = [one for one in ast.walk(tree) if isinstance(one, ast.If) and ast.unparse(one.test) == "TYPE_CHECKING"]
    nodes = {*ast.walk(tree)} - {node for one in typed for node in ast.walk(one)}
    plain = {name.name for node in nodes if isinstance(node, ast.Import) for name in node.names}
    return plain | {
        f"{node.module}.{name.name}" for node in nodes if isinstance(node, ast.ImportFrom) for name in node.names
    }


def test_what_the_fleet_lacks_is_said_in_a_sentence(monkeypatch):
    monkeypatch.delitem(sys.modules, "crawlers.fleet.queue", raising=False)
    monkeypatch.setitem(sys.modules, "procrastinate", None)
    with pytest.raises(ExtraError) as told:
        load("queue", "QUEUE")
    assert str(told.value) == "QUEUE needs procrastinate, of the extra fleet: pip install 'catalogue-crawlers[fleet]'."
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["optional-dependencies"]
    assert {re.split(r"\W", one)[0] for one in extras["fleet"]} == {*PACKAGES} - {"psycopg_pool"}


def test_rooms_have_no_circle_of_imports():
    """What works for a spider gets a `Crawl`, or what it needs of it; ``TYPE_CHECKING`` imports count."""
    files = {module(path): path for path in FILES}
    rooms = ("crawlers.listing.", "crawlers.kinds.", "crawlers.archive.", "crawlers.operate.archive.")
    names = {name for name in files if name.startswith(rooms)}
    imports = {name: facts(files[name]).imports & names - {name} for name in names}
    circled = {name for name in names if name in _reached(name, imports)}
    assert circled == set()


def _reached(name: str, imports: dict[str, set[str]]) -> set[str]:
    """Return what a module imports, at any number of steps."""
    found: set[str] = set()
    waiting = [name]
    while waiting:
        new = imports[waiting.pop()] - found
        found |= new
        waiting += new
    return found


def test_a_text_that_names_a_module_is_an_import():
    given = (
        "crawlers.operate.console",
        "crawlers.kinds.ckan.spider:CKAN",
        "crawlers.causes.KINDS",
        "crawlers.kinds.",
    )
    there = ["crawlers.operate.console", "crawlers.kinds.ckan.spider", "crawlers.causes", "crawlers.kinds"]
    assert [_module_of(text) for text in given] == there
    assert not any(map(_module_of, ("crawlers", "scrapy.http", "see crawlers.kinds.", "https://crawlers.kinds/")))


def test_every_name_of_a_module_above_is_needed():
    used = {(module(path), name) for path in FILES for name in named(path)}
    assert used >= BY_NAME_ONLY


def test_the_page_draws_the_floors():
    page = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    table = page.partition("| Floor, from the top |")[2].partition("\n\n")[0]
    drawn = [re.findall(r"`([^`]+)`", row.split(" | ")[0]) for row in table.splitlines()[2:]]
    floors = [[module(ROOT / name) for name in row] for row in reversed(drawn)]
    assert list(map(sorted, floors)) == list(map(sorted, FLOORS))


def _may_import(here: str, other: str) -> bool:
    if not here or other in ("", here) or (other in GROUND and here in GROUND):
        return True
    return ROOMS[other] < ROOMS[here]


MAPPINGS = ("crawlers.records.values", "crawlers.records.rdf", "crawlers.kinds.ckan.mapping", "crawlers.kinds.ckan.hdx")
MAPPINGS += ("crawlers.records.dcat", "crawlers.records.data_json.", "crawlers.kinds.html.mapping")
MAPPINGS += ("crawlers.records.schema_org", "crawlers.kinds.html.rules", "crawlers.kinds.api.mapping")
MAPPINGS += ("crawlers.kinds.api.expressions", "crawlers.kinds.api.declaration", "crawlers.kinds.api.file")
NAMES_SCRAPY = ("import scrapy", "from scrapy", "scrapy.")


def test_a_mapping_is_pure():
    paths = {module(path): path for path in FILES if module(path).startswith(MAPPINGS)}
    texts = {name: path.read_text(encoding="utf-8") for name, path in paths.items()}
    assert [name for name, text in texts.items() if any(word in text for word in NAMES_SCRAPY)] == []


def test_the_mapping_runs_without_scrapy():
    modules = [module(path) for path in FILES if module(path).startswith(MAPPINGS)]
    program = f"import {', '.join(modules)}, sys; print('scrapy' in sys.modules)"
    ran = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=True)
    assert ran.stdout == "False\n"


def test_a_spider_is_a_declaration():
    assert {name: wrong for name in SPIDERS.list() if (wrong := _undeclared(SPIDERS.load(name)))} == {}


def _undeclared(spider: type[CatalogueSpider]) -> list[str]:
    """Return what keeps a spider from being a declaration."""
    is_there = {
        "another file": Path(inspect.getfile(spider)).stem in (spider.name.replace("-", "_"), "generic", "spider"),
        "no kind of catalogue": issubclass(spider, CatalogueSpider),
        "no docstring": bool(spider.__doc__),
        "state on a class": not any(isinstance(value, list | dict | set) for value in vars(spider).values()),
        "help without an end": all(argument.help.endswith(".") for argument in spider.arguments.values()),
    }
    return [what for what, is_right in is_there.items() if not is_right]


COUNTING = re.compile(r"\b(?:count|sum|max|min)\s*\(|\bGROUP BY\b", re.IGNORECASE)


def test_pages_commands_and_metrics_count_nothing_themselves():
    """Each count has one query, in `crawlers.store`: a number is the same wherever it is shown."""
    shown = ("report", "dashboard", "notify", "commands", "sources", "harvest")
    files = [path for name in shown for path in (ROOT / "crawlers" / "operate" / name).rglob("*.py")]
    texts = {path: [text for text in facts(path).texts if "SELECT" in text and COUNTING.search(text)] for path in files}
    assert not {module(path): found for path, found in texts.items() if found}


# The shape of the house


def test_the_top_level_is_as_drawn():
    tracked = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=False).stdout.split()
    folders = {name.partition("/")[0] for name in tracked if "/" in name and not name.startswith(".")}
    assert folders in (set(), {"benchmarks", "catalogues", "crawlers", "docs", "pipelines", "spiders", "tests"})
    rooms = {path.name for path in (ROOT / "crawlers").iterdir() if path.is_dir() and (path / "__init__.py").exists()}
    parts = {"archive", "components", "ecosystem", "fleet", "publish", "records", "s3", "safety"}
    assert rooms == {"extensions", "kinds", "listing", "operate", "store"} | parts


def test_each_rule_of_evidence_has_a_test_for_each_kind_that_it_concerns():
    """evidence.csv says which; a rule that holds for all kinds is shown with a fake one."""
    with (ROOT / "tests" / "evidence.csv").open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    kinds = {path.name for path in (ROOT / "crawlers" / "kinds").iterdir() if path.is_dir()}
    assert {row["kind"] for row in rows} - {"all"} == kinds - {"__pycache__"}
    lacking = [
        row["test"]
        for row in rows
        for file, _, name in [row["test"].partition("::")]
        if f"def {name}(" not in (ROOT / "tests" / file).read_text(encoding="utf-8")
    ]
    assert lacking == []
