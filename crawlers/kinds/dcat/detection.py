"""Recognises DCAT in any serialisation of RDF, and data.json."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING
from urllib.parse import urljoin

from scrapy.http import HtmlResponse
from w3lib.url import safe_url_string

from crawlers import arguments
from crawlers.exceptions import AnswerError
from crawlers.kind import Detector, Finding
from crawlers.kinds.dcat.answer import alternate
from crawlers.records import data_json
from crawlers.records.rdf import formats
from crawlers.safety import strict_json

if TYPE_CHECKING:
    from collections.abc import Iterator

    from scrapy.http import Response

    from crawlers.kind import Answer, Asking, Probe

_CATALOGUES = ("/catalog.ttl", "/data.json", "/catalog.rdf", "/catalog.xml", "/catalog.jsonld")
_DATASETS = re.compile(rb"http://www\.w3\.org/ns/dcat#|\bdcat:(Dataset|Catalog|dataset)\b")


class DCATDetector(Detector):
    """Takes what was typed, what its page links to, or the first of the usual files; of several links none."""

    kind = "dcat"

    def recognise(self, response: Response) -> str | None:
        """
        >>> from scrapy.http import TextResponse
        >>> body = b"@prefix dcat: <http://www.w3.org/ns/dcat#> ."
        >>> DCATDetector().recognise(TextResponse("https://example.org/c", body=body))
        'DCAT in Turtle'
        """
        format_ = formats.of_answer(response)
        if format_ is None or format_ == "html":
            return None
        if format_.family != "json":
            return f"DCAT in {format_.name}" if _DATASETS.search(response.body) else None
        if _is_data_json(response.body):
            return "a data.json"
        return "DCAT in JSON-LD" if b'"@' in response.body and _DATASETS.search(response.body) else None

    def find(self, probe: Probe) -> Asking[list[Finding]]:
        reason = self._reason(probe.first)
        if reason:
            return [Finding(self.kind, probe.url, f"it is {reason}")]  # a redirect may be signed, and temporary
        if probe.is_settled:
            return []
        try:
            linked = _linked(probe.first)
        except AnswerError as error:
            probe.leave_open(str(error))
            return []
        for address in dict.fromkeys([*linked, *_places(getattr(probe.first, "url", probe.url))]):
            if probe.is_unreachable:
                break
            reason = self._reason((yield from probe.look(address)))
            if reason:
                is_led = address in linked
                how = "the page links to" if is_led else "there is"
                return [Finding(self.kind, address, f"{how} {reason}", is_led=is_led)]
        return []

    def _reason(self, answer: Answer) -> str | None:
        return None if isinstance(answer, AnswerError) else self.recognise(answer)


def _linked(first: Answer) -> list[str]:
    if isinstance(first, AnswerError) or formats.of_answer(first) != "html":
        return []
    address = alternate(HtmlResponse(first.url, headers=first.headers, body=first.body))
    return [safe_url_string(address)] if address else []


def _places(url: str) -> Iterator[str]:
    """Yield where a catalogue's file usually is: below the path, then at the host.

    >>> list(_places("https://example.org/a/"))[:3]
    ['https://example.org/a/catalog.ttl', 'https://example.org/catalog.ttl', 'https://example.org/a/data.json']
    """
    for name in _CATALOGUES:
        yield from (urljoin(url, arguments.folder(url) + name), urljoin(url, name))


def _is_data_json(body: bytes) -> bool:
    try:
        content = strict_json.in_pieces(body)
    except (ValueError, AnswerError):
        content, _ = data_json.up_to_an_error(body.decode("utf-8", "replace"))
    return data_json.recognised(content)
