"""RDF that is not DCAT, by the rules of a file: which nodes are datasets, and their statements in DCAT's words."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, BinaryIO

from crawlers.items import Agent
from crawlers.kinds.dcat.catalogue import MAX_NODES, NOTED, ROLE_OF_TYPE, TYPED, Catalogue
from crawlers.kinds.dcat.page import RDFPage
from crawlers.kinds.dcat.rules import (
    ADDRESSES,
    AGENTS,
    ALSO,
    FILES,
    MOST,
    OF_DATASETS,
    OF_RESOURCES,
    PLAIN,
    PREFIX,
    Links,
    links,
)
from crawlers.records import values
from crawlers.records.dcat.agents import agent, email, in_their_order
from crawlers.records.dcat.description import Description
from crawlers.records.dcat.distributions import DISTRIBUTIONS
from crawlers.records.rdf.graphs import full_disk
from crawlers.records.rdf.terms import DCAT, DCT, TYPE, Literal, is_blank
from crawlers.safety import sqlite

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from crawlers.items import Dataset
    from crawlers.kinds.dcat.page import Amend
    from crawlers.kinds.dcat.rules import Parts, RDFRules, Ways
    from crawlers.records.rdf.apart import ReaderApart
    from crawlers.records.rdf.formats import Format
    from crawlers.records.rdf.reader import Reader
    from crawlers.records.rdf.terms import Graph, Node, Term, Triple


class Extract:
    """The statements that the paths of the rules go through, within bounds.

    Args:
        rules: the rules.
        node: returns what the catalogue says of a node.
        referring: returns the nodes that have a node as the value of a property.
        largest: how many statements are taken.
        room: how many characters they may have.

    Attributes:
        graph: the statements.
        ends: where the paths lead.
        is_everything: whether nothing was too much.
        length: how many characters the statements have.
    """

    def __init__(
        self,
        rules: RDFRules,
        node: Callable[[str], Node],
        referring: Callable[[str, str], Iterable[str]],
        *,
        largest: int,
        room: int,
    ) -> None:
        self.rules = rules
        self.links = Links(node, referring, self._note)
        self.largest, self.room = largest, room
        self.graph: Graph = {}
        self.ends: dict[str, None] = {}
        self.is_everything = True
        self.length = 0
        self.noted: set[tuple[str, str, Term]] = set()

    def read(self, subject: str) -> None:
        """Follow the paths of one dataset."""
        follow = self.links.values
        for ways in self.rules.fields.values():
            self._end(follow(subject, ways))
        for rule in self.rules.agents.values():
            starts: list[Term] = follow(subject, rule.each) if rule.each else [subject]
            self._end(starts)
            for ways in rule.fields.values():
                for each in starts:
                    self._end(follow(each, ways))
        files = files_of(self.rules, self.links, subject)
        self._end(files)
        for ways in self.rules.resources.fields.values():
            for each in files:
                self._end(follow(each, ways))
        self.is_everything &= self.links.room > 0

    def _end(self, terms: list[Term]) -> None:
        self.ends |= dict.fromkeys(each for each in terms if isinstance(each, str))

    def _note(self, subject: str, name: str, value: Term) -> bool:
        statement = (subject, name, value)
        if statement in self.noted:
            return True
        length = len(value if isinstance(value, str) else value.value)
        if len(self.noted) >= self.largest or self.length + length > self.room:
            self.is_everything = False
            return False
        self.noted.add(statement)
        self.length += length
        self.graph.setdefault(subject, {}).setdefault(name, []).append(value)
        return True


_SCHEMA = """
CREATE TABLE referring (value TEXT, property TEXT, subject TEXT);
"""
_FIND = "SELECT DISTINCT subject FROM referring WHERE value = ? AND property = ? ORDER BY subject LIMIT ?"
_BATCH = 10_000


class Referring:
    """Statements by their values; filled by `add` and `filled`, then read by `find`, in that order.

    Raises:
        OSError: from what writes; the disk is full.
    """

    def __init__(self) -> None:
        self.new: list[tuple[str, str, str]] = []
        self.db = sqlite.temporary(_SCHEMA)

    def add(self, value: str, name: str, subject: str) -> None:
        """Take a statement whose property is to be followed from its value."""
        self.new.append((value, name, subject))
        if len(self.new) >= _BATCH:
            self._flush()

    def _flush(self) -> None:
        with full_disk(), sqlite.transaction(self.db):
            self.db.executemany("INSERT INTO referring VALUES (?, ?, ?)", self.new)
        self.new = []

    def filled(self) -> None:
        """Prepare for reading when all statements have been added."""
        self._flush()
        with full_disk():
            self.db.execute("CREATE INDEX referred ON referring (value, property)")

    def find(self, value: str, name: str) -> Iterator[str]:
        """Yield the nodes that have a value, in the order of their names."""
        return (subject for (subject,) in self.db.execute(_FIND, (value, name, MOST)))

    def close(self) -> None:
        self.db.close()


_READERS = {"data_modified": values.xsd_date, "uri": values.text, "url": values.url, "email": email}
_NAMELESS = "_:found"
_VALUE = DCT + "title"  # a property that a text, a date or an address is read by, whatever it is


class Translation:
    """What the rules make of the description of one dataset.

    A field whose paths lead nowhere is mapped as if the rules did not say it.

    Args:
        description: the statements about the dataset and the nodes that belong to it.
        subject: the dataset.
        language: the tag of the texts to prefer.

    Attributes:
        graph: the description in which DCAT's properties have what the rules found.
    """

    def __init__(self, rules: RDFRules, description: Graph, subject: str, language: str | None = None) -> None:
        self.rules = rules
        self.subject = subject
        self.links = links(description)
        self.original = description
        self.language = language
        known = _values_of(self.links, subject, rules.fields, OF_DATASETS)
        files = files_of(rules, self.links, subject)
        self.graph = {**description, **self._files(files)}
        node = translated(self.graph.get(subject, {}), known, OF_DATASETS)
        if rules.resources.each and files:
            node = {name: each for name, each in node.items() if name not in FILES} | {DCAT + "distribution": files}
        self.graph[subject] = node

    def _files(self, files: list[Term]) -> Graph:
        nodes: Graph = {}
        for term in files:
            if isinstance(term, str):
                known = _values_of(self.links, term, self.rules.resources.fields, OF_RESOURCES)
                node = translated(self.original.get(term, {}), known, OF_RESOURCES)
                if self.rules.resources.each and not is_blank(term) and ADDRESSES.isdisjoint(node):
                    node[DCAT + "downloadURL"] = [term]
                nodes[term] = node
        return nodes

    def amend(self, item: Dataset) -> None:
        """Set the fields of an item that are not values of one of DCAT's properties."""
        for field, rule in self.rules.agents.items():
            if found := self._agents(rule, AGENTS[field]):
                self._set_agents(item, field, found)
        for field in PLAIN:
            if terms := self.links.values(self.subject, self.rules.fields.get(field, ())):
                setattr(item, field, _read(field, self._with(terms)))

    def _set_agents(self, item: Dataset, field: str, found: list[Agent]) -> None:
        if field == "contacts":
            item.contacts = found
            return
        setattr(item, field, found[0])
        item.contacts = [each for each in item.contacts if each.role != AGENTS[field]]

    def _agents(self, rule: Parts, role: str) -> list[Agent]:
        terms = self.links.values(self.subject, rule.each) if rule.each else [self.subject]
        found = [self._agent(term, rule, role) for term in terms]
        return in_their_order(found)

    def _agent(self, term: Term, rule: Parts, role: str) -> Agent:
        found = agent(Description(self.original, term, self.language), role) if rule.each else Agent(role=role)
        for field, ways in rule.fields.items():
            if terms := self.links.values(term, ways):
                setattr(found, field, _read(field, self._with(terms)))
        return found

    def _with(self, terms: list[Term]) -> Description:
        """Return a node that has these values."""
        node = Description(self.original, _NAMELESS, self.language)
        node.fields = {_VALUE: terms}
        return node


