"""The content of the datasets: formats, licences, age, completeness, and duplicates between sources."""

from __future__ import annotations

import json
from collections import defaultdict
from operator import itemgetter
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Callable

SHOWN = 12  # bars; the rest are one
TITLES = 50
ALL = "All sources"
NOT_STATED = "not stated"
_FORMATS = """
    SELECT r.format AS label, count(*) AS value
    FROM resources r JOIN datasets d USING (source, dataset_id)
    WHERE NOT d.withdrawn AND d.source IN (SELECT value FROM json_each(?))
    GROUP BY 1 ORDER BY 2 DESC, 1
"""
_LICENCES = """
    SELECT license AS label, count(*) AS value
    FROM datasets WHERE NOT withdrawn AND source IN (SELECT value FROM json_each(?)) GROUP BY 1 ORDER BY 2 DESC, 1
"""
AGES = {
    "month": {"name": "last month", "style": "heat5"},
    "year": {"name": "last year", "style": "heat4"},
    "five years": {"name": "last five years", "style": "heat3"},
    "older": {"name": "older", "style": "heat2"},
    "unknown": {"name": NOT_STATED, "style": "pale"},
}
_FRESHNESS = "SELECT source, age, datasets FROM freshness WHERE source IN (SELECT value FROM json_each(?))"
FIELDS = {
    "title": "title",
    "description": "description",
    "publisher": "publisher",
    "contact": "contact",
    "license": "licence",
    "issued": "issued",
    "modified": "modified",
    "frequency": "frequency",
    "keywords": "keywords",
    "themes": "themes",
    "languages": "language",
    "spatial": "place",
    "temporal_start": "period",
    "resources": "files",
}
"""The view's fields that are shown, with their labels."""
_COMPLETENESS = "SELECT source, field, filled, datasets FROM completeness WHERE source = ?"
_LEVELS = (0, 25, 50, 75, 95)  # per cent, above which a cell is darker
BY = {"uri": "address", "identifier": "identifier", "landing_page": "page", "title": "title and publisher"}
_DUPLICATES = """
    SELECT "by", substr(title, 1, 1000) AS title, datasets, sources, among FROM duplicates
    WHERE EXISTS (SELECT 1 FROM json_each(?) WHERE instr(',' || among || ',', ',' || value || ',')) LIMIT ?
"""

Row = dict[str, Any]


def formats(db: sqlite3.Connection, names: str) -> Row:
    """Return the number of resources of each format."""
    return _shares(db, _FORMATS, names, "other formats")


def licences(db: sqlite3.Connection, names: str) -> Row:
    """Return the number of datasets of each licence."""
    return _shares(db, _LICENCES, names, "other licences")


def _shares(db: sqlite3.Connection, query: str, names: str, others: str) -> Row:
    """Return bars, the longest first; "others" and "not stated" come last."""
    rows: list[Row] = []
    rest, kinds, nothing = 0, 0, 0
    for label, value in db.execute(query, (names,)):
        if not label:
            nothing += value
        elif len(rows) < SHOWN:
            rows.append({"label": label, "value": value, "rest": False})
        else:
            rest, kinds = rest + value, kinds + 1
    last = ((f"{kinds:,} {others}", rest), (NOT_STATED, nothing))
    rows += [{"label": label, "value": value, "rest": True} for label, value in last if value]
    return {"rows": rows, "total": sum(row["value"] for row in rows)}


def freshness(db: sqlite3.Connection, names: str) -> list[Row]:
    """Return the datasets by age: of all sources if there are several, then of each source, the largest first."""
    found: dict[str, list[int]] = defaultdict(lambda: [0] * len(AGES))
    for source, age, datasets in db.execute(_FRESHNESS, (names,)):
        found[source][list(AGES).index(age)] = datasets
    return [
        {"label": label, "values": values, "total": sum(values), "all": label == ALL, "cells": [label, *values]}
        for label, values in _by_size(found, sum).items()
    ]


def completeness(db: sqlite3.Connection, names: str) -> list[Row]:
    """Return the percentage of datasets that have each field, in the same order as `freshness`.

    Each source is queried separately: then SQLite only reads its datasets, which it does not for a list of sources.
    """
    found: dict[str, list[int]] = defaultdict(lambda: [0] * (len(FIELDS) + 1))
    rows = (row for name in json.loads(names) for row in db.execute(_COMPLETENESS, (name,)))
    for source, field, filled, datasets in rows:
        found[source][0] = datasets
        if field in FIELDS:
            found[source][1 + list(FIELDS).index(field)] = filled
    return [
        {"label": label, "cells": [_cell(value, datasets) for value in values]}
        for label, (datasets, *values) in _by_size(found, itemgetter(0)).items()
    ]


def _by_size(found: dict[str, list[int]], size: Callable[[list[int]], int]) -> dict[str, list[int]]:
    ordered = dict(sorted(found.items(), key=lambda item: (-size(item[1]), item[0])))
    total = {ALL: [sum(column) for column in zip(*found.values(), strict=True)]} if len(found) > 1 else {}
    return {**total, **ordered}


def _cell(value: int, datasets: int) -> Row:
    """
    >>> _cell(199, 200), _cell(1, 200), _cell(0, 200)["level"]
    ({'share': '99', 'level': 5}, {'share': '<1', 'level': 1}, 0)
    """
    share = 100 * value / datasets
    text = "<1" if 0 < share < 1 else f"{share:.0f}" if share in (0, 100) else f"{min(99, round(share))}"
    return {"share": text, "level": sum(share > level for level in _LEVELS)}


def duplicates(db: sqlite3.Connection, names: str) -> list[Row]:
    """Return the datasets that more than one source has, in the view's order."""
    found = [dict(row) for row in db.execute(_DUPLICATES, (names, TITLES))]
    for row in found:
        row["among"] = sorted(row["among"].split(","))
        row["by"] = BY.get(row["by"], row["by"])
    return found
