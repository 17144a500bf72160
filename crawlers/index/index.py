"""index.sqlite: each source's documents as they stand now, caught up from the manifest whenever it is behind."""

from __future__ import annotations

import json
import logging
import sqlite3
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self, TypeVar

from scrapy import signals
from scrapy.exceptions import NotConfigured

from crawlers.damaged_database import Identity, identity
from crawlers.index import behind, reports
from crawlers.index.batch import DOCUMENTS, Batch
from crawlers.index.database import (
    LARGEST_LOG,
    NAME,
    PATIENT,
    forget,
    is_replaceable,
    log_size,
    opened,
    transaction,
    usable,
)
from crawlers.index.known import Held, Key, Known
from crawlers.index.missing_exports import without_exports
from crawlers.index.scope import from_the_beginning, listing, scope, sees_all
from crawlers.resume import Job
from crawlers.safety import inside, json_lines

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Mapping

    from scrapy.crawler import Crawler

    from crawlers.items import Dataset

T = TypeVar("T")

logger = logging.getLogger(__name__)

_GET = """
SELECT file, sha256, bytes, metadata_modified, status, run, last_seen, metadata_source, metadata_url FROM documents
WHERE source = ? AND kind = ? AND dataset_id = ? AND resource_id = ?
"""

_EXPORTS = """
SELECT resource_id, file, sha256, bytes, metadata_modified, status, run, last_seen, metadata_source, metadata_url
FROM documents WHERE source = ? AND kind = 'resource_metadata' AND dataset_id = ?
"""

_SEEN = """
UPDATE documents SET last_seen = :at WHERE source = :source AND kind = 'dataset'
    AND dataset_id > :after AND dataset_id <= :last AND status != 'withdrawn' AND last_seen < :at
"""
_LAST = """
SELECT max(dataset_id) FROM (
    SELECT dataset_id FROM documents WHERE source = :source AND kind = 'dataset' AND dataset_id > :after
    ORDER BY dataset_id LIMIT :many
)
"""
_HELD = """
SELECT dataset_id, file, last_seen, metadata_source, metadata_url, metadata_modified FROM documents
WHERE source = ? AND kind = 'dataset' AND dataset_id > ? AND status != 'withdrawn' ORDER BY dataset_id LIMIT ?
"""

_DATASETS = "SELECT count(*) FROM documents WHERE source = ? AND kind = 'dataset' AND status != 'withdrawn'"

_SOURCE = """
INSERT INTO sources VALUES (?1, ?2, ?3, ?4)
ON CONFLICT DO UPDATE SET manifest_bytes = ?2, manifest_tail = ?3, described = min(described, ?4)
"""
_MARKED = 10_000  # datasets that are marked as seen in one transaction
_CRAWLING = 0.2  # seconds that a crawl waits for another who writes: nothing else goes on meanwhile
_AT_THE_END = 2.0

_BLOCK = 1024 * 1024
_LARGEST = 2**63
_TOLD = 20  # damaged lines that are named one by one
_TEXT, _PERHAPS = str, (str, type(None))
_TYPES: dict[str, type | tuple[type, ...]] = {
    **dict.fromkeys(("kind", "dataset_id", "metadata_file", "sha256", "status", "run", "time"), _TEXT),
    **dict.fromkeys(("resource_id", "metadata_modified", "metadata_source", "metadata_url"), _PERHAPS),
    "bytes": int,
}
_FIELDS = (
    *("metadata_file", "sha256", "bytes", "metadata_modified", "status", "run", "time"),
    *("metadata_source", "metadata_url"),
)


