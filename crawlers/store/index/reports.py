"""Run reports in the index: a row for each, and a row for each of its kinds of errors."""

from __future__ import annotations

import json
import logging
import os
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

from crawlers.exceptions import AnswerError
from crawlers.records.moment import seconds
from crawlers.safety import inside
from crawlers.signals import OUTCOMES
from crawlers.store.index.database import transaction
from crawlers.store.index.removal import outdate

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Callable, Iterable, Iterator, Mapping
    from pathlib import Path

    from crawlers.items import Dataset

logger = logging.getLogger(__name__)

UNREADABLE = (OSError, ValueError, RecursionError)
"""What `read` raises for a damaged report; `rows` raises ValueError."""

_RUN = f"INSERT OR REPLACE INTO runs VALUES ({', '.join('?' * 24)})"  # noqa: S608
_NO_ERRORS = "DELETE FROM run_errors WHERE source = ? AND run = ?"
_ERROR = "INSERT INTO run_errors VALUES (?, ?, ?, ?)"
_ARGUMENTS = "SELECT arguments FROM runs WHERE source = ? AND run < ? ORDER BY run DESC LIMIT 1"
_OF_A_RUN = ("runs", "run_errors", "interrupted")
_OF_VERDICT = 8
_KNOWN = """
SELECT run, CASE WHEN verdict = 'interrupted' THEN coalesce(changed, -1) END
FROM runs LEFT JOIN interrupted USING (source, run) WHERE source = ?
"""
_NOTE = "INSERT OR REPLACE INTO interrupted VALUES (?, ?, ?)"
_STORED = "SELECT * FROM runs WHERE source = ? AND run = ?"
_LARGEST = 2**63 - 1
_MOST = 16 * 1024 * 1024  # bytes of a report


class Rows(NamedTuple):
    """A report's rows in the tables runs and run_errors."""

    key: tuple[str, str]
    run: tuple[Any, ...]
    errors: list[tuple[Any, ...]]


def read(path: Path) -> dict[str, Any]:
    """Return a run report.

    Raises:
        OSError, ValueError, RecursionError: it cannot be read, or is not a report (`UNREADABLE`).
    """
    report = json.loads(inside.read(path.parent.parent, f"runs/{path.name}", _MOST))
    rows("", report)
    if report["run"] != path.stem:
        raise ValueError(f"it is the report of {report['run']}")
    return dict(report)


def amendments(folder: Path) -> tuple[Callable[[Dataset], None], ...]:
    """Return what changes the items of a source, in order: the spider of its last run, then its operator.

    Args:
        folder: the source's.
    """
    try:
        return _amendments(folder, (folder / "runs").stat().st_mtime_ns)
    except OSError:
        return ()


@lru_cache(maxsize=16)
def _amendments(folder: Path, changed: int) -> tuple[Callable[[Dataset], None], ...]:  # noqa: ARG001 -- when a report was added last
    for name in sorted(names(folder), reverse=True):
        try:
            report = read(folder / "runs" / f"{name}.json")
            return tuple(_changes(report["arguments"], report.get("completed_by")))
        except UNREADABLE:
            continue
    return ()


def _changes(arguments: Mapping[str, str], spider: str | None) -> Iterator[Callable[[Dataset], None]]:
    """Yield the changes of a run; few sources have any, so what they need is imported here."""
    if spider:
        yield _completion(spider)
    if arguments.keys() & {"defaults", "overrides"}:
        from crawlers.records.curation import Curation  # noqa: PLC0415

        yield Curation.from_arguments(arguments).amend


def _completion(name: str) -> Callable[[Dataset], None]:
    from scrapy.spiderloader import get_spider_loader  # noqa: PLC0415
    from scrapy.utils.project import get_project_settings  # noqa: PLC0415

    try:
        spider: Any = get_spider_loader(get_project_settings()).load(name)
    except KeyError:
        logger.warning("There is no spider %s here, which completes its items: they are as mapped.", name)
        return lambda _: None

    def complete(item: Dataset) -> None:
        try:
            spider.complete_item(item)
        except Exception as error:
            raise AnswerError("bug", f"{name}.complete_item fails: {type(error).__name__}: {error}") from error

    return complete


