"""The cookies of one file's chain, of its redirects and its form: each host gets its own; they end with the chain."""

from __future__ import annotations

from http.cookiejar import Cookie
from typing import TYPE_CHECKING

from scrapy.http.cookies import CookieJar
from scrapy.utils.httpobj import urlparse_cached

if TYPE_CHECKING:
    from scrapy import Request
    from scrapy.http import Response

KEY = "cookies_of_hosts"
"""Where a request's meta has them, as JSON: redirects and retries copy it, so nothing else needs to know a chain."""
_MOST = 50  # cookies of a host
_LARGEST = 4096  # characters of a cookie, as in browsers
_LATEST = 2**40  # seconds; a later end is none


def send(request: Request) -> None:
    """Give a request the cookies that its own host has set in this chain."""
    request.headers.pop("Cookie", None)
    if KEY in request.meta:
        _jar(request).add_cookie_header(request)


def keep(request: Request, response: Response) -> None:
    """Remember the cookies that an answer sets, for its host and the rest of the chain."""
    if "Set-Cookie" not in response.headers:
        return
    jar = _jar(request)
    jar.extract_cookies(response, request)
    found = [vars(one) for one in jar if _is_small(one)][-_MOST:]
    kept = [{name.removeprefix("_"): value for name, value in one.items()} for one in found]
    request.meta[KEY] = request.meta.get(KEY, {}) | {_host(request): kept}


def _jar(request: Request) -> CookieJar:
    jar = CookieJar()
    for one in request.meta.get(KEY, {}).get(_host(request), ()):
        jar.set_cookie(Cookie(**one))
    return jar


def _is_small(cookie: Cookie) -> bool:
    return len(cookie.name) + len(cookie.value or "") <= _LARGEST and (cookie.expires or 0) < _LATEST


def _host(request: Request) -> str:
    return urlparse_cached(request).hostname or ""
