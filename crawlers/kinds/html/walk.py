"""Walks a catalogue's listings, page by page."""

from __future__ import annotations

from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Any

from scrapy import Request
from w3lib.url import canonicalize_url

from crawlers.exceptions import AnswerError
from crawlers.kinds.html import turn
from crawlers.kinds.html.answer import page_of
from crawlers.kinds.html.conclusion import GONE, ending
from crawlers.kinds.html.letters import is_of, letters
from crawlers.kinds.html.links import dataset_links, follow_links, foreign
from crawlers.kinds.html.paging import counted
from crawlers.kinds.html.totals import printed, total
from crawlers.kinds.html.walk_state import SECOND_LOOK, Place
from crawlers.listing import other_answers
from crawlers.listing.completeness import Ending
from crawlers.politeness import failures

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from scrapy.http import Response
    from twisted.python.failure import Failure

    from crawlers.kinds.html.conclusion import Conclusion
    from crawlers.kinds.html.listed_datasets import ListedDatasets
    from crawlers.kinds.html.mapping import Page
    from crawlers.kinds.html.rules import Rules
    from crawlers.kinds.html.turn import Turn
    from crawlers.listing.crawl import Crawl


class Opening:
    """Opens listings by their addresses."""

    def __init__(self, walk: Walk) -> None:
        self.walk = walk

    def begin(self, place: Place) -> Request:
        """Return the request that a walk begins with."""
        return self.walk.request(turn.Turn(place.walk), place)

    def is_superseded(self, here: Place) -> bool:  # noqa: ARG002
        """Return whether the walk has begun again since a page was requested, so that the page is not needed."""
        return False

    def restart(self, here: Place, page: Page | None, status: int | None = None) -> Request | None:  # noqa: ARG002
        """Return the request that begins a listing again, if an answer shows that this is needed.

        Args:
            page: what came, if it links to no dataset; ``None`` if it does, or if nothing came.
            status: of an answer that is an error.
        """
        return None


