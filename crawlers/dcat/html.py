"""What an HTML page says of the RDF that stands beside it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from crawlers.rdf.formats import FORMATS, by_media_type, by_suffix

if TYPE_CHECKING:
    from collections.abc import Iterator

    from scrapy.http import TextResponse

    from crawlers.rdf.formats import Format

_NO_CATALOGUE = (".xml", ".json", ".owl")  # of these an `a` leads to feeds and ontologies as often as to a catalogue


def alternate(page: TextResponse) -> str | None:
    """The address of the page's RDF: of its ``<link rel="alternate">`` first, then of its links to files by suffix."""
    for found in (_alternates(page), _links(page)):
        ranked = sorted(found, key=lambda one: (FORMATS.index(one[1]), "catalog" not in one[0]))
        if ranked:
            return page.urljoin(ranked[0][0])
    return None


def _alternates(page: TextResponse) -> Iterator[tuple[str, Format]]:
    for link in page.css("link[rel~=alternate][href], link[rel~=describedby][href]"):
        format_ = by_media_type(link.attrib.get("type", ""))
        if format_:
            yield link.attrib["href"].strip(), format_


def _links(page: TextResponse) -> Iterator[tuple[str, Format]]:
    for link in page.css("a[href]"):
        address = link.attrib["href"].strip()
        try:
            format_ = by_suffix(address)
        except ValueError:
            continue
        if format_ and (not address.lower().partition("?")[0].endswith(_NO_CATALOGUE) or "data.json" in address):
            yield address, format_
