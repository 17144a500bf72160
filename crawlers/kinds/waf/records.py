"""Reads the records of a file: RDF by the DCAT mapping, Dublin Core as RDF by the same mapping."""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING, Any

from lxml import etree
from w3lib.encoding import http_content_type_encoding

from crawlers.exceptions import AnswerError
from crawlers.kinds.dcat import mapping
from crawlers.kinds.dcat.answer import open_body, read
from crawlers.rdf.document import document
from crawlers.rdf.namespaces import DC, DCAT, DCT, RDF, TYPE
from crawlers.rdf.terms import Literal
from crawlers.safety import xml

if TYPE_CHECKING:
    from collections.abc import Iterator

    from scrapy.http import Response

    from crawlers.items import Dataset
    from crawlers.rdf.terms import Graph

_LINKS = (DCT + "references", DC + "URI")
_SAME = {DC + "date": DCT + "issued", DCT + "date": DCT + "issued", DC + "coverage": DCT + "spatial"}
_ISO = "{*}MD_Metadata", "{*}MI_Metadata"


def datasets(response: Response, *, source: str, most_json: int) -> Iterator[Dataset]:
    """Yield the datasets of a file.

    Args:
        most_json: the largest JSON-LD that is read, in bytes.

    Raises:
        AnswerError: it is not a record that can be read, or a part of it is not.
    """
    root = _root(response) if response.url.lower().endswith(".xml") else None
    if root is not None and not root.tag.startswith(f"{{{RDF}"):
        yield _dublin_core(root, response.url, source)
        return
    page = read(response, name=source, language=None, max_json=most_json)
    if page is None:
        raise AnswerError("not_rdf", "an HTML page came instead of a record")
    with closing(page):
        for _ in page.load():
            pass
        for record in page.records():
            if record.id is None:
                raise AnswerError("missing_id", f"{record.what} has no identifier, so it is not kept")
            dataset = record.item()
            dataset.metadata_source = page.source
            yield dataset
        for fault in page.faults:
            raise AnswerError("invalid_rdf", fault.message)


def _root(response: Response) -> Any:
    """Return the root element of a file.

    Raises:
        AnswerError: it is not XML, or not harmless.
    """
    charset = http_content_type_encoding((response.headers.get("Content-Type") or b"").decode("latin-1"))
    declared = response.meta.get("encoding") if response.request else None
    harmless = xml.plain(open_body(response), charset, encoding=declared).read()
    try:
        return etree.fromstring(harmless, etree.XMLParser(resolve_entities=False, no_network=True))
    except etree.XMLSyntaxError as error:
        raise AnswerError("invalid_record", f"the XML can't be read: {error}") from None


def _dublin_core(root: Any, url: str, source: str) -> Dataset:
    """Return the dataset of a Dublin Core record, wherever it stands in the file.

    Raises:
        AnswerError: the file has none.
    """
    if any(next(root.iter(name), None) is not None for name in _ISO):
        raise AnswerError("unsupported", "this is an ISO 19115 record, which is not read yet")
    if (element := next((child.getparent() for child in root.iter(f"{{{DC}}}*", f"{{{DCT}}}*")), None)) is None:
        raise AnswerError("invalid_record", f"the XML is not a Dublin Core record: its root is {root.tag[:200]}")
    graph, subject = _graph(element, url)
    item = mapping.dataset(graph, subject, source=source)
    item.document = document(graph, subject) | {"xml": etree.tostring(element, encoding="unicode", with_tail=False)}
    item.metadata_source = "dublin_core"
    return item


def _graph(element: Any, url: str) -> tuple[Graph, str]:
    """Return what the elements say, as RDF, and the dataset's name there: the file's, if it has no identifier."""
    is_named = any(element.find(f"{{{namespace}}}identifier") is not None for namespace in (DC, DCT))
    subject = "_:dataset" if is_named else url
    graph: Graph = {subject: {TYPE: [DCAT + "Dataset"]}}
    for child in element.iterchildren(f"{{{DC}}}*", f"{{{DCT}}}*"):
        name, text = child.tag[1:].replace("}", "", 1), " ".join("".join(child.itertext()).split())
        predicate = _SAME.get(name, name)
        if predicate in _LINKS and text:
            graph[link := f"_:link{len(graph)}"] = {TYPE: [DCAT + "Distribution"], DCAT + "accessURL": [text]}
            graph[link] |= {DCT + "title": [Literal(child.get("name"))]} if child.get("name") else {}
            graph[subject].setdefault(DCAT + "distribution", []).append(link)
        elif text:
            language = child.get("{http://www.w3.org/XML/1998/namespace}lang")
            graph[subject].setdefault(predicate, []).append(Literal(text, language))
    return graph, subject
