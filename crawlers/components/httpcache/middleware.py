"""Scrapy's cache middleware, without what would pass off an old copy as an answer."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scrapy.downloadermiddlewares.httpcache import HttpCacheMiddleware

if TYPE_CHECKING:
    from scrapy import Request
    from scrapy.http import Response

_VALIDATORS = ("If-None-Match", "If-Modified-Since")


class HttpCache(HttpCacheMiddleware):
    """The downloader middleware that answers from the cache, and asks the portal whether a copy still holds.

    Scrapy's gives an old copy when the connection fails, as if nothing had happened, and leaves a copy's validators on
    the request, which a redirect then takes to another address.
    """

    def process_response(self, request: Request, response: Response) -> Request | Response:  # type: ignore[override]
        copy = request.meta.get("cached_response")
        answer = super().process_response(request, response)
        _forget(request, copy)
        return answer

    def process_exception(self, request: Request, exception: Exception) -> None:  # type: ignore[override]
        _forget(request, request.meta.pop("cached_response", None))


def _forget(request: Request, copy: Response | None) -> None:
    if copy is not None:
        for name in _VALIDATORS:
            request.headers.pop(name, None)
