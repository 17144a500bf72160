"""The pipeline that writes an item's document, if it is not the one on disk already."""

from __future__ import annotations

import hashlib
import logging
from contextlib import suppress
from dataclasses import fields, is_dataclass, replace
from functools import cached_property
from typing import Any

from scrapy.exceptions import DropItem

from crawlers import signals
from crawlers.extensions.error_log import NotWritten
from crawlers.items import Dataset, Flaw, Status, Stored
from crawlers.kind import NoReaderError, reader
from crawlers.safety import inside, strict_json
from crawlers.safety.redact import without_logins, writable
from crawlers.store.index import Known, Record
from crawlers.store.open_batch import FILE, OpenBatch
from pipelines.base import Batch, Item, Pipeline, key, reference

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
        with self.error_log.writing(self.folder / FILE):
            self.open_batch = OpenBatch(self.folder, documents)
        if count := len(documents.differing):
            logger.warning("%d documents differ from the manifest, because a crawl was killed while it wrote", count)

    def close_spider(self) -> None:
        """Close the mark of open batches."""
        with suppress(OSError):  # the disk is full: more stays marked than must be
            self.open_batch.close()

    def process_batch(self, batch: Batch) -> None:
        """Write the documents of a batch; one that can't be written leaves it, and that is reported."""
        batch.each(lambda item: batch.marks.append((*key(item), self.file(item))))
        batch.known = self.index.documents.some([mark[:3] for mark in batch.marks])
        unmapped = [item.id for item in batch.items if isinstance(item, Dataset) and not item.is_mapped]
        flawless = self.index.documents.flawless(unmapped) if unmapped and batch.known else {}
        with self.writer:
            batch.each(lambda item: self._process(item, batch, flawless))

    @cached_property
    def writer(self) -> inside.Writer:
        """Keeps the source's folders open while a batch is written."""
        return inside.Writer(self.folder)

    def _process(self, item: Item, batch: Batch, flawless: dict[str, str]) -> Item:
        given = _serialised(item)
        body = writable(given)
        if body != given:
            item = _without_logins(self.mapped(item))
            item.document = body if isinstance(item.document, bytes) else strict_json.loads(body)
        batch.bytes += len(body)
        self._check_size(item, len(body))
        sha256, origin = hashlib.sha256(body).hexdigest(), (item.metadata_modified, item.metadata_source)
        record = Record(self.file(item), sha256, item.document, *origin)
        known, plain = batch.known.get(key(item)), item
        if known and self.index.documents.is_on_disk(known, record) and not _is_read_anew(item, known):
            if isinstance(item, Dataset) and flawless.get(item.id) != known.sha256:
                plain = self.mapped(item)
            item.stored = Stored(file=record.file, status="unchanged", sha256=known.sha256, bytes=known.bytes)
            stamp, url = item.metadata_modified, item.metadata_url
            now = replace(known, metadata_modified=stamp, metadata_url=url, seen=self.report.started)
        else:
            plain = self.mapped(item)
            self._mark(batch)
            item.stored = self._written(plain, record, body, known)  # one that is lazy hands it on
            now = self._known(plain, item.stored)
        batch.known[key(item)] = now
        return plain

    def _mark(self, batch: Batch) -> None:
        """Mark a batch on disk before the first of its files is written."""
        if batch.opened is None:
            with self.error_log.writing(self.folder / FILE):
                self.open_batch.begin(batch.marks)
            batch.opened = self.open_batch

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
        self.open_batch.differing[record.file] = key(item)
        with self.error_log.writing(f"{self.folder}/{record.file}"):
            self.writer.write(record.file, body)
            if known and known.file != record.file:  # before the manifest's line: a run killed here writes both again
                inside.remove(self.folder, known.file)
        return Stored(file=record.file, status=_status(known), sha256=record.sha256, bytes=len(body))

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


def _status(known: Known | None) -> Status:
    if known is None:
        return "new"
    return "restored" if known.status == "withdrawn" else "updated"


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
