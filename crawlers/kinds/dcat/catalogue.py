"""The graph of one answer: which of its nodes are datasets, and the description of each.

A graph may also only name datasets, and name further catalogues.
"""

from __future__ import annotations

import re
from collections import deque
from itertools import islice
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from crawlers.kinds.dcat.paging import PREDICATES, Paging
from crawlers.records.rdf import formats
from crawlers.records.rdf.graphs import Nodes, full_disk
from crawlers.records.rdf.terms import (
    DC,
    DCAT,
    DCT,
    FOAF,
    HYDRA,
    PROV,
    RDFS,
    SCHEMA,
    SCHEMA_HTTPS,
    SEPARATE,
    SKOS,
    TYPE,
    is_blank,
)
from crawlers.safety import bounds, sqlite

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from crawlers.records.rdf.apart import ReaderApart
    from crawlers.records.rdf.reader import Reader
    from crawlers.records.rdf.terms import Graph, Node, Term, Triple

OTHER_DATASETS = {
    *(DCAT + name for name in ("servesDataset", "inSeries", "first", "last", "prev", "next", "hasVersion")),
    *(DCT + name for name in ("hasPart", "isPartOf", "relation", "source", "references", "isReferencedBy")),
    *(DCT + name for name in ("hasVersion", "isVersionOf", "replaces", "isReplacedBy", "requires", "isRequiredBy")),
    FOAF + "primaryTopic",
    PROV + "wasDerivedFrom",
}
"""Predicates whose values are often other datasets."""
TYPED, LISTED, MENTIONED, CATALOGUE, RECORD = 1, 2, 4, 8, 16
"""The roles of a node, as bits."""

_NO_DATASETS = {DCAT + name for name in ("Catalog", "CatalogRecord", "DataService", "Distribution")}
_ROLE_OF_VALUE = dict.fromkeys((DCAT + "dataset", DCAT + "seriesMember"), LISTED)
_ROLE_OF_VALUE |= dict.fromkeys(OTHER_DATASETS, MENTIONED)
ROLE_OF_TYPE = {
    DCAT + "Dataset": TYPED,
    DCAT + "DatasetSeries": TYPED,
    DCAT + "Catalog": CATALOGUE,
    DCAT + "CatalogRecord": RECORD,
}
"""The role that a class gives."""
NOTED = frozenset((TYPE, *_ROLE_OF_VALUE, *PREDICATES, DCAT + "catalog"))
"""The properties that say what role a node has, or something about pages."""
_CONTENTS = {DCAT + name for name in ("dataset", "catalog", "record")}
_SOME = 1000  # members of a list that are looked at, to see whether it is one of datasets
_LISTS = {DCAT + "Catalog", HYDRA + "Collection", HYDRA + "PagedCollection"}
_TITLES = {DCT + "title", DC + "title", RDFS + "label", SKOS + "prefLabel", SCHEMA + "name", SCHEMA_HTTPS + "name"}
_THIN = {TYPE, DCT + "identifier", DC + "identifier"}
"""What a graph says of a dataset that it only mentions; and perhaps its title."""
_OWN = {DCAT + "distribution", DCT + "description"}
"""What a graph says of a dataset of its own."""
_FILE = re.compile(r"[^/.]\.(?!(?:[a-z]?html?|php|aspx?|jspx?|cgi|do)$)[a-z][a-z0-9]{1,4}$", re.IGNORECASE)  # no page

_SCHEMA = """
CREATE TABLE roles (id INTEGER PRIMARY KEY, subject TEXT UNIQUE, roles INTEGER);
CREATE TABLE ids (id TEXT PRIMARY KEY) WITHOUT ROWID;
CREATE TABLE undescribed (id INTEGER PRIMARY KEY, subject TEXT UNIQUE);
"""
_NOTE = "INSERT INTO roles (subject, roles) VALUES (?, ?) ON CONFLICT DO UPDATE SET roles = roles | excluded.roles"
_BATCH = 10_000
_MANY = 50_000  # ids in memory


