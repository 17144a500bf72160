"""What a report takes: its time for an index of many datasets, and its peak memory to that of a tenth of them."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from benchmarks.crawls import ROOT, scratch
from benchmarks.processes import Cost, Spread, run
from benchmarks.table import Row, median
from tests.indexed import indexed

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

FEW, MANY = 10_000, 100_000
SOURCES = 60
SECONDS = 60
TIMES_THE_PEAK = 1.5


def reported(options: argparse.Namespace) -> Iterator[Row]:
    costs = {datasets: _costs(datasets, options) for datasets in (FEW, MANY)}
    seconds = median(costs[MANY], "wall")
    yield Row(f"a report of {MANY} datasets", f"{seconds:.1f} s", f"at most {SECONDS} s", kept=seconds <= SECONDS)
    yield Row(f"a report of {FEW} datasets", f"{median(costs[FEW], 'wall'):.1f} s")
    peaks = {datasets: Spread.of(cost.mebibytes for cost in group).median for datasets, group in costs.items()}
    ratio = peaks[MANY] / peaks[FEW]
    yield Row(
        f"peak, {MANY} datasets to {FEW}",
        f"{ratio:.2f}x: {peaks[MANY]:.0f} to {peaks[FEW]:.0f} MiB",
        f"at most {TIMES_THE_PEAK:g}x",
        kept=ratio <= TIMES_THE_PEAK,
    )


def _costs(datasets: int, options: argparse.Namespace) -> list[Cost]:
    with scratch(options.folder) as folder:
        indexed(folder, datasets=datasets, sources=SOURCES)
        for source in range(SOURCES):  # without its folder a source is taken for removed
            (folder / f"source-{source}").mkdir()
            (folder / f"source-{source}" / "manifest.jsonl").touch()
        return [_report(folder, datasets) for _ in range(options.repeat)]


def _report(folder: Path, datasets: int) -> Cost:
    """As a user makes it, the start of Scrapy included; the page must speak of the datasets."""
    page = folder / "report.html"
    cost = run(["-m", "scrapy", "report", "-s", f"OUTPUT_DIR={folder}", "-o", str(page)], ROOT)
    shown = page.read_text(encoding="utf-8")
    assert shown.rstrip().endswith("</html>")
    assert f"{datasets:,}" in shown
    return cost
