"""What a source says of one dataset and of the nodes that belong to it, read by predicate."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, TypeVar

from crawlers.mapping import values
from crawlers.mapping.dcat import choice
from crawlers.mapping.record import FLAWS
from crawlers.rdf.namespaces import DCT, FOAF, RDF, RDFS, SCHEMA, SCHEMA_HTTPS, SKOS, VCARD
from crawlers.rdf.terms import Literal

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from crawlers.rdf.terms import Graph, Node, Term

T = TypeVar("T")
Predicates = tuple[str, ...]

LABELS = (
    *(RDFS + "label", SKOS + "prefLabel", DCT + "title", FOAF + "name"),
    *(SCHEMA + "name", SCHEMA_HTTPS + "name", DCT + "description", SKOS + "notation"),
)
_VALUES = (RDF + "value", VCARD + "hasValue", VCARD + "value")
_NOTHING: Node = {}


class Description:
    """Reading that never depends on the order of the source.

    Every reader takes a node and predicates in order of preference. ``flaws`` are sentences of what could not be read;
    ``tomorrow`` is the last day that is not in the future, for it has begun somewhere.
    """

    __slots__ = ("flaws", "language", "nodes", "tomorrow")

    def __init__(self, nodes: Graph, language: str | None = None) -> None:
        self.nodes = nodes
        self.language = language
        self.flaws: set[str] = set()
        self.tomorrow = (datetime.now(UTC) + timedelta(days=1)).date().isoformat()

    def node(self, term: Term) -> Node:
        """What is said of a value: nothing of a literal, nor of a name that the source does not describe."""
        return self.nodes.get(term, _NOTHING) if isinstance(term, str) else _NOTHING

    def terms(self, node: Node, predicates: Predicates) -> list[Term]:
        """All values of the first predicate that has any."""
        for predicate in predicates:
            if predicate in node:
                return node[predicate]
        return []

    def text(self, node: Node, predicates: Predicates) -> str | None:
        """The literal in the language wanted."""
        for predicate in predicates:
            found = node.get(predicate)
            if found and (text := choice.text(found, self.language)):
                return text
        return None

    def label(self, term: Term) -> str | None:
        """A literal itself, what a described node is called, or the value it holds."""
        if isinstance(term, Literal):
            return values.text(term.value)
        node = self.nodes.get(term)
        return self.text(node, LABELS) or self.text(node, _VALUES) if node else None

    def texts(self, terms: list[Term]) -> Iterator[str]:
        """Every value as a text: a literal, an IRI, then what a described node holds, then its label."""
        for term in terms if len(terms) == 1 else in_order(terms):
            if isinstance(term, Literal):
                yield term.value
                continue
            if not term.startswith("_:"):
                yield term
            if term in self.nodes:
                yield from self._inside(term)

    def _inside(self, term: str) -> Iterator[str]:
        for held in in_order(self.terms(self.nodes[term], _VALUES)):
            yield held.value if isinstance(held, Literal) else held
        if label := self.label(term):
            yield label

    def read(self, node: Node, predicates: Predicates, reader: Callable[[str], T | None]) -> T | None:
        """The first value that ``reader`` understands."""
        for predicate in predicates:
            if predicate in node:
                for text in self.texts(node[predicate]):
                    if (found := reader(text)) is not None:
                        return found
        return None

    def sentences(self) -> list[str]:
        """The flaws, the first in the alphabet if there are many."""
        found = sorted(self.flaws)
        return [*found[:FLAWS], "the record has more flaws than these"] if len(found) > FLAWS else found


def in_order(terms: list[Term]) -> list[Term]:
    """RDF has no order: IRIs and literals by their text.

    >>> in_order([Literal("b"), "http://a.org/", Literal("a")])
    [Literal(value='a', language=None, datatype=None), Literal(value='b', language=None, datatype=None), 'http://a.org/']
    """
    return sorted(terms, key=_written)


def _written(term: Term) -> str:
    return term if isinstance(term, str) else term.value
