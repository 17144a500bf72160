"""What a table of sources.toml may name: the project's spiders, kinds of catalogue, and settings."""

from __future__ import annotations

import os
from dataclasses import dataclass
from functools import cache, cached_property
from typing import TYPE_CHECKING

from scrapy.settings import Settings
from scrapy.spiderloader import get_spider_loader

from crawlers.kind import enabled
from crawlers.listing.spider import CatalogueSpider

if TYPE_CHECKING:
    from scrapy.settings import BaseSettings

    from crawlers.kind import Kind


@dataclass(frozen=True)
class Known:
    """
    Args:
        settings: the project's, with Scrapy's defaults: no other names are valid.
    """

    settings: BaseSettings

    @cached_property
    def spiders(self) -> dict[str, type[CatalogueSpider]]:
        """The spiders that harvest a catalogue, by name; imported on first use."""
        loader = get_spider_loader(self.settings)
        found = {name: loader.load(name) for name in sorted(loader.list())}
        return {name: spider for name, spider in found.items() if issubclass(spider, CatalogueSpider)}

    @cached_property
    def kinds(self) -> dict[str, Kind]:
        """The kinds of catalogue that KINDS_ENABLED lets through, by name."""
        return enabled(self.settings.getlist("KINDS_ENABLED", ["*"]))


@cache
def project() -> Known:
    """Return what the project of the running command has; of this project outside a command."""
    known = Settings()
    known.setmodule(os.environ.get("SCRAPY_SETTINGS_MODULE", "crawlers.settings"), priority="project")
    return Known(known)
