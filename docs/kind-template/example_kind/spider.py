"""Crawls an example catalogue: the pages of its API."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from scrapy import Request

from crawlers import arguments
from crawlers.arguments import Argument
from crawlers.exceptions import AnswerError
from crawlers.listing.dialect import Dialect, Traits
from crawlers.listing.ladder import Again
from crawlers.listing.spider import ListedSpider
from crawlers.listing.walk import Entry, ListingPage, Walk
from crawlers.records.moment import now
from crawlers.safety import strict_json
from example_kind import mapping

if TYPE_CHECKING:
    from collections.abc import Iterator

    from scrapy.http import Response

    from crawlers.items import Dataset
    from crawlers.listing.crawl import Crawl
    from crawlers.listing.dialect import Rung


@dataclass(frozen=True, slots=True, kw_only=True)
class PageNumber:
    """What a page is asked by."""

    number: int = 1


class Pages(Dialect[PageNumber]):
    """The project keeps limits, takes each record once, follows the pages, recovers, and judges the end."""

    asks = PageNumber
    traits = Traits(way="place")
    ladder: ClassVar[tuple[Rung, ...]] = (Again(),)

    def __init__(self, crawl: Crawl, url: str) -> None:
        self.crawl, self.url = crawl, url

    def first(self) -> Walk[PageNumber]:
        return Walk(ask=PageNumber())

    def request(self, walk: Walk[PageNumber]) -> Request:
        return Request(f"{self.url}/datasets.json?page={walk.ask.number}")

    def read(self, response: Response, walk: Walk[PageNumber]) -> ListingPage[PageNumber]:
        found = records(response.body)
        entries = [Entry(record.get("id"), record, len(record.get("files") or [])) for record in found["datasets"]]
        total = found.get("total")
        return ListingPage(
            entries=entries,
            next=PageNumber(number=walk.ask.number + 1) if entries else None,
            total=total if isinstance(total, int) else None,
        )

    def items(self, response: Response, entry: Entry, allowed: int, *_: Any) -> Iterator[Dataset]:
        if entry.id is None:
            error = AnswerError("missing_id", "a dataset has no id, so it is not kept")
            self.crawl.failed("list", error, response.request)
            return
        item = mapping.dataset(entry.record, source=self.crawl.source)
        item.resources = item.resources[:allowed]
        item.metadata_source, item.metadata_url, item.retrieved = "example", response.url, now()
        yield item


class ExampleSpider(ListedSpider):
    """An example catalogue; one with a name of its own inherits from this class and sets ``name`` and ``url``."""

    kind = "example"
    arguments: ClassVar[dict[str, Argument]] = ListedSpider.arguments | {
        "url": Argument(help="The catalogue's root.", parse=arguments.portal),
    }

    def make_dialect(self) -> Pages:
        return Pages(self, str(self.url))


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


class Example(ExampleSpider):
    """Any example catalogue, the one that -a url= names."""

    name = "example"
