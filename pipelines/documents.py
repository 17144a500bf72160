"""The pipeline that writes an item's document, if it is not the one on disk already."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from typing import TYPE_CHECKING

from scrapy.exceptions import DropItem

from crawlers import signals
from crawlers.extensions.error_log import NotWritten
from crawlers.items import Dataset, Status, Stored
from crawlers.safety import inside, strict_json
from crawlers.store.index import Record
from pipelines.base import Item, Pipeline, reference

if TYPE_CHECKING:
    from crawlers.store.index import Known


class Documents(Pipeline):
    """Sets ``stored``: new, updated (also if renamed), or unchanged if the bytes are those on disk.

    A torn record never replaces a document on disk; its flaws, which `Validate` has reported, say why.
    """

    def process_item(self, item: Item) -> Item:
        """Write the item's document.

        Raises:
            NotWritten: it is too large, torn, or the disk refuses it; that is reported.
            DropItem: the record cannot be written as JSON.
        """
        if item.stored is None:
            body = _serialised(item)
            self._check_size(item, len(body))
            item.stored = self._stored(item, body)
        return item

    def _check_size(self, item: Item, size: int) -> None:
        limit = self.crawler.settings.getint("DOCUMENT_MAXSIZE")
        if not limit or size <= limit:
            return
        kind, dataset_id, resource_id = reference(item)
        error = f"the document has {size} bytes, more than DOCUMENT_MAXSIZE ({limit}): it is not written"
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

    def _stored(self, item: Item, body: bytes) -> Stored:
        file, sha256 = self.file(item), hashlib.sha256(body).hexdigest()
        known = self.index.documents.get(*reference(item))
        record = Record(file, sha256, item.document, item.metadata_modified)
        if known and self.index.documents.is_on_disk(known, record):
            stamp, url = item.metadata_modified, item.metadata_url
            still = replace(known, metadata_modified=stamp, metadata_url=url, seen=self.report.started)
            self.index.put(*reference(item), still)
            return Stored(file=file, status="unchanged", sha256=known.sha256, bytes=known.bytes)
        if known and isinstance(item, Dataset) and item.torn and self.index.documents.is_intact(known):
            self.records.settle(reference(item), "failed")
            raise NotWritten(f"{file} is kept: the new record may be incomplete")
        with self.error_log.writing(f"{self.folder}/{file}"):
            inside.write(self.folder, file, body)
            if known and known.file != file:  # before the manifest's line: a run killed here writes both again
                inside.remove(self.folder, known.file)
        return Stored(file=file, status=_status(known), sha256=sha256, bytes=len(body))


def _status(known: Known | None) -> Status:
    if known is None:
        return "new"
    return "restored" if known.status == "withdrawn" else "updated"


def _serialised(item: Item) -> bytes:
    try:
        return strict_json.dumps(item.document)
    except ValueError as error:
        raise DropItem(f"the record can't be written as JSON: {error}") from None
