"""The listings of HTML pages: how a page is asked for, what it lists, and what shows that it was the last one."""

from __future__ import annotations

import hashlib
import json
import secrets
from collections import Counter
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar

from scrapy import Request
from w3lib.url import canonicalize_url, safe_url_string

from crawlers.exceptions import AnswerError
from crawlers.kinds.html import forms, paging, unread, words
from crawlers.kinds.html.answer import page_of
from crawlers.kinds.html.links import at_home, dataset_links, follow_links, foreign
from crawlers.kinds.html.pages import GONE, GonePages
from crawlers.kinds.html.paging import counted, is_index_of, letters
from crawlers.kinds.html.totals import printed, total
from crawlers.listing.answers import other_answer
from crawlers.listing.dialect import Dialect, Fault, Rung, Traits
from crawlers.listing.ladder import Again, Instead, begun
from crawlers.listing.walk import A, Entry, ListingPage, Offer, Walk

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from scrapy.http import Response

    from crawlers.kinds.html.forms import Form
    from crawlers.kinds.html.links import Link
    from crawlers.kinds.html.rules import Paging, Rules, SearchForm
    from crawlers.listing.crawl import Crawl
    from crawlers.records.html_page import Page


_AHEAD = 50  # pages whose addresses are kept
_LOOKED_AT = 50  # pages of a listing that are looked at again where they seem to have shifted
_MOST_STRANGERS = 100  # error lines for one page
_FRAME = 50  # links of the first page
_IDLE = 3  # times that a button is pressed in vain
_RENEWALS = 3  # times that a process begins a listing again whose session seems to end
_ENDED = frozenset((400, 401, 403, 405, 409, 412, 419, 422, 440, 498, 500))
"""Statuses that servers give for a token or a session that they do not know."""
_OF_TURNS = ("kind", "xpath", "script", "first", "step", "wait")
_ENDS = {
    "button": ("gone", "disabled"),
    "buttons": ("gone", "disabled"),
    "scroll": ("unchanged",),
    "script": ("false",),
}
"""The ``Page-End`` of a browser's page that shows that there is no further page."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ask:
    """What a page of a listing is asked by, and what the pages before it showed.

    Args:
        start: the address that the listing begins at.
        url: the page's own; empty for the form that the listing is behind.
        body: of a POST, in Latin-1; ``None`` for a GET.
        times: how often a browser turns the page at ``url``.
        number: the page's, from 1.
        link_text: the text of the link that led here, where its shape alone showed what it was.
        offered: the highest page that a pager has named so far.
        ahead: numbers and addresses of later pages: what a script loads may come without the pager.
        frame: digests of what all pages before link to; ``None`` if there is none yet.
        gap: the first of the pages in a row without any dataset.
        digest: of the page before: what it linked to.
        digests: of the first pages, in order.
        before: of the first look, if this is the second one.
        left: what the first look left, as a clause.
        guessed: the first of the pages in a row that no link led to, whose addresses were counted up; 0 for none.
        upwards: how they are counted up: see `paging.upwards_by`.
        session: names the session that the page is of, and its cookies.
        process: the one that sent the form, whose cookies are its own.
        is_in_session: whether the form was posted, so that its pages are of a session.
        is_linked: whether a link led here.
    """

    start: str
    url: str = ""
    body: str | None = None
    times: int = 0
    number: int = 1
    link_text: str = ""
    offered: int = 1
    ahead: tuple[tuple[int, str], ...] = ()
    frame: tuple[int, ...] | None = None
    gap: int | None = None
    digest: str = ""
    digests: tuple[str, ...] = ()
    before: tuple[str, ...] | None = None
    left: str = ""
    guessed: int = 0
    upwards: tuple[str, str, int, int] | None = None
    session: str = ""
    process: str = ""
    is_in_session: bool = False
    is_linked: bool = False

    def to(self, form: Form | None) -> Ask | None:
        """Return what is asked for by a form."""
        if form is None:
            return None
        body = form.body.decode("latin-1") if form.method == "POST" else None
        return replace(self, url=form.url, body=body, link_text="", is_linked=False)

    def at(self, page: Page, address: str | None, link_text: str = "") -> Ask | None:
        """Return what is asked for by a link of a page."""
        if not address:
            return None
        url = safe_url_string(address, page.encoding or "utf-8")
        return replace(self, url=url, link_text=link_text, is_linked=True)

    def guess(self) -> Ask | None:
        """Return the page behind, whose address is counted up; ``None`` if it can't be."""
        if self.upwards is None:
            return None
        (before, behind, base, step), number = self.upwards, self.number + 1
        url = f"{before}{base + step * number}{behind}"
        return replace(self, url=url, body=None, times=0, number=number, guessed=self.guessed or number, link_text="")

    def behind(self, page: Page) -> Ask:
        """Return the ask of a page, with what its pager offers: how many pages, and where they are."""
        numbers, choice = paging.linked_pages(page), forms.dropdown(page, self.number)
        kept = [(item, address) for item, address in {**dict(self.ahead), **numbers}.items() if item > self.number]
        highest = max([self.offered, *numbers, *forms.posted_pages(page), len(choice.values) if choice else 1])
        links = unread.frame(page)
        common = links[:_FRAME] if self.frame is None else tuple(link for link in links if link in self.frame)
        return replace(self, offered=highest, ahead=tuple(kept[:_AHEAD]), frame=common)


