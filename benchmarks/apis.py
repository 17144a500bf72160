"""What a JSON API takes: a whole catalogue, to a minimal spider with the same expressions; and again, unchanged."""

from __future__ import annotations

from typing import TYPE_CHECKING

from benchmarks.crawls import BENCHMARKS, ROOT, scratch
from benchmarks.processes import Cost, run
from benchmarks.table import Row, against, compared, median
from tests.portal.apis import API

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator
    from pathlib import Path

TIMES_BARE = 1.3
FILES = 3
MEBIBYTES = 250
QUICK = ("-s", "ROBOTSTXT_OBEY=0", "--nolog")


def declared(options: argparse.Namespace) -> Iterator[Row]:
    first, again, bare, written = [], [], [], 0
    with API("udata", options.datasets, files=FILES) as api:
        for _ in range(options.repeat):
            with scratch(options.folder) as folder:
                bare.append(_bare(api, folder / "bare"))
                first.append(_crawl(api, folder))
                again.append(_crawl(api, folder))
                written = sum(1 for _ in (folder / "ours" / "datasets").iterdir())
    yield Row(
        "a first crawl, to a minimal spider",
        against(first, bare, "cpu"),
        f"at most {TIMES_BARE:g}x",
        kept=compared(first, bare, "cpu").median <= TIMES_BARE,
    )
    yield Row("again, nothing changed", against(again, bare, "cpu"))
    yield Row("a first crawl's time on the clock", against(first, bare, "wall"))
    peak = median(first, "mebibytes")
    yield Row("peak", f"{peak:.0f} MiB", f"below {MEBIBYTES} MiB", kept=peak < MEBIBYTES)
    yield Row("documents", f"{written} of {options.datasets}", "all", kept=written == options.datasets)


def _crawl(api: API, output: Path) -> Cost:
    words = ["-a", f"portal={api.portal}", "-a", "kind=udata", "-a", "source=ours"]
    settings = ["-s", "REQUESTS_PER_SECOND=0", "-s", f"OUTPUT_DIR={output}", "--nolog"]
    return run(["-m", "scrapy", "crawl", "api", *words, *settings], ROOT)


def _bare(api: API, output: Path) -> Cost:
    """Run outside of the project, so that Scrapy's own settings are in force."""
    output.mkdir()
    words = ["-a", f"portal={api.portal}", "-a", f"folder={output}", *QUICK]
    return run(["-m", "scrapy", "runspider", str(BENCHMARKS / "bare_api.py"), *words], output, path=ROOT)
