"""Reads the answers of an OAI-PMH repository: records, the resumption token, errors."""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from io import BytesIO
from typing import TYPE_CHECKING, Any
from xml.sax.saxutils import unescape

from lxml import etree

from crawlers.exceptions import AnswerError
from crawlers.records import xml
from crawlers.safety import bounds
from crawlers.safety.xml import plain

if TYPE_CHECKING:
    from scrapy.http import Response

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
class Record:
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
class Answer:
    """A page of records.

    Args:
        token: the resumption token; empty at the end of the list.
        size: the ``completeListSize``; ``None`` if none is given.
        is_none: whether the repository answered noRecordsMatch.
        flaws: what is in another encoding than it should be, as sentences.
        fault: why it breaks off; the records are those that came whole before that.
    """

    records: list[Record] = field(default_factory=list)
    token: str = ""
    size: int | None = None
    is_none: bool = False
    flaws: list[str] = field(default_factory=list)
    fault: AnswerError | None = None


def is_oai(root: Any) -> bool:
    """Return whether an element is the root of an OAI-PMH answer, an error among them."""
    return bool(etree.QName(root).localname == "OAI-PMH")


def page(response: Response) -> Answer:
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


def _read(root: Any) -> Answer:
    _checked(root)
    found = [*root.iterfind("{*}ListRecords/{*}record"), *root.iterfind("{*}GetRecord/{*}record")]
    headers = [*root.iterfind("{*}ListIdentifiers/{*}header")]
    bounds.RECORDS.check(len(found) + len(headers))
    token = root.find("*/{*}resumptionToken")
    return Answer(
        records=[*map(_record, found), *map(_headed, headers)],
        token=_text(token),
        size=None if token is None else _number(token.get("completeListSize")),
    )


def _record(element: Any) -> Record:
    header = element.find("{*}header")
    metadata = element.find("{*}metadata")
    child = None if metadata is None else next(metadata.iterchildren("{*}*"), None)
    return _headed(header, child) if header is not None else Record(identifier=None, metadata=child)


def _headed(header: Any, metadata: Any = None) -> Record:
    return Record(
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


def _mended(response: Response, error: AnswerError) -> Answer:
    """Return the records of a page that came to its end, each read by itself.

    Raises:
        AnswerError: the page is not whole, or has no records.
    """
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
    return Answer(records=records, token=rest.token, size=rest.size)


def _whole(response: Response, flaws: list[str]) -> Answer:
    """Return the records of a page that came whole before it breaks off.

    Raises:
        AnswerError: there are none.
    """
    try:
        root, fault = xml.list_root(response, ("ListRecords",), flaws)
    except AnswerError as error:
        if error.kind != "invalid_record" or response.body.rstrip().endswith(b"OAI-PMH>"):
            raise
        raise AnswerError("truncated", f"the answer breaks off: {error}") from None
    return replace(_read(root), token="", fault=fault)


def _piece(head: bytes, text: bytes, close: bytes) -> Record:
    try:
        records = _read(xml.parse(head + text + close)).records
    except AnswerError:
        records = []
    if len(records) == 1:
        return records[0]
    found = _IDENTIFIER.search(text)
    identifier = unescape(found[1].decode("utf-8", "replace")).strip() if found else ""
    return Record(identifier=identifier or None, text=text)
