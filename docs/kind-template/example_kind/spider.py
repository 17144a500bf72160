"""Crawls an example catalogue: the pages of its API."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from scrapy import Request

from crawlers import arguments
from crawlers.arguments import Argument
from crawlers.exceptions import AnswerError
from crawlers.listing.listed import ListedSpider
from crawlers.listing.paging import Cursor, Entry, Page, PagedListing
from crawlers.safety import strict_json
from crawlers.values.moment import now
from example_kind import mapping

if TYPE_CHECKING:
    from collections.abc import Iterator

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


class ExampleSpider(ListedSpider):
    """An example catalogue; one with a name of its own inherits from this class and sets ``name`` and ``url``."""

    kind = "example"
    arguments: ClassVar[dict[str, Argument]] = ListedSpider.arguments | {
        "url": Argument(help="The catalogue's root.", parse=arguments.portal),
    }

    def make_listing(self) -> Listing:
        return Listing(self, self.withdrawals, self.completeness)


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
