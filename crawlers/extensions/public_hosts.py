"""What earlier runs know of where a portal is: one that was public may not lead into the network of the crawl later."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Self

from scrapy import signals
from scrapy.exceptions import NotConfigured

from crawlers.safety.resolver import PublicOnlyResolver
from crawlers.store.folder import folder, recall, remember

if TYPE_CHECKING:
    from scrapy.crawler import Crawler

logger = logging.getLogger(__name__)

NAME = "public"
"""Under which memory.json has the hosts."""


class PublicHosts:
    """Tells the resolver which portals were public in earlier runs, and remembers those that are now."""

    def __init__(self, crawler: Crawler) -> None:
        self.folder = folder(crawler)
        known = recall(self.folder, NAME)
        self.known = {host for host in known if isinstance(host, str)} if isinstance(known, list) else set()
        crawler.signals.connect(self.spider_opened, signal=signals.spider_opened)
        crawler.signals.connect(self.spider_closed, signal=signals.spider_closed)

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        if not hasattr(crawler.spider, "source"):
            raise NotConfigured
        return cls(crawler)

    def spider_opened(self) -> None:
        self.resolver = PublicOnlyResolver.installed()
        if self.resolver:
            self.resolver.public |= self.known
            self.resolver.listeners.append(self.seen)

    def spider_closed(self) -> None:
        """Listen no more: the folder is another crawl's."""
        if self.resolver:
            self.resolver.listeners.remove(self.seen)

    def seen(self, host: str) -> None:
        self.known.add(host)
        try:
            remember(self.folder, NAME, sorted(self.known))
        except OSError as error:
            logger.warning("%s can't be remembered as public: %s", host, error)
