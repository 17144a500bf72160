"""The documentation names what the code has: whoever adds a setting, an argument or a field is told where to say it."""

from __future__ import annotations

import ast
import re
import tomllib
from collections.abc import Container, Iterable, Iterator
from dataclasses import fields
from functools import cache
from itertools import chain
from pathlib import Path
from types import SimpleNamespace
from typing import get_args, get_type_hints

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from scrapy.settings import Settings

from crawlers import causes, items, settings, signals
from crawlers.ecosystem.ckan_sites import STATES as SITE_STATES
from crawlers.ecosystem.profiles import feed_fields
from crawlers.ecosystem.repositories import STATES as REPOSITORY_STATES
from crawlers.extensions.error_log import error_line
from crawlers.extensions.report import COUNTS, run_report
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
from crawlers.kinds.api.expressions import NAMES as FUNCTIONS
from crawlers.kinds.api.file import shipped
from crawlers.kinds.ckan.exports import LEVELS
from crawlers.kinds.html.rules import FIELDS, RESOURCE_FIELDS, WAYS, Links, Paging, Rule, Rules
from crawlers.listing import evidence
from crawlers.listing.crawl import RunState, stat
from crawlers.operate.sources import keys
from crawlers.operate.sources.source import REVIEWS
from crawlers.publish import operations
from crawlers.publish.journal import Phase
from crawlers.spider_loader import SpiderLoader
from crawlers.store.index.schema import TABLES as INDEX_TABLES
from crawlers.store.index.schema import VIEWS as INDEX_VIEWS
from crawlers.store.runs import EXIT_CODES
from crawlers.store.runs import STATES as RUN_STATES
from pipelines.documents import Manifest
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


@cache
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


@cache
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
    files = ("manifest", "errors", "flaws")
    job = SimpleNamespace(resumed=False, state={f"{name}_bytes": 0 for name in files})
    log = SimpleNamespace(records=SimpleNamespace(kept=len), flaws=SimpleNamespace(kind="dataset"))
    known = {"run": "r", "started": "s", "verdict": "complete", "new_flaws": 0, "error_log": log}
    known["ends"] = {f"{name}_end": 0 for name in files}
    state = RunState()
    state.walks = SimpleNamespace(evidence={})
    report = SimpleNamespace(crawler=crawler, job=job, state=state, **known)
    return list(run_report(report, "finished", {}, {}))


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
    """The requirements in pyproject.toml, by extra; those of none by an empty text; an alias is left out."""
    project = tomllib.loads(text(ROOT / "pyproject.toml"))["project"]
    extras = {name: found for name, found in project["optional-dependencies"].items() if name != "queue"}
    return {"": project["dependencies"], **extras}


def pinned(page: str) -> set[str]:
    """The packages of a file, as PyPI normalises their names."""
    return {canonicalize_name(name) for name in re.findall(r"^([\w.-]+)==", page, re.MULTILINE)}


# Every name is on the page that is responsible for it


def absent(names: Iterable[str], described: Container[str]) -> list[str]:
    return [name for name in names if name not in described]


OF_NO_CATALOGUE = {"archive": "archive.md", "ckan_extensions": "ecosystem.md", "ckan_sites": "ecosystem.md"}
"""The spiders that crawl no catalogue of datasets, and the pages with their arguments."""


def test_arguments_are_described():
    pages = {name: rows(text(DOCS / name)) for name in {"arguments.md", *OF_NO_CATALOGUE.values()}}
    wrong = {
        name: absent(SPIDERS.load(name).arguments, pages[OF_NO_CATALOGUE.get(name, "arguments.md")])
        for name in SPIDERS.list()
    }
    assert {name: found for name, found in wrong.items() if found} == {}
    assert absent((f"`{level}`" for level in LEVELS), pages["arguments.md"]["level"]) == []


def test_settings_are_described_with_their_defaults():
    described = rows(prose(DOCS / "settings.md"))
    assert described.keys() == {*setting_names()}
    defaults = {name: getattr(settings, name) for name in setting_names()}
    shown = {
        name: default
        for name, default in defaults.items()
        if isinstance(default, str | int | float) and default != "" and str(ROOT) not in str(default)
    }
    assert [name for name, default in shown.items() if f"| `{default}` |" not in described[name]] == []


def test_every_spider_of_a_catalogue_is_listed_with_its_address():
    listed = rows(text(DOCS / "catalogues.md"))
    declared = {path.stem for path in (ROOT / "spiders").glob("[!_]*.py")} - OF_NO_CATALOGUE.keys()
    assert {name for name in listed if name in declared} == declared
    addresses = [getattr(SPIDERS.load(name), SPIDERS.load(name).address) for name in declared]
    assert [address for address in addresses if f"`: {address}\n" not in text(DOCS / "catalogues.md")] == []


