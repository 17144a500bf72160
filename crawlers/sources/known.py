"""What a table of sources.toml may name: the project's spiders, and the settings that there are."""

from __future__ import annotations

import os
from dataclasses import dataclass
from functools import cache, cached_property
from typing import TYPE_CHECKING

from scrapy.settings import Settings
from scrapy.spiderloader import get_spider_loader

from crawlers.catalogue import CatalogueSpider

if TYPE_CHECKING:
    from scrapy.settings import BaseSettings


@dataclass(frozen=True)
class Known:
    """
    Args:
        settings: the project's, with Scrapy's defaults: their names are all that there are.
    """

    settings: BaseSettings

    @cached_property
    def spiders(self) -> dict[str, type[CatalogueSpider]]:
        """Those that harvest a catalogue, by name; imported when first asked for."""
        loader = get_spider_loader(self.settings)
        found = {name: loader.load(name) for name in sorted(loader.list())}
        return {name: one for name, one in found.items() if issubclass(one, CatalogueSpider)}


@cache
def project() -> Known:
    """Of the project whose command this is; of this one, where no command has said so."""
    known = Settings()
    known.setmodule(os.environ.get("SCRAPY_SETTINGS_MODULE", "crawlers.settings"), priority="project")
    return Known(known)
