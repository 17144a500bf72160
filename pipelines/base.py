"""What every pipeline of this project shares: it takes the items of an answer as one batch."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any, Self

from scrapy.exceptions import NotConfigured

from crawlers import signals
from crawlers.extensions.error_log import NotWritten
from crawlers.extensions.report import Report
from crawlers.items import Dataset, Export, Profile
from crawlers.records.lazy_dataset import LazyDataset
from crawlers.safety.names import Names
from crawlers.safety.redact import redact
from crawlers.store.folder import folder
from crawlers.store.index import Index

if TYPE_CHECKING:
    from collections.abc import Callable

    from scrapy.crawler import Crawler

    from crawlers.store.index import Known
    from crawlers.store.index.documents import Key
    from crawlers.store.open_batch import Mark, OpenBatch

logger = logging.getLogger(__name__)

Item = Dataset | Export | Profile
Reference = tuple[str, str, str | None]
"""Kind, dataset id, resource id: the identity of a document within its source."""


class Batch:
    """Items of one answer on their way through the pipelines; one that is dropped or breaks a pipeline leaves it.

    Attributes:
        items: those that are still on their way.
        failed: those that are not, each with the reason: a `DropItem`, or a bug.
        bytes: of the documents, as far as they are known.
        known: what is known of each item's document by now, by key; of those that never were on disk, nothing.
        marks: the documents of all that came, also of those that have left.
        opened: where the batch is marked on disk, once a file of it may be written.
    """

    def __init__(self, items: list[Any]) -> None:
        self.items = items
        self.bytes = 0
        self.failed: list[tuple[Any, Exception]] = []
        self.known: dict[Key, Known] = {}
        self.marks: list[Mark] = []
        self.opened: OpenBatch | None = None

    def each(self, work: Callable[[Any], Any]) -> None:
        """Do some work with each item; one for which it raises leaves, and the others go on.

        Args:
            work: may return what goes on in the item's place.
        """
        there, self.items = self.items, []
        for item in there:
            try:
                found = work(item)
            except Exception as error:  # noqa: BLE001 -- Batches reports it as Scrapy would
                self.failed.append((item, error))
            else:
                self.items.append(item if found is None else found)

    def fail(self, error: Exception) -> None:
        """Let all items leave for the same reason."""
        self.failed += [(item, error) for item in self.items]
        self.items = []


class Pipeline:
    """Has the crawler, its source's folder, the index, the report and the error log."""

    def __init__(self, crawler: Crawler) -> None:
        index, report = crawler.get_extension(Index), crawler.get_extension(Report)
        if index is None or report is None:
            raise NotConfigured("the spider crawls no catalogue, or EXTENSIONS lacks Index or Report")
        self.crawler = crawler
        self.index, self.report = index, report
        self.error_log = report.error_log
        self.folder = folder(crawler)
        self.names = Names.from_settings(crawler.settings)
        self.records = report.error_log.records

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        """Make the pipeline."""
        return cls(crawler)

    def process_batch(self, batch: Batch) -> None:
        """Process the items of a batch."""
        raise NotImplementedError

    def address(self, url: str | None) -> str | None:
        """Return an address without credentials, unless the spider requests it again later."""
        asks_again = getattr(self.crawler.spider, "asks_again_by_address", False)
        return url if url is None or asks_again else redact(url)

    def file(self, item: Item) -> str:
        """Return the name of the item's document, relative to the source's folder."""
        if isinstance(item, Profile):
            return self.names.profile(item.kind, item.id)
        name = item.name if isinstance(item, Dataset) else item.resource_name or item.dataset_name
        suffix = "xml" if isinstance(item.document, bytes) else "json"
        return self.names.file(*reference(item), name, suffix)

    def mapped(self, item: Item) -> Item:
        """Return a dataset as a plain one, mapped.

        Raises:
            NotWritten: the mapping has a bug; that is reported, and costs this record.
        """
        if not isinstance(item, LazyDataset):
            return item
        try:
            return item.mapped()
        except Exception as error:
            logger.exception("The record of %s could not be handled", item.id)
            sentence = f"the record could not be handled: {type(error).__name__}: {error}"
            failed = signals.Failed(
                stage="parse",
                kind="bug",
                error=sentence,
                url=item.metadata_url,
                dataset_id=item.id,
                missing=item.kind,
            )
            self.error_log.record_failed(failed)
            raise NotWritten(f"the record of {item.id} could not be handled") from error


def reference(item: Item) -> Reference:
    """Return the identity of the item's document."""
    if isinstance(item, Export):
        return item.kind, item.dataset_id, item.resource_id
    return item.kind, item.id, None


def key(item: Item) -> Key:
    """Return the identity as the index has it."""
    kind, dataset_id, resource_id = reference(item)
    return kind, dataset_id, resource_id or ""
