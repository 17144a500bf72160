"""robots.txt as RFC 9309 has it, its Crawl-delay, and the documented API that a portal's stock file forbids."""

from __future__ import annotations

import asyncio
import logging
import re
from dataclasses import dataclass
from time import monotonic
from typing import TYPE_CHECKING, ClassVar
from urllib.parse import urlsplit

from scrapy import Request, signals
from scrapy.downloadermiddlewares.robotstxt import RobotsTxtMiddleware
from scrapy.exceptions import IgnoreRequest
from scrapy.http.request import NO_CALLBACK
from scrapy.utils.httpobj import urlparse_cached
from scrapy.utils.misc import build_from_crawler

from crawlers.components.politeness.failures import NotAsked
from crawlers.components.politeness.pace import Pace, Stopping
from crawlers.exceptions import AnswerError
from crawlers.safety.addresses import PORTS

if TYPE_CHECKING:
    from scrapy.crawler import Crawler
    from scrapy.http import Response
    from scrapy.robotstxt import RobotParser

logger = logging.getLogger(__name__)

CRAWL_DELAY_MAX = 1.0
MOST_READ = 512 * 1024  # bytes; RFC 9309 wants at least 500 KiB
_RETRY = 300.0  # seconds until a robots.txt that was not available is requested again


class RobotsRefused(NotAsked):
    """A host's robots.txt disallows the address, or is unreachable, which means the same for now."""

    kind: ClassVar[str] = "robots"


@dataclass(frozen=True, slots=True)
class Rules:
    """A host's robots.txt.

    Args:
        parser: ``None`` when all is allowed.
        failure: why it was not available.
        until: when it is asked for again.
    """

    parser: RobotParser | None = None
    failure: str | None = None
    until: float = float("inf")

    def refusal(self, host: str, url: str, agent: str) -> str | None:
        if self.failure:
            return f"robots.txt of {host} is unreachable ({self.failure}), so nothing is requested until it answers"
        if self.parser and not self.parser.allowed(url, agent):
            return f"robots.txt of {host} disallows this address"
        return None


def is_unreachable(status: int) -> bool:
    """Return whether an HTTP status of robots.txt forbids everything for now, as no answer does (RFC 9309, 2.3.1.4).

    >>> [is_unreachable(status) for status in (200, 302, 403, 404, 429, 500, 503)]
    [False, False, False, False, True, True, True]
    """
    return status >= 500 or status == 429


