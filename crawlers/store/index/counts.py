"""The counts of a source's own time series: what it has on disk, and what changed on a day."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterator

    Count = tuple[str, int]
    """Metric, number."""

MOST = 100
"""Formats, and licences, that have a metric: the most frequent ones."""
CHANGES = ("new", "updated", "withdrawn", "restored")

_IS_DESCRIBED = "SELECT EXISTS (SELECT 1 FROM sources WHERE source = ? AND described)"
_IS_ARCHIVE = "SELECT EXISTS (SELECT 1 FROM captures_read WHERE source = ?)"
_HELD = "SELECT count(*) FROM documents WHERE source = ? AND kind = ? AND status != 'withdrawn'"
_RESOURCES = """
SELECT coalesce(sum(resources), 0) FROM datasets INDEXED BY datasets_withdrawn WHERE source = ? AND withdrawn = 0
"""
_FORMATS = "SELECT format, count(*) FROM resources WHERE source = ? GROUP BY 1"
_FORMATS_OF_WITHDRAWN = """
SELECT r.format, count(*)
FROM datasets d INDEXED BY datasets_withdrawn CROSS JOIN resources r USING (source, dataset_id)
WHERE d.source = ? AND d.withdrawn = 1 GROUP BY 1
"""  # few: to look each dataset of a resource up takes longer
_LICENCES = """
SELECT 'license:' || license, count(*) FROM datasets
WHERE source = ? AND withdrawn = 0 AND license <> '' GROUP BY license ORDER BY 2 DESC, 1 LIMIT ?
"""
_FILES = "SELECT files, held, bytes, broken, unknown, not_taken, last_copies FROM files_by_source WHERE source = ?"
_CHANGED = """
SELECT status, sum(count) FROM daily_changes WHERE source = ?1 AND day >= ?2 AND run LIKE ?3 GROUP BY status
"""


def held(db: sqlite3.Connection, source: str) -> Iterator[Count]:
    """Yield how much a source has on disk, without what is withdrawn."""
    if db.execute(_IS_ARCHIVE, (source,)).fetchone()[0]:
        found = db.execute(_FILES, (source,))
        names = [column[0] for column in found.description]
        yield from (pair for row in found for pair in zip(names, row, strict=True))
    elif profiles := {kind: _held(db, source, kind) for kind in ("site", "extension") if _held(db, source, kind)}:
        yield from ((f"{kind}s", number) for kind, number in profiles.items())
    else:
        yield "datasets", _held(db, source, "dataset")
        yield from _described(db, source)


def _held(db: sqlite3.Connection, source: str, kind: str) -> int:
    return int(db.execute(_HELD, (source, kind)).fetchone()[0])


def _described(db: sqlite3.Connection, source: str) -> Iterator[Count]:
    """Yield what the datasets' descriptions say, unless some of them are missing."""
    if db.execute(_IS_DESCRIBED, (source,)).fetchone()[0]:
        yield "resources", db.execute(_RESOURCES, (source,)).fetchone()[0]
        yield from sorted(
            ((f"format:{name}", number) for name, number in formats(db, source).items() if name and number),
            key=lambda count: (-count[1], count[0]),
        )[:MOST]
        yield from db.execute(_LICENCES, (source, MOST))


def formats(db: sqlite3.Connection, source: str) -> dict[str | None, int]:
    """Return how many resources of the source's datasets, without those withdrawn, have each format."""
    found = dict(db.execute(_FORMATS, (source,)).fetchall())
    for name, count in db.execute(_FORMATS_OF_WITHDRAWN, (source,)):
        found[name] -= count
    return {name: count for name, count in found.items() if count}


def changed(db: sqlite3.Connection, source: str, day: str) -> dict[str, int]:
    """Return how many datasets changed in the runs that began on a day (YYYY-MM-DD), by `CHANGES`."""
    runs = f"{day.replace('-', '')}T%"
    found = dict(db.execute(_CHANGED, (source, day, runs)).fetchall())
    return {status: found.get(status, 0) for status in CHANGES}
