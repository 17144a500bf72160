"""A dataset's description as one JSON-LD document that is readable and has the same triples when it is parsed.

What RDF does not allow is repaired first, since JSON-LD processors drop it or refuse the document (see `sound`).
"""

from __future__ import annotations

import json
from collections import Counter, defaultdict, deque
from dataclasses import dataclass
from functools import lru_cache
from itertools import chain
from typing import TYPE_CHECKING, Any

import pyoxigraph

from crawlers.rdf.blank_nodes import Order
from crawlers.rdf.dcat_context import NAMES, Term, compact, context, term
from crawlers.rdf.graphs import INVALID_IN_IRIS, XSD_STRING, graph, sound, valid_iri, valid_language
from crawlers.rdf.namespaces import RDF, TYPE
from crawlers.rdf.terms import Literal, is_blank

if TYPE_CHECKING:
    from collections.abc import Iterator

    from crawlers.rdf import terms
    from crawlers.rdf.terms import Graph, Node

MAX_DEPTH = 30
"""Nodes inside nodes; deeper ones are in ``@included``."""

_FIRST, _REST, _NIL = RDF + "first", RDF + "rest", RDF + "nil"


def document(description: Graph, subject: str) -> dict[str, Any]:
    """Return the description as compact JSON-LD, which begins at the dataset; equal descriptions give equal documents.

    Neither the order of the triples nor the names of blank nodes matter, except where shared or circular blank nodes
    can hardly be distinguished: large groups of them, or regular nets.

    >>> title = {"http://purl.org/dc/terms/title": [Literal("Rain", "en")]}
    >>> document({"http://a.org/1": title}, "http://a.org/1")["title"]
    {'@language': 'en', '@value': 'Rain'}
    """
    survey = _Survey(description)
    if not survey.is_sound():
        description, subject = sound(description), valid_iri(subject)
        survey = _Survey(description)
    return _Writer(description, survey).document(subject)


def graph_of(document: dict[str, Any]) -> Graph:
    """Return the description that a document has."""
    written = json.dumps(document, ensure_ascii=False, check_circular=False)
    return graph(pyoxigraph.parse(written, format=pyoxigraph.RdfFormat.JSON_LD, lenient=True))


@dataclass(frozen=True, slots=True, eq=False)
class _Shape:
    """How nodes with the same predicates are written.

    Args:
        keys: what stands for the predicates, without ``rdf:type``, in the order of a document.
        terms: those that the context has.
        prefixes: those that the keys need.
    """

    keys: tuple[Term, ...]
    terms: frozenset[Term]
    prefixes: frozenset[str]


@lru_cache(maxsize=256)  # nodes of one kind have the same predicates
def _shape(predicates: tuple[str, ...], avoided: frozenset[str]) -> _Shape:
    keys = tuple(sorted(term(predicate, avoided) for predicate in predicates if predicate != TYPE))
    terms = frozenset(key for key in keys if not key.prefix and key.name != key.iri)
    return _Shape(keys, terms, frozenset(key.prefix for key in keys if key.prefix))


@lru_cache(maxsize=256)
def _types(values: tuple[str, ...], avoided: frozenset[str]) -> tuple[Any, frozenset[str]]:
    """Return the types as ``@type`` has them, and the prefixes that they need."""
    written = [compact(one, avoided) for one in sorted(set(values))]
    names = [name for name, _ in written]
    return names if len(names) > 1 else names[0], frozenset(prefix for _, prefix in written if prefix)