def following(page: Page, rules: Rules, after: Ask) -> Ask | None:
    """Return the next page; ``None`` if this page shows none.

    Args:
        after: this page's, with the number of the next.
    """
    after = replace(after, body=None, times=0, guessed=0)
    way = rules.paging
    if way.in_browser:
        return replace(after, url=after.start, times=after.number - 1)
    if way.is_counted:
        return replace(after, url=paging.counted(after.start, way, after.number - 1))
    if not way.is_promised:
        return None
    found = next(filter(None, promised(page, way, after)), None)
    return found and replace(found, url=at_home(found.url, page.url))


def promised(page: Page, way: Paging, after: Ask) -> Iterator[Ask | None]:
    """Yield the next page by the rules, else, if they name nothing, by whatever looks like a pager."""
    number = way.first + way.step * (after.number - 1)
    if way.kind == "postback":
        yield after.to(forms.postback(page, way, number))
    else:
        is_numbered = way.kind == "numbers"
        yield after.at(page, paging.numbered_link(page, way, number) if is_numbered else paging.next_link(page, way))
    if way.xpath is None and way.text is None:  # page numbers, a select, a link by its shape
        yield after.at(page, paging.linked_pages(page).get(after.number) or dict(after.ahead).get(after.number))
        choice = forms.dropdown(page, after.number - 1)
        yield after.to(forms.turned(page, choice, after.number)) if choice else None
        link = paging.cursor_link(page, after.link_text) if after.link_text or after.number == 2 else None
        yield after.at(page, link.address, link.text) if link else None
    if way.kind != "postback":
        yield after.to(forms.pressed(page, way, number, is_any=not after.is_linked))


# Pages that a browser turns


def _turns(response: Response) -> int:
    """Return how often a browser turned the page."""
    found = response.headers.get("Page-Turns") or b""
    return int(found) if found.isdigit() else 0


def _has_ended(response: Response, kind: str) -> bool:
    """Return whether a browser's page shows that there is no further one, if what should turn it has done so before.

    A button that stays and does nothing must have been pressed three times, while no request of the page failed.
    """
    end, idle = response.headers.get("Page-End") or b"", response.headers.get("Page-Idle") or b""
    is_idle = end == b"unchanged" and kind in ("button", "buttons") and idle.isdigit() and int(idle) >= _IDLE
    return is_idle or end.decode("latin-1") in _ENDS.get(kind, ())


def _in_browser(way: Paging, times: int) -> dict[str, Any]:
    """Return the page turns as data: the ``browser`` of a request's meta."""
    if not way.in_browser:
        return {"kind": None, "times": 0, "wait": way.wait}
    texts = [way.text] if way.text else [] if way.xpath else list(words.more())
    return {"texts": texts, "times": times} | {name: getattr(way, name) for name in _OF_TURNS}


