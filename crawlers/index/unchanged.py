"""Asks for no export that is on disk already."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

from scrapy.exceptions import NotConfigured
from scrapy.spidermiddlewares.base import BaseSpiderMiddleware

from crawlers import moment
from crawlers.index.index import Index
from crawlers.index.record import Record, is_on_disk
from crawlers.items import Dataset
from crawlers.resume import Job, Records
from crawlers.safety import strict_json
from crawlers.safety.names import Names

if TYPE_CHECKING:
    from scrapy import Request
    from scrapy.crawler import Crawler
    from scrapy.http import Response

    from crawlers.index.known import Known


class SkipUnchanged(BaseSpiderMiddleware):
    """The spider middleware that drops requests for exports whose dataset has not changed since they were written.

    It has not when its stamp is the same and its record is the one on disk: portals change records under an old stamp.
    It reads the request's ``export`` keyword, the fields of an `crawlers.items.Export` to come, whose dataset stands
    before it in the output of the same response.
    """

    def __init__(self, crawler: Crawler) -> None:
        super().__init__(crawler)
        self.names = Names.from_settings(crawler.settings)
        index = crawler.get_extension(Index)
        if index is None:
            raise NotConfigured("the spider crawls no catalogue, or EXTENSIONS lacks Index")
        self.index = index
        self.job = Job.of(crawler)
        self.records = Records(crawler)
        self._last: WeakKeyDictionary[Response, Dataset | bool] = WeakKeyDictionary()

    def get_processed_item(self, item: Any, response: Response | None) -> Any:
        if response is not None and isinstance(item, Dataset):
            self._last[response] = item
        return item

    def get_processed_request(self, request: Request, response: Response | None) -> Request | None:
        export = request.cb_kwargs.get("export")
        return None if export and self._is_current(export, response) else request

    def _is_current(self, export: dict[str, Any], response: Response | None) -> bool:
        file = self.names.file(*_reference(export), export["resource_name"] or export["dataset_name"])
        known = self.index.current(*_reference(export), export["metadata_modified"], file)
        if known is None or self._is_outdated(known, export["dataset_id"]) or self._has_changed(response):
            return False
        run = self.job.state.get("run")  # written by this run, before it was killed: it is no less new for that
        self.records.end(_reference(export), known.status if known.run == run else "unchanged")
        return True

    def _is_outdated(self, known: Known, dataset_id: str) -> bool:
        """Return whether the dataset's record was written by a run that did not come to ask for the export."""
        dataset, seen = self.index.get("dataset", dataset_id, None), moment.moment(known.seen)
        return dataset is not None and (seen is None or moment.name(seen) < dataset.run[: len(moment.name(seen))])

    def _has_changed(self, response: Response | None) -> bool:
        """Return whether the record of the dataset that came last with the response is another than that on disk."""
        if response is None:
            return False
        last = self._last.get(response, False)
        if isinstance(last, Dataset):
            last = self._last[response] = self._differs(last)
        return last

    def _differs(self, dataset: Dataset) -> bool:
        known = self.index.get("dataset", dataset.id, None)
        try:
            sha256 = hashlib.sha256(strict_json.dumps(dataset.document)).hexdigest()
        except ValueError:  # it is dropped, and what is on disk stays
            return False
        file = self.names.file("dataset", dataset.id, None, dataset.name)
        record = Record(file, sha256, dataset.document, dataset.metadata_modified)
        return known is None or not is_on_disk(self.index, known, record)


def _reference(export: dict[str, Any]) -> tuple[str, str, str | None]:
    return export["kind"], export["dataset_id"], export["resource_id"]
