"""The documentation names what the code has: whoever adds a setting, an argument or a field is told where to say it."""

from __future__ import annotations

import ast
import re
import tomllib
from collections.abc import Iterator
from dataclasses import fields
from itertools import chain, pairwise
from pathlib import Path
from types import SimpleNamespace
from typing import get_args, get_type_hints

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from scrapy.settings import Settings

from crawlers import items, settings, signals
from crawlers.ecosystem.extensions.repositories import STATES as REPOSITORY_STATES
from crawlers.ecosystem.profiles import feed_fields
from crawlers.ecosystem.sites.spider import STATES as SITE_STATES
from crawlers.extensions.error_log import error_line
from crawlers.extensions.report import COUNTS
from crawlers.extensions.run_report import run_report
from crawlers.items import Dataset, Export, Stored
from crawlers.kind import registered
from crawlers.kinds.api import declaration as api
from crawlers.kinds.api.declaration import (
    CHECKS,
    DATASET_FIELDS,
    WALKS,
    Count,
    Declaration,
    Follow,
    Listing,
    Recognition,
    Resources,
    Restart,
    Size,
    Window,
)
from crawlers.kinds.api.file import shipped
from crawlers.kinds.api.functions import NAMES as FUNCTIONS
from crawlers.kinds.ckan.exports import LEVELS
from crawlers.kinds.html.rules.paging import WAYS
from crawlers.kinds.html.rules.rules import FIELDS, RESOURCE_FIELDS, Links, Paging, Rule, Rules
from crawlers.listing.state import RunState, stat
from crawlers.operate.sources.source import REVIEWS
from crawlers.publish import change
from crawlers.publish.journal import Phase
from crawlers.spider_loader import SpiderLoader
from crawlers.store.index.schema import TABLES as INDEX_TABLES
from crawlers.store.index.views import VIEWS as INDEX_VIEWS
from crawlers.store.runs import STATES as RUN_STATES
from crawlers.store.runs.verdict import EXIT_CODES
from pipelines.manifest import Manifest
from tests.installed import needed

ROOT = Path(__file__).parent.parent
DOCS = ROOT / "docs"
PAGES = [
    *(ROOT / f"{name}.md" for name in ("README", "CHANGELOG", "CONTRIBUTING", "SECURITY")),
    *sorted(DOCS.glob("*.md")),
]
SPIDERS = SpiderLoader.from_settings(Settings({"SPIDER_MODULES": ["spiders"], "KINDS_ENABLED": ["*"]}))

_FENCED = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)
_LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")


# Reading the pages


def text(page: Path) -> str:
    return page.read_text(encoding="utf-8")


def prose(page: Path) -> str:
    """A page without its blocks of code."""
    return _FENCED.sub("", text(page))


def code(page: Path) -> str:
    """What stands in backticks within a page's prose."""
    return "\n".join(re.findall(r"`([^`\n]+)`", prose(page)))


def plain(markdown: str) -> str:
    """The words of a page, without the marks of code and bold, and links by their text."""
    return re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", markdown).replace("`", "").replace("**", "")


def title(heading: str) -> str:
    return heading.replace("`", "").strip()


def section(page: Path, heading: str) -> str:
    """What is below a heading of the second level."""
    parts = re.split(r"^## (.+)$", prose(page), flags=re.MULTILINE)
    return dict(zip(map(title, parts[1::2]), parts[2::2], strict=True))[heading]


def rows(markdown: str) -> dict[str, str]:
    """The rows of its tables, and the items of its lists, by what is in backticks in front."""
    return {found[1]: found[0] for found in re.finditer(r"^(?:\| |- )`([^`]+)`(?: \||:).*$", markdown, re.MULTILINE)}


def named(markdown: str) -> set[str]:
    """All that is in backticks in the first column of its tables: a row may be about several names."""
    firsts = re.findall(r"^\| (`[^|]+`) \|", markdown, re.MULTILINE)
    return {name for first in firsts for name in re.findall(r"`([^`]+)`", first)}


def anchors(page: Path) -> set[str]:
    """As GitHub makes them: lower case, no punctuation, hyphens for blanks."""
    headings = re.findall(r"^#+ (.+)$", prose(page), re.MULTILINE)
    return {re.sub(r"[^\w -]", "", heading.lower()).strip().replace(" ", "-") for heading in headings}


