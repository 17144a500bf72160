"""An answer as a page, or why it is none."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scrapy.http import HtmlResponse, TextResponse

from crawlers.exceptions import AnswerError
from crawlers.mapping.html import Page

if TYPE_CHECKING:
    from scrapy.http import Response


def page_of(response: Response) -> Page:
    """
    Raises:
        AnswerError: it is no HTML.
    """
    if not isinstance(response, HtmlResponse) and not _looks_like_html(response):
        content_type = (response.headers.get("Content-Type") or b"").decode("latin-1")
        raise AnswerError("not_html", f"what came is no HTML page (Content-Type {content_type!r})")
    return Page(response.text, response.url, getattr(response, "encoding", None))


def _looks_like_html(response: Response) -> bool:
    """Pages are sent as plain text, and as XML."""
    return isinstance(response, TextResponse) and b"<html" in response.body[:4096].lower()
