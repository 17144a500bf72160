"""IRIs that any RDF parser accepts, and generated ones for nodes without an IRI."""

from __future__ import annotations

import re
import sqlite3
from typing import TYPE_CHECKING, Self
from urllib.parse import quote, urlsplit
from uuid import NAMESPACE_URL, uuid5

from pyoxigraph import NamedNode

from crawlers.exceptions import ExportError
from crawlers.records.rdf.dcat_context import NAMES
from crawlers.safety import sqlite

if TYPE_CHECKING:
    from crawlers.items import Dataset

_UNFIT = re.compile('[\x00-\x20\x7f-\xa0<>"{}|\\\\^`\ud800-\udfff\ufdd0-\ufdef\ufff0-\uffff]|%(?![0-9A-Fa-f]{2})')


def iri(text: str | None) -> str | None:
    """Return a text as an absolute IRI with invalid characters percent-encoded; ``None`` if it is not one.

    A text that begins with a prefix of the exports is refused too: JSON-LD would take ``dct:a`` for a property.

    >>> iri("http://a.org/50%/{x} y"), iri("http://a.org/é")
    ('http://a.org/50%25/%7Bx%7D%20y', 'http://a.org/é')
    >>> iri("http://[a/"), iri("data/1"), iri("dct:a"), iri(None)
    (None, None, None, None)
    """
    written = _UNFIT.sub(lambda found: quote(found[0], safe="", errors="replace"), (text or "").strip())
    before, sharp, fragment = written.partition("#")
    written = before + sharp + fragment.replace("#", "%23")
    try:
        NamedNode(written)
    except ValueError:
        return None
    return None if before.partition(":")[0] in NAMES else written


def minted(*names: str) -> str:
    """Return the IRI of a node that has none of its own; it is the same in every export.

    >>> minted("hdx", "a") == minted("hdx", "a") != minted("hd", "xa")
    True
    """
    return uuid5(NAMESPACE_URL, "\n".join(names).encode(errors="replace").decode()).urn


def host(dataset: Dataset) -> str:
    """Return the host that a dataset came from, else its source."""
    return urlsplit(iri(dataset.metadata_url) or "").hostname or dataset.source


_SCHEMA = """
CREATE TABLE taken (iri TEXT PRIMARY KEY, owner TEXT) WITHOUT ROWID;
CREATE TABLE described (what TEXT PRIMARY KEY, said TEXT, owner TEXT) WITHOUT ROWID;
"""


class Taken:
    """The IRIs that an export uses, in a file: two datasets with the same IRI would become one."""

    def __init__(self) -> None:
        self.db = sqlite.temporary(_SCHEMA)

    def __enter__(self) -> Self:
        self.db.execute("BEGIN")
        return self

    def __exit__(self, *_: object) -> None:
        self.db.close()

    def first(self, wanted: str | None, otherwise: str, owner: str | None = None) -> str:
        """Return the wanted IRI unless it is in use; else the other.

        Args:
            owner: who may use an IRI several times: a source that says that two datasets have one file.
        """
        if wanted and (self._take(wanted, owner) or self._is_owners(wanted, owner)):
            return wanted
        self._take(otherwise, owner)
        return otherwise

    def take(self, name: str) -> bool:
        """Return whether a name was free; it is in use then."""
        return self._take(name, None)

    def _take(self, name: str, owner: str | None) -> bool:
        return self._is_new("INSERT OR IGNORE INTO taken VALUES (?, ?)", name, owner)

    def _is_owners(self, name: str, owner: str | None) -> bool:
        found = self.db.execute("SELECT owner FROM taken WHERE iri = ?", (name,)).fetchone()
        return bool(owner) and found == (owner,)

    def has(self, name: str) -> bool:
        """Return whether an IRI is in use."""
        return self.db.execute("SELECT 1 FROM taken WHERE iri = ?", (name,)).fetchone() is not None

    def agrees(self, what: str, said: str, owner: str | None) -> bool:
        """Return whether what is said of something is what was said of it first.

        Args:
            owner: who may say several things of it: a source whose datasets have one graph.
        """
        self._is_new("INSERT OR IGNORE INTO described VALUES (?, ?, ?)", what, said, owner)
        first = self.db.execute("SELECT said, owner FROM described WHERE what = ?", (what,)).fetchone()
        return first[0] == said or (bool(owner) and first[1] == owner)

    def _is_new(self, statement: str, *values: str | None) -> bool:
        try:
            return self.db.execute(statement, values).rowcount == 1
        except sqlite3.OperationalError as error:
            raise ExportError(f"a temporary file can't be written: {error}.") from None
