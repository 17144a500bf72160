"""A source's time series: what was observed on which day, in timeseries/<year>.csv, the truth.

A row is day, subject, metric, value; RFC 4180 and UTF-8, with a header. What was not found out has no row. A line that
no run wrote is left out by readers and kept by writers.
"""

from __future__ import annotations

import csv
import re
import sqlite3
from contextlib import closing
from datetime import date
from typing import TYPE_CHECKING, Any, NamedTuple

from crawlers.safety import inside, json_lines
from crawlers.safety.redact import one_line

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from pathlib import Path

    Measure = tuple[str, str, str]
    """Subject, metric, value."""

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
    with closing(sqlite3.connect("", isolation_level=None)) as staged:  # a temporary file, where memory is short
        staged.executescript(_STAGE)
        staged.executemany("INSERT OR REPLACE INTO rows VALUES (?, ?, ?)", _cleaned(found))
        if not staged.execute("SELECT EXISTS (SELECT 1 FROM rows)").fetchone()[0]:
            return False
        with inside.replaced(folder, file) as new:
            new.write(line(COLUMNS))
            new.writelines(_others(folder, file, day, staged))
            rows = staged.execute("SELECT ?, subject, metric, value FROM rows ORDER BY subject, metric", (day,))
            new.writelines(map(line, rows))
    return True


def _cleaned(found: Iterable[Measure]) -> Iterator[Measure]:
    for measure in found:
        subject, metric, value = (one_line(text, _LONGEST) for text in measure)
        if subject and metric and value:
            yield subject, metric, value


def _others(folder: Path, file: str, day: str, staged: sqlite3.Connection) -> Iterator[bytes]:
    """Yield the lines of other days as they are, and stage those of this day that are not replaced."""
    begin = day.encode()
    try:
        old = inside.opened(folder, file)
    except FileNotFoundError:
        return
    with old:
        for number, (_, text) in enumerate(json_lines.lines(old)):
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
        cells = _cells(text.decode().rstrip("\r\n"))
        date.fromisoformat(cells[0])
    except (ValueError, IndexError, csv.Error):
        return None
    is_whole = len(cells) == len(COLUMNS) and all(cell and cell.isprintable() for cell in cells)
    if not is_whole or not cells[0].startswith(year) or not _DAY.fullmatch(cells[0]):
        return None
    return Observation(cells[0], *(_QUOTE.sub("", cell) if "'" in cell else cell for cell in cells[1:]))


def _cells(text: str) -> list[str]:
    return next(csv.reader([text], strict=True)) if '"' in text else text.split(",")


def files(folder: Path) -> list[str]:
    """Return the files of a source's time series, relative to its folder, by year; links are not followed."""
    try:
        names = inside.names(folder, FOLDER)
    except OSError:
        return []
    return sorted(file for name in names if _YEAR.fullmatch(name) and _is_file(folder, file := f"{FOLDER}/{name}"))


def _is_file(folder: Path, file: str) -> bool:
    try:
        inside.status(folder, file)
    except OSError:
        return False
    return True
