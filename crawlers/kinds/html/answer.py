"""The HTML page of an answer: of a feed, RSS or Atom, the page that shows its entries, to be read as any other."""

from __future__ import annotations

import io
from itertools import islice
from typing import TYPE_CHECKING

from lxml import etree
from lxml.builder import E
from scrapy.http import HtmlResponse, TextResponse

from crawlers.exceptions import AnswerError
from crawlers.listing.answers import other_answer
from crawlers.records.html_page import Page
from crawlers.safety import bounds
from crawlers.safety.addresses import absolute
from crawlers.safety.text import UTF8, of_page
from crawlers.safety.xml import plain

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lxml.etree import _Element
    from scrapy.http import Response

_HEAD = 4096  # bytes in which a page or a feed names itself
_ROOTS = (b"<rss", b"<feed", b"<rdf:RDF")
_FEEDS = frozenset(("rss", "feed", "RDF"))
_ENTRIES = frozenset(("item", "entry"))
_MOST = 10_000  # entries
_CHANNEL = etree.XPath("*[local-name() = 'channel'] | self::*[local-name() = 'feed']")


def page_of(response: Response, encoding: str | None = None) -> Page:
    """Return the page of an answer, in the encoding that the user names, else its header, else the page itself.

    Args:
        encoding: the user's, if the request's meta does not have it.

    Raises:
        AnswerError: it is not HTML.
    """
    content_type = (response.headers.get("Content-Type") or b"").decode("latin-1")
    if not isinstance(response, HtmlResponse):
        if feed := html_of(response.body, response.url):
            return Page(feed, response.url, UTF8)
        # pages are sent as plain text, and as XML
        if not isinstance(response, TextResponse) or b"<html" not in response.body[:_HEAD].lower():
            other = other_answer(response, "an HTML page")
            raise AnswerError("not_html", other or f"what came is no HTML page (Content-Type {content_type!r})")
    meta = response.meta if response.request else {}
    given = UTF8 if meta.get("browser") else encoding or meta.get("encoding")  # a browser has decoded it already
    found = of_page(response.body, content_type, given)
    page = Page(found.text, response.url, found.encoding)
    page.misread = found.flaw
    return page


def html_of(body: bytes, url: str) -> str | None:
    """Return an HTML page with the entries of a feed; ``None`` if it is none.

    Each entry is ``<li><h2><a href>title</a></h2></li>``; the next page of the feed (RFC 5005, section 3) is
    ``<link rel="next">``, and the number of results that OpenSearch states ``<p class="total">``.

    Args:
        body: the answer.
        url: its address; relative links are against it.

    Raises:
        AnswerError: ``unsafe_xml`` or ``too_large``.
    """
    if not any(root in body[:_HEAD] for root in _ROOTS):
        return None
    data = plain(io.BytesIO(body), None, is_bounded=True).read()
    bounds.check_markup(data)
    root = etree.fromstring(data, etree.XMLParser(recover=True, resolve_entities=False, no_network=True))
    if root is None or _name(root) not in _FEEDS:
        return None
    found = (each for each in root.iter(tag=etree.Element) if _name(each) in _ENTRIES)
    entries = [_entry(each, url) for each in islice(found, _MOST)]
    channels = _CHANNEL(root)
    if not entries and not channels:
        return None  # other RDF
    head = [
        E.link(rel="next", href=address)
        for link in (_children(channels[0], "link") if channels else ())
        if link.get("rel") == "next" and (address := absolute(link.get("href", ""), url))
    ]
    totals = [E.p(text, {"class": "total"}) for text in (_texts(channels[0], "totalResults") if channels else ())]
    rows = (E.li(E.h2(E.a(title or address, href=address))) for address, title in entries if address)
    page = E.html(E.head(*head), E.body(*totals, E.ul(*rows)))
    return str(etree.tostring(page, encoding="unicode", method="html"))


def _name(element: _Element) -> str:
    return str(etree.QName(element).localname)


def _entry(entry: _Element, base: str) -> tuple[str | None, str]:
    """Return the address and the title of an entry."""
    title = " ".join(_texts(entry, "title"))
    atom = [one.get("href") for one in _children(entry, "link") if one.get("rel", "alternate") == "alternate"]
    guids = [one.text for one in _children(entry, "guid") if one.get("isPermaLink", "true") == "true"]
    found = (absolute(href.strip(), base) for href in [*atom, *_texts(entry, "link"), *guids] if href and href.strip())
    return next(filter(None, found), None), title


def _children(element: _Element, name: str) -> Iterator[_Element]:
    return (child for child in element if isinstance(child.tag, str) and _name(child) == name)


def _texts(element: _Element, name: str) -> Iterator[str]:
    return (text for child in _children(element, name) if (text := "".join(child.itertext()).strip()))
