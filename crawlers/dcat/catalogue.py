"""One answer's graph: which of its nodes are datasets, what belongs to each, and what it says of further pages."""

from __future__ import annotations

import sqlite3
from collections import deque
from typing import TYPE_CHECKING

from crawlers.dcat import paging
from crawlers.rdf.namespaces import DC, DCAT, DCT, FOAF, HYDRA, PROV, RDFS, SCHEMA, SCHEMA_HTTPS, SKOS, TYPE
from crawlers.rdf.nodes import Nodes, full_disk
from crawlers.rdf.terms import is_blank

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from crawlers.rdf.terms import Graph, Node, Term, Triple

TYPED, LISTED, MENTIONED, CATALOGUE, RECORD = 1, 2, 4, 8, 16

DATASETS = {DCAT + "Dataset", DCAT + "DatasetSeries"}
_OTHERS = {DCAT + name for name in ("Catalog", "CatalogRecord", "DataService", "Distribution")}
_LISTING = {DCAT + "dataset", DCAT + "seriesMember"}
_MENTIONING = {
    *(DCAT + name for name in ("servesDataset", "inSeries", "first", "last", "prev", "next", "hasVersion")),
    *(DCT + name for name in ("hasPart", "isPartOf", "relation", "source", "references", "isReferencedBy")),
    *(DCT + name for name in ("hasVersion", "isVersionOf", "replaces", "isReplacedBy", "requires", "isRequiredBy")),
    FOAF + "primaryTopic",
    PROV + "wasDerivedFrom",
}
_ROLES = dict.fromkeys(_LISTING, LISTED) | dict.fromkeys(_MENTIONING, MENTIONED)
_TELLING = {TYPE, *_ROLES, *paging.TELLING, *paging.TREES, DCAT + "catalog"}
_KINDS = dict.fromkeys(DATASETS, TYPED) | {DCAT + "Catalog": CATALOGUE, DCAT + "CatalogRecord": RECORD}
_CONTENTS = {DCAT + name for name in ("dataset", "catalog", "record")}
_MOST_PAGING = 1000
_MOST_PAGES = 20_000  # of TREE, that one page names
_TITLES = {DCT + "title", DC + "title", RDFS + "label", SKOS + "prefLabel", SCHEMA + "name", SCHEMA_HTTPS + "name"}
_THIN = {TYPE, DCT + "identifier", DC + "identifier"}
"""All that is said of a dataset where another only mentions it; and perhaps its title."""

# What a description does not follow: thesauri have no end, and what a dataset is part of is not part of it.
_BEYOND = (_MENTIONING - {DCT + "hasPart"}) | {
    SKOS + name for name in ("broader", "narrower", "related", "hasTopConcept", "topConceptOf", "member", "memberList")
}
MOST_NODES = 50_000
"""Of one description; the largest dataset met has 8,327 resources."""
MOST_TEXT = 16 << 20
"""Characters of the nodes of one description, besides the dataset's own."""
SHARED, TIMES = 64 << 20, 20
"""Characters of all descriptions of a file: these, and so many times its bytes. Nodes that many share are repeated."""
_LITTLE = 64 << 10  # characters of each further description
_FARTHEST = 4  # named nodes from the dataset: distribution, service, agent, its organisation
_MOST_NEIGHBOURS = 100  # named ones of a named node; one that has more is a hub, which no dataset is described by

_SCHEMA = """
PRAGMA journal_mode = OFF;
CREATE TABLE roles (id INTEGER PRIMARY KEY, subject TEXT UNIQUE, roles INTEGER);
CREATE TABLE ids (id TEXT PRIMARY KEY) WITHOUT ROWID;
CREATE TABLE undescribed (id INTEGER PRIMARY KEY, subject TEXT UNIQUE);
"""
_NOTE = "INSERT INTO roles (subject, roles) VALUES (?, ?) ON CONFLICT DO UPDATE SET roles = roles | excluded.roles"
_BATCH = 10_000


