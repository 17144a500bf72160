"""What an HTTP answer is: a page of RDF, a data.json, an HTML page that links to one, a zip file, or something else."""

from __future__ import annotations

import io
import zipfile
import zlib
from contextlib import suppress
from typing import TYPE_CHECKING, Any, BinaryIO, TypeVar

from parsel import Selector
from w3lib.encoding import http_content_type_encoding

from crawlers.components.spool import SpooledFile, SpooledResponse, open_body
from crawlers.exceptions import AnswerError
from crawlers.kinds.dcat.page import CataloguePage, DataJSONPage, RDFPage
from crawlers.listing.answers import other_answer
from crawlers.listing.crawl import in_turns
from crawlers.records import data_json
from crawlers.records.rdf import formats
from crawlers.safety import strict_json, text, xml
from crawlers.safety.addresses import absolute
from crawlers.safety.text import decoded, in_utf8, is_utf8

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from scrapy.http import HtmlResponse, Response

    from crawlers.records.rdf.formats import Format

P = TypeVar("P", bound=CataloguePage)

NO_RDF = (
    "look there for a link to RDF, DCAT, Turtle or JSON-LD, or try /catalog.ttl, /catalog.rdf, /catalog.jsonld or "
    "/data.json of that site, and give its address as -a url="
)

_PARTIAL = 206


class NoRDFError(AnswerError):
    """An answer that neither is RDF, or a data.json, nor leads to any.

    Args:
        what: the answer is, as a clause.
    """

    def __init__(self, what: str) -> None:
        super().__init__("not_rdf", f"{what}: {NO_RDF}")
        self.what = what


def read(
    response: Response, *, name: str, language: str | None, max_json: int, make: Callable[..., RDFPage] = RDFPage
) -> CataloguePage | None:
    """Return the page in an answer; ``None`` if the answer is HTML.

    Args:
        name: the source's.
        language: of titles and descriptions, where there are several.
        max_json: the largest JSON that is read, in bytes.
        make: makes a page of RDF.

    Raises:
        AnswerError: the answer is something else, or may not be read.
    """
    if response.status == _PARTIAL:
        raise AnswerError("truncated", "the server sent only a part of the file (HTTP 206)")
    file, content_type = open_body(response), _content_type(response)
    format_ = formats.detect(content_type, response.url, _head(file))
    if format_ == "html":
        return None
    if format_ is None:
        raise NoRDFError(f"the answer is in no known RDF format (Content-Type {content_type!r})")
    charsets = http_content_type_encoding(content_type), response.meta.get("encoding") if response.request else None
    if format_.family == "json":
        return _json_page(file, response, charsets, name=name, language=language, max_json=max_json, make=make)
    misread: list[str] = []
    if is_xml := format_.family == "xml":
        check_known(response)
    file = xml.plain(file, charsets[0], misread, charsets[1]) if is_xml else in_utf8(file, *charsets, misread)
    page = make(file, format_, response.url, name=name, language=language)
    page.misread = misread
    return page


async def loaded(page: P) -> P:
    """Return a page when it has been read, meanwhile other work goes on; it is closed if that fails."""
    try:
        await in_turns(page.load())
    except BaseException:
        page.close()
        raise
    return page


def _content_type(response: Response) -> str:
    return (response.headers.get("Content-Type") or b"").decode("latin-1")


def _head(file: BinaryIO) -> bytes:
    head = file.read(64 * 1024)
    file.seek(3 if head.startswith(b"\xef\xbb\xbf") else 0)
    return head


def check_known(response: Response) -> None:
    """
    Raises:
        AnswerError: the answer is of a service, a feed or a login that is known.
    """
    if other := other_answer(response, "a catalogue", spider="dcat"):
        raise AnswerError("not_rdf", other)


def _json_page(
    file: BinaryIO,
    response: Response,
    charsets: tuple[str | None, str | None],
    *,
    name: str,
    language: str | None,
    max_json: int,
    make: Callable[..., RDFPage],
) -> CataloguePage:
    body = _read_json(file, max_json)
    misread: list[str] = []
    body = _utf8(body, *charsets, misread)
    faults: list[str] = []
    content = _content(body, faults)
    if data_json.recognised(content):
        if make is not RDFPage:
            raise AnswerError("not_rdf", "this is a data.json, and the rules are about RDF: leave -a rules= out")
        page: CataloguePage = DataJSONPage(content, faults, name=name)
        page.misread = misread
        return page
    if content is None and b'"@' not in body:
        raise AnswerError("not_json", faults[0])
    if b'"@' not in body:
        check_known(response)
    format_ = formats.JSON_LD_UP_TO_AN_ERROR if content is None else formats.JSON_LD
    del content
    page = make(io.BytesIO(body), format_, response.url, name=name, language=language)
    page.misread = misread
    return page


def _read_json(file: BinaryIO, max_json: int) -> bytes:
    body = file.read(max_json + 1)
    if len(body) > max_json:
        raise AnswerError(
            "too_large",
            f"JSON is read into memory, JSON-LD at some ten times its size, and this is larger than JSON_MAXSIZE "
            f"({max_json} bytes): raise that with -s JSON_MAXSIZE=, or use the catalogue's RDF/XML or Turtle",
        )
    return body


