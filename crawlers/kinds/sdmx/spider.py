"""Crawls an SDMX service: its dataflows, which one answer lists."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from lxml import etree
from scrapy import Request
from w3lib.encoding import http_content_type_encoding

from crawlers import arguments, xml_records
from crawlers.arguments import Argument
from crawlers.exceptions import AnswerError
from crawlers.kinds.dcat.answer import open_body
from crawlers.kinds.sdmx.mapping import address_of, dataset, identity, is_sdmx, list_address, rank, service
from crawlers.listing.listed import ListedSpider
from crawlers.listing.paging import Cursor, Entry, Page, PagedListing
from crawlers.listing.spider import in_turns
from crawlers.safety import bounds, xml
from crawlers.values.moment import now

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Generator, Iterator

    from scrapy.http import Response

    from crawlers.items import Dataset

_ACCEPT = "application/vnd.sdmx.structure+xml, application/xml;q=0.9, text/xml;q=0.8"

_TOO_LARGE = ("130", "413", "510")
"""Codes in the footer of an answer that was cut: section 8 of SDMX 2.1's guidelines for web services."""


class DataflowListing(PagedListing[Cursor]):
    """The answer that lists all dataflows. It is read from a file; in memory are the documents of the dataflows."""

    cursor = Cursor
    subject = "the service"
    spider: SDMXSpider

    def request(self, cursor: Cursor) -> Request:
        keywords, headers = {"cursor": cursor.plain()}, {"Accept": _ACCEPT}
        return Request(
            list_address(str(self.spider.url)),
            self.parse_page,
            errback=self.page_failed,
            cb_kwargs=keywords,
            headers=headers,
            meta={"spool": True},
        )

    async def parse_page(self, response: Response, cursor: dict[str, Any]) -> AsyncIterator[Any]:  # type: ignore[override]
        here = self.cursor(**cursor)
        try:
            page: Page[Cursor] = await in_turns(self.read(response, here))
            outputs = self.list_page(response, here, page)
        except AnswerError as error:
            outputs = self.refused(response.request, here, error, response.status)
        for output in outputs:
            yield output

    def read(  # type: ignore[override]
        self,
        response: Response,
        here: Cursor,  # noqa: ARG002
    ) -> Generator[None, None, Page[Cursor]]:
        """Read an answer; pause behind each dataflow, so that the caller can do something else meanwhile.

        Returns:
            its dataflows, each in its latest version.

        Raises:
            AnswerError: it has none.
        """
        entries: dict[Any, Entry] = {}
        ranks: dict[Any, Any] = {}
        broken, misread = None, list[str]()
        try:
            for element in dataflows(response, misread):
                key = identity(element) or len(entries)
                if key not in ranks or rank(element) > ranks[key]:  # some services give all versions
                    entries[key], ranks[key] = self.entry(element), rank(element)
                    bounds.RECORDS.check(len(entries))
                yield
        except AnswerError as error:
            if error.kind == "too_large":
                raise
            broken = error  # what came before it is kept
        for sentence in misread:
            self.spider.failed("parse", AnswerError("repaired_text", sentence), response.request)
        if not entries:
            raise broken or AnswerError("no_datasets", "the service lists no dataflows")
        return Page(list(entries.values()), answer=broken)

    def entry(self, element: Any) -> Entry:
        name = identity(element)
        if name is None:
            return Entry(None, etree.tostring(element).decode())
        return Entry(name, xml_records.document(element), len(self.item(element).resources))

    def item(self, element: Any) -> Dataset:
        address = address_of(str(identity(element)), str(self.spider.url))
        return dataset(element, source=self.spider.source, url=address)

    def end(self, request: Request | None, after: Cursor, page: Page[Cursor]) -> Iterator[Any]:
        """Report an answer that could not be read to its end; what came before that is kept."""
        if page.answer:
            yield from self.refused(request, after, page.answer, None)
        else:
            yield from super().end(request, after, page)

    def items(self, response: Response, entry: Entry, allowed: int, *_: Any) -> Iterator[Dataset]:
        if entry.id is None:
            error = AnswerError("missing_id", "a dataflow has no id or no agency, so it is not kept")
            self.spider.failed("list", error, response.request)
            return
        item = self.item(xml_records.parse(entry.record))
        item.resources = item.resources[:allowed]
        item.metadata_url, item.retrieved = address_of(entry.id, str(self.spider.url)), now()
        yield item


