"""Retries that wait: Scrapy's own retry asks again at once, which is no help to a portal in trouble."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

from scrapy.downloadermiddlewares.retry import RetryMiddleware
from scrapy.http import Request, Response
from scrapy.utils.asyncio import sleep

if TYPE_CHECKING:
    from typing import Self

    from scrapy.crawler import Crawler


class BackoffRetry(RetryMiddleware):
    """Scrapy's RetryMiddleware with an exponential pause and jitter before each further attempt.

    Settings: RETRY_BACKOFF, the first pause in seconds (0 = none), doubled each time; RETRY_BACKOFF_MAX, its cap.
    """

    base: float
    cap: float

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        middleware = super().from_crawler(crawler)
        middleware.base = crawler.settings.getfloat("RETRY_BACKOFF")
        middleware.cap = crawler.settings.getfloat("RETRY_BACKOFF_MAX")
        return middleware

    async def process_response(self, request: Request, response: Response) -> Request | Response:  # type: ignore[override]
        return await self._paused(super().process_response(request, response), request) or response

    async def process_exception(self, request: Request, exception: Exception) -> Request | Response | None:  # type: ignore[override]
        return await self._paused(super().process_exception(request, exception), request)

    async def _paused(self, outcome: Request | Response | None, request: Request) -> Request | Response | None:
        if isinstance(outcome, Request) and self.base:
            await sleep(self.pause(request.meta.get("retry_times", 0)))
        return outcome

    def pause(self, attempt: int) -> float:
        """Seconds before the attempt after `attempt` retries: base * 2^n, capped, and at least half of it."""
        full = min(self.cap, self.base * 2.0 ** min(attempt, 32))
        return full * random.uniform(0.5, 1.0)  # noqa: S311
