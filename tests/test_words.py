"""The project's English: phrases and names that a stranger would not guess are kept out of code, messages and docs."""

from __future__ import annotations

import ast
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest
from proselint.checks import __register__ as checks
from proselint.registry import CheckRegistry
from proselint.tools import LintFile

from tests.prose import LONGEST, sentences

ROOT = Path(__file__).parent.parent
WORDS = tomllib.loads((ROOT / "docs" / "words.toml").read_text(encoding="utf-8"))
CODE = sorted(path for folder in ("crawlers", "pipelines", "spiders") for path in (ROOT / folder).rglob("*.py"))
DOCS = sorted([*(ROOT / "docs").rglob("*.md"), ROOT / "README.md", ROOT / "CONTRIBUTING.md"])
PAGES = sorted([*(ROOT / "crawlers").rglob("*.html"), ROOT / "crawlers" / "error_kinds.toml"])
CHECKS = {
    **dict.fromkeys(("annotations", "dates_times", "needless_variants", "nonwords", "oxymorons"), True),
    **dict.fromkeys(("archaism", "cliches", "hedging", "malapropisms", "mixed_metaphors", "redundancy"), True),
    **dict.fromkeys(("industrial_language", "mondegreens", "skunked_terms", "social_awareness", "spelling"), True),
    **dict.fromkeys(("psychology", "terms", "uncomparables", "weasel_words"), True),
}
"""Of proselint, all but typography, which is that of print, repeated words, which tables have, and what begins
paragraphs."""

NAMES = frozenset(("one", "most", "of", "told", "says", "said", "again", "anew", "led_astray", "whole"))
FILES = frozenset(
    (
        *("again", "added", "beside", "behind", "broken", "choice", "current", "dated", "entries", "given", "headed"),
        *("held", "kept", "known", "lacking", "letter", "likeness", "lines", "marked", "natural", "overview", "partly"),
        *("place", "quantities", "remembered", "silence", "spaced", "spread", "standing", "trial", "turning", "twice"),
        *("unchanged", "unclear", "unstarted", "wanted", "wording", "_voice", "learned", "adding"),
    )
)
NO_VERBS = frozenset(
    (
        *(
            "a",
            "all",
            "also",
            "always",
            "an",
            "and",
            "another",
            "any",
            "as",
            "at",
            "because",
            "before",
            "beside",
            "both",
        ),
        *(
            "but",
            "by",
            "each",
            "either",
            "else",
            "every",
            "false",
            "few",
            "first",
            "for",
            "from",
            "half",
            "here",
            "how",
        ),
        *("if", "in", "it", "its", "last", "later", "lower", "many", "more", "most", "much", "names", "never", "no"),
        *("nobody", "none", "nothing", "now", "numbers", "of", "on", "once", "one", "only", "or", "others", "our"),
        *("out", "own", "same", "second", "seconds", "since", "so", "some", "something", "spaces", "such", "text"),
        *("texts", "that", "the", "their", "them", "then", "there", "these", "they", "things", "this", "those", "to"),
        *("too", "true", "two", "three", "under", "until", "upper", "what", "whatever", "when", "where", "whether"),
        *("which", "while", "who", "whoever", "whole", "whose", "why", "with", "within", "without", "words", "yes"),
        *(
            "letters",
            "bytes",
            "characters",
            "lines",
            "rows",
            "pairs",
            "datasets",
            "resources",
            "tags",
            "after",
            "about",
        ),
        *("python", "ckan", "scrapy", "http", "json", "dcat", "hdx", "solr", "sqlite", "twisted", "html", "rdf", "iso"),
    )
)


def findings(path: Path) -> Iterator[tuple[int, str]]:
    """Yield the line and what is wrong there."""
    text = path.read_text(encoding="utf-8")
    for number, line in enumerate(text.splitlines(), 1):
        for pattern, instead in _PHRASES:
            for found in pattern.finditer(line):
                yield number, f'phrase "{found[0]}": {instead}'
    if path.suffix == ".py":
        if path.stem in FILES:
            yield 1, f"file name {path.stem}"
        yield from _in_code(ast.parse(text))