class Index:
    """The extension that holds one source's part of index.sqlite open while it is crawled.

    What can't be written now is written later: at the end of the crawl, or by whoever reads it next, from the manifest.

    Args:
        output: OUTPUT_DIR, where index.sqlite is.
        source: the name of the source's folder in it.
        patience: seconds to wait for another who writes into it.
        for_crawl: replace also an index that can't be opened or written, rather than raise.
        tell: told, in a sentence, that a damaged index was replaced.

    Attributes:
        partial: whether the index lacks lines of the manifest because it could not be rebuilt to the end.
        forgot: whether the index was rebuilt since this run began, so that it lacks which datasets the run has seen.

    Raises:
        OutputError: it can't be used, or not be brought up to date.
    """

    def __init__(
        self,
        output: Path,
        source: str,
        patience: float = PATIENT,
        *,
        for_crawl: bool = False,
        tell: Callable[[str], None] = logger.warning,
    ) -> None:
        self.output = output
        self.source = source
        self.folder = output / source
        self.manifest = self.folder / "manifest.jsonl"
        self.batch = Batch(source)
        self.runs: list[Mapping[str, Any]] = []
        self.failed: sqlite3.DatabaseError | None = None
        self.forgot = False
        self.partial = False
        self.log_allowed = LARGEST_LOG
        self.patience = patience
        self.for_crawl = for_crawl
        self.tell = tell
        with usable(output):
            self.db = self._opened()
            self.healing(self.catch_up)

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        source = getattr(crawler.spider, "source", None)
        if source is None:
            raise NotConfigured("the spider crawls no catalogue")
        index = cls(Path(crawler.settings["OUTPUT_DIR"]), source, for_crawl=True)
        index.forgot = index.forgot and Job.of(crawler).resumed
        index.wait(_CRAWLING)
        crawler.signals.connect(index.engine_stopped, signal=signals.engine_stopped)
        return index

    def get(self, kind: str, dataset_id: str, resource_id: str | None) -> Known | None:
        key = (kind, dataset_id, resource_id or "")
        if key in self.batch.documents:
            return self.batch.documents[key]
        rows = self._rows(_GET, (self.source, *key))
        return Known(*rows[0]) if rows else None

    def put(
        self,
        kind: str,
        dataset_id: str,
        resource_id: str | None,
        known: Known,
        *,
        item: Dataset | None = None,
        time: str | None = None,
    ) -> None:
        """Takes note of a document, after its line is in the manifest.

        Args:
            item: the dataset that it describes, when that is news.
            time: of its line, when it has a new one.
        """
        self.batch.add((kind, dataset_id, resource_id or ""), known, time)
        if item is not None:
            self.batch.describe(item, known)
        if self.batch.full and not self.flush():
            self.batch.wait()

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
            return inside.size(self.folder, known.file) == known.bytes
        except OSError:
            return False

    def is_whole(self, dataset_id: str) -> bool:
        """Whether the dataset's document is on disk with all its bytes."""
        known = self.get("dataset", dataset_id, None)
        return known is not None and self.whole(known)

    def held(self) -> Iterator[Held]:
        """The source's datasets that are not withdrawn: those in hand, then the others by id, read in batches."""
        pending, last = self.batch.datasets(), ""
        yield from (Held.of(dataset_id, known) for dataset_id, known in pending.items() if known.status != "withdrawn")
        while rows := self._rows(_HELD, (self.source, last, DOCUMENTS)):
            yield from (Held._make(row) for row in rows if row[0] not in pending)
            last = rows[-1][0]

    def exports(self, dataset_id: str) -> dict[str, Known]:
        """Return the documents on disk about the dataset's resources, withdrawn ones too, by resource id."""
        about = ("resource_metadata", dataset_id)
        rows = self._rows(_EXPORTS, (self.source, dataset_id))
        pending = {key[2]: known for key, known in self.batch.documents.items() if key[:2] == about}
        return {resource_id: Known(*row) for resource_id, *row in rows} | pending

    def without_exports(self, ids: list[str], kinds: Collection[str]) -> set[str]:
        """Return those of the datasets that lack an export of these kinds: ``dataset``, ``resource``.

        Which resources a dataset has is in its description, which a run that was killed may not have come to write.
        """
        return self.healing(lambda: self._without_exports(ids, kinds)) if kinds else set()

    def _without_exports(self, ids: list[str], kinds: Collection[str]) -> set[str]:
        self.settle()
        return without_exports(self.db, self.source, ids, kinds)

    def newest_stamp(self) -> str | None:
        """Return the newest stamp that the source has given a dataset."""
        query = "SELECT max(metadata_modified) FROM documents WHERE source = ? AND kind = 'dataset'"
        found: str | None = self._rows(query, (self.source,))[0][0]
        return found

    def last_complete(self, scope: str) -> str | None:
        """When the last complete run of this scope began."""
        query = "SELECT started FROM complete WHERE source = ? AND scope = ?"
        rows = self._rows(query, (self.source, scope))
        return str(rows[0][0]) if rows else None

    def validators(self, scope: str) -> dict[str, str]:
        """The headers, ETag and Last-Modified, by which the last complete run of this scope knows what is on disk.

        None when another run has written since: what is on disk is not what that one saw.
        """
        query = """
            SELECT validators, run FROM complete WHERE source = :source AND scope = :scope AND NOT EXISTS
            (SELECT 1 FROM documents WHERE source = :source AND run > complete.run)
        """
        rows = self._rows(query, {"source": self.source, "scope": scope})
        if not rows or any(known.run > rows[0][1] for known in self.batch.documents.values()):
            return {}
        return dict(json.loads(rows[0][0]))

    def _completed(self, scope: str, report: Mapping[str, Any]) -> None:
        row = (self.source, scope, report["started"], report["run"], json.dumps(report.get("validators", {})))
        self.db.execute("INSERT OR REPLACE INTO complete VALUES (?, ?, ?, ?, ?)", row)

    def read_reports(self) -> None:
        """Take from the run reports what the manifest does not know: which runs were complete, and what they saw."""
        seen = ""
        for path in sorted((self.folder / "runs").glob("*.json"), key=lambda path: path.stem):
            try:
                report = reports.read(path)
            except reports.UNREADABLE:
                continue  # `catch_up` has told of it
            with transaction(self.db):
                if self._remember(report) and sees_all(report["arguments"]):
                    seen = max(seen, report["started"])
        self._mark_seen(seen)

    def _mark_seen(self, moment: str) -> None:
        """Note that a whole listing of that moment had all datasets that are not withdrawn, some at a time."""
        words = {"source": self.source, "at": moment, "after": "", "many": _MARKED}
        while last := moment and self.db.execute(_LAST, words).fetchone()[0]:
            self.db.execute(_SEEN, words | {"last": last})
            words["after"] = last

    def read_report(self, report: Mapping[str, Any]) -> None:
        """Remembers a run, and what later ones may build on.

        Raises:
            ValueError: it is no run report.
        """
        reports.rows(self.source, report)
        self.runs.append(report)
        self.flush()

    def _remember(self, report: Mapping[str, Any]) -> bool:
        """Whether its listing was whole, and others may build on that."""
        reports.store(self.db, reports.rows(self.source, report))
        if not from_the_beginning(report["arguments"]) or report.get("provisional"):
            return False
        covered = scope(report["spider"], report["arguments"])
        if report["verdict"] == "complete":
            self._completed(covered, report)
        if report.get("whole_listing"):
            self._completed(listing(covered), report)
        return bool(report.get("whole_listing"))

    def wait(self, seconds: float) -> None:
        """For another who writes, from now on."""
        self.patience = seconds
        self.db.execute(f"PRAGMA busy_timeout = {round(1000 * seconds)}")

    # A damaged index

    def healing(self, work: Callable[[], T]) -> T:
        """Return what some work with the index returns; if the index is damaged, rebuild it and do the work again.

        Raises:
            sqlite3.DatabaseError: the index is not damaged, or the new one can't be written either.
        """
        try:
            if self.partial:
                self._rebuild()
            return work()
        except sqlite3.DatabaseError as error:
            if not is_replaceable(error, self.output, for_crawl=self.for_crawl):
                raise
            self._rebuild(error)
            return work()

    def _rows(self, query: str, values: Any) -> list[Any]:
        return self.healing(lambda: self.db.execute(query, values).fetchall())

    def _rebuild(self, error: sqlite3.DatabaseError | None = None) -> None:
        """Make another index from the manifest, which is the truth; what is in hand stays in hand.

        Raises:
            sqlite3.DatabaseError: it can't be made.
        """
        in_hand, old, patience = (self.batch, self.runs), self.db, self.patience
        self.batch, self.runs, self.partial, self.patience = Batch(self.source), [], True, PATIENT
        try:
            self.db = self._opened(self.file)
            old.close()
            self.catch_up()
            self.partial = False
        except OSError:
            raise error or sqlite3.OperationalError(f"{NAME} is gone, and no other can be made") from None
        finally:
            self.batch, self.runs = in_hand
            self.wait(patience)

    def _opened(self, damaged: Identity | None = None) -> sqlite3.Connection:
        db = opened(self.output, self.patience, for_crawl=self.for_crawl, damaged=damaged, tell=self.tell)
        self.file = identity(self.output / NAME)
        return db

    def _is_there(self) -> bool:
        """Whether the file that is open is still the one that others open: another program may have replaced it."""
        return identity(self.output / NAME) == self.file

    def flush(self) -> bool:
        """Writes what is in hand; ``False`` when that can't be now: it stays in hand, and ``failed`` says why."""
        if not self.batch.documents and not self.runs:
            return True
        try:
            if not self._is_there():
                self._rebuild()
            self.healing(lambda: self._store(behind.size(self.folder)))
        except sqlite3.DatabaseError as error:
            self.failed = error
            return False
        self.failed = None
        return True

    def catch_up(self) -> None:
        """Reads what the manifest has and the index has not; all of it when the manifest is another one."""
        covered = behind.read_to(self.db, self.folder)
        if covered is None:
            with transaction(self.db):
                forget(self.db, self.source)
                self.db.execute(_SOURCE, (self.source, 0, b"", 1))
            covered, self.forgot = 0, behind.size(self.folder) > 0
        if covered < behind.size(self.folder):
            self._read(covered)
        self._read_runs()

    def _read(self, covered: int) -> None:
        """The manifest's lines from an offset; what they describe is `describe`'s to find out."""
        end = covered
        for end, entry in self._lines(covered):
            if entry:
                self.batch.add(*self._known(*entry))
            if self.batch.full:
                self._store(end, described=False)
        self._store(end, described=False)

    def _known(self, key: Key, known: Known, time: str) -> tuple[Key, Known, str]:
        """The line of what is withdrawn says where it was missed, not where its record came from."""
        before = self.get(*key) if known.status == "withdrawn" else None
        if before:
            known = replace(known, metadata_source=before.metadata_source, metadata_url=before.metadata_url)
        return key, known, time

    def _read_runs(self) -> None:
        """The reports that are there since; what later runs may build on is read by `read_reports` alone."""
        folder = self.folder / "runs"
        gone = reports.gone(self.db, self.source, folder)
        wanting = reports.wanting(self.db, self.source, folder, logger.warning)
        if gone or wanting:
            with transaction(self.db):
                reports.forget(self.db, gone)
                for rows in wanting:
                    reports.store(self.db, rows)

    def describe(self, lost: Callable[[str], None]) -> None:
        """Describes, from the documents on disk, what was learnt from the manifest alone.

        Args:
            lost: told, in a sentence, of each document that can't be read; the others follow.
        """
        self.healing(lambda: self._describe(lost))

    def _describe(self, lost: Callable[[str], None]) -> None:
        query = "SELECT described FROM sources WHERE source = ?"
        if self.db.execute(query, (self.source,)).fetchone()[0]:
            return
        from crawlers.index.lacking import described  # noqa: PLC0415 -- it imports every mapping, and is seldom needed

        whole = True
        for batch in described(self.db, self.folder, lost):
            with transaction(self.db):
                whole = not batch.drop_overtaken(self.db) and batch.described and whole
                batch.write(self.db)
        if whole:
            self.db.execute("UPDATE sources SET described = 1 WHERE source = ?", (self.source,))

    def settle(self) -> bool:
        """Write and describe all that is known by now; return whether that could be done."""
        self.wait(_AT_THE_END)
        try:
            settled = self.flush()
            if settled:
                self.describe(logger.warning)
        except sqlite3.DatabaseError as error:
            self.failed, settled = error, False
        self.wait(_CRAWLING)
        return settled

    def datasets(self) -> int:
        """Return how many of the source's datasets are on disk and not withdrawn, by what is written."""
        return int(self._rows(_DATASETS, (self.source,))[0][0])

    def title(self, dataset_id: str) -> str | None:
        """Return a dataset's title, where the index has it."""
        pending = self.batch.title(dataset_id)
        if pending:
            return pending
        rows = self._rows("SELECT title FROM datasets WHERE source = ? AND dataset_id = ?", (self.source, dataset_id))
        return rows[0][0] if rows else None

    def engine_stopped(self) -> None:
        self.settle()
        self.close()

    def close(self) -> None:
        self.flush()
        if self.failed:
            logger.warning("index.sqlite is behind (%s): the next crawl, search or report catches up", self.failed)
        with suppress(sqlite3.DatabaseError):
            self._empty_log()
        self.db.close()

    def _bound_log(self) -> None:
        """Empty index.sqlite-wal when it is large: readers that follow each other closely keep SQLite from doing so."""
        size = log_size(self.output)
        if size > self.log_allowed:
            self._empty_log()
            self.log_allowed = log_size(self.output) + LARGEST_LOG  # a long query is not waited for each time

    def _empty_log(self) -> None:
        """Do so unless a reader still needs it after a moment."""
        patience = self.patience
        self.wait(min(patience, _CRAWLING))
        self.db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
        self.wait(patience)

    def _store(self, manifest_bytes: int, *, described: bool = True) -> None:
        """Writes what is in hand."""
        described = described and self.batch.described
        tail = behind.tail(self.folder, manifest_bytes)
        with transaction(self.db):
            self.batch.write(self.db)
            whole = [report["started"] for report in self.runs if self._remember(report)]
            self.db.execute(_SOURCE, (self.source, manifest_bytes, tail, int(described)))
        self.batch, self.runs = Batch(self.source), []
        if whole and self.forgot:
            self._mark_seen(max(whole))
        self._bound_log()

    def _lines(self, offset: int) -> Iterator[tuple[int, tuple[Key, Known, str] | None]]:
        """What each line says, and where it ends; ``None`` for a damaged one: its document is written again."""
        with inside.opened(self.folder, self.manifest.name) as file:
            file.seek(offset)
            damaged = 0
            for length, line in json_lines.lines(file):
                entry = _entry(json_lines.entry(line))
                if entry is None and damaged < _TOLD:
                    self._tell_damaged(offset)
                damaged += entry is None
                offset += length
                yield offset, entry
        if damaged > _TOLD:
            logger.warning("%s: %d more lines are damaged and left out", self.manifest, damaged - _TOLD)

    def _tell_damaged(self, offset: int) -> None:
        with inside.opened(self.folder, self.manifest.name) as file:
            number = 1 + sum(file.read(min(_BLOCK, offset - at)).count(b"\n") for at in range(0, offset, _BLOCK))
        logger.warning("%s: line %d is damaged and left out; the others are read", self.manifest, number)


def _entry(line: Mapping[str, Any] | None) -> tuple[Key, Known, str] | None:
    """What a line of the manifest says; ``None`` for one that no crawl wrote: others may write into the folder."""
    if line is None or any(not isinstance(line.get(name), kind) for name, kind in _TYPES.items()):
        return None
    try:
        json.dumps([line[name] for name in _TYPES], ensure_ascii=False).encode()
    except UnicodeEncodeError:  # half a surrogate pair, which SQLite does not take
        return None
    if not inside.is_inside(line["metadata_file"]) or not 0 <= line["bytes"] < _LARGEST:
        return None
    key = (line["kind"], line["dataset_id"], line["resource_id"] or "")
    return key, Known(*(line[name] for name in _FIELDS)), line["time"]
