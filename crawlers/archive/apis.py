"""APIs, which are not dumped: their capabilities are kept, and say whether the service is alive. And link checks."""

from __future__ import annotations

from typing import TYPE_CHECKING

from crawlers.archive import findings
from crawlers.archive.content import is_page_promised
from crawlers.archive.download import FileResponse
from crawlers.archive.looks import Asked, header, leaves_a_capture, length, subjects_of
from crawlers.archive.names import file_name
from crawlers.archive.requests import api_of
from crawlers.archive.services import exception, is_capabilities, service
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

    @leaves_a_capture
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
            cause = findings.cause_of_exception(said or "")
            yield from looks.captures(asked, findings.CAUSES[cause], response, reason=reason)


class Checks:
    """Handles the answers to link checks, for a spider."""

    def __init__(self, spider: ArchiveSpider) -> None:
        self.spider = spider

    @leaves_a_capture
    def parse(self, response: Response, asked: Asked) -> Iterator[Request | Capture]:
        """Yield the captures of a link, as the answer's headers say: some servers give no length to HEAD but 0."""
        self.spider.is_online = True
        declared = getattr(response, "declared_size", None)
        size = length(response) if declared is None else declared
        cause, reason = self._found(response, asked, size)
        if cause == "empty" and response.request is not None and response.request.method == "HEAD":
            yield from self.another(asked, "http")
        else:
            given = {"size": size, "reason": reason}
            yield from self.spider.looks.captures(asked, findings.CAUSES[cause], response, **given)

    def _found(self, response: Response, asked: Asked, size: int | None) -> tuple[str, str | None]:
        subject = subjects_of(asked)[0]
        hint = file_name(response.url, header(response, "Content-Disposition"))
        if response.status in (202, 304):
            return "unclear", f"HTTP {response.status} says nothing of the file"
        if size == 0 or response.status in (204, 205):
            return "empty", "the headers say that the file has no bytes"
        is_page = is_page_promised(header(response, "Content-Type"), hint, subject.format)
        if is_page and not (header(response, "Refresh") or service(response.url, subject.format)):  # APIs show pages
            return "page", "the headers say that it is an HTML page instead of a file"
        return "alive", None

    def another(self, asked: Asked, kind: str) -> list[Request]:
        """Return the request for one byte of a file whose server refused HEAD."""
        if kind not in _NO_HEAD:
            return []
        url, ranged = requestable(subjects_of(asked)[0].url), {"Range": "bytes=0-0"}
        return [self.spider.requests.make(url, asked, self.parse, headers=ranged, max_size=1)]
