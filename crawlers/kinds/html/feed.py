"""RSS and Atom as listings: a feed becomes the page that shows its entries, which the rules read as any other."""

from __future__ import annotations

import io
from itertools import islice
from typing import TYPE_CHECKING

from lxml import etree
from lxml.builder import E

from crawlers.records.addresses import absolute
from crawlers.safety import bounds
from crawlers.safety.xml import plain

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lxml.etree import _Element

_HEAD = 4096  # bytes in which a feed names itself
_ROOTS = (b"<rss", b"<feed", b"<rdf:RDF")
_FEEDS = frozenset(("rss", "feed", "RDF"))
_ENTRIES = frozenset(("item", "entry"))
_MOST = 10_000  # entries
_CHANNEL = etree.XPath("*[local-name() = 'channel'] | self::*[local-name() = 'feed']")


def html_of(body: bytes, url: str, charset: str | None = None) -> str | None:
    """Return an HTML page with the entries of a feed; ``None`` if it is none.

    Each entry is ``<li><h2><a href>title</a></h2></li>``; the next page of the feed (RFC 5005, section 3) is
    ``<link rel="next">``, and the number of results that OpenSearch states ``<p class="total">``.

    Args:
        body: the answer.
        url: its address; relative links are against it.
        charset: that of its Content-Type.

    Raises:
        AnswerError: ``unsafe_xml`` or ``too_large``.
    """
    if not any(root in body[:_HEAD] for root in _ROOTS):
        return None
    data = plain(io.BytesIO(body), charset, is_bounded=True).read()
    bounds.check_markup(data)
    root = etree.fromstring(data, etree.XMLParser(recover=True, resolve_entities=False, no_network=True))
    if root is None or _name(root) not in _FEEDS:
        return None
    entries = [_entry(entry, url) for entry in islice(filter(_is_entry, root.iter(tag=etree.Element)), _MOST)]
    if not entries and not _CHANNEL(root):
        return None  # other RDF
    rows = (E.li(E.h2(E.a(title or address, href=address))) for address, title in entries if address)
    page = E.html(E.head(*_next(root, url)), E.body(*_total(root), E.ul(*rows)))
    return str(etree.tostring(page, encoding="unicode", method="html"))


def _is_entry(element: _Element) -> bool:
    return _name(element) in _ENTRIES


def _name(element: _Element) -> str:
    return str(etree.QName(element).localname)


def _entry(entry: _Element, base: str) -> tuple[str | None, str]:
    """Return the address and the title of an entry."""
    title = " ".join(_texts(entry, "title"))
    atom = [one.get("href") for one in _children(entry, "link") if one.get("rel", "alternate") == "alternate"]
    guids = [one.text for one in _children(entry, "guid") if one.get("isPermaLink", "true") == "true"]
    found = (absolute(href.strip(), base) for href in [*atom, *_texts(entry, "link"), *guids] if href and href.strip())
    return next(filter(None, found), None), title


def _next(root: _Element, base: str) -> Iterator[_Element]:
    channels = _CHANNEL(root)
    for link in _children(channels[0], "link") if channels else ():
        if link.get("rel") == "next" and (address := absolute(link.get("href", ""), base)):
            yield E.link(rel="next", href=address)


def _total(root: _Element) -> Iterator[_Element]:
    for text in _texts(_CHANNEL(root)[0], "totalResults") if _CHANNEL(root) else ():
        yield E.p(text, {"class": "total"})


def _children(element: _Element, name: str) -> Iterator[_Element]:
    return (child for child in element if isinstance(child.tag, str) and _name(child) == name)


def _texts(element: _Element, name: str) -> Iterator[str]:
    return (text for child in _children(element, name) if (text := "".join(child.itertext()).strip()))
