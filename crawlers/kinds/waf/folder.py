"""Reads a web server's directory listing, whatever the server: the links that lead below the start address."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import unquote, urlsplit

from crawlers.values.addresses import absolute

if TYPE_CHECKING:
    from collections.abc import Iterator

    from scrapy.http import HtmlResponse

_RECORD = re.compile(r"\.(xml|rdf|ttl|jsonld)$", re.IGNORECASE)
_LISTING = re.compile(
    rb"<title>\s*(Index of /|[^<]{1,200} - /)|\[To Parent Directory\]|>\s*Parent Directory\s*<", re.IGNORECASE
)


class Entry(NamedTuple):
    """A link of a listing.

    Args:
        is_folder: whether it leads to another listing; else it is a record.
    """

    address: str
    is_folder: bool


def entries(page: HtmlResponse, root: str) -> Iterator[Entry]:
    """Yield the folders and records below the start address, each once.

    Links with a query (they sort the listing), to the page itself, and to parents are left out.
    """
    known = {page.url, root}
    base = page.xpath("//base/@href").get("")
    for link in page.xpath("//a[@href]"):
        address = absolute(link.attrib["href"].partition("#")[0], page.url, base) or ""
        is_iis_folder = link.xpath("preceding-sibling::text()[1]").get("").rstrip().endswith("<dir>")
        if is_iis_folder and not address.endswith("/"):
            address += "/"
        is_folder = address.endswith("/")
        is_below = address.startswith(root) and ".." not in unquote(address[len(root) :]).split("/")
        if is_below and address not in known and not urlsplit(address).query and (is_folder or _RECORD.search(address)):
            known.add(address)
            yield Entry(address, is_folder)


def is_listing(body: bytes) -> bool:
    """Return whether a page says that it is a directory listing, as those of Apache, nginx, IIS and Tomcat do."""
    return _LISTING.search(body[: 64 * 1024]) is not None
