"""The datasets that no request can name, because they are blank nodes: they are counted, and reported."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from crawlers.components.politeness import failures
from crawlers.exceptions import AnswerError
from crawlers.kinds.sparql import answers, queries

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