# The listings


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
        Again(when=lambda fault: fault.error.kind == "no_datasets" and not fault.is_first),  # a login, an error page
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
            meta["browser"] = _in_browser(self.paging, ask.times)
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
            if other := other_answer(response, "a listing") or unread.strange(page, walk.ask.number, common):
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
        is_counted = self.paging.is_counted or ask.guessed
        is_guess = is_counted and ask.number > 1 and not is_all  # nothing showed that there is such a page
        if not is_guess or not (is_gone or fault.error.kind in ("http", "no_datasets")):
            return None
        if is_gone and not ask.gap and "past" not in walk.tried:
            return walk
        if walk.stale + 1 >= self.traits.patience:
            return None
        next_ = ask.guess() or replace(ask, url=counted(ask.start, self.paging, ask.number), number=ask.number + 1)
        behind = replace(next_, gap=ask.gap or ask.number, digest="")
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
        if fault.status in GONE and walk.ask.guessed and (left := _offered_beyond(walk.ask)):
            return replace(
                fault, error=AnswerError("unproven", f"{walk.name} listed {walk.listed} datasets, and {left}")
            )
        return fault

    def ending(self, fault: Fault, walk: Walk[Ask]) -> ListingPage[Ask] | None:
        """Return the end that a counted page is which is not there."""
        is_guessed = bool(walk.ask.guessed) and not _offered_beyond(walk.ask)
        is_counted = is_guessed or (self.paging.is_counted and walk.ask.number > 2)
        return ListingPage(entries=[], is_guessed=is_guessed) if is_counted and fault.status in GONE else None


