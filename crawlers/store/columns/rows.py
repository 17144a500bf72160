"""The rows of the index that figures are made of, moved into Parquet files.

SQLite gives the values of a few thousand datasets as JSON, a list for each column, and DuckDB takes them as parameters:
no value of a portal is ever part of a query, and no row passes through Python.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from crawlers.store.index import counts
from crawlers.store.index.views import DAY, FIELDS, NAMED, PAGE

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from duckdb import DuckDBPyConnection

BITS = {name: place for place, name in enumerate((*FIELDS, "contact_email"))}
"""The place of each field in ``has``: whether a dataset has it."""
KEYS = {"uri": "uri", "identifier": "identifier", "page": PAGE, "named": NAMED}
"""What two datasets have in common that are the same one; of each, its hash is kept."""

_BATCH = 5_000  # datasets that are moved at a time
_FILE = 120_000  # datasets in a file: DuckDB's row group, and all that it holds in memory
_HAS = " | ".join(
    f"(({'resources > 0' if name == 'resources' else f'{name} IS NOT NULL'}) << {place})"
    for name, place in BITS.items()
)
_DATASET = {
    "id": "id",
    "license": "license",
    "day": f"substr({DAY}, 1, 10)",
    "frequency": "frequency",
    "resources": "resources",
    "has": _HAS,
    **KEYS,
}
"""SQLite's expression of each column."""
_NUMBERS = ("id", "resources", "has")
_IDS = "SELECT id FROM datasets INDEXED BY datasets_withdrawn WHERE source = ? AND withdrawn = 0 ORDER BY id"
_SOME = f"""
SELECT {", ".join(f"json_group_array({name})" for name in _DATASET)} FROM (
    SELECT {", ".join(f"{expression} AS {name}" for name, expression in _DATASET.items())}
    FROM datasets WHERE id IN (SELECT value FROM json_each(?))
)
"""  # noqa: S608  # the expressions above


def _list(name: str) -> str:
    return f"unnest(from_json(${name}, '[\"{'BIGINT' if name in _NUMBERS else 'VARCHAR'}\"]')) AS {name}"


_NEW = f"""
CREATE OR REPLACE TEMP TABLE new_datasets (
    source VARCHAR, id BIGINT, license VARCHAR, day VARCHAR, frequency VARCHAR, resources BIGINT, has INTEGER,
    {", ".join(f"{name} UBIGINT" for name in KEYS)}
)
"""
_ADD = f"""
INSERT INTO new_datasets SELECT $source, id, license, day, frequency, resources, has,
    {", ".join(f"CASE WHEN {name} IS NOT NULL THEN hash({name}) END" for name in KEYS)}
FROM (SELECT {", ".join(map(_list, _DATASET))})
"""  # noqa: S608
_STORE = "COPY new_datasets TO $file (FORMAT parquet)"
_STORE_FORMATS = f"""
COPY (
    SELECT $source AS source, unnest(from_json($format, '["VARCHAR"]')) AS format, {_list("resources")}
) TO $file (FORMAT parquet)
"""


def write(engine: DuckDBPyConnection, db: sqlite3.Connection, source: str, folder: Path) -> None:
    """Write what figures need of a source's datasets, without those that are withdrawn.

    The files are ``datasets-0.parquet`` ..., and ``formats-N.parquet``, where N is how many those are.

    Args:
        engine: DuckDB, which may write into the folder.
        db: the index.
        folder: an empty one.

    Raises:
        duckdb.Error: a file can't be written.
    """
    count = 0
    engine.execute(_NEW)
    for number, columns in enumerate(_datasets(db, source), start=1):
        engine.execute(_ADD, {"source": source, **columns})
        if number % (_FILE // _BATCH) == 0:
            engine.execute(_STORE, {"file": str(folder / f"datasets-{count}.parquet")})
            engine.execute("TRUNCATE new_datasets")
            count += 1
    engine.execute(_STORE, {"file": str(folder / f"datasets-{count}.parquet")})
    engine.execute("DROP TABLE new_datasets")
    _write_formats(engine, db, source, folder / f"formats-{count + 1}.parquet")


def is_whole(names: Sequence[str]) -> bool:
    """Return whether a folder has all its files.

    >>> is_whole(["datasets-0.parquet", "datasets-1.parquet", "formats-2.parquet"]), is_whole(["formats-1.parquet"])
    (True, False)
    """
    return f"formats-{sum(name.startswith('datasets-') for name in names)}.parquet" in names and len(names) > 1


def _datasets(db: sqlite3.Connection, source: str) -> Iterator[dict[str, str]]:
    """Yield the columns of some datasets as JSON, by name."""
    ids = db.execute(_IDS, (source,))
    while some := ids.fetchmany(_BATCH):
        row = db.execute(_SOME, (json.dumps([one for (one,) in some]),)).fetchone()
        yield dict(zip(_DATASET, row, strict=True))


def _write_formats(engine: DuckDBPyConnection, db: sqlite3.Connection, source: str, file: Path) -> None:
    found = counts.formats(db, source)
    words = {"format": json.dumps(list(found)), "resources": json.dumps(list(found.values()))}
    engine.execute(_STORE_FORMATS, {"source": source, "file": str(file), **words})
