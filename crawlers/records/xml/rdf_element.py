"""A dataset in RDF/XML, as one element of a larger answer: CSW's and OAI-PMH's DCAT and GeoDCAT-AP."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING, Any

from lxml import etree

from crawlers.exceptions import AnswerError
from crawlers.items import Flaw
from crawlers.records import dcat
from crawlers.records.rdf.formats import RDF_XML
from crawlers.records.rdf.graphs import graph
from crawlers.records.rdf.reader import Reader
from crawlers.records.rdf.terms import DCAT, DCT, FOAF, RDF, TYPE

if TYPE_CHECKING:
    from crawlers.items import Dataset
    from crawlers.records.rdf.terms import Graph, Triple

_ROOT = f"{{{RDF}}}RDF"
_DATASET = f"{{{DCAT}}}Dataset", f"{{{DCAT}}}DatasetSeries"
_TYPES = {DCAT + "Dataset", DCAT + "DatasetSeries"}
_PARTS = (DCT + "hasPart", DCT + "isPartOf", DCAT + "inSeries", DCT + "source", DCT + "relation", DCT + "references")


def recognise(element: Any) -> str | None:
    """Return the ``metadata_source`` of an rdf:RDF or a dcat:Dataset."""
    return "rdf_xml" if element.tag == _ROOT or element.tag in _DATASET else None


def dataset(element: Any, *, source: str, url: str, language: str | None = None) -> Dataset:
    """Return the item of an rdf:RDF, or of a dcat:Dataset; what the element cites is not the dataset.

    What can't be read is in ``flaws``.

    Raises:
        AnswerError: it describes no dataset (invalid_record), or one that has no identity (missing_id).
    """
    found, flaws = _graph(element, url)
    subject, *others = _datasets(found, flaws)
    item = dcat.dataset(found, subject, source=source, language=language)
    if others:
        sentence = f"its RDF describes {len(others) + 1} datasets, and this is the first one: the document has all"
        flaws.append(Flaw(sentence, "dataset", "cut_value"))
    item.flaws += flaws
    return item


def description(element: Any, url: str) -> tuple[Graph, str]:
    """Return what an element says, and the name of its dataset; raise as `dataset` does."""
    found, flaws = _graph(element, url)
    return found, _datasets(found, flaws)[0]


def _graph(element: Any, url: str) -> tuple[Graph, list[Flaw]]:
    """Return what can be read of an element, and a sentence about what can't."""
    if element.tag != _ROOT:
        root = etree.Element(_ROOT)
        root.append(etree.fromstring(etree.tostring(element, with_tail=False)))
        element = root
    reader = Reader(io.BytesIO(etree.tostring(element, encoding="utf-8", with_tail=False)), RDF_XML, url)
    read: list[Triple] = []
    wrong: list[str] = []
    try:
        for triple in reader:
            read.append(triple)  # noqa: PERF402 -- what was read before an error stays
    except AnswerError as error:
        wrong = [str(error)]
    wrong += [fault.message for fault in reader.faults]
    more = f" (and {len(wrong) - 1} more)" if len(wrong) > 1 else ""
    if reader.is_astray:
        more = " (what follows may be missing, too)"
    flaws = [Flaw(f"its RDF can't be read in full: {wrong[0]}{more}", "", "unreadable_statement")] if wrong else []
    return graph(read), flaws


def _datasets(description: Graph, flaws: list[Flaw]) -> list[str]:
    """Return the dataset, or several: the topic of the catalogue's record, else those that no other dataset cites.

    Raises:
        AnswerError: there is none.
    """
    found = [subject for subject, node in description.items() if not _TYPES.isdisjoint(node.get(TYPE, []))]
    topics = {str(term) for node in description.values() for term in node.get(FOAF + "primaryTopic", [])}
    chosen = [each for each in found if each in topics] or found
    cited = {str(term) for each in chosen for name in _PARTS for term in description[each].get(name, [])}
    chosen = [each for each in chosen if each not in cited] or chosen
    if not chosen:
        raise AnswerError("invalid_record", next(iter(flaws), "its RDF describes no dataset"))
    return chosen
