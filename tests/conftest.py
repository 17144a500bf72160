"""A crawl as a user runs it: a whole `scrapy crawl` in a process of its own, judged by the folder it leaves.

The process is forked from one that has imported Scrapy already; ``fresh=True`` asks for a new one.
"""

from __future__ import annotations

import io
import json
import os
import signal
import subprocess
import sys
import warnings
from collections import Counter
from dataclasses import dataclass, field
from functools import cache, partialmethod
from pathlib import Path
from typing import TYPE_CHECKING, Any
from unittest.mock import patch

import pytest
from jinja2 import BytecodeCache, Environment
from scrapy import cmdline

import crawlers.settings
from crawlers.kind import registered
from crawlers.spider_loader import OTHERS
from tests import forked
from tests.needed import has_browser, needs
from tests.portal.portal import Portal
from tests.waiting import HANG

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from types import CodeType

    from jinja2.bccache import Bucket

    from tests.finished import Finished

pytest_plugins = ["tests.requested"]

ROOT = Path(__file__).parent.parent
FAST = {"REQUESTS_PER_SECOND": "0", "CRAWL_DELAY_MAX": "0", "RETRY_BACKOFF": "0.01"}


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers() -> int:
    """One more than there are processors: a test often waits, for a pace to be kept or a page to be at rest."""
    return (os.cpu_count() or 1) + 1


@dataclass
class Crawl:
    """What a crawl left.

    Attributes:
        code: its exit code.
        lines: what it said last, on the terminal.
        folder: its source's folder.
    """

    code: int
    log: str
    folder: Path
    lines: list[str] = field(init=False)

    def __post_init__(self) -> None:
        self.lines = self.log.splitlines()

    def documents(self, kind: str = "datasets") -> dict[str, Any]:
        return {path.name: json.loads(path.read_bytes()) for path in sorted((self.folder / kind).glob("*.json"))}

    def ids(self) -> list[str]:
        return sorted(document["id"] for document in self.documents().values())

    @property
    def manifest(self) -> list[dict[str, Any]]:
        return json_lines(self.folder / "manifest.jsonl")

    @property
    def errors(self) -> list[dict[str, Any]]:
        return json_lines(self.folder / "errors.jsonl")

    @property
    def flaws(self) -> list[dict[str, Any]]:
        return json_lines(self.folder / "flaws.jsonl")

    @property
    def report(self) -> Any:
        """The last run's."""
        last = max((self.folder / "runs").glob("*.json"), key=lambda path: path.stat().st_mtime_ns)
        return json.loads(last.read_bytes())

    def kinds(self) -> list[tuple[str, str]]:
        return [(error["stage"], error["kind"]) for error in self.errors]


def json_lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_bytes().splitlines()]


def as_json(item: Any) -> bytes:
    """An item as a feed has it, without the documents; a value that JSON does not have is an error."""
    return json.dumps(item, default=_fields, allow_nan=False, ensure_ascii=False).encode()


def _fields(part: Any) -> dict[str, Any]:
    """As `dataclasses.asdict`, without its copies: they take longer than most mappings."""
    return {name: getattr(part, name) for name in part.__dataclass_fields__ if name != "document"}


def spider_names() -> list[str]:
    """The generic spiders, and those of catalogues."""
    return sorted([*registered(), *OTHERS, *(path.stem for path in (ROOT / "spiders").glob("[!_]*.py"))])


def load(path: Path) -> dict[str, Any]:
    """Return the sources of sources.toml; raise `SourcesError` with a line for each table that is invalid."""
    from crawlers.exceptions import SourcesError  # noqa: PLC0415
    from crawlers.operate.sources.file import SourcesFile  # noqa: PLC0415 -- few tests need the spiders' packages

    found, mistakes = SourcesFile(path).read()
    if mistakes:
        raise SourcesError("\n".join(mistakes.values()))
    return found


def scrapy(
    *arguments: str, cwd: Path = ROOT, timeout: float = HANG, fresh: bool = False
) -> subprocess.CompletedProcess[str]:
    """Runs a command of this project, every warning an error; ``fresh``: in a new process, not in a forked one."""
    command = [sys.executable, "-W", "error", "-m", "scrapy", *arguments]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    run = subprocess.run if fresh else forked.run
    return run(command, cwd=cwd, env=environment, timeout=timeout, capture_output=True, text=True, check=False)


class _Uncrawled:
    """Stands for the process that crawls, where a command takes one and has no use for it."""

    def __init__(self, settings: Any) -> None:
        pass

    def __getattr__(self, name: str) -> Any:
        raise AssertionError(f"this command crawls ({name}): start it with `scrapy`")


_entry_points = cache(cmdline.entry_points)  # to read them takes longer than most commands


