"""Catalogues whose datasets stand in a sitemap: no listing is walked."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from urllib.parse import urljoin

from scrapy import Request
from w3lib.url import canonicalize_url

from crawlers.exceptions import AnswerError
from crawlers.html.links import chosen, foreign
from crawlers.html.place import Place
from crawlers.html.sitemap import read
from crawlers.html.walk import HTMLWalk

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator

    from scrapy.http import Response

    from crawlers.html.links import Link
    from crawlers.html.sitemap import Sitemap
    from crawlers.rules import Rules

_DEEPEST = 3  # sitemaps that name sitemaps; the protocol has one


class HTMLSitemaps(HTMLWalk):
    """The part of `HTMLSpider` that reads sitemaps, where the rules say so."""

    async def start(self) -> AsyncIterator[Request]:
        if self.site.paging.kind == "sitemap":
            address = urljoin(self.portal, self.site.paging.address or "/sitemap.xml")
            yield self.sitemap_request(self.begun(Place(walk=address)))
            return
        async for request in super().start():
            yield request

    def sitemap_request(self, place: Place) -> Request:
        return Request(
            place.walk,
            callback=self.parse_sitemap,
            errback=self.listing_failed,
            cb_kwargs={"place": place.plain()},
            priority=1,
        )

    def parse_sitemap(self, response: Response, place: dict[str, Any]) -> Iterator[Request]:
        here = Place(**place)
        if "cached" in response.flags:
            self.provisional()
        try:
            sitemap = read(response.body, response.url)
        except AnswerError as error:
            yield from self.not_listed(here, error, response.request, response.status)
            return
        for flaw in sitemap.flaws:
            self.faulty("truncated", flaw, response.request)
        changed = _dated(sitemap, self.site)
        links, strangers = foreign(list(changed), self.site)
        self.left_out(strangers, response.request)
        yield from self.datasets(links, here, response.request, {link.id: day for link, day in changed.items() if day})
        if self.is_enough():
            yield from self.stopped(here)
            return
        yield from self.below(sitemap, here)
        yield from self.ended(here)

    def below(self, sitemap: Sitemap, here: Place) -> Iterator[Request]:
        """The sitemaps that one names."""
        for address in sitemap.sitemaps:
            if not (
                self.site.follows(address) and self.noticed(canonicalize_url(address), list_name="walks", by=here.walk)
            ):
                continue
            if here.depth >= _DEEPEST:
                self.faulty("trap", f"{address} is a sitemap deeper than {_DEEPEST} others", None)
                return
            yield self.sitemap_request(self.begun(Place(walk=address, depth=here.depth + 1)))


def _dated(sitemap: Sitemap, rules: Rules) -> dict[Link, str | None]:
    """The datasets of a sitemap, and when each was changed."""
    return {link: day for address, day in sitemap.pages for link in chosen([address], rules)}
