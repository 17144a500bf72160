"""Crawls a web-accessible folder: its listings from the start address downwards, and every record they name."""

from __future__ import annotations

import asyncio
import hashlib
from typing import TYPE_CHECKING, Any, ClassVar, Self

from scrapy import Request, signals
from scrapy.http import HtmlResponse

from crawlers import arguments
from crawlers.arguments import Argument
from crawlers.exceptions import AnswerError, ArgumentError
from crawlers.kinds.waf.folder import Folder, is_listing, root_of
from crawlers.kinds.waf.records import StatementError, datasets
from crawlers.listing.dialect import Traits
from crawlers.listing.evidence import Ended, judge
from crawlers.listing.spider import CatalogueSpider, in_turns, repeated
from crawlers.listing.walk import ListingPage, Walk
from crawlers.politeness import failures
from crawlers.rdf import formats
from crawlers.values.moment import now

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator

    from scrapy.crawler import Crawler
    from scrapy.http import Response
    from twisted.python.failure import Failure

    from crawlers.items import Dataset
    from crawlers.kinds.waf.folder import Entry
    from crawlers.signals import Stage

_DEPTH = 10
_FOLDERS = 10_000
_STEP = 1_000  # links between two turns of other work
_SHOWN = 300


class WAFSpider(CatalogueSpider):
    """A web-accessible folder; the listing is whole when each folder was read, and each record that they name.

    Attributes:
        url: the folder; ``-a url=`` overrides it.
    """

    kind = "waf"
    address = "url"
    arguments: ClassVar[dict[str, Argument]] = CatalogueSpider.arguments | {
        "url": Argument(help="The folder's address.", parse=arguments.url),
    }
    url: str | None = None

    def __init__(self, **given: str) -> None:
        super().__init__(**given)
        self.url = self.args["url"] or self.url
        if self.url is None:
            raise ArgumentError(f"spider {self.name} needs to know the folder: -a url=https://example.org/metadata/")

    @classmethod
    def from_crawler(cls, crawler: Crawler, **given: str) -> Self:
        spider = super().from_crawler(crawler, **given)
        crawler.signals.connect(spider.conclude, signals.spider_idle)
        return spider

    @property
    def portal(self) -> str | None:
        """The address that the user named: the host that may be private."""
        return self.url

    async def start(self) -> AsyncIterator[Request]:
        self.run_state.walks.begin("folders")
        yield self.folder_request(str(self.url), None, 0, [])

    def folder_request(self, address: str, root: str | None, depth: int, above: list[str]) -> Request:
        given = {"root": root, "depth": depth, "above": above}
        return Request(address, self.parse_folder, errback=self.folder_failed, cb_kwargs=given)

    async def parse_folder(
        self, response: Response, root: str | None, depth: int, above: list[str]
    ) -> AsyncIterator[Request]:
        """Request what a listing names.

        Args:
            root: the start address; of the first answer, which may be a redirect's, it is not known yet.
            above: what `digest` gives for the folders that lead to this one.
        """
        if "cached" in response.flags:
            self.run_state.has_stale_answer = True
        root = root or root_of(response.url)
        try:
            found, own = await self.listed(response, root)
        except AnswerError as error:
            self.unread(error, response.request)
            return
        if own in above:  # a link to a folder above
            return
        above = [*above, own] if own else above
        for number, (address, what) in enumerate(found):
            if number % _STEP == 0:
                await asyncio.sleep(0)
            below = depth + (what == "folder")
            if what == "unknown" or not self.seen(address, list_name="addresses", listed_by=response.request):
                continue
            if what == "record" and not self.is_enough():
                self.seen(address, list_name="records", listed_by=response.request)
                yield Request(address, self.parse_record, errback=self.record_failed, meta={"spool": True})
            elif what != "record" and not self.is_too_deep(address, below, response.request):
                yield self.folder_request(address, root, below, above)

    async def listed(self, response: Response, root: str) -> tuple[list[Entry], str | None]:
        """Return what a listing names, and its digest; report what may be missing there.

        Raises:
            AnswerError: it has too many links, or came in part.
        """
        if response.status == 206:
            raise AnswerError("truncated", "the answer is a part, as it says itself (HTTP 206)")
        found: list[Entry] = []
        page = html_page(response)
        folder = Folder(page) if page else None
        if folder:
            await in_turns(folder.read())
            await in_turns(map(found.append, folder.entries(root)))
        is_named = page is not None and page.url.partition("?")[0].startswith(root)
        if not (found or (page and is_listing(page.body) and is_named)):
            message = f"the page is not a directory listing, and names no record below {root}"
            self.unread(AnswerError("unproven", message), response.request)
        unknown = [each.address for each in found if each.what == "unknown"]
        for address in (*unknown, *(folder.outside(root) if folder else ())):
            self.seen(address, list_name="left", listed_by=response.request)
        return found, folder.digest(found) if folder else None

    def is_enough(self) -> bool:
        """Return whether the user wants no more records than were requested; note that this leaves some out."""
        if not self.limits.is_set:
            return False
        counts = {"datasets": self.records.count("records"), "resources": self.records.count("resources")}
        is_enough = self.limits.is_reached(**counts)
        self.run_state.is_limited = self.run_state.is_limited or is_enough
        return is_enough

    def is_too_deep(self, address: str, depth: int, request: Request | None) -> bool:
        """Return whether a folder is not read, because it may be a link to its own parent; report it then."""
        self.seen(address, list_name="folders", listed_by=request)
        if depth <= _DEPTH and self.records.count("folders") <= _FOLDERS:
            return False
        message = f"{address} is not read: it is more than {_DEPTH} folders deep, or there are more than {_FOLDERS}"
        self.unread(AnswerError("trap", message), request)
        return True

    def folder_failed(self, failure: Failure) -> None:
        self.unread(failures.from_failure(failure), failures.request(failure), failures.status(failure))

    def unread(self, error: AnswerError, request: Request | None, status: int | None = None) -> None:
        """Report a folder that was not read: what it holds is unknown."""
        self.seen(request.url if request else "", list_name="unread", listed_by=None)
        self.failed("list", error, request, http_status=status)

    async def parse_record(self, response: Response) -> AsyncIterator[Dataset]:
        if "cached" in response.flags:
            self.run_state.has_stale_answer = True
        max_size = self.crawler.settings.getint("JSON_MAXSIZE")
        known: dict[str, Dataset] = {}
        try:
            number = -1
            async for found in datasets(response, source=self.source, most_json=max_size):
                number += 1
                if isinstance(found, StatementError):
                    owner = found.dataset_id
                    if not self.run_state.is_limited or owner is None or self.records.is_planned("dataset", owner):
                        self.failed("parse", found, response.request, dataset_id=owner)
                elif isinstance(found, AnswerError):
                    self.lose("parse", found, response.request, f"{number} ")
                elif found is None:
                    self.seen(f"{number} {response.url}", list_name="apart", listed_by=response.request)
                else:
                    for dataset in self.guarded(self.keep(found, response, known), response, None):
                        yield dataset
        except AnswerError as error:
            self.lose("parse", error, response.request)

    def record_failed(self, failure: Failure) -> None:
        request, status = failures.request(failure), failures.status(failure)
        self.lose("fetch", failures.from_failure(failure), request, http_status=status)

    def lose(self, stage: Stage, error: AnswerError, request: Request | None, place: str = "", **subject: Any) -> None:
        """Report a file, or a record at a place of it, that can't be read; it counts as a dataset that is expected."""
        self.seen(place + (request.url if request else ""), list_name="lost", listed_by=request)
        self.failed(stage, error, request, **subject)

    def keep(self, dataset: Dataset, response: Response, known: dict[str, Dataset]) -> Iterator[Dataset]:
        """Yield a dataset, unless the user wants no more, or another file has it, too, or another one of that id.

        The dataset that reaches the user's limit is kept with all its resources. Another one of that id is reported.

        Args:
            known: the file's records before this one, by id; takes this one.
        """
        first = known.setdefault(dataset.id, dataset)
        digest = hashlib.sha256(repr(dataset.document).encode()).hexdigest()
        if self.has_enough_resources(dataset):
            self.run_state.is_limited = True
        elif not self.seen(dataset.id, list_name="contents", listed_by=digest):
            error = self.double(dataset, response, first)
            self.failed("list", error, response.request, dataset_id=dataset.id)
        elif self.expect("dataset", dataset.id, listed_by=response.request):
            self.run_state.count_listed(self.records.expected)
            for number in range(len(dataset.resources) if self.limits.resources else 0):
                self.seen(f"{number} {dataset.id}", list_name="resources", listed_by=None)
            dataset.metadata_url, dataset.retrieved = response.url, now()
            yield dataset

    def double(self, dataset: Dataset, response: Response, first: Dataset) -> AnswerError:
        """Return what is wrong with another record of an id.

        Args:
            first: the first record of that id in the same file.
        """
        if dataset.id == response.url:
            message = "a file has several records without an identifier: the first has the file's address, the others"
            return AnswerError("missing_id", f"{message} are not kept")
        if first is not dataset:
            return repeated(first.title, dataset.title, "the same file")
        return repeated(self.opened_index().documents.title(dataset.id), dataset.title, "another file")

    def has_enough_resources(self, dataset: Dataset) -> bool:
        """Return whether the datasets before this one have as many resources as the user wants."""
        if not self.limits.resources or self.records.is_planned("dataset", dataset.id):  # it is, after a kill
            return False
        return self.limits.resources_left(datasets=0, resources=self.records.count("resources")) <= 0

    def conclude(self, **_: Any) -> None:
        """Judge the listing when no request is left, and mark what two whole listings in a row lack."""
        state = self.run_state
        if "folders" not in state.walks.open:
            return
        if self.crawler.stats:
            self.crawler.stats.set_value("catalogue/not_datasets", self.records.count("apart"))
        if state.is_limited:
            state.walks.end("folders", "stopped", listed=state.listed)
            return
        walk = Walk(ask=None, name="folders", pages=1, listed=state.listed, left=self.left())
        shown = ""
        try:
            shown = judge(Ended(walk, ListingPage(is_file=True), Traits(way="single"), "the folder"))
        except AnswerError as error:
            self.failed("list", error, Request(str(self.url)))
        if not shown or self.records.count("unread"):
            state.walks.end("folders", "short", listed=state.listed)
            return
        state.walks.end("folders", "whole", evidence=shown, listed=state.listed)
        state.expected = state.listed + self.records.count("lost")
        if not self.records.failures.counts():  # a file that can't be read may be any dataset
            self.withdrawals.mark_missing()

    def left(self) -> str:
        """Return what the listings link and was not followed, as a clause: the number, and the first by its address."""
        for first in self.records.behind("", "left", 1):
            count = self.records.count("left")
            message = f"links {count} records or pages that were not followed, such as {first[:_SHOWN]}"
            return f"{message}: they lie outside, or may lead to more records"
        return ""


def html_page(response: Response) -> HtmlResponse | None:
    """Return the answer as an HTML page, whatever its header says; ``None`` if it is not HTML."""
    if isinstance(response, HtmlResponse):
        return response
    is_html = formats.of_answer(response) == "html" and is_listing(response.body)
    return HtmlResponse(response.url, headers=response.headers, body=response.body) if is_html else None
