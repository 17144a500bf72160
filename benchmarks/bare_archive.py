"""Scrapy at its barest that keeps files: an address after another, each to a file with its two hashes.

scrapy runspider benchmarks/bare_archive.py -a urls=FILE -a folder=FOLDER --nolog

With ``-a etag=TAG`` it asks whether the files have changed.
"""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import TYPE_CHECKING, Any

import scrapy

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from scrapy.http import Response


class BareArchive(scrapy.Spider):
    """``urls`` is a file, an address a line; ``folder`` is where the files go, and a line for each."""

    name = "bare"
    custom_settings: dict[str, Any] | None = {  # noqa: RUF012  # as Scrapy declares it
        "CONCURRENT_REQUESTS": 200,
        "CONCURRENT_REQUESTS_PER_DOMAIN": 2,
    }

    def __init__(self, urls: str, folder: str, etag: str = "") -> None:
        super().__init__()
        self.urls = Path(urls).read_text().splitlines()
        self.folder = Path(folder)
        self.headers = {"If-None-Match": etag} if etag else {}
        self.lines = (self.folder / "lines").open("w")

    async def start(self) -> AsyncIterator[scrapy.Request]:
        for url in self.urls:
            yield scrapy.Request(url, headers=self.headers, meta={"handle_httpstatus_list": [304]})

    def parse(self, response: Response) -> None:
        if response.status == 304:
            self.lines.write(f"{response.url} unchanged\n")
            return
        sha256, md5 = hashlib.sha256(response.body).hexdigest(), hashlib.md5(response.body).hexdigest()
        (self.folder / sha256).write_bytes(response.body)
        self.lines.write(f"{response.url} {sha256} {md5} {len(response.body)}\n")
