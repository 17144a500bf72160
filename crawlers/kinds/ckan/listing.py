"""Lists a CKAN portal's datasets, each once, without missing any."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Protocol
from urllib.parse import parse_qs, urlsplit

from crawlers.exceptions import AnswerError
from crawlers.items import Dataset, Export, Profile
from crawlers.kinds.ckan import api
from crawlers.kinds.ckan.cursor import Cursor, Page, fits, identity, resources
from crawlers.kinds.ckan.recovery import Refusal, another
from crawlers.listing import paging
from crawlers.listing.completeness import Ending
from crawlers.listing.paging import Entry, PagedListing
from crawlers.politeness import failures

if TYPE_CHECKING:
    from scrapy import Request
    from scrapy.http import Response
    from twisted.python.failure import Failure

    from crawlers.kinds.ckan.api import API
    from crawlers.listing.spider import CatalogueSpider

    Found = Dataset | Export | Profile | Request
    Output = Iterator[Found | AsyncIterator[Found]]
    Take = Callable[[Response, Any, int, int, int], Output]
    """Yields what a record leads to: see `CKANSpider.parse_record`."""


_NO_CKAN = (
    "CKAN's package_search is not there. DKAN 1, which has some of CKAN's actions, is listed with "
    "scrapy crawl api -a kind=dkan1 -a portal=; what else may be there, scrapy sources add NAME URL finds out"
)


class Packages(Protocol):
    """Whose packages are listed."""

    @property
    def api(self) -> API: ...
    @property
    def incremental(self) -> Incremental | None: ...
    @property
    def ghosts(self) -> Explaining | None: ...
    def parse_page(self, response: Response, cursor: dict[str, Any]) -> AsyncIterator[Found]: ...
    def parse_record(self, response: Response, record: Any, allowed: int, variant: int, position: int) -> Output: ...
    def list_complete(self, after: Cursor) -> AsyncIterator[Found]: ...


class Incremental(Protocol):
    """What ``since=`` lists."""

    def instead(self, response: Response, here: Cursor, page: Page) -> Request | None: ...
    def otherwise(self, here: Cursor, refusal: Refusal) -> Cursor | None: ...


class Explaining(Protocol):
    """Says what a list of all ids has and a list of records lacks."""

    def explain(self, after: Cursor) -> Iterator[Any]: ...


class CKANListing(PagedListing[Cursor]):
    """The pages of package_search, with what helps when a portal refuses, miscounts or repeats them."""

    cursor = Cursor
    subject = "the portal"

    def __init__(self, spider: CatalogueSpider, packages: Packages) -> None:
        super().__init__(spider, spider.withdrawals, spider.completeness)
        self.packages = packages
        self.first_refusal: Refusal | None = None

    def rows(self, listed: int = 0) -> int:
        """Return how many datasets to request when `listed` are listed: no more than the user wants."""
        rows: int = self.spider.limits.rows(self.spider.args["rows"], listed)
        return rows

    def request(self, cursor: Cursor, *, is_retry: bool = False) -> Request:
        """Return the request for a page.

        Args:
            is_retry: whether it stands for a request that failed after all its retries: fewer are spent on it.
        """
        request = self.packages.api.variants[cursor.variant].request(
            "package_search",
            cursor.parameters(self.packages.api.query),
            callback=self.packages.parse_page,
            errback=self.page_failed,
            cb_kwargs={"cursor": cursor.plain()},
            meta={"max_retry_times": 1} if is_retry else {},
        )
        if cursor.since or cursor.ids or cursor.counting:  # what is new can't come from a cache
            request.headers["Cache-Control"] = "no-cache"
        return request

    def read(self, response: Response, here: Cursor) -> paging.Page[Cursor]:
        page = Page.read(response)
        if _is_redirected(response) and not _is_answer_to(response, self.request(here)):
            raise AnswerError("refused", f"the portal redirected to another question, {response.url[:300]}")
        entries = [Entry(identity(record), record, resources(record)) for record in page.alive]
        return paging.Page(entries, page.total(here), answer=page)

    def items(self, response: Response, entry: Entry, allowed: int, here: Cursor, position: int) -> Output:
        return self.packages.parse_record(response, entry.record, allowed, here.variant, position)

    def parse_page(self, response: Response, cursor: dict[str, Any]) -> Output:
        here = Cursor(**cursor)
        try:
            found = self.read(response, here)
        except AnswerError as error:
            yield from self.not_listed(response.request, here, Refusal.from_answer(error, response))
            return
        page: Page = found.answer
        if here.counting:
            yield from self.counted(response, here, page)
        elif here.skipping:
            yield from self.skip(response, here, page)
        elif here.is_by_id and not page.follows(here.last):
            self.spider.logger.info("%s does not page by id: continuing by offset", self.packages.api.portal)
            yield self.request(here.by_offset())
        elif here.instead_of and page.is_whole:
            yield self.listed_again(here)
        elif (
            not here.instead_of
            and self.packages.incremental
            and (other := self.packages.incremental.instead(response, here, page))
        ):
            yield other
        else:
            yield from self.list_page(response, here, found)

    def instead(self, response: Response, here: Cursor, page: Page) -> Request | None:
        """Return the request for another list if this one can't say what has changed."""
        incremental = self.packages.incremental
        return incremental.instead(response, here, page) if incremental and not here.instead_of else None

    def after(self, here: Cursor, page: paging.Page[Cursor], taken: list[tuple[Entry, int]]) -> Cursor:
        return here.after(
            page.answer,
            listed=len(taken),
            resources=sum(allowed for _, allowed in taken),
            apart=self.count_apart(here, page.answer),
        )

    def count_apart(self, here: Cursor, page: Page) -> int:
        """Return how many datasets of a page are not there, and were on no page before."""
        ids = [name for record in page.records if not api.is_there(record) and (name := identity(record))]
        by = f"{here.second} {here.received}"
        return sum(self.spider.seen(each, list_name="not there", listed_by=by) for each in ids)

    def following(self, here: Cursor, after: Cursor, page: paging.Page[Cursor]) -> Cursor | None:
        if page.answer.is_last(here) or after.loops:
            return None
        rows = self.rows(0 if here.ids else after.listed)
        return replace(after, rows=min(rows, here.rows * 10))

    def end(self, request: Request | None, after: Cursor, page: Any = None) -> Output:  # noqa: ARG002
        """Request the count if too few were listed, or none, or if pages count differently; else judge the list."""
        if after.instead_of and self.packages.ghosts:
            yield from self.packages.ghosts.explain(after)
            return
        nothing = after.promised == 0 and not self.packages.api.query.filtered and not after.since
        if (after.short() or nothing or after.is_doubtful) and not after.second and not after.loops:
            yield self.request(replace(after, counting=True, skipping=None))
        else:
            yield from self.judge(request, after)

    def counted(self, response: Response, here: Cursor, page: Page) -> Output:
        count = page.count if page.count is not None else here.promised or 0  # no answer changes no promise
        if here.behind_all:  # this count shows only whether it is one question; the other one was asked just before
            count, here = here.promised or 0, replace(here, behind_all=False)
            if not fits(count, page.count):
                message = f"the portal counts {count} datasets, and {page.count} behind an id"
                error = AnswerError("count_mismatch", f"{message}: it answers two questions, and neither list is whole")
                self.completeness.end(here.name)
                self.spider.failed("list", error, response.request)
                return
        elif here.is_doubtful and here.is_by_id:
            yield self.request(replace(here, promised=count, behind_all=True))
            return
        if count > here.listed + here.apart and (here.start is None or self.packages.ghosts):
            message = "%s has %d datasets and listed %d: looking for the others"
            self.spider.logger.info(message, self.packages.api.portal, count - here.apart, here.listed)
            yield self.request(here.of_all_ids(count) if self.packages.ghosts else here.restarted(count))
        else:
            yield from self.judge(response.request, replace(here, expected=count - here.apart))

    def listed_again(self, here: Cursor) -> Request:
        """Return the request that lists all records again, by offset, where a list of ids does not help."""
        short = Cursor(**(here.instead_of or {}))
        self.spider.logger.info("%s: listing again, by offset", self.packages.api.portal)
        return self.request(short.restarted((short.expected or 0) + short.apart))

    def judge(self, request: Request | None, after: Cursor) -> Output:
        """Decide whether the list was whole; yield what follows, or report why it was not."""
        expected, message = after.expected, ""
        if after.loops:
            message = f"the portal gives the same pages again after {after.listed} of {expected} datasets"
        elif expected is not None and after.listed >= expected and after.shifted:
            message = "the catalogue changed while it was paged by offset: some may be missing"
        if not after.ids:
            self.spider.run_state.expected = expected
        if message:
            self.completeness.end(after.name)
            self.spider.failed("list", AnswerError("paging", message), request)
            return
        ending = Ending(
            subject=self.subject, listed=after.listed, total=expected, absent=after.absent, is_last_page_short=True
        )
        if self.completeness.conclude(after.name, ending, request):
            if not after.ids and expected is None:
                self.spider.run_state.expected = after.listed
            yield self.packages.list_complete(after)

    def skip(self, response: Response, here: Cursor, page: Page) -> Output:
        """Report the record that the portal can't give, and continue behind it."""
        ids = page.ids()
        if not ids:
            yield from self.end(response.request, here)
            return
        after = here.behind(ids[0])
        self.spider.seen(ids[0], list_name=here.name, listed_by=response.request)
        if not here.ids:
            self.spider.run_state.count_listed(after.listed)
        error = AnswerError("refused", f"the portal can't give this dataset's record: {here.skipping}")
        self.spider.failed("list", error, response.request, dataset_id=ids[0], missing="dataset")
        yield self.request(replace(after, rows=min(self.rows(after.listed), 10)), is_retry=True)

    def page_failed(self, failure: Failure) -> Output:
        request = failures.request(failure)
        yield from self.not_listed(request, Cursor(**request.cb_kwargs["cursor"]), Refusal.from_failure(failure))

    def not_listed(self, request: Request | None, here: Cursor, refusal: Refusal) -> Output:
        """Try what may still help; else end the list and report the first variant's refusal."""
        if here.instead_of:
            yield self.listed_again(here)
            return
        if here.first and self.first_refusal is None:
            self.first_refusal = refusal
        incremental = self.packages.incremental
        there = another(here, refusal, len(self.packages.api.variants))
        there = there or (incremental.otherwise(here, refusal) if incremental else None)
        if there:
            self.spider.logger.info("%s: %s; listing it another way", self.packages.api.portal, refusal.error)
            yield self.request(there, is_retry=there.rows < here.rows or bool(there.skipping))
            return
        blocked = refusal.error.kind == "blocked"
        cause = self.first_refusal if here.first and self.first_refusal and not blocked else refusal
        is_no_ckan = here.first and cause.lasting and not cause.spoken
        error = AnswerError(cause.error.kind, f"{cause.error}: {_NO_CKAN}") if is_no_ckan else cause.error
        yield from self.refused(request, here, error, cause.status)


def _is_redirected(response: Response) -> bool:
    return response.request is not None and "redirect_urls" in response.request.meta


def _is_answer_to(response: Response, asked: Request) -> bool:
    """Return whether a redirect kept the question: neither lost its query, nor turned a POST into a GET."""
    method = response.request.method if response.request else None
    return (parse_qs(urlsplit(response.url).query), method) == (parse_qs(urlsplit(asked.url).query), asked.method)
