"""What an export takes: a whole crawl of them, to programs that ask for the same addresses and write the answers."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.crawls import bare_fetch, bare_scrapy, crawl_exports, portal, scratch
from benchmarks.table import Row, against, compared, median

if TYPE_CHECKING:
    from collections.abc import Iterator

    from benchmarks.processes import Cost

EXPORTED = 1000  # datasets, with three resources each
TIMES_THE_TIME = 1.0
TIMES_THE_PROCESSOR = 1.2
ONE_AT_A_TIME = ("-s", "CONCURRENT_ITEMS=1")  # by default Scrapy makes 100 tasks for every answer


def fetching(options: argparse.Namespace) -> Iterator[Row]:
    ours, bare, lean, plain = [], [], [], []
    exports = 0
    with portal(EXPORTED) as site:
        for _ in range(options.repeat):
            with scratch(options.folder) as folder:
                ours.append(crawl_exports(site, folder))
                urls = exported(folder / "ours")
                exports = len(urls)
                (folder / "urls").write_text("\n".join(urls))
                bare.append(bare_spider(folder, "bare"))
                lean.append(bare_spider(folder, "lean", *ONE_AT_A_TIME))
                plain.append(bare_fetch(folder / "urls", folder / "plain"))
                assert {len(list((folder / one).iterdir())) for one in ("bare", "lean", "plain")} == {exports}
    yield promised("time", "wall", ours, bare, TIMES_THE_TIME)
    yield promised("processor", "cpu", ours, bare, TIMES_THE_PROCESSOR)
    yield Row("processor, to its CONCURRENT_ITEMS=1", against(ours, lean, "cpu"))
    yield Row("time, to aiohttp's", against(ours, plain, "wall"))
    yield Row("processor, to aiohttp's", against(ours, plain, "cpu"))
    yield Row("processor, an export", ", ".join(milliseconds(costs, exports) for costs in (ours, bare, lean, plain)))
    yield Row("peak", ", ".join(f"{median(costs, 'mebibytes'):.0f} MiB" for costs in (ours, bare, lean, plain)))


def promised(what: str, field: str, ours: list[Cost], bare: list[Cost], most: float) -> Row:
    kept = compared(ours, bare, field).median <= most
    return Row(f"{what}, to a minimal Scrapy's", against(ours, bare, field), f"at most {most:g}x", kept=kept)


def bare_spider(folder: Path, name: str, *settings: str) -> Cost:
    (folder / name).mkdir()
    return bare_scrapy("bare_spider", folder, "-a", "urls=urls", "-a", f"folder={name}", *settings)


def milliseconds(costs: list[Cost], exports: int) -> str:
    return f"{median(costs, 'cpu') / exports * 1000:.2f} ms"


def exported(folder: Path) -> list[str]:
    """The addresses of the exports that a crawl has written."""
    with (folder / "manifest.jsonl").open() as lines:
        entries = map(json.loads, lines)
        return [entry["metadata_url"] for entry in entries if entry["kind"] == "resource_metadata"]
