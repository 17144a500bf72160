"""Single pages for `scrapy learn` and `scrapy try`: requested as a crawl would, or read from saved files."""

from __future__ import annotations

import signal
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Self
from urllib.parse import urlsplit

import scrapy
from scrapy.http import HtmlResponse
from scrapy.utils.ossignal import install_shutdown_handlers

from crawlers.components import browser
from crawlers.components.browser.executables import BrowserError
from crawlers.components.politeness import failures
from crawlers.exceptions import AnswerError, CrawlersError
from crawlers.kinds.html.answer import page_of
from crawlers.operate.learn.sample import Sample, origin

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Collection, Iterable, Iterator

    from scrapy import Request
    from scrapy.commands import ScrapyCommand
    from scrapy.crawler import Crawler
    from scrapy.http import Response
    from twisted.python.failure import Failure

    from crawlers.kinds.html.mapping import Page

_HEAD = 5_000  # bytes that show whether a file is text
_BINARY = (b"%PDF", b"PK\x03\x04", b"\x1f\x8b")  # PDF, ZIP, gzip
_UTF16 = (b"\xff\xfe", b"\xfe\xff")
_LARGEST = 64 * 1024 * 1024  # bytes of a saved page


class PagesError(CrawlersError):
    """A page is not available; raised by `pages`."""


class Turn(NamedTuple):
    """A page as it is after something has happened in a browser.

    Args:
        name: what the page is known by.
        turning: as `crawlers.components.browser.turns.Turning` takes it.
    """

    name: str
    address: str
    turning: dict[str, Any]


class PagesSpider(scrapy.Spider):
    """Requests the addresses that a user typed, and further ones that their pages lead to.

    Attributes:
        found: the page of each address, or the error.
        emptied: takes the addresses of pages that scripts fill, which are requested again in a browser; ``None`` if
            they are not to be, or without a browser.
    """

    name = "pages"
    custom_settings = {"ITEM_PIPELINES": {}}  # noqa: RUF012

    def __init__(
        self,
        addresses: Iterable[str],
        *,
        then: Any,
        in_browser: Collection[str],
        found: dict[str, Any],
        encoding: str | None = None,
        emptied: set[str] | None = None,
    ) -> None:
        super().__init__()
        self.start_urls = list(addresses)  # so these hosts may be private
        self.then = then
        self.in_browser = in_browser
        self.encoding = encoding
        self.found = found
        self.emptied = emptied
        self.waiting = len(self.start_urls)

    @classmethod
    def from_crawler(cls, crawler: Crawler, *args: Any, **keywords: Any) -> Self:
        spider = super().from_crawler(crawler, *args, **keywords)
        if spider.in_browser:
            browser.enable(crawler)
        elif spider.emptied is not None:
            try:
                browser.enable(crawler)
            except BrowserError:
                spider.emptied = None
        return spider

    async def start(self) -> AsyncIterator[Request]:
        end_at_once()
        for address in self.start_urls:
            yield self.request(address)

    def request(self, asked: str | Turn) -> Request:
        name, address, turning = asked if isinstance(asked, Turn) else (asked, asked, {"kind": None, "times": 0})
        is_turned = isinstance(asked, Turn) or address in self.in_browser
        meta: dict[str, Any] = {"browser": turning} if is_turned else {}
        meta["encoding"] = self.encoding
        keywords = {"address": name}
        return scrapy.Request(
            address, self.parse_page, errback=self.failed, cb_kwargs=keywords, meta=meta, dont_filter=True
        )

    def parse_page(self, response: Response, address: str) -> Iterator[Request]:
        try:
            page = self.found[address] = page_of(response)
        except AnswerError as error:
            self.found[address] = error
            return self.finished()
        if self.emptied is not None and "browser" not in response.meta and Sample(page).looks_empty:
            self.emptied.add(address)
            self.in_browser = {*self.in_browser, address}
            return iter((self.request(address),))
        return self.finished()

    def failed(self, failure: Failure) -> Iterator[Request]:
        self.found[failures.request(failure).cb_kwargs["address"]] = failures.from_failure(failure)
        return self.finished()

    def finished(self) -> Iterator[Request]:
        self.waiting -= 1
        if self.waiting == 0 and self.then:
            further, self.then = self.then(self.found, self.in_browser), None
            yield from map(self.request, further)


def end_at_once() -> None:
    """Treat an interrupt as two, which stops Scrapy at once: there is no crawl to finish."""
    gracefully = signal.getsignal(signal.SIGINT)

    def stop(number: int, frame: Any) -> None:
        if callable(gracefully):
            gracefully(number, frame)
            signal.raise_signal(number)

    install_shutdown_handlers(stop)


