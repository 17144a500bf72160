"""The APIs that an archive does not dump: their addresses, the requests for their capabilities, their exceptions."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache, lru_cache
from html import unescape
from typing import TYPE_CHECKING, Any, Literal, cast
from urllib.parse import parse_qsl, unquote, urlsplit, urlunsplit

import orjson

from crawlers.records.formats import eu_file_type, format_of_address
from crawlers.records.tables import toml_table

if TYPE_CHECKING:
    from collections.abc import Iterable

Name = Literal["wms", "wfs", "arcgis", "ogcapi", "sparql", "odata"]

_LONGEST = 300  # characters of a service's own words
_HEAD = 16 * 1024  # bytes that show what a document is
_PAGES = ("HTML", "XHTML", "XML")  # suffixes that services have, too
_ROOT = re.compile(
    r"\ufeff?\s*+(?:<\?(?>.*?\?>)\s*+|<!--(?>.*?-->)\s*+|<!(?i:doctype)[^<>\[]*+(?:\[(?>.*?\]))?\s*+>\s*+)*+"
    r"<([A-Za-z_][\w.-]*+)(?::([\w.-]++))?(?=[\s/>]|\Z)",
    re.DOTALL,
)
_FAILURES = {
    "ServiceExceptionReport": re.compile(r"<"),
    "ExceptionReport": re.compile(r"<"),
    "Error": re.compile(r"<Code>"),  # of S3 and Azure
    "Envelope": re.compile(r"<(?:[\w.-]{1,40}:)?Fault[\s>]"),  # of SOAP
}
"""The first elements of exception documents, and what such a document has in it."""
_CODE = re.compile(
    r"""\b(?:exceptionCode|code)\s*=\s*["']([^"'<>]{1,100})|<(?:Code|faultcode)>\s*([^<]{1,100})""",
)
_TEXT = re.compile(
    r"<(?:[\w.-]{1,40}:)?(?:ServiceException|ExceptionText|Message|faultstring|Text)\b[^>]{0,500}>"
    r"\s*([^<]{1,2000}|<!\[CDATA\[.{0,2000}?\]\])"
)
_AROUND_AN_ERROR = {"error", "success", "help", "messages", "details", "status", "code", "message"}
_FAILED = ("failed", "error", "esrijobfailed")
"""What an ArcGIS says of a job, in the key ``status`` or ``jobStatus`` of an answer without data."""
_TOLD = ("message", "detail", "description", "title", "__type")
_OGC_ERROR = {"code", "description"}
_OGC_CODES = {
    *("InvalidParameterValue", "InvalidUpdateSequence", "MissingParameterValue", "NoApplicableCode"),
    *("OperationNotSupported", "OptionNotSupported", "VersionNegotiationFailed"),  # OGC 06-121r9, 8
    *("BadRequest", "Forbidden", "InternalError", "InternalServerError", "InvalidQuery", "NotAcceptable", "NotFound"),
    *("ResourceNotFound", "ServerError", "Unauthorized"),  # OGC API leaves its codes open: these are HTTP's
}
_PROBLEM = {"type", "title", "status", "detail", "instance", "code", "description"}  # RFC 9457
_VIRTUOSO = re.compile(r"Virtuoso [0-9A-Z]{5} Error\b[^\n]{0,300}")


@dataclass(frozen=True, slots=True)
class Service:
    """An API behind an address.

    Args:
        addresses: the requests for its capabilities, in the order to try.
        accept: the header ``Accept`` that they need.
    """

    name: Name
    addresses: list[str]
    accept: str


def service(url: str, format: str | None) -> Service | None:  # noqa: A002  # DCAT's word
    """Return the API that an address or the catalogue's format names; ``None`` for the address of a file.

    An address that delivers a file is none: GetMap and GetFeature with all their parameters, a query with its format.

    Args:
        format: as the catalogue claims it.

    >>> service("https://a.org/ows?service=WMS&request=GetCapabilities", None).addresses[0]
    'https://a.org/ows?SERVICE=WMS&REQUEST=GetCapabilities&VERSION=1.3.0'
    >>> service("https://a.org/ows?service=WFS&request=GetFeature&typeName=a&outputFormat=csv", "WFS")
    >>> service("https://a.org/rest/services/Wells/MapServer/3", None).name, service("https://a.org/wells.csv", "API")
    ('arcgis', None)
    """
    try:
        parts = urlsplit(url.strip())
    except ValueError:
        return None
    given = {name.lower(): value for name, value in parse_qsl(parts.query, keep_blank_values=True)}
    name = _of_query(given) or (None if _names_a_file(url) else _of_path(parts.path, given) or _of_format(format))
    if name is None or _delivers_a_file(name, given):
        return None
    return Service(cast("Name", name), _addresses(name, url.strip()), _services()[name]["accept"])


