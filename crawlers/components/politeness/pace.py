"""The only owner of the downloader's slots: the request rate of each host, its pauses, and its waiting requests."""

from __future__ import annotations

import logging
from collections import Counter
from dataclasses import dataclass
from functools import cached_property
from math import inf
from time import monotonic
from typing import TYPE_CHECKING, Self

from scrapy import signals
from scrapy.core.downloader import Downloader as ScrapyDownloader
from scrapy.exceptions import IgnoreRequest
from scrapy.extensions.throttle import AutoThrottle
from scrapy.utils.asyncio import call_later, create_looping_call
from scrapy.utils.httpobj import urlparse_cached

from crawlers.components.politeness.limit import Limit
from crawlers.components.scrapy_internals import is_closing, permits, process_queue
from crawlers.exceptions import CrawlersError

if TYPE_CHECKING:
    from collections.abc import Callable

    from scrapy import Request, Spider
    from scrapy.core.downloader import Slot
    from scrapy.crawler import Crawler
    from scrapy.http import Response

logger = logging.getLogger(__name__)

_LOOK = 0.25  # seconds between looks at whether the crawl is being stopped: Scrapy has no signal for that


class Stopping(IgnoreRequest):
    """The crawl is being stopped while this request waits for its host; `BackoffRetry` hands it to the scheduler."""


@dataclass(slots=True)
class Pause:
    """A pause of a host.

    Args:
        seconds: how long it lasts, as the host or the back-off demands.
        until: when it ends, on the monotonic clock.
    """

    seconds: float
    until: float


class Pauses:
    """The hosts that get no requests for a while."""

    def __init__(self, crawler: Crawler) -> None:
        self.crawler = crawler
        self.by_key: dict[str, Pause] = {}
        self.clock = monotonic

    def __contains__(self, key: str) -> bool:
        return key in self.by_key

    def start(self, key: str, seconds: float, reason: str) -> None:
        """Send nothing to the host for a number of seconds.

        Answers that arrive during a pause belong to earlier requests: they only count if they demand a longer pause.
        """
        slot, known = self.crawler.engine.downloader.slots.get(key), self.by_key.get(key)
        if slot is None or seconds <= 0 or (known and seconds <= known.seconds):
            return
        until = self.clock() + seconds
        self._count(until - known.until if known else seconds, is_new=known is None)
        logger.info("%s is paused for %.1f s: %s", key, seconds, reason)
        self.by_key[key] = Pause(seconds, until)
        self._publish(key, f"waits {seconds:.0f} s for {key}: {reason}")
        slot.close()  # cancels the wait between two requests, or the shorter pause
        slot.latercall = call_later(seconds, self._end, key, slot)
        slot.lastseen = until  # an idle slot would be forgotten, and the pause with it

    def _count(self, seconds: float, *, is_new: bool) -> None:
        stats = self.crawler.stats
        stats.inc_value("politeness/holds", 1 if is_new else 0)
        stats.set_value("politeness/held_seconds", round(stats.get_value("politeness/held_seconds", 0) + seconds, 3))

    def _publish(self, key: str, reason: str | None) -> None:
        """Store the reasons of the pauses in the stats, for the heartbeat and the dashboard."""
        waits = self.crawler.stats.get_value("politeness/waits", {})
        others = {name: known for name, known in waits.items() if name != key}
        self.crawler.stats.set_value("politeness/waits", others | ({key: reason} if reason else {}))

    def _end(self, key: str, slot: Slot) -> None:
        del self.by_key[key]
        self._publish(key, None)
        slot.latercall = None
        slot.lastseen = self.clock() - slot.delay
        process_queue(self.crawler, slot)


