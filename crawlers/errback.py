"""No request fails unreported."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scrapy.spidermiddlewares.base import BaseSpiderMiddleware

from crawlers.catalogue import CatalogueSpider

if TYPE_CHECKING:
    from scrapy import Request
    from scrapy.http import Response


class DefaultErrback(BaseSpiderMiddleware):
    """The spider middleware that gives a request without an errback the spider's ``request_failed``."""

    def get_processed_request(self, request: Request, response: Response | None) -> Request:  # noqa: ARG002
        spider = self.crawler.spider
        if request.errback is None and isinstance(spider, CatalogueSpider):
            return request.replace(errback=spider.request_failed)
        return request
