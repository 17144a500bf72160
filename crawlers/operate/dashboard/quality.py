"""The quality of the metadata: of all sources, of one with its publishers, and of one publisher."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from flask import abort, request

from crawlers.operate.dashboard import addresses
from crawlers.operate.dashboard.api import check
from crawlers.store import timeseries
from crawlers.store.figures import quality as figures
from crawlers.store.figures.series import Lines, values

if TYPE_CHECKING:
    import sqlite3

    from crawlers.operate.dashboard.site import Site
    from crawlers.store.figures.quality import Assessment

_PUBLISHERS = 200
_NOT_STATED = "-"  # the publisher in an address of the datasets that name none


def sources(site: Site) -> str:
    """Return the page that compares the sources."""
    with site.index() as db:
        names = site.sources(db)
        made = {name: site.remembered.get(("quality", name), partial(_of_source, db, name)) for name in names}
    groups = {(name, None): found for name, (found, _) in made.items() if found.datasets}
    return site.render("quality_of_sources.html", page="quality", groups=groups, dimension_names=figures.DIMENSIONS)


def source(site: Site, source: str) -> str:
    """Return the page of a source, or of one of its publishers."""
    publisher = addresses.text(request.args, "publisher")
    with site.index() as db:
        check(source, site.sources(db))
        whole, publishers = site.remembered.get(("quality", source), partial(_of_source, db, source))
        trend = None if publisher else _trend(db, source)
    found = publishers.get(None if publisher == _NOT_STATED else publisher) if publisher else whole
    if found is None:
        abort(404, f"There is no publisher {publisher!r:.100} of {source} here.")
    return site.render(
        "quality_of_source.html",
        page="quality",
        source=source,
        publisher=publisher,
        found=found,
        trend=trend,
        groups={} if publisher else {(source, name): one for name, one in list(publishers.items())[:_PUBLISHERS]},
        more=max(0, len(publishers) - _PUBLISHERS),
        dimension_names=figures.DIMENSIONS,
    )


def _of_source(db: sqlite3.Connection, source: str) -> tuple[Assessment, dict[str | None, Assessment]]:
    publishers = figures.by_publisher(db, source)
    return figures.together(publishers.values()), publishers


def _trend(db: sqlite3.Connection, source: str) -> Lines:
    """Return the per cent of each dimension on the days on which the source was observed."""
    days = timeseries.days(db, source)
    metrics = {name: f"{figures.METRIC}{name}" for name in figures.DIMENSIONS}
    known = values(db, source, days, list(metrics.values()), [source])
    return Lines(days, {name.capitalize(): known[metric, source] for name, metric in metrics.items()})
