"""A dataset's description as one JSON-LD document that is readable and has the same triples when it is parsed.

What RDF does not allow is repaired first, since JSON-LD processors drop it or refuse the document (see `sound`).
"""

from __future__ import annotations

import json
from collections import defaultdict, deque
from dataclasses import dataclass
from functools import lru_cache
from itertools import chain
from typing import TYPE_CHECKING, Any

import pyoxigraph

from crawlers.records.rdf.dcat_context import NAMES, Term, compact, context, term
from crawlers.records.rdf.graphs import INVALID_IN_IRIS, XSD_STRING, Order, graph, sound, valid_iri, valid_language
from crawlers.records.rdf.terms import RDF, TYPE, Literal, is_blank

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from crawlers.records.rdf import terms
    from crawlers.records.rdf.terms import Graph

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
    """How nodes with the same predicates and types are written.

    Args:
        is_sound: whether RDF allows the predicates and types.
        schemes: the terms and prefixes that one of them begins with.
        type: the value of ``@type``; ``None`` if there is none.
        others: the types that ``@type`` can't hold.
        keys: what stands for the predicates, without ``rdf:type``, in the order of a document: the key, the predicate,
            and whether a plain text is an IRI there.
        terms: those that the context has.
        prefixes: those that the keys and types need.
    """

    is_sound: bool
    schemes: frozenset[str]
    type: str | list[str] | None
    others: tuple[terms.Term, ...]
    keys: tuple[tuple[str, str, bool], ...]
    terms: frozenset[Term]
    prefixes: frozenset[str]


@lru_cache(maxsize=256)  # nodes of one kind have the same predicates and types
def _shape(predicates: tuple[str, ...], types: tuple[terms.Term, ...], avoided: frozenset[str]) -> _Shape:
    found = sorted(term(predicate, avoided) for predicate in predicates if predicate != TYPE)
    plain = sorted({one for one in types if isinstance(one, str) and not is_blank(one)})
    written = [compact(one, avoided) for one in plain]
    names = [name for name, _ in written]
    iris = (*predicates, *plain)
    return _Shape(
        is_sound="" not in predicates and _are_sound(iris),
        schemes=_schemes(iris),
        type=names if len(names) > 1 else next(iter(names), None),
        others=tuple(one for one in types if one not in plain),
        keys=tuple((one.name, one.iri, one.link) for one in found),
        terms=frozenset(one for one in found if not one.prefix and one.name != one.iri),
        prefixes=frozenset(filter(None, (*(one.prefix for one in found), *(prefix for _, prefix in written)))),
    )


def _are_sound(iris: Iterable[str]) -> bool:
    """Return whether RDF allows all of these IRIs: all at once are checked several times as fast as one by one."""
    try:
        joined = "\x7f".join(("", *iris)).encode()
    except UnicodeEncodeError:  # half characters
        return False
    return b"\x7f@" not in joined and len(joined.translate(None, INVALID_IN_IRIS)) == len(joined)


def _schemes(iris: Iterable[str]) -> frozenset[str]:
    """Return the terms and prefixes that an IRI begins with, as in ``title:1``: they can't be used."""
    return NAMES.intersection([iri.partition(":")[0] for iri in iris if iri[:4] != "http"])


@lru_cache(maxsize=256)
def _is_datatype(iri: str) -> bool:
    return ":" in iri and not is_blank(iri) and _are_sound([iri])


