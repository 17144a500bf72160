"""The standards that a dataset or a file follows."""

from __future__ import annotations

from typing import TYPE_CHECKING

from crawlers.mapping import values
from crawlers.rdf.namespaces import DCT
from crawlers.rdf.terms import Literal, is_blank

if TYPE_CHECKING:
    from crawlers.mapping.dcat.description import Description
    from crawlers.rdf.terms import Node, Term

_CONFORMS_TO = (DCT + "conformsTo", DCT + "#conformsTo")
"""The second is how CKAN's JSON-LD context for data.json spells it."""


def conforms_to(about: Description, node: Node) -> list[str]:
    """IRIs; of a node without one its label, else its type."""
    return sorted({text for term in about.terms(node, _CONFORMS_TO) if (text := _standard(about, term))})


def _standard(about: Description, term: Term) -> str | None:
    if isinstance(term, Literal):
        return values.text(term.value)
    if not is_blank(term):
        return term
    return about.label(term) or about.read(about.node(term), (DCT + "type",), values.text)
