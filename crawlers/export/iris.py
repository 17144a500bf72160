"""IRIs that any RDF parser takes, and one for whatever has none."""

from __future__ import annotations

import re
import sqlite3
from typing import Self
from urllib.parse import quote
from uuid import NAMESPACE_URL, uuid5

from pyoxigraph import NamedNode

from crawlers.exceptions import ExportError
from crawlers.mapping.dcat.context import NAMES

_UNFIT = re.compile('[\x00-\x20\x7f-\xa0<>"{}|\\\\^`\ud800-\udfff\ufdd0-\ufdef\ufff0-\uffff]|%(?![0-9A-Fa-f]{2})')


def iri(text: str | None) -> str | None:
    """The text as an absolute IRI, what may not stand in one percent-encoded; ``None`` when it can't be one.

    What begins with a prefix of the exports' own is none either: JSON-LD would take ``dct:a`` for a property.

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
    """The IRI of what has no IRI of its own, the same in every export.

    >>> minted("hdx", "a") == minted("hdx", "a") != minted("hd", "xa")
    True
    """
    return uuid5(NAMESPACE_URL, "\n".join(names).encode(errors="replace").decode()).urn


class Taken:
    """The IRIs that an export has given away: two datasets under one IRI would become one. In a file, not in memory."""

    def __init__(self) -> None:
        self.db = sqlite3.connect("", isolation_level=None)  # a temporary file, removed when it is closed
        self.db.execute("PRAGMA journal_mode = OFF")
        self.db.execute("CREATE TABLE taken (iri TEXT PRIMARY KEY) WITHOUT ROWID")

    def __enter__(self) -> Self:
        self.db.execute("BEGIN")
        return self

    def __exit__(self, *_: object) -> None:
        self.db.close()

    def first(self, wanted: str | None, otherwise: str) -> str:
        """The IRI that is wanted, unless it is given away already."""
        if wanted and self._take(wanted):
            return wanted
        self._take(otherwise)
        return otherwise

    def _take(self, candidate: str) -> bool:
        try:
            return self.db.execute("INSERT OR IGNORE INTO taken VALUES (?)", (candidate,)).rowcount == 1
        except sqlite3.OperationalError as error:
            raise ExportError(f"a temporary file can't be written: {error}.") from None
