"""When GitHub may be asked: its rate limits in terms of HTTP, and what ends a run so that it can be continued."""

from __future__ import annotations

import asyncio
import re
import time
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING, Any, Self
from urllib.parse import urlsplit

from scrapy.exceptions import CannotResolveHostError, DownloadConnectionRefusedError, DownloadFailedError
from scrapy.utils.httpobj import urlparse_cached

from crawlers.components.politeness.pace import Pace, retry_after
from crawlers.exceptions import AnswerError
from crawlers.safety import strict_json
from crawlers.safety.tokens import origin

if TYPE_CHECKING:
    from scrapy import Request
    from scrapy.crawler import Crawler
    from scrapy.http import Response

_UNSTATED = 60.0  # seconds that GitHub wants after a secondary limit without Retry-After, doubled if it comes again
_MOST_DOUBLED = 5
_LONGEST = 10.0 * 365 * 24 * 3600  # seconds: no calendar has the end of some
_MESSAGE = "rate limit"
_ERRORS = ("RATE_LIMITED", "RATE_LIMIT")
_NOT_ACCEPTED = (
    "GitHub does not accept the token in {name}: it is wrong, expired or revoked. Make a new one, or unset {name}; "
    "with its JOBDIR, the same command then continues."
)
_UNREACHABLE = "GitHub can't be reached ({error}). Run the same command again later: with its JOBDIR, it continues."
_FAILURES = (CannotResolveHostError, DownloadConnectionRefusedError, DownloadFailedError)
_USED_UP = (
    "GitHub's rate limit is used up until {until} UTC, longer than RETRY_AFTER_MAX waits. Run the same command again "
    "then: with its JOBDIR, it continues."
)


class GitHubAccess:
    """The downloader middleware that turns GitHub's refusals for a rate limit into a 429 with Retry-After.

    `BackoffRetry` then waits and asks again. GitHub refuses with 403, 429 or, to GraphQL, 200. Until when is in
    ``Retry-After``, or in ``X-RateLimit-Reset`` where ``X-RateLimit-Remaining`` is 0.

    Three things end the run, and leave its requests in the queue, so that the same command continues with its JOBDIR: a
    wait that is longer than RETRY_AFTER_MAX, a token that GitHub does not accept, and a GitHub that can't be reached.
    """

    def __init__(self, crawler: Crawler) -> None:
        self.crawler = crawler
        self.pace = Pace.installed(crawler)
        self.api = origin(urlsplit(crawler.settings["GITHUB_API"]))
        self.longest = crawler.settings.getfloat("RETRY_AFTER_MAX")
        self.attempts = crawler.settings.getint("RETRY_TIMES") + 1
        self.repeated = self.failures = 0
        self.closing: asyncio.Task[None] | None = None

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        return cls(crawler)

    def process_response(self, request: Request, response: Response) -> Request | Response:
        if origin(urlparse_cached(request)) != self.api:
            return response
        self.failures = 0
        if response.status == 401:
            return self.stop(request, "bad_token", _NOT_ACCEPTED.format(name=self.crawler.settings["GITHUB_TOKEN_ENV"]))
        seconds = self.demanded(response)
        if not seconds:
            self.rest(request, response)
            return response
        if seconds > self.longest:
            until = time.strftime("%Y-%m-%d %H:%M", time.gmtime(time.time() + seconds))
            return self.stop(request, "rate_limit", _USED_UP.format(until=until))
        headers = response.headers.copy()
        headers["Retry-After"] = f"{seconds:.0f}"
        return response.replace(status=429, headers=headers)

    def process_exception(self, request: Request, exception: Exception) -> Request | None:
        if origin(urlparse_cached(request)) != self.api or not isinstance(exception, _FAILURES):
            return None
        self.failures += 1
        if self.failures < self.attempts:
            return None
        return self.stop(request, "unreachable", _UNREACHABLE.format(error=exception))

    def demanded(self, response: Response) -> float:
        """Return the seconds that a refusal demands; 0 if the answer is none."""
        if not is_refusal(response):
            self.repeated = 0
            return 0.0
        stated = min(_LONGEST, retry_after(response) or until_reset(response))
        self.repeated += not stated
        return stated or _UNSTATED * 2.0 ** min(self.repeated - 1, _MOST_DOUBLED)

    def rest(self, request: Request, response: Response) -> None:
        """Ask nothing more until the limit is reset, if the answer says that it was the last one for now."""
        seconds = 0.0 if "cached" in response.flags else until_reset(response)
        if 0 < seconds <= self.longest:
            self.pace.pauses.start(self.pace.key(request), seconds, "GitHub's rate limit is used up")

    def stop(self, request: Request, reason: str, sentence: str) -> Request:
        """End the run; return the request, which the scheduler keeps."""
        if self.closing is None:
            spider: Any = self.crawler.spider
            engine: Any = self.crawler.engine
            spider.stopped = sentence
            spider.logger.error("%s", sentence)
            self.closing = asyncio.get_running_loop().create_task(engine.close_spider_async(reason=reason))
        return request.replace(dont_filter=True)


def is_refusal(response: Response) -> bool:
    """Return whether GitHub refused a request for a rate limit.

    >>> from scrapy.http import Response
    >>> used_up = {"X-RateLimit-Remaining": "0"}
    >>> is_refusal(Response("https://a", status=403, headers=used_up)), is_refusal(Response("https://a", status=403))
    (True, False)
    >>> is_refusal(Response("https://a", body=b'{"errors": [{"type": "RATE_LIMITED"}]}'))
    True
    """
    if response.status == 403:
        is_stated = bool(retry_after(response)) or response.headers.get("X-RateLimit-Remaining") == b"0"
        return is_stated or _MESSAGE in response.body.decode("utf-8", errors="replace").lower()
    return response.status == 429 or (response.status == 200 and _is_refusal_of_graphql(response.body))


def _is_refusal_of_graphql(body: bytes) -> bool:
    if b'"errors"' not in body:
        return False
    try:
        answer = strict_json.loads(body)
    except (ValueError, AnswerError):
        return False
    errors = answer.get("errors") if isinstance(answer, dict) and not answer.get("data") else None
    said = [error for error in errors if isinstance(error, dict)] if isinstance(errors, list) else []
    return any(error.get("type") in _ERRORS or _MESSAGE in str(error.get("message")).lower() for error in said)


def until_reset(response: Response) -> float:
    """Return the seconds until a rate limit that is used up is reset, by GitHub's clock; 0 if none is used up.

    >>> from scrapy.http import Response
    >>> used_up = {"X-RateLimit-Remaining": "0", "X-RateLimit-Reset": "1795427130"}
    >>> until_reset(Response("https://a", headers=used_up | {"Date": "Mon, 23 Nov 2026 09:45:00 GMT"}))
    30.0
    """
    reset = (response.headers.get("X-RateLimit-Reset") or b"").decode("latin-1")
    if response.headers.get("X-RateLimit-Remaining") != b"0" or not re.fullmatch("[0-9]{1,12}", reset):
        return 0.0
    return max(1.0, int(reset) - _time(response))


def _time(response: Response) -> float:
    try:
        return parsedate_to_datetime((response.headers.get("Date") or b"").decode("latin-1")).timestamp()
    except ValueError:
        return time.time()
