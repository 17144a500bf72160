"""Walks a catalogue's pages, and knows when that is over."""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from crawlers import failures
from crawlers.dcat import paging
from crawlers.dcat.ahead import Ahead
from crawlers.dcat.pages import DCATPages, asked_by
from crawlers.dcat.place import MOST_BARREN, MOST_PAGES, Place
from crawlers.exceptions import AnswerError
from crawlers.mapping.addresses import absolute

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator

    from scrapy import Request
    from scrapy.http import Response
    from twisted.python.failure import Failure

    from crawlers.dcat.page import Page

MOST_DEPTH = 3
"""Catalogues in catalogues."""
MOST_UNREAD = 20
"""Datasets in a row that were asked for one by one, and did not come."""
_GONE = (404, 410)


class DCATWalk(DCATPages):
    """The part of `DCATSpider` that says which page follows, and how the list ended.

    Each page leads to one request: to the next page, else to a TREE node, a second look, a catalogue that is a part of
    this one, a dataset that is only linked, in that order.
    """

    @cached_property
    def ahead(self) -> Ahead:
        return Ahead(self.records)

    async def start(self) -> AsyncIterator[Request]:
        self.list_begun("pages")
        place = Place(start=str(self.url))
        self.is_new_page(str(self.url), "start", place)
        yield self.page_request(str(self.url), place)

    def turn(self, response: Response, after: Place, page: Page) -> Iterator[Request]:
        by = asked_by(response, after)
        if after.missed:
            self.check_missed(response, after)
        if after.way == "dataset":
            self.settle(response, after, page)
            yield from self.onward(response.request, by, after)
            return
        self.remember(response, after, page)
        stated = self.stated(response, after, page)
        following = stated or (None if after.empty or after.told else paging.counted(response.url))
        if following is not None and after.is_fruitful and self.is_new_page(following, by, after):
            moved = replace(after, told=bool(stated), guessed=not stated, turned=after.turned or bool(stated))
            yield from self.go_on(str(following), moved)
            return
        is_end = after.is_all or (following is None and after.is_end) or bool(after.look)
        yield from self.pages_ended(response.request, by, replace(after, repeats=after.repeats or not is_end))

    def stated(self, response: Response, after: Place, page: Page) -> str | None:
        """The next page as a page or its headers say; the first one where that is all that the page says."""
        stated = page.following(response.url) or paging.linked(response.headers.getlist("Link"), response.url)
        if stated or after.pages > 1 or after.is_all:
            return stated
        is_entry = after.total is not None or after.empty or page.last(response.url)
        return page.first(response.url) if is_entry else None

    def check_missed(self, response: Response, after: Place) -> None:
        """Report a numbered page that was not there, if the one behind it is."""
        after.missed = False
        if not after.empty:
            after.lacking = True
            message = f"the page before {response.url} was not there, so its datasets are missing"
            self.failed("list", AnswerError("paging", message), response.request)

    def go_on(self, url: str, place: Place) -> Iterator[Request]:
        if self.is_enough(place):
            self.stopped(place)
        else:
            yield self.page_request(url, place)

    def remember(self, response: Response, after: Place, page: Page) -> None:
        """Take note of what a page names: it is asked for when the catalogue's own pages have come."""
        by = asked_by(response, after)
        if after.pages == 1 and not after.look:
            after.begun, after.ckan = paging.an_hour_before(response.headers.get("Date")), page.is_ckan(response.url)
        last = page.last(response.url)
        after.left = f"names {last} as its last page, which was not read" if last and not after.turned else ""
        for name in page.undescribed():
            self.noticed(name, list_name="named", by=by)
        for address in page.ways():
            self.plan_page("tree nodes", address, response, after, "page")
        for address in page.catalogues():
            if not page.is_described(address) or absolute(address, response.url):
                self.plan_page(f"catalogues {after.depth + 1}", address, response, after, "catalogue")

    def plan_page(self, name: str, iri: str, response: Response, after: Place, what: str) -> None:
        """Put a page, or a catalogue that is a part of this one, on a list; report it if it may not be asked for."""
        address = absolute(iri, response.url)
        if address in (response.url, asked_by(response, after)):
            return
        error = self.refusal(address, response.url, after.depth + (what == "catalogue"))
        if address is not None and error is None:
            self.ahead.add(name, address, asked_by(response, after))
            return
        after.lacking = True
        kind, reason = error or ("paging", "its name is no web address")
        message = f"the catalogue names the {what} {iri[:300]}, which is not read: {reason}"
        self.failed("list", AnswerError(kind, message), response.request)

    def refusal(self, address: str | None, here: str, depth: int) -> tuple[str, str] | None:
        """Why an address that a page names is not asked for: the error's kind, and the reason."""
        if address is not None and not (same_host(address, here) or same_host(address, str(self.url))):
            return "offsite", "it is on another host; give its address as -a url= of a source of its own"
        if depth > MOST_DEPTH:
            return "trap", f"it is more than {MOST_DEPTH} catalogues deep"
        return None

    # Where it goes on when a page has no next one

    def pages_ended(self, request: Request | None, by: str, after: Place) -> Iterator[Request]:
        """Yield the request for a TREE node or a second look; else the catalogue's list has ended."""
        if node := self.next_ahead("tree nodes", by, after):
            if after.stale < MOST_BARREN and after.number <= MOST_PAGES:
                yield from self.go_on(node, replace(after, way="node", told=True, guessed=False, turned=True))
                return
            message = f"{after.stale} pages in a row had no new dataset: {node} and those after it are not read"
            self.failed("list", AnswerError("trap", message), request)
            after.lacking = True
        looking = self.second_look(after)
        if looking is not None:
            self.logger.info("Datasets are missing: the catalogue may have changed meanwhile; looking again")
            yield from self.go_on(*looking)
            return
        self.conclude_pages(request, after)
        yield from self.onward(request, by, after)

    def second_look(self, after: Place) -> tuple[str, Place] | None:
        """The address of a second look at a catalogue whose pages shifted while they were read, and its place."""
        if after.total is None:
            is_short = after.has_shifted and not after.repeats
        else:
            is_short = after.ending(self.named()).listed < after.total
        if after.pages < 2 or after.lacking or after.broken or not is_short or after.look == "first":
            return None
        moved = replace(after, stale=0, looked=0, guessed=False, missed=False)
        if after.ckan and not after.look:
            return paging.modified_since(after.start, after.begun), replace(moved, look="modified")
        return after.start, replace(moved, look="first")

    def conclude_pages(self, request: Request | None, after: Place) -> None:
        """Judge whether the catalogue's list was whole; what was not read is an error line, whatever its cause."""
        after.short += max(0, (after.total or 0) - after.counted)
        if after.repeats and not after.is_all:
            of = "" if after.total is None else f" of {after.total}"
            message = f"the catalogue's pages repeat, or end in an empty one, after {after.counted}{of} datasets"
            self.failed("list", AnswerError("paging", message), request)
        elif not (after.counted or after.catalogue or after.broken):
            message = "what came describes no dataset, and is no catalogue: there is no dcat:Dataset in it"
            self.failed("list", AnswerError("no_datasets", message), request)
        elif not after.broken and not (after.lacking and after.total is None):
            self.conclude(after.list_name, after.ending(self.named()), request)
        self.list_ended(after.list_name)

    def named(self) -> int:
        """How many datasets are only named so far."""
        return sum(1 for _ in self.records.only_in("named", "nodes"))

    def onward(self, request: Request | None, by: str, after: Place) -> Iterator[Request]:
        """Yield the request for another catalogue, or for a dataset that is only linked; else all has ended."""
        for depth in range(1, MOST_DEPTH + 1):
            if address := self.next_ahead(f"catalogues {depth}", by, after):
                if after.number > MOST_PAGES:
                    message = f"more than {MOST_PAGES} pages were read: {address} and the catalogues after it are not"
                    self.failed("list", AnswerError("trap", message), request)
                    break
                place = after.within(address, depth, self.named())
                self.list_begun(place.list_name)
                yield from self.go_on(address, place)
                return
        if (linked := self.linked(by, after)) is None:
            self.finish(request, after)
        else:
            yield from self.go_on(*linked)

    def next_ahead(self, name: str, by: str, after: Place) -> str | None:
        """Return the next address of a list of those that no other way has led to."""
        while address := self.ahead.take(name, by):
            if self.is_new_page(address, by, replace(after, look="")):
                return address
        return None

    # Datasets that are only linked

    def linked(self, by: str, after: Place) -> tuple[str, Place] | None:
        """The address of a dataset that is named and described nowhere yet, and its place."""
        most = self.crawler.settings.getint("LINKED_DATASETS_MAX")
        while after.asked < most and after.unread < MOST_UNREAD and (name := self.ahead.take("named", by)):
            address = absolute(name, str(self.url))
            fits = address is not None and same_host(address, str(self.url)) and not self.records.has("nodes", name)
            if fits and self.is_new_page(str(address), by, replace(after, look="")):
                return str(address), replace(after, way="dataset", name=name, asked=after.asked + 1, hops=0)
        return None

    def settle(self, response: Response, after: Place, page: Page) -> None:
        """Take note of what came of a dataset's own address."""
        after.unread = 0
        if page.is_described(after.name):
            self.noticed(after.name, list_name="settled", by=response.url)
        elif not self.records.has("nodes", after.name):
            self.undescribed(after.name, "what its address gives does not describe it", response.request)

    def undescribed(self, name: str, reason: str, request: Request | None, status: int | None = None) -> None:
        self.noticed(name, list_name="settled", by=request)
        message = f"the catalogue names the dataset {name}, and does not describe it: {reason}"
        self.failed("list", AnswerError("undescribed", message), request, http_status=status)

    def reason(self, name: str, after: Place) -> str:
        """Why a dataset that is only linked was not asked for."""
        address, most = absolute(name, str(self.url)), self.crawler.settings.getint("LINKED_DATASETS_MAX")
        if address is None:
            return "its name is no web address"
        if not same_host(address, str(self.url)):
            return "its address is on another host"
        if after.unread >= MOST_UNREAD:
            return f"{MOST_UNREAD} datasets in a row could not be had, and no more were asked for"
        if after.asked >= most:
            return f"LINKED_DATASETS_MAX lets {most} be asked for one by one"
        return "nothing that its address gave does"

    def finish(self, request: Request | None, after: Place) -> None:
        """All that is asked for has come or failed."""
        missing = 0
        for missing, name in enumerate(self.records.only_in("named", "nodes"), 1):  # noqa: B007  # how many there are
            if not self.records.has("settled", name):
                self.undescribed(name, self.reason(name, after), request)
        self.expected(after.listed + max(after.short, missing))
        self.list_complete(after)

    def list_complete(self, after: Place) -> None:
        """What there is to do when every page was read."""

    # What does not come

    def page_failed(self, failure: Failure) -> Iterator[Request]:
        request, status = failures.request(failure), failures.status(failure)
        place = Place(**request.cb_kwargs["place"])
        beyond = paging.counted(request.url)
        if place.guessed and status in _GONE and beyond and not place.missed and not place.look:
            yield self.page_request(beyond, replace(place, missed=True))  # one page that fails is not the end
        elif place.guessed and status in _GONE:
            yield from self.pages_ended(request, place.by(request.url), replace(place, empty=True))
        else:
            yield from self.unreadable(failures.of(failure), request, place, status)

    def unreadable(
        self, error: AnswerError, request: Request | None, place: Place, status: int | None = None
    ) -> Iterator[Request]:
        by = place.by(request.url) if request else ""
        if place.way == "dataset":
            self.undescribed(place.name, str(error), request, status)
            yield from self.onward(request, by, replace(place, unread=place.unread + 1))
            return
        self.failed("list", error, request, http_status=status)
        if place.number == 1:
            self.list_ended("pages")
        else:
            yield from self.pages_ended(request, by, replace(place, broken=True))


def same_host(address: str, other: str) -> bool:
    """Return whether two addresses are of one host and port; http and https are alike.

    >>> same_host("http://a.org/1", "https://A.org:443/2"), same_host("http://a.org:8000/", "http://a.org/")
    (True, False)
    """
    return _host(address) == _host(other)


def _host(address: str) -> tuple[str | None, int | None]:
    parts = urlsplit(address)
    return parts.hostname, None if parts.port in (80, 443) else parts.port
