"""Recognises directory listings."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scrapy.http import HtmlResponse

from crawlers.kind import Detector
from crawlers.kinds.waf.folder import entries, is_listing
from crawlers.rdf import formats

if TYPE_CHECKING:
    from scrapy.http import Response


class WAFDetector(Detector):
    """Takes a listing that names records or folders."""

    kind = "waf"

    def recognise(self, response: Response) -> str | None:
        if formats.of_answer(response) != "html" or not is_listing(response.body):
            return None
        page = HtmlResponse(response.url, headers=response.headers, body=response.body)
        root = response.url.rpartition("/")[0] + "/"
        return "a web-accessible folder" if next(entries(page, root), None) else None
