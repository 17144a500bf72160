"""Scrapy at its barest that keeps what it is given: an address after another, a file an answer.

scrapy runspider benchmarks/bare_spider.py -a urls=FILE -a folder=FOLDER --nolog
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import scrapy

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from scrapy.http import Response


class BareSpider(scrapy.Spider):
    """``urls`` is a file, an address a line; ``folder`` is where the answers go."""

    name = "bare"

    def __init__(self, urls: str, folder: str) -> None:
        super().__init__()
        self.urls = Path(urls).read_text().splitlines()
        self.folder = Path(folder)

    async def start(self) -> AsyncIterator[scrapy.Request]:
        for url in self.urls:
            yield scrapy.Request(url)

    def parse(self, response: Response) -> None:
        name = urlsplit(response.url).path.strip("/").replace("/", "_")
        with (self.folder / f"{name}.json").open("w") as file:
            json.dump(json.loads(response.body), file, indent=2)
