"""Asks for no export that is on disk already."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from scrapy.exceptions import NotConfigured
from scrapy.spidermiddlewares.base import BaseSpiderMiddleware

from crawlers.index.index import Index
from crawlers.resume import Job, Records
from crawlers.safety.names import Names

if TYPE_CHECKING:
    from scrapy import Request
    from scrapy.crawler import Crawler
    from scrapy.http import Response


class SkipUnchanged(BaseSpiderMiddleware):
    """The spider middleware that drops requests for exports whose dataset has not changed since they were written.

    It reads the request's ``export`` keyword, the fields of an `crawlers.items.Export` to come.
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

    def get_processed_request(self, request: Request, response: Response | None) -> Request | None:  # noqa: ARG002
        export = request.cb_kwargs.get("export")
        return None if export and self._is_current(export) else request

    def _is_current(self, export: dict[str, Any]) -> bool:
        file = self.names.file(*_reference(export), export["resource_name"] or export["dataset_name"])
        known = self.index.current(*_reference(export), export["metadata_modified"], file)
        if known:
            run = self.job.state.get("run")  # written by this run, before it was killed: it is no less new for that
            self.records.end(_reference(export), known.status if known.run == run else "unchanged")
        return known is not None


def _reference(export: dict[str, Any]) -> tuple[str, str, str | None]:
    return export["kind"], export["dataset_id"], export["resource_id"]
