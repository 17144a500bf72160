"""Scrapy at its barest: asks for every address of a file, and does nothing with the answers.

scrapy runspider benchmarks/bare_spider.py -a urls=FILE --nolog
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import scrapy

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from scrapy.http import Response


class BareSpider(scrapy.Spider):
    """``urls`` is a file, an address a line."""

    name = "bare"

    def __init__(self, urls: str) -> None:
        super().__init__()
        self.urls = Path(urls).read_text().splitlines()

    async def start(self) -> AsyncIterator[scrapy.Request]:
        for url in self.urls:
            yield scrapy.Request(url)

    def parse(self, response: Response) -> None:
        """Nothing: what this project does with an answer is what is measured."""