# Asking the code


def manifest_fields(item: Dataset | Export) -> list[str]:
    stored = Stored(file="f", status="new", sha256="", bytes=0)
    return list(Manifest._line(SimpleNamespace(report=SimpleNamespace(run="r"), time="t"), item, stored))


def error_fields() -> list[str]:
    return list(error_line(signals.Failed(stage="list", kind="http", error="e"), "r"))


def report_fields() -> list[str]:
    crawler = SimpleNamespace(
        spider=SimpleNamespace(source="s", name="s", kind="", given={}),
        stats=SimpleNamespace(get_value=lambda _name, default=None: default),
        settings={"BOT_NAME": "b", "VERSION": "v"},
    )
    job = SimpleNamespace(resumed=False, state={"manifest_bytes": 0, "errors_bytes": 0})
    known = {"run": "r", "started": "s", "verdict": "complete", "ends": {"manifest_end": 0, "errors_end": 0}}
    report = SimpleNamespace(crawler=crawler, job=job, state=RunState(), **known)
    return list(run_report(report, "finished", {}, {}, None))


def setting_names() -> list[str]:
    return [name for name in vars(settings) if name.isupper() and not name.startswith("_")]


def commands() -> list[str]:
    return sorted(path.stem for path in (ROOT / "crawlers" / "operate" / "commands").glob("[!_]*.py"))


def item_fields() -> list[tuple[str, str]]:
    described = (items.Agent, items.Place, items.Period, items.License, items.Checksum, items.Capture)
    kinds = (items.Dataset, items.Resource, *described)
    profiles = [(kind.__name__, name) for kind in (items.Site, items.Extension) for name in feed_fields(kind)]
    return [(kind.__name__, field.name) for kind in kinds for field in fields(kind) if field.name != "body"] + profiles


def stats() -> set[str]:
    """Every stat of ours that the code sets."""
    sources = "".join(text(path) for room in ("crawlers", "pipelines") for path in (ROOT / room).rglob("*.py"))
    counted = set(re.findall(r'(?:set|inc|max)_value\("(catalogue/\w+)"', sources))
    return counted | {stat(field.name) for field in fields(RunState)}


def rules_keys(table: type) -> set[str]:
    """The keys that a table of a rules file takes: the fields of what it becomes, but for what those are made of."""
    made = {
        "name",
        "text",
        "labels",
        "by_label",
        "otherwise",
        "kind",
        "address",
        "fields",
        "extras",
        "resources",
        "paging",
        "links",
    }
    return {field.name for field in fields(table)} - made


def declared() -> dict[str, list[str]]:
    """The requirements in pyproject.toml, by extra; those of none by an empty text."""
    project = tomllib.loads(text(ROOT / "pyproject.toml"))["project"]
    return {"": project["dependencies"], **project["optional-dependencies"]}


def pinned(page: str) -> set[str]:
    """The packages of a file, as PyPI normalises their names."""
    return {canonicalize_name(name) for name in re.findall(r"^([\w.-]+)==", page, re.MULTILINE)}


# Every name is on the page that is responsible for it


OF_NO_CATALOGUE = {"archive": "archive.md", "ckan_extensions": "ecosystem.md", "ckan_sites": "ecosystem.md"}
"""The spiders that crawl no catalogue of datasets, and the pages with their arguments."""


@pytest.mark.parametrize(
    ("spider", "argument"), [(name, one) for name in SPIDERS.list() for one in SPIDERS.load(name).arguments]
)
def test_an_argument_is_described(spider, argument):
    page = text(DOCS / OF_NO_CATALOGUE.get(spider, "arguments.md"))
    assert argument in rows(page), f"-a {argument}= of {spider}"


@pytest.mark.parametrize("level", LEVELS)
def test_a_level_is_described(level):
    assert f"`{level}`" in rows(text(DOCS / "arguments.md"))["level"]


@pytest.mark.parametrize("name", setting_names())
def test_a_setting_is_described_with_its_default(name):
    described = rows(prose(DOCS / "settings.md"))
    assert name in described
    default = getattr(settings, name)
    if isinstance(default, str | int | float) and default != "" and str(ROOT) not in str(default):
        assert f"| `{default}` |" in described[name]


