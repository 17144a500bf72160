"""How one request is answered with a page: opened or taken from the kept ones, turned, and read."""

from __future__ import annotations

import asyncio
import logging
from ipaddress import ip_address
from time import monotonic
from typing import TYPE_CHECKING, Any

from playwright.async_api import Error
from playwright.async_api import TimeoutError as BrowserTimeoutError
from scrapy.exceptions import DownloadCancelledError, DownloadFailedError, DownloadTimeoutError
from scrapy.http import HtmlResponse, Response

from crawlers.components.browser.errors import from_message
from crawlers.components.browser.guard import place
from crawlers.components.browser.page import QUIET, LivePage
from crawlers.components.browser.turns import turn
from crawlers.components.politeness.pace import Pace, Stopping
from crawlers.components.scrapy_internals import is_closing

if TYPE_CHECKING:
    from playwright.async_api import Page
    from scrapy import Request

    from crawlers.components.browser.browser import Browser
    from crawlers.components.browser.page import State
    from crawlers.components.browser.page_actions import Turning
    from crawlers.components.browser.turns import End

logger = logging.getLogger(__name__)

_SLACK = 5.0
_MOST = 1 << 30
_PRESSES = 3
"""How often a button is pressed that has turned the page and does nothing more."""


class Visit:
    """Answers one request.

    Attributes:
        live: the page, as soon as there is one, so that it is closed whatever happens.
    """

    def __init__(self, browser: Browser, request: Request, turning: Turning) -> None:
        self.browser = browser
        self.crawler = browser.crawler
        self.request = request
        self.turning = turning
        self.live = browser.kept.take(request.url, turning)

    async def answer(self) -> Response | None:
        """Return the page; ``None`` if the answer has no page. It is kept if it can be turned again."""
        is_kept = False
        try:
            async with asyncio.timeout(self._limit()):
                live = self.live or await self._open()
                end = await self._turn(live)
                response = await _response(live, self.request, end)
            is_kept = bool(self.turning.kind) and end is None and live.is_good and not live.traffic.lacking
        except (Error, TimeoutError, DownloadFailedError) as error:
            raise self._cause(error) from error
        finally:
            if self.live:
                await (self.browser.kept.keep(self.live) if is_kept else self.live.close())
        return response

    def _cause(self, error: Exception) -> Exception:
        if self.live and self.live.traffic.failure:
            return self.live.traffic.failure
        if isinstance(error, TimeoutError | BrowserTimeoutError):
            return DownloadTimeoutError("the page did not come, or did not come to rest, in time")
        return from_message(error.message) if isinstance(error, Error) else error

    def _limit(self) -> float:
        return self._timeout + (self.turning.turns + _PRESSES) * (self.turning.wait + self._delay()) + _SLACK

    @property
    def _timeout(self) -> float:
        settings = self.crawler.settings
        return float(self.request.meta.get("download_timeout") or settings.getfloat("DOWNLOAD_TIMEOUT"))

    def _delay(self) -> float:
        """Return the seconds between two turns."""
        pace = self.crawler.get_extension(Pace)
        if pace:
            return pace.floor(pace.key(self.request))
        rate = self.crawler.settings.getfloat("REQUESTS_PER_SECOND")
        return 1 / rate if rate > 0 else 0.0

    async def _open(self) -> LivePage:
        try:
            await self.browser.driver.open(self.request, self._load)  # type: ignore[union-attr]  # it has been started
        except Error:
            if self.live is None:  # the browser gives no page
                await self.browser.close()
            raise
        live = self.live
        assert live is not None  # noqa: S101  # `_load` was called
        if live.is_good:
            await live.settled(min(self.turning.wait, max(0.0, self._timeout - live.latency)))
        return live

    async def _load(self, page: Page) -> None:
        settings = self.crawler.settings
        max_bytes = self.request.meta.get("download_maxsize", settings.getint("DOWNLOAD_MAXSIZE")) or _MOST
        self.live = LivePage(page, self.request.url, self.turning.way, self.browser.guard, max_bytes)
        await self.browser.prepare(page.context)
        await self.live.watch()
        await self.live.load(self._timeout)

    async def _turn(self, live: LivePage) -> End | None:
        delay, vain = self._delay(), 0
        while live.turns < self.turning.turns and live.is_good and not live.traffic.lacking:
            await asyncio.sleep(live.acted + delay - monotonic())
            if is_closing(self.crawler):
                raise Stopping("the crawl is being stopped between two turns of a page")
            async with self.browser.front:
                await live.page.bring_to_front()
                live.acted, live.gate.refused, errors = monotonic(), None, live.traffic.errors
                end = await _turn_once(live, self.turning)
            if live.traffic.lacking:
                return None
            if end == "unchanged" and self.turning.kind in ("button", "buttons"):
                vain += 1
                if live.turns and live.traffic.errors == errors and vain < _PRESSES:
                    continue
                live.idle = vain if live.traffic.errors == errors else 0
                logger.warning("%s: a button that can be clicked changed nothing, which is taken for the end", live.url)
            if end:
                return end
            vain = 0
            live.latency = max(0.0, monotonic() - live.acted - QUIET)
            live.turns += 1
        return None


async def _turn_once(live: LivePage, turning: Turning) -> End | None:
    """
    Raises:
        DownloadTimeoutError: the page still waits for what it requested, and has nothing to show until that comes.
    """
    before, awaited = await live.state(), live.traffic.awaited()
    end = await turn(live, turning)
    if end == "unchanged" and live.gate.refused:
        raise live.gate.refused
    late = [
        url for name, url in live.traffic.awaited().items() if name not in awaited
    ]  # others wait for news, for ever
    if late and (end or _is_emptied(before, await live.state())):
        raise DownloadTimeoutError(f"the page still waits for {late[0]}")
    return end


def _is_emptied(before: State | None, now: State | None) -> bool:
    """Return whether links are gone, and none have come instead."""
    return before is not None and now is not None and now[1] < before[1]


async def _response(live: LivePage, request: Request, end: End | None) -> Response | None:
    document = live.gate.document
    if live.traffic.failure or document is None:
        raise live.traffic.failure or DownloadFailedError("the page was shown without an answer of the server")
    request.meta["download_latency"] = live.latency
    headers = document.scrapy_headers(live.turns, end, live.idle)
    if not live.is_shown:
        if not document.location and not document.is_page and document.status == 200:
            return None
        return Response(document.url, document.status, headers, request=request)
    if not live.page.url.startswith("http"):  # the browser's own page for an answer without a body
        return Response(document.url, document.status, headers, request=request)
    live.guard.check(live.page.url)
    if live.is_good and live.traffic.lacking:
        return _lacking(live, request)
    body = (await live.html()).encode(errors="replace")
    if len(body) > live.max_bytes:
        raise DownloadCancelledError(f"the page is larger than {live.max_bytes} bytes")
    headers["Content-Type"] = "text/html; charset=utf-8"
    address = ip_address(live.guard.addresses.get(place(live.page.url)[0]) or "::")
    found: dict[str, Any] = {"headers": headers, "body": body, "encoding": "utf-8", "request": request}
    return HtmlResponse(live.page.url, document.status, ip_address=address, **found)


def _lacking(live: LivePage, request: Request) -> Response:
    """Return what came instead of what the page's scripts requested: the page is not what the portal would show."""
    found = next(iter(live.traffic.lacking.values()))
    if isinstance(found, Exception):
        raise found
    flag = f"for {found.url}, which the page asked for"
    return Response(live.url, found.status, found.scrapy_headers(live.turns, None), flags=[flag], request=request)
