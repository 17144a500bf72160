"""What is asked no more: hosts that refuse this crawler, and hosts that are not the catalogue's."""

from __future__ import annotations

import logging
from collections import Counter
from typing import TYPE_CHECKING, ClassVar, Self

from scrapy.downloadermiddlewares.offsite import OffsiteMiddleware
from scrapy.exceptions import IgnoreRequest
from scrapy.utils.httpobj import urlparse_cached

from crawlers.components.politeness.failures import NotAsked, challenge
from crawlers.components.politeness.pace import RETRY_AFTER_MAX, Pace, retry_after

if TYPE_CHECKING:
    from scrapy import Request, Spider
    from scrapy.crawler import Crawler
    from scrapy.http import Response


logger = logging.getLogger(__name__)

BLOCKED_AFTER = 3
_APART = ("export",)  # routes that may be blocked while the rest of the host is not


class HostBlocked(NotAsked):
    """A host, or a route of it, refused every request, so the run sends it no more."""

    kind: ClassVar[str] = "blocked"


class Blocked:
    """The downloader middleware that stops asking a host that does not want this crawler. It evades nothing.

    Settings: BLOCKED_AFTER, how many refusals in a row it takes (0 = never). A request may name its ``route`` in its
    meta: what is refused on the route "export" leaves the host's others alone, anything else blocks the host.
    """

    def __init__(self, crawler: Crawler) -> None:
        self.crawler = crawler
        self.pace = Pace.installed(crawler)
        self.after = crawler.settings.getint("BLOCKED_AFTER", BLOCKED_AFTER)
        self.longest = crawler.settings.getfloat("RETRY_AFTER_MAX", RETRY_AFTER_MAX)
        self.refusals: Counter[tuple[str, str]] = Counter()
        self.blocked: dict[tuple[str, str], str] = {}

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        return cls(crawler)

    def process_request(self, request: Request) -> None:
        error = self.refusal(request)
        if error:
            raise error

    def process_response(self, request: Request, response: Response) -> Response:
        key, route = self.place(request)
        reason = _refused(response, self.longest)
        if reason is None:
            if response.status < 500 and response.status != 429:
                self.refusals[key, route] = 0
            return response
        request.meta["dont_retry"] = True
        self.refusals[key, route] += 1
        if self.after and self.refusals[key, route] >= self.after:
            self.block(key, route, reason)
        return response

    def place(self, request: Request) -> tuple[str, str]:
        route = str(request.meta.get("route", ""))
        return self.pace.key(request), route if route in _APART else ""

    def block(self, key: str, route: str, reason: str) -> None:
        if (key, route) in self.blocked:
            return
        self.blocked[key, route] = reason
        self.crawler.stats.inc_value("politeness/blocked_routes" if route else "politeness/blocked_hosts")
        what = f"{key}, route {route}," if route else key
        logger.warning("%s gets no more requests in this run: %s, %d times in a row", what, reason, self.after)
        self.pace.dismiss(key, self.refusal)

    def refusal(self, request: Request) -> HostBlocked | None:
        key, route = self.place(request)
        reason = self.blocked.get((key, "")) or self.blocked.get((key, route))
        return HostBlocked(f"not asked, after {self.after} refusals in a row: {reason}") if reason else None


def _refused(response: Response, longest: float) -> str | None:
    """A 403 in JSON is an API's own word about one record; any other may be about the crawler."""
    check = challenge(response)
    if check:
        return check
    if response.status == 403 and response.body.lstrip()[:1] != b"{":
        return "the portal refused access (HTTP 403)"
    if response.status in (429, 503) and retry_after(response) > longest:
        return f"the portal asks to wait longer than RETRY_AFTER_MAX (HTTP {response.status})"
    return None


class LeadsAway(NotAsked):
    """A link or a redirect leads to a host that is not the catalogue's."""

    kind: ClassVar[str] = "offsite"


class Offsite(OffsiteMiddleware):
    """Scrapy's, but exact and audible: no subdomains, and what is refused reaches the request's errback.

    Scrapy's own drops such a request without a report. The hosts are the spider's
    ``allowed_domains``; a spider without any may go anywhere.
    """

    def request_scheduled(self, request: Request, spider: Spider) -> None:
        """Left to `process_request`."""

    def should_follow(self, request: Request, spider: Spider) -> bool:
        hosts = getattr(spider, "allowed_domains", None)
        return not hosts or urlparse_cached(request).hostname in hosts

    def process_request(self, request: Request) -> None:  # type: ignore[override]
        try:
            super().process_request(request)
        except IgnoreRequest:
            host = urlparse_cached(request).hostname
            raise LeadsAway(f"it leads to {host}, which is not one of the catalogue's hosts") from None
