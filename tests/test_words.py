"""The project's English: public docstrings say what is done, and a linter reads the docs."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from proselint.checks import __register__ as checks
from proselint.registry import CheckRegistry
from proselint.tools import LintFile

from tests.prose import sentences

ROOT = Path(__file__).parent.parent
CODE = sorted(path for folder in ("crawlers", "pipelines", "spiders") for path in (ROOT / folder).rglob("*.py"))
DOCS = sorted([*(ROOT / "docs").rglob("*.md"), ROOT / "README.md", ROOT / "CONTRIBUTING.md"])
CHECKS = {
    **dict.fromkeys(("annotations", "dates_times", "needless_variants", "nonwords", "oxymorons"), True),
    **dict.fromkeys(("archaism", "cliches", "hedging", "malapropisms", "mixed_metaphors", "redundancy"), True),
    **dict.fromkeys(("industrial_language", "mondegreens", "skunked_terms", "social_awareness", "spelling"), True),
    **dict.fromkeys(("psychology", "terms", "uncomparables", "weasel_words"), True),
}
"""Of proselint, all but typography, which is that of print, repeated words, which tables have, and what begins
paragraphs."""

NO_VERBS = frozenset(
    (
        "a all also always an and another any as at because before beside both but by each either else every "
        "false few first for from half here how if in it its last later lower many more most much names "
        "never no nobody none nothing now numbers of on once one only or others our out own same second "
        "seconds since so some something spaces such text texts that the their them then there these they "
        "things this those to too true two three under until upper what whatever when where whether which "
        "while who whoever whole whose why with within without words yes letters bytes characters lines rows "
        "pairs datasets resources tags after about python ckan scrapy http json dcat hdx solr sqlite twisted "
        "html rdf iso"
    ).split()
)
"""What a docstring that names a thing, and says no action, begins with."""

FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)


def test_public_docstrings_begin_with_a_verb():
    trees = {path: ast.parse(path.read_bytes()) for path in CODE}
    nodes = [(path, node) for path, tree in trees.items() for node in ast.walk(tree) if isinstance(node, FUNCTIONS)]
    wrong = {f"{_name(path)}:{node.lineno}": begins for path, node in nodes if (begins := _begins_without_a_verb(node))}
    assert wrong == {}


def _name(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def _begins_without_a_verb(node: ast.FunctionDef | ast.AsyncFunctionDef) -> str:
    """Return the first words of a public function's docstring, if they name no action."""
    if (node.name.startswith("_") and node.name != "__init__") or any(map(_is_property, node.decorator_list)):
        return ""
    first = (ast.get_docstring(node) or "").partition("\n")[0]
    if not first or first.startswith((">>>", "Args:", "Raises:")):
        return ""
    word = re.match(r"[`\"']*([A-Za-z']*)", first)
    begins = word[1] if word else ""
    is_verb = begins.lower() not in NO_VERBS and begins[:1].isupper() and not begins.endswith("'s")
    return "" if is_verb and not begins.isupper() else " ".join(first.split()[:5])


def _is_property(node: ast.expr) -> bool:
    name = node.id if isinstance(node, ast.Name) else node.attr if isinstance(node, ast.Attribute) else ""
    return name in ("property", "cached_property", "setter", "overload")


@pytest.fixture(scope="module")
def linter() -> CheckRegistry:
    registry = CheckRegistry()
    registry.register_many(checks)
    return registry


def linted(path: Path) -> Iterator[str]:
    """Yield what the linter says of a page's sentences, without code and markup."""
    for sentence in sentences(path):
        for one in LintFile("sentence", sentence.text).lint({"max_errors": 10, "checks": CHECKS}):
            yield f"{path.name}:{sentence.line}: {one.check_result.check_path} {one.check_result.message}"


@pytest.mark.slow
def test_a_linter_finds_nothing(linter):
    assert [found for path in DOCS for found in linted(path)] == []


def test_the_linter_can_find_something(linter, tmp_path):
    page = tmp_path / "page.md"
    page.write_text("# A\n\nIt is very unique.\n\n```text\nvery unique\n```\n\nIt is one.\n")
    assert [one.line for one in sentences(page)] == [1, 3, 9]
    found = [*linted(page)]
    assert {one.partition(" ")[0] for one in found} == {"page.md:3:"}
    assert "uncomparables" in "".join(found)
