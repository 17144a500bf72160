"""What a source says of one dataset and of the nodes that belong to it, read by predicate."""

from __future__ import annotations

import re
from functools import cache
from itertools import chain
from typing import TYPE_CHECKING, Any, TypeVar

from crawlers.fields import specs
from crawlers.items import Flaw
from crawlers.records import values
from crawlers.records import values as single
from crawlers.records.rdf.terms import (
    DCT,
    FOAF,
    OWL,
    RDF,
    RDFS,
    SCHEMA,
    SCHEMA_HTTPS,
    SKOS,
    VCARD,
    Literal,
    iris,
    is_blank,
)
from crawlers.records.record import FLAWS, MORE_FLAWS, Record

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from crawlers.records.rdf.terms import Graph, Node, Term


T = TypeVar("T")

LABELS = (
    *(RDFS + "label", SKOS + "prefLabel", DCT + "title", FOAF + "name"),
    *(SCHEMA + "name", SCHEMA_HTTPS + "name", DCT + "description", SKOS + "notation"),
)
_VALUES = (RDF + "value", VCARD + "hasValue", VCARD + "value")
_NAMES = (*LABELS, *_VALUES)
_NOTHING: Node = {}
_KNOWN, _LONG = 1_000, 1_000  # nodes whose content is remembered, and characters of each


class Description(Record):
    """A `Record` of one node, whose names are predicates; what it returns never depends on the order of the source.

    Args:
        nodes: the source's statements about this node and about those that belong to it.
        term: the node's name. A literal, or a name that the source does not describe, has no fields.
        language: the tag of the texts to prefer.
    """

    __slots__ = ("language", "nodes", "term")

    def __init__(self, nodes: Graph, term: Term, language: str | None = None, flaws: list[Flaw] | None = None) -> None:
        self.nodes = nodes
        self.term = term
        self.language = language
        self.path = ""
        self.fields: Node = nodes.get(term, _NOTHING) if isinstance(term, str) else _NOTHING
        self.flaws = [] if flaws is None else flaws

    def at(self, term: Term) -> Description:
        """Return what the source says of another node."""
        return Description(self.nodes, term, self.language, self.flaws)

    @property
    def iri(self) -> str | None:
        """The node's IRI, or the one that a blank node is the same as."""
        if not is_blank(self.term):
            return self.term if isinstance(self.term, str) else None
        return min(
            (each for each in self.terms(OWL + "sameAs") if isinstance(each, str) and not is_blank(each)), default=None
        )

    def content(self) -> tuple[Any, ...] | None:
        """Return what equal nodes have in common; ``None`` if the node leads to others that are described."""
        fields, term = self.fields, self.term
        if not fields:  # nearly all licences are names that nothing describes
            return term, self.language
        if not self.nodes.keys().isdisjoint(chain.from_iterable(fields.values())):
            return None
        name = None if term[:2] == "_:" else term
        return name, self.language, tuple(fields), tuple(map(tuple, fields.values()))

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
            if found and (chosen := text(found, self.language)):
                return chosen
        return None

    def texts(self, *names: str) -> list[str]:
        """Return every value of the first predicate as texts; see `spellings`."""
        return list(self.spellings(self.terms(*names)))

    def read(self, reader: Callable[[str], T | None], *names: str) -> T | None:
        """Return the first value that ``reader`` understands."""
        for name in names:
            for text in self.spellings(self.fields.get(name, ())):
                if (found := reader(text)) is not None:
                    return found
        return None

    def spellings(self, terms: Sequence[Term]) -> Iterable[str]:
        """Return values as texts: a literal, an IRI, then what a described node holds, then its label."""
        if len(terms) == 1:  # nearly always
            if isinstance(only := terms[0], Literal):
                return (only.value,)
            if only not in self.nodes:
                return () if only.startswith("_:") else (only,)
        return self._spellings(in_order(terms))

    def _spellings(self, terms: list[Term]) -> Iterator[str]:
        for term in terms:
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

    def flaw(
        self, sentence: str, place: str = "", kind: str = "unreadable_value", resource_id: str | None = None
    ) -> None:
        """Add a flaw, as `Record.flaw` does.

        Args:
            place: the property concerned.
            resource_id: of the distribution concerned.
        """
        self.flaws.append(Flaw(sentence, place, kind, resource_id))

    def sentences(self) -> list[Flaw]:
        """Return the flaws, the first in the alphabet if there are many."""
        found = sorted(set(self.flaws))
        return [*found[:FLAWS], MORE_FLAWS] if len(found) > FLAWS else found


