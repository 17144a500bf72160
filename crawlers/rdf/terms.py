"""RDF as the mapping reads it: a text for what has a name, a `Literal` for a value, a dict for what is said of it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable


class Literal(NamedTuple):
    """An RDF literal as it was written: ``"2016-12-14"^^xsd:date`` keeps its text and its datatype."""

    value: str
    language: str | None = None
    datatype: str | None = None
    """An IRI; ``None`` for plain text (xsd:string) and for text with a language."""


Term = str | Literal
"""A text is an IRI, or a blank node when it begins with ``_:``."""

Node = dict[str, list[Term]]
"""What is said of one subject: values by predicate, in the order of the source, each once."""

Graph = dict[str, Node]
"""Nodes by subject."""

Triple = tuple[str, str, Term]


def is_blank(term: Term) -> bool:
    return isinstance(term, str) and term.startswith("_:")


def graph(triples: Iterable[Any]) -> Graph:
    """A small graph as a dict, from a rdflib Graph or Dataset, or from pyoxigraph's triples or quads.

    >>> from rdflib import Graph as RDFLibGraph
    >>> graph(RDFLibGraph().parse(data='<http://a.org/1> <http://a.org/is> "so"@en .', format="turtle"))
    {'http://a.org/1': {'http://a.org/is': [Literal(value='so', language='en', datatype=None)]}}
    """
    nodes: dict[str, dict[str, dict[Term, None]]] = {}
    for one in triples:
        subject, predicate, value = (term(part) for part in tuple(one)[:3])
        nodes.setdefault(subject, {}).setdefault(predicate, {})[value] = None
    return {subject: {predicate: list(values) for predicate, values in node.items()} for subject, node in nodes.items()}


XSD_STRING = "http://www.w3.org/2001/XMLSchema#string"


def term(part: Any) -> Any:
    """A term of rdflib's or pyoxigraph's, which name their attributes alike but for blank nodes."""
    kind = type(part).__name__
    if kind == "Literal":
        datatype = getattr(part.datatype, "value", part.datatype)
        plain = part.language or datatype is None or str(datatype) == XSD_STRING
        text = str(part) if isinstance(part, str) else part.value  # rdflib's value is a number, a date or nothing
        return Literal(text, part.language, None if plain else str(datatype))
    if kind in ("BlankNode", "BNode"):
        return f"_:{getattr(part, 'value', part)}"
    return str(getattr(part, "value", part))
