"""What an operator waits for on one machine with 1,000,000 datasets and 300 sources that ran every night for a year."""

from __future__ import annotations

import argparse
import json
import os
import sqlite3
import subprocess
import sys
from contextlib import closing
from typing import TYPE_CHECKING, Any, NamedTuple

from benchmarks.crawls import ROOT, scratch
from benchmarks.processes import LOOPBACK, SETTINGS, Spread
from benchmarks.table import Row
from crawlers.signals import OUTCOMES
from crawlers.store import lines
from tests.indexed import indexed

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

DATASETS, HOLDING = 1_000_000, 3
SOURCES, RUNS = 300, 365
YEAR = 2025
_WRITTEN = 30  # lines of a run after the first ones
_FAILED = 20
_FIRST = 28  # runs that list the datasets, as `tests.indexed` has it
_TIMES = 3

_BEGIN = """
import json, resource, sys, time
from pathlib import Path
sys.path.insert(0, sys.argv[1])
output = Path(sys.argv[2])
"""
_END = """
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (2**20 if sys.platform == "darwin" else 2**10)
print(json.dumps([spent, peak]))
"""
_PAGE = """
from crawlers.operate.dashboard import app
made = app(output)
made.extensions["site"].warm()  # as the server does before anybody asks
browser = made.test_client()
begun = time.process_time()
answer = browser.get(sys.argv[3])
assert answer.status_code == 200, answer.text
spent = time.process_time() - begun
"""
_WARM = """
from crawlers.operate.dashboard import app
made = app(output)
begun = time.process_time()
made.extensions["site"].warm()
spent = time.process_time() - begun
"""
_COMMAND = """
import contextlib, io, os
from scrapy.cmdline import execute
os.chdir(sys.argv[1])
with contextlib.redirect_stdout(io.TextIOWrapper(io.BytesIO())):
    try:
        execute(["scrapy", *json.loads(sys.argv[3]), "-s", f"OUTPUT_DIR={output}"])
    except SystemExit as end:
        assert not end.code, end
spent = time.process_time()
"""
_METRICS = """
from crawlers.operate.notify.notifications import Prometheus
begun = time.process_time()
Prometheus(output / "metrics.prom", output).write()
spent = time.process_time() - begun
"""
_SEARCH = """
from contextlib import closing
from benchmarks.search import QUERIES, spread
from crawlers.store.index.database import connect
from crawlers.store.index.search import search
from statistics import median
with closing(connect(output)) as db:
    spent = median(spread(lambda: search(db, query), 3).median for query in QUERIES)
"""


class Spent(NamedTuple):
    """Seconds of the processor, and the peak of the process in MiB."""

    cpu: float
    mebibytes: float


class Wait(NamedTuple):
    """Something to wait for.

    Args:
        program: that measures it.
        word: what it is given.
        most: seconds of the processor that are promised.
    """

    program: str
    word: str = ""
    most: float | None = None


def _command(*words: str) -> str:
    return json.dumps(words)


def waits(output: Path) -> dict[str, Wait]:
    """Return what is measured."""
    first = min((output / "source-0" / "runs").iterdir()).stem
    return {
        "report": Wait(_COMMAND, _command("report", "-o", str(output / "report.html")), 5),
        "pages: what a server makes in advance": Wait(_WARM),
        "page: overview": Wait(_PAGE, "/", 1),
        "page: sources": Wait(_PAGE, "/sources", 1),
        "page: a source of 333,334 datasets": Wait(_PAGE, "/sources/source-0", 0.3),
        "page: runs": Wait(_PAGE, "/runs", 1),
        "page: the oldest run of a source": Wait(_PAGE, f"/runs/source-0/{first}", 0.3),
        "jobs": Wait(_COMMAND, _command("jobs"), 1),
        "jobs --failed": Wait(_COMMAND, _command("jobs", "--failed"), 1),
        "jobs show, the oldest run": Wait(_COMMAND, _command("jobs", "show", f"source-0/{first}")),
        "metrics": Wait(_METRICS, most=1),
        "search, median of 15 queries": Wait(_SEARCH),
    }


def scaled(options: argparse.Namespace) -> Iterator[Row]:
    """Measure all; the folder is made once if --folder names one that is kept: ``--folder /data/scale``."""
    if (options.folder / "scale").is_dir() or options.folder.name == "scale":
        yield from _measured(made(options.folder if options.folder.name == "scale" else options.folder / "scale"))
    else:
        with scratch(options.folder) as folder:
            yield from _measured(made(folder))


def _measured(output: Path) -> Iterator[Row]:
    for name, wait in waits(output).items():
        costs = [_spent(wait, output) for _ in range(_TIMES)]
        first, again = costs[0], Spread.of(cost.cpu for cost in costs[1:]).median
        told = f"{again:.2f} s, the first time {first.cpu:.2f} s; peak {max(cost.mebibytes for cost in costs):.0f} MiB"
        promise = "" if wait.most is None else f"at most {wait.most:g} s"
        yield Row(name, told, promise, None if wait.most is None else again <= wait.most)


