"""How a declared API lists its records: what a page holds, what follows it, and what may help when it does not come.

A server that gives no more than its window is asked for the records from the last stamp on, inclusive: known ones are
dropped. Records without a stamp are a section of their own. Where the newest come first, a record that is changed
meanwhile is moved to the pages that were read already, so what changed since the beginning is requested at the end.
"""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, ClassVar

from scrapy import Request

from crawlers.exceptions import AnswerError
from crawlers.kinds.api import query
from crawlers.kinds.api.mapping import Reading
from crawlers.kinds.api.query import SIZES, Answer, Ask
from crawlers.listing.answers import other_answer
from crawlers.listing.crawl import in_turns
from crawlers.listing.dialect import WINDOWS, Dialect, Traits, repeated
from crawlers.listing.evidence import is_met
from crawlers.listing.ladder import Again, Instead, Other, Renew, Skip, Smaller
from crawlers.listing.since import OVERLAP
from crawlers.listing.tree import File, Tree
from crawlers.listing.walk import Entry, ListingPage, Offer, Walk
from crawlers.records.moment import moment, written
from crawlers.safety import bounds
from crawlers.safety.addresses import absolute

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from scrapy.http import Response

    from crawlers.items import Dataset
    from crawlers.kinds.api.declaration import Restart
    from crawlers.kinds.api.query import APICrawl
    from crawlers.listing.dialect import Fault, Rung


_PASSING = ("timeout", "truncated", "not_json", "connection", "too_large", "http", "refused")
_LONGEST = 100
"""Characters of a stamp."""
_QUOTES = "'\"\\`"
_ROUND = 1000
"""A number of records that is a multiple of this may be the end of what a search server gives."""
_XSRF = re.compile(r"XSRF-TOKEN=([A-Za-z0-9._-]{1,200})")
_SECTIONS = {"window": "behind the window", "rest": "that have no date"}


class ChoiceError(AnswerError):
    """The refusal that names the collections of a server."""


class RoundedError(AnswerError):
    """A page ends with the record that it should begin with: the server rounds offsets down to the border of a page."""


