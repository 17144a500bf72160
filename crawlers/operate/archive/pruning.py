"""`scrapy archive prune`: removes what no resource needs, and says first what that is."""

from __future__ import annotations

import os
import time
from contextlib import ExitStack, contextmanager, suppress
from datetime import UTC, datetime, timedelta
from itertools import chain
from typing import TYPE_CHECKING, Any, NamedTuple

from crawlers.archive.blobs import key
from crawlers.exceptions import ArchiveError
from crawlers.operate.archive.holdings import archives
from crawlers.operate.archive.inventory import PRUNED, UNREFERENCED, take_stock, users
from crawlers.records import moment
from crawlers.safety.locks import LOCK, is_crawled, take
from crawlers.safety.redact import safe_line
from crawlers.store import lines
from crawlers.store.figures.formatting import date, number, size
from crawlers.store.index.index import is_behind
from crawlers.store.lines import JSONLines

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator
    from pathlib import Path

    from crawlers.operate.archive.holdings import Holdings

_LONGEST = 5_000  # characters of an address
_LIMITS = ("KEEP_VERSIONS", "KEEP_DAYS", "MAX_BYTES")
_TRIES = 30  # a process that checks whether a crawl runs holds a shared lock for a moment
_YOUNG = 3600  # seconds: what is younger may be of a crawl that has just begun
_FOREIGN = 24 * 3600  # seconds after which a file in a folder that others may use, too, is a leftover
_FIELDS = (
    *("kind", "dataset_id", "dataset_name", "dataset_title", "resource_id", "resource_name", "resource_format"),
    *("metadata_source", "metadata_file", "metadata_url", "time", "run", "status", "sha256", "bytes"),
    *("metadata_modified", "reason"),
)
_AGED = """
DROP TABLE IF EXISTS temp.aged; DROP TABLE IF EXISTS temp.doomed; DROP TABLE IF EXISTS temp.loose;
CREATE TEMP TABLE aged AS
SELECT sha256, min(age) AS youngest, max(seen) AS seen, bytes FROM (
    SELECT sha256, seen, row_number() OVER (
        PARTITION BY source, dataset_id, resource_id, url ORDER BY is_current DESC, seen DESC
    ) - 1 AS age FROM versions
) JOIN stored USING (sha256) GROUP BY sha256;
CREATE TEMP TABLE doomed (sha256 TEXT PRIMARY KEY, bytes INTEGER, seen TEXT, reason TEXT);
"""
_OLD = """
INSERT INTO doomed SELECT sha256, bytes, seen, :reason FROM aged WHERE youngest >= 1 AND {beyond}
ON CONFLICT DO NOTHING
"""
_BEYOND_BYTES = """
INSERT INTO doomed SELECT sha256, bytes, seen, :reason FROM (
    SELECT sha256, bytes, seen, sum(bytes) OVER (ORDER BY seen, sha256) - bytes AS freed
    FROM aged WHERE youngest >= 1 AND sha256 NOT IN (SELECT sha256 FROM doomed)
) WHERE freed < :excess
"""
_EXCESS = """
SELECT coalesce(sum(bytes), 0) - :most FROM aged WHERE sha256 NOT IN (SELECT sha256 FROM doomed)
"""
_IS_LOOSE = f"""
CREATE TEMP TABLE loose AS
SELECT sha256, bytes, 'no capture had it' AS reason FROM ({UNREFERENCED}) WHERE modified < :oldest
"""  # noqa: S608
_LOOSE = "SELECT sha256, bytes, reason FROM loose"
_DOOMED = "SELECT sha256, bytes, seen, reason FROM doomed ORDER BY seen, sha256"
_LINES = "SELECT source, line FROM recorded WHERE sha256 = ? AND added IS NOT NULL"


class _Limits(NamedTuple):
    """ARCHIVE_KEEP_VERSIONS, ARCHIVE_KEEP_DAYS and ARCHIVE_MAX_BYTES; 0 = no limit."""

    versions: int
    days: int
    bytes: int


