"""Measures what this project promises of its speed, memory and requests, as ratios of one run on one machine.

    python benchmarks/run.py --only listing

- startup: ``scrapy --help``, ``jobs``, ``search``, and a crawl until its first request, to those of a stock project.
- listing: ``scrapy crawl ckan``, the first time and again, against bare_loop.py and bare_ckan.py, a minimal Scrapy
  spider, which ask for the same pages and write the same files.
- memory: the peak of that crawl at a tenth of the datasets and at all of them.
- fetching: ``scrapy crawl hdx`` against bare_spider.py and bare_fetch.py, which ask for the same and write it.
- requests: what a first crawl asks for, and what one asks for when nothing has changed.
- ledger: bare_queue.py with the ledger against the same with Scrapy's own queues, and the peak of bare_backlog.py.
- versions: ``scrapy crawl ckan`` of changes, to the same without keeping what is former, and the bytes of that.
- rerun: what a crawl of the changes asks for, to that of everything.
- dcat: ``scrapy crawl dcat`` of a catalogue in one file against rdflib, which only parses the same file.
- dcat-growth: the same crawl of a file ten times as large, its agents and distributions at hand or far away.
- dcat-pages: the peak of a crawl of 200 pages, to one of 20.
- csw: ``scrapy crawl csw`` of 10,000 ISO records against bare_records.py, a loop with lxml that writes the same files,
  and bare_owslib.py, which only parses them.
- data-json: ``scrapy crawl dcat`` of 10,000 records in a data.json against bare_records.py, a loop with msgspec.
- html: twelve fields of each of 1,000 dataset pages against parsel alone with the same selectors.
- html-pages: the peak of ``scrapy crawl html`` at 20,000 dataset pages, to that at 2,000.
- facets: searches with filters and facets, of an index of 1,000,000 datasets; only if it is named.
- search: the queries of ``scrapy search``, and the views, of an index of 100,000 datasets.
- api: ``scrapy crawl api`` of a udata portal, three resources a dataset, against bare_api.py, a minimal spider.
- report: ``scrapy report`` of an index of 100,000 datasets, and its peak to that of 10,000.
- series: 260 weeks of 700 portals with 20 figures each: one more week, its index, and ``scrapy report``.
- archive: ``scrapy crawl archive`` of files at 200 hosts against bare_archive.py and bare_downloads.py, a second run in
  which nothing changed, and one large file against curl, sha256sum and md5sum.
- extensions: what the profiles of 2,000 extensions cost at GitHub, with a token and without, and when nothing changed.
- sites: ``scrapy crawl ckan_sites`` of 700 portals, a tenth of them dead, silent, slow, blocked or broken, against
  bare_portals.py, ten threads with the same time-outs and retries; minutes a run, so --repeat 1 is enough.
- sources: ``scrapy harvest`` of 300 small sources, one, two and four in parallel, to bare_crawls.py, where one process
  crawls them all: what the start of a crawl costs; --repeat 1 is enough.
- store: ``scrapy crawl ckan`` into a store in S3 against the same into a folder, push and pull against files, and what
  a night and a look cost after a year of daily runs.
- scale: what an operator waits for with 1,000,000 datasets, and 300 sources that ran every night for a year; the folder
  is made first, which takes minutes, and is kept if --folder ends with ``scale``.
- reindex: ``scrapy reindex`` with a year of daily run reports, to that with one; the view `overview` of as many runs.

Everything is asked of a portal on the loopback, with delays off; seconds, processor and memory are those of the whole
process, its start included. Those compared take turns: the median of their ratios is given, and between what they lie.
Files go to memory where there is room: what a disk costs varies more than what is measured. --folder takes another.
--instructions --repeat 1, with --only, is for machines whose seconds differ from turn to turn, and takes fifty times as
long. Hashes and large copies weigh more in it than they take: valgrind has no instructions of their own for them.
Nothing is asserted: the exit code is 0 when everything could be run.
"""

from __future__ import annotations

import argparse
import os
import platform
import sys
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # it is run as a script, from any folder

from benchmarks.apis import declared
from benchmarks.archiving import archiving
from benchmarks.asked import requests, rerun
from benchmarks.crawls import roomy
from benchmarks.csw import listed
from benchmarks.data_json import published
from benchmarks.dcat import growth, paged, parsing
from benchmarks.extensions import profiled
from benchmarks.fetching import fetching
from benchmarks.ledger import ledger
from benchmarks.listing import listing, memory
from benchmarks.pages import crawled, extraction
from benchmarks.portals import visited
from benchmarks.processes import COUNTS
from benchmarks.reindex import reindexed
from benchmarks.report import reported
from benchmarks.scale import scaled
from benchmarks.search import faceting, searching
from benchmarks.series import observed_for_years
from benchmarks.shared import stored
from benchmarks.sources import harvested
from benchmarks.startup import startup
from benchmarks.table import Row, tell
from benchmarks.versions import former

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    Measure = Callable[[argparse.Namespace], Iterator[Row]]

MEASURES: dict[str, Measure] = {
    "startup": startup,
    "listing": listing,
    "memory": memory,
    "fetching": fetching,
    "requests": requests,
    "ledger": ledger,
    "rerun": rerun,
    "versions": former,
    "dcat": parsing,
    "dcat-growth": growth,
    "dcat-pages": paged,
    "csw": listed,
    "data-json": published,
    "api": declared,
    "html": extraction,
    "html-pages": crawled,
    "search": searching,
    "facets": faceting,
    "report": reported,
    "series": observed_for_years,
    "store": stored,
    "scale": scaled,
    "reindex": reindexed,
    "archive": archiving,
    "extensions": profiled,
    "sites": visited,
    "sources": harvested,
}
IF_NAMED = {"facets"}
"""What takes ten minutes, and 5 GB of disk."""
OF_ONE_PROCESS = {"listing", "dcat", "csw", "data-json", "api", "versions"}
"""What can be compared by instructions, too."""


def machine() -> str:
    return (
        f"{os.cpu_count()} cores, {platform.system()} {platform.machine()}, "
        f"Python {platform.python_version()}, Scrapy {metadata.version('scrapy')}"
    )


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--datasets", type=int, default=20_000)
    parser.add_argument("--repeat", type=int, default=5, help="how often what is timed is run")
    parser.add_argument("--only", choices=MEASURES)
    parser.add_argument("--instructions", action="store_true", help="count them, by valgrind, in place of the seconds")
    parser.add_argument("--folder", type=Path, default=roomy(), help="where files go meanwhile")
    options = parser.parse_args()
    if options.instructions and options.only not in OF_ONE_PROCESS:
        names = ", ".join(sorted(OF_ONE_PROCESS))
        parser.error(f"--instructions counts one process: it goes with --only and one of {names}")
    return options


def main() -> None:
    options = arguments()
    if options.instructions:
        os.environ[COUNTS] = "1"
    print(f"{machine()}; files in {options.folder}; the median of {options.repeat} runs (min..max)")
    for name in [options.only] if options.only else [name for name in MEASURES if name not in IF_NAMED]:
        tell(f"{name} (load {os.getloadavg()[0]:.1f})", MEASURES[name](options))


if __name__ == "__main__":
    main()