class APIDialect(Dialect[Ask]):
    """What a declaration says of a listing."""

    asks = Ask
    lacking = "the portal can't give record {number} of the listing"
    ladder: ClassVar[tuple[Rung, ...]] = (
        Instead("token"),
        Other("overlap", (1, 0), when=lambda fault: isinstance(fault.error, RoundedError)),
        Again(),
        Instead("smaller", most=20),
        Instead("over", most=3),
        Instead("onward"),
        Instead("again_from_the_beginning"),
        Instead("collections"),
    )

    def __init__(self, crawl: APICrawl) -> None:
        self.crawl, self.query = crawl, crawl.query
        self.declaration, self.declared, self.paging = crawl.query.declaration, crawl.query.listing, crawl.query.paging
        self.window = self.declared.window
        way = {"none": "single", "next": "stated"}.get(self.paging.kind, "place")  # an empty page ends a token's, too
        windows = WINDOWS | {self.window.max} if self.window else WINDOWS
        self.traits = Traits(way=way, windows=windows)  # type: ignore[arg-type]

    @property
    def restart(self) -> Restart | None:
        """How the listing is begun again behind the window."""
        return self.window.restart if self.window else None

    # Requests

    def first(self) -> Walk[Ask]:
        rows = self.query.rows if self.query.has_sizes else None
        is_count = self.declared.count is not None and not self.crawl.changed_since
        ask = Ask(begun=written(datetime.now(UTC) - OVERLAP))
        return Walk(ask=ask, rows=rows, most=rows, purpose="count" if is_count else "page")

    def request(self, walk: Walk[Ask]) -> Request:
        ask, headers = walk.ask, self.query.headers()
        if ask.refused:
            return Request(f"{self.query.portal}/collections?f=json", headers=headers)
        if walk.purpose == "count" and self.declared.count:
            return Request(self.query.address(self.declared.count.url), headers=headers)
        meta = {"spool": True} if self.paging.kind == "none" else {}
        request = self.query.request(walk, self.crawl.changed_since, meta=meta)
        if self.paging.kind == "page" and walk.total is None and walk.came % _ROUND > 0:
            # nothing but a refusal may show the end: Django's REST framework answers 404 behind it
            request.meta["handle_httpstatus_list"] = [404]
        if self.paging.kind == "page" and (self.query.size(walk) or 0) < (walk.most or 0):
            request.meta["max_retry_times"] = 1  # it is small because one failed after all its retries
        if self.crawl.changed_since or ask.section == "recent":
            request.headers["Cache-Control"] = "no-cache"
        if ask.xsrf:
            request.headers.update({"X-XSRF-TOKEN": ask.xsrf, "Cookie": f"XSRF-TOKEN={ask.xsrf}"})
        return request

    # Answers

    def read(self, response: Response, walk: Walk[Ask]) -> ListingPage[Ask]:
        ask = walk.ask
        if response.status == 404:
            return ListingPage(asked=self.query.size(walk))
        document = self.crawl.document(response)
        if ask.refused:  # name the collections of the server, where there are any
            named = query.collections(document, self.declaration, self.query.portal)
            told = query.choice(named, self.declaration) if named else ""
            raise ChoiceError("refused", told) if told else AnswerError("http", "none")
        headers = query.headers(response)
        if walk.purpose == "count":
            total = query.total(document, self.declared.count.total if self.declared.count else None, headers)
            return ListingPage(total=total, next=replace(ask, counted=total))
        records = query.records(document, self.declared)
        if records is None:
            message = f"the answer has no list where its records should be ({self.declared.records.text})"
            other = other_answer(response, "a page of this API")
            raise AnswerError("refused", f"{message}: {other}" if other else message)
        bounds.RECORDS.check(len(records))
        total = query.total(document, self.declared.total, headers)
        if self.declared.total and total is None and not walk.pages:
            message = "%s: list.total (%s) finds no number of records in the first page"
            self.crawl.logger.warning(message, self.query.portal, self.declared.total.text)
        readings = [Reading(record, self.declaration) for record in records]
        return self._page(Answer(document, readings, response.url, headers), total, walk)

    def _page(self, answer: Answer, total: int | None, walk: Walk[Ask]) -> ListingPage[Ask]:
        entries = [
            Entry(
                each.id if isinstance(each.record, dict) else None,
                each.record,
                each.resource_count if self.crawl.limits.resources else 0,
                each,
                each.aliases,
            )
            for each in answer.records
            if each.is_dataset
        ]
        self._report_twins(entries, walk)
        count, asked = len(answer.records), self.query.size(walk)
        overlap = min(self.query.overlap(walk), count)
        is_as_long = count > 1 and count >= walk.largest  # a rest that is short may end with the same record
        is_again = is_as_long and bool(walk.ask.last) and answer.records[-1].mark == walk.ask.last
        if is_again and overlap and count <= (asked or count):
            raise RoundedError("paging", "a page ends with the record that it should begin with")
        page: ListingPage[Ask] = ListingPage(entries=entries, came=count - overlap, overlap=overlap, asked=asked)
        others = {each.mark for each in answer.records if not each.is_dataset}
        page.apart = sum(self.crawl.seen(each, list_name="passed", listed_by=walk.key) for each in sorted(others))
        page.is_file = self.paging.more is not None and not walk.pages and not self.paging.more.find(answer.page)
        self._count(page, total, walk)
        page.ask = seen = replace(self._seen(answer, page, total, walk), is_again=is_again)
        page.has_moved = seen.shift != walk.ask.shift
        try:
            following = self.query.following(answer, replace(walk, ask=seen))
            page.next = seen if is_again and following else self._onward(following, page, total, walk)
        except AnswerError as error:  # of the next page: this one's records stay
            page.fault = error
        if page.next is None and page.fault is None:
            page.offers = [Offer("left", walk.key, why_not=left) for left in self._left(answer, seen, walk) if left]
        return page

    def _report_twins(self, entries: list[Entry], walk: Walk[Ask]) -> None:
        """Report the ids that several records of a page have, if those differ: the first one is kept."""
        first: dict[str, Entry] = {}
        for entry in entries:
            known = entry if entry.id is None else first.setdefault(entry.id, entry)
            if known.record != entry.record and self.crawl.seen(str(entry.id), list_name="twins", listed_by=walk.key):
                title, again = (each.reading.dataset("", self.crawl.source).title for each in (known, entry))
                self.crawl.failed("list", repeated(title, again, "the page"), dataset_id=entry.id)

    def _count(self, page: ListingPage[Ask], total: int | None, walk: Walk[Ask]) -> None:
        """Note how many records there are, and whether the next page is requested whatever that says.

        A total that a page has of itself is met by a short first page, and exceeded by those behind it.
        """
        ask, came = walk.ask, page.came or 0
        if ask.section != "all":
            page.total = ask.counted if ask.section == "recent" else None
            page.is_open, page.is_new = True, came > 0 and walk.pages < 2 * ask.start + self.traits.patience
            return
        known = ask.counted if total is None else total
        is_left = self.query.has_fixed_places and walk.came > 0 and known != walk.total
        page.total, page.behind = (None, known) if is_left and known == (walk.total or 0) - walk.came else (known, None)
        asked = page.asked or 0
        if self.paging.more is not None or self.paging.kind == "token":  # what is offered is followed
            page.is_open = True
        elif self.query.has_fixed_places:
            page.is_open = came >= asked
        else:
            is_of_page = not walk.pages and not self.crawl.changed_since and 0 < came < asked and came == known
            page.is_open = is_of_page or (known is not None and walk.came + came > known)

    def _seen(self, answer: Answer, page: ListingPage[Ask], total: int | None, walk: Walk[Ask]) -> Ask:
        """Return what is known of the listing behind a page."""
        ask = replace(walk.ask, received=walk.ask.received + (page.came or 0))
        if ask.section == "all" and total is not None:
            is_shrunk = ask.is_shrunk or total < (ask.latest or 0)
            is_changed = ask.is_changed or ask.latest not in (None, total)
            ask = replace(ask, latest=total, is_changed=is_changed, is_shrunk=is_shrunk)
        if page.overlap and answer.records[0].mark != ask.last and ask.shift >= 0:
            is_there = any(each.mark == ask.last for each in answer.records)
            ask = replace(ask, shift=1 if is_there else -1)
        return self._stamped(ask, answer, self.restart) if self.restart else ask

    def _stamped(self, ask: Ask, answer: Answer, restart: Restart) -> Ask:
        """Return what is known with the last stamp of a page, and whether the stamps are in an order."""
        found = [(each, restart.seen.find(each.record)) for each in answer.records]
        stamps = [stamp for _, stamp in found]
        seen, order, is_shuffled = ask.seen, ask.order, ask.is_shuffled
        for stamp in filter(_is_stamp, stamps):
            step = 0 if seen is None else _compared(seen, stamp)
            is_shuffled = is_shuffled or (step * order < 0 and ask.section in ("all", "window"))
            seen, order = stamp, order or step
        seen_at = next((each.mark for each, stamp in reversed(found) if stamp), ask.seen_at)
        is_undated = ask.is_undated or not all(map(_is_stamp, stamps))
        odd = ask.odd or next((str(each)[:_LONGEST] for each in stamps if each and not _is_stamp(each)), "")
        ask = replace(ask, seen=seen, seen_at=seen_at, order=order, is_shuffled=is_shuffled)
        ask = replace(ask, is_undated=is_undated, odd=odd)
        if not ask.awaited or (stamps and all(stamp == ask.bound for stamp in stamps)):  # it may be on a later page
            return ask
        if any(each.mark == ask.awaited for each in answer.records):
            return replace(ask, awaited="")
        lacking = f"the walk behind the window from {ask.bound!r} on lacks the record it goes on from, {ask.awaited}"
        fault = ask.fault or f"{lacking}: others of the same {restart.seen.text} may be lacking"
        return replace(ask, awaited="", fault=fault)

    # The next page, or the next section

    def _onward(self, following: Ask | None, page: ListingPage[Ask], total: int | None, walk: Walk[Ask]) -> Ask | None:
        """Return what is asked next, of this section or of the next one; ``None`` if that was all."""
        assert page.ask is not None  # noqa: S101
        seen = page.ask
        own = None if seen.section == "all" or total in self.traits.windows else total
        total_of_walk = walk.total if page.total is None else page.total
        is_trusted = self._is_trusted(total_of_walk)
        is_reached = is_trusted and walk.came + (page.came or 0) >= (total_of_walk or 0)
        is_at_window = self._is_at_window(seen, walk) and not is_reached
        if is_at_window and seen.section in ("all", "window"):
            following = self._behind_window(page, walk)
        elif is_at_window or (own is not None and seen.received >= own) or self._is_last(seen, page, walk):
            following = None
        if following is not None:
            return following
        is_short = is_at_window or (own is not None and seen.received < own)
        if is_short and seen.section in _SECTIONS and not seen.fault:
            came = f"{seen.received} of {'more' if own is None else own} records came"
            page.ask = seen = replace(seen, fault=f"{came} {_SECTIONS[seen.section]}: it gives no more")
        if seen.section == "window" and self.restart and self.restart.rest:
            return seen.of("rest", start=walk.pages + 1)
        if is_trusted:
            return None
        if seen.section != "recent" and walk.pages and self._is_newest_first(seen):  # no total shows that none moved
            page.is_open = True
            return seen.of("recent", start=walk.pages + 1)
        if seen.fault:
            raise AnswerError("count_mismatch", seen.fault)
        return None

    def _is_last(self, seen: Ask, page: ListingPage[Ask], walk: Walk[Ask]) -> bool:
        """Return whether a page is the last one by a total that shrank, or by its length where nothing has a total."""
        if seen.section != "all" or page.is_open:
            return False
        if page.total is None and walk.total is None:
            return self._is_newest_first(seen) and (page.came or 0) + page.overlap < walk.largest
        return page.total is not None and page.total < (walk.total or 0) and walk.came + (page.came or 0) == page.total

    def _is_newest_first(self, ask: Ask) -> bool:
        return ask.order < 0 and bool(self.declared.since)

    def _is_trusted(self, total: int | None) -> bool:
        return total is not None and total not in self.traits.windows

    def _is_at_window(self, seen: Ask, walk: Walk[Ask]) -> bool:
        """Return whether the next page would end at the window, or behind it."""
        if self.window is None:
            return False
        has_way_on = self.restart is not None and seen.seen is not None and seen.section in ("all", "window")
        margin = (self.query.size(replace(walk, ask=seen)) or 0) if has_way_on else 0
        return seen.received + margin >= self.window.max

    def _behind_window(self, page: ListingPage[Ask], walk: Walk[Ask]) -> Ask | None:
        seen, stamp = page.ask, self.restart.seen.text if self.restart else ""
        if self.window is None or seen is None or self.restart is None:
            return None
        reason = ""
        if seen.seen is None and seen.odd:
            reason = f"{stamp} can't be sent back as a condition: {seen.odd!r}"
        elif seen.seen is None:
            reason = f"no record has what it could go on from ({stamp})"
        elif seen.is_shuffled:
            reason = f"the records are not sorted by {stamp}"
        elif seen.section == "window" and seen.seen == seen.bound:
            reason = f"more records than that have the same {stamp}, {seen.seen!r}"
        if reason:
            raise AnswerError("paging", f"the portal gives no more than {self.window.max} records, and {reason}")
        return seen.behind(walk.pages + 1)

    def _left(self, answer: Answer, seen: Ask, walk: Walk[Ask]) -> Iterator[str]:
        """Yield what the last page offers and nobody can follow, and what may be behind a window."""
        more, page = self.paging.more, answer.page
        if more is not None and more.find(page):
            yield f"the last page says that more follow ({more.text}), and gives no way to them"
        else:  # a next page that no GET can ask for
            links = page.get("links") if isinstance(page, dict) else None
            others = (each for each in (links if isinstance(links, list) else []) if isinstance(each, dict))
            methods = (str(each.get("method", "GET")) for each in others if each.get("rel") == "next")
            method = next((each for each in methods if each.upper() != "GET"), None)
            way = f"the next page is to be requested with {str(method)[:20]}, which this crawl does not do"
            yield way if method is not None else ""
        if self._is_trusted(walk.total if seen.latest is None else seen.latest):
            return
        if seen.bound is not None and self.restart:
            has_unlisted = self.restart.rest is None or (seen.is_undated and self.restart.rest is False)
            yield f"records without {self.restart.seen.text} can't be listed behind the window" if has_unlisted else ""
        if self.window and self._is_at_window(seen, walk):
            yield f"the server gives no more than {self.window.max} records at once"

    # What did not come

    def fault(self, error: AnswerError, response: Response | None, walk: Walk[Ask]) -> Fault:
        found = super().fault(error, response, walk)
        if walk.ask.refused:
            told = error if isinstance(error, ChoiceError) else AnswerError("http", walk.ask.refused)
            return replace(found, error=told, status=404)
        if response is not None and error.kind == "http":
            error = query.worded(error, response.body, self.declared)
        if walk.purpose == "count":
            self.crawl.logger.warning("%s does not say how many records it has: %s", self.query.portal, error)
        is_spoken = error.kind in ("paging", "count_mismatch") or walk.purpose == "count"
        about = ""
        if found.status == 403 and self.declared.body is not None and response is not None:
            cookies = (cookie.decode("latin-1") for cookie in response.headers.getlist("Set-Cookie"))
            about = next((match[1] for cookie in cookies if (match := _XSRF.match(cookie))), "")
        return replace(found, error=error, is_spoken=is_spoken, about=about)

    def token(self, walk: Walk[Ask], fault: Fault) -> Walk[Ask] | None:
        """Return the page with the token that the portal sets as a cookie and wants to get back with each POST."""
        is_new = fault.about and not walk.ask.xsrf
        return replace(walk, ask=replace(walk.ask, xsrf=fault.about)) if is_new else None

    def smaller(self, walk: Walk[Ask], fault: Fault) -> Walk[Ask] | None:
        """Return a smaller page than the one that was asked for."""
        return Smaller(SIZES).instead(self._as_asked(walk), fault, self)

    def over(self, walk: Walk[Ask], fault: Fault) -> Walk[Ask] | None:
        """Return the page behind the single record that was asked for."""
        return Skip().instead(self._as_asked(walk), fault, self)

    def _as_asked(self, walk: Walk[Ask]) -> Walk[Ask]:
        """Return the walk with the size of its page: the end of a window, or its place, may make that smaller."""
        return replace(walk, rows=walk.rows and self.query.size(walk))

    def again_from_the_beginning(self, walk: Walk[Ask], fault: Fault) -> Walk[Ask] | None:
        """Return the beginning of the list, unless it is a link that the server fails at."""
        is_failing = self.paging.kind == "next" and (fault.status or 0) >= 500
        return None if is_failing else Renew(when=_PASSING).instead(walk, fault, self)

    def onward(self, walk: Walk[Ask], fault: Fault) -> Walk[Ask] | None:
        """Return the records from the last stamp on, as behind a window that is declared."""
        ask, is_passing = walk.ask, fault.error.kind in _PASSING and (fault.status or 0) < 500
        is_new = ask.received > 0 and ask.seen not in (None, ask.bound) and not ask.is_shuffled
        is_listed = self.restart and ask.section in ("all", "window")
        return (
            replace(walk, ask=ask.behind(walk.pages), rows=walk.most) if is_passing and is_new and is_listed else None
        )

    def collections(self, walk: Walk[Ask], fault: Fault) -> Walk[Ask] | None:
        """Return the collections of a server whose root may have been given for one of them."""
        is_root = fault.status == 404 and not walk.pages
        has_collections = self.declaration.recognise.collections is not None
        return replace(walk, ask=replace(walk.ask, refused=str(fault.error))) if is_root and has_collections else None

    def place(self, walk: Walk[Ask], count: int) -> Ask | None:
        if self.paging.kind not in ("offset", "page"):
            return None
        at = (walk.ask.at or 0) if self.paging.kind == "offset" else self.query.place(walk)
        return replace(walk.ask, at=at + count, rows=1, last="", received=walk.ask.received + count)

    def renewed(self, walk: Walk[Ask]) -> Ask | None:
        """Return the beginning of the listing, where its tokens or links may have expired."""
        ask = walk.ask
        if walk.purpose == "count":
            return ask
        is_shrunk = walk.rows is not None and walk.rows != walk.most
        may_expire = self.paging.kind in ("next", "token") and ask.at is not None and not is_shrunk
        return ask.of(ask.section) if may_expire else None

    # The end

    def is_doubtful(self, walk: Walk[Ask]) -> bool:
        return walk.lap == 1 and walk.pages > 1 and not walk.lost and bool(self.laps(walk))

    def laps(self, walk: Walk[Ask]) -> Sequence[Ask]:
        """Return where to look again: at all, if records moved up or some came twice; or at what changed meanwhile.

        A total that grew is no sign that any moved up where the newest come first: those are requested by their stamp.
        """
        ask, met = walk.ask, is_met(walk, self.traits)
        begun = Ask(begun=ask.begun, counted=ask.counted, xsrf=ask.xsrf, overlap=ask.overlap)
        if ask.section == "recent" or ask.is_again:
            return ()
        is_newest_first = self._is_newest_first(ask)
        is_seen = is_newest_first or self.paging.kind == "offset"
        has_shifted = not self.query.has_fixed_places and (ask.is_shrunk or (ask.is_changed and not is_seen))
        if ask.shift < 0 or has_shifted:
            return (begun,)
        if is_newest_first and (ask.is_changed or not met):
            return (replace(begun, counted=walk.total).of("recent", start=walk.pages),)
        if met or ask.section != "all":
            return ()
        is_doubled = ask.is_changed or walk.came >= (walk.total or 0)
        return (begun,) if (is_doubled if self._is_trusted(walk.total) else ask.shift > 0) else ()

    # Records

    def items(self, response: Response, entry: Entry, allowed: int, walk: Walk[Ask], position: int) -> Iterator[Any]:
        what = f"record {walk.came + position + 1} of the listing"
        if not isinstance(entry.record, dict):
            message = f"{what} is not an object but {type(entry.record).__name__}"
            self.crawl.failed("list", AnswerError("invalid_record", f"{message}, so it is not kept"), response.request)
        elif entry.id is None:
            message = f"{what} {entry.reading.missing_id}"
            self.crawl.failed("list", AnswerError("missing_id", f"{message}, so it is not kept"), response.request)
        else:
            yield from self.crawl.parse_record(response, entry.reading, allowed if allowed < entry.resources else None)


