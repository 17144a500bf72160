"""What a harvest of many small sources takes beyond the crawls' own work, by how many run in parallel."""

from __future__ import annotations

import subprocess
import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING

from benchmarks.crawls import BENCHMARKS, ROOT, scratch
from benchmarks.processes import Spread, run
from benchmarks.table import Row

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator
    from pathlib import Path

SOURCES = 300
FEW = 30  # that are enough where each is a new process
DATASETS = 50
PARALLEL = (1, 2, 4)
MOST = 0.15  # seconds of the processor for each source, above the crawl's own work


def harvested(options: argparse.Namespace) -> Iterator[Row]:
    own, above = [], {parallel: list[float]() for parallel in PARALLEL}
    new = []
    with portals(SOURCES) as addresses:
        for _ in range(options.repeat):
            own.append(own_work(options.folder, addresses))
            for parallel in PARALLEL:
                above[parallel].append(taken(options.folder, addresses, parallel) - own[-1])
            new.append(taken(options.folder, addresses[:FEW], 2, "-s", "FORK_SERVER=False") - own[-1])
    yield Row(f"a crawl's own work, {DATASETS} datasets", seconds(own))
    for parallel, costs in above.items():
        kept = Spread.of(costs).median <= MOST
        what = f"above it, {SOURCES} sources, {parallel} in parallel"
        yield Row(what, seconds(costs), f"at most {MOST:g} s", kept=kept)
    yield Row(f"above it, {FEW} sources, each a new process", seconds(new))


@contextmanager
def portals(count: int) -> Iterator[list[str]]:
    """Yield the addresses of portals."""
    command = [sys.executable, str(BENCHMARKS / "small_portals.py"), str(count), str(DATASETS)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout
        yield [process.stdout.readline().strip() for _ in range(count)]
        assert process.stdin
        process.stdin.close()


def own_work(within: Path, addresses: list[str]) -> float:
    """Return the processor's seconds of one more crawl in a process that has crawled already."""
    return (crawled(within, addresses) - crawled(within, addresses[:1])) / (len(addresses) - 1)


def crawled(within: Path, addresses: list[str]) -> float:
    with scratch(within) as folder:
        cost = run([str(BENCHMARKS / "bare_crawls.py"), str(folder), *addresses], ROOT)
        assert complete(folder) == len(addresses)
        return cost.cpu


def taken(within: Path, addresses: list[str], parallel: int, *words: str) -> float:
    """Return the processor's seconds of a harvest and all that it starts, for each source."""
    with scratch(within) as folder:
        tables = (
            f'[s{number}]\nspider = "ckan"\narguments = {{ portal = "{url}" }}\n'
            for number, url in enumerate(addresses)
        )
        (folder / "sources.toml").write_text("".join(tables))
        places = {"OUTPUT_DIR": "output", "JOBS_DIR": "jobs", "LOGS_DIR": "logs", "SOURCES_FILE": "sources.toml"}
        settings = {name: str(folder / path) for name, path in places.items()}
        settings |= {"REQUESTS_PER_SECOND": "0", "CRAWL_DELAY_MAX": "0"}
        given = [word for name, value in settings.items() for word in ("-s", f"{name}={value}")]
        cost = run(["-m", "scrapy", "harvest", "--all", "--parallel", str(parallel), *given, *words], ROOT)
        assert complete(folder) == len(addresses)
        return cost.cpu / len(addresses)


def complete(folder: Path) -> int:
    """Return how many crawls were complete."""
    return sum('"verdict": "complete"' in path.read_text() for path in folder.glob("output/*/runs/*.json"))


def seconds(costs: list[float]) -> str:
    spread = Spread.of(costs)
    return f"{spread.median:.3f} s ({spread.low:.3f}..{spread.high:.3f})"
