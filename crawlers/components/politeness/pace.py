"""How fast hosts are asked: the rate of each, its pauses and retries. The only owner of the downloader's slots."""

from __future__ import annotations

import logging
import random
from collections import Counter, deque
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from functools import cached_property
from math import inf
from time import monotonic
from typing import TYPE_CHECKING, ClassVar, Self

from scrapy import Request, signals
from scrapy.core.downloader import Downloader as ScrapyDownloader
from scrapy.downloadermiddlewares.retry import RetryMiddleware
from scrapy.exceptions import IgnoreRequest
from scrapy.extensions.throttle import AutoThrottle
from scrapy.http.request import NO_CALLBACK
from scrapy.utils.asyncio import call_later, create_looping_call
from scrapy.utils.httpobj import urlparse_cached

from crawlers.components.politeness.failures import NotAsked
from crawlers.components.politeness.turns import Turns
from crawlers.components.scrapy_internals import is_closing, permits, process_queue
from crawlers.exceptions import CrawlersError

if TYPE_CHECKING:
    from collections.abc import Callable

    from scrapy import Spider
    from scrapy.core.downloader import Slot
    from scrapy.crawler import Crawler
    from scrapy.http import Response
    from scrapy.settings import BaseSettings


_GOOD = 20  # accepted requests in a row before the rate rises a little
_STEPS = 20  # so often the rate rises until it is what it was when the host refused, and half of that was taken away
_SLOWEST = 1 / 60  # requests a second
_UNKNOWN = 2.0  # requests a second, of a host that has answered once


class Limit:
    """How fast one host may be asked, as its refusals teach: additive increase, multiplicative decrease.

    Attributes:
        rate: requests a second at most; infinite as long as the host has refused nothing.
    """

    def __init__(self) -> None:
        self.rate = inf
        self._step = 0.0
        self._has_risen = True  # since the last refusal
        self._good = 0
        self._lowered = -inf
        self._answers: deque[float] = deque(maxlen=20)

    @property
    def delay(self) -> float:
        """Seconds between two requests; 0 without a limit."""
        return 1 / self.rate

    def accept(self, now: float) -> bool:
        """Record an accepted request, and return whether the rate has risen.

        Args:
            now: on a clock that never goes back, in seconds.
        """
        self._answers.append(now)
        self._good += self.rate < inf
        if self._good < _GOOD:
            return False
        self._good, self._has_risen = 0, True
        self.rate += self._step
        return True

    def refuse(self, now: float, sent: float, delay: float) -> bool:
        """Take note of a refusal, and return whether the rate was halved: once for all that was under way.

        Args:
            sent: when the request was made.
            delay: current seconds between two requests; 0 means no limit.
        """
        self._answers.append(now)
        if sent < self._lowered:
            return False
        seconds = now - self._answers[0]
        observed = (len(self._answers) - 1) / seconds if seconds > 0 else _UNKNOWN
        rate = 1 / delay if delay > 0 else observed
        self.rate = max(rate / 2, _SLOWEST)
        if self._has_risen:  # else every refusal of one outage would also halve the steps of the recovery
            self._step = rate / _STEPS
        self._good, self._lowered, self._has_risen = 0, now, False
        return True


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
        until, stats = self.clock() + seconds, self.crawler.stats
        held = stats.get_value("politeness/held_seconds", 0) + (until - known.until if known else seconds)
        stats.set_value("politeness/held_seconds", round(held, 3))
        stats.inc_value("politeness/holds", 0 if known else 1)
        logger.info("%s is paused for %.1f s: %s", key, seconds, reason)
        self.by_key[key] = Pause(seconds, until)
        self.tell(key, f"waits {seconds:.0f} s for {key}: {reason}")
        slot.close()  # cancels the wait between two requests, or the shorter pause
        slot.latercall = call_later(seconds, self._end, key, slot)
        slot.lastseen = until  # an idle slot would be forgotten, and the pause with it

    def tell(self, key: str, reason: str | None) -> None:
        """Store why a host is not asked in the stats, for the heartbeat and the dashboard; ``None`` if it is."""
        waits = self.crawler.stats.get_value("politeness/waits", {})
        others = {name: known for name, known in waits.items() if name != key}
        self.crawler.stats.set_value("politeness/waits", others | ({key: reason} if reason else {}))

    def _end(self, key: str, slot: Slot) -> None:
        del self.by_key[key]
        self.tell(key, None)
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
    """Scrapy's Downloader; what waits for a host does not count for CONCURRENT_REQUESTS.

    A host is waited for while it is paused, while its robots.txt comes, and while another crawl asks it (`Turns`).

    Of each such host, twice as many requests as it is sent in parallel (CONCURRENT_REQUESTS_PER_DOMAIN) at most, and
    its robots.txt: a scheduler that gives hosts no turns would else hand over its whole queue.
    """

    @cached_property
    def pace(self) -> Pace:
        return Pace.installed(self.crawler)

    @cached_property
    def turns(self) -> Turns:
        return Turns(self.crawler, self.pace.pauses.tell)

    def _process_queue(self, slot: Slot) -> None:
        if permits(self.crawler) and self.turns.may_ask(slot):
            super()._process_queue(slot)
        elif not slot.latercall:
            slot.latercall = call_later(_LOOK, self._latercall, slot)

    def needs_backout(self) -> bool:
        return super().needs_backout() and len(self.active) - self.paused() >= self.total_concurrency

    def paused(self) -> int:
        """Return how many requests wait for a pause, or for another crawl, to end."""
        slots = {key: slot for key, slot in self.slots.items() if key in self.pace.pauses or key in self.turns.waiting}
        if not slots:
            return 0
        active = Counter(map(self.get_slot_key, self.active))
        return sum(min(active[key] - len(slot.transferring), 2 * slot.concurrency + 1) for key, slot in slots.items())


