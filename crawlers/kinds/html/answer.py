"""The HTML page of an answer: of a feed, the one that shows its entries."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scrapy.http import HtmlResponse, TextResponse

from crawlers.exceptions import AnswerError
from crawlers.kinds.html.feed import html_of
from crawlers.kinds.html.mapping import Page
from crawlers.listing import other_answers
from crawlers.safety.text import UTF8, of_page

if TYPE_CHECKING:
    from scrapy.http import Response


def page_of(response: Response, encoding: str | None = None) -> Page:
    """Return the page of an answer, in the encoding that the user names, else its header, else the page itself.

    Args:
        encoding: the user's, if the request's meta does not have it.

    Raises:
        AnswerError: it is not HTML.
    """
    content_type = (response.headers.get("Content-Type") or b"").decode("latin-1")
    if not isinstance(response, HtmlResponse) and (feed := html_of(response.body, response.url)):
        return Page(feed, response.url, UTF8)
    if not isinstance(response, HtmlResponse) and not _looks_like_html(response):
        other = other_answers.named(response, "an HTML page")
        raise AnswerError("not_html", other or f"what came is no HTML page (Content-Type {content_type!r})")
    meta = response.meta if response.request else {}
    given = UTF8 if meta.get("browser") else encoding or meta.get("encoding")  # a browser has decoded it already
    found = of_page(response.body, content_type, given)
    page = Page(found.text, response.url, found.encoding)
    page.misread = found.flaw
    return page


def _looks_like_html(response: Response) -> bool:
    """Return whether an answer is HTML under another content type: pages are sent as plain text, and as XML."""
    return isinstance(response, TextResponse) and b"<html" in response.body[:4096].lower()
