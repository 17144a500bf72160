"""What a DCAT catalogue takes: a file to rdflib's parsing of it, a file ten times as large, and one of many pages."""

from __future__ import annotations

import argparse
import shutil
import tempfile
from contextlib import contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import TYPE_CHECKING

from benchmarks.crawls import ROOT, scratch
from benchmarks.dcat_catalogue import LAYOUTS, write
from benchmarks.processes import Cost, Spread, run
from benchmarks.table import Row, against, compared, median
from tests.portal.dcat import Catalogue

if TYPE_CHECKING:
    from collections.abc import Iterator

DATASETS, MANY = 10_000, 100_000
TIMES_RDFLIB = {"rdf": 0.5, "ttl": 0.5, "jsonld": 1.0}
RDFLIB = {"rdf": "xml", "ttl": "turtle", "jsonld": "json-ld"}
PARSE = "import sys, rdflib; rdflib.Graph().parse(sys.argv[1], format=sys.argv[2])"

STREAMED = ("rdf", "ttl")
TIMES_FEW = 11
MEBIBYTES = 700
ROOM = 4 * 2**30  # bytes: the file, its documents, and what is spooled

FEW_PAGES, MANY_PAGES = 20, 200
PER_PAGE = 100
SAME = 1.1  # the peak of a process differs a little from run to run


def parsing(options: argparse.Namespace) -> Iterator[Row]:
    for form, most in TIMES_RDFLIB.items():
        ours, again, rdflib, written = [], [], [], 0
        with scratch(options.folder) as folder, served(folder) as site:
            file = write(folder / f"catalog.{form}", DATASETS, form, "nested")
            for _ in range(options.repeat):
                with scratch(options.folder) as output:
                    ours.append(crawl_into(output, f"{site}/{file.name}"))
                    again.append(crawl_into(output, f"{site}/{file.name}"))
                    written = documents(output)
                rdflib.append(run(["-c", PARSE, str(file), RDFLIB[form]], folder))
        yield Row(
            f"{form}: time, to rdflib's parsing",
            against(ours, rdflib, "wall"),
            f"at most {most:g}x",
            kept=compared(ours, rdflib, "wall").median <= most,
        )
        yield Row(f"{form}: processor, to rdflib's", against(ours, rdflib, "cpu"))
        yield Row(f"{form}: again, nothing changed", against(again, rdflib, "cpu"))
        yield Row(f"{form}: peak, to rdflib's", f"{peak(ours):.0f} to {peak(rdflib):.0f} MiB")
        yield all_written(form, written, DATASETS)


def growth(options: argparse.Namespace) -> Iterator[Row]:
    """The large file once, for the time it takes."""
    folder = roomy(options.folder)
    for form in STREAMED:
        for layout in LAYOUTS:
            few = [crawled(DATASETS, form, layout, folder)[0] for _ in range(options.repeat)]
            many, written = crawled(MANY, form, layout, folder)
            times = many.wall / median(few, "wall")
            yield Row(
                f"{form}, {layout}: time, {MANY} to {DATASETS}",
                f"{times:.1f}x: {many.wall:.1f} to {median(few, 'wall'):.1f} s",
                f"at most {TIMES_FEW}x",
                kept=times <= TIMES_FEW,
            )
            yield Row(
                f"{form}, {layout}: peak at {MANY}",
                f"{many.mebibytes:.0f} MiB, {peak(few):.0f} at {DATASETS}",
                f"at most {MEBIBYTES} MiB",
                kept=many.mebibytes <= MEBIBYTES,
            )
            yield all_written(f"{form}, {layout}", written, MANY)


def paged(options: argparse.Namespace) -> Iterator[Row]:
    few, many = (paged_peaks(pages, options) for pages in (FEW_PAGES, MANY_PAGES))
    times = many.median / few.median
    yield Row(
        f"peak, {MANY_PAGES} pages to {FEW_PAGES}",
        f"{times:.2f}x: {many.median:.0f} to {few.median:.0f} MiB",
        f"the same (to {SAME:g}x)",
        kept=times <= SAME,
    )


def paged_peaks(pages: int, options: argparse.Namespace) -> Spread:
    with Catalogue(pages * PER_PAGE, per_page=PER_PAGE, paging="paged") as catalogue:
        return Spread.of([crawl(catalogue.address, options.folder)[0].mebibytes for _ in range(options.repeat)])


def crawled(datasets: int, form: str, layout: str, within: Path) -> tuple[Cost, int]:
    with scratch(within) as folder, served(folder) as site:
        file = write(folder / f"catalog.{form}", datasets, form, layout)
        return crawl(f"{site}/{file.name}", within)


def crawl(url: str, within: Path) -> tuple[Cost, int]:
    """What it took, and how many documents there are of it."""
    with scratch(within) as folder:
        return crawl_into(folder, url), documents(folder)


def crawl_into(folder: Path, url: str, spider: str = "dcat") -> Cost:
    settings = ("-s", "REQUESTS_PER_SECOND=0", "-s", f"OUTPUT_DIR={folder}", "--nolog")
    return run(["-m", "scrapy", "crawl", spider, "-a", f"url={url}", "-a", "source=ours", *settings], ROOT)


def documents(folder: Path) -> int:
    return sum(1 for _ in (folder / "ours" / "datasets").iterdir())


def all_written(what: str, written: int, datasets: int) -> Row:
    return Row(f"{what}: documents", f"{written} of {datasets}", "all", kept=written == datasets)


def peak(costs: list[Cost]) -> float:
    return median(costs, "mebibytes")


def roomy(folder: Path) -> Path:
    return folder if shutil.disk_usage(folder).free >= ROOM else Path(tempfile.gettempdir())


class Files(SimpleHTTPRequestHandler):
    """A file is sent from the disk, a piece after another."""

    extensions_map = {".rdf": "application/rdf+xml", ".ttl": "text/turtle", ".jsonld": "application/ld+json"}  # noqa: RUF012

    def log_message(self, *_: object) -> None:
        pass


@contextmanager
def served(folder: Path) -> Iterator[str]:
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(Files, directory=str(folder))) as server:
        Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
