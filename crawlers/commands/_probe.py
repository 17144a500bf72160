"""Addresses asked for one after the other, as a crawl would, by what came of those before: heads of answers only."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self, TypeVar
from urllib.parse import urlsplit
from weakref import WeakKeyDictionary

import scrapy
from scrapy import Request, signals
from scrapy.exceptions import StopDownload

from crawlers import failures
from crawlers.commands._pages import _end_at_once
from crawlers.exceptions import CrawlersError, SourcesError
from crawlers.rdf import formats
from crawlers.sources.detect import HEAD
from crawlers.sources.unclear import RefusalError

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator

    from scrapy.commands import ScrapyCommand
    from scrapy.crawler import Crawler
    from scrapy.http import Response
    from twisted.python.failure import Failure

    from crawlers.sources.detect import Answer, Asking

T = TypeVar("T")
_SECONDS = 30  # for an answer, or its head
_RETRIES = 1


class ProbeSpider(scrapy.Spider):
    """
    Args:
        address: what the user typed: its host may be private, and its API is asked whatever robots.txt says.
        asking: gives the addresses, and is sent what came.
        result: takes what it returns, or what it broke with.
    """

    name = "probe"
    custom_settings = {"ITEM_PIPELINES": {}, "HTTPCACHE_ENABLED": False}  # noqa: RUF012

    def __init__(self, address: str, asking: Asking[Any], result: dict[str, Any]) -> None:
        super().__init__()
        self.start_urls = [address]
        self.asking = asking
        self.result = result
        self.came: WeakKeyDictionary[Request, int] = WeakKeyDictionary()

    @classmethod
    def from_crawler(cls, crawler: Crawler, *args: Any, **keywords: Any) -> Self:
        spider = super().from_crawler(crawler, *args, **keywords)
        exempt = crawler.settings.getlist("ROBOTS_EXEMPT_HOSTS")
        host = urlsplit(spider.start_urls[0]).hostname
        crawler.settings.set("ROBOTS_EXEMPT_HOSTS", [*exempt, host], "spider")
        crawler.signals.connect(spider.part, signals.bytes_received)
        crawler.signals.connect(spider.broke, signals.spider_error)
        return spider

    async def start(self) -> AsyncIterator[Request]:
        _end_at_once()
        for request in self.told(None):
            yield request

    def told(self, answer: Answer | None) -> Iterator[Request]:
        """The next request, if there is one."""
        try:
            address = next(self.asking) if answer is None else self.asking.send(answer)
        except StopIteration as end:
            self.result["value"] = end.value
        except CrawlersError as error:
            self.result["error"] = error
        else:
            yield self.request(address)

    def request(self, address: str) -> Request:
        headers = {"Accept": formats.ACCEPT, "Accept-Encoding": "identity"}  # half an answer can't be unpacked
        meta = {"probe": True, "download_timeout": _SECONDS, "max_retry_times": _RETRIES}
        return Request(address, self.told, errback=self.failed, headers=headers, meta=meta, dont_filter=True)

    def failed(self, failure: Failure) -> Iterator[Request]:
        error, response = failures.of(failure), getattr(failure.value, "response", None)
        return self.told(error if response is None else RefusalError(error, response))

    def part(self, data: bytes, request: Request) -> None:
        """
        Raises:
            StopDownload: that is enough of it.
        """
        self.came[request] = self.came.get(request, 0) + len(data)
        if request.meta.get("probe") and self.came[request] > HEAD:
            raise StopDownload(fail=False)

    def broke(self, failure: Failure, response: Response) -> None:
        self.result["error"] = failure.value


def probe(command: ScrapyCommand, address: str, asking: Asking[T]) -> T:
    """What an asking returns, once all that it asks for has come.

    Raises:
        SourcesError: the crawl ended before.
    """
    result: dict[str, Any] = {}
    process: Any = command.crawler_process
    task = process.crawl(ProbeSpider, address=address, asking=asking, result=result)
    process.start()
    error = result.get("error") or (task.exception() if task.done() and not task.cancelled() else None)
    if error is not None:
        raise error
    if "value" not in result:
        raise SourcesError(f"{address}: it was interrupted before it was known what it is.")
    value: T = result["value"]
    return value
