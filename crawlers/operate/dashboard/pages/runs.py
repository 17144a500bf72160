"""All runs, newest first: those without a report, then those that the index has."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, get_args

from flask import request

from crawlers.operate.dashboard import parameters
from crawlers.operate.dashboard.parameters import Paging, live, some
from crawlers.store.runs import State

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterator

    from crawlers.operate.dashboard.site import Site

SIZE = 50
_RUNS = """
    SELECT *,
        (SELECT group_concat(kind || ' ' || count, ', ') FROM run_errors e
        WHERE e.source = r.source AND e.run = r.run) AS errors
    FROM runs r WHERE (:source = '' OR source = :source) AND (:state = '' OR verdict = :state)
    ORDER BY started DESC, source LIMIT :limit
"""


def page(site: Site) -> str:
    """Return the page of the list of runs."""
    words = {name: parameters.text(request.args, name) for name in ("source", "state")}
    number = parameters.page(request.args)
    at_work = [run for run in site.unfinished(words["source"] or None) if words["state"] in ("", run.state)]
    with site.index() as db:
        sources = site.sources(db)
        known = {(run.source, run.run) for run in at_work}
        rows, more = some(reported(db, words, number * SIZE + len(known) + 1, known), number, SIZE)
    return site.render(
        "runs.html",
        page="runs",
        words=words,
        sources=sources,
        states=get_args(State),
        current=at_work if number == 1 else [],
        rows=rows,
        paging=Paging("/runs", words, number, more),
        **live(at_work),
    )


def reported(
    db: sqlite3.Connection, words: dict[str, str], limit: int, known: set[tuple[str, str | None]]
) -> Iterator[dict[str, Any]]:
    """Yield the runs that have a report, except those that were resumed and are running."""
    rows = db.execute(_RUNS, words | {"limit": limit})
    return (dict(row) for row in rows if (row["source"], row["run"]) not in known)
