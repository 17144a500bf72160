"""The graph of one answer: which of its nodes are datasets, which it only names, and which are further catalogues."""

from __future__ import annotations

import re
from itertools import islice
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from crawlers.kinds.dcat.description import OTHER_DATASETS, Descriptions
from crawlers.kinds.dcat.paging import PREDICATES, Paging
from crawlers.records.rdf import formats
from crawlers.records.rdf.graphs import Nodes, full_disk
from crawlers.records.rdf.terms import DC, DCAT, DCT, FOAF, HYDRA, RDFS, SCHEMA, SCHEMA_HTTPS, SKOS, TYPE, is_blank
from crawlers.safety import sqlite

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from crawlers.records.rdf.apart import ReaderApart
    from crawlers.records.rdf.reader import Reader
    from crawlers.records.rdf.terms import Graph, Node, Term, Triple

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
        """Add a role to those that a node has."""
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
        """Return whether a node has one of the roles."""
        row = self.db.execute("SELECT roles FROM roles WHERE subject = ?", (subject,)).fetchone()
        return bool(row and row[0] & roles)

    def add_undescribed(self, subject: str) -> None:
        """Remember a dataset that is listed and not described."""
        with full_disk():
            self.db.execute("INSERT OR IGNORE INTO undescribed (subject) VALUES (?)", (subject,))

    def undescribed(self) -> Iterator[str]:
        """Yield the datasets that are listed and not described."""
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
            described = (part for part in node.get(DCT + "hasPart", ()) if self._has_type(part, DCAT + "Catalog"))
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

    def _has_type(self, term: Term, type_: str) -> bool:
        return isinstance(term, str) and type_ in self.nodes.node(term).get(TYPE, ())

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
        """Release the temporary files."""
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
