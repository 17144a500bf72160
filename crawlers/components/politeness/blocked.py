"""Recognise the answers of firewalls and bot checks, whatever their HTTP status; stop asking hosts that give them."""

from __future__ import annotations

import logging
from collections import Counter
from typing import TYPE_CHECKING, ClassVar, Self

from crawlers.components.politeness.not_asked import NotAsked
from crawlers.components.politeness.pace import Pace
from crawlers.components.politeness.retry import RETRY_AFTER_MAX, retry_after

if TYPE_CHECKING:
    from scrapy import Request
    from scrapy.crawler import Crawler
    from scrapy.http import Response

logger = logging.getLogger(__name__)

BLOCKED_AFTER = 3
_MARKS = (b"not a robot", b"javascript is disabled", b"challenge-platform", b"captcha")
_HEADERS = ("x-amzn-waf-action", "cf-mitigated")
_PAGE_START = 64 * 1024
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


def challenge(response: Response) -> str | None:
    """Return why the answer is a bot check instead of content; ``None`` if it is not one.

    AWS WAF challenges with 202 or 405 and ``x-amzn-waf-action``, Cloudflare with ``cf-mitigated``; others give a page.
    """
    for header in _HEADERS:
        if header in response.headers:
            return f"a firewall answered instead of the portal (HTTP {response.status}, {header})"
    if _is_html(response) and any(mark in _start(response).lower() for mark in _MARKS):
        return f"a robot check came instead of an answer (HTTP {response.status})"
    return None


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


def _is_html(response: Response) -> bool:
    content_type = (response.headers.get("Content-Type") or b"").lower()
    return b"html" in content_type or _start(response)[:256].lstrip().lower().startswith((b"<!doctype", b"<html"))


def _start(response: Response) -> bytes:
    """Return how its body begins, if that is on disk, too: such a response has a ``head``."""
    head: bytes = getattr(response, "head", response.body)
    return head[:_PAGE_START]
