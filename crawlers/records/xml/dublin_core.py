"""Dublin Core as XML (csw:Record, oai_dc, qualified Dublin Core), mapped as the RDF that it says."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any
from xml.sax.saxutils import escape, quoteattr

from lxml import etree

from crawlers.records import dcat, values
from crawlers.records.periods import any_period
from crawlers.records.rdf.terms import DC, DCAT, DCT, TYPE, Literal
from crawlers.records.xml.links import Link, landing_page, resources, web_address

if TYPE_CHECKING:
    from collections.abc import Iterator

    from crawlers.items import Dataset
    from crawlers.records.rdf.terms import Graph

_ELEMENTS = f"{{{DC}}}*", f"{{{DCT}}}*"
_IDENTIFIERS = DC + "identifier", DCT + "identifier"
_LINKS = (DCT + "references", DC + "URI")
_FORMATS = DC + "format", DCT + "format"
_TYPES = DC + "type", DCT + "type"
_RIGHTS = DC + "rights", DCT + "accessRights"
_COVERAGE = DC + "coverage", DCT + "coverage"
_SAME = {DC + "date": DCT + "issued", DCT + "date": DCT + "issued", DCT + "available": DCT + "issued"}
ACCESS = {"openAccess": "PUBLIC", "embargoedAccess": "RESTRICTED", "restrictedAccess": "RESTRICTED"}
ACCESS |= {"closedAccess": "NON_PUBLIC"}
"""The access rights of OpenAIRE, in the words of the EU's vocabulary."""
_ACCESS_IRI = "http://publications.europa.eu/resource/authority/access-right/"
_OPEN_AIRE = "info:eu-repo/semantics/"
_DOI = re.compile(r"(?:https?://(?:dx\.)?doi\.org/|doi:\s*)?(10\.[0-9]{4,9}/\S{1,300})", re.IGNORECASE)
_INTEGERS = re.compile(r"[0-9]++(?:[\s,;/–-]++[0-9]++)?")
"""Of a coverage: years or codes, but no latitude and longitude."""
_LANGUAGE = "{http://www.w3.org/XML/1998/namespace}lang"


def recognise(element: Any) -> str | None:
    """Return the ``metadata_source`` of an element whose children are Dublin Core, whatever its own name."""
    return "dublin_core" if next(element.iterchildren(*_ELEMENTS), None) is not None else None


def scope(element: Any) -> str:
    """Return what a record describes, by its dc:type: service, series, else dataset."""
    types = {text.rpartition("/")[2].lower() for text in _texts(element, *_TYPES)}
    return next((each for each in ("service", "series") if each in types), "dataset")


def dataset(element: Any, *, source: str, url: str, language: str | None = None) -> Dataset:
    """Return the item of a record; without an identifier of its own it has the address."""
    graph, subject = _graph(element, url)
    item = dcat.dataset(graph, subject, source=source, language=language)
    _identify(item, _texts(element, *_IDENTIFIERS))
    found = list(dict.fromkeys(_links(element)))
    item.landing_page = landing_page(found) or item.landing_page
    item.resources = resources(found, item.id, _formats(element))
    return item


def _identify(item: Dataset, identifiers: list[str]) -> None:
    """Prefer a DOI as the identifier; the IRI is its address, or the first identifier that is an address."""
    for text in identifiers:
        if doi := _DOI.fullmatch(text):
            item.identifier, item.uri = text, f"https://doi.org/{doi[1]}"
            return
    item.uri = next((text for text in identifiers if values.url(text)), item.uri)


def _links(element: Any) -> Iterator[Link]:
    """Yield the links: those with a protocol, then the identifiers that are addresses."""
    for child in element.iterchildren(*_ELEMENTS):
        name = _name(child)
        if name in _LINKS and (url := web_address(_text(child))):
            protocol = child.get("protocol") or child.get("scheme") or ""
            yield Link(url, protocol.lower(), child.get("name"), child.get("description"), "", None)
    for text in _texts(element, *_IDENTIFIERS):
        doi = _DOI.fullmatch(text)
        if url := values.url(f"https://doi.org/{doi[1]}" if doi else text):
            yield Link(url, "", None, None, "", None)


def _formats(element: Any) -> list[str]:
    """Return the formats; pycsw writes protocols beside them: "CSV,WWW:DOWNLOAD-1.0-http--download"."""
    parts = (part.strip() for text in _texts(element, *_FORMATS) for part in text.split(","))
    return list(dict.fromkeys(part for part in parts if part and ":" not in part))


def _graph(element: Any, url: str) -> tuple[Graph, str]:
    """Return what the elements say, as RDF, and the dataset's name there."""
    subject = "_:dataset" if _texts(element, *_IDENTIFIERS) else url
    node: dict[str, Any] = {TYPE: [DCAT + "Dataset"]}
    for child in element.iterchildren(*_ELEMENTS):
        name, text = _name(child), _text(child)
        is_unclear = name in _COVERAGE and _INTEGERS.fullmatch(text) and not any_period(text)
        if text and name not in _LINKS and not is_unclear:
            predicate, value = _statement(name, text, child.get(_LANGUAGE))
            node.setdefault(predicate, []).append(value)
    for box in _boxes(element):
        node.setdefault(DCT + "spatial", []).append(Literal(box))
    return {subject: node}, subject


def _statement(name: str, text: str, language: str | None) -> tuple[str, Any]:
    """Return the predicate and the value of an element."""
    if name in _COVERAGE:
        return DCT + ("temporal" if any_period(text) else "spatial"), Literal(text, language)
    if name in _RIGHTS and text.startswith(_OPEN_AIRE):
        word = text.removeprefix(_OPEN_AIRE)
        return DCT + "accessRights", _ACCESS_IRI + ACCESS[word] if word in ACCESS else Literal(word)
    return _SAME.get(name, name), Literal(text, language)


_CORNERS = ("{*}LowerCorner", "{*}UpperCorner", "{*}lowerCorner", "{*}upperCorner")
"""What the corners are called in OWS, and in GML."""


def _boxes(element: Any) -> Iterator[str]:
    """Yield the boxes of OGC's ows namespace, without its prefix."""
    for box in element.iterchildren("{*}BoundingBox", "{*}WGS84BoundingBox"):
        name, corners = etree.QName(box).localname, box.iterchildren(*_CORNERS)
        texts = ((etree.QName(corner).localname, escape(_text(corner)[:200])) for corner in corners)
        inner = "".join(f"<{tag}>{text}</{tag}>" for tag, text in texts)
        yield f"<{name} crs={quoteattr(box.get('crs', ''))}>{inner}</{name}>"


def _texts(element: Any, *names: str) -> list[str]:
    found = [_text(child) for child in element.iterchildren(*_ELEMENTS) if _name(child) in names]
    return list(filter(None, found))


def _text(element: Any) -> str:
    return " ".join("".join(element.itertext()).split())


def _name(element: Any) -> str:
    """Return the IRI that an element's name is."""
    name = etree.QName(element)
    return f"{name.namespace}{name.localname}"