class Roles:
    """The roles of a graph's nodes, in the order in which they are first named; on disk when there are many.

    Raises:
        OSError: from any method that writes; the disk is full.
    """

    def __init__(self) -> None:
        self.new: dict[str, int] = {}
        self.ids: set[str] = set()
        self.has_stored_ids = False
        self.db = sqlite.temporary(_SCHEMA)

    def add(self, subject: str, role: int) -> None:
        self.new[subject] = self.new.get(subject, 0) | role
        if len(self.new) >= _BATCH:
            self.flush()

    def flush(self) -> None:
        """Write what was added, before it is read."""
        with full_disk(), sqlite.transaction(self.db):
            self.db.executemany(_NOTE, self.new.items())
        self.new = {}

    def having(self, roles: int) -> Iterator[tuple[str, int]]:
        """Yield the nodes that have one of the roles, and all roles of each."""
        return self.db.execute("SELECT subject, roles FROM roles WHERE roles & ? ORDER BY id", (roles,))

    def has(self, subject: str, roles: int) -> bool:
        row = self.db.execute("SELECT roles FROM roles WHERE subject = ?", (subject,)).fetchone()
        return bool(row and row[0] & roles)

    def add_undescribed(self, subject: str) -> None:
        with full_disk():
            self.db.execute("INSERT OR IGNORE INTO undescribed (subject) VALUES (?)", (subject,))

    def undescribed(self) -> Iterator[str]:
        return (subject for (subject,) in self.db.execute("SELECT subject FROM undescribed ORDER BY id"))

    def add_id(self, identifier: str) -> bool:
        """Remember a dataset's id; return whether it is new."""
        if identifier in self.ids or (self.has_stored_ids and self._is_stored(identifier)):
            return False
        self.ids.add(identifier)
        if len(self.ids) >= _MANY:
            with full_disk():
                self.db.executemany("INSERT INTO ids VALUES (?)", [(each,) for each in self.ids])
            self.ids, self.has_stored_ids = set(), True
        return True

    def _is_stored(self, identifier: str) -> bool:
        return self.db.execute("SELECT 1 FROM ids WHERE id = ?", (identifier,)).fetchone() is not None


