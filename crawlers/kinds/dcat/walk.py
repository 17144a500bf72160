"""The walk through a catalogue: which request follows an answer, and when the catalogue has been read to its end."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from crawlers.exceptions import AnswerError
from crawlers.kinds.dcat import paging
from crawlers.kinds.dcat.frontier import Frontier, NamedDatasets, same_host
from crawlers.kinds.dcat.walk_state import MAX_PAGES, MAX_STALE_NODES, Listing, Place, request_key
from crawlers.politeness import failures
from crawlers.values.addresses import absolute

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from scrapy import Request
    from scrapy.http import Response
    from twisted.python.failure import Failure

    from crawlers.kinds.dcat.changes import Changes
    from crawlers.kinds.dcat.page import Page
    from crawlers.listing.completeness import Completeness
    from crawlers.listing.crawl import Crawl

MAX_DEPTH = 3
"""Catalogues in catalogues."""
_NODES = "tree nodes"
_GONE = (404, 410)


class Walk:
    """Leads from each answer to one request.

    That is the next page, else a TREE node, a second look, a catalogue that is a part of this one, or a dataset that is
    only named, in that order.

    Args:
        catalogue: the catalogue's address.
        request: returns the request for a page.
    """

    def __init__(
        self,
        crawl: Crawl,
        catalogue: str,
        request: Callable[[str, Place], Request],
        completeness: Completeness,
        changes: Changes,
    ) -> None:
        self.crawl = crawl
        self.catalogue = catalogue
        self.request = request
        self.completeness = completeness
        self.changes = changes
        self.frontier = Frontier(crawl)
        self.named = NamedDatasets(crawl, catalogue, self.frontier)

    def follow(self, response: Response, after: Place, page: Page) -> Iterator[Request]:
        """Yield the request that follows a page, if there is one."""
        by, listing = request_key(response, after), after.listing
        if listing.is_behind_gap:
            self._report_gap(response, listing)
        if after.way == "dataset":
            self.named.settle(response, after, page)
            yield from self._leave(response.request, by, after)
            return
        self._note(response, after, page)
        stated = _stated(response, listing, page)
        following = stated or (None if listing.is_empty or listing.has_paging else paging.counted(response.url))
        if following is not None and after.is_fruitful and self.frontier.is_new(following, by, after):
            had_next = listing.had_next or bool(stated)
            yield from self._go_on(
                following, after.with_listing(has_paging=bool(stated), is_guessed=not stated, had_next=had_next)
            )
            return
        is_end = listing.is_all or (following is None and after.is_end) or bool(listing.look)
        yield from self._end_pages(
            response.request, by, after.with_listing(is_looping=listing.is_looping or not is_end)
        )

    def fail(self, failure: Failure) -> Iterator[Request]:
        """Report a page that did not come; yield the request that follows it, if there is one."""
        request, status = failures.request(failure), failures.status(failure)
        place = Place.from_plain(request.cb_kwargs["place"])
        listing, beyond = place.listing, paging.counted(request.url)
        is_behind_last = listing.is_guessed and status in _GONE
        if is_behind_last and beyond and not listing.is_behind_gap and not listing.look:
            yield self.request(beyond, place.with_listing(is_behind_gap=True))  # one failure is not the end
        elif is_behind_last:
            yield from self._end_pages(request, listing.request_key(request.url), place.with_listing(is_empty=True))
        else:
            yield from self.skip(failures.from_failure(failure), request, place, status)

    def skip(
        self, error: AnswerError, request: Request | None, place: Place, status: int | None = None
    ) -> Iterator[Request]:
        """Report a page that can't be read; yield the request that follows it, if there is one."""
        by = place.listing.request_key(request.url) if request else ""
        if place.way == "dataset":
            self.named.report(place.name, str(error), request, status)
            yield from self._leave(request, by, replace(place, unread=place.unread + 1))
            return
        self.crawl.failed("list", error, request, http_status=status)
        if place.number == 1:
            self.completeness.end("pages")
        else:
            yield from self._end_pages(request, by, place.with_listing(is_broken=True))

    def is_limit_reached(self, place: Place) -> bool:
        """Return whether the user wants no more."""
        return self.crawl.limits.is_reached(datasets=place.listed, resources=place.resources)

    def stop(self, place: Place) -> None:
        """End the walk at the user's limit."""
        self.crawl.run_state.is_limited = True
        self.completeness.end(place.listing.name)
        self.completeness.end("pages")

    def _go_on(self, url: str, place: Place) -> Iterator[Request]:
        if self.is_limit_reached(place):
            self.stop(place)
        else:
            yield self.request(url, place)

    def _report_gap(self, response: Response, listing: Listing) -> None:
        """Report a numbered page that was not found, if the one behind it was."""
        listing.is_behind_gap = False
        if not listing.is_empty:
            listing.has_gaps = True
            message = f"the page before {response.url} was not found, so its datasets are missing"
            self.crawl.failed("list", AnswerError("paging", message), response.request)

    def _note(self, response: Response, after: Place, page: Page) -> None:
        """Note what a page names: it is requested when the catalogue's own pages have come."""
        by, listing = request_key(response, after), after.listing
        if listing.pages == 1 and not listing.look:
            listing.started = paging.an_hour_before(response.headers.get("Date"))
            listing.is_ckan = page.paging.is_ckan(response.url)
        last = page.paging.last(response.url)
        listing.left = f"names {last} as its last page, which was not read" if last and not listing.had_next else ""
        self.named.add(page, by)
        for address in page.paging.nodes:
            self._plan(_NODES, address, response, after, "page")
        for address in page.catalogues():
            if not page.is_described(address) or absolute(address, response.url):
                self._plan(f"catalogues {listing.depth + 1}", address, response, after, "catalogue")

    def _plan(self, name: str, iri: str, response: Response, after: Place, what: str) -> None:
        """Put a page, or a catalogue that is a part of this one, on a list; report it if it may not be requested."""
        address, by = absolute(iri, response.url), request_key(response, after)
        if address in (response.url, by):
            return
        if address is not None and not (same_host(address, response.url) or same_host(address, self.catalogue)):
            kind, reason = "offsite", "it is on another host; give its address as -a url= of a source of its own"
        elif after.listing.depth + (what == "catalogue") > MAX_DEPTH:
            kind, reason = "trap", f"it is more than {MAX_DEPTH} catalogues deep"
        elif address is None:
            kind, reason = "paging", "its name is no web address"
        else:
            self.frontier.add(name, address, by)
            return
        after.listing.has_gaps = True
        message = f"the catalogue names the {what} {iri[:300]}, which is not read: {reason}"
        self.crawl.failed("list", AnswerError(kind, message), response.request)

    def _end_pages(self, request: Request | None, by: str, after: Place) -> Iterator[Request]:
        """Yield the request for a TREE node or a second look; else judge the catalogue's listing and leave it."""
        if node := self.frontier.take_new(_NODES, by, after):
            if after.listing.stale < MAX_STALE_NODES and after.number <= MAX_PAGES:
                moved = after.with_listing(has_paging=True, is_guessed=False, had_next=True)
                yield from self._go_on(node, replace(moved, way="node"))
                return
            message = f"{after.listing.stale} pages in a row had no new dataset: {node} and those after it are not read"
            self.crawl.failed("list", AnswerError("trap", message), request)
            after.listing.has_gaps = True
        look = after.listing.second_look(self.named.count())
        if look is not None:
            self.crawl.logger.info("Datasets are missing: the catalogue may have changed meanwhile; looking again")
            yield from self._go_on(look[0], replace(after, listing=look[1]))
            return
        self._conclude(request, after)
        yield from self._leave(request, by, after)

    def _conclude(self, request: Request | None, after: Place) -> None:
        """Judge whether the catalogue was listed to its end; an error line names what was not read."""
        listing = after.listing
        after.short += max(0, (listing.total or 0) - listing.counted)
        if listing.is_looping and not listing.is_all:
            total = "" if listing.total is None else f" of {listing.total}"
            message = f"the catalogue's pages repeat, or end in an empty one, after {listing.counted}{total} datasets"
            self.crawl.failed("list", AnswerError("paging", message), request)
        elif not (listing.counted or listing.is_catalogue or listing.is_broken):
            message = "the answer is not a catalogue and describes no dataset: it contains no dcat:Dataset"
            self.crawl.failed("list", AnswerError("no_datasets", message), request)
        elif not listing.is_broken and not (listing.has_gaps and listing.total is None):
            self.completeness.conclude(listing.name, listing.ending(self.named.count()), request)
        self.completeness.end(listing.name)

    def _leave(self, request: Request | None, by: str, after: Place) -> Iterator[Request]:
        """Yield the request for another catalogue, or for a dataset that is only named; else the walk has ended."""
        for depth in range(1, MAX_DEPTH + 1):
            if address := self.frontier.take_new(f"catalogues {depth}", by, after):
                if after.number > MAX_PAGES:
                    message = f"more than {MAX_PAGES} pages were read: {address} and the catalogues after it are not"
                    self.crawl.failed("list", AnswerError("trap", message), request)
                    break
                place = after.within(address, depth, self.named.count())
                self.completeness.begin(place.listing.name)
                yield from self._go_on(address, place)
                return
        if (dataset := self.named.next(by, after)) is not None:
            yield from self._go_on(*dataset)
            return
        missing = self.named.report_all(request, after)
        self.crawl.run_state.expected = after.listed + max(after.short, missing)
        self.changes.end(after)


def _stated(response: Response, listing: Listing, page: Page) -> str | None:
    """Return the next page that a page or its headers name; the first page if that is all that the page names."""
    stated = page.paging.next(response.url) or paging.linked(response.headers.getlist("Link"), response.url)
    if stated or listing.pages > 1 or listing.is_all:
        return stated
    is_entry = listing.total is not None or listing.is_empty or page.paging.last(response.url)
    return page.paging.first(response.url) if is_entry else None
