"""What is in the store beside what is known of it, as temporary tables of the index: they may have millions of rows."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from crawlers.exceptions import ArchiveError
from crawlers.safety.sqlite import transaction
from crawlers.store import lines

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterator
    from pathlib import Path

    from crawlers.archive.blobs import Blob, Blobs
    from crawlers.operate.archive.holdings import Holdings

PRUNED = "pruned: "
"""What the reason of a manifest line begins with that says that `scrapy archive prune` removed a file."""

_MANIFEST = "manifest.jsonl"
_TABLES = """
CREATE TEMP TABLE IF NOT EXISTS stored (
    sha256 TEXT PRIMARY KEY, bytes INTEGER NOT NULL, modified REAL NOT NULL
) WITHOUT ROWID;
CREATE TEMP TABLE IF NOT EXISTS recorded (
    sha256 TEXT, source TEXT, added TEXT, withdrawn TEXT, reason TEXT, line TEXT, PRIMARY KEY (sha256, source)
) WITHOUT ROWID;
DELETE FROM stored; DELETE FROM recorded;
"""
_ADDED = """
INSERT INTO recorded (sha256, source, added, line) VALUES (?1, ?2, ?3, ?4)
ON CONFLICT DO UPDATE SET added = max(coalesce(added, ''), ?3), line = ?4
"""
_WITHDRAWN = """
INSERT INTO recorded (sha256, source, withdrawn, reason) VALUES (?1, ?2, ?3, ?4)
ON CONFLICT DO UPDATE SET withdrawn = ?3, reason = ?4
"""
_MISSING = """
WITH gone AS (SELECT sha256, max(withdrawn) AS time FROM recorded GROUP BY sha256),
needed AS (
    SELECT sha256, source, dataset_id, resource_id, url, max(kept) AS time FROM versions GROUP BY sha256, source
    UNION ALL SELECT sha256, source, NULL, NULL, NULL, added FROM recorded WHERE added IS NOT NULL
)
SELECT sha256, source, dataset_id, resource_id, url FROM needed
WHERE sha256 NOT IN (SELECT sha256 FROM stored) AND (:source IS NULL OR source = :source)
AND time > coalesce((SELECT time FROM gone WHERE gone.sha256 = needed.sha256), '')
GROUP BY sha256 ORDER BY source, dataset_id, resource_id, sha256
"""
_PRUNED = """
SELECT reason, withdrawn FROM recorded WHERE sha256 = :sha256 AND withdrawn >= (
    SELECT coalesce(max(time), '') FROM (
        SELECT kept AS time FROM versions WHERE sha256 = :sha256
        UNION ALL SELECT added FROM recorded WHERE sha256 = :sha256
    )
) ORDER BY withdrawn DESC LIMIT 1
"""
USERS = """
SELECT source, dataset_id, resource_id, url FROM (
    SELECT *, row_number() OVER (PARTITION BY source ORDER BY is_current DESC, seen DESC) AS place
    FROM versions WHERE sha256 = ?
) WHERE place = 1 ORDER BY is_current DESC, seen DESC
"""
UNREFERENCED = """
SELECT sha256, bytes, modified FROM stored
WHERE NOT EXISTS (SELECT 1 FROM captures WHERE captures.sha256 = stored.sha256)
AND NOT EXISTS (SELECT 1 FROM recorded r WHERE r.sha256 = stored.sha256 AND r.added > coalesce(r.withdrawn, ''))
ORDER BY modified, sha256
"""
"""The blobs that neither a capture nor a manifest has: their crawl was killed before it could write one."""


def take_stock(holdings: Holdings) -> None:
    """Fill the tables `stored`, from the store, and `recorded`, from the manifests.

    Raises:
        ArchiveError: the store can't be read.
    """
    read_manifests(holdings)
    _list_store(holdings.db, holdings.blobs)


def read_manifests(holdings: Holdings) -> None:
    """Fill the table `recorded` from the manifests; one that can't be read is noted in ``holdings.damaged``."""
    holdings.db.executescript(_TABLES)
    for source in holdings.archives:
        try:
            with transaction(holdings.db):
                for line in _lines(holdings.output / source):
                    _record(holdings.db, source, line)
        except ArchiveError as error:
            holdings.tell_damage(source, error)


def _record(db: sqlite3.Connection, source: str, line: _Line) -> None:
    if line.status == "withdrawn":
        db.execute(_WITHDRAWN, (line.sha256, source, line.time, line.reason))
    else:
        db.execute(_ADDED, (line.sha256, source, line.time, line.text))


class _Line(NamedTuple):
    """A line of a manifest about a stored file."""

    sha256: str
    status: str
    time: str
    reason: str
    text: str


def _lines(folder: Path) -> Iterator[_Line]:
    """
    Raises:
        ArchiveError: the manifest can't be read.
    """
    try:
        for _, body in lines.read(folder, _MANIFEST):
            entry = lines.entry(body)
            if entry is None or body is None or entry.get("kind") != "file":
                continue
            sha256, status, time = (entry.get(name) for name in ("sha256", "status", "time"))
            if isinstance(sha256, str) and isinstance(status, str) and isinstance(time, str):
                text = body.decode(errors="replace")
                yield _Line(sha256, status, time, str(entry.get("reason") or ""), text)
    except FileNotFoundError:
        return
    except OSError as error:
        raise ArchiveError(f"{folder / _MANIFEST} can't be read: {error.strerror}.") from None


def _list_store(db: sqlite3.Connection, blobs: Blobs) -> None:
    try:
        with transaction(db):
            db.executemany("INSERT OR REPLACE INTO stored VALUES (?, ?, ?)", blobs)
    except OSError as error:
        raise ArchiveError(f"{blobs.location} can't be listed: {error.strerror or error}.") from None


def missing(holdings: Holdings, source: str | None = None) -> Iterator[sqlite3.Row]:
    """Yield the files that captures or manifests have and the store lacks, but for those that were pruned.

    Raises:
        ArchiveError: the store can't be read.
    """
    for row in holdings.rows(_MISSING, {"source": source}):
        if stored(holdings.blobs, row["sha256"]) is None:  # it may have come while the store was listed
            yield row


def users(holdings: Holdings, sha256: str) -> Iterator[sqlite3.Row]:
    """Yield the resource of each archive that has a file or had it last: source, dataset_id, resource_id and url."""
    yield from holdings.rows(USERS, (sha256,))


def stored(blobs: Blobs, sha256: str) -> Blob | None:
    """Return what the store knows of a blob; ``None`` if it is not there.

    Raises:
        ArchiveError: the store can't be read.
    """
    try:
        return blobs.get(sha256)
    except OSError as error:
        raise ArchiveError(f"{blobs.location} can't be read: {error.strerror or error}.") from None


def pruned(holdings: Holdings, sha256: str) -> str | None:
    """Return why and when `scrapy archive prune` removed a file; ``None`` if it did not, or the file came back."""
    if not list(holdings.rows("SELECT 1 FROM sqlite_temp_master WHERE name = 'recorded'")):
        read_manifests(holdings)
    found = next(holdings.rows(_PRUNED, {"sha256": sha256}), None)
    return f"{found['reason']}, on {found['withdrawn'][:10]}" if found else None