def rows(source: str, report: Mapping[str, Any]) -> Rows:
    """Return the rows of a run report.

    Raises:
        ValueError: it is not a report: a field is missing, or of another type.
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
        json.dumps({_text(kind): _number(count) for kind, count in (report.get("flaws") or {}).items()}),
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
    """Return a number that SQLite can hold: a portal may claim a larger one."""
    if not isinstance(value, int):
        raise TypeError(f"{value!r} is no number")
    return max(-_LARGEST, min(int(value), _LARGEST))


def prepare(db: sqlite3.Connection, rows: Rows) -> None:
    """Have the source's datasets described again if a run sets other fields than the one before; called before `store`.

    That may be many transactions. After a kill it is done again: the run is not stored yet.
    """
    before = db.execute(_ARGUMENTS, rows.key).fetchone()
    if before and _set_fields(before[0]) != _set_fields(rows.run[3]):
        outdate(db, rows.key[0])


def store(db: sqlite3.Connection, rows: Rows) -> None:
    """Write a report's rows; the caller begins the transaction."""
    db.execute(_RUN, rows.run)
    db.execute(_NO_ERRORS, rows.key)
    db.executemany(_ERROR, rows.errors)


def _set_fields(arguments: str) -> list[Any]:
    """Return the arguments that set fields of datasets.

    Args:
        arguments: of a run, as JSON.
    """
    given = json.loads(arguments)
    return [given.get(name) for name in ("defaults", "overrides")]


def update(db: sqlite3.Connection, folder: Path) -> None:
    """Read the source's reports that are new, and forget those that are gone."""
    unread, gone = differences(db, folder)
    if not (unread or gone):
        return
    with transaction(db):
        for table in _OF_A_RUN:
            keys = ((folder.name, run) for run in gone)
            db.executemany(f"DELETE FROM {table} WHERE source = ? AND run = ?", keys)  # noqa: S608  # the three
    for report in _readable(folder, unread, logger.warning):
        prepare(db, report)
        with transaction(db):
            store(db, report)
            if report.run[_OF_VERDICT] == "interrupted":
                db.execute(_NOTE, (*report.key, unread[report.key[1]]))


def is_behind(db: sqlite3.Connection, folder: Path) -> bool:
    """Return whether the index lacks a report of a source, or has one that is gone; only new ones are opened."""
    unread, gone = differences(db, folder)
    return bool(gone) or any(True for _ in _readable(folder, unread, lambda _: None))


def differences(db: sqlite3.Connection, folder: Path) -> tuple[dict[str, int], set[str]]:
    """Return the names of the source's reports that are to be read, each with when it was last changed; and those gone.

    To be read are the reports that are new, and those of interrupted runs that were changed: a resumed run has another.
    """
    known, there = dict(db.execute(_KNOWN, (folder.name,)).fetchall()), names(folder)
    interrupted = {name: changed for name, changed in known.items() if changed is not None and name in there}
    now = {name: _changed(folder, name) for name in (*(there - known.keys()), *interrupted)}
    unread = {name: changed for name, changed in now.items() if changed != interrupted.get(name)}
    return unread, known.keys() - there


def _changed(folder: Path, name: str) -> int:
    """Return when a report was last changed, in nanoseconds; 0 if that can't be known."""
    try:
        return os.stat(f"{folder}/runs/{name}.json", follow_symlinks=False).st_mtime_ns  # noqa: PTH116 -- of hundreds
    except OSError:
        return 0


def _stored(db: sqlite3.Connection, key: tuple[str, str]) -> tuple[Any, ...]:
    return tuple(db.execute(_STORED, key).fetchone() or ())


def _readable(folder: Path, unread: Iterable[str], lost: Callable[[str], None]) -> Iterator[Rows]:
    """Yield the rows of reports, the oldest first.

    Args:
        lost: called with a sentence for each file that is not a report.
    """
    for path in (folder / "runs" / f"{name}.json" for name in sorted(unread)):
        try:
            yield rows(folder.name, read(path))
        except UNREADABLE as error:
            lost(f"{path} is left out of index.sqlite: it is no run report ({error})")


def names(folder: Path) -> set[str]:
    """Return the runs of a source that have a report; the reports are not read."""
    try:
        found = inside.names(folder, "runs")
    except OSError:
        return set()
    return {name.removesuffix(".json") for name in found if name.endswith(".json")}
