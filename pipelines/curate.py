"""Completes items by the spider's own method, leaves out what the operator excludes, sets what the operator sets."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

from scrapy.exceptions import DropItem, NotConfigured
from scrapy.spidermiddlewares.base import BaseSpiderMiddleware

from crawlers import signals
from crawlers.components.ledger import EXCLUDED, Records
from crawlers.extensions.error_log import Excluded
from crawlers.items import Dataset
from crawlers.listing.crawl import RunState
from crawlers.listing.spider import completion
from crawlers.records.curation import Curation
from crawlers.safety.redact import without_logins
from pipelines.batches import Batch, Item, Pipeline, key, reference

if TYPE_CHECKING:
    from collections.abc import Callable

    from scrapy import Request
    from scrapy.crawler import Crawler
    from scrapy.http import Response


class Validate(Pipeline):
    """Drops an item without an id or a document."""

    def process_batch(self, batch: Batch) -> None:
        address = cache(self.address)  # the records of a page have one
        batch.each(lambda item: self._check(item, address))

    def _check(self, item: Item, address: Callable[[str | None], str | None]) -> None:
        _, dataset_id, resource_id = key(item)
        if not dataset_id:
            raise DropItem("the record has no id")
        try:
            (dataset_id + resource_id).encode()
        except UnicodeEncodeError:
            raise DropItem("the record's id has half a character, which no file can be named by") from None
        if without_logins([dataset_id, resource_id]) != [dataset_id, resource_id]:
            raise DropItem("the record's id has a user name and a password, which are not stored")
        if item.document is None:
            raise DropItem("the record has no document")
        item.metadata_url = address(item.metadata_url)


class Curate(Pipeline):
    """Applies the spider's and the operator's rules before all other pipelines; off if there are none.

    An excluded dataset is counted in the ledger. If it is on disk, it is withdrawn, and its document stays.
    """

    def __init__(self, crawler: Crawler) -> None:
        self.curation = _curation(crawler)
        self.complete = completion(type(crawler.spider)) if crawler.spider else None
        if not (self.complete or self.curation.exclude or self.curation.sets_fields):
            raise NotConfigured
        super().__init__(crawler)

    def process_batch(self, batch: Batch) -> None:
        """Let excluded datasets leave the batch, and set the fields of the others."""
        batch.each(self._process)
        state = RunState.from_crawler(self.crawler)
        if state.excluded != (count := self.records.count(EXCLUDED)):
            state.excluded = count

    def _process(self, item: Item) -> None:
        if not isinstance(item, Dataset) or not item.id:
            return
        if self.complete:
            item.amend(self.complete)
        if _is_excluded(self.curation, item):
            self._exclude(item)
            raise Excluded(f"{item.id} is excluded")
        if self.curation.sets_fields:
            item.amend(self.curation.amend)

    def _exclude(self, item: Dataset) -> None:
        self.records.see(item.id, EXCLUDED, "")
        known = self.index.documents.get(item.kind, item.id, None)
        if known is None or (known.status == "withdrawn" and known.run != self.report.run):
            self.records.settle(reference(item), EXCLUDED)
            return
        subject: dict[str, Any] = {"kind": item.kind, "dataset_id": item.id, "url": item.metadata_url or ""}
        self.crawler.signals.send_catch_log(signals.dataset_withdrawn, **subject, reason="excluded")


class NoExcludedExports(BaseSpiderMiddleware):
    """Drops the requests for exports of excluded datasets; the dataset precedes them in the output of a response."""

    def __init__(self, crawler: Crawler) -> None:
        super().__init__(crawler)
        self.curation = _curation(crawler)
        if not self.curation.exclude:
            raise NotConfigured
        self.records = Records(crawler)
        self._last: WeakKeyDictionary[Response, str] = WeakKeyDictionary()

    def get_processed_item(self, item: Any, response: Response | None) -> Any:
        """Remember the excluded dataset that precedes the exports of a response."""
        if response is not None and isinstance(item, Dataset) and _is_excluded(self.curation, item):
            self._last[response] = item.id
        return item

    def get_processed_request(self, request: Request, response: Response | None) -> Request | None:
        """Return ``None`` for the request of an export that nobody wants."""
        export = request.cb_kwargs.get("export")
        if not export or response is None or self._last.get(response) != export["dataset_id"]:
            return request
        self.records.settle((export["kind"], export["dataset_id"], export["resource_id"]), EXCLUDED)
        return None


def _curation(crawler: Crawler) -> Curation:
    return Curation.from_arguments(getattr(crawler.spider, "given", {}))


def _is_excluded(curation: Curation, item: Dataset) -> bool:
    if not curation.exclude:
        return False
    try:
        return curation.exclude.matches(item)
    except Exception:  # noqa: BLE001 -- a bug of the mapping, which the next pipelines report
        return False
