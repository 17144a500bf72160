"""Stores a crawl as it goes, if output is in S3: it has the lease of its source, and of the hosts that it asks."""

from __future__ import annotations

import asyncio
import atexit
import json
import logging
import threading
import time
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self, TypeVar

from scrapy import signals as scrapy_signals
from scrapy.exceptions import NotConfigured

from crawlers import signals
from crawlers.exceptions import CrawlersError, StoreError, TakenError
from crawlers.extensions.report import Report
from crawlers.listing.spider import hosts
from crawlers.politeness.pace import Pace
from crawlers.resume import Job
from crawlers.safety import inside
from crawlers.safety.names import safe
from crawlers.store.location import mirror

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterator

    from scrapy.crawler import Crawler

    from crawlers.store.bucket.lease import Lease
    from crawlers.store.bucket.mirror import Mirror
    from crawlers.store.bucket.owner import Owner

logger = logging.getLogger(__name__)

T = TypeVar("T")

MOST = 1000
"""Documents after which a crawl stores what it has."""
_LOOK = 0.5  # seconds between two looks at whether there is enough to store
_BEATS = 4  # renewals of a lease in its time
_LONGEST = 15.0  # seconds between two of them
_LARGEST = 8 * 1024 * 1024  # bytes of running.json
_MANY = {"archives": "The lock of all crawls of many hosts"}


class Repeated:
    """Something that is done again and again, one after the other, until that is stopped."""

    def __init__(self, work: Callable[[], Awaitable[None]]) -> None:
        self.work = work
        self.is_over = asyncio.Event()
        self.task: asyncio.Task[None] | None = None

    def start(self, seconds: float) -> None:
        """Do it after each number of seconds."""
        self.task = asyncio.ensure_future(self._repeat(seconds))

    async def _repeat(self, seconds: float) -> None:
        while not self.is_over.is_set():
            with suppress(TimeoutError):
                await asyncio.wait_for(self.is_over.wait(), seconds)
                return
            await self.work()

    async def stop(self) -> None:
        """Wait for what is under way, and do it no more."""
        self.is_over.set()
        if self.task:
            await self.task


