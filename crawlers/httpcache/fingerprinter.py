"""What makes two requests the same one: Scrapy's method, address and body, the form asked for, the browser's turns."""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING, Any, Self

from scrapy.http.headers import Headers
from scrapy.utils.request import fingerprint

if TYPE_CHECKING:
    from scrapy import Request
    from scrapy.crawler import Crawler
    from scrapy.settings import BaseSettings

_NAMES = ("Accept", "Accept-Language")
_TURNS = ("kind", "text", "texts", "xpath", "script", "first", "step", "times")


class AcceptFingerprinter:
    """Scrapy's fingerprint, which differs where Accept or Accept-Language differ from DEFAULT_REQUEST_HEADERS.

    Scrapy adds its defaults after a request is scheduled: a header that is the default counts as none, so that a
    request has one fingerprint all its life, and the one it always had when it asks for nothing special. What a browser
    shows after some turns (``browser`` in a request's meta) is another thing than what it shows after others; how long
    it may take makes no difference. A form that is sent again for each page tells them apart by ``page``.
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
        plain = fingerprint(request, include_headers=own or None)
        turns, page = request.meta.get("browser"), request.meta.get("page")
        if turns is None and page is None:
            return plain
        told = _said(turns or {}) + (b"" if page is None else b" page %d" % page)
        return hashlib.sha1(plain + told).digest()  # noqa: S324  # as Scrapy's


def _said(turns: dict[str, Any]) -> bytes:
    """
    >>> _said({"kind": "scroll", "wait": 3.0, "times": 2})
    b'{"kind": "scroll", "times": 2}'
    """
    given = {name: turns[name] for name in _TURNS if turns.get(name) is not None}
    return json.dumps(given, sort_keys=True).encode()
