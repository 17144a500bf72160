"""Catalogues whose datasets stand in a sitemap: no listing is walked."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, Self
from urllib.parse import urljoin, urlsplit

from scrapy import Request, signals
from w3lib.url import canonicalize_url

from crawlers import failures
from crawlers.exceptions import AnswerError
from crawlers.html.links import chosen, foreign
from crawlers.html.place import Place
from crawlers.html.sitemap import Sitemap, parts
from crawlers.html.walk import HTMLWalk
from crawlers.listing.completeness import Ending

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator, Sequence

    from scrapy.crawler import Crawler
    from scrapy.http import Response
    from twisted.python.failure import Failure

    from crawlers.html.links import Link
    from crawlers.rules import Rules

_MOST = 100  # error lines for one sitemap
_DEEPEST = 3  # sitemaps that name sitemaps; the protocol has one


class HTMLSitemaps(HTMLWalk):
    """The part of `HTMLSpider` that reads sitemaps, where the rules say so."""

    named: Sequence[str] = ()
    """The sitemaps that robots.txt names."""

    @classmethod
    def from_crawler(cls, crawler: Crawler, **given: str) -> Self:
        spider = super().from_crawler(crawler, **given)
        if spider.site.paging.kind == "sitemap" and spider.site.paging.address is None:
            crawler.signals.connect(spider.robots_read, signals.robots_parsed)
        return spider

    def robots_read(self, robotparser: Any, request: Request) -> None:
        """Take note of the sitemaps that the catalogue's robots.txt names: it is read before the first request."""
        if urlsplit(request.url).netloc == urlsplit(self.portal).netloc:
            found = getattr(getattr(robotparser, "rp", None), "sitemaps", ())
            self.named = [urljoin(self.portal, address) for address in found]

    async def start(self) -> AsyncIterator[Request]:
        if self.site.paging.kind == "sitemap":
            address = urljoin(self.portal, self.site.paging.address or "/sitemap.xml")
            self.noticed(canonicalize_url(address), list_name="walks", by="start")
            yield self.sitemap_request(self.begun(Place(walk=address)))
            return
        async for request in super().start():
            yield request

    def sitemap_request(self, place: Place, rest: Sequence[Any] = ()) -> Request:
        """
        Args:
            rest: address and depth of the sitemaps that are asked for after this one.
        """
        return Request(
            place.walk,
            callback=self.parse_sitemap,
            errback=self.sitemap_failed,
            cb_kwargs={"place": place.plain(), "rest": list(rest)},
            priority=0 if self.args["max_resources"] else 1,
        )

    async def parse_sitemap(
        self, response: Response, place: dict[str, Any], rest: Sequence[Any] = ()
    ) -> AsyncIterator[Request]:
        here = Place(**place)
        if "cached" in response.flags:
            self.provisional()
        found, known = Sitemap(), set[int]()
        try:
            for part in parts(response.body, response.url):
                for request in self.listed_in(part, here, response.request, known):
                    yield request
                found.sitemaps += part.sitemaps
                found.flaws += part.flaws
                if self.is_enough():
                    break
                await asyncio.sleep(0)  # a sitemap may name hundreds of thousands
        except AnswerError as error:
            self.not_read_to_its_end(error, response.request, response.status)
            found.flaws.append(str(error))
        for request in self.sitemap_ended(found, here, response.request, rest):
            yield request

    def listed_in(self, part: Sitemap, here: Place, request: Request | None, known: set[int]) -> Iterator[Request]:
        """The datasets of a piece of a sitemap that no earlier piece had."""
        for flaw in part.flaws:
            self.faulty("truncated", flaw, request)
        changed = {link: day for link, day in _dated(part, self.site).items() if hash(link.id) not in known}
        known.update(hash(link.id) for link in changed)
        links, strangers = foreign(list(changed), self.site)
        self.left_out(strangers, request)
        yield from self.datasets(links, here, request, {link.id: day for link, day in changed.items() if day})

    def sitemap_ended(
        self, found: Sitemap, here: Place, request: Request | None, rest: Sequence[Any]
    ) -> Iterator[Request]:
        if self.is_enough():
            yield from self.stopped(here)
            return
        named = [] if here.depth else self.named
        yield from self.below([*found.sitemaps, *named], here, rest)
        if not found.flaws:
            self.conclude(here.walk, Ending(listed=here.seen, subject=here.walk, is_one_file=True), request)
        yield from self.ended(here)

    def sitemap_failed(self, failure: Failure) -> Iterator[Request]:
        """A sitemap that is not there is no error where robots.txt names others."""
        request, status = failures.request(failure), failures.status(failure)
        here, rest = Place(**request.cb_kwargs["place"]), request.cb_kwargs["rest"]
        is_guess = not here.depth and self.site.paging.address is None
        if not (is_guess and self.named and status in (404, 410)):
            self.not_read_to_its_end(failures.of(failure), request, status)
        yield from self.below([] if here.depth else self.named, here, rest)
        yield from self.ended(here)

    def not_read_to_its_end(self, error: AnswerError, request: Request | None, status: int | None) -> None:
        self.failed("list", error, request, http_status=status)
        self.cut_short()

    def below(self, found: Sequence[str], here: Place, rest: Sequence[Any]) -> Iterator[Request]:
        """Ask for the sitemaps that one names; one after the other where a limit may end the crawl before."""
        follow = [address for address in found if self.site.follows(address)]
        self.report_elsewhere([address for address in found if not self.site.follows(address)], here)
        new = [one for one in follow if self.noticed(canonicalize_url(one), list_name="walks", by=here.walk)]
        if new and here.depth >= _DEEPEST:
            self.faulty("trap", f"{new[0]} is a sitemap deeper than {_DEEPEST} others", None)
            new = []
        left = [*rest, *([one, here.depth + 1] for one in new)]
        is_limited = self.args["max_datasets"] or self.args["max_resources"]
        for at, (address, depth) in enumerate(left[:1] if is_limited else left):
            behind = left[at + 1 :] if is_limited else ()
            yield self.sitemap_request(self.begun(Place(walk=address, depth=depth)), behind)

    def report_elsewhere(self, found: Sequence[str], here: Place) -> None:
        """Report the sitemaps on other hosts: what they list is missing."""
        for address in found[:_MOST]:
            message = f"the sitemap {address} is not on one of the catalogue's hosts: name its host in `hosts`"
            self.faulty("offsite", message, None)
        if len(found) > _MOST:
            message = f"{len(found) - _MOST} more sitemaps of {here.walk} are not on one of the catalogue's hosts"
            self.faulty("offsite", message, None)


def _dated(sitemap: Sitemap, rules: Rules) -> dict[Link, str | None]:
    """The datasets of a sitemap, and when each was changed."""
    return {link: day for address, day in sitemap.pages for link in chosen([address], rules)}
