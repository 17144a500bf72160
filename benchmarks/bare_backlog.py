"""Scrapy at its barest: requests that wait in the scheduler, and none is made.

scrapy runspider benchmarks/bare_backlog.py -a requests=1000000 --nolog
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import scrapy
from scrapy.exceptions import CloseSpider

if TYPE_CHECKING:
    from collections.abc import AsyncIterator


class BareBacklog(scrapy.Spider):
    """Ends when all of them are queued: its peak is the queue's."""

    name = "backlog"

    def __init__(self, requests: str) -> None:
        super().__init__()
        self.requests = int(requests)

    async def start(self) -> AsyncIterator[scrapy.Request]:
        engine = self.crawler.engine
        assert engine is not None
        assert engine.scheduler is not None
        engine.pause()
        for number in range(self.requests):
            request = scrapy.Request(f"https://example.org/{number}", callback=self.parse)
            assert engine.scheduler.enqueue_request(request)
        raise CloseSpider("queued")
        yield  # what makes this a generator

    def parse(self, response: scrapy.http.Response) -> None:
        """Never called."""
