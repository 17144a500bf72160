"""A dataset's description as one JSON-LD document that stands on its own: readable, and the same triples when parsed.

What RDF does not allow is mended first, since JSON-LD processors drop it or refuse the whole document (see ``sound``).
"""

from __future__ import annotations

import json
import re
from collections import Counter, deque
from functools import lru_cache
from hashlib import blake2b
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import pyoxigraph

from crawlers.mapping.dcat.context import NAMES, Term, compact, context, term
from crawlers.rdf.namespaces import RDF, TYPE, XSD
from crawlers.rdf.terms import Literal, graph, is_blank

if TYPE_CHECKING:
    from collections.abc import Iterator

    from crawlers.rdf import terms
    from crawlers.rdf.terms import Graph, Node

DEEPEST = 30
"""Nodes inside nodes; what lies deeper stands beside, in ``@included``."""

_FIRST, _REST, _NIL = RDF + "first", RDF + "rest", RDF + "nil"
_PLAIN = XSD + "string"
_NOT_IN_IRIS = re.compile('[\\x00-\\x20<>"{}|\\\\^`\ud800-\udfff]')
_SURROGATE = re.compile("[\ud800-\udfff]")
_LANGUAGE = re.compile(r"[A-Za-z]{2,8}(?:-[A-Za-z0-9]{1,8})*|[XIxi](?:-[A-Za-z0-9]{1,8})+")
_ROUNDS = 200_000


def document(description: Graph, subject: str) -> dict[str, Any]:
    """The description as compact JSON-LD, which begins at the dataset; equal descriptions give equal documents.

    Neither the order of the triples nor the names of blank nodes count, but where blank nodes that are shared or in a
    circle can hardly be told apart: large groups of them, or regular nets.

    >>> title = {"http://purl.org/dc/terms/title": [Literal("Rain", "en")]}
    >>> document({"http://a.org/1": title}, "http://a.org/1")["title"]
    {'@language': 'en', '@value': 'Rain'}
    """
    survey = _Survey(description)
    if not survey.is_sound():
        description, subject = sound(description), _iri(subject)
        survey = _Survey(description)
    return _Writer(description, survey).document(subject)


def graph_of(document: dict[str, Any]) -> Graph:
    """What a document says."""
    written = json.dumps(document, ensure_ascii=False, check_circular=False)
    return graph(pyoxigraph.parse(written, format=pyoxigraph.RdfFormat.JSON_LD, lenient=True))


def sound(description: Graph) -> Graph:
    """The description without what RDF does not allow.

    Signs that no IRI has are percent-encoded, ``en_GB`` becomes ``en-GB``, what is no language or datatype at all goes.

    >>> sound({"http://a.org/1 2": {"http://a.org/is": [Literal("so", "en_GB"), Literal("it", "?")]}})
    {'http://a.org/1%202': {'http://a.org/is': [Literal(value='so', language='en-GB', datatype=None), \
Literal(value='it', language=None, datatype=None)]}}
    """
    mended: Graph = {}
    for subject, node in description.items():
        into = mended.setdefault(_iri(subject), {})
        for predicate, values in node.items():
            held = into.get(name := _iri(predicate) or "./", [])
            into[name] = list(dict.fromkeys((*held, *map(_mended, values))))
    return mended


def _mended(value: terms.Term) -> terms.Term:
    if isinstance(value, str):
        return _iri(value)
    text, language, datatype = value
    datatype = datatype if datatype and ":" in datatype and not is_blank(datatype) else None
    return Literal(_SURROGATE.sub("\ufffd", text), _language(language or ""), datatype and _iri(datatype))


def _iri(iri: str) -> str:
    if iri.startswith("@"):
        iri = f"./{iri}"
    return iri if is_blank(iri) else _NOT_IN_IRIS.sub(lambda found: quote(found[0], errors="replace"), iri)


