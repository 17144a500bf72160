"""The journal of what is published: each step is on disk before its write is sent, with the record as it was."""

from __future__ import annotations

import json
import sqlite3
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Self

from crawlers.exceptions import OutputError
from crawlers.publish.operations import Change, Field, Step
from crawlers.records import moment
from crawlers.safety import sqlite
from crawlers.safety.redact import one_line

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator
    from pathlib import Path

    from crawlers.publish.operations import State
    from crawlers.publish.record import Record

NAME = "publish.sqlite"
"""The journal's file, in the folder of the source that is published to."""

Phase = Literal["planned", "publishing", "undoing", "published", "undone"]
"""planned: nothing is approved. publishing, undoing: under way, or interrupted. published, undone: over."""

_SCHEMA = """
PRAGMA synchronous = FULL;
CREATE TABLE IF NOT EXISTS runs (
    run TEXT PRIMARY KEY, portal TEXT NOT NULL, title TEXT NOT NULL, phase TEXT NOT NULL,
    started TEXT NOT NULL, finished TEXT, unchanged INTEGER NOT NULL DEFAULT 0
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS steps (
    run TEXT, number INTEGER, operation TEXT NOT NULL, subject TEXT NOT NULL, title TEXT NOT NULL,
    wanted TEXT NOT NULL, fields TEXT NOT NULL, state TEXT NOT NULL,
    before TEXT, sent TEXT, after TEXT, error TEXT, time TEXT, PRIMARY KEY (run, number)
) WITHOUT ROWID;
"""
_ADD = """
INSERT INTO steps (run, number, operation, subject, title, wanted, fields, state, error)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
"""
_SET = """
UPDATE steps SET state = ?, before = ?, sent = ?, after = ?, error = ?, time = ? WHERE run = ? AND number = ?
"""
_COLUMNS = "number, operation, subject, title, wanted, fields, state, before, sent, after, error"
_NEXT = f"SELECT {_COLUMNS} FROM steps WHERE run = ? AND number > ? ORDER BY number LIMIT 1"  # noqa: S608
_PREVIOUS = f"SELECT {_COLUMNS} FROM steps WHERE run = ? AND number < ? ORDER BY number DESC LIMIT 1"  # noqa: S608
_BEHIND_ALL = 1 << 62
_LONGEST = 1000  # characters of an error


class Entry(NamedTuple):
    """A publish in the journal.

    Args:
        run: its name, that of the run that planned it.
        unchanged: how many records were as wanted when it was planned.
    """

    run: str
    portal: str
    title: str
    phase: Phase
    started: str
    finished: str | None
    unchanged: int


class Journal:
    """A SQLite file: every change is on disk when the call returns.

    Raises:
        OutputError: it can't be used; so says every method.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        with self.usable():
            path.parent.mkdir(parents=True, exist_ok=True)
            self.db = sqlite.connect(path, _SCHEMA, patience=5)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.db.close()

    def begin(self, run: str, portal: str, title: str) -> str:
        """Begin a plan; plans that were never approved are forgotten. Return its name.

        Args:
            run: the run's name; with a number if a publish of that second was killed.
        """
        with self.transaction():
            self._forget("phase = 'planned'")
            names = (run, *(f"{run}-{number}" for number in range(2, 1000)))
            name = next(name for name in names if self.entry(name) is None)
            query = "INSERT INTO runs (run, portal, title, phase, started) VALUES (?, ?, ?, 'planned', ?)"
            self.db.execute(query, (name, portal, title, moment.now()))
        return name

    def entry(self, run: str) -> Entry | None:
        """Return a publish; ``None`` if the journal has none of that name."""
        return self._entry("run = ?", run)

    def interrupted(self, portal: str) -> Entry | None:
        """Return the publish to a portal that is not over: it was killed, or the portal went away."""
        return self._entry("phase IN ('publishing', 'undoing') AND portal = ?", portal)

    def mark(self, run: str, phase: Phase) -> None:
        """Note how far a publish is."""
        finished = moment.now() if phase in ("published", "undone") else None
        with self.usable():
            self.db.execute("UPDATE runs SET phase = ?, finished = ? WHERE run = ?", (phase, finished, run))

    def forget(self, before: str) -> None:
        """Delete the publishes that were over before a moment: they can't be undone any more."""
        with self.transaction():
            self._forget("phase IN ('published', 'undone') AND finished < ?", before)

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """Make several changes, or none of them."""
        with self.usable(), sqlite.transaction(self.db):
            yield

    @contextmanager
    def usable(self) -> Iterator[None]:
        """
        Raises:
            OutputError: instead of SQLite's error.
        """
        try:
            yield
        except (OSError, sqlite3.DatabaseError) as error:
            raise OutputError(f"{self.path}, the journal of what is published, can't be used ({error}).") from None

    def _entry(self, condition: str, value: str) -> Entry | None:
        query = f"SELECT {', '.join(Entry._fields)} FROM runs WHERE {condition} ORDER BY run LIMIT 1"  # noqa: S608
        with self.usable():
            row = self.db.execute(query, (value,)).fetchone()
        return Entry._make(row) if row else None

    def _forget(self, condition: str, *values: str) -> None:
        self.db.execute(f"DELETE FROM steps WHERE run IN (SELECT run FROM runs WHERE {condition})", values)  # noqa: S608
        self.db.execute(f"DELETE FROM runs WHERE {condition}", values)  # noqa: S608


