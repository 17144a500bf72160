"""A catalogue that is a tree of JSON files, such as a static STAC: each file names its children."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from scrapy import Request

from crawlers.exceptions import AnswerError
from crawlers.kinds.api import answers
from crawlers.kinds.api.mapping import Reading
from crawlers.listing.dialect import Traits
from crawlers.listing.spider import in_turns
from crawlers.listing.tree import File, Tree
from crawlers.listing.walk import ListingPage, Walk
from crawlers.records.addresses import absolute
from crawlers.safety import bounds

if TYPE_CHECKING:
    from collections.abc import Iterator

    from scrapy.http import Response

    from crawlers.items import Dataset
    from crawlers.kinds.api.query import APICrawl


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
        records = answers.records(document, self.query.listing)
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
