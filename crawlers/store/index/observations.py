"""The time series in the index: the files in timeseries/ are the truth, the table a cache, in the order of days."""

from __future__ import annotations

import hashlib
import json
import logging
from typing import TYPE_CHECKING, NamedTuple

from crawlers.safety import inside, json_lines
from crawlers.store import timeseries
from crawlers.store.index.database import transaction
from crawlers.store.timeseries import Observation

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterable, Iterator, Sequence
    from pathlib import Path

logger = logging.getLogger(__name__)

_ROWS = 10_000  # in a transaction
_BLOCK = 1024 * 1024
_READ = "SELECT file, bytes, changed, sha256 FROM observations_read WHERE source = ?"
_STORE = "INSERT OR REPLACE INTO observations_read VALUES (?, ?, ?, ?, ?)"
_INSERT = "INSERT OR REPLACE INTO observations VALUES (?, ?, ?, ?, ?)"
_FORGET = "DELETE FROM observations WHERE source = ? AND day >= ? AND day < ?"
_FORGET_FILE = "DELETE FROM observations_read WHERE source = ? AND file = ?"


class Covered(NamedTuple):
    """How much of a file the index has read.

    Args:
        bytes: from its beginning.
        changed: when the file had last been changed, in nanoseconds.
        sha256: of these bytes.
    """

    bytes: int
    changed: int
    sha256: str


def is_behind(db: sqlite3.Connection, folder: Path) -> bool:
    """Return whether a file of a source was changed, added or removed since the index read it."""
    known = {file: found[:2] for file, found in _covered(db, folder.name).items()}
    return known != {file: _status(folder, file) for file in timeseries.files(folder)}


def catch_up(db: sqlite3.Connection, folder: Path) -> None:
    """Read what the files of a source have and the index lacks; all of a file whose beginning is another one."""
    there, known = timeseries.files(folder), _covered(db, folder.name)
    for file in known.keys() - set(there):
        with transaction(db):
            _forget(db, folder.name, file)
    for file in there:
        covered = known.get(file, Covered(0, 0, ""))
        if covered[:2] != _status(folder, file):
            _read(db, folder, file, covered)


def _covered(db: sqlite3.Connection, source: str) -> dict[str, Covered]:
    return {file: Covered(*row) for file, *row in db.execute(_READ, (source,))}


def _status(folder: Path, file: str) -> tuple[int, int]:
    found = inside.status(folder, file)
    return found.st_size, found.st_mtime_ns


def _forget(db: sqlite3.Connection, source: str, file: str) -> None:
    year = _year(file)
    db.execute(_FORGET, (source, year, f"{year}~"))
    db.execute(_FORGET_FILE, (source, file))


def _year(file: str) -> str:
    return file.rpartition("/")[2].removesuffix(".csv")


def _read(db: sqlite3.Connection, folder: Path, file: str, covered: Covered) -> None:
    size, changed = _status(folder, file)
    if _sha256(folder, file, covered.bytes) != covered.sha256:
        covered = Covered(0, 0, "")
        with transaction(db):
            _forget(db, folder.name, file)
    batch: list[Observation] = []
    for found in _observations(folder, file, covered.bytes):
        batch.append(found)
        if len(batch) >= _ROWS:
            _store(db, folder.name, batch)
            batch = []
    _store(db, folder.name, batch)
    db.execute(_STORE, (folder.name, file, size, changed, _sha256(folder, file, size)))


def _store(db: sqlite3.Connection, source: str, batch: list[Observation]) -> None:
    with transaction(db):
        db.executemany(_INSERT, ((source, day, metric, subject, value) for day, subject, metric, value in batch))


def _sha256(folder: Path, file: str, size: int) -> str:
    """Return the hash of a file's first bytes."""
    found, left = hashlib.sha256(), size
    with inside.opened(folder, file) as content:
        while left and (block := content.read(min(left, _BLOCK))):
            found.update(block)
            left -= len(block)
    return found.hexdigest()