def test_no_setting_is_described_that_is_not_there():
    assert set(rows(prose(DOCS / "settings.md"))) == set(setting_names())


def test_every_spider_of_a_catalogue_is_listed_with_its_address():
    listed = rows(text(DOCS / "catalogues.md"))
    declared = {path.stem for path in (ROOT / "spiders").glob("[!_]*.py")} - OF_NO_CATALOGUE.keys()
    assert {name for name in listed if name in declared} == declared
    addresses = [getattr(SPIDERS.load(name), SPIDERS.load(name).address) for name in declared]
    assert not [address for address in addresses if f"`: {address}\n" not in text(DOCS / "catalogues.md")]


WALK = re.findall(r"`([\w/]+\.py):(\d+)` `([\w.]+)`", text(DOCS / "architecture.md"))


def test_the_walk_is_short():
    rooms = re.findall(r"^\| \d \| `([\w/]+)` \|", text(DOCS / "architecture.md"), re.MULTILINE)
    changes = sum(before != after for before, after in pairwise(rooms))
    assert len(rooms) > 10
    assert changes <= 8


@pytest.mark.parametrize(("file", "line", "name"), WALK)
def test_a_step_of_the_walk_is_where_the_page_says(file, line, name):
    body = ast.parse(text(ROOT / file)).body
    for part in name.split("."):
        (node,) = [node for node in body if getattr(node, "name", None) == part]
        body = getattr(node, "body", [])
    assert abs(node.lineno - int(line)) <= 20, f"{name} is in line {node.lineno}"


@pytest.mark.parametrize("name", commands())
def test_a_command_has_its_section(name):
    assert section(DOCS / "commands.md", f"scrapy {name}")


@pytest.mark.parametrize("kind", signals.KINDS)
def test_a_kind_of_error_has_a_section_on_how_to_fix_it(kind):
    described = plain(section(DOCS / "errors.md", kind))
    assert signals.KINDS[kind] in described
    assert f"Fix: {signals.ADVICE[kind]}" in described


@pytest.mark.parametrize("kind", signals.KINDS)
def test_a_kind_of_error_has_an_example(kind):
    (found,) = re.findall(rf"^## `{kind}`\n(.*?)(?:^## |\Z)", text(DOCS / "errors.md"), re.MULTILINE | re.DOTALL)
    assert re.search(r"^`[^`]+`$", found, re.MULTILINE)


def test_the_sections_are_those_of_the_kinds_and_each_is_linked():
    assert anchors(DOCS / "errors.md") - {"errors-and-how-to-fix-them"} == signals.KINDS.keys()
    listed = section(DOCS / "reading-a-crawl.md", "Kinds of errors")
    assert sorted(re.findall(r"\(errors\.md#(\w+)\)", listed)) == sorted(signals.KINDS)


OTHER_STATES = (REVIEWS, get_args(items.State), SITE_STATES, REPOSITORY_STATES, get_args(Phase), get_args(change.State))
GLOSSARY = {
    "Verdicts": EXIT_CODES.keys(),
    "States": (set(RUN_STATES) - EXIT_CODES.keys()).union(*OTHER_STATES),
    "Statuses of a document": get_args(items.Status),
    "Kinds of catalogue": registered().keys(),
}


@pytest.mark.parametrize("heading", GLOSSARY)
def test_the_glossary_has_the_words_of_the_code(heading):
    assert rows(section(DOCS / "glossary.md", heading)).keys() == set(GLOSSARY[heading])


def test_the_glossary_links_the_kinds_of_errors():
    listed = section(DOCS / "glossary.md", "Kinds of errors")
    assert re.findall(r"\[`(\w+)`\]\(errors\.md#\1\)", listed) == list(signals.KINDS)


WORDS = "catalogue portal source dataset resource document listing export run ledger manifest index withdrawn"


@pytest.mark.parametrize("word", WORDS.split())
def test_a_word_of_the_contract_is_in_the_glossary(word):
    assert re.search(rf"^\| (?:[\w ]+, )?{word}\b[^|]*\|", section(DOCS / "glossary.md", "Words"), re.MULTILINE)


@pytest.mark.parametrize(("verdict", "exit_code"), EXIT_CODES.items())
def test_a_verdict_is_described_with_its_exit_code(verdict, exit_code):
    row = rows(section(DOCS / "reading-a-crawl.md", "Verdicts and exit codes"))[verdict]
    assert row.startswith(f"| `{verdict}` | {exit_code} |")


