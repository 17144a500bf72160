"""What a listing takes: the processor time of a whole catalogue, the first time and again, and its memory."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.crawls import bare_ckan, bare_loop, crawl, portal, scratch
from benchmarks.processes import Spread
from benchmarks.table import Row, against, compared, median
from crawlers import settings

if TYPE_CHECKING:
    from collections.abc import Iterator

    from benchmarks.processes import Cost
    from tests.portal.portal import Portal

FIRST = 2.0  # times the processor time of the bare loop
AGAIN = 1.2
WITHOUT = ("-s", "EXTENSIONS=" + json.dumps({**settings.EXTENSIONS, "benchmarks.undescribed.Undescribed": 0}))
MEBIBYTES = 250
SAME = 1.1  # the peak of a process differs a little from run to run


def listing(options: argparse.Namespace) -> Iterator[Row]:
    first, again, bare, minimal, lean, without, same = [], [], [], [], [], [], 0
    with portal(options.datasets) as site:
        for _ in range(options.repeat):
            with scratch(options.folder) as folder:
                first.append(crawl("ckan", site, folder))
                bare.append(bare_loop(site, folder / "bare", "--json"))
                again.append(crawl("ckan", site, folder))
                minimal.append(bare_ckan(site, folder))
                lean.append(bare_loop(site, folder / "lean"))
                without.append(crawl("ckan", site, folder / "without", *WITHOUT))
                same = alike(folder / "ours" / "datasets", folder / "lean" / "datasets")
    yield promised("a first crawl", first, bare, FIRST)
    yield Row("the same without the descriptions", against(without, bare, "cpu"))
    yield promised("again, nothing changed", again, bare, AGAIN)
    yield Row("a first crawl, to a minimal Scrapy spider", against(first, minimal, "cpu"))
    yield Row("again, to that spider's first", against(again, minimal, "cpu"))
    yield Row("a first crawl's time on the clock", against(first, bare, "wall"))
    yield Row("a first crawl, to a loop with orjson", against(first, lean, "cpu"))
    yield Row("peak", ", ".join(f"{median(costs, 'mebibytes'):.0f} MiB" for costs in (first, again, bare)))
    yield all_alike(same, options.datasets)


def promised(what: str, ours: list[Cost], bare: list[Cost], most: float) -> Row:
    kept = compared(ours, bare, "cpu").median <= most
    return Row(f"{what}, to a bare loop", against(ours, bare, "cpu"), f"at most {most:g}x", kept=kept)


def alike(one: Path, other: Path) -> int:
    """How many files two folders have with the same names and the same bytes; 0 when the names differ."""
    names = {path.name for path in one.iterdir()}
    if names != {path.name for path in other.iterdir()}:
        return 0
    return sum((one / name).read_bytes() == (other / name).read_bytes() for name in names)


def all_alike(same: int, datasets: int) -> Row:
    return Row("files like the loop's, byte for byte", f"{same} of {datasets}", "all", kept=same == datasets)


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