class Walk:
    """Requests a listing's pages and, from what each one links to, the datasets and further listings."""

    def __init__(self, crawl: Crawl, site: Rules, conclusion: Conclusion, listed_datasets: ListedDatasets) -> None:
        self.crawl, self.site, self.paging = crawl, site, site.paging
        self.conclusion, self.listed_datasets = conclusion, listed_datasets
        self.opening = Opening(self)

    # Requests

    def start(self) -> Iterator[Request]:
        for name, address in {canonicalize_url(start): start for start in self.site.start}.items():
            self.crawl.seen(name, list_name="walks", listed_by="start")
            yield self._begin(address)

    def _begin(self, address: str, depth: int = 0) -> Request:
        self.conclusion.completeness.begin(address)
        return self.opening.begin(Place(walk=address, depth=depth))

    def request(self, to: Turn, place: Place) -> Request:
        """Return the request for a page of a listing."""
        is_get = to.body is None
        meta: dict[str, Any] = {} if is_get else {"page": place.number}
        if place.is_again or self.site.form:
            meta["dont_cache"] = True
        if place.session:
            meta["cookiejar"] = place.session
        if "listing" in self.site.browser:
            meta["browser"] = turn.browser(self.paging, to.times)
        return Request(
            to.url,
            method="GET" if is_get else "POST",
            body=to.body or b"",
            headers={} if is_get else {"Content-Type": "application/x-www-form-urlencoded"},
            callback=self.parse_listing,
            errback=self.listing_failed,
            cb_kwargs={"place": place.plain()},
            meta=meta,
            dont_filter=place.is_again,
            priority=0 if self.crawl.args["max_resources"] else 1,  # first: a listing changes within hours
        )

    # Pages

    def parse_listing(self, response: Response, place: dict[str, Any]) -> Iterator[Request]:
        here = Place(**place)
        if self.opening.is_superseded(here):
            return
        if "cached" in response.flags:
            self.crawl.run_state.has_stale_answer = True
        try:
            yield from self._read(page_of(response), response, here)
        except AnswerError as error:
            self.conclusion.fail(error, response.request, response.status)
            yield from self.conclusion.end(here)

    def _read(self, page: Page, response: Response, here: Place) -> Iterator[Request]:
        links, strangers = foreign(dataset_links(page, self.site), self.site)
        if restart := self.opening.restart(here, None if links else page):
            yield restart
            return
        if not links and (other := other_answers.named(response, "a listing")):
            raise AnswerError("no_datasets", other)
        after = turn.seen_pager(page, here.after(links, total(page, self.site)))
        after.printed = self._printed(page, len(links), here)
        if page.flaw:
            self.conclusion.fault("truncated", page.flaw, response.request)
        if page.misread:
            self.crawl.logger.warning("%s: %s Its links are followed all the same", response.url, page.misread)
        self.listed_datasets.report_offsite(strangers, response.request)
        yield from self.listed_datasets.requests(links, after, response.request)
        if self.listed_datasets.is_enough():
            yield from self.conclusion.stop(here)
            return
        yield from self._further(follow_links(page, self.site), here, after)
        yield from self._turn(page, response, here, after)

    def _printed(self, page: Page, rows: int, here: Place) -> int | None:
        """Return the largest number of datasets that the pages print; what the rules call the total counts alone."""
        if self.site.links.total is not None:
            return None
        is_one_of_many = bool(here.depth or self.site.links.follow or len(self.site.start) > 1)
        known = (here.printed, printed(page, rows + 1, is_one_of_many=is_one_of_many))
        return max((count for count in known if count is not None), default=None)

    def _further(self, addresses: Sequence[str], here: Place, after: Place) -> Iterator[Request]:
        """Begin a walk through each listing that this one links to."""
        after.leads = bool(addresses)
        listed_by = f"{here.walk} {here.number}"
        for address in filter(self.site.follows, addresses):
            if not self.crawl.seen(canonicalize_url(address), list_name="walks", listed_by=listed_by):
                continue
            if here.depth >= self.site.links.depth:
                message = f"{address} is another listing, deeper than links.depth ({self.site.links.depth})"
                self.conclusion.fault("trap", message, None)
                return
            yield self._begin(address, here.depth + 1)

    # The next page

    def _turn(self, page: Page, response: Response, here: Place, after: Place) -> Iterator[Request]:
        self.conclusion.check(here, after, response)
        is_end = turn.is_end(response, self.paging, here, after)
        following = None if is_end else turn.following(page, self.site, after)
        if following and self._is_new(following, here):
            self._note_size(response, here, after)
            yield from self._go_on(following, here, after, response.request)
            return
        if not following and here.number == 1 and self.paging.kind == "next" and not self.site.links.follow:
            yield from self._follow_index(page, here, after)
        repeats = here.is_repeated_by(after) and self.paging.kind not in turn.BY_BROWSER
        goes_on = is_end and not repeats and turn.following(page, self.site, after) is not None
        found = ending(self.paging.kind, after, response, goes_on=goes_on, repeats=repeats)
        yield from self._weigh(after, response.request, found, response, repeats=repeats)

    def _is_new(self, to: Turn, here: Place) -> bool:
        """Return whether the page was not requested before; what the scheduler takes for the same request is not."""
        if to.body is not None or to.times:
            return True
        self.crawl.seen(canonicalize_url(here.walk), list_name="pages", listed_by="")
        listed_by = f"{here.walk} {here.number}"
        return self.crawl.seen(canonicalize_url(to.url), list_name="pages", listed_by=listed_by)

    def _follow_index(self, page: Page, here: Place, after: Place) -> Iterator[Request]:
        """Follow an index from A to Z, the pager of a listing that has no other."""
        found = letters(page)
        after.printed = None if found else after.printed  # the number of all letters
        after.is_indexed = bool(found) and is_of(page.url, found) and all(map(self.site.follows, found))
        yield from self._further(found, here, after)

    def _note_size(self, response: Response, here: Place, after: Place) -> None:
        """Note how long a page was that led on: a browser's first one has, once it was turned."""
        in_browser = self.paging.kind in turn.BY_BROWSER
        size = (here.size if turn.made(response) == 1 else 0) if in_browser else after.size
        self.crawl.run_state.page_size = max(self.crawl.run_state.page_size, size)

    def _go_on(self, following: Turn, here: Place, after: Place, request: Request | None) -> Iterator[Request]:
        if here.before is not None and here.number >= SECOND_LOOK:
            yield from self._weigh(after, request, Ending(**after.ending))
        elif here.number < self.paging.max_pages:
            after.link_text = following.link_text
            yield self.request(following, after)
        else:
            message = f"the listing goes on beyond paging.max_pages ({here.number}): a calendar, a session id?"
            self.conclusion.fault("trap", message, request)
            yield from self.conclusion.end(here)

    def _weigh(
        self,
        after: Place,
        request: Request | None,
        found: Ending,
        response: Response | None = None,
        *,
        repeats: bool = False,
    ) -> Iterator[Request]:
        """Judge a walk that has ended, after a second look at its pages where they seem to have shifted."""
        if after.before is not None:
            found = replace(Ending(**after.ending), listed=after.seen)
        if self.conclusion.is_flawed(after, request, repeats=repeats):
            yield from self.conclusion.end(after)
        elif self.conclusion.is_shifted(after) and after.before is None:
            yield self.opening.begin(after.second_look(asdict(found)))
        else:
            self.conclusion.judge(after, request, found, response)
            yield from self.conclusion.end(after)

    # Pages that did not come

    def listing_failed(self, failure: Failure) -> Iterator[Request]:
        request, status, error = failures.request(failure), failures.status(failure), failures.from_failure(failure)
        place, is_gone = Place(**request.cb_kwargs["place"]), status in GONE
        if self.opening.is_superseded(place):
            return
        if restart := self.opening.restart(place, None, status):
            yield restart
        elif place.number == 1 or self.paging.kind not in turn.COUNTED or not (is_gone or error.kind == "http"):
            self.conclusion.fail(error, request, status)
            yield from self.conclusion.end(place)
        elif is_gone and not (place.gap or place.is_all or request.meta.get("retry_times")):
            yield request.replace(dont_filter=True, meta={**request.meta, "retry_times": 1})
        else:
            self.conclusion.report_missing(place, error, request, status)
            yield from self._pass(place, request)

    def _pass(self, place: Place, request: Request) -> Iterator[Request]:
        """Go on behind a counted page that did not come, which may be the end or a gap."""
        after = replace(place, number=place.number + 1, stale=place.stale + 1, gap=place.gap or place.number, digest="")
        if after.stale < self.paging.patience and not place.is_all:
            address = counted(place.walk, self.paging, after.number - 1)
            yield self.request(turn.Turn(address), after)
        else:
            yield from self._weigh(after, request, ending(self.paging.kind, after))