@lru_cache(maxsize=1024)
def _language(tag: str) -> str | None:
    tag = tag.replace("_", "-")
    return tag if _LANGUAGE.fullmatch(tag) else None


@lru_cache(maxsize=256)  # nodes of one kind have the same predicates
def _keys(predicates: tuple[str, ...], avoided: frozenset[str]) -> list[Term]:
    return sorted(term(predicate, avoided) for predicate in predicates)


class _Survey:
    """What a description names, and how often it refers to each blank node."""

    def __init__(self, nodes: Graph) -> None:
        values = [value for node in nodes.values() for held in node.values() for value in held]
        links = [value for value in values if isinstance(value, str)]
        literals = [value for value in values if isinstance(value, Literal)]
        self.references = Counter(link for link in links if link[:2] == "_:")
        self.predicates = {predicate for node in nodes.values() for predicate in node}
        self.datatypes = {one.datatype for one in literals if one.datatype and not one.language}
        self.languages = {one.language for one in literals if one.language}
        self.texts = [one.value for one in literals if not one.value.isascii()]
        self.iris = {*nodes, *links, *self.predicates, *self.datatypes}

    def is_sound(self) -> bool:
        iris = "\x7f".join(("", *self.iris))  # searched at once: one by one takes several times as long
        return (
            "\x7f@" not in iris
            and not _NOT_IN_IRIS.search(iris)
            and "" not in self.predicates
            and all(":" in datatype and not is_blank(datatype) for datatype in self.datatypes)
            and all(_language(tag) == tag for tag in self.languages)
            and not _SURROGATE.search("".join(self.texts))
        )

    def schemes(self) -> frozenset[str]:
        """Terms and prefixes that an IRI begins with, as in ``title:1``."""
        return NAMES.intersection([iri.partition(":")[0] for iri in self.iris if iri[:4] != "http"])


