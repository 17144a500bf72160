"""What a source says of one dataset and of the nodes that belong to it, read by predicate."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from crawlers import values
from crawlers.kinds.dcat.mapping import translations
from crawlers.rdf.namespaces import DCT, FOAF, RDF, RDFS, SCHEMA, SCHEMA_HTTPS, SKOS, VCARD
from crawlers.rdf.terms import Literal
from crawlers.values.record import FLAWS, MORE_FLAWS, Record

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from crawlers.rdf.terms import Graph, Node, Term

T = TypeVar("T")

LABELS = (
    *(RDFS + "label", SKOS + "prefLabel", DCT + "title", FOAF + "name"),
    *(SCHEMA + "name", SCHEMA_HTTPS + "name", DCT + "description", SKOS + "notation"),
)
_VALUES = (RDF + "value", VCARD + "hasValue", VCARD + "value")
_NAMES = (*LABELS, *_VALUES)
_NOTHING: Node = {}


class Description(Record):
    """A `Record` of one node, whose names are predicates; what it returns never depends on the order of the source.

    Args:
        nodes: the source's statements about this node and about those that belong to it.
        term: the node's name. A literal, or a name that the source does not describe, has no fields.
        language: the tag of the texts to prefer.
    """

    __slots__ = ("language", "nodes", "term")

    def __init__(self, nodes: Graph, term: Term, language: str | None = None, flaws: list[str] | None = None) -> None:
        self.nodes = nodes
        self.term = term
        self.language = language
        self.fields: Node = nodes.get(term, _NOTHING) if isinstance(term, str) else _NOTHING
        self.flaws = [] if flaws is None else flaws

    def at(self, term: Term) -> Description:
        """Return what the source says of another node."""
        return Description(self.nodes, term, self.language, self.flaws)

    def terms(self, *names: str) -> list[Term]:
        """Return all values of the first predicate that has any."""
        for name in names:
            if name in self.fields:
                return self.fields[name]
        return []

    def text(self, *names: str) -> str | None:
        """Return the literal in the preferred language."""
        for name in names:
            found = self.fields.get(name)
            if found and (text := translations.text(found, self.language)):
                return text
        return None

    def texts(self, *names: str) -> list[str]:
        """Return every value of the first predicate as texts; see `spellings`."""
        return list(self.spellings(self.terms(*names)))

    def read(self, reader: Callable[[str], T | None], *names: str) -> T | None:
        """Return the first value that ``reader`` understands."""
        for name in names:
            if name in self.fields:
                for text in self.spellings(self.fields[name]):
                    if (found := reader(text)) is not None:
                        return found
        return None

    def spellings(self, terms: list[Term]) -> Iterator[str]:
        """Yield values as texts: a literal, an IRI, then what a described node holds, then its label."""
        for term in terms if len(terms) == 1 else in_order(terms):
            if isinstance(term, Literal):
                yield term.value
                continue
            if not term.startswith("_:"):
                yield term
            if term in self.nodes:
                for held in in_order(self.at(term).terms(*_VALUES)):
                    yield held.value if isinstance(held, Literal) else held
                if label := self.label(term):
                    yield label

    def label(self, term: Term) -> str | None:
        """Return a literal itself, what a described node is called, or the value it holds."""
        if isinstance(term, Literal):
            return values.text(term.value)
        return self.at(term).text(*_NAMES) if self.nodes.get(term) else None

    def flaw(self, sentence: str) -> None:
        self.flaws.append(sentence)

    def sentences(self) -> list[str]:
        """Return the flaws, the first in the alphabet if there are many."""
        found = sorted(set(self.flaws))
        return [*found[:FLAWS], MORE_FLAWS] if len(found) > FLAWS else found


def in_order(terms: list[Term]) -> list[Term]:
    """Return IRIs and literals sorted by their text, for RDF has no order.

    >>> in_order([Literal("b"), "http://a.org/", Literal("a")])
    [Literal(value='a', language=None, datatype=None), Literal(value='b', language=None, datatype=None), 'http://a.org/']
    """
    return sorted(terms, key=lambda term: term if isinstance(term, str) else term.value)
