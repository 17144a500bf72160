"""Graphs that other libraries made or can use, and what RDF does not allow in them."""

from __future__ import annotations

import errno
import marshal
import re
import sqlite3
from contextlib import contextmanager
from functools import lru_cache
from hashlib import blake2b
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from crawlers.records.rdf.terms import Literal, is_blank
from crawlers.safety import sqlite
from crawlers.safety.bounds import STATEMENTS

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Iterable, Iterator, Mapping

    import rdflib

    from crawlers.records.rdf.terms import Graph, Node, Term, Triple


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


_MAX_WORK = 200_000  # edges looked at, so that large regular nets take a bounded time


class Order:
    """The order of the values of a description.

    Args:
        nodes: the description.
        references: how often it refers to each blank node.
    """

    def __init__(self, nodes: Graph, references: Mapping[str, int]) -> None:
        self.nodes = nodes
        self.references = references
        self._keys: dict[str, tuple[str, str]] | None = None

    def rank(self, value: Term) -> tuple[int, str, str, str]:
        """Return a sort key: texts by language, then IRIs, then blank nodes by what the description says about them."""
        if isinstance(value, Literal):
            return 0, value.language or "", value.value, value.datatype or ""
        if is_blank(value):
            return 2, *self.key(value), ""
        return 1, value, "", ""

    def key(self, blank: str) -> tuple[str, str]:
        """Return a blank node's sort key."""
        if self._keys is None:
            self._keys = _Colours(self.nodes, self.references).keys()
        return self._keys[blank]