class _Survey:
    """The names that a description uses, and how often it refers to each blank node."""

    def __init__(self, nodes: Graph) -> None:
        values = list(chain.from_iterable(chain.from_iterable(map(dict.values, nodes.values()))))
        self.links = [value for value in values if type(value) is str]
        literals = [value for value in values if type(value) is Literal]
        self.references = Counter([link for link in self.links if link[:2] == "_:"])
        self.predicates = set().union(*nodes.values())
        self.datatypes = {one.datatype for one in literals if one.datatype and not one.language}
        self.languages = {one.language for one in literals if one.language}
        self.texts = [one.value for one in literals]
        self.iris = [*nodes, *self.links, *self.predicates, *self.datatypes]

    def is_sound(self) -> bool:
        """Return whether RDF allows all of it."""
        try:
            iris = "\x7f".join(("", *self.iris)).encode()  # all at once is several times as fast as one after another
            "".join(self.texts).encode()
        except UnicodeEncodeError:  # half characters
            return False
        return (
            b"\x7f@" not in iris
            and len(iris.translate(None, INVALID_IN_IRIS)) == len(iris)
            and "" not in self.predicates
            and all(":" in datatype and not is_blank(datatype) for datatype in self.datatypes)
            and all(valid_language(tag) == tag for tag in self.languages)
        )

    def schemes(self) -> frozenset[str]:
        """Return the terms and prefixes that an IRI begins with, as in ``title:1``: they can't be used."""
        return NAMES.intersection([iri.partition(":")[0] for iri in self.iris if iri[:4] != "http"])


@lru_cache(maxsize=256)
def _context(shapes: frozenset[_Shape], prefixes: frozenset[str]) -> dict[str, Any]:
    """Return the context of a document that has nodes of these shapes, and these prefixes besides."""
    prefixes = prefixes.union(*(shape.prefixes for shape in shapes))
    return context(frozenset().union(*(shape.terms for shape in shapes)), prefixes)


class _Names:
    """The terms and prefixes of a document's context.

    Args:
        avoided: those that can't be used.
    """

    def __init__(self, avoided: frozenset[str]) -> None:
        self.avoided = avoided
        self.shapes: set[_Shape] = set()
        self.prefixes: set[str] = set()

    def context(self) -> dict[str, Any]:
        """Return the context that has what was used."""
        return dict(_context(frozenset(self.shapes), frozenset(self.prefixes)))

    def keys(self, node: Node) -> tuple[Term, ...]:
        """Return what stands for a node's predicates, without ``rdf:type``."""
        predicates = tuple(node) if all(node.values()) else tuple(name for name, values in node.items() if values)
        shape = _shape(predicates, self.avoided)
        self.shapes.add(shape)
        return shape.keys

    def type_key(self) -> str:
        """Return what stands for ``rdf:type`` where ``@type`` can't hold the values."""
        name, prefix = compact(TYPE, self.avoided)
        self.prefixes |= {prefix} if prefix else set()
        return name

    def types(self, values: tuple[str, ...]) -> Any:
        """Return the value of ``@type``."""
        written, prefixes = _types(values, self.avoided)
        self.prefixes |= prefixes
        return written

    def literal(self, literal: Literal, link: bool) -> Any:
        """Return a literal as JSON-LD.

        Args:
            link: whether a plain text would be read as an IRI.
        """
        text, language, datatype = literal
        if language:
            return {"@language": language, "@value": text}
        if datatype and datatype != XSD_STRING:
            name, prefix = compact(datatype, self.avoided)
            if prefix:
                self.prefixes.add(prefix)
            return {"@type": name, "@value": text}
        return {"@value": text} if link else text


