"""Writes an item's document, when it is not what is on disk already."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from typing import TYPE_CHECKING

from scrapy.exceptions import DropItem

from crawlers import signals
from crawlers.index import Record, is_on_disk
from crawlers.items import Dataset, Status, Stored
from crawlers.safety import inside, strict_json
from pipelines.base import Item, Pipeline, reference
from pipelines.report import NotWritten

if TYPE_CHECKING:
    from crawlers.index import Known


class Documents(Pipeline):
    """Sets ``stored``: new, updated (also when renamed), or unchanged when the bytes are those on disk.

    A torn record never replaces a document on disk; its flaws, which `Validate` has reported, say why.
    """

    def process_item(self, item: Item) -> Item:
        if item.stored is None:
            body = _serialised(item)
            self._check_size(item, len(body))
            item.stored = self._stored(item, body)
        return item

    def _check_size(self, item: Item, size: int) -> None:
        most = self.crawler.settings.getint("DOCUMENT_MAXSIZE")
        if not most or size <= most:
            return
        kind, dataset_id, resource_id = reference(item)
        error = f"the document has {size} bytes, more than DOCUMENT_MAXSIZE ({most}): it is not written"
        failed = signals.Failed(
            stage="write",
            kind="too_large",
            error=error,
            url=item.metadata_url,
            dataset_id=dataset_id,
            resource_id=resource_id,
            missing=kind,
        )
        self.report.record_failed(failed)
        raise NotWritten(error)

    def _stored(self, item: Item, body: bytes) -> Stored:
        file, sha256 = self.file(item), hashlib.sha256(body).hexdigest()
        known = self.index.get(*reference(item))
        record = Record(file, sha256, item.document, item.metadata_modified)
        if known and is_on_disk(self.index, known, record):
            stamp, url = item.metadata_modified, item.metadata_url
            still = replace(known, metadata_modified=stamp, metadata_url=url, seen=self.report.started)
            self.index.put(*reference(item), still)
            return Stored(file=file, status="unchanged", sha256=known.sha256, bytes=known.bytes)
        if known and isinstance(item, Dataset) and item.torn and self.index.whole(known):
            self.records.end(reference(item), "failed")
            raise NotWritten(f"{file} is kept: what came may have lost something")
        with self.report.writing(f"{self.folder}/{file}"):
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
