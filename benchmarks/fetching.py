"""What a request takes: an export after another, to those of a spider that does nothing with them."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.crawls import bare_scrapy, crawl_exports, portal, scratch
from benchmarks.processes import Cost
from benchmarks.table import Row, compared, milliseconds, percent, rate, times

if TYPE_CHECKING:
    from collections.abc import Iterator

EXPORTED = 1000
SHARE_OF_BARE_SCRAPY = 0.6
ONE_AT_A_TIME = ("-s", "CONCURRENT_ITEMS=1")  # by default Scrapy makes 100 tasks for every answer


def fetching(options: argparse.Namespace) -> Iterator[Row]:
    ours, bare, lean = [], [], []
    with portal(EXPORTED) as site:
        for _ in range(options.repeat):
            with scratch(options.folder) as folder:
                cost = crawl_exports(site, folder)
                ours.append(per_request(cost, reported_requests(folder / "ours")))
                urls = exported(folder / "ours")
                (folder / "urls").write_text("\n".join(urls))
                bare.append(per_request(bare_spider(folder), len(urls)))
                lean.append(per_request(bare_spider(folder, *ONE_AT_A_TIME), len(urls)))
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


def bare_spider(folder: Path, *settings: str) -> Cost:
    return bare_scrapy("bare_spider", folder, "-a", "urls=urls", *settings)


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
