"""The listings of HTML pages: how a page is asked for, what it lists, and what shows that it was the last one."""

from __future__ import annotations

import hashlib
import json
from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar

from scrapy import Request
from w3lib.url import canonicalize_url

from crawlers.components.resume.records import see_all
from crawlers.exceptions import AnswerError
from crawlers.kinds.html import turn, unread
from crawlers.kinds.html.answer import page_of
from crawlers.kinds.html.links import dataset_links, follow_links, foreign
from crawlers.kinds.html.paging import counted, is_index_of, letters
from crawlers.kinds.html.totals import printed, total
from crawlers.kinds.html.turn import Ask
from crawlers.kinds.html.withdrawals import GONE, GonePages
from crawlers.listing import other_answers
from crawlers.listing.dialect import Dialect, Traits
from crawlers.listing.faults import Fault, Rung
from crawlers.listing.ladder import Again, Instead, begun
from crawlers.listing.walk import A, Entry, ListingPage, Offer, Walk

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from scrapy.http import Response

    from crawlers.kinds.html.links import Link
    from crawlers.kinds.html.mapping import Page
    from crawlers.kinds.html.search_form import Search
    from crawlers.listing.crawl import Crawl

_LOOKED_AT = 50
"""Pages of a listing that are looked at again where they seem to have shifted."""
_MOST_STRANGERS = 100  # error lines for one page


def _is_another_page(fault: Fault) -> bool:
    """Return whether a later page is a login, or an error page that came with HTTP 200."""
    return fault.error.kind == "no_datasets" and not fault.is_first


class LinkedDatasets(Dialect[A]):
    """Lists of links to datasets' pages.

    Args:
        gone: the questions about what whole listings lack; it has what requests those pages, too.
    """

    subject = "the listing"

    def __init__(self, crawl: Crawl, gone: GonePages) -> None:
        self.crawl, self.gone, self.pages, self.site = crawl, gone, gone.pages, gone.site

    def report(self, kind: str, message: str, request: Request | None) -> None:
        """Report what was not read of a list that goes on."""
        self.crawl.failed("list", AnswerError(kind, message), request)
        self.crawl.run_state.is_cut_short = True

    def report_offsite(self, strangers: Sequence[Link], request: Request | None) -> None:
        """Report the links to datasets on hosts that the rules do not name."""
        if len(strangers) > _MOST_STRANGERS:
            messages = [f"{len(strangers)} links to datasets are not on one of the catalogue's hosts: see [links]"]
        else:
            end = "is not on one of the catalogue's hosts: name its host in `hosts` if it is a dataset"
            messages = [f"{link.url} {end}" for link in strangers]
        for message in messages:
            self.crawl.failed("list", AnswerError("offsite", message), request)

    def short(self, walk: Walk[A]) -> Iterator[Any]:
        self.crawl.run_state.is_cut_short = True
        return iter(())

    def ended(self, walk: Walk[A]) -> Iterator[Any] | None:
        if self.crawl.records.expected or self.crawl.run_state.is_cut_short:
            return None
        message = "the listing has no link to a dataset: look at [links] in the rules, or ask for a browser"
        self.crawl.failed("list", AnswerError("no_datasets", message))
        return iter(())

    def whole(self, walk: Walk[A]) -> Iterator[Any]:
        if self.crawl.run_state.is_cut_short:
            return iter(())
        self.crawl.run_state.expected = self.crawl.records.expected
        return self.gone.requests()