@dataclass(frozen=True, slots=True)
class Steps:
    """The steps of one publish, in the journal."""

    journal: Journal
    run: str

    @property
    def entry(self) -> Entry:
        """The publish, which is in the journal."""
        entry = self.journal.entry(self.run)
        assert entry is not None  # noqa: S101
        return entry

    def add(self, changes: Collection[Change]) -> None:
        """Add changes to the plan; those without fields are counted only."""
        written = [one for one in changes if one.fields or one.problem]
        with self.journal.transaction():
            query = "SELECT coalesce(max(number), 0) FROM steps WHERE run = ?"
            (last,) = self.journal.db.execute(query, (self.run,)).fetchone()
            rows = [_row(self.run, number, change) for number, change in enumerate(written, last + 1)]
            self.journal.db.executemany(_ADD, rows)
            query = "UPDATE runs SET unchanged = unchanged + ? WHERE run = ?"
            self.journal.db.execute(query, (len(changes) - len(written), self.run))

    def forward(self, *states: State) -> Iterator[Step]:
        """Yield the steps in these states, each as it is when it is its turn; all without states."""
        return self._walk(_NEXT, 0, states)

    def back(self, *states: State) -> Iterator[Step]:
        """Yield the same in reverse."""
        return self._walk(_PREVIOUS, _BEHIND_ALL, states)

    def set(
        self,
        step: Step,
        state: State,
        *,
        before: Record | None = None,
        sent: dict[str, Any] | None = None,
        after: Record | None = None,
        error: str | None = None,
    ) -> Step:
        """Note how far a step is; return it as it is now. What is not given stays as it is."""
        error = None if error is None else one_line(error, _LONGEST)
        given: dict[str, Any] = {"before": before, "sent": sent, "after": after, "error": error}
        known = replace(step, state=state, **{name: value for name, value in given.items() if value is not None})
        records = [None if one is None else json.dumps(one) for one in (known.before, known.sent, known.after)]
        with self.journal.usable():
            self.journal.db.execute(_SET, (state, *records, known.error, moment.now(), self.run, step.number))
        return known

    def to_restore(self) -> tuple[State, ...]:
        """Return the states of the steps that are to be restored; after a way back, those that were in conflict."""
        return ("conflict",) if self.entry.phase == "undone" else ("sent", "done")

    def has(self, *states: State) -> bool:
        return bool(self.counts().keys() & set(states))

    def counts(self) -> dict[State, int]:
        query = "SELECT state, count(*) FROM steps WHERE run = ? GROUP BY state ORDER BY state"
        with self.journal.usable():
            return dict(self.journal.db.execute(query, (self.run,)).fetchall())

    def _walk(self, query: str, number: int, states: tuple[State, ...]) -> Iterator[Step]:
        while True:
            with self.journal.usable():
                row = self.journal.db.execute(query, (self.run, number)).fetchone()
            if row is None:
                return
            number = row[0]
            if not states or row[6] in states:
                yield _step(row)


def _row(run: str, number: int, change: Change) -> tuple[Any, ...]:
    texts = (json.dumps(change.wanted), json.dumps(change.fields))
    state: State = "left_out" if change.problem else "planned"
    return (run, number, change.operation, change.subject, change.title, *texts, state, change.problem)


def _step(row: tuple[Any, ...]) -> Step:
    number, operation, subject, title, wanted, fields, state, before, sent, after, error = row
    change = Change(
        operation=operation,
        subject=subject,
        title=title,
        wanted=json.loads(wanted),
        fields=[Field(*one) for one in json.loads(fields)],
    )
    before, sent, after = (None if one is None else json.loads(one) for one in (before, sent, after))
    return Step(number=number, change=change, state=state, before=before, sent=sent, after=after, error=error)
