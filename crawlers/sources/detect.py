"""Finds out what an address is, in a few requests: a generator of addresses that is sent what each gave."""

from __future__ import annotations

import re
from collections.abc import Generator, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TypeVar
from urllib.parse import urljoin, urlsplit

from scrapy.http import HtmlResponse, Response
from w3lib.url import safe_url_string

from crawlers import arguments
from crawlers.dcat.html import alternate
from crawlers.exceptions import AnswerError
from crawlers.sources.sniff import Sniffed, counted, sniff
from crawlers.sources.unclear import OVER, unclear

T = TypeVar("T")
Answer = Response | AnswerError
Asking = Generator[str, Answer, T]
"""Gives addresses, one at a time, and is sent what came of each."""

KINDS = ("ckan", "dcat", "html")
MOST = 8
"""Requests, at most, until it is known what an address is."""
HEAD = 2 * 1024 * 1024
"""Bytes of an answer that are looked at."""

_ENOUGH = f"not asked for, {MOST} requests are enough"
_CATALOGUES = ("/catalog.ttl", "/data.json", "/catalog.rdf", "/catalog.xml", "/catalog.jsonld")
_PAGES = re.compile(r"/(organization|group|showcase|harvest|user|about|stats)(/.*)?$")
_FILE = re.compile(r"/[^/]*\.[A-Za-z0-9]{2,8}$")
_LOCALE = re.compile(r"/[a-z]{2}([_-][A-Za-z]{2,4})?$")
_SITE_ROOT = re.compile(rb"""data-site-root=["']([A-Za-z0-9:/._~%-]{1,500})["']""")


@dataclass(frozen=True, slots=True)
class Finding:
    """
    Args:
        kind: ``ckan``, ``dcat`` or ``html``.
        address: where that is: the portal's root, the file, the page.
        says: why it is taken for that, for people.
        page: of HTML: the page.
    """

    kind: str
    address: str
    says: str
    page: HtmlResponse | None = None


