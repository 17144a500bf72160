"""What an OAI-PMH repository answers: pages of records with their resumption token, errors, and the items of records.

A record whose XML its page does not let us read is requested again by itself.
"""

from __future__ import annotations

import re
from contextlib import suppress
from dataclasses import dataclass, field, replace
from io import BytesIO
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import urlencode, urlsplit
from xml.sax.saxutils import unescape

from lxml import etree
from scrapy import Request

from crawlers.components.politeness import failures
from crawlers.exceptions import AnswerError
from crawlers.listing.confirmation import Fate, GoneRecords
from crawlers.listing.walk import Entry
from crawlers.records import xml
from crawlers.records.moment import now
from crawlers.safety import bounds
from crawlers.safety.xml import plain

if TYPE_CHECKING:
    from collections.abc import Iterator

    from scrapy.http import Response
    from twisted.python.failure import Failure

    from crawlers.items import Dataset
    from crawlers.listing.crawl import Crawl
    from crawlers.listing.withdrawals import Withdrawals

_RECORD = re.compile(rb"<(?:[\w.-]{1,64}:)?record(?:\s[^<>]{0,9999})?>\s*<(?:[\w.-]{1,64}:)?header[\s>/]")
_END = re.compile(rb"</(?:[\w.-]{1,64}:)?record\s*>\s*(?=<(?:[\w.-]{1,64}:)?resumptionToken|</)")
_IDENTIFIER = re.compile(rb"<(?:[\w.-]{1,64}:)?identifier(?:\s[^<>]{0,999})?>([^<]{1,9999})</")

_LONGEST_HEAD = 16 * 1024  # bytes before the first record; each record is parsed with them


class OAIError(AnswerError):
    """A repository's own error.

    Args:
        code: as OAI-PMH has them: badArgument, badResumptionToken, noRecordsMatch ...
        text: what the repository says of it.
    """

    def __init__(self, code: str, text: str) -> None:
        super().__init__("refused", f"the repository answered {code}" + (f" ({text})" if text else ""))
        self.code = code


@dataclass(frozen=True, slots=True, kw_only=True)
class OAIRecord:
    """A record of a page.

    Args:
        identifier: its header's; ``None`` if it has none.
        datestamp: its header's; empty if it has none.
        sets: the setSpecs of its header.
        is_deleted: whether its header has the status deleted.
        metadata: the element below ``metadata``; ``None`` if there is none, or its XML can't be read.
        text: its XML as it came, if that can't be read.
    """

    identifier: str | None
    datestamp: str = ""
    sets: tuple[str, ...] = ()
    is_deleted: bool = False
    metadata: Any = None
    text: bytes = b""


@dataclass(frozen=True, slots=True, kw_only=True)
class OAIAnswer:
    """A page of records.

    Args:
        token: the resumption token; empty at the end of the list.
        size: the ``completeListSize``; ``None`` if none is given.
        is_none: whether the repository answered noRecordsMatch.
        flaws: what is in another encoding than it should be, as sentences.
        fault: why it breaks off; the records are those that came whole before that.
    """

    records: list[OAIRecord] = field(default_factory=list)
    token: str = ""
    size: int | None = None
    is_none: bool = False
    flaws: list[str] = field(default_factory=list)
    fault: AnswerError | None = None


def is_oai(root: Any) -> bool:
    """Return whether an element is the root of an OAI-PMH answer, an error among them."""
    return bool(etree.QName(root).localname == "OAI-PMH")


def page(response: Response) -> OAIAnswer:
    """Return the records of a page; those whose XML can't be read have only their text and, if possible, their id.

    Raises:
        OAIError: the repository answered with an error.
        AnswerError: an OAI-PMH repository gives no such page.
    """
    flaws: list[str] = []
    try:
        found = _read(_root(response, flaws))
    except AnswerError as error:
        if error.kind != "invalid_record":
            raise
        try:
            found = _mended(response, error)
        except AnswerError:
            found = _whole(response, flaws)
    return replace(found, flaws=flaws)


def content(response: Response) -> Any:
    """Return the root of an answer that has no error.

    Raises:
        OAIError: the repository answered with an error.
        AnswerError: no OAI-PMH repository answers this.
    """
    return _checked(_root(response))


def _root(response: Response, flaws: list[str] | None = None) -> Any:
    try:
        root = xml.root(response, flaws)
    except AnswerError as error:
        if b"OAI-PMH" in response.body[:4096]:
            raise
        raise AnswerError("refused", f"the answer is not of an OAI-PMH repository: {error}") from None
    if not is_oai(root):
        name = etree.QName(root).localname[:100]
        raise AnswerError("refused", f"the answer is not of an OAI-PMH repository: its root is {name}")
    return root


def _checked(root: Any) -> Any:
    """Return the root; an error beside records is not one."""
    error, names = root.find("{*}error"), {etree.QName(child).localname for child in root.iterchildren("{*}*")}
    if error is not None and names <= {"responseDate", "request", "error"}:
        raise OAIError((error.get("code") or "an error without a code")[:100], _text(error)[:300])
    return root