def is_capabilities(service: Service, head: bytes) -> bool:
    """Return whether an answer is what the service was asked for: the sign that it is alive.

    Args:
        head: the first bytes of the answer.
    """
    text = head[:_HEAD].decode("utf-8", "replace")
    if exception(head) is not None:
        return False
    entry = _services()[service.name]
    if root := root_of(text):
        return root in entry.get("roots", ()) or (root.lower() != "html" and _begins(entry, text))
    keys = entry.get("keys", ())
    is_json = text.lstrip("\ufeff \t\r\n").startswith(("{", "["))
    return (is_json and any(re.search(rf'"{re.escape(key)}"\s*:', text) for key in keys)) or _begins(entry, text)


def exception(head: bytes) -> str | None:
    """Return what an exception document says; ``None`` for any other document.

    These are ServiceExceptionReport and ows:ExceptionReport, the errors of S3 and SOAP, the JSON errors of ArcGIS,
    OData, OGC API, Socrata and CKAN, problem details (RFC 9457), and Virtuoso's texts.

    Args:
        head: the first bytes of the answer.

    >>> exception(b'{"error": {"code": 499, "message": "Token Required"}}')
    '499: Token Required'
    """
    text = head[:_HEAD].decode("utf-8", "replace")
    start = text.lstrip("\ufeff \t\r\n")[:1]
    if start == "<":
        mark = _FAILURES.get(root_of(text) or "")
        return _xml_exception(text) if mark and mark.search(text) else None
    if start == "{":
        return _json_exception(head)
    found = _VIRTUOSO.match(text)
    return _plain(found[0]) if found else None


def root_of(text: str) -> str | None:
    """Return the local name of the first element of an XML document or a page; ``None`` for other texts.

    >>> root_of('<?xml version="1.0"?><!-- x --><ows:ExceptionReport>'), root_of("a,b")
    ('ExceptionReport', None)
    """
    found = _ROOT.match(text)
    return (found[2] or found[1]) if found else None


# Addresses


def _of_query(given: dict[str, str]) -> str | None:
    asked = given.get("service", "").lower()
    return next((name for name, entry in _services().items() if asked and entry.get("query") == asked), None)


def _of_path(path: str, given: dict[str, str]) -> str | None:
    if given.get("service"):
        return None  # one that is not in the table, such as CSW
    path = unquote(path).rstrip("/").lower()
    return next((name for name, pattern in _paths().items() if pattern.search(path)), None)


def _names_a_file(url: str) -> bool:
    """Return whether the address' suffix is one of a file, so that what the catalogue calls a service is none."""
    suffix = format_of_address(url)
    known = eu_file_type(suffix)
    return known is not None and known.code not in _PAGES


def _of_format(format_: str | None) -> str | None:
    words = "".join(filter(str.isalnum, (format_ or "")[:100].lower()))
    return next((name for name, entry in _services().items() if words in entry["formats"]), None) if words else None


def _delivers_a_file(name: str, given: dict[str, str]) -> bool:
    """
    >>> _delivers_a_file("wfs", {"request": "GetFeature", "typename": "a"}), _delivers_a_file("wfs", {"typename": "a"})
    (True, False)
    """
    pairs = {f"{key}={value.lower()}" for key, value in given.items()}
    filled = {key for key, value in given.items() if value}
    return any(set(needed) <= pairs | filled for needed in _services()[name].get("file", ()))


def _addresses(name: str, url: str) -> list[str]:
    entry = _services()[name]
    parts = urlsplit(url)
    root = re.search(entry["root"], parts.path, re.IGNORECASE) if "root" in entry else None
    path = parts.path[: root.start()] if root else parts.path
    base = urlunsplit((parts.scheme, parts.netloc, path or "/", "", ""))
    kept = "&".join(_kept(parts.query, entry["drop"]))
    ask = entry["ask"]
    if "query" in entry:  # by the standard, the case of parameters does not matter; some servers know only their own
        own = {name.lower(): name for name, _ in parse_qsl(parts.query, keep_blank_values=True)}
        ask = [*ask, re.sub(r"(?<=[?&])\w+", lambda found: own.get(found[0].lower(), found[0].lower()), ask[0])]
    return list(dict.fromkeys(_asked(base, kept, added) for added in ask))