def _is_stamp(value: Any) -> bool:
    """Return whether a value can be sent back as a condition without a meaning of its own."""
    if isinstance(value, bool) or not isinstance(value, str | int):
        return False
    text = str(value)
    return 0 < len(text) <= _LONGEST and text.isprintable() and not any(quote in text for quote in _QUOTES)


def _compared(before: Any, now: Any) -> int:
    """Return 1 if the second stamp is greater, -1 if it is smaller, 0 if neither or that can't be known.

    >>> _compared(3, 4), _compared("2026-01-02T00:00:00Z", "2026-01-01T23:00:00+00:00"), _compared("b", "b")
    (1, -1, 0)
    >>> _compared(1, "b")
    0
    """
    if type(before) is not type(now):
        return 0
    first, second = (moment(each) or each for each in (before, now))
    if type(first) is not type(second):
        return 0
    return (first < second) - (first > second)


class StaticTree(Tree[File]):
    """Reads files from the root down, level by level."""

    asks = File
    traits = Traits(way="single", is_one_list=False, tree="datasets", deepest=20)

    crawl: APICrawl

    def __init__(self, crawl: APICrawl) -> None:
        super().__init__(crawl)
        self.query = crawl.query

    def first(self) -> Walk[File]:
        address = self.query.address(self.query.listing.url)
        return Walk(ask=File(url=address), name=address)

    def request(self, walk: Walk[File]) -> Request:
        return Request(walk.ask.url, headers=self.query.headers())

    async def read(self, response: Response, walk: Walk[File]) -> ListingPage[File]:
        page, document = ListingPage[File](is_limited=False), self.crawl.document(response)
        records = query.records(document, self.query.listing)
        is_of_records = records is not None and all(isinstance(record, dict) for record in records)
        if not isinstance(document, dict) and not is_of_records:
            shown = response.body[:100].decode("utf-8", "replace")
            raise AnswerError("not_json", f"the answer is no file of the catalogue, but {shown}")
        await in_turns(self.offer(self._children(document, page, walk, response), page, walk, response))
        page.entries = self.entries(self._datasets(records or [], response), page, walk, response)
        return page

    def _children(self, document: Any, page: ListingPage[File], walk: Walk[File], response: Response) -> Iterator[File]:
        """Yield the children that a file names; report those that can't be read: what they hold is unknown."""
        for href in children(document):
            address = absolute(href, response.url) if isinstance(href, str) else None
            error = self._refused(address, href)
            if error is None:
                yield File(url=str(address), depth=walk.ask.depth + 1)
            else:
                self.crawl.failed("list", error, response.request)
                page.gaps += 1

    def _refused(self, address: str | None, href: Any) -> AnswerError | None:
        """Return why a child is not read."""
        if address is None:
            message = "a link to a child is not an address, so what it leads to is not read"
            return AnswerError("paging", f"{message}: {str(href)[:200]!r}")
        try:
            self.query.check_host(address)
        except AnswerError as error:
            return AnswerError(error.kind, f"{address[:500]} is not read: {error}")
        return None

    def _datasets(self, records: list[Any], response: Response) -> Iterator[Dataset]:
        for record in records:
            reading = Reading(record, self.query.declaration)
            if reading.id is None or not isinstance(record, dict):
                error = AnswerError("missing_id", "the record has no id, so it is not kept")
                self.crawl.failed("list", error, response.request)
            elif reading.is_dataset:
                yield self.crawl.item(reading, None, response.url)

    def aliases(self, dataset: Dataset) -> tuple[str, ...]:
        return tuple(Reading(dataset.document, self.query.declaration).aliases)

    def whole(self, walk: Walk[File]) -> Iterator[Any] | None:
        """Report a tree without a dataset: it is none."""
        if self.crawl.records.expected:
            return None
        count = self.crawl.records.count(self.branches) + 1
        message = f"none of the {count} files that were read is a dataset: the address may be that of an API"
        self.crawl.failed("list", AnswerError("no_datasets", message))
        self.crawl.run_state.expected = None
        self.crawl.run_state.walks.end(walk.name, "short")
        return iter(())


def children(document: Any) -> list[Any]:
    """Return what the links to children have as their address, each once; ``None`` where one has nothing.

    Raises:
        AnswerError: ``too_large``: there are too many.
    """
    links = document.get("links") if isinstance(document, dict) else None
    found = [link for link in links if isinstance(link, dict)] if isinstance(links, list) else []
    hrefs = [link.get("href") for link in found if link.get("rel") == "child"]
    bounds.RECORDS.check(len(hrefs))
    return list({str(href): href for href in hrefs}.values())
