"""The data that overview.html shows."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from crawlers.operate.report import changes, contents
from crawlers.operate.report.errors import errors
from crawlers.operate.report.growth import growth
from crawlers.operate.report.source_status import with_status
from crawlers.operate.report.sources import chosen, sources

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Sequence

    from crawlers.store.runs import Run


def overview(
    db: sqlite3.Connection,
    named: Sequence[str] | None = None,
    now: datetime | None = None,
    current: Sequence[Run] = (),
) -> dict[str, Any]:
    """Return the variable ``overview`` of ``overview.html``.

    Args:
        db: the index, from `crawlers.store.index.reader.connect`.
        named: the sources to show; all if there are none.
        now: UTC; by default this moment.
        current: the runs without a report (`crawlers.store.runs.unfinished`).

    Raises:
        SourcesError: a source does not exist.
    """
    names = chosen(db, named, {run.source for run in current})
    shown = [run for run in current if not named or run.source in named]
    return with_status(known(db, names, now), shown)


def known(db: sqlite3.Connection, names: str, now: datetime | None = None) -> dict[str, Any]:
    """Return the part of the overview that takes long; `with_status` adds the sources' status of the moment.

    Args:
        db: the index.
        names: the sources, from `crawlers.operate.report.sources.chosen`.
        now: UTC; by default this moment.
    """
    now = now or datetime.now(UTC)
    return {
        "now": now.isoformat(timespec="seconds"),
        "sources": sources(db, names),
        "week": changes.week(db, names, now),
        "latest": changes.latest(db, names),
        "errors": errors(db, names),
        "growth": growth(db, names, now.date()),
        "formats": contents.formats(db, names),
        "licences": contents.licences(db, names),
        "ages": list(contents.AGES.values()),
        "freshness": contents.freshness(db, names),
        "fields": list(contents.FIELDS.values()),
        "completeness": contents.completeness(db, names),
        "duplicates": contents.duplicates(db, names),
    }
