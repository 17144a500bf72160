"""The progress of a crawl: a bar on a terminal, else a log line each minute."""

from __future__ import annotations

import logging
import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Self

from scrapy import signals
from scrapy.exceptions import NotConfigured
from scrapy.utils.asyncio import create_looping_call
from scrapy.utils.log import get_scrapy_root_handler
from tqdm import tqdm

if TYPE_CHECKING:
    from collections.abc import Iterator

    from scrapy import Spider
    from scrapy.crawler import Crawler

logger = logging.getLogger(__name__)

_BAR = "{desc} {percentage:3.0f}%|{bar}| {n_fmt}/{total_fmt} [{elapsed}<{remaining}, {rate_fmt}{postfix}]"


class AboveTheBar:
    """A stream for a logging handler; tqdm's own replaces handlers, and with them their level and filters."""

    def write(self, text: str) -> None:
        tqdm.write(text, file=sys.stderr, end="")

    def flush(self) -> None:
        sys.stderr.flush()


class Progress:
    """Shows the documents done and expected, the speed, the errors, and the time left.

    Settings: LOGSTATS_INTERVAL, seconds between log lines; 0 = neither lines nor bar. ``--nolog`` also turns it off.
    """

    def __init__(self, crawler: Crawler) -> None:
        self.crawler = crawler
        self.interval = crawler.settings.getfloat("LOGSTATS_INTERVAL")
        if not self.interval or not crawler.settings.getbool("LOG_ENABLED"):
            raise NotConfigured
        self.on_terminal = sys.stderr.isatty()
        self.bar: tqdm[Any] | None = None
        crawler.signals.connect(self.spider_opened, signal=signals.spider_opened)
        crawler.signals.connect(self.spider_closed, signal=signals.spider_closed)

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        return cls(crawler)

    def spider_opened(self, spider: Spider) -> None:
        if self.on_terminal:
            tqdm.monitor_interval = 0  # no thread of its own
            self.bar = tqdm(desc=spider.name, unit=" docs", dynamic_ncols=True, bar_format=_BAR, leave=False)
            self.divert(AboveTheBar())
        self.task = create_looping_call(self.show)
        self.task.start(0.2 if self.bar is not None else self.interval, now=False)

    def spider_closed(self) -> None:
        if self.task.running:
            self.task.stop()
        if self.bar is not None:
            self.bar.close()
            self.divert(sys.stderr)

    @contextmanager
    def hidden(self) -> Iterator[None]:
        """Show no bar while something else is on the terminal."""
        if self.bar is not None:
            self.task.stop()
            self.bar.clear()
        yield
        if self.bar is not None:
            self.task.start(0.2, now=False)

    def divert(self, stream: Any) -> None:
        """Send the log to a stream: above the bar while there is one, else to standard error."""
        handler = get_scrapy_root_handler()
        if isinstance(handler, logging.StreamHandler) and not isinstance(handler, logging.FileHandler):
            handler.setStream(stream)

    def show(self) -> None:
        done, total, errors = self.done(), self.total(), self.errors()
        if self.bar is not None:
            self.bar.total = total
            self.bar.n = done
            self.bar.set_postfix_str(f"{errors} errors" if errors != 1 else "1 error")
            return
        requests = self.crawler.stats.get_value("downloader/request_count", 0)
        expected = f" of about {total}" if total else ""
        logger.info("%d%s documents done, %d errors, %d requests so far", done, expected, errors, requests)

    def done(self) -> int:
        count: int = self.crawler.stats.get_value("catalogue/ended", 0)
        return count

    def total(self) -> int | None:
        """Return the expected number of documents: those planned, scaled from the datasets listed to those expected."""
        stats = self.crawler.stats
        planned, listed = stats.get_value("catalogue/planned", 0), stats.get_value("catalogue/listed", 0)
        expected = stats.get_value("catalogue/expected")
        return round(planned * max(expected, listed) / listed) if expected and listed else None

    def errors(self) -> int:
        count: int = self.crawler.stats.get_value("catalogue/failed", 0)
        return count
