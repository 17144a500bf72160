"""Follow pages as a reader would: run their commands in order, and compare what they print with what the pages show.

    python tests/follow.py README.md docs/first-harvest.md docs/html.md#ten-minutes

Each page is followed in a fresh copy of the project, in one shell, with no network but the loopback. It runs the blocks
``sh``, and the lines "$ " of blocks ``text``. It compares the output with what follows such a line, or with the block
``text`` after a block ``sh``. There, ``...`` stands for anything; moments, days, durations and ports may differ. A
command that shows "until Ctrl-C" is interrupted when the addresses that it shows have answered.

A block behind the comment ``<!-- not followed: REASON -->`` is left out; one behind ``<!-- file: PATH -->`` is written.
"""

from __future__ import annotations

import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from difflib import unified_diff
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import Self
from urllib.request import ProxyHandler, build_opener

ROOT = Path(__file__).parents[1]
NOWHERE = "http://127.0.0.1:9"
LONGEST_SECONDS = 300.0
END = "-- the command has ended:"

_BLOCK = re.compile(
    r"^(?:<!-- (?:not followed: (?P<reason>[^\n]+)|file: (?P<file>[^\n]+)) -->\n+)?"
    r"```(?P<language>\w+)\n(?P<body>.*?)^```$",
    re.MULTILINE | re.DOTALL,
)
_VARYING = (
    (re.compile(r"\b\d{8}T\d{6}Z"), "RUN"),
    (re.compile(r"\b\d{4}-\d\d-\d\d \d\d:\d\d(:\d\d)?"), "MOMENT"),
    (re.compile(r"\b20(?:2[6-9]|[3-9]\d)-\d\d-\d\d\b"), "DAY"),  # since the pages were written
    (re.compile(r"\b\d+(\.\d+)? (s|ms|min)\b"), "DURATION"),
    (re.compile(r"127\.0\.0\.1:\d+"), "127.0.0.1:PORT"),
    (re.compile(r"\s+"), " "),
)


@dataclass(frozen=True)
class Step:
    """A command of a page.

    Args:
        shown: the lines that the page shows as its output; ``None`` if it shows none.
    """

    command: str
    shown: list[str] | None

    @property
    def waits(self) -> bool:
        """Whether the command runs until it is interrupted."""
        return "until Ctrl-C" in "".join(self.shown or ())


class UnfollowableError(Exception):
    """A block is neither run, nor compared, nor marked."""


def steps(page: str) -> Iterator[Step]:
    """Yield the commands of a page in Markdown.

    Raises:
        UnfollowableError: a ``text`` block is no command's output.
    """
    pending: str | None = None
    for block in _BLOCK.finditer(page):
        language, body = block["language"], block["body"]
        is_output = language == "text" and pending and not body.startswith("$ ")
        if block["reason"]:
            continue
        if block["file"]:
            language, is_output = "", False
        if pending:
            yield Step(pending, body.splitlines() if is_output else None)
        pending = body.rstrip("\n") if language == "sh" else None
        if block["file"]:
            yield Step(f"mkdir -p {Path(block['file']).parent}; cat >{block['file']} <<'TEXT'\n{body}TEXT", None)
        if language == "text" and not is_output:
            yield from _session(body)
    if pending:
        yield Step(pending, None)


def _session(body: str) -> Iterator[Step]:
    before, *commands = re.split(r"^\$ ", body, flags=re.MULTILINE)
    if before:
        raise UnfollowableError(f"no command prints: {before.splitlines()[0]}")
    for command in commands:
        words, output = re.fullmatch(r"((?:[^\n]*\\\n)*[^\n]*\n)(.*)", command, re.DOTALL).groups()  # type: ignore[union-attr]
        yield Step(words.rstrip("\n"), output.splitlines())


def difference(shown: list[str], printed: list[str]) -> str:
    """Return how an output differs from the one that a page shows; nothing if it does not."""
    expected, real = _comparable(shown), _comparable(printed)
    pattern = "".join(r"(?:.*\n)*?" if line == "..." else f"{_pattern(line)}\n" for line in expected)
    if re.fullmatch(pattern, "".join(f"{line}\n" for line in real)):
        return ""
    return "\n".join(unified_diff(expected, real, "the page", "the command", lineterm=""))


def _pattern(line: str) -> str:
    return ".*".join(map(re.escape, line.split("...")))


def _comparable(lines: list[str]) -> list[str]:
    for pattern, instead in _VARYING:
        lines = [pattern.sub(instead, line) for line in lines]
    return [line.strip() for line in lines if line.strip()]


