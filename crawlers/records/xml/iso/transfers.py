"""The links of an ISO record: the options of transfer of its distribution, and the operations of a service."""

from __future__ import annotations

from typing import TYPE_CHECKING

from crawlers.records.xml.links import Link, address

if TYPE_CHECKING:
    from collections.abc import Iterator

    from crawlers.records.xml.iso.part import Part

_MEGABYTE = 1_000_000
_LARGEST = 10**12


def links(record: Part, identification: Part) -> list[Link]:
    """Return the links of a record, each once."""
    found: dict[Link, None] = {}
    for transfer in record.parts("transfer"):
        those = [each for part in transfer.parts("link") if (each := _link(part))]
        size = _size(transfer.text("size")) if len(those) == 1 else None  # the size of several is that of all together
        found |= dict.fromkeys(each._replace(size=size) for each in those)
    known = {each.url for each in found}
    return [*found, *(each for each in _endpoints(identification) if each.url not in known)]


def _endpoints(identification: Part) -> Iterator[Link]:
    """Yield the addresses of a service's operations, each once."""
    found = filter(None, (_link(part) for part in identification.parts("endpoint", "link")))
    yield from {each.url: each._replace(function="download") for each in found}.values()


def _link(part: Part) -> Link | None:
    url = address(part.line("url") or "")
    if not url:  # a path of the publisher's own network, as many records have: no flaw
        return None
    protocol, function = (part.line("protocol") or "").lower(), part.text("function") or ""
    return Link(url, protocol, part.line("title"), part.text("description"), function, None)


def _size(text: str | None) -> int | None:
    """Return the bytes of a size in megabytes.

    >>> _size("0.213701"), _size("1,5"), _size("large"), _size("-1"), _size(None)
    (213701, 1500000, None, None, None)
    """
    try:
        size = float((text or "")[:40].replace(",", "."))
    except ValueError:
        return None
    return round(size * _MEGABYTE) if 0 < size < _LARGEST else None
