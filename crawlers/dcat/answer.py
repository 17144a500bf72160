"""What came: a page of RDF, a data.json, or an HTML page that may lead to one."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING, Any, BinaryIO

from w3lib.encoding import http_content_type_encoding

from crawlers.dcat import others
from crawlers.dcat.data_json import DataJSONPage
from crawlers.dcat.rdf import RDFPage
from crawlers.exceptions import AnswerError
from crawlers.mapping import data_json
from crawlers.rdf import formats
from crawlers.rdf.jsonld import SHORTEST_PLAIN, check_values, local
from crawlers.safety import strict_json, xml
from crawlers.safety.text import decoded, in_utf8, is_utf8
from crawlers.spool import SpooledResponse

if TYPE_CHECKING:
    from scrapy.http import Response

    from crawlers.dcat.page import Page

NO_RDF = (
    "look there for a link to RDF, DCAT, Turtle or JSON-LD, or try /catalog.ttl, /catalog.rdf, /catalog.jsonld or "
    "/data.json of that site, and give its address as -a url="
)


def read(response: Response, *, name: str, language: str | None, most_json: int) -> Page | None:
    """The page in an answer; ``None`` when it is HTML.

    Args:
        name: the source's.
        most_json: the largest JSON that is read, in bytes.

    Raises:
        AnswerError: it is neither, or may not be read.
    """
    file = body(response)
    content_type = (response.headers.get("Content-Type") or b"").decode("latin-1")
    head = _head(file)
    format_ = formats.detect(content_type, response.url, head)
    if format_ == "html":
        return None
    if format_ is None:
        raise AnswerError("not_rdf", f"what came is no RDF that is known (Content-Type {content_type!r}): {NO_RDF}")
    given = response.meta.get("encoding") if response.request else None
    labels = http_content_type_encoding(content_type), given
    if format_.family == "xml" and (other := others.xml(head)):
        raise AnswerError("not_rdf", other)
    if format_.family == "json":
        return _json_page(file, response.url, labels, name=name, language=language, most=most_json)
    repairs: list[str] = []
    is_xml = format_.family == "xml"
    file = xml.plain(file, labels[0], repairs, given) if is_xml else in_utf8(file, *labels, repairs)
    page = RDFPage(file, format_, response.url, name=name, language=language)
    page.repairs = repairs
    return page


def body(response: Response) -> BinaryIO:
    return response.open() if isinstance(response, SpooledResponse) else io.BytesIO(response.body)


def _head(file: BinaryIO) -> bytes:
    head = file.read(64 * 1024)
    file.seek(3 if head.startswith(b"\xef\xbb\xbf") else 0)
    return head


def _json_page(
    file: BinaryIO, url: str, labels: tuple[str | None, str | None], *, name: str, language: str | None, most: int
) -> Page:
    text = file.read(most + 1)
    if len(text) > most:
        raise AnswerError(
            "too_large",
            f"JSON is read as a whole, in some ten times its size of memory, and this is larger than JSON_MAXSIZE "
            f"({most} bytes): raise that with -s JSON_MAXSIZE=, or ask for the catalogue's RDF/XML or Turtle",
        )
    faults: list[str] = []
    text = _utf8(text, *labels, faults)
    check_values(text, SHORTEST_PLAIN)
    content = _content(text, faults)
    if data_json.recognised(content):
        return DataJSONPage(content, faults, name=name)
    if content is None and b'"@' not in text:
        raise AnswerError("not_json", faults[0])
    if b'"@' not in text and (other := others.json(content)):
        raise AnswerError("not_rdf", other)
    format_ = formats.JSON_LD_UP_TO_AN_ERROR if content is None else formats.JSON_LD
    del content
    page = RDFPage(io.BytesIO(local(text, faults)), format_, url, name=name, language=language)
    page.repairs = faults
    return page


def _utf8(body: bytes, charset: str | None, given: str | None, faults: list[str]) -> bytes:
    """Return JSON in UTF-8, which it is unless its bytes say otherwise."""
    if is_utf8(io.BytesIO(body)):
        return body
    found = decoded(body, charset, given=given, is_utf8=True)
    faults += filter(None, [found.flaw])
    return found.text.encode("utf-8", "surrogatepass")


def _content(text: bytes, faults: list[str]) -> Any:
    """The JSON value; of a data.json that breaks off what came before, of anything else that does ``None``."""
    try:
        return strict_json.loads(text)
    except ValueError as error:
        faults.append(f"the JSON can't be read: {error}")
        return data_json.up_to_an_error(text.decode("utf-8", "replace"))
