"""Finds different records of one id: only one of them can be kept."""

from __future__ import annotations

from typing import TYPE_CHECKING

from crawlers.exceptions import AnswerError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from scrapy import Request

    from crawlers.listing.paging import Entry
    from crawlers.listing.spider import CatalogueSpider


def report(spider: CatalogueSpider, entries: list[Entry], request: Request | None) -> None:
    """Report the ids that several records of a page have, if those differ: the first one is kept."""
    for id_ in dict.fromkeys(_shared(entries)):
        if spider.seen(id_, list_name="twins", listed_by=request):
            message = "another record of the page has the same id and other content; the first one is kept"
            spider.failed("list", AnswerError("duplicate_id", message), request, dataset_id=id_)


def _shared(entries: list[Entry]) -> Iterator[str]:
    first: dict[str, Entry] = {}
    for entry in entries:
        if entry.id is not None and first.setdefault(entry.id, entry).record != entry.record:
            yield entry.id