def _spent(wait: Wait, output: Path) -> Spent:
    environment = {name: value for name, value in os.environ.items() if name != SETTINGS} | LOOPBACK
    program = _BEGIN + wait.program + _END
    ended = subprocess.run(
        [sys.executable, "-c", program, str(ROOT), str(output), wait.word],
        capture_output=True,
        check=False,
        text=True,
        env=environment,
        cwd=ROOT,
    )
    if ended.returncode:
        sys.exit(ended.stderr)
    return Spent(*json.loads(ended.stdout.splitlines()[-1]))


def made(output: Path) -> Path:
    """Make OUTPUT_DIR, unless it is there: an index, and the manifests, error lines and reports that it is made of."""
    if (output / "made").exists():
        return output
    indexed(output, datasets=DATASETS, sources=SOURCES, runs=RUNS, holding=HOLDING, year=YEAR)
    with closing(sqlite3.connect(output / "index.sqlite", isolation_level=None)) as db:
        db.row_factory = sqlite3.Row
        db.execute("BEGIN")
        for number in range(SOURCES):
            _source(db, output / f"source-{number}", range(number, DATASETS if number < HOLDING else 0, HOLDING))
        db.execute("COMMIT")
        db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    (output / "made").touch()
    return output


def _source(db: sqlite3.Connection, folder: Path, datasets: range) -> None:
    """Write a source's files; the index has read them all."""
    (folder / "runs").mkdir(parents=True, exist_ok=True)
    runs = db.execute("SELECT * FROM runs WHERE source = ? ORDER BY run", (folder.name,)).fetchall()
    with (folder / "manifest.jsonl").open("wb") as manifest, (folder / "errors.jsonl").open("wb") as errors:
        for place, run in enumerate(runs):
            sizes = {"manifest_bytes": manifest.tell(), "errors_bytes": errors.tell()}
            some = [one for one in datasets if one % _FIRST == place] if place < _FIRST else datasets[:_WRITTEN]
            manifest.writelines(_line(run, number) for number in some)
            errors.writelines(_error(run, number) for number in datasets[:_FAILED])
            ends = {"manifest_end": manifest.tell(), "errors_end": errors.tell()}
            report = _report(db, run) | sizes | ends
            (folder / "runs" / f"{run['run']}.json").write_text(json.dumps(report, indent=2))
    end = lines.size(folder, "manifest.jsonl")
    known = (end, lines.mark(folder, "manifest.jsonl", end), folder.name)
    db.execute("UPDATE sources SET manifest_bytes = ?, manifest_tail = ?, described = 1 WHERE source = ?", known)


def _line(run: sqlite3.Row, number: int) -> bytes:
    name = f"{number:08x}-0000-4000-8000-000000000000"
    line = {
        "kind": "dataset",
        "dataset_id": name,
        "dataset_name": f"rain-{number}",
        "dataset_title": f"Rain {number}",
        **dict.fromkeys(("resource_id", "resource_name", "resource_format")),
        "metadata_source": "package_search",
        "metadata_file": f"datasets/{name}.json",
        "metadata_url": f"https://{run['source']}.example.org/api/3/action/package_search",
        "time": run["started"],
        "run": run["run"],
        "status": "new",
        "sha256": f"{number:064x}",
        "bytes": 4000,
        "metadata_modified": None,
    }
    return json.dumps(line).encode() + b"\n"


def _error(run: sqlite3.Row, number: int) -> bytes:
    line = {
        "time": run["started"],
        "run": run["run"],
        "stage": "fetch",
        "kind": "http",
        "url": f"https://{run['source']}.example.org/api/3/action/package_show?id={number}",
        "http_status": 500,
        "attempts": 3,
        "dataset_id": f"{number:08x}-0000-4000-8000-000000000000",
        "error": "HTTP 500",
    }
    return json.dumps(line).encode() + b"\n"


def _report(db: sqlite3.Connection, run: sqlite3.Row) -> dict[str, Any]:
    errors = db.execute("SELECT kind, count FROM run_errors WHERE source = ? AND run = ?", tuple(run)[:2]).fetchall()
    plain = ("source", "run", "spider", "started", "finished", "finish_reason", "verdict", "expected", "listed")
    return {
        **{name: run[name] for name in (*plain, "requests", "retries", "bytes", "since")},
        "arguments": json.loads(run["arguments"]),
        "datasets_on_disk": run["listed"],
        "counts": {name: run[name] for name in OUTCOMES},
        "errors": dict(map(tuple, errors)),
        "resumed": False,
        "whole_listing": run["verdict"] == "complete",
        "provisional": False,
        "validators": {},
        "log": None,
        "versions": {"catalogue-crawlers": "0", "scrapy": "2.19.0", "python": "3.11"},
    }
