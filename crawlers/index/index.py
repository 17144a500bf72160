"""index.sqlite: each source's documents as they stand now, caught up from the manifest whenever it is behind."""

from __future__ import annotations

import errno
import json
import logging
import os
import sqlite3
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Self

from scrapy import signals
from scrapy.exceptions import NotConfigured

from crawlers.exceptions import OutputError
from crawlers.items import Status
from crawlers.sqlite import alone

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from scrapy.crawler import Crawler

logger = logging.getLogger(__name__)

_BATCH = 500  # documents a transaction: short ones, so that crawls of other sources wait for nobody
_SCHEMA = """
PRAGMA journal_mode = WAL;
PRAGMA synchronous = NORMAL;
CREATE TABLE IF NOT EXISTS sources (
    source TEXT PRIMARY KEY, manifest_bytes INTEGER NOT NULL, manifest_tail BLOB NOT NULL
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS complete (
    source TEXT, scope TEXT, started TEXT, run TEXT, validators TEXT, PRIMARY KEY (source, scope)
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS documents (
    source TEXT, kind TEXT, dataset_id TEXT, resource_id TEXT,
    file TEXT NOT NULL, sha256 TEXT NOT NULL, bytes INTEGER NOT NULL, metadata_modified TEXT,
    status TEXT NOT NULL, run TEXT NOT NULL, first_seen TEXT NOT NULL, last_seen TEXT NOT NULL,
    metadata_source TEXT, metadata_url TEXT,
    PRIMARY KEY (source, kind, dataset_id, resource_id)
) WITHOUT ROWID;
"""
_VERSION = 5  # of the tables below; an index of another is made anew from the manifests
_ANEW = f"""
DROP TABLE IF EXISTS sources; DROP TABLE IF EXISTS documents; DROP TABLE IF EXISTS complete;
PRAGMA user_version = {_VERSION};
"""
_PUT = """
INSERT INTO documents VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?11, ?12, ?13)
ON CONFLICT DO UPDATE SET file = ?5, sha256 = ?6, bytes = ?7, metadata_modified = ?8, status = ?9, run = ?10,
    last_seen = max(last_seen, ?11), metadata_source = ?12, metadata_url = ?13
"""
_GET = """
SELECT file, sha256, bytes, metadata_modified, status, run, last_seen, metadata_source, metadata_url FROM documents
WHERE source = ? AND kind = ? AND dataset_id = ? AND resource_id = ?
"""

_SEEN = """
UPDATE documents SET last_seen = max(last_seen, :at)
WHERE source = :source AND kind = 'dataset' AND status != 'withdrawn'
"""
_HELD = """
SELECT dataset_id, file, last_seen, metadata_source, metadata_url, metadata_modified FROM documents
WHERE source = ? AND kind = 'dataset' AND dataset_id > ? AND status != 'withdrawn' ORDER BY dataset_id LIMIT ?
"""

_FIELDS = (
    *("metadata_file", "sha256", "bytes", "metadata_modified", "status", "run", "time"),
    *("metadata_source", "metadata_url"),
)

Key = tuple[str, str, str]


@dataclass(frozen=True, slots=True)
class Known:
    """A document on disk, as the manifest's last line about it says."""

    file: str
    """Relative to the source's folder."""
    sha256: str
    bytes: int
    metadata_modified: str | None
    status: Status
    run: str
    """The run that wrote it, or marked it."""
    seen: str
    """When the portal last had it."""
    metadata_source: str | None = None
    metadata_url: str | None = None


class Held(NamedTuple):
    """A dataset that is not withdrawn, and where its record came from."""

    dataset_id: str
    file: str
    """Relative to the source's folder."""
    seen: str
    metadata_source: str | None
    metadata_url: str | None
    metadata_modified: str | None