@dataclass(slots=True)
class Detection:
    """
    detection = Detection("https://demo.ckan.org")
    found = yield from detection.run()

    Args:
        url: what the user typed.
        kinds: what it may be; by default anything.

    Attributes:
        said: each address that was asked for, and what came of it, for people.
    """

    url: str
    kinds: tuple[str, ...] = KINDS
    said: list[tuple[str, str]] = field(default_factory=list)
    answers: dict[str, Answer] = field(default_factory=dict)
    doubts: dict[str, str] = field(default_factory=dict)

    def run(self) -> Asking[list[Finding]]:
        """What it may be harvested as, the best first: CKAN, DCAT and data.json, HTML.

        As long as it is not clear that something better is not there, nothing is taken for want of it.
        """
        first = yield from self.ask(self.url)
        if isinstance(first, AnswerError):
            self.said.append((self.url, str(first)))
            return (yield from self.elsewhere())
        seen = sniff(first)
        self.said.append((first.url, seen.says))
        if urlsplit(first.url).hostname != urlsplit(self.url).hostname:
            self.said.append((self.url, f"leads to another host: if nothing is found, add {first.url}"))
        found: list[Finding] = []
        if "ckan" in self.kinds:
            found += yield from self.ckan(first.url, first.body)
        if "dcat" in self.kinds:
            found += yield from self.dcat(first, seen, further=not (found or self.unclear))
        if "html" in self.kinds and not (found or self.unclear) and seen.kind == "html":
            found += self.html(first, seen)
        return found

    def elsewhere(self) -> Asking[list[Finding]]:
        """What the host has, where the address itself has nothing."""
        found = (yield from self.ckan(self.url, b"")) if "ckan" in self.kinds else []
        if found or self.unclear or "dcat" not in self.kinds:
            return found
        return (yield from self.listed(self.url, None))

    def ask(self, address: str) -> Asking[Answer]:
        """What came, now or before."""
        if address not in self.answers:
            if len(self.answers) >= MOST:
                return AnswerError("ignored", _ENOUGH)
            if not _is_plain(address):
                return AnswerError("ignored", "no address that can be asked for")
            self.answers[address] = answer = yield address
            why = unclear(answer)
            self.doubts |= {address: why} if why else {}
        return self.answers[address]

    def look(self, address: str) -> Asking[tuple[Response, Sniffed] | None]:
        """What came, and what that is; said to people."""
        answer = yield from self.ask(address)
        if isinstance(answer, AnswerError):
            self.said.append((address, str(answer)))
            return None
        seen = sniff(answer)
        self.said.append((address, seen.says))
        return answer, seen

    @property
    def is_over(self) -> bool:
        """Whether the host is not to be had."""
        return any(isinstance(one, AnswerError) and one.kind in OVER for one in self.answers.values())

    @property
    def unclear(self) -> str | None:
        """What was asked for in vain, and may be there all the same, for people."""
        return next((f"{address}: {why}" for address, why in self.doubts.items()), None)

    def lines(self) -> Iterator[str]:
        """What was asked for and what came; the addresses that are not there, and those left out, on a line each."""
        missing = [address for address, says in self.said[1:] if "HTTP 404" in says]
        left = [address for address, says in self.said if says == _ENOUGH]
        yield from (f"{address}: {says}" for address, says in self.said if address not in (*missing, *left))
        for what, those in (("Not there", missing), (_ENOUGH.capitalize(), left)):
            if those:
                yield f"{what}: {', '.join(urlsplit(address).path for address in those)}"

    # CKAN

    def ckan(self, url: str, body: bytes) -> Asking[list[Finding]]:
        for root in dict.fromkeys(_roots(url, body)):
            if self.is_over:
                break
            address = f"{root}/api/3/action/package_search?rows=0"
            answer = yield from self.ask(address)
            if isinstance(answer, Response):
                count = counted(answer)
                self.said.append((address, "no answer of CKAN's API" if count is None else _ckan(count)))
                if count is not None:
                    return [Finding("ckan", root, f"CKAN's API is there, and says that it has {count} datasets")]
            else:
                self.said.append((address, str(answer)))
            if address in self.doubts:
                break
        return []

    # DCAT

    def dcat(self, first: Response, seen: Sniffed, *, further: bool) -> Asking[list[Finding]]:
        """
        Args:
            further: whether more may be asked for than what came already.
        """
        if seen.kind in ("rdf", "data_json"):
            return [Finding("dcat", self.url, f"it is {seen.says}")]  # a redirect may be signed, and for now
        if not further:
            return []
        return (yield from self.listed(first.url, self.alternate(first) if seen.kind == "html" else None))

    def listed(self, url: str, led: str | None) -> Asking[list[Finding]]:
        """
        Args:
            led: where the page leads to; then come the usual places.
        """
        led = led and safe_url_string(led)
        for address in dict.fromkeys([*([led] if led else []), *_places(url)]):
            if self.is_over:
                break
            came = yield from self.look(address)
            if came and came[1].kind in ("rdf", "data_json"):
                how = f"the page links to {came[1].says}" if address == led else f"there is {came[1].says}"
                return [Finding("dcat", address, how)]
        return []

    def alternate(self, first: Response) -> str | None:
        """The catalogue that the page links to."""
        try:
            return alternate(HtmlResponse(first.url, headers=first.headers, body=first.body))
        except AnswerError as error:
            self.said.append((first.url, str(error)))
            return None

    # HTML

    def html(self, first: Response, seen: Sniffed) -> Iterator[Finding]:
        page = HtmlResponse(first.url, headers=first.headers, body=first.body)
        yield Finding("html", first.url, f"it is {seen.says}", page)


def _roots(url: str, body: bytes) -> Iterator[str]:
    """Where CKAN may be: what its pages say, what stands before its own paths, the host."""
    named = _SITE_ROOT.search(body)
    parts = urlsplit(url)
    if named:
        with suppress(ValueError):
            told = arguments.portal(urljoin(url, named[1].decode("utf-8", "replace")))
            yield from [told] if urlsplit(told).netloc == parts.netloc else []
    host = f"{parts.scheme}://{parts.netloc}"
    path = _path(url)
    yield from (host + path, host + _LOCALE.sub("", path), host)


def _path(url: str) -> str:
    """What stands before CKAN's own paths, and before a file.

    >>> _path("https://example.org/opendata/dataset/rivers"), _path("https://example.org/data/catalog.ttl")
    ('/opendata', '/data')
    """
    parts = urlsplit(url)
    path = _PAGES.sub("", _FILE.sub("", parts.path))
    return urlsplit(arguments.portal(parts._replace(path=path, query="", fragment="").geturl())).path


def _places(url: str) -> Iterator[str]:
    """Where a catalogue's file usually is: below the path, then at the host.

    >>> list(_places("https://example.org/a/"))[:3]
    ['https://example.org/a/catalog.ttl', 'https://example.org/catalog.ttl', 'https://example.org/a/data.json']
    """
    for name in _CATALOGUES:
        yield from (urljoin(url, _path(url) + name), urljoin(url, name))


def _ckan(count: int) -> str:
    return f"CKAN, {count} dataset{'s' * (count != 1)}"


def _is_plain(address: str) -> bool:
    try:
        arguments.url(address)
    except ValueError:
        return False
    return True