def test_the_keys_of_a_source_are_those_of_the_code():
    assert keys.table() in text(DOCS / "sources.md"), "the page takes what this function returns"
    shown = tomllib.loads(text(ROOT / "catalogues/sources.example.toml"))
    assert {key for table in shown.values() for key in table} == set(keys.KEYS), "the example shows every key"


def test_the_rules_of_evidence_are_those_of_the_code():
    assert evidence.table() in text(DOCS / "reading-a-crawl.md"), "the page takes what this function returns"


def test_a_step_of_the_walk_is_where_the_page_says():
    steps = re.findall(r"`([\w/]+\.py)` `([\w.]+)`", text(DOCS / "architecture.md"))
    assert len(steps) > 10
    assert [f"{file}: {name}" for file, name in steps if not stands(ROOT / file, name)] == []


def stands(path: Path, name: str) -> bool:
    body = ast.parse(text(path)).body
    for part in name.split("."):
        found = [node for node in body if getattr(node, "name", None) == part]
        body = getattr(found[0], "body", []) if found else []
    return bool(found)


def test_commands_have_their_sections():
    assert [name for name in commands() if not section(DOCS / "commands.md", f"scrapy {name}")] == []


KINDS = {
    "Kinds of errors": [kind for kind in causes.KINDS if kind not in causes.FLAWS],
    "Kinds of flaws": list(causes.FLAWS),
}


def test_kinds_of_errors_and_flaws_have_a_section_each_on_how_to_fix_them_with_an_example():
    page = DOCS / "errors.md"
    assert anchors(page) - {"errors-and-flaws-and-how-to-fix-them"} == causes.KINDS.keys()
    wrong = []
    for kind, meaning in causes.KINDS.items():
        described = plain(section(page, kind))
        (found,) = re.findall(rf"^## `{kind}`\n(.*?)(?:^## |\Z)", text(page), re.MULTILINE | re.DOTALL)
        is_whole = meaning in described and f"Fix: {causes.ADVICE[kind]}" in described
        wrong += [] if is_whole and re.search(r"^`[^`]+`$", found, re.MULTILINE) else [kind]
    assert wrong == []
    for heading, kinds in KINDS.items():
        listed = section(DOCS / "reading-a-crawl.md", heading)
        assert sorted(re.findall(r"\(errors\.md#(\w+)\)", listed)) == sorted(kinds)


OTHER_STATES = (
    REVIEWS,
    get_args(items.State),
    SITE_STATES,
    REPOSITORY_STATES,
    get_args(Phase),
    get_args(operations.State),
)
GLOSSARY = {
    "Verdicts": EXIT_CODES.keys(),
    "States": (set(RUN_STATES) - EXIT_CODES.keys()).union(*OTHER_STATES),
    "Statuses of a document": get_args(items.Status),
    "Kinds of catalogue": registered().keys(),
}
WORDS = "catalogue portal source dataset resource document listing export run ledger manifest index withdrawn"


def test_the_glossary_has_the_words_of_the_code_and_of_the_contract():
    page = DOCS / "glossary.md"
    described = {heading: rows(section(page, heading)).keys() for heading in GLOSSARY}
    assert described == {heading: {*words} for heading, words in GLOSSARY.items()}
    for heading, kinds in KINDS.items():
        assert re.findall(r"\[`(\w+)`\]\(errors\.md#\1\)", section(page, heading)) == kinds
    words = re.findall(r"^\| ([\w ,]+)", section(page, "Words"), re.MULTILINE)
    assert absent(WORDS.split(), {word.strip() for row in words for word in row.split(",")}) == []


def test_what_a_crawl_tells_is_described():
    page = DOCS / "reading-a-crawl.md"
    verdicts = rows(section(page, "Verdicts and exit codes"))
    assert [name for name, code in EXIT_CODES.items() if not verdicts[name].startswith(f"| `{name}` | {code} |")] == []
    assert named(section(page, "Numbers while it runs")) == stats()
    assert absent(get_args(signals.Stage), rows(section(page, "Stages"))) == []
    assert absent(get_args(items.Status), rows(section(DOCS / "incremental.md", "What happens to a dataset"))) == []


def test_the_tables_and_views_of_the_index_are_described():
    tables = re.findall(r"CREATE (?:VIRTUAL )?TABLE IF NOT EXISTS (\w+)", INDEX_TABLES)
    assert absent(tables, rows(section(DOCS / "search.md", "Tables"))) == []
    assert absent(INDEX_VIEWS, rows(section(DOCS / "search.md", "Views"))) == []


def test_the_fields_of_items_are_described():
    described = {kind: named(section(DOCS / "items.md", kind)) for kind in {kind for kind, _ in item_fields()}}
    assert [f"{kind}.{field}" for kind, field in item_fields() if field not in described[kind]] == []


