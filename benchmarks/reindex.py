"""What `scrapy reindex` takes with a year of daily run reports, to that with one; and the views, of many runs."""

from __future__ import annotations

import argparse
import hashlib
import json
from contextlib import closing
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from benchmarks.crawls import ROOT, scratch
from benchmarks.processes import Cost, run
from benchmarks.search import spread
from benchmarks.table import Row, against, compared
from crawlers.store.index.database import connect
from tests.indexed import indexed

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

DATASETS = 10_000
YEAR = 365
TIMES = 1.3
SOURCES = 300
OVERVIEW = 0.2  # seconds
_BEGUN = datetime(2025, 1, 1, 3, tzinfo=UTC)


def reindexed(options: argparse.Namespace) -> Iterator[Row]:
    with scratch(options.folder) as folder:
        for reports in (1, YEAR):
            _source(folder / str(reports) / "town", reports)
        pairs = [(_reindex(folder / str(YEAR)), _reindex(folder / "1")) for _ in range(options.repeat)]
    years, ones = ([pair[at] for pair in pairs] for at in (0, 1))
    yield Row(
        f"reindex of {DATASETS:,} datasets, {YEAR} reports to 1",
        against(years, ones, "cpu"),
        f"at most {TIMES:g}x",
        kept=compared(years, ones, "cpu").median <= TIMES,
    )
    yield from _overview(options)


def _overview(options: argparse.Namespace) -> Iterator[Row]:
    with scratch(options.folder) as folder:
        indexed(folder, datasets=SOURCES, sources=SOURCES, runs=YEAR)
        with closing(connect(folder)) as db:
            taken = spread(lambda: db.execute("SELECT * FROM overview").fetchall(), options.repeat).median
    what = f"overview, {SOURCES} sources of {YEAR} runs"
    yield Row(what, f"{taken:.2f} s", f"below {OVERVIEW:g} s", kept=taken < OVERVIEW)


def _reindex(output: Path) -> Cost:
    return run(["-m", "scrapy", "reindex", "-s", f"OUTPUT_DIR={output}"], ROOT)


def _source(folder: Path, reports: int) -> None:
    (folder / "datasets").mkdir(parents=True)
    (folder / "runs").mkdir()
    with (folder / "manifest.jsonl").open("wb") as manifest:
        for number in range(DATASETS):
            manifest.write(_dataset(folder, number))
    for day in range(reports):
        report = _report(_BEGUN + timedelta(days=day))
        (folder / "runs" / f"{report['run']}.json").write_text(json.dumps(report))


def _dataset(folder: Path, number: int) -> bytes:
    """Writes a document; returns its line."""
    name = f"{number:08x}"
    record = {"id": name, "name": f"rain-{name}", "title": f"Rain {name}", "notes": f"Rain that fell on {name}. " * 40}
    body = json.dumps(record, indent=2).encode()
    (folder / "datasets" / f"{name}.json").write_bytes(body)
    line = {
        "kind": "dataset",
        "dataset_id": name,
        "dataset_name": record["name"],
        "dataset_title": record["title"],
        "resource_id": None,
        "metadata_source": "package_search",
        "metadata_file": f"datasets/{name}.json",
        "metadata_url": "https://example.org/api/3/action/package_search",
        "metadata_modified": None,
        "time": _BEGUN.isoformat(),
        "run": _name(_BEGUN),
        "status": "new",
        "sha256": hashlib.sha256(body).hexdigest(),
        "bytes": len(body),
    }
    return json.dumps(line).encode() + b"\n"


def _report(begun: datetime) -> dict[str, object]:
    ended = begun + timedelta(minutes=7)
    return {
        "run": _name(begun),
        "spider": "ckan",
        "arguments": {},
        "whole_listing": True,
        "resumed": False,
        "started": begun.isoformat(),
        "finished": ended.isoformat(),
        "finish_reason": "finished",
        "verdict": "complete",
        "expected": DATASETS,
        "listed": DATASETS,
        "counts": {},
        "errors": {},
        **dict.fromkeys(("requests", "retries", "bytes"), 0),
    }


def _name(begun: datetime) -> str:
    return f"{begun:%Y%m%dT%H%M%SZ}"
