"""Relations to other things, as catalogues write them: an address, an identifier or a title."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from crawlers.items import Relation
from crawlers.records import values

if TYPE_CHECKING:
    from collections.abc import Iterable

_WITH_ADDRESS = re.compile(r"(https?://\S+)|(10\.[0-9]{4,9}/\S+)|(urn:[A-Za-z0-9-]{2,32}:\S+)")


def relation(text: str, role: str = "relation", title: str | None = None) -> Relation | None:
    """Return the relation that a text names: by its address, a DOI or a URN, else in words.

    >>> relation("https://example.org/a", "source"), relation("10.5072/x").uri, relation("The census").title
    (Relation(role='source', uri='https://example.org/a', title=None), 'https://doi.org/10.5072/x', 'The census')
    """
    written = values.text(text)
    if not written:
        return Relation(role=role, title=title) if title else None
    found = _WITH_ADDRESS.fullmatch(written)
    if not found:
        return Relation(role=role, title=title or written)
    return Relation(role=role, uri=f"https://doi.org/{found[2]}" if found[2] else written, title=title)


def relations(texts: Iterable[str], role: str = "relation") -> list[Relation]:
    """Return the relations that texts name."""
    return [found for text in texts if (found := relation(text, role))]
