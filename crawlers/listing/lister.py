"""The one machine that reads lists, of all kinds: each page once, each record once, to an end that is shown.

A `Dialect` says what a page is; the rules of `crawlers.listing.evidence` say what follows; the rungs of
`crawlers.listing.ladder` are tried when a page does not come. A walk travels in the request that carries it, so that no
kill parts them; what it has become when it ends is a row of the ledger.
"""

from __future__ import annotations

import hashlib
import inspect
import json
import sys
from collections.abc import AsyncIterator, Iterator
from dataclasses import replace
from itertools import islice
from typing import TYPE_CHECKING, Any, Generic

from scrapy import Request

from crawlers.components.politeness import failures
from crawlers.components.scheduler import is_made
from crawlers.exceptions import AnswerError
from crawlers.listing import evidence, ladder
from crawlers.listing.answers import check_whole
from crawlers.listing.confirmation import Confirmation, GoneRecords
from crawlers.listing.crawl import callback, flat, remembering
from crawlers.listing.evidence import Ended, Taken, after, decide, judge
from crawlers.listing.walk import A, Entry, ListingPage, Walk, restored

if TYPE_CHECKING:
    from scrapy.http import Response
    from twisted.python.failure import Failure

    from crawlers.listing.crawl import Crawl, State, Walks
    from crawlers.listing.dialect import Dialect, Fault
    from crawlers.listing.withdrawals import Withdrawals

Allowed = tuple[Entry, int]
"""An entry, and how many of its resources the user's limits leave."""
_STEP = 100
"""Entries of a graph that are taken before other work goes on."""
_ONE_PAGE = (
    "nothing shows that these are all: it is one page that leads to no other"
    " (if there is no other page, say next = false in [paging])"
)


class Intake:
    """Decides which entries of a page are taken: those that are new and within the user's limits."""

    def __init__(self, crawl: Crawl, *, is_one_list: bool = True) -> None:
        self.crawl, self.is_one_list = crawl, is_one_list

    def left(self, walk: Walk[Any]) -> int:
        """Return how many more resources may be taken; 0 if no dataset may be taken either."""
        if not walk.has_records:
            return sys.maxsize
        if not self.is_one_list:  # the limits are the catalogue's, and its pages say what resources they have
            datasets, resources = self.crawl.records.expected, self.crawl.run_state.resources
            return self.crawl.limits.resources_left(datasets=datasets, resources=resources)
        return self.crawl.limits.resources_left(datasets=walk.earlier + walk.listed, resources=walk.resources)

    def take(self, entries: list[Entry], here: Walk[Any]) -> tuple[list[Allowed], Taken]:
        """Return the entries to take, each with the number of its resources that the limits leave; and their sum."""
        names = [repr(entry.record) if entry.id is None else entry.id for entry in entries]
        first = {entry.id: place for place, entry in reversed([*enumerate(entries)])}
        distinct = [entry for place, entry in enumerate(entries) if entry.id is None or first[entry.id] == place]
        if self.crawl.limits.is_set:
            taken = list(self._within_limits(distinct, here))
            seen = set() if self.is_one_list else self._seen(_ids(distinct), here)
        else:
            seen = self._seen(_ids(distinct), here)
            taken = [(entry, entry.resources) for entry in self._new(distinct, here, seen)]
        digest = hashlib.sha256("\n".join(names).encode("utf-8", "replace")).hexdigest()
        return taken, Taken(
            came=len(entries),
            new=len(taken),
            resources=sum(allowed for _, allowed in taken),
            digest=digest,
            is_cut=any(allowed < entry.resources for entry, allowed in taken),
            doubles=0 if self.is_one_list else len(seen - {entry.id for entry, _ in taken}),
        )

    def _within_limits(self, entries: list[Entry], here: Walk[Any]) -> Iterator[Allowed]:
        for entry in entries:
            left = self.left(here)
            if left <= 0 and not self._is_planned(entry):
                return
            if self.is_new(entry, here):
                allowed = min(left, entry.resources)
                yield entry, allowed
                here = replace(here, listed=here.listed + 1, resources=here.resources + allowed)

    def _is_planned(self, entry: Entry) -> bool:
        """Return whether a killed process expected the document, and may not have asked for it."""
        kind = self.crawl.listed_kind
        return not self.is_one_list and entry.id is not None and self.crawl.records.is_planned(kind, entry.id)

    def _seen(self, ids: list[str], here: Walk[Any]) -> set[str]:
        """Note what a page lists; return what no other page of its list had."""
        with remembering(self.crawl):
            return self.crawl.records.see_all(ids, here.name, here.key)

    def _new(self, entries: list[Entry], here: Walk[Any], seen: set[str]) -> Iterator[Entry]:
        """Yield the entries that no other page had; all are noted at once, but those that the ledger takes singly."""
        new = seen
        if here.has_records:
            with remembering(self.crawl):
                new = self.crawl.records.expect_all(self.crawl.listed_kind, _ids(entries), here.key)
        for entry in entries:
            if self.is_new(entry, here) if _is_taken_singly(entry) else entry.id in new:
                yield entry

    def is_new(self, entry: Entry, here: Walk[Any]) -> bool:
        """Note an entry; return whether no other page had it. One without an id is known by its content."""
        if entry.id is None:
            digest = hashlib.sha256(json.dumps(entry.record, sort_keys=True, default=str).encode()).hexdigest()
            return self.crawl.seen(f"sha256-{digest}", list_name=_nameless(here), listed_by=here.key)
        is_new = self.crawl.seen(entry.id, list_name=here.name, listed_by=here.key)
        return self.crawl.expect(self.crawl.listed_kind, entry.id, listed_by=here.key) if here.has_records else is_new


