"""Stores a crawl as it goes, if output is in a store in S3."""

from __future__ import annotations

import asyncio
import atexit
import logging
import time
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from scrapy import signals as scrapy_signals
from scrapy.exceptions import NotConfigured

from crawlers import signals
from crawlers.components.ledger import discard
from crawlers.components.scrapy_internals import may_send
from crawlers.exceptions import CrawlersError, StoreError, TakenError
from crawlers.extensions.leases import Leases
from crawlers.extensions.report import Report
from crawlers.extensions.waiting import Repeated, in_thread, stopped_by_signals
from crawlers.store.location import mirror, seconds

if TYPE_CHECKING:
    from scrapy.crawler import Crawler

logger = logging.getLogger(__name__)

MOST = 1000
"""Documents after which a crawl stores what it has."""
_LOOK = 0.5  # seconds between two looks at whether there is enough to store


class Storing:
    """Takes the source before anything else, stores what the crawl writes, and gives the source back at the end.

    While the leases can't be renewed, no request is sent. If another node has taken the source, nothing more is stored,
    the crawl stops, and the folder is brought back to what is stored.

    Settings: OUTPUT_STORE, OUTPUT_STORE_INTERVAL, OUTPUT_STORE_PATIENCE, OUTPUT_LEASE.

    Attributes:
        failed: why nothing more is stored; ``None`` as long as all is.
    """

    def __init__(self, crawler: Crawler, leases: Leases, *, interval: float, patience: float) -> None:
        self.crawler = crawler
        self.leases = leases
        self.owner = leases.owner
        self.objects = self.owner.mirror.objects
        self.objects.patience = patience
        self.interval = interval
        self.waiting, self.since = 0, time.monotonic()
        self.failed: CrawlersError | None = None
        self.ended = asyncio.Event()
        self.is_renewed, self.is_stored = Repeated(self._renew), Repeated(self._store_some)
        atexit.register(self._leave)

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        """Take the source and its hosts, and listen to the crawl.

        Raises:
            NotConfigured: output is in a folder, or the spider crawls no catalogue.
            OutputError: a setting is wrong.
            TakenError: another crawl has one of them.
            StoppedError: somebody stopped the crawl while it waited for them.
            StoreError: the store can't be used.
        """
        if not crawler.settings["OUTPUT_STORE"] or not hasattr(crawler.spider, "source"):
            raise NotConfigured  # without a reason, which would be a warning in every log
        times = {name: seconds(crawler.settings, f"OUTPUT_STORE_{name.upper()}") for name in ("interval", "patience")}
        with stopped_by_signals():
            here = mirror(crawler.settings, creates=True)
            assert here is not None  # noqa: S101  # there is an OUTPUT_STORE
            here.objects.tell = logger.warning
            leases = Leases.take(here, crawler.spider)
        storing = cls(crawler, leases, **times)
        storing.discard_job(crawler.settings["JOBDIR"])
        for name in ("spider_opened", "spider_closed"):
            crawler.signals.connect(getattr(storing, name), signal=getattr(scrapy_signals, name))
        crawler.signals.connect(storing.may_send, signal=may_send)
        for name in ("items_kept", "run_ended"):
            crawler.signals.connect(getattr(storing, name), signal=getattr(signals, name))
        return storing

    def discard_job(self, jobdir: str | None) -> None:
        """Discard a job that can't go on: what it has done is not in the folder any more, or others have done more."""
        if self.owner.is_rebuilt and jobdir and discard(Path(jobdir)):
            logger.warning("Another node has crawled %s since; listing starts over.", self.owner.source)

    def spider_opened(self) -> None:
        """Begin to renew and to store; what is to be done last is connected last."""
        self.crawler.signals.connect(self.engine_stopped, signal=scrapy_signals.engine_stopped)
        if not self.crawler.get_extension(Report):
            self.ended.set()
        self.is_renewed.start(self.leases.interval)
        self.is_stored.start(_LOOK)

    def may_send(self) -> bool:
        """Return whether nobody else can crawl the source, or ask its hosts."""
        return self.failed is None and self.leases.is_held

    def items_kept(self, items: list[Any]) -> None:
        """Count what is to be stored."""
        self.waiting += len(items)

    def run_ended(self, report: dict[str, Any]) -> None:
        """Note that the report is written."""
        self.owner.committing.run = report.get("run")
        self.ended.set()

    async def _renew(self) -> None:
        """Renew the leases; the store may be out of reach for a while."""
        try:
            await self.leases.renew()
        except TakenError as error:
            self._stop(error)
        except StoreError as error:
            logger.warning("The lease of %s can't be renewed: %s", self.owner.source, error)

    async def _store_some(self) -> None:
        """Store what the crawl has written, if it is enough, or long ago."""
        if self.waiting >= MOST or time.monotonic() - self.since >= self.interval:
            await self._store(is_end=False)

    async def _store(self, *, is_end: bool) -> None:
        if self.failed:
            return
        self.waiting, self.since = 0, time.monotonic()
        try:
            await in_thread(partial(self.owner.store, is_end=is_end))
            self.leases.head = self.owner.state.head
        except (CrawlersError, OSError) as error:
            self._stop(error if isinstance(error, CrawlersError) else StoreError(f"{error}."))

    def _stop(self, error: CrawlersError) -> None:
        """Send nothing more, store nothing more, and stop the crawl."""
        if self.failed:
            return
        self.failed = error
        self.objects.is_over.set()
        logger.error("%s", error)
        engine: Any = self.crawler.engine
        if not self.ended.is_set():
            reason = "shutdown" if isinstance(error, TakenError) else "store"
            self.closing = asyncio.ensure_future(engine.close_spider_async(reason=reason))

    async def spider_closed(self) -> None:
        """Store the rest once the report is written, and give the source back."""
        await self.ended.wait()
        await self.is_stored.stop()
        await self._store(is_end=True)
        await self.is_renewed.stop()
        if self.failed is None:
            await in_thread(self.leases.release)

    def engine_stopped(self) -> None:
        """Undo what was not stored if another node has the source, after the index is closed."""
        if isinstance(self.failed, TakenError):
            with suppress(CrawlersError, OSError):
                self.owner.reset()
                self.owner.mirror.note_running(self.owner.source)
        atexit.unregister(self._leave)
        self.leases.close()

    def _leave(self) -> None:
        """Give the source back at the end of the process, if the crawl did not begin or was stopped at once."""
        self.objects.is_over.set()
        if self.failed is None:
            self.leases.release()
        self.leases.close()
