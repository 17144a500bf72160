"""The report as an HTML file or as Markdown, and the templates that the pages of the dashboard extend.

Text from portals is shown, but without effect on the page.
"""

from __future__ import annotations

import json
import re
import unicodedata
from base64 import b64encode
from hashlib import sha256
from importlib.resources import files as resources
from typing import IO, TYPE_CHECKING, Any
from urllib.parse import urlsplit

from jinja2.ext import Extension
from markupsafe import Markup

from crawlers.exceptions import with_command
from crawlers.kind import registered
from crawlers.operate.jinja import templates
from crawlers.operate.report import chart
from crawlers.records.markup import as_text
from crawlers.safety.redact import redact
from crawlers.store.figures import formatting
from crawlers.store.figures.files import Filter, files, write_csv
from crawlers.store.figures.overview import overview
from crawlers.store.figures.runs import time_left

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Callable, Sequence
    from datetime import datetime

    from jinja2 import Environment

    from crawlers.store.runs import Run


_MARKS = 3  # combining marks on one letter: more than any script needs, fewer than hide the lines around them
_UNSEEN = frozenset(("Cc", "Cf", "Cs", "Zl", "Zp"))  # controls, bidi overrides, lone surrogates, line separators
_KEPT = "\n\t\u200c\u200d"  # all the same: the last two are joiners, in Persian, Hindi and emoji
_ODD = re.compile(r"[^\n -~\u00a0-\u00ac\u00ae-\u02ff]")


def inert(value: Any) -> Any:
    r"""Return a text without characters that affect the rest of a page; ``None`` becomes empty, other values pass.

    >>> inert("a\x00b\u202ec")
    'abc'
    >>> len(inert("Z" + "\u0301" * 200))
    4
    """
    if value is None:
        return ""
    if not isinstance(value, str) or isinstance(value, Markup) or not _ODD.search(value):
        return value
    return "".join(_seen(value))


def _seen(text: str) -> list[str]:
    kept, marks = [], 0
    for letter in text:
        kind = unicodedata.category(letter)
        marks = marks + 1 if kind in ("Mn", "Me") else 0
        if letter in _KEPT or (marks <= _MARKS and kind not in _UNSEEN):
            kept.append(letter)
    return kept


_ACTIVE = re.compile(r"[&<>|\\`*_~\[\]!#@$^{}]|:(?=//)|(?i:(?<=www)\.)")
"""What GitHub's Markdown acts on within a line: markup, tables, links, mentions, formulas."""


def plain(value: Any) -> Any:
    r"""Return a text as one line of GitHub's Markdown that shows it, and nothing else; other values pass.

    >>> plain("a|b <i> *c*\nwww.example.org")
    'a&#124;b &#60;i&#62; &#42;c&#42; www&#46;example.org'
    """
    if not isinstance(value, str):
        return inert(value)
    return _ACTIVE.sub(lambda found: f"&#{ord(found[0])};", re.sub(r"\s+", " ", inert(value)))


def cut(value: str | None, length: int = 120) -> str:
    """Return the beginning of a text, cut at the end of a word if possible.

    >>> cut("River levels of the north", 15)
    'River levels of…'
    >>> cut("x" * 99, 5)
    'xxxxx…'
    """
    text = " ".join(inert((value or "")[: 4 * length]).split())
    if len(text) <= length and len(value or "") <= 4 * length:
        return text
    words = text[: length + 1].rpartition(" ")[0]
    return (words if len(words) > length // 2 else text[:length]) + "…"


def link(value: str | None) -> str | None:
    """Return an address that a page may link to: http or https, with a host and without a password.

    >>> link("https://example.org/a b")
    'https://example.org/a%20b'
    >>> link("javascript:alert(1)"), link("https://me:secret@example.org/"), link(None)
    (None, None, None)
    """
    address = str(inert(value or "")).strip().replace(" ", "%20")
    try:
        parts = urlsplit(address)
        usable = parts.scheme in ("http", "https") and bool(parts.hostname) and "@" not in parts.netloc
    except ValueError:
        return None
    return address if usable and len(address) <= 2000 else None


_FILTERS: dict[str, Callable[..., Any]] = {
    "number": formatting.number,
    "percent": formatting.percent,
    "bytes": formatting.size,
    "date": formatting.date,
    "ago": formatting.ago,
    "duration": formatting.duration,
    "left": time_left,
    "link": link,
    "redacted": redact,  # addresses and arguments may have tokens in them
    "cut": cut,
    "words": as_text,
    "spark": chart.spark,
    "trend": chart.trend,
    "draw_growth": chart.draw_growth,
    "draw_lines": chart.draw_lines,
    "draw_columns": chart.draw_columns,
}
_BUFFER = 200  # pieces of the template in one write
SCRIPT = resources("crawlers.operate.report").joinpath("templates/tables.js").read_text(encoding="utf-8")
"""What makes tables sortable, and renews the pages of the dashboard; every page can be read without it."""


class Commands(Extension):
    """Lets templates name the command that was called, as messages do."""

    def preprocess(self, source: str, name: str | None, filename: str | None = None) -> str:
        """Return the template's text with that command."""
        return with_command(source)


def environment() -> Environment:
    """Return the templates: ``page.html`` to extend, ``overview.html`` to include, ``plots.html`` to import from.

    The dashboard replaces these globals, which return the address of a page; in the report there is no such page:
    ``source_href(source)``, ``run_href(source, run)``, ``dataset_href(source, dataset_id)``,
    ``profile_href(source, profile_id)``.
    """
    made = templates("crawlers.operate.report", extensions=[Commands], finalize=inert)
    made.filters.update(_FILTERS)
    made.globals["resource_name"] = formatting.resource_name
    made.globals["first_kind"] = next(iter(registered().values()))
    pages = ("source_href", "run_href", "dataset_href", "files_href", "profile_href")
    made.globals.update(dict.fromkeys(pages, lambda *_: None), sources_page="", now_page="", live=0)
    made.globals["file_href"] = lambda row: link(row["cache_url"])  # where it is served, if ARCHIVE_CACHE_URL is set
    made.globals["script"] = Markup(SCRIPT)  # noqa: S704 -- our own
    made.globals["script_hash"] = b64encode(sha256(SCRIPT.encode()).digest()).decode()
    return made


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
    db: sqlite3.Connection,
    file: IO[bytes],
    named: Sequence[str] | None = None,
    current: Sequence[Run] = (),
    complete: Callable[[dict[str, Any]], dict[str, Any]] | None = None,
) -> None:
    """Write the sources, their last runs and their errors as GitHub's Markdown, less than 1 MiB.

    That is what GitHub takes in $GITHUB_STEP_SUMMARY. The arguments and errors are those of `write`.
    """
    markdown = environment().overlay(autoescape=False, finalize=plain, keep_trailing_newline=True)
    known = overview(db, named, current=current, is_brief=True)
    known = complete(known) if complete else known
    markdown.get_template("summary.md").stream(overview=known).dump(file, encoding="utf-8", errors="replace")


def has_files(db: sqlite3.Connection, named: Sequence[str] | None = None) -> bool:
    """Return whether there is an archive among the sources."""
    return files(db, _chosen(named)) is not None


def write_links(db: sqlite3.Connection, file: IO[bytes], named: Sequence[str] | None = None) -> None:
    """Write the last copies and the broken links as CSV: see `crawlers.store.figures.files`."""
    file.writelines(write_csv(db, _chosen(named)))


def _chosen(named: Sequence[str] | None) -> Filter:
    return Filter(json.dumps(list(named)) if named else None)
