"""What makes two requests the same one: to Scrapy's method, address and body, the form that is asked for is added."""

from __future__ import annotations

from typing import TYPE_CHECKING, Self

from scrapy.http.headers import Headers
from scrapy.utils.request import fingerprint

if TYPE_CHECKING:
    from scrapy import Request
    from scrapy.crawler import Crawler
    from scrapy.settings import BaseSettings

_NAMES = ("Accept", "Accept-Language")


class AcceptFingerprinter:
    """Scrapy's fingerprint, which differs where Accept or Accept-Language differ from DEFAULT_REQUEST_HEADERS.

    Scrapy adds its defaults after a request is scheduled: a header that is the default counts as none, so that a
    request has one fingerprint all its life, and the one it always had when it asks for nothing special.
    """

    def __init__(self, settings: BaseSettings) -> None:
        defaults = Headers(settings.getdict("DEFAULT_REQUEST_HEADERS"))
        self.defaults = {name: defaults.get(name) for name in _NAMES}

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        return cls(crawler.settings)

    def fingerprint(self, request: Request) -> bytes:
        headers = request.headers
        own = [name for name, default in self.defaults.items() if headers.get(name, default) != default]
        return fingerprint(request, include_headers=own or None)
