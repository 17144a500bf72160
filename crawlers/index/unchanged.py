"""Asks for no export that is on disk already."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scrapy.spidermiddlewares.base import BaseSpiderMiddleware

from crawlers.index.index import Index
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

    def get_processed_request(self, request: Request, response: Response | None) -> Request | None:  # noqa: ARG002
        export = request.cb_kwargs.get("export")
        if export is None or not self._current(export):
            return request
        self.crawler.stats.inc_value("catalogue/unchanged")
        return None

    def _current(self, export: dict[str, str | None]) -> bool:
        index = self.crawler.get_extension(Index)
        kind, dataset_id, resource_id = str(export["kind"]), str(export["dataset_id"]), export["resource_id"]
        file = self.names.file(kind, dataset_id, resource_id, export["resource_name"] or export["dataset_name"])
        return bool(index and index.current(kind, dataset_id, resource_id, export["metadata_modified"], file))