class Shell:
    """The reader's shell; what it started ends with it.

    Args:
        folder: where it is.
    """

    def __init__(self, folder: Path) -> None:
        self.process = subprocess.Popen(
            ["bash", "--norc"],
            cwd=folder,
            env=_environment(),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )
        self.lines: SimpleQueue[str] = SimpleQueue()
        threading.Thread(target=self._read, daemon=True).start()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        os.killpg(self.process.pid, signal.SIGKILL)
        self.process.communicate()

    def follow(self, step: Step) -> str:
        """Run a command; return what is wrong with it, if anything is."""
        assert self.process.stdin
        self.process.stdin.write(f"{{ {step.command}\n}} </dev/null\nprintf '\\n{END} %d\\n' $?\n")
        self.process.stdin.flush()
        try:
            printed, code = self._result(step)
        except Empty:
            return f"it has not ended after {LONGEST_SECONDS:.0f} s, or not printed what is shown"
        if code:
            return "\n".join([f"exit code {code}", *printed])
        return "" if step.shown is None else difference(step.shown, printed)

    def _result(self, step: Step) -> tuple[list[str], int]:
        printed: list[str] = []
        code = None
        awaited = len(step.shown or ()) if step.command.endswith("&") else 0
        while code is None or len(printed) < awaited:
            line = self.lines.get(timeout=LONGEST_SECONDS)
            if line.startswith(END):
                code = int(line.removeprefix(END))
            elif line.strip():
                printed.append(line)
            if step.waits and "until Ctrl-C" in line:
                _visit(line)
                os.killpg(self.process.pid, signal.SIGINT)
        return printed, code

    def _read(self) -> None:
        for line in self.process.stdout or ():
            self.lines.put(line.rstrip("\n"))


def _visit(line: str) -> None:
    for address in re.findall(r"http://\S+", line):
        build_opener(ProxyHandler({})).open(address, timeout=60).close()


def _environment() -> dict[str, str]:
    """Return that of a reader who has nothing activated, without a network but the loopback."""
    own = ("VIRTUAL_ENV", "PYTHONPATH", "PYTHONDONTWRITEBYTECODE", "MAKEFLAGS", "MAKELEVEL", "CRAWLERS_HOME")
    kept = {name: value for name, value in os.environ.items() if name not in own}
    path = [folder for folder in kept["PATH"].split(os.pathsep) if Path(folder) != Path(sys.prefix, "bin")]
    offline = dict.fromkeys(("http_proxy", "https_proxy"), NOWHERE) | dict.fromkeys(
        ("NO_PROXY", "no_proxy"), "127.0.0.1"
    )
    return {**kept, **offline, "COLUMNS": "120", "PATH": os.pathsep.join(path)}


def copy_project(folder: Path) -> None:
    """Copy the project as a clone has it, with everything installed, and what Python has compiled of it."""
    listed = subprocess.run(
        ["git", "ls-files", "-co", "--exclude-standard"], cwd=ROOT, check=True, capture_output=True, text=True
    )
    for name in filter(lambda name: (ROOT / name).is_file(), listed.stdout.splitlines()):
        target = folder / name
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(ROOT / name, target)
        for compiled in (ROOT / name).parent.glob(f"__pycache__/{target.stem}.*.pyc") if target.suffix == ".py" else ():
            target.with_name("__pycache__").mkdir(exist_ok=True)
            shutil.copy2(compiled, target.with_name("__pycache__"))
    (folder / ".venv").mkdir()
    for path in Path(sys.prefix).iterdir():
        (folder / ".venv" / path.name).symlink_to(path)
    for mark in (".runtime", ".dev"):
        (folder / ".venv" / mark).unlink(missing_ok=True)
        (folder / ".venv" / mark).touch()


def on_free_ports(page: str) -> str:
    """Return a page with free ports instead of those that it names, so that nothing else has them."""
    page = re.sub(r"^\$ scrapy dashboard\b(?!.* --port)", "$ scrapy dashboard --port 0", page, flags=re.MULTILINE)
    for port in {*re.findall(r"(?:port[= ]|127\.0\.0\.1:)(\d{4,})", page)}:
        with socket.create_server(("127.0.0.1", 0)) as free:
            page = re.sub(rf"\b{port}\b", str(free.getsockname()[1]), page)
    return page


def read(name: str) -> str:
    """Return a page of the project, or a section of the second level: ``docs/html.md#ten-minutes``."""
    path, _, anchor = name.partition("#")
    page = (ROOT / path).read_text(encoding="utf-8")
    if not anchor:
        return page
    sections = re.split(r"^## ", page, flags=re.MULTILINE)
    (found,) = (part for part in sections if part.partition("\n")[0].lower().replace(" ", "-") == anchor)
    return found


def follow(page: str, folder: Path) -> list[str]:
    """Follow a page in a folder; return what is wrong, each with its command, the first alone that fails."""
    with Shell(folder) as shell:
        for step in steps(on_free_ports(page)):
            if wrong := shell.follow(step):
                return [f"$ {step.command}\n{wrong}"]
    return []


def main() -> int:
    wrong = []
    for name in sys.argv[1:]:
        with tempfile.TemporaryDirectory() as folder:
            copy_project(Path(folder))
            wrong += [f"{name}: {one}" for one in follow(read(name), Path(folder))]
    print("\n\n".join(wrong) or "Every command prints what its page shows.")
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main())