class Lister(Generic[A]):
    """Reads the lists of a catalogue, as its dialect says.

    The spider has it as an attribute: its callbacks are stored so.

    Args:
        crawl: what it lists for.
        dialect: what the kind says.
        withdrawals: what looks for the datasets that a whole listing lacks.
        gone: the questions about those, of a kind that can ask for one.
    """

    def __init__(
        self, crawl: Crawl, dialect: Dialect[A], withdrawals: Withdrawals, gone: Confirmation | None = None
    ) -> None:
        self.crawl, self.dialect, self.withdrawals, self.gone = crawl, dialect, withdrawals, gone
        self.intake = Intake(crawl, is_one_list=dialect.traits.is_one_list)

    @property
    def walks(self) -> Walks:
        return self.crawl.run_state.walks

    # Requests

    def begin(self, walk: Walk[A] | None = None) -> Iterator[Request]:
        """Note that a list has begun; yield its first request, which is dropped if it was made before."""
        walk = self.dialect.first() if walk is None else walk
        with remembering(self.crawl):
            self.walks.begin(walk.name, self.dialect.traits.tree)
        yield self.request(walk)

    def request(self, walk: Walk[A], *, is_retry: bool = False) -> Request:
        """Return the request of a walk.

        Args:
            is_retry: whether it stands for one that failed after all its retries: fewer are spent on it, and on those
                for the small pages behind it.
        """
        request = self.dialect.request(walk)
        is_small = walk.rows is not None and walk.most is not None and walk.rows < walk.most
        times = min(1, self.crawl.crawler.settings.getint("RETRY_TIMES"))
        few = {"max_retry_times": times} if is_retry or is_small or walk.skipped else {}
        meta = {**request.meta, "walk": walk.key} | few
        if walk.lap > 1 or walk.tried or not walk.has_records:  # what is new can't come from a cache
            request.headers.setdefault("Cache-Control", "no-cache")
        return request.replace(callback=self.answered, errback=self.failed, cb_kwargs={"walk": walk.plain()}, meta=meta)

    def onward(self, here: Walk[A], there: Walk[A], **options: bool) -> Request:
        """Return the request for what follows; the step tells it apart from all before it.

        The list goes on, unless what follows has been asked for: an answer that is read again after a kill may come
        behind the list's end.
        """
        request = self.request(replace(there, step=here.step + 1), **options)
        if not (self.crawl.records.job.resumed and is_made(request, self.crawl.crawler)):
            self.walks.go_on(there.name, self.dialect.traits.tree)
        return request

    # Answers

    async def answered(self, response: Response, walk: dict[str, Any]) -> AsyncIterator[Any]:
        """Read an answer; request what follows before its records are handled: none of those can end the listing."""
        here = restored(walk, self.dialect.asks)
        if not self.dialect.is_current(here):
            return
        if "cached" in response.flags:
            self.crawl.run_state.has_stale_answer = True
        try:
            check_whole(response)
            found = self.dialect.read(response, here)
            page = await found if inspect.isawaitable(found) else found
        except AnswerError as error:
            async for output in flat(self.missed(here, self.dialect.fault(error, response, here), response.request)):
                yield output
            return
        try:
            async for output in flat(self._listed(response, here, page)):
                yield output
        finally:
            if page.close:
                page.close()

    def _listed(self, response: Response, here: Walk[A], page: ListingPage[A]) -> Iterator[Any]:
        """Take a page's records; a graph is taken in steps, and what follows it is requested behind them."""
        sum_, standing, waiting = Taken(), here, iter(())
        is_list, entries = isinstance(page.entries, list), iter(page.entries)
        while part := list(islice(entries, None if is_list else _STEP)):
            taken, of_part = self.intake.take(part, standing)
            self.withdrawals.note_aliases({entry.id: entry.aliases for entry, _ in taken if entry.id})
            sum_ += of_part
            standing = replace(here, listed=here.listed + sum_.new, resources=here.resources + sum_.resources)
            waiting = self._items(response, taken, here)
            if not is_list:
                yield from waiting
                yield None  # other work has its turn
        if page.came is not None:
            sum_ = replace(sum_, came=page.came)
        yield from self.behind(here, page, sum_, response.request)
        yield from waiting

    @callback
    def failed(self, failure: Failure) -> Iterator[Any]:
        """Look for another way to what did not come."""
        request = failures.request(failure)
        here = restored(request.cb_kwargs["walk"], self.dialect.asks)
        if not self.dialect.is_current(here):
            return
        response = getattr(failure.value, "response", None)
        has_waited = response is not None and "Retry-After" in response.headers
        fault = replace(self.dialect.fault(failures.from_failure(failure), response, here), has_waited=has_waited)
        yield from self.missed(here, fault, request)

    def _items(self, response: Response, taken: list[Allowed], here: Walk[A]) -> Iterator[Any]:
        if not here.has_records:
            return
        if (outputs := self.dialect.together(response, taken, here)) is not None:
            yield from outputs
            return
        for position, (entry, allowed) in enumerate(taken):
            output = self.dialect.items(response, entry, allowed, here, position)
            yield from self.crawl.guarded(output, response, entry.record)

    # What follows

    def behind(self, here: Walk[A], page: ListingPage[A], taken: Taken, request: Request | None) -> Iterator[Any]:
        """Yield what follows a page that was read: the next one, another part or lap, another way; or judge the list.

        Args:
            here: the walk before the page.
        """
        page.came = taken.came
        if here.purpose == "count":
            yield from self.counted(here, page, request)
            return
        there = self._offered(after(here, page, taken, self.dialect.traits), page)
        self._note(there)
        yield from self._begin_offered(there, page)
        decision = decide(there, page, taken, self.dialect.traits)
        if self.intake.left(there) <= 0 if page.is_limited is None else page.is_limited:
            yield from self.stop(there, is_cut=taken.is_cut or not self._is_over(there, page, decision))
        elif page.fault is not None and not (taken.came and page.next is not None):
            fault = self.dialect.fault(page.fault, None, here)
            yield from self.missed(there, fault, request)
        elif self._is_too_long(here, there, page) and (
            parts := ladder.split(replace(there, ask=page.next or there.ask), self.dialect)
        ):
            yield self.onward(here, parts)
        else:
            if there.parts and not here.came and evidence.is_windowed(there, self.dialect.traits):
                there = replace(there, left="gives only a part of what it has: it can't be asked for less at once")
            if decision == "follow" and page.next is not None:
                self._note_size(here, page)
                yield self.onward(here, replace(there, ask=page.next))
            elif decision == "trap":
                most = self.dialect.traits.most_pages
                message = f"{self.dialect.called(there)} goes on beyond {most} pages: a calendar, a session id?"
                yield from self.short(there, AnswerError("trap", message), request)
            else:
                yield from self.end(there, page, request)

    def _is_over(self, walk: Walk[A], page: ListingPage[A], decision: str) -> bool:
        """Return whether nothing would follow a page, had the user no limit."""
        traits = self.dialect.traits
        is_stated = traits.way == "stated" and traits.total == "exact"  # its total is compared
        return (is_stated or page.next is None or decision == "end") and not walk.parts[1:]

    def _note_size(self, here: Walk[A], page: ListingPage[A]) -> None:
        """Note the length of a page that led on; a browser's page grows, and has led on once it was turned."""
        size = page.came if page.turns is None else here.largest if page.turns == 1 else 0
        self.crawl.run_state.page_size = max(self.crawl.run_state.page_size, size or 0)

    def _is_too_long(self, here: Walk[A], there: Walk[A], page: ListingPage[A]) -> bool:
        longest, is_first = self.dialect.traits.longest, not here.came
        is_long = page.next is not None and longest is not None and (there.total or 0) >= longest
        return is_first and (is_long or evidence.is_windowed(there, self.dialect.traits))

    def _offered(self, walk: Walk[A], page: ListingPage[A]) -> Walk[A]:
        """Return the walk with what a page offers and nobody follows, counted in the ledger."""
        left = [offer for offer in page.offers if offer.what == "left"]
        for offer in left:
            self.crawl.seen(offer.name, list_name="left", listed_by=walk.key)
        if (not left and not walk.left) or self.dialect.traits.tree:
            return walk
        count = self.crawl.records.count("left")
        others = f" (and {count - 1} more)" if count > 1 else ""
        first = walk.left.partition(" (and ")[0] or left[0].why_not
        return replace(walk, left=f"{first}{others}")

    def _begin_offered(self, walk: Walk[A], page: ListingPage[A]) -> Iterator[Request]:
        """Yield the first requests of the lists that a page leads to, unless they lead back, or too deep."""
        above = (walk.name,) if self.dialect.traits.tree else (*walk.above, walk.name)
        for offer in page.offers:
            if offer.what != "walk" or offer.ask is None or offer.name in above:
                continue
            if len(above) > self.dialect.traits.deepest:
                message = f"{offer.name} is another list, deeper than {self.dialect.traits.deepest}"
                self.crawl.failed("list", AnswerError("trap", message))
                continue
            yield from self.begin(Walk(ask=offer.ask, name=offer.name, above=above, rows=walk.most, most=walk.most))

    def _note(self, walk: Walk[A]) -> None:
        """Note how far a list is; one that has ended is judged, and an answer that is read again says less."""
        if walk.has_records and self.dialect.traits.is_one_list:
            if not self.walks.has_ended(walk.name):
                self.crawl.run_state.expected = self._expected(walk)
            self.crawl.run_state.count_listed(walk.listed)
        elif walk.has_records:
            self.crawl.run_state.count_listed(self.crawl.records.expected)

    def _expected(self, walk: Walk[A]) -> int | None:
        """Return how many datasets there should be; ``None`` if more came than a hint, or a window's number, says.

        Of a list that is read in parts, that is what the whole list said, unless more came.
        """
        traits, expected = self.dialect.traits, walk.expected
        if walk.parts and walk.stated is not None and walk.stated not in traits.windows:
            whole = max(walk.stated - walk.apart, 0)
            expected = whole if whole >= walk.listed else expected
        is_less = expected is not None and expected < walk.listed
        is_exact = traits.total == "exact" and evidence.is_trusted(walk, traits)
        return None if is_less and not is_exact else expected

    # What did not come

    def missed(self, here: Walk[A], fault: Fault, request: Request | None) -> Iterator[Any]:
        """Yield another request for what did not come; if nothing is left to try, end the list as it is.

        A way on that is refused once the total is met is the end.
        """
        there = ladder.climbed(here, fault, self.dialect)
        if there is None and here.purpose == "count" and not fault.is_of_host:
            yield from self.uncounted(replace(here, purpose="page"), request)
            return
        is_hint = self.dialect.traits.total == "hint"  # there may be more
        is_doubted = self.dialect.traits.way == "place" and not is_hint and here.is_capped  # so it was asked for
        is_refused = fault.is_of_question or fault.error.kind == "refused" or not is_doubted
        is_end = here.pages and is_refused and not fault.is_of_host
        if is_end and evidence.is_end(here, self.dialect.traits) and not (is_hint and there):
            yield from self.end(here, ListingPage(end="none"), request)
            return
        if there is None and (page := self.dialect.ending(fault, here)) is not None:
            if page.lost:
                self.crawl.failed("fetch", fault.error, request, http_status=fault.status)
            yield from self.end(replace(here, lost=here.lost + page.lost), page, request)
            return
        if there is not None:
            self.crawl.logger.info("%s: %s; listing it another way", self.crawl.place, fault.error)
            if self.crawl.records.job.resumed and there.came <= here.came:
                self.crawl.records.forget_open()  # what was listed before a kill and never handled comes again
            if there.lost > here.lost:
                message = f"{self.dialect.lacking.format(number=here.came + 1)}: {fault.error}"
                kind = fault.error.kind if fault.error.kind == "too_large" else "refused"
                subject = {"http_status": fault.status, "missing": "dataset"}
                self.crawl.failed("list", AnswerError(kind, message), request, **subject)
            elif there.gaps > here.gaps:
                reported = self.dialect.reported(fault, here)
                self.crawl.failed("list", reported.error, request, http_status=reported.status)
            yield self.onward(here, there, is_retry=there.rows != here.rows)
            return
        reported = self.dialect.reported(fault, here)
        yield from self.short(here, reported.error, request, reported.status)

    # The end of a list

    def end(self, walk: Walk[A], page: ListingPage[A], request: Request | None) -> Iterator[Any]:
        """Yield the first request of the next part, of a further lap, or for the number; or judge the list."""
        if self.crawl.records.job.resumed:
            count = self.crawl.records.count  # requests that stood for one before a kill share what they list
            others = count(_nameless(walk)) if self.dialect.traits.is_one_list else -walk.apart
            walk = replace(walk, listed=max(count(walk.name) + others, 0))
            self._note(walk)
        if following := ladder.next_part(walk, self.dialect):
            yield self.onward(walk, replace(following, gaps=following.gaps + self._is_torn(walk, page, request)))
            return
        is_doubtful = walk.purpose == "page" and self._is_doubtful(walk)
        if is_doubtful and walk.lap == 1 and not walk.has_moved and (ask := self.dialect.count(walk)) is not None:
            yield self.onward(walk, replace(walk, ask=ask, purpose="count"))
        else:
            yield from self.settled(walk, page, request)

    def _is_torn(self, walk: Walk[A], page: ListingPage[A], request: Request | None) -> bool:
        """Report a part of a list that did not come to its end; return whether that is so."""
        try:
            evidence.check_end(Ended(walk, page, self.dialect.traits, self.dialect.called(walk)))
        except AnswerError as error:
            self.crawl.failed("list", error, request)
            return True
        return False

    def settled(self, walk: Walk[A], page: ListingPage[A], request: Request | None) -> Iterator[Any]:
        """Yield what may find more where that is likely: what explains it, or a further look; or the verdict."""
        if self._is_doubtful(walk):
            if (explained := self.dialect.explained(walk)) is not None:
                yield from explained
                return
            if len(laps := self.dialect.laps(walk)) >= walk.lap:
                yield from self.lap(walk, laps[walk.lap - 1])
                return
        yield from self.judged(walk, page, request)

    def _is_doubtful(self, walk: Walk[A]) -> bool:
        """Return whether more may be found; where a part of the list did not come, which was reported, it is."""
        return not (walk.gaps and walk.parts) and self.dialect.is_doubtful(walk)

    def lap(self, walk: Walk[A], ask: A) -> Iterator[Request]:
        """Yield the request that begins a further look at the list; what is known is not taken again."""
        message, changed = "%s: %d of %s datasets were listed%s: listing again", ", and the list changed meanwhile"
        of = walk.listed, walk.expected, changed if walk.has_moved else ""
        self.crawl.logger.info(message, self.crawl.place, *of)
        yield self.onward(walk, ladder.lapped(walk, ask))

    def counted(self, here: Walk[A], page: ListingPage[A], request: Request | None) -> Iterator[Any]:
        """Yield what follows the number of records: a next question about it, the first page, or what it settles."""
        contradiction = here.contradiction if page.contradiction is None else page.contradiction
        total = here.total if page.total is None else page.total
        purpose = "count" if here.came and page.next is not None else page.purpose
        there = replace(here, total=total, contradiction=contradiction, purpose=purpose)
        if page.next is not None and (here.came or not here.listed):
            yield self.onward(here, replace(there, ask=page.next))
        else:
            yield from self.settled(there, page, request)

    def uncounted(self, walk: Walk[A], request: Request | None) -> Iterator[Any]:
        """Yield what follows where the number is not given: it is a hint, and the list is asked for all the same."""
        if walk.pages:
            yield from self.judged(walk, ListingPage(), request)
        else:
            ask = self.dialect.renewed(walk) or self.dialect.first().ask
            yield self.onward(walk, replace(walk, ask=ask, tried=()))

    def stop(self, walk: Walk[A], *, is_cut: bool = False) -> Iterator[Any]:
        """End a list at the user's limit, and note whether that leaves anything out."""
        state = self.crawl.run_state
        is_told = evidence.is_trusted(walk, self.dialect.traits) and not (walk.contradiction or walk.left)
        is_all = not is_cut and is_told and walk.listed == walk.expected
        state.is_limited = state.is_limited or not is_all
        self._close(walk, "stopped")
        yield from self.dialect.stopped(walk)
        yield from self.finish(walk)

    def short(
        self, walk: Walk[A], error: AnswerError, request: Request | None, status: int | None = None
    ) -> Iterator[Any]:
        """End a list that was not read to its end, and report why."""
        self._close(walk, "short")
        self.crawl.failed("list", error, request, http_status=status)
        is_open = False
        for output in self._begun(self.dialect.short(walk), walk):
            is_open = True
            yield output
        if not is_open:
            yield from self.finish(walk)

    def judged(self, walk: Walk[A], page: ListingPage[A], request: Request | None, *, absent: int = 0) -> Iterator[Any]:
        """Judge a list that has ended by what was seen of it; of one with gaps, only a total can show that.

        Args:
            absent: how many datasets the catalogue counts and does not have, as it says of each.
        """
        state: State = "short"
        shown = ""
        if page.end == "closed" and not (walk.left or walk.gaps):  # what it leads to is judged
            state = "stopped"
        elif walk.left or not walk.gaps or (walk.total is not None and not walk.parts):
            try:
                shown = judge(Ended(walk, page, self.dialect.traits, self.dialect.called(walk), absent))
                state = "whole"
            except AnswerError as error:
                if error.kind != "unproven" or not self._is_single(walk, page):
                    yield from self.short(walk, error, request)
                    return
                state = "single"
        self._close(walk, state, shown)
        if state == "whole" and walk.has_records and self.dialect.traits.is_one_list:
            expected = self._expected(walk)
            self.crawl.run_state.expected = walk.listed if expected is None else max(expected - absent, 0)
        elif state == "whole" and walk.name == self.dialect.traits.tree:
            self.crawl.run_state.expected = walk.listed + self.walks.lacking
        yield from self.finish(walk)

    def _is_single(self, walk: Walk[A], page: ListingPage[A]) -> bool:
        """Return whether a list is one page that shows nothing by itself; the others may show how long a page is.

        One that a browser could not turn is one, too.
        """
        is_last, is_by_browser = self.dialect.traits.judges_single_pages_last, page.turns is not None
        is_one = walk.came == (page.came or 0) or (is_by_browser and not walk.turned)
        return is_last and is_one and page.next is None and not walk.left

    def _judge_single_pages(self) -> None:
        """Judge the lists of one page: one is whole if it is shorter than a page that led on."""
        for name, length, listed in self.walks.singles():
            if length < self.crawl.run_state.page_size:
                self.walks.end(name, "whole", evidence=self.dialect.traits.ends_by, listed=listed)
            else:
                self.walks.end(name, "short", listed=listed)
                message = f"{name} listed {listed} datasets, and {_ONE_PAGE}"
                self.crawl.failed("list", AnswerError("unproven", message), Request(name) if "://" in name else None)

    def _judge_tree(self) -> Iterator[Any]:
        """Judge the files of a tree: whether each was read, and nothing that they name is left."""
        state, first = self.crawl.run_state, self.dialect.first()
        whole = replace(first, name=self.dialect.traits.tree, listed=state.listed, gaps=int(self.walks.is_short))
        for left in self.crawl.records.behind("", "left", 1):
            message = f"names {self.crawl.records.count('left')} addresses that were not followed, such as {left[:300]}"
            whole = replace(whole, left=f"{message}: they lie outside of it, or may lead to more")
        if state.is_limited:
            self._close(whole, "stopped")
        else:
            yield from self.judged(whole, ListingPage(), self.dialect.request(first))

    def _close(self, walk: Walk[A], state: State, shown: str = "") -> None:
        total = walk.largest if state == "single" else walk.expected
        total = walk.listed + walk.lost if total is None and walk.lost else total
        with remembering(self.crawl):
            self.walks.end(walk.name, state, evidence=shown, total=total, listed=walk.listed)

    def finish(self, walk: Walk[A]) -> Iterator[Any]:
        """Yield what there is to do once all lists have ended and were whole: look for what is gone."""
        is_limited = self.crawl.run_state.is_limited
        if self._is_going_on(walk):
            return
        if not is_limited and (outputs := self.dialect.ended(walk)) is not None:
            yield from self._begun(outputs, walk)
            return
        if self.walks.is_open(self.dialect.traits.tree):
            yield from self._judge_tree()
            return
        if is_limited:
            return
        self._judge_single_pages()
        if self.walks.is_short:
            return
        output = self.dialect.whole(walk)
        yield from self.find_gone() if output is None else output

    def _is_going_on(self, walk: Walk[A]) -> bool:
        """Return whether a list is open, besides what the end of this walk began before a kill."""
        records = self.crawl.records
        waiting = self.walks.waiting(self.dialect.traits.tree)
        return any(records.listed_by(name, "begun") != walk.name for name in waiting)

    def _begun(self, outputs: Iterator[Any], walk: Walk[A]) -> Iterator[Any]:
        """Yield what there is to do at the end of a walk; another walk among it is begun."""
        for output in outputs:
            if isinstance(output, Walk):
                self.note_begun(output.name, walk)
                yield from self.begin(output)
            else:
                yield output

    def note_begun(self, name: str, walk: Walk[A]) -> None:
        """Note which walk's end begins a list: if that is read again after a kill, the list is no other's."""
        self.crawl.seen(name, list_name="begun", listed_by=walk.name)

    def find_gone(self) -> Iterator[Any]:
        """Look for the datasets on disk that the whole listing lacks."""
        if isinstance(self.gone, GoneRecords):
            return self.gone.find()
        self.withdrawals.mark_missing()
        return iter(())


def _is_taken_singly(entry: Entry) -> bool:
    """Return whether the ledger takes an entry by itself: it has no id, or one with NUL, which ends SQLite's JSON."""
    return entry.id is None or "\0" in entry.id


def _ids(entries: list[Entry]) -> list[str]:
    return [str(entry.id) for entry in entries if not _is_taken_singly(entry)]


def _nameless(walk: Walk[Any]) -> str:
    """Return the name of the records of a list that have no id."""
    return "nameless" if walk.name == "datasets" else f"nameless of {walk.name}"