class Listings(LinkedDatasets[Ask]):
    """The pages of a catalogue's listings.

    Args:
        search: sends the form that the listings are behind, if they are.
    """

    asks = Ask
    ladder: ClassVar[tuple[Rung, ...]] = (
        Instead("session", most=1000),
        Again(when=_is_another_page),
        Instead("past", most=1000),
    )

    def __init__(self, crawl: Crawl, gone: GonePages, search: Search | None = None) -> None:
        super().__init__(crawl, gone)
        site = self.site
        self.paging, self.search = site.paging, search
        is_counted, in_browser = site.paging.is_counted, site.paging.in_browser
        self.traits = Traits(
            way="place" if is_counted else "turn" if in_browser else "stated",
            patience=site.paging.patience,
            has_short_pages=True,
            deepest=site.links.depth,
            ends_by="short_page" if is_counted else "pager",
            is_one_list=False,
            judges_single_pages_last=True,
        )

    # Requests

    def starts(self) -> Iterator[Walk[Ask]]:
        """Yield the walk of each listing that the rules name."""
        for name, address in {canonicalize_url(start): start for start in self.site.start}.items():
            self.crawl.seen(name, list_name="walks", listed_by="start")
            yield self._walk(address)

    def first(self) -> Walk[Ask]:
        return self._walk(self.site.start[0])

    def _walk(self, address: str) -> Walk[Ask]:
        return Walk(ask=self.beginning(address), name=address)

    def beginning(self, address: str) -> Ask:
        return Ask(start=address, url="" if self.search else address)

    def request(self, walk: Walk[Ask]) -> Request:
        ask = walk.ask
        if not ask.url and self.search:
            return self.search.request(ask)
        meta: dict[str, Any] = {}
        if walk.lap > 1 or self.site.form:
            meta["dont_cache"] = True
        if ask.session:
            meta |= {"cookiejar": ask.session, "page": int(ask.session, 16)}
        if "listing" in self.site.browser:
            meta["browser"] = turn.browser(self.paging, ask.times)
        priority = -1 if self.crawl.args["max_resources"] else 1  # first: a listing changes within hours
        if ask.body is None:
            return Request(ask.url, meta=meta, priority=priority)
        headers = {"Content-Type": "application/x-www-form-urlencoded"}
        body = ask.body.encode("latin-1")
        return Request(ask.url, method="POST", body=body, headers=headers, meta=meta, priority=priority)

    def is_current(self, walk: Walk[Ask]) -> bool:
        return self.search is None or self.search.is_current(walk.ask)

    def laps(self, walk: Walk[Ask]) -> Sequence[Ask]:
        ask = walk.ask
        return (
            replace(
                self.beginning(ask.start), before=ask.digests, left=walk.left, session=ask.session, process=ask.process
            ),
        )

    def is_doubtful(self, walk: Walk[Ask]) -> bool:
        """Return whether pages listed datasets of earlier ones again, so that others may have been on none."""
        is_met = walk.total is not None and walk.listed + walk.apart == walk.total
        return walk.has_moved and walk.lap == 1 and not is_met

    # What a page lists

    def read(self, response: Response, walk: Walk[Ask]) -> ListingPage[Ask]:
        if not walk.ask.url and self.search:
            return ListingPage(entries=[], next=self.search.sent(response, walk.ask), is_new=True)
        page = page_of(response)
        links, strangers = foreign(dataset_links(page, self.site), self.site)
        if self.search:
            self.search.check(walk.ask, None if links else page)
        if not links:
            common = walk.ask.frame or ()
            if other := other_answers.named(response, "a listing") or unread.strange(page, walk.ask.number, common):
                raise AnswerError("no_datasets", other)
        self.report_offsite(strangers, response.request)
        first = {link.id: link for link in reversed(links)}  # of several addresses with one id
        return _Reading(self, page, response, walk, [link for link in links if first[link.id] is link]).page()

    def items(
        self, response: Response, entry: Entry, allowed: int, walk: Walk[Ask], position: int
    ) -> Iterator[Request]:
        for request in self.pages.requests(entry.reading):
            if walk.ask.session:  # the cookies of the search that listed it
                request.meta["cookiejar"] = walk.ask.session
            yield request

    # Pages that did not come

    def past(self, walk: Walk[Ask], fault: Fault) -> Walk[Ask] | None:
        """Return a counted page that is not there, once more; then the one behind it: it may be the end, or a gap."""
        ask, is_gone = walk.ask, fault.status in GONE
        is_all = walk.total is not None and walk.listed + walk.apart >= walk.total
        is_guess = self.paging.is_counted and ask.number > 1 and not is_all  # nothing showed that there is such a page
        if not is_guess or not (is_gone or fault.error.kind in ("http", "no_datasets")):
            return None
        if is_gone and not ask.gap and "past" not in walk.tried:
            return walk
        if walk.stale + 1 >= self.traits.patience:
            return None
        url = counted(ask.start, self.paging, ask.number)
        behind = replace(ask, url=url, number=ask.number + 1, gap=ask.gap or ask.number, digest="")
        return replace(walk, ask=behind, stale=walk.stale + 1, gaps=walk.gaps + (not is_gone or ask.number == 2))

    def session(self, walk: Walk[Ask], fault: Fault) -> Walk[Ask] | None:
        """Return the form of the listing once more, where its session has ended."""
        if self.search is None or fault.about != "session":
            return None
        ask = walk.ask
        ask = Ask(start=ask.start, before=ask.before, left=ask.left, session=self.search.renew(ask))
        return begun(walk, ask, reached=max(walk.came, walk.reached))

    def fault(self, error: AnswerError, response: Response | None, walk: Walk[Ask]) -> Fault:
        status = None if response is None else response.status
        if self.search and walk.ask.url and self.search.is_of_session(error, walk.ask, status):
            return Fault(AnswerError("refused", str(error)), about="session")
        return Fault(error, status, is_first=not walk.pages)

    def reported(self, fault: Fault, walk: Walk[Ask]) -> Fault:
        if fault.status in GONE and self.paging.is_counted and walk.ask.number == 2:
            message = f"there is no page 2 of {walk.name}: does [paging] name what turns the page?"
            return replace(fault, error=AnswerError("paging", message))
        return fault

    def ending(self, fault: Fault, walk: Walk[Ask]) -> ListingPage[Ask] | None:
        """Return the end that a counted page is which is not there."""
        is_counted = self.paging.is_counted and walk.ask.number > 2
        return ListingPage(entries=[]) if is_counted and fault.status in GONE else None


