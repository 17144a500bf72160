"""Run reports in the index: a row for each, and a row for each of its kinds of errors."""

from __future__ import annotations

import json
import logging
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

from crawlers.exceptions import AnswerError
from crawlers.safety import inside
from crawlers.signals import OUTCOMES
from crawlers.store.index.database import transaction
from crawlers.values.moment import seconds

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Callable, Iterator, Mapping
    from pathlib import Path

    from crawlers.items import Dataset

logger = logging.getLogger(__name__)

UNREADABLE = (OSError, ValueError, RecursionError)
"""What `read` raises for a damaged report; `rows` raises ValueError."""

_RUN = f"INSERT OR REPLACE INTO runs VALUES ({', '.join('?' * 23)})"  # noqa: S608
_NO_ERRORS = "DELETE FROM run_errors WHERE source = ? AND run = ?"
_ERROR = "INSERT INTO run_errors VALUES (?, ?, ?, ?)"
_ARGUMENTS = "SELECT arguments FROM runs WHERE source = ? AND run < ? ORDER BY run DESC LIMIT 1"
_UNDESCRIBED = "UPDATE sources SET described = 0 WHERE source = ?"
_OBSOLETE = "UPDATE datasets SET sha256 = '' WHERE source = ?"
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
        from crawlers.values.curation import Curation  # noqa: PLC0415

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


def store(db: sqlite3.Connection, rows: Rows) -> None:
    """Write a report's rows; the caller begins the transaction.

    If the run sets other fields than the one before, the source's datasets are to be described again.
    """
    before = db.execute(_ARGUMENTS, rows.key).fetchone()
    if before and _set_fields(before[0]) != _set_fields(rows.run[3]):
        db.execute(_UNDESCRIBED, rows.key[:1])
        db.execute(_OBSOLETE, rows.key[:1])
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
    missing, obsolete = unread(db, folder, logger.warning), gone(db, folder)
    if missing or obsolete:
        with transaction(db):
            db.executemany("DELETE FROM runs WHERE source = ? AND run = ?", obsolete)
            db.executemany(_NO_ERRORS, obsolete)
            for report in missing:
                store(db, report)


def unread(db: sqlite3.Connection, folder: Path, lost: Callable[[str], None] = lambda _: None) -> list[Rows]:
    """Return the source's reports that differ from the index, the oldest first; a run that was resumed has a new one.

    Args:
        db: the index.
        folder: the source's.
        lost: called with a sentence for each file that is not a report.
    """
    query = "SELECT run FROM runs WHERE source = ? AND verdict != 'interrupted'"
    over = {run for (run,) in db.execute(query, (folder.name,))}
    paths = [folder / "runs" / f"{name}.json" for name in sorted(names(folder) - over)]
    return [rows for rows in _readable(folder.name, paths, lost) if rows.run != _stored(db, rows.key)]


def _stored(db: sqlite3.Connection, key: tuple[str, str]) -> tuple[Any, ...]:
    return tuple(db.execute(_STORED, key).fetchone() or ())


def _readable(source: str, paths: list[Path], lost: Callable[[str], None]) -> Iterator[Rows]:
    for path in paths:
        try:
            yield rows(source, read(path))
        except UNREADABLE as error:
            lost(f"{path} is left out of index.sqlite: it is no run report ({error})")


def gone(db: sqlite3.Connection, folder: Path) -> list[tuple[str, str]]:
    """Return the source and name of each run in the index whose report no longer exists."""
    there = names(folder)
    stored = db.execute("SELECT run FROM runs WHERE source = ?", (folder.name,))
    return [(folder.name, run) for (run,) in stored if run not in there]


def names(folder: Path) -> set[str]:
    """Return the runs of a source that have a report; the reports are not read."""
    try:
        found = inside.names(folder, "runs")
    except OSError:
        return set()
    return {name.removesuffix(".json") for name in found if name.endswith(".json")}
