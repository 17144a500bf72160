"""The one owner of the downloader's slots: how fast each host is asked, when it is left alone, and who waits for it."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from time import monotonic
from typing import TYPE_CHECKING, Self

from scrapy import signals
from scrapy.exceptions import IgnoreRequest
from scrapy.extensions.throttle import AutoThrottle
from scrapy.utils.asyncio import call_later, create_looping_call

from crawlers.exceptions import CrawlersError
from crawlers.politeness.limit import Limit

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
class Hold:
    """A host is left alone.

    Args:
        seconds: for how long, as was asked for.
        until: when that ends, on the monotonic clock.
    """

    seconds: float
    until: float


class Pace(AutoThrottle):
    """Scrapy's AutoThrottle, with a floor for each host that it never undercuts, and hosts that are left alone.

    Settings: AutoThrottle's own. Where AUTOTHROTTLE_ENABLED is off, floors and holds still are kept.
    """

    def __init__(self, crawler: Crawler) -> None:
        self.crawler = crawler
        self.holds: dict[str, Hold] = {}
        self.floors: dict[str, float] = {}
        self.limits: dict[str, Limit] = {}
        self.clock = monotonic
        self.throttles = crawler.settings.getbool("AUTOTHROTTLE_ENABLED")
        if self.throttles:
            super().__init__(crawler)
        crawler.signals.connect(self.spider_opened, signal=signals.spider_opened)
        crawler.signals.connect(self.spider_closed, signal=signals.spider_closed)

    @classmethod
    def of(cls, crawler: Crawler) -> Self:
        """
        Raises:
            CrawlersError: it is not among the crawler's extensions.
        """
        pace = crawler.get_extension(cls)
        if pace is None:
            raise CrawlersError(f"EXTENSIONS lacks {cls.__module__}.{cls.__name__}, which the politeness needs")
        return pace

    def key(self, request: Request) -> str:
        """The name of the slot that the request waits in: its host."""
        return self.crawler.engine.downloader.get_slot_key(request)

    # How fast

    def floor(self, key: str) -> float:
        """Return the fewest seconds between two requests to a host: as is set, as it asks for, as it has taught."""
        learned = self.limits[key].delay if key in self.limits else 0.0
        return max(self._set(key), learned)

    def _set(self, key: str) -> float:
        if key not in self.floors:
            settings, default = self.crawler.engine.downloader.per_slot_settings, self._min_delay()
            self.floors[key] = float(settings.get(key, {}).get("delay", default))
        return self.floors[key]

    def raise_floor(self, key: str, seconds: float) -> None:
        """Ask a host less often, for the rest of the run."""
        self.floors[key] = max(self._set(key), seconds)
        self._keep(key)

    def _keep(self, key: str) -> None:
        """Kept where Scrapy looks when it makes a slot anew: it forgets one that was idle for a minute."""
        downloader, floor = self.crawler.engine.downloader, self.floor(key)
        known, slot = downloader.per_slot_settings.get(key, {}), downloader.slots.get(key)
        downloader.per_slot_settings[key] = {**known, "delay": floor, "jitter": 0.0}
        if slot:
            slot.jitter = 0.0
            slot.delay = max(slot.delay, floor) if self.throttles else floor

    def answered(self, request: Request, *, refusal: str = "") -> None:
        """Learn from an answer how fast its host may be asked; never faster than is set.

        Args:
            refusal: why it says that this was too fast; empty when it does not.
        """
        key, now = self.key(request), self.clock()
        limit = self.limits.setdefault(key, Limit())
        if not refusal:
            if limit.accept(now):
                self._keep(key)
            return
        slot = self.crawler.engine.downloader.slots.get(key)
        delay = max(self.floor(key), slot.delay if slot else 0.0)
        if limit.refuse(now, now - request.meta.get("download_latency", 0.0), delay):
            self._keep(key)
            self.crawler.stats.inc_value("politeness/slowdowns")
            logger.info("%s is asked every %.2g s at most from now on: %s", key, self.floor(key), refusal)

    def _response_downloaded(self, response: Response, request: Request, spider: Spider) -> None:
        super()._response_downloaded(response, request, spider)
        key, slot = self._get_slot(request, spider)
        if key and slot:
            slot.delay = max(slot.delay, self.floor(key))

    # Leaving a host alone

    def held(self, key: str) -> bool:
        return key in self.holds

    def hold(self, key: str, seconds: float, reason: str) -> None:
        """Sends nothing to the host for so long.

        Answers that come meanwhile were asked for before, so they change nothing, unless they ask for a longer wait.
        """
        slot, known = self.crawler.engine.downloader.slots.get(key), self.holds.get(key)
        if slot is None or seconds <= 0 or (known and seconds <= known.seconds):
            return
        until = self.clock() + seconds
        self._count(until - known.until if known else seconds, again=bool(known))
        logger.info("%s is left alone for %.1f s: %s", key, seconds, reason)
        self.holds[key] = Hold(seconds, until)
        self._say(key, f"waits {seconds:.0f} s for {key}: {reason}")
        slot.close()  # the wait between two requests, or the shorter hold
        slot.latercall = call_later(seconds, self._release, key, slot)
        slot.lastseen = until  # or it is forgotten as idle, and the hold with it

    def _count(self, seconds: float, *, again: bool) -> None:
        stats = self.crawler.stats
        stats.inc_value("politeness/holds", 0 if again else 1)
        stats.set_value("politeness/held_seconds", round(stats.get_value("politeness/held_seconds", 0) + seconds, 3))

    def _say(self, key: str, why: str | None) -> None:
        """Why hosts are left alone, for those who look at the crawl from outside."""
        waits = self.crawler.stats.get_value("politeness/waits", {})
        others = {name: said for name, said in waits.items() if name != key}
        self.crawler.stats.set_value("politeness/waits", others | ({key: why} if why else {}))

    def _release(self, key: str, slot: Slot) -> None:
        del self.holds[key]
        self._say(key, None)
        slot.latercall = None
        slot.lastseen = self.clock() - slot.delay
        self.crawler.engine.downloader._process_queue(slot)  # noqa: SLF001

    # Who waits

    def dismiss(self, key: str, refusal: Callable[[Request], Exception | None]) -> None:
        """Ends the wait of each request to a host for which there is a refusal, without asking."""
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
        """A crawl that is being stopped waits for no host: what was not sent yet goes back to the scheduler."""
        engine = self.crawler.engine
        if engine._slot is None or engine._slot.closing is None:  # noqa: SLF001
            return
        for key in list(engine.downloader.slots):
            self.dismiss(key, lambda _: Stopping("the crawl is being stopped"))
