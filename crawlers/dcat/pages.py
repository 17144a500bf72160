"""Asks for a catalogue's pages, reads them, and hands on their records."""

from __future__ import annotations

import asyncio
from abc import abstractmethod
from contextlib import closing
from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar

from scrapy import Request
from scrapy.http import HtmlResponse
from w3lib.url import canonicalize_url

from crawlers import arguments
from crawlers.arguments import Argument
from crawlers.catalogue import CatalogueSpider
from crawlers.dcat import html
from crawlers.dcat.answer import NO_RDF, body, read
from crawlers.dcat.place import Place
from crawlers.exceptions import AnswerError, ArgumentError
from crawlers.moment import now
from crawlers.rdf import formats
from crawlers.safety import inside, strict_json

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator

    from scrapy.http import Response
    from twisted.python.failure import Failure

    from crawlers.dcat.page import Page, Record
    from crawlers.items import Dataset

MOST_HOPS = 2  # HTML pages between the address given and the RDF
MOST_NAMELESS = 1000  # records of a page without an id; no error line for each of millions
_MOST_HTML = 2_000_000  # bytes; a link to the RDF stands near the beginning
_STEPS = 500  # statements of what something is, between two looks at what else there is to do
_LOOKS = {"modified": 2, "first": 3}  # by which the request for a page that is asked for again is another one


