"""A source: its status, its runs, its datasets, what changed, and what was withdrawn."""

from __future__ import annotations

import json
from functools import partial
from typing import TYPE_CHECKING, Any

from flask import abort, request

from crawlers.operate.dashboard import addresses, parameters
from crawlers.operate.dashboard.pages import runs
from crawlers.operate.dashboard.parameters import Paging, live, some
from crawlers.operate.report import contents
from crawlers.operate.report.errors import errors
from crawlers.operate.report.files import Filter, files

if TYPE_CHECKING:
    import sqlite3

    from crawlers.operate.dashboard.site import Site

_SIZE = 25
_RUNS = 10
_COUNTS = """
    SELECT count(*) FILTER (WHERE NOT withdrawn) AS datasets, count(*) FILTER (WHERE withdrawn) AS withdrawn,
        coalesce(sum(resources) FILTER (WHERE NOT withdrawn), 0) AS resources
    FROM datasets WHERE source = ?
"""
_CHANGES = """
    SELECT time, status, dataset_id, run, title, datasets.id IS NOT NULL AS known
    FROM (SELECT * FROM changes WHERE source = ? ORDER BY time DESC LIMIT 20)
    LEFT JOIN datasets USING (source, dataset_id) ORDER BY time DESC
"""
_IS_ARCHIVE = "SELECT EXISTS (SELECT 1 FROM captures_read WHERE source = ?)"
_WITHDRAWN = """
    SELECT d.dataset_id, d.title, d.publisher,
        (SELECT max(time) FROM changes c WHERE c.source = d.source AND c.dataset_id = d.dataset_id
            AND c.status = 'withdrawn') AS time
    FROM datasets d WHERE source = ? AND withdrawn ORDER BY 4 DESC, 1
"""


def page(site: Site, source: str) -> str:
    """Return the page of a source."""
    at_work = site.unfinished(source)
    number = parameters.page(request.args)
    with site.index() as db:
        if source not in site.sources(db) and not at_work:
            abort(404, f"There is no source {source} here.")
        known = {(run.source, run.run) for run in at_work}
        last = list(runs.reported(db, {"source": source, "state": ""}, _RUNS, known))
        gone, more = some(db.execute(_WITHDRAWN, (source,)), number, _SIZE)
        about = site.remembered.get(("source", source), partial(_about, db, source))
    return site.render(
        "source.html",
        page="sources",
        source=source,
        current=at_work,
        dead=any(run.state == "interrupted" for run in at_work),
        runs=last,
        about=about,
        gone=gone,
        paging=Paging(addresses.source(source), {}, number, more),
        **live(at_work),
    )


def _about(db: sqlite3.Connection, source: str) -> dict[str, Any]:
    named = json.dumps([source])
    return {
        "counts": dict(db.execute(_COUNTS, (source,)).fetchone()),
        "errors": errors(db, named),
        "files": files(db, Filter(named)),
        "is_archive": db.execute(_IS_ARCHIVE, (source,)).fetchone()[0],
        "changes": [dict(row) for row in db.execute(_CHANGES, (source,))],
        "formats": contents.formats(db, named),
        "licences": contents.licences(db, named),
        "fields": list(contents.FIELDS.values()),
        "completeness": contents.completeness(db, named),
    }
