"""Crawls an example catalogue: the pages of its API."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar

from scrapy import Request

from crawlers import arguments
from crawlers.arguments import Argument
from crawlers.exceptions import AnswerError, ArgumentError
from crawlers.listing.paging import Cursor, Entry, Page, PagedListing
from crawlers.listing.spider import CatalogueSpider
from crawlers.safety import strict_json
from crawlers.values.moment import now
from example_kind import mapping

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator

    from scrapy.http import Response

    from crawlers.items import Dataset


@dataclass(frozen=True, slots=True, kw_only=True)
class PageNumber(Cursor):
    number: int = 1


class Listing(PagedListing[PageNumber]):
    """The project keeps limits, takes each record once, follows the pages, and judges the end by evidence."""

    cursor = PageNumber
    spider: ExampleSpider

    def request(self, cursor: PageNumber) -> Request:
        address = f"{self.spider.url}/datasets.json?page={cursor.number}"
        keywords = {"cursor": cursor.plain()}
        return Request(address, self.parse_page, errback=self.page_failed, cb_kwargs=keywords)

    def read(self, response: Response, here: PageNumber) -> Page[PageNumber]:
        found = records(response.body)
        entries = [Entry(record.get("id"), record, len(record.get("files") or [])) for record in found["datasets"]]
        following = PageNumber(number=here.number + 1) if entries else None
        total = found.get("total")
        return Page(entries, total if isinstance(total, int) else None, following=following, is_short=not entries)

    def items(self, response: Response, entry: Entry, allowed: int, *_: Any) -> Iterator[Dataset]:
        if entry.id is None:
            error = AnswerError("missing_id", "a dataset has no id, so it is not kept")
            self.spider.failed("list", error, response.request)
            return
        item = mapping.dataset(entry.record, source=self.spider.source)
        item.resources = item.resources[:allowed]
        item.metadata_source, item.metadata_url, item.retrieved = "example", response.url, now()
        yield item

    def complete(self, _: PageNumber) -> Iterator[Any]:
        """Mark what two whole listings in a row lack."""
        is_stale = self.spider.run_state.has_stale_answer
        if not (is_stale or self.spider.limits.is_set or self.spider.records.failures.counts()):
            known = (held.dataset_id for held in self.spider.opened_index().documents.held())
            is_listed = partial(self.spider.records.is_planned, "dataset")
            self.spider.withdrawals.mark_missed_twice(known, is_listed, str(self.spider.url))
        yield from ()


class ExampleSpider(CatalogueSpider):
    """An example catalogue; one with a name of its own inherits from this class and sets ``name`` and ``url``."""

    kind = "example"
    address = "url"
    arguments: ClassVar[dict[str, Argument]] = CatalogueSpider.arguments | {
        "url": Argument(help="The catalogue's root.", parse=arguments.portal),
    }
    url: str | None = None

    def __init__(self, **given: str) -> None:
        super().__init__(**given)
        self.url = self.args["url"] or self.url
        if self.url is None:
            raise ArgumentError(f"spider {self.name} needs to know the catalogue: -a url=https://data.example.org")
        self.listing = Listing(self)

    @property
    def portal(self) -> str | None:
        """The address that the user named: its host may be private."""
        return self.url

    async def start(self) -> AsyncIterator[Request]:
        yield self.listing.begin(PageNumber())


def records(body: bytes) -> dict[str, Any]:
    """Return what a page holds.

    Raises:
        AnswerError: it is not a page of this API.
    """
    try:
        found = strict_json.loads(body)
    except ValueError as error:
        raise AnswerError("not_json", f"the answer is not JSON: {error}") from None
    if not isinstance(found, dict) or not isinstance(found.get("datasets"), list):
        raise AnswerError("refused", "the answer has no datasets")
    return found
