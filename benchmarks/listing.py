"""What a listing takes: the time of a whole catalogue, and its memory."""

from __future__ import annotations

import argparse
import shutil
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.crawls import bare_loop, crawl, portal, scratch
from benchmarks.processes import Spread
from benchmarks.table import Row, against, compared

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.portal.portal import Portal

TIMES_BARE_LOOP = 3.0
MEBIBYTES = 250
SAME = 1.1  # the peak of a process differs a little from run to run


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
    yield Row(
        "time, to a bare loop's",
        against(ours, bare, "wall"),
        f"at most {TIMES_BARE_LOOP:g}x",
        kept=compared(ours, bare, "wall").median <= TIMES_BARE_LOOP,
    )
    yield Row("processor, to a bare loop's", against(ours, bare, "cpu"))
    yield Row("time, to a loop's with json.dump", against(ours, ordinary, "wall"))
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
