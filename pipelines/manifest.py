"""manifest.jsonl: a line for each document written, in the order of writing. The index is rebuilt from it."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from crawlers import signals
from crawlers.extensions.error_log import NotWritten, now
from crawlers.items import Dataset, Export, Extension, Kind, Profile, Site, Stored
from crawlers.listing.state import RunState
from crawlers.safety import strict_json
from crawlers.store.folder import JSONLines
from crawlers.store.index import Known, Outcome
from crawlers.store.index.description import describe
from crawlers.store.index.documents import Line
from crawlers.store.open_batch import FILE as MARK
from pipelines.base import Batch, Item, Pipeline, key, reference

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from scrapy.crawler import Crawler


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
        """Open the manifest."""
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
                with self.error_log.writing(self.folder / MARK):
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
        stored = Stored(file=known.file, status="withdrawn", sha256=known.sha256, bytes=known.bytes)
        more = {"reason": reason} | ({"renamed_to": renamed_to} if renamed_to else {})
        line = Line.from_entry(self._line(item, stored) | more)
        return Outcome(key(item), replace(known, status="withdrawn", run=self.report.run), "withdrawn", line=line)

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
        """Close the manifest."""
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
