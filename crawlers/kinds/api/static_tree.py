"""A catalogue that is a tree of JSON files, such as a static STAC: each file names its children."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any

from scrapy import Request

from crawlers.exceptions import AnswerError
from crawlers.kinds.api import answers
from crawlers.kinds.api.mapping import Reading
from crawlers.listing.faults import check_whole
from crawlers.listing.spider import repeated
from crawlers.politeness import failures
from crawlers.safety import bounds
from crawlers.values.addresses import absolute

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from scrapy.http import Response
    from twisted.python.failure import Failure

    from crawlers.items import Dataset
    from crawlers.kinds.api.query import Query
    from crawlers.listing.crawl import Crawl
    from crawlers.listing.walks import Walks
    from crawlers.listing.withdrawals import Withdrawals

_DEPTH = 20
_MOST = 100_000
_LIST = "datasets"
_FILES, _UNREAD, _RESOURCES = "files", "unread", "resources"


class StaticTree:
    """Reads files from the root down, level by level; the listing is whole when each file was read."""

    def __init__(
        self,
        crawl: Crawl,
        withdrawals: Withdrawals,
        *,
        query: Query,
        document: Callable[[Response], Any],
        mapped: Callable[[Reading, int | None, str], Dataset],
    ) -> None:
        self.crawl, self.withdrawals = crawl, withdrawals
        self.query, self.document, self.mapped = query, document, mapped

    @cached_property
    def files(self) -> int:
        """How many files were requested so far: to count them for each child takes its time."""
        return self.crawl.records.count(_FILES)

    @property
    def walks(self) -> Walks:
        return self.crawl.run_state.walks

    def root(self) -> Request:
        self.walks.begin(_LIST)
        return self.request(self.query.address(self.query.listing.url), 0)

    def request(self, address: str, depth: int) -> Request:
        self.files += 1
        self.crawl.seen(address, list_name=_FILES, listed_by=None)
        headers = self.query.headers()
        keywords = {"depth": depth}
        return Request(address, self.parse, errback=self.failed, headers=headers, cb_kwargs=keywords, priority=-depth)

    def parse(self, response: Response, depth: int) -> Iterator[Any]:
        if "cached" in response.flags:
            self.crawl.run_state.has_stale_answer = True
        try:
            check_whole(response)
            document = self.document(response)
            children = _children(document)
        except AnswerError as error:
            self.unread(error, response.request, response.status)
            return
        yield from self.children(children, response, depth)
        for record in answers.records(document, self.query.listing) or []:
            yield from self.crawl.guarded(self.keep(record, response), response, record)

    def children(self, children: list[Any], response: Response, depth: int) -> Iterator[Request]:
        """Yield the requests for a file's children that no other file names."""
        for href in children:
            address = absolute(href, response.url) if isinstance(href, str) else None
            if self.is_enough():
                return
            if address is None:
                message = f"a link to a child is not an address, so what it leads to is not read: {str(href)[:200]!r}"
                self.unread(AnswerError("paging", message), response.request)
                continue
            if not self.crawl.seen(address, list_name="children", listed_by=response.request):
                continue
            try:
                self.check(address, depth)
            except AnswerError as error:
                self.unread(AnswerError(error.kind, f"{address[:500]} is not read: {error}"), response.request)
            else:
                yield self.request(address, depth + 1)

    def check(self, address: str, depth: int) -> None:
        """
        Raises:
            AnswerError: a child is at another host, or there are too many.
        """
        self.query.check_host(address)
        if depth >= _DEPTH or self.files >= _MOST:
            raise AnswerError("trap", f"it is more than {_DEPTH} files deep, or there are more than {_MOST}")

    def keep(self, record: Any, response: Response) -> Iterator[Any]:
        """Yield a record's item, unless another file has it, too, or the user wants no more."""
        crawl, reading = self.crawl, Reading(record, self.query.declaration)
        if self.is_enough():
            return
        if reading.id is None or not isinstance(record, dict):
            error = AnswerError("missing_id", "the record has no id, so it is not kept")
            crawl.failed("list", error, response.request)
        elif not reading.is_dataset:
            return
        elif crawl.expect("dataset", reading.id, listed_by=response.request):
            crawl.run_state.count_listed(crawl.records.expected)
            self.withdrawals.note_aliases({reading.id: reading.aliases})
            yield self.mapped(reading, self.allowed(reading, response.request), response.url)
        else:
            known, title = crawl.opened_index().documents.title(reading.id), reading.dataset("", crawl.source).title
            error = repeated(known, title, "another file")
            crawl.failed("list", error, response.request, dataset_id=reading.id)

    def is_enough(self) -> bool:
        """Return whether the user wants no more datasets or resources; note that this leaves some out."""
        is_enough = self.left() <= 0
        self.crawl.run_state.is_limited = self.crawl.run_state.is_limited or is_enough
        return is_enough

    def left(self) -> int:
        """Return how many more resources may be taken; 0 if no dataset may be taken either."""
        records, limits = self.crawl.records, self.crawl.limits
        taken = records.count(_RESOURCES) if limits.resources else 0
        return limits.resources_left(datasets=records.expected, resources=taken)

    def allowed(self, record: Reading, request: Request | None) -> int | None:
        """Return how many of a record's resources the user's limit leaves, which are noted; ``None`` for all."""
        crawl = self.crawl
        if not crawl.limits.resources:
            return None
        count = record.resource_count
        allowed = min(count, crawl.limits.resources - crawl.records.count(_RESOURCES))
        for position in range(allowed):
            crawl.seen(f"{record.id}\n{position}", list_name=_RESOURCES, listed_by=request)
        crawl.run_state.is_limited = crawl.run_state.is_limited or allowed < count
        return allowed

    def failed(self, failure: Failure) -> None:
        self.unread(failures.from_failure(failure), failures.request(failure), failures.status(failure))

    def unread(self, error: AnswerError, request: Request | None, status: int | None = None) -> None:
        """Report a file that was not read: what it holds is unknown."""
        self.crawl.seen(f"{request.url if request else ''} {error}", list_name=_UNREAD, listed_by=None)
        self.crawl.failed("list", error, request, http_status=status)

    def conclude(self, **_: Any) -> None:
        """Judge the listing when no request is left, and mark what two whole listings in a row lack."""
        crawl = self.crawl
        if _LIST not in self.walks.open:
            return
        listed = crawl.run_state.listed
        if listed and not (crawl.run_state.is_limited or crawl.records.count(_UNREAD)):
            self.walks.end(_LIST, "whole", evidence="file", listed=listed)
            crawl.run_state.expected = listed
            self.withdrawals.mark_missing()
            return
        self.walks.end(_LIST, "stopped" if crawl.run_state.is_limited else "short", listed=listed)
        if not (listed or crawl.run_state.is_limited or crawl.records.count(_UNREAD)):
            message = f"none of the {crawl.records.count(_FILES)} files that were read is a dataset"
            crawl.failed("list", AnswerError("no_datasets", f"{message}: the address may be that of an API"), None)


def _children(document: Any) -> list[Any]:
    """Return what the links to children have as their address, each once; ``None`` where one has nothing.

    Raises:
        AnswerError: ``too_large``: there are too many.
    """
    links = document.get("links") if isinstance(document, dict) else None
    found = [link for link in links if isinstance(link, dict)] if isinstance(links, list) else []
    hrefs = [link.get("href") for link in found if link.get("rel") == "child"]
    bounds.RECORDS.check(len(hrefs))
    return list({str(href): href for href in hrefs}.values())
