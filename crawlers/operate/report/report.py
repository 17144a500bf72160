"""The report as an HTML file, and the templates that the pages of the dashboard extend."""

from __future__ import annotations

import json
from typing import IO, TYPE_CHECKING, Any

from jinja2 import Environment, PackageLoader, StrictUndefined

from crawlers.kind import registered
from crawlers.operate import formatting
from crawlers.operate.report import text
from crawlers.operate.report.files import Filter, files, write_csv
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
    made.globals.update(source_href=_nowhere, run_href=_nowhere, dataset_href=_nowhere, files_href=_nowhere)
    made.globals["file_href"] = _served
    return made


def _nowhere(*_: str) -> None:
    """Return no address: the report is one page."""


def _served(row: dict[str, Any]) -> str | None:
    """Return where a file is served, if ARCHIVE_CACHE_URL is set."""
    return text.link(row["cache_url"])


_BUFFER = 200  # pieces of the template in one write


def write(
    db: sqlite3.Connection,
    file: IO[bytes],
    named: Sequence[str] | None = None,
    now: datetime | None = None,
    current: Sequence[Run] = (),
    *,
    listed: str | None = None,
) -> None:
    """Write one self-contained HTML page; see `crawlers.operate.report.overview_data` for the other arguments.

    Args:
        listed: the name of the CSV file of `write_links`, which the page links.

    Raises:
        SourcesError: a source does not exist.
    """
    db.execute("BEGIN")  # all figures are of one moment, whatever is written meanwhile
    try:
        known = overview(db, named, now, current)
        linked = files(db, _chosen(named))
    finally:
        db.execute("ROLLBACK")
    stream = environment().get_template("report.html").stream(overview=known, files=linked, listed=listed)
    stream.enable_buffering(_BUFFER)
    stream.dump(file, encoding="utf-8", errors="replace")


def has_files(db: sqlite3.Connection, named: Sequence[str] | None = None) -> bool:
    """Return whether there is an archive among the sources."""
    return files(db, _chosen(named)) is not None


def write_links(db: sqlite3.Connection, file: IO[bytes], named: Sequence[str] | None = None) -> None:
    """Write the last copies and the broken links as CSV: see `crawlers.operate.report.files`."""
    file.writelines(write_csv(db, _chosen(named)))


def _chosen(named: Sequence[str] | None) -> Filter:
    return Filter(json.dumps(list(named)) if named else None)