def prune(holdings: Holdings, names: list[str], opts: argparse.Namespace) -> int:  # noqa: ARG001 -- as the other words
    """Print what is not needed, and remove it if that is asked for; return the exit code.

    Raises:
        ArchiveError: an archive is being crawled, or the store can't be read or written.
    """
    with ExitStack() as stack:
        for source in holdings.archives:
            stack.enter_context(_alone(holdings.output / source, is_locked=opts.yes))
        _check(holdings)
        take_stock(holdings)
        _refuse_damage(holdings)
        _choose(holdings)
        leftovers = list(_leftovers(holdings))
        if _print_all(holdings, leftovers) == 0:
            print("Nothing can be removed.")
        elif opts.yes:
            _check(holdings)  # an archive that has begun meanwhile is neither known nor locked
            _remove(holdings, leftovers)
        else:
            print("Nothing was removed: add --yes to remove these files.")
    return 0


@contextmanager
def _alone(folder: Path, *, is_locked: bool) -> Iterator[None]:
    """Refuse a folder that is being crawled; keep crawls out of it meanwhile.

    Args:
        is_locked: whether to keep them out.

    Raises:
        ArchiveError: it is being crawled, or can't be locked.
    """
    busy = ArchiveError(f"A crawl is writing into {folder}: run scrapy archive prune when it has ended.")
    if not is_locked:
        if is_crawled(folder):
            raise busy
        yield
        return
    try:
        descriptor = take(folder / LOCK, tries=_TRIES)
    except OSError as error:
        raise ArchiveError(f"{folder} can't be locked: {error.strerror}.") from None
    if descriptor is None:
        raise busy
    try:
        yield
    finally:
        os.close(descriptor)


def _refuse_damage(holdings: Holdings) -> None:
    """
    Raises:
        ArchiveError: an archive can't be read, which may need any file.
    """
    if damaged := sorted(holdings.damaged.intersection(holdings.archives)):
        raise ArchiveError(f"{', '.join(damaged)} can't be read, and may need any of the files: nothing was removed.")


def _check(holdings: Holdings) -> None:
    """
    Raises:
        ArchiveError: an archive can't be read, or the index lacks captures of a crawl that has just ended.
    """
    _refuse_damage(holdings)
    behind = [source for source in holdings.archives if is_behind(holdings.db, holdings.output / source)]
    if behind or archives(holdings.output) != holdings.archives:
        raise ArchiveError("An archive was crawled a moment ago: run scrapy archive prune again.")


def _choose(holdings: Holdings) -> None:
    """Fill the tables `doomed`, with blobs beyond a limit, and `loose`, with those that are unreferenced."""
    limits = _Limits(*(holdings.settings.getint(f"ARCHIVE_{name}") for name in _LIMITS))
    db = holdings.db
    db.executescript(_AGED)
    db.execute(_IS_LOOSE, {"oldest": time.time() - _YOUNG})
    cutoff = moment.written(datetime.now(UTC) - timedelta(days=limits.days))
    if limits.versions:
        reason = {"reason": f"beyond ARCHIVE_KEEP_VERSIONS = {limits.versions}"}
        db.execute(_OLD.format(beyond="youngest > :versions"), reason | {"versions": limits.versions})
    if limits.days:
        reason = {"reason": f"beyond ARCHIVE_KEEP_DAYS = {limits.days}"}
        db.execute(_OLD.format(beyond="seen < :cutoff"), reason | {"cutoff": cutoff})
    if limits.bytes:
        reason = {"reason": f"beyond ARCHIVE_MAX_BYTES = {limits.bytes}"}
        db.execute(_BEYOND_BYTES, reason | {"excess": _excess(holdings, limits.bytes)})


def _excess(holdings: Holdings, limit: int) -> int:
    """Return the bytes beyond a limit that would be left."""
    return int(next(holdings.rows(_EXCESS, {"most": limit}))[0])


