"""How many of a source's datasets and resources have each field, for its time series."""

from __future__ import annotations

from typing import TYPE_CHECKING

from crawlers.store.index.columns import DATASETS, RESOURCES
from crawlers.store.index.kept import kept

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterable

FIELD = "field:"
"""Before the name of a field in a metric; a field of resources is ``field:resource.format``."""


def _counts(names: Iterable[str], before: str = FIELD) -> str:
    return ", ".join(f'count({name}) AS "{before}{name}"' for name in names)


_FIELDS = f"""
    SELECT {_counts(column.name for column in DATASETS)}, sum(resources > 0) AS "{FIELD}resources"
    FROM datasets WHERE source = ?1 AND withdrawn = 0
"""  # noqa: S608  # the names of the index's own columns
_OF_RESOURCES = f"""
    SELECT {_counts((column.name for column in RESOURCES), f"{FIELD}resource.")}
    FROM resources WHERE source = ?1 AND dataset_id NOT IN (
        SELECT dataset_id FROM datasets INDEXED BY datasets_withdrawn WHERE source = ?1 AND withdrawn = 1
    )
"""  # noqa: S608
_LAST = """
    SELECT metric FROM observations WHERE source = ?1 AND subject = ?1 AND day = (
        SELECT day FROM observations WHERE source = ?1 AND metric = 'datasets' ORDER BY day DESC LIMIT 1
    )
"""
_FLAWS = "SELECT count(*) FROM flaws WHERE source = ?"


def completeness(db: sqlite3.Connection, source: str, version: str) -> dict[str, int]:
    """Return how many datasets and resources have each field, without those withdrawn, and how many flaws stand.

    Numbers and no shares: with ``datasets`` and ``resources`` of the same day a share follows, and numbers add up over
    sources. A field that nothing has is left out, unless something had it at the last observation: then it is 0.

    Args:
        version: as in `crawlers.store.index.kept.kept`.
    """
    last = {metric for (metric,) in db.execute(_LAST, (source,))}
    counts = kept(db, source, version, "fields", _counted)
    found = {name: count for name, count in counts.items() if count or name in last}
    return {**found, "flaws": db.execute(_FLAWS, (source,)).fetchone()[0]}


def _counted(db: sqlite3.Connection, source: str) -> dict[str, int]:
    found: dict[str, int] = {}
    for query in (_FIELDS, _OF_RESOURCES):
        rows = db.execute(query, (source,))
        found |= {column[0]: count or 0 for column, count in zip(rows.description, rows.fetchone(), strict=True)}
    return found
