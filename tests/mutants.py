"""Mutants of the core: one small change each, which a test has to notice.

python tests/mutants.py --seed 13 --count 20
python tests/mutants.py --named

Each mutant is run in a copy of the tree, first with the tests that start no process, then with the others; the first
test that fails, and does not without it, has killed it. What lives makes no difference, or lacks a test. mutants.toml
lists those that make no difference, which are not drawn, and some that once lived, by name.
"""

from __future__ import annotations

import argparse
import ast
import random
import re
import resource
import shutil
import subprocess
import sys
import tempfile
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).resolve().parents[1]
TESTS = {
    "crawlers/kinds/ckan/dialect.py": "ckan_listing ckan odd_portals faults",
    "crawlers/kinds/ckan/query.py": "listing_core ckan incremental",
    "crawlers/kinds/ckan/withdrawals.py": "listing_core incremental",
    "crawlers/kinds/ckan/incremental.py": "listing_core incremental",
    "crawlers/listing/*.py": "lister listing listing_core asked_by_id components incremental faults",
    "crawlers/components/politeness/pace.py": "politeness faults",
    "crawlers/components/politeness/robots.py": "politeness html_odd",
    "crawlers/components/politeness/blocked.py": "politeness",
    "crawlers/components/politeness/failures.py": "politeness",
    "crawlers/components/ledger.py": "ledger resume jobs",
    "crawlers/components/scheduler.py": "ledger resume jobs",
    "crawlers/safety/*.py": "locks text safety components output_hostile ledger index_damage",
    "crawlers/safety/xml.py": "safety_xml listing_core",
    "crawlers/records/rdf/*.py": "rdf rdf_jsonld listing_core mapping_dcat_document dcat_hostile",
    "pipelines/*.py": "batches components feeds crawl index incremental curation",
    "pipelines/archive.py": "archive archive_download archive_freshness archive_store",
}
"""The modules of the core, and the test files that concern them, without ``test_`` and ``.py``."""

_OPPOSITES = {
    old: new
    for one, other in (
        *((ast.Lt, ast.LtE), (ast.Gt, ast.GtE), (ast.Eq, ast.NotEq), (ast.In, ast.NotIn), (ast.Is, ast.IsNot)),
        *((ast.And, ast.Or), (ast.Add, ast.Sub), (ast.Mult, ast.FloorDiv)),
    )
    for old, new in ((one, other), (other, one))
}
_REMOVED = (ast.Expr, ast.AugAssign, ast.Raise, ast.Delete)
_MOST_SECONDS = 900
_MOST_WORK = 60  # seconds of processor time
_LOGGED = re.compile(r"(?:[\w.]+\.)?(?:logger|log)\.")
_KILLER = re.compile(r"^(?:FAILED|ERROR) (.+?)(?: - .*)?$", re.MULTILINE)


@dataclass(frozen=True)
class Mutant:
    """
    Attributes:
        start, end: the bytes of the file that ``new`` replaces.
    """

    path: str
    line: int
    start: int
    end: int
    old: str
    new: str

    def __str__(self) -> str:
        return f"{self.path}:{self.line}: {self.change}"

    @property
    def change(self) -> str:
        return f"{' '.join(self.old.split())} -> {self.new}"

    def apply(self, tree: Path) -> None:
        body = (ROOT / self.path).read_bytes()
        (tree / self.path).write_bytes(body[: self.start] + self.new.encode() + body[self.end :])


def mutants(path: str) -> Iterator[Mutant]:
    """Yield every mutant of a file; annotations, docstrings, decorators and type-checking blocks have none."""
    body = (ROOT / path).read_bytes()
    starts = [0, *(found.end() for found in re.finditer(rb"\n", body))]
    for old, new in _changes(ast.parse(body)):
        start, end = starts[old.lineno - 1] + old.col_offset, starts[old.end_lineno - 1] + old.end_col_offset
        yield Mutant(path, old.lineno, start, end, body[start:end].decode(), new)


def _changes(node: ast.AST) -> Iterator[tuple[ast.expr | ast.stmt, str]]:
    for child in _children(node):
        if new := _changed(child):
            yield child, f"({new})" if isinstance(child, ast.expr) else new
        yield from _changes(child)


def _children(node: ast.AST) -> Iterator[ast.AST]:
    for name, value in ast.iter_fields(node):
        if name in {"decorator_list", "annotation", "returns"} or isinstance(node, ast.JoinedStr):
            continue
        for each in value if isinstance(value, list) else (value,):
            is_skipped = isinstance(each, ast.If) and ast.unparse(each.test) == "TYPE_CHECKING"
            if isinstance(each, ast.AST) and not is_skipped:
                yield each


def _changed(node: ast.AST) -> str | None:  # noqa: PLR0911 -- one for each change
    """Return the source of a node with one change; ``None`` where none is known for it."""
    if isinstance(node, ast.Compare) and len(node.ops) == 1:
        return ast.unparse(ast.Compare(node.left, [_opposite(node.ops[0])], node.comparators))
    if isinstance(node, ast.BoolOp):
        return ast.unparse(ast.BoolOp(_opposite(node.op), node.values))
    if isinstance(node, ast.BinOp) and type(node.op) in _OPPOSITES and not _is_text(node):
        return ast.unparse(ast.BinOp(node.left, _opposite(node.op), node.right))
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        return ast.unparse(node.operand)
    if isinstance(node, ast.Constant) and type(node.value) in {int, bool}:
        return repr(not node.value if isinstance(node.value, bool) else node.value + 1)
    if isinstance(node, ast.Return) and isinstance(node.value, ast.Call | ast.Name | ast.Attribute):
        return f"return not {ast.unparse(node.value)}"
    if isinstance(node, _REMOVED) and not _is_said(node):
        return "pass"
    return None


