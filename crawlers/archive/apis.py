"""APIs, which are not dumped: their capabilities are kept, and say whether the service is alive. And link checks."""

from __future__ import annotations

from typing import TYPE_CHECKING

from crawlers.archive import findings
from crawlers.archive.download import FileResponse
from crawlers.archive.looks import Asked, header, length, subjects_of
from crawlers.archive.requests import api_of
from crawlers.archive.services import exception, is_capabilities
from crawlers.archive.targets import requestable

if TYPE_CHECKING:
    from collections.abc import Iterator

    from scrapy import Request
    from scrapy.http import Response

    from crawlers.archive.spider import ArchiveSpider
    from crawlers.items import Capture

_NO_HEAD = ("http", "connection", "truncated", "timeout")
"""How servers that have the file fail at HEAD: with any status, or by closing the connection."""


class APIs:
    """Handles the answers to requests for capabilities, for a spider."""

    def __init__(self, spider: ArchiveSpider) -> None:
        self.spider = spider

    def parse(self, response: Response, asked: Asked, attempt: int) -> Iterator[Request | Capture]:
        """Yield the captures of an API's capabilities, or the next request for them."""
        self.spider.is_online = True
        api, looks = api_of(asked), self.spider.looks
        head = response.head if isinstance(response, FileResponse) else b""
        if isinstance(response, FileResponse) and response.file is not None and is_capabilities(api, head):
            yield from looks.kept(asked, response, found_type=header(response, "Content-Type"))
        elif attempt + 1 < len(api.addresses):
            yield self.spider.requests.capabilities(api, asked, attempt + 1)
        else:
            said = exception(head)
            reason = f"the API answered with an exception: {said}" if said else "the API gives no capabilities"
            yield from looks.captures(asked, findings.NO_CONTENT, response, error="exception", reason=reason)


class Checks:
    """Handles the answers to link checks, for a spider."""

    def __init__(self, spider: ArchiveSpider) -> None:
        self.spider = spider

    def parse(self, response: Response, asked: Asked) -> Iterator[Capture]:
        """Yield the captures of a link that is alive."""
        self.spider.is_online = True
        size = getattr(response, "declared_size", None) or length(response)
        yield from self.spider.looks.captures(asked, findings.ALIVE, response, size=size)

    def another(self, asked: Asked, kind: str) -> list[Request]:
        """Return the request for one byte of a file whose server refused HEAD."""
        if kind not in _NO_HEAD:
            return []
        url, ranged = requestable(subjects_of(asked)[0].url), {"Range": "bytes=0-0"}
        return [self.spider.requests.make(url, asked, self.parse, headers=ranged, max_size=1)]
