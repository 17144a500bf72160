"""Lists the records of a declared API, page after page, until the API's own signals say that these were all."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from scrapy import Request

from crawlers.exceptions import AnswerError
from crawlers.kinds.api import twins
from crawlers.kinds.api.answers import choice, collections
from crawlers.kinds.api.page import Found, PageReader
from crawlers.kinds.api.position import Position
from crawlers.kinds.api.recovery import Recovery, from_failure
from crawlers.kinds.api.walks import Walks, shifted
from crawlers.listing.paging import WINDOWS, Entry, Page, PagedListing
from crawlers.politeness import failures

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from scrapy.http import Response
    from twisted.python.failure import Failure

    from crawlers.kinds.api.query import Query
    from crawlers.kinds.api.withdrawals import GoneAPI
    from crawlers.listing.completeness import Completeness
    from crawlers.listing.crawl import Crawl
    from crawlers.listing.withdrawals import Withdrawals


class APIListing(PagedListing[Position]):
    """The pages of a declared listing.

    Args:
        document: returns the JSON of an answer.
        since: returns the moment after which changes are requested; empty if everything is listed.
        take: yields what a record leads to, with as many resources as the user's limit leaves; ``None``: all.
    """

    cursor = Position

    def __init__(
        self,
        crawl: Crawl,
        withdrawals: Withdrawals,
        completeness: Completeness,
        gone: GoneAPI,
        *,
        query: Query,
        document: Callable[[Response], Any],
        since: Callable[[], str],
        take: Callable[[Response, Any, int | None], Iterator[Any]],
    ) -> None:
        super().__init__(crawl, withdrawals, completeness, gone)
        self.query, self.document, self.since, self.take = query, document, since, take
        self.declaration, self.declared = query.declaration, query.listing
        window = self.declared.window
        self.windows = WINDOWS | {window.max} if window else WINDOWS
        self.walks = Walks(query, self.windows, since, self.subject)
        self.recovery = Recovery(crawl, query, self.walks)
        self.reader = PageReader(crawl, query, self.walks.restart)

    def request(self, cursor: Position) -> Request:
        request = self.query.request(
            cursor,
            self.since(),
            callback=self.parse_page,
            errback=self.page_failed,
            cb_kwargs={"cursor": cursor.plain()},
            meta={"spool": True} if self.declared.paging.kind == "none" else {},
            dont_filter=cursor.round > 0 or cursor.tries > 0,
        )
        if cursor.size or cursor.tries:
            request.meta["max_retry_times"] = 1  # it stands for a request that failed after all its retries
        if self.since() or cursor.walk == "recent":
            request.headers["Cache-Control"] = "no-cache"
        if cursor.xsrf:
            request.headers.update({"X-XSRF-TOKEN": cursor.xsrf, "Cookie": f"XSRF-TOKEN={cursor.xsrf}"})
        return request

    def read(self, response: Response, here: Position) -> Page[Position]:
        page = self.reader.page(response, self.document(response), here)
        twins.report(self.crawl, page.entries, response.request)
        if self.declared.total and page.total is None and here.pages == 0:
            message = "%s: list.total (%s) finds no number of records in the first page"
            self.crawl.logger.warning(message, self.query.portal, self.declared.total.text)
        return page

    # Between two pages

    def parse_page(self, response: Response, cursor: dict[str, Any]) -> Iterator[Any]:
        if cursor["round"] and response.request:
            self.crawl.records.request_names.mark(response.request, f"walk {cursor['round']}")
        yield from super().parse_page(response, cursor)

    def after(self, here: Position, page: Page[Position], taken: list[tuple[Entry, int]]) -> Position:
        found: Found = page.answer
        counted = page.total if here.walk == "all" and page.total is not None else here.counted
        passed = here.passed + found.passed
        is_news = bool(taken or found.passed)
        after = replace(
            here,
            pages=here.pages + 1,
            listed=here.listed + len(taken),
            resources=here.resources + sum(allowed for _, allowed in taken),
            expected=None if counted is None else max(counted - passed, 0),
            stale=0 if is_news else here.stale + 1,
            received=here.received + found.count,
            at=found.at,
            digest=found.digest,
            counted=counted,
            total=here.total if page.total is None else page.total,
            passed=passed,
            has_changed=here.has_changed or (here.counted is not None and counted != here.counted),
            has_shrunk=here.has_shrunk or (counted is not None and counted < (here.counted or 0)),
            shift=shifted(here, page, taken, self.declared),
            last=found.last or here.last,
            skipped=0,
            tries=0,
        )
        return self.recovery.enlarged(here, self.walks.stamped(after, found))

    def following(self, here: Position, after: Position, page: Page[Position]) -> Position | None:
        if after.at is None or self.walks.is_reached(after, page) or self.walks.is_at_window(after):
            return None
        return None if self.is_repeated(here, after) else after

    def is_repeated(self, here: Position, after: Position) -> bool:
        """Return whether the portal gives the same page again, or pages without anything new."""
        is_same_page = bool(after.digest) and after.digest == here.digest
        is_same_place = self.declared.paging.kind not in ("offset", "page") and after.at == here.at
        return is_same_page or is_same_place or after.stale > after.patience

    def end(self, request: Request | None, after: Position, page: Page[Position]) -> Iterator[Any]:
        """Begin the walk that follows, or judge the list if there is none."""
        after = self.walks.settled(after, page)
        try:
            if page.answer.broken:
                raise page.answer.broken
            self.check(after, page)
            following = self.walks.following(after, page)
            ending = None if following else self.walks.ending(after, page, page.answer.left)
        except AnswerError as error:
            self.completeness.end(after.name)
            self.crawl.failed("list", error, request)
            return
        if following:
            yield self.request(following)
        elif ending and self.completeness.conclude(after.name, ending, request):
            self.crawl.run_state.expected = after.listed if ending.total is None else ending.total
            yield from self.complete(after)

    def check(self, after: Position, page: Page[Position]) -> None:
        """
        Raises:
            AnswerError: the walk ended because pages are repeated.
        """
        if after.at is None or self.walks.is_reached(after, page) or self.walks.is_at_window(after):
            return
        if self.walks.is_met(after):
            return
        total = "" if after.expected is None else f" of {after.expected}"
        param = self.declared.paging.param
        ignored = f": it may ignore the parameter {param}" if param and after.pages < 3 else ""
        message = f"{self.subject} gives the same pages again after {after.listed}{total} datasets{ignored}"
        raise AnswerError("paging", message)

    # Pages that don't come

    def page_failed(self, failure: Failure) -> Iterator[Any]:
        request = failures.request(failure)
        here = self.cursor(**request.cb_kwargs["cursor"])
        yield from self.refused(request, here, from_failure(failure, self.declared), failures.status(failure), failure)

    def refused(
        self, request: Request | None, here: Position, error: AnswerError, status: int | None, failure: Any = None
    ) -> Iterator[Any]:
        """Try what may still help; else end the list and report why the page did not come."""
        if self.recovery.is_behind_end(here, status):
            empty: Page[Position] = Page([], here.total, is_short=True, answer=Found(0))
            yield from self.end(request, replace(here, at=None), empty)
            return
        other = self.recovery.instead(request, here, error, status, failure)
        if other is not None:
            self.crawl.logger.info("%s: %s; listing it another way", self.query.portal, error)
            yield self.request(other)
        elif status == 404 and not here.pages and self.declaration.recognise.collections:
            yield self.collections(here, error)
        else:
            yield from super().refused(request, here, error, status)

    def collections(self, here: Position, error: AnswerError) -> Request:
        """Return the request for the collections of a server whose root may have been given for one of them."""
        keywords = {"cursor": here.plain(), "kind": error.kind, "message": str(error)}
        address = f"{self.query.portal}/collections?f=json"
        headers = self.query.headers()
        return Request(
            address, self.parse_collections, errback=self.no_collections, headers=headers, cb_kwargs=keywords
        )

    def parse_collections(self, response: Response, cursor: dict[str, Any], kind: str, message: str) -> Iterator[Any]:
        """Report which collections there are."""
        error = AnswerError(kind, message)
        with suppress(AnswerError):
            found = collections(self.document(response), self.declaration, self.query.portal)
            if found:
                error = AnswerError("refused", choice(found, self.declaration))
        yield from super().refused(response.request, self.cursor(**cursor), error, 404)

    def no_collections(self, failure: Failure) -> Iterator[Any]:
        request = failures.request(failure)
        here, error = self.cursor(**request.cb_kwargs["cursor"]), request.cb_kwargs
        yield from super().refused(request, here, AnswerError(error["kind"], error["message"]), 404)

    # Records

    def items(self, response: Response, entry: Entry, allowed: int, here: Position, position: int) -> Iterator[Any]:
        number = here.received + position + 1
        if not isinstance(entry.record, dict):
            message = f"record {number} of the listing is not an object but {type(entry.record).__name__}"
            self.crawl.failed("list", AnswerError("invalid_record", f"{message}, so it is not kept"), response.request)
        elif entry.id is None:
            message = f"record {number} of the listing {entry.reading.missing_id}"
            self.crawl.failed("list", AnswerError("missing_id", f"{message}, so it is not kept"), response.request)
        else:
            is_cut = allowed < entry.resources
            yield from self.take(response, entry.reading, allowed if is_cut else None)

    def complete(self, after: Position) -> Iterator[Any]:
        if not after.lost:
            yield from super().complete(after)
