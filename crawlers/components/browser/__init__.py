"""Pages as a browser shows them: a download handler on scrapy-playwright, in which page turns are data.

Nothing here imports Playwright before the first request that asks for a browser: other spiders run without it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

from crawlers.components.browser.executables import BrowserError, check_driver, executable
from crawlers.components.browser.guard import ForeignHostError
from crawlers.components.spool import SpoolingHandler

if TYPE_CHECKING:
    from scrapy import Request
    from scrapy.crawler import Crawler
    from scrapy.http import Response

    from crawlers.components.browser.browser import Browser

__all__ = ["BrowserError", "BrowserHandler", "ForeignHostError", "enable"]

_browsers: WeakKeyDictionary[Crawler, Browser] = WeakKeyDictionary()


def enable(crawler: Crawler) -> None:
    """Let a spider request pages as a browser shows them; called from its ``from_crawler``.

    Raises:
        BrowserError: Playwright is not installed, or no browser is.
    """
    check_driver()
    executable(crawler.settings)
    handlers: dict[str, Any] = dict(crawler.settings["DOWNLOAD_HANDLERS"] or {})
    handlers |= dict.fromkeys(("http", "https"), BrowserHandler)
    crawler.settings.set("DOWNLOAD_HANDLERS", handlers, priority="spider")


class BrowserHandler(SpoolingHandler):
    """Answers requests with ``browser`` in their meta with a browser's pages; the others as `SpoolingHandler` does.

    ``request.meta["browser"]`` states how the page is turned and how often
    (`crawlers.components.browser.turns.Turning`).
    The answer is an `HtmlResponse` of the page after that, with ``Page-Turns``, the turns that were made, and, if those
    are fewer than requested, ``Page-End``: gone, disabled, unchanged or false. ``Page-Idle`` says how often a button
    that had turned the page was pressed in vain, if no request of the page failed. A redirect of the page is answered
    as one, for Scrapy to follow; what is no HTML is downloaded as if no browser had been requested.

    Settings: BROWSER_EXECUTABLE, the Chromium to use; BROWSER_SANDBOX, off where the machine can't have one.
    """

    async def download_request(self, request: Request) -> Response:
        if not isinstance(request.meta.get("browser"), dict):
            return await super().download_request(request)
        response = await self._browser().download(request)
        if response is None:
            response = await super().download_request(request)
            response.headers["Page-Turns"] = "0"
        return response

    def _browser(self) -> Browser:
        if self._crawler not in _browsers:
            from crawlers.components.browser.browser import Browser  # noqa: PLC0415 -- it imports Playwright

            _browsers[self._crawler] = Browser(self._crawler)
        return _browsers[self._crawler]

    async def close(self) -> None:
        await super().close()
        browser = _browsers.pop(self._crawler, None)
        if browser:
            await browser.close()
