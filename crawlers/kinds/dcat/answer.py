"""What an HTTP answer is: a page of RDF, a data.json, an HTML page that links to one, or something else."""

from __future__ import annotations

import io
import re
from typing import TYPE_CHECKING, Any, BinaryIO

from parsel import Selector
from w3lib.encoding import http_content_type_encoding

from crawlers.exceptions import AnswerError
from crawlers.kinds.dcat import data_json
from crawlers.kinds.dcat.page import DataJSONPage, RDFPage
from crawlers.rdf import formats
from crawlers.rdf.jsonld import SHORTEST_PLAIN, check_values, local
from crawlers.safety import strict_json, text, xml
from crawlers.safety.text import decoded, in_utf8, is_utf8
from crawlers.spool import SpooledResponse
from crawlers.values.addresses import absolute

if TYPE_CHECKING:
    from collections.abc import Iterator

    from scrapy.http import HtmlResponse, Response

    from crawlers.kinds.dcat.page import Page
    from crawlers.rdf.formats import Format

NO_RDF = (
    "look there for a link to RDF, DCAT, Turtle or JSON-LD, or try /catalog.ttl, /catalog.rdf, /catalog.jsonld or "
    "/data.json of that site, and give its address as -a url="
)


def read(response: Response, *, name: str, language: str | None, max_json: int) -> Page | None:
    """Return the page in an answer; ``None`` if the answer is HTML.

    Args:
        name: the source's.
        language: of titles and descriptions, where there are several.
        max_json: the largest JSON that is read, in bytes.

    Raises:
        AnswerError: the answer is something else, or may not be read.
    """
    file, content_type = open_body(response), _content_type(response)
    head = _head(file)
    format_ = formats.detect(content_type, response.url, head)
    if format_ == "html":
        return None
    if format_ is None:
        raise AnswerError("not_rdf", f"the answer is in no known RDF format (Content-Type {content_type!r}): {NO_RDF}")
    declared = response.meta.get("encoding") if response.request else None
    charsets = http_content_type_encoding(content_type), declared
    if format_.family == "json":
        return _json_page(file, response.url, charsets, name=name, language=language, max_json=max_json)
    if format_.family == "xml" and (other := known_xml(head)):
        raise AnswerError("not_rdf", other)
    repairs: list[str] = []
    is_xml = format_.family == "xml"
    file = xml.plain(file, charsets[0], repairs, declared) if is_xml else in_utf8(file, *charsets, repairs)
    page = RDFPage(file, format_, response.url, name=name, language=language)
    page.repairs = repairs
    return page


def open_body(response: Response) -> BinaryIO:
    """Return the answer's body as a file, wherever it is kept."""
    return response.open() if isinstance(response, SpooledResponse) else io.BytesIO(response.body)


def _content_type(response: Response) -> str:
    return (response.headers.get("Content-Type") or b"").decode("latin-1")


def _head(file: BinaryIO) -> bytes:
    head = file.read(64 * 1024)
    file.seek(3 if head.startswith(b"\xef\xbb\xbf") else 0)
    return head


def _json_page(
    file: BinaryIO, url: str, charsets: tuple[str | None, str | None], *, name: str, language: str | None, max_json: int
) -> Page:
    body = file.read(max_json + 1)
    if len(body) > max_json:
        raise AnswerError(
            "too_large",
            f"JSON is read into memory, which takes some ten times its size, and this is larger than JSON_MAXSIZE "
            f"({max_json} bytes): raise that with -s JSON_MAXSIZE=, or use the catalogue's RDF/XML or Turtle",
        )
    faults: list[str] = []
    body = _utf8(body, *charsets, faults)
    check_values(body, SHORTEST_PLAIN)
    content = _content(body, faults)
    if data_json.recognised(content):
        return DataJSONPage(content, faults, name=name)
    if content is None and b'"@' not in body:
        raise AnswerError("not_json", faults[0])
    if b'"@' not in body and (other := known_json(content)):
        raise AnswerError("not_rdf", other)
    format_ = formats.JSON_LD_UP_TO_AN_ERROR if content is None else formats.JSON_LD
    del content
    page = RDFPage(io.BytesIO(local(body, faults)), format_, url, name=name, language=language)
    page.repairs = faults
    return page


def _utf8(body: bytes, charset: str | None, declared: str | None, faults: list[str]) -> bytes:
    """Return JSON in UTF-8, which it is unless its bytes show otherwise."""
    if is_utf8(io.BytesIO(body)):
        return body
    found = decoded(body, charset, given=declared, is_utf8=True)
    faults += filter(None, [found.flaw])
    return found.text.encode("utf-8", "surrogatepass")


def _content(body: bytes, faults: list[str]) -> Any:
    """Return the JSON value; if it breaks off, what came before in a data.json, and ``None`` for anything else."""
    try:
        return strict_json.loads(body)
    except ValueError as error:
        faults.append(f"the JSON can't be read: {error}")
        return data_json.up_to_an_error(body.decode("utf-8", "replace"))


# HTML pages that link to RDF

