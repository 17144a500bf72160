"""Lines that came in a file since the index has read it: they become rows, some hundred in a transaction."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from crawlers.store.index.database import transaction
from crawlers.store.index.removal import forget_rows

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Callable, Iterator

T = TypeVar("T")

ROWS = 500
"""Lines of a transaction."""


def store(
    db: sqlite3.Connection,
    table: str,
    source: str,
    *,
    span: tuple[int | None, int],
    lines: Callable[[int], Iterator[tuple[int, T | None]]],
    put: Callable[[list[T]], None],
    note: Callable[[int], None],
) -> None:
    """Store what a source's file has and a table lacks; all of it if the file is another one.

    Args:
        span: the offset to which the file was read, ``None`` of another file, and its end.
        lines: yields from an offset on where each line ends, and what it says; ``None`` for one that no crawl wrote.
        put: stores what some lines say.
        note: notes to which offset the file was read.
    """
    begin, size = span
    if begin is None:
        forget_rows(db, table, source)
        with transaction(db):
            note(0)
        begin = 0
    if begin == size:
        return
    batch: list[T] = []
    end = begin
    for end, line in lines(begin):
        batch += [line] if line else []
        if len(batch) >= ROWS:
            _store(db, batch, end, put, note)
            batch = []
    _store(db, batch, end, put, note)


def _store(
    db: sqlite3.Connection, batch: list[T], end: int, put: Callable[[list[T]], None], note: Callable[[int], None]
) -> None:
    with transaction(db):
        put(batch)
        note(end)
