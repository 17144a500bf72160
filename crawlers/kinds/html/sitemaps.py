"""Sitemaps (https://www.sitemaps.org/protocol.html) in place of listings, where the rules ask for them.

A sitemap is XML or a text with an address in each line, gzipped or not.
"""

from __future__ import annotations

import io
import zlib
from dataclasses import dataclass, field
from itertools import islice
from typing import TYPE_CHECKING, Any
from urllib.parse import urljoin, urlsplit
from xml.parsers import expat

from scrapy import Request
from w3lib.url import canonicalize_url

from crawlers.components.politeness import failures
from crawlers.exceptions import AnswerError
from crawlers.kinds.html.dialect import LinkedDatasets
from crawlers.kinds.html.links import chosen, foreign
from crawlers.kinds.html.pages import GONE
from crawlers.listing.dialect import Traits
from crawlers.listing.walk import Entry, ListingPage, Offer, Walk
from crawlers.records.values import date
from crawlers.safety import bounds
from crawlers.safety.addresses import absolute
from crawlers.safety.xml import plain

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from scrapy.http import Response


SITEMAP_MAXSIZE = 50 << 20
"""The protocol's limit, unpacked."""

_GZIP = b"\x1f\x8b"
_CHUNK = 1 << 16
_DEEPEST_XML = 64
_LONGEST = 8192  # characters of an address; the protocol has 2,048
_SOME = 5
_SEVERAL = 1000  # lines
_KNOWN = {"urlset": "url", "sitemapindex": "sitemap"}
_MOST = 100  # error lines for one sitemap
_DEEPEST = 3  # sitemaps that name sitemaps; the protocol has one
_WAITING = "sitemaps at depth {}"


@dataclass(slots=True)
class Sitemap:
    """
    Args:
        pages: address and time of change of each page, in the file's order, each once.
        sitemaps: the addresses of further sitemaps.
        flaws: a sentence for each part that could not be read.
    """

    pages: list[tuple[str, str | None]] = field(default_factory=list)
    sitemaps: list[str] = field(default_factory=list)
    flaws: list[str] = field(default_factory=list)


def read(body: bytes, url: str) -> Sitemap:
    """Return all of a sitemap, as `parts` does."""
    pages: dict[str, str | None] = {}
    sitemaps: dict[str, None] = {}
    found = Sitemap()
    for part in parts(body, url):
        for address, day in part.pages:
            pages.setdefault(address, day)
        sitemaps.update(dict.fromkeys(part.sitemaps))
        found.flaws += part.flaws
    found.pages, found.sitemaps = list(pages.items()), list(sitemaps)
    return found


def parts(body: bytes, url: str) -> Iterator[Sitemap]:
    """Yield a sitemap piece by piece, some hundred addresses at a time.

    A later piece may repeat addresses of an earlier one.

    Args:
        url: the sitemap's own address; relative ones are against it.

    Raises:
        AnswerError: ``not_sitemap``, ``too_large`` unpacked, or ``unsafe_xml``.
    """
    found = Sitemap()
    data = _unpacked(body, found.flaws) if body.startswith(_GZIP) else body
    if len(data) > SITEMAP_MAXSIZE:
        raise AnswerError("too_large", f"the sitemap is larger than {SITEMAP_MAXSIZE >> 20} MiB")
    pieces = _Reader(found, url).read(data) if _is_markup(data) else _lines(data, url, found)
    count = 0
    for piece in pieces:
        count += len(piece.pages) + len(piece.sitemaps)
        bounds.SITEMAP.check(count)
        yield piece


def _unpacked(body: bytes, flaws: list[str]) -> bytes:
    """Return all members of a gzip file, up to one byte more than the limit."""
    parts: list[bytes] = []
    room = SITEMAP_MAXSIZE + 1
    while body.startswith(_GZIP) and room > 0:
        member = zlib.decompressobj(wbits=31)
        try:
            parts.append(member.decompress(body, room))
        except zlib.error as error:
            flaws.append(f"the gzip file is damaged ({error})")
            break
        room -= len(parts[-1])
        if not member.eof and room > 0:
            flaws.append("the gzip file breaks off")
        body = member.unused_data
    return b"".join(parts)


def _is_markup(data: bytes) -> bool:
    start = data[:1024].replace(b"\x00", b"").lstrip(b"\xef\xbb\xbf\xff\xfe \t\r\n").lower()
    if start.startswith((b"<html", b"<!doctype html")) or b"<html" in start:
        raise AnswerError("not_sitemap", "an HTML page came instead of a sitemap")
    return start.startswith(b"<")