def pages(
    command: ScrapyCommand,
    addresses: list[str],
    *,
    base: str | None = None,
    then: Callable[[dict[str, Any], Collection[str]], list[str | Turn]] | None = None,
    in_browser: Collection[str] = (),
    encoding: str | None = None,
    emptied: set[str] | None = None,
) -> dict[str, Page]:
    """Return the page of each address or file, by what the user typed.

    Args:
        base: the address of saved pages that do not state theirs.
        then: returns what more is requested, of the typed pages and those that a browser has loaded; what is not
            available is left out.
        in_browser: the addresses that a browser loads.
        encoding: the pages' encoding according to the rules.
        emptied: takes the addresses that a browser has loaded because scripts fill the pages.

    Raises:
        PagesError: a page is not available; the message says why in one sentence.
    """
    found: dict[str, Any] = {typed: _saved(Path(typed), base, encoding) for typed in addresses if not is_address(typed)}
    asked = list(dict.fromkeys(address for address in addresses if address not in found))
    failure: list[CrawlersError] = []
    further = partial(_further, then, found, addresses, failure)
    if more := asked or further(found, ()):
        given = {"in_browser": in_browser, "found": found, "encoding": encoding, "emptied": emptied}
        _crawl(command, addresses=more, then=further if asked else None, **given)
    return _checked(addresses, found, failure)


def is_address(text: str) -> bool:
    """Return whether a text is an http(s) address.

    Raises:
        PagesError: it starts like one, but has no valid host.
    """
    text = text.strip()
    if not text.lower().startswith(("http://", "https://")):
        return False
    try:
        parts = urlsplit(text)
        is_valid = bool(parts.hostname) and parts.port != 0
    except ValueError:
        is_valid = False
    if not is_valid:
        raise PagesError(f"{text} is not a valid address.")
    return True


def _further(
    then: Any,
    found: dict[str, Any],
    addresses: list[str],
    failure: list[CrawlersError],
    _: Any,
    in_browser: Collection[str],
) -> list[str | Turn]:
    """Return further addresses; none if a page is missing, which is reported first."""
    if then is None or any(not _is_page(found.get(one)) for one in addresses):
        return []
    try:
        return [one for one in then(found, in_browser) if isinstance(one, Turn) or one not in found]
    except CrawlersError as error:
        failure.append(error)
        return []


def _is_page(found: Any) -> bool:
    return found is not None and not isinstance(found, Exception)


def _checked(addresses: list[str], found: dict[str, Any], failure: list[CrawlersError]) -> dict[str, Page]:
    if failure:
        raise failure[0]
    for one in addresses:
        if not _is_page(found.get(one)):
            reason = str(found.get(one) or "the crawl ended before it was loaded").rstrip(".")
            raise PagesError(f"{one} is not available: {reason}.")
    return {address: page for address, page in found.items() if _is_page(page)}


def crawl_error(command: ScrapyCommand, spider: type[scrapy.Spider], **keywords: Any) -> BaseException | None:
    """Run a spider; return the exception that kept it from starting, if there is one."""
    process: Any = command.crawler_process
    task = process.crawl(spider, **keywords)
    process.start()
    return task.exception() if task.done() and not task.cancelled() else None


def _crawl(command: ScrapyCommand, **keywords: Any) -> None:
    error = crawl_error(command, PagesSpider, **keywords)
    if isinstance(error, CrawlersError):
        raise error
    if error is not None:
        raise PagesError(f"The crawl could not start: {type(error).__name__}: {error}") from error


def _saved(path: Path, base: str | None, encoding: str | None) -> Page:
    """Return a saved page.

    Raises:
        PagesError: the file is not readable, or not an HTML page.
    """
    try:
        if path.stat().st_size > _LARGEST:
            raise PagesError(f"{path} is larger than {_LARGEST} bytes.")
        body = path.read_bytes()
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise PagesError(f"{path} is neither an http(s) address nor a readable file: {reason}.") from None
    if body.startswith(_BINARY) or (b"\x00" in body[:_HEAD] and not body.startswith(_UTF16)):
        raise PagesError(f"{path} is not an HTML page: it contains binary data.")
    where = origin(body, path.name) if base is None else origin(body, path.name, base)
    try:
        return page_of(HtmlResponse(where, body=body), encoding)
    except AnswerError as error:
        raise PagesError(f"{path}: {error}.") from None
