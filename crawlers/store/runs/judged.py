"""Which runs are in some states, by the index: of the reports that it has read, only those to be shown are opened."""

from __future__ import annotations

import json
from contextlib import closing
from itertools import islice
from typing import TYPE_CHECKING

from crawlers.exceptions import IndexUnreadableError
from crawlers.store.index import reports
from crawlers.store.index.reader import connect, readable

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Collection, Iterator
    from pathlib import Path

_RUNS = """
SELECT source, run FROM runs WHERE verdict IN (SELECT value FROM json_each(?))
ORDER BY finished <= strftime('%Y-%m-%dT%H:%M', 'now', '+1 hour') DESC, finished DESC, run DESC
"""  # a run that ended in the future had a wrong clock


def judged(
    output: Path, sources: Collection[str], states: Collection[str], limit: int | None
) -> list[tuple[str, str]] | None:
    """Return the reports of runs that may be in some states, each a source and a file; ``None`` without an index.

    Those that the index has not read are among them: it cannot know what they say.

    Args:
        limit: the number of runs that are known to be in these states, those that ended last; by default all.
    """
    try:
        with readable(output), closing(connect(output)) as db:
            return [(source, f"{run}.json") for source, run in _judged(db, output, sources, states, limit)]
    except IndexUnreadableError:
        return None


def _judged(
    db: sqlite3.Connection, output: Path, sources: Collection[str], states: Collection[str], limit: int | None
) -> Iterator[tuple[str, str]]:
    found = {source: reports.differences(db, output / source) for source in sources}
    waiting = {(source, run) for source, (unread, _) in found.items() for run in unread}
    yield from waiting
    rows = db.execute(_RUNS, (json.dumps(list(states)),))
    there = ((source, run) for source, run in rows if source in found and run not in found[source][1])
    yield from islice((key for key in there if key not in waiting), limit)