class _Survey:
    """What the nodes of a description are, together: the names, the texts, and how often each blank node is named."""

    def __init__(self, nodes: Graph) -> None:
        self.lists = list(chain.from_iterable(map(dict.values, nodes.values())))
        values = list(chain.from_iterable(self.lists))
        links = [value for value in values if type(value) is str]
        literals = [value for value in values if type(value) is Literal]
        self.texts: tuple[str, ...]
        self.texts, languages, datatypes = zip(*literals, strict=True) if literals else ((), (), ())
        self.languages, self.datatypes = {*languages} - {None, ""}, {*datatypes} - {None, ""}
        self.names = [*nodes, *links]
        self.references: dict[str, int] = {}
        for link in links:
            if link[:2] == "_:":
                self.references[link] = self.references.get(link, 0) + 1
        self.nodes = nodes
        self.shapes = self._shapes(frozenset())

    def _shapes(self, avoided: frozenset[str]) -> dict[str, _Shape]:
        return {
            subject: _shape(tuple(node), tuple(node.get(TYPE, ())), avoided) for subject, node in self.nodes.items()
        }

    def is_sound(self) -> bool:
        """Return whether RDF allows all of it, and each predicate has a value."""
        try:
            "".join(self.texts).encode()
        except UnicodeEncodeError:  # half characters
            return False
        return (
            all(self.lists)
            and _are_sound(self.names)
            and all(shape.is_sound for shape in set(self.shapes.values()))
            and all(map(_is_datatype, self.datatypes))
            and all(valid_language(tag) == tag for tag in self.languages)
        )

    def avoid(self) -> frozenset[str]:
        """Return the terms and prefixes that can't be used, and let the shapes do without them."""
        found = frozenset().union(*[shape.schemes for shape in self.shapes.values()])
        avoided = found | _schemes(chain(self.names, self.datatypes))
        if avoided:
            self.shapes = self._shapes(avoided)
        return avoided


@lru_cache(maxsize=256)
def _context(shapes: frozenset[_Shape], prefixes: frozenset[str]) -> dict[str, Any]:
    """Return the context of a document that has nodes of these shapes, and these prefixes besides."""
    prefixes = prefixes.union(*(shape.prefixes for shape in shapes))
    return context(frozenset().union(*(shape.terms for shape in shapes)), prefixes)


class _Writer:
    """Writes nodes from the dataset on, the nearest first, each where it is first referred to."""

    def __init__(self, nodes: Graph, survey: _Survey) -> None:
        self.nodes = nodes
        self.references = survey.references
        self.avoided = survey.avoid()
        self.shapes = survey.shapes
        self.used: set[_Shape] = set()
        self.prefixes: set[str] = set()
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
        found = {"@context": dict(_context(frozenset(self.used), frozenset(self.prefixes))), **top}
        if self.included:
            found["@included"] = self.included
        return found

    def write(self) -> None:
        """Write the nodes that have begun, and those that they refer to."""
        while self.waiting:
            subject, into, depth = self.waiting.popleft()
            self.fill(subject, into, depth)

    def unreached(self) -> Iterator[str]:
        """Yield the nodes that are still unwritten; blank nodes that something refers to, in circles, come last."""
        if self.nodes.keys() <= self.written:  # nearly always
            return
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

    def fill(self, subject: str, into: dict[str, Any], depth: int) -> None:
        """Write a node's values."""
        node, shape = self.nodes[subject], self.shapes[subject]
        self.used.add(shape)
        if shape.type:
            into["@type"] = shape.type
        if shape.others:
            into[self.compact(TYPE)] = self.values(list(shape.others), False, depth)
        for name, iri, link in shape.keys:
            values = node[iri]
            if len(values) == 1:  # nearly always
                into[name] = self.value(values[0], link, depth)
            else:
                into[name] = self.values(values, link, depth)

    def values(self, values: list[terms.Term], link: bool, depth: int) -> Any:
        """Return values, each once, as JSON-LD."""
        if len(values) > 1:
            values = sorted(dict.fromkeys(values), key=self.order.rank)
        written = [self.value(value, link, depth) for value in values]
        return written if len(written) > 1 else written[0]

    def value(self, value: terms.Term, link: bool, depth: int) -> Any:
        """Return a value as JSON-LD."""
        if isinstance(value, Literal):
            text, language, datatype = value
            if language:
                return {"@language": language, "@value": text}
            if datatype and datatype != XSD_STRING:
                return {"@type": self.compact(datatype), "@value": text}
            return {"@value": text} if link else text
        if value in self.written or not (value in self.nodes or value[:2] == "_:"):
            return self.reference(value, link)
        if cells := self.cells(value):
            return {"@list": [self.item(one, link, depth) for one in cells]}
        return self.node(value, link, depth)

    def compact(self, iri: str) -> str:
        """Return a name as the document has it, and note the prefix that it needs."""
        name, prefix = compact(iri, self.avoided)
        if prefix:
            self.prefixes.add(prefix)
        return name

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
