"""The datasets: all of them, one, and those that have some words."""

from __future__ import annotations

import json
from types import SimpleNamespace
from typing import Any

from flask import abort
from werkzeug.exceptions import BadRequest

from crawlers.operate.dashboard.api.answers import (
    Change,
    Dataset,
    Datasets,
    DatasetSummary,
    Found,
    FoundDataset,
    Resource,
)
from crawlers.operate.dashboard.api.questions import (
    DatasetsPage,
    OneDataset,
    SearchPage,
    cursor,
    next_page,
    position,
)
from crawlers.operate.dashboard.api.sources import check, names_of
from crawlers.operate.dashboard.site import Site
from crawlers.safety.redact import one_line, redact
from crawlers.store.index.columns import LISTS
from crawlers.store.index.search import search as find

_DEEPEST = 2000
"""Datasets of a search that its pages lead to: relevance has no order in which a page could begin at any row."""
_PAGE = """
    SELECT source, dataset_id, title, name, publisher, coalesce(data_modified, modified, issued) AS modified,
        formats, file, withdrawn
    FROM datasets WHERE (source, dataset_id) > (:after_source, :after_id) {only}{current}
    ORDER BY source, dataset_id LIMIT :limit
"""
_DATASET = "SELECT * FROM datasets WHERE source = ? AND dataset_id = ?"
_RESOURCES = "SELECT * FROM resources WHERE source = ? AND dataset_id = ? ORDER BY position LIMIT 1000"
_CHANGES = "SELECT time, status, run FROM changes WHERE source = ? AND dataset_id = ? ORDER BY time DESC LIMIT 1000"
_OF_ADDRESSES = ("documentation", "sample", "relations", "services")
_ADDRESSES = ("metadata_url", "landing_page", "url")


def datasets(site: Site, asked: DatasetsPage) -> Datasets:
    """List the datasets, by source and id."""
    after_source, after_id = position(asked.after, tuple[str, str]) if asked.after else (asked.source or "", "")
    query = _PAGE.format(
        only="AND source = :source" if asked.source else "", current="" if asked.withdrawn else " AND NOT withdrawn"
    )
    words = {"source": asked.source or None, "after_source": after_source, "after_id": after_id}
    with site.index() as db:
        if asked.source:
            check(asked.source, names_of(site, db))
        rows = db.execute(query, words | {"limit": asked.limit + 1}).fetchall()
    shown = [DatasetSummary.from_fields(_read(dict(row))) for row in rows[: asked.limit]]
    more = cursor(shown[-1].source, shown[-1].dataset_id) if len(rows) > asked.limit else None
    return Datasets(datasets=shown, next=next_page("/api/datasets", asked, more))


def dataset(site: Site, asked: OneDataset) -> Dataset:
    """Describe a dataset."""
    key = (asked.source, asked.id)
    with site.index() as db:
        row = db.execute(_DATASET, key).fetchone()
        if not row:
            check(asked.source, names_of(site, db))
            abort(404, f"There is no dataset {one_line(asked.id, 100)!r} of {asked.source} here.")
        known = {
            "resources": [Resource.from_fields(_read(dict(one))) for one in db.execute(_RESOURCES, key)],
            "changes": [Change(**dict(one)) for one in db.execute(_CHANGES, key)],
        }
    found: Dataset = Dataset.from_fields(_read({**dict(row), **known}))
    return found


def search(site: Site, asked: SearchPage) -> Found:
    """Find the datasets that have all words."""
    (offset,) = position(asked.after, tuple[int]) if asked.after else (0,)
    if not 0 <= offset < _DEEPEST:
        raise BadRequest(f"A search leads to the first {_DEEPEST} datasets: narrow it by more words or a source.")
    with site.index() as db:
        if asked.source:
            check(asked.source, names_of(site, db))
        limit = min(asked.limit, _DEEPEST - offset)
        found = find(db, asked.q, source=asked.source or None, limit=limit, offset=offset, withdrawn=asked.withdrawn)
    after = offset + limit
    more = cursor(after) if after < min(found.total, _DEEPEST) else None
    return Found(
        total=found.total,
        datasets=[FoundDataset.from_fields(one) for one in found.rows],
        next=next_page("/api/search", asked, more),
    )


def _read(row: dict[str, Any]) -> SimpleNamespace:
    """Return a row of the index with the values of its lists, and without credentials."""
    lists = {name: json.loads(row[name] or "[]") for name in (*LISTS, "services") if name in row}
    lists |= {name: [*map(_redacted, lists[name])] for name in _OF_ADDRESSES if name in lists}
    links = {name: row[name] and redact(row[name]) for name in _ADDRESSES if name in row}
    flags = {"withdrawn": bool(row["withdrawn"])} if "withdrawn" in row else {}
    return SimpleNamespace(**{**row, **lists, **links, **flags})


def _redacted(value: str | dict[str, str]) -> str | dict[str, str]:
    """Return an address, or the texts of a relation or a service, without credentials."""
    return redact(value) if isinstance(value, str) else {name: redact(text) for name, text in value.items()}
