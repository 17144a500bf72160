"""Detects the serialisation of an answer: by its Content-Type, else its suffix, else its first bytes."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any, Literal

import pyoxigraph

Family = Literal["xml", "json", "text", "html"]
_HEAD = 64 * 1024  # bytes of an answer that show its serialisation


@dataclass(frozen=True, slots=True)
class Format:
    """A serialisation of RDF.

    Args:
        name: what people call it.
        media_types: its Content-Types.
        suffixes: of file names, with the dot.
        family: what its first bytes look like.
        parser: pyoxigraph's name for it.
    """

    name: str
    media_types: tuple[str, ...]
    suffixes: tuple[str, ...]
    family: Family
    parser: pyoxigraph.RdfFormat


RDF_XML = Format("RDF/XML", ("application/rdf+xml",), (".rdf", ".owl", ".xml"), "xml", pyoxigraph.RdfFormat.RDF_XML)
TURTLE = Format(
    "Turtle", ("text/turtle", "application/x-turtle"), (".ttl", ".turtle"), "text", pyoxigraph.RdfFormat.TURTLE
)
N_TRIPLES = Format("N-Triples", ("application/n-triples",), (".nt",), "text", pyoxigraph.RdfFormat.N_TRIPLES)
N_QUADS = Format("N-Quads", ("application/n-quads",), (".nq",), "text", pyoxigraph.RdfFormat.N_QUADS)
N3 = Format("N3", ("text/n3", "text/rdf+n3"), (".n3",), "text", pyoxigraph.RdfFormat.N3)
TRIG = Format("TriG", ("application/trig",), (".trig",), "text", pyoxigraph.RdfFormat.TRIG)
JSON_LD = Format("JSON-LD", ("application/ld+json",), (".jsonld", ".json"), "json", pyoxigraph.RdfFormat.JSON_LD)
JSON_LD_UP_TO_AN_ERROR = Format("JSON-LD", (), (), "json", pyoxigraph.RdfFormat.STREAMING_JSON_LD)
FORMATS = (TURTLE, RDF_XML, JSON_LD, N_TRIPLES, N_QUADS, TRIG, N3)
"""The order in which a format is chosen where a page offers several: the most readily parsed first."""

ACCEPT = (
    "text/turtle, application/rdf+xml;q=0.9, application/ld+json;q=0.8, application/n-triples;q=0.7, "
    "application/trig;q=0.6, text/n3;q=0.5, application/json;q=0.4, */*;q=0.1"
)

_BY_TYPE = {media_type: format_ for format_ in FORMATS for media_type in format_.media_types}
_BY_SUFFIX = {suffix: format_ for format_ in FORMATS for suffix in format_.suffixes}

_SKIPPED = re.compile(r"(?:\s+|<\?.*?\?>|<!--.*?-->|#[^\n]*\n)+", re.DOTALL)
_DOCTYPE = re.compile(r"<!doctype\s+([\w:.-]+)", re.IGNORECASE)
_ELEMENT = re.compile(r"<([a-zA-Z_][\w.-]*(?::[a-zA-Z_][\w.-]*)?)[\s/>]")
_JSON = re.compile(r'\{\s*(?:["}]|$)|\[\s*[\[{"]')
_QUAD = re.compile(r"""(?:<[^>]*>|_:\S+)\s+<[^>]*>\s+(?:<[^>]*>|_:\S+|"[^"]*"\S*)\s+(?:<[^>]*>|_:\S+)\s*\.""")
_TURTLE = re.compile(
    r"@prefix\b|@base\b|prefix\b|base\b|<[^\s<>]*>\s|_:\w|\[\s*(?:\]|a\s|<|\w*:)|\w*:\w*\s", re.IGNORECASE
)
_STATEMENT = re.compile(r"<[^\s<>\"]*>\s+(?:a\s|<[^\s<>\"/]+>\s|<\w+:[^\s<>\"]*>\s|\w*:\w+\s)")
_IN_GRAPH = re.compile(r"(?:<[^>]*>|\w*:\w*|graph\s+\S+)\s*\{", re.IGNORECASE)
_HTML = {"html", "head", "body", "title", "meta", "script", "div", "p", "h1", "table"}


def by_media_type(text: str) -> Format | None:
    """Return the format that a Content-Type names.

    >>> by_media_type("Text/Turtle; charset=utf-8").name, by_media_type("text/html")
    ('Turtle', None)
    """
    return _BY_TYPE.get(text.partition(";")[0].strip().lower())


def by_suffix(url: str) -> Format | None:
    """Return the format that the suffix of an address names, packed or not.

    >>> by_suffix("https://example.org/catalog.rdf?page=2").name, by_suffix("https://example.org/catalog")
    ('RDF/XML', None)
    """
    path = url.partition("#")[0].partition("?")[0].removesuffix(".gz")
    return _BY_SUFFIX.get(path[path.rfind(".") :].lower()) if "." in path else None


def family(head: bytes) -> Family | None:
    """Return what the first bytes look like; ``None`` if that is nothing known.

    >>> family(b"<!DOCTYPE html><html>"), family(b"<http://a.org/1> a <http://a.org/2> ."), family(b'{"@id": "x"}')
    ('html', 'text', 'json')
    >>> family(b"<rdf:RDF xmlns:rdf='x'>"), family(b"%PDF-1.4")
    ('xml', None)
    """
    begin = beginning(head)
    tag = _DOCTYPE.match(begin) or _ELEMENT.match(begin)
    if tag and tag[1].lower() in _HTML:
        return "html"
    if _STATEMENT.match(begin) or _IN_GRAPH.match(begin):  # before XML: a relative IRI looks like a tag
        return "text"
    if tag:
        return "xml"
    if _JSON.match(begin):
        return "json"
    return "text" if _TURTLE.match(begin) else None


def beginning(head: bytes) -> str:
    """Return the first bytes as text, without a byte order mark, comments and the XML declaration."""
    wide = head[:2] in (b"\xff\xfe", b"\xfe\xff")
    text = head.decode("utf-16" if wide else "utf-8-sig", "replace")
    skipped = _SKIPPED.match(text)
    return text[skipped.end() :] if skipped else text


def detect(content_type: str, url: str, head: bytes) -> Format | Literal["html"] | None:
    """Return the serialisation; a Content-Type or suffix that the first bytes contradict is ignored.

    >>> detect("text/html", "https://example.org/c", b"@prefix dcat: <http://www.w3.org/ns/dcat#> .").name
    'Turtle'
    >>> detect("text/turtle", "https://example.org/c.ttl", b"<!DOCTYPE html>")
    'html'
    """
    looks = family(head)
    if looks == "html":
        return "html"
    for named in (by_media_type(content_type), by_suffix(url)):
        if named and looks in (named.family, None):
            return named
    if looks == "xml":
        return RDF_XML
    if looks == "json":
        return JSON_LD
    return _of_text(beginning(head)) if looks == "text" else None


def of_answer(response: Any) -> Format | Literal["html"] | None:
    """Return the serialisation of a Scrapy response, like `detect`."""
    content_type = (response.headers.get("Content-Type") or b"").decode("latin-1")
    return detect(content_type, response.url, response.body[:_HEAD])


def _of_text(begin: str) -> Format:
    if _QUAD.match(begin):
        return N_QUADS
    return TRIG if _IN_GRAPH.search(begin) else TURTLE
