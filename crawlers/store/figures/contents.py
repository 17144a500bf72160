"""The content of the datasets: formats, licences, age, completeness, and duplicates between sources."""

from __future__ import annotations

import json
from datetime import UTC, date, datetime, timedelta
from operator import itemgetter
from typing import TYPE_CHECKING, Any, NamedTuple

from crawlers.store.columns import BITS
from crawlers.store.index.schema import FIELDS as COLUMNS
from crawlers.store.index.schema import STALE

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from crawlers.store.columns import Columns


_DAYS = {"month": 30, "year": 365, "five years": 1825}
"""Days since a dataset was modified, by the name of its age; without a date it is ``unknown``, else ``older``."""

_CONTACT = 1 << BITS["contact"] | 1 << BITS["contact_email"]
_QUERY = f"""
    SELECT source, count(*), sum(resources), count(*) FILTER ((has & {_CONTACT}) = 0),
        count(*) FILTER (day || '~' < CASE frequency {{due}} END), count(*) - count(day),
        {{ages}}, {", ".join(f"sum((has >> {BITS[name]}) & 1)" for name in COLUMNS)}
    FROM datasets WHERE source IN (SELECT unnest($names)) GROUP BY 1
"""  # noqa: S608  # the numbers above


class Described(NamedTuple):
    """The datasets of a source, without those that are withdrawn.

    Args:
        contactless: how many have no contact.
        late: how many should have been modified since, by their own frequency.
        ages: how many are of each age.
        fields: how many have each of `crawlers.store.index.schema.FIELDS`.
    """

    datasets: int = 0
    resources: int = 0
    contactless: int = 0
    late: int = 0
    ages: Mapping[str, int] = {}
    fields: Mapping[str, int] = {}


def descriptions(columns: Columns, names: Sequence[str]) -> dict[str, Described]:
    """Return what the datasets of some sources have, in one look at them; a source without any is left out."""
    return {
        source: _described(counts) for source, *counts in columns.rows(_query(datetime.now(UTC).date()), names=names)
    }


def _query(today: date) -> str:
    due = " ".join(f"WHEN '{code}' THEN '{today - timedelta(days=days)}'" for code, days in STALE)
    ages = ", ".join(f"count(*) FILTER (day >= '{today - timedelta(days=days)}')" for days in _DAYS.values())
    return _QUERY.format(due=due, ages=ages)


def _described(counts: Sequence[int]) -> Described:
    datasets, resources, contactless, late, unknown, *rest = counts
    since = [*rest[: len(_DAYS)], datasets - unknown]
    younger = [0, *since]
    ages = dict(zip((*_DAYS, "older"), (more - less for less, more in zip(younger, since, strict=False)), strict=True))
    fields = dict(zip(COLUMNS, rest[len(_DAYS) :], strict=True))
    return Described(datasets, resources, contactless, late, {**ages, "unknown": unknown}, fields)


SHOWN = 12  # bars; the rest are one
TITLES = 50
ALL = "All sources"
NOT_STATED = "not stated"
_FORMATS = """
    SELECT format, sum(resources) FROM formats WHERE source IN (SELECT unnest($names))
    GROUP BY 1 ORDER BY 2 DESC, 1
"""
_LICENCES = """
    SELECT license, count(*) FROM datasets WHERE source IN (SELECT unnest($names)) GROUP BY 1 ORDER BY 2 DESC, 1
"""
_HELD = "source IN (SELECT value FROM json_each(?1)) AND withdrawn = 0"
_LANGUAGES = f"""
    SELECT one.value, count(*) FROM datasets
    LEFT JOIN json_each(CASE languages WHEN '[]' THEN NULL ELSE languages END) one
    WHERE {_HELD} GROUP BY 1 ORDER BY 2 DESC, 1
"""  # noqa: S608  # the condition above
_COUNTRIES = f"""
    SELECT country, count(*) FROM (
        SELECT DISTINCT datasets.id, coalesce(one.value ->> 'code', country) AS country FROM datasets
        LEFT JOIN json_each(spatial) one ON one.value ->> 'code' > '' WHERE {_HELD}
    ) GROUP BY 1 ORDER BY 2 DESC, 1
"""  # noqa: S608
AGES = {
    "month": {"name": "last month", "style": "heat5"},
    "year": {"name": "last year", "style": "heat4"},
    "five years": {"name": "last five years", "style": "heat3"},
    "older": {"name": "older", "style": "heat2"},
    "unknown": {"name": NOT_STATED, "style": "pale"},
}
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
"""The fields that are shown, with their labels."""
_LEVELS = (0, 25, 50, 75, 95)  # per cent, above which a cell is darker
BY = {"uri": "address", "identifier": "identifier", "page": "page", "named": "title and publisher"}
"""What is the same of duplicates, the strongest first."""
_SAME = " UNION ALL ".join(
    f"""
    SELECT {place} AS way, list(id ORDER BY id) AS ids, list_sort(list(DISTINCT source)) AS among FROM keys
    WHERE {key} IN (SELECT {key} FROM keys WHERE {key} IS NOT NULL GROUP BY 1 HAVING count(*) > 1)
    GROUP BY {key} HAVING min(source) < max(source)
    """  # noqa: S608  # the names above; most keys are of one dataset, and counting finds those fastest
    for place, key in enumerate(BY)
)
_DUPLICATES = f"""
    WITH keys AS MATERIALIZED (SELECT source, id, {", ".join(BY)} FROM datasets)
    SELECT ids, min(way), any_value(among) AS sources FROM ({_SAME}) GROUP BY 1 HAVING list_has_any(sources, $names)
    ORDER BY len(sources) DESC, len(ids) DESC, ids LIMIT $limit
"""  # noqa: S608
_TITLE = "SELECT substr(title, 1, 1000) FROM datasets WHERE id = ?"