class _Writer:
    """Walks from the dataset, the nearest first, and writes each node where it is first referred to."""

    def __init__(self, nodes: Graph, survey: _Survey) -> None:
        self.nodes = nodes
        self.references = survey.references
        self.avoided = survey.schemes()
        self.terms: set[Term] = set()
        self.prefixes: set[str] = set()
        self.labels: dict[str, str] = {}
        self.written: set[str] = set()
        self.included: list[dict[str, Any]] = []
        self.waiting: deque[tuple[str, dict[str, Any], int]] = deque()
        self.no_lists: set[str] = set()
        self._order: dict[str, tuple[str, str]] | None = None

    def document(self, subject: str) -> dict[str, Any]:
        top = self.begin(subject)
        self.work()
        for other in self.unreached():
            self.included.append(self.begin(other))
            self.work()
        found = {"@context": context(self.terms, self.prefixes), **top}
        if self.included:
            found["@included"] = self.included
        return found

    def work(self) -> None:
        while self.waiting:
            subject, into, depth = self.waiting.popleft()
            self.fill(self.nodes[subject], into, depth)

    def unreached(self) -> Iterator[str]:
        """Blank nodes that something refers to come last: they are in circles, if still unwritten then."""
        left = [subject for subject, node in self.nodes.items() if subject not in self.written and any(node.values())]
        named = sorted(subject for subject in left if not is_blank(subject))
        blanks = sorted((subject for subject in left if is_blank(subject)), key=self.order)
        blanks.sort(key=lambda blank: blank in self.references)
        for subject in (*named, *blanks):
            if subject not in self.written:
                yield subject

    def begin(self, subject: str, depth: int = 0, *, named: bool = False) -> dict[str, Any]:
        """A node to be filled later; a blank one inside the only node that refers to it needs no label."""
        self.written.add(subject)
        named = named or not is_blank(subject) or self.references.get(subject, 0) > (1 if depth else 0)
        into: dict[str, Any] = {"@id": self.label(subject)} if named else {}
        if self.nodes.get(subject):
            self.waiting.append((subject, into, depth))
        return into

    def label(self, subject: str) -> str:
        return self.labels.setdefault(subject, f"_:b{len(self.labels)}") if is_blank(subject) else subject

    def fill(self, node: Node, into: dict[str, Any], depth: int) -> None:
        for key in _keys(tuple(node), self.avoided):
            values = node[key.iri]
            if key.iri == TYPE:
                values = self.types(values, into)
            if not values:
                continue
            self.use(key)
            if len(values) > 1:
                values = sorted(dict.fromkeys(values), key=self.rank)
            written = [self.value(value, key.link, depth) for value in values]
            into[key.name] = written if len(written) > 1 else written[0]

    def types(self, values: list[terms.Term], into: dict[str, Any]) -> list[terms.Term]:
        """Writes the types that ``@type`` can hold, gives back the others."""
        plain = [value for value in values if type(value) is str and value[:2] != "_:"]
        if plain:
            written = [self.compact(one) for one in sorted(set(plain))]
            into["@type"] = written if len(written) > 1 else written[0]
        return [value for value in values if value not in plain] if len(plain) < len(values) else []

    def use(self, key: Term) -> None:
        if key.prefix:
            self.prefixes.add(key.prefix)
        elif key.name != key.iri:
            self.terms.add(key)

    def compact(self, iri: str) -> str:
        name, prefix = compact(iri, self.avoided)
        if prefix:
            self.prefixes.add(prefix)
        return name

    def value(self, value: terms.Term, link: bool, depth: int) -> Any:
        if isinstance(value, Literal):
            return self.literal(value, link)
        if value in self.written or not (value in self.nodes or value[:2] == "_:"):
            return self.reference(value, link)
        if cells := self.cells(value):
            return {"@list": [self.item(one, link, depth) for one in cells]}
        return self.node(value, link, depth)

    def item(self, value: terms.Term, link: bool, depth: int) -> Any:
        """Of a list; a list in a list is a node like others, so that none is too deep."""
        if isinstance(value, str) and value in self.nodes and value not in self.written:
            return self.node(value, link, depth)
        return self.value(value, link, depth)

    def node(self, subject: str, link: bool, depth: int) -> Any:
        if depth < DEEPEST or not self.nodes.get(subject):
            return self.begin(subject, depth + 1)
        self.included.append(self.begin(subject, named=True))
        return self.reference(subject, link)

    def reference(self, subject: str, link: bool) -> Any:
        label = self.label(subject) if subject[:2] == "_:" else subject
        return label if link else {"@id": label}

    def literal(self, literal: Literal, link: bool) -> Any:
        text, language, datatype = literal
        if language:
            return {"@language": language, "@value": text}
        if datatype and datatype != _PLAIN:
            return {"@type": self.compact(datatype), "@value": text}
        return {"@value": text} if link else text

    def cells(self, cell: str) -> list[terms.Term]:
        """A well-formed list's values, if none but its referrer refers to it."""
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
        node = self.nodes.get(subject)
        if not node or _FIRST not in node or subject in self.written or self.references.get(subject) != 1:
            return False
        return node.keys() == {_FIRST, _REST} and len(node[_FIRST]) == len(node[_REST]) == 1

    def rank(self, value: terms.Term) -> tuple[int, str, str, str]:
        """Texts by language, then IRIs, then blank nodes by what is said of them."""
        if isinstance(value, Literal):
            return 0, value.language or "", value.value, value.datatype or ""
        if is_blank(value):
            return 2, *self.order(value), ""
        return 1, value, "", ""

    def order(self, blank: str) -> tuple[str, str]:
        if self._order is None:
            self._order = _Blanks(self.nodes, self.references).order()
        return self._order[blank]


