"""What a table of sources.toml may name: the project's spiders, kinds of catalogue, and settings."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache, cached_property
from typing import TYPE_CHECKING

from scrapy.settings import Settings
from scrapy.spiderloader import get_spider_loader

from crawlers.kind import enabled
from crawlers.listing.spider import CatalogueSpider

if TYPE_CHECKING:
    from scrapy.settings import BaseSettings
    from scrapy.spiderloader import SpiderLoaderProtocol

    from crawlers.kind import Kind


@dataclass(frozen=True)
class Known:
    """
    Args:
        settings: the project's, with Scrapy's defaults: no other names are valid.
    """

    settings: BaseSettings

    @cached_property
    def spiders(self) -> Mapping[str, type[CatalogueSpider]]:
        """The spiders that harvest a catalogue, by name; each is imported on first use."""
        return _Spiders(get_spider_loader(self.settings))

    @cached_property
    def kinds(self) -> dict[str, Kind]:
        """The kinds of catalogue that KINDS_ENABLED lets through, by name."""
        return enabled(self.settings.getlist("KINDS_ENABLED", ["*"]))


class _Spiders(Mapping[str, type[CatalogueSpider]]):
    """Crawlable catalogues by name, in alphabetical order."""

    def __init__(self, loader: SpiderLoaderProtocol) -> None:
        self._loader = loader

    def __getitem__(self, name: str) -> type[CatalogueSpider]:
        spider = self._loader.load(name)
        if not issubclass(spider, CatalogueSpider):
            raise KeyError(name)
        return spider

    def __iter__(self) -> Iterator[str]:
        return (name for name in sorted(self._loader.list()) if name in self)

    def __len__(self) -> int:
        return sum(1 for _ in self)


@cache
def project() -> Known:
    """Return what the project of the running command has; of this project outside a command."""
    known = Settings()
    known.setmodule(os.environ.get("SCRAPY_SETTINGS_MODULE", "crawlers.settings"), priority="project")
    return Known(known)
