"""The extension that keeps index.sqlite up to date with one source while it is crawled."""

from __future__ import annotations

import logging
import sqlite3
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from scrapy import signals
from scrapy.exceptions import NotConfigured

from crawlers.components.ledger import Job
from crawlers.exceptions import DamagedSourceError, FiguresError
from crawlers.store.index import captures, flaws, manifest, observations, reports
from crawlers.store.index.batch import Batch
from crawlers.store.index.captures import Captures
from crawlers.store.index.complete_runs import CompleteRuns, mark_seen, remember
from crawlers.store.index.database import PATIENT, Database, reading, transaction, usable
from crawlers.store.index.description import describe as describe_item
from crawlers.store.index.documents import Documents, Known, Line, Outcome, without_exports
from crawlers.store.index.flaws import Flaws
from crawlers.store.index.missing_descriptions import describe
from crawlers.store.index.removal import forget

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping

    from scrapy.crawler import Crawler

    from crawlers.items import Dataset

logger = logging.getLogger(__name__)

_CRAWLING = 0.2  # seconds that a crawl waits for another writer: the crawl stands still meanwhile
_AT_THE_END = 2.0
LARGE = 25_000
"""Datasets of a source whose crawl writes what figures need of them."""
_MANY = "SELECT count(*) FROM (SELECT 1 FROM datasets WHERE source = ? AND withdrawn = 0 LIMIT ?)"


