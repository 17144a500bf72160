"""DCAT-AP 3 as JSON-LD, each dataset in its catalogue, in the words of the documents on disk."""

from __future__ import annotations

from typing import IO, TYPE_CHECKING, Any

import orjson

from crawlers.export.catalogue import catalogues
from crawlers.mapping.dcat.context import PREFIXES, TERMS, context
from crawlers.mapping.dcat.document import document

if TYPE_CHECKING:
    from collections.abc import Iterable

    from crawlers.items import Dataset
    from crawlers.rdf.terms import Graph


def write(datasets: Iterable[Dataset], output: IO[bytes]) -> None:
    """One object: ``@graph`` has the catalogues; a line a dataset."""
    output.write(b'{"@context":' + orjson.dumps(context(TERMS.values(), PREFIXES)) + b',\n"@graph":[')
    for number, catalogue in enumerate(catalogues(datasets)):
        output.write(b",\n" if number else b"\n")
        output.write(_node(catalogue.graph, catalogue.subject).removesuffix(b"}") + b',"dataset":[')
        for position, (graph, subject) in enumerate(catalogue.datasets):
            output.write((b",\n" if position else b"\n") + _node(graph, subject))
        output.write(b"]}")
    output.write(b"]}\n")


def _node(graph: Graph, subject: str) -> bytes:
    """Without the context, which stands once for all."""
    node: dict[str, Any] = document(graph, subject)
    del node["@context"]
    return orjson.dumps(node)
