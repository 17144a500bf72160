"""The report as an HTML file, and the templates that the pages of the dashboard extend."""

from __future__ import annotations

from typing import IO, TYPE_CHECKING

from jinja2 import Environment, PackageLoader, StrictUndefined

from crawlers.kind import registered
from crawlers.operate import formatting
from crawlers.operate.report import text
from crawlers.operate.report.overview_data import overview

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Sequence
    from datetime import datetime

    from crawlers.store.runs import Run


def environment() -> Environment:
    """Return the templates: ``page.html`` to extend, ``overview.html`` to include, ``plots.html`` to import from.

    The dashboard replaces these globals, which return the address of a page; in the report there is no such page:
    ``source_href(source)``, ``run_href(source, run)``, ``dataset_href(source, dataset_id)``.
    """
    made = Environment(
        loader=PackageLoader("crawlers.operate.report"),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=text.inert,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters.update(
        number=formatting.number,
        percent=formatting.percent,
        bytes=formatting.size,
        date=formatting.date,
        ago=formatting.ago,
        duration=formatting.duration,
        link=text.link,
        cut=text.cut,
    )
    made.globals["first_kind"] = next(iter(registered().values()))
    made.globals.update(source_href=_nowhere, run_href=_nowhere, dataset_href=_nowhere)
    return made


def _nowhere(*_: str) -> None:
    """Return no address: the report is one page."""


_BUFFER = 200  # pieces of the template in one write


def write(
    db: sqlite3.Connection,
    file: IO[bytes],
    named: Sequence[str] | None = None,
    now: datetime | None = None,
    current: Sequence[Run] = (),
) -> None:
    """Write one self-contained HTML page; see `crawlers.operate.report.overview_data` for the arguments.

    Raises:
        SourcesError: a source does not exist.
    """
    db.execute("BEGIN")  # all figures are of one moment, whatever is written meanwhile
    try:
        known = overview(db, named, now, current)
    finally:
        db.execute("ROLLBACK")
    stream = environment().get_template("report.html").stream(overview=known)
    stream.enable_buffering(_BUFFER)
    stream.dump(file, encoding="utf-8", errors="replace")
