"""The add-on that keeps feeds (``-O datasets.jsonl``) to datasets: exports are documents on disk only."""

from __future__ import annotations

from typing import TYPE_CHECKING

from crawlers.items import Dataset

if TYPE_CHECKING:
    from scrapy.settings import BaseSettings


class DatasetFeeds:
    """Gives each feed that names no item classes of its own `Dataset`, wherever FEEDS come from."""

    def update_settings(self, settings: BaseSettings) -> None:
        feeds = {uri: {"item_classes": [Dataset], **options} for uri, options in settings.getdict("FEEDS").items()}
        if feeds:
            settings.set("FEEDS", feeds, settings.getpriority("FEEDS") or 0)
