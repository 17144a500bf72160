"""Walks sitemaps in place of listings, where the rules ask for it."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any
from urllib.parse import urljoin, urlsplit

from scrapy import Request
from w3lib.url import canonicalize_url

from crawlers.exceptions import AnswerError
from crawlers.kinds.html.conclusion import GONE
from crawlers.kinds.html.links import chosen, foreign
from crawlers.kinds.html.sitemap import Sitemap, parts
from crawlers.kinds.html.walk_state import Place
from crawlers.listing.completeness import Ending
from crawlers.politeness import failures

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator, Sequence

    from scrapy.http import Response
    from twisted.python.failure import Failure

    from crawlers.kinds.html.conclusion import Conclusion
    from crawlers.kinds.html.links import Link
    from crawlers.kinds.html.listed_datasets import ListedDatasets
    from crawlers.kinds.html.rules import Rules
    from crawlers.listing.crawl import Crawl

_MOST = 100  # error lines for one sitemap
_DEEPEST = 3  # sitemaps that name sitemaps; the protocol has one


class SitemapWalk:
    """Requests sitemaps and the datasets that they list.

    Attributes:
        named: the sitemaps that robots.txt names.
    """

    def __init__(self, crawl: Crawl, site: Rules, conclusion: Conclusion, listed_datasets: ListedDatasets) -> None:
        self.crawl, self.site, self.conclusion, self.listed_datasets = crawl, site, conclusion, listed_datasets
        self.named: Sequence[str] = ()

    def robots_read(self, robotparser: Any, request: Request) -> None:
        """Record the sitemaps that the catalogue's robots.txt names: it is read before the first request."""
        portal = self.crawl.place
        if urlsplit(request.url).netloc == urlsplit(portal).netloc:
            found = getattr(getattr(robotparser, "rp", None), "sitemaps", ())
            self.named = [urljoin(portal, address) for address in found]

    def start(self) -> Iterator[Request]:
        address = urljoin(self.crawl.place, self.site.paging.address or "/sitemap.xml")
        self.crawl.seen(canonicalize_url(address), list_name="walks", listed_by="start")
        yield self._begin(address)

    def _begin(self, address: str, depth: int = 0, rest: Sequence[Any] = ()) -> Request:
        """
        Args:
            rest: address and depth of the sitemaps that are requested after this one.
        """
        self.conclusion.completeness.begin(address)
        return Request(
            address,
            callback=self.parse_sitemap,
            errback=self.sitemap_failed,
            cb_kwargs={"place": Place(walk=address, depth=depth).plain(), "rest": list(rest)},
            priority=0 if self.crawl.args["max_resources"] else 1,
        )

    async def parse_sitemap(
        self, response: Response, place: dict[str, Any], rest: Sequence[Any] = ()
    ) -> AsyncIterator[Request]:
        here = Place(**place)
        if "cached" in response.flags:
            self.crawl.run_state.has_stale_answer = True
        found, known = Sitemap(), set[int]()
        try:
            for part in parts(response.body, response.url):
                for request in self._listed_in(part, here, response.request, known):
                    yield request
                found.sitemaps += part.sitemaps
                found.flaws += part.flaws
                if self.listed_datasets.is_enough():
                    break
                await asyncio.sleep(0)  # a sitemap may name hundreds of thousands
        except AnswerError as error:
            self.conclusion.fail(error, response.request, response.status)
            found.flaws.append(str(error))
        for request in self._end(found, here, response.request, rest):
            yield request

    def _listed_in(self, part: Sitemap, here: Place, request: Request | None, known: set[int]) -> Iterator[Request]:
        """Yield the requests for the datasets of a piece of a sitemap that no earlier piece had."""
        for flaw in part.flaws:
            self.conclusion.fault("truncated", flaw, request)
        changed = {link: day for link, day in _dated(part, self.site).items() if hash(link.id) not in known}
        known.update(hash(link.id) for link in changed)
        links, strangers = foreign(list(changed), self.site)
        self.listed_datasets.report_offsite(strangers, request)
        days = {link.id: day for link, day in changed.items() if day}
        yield from self.listed_datasets.requests(links, here, request, days)

    def _end(self, found: Sitemap, here: Place, request: Request | None, rest: Sequence[Any]) -> Iterator[Request]:
        if self.listed_datasets.is_enough():
            yield from self.conclusion.stop(here)
            return
        yield from self._below(found.sitemaps, here, rest)
        if not found.flaws:
            ending = Ending(listed=here.seen, subject=here.walk, is_one_file=True)
            self.conclusion.completeness.conclude(here.walk, ending, request)
        yield from self.conclusion.end(here)

    def sitemap_failed(self, failure: Failure) -> Iterator[Request]:
        """Report a sitemap that is not available, unless its address was a guess and robots.txt names others."""
        request, status = failures.request(failure), failures.status(failure)
        here, rest = Place(**request.cb_kwargs["place"]), request.cb_kwargs["rest"]
        is_guess = not here.depth and self.site.paging.address is None
        if not (is_guess and self.named and status in GONE):
            self.conclusion.fail(failures.from_failure(failure), request, status)
        yield from self._below([], here, rest)
        yield from self.conclusion.end(here)

    def _below(self, found: Sequence[str], here: Place, rest: Sequence[Any]) -> Iterator[Request]:
        """Request the sitemaps that one names, and robots.txt; one by one where a limit may end the crawl."""
        found = [*found, *(() if here.depth else self.named)]
        follow = [address for address in found if self.site.follows(address)]
        self._report_offsite([address for address in found if not self.site.follows(address)], here)
        walks = {"list_name": "walks", "listed_by": here.walk}
        new = [address for address in follow if self.crawl.seen(canonicalize_url(address), **walks)]
        if new and here.depth >= _DEEPEST:
            self.conclusion.fault("trap", f"{new[0]} is a sitemap deeper than {_DEEPEST} others", None)
            new = []
        left = [*rest, *([address, here.depth + 1] for address in new)]
        is_limited = self.crawl.limits.is_set
        for at, (address, depth) in enumerate(left[:1] if is_limited else left):
            yield self._begin(address, depth, left[at + 1 :] if is_limited else ())

    def _report_offsite(self, found: Sequence[str], here: Place) -> None:
        """Report the sitemaps on other hosts: what they list is missing."""
        for address in found[:_MOST]:
            message = f"the sitemap {address} is not on one of the catalogue's hosts: name its host in `hosts`"
            self.conclusion.fault("offsite", message, None)
        if len(found) > _MOST:
            message = f"{len(found) - _MOST} more sitemaps of {here.walk} are not on one of the catalogue's hosts"
            self.conclusion.fault("offsite", message, None)


def _dated(sitemap: Sitemap, rules: Rules) -> dict[Link, str | None]:
    """Return the datasets of a sitemap, and when each was changed."""
    return {link: day for address, day in sitemap.pages for link in chosen([address], rules)}
