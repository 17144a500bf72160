"""What a server answers: its capabilities, a page of records, or its reason for giving none; and records as items.

What it says of itself may be wrong, so that each is only tried first. Each record is read by itself: what can't be read
loses no other.
"""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Any, NamedTuple

from lxml import etree

from crawlers.components.spool import open_body
from crawlers.exceptions import AnswerError
from crawlers.kinds.csw import getrecords, schemas
from crawlers.listing.walk import Entry
from crawlers.records import xml
from crawlers.records.rdf.terms import DCAT, DCT, RDF
from crawlers.records.xml import list_root, parse
from crawlers.safety import bounds

if TYPE_CHECKING:
    from collections.abc import Iterator

    from scrapy.http import Response

    from crawlers.items import Dataset
    from crawlers.listing.crawl import Crawl

VERSIONS = {"http://www.opengis.net/cat/csw/2.0.2": "2.0.2", "http://www.opengis.net/cat/csw/3.0": "3.0.0"}
"""The versions of CSW that are read, by namespace."""
_ANSWERS = ("Capabilities", "GetRecordsResponse", "GetRecordByIdResponse")


class Capabilities(NamedTuple):
    """What the capabilities say.

    Args:
        version: 2.0.2 or 3.0.0.
        schemas: the output schemas of GetRecords.
        queryables: the properties that a filter or an order may name.
    """

    version: str
    schemas: frozenset[str] = frozenset()
    queryables: tuple[str, ...] = ()

    def queryable(self, name: str, prefix: str, default: str) -> str:
        """Return what the server calls a property: as it spells it, if possible with this prefix.

        >>> Capabilities("2.0.2", queryables=("dct:modified", "apiso:Modified")).queryable("modified", "apiso", "x")
        'apiso:Modified'
        """
        found = [text for text in self.queryables if text.rpartition(":")[2].lower() == name]
        return next((text for text in found if text.startswith(f"{prefix}:")), found[0] if found else default)


def is_csw(root: Any) -> bool:
    """Return whether the root element of an answer is a CSW's: capabilities, or records."""
    namespace, _, name = str(root.tag)[1:].partition("}")
    return namespace in VERSIONS and name in _ANSWERS


def capabilities(root: Any) -> Capabilities | None:
    """Return what the root element of an answer says; ``None`` if it is not the capabilities of a CSW."""
    namespace, _, name = str(root.tag)[1:].partition("}")
    if namespace not in VERSIONS or name != "Capabilities":
        return None
    operation = next((one for one in root.iter("{*}Operation") if one.get("name") == "GetRecords"), None)
    if operation is None:
        return Capabilities(VERSIONS[namespace])
    schemas = {text for parameter, text in _values(operation, "Parameter") if parameter.lower() == "outputschema"}
    names = [text for constraint, text in _values(operation, "Constraint") if "queryables" in constraint.lower()]
    return Capabilities(VERSIONS[namespace], frozenset(schemas), tuple(filter(_is_name, names)))


def _values(operation: Any, kind: str) -> Iterator[tuple[str, str]]:
    for one in operation.iterchildren(f"{{*}}{kind}"):
        yield from ((one.get("name", ""), (value.text or "").strip()) for value in one.iter("{*}Value"))


def _is_name(text: str) -> bool:
    """Return whether a text is a property's name: it becomes a part of requests."""
    return len(text) < 100 and text.replace(":", "").replace("_", "").isalnum()


_HEAD = 64 * 1024
_EXCEPTIONS = ("ExceptionReport", "ServiceExceptionReport")
_LOGIN = (b'type="password"', b"type='password'", b"type=password")
_IDS = "{*}fileIdentifier", "{*}metadataIdentifier//{*}code", "{http://purl.org/dc/elements/1.1/}identifier"
_LEVELS = "{*}hierarchyLevel//{*}MD_ScopeCode", "{*}metadataScope//{*}MD_ScopeCode"
_SERVICES = "{*}identificationInfo/{*}SV_ServiceIdentification", "{*}identificationInfo/{*}CSW_ServiceIdentification"
_TYPE = "{http://purl.org/dc/elements/1.1/}type"
_DATA = frozenset(DCAT + name for name in ("Dataset", "DatasetSeries", "Catalog"))
_ISO = ("MD_Metadata", "MI_Metadata", "FC_FeatureCatalogue")
_SUMMARY = 300


class ServiceError(AnswerError):
    """The server says why it gives no records, or gives something else.

    Args:
        message: one sentence.
        about: what the server names as the reason, in lower case: its codes and parameters, a stroke, its text.
    """

    def __init__(self, message: str, about: str, kind: str = "refused") -> None:
        super().__init__(kind, message)
        self.about = about


