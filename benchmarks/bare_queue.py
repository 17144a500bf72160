"""Scrapy at its barest: one answer asks for all the rest at once, so that they wait in the scheduler.

scrapy runspider benchmarks/bare_queue.py -a portal=http://127.0.0.1:8000 -a requests=20000 --nolog
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import scrapy

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator

    from scrapy.http import Response


class BareQueue(scrapy.Spider):
    """Each answer is some bytes about the portal, each address is another one."""

    name = "queue"

    def __init__(self, portal: str, requests: str) -> None:
        super().__init__()
        self.url = f"{portal}/api/3/action/status_show"
        self.requests = int(requests)

    async def start(self) -> AsyncIterator[scrapy.Request]:
        yield scrapy.Request(self.url)

    def parse(self, response: Response) -> Iterator[scrapy.Request]:
        for number in range(self.requests):
            yield scrapy.Request(f"{self.url}?number={number}", callback=self.ignore)

    def ignore(self, response: Response) -> None:
        """Nothing: what a queue costs is what is measured."""
