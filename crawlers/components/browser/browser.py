"""The only browser of a crawl, started at the first request for it; and how it answers a request with a page."""

from __future__ import annotations

import asyncio
import logging
import os
from collections import OrderedDict
from contextlib import suppress
from ipaddress import ip_address
from time import monotonic
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from playwright.async_api import Error
from playwright.async_api import TimeoutError as BrowserTimeoutError
from scrapy.exceptions import DownloadCancelledError, DownloadFailedError, DownloadTimeoutError
from scrapy.http import HtmlResponse, Response

from crawlers.components.browser import driver as drivers
from crawlers.components.browser import guard as guards
from crawlers.components.browser.driver import Driver
from crawlers.components.browser.executables import executable
from crawlers.components.browser.guard import place
from crawlers.components.browser.page import QUIET, LivePage, from_message
from crawlers.components.browser.turns import Turning, turn
from crawlers.components.politeness.pace import Pace, Stopping
from crawlers.components.scrapy_internals import is_closing
from crawlers.exceptions import AnswerError

if TYPE_CHECKING:
    from playwright.async_api import BrowserContext, Page
    from scrapy import Request
    from scrapy.crawler import Crawler

    from crawlers.components.browser.page import End


logger = logging.getLogger(__name__)

LIVE = 4  # pages that are kept for further turns
IDLE = 300.0  # seconds that one is kept
AT_ONCE = 4  # requests
_START = 60.0
_END = 10.0


class Browser:
    """Answers requests with pages.

    A page is kept between requests, so that the next turn is one turn; after a kill, or when it is gone, it is opened
    again and turned as often as it takes. There is one context, so cookies hold from one page to the next. Two turns
    of a page are as far apart as two requests.
    """

    def __init__(self, crawler: Crawler) -> None:
        self.crawler = crawler
        self.driver: Driver | None = None
        self.guard = guards.Guard({})
        self.kept = KeptPages()
        self.prepared: BrowserContext | None = None
        self.warned = False
        self.starting = asyncio.Lock()
        self.slots = asyncio.Semaphore(AT_ONCE)
        self.front = asyncio.Lock()  # a page behind another is not drawn, and what waits for the bottom never sees it

    async def download(self, request: Request) -> Response | None:
        """Return the page; ``None`` if the answer has no page.

        Raises:
            AnswerError: the browser does not start, or the page leads where it may not.
            DownloadFailedError: or any of the exceptions that Scrapy has for a failed download.
        """
        async with self.slots:
            await self._start()
            self.guard.check(request.url)
            if request.meta.get("proxy") and not self.warned:
                self.warned = True
                logger.warning("The browser connects to %s directly: it uses no proxy", urlsplit(request.url).hostname)
            return await Visit(self, request, Turning.from_meta(request.meta["browser"])).answer()

    async def prepare(self, context: BrowserContext) -> None:
        """Set what holds for every page of a context, once."""
        if self.prepared is not context:
            await drivers.prepare(context)
            self.prepared = context

    async def _start(self) -> None:
        async with self.starting:
            if self.driver and self.driver.is_running:
                return
            await self.close()
            self.guard = await guards.resolved(_hosts(self.crawler))
            error = await self._try_start()
            if error:
                logger.warning("The browser does not start; trying once more: %s", _reason(error))
                error = await self._try_start()
            if error:
                raise AnswerError("browser", f"the browser does not start: {_reason(error)}") from error

    async def _try_start(self) -> Exception | None:
        driver = Driver(self.crawler)
        try:
            await asyncio.wait_for(driver.start(self._options(), self.guard), _START)
        except (Error, OSError, TimeoutError) as error:
            await self.close(driver)
            return error
        self.driver = driver
        return None

    def _options(self) -> dict[str, Any]:
        settings = self.crawler.settings
        found, sandbox = executable(settings), settings.getbool("BROWSER_SANDBOX", True)
        if sandbox and hasattr(os, "geteuid") and os.geteuid() == 0:
            sandbox = False
            logger.info("The browser runs without its sandbox, because this process is root's")
        logger.info("The browser is %s", found)
        return drivers.options(found, self.guard.pins(), sandbox=sandbox)

    async def close(self, driver: Driver | None = None) -> None:
        """End the browser.

        Args:
            driver: one that did not start; the running one by default.
        """
        driver = driver or self.driver
        self.driver, self.prepared = None, None
        self.kept.pages.clear()
        if driver:
            with suppress(Error, TimeoutError, OSError):
                await asyncio.wait_for(driver.close(), _END)


class KeptPages:
    """The open pages that wait for their next turn: up to ``LIVE`` pages, each for up to ``IDLE`` seconds."""

    def __init__(self) -> None:
        self.pages: OrderedDict[str, LivePage] = OrderedDict()
        self.closing: asyncio.Task[None] | None = None

    def take(self, url: str, turning: Turning) -> LivePage | None:
        """Return the page that a request can continue with, if there is one."""
        key = _key(url, turning.way)
        live = self.pages.get(key)
        if live is None or live.turns > turning.turns or not turning.kind:
            return None
        del self.pages[key]
        if live.page.is_closed() or live.traffic.failure:
            return None
        live.traffic.received = 0
        return live

    async def keep(self, live: LivePage) -> None:
        """Keep a page, and close what it replaces."""
        key = _key(live.url, live.way)
        stale = [self.pages.pop(key)] if key in self.pages else []
        self.pages[key] = live
        stale += [self.pages.popitem(last=False)[1]] if len(self.pages) > LIVE else []
        asyncio.get_running_loop().call_later(IDLE, self._forget, live, live.acted)
        for page in stale:
            await page.close()

    def _forget(self, live: LivePage, acted: float) -> None:
        key = _key(live.url, live.way)
        if self.pages.get(key) is live and live.acted == acted:
            self.closing = asyncio.ensure_future(self.pages.pop(key).close())


def _key(url: str, way: str) -> str:
    return f"{url} {way}"


def _hosts(crawler: Crawler) -> list[str]:
    spider = crawler.spider
    named = list(getattr(spider, "allowed_domains", None) or ())
    urls = (*getattr(spider, "start_urls", ()), getattr(spider, "portal", None) or "")
    return named or [guards.place(url)[0] for url in urls]


def _reason(error: Exception) -> str:
    text = error.message if isinstance(error, Error) else str(error) or type(error).__name__
    if "no usable sandbox" in text.lower():
        return "it can't have a sandbox on this machine (-s BROWSER_SANDBOX=False lets it run without one)"
    return text.strip().partition("\n")[0]


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
    now = await live.state() if late and not end else None
    is_emptied = before is not None and now is not None and now[1] < before[1]  # links are gone, none came instead
    if late and (end or is_emptied):
        raise DownloadTimeoutError(f"the page still waits for {late[0]}")
    return end


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
