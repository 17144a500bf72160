"""Measures what this project promises of its speed, memory and requests, as ratios of one run on one machine.

    python benchmarks/run.py --only listing

- listing: ``scrapy crawl ckan`` against bare_loop.py, which asks for the same pages and writes the same files.
- memory: the peak of that crawl at a tenth of the datasets and at all of them.
- fetching: ``scrapy crawl hdx`` against bare_spider.py, which asks for the same exports and does nothing with them.
- requests: what a first crawl asks for, and what one asks for when nothing has changed.

Everything is asked of a portal on the loopback, with delays off; seconds, processor and memory are those of the whole
process, its start included. Those compared take turns: the median of their ratios is given, and between what they lie.
Files go to memory where there is room: what a disk costs varies more than what is measured. --folder takes another.
Nothing is asserted: the exit code is 0 when everything could be run.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import shutil
import sys
import tempfile
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import metadata
from math import ceil
from pathlib import Path
from typing import TYPE_CHECKING

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # it is run as a script, from any folder

from benchmarks.processes import Cost, Spread, run
from tests.portal.portal import Portal

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    Measure = Callable[[argparse.Namespace], Iterator["Row"]]

ROOT = Path(__file__).resolve().parents[1]
BENCHMARKS = ROOT / "benchmarks"
PAGE = 1000
EXPORTED = 1000
UNCHANGED = 300
EXPORT = "/download_metadata"

TIMES_BARE_LOOP = 3.0
SHARE_OF_BARE_SCRAPY = 0.6
MEBIBYTES = 250
SAME = 1.1  # the peak of a process differs a little from run to run

IN_MEMORY = Path("/dev/shm")
ROOM = 2**30  # bytes
ONE_AT_A_TIME = ("-s", "CONCURRENT_ITEMS=1")  # by default Scrapy makes 100 tasks for every answer


@dataclass(frozen=True, slots=True)
class Row:
    """A line of the table; without a promise it is only told."""

    what: str
    measured: str
    promised: str = ""
    kept: bool | None = None

    @property
    def verdict(self) -> str:
        return "" if self.kept is None else "kept" if self.kept else "NOT kept"


# Running


def roomy() -> Path:
    in_memory = IN_MEMORY.is_dir() and shutil.disk_usage(IN_MEMORY).free >= ROOM
    return IN_MEMORY if in_memory else Path(tempfile.gettempdir())


@contextmanager
def scratch(folder: Path) -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="benchmark-", dir=folder) as name:
        yield Path(name)


def portal(datasets: int, *, log: bool = False) -> Portal:
    return Portal(datasets, rows_max=PAGE, faults=(), log=log)


def crawl(spider: str, site: Portal, output: Path, *arguments: str) -> Cost:
    settings = ("-s", "REQUESTS_PER_SECOND=0", "-s", f"OUTPUT_DIR={output}", "--nolog")
    return run(
        ["-m", "scrapy", "crawl", spider, "-a", f"portal={site.url}", "-a", "source=ours", *settings, *arguments], ROOT
    )


def crawl_exports(site: Portal, output: Path) -> Cost:
    return crawl("hdx", site, output, "-a", "level=resource")


def bare_loop(site: Portal, output: Path, *options: str) -> Cost:
    return run([str(BENCHMARKS / "bare_loop.py"), site.url, str(output), *options], ROOT)


def bare_spider(urls: Path, *settings: str) -> Cost:
    """In the folder of its addresses, far from this project's settings."""
    command = ["-m", "scrapy", "runspider", str(BENCHMARKS / "bare_spider.py"), "-a", f"urls={urls}", "--nolog"]
    return run([*command, *settings], urls.parent)


# Measuring


