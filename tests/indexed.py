"""An index of made-up catalogues, filled by SQL: for tests and benchmarks of what only reads it."""

from __future__ import annotations

import atexit
import json
import random
import shutil
import sqlite3
from contextlib import closing
from functools import cache
from pathlib import Path
from tempfile import mkdtemp
from typing import TYPE_CHECKING, Any

from crawlers.store.index import facets
from crawlers.store.index.schema import TABLES, VERSION, VIEWS

if TYPE_CHECKING:
    from collections.abc import Iterator

_PLACES = ("afg", "ken", "phl", "ukr", "eth", "col", "moz", "ner", "som", "yem")
_THINGS = ("flood", "rainfall", "boundaries", "population", "roads", "schools", "conflict", "prices", "health", "water")
_HOW = ("extent", "survey", "monthly", "registry", "map", "index", "statistics", "census")
_FORMATS = ("CSV", "XLSX", "SHP", "GeoJSON", "PDF", None)
_LICENCES = ("CC-BY-4.0", "CC0-1.0", "ODbL-1.0", "hdx-other", None)
_STAMPED = "UPDATE sources SET stamp = lower(hex(randomblob(8)))"
_VERDICTS = ("complete", "complete", "complete", "incomplete", "partial", "blocked", "failed", "interrupted")


def indexed(
    output: Path,
    *,
    datasets: int,
    sources: int = 3,
    runs: int = 30,
    seed: int = 1,
    holding: int | None = None,
    year: int = 2026,
) -> Path:
    """Makes ``index.sqlite`` in a folder, and returns its path; the same for the same arguments.

    Args:
        datasets: of all sources together.
        runs: of each source.
        holding: how many sources have the datasets; by default all of them.
        year: the one in which the runs begin.
    """
    output.mkdir(parents=True, exist_ok=True)
    made = _made(datasets=datasets, sources=sources, runs=runs, seed=seed, holding=holding, year=year)
    path = Path(shutil.copyfile(made, output / made.name))
    with closing(sqlite3.connect(path, isolation_level=None)) as db:
        db.execute(_STAMPED)  # what was computed of another copy is not of this one
    return path


@cache
def _made(*, datasets: int, sources: int, runs: int, seed: int, holding: int | None, year: int) -> Path:
    """Make the index once in a process; nobody writes to it."""
    folder = Path(mkdtemp())
    atexit.register(shutil.rmtree, folder)
    path = folder / "index.sqlite"
    db = sqlite3.connect(path, isolation_level=None)
    db.executescript("PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; PRAGMA cache_size = -1000000;" + TABLES)
    for name, view in VIEWS.items():
        db.execute(f"CREATE VIEW IF NOT EXISTS {name} AS {view.query}")
    db.execute(f"PRAGMA user_version = {VERSION}")
    chance = random.Random(seed)
    names = [f"source-{number}" for number in range(sources)]
    db.execute("BEGIN")
    for name in names:
        _put(db, "sources", {"source": name, "manifest_bytes": 0, "manifest_tail": b""})
        for row in _runs(name, runs, chance, year):
            _put(db, "runs", row)
            if row["failed"]:
                _put(db, "run_errors", {"source": name, "run": row["run"], "kind": "http", "count": row["failed"]})
    codes: dict[facets.Value, int] = {}
    for number in range(datasets):
        _dataset(db, names[number % (holding or sources)], number, chance, year=year, codes=codes)
    for value, code in codes.items():
        _put(db, "facets", {"code": code, "facet": value[0], "folded": facets.folded(*value), "value": value[1]})
    db.execute("INSERT INTO search (search) VALUES ('rebuild')")
    recounted(db)
    db.execute("COMMIT")
    db.execute("PRAGMA journal_mode = WAL")
    db.close()
    return path


def recounted(db: sqlite3.Connection) -> None:
    """Has what follows from the rows of datasets and changes follow from them again, after they were changed by SQL."""
    db.execute("DELETE FROM daily_changes")
    counts = "SELECT source, run, substr(time, 1, 10), status, count(*) FROM changes GROUP BY 1, 2, 3, 4"
    db.execute(f"INSERT INTO daily_changes {counts}")
    db.execute(_STAMPED)


def _put(db: sqlite3.Connection, table: str, row: dict[str, Any]) -> None:
    marks = ", ".join(f":{name}" for name in row)
    db.execute(f"INSERT INTO {table} ({', '.join(row)}) VALUES ({marks})", row)


