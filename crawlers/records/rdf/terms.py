"""RDF as the mapping reads it: a text is an IRI or a blank node, a `Literal` is a value, a dict is a graph."""

from __future__ import annotations

from typing import NamedTuple


class Literal(NamedTuple):
    """An RDF literal as it was written: ``"2016-12-14"^^xsd:date`` keeps its text and its datatype."""

    value: str
    language: str | None = None
    datatype: str | None = None
    """An IRI; ``None`` for plain text (xsd:string) and for text with a language."""


Term = str | Literal
"""A text is an IRI, or a blank node when it begins with ``_:``."""

Node = dict[str, list[Term]]
"""The statements about one subject: values by predicate, in the order of the source, each once."""

Graph = dict[str, Node]
"""Nodes by subject."""

Triple = tuple[str, str, Term]


def is_blank(term: Term) -> bool:
    """Return whether a term is a blank node."""
    return isinstance(term, str) and term.startswith("_:")
