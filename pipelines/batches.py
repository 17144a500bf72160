"""Takes the items of each answer through the pipelines as batches: one query, one write and one signal for many."""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING, Any

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
from crawlers.records.lazy_dataset import LazyDataset
from pipelines.base import Batch, Pipeline

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

    from scrapy import Spider
    from scrapy.crawler import Crawler
    from scrapy.http import Response
    from scrapy.logformatter import LogFormatterResult

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
        """The spider."""
        assert self.crawler.spider is not None  # noqa: S101  # it gave the items
        return self.crawler.spider


def _mapped(item: Any) -> Any:
    """Return an item mapped before others get it: a bug in its mapping is its own."""
    return item.mapped() if isinstance(item, LazyDataset) else item
