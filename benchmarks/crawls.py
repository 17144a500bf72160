"""What is run to be measured: this project's crawls, and the plain programs that they are compared with."""

from __future__ import annotations

import shutil
import tempfile
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.processes import Cost, run
from tests.portal.portal import Portal

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).resolve().parents[1]
BENCHMARKS = ROOT / "benchmarks"
PAGE = 1000
LEDGER = ("-s", "SCHEDULER=crawlers.components.scheduler.LedgerScheduler")

IN_MEMORY = Path("/dev/shm")
ROOM = 2**30  # bytes


def roomy() -> Path:
    in_memory = IN_MEMORY.is_dir() and shutil.disk_usage(IN_MEMORY).free >= ROOM
    return IN_MEMORY if in_memory else Path(tempfile.gettempdir())


@contextmanager
def scratch(folder: Path) -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="benchmark-", dir=folder) as name:
        yield Path(name)


def portal(datasets: int, *, log: bool = False) -> Portal:
    return Portal(datasets, rows_max=PAGE, faults=(), log=log)


def crawl(spider: str, site: Portal, output: Path | str, *arguments: str) -> Cost:
    settings = ("-s", "REQUESTS_PER_SECOND=0", "-s", f"OUTPUT_DIR={output}", "--nolog")
    return run(
        ["-m", "scrapy", "crawl", spider, "-a", f"portal={site.url}", "-a", "source=ours", *settings, *arguments], ROOT
    )


def crawl_exports(site: Portal, output: Path) -> Cost:
    return crawl("hdx", site, output, "-a", "level=resource")


def bare_loop(site: Portal, output: Path, *options: str) -> Cost:
    return run([str(BENCHMARKS / "bare_loop.py"), site.url, str(output), *options], ROOT)


def bare_ckan(site: Portal, folder: Path) -> Cost:
    (folder / "minimal").mkdir()
    return bare_scrapy("bare_ckan", folder, "-a", f"portal={site.url}", "-a", "folder=minimal")


def bare_records(kind: str, address: str, folder: Path) -> Cost:
    folder.mkdir()
    return run([str(BENCHMARKS / "bare_records.py"), kind, address, str(folder)], ROOT)


def bare_fetch(urls: Path, output: Path) -> Cost:
    output.mkdir()
    return run([str(BENCHMARKS / "bare_fetch.py"), str(urls), str(output)], ROOT)


def bare_scrapy(spider: str, folder: Path, *options: str) -> Cost:
    """In a folder far from this project's settings; its code is at hand, for a setting that names it."""
    command = ["-m", "scrapy", "runspider", str(BENCHMARKS / f"{spider}.py"), "--nolog"]
    return run([*command, *options], folder, path=ROOT)
