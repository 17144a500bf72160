"""A minimal Scrapy spider of a udata portal: an item for each record by JMESPath, and a pipeline that writes a file.

The expressions are those of the project's declaration, compiled by the library as its documentation says.

scrapy runspider benchmarks/bare_api.py -a portal=ADDRESS -a folder=FOLDER --nolog
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import jmespath  # type: ignore[import-untyped]
import scrapy

from crawlers.kinds.api.expressions import Expression
from crawlers.kinds.api.file import load

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterator, Mapping

    from scrapy.http import Response

    from crawlers.kinds.api.declaration import Filler


class Files:
    """Writes the record of each item into a file of its own."""

    def process_item(self, item: dict[str, Any]) -> dict[str, Any]:
        with (item.pop("folder") / f"{item['id']}.json").open("w") as file:
            json.dump(item["document"], file, indent=2)
        return item


class BareAPI(scrapy.Spider):
    """``portal`` is its address; ``folder`` is where the records go."""

    name = "bare"
    custom_settings = {"ITEM_PIPELINES": {Files: 1}}  # noqa: RUF012

    def __init__(self, portal: str, folder: str) -> None:
        super().__init__()
        self.address = f"{portal}/api/1/datasets/?sort=created&page_size=100&page="
        self.folder = Path(folder)
        declaration = load("udata")
        self.fields = _searches({"id": declaration.id, **declaration.fields})
        self.resources = [
            (jmespath.compile(one.each.text).search, _searches(one.fields)) for one in declaration.resources
        ]

    async def start(self) -> AsyncIterator[scrapy.Request]:
        yield scrapy.Request(self.address + "1", cb_kwargs={"page": 1})

    def parse(self, response: Response, page: int) -> Iterator[scrapy.Request | dict[str, Any]]:
        answer = json.loads(response.body)
        if answer["next_page"]:
            yield scrapy.Request(f"{self.address}{page + 1}", cb_kwargs={"page": page + 1})
        for record in answer["data"]:
            item = {name: find(record) for name, find in self.fields.items()}
            item["resources"] = [
                {name: find(part) for name, find in fields.items()}
                for each, fields in self.resources
                for part in each(record)
            ]
            yield item | {"document": record, "folder": self.folder}


def _searches(fields: Mapping[str, Filler]) -> dict[str, Callable[[Any], Any]]:
    return {name: jmespath.compile(each.text).search for name, each in fields.items() if isinstance(each, Expression)}
