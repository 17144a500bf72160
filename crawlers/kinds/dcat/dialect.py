"""What a catalogue's list is in DCAT: pages of RDF, one answer after the other.

A page names the next one, or its number is counted on; TREE nodes, the catalogues in a catalogue and the datasets that
are only named follow when its own pages have come.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import chain, product
from typing import TYPE_CHECKING, Any

from scrapy import Request
from scrapy.http import HtmlResponse, Response

from crawlers.causes import FINDINGS
from crawlers.components.spool import SPOOL_MAXSIZE, open_body
from crawlers.exceptions import AnswerError
from crawlers.kinds.dcat import paging
from crawlers.kinds.dcat.answer import NoRDFError, alternate, check_known, loaded, read, unzipped
from crawlers.kinds.dcat.elsewhere import Elsewhere
from crawlers.kinds.dcat.frontier import MAX_UNREAD, Ask, Frontier, NamedDatasets, same_host
from crawlers.kinds.dcat.page import RDFPage
from crawlers.kinds.dcat.records import PageRecords
from crawlers.listing.crawl import remembering
from crawlers.listing.dialect import Dialect, Fault, Traits
from crawlers.listing.ladder import Again, Instead
from crawlers.listing.walk import Entry, ListingPage, Offer, Walk
from crawlers.records.rdf import formats
from crawlers.safety.addresses import absolute
from crawlers.store.index import scope

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterator, Sequence

    from crawlers.kinds.dcat.elsewhere import DelayedDataset
    from crawlers.kinds.dcat.page import CataloguePage
    from crawlers.listing.crawl import Crawl
    from crawlers.listing.withdrawals import Withdrawals
    from crawlers.store.index import Held

MAX_DEPTH = 3
"""Catalogues in catalogues."""
MAX_PAGES = 20_000
MAX_STALE = 2
"""Pages in a row without a new dataset, before a list is taken for a loop."""
MAX_STALE_NODES = 50
"""The same for pages that are read in no order."""
MAX_SECOND_PAGES = 50
"""Pages of a second look."""
MAX_HOPS = 2
"""HTML pages between an address and the RDF."""
_MAX_HTML = 2_000_000  # bytes; a link to the RDF stands near the beginning
_PAGES, _NAMED, _NODES = "pages", "linked", "tree nodes"
_GONE = (404, 410)
_BROKEN = ("truncated", "not_json")
_CONDITIONS = {"ETag": "If-None-Match", "Last-Modified": "If-Modified-Since"}


@dataclass(frozen=True, slots=True)
class OfOne(Fault):
    """Why one of many addresses did not come: what forbids that one is nothing to the others."""

    @property
    def is_of_host(self) -> bool:
        is_of_address = self.error.kind in ("robots", "forbidden_address", "offsite")
        return not is_of_address and Fault.is_of_host.fget(self)  # type: ignore[attr-defined]


class DCATDialect(Dialect[Ask]):
    """Pages of RDF, or one data.json; then the datasets that those only name.

    Args:
        crawl: what they are read for.
        address: the catalogue's.
        make: makes a page of RDF.
        withdrawals: what looks for the datasets that two whole listings lack.
    """

    asks = Ask
    traits = Traits(way="stated", total="hint", windows=(), patience=MAX_STALE, most_pages=MAX_PAGES, is_one_list=False)
    ladder = (
        Instead("beyond"),
        Again(),
        Instead("another_node", most=MAX_STALE_NODES),
        Instead("another_dataset", most=MAX_UNREAD - 1),
    )

    def __init__(self, crawl: Crawl, address: str, make: Callable[..., RDFPage], withdrawals: Withdrawals) -> None:
        self.crawl, self.address, self.make, self.withdrawals = crawl, address, make, withdrawals
        self.is_one_answer = False
        self.frontier = Frontier(crawl)
        self.named = NamedDatasets(crawl, address, self.frontier)
        given = {"name": crawl.source, "language": crawl.args["language"]}
        self.elsewhere = Elsewhere(crawl, lambda *content: make(*content, **given))

    def first(self) -> Walk[Ask]:
        return Walk(ask=Ask(url=self.address, start=self.address), name=_PAGES)

    def request(self, walk: Walk[Ask]) -> Request:
        meta = {"spool": True} | ({"dont_cache": True} if walk.ask.look else {})
        request = Request(walk.ask.url, headers={"Accept": formats.ACCEPT}, meta=meta)
        is_first = walk.name == _PAGES and not walk.step
        return self._conditional(request) if is_first and self.crawl.args["since"] else request

    def called(self, walk: Walk[Ask]) -> str:
        return f"the catalogue {walk.ask.branch}" if walk.ask.branch else self.subject

    # An answer

    async def read(self, response: Response, walk: Walk[Ask]) -> ListingPage[Ask]:
        ask = walk.ask
        self.frontier.note(ask.url, response.url, look=ask.look)
        if response.status == 304:
            self._keep_all()
            return ListingPage(is_file=True)
        if walk.name == _PAGES and not walk.pages:
            found = {name: (response.headers.get(name) or b"").decode("latin-1") for name in _CONDITIONS}
            self.crawl.run_state.validators = {name: value for name, value in found.items() if value}
        settings, language = self.crawl.crawler.settings, self.crawl.args["language"]
        unpacked, folder = settings.getint("SPOOL_MAXSIZE", SPOOL_MAXSIZE), settings.get("SPOOL_DIR") or None
        response = await unzipped(response, most=unpacked, folder=folder)
        most = settings.getint("JSON_MAXSIZE")
        page = read(response, name=self.crawl.source, language=language, max_json=most, make=self.make)
        if page is None:
            return ListingPage(next=replace(ask, url=self._linked(response, walk), hops=ask.hops + 1), is_new=True)
        with remembering(self.crawl):
            await loaded(page)
        listing: ListingPage[Ask] = ListingPage(close=page.close)
        listing.total = ask.total if ask.look == "modified" else page.paging.total(response.url)
        listing.entries = self._entries(response, walk, page, listing)
        return listing

    def _linked(self, response: Response, walk: Walk[Ask]) -> str:
        """Return the address of the RDF that a page of HTML links to; raise an error if that is none, or was read."""
        check_known(response)
        body = open_body(response).read(_MAX_HTML)
        address = alternate(HtmlResponse(response.url, headers=response.headers, body=body))
        is_far = walk.ask.hops >= MAX_HOPS
        if address is None or is_far or not self.frontier.is_new(address, walk.key, walk.ask.look):
            raise NoRDFError("an HTML page came instead of RDF")
        self.crawl.logger.info("%s is an HTML page: going on to %s", response.url, address)
        return address

    def _entries(
        self, response: Response, walk: Walk[Ask], page: CataloguePage, listing: ListingPage[Ask]
    ) -> Iterator[Entry]:
        """Yield the page's records; then note what follows it."""
        ask, is_own = walk.ask, walk.name == _PAGES
        if is_own and not self.crawl.run_state.walks.has_ended(walk.name):
            self.crawl.run_state.expected = walk.total if listing.total is None else listing.total
        # Withdrawals look at the catalogue's own pages: another one that those name may be gone itself
        address = response.url if is_own else self.address
        elsewhere = None if ask.name or not _leads_on(response, walk, page) else self.elsewhere
        records = PageRecords(self.crawl, page, response, walk, elsewhere, address=address)
        new = described = 0
        for entry in records.entries():
            if records.new > new:
                new = records.new
                described += self.named.is_named(entry.record["key"], walk.name)
            yield entry
        listing.gaps, listing.fault = records.gaps, records.fault
        if not (records.is_limited or records.fault):
            if ask.name:
                self.named.came(ask.name, page, response)
                listing.next = self.named.following(ask, walk.key)
                listing.total, listing.is_new, listing.end = None, True, "" if listing.next else "closed"
            else:
                listing.apart = records.apart - described + self.named.add(page, walk.key)
                self._plan_others(response, walk, page, listing)
                self._follow(response, walk, page, records, listing)
        listing.is_limited = records.is_limited or (records.is_enough() and listing.next is not None)

    def items(self, response: Response, entry: Entry, allowed: int, walk: Walk[Ask], position: int) -> Iterator[Any]:
        yield from entry.reading()

    # What follows a page

    def _follow(
        self, response: Response, walk: Walk[Ask], page: CataloguePage, records: PageRecords, listing: ListingPage[Ask]
    ) -> None:
        """Say what the next page is; at the end, whether the pages repeat."""
        ask, here, pages = walk.ask, response.url, walk.pages - walk.ask.hops
        if ask.is_behind_gap and records.count:
            message = f"the page before {here} was not found, so its datasets are missing"
            self._tell("paging", message, response, listing)
        listed = walk.listed + records.new + walk.apart + listing.apart
        total = walk.total if listing.total is None else max(listing.total, walk.total or 0)
        is_all = total is not None and listed >= total
        try:
            stated = _stated(response, page, is_entry=not (pages or is_all), is_empty=not records.count)
        except AnswerError as error:
            listing.fault = error
            return
        is_ckan = not pages and page.paging.is_ckan(here)
        ahead = replace(
            ask,
            had_next=ask.had_next or bool(stated),
            since=paging.an_hour_before(response.headers.get("Date")) if is_ckan else ask.since,
            is_catalogue=ask.is_catalogue or page.is_catalogue(),
            shifted=ask.shifted + records.has_repeats,
            is_behind_gap=False,
            is_node=False,
            looked=ask.looked + bool(ask.look),
            stale=0 if records.new else ask.stale + 1,
        )
        may_guess = records.count and not (ahead.had_next or listing.total is not None)
        if stated and (records.new or ask.look) and page.paging.leads_back(stated, here, ask.start):
            stated = None  # a ring, whose end this is
        following = stated or (paging.counted(here) if may_guess else None)
        is_stale = not records.new and walk.stale + 1 >= MAX_STALE
        is_enough = is_all or ahead.looked >= MAX_SECOND_PAGES if ask.look else is_stale
        if following and not is_enough and self.frontier.is_new(following, walk.key, ask.look):
            listing.next = replace(ahead, url=following, is_guessed=not stated)
            return
        is_last = not following and (not pages or ask.is_guessed or records.new or records.has_others)
        is_over = ask.look and (is_enough or not following)
        is_looping = ask.is_looping or not (is_all or is_over or ask.is_node or is_last)
        if node := self.next_node(replace(ahead, is_looping=is_looping), walk.key):
            if node.stale < MAX_STALE_NODES:
                listing.next, listing.is_new = node, True
                return
            message = f"{node.stale} pages in a row had no new dataset: {node.url} and those after it are not read"
            self._tell("trap", message, response, listing)
        last = page.paging.last(here)
        if last and not (is_all or ask.look) and not self.frontier.was_requested(last):
            listing.offers = [Offer("left", last, None, f"names {last} as its last page, which was not read")]
        listing.is_guessed = ask.is_guessed
        listing.is_file = not (ask.is_guessed or (pages and walk.first and (records.count or not ask.is_node)))
        listing.has_moved = total is None and not (ask.look or is_looping) and 0 < ahead.shifted < pages
        if is_looping:
            listing.next = walk.ask  # again: the list judges whether that is a ring
        elif not (listed or ahead.is_catalogue or walk.gaps or ask.is_part):
            message = "the answer is not a catalogue and describes no dataset: it contains no dcat:Dataset"
            listing.fault = AnswerError("no_datasets", message)

    def _tell(self, kind: str, message: str, response: Response, listing: ListingPage[Ask]) -> None:
        self.crawl.failed("list", AnswerError(kind, message), response.request)
        listing.gaps += 1

    def next_node(self, ask: Ask, by: str) -> Ask | None:
        """Return what the next TREE node is asked by."""
        node = self.frontier.take_new(_NODES, by)
        return None if node is None else replace(ask, url=node, is_node=True, is_guessed=False, had_next=True)

    def _plan_others(self, response: Response, walk: Walk[Ask], page: CataloguePage, listing: ListingPage[Ask]) -> None:
        """Note the TREE nodes and the catalogues that a page names: they follow when its own pages have come."""
        deeper = walk.ask.depth + 1
        nodes = ((_NODES, walk.ask.depth, address) for address in page.paging.nodes)
        catalogues = ((f"catalogues {deeper}", deeper, address) for address in page.catalogues())
        parts = ((f"parts {deeper}", deeper, address) for address in page.unknown_parts())
        for name, depth, iri in chain(nodes, catalogues, parts):
            address = absolute(iri, response.url)
            if address in {response.url, walk.ask.url} or (
                address is None and name != _NODES and page.is_described(iri)
            ):
                continue
            if address is not None and not (same_host(address, response.url) or same_host(address, self.address)):
                kind, reason = "offsite", "it is on another host; give its address as -a url= of a source of its own"
            elif depth > MAX_DEPTH:
                kind, reason = "trap", f"it is more than {MAX_DEPTH} catalogues deep"
            elif address is None:
                kind, reason = "paging", "its name is no web address"
            else:
                self.frontier.add(name, address, walk.key)
                continue
            what = "page" if name == _NODES else "catalogue"
            message = f"the catalogue names the {what} {iri[:300]}, which is not read: {reason}"
            self._tell(kind, message, response, listing)

    # Faults, and further looks

    def beyond(self, walk: Walk[Ask], fault: Fault) -> Walk[Ask] | None:
        """Return the number behind a page that was only guessed: one that is missing is not the end."""
        ask, beyond = walk.ask, paging.counted(walk.ask.url)
        is_missing = ask.is_guessed and fault.status in _GONE and not (ask.is_behind_gap or ask.look)
        return replace(walk, ask=replace(ask, url=beyond, is_behind_gap=True)) if is_missing and beyond else None

    def another_node(self, walk: Walk[Ask], fault: Fault) -> Walk[Ask] | None:
        """Return the next TREE node: what is wrong with one page is nothing to the others."""
        ask = None if walk.ask.name else self.next_node(walk.ask, f"{walk.key} failed")
        return None if ask is None else replace(walk, ask=ask, gaps=walk.gaps + 1)

    def another_dataset(self, walk: Walk[Ask], fault: Fault) -> Walk[Ask] | None:
        """Return the next dataset that is requested by its own address."""
        ask = self.named.following(walk.ask, f"{walk.key} failed") if walk.ask.name else None
        is_gap = not isinstance(fault.error, NoRDFError)  # which is told at the end
        return None if ask is None else replace(walk, ask=ask, gaps=walk.gaps + is_gap)

    def fault(self, error: AnswerError, response: Response | None, walk: Walk[Ask]) -> Fault:
        if walk.ask.name and isinstance(error, NoRDFError):
            self.named.note_without(walk.ask.name, walk.key)
        status, is_first = None if response is None else response.status, not walk.pages
        is_spoken = status in (None, 200) and error.kind not in _BROKEN
        make = OfOne if walk.ask.name or walk.ask.is_node else Fault
        return make(error, status, is_spoken=is_spoken, is_first=is_first)

    def reported(self, fault: Fault, walk: Walk[Ask]) -> Fault:
        return replace(fault, error=self.named.lost(walk.ask.name, str(fault.error))) if walk.ask.name else fault

    def ending(self, fault: Fault, walk: Walk[Ask]) -> ListingPage[Ask] | None:
        """Return the end of pages that were counted on, or of a part or a dataset that has no RDF."""
        ask = walk.ask
        if isinstance(fault.error, NoRDFError) and (ask.is_part or ask.name):
            if ask.is_part:
                message = f"the catalogue names a part that is no catalogue, and has no RDF: {fault.error.what}"
                self.crawl.failed("list", AnswerError("no_rdf", message), Request(ask.url), http_status=fault.status)
            return ListingPage(end="closed")
        return ListingPage(is_guessed=True, came=0) if ask.is_guessed and fault.status in _GONE else None

    def is_doubtful(self, walk: Walk[Ask]) -> bool:
        """Return whether the pages may have shifted while they were read."""
        if walk.total is None:
            return walk.has_moved or walk.ask.look == "modified"
        return walk.listed < (walk.expected or 0) and (walk.has_moved or walk.came >= walk.total)

    def laps(self, walk: Walk[Ask]) -> Sequence[Ask]:
        if walk.pages - walk.ask.hops < 2 or walk.gaps or walk.ask.look == "first":
            return ()
        ask = replace(walk.ask, stale=0, looked=0, is_node=False, is_guessed=False, is_behind_gap=False)
        first = replace(ask, url=ask.start, look="first", total=None)
        if not ask.since:
            return (first,)
        modified = paging.modified_since(ask.start, ask.since)
        return replace(ask, url=modified, look="modified", total=walk.total), first

    # When the lists have ended

    def stopped(self, walk: Walk[Ask]) -> Iterator[Any]:
        self.crawl.run_state.is_limited = True
        yield from self._joined(walk)

    def ended(self, walk: Walk[Ask]) -> Iterator[Any]:
        """Yield the next catalogue; then what waited for other pages; then the datasets that are only named."""
        if walk.name == _NAMED:
            self._conclude(walk.ask.asked)
            return
        if walk.name == _PAGES and walk.pages <= walk.ask.hops:
            return
        there = Walk(ask=walk.ask, name=_NAMED, earlier=walk.earlier + walk.listed, resources=walk.resources)
        following = self._next_catalogue(by := f"{walk.key} ended")
        if following is None:
            self.is_one_answer = walk.pages == 1 and not walk.ask.branch
            there = yield from self._waiting(there)
            following = self.named.following(Ask(url=""), by)
        if following is None:
            self._conclude(0)
        elif self.crawl.limits.is_reached(datasets=there.earlier, resources=there.resources):
            self.crawl.run_state.is_limited = True
        else:
            yield replace(there, ask=following, name=_NAMED if following.name else f"the pages of {following.branch}")

    def _next_catalogue(self, by: str) -> Ask | None:
        for name, depth in product(("catalogues", "parts"), range(1, MAX_DEPTH + 1)):
            if address := self.frontier.take_new(f"{name} {depth}", by):
                if self.crawl.records.count("addresses") > MAX_PAGES:
                    message = f"more than {MAX_PAGES} pages were read: {address} and the catalogues after it are not"
                    self.crawl.failed("list", AnswerError("trap", message))
                    return None
                return Ask(url=address, start=address, branch=address, depth=depth, is_part=name == "parts")
        return None

    def _waiting(self, there: Walk[Ask]) -> Generator[Any, None, Walk[Ask]]:
        """Yield the datasets that waited for other pages; return the walk behind them."""
        yield from self._joined(there)
        for found in self.elsewhere.unlisted():
            records = self._records(found, replace(there, name="mentioned"))
            if records.is_enough():
                self.crawl.run_state.is_limited = True
                break
            yield from records.outside(found.record)
            there = replace(there, earlier=records.earlier + records.new, resources=records.resources)
        return there

    def _joined(self, walk: Walk[Ask]) -> Iterator[Any]:
        """Yield the datasets of which several pages, or a page and the document on disk, say something."""
        for found in self.elsewhere.joined():
            yield from self._records(found, walk).found(found)

    def _records(self, found: DelayedDataset, walk: Walk[Ask]) -> PageRecords:
        response = Response(found.address, request=Request(found.address))
        return PageRecords(self.crawl, found.page, response, walk, None, address=found.address, is_torn=found.is_torn)

    def _conclude(self, asked: int) -> None:
        """Say how many datasets there are, and withdraw what two complete listings in a row did not have.

        Args:
            asked: how many were requested one by one.
        """
        crawl, state, missing = self.crawl, self.crawl.run_state, self.named.report(asked)
        state.expected = state.listed + max(state.walks.lacking, missing)
        if asked or not self.is_one_answer:
            state.validators = {}  # those of the first page do not cover the others
        has_failures = bool(crawl.records.failures.counts().keys() - FINDINGS)  # any of them may hide a record
        if not (crawl.limits.is_set or state.has_stale_answer or has_failures):
            self.withdrawals.mark_missed_twice((held.dataset_id for held in self._held()), url=self.address)

    # What has changed since the last complete crawl

    def _conditional(self, request: Request) -> Request:
        """Return a request that is answered only if the catalogue has changed, if its documents are on disk."""
        index = self.crawl.opened_index()
        validators = index.runs.validators(scope(self.crawl.name, self.crawl.given))
        if not validators or not all(index.documents.is_whole(held.dataset_id) for held in index.documents.held()):
            return request
        headers = {_CONDITIONS[name]: value for name, value in validators.items()}
        meta = {"handle_httpstatus_list": [304], "dont_cache": True}
        return request.replace(headers={**request.headers, **headers}, meta={**request.meta, **meta})

    def _keep_all(self) -> None:
        """End a crawl that found the catalogue unchanged: what the last complete crawl listed is still there."""
        last, state = self.withdrawals.last_listing(), self.crawl.run_state
        listed = [held.dataset_id for held in self._held() if not (last and held.seen < last)]
        for dataset_id in listed:
            self.crawl.records.settle(("dataset", dataset_id, None), "unchanged")
        state.expected = len(listed)
        state.count_listed(len(listed))
        state.has_stale_answer = True
        self.crawl.logger.info("The catalogue has not changed since the last complete crawl")

    def _held(self) -> Iterator[Held]:
        """Yield the datasets on disk that are this catalogue's; the folder may have those of another."""
        addresses = (*self.crawl.records.listed("addresses"), self.address)
        pages = {address.partition("?")[0] for address in addresses}
        for held in self.crawl.opened_index().documents.held():
            if held.metadata_url and held.metadata_url.partition("?")[0] in pages:
                yield held


def _stated(response: Response, page: CataloguePage, *, is_entry: bool, is_empty: bool) -> str | None:
    """Return the next page that a page or its headers name; the first page if that is all that an entry names."""
    stated = page.paging.next(response.url) or paging.linked(response.headers.getlist("Link"), response.url)
    if stated or not is_entry:
        return stated
    has_others = page.paging.counted() or is_empty or page.paging.last(response.url)
    return page.paging.first(response.url) if has_others else None


def _leads_on(response: Response, walk: Walk[Ask], page: CataloguePage) -> bool:
    """Return whether the catalogue has more pages than this one."""
    if walk.pages > walk.ask.hops or page.paging.nodes or paging.counted(response.url):
        return True
    with suppress(AnswerError):
        return _stated(response, page, is_entry=True, is_empty=False) is not None
    return False
