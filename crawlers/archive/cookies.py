"""The cookies of one file's chain, of its redirects and its form: each host gets its own; they are never on disk."""

from __future__ import annotations

import secrets
from collections import OrderedDict
from typing import TYPE_CHECKING

from scrapy.http.cookies import CookieJar
from scrapy.utils.httpobj import urlparse_cached

if TYPE_CHECKING:
    from http.cookiejar import Cookie

    from scrapy import Request
    from scrapy.http import Response

KEY = "cookie_chain"
"""Where a request's meta names its chain: redirects and retries copy it. The cookies themselves are in memory alone."""
_MOST = 50  # cookies of a host
_LARGEST = 4096  # characters of a cookie, as in browsers
_LATEST = 2**40  # seconds; a later end is none
_CHAINS = 1_000  # far more than there are requests at a time; a chain that lost its cookies goes on without

_jars: OrderedDict[str, dict[str, CookieJar]] = OrderedDict()
"""By chain and host; those that were used last."""


def send(request: Request) -> None:
    """Give a request the cookies that its own host has set in this chain."""
    request.headers.pop("Cookie", None)
    jar = _jars.get(request.meta.get(KEY, ""), {}).get(_host(request))
    if jar is not None:
        _jars.move_to_end(request.meta[KEY])
        jar.add_cookie_header(request)


def keep(request: Request, response: Response) -> None:
    """Remember the cookies that an answer sets, for its host and the rest of the chain."""
    if "Set-Cookie" not in response.headers:
        return
    chain = request.meta.setdefault(KEY, secrets.token_hex(8))
    hosts = _jars.setdefault(chain, {})
    jar = hosts.setdefault(_host(request), CookieJar())
    jar.extract_cookies(response, request)
    found = [one for one in jar if _is_small(one)][-_MOST:]
    jar.clear()
    for one in found:
        jar.set_cookie(one)
    while len(_jars) > _CHAINS:
        _jars.popitem(last=False)


def _is_small(cookie: Cookie) -> bool:
    return len(cookie.name) + len(cookie.value or "") <= _LARGEST and (cookie.expires or 0) < _LATEST


def _host(request: Request) -> str:
    return urlparse_cached(request).hostname or ""