class Pace(AutoThrottle):
    """Scrapy's AutoThrottle, with a minimum delay for each host that it never undercuts, and with pauses.

    Settings: AutoThrottle's own. Without AUTOTHROTTLE_ENABLED, minimum delays and pauses still hold.
    """

    def __init__(self, crawler: Crawler) -> None:
        self.crawler = crawler
        self.pauses = Pauses(crawler)
        self.floors: dict[str, float] = {}
        self.limits: dict[str, Limit] = {}
        self.clock = monotonic
        self.throttles = crawler.settings.getbool("AUTOTHROTTLE_ENABLED")
        if self.throttles:
            super().__init__(crawler)
        crawler.signals.connect(self.request_left, signal=signals.request_left_downloader)
        crawler.signals.connect(self.spider_opened, signal=signals.spider_opened)
        crawler.signals.connect(self.spider_closed, signal=signals.spider_closed)

    @classmethod
    def installed(cls, crawler: Crawler) -> Self:
        """Return the extension of a crawl.

        Raises:
            CrawlersError: it is not among the crawler's extensions.
        """
        pace = crawler.get_extension(cls)
        if pace is None:
            raise CrawlersError(f"EXTENSIONS lacks {cls.__module__}.{cls.__name__}, which the politeness needs")
        return pace

    def key(self, request: Request) -> str:
        """Return the name of the slot that the request waits in: its host."""
        return self.crawler.engine.downloader.get_slot_key(request)

    def request_left(self, request: Request) -> None:
        """Forget the slot that Scrapy noted in the request: where it is redirected to may be another host's."""
        if request.meta.get("download_slot") == urlparse_cached(request).hostname:
            del request.meta["download_slot"]

    # Request rate

    def floor(self, key: str) -> float:
        """Return the minimum delay between two requests to a host: as set, demanded, or learned from refusals."""
        learned = self.limits[key].delay if key in self.limits else 0.0
        return max(self._set(key), learned)

    def _set(self, key: str) -> float:
        if key not in self.floors:
            settings, default = self.crawler.engine.downloader.per_slot_settings, self._min_delay()
            self.floors[key] = float(settings.get(key, {}).get("delay", default))
        return self.floors[key]

    def raise_floor(self, key: str, seconds: float) -> None:
        """Raise the minimum delay of a host for the rest of the run."""
        self.floors[key] = max(self._set(key), seconds)
        self._keep(key)

    def _keep(self, key: str) -> None:
        """Store the delay where Scrapy looks when it rebuilds a slot: it forgets a slot that was idle for a minute."""
        downloader, floor = self.crawler.engine.downloader, self.floor(key)
        known, slot = downloader.per_slot_settings.get(key, {}), downloader.slots.get(key)
        downloader.per_slot_settings[key] = {**known, "delay": floor, "jitter": 0.0}
        if slot:
            slot.jitter = 0.0
            slot.delay = max(slot.delay, floor) if self.throttles else floor

    def answered(self, request: Request, *, refusal: str = "") -> None:
        """Learn from an answer how fast its host may be asked, never faster than the settings allow.

        Args:
            refusal: why the host refused the request as too fast; empty if it did not.
        """
        key, now = self.key(request), self.clock()
        limit = self.limits.setdefault(key, Limit())
        if not refusal:
            if limit.accept(now):
                self._keep(key)
            return
        slot = self.crawler.engine.downloader.slots.get(key)
        delay = max(self.floor(key), slot.delay if slot else 0.0)
        # The latency ends with the headers: a busy machine looks at the answer later, and would date the request late
        sent = -inf if key in self.pauses else now - request.meta.get("download_latency", 0.0)
        if limit.refuse(now, sent, delay):
            self._keep(key)
            self.crawler.stats.inc_value("politeness/slowdowns")
            logger.info("%s is asked every %.2g s at most from now on: %s", key, self.floor(key), refusal)

    def _response_downloaded(self, response: Response, request: Request, spider: Spider) -> None:
        super()._response_downloaded(response, request, spider)
        key, slot = self._get_slot(request, spider)
        if key and slot:
            slot.delay = max(slot.delay, self.floor(key))

    # Waiting requests

    def dismiss(self, key: str, refusal: Callable[[Request], Exception | None]) -> None:
        """Fail the waiting requests to a host for which there is a refusal, without sending them."""
        slot = self.crawler.engine.downloader.slots.get(key)
        waiting = list(slot.queue) if slot else []
        for request, answer in waiting:
            error = refusal(request)
            if slot and error:
                slot.queue.remove((request, answer))
                answer.errback(error)

    def spider_opened(self) -> None:
        self.looks = create_looping_call(self._look)
        self.looks.start(_LOOK, now=False)

    def spider_closed(self) -> None:
        if self.looks.running:
            self.looks.stop()

    def _look(self) -> None:
        """Hand all waiting requests back to the scheduler when the crawl is being stopped."""
        if not is_closing(self.crawler):
            return
        for key in list(self.crawler.engine.downloader.slots):
            self.dismiss(key, lambda _: Stopping("the crawl is being stopped"))


class Downloader(ScrapyDownloader):
    """Scrapy's Downloader; what waits for a paused host, or for its robots.txt, does not count for CONCURRENT_REQUESTS.

    Of each such host, twice as many requests as it is sent in parallel (CONCURRENT_REQUESTS_PER_DOMAIN) at most, and
    its robots.txt: a scheduler that gives hosts no turns would else hand over its whole queue.
    """

    @cached_property
    def pace(self) -> Pace:
        return Pace.installed(self.crawler)

    def _process_queue(self, slot: Slot) -> None:
        if permits(self.crawler):
            super()._process_queue(slot)
        elif not slot.latercall:
            slot.latercall = call_later(_LOOK, self._latercall, slot)

    def needs_backout(self) -> bool:
        return super().needs_backout() and len(self.active) - self.paused() >= self.total_concurrency

    def paused(self) -> int:
        """Return how many requests wait for a pause to end."""
        slots = {key: slot for key, slot in self.slots.items() if key in self.pace.pauses}
        if not slots:
            return 0
        active = Counter(map(self.get_slot_key, self.active))
        return sum(min(active[key] - len(slot.transferring), 2 * slot.concurrency + 1) for key, slot in slots.items())