def _offered_beyond(ask: Ask) -> str:
    """Return that pages are offered which are not there, or empty, as a clause; "" if none are.

    Args:
        ask: of a page that was counted up, and is not there, or empty.
    """
    return unread.offered(ask.offered, (ask.gap or ask.number) - 1)


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
        walk, ask, ids = self.walk, self.ask, [link.id for link in self.links]
        stated = total(self.shown, self.site)
        self.total = walk.total if stated is None else stated
        name = walk.name if walk.lap == 1 else f"second look {walk.name}"
        self.new = self.crawl.records.see_all([each for each in ids if "\0" not in each], name, walk.key)
        digest = hashlib.sha256(json.dumps(ids).encode()).hexdigest()[:16] if ids else ""
        self.is_repeated = bool(digest) and digest == ask.digest and not self.paging.in_browser and ask.number > 1
        is_read_once = not self.paging.in_browser and walk.came >= walk.reached
        self.has_moved = is_read_once and 0 < len(self.new) < len(ids)
        digests = (*ask.digests, digest) if len(ask.digests) < _LOOKED_AT else ask.digests
        gap = None if ids else ask.gap or ask.number
        self.here = replace(ask, gap=gap, digest=digest, digests=digests).behind(self.shown)
        self._check()
        self.walks = self._offers(follow_links(self.shown, self.site))
        onward = self._following()
        is_indexed = onward is None and self._is_indexed()
        is_closed = onward is None and self.has_led and not (ids or walk.came or self.fault)
        is_last = onward is None or self.is_back or (not self.new and walk.stale + 1 >= self.paging.patience)
        if is_last and self.fault is None and not is_closed:
            self._conclude(is_indexed=is_indexed)
        left = [Offer("left", f"{walk.name} page {ask.number}", why_not=self.left)] if self.left else []
        return ListingPage(
            entries=[Entry(link.id, {"id": link.id}, reading=link) for link in self.links],
            next=onward,
            ask=self.here,
            came=0 if self.paging.is_counted and not self.new and not self.is_full else len(ids),
            total=stated,
            printed=self._printed(onward),
            is_new=bool(self.new),
            is_guessed=bool(ask.guessed),
            turns=_turns(self.response) if self.paging.in_browser else int(is_indexed) or None,
            end="declared" if self.paging.kind == "none" else "closed" if is_closed else "",
            offers=[*self.walks, *left],
            has_moved=self.has_moved,
            gaps=self.gaps,
            fault=self.fault,
        )

    @property
    def seen(self) -> int:
        """How many datasets the pages have listed so far."""
        return self.walk.listed + self.walk.apart + (len(self.new) if self.walk.lap == 1 else 0)

    @property
    def is_all(self) -> bool:
        """Whether as many were seen as the listing states."""
        return self.total is not None and self.seen >= self.total

    @property
    def is_back(self) -> bool:
        """Whether a posted form, whose session may have ended, led to a page before the last one.

        That of ``postback`` has its state in itself: it wraps.
        """
        is_posted = self.ask.body is not None and self.paging.kind != "postback"
        return is_posted and not self.is_repeated and self.here.digest in self.ask.digests

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
        if b"Page-End" in self.response.headers and _turns(self.response) < number - 2:
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
        onward = following(self.shown, self.site, replace(self.here, number=self.ask.number + 1)) or self._guess()
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

    def _guess(self) -> Ask | None:
        """Return the next page by counting up, where no link leads to it, though the page shows that there is one.

        Its pager ends with dots, or the page names more pages or datasets than were read; or it was counted up itself,
        and has no pager, as what a script loads. As elsewhere, so many empty ones as the rules' patience are the end.
        """
        way, ask, shown = self.paging, self.ask, self.shown
        is_by_numbers = way.kind == "numbers" or (way.kind == "next" and way.xpath is None and way.text is None)
        is_over = not self.links and (not ask.guessed or self.walk.stale + 1 >= way.patience)
        if not is_by_numbers or is_over or self.is_all:
            return None
        linked = paging.linked_pages(shown)
        last = unread.last_page(shown, ask.number)
        offered = max(self.here.offered, last if last > ask.number else 0)
        is_short = (self.total or self._printed(None) or 0) > self.seen
        is_named = is_short or offered > ask.number or paging.ends_with_dots(shown)
        if ask.number + 1 in linked or not (is_named or (ask.guessed and not linked)):
            return None
        found = replace(self.here, offered=offered, upwards=paging.upwards_by(linked) or ask.upwards).guess()
        return found and replace(found, url=at_home(found.url, shown.url))

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
        is_steady = not (walk.has_moved or self.has_moved)  # or the second look saw the pages in the first one's order
        is_steady = is_steady or here.digests == (self.ask.before or ())[: len(here.digests)]
        is_promised = self.paging.is_promised and not 0 < here.guessed <= (here.gap or 0)
        if here.gap and here.gap > 1 and is_promised:
            self._fail("paging", f"{name} leads to a page {here.gap} that lists no dataset")
        elif here.gap == 1 and not walk.above and len(self.site.start) > 1 and not is_indexed:
            self._fail("no_datasets", f"{name} has no link to a dataset")
        elif walk.came + len(self.links) < walk.reached:
            message = f"{name} listed {walk.reached} datasets before its session ended, and {walk.came} after"
            self._fail("paging", message)
        elif walk.lap > 1 and not is_steady and not self.is_all:
            message = f"{name} lists its {self.seen} datasets in another order on each look: some may be missing"
            self._fail("paging", message)
        elif kind != "none":
            self.gaps += here.gap == 1 and not walk.above and not is_indexed  # which is told of the whole catalogue
            self.left = self._left()
            if self.is_repeated and self.is_full and not (self.left or self.is_all):
                self._fail("paging", f"{name} gives the same pages again after {self.seen} datasets")

    def _left(self) -> str:
        """Return what was seen and not followed, as a clause."""
        read, offered = self.ask.number - self.is_repeated, self.here.offered
        is_gap = 0 < self.ask.guessed <= (self.here.gap or 0)
        if left := _offered_beyond(self.here) if is_gap else unread.offered(self.here.offered, read):
            return left
        if self.paging.in_browser and _turns(self.response) and not _has_ended(self.response, self.paging.kind):
            return "a further turn changes nothing, though nothing says that this is the last page"
        if self.is_all or self.here.left:
            return "" if self.is_all else self.here.left
        if self.paging.is_promised and not self.ask.guessed and paging.ends_with_dots(self.shown):
            return f'its pager goes on with "…", and {unread.were_read(read)}'
        if self.is_back:
            return "its form leads back to an earlier page, as when a session has ended"
        start, came = self.ask.start, self.walk.came
        return unread.left(self.shown, self.site, read, start=start, came=came, is_counted=offered > 1)


