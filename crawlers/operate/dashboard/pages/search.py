"""The datasets that have some words, or else the latest."""

from __future__ import annotations

import re
import unicodedata
from typing import TYPE_CHECKING, Any

from flask import request

from crawlers.operate.dashboard import parameters
from crawlers.operate.dashboard.parameters import Paging
from crawlers.store.figures.formatting import counted
from crawlers.store.index.search import UNSPACED, newest, search

if TYPE_CHECKING:
    import sqlite3

    from crawlers.operate.dashboard.site import Site
    from crawlers.store.index.search import Found


_WORD = re.compile(rf"[{UNSPACED}]+|[^\W{UNSPACED}]+")
_INNER = re.compile(f"[{UNSPACED}]")
_LONGEST = 100  # characters of a word


def marked(text: str, query: str) -> list[tuple[str, bool]]:
    """Return the parts of a text in order, each with whether a word of the query begins it.

    >>> marked("Extent of the floods", "flood*")
    [('Extent of the ', False), ('floods', True)]
    >>> marked("Río Grande", "rio")
    [('Río', True), (' Grande', False)]
    >>> marked("2024年洪水数据", "数据")
    [('2024年洪水', False), ('数据', True)]
    """
    sought = [word for word in _WORD.findall(query) if len(word) <= _LONGEST]
    inner = re.compile("|".join(map(re.escape, filter(_INNER.match, sought))) or "(?!)")
    begun = tuple(_folded(word) for word in sought if not _INNER.match(word))
    parts, at = [], 0
    for word in _WORD.finditer(text):
        spans = [(word.start(), word.end())] if begun and _folded(word[0]).startswith(begun) else []
        spans += [found.span() for found in inner.finditer(text, *word.span())]
        for start, end in spans:
            parts += [(text[at:start], False), (text[start:end], True)]
            at = end
    return [part for part in (*parts, (text[at:], False)) if part[0]]


def _folded(word: str) -> str:
    bare = unicodedata.normalize("NFKD", word)
    return "".join(letter for letter in bare if not unicodedata.combining(letter)).casefold()


SIZE = 20
Row = dict[str, Any]
_ONE = """
    SELECT source, dataset_id, title, name, description, publisher, formats, license, withdrawn,
        coalesce(data_modified, modified, issued) AS modified
    FROM datasets WHERE source = ? AND dataset_id = ?
"""


def page(site: Site) -> str:
    """Return the page of a search."""
    query, source = parameters.text(request.args, "q"), parameters.text(request.args, "source")
    number = parameters.page(request.args)
    with site.index() as db:
        sources = site.sources(db)
        wanted: dict[str, Any] = {"source": source or None, "limit": SIZE, "offset": (number - 1) * SIZE}
        found = search(db, query, **wanted) if query else newest(db, **wanted)
        rows = [_row(db, one, query) for one in found.rows]
    return site.render(
        "search.html",
        page="search",
        query=query,
        source=source,
        sources=sources,
        rows=rows,
        first=(number - 1) * SIZE + 1,
        total=f"{counted(found.total, 'dataset')}{'' if query else ', newest first'}",
        paging=Paging("/search", {"q": query, "source": source}, number, found.total > number * SIZE),
    )


def _row(db: sqlite3.Connection, found: Found, query: str) -> Row:
    row = dict(db.execute(_ONE, (found.source, found.dataset_id)).fetchone())
    row["formats"] = [str(name)[:20] for name in found.formats[:8]]
    row["about"] = marked(found.snippet, query)
    return row
