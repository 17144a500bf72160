"""What a catalogue's list is in DCAT: pages of RDF, one answer after the other.

A page names the next one, or its number is counted on; TREE nodes, the catalogues in a catalogue and the datasets that
are only named follow when its own pages have come.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import product
from typing import TYPE_CHECKING, Any, Literal

from scrapy import Request
from scrapy.http import HtmlResponse, Response

from crawlers.exceptions import AnswerError
from crawlers.kinds.dcat import paging
from crawlers.kinds.dcat.answer import NoRDFError, alternate, check_known, open_body, read
from crawlers.kinds.dcat.fragments import Fragments
from crawlers.kinds.dcat.frontier import Frontier, same_host
from crawlers.kinds.dcat.named import MAX_HOPS, Named, NamedDatasets
from crawlers.kinds.dcat.page import RDFPage
from crawlers.kinds.dcat.records import PageRecords
from crawlers.listing.crawl import remembering
from crawlers.listing.dialect import Dialect, Traits
from crawlers.listing.faults import Fault
from crawlers.listing.ladder import Again
from crawlers.listing.spider import in_turns
from crawlers.listing.walk import Entry, ListingPage, Offer, Walk
from crawlers.rdf import formats
from crawlers.values.addresses import absolute

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from crawlers.kinds.dcat.changes import Changes
    from crawlers.kinds.dcat.page import Page
    from crawlers.listing.crawl import Crawl

MAX_DEPTH = 3
"""Catalogues in catalogues."""
MAX_PAGES = 20_000
MAX_STALE = 2
"""Pages in a row without a new dataset, before a list is taken for a loop."""
MAX_STALE_NODES = 50
"""The same for pages that are read in no order."""
MAX_SECOND_PAGES = 50
"""Pages of a second look."""
_MAX_HTML = 2_000_000  # bytes; a link to the RDF stands near the beginning
_NODES = "tree nodes"
_GONE = (404, 410)
_BROKEN = ("truncated", "not_json")


@dataclass(frozen=True, slots=True, kw_only=True)
class Ask:
    """A page of a catalogue, and what the pages before it have shown.

    Args:
        url: its address.
        start: that of the first page.
        branch: the catalogue's address; empty for the one that the user named.
        depth: how many catalogues contain it.
        is_part: whether nothing says that it is a catalogue, but that it is a part of one.
        started: when its first page came, by its server's clock, less an hour.
        hops: how many HTML pages led to its RDF.
        is_node: whether the page was found as a TREE node.
        is_guessed: whether it was requested by its number only, and no page names it.
        is_behind_gap: whether the guessed page before this one was not found.
        has_paging: whether a page said where the next one is; from then on no page number is guessed.
        had_next: whether an earlier page led to a further one.
        is_catalogue: whether one of the pages was a catalogue, even an empty one.
        is_ckan: whether ckanext-dcat made the pages.
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
    started: str = ""
    hops: int = 0
    is_node: bool = False
    is_guessed: bool = False
    is_behind_gap: bool = False
    has_paging: bool = False
    had_next: bool = False
    is_catalogue: bool = False
    is_ckan: bool = False
    is_looping: bool = False
    shifted: int = 0
    stale: int = 0
    look: Literal["", "modified", "first"] = ""
    looked: int = 0
    total: int | None = None


@dataclass(frozen=True, slots=True)
class Beyond:
    """The number behind a page that was only guessed: one that is missing is not the end."""

    most: int = 1
    name: str = "beyond"

    def instead(self, walk: Walk[Ask], fault: Fault, dialect: Any) -> Walk[Ask] | None:  # noqa: ARG002
        ask, beyond = walk.ask, paging.counted(walk.ask.url)
        is_missing = ask.is_guessed and fault.status in _GONE and not (ask.is_behind_gap or ask.look)
        return replace(walk, ask=replace(ask, url=beyond, is_behind_gap=True)) if is_missing and beyond else None


