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
from crawlers.safety.addresses import PORTS
from crawlers.safety.redact import hidden, hide

if TYPE_CHECKING:
    from urllib.parse import ParseResult

    from scrapy import Request, Spider
    from scrapy.crawler import Crawler
    from scrapy.http import Response
    from scrapy.settings import BaseSettings

logger = logging.getLogger(__name__)


def token(settings: BaseSettings, setting: str = "API_TOKEN_ENV") -> str:
    """Return the API token that the environment has; empty if it has none.

    Args:
        setting: API_TOKEN_ENV or PUBLISH_TOKEN_ENV: has the name of the variable.

    Raises:
        CrawlersError: no API token has such characters.
    """
    name = settings[setting]
    value = os.environ.get(name, "").strip() if name else ""
    if value and not (value.isascii() and value.isprintable()):
        raise CrawlersError(f"{name} has characters in it that no API token has")
    return value


class NoLogins:
    """The downloader middleware that requests an address without its ``user:password@``.

    A link or a redirect may have it; no connection could be made to such an address, and it would be written.
    """

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:  # noqa: ARG003
        return cls()

    def process_request(self, request: Request) -> Request | None:
        parts = urlparse_cached(request)
        login, _, host = parts.netloc.rpartition("@")
        return request.replace(url=parts._replace(netloc=host).geturl(), dont_filter=True) if login else None


class SecretHeaders:
    """The downloader middleware that sends the headers of a spider whose values are in the environment.

    A spider that has ``secret_headers``, names of headers with the environment variables that have their values, has
    ``secret_addresses`` too: only requests of the same scheme, host and port as one of those get the headers, redirects
    too. They are on a request only while it is under way: nothing that stores, repeats or logs requests ever sees them.
    Before the variable's name, an authentication scheme may stand: ``{"Authorization": "Bearer GITHUB_TOKEN"}``.
    """

    def __init__(self, crawler: Crawler) -> None:
        self.headers: dict[str, str] = {}
        self.origins: set[tuple[str, str | None, int | None]] = set()
        crawler.signals.connect(self.spider_opened, signal=signals.spider_opened)

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        return cls(crawler)

    def spider_opened(self, spider: Spider) -> None:
        """Take the values from the environment; a variable that is not set is left out, and that is logged."""
        for header, named in getattr(spider, "secret_headers", {}).items():
            scheme, _, variable = named.rpartition(" ")
            value = os.environ.get(variable, "").strip()
            if value and value.isascii() and value.isprintable():
                hide(value)
                self.headers[header] = f"{scheme} {value}".lstrip()
            else:
                logger.warning("%s is not set, or no header's value: %s is not sent", variable, header)
        self.origins = {origin(urlsplit(address)) for address in getattr(spider, "secret_addresses", ())}

    def process_request(self, request: Request) -> None:
        self._drop(request)
        if self.headers and origin(urlparse_cached(request)) in self.origins:
            for header, value in self.headers.items():
                request.headers[header] = value

    def process_response(self, request: Request, response: Response) -> Response:
        self._drop(request)
        return response

    def process_exception(self, request: Request, exception: Exception) -> None:
        self._drop(request)

    def _drop(self, request: Request) -> None:
        for header, value in self.headers.items():
            if request.headers.get(header) == value.encode():
                del request.headers[header]


class ApiToken(SecretHeaders):
    """The downloader middleware that sends an API token to the spider's ``portal``: same scheme, host and port.

    Settings: API_TOKEN_ENV, the environment variable that has the token; it is sent as ``Authorization``.
    """

    def __init__(self, crawler: Crawler) -> None:
        value = token(crawler.settings)
        if not value:
            raise NotConfigured
        super().__init__(crawler)
        hide(value)
        self.headers["Authorization"] = value

    def spider_opened(self, spider: Spider) -> None:
        """Take the portal's origin; a portal that is not asked by https is logged."""
        portal = getattr(spider, "portal", None)
        if portal:
            self.origins = {origin(urlsplit(portal))}
            if urlsplit(portal).scheme != "https":
                logger.warning("The API token goes to %s unencrypted", portal)


class WriteToken(SecretHeaders):
    """The downloader middleware that sends a token that may write: by POST, to the spider's ``write_addresses`` only.

    Settings: PUBLISH_TOKEN_ENV, the environment variable that has the token; it is sent as ``Authorization``, and
    replaces the token of `ApiToken`.
    """

    def __init__(self, crawler: Crawler) -> None:
        self.addresses = frozenset(getattr(crawler.spider, "write_addresses", ()))
        value = token(crawler.settings, "PUBLISH_TOKEN_ENV") if self.addresses else ""
        if not value:
            raise NotConfigured
        super().__init__(crawler)
        hide(value)
        self.headers["Authorization"] = value

    def spider_opened(self, spider: Spider) -> None:
        """Log if the token is sent without encryption."""
        host = next((urlsplit(address).netloc for address in self.addresses if not address.startswith("https:")), None)
        if host:
            logger.warning("The token that may write goes to %s unencrypted", host)

    def process_request(self, request: Request) -> None:
        self._drop(request)
        if request.method == "POST" and request.url in self.addresses:
            for header, value in self.headers.items():
                request.headers[header] = value


class EchoedToken:
    """The downloader middleware that takes the API token out of answers, before anything stores them.

    A portal may repeat the token, in an error or in a record. An answer in a temporary file is left as it is; what is
    written of it is redacted then.
    """

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:  # noqa: ARG003
        return cls()

    def process_response(self, request: Request, response: Response) -> Response:
        body = hidden(response.body)
        return response if body == response.body else response.replace(body=body)


def origin(parts: SplitResult | ParseResult) -> tuple[str, str | None, int | None]:
    """Return the scheme, host and port of an address: what a credential belongs to."""
    return parts.scheme, parts.hostname, parts.port or PORTS.get(parts.scheme)
