"""The data that overview.html and summary.md show."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from crawlers.store.figures import changes, contents, series
from crawlers.store.figures.ecosystem import kinds, with_profiles
from crawlers.store.figures.errors import errors
from crawlers.store.figures.growth import growth
from crawlers.store.figures.source_status import with_status
from crawlers.store.figures.sources import chosen, sources

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Sequence

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
    return with_status((brief if is_brief else known)(db, names, now), shown)


def brief(db: sqlite3.Connection, names: str, now: datetime | None = None) -> dict[str, Any]:
    """Return the sources, their latest changes and their errors; the arguments are those of `known`."""
    return {
        "now": (now or datetime.now(UTC)).isoformat(timespec="seconds"),
        "sources": sources(db, names),
        "latest": changes.latest(db, names),
        "errors": errors(db, names),
    }


def known(db: sqlite3.Connection, names: str, now: datetime | None = None) -> dict[str, Any]:
    """Return the part of the overview that takes long; `with_status` adds the sources' status of the moment.

    Args:
        db: the index.
        names: the sources, from `crawlers.store.figures.sources.chosen`.
        now: UTC; by default this moment.
    """
    now = now or datetime.now(UTC)
    found = brief(db, names, now)
    largest = sorted(found["sources"], key=lambda row: -row["datasets"])
    return {
        **found,
        "week": changes.week(db, names, now),
        "growth": growth(db, names, now.date()),
        "series": series.growth(db, [row["source"] for row in largest]),
        "ecosystem": [with_profiles(db, source, kind) for source, kind in kinds(db, json.loads(names))],
        "formats": contents.formats(db, names),
        "licences": contents.licences(db, names),
        "ages": list(contents.AGES.values()),
        "freshness": contents.freshness(db, names),
        "fields": list(contents.FIELDS.values()),
        "completeness": contents.completeness(db, names),
        "duplicates": contents.duplicates(db, names),
    }
