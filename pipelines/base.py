"""What every pipeline of this project shares."""

from __future__ import annotations

from typing import TYPE_CHECKING, Self

from scrapy.exceptions import NotConfigured

from crawlers.extensions.report import Report
from crawlers.items import Dataset, Export
from crawlers.safety.names import Names
from crawlers.safety.redact import redact
from crawlers.store.folder import folder
from crawlers.store.index import Index

if TYPE_CHECKING:
    from scrapy.crawler import Crawler

Item = Dataset | Export
Reference = tuple[str, str, str | None]
"""Kind, dataset id, resource id: the identity of a document within its source."""


class Pipeline:
    """Has the crawler, its source's folder, the index, the report and the error log."""

    def __init__(self, crawler: Crawler) -> None:
        index, report = crawler.get_extension(Index), crawler.get_extension(Report)
        if index is None or report is None:
            raise NotConfigured("the spider crawls no catalogue, or EXTENSIONS lacks Index or Report")
        self.crawler = crawler
        self.index, self.report = index, report
        self.error_log = report.error_log
        self.folder = folder(crawler)
        self.names = Names.from_settings(crawler.settings)
        self.records = report.error_log.records

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        """Make the pipeline."""
        return cls(crawler)

    def address(self, url: str | None) -> str | None:
        """Return an address without credentials, unless the spider requests it again later."""
        asks_again = getattr(self.crawler.spider, "asks_again_by_address", False)
        return url if url is None or asks_again else redact(url)

    def file(self, item: Item) -> str:
        """Return the name of the item's document, relative to the source's folder."""
        name = item.name if isinstance(item, Dataset) else item.resource_name or item.dataset_name
        return self.names.file(*reference(item), name)


def reference(item: Item) -> Reference:
    """Return the identity of the item's document."""
    if isinstance(item, Dataset):
        return item.kind, item.id, None
    return item.kind, item.dataset_id, item.resource_id