@pytest.mark.parametrize("name", sorted(stats()))
def test_a_stat_is_described(name):
    assert name in named(section(DOCS / "reading-a-crawl.md", "Numbers while it runs"))


def test_no_stat_is_described_that_is_not_there():
    assert named(section(DOCS / "reading-a-crawl.md", "Numbers while it runs")) == stats()


@pytest.mark.parametrize("stage", get_args(signals.Stage))
def test_a_stage_is_described(stage):
    assert stage in rows(section(DOCS / "reading-a-crawl.md", "Stages"))


@pytest.mark.parametrize("status", get_args(items.Status))
def test_a_status_is_described(status):
    assert status in rows(section(DOCS / "incremental.md", "What happens to a dataset"))


@pytest.mark.parametrize("table", re.findall(r"CREATE (?:VIRTUAL )?TABLE IF NOT EXISTS (\w+)", INDEX_TABLES))
def test_a_table_of_the_index_is_described(table):
    assert table in rows(section(DOCS / "search.md", "Tables"))


@pytest.mark.parametrize("view", INDEX_VIEWS)
def test_a_view_of_the_index_is_described(view):
    assert view in rows(section(DOCS / "search.md", "Views"))


@pytest.mark.parametrize(("kind", "field"), item_fields())
def test_a_field_of_an_item_is_described(kind, field):
    assert field in named(section(DOCS / "items.md", kind))


@pytest.mark.parametrize(
    ("heading", "names"),
    [
        ("manifest.jsonl", manifest_fields(Dataset(source="s", id="i"))),
        ("manifest.jsonl", manifest_fields(Export(kind="resource_metadata", source="s", dataset_id="i"))),
        ("errors.jsonl", error_fields()),
        ("Run reports", report_fields()),
    ],
    ids=["dataset line", "export line", "error line", "report"],
)
def test_the_fields_of_a_line_are_described_in_order(heading, names):
    assert list(rows(section(DOCS / "output.md", heading))) == names


@pytest.mark.parametrize("name", [*COUNTS, "failed", *get_args(signals.Stage), *get_args(items.Kind)])
def test_a_value_of_a_field_is_named(name):
    assert name in code(DOCS / "output.md").split()


def test_a_dependency_has_its_reason():
    tools = text(ROOT / "requirements-dev.txt").partition("\n\n")[0]
    named = {canonicalize_name(Requirement(one).name) for one in chain.from_iterable(declared().values())}
    assert set(map(canonicalize_name, rows(prose(DOCS / "dependencies.md")))) == named | pinned(tools)


def test_what_is_pinned_is_what_is_declared_and_what_that_brings():
    here = [requirement for extra in ("", "browser", "s3") for requirement in declared()[extra]]
    assert pinned(text(ROOT / "requirements.txt")) == needed(here)
    assert needed(declared()["parquet"]) <= pinned(text(ROOT / "requirements.txt"))


@pytest.mark.parametrize(
    "key", sorted({*rules_keys(Rules), *rules_keys(Links), *rules_keys(Paging), *rules_keys(Rule)})
)
def test_a_key_of_a_rules_file_is_described(key):
    assert key in rows(prose(DOCS / "html.md")) or f"`{key}`" in prose(DOCS / "html.md")


@pytest.mark.parametrize("way", WAYS)
def test_a_way_of_paging_is_described(way):
    assert way in rows(section(DOCS / "html.md", "How a listing goes on"))


@pytest.mark.parametrize("name", [*FIELDS, *RESOURCE_FIELDS])
def test_a_field_of_a_rules_file_is_named(name):
    assert f"`{name}`" in section(DOCS / "html.md", "The rules file")


DECLARED = (Declaration, Listing, api.Paging, Size, Window, Restart, Count, Follow, Resources, Recognition)
NO_KEYS = {"text", "name", "fields", "resources"}
"""What a declaration has that is no key of its file: ``fields`` are the item's."""


@pytest.mark.parametrize("key", sorted({one.name for part in DECLARED for one in fields(part)} - NO_KEYS))
def test_a_key_of_a_declaration_is_described(key):
    assert key in rows(prose(DOCS / "api.md"))


