"""``scrapy ecosystem``: the weekly run of the CKAN ecosystem, and its CSV files."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from pathlib import Path

from crawlers.operate.strict_command import ProjectCommand, Verb


class Command(ProjectCommand):
    verbs: Mapping[str, Verb] = {
        "run": Verb("crawlers.operate.ecosystem:run", (), 0, 0),
        "csv": Verb("crawlers.operate.ecosystem:write_csv", (), 1),
    }

    takes = "run [--catalogue URL] [--publish-to URL] [--yes] [--dry-run] [--skip STAGE] | csv DIR [SOURCE ...]"
    summary = "Crawl the CKAN ecosystem's portals and extensions, and publish what was found"
    description = (
        "run crawls the portals and the extensions of a catalogue, writes the CSV files, and publishes to a CKAN "
        "portal: records, then time series. An interrupted run is continued by the same command. csv writes the "
        "files alone. Exit code: 0 complete, 1 nothing could start, 3 incomplete or in conflict, 4 blocked, failed "
        "or not published, 130 interrupted."
    )

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        from crawlers.operate.ecosystem import CATALOGUE, STAGES

        super().add_options(parser)
        add = parser.add_argument
        add("--catalogue", metavar="URL", help=f"the CKAN portal that lists them; default {CATALOGUE}")
        add("--publish-to", metavar="URL", help="the CKAN portal to write to; default: write nothing")
        add("--yes", action="store_true", help="publish without asking")
        add("--dry-run", action="store_true", help="crawl, show what would be published, and write nothing")
        add("--skip", action="append", default=[], choices=STAGES, metavar="STAGE", help=f"one of {', '.join(STAGES)}")
        most = "publish nothing if more of the portals that were up are not up now (default 10)"
        add("--max-down", default="10", metavar="PERCENT", help=most)
        add("--csv", type=Path, default=Path("csv"), metavar="DIR", help="where run writes CSV files (default csv)")

    def named(self, args: list[str], opts: argparse.Namespace) -> list[str]:
        """Return the sources whose files are written."""
        return args[2:] if args[:1] == ["csv"] else []

    def execute(self, args: list[str], opts: argparse.Namespace) -> None:
        verb, names = self.verb(args, opts)
        self.exitcode = verb.function(self, names, opts)
