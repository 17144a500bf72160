"""A graph of any size: what is said of each subject, in memory while it is small and in a temporary file beyond."""

from __future__ import annotations

import errno
import marshal
import sqlite3
from sys import intern
from typing import TYPE_CHECKING

from crawlers.rdf.terms import Literal

if TYPE_CHECKING:
    from collections.abc import Container, Iterable, Iterator

    from crawlers.rdf.terms import Node, Term, Triple

MOST_HELD = 600_000  # triples in memory, some 200 MB
_SCHEMA = """
PRAGMA journal_mode = OFF;
PRAGMA synchronous = OFF;
PRAGMA cache_size = -65536;
CREATE TABLE nodes (subject TEXT NOT NULL, said BLOB NOT NULL);
"""
_FEW = 200
_KEPT = 4096  # nodes that many datasets share: publishers, licences, themes

Said = list[tuple[str, "Term"]]


class Nodes:
    """Filled by `add`, then read by `node`: in that order."""

    def __init__(self) -> None:
        self.held: dict[str, Said] = {}
        self.db: sqlite3.Connection | None = None
        self.kept: dict[str, Node] = {}

    def add(self, triples: Iterable[Triple], telling: Container[str]) -> Iterator[Triple]:
        """Takes the triples in, and hands on those of the telling predicates.

        Raises:
            OSError: the disk is full.
        """
        held = self.held
        for count, triple in enumerate(triples, 1):
            subject, predicate, value = triple
            predicate = intern(predicate)
            if type(value) is str:
                value = intern(value)
            said = held.get(subject)
            if said is None:
                held[subject] = said = []
            said.append((predicate, value))
            if not count % MOST_HELD:
                self._spill()
                held = self.held
            if predicate in telling:
                yield triple

    def _spill(self) -> None:
        if self.db is None:
            self.db = sqlite3.connect("", isolation_level=None)  # SQLite's own temporary file, gone with the process
            self.db.executescript(_SCHEMA)
        rows = ((subject, marshal.dumps([_plain(one) for one in said])) for subject, said in self.held.items())
        try:
            self.db.execute("BEGIN")
            self.db.executemany("INSERT INTO nodes VALUES (?, ?)", rows)
            self.db.execute("COMMIT")
        except sqlite3.OperationalError as error:
            raise OSError(errno.ENOSPC, f"the temporary file of a large graph can't be written: {error}") from None
        self.held = {}

    def filled(self) -> None:
        """Nothing more is to come."""
        if self.db is not None:
            self._spill()
            self.db.execute("CREATE INDEX subjects ON nodes (subject)")

    def node(self, subject: str) -> Node:
        """What is said of the subject; nothing when the graph does not describe it."""
        found = self.kept.get(subject)
        if found is None:
            found = _node(self._said(subject))
            if not subject.startswith("_:"):
                if len(self.kept) >= _KEPT:
                    self.kept.clear()
                self.kept[subject] = found
        return found

    def _said(self, subject: str) -> Said:
        if self.db is None:
            return self.held.get(subject, [])
        rows = self.db.execute("SELECT said FROM nodes WHERE subject = ? ORDER BY rowid", (subject,))
        stored = (marshal.loads(said) for (said,) in rows)  # noqa: S302  # our own file, which nobody else can open
        return [(predicate, _term(value)) for said in stored for predicate, value in said]

    def close(self) -> None:
        if self.db is not None:
            self.db.close()


def _node(said: Said) -> Node:
    """A stream may repeat triples; few are told apart fastest by looking."""
    node: Node = {}
    for predicate, value in said if len(said) < _FEW else dict.fromkeys(said):
        values = node.get(predicate)
        if values is None:
            node[predicate] = [value]
        elif len(said) >= _FEW or value not in values:
            values.append(value)
    return node


def _plain(one: tuple[str, Term]) -> tuple[str, str | tuple[str | None, ...]]:
    predicate, value = one
    return predicate, value if type(value) is str else tuple(value)


def _term(value: str | tuple[str, str | None, str | None]) -> Term:
    return value if type(value) is str else Literal._make(value)
