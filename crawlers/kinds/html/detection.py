"""Recognises HTML pages."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from scrapy.http import HtmlResponse

from crawlers.exceptions import AnswerError
from crawlers.kind import Detector, Finding
from crawlers.listing.answers import other_answer
from crawlers.records.rdf import formats

if TYPE_CHECKING:
    from scrapy.http import Response

    from crawlers.kind import Asking, Probe

_SCHEMA_ORG = re.compile(
    rb"""["']@type["']\s{0,9}:\s{0,9}\[?\s{0,9}["'](schema:|https?://schema\.org/)?Data(set|Catalog)\b"""
    rb"""|itemtype=["']?https?://schema\.org/Data(set|Catalog)\b"""
)


class HTMLDetector(Detector):
    """Takes any page, if nothing better is there."""

    kind = "html"
    is_fallback = True

    def recognise(self, response: Response) -> str | None:
        if formats.of_answer(response) != "html" or other_answer(response):
            return None
        return "an HTML page" + (" with schema.org's datasets" if _SCHEMA_ORG.search(response.body) else "")

    def find(self, probe: Probe) -> Asking[list[Finding]]:
        """Return the page, wherever the address was redirected to: rules are learned from it."""
        yield from ()
        first = probe.first
        reason = None if probe.is_settled or isinstance(first, AnswerError) else self.recognise(first)
        if reason is None or isinstance(first, AnswerError):
            return []
        page = HtmlResponse(first.url, headers=first.headers, body=first.body)
        return [Finding(self.kind, first.url, f"it is {reason}", page)]
