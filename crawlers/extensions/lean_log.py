"""Scrapy's log without the two lines for each item and answer that only LOG_LEVEL=DEBUG shows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

from scrapy.logformatter import LogFormatter

from crawlers.extensions.error_log import Excluded

if TYPE_CHECKING:
    from scrapy import Request, Spider
    from scrapy.crawler import Crawler
    from scrapy.http import Response
    from scrapy.logformatter import LogFormatterResult
    from twisted.python.failure import Failure


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
