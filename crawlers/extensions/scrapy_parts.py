"""Parts of Scrapy, completed: no request fails unreported, and no work is done for each item that nobody sees."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

from scrapy import signals as scrapy_signals
from scrapy.exceptions import NotConfigured
from scrapy.extensions import corestats
from scrapy.logformatter import LogFormatter
from scrapy.spidermiddlewares.base import BaseSpiderMiddleware

from crawlers import signals
from crawlers.extensions.error_log import Excluded
from crawlers.listing.spider import CatalogueSpider

if TYPE_CHECKING:
    from collections.abc import Sequence

    from scrapy import Request, Spider
    from scrapy.crawler import Crawler
    from scrapy.http import Response
    from scrapy.logformatter import LogFormatterResult
    from twisted.python.failure import Failure


class CoreStats(corestats.CoreStats):
    """Counts the items of a batch at once; a receiver of ``item_scraped`` would be called for each of them."""

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        found = super().from_crawler(crawler)
        crawler.signals.disconnect(found.item_scraped, signal=scrapy_signals.item_scraped)
        crawler.signals.connect(found.items_kept, signal=signals.items_kept)
        return found

    def items_kept(self, items: Sequence[Any]) -> None:
        self.stats.inc_value("item_scraped_count", len(items))


class LeanLogFormatter(LogFormatter):
    """Leaves out lines that only DEBUG shows: Scrapy builds them in any case, which takes a few per cent of a crawl."""

    debug: bool

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        formatter = super().from_crawler(crawler)
        formatter.debug = crawler.settings["LOG_LEVEL"] == "DEBUG"
        return formatter

    def crawled(self, request: Request, response: Response, spider: Spider) -> LogFormatterResult | None:  # type: ignore[override]
        return super().crawled(request, response, spider) if self.debug else None

    def scraped(self, item: Any, response: Response | Failure | None, spider: Spider) -> LogFormatterResult | None:  # type: ignore[override]
        return super().scraped(item, response, spider) if self.debug else None

    def dropped(  # type: ignore[override]
        self, item: Any, exception: BaseException, response: Response | Failure | None, spider: Spider
    ) -> LogFormatterResult | None:
        """Leave out the item, which Scrapy prints and which may be a megabyte; and the line of an excluded one."""
        if isinstance(exception, Excluded) and not self.debug:
            return None
        shown = super().dropped(item, exception, response, spider)
        return shown if self.debug else {**shown, "msg": "Dropped: %(exception)s"}


class DefaultErrback(BaseSpiderMiddleware):
    """Gives a request without an errback the spider's ``request_failed``."""

    def get_processed_request(self, request: Request, response: Response | None) -> Request:
        spider = self.crawler.spider
        if request.errback is None and isinstance(spider, CatalogueSpider):
            return request.replace(errback=spider.request_failed)
        return request


class DeclaredEncoding(BaseSpiderMiddleware):
    """Sets a request's meta ``encoding`` to the spider's ``encoding``, if it has one: readers of the answer use it."""

    def __init__(self, crawler: Crawler) -> None:
        super().__init__(crawler)
        self.encoding = getattr(crawler.spider, "encoding", None)
        if not self.encoding:  # each middleware costs every answer three generators
            raise NotConfigured

    def get_processed_request(self, request: Request, response: Response | None) -> Request:
        request.meta["encoding"] = self.encoding
        return request
