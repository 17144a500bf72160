"""What every pipeline of this project has."""

from __future__ import annotations

from typing import TYPE_CHECKING, Self

from crawlers.index import Index
from crawlers.items import Dataset, Export
from crawlers.resume import Records
from crawlers.safety.names import Names
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
        self.crawler = crawler
        self.folder = folder(crawler)
        self.names = Names.from_settings(crawler.settings)
        self.index: Index = crawler.get_extension(Index)  # type: ignore[assignment]
        self.report: Report = crawler.get_extension(Report)  # type: ignore[assignment]
        self.records = Records(crawler)

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        return cls(crawler)

    def file(self, item: Item) -> str:
        """What the item's document is called, relative to the source's folder."""
        name = item.name if isinstance(item, Dataset) else item.resource_name or item.dataset_name
        return self.names.file(*reference(item), name)


def reference(item: Item) -> Reference:
    if isinstance(item, Dataset):
        return item.kind, item.id, None
    return item.kind, item.dataset_id, item.resource_id