def _opposite(operator: ast.AST) -> ast.AST:
    return _OPPOSITES[type(operator)]()


def _is_text(node: ast.BinOp) -> bool:
    return any(isinstance(each, ast.Constant | ast.JoinedStr) and not _is_number(each) for each in ast.walk(node))


def _is_number(node: ast.AST) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, int | float)


def _is_said(statement: ast.stmt) -> bool:
    """Return whether a statement is a docstring, or a line of the log."""
    value = getattr(statement, "value", None)
    return isinstance(value, ast.Constant | ast.Yield) or bool(_LOGGED.match(ast.unparse(statement)))


def core() -> dict[str, list[str]]:
    """Return the modules of the core, each with its test files."""
    return {
        path.relative_to(ROOT).as_posix(): [f"tests/test_{name}.py" for name in names.split()]
        for pattern, names in TESTS.items()
        for path in sorted(ROOT.glob(pattern))
    }


def drawn(seed: int, count: int) -> list[Mutant]:
    """Return mutants of the core in a random order, without those that mutants.toml knows to make no difference."""
    same = {(each["file"], each["change"]) for each in listed("equivalent")}
    every = [each for path in core() for each in mutants(path)]
    shuffled = random.Random(seed).sample(every, len(every))
    return [each for each in shuffled if (each.path, each.change) not in same][:count]


def named() -> list[Mutant]:
    """Return the mutants that mutants.toml names."""
    return [located(each["file"], each["old"], each["new"]) for each in listed("named")]


def located(path: str, old: str, new: str) -> Mutant:
    body = (ROOT / path).read_bytes()
    assert body.count(old.encode()) == 1, f"{path} has {old!r} {body.count(old.encode())} times"
    start = body.index(old.encode())
    return Mutant(path, body[:start].count(b"\n") + 1, start, start + len(old.encode()), old, new)


def listed(table: str) -> list[dict[str, Any]]:
    return tomllib.loads((ROOT / "tests" / "mutants.toml").read_text(encoding="utf-8")).get(table, [])


def tests_of(path: str) -> list[str]:
    """Return the test files that concern a module."""
    given = next((each["tests"] for each in listed("named") if each["file"] == path and "tests" in each), [])
    return core().get(path) or [f"tests/test_{name}.py" for name in given]


def killer(tree: Path, mutant: Mutant, phases: list[str]) -> str | None:
    """Return the first test that fails with the mutant and passes without; ``None`` where there is none."""
    tests, failing = tests_of(mutant.path), []  # without the mutant, too
    for processes in phases:
        option = f"--processes={processes}"
        while True:
            mutant.apply(tree)
            found = failed(tree, [option, *(f"--deselect={each}" for each in failing), *tests, mutant.path])
            shutil.copy(ROOT / mutant.path, tree / mutant.path)
            if not found:
                break
            if "::" not in found or not failed(tree, [option, found]):
                return found
            failing.append(found)
    return None


def failed(tree: Path, arguments: list[str]) -> str | None:
    """Return the first fast test that fails."""
    command = [sys.executable, "-m", "pytest", "-x", "-q", "-m", "not slow", "-p", "no:cacheprovider"]
    command += ["-p", "no:xdist", "-p", "tests.mutants", *arguments]
    keywords: dict[str, Any] = {"cwd": tree, "capture_output": True, "text": True, "timeout": _MOST_SECONDS}
    try:
        ran = subprocess.run(command, check=False, preexec_fn=_limited, **keywords)
    except subprocess.TimeoutExpired:
        return "no end"
    if ran.returncode in {0, 5}:  # 5: no test
        return None
    if ran.returncode < 0:
        return "no end"
    found = _KILLER.search(ran.stdout)
    return found[1] if found else "no import"


def _limited() -> None:
    resource.setrlimit(resource.RLIMIT_CPU, (_MOST_WORK, _MOST_WORK))


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--processes", choices=("none", "any"), default="any", help="none: skip what starts a process")


def pytest_configure(config: pytest.Config) -> None:
    if config.getoption("--processes") == "none":
        subprocess.Popen.__init__ = _skipped  # type: ignore[method-assign]


def _skipped(*_: Any, **__: Any) -> None:
    pytest.skip("it starts a process")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, default=13)
    parser.add_argument("--count", type=int, default=20)
    parser.add_argument("--named", action="store_true", help="those that mutants.toml names, and no others")
    parser.add_argument("--unit", action="store_true", help="only with the tests that start no process")
    parser.add_argument("--list", action="store_true", help="print the mutants and run no test")
    options = parser.parse_args()
    phases = ["none"] if options.unit else ["none", "any"]
    chosen = named() if options.named else drawn(options.seed, options.count)
    with tempfile.TemporaryDirectory() as folder:
        tree = Path(folder, "tree")
        if not options.list:
            shutil.copytree(ROOT, tree, ignore=shutil.ignore_patterns(".git", ".venv", "__pycache__", "output"))
        for each in chosen:
            print(each if options.list else judged(tree, each, phases), flush=True)


def judged(tree: Path, mutant: Mutant, phases: list[str]) -> str:
    found = killer(tree, mutant, phases)
    return f"{mutant}\n    {f'died: {found}' if found else 'LIVES'}"


if __name__ == "__main__":
    main()
