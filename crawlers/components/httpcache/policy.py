"""What may be kept of a portal's answers, and how long it may be used without asking."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scrapy.extensions.httpcache import RFC2616Policy

from crawlers.components.politeness.blocked import challenge

if TYPE_CHECKING:
    from scrapy import Request
    from scrapy.http import Response

_UNCERTAIN = {"dataloss", "partial", "download_stopped"}
_ENDS = {b"json": (b"}", b"]"), b"xml": (b">",)}
_SAYS_SOMETHING = (b"ETag", b"Last-Modified", b"Expires")


class Policy(RFC2616Policy):
    """Scrapy's RFC 2616 policy, for a copy of a catalogue that must not be wrong.

    #. Only whole answers are kept: 200 and 203, no redirects, no robot checks, nothing that broke off.
    #. An old copy never stands in for an answer that failed: the request is retried, and reported.
    #. Without a lifetime from the server, the copy is asked about each time (``If-None-Match``): no guesses from
       Last-Modified.
    #. HTTPCACHE_ALWAYS_STORE: an answer without caching headers is used until HTTPCACHE_EXPIRATION_SECS.
    """

    def should_cache_response(self, response: Response, request: Request) -> bool:
        return (
            response.status in (200, 203)
            and is_whole(response)
            and b"*" not in b",".join(response.headers.getlist("Vary"))
            and challenge(response) is None
            and super().should_cache_response(response, request)
        )

    def is_cached_response_fresh(self, cachedresponse: Response, request: Request) -> bool:
        if super().is_cached_response_fresh(cachedresponse, request):
            return True
        is_reload = b"no-cache" in self._parse_cachecontrol(request)
        return self.always_store and not is_reload and self._says_nothing(cachedresponse)

    def is_cached_response_valid(self, cachedresponse: Response, response: Response, request: Request) -> bool:
        return response.status == 304

    def _says_nothing(self, response: Response) -> bool:
        directives = self._parse_cachecontrol(response)
        return not (
            {b"max-age", b"no-cache"} & directives.keys() or any(one in response.headers for one in _SAYS_SOMETHING)
        )

    def _compute_freshness_lifetime(self, response: Response, request: Request, now: float) -> float:
        if b"max-age" in self._parse_cachecontrol(response) or b"Expires" in response.headers:
            return super()._compute_freshness_lifetime(response, request, now)
        return 0


def is_whole(response: Response) -> bool:
    """Return whether the answer is complete: the last character of JSON and XML shows it, not their length."""
    if _UNCERTAIN.intersection(response.flags):
        return False
    kind = (response.headers.get("Content-Type") or b"").split(b";")[0].lower()
    last = response.body[-64:].rstrip()[-1:]
    return all(last in ends for name, ends in _ENDS.items() if name in kind)
