"""``scrapy changes``: which datasets changed since a moment."""

from __future__ import annotations

import argparse
import sys
from contextlib import closing
from datetime import UTC, datetime, timedelta

from crawlers.exceptions import OutputError, SourcesError, hint
from crawlers.operate.strict_command import ProjectCommand, check_sources
from crawlers.records.moment import beginning, is_date, written


class Command(ProjectCommand):
    sources = slice(1)
    takes = "[SOURCE] [--since TIME] [--status STATUS,...] [--format FORMAT]"
    summary = "List the datasets that changed since a moment, and which of their fields"
    description = (
        "The newest first; by default since yesterday began, in each source's time zone. Exports are left out. "
        "Exit code: 0 shown, 1 no such source or status, 3 a source can't be read, or has a wrong time zone."
    )

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        from crawlers.operate.changes import FORMATS
        from crawlers.store.figures.overview import STATUSES

        super().add_options(parser)
        parser.add_argument("--since", metavar="TIME", help="2026-11-20 (its beginning), 2026-11-20T10:00Z")
        parser.add_argument("--status", metavar="STATUS,...", help=f"only these: {', '.join(STATUSES)}")
        parser.add_argument("--format", choices=FORMATS, default="table", help=f"{', '.join(FORMATS)}; default: table")

    def execute(self, args: list[str], opts: argparse.Namespace) -> None:
        from crawlers.operate.changes import FORMATS, Changes
        from crawlers.store.figures.changes import Kept
        from crawlers.store.index.database import connect, readable
        from crawlers.store.index.index import sources_in
        from crawlers.store.versions import FILE

        if len(args) > 1:
            raise self.misuse(self.usage(args))
        output = self.path("OUTPUT_DIR")
        known = sources_in(output)
        check_sources(args, known, output, OutputError)
        statuses = _statuses(opts.status)
        since = self._since(opts.since, args or known)
        self.catch_up(args or None)
        with readable(output), closing(connect(output)) as db, Kept(output) as kept:
            found = Changes(db, kept, since, statuses, is_one=bool(args), dashboard=self.settings["DASHBOARD_URL"])
            FORMATS[opts.format](found, sys.stdout)
            for source in (source for source in since if kept.of(source) is None):
                self.tell_damage(f"{output / source / FILE} can't be read: which fields changed is left out.")

    def _since(self, text: str | None, sources: list[str]) -> dict[str, str]:
        """Return the moment that ``--since`` means for each source; without it, when yesterday began there."""
        from crawlers.store.sources_file import listed, zone_in

        self.moment("--since", text)
        tables = listed(self.path("SOURCES_FILE")) if text is None or is_date(text) else {}
        found = {}
        for source in sources:
            try:
                zone = zone_in(tables, source)
            except SourcesError as error:
                self.tell_damage(f"{error} Until that is right, its days are those of UTC.")
                zone = UTC
            day = text or (datetime.now(zone).date() - timedelta(days=1)).isoformat()
            found[source] = written(beginning(day, zone), "milliseconds")
        return found


def _statuses(text: str | None) -> list[str]:
    """Return the statuses that are named; all if none is.

    Raises:
        OutputError: one is none.
    """
    from crawlers.store.figures.overview import STATUSES

    wanted = [*dict.fromkeys(word.strip() for word in text.split(","))] if text is not None else [*STATUSES]
    for word in wanted:
        if word not in STATUSES:
            there = ", ".join(STATUSES)
            raise OutputError(f"--status: {word!r:.100} is not a status.{hint(word, STATUSES)} There are: {there}.")
    return wanted
