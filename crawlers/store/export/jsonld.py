"""DCAT-AP 3 as JSON-LD, each dataset in its catalogue, with the same terms as the documents on disk."""

from __future__ import annotations

from typing import IO, TYPE_CHECKING, Any

import orjson

from crawlers.records.rdf.dcat_context import PREFIXES, TERMS, context
from crawlers.records.rdf.document import document
from crawlers.store.export.catalogue import catalogues

if TYPE_CHECKING:
    from collections.abc import Iterable

    from crawlers.items import Dataset
    from crawlers.records.rdf.terms import Graph


def write(datasets: Iterable[Dataset], output: IO[bytes], *, profile: str = "dcat-ap") -> None:
    """Write one object, whose ``@graph`` has the catalogues; each dataset is on a line of its own."""
    output.write(b'{"@context":' + orjson.dumps(context(TERMS.values(), PREFIXES)) + b',\n"@graph":[')
    for number, catalogue in enumerate(catalogues(datasets, profile)):
        output.write(b",\n" if number else b"\n")
        output.write(_node(catalogue.graph, catalogue.subject).removesuffix(b"}") + b',"dataset":[')
        for position, (graph, subject) in enumerate(catalogue.datasets):
            output.write((b",\n" if position else b"\n") + _node(graph, subject))
        output.write(b"]}")
    output.write(b"]}\n")


def dcat_us(datasets: Iterable[Dataset], output: IO[bytes]) -> None:
    """Write the same in the profile DCAT-US 3."""
    write(datasets, output, profile="dcat-us")


def _node(graph: Graph, subject: str) -> bytes:
    """Return a node without its context, which the export has once."""
    node: dict[str, Any] = document(graph, subject)
    del node["@context"]
    return orjson.dumps(node)