def _utf8(body: bytes, charset: str | None, declared: str | None, faults: list[str]) -> bytes:
    """Return JSON in UTF-8, which it is unless its bytes show otherwise."""
    if is_utf8(io.BytesIO(body)):
        return body
    found = decoded(body, charset, given=declared, is_utf8=True)
    faults += filter(None, [found.flaw])
    return found.text.encode("utf-8", "surrogatepass")


def _content(body: bytes, faults: list[str]) -> Any:
    """Return the JSON value; if it breaks off, what came before in a data.json, and ``None`` for anything else."""
    with suppress(ValueError):
        found = strict_json.in_pieces(body)
        return strict_json.loads(body) if data_json.is_record(found) else found
    try:
        return strict_json.loads(body)
    except ValueError as error:
        found, is_whole = data_json.up_to_an_error(body.decode("utf-8", "replace"))
        faults += [] if is_whole else [f"the JSON can't be read: {error}"]
        return found


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


# A zip file, such as a catalogue's dump

_BEGIN = b"PK\x03\x04"
_DIRECTORY = 1 << 20  # bytes of the list of what is in it: at least 10,000 files
_PART = 256 * 1024
_METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)  # LZMA takes the memory that the file says
_ENCRYPTED = 1
_NAMED = 10  # files that a message names


async def unzipped(response: Response, *, most: int, folder: str | None) -> Response:
    """Return the answer with the only file of RDF that a zip file has; other answers as they are.

    No name in it is taken for a path: the file goes into a temporary one.

    Args:
        most: the bytes that it may unpack to; 0 = no limit.
        folder: where the temporary file takes space.

    Raises:
        AnswerError: the zip file has no file of RDF or several, has too much, or can't be unpacked.
    """
    with open_body(response) as body:
        begin = body.read(len(_BEGIN))
        received = body.seek(0, 2)
        if begin != _BEGIN:
            return response
        file = SpooledFile(folder)
        try:
            with zipfile.ZipFile(_Sips(body)) as archive:
                member = _only(archive)
                await in_turns(_unpack(archive, member, file, most))
        except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, ValueError, OSError) as error:
            raise AnswerError("truncated", f"the zip file can't be unpacked ({error})") from error
    format_, headers = formats.by_suffix(member.filename), response.headers.copy()
    headers["Content-Type"] = format_.media_types[0] if format_ else ""
    return SpooledResponse.from_response(response, file, received).replace(headers=headers)


class _Sips:
    """A file of which little is read at once, whatever the zip file says about its size."""

    def __init__(self, file: BinaryIO) -> None:
        self.file, self.seek, self.tell, self.seekable = file, file.seek, file.tell, file.seekable

    def read(self, size: int = -1) -> bytes:
        found = self.file.read(_DIRECTORY + 1 if size < 0 else min(size, _DIRECTORY + 1))
        if len(found) > _DIRECTORY:
            raise AnswerError("too_large", "the zip file has too many files: give the address of the one with the RDF")
        return found


def _only(archive: zipfile.ZipFile) -> zipfile.ZipInfo:
    """Return the file of RDF; a single file may have any name."""
    named = (each for each in archive.infolist() if each.filename)  # a zip file may have a name of NULs alone
    files = [each for each in named if not (each.is_dir() or _is_hidden(each.filename))]
    found = [each for each in files if formats.by_suffix(each.filename) and not each.filename.endswith(".gz")]
    found = found or (files if len(files) == 1 else [])
    if not found:
        raise NoRDFError(f"the answer is a zip file without RDF: {_listed(files)}")
    if len(found) > 1:
        message = f"the zip file has several files of RDF ({_listed(found)}): give the address of a file of its own"
        raise AnswerError("not_rdf", message)
    if found[0].flag_bits & _ENCRYPTED or found[0].compress_type not in _METHODS:
        raise AnswerError("not_rdf", f"{_listed(found)} in the zip file has a password, or is not packed by deflate")
    return found[0]


def _is_hidden(name: str) -> bool:
    """Return whether a file is a system's own, such as ``__MACOSX/._catalog.rdf``."""
    return name.startswith("__MACOSX/") or name.rpartition("/")[2].startswith(".")


def _listed(files: list[zipfile.ZipInfo]) -> str:
    more = f" and {len(files) - _NAMED} more" if len(files) > _NAMED else ""
    return ", ".join(each.filename[-100:] for each in files[:_NAMED]) + more if files else "it is empty"


def _unpack(archive: zipfile.ZipFile, member: zipfile.ZipInfo, into: SpooledFile, most: int) -> Iterator[Any]:
    with archive.open(member) as packed:
        while part := packed.read(_PART):
            into.write(part)
            if most and into.size > most:
                raise AnswerError("too_large", f"the file in the zip file is larger than SPOOL_MAXSIZE ({most} bytes)")
            yield
