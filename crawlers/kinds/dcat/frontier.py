"""What a crawl has requested and has still to request: in the ledger, so that a resumed crawl requests the same."""

from __future__ import annotations

from collections import deque
from itertools import islice
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from w3lib.url import canonicalize_url

if TYPE_CHECKING:
    from crawlers.listing.crawl import Crawl

MAX_HELD = 100_000
"""Addresses of one list in memory."""
_CHOSEN = "chosen"


class Frontier:
    """Lists of addresses; each address is requested once."""

    def __init__(self, crawl: Crawl) -> None:
        self.crawl = crawl
        self.waiting: dict[str, deque[str]] = {}

    def add(self, name: str, address: str, by: str) -> None:
        """Put an address on a list.

        Args:
            by: the key of the request whose answer names it.
        """
        is_new = self.crawl.records.see(address, name, by)
        if is_new and len(self.waiting.get(name, ())) < MAX_HELD:
            self.waiting.get(name, deque()).append(address)

    def take(self, name: str, by: str) -> str | None:
        """Return the next address of a list; after a crash, the same one for the same request.

        Args:
            by: the key of the request whose answer it follows.
        """
        records = self.crawl.records
        if name not in self.waiting:
            self.waiting[name] = deque(islice(records.pending(name, _CHOSEN, by), MAX_HELD))
        waiting = self.waiting[name]
        while waiting:
            address = waiting.popleft()
            if records.see(address, _CHOSEN, by):
                return address
        return None

    def take_new(self, name: str, by: str) -> str | None:
        """Return the next address of a list that was not requested in another way."""
        while address := self.take(name, by):
            if self.is_new(address, by):
                return address
        return None

    def is_new(self, url: str, by: str, look: str = "") -> bool:
        """Return whether a page was not requested before; addresses are compared as the scheduler does it.

        Args:
            by: the key of the request whose answer leads there.
            look: which look at the catalogue it is for.
        """
        return self.crawl.seen(canonicalize_url(url), list_name=_addresses(look), listed_by=by)

    def note(self, *urls: str, look: str = "") -> None:
        """Remember where a page came from: what leads back there, or to a part of it, is no further page."""
        for url in urls:
            for address in dict.fromkeys((url, canonicalize_url(url))):
                self.crawl.seen(address, list_name=_addresses(look), listed_by="came")


def _addresses(look: str) -> str:
    return f"addresses {look}".strip()


def same_host(address: str, other: str) -> bool:
    """Return whether two addresses are of one host and port; http and https are alike.

    >>> same_host("http://a.org/1", "https://A.org:443/2"), same_host("http://a.org:8000/", "http://a.org/")
    (True, False)
    """
    return _host(address) == _host(other)


def _host(address: str) -> tuple[str | None, int | None]:
    parts = urlsplit(address)
    return parts.hostname, None if parts.port in (80, 443) else parts.port
