"""The links of a record: which lead to its data, and which to a page about it."""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from functools import cache
from typing import TYPE_CHECKING, NamedTuple

from crawlers.items import Resource
from crawlers.records import values
from crawlers.records.formats import best_format, format_of_address, media_type, protocol_name
from crawlers.records.tables import csv_rows

if TYPE_CHECKING:
    from collections.abc import Iterable

_SERVICE_QUERY = re.compile(r"[?&](?:service=(?:wms|wfs|wcs|csw|wmts|wps|sos)|request=getcapabilities)(?:&|$)")
_ENDING = re.compile(r"\.([a-z0-9]{2,8})$")
_WWW = re.compile(r"www\.[a-z0-9-]{1,63}\.", re.IGNORECASE)
_OGC = {"wms", "wmts", "wfs", "wcs", "wps", "csw", "sos", "sta"}
_OGC_WORD = re.compile(r"\b(?:web (map|feature|coverage|processing) service|web map tile service)\b")


class Link(NamedTuple):
    """
    Args:
        protocol: in lower case; empty if there is none.
        size: in bytes.
    """

    url: str
    protocol: str
    title: str | None
    description: str | None
    function: str
    size: int | None

    @property
    def ending(self) -> str:
        found = _ENDING.search(self.url.partition("?")[0].partition("#")[0].rpartition("/")[2].lower())
        return found[1] if found else ""

    def is_resource(self) -> bool:
        """Return whether it leads to the data; docs/iso.md has the rule."""
        is_about = self.function in _words("about")
        if is_about and self.ending in _words("page"):
            return False
        if self.function in _words("function") or self.protocol.startswith(_words("protocol")):
            return True
        if not is_about and (self.ending in _words("ending") or self.ending in _words("archive")):
            return True
        return "=" in self.url and _SERVICE_QUERY.search(self.url.lower()) is not None


def web_address(text: str) -> str | None:
    """Return the web address that a record writes, also without its scheme.

    >>> web_address("https://a.org/x.zip"), web_address("www.a.org/x.zip")
    ('https://a.org/x.zip', 'http://www.a.org/x.zip')
    >>> web_address("//server/x.shp"), web_address("www. a")
    (None, None)
    """
    return values.url(f"http://{text.strip()}" if _WWW.match(text.strip()) else text)


def landing_page(found: Iterable[Link]) -> str | None:
    """Return the first link that is not a resource: to a page, else to anything, else to the metadata."""
    pages = [each for each in found if not each.is_resource() and not each.protocol.startswith("image/")]
    return min(pages, key=_order).url if pages else None


def _order(link: Link) -> int:
    """Return how far a link is from a page about the data: 0 the nearest."""
    if link.protocol.startswith("www:link") or link.function in ("information", "browsing"):
        return 0
    return 2 if link.function == "completeMetadata" else 1


def resources(found: Iterable[Link], dataset_id: str, formats: list[str]) -> list[Resource]:
    """Return the resources among the links.

    Args:
        formats: the formats of distribution that the record names.
    """
    taken: Counter[str] = Counter()
    made = []
    for link in found:
        if not link.is_resource():
            continue
        id_ = hashlib.blake2b(f"{link.url}\0{link.title or ''}".encode(errors="replace"), digest_size=12).hexdigest()
        taken[id_] += 1
        made.append(_resource(link, id_ if taken[id_] == 1 else f"{id_}-{taken[id_]}", dataset_id, formats))
    return made


def _resource(link: Link, id_: str, dataset_id: str, formats: list[str]) -> Resource:
    own = formats[0] if len(formats) == 1 else None
    is_file = link.function == "download" or link.ending in _words("ending") or link.ending in _words("archive")
    service, is_own = _service(link), link.ending not in _words("ending")
    return Resource(
        id=id_,
        dataset_id=dataset_id,
        title=link.title or link.description,
        description=link.description if link.title not in (None, link.description) else None,
        url=link.url,
        access_url=link.url,
        download_url=link.url if is_file and not service else None,
        format=service or _format(link, own),
        media_type=None if service else media_type(link.protocol) or (is_own and media_type(own or "")) or None,
        size=link.size,
    )


def _service(link: Link) -> str | None:
    """Return the service that the protocol or the query names.

    >>> _service(Link("https://a.org/", "ogc:wms-1.1.1-http-get-map", None, None, "", None))
    'WMS'
    >>> _service(Link("https://a.org/?service=WFS", "", None, None, "", None))
    'WFS'
    >>> _service(Link("https://a.org/", "ogc web feature service", None, None, "", None))
    'WFS'
    >>> _service(Link("https://a.org/a.csv", "www:download-1.0-http--download", None, None, "", None))
    """
    if link.protocol.startswith(("ogc", "urn:ogc", "http://www.opengis.net")):
        if words := _OGC_WORD.search(link.protocol):
            return f"W{words[1][0].upper()}S" if words[1] else "WMTS"
        name = protocol_name(link.protocol) or ""
        return name if name.lower() in _OGC else name.rpartition(":")[2].upper() or None
    if link.protocol.startswith("esri"):
        return "ESRI REST" if "rest" in link.protocol else None
    if "atom" in link.protocol:
        return "ATOM"
    found = format_of_address(link.url) if _SERVICE_QUERY.search(link.url.lower()) else None
    return found if found and found.lower() in _OGC else None


def _format(link: Link, own: str | None) -> str | None:
    """Return the format of a file: what its ending shows, unless that is an archive's; else the record's only one."""
    if link.ending in _words("ending"):
        return link.ending.upper()
    return best_format([own]) or format_of_address(link.url)


@cache
def _words(sign: str) -> tuple[str, ...]:
    return tuple(word for name, word in csv_rows(__package__, "links.csv") if name == sign)