class Results(NamedTuple):
    """The records of an answer.

    Args:
        elements: those that can be read as XML.
        holes: the places, from 0, where the server gives a comment instead of a record.
        matched: how many records the server says there are.
        flaws: what is in another encoding than it should be, as sentences.
        fault: why the answer breaks off; what came before that is in `elements`.
    """

    elements: list[Any]
    holes: tuple[int, ...]
    matched: int | None
    flaws: list[str]
    fault: AnswerError | None = None

    @property
    def received(self) -> int:
        """How many positions the answer covers, whatever its own numbers say."""
        return len(self.elements) + len(self.holes)

    def before(self, hole: int) -> Results:
        """Return what the answer holds before one of its holes."""
        holes = tuple(place for place in self.holes if place < hole)
        return self._replace(elements=self.elements[: hole - len(holes)], holes=holes)


def results(response: Response, rows: int) -> Results:
    """Return the records of an answer.

    Args:
        rows: how many were requested.

    Raises:
        AnswerError: it holds none: an exception, an HTML page, something else.
    """
    head = open_body(response).read(_HEAD)
    if head.lstrip()[:15].lower().startswith((b"<!doctype html", b"<html")):
        raise _html_error(head)
    flaws: list[str] = []
    top, fault = list_root(response, ("SearchResults",), flaws)
    if fault and b"<!--" in response.body.partition(b"SearchResults")[2]:
        raise fault  # which of its places have a record is not known
    if error := exception(top):
        raise error
    found = next(top.iter("{*}SearchResults"), None)
    if found is None:
        name = etree.QName(top).localname[:100]
        raise ServiceError(f"the answer has no search results, but {name}", f"noresults {name.lower()}")
    matched = _number(found.get("numberOfRecordsMatched"))
    elements = list(found.iterchildren("*"))
    bounds.RECORDS.check(len(elements))
    holes = _holes(response, len(elements), _number(found.get("numberOfRecordsReturned")), rows)
    return Results(elements, holes, matched, flaws, fault and AnswerError("invalid_record", str(fault)))


def _number(text: str | None) -> int | None:
    text = (text or "").strip()
    return int(text) if text.isascii() and text.isdecimal() and len(text) < 16 else None


def _holes(response: Response, count: int, returned: int | None, rows: int) -> tuple[int, ...]:
    """Return where comments stand for records, as GeoNetwork's for those that it can't render.

    The harmless text has no comments. They count only if they fill the page exactly: any other is a remark.
    """
    body = response.body
    if b"<!--" not in body.partition(b"SearchResults")[2] or b"<!DOCTYPE" in body:
        return ()
    bounds.check_markup(body)
    try:
        top = etree.fromstring(body, etree.XMLParser(resolve_entities=False, no_network=True))
    except etree.XMLSyntaxError:
        return ()
    children = [child for found in top.iter("{*}SearchResults") for child in found]
    holes = tuple(place for place, child in enumerate(children) if child.tag is etree.Comment)
    return holes if count + len(holes) in (returned, rows) else ()


def exception(top: Any) -> ServiceError | None:
    """Return the exception that the root element of an answer is; ``None`` if it is none."""
    if etree.QName(top).localname not in _EXCEPTIONS:
        return None
    found = [*top.iter("{*}Exception", "{*}ServiceException")]
    codes = [one.get(name, "") for one in found for name in ("exceptionCode", "code", "locator")]
    text = " ".join(" ".join("".join(one.itertext()) for one in found).split())
    named = ", ".join(filter(None, dict.fromkeys(codes)))
    about = " ".join([*codes, text[:_SUMMARY]]).lower()
    return ServiceError(
        f"the server answered: {text[:_SUMMARY] or 'an exception'} ({named or 'without a code'})", about
    )


def of_failure(response: Response | None) -> ServiceError | None:
    """Return the exception in the body of an HTTP error; ``None`` if there is none."""
    try:
        return exception(parse(response.body[:_HEAD])) if response is not None and response.body else None
    except AnswerError:
        return None


def _html_error(head: bytes) -> ServiceError:
    """Return what an HTML page means: a stack trace, a login, or an address that is not a CSW's."""
    if b"Exception" in head:
        name = next(word for word in head.split() if b"Exception" in word)[:100].decode("utf-8", "replace")
        return ServiceError(f"an HTML page with an error came instead of records: {name}", "")
    if any(mark in head.lower() for mark in _LOGIN):
        return ServiceError("an HTML page with a login came instead of records", "html", kind="blocked")
    return ServiceError("an HTML page came instead of records: is this the address of a CSW?", "html")


def _identifier(element: Any) -> str | None:
    """Return the id of a record that can't be mapped, as far as it can be found."""
    texts = (" ".join("".join(found.itertext()).split()) for path in _IDS for found in element.iterfind(path))
    described = (node.get(f"{{{RDF}}}about") for node in element if _is_data(node))
    return next(filter(None, (*texts, *described)), None)


