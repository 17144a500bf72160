"""The one browser of a crawl: started at the first request for it, ended with the crawl."""

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
from scrapy.http import Headers, HtmlResponse, Response

from crawlers.browser import driver as drivers
from crawlers.browser import guard as guards
from crawlers.browser.driver import Driver
from crawlers.browser.errors import of
from crawlers.browser.executable import executable
from crawlers.browser.page import QUIET, LivePage
from crawlers.browser.turning import Turning
from crawlers.browser.turns import turn
from crawlers.exceptions import AnswerError
from crawlers.politeness.pace import Pace, Stopping

if TYPE_CHECKING:
    from playwright.async_api import Page
    from playwright.async_api import Request as BrowserRequest
    from scrapy import Request
    from scrapy.crawler import Crawler

    from crawlers.browser.page import Document, State
    from crawlers.browser.turns import End

logger = logging.getLogger(__name__)

LIVE = 4  # pages that are kept for further turns
IDLE = 300.0  # seconds that one is kept
AT_ONCE = 4  # requests
_START = 60.0
_END = 10.0
_SLACK = 5.0
_MOST = 1 << 30
_GONE = {
    *(b"Content-Encoding", b"Content-Length", b"Transfer-Encoding", b"Etag", b"Last-Modified"),
    *(b"Page-Turns", b"Page-End"),
}
"""Headers that say something of the page as it was sent, which the page as it is shown is not; and `Browser`'s own."""


class Browser:
    """Answers requests with pages.

    A page is kept between requests, so that the next turn is one turn; after a kill, or when it is gone, it is opened
    anew and turned as often as it takes. There is one context, so cookies hold from one page to the next. Between two
    turns of a page the host is left alone as long as between two requests.
    """

    def __init__(self, crawler: Crawler) -> None:
        self.crawler = crawler
        self.driver: Driver | None = None
        self.guard = guards.Guard({})
        self.live: OrderedDict[str, LivePage] = OrderedDict()
        self.prepared: object = None
        self.warned = False
        self.starting = asyncio.Lock()
        self.slots = asyncio.Semaphore(AT_ONCE)
        self.front = asyncio.Lock()  # a page behind another is not drawn, and what waits for the bottom never sees it

    async def download(self, request: Request) -> Response | None:
        """The page; ``None`` when what came is none.

        Raises:
            AnswerError: the browser does not start, or the page leads where it may not.
            DownloadFailedError: or any of the exceptions that Scrapy has for a failed download.
        """
        async with self.slots:
            await self._start()
            self.guard.check(request.url)
            self._warn(request)
            return await self._answer(request, Turning.of(request.meta["browser"]))

    def _warn(self, request: Request) -> None:
        if request.meta.get("proxy") and not self.warned:
            self.warned = True
            logger.warning("The browser asks %s directly: it uses no proxy", urlsplit(request.url).hostname)

    # The browser

    async def _start(self) -> None:
        async with self.starting:
            if self.driver and self.driver.runs:
                return
            await self._end()
            self.guard = await guards.resolved(_hosts(self.crawler))
            error = await self._started()
            if error:
                logger.warning("The browser does not start, and is started once more: %s", _reason(error))
                error = await self._started()
            if error:
                raise AnswerError("browser", f"the browser does not start: {_reason(error)}") from error

    async def _started(self) -> Exception | None:
        """Start a browser; return why it did not."""
        driver = Driver(self.crawler)
        try:
            await asyncio.wait_for(driver.start(self._options(), self._aborts), _START)
        except (Error, OSError, TimeoutError) as error:
            await self._end(driver)
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

    def _aborts(self, asked: BrowserRequest) -> bool:
        return not self.guard.allows(asked.url, asked.resource_type)

    async def _end(self, driver: Driver | None = None) -> None:
        driver = driver or self.driver
        self.driver, self.prepared = None, None
        self.live.clear()
        if driver:
            with suppress(Error, TimeoutError, OSError):
                await asyncio.wait_for(driver.close(), _END)

    async def close(self) -> None:
        await self._end()

    # A page

    async def _answer(self, request: Request, turning: Turning) -> Response | None:
        found = self._resumed(request, turning)
        kept = False
        try:
            async with asyncio.timeout(self._limit(request, turning)):
                live = found[0] if found else await self._open(request, turning, found)
                end = await self._turn(live, request, turning)
                response = await _response(live, request, end)
            kept = bool(turning.kind) and end is None and live.shown and live.is_good and not live.lacking
        except (Error, TimeoutError, DownloadFailedError) as error:
            raise self._told(error, found) from error
        finally:
            for live in found:
                await self._let_go(live, kept=kept)
        return response

    def _told(self, error: Exception, found: list[LivePage]) -> Exception:
        if found and found[0].failure:
            return found[0].failure
        if isinstance(error, TimeoutError | BrowserTimeoutError):
            return DownloadTimeoutError("the page did not come, or did not come to rest, in time")
        return of(error.message) if isinstance(error, Error) else error

    def _limit(self, request: Request, turning: Turning) -> float:
        return self._timeout(request) + turning.turns * (turning.wait + self._delay(request)) + _SLACK

    def _timeout(self, request: Request) -> float:
        return float(request.meta.get("download_timeout") or self.crawler.settings.getfloat("DOWNLOAD_TIMEOUT"))

    def _delay(self, request: Request) -> float:
        pace = self.crawler.get_extension(Pace)
        if pace:
            return pace.floor(pace.key(request))
        rate = self.crawler.settings.getfloat("REQUESTS_PER_SECOND")
        return 1 / rate if rate > 0 else 0.0

    async def _open(self, request: Request, turning: Turning, found: list[LivePage]) -> LivePage:
        """
        Args:
            found: takes the page as soon as there is one, so that it is closed whatever happens.
        """
        most = request.meta.get("download_maxsize", self.crawler.settings.getint("DOWNLOAD_MAXSIZE")) or _MOST
        seconds = self._timeout(request)

        async def opened(page: Page) -> None:
            found.append(LivePage(page, request.url, turning.way, self.guard, most))
            await self._prepare(page)
            await found[0].watch()
            await found[0].load(seconds)

        try:
            await self.driver.open(request, opened)  # type: ignore[union-attr]  # it has been started
        except Error:
            if not found:  # no page can be had of it
                await self._end()
            raise
        live = found[0]
        if live.shown and live.is_good:
            await live.settled(min(turning.wait, max(0.0, seconds - live.latency)))
        return live

    async def _prepare(self, page: Page) -> None:
        if self.prepared is not page.context:
            await drivers.prepare(page.context)
            self.prepared = page.context

    async def _turn(self, live: LivePage, request: Request, turning: Turning) -> End | None:
        delay = self._delay(request)
        while live.turns < turning.turns and live.shown and live.is_good and not live.lacking:
            await asyncio.sleep(live.acted + delay - monotonic())
            if self._is_stopping():
                raise Stopping("the crawl is being stopped between two turns of a page")
            async with self.front:
                await live.page.bring_to_front()
                live.acted, live.refused = monotonic(), None
                end = await _turned(live, turning)
            if live.lacking:
                return None
            if end:
                return end
            live.latency = max(0.0, monotonic() - live.acted - QUIET)
            live.turns += 1
        return None

    def _is_stopping(self) -> bool:
        engine = self.crawler.engine
        return engine is not None and engine._slot is not None and engine._slot.closing is not None  # noqa: SLF001

    # Pages that are kept

    def _resumed(self, request: Request, turning: Turning) -> list[LivePage]:
        live = self.live.get(_key(request.url, turning.way))
        if live is None or live.turns > turning.turns or not turning.kind:
            return []
        del self.live[_key(live.url, live.way)]
        if live.page.is_closed() or live.failure:
            return []
        live.received = 0
        return [live]

    async def _let_go(self, live: LivePage, *, kept: bool) -> None:
        stale = [] if kept else [live]
        if kept:
            key = _key(live.url, live.way)
            stale += [self.live.pop(key)] if key in self.live else []
            self.live[key] = live
            stale += [self.live.popitem(last=False)[1]] if len(self.live) > LIVE else []
            asyncio.get_running_loop().call_later(IDLE, self._forget, live, live.acted)
        for one in stale:
            await one.close()

    def _forget(self, live: LivePage, acted: float) -> None:
        """Closes a page that nothing was asked of since."""
        key = _key(live.url, live.way)
        if self.live.get(key) is live and live.acted == acted:
            self.closing = asyncio.ensure_future(self.live.pop(key).close())


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


