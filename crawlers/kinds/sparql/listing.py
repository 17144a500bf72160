"""The listing of an endpoint: how many datasets there are, and their IRIs in pages, each behind the last IRI."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from crawlers.exceptions import AnswerError
from crawlers.kinds.sparql import answers, queries
from crawlers.listing.paging import Cursor, Entry, Page, PagedListing
from crawlers.politeness import failures
from crawlers.safety import bounds

if TYPE_CHECKING:
    from collections.abc import Iterator

    from scrapy import Request
    from scrapy.http import Response
    from twisted.python.failure import Failure

    from crawlers.kinds.sparql.batches import Batches
    from crawlers.listing.completeness import Completeness
    from crawlers.listing.crawl import Crawl
    from crawlers.listing.withdrawals import Withdrawals

FEWEST = 10
"""IRIs of a page, below which a page that fails is not made smaller."""
_UNORDERED = (
    "the endpoint lists IRIs in an order of its own and does not count datasets: the next page may have left some out"
)
_REFUSE_POST = {400, 403, 404, 405, 406, 411, 415, 501}


@dataclass(frozen=True, slots=True, kw_only=True)
class Keyset(Cursor):
    """Where the list stands.

    Args:
        last: the last IRI that came; empty before the first page.
        rows: how many IRIs are requested at once.
        since: only what was modified on this day or later; empty for all.
        method: the HTTP method that the endpoint takes.
        is_recounted: whether the datasets were counted again, since fewer were listed.
        is_unordered: whether IRIs came in another order than that of their characters' numbers.
    """

    last: str = ""
    rows: int = 0
    since: str = ""
    method: str = "POST"
    is_recounted: bool = False
    is_unordered: bool = False


class BlankNodes(PagedListing[Keyset]):
    """Reports the datasets that no request can name."""

    cursor = Keyset

    def __init__(self, crawl: Crawl, withdrawals: Withdrawals, completeness: Completeness, batches: Batches) -> None:
        super().__init__(crawl, withdrawals, completeness)
        self.endpoint, self.batches = batches.endpoint, batches

    def blank_request(self, cursor: Keyset) -> Request:
        """Return the request for one blank node, for when they are not counted."""
        query, keywords = queries.blank(self.endpoint.graph, cursor.since), {"cursor": cursor.plain()}
        return self.endpoint.request(
            query, cursor.method, self.parse_blank, self.blank_failed, keywords, page=cursor.pages
        )

    def parse_blanks(self, response: Response, cursor: dict[str, Any]) -> Iterator[Request]:
        try:
            count = answers.number(response)
        except AnswerError:
            yield self.blank_request(self.cursor(**cursor))
            return
        self.report_blanks(count, response.request)

    def blanks_failed(self, failure: Failure) -> Iterator[Request]:
        yield self.blank_request(self.cursor(**failures.request(failure).cb_kwargs["cursor"]))

    def parse_blank(self, response: Response, cursor: dict[str, Any]) -> None:  # noqa: ARG002
        try:
            found = answers.values(response, "d")
        except AnswerError as error:
            self.without_blanks(error, response.request)
            return
        self.report_blanks("some" if found else 0, response.request)

    def blank_failed(self, failure: Failure) -> None:
        self.without_blanks(failures.from_failure(failure), failures.request(failure))

    def without_blanks(self, error: AnswerError, request: Request | None) -> None:
        message = f"it is not known whether datasets are blank nodes, which can't be requested: {error}"
        self.crawl.failed("list", AnswerError(error.kind, message), request)

    def report_blanks(self, count: int | str, request: Request | None) -> None:
        if count:
            message = f"{count} datasets have no IRI (blank nodes): they can't be requested, so they are not kept"
            self.crawl.failed("list", AnswerError("missing_id", message), request)


class Datasets(BlankNodes):
    """Pages until one is empty: an endpoint that cuts its answers loses nothing by that."""

    subject = "the endpoint"
    windows = ()

    def begin(self, cursor: Keyset) -> Request:
        """Note that the list has begun; return the request for the number of datasets."""
        self.completeness.begin(cursor.name)
        return self.count_request(cursor, is_blank=False)

    def count_request(self, cursor: Keyset, *, is_blank: bool) -> Request:
        query = queries.count(self.endpoint.graph, cursor.since, is_blank=is_blank)
        return self.endpoint.request(
            query,
            cursor.method,
            self.parse_blanks if is_blank else self.parse_count,
            self.blanks_failed if is_blank else self.count_failed,
            {"cursor": cursor.plain()},
            page=cursor.pages,
        )

    def parse_count(self, response: Response, cursor: dict[str, Any]) -> Iterator[Request]:
        here = Keyset(**cursor)
        try:
            expected = answers.number(response)
        except AnswerError as error:
            yield from self.without_count(response.request, here, error, response.status)
            return
        if here.is_recounted:
            yield from super().end(response.request, replace(here, expected=expected), Page([], is_short=True))
            return
        if not expected and not here.since:
            self.crawl.failed("list", _nothing(self.endpoint.graph), response.request)
        yield self.count_request(here, is_blank=True)
        yield self.request(replace(here, expected=expected))

    def count_failed(self, failure: Failure) -> Iterator[Request]:
        request = failures.request(failure)
        here, error = self.cursor(**request.cb_kwargs["cursor"]), failures.from_failure(failure)
        yield from self.without_count(request, here, error, failures.status(failure))

    def without_count(
        self, request: Request | None, here: Keyset, error: AnswerError, status: int | None
    ) -> Iterator[Request]:
        """Ask with GET if the endpoint does not take POST; list without a total if it does not count."""
        if here.method == "POST" and (status in _REFUSE_POST or error.kind in ("not_json", "refused")):
            yield self.count_request(replace(here, method="GET"), is_blank=False)
        elif error.kind in answers.HOPELESS or here.is_recounted:
            yield from self.refused(request, here, error, status)
        else:
            self.crawl.logger.warning("The endpoint does not count its datasets: %s", error)
            listing = replace(here, method="POST" if status not in _REFUSE_POST else here.method)
            yield self.request(listing)
            yield self.blank_request(listing)

    def request(self, cursor: Keyset) -> Request:
        query = queries.page(self.endpoint.graph, cursor.since, cursor.last, cursor.rows)
        keywords = {"cursor": cursor.plain()}
        return self.endpoint.request(
            query, cursor.method, self.parse_page, self.page_failed, keywords, page=cursor.pages
        )

    def read(self, response: Response, here: Keyset) -> Page[Keyset]:
        found = answers.values(response, "d")
        bounds.RECORDS._replace(most=max(bounds.RECORDS.most, here.rows)).check(len(found))
        for term in found:
            if term.type != "uri" or not queries.is_usable(term.value):
                message = f"{term.value[:200]!r} is not an IRI that a query can name, so the dataset is not kept"
                self.crawl.failed("list", AnswerError("missing_id", message), response.request)
        usable = dict.fromkeys(term.value for term in found if term.type == "uri" and queries.is_usable(term.value))
        came = [here.last, *(term.value for term in found)]
        is_unordered = here.is_unordered or any(one >= another for one, another in pairwise(came))
        following = replace(here, last=max(came), is_unordered=is_unordered) if found else None
        return Page([Entry(iri, iri) for iri in usable], following=following, is_short=not found)

    def refused(self, request: Request | None, here: Keyset, error: AnswerError, status: int | None) -> Iterator[Any]:
        """Ask for a smaller page; report the page that stays refused."""
        if here.rows > FEWEST and error.kind not in answers.HOPELESS:
            self.crawl.logger.info("%s: %d IRIs are too many, %d are requested", error, here.rows, here.rows // 4)
            yield self.request(replace(here, rows=max(FEWEST, here.rows // 4)))
            return
        yield from super().refused(request, here, error, status)

    def end(self, request: Request | None, after: Keyset, page: Page[Keyset]) -> Iterator[Any]:
        """Count again if fewer were listed than there were when the crawl began: some may be gone since."""
        is_short = after.expected is not None and after.listed < after.expected
        if is_short and page.following is None and not after.is_recounted:
            yield self.count_request(replace(after, is_recounted=True, rows=FEWEST), is_blank=False)
            return
        if after.is_unordered and after.expected is None and page.following is None:
            self.completeness.end(after.name)
            self.crawl.failed("list", AnswerError("unproven", _UNORDERED), request)
            return
        yield from super().end(request, after, page)

    def list_page(self, response: Response, here: Keyset, page: Page[Keyset]) -> Iterator[Any]:
        """Request the next page, then the descriptions of this one's datasets, some at a time."""
        iris: list[str] = []
        for output in super().list_page(response, here, page):
            if isinstance(output, str):
                iris.append(output)
            else:
                yield output
        yield from self.batches.requests(iris, here.method)

    def items(self, response: Response, entry: Entry, allowed: int, here: Keyset, position: int) -> Iterator[str]:  # noqa: ARG002
        """Yield the dataset's IRI, for `list_page`."""
        yield entry.record


def _nothing(graph: str | None) -> AnswerError:
    where = "no named graph" if graph == queries.ANY else f"the graph {graph}" if graph else "the default graph"
    has = f"{where} has a dcat:Dataset" if graph == queries.ANY else f"{where} has no dcat:Dataset"
    hint = "" if graph else f"; -a graph={queries.ANY} looks into all named graphs"
    return AnswerError("no_datasets", f"{has}{hint}")
