"""The report as an HTML file or as Markdown, and the templates that the pages of the dashboard extend."""

from __future__ import annotations

import json
from base64 import b64encode
from hashlib import sha256
from importlib.resources import files as resources
from typing import IO, TYPE_CHECKING, Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from crawlers.kind import registered
from crawlers.operate.report import chart, text
from crawlers.safety.redact import redact
from crawlers.store.figures import formatting
from crawlers.store.figures.files import Filter, files, write_csv
from crawlers.store.figures.overview import overview
from crawlers.store.figures.runs import time_left

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Callable, Sequence
    from datetime import datetime

    from crawlers.store.runs import Run


FILTERS: dict[str, Callable[..., Any]] = {
    "number": formatting.number,
    "percent": formatting.percent,
    "bytes": formatting.size,
    "date": formatting.date,
    "ago": formatting.ago,
    "duration": formatting.duration,
    "left": time_left,
    "link": text.link,
    "redacted": redact,  # addresses and arguments may have tokens in them
    "cut": text.cut,
    "spark": chart.spark,
    "trend": chart.trend,
    "draw_growth": chart.draw_growth,
    "draw_lines": chart.draw_lines,
    "draw_columns": chart.draw_columns,
}


SCRIPT = resources("crawlers.operate.report").joinpath("templates/tables.js").read_text(encoding="utf-8")
"""What makes tables sortable, and renews the pages of the dashboard; every page can be read without it."""


def environment() -> Environment:
    """Return the templates: ``page.html`` to extend, ``overview.html`` to include, ``plots.html`` to import from.

    The dashboard replaces these globals, which return the address of a page; in the report there is no such page:
    ``source_href(source)``, ``run_href(source, run)``, ``dataset_href(source, dataset_id)``,
    ``profile_href(source, profile_id)``.
    """
    made = Environment(
        loader=PackageLoader("crawlers.operate.report"),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=text.inert,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters.update(FILTERS)
    made.globals["first_kind"] = next(iter(registered().values()))
    made.globals.update(source_href=_nowhere, run_href=_nowhere, dataset_href=_nowhere, files_href=_nowhere)
    made.globals.update(profile_href=_nowhere, sources_page="", now_page="", live=0)
    made.globals["file_href"] = _served
    made.globals["script"] = Markup(SCRIPT)  # noqa: S704 -- our own
    made.globals["script_hash"] = b64encode(sha256(SCRIPT.encode()).digest()).decode()
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
    linked: str | None = None,
    complete: Callable[[dict[str, Any]], dict[str, Any]] | None = None,
) -> None:
    """Write one self-contained HTML page; see `crawlers.store.figures.overview` for the other arguments.

    Args:
        linked: the name of the CSV file of `write_links`, which the page links.
        complete: adds to the overview what the index does not know, the sources of sources.toml.

    Raises:
        SourcesError: a source does not exist.
    """
    db.execute("BEGIN")  # all figures are of one moment, whatever is written meanwhile
    try:
        known = overview(db, named, now, current)
        known = complete(known) if complete else known
        found = files(db, _chosen(named))
    finally:
        db.execute("ROLLBACK")
    stream = environment().get_template("report.html").stream(overview=known, files=found, linked=linked)
    stream.enable_buffering(_BUFFER)
    stream.dump(file, encoding="utf-8", errors="replace")


def write_summary(
    db: sqlite3.Connection, file: IO[bytes], named: Sequence[str] | None = None, current: Sequence[Run] = ()
) -> None:
    """Write the sources, their last runs and their errors as GitHub's Markdown, less than 1 MiB.

    That is what GitHub takes in $GITHUB_STEP_SUMMARY. The arguments and errors are those of `write`.
    """
    markdown = environment().overlay(autoescape=False, finalize=text.plain, keep_trailing_newline=True)
    known = overview(db, named, current=current, is_brief=True)
    markdown.get_template("summary.md").stream(overview=known).dump(file, encoding="utf-8", errors="replace")


def has_files(db: sqlite3.Connection, named: Sequence[str] | None = None) -> bool:
    """Return whether there is an archive among the sources."""
    return files(db, _chosen(named)) is not None


def write_links(db: sqlite3.Connection, file: IO[bytes], named: Sequence[str] | None = None) -> None:
    """Write the last copies and the broken links as CSV: see `crawlers.store.figures.files`."""
    file.writelines(write_csv(db, _chosen(named)))


def _chosen(named: Sequence[str] | None) -> Filter:
    return Filter(json.dumps(list(named)) if named else None)
