"""The overview, which is the report with what runs now; the sources; and one of them with all that is known of it."""

from __future__ import annotations

import json
from functools import partial
from typing import TYPE_CHECKING, Any

from flask import abort, request

from crawlers.operate.dashboard import addresses
from crawlers.operate.dashboard.addresses import Paging, live, some
from crawlers.operate.dashboard.changes import feed_of
from crawlers.operate.sources.listing import described_row, read_all
from crawlers.store.columns import opened
from crawlers.store.figures import contents, overview
from crawlers.store.figures.contents import Described, descriptions
from crawlers.store.figures.ecosystem import ecosystem, kind_of, with_trends
from crawlers.store.figures.files import Filter, files
from crawlers.store.figures.overview import counts, errors, flaws, newest_flaws
from crawlers.store.figures.runs import reported
from crawlers.store.figures.series import source_charts
from crawlers.store.timeseries import is_archive

if TYPE_CHECKING:
    import sqlite3

    from crawlers.operate.dashboard.site import Site


NOW = "/now"
"""The address of `running`."""
_SIZE = 25
_RUNS = 10
_CHANGES = 20


def home(site: Site) -> str:
    """Return the page of the overview."""
    current = site.unfinished()
    now = [run for run in current if not run.over]  # those that crashed need attention
    shown = {"overview": site.overview(current), "current": now, "now_page": NOW}
    return site.render("home.html", page="home", **shown, **live(current))


def running(site: Site) -> str:
    """Return what runs now, without the rest of the pages that show it: they are renewed from here."""
    now = [run for run in site.unfinished() if not run.over]
    return site.render("now.html", current=now, **live(now))


def sources(site: Site) -> str:
    """Return the page of the sources."""
    current = site.unfinished()
    overview = site.overview(current, is_brief=True)
    return site.render("sources.html", overview=overview, page="sources", now_page=NOW, **live(current))


def source(site: Site, source: str) -> str:
    """Return the page of a source."""
    at_work = site.unfinished(source)
    number = addresses.page_number(request.args)
    with site.index() as db:
        row = _table(site, db, source)
        if row is None and not at_work:
            abort(404, f"There is no source {source} here.")
        known = {(run.source, run.run) for run in at_work}
        last = list(reported(db, {"source": source, "state": ""}, _RUNS, known))
        about = site.remembered.get(("source", source), partial(_about, db, source))
        kind = about["ecosystem"]
        gone, more = some(kind["rows"] if kind else overview.withdrawn(db, source), number, _SIZE)
        profiles = with_trends(db, source, kind["kind"], gone) if kind else []
    return site.render(
        "source.html",
        page="sources",
        source=source,
        row=row,
        current=at_work,
        dead=any(run.state == "interrupted" for run in at_work),
        runs=last,
        about=about,
        gone=gone,
        profiles=profiles,
        feed=feed_of(source=source),
        paging=Paging(addresses.source(source), {}, number, more),
        **live(at_work),
    )


def _table(site: Site, db: sqlite3.Connection, source: str) -> dict[str, Any] | None:
    """Return the source's row among all sources; ``None`` if there is none of that name."""
    known, _ = read_all(db, site.output, site.jobs, site.listed)
    return described_row(next(known.described([source]))) if source in known.names else None


def _about(db: sqlite3.Connection, source: str) -> dict[str, Any]:
    named, kind = json.dumps([source]), kind_of(db, source)
    with opened(db, [source]) as columns:
        known = descriptions(columns, [source])
        content = {
            "counts": counts(db, source, known.get(source, Described())),
            "formats": contents.formats(columns, [source]),
            "licences": contents.licences(columns, [source]),
            "completeness": contents.completeness(known),
        }
    return {
        **content,
        "ecosystem": kind and ecosystem(db, source, kind),
        "series": source_charts(db, source),
        "errors": errors(db, named),
        "flaws": flaws(db, source),
        "flawed": newest_flaws(db, source, _CHANGES),
        "files": files(db, Filter(named)),
        "is_archive": is_archive(db, source),
        "changes": overview.latest(db, named, _CHANGES),
        "fields": list(contents.FIELDS.values()),
    }
