"""The XML of an answer as a tree: what could blow it up or reach outside is refused before."""

from __future__ import annotations

from io import BytesIO
from typing import TYPE_CHECKING, Any

from lxml import etree
from w3lib.encoding import http_content_type_encoding

from crawlers.exceptions import AnswerError
from crawlers.kinds.dcat.answer import open_body
from crawlers.safety import bounds, xml

if TYPE_CHECKING:
    from typing import BinaryIO

    from scrapy.http import Response


def root(response: Response, flaws: list[str] | None = None) -> Any:
    """Return the root element of an answer.

    Args:
        flaws: takes a sentence if the answer is in another encoding than it should be.

    Raises:
        AnswerError: it is not XML, or not harmless.
    """
    charset = http_content_type_encoding((response.headers.get("Content-Type") or b"").decode("latin-1"))
    declared = response.meta.get("encoding") if response.request else None
    return parse(open_body(response), charset, encoding=declared, flaws=flaws)


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
    file = BytesIO(body) if isinstance(body, bytes) else body
    harmless = xml.plain(file, charset, flaws, encoding, is_bounded=True).read()
    bounds.check_markup(harmless)
    try:
        return etree.fromstring(harmless, etree.XMLParser(resolve_entities=False, no_network=True))
    except etree.XMLSyntaxError as error:
        raise AnswerError("invalid_record", f"the XML can't be read: {error}") from None
