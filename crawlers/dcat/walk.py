"""Walks a catalogue's pages, and knows when that is over."""

from __future__ import annotations

import asyncio
from contextlib import closing
from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar

from scrapy import Request
from scrapy.http import HtmlResponse

from crawlers import arguments, failures
from crawlers.arguments import Argument
from crawlers.catalogue import CatalogueSpider
from crawlers.dcat import html, paging
from crawlers.dcat.answer import NO_RDF, body, read
from crawlers.dcat.page import Place
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


class DCATWalk(CatalogueSpider):
    """The part of `DCATSpider` that asks for the pages and hands on their records.

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

    async def start(self) -> AsyncIterator[Request]:
        self.list_begun("pages")
        yield self.page_request(str(self.url), Place())

    def page_request(self, url: str, place: Place) -> Request:
        return Request(
            url,
            headers={"Accept": formats.ACCEPT},
            callback=self.parse_page,
            errback=self.page_failed,
            cb_kwargs={"place": place.plain()},
            meta={"spool": True},
        )

    async def parse_page(self, response: Response, place: dict[str, Any]) -> AsyncIterator[Dataset | Request]:
        here = Place(**place)
        if "cached" in response.flags:
            self.provisional()
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
            self.not_read(error, response.request)

    def behind(self, response: Response, here: Place) -> Request:
        """The request for the RDF that an HTML page leads to.

        Raises:
            AnswerError: it leads to none.
        """
        head = response.body[:_MOST_HTML] if isinstance(response, HtmlResponse) else body(response).read(_MOST_HTML)
        address = html.alternate(HtmlResponse(response.url, headers=response.headers, body=head))
        if address is None or here.hops >= MOST_HOPS or not self.is_new_page(address, response):
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
        self.expected(after.total)
        try:
            for record in page.records():
                if self.is_enough(after):
                    self.stopped()
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
        if not self.noticed(key, list_name="nodes", by=_asked(response)):
            return
        after.listed += 1
        after.stale = 0
        self.listed(after.listed)
        for item in self.guarded(self.parse_record(response, page, record), response, {"id": record.id}):
            after.resources += len(item.resources)
            yield item

    def report_faults(self, page: Page, response: Response) -> None:
        for fault in page.faults:
            error = AnswerError("invalid_rdf", fault.message)
            self.failed("parse", error, response.request, dataset_id=page.torn(fault))

    def stopped(self) -> None:
        """The user wants no more."""
        self.limited()
        self.list_ended("pages")

    def is_enough(self, place: Place) -> bool:
        """Whether the user wants no more."""
        datasets, resources = self.args["max_datasets"], self.args["max_resources"]
        return bool((datasets and place.listed >= datasets) or (resources and place.resources >= resources))

    def parse_record(self, response: Response, page: Page, record: Record) -> Iterator[Dataset]:
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
        if not (first and self.planned("dataset", record.id, by=_asked(response))):
            message = f"{record.what} has the identifier of another dataset, so it is not kept"
            self.failed("list", AnswerError("duplicate_id", message), response.request, dataset_id=record.id)
            return
        dataset = record.item()
        if page.faults and not dataset.torn and self.has_lost(dataset, page):
            dataset.torn = True
            dataset.flaws.append("it lacks what the document on disk has, and a part of the file can't be read")
        dataset.metadata_source = page.source
        dataset.metadata_url = response.url
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

    # Where it goes on

    def turn(self, response: Response, after: Place, page: Page) -> Iterator[Request]:
        for name in page.undescribed():
            self.noticed(name, list_name="named", by=_asked(response))
        stated = page.following(response.url) or paging.linked(response.headers.getlist("Link"), response.url)
        following = stated or (None if after.empty or after.told else paging.counted(response.url))
        goes_on = following is not None and after.is_fruitful and self.is_new_page(following, response)
        if goes_on and self.is_enough(after):
            self.stopped()
        elif goes_on:
            yield self.page_request(str(following), replace(after, told=bool(stated), guessed=not stated))
        elif after.is_all or (following is None and after.is_end):
            self.end(response.request, after)
        else:
            self.loop(response, after)

    def is_new_page(self, url: str, response: Response) -> bool:
        asked = _asked(response)
        self.noticed(response.url, list_name="pages", by=asked)
        return url not in (response.url, asked) and self.noticed(url, list_name="pages", by=asked)

    def loop(self, response: Response, after: Place) -> None:
        self.list_ended("pages")
        of = "" if after.total is None else f" of {after.total}"
        message = f"the catalogue's pages repeat, or end in an empty one, after {after.listed}{of} datasets"
        self.failed("list", AnswerError("paging", message), response.request)

    def end(self, request: Request | None, after: Place) -> None:
        """What was listed against what was promised; a difference is an error line, whatever its cause."""
        self.list_ended("pages")
        self.expected(after.listed if after.total is None else after.total)
        if not after.listed and not after.catalogue:
            message = "what came describes no dataset, and is no catalogue: there is no dcat:Dataset in it"
            self.failed("list", AnswerError("no_datasets", message), request)
        elif after.total is not None and after.listed < after.total:
            message = f"the catalogue says it has {after.total} datasets, and listed {after.listed}"
            self.failed("list", AnswerError("count_mismatch", message), request)
        else:
            for name in self.records.only_in("named", "nodes"):
                message = f"the catalogue names the dataset {name}, and says nothing of it"
                self.failed("list", AnswerError("undescribed", message), request)
            self.list_complete(after)

    def list_complete(self, after: Place) -> None:
        """What there is to do when every page was read."""

    def page_failed(self, failure: Failure) -> None:
        request, status = failures.request(failure), failures.status(failure)
        place = Place(**request.cb_kwargs["place"])
        if place.guessed and status in (404, 410):
            self.end(request, place)
        else:
            self.not_read(failures.of(failure), request, status)

    def not_read(self, error: AnswerError, request: Request | None, status: int | None = None) -> None:
        self.list_ended("pages")
        self.failed("list", error, request, http_status=status)


def _asked(response: Response) -> str:
    """The address that a page was asked for by, wherever it was redirected to."""
    request = response.request
    if request is None:
        return response.url
    return str(request.meta.get("redirect_urls", [request.url])[0])