def dataflows(response: Response, misread: list[str]) -> Iterator[Any]:
    """Yield the dataflows of an answer, each valid until the next.

    Args:
        misread: takes a sentence if the answer is in another encoding than it should be.

    Raises:
        AnswerError: it is not SDMX-ML, breaks off, or is only a part, as it says itself.
    """
    charset = http_content_type_encoding((response.headers.get("Content-Type") or b"").decode("latin-1"))
    declared = response.meta.get("encoding") if response.request else None
    file = xml.plain(open_body(response), charset, misread, declared, is_bounded=True)
    lack, held = "", 0
    try:
        for event, element in etree.iterparse(file, ("start", "end"), resolve_entities=False, no_network=True):
            name, parent = etree.QName(element).localname, _parent(element)
            if event == "start":
                lack = lack or _opened(element)
                held += 1 + len(element.attrib)
                bounds.RECORD.check(held)
            elif name == "ErrorMessage":
                raise AnswerError("refused", f"the service answered: {_line(element)}")
            elif (parent, name) == ("Footer", "Message"):
                lack = lack or _lack(element)
            elif parent == "Dataflows":
                if name == "Dataflow":
                    yield element
                _forget(element)
                held = 0
            elif parent == "Structures":
                _forget(element)
                held = 0
    except etree.XMLSyntaxError as error:
        raise AnswerError("truncated", f"the XML can't be read to its end: {error}") from None
    if lack:
        raise AnswerError("truncated", f"the service says that its answer is only a part: {lack}")


def _opened(element: Any) -> str:
    """Check an element that begins, if it is the root; return whether its list is partial, as a word for messages."""
    if element.getparent() is None:
        check(element)
    is_partial = etree.QName(element).localname == "Dataflows" and element.get("isPartial", "").strip() in ("true", "1")
    return "isPartial" if is_partial else ""


def _parent(element: Any) -> str:
    parent = element.getparent()
    return "" if parent is None else etree.QName(parent).localname


def _line(element: Any) -> str:
    return " ".join(" ".join(element.itertext()).split())[:300]


def _lack(message: Any) -> str:
    """Return what a footer's message says of dataflows that are missing; empty if it is of something else."""
    code, severity = message.get("code", "").strip(), message.get("severity", "").strip()
    return f"{code} {_line(message)}".strip() if code in _TOO_LARGE or severity.lower() == "error" else ""


def _forget(element: Any) -> None:
    """Free the memory of an element that was read, and of those before it."""
    element.clear()
    while element.getprevious() is not None:
        del element.getparent()[0]


def check(root: Any) -> None:
    """Check that an element is the root of SDMX-ML.

    Raises:
        AnswerError: it is something else.
    """
    if not is_sdmx(root):
        name = etree.QName(root).localname[:100]
        raise AnswerError("refused", f"the answer is not SDMX-ML: its root is {name}. Is url the root of the service?")


class SDMXSpider(ListedSpider):
    """An SDMX service, in version 2.1 or 3.0 of its REST API.

    Attributes:
        url: the service's root, before ``/dataflow``; ``-a url=`` overrides it.
    """

    kind = "sdmx"
    arguments: ClassVar[dict[str, Argument]] = ListedSpider.arguments | {
        "url": Argument(
            help="The service's root: https://example.org/sdmx/2.1.", parse=lambda text: service(arguments.url(text))
        ),
    }

    def make_listing(self) -> DataflowListing:
        return DataflowListing(self, self.withdrawals, self.completeness)