class _Reading:
    """One page of a listing, on its way to a `ListingPage`."""

    def __init__(
        self, listings: Listings, page: Page, response: Response, walk: Walk[Ask], links: Sequence[Link]
    ) -> None:
        self.listings, self.shown, self.response, self.walk, self.links = listings, page, response, walk, links
        self.crawl, self.site, self.paging = listings.crawl, listings.site, listings.paging
        self.ask, self.request = walk.ask, response.request
        self.gaps, self.left = 0, ""
        self.fault: AnswerError | None = None

    def page(self) -> ListingPage[Ask]:
        stated = total(self.shown, self.site)
        self.total = self.walk.total if stated is None else stated
        self.new = self._new()
        self.here = self._behind()
        self._check()
        self.walks = self._offers(follow_links(self.shown, self.site))
        onward = self._following()
        is_indexed = onward is None and self._is_indexed()
        is_closed = onward is None and self.has_led and not (self.links or self.walk.came or self.fault)
        if self._is_last(onward) and self.fault is None and not is_closed:
            self._conclude(is_indexed=is_indexed)
        left = [Offer("left", f"{self.walk.name} page {self.ask.number}", why_not=self.left)] if self.left else []
        return ListingPage(
            entries=[Entry(link.id, {"id": link.id}, reading=link) for link in self.links],
            next=onward,
            ask=self.here,
            came=0 if self.paging.is_counted and not self.new and not self.is_full else len(self.links),
            total=stated,
            printed=self._printed(onward),
            is_new=bool(self.new),
            turns=turn.made(self.response) if self.paging.in_browser else int(is_indexed) or None,
            end="declared" if self.paging.kind == "none" else "closed" if is_closed else "",
            offers=[*self.walks, *left],
            has_moved=self.has_moved,
            gaps=self.gaps,
            fault=self.fault,
        )

    def _new(self) -> set[str]:
        """Return the datasets that this look has on no earlier page."""
        name = self.walk.name if self.walk.lap == 1 else f"second look {self.walk.name}"
        ids = [link.id for link in self.links if "\0" not in link.id]
        return see_all(self.crawl.records, ids, name, self.walk.key)

    def _behind(self) -> Ask:
        """Return the ask of this page, with what it showed."""
        ask, digest = self.ask, _digest(self.links)
        self.is_repeated = bool(digest) and digest == ask.digest and not self.paging.in_browser and ask.number > 1
        is_read_once = not self.paging.in_browser and self.walk.came >= self.walk.reached
        self.has_moved = is_read_once and 0 < len(self.new) < len(self.links)
        digests = (*ask.digests, digest) if len(ask.digests) < _LOOKED_AT else ask.digests
        gap = None if self.links else ask.gap or ask.number
        there = replace(ask, gap=gap, digest=digest, digests=digests)
        return turn.seen(self.shown, there)

    @property
    def seen(self) -> int:
        """How many datasets the pages have listed so far."""
        return self.walk.listed + self.walk.apart + (len(self.new) if self.walk.lap == 1 else 0)

    @property
    def is_all(self) -> bool:
        """Whether as many were seen as the listing states."""
        return self.total is not None and self.seen >= self.total

    @property
    def is_full(self) -> bool:
        return len(self.links) >= self.walk.largest

    def _check(self) -> None:
        """Report what was not read, although the listing goes on."""
        name, number = self.walk.name, self.ask.number
        if self.shown.flaw:
            self._report("truncated", self.shown.flaw, self.request)
        if self.shown.misread:
            message = "%s: %s Its links are followed all the same"
            self.crawl.logger.warning(message, self.response.url, self.shown.misread)
        if self.ask.gap and self.here.gap is None:
            message = f"page {self.ask.gap} of {name} lists no dataset or is not there, and later ones list some"
            self._report("paging", message, self.request)
        if number == 2 and self.is_repeated:
            self._fail("paging", f"page 2 of {name} lists what page 1 does: does [paging] name what turns the page?")
        if turn.is_short(self.response, number - 1):
            message = f"{name} ended after fewer than the {number - 2} page turns that were possible before"
            self._report("paging", message, self.request)

    def _report(self, kind: str, message: str, request: Request | None) -> None:
        self.listings.report(kind, message, request)
        self.gaps += 1

    def _fail(self, kind: str, message: str) -> None:
        self.fault = AnswerError(kind, message)

    # Other listings

    def _offers(self, addresses: Sequence[str]) -> list[Offer[Ask]]:
        """Return the listings that this one links to, and no other page did."""
        found, listings = [], self.listings
        by = f"{self.walk.name} {self.walk.lap} {self.ask.number}"  # not by the step: it may be asked for once more
        for address in filter(self.site.follows, addresses):
            if not self.crawl.seen(canonicalize_url(address), list_name="walks", listed_by=by):
                continue
            if len(self.walk.above) >= self.site.links.depth:
                message = f"{address} is another listing, deeper than links.depth ({self.site.links.depth})"
                self._report("trap", message, None)
                break
            found.append(Offer("walk", address, listings.beginning(address)))
        self.has_led = bool(addresses)
        return found

    def _is_indexed(self) -> bool:
        """Return whether an index from A to Z, the pager of a listing that has no other, is followed."""
        if self.ask.number > 1 or self.paging.kind != "next" or self.site.links.follow:
            return False
        found = letters(self.shown)
        self.walks += self._offers(found)
        return bool(found) and is_index_of(self.shown.url, found) and all(map(self.site.follows, found))

    # The next page

    def _following(self) -> Ask | None:
        """Return what the next page is asked by; ``None`` if there is none, or it is the first one again."""
        if self.fault or (self.paging.in_browser and b"Page-End" in self.response.headers):
            return None
        is_over = self.is_repeated or (self.is_all and not self.new)
        if is_over or (self.walk.lap > 1 and self.ask.number >= _LOOKED_AT):
            return None
        onward = turn.following(self.shown, self.site, replace(self.here, number=self.ask.number + 1))
        is_page = onward is not None and onward.body is None and not onward.times
        if onward is None or (is_page and canonicalize_url(onward.url) == canonicalize_url(onward.start)):
            return None
        if self.ask.number >= self.paging.max_pages:
            message = f"the listing goes on beyond paging.max_pages ({self.ask.number}): a calendar, a session id?"
            self._fail("trap", message)
            return None
        left = self.here.left or unread.beside(self.shown, self.site, self.ask.number, onward.url)
        self.here = replace(self.here, left=left)
        return replace(onward, left=left)

    def _is_last(self, onward: Ask | None) -> bool:
        """Return whether nothing follows this page: there is no way on, or patience is at its end."""
        return onward is None or (not self.new and self.walk.stale + 1 >= self.paging.patience)

    def _printed(self, onward: Ask | None) -> int | None:
        """Return how many datasets the page prints; what the rules call the total counts alone."""
        if self.site.links.total is not None or self.walks:
            return None
        is_one_of_many = bool(self.walk.above or self.site.links.follow or len(self.site.start) > 1)
        rows = len(self.links) + (onward is not None or self.ask.number > 1)
        return printed(self.shown, rows, is_one_of_many=is_one_of_many)

    # The end

    def _conclude(self, *, is_indexed: bool) -> None:
        """Note what contradicts that the last page was the last one."""
        walk, here, name, kind = self.walk, self.here, self.walk.name, self.paging.kind
        if here.gap and here.gap > 1 and self.paging.is_promised:
            self._fail("paging", f"{name} leads to a page {here.gap} that lists no dataset")
        elif here.gap == 1 and not walk.above and len(self.site.start) > 1 and not is_indexed:
            self._fail("no_datasets", f"{name} has no link to a dataset")
        elif walk.came + len(self.links) < walk.reached:
            message = f"{name} listed {walk.reached} datasets before its session ended, and {walk.came} after"
            self._fail("paging", message)
        elif walk.lap > 1 and not self._is_steady() and not self.is_all:
            message = f"{name} lists its {self.seen} datasets in another order on each look: some may be missing"
            self._fail("paging", message)
        elif kind != "none":
            is_nothing = here.gap == 1 and not walk.above and not is_indexed
            self.gaps += is_nothing  # which is told of the whole catalogue
            self.left = self._left()
            if self.is_repeated and self.is_full and not (self.left or self.is_all):
                self._fail("paging", f"{name} gives the same pages again after {self.seen} datasets")

    def _left(self) -> str:
        """Return what was seen and not followed, as a clause."""
        read, offered = self.ask.number - self.is_repeated, self.here.offered
        if offered > read:
            return f"its pager offers page {offered}, and {read} {'was' if read == 1 else 'were'} read"
        if self.paging.in_browser and turn.made(self.response) and not turn.has_ended(self.response, self.paging.kind):
            return "a further turn changes nothing, though nothing says that this is the last page"
        if self.is_all or self.here.left:
            return "" if self.is_all else self.here.left
        start, came = self.ask.start, self.walk.came
        return unread.left(self.shown, self.site, read, start=start, came=came, is_counted=offered > 1)

    def _is_steady(self) -> bool:
        """Return whether the second look saw the pages in an order, or the first one's."""
        has_moved = self.walk.has_moved or self.has_moved
        return not has_moved or self.here.digests == (self.ask.before or ())[: len(self.here.digests)]


def _digest(links: Sequence[Link]) -> str:
    text = json.dumps([link.id for link in links])
    return hashlib.sha256(text.encode()).hexdigest()[:16] if links else ""