class DCATPages(CatalogueSpider):
    """The part of `DCATSpider` that reads pages; `DCATWalk` says which.

    Attributes:
        url: the catalogue's RDF, or a page that leads to it; ``-a url=`` goes before it.
    """

    address = "url"
    arguments: ClassVar[dict[str, Argument]] = CatalogueSpider.arguments | {
        "url": Argument(help="The catalogue's RDF or data.json, or a page that links to it.", parse=arguments.url),
        "language": Argument(
            help="The language of titles and descriptions where there are several: fr, de.", parse=arguments.language
        ),
    }

    url: str | None = None

    def __init__(self, **given: str) -> None:
        super().__init__(**given)
        self.url = self.args["url"] or self.url
        if self.url is None:
            raise ArgumentError(
                f"spider {self.name} needs to know the catalogue: -a url=https://example.org/catalog.ttl"
            )

    @property
    def portal(self) -> str | None:
        """The address that the user named: the host that may be private, and that credentials are for."""
        return self.url

    @abstractmethod
    def turn(self, response: Response, after: Place, page: Page) -> Iterator[Request]:
        """Yield the request that follows a page, if one does."""

    @abstractmethod
    def unreadable(
        self, error: AnswerError, request: Request | None, place: Place, status: int | None = None
    ) -> Iterator[Request]:
        """Report a page that can't be read; yield the request that follows it, if one does."""

    @abstractmethod
    def page_failed(self, failure: Failure) -> Iterator[Request]:
        """Report a page that did not come; yield the request that follows it, if one does."""

    def page_request(self, url: str, place: Place) -> Request:
        again = {"page": _LOOKS[place.look], "dont_cache": True} if place.look else {}  # or it is filtered as known
        return Request(
            url,
            headers={"Accept": formats.ACCEPT},
            callback=self.parse_page,
            errback=self.page_failed,
            cb_kwargs={"place": place.plain()},
            meta={"spool": True, **again},
        )

    async def parse_page(self, response: Response, place: dict[str, Any]) -> AsyncIterator[Dataset | Request]:
        here = Place(**place)
        if "cached" in response.flags:
            self.provisional()
        self.page_came(response, here)
        most = self.crawler.settings.getint("JSON_MAXSIZE")
        try:
            page = read(response, name=self.source, language=self.args["language"], most_json=most)
            if page is None:
                yield self.behind(response, here)
                return
            with closing(page):
                await self.load(page)
                async for output in self.parse_contents(response, here, page):
                    yield output
        except AnswerError as error:
            for request in self.unreadable(error, response.request, here):
                yield request

    def behind(self, response: Response, here: Place) -> Request:
        """The request for the RDF that an HTML page leads to.

        Raises:
            AnswerError: it leads to none.
        """
        head = response.body[:_MOST_HTML] if isinstance(response, HtmlResponse) else body(response).read(_MOST_HTML)
        address = html.alternate(HtmlResponse(response.url, headers=response.headers, body=head))
        if address is None or here.hops >= MOST_HOPS or not self.is_new_page(address, asked_by(response, here), here):
            raise AnswerError("not_rdf", f"an HTML page came instead of RDF: {NO_RDF}")
        self.logger.info("%s is an HTML page: going on to %s", response.url, address)
        return self.page_request(address, replace(here, hops=here.hops + 1))

    async def load(self, page: Page) -> None:
        """A large file takes seconds; a signal or a time-out need not wait so long.

        Raises:
            CloseSpider: the disk is full.
        """
        with self.remembering():
            for step, _ in enumerate(page.load()):
                if step % _STEPS == 0:
                    await asyncio.sleep(0)

    async def parse_contents(self, response: Response, here: Place, page: Page) -> AsyncIterator[Dataset | Request]:
        for repair in page.repairs:
            self.logger.warning("%s: %s", response.url, repair)
        after = here.after(page)
        if not after.branch:
            self.expected(after.total)
        try:
            for record in page.records():
                if self.is_enough(after):
                    self.stopped(after)
                    return
                for item in self.take(record, response, after, page):
                    yield item
        finally:
            self.report_faults(page, response)
        for request in self.turn(response, after, page):
            yield request

    def take(self, record: Record, response: Response, after: Place, page: Page) -> Iterator[Dataset]:
        """Count a record, and yield its item unless it is known."""
        after.empty = False
        key = record.key or f"{response.url} {record.what}"
        by = asked_by(response, after)
        own = not after.branch or self.noticed(key, list_name=after.list_name, by=by)
        if not self.noticed(key, list_name="nodes", by=by):
            after.counted += own and bool(after.branch)
            after.repeated |= not (own and after.branch)
            return
        after.listed += 1
        after.counted += 1
        after.stale = 0
        self.listed(after.listed)
        for item in self.guarded(self.parse_record(response, after, page, record), response, {"id": record.id}):
            after.resources += len(item.resources)
            yield item

    def report_faults(self, page: Page, response: Response) -> None:
        for fault in page.faults:
            error = AnswerError("invalid_rdf", fault.message)
            self.failed("parse", error, response.request, dataset_id=page.torn(fault))

    def stopped(self, place: Place) -> None:
        """The user wants no more."""
        self.limited()
        self.list_ended(place.list_name)
        self.list_ended("pages")

    def is_enough(self, place: Place) -> bool:
        """Whether the user wants no more."""
        datasets, resources = self.args["max_datasets"], self.args["max_resources"]
        return bool((datasets and place.listed >= datasets) or (resources and place.resources >= resources))

    def parse_record(self, response: Response, after: Place, page: Page, record: Record) -> Iterator[Dataset]:
        """
        Raises:
            AnswerError: too many records of the page have no id; the rest of it is not read.
        """
        if record.id is None:
            page.nameless += 1
            if page.nameless > MOST_NAMELESS:
                message = f"more than {MOST_NAMELESS} records have no identifier: the rest of the page is not read"
                raise AnswerError("missing_id", message)
            message = f"{record.what} has no identifier, so it is not kept"
            self.failed("list", AnswerError("missing_id", message), response.request)
            return
        with self.remembering():
            first = page.is_first(record.id)
        if not (first and self.planned("dataset", record.id, by=asked_by(response, after))):
            message = f"{record.what} has the identifier of another dataset, so it is not kept"
            self.failed("list", AnswerError("duplicate_id", message), response.request, dataset_id=record.id)
            return
        dataset = record.item()
        if page.faults and not dataset.torn and self.has_lost(dataset, page):
            dataset.torn = True
            dataset.flaws.append("it lacks what the document on disk has, and a part of the file can't be read")
        dataset.metadata_source = page.source
        # What is gone is found by the catalogue's own pages: another that is named by them may be gone itself
        dataset.metadata_url = response.url if after.way == "page" and not after.branch else str(self.url)
        dataset.retrieved = now()
        yield dataset

    def has_lost(self, dataset: Dataset, page: Page) -> bool:
        """Whether the document on disk says more than what came."""
        index = self.opened_index()
        known = index.get("dataset", dataset.id, None)
        try:
            before = strict_json.loads(inside.read(index.folder, known.file)) if known else None
        except (OSError, ValueError):  # it will be written again
            return False
        return bool(before) and page.lacks(dataset.document, before)

    def page_came(self, response: Response, place: Place) -> None:
        """Take note of where a page came from: what leads back to it, or to a part of it, is no further page."""
        for address in dict.fromkeys((response.url, canonicalize_url(response.url))):
            self.noticed(address, list_name=place.pages_name, by="came")

    def is_new_page(self, url: str, by: str, place: Place) -> bool:
        """Return whether a page was not asked for before: what the scheduler takes for the same request is the same.

        Args:
            by: what identifies the request whose answer leads there.
        """
        return self.noticed(canonicalize_url(url), list_name=place.pages_name, by=by)


def asked_by(response: Response, place: Place) -> str:
    """The address that a page was asked for by, wherever it was redirected to; and that it is another look at it."""
    request = response.request
    asked = response.url if request is None else str(request.meta.get("redirect_urls", [request.url])[0])
    return place.by(asked)
