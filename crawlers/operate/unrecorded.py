"""The components of `scrapy parse`, `runspider` and `fetch`: they test a spider, so they leave no run and no files."""

from __future__ import annotations

import logging
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Self

from scrapy import signals as scrapy_signals
from scrapy.exceptions import NotConfigured

from crawlers import signals
from crawlers.extensions.progress import Heartbeat, Progress
from crawlers.extensions.public_hosts import PublicHosts
from crawlers.extensions.report import Report
from crawlers.operate.notify import Notify
from crawlers.store.index import Index

if TYPE_CHECKING:
    from scrapy.crawler import Crawler
    from scrapy.settings import BaseSettings

logger = logging.getLogger(__name__)


class LoggedFailures:
    """An extension that logs what a crawl writes to errors.jsonl."""

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        """Listen for failures."""
        logged = cls()
        crawler.signals.connect(logged.record_failed, signal=signals.record_failed)
        return logged

    def record_failed(self, failed: signals.Failed) -> None:
        """Log a failure."""
        logger.error("%s %s: %s (%s)", failed.stage, failed.kind, failed.error, failed.url or failed.dataset_id or "-")


class EmptyIndex(Index):
    """The index of a catalogue that was never crawled, in a temporary folder: nothing is read from OUTPUT_DIR."""

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        """Return the index, which is removed when the crawl ends.

        Raises:
            NotConfigured: the spider crawls no catalogue.
        """
        source = getattr(crawler.spider, "source", None)
        if source is None:
            raise NotConfigured
        folder = TemporaryDirectory(prefix="catalogue-crawlers-")
        index = cls(Path(folder.name), source)
        crawler.signals.connect(index.close, signal=scrapy_signals.engine_stopped)
        crawler.signals.connect(folder.cleanup, weak=False, signal=scrapy_signals.engine_stopped)
        return index


def leave_nothing(settings: BaseSettings) -> None:
    """Disable what writes into OUTPUT_DIR or sends notifications."""
    for component in (Report, Heartbeat, Index, Notify, Progress, PublicHosts):
        settings.set_in_component_priority_dict("EXTENSIONS", component, None)
    for other in (LoggedFailures, EmptyIndex):
        settings.set_in_component_priority_dict("EXTENSIONS", other, 20)
    settings.set("ITEM_PIPELINES", {}, "cmdline")
    settings.set("OUTPUT_STORE", "", "cmdline")
