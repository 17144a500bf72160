"""Recognises directory listings."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scrapy.http import HtmlResponse

from crawlers.kind import Detector
from crawlers.kinds.waf.folder import entries, is_listing, root_of
from crawlers.records.rdf import formats

if TYPE_CHECKING:
    from scrapy.http import Response


class WAFDetector(Detector):
    """Takes a listing that names records or folders."""

    kind = "waf"

    def recognise(self, response: Response) -> str | None:
        if formats.of_answer(response) != "html" or not is_listing(response.body):
            return None
        page = HtmlResponse(response.url, headers=response.headers, body=response.body)
        found = entries(page, root_of(response.url))
        return "a web-accessible folder" if any(each.what in ("record", "folder") for each in found) else None
