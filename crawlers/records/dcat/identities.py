"""What a dataset is called, from one crawl to the next."""

from __future__ import annotations

from typing import TYPE_CHECKING

from crawlers.items import Dataset
from crawlers.records import values
from crawlers.records.dcat.description import properties
from crawlers.records.rdf.terms import DC, DCT, RDF, RDFS, SCHEMA, SCHEMA_HTTPS, SKOS, XSD, Literal, is_blank

if TYPE_CHECKING:
    from crawlers.records.rdf.terms import Graph, Node, Term

_IDENTIFIERS = properties(Dataset, "identifier")
_TITLES = (DCT + "title", DC + "title", SCHEMA + "name", SCHEMA_HTTPS + "name", RDFS + "label")
_NOTATIONS = (SKOS + "notation", RDF + "value")
_TEMPLATE = "{{"


def identity(description: Graph, subject: str) -> str | None:
    """Return the dataset's identifier where it has just one, else its IRI.

    Of several none is preferred: the IRI stays when one of them is added or goes. A blank node without an identifier
    has no identity; one with several is called by the first in the alphabet.

    >>> dataset = {"http://purl.org/dc/terms/identifier": [Literal("a"), Literal("b")]}
    >>> identity({"http://a.org/1": dataset}, "http://a.org/1"), identity({"_:b0": dataset}, "_:b0")
    ('http://a.org/1', 'a')
    >>> identity({"_:b0": {}}, "_:b0")
    """
    return chosen_identity(identifiers(description, subject), subject)


def chosen_identity(found: list[str], subject: str) -> str | None:
    """Return the identity by the identifiers that were found; see `identity`."""
    if len(found) == 1:
        return found[0]
    if not is_blank(subject):
        return subject
    return found[0] if found else None


def title(node: Node) -> str | None:
    """Return a title of a node for messages, the first in the alphabet: the order of a file is no order.

    >>> title({"http://purl.org/dc/terms/title": [Literal("Rain"), Literal("Pluie")]}), title({})
    ('Pluie', None)
    """
    found = (each.value for name in _TITLES for each in node.get(name, ()) if isinstance(each, Literal))
    return min(filter(None, map(values.text, found)), default=None)


def identifiers(description: Graph, subject: str) -> list[str]:
    """Return the identifiers of the first predicate that has a usable one, sorted."""
    node = description.get(subject, {})
    for predicate in _IDENTIFIERS:
        if terms := node.get(predicate):
            found = {text for term in terms if (text := _identifier(description, term))}
            if found:
                return sorted(found)
    return []


def _identifier(description: Graph, term: Term) -> str | None:
    if isinstance(term, Literal):
        return _text(term)
    return _notation(description.get(term, {})) or (None if is_blank(term) else term)


def _text(literal: Literal) -> str | None:
    """Return an identifier: GeoNetwork writes a UUID as an anyURI; a template that was never filled in is none."""
    text = values.text(literal.value)
    if text and literal.datatype == XSD + "anyURI":
        text = text.removeprefix("urn:uuid:")
    return text if text and not text.startswith((_TEMPLATE, "_:")) else None


def _notation(node: Node) -> str | None:
    """Return the identifier that an adms:Identifier holds."""
    literals = [each for predicate in _NOTATIONS for each in node.get(predicate, ()) if isinstance(each, Literal)]
    return min(filter(None, map(_text, literals)), default=None)