_AMBIGUOUS = (".xml", ".json", ".owl")  # an `a` leads to feeds and ontologies as often as to a catalogue
_Offer = tuple[int, bool, str]  # the format's rank, whether "catalog" is missing in the address, the address


def alternate(page: HtmlResponse) -> str | None:
    """Return the address of an HTML page's RDF: its ``<link rel="alternate">``, else a link to a file by suffix.

    Raises:
        AnswerError: the page links to several files that are equally good.
    """
    selector = Selector(text.of_page(page.body, _content_type(page)).text)  # page.selector fails at a broken <base>
    base = selector.css("base::attr(href)").get("")
    for offers in (set(_alternates(selector, page.url, base)), set(_links(selector, page.url, base))):
        if not offers:
            continue
        best = min(offers)
        equal = sorted(address for *rank, address in offers if rank == list(best[:2]))
        if len(equal) > 1:
            several = ", ".join(equal[:5])
            raise AnswerError("not_rdf", f"the HTML page links to {len(equal)} files: name one of them: {several}")
        return best[2]
    return None


def _alternates(selector: Selector, here: str, base: str) -> Iterator[_Offer]:
    for link in selector.css("link[rel~=alternate][href], link[rel~=describedby][href]"):
        yield from _offer(here, base, link.attrib["href"], formats.by_media_type(link.attrib.get("type", "")))


def _links(selector: Selector, here: str, base: str) -> Iterator[_Offer]:
    for link in selector.css("a[href]"):
        address = link.attrib["href"].strip()
        path = address.lower().partition("?")[0].partition("#")[0]
        if not path.endswith(_AMBIGUOUS) or path.endswith("data.json"):
            yield from _offer(here, base, address, formats.by_suffix(address))


def _offer(here: str, base: str, address: str, format_: Format | None) -> Iterator[_Offer]:
    target = absolute(address, here, base)
    if format_ is not None and target is not None:
        yield formats.FORMATS.index(format_), "catalog" not in target.lower(), target


# Known kinds of answers that are not a catalogue

_ROOT = re.compile(r"<(?:[\w.-]+:)?([A-Za-z_][\w.-]*)")
_DCAT_OF_CSW = (
    "GeoNetwork provides DCAT at /srv/eng/rdf.search, pycsw with outputSchema=http://www.w3.org/ns/dcat#, "
    "others at an address of their own"
)
_CONSTRUCT = "query the endpoint with CONSTRUCT or DESCRIBE instead of SELECT: that returns RDF"
_RDF = "look for the portal's RDF or data.json"
_HTML = "scrapy crawl html reads sitemaps and the pages they name, by rules"
_KNOWN_XML = {
    "feed": ("an Atom feed", _RDF),
    "rss": ("an RSS feed", _RDF),
    "urlset": ("a sitemap", _HTML),
    "sitemapindex": ("a sitemap index", _HTML),
    "sparql": ("a SPARQL result", _CONSTRUCT),
    "md_metadata": ("an ISO 19115 record", _DCAT_OF_CSW),
    "mi_metadata": ("an ISO 19115 record", _DCAT_OF_CSW),
    "getrecordsresponse": ("a list of records of a CSW", _DCAT_OF_CSW),
    "getrecordbyidresponse": ("a record of a CSW", _DCAT_OF_CSW),
    "capabilities": ("the capabilities of an OGC service, such as a CSW", _DCAT_OF_CSW),
    "wms_capabilities": ("the capabilities of a WMS", _RDF),
    "wfs_capabilities": ("the capabilities of a WFS", _RDF),
    "exceptionreport": ("an error of an OGC service", _DCAT_OF_CSW),
    "oai-pmh": ("an answer of OAI-PMH", _RDF),
}


def known_xml(head: bytes) -> str | None:
    """Return which known XML that is no RDF begins with these bytes, and what to do; ``None`` if it is unknown.

    >>> known_xml(b"<?xml version='1.0'?><feed xmlns='http://www.w3.org/2005/Atom'>")
    "this is an Atom feed, not a catalogue: look for the portal's RDF or data.json"
    >>> known_xml(b"<rdf:RDF xmlns:rdf='x'>")
    """
    root = _ROOT.match(formats.beginning(head))
    known = _KNOWN_XML.get(root[1].lower()) if root else None
    return _sentence(*known) if known else None


def known_json(content: Any) -> str | None:
    """Return which known JSON a value is that is neither JSON-LD nor a data.json, and what to do.

    >>> known_json({"head": {"vars": []}, "results": {"bindings": []}}).partition(":")[0]
    'this is a SPARQL result, not a catalogue'
    """
    if not isinstance(content, dict):
        return None
    if isinstance(content.get("results"), dict) and "bindings" in content["results"]:
        return _sentence("a SPARQL result", _CONSTRUCT)
    if isinstance(content.get("success"), bool) and content.keys() & {"result", "error"}:
        return _sentence("an answer of CKAN's API", "run scrapy crawl ckan -a portal= with the portal's address")
    if content.get("type") == "FeatureCollection":
        return _sentence("GeoJSON", _RDF)
    return None


def _sentence(what: str, advice: str) -> str:
    return f"this is {what}, not a catalogue: {advice}"
