"""A listing in pages: one request per page, each record taken once, limits kept, and the end judged by evidence."""

from __future__ import annotations

import hashlib
import json
import sys
from abc import ABC, abstractmethod
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar, Generic, NamedTuple, TypeVar

from crawlers.exceptions import AnswerError
from crawlers.listing.completeness import Ending
from crawlers.listing.confirmation import GoneRecords
from crawlers.listing.crawl import remembering
from crawlers.politeness import failures
from crawlers.resume.records import expect_all, see_all

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence

    from scrapy import Request
    from scrapy.http import Response
    from twisted.python.failure import Failure

    from crawlers.listing.completeness import Completeness
    from crawlers.listing.confirmation import Confirmation
    from crawlers.listing.crawl import Crawl
    from crawlers.listing.withdrawals import Withdrawals

WINDOWS = frozenset((10_000, 15_000, 50_000))
"""Where search servers stop: Elasticsearch and Solr at 10,000, some GeoNetworks at 15,000, Virtuoso at 50,000.

A total that is one of these means "at least".
"""
PATIENCE = 2
"""Pages in a row without a new dataset, before a listing is taken for a loop."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Cursor:
    """Where a listing stands: plain data, so that the request that carries it can be stored; a protocol adds its own.

    Args:
        pages: how many pages have come.
        listed: how many datasets on them were new.
        resources: how many resources those have.
        expected: how many datasets there are, as far as is known.
        stale: how many pages in a row had nothing new.
    """

    pages: int = 0
    listed: int = 0
    resources: int = 0
    expected: int | None = None
    stale: int = 0

    @property
    def name(self) -> str:
        """The name of the list."""
        return "datasets"

    @property
    def has_records(self) -> bool:
        """Whether the list gives whole records, which count as listed; else it gives ids."""
        return True

    def plain(self) -> dict[str, Any]:
        return asdict(self)


C = TypeVar("C", bound=Cursor)


class Entry(NamedTuple):
    """A record as a page lists it.

    Args:
        id: ``None`` if it has none that can be requested.
        record: what the portal says of it.
        resources: how many resources it lists.
        reading: the record as the protocol reads it, if that is something else.
        aliases: other ids of the dataset; one may be its id of before.
    """

    id: str | None
    record: Any
    resources: int = 0
    reading: Any = None
    aliases: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class Page(Generic[C]):
    """What an answer of a listing holds.

    Args:
        entries: its records.
        total: how many datasets the catalogue says it has.
        following: where the next page begins; ``None`` if there is none.
        is_short: whether it is empty, or shorter than was requested.
        answer: what else the protocol's own `PagedListing.after`, `following` and `end` want to know of it.
    """

    entries: list[Entry]
    total: int | None = None
    following: C | None = None
    is_short: bool = False
    answer: Any = None


class Intake:
    """Decides which entries of a page are taken: those that are new and within the user's limits."""

    def __init__(self, crawl: Crawl) -> None:
        self.crawl = crawl

    def left(self, here: Cursor) -> int:
        """Return how many more resources may be taken; 0 if no dataset may be taken either."""
        if not here.has_records:
            return sys.maxsize
        return self.crawl.limits.resources_left(datasets=here.listed, resources=here.resources)

    def take(self, entries: list[Entry], here: Cursor, request: Request | None) -> list[tuple[Entry, int]]:
        """Return the entries to take, each with the number of its resources that the limits leave."""
        if not self.crawl.limits.is_set:
            return [(entry, entry.resources) for entry in self._new(entries, here, request)]
        taken: list[tuple[Entry, int]] = []
        left = self.left(here)
        for entry in entries:
            if left <= 0:
                break
            if self.is_new(entry, here, request):
                allowed = min(left, entry.resources)
                taken.append((entry, allowed))
                here = replace(here, listed=here.listed + 1, resources=here.resources + allowed)
                left = self.left(here)
        return taken

    def _new(self, entries: list[Entry], here: Cursor, request: Request | None) -> Iterator[Entry]:
        """Yield the entries that no other page had, each once; all are noted at once."""
        ids = [entry.id for entry in entries if entry.id is not None and "\0" not in entry.id]
        by = self.crawl.records.request_names.get(request)
        with remembering(self.crawl):
            new = see_all(self.crawl.records, ids, here.name, by)
            if here.has_records:
                new = expect_all(self.crawl.records, self.crawl.listed_kind, ids, by)
        for entry in entries:
            if entry.id in new:
                new.remove(entry.id)
                yield entry
            elif (entry.id is None or "\0" in entry.id) and self.is_new(entry, here, request):
                yield entry

    def is_new(self, entry: Entry, here: Cursor, request: Request | None) -> bool:
        """Note an entry; return whether no other page had it. One without an id is known by its content."""
        if entry.id is None:
            digest = hashlib.sha256(json.dumps(entry.record, sort_keys=True).encode()).hexdigest()
            return self.crawl.seen(f"sha256-{digest}", list_name="nameless", listed_by=request)
        is_new = self.crawl.seen(entry.id, list_name=here.name, listed_by=request)
        return self.crawl.expect(self.crawl.listed_kind, entry.id, listed_by=request) if here.has_records else is_new


