"""What a crawl has requested and has still to request: in the ledger, so that a resumed crawl requests the same."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Literal
from urllib.parse import urlsplit

from w3lib.url import canonicalize_url

if TYPE_CHECKING:
    from crawlers.listing.crawl import Crawl

MAX_HELD = 100_000
"""Addresses of one list in memory."""
_CHOSEN = "chosen"


@dataclass(frozen=True, slots=True, kw_only=True)
class Ask:
    """A page of a catalogue, or a dataset by its own address, and what the pages before it have shown.

    Args:
        url: its address.
        start: that of the first page.
        branch: the catalogue's address; empty for the one that the user named.
        depth: how many catalogues contain it.
        is_part: whether nothing says that it is a catalogue, but that it is a part of one.
        name: the IRI of the dataset that is requested by its own address.
        asked: how many datasets were requested so.
        hops: how many HTML pages led to its RDF.
        is_node: whether the page was found as a TREE node.
        is_guessed: whether it was requested by its number only, and no page names it.
        is_behind_gap: whether the guessed page before this one was not found.
        had_next: whether a page said where the next one is; from then on no page number is guessed.
        is_catalogue: whether one of the pages was a catalogue, even an empty one.
        since: when the first page came, by its server's clock, less an hour, if ckanext-dcat made it; else empty.
        is_looping: whether the pages repeat, or end in an empty one that a page named.
        shifted: how many of the pages before have a dataset that another page had before.
        stale: how many TREE nodes in a row had no new dataset.
        look: which second look this is, if it is one.
        looked: how many pages of it have come.
        total: how many datasets there are, in a look at a part of them.
    """

    url: str
    start: str = ""
    branch: str = ""
    depth: int = 0
    is_part: bool = False
    name: str = ""
    asked: int = 0
    hops: int = 0
    is_node: bool = False
    is_guessed: bool = False
    is_behind_gap: bool = False
    had_next: bool = False
    is_catalogue: bool = False
    since: str = ""
    is_looping: bool = False
    shifted: int = 0
    stale: int = 0
    look: Literal["", "modified", "first"] = ""
    looked: int = 0
    total: int | None = None


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

    def was_requested(self, url: str) -> bool:
        """Return whether a page was requested, or came."""
        return self.crawl.records.is_listed(canonicalize_url(url), _addresses(""))

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