def _leftovers(holdings: Holdings) -> Iterator[Path]:
    """Yield what killed downloads left, an hour old; in a folder that others may use, too, only what is a day old."""
    is_shared = not str(holdings.blobs.scratch).startswith(holdings.blobs.location)
    oldest = time.time() - (_FOREIGN if is_shared else _YOUNG)
    with suppress(FileNotFoundError):
        for path in sorted(holdings.blobs.scratch.iterdir()):
            if path.is_file() and not path.is_symlink() and path.stat().st_mtime < oldest:
                yield path


def _print_all(holdings: Holdings, leftovers: list[Path]) -> int:
    """Print what can be removed; return how many files that are."""
    count = volume = 0
    for row in holdings.rows(_LOOSE):
        print(f"unreferenced  {row['sha256']}  {size(row['bytes'])}  no capture has it")
        count, volume = count + 1, volume + row["bytes"]
    for row in holdings.rows(_DOOMED):
        user = next(users(holdings, row["sha256"]), ())
        about = "  ".join(safe_line(part, _LONGEST) for part in user[1:])
        reason = f"{row['reason']}, last seen {date(row['seen'])}"
        print(f"old version   {row['sha256']}  {size(row['bytes'])}  {reason}  {about}")
        count, volume = count + 1, volume + row["bytes"]
    for path in leftovers:
        print(f"leftover      {safe_line(path, _LONGEST)}  {size(path.stat().st_size)}  of a download")
        count, volume = count + 1, volume + path.stat().st_size
    if count:
        print(f"{number(count)} {'file' if count == 1 else 'files'}, {size(volume)}.")
    _print_excess(holdings)
    return count


def _print_excess(holdings: Holdings) -> None:
    most = holdings.settings.getint("ARCHIVE_MAX_BYTES")
    excess = _excess(holdings, most) if most else 0
    if excess > 0:
        print(f"The files that stay have {size(excess)} more than ARCHIVE_MAX_BYTES: all of them are current.")


def _remove(holdings: Holdings, leftovers: list[Path]) -> None:
    """Remove the files; a line of the manifest comes first, so that a kill leaves a file too many at most.

    Raises:
        ArchiveError: the store or a manifest can't be written.
    """
    run = f"prune-{moment.name()}"
    count = len(leftovers)
    try:
        for path in leftovers:
            path.unlink(missing_ok=True)
        for row in chain(holdings.rows(_LOOSE), holdings.rows(_DOOMED)):
            stamp = {"time": moment.now("milliseconds"), "run": run, "reason": PRUNED + row["reason"]}
            for source, line in _withdrawn(holdings, row["sha256"]):
                _append(holdings.output / source, line | {"bytes": row["bytes"]} | stamp)
            holdings.blobs.remove(row["sha256"])
            count += 1
    except OSError as error:
        raise ArchiveError(
            f"Not all was removed ({error.strerror or error}): run scrapy archive prune again."
        ) from None
    print(f"{number(count)} {'file' if count == 1 else 'files'} removed.")


def _withdrawn(holdings: Holdings, sha256: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the archives that know a file, each with the line for its manifest, but for what the caller adds."""
    known = {row["source"]: lines.entry(row["line"].encode()) for row in holdings.rows(_LINES, (sha256,))}
    had = {row["source"]: row for row in users(holdings, sha256)}
    for source in sorted({*known, *had}):
        line = dict.fromkeys(_FIELDS) | {"kind": "file", "metadata_file": key(sha256), "sha256": sha256}
        if source in had:
            line |= {name: had[source][name] for name in ("dataset_id", "resource_id")}
            line["metadata_url"] = had[source]["url"]
        yield source, line | (known.get(source) or {}) | {"status": "withdrawn"}


def _append(folder: Path, line: dict[str, Any]) -> None:
    manifest = JSONLines(folder / "manifest.jsonl")
    try:
        manifest.append(line)
    finally:
        manifest.close()