def reading(reader: Callable[[str], T | None]) -> Callable[..., T | None]:
    """Return a function that reads the first value of a node that ``reader`` understands."""
    return lambda node, *names: node.read(reader, *names)


def remembered(read: Callable[[Description], dict[str, Any]]) -> Callable[[Description], dict[str, Any]]:
    """Remember what a function reads from a node by the node's content: catalogues repeat agents and licences.

    Args:
        read: returns what is not changed afterwards, and notes no flaws.
    """
    known: dict[tuple[Any, ...], dict[str, Any]] = {}

    def reader(node: Description) -> dict[str, Any]:
        content = node.content()
        found = known.get(content) if content else None
        if found is None:
            found = read(node)
            if content and len(repr(content)) <= _LONG:
                if len(known) >= _KNOWN:
                    known.clear()
                known[content] = found
        return found

    return reader


@cache
def properties(item: type, name: str) -> tuple[str, ...]:
    """Return the properties that say a field of an item, the preferred one first."""
    return iris(specs(item)[name].rdf)


def in_order(terms: Sequence[Term]) -> list[Term]:
    """Return IRIs and literals sorted by their text, for RDF has no order.

    >>> in_order([Literal("b"), "http://a.org/", Literal("a")])
    [Literal(value='a', language=None, datatype=None), Literal(value='b', language=None, datatype=None), 'http://a.org/']
    """
    return sorted(terms, key=lambda term: term if isinstance(term, str) else term.value)


def text(values: list[Term] | None, language: str | None = None) -> str | None:
    """Return the text in the language asked for, else without a language, else English, else the first by its tag.

    >>> text([Literal("Étude", "fr"), Literal("Study", "en-GB"), "http://a.org/study"])
    'Study'
    >>> text([Literal("Étude", "fr"), Literal("Study", "en"), Literal("C-42")], "FR-ch")
    'Étude'
    >>> text([Literal("Studie", "nl"), Literal("Studie", "de")]), text(["http://a.org/study"]), text(None)
    ('Studie', None, None)
    """
    if not values:
        return None
    if len(values) == 1:  # nearly always
        only = values[0]
        return single.text(only.value) if isinstance(only, Literal) else None
    return next(filter(None, (single.text(each.value) for each in languages_first(values, language))), None)


def languages_first(values: Iterable[Term], language: str | None = None) -> list[Literal]:
    """Return the literals, the best first; the same whatever their order in the source.

    >>> [one.language for one in languages_first([Literal("a", "de"), Literal("b", "en"), Literal("c", "pt-BR")], "pt")]
    ['pt-BR', 'en', 'de']
    """
    asked = (language or "").lower()
    literals = [each for each in values if isinstance(each, Literal)]
    return sorted(
        literals, key=lambda each: (_rank((each.language or "").lower(), asked), each.language or "", each.value)
    )


def _rank(tag: str, asked: str) -> int:
    if tag == asked:
        return 0
    if _primary(tag) == _primary(asked):
        return 1
    if not tag:
        return 2
    return 3 if _primary(tag) == "en" else 4


def _primary(tag: str) -> str:
    return tag.partition("-")[0].partition("_")[0]


def label(node: Node, predicates: Iterable[str], language: str | None = None) -> str | None:
    """Return the text of the first predicate that has one.

    >>> label({"http://a.org/name": [Literal("Graz")]}, ("http://a.org/title", "http://a.org/name"))
    'Graz'
    """
    return next((found for name in predicates if name in node and (found := text(node[name], language))), None)


_TEMPLATE = re.compile(r"[{<$%]")
_SHOWN = 60


def earliest(node: Description, *predicates: str) -> str | None:
    """Return the earliest of several dates of the first property that has any."""
    return min(_dates(node, predicates), default=None)


def latest(node: Description, *predicates: str) -> str | None:
    """Return the latest of several dates of the first property that has any."""
    return max(_dates(node, predicates), default=None)


def _dates(node: Description, predicates: tuple[str, ...]) -> list[str]:
    for name in predicates:
        if name in node.fields and (found := list(_readable(node, name))):
            return found
    return []


def _readable(node: Description, predicate: str) -> Iterator[str]:
    for text in node.spellings(node.fields[predicate]):
        found = values.xsd_date(text)
        if found and values.has_come(found):
            yield found
        elif (stripped := text.strip()) and not _TEMPLATE.search(stripped):
            wrong = "is in the future" if found else "is no date"
            name = re.split("[/#]", predicate)[-1]
            node.flaw(f"{name} {stripped[:_SHOWN]!r} {wrong}", name)
