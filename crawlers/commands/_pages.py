"""Single pages for the commands that look at some: fetched as a crawl would, or saved ones read."""

from __future__ import annotations

import signal
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self
from urllib.parse import urlsplit

import scrapy
from scrapy.http import HtmlResponse
from scrapy.utils.ossignal import install_shutdown_handlers

from crawlers import browser, failures
from crawlers.exceptions import AnswerError, CrawlersError
from crawlers.html.answer import page_of
from crawlers.learn.saved import origin

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Collection, Iterable, Iterator

    from scrapy import Request
    from scrapy.commands import ScrapyCommand
    from scrapy.crawler import Crawler
    from scrapy.http import Response
    from twisted.python.failure import Failure

    from crawlers.mapping.html import Page

_HEAD = 5_000  # bytes that tell a text
_NO_PAGES = (b"%PDF", b"PK\x03\x04", b"\x1f\x8b")  # PDF, ZIP, gzip
_UTF16 = (b"\xff\xfe", b"\xfe\xff")
_LARGEST = 64 * 1024 * 1024  # bytes of a saved page


class PagesError(CrawlersError):
    """A page can't be had; raised by `pages`."""


class PagesSpider(scrapy.Spider):
    """Asks for the addresses that a user typed, and for those that their pages lead to.

    Attributes:
        found: the page of each address, or why there is none.
    """

    name = "pages"
    custom_settings = {"ITEM_PIPELINES": {}}  # noqa: RUF012

    def __init__(
        self,
        addresses: Iterable[str],
        then: Any,
        in_browser: Collection[str],
        found: dict[str, Any],
        encoding: str | None = None,
    ) -> None:
        super().__init__()
        self.start_urls = list(addresses)  # hosts that the user named may be private
        self.then = then
        self.in_browser = in_browser
        self.encoding = encoding
        self.found = found
        self.waiting = len(self.start_urls)

    @classmethod
    def from_crawler(cls, crawler: Crawler, *args: Any, **keywords: Any) -> Self:
        spider = super().from_crawler(crawler, *args, **keywords)
        if spider.in_browser:
            browser.enable(crawler)
        return spider

    async def start(self) -> AsyncIterator[Request]:
        _end_at_once()
        for address in self.start_urls:
            yield self.request(address)

    def request(self, address: str) -> Request:
        meta: dict[str, Any] = {"browser": {"kind": None, "times": 0}} if address in self.in_browser else {}
        meta["encoding"] = self.encoding
        keywords = {"address": address}
        return scrapy.Request(
            address, self.parse_page, errback=self.failed, cb_kwargs=keywords, meta=meta, dont_filter=True
        )

    def parse_page(self, response: Response, address: str) -> Iterator[Request]:
        try:
            self.found[address] = page_of(response)
        except AnswerError as error:
            self.found[address] = error
        return self.had()

    def failed(self, failure: Failure) -> Iterator[Request]:
        self.found[failures.request(failure).cb_kwargs["address"]] = failures.of(failure)
        return self.had()

    def had(self) -> Iterator[Request]:
        self.waiting -= 1
        if self.waiting == 0 and self.then:
            further, self.then = self.then(self.found), None
            yield from map(self.request, further)


def _end_at_once() -> None:
    """An interrupt is taken for two, of which the second waits for nothing: there is no crawl to bring to an end."""
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
    then: Callable[[dict[str, Any]], list[str]] | None = None,
    in_browser: Collection[str] = (),
    encoding: str | None = None,
) -> dict[str, Page]:
    """The page of each address or file, by what the user typed.

    Args:
        base: where saved pages are from that do not say it themselves.
        then: given the pages that were typed, it names further addresses; what can't be had of those is left out.
        in_browser: the addresses that a browser shows.
        encoding: the one that the rules say the pages are in.

    Raises:
        PagesError: a page can't be had; the message says why in one sentence.
    """
    found: dict[str, Any] = {one: _saved(Path(one), base, encoding) for one in addresses if not is_address(one)}
    asked = list(dict.fromkeys(one for one in addresses if one not in found))
    failure: list[CrawlersError] = []
    further = partial(_further, then, found, addresses, failure)
    given = {"in_browser": in_browser, "found": found, "encoding": encoding}
    if more := asked or further(found):
        _crawl(command, addresses=more, then=further if asked else None, **given)
    if failure:
        raise failure[0]
    return _checked(addresses, found)


def is_address(text: str) -> bool:
    """
    Raises:
        PagesError: it is meant to be one, and names no host that could be asked.
    """
    text = text.strip()
    if not text.lower().startswith(("http://", "https://")):
        return False
    try:
        parts = urlsplit(text)
        is_whole = bool(parts.hostname) and parts.port != 0
    except ValueError:
        is_whole = False
    if not is_whole:
        raise PagesError(f"{text} is no address that can be asked for.")
    return True


def _further(then: Any, found: dict[str, Any], addresses: list[str], failure: list[CrawlersError], _: Any) -> list[str]:
    """What comes of the pages; nothing when one is missing, which is told first."""
    if then is None or any(not _is_page(found.get(one)) for one in addresses):
        return []
    try:
        return [one for one in then(found) if one not in found]
    except CrawlersError as error:
        failure.append(error)
        return []


def _is_page(found: Any) -> bool:
    return found is not None and not isinstance(found, Exception)


def _checked(addresses: list[str], found: dict[str, Any]) -> dict[str, Page]:
    for one in addresses:
        if not _is_page(found.get(one)):
            reason = str(found.get(one) or "the crawl ended before it came").rstrip(".")
            raise PagesError(f"{one} can't be had: {reason}.")
    return {address: page for address, page in found.items() if _is_page(page)}


def _crawl(command: ScrapyCommand, **keywords: Any) -> None:
    process: Any = command.crawler_process
    task = process.crawl(PagesSpider, **keywords)
    process.start()
    error = task.exception() if task.done() and not task.cancelled() else None
    if isinstance(error, CrawlersError):
        raise error
    if error is not None:
        raise PagesError(f"The crawl could not start: {type(error).__name__}: {error}") from error


def _saved(path: Path, base: str | None, encoding: str | None) -> Page:
    """
    Raises:
        PagesError: it can't be read, or is no page.
    """
    try:
        if path.stat().st_size > _LARGEST:
            raise PagesError(f"{path} is larger than {_LARGEST} bytes.")
        body = path.read_bytes()
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise PagesError(f"{path} is no http(s) address, and no file that can be read: {reason}.") from None
    if body.startswith(_NO_PAGES) or (b"\x00" in body[:_HEAD] and not body.startswith(_UTF16)):
        raise PagesError(f"{path} is no HTML page: it has bytes that no text has.")
    where = origin(body, path.name) if base is None else origin(body, path.name, base)
    try:
        return page_of(HtmlResponse(where, body=body), encoding)
    except AnswerError as error:
        raise PagesError(f"{path}: {error}.") from None
