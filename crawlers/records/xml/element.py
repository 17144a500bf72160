"""The XML of an answer as a tree: what could blow it up or reach outside is refused before."""

from __future__ import annotations

from contextlib import suppress
from io import BytesIO
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from lxml import etree
from w3lib.encoding import http_content_type_encoding

from crawlers.components.spool import open_body
from crawlers.exceptions import AnswerError
from crawlers.safety import bounds, xml

if TYPE_CHECKING:
    from collections.abc import Collection
    from typing import BinaryIO

    from scrapy.http import Response


def root(response: Response, flaws: list[str] | None = None) -> Any:
    """Return the root element of an answer.

    Args:
        flaws: takes a sentence if the answer is in another encoding than it should be.

    Raises:
        AnswerError: it is not XML, or not harmless.
    """
    return _tree(_harmless(open_body(response), *encodings(response), flaws))


def list_root(
    response: Response, lists: Collection[str], flaws: list[str] | None = None
) -> tuple[Any, AnswerError | None]:
    """Return the root element of an answer that lists records, and why it breaks off; ``None`` if it came whole.

    If it breaks off, the tree has the records that came before that, and not the one in which it does.

    Args:
        lists: the local names of the elements whose children are records.
        flaws: takes a sentence if the answer is in another encoding than it should be.

    Raises:
        AnswerError: as `root` does, and if no record is whole.
    """
    misread: list[str] = []
    try:
        found, fault = root(response, misread), None
    except AnswerError as error:
        part = _closed(body := open_body(response).read())
        if error.kind == "too_large" or (error.kind == "unsafe_xml" and part is body):
            raise
        misread.clear()
        end = part.rfind(b">") + 1  # a character or an entity that was cut is not what was sent
        part = part[: end + (part[end : end + 1] == b"\0")]  # of UTF-16
        if (found := _before_the_fault(part, lists, *encodings(response), misread)) is None:
            raise
        fault = AnswerError("truncated", f"the answer breaks off: {error}")
    if flaws is not None:
        flaws += misread
    return found, fault


def _closed(body: bytes) -> bytes:
    """Return a text without the comment or CDATA section at its end that has no end of its own."""
    for begin, end in ((b"<!--", b"-->"), (b"<![CDATA[", b"]]>")):
        at = body.rfind(begin)
        if at >= 0 and end not in body[at:]:
            body = body[:at]
    return body


def _before_the_fault(
    part: bytes, lists: Collection[str], charset: str | None, encoding: str | None, flaws: list[str]
) -> Any:
    """Return the root of a text that breaks off in a list, with its whole records; ``None`` if there are none."""
    path: list[Any] = []
    with suppress(etree.XMLSyntaxError):
        harmless = BytesIO(_harmless(BytesIO(part), charset, encoding, flaws))
        for event, element in etree.iterparse(harmless, ("start", "end"), resolve_entities=False, no_network=True):
            if event == "start":
                path.append(element)
            else:
                path.pop()
    for around, torn in pairwise(path):
        if etree.QName(around).localname in lists:
            around.remove(torn)
            break
    is_some = bool(path) and any(len(each) for each in path[0].iter(*(f"{{*}}{name}" for name in lists)))
    return path[0] if is_some else None


def encodings(response: Response) -> tuple[str | None, str | None]:
    """Return what the header says, and what the user says."""
    charset = http_content_type_encoding((response.headers.get("Content-Type") or b"").decode("latin-1"))
    return charset, response.meta.get("encoding") if response.request else None


def parse(
    body: bytes | BinaryIO,
    charset: str | None = None,
    *,
    encoding: str | None = None,
    flaws: list[str] | None = None,
) -> Any:
    """Return the root element of a text.

    Args:
        charset: as its HTTP header says.
        encoding: as the user says.
        flaws: takes a sentence if it is in another encoding than it should be.

    Raises:
        AnswerError: it is not XML, or not harmless, or too large.
    """
    return _tree(_harmless(BytesIO(body) if isinstance(body, bytes) else body, charset, encoding, flaws))


def _harmless(file: BinaryIO, charset: str | None, encoding: str | None, flaws: list[str] | None) -> bytes:
    harmless = xml.plain(file, charset, flaws, encoding, is_bounded=True).read()
    bounds.check_markup(harmless)
    return harmless


def _tree(harmless: bytes) -> Any:
    try:
        return etree.fromstring(harmless, etree.XMLParser(resolve_entities=False, no_network=True))
    except etree.XMLSyntaxError as error:
        raise AnswerError("invalid_record", f"the XML can't be read: {error}") from None
