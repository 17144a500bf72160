"""Where a saved page is from, as far as it says so itself."""

from __future__ import annotations

import re
from urllib.parse import quote, urljoin, urlsplit

from crawlers.mapping.addresses import absolute

_NOWHERE = "https://example.org/"  # RFC 2606: nobody's
_HEAD = 100_000  # bytes
_TAG = r"<%s\b[^>]{0,500}?\b%s[^>]{0,500}?\b%s=[\"']([^\"']{1,2000})"
_SAYS = tuple(
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        r"<!-- saved from url=\(\d+\)(\S+) -->",
        _TAG % ("link", "rel=[\"']?canonical", "href"),
        r"<link\b[^>]{0,500}?\bhref=[\"']([^\"']{1,2000})[\"'][^>]{0,500}?\brel=[\"']?canonical",
        _TAG % ("meta", "property=[\"']og:url[\"']", "content"),
        r"<base\b[^>]{0,500}?\bhref=[\"']([^\"']{1,2000})",
    )
)


def origin(body: bytes, name: str, base: str = _NOWHERE) -> str:
    """The address that browsers leave in a saved page, else its canonical one, else one made of the file's name.

    >>> origin(b"<!-- saved from url=(0025)https://a.org/d -->", "d.html"), origin(b"<html>", "d 1.html")
    ('https://a.org/d', 'https://example.org/d%201.html')
    """
    head = body[:_HEAD].decode("latin-1")
    for pattern in _SAYS:
        found = pattern.search(head)
        address = absolute(found[1], base) if found else None
        if address:
            return address
    return urljoin(base, quote(name))


def is_made_up(address: str) -> bool:
    """Whether it stands for one that a saved page does not say.

    >>> is_made_up("https://example.org/d.html"), is_made_up("https://data.example.org/d")
    (True, False)
    """
    return urlsplit(address).netloc == urlsplit(_NOWHERE).netloc
