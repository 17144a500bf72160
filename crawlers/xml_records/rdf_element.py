"""A dataset in RDF/XML, as one element of a larger answer: CSW's and OAI-PMH's DCAT and GeoDCAT-AP."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING, Any

from lxml import etree

from crawlers.exceptions import AnswerError
from crawlers.kinds.dcat import mapping
from crawlers.rdf.formats import RDF_XML
from crawlers.rdf.graphs import graph
from crawlers.rdf.namespaces import DCAT, DCT, FOAF, RDF, TYPE
from crawlers.rdf.reader import Reader

if TYPE_CHECKING:
    from crawlers.items import Dataset
    from crawlers.rdf.terms import Graph

_ROOT = f"{{{RDF}}}RDF"
_DATASET = f"{{{DCAT}}}Dataset", f"{{{DCAT}}}DatasetSeries"
_TYPES = {DCAT + "Dataset", DCAT + "DatasetSeries"}
_PARTS = (DCT + "hasPart", DCT + "isPartOf", DCAT + "inSeries", DCT + "source", DCT + "relation", DCT + "references")


def recognise(element: Any) -> str | None:
    """Return the ``metadata_source`` of an rdf:RDF or a dcat:Dataset."""
    return "rdf_xml" if element.tag == _ROOT or element.tag in _DATASET else None


def dataset(element: Any, *, source: str, url: str, language: str | None = None) -> Dataset:
    """Return the item of an rdf:RDF with one dataset, or of a dcat:Dataset; what the element cites is not the dataset.

    Raises:
        AnswerError: it can't be read, or describes no dataset, or several (invalid_record); the dataset has no
            identity (missing_id).
    """
    return mapping.dataset(*description(element, url), source=source, language=language)


def description(element: Any, url: str) -> tuple[Graph, str]:
    """Return what an element says, and the name of its dataset; raise as `dataset` does."""
    found = _graph(element, url)
    return found, _subject(found)


def _graph(element: Any, url: str) -> Graph:
    if element.tag != _ROOT:
        root = etree.Element(_ROOT)
        root.append(etree.fromstring(etree.tostring(element, with_tail=False)))
        element = root
    reader = Reader(io.BytesIO(etree.tostring(element, encoding="utf-8", with_tail=False)), RDF_XML, url)
    found = graph(reader)
    for fault in reader.faults:
        raise AnswerError("invalid_record", f"the RDF can't be read: {fault.message}")
    return found


def _subject(description: Graph) -> str:
    """Return the dataset: the topic of the catalogue's record, else the one that no other dataset cites."""
    found = {subject for subject, node in description.items() if not _TYPES.isdisjoint(node.get(TYPE, []))}
    topics = {str(term) for node in description.values() for term in node.get(FOAF + "primaryTopic", [])}
    chosen = found & topics or found
    if len(chosen) > 1:
        named = {str(term) for each in chosen for name in _PARTS for term in description[each].get(name, [])}
        chosen = chosen - named or chosen
    if len(chosen) != 1:
        raise AnswerError("invalid_record", f"the RDF of one record describes {len(chosen) or 'no'} datasets, not one")
    return chosen.pop()
