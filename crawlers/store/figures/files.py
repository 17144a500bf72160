"""The files that catalogues link: those that only an archive still has, and the links that are broken."""

from __future__ import annotations

import csv
import io
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from crawlers.safety.redact import redact

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterator, Sequence

Row = dict[str, Any]

COPIES = 50
GROUPS = 25
COLUMNS = (
    *("what", "catalogue", "publisher", "host", "dataset_id", "dataset", "resource_id", "title", "url", "reason"),
    *("error", "http_status", "first_failure", "failure_count", "last_success", "gone", "sha256", "size", "kept_at"),
    *("cache_url", "time"),
)
"""The header of the CSV file."""

_CHOSEN = """
    (:sources IS NULL OR source IN (SELECT value FROM json_each(:sources))
        OR substr(source, 12) IN (SELECT value FROM json_each(:sources)))
"""
_FITS = f"""
    {_CHOSEN} AND (:publisher = '' OR publisher = :publisher) AND (:host = '' OR host = :host)
"""
_TOTALS = f"""
    SELECT sum(files) AS files, sum(held) AS held, sum(bytes) AS bytes, sum(broken) AS broken, sum(unknown) AS unknown,
        sum(not_taken) AS not_taken, sum(last_copies) AS last_copies
    FROM files_by_source WHERE {_CHOSEN} HAVING count(*)
"""  # noqa: S608
_GROUPS = """
    SELECT {column} AS name, sum(files) AS files, sum(broken) AS broken, sum(unknown) AS unknown
    FROM files_by_{column} WHERE {chosen} GROUP BY 1 HAVING sum(broken) + sum(unknown) > 0
    ORDER BY broken DESC, unknown DESC, name
"""
_WHAT = """
    SELECT CASE WHEN gone IS NOT NULL THEN 'last copy' WHEN is_broken THEN 'broken' ELSE 'unknown' END AS what, *
    FROM {view} WHERE {fits}
"""


@dataclass(frozen=True, slots=True)
class Filter:
    """The files to show.

    Args:
        sources: names of catalogues or of their archives, as JSON; ``None`` for all.
        publisher: of the dataset; empty for all.
        host: of the address; empty for all.
    """

    sources: str | None = None
    publisher: str = ""
    host: str = ""


def files(db: sqlite3.Connection, wanted: Filter) -> Row | None:
    """Return what ``files.html`` shows; ``None`` if there is no archive among the sources."""
    words = asdict(wanted)
    totals = db.execute(_TOTALS, words).fetchone()
    if totals is None:
        return None
    return {
        "totals": dict(totals),
        "copies": [row for _, row in zip(range(COPIES), last_copies(db, wanted), strict=False)],
        "publishers": _groups(db, "publisher", words),
        "hosts": _groups(db, "host", words),
        "groups": GROUPS,
    }


def last_copies(db: sqlite3.Connection, wanted: Filter) -> Iterator[Row]:
    """Yield the files that are held and that their catalogue no longer has, the last seen first."""
    return _rows(db, "last_copies", wanted)


def broken_links(db: sqlite3.Connection, wanted: Filter) -> Iterator[Row]:
    """Yield the links that are broken, those that have been for longest first; then those that are unknown."""
    return _rows(db, "broken_links", wanted)


def write_csv(db: sqlite3.Connection, wanted: Filter) -> Iterator[bytes]:
    """Yield the lines of a CSV file: last copies first, then broken links; no cell is a formula."""
    from crawlers.store.export.tables import cell  # noqa: PLC0415 -- the page needs no export

    yield _line(COLUMNS)
    for found in (last_copies(db, wanted), broken_links(db, wanted)):
        for row in found:
            yield _line([cell(None if row[name] is None else str(row[name])) for name in COLUMNS])


def _rows(db: sqlite3.Connection, view: str, wanted: Filter) -> Iterator[Row]:
    query = _WHAT.format(view=view, fits=_FITS)
    for row in db.execute(query, asdict(wanted)):
        yield dict(row) | {"url": redact(row["url"]), "reason": redact(row["reason"] or "")}


def _groups(db: sqlite3.Connection, column: str, words: Row) -> list[Row]:
    return [dict(row) for row in db.execute(_GROUPS.format(column=column, chosen=_CHOSEN), words)]


def _line(cells: Sequence[str]) -> bytes:
    text = io.StringIO(newline="")
    csv.writer(text).writerow(cells)
    return text.getvalue().encode()