def files_of(rules: RDFRules, links: Links, subject: str) -> list[Term]:
    """Return the files of a dataset that the rules say something of."""
    if rules.resources.each:
        return links.values(subject, rules.resources.each)
    if not rules.resources.fields:
        return []
    node = links.node(subject)
    return [term for name in DISTRIBUTIONS for term in node.get(name, ())][:MOST]


def _values_of(
    links: Links, term: Term, rules: Mapping[str, Ways], properties: Mapping[str, str]
) -> dict[str, list[Term]]:
    """Return what the paths of each field lead to, of those that are one of these properties."""
    return {field: each for field, ways in rules.items() if field in properties and (each := links.values(term, ways))}


def translated(node: Node, known: Mapping[str, list[Term]], properties: Mapping[str, str]) -> Node:
    """Return a node in which DCAT's properties have what the rules found.

    Args:
        known: what was found of each field.
        properties: the DCAT property of each field.
    """
    left_out = frozenset().union(*(ALSO.get(field, frozenset()) for field in known))
    kept = {name: each for name, each in node.items() if name not in left_out}
    return kept | {properties[field]: each for field, each in known.items()}


def _read(field: str, node: Description) -> str | None:
    """Return the value of a field, of a dataset or of an agent, that is one text."""
    reader = _READERS.get(field)
    return node.read(reader, _VALUE) if reader else _text(node)


