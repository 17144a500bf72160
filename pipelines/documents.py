"""The pipelines that write an item's document, if it is not on disk already, and then its line in manifest.jsonl."""

from __future__ import annotations

import hashlib
import logging
from contextlib import suppress
from dataclasses import fields, is_dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from scrapy.exceptions import DropItem

from crawlers import signals
from crawlers.extensions.error_log import NotWritten, now
from crawlers.items import Dataset, Export, Extension, Flaw, Kind, Profile, Site, Status, Stored
from crawlers.kind import NoReaderError, reader
from crawlers.listing.crawl import RunState
from crawlers.safety import inside, strict_json
from crawlers.safety.redact import without_logins, writable
from crawlers.store.comparison import OPEN_BATCH, OpenBatch
from crawlers.store.index import Known, Outcome, Record
from crawlers.store.index.known import Line, describe
from crawlers.store.lines import JSONLines
from pipelines.batches import Batch, Item, Pipeline, key, reference

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from scrapy.crawler import Crawler

    from crawlers.store.comparison import Mark

logger = logging.getLogger(__name__)


class Documents(Pipeline):
    """Sets ``stored``: new, updated (also if renamed), or unchanged if the bytes are those on disk.

    One that is mapped by other rules than before counts as updated, or it would still be found as they mapped it.
    A torn record never replaces a document on disk; its flaws, which are errors then, say why. A record is only mapped
    if it has changed, or if it has flaws, or had some: they may be gone.
    """

    def open_spider(self) -> None:
        """Compare the documents that a killed crawl was writing with their lines."""
        documents = self.index.documents
        documents.are_hashed = self.crawler.settings.getbool("VERIFY_DOCUMENTS")
        with self.error_log.writing(self.folder / OPEN_BATCH):
            self.open_batch = OpenBatch(self.folder, documents)
        if count := len(documents.differing):
            logger.warning("%d documents differ from the manifest, because a crawl was killed while it wrote", count)

    def close_spider(self) -> None:
        with suppress(OSError):  # the disk is full: more stays marked than must be
            self.open_batch.close()

    def process_batch(self, batch: Batch) -> None:
        """Write the documents of a batch; one that can't be written leaves it, and that is reported."""
        batch.each(lambda item: batch.marks.append((*key(item), self.file(item))))
        batch.known = self.index.documents.some([mark[:3] for mark in batch.marks])
        unmapped = [item.id for item in batch.items if isinstance(item, Dataset) and not item.is_mapped]
        flawless = self.index.documents.flawless(unmapped) if unmapped and batch.known else {}
        marks = iter(batch.marks)  # each item has one
        with self.writer:
            batch.each(lambda item: self._process(item, next(marks), batch, flawless))

    @cached_property
    def writer(self) -> inside.Writer:
        """Keeps the source's folders open while a batch is written."""
        return inside.Writer(self.folder)

    def _process(self, item: Item, mark: Mark, batch: Batch, flawless: dict[str, str]) -> Item:
        key_, file = mark[:3], mark[3]
        given = _serialised(item)
        body = writable(given)
        if body != given:
            item = _without_logins(self.mapped(item))
            item.document = body if isinstance(item.document, bytes) else strict_json.loads(body)
            file = self.file(item)
        batch.bytes += len(body)
        self._check_size(item, len(body))
        sha256, stamp = hashlib.sha256(body).hexdigest(), item.metadata_modified
        record, documents = Record(file, sha256, item.document, stamp, item.metadata_source), self.index.documents
        known, plain = batch.known.get(key_), item
        if known and documents.is_on_disk(known, record, self.writer) and not _is_read_anew(item, known):
            if isinstance(item, Dataset) and flawless.get(item.id) != known.sha256:
                plain = self.mapped(item)
            item.stored = Stored(file=record.file, status="unchanged", sha256=known.sha256, bytes=known.bytes)
            now = known._replace(metadata_modified=stamp, metadata_url=item.metadata_url, seen=self.report.started)
        else:
            plain = self.mapped(item)
            if batch.opened is None:  # before the first of its files is written
                with self.error_log.writing(self.folder / OPEN_BATCH):
                    self.open_batch.begin(batch.marks)
                batch.opened = self.open_batch
            item.stored = self._written(plain, record, body, known)  # one that is lazy hands it on
            now = self._known(plain, item.stored)
        batch.known[key_] = now
        return plain

    def _check_size(self, item: Item, size: int) -> None:
        if not self.largest or size <= self.largest:
            return
        kind, dataset_id, resource_id = reference(item)
        error = f"the document has {size} bytes, more than DOCUMENT_MAXSIZE ({self.largest}): it is not written"
        failed = signals.Failed(
            stage="write",
            kind="too_large",
            error=error,
            url=item.metadata_url,
            dataset_id=dataset_id,
            resource_id=resource_id,
            missing=kind,
        )
        self.error_log.record_failed(failed)
        raise NotWritten(error)

    @cached_property
    def largest(self) -> int:
        """Bytes that a document may have; 0 means any number."""
        return self.crawler.settings.getint("DOCUMENT_MAXSIZE")

    def _written(self, item: Item, record: Record, body: bytes, known: Known | None) -> Stored:
        if known and isinstance(item, Dataset) and item.torn and self.index.documents.is_intact(known):
            self.records.settle(reference(item), "failed")
            self.error_log.flaws.note_item(item)
            raise NotWritten(f"{record.file} is kept: the new record may be incomplete")
        status: Status = "new" if known is None else "restored" if known.status == "withdrawn" else "updated"
        if known:
            self.former.keep(key(item), known, status, item)
        self.open_batch.differing[record.file] = key(item)
        with self.error_log.writing(f"{self.folder}/{record.file}"):
            self.writer.write(record.file, body)
            if known and known.file != record.file:  # before the manifest's line: a run killed here writes both again
                inside.remove(self.folder, known.file)
        return Stored(file=record.file, status=status, sha256=record.sha256, bytes=len(body))

    def _known(self, item: Item, stored: Stored) -> Known:
        stamp, run, seen = item.metadata_modified, self.report.run, self.report.started
        origin = (item.metadata_source, item.metadata_url)
        return Known(stored.file, stored.sha256, stored.bytes, stamp, stored.status, run, seen, *origin)


