"""index.sqlite kept up to date with what is on disk: by a crawl, for its source, and by those who read it, for all."""

from __future__ import annotations

import hashlib
import logging
import os
import sqlite3
from contextlib import closing, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self
from weakref import WeakKeyDictionary

from scrapy import signals
from scrapy.exceptions import NotConfigured
from scrapy.spidermiddlewares.base import BaseSpiderMiddleware

from crawlers.components.ledger import Job, Records
from crawlers.exceptions import DamagedSourceError, FiguresError, IndexUnreadableError, OutputError
from crawlers.items import Dataset
from crawlers.records import moment
from crawlers.safety import strict_json
from crawlers.safety.locks import is_crawled
from crawlers.safety.names import Names, is_source
from crawlers.safety.sqlite import identity, transaction
from crawlers.store import timeseries
from crawlers.store.index import captures, flaws, manifest, reports
from crawlers.store.index.batch import Batch
from crawlers.store.index.captures import CAPTURES, Captures
from crawlers.store.index.database import NAME, PATIENT, Database, connect, forget, readable, reading, usable
from crawlers.store.index.documents import Documents, without_exports
from crawlers.store.index.flaws import FLAWS, Flaws
from crawlers.store.index.known import Known, Line, Outcome, Record
from crawlers.store.index.known import describe as describe_item
from crawlers.store.index.missing_descriptions import describe, is_described
from crawlers.store.index.reports import CompleteRuns, mark_seen, remember

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping

    from scrapy import Request
    from scrapy.crawler import Crawler
    from scrapy.http import Response


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
        timeseries.catch_up(db, self.folder)
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
                from crawlers.store.columns import update  # noqa: PLC0415 -- takes 0.1 s, and few crawls need it

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


PATIENCE = 10.0  # seconds that a reader waits for another writer
_SOURCES = "SELECT source FROM sources"


def catch_up(
    output: Path, lost: Callable[[str], None] = logger.warning, named: Collection[str] | None = None
) -> list[str]:
    """Bring index.sqlite up to date with every source in OUTPUT_DIR; those that are being crawled do so themselves.

    Nothing is written if every source is up to date. Without a source, no index is made. A source whose files can't be
    read stays as the index has it.

    Args:
        output: OUTPUT_DIR.
        lost: called with a sentence for each document that cannot be read (the others follow), for each source that
            cannot, and for an index that is behind, and can be read but not written.
        named: the sources to bring up to date; all, if there are none or one of them does not exist.

    Returns:
        the sources that can't be read.

    Raises:
        OutputError: there is no index that can be read, and none can be made.
    """
    sources = sources_in(output)
    asked = named if named and set(named) <= set(sources) else sources
    damaged: dict[str, str] = {}
    if not sources and not (output / NAME).exists():
        return []
    try:
        with usable(output):
            before = identity(output / NAME)
            damaged |= _bring_up(output, sources, asked, lost)
            if before and before != identity(output / NAME):  # it was damaged: the new one lacks the other sources
                damaged |= _bring_up(output, sources, sources, lost)
    except OutputError as error:
        try:
            connect(output).close()
        except IndexUnreadableError:
            raise error from None
        lost(f"{error} It is behind: what follows may be old.")
    for sentence in damaged.values():
        lost(sentence)
    return list(damaged)


def rebuild(output: Path, source: str, lost: Callable[[str], None]) -> int:
    """Read all that a source has on disk into the index, also what only its run reports know; return its datasets.

    Args:
        lost: called with a sentence for each document that cannot be read; the others follow.

    Raises:
        OutputError: the index cannot be used.
    """
    index = Index(output, source)
    try:
        with usable(output):
            index.runs.read_reports()
            index.describe(lost)
            return sum(1 for _ in index.documents.held())
    finally:
        index.close()


def drop(output: Path, sources: Collection[str]) -> None:
    """Delete the rows of sources that have no folder any more, and what figures have of them.

    Raises:
        OutputError: the index cannot be used.
    """
    _forget_columns(output, sources)
    if not (output / NAME).exists():
        return
    with usable(output), closing(Database(output, patience=PATIENCE).db) as db:
        for source in sources:
            forget(db, source)


def _forget_columns(output: Path, sources: Collection[str]) -> None:
    from crawlers.store import columns  # noqa: PLC0415 -- sources are seldom removed

    columns.forget(output, sources)


def moved(output: Path, source: str) -> None:
    """Note that lines of a source's manifest are in another file now; the index, if there is one, has read them all.

    Raises:
        OutputError: the index cannot be used.
    """
    if (output / NAME).exists():
        with usable(output), closing(Database(output, patience=PATIENCE).db) as db, transaction(db):
            manifest.moved(db, output / source)
            FLAWS.moved(db, output / source)


def _bring_up(output: Path, sources: list[str], asked: Collection[str], lost: Callable[[str], None]) -> dict[str, str]:
    """Return why sources can't be read, by their names; the others are brought up to date."""
    late, gone = _late(output, [source for source in asked if not is_crawled(output / source)], sources)
    damaged = {}
    for source in late:
        try:
            index = Index(output, source, PATIENCE, tell=lost)
        except DamagedSourceError as error:
            damaged[source] = str(error)
            continue
        try:
            index.describe(lost)
        except DamagedSourceError as error:
            damaged[source] = str(error)
        finally:
            index.close()
    damaged |= _replaced(output, gone)
    gone = [source for source in gone if source not in damaged]
    if gone:
        with closing(Database(output, patience=PATIENCE).db) as db:
            for source in gone:
                forget(db, source)
        _forget_columns(output, gone)
    return damaged


