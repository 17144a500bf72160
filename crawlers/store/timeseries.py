"""A source's time series: what was observed on which day, in timeseries/<year>.csv, the truth.

A row is day, subject, metric, value; RFC 4180 and UTF-8, with a header. What was not found out has no row. A line that
no run wrote is left out by readers and kept by writers.
"""

from __future__ import annotations

import csv
import hashlib
import json
import logging
import re
from contextlib import closing, suppress
from datetime import date
from typing import TYPE_CHECKING, Any, NamedTuple

from crawlers.safety import inside, sqlite
from crawlers.safety.redact import one_line
from crawlers.safety.sqlite import transaction
from crawlers.store import lines
from crawlers.store.index.kept import kept

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    Measure = tuple[str, str, str]
    """Subject, metric, value."""
    Count = tuple[str, int]
    """Metric, number."""


logger = logging.getLogger(__name__)

FOLDER = "timeseries"
COLUMNS = ("day", "subject", "metric", "value")
TEXTS = ("state", "ckan_version", "latest_release")
"""The metrics of a profile that are texts; every number and boolean of it is a metric, too."""
_NOT_MEASURED = ("latitude", "longitude")  # a place does not change

_LONGEST = 300  # characters of a subject, a metric or a value
_LONGEST_LINE = 8 * 1024  # bytes
_YEAR = re.compile(r"([0-9]{4})\.csv")
_DAY = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
_NUMBER = re.compile(r"-?[0-9]+(\.[0-9]+)?(e[+-]?[0-9]+)?")
_ACTS = re.compile(r"(?:^|(?<=;))(?=[=+\-@'＝＋－＠])")  # some spreadsheets split lines at semicolons
_QUOTE = re.compile(r"(?:^|(?<=;))'")
_STAGE = """
CREATE TABLE rows (subject TEXT, metric TEXT, value TEXT, PRIMARY KEY (subject, metric)) WITHOUT ROWID; BEGIN
"""


class Observation(NamedTuple):
    """One value of one metric on one day (YYYY-MM-DD, UTC)."""

    day: str
    subject: str
    metric: str
    value: str