class _Blanks:
    """Blank nodes in an order that does not depend on their names.

    Those that are trees are told apart by what they say; the others by their neighbours as well, and one of several
    that are alike is put first until all are told apart, within a bound of work.
    """

    def __init__(self, nodes: Graph, references: dict[str, int]) -> None:
        self.nodes = nodes
        self.references = references
        self.blanks = {*references, *filter(is_blank, nodes)}
        self.within: dict[str, list[tuple[str, str]]] = {blank: [] for blank in self.blanks}
        self.about: dict[str, list[tuple[str, str]]] = {blank: [] for blank in self.blanks}
        for subject, predicate, blank in self._edges():
            self.about[blank].append((predicate, subject))
            if subject in self.blanks:
                self.within[subject].append((predicate, blank))
        self.texts: dict[str, str] = {}
        self.colours: dict[str, str] = {}

    def _edges(self) -> Iterator[tuple[str, str, str]]:
        for subject, node in self.nodes.items():
            for predicate, values in node.items():
                for value in values:
                    if isinstance(value, str) and value.startswith("_:"):
                        yield subject, predicate, value

    def order(self) -> dict[str, tuple[str, str]]:
        knotted = self._describe_trees()
        shared = sorted({*knotted, *(blank for blank, count in self.references.items() if count > 1)})
        self.texts.update({blank: self._text(blank) for blank in knotted})
        self.colours.update({blank: _digest(self.texts[blank]) for blank in knotted})
        if shared:
            self._tell_apart(shared)
        return {blank: (self.texts[blank], self.colours[blank]) for blank in self.blanks}

    def _describe_trees(self) -> list[str]:
        """From the leaves up; those in a circle or above one are left."""
        open_ends = {blank: len(within) for blank, within in self.within.items()}
        ready = [blank for blank, count in open_ends.items() if not count]
        while ready:
            blank = ready.pop()
            self.texts[blank] = self._text(blank)
            self.colours[blank] = _digest(self.texts[blank])
            for _, subject in self.about[blank]:
                if subject in open_ends:
                    open_ends[subject] -= 1
                    if not open_ends[subject]:
                        ready.append(subject)
        return [blank for blank in self.blanks if blank not in self.texts]

    def _text(self, blank: str) -> str:
        node = self.nodes.get(blank, {})
        said = (
            (predicate, sorted(self._value(value, blank) for value in values)) for predicate, values in node.items()
        )
        return repr(sorted(said))

    def _value(self, value: terms.Term, blank: str) -> tuple[str, ...]:
        if isinstance(value, Literal):
            return "literal", value.language or "", value.value, value.datatype or ""
        if not value.startswith("_:"):
            return "iri", value
        return "blank", "itself" if value == blank else self.colours.get(value, "")

    def _tell_apart(self, shared: list[str]) -> None:
        work = _ROUNDS
        edges = len(self.blanks) + sum(map(len, self.about.values()))
        while work > 0:
            work -= edges * self._refine(work // edges)
            alike = self._alike(shared)
            if not alike:
                return
            self.colours[alike] = _digest(self.colours[alike] + "first")

    def _refine(self, most: int) -> int:
        """Until another round would tell no more apart; how many it took."""
        for count in range(most):
            before = len(set(self.colours.values()))
            self.colours = {blank: self._colour(blank) for blank in self.blanks}
            if len(set(self.colours.values())) == before:
                return count + 1
        return max(most, 1)

    def _colour(self, blank: str) -> str:
        within = sorted((predicate, self.colours[value]) for predicate, value in self.within[blank])
        about = sorted((predicate, self.colours.get(subject, subject)) for predicate, subject in self.about[blank])
        return _digest(repr((self.colours[blank], within, about)))

    def _alike(self, shared: list[str]) -> str | None:
        """One of the first group that is still alike."""
        groups: dict[str, list[str]] = {}
        for blank in shared:
            groups.setdefault(self.colours[blank], []).append(blank)
        several = [colour for colour, group in groups.items() if len(group) > 1]
        return groups[min(several)][0] if several else None


def _digest(text: str) -> str:
    return blake2b(text.encode(errors="surrogatepass"), digest_size=12).hexdigest()