class PagedListing(ABC, Generic[C]):
    """The listing of a catalogue whose answers are pages of records.

    A protocol says how a page is requested (`request`), what an answer holds (`read`) and what a record leads
    to (`items`). The spider has the listing as an attribute, and starts it with `begin`.

    Attributes:
        cursor: the protocol's own `Cursor`.
        subject: what the sentences of an error line call the catalogue.
        windows: the totals that mean "at least".
    """

    cursor: type[C]
    subject: ClassVar[str] = "the catalogue"
    windows: Collection[int] = WINDOWS

    spider: Any
    """The crawl, by the name that kinds still know it by."""

    def __init__(
        self, crawl: Crawl, withdrawals: Withdrawals, completeness: Completeness, gone: Confirmation | None = None
    ) -> None:
        """
        Args:
            gone: asks about what a whole listing lacks; ``None`` if the kind can't ask for one dataset.
        """
        self.crawl = self.spider = crawl
        self.withdrawals, self.completeness, self.gone = withdrawals, completeness, gone
        self.intake = Intake(crawl)

    @abstractmethod
    def request(self, cursor: C) -> Request:
        """Return the request for a page, with `parse_page` and `page_failed`, and the plain cursor in its keywords."""

    @abstractmethod
    def read(self, response: Response, here: C) -> Page[C]:
        """Return what an answer holds.

        Raises:
            AnswerError: it is not a page of the listing.
        """

    @abstractmethod
    def items(self, response: Response, entry: Entry, allowed: int, here: C, position: int) -> Iterator[Any]:
        """Yield a record's item, and the requests for what else is wanted of it.

        Args:
            allowed: how many of its resources the user's limit leaves.
            position: its place among those taken from its page.
        """

    def begin(self, cursor: C) -> Request:
        """Note that the list has begun; return the request for its first page."""
        self.completeness.begin(cursor.name)
        return self.request(cursor)

    def parse_page(self, response: Response, cursor: dict[str, Any]) -> Iterator[Any]:
        here = self.cursor(**cursor)
        try:
            page = self.read(response, here)
        except AnswerError as error:
            yield from self.refused(response.request, here, error, response.status)
            return
        yield from self.list_page(response, here, page)

    def page_failed(self, failure: Failure) -> Iterator[Any]:
        request = failures.request(failure)
        here, error = self.cursor(**request.cb_kwargs["cursor"]), failures.from_failure(failure)
        yield from self.refused(request, here, error, failures.status(failure))

    def refused(self, request: Request | None, here: C, error: AnswerError, status: int | None) -> Iterator[Any]:
        """End the list at a page that did not come, and report it."""
        self.completeness.end(here.name)
        self.crawl.failed("list", error, request, http_status=status)
        yield from ()

    def list_page(self, response: Response, here: C, page: Page[C]) -> Iterator[Any]:
        """Request the next page before this one's records are handled: none of those can end the listing."""
        state = self.crawl.run_state
        taken = self.intake.take(page.entries, here, response.request)
        self.withdrawals.note_aliases({entry.id: entry.aliases for entry, _ in taken if entry.id})
        after = self.after(here, page, taken)
        if "cached" in response.flags:
            state.has_stale_answer = True
        if here.has_records:
            state.expected = after.expected
            state.count_listed(after.listed)
        if self.intake.left(after) <= 0:
            self.stop(after, taken)
        elif following := self.following(here, after, page):
            yield self.request(following)
        else:
            yield from self.end(response.request, after, page)
        for position, (entry, allowed) in enumerate(taken if here.has_records else []):
            output = self.items(response, entry, allowed, here, position)
            yield from self.crawl.guarded(output, response, entry.record)

    def after(self, here: C, page: Page[C], taken: list[tuple[Entry, int]]) -> C:
        """Return the cursor behind a page."""
        return replace(
            page.following or here,
            pages=here.pages + 1,
            listed=here.listed + len(taken),
            resources=here.resources + sum(allowed for _, allowed in taken),
            expected=here.expected if page.total is None else page.total,
            stale=0 if taken else here.stale + 1,
        )

    def following(self, here: C, after: C, page: Page[C]) -> C | None:  # noqa: ARG002
        """Return the cursor of the next page to request; ``None`` if the list ends here."""
        return after if page.following is not None and after.stale < PATIENCE else None

    def stop(self, after: C, taken: list[tuple[Entry, int]]) -> None:
        """End the list at the user's limit, and note whether that leaves anything out."""
        self.completeness.end(after.name)
        is_cut = any(allowed < entry.resources for entry, allowed in taken[-1:])
        if is_cut or after.expected is None or after.listed < after.expected:
            self.crawl.run_state.is_limited = True

    def end(self, request: Request | None, after: C, page: Page[C]) -> Iterator[Any]:
        """Judge the list by its end; yield what follows if it was whole."""
        is_at_least = after.expected in self.windows
        is_total_reached = after.expected is not None and not is_at_least and after.listed >= after.expected
        if page.following is not None and not is_total_reached:  # it was not followed, for nothing new came
            total = "" if after.expected is None else f" of {after.expected}"
            message = f"{self.subject} gives the same pages again after {after.listed}{total} datasets"
            self.completeness.end(after.name)
            self.crawl.failed("list", AnswerError("paging", message), request)
            return
        ending = Ending(
            listed=after.listed,
            subject=self.subject,
            total=after.expected,
            is_at_least=is_at_least,
            is_one_file=after.pages == 1,
            has_pager_ended=after.pages > 1,
            is_last_page_short=page.is_short,
        )
        if self.completeness.conclude(after.name, ending, request):
            self.crawl.run_state.expected = after.listed if after.expected is None else after.expected
            yield from self.complete(after)

    def complete(self, after: C) -> Iterator[Any]:  # noqa: ARG002
        """Yield what there is to do when everything the catalogue has was listed: by default, look for what is gone."""
        if isinstance(self.gone, GoneRecords):
            yield from self.gone.find()
        else:
            self.withdrawals.mark_missing()
