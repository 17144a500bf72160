"""Spider middlewares: no request fails unreported, and each carries the encoding that the user declares."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scrapy.exceptions import NotConfigured
from scrapy.spidermiddlewares.base import BaseSpiderMiddleware

from crawlers.listing.spider import CatalogueSpider

if TYPE_CHECKING:
    from scrapy import Request
    from scrapy.crawler import Crawler
    from scrapy.http import Response


class DefaultErrback(BaseSpiderMiddleware):
    """Gives a request without an errback the spider's ``request_failed``."""

    def get_processed_request(self, request: Request, response: Response | None) -> Request:
        spider = self.crawler.spider
        if request.errback is None and isinstance(spider, CatalogueSpider):
            return request.replace(errback=spider.request_failed)
        return request


class DeclaredEncoding(BaseSpiderMiddleware):
    """Sets a request's meta ``encoding`` to the spider's ``encoding``, if it has one: readers of the answer use it."""

    def __init__(self, crawler: Crawler) -> None:
        super().__init__(crawler)
        self.encoding = getattr(crawler.spider, "encoding", None)
        if not self.encoding:  # each middleware costs every answer three generators
            raise NotConfigured

    def get_processed_request(self, request: Request, response: Response | None) -> Request:
        request.meta["encoding"] = self.encoding
        return request
