"""What became of each dataset since a place in its source's manifest, however often it changed.

The lines go into a temporary database on disk: a source may have changed by millions.
"""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, NamedTuple, Self

from crawlers.exceptions import OutputError
from crawlers.safety import sqlite
from crawlers.store import history

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

GROUPS = ("added", "changed", "withdrawn", "restored")
"""A dataset is in one: if it came and went, it is withdrawn; if it went and came back, it is restored."""
EXPORTS = "exports"
"""What changed of a dataset whose own record is the same."""
_LONGEST = 1_000  # characters of a title
_SOME = 1_000  # lines
_LINES = """
CREATE TABLE lines (
    number INTEGER PRIMARY KEY, what TEXT, id TEXT, kind TEXT, resource_id TEXT, run TEXT, status TEXT, title TEXT
);
"""
_LINE = "INSERT INTO lines (what, id, kind, resource_id, run, status, title) VALUES (?, ?, ?, ?, ?, ?, ?)"
_GROUPED = """
CREATE INDEX by_id ON lines (what, id, number);
CREATE TABLE records (what TEXT, id TEXT, title TEXT, "group" TEXT, PRIMARY KEY (what, id)) WITHOUT ROWID;
INSERT INTO records
SELECT what, id, coalesce((
    SELECT title FROM lines AS one WHERE one.what = lines.what AND one.id = lines.id AND title IS NOT NULL
    ORDER BY number DESC LIMIT 1
), id), CASE
    WHEN max(number) FILTER (WHERE kind = what) = max(number) FILTER (WHERE kind = what AND status = 'withdrawn')
        THEN 'withdrawn'
    WHEN max(kind = what AND status = 'new') THEN 'added'
    WHEN max(kind = what AND status = 'restored') THEN 'restored'
    ELSE 'changed' END
FROM lines GROUP BY what, id;
CREATE INDEX by_group ON records ("group", title COLLATE NOCASE, id);
"""
_COUNTS = 'SELECT "group", count(*) FROM records GROUP BY "group"'
_LISTED = """
SELECT count(*) FROM records WHERE what = 'dataset'
AND EXISTS (SELECT 1 FROM lines WHERE lines.what = 'dataset' AND lines.id = records.id AND kind = 'dataset')
"""
_FIRST = 'SELECT what, id, title FROM records WHERE "group" = ? ORDER BY title COLLATE NOCASE, id LIMIT ?'
_OF = "SELECT kind, resource_id, run, status FROM lines WHERE what = ? AND id = ? ORDER BY number"


class Became(NamedTuple):
    """What became of a dataset.

    Args:
        what: ``dataset``, or the kind of a profile.
        title: its last one; its name or id if it has none.
        fields: which of its fields changed; none if it is new, or that is not known.
    """

    what: str
    id: str
    title: str
    fields: list[str]


class Tally:
    """What became of the datasets of a source.

    Args:
        folder: the source's.
        place: where in the manifest it begins.
        since: from when, in UTC, if the manifest has another line there.

    Attributes:
        counts: the datasets of each group that has some.
        listed: the datasets whose own record changed, not only their exports: those that `scrapy changes` lists.
        end: the place behind the last line.
        damage: a sentence if it can't be read which fields changed; else empty.

    Raises:
        OutputError: the manifest can't be read.
    """

    def __init__(self, folder: Path, place: history.Place, since: str) -> None:
        self.end, self.damage = place, ""
        self.db = sqlite.temporary(_LINES)
        self.bodies: history.Bodies | None = None
        try:
            self._fill(history.after(folder, place, since))
            self.counts: dict[str, int] = dict(self.db.execute(_COUNTS))
            self.listed: int = self.db.execute(_LISTED).fetchone()[0]
            self.bodies = history.Bodies(folder) if self.counts else None
        except OutputError as error:
            if not hasattr(self, "counts"):
                self.close()
                raise
            self.damage = str(error)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        self.db.close()
        if self.bodies:
            self.bodies.versions.close()

    def _fill(self, found: Iterator[tuple[history.Place, history.Version | None]]) -> None:
        while some := list(islice(found, _SOME)):
            self.db.executemany(_LINE, (_row(version) for _, version in some if version))
            self.end = some[-1][0]
        self.db.executescript(_GROUPED)

    def first(self, group: str, most: int) -> Iterator[Became]:
        """Yield the first datasets of a group, by title."""
        for what, name, title in self.db.execute(_FIRST, (group, most)).fetchall():
            yield Became(what, name, title, self._fields(what, name))

    def _fields(self, what: str, name: str) -> list[str]:
        found: dict[str, None] = {}
        for kind, resource_id, run, status in self.db.execute(_OF, (what, name)):
            if kind != what:
                found.setdefault(EXPORTS)
            elif self.bodies and status in ("updated", "restored"):
                try:
                    fields = self.bodies.versions.fields((kind, name, resource_id), run, status)
                except OutputError as error:
                    self.damage, fields = str(error), None
                found.update(dict.fromkeys(fields or ()))
        return [field for field in found if field != EXPORTS or len(found) == 1]  # they change with their dataset


def _row(version: history.Version) -> tuple[str | None, ...]:
    kind, name, resource_id = version.key
    what = "dataset" if kind.endswith("_metadata") else kind
    title = (version.title or version.name or "")[:_LONGEST]
    return what, name, kind, resource_id, version.run, version.status, title or None
