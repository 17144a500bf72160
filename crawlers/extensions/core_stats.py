"""Scrapy's numbers of a crawl."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

from scrapy import signals as scrapy_signals
from scrapy.extensions import corestats

from crawlers import signals

if TYPE_CHECKING:
    from collections.abc import Sequence

    from scrapy.crawler import Crawler


class CoreStats(corestats.CoreStats):
    """Counts the items of a batch at once; a receiver of ``item_scraped`` would be called for each of them."""

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        found = super().from_crawler(crawler)
        crawler.signals.disconnect(found.item_scraped, signal=scrapy_signals.item_scraped)
        crawler.signals.connect(found.items_kept, signal=signals.items_kept)
        return found

    def items_kept(self, items: Sequence[Any]) -> None:
        self.stats.inc_value("item_scraped_count", len(items))
