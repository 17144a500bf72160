"""What every pipeline of this project has."""

from __future__ import annotations

from typing import TYPE_CHECKING, Self

from scrapy.exceptions import NotConfigured

from crawlers.index import Index
from crawlers.items import Dataset, Export
from crawlers.resume import Records
from crawlers.safety.names import Names
from crawlers.safety.redact import redact
from pipelines.folder import folder
from pipelines.report import Report

if TYPE_CHECKING:
    from scrapy.crawler import Crawler

Item = Dataset | Export
Reference = tuple[str, str, str | None]
"""Kind, dataset id, resource id: the identity of a document within its source."""


class Pipeline:
    """The crawler, its source's folder, the index and the report."""

    def __init__(self, crawler: Crawler) -> None:
        index, report = crawler.get_extension(Index), crawler.get_extension(Report)
        if index is None or report is None:
            raise NotConfigured("the spider crawls no catalogue, or EXTENSIONS lacks Index or Report")
        self.crawler = crawler
        self.index, self.report = index, report
        self.folder = folder(crawler)
        self.names = Names.from_settings(crawler.settings)
        self.records = Records(crawler)

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        return cls(crawler)

    def address(self, url: str | None) -> str | None:
        """Return an address as it may be written: without credentials, unless the spider asks for it again."""
        asks_again = getattr(self.crawler.spider, "asks_again_by_address", False)
        return url if url is None or asks_again else redact(url)

    def file(self, item: Item) -> str:
        """What the item's document is called, relative to the source's folder."""
        name = item.name if isinstance(item, Dataset) else item.resource_name or item.dataset_name
        return self.names.file(*reference(item), name)


def reference(item: Item) -> Reference:
    if isinstance(item, Dataset):
        return item.kind, item.id, None
    return item.kind, item.dataset_id, item.resource_id