def mark(element: Any) -> str:
    """Return what a record is known by on the next page: a digest of its id, or of itself."""
    name = _identifier(element)
    return hashlib.sha256(name.encode() if name else etree.tostring(element, with_tail=False)).hexdigest()[:16]


def catalogue_id(element: Any) -> str | None:
    """Return the id that the server has for a record of RDF/XML: that of its catalogue record, if it has one."""
    for node in element.iter("*"):
        if DCAT + "CatalogRecord" in _types(node):
            texts = (" ".join("".join(found.itertext()).split()) for found in node.iterfind(f"{{{DCT}}}identifier"))
            return next(filter(None, (*texts, node.get(f"{{{RDF}}}about"))), None)
    return None


def _is_data(node: Any) -> bool:
    return not _DATA.isdisjoint(_types(node))


def _types(node: Any) -> list[str]:
    own = [kind.get(f"{{{RDF}}}resource", "") for kind in node.iterfind(f"{{{RDF}}}type")]
    return [str(node.tag)[1:].replace("}", "", 1), *own]


def is_service(element: Any) -> bool:
    """Return whether a record describes a service instead of data, by its own word."""
    if element.tag == f"{{{RDF}}}RDF":
        nodes = list(element.iterchildren("*"))
        return any(DCAT + "DataService" in _types(node) for node in nodes) and not any(map(_is_data, nodes))
    levels = [found.get("codeListValue") or found.text or "" for path in _LEVELS for found in element.iterfind(path)]
    types = [*levels[:1], *(found.text or "" for found in element.iterfind(_TYPE))]
    if types:
        return any(text.strip().lower().rpartition("/")[2] == "service" for text in types)
    return any(element.find(path) is not None for path in _SERVICES)


Asked = tuple[str, str, str]
"""The server's address, the version of CSW and the output schema of a request."""


def entry(element: Any, response: Response, asked: Asked, crawl: Crawl) -> Entry | str:
    """Return a record as an item, or as the reason why it can't be one; only its id if it describes no data."""
    try:
        item = None if is_service(element) else _item(element, asked, crawl)
    except AnswerError as error:
        if not (error.kind == "unsupported" and etree.QName(element).localname in _ISO):
            return _unread(element, error)
        item = None
    except Exception as error:
        crawl.logger.exception("A record of %s could not be handled", response.url)
        message = f"the record could not be handled: {type(error).__name__}: {error}"
        return _unread(element, AnswerError("bug", message))
    if item is None:
        return _identifier(element) or _digest(element)
    return Entry(item.id, item, len(item.resources) if crawl.limits.resources else 0)


def _item(element: Any, asked: Asked, crawl: Crawl) -> Dataset:
    endpoint, version, schema = asked
    given = {"source": crawl.source, "url": endpoint, "language": crawl.args["language"]}
    try:
        item = xml.lazily(element, **given)
    except AnswerError:
        name = _identifier(element) or catalogue_id(element)
        if name is None:
            raise
        item = xml.lazily(element, id=name, **given)  # it is kept as it is, unless it describes no data
    if item.id in ("", endpoint):  # which stands for an id that is missing
        raise AnswerError("missing_id", "a record has no identifier, so it is not kept")
    name = catalogue_id(element) if schemas.by_uri(schema).is_rdf else item.id
    item.metadata_url = getrecords.record_address(endpoint, version, schema, name)
    return item


def doubles(entries: list[Entry]) -> list[tuple[Entry, Entry]]:
    """Return the records whose id a page has again for another one, with that one, each time that it has."""
    first: dict[str, Entry] = {}
    pairs = [(first.setdefault(entry.id, entry), entry) for entry in entries if entry.id is not None]
    return [(known, entry) for known, entry in pairs if known is not entry and _content(known) != _content(entry)]


def title(entry: Entry) -> str | None:
    """Return a record's title; ``None`` of one that can't be read."""
    return None if isinstance(entry.record, dict) else entry.record.title


def digest(entry: Entry) -> str:
    """Return what a record with the id of another one is known by."""
    content = _content(entry)
    return str(content["sha256"]) if isinstance(content, dict) else hashlib.sha256(content).hexdigest()


def _content(entry: Entry) -> Any:
    return entry.record if isinstance(entry.record, dict) else entry.record.document


def _unread(element: Any, error: AnswerError) -> Entry:
    return Entry(_identifier(element), {"kind": error.kind, "message": str(error), "sha256": _digest(element)})


def _digest(element: Any) -> str:
    return hashlib.sha256(etree.tostring(element, with_tail=False)).hexdigest()
