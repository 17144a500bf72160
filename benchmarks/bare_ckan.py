"""A minimal Scrapy spider of a CKAN portal: an item for each dataset, and a pipeline that writes it into a file.

scrapy runspider benchmarks/bare_ckan.py -a portal=ADDRESS -a folder=FOLDER --nolog

Asks for the same pages as the ckan spider, and writes the same files, as an ordinary project would; nothing else.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar
from urllib.parse import urlencode

import scrapy

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator

    from scrapy.http import Response

ROWS = 1000


class Files:
    """Writes each item into a file of its own, which is named by the dataset's id and name."""

    def process_item(self, item: dict[str, Any]) -> dict[str, Any]:
        record = item["record"]
        slug = re.sub(r"[^a-z0-9]+", "-", record["name"].lower())[:80].strip("-")
        with (item["folder"] / f"{record['id']}__{slug}.json").open("w") as file:
            json.dump(record, file, indent=2, ensure_ascii=False)
            file.write("\n")
        return item


class BareCKAN(scrapy.Spider):
    """``portal`` is its address; ``folder`` is where the datasets go."""

    name = "bare"
    custom_settings: ClassVar[dict[str, Any]] = {"ITEM_PIPELINES": {Files: 1}}  # type: ignore[misc]

    def __init__(self, portal: str, folder: str) -> None:
        super().__init__()
        self.site = portal
        self.folder = Path(folder)

    async def start(self) -> AsyncIterator[scrapy.Request]:
        yield self.page({})

    def page(self, more: dict[str, str]) -> scrapy.Request:
        parameters = {"q": "*:*", "sort": "id asc", "rows": str(ROWS), **more}
        return scrapy.Request(f"{self.site}/api/3/action/package_search?{urlencode(parameters)}")

    def parse(self, response: Response) -> Iterator[scrapy.Request | dict[str, Any]]:
        records = json.loads(response.body)["result"]["results"]
        if len(records) == ROWS:
            yield self.page({"fq": f"id:{{{records[-1]['id']} TO *]"})
        for record in records:
            yield {"record": record, "folder": self.folder}
