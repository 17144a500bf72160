"""What a crawl has requested and has still to request: in the ledger, so that a resumed crawl requests the same."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, replace
from itertools import islice
from typing import TYPE_CHECKING, Literal
from urllib.parse import urlsplit

from scrapy import Request
from w3lib.url import canonicalize_url

from crawlers.exceptions import AnswerError
from crawlers.safety.addresses import absolute

if TYPE_CHECKING:
    from scrapy.http import Response

    from crawlers.kinds.dcat.page import CataloguePage
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


# The datasets that pages name and do not describe: each is requested by its own address, one after the other

MAX_UNREAD = 20
"""Datasets in a row that were requested one by one and did not come."""
_WITHOUT = "without rdf"


class NamedDatasets:
    """Keeps the names in the ledger, says which dataset is requested next, and reports what does not come.

    Args:
        catalogue: the catalogue's address.
    """

    def __init__(self, crawl: Crawl, catalogue: str, frontier: Frontier) -> None:
        self.crawl, self.catalogue, self.frontier = crawl, catalogue, frontier
        self.has_any: bool | None = None  # to be looked up

    @property
    def limit(self) -> int:
        return self.crawl.crawler.settings.getint("LINKED_DATASETS_MAX")

    def add(self, page: CataloguePage, by: str) -> int:
        """Note the datasets that a page names; return how many of them no page named or described before."""
        records, new = self.crawl.records, 0
        for name in page.undescribed():
            is_new = self.crawl.seen(name, list_name="named", listed_by=by)
            new += is_new and not records.is_listed(name, "nodes")
            self.has_any = True
        return new

    def is_named(self, name: str, list_name: str) -> bool:
        """Return whether a page of a list named a dataset that it did not describe."""
        if self.has_any is None:
            self.has_any = self.crawl.records.count("named") > 0
        by = self.crawl.records.listed_by(name, "named") if self.has_any else None
        return by is not None and by.rpartition(" ")[0] == list_name

    def following(self, ask: Ask, by: str) -> Ask | None:
        """Return what the next dataset that is described nowhere is asked by.

        Args:
            by: the key of the request that this follows.
        """
        while ask.asked < self.limit and (name := self.frontier.take("named", by)):
            address = self._address(name)
            if address and not self.crawl.records.is_listed(name, "nodes") and self.frontier.is_new(address, by):
                return replace(ask, url=address, name=name, asked=ask.asked + 1, hops=0)
        return None

    def _address(self, name: str) -> str | None:
        """Return where a dataset may be requested; ``None`` if that is nowhere, or on another host."""
        address = absolute(name, self.catalogue)
        return address if address and same_host(address, self.catalogue) else None

    # What came, and what did not

    def came(self, name: str, page: CataloguePage, response: Response) -> None:
        """Note that a dataset's address was read; report one that the answer does not describe."""
        if page.is_described(name):
            self.crawl.seen(name, list_name="settled", listed_by=response.url)
        elif not self.crawl.records.is_listed(name, "nodes"):
            error = self.lost(name, "the answer from its address does not describe it")
            self.crawl.failed("list", error, response.request)

    def note_without(self, name: str, by: str) -> None:
        self.crawl.seen(name, list_name=_WITHOUT, listed_by=by)

    def lost(self, name: str, reason: str) -> AnswerError:
        """Return the error of a dataset that is not described; it is not reported again."""
        self.crawl.seen(name, list_name="settled", listed_by=None)
        return AnswerError("undescribed", f"the catalogue names the dataset {name}, and does not describe it: {reason}")

    def report(self, asked: int) -> int:
        """Report the datasets that are not described and were not reported; return how many are missing.

        Args:
            asked: how many were requested.
        """
        missing, without = 0, self._without_rdf()
        for name in self.crawl.records.listed("named", without="nodes"):
            if name in without:
                message = f"the catalogue names the dataset {name}, which has no RDF: its address gives none"
                self.crawl.failed("list", AnswerError("no_rdf", message), Request(str(self._address(name))))
                continue
            missing += 1
            if not self.crawl.records.is_listed(name, "settled"):
                self.crawl.failed("list", self.lost(name, self._reason(name, asked)))
        return missing

    def _without_rdf(self) -> set[str]:
        """Return the names whose addresses gave no RDF, if they are things without: never kept, and not the most."""
        names = list(self.crawl.records.listed(_WITHOUT))
        if len(names) > self.crawl.run_state.listed:  # the catalogue has its RDF elsewhere, or gives none today
            return set()
        return set(names) - self.crawl.opened_index().documents.described(names)

    def _reason(self, name: str, asked: int) -> str:
        """Return why a dataset was not requested, or what came."""
        if self.crawl.records.is_listed(name, _WITHOUT):
            return "an HTML page came instead of RDF"
        if absolute(name, self.catalogue) is None:
            return "its name is no web address"
        if self._address(name) is None:
            return "its address is on another host"
        if asked >= self.limit:
            return f"LINKED_DATASETS_MAX allows {self.limit} to be requested one by one"
        if self.crawl.records.is_listed(name, "chosen"):
            return "no answer from its address does"
        return "no more datasets were requested, because those before it did not come"
