"""What a description's nodes refer to."""

from __future__ import annotations

from typing import TYPE_CHECKING

from crawlers.records.rdf.graphs import reached
from crawlers.records.rdf.terms import is_blank

if TYPE_CHECKING:
    from crawlers.records.rdf.terms import Graph


def roots(nodes: Graph) -> set[str]:
    """Return the nodes that are there for their own sake: those with an IRI, and blank ones that nothing refers to."""
    cited = {each for node in nodes.values() for found in node.values() for each in found if isinstance(each, str)}
    return {name for name in nodes if not is_blank(name) or name not in cited}


def prune(nodes: Graph, kept: set[str]) -> None:
    """Remove the nodes that neither these nor what they refer to refer to any more."""
    left = set(reached(nodes, [name for name in nodes if name in kept or not is_blank(name)]))
    for name in nodes.keys() - left:
        del nodes[name]