def listing(options: argparse.Namespace) -> Iterator[Row]:
    ours, bare, ordinary, same = [], [], [], 0
    with portal(options.datasets) as site:
        for _ in range(options.repeat):
            with scratch(options.folder) as folder:
                ours.append(crawl("ckan", site, folder))
                bare.append(bare_loop(site, folder / "bare"))
                same = alike(folder / "ours" / "datasets", folder / "bare" / "datasets")
                shutil.rmtree(folder / "bare")
                ordinary.append(bare_loop(site, folder / "bare", "--json"))
    wall, cpu = compared(ours, bare, "wall"), compared(ours, bare, "cpu")
    yield Row(
        "time, to a bare loop's",
        f"{times(wall)}: {seconds(ours, 'wall')} to {seconds(bare, 'wall')}",
        f"at most {TIMES_BARE_LOOP:g}x",
        kept=wall.median <= TIMES_BARE_LOOP,
    )
    yield Row("processor, to a bare loop's", f"{times(cpu)}: {seconds(ours, 'cpu')} to {seconds(bare, 'cpu')}")
    yield Row(
        "time, to a loop's with json.dump",
        f"{times(compared(ours, ordinary, 'wall'))}: {seconds(ours, 'wall')} to {seconds(ordinary, 'wall')}",
    )
    yield Row(
        "files like the bare loop's, byte for byte",
        f"{same} of {options.datasets}",
        "all",
        kept=same == options.datasets,
    )


def alike(one: Path, other: Path) -> int:
    """How many files two folders have with the same names and the same bytes; 0 when the names differ."""
    names = {path.name for path in one.iterdir()}
    if names != {path.name for path in other.iterdir()}:
        return 0
    return sum((one / name).read_bytes() == (other / name).read_bytes() for name in names)


