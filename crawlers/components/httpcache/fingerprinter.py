"""When two requests are the same: method, address, body, accepted formats and languages, and browser actions."""

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

    Scrapy adds its defaults after a request is scheduled. A header with the default value is therefore ignored: the
    fingerprint never changes, and without special headers it is Scrapy's own. Requests with different browser actions
    (``browser`` in a request's meta) have different fingerprints; their time limits do not count. Where the same form
    is sent for each page, ``page`` in the meta distinguishes the requests.
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
        suffix = _described(turns or {}) + (b"" if page is None else b" page %d" % page)
        return hashlib.sha1(plain + suffix).digest()  # noqa: S324  # as Scrapy's


def _described(turns: dict[str, Any]) -> bytes:
    """
    >>> _described({"kind": "scroll", "wait": 3.0, "times": 2})
    b'{"kind": "scroll", "times": 2}'
    """
    given = {name: turns[name] for name in _TURNS if turns.get(name) is not None}
    return json.dumps(given, sort_keys=True).encode()
