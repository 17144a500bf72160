"""Sitemaps in place of listings, where the rules ask for them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from urllib.parse import urljoin, urlsplit

from scrapy import Request
from w3lib.url import canonicalize_url

from crawlers.components.politeness import failures
from crawlers.exceptions import AnswerError
from crawlers.kinds.html.dialect import LinkedDatasets
from crawlers.kinds.html.links import chosen, foreign
from crawlers.kinds.html.sitemap import parts
from crawlers.kinds.html.withdrawals import GONE
from crawlers.listing.dialect import Traits
from crawlers.listing.walk import Entry, ListingPage, Offer, Walk

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from scrapy.http import Response


_MOST = 100  # error lines for one sitemap
_DEEPEST = 3  # sitemaps that name sitemaps; the protocol has one
_WAITING = "sitemaps at depth {}"


@dataclass(frozen=True, slots=True)
class Address:
    """A sitemap's address."""

    url: str


class Sitemaps(LinkedDatasets[Address]):
    """The sitemaps that the rules, robots.txt and other sitemaps name.

    Attributes:
        named: those that robots.txt names.
    """

    asks = Address
    traits = Traits(way="single", is_one_list=False)
    named: Sequence[str] = ()

    def robots_read(self, robotparser: Any, request: Request) -> None:
        """Record the sitemaps that the catalogue's robots.txt names: it is read before the first request."""
        portal = self.crawl.place
        if urlsplit(request.url).netloc == urlsplit(portal).netloc:
            found = getattr(getattr(robotparser, "rp", None), "sitemaps", ())
            self.named = [urljoin(portal, address) for address in found]

    def first(self) -> Walk[Address]:
        address = urljoin(self.crawl.place, self.site.paging.address or "/sitemap.xml")
        self.crawl.seen(canonicalize_url(address), list_name="walks", listed_by="start")
        return Walk(ask=Address(address), name=address)

    def starts(self) -> Iterator[Walk[Address]]:
        yield self.first()

    def _is_guess(self, walk: Walk[Address]) -> bool:
        """Return whether nobody said that there is such a sitemap."""
        return not walk.above and self.site.paging.address is None

    def request(self, walk: Walk[Address]) -> Request:
        meta = {"handle_httpstatus_list": list(GONE)} if self._is_guess(walk) else {}
        return Request(walk.ask.url, meta=meta, priority=0 if self.crawl.args["max_resources"] else 1)

    def read(self, response: Response, walk: Walk[Address]) -> ListingPage[Address]:
        if response.status in GONE:
            if not self.named:
                raise failures.from_status(response)
            return ListingPage(offers=self._below([], walk), end="closed")
        page = ListingPage[Address]()
        page.entries = self._entries(response, walk, page)
        return page

    def _entries(self, response: Response, walk: Walk[Address], page: ListingPage[Address]) -> Iterator[Entry]:
        """Yield the datasets of a sitemap; then the page has what else it shows."""
        sitemaps, known = list[str](), set[int]()
        try:
            for part in parts(response.body, response.url):
                for flaw in part.flaws:
                    self.report("truncated", flaw, response.request)
                    page.gaps += 1
                sitemaps += part.sitemaps
                dated = {link: day for address, day in part.pages for link in chosen([address], self.site)}
                links, strangers = foreign(list(dated), self.site)
                self.report_offsite([link for link in strangers if hash(link.id) not in known], response.request)
                for link in links:
                    if hash(link.id) not in known:
                        yield Entry(link.id, {"id": link.id}, reading=(link, dated[link]))
                    known.add(hash(link.id))
                known.update(hash(link.id) for link in strangers)
        except AnswerError as error:
            page.fault = error
        page.offers = self._below(sitemaps, walk)

    def items(
        self, response: Response, entry: Entry, allowed: int, walk: Walk[Address], position: int
    ) -> Iterator[Request]:
        return self.pages.requests(*entry.reading)

    # What a sitemap names

    def _below(self, found: Sequence[str], walk: Walk[Address]) -> list[Offer[Address]]:
        """Return the sitemaps that one names, and robots.txt; where a limit may end the crawl they wait."""
        found = [*found, *(() if walk.above else self.named)]
        self._report_foreign([address for address in found if not self.site.follows(address)], walk)
        listed = {"list_name": "walks", "listed_by": walk.key}
        new = [
            address
            for address in filter(self.site.follows, found)
            if self.crawl.seen(canonicalize_url(address), **listed)
        ]
        if new and len(walk.above) >= _DEEPEST:
            self.report("trap", f"{new[0]} is a sitemap deeper than {_DEEPEST} others", None)
            return []
        if not self.crawl.limits.is_set:
            return [Offer("walk", address, Address(address)) for address in new]
        for address in new:
            self.crawl.seen(address, list_name=_WAITING.format(len(walk.above) + 1), listed_by=walk.key)
        return []

    def _report_foreign(self, found: Sequence[str], walk: Walk[Address]) -> None:
        """Report the sitemaps on other hosts: what they list is missing."""
        for address in found[:_MOST]:
            message = f"the sitemap {address} is not on one of the catalogue's hosts: name its host in `hosts`"
            self.report("offsite", message, None)
        if len(found) > _MOST:
            message = f"{len(found) - _MOST} more sitemaps of {walk.name} are not on one of the catalogue's hosts"
            self.report("offsite", message, None)

    def short(self, walk: Walk[Address]) -> Iterator[Any]:
        """Go on with the sitemaps of robots.txt, where the first one did not come."""
        yield from super().short(walk)
        for offer in self._below([], walk) if not walk.pages else ():
            yield self._walk(offer.name, len(walk.above) + 1)

    def ended(self, walk: Walk[Address]) -> Iterator[Any] | None:
        """Yield the next of the sitemaps that wait."""
        for depth in range(1, _DEEPEST + 1):
            for address in self.crawl.records.listed(_WAITING.format(depth)):
                if address not in self.crawl.run_state.walks.lists:
                    return iter((self._walk(address, depth),))
        return super().ended(walk)

    def _walk(self, address: str, depth: int) -> Walk[Address]:
        return Walk(ask=Address(address), name=address, above=("",) * depth)
