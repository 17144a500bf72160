"""Questions about single datasets that are asked by their ids, of the portal and of no cache."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from crawlers.exceptions import AnswerError
from crawlers.kinds.ckan.cursor import identity, resources
from crawlers.kinds.ckan.query import among

if TYPE_CHECKING:
    from scrapy import Request
    from scrapy.http import Response

    from crawlers.kinds.ckan.listing import Output
    from crawlers.kinds.ckan.spider import CKANSpider

BATCH = 100
"""Ids in one question: they make an address of about 5,000 characters."""


def ask_among(spider: CKANSpider, ids: list[str], variant: int, **keywords: Any) -> Request:
    """Return the request that asks which of these datasets the portal has.

    Args:
        keywords: the request's own: callback, errback, cb_kwargs.
    """
    return spider.variants[variant].request(
        "package_search",
        among(ids, spider.query),
        meta={"dont_cache": True},
        **keywords,
    )


def show(spider: CKANSpider, dataset_id: str, variant: int, callback: Any, errback: Any) -> Request:
    """Return the request for one dataset; it comes before the next batch."""
    return spider.variants[variant].request(
        "package_show",
        {"id": dataset_id},
        callback=callback,
        errback=errback,
        cb_kwargs={"dataset_id": dataset_id, "variant": variant},
        meta={"dont_cache": True},
        priority=1,
        dont_filter=True,  # its export may be the same request
    )


def check_identity(record: Any, dataset_id: str) -> None:
    """Raise an error if a record is not the one that was requested.

    Raises:
        AnswerError: it has another id, or none (refused).
    """
    found = identity(record)
    if found != dataset_id:
        raise AnswerError("refused", f"the portal gave {str(found)[:100]!r} instead of the dataset")


def take_record(spider: CKANSpider, response: Response, record: Any, variant: int, position: int) -> Output:
    """Yield what a dataset that was requested by its id leads to, unless it was taken before."""
    if spider.expect("dataset", record["id"], listed_by=response.request):
        output = spider.parse_record(response, record, resources(record), variant, position)
        yield from spider.guarded(output, response, record)