def _late(output: Path, idle: list[str], sources: list[str]) -> tuple[list[str], list[str]]:
    """Return the sources that the index is behind of, and those without a folder."""
    try:
        with readable(output), closing(connect(output)) as db:
            gone = [source for (source,) in db.execute(_SOURCES) if source not in sources]
            late = [source for source in idle if _may_be_behind(db, output / source)]
            return late, gone
    except IndexUnreadableError:
        return idle, []


def _may_be_behind(db: sqlite3.Connection, folder: Path) -> bool:
    try:
        return is_behind(db, folder)
    except OSError:
        return True


def is_behind(db: sqlite3.Connection, folder: Path) -> bool:
    """Return whether the index lacks something of a source, or has a report that is gone; takes no lock."""
    if not is_described(db, folder.name) or manifest.read_to(db, folder) != manifest.size(folder):
        return True
    if any(file.is_behind(db, folder) for file in (CAPTURES, FLAWS)):
        return True
    return timeseries.is_behind(db, folder) or reports.is_behind(db, folder)


def replaced(output: Path) -> dict[str, str]:
    """Return why sources that the index knows can't be read, by their names: something else is where their folder was.

    `sources_in` does not know of them. The index is opened only if there may be such: SQLite makes files for it.
    """
    if not _replaced(output, [path.name for path in output.glob("[!.]*") if is_source(path.name)]):
        return {}
    try:
        with readable(output), closing(connect(output)) as db:
            return _replaced(output, [source for (source,) in db.execute(_SOURCES)])
    except IndexUnreadableError:
        return {}


def _replaced(output: Path, sources: Collection[str]) -> dict[str, str]:
    return {
        source: f"{source}: {output / source} is not a folder: restore it from a backup, or remove it."
        for source in sources
        if os.path.lexists(output / source) and not (output / source).is_dir()
    }


def sources_in(output: Path) -> list[str]:
    """Return the sources that have a folder in OUTPUT_DIR, by name; one that never started has run reports only."""
    written = {path.parent.name for name in (manifest.FILE, CAPTURES.file) for path in output.glob(f"[!.]*/{name}")}
    rest = (path for path in output.glob("[!.]*/runs") if path.parent.name not in written)
    return sorted(written.union(path.parent.name for path in rest if reports.names(path.parent)))


class SkipUnchanged(BaseSpiderMiddleware):
    """Drops requests for exports whose dataset has not changed since they were written.

    A dataset has not changed if its stamp is the same and its record is the one on disk: portals change records and
    keep the stamp. The request's ``export`` keyword has the fields of the `crawlers.items.Export` to come; its dataset
    precedes it in the output of the same response.
    """

    def __init__(self, crawler: Crawler) -> None:
        super().__init__(crawler)
        self.names = Names.from_settings(crawler.settings)
        index = crawler.get_extension(Index)
        if index is None:
            raise NotConfigured("the spider crawls no catalogue, or EXTENSIONS lacks Index")
        if getattr(crawler.spider, "crosses_hosts", False):  # it has no exports, and each middleware costs every answer
            raise NotConfigured
        self.documents = index.documents
        self.job = Job.from_crawler(crawler)
        self.records = Records(crawler)
        self._last: WeakKeyDictionary[Response, Dataset | bool] = WeakKeyDictionary()

    def get_processed_item(self, item: Any, response: Response | None) -> Any:
        """Remember the dataset that precedes the exports of a response."""
        if response is not None and isinstance(item, Dataset):
            self._last[response] = item
        return item

    def get_processed_request(self, request: Request, response: Response | None) -> Request | None:
        """Return ``None`` for the request of an export that is on disk."""
        export = request.cb_kwargs.get("export")
        return None if export and self._is_current(export, response) else request

    def _is_current(self, export: dict[str, Any], response: Response | None) -> bool:
        file = self.names.file(*_reference(export), export["resource_name"] or export["dataset_name"])
        known = self.documents.current(*_reference(export), export["metadata_modified"], file)
        if known is None or self._is_outdated(known, export["dataset_id"]) or self._has_changed(response):
            return False
        run = self.job.state.get("run")  # what this run wrote before it was killed is still new
        self.records.settle(_reference(export), known.status if known.run == run else "unchanged")
        return True

    def _is_outdated(self, known: Known, dataset_id: str) -> bool:
        """Return whether a run wrote the dataset's record and ended before it requested the export."""
        dataset, seen = self.documents.get("dataset", dataset_id, None), moment.moment(known.seen)
        return dataset is not None and (seen is None or moment.name(seen) < dataset.run[: len(moment.name(seen))])

    def _has_changed(self, response: Response | None) -> bool:
        """Return whether the last dataset of the response differs from the one on disk."""
        if response is None:
            return False
        last = self._last.get(response, False)
        if isinstance(last, Dataset):
            last = self._last[response] = self._differs(last)
        return last

    def _differs(self, dataset: Dataset) -> bool:
        known = self.documents.get("dataset", dataset.id, None)
        try:
            sha256 = hashlib.sha256(strict_json.dumps(dataset.document)).hexdigest()
        except ValueError:  # the dataset is dropped, and the document on disk stays
            return False
        file = self.names.file("dataset", dataset.id, None, dataset.name)
        record = Record(file, sha256, dataset.document, dataset.metadata_modified, dataset.metadata_source)
        return known is None or not self.documents.is_on_disk(known, record)


def _reference(export: dict[str, Any]) -> tuple[str, str, str | None]:
    return export["kind"], export["dataset_id"], export["resource_id"]
