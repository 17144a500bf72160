"""manifest.jsonl: a line for each document written, in the order of writing. The index is rebuilt from it."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from crawlers import signals
from crawlers.extensions.error_log import NotWritten, now
from crawlers.items import Dataset, Export, Status, Stored
from crawlers.listing.state import RunState
from crawlers.safety import inside, strict_json
from crawlers.store.folder import JSONLines
from crawlers.store.index import Known
from pipelines.base import Item, Pipeline, reference

if TYPE_CHECKING:
    from scrapy.crawler import Crawler


_CHANGED = ("updated", "restored")


class Manifest(Pipeline):
    """Appends a line for each document that was written, updates the index, and counts every item's outcome."""

    def __init__(self, crawler: Crawler) -> None:
        super().__init__(crawler)
        self.path = self.folder / "manifest.jsonl"
        crawler.signals.connect(self.withdraw, signal=signals.dataset_withdrawn)

    def open_spider(self) -> None:
        """Open the manifest."""
        with self.error_log.writing(self.path):
            self.lines = JSONLines(self.path)

    def process_item(self, item: Item) -> Item:
        """Append the line of the item's document, unless it is unchanged."""
        stored = item.stored
        assert stored is not None  # noqa: S101  # Documents comes before
        fallback = isinstance(item, Export) and item.fallback
        if fallback and item.metadata_modified is None:
            RunState.from_crawler(self.crawler).has_stale_answer = True
        with self.error_log.writing(self.path):
            if isinstance(item, Dataset) and (stored.status in _CHANGED or self.report.job.resumed):
                self._withdraw_exports(item)  # before the dataset's line: a run killed here does both again
            if stored.status != "unchanged":
                line = self._line(item, stored)
                self.lines.append(line)
                described = item if isinstance(item, Dataset) else None
                self.index.put(*reference(item), self._known(item, stored), item=described, time=line["time"])
            self.records.settle(reference(item), self._outcome(item, stored), fallback=fallback)
        return item

    def withdraw(self, dataset_id: str, url: str, reason: signals.Reason = "not found") -> None:
        """Mark a dataset that the portal no longer has as withdrawn; its document stays."""
        known = self.index.documents.get("dataset", dataset_id, None)
        if known is None:
            return
        if known.status == "withdrawn":  # by this run, before it was killed: its line is there
            self.records.settle(("dataset", dataset_id, None), "withdrawn")
            return
        item = self._last_known(dataset_id, known)
        item.metadata_url = self.address(url)
        with suppress(NotWritten), self.error_log.writing(self.path):
            self._append_withdrawn(item, known, reason)
            self.records.settle(("dataset", dataset_id, None), "withdrawn")

    def _withdraw_exports(self, dataset: Dataset) -> None:
        """Mark the exports of resources that the dataset no longer has as withdrawn; their documents stay."""
        if dataset.document is None or not isinstance(dataset.document.get("resources"), list):
            return
        there = {resource.id for resource in dataset.resources}
        for resource_id, known in self.index.documents.exports(dataset.id).items():
            if resource_id not in there and (known.status != "withdrawn" or known.run == self.report.run):
                self._withdraw_export(dataset, resource_id, known)

    def _withdraw_export(self, dataset: Dataset, resource_id: str, known: Known) -> None:
        export = self._last_export(dataset, resource_id, known)
        if known.status != "withdrawn":
            self._append_withdrawn(export, known, "deleted")
        self.records.settle(reference(export), "withdrawn")

    def _append_withdrawn(self, item: Item, known: Known, reason: signals.Reason) -> None:
        """Append the line of a document that stays on disk, and update the index."""
        stored = Stored(file=known.file, status="withdrawn", sha256=known.sha256, bytes=known.bytes)
        line = self._line(item, stored) | {"reason": reason}
        self.lines.append(line)
        self.index.put(*reference(item), replace(known, status="withdrawn", run=self.report.run), time=line["time"])

    def _last_export(self, dataset: Dataset, resource_id: str, known: Known) -> Export:
        document = self._last_document(known)
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

    def _last_document(self, known: Known) -> dict[str, Any]:
        try:
            return dict(strict_json.loads(inside.read(self.folder, known.file)))
        except (OSError, ValueError, TypeError):
            return {}

    def _last_known(self, dataset_id: str, known: Known) -> Dataset:
        document = self._last_document(known)
        return Dataset(
            source=self.index.source,
            id=dataset_id,
            name=_text(document.get("name")),
            title=_text(document.get("title")) or _extracted(document),
            metadata_modified=known.metadata_modified,
        )

    def close_spider(self) -> None:
        """Close the manifest."""
        self.lines.close()

    def _line(self, item: Item, stored: Stored) -> dict[str, Any]:
        return _subject(item) | {
            "metadata_source": item.metadata_source,
            "metadata_file": stored.file,
            "metadata_url": item.metadata_url,
            "time": now(),
            "run": self.report.run,
            "status": stored.status,
            "sha256": stored.sha256,
            "bytes": stored.bytes,
            "metadata_modified": item.metadata_modified,
        }

    def _known(self, item: Item, stored: Stored) -> Known:
        stamp, run, seen = item.metadata_modified, self.report.run, self.report.started
        origin = (item.metadata_source, item.metadata_url)
        return Known(stored.file, stored.sha256, stored.bytes, stamp, stored.status, run, seen, *origin)

    def _outcome(self, item: Item, stored: Stored) -> Status:
        """Return the status; what this run wrote before it was killed is still new or updated, not unchanged."""
        if stored.status == "unchanged" and self.report.job.resumed:
            known = self.index.documents.get(*reference(item))
            if known and known.run == self.report.run:
                return known.status
        return stored.status


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
        "dataset_name": item.name if isinstance(item, Dataset) else item.dataset_name,
        "dataset_title": item.title if isinstance(item, Dataset) else item.dataset_title,
        "resource_id": resource_id,
        "resource_name": export and export.resource_name,
        "resource_format": export and export.resource_format,
    }
