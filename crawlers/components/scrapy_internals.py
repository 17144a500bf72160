"""Every private name of Scrapy, Twisted and scrapy-playwright that this project uses.

A test for each name fails when a new version drops it: tests/test_scrapy_internals.py.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from scrapy.core.downloader.handlers.http11 import _LenientHTTP11ClientFactory as LenientFactory
from scrapy.core.downloader.handlers.http11 import _LenientHTTP11ClientProtocol as LenientProtocol
from scrapy.core.downloader.handlers.http11 import _LenientHTTPClientParser as LenientParser
from scrapy.core.downloader.handlers.http11 import _ResponseReader as ResponseReader
from scrapy.core.downloader.handlers.http11 import _ResultT as Result
from scrapy.core.downloader.handlers.http11 import _ScrapyAgent as ScrapyAgent
from scrapy.utils._download_handlers import wrap_twisted_exceptions
from twisted.web._newclient import BODY, DONE

if TYPE_CHECKING:
    from collections.abc import Callable

    from scrapy import Request
    from scrapy.core.downloader import Slot
    from scrapy.crawler import Crawler
    from twisted.internet.defer import Deferred
    from twisted.web.client import HTTPConnectionPool
    from twisted.web.client import Response as TxResponse

__all__ = ["BODY", "DONE", "LenientFactory", "LenientParser", "LenientProtocol", "ResponseReader", "Result"]
__all__ += ["ScrapyAgent", "abort", "finished", "is_closing", "may_send", "permits", "process_queue"]
__all__ += ["requests_in_progress", "set_buffer", "set_protocol", "transport", "wrap_twisted_exceptions"]

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


def has_others(crawler: Crawler, apart: int) -> bool:
    """Return whether requests are worked on, or may be now, apart from some that are worked on.

    Those that wait for the end of these are no others: a host has as many in progress as it may have.
    """
    slot = crawler.engine._slot if crawler.engine else None  # noqa: SLF001
    if slot is None:
        return False
    return len(slot.inprogress) > apart or slot.scheduler.has_free_requests()  # type: ignore[attr-defined]


def process_queue(crawler: Crawler, slot: Slot) -> None:
    """Let the downloader send what waits in a slot, as far as the slot's delay allows."""
    crawler.engine.downloader._process_queue(slot)  # noqa: SLF001


def set_protocol(pool: HTTPConnectionPool, factory: Callable[..., LenientFactory]) -> None:
    """Make the pool's connections with a factory of your own."""
    pool._factory = factory  # type: ignore[assignment]  # noqa: SLF001


def transport(response: TxResponse) -> Any:
    """Return the transport that an answer comes by."""
    return response._transport  # noqa: SLF001


def abort(transport: Any) -> None:
    """Close a transport's connection, unless the answer is complete and the connection has been given back."""
    if transport._producer is not None:  # noqa: SLF001
        transport._producer.abortConnection()  # noqa: SLF001


def finished(reader: ResponseReader) -> Deferred[Result]:
    """Return what fires when the reader has a body."""
    return reader._finished  # noqa: SLF001


def set_buffer(reader: ResponseReader, buffer: Any) -> None:
    """Make the reader write a body into a buffer of your own."""
    reader._bodybuf = buffer  # noqa: SLF001