def _observations(folder: Path, file: str, offset: int) -> Iterator[Observation]:
    """Yield the observations after an offset; lines that no run wrote are counted in one warning."""
    damaged, year = 0, _year(file)
    with inside.opened(folder, file) as content:
        begin = json_lines.line_start(content, offset)
        content.seek(begin)
        for number, (_, text) in enumerate(json_lines.lines(content)):
            found = timeseries.observation(text, year)
            if found:
                yield found
            else:
                damaged += bool(begin or number)  # the first line is the header
    if damaged:
        logger.warning("%s: %s", folder / file, json_lines.left_out(damaged))


# Questions

_NEXT_DAY = "SELECT min(day) FROM observations WHERE source = ? AND day > ?"
_METRICS = """
WITH RECURSIVE found (metric) AS (
    SELECT min(metric) FROM observations WHERE source = ?1 AND day = ?2
    UNION ALL SELECT (SELECT min(metric) FROM observations WHERE source = ?1 AND day = ?2 AND metric > found.metric)
    FROM found WHERE metric IS NOT NULL
)
SELECT metric FROM found WHERE metric IS NOT NULL
"""
_OF_A_DAY = """
SELECT day, subject, metric, value FROM observations
WHERE source = :source AND day = :day AND (:subjects IS NULL OR subject IN (SELECT value FROM json_each(:subjects)))
"""
_OF_A_METRIC = f"{_OF_A_DAY} AND metric = :metric"
_TALLY = "SELECT value, count(*) FROM observations WHERE source = ? AND day = ? AND metric = ? GROUP BY value"


LARGEST = 1e15
"""Numbers that are larger are taken for texts."""


def days(db: sqlite3.Connection, source: str, since: str = "") -> list[str]:
    """Return the days on which a source was observed, in order.

    Args:
        since: the first day that counts.
    """
    found: list[str] = []
    (day,) = db.execute("SELECT min(day) FROM observations WHERE source = ? AND day >= ?", (source, since)).fetchone()
    while day is not None:
        found.append(day)
        (day,) = db.execute(_NEXT_DAY, (source, day)).fetchone()
    return found


def metrics(db: sqlite3.Connection, source: str, days: Iterable[str]) -> list[str]:
    """Return the metrics that were observed on some days, by name."""
    return sorted({metric for day in days for (metric,) in db.execute(_METRICS, (source, day))})


def select(
    db: sqlite3.Connection,
    source: str,
    days: Iterable[str],
    metrics: Sequence[str] | None = None,
    subjects: Sequence[str] | None = None,
) -> Iterator[Observation]:
    """Yield the observations of a source on some days, by day, metric and subject.

    Args:
        days: in order, such as `days` returns.
        metrics: those that are wanted; all if there are none.
        subjects: those that are wanted; all if there are none.
    """
    wanted = {"source": source, "subjects": json.dumps(subjects) if subjects else None}
    for day in days:
        queries = [(_OF_A_METRIC, metric) for metric in metrics] if metrics else [(_OF_A_DAY, "")]
        for query, metric in queries:
            rows = db.execute(query, wanted | {"day": day, "metric": metric})
            yield from map(Observation._make, rows)


def tally(db: sqlite3.Connection, source: str, day: str, metric: str) -> Iterator[tuple[str, int]]:
    """Yield each value that a metric had on a day, and of how many subjects."""
    yield from db.execute(_TALLY, (source, day, metric))


def number(found: Observation) -> float | None:
    """Return a value as a number; ``None`` for a text, and for a number that nobody counts to.

    >>> number(Observation("2026-11-22", "town", "num_datasets", "25"))
    25.0
    >>> number(Observation("2026-11-22", "town", "ckan_version", "2.10"))
    >>> number(Observation("2026-11-22", "town", "num_datasets", "9" * 99))
    """
    try:
        value = None if found.metric in timeseries.TEXTS else float(found.value)
    except ValueError:
        return None
    return value if value is not None and abs(value) < LARGEST else None