@dataclass(frozen=True, slots=True)
class NextNode:
    """The next TREE node: what is wrong with one page is nothing to the others."""

    most: int = MAX_STALE_NODES
    name: str = "node"

    def instead(self, walk: Walk[Ask], fault: Fault, dialect: DCATDialect) -> Walk[Ask] | None:  # noqa: ARG002
        ask = dialect.next_node(walk.ask, f"{walk.key} failed")
        return None if ask is None else replace(walk, ask=ask, gaps=walk.gaps + 1)


class DCATDialect(Dialect[Ask]):
    """Pages of RDF, or one data.json.

    Args:
        crawl: what they are read for.
        address: the catalogue's.
        make: makes a page of RDF.
        changes: compares with the last complete crawl.
    """

    asks = Ask
    traits = Traits(way="stated", total="hint", windows=(), patience=MAX_STALE, most_pages=MAX_PAGES, is_one_list=False)
    ladder = (Beyond(), Again(), NextNode())

    def __init__(self, crawl: Crawl, address: str, make: Callable[..., RDFPage], changes: Changes) -> None:
        self.crawl, self.address, self.make, self.changes = crawl, address, make, changes
        self.is_one_answer = False
        self.frontier = Frontier(crawl)
        self.named = NamedDatasets(
            crawl=crawl,
            catalogue=address,
            frontier=self.frontier,
            read=self.page,
            linked=self.linked,
            end=self.conclude,
        )
        given = {"name": crawl.source, "language": crawl.args["language"]}
        self.fragments = Fragments(crawl, changes.withdrawals, lambda *content: make(*content, **given))

    def first(self) -> Walk[Ask]:
        return Walk(ask=Ask(url=self.address, start=self.address), name="pages")

    def request(self, walk: Walk[Ask]) -> Request:
        meta = {"spool": True} | ({"dont_cache": True} if walk.ask.look else {})
        request = Request(walk.ask.url, headers={"Accept": formats.ACCEPT}, meta=meta)
        is_first = not (walk.step or walk.ask.branch)
        return self.changes.conditional(request) if is_first and self.crawl.args["since"] else request

    def called(self, walk: Walk[Ask]) -> str:
        return f"the catalogue {walk.ask.branch}" if walk.ask.branch else self.subject

    # An answer

    async def read(self, response: Response, walk: Walk[Ask]) -> ListingPage[Ask]:
        ask = walk.ask
        if response.status == 304:
            self.frontier.note(response.url)
            self.changes.keep_all()
            return ListingPage(is_file=True)
        if not (walk.pages or ask.branch):
            self.changes.note_validators(response)
        self.frontier.note(ask.url, response.url, look=ask.look)
        page = self.page(response)
        if page is None:
            address = self.linked(response, walk.key, ask.hops, ask.look)
            return ListingPage(next=replace(ask, url=address, hops=ask.hops + 1), is_new=True)
        with remembering(self.crawl):
            try:
                await in_turns(page.load())
            except BaseException:
                page.close()
                raise
        listing: ListingPage[Ask] = ListingPage(close=page.close)
        listing.total = ask.total if ask.look == "modified" else page.paging.total(response.url)
        listing.entries = self._entries(response, walk, page, listing)
        return listing

    def page(self, response: Response) -> Page | None:
        """Return the page in an answer; ``None`` for one of HTML.

        Raises:
            AnswerError: the answer is something else.
        """
        most, language = self.crawl.crawler.settings.getint("JSON_MAXSIZE"), self.crawl.args["language"]
        return read(response, name=self.crawl.source, language=language, max_json=most, make=self.make)

    def linked(self, response: Response, by: str, hops: int, look: str = "") -> str:
        """Return the address of the RDF that a page of HTML links to.

        Args:
            by: the key of the page's request.
            hops: how many such pages led to it.
            look: which look at the catalogue it is for.

        Raises:
            NoRDFError: it links to none that was not read.
            AnswerError: it links to several files; or it is a page of another kind.
        """
        check_known(response)
        body = open_body(response).read(_MAX_HTML)
        address = alternate(HtmlResponse(response.url, headers=response.headers, body=body))
        if address is None or hops >= MAX_HOPS or not self.frontier.is_new(address, by, look):
            raise NoRDFError("an HTML page came instead of RDF")
        self.crawl.logger.info("%s is an HTML page: going on to %s", response.url, address)
        return address

    def _entries(self, response: Response, walk: Walk[Ask], page: Page, listing: ListingPage[Ask]) -> Iterator[Entry]:
        """Yield the page's records; then note what follows it."""
        ask = walk.ask
        if not ask.branch:
            self.crawl.run_state.expected = walk.total if listing.total is None else listing.total
        # Withdrawals look at the catalogue's own pages: another one that those name may be gone itself
        address = self.address if ask.branch else response.url
        fragments = self.fragments if _leads_on(response, walk, page) else None
        records = PageRecords(self.crawl, page, response, walk, fragments, address=address)
        new = described = 0
        for entry in records.entries():
            if records.new > new:
                new = records.new
                described += self.named.is_named(entry.record["key"], walk.name)
            yield entry
        listing.gaps, listing.is_new = records.gaps, records.has_parts
        listing.fault = records.fault
        if not (records.is_limited or records.fault):
            listing.apart = records.apart - described + self.named.add(page, walk.key)
            self._plan_others(response, walk, page, listing)
            self._follow(response, walk, page, records, listing)
        listing.is_limited = records.is_limited or (records.is_enough() and listing.next is not None)

    def items(self, response: Response, entry: Entry, allowed: int, walk: Walk[Ask], position: int) -> Iterator[Any]:  # noqa: ARG002  # as the lister calls it
        yield from entry.reading()

    # What follows a page

    def _follow(
        self, response: Response, walk: Walk[Ask], page: Page, records: PageRecords, listing: ListingPage[Ask]
    ) -> None:
        """Say what the next page is; at the end, whether the pages repeat."""
        ask, pages = walk.ask, walk.pages - walk.ask.hops
        if ask.is_behind_gap and records.count:
            message = f"the page before {response.url} was not found, so its datasets are missing"
            self.crawl.failed("list", AnswerError("paging", message), response.request)
            listing.gaps += 1
        listed = walk.listed + records.new + walk.apart + listing.apart
        total = walk.total if listing.total is None else max(listing.total, walk.total or 0)
        is_all = total is not None and listed >= total
        is_first, is_news = not pages, bool(records.new or records.has_parts)
        stale = 0 if is_news else walk.stale + 1
        ahead = replace(
            ask,
            started=ask.started or paging.an_hour_before(response.headers.get("Date")),
            is_ckan=ask.is_ckan or (is_first and page.paging.is_ckan(response.url)),
            is_catalogue=ask.is_catalogue or page.is_catalogue(),
            shifted=ask.shifted + records.has_repeats,
            is_behind_gap=False,
            is_node=False,
            looked=ask.looked + bool(ask.look),
            stale=0 if is_news else ask.stale + 1,
        )
        try:
            stated = _stated(response, page, is_entry=is_first and not is_all, is_empty=not records.count)
        except AnswerError as error:
            listing.fault = error
            return
        has_paging = ask.has_paging or listing.total is not None or bool(stated)
        if stated and (is_news or ask.look) and page.paging.leads_back(stated, response.url, ask.start):
            stated = None  # a ring, whose end this is
        following = stated or (None if has_paging or not records.count else paging.counted(response.url))
        is_fruitful = (ahead.looked < MAX_SECOND_PAGES and not is_all) if ask.look else stale < MAX_STALE
        if following and is_fruitful and self.frontier.is_new(following, walk.key, ask.look):
            had_next = ask.had_next or bool(stated)
            listing.next = replace(
                ahead, url=following, had_next=had_next, has_paging=bool(stated), is_guessed=not stated
            )
            return
        is_last = not following and (is_first or ask.is_guessed or not stale)
        is_over = ask.look and not (following and is_fruitful)
        is_looping = ask.is_looping or not (is_all or is_over or ask.is_node or is_last)
        if node := self.next_node(replace(ahead, is_looping=is_looping), walk.key):
            if node.stale < MAX_STALE_NODES:
                listing.next, listing.is_new = node, True
                return
            message = f"{node.stale} pages in a row had no new dataset: {node.url} and those after it are not read"
            self.crawl.failed("list", AnswerError("trap", message), response.request)
            listing.gaps += 1
        last = page.paging.last(response.url)
        if last and not ask.had_next:
            listing.offers = [Offer("left", last, None, f"names {last} as its last page, which was not read")]
        listing.is_guessed = ask.is_guessed
        is_alone = is_first and not ask.had_next
        listing.is_file = not ask.is_guessed and (is_alone or not walk.first or (ask.is_node and not records.count))
        if is_looping:
            listing.next = walk.ask  # again: the list judges whether that is a ring
        elif not (listed or ahead.is_catalogue or walk.gaps or ask.is_part):
            message = "the answer is not a catalogue and describes no dataset: it contains no dcat:Dataset"
            listing.fault = AnswerError("no_datasets", message)
        listing.has_moved = total is None and not (ask.look or is_looping) and 0 < ahead.shifted < pages

    def next_node(self, ask: Ask, by: str) -> Ask | None:
        """Return what the next TREE node is asked by."""
        node = self.frontier.take_new(_NODES, by)
        if node is None:
            return None
        return replace(ask, url=node, is_node=True, is_guessed=False, has_paging=True, had_next=True)

    def _plan_others(self, response: Response, walk: Walk[Ask], page: Page, listing: ListingPage[Ask]) -> None:
        """Note the TREE nodes and the catalogues that a page names: they follow when its own pages have come."""
        for address in page.paging.nodes:
            listing.gaps += self._plan(_NODES, address, response, walk, "page")
        for name, addresses in (("catalogues", page.catalogues()), ("parts", page.unknown_parts())):
            for address in addresses:
                if not page.is_described(address) or absolute(address, response.url):
                    listing.gaps += self._plan(f"{name} {walk.ask.depth + 1}", address, response, walk, "catalogue")

    def _plan(self, name: str, iri: str, response: Response, walk: Walk[Ask], what: str) -> bool:
        """Put a page, or a catalogue that is a part of this one, on a list; return whether it may not be requested."""
        address = absolute(iri, response.url)
        if address in {response.url, walk.ask.url}:
            return False
        if address is not None and not (same_host(address, response.url) or same_host(address, self.address)):
            kind, reason = "offsite", "it is on another host; give its address as -a url= of a source of its own"
        elif walk.ask.depth + (what == "catalogue") > MAX_DEPTH:
            kind, reason = "trap", f"it is more than {MAX_DEPTH} catalogues deep"
        elif address is None:
            kind, reason = "paging", "its name is no web address"
        else:
            self.frontier.add(name, address, walk.key)
            return False
        message = f"the catalogue names the {what} {iri[:300]}, which is not read: {reason}"
        self.crawl.failed("list", AnswerError(kind, message), response.request)
        return True

    # Faults, and further looks

    def fault(self, error: AnswerError, response: Response | None, walk: Walk[Ask]) -> Fault:
        is_answered = response is None or response.status == 200
        is_spoken = is_answered and error.kind not in _BROKEN
        return replace(super().fault(error, response, walk), is_spoken=is_spoken)

    def ending(self, fault: Fault, walk: Walk[Ask]) -> ListingPage[Ask] | None:
        """Return the end of pages that were counted on, or of a part of the catalogue that is none."""
        if walk.ask.is_part and isinstance(fault.error, NoRDFError):
            message = f"the catalogue names a part that is no catalogue, and has no RDF: {fault.error.what}"
            self.crawl.failed("list", AnswerError("no_rdf", message), Request(walk.ask.url), http_status=fault.status)
            return ListingPage(end="closed")
        is_end = walk.ask.is_guessed and fault.status in _GONE
        return ListingPage(is_guessed=True, came=0) if is_end else None

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
        if not ask.is_ckan:
            return (first,)
        modified = paging.modified_since(ask.start, ask.started)
        return replace(ask, url=modified, look="modified", total=walk.total), first

    # When the lists have ended

    def stopped(self, walk: Walk[Ask]) -> Iterator[Any]:  # noqa: ARG002
        self.crawl.run_state.is_limited = True
        return iter(())

    def ended(self, walk: Walk[Ask]) -> Iterator[Any]:
        """Yield the list of the next catalogue; behind the last, what waited, and the datasets that are only named."""
        if walk.pages <= walk.ask.hops and not walk.ask.branch:
            return
        by, limits = f"{walk.key} ended", self.crawl.limits
        for name, depth in product(("catalogues", "parts"), range(1, MAX_DEPTH + 1)):
            if address := self.frontier.take_new(f"{name} {depth}", by):
                if limits.is_reached(datasets=walk.earlier + walk.listed, resources=walk.resources):
                    self.crawl.run_state.is_limited = True
                    return
                if self.crawl.records.count("addresses") > MAX_PAGES:
                    message = f"more than {MAX_PAGES} pages were read: {address} and the catalogues after it are not"
                    self.crawl.failed("list", AnswerError("trap", message))
                    break
                ask = Ask(url=address, start=address, branch=address, depth=depth, is_part=name == "parts")
                earlier = walk.earlier + walk.listed
                yield Walk(ask=ask, name=f"the pages of {address}", earlier=earlier, resources=walk.resources)
                return
        self.is_one_answer = walk.pages == 1 and not walk.ask.branch
        there = Walk(ask=Named(), name="linked", earlier=walk.earlier + walk.listed, resources=walk.resources)
        for page, record, identity, address, is_torn in self.fragments.joined():
            records = PageRecords(self.crawl, page, Response(address), there, None, address=address)
            yield from records.joined(record, identity, is_torn=is_torn)
        for page, record, address in self.fragments.unlisted():
            mentioned = replace(there, name="mentioned")
            response = Response(address, request=Request(address))
            records = PageRecords(self.crawl, page, response, mentioned, None, address=address)
            if records.is_enough():
                self.crawl.run_state.is_limited = True
                return
            yield from records.outside(record)
            there = replace(there, earlier=records.earlier + records.new, resources=records.resources)
        yield from self.named.following(there)

    def conclude(self, missing: int, requested: int) -> None:
        """Say how many datasets there are, and withdraw what is gone.

        Args:
            missing: how many were named and did not come.
            requested: how many were requested one by one.
        """
        state = self.crawl.run_state
        state.expected = state.listed + max(state.walks.lacking, missing)
        self.changes.end(is_one_answer=self.is_one_answer and not requested)


def _stated(response: Response, page: Page, *, is_entry: bool, is_empty: bool) -> str | None:
    """Return the next page that a page or its headers name; the first page if that is all that an entry names.

    Raises:
        AnswerError: it can't be requested, or there are several.
    """
    stated = page.paging.next(response.url) or paging.linked(response.headers.getlist("Link"), response.url)
    if stated or not is_entry:
        return stated
    has_others = page.paging.counted() or is_empty or page.paging.last(response.url)
    return page.paging.first(response.url) if has_others else None


def _leads_on(response: Response, walk: Walk[Ask], page: Page) -> bool:
    """Return whether the catalogue has more pages than this one."""
    if walk.pages > walk.ask.hops or page.paging.nodes or paging.counted(response.url):
        return True
    with suppress(AnswerError):
        return _stated(response, page, is_entry=True, is_empty=False) is not None
    return False
