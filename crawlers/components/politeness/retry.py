"""Retries that wait: Scrapy's own retry asks again at once, which is no help to a portal in trouble."""

from __future__ import annotations

import random
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING, ClassVar

from scrapy.downloadermiddlewares.retry import RetryMiddleware
from scrapy.http import Request, Response
from scrapy.http.request import NO_CALLBACK

from crawlers.components.politeness.not_asked import NotAsked
from crawlers.components.politeness.pace import Pace, Stopping

if TYPE_CHECKING:
    from typing import Self

    from scrapy.crawler import Crawler

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