def test_the_fields_of_a_line_are_described_in_order():
    page = DOCS / "output.md"
    lines = list(rows(section(page, "manifest.jsonl")))
    assert lines == manifest_fields(Dataset(source="s", id="i"))
    assert lines == manifest_fields(Export(kind="resource_metadata", source="s", dataset_id="i"))
    assert list(rows(section(page, "errors.jsonl"))) == error_fields()
    assert list(rows(section(page, "Run reports"))) == report_fields()
    values = [*COUNTS, "failed", *get_args(signals.Stage), *get_args(items.Kind)]
    assert absent(values, code(page).split()) == []


def test_a_dependency_has_its_reason():
    tools = text(ROOT / "requirements-dev.txt").partition("\n\n")[0]
    named = {canonicalize_name(Requirement(one).name) for one in chain.from_iterable(declared().values())}
    assert set(map(canonicalize_name, rows(prose(DOCS / "dependencies.md")))) == named | pinned(tools)


def test_what_is_pinned_is_what_is_declared_and_what_that_brings():
    here = [requirement for extra in ("", "browser", "s3") for requirement in declared()[extra]]
    assert pinned(text(ROOT / "requirements.txt")) == needed(here)
    assert needed(declared()["parquet"]) <= pinned(text(ROOT / "requirements.txt"))


def test_the_rules_of_html_are_described():
    page = DOCS / "html.md"
    keys = set().union(*map(rules_keys, (Rules, Links, Paging, Rule)))
    assert [key for key in sorted(keys) if key not in rows(prose(page)) and f"`{key}`" not in prose(page)] == []
    assert absent(WAYS, rows(section(page, "How a listing goes on"))) == []
    assert absent((f"`{name}`" for name in (*FIELDS, *RESOURCE_FIELDS)), section(page, "The rules file")) == []


DECLARED = (Declaration, Listing, api.Paging, Size, Window, Restart, Count, Follow, Resources, Recognition)
NO_KEYS = {"text", "name", "fields", "resources"}
"""What a declaration has that is no key of its file: ``fields`` are the item's."""


def test_declarations_are_described():
    page = DOCS / "api.md"
    keys = {one.name for part in DECLARED for one in fields(part)} - NO_KEYS
    kinds = get_args(get_type_hints(api.Paging)["kind"])
    assert absent(sorted(keys.union(kinds)), rows(prose(page))) == []
    assert "(items.md#dataset)" in section(page, "A declaration, key by key")
    assert absent(DATASET_FIELDS, named(section(DOCS / "items.md", "Dataset"))) == []
    assert absent(api.RESOURCE_FIELDS, named(section(DOCS / "items.md", "Resource"))) == []
    names = (*FUNCTIONS, *CHECKS, *WALKS, *shipped())
    assert [name for name in names if not re.search(rf"\b{re.escape(name)}\b", code(page))] == []


# What a part needs in another project

PARTS = {
    "components/browser": "architecture",
    "components/httpcache.py": "httpcache",
    "components/politeness": "politeness",
    "components/scheduler.py": "resume",
    "components/spool.py": "safety",
    "safety": "safety",
}
"""The page that has the sentence on each part."""


def test_a_part_needs_what_its_page_lists():
    for part, page in PARTS.items():
        sentence = rf"`crawlers/{part}` needs (.+) of this project\."
        (listed,) = re.findall(sentence, prose(DOCS / f"{page}.md"))
        needed = {_part(path.relative_to(ROOT)) for path in needs(part)}
        assert re.findall(r"`([^`]+)`", listed) == sorted(needed - {f"crawlers/{part}"}), part


def _part(path: Path) -> str:
    return Path(*path.parts[: 3 if path.parts[1] == "components" else 2]).as_posix()


def needs(part: str) -> set[Path]:
    """The files that a part imports and those import in turn, the packages around them too; not for types alone."""
    path = ROOT / "crawlers" / part
    waiting, found = [path] if path.is_file() else [*path.rglob("*.py")], set()
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


def test_links_lead_somewhere():
    links = [(page, link) for page in PAGES for link in _LINK.findall(prose(page))]
    wrong = [
        f"{page.name}: {link}" for page, link in links if not re.match("https?://", link) and not leads(page, link)
    ]
    assert wrong == []


def leads(page: Path, link: str) -> bool:
    path, _, anchor = link.partition("#")
    target = (page.parent / path).resolve() if path else page
    return target.exists() and target.is_relative_to(ROOT) and (not anchor or anchor in anchors(target))


def test_the_readme_links_the_front_page_and_that_every_page():
    assert "(docs/index.md)" in text(ROOT / "README.md")
    listed = re.findall(r"^[a-z-]+$", text(DOCS / "index.md"), re.MULTILINE)
    assert sorted(listed) == sorted(page.stem for page in DOCS.glob("*.md") if page.stem != "index")


def test_the_readme_begins_with_the_demo_and_the_tests():
    runnable = re.findall(r"^```sh\n(.*?)^```$", text(ROOT / "README.md"), re.MULTILINE | re.DOTALL)
    assert runnable[:2] == ["make demo\n", "make test\n"]
    assert re.search(r"^scrapy crawl hdx -a q=cod-ab-global$", runnable[2], re.MULTILINE)
