"""Everything that overview.html shows."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from crawlers.report import changes, contents
from crawlers.report.errors import errors
from crawlers.report.growth import growth
from crawlers.report.sources import chosen, sources
from crawlers.report.standing import standing

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Sequence

    from crawlers.runs import Run


def overview(
    db: sqlite3.Connection,
    named: Sequence[str] | None = None,
    now: datetime | None = None,
    current: Sequence[Run] = (),
) -> dict[str, Any]:
    """What ``overview.html`` takes as its variable ``overview``.

    Args:
        db: of `crawlers.index.reader.connect`.
        named: the sources to look at; all when there are none.
        now: UTC; by default this moment.
        current: the runs that have no report, of `crawlers.report.unfinished`.

    Raises:
        SourcesError: there is no source of a name.
    """
    names = chosen(db, named, {run.source for run in current})
    shown = [run for run in current if not named or run.source in named]
    return standing(known(db, names, now), shown)


def known(db: sqlite3.Connection, names: str, now: datetime | None = None) -> dict[str, Any]:
    """What the index says, and what takes long to ask; `standing` adds how the sources stand at a moment.

    Args:
        names: of `crawlers.report.sources.chosen`.
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
