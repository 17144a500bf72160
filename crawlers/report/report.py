"""The report as a file."""

from __future__ import annotations

from typing import IO, TYPE_CHECKING

from crawlers.report.environment import environment
from crawlers.report.overview import overview

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Sequence
    from datetime import datetime

    from crawlers.runs import Run

_BUFFER = 200  # pieces of the template that are written at once


def write(
    db: sqlite3.Connection,
    file: IO[bytes],
    named: Sequence[str] | None = None,
    now: datetime | None = None,
    current: Sequence[Run] = (),
) -> None:
    """One self-contained HTML page, written as it is made; see `crawlers.report.overview` for the arguments.

    Raises:
        SourcesError: there is no source of a name.
    """
    db.execute("BEGIN")  # all figures are of one moment, whoever writes meanwhile
    try:
        known = overview(db, named, now, current)
    finally:
        db.execute("ROLLBACK")
    stream = environment().get_template("report.html").stream(overview=known)
    stream.enable_buffering(_BUFFER)
    stream.dump(file, encoding="utf-8", errors="replace")
