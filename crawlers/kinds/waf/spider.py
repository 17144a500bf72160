"""Crawls a web-accessible folder: its listings from the start address downwards, and every record they name."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, ClassVar

from scrapy import Request
from scrapy.http import HtmlResponse

from crawlers.exceptions import AnswerError
from crawlers.kinds.waf.folder import Bucket, Folder, is_bucket, is_listing, root_of
from crawlers.kinds.waf.records import StatementError, opened
from crawlers.listing.answers import other_answer
from crawlers.listing.crawl import in_turns
from crawlers.listing.dialect import Traits
from crawlers.listing.ladder import Again
from crawlers.listing.spider import ListedSpider
from crawlers.listing.tree import File, Tree
from crawlers.listing.walk import ListingPage, Offer, Walk
from crawlers.records.rdf import formats

if TYPE_CHECKING:
    from collections.abc import Iterator

    from scrapy.http import Response

    from crawlers.items import Dataset
    from crawlers.kinds.waf.folder import FolderEntry
    from crawlers.kinds.waf.records import FileRecords
    from crawlers.listing.crawl import Crawl
    from crawlers.listing.dialect import Fault, Rung

_CUT = ("truncated", "not_json", "invalid_record")
"""The errors of a file that may have come in part."""


def _may_come(fault: Fault) -> bool:
    """Return whether a file may come if it is asked for again: it was cut, or a folder that another one names was a
    page for people, such as a login.
    """
    return fault.error.kind in _CUT or (fault.error.kind == "unproven" and not fault.is_first)


@dataclass(frozen=True, slots=True, kw_only=True)
class FolderFile(File):
    """A folder, a page of its listing, or a record.

    Args:
        root: the start address; of the first answer, which may be a redirect's, it is not known yet.
        above: what `Folder.digest` gives for the folders that lead to this one.
    """

    root: str = ""
    above: tuple[str, ...] = ()


class Folders(Tree[FolderFile]):
    """The folders from the start address downwards, and every record that they name.

    Args:
        url: the start address.
    """

    asks = FolderFile
    ladder: ClassVar[tuple[Rung, ...]] = (Again(when=_may_come),)
    traits = Traits(way="single", is_one_list=False, tree="folders", deepest=10)
    subject = "the folder"
    branches = "folders"
    most: ClassVar[int] = 10_000
    cuts = False

    def __init__(self, crawl: Crawl, url: str) -> None:
        super().__init__(crawl)
        self.url = url

    def first(self) -> Walk[FolderFile]:
        return Walk(ask=FolderFile(url=self.url), name=self.url)

    def request(self, walk: Walk[FolderFile]) -> Request:
        return Request(walk.ask.url, meta={"spool": True} if walk.ask.is_leaf else {})

    async def read(self, response: Response, walk: Walk[FolderFile]) -> ListingPage[FolderFile]:
        page = ListingPage[FolderFile](is_limited=False)
        await (self._record if walk.ask.is_leaf else self._folder)(response, walk, page)
        return page

    # Listings

    async def _folder(self, response: Response, walk: Walk[FolderFile], page: ListingPage[FolderFile]) -> None:
        if is_bucket(response.body):
            bucket = Bucket(response)
            root, found, own = bucket.root, [*bucket.entries()], None
        else:
            root = walk.ask.root or root_of(response.url)
            found, own = await self._links(response, root, is_first=not walk.ask.root)
            if own in walk.ask.above:  # a link to a folder above
                return
        page.offers = [Offer("left", each.address) for each in found if each.what == "left"]
        above = (*walk.ask.above, own) if own else walk.ask.above
        await in_turns(self.offer(_places(found, walk.ask.depth, root, above), page, walk, response))

    @staticmethod
    async def _links(response: Response, root: str, *, is_first: bool) -> tuple[list[FolderEntry], str | None]:
        """Return the links of a directory listing, and its digest.

        Raises:
            AnswerError: it has too many links, or is no listing.
        """
        found: list[FolderEntry] = []
        html = _html(response)
        folder = Folder(html) if html else None
        if folder:
            await in_turns(folder.read())
            await in_turns(map(found.append, folder.entries(root)))
        is_named = is_listing(response.body) and response.url.partition("?")[0].startswith(root)
        leads_on = ("record", "folder") if is_first else ("record",)  # a first page may have a login form
        is_folder = is_named or any(each.what in leads_on for each in found)
        other = None if is_folder else other_answer(response, "a folder", spider="waf")
        if other or folder is None or not (is_named or any(each.what != "left" for each in found)):
            message = f"the page is not a directory listing, and names no record below {root}"
            raise AnswerError("unproven", f"{message}: {other}" if other else message)
        return found, folder.digest(found)

    # Records

    async def _record(self, response: Response, walk: Walk[FolderFile], page: ListingPage[FolderFile]) -> None:
        settings = self.crawl.crawler.settings
        most = {"most": settings.getint("DOWNLOAD_MAXSIZE"), "most_json": settings.getint("JSON_MAXSIZE")}
        try:
            found, page.close = await opened(response, source=self.crawl.source, **most)
        except AnswerError as error:
            if error.kind in _CUT and not walk.tried:  # it may have come in part: it is asked for once more
                raise
            self._lose(error, page, response)
        else:
            page.entries = self.entries(self._datasets(found, page, response), page, walk, response)

    def _datasets(self, records: FileRecords, page: ListingPage[FolderFile], response: Response) -> Iterator[Dataset]:
        for number, found in enumerate(records):
            if isinstance(found, StatementError):
                owner = found.dataset_id
                if not page.is_limited or owner is None or self.is_wanted(owner):
                    self.crawl.failed("parse", found, response.request, dataset_id=owner)
            elif isinstance(found, AnswerError):
                self._lose(found, page, response)
            elif found is None:
                self._count_apart(f"{number} {response.url}")
            else:
                yield found

    @cached_property
    def apart(self) -> int:
        """How many records describe no data."""
        return self.crawl.records.count("apart")

    def _count_apart(self, record: str) -> None:
        if not self.crawl.records.is_listed(record, "apart"):
            self.apart += 1
            self.crawl.seen(record, list_name="apart", listed_by=None)
        self.crawl.crawler.stats.set_value("catalogue/not_datasets", self.apart)

    def double(self, dataset: Dataset, first: Dataset, response: Response) -> AnswerError:
        if dataset.id == response.url.removesuffix(".gz"):
            message = "a file has several records without an identifier: the first has the file's address, the others"
            return AnswerError("missing_id", f"{message} are not kept")
        return super().double(dataset, first, response)

    def fault(self, error: AnswerError, response: Response | None, walk: Walk[FolderFile]) -> Fault:
        return replace(super().fault(error, response, walk), is_first=not walk.ask.root)

    def _lose(self, error: AnswerError, page: ListingPage[FolderFile], response: Response) -> None:
        """Report a record that can't be read: it counts as a dataset that is expected."""
        self.crawl.failed("parse", error, response.request)
        page.lost += 1

    def ending(self, fault: Fault, walk: Walk[FolderFile]) -> ListingPage[FolderFile] | None:
        """Return the end of a record that did not come."""
        return ListingPage(is_limited=False, lost=1) if walk.ask.is_leaf else None


def _html(response: Response) -> HtmlResponse | None:
    """Return the answer as an HTML page, whatever its header says; ``None`` if it is not HTML."""
    if isinstance(response, HtmlResponse):
        return response
    is_html = formats.of_answer(response) == "html" and is_listing(response.body)
    return HtmlResponse(response.url, headers=response.headers, body=response.body) if is_html else None


def _places(found: list[FolderEntry], depth: int, root: str, above: tuple[str, ...]) -> Iterator[FolderFile]:
    for address, what in found:
        if what == "record":
            yield FolderFile(url=address, depth=depth, is_leaf=True)
        elif what != "left":
            yield FolderFile(url=address, depth=depth + (what == "folder"), root=root, above=above)


class WAFSpider(ListedSpider):
    """A web-accessible folder; the listing is whole when each folder was read, and each record that they name.

    Attributes:
        url: the folder; ``-a url=`` overrides it.
    """

    kind = "waf"

    def make_dialect(self) -> Folders:
        return Folders(self, str(self.url))


class WAF(WAFSpider):
    """Any web-accessible folder, the one that -a url= names."""

    name = "waf"
