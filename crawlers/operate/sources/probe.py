"""Requests addresses one after another, as a crawl would, each chosen by the answers so far; reads only their start."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self, TypeVar
from urllib.parse import urlsplit
from weakref import WeakKeyDictionary

import scrapy
from scrapy import Request, signals
from scrapy.exceptions import StopDownload

from crawlers.components.politeness import failures
from crawlers.exceptions import CrawlersError, SourcesError
from crawlers.operate.pages import crawl_error, end_at_once
from crawlers.operate.sources.detect import HEAD, RefusalError
from crawlers.records.rdf import formats

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator

    from scrapy.commands import ScrapyCommand
    from scrapy.crawler import Crawler
    from twisted.python.failure import Failure

    from crawlers.kind import Answer, Asking

T = TypeVar("T")
_SECONDS = 30  # for an answer, or its start
_RETRIES = 1


class ProbeSpider(scrapy.Spider):
    """Requests what a generator asks for.

    Args:
        address: what the user typed; its host may be private, and robots.txt does not restrict its API.
        asking: yields the addresses and receives the answers.
        result: receives what the generator returns, or the exception that ended it.
    """

    name = "probe"
    custom_settings = {"ITEM_PIPELINES": {}, "HTTPCACHE_ENABLED": False}  # noqa: RUF012

    def __init__(self, address: str, asking: Asking[Any], result: dict[str, Any]) -> None:
        super().__init__()
        self.start_urls = [address]
        self.asking = asking
        self.result = result
        self.received: WeakKeyDictionary[Request, int] = WeakKeyDictionary()

    @classmethod
    def from_crawler(cls, crawler: Crawler, *args: Any, **keywords: Any) -> Self:
        spider = super().from_crawler(crawler, *args, **keywords)
        exempt = crawler.settings.getlist("ROBOTS_EXEMPT_HOSTS")
        host = urlsplit(spider.start_urls[0]).hostname
        crawler.settings.set("ROBOTS_EXEMPT_HOSTS", [*exempt, host], "spider")
        crawler.signals.connect(spider.part, signals.bytes_received)
        crawler.signals.connect(spider.failed_with, signals.spider_error)
        return spider

    async def start(self) -> AsyncIterator[Request]:
        end_at_once()
        for request in self.next_request(None):
            yield request

    def next_request(self, answer: Answer | None) -> Iterator[Request]:
        """Yield the next request, if there is one."""
        try:
            address = next(self.asking) if answer is None else self.asking.send(answer)
        except StopIteration as end:
            self.result["value"] = end.value
        except CrawlersError as error:
            self.result["error"] = error
        else:
            yield self.request(address)

    def request(self, address: str) -> Request:
        headers = {
            "Accept": formats.ACCEPT,
            "Accept-Encoding": "identity",
        }  # of a part, too
        meta = {"probe": True, "download_timeout": _SECONDS, "max_retry_times": _RETRIES}
        return Request(address, self.next_request, errback=self.failed, headers=headers, meta=meta, dont_filter=True)

    def failed(self, failure: Failure) -> Iterator[Request]:
        error, response = failures.from_failure(failure), getattr(failure.value, "response", None)
        return self.next_request(error if response is None else RefusalError(error, response))

    def part(self, data: bytes, request: Request) -> None:
        """Count the bytes of an answer.

        Raises:
            StopDownload: enough of it has arrived.
        """
        self.received[request] = self.received.get(request, 0) + len(data)
        if request.meta.get("probe") and self.received[request] > HEAD:
            raise StopDownload(fail=False)

    def failed_with(self, failure: Failure) -> None:
        self.result["error"] = failure.value


def probe(command: ScrapyCommand, address: str, asking: Asking[T]) -> T:
    """Return what a generator returns, once it has all the answers that it asks for.

    Raises:
        SourcesError: the crawl ended before.
    """
    result: dict[str, Any] = {}
    failure = crawl_error(command, ProbeSpider, address=address, asking=asking, result=result)
    error = result.get("error") or failure
    if error is not None:
        raise error
    if "value" not in result:
        raise SourcesError(f"{address}: interrupted before it was recognised.")
    value: T = result["value"]
    return value