class Catalogue:
    """Reads a graph with `read`, and then answers questions about it.

    Attributes:
        paging: what the graph says about further pages.
        parts: the catalogues that are listed as datasets.
        is_catalogue: whether there is a dcat:Catalog.
        has_list: whether the graph says which nodes are its datasets.
        latest: the dataset whose ``rdf:type`` was read last.
        noted: the properties that `note` wants.
        role_of_type: the role that a class gives.
    """

    def __init__(self) -> None:
        self.nodes = Nodes()
        self.roles = Roles()
        self.descriptions = Descriptions(self.nodes, lambda subject: self.roles.has(subject, LISTED))
        self.paging = Paging()
        self.parts: list[str] = []
        self.is_catalogue = False
        self.has_list = False
        self.latest = ""
        self.noted = NOTED
        self.role_of_type = ROLE_OF_TYPE

    def read(self, reader: Reader | ReaderApart) -> Iterator[None]:
        """Read the triples; pause now and then, so that the caller can do something else meanwhile."""
        for batch in reader.batches():
            for triple in self.nodes.add(batch, self.noted):
                self.note(triple)
            yield
        self.nodes.filled()
        self.roles.flush()
        self.is_catalogue |= self.has_list
        self.paging.lists = set(filter(self._is_list, self.paging.counted()))

    def note(self, triple: Triple) -> None:
        """Take a statement that says what role a node has, or something about pages."""
        subject, predicate, value = triple
        if predicate == TYPE:
            self._add_type(subject, value)
        elif predicate in _ROLE_OF_VALUE:
            if type(value) is str:
                self.roles.add(value, _ROLE_OF_VALUE[predicate])
            self.has_list |= predicate == DCAT + "dataset"
        elif predicate == DCAT + "catalog":
            self.roles.add(subject, CATALOGUE)
        else:
            self.paging.add(triple)

    def _add_type(self, subject: str, value: object) -> None:
        role = self.role_of_type.get(str(value))
        if role is not None:
            self.roles.add(subject, role)
        if role == TYPED:
            self.latest = subject
        self.is_catalogue |= role == CATALOGUE
        self.paging.is_paged_collection |= value == HYDRA + "PagedCollection"

    def datasets(self) -> Iterator[str]:
        """Yield the nodes that are datasets, each once, in the order in which they are first named.

        Raises:
            OSError: the disk is full.
        """
        for subject, roles in self.roles.having(TYPED | LISTED):
            node = self.nodes.node(subject)
            if self.is_dataset(subject, node, roles):
                yield subject
            elif roles & LISTED and DCAT + "Catalog" in node.get(TYPE, ()):
                self.parts.append(subject)
            elif roles & LISTED and _is_empty(node):
                self.roles.add_undescribed(subject)

    def undescribed(self) -> Iterator[str]:
        """Yield what is listed as a dataset and not described; complete after the last of `datasets`."""
        yield from self.roles.undescribed()
        for role, predicate in ((CATALOGUE, DCAT + "record"), (RECORD, FOAF + "primaryTopic")):
            for subject, _ in self.roles.having(role):
                yield from filter(self._is_only_named, self.nodes.node(subject).get(predicate, ()))

    def catalogues(self) -> Iterator[str]:
        """Yield the catalogues that are parts of this one and whose contents are not here; after all `datasets`."""
        yield from self._elsewhere(self.parts)
        for subject, _ in self.roles.having(CATALOGUE):
            node = self.nodes.node(subject)
            parts = (part for part in node.get(DCT + "hasPart", ()) if isinstance(part, str))
            described = (part for part in parts if DCAT + "Catalog" in self.nodes.node(part).get(TYPE, ()))
            yield from self._elsewhere((*node.get(DCAT + "catalog", ()), *described))

    def unknown_parts(self) -> Iterator[str]:
        """Yield the parts of a catalogue of which nothing says what they are; a file of another format is none."""
        for subject, _ in self.roles.having(CATALOGUE):
            for part in self._elsewhere(self.nodes.node(subject).get(DCT + "hasPart", ())):
                is_known = TYPE in self.nodes.node(part) or self.roles.has(part, TYPED | LISTED)
                if not (is_known or is_other_file(part)):
                    yield part

    def is_mention(self, subject: str) -> bool:
        """Return whether a dataset is described in passing: the graph has a list of its datasets, without this one.

        Without a list, one that another dataset names, and of which no file and no description is told.
        """
        if self.roles.has(subject, LISTED):
            return False
        return self.has_list or (self.roles.has(subject, MENTIONED) and _OWN.isdisjoint(self.nodes.node(subject)))

    def is_described(self, subject: str) -> bool:
        """Return whether the graph says anything about a node besides its type."""
        return not _is_empty(self.nodes.node(subject))

    def description(self, subject: str) -> tuple[Graph, bool]:
        """Return the dataset's node and what belongs to it, and whether that is everything."""
        return self.descriptions.description(subject)

    def _is_list(self, subject: str) -> bool:
        """Return whether a node lists datasets here; where none does, if it is the only one of a class that may."""
        node = self.nodes.node(subject)
        members = node.get(DCAT + "dataset", node.get(HYDRA + "member"))
        if members is not None:
            return any(map(self._may_be_dataset, islice(members, _SOME)))
        is_only = len(self.paging.counted()) == 1 and not self.has_list
        return is_only and not _LISTS.isdisjoint(node.get(TYPE, ()))

    def _may_be_dataset(self, term: Term) -> bool:
        return isinstance(term, str) and (self.roles.has(term, TYPED | LISTED) or not self.nodes.node(term))

    def _is_only_named(self, term: Term) -> bool:
        return isinstance(term, str) and not is_blank(term) and not self.is_described(term)

    def _elsewhere(self, terms: Iterable[Term]) -> Iterator[str]:
        """Yield the catalogues among some terms that have names, and whose contents are not here."""
        for term in terms:
            if isinstance(term, str) and not is_blank(term) and _CONTENTS.isdisjoint(self.nodes.node(term)):
                yield term

    def is_dataset(self, subject: str, node: Node, roles: int) -> bool:
        """Return whether a node that has these roles is a dataset."""
        if _is_empty(node):
            return False
        if not roles & TYPED:
            return _NO_DATASETS.isdisjoint(node.get(TYPE, ()))
        if DCAT + "dataset" in node and DCAT + "Catalog" in node[TYPE]:
            return False
        return bool(roles & LISTED) or not (roles & MENTIONED and self._is_stub(node))

    def _is_stub(self, node: Node) -> bool:
        """Return whether a dataset is only mentioned; a title counts as more where no list says what is a dataset."""
        return node.keys() <= (_THIN | _TITLES if self.has_list else _THIN)

    def close(self) -> None:
        self.nodes.close()
        self.roles.db.close()


def is_other_file(address: str) -> bool:
    """Return whether an address has the suffix of a file that is no RDF.

    >>> [is_other_file(f"https://a.org/{name}") for name in ("report.pdf", "data.csv", "part", "c.ttl", "part.html")]
    [True, True, False, False, False]
    """
    return _FILE.search(urlsplit(address).path) is not None and formats.by_suffix(address) is None


