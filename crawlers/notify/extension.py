"""The crawl's part: it hears how a run ended, and has it told."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from scrapy.exceptions import NotConfigured

from crawlers import signals
from crawlers.notify.notifications import Notifications

if TYPE_CHECKING:
    from scrapy.crawler import Crawler

logger = logging.getLogger(__name__)


class Notify:
    """An extension: tells a webhook, a mailbox and Prometheus; off when none is set up.

    It is done when the run's report is written, before the command ends, within NOTIFY_TIMEOUT seconds. What can't be
    told is a warning; the crawl's exit code stays what it is.

    Raises:
        ArgumentError: a setting or an environment variable can't be used, before any request.
    """

    def __init__(self, crawler: Crawler) -> None:
        self.notifications = Notifications.from_settings(crawler.settings)
        if not self.notifications:
            raise NotConfigured
        crawler.signals.connect(self.run_ended, signal=signals.run_ended)

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        if not hasattr(crawler.spider, "source"):
            raise NotConfigured  # scrapy shell, fetch
        return cls(crawler)

    def run_ended(self, report: dict[str, Any], folder: Path) -> None:
        for sentence in self.notifications.tell(report, folder):
            logger.warning("%s", sentence)
