"""How an endpoint lists its datasets: how many there are, and their IRIs in pages, each behind the last IRI.

Pages until one is empty: an endpoint that cuts its answers loses nothing by that.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from crawlers.components.politeness import failures
from crawlers.exceptions import AnswerError
from crawlers.kinds.sparql import answers, queries
from crawlers.listing.dialect import Dialect, Fault, Traits
from crawlers.listing.ladder import Again, Instead, Other
from crawlers.listing.since import beginning
from crawlers.listing.walk import Entry, ListingPage, Offer, Walk
from crawlers.safety import bounds

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from scrapy import Request
    from scrapy.http import Response
    from twisted.python.failure import Failure

    from crawlers.kinds.sparql.descriptions import Descriptions
    from crawlers.kinds.sparql.queries import Endpoint
    from crawlers.listing.crawl import Crawl


FEWEST = 10
"""IRIs of a page, below which a page that fails is not made smaller."""
_UNORDERED = "lists IRIs in an order of its own and does not count them: the next page may have left some out"
_REFUSE_POST = {400, 403, 404, 405, 406, 411, 415, 501}


@dataclass(frozen=True, slots=True, kw_only=True)
class Query:
    """What a page is asked by.

    Args:
        last: the last IRI that came; empty before the first page.
        since: only what was modified on this day or later; empty for all.
        method: the HTTP method that the endpoint takes.
        is_unordered: whether IRIs came in another order than that of their characters' numbers.
        is_over: whether an empty page came.
    """

    last: str = ""
    since: str = ""
    method: str = "POST"
    is_unordered: bool = False
    is_over: bool = False


def _refuses_post(fault: Fault) -> bool:
    return fault.status in _REFUSE_POST or fault.error.kind in ("not_json", "refused")


class Datasets(Dialect[Query]):
    """The IRIs of an endpoint's datasets.

    Args:
        rows: IRIs of a page.
    """

    asks = Query
    traits = Traits(way="place", total="hint", windows=(), has_short_pages=True)
    ladder = (
        Other("method", ("GET",), is_for_first_only=True, when=_refuses_post),
        Again(when=("truncated",)),
        Instead("fewer", most=20),
    )
    subject = "the endpoint"

    def __init__(self, crawl: Crawl, descriptions: Descriptions, blanks: BlankNodes, rows: int) -> None:
        self.crawl, self.descriptions, self.blanks = crawl, descriptions, blanks
        self.endpoint, self.rows = descriptions.endpoint, rows

    def first(self) -> Walk[Query]:
        return Walk(ask=Query(since=beginning(self.crawl)), purpose="count", rows=self.rows, most=self.rows)

    def request(self, walk: Walk[Query]) -> Request:
        ask = walk.ask
        if walk.purpose == "count":
            return self.endpoint.request(queries.count(self.endpoint.graph, ask.since), ask.method)
        rows = walk.rows or self.rows
        return self.endpoint.request(queries.page(self.endpoint.graph, ask.since, ask.last, rows), ask.method)

    def read(self, response: Response, walk: Walk[Query]) -> ListingPage[Query]:
        if walk.purpose == "count":
            total = answers.number(response)
            if not total and not walk.ask.since:
                self.crawl.failed("list", _nothing(self.endpoint.graph), response.request)
            return ListingPage(total=total, next=None if walk.pages else walk.ask)
        found = answers.values(response, "d")
        bounds.RECORDS._replace(most=max(bounds.RECORDS.most, walk.rows or 0)).check(len(found))
        for term in found:
            if term.type != "uri" or not queries.is_usable(term.value):
                message = f"{term.value[:200]!r} is not an IRI that a query can name, so the dataset is not kept"
                self.crawl.failed("list", AnswerError("missing_id", message), response.request)
        usable = dict.fromkeys(term.value for term in found if term.type == "uri" and queries.is_usable(term.value))
        came = [walk.ask.last, *(term.value for term in found)]
        is_unordered = walk.ask.is_unordered or any(one >= another for one, another in pairwise(came))
        is_doubtful = is_unordered and walk.total is None
        return ListingPage(
            entries=[Entry(iri, iri) for iri in usable],
            next=replace(walk.ask, last=max(came), is_unordered=is_unordered) if found else None,
            ask=None if found else replace(walk.ask, is_over=True),
            came=len(found),
            asked=walk.rows,
            offers=[Offer("left", "the order of the endpoint", why_not=_UNORDERED)] if is_doubtful else (),
        )

    def together(self, response: Response, taken: list[tuple[Entry, int]], walk: Walk[Query]) -> Iterator[Request]:
        """Yield the requests for the descriptions of datasets, some at a time."""
        yield from self.descriptions.requests([str(entry.id) for entry, _ in taken], walk.ask.method)

    def items(self, response: Response, entry: Entry, allowed: int, walk: Walk[Query], position: int) -> Iterator[Any]:
        raise NotImplementedError

    # What may be said besides

    def fewer(self, walk: Walk[Query], fault: Fault) -> Walk[Query] | None:
        """Return a page of fewer IRIs, whatever the endpoint says of the larger one; later ones stay small."""
        if walk.purpose != "page" or walk.rows is None or walk.rows <= FEWEST:
            return None
        rows = max(FEWEST, walk.rows // 4)
        return replace(walk, rows=rows, most=rows)

    def count(self, walk: Walk[Query]) -> Query | None:
        """Return what the number is asked by if fewer came than there were when the crawl began: some may be gone."""
        return walk.ask if walk.ask.is_over else None

    def whole(self, walk: Walk[Query]) -> Iterator[Request]:
        yield self.blanks.request(walk.ask.since, walk.ask.method, is_whole=True, is_one=walk.total is None)

    def stopped(self, walk: Walk[Query]) -> Iterator[Request]:
        yield self.blanks.request(walk.ask.since, walk.ask.method, is_whole=False, is_one=walk.total is None)


def _nothing(graph: str | None) -> AnswerError:
    where = "no named graph" if graph == queries.ANY else f"the graph {graph}" if graph else "the default graph"
    has = f"{where} has a dcat:Dataset" if graph == queries.ANY else f"{where} has no dcat:Dataset"
    hint = "" if graph else f"; -a graph={queries.ANY} looks into all named graphs"
    return AnswerError("no_datasets", f"{has}{hint}")


class BlankNodes:
    """Asks for their number when the list has ended; for one of them where they are not counted.

    Args:
        then: yields what follows if the list was whole.
    """

    def __init__(self, crawl: Crawl, endpoint: Endpoint, then: Callable[[], Iterator[Any]]) -> None:
        self.crawl, self.endpoint, self.then = crawl, endpoint, then

    def request(self, since: str, method: str, *, is_whole: bool, is_one: bool) -> Request:
        """Return the request for their number, or for one of them.

        Args:
            since: only those modified on this day or later; empty for all.
            method: the HTTP method that the endpoint takes.
            is_whole: whether the list was whole.
            is_one: whether one of them is asked for.
        """
        ask = (
            queries.blank(self.endpoint.graph, since)
            if is_one
            else queries.count(self.endpoint.graph, since, is_blank=True)
        )
        about = {"since": since, "method": method, "is_whole": is_whole, "is_one": is_one}
        return self.endpoint.request(ask, method, callback=self.parse, errback=self.failed, cb_kwargs=about)

    def parse(self, response: Response, **about: Any) -> Iterator[Any]:
        try:
            count = len(answers.values(response, "d")) and "some" if about["is_one"] else answers.number(response)
        except AnswerError as error:
            yield from self.not_told(error, response.request, **about)
            return
        if count:
            message = f"{count} datasets have no IRI (blank nodes): they can't be requested, so they are not kept"
            self.crawl.failed("list", AnswerError("missing_id", message), response.request)
        yield from self.followed(**about)

    def failed(self, failure: Failure) -> Iterator[Any]:
        request = failures.request(failure)
        yield from self.not_told(failures.from_failure(failure), request, **request.cb_kwargs)

    def not_told(self, error: AnswerError, request: Request | None, **about: Any) -> Iterator[Any]:
        if not about["is_one"]:
            yield self.request(**about | {"is_one": True})
            return
        message = f"it is not known whether datasets are blank nodes, which can't be requested: {error}"
        self.crawl.failed("list", AnswerError(error.kind, message), request)
        yield from self.followed(**about)

    def followed(self, *, is_whole: bool, **_: Any) -> Iterator[Any]:
        if is_whole:
            yield from self.then()