def measures(document: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield the metrics of a profile and their values; what is null is not known and has none.

    >>> list(measures({"num_datasets": 25, "is_https": True, "state": "up", "name": "town", "num_groups": None}))
    [('num_datasets', '25'), ('is_https', 'true'), ('state', 'up')]
    """
    for name, value in document.items():
        if name in _NOT_MEASURED:
            continue
        if isinstance(value, bool):
            yield name, str(value).lower()
        elif isinstance(value, int | float) or (name in TEXTS and isinstance(value, str)):
            yield name, str(value)


def write(folder: Path, day: str, found: Iterable[Measure]) -> bool:
    """Add a day's observations; return whether there were any.

    Observations of the same subjects and metrics on the same day are replaced. A reader sees the old file or the new
    one. The day's rows are the last ones, by subject and metric.

    Args:
        folder: the source's.
        day: YYYY-MM-DD.
        found: subject, metric and value; the last one counts of those that name a metric of a subject twice.

    Raises:
        OSError: the file can't be written; the old one stays.
    """
    file = f"{FOLDER}/{day[:4]}.csv"
    with closing(sqlite.temporary(_STAGE)) as staged:  # memory is short
        cleaned = (tuple(one_line(text, _LONGEST) for text in measure) for measure in found)
        staged.executemany("INSERT OR REPLACE INTO rows VALUES (?, ?, ?)", (row for row in cleaned if all(row)))
        if not staged.execute("SELECT EXISTS (SELECT 1 FROM rows)").fetchone()[0]:
            return False
        with inside.replaced(folder, file) as new:
            new.write(line(COLUMNS))
            new.writelines(_others(folder, file, day, staged))
            rows = staged.execute("SELECT ?, subject, metric, value FROM rows ORDER BY subject, metric", (day,))
            new.writelines(map(line, rows))
    return True


def _others(folder: Path, file: str, day: str, staged: sqlite3.Connection) -> Iterator[bytes]:
    """Yield the lines of other days as they are, and stage those of this day that are not replaced."""
    begin = day.encode()
    try:
        old = inside.opened(folder, file)
    except FileNotFoundError:
        return
    with old:
        for number, (_, text) in enumerate(lines.split(old)):
            if text is None or not text.endswith(b"\n") or (number == 0 and observation(text, "") is None):
                continue  # too long, half a line, the header
            known = observation(text, day[:4]) if text.startswith(begin) else None
            if known is None:
                yield text
            else:
                staged.execute("INSERT OR IGNORE INTO rows VALUES (?, ?, ?)", known[1:])


def line(cells: Iterable[str]) -> bytes:
    r"""Return a row in which no cell is a formula to a spreadsheet: an apostrophe before it makes it a text.

    The apostrophe stands at the beginning of a cell, or after a semicolon; `observation` removes it.

    >>> line(("2026-11-22", "=cmd|' /C calc'!A0", "longitude", "-0.12"))
    b"2026-11-22,'=cmd|' /C calc'!A0,longitude,-0.12\r\n"
    """
    return (",".join(map(_cell, cells)) + "\r\n").encode()


def _cell(text: str) -> str:
    safe = text if _NUMBER.fullmatch(text) else _ACTS.sub("'", text)
    return '"' + safe.replace('"', '""') + '"' if "," in safe or '"' in safe else safe


def observation(text: bytes | None, year: str) -> Observation | None:
    r"""Return the observation of a line; ``None`` for one that no run wrote into that year's file.

    >>> observation(b"2026-11-22,town,num_datasets,25\r\n", "2026")
    Observation(day='2026-11-22', subject='town', metric='num_datasets', value='25')
    >>> observation(b"2026-11-22,town,num_dat", "2026"), observation(b"2026-02-30,town,a,1\r\n", "2026")
    (None, None)
    """
    if text is None or len(text) > _LONGEST_LINE or not text.endswith(b"\n"):
        return None
    try:
        plain = text.decode().rstrip("\r\n")
        cells = next(csv.reader([plain], strict=True)) if '"' in plain else plain.split(",")
        date.fromisoformat(cells[0])
    except (ValueError, IndexError, csv.Error):
        return None
    is_whole = len(cells) == len(COLUMNS) and all(cell and cell.isprintable() for cell in cells)
    if not is_whole or not cells[0].startswith(year) or not _DAY.fullmatch(cells[0]):
        return None
    return Observation(cells[0], *(_QUOTE.sub("", cell) if "'" in cell else cell for cell in cells[1:]))


def files(folder: Path) -> list[str]:
    """Return the files of a source's time series, relative to its folder, by year; links are not followed."""
    try:
        names = inside.names(folder, FOLDER)
    except OSError:
        return []
    found = []
    for file in (f"{FOLDER}/{name}" for name in names if _YEAR.fullmatch(name)):
        with suppress(OSError):
            inside.status(folder, file)
            found.append(file)
    return sorted(found)


# In the index: the files are the truth, the table a cache, in the order of days

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
    return known != {file: _status(folder, file) for file in files(folder)}


def catch_up(db: sqlite3.Connection, folder: Path) -> None:
    """Read what the files of a source have and the index lacks; all of a file whose beginning is another one."""
    there, known = files(folder), _covered(db, folder.name)
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
    batch: list[tuple[str, ...]] = []
    for found in _observations(folder, file, covered.bytes):
        batch.append((folder.name, found.day, found.metric, found.subject, found.value))
        if len(batch) >= _ROWS:
            with transaction(db):
                db.executemany(_INSERT, batch)
            batch = []
    with transaction(db):  # the last rows, and that the file has been read
        db.executemany(_INSERT, batch)
        db.execute(_STORE, (folder.name, file, size, changed, _sha256(folder, file, size)))


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
        begin = lines.line_start(content, offset)
        content.seek(begin)
        for number, (_, text) in enumerate(lines.split(content)):
            found = observation(text, year)
            if found:
                yield found
            else:
                damaged += bool(begin or number)  # the first line is the header
    if damaged:
        logger.warning("%s: %s", folder / file, lines.left_out(damaged))


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
        value = None if found.metric in TEXTS else float(found.value)
    except ValueError:
        return None
    return value if value is not None and abs(value) < LARGEST else None


# A source's own series: what it has on disk, and what changed on a day

MOST = 100
"""Formats, and licences, that have a metric: the most frequent ones."""
CHANGES = ("new", "updated", "withdrawn", "restored")

_IS_DESCRIBED = "SELECT EXISTS (SELECT 1 FROM sources WHERE source = ? AND described)"
_IS_ARCHIVE = "SELECT EXISTS (SELECT 1 FROM captures_read WHERE source = ?)"
_HELD = "SELECT count(*) FROM documents WHERE source = ? AND kind = ? AND status != 'withdrawn'"
_RESOURCES = """
SELECT coalesce(sum(resources), 0) FROM datasets INDEXED BY datasets_withdrawn WHERE source = ? AND withdrawn = 0
"""
_FORMATS = "SELECT format, count(*) FROM resources WHERE source = ? GROUP BY 1"
_FORMATS_OF_WITHDRAWN = """
SELECT r.format, count(*)
FROM datasets d INDEXED BY datasets_withdrawn CROSS JOIN resources r USING (source, dataset_id)
WHERE d.source = ? AND d.withdrawn = 1 GROUP BY 1
"""  # few: to look each dataset of a resource up takes longer
_LICENCES = """
SELECT 'license:' || license, count(*) FROM datasets
WHERE source = ? AND withdrawn = 0 AND license <> '' GROUP BY license ORDER BY 2 DESC, 1 LIMIT ?
"""
_FILES = "SELECT files, held, bytes, broken, unknown, not_taken, last_copies FROM files_by_source WHERE source = ?"
_CHANGED = """
SELECT status, sum(count) FROM daily_changes WHERE source = ?1 AND day >= ?2 AND run LIKE ?3 GROUP BY status
"""


def held(db: sqlite3.Connection, source: str, version: str) -> Iterator[Count]:
    """Yield how much a source has on disk, without what is withdrawn.

    Args:
        version: as in `crawlers.store.index.kept.kept`.
    """
    if is_archive(db, source):
        yield from archived(db, source)
    elif profiles := {kind: _held(db, source, kind) for kind in ("site", "extension") if _held(db, source, kind)}:
        yield from ((f"{kind}s", number) for kind, number in profiles.items())
    else:
        yield "datasets", _held(db, source, "dataset")
        if db.execute(_IS_DESCRIBED, (source,)).fetchone()[0]:  # else some descriptions are missing
            yield from kept(db, source, version, "held", _described).items()


def archived(db: sqlite3.Connection, source: str) -> Iterator[Count]:
    """Yield the figures of an archive of files; none of one that has looked at nothing."""
    found = db.execute(_FILES, (source,))
    names = [column[0] for column in found.description]
    yield from (pair for row in found for pair in zip(names, row, strict=True))


def is_archive(db: sqlite3.Connection, source: str) -> bool:
    """Return whether a source is an archive of files."""
    return bool(db.execute(_IS_ARCHIVE, (source,)).fetchone()[0])


def _held(db: sqlite3.Connection, source: str, kind: str) -> int:
    return int(db.execute(_HELD, (source, kind)).fetchone()[0])


def _described(db: sqlite3.Connection, source: str) -> dict[str, int]:
    """Return what the datasets' descriptions say."""
    named = {f"format:{name}": number for name, number in formats(db, source).items() if name and number}
    return {
        "resources": db.execute(_RESOURCES, (source,)).fetchone()[0],
        **dict(sorted(named.items(), key=lambda count: (-count[1], count[0]))[:MOST]),
        **dict(db.execute(_LICENCES, (source, MOST)).fetchall()),
    }


def formats(db: sqlite3.Connection, source: str) -> dict[str | None, int]:
    """Return how many resources of the source's datasets, without those withdrawn, have each format."""
    found = dict(db.execute(_FORMATS, (source,)).fetchall())
    for name, count in db.execute(_FORMATS_OF_WITHDRAWN, (source,)):
        found[name] -= count
    return {name: count for name, count in found.items() if count}


def changed(db: sqlite3.Connection, source: str, day: str) -> dict[str, int]:
    """Return how many datasets changed in the runs that began on a day (YYYY-MM-DD), by `CHANGES`."""
    runs = f"{day.replace('-', '')}T%"
    found = dict(db.execute(_CHANGED, (source, day, runs)).fetchall())
    return {status: found.get(status, 0) for status in CHANGES}
