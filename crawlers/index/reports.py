"""Run reports in the index: a row each, and one for each kind of error."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, NamedTuple

from crawlers.moment import seconds
from crawlers.safety import inside
from crawlers.signals import OUTCOMES

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Callable, Iterator, Mapping
    from pathlib import Path

UNREADABLE = (OSError, ValueError, RecursionError)
"""What a damaged report makes of `read`; `rows` raises the second."""

_RUN = f"INSERT OR REPLACE INTO runs VALUES ({', '.join('?' * 23)})"  # noqa: S608
_NO_ERRORS = "DELETE FROM run_errors WHERE source = ? AND run = ?"
_ERROR = "INSERT INTO run_errors VALUES (?, ?, ?, ?)"
_STORED = "SELECT * FROM runs WHERE source = ? AND run = ?"
_LARGEST = 2**63 - 1
_MOST = 16 * 1024 * 1024  # bytes of a report


class Rows(NamedTuple):
    """What a report is in the tables runs and run_errors."""

    key: tuple[str, str]
    run: tuple[Any, ...]
    errors: list[tuple[Any, ...]]


def read(path: Path) -> dict[str, Any]:
    """
    Raises:
        one of `UNREADABLE`: it can't be read, or is no report.
    """
    report = json.loads(inside.read(path.parent.parent, f"runs/{path.name}", _MOST))
    rows("", report)
    if report["run"] != path.stem:
        raise ValueError(f"it is the report of {report['run']}")
    return dict(report)


def rows(source: str, report: Mapping[str, Any]) -> Rows:
    """
    Raises:
        ValueError: it is no report: something is missing, or of another type.
    """
    try:
        return _rows(source, report)
    except (KeyError, TypeError, AttributeError) as error:
        raise ValueError(f"{type(error).__name__}: {error}") from None


def _rows(source: str, report: Mapping[str, Any]) -> Rows:
    key, expected = (source, _text(report["run"])), report["expected"]
    run = (
        *(*key, _text(report["spider"]), json.dumps(report["arguments"])),
        *map(_text, (report["started"], report["finished"])),
        _took(report),
        *map(_text, (report["finish_reason"], report["verdict"])),
        *(None if expected is None else _number(expected), _number(report["listed"])),
        *(_number(report["counts"].get(name, 0)) for name in OUTCOMES),
        *map(_number, (report["requests"], report["retries"], report["bytes"], report["resumed"])),
        _text(report["since"]) if report.get("since") else None,
    )
    return Rows(key, run, [(*key, _text(kind), _number(count)) for kind, count in report["errors"].items()])


def _took(report: Mapping[str, Any]) -> float:
    found = seconds(report["started"], report["finished"])
    if found is None:
        raise ValueError(f"{report['started']!r} or {report['finished']!r} is no time")
    return found


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError(f"{value!r} is no text")
    value.encode()  # half a surrogate pair is a ValueError
    return value


def _number(value: Any) -> int:
    """One that a portal made up may be larger than SQLite's largest."""
    if not isinstance(value, int):
        raise TypeError(f"{value!r} is no number")
    return max(-_LARGEST, min(int(value), _LARGEST))


def store(db: sqlite3.Connection, rows: Rows) -> None:
    """Within a transaction of the caller's."""
    db.execute(_RUN, rows.run)
    db.execute(_NO_ERRORS, rows.key)
    db.executemany(_ERROR, rows.errors)


def wanting(db: sqlite3.Connection, source: str, folder: Path, lost: Callable[[str], None]) -> list[Rows]:
    """The reports in a folder that the index has not, or has otherwise: a run may have been resumed; the oldest first.

    Args:
        lost: told, in a sentence, of each that is no report.
    """
    query = "SELECT run FROM runs WHERE source = ? AND verdict != 'interrupted'"
    over = {run for (run,) in db.execute(query, (source,))}
    paths = [folder / f"{name}.json" for name in sorted(names(folder) - over)]
    return [rows for rows in _readable(source, paths, lost) if rows.run != _stored(db, rows.key)]


def _stored(db: sqlite3.Connection, key: tuple[str, str]) -> tuple[Any, ...]:
    return tuple(db.execute(_STORED, key).fetchone() or ())


def _readable(source: str, paths: list[Path], lost: Callable[[str], None]) -> Iterator[Rows]:
    for path in paths:
        try:
            yield rows(source, read(path))
        except UNREADABLE as error:
            lost(f"{path} is left out of index.sqlite: it is no run report ({error})")


def gone(db: sqlite3.Connection, source: str, folder: Path) -> list[tuple[str, str]]:
    """The keys of the rows whose report is no longer there."""
    there = names(folder)
    stored = db.execute("SELECT run FROM runs WHERE source = ?", (source,))
    return [(source, run) for (run,) in stored if run not in there]


def names(folder: Path) -> set[str]:
    """Return the runs that have a report in a folder: one look at it, and none at the reports."""
    try:
        found = inside.names(folder.parent, folder.name)
    except OSError:
        return set()
    return {name.removesuffix(".json") for name in found if name.endswith(".json")}


def forget(db: sqlite3.Connection, keys: list[tuple[str, str]]) -> None:
    """Within a transaction of the caller's."""
    db.executemany("DELETE FROM runs WHERE source = ? AND run = ?", keys)
    db.executemany(_NO_ERRORS, keys)