@pytest.mark.parametrize(
    ("heading", "name"),
    [*(("Dataset", name) for name in DATASET_FIELDS), *(("Resource", name) for name in api.RESOURCE_FIELDS)],
)
def test_a_field_of_a_declaration_is_one_of_an_item(heading, name):
    assert "(items.md#dataset)" in section(DOCS / "api.md", "A declaration, key by key")
    assert name in named(section(DOCS / "items.md", heading))


@pytest.mark.parametrize("name", [*FUNCTIONS, *CHECKS, *WALKS, *shipped()])
def test_what_a_declaration_names_is_in_the_docs(name):
    assert re.search(rf"\b{re.escape(name)}\b", code(DOCS / "api.md"))


def test_the_paging_of_declarations_is_described():
    kinds = get_args(get_type_hints(api.Paging)["kind"])
    assert set(kinds) <= set(rows(prose(DOCS / "api.md")))


# What a part needs in another project

PARTS = {
    **dict.fromkeys(("browser", "rdf"), "architecture"),
    **dict.fromkeys(("safety", "spool"), "safety"),
    **{part: part for part in ("httpcache", "politeness", "resume")},
}
"""The page that has the sentence on each part."""


@pytest.mark.parametrize("part", PARTS)
def test_a_part_needs_what_its_page_lists(part):
    sentence = rf"`crawlers/{part}` needs (.+) of this project\."
    (listed,) = re.findall(sentence, prose(DOCS / f"{PARTS[part]}.md"))
    needed = {Path(*path.relative_to(ROOT).parts[:2]).as_posix() for path in needs(part)}
    assert re.findall(r"`([^`]+)`", listed) == sorted(needed - {f"crawlers/{part}"})


def needs(part: str) -> set[Path]:
    """The files that a part imports and those import in turn, the packages around them too; not for types alone."""
    waiting, found = [*(ROOT / "crawlers" / part).rglob("*.py")], set()
    while waiting:
        path = waiting.pop()
        if path not in found:
            found.add(path)
            waiting += [file for name in imports(ast.parse(path.read_bytes())) for file in files(name)]
    return found


def imports(node: ast.AST) -> Iterator[str]:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.If) and ast.unparse(child.test) == "TYPE_CHECKING":
            continue
        if isinstance(child, ast.Import):
            yield from (name.name for name in child.names)
        elif isinstance(child, ast.ImportFrom):
            yield from (f"{child.module}.{name.name}" for name in child.names)
        yield from imports(child)


def files(name: str) -> list[Path]:
    """The files of this project that are run when a name is imported."""
    words = name.split(".")
    paths = [ROOT.joinpath(*words[: last + 1]) for last in range(len(words))]
    return [file for path in paths for file in (path.with_suffix(".py"), path / "__init__.py") if file.exists()]


# The pages themselves


def test_each_bound_names_a_test_that_is_there():
    rows = [line for line in section(DOCS / "safety.md", "What is bounded").splitlines() if line.startswith("|")][2:]
    for row in rows:
        named = re.findall(r"`(test_\w+\.py)::(\w+)`", row)
        assert named or row.endswith("| Scrapy's own |"), row
        assert all(f"def {test}(" in text(ROOT / "tests" / file) for file, test in named), row


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page):
    for link in _LINK.findall(prose(page)):
        if link.startswith(("https://", "http://")):
            continue
        path, _, anchor = link.partition("#")
        target = (page.parent / path).resolve() if path else page
        assert target.exists(), link
        assert target.is_relative_to(ROOT), link
        assert not anchor or anchor in anchors(target), link


def test_the_readme_links_the_front_page_and_that_every_page():
    assert "(docs/index.md)" in text(ROOT / "README.md")
    listed = re.findall(r"^[a-z-]+$", text(DOCS / "index.md"), re.MULTILINE)
    assert sorted(listed) == sorted(page.stem for page in DOCS.glob("*.md") if page.stem != "index")


def test_the_readme_begins_with_the_demo_and_the_tests():
    runnable = re.findall(r"^```sh\n(.*?)^```$", text(ROOT / "README.md"), re.MULTILINE | re.DOTALL)
    assert runnable[:2] == ["make demo\n", "make test\n"]
    assert re.search(r"^scrapy crawl hdx -a q=cod-ab-global$", runnable[2], re.MULTILINE)
