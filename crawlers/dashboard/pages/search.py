"""What datasets there are: those that a few words find, or the latest."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from flask import request

from crawlers.dashboard import parameters
from crawlers.dashboard.marked import marked
from crawlers.dashboard.paging import Paging
from crawlers.index.search import search
from crawlers.report.text import cut

if TYPE_CHECKING:
    import sqlite3

    from crawlers.dashboard.site import Site

SIZE = 20
Row = dict[str, Any]
_ONE = """
    SELECT source, dataset_id, title, name, description, publisher, formats, license, withdrawn,
        coalesce(data_modified, modified, issued) AS modified
    FROM datasets WHERE source = ? AND dataset_id = ?
"""
_COUNT = "SELECT count(*) FROM datasets WHERE NOT withdrawn AND (:source = '' OR source = :source)"
_LATEST = """
    SELECT source, dataset_id FROM datasets WHERE NOT withdrawn AND (:source = '' OR source = :source)
    ORDER BY coalesce(data_modified, modified, issued) DESC, source, dataset_id LIMIT :limit OFFSET :offset
"""


def page(site: Site) -> str:
    query, source = parameters.text(request.args, "q"), parameters.text(request.args, "source")
    number = parameters.page(request.args)
    with site.index() as db:
        sources = site.sources(db)
        total, rows, more = (_found if query else _latest)(db, query, source, (number - 1) * SIZE)
    return site.render(
        "search.html",
        page="search",
        query=query,
        source=source,
        sources=sources,
        rows=rows,
        first=(number - 1) * SIZE + 1,
        total=total,
        paging=Paging("/search", {"q": query, "source": source}, number, more),
    )


def _found(db: sqlite3.Connection, query: str, source: str, offset: int) -> tuple[str, list[Row], bool]:
    """How many there are, in words; those of this page; whether more follow."""
    results = search(db, query, source=source or None, limit=SIZE, offset=offset)
    rows = [_row(db, found.source, found.dataset_id) for found in results.rows]
    for row, found in zip(rows, results.rows, strict=True):
        row["about"] = marked(found.snippet, query)
    return _counted(results.total), rows, results.total > offset + SIZE


def _latest(db: sqlite3.Connection, _: str, source: str, offset: int) -> tuple[str, list[Row], bool]:
    words = {"source": source, "limit": SIZE, "offset": offset}
    total = db.execute(_COUNT, words).fetchone()[0]
    rows = [_row(db, *key) for key in db.execute(_LATEST, words)]
    return f"{_counted(total)}, the latest first", rows, total > offset + SIZE


def _row(db: sqlite3.Connection, source: str, dataset_id: str) -> Row:
    row = dict(db.execute(_ONE, (source, dataset_id)).fetchone())
    row["formats"] = [str(one)[:20] for one in json.loads(row["formats"] or "[]")[:8]]
    row["about"] = [(cut(row["description"], 220), False)]
    return row


def _counted(total: int) -> str:
    return "1 dataset" if total == 1 else f"{total:,} datasets"