def _kept(query: str, drop: Iterable[str]) -> list[str]:
    """Return the parameters that belong to the service's address, letter for letter: ``map=/srv/a.map``."""
    return [pair for pair in query.split("&") if pair and unquote(pair.partition("=")[0]).lower() not in drop]


def _asked(base: str, kept: str, added: str) -> str:
    """
    >>> _asked("https://a.org/ogc/", "map=x", "/conformance?f=json"), _asked("https://a.org/ogc", "", "")
    ('https://a.org/ogc/conformance?map=x&f=json', 'https://a.org/ogc')
    """
    path, _, query = added.partition("?")
    address = base.rstrip("/") + path if path else base
    query = "&".join(filter(None, (kept, query)))
    return f"{address}?{query}" if query else address


@cache
def _services() -> dict[str, dict[str, Any]]:
    return toml_table(__package__, "services.toml")


@cache
def _paths() -> dict[str, re.Pattern[str]]:
    """ArcGIS's WMSServer is below a MapServer: the table's order decides."""
    return {name: re.compile(f"(?:{entry['path']})$", re.IGNORECASE) for name, entry in _services().items()}


# Answers


def _begins(entry: dict[str, Any], text: str) -> bool:
    return "text" in entry and re.match(entry["text"], text) is not None


def _xml_exception(text: str) -> str:
    code, words = _CODE.search(text), _TEXT.search(text)
    said = unescape(words[1].removeprefix("<![CDATA[").removesuffix("]]")) if words else ""
    name = (code[1] or code[2]).strip() if code else ""
    return _plain(": ".join(filter(None, (name, said.strip())))) or "an exception without a text"


def _json_exception(head: bytes) -> str | None:
    try:
        document = orjson.loads(head.removeprefix(b"\xef\xbb\xbf"))
    except orjson.JSONDecodeError:
        return None  # it is longer than its head, so that it is more than an error
    if not isinstance(document, dict):
        return None
    names = set(document)
    error = document.get("error") or document.get("odata.error")
    if error and names <= _AROUND_AN_ERROR | {"odata.error"}:
        return _error(document if error is True else error)
    if _has_failed(document):
        return _error(document | {"title": document.get("messages") or "the job has failed"})
    is_ogc = names == _OGC_ERROR and str(document["code"]) in _OGC_CODES
    is_problem = names <= _PROBLEM and {"title", "status"} <= names and document["status"] in range(400, 600)
    return _error(document) if is_ogc or is_problem else None


def _has_failed(document: dict[str, Any]) -> bool:
    """
    >>> _has_failed({"status": "Failed", "progressInPercent": 0}), _has_failed({"status": "Failed", "tests": [1]})
    (True, False)
    """
    said = document.get("jobStatus") or document.get("status")
    is_data = any(isinstance(value, list | dict) and value for name, value in document.items() if name != "messages")
    return isinstance(said, str) and said.lower() in _FAILED and not is_data


def _error(error: object) -> str:
    if not isinstance(error, dict):
        return _plain(_words(error))
    text = next(filter(None, (_words(error.get(name)) for name in _TOLD)), "")
    code = _words(error.get("code", error.get("status")))
    return _plain(": ".join(filter(None, (code, text)))) or "an error without a text"


def _words(value: object) -> str:
    """Return a value of JSON as words, whatever it is where a text should be.

    >>> _words(["a", {"lang": "en", "value": "b"}, {"x": True}]), _words(5), _words(None)
    ('a; b; {"x":true}', '5', '')
    """
    if isinstance(value, str):
        return value
    if isinstance(value, list):
        return "; ".join(filter(None, (one if isinstance(one, str) else _word(one) for one in value)))
    return _word(value)


def _word(value: object) -> str:
    if isinstance(value, dict):
        known = next((value[name] for name in ("message", "value", "text") if isinstance(value.get(name), str)), None)
        return known if known is not None else orjson.dumps(value).decode()
    return "" if value is None else value if isinstance(value, str) else orjson.dumps(value).decode()


@lru_cache(maxsize=64)
def _plain(text: str) -> str:
    """Return a text of others in one short line."""
    line = " ".join("".join(letter if letter.isprintable() else " " for letter in text[: 4 * _LONGEST]).split())
    return line if len(line) <= _LONGEST else f"{line[: _LONGEST - 3]}..."
