"""What the crawl of a catalogue service takes, to a loop that writes the same files, and to OWSLib's parsing alone."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.crawls import BENCHMARKS, bare_records, scratch
from benchmarks.csw_catalogue import catalogue, write
from benchmarks.dcat import crawl_into, peak
from benchmarks.listing import alike, all_alike
from benchmarks.processes import run
from benchmarks.table import Row, against, compared
from tests.site import Site

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator

DATASETS = 10_000
TIMES_OWSLIB, TIMES_BARE = 1.0, 2.0
OWSLIB = "OWSLIB"
"""The environment variable that names a folder with OWSLib: ``pip install --target``. The project needs none."""


def listed(options: argparse.Namespace) -> Iterator[Row]:
    if OWSLIB not in os.environ:
        yield Row("OWSLib", f"not compared: {OWSLIB} names no folder with it (pip install --target FOLDER OWSLib)")
    known, ours, bare, again, theirs, same = catalogue(DATASETS), [], [], [], [], 0
    with scratch(options.folder) as folder, Site(known) as site:
        size = write(folder, DATASETS)
        for _ in range(options.repeat):
            with scratch(options.folder) as output:
                ours.append(crawl_into(output, f"{site.url}/csw", "csw"))
                bare.append(bare_records("csw", f"{site.url}/csw", output / "bare"))
                again.append(crawl_into(output, f"{site.url}/csw", "csw"))
                same = alike(output / "ours" / "datasets", output / "bare")
            if OWSLIB in os.environ:
                command = [str(BENCHMARKS / "bare_owslib.py"), str(folder), str(DATASETS)]
                theirs.append(run(command, folder, path=Path(os.environ[OWSLIB])))
    yield Row("the records", f"{size / 2**20:.0f} MiB of ISO 19139")
    if theirs:
        processor = against(ours, theirs, "cpu")
        kept = compared(ours, theirs, "cpu").median <= TIMES_OWSLIB
        yield Row("processor, to OWSLib's parsing", processor, f"at most {TIMES_OWSLIB:g}x", kept=kept)
        yield Row("time, to OWSLib's parsing", against(ours, theirs, "wall"))
    bound = f"at most {TIMES_BARE:g}x"
    kept = compared(ours, bare, "cpu").median <= TIMES_BARE
    yield Row("processor, to a bare loop with lxml", against(ours, bare, "cpu"), bound, kept=kept)
    yield Row("again, nothing changed", against(again, bare, "cpu"))
    yield Row("peak", f"{peak(ours):.0f} MiB")
    yield all_alike(same, DATASETS)