def _is_read_anew(item: Item, known: Known) -> bool:
    """Return whether another reader than before maps the dataset's document."""
    before, now = known.metadata_source, item.metadata_source
    if before == now or not (before and now and isinstance(item, Dataset)):
        return False
    try:
        return reader(before) is not reader(now)
    except NoReaderError:  # rules that have been renamed
        return True


def _serialised(item: Item) -> bytes:
    if isinstance(item.document, bytes):
        return item.document
    try:
        return strict_json.verbatim(item.document)
    except ValueError as error:
        raise DropItem(f"the record can't be written as JSON: {error}") from None


def _without_logins(part: Any) -> Any:
    """Return an item, or a part of one, without logins in its addresses; its document is left as it is."""
    if isinstance(part, list):
        return [*map(_without_logins, part)]
    if isinstance(part, Flaw):
        return Flaw(without_logins(part), part.field, part.kind, part.resource_id)
    if not is_dataclass(part):
        return without_logins(part)
    for one in fields(part):
        if one.name != "document":
            setattr(part, one.name, _without_logins(getattr(part, one.name)))
    return part


_CHANGED = ("updated", "restored")
_LISTED: dict[Kind, type[Dataset | Profile]] = {one.kind: one for one in (Dataset, Site, Extension)}


class Manifest(Pipeline):
    """Appends a line for each document that was written, updates the index, and counts every item's outcome.

    Attributes:
        time: of the lines of a batch, which are written at once.
    """

    def __init__(self, crawler: Crawler) -> None:
        super().__init__(crawler)
        self.path = self.folder / "manifest.jsonl"
        self.time = now()
        crawler.signals.connect(self.withdraw, signal=signals.dataset_withdrawn)

    def open_spider(self) -> None:
        with self.error_log.writing(self.path):
            self.lines = JSONLines(self.path)

    def process_batch(self, batch: Batch) -> None:
        """Append the lines of a batch in one write, those of exports that went with a dataset before its own.

        A run that is killed before all of them are written does the rest again.
        """
        changed = [item.id for item in batch.items if isinstance(item, Dataset) and self._may_lack_resources(item)]
        exports = self.index.documents.exports(changed) if changed else {}
        entries: list[Outcome] = []
        self.time = now()
        batch.each(lambda item: entries.extend(list(self._entries(item, batch.known[key(item)], exports))))
        try:
            self._keep(entries)
            with self.error_log.writing(self.error_log.flaws.path):
                self.error_log.flaws.keep(batch.items)
            if batch.opened:
                with self.error_log.writing(self.folder / OPEN_BATCH):
                    batch.opened.end(entry.known.file for entry in entries if entry.line)
        except NotWritten as error:
            batch.fail(error)

    def _keep(self, entries: list[Outcome]) -> None:
        """Append the lines, tell the index, and settle the documents: nothing here fails for one of them.

        Raises:
            NotWritten: the manifest or the ledger can't be written; that is reported.
        """
        with self.error_log.writing(self.path):
            self.lines.extend([entry.line.body for entry in entries if entry.line])
            self.index.put_all(entries)
            self.records.settle_all(entries)

    def _entries(self, item: Item, known: Known, exports: dict[str, dict[str, Known]]) -> Iterator[Outcome]:
        """Yield the outcome of a document, and before a dataset's those of exports whose resource it lost."""
        if isinstance(item, Dataset) and item.id in exports:
            yield from self._withdrawn_exports(item, exports.pop(item.id))
        yield self._entry(item, known)

    def _entry(self, item: Item, known: Known) -> Outcome:
        stored = item.stored
        assert stored is not None  # noqa: S101  # Documents comes before
        is_fallback = isinstance(item, Export) and item.fallback
        if is_fallback and item.metadata_modified is None:
            RunState.from_crawler(self.crawler).has_stale_answer = True
        if stored.status == "unchanged":  # what this run wrote before it was killed is new or updated
            is_own = self.report.job.resumed and known.run == self.report.run
            return Outcome(key(item), known, known.status if is_own else "unchanged", is_fallback)
        description = describe(item, known) if isinstance(item, Dataset) else None
        return Outcome(
            key(item), known, stored.status, is_fallback, Line.from_entry(self._line(item, stored)), description
        )

    def _may_lack_resources(self, dataset: Dataset) -> bool:
        has_list = isinstance(dataset.document, dict) and isinstance(dataset.document.get("resources"), list)
        is_changed = dataset.stored is not None and dataset.stored.status in _CHANGED
        return has_list and (is_changed or self.report.job.resumed)

    def withdraw(
        self, kind: Kind, dataset_id: str, url: str, reason: signals.Reason = "not found", renamed_to: str | None = None
    ) -> None:
        """Mark a dataset, or a profile, that the portal no longer has as withdrawn; its document stays."""
        known = self.index.documents.get(kind, dataset_id, None)
        if known is None:
            return
        item = self._last_known(kind, dataset_id, known)
        item.metadata_url = self.address(url)
        self.time = now()
        with suppress(NotWritten):
            self._keep([self._withdrawn(item, known, reason, renamed_to)])

    def _withdrawn_exports(self, dataset: Dataset, exports: dict[str, Known]) -> Iterator[Outcome]:
        """Yield the exports of resources that the dataset no longer has; their documents stay."""
        if not exports:
            return
        there = {resource.id for resource in dataset.resources}
        for resource_id, known in exports.items():
            if resource_id in there or (known.status == "withdrawn" and known.run != self.report.run):
                continue
            export = self._last_export(dataset, resource_id, known)
            yield self._withdrawn(export, known, "deleted")

    def _withdrawn(self, item: Item, known: Known, reason: signals.Reason, renamed_to: str | None = None) -> Outcome:
        """Return the entry of a document that stays on disk; without a line if this run wrote it before a kill."""
        if known.status == "withdrawn":
            return Outcome(key(item), known, "withdrawn")
        self.former.keep(key(item), known, "withdrawn")
        stored = Stored(file=known.file, status="withdrawn", sha256=known.sha256, bytes=known.bytes)
        more = {"reason": reason} | ({"renamed_to": renamed_to} if renamed_to else {})
        line = Line.from_entry(self._line(item, stored) | more)
        return Outcome(key(item), known._replace(status="withdrawn", run=self.report.run), "withdrawn", line=line)

    def _last_export(self, dataset: Dataset, resource_id: str, known: Known) -> Export:
        document = _last_document(self.folder, known)
        return Export(
            kind="resource_metadata",
            source=dataset.source,
            dataset_id=dataset.id,
            dataset_name=dataset.name,
            dataset_title=dataset.title,
            resource_id=resource_id,
            resource_name=_text(document.get("name")),
            resource_format=_text(document.get("format")),
            metadata_modified=known.metadata_modified,
            metadata_url=dataset.metadata_url,
        )

    def _last_known(self, kind: Kind, dataset_id: str, known: Known) -> Item:
        document = _last_document(self.folder, known)
        return _LISTED[kind](
            source=self.index.source,
            id=dataset_id,
            name=_text(document.get("name")),
            title=_text(document.get("title")) or _extracted(document),
            metadata_modified=known.metadata_modified,
        )

    def close_spider(self) -> None:
        self.lines.close()

    def _line(self, item: Item, stored: Stored) -> dict[str, Any]:
        return _subject(item) | {
            "metadata_source": item.metadata_source,
            "metadata_file": stored.file,
            "metadata_url": item.metadata_url,
            "time": self.time,
            "run": self.report.run,
            "status": stored.status,
            "sha256": stored.sha256,
            "bytes": stored.bytes,
            "metadata_modified": item.metadata_modified,
        }


def _last_document(folder: Path, known: Known) -> dict[str, Any]:
    found = strict_json.of_file(folder, known.file)
    return found if isinstance(found, dict) else {}


def _extracted(document: dict[str, Any]) -> str | None:
    """Return the title of an HTML catalogue's document."""
    fields = document.get("fields")
    title = fields.get("title") if isinstance(fields, dict) else None
    return _text(title.get("value")) if isinstance(title, dict) else None


def _text(value: Any) -> str | None:
    """Return a text, also of a JSON-LD value with a language; the first of several."""
    if isinstance(value, list):
        value = value[0] if value else None
    if isinstance(value, dict):
        value = value.get("@value")
    return value if isinstance(value, str) else None


def _subject(item: Item) -> dict[str, Any]:
    kind, dataset_id, resource_id = reference(item)
    export = item if isinstance(item, Export) else None
    return {
        "kind": kind,
        "dataset_id": dataset_id,
        "dataset_name": item.name if isinstance(item, Dataset | Profile) else item.dataset_name,
        "dataset_title": item.title if isinstance(item, Dataset | Profile) else item.dataset_title,
        "resource_id": resource_id,
        "resource_name": export and export.resource_name,
        "resource_format": export and export.resource_format,
    }