class _Writer:
    """Writes nodes from the dataset on, the nearest first, each where it is first referred to."""

    def __init__(self, nodes: Graph, survey: _Survey) -> None:
        self.nodes = nodes
        self.references = survey.references
        self.names = _Names(survey.schemes())
        self.order = Order(nodes, survey.references)
        self.labels: defaultdict[str, str] = defaultdict(lambda: f"_:b{len(self.labels)}")  # of blank nodes
        self.written: set[str] = set()
        self.included: list[dict[str, Any]] = []
        self.waiting: deque[tuple[str, dict[str, Any], int]] = deque()
        self.no_lists: set[str] = set()

    def document(self, subject: str) -> dict[str, Any]:
        """Return the document."""
        top = self.begin(subject)
        self.write()
        for other in self.unreached():
            self.included.append(self.begin(other))
            self.write()
        found = {"@context": self.names.context(), **top}
        if self.included:
            found["@included"] = self.included
        return found

    def write(self) -> None:
        """Write the nodes that have begun, and those that they refer to."""
        while self.waiting:
            subject, into, depth = self.waiting.popleft()
            self.fill(self.nodes[subject], into, depth)

    def unreached(self) -> Iterator[str]:
        """Yield the nodes that are still unwritten; blank nodes that something refers to, in circles, come last."""
        left = [subject for subject, node in self.nodes.items() if subject not in self.written and any(node.values())]
        named = sorted(subject for subject in left if not is_blank(subject))
        blanks = sorted((subject for subject in left if is_blank(subject)), key=self.order.key)
        blanks.sort(key=lambda blank: blank in self.references)
        for subject in (*named, *blanks):
            if subject not in self.written:
                yield subject

    def begin(self, subject: str, depth: int = 0, *, named: bool = False) -> dict[str, Any]:
        """Return a node to be filled later; a blank one inside the only node that refers to it needs no label."""
        self.written.add(subject)
        named = named or not is_blank(subject) or self.references.get(subject, 0) > (1 if depth else 0)
        into: dict[str, Any] = {"@id": self.labels[subject] if is_blank(subject) else subject} if named else {}
        if self.nodes.get(subject):
            self.waiting.append((subject, into, depth))
        return into

    def fill(self, node: Node, into: dict[str, Any], depth: int) -> None:
        """Write a node's values."""
        if types := node.get(TYPE):
            self.fill_types(types, into, depth)
        for key in self.names.keys(node):
            values = node[key.iri]
            if len(values) == 1:  # nearly always
                into[key.name] = self.value(values[0], key.link, depth)
            else:
                into[key.name] = self.values(values, key.link, depth)

    def fill_types(self, values: list[terms.Term], into: dict[str, Any], depth: int) -> None:
        """Write the types that ``@type`` can hold, and the others as values like any."""
        plain = tuple(value for value in values if isinstance(value, str) and value[:2] != "_:")
        if plain:
            into["@type"] = self.names.types(plain)
        if len(plain) < len(values):
            others = [value for value in values if isinstance(value, Literal) or value[:2] == "_:"]
            into[self.names.type_key()] = self.values(others, False, depth)

    def values(self, values: list[terms.Term], link: bool, depth: int) -> Any:
        """Return values, each once, as JSON-LD."""
        if len(values) > 1:
            values = sorted(dict.fromkeys(values), key=self.order.rank)
        written = [self.value(value, link, depth) for value in values]
        return written if len(written) > 1 else written[0]

    def value(self, value: terms.Term, link: bool, depth: int) -> Any:
        """Return a value as JSON-LD."""
        if isinstance(value, Literal):
            return self.names.literal(value, link)
        if value in self.written or not (value in self.nodes or value[:2] == "_:"):
            return self.reference(value, link)
        if cells := self.cells(value):
            return {"@list": [self.item(one, link, depth) for one in cells]}
        return self.node(value, link, depth)

    def item(self, value: terms.Term, link: bool, depth: int) -> Any:
        """Return a list's value; a list in a list is written as an ordinary node, so that none is too deep."""
        if isinstance(value, str) and value in self.nodes and value not in self.written:
            return self.node(value, link, depth)
        return self.value(value, link, depth)

    def node(self, subject: str, link: bool, depth: int) -> Any:
        """Return a node, or a reference to it if it would be too deep."""
        if depth < MAX_DEPTH or not self.nodes.get(subject):
            return self.begin(subject, depth + 1)
        self.included.append(self.begin(subject, named=True))
        return self.reference(subject, link)

    def reference(self, subject: str, link: bool) -> Any:
        """Return a reference to a node."""
        label = self.labels[subject] if subject[:2] == "_:" else subject
        return label if link else {"@id": label}

    def cells(self, cell: str) -> list[terms.Term]:
        """Return the values of a well-formed list whose cells nothing else refers to; none if it is no such list."""
        values, passed = [], []
        while cell not in self.no_lists and self.is_cell(cell):
            node = self.nodes[cell]
            values.append(node[_FIRST][0])
            passed.append(cell)
            rest = node[_REST][0]
            if rest == _NIL:
                self.written.update(passed)
                return values
            if not isinstance(rest, str):
                break
            cell = rest
        self.no_lists.update(passed)
        return []

    def is_cell(self, subject: str) -> bool:
        """Return whether a node is a cell of a list."""
        node = self.nodes.get(subject)
        if not node or _FIRST not in node or subject in self.written or self.references.get(subject) != 1:
            return False
        return node.keys() == {_FIRST, _REST} and len(node[_FIRST]) == len(node[_REST]) == 1
