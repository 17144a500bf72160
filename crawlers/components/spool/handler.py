"""Scrapy's download handler for ``http`` and ``https``, which spools what it is asked to spool."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from scrapy.core.downloader.handlers.http11 import HTTP11DownloadHandler
from scrapy.utils.defer import maybe_deferred_to_future

from crawlers.components.scrapy_internals import permits
from crawlers.components.scrapy_internals.http import set_protocol, wrap_twisted_exceptions
from crawlers.components.spool.agent import SpoolingAgent
from crawlers.components.spool.body import Limits
from crawlers.components.spool.certificates import ExplainedTrust, explained
from crawlers.components.spool.headers import BoundedFactory
from crawlers.components.spool.response import DiskResponse, SpooledResponse

if TYPE_CHECKING:
    from scrapy import Request
    from scrapy.crawler import Crawler
    from scrapy.http import Response

SPOOL_ABOVE = 32 * 1024 * 1024
SPOOL_MAXSIZE = 2 * 1024 * 1024 * 1024


class SpoolingHandler(HTTP11DownloadHandler):
    """Scrapy's own; a large answer to a request with ``spool`` in its meta is a `SpooledResponse`, and headers end.

    Settings: SPOOL_ABOVE, the bytes from which on an answer goes into a file; SPOOL_MAXSIZE, the bytes beyond which it
    is refused, sent or unpacked, in place of DOWNLOAD_MAXSIZE (0 = no limit; a request's ``download_maxsize`` goes
    first); SPOOL_DIR, where the files take space. Smaller answers are ordinary ones, unpacked all the same.
    """

    def __init__(self, crawler: Crawler) -> None:
        super().__init__(crawler)
        set_protocol(self._pool, partial(BoundedFactory, partial(permits, crawler)))
        settings = crawler.settings
        self._above = min(settings.getint("SPOOL_ABOVE", SPOOL_ABOVE), self._default_maxsize or SPOOL_MAXSIZE)
        self._most = settings.getint("SPOOL_MAXSIZE", SPOOL_MAXSIZE)
        self._folder = settings.get("SPOOL_DIR") or None
        self._unpack = settings.getbool("COMPRESSION_ENABLED")
        self._counts = settings.getbool("DOWNLOADER_STATS")
        if settings.getbool("DOWNLOAD_VERIFY_CERTIFICATES"):
            self._contextFactory = ExplainedTrust(self._contextFactory)  # type: ignore[assignment]

    async def download_request(self, request: Request) -> Response:
        with explained():
            if not request.meta.get("spool"):
                return await super().download_request(request)
            agent = SpoolingAgent(self._limits(request), unpack=self._unpack, **self._agent_options())
            with wrap_twisted_exceptions():
                response = await maybe_deferred_to_future(agent.download_request(request))
        self._came(agent, request, response)
        return response

    def _limits(self, request: Request) -> Limits:
        most = request.meta.get("download_maxsize", self._most)
        return Limits(above=self._above, most=most, folder=self._folder)

    def _agent_options(self) -> dict[str, Any]:
        """Return what Scrapy gives its own agent."""
        return {
            "contextFactory": self._contextFactory,
            "bindAddress": self._bind_address,
            "pool": self._pool,
            "maxsize": self._default_maxsize,
            "warnsize": self._default_warnsize,
            "fail_on_dataloss": self._fail_on_dataloss,
            "crawler": self._crawler,
            "tls_verbose_logging": self._tls_verbose_logging,
        }

    def _came(self, agent: SpoolingAgent, request: Request, response: Response) -> None:
        """Count the received bytes, since DownloaderStats only sees the body; keep caches from storing an empty one."""
        if agent.body and self._counts:
            self._crawler.stats.inc_value("downloader/response_bytes", agent.body.received - len(response.body))
        if isinstance(response, DiskResponse):
            request.meta["dont_cache"] = True
        if isinstance(response, SpooledResponse):
            self._crawler.stats.inc_value("spool/response_count")
            self._crawler.stats.inc_value("spool/response_bytes", response.size)