def _is_empty(node: Node) -> bool:
    return all(predicate == TYPE for predicate in node)


# A description: the dataset's node, and the nodes of the graph that belong to it

_BEYOND = {  # thesauri never end; what a dataset is part of is not part of it
    *(
        SKOS + name
        for name in ("broader", "narrower", "related", "hasTopConcept", "topConceptOf", "member", "memberList")
    ),
    *(OTHER_DATASETS - {DCT + "hasPart"}),
    TYPE,
}
MAX_NODES = 50_000
"""Nodes of one description; the largest dataset met has 8,327 resources."""
MAX_TEXT = 16 << 20
"""Characters of the nodes of one description, besides the dataset's own."""
SHARED_TEXT, SHARED_FACTOR = 64 << 20, 20
"""Characters of all descriptions of a file: these, and 20 times its bytes. Nodes that datasets share are repeated."""
_LITTLE_TEXT = 64 << 10  # characters of each description beyond that
_MAX_DISTANCE = 4  # named nodes from the dataset: distribution, service, agent, its organisation
_RELATED = 3  # blank nodes in a row, of something that the dataset has to do with
_MAX_NEIGHBOURS = 100  # named ones of a named node; one that has more is a hub, which describes no dataset


class Descriptions:
    """Collects the descriptions of a graph's datasets, within bounds.

    Args:
        nodes: the graph.
        is_listed: whether a node without a type is listed as a dataset.

    Attributes:
        separate: the classes of nodes that have descriptions of their own.
        budget: the characters that all descriptions together may still have; beyond it, long nodes are only named.
    """

    def __init__(self, nodes: Nodes, is_listed: Callable[[str], bool]) -> None:
        self.nodes = nodes
        self.is_listed = is_listed
        self.separate = SEPARATE
        self.budget = SHARED_TEXT

    def description(self, subject: str, others: Iterable[str] = ()) -> tuple[Graph, bool]:
        """Return the dataset's node and what belongs to it or to the others, and whether that is everything.

        At most `MAX_NODES` and `bounds.STATEMENTS` are taken. A node with more statements or a longer text than what
        is left is only named.
        """
        found: Graph = {}
        room, values, is_everything = self.room(), bounds.STATEMENTS.most, True
        waiting, related = deque([(subject, 0), *((other, 1) for other in others)]), deque[tuple[str, int]]()
        while waiting or related:
            current, distance = (waiting or related).popleft()
            if current in found:
                continue
            node = self.nodes.node(current)
            if not node or (found and self._is_separate(current, node)):
                continue
            if len(found) >= MAX_NODES:
                return found, False
            neighbours, length, count = _neighbours(node, distance)
            values -= count
            if found and (length > room or values < 0):
                is_everything = False
                continue
            room -= length if found else 0
            self.budget -= length
            found[current] = node
            for each in neighbours:
                (related if each[1] > _MAX_DISTANCE else waiting).append(each)
        return found, is_everything

    def room(self) -> int:
        """Return how many characters the next description may have, besides the dataset's own."""
        return MAX_TEXT if self.budget > 0 else _LITTLE_TEXT

    def _is_separate(self, subject: str, node: Node) -> bool:
        """Return whether a node is a dataset or a catalogue of its own."""
        types = node.get(TYPE)
        return not self.separate.isdisjoint(types) if types else self.is_listed(subject)


def _neighbours(node: Node, distance: int) -> tuple[list[tuple[str, int]], int, int]:
    """Return the nodes that may belong to a node, each with its distance; how many characters and values it has."""
    blanks: list[tuple[str, int]] = []
    named: list[tuple[str, int]] = []
    length = count = 0
    for predicate, values in node.items():
        count += len(values)
        leads_on = predicate not in _BEYOND
        for value in values:
            if type(value) is not str:
                length += len(value[0])
                continue
            length += len(value)
            if value[:2] != "_:":
                named += [(value, distance + 1)] if leads_on else []
            elif leads_on:
                blanks.append((value, distance + (distance > _MAX_DISTANCE)))
            elif predicate in OTHER_DATASETS:
                blanks.append((value, max(distance, _MAX_DISTANCE) + 1))
    if distance > _MAX_DISTANCE + _RELATED:
        return [], length, count
    if distance >= _MAX_DISTANCE or (distance and len(named) > _MAX_NEIGHBOURS):
        return blanks, length, count
    return blanks + named, length, count