Row = dict[str, Any]


def formats(columns: Columns, names: Sequence[str]) -> Row:
    """Return the number of resources of each format."""
    return shares(columns.rows(_FORMATS, names=names), "other formats")


def licences(columns: Columns, names: Sequence[str]) -> Row:
    """Return the number of datasets of each licence."""
    return shares(columns.rows(_LICENCES, names=names), "other licences")


def languages(db: sqlite3.Connection, names: Sequence[str]) -> Row:
    """Return the number of datasets in each language; a dataset in several counts for each."""
    return shares(db.execute(_LANGUAGES, (json.dumps(list(names)),)), "other languages")


def countries(db: sqlite3.Connection, names: Sequence[str]) -> Row:
    """Return the number of datasets about each country; a dataset about several counts for each."""
    return shares(db.execute(_COUNTRIES, (json.dumps(list(names)),)), "other countries")


def shares(found: Iterable[tuple[Any, ...]], others: str) -> Row:
    """Return bars, the longest first; "others" and "not stated" come last.

    Args:
        found: labels and numbers, the largest number first.
        others: what those are called for which there is no bar.
    """
    rows: list[Row] = []
    rest, kinds, nothing = 0, 0, 0
    for label, value in found:
        if not label:
            nothing += value
        elif len(rows) < SHOWN:
            rows.append({"label": label, "value": value, "rest": False})
        else:
            rest, kinds = rest + value, kinds + 1
    last = ((f"{kinds:,} {others}", rest), (NOT_STATED, nothing))
    rows += [{"label": label, "value": value, "rest": True} for label, value in last if value]
    return {"rows": rows, "total": sum(row["value"] for row in rows)}


def freshness(known: Mapping[str, Described]) -> list[Row]:
    """Return the datasets by age: of all sources if there are several, then of each source, the largest first.

    Args:
        known: the result of `crawlers.store.figures.contents.descriptions`.
    """
    found = {source: [one.ages[age] for age in AGES] for source, one in known.items()}
    return [
        {"label": label, "values": values, "total": sum(values), "all": label == ALL, "cells": [label, *values]}
        for label, values in _by_size(found, sum).items()
    ]


def completeness(known: Mapping[str, Described]) -> list[Row]:
    """Return the percentage of datasets that have each field, in the same order as `freshness`.

    Args:
        known: the result of `crawlers.store.figures.contents.descriptions`.
    """
    found = {source: [one.datasets, *(one.fields[name] for name in FIELDS)] for source, one in known.items()}
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


def duplicates(columns: Columns, names: Sequence[str]) -> list[Row]:
    """Return the datasets that more than one source has, those of most sources first.

    Args:
        columns: those of all sources.
        names: the sources; one of them has the dataset.
    """
    return [
        {
            "by": list(BY.values())[way],
            "title": columns.db.execute(_TITLE, ids[:1]).fetchone()[0],
            "datasets": len(ids),
            "sources": len(among),
            "among": among,
        }
        for ids, way, among in columns.rows(_DUPLICATES, names=names, limit=TITLES)
    ]