class Index:
    """The extension that holds one source's part of index.sqlite open while it is crawled.

    Args:
        output: OUTPUT_DIR, where index.sqlite is.
        source: the name of the source's folder in it.
    """

    def __init__(self, output: Path, source: str) -> None:
        self.source = source
        self.folder = output / source
        self.manifest = self.folder / "manifest.jsonl"
        self.pending: dict[Key, Known] = {}
        try:
            self.db = sqlite3.connect(output / "index.sqlite", isolation_level=None, timeout=60)
            with alone(output):
                if self.db.execute("PRAGMA user_version").fetchone()[0] != _VERSION:
                    self.db.executescript(_ANEW)
                self.db.executescript(_SCHEMA)
            self.catch_up()
        except sqlite3.DatabaseError as error:
            what = "free some space" if "full" in str(error) else "it is a cache: delete it and it is made anew"
            raise OutputError(f"{output / 'index.sqlite'} can't be used ({error}): {what}.") from None

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        source = getattr(crawler.spider, "source", None)
        if source is None:
            raise NotConfigured("the spider crawls no catalogue")
        index = cls(Path(crawler.settings["OUTPUT_DIR"]), source)
        crawler.signals.connect(index.close, signal=signals.engine_stopped)
        return index

    def get(self, kind: str, dataset_id: str, resource_id: str | None) -> Known | None:
        key = (kind, dataset_id, resource_id or "")
        if key in self.pending:
            return self.pending[key]
        row = self.db.execute(_GET, (self.source, *key)).fetchone()
        return Known(*row) if row else None

    def put(self, kind: str, dataset_id: str, resource_id: str | None, known: Known) -> None:
        """Takes note of a document, after its line is in the manifest."""
        self.pending[kind, dataset_id, resource_id or ""] = known
        if len(self.pending) < _BATCH:
            return
        try:
            self.flush()
        except sqlite3.OperationalError as error:
            raise OSError(errno.ENOSPC, f"index.sqlite can't be written: {error}") from None

    def current(
        self, kind: str, dataset_id: str, resource_id: str | None, modified: str | None, file: str
    ) -> Known | None:
        """The document that is on disk under that name with that stamp of its source; ``None`` when it must be written.

        Args:
            modified: the source's own stamp; without one nothing is known to be current.
            file: what the document would be called now: a renamed dataset is not current.
        """
        known = self.get(kind, dataset_id, resource_id) if modified else None
        same = known and known.status != "withdrawn" and (known.metadata_modified, known.file) == (modified, file)
        return known if known and same and self.whole(known) else None

    def whole(self, known: Known) -> bool:
        """Whether the document is on disk with all its bytes: a power cut may leave an empty file."""
        try:
            return os.stat(f"{self.folder}/{known.file}").st_size == known.bytes  # noqa: PTH116  # asked for every item
        except OSError:
            return False

    def is_whole(self, dataset_id: str) -> bool:
        """Whether the dataset's document is on disk with all its bytes."""
        known = self.get("dataset", dataset_id, None)
        return known is not None and self.whole(known)

    def datasets(self) -> Iterator[str]:
        """The ids of the source's datasets that are not withdrawn."""
        self.flush()
        query = "SELECT dataset_id FROM documents WHERE source = ? AND kind = 'dataset' AND status != 'withdrawn'"
        return (row[0] for row in self.db.execute(query, (self.source,)))

    def held(self) -> Iterator[Held]:
        """The source's datasets that are not withdrawn, by id; read in batches, so that no crawl waits."""
        self.flush()
        last = ""
        while rows := self.db.execute(_HELD, (self.source, last, _BATCH)).fetchall():
            yield from map(Held._make, rows)
            last = rows[-1][0]

    def last_complete(self, scope: str) -> str | None:
        """When the last complete run of this scope began."""
        query = "SELECT started FROM complete WHERE source = ? AND scope = ?"
        row = self.db.execute(query, (self.source, scope)).fetchone()
        return str(row[0]) if row else None

    def validators(self, scope: str) -> dict[str, str]:
        """The headers, ETag and Last-Modified, by which the last complete run of this scope knows what is on disk.

        None when another run has written since: what is on disk is not what that one saw.
        """
        query = """
            SELECT validators FROM complete WHERE source = :source AND scope = :scope AND NOT EXISTS
            (SELECT 1 FROM documents WHERE source = :source AND run > complete.run)
        """
        self.flush()
        row = self.db.execute(query, {"source": self.source, "scope": scope}).fetchone()
        return json.loads(row[0]) if row else {}

    def completed(self, scope: str, report: Mapping[str, Any]) -> None:
        row = (self.source, scope, report["started"], report["run"], json.dumps(report.get("validators", {})))
        self.db.execute("INSERT OR REPLACE INTO complete VALUES (?, ?, ?, ?, ?)", row)

    def read_reports(self) -> None:
        """Takes from the run reports what the manifest does not know: which runs were complete, and what they saw."""
        for path in sorted((self.folder / "runs").glob("*.json"), key=lambda path: path.stem):
            report = json.loads(path.read_bytes())
            if self.read_report(report):
                self.db.execute(_SEEN, {"source": self.source, "at": report["started"]})

    def read_report(self, report: Mapping[str, Any]) -> bool:
        """Remembers what later runs may build on; whether it is that the listing was whole."""
        if not from_the_beginning(report["arguments"]) or report.get("provisional"):
            return False
        covered = scope(report["spider"], report["arguments"])
        if report["verdict"] == "complete":
            self.completed(covered, report)
        if report.get("whole_listing"):
            self.completed(listing(covered), report)
        return bool(report.get("whole_listing"))

    def flush(self) -> None:
        if self.pending:
            self._store(self.pending.items(), self.manifest.stat().st_size if self.manifest.exists() else 0)
            self.pending = {}

    def _tail(self, end: int) -> bytes:
        """What stands before an offset of the manifest: another manifest has something else there."""
        if not end:
            return b""
        with self.manifest.open("rb") as file:
            file.seek(max(0, end - 256))
            return file.read(min(end, 256))

    def catch_up(self) -> None:
        """Reads what the manifest has and the index has not; all of it when the manifest is another one."""
        size = self.manifest.stat().st_size if self.manifest.exists() else 0
        query = "SELECT manifest_bytes, manifest_tail FROM sources WHERE source = ?"
        covered, tail = self.db.execute(query, (self.source,)).fetchone() or (0, b"")
        if covered > size or tail != self._tail(covered):
            self.db.execute("DELETE FROM documents WHERE source = ?", (self.source,))
            self.db.execute("DELETE FROM complete WHERE source = ?", (self.source,))
            covered = 0
        if covered < size:
            self._store(self._lines(covered), size)

    def close(self) -> None:
        try:
            self.flush()
        except sqlite3.OperationalError as error:
            logger.warning("index.sqlite is behind (%s): the next crawl catches up from the manifest", error)
        self.db.close()

    def _store(self, entries: Any, manifest_bytes: int) -> None:
        covered = (self.source, manifest_bytes, self._tail(manifest_bytes))
        rows = ((self.source, *key, *_columns(known)) for key, known in entries)
        self.db.execute("BEGIN IMMEDIATE")
        try:
            self.db.executemany(_PUT, rows)
            self.db.execute("INSERT OR REPLACE INTO sources VALUES (?, ?, ?)", covered)
        except BaseException:
            self.db.execute("ROLLBACK")
            raise
        self.db.execute("COMMIT")

    def _lines(self, offset: int) -> Iterator[tuple[Key, Known]]:
        with self.manifest.open("rb") as lines:
            lines.seek(offset)
            for line in lines:
                try:
                    entry = json.loads(line)
                    key = (entry["kind"], entry["dataset_id"], entry["resource_id"] or "")
                    known = Known(*(entry[name] for name in _FIELDS))
                except (ValueError, KeyError, TypeError):
                    continue  # a damaged line: its document is written again
                yield key, known


def from_the_beginning(given: Mapping[str, str]) -> bool:
    """Whether such a run, when complete, leaves nothing out: ``since`` a date leaves out what was never crawled."""
    return given.get("since", "last") == "last"


def scope(spider: str, given: Mapping[str, str]) -> str:
    """What a run covers: two runs of one scope would list the same datasets, and ask for the same of them."""
    kept = {name: value for name, value in given.items() if name not in ("since", "rows", "source")}
    return json.dumps({"spider": spider, **kept}, sort_keys=True)


def listing(scope: str) -> str:
    """The scope of what only the listing covers: it may be whole, and a record of it faulty in every run."""
    return f"listing {scope}"


def _columns(known: Known) -> tuple[Any, ...]:
    stored = (known.file, known.sha256, known.bytes, known.metadata_modified, known.status, known.run, known.seen)
    return *stored, known.metadata_source, known.metadata_url
