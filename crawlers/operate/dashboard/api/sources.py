"""The sources: those of sources.toml, and those that are only on disk."""

from __future__ import annotations

import sqlite3
from itertools import islice
from types import SimpleNamespace
from typing import TYPE_CHECKING

from flask import abort

from crawlers.exceptions import hint
from crawlers.operate.dashboard.api.answers import Source, Sources
from crawlers.operate.dashboard.api.questions import OneSource, Page, cursor, next_page, position
from crawlers.operate.dashboard.site import Site
from crawlers.operate.sources.listing import AllSources
from crawlers.safety.redact import one_line

if TYPE_CHECKING:
    from collections.abc import Iterable


def sources(site: Site, asked: Page) -> Sources:
    """List the sources, those of sources.toml and those that are only on disk."""
    (after,) = position(asked.after, tuple[str]) if asked.after else ("",)
    with site.index() as db:
        known = _all(site, db)
        names = list(islice((name for name in known.names if name > after), asked.limit + 1))
        found = [Source.from_fields(SimpleNamespace(**row)) for row in known.described(names[: asked.limit])]
    more = cursor(names[asked.limit - 1]) if len(names) > asked.limit else None
    return Sources(sources=found, next=next_page("/api/sources", asked, more))


def source(site: Site, asked: OneSource) -> Source:
    """Describe a source."""
    with site.index() as db:
        known = _all(site, db)
        check(asked.source, known.names)
        (row,) = known.described([asked.source])
    return Source.from_fields(SimpleNamespace(**row))


def names_of(site: Site, db: sqlite3.Connection) -> list[str]:
    """Return the names of all sources, sorted."""
    return _all(site, db).names


def check(name: str, names: Iterable[str]) -> None:
    """Check that a source exists.

    Raises:
        NotFound: there is none of that name.
    """
    if name not in (known := list(names)):
        abort(404, f"There is no source {one_line(name, 100)!r} here.{hint(name, known)}")


def _all(site: Site, db: sqlite3.Connection) -> AllSources:
    return AllSources(db, site.output, site.jobs, site.listed)