class Catalogue:
    """Filled by `read`, then asked.

    Attributes:
        paging: the statements about further pages, a thousand at most.
        pages: further pages by TREE, each once.
        parts: the catalogues that are listed as datasets.
        is_paged_collection: whether there is Hydra's old PagedCollection, which is ckanext-dcat's.
        is_catalogue: whether there is a dcat:Catalog.
        lists: whether it says which its datasets are.
        begun: the dataset of which the last ``rdf:type`` was read.
        budget: characters that all descriptions may have together; beyond it long nodes are named and not repeated.
    """

    def __init__(self) -> None:
        self.nodes = Nodes()
        self.paging: list[Triple] = []
        self.pages: dict[str, None] = {}
        self.is_paged_collection = False
        self.parts: list[str] = []
        self.is_catalogue = False
        self.lists = False
        self.begun = ""
        self.budget = SHARED
        self.roles: dict[str, int] = {}
        self.db = sqlite3.connect("", isolation_level=None)  # a temporary file, once it is large
        self.db.executescript(_SCHEMA)

    def read(self, triples: Iterable[Triple]) -> Iterator[None]:
        """Takes the triples in; stops after some, so that something else may be done meanwhile."""
        for subject, predicate, value in self.nodes.add(triples, _TELLING):
            if predicate == TYPE:
                self._typed(subject, value)
            elif predicate in _ROLES:
                if type(value) is str:
                    self._note(value, _ROLES[predicate])
                self.lists |= predicate == DCAT + "dataset"
            elif predicate == DCAT + "catalog":
                self._note(subject, CATALOGUE)
            elif predicate in paging.TREES:
                self._page(value)
            elif len(self.paging) < _MOST_PAGING:
                self.paging.append((subject, predicate, value))
            yield
        self.nodes.filled()
        self._flush()
        self.is_catalogue |= self.lists

    def _typed(self, subject: str, value: object) -> None:
        role = _KINDS.get(str(value))
        if role is not None:
            self._note(subject, role)
        if role == TYPED:
            self.begun = subject
        self.is_catalogue |= role == CATALOGUE
        self.is_paged_collection |= value == HYDRA + "PagedCollection"

    def _page(self, value: Term) -> None:
        if len(self.pages) < _MOST_PAGES:
            self.pages[value if isinstance(value, str) else value.value] = None

    def _note(self, subject: str, role: int) -> None:
        self.roles[subject] = self.roles.get(subject, 0) | role
        if len(self.roles) >= _BATCH:
            self._flush()

    def _flush(self) -> None:
        with full_disk():
            self.db.execute("BEGIN")
            self.db.executemany(_NOTE, self.roles.items())
            self.db.execute("COMMIT")
        self.roles = {}

    def datasets(self) -> Iterator[str]:
        """The nodes that are datasets, each once, in the order in which they are first named.

        Raises:
            OSError: the disk is full.
        """
        query = "SELECT subject, roles FROM roles WHERE roles & ? ORDER BY id"
        for subject, roles in self.db.execute(query, (TYPED | LISTED,)):
            node = self.nodes.node(subject)
            if self._is_dataset(node, roles):
                yield subject
            elif roles & LISTED and DCAT + "Catalog" in node.get(TYPE, ()):
                self.parts.append(subject)
            elif roles & LISTED and _says_nothing(node):
                with full_disk():
                    self.db.execute("INSERT OR IGNORE INTO undescribed (subject) VALUES (?)", (subject,))

    def undescribed(self) -> Iterator[str]:
        """What is listed as a dataset, and of which nothing is said here; known when all of `datasets` have come."""
        yield from (subject for (subject,) in self.db.execute("SELECT subject FROM undescribed ORDER BY id"))
        yield from self._topics()

    def _topics(self) -> Iterator[str]:
        """The records of the catalogue, and their topics, of which nothing is said here."""
        for subject in self._of_role(CATALOGUE):
            yield from filter(self._is_only_named, self.nodes.node(subject).get(DCAT + "record", ()))
        for subject in self._of_role(RECORD):
            yield from filter(self._is_only_named, self.nodes.node(subject).get(FOAF + "primaryTopic", ()))

    def catalogues(self) -> Iterator[str]:
        """The catalogues that are parts of this one, and whose contents are not here; after all `datasets`."""
        yield from (part for part in self.parts if _CONTENTS.isdisjoint(self.nodes.node(part)))
        for subject in self._of_role(CATALOGUE):
            node = self.nodes.node(subject)
            parts = (*node.get(DCAT + "catalog", ()), *filter(self._is_catalogue, node.get(DCT + "hasPart", ())))
            for part in dict.fromkeys(parts):
                if isinstance(part, str) and not is_blank(part) and _CONTENTS.isdisjoint(self.nodes.node(part)):
                    yield part

    def is_described(self, subject: str) -> bool:
        return not _says_nothing(self.nodes.node(subject))

    def _of_role(self, role: int) -> Iterator[str]:
        query = "SELECT subject FROM roles WHERE roles & ? ORDER BY id"
        return (subject for (subject,) in self.db.execute(query, (role,)))

    def _is_only_named(self, term: Term) -> bool:
        return isinstance(term, str) and not is_blank(term) and not self.is_described(term)

    def _is_catalogue(self, term: Term) -> bool:
        """Whether a part of a catalogue is one, as far as is known here."""
        if not isinstance(term, str):
            return False
        types = self.nodes.node(term).get(TYPE, ())
        row = self.db.execute("SELECT roles FROM roles WHERE subject = ?", (term,)).fetchone()
        return DCAT + "Catalog" in types or not (types or (row and row[0] & (TYPED | LISTED)))

    def _is_dataset(self, node: Node, roles: int) -> bool:
        if _says_nothing(node):
            return False
        if not roles & TYPED:
            return _OTHERS.isdisjoint(node.get(TYPE, ()))
        if DCAT + "dataset" in node and DCAT + "Catalog" in node[TYPE]:
            return False
        return bool(roles & LISTED) or not (roles & MENTIONED and self._is_stub(node))

    def _is_stub(self, node: Node) -> bool:
        """A title makes it a dataset where no catalogue says which the datasets are."""
        return node.keys() <= (_THIN | _TITLES if self.lists else _THIN)

    def is_first(self, identifier: str) -> bool:
        """Whether no dataset of this graph had that id before.

        Raises:
            OSError: the disk is full.
        """
        with full_disk():
            return self.db.execute("INSERT OR IGNORE INTO ids VALUES (?)", (identifier,)).rowcount == 1

    def description(self, subject: str) -> tuple[Graph, bool]:
        """The dataset's node and what belongs to it, and whether that is all.

        `MOST_NODES` are taken at most, and a node whose text does not fit into what is left is named only.
        """
        found: Graph = {}
        room, whole = (MOST_TEXT if self.budget > 0 else _LITTLE), True
        waiting = deque([(subject, 0)])
        while waiting:
            current, distance = waiting.popleft()
            if current in found:
                continue
            node = self.nodes.node(current)
            if not node or (found and self._is_another(current, node)):
                continue
            if len(found) >= MOST_NODES:
                return found, False
            length = _length(node)
            if found and length > room:
                whole = False
                continue
            room -= length if found else 0
            self.budget -= length
            found[current] = node
            waiting.extend(_further(node, distance))
        return found, whole

    def _is_another(self, subject: str, node: Node) -> bool:
        """Whether it is a dataset or catalogue of its own."""
        types = node.get(TYPE)
        if types:
            return any(one in DATASETS or one == DCAT + "Catalog" or one == DCAT + "CatalogRecord" for one in types)
        row = self.db.execute("SELECT roles FROM roles WHERE subject = ?", (subject,)).fetchone()
        return bool(row and row[0] & LISTED)

    def close(self) -> None:
        self.nodes.close()
        self.db.close()


def _further(node: Node, distance: int) -> Iterator[tuple[str, int]]:
    named: list[str] = []
    for predicate, values in node.items():
        if predicate == TYPE or predicate in _BEYOND:
            continue
        for value in values:
            if type(value) is str:
                if value.startswith("_:"):
                    yield value, distance
                else:
                    named.append(value)
    if distance < _FARTHEST and (not distance or len(named) <= _MOST_NEIGHBOURS):
        yield from ((value, distance + 1) for value in named)


def _length(node: Node) -> int:
    """How long all that is said of a node is, in characters."""
    return sum(len(value if type(value) is str else value[0]) for values in node.values() for value in values)


def _says_nothing(node: Node) -> bool:
    return all(predicate == TYPE for predicate in node)
