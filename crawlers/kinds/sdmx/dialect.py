"""An SDMX service's listing: one answer with all dataflows, read from a file one by one."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar

from lxml import etree
from scrapy import Request

from crawlers.components.spool import open_body
from crawlers.exceptions import AnswerError
from crawlers.kinds.sdmx.mapping import address_of, dataset, identity, is_sdmx, list_address, rank
from crawlers.listing.crawl import in_turns
from crawlers.listing.dialect import Dialect, Fault, Rung, Traits
from crawlers.listing.ladder import Again
from crawlers.listing.walk import Entry, ListingPage, Walk
from crawlers.records import xml
from crawlers.records.moment import now
from crawlers.safety import bounds
from crawlers.safety.xml import plain

if TYPE_CHECKING:
    from collections.abc import Awaitable, Generator, Iterator

    from scrapy.http import Response

    from crawlers.items import Dataset
    from crawlers.listing.crawl import Crawl

_ACCEPT = "application/vnd.sdmx.structure+xml, application/xml;q=0.9, text/xml;q=0.8"

_TOO_LARGE = ("130", "413", "510")
"""Codes in the footer of an answer that was cut: section 8 of SDMX 2.1's guidelines for web services."""


class PartError(AnswerError):
    """The service says that its answer is only a part."""

    def __init__(self, lack: str) -> None:
        super().__init__("truncated", f"the service says that its answer is only a part: {lack}")


@dataclass(frozen=True, slots=True)
class Ask:
    """The list has one address."""


class Dataflows(Dialect[Ask]):
    """The answer that lists all dataflows. It is read from a file; in memory are the documents of the dataflows.

    Args:
        url: the service's root.
    """

    asks = Ask
    traits = Traits(way="single")
    ladder: ClassVar[tuple[Rung, ...]] = (Again(),)
    subject = "the service"

    def __init__(self, crawl: Crawl, url: str) -> None:
        self.crawl, self.url = crawl, url

    def first(self) -> Walk[Ask]:
        return Walk(ask=Ask())

    def request(self, walk: Walk[Ask]) -> Request:
        return Request(list_address(self.url), headers={"Accept": _ACCEPT}, meta={"spool": True})

    def read(self, response: Response, walk: Walk[Ask]) -> Awaitable[ListingPage[Ask]]:
        return in_turns(self._page(response))

    def _page(self, response: Response) -> Generator[None, None, ListingPage[Ask]]:
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
            self.crawl.failed("parse", AnswerError("repaired_text", sentence), response.request)
        if not entries:
            raise broken or AnswerError("no_datasets", "the service lists no dataflows")
        return ListingPage(entries=list(entries.values()), fault=broken)

    def fault(self, error: AnswerError, response: Response | None, walk: Walk[Ask]) -> Fault:
        """Return the fault; what the service itself says is a part, or nothing, would be so again."""
        found = super().fault(error, response, walk)
        return replace(found, is_spoken=isinstance(error, PartError) or error.kind == "no_datasets")

    def entry(self, element: Any) -> Entry:
        name = identity(element)
        if name is None:
            return Entry(None, etree.tostring(element).decode())
        return Entry(name, xml.document(element), len(self.item(element).resources))

    def item(self, element: Any) -> Dataset:
        address = address_of(str(identity(element)), self.url)
        return dataset(element, source=self.crawl.source, url=address)

    def items(self, response: Response, entry: Entry, allowed: int, *_: Any) -> Iterator[Dataset]:
        if entry.id is None:
            error = AnswerError("missing_id", "a dataflow has no id or no agency, so it is not kept")
            self.crawl.failed("list", error, response.request)
            return
        item = self.item(xml.parse(entry.record))
        item.resources = item.resources[:allowed]
        item.metadata_url, item.retrieved = address_of(entry.id, self.url), now()
        yield item


def dataflows(response: Response, misread: list[str]) -> Iterator[Any]:
    """Yield the dataflows of an answer, each valid until the next.

    Args:
        misread: takes a sentence if the answer is in another encoding than it should be.

    Raises:
        AnswerError: it is not SDMX-ML, breaks off, or is only a part, as it says itself.
    """
    charset, declared = xml.encodings(response)
    file = plain(open_body(response), charset, misread, declared, is_bounded=True)
    lack, held = "", 0
    try:
        for event, element in etree.iterparse(file, ("start", "end"), resolve_entities=False, no_network=True):
            name = etree.QName(element).localname
            if event == "start":
                lack = lack or _opened(element, name)
                held += 1 + len(element.attrib)
                bounds.RECORD.check(held)
                continue
            parent = _parent(element)
            if name == "ErrorMessage":
                raise AnswerError("refused", f"the service answered: {_line(element)}")
            elif (parent, name) == ("Footer", "Message"):
                lack = lack or _lack(element)
            elif parent in ("Dataflows", "Structures"):
                if (parent, name) == ("Dataflows", "Dataflow"):
                    yield element
                element.clear()
                while element.getprevious() is not None:  # frees the memory of what was read
                    del element.getparent()[0]
                held = 0
    except etree.XMLSyntaxError as error:
        raise AnswerError("truncated", f"the XML can't be read to its end: {error}") from None
    if lack:
        raise PartError(lack)


def _opened(element: Any, name: str) -> str:
    """Return whether the list that begins is partial, as a word for messages.

    Args:
        name: the element's, without its namespace.

    Raises:
        AnswerError: it is the root, of something else.
    """
    if element.getparent() is None and not is_sdmx(element):
        message = f"the answer is not SDMX-ML: its root is {name[:100]}. Is url the root of the service?"
        raise AnswerError("refused", message)
    return "isPartial" if name == "Dataflows" and element.get("isPartial", "").strip() in ("true", "1") else ""


def _parent(element: Any) -> str:
    parent = element.getparent()
    return "" if parent is None else etree.QName(parent).localname


def _line(element: Any) -> str:
    return " ".join(" ".join(element.itertext()).split())[:300]


def _lack(message: Any) -> str:
    """Return what a footer's message says of dataflows that are missing; empty if it is of something else."""
    code, severity = message.get("code", "").strip(), message.get("severity", "").strip()
    return f"{code} {_line(message)}".strip() if code in _TOO_LARGE or severity.lower() == "error" else ""
