"""scrapy-playwright's handler, with a page's life in this project's hands."""

from __future__ import annotations

import logging
import os
from typing import TYPE_CHECKING, Any

from scrapy.http import Headers, Response
from scrapy_playwright.handler import ScrapyPlaywrightDownloadHandler

from crawlers.components.browser.page import is_main

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from playwright.async_api import BrowserContext, Page
    from playwright.async_api import Request as BrowserRequest
    from scrapy import Request
    from scrapy.crawler import Crawler

    from crawlers.components.browser.guard import Guard

logger = logging.getLogger(__name__)

_ENVIRONMENT = ("PATH", "HOME", "LANG", "LC_ALL", "TMPDIR", "TZ", "LD_LIBRARY_PATH", "SYSTEMROOT", "USERPROFILE")
_FLAGS = (
    *("--disable-background-networking", "--disable-component-update", "--disable-sync", "--no-first-run"),
    *("--disable-quic", "--disable-dev-shm-usage", "--no-pings", "--no-proxy-server", "--deny-permission-prompts"),
    *("--force-webrtc-ip-handling-policy=disable_non_proxied_udp", "--js-flags=--max-old-space-size=1024"),
)
_PAGES = 1000  # the semaphore of scrapy-playwright counts a page that crashes twice; `Browser` has its own
_NOT_FOR_BROWSER = {
    *("accept-encoding", "connection", "content-length", "cookie", "host", "proxy-authorization", "proxy-connection"),
    *("if-none-match", "if-modified-since"),  # they describe the page as it was sent, not as it is shown
}
_INIT = """
window.open = (url, name) => {
  if (['_self', '_top', '_parent'].includes(name)) location = url;
  return null;
};
window.print = () => undefined;
for (const name of ['RTCPeerConnection', 'webkitRTCPeerConnection', 'WebTransport', 'SharedWorker'])
  delete window[name];
"""


class Driver(ScrapyPlaywrightDownloadHandler):  # type: ignore[misc]  # it has no types
    """Opens pages; the function that loads one is the request's meta ``opened``.

    Besides what scrapy-playwright documents, this calls its ``_launch`` and ``_maybe_launch_browser``, because it
    starts after the engine, and overrides ``_download_request_with_page``, which would load and read a page without a
    limit, and close it.
    """

    def __init__(self, crawler: Crawler) -> None:
        logging.getLogger("scrapy-playwright").setLevel(logging.ERROR)  # each failure is reported once, by its request
        super().__init__(crawler)
        self.config.max_pages_per_context = _PAGES
        self.config.target_closed_max_retries = 0  # BackoffRetry's business
        self.process_request_headers = headers
        self.agent = str(crawler.settings["USER_AGENT"])
        self.strict = crawler.settings.getbool("DOWNLOAD_VERIFY_CERTIFICATES")

    async def start(self, options: dict[str, Any], guard: Guard) -> None:
        self.config.launch_options = options
        self.abort_request = lambda request: not guard.allows(request.url, request.resource_type)
        await self._launch()
        await self._maybe_launch_browser()

    @property
    def is_running(self) -> bool:
        return hasattr(self, "browser")

    async def open(self, request: Request, opened: Callable[[Page], Awaitable[None]]) -> None:
        """Create a page for a request, and pass it to ``opened``, which loads it."""
        meta = {
            "playwright": True,
            "playwright_include_page": True,  # it is closed here, and not logged with a traceback
            "playwright_context_kwargs": {
                "user_agent": self.agent,
                "accept_downloads": False,
                "service_workers": "block",
                "ignore_https_errors": not self.strict,
            },
            "opened": opened,
        }
        await self.download_request(request.replace(meta=meta))

    async def _download_request_with_page(self, request: Request, page: Page, spider: Any) -> Response:
        await request.meta["opened"](page)
        return Response(request.url)


def headers(*, playwright_request: BrowserRequest, scrapy_request_data: dict[str, Any], **_: Any) -> dict[str, str]:
    """Return the headers of a request: Scrapy's for the page itself, only the user agent for what the page loads."""
    own: dict[str, str] = playwright_request.headers
    given_headers: Headers = scrapy_request_data["headers"]
    given = {str(name).lower(): str(value) for name, value in given_headers.to_unicode_dict().items()}
    if not _is_page(playwright_request, scrapy_request_data["url"]):
        given = {name: value for name, value in given.items() if name == "user-agent"}
    return own | {name: value for name, value in given.items() if name not in _NOT_FOR_BROWSER}


def _is_page(request: BrowserRequest, url: str) -> bool:
    is_same = request.url.partition("#")[0].rstrip("/") == url.partition("#")[0].rstrip("/")
    return is_same and is_main(request)


async def prepare(context: BrowserContext) -> None:
    """Set what holds for every page of the context: no sockets, and nothing for windows that pages open.

    A page's own routes override the context's.
    """
    await context.route("**", lambda route: route.abort())
    await context.add_init_script(_INIT)
    await context.route_web_socket("**/*", lambda _: None)


def options(executable: str, pins: str, *, sandbox: bool) -> dict[str, Any]:
    """Return how Chromium is started; of the environment it gets what it needs, and no tokens."""
    return {
        "executable_path": executable,
        "args": [*_FLAGS, f"--host-resolver-rules={pins}"],
        "chromium_sandbox": sandbox,
        "env": {name: os.environ[name] for name in _ENVIRONMENT if name in os.environ},
        **dict.fromkeys(("handle_sigint", "handle_sigterm", "handle_sighup"), False),  # Scrapy's
    }
