"""What an HTML catalogue takes: fields of pages against parsel alone, and the memory of a crawl of many pages."""

from __future__ import annotations

import argparse
import re
from typing import TYPE_CHECKING

from benchmarks.crawls import BENCHMARKS, ROOT, scratch
from benchmarks.html_pages import RULES, page, write
from benchmarks.processes import Cost, Spread, run
from benchmarks.table import Row, against, compared, median
from tests.site import Answer, Asked, Site

if TYPE_CHECKING:
    from collections.abc import Iterator

PAGES = 1_000
PER_SECOND = 200
TIMES_PARSEL = 1.5
CPU_TIMES_PARSEL = 1.4
FEW, MANY = 2_000, 20_000
PER_LISTING = 20
SAME = 1.1  # the peak of a process differs a little from run to run


def extraction(options: argparse.Namespace) -> Iterator[Row]:
    ours, bare = [], []
    with scratch(options.folder) as folder:
        write(folder, PAGES)
        for _ in range(options.repeat):
            ours.append(run([str(BENCHMARKS / "extraction.py"), str(folder)], ROOT))
            bare.append(run([str(BENCHMARKS / "bare_parsel.py"), str(folder)], ROOT))
    rate = PAGES / median(ours, "wall")
    yield Row("dataset pages a second", f"{rate:.0f}", f"at least {PER_SECOND}", kept=rate >= PER_SECOND)
    yield Row(
        "time, to parsel alone",
        against(ours, bare, "wall"),
        f"at most {TIMES_PARSEL:g}x",
        kept=compared(ours, bare, "wall").median <= TIMES_PARSEL,
    )
    yield Row(
        "processor, to parsel alone",
        against(ours, bare, "cpu"),
        f"at most {CPU_TIMES_PARSEL:g}x",
        kept=compared(ours, bare, "cpu").median <= CPU_TIMES_PARSEL,
    )


def crawled(options: argparse.Namespace) -> Iterator[Row]:
    """The many once, for the time they take."""
    few, many = costs(FEW, options.repeat, options), costs(MANY, 1, options)
    peaks = [Spread.of(cost.mebibytes for cost in group).median for group in (few, many)]
    yield Row(
        f"peak, {MANY} pages to {FEW}",
        f"{peaks[1] / peaks[0]:.2f}x: {peaks[1]:.0f} to {peaks[0]:.0f} MiB",
        f"the same (to {SAME:g}x)",
        kept=peaks[1] / peaks[0] <= SAME,
    )
    yield Row(f"time of {MANY} pages, as a whole crawl", f"{median(many, 'wall'):.1f} s")


def costs(datasets: int, times: int, options: argparse.Namespace) -> list[Cost]:
    with Site(lambda asked: answer(asked, datasets)) as site:
        return [crawl(site, datasets, options) for _ in range(times)]


def crawl(site: Site, datasets: int, options: argparse.Namespace) -> Cost:
    with scratch(options.folder) as folder:
        rules = folder / "rules.toml"
        rules.write_text(RULES.replace("http://127.0.0.1", site.url), encoding="utf-8")
        settings = ("-s", "REQUESTS_PER_SECOND=0", "-s", f"OUTPUT_DIR={folder}", "--nolog")
        cost = run(["-m", "scrapy", "crawl", "html", "-a", f"rules={rules}", "-a", "source=ours", *settings], ROOT)
        written = sum(1 for _ in (folder / "ours" / "datasets").iterdir())
        assert written == datasets, f"{written} of {datasets} documents"  # or nothing was measured
        return cost


def answer(asked: Asked, datasets: int) -> Answer:
    html = {"Content-Type": "text/html; charset=utf-8"}
    if found := re.search(r"/dataset/d(\d+)", asked.path):
        return Answer(page(int(found[1])).encode(), headers=html)
    if not asked.path.startswith("/datasets"):
        return Answer(status=404)
    number = int((re.search(r"page=(\d+)", asked.path) or ["", "1"])[1])
    first = (number - 1) * PER_LISTING
    links = (
        f'<li class="dataset"><a href="/dataset/d{n}">{n}</a>' for n in range(first, min(first + PER_LISTING, datasets))
    )
    return Answer(f"<html><body><ul>{''.join(links)}</ul></body></html>".encode(), headers=html)
