"""Hosts that several machines share by a queue: a crawl asks none that another machine is asking."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, Self
from uuid import uuid4

from scrapy import signals
from scrapy.exceptions import NotConfigured

from crawlers.components.politeness.pace import Downloader
from crawlers.exceptions import OutputError
from crawlers.extensions.waiting import stopped_by_signals
from crawlers.fleet import load
from crawlers.listing.spider import hosts
from crawlers.safety import locks

if TYPE_CHECKING:
    from scrapy.crawler import Crawler


class SharedHosts:
    """Tells the downloader which hosts are this machine's, as the queue's database says.

    A crawl of one portal that a harvest has started has that host until it ends; all others take turns: `Turns`.

    Settings: QUEUE, QUEUE_PATIENCE, HOST_TURNS, JOBS_DIR.
    """

    def __init__(self, crawler: Crawler, shared: Any) -> None:
        self.crawler = crawler
        self.shared = shared

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        """Listen to the crawl.

        Raises:
            NotConfigured: there is no queue, or hosts take no turns.
            ExtraError: what a queue needs is not installed.
            HarvestError: QUEUE is no address, or the queue can't be used.
            OutputError: JOBS_DIR can't be made.
            StoppedError: somebody stopped the crawl while it waited for the queue.
        """
        address, settings = crawler.settings["QUEUE"], crawler.settings
        spider: Any = crawler.spider
        takes_turns = settings.getbool("HOST_TURNS", True)
        if not (address and hasattr(spider, "crosses_hosts") and (takes_turns or not spider.crosses_hosts)):
            raise NotConfigured  # without a reason, which would be a warning in every log
        fleet, jobs = load("hosts", "QUEUE"), Path(settings["JOBS_DIR"])
        patience, only = settings.getfloat("QUEUE_PATIENCE"), None if takes_turns else hosts(spider)
        try:
            node = fleet.machine(jobs)
            if only and not all(locks.is_inherited(locks.of_host(jobs, host)) for host in only):
                node = f"{node}:{uuid4().hex}"  # without the locks, it is not the one crawl of this machine that asks
        except OSError as error:
            raise OutputError(f"{jobs} is not writable ({error.strerror}): set another -s JOBS_DIR=") from None
        with stopped_by_signals():
            fleet.reach(load("database", "QUEUE").checked(address), patience / 2)
        made = cls(crawler, fleet.Hosts(address, node, patience, only))
        for name in ("spider_opened", "spider_closed"):
            crawler.signals.connect(getattr(made, name), signal=getattr(signals, name))
        return made

    def spider_opened(self) -> None:
        """Let the downloader ask which hosts are this machine's, before any request."""
        downloader = self.crawler.engine.downloader
        if isinstance(downloader, Downloader):
            downloader.turns.elsewhere = self.shared
            self.shared.start()

    async def spider_closed(self) -> None:
        """Give the hosts back: no request is made any more."""
        await self.shared.close()