def _read(root: Any) -> OAIAnswer:
    _checked(root)
    found = [*root.iterfind("{*}ListRecords/{*}record"), *root.iterfind("{*}GetRecord/{*}record")]
    headers = [*root.iterfind("{*}ListIdentifiers/{*}header")]
    bounds.RECORDS.check(len(found) + len(headers))
    token = root.find("*/{*}resumptionToken")
    return OAIAnswer(
        records=[*map(_record, found), *map(_headed, headers)],
        token=_text(token),
        size=None if token is None else _number(token.get("completeListSize")),
    )


def _record(element: Any) -> OAIRecord:
    header = element.find("{*}header")
    metadata = element.find("{*}metadata")
    child = None if metadata is None else next(metadata.iterchildren("{*}*"), None)
    return _headed(header, child) if header is not None else OAIRecord(identifier=None, metadata=child)


def _headed(header: Any, metadata: Any = None) -> OAIRecord:
    return OAIRecord(
        identifier=_text(header.find("{*}identifier")) or None,
        datestamp=_text(header.find("{*}datestamp")),
        sets=tuple(map(_text, header.iterfind("{*}setSpec"))),
        is_deleted=(header.get("status") or "").strip().lower() == "deleted",
        metadata=metadata,
    )


def _text(element: Any) -> str:
    return "" if element is None else "".join(element.itertext()).strip()


def _number(text: str | None) -> int | None:
    return int(text) if text and re.fullmatch(r"[0-9]{1,15}", text) else None


# A page whose XML can't be read as a whole


def _mended(response: Response, error: AnswerError) -> OAIAnswer:
    """Return the records of a page that came to its end, each read by itself."""
    charset, declared = xml.encodings(response)
    text = plain(BytesIO(response.body), charset, encoding=declared).read()
    starts = [found.start() for found in _RECORD.finditer(text)]
    bounds.RECORDS.check(len(starts))
    end = max((found.end() for found in _END.finditer(text, starts[-1] if starts else len(text))), default=0)
    if not starts or not end or starts[0] > _LONGEST_HEAD or not text.rstrip().endswith(b"OAI-PMH>"):
        raise error
    head, tail = text[: starts[0]], text[end:]
    close = tail[tail.rfind(b"</", 0, tail.rfind(b"</")) :]  # of the list, and of the root
    rest = _read(xml.parse(head + tail))
    ends = [*starts[1:], end]
    records = [_piece(head, text[first:last], close) for first, last in zip(starts, ends, strict=True)]
    return OAIAnswer(records=records, token=rest.token, size=rest.size)


def _whole(response: Response, flaws: list[str]) -> OAIAnswer:
    """Return the records of a page that came whole before it breaks off."""
    try:
        root, fault = xml.list_root(response, ("ListRecords",), flaws)
    except AnswerError as error:
        if error.kind != "invalid_record" or response.body.rstrip().endswith(b"OAI-PMH>"):
            raise
        raise AnswerError("truncated", f"the answer breaks off: {error}") from None
    return replace(_read(root), token="", fault=fault)


def _piece(head: bytes, text: bytes, close: bytes) -> OAIRecord:
    try:
        records = _read(xml.parse(head + text + close)).records
    except AnswerError:
        records = []
    if len(records) == 1:
        return records[0]
    found = _IDENTIFIER.search(text)
    identifier = unescape(found[1].decode("utf-8", "replace")).strip() if found else ""
    return OAIRecord(identifier=identifier or None, text=text)


# Where a repository is asked


class Endpoint(NamedTuple):
    """A repository.

    Args:
        url: its address, as Identify gives it.
        set: the setSpec of the set whose records are wanted; empty for all records.
    """

    url: str
    set: str = ""

    def address(self, verb: str, **parameters: str) -> str:
        """Return the address of a request: the set goes with the first page of a list only.

        >>> Endpoint("https://example.org/oai", "water").address("ListRecords", metadataPrefix="oai_dc")
        'https://example.org/oai?verb=ListRecords&metadataPrefix=oai_dc&set=water'
        """
        is_list = verb == "ListRecords" and "metadataPrefix" in parameters and "resumptionToken" not in parameters
        chosen = {"set": self.set} if self.set and is_list else {}
        query = urlencode({"verb": verb} | parameters | chosen)
        return f"{self.url}{'&' if urlsplit(self.url).query else '?'}{query}"

    def record(self, identifier: str, prefix: str) -> str:
        return self.address("GetRecord", identifier=identifier, metadataPrefix=prefix)


# Records as items