def _in_code(tree: ast.Module) -> Iterator[tuple[int, str]]:
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield from ((node.lineno, f"name {node.name}") for name in (node.name,) if name.strip("_") in NAMES)
        if isinstance(node, ast.arg) and node.arg.strip("_") in NAMES and node.arg != "_":
            yield node.lineno, f"argument {node.arg}"
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and (why := _docstring(node)):
            yield node.lineno + 1, why


def _docstring(node: ast.FunctionDef | ast.AsyncFunctionDef) -> str:
    """Return why a public function's docstring does not begin with a verb; empty where it does, or there is none."""
    if (node.name.startswith("_") and node.name != "__init__") or any(map(_is_property, node.decorator_list)):
        return ""
    first = (ast.get_docstring(node) or "").partition("\n")[0]
    word = re.match(r"[`\"']*([A-Za-z']*)", first)
    begins = word[1] if word else ""
    if not first or first.startswith((">>>", "Args:", "Raises:")):
        return ""
    if begins.lower() in NO_VERBS or not begins[:1].isupper() or begins.endswith("'s") or begins.isupper():
        return f'docstring begins with "{" ".join(first.split()[:5])}", not with a verb'
    return ""


def _is_property(node: ast.expr) -> bool:
    name = node.id if isinstance(node, ast.Name) else node.attr if isinstance(node, ast.Attribute) else ""
    return name in ("property", "cached_property", "setter", "overload")


_PHRASES = [(re.compile(one["phrase"], re.IGNORECASE), one["instead"]) for one in WORDS["phrase"]]
ON_DISK = {("crawlers/kinds/ckan/exports.py", 'phrase "be had": is not available, unreachable')}
"""Sentences in documents: another one would change the documents of every folder."""


def _name(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


@pytest.mark.parametrize("path", [*CODE, *DOCS, *PAGES], ids=_name)
def test_the_words_are_plain(path):
    found = [f"{_name(path)}:{number}: {why}" for number, why in findings(path) if (_name(path), why) not in ON_DISK]
    assert not found


@pytest.fixture(scope="module")
def linter() -> CheckRegistry:
    registry = CheckRegistry()
    registry.register_many(checks)
    return registry


@pytest.mark.slow
@pytest.mark.parametrize("path", DOCS, ids=_name)
def test_a_linter_finds_nothing(linter, path):
    """Proselint reads sentences, without code and markup; what it says begins with a check's name."""
    found = [
        f"{_name(path)}:{sentence.line}: {one.check_result.check_path} {one.check_result.message}"
        for sentence in sentences(path)
        for one in LintFile("sentence", sentence.text).lint({"max_errors": 10, "checks": CHECKS})
    ]
    assert not found


@pytest.mark.parametrize("path", DOCS, ids=_name)
def test_sentences_are_short(path):
    long = [sentence for sentence in sentences(path) if sentence.words > LONGEST]
    most = WORDS["long"].get(_name(path), 0)
    assert len(long) <= most, "\n".join(f"{_name(path)}:{one.line}: {one.words} words: {one.text}" for one in long)
    assert len(long) == most, f"there are fewer now: write {len(long)} into docs/words.toml"


def test_the_linters_can_find_something(linter, tmp_path):
    page = tmp_path / "page.md"
    page.write_text(f"# A\n\nIt is very unique.\n\n```text\nvery unique\n```\n\n{'word ' * 31}.\n")
    read = list(sentences(page))
    assert [(one.line, one.words) for one in read] == [(1, 1), (3, 4), (9, 31)]
    told = [
        one.check_result.check_path for one in LintFile("x", read[1].text).lint({"max_errors": 9, "checks": CHECKS})
    ]
    assert told == ["uncomparables"] or "uncomparables" in " ".join(told)
    assert [why for _, why in findings(page)] == []
    page.write_text("It can't be had.")
    assert [why for _, why in findings(page)] == ['phrase "can\'t be had": is not available, unreachable']