class Robots(RobotsTxtMiddleware):
    """Scrapy's RobotsTxtMiddleware, with the rest of the RFC.

    Settings: ROBOTS_EXEMPT, patterns of paths that are asked for whatever robots.txt says, at hosts the user named: the
    spider's ``portal``, ROBOTS_EXEMPT_HOSTS, and those of requests with ``is_named`` in their meta.
    CRAWL_DELAY_MAX, the longest Crawl-delay that is kept, in seconds (0 = none is). With REQUESTS_PER_SECOND=0 none is
    kept either.
    """

    def __init__(self, crawler: Crawler) -> None:
        super().__init__(crawler)
        settings = crawler.settings
        self.pace = Pace.installed(crawler)
        self.rules: dict[str, asyncio.Task[Rules]] = {}
        self.exempt_paths = [re.compile(one) for one in settings.getlist("ROBOTS_EXEMPT")]
        self.exempt_hosts = set(settings.getlist("ROBOTS_EXEMPT_HOSTS"))
        unlimited = settings.getfloat("REQUESTS_PER_SECOND", 1.0) <= 0
        self.longest = 0.0 if unlimited else settings.getfloat("CRAWL_DELAY_MAX", CRAWL_DELAY_MAX)

    async def process_request(self, request: Request) -> None:  # type: ignore[override]
        if request.meta.get("dont_obey_robotstxt") or not request.url.startswith("http"):
            return
        exempt = self.exempt(request)
        if exempt and not self.longest:  # nothing in the file could matter
            self._stats.inc_value("politeness/robots_exempt")
            return
        rules = await self.of_host(request)
        refusal = rules.refusal(urlparse_cached(request).netloc, request.url, self.agent(request))
        if refusal and exempt:
            self._stats.inc_value("politeness/robots_exempt")
        elif refusal:
            self._stats.inc_value("robotstxt/forbidden")
            raise RobotsRefused(refusal)

    def exempt(self, request: Request) -> bool:
        parts = urlparse_cached(request)
        named = urlsplit(getattr(self.crawler.spider, "portal", None) or "").hostname
        is_named = parts.hostname == named or parts.hostname in self.exempt_hosts or request.meta.get("is_named")
        if not is_named:
            return False
        return any(pattern.search(parts.path) for pattern in self.exempt_paths)

    def agent(self, request: Request) -> str:
        given = request.headers.get(b"User-Agent")
        return self._robotstxt_useragent or (given.decode("latin-1") if given else self._default_useragent)

    # The file

    async def of_host(self, request: Request) -> Rules:
        """Download the file once for all requests that wait for it."""
        host = urlparse_cached(request).netloc
        known = self.rules.get(host)
        if known is None or (known.done() and (known.exception() or known.result().until < monotonic())):
            known = self.rules[host] = asyncio.get_running_loop().create_task(self._fetch(request))
        return await asyncio.shield(known)

    async def _fetch(self, request: Request) -> Rules:
        parts = urlparse_cached(request)
        file = Request(
            f"{parts.scheme}://{parts.netloc}/robots.txt",
            priority=self.DOWNLOAD_PRIORITY,
            meta={"dont_obey_robotstxt": True, "allow_offsite": True},
            callback=NO_CALLBACK,
        )
        self._stats.inc_value("robotstxt/request_count")
        try:
            response = await self.crawler.engine.download_async(file)
        except Stopping:
            raise
        except (NotAsked, AnswerError) as error:  # a redirect to a forbidden address, say
            if _concerns(error, file):  # the host itself is refused: so is the request, in its own words
                return Rules()
            return self._unreachable(parts.netloc, str(error))
        except IgnoreRequest as error:
            if "max redirections" in str(error):  # treated as absent
                return Rules()
            return self._unreachable(parts.netloc, str(error))
        except Exception as error:  # noqa: BLE001 - the file was not available for any reason
            return self._unreachable(parts.netloc, str(error) or type(error).__name__)
        return await self._read(response, request)

    async def _read(self, response: Response, request: Request) -> Rules:
        self._stats.inc_value("robotstxt/response_count")
        self._stats.inc_value(f"robotstxt/response_status_count/{response.status}")
        if is_unreachable(response.status):
            return self._unreachable(urlparse_cached(request).netloc, f"HTTP {response.status}")
        if response.status >= 300:
            return Rules()
        parser = build_from_crawler(self._parserimpl, self.crawler, response.body[:MOST_READ])
        await self.crawler.signals.send_catch_log_async(
            signal=signals.robots_parsed, robotparser=parser, request=request
        )
        self._keep_distance(parser, request)
        return Rules(parser)

    def _unreachable(self, host: str, failure: str) -> Rules:
        rules = Rules(failure=failure, until=monotonic() + _RETRY)
        logger.warning("%s", rules.refusal(host, "", ""))
        return rules

    def _keep_distance(self, parser: RobotParser, request: Request) -> None:
        wanted = parser.crawl_delay(self.agent(request))
        if not self.longest or not wanted or not wanted > 0:
            return
        kept, key = min(wanted, self.longest), self.pace.key(request)
        capped = f"; capped to {kept:g} s by CRAWL_DELAY_MAX" if kept < wanted else ""
        logger.info("robots.txt of %s asks for a delay of %g s%s", key, wanted, capped)
        self.pace.raise_floor(key, kept)


def _concerns(error: Exception, file: Request) -> bool:
    """Return whether an error names the host and port that were asked, and none that a redirect led to."""
    parts = urlparse_cached(file)
    port = parts.port or PORTS[parts.scheme]
    return (getattr(error, "host", None), getattr(error, "port", None)) == (parts.hostname, port)