def _text(node: Description) -> str | None:
    """Return a text, or what a node is called."""
    found = node.text(_VALUE)
    labels = (node.label(term) for term in node.terms(_VALUE) if not isinstance(term, Literal))
    return found or next(filter(None, labels), None)


class TaughtCatalogue(Catalogue):
    """A graph in which rules say what is a dataset and what belongs to it.

    Args:
        rules: the rules.
    """

    def __init__(self, rules: RDFRules) -> None:
        super().__init__()
        self.rules = rules
        self.referring = Referring()
        self.noted = NOTED | rules.inverse
        self.descriptions.separate |= rules.classes
        if rules.classes:
            others = {each: role for each, role in ROLE_OF_TYPE.items() if role != TYPED}
            self.role_of_type = others | dict.fromkeys(rules.classes, TYPED)

    def read(self, reader: Reader | ReaderApart) -> Iterator[None]:
        yield from super().read(reader)
        self.referring.filled()

    def note(self, triple: Triple) -> None:
        subject, predicate, value = triple
        if predicate in self.rules.inverse and isinstance(value, str):
            self.referring.add(value, predicate, subject)
        if predicate in NOTED:
            super().note(triple)

    def is_dataset(self, subject: str, node: Node, roles: int) -> bool:
        if self.rules.classes and not roles & TYPED:
            return False
        return super().is_dataset(subject, node, roles) or (node.keys() == {TYPE} and self._is_referred_to(subject))

    def _is_referred_to(self, subject: str) -> bool:
        """Return whether all that is stated of a node is stated by others, from which a path of the rules leads."""
        return any(next(self.referring.find(subject, name), None) for name in self.rules.inverse)

    def description(self, subject: str) -> tuple[Graph, bool]:
        """Return the dataset's node and what belongs to it, with all that the paths go through."""
        room = self.descriptions.room()
        extract = Extract(self.rules, self.nodes.node, self.referring.find, largest=MAX_NODES, room=room)
        extract.read(subject)
        found, is_everything = self.descriptions.description(subject, extract.ends)
        self.descriptions.budget -= extract.length
        return {**extract.graph, **found}, is_everything and extract.is_everything

    def close(self) -> None:
        super().close()
        self.referring.close()


class TaughtPage(RDFPage):
    """A page whose nodes rules say something of.

    Args:
        rules: the rules.
        given: name and language, as `RDFPage` takes them.
    """

    def __init__(self, rules: RDFRules, file: BinaryIO, format_: Format, base: str, **given: Any) -> None:
        super().__init__(file, format_, base, catalogue=TaughtCatalogue(rules), **given)
        self.rules = rules
        self.mapped = self._mapped
        self.source = PREFIX + rules.name

    def _mapped(self, description: Graph, subject: str) -> tuple[Graph, Amend]:
        known = Translation(self.rules, description, subject, self.language)
        return known.graph, known.amend
