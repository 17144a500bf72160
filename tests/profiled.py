"""A spider of profiles: each answer of a site on the loopback is the document of one portal or extension."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from scrapy import Request

from crawlers import arguments
from crawlers.arguments import Argument
from crawlers.items import Extension, Site
from crawlers.listing.spider import CatalogueSpider

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator

    from scrapy.http import Response

SETTINGS = {"SPIDER_MODULES": "tests.profiled", "ROBOTSTXT_OBEY": "false"}


class Profiled(CatalogueSpider):
    """As many profiles as ``-a max_datasets=`` says; one whose answer is an error is not found out."""

    name = "profiled"
    arguments = CatalogueSpider.arguments | {"portal": Argument(help="The site.", parse=arguments.text)}
    portal: str | None = None

    def __init__(self, **given: str) -> None:
        super().__init__(**given)
        self.portal = given["portal"]

    async def start(self) -> AsyncIterator[Any]:
        self.run_state.expected = self.run_state.listed = self.args["max_datasets"]
        for number in range(self.args["max_datasets"]):
            self.expect("site", f"portal-{number}", listed_by="start")
            yield Request(f"{self.portal}/{number}", self.parse, errback=self.request_failed)

    def parse(self, response: Response) -> Iterator[Any]:
        document = response.json()
        kind = Extension if "repository" in document else Site
        yield kind(source=self.source, id=document["id"], name=document["id"], document=document)
