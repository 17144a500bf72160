"""What a release says of itself: its sources with their last verdicts, what they cover, how complete and good it is.

Nothing in it depends on the day on which it is made: the newest run gives the release its name and its time.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from crawlers.exceptions import ExportError
from crawlers.safety.names import ARCHIVE_OF
from crawlers.store.columns import opened
from crawlers.store.figures import contents
from crawlers.store.figures.quality import DIMENSIONS, Assessment, assessment, together

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Mapping

_SOURCES = """
SELECT o.source, o.datasets, o.withdrawn, coalesce(o.resources, 0) AS stated_resources, o.last_complete, r.spider,
    r.run, r.started, r.finished, r.verdict, r.expected, r.listed, r.failed, r.since, r.flaws
FROM overview o LEFT JOIN runs r ON r.source = o.source AND r.run = o.last_run ORDER BY o.source
"""
_ERRORS = "SELECT kind, count FROM run_errors WHERE source = ? AND run = ? ORDER BY kind"
_SEEN = "SELECT max(last_seen) FROM documents"
_NOT_IN_NAMES = re.compile(r"[-:]|\.\d+")  # of runs, which have a moment, too
_EVIDENCE = ("started", "finished", "since", "expected", "listed", "failed")


@dataclass(frozen=True, slots=True)
class Figures:
    """What a release says of itself.

    Attributes:
        id: the name of the newest run; if no run is known, the moment in which a document was seen last, as one.
        time: when that ended.
        sources: a row for each: its counts, and the verdict of its last run with its evidence.
        coverage: bars by title, as `crawlers.store.figures.contents.licences` returns them.
        completeness: as `crawlers.store.figures.contents.completeness` returns it.
        quality: of each source.
    """

    id: str
    time: str
    sources: list[dict[str, Any]]
    coverage: dict[str, dict[str, Any]]
    completeness: list[dict[str, Any]]
    quality: dict[tuple[str, str | None], Assessment]

    @property
    def names(self) -> list[str]:
        return [row["source"] for row in self.sources]

    @property
    def totals(self) -> dict[str, int]:
        return {name: sum(row[name] for row in self.sources) for name in ("datasets", "resources", "withdrawn")}

    @property
    def whole(self) -> Assessment:
        """The quality of all sources together."""
        return together(self.quality.values())


def figures(db: sqlite3.Connection) -> Figures:
    """Return the figures of all sources that have datasets, or had.

    Args:
        db: the index, in a transaction: all figures are of one moment.

    Raises:
        ExportError: there is no dataset.
    """
    rows = [dict(row) for row in db.execute(_SOURCES) if not row["source"].startswith(ARCHIVE_OF)]
    if not sum(row["datasets"] for row in rows):
        raise ExportError("There is no dataset to release: crawl a source first, or name its folder with OUTPUT_DIR.")
    sources = [_source(db, row) for row in rows]
    names = [row["source"] for row in rows]
    newest = max(rows, key=lambda row: (row["finished"] or "", row["source"]))
    seen = db.execute(_SEEN).fetchone()[0]
    with opened(db) as columns:
        coverage = {
            "Countries": contents.countries(db, names),
            "Kinds of catalogue": _kinds(rows),
            "Languages": contents.languages(db, names),
            "Licences": contents.licences(columns, names),
            "Formats of files": contents.formats(columns, names),
        }
        completeness = contents.completeness(contents.descriptions(columns, names))
    quality = {(name, None): assessment(db, name) for name in names}
    return Figures(
        id=newest["run"] or _NOT_IN_NAMES.sub("", seen),
        time=newest["finished"] or seen,
        sources=sources,
        coverage=coverage,
        completeness=completeness,
        quality={key: found for key, found in quality.items() if found.datasets},
    )


def _source(db: sqlite3.Connection, row: Mapping[str, Any]) -> dict[str, Any]:
    errors = db.execute(_ERRORS, (row["source"], row["run"]))
    evidence = {name: row[name] for name in _EVIDENCE} | {"errors": dict(errors.fetchall())}
    return {
        **{name: row[name] for name in ("source", "datasets", "withdrawn")},
        "resources": row["stated_resources"],
        "kind": row["spider"],
        "run": row["run"],
        "verdict": row["verdict"],
        "evidence": evidence | {"flaws": json.loads(row["flaws"] or "{}"), "last_complete": row["last_complete"]},
    }


def _kinds(rows: list[dict[str, Any]]) -> dict[str, Any]:
    counts: Counter[str] = Counter()
    for row in rows:
        counts[row["spider"] or ""] += row["datasets"]
    return contents.shares(sorted(counts.items(), key=lambda each: (-each[1], each[0])), "other kinds")


def metadata(found: Figures, schema: int, tables: Mapping[str, list[dict[str, str]]]) -> dict[str, Any]:
    """Return metadata.json without the files.

    Args:
        schema: the version of the tables and of this file.
        tables: the columns of each table.
    """
    return {
        "schema": schema,
        "id": found.id,
        "time": found.time,
        **found.totals,
        "quality": found.whole.of().as_json()
        | {"dimensions": {one: found.whole.of(one).as_json() for one in DIMENSIONS}},
        "sources": found.sources,
        "tables": tables,
    }
