"""The encoding that the user says a catalogue's texts are in, given to whoever reads an answer."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scrapy.spidermiddlewares.base import BaseSpiderMiddleware

from crawlers.catalogue import CatalogueSpider

if TYPE_CHECKING:
    from scrapy import Request
    from scrapy.http import Response


class DeclaredEncoding(BaseSpiderMiddleware):
    """The spider middleware that sets a request's meta ``encoding`` to the spider's ``encoding``, if it has one."""

    def get_processed_request(self, request: Request, response: Response | None) -> Request:  # noqa: ARG002
        spider = self.crawler.spider
        if isinstance(spider, CatalogueSpider) and spider.encoding:
            request.meta["encoding"] = spider.encoding
        return request
