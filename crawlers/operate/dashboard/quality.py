"""The quality of the metadata: of all sources, of one with its publishers, and of one publisher."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from flask import abort, request

from crawlers.operate.dashboard.api import check
from crawlers.store import timeseries
from crawlers.store.figures import quality as figures
from crawlers.store.figures.series import Lines, values

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Sequence

    from crawlers.operate.dashboard.site import Site
    from crawlers.store.figures.quality import Assessment

_PUBLISHERS = 200


def sources(site: Site) -> str:
    """Return the page that compares the sources."""
    with site.index() as db:
        groups = site.remembered.get(("quality", ""), partial(_of_sources, db, site.sources(db)))
    return site.render("quality_of_sources.html", page="quality", groups=groups, dimension_names=figures.DIMENSIONS)


def source(site: Site, source: str) -> str:
    """Return the page of a source, or of one of its publishers."""
    publisher, is_stated = request.args.get("publisher"), request.args.get("stated") != "no"
    is_one = publisher is not None or not is_stated
    with site.index() as db:
        check(source, site.sources(db))
        whole, publishers = site.remembered.get(("quality", source), partial(_of_source, db, source))
        trend = None if is_one else _trend(db, source)
    found = publishers.get(publisher) if is_one else whole
    if found is None:
        abort(404, f"There is no publisher {publisher!r:.100} of {source} here.")
    return site.render(
        "quality_of_source.html",
        page="quality",
        source=source,
        publisher=publisher,
        found=found,
        trend=trend,
        is_stated=is_stated,
        groups={} if is_one else {(source, name): one for name, one in list(publishers.items())[:_PUBLISHERS]},
        more=max(0, len(publishers) - _PUBLISHERS),
        dimension_names=figures.DIMENSIONS,
    )


def _of_sources(db: sqlite3.Connection, names: Sequence[str]) -> dict[tuple[str, None], Assessment]:
    found = {(name, None): figures.assessment(db, name) for name in names}
    return {name: one for name, one in found.items() if one.datasets}


def _of_source(db: sqlite3.Connection, source: str) -> tuple[Assessment, dict[str | None, Assessment]]:
    publishers = figures.by_publisher(db, source)
    return figures.together(publishers.values()), publishers


def _trend(db: sqlite3.Connection, source: str) -> Lines:
    """Return the per cent of each dimension on the days on which the source was observed."""
    days = timeseries.days(db, source)
    metrics = {name: f"{figures.METRIC}{name}" for name in figures.DIMENSIONS}
    known = values(db, source, days, list(metrics.values()), [source])
    return Lines(days, {name.capitalize(): known[metric, source] for name, metric in metrics.items()})