RETRY_AFTER_MAX = 3600.0


class WaitTooLong(NotAsked):
    """A host demands a pause longer than RETRY_AFTER_MAX."""

    kind: ClassVar[str] = "blocked"

    def __init__(self, response: Response, seconds: float) -> None:
        sentence = f"HTTP {response.status}: the portal asks to wait {seconds:.0f} s, longer than RETRY_AFTER_MAX"
        super().__init__(sentence)
        self.response = response


class BackoffRetry(RetryMiddleware):
    """Scrapy's RetryMiddleware; before a retry, the whole host is paused.

    For as long as ``Retry-After`` says, else for RETRY_BACKOFF seconds (0 = not at all), doubled while nothing but
    failures come, less up to a half by chance, at most RETRY_BACKOFF_MAX. Where ``Retry-After`` is longer than
    RETRY_AFTER_MAX, the request is given up. After a 429, or a 503 with ``Retry-After``, the host is asked half as
    often for the rest of the run, and then a little faster with every twenty answers.
    """

    pace: Pace
    base: float
    cap: float
    longest: float
    failures: dict[str, int]

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        middleware = super().from_crawler(crawler)
        middleware.pace = Pace.installed(crawler)
        middleware.base = crawler.settings.getfloat("RETRY_BACKOFF", 1.0)
        middleware.cap = crawler.settings.getfloat("RETRY_BACKOFF_MAX", 60.0)
        middleware.longest = crawler.settings.getfloat("RETRY_AFTER_MAX", RETRY_AFTER_MAX)
        middleware.failures = {}
        return middleware

    def process_response(self, request: Request, response: Response) -> Request | Response:  # type: ignore[override]
        key = self.pace.key(request)
        if response.status not in self.retry_http_codes:
            self.failures.pop(key, None)
            if "cached" not in response.flags:
                self.pace.answered(request)
            return response
        seconds = retry_after(response)
        if response.status == 429 or (response.status == 503 and seconds):
            self.pace.answered(request, refusal=f"HTTP {response.status}")
        if seconds > self.longest:
            raise WaitTooLong(response, seconds)
        if seconds:
            self.pace.pauses.start(key, seconds, f"HTTP {response.status}, Retry-After")
        outcome = super().process_response(request, response)
        if isinstance(outcome, Request):
            self._back_off(key, request, f"HTTP {response.status}")
        return outcome

    def process_exception(self, request: Request, exception: Exception) -> Request | Response | None:  # type: ignore[override]
        if isinstance(exception, Stopping):
            return None if request.callback is NO_CALLBACK else request.replace(dont_filter=True)
        outcome = super().process_exception(request, exception)
        if isinstance(outcome, Request):
            self._back_off(self.pace.key(request), request, type(exception).__name__)
        return outcome

    def _back_off(self, key: str, request: Request, reason: str) -> None:
        """A burst of failures counts once; one address that fails among others that don't slows them for a moment."""
        if key in self.pace.pauses:
            return
        before = self.failures.get(key, 0)
        self.failures[key] = before + 1
        self.pace.pauses.start(key, self.pause(min(before, request.meta.get("retry_times", 0))), f"{reason}, back-off")

    def pause(self, attempt: int) -> float:
        """Return the seconds to wait after `attempt` retries: base * 2^n, capped, and at least half of it."""
        full = min(self.cap, self.base * 2.0 ** min(attempt, 32))
        return full * random.uniform(0.5, 1.0)  # noqa: S311


def retry_after(response: Response) -> float:
    """Return the seconds that ``Retry-After`` demands; 0.0 if it is missing or invalid."""
    text = (response.headers.get("Retry-After") or b"").decode("latin-1").strip()
    if text.isdecimal():
        return float(text)
    try:
        moment = parsedate_to_datetime(text)
        return max(0.0, (moment.replace(tzinfo=moment.tzinfo or UTC) - datetime.now(UTC)).total_seconds())
    except (ValueError, OverflowError):
        return 0.0


_COOKIES = "scrapy.downloadermiddlewares.cookies.CookiesMiddleware"


class Politeness:
    """REQUESTS_PER_SECOND becomes the download delay and AutoThrottle's floor, CONTACT goes into the user agent.

    Without COOKIES_ENABLED their middleware is not even imported.

    At add-on priority: a project's or a command line's own DOWNLOAD_DELAY, AUTOTHROTTLE_ENABLED or USER_AGENT wins.
    """

    def update_settings(self, settings: BaseSettings) -> None:
        rate = settings.getfloat("REQUESTS_PER_SECOND")
        delay = 1 / rate if rate > 0 else 0.0
        settings.set("DOWNLOAD_DELAY", delay, "addon")
        settings.set("AUTOTHROTTLE_START_DELAY", delay, "addon")
        settings.set("AUTOTHROTTLE_ENABLED", rate > 0, "addon")
        if not settings.getbool("COOKIES_ENABLED"):  # the middleware would leave, after imports that take 30 ms
            settings["DOWNLOADER_MIDDLEWARES_BASE"].pop(_COOKIES, None)
        contact = settings.get("CONTACT")
        product = f"{settings['BOT_NAME']}/{settings['VERSION']}"
        settings.set("USER_AGENT", f"{product} (+{contact})" if contact else product, "addon")
        if "harvester" in str(settings["USER_AGENT"]).lower():
            logger.warning("HDX and others refuse a user agent with %r in it: %s", "harvester", settings["USER_AGENT"])
