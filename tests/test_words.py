"""The project's English: phrases and names that a stranger would not guess are kept out of code, messages and docs."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
CODE = sorted(path for folder in ("crawlers", "pipelines", "spiders") for path in (ROOT / folder).rglob("*.py"))
DOCS = sorted([*(ROOT / "docs").rglob("*.md"), ROOT / "README.md", ROOT / "CONTRIBUTING.md"])

PHRASES = (
    r"can'?t be had|(?:is|are|was|were|be|been) had\b",
    r"\banew\b",
    r"\b(?:is|are|was|were|be|been|being|has|have|not) told\b",
    r"\btells (?:whether|what|which|how|it|them|its|apart|so)\b",
    r"\b(?:just )?so many(?: at once)?\b(?! (?:that|[a-z]+ that))",
    r"\b(?:goes|go|going|gone|went) on with\b",
    r"\bas good as\b",
    r"\bwhat (?:became|becomes|is to become) of\b",
    r"\b(?:by|of) which\b",
    r"\bnobody (?:hears|listens|knows|asks|waits|does|reads|had|has|is|sees)\b|\bholds up nobody\b|\bfor nobody\b",
    r"\basks? (?:for|of) nothing\b|\bask nobody\b",
    r"\b(?:what|has|have|had|it|that|process|crawl|run|job) died\b|(?<![\"`])\bdied\b",
    r"\b(?:is|are|was|were|be) left alone\b|\bleav(?:e|es|ing) (?:it |them |a host |hosts )?alone\b",
    r"\bgoes (?:first|before)\b",
    r"\bhad (?:it )?not before\b",
    r"\b(?:is|says|are) no more than\b|\band no more[.,;:)]",
    r"\bis no (?!longer)[a-z]+(?: of\b|[.,;:)]|$)",
    r"\bare no (?!longer)[a-z]+[.,;:)]",
    r"\bsave (?:where|when|what|for|one|those|that|in|by)\b",
    r"\b(?:is|are|was|were|be) said\b|\bsays? (?:nothing|no more|so)\b",
    r"\bwhoever\b",
    r"\bit is (?:over|done with)\b|\bis over with\b",
    r"\bwith all its bytes\b|\bthe (?:most|least) that\b",
    r"\blikewise\b|\bthe like\b",
    r"\banybody'?s\b|\bnobody'?s\b",
    r"\bin its stead\b|\bthere and then\b",
    r"\bfor people\b|\bfor programs\b",
    r"\bnor (?:is|are|does|do|has)\b",
)
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
        for pattern in _PHRASES:
            for found in pattern.finditer(line):
                yield number, f'phrase "{found[0]}"'
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


_PHRASES = [re.compile(phrase, re.IGNORECASE) for phrase in PHRASES]


ON_DISK = {("crawlers/kinds/ckan/exports.py", 'phrase "be had"')}
"""Sentences in documents: another one would change the documents of every folder."""


@pytest.mark.parametrize("path", [*CODE, *DOCS], ids=lambda path: str(path.relative_to(ROOT)))
def test_the_words_are_plain(path):
    name = path.relative_to(ROOT).as_posix()
    found = [f"{name}:{number}: {why}" for number, why in findings(path) if (name, why) not in ON_DISK]
    assert not found
