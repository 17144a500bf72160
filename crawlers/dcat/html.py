"""What an HTML page says of the RDF that stands beside it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from parsel import Selector

from crawlers.exceptions import AnswerError
from crawlers.mapping.addresses import absolute
from crawlers.rdf.formats import FORMATS, by_media_type, by_suffix
from crawlers.safety import text

if TYPE_CHECKING:
    from collections.abc import Iterator

    from scrapy.http import HtmlResponse

    from crawlers.rdf.formats import Format

_AMBIGUOUS = (".xml", ".json", ".owl")  # an `a` leads to feeds and ontologies as often as to a catalogue
_Offer = tuple[int, bool, str]  # the format's rank, whether it is no catalogue by its name, the address


def alternate(page: HtmlResponse) -> str | None:
    """The address of the page's RDF: of its ``<link rel="alternate">`` first, then of its links to files by suffix.

    Raises:
        AnswerError: it leads to several files, none better than the others.
    """
    content_type = (page.headers.get("Content-Type") or b"").decode("latin-1")
    selector = Selector(text.of_page(page.body, content_type).text)  # not page.selector: a broken <base> breaks that
    base = selector.css("base::attr(href)").get("")
    for offers in (set(_alternates(selector, page.url, base)), set(_links(selector, page.url, base))):
        if not offers:
            continue
        best = min(offers)
        equal = sorted(address for *rank, address in offers if rank == list(best[:2]))
        if len(equal) > 1:
            several = ", ".join(equal[:5])
            raise AnswerError("not_rdf", f"the HTML page leads to {len(equal)} files: name one of them: {several}")
        return best[2]
    return None


def _alternates(selector: Selector, here: str, base: str) -> Iterator[_Offer]:
    for link in selector.css("link[rel~=alternate][href], link[rel~=describedby][href]"):
        yield from _offer(here, base, link.attrib["href"], by_media_type(link.attrib.get("type", "")))


def _links(selector: Selector, here: str, base: str) -> Iterator[_Offer]:
    for link in selector.css("a[href]"):
        address = link.attrib["href"].strip()
        path = address.lower().partition("?")[0].partition("#")[0]
        if not path.endswith(_AMBIGUOUS) or path.endswith("data.json"):
            yield from _offer(here, base, address, by_suffix(address))


def _offer(here: str, base: str, address: str, format_: Format | None) -> Iterator[_Offer]:
    target = absolute(address, here, base)
    if format_ is not None and target is not None:
        yield FORMATS.index(format_), "catalog" not in target.lower(), target