def _runs(source: str, runs: int, chance: random.Random, year: int) -> Iterator[dict[str, Any]]:
    for number in range(runs):
        month, day = divmod(number, 28)
        started = f"{year + month // 12}-{month % 12 + 1:02}-{day + 1:02}T03:00:00.000Z"
        verdict = chance.choice(_VERDICTS)
        yield {
            "source": source,
            "run": started[:19].replace("-", "").replace(":", "") + "Z",
            "spider": "ckan",
            "arguments": json.dumps({"portal": f"https://{source}.example.org"}),
            "started": started,
            "finished": started.replace("T03:00", "T03:07"),
            "seconds": 420.0,
            "finish_reason": "finished",
            "verdict": verdict,
            "expected": 1000 + number,
            "listed": 1000 + number,
            "new": 1000 if not number else 3,
            "updated": number % 7,
            "unchanged": 990,
            "withdrawn": number % 3,
            "restored": 0,
            "fallback": 0,
            "failed": 0 if verdict == "complete" else 1 + number % 5,
            "requests": 12,
            "retries": 1,
            "bytes": 4_000_000,
            "resumed": 0,
            "since": None,
        }


def _dataset(
    db: sqlite3.Connection,
    source: str,
    number: int,
    chance: random.Random,
    *,
    year: int,
    codes: dict[facets.Value, int],
) -> None:
    place, thing, how = chance.choice(_PLACES), chance.choice(_THINGS), chance.choice(_HOW)
    dataset_id, title = f"{number:08x}-0000-4000-8000-000000000000", f"{place.upper()} {thing} {how} {number}"
    modified = f"{chance.randint(2016, 2026)}-{chance.randint(1, 11):02}-{chance.randint(1, 20):02}T06:30:00"
    formats = [chance.choice(_FORMATS) for _ in range(chance.randint(1, 4))]
    words = " ".join(chance.choice(_THINGS + _HOW) for _ in range(40))
    withdrawn = int(number % 97 == 0)
    formats_ = {one for one in formats if one}
    license_ = chance.choice(_LICENCES)
    values = {
        *(("source", source), ("kind", "ckan"), ("publisher", f"Organisation {number % 50}")),
        *(("keyword", thing), ("keyword", how), ("country", place.upper()), ("year", modified[:4])),
        *(("format", one) for one in formats_),
        *([("license", license_)] if license_ else []),
    }
    _put(
        db,
        "datasets",
        {
            "facets": json.dumps(
                sorted(codes.setdefault(each, len(codes) + 1) for each in values), separators=(",", ":")
            ),
            "source": source,
            "dataset_id": dataset_id,
            "withdrawn": withdrawn,
            "sha256": f"{number:064x}",
            "name": title.lower().replace(" ", "-"),
            "title": title,
            "description": f"{title}: {words}.",
            "landing_page": f"https://{source}.example.org/dataset/{number}",
            "issued": modified[:10] if number % 2 else None,
            "modified": modified,
            "publisher": f"Organisation {number % 50}",
            "license": license_,
            "keywords": json.dumps([thing, how]),
            "frequency": chance.choice(("DAILY", "MONTHLY", "ANNUAL", "IRREG", None)),
            "spatial": json.dumps([{"name": place, "code": place.upper()}]),
            "places": f"{place} {place.upper()}",
            "identifier": dataset_id,
            "uri": f"https://{'shared' if number % 50 < 2 else source}.example.org/{number // 50}/{number % 50 // 2}",
            "resources": len(formats),
            "formats": json.dumps(sorted(formats_)),
            "resource_titles": " ".join(f"part {part} of {thing}" for part in range(len(formats))),
            "metadata_source": "package_search",
            "file": f"datasets/{dataset_id}.json",
        },
    )
    for position, one in enumerate(formats):
        _put(
            db,
            "resources",
            {
                "source": source,
                "dataset_id": dataset_id,
                "position": position,
                "resource_id": f"{number}-{position}",
                "title": f"part {position}",
                "url": f"https://{source}.example.org/download/{number}/{position}",
                "format": one,
            },
        )
    run = f"{year}01{number % 28 + 1:02}T030000Z"
    time = f"{year}-01-{number % 28 + 1:02}T03:01:00.000Z"
    for status in ("new", "withdrawn") if withdrawn else ("new",):
        _put(
            db,
            "changes",
            {"source": source, "time": time, "run": run, "dataset_id": dataset_id, "status": status},
        )
