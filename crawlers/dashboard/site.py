"""What every page needs: the folders, the index, the templates."""

from __future__ import annotations

import sqlite3
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any

from jinja2 import ChoiceLoader, Environment, PackageLoader, PrefixLoader

from crawlers.damaged_database import identity
from crawlers.dashboard import addresses
from crawlers.dashboard.remembered import Remembered
from crawlers.exceptions import CrawlersError, IndexUnreadableError
from crawlers.index import catch_up
from crawlers.index.database import NAME
from crawlers.index.reader import connect
from crawlers.report import environment
from crawlers.report.advice import ADVICE
from crawlers.report.natural import natural
from crawlers.report.overview import known
from crawlers.report.sources import chosen
from crawlers.report.standing import standing
from crawlers.report.unfinished import unfinished
from crawlers.runs import sources
from crawlers.safety.redact import redact
from crawlers.signals import KINDS

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    from crawlers.runs import Run

_NAMES = "SELECT source FROM sources"
_DATASET = "SELECT 1 FROM datasets WHERE source = ? AND dataset_id = ?"


class Site:
    """
    Args:
        output: OUTPUT_DIR.
        jobs: JOBS_DIR, for the runs that a harvest has queued.
        logs: LOGS_DIR; without it no log is shown.
    """

    def __init__(self, output: Path, jobs: Path | None, logs: Path | None) -> None:
        self.output = output
        self.jobs = jobs
        self.logs = logs
        self.templates = _templates()
        self.remembered = Remembered(output)
        self.file = identity(output / NAME)

    @contextmanager
    def index(self) -> Iterator[sqlite3.Connection]:
        """The index, read-only, until the page is made.

        Raises:
            IndexUnreadableError: there is none, or it is of another version.
        """
        db = connect(self.output)
        try:
            yield db
        finally:
            db.close()

    def overview(self, current: list[Run]) -> dict[str, Any]:
        """
        Args:
            current: the runs that have no report, as they are now.
        """
        return standing(self.remembered.get("overview", self._known), current)

    def unfinished(self, source: str | None = None) -> list[Run]:
        """The runs that have no report, of one source or of all."""
        return unfinished(self.output, self.jobs, source)

    def warm(self) -> None:
        """Make the overview, if it can be made, before somebody asks for it."""
        with suppress(CrawlersError, sqlite3.Error):
            self._complete()
            self.overview([])

    def _complete(self) -> None:
        """Bring an index that is another file than before up to date: a crawl that replaced it wrote its own source."""
        found = identity(self.output / NAME)
        if found != self.file:
            self.file = found
            catch_up(self.output)

    def sources(self, db: sqlite3.Connection) -> list[str]:
        """Those in the index, and those whose first run is still at work."""
        return sorted({name for (name,) in db.execute(_NAMES)} | set(sources(self.output)), key=natural)

    def described(self, keys: Iterable[tuple[str, str]]) -> set[tuple[str, str]]:
        """Which of some datasets, each a source and an id, have a page: those that the index has."""
        try:
            with self.index() as db:
                return {key for key in set(keys) if db.execute(_DATASET, key).fetchone()}
        except (IndexUnreadableError, sqlite3.DatabaseError):
            return set()

    def render(self, template: str, **known: Any) -> str:
        return self.templates.get_template(template).render(known)

    def _known(self) -> dict[str, Any]:
        with self.index() as db:
            return known(db, chosen(db))


def _templates() -> Environment:
    """The report's, and those here, which go before them: "report/style.css" is the report's own."""
    made = environment()
    reports = made.loader
    own = PackageLoader("crawlers.dashboard")
    made.loader = ChoiceLoader([own, reports, PrefixLoader({"report": reports})]) if reports else own
    made.filters["redacted"] = redact  # addresses and arguments may have tokens in them
    made.globals.update(
        source_href=addresses.source,
        dataset_href=addresses.dataset,
        run_href=addresses.run,
        here=addresses.here,
        meanings=KINDS,
        advice=ADVICE,
        query="",
        page="",
        live=0,
        still="",
    )
    return made
