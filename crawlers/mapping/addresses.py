"""Addresses as pages write them."""

from __future__ import annotations

from urllib.parse import urljoin, urlsplit


def absolute(target: str, *here: str) -> str | None:
    """The address against that of its page, and the page's ``<base>``; ``None`` when it can't be asked for.

    >>> absolute(" b.ttl#top", "https://example.org/a/", "c/")
    'https://example.org/a/c/b.ttl'
    >>> absolute("mailto:a@b.org", "https://example.org/"), absolute("http://[bad", ""), absolute("http://a:99999/", "")
    (None, None, None)
    """
    address = ""
    try:
        for part in (*here, target.strip()):
            address = urljoin(address, part)
        parts = urlsplit(address)
        usable = parts.scheme in ("http", "https") and parts.hostname and parts.port != 0
    except ValueError:
        return None
    return address.partition("#")[0] if usable else None
