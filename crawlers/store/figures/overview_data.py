"""The data that overview.html and summary.md show."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from crawlers.store.columns.tables import opened
from crawlers.store.figures import changes, contents, series, sources
from crawlers.store.figures.descriptions import descriptions
from crawlers.store.figures.ecosystem import kinds, with_profiles
from crawlers.store.figures.errors import errors
from crawlers.store.figures.growth import growth
from crawlers.store.figures.source_status import with_status
from crawlers.store.figures.sources import chosen

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Mapping, Sequence

    from crawlers.store.columns.tables import Columns
    from crawlers.store.figures.descriptions import Described
    from crawlers.store.runs import Run


def overview(
    db: sqlite3.Connection,
    named: Sequence[str] | None = None,
    now: datetime | None = None,
    current: Sequence[Run] = (),
    *,
    is_brief: bool = False,
) -> dict[str, Any]:
    """Return the variable ``overview`` of ``overview.html``, or of ``summary.md``.

    Args:
        db: the index, from `crawlers.store.index.reader.connect`.
        named: the sources to show; all if there are none.
        now: UTC; by default this moment.
        current: the runs without a report (`crawlers.store.runs.unfinished`).
        is_brief: whether to return only what ``summary.md`` shows.

    Raises:
        SourcesError: a source does not exist.
    """
    names = chosen(db, named, {run.source for run in current})
    shown = [run for run in current if not named or run.source in named]
    with opened(db) as columns:
        return with_status((brief if is_brief else known)(db, columns, names, now), shown)


def brief(db: sqlite3.Connection, columns: Columns, names: str, now: datetime | None = None) -> dict[str, Any]:
    """Return the sources, their latest changes and their errors; the arguments are those of `known`."""
    return _brief(db, descriptions(columns, json.loads(names)), names, now or datetime.now(UTC))


def _brief(db: sqlite3.Connection, described: Mapping[str, Described], names: str, now: datetime) -> dict[str, Any]:
    return {
        "now": now.isoformat(timespec="seconds"),
        "sources": sources.sources(db, described, names),
        "latest": changes.latest(db, names),
        "errors": errors(db, names),
    }


def known(db: sqlite3.Connection, columns: Columns, names: str, now: datetime | None = None) -> dict[str, Any]:
    """Return the part of the overview that takes long; `with_status` adds the sources' status of the moment.

    Args:
        db: the index.
        columns: the tables of all sources.
        names: the sources, from `crawlers.store.figures.sources.chosen`.
        now: UTC; by default this moment.
    """
    now, wanted = now or datetime.now(UTC), json.loads(names)
    described = descriptions(columns, wanted)
    found = _brief(db, described, names, now)
    largest = sorted(found["sources"], key=lambda row: -row["datasets"])
    return {
        **found,
        "week": changes.week(db, names, now),
        "growth": growth(db, names, now.date()),
        "series": series.growth(db, [row["source"] for row in largest]),
        "ecosystem": [with_profiles(db, source, kind) for source, kind in kinds(db, wanted)],
        "formats": contents.formats(columns, wanted),
        "licences": contents.licences(columns, wanted),
        "ages": list(contents.AGES.values()),
        "freshness": contents.freshness(described),
        "fields": list(contents.FIELDS.values()),
        "completeness": contents.completeness(described),
        "duplicates": contents.duplicates(columns, wanted),
    }
