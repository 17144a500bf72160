"""Every private name of Scrapy, Twisted and scrapy-playwright that this project uses; those of HTTP are in `http`.

A test for each name fails when a new version drops it: tests/test_scrapy_internals.py.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from scrapy import Request
    from scrapy.core.downloader import Slot
    from scrapy.crawler import Crawler

__all__ = ["is_closing", "may_send", "permits", "process_queue", "requests_in_progress"]

may_send = object()
"""A signal: requests wait to be sent, or one is about to be. While a receiver returns ``False``, none is sent."""

INHERITED = {
    "scrapy.commands:BaseRunSpiderCommand": "_create_crawler",
    "scrapy.commands.genspider:Command": "_find_template _list_templates",
    "scrapy.core.downloader:Downloader": "_latercall _process_queue",
    "scrapy.core.downloader.handlers._base_http:BaseHttpDownloadHandler": (
        "_default_maxsize _default_warnsize _fail_on_dataloss _tls_verbose_logging"
    ),
    "scrapy.core.downloader.handlers.http11:HTTP11DownloadHandler": "_bind_address _contextFactory _crawler _pool",
    "scrapy.core.downloader.handlers.http11:_ScrapyAgent": (
        "_cb_bodydone _cb_bodyready _connectTimeout _maxsize _timeout_cl _warnsize"
    ),
    "scrapy.downloadermiddlewares.httpcompression:HttpCompressionMiddleware": "_handle_encoding _split_encodings",
    "scrapy.downloadermiddlewares.robotstxt:RobotsTxtMiddleware": (
        "_default_useragent _parserimpl _robotstxt_useragent _stats"
    ),
    "scrapy.extensions.feedexport:FeedExporter": "_close_slot",
    "scrapy.extensions.httpcache:RFC2616Policy": "_compute_freshness_lifetime _parse_cachecontrol",
    "scrapy.extensions.throttle:AutoThrottle": "_get_slot _min_delay _response_downloaded",
    "scrapy_playwright.handler:ScrapyPlaywrightDownloadHandler": (
        "_download_request_with_page _launch _maybe_launch_browser"
    ),
    "twisted.web._newclient:HTTP11ClientProtocol": "_disconnectParser _parser",
    "twisted.web.client:_HTTP11ClientFactory": "_quiescentCallback",
}
"""The private members that subclasses in this project use or override, by the class that defines them."""


def permits(crawler: Crawler) -> bool:
    """Return whether requests may be sent now: Scrapy asks nobody after the downloader middlewares."""
    return all(answer is not False for _, answer in crawler.signals.send_catch_log(may_send))


def is_closing(crawler: Crawler) -> bool:
    """Return whether the crawl is being stopped: Scrapy has no signal for that."""
    slot = crawler.engine._slot if crawler.engine else None  # noqa: SLF001
    return slot is not None and slot.closing is not None


def requests_in_progress(crawler: Crawler) -> set[Request]:
    """Return the requests that the engine works on: Scrapy has no signal for the end of a request."""
    return crawler.engine._slot.inprogress  # type: ignore[union-attr]  # noqa: SLF001


def process_queue(crawler: Crawler, slot: Slot) -> None:
    """Let the downloader send what waits in a slot, as far as the slot's delay allows."""
    crawler.engine.downloader._process_queue(slot)  # noqa: SLF001
