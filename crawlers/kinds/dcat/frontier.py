"""What a walk has requested and has still to request; kept in the ledger, so that a resumed crawl requests the same."""

from __future__ import annotations

from collections import deque
from dataclasses import replace
from itertools import islice
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from w3lib.url import canonicalize_url

from crawlers.exceptions import AnswerError
from crawlers.values.addresses import absolute

if TYPE_CHECKING:
    from scrapy import Request
    from scrapy.http import Response

    from crawlers.kinds.dcat.page import Page
    from crawlers.kinds.dcat.walk_state import Place
    from crawlers.listing.crawl import Crawl

MAX_HELD = 100_000
"""Addresses of one list in memory."""
MAX_UNREAD = 20
"""Datasets in a row that were requested one by one and did not come."""
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

    def take_new(self, name: str, by: str, place: Place) -> str | None:
        """Return the next address of a list that was not requested in another way."""
        while address := self.take(name, by):
            if self.is_new(address, by, place.with_listing(look="")):
                return address
        return None

    def is_new(self, url: str, by: str, place: Place) -> bool:
        """Return whether a page was not requested before; addresses are compared as the scheduler does it.

        Args:
            by: the key of the request whose answer leads there.
        """
        return self.crawl.seen(canonicalize_url(url), list_name=place.listing.pages_name, listed_by=by)

    def note(self, response: Response, place: Place) -> None:
        """Remember where a page came from: what leads back there, or to a part of it, is no further page."""
        for address in dict.fromkeys((response.url, canonicalize_url(response.url))):
            self.crawl.seen(address, list_name=place.listing.pages_name, listed_by="came")


class NamedDatasets:
    """The datasets that pages name and do not describe: each is requested by its own address, within bounds.

    Args:
        catalogue: the catalogue's address.
    """

    def __init__(self, crawl: Crawl, catalogue: str, frontier: Frontier) -> None:
        self.crawl = crawl
        self.catalogue = catalogue
        self.frontier = frontier

    @property
    def limit(self) -> int:
        """How many may be requested."""
        return self.crawl.crawler.settings.getint("LINKED_DATASETS_MAX")

    def add(self, page: Page, by: str) -> None:
        """Note the datasets that a page names."""
        for name in page.undescribed():
            self.crawl.seen(name, list_name="named", listed_by=by)

    def count(self) -> int:
        """Return how many datasets are named and not described so far."""
        return sum(1 for _ in self.crawl.records.listed("named", without="nodes"))

    def next(self, by: str, after: Place) -> tuple[str, Place] | None:
        """Return the address of a dataset that is described nowhere yet, and its place."""
        while after.requested < self.limit and after.unread < MAX_UNREAD and (name := self.frontier.take("named", by)):
            address = absolute(name, self.catalogue)
            if address is None or not self._is_own(address) or self.crawl.records.is_listed(name, "nodes"):
                continue
            if self.frontier.is_new(address, by, after.with_listing(look="")):
                return address, replace(after, way="dataset", name=name, requested=after.requested + 1, hops=0)
        return None

    def settle(self, response: Response, after: Place, page: Page) -> None:
        """Note whether the answer for a dataset describes it."""
        after.unread = 0
        if page.is_described(after.name):
            self.crawl.seen(after.name, list_name="settled", listed_by=response.url)
        elif not self.crawl.records.is_listed(after.name, "nodes"):
            self.report(after.name, "the answer from its address does not describe it", response.request)

    def report(self, name: str, reason: str, request: Request | None, status: int | None = None) -> None:
        """Report a dataset that is not described."""
        self.crawl.seen(name, list_name="settled", listed_by=request)
        message = f"the catalogue names the dataset {name}, and does not describe it: {reason}"
        self.crawl.failed("list", AnswerError("undescribed", message), request, http_status=status)

    def report_all(self, request: Request | None, after: Place) -> int:
        """Report the datasets that were not requested; return how many are not described."""
        missing = 0
        for missing, name in enumerate(self.crawl.records.listed("named", without="nodes"), 1):  # noqa: B007  # their number
            if not self.crawl.records.is_listed(name, "settled"):
                self.report(name, self._reason(name, after), request)
        return missing

    def _reason(self, name: str, after: Place) -> str:
        """Return why a dataset was not requested."""
        address = absolute(name, self.catalogue)
        if address is None:
            return "its name is no web address"
        if not self._is_own(address):
            return "its address is on another host"
        if after.unread >= MAX_UNREAD:
            return f"{MAX_UNREAD} datasets in a row were not available, and no more were requested"
        if after.requested >= self.limit:
            return f"LINKED_DATASETS_MAX allows {self.limit} to be requested one by one"
        return "no answer from its address does"

    def _is_own(self, address: str) -> bool:
        return same_host(address, self.catalogue)


def same_host(address: str, other: str) -> bool:
    """Return whether two addresses are of one host and port; http and https are alike.

    >>> same_host("http://a.org/1", "https://A.org:443/2"), same_host("http://a.org:8000/", "http://a.org/")
    (True, False)
    """
    return _host(address) == _host(other)


def _host(address: str) -> tuple[str | None, int | None]:
    parts = urlsplit(address)
    return parts.hostname, None if parts.port in (80, 443) else parts.port