class Storing:
    """Takes the source before anything else, stores what the crawl writes, and gives the source back at the end.

    While the leases can't be renewed, no request is sent. If another node has taken the source, nothing more is stored,
    the crawl stops, and the folder is brought back to what is stored.

    Settings: OUTPUT_STORE, OUTPUT_STORE_INTERVAL, OUTPUT_STORE_PATIENCE, OUTPUT_LEASE.
    """

    def __init__(self, crawler: Crawler, owner: Owner, locks: list[Lease]) -> None:
        self.crawler = crawler
        self.owner = owner
        self.locks = locks
        self.objects = owner.mirror.objects
        self.interval = crawler.settings.getfloat("OUTPUT_STORE_INTERVAL")
        self.objects.patience = crawler.settings.getfloat("OUTPUT_STORE_PATIENCE")
        self.objects.tell = logger.warning
        self.head = owner.state.head
        self.waiting = 0
        self.since = time.monotonic()
        self.failed: CrawlersError | None = None
        self.ended = asyncio.Event()
        self.is_renewed, self.is_stored = Repeated(self._renew), Repeated(self._store_some)
        atexit.register(self._leave)

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        """Take the source, and the hosts that it asks.

        Raises:
            NotConfigured: output is in a folder, or the spider crawls no catalogue.
            TakenError: another crawl has one of them.
            StoreError: the store can't be used.
        """
        spider: Any = crawler.spider
        if not crawler.settings["OUTPUT_STORE"] or not hasattr(spider, "source"):
            raise NotConfigured("output is in a folder, or the spider crawls no catalogue")
        here = mirror(crawler.settings, creates=True)
        assert here is not None  # noqa: S101  # there is an OUTPUT_STORE
        locks = list(_locked(here, spider))
        try:
            owner = here.own(spider.source)
        except CrawlersError:
            _give_back(locks)
            with suppress(CrawlersError, OSError):
                here.note_running(spider.source)  # so that it is seen here that it runs elsewhere
            raise
        storing = cls(crawler, owner, locks)
        storing.begin(crawler.settings["JOBDIR"])
        return storing

    def begin(self, jobdir: str | None) -> None:
        """Discard a job that others have overtaken, and listen to the crawl."""
        if self.owner.is_rebuilt and jobdir and Job.discard(Path(jobdir)):
            logger.warning("Others have crawled %s since: it is listed from the beginning.", self.owner.source)
        connect = self.crawler.signals.connect
        connect(self.spider_opened, signal=scrapy_signals.spider_opened)
        connect(self.items_kept, signal=signals.items_kept)
        connect(self.run_ended, signal=signals.run_ended)
        connect(self.spider_closed, signal=scrapy_signals.spider_closed)

    @property
    def is_held(self) -> bool:
        """Whether nobody else can crawl the source, or ask its hosts."""
        return self.failed is None and all(lease.is_held for lease in (self.owner.lease, *self.locks))

    def spider_opened(self) -> None:
        """Begin to renew and to store; what is to be done last is connected last."""
        Pace.installed(self.crawler).permits = lambda: self.is_held
        self.crawler.signals.connect(self.engine_stopped, signal=scrapy_signals.engine_stopped)
        if not self.crawler.get_extension(Report):
            self.ended.set()
        beat = min(_LONGEST, self.owner.mirror.seconds / _BEATS)
        self.is_renewed.start(beat)
        self.is_stored.start(_LOOK)

    def items_kept(self, items: list[Any]) -> None:
        """Count what is to be stored."""
        self.waiting += len(items)

    def run_ended(self, report: dict[str, Any]) -> None:
        """Note that the report is written."""
        self.owner.committing.run = report.get("run")
        self.ended.set()

    async def _renew(self) -> None:
        """Renew the leases; the store may be out of reach for a while."""
        running = self._running()
        try:
            for lease in (self.owner.lease, *self.locks):
                await _in_thread(partial(lease.renew, self.head, running))
        except TakenError as error:
            self._stop(error)
        except StoreError as error:
            logger.warning("The lease of %s can't be renewed: %s", self.owner.source, error)

    def _running(self) -> dict[str, Any] | None:
        """Return what running.json says, for other nodes."""
        try:
            found = json.loads(inside.read(self.owner.replay.folder, "running.json", _LARGEST))
        except (OSError, ValueError):
            return None
        return found if isinstance(found, dict) else None

    async def _store_some(self) -> None:
        """Store what the crawl has written, if it is enough, or long ago."""
        if self.waiting >= MOST or time.monotonic() - self.since >= self.interval:
            await self._store(is_end=False)

    async def _store(self, *, is_end: bool) -> None:
        if self.failed:
            return
        self.waiting, self.since = 0, time.monotonic()
        try:
            await _in_thread(partial(self.owner.store, is_end=is_end))
            self.head = self.owner.state.head
        except (CrawlersError, OSError) as error:
            self._stop(error if isinstance(error, CrawlersError) else StoreError(f"{error}."))

    def _stop(self, error: CrawlersError) -> None:
        """Send nothing more, store nothing more, and stop the crawl."""
        if self.failed:
            return
        self.failed = error
        self.objects.is_over.set()
        logger.error("%s", error)
        reason = "shutdown" if isinstance(error, TakenError) else "store"
        engine: Any = self.crawler.engine
        if not self.ended.is_set():
            self.closing = asyncio.ensure_future(engine.close_spider_async(reason=reason))

    async def spider_closed(self) -> None:
        """Store the rest once the report is written, and give the source back."""
        await self.ended.wait()
        await self.is_stored.stop()
        await self._store(is_end=True)
        await self.is_renewed.stop()
        if self.failed is None:
            await _in_thread(self._release)

    def engine_stopped(self) -> None:
        """Undo what was not stored if another node has the source, after the index is closed."""
        if isinstance(self.failed, TakenError):
            with suppress(CrawlersError, OSError):
                self.owner.reset()
                self.owner.mirror.note_running(self.owner.source)
        atexit.unregister(self._leave)
        self._close()

    def _release(self) -> None:
        with suppress(CrawlersError):  # then they expire
            self.owner.release()
        _give_back(self.locks)

    def _leave(self) -> None:
        """Give the source back at the end of the process, if the crawl did not begin or was stopped at once."""
        self.objects.is_over.set()
        if self.failed is None:
            self._release()
        self._close()

    def _close(self) -> None:
        self.owner.close()


def _locked(here: Mirror, spider: Any) -> Iterator[Lease]:
    """Take the hosts that a crawl asks; one that asks many takes the lock of those.

    Raises:
        TakenError: another crawl asks one of them.
    """
    taken: list[Lease] = []
    names = {safe(host.replace(":", "_")): host for host in sorted(hosts(spider))} or _MANY
    for name, what in names.items():
        lock = here.lock_of(name, what)
        try:
            lock.take()
        except CrawlersError:
            _give_back(taken)
            raise
        taken.append(lock)
    yield from taken


def _give_back(locks: list[Lease]) -> None:
    for lock in locks:
        with suppress(CrawlersError):
            lock.renew(0, is_released=True)
        lock.close()


async def _in_thread(work: Callable[[], T]) -> T:
    """Do something that waits, in a thread that does not hold up the end of the process."""
    loop = asyncio.get_running_loop()
    done: asyncio.Future[T] = loop.create_future()

    def settle(value: T | None, error: BaseException | None) -> None:
        if done.done():
            return
        if error is None:
            done.set_result(value)  # type: ignore[arg-type]
        else:
            done.set_exception(error)

    def run() -> None:
        value, raised = None, None
        try:
            value = work()
        except BaseException as error:  # noqa: BLE001 -- it is raised where it is waited for
            raised = error
        with suppress(RuntimeError):  # the loop has ended
            loop.call_soon_threadsafe(settle, value, raised)

    threading.Thread(target=run, daemon=True).start()
    return await done
