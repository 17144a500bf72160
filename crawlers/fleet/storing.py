"""Stores a crawl as it goes, if output is in a store."""

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
from crawlers.extensions.report import Report
from crawlers.extensions.waiting import Repeated, in_thread, stopped_by_signals
from crawlers.store.location import mirror, seconds

if TYPE_CHECKING:
    from scrapy.crawler import Crawler

    from crawlers.fleet.store.owner import Owner

logger = logging.getLogger(__name__)

MOST = 1000
"""Documents after which a crawl stores what it has."""
_LOOK = 0.5  # seconds between two looks at whether there is enough to store


class Storing:
    """Takes the source before anything else, stores what the crawl writes, and gives the source back at the end.

    If nothing could be stored for OUTPUT_LEASE seconds, no request is sent. If another node has taken the source,
    nothing more is stored, the crawl stops, and the folder is brought up to what is stored.

    Settings: OUTPUT_STORE, OUTPUT_STORE_INTERVAL, OUTPUT_STORE_PATIENCE, OUTPUT_LEASE.

    Attributes:
        failed: why nothing more is stored; ``None`` as long as all is.
    """

    def __init__(self, crawler: Crawler, owner: Owner, *, patience: float) -> None:
        self.crawler = crawler
        self.owner = owner
        self.store = owner.mirror.store
        self.store.patience = patience
        self.waiting, self.since = 0, time.monotonic()
        self.failed: CrawlersError | None = None
        self.ended = asyncio.Event()
        self.is_stored = Repeated(self._store_some)
        atexit.register(self._leave)

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        """Take the source, and listen to the crawl.

        Raises:
            NotConfigured: output is in a folder, or the spider crawls no catalogue.
            OutputError: a setting is wrong.
            TakenError: another crawl has the source.
            StoppedError: somebody stopped the crawl while it waited for it.
            StoreError: the store can't be used.
        """
        source = getattr(crawler.spider, "source", None)
        if not crawler.settings["OUTPUT_STORE"] or source is None:
            raise NotConfigured  # without a reason, which would be a warning in every log
        patience = seconds(crawler.settings, "OUTPUT_STORE_PATIENCE")
        with stopped_by_signals():
            here = mirror(crawler.settings, creates=True)
            assert here is not None  # noqa: S101  # there is an OUTPUT_STORE
            here.store.tell = logger.warning
            owner = here.own(source)
        storing = cls(crawler, owner, patience=patience)
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
            logger.warning("Another node has crawled %s since; listing starts over.", self.owner.name)

    def spider_opened(self) -> None:
        """Begin to store; what is to be done last is connected last."""
        self.crawler.signals.connect(self.engine_stopped, signal=scrapy_signals.engine_stopped)
        if not self.crawler.get_extension(Report):
            self.ended.set()
        self.is_stored.start(_LOOK)

    def may_send(self) -> bool:
        """Return whether nobody else can crawl the source."""
        return self.failed is None and self.owner.is_held

    def items_kept(self, items: list[Any]) -> None:
        """Count what is to be stored."""
        self.waiting += len(items)

    def run_ended(self, report: dict[str, Any]) -> None:
        """Note that the report is written."""
        self.owner.run = report.get("run")
        self.ended.set()

    async def _store_some(self) -> None:
        """Store what the crawl has written, if it is enough, or long ago: then also that there is nothing."""
        if self.waiting >= MOST or time.monotonic() - self.since >= self.owner.mirror.beat:
            await self._store(is_end=False)

    async def _store(self, *, is_end: bool) -> None:
        if self.failed:
            return
        self.waiting, self.since = 0, time.monotonic()
        try:
            await in_thread(partial(self.owner.store, is_end=is_end))
        except (CrawlersError, OSError) as error:
            self._stop(error if isinstance(error, CrawlersError) else StoreError(f"{error}."))

    def _stop(self, error: CrawlersError) -> None:
        """Send nothing more, store nothing more, and stop the crawl."""
        if self.failed:
            return
        self.failed = error
        self.store.is_over.set()
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
        if not self.failed:
            await self._tidy()

    async def _tidy(self) -> None:
        """Keep the table small, which the next crawl can do as well."""
        self.store.patience = 0
        try:
            await in_thread(partial(self.owner.tidy_if_due, self.crawler.settings.getint("VERSIONS_KEEP_DAYS")))
        except (CrawlersError, OSError) as error:
            logger.warning("%s The table is not tidied: the next crawl does that.", error)

    async def engine_stopped(self) -> None:
        """Bring the folder up to what another node has stored that has the source, after the index is closed."""
        if isinstance(self.failed, TakenError):
            with suppress(CrawlersError, OSError):
                await in_thread(self.owner.reset)
                self.owner.mirror.note_running(self.owner.source)
        atexit.unregister(self._leave)
        self.owner.close()

    def _leave(self) -> None:
        """Give the source back at the end of the process, if the crawl did not begin or was stopped at once."""
        self.store.is_over.set()
        if self.failed is None:
            with suppress(CrawlersError):
                self.owner.release()
        self.owner.close()
