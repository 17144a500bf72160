"""What the server answered when the browser asked for a page."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING
from urllib.parse import urljoin

from scrapy.http import Headers

if TYPE_CHECKING:
    from crawlers.components.browser.turns import End

_REDIRECTS = (301, 302, 303, 307, 308)
_HTML = ("text/html", "application/xhtml+xml")
_DROPPED = {
    *(b"Content-Encoding", b"Content-Length", b"Transfer-Encoding", b"Etag", b"Last-Modified"),
    *(b"Page-Turns", b"Page-End", b"Page-Idle"),
}
"""Headers that describe the page as it was sent, which is not the page as it is shown; and the browser's own."""


@dataclass(frozen=True, slots=True)
class Document:
    """The head of an answer."""

    url: str
    status: int
    headers: list[tuple[str, str]]

    def header(self, name: str) -> str:
        """Return the first header of this name, "" if there is none."""
        return next((value for key, value in self.headers if key.lower() == name), "")

    @property
    def location(self) -> str:
        """Where a redirect leads, as the server writes it; "" if the answer does not redirect."""
        return self.header("location") if self.status in _REDIRECTS else ""

    @property
    def leads_to(self) -> str:
        return urljoin(self.url, self.location)

    @property
    def is_page(self) -> bool:
        """Whether there is something to show."""
        kind = self.header("content-type").partition(";")[0].strip().lower()
        attached = self.header("content-disposition").lower().startswith("attachment")
        return self.status not in (204, 205, 304) and (not kind or kind in _HTML) and not attached

    @property
    def is_shown(self) -> bool:
        return self.is_page and not self.location

    def scrapy_headers(self, turns: int, end: End | None, idle: int = 0) -> Headers:
        """Return the headers of Scrapy's response.

        Args:
            turns: how often the page was turned.
            end: why there is no further page, if so.
            idle: how often a button that had turned the page was pressed in vain.
        """
        headers = Headers()
        for name, value in self.headers:
            headers.appendlist(name.encode("latin-1", "replace"), value.encode("latin-1", "replace"))
        for dropped in _DROPPED:
            headers.pop(dropped, None)
        if self.location:
            headers["Location"] = self.leads_to
        headers["Page-Turns"] = str(turns)
        if end:
            headers["Page-End"] = end
        if idle:
            headers["Page-Idle"] = str(idle)
        return headers
