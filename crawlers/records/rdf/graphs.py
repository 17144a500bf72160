"""Graphs that other libraries made or can use, and what RDF does not allow in them."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from crawlers.records.rdf.terms import Literal, is_blank

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    import rdflib

    from crawlers.records.rdf.terms import Graph, Node, Term

XSD_STRING = "http://www.w3.org/2001/XMLSchema#string"
INVALID_IN_IRIS = bytes(range(0x21)) + b'<>"{}|\\^`'
"""And surrogates, which no encoding has."""
_INVALID_IN_IRIS = re.compile('[\\x00-\\x20<>"{}|\\\\^`\ud800-\udfff]')
SURROGATE = re.compile("[\ud800-\udfff]")
_LANGUAGE = re.compile(r"[A-Za-z]{2,8}(?:-[A-Za-z0-9]{1,8})*|[XIxi](?:-[A-Za-z0-9]{1,8})+")


def graph(triples: Iterable[Any]) -> Graph:
    """Return a graph as a dict, from an rdflib Graph or Dataset, or from pyoxigraph's triples or quads.

    >>> from rdflib import Graph as RDFLibGraph
    >>> graph(RDFLibGraph().parse(data='<http://a.org/1> <http://a.org/is> "so"@en .', format="turtle"))
    {'http://a.org/1': {'http://a.org/is': [Literal(value='so', language='en', datatype=None)]}}
    """
    nodes: dict[str, dict[str, dict[Term, None]]] = {}
    for triple in triples:
        subject, predicate, value = (_term(part) for part in tuple(triple)[:3])
        nodes.setdefault(subject, {}).setdefault(predicate, {})[value] = None
    return {subject: {predicate: list(values) for predicate, values in node.items()} for subject, node in nodes.items()}


def _term(part: Any) -> Any:
    """Return a term of rdflib's or pyoxigraph's, whose attributes have the same names except for blank nodes."""
    kind = type(part).__name__
    if kind == "Literal":
        datatype = getattr(part.datatype, "value", part.datatype)
        is_plain = part.language or datatype is None or str(datatype) == XSD_STRING
        text = str(part) if isinstance(part, str) else part.value  # rdflib's value is a number, a date or nothing
        return Literal(text, part.language, None if is_plain else str(datatype))
    if kind in ("BlankNode", "BNode"):
        return f"_:{getattr(part, 'value', part)}"
    return str(getattr(part, "value", part))


def rdflib_graph(description: Graph) -> rdflib.Graph:
    """Return a description as an rdflib Graph, for SPARQL queries, SHACL validation, or any serialisation.

    Graphs of several descriptions can be added to each other: blank nodes get new names. What RDF does not allow is
    repaired, as in documents (see `sound`).

    >>> made = rdflib_graph({"http://a.org/1": {"http://a.org/is": [Literal("so", "en")]}})
    >>> [str(row.what) for row in made.query("SELECT ?what { ?dataset <http://a.org/is> ?what }")]
    ['so']
    """
    import rdflib  # noqa: PLC0415  # takes a quarter of a second, and no crawl needs it

    blanks: dict[str, rdflib.BNode] = {}

    def name(text: str) -> rdflib.URIRef | rdflib.BNode:
        return blanks.setdefault(text, rdflib.BNode()) if is_blank(text) else rdflib.URIRef(text)

    def term(value: Term) -> rdflib.URIRef | rdflib.BNode | rdflib.Literal:
        if isinstance(value, str):
            return name(value)
        datatype = rdflib.URIRef(value.datatype) if value.datatype and not value.language else None
        return rdflib.Literal(value.value, lang=value.language, datatype=datatype, normalize=False)

    made = rdflib.Graph()
    for subject, node in sound(description).items():
        for predicate, values in node.items():
            for value in values:
                made.add((name(subject), rdflib.URIRef(predicate), term(value)))
    return made


def sound(description: Graph) -> Graph:
    """Return the description without what RDF does not allow.

    Characters that are invalid in IRIs are percent-encoded, ``en_GB`` becomes ``en-GB``, and invalid languages and
    datatypes are dropped.

    >>> sound({"http://a.org/1 2": {"http://a.org/is": [Literal("so", "en_GB"), Literal("it", "?")]}})
    {'http://a.org/1%202': {'http://a.org/is': [Literal(value='so', language='en-GB', datatype=None), \
Literal(value='it', language=None, datatype=None)]}}
    """
    valid: Graph = {}
    for subject, node in description.items():
        into = valid.setdefault(valid_iri(subject), {})
        for predicate, values in node.items():
            held = into.get(name := valid_iri(predicate) or "./", [])
            if found := list(dict.fromkeys((*held, *map(_valid_term, values)))):
                into[name] = found
    return valid


def _valid_term(value: Term) -> Term:
    if isinstance(value, str):
        return valid_iri(value)
    text, language, datatype = value
    datatype = datatype if datatype and ":" in datatype and not is_blank(datatype) else None
    return Literal(SURROGATE.sub("\ufffd", text), valid_language(language or ""), datatype and valid_iri(datatype))


def valid_iri(iri: str) -> str:
    """Return an IRI without invalid characters; what looks like a JSON-LD keyword becomes relative."""
    if iri.startswith("@"):
        iri = f"./{iri}"
    return iri if is_blank(iri) else _INVALID_IN_IRIS.sub(lambda found: quote(found[0], errors="replace"), iri)


@lru_cache(maxsize=1024)
def valid_language(tag: str) -> str | None:
    """Return a language tag with hyphens; ``None`` if it is invalid."""
    tag = tag.replace("_", "-")
    return tag if _LANGUAGE.fullmatch(tag) else None


def reached(nodes: Graph, names: Iterable[Term], is_part: Callable[[Node], bool] = bool) -> list[str]:
    """Return the nodes of these names, and what they refer to, directly or not.

    Args:
        is_part: whether a node that is referred to counts.
    """
    waiting = [name for name in names if isinstance(name, str) and name in nodes]
    found = dict.fromkeys(waiting)
    while waiting:
        for values in nodes[waiting.pop()].values():
            for each in values:
                if isinstance(each, str) and each in nodes and each not in found and is_part(nodes[each]):
                    found[each] = None
                    waiting.append(each)
    return list(found)
