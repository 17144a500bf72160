"""What the crawl of a catalogue service takes, to OWSLib's parsing of the same records alone."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.crawls import BENCHMARKS, ROOT, scratch
from benchmarks.csw_catalogue import catalogue, write
from benchmarks.dcat import all_written, peak
from benchmarks.processes import Cost, run
from benchmarks.table import Row, against, compared
from tests.site import Site

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator

DATASETS = 10_000
TIMES_OWSLIB = 1.0
OWSLIB = "OWSLIB"
"""The environment variable that names a folder with OWSLib: ``pip install --target``. The project needs none."""


def listed(options: argparse.Namespace) -> Iterator[Row]:
    if OWSLIB not in os.environ:
        yield Row("OWSLib", f"not compared: {OWSLIB} names no folder with it (pip install --target FOLDER OWSLib)")
    known, ours, theirs, written = catalogue(DATASETS), [], [], 0
    with scratch(options.folder) as folder, Site(known) as site:
        size = write(folder, DATASETS)
        for _ in range(options.repeat):
            cost, written = crawl(f"{site.url}/csw", options.folder)
            ours.append(cost)
            if OWSLIB in os.environ:
                command = [str(BENCHMARKS / "bare_owslib.py"), str(folder), str(DATASETS)]
                theirs.append(run(command, folder, path=Path(os.environ[OWSLIB])))
    yield Row("the records", f"{size / 2**20:.0f} MiB of ISO 19139")
    if theirs:
        processor = against(ours, theirs, "cpu")
        kept = compared(ours, theirs, "cpu").median <= TIMES_OWSLIB
        yield Row("processor, to OWSLib's parsing", processor, f"at most {TIMES_OWSLIB:g}x", kept=kept)
        yield Row("time, to OWSLib's parsing", against(ours, theirs, "wall"))
    yield Row("peak", f"{peak(ours):.0f} MiB")
    yield all_written("iso", written, DATASETS)


def crawl(url: str, within: Path) -> tuple[Cost, int]:
    """Return what a crawl took, and how many documents there are of it."""
    with scratch(within) as folder:
        settings = ("-s", "REQUESTS_PER_SECOND=0", "-s", f"OUTPUT_DIR={folder}", "--nolog")
        cost = run(["-m", "scrapy", "crawl", "csw", "-a", f"url={url}", "-a", "source=ours", *settings], ROOT)
        return cost, sum(1 for _ in (folder / "ours" / "datasets").iterdir())