class Metadata:
    """Maps the metadata of records; requests one again that its page does not let us read.

    Args:
        gone: what the repository says is deleted.
    """

    def __init__(self, crawl: Crawl, gone: GoneOAI) -> None:
        self.crawl, self.gone, self.endpoint = crawl, gone, gone.endpoint

    def entry(self, record: OAIRecord, prefix: str) -> Entry:
        """Return a record as the listing takes it; its resources are counted only if the user limits them."""
        if record.identifier is None:
            text = record.text if record.metadata is None else etree.tostring(record.metadata)
            return Entry(None, {"datestamp": record.datestamp, "xml": text.decode("utf-8", "replace")})
        count = 0
        if self.crawl.limits.resources:
            with suppress(AnswerError):  # `keep` reports it
                count = len(self.item(record, prefix).resources)
        return Entry(record.identifier, record, count)

    def is_unread(self, records: list[OAIRecord]) -> bool:
        """Return whether none of these records can be read, although some have metadata."""
        given = [record.metadata for record in records if record.metadata is not None]
        return bool(given) and not any(map(xml.is_readable, given))

    def item(self, record: OAIRecord, prefix: str) -> Dataset:
        """Return the item of a record.

        Raises:
            AnswerError: it has no metadata, or such that can't be read.
        """
        if record.metadata is None:
            raise AnswerError("invalid_record", "the record has no metadata")
        name = str(record.identifier)
        address = self.endpoint.record(name, prefix)
        return xml.lazily(
            record.metadata,
            source=self.crawl.source,
            url=address,
            id=name,
            metadata_modified=record.datestamp or None,
            metadata_url=address,
            retrieved=now(),
        )

    def keep(self, response: Response, record: OAIRecord, prefix: str, allowed: int) -> Iterator[Dataset]:
        """Yield a record's item, with as many resources as the user's limit leaves; report one that can't be read."""
        try:
            dataset = self.item(record, prefix)
        except AnswerError as error:
            self.lost("parse", error, response.request, str(record.identifier))
            return
        if self.crawl.limits.resources:
            dataset.resources = dataset.resources[:allowed]
        yield dataset

    def request(self, identifier: str, prefix: str, allowed: int) -> Request:
        address = self.endpoint.record(identifier, prefix)
        keywords = {"identifier": identifier, "prefix": prefix, "allowed": allowed}
        return Request(address, self.parse, errback=self.request_failed, cb_kwargs=keywords)

    def parse(self, response: Response, identifier: str, prefix: str, allowed: int) -> Iterator[Any]:
        try:
            [record] = page(response).records
        except AnswerError as error:
            self.lost("parse", error, response.request, identifier)
            return
        except ValueError:
            self.lost("parse", AnswerError("refused", "the answer has not one record"), response.request, identifier)
            return
        if record.is_deleted:
            self.gone.withdraw(identifier, prefix)
        elif record.text:
            broken = AnswerError("invalid_record", "the XML of the record can't be read")
            self.lost("parse", broken, response.request, identifier)
        else:
            yield from self.keep(response, record, prefix, allowed)

    def request_failed(self, failure: Failure) -> None:
        request = failures.request(failure)
        error, status = failures.from_failure(failure), failures.status(failure)
        self.lost("fetch", error, request, request.cb_kwargs["identifier"], status)

    def lost(
        self, stage: Any, error: AnswerError, request: Request | None, identifier: str, status: int | None = None
    ) -> None:
        subject = {"dataset_id": identifier, "missing": "dataset"}
        self.crawl.failed(stage, error, request, http_status=status, **subject)


class GoneOAI(GoneRecords):
    """Asks for the records by GetRecord."""

    by = "the repository"

    def __init__(self, crawl: Crawl, withdrawals: Withdrawals, endpoint: Endpoint) -> None:
        super().__init__(crawl, withdrawals)
        self.endpoint = endpoint

    def withdraw(self, identifier: str, prefix: str) -> None:
        """Mark a dataset that the repository says is deleted, if it is on disk."""
        known = self.crawl.opened_index().documents.get("dataset", identifier, None)
        if known is not None and known.status != "withdrawn":
            self.withdrawals.mark(identifier, self.endpoint.record(identifier, prefix), "deleted")

    def fate(self, response: Response, dataset_id: str, about: dict[str, Any]) -> Fate:
        """Return why a record is gone: it is unknown, deleted, or in other sets only."""
        try:
            found = page(response).records
        except OAIError as error:
            if error.code != "idDoesNotExist":
                raise
            return Fate("not found")
        record = next((one for one in found if one.identifier == dataset_id), None)
        if record is None:
            raise AnswerError("refused", "the answer is not the record")
        if record.is_deleted:
            return Fate("deleted")
        chosen = self.endpoint.set
        is_outside = chosen and record.sets and not any(f"{one}:".startswith(f"{chosen}:") for one in record.sets)
        return Fate("no longer in the filter" if is_outside else None)


def is_service(record: OAIRecord) -> bool:
    """Return whether a record describes a service instead of data, by its own word."""
    if record.metadata is None:
        return False
    try:
        return xml.scope(record.metadata) == "service"
    except AnswerError:  # `Metadata.keep` reports it
        return False
