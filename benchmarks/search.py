"""What a search takes: words, phrases and beginnings, among 100,000 datasets, within the process."""

from __future__ import annotations

import argparse
import sqlite3
import time
from contextlib import closing
from typing import TYPE_CHECKING

from benchmarks.crawls import scratch
from benchmarks.processes import Spread
from benchmarks.table import Row
from crawlers.store.index.database import connect
from crawlers.store.index.schema import VIEWS
from crawlers.store.index.search import Search, search
from tests.indexed import indexed

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

DATASETS = 100_000
MOST = 0.05  # seconds
SLOWEST_VIEW = 0.5
TIMES = 20
QUERIES = (
    *("flood", "water", "flood afg", "flood water roads", '"flood survey"', "floo*", "123*", "organisation", "part"),
    *("org* part", "1234", "nothing", "afg flood extent", "flood water roads schools prices", "floo* surv*"),
)
"""Words that nearly all datasets have, that a tenth has, that one has, that none has."""


MILLION = 1_000_000
BOUNDS = {
    "12345 format:CSV country:AFG": 0.3,
    "year:2020 keyword:flood format:CSV license:CC0-1.0": 0.3,
    "keyword:flood year:2020": 0.5,
    "flood format:CSV license:CC0-1.0": 1.0,
    "flood": 1.0,
    "flood modified:>2025-01-01 format:CSV": 1.0,
}
"""Seconds of the processor for a page of hits and all facets, among a million datasets."""


def faceting(options: argparse.Namespace) -> Iterator[Row]:
    """Measure searches with filters and facets among a million datasets."""
    with scratch(options.folder) as folder:
        indexed(folder, datasets=MILLION, sources=30)
        with closing(connect(folder)) as db:
            for text, most in BOUNDS.items():
                asked = Search.read(text)
                total = asked.answer(db).total
                spent = spread(lambda asked=asked: asked.answer(db, with_facets=True), 3)  # type: ignore[misc]
                yield Row(
                    f"{text}: {total:,} of {MILLION:,}, with facets",
                    f"{spent.median:.2f} s",
                    f"{most:g} s",
                    kept=spent.median <= most,
                )


def searching(options: argparse.Namespace) -> Iterator[Row]:
    with scratch(options.folder) as folder:
        indexed(folder, datasets=DATASETS)
        with closing(connect(folder)) as db:
            yield _searches(db)
            yield _views(db)


def _searches(db: sqlite3.Connection) -> Row:
    spent = {query: spread(lambda query=query: search(db, query), TIMES) for query in QUERIES}  # type: ignore[misc]
    medians = Spread.of(one.median for one in spent.values())
    slowest = max(spent, key=lambda query: spent[query].median)
    return Row(
        f"a search, of {DATASETS:,} datasets",
        f"{medians.median * 1000:.1f} ms; the slowest {medians.high * 1000:.1f} ms: {slowest}",
        f"below {MOST * 1000:.0f} ms",
        kept=medians.high < MOST,
    )


def _views(db: sqlite3.Connection) -> Row:
    spent = {view: spread(lambda view=view: db.execute(f"SELECT * FROM {view}").fetchmany(200), 3) for view in VIEWS}  # type: ignore[misc]
    slowest = max(spent, key=lambda view: spent[view].median)
    return Row(
        "the slowest view",
        f"{spent[slowest].median:.2f} s: {slowest}",
        f"below {SLOWEST_VIEW:g} s",
        kept=spent[slowest].median < SLOWEST_VIEW,
    )


def spread(ask: Callable[[], object], times: int) -> Spread:
    """Seconds of the processor: what else runs does not count."""
    spent = []
    for _ in range(times):
        started = time.process_time()
        ask()
        spent.append(time.process_time() - started)
    return Spread.of(spent)
