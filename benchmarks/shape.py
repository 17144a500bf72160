"""How large the project is: files, lines, tokens of code, circles of imports, for each room; and its tests.

Run ``python -m benchmarks.shape [FOLDER]``, of a working copy, by default this one.
"""

from __future__ import annotations

import ast
import io
import sys
import tokenize
from collections import Counter
from pathlib import Path

_NO_CODE = {tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENCODING}


def tokens(source: str) -> int:
    """Return how many tokens of code a module has: comments, docstrings and layout do not count."""
    tree = ast.parse(source)
    documented = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    nodes = [node for node in ast.walk(tree) if isinstance(node, documented) and ast.get_docstring(node, clean=False)]
    docstrings = {node.body[0].lineno for node in nodes}
    found = tokenize.generate_tokens(io.StringIO(source).readline)
    return sum(
        one.type not in _NO_CODE and not (one.type == tokenize.STRING and one.start[0] in docstrings) for one in found
    )


def circles(root: Path) -> list[list[str]]:
    """Return the modules that import each other in a ring, imports for types and those in functions included."""
    paths = {_module(path, root): path for path in (root / "crawlers").rglob("*.py")}
    imported = {name: _imported(path, paths) - {name} for name, path in paths.items()}
    reached = {name: _reached(name, imported) for name in paths}
    rings = {frozenset(other for other in reached[name] if name in reached[other]) for name in paths}
    return sorted((sorted(ring) for ring in rings if len(ring) > 1), key=len, reverse=True)


def _module(path: Path, root: Path) -> str:
    return ".".join(path.relative_to(root).with_suffix("").parts).removesuffix(".__init__")


def _imported(path: Path, modules: dict[str, Path]) -> set[str]:
    names = set()
    for node in ast.walk(ast.parse(path.read_bytes())):
        if isinstance(node, ast.Import):
            names |= {name.name for name in node.names}
        elif isinstance(node, ast.ImportFrom):
            whole = {name.name: f"{node.module}.{name.name}" for name in node.names}
            names |= {found if found in modules else str(node.module) for found in whole.values()}
    return names & modules.keys()


def _reached(name: str, imported: dict[str, set[str]]) -> set[str]:
    waiting, found = [*imported[name]], set()
    while waiting:
        if (other := waiting.pop()) not in found:
            found.add(other)
            waiting += imported[other]
    return found


def measure(root: Path) -> tuple[list[tuple[object, ...]], list[list[str]]]:
    """Return a row (room, files, lines, tokens) for each room, and the circles of imports."""
    files, lines, code = Counter[str](), Counter[str](), Counter[str]()
    for top in ("crawlers", "pipelines", "spiders", "tests", "benchmarks"):
        for path in (root / top).rglob("*.py"):
            parts = path.relative_to(root).parts
            room = f"crawlers/{parts[1]}" if top == "crawlers" and len(parts) > 2 else top
            text = path.read_text(encoding="utf-8")
            for name in (room, *(("the program",) if top in ("crawlers", "pipelines", "spiders") else ())):
                files[name] += 1
                lines[name] += text.count("\n")
                code[name] += tokens(text)
    return [(room, files[room], lines[room], code[room]) for room in sorted(files)], circles(root)


if __name__ == "__main__":
    rows, rings = measure(Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parent.parent)
    for row in (("room", "files", "lines", "tokens"), *rows):
        print("{:<22}{:>8}{:>10}{:>12}".format(*row))
    print(f"\n{len(rings)} circles of imports", *(f"- {len(ring)}: {', '.join(ring)}" for ring in rings), sep="\n")
