"""The only browser of a crawl: started at the first request for it, closed with the crawl."""

from __future__ import annotations

import asyncio
import logging
import os
from collections import OrderedDict
from contextlib import suppress
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from playwright.async_api import Error

from crawlers.components.browser import driver as drivers
from crawlers.components.browser import guard as guards
from crawlers.components.browser.driver import Driver
from crawlers.components.browser.executable import executable
from crawlers.components.browser.page_actions import Turning
from crawlers.components.browser.visit import Visit
from crawlers.exceptions import AnswerError

if TYPE_CHECKING:
    from playwright.async_api import BrowserContext
    from playwright.async_api import Request as BrowserRequest
    from scrapy import Request
    from scrapy.crawler import Crawler
    from scrapy.http import Response

    from crawlers.components.browser.page import LivePage

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
            self._warn(request)
            return await Visit(self, request, Turning.from_meta(request.meta["browser"])).answer()

    def _warn(self, request: Request) -> None:
        if request.meta.get("proxy") and not self.warned:
            self.warned = True
            logger.warning("The browser connects to %s directly: it uses no proxy", urlsplit(request.url).hostname)

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
        """Start a browser; return why it did not."""
        driver = Driver(self.crawler)
        try:
            await asyncio.wait_for(driver.start(self._options(), self._is_aborted), _START)
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

    def _is_aborted(self, request: BrowserRequest) -> bool:
        return not self.guard.allows(request.url, request.resource_type)

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
        """Close a page that was not used since."""
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
