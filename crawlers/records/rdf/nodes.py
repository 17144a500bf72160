"""A graph of any size, in memory while it is small, and in a temporary file when it is large."""

from __future__ import annotations

import errno
import marshal
import sqlite3
from contextlib import contextmanager
from typing import TYPE_CHECKING

from crawlers.records.rdf.terms import Literal
from crawlers.safety import sqlite
from crawlers.safety.bounds import STATEMENTS

if TYPE_CHECKING:
    from collections.abc import Container, Iterable, Iterator

    from crawlers.records.rdf.terms import Graph, Node, Triple

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
