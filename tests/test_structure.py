"""The house rules that a program can keep: who may import whom, and what a spider looks like."""

from __future__ import annotations

import ast
import inspect
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from pathlib import Path

import pytest
from scrapy.settings import Settings

from crawlers.listing.spider import CatalogueSpider
from crawlers.spider_loader import SpiderLoader

ROOT = Path(__file__).parent.parent
FILES = sorted(path for folder in ("crawlers", "pipelines", "spiders") for path in (ROOT / folder).rglob("*.py"))
SPIDERS = SpiderLoader.from_settings(Settings({"SPIDER_MODULES": ["spiders"], "KINDS_ENABLED": ["*"]}))

ANY = ("crawlers", "pipelines", "spiders")
FLOORS = (
    (
        "crawlers.exceptions",
        "crawlers.values.moment",
        "crawlers.items",
        "crawlers.signals",
        "crawlers.scrapy_internals",
    ),
    ("crawlers.safety",),
    ("crawlers.arguments", "crawlers.values", "crawlers.spool", "crawlers.politeness", "crawlers.s3"),
    ("crawlers.rdf", "crawlers.resume", "crawlers.browser", "crawlers.httpcache"),
    ("crawlers.kind",),
    ("crawlers.store",),
    ("crawlers.listing",),
    ("crawlers.kinds.ckan", "crawlers.kinds.dcat"),
    ("crawlers.xml_records",),
    (
        *("crawlers.kinds.html", "crawlers.kinds.waf", "crawlers.kinds.api", "crawlers.kinds.csw"),
        *("crawlers.kinds.oai", "crawlers.kinds.sdmx", "crawlers.kinds.sparql"),
    ),
    ("crawlers.kinds",),
    ("crawlers.archive", "crawlers.ecosystem", "crawlers.publish"),
    ("crawlers.extensions",),
    ("pipelines",),
    ("crawlers.operate",),
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
    ("crawlers.operate.sources.project_context", "crawlers.settings"),  # as Scrapy does: SCRAPY_SETTINGS_MODULE
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
        long: its functions of more than 30 lines.
        wide: its classes of more than 14 methods.
        tables: the names to which more than 25 lines are assigned, in one statement or in several.
        is_tiny: whether it has under forty lines, and one function.
    """

    imports: set[str]
    texts: list[str]
    long: list[str]
    wide: list[str]
    tables: list[str]
    is_tiny: bool


@cache
def facts(path: Path) -> Facts:
    source = path.read_bytes()
    tree, name = ast.parse(source), module(path)
    nodes = list(ast.walk(tree))
    defined = [node for node in tree.body if isinstance(node, (*FUNCTIONS, ast.ClassDef))]
    return Facts(
        imports=_imported(nodes, path),
        texts=[node.value for node in nodes if isinstance(node, ast.Constant) and isinstance(node.value, str)],
        long=[f"{name}.{node.name}" for node in nodes if isinstance(node, FUNCTIONS) and _length(node) > 30],
        wide=[f"{name}.{node.name}" for node in nodes if isinstance(node, ast.ClassDef) and _methods(node) > 14],
        tables=list(_tables(tree, name)),
        is_tiny=len(source.splitlines()) < 40 and len(defined) == 1 and isinstance(defined[0], FUNCTIONS),
    )


FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)


def _imported(nodes: list[ast.AST], path: Path) -> set[str]:
    found = set()
    for node in nodes:
        if isinstance(node, ast.Import):
            found |= {name.name for name in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert not node.level, f"{path}: relative import"
            found |= {f"{node.module}.{name.name}" for name in node.names} if node.module in ANY else {str(node.module)}
    return {name for name in found if name.split(".")[0] in ANY}


def _length(node: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    return (node.end_lineno or 0) - node.lineno + 1


def _methods(node: ast.ClassDef) -> int:
    return sum(isinstance(child, FUNCTIONS) for child in _statements(node))


def _statements(scope: ast.Module | ast.ClassDef) -> Iterator[ast.AST]:
    """What stands in a module or a class, below ``if`` and ``try`` too, but not within its functions and classes."""
    waiting: list[ast.AST] = [*scope.body]
    while waiting:
        node = waiting.pop(0)
        yield node
        if not isinstance(node, (*FUNCTIONS, ast.ClassDef)):
            waiting += ast.iter_child_nodes(node)


def _tables(scope: ast.Module | ast.ClassDef, name: str) -> Iterator[str]:
    lines: Counter[str] = Counter()
    for node in _statements(scope):
        if isinstance(node, ast.ClassDef):
            yield from _tables(node, f"{name}.{node.name}")
        elif isinstance(node, ast.Assign | ast.AnnAssign | ast.AugAssign):
            target = node.targets[0] if isinstance(node, ast.Assign) else node.target
            lines[ast.unparse(target)] += (node.end_lineno or 0) - node.lineno + 1
    yield from (f"{name}.{target}" for target, count in lines.items() if count > 25)


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


@pytest.mark.parametrize("path", FILES, ids=module)
def test_nobody_imports_upwards(path):
    here = room(module(path))
    texts = {name for name in named(path) if (module(path), name) not in BY_NAME_ONLY}
    there = {name: room(name) for name in facts(path).imports | texts}
    wrong = {name for name, other in there.items() if other not in ("", here) and not _is_below(other, here)}
    assert not wrong, f"{module(path)} may not import {wrong}"


def test_a_text_that_names_a_module_is_an_import():
    given = (
        "crawlers.operate.console",
        "crawlers.kinds.ckan.generic:CKAN",
        "crawlers.signals.KINDS",
        "crawlers.kinds.",
    )
    there = ["crawlers.operate.console", "crawlers.kinds.ckan.generic", "crawlers.signals", "crawlers.kinds"]
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


def _is_below(other: str, here: str) -> bool:
    if not here or (other in GROUND and here in GROUND):
        return True
    return ROOMS[other] < ROOMS[here]


MAPPINGS = ("crawlers.values", "crawlers.rdf", "crawlers.kinds.ckan.mapping", "crawlers.kinds.ckan.hdx")
MAPPINGS += ("crawlers.kinds.dcat.mapping", "crawlers.kinds.dcat.data_json.", "crawlers.kinds.html.mapping")
MAPPINGS += ("crawlers.kinds.html.schema_org", "crawlers.kinds.html.rules", "crawlers.kinds.api.mapping")
MAPPINGS += ("crawlers.kinds.api.normaliser", "crawlers.kinds.api.functions", "crawlers.kinds.api.expressions")
MAPPINGS += ("crawlers.kinds.api.declaration", "crawlers.kinds.api.file", "crawlers.kinds.api.answers")
MAPPINGS += ("crawlers.kinds.api.compiled", "crawlers.kinds.api.table", "crawlers.kinds.api.listing_table")
NAMES_SCRAPY = ("import scrapy", "from scrapy", "scrapy.")


@pytest.mark.parametrize("path", [path for path in FILES if module(path).startswith(MAPPINGS)], ids=module)
def test_a_mapping_is_pure(path):
    text = path.read_text(encoding="utf-8")
    assert not [name for name in NAMES_SCRAPY if name in text]


def test_the_mapping_runs_without_scrapy():
    modules = [module(path) for path in FILES if module(path).startswith(MAPPINGS)]
    program = f"import {', '.join(modules)}, sys; print('scrapy' in sys.modules)"
    ran = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=True)
    assert ran.stdout == "False\n"


@pytest.mark.parametrize("name", SPIDERS.list())
def test_a_spider_is_a_declaration(name):
    spider = SPIDERS.load(name)
    path = Path(inspect.getfile(spider))
    assert issubclass(spider, CatalogueSpider)
    assert path.stem in (name.replace("-", "_"), "generic")
    assert spider.__doc__
    assert len(path.read_text(encoding="utf-8").splitlines()) <= 15
    assert not [value for value in vars(spider).values() if isinstance(value, list | dict | set)], "state on a class"
    assert all(argument.help.endswith(".") for argument in spider.arguments.values())


COUNTING = re.compile(r"\b(?:count|sum|max|min)\s*\(|\bGROUP BY\b", re.IGNORECASE)


def test_pages_commands_and_metrics_count_nothing_themselves():
    """Each count has one query, in `crawlers.store`: a number is the same wherever it is shown."""
    shown = ("report", "dashboard", "notify", "commands", "sources", "harvest")
    files = [path for name in shown for path in (ROOT / "crawlers" / "operate" / name).rglob("*.py")]
    texts = {path: [text for text in facts(path).texts if "SELECT" in text and COUNTING.search(text)] for path in files}
    assert not {module(path): found for path, found in texts.items() if found}


def test_functions_are_short():
    long = [name for path in FILES for name in facts(path).long]
    allowed = ["crawlers.kinds.ckan.mapping.dataset"]
    assert sorted(long) in ([], sorted(set(long) & set(allowed)))


# The shape of the house


def test_the_top_level_is_as_drawn():
    tracked = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=False).stdout.split()
    folders = {name.partition("/")[0] for name in tracked if "/" in name and not name.startswith(".")}
    assert folders in (set(), {"benchmarks", "catalogues", "crawlers", "docs", "pipelines", "spiders", "tests"})
    rooms = {path.name for path in (ROOT / "crawlers").iterdir() if path.is_dir() and (path / "__init__.py").exists()}
    parts = {
        "archive",
        "browser",
        "ecosystem",
        "httpcache",
        "politeness",
        "publish",
        "rdf",
        "resume",
        "s3",
        "safety",
        "scrapy_internals",
        "spool",
        "values",
        "xml_records",
    }
    assert rooms == {"extensions", "kinds", "listing", "operate", "store"} | parts


def test_at_most_eight_files_stand_at_the_top():
    assert len([path for path in (ROOT / "crawlers").glob("*.py") if path.name != "__init__.py"]) <= 8


TINY = {
    "crawlers.__main__",
    *(f"crawlers.operate.dashboard.pages.{name}" for name in ("runs", "sources")),
    "crawlers.store.export.writers",
}
"""A file of under forty lines that holds one function: Python runs the one, each page of the dashboard has a file, the
last has a table, too."""
AS_CODE = frozenset(
    {
        "crawlers.browser.scripts.FIND",
        "crawlers.store.export.croissant.CONTEXT",
        "crawlers.store.index.schema.TABLES",
        "crawlers.store.index.views.VIEWS",
    }
)
"""Tables of more than 25 lines that are code: texts of messages beside their names, SQL, JavaScript, settings."""


def test_classes_have_at_most_fourteen_methods():
    assert not [name for path in FILES for name in facts(path).wide]


@pytest.mark.parametrize("name", sorted(MODULES))
def test_chains_of_classes_are_short(name):
    """A generic spider, its protocol's, that of listings in pages, that of all catalogues."""
    defined = (one for one in vars(import_module(name)).values() if inspect.isclass(one) and one.__module__ == name)
    chains = {one: [above for above in one.__mro__ if above.__module__.split(".")[0] in ANY] for one in defined}
    assert not {one: chain for one, chain in chains.items() if len(chain) > 4}


def test_a_small_function_joins_its_noun():
    assert {module(path) for path in FILES if facts(path).is_tiny} == TINY


def test_tables_are_data():
    assert {name for path in FILES for name in facts(path).tables} == AS_CODE