class _Colours:
    """Colours blank nodes until different ones have different colours (colour refinement).

    Those that are trees are distinguished by their content, the others by their neighbours as well. If several are
    still alike, one of them gets a colour of its own, until all are distinguished or the bound of work is reached.
    """

    def __init__(self, nodes: Graph, references: Mapping[str, int]) -> None:
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

    def keys(self) -> dict[str, tuple[str, str]]:
        """Return a sort key for each blank node: its content, and its colour."""
        knotted = self._describe_trees()
        shared = sorted({*knotted, *(blank for blank, count in self.references.items() if count > 1)})
        self.texts.update({blank: self._text(blank) for blank in knotted})
        self.colours.update({blank: _digest(self.texts[blank]) for blank in knotted})
        if shared:
            self._distinguish(shared)
        return {blank: (self.texts[blank], self.colours[blank]) for blank in self.blanks}

    def _describe_trees(self) -> list[str]:
        """Describe trees from the leaves up; return the nodes in a circle, and those above one."""
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
        content = ((name, sorted(self._value(value, blank) for value in values)) for name, values in node.items())
        return repr(sorted(content))

    def _value(self, value: Term, blank: str) -> tuple[str, ...]:
        if isinstance(value, Literal):
            return "literal", value.language or "", value.value, value.datatype or ""
        if not value.startswith("_:"):
            return "iri", value
        return "blank", "itself" if value == blank else self.colours.get(value, "")

    def _distinguish(self, shared: list[str]) -> None:
        work = _MAX_WORK
        edges = len(self.blanks) + sum(map(len, self.about.values()))
        while work > 0:
            work -= edges * self._refine(work // edges)
            alike = self._alike(shared)
            if not alike:
                return
            self.colours[alike] = _digest(self.colours[alike] + "first")

    def _refine(self, max_rounds: int) -> int:
        """Refine the colours until a round adds none; return how many rounds that took."""
        for count in range(max_rounds):
            before = len(set(self.colours.values()))
            self.colours = {blank: self._colour(blank) for blank in self.blanks}
            if len(set(self.colours.values())) == before:
                return count + 1
        return max(max_rounds, 1)

    def _colour(self, blank: str) -> str:
        within = sorted((predicate, self.colours[value]) for predicate, value in self.within[blank])
        about = sorted((predicate, self.colours.get(subject, subject)) for predicate, subject in self.about[blank])
        return _digest(repr((self.colours[blank], within, about)))

    def _alike(self, shared: list[str]) -> str | None:
        """Return one node of the first group that still has one colour."""
        groups: dict[str, list[str]] = {}
        for blank in shared:
            groups.setdefault(self.colours[blank], []).append(blank)
        several = [colour for colour, group in groups.items() if len(group) > 1]
        return groups[min(several)][0] if several else None


def _digest(text: str) -> str:
    return blake2b(text.encode(errors="surrogatepass"), digest_size=12).hexdigest()


MAX_HELD = 800_000  # triples in memory, some 200 MB; a long text counts as several, and so does a node
_LONG = 256  # characters
_WEIGHT = 2  # of a node, in triples
_SCHEMA = """
PRAGMA cache_size = -65536;
CREATE TABLE nodes (subject TEXT NOT NULL, node BLOB NOT NULL);
"""
_FEW = 200
_MAX_KEPT = 4_000_000  # bytes of nodes that many datasets share: publishers, licences, themes
_OVERHEAD = 200  # bytes of an empty node
_NOTHING: Node = {}
_MASK = (1 << 24) - 1  # of hashes: 16 MiB separate a million subjects from most others


@contextmanager
def full_disk() -> Iterator[None]:
    """Report a full disk as such.

    Raises:
        OSError: in place of SQLite's error, when its temporary file can't grow.
    """
    try:
        yield
    except sqlite3.OperationalError as error:
        raise OSError(errno.ENOSPC, f"the temporary file of a large graph can't be written: {error}") from None


class Nodes:
    """The nodes of a graph: filled by `add` and `filled`, then read by `node`, in that order."""

    def __init__(self) -> None:
        self.held: Graph = {}
        self.crowded: set[str] = set()
        self.db: sqlite3.Connection | None = None
        self.hashes = bytearray()
        self.kept: Graph = {}
        self.size = 0
        self.weight = 0

    def add(self, triples: Iterable[Triple], noted: Container[str]) -> Iterator[Triple]:
        """Take the triples, and yield those whose predicate is one of a few.

        Args:
            noted: those predicates.

        Raises:
            OSError: the disk is full.
        """
        held, weight, last, node = self.held, self.weight, None, _NOTHING
        for triple in triples:
            subject, predicate, value = triple
            if subject is not last:
                last, node = subject, held.setdefault(subject, {})
                weight += 0 if node else _WEIGHT
            values = node.get(predicate)
            if values is None:
                node[predicate] = [value]
            elif len(values) >= _FEW:
                self.crowded.add(subject)
                if len(values) <= STATEMENTS.most:  # a node of more is not taken anyway
                    values.append(value)
            elif value not in values:
                values.append(value)
            weight += 1 + len(value if type(value) is str else value[0]) // _LONG
            if weight >= MAX_HELD:
                self._spill()
                held, weight, last = self.held, 0, None
            if predicate in noted:
                yield triple
        self.weight = weight

    def _spill(self) -> None:
        if self.db is None:
            self.db = sqlite.temporary(_SCHEMA)
            self.hashes = bytearray(_MASK + 1)
        for subject in self.held:
            self.hashes[hash(subject) & _MASK] = 1
        rows = ((subject, marshal.dumps(_plain(node))) for subject, node in self.held.items())
        with full_disk(), sqlite.transaction(self.db):
            self.db.executemany("INSERT INTO nodes VALUES (?, ?)", rows)
        self.held = {}

    def filled(self) -> None:
        """Prepare for reading when all triples have been added."""
        for subject in () if self.db else self.crowded:
            self.held[subject] = _each_once(self.held[subject])
        if self.db is not None:
            self._spill()
            with full_disk():
                self.db.execute("CREATE INDEX subjects ON nodes (subject)")

    def node(self, subject: str) -> Node:
        """Return a subject's values by predicate; an empty dict if the graph does not describe it."""
        if self.db is None:
            return self.held.get(subject, _NOTHING)
        if not self.hashes[hash(subject) & _MASK]:  # most IRIs are pages and files: not worth a query
            return _NOTHING
        found = self.kept.get(subject)
        return self._stored(self.db, subject) if found is None else found

    def _stored(self, db: sqlite3.Connection, subject: str) -> Node:
        rows = db.execute("SELECT node FROM nodes WHERE subject = ? ORDER BY rowid", (subject,)).fetchall()
        parts = (marshal.loads(part) for (part,) in rows)  # noqa: S302  # our own file, which nobody else can open
        node: Node = {}
        count = 0
        for part in parts:
            if count > STATEMENTS.most:  # it is not taken
                break
            for predicate, values in part.items():
                count += len(values)
                terms = [value if type(value) is str else Literal(*value) for value in values]
                if predicate in node:
                    node[predicate] += terms
                else:
                    node[predicate] = terms
        if len(rows) > 1 or subject in self.crowded:
            node = _each_once(node)
        if not subject.startswith("_:"):
            self._keep(subject, node, sum(len(part) for (part,) in rows))
        return node

    def _keep(self, subject: str, node: Node, size: int) -> None:
        self.size += size + _OVERHEAD
        if self.size > _MAX_KEPT:
            self.kept, self.size = {}, 0
        self.kept[subject] = node

    def close(self) -> None:
        """Delete the temporary file."""
        if self.db is not None:
            self.db.close()


def _each_once(node: Node) -> Node:
    """Remove duplicate values: a stream may repeat triples far apart."""
    return {predicate: list(dict.fromkeys(values)) for predicate, values in node.items()}


def _plain(node: Node) -> dict[str, list[str | tuple[str | None, ...]]]:
    return {
        predicate: [value if type(value) is str else tuple(value) for value in values]
        for predicate, values in node.items()
    }