def memory(options: argparse.Namespace) -> Iterator[Row]:
    few, many = peaks(options.datasets // 10, options), peaks(options.datasets, options)
    growth = many.median / few.median
    yield Row(
        f"peak at {options.datasets} datasets",
        f"{many.median:.0f} MiB ({many.low:.0f}..{many.high:.0f})",
        f"below {MEBIBYTES} MiB",
        kept=many.high < MEBIBYTES,
    )
    yield Row(
        f"peak, to that at {options.datasets // 10}",
        f"{growth:.2f}x: {many.median:.0f} to {few.median:.0f} MiB",
        f"the same (to {SAME:g}x)",
        kept=growth <= SAME,
    )


def peaks(datasets: int, options: argparse.Namespace) -> Spread:
    with portal(datasets) as site:
        return Spread.of([crawled_peak(site, options.folder) for _ in range(options.repeat)])


def crawled_peak(site: Portal, within: Path) -> float:
    with scratch(within) as folder:
        return crawl("ckan", site, folder).mebibytes


def fetching(options: argparse.Namespace) -> Iterator[Row]:
    ours, bare, lean = [], [], []
    with portal(EXPORTED) as site:
        for _ in range(options.repeat):
            with scratch(options.folder) as folder:
                cost = crawl_exports(site, folder)
                ours.append(per_request(cost, reported_requests(folder / "ours")))
                urls = exported(folder / "ours")
                (folder / "urls").write_text("\n".join(urls))
                bare.append(per_request(bare_spider(folder / "urls"), len(urls)))
                lean.append(per_request(bare_spider(folder / "urls", *ONE_AT_A_TIME), len(urls)))
    share = compared(bare, ours, "wall")
    yield Row(
        "requests a second, to bare Scrapy's",
        f"{percent(share)}: {rate(ours)} to {rate(bare)} a second",
        f"at least {SHARE_OF_BARE_SCRAPY:.0%}",
        kept=share.median >= SHARE_OF_BARE_SCRAPY,
    )
    yield Row(
        "the same, with its CONCURRENT_ITEMS=1",
        f"{percent(compared(lean, ours, 'wall'))}: {rate(ours)} to {rate(lean)} a second",
    )
    yield Row(
        "processor a request, to bare Scrapy's",
        f"{times(compared(ours, bare, 'cpu'))}: {milliseconds(ours)} to {milliseconds(bare)}",
    )


def per_request(cost: Cost, requests: int) -> Cost:
    return Cost(wall=cost.wall / requests, cpu=cost.cpu / requests, mebibytes=cost.mebibytes)


def reported_requests(folder: Path) -> int:
    """Those of the only run there was: the listing's too."""
    (report,) = (folder / "runs").iterdir()
    requests: int = json.loads(report.read_bytes())["requests"]
    return requests


def exported(folder: Path) -> list[str]:
    """The addresses of the exports that a crawl has written."""
    with (folder / "manifest.jsonl").open() as lines:
        entries = map(json.loads, lines)
        return [entry["metadata_url"] for entry in entries if entry["kind"] == "resource_metadata"]


def requests(options: argparse.Namespace) -> Iterator[Row]:
    with portal(options.datasets, log=True) as site, scratch(options.folder) as folder:
        crawl("ckan", site, folder)
        asked = sum(site.counts().values())
    most = ceil(options.datasets / PAGE) + 1
    yield Row(f"for a snapshot of {options.datasets} datasets", str(asked), f"at most {most}", kept=asked <= most)
    with portal(UNCHANGED, log=True) as site, scratch(options.folder) as folder:
        crawl_exports(site, folder)
        first = site.counts()
        site.reset()
        crawl_exports(site, folder)
        again = site.counts()
    yield Row(f"for {UNCHANGED} datasets and their exports", asked_for(first))
    yield Row("again, nothing having changed", asked_for(again), "no export", kept=exports(again) == 0)


def exports(counts: dict[str, int]) -> int:
    return sum(count for path, count in counts.items() if path.endswith(EXPORT))


def asked_for(counts: dict[str, int]) -> str:
    return f"{exports(counts)} for exports, {sum(counts.values()) - exports(counts)} for the listing"


# Telling


def compared(ones: list[Cost], others: list[Cost], field: str) -> Spread:
    return Spread.of(getattr(one, field) / getattr(other, field) for one, other in zip(ones, others, strict=True))


def median(costs: list[Cost], field: str) -> float:
    return Spread.of(getattr(cost, field) for cost in costs).median


def times(ratio: Spread) -> str:
    return f"{ratio.median:.2f}x ({ratio.low:.2f}..{ratio.high:.2f})"


def percent(ratio: Spread) -> str:
    return f"{ratio.median:.0%} ({ratio.low:.0%}..{ratio.high:.0%})"


def seconds(costs: list[Cost], field: str) -> str:
    return f"{median(costs, field):.1f} s"


def milliseconds(costs: list[Cost]) -> str:
    return f"{median(costs, 'cpu') * 1000:.2f} ms"


def rate(costs: list[Cost]) -> str:
    return f"{1 / median(costs, 'wall'):.0f}"


def machine() -> str:
    return (
        f"{os.cpu_count()} cores, {platform.system()} {platform.machine()}, "
        f"Python {platform.python_version()}, Scrapy {metadata.version('scrapy')}"
    )


def tell(name: str, rows: Iterator[Row]) -> None:
    print(f"\n{name}", flush=True)
    for row in rows:
        print(f"  {row.what:<42}{row.promised:<21}{row.verdict:<10}{row.measured}".rstrip(), flush=True)


MEASURES: dict[str, Measure] = {
    "listing": listing,
    "memory": memory,
    "fetching": fetching,
    "requests": requests,
}


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--datasets", type=int, default=20_000)
    parser.add_argument("--repeat", type=int, default=3, help="how often what is timed is run")
    parser.add_argument("--only", choices=MEASURES)
    parser.add_argument("--folder", type=Path, default=roomy(), help="where files go meanwhile")
    return parser.parse_args()


def main() -> None:
    options = arguments()
    print(f"{machine()}; files in {options.folder}; the median of {options.repeat} runs (min..max)")
    for name in [options.only] if options.only else MEASURES:
        tell(name, MEASURES[name](options))


if __name__ == "__main__":
    main()