class Index:
    """Reads what is known of a source, and writes what is new in batches.

    What cannot be written now is written later: at the end of the crawl, or from the manifest by the next reader.

    Args:
        output: OUTPUT_DIR, where index.sqlite is.
        source: the name of the source's folder in it.
        patience: seconds to wait for another writer.
        for_crawl: also replace an index that cannot be opened or written, rather than raise.
        tell: called with a sentence when a damaged index was replaced.

    Attributes:
        documents: what is known of the source's documents.
        captures: what its looks at linked files found, if it is an archive.
        flaws: what of its documents could not be read.
        runs: the last complete runs of the source.
        failed: why the last write failed; ``None`` if it did not.
        forgot: whether the index was rebuilt since this run began, so that it lacks which datasets the run has seen.

    Raises:
        OutputError: index.sqlite cannot be used or not be brought up to date.
        DamagedSourceError: the source can't be read.
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
        self.source = source
        self.folder = output / source
        self.batch = Batch(source)
        self.reports: list[Mapping[str, Any]] = []
        self.failed: sqlite3.DatabaseError | None = None
        self.forgot = False
        with usable(output):
            self.database = Database(output, self._catch_up, patience, for_crawl=for_crawl, tell=tell)
            try:
                self.database.healing(self._catch_up)
            except DamagedSourceError:
                self.database.db.close()
                raise
        self.documents = Documents(self.database, self.batch, self.folder)
        self.captures = Captures(self.database, source)
        self.flaws = Flaws(self.database, source)
        self.runs = CompleteRuns(self.database, self.batch, self.folder)

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        """Open the index of the spider's source.

        Raises:
            NotConfigured: the spider crawls no catalogue.
        """
        source = getattr(crawler.spider, "source", None)
        if source is None:
            raise NotConfigured("the spider crawls no catalogue")
        index = cls(Path(crawler.settings["OUTPUT_DIR"]), source, for_crawl=True)
        index.forgot = index.forgot and Job.from_crawler(crawler).resumed
        index.documents.keeps_counters = crawler.settings.getbool("KEEP_COUNTERS")
        index.database.wait(_CRAWLING)
        crawler.signals.connect(index.engine_stopped, signal=signals.engine_stopped)
        return index

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
        """Remember a document, after its line is in the manifest.

        Args:
            kind: the document's, as in the manifest.
            dataset_id: of the dataset that it describes.
            resource_id: of the resource that it describes.
            known: the document.
            item: the dataset that it describes, if the description is new.
            time: the time of its line, if the line is new.
        """
        line = Line(time) if time else None
        description = describe_item(item, known) if item else None
        key = (kind, dataset_id, resource_id or "")
        self.put_all([Outcome(key, known, known.status, line=line, description=description)])

    def put_all(self, entries: Iterable[Outcome]) -> None:
        """Remember documents, after their lines are in the manifest: what is written is taken to be all of it."""
        for entry in entries:
            self.batch.add(entry.key, entry.known, entry.line.time if entry.line else None)
            if entry.description is not None:
                self.batch.describe(entry.description)
        if self.batch.full and not self.flush():
            self.batch.wait()

    def without_exports(self, ids: list[str], kinds: Collection[str]) -> set[str]:
        """Return the datasets among these that lack an export of these kinds: ``dataset``, ``resource``.

        The description of a dataset says which resources it has; a run that was killed may not have written it.
        """
        if not kinds:
            return set()
        self.settle()
        return self.database.healing(lambda db: without_exports(db, self.source, ids, kinds))

    def read_report(self, report: Mapping[str, Any]) -> None:
        """Remember a run, and what later runs may build on.

        Raises:
            ValueError: it is no run report.
        """
        reports.rows(self.source, report)
        self.reports.append(report)
        self.flush()

    def flush(self) -> bool:
        """Write the batch; return ``False`` if that fails now: the batch is kept, and ``failed`` says why."""
        if not (self.batch.documents or self.reports or self.captures.waiting or self.flaws.waiting):
            return True
        try:
            self.database.reopen()
            self.database.healing(self._write)
        except sqlite3.DatabaseError as error:
            self.failed = error
            return False
        self.failed = None
        return True

    def _write(self, db: sqlite3.Connection) -> None:
        for report in self.reports:
            reports.prepare(db, reports.rows(self.source, report))
        with transaction(db):
            manifest.store(db, self.folder, self.batch, manifest.size(self.folder))
            self.captures.write(db, self.folder)
            self.flaws.write(db, self.folder)
            whole = [report for report in self.reports if remember(db, self.source, report)]
        self.batch.clear()
        self.captures.clear()
        self.flaws.clear()
        self.reports = []
        if whole and self.forgot:
            mark_seen(db, self.source, [(each["started"], each["spider"], each["arguments"]) for each in whole])

    def _catch_up(self, db: sqlite3.Connection) -> None:
        """Read what the manifest has and the index lacks; all of it if the manifest is another one.

        Raises:
            DamagedSourceError: a file can't be read.
        """
        with reading(self.folder):
            self._read(db)

    def _read(self, db: sqlite3.Connection) -> None:
        begin = manifest.read_to(db, self.folder)
        if begin is None:
            forget(db, self.source)
            with transaction(db):
                manifest.store(db, self.folder, Batch(self.source), 0)
            begin, self.forgot = 0, manifest.size(self.folder) > 0
        if begin < manifest.size(self.folder):
            manifest.read(db, self.folder, begin)
        captures.catch_up(db, self.folder)
        flaws.catch_up(db, self.folder)
        observations.catch_up(db, self.folder)
        reports.update(db, self.folder)

    def describe(self, lost: Callable[[str], None]) -> None:
        """Describe, from the documents on disk, the datasets that are known from the manifest alone.

        Args:
            lost: called with a sentence for each document that cannot be read; the others follow.

        Raises:
            DamagedSourceError: the manifest can't be read.
        """
        with reading(self.folder):
            self.database.healing(lambda db: describe(db, self.folder, lost))

    def settle(self) -> bool:
        """Write and describe all that is known by now; return whether that succeeded."""
        self.database.wait(_AT_THE_END)
        try:
            is_settled = self.flush()
            if is_settled:
                self.describe(logger.warning)
        except sqlite3.DatabaseError as error:
            self.failed, is_settled = error, False
        self.database.wait(_CRAWLING)
        return is_settled

    def engine_stopped(self) -> None:
        """Write and describe what is left, then what figures need of it, and close the index."""
        if self.settle():
            self._store_columns()
        self.close()

    def _store_columns(self) -> None:
        """Write the files of figures, unless the first reader makes them as fast as DuckDB is imported here."""
        try:
            (count,) = self.database.rows(_MANY, (self.source, LARGE))[0]
            if count == LARGE:
                from crawlers.store.columns.cache import update  # noqa: PLC0415 -- takes 0.1 s, and few crawls need it

                update(self.database.db, self.folder.parent, [self.source])
        except (FiguresError, OSError, sqlite3.Error) as error:
            logger.warning("The files of figures are not written (%s): the first reader writes them", error)

    def close(self) -> None:
        """Write what is left, and close the index."""
        self.flush()
        if self.failed:
            logger.warning("index.sqlite is behind (%s): the next crawl, search or report catches up", self.failed)
        with suppress(sqlite3.DatabaseError):
            self.database.empty_log()
        self.database.db.close()