def command(*arguments: str) -> subprocess.CompletedProcess[str]:
    """Runs a command of this project in this process, which takes a fifth of the time; one that crawls can't be."""
    out, err = (io.TextIOWrapper(io.BytesIO(), "utf-8", newline="\n", write_through=True) for _ in range(2))
    with pytest.MonkeyPatch.context() as here, patch.dict(os.environ), warnings.catch_warnings():
        warnings.simplefilter("error")
        here.chdir(ROOT)
        here.delitem(sys.modules, "crawlers.settings")  # it reads the environment
        here.setattr(crawlers, "settings", crawlers.settings)  # which another import replaces
        here.setattr(cmdline, "AsyncCrawlerProcess", _Uncrawled)
        here.setattr(cmdline, "entry_points", _entry_points)
        here.setattr(sys, "argv", ["__main__.py", *arguments])
        here.setattr(sys, "stdout", out)
        here.setattr(sys, "stderr", err)
        stopped = signal.getsignal(signal.SIGTERM)
        try:
            with pytest.raises(SystemExit) as ended:
                cmdline.execute()
        finally:
            signal.signal(signal.SIGTERM, stopped)
    shown = (stream.buffer.getvalue().decode() for stream in (out, err))  # type: ignore[attr-defined]
    return subprocess.CompletedProcess(arguments, int(ended.value.code or 0), *shown)


def options(output: Path, settings: dict[str, str], **arguments: str) -> list[str]:
    chosen = {"OUTPUT_DIR": str(output), **FAST, **settings}
    return [
        *(f"-s{name}={value}" for name, value in chosen.items()),
        *(word for name, value in arguments.items() for word in ("-a", f"{name}={value}")),
    ]


def slow_but(every_time: Callable[[Any], bool], values: Iterable[Any]) -> list[Any]:
    """Return the parameters of a test: those that ``every_time`` is true of, and the others, for `make test-slow`."""
    return [value if every_time(value) else pytest.param(value, marks=pytest.mark.slow) for value in values]


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """A test with a browser is slow, and needs one."""
    needs_browser = needs("chromium", found=has_browser())
    for item in items:
        if item.get_closest_marker("browser"):
            item.add_marker("slow")
            item.add_marker(needs_browser)


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """Say once why tests were skipped, each program that is missing in a line."""
    reasons = (report.longrepr[2].removeprefix("Skipped: ") for report in terminalreporter.stats.get("skipped", ()))
    for reason, number in Counter(reasons).items():
        terminalreporter.line(f"{number} skipped: {reason}")


def pytest_configure() -> None:
    Portal.in_thread = True
    signal.signal(signal.SIGINT, signal.default_int_handler)  # where a shell runs this behind, it and crawls ignore it


@pytest.fixture(autouse=True)
def environment() -> Iterator[None]:
    """Each test leaves the environment as it was."""
    before = dict(os.environ)
    yield
    os.environ.clear()
    os.environ.update(before)


class Compiled(BytecodeCache):
    """Templates that were compiled in this process: it takes longer than to fill them."""

    def __init__(self) -> None:
        self.codes: dict[tuple[Any, ...], CodeType | None] = {}

    def load_bytecode(self, bucket: Bucket) -> None:
        bucket.code = self.codes.get((bucket.key, bucket.checksum, bucket.environment.autoescape))

    def dump_bytecode(self, bucket: Bucket) -> None:
        self.codes[bucket.key, bucket.checksum, bucket.environment.autoescape] = bucket.code


@pytest.fixture(scope="session", autouse=True)
def compiled() -> Iterator[None]:
    """Have a template compiled once, however many tests open it."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(Environment, "__init__", partialmethod(Environment.__init__, bytecode_cache=Compiled()))
        yield


@pytest.fixture(scope="session")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Finished:
    """What crawls of eight catalogues left; nobody writes into it."""
    from tests.finished import finish  # noqa: PLC0415 -- few tests need its servers

    return finish(tmp_path_factory.mktemp("finished"))


@pytest.fixture
def output(tmp_path: Path) -> Path:
    return tmp_path / "output"


@pytest.fixture
def crawl(output: Path) -> Callable[..., Crawl]:
    """Crawls a portal: ``crawl("hdx", portal, level="both", settings={...}, more=("-O", "x.jsonl"))``."""

    def run(
        spider: str,
        portal: Portal,
        *,
        settings: dict[str, str] | None = None,
        more: tuple[str, ...] = (),
        **arguments: str,
    ) -> Crawl:
        source = arguments.get("source") or ("hdx" if spider == "hdx" else "127.0.0.1")
        words = options(output, settings or {}, portal=portal.url, **arguments)
        ran = scrapy("crawl", spider, *words, *more)
        return Crawl(ran.returncode, ran.stderr, output / source)

    return run


@pytest.fixture
def portal() -> Iterator[Callable[..., Portal]]:
    """Starts portals: ``portal(datasets=305, faults=("gone=download_metadata",))``. They end when the test does."""
    started: list[Portal] = []

    def start(**keywords: Any) -> Portal:
        started.append(Portal(**keywords).start())
        return started[-1]

    yield start
    for one in started:
        one.stop()
