"""The nodes that refer to a node by some properties, in a graph of any size."""

from __future__ import annotations

from typing import TYPE_CHECKING

from crawlers.kinds.dcat.rules.paths import MOST
from crawlers.records.rdf.graphs import full_disk
from crawlers.safety import sqlite

if TYPE_CHECKING:
    from collections.abc import Iterator

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
        """Delete the temporary file."""
        self.db.close()
