"""Where credentials may go: to the portal they are for, and nowhere else."""

from __future__ import annotations

import logging
import os
from typing import TYPE_CHECKING, Self
from urllib.parse import SplitResult, urlsplit

from scrapy import signals
from scrapy.exceptions import NotConfigured
from scrapy.utils.httpobj import urlparse_cached

from crawlers.exceptions import CrawlersError
from crawlers.safety.redact import hidden, hide

if TYPE_CHECKING:
    from urllib.parse import ParseResult

    from scrapy import Request, Spider
    from scrapy.crawler import Crawler
    from scrapy.http import Response
    from scrapy.settings import BaseSettings

logger = logging.getLogger(__name__)

_PORTS = {"http": 80, "https": 443}


def token(settings: BaseSettings) -> str:
    """Return the API token that the environment has; empty if it has none.

    Args:
        settings: with API_TOKEN_ENV, the name of the variable.
    """
    name = settings["API_TOKEN_ENV"]
    return os.environ.get(name, "").strip() if name else ""


class ApiToken:
    """The downloader middleware that sends an API token to the spider's ``portal``: same scheme, host and port.

    Each request is looked at, a redirect's too. The token is on a request only while it is under way: nothing that
    stores, repeats or logs requests ever sees it.

    Settings: API_TOKEN_ENV, the environment variable that has the token; it is sent as ``Authorization``.
    """

    def __init__(self, crawler: Crawler) -> None:
        name = crawler.settings["API_TOKEN_ENV"]
        self.token = token(crawler.settings)
        if not self.token:
            raise NotConfigured
        if not (self.token.isascii() and self.token.isprintable()):
            raise CrawlersError(f"{name} has characters in it that no API token has")
        hide(self.token)
        self.origin: tuple[str, str | None, int | None] | None = None
        crawler.signals.connect(self.spider_opened, signal=signals.spider_opened)

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        return cls(crawler)

    def spider_opened(self, spider: Spider) -> None:
        portal = getattr(spider, "portal", None)
        if portal:
            self.origin = _origin(urlsplit(portal))
            if self.origin[0] != "https":
                logger.warning("The API token goes to %s unencrypted", portal)

    def process_request(self, request: Request) -> None:
        self._drop(request)
        if _origin(urlparse_cached(request)) == self.origin:
            request.headers["Authorization"] = self.token

    def process_response(self, request: Request, response: Response) -> Response:
        self._drop(request)
        return response

    def process_exception(self, request: Request, exception: Exception) -> None:  # noqa: ARG002
        self._drop(request)

    def _drop(self, request: Request) -> None:
        if request.headers.get("Authorization") == self.token.encode():
            del request.headers["Authorization"]


class EchoedToken:
    """The downloader middleware that takes the API token out of answers, before anything stores them.

    A portal may repeat the token, in an error or in a record. An answer in a temporary file is left as it is; what is
    written of it is redacted then.
    """

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:  # noqa: ARG003
        return cls()

    def process_response(self, request: Request, response: Response) -> Response:  # noqa: ARG002
        body = hidden(response.body)
        return response if body == response.body else response.replace(body=body)


def _origin(parts: SplitResult | ParseResult) -> tuple[str, str | None, int | None]:
    return parts.scheme, parts.hostname, parts.port or _PORTS.get(parts.scheme)