def _lines(data: bytes, url: str, found: Sitemap) -> Iterator[Sitemap]:
    """Read a text sitemap: absolute addresses in UTF-8, each on a line of its own."""
    lines = filter(None, map(str.strip, io.StringIO(data.decode("utf-8-sig", "replace"))))
    given = others = flaws = 0
    while some := list(islice(lines, _SEVERAL)):
        links = dict.fromkeys(line for line in some if line[:8].lower().startswith(("http://", "https://")))
        given, others = given + len(links), others + sum(line not in links for line in some)
        found.pages = [(address, None) for line in links if (address := _address(line, url, found, flaws))]
        flaws += len(found.flaws)
        yield found
        found = Sitemap()
    if others and not given:
        raise AnswerError("not_sitemap", "the answer is not a sitemap, neither XML nor a list of addresses")
    found.flaws += [f"{others} lines of the sitemap are not addresses"] if others else []
    yield found


def _address(text: str, url: str, found: Sitemap, before: int = 0) -> str | None:
    """Return an absolute address; record what is none as a flaw, up to a few with those before."""
    address = absolute(text, url) if text.strip() and len(text) <= _LONGEST else None
    if address is None and before + len(found.flaws) < _SOME:
        found.flaws.append(f"{text.strip()[:100]!r} is not the address of a page")
    return address


class _Reader:
    """Expat on a sitemap: ``urlset/url/loc`` and ``sitemapindex/sitemap/loc``, whatever the prefixes."""

    def __init__(self, found: Sitemap, url: str) -> None:
        self.found = found
        self.flaws = len(found.flaws)
        self.is_empty = True
        self.url = url
        self.path: list[str] = []
        self.text: list[str] = []
        self.length = 0
        self.loc = self.lastmod = ""
        self.parser = expat.ParserCreate("utf-8")
        self.parser.buffer_text = True
        self.parser.StartElementHandler = self._start
        self.parser.EndElementHandler = self._end
        self.parser.CharacterDataHandler = self._data

    def read(self, data: bytes) -> Iterator[Sitemap]:
        flaws: list[str] = []
        try:
            file = plain(io.BytesIO(data), None, flaws)
            while chunk := file.read(_CHUNK):
                self.parser.Parse(chunk)
                yield self._taken()
            self.parser.Parse(b"", True)
        except expat.ExpatError as error:
            if self.is_empty and not self.path:
                raise AnswerError("not_sitemap", f"the answer is not a sitemap: not XML ({error})") from None
            flaws.append(f"the sitemap can't be read to its end ({error})")
        self.found.flaws += flaws
        yield self._taken()

    def _taken(self) -> Sitemap:
        """Return what has come since the last piece, each once."""
        found = self.found
        self.found = Sitemap()
        self.flaws += len(found.flaws)
        self.is_empty = self.is_empty and not (found.pages or found.sitemaps)
        first: dict[str, str | None] = {}
        for address, day in found.pages:
            first.setdefault(address, day)
        return Sitemap(list(first.items()), list(dict.fromkeys(found.sitemaps)), found.flaws)

    def _start(self, name: str, _: dict[str, str]) -> None:
        name = name.rpartition(":")[2]
        if not self.path and name not in _KNOWN:
            raise AnswerError("not_sitemap", f"the XML is not a sitemap: its root is <{name[:40]}>")
        self.path.append(name)
        if len(self.path) > _DEEPEST_XML:
            raise AnswerError("not_sitemap", f"the XML is nested deeper than {_DEEPEST_XML} elements, as no sitemap is")
        if len(self.path) == 2:
            self.loc = self.lastmod = ""
        self.text.clear()
        self.length = 0

    def _data(self, text: str) -> None:
        if len(self.path) == 3 and self.length <= _LONGEST:
            self.text.append(text)
            self.length += len(text)

    def _end(self, _: str) -> None:
        if len(self.path) == 3 and self.path[1] == _KNOWN[self.path[0]]:
            text = "".join(self.text).strip()
            if self.path[2] == "loc":
                self.loc = self.loc or text
            elif self.path[2] == "lastmod":
                self.lastmod = text
        elif len(self.path) == 2 and self.path[1] == _KNOWN[self.path[0]]:
            address = _address(self.loc, self.url, self.found, self.flaws)
            if address and self.path[0] == "urlset":
                self.found.pages.append((address, date(self.lastmod)))
            elif address:
                self.found.sitemaps.append(address)
        self.path.pop()


@dataclass(frozen=True, slots=True)
class Address:
    """A sitemap's address."""

    url: str


