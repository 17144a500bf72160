"""What every pipeline shares, and how the items of an answer pass them as one batch: one query, one write for many."""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING, Any, Self

from pydispatch.dispatcher import getAllReceivers, liveReceivers
from scrapy import Request
from scrapy import signals as scrapy_signals
from scrapy.exceptions import DropItem, NotConfigured
from scrapy.pipelines import ItemPipelineManager
from scrapy.spidermiddlewares.base import BaseSpiderMiddleware
from scrapy.utils.defer import ensure_awaitable
from scrapy.utils.log import logformatter_adapter
from twisted.python.failure import Failure

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
    from collections.abc import AsyncIterator, Callable

    from scrapy import Spider
    from scrapy.crawler import Crawler
    from scrapy.http import Response
    from scrapy.logformatter import LogFormatterResult

    from crawlers.components.ledger import Reference
    from crawlers.store.comparison import Mark, OpenBatch
    from crawlers.store.index import Known
    from crawlers.store.index.known import Key


Item = Dataset | Export | Profile


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
        self.former = report.former

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        return cls(crawler)

    def process_batch(self, batch: Batch) -> None:
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


logger = logging.getLogger(__name__)

FIRST, MOST = 10, 250
"""Items in the first batch, and in any: after each, other work goes on, and the progress moves."""
BYTES = 8 * 1024 * 1024
"""Of a batch's documents, by the size of those before it: their items are in memory at the same time."""


class Pipelines(ItemPipelineManager):
    """Scrapy's ITEM_PIPELINES in their order; the project's own take a batch, others each of its items."""

    async def process_item_async(self, item: Any) -> Any:
        """Process an item by itself: one that an errback or the spider's start yields."""
        batch = Batch([item])
        await self.process_batch(batch)
        for _, error in batch.failed:
            raise error
        self.crawler.signals.send_catch_log(signals.items_kept, items=batch.items)  # type: ignore[union-attr]
        return batch.items[0]

    async def process_batch(self, batch: Batch) -> None:
        """Take a batch through all pipelines; items that are dropped, or that break one, leave it."""
        for stage in self.middlewares:
            if isinstance(stage, Pipeline):
                try:
                    stage.process_batch(batch)
                except Exception as error:  # noqa: BLE001 -- a bug of ours: each item is reported
                    batch.fail(error)
            elif hasattr(stage, "process_item"):
                await self._each(batch, stage.process_item)

    async def _each(self, batch: Batch, process: Callable[..., Any]) -> None:
        there, batch.items = batch.items, []
        at_once = max(1, self.crawler.settings.getint("CONCURRENT_ITEMS"))  # type: ignore[union-attr]
        for first in range(0, len(there), at_once):
            items = there[first : first + at_once]
            found = await asyncio.gather(*(self._processed(process, item) for item in items), return_exceptions=True)
            for item, result in zip(items, found, strict=True):
                if isinstance(result, Exception):
                    batch.failed.append((item, result))
                elif isinstance(result, BaseException):
                    raise result
                else:
                    batch.items.append(result)

    async def _processed(self, process: Callable[..., Any], item: Any) -> Any:
        spider = (self._spider,) if process in self._mw_methods_requiring_spider else ()
        return await ensure_awaitable(process(item, *spider))


class Batches(BaseSpiderMiddleware):
    """Hands the items of an answer to the pipelines in batches; it stands next to the engine, which gets requests only.

    Receivers of Scrapy's ``item_scraped`` get each item by itself; ``items_kept`` is sent once for a batch.
    """

    def __init__(self, crawler: Crawler) -> None:
        super().__init__(crawler)
        self.signals = crawler.signals
        self.size = FIRST
        assert crawler.logformatter is not None  # noqa: S101  # Scrapy makes it before any component
        self.formatter = crawler.logformatter

    async def process_spider_output_async(  # type: ignore[override]
        self, response: Response, result: AsyncIterator[Any]
    ) -> AsyncIterator[Any]:
        """Yield the requests; process the items, also those that came before the spider broke."""
        items: list[Any] = []
        try:
            async for found in result:
                if isinstance(found, Request):
                    yield found
                elif found is not None:
                    items.append(found)
                if len(items) >= self.size:
                    await self._process(items, response)
                    items = []
                    await asyncio.sleep(0)
        except Exception:
            await self._process(items, response)
            raise
        await self._process(items, response)

    async def _process(self, items: list[Any], response: Response) -> None:
        if not items:
            return
        batch = Batch(items)
        await self.pipelines.process_batch(batch)
        self.size = max(1, min(MOST, 2 * self.size, BYTES * len(items) // max(1, batch.bytes)))
        is_heard = any(True for _ in liveReceivers(getAllReceivers(self.crawler, scrapy_signals.item_scraped)))
        if is_heard:
            batch.each(_mapped)
        if batch.items:
            self.signals.send_catch_log(signals.items_kept, items=batch.items)
        for item in batch.items:
            self._log(self.formatter.scraped(item, response, self.spider), item)
            if is_heard:
                await self._send(scrapy_signals.item_scraped, item, response)
        for item, error in batch.failed:
            await self._tell(item, error, response)

    @property
    def pipelines(self) -> Pipelines:
        """The crawl's item pipelines.

        Raises:
            NotConfigured: ITEM_PROCESSOR is another one.
        """
        found = self.crawler.engine.scraper.itemproc if self.crawler.engine else None
        if not isinstance(found, Pipelines):
            raise NotConfigured("ITEM_PROCESSOR is not the one that takes batches, pipelines.Pipelines")
        return found

    async def _tell(self, item: Any, error: Exception, response: Response) -> None:
        """Log and signal an item that failed, as Scrapy's scraper does."""
        if isinstance(error, DropItem):
            self._log(self.formatter.dropped(item, error, response, self.spider), item)
            await self._send(scrapy_signals.item_dropped, item, response, exception=error)
        else:
            self._log(self.formatter.item_error(item, error, response, self.spider), item, error)
            await self._send(scrapy_signals.item_error, item, response, failure=Failure(error))  # type: ignore[no-untyped-call]

    async def _send(self, signal: Any, item: Any, response: Response, **more: Any) -> None:
        await self.signals.send_catch_log_async(signal, item=item, response=response, spider=self.spider, **more)

    def _log(self, line: LogFormatterResult | None, item: Any, error: Exception | None = None) -> None:
        if line is not None:
            logger.log(*logformatter_adapter(line), extra={"spider": self.spider, "item": item}, exc_info=error)

    @property
    def spider(self) -> Spider:
        assert self.crawler.spider is not None  # noqa: S101  # it gave the items
        return self.crawler.spider


def _mapped(item: Any) -> Any:
    """Return an item mapped before others get it: a bug in its mapping is its own."""
    return item.mapped() if isinstance(item, LazyDataset) else item
