"""The spider middleware that drops requests for exports that are on disk already."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

from scrapy.exceptions import NotConfigured
from scrapy.spidermiddlewares.base import BaseSpiderMiddleware

from crawlers.components.ledger import Job, Records
from crawlers.items import Dataset
from crawlers.records import moment
from crawlers.safety import strict_json
from crawlers.safety.names import Names
from crawlers.store.index.documents import Record
from crawlers.store.index.index import Index

if TYPE_CHECKING:
    from scrapy import Request
    from scrapy.crawler import Crawler
    from scrapy.http import Response

    from crawlers.store.index.documents import Known


class SkipUnchanged(BaseSpiderMiddleware):
    """Drops requests for exports whose dataset has not changed since they were written.

    A dataset has not changed if its stamp is the same and its record is the one on disk: portals change records and
    keep the stamp. The request's ``export`` keyword has the fields of the `crawlers.items.Export` to come; its dataset
    precedes it in the output of the same response.
    """

    def __init__(self, crawler: Crawler) -> None:
        super().__init__(crawler)
        self.names = Names.from_settings(crawler.settings)
        index = crawler.get_extension(Index)
        if index is None:
            raise NotConfigured("the spider crawls no catalogue, or EXTENSIONS lacks Index")
        self.documents = index.documents
        self.job = Job.from_crawler(crawler)
        self.records = Records(crawler)
        self._last: WeakKeyDictionary[Response, Dataset | bool] = WeakKeyDictionary()

    def get_processed_item(self, item: Any, response: Response | None) -> Any:
        """Remember the dataset that precedes the exports of a response."""
        if response is not None and isinstance(item, Dataset):
            self._last[response] = item
        return item

    def get_processed_request(self, request: Request, response: Response | None) -> Request | None:
        """Return ``None`` for the request of an export that is on disk."""
        export = request.cb_kwargs.get("export")
        return None if export and self._is_current(export, response) else request

    def _is_current(self, export: dict[str, Any], response: Response | None) -> bool:
        file = self.names.file(*_reference(export), export["resource_name"] or export["dataset_name"])
        known = self.documents.current(*_reference(export), export["metadata_modified"], file)
        if known is None or self._is_outdated(known, export["dataset_id"]) or self._has_changed(response):
            return False
        run = self.job.state.get("run")  # what this run wrote before it was killed is still new
        self.records.settle(_reference(export), known.status if known.run == run else "unchanged")
        return True

    def _is_outdated(self, known: Known, dataset_id: str) -> bool:
        """Return whether a run wrote the dataset's record and ended before it requested the export."""
        dataset, seen = self.documents.get("dataset", dataset_id, None), moment.moment(known.seen)
        return dataset is not None and (seen is None or moment.name(seen) < dataset.run[: len(moment.name(seen))])

    def _has_changed(self, response: Response | None) -> bool:
        """Return whether the last dataset of the response differs from the one on disk."""
        if response is None:
            return False
        last = self._last.get(response, False)
        if isinstance(last, Dataset):
            last = self._last[response] = self._differs(last)
        return last

    def _differs(self, dataset: Dataset) -> bool:
        known = self.documents.get("dataset", dataset.id, None)
        try:
            sha256 = hashlib.sha256(strict_json.dumps(dataset.document)).hexdigest()
        except ValueError:  # the dataset is dropped, and the document on disk stays
            return False
        file = self.names.file("dataset", dataset.id, None, dataset.name)
        record = Record(file, sha256, dataset.document, dataset.metadata_modified, dataset.metadata_source)
        return known is None or not self.documents.is_on_disk(known, record)


def _reference(export: dict[str, Any]) -> tuple[str, str, str | None]:
    return export["kind"], export["dataset_id"], export["resource_id"]
