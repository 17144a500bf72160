"""The datasets that no request can name, because they are blank nodes: they are counted, and reported."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from crawlers.exceptions import AnswerError
from crawlers.kinds.sparql import answers, queries
from crawlers.politeness import failures

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from scrapy import Request
    from scrapy.http import Response
    from twisted.python.failure import Failure

    from crawlers.kinds.sparql.endpoint import Endpoint
    from crawlers.listing.crawl import Crawl


class BlankNodes:
    """Asks for their number when the list has ended; for one of them where they are not counted.

    Args:
        then: yields what follows if the list was whole.
    """

    def __init__(self, crawl: Crawl, endpoint: Endpoint, then: Callable[[], Iterator[Any]]) -> None:
        self.crawl, self.endpoint, self.then = crawl, endpoint, then

    def count(self, since: str, method: str, *, is_whole: bool) -> Request:
        """Return the request for their number.

        Args:
            since: only those modified on this day or later; empty for all.
            method: the HTTP method that the endpoint takes.
            is_whole: whether the list was whole.
        """
        query = queries.count(self.endpoint.graph, since, is_blank=True)
        about = {"since": since, "method": method, "is_whole": is_whole}
        return self.endpoint.request(query, method, self.parse_count, self.count_failed, about)

    def one(self, since: str, method: str, *, is_whole: bool) -> Request:
        """Return the request for one of them."""
        about = {"since": since, "method": method, "is_whole": is_whole}
        return self.endpoint.request(
            queries.blank(self.endpoint.graph, since), method, self.parse_one, self.one_failed, about
        )

    def parse_count(self, response: Response, **about: Any) -> Iterator[Any]:
        try:
            count = answers.number(response)
        except AnswerError:
            yield self.one(**about)
            return
        yield from self.told(count, response.request, **about)

    def count_failed(self, failure: Failure) -> Iterator[Any]:
        yield self.one(**failures.request(failure).cb_kwargs)

    def parse_one(self, response: Response, **about: Any) -> Iterator[Any]:
        try:
            found = answers.values(response, "d")
        except AnswerError as error:
            yield from self.unknown(error, response.request, **about)
            return
        yield from self.told("some" if found else 0, response.request, **about)

    def one_failed(self, failure: Failure) -> Iterator[Any]:
        request = failures.request(failure)
        yield from self.unknown(failures.from_failure(failure), request, **request.cb_kwargs)

    def unknown(self, error: AnswerError, request: Request | None, **about: Any) -> Iterator[Any]:
        message = f"it is not known whether datasets are blank nodes, which can't be requested: {error}"
        self.crawl.failed("list", AnswerError(error.kind, message), request)
        yield from self.followed(**about)

    def told(self, count: int | str, request: Request | None, **about: Any) -> Iterator[Any]:
        if count:
            message = f"{count} datasets have no IRI (blank nodes): they can't be requested, so they are not kept"
            self.crawl.failed("list", AnswerError("missing_id", message), request)
        yield from self.followed(**about)

    def followed(self, *, is_whole: bool, **_: Any) -> Iterator[Any]:
        if is_whole:
            yield from self.then()