class SessionError(AnswerError):
    """The session that a page is of has ended."""


class Search:
    """Sends the form that listings are behind, filled in by the rules, and knows when its session has ended.

    The form's token and the cookies are of one session. When that has ended, or another process had it, the form is
    read again, and the listing with it; datasets that are known are not requested twice. A listing is in one session
    at a time: what an earlier one still brings is dropped.

    Attributes:
        rule: what the rules say of the form.
        process: tells this process's sessions from those of one that was killed, whose cookies are gone.
        sessions: the session that this process believes, and the process that it is of, by listing.
        renewals: how often this process has begun each listing again.
    """

    def __init__(self, crawl: Crawl, site: Rules, rule: SearchForm) -> None:
        self.crawl, self.site, self.rule = crawl, site, rule
        self.process = secrets.token_hex(4)
        self.sessions: dict[str, tuple[str, str]] = {}
        self.renewals: Counter[str] = Counter()

    def request(self, ask: Ask) -> Request:
        """Return the request for the page of the form, with the cookies of a new session."""
        meta = {"dont_cache": True, "cookiejar": secrets.token_hex(8), "page": int(ask.session or "0", 16)}
        return Request(ask.start, meta=meta, priority=1)

    def sent(self, response: Response, ask: Ask) -> Ask:
        """Return what the form of a page sends, which begins a session.

        Raises:
            AnswerError: there is no such form, or it leads to another host.
        """
        page = page_of(response)
        form = forms.form_of(page, self.rule)
        there = {element.get("name") for element in forms.fields(page, form)} - {None}
        for name, _ in self.rule.fields:
            if name not in there:  # a script may add it
                known = ", ".join(sorted(there))[:500]
                self.crawl.logger.warning("%s: the form has no field %r; it has: %s", page.url, name, known)
        button = forms.button_of(page, form, self.rule.button)
        to = ask.to(forms.filled(page, form, changes=self.rule.fields, button=button))
        if to is None or not self.site.follows(to.url):
            where = to.url if to else form.get("action")
            raise AnswerError("offsite", f"the form leads to {where}: name its host in `hosts` if that is right")
        session = response.meta["cookiejar"]
        self.sessions[ask.start] = (session, self.process)
        return replace(to, session=session, process=self.process, is_in_session=to.body is not None)

    # A session that has ended

    def is_current(self, ask: Ask) -> bool:
        """Return whether a page counts: after a kill, the form and a page of results may both be pending."""
        own = (ask.session, ask.process)
        return self.sessions.get(ask.start, own) == own

    def check(self, ask: Ask, page: Page | None) -> None:
        """Believe the session of a page.

        Args:
            page: what came, if it links to no dataset.

        Raises:
            SessionError: it has ended.
        """
        if self._is_over(ask, page, None):
            raise SessionError("refused", "the session has ended")
        self.sessions[ask.start] = (ask.session, ask.process)

    def is_of_session(self, error: AnswerError, ask: Ask, status: int | None) -> bool:
        """Return whether a page did not come because its session has ended."""
        return isinstance(error, SessionError) or self._is_over(ask, None, status)

    def renew(self, ask: Ask) -> str:
        """Return the name under which a listing begins again: what an earlier session still brings is dropped."""
        self.renewals[ask.start] += ask.start in self.sessions
        message = "%s: the session has ended at page %s: sending the form again"
        self.crawl.logger.info(message, ask.start, ask.number)
        session = secrets.token_hex(8)
        self.sessions[ask.start] = (session, "")
        return session

    def _is_over(self, ask: Ask, page: Page | None, status: int | None) -> bool:
        is_own = ask.start in self.sessions
        if ask.is_in_session and ask.process != self.process:
            return True
        if self.renewals[ask.start] >= _RENEWALS or (ask.number == 1 and is_own):
            return False
        if page is None or status in _ENDED:
            return status in _ENDED
        try:
            return forms.form_of(page, self.rule) is not None
        except AnswerError:
            return False