class Sitemaps(LinkedDatasets[Address]):
    """The sitemaps that the rules, robots.txt and other sitemaps name.

    Attributes:
        named: those that robots.txt names.
    """

    asks = Address
    traits = Traits(way="single", is_one_list=False)
    named: Sequence[str] = ()

    def robots_read(self, robotparser: Any, request: Request) -> None:
        """Record the sitemaps that the catalogue's robots.txt names: it is read before the first request."""
        portal = self.crawl.place
        if urlsplit(request.url).netloc == urlsplit(portal).netloc:
            found = getattr(getattr(robotparser, "rp", None), "sitemaps", ())
            self.named = [urljoin(portal, address) for address in found]

    def first(self) -> Walk[Address]:
        address = urljoin(self.crawl.place, self.site.paging.address or "/sitemap.xml")
        self.crawl.seen(canonicalize_url(address), list_name="walks", listed_by="start")
        return Walk(ask=Address(address), name=address)

    def starts(self) -> Iterator[Walk[Address]]:
        yield self.first()

    def request(self, walk: Walk[Address]) -> Request:
        is_guess = not walk.above and self.site.paging.address is None  # nobody said that there is such a sitemap
        meta = {"handle_httpstatus_list": list(GONE)} if is_guess else {}
        return Request(walk.ask.url, meta=meta, priority=0 if self.crawl.args["max_resources"] else 1)

    def read(self, response: Response, walk: Walk[Address]) -> ListingPage[Address]:
        if response.status in GONE:
            if not self.named:
                raise failures.from_status(response)
            return ListingPage(offers=self._below([], walk), end="closed")
        page = ListingPage[Address]()
        page.entries = self._entries(response, walk, page)
        return page

    def _entries(self, response: Response, walk: Walk[Address], page: ListingPage[Address]) -> Iterator[Entry]:
        """Yield the datasets of a sitemap; then the page has what else it shows."""
        sitemaps, known = list[str](), set[int]()
        try:
            for part in parts(response.body, response.url):
                for flaw in part.flaws:
                    self.report("truncated", flaw, response.request)
                    page.gaps += 1
                sitemaps += part.sitemaps
                dated = {link: day for address, day in part.pages for link in chosen([address], self.site)}
                links, strangers = foreign(list(dated), self.site)
                self.report_offsite([link for link in strangers if hash(link.id) not in known], response.request)
                for link in links:
                    if hash(link.id) not in known:
                        yield Entry(link.id, {"id": link.id}, reading=(link, dated[link]))
                    known.add(hash(link.id))
                known.update(hash(link.id) for link in strangers)
        except AnswerError as error:
            page.fault = error
        page.offers = self._below(sitemaps, walk)

    def items(
        self, response: Response, entry: Entry, allowed: int, walk: Walk[Address], position: int
    ) -> Iterator[Request]:
        return self.pages.requests(*entry.reading)

    # What a sitemap names

    def _below(self, found: Sequence[str], walk: Walk[Address]) -> list[Offer[Address]]:
        """Return the sitemaps that one names, and robots.txt; where a limit may end the crawl they wait."""
        found = [*found, *(() if walk.above else self.named)]
        others = [address for address in found if not self.site.follows(address)]  # what they list is missing
        for address in others[:_MOST]:
            message = f"the sitemap {address} is not on one of the catalogue's hosts: name its host in `hosts`"
            self.report("offsite", message, None)
        if len(others) > _MOST:
            message = f"{len(others) - _MOST} more sitemaps of {walk.name} are not on one of the catalogue's hosts"
            self.report("offsite", message, None)
        listed = {"list_name": "walks", "listed_by": walk.key}
        new = [
            address
            for address in filter(self.site.follows, found)
            if self.crawl.seen(canonicalize_url(address), **listed)
        ]
        if new and len(walk.above) >= _DEEPEST:
            self.report("trap", f"{new[0]} is a sitemap deeper than {_DEEPEST} others", None)
            return []
        if not self.crawl.limits.is_set:
            return [Offer("walk", address, Address(address)) for address in new]
        for address in new:
            self.crawl.seen(address, list_name=_WAITING.format(len(walk.above) + 1), listed_by=walk.key)
        return []

    def short(self, walk: Walk[Address]) -> Iterator[Any]:
        """Go on with the sitemaps of robots.txt, where the first one did not come."""
        yield from super().short(walk)
        for offer in self._below([], walk) if not walk.pages else ():
            yield self._walk(offer.name, len(walk.above) + 1)

    def ended(self, walk: Walk[Address]) -> Iterator[Any] | None:
        """Yield the next of the sitemaps that wait."""
        for depth in range(1, _DEEPEST + 1):
            for address in self.crawl.records.listed(_WAITING.format(depth)):
                if address not in self.crawl.run_state.walks.lists:
                    return iter((self._walk(address, depth),))
        return super().ended(walk)

    def _walk(self, address: str, depth: int) -> Walk[Address]:
        return Walk(ask=Address(address), name=address, above=("",) * depth)