async def _turned(live: LivePage, turning: Turning) -> End | None:
    """
    Raises:
        DownloadTimeoutError: the page still waits for what it asked for, and has nothing to show until that comes.
    """
    before, waited = await live.state(), live.waits()
    end = await turn(live, turning)
    if end == "unchanged" and live.refused:
        raise live.refused
    late = [url for place, url in live.waits().items() if place not in waited]  # others wait for news, for ever
    if late and (end or _is_emptied(before, await live.state())):
        raise DownloadTimeoutError(f"the page still waits for {late[0]}")
    if end == "unchanged" and turning.kind in ("button", "buttons") and not live.lacking:
        logger.warning("%s: a button that can be clicked changed nothing, which is taken for the end", live.url)
    return end


def _is_emptied(before: State | None, now: State | None) -> bool:
    """Whether links are gone, and none have come instead."""
    return before is not None and now is not None and now[1] < before[1]


def _lacks(live: LivePage, request: Request) -> Response:
    """What came instead of what the page's scripts asked for: such a page is not what the portal would show."""
    found = next(iter(live.lacking.values()))
    if isinstance(found, Exception):
        raise found
    flag = f"for {found.url}, which the page asked for"
    return Response(live.url, found.status, _headers(found, live.turns, None), flags=[flag], request=request)


async def _response(live: LivePage, request: Request, end: End | None) -> Response | None:
    document = live.document
    if live.failure or document is None:
        raise live.failure or DownloadFailedError("the page was shown without an answer of the server")
    request.meta["download_latency"] = live.latency
    headers = _headers(document, live.turns, end)
    if not live.shown:
        if not document.location and not document.is_page and document.status == 200:
            return None
        return Response(document.url, document.status, headers, request=request)
    if not live.page.url.startswith("http"):  # the browser's own page for an answer without a body
        return Response(document.url, document.status, headers, request=request)
    live.guard.check(live.page.url)
    if live.is_good and live.lacking:
        return _lacks(live, request)
    body = (await live.html()).encode(errors="replace")
    if len(body) > live.most:
        raise DownloadCancelledError(f"the page is larger than {live.most} bytes")
    headers["Content-Type"] = "text/html; charset=utf-8"
    address = live.guard.addresses.get(guards.place(live.page.url)[0])
    found: dict[str, Any] = {"headers": headers, "body": body, "encoding": "utf-8", "request": request}
    return HtmlResponse(live.page.url, document.status, ip_address=ip_address(address or "::"), **found)


def _headers(document: Document, turns: int, end: End | None) -> Headers:
    headers = Headers()
    for name, value in document.headers:
        headers.appendlist(name.encode("latin-1", "replace"), value.encode("latin-1", "replace"))
    for gone in _GONE:
        headers.pop(gone, None)
    if document.location:
        headers["Location"] = document.leads_to
    headers["Page-Turns"] = str(turns)
    if end:
        headers["Page-End"] = end
    return headers
