"""``scrapy timeseries``: what was observed of a source, by day."""

from __future__ import annotations

import argparse
from contextlib import closing
from pathlib import Path

from crawlers.exceptions import ExportError
from crawlers.operate.strict_command import ProjectCommand


class Command(ProjectCommand):
    """Exit code: 0 shown or written, 1 no such source, metric or subject, or not written, 3 a source can't be read."""

    sources = slice(1)
    takes = "SOURCE [--metric NAME ...] [--subject NAME ...] [--since DAY] [-o x.csv|x.parquet]"
    summary = "Show the time series of a source, or write it as CSV or Parquet"
    description = "A metric also selects its parts: --metric format selects format:CSV, format:PDF ..."

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        super().add_options(parser)
        for name in ("metric", "subject"):
            parser.add_argument(
                f"--{name}", nargs="+", action="extend", metavar="NAME", default=[], help=f"only these {name}s"
            )
        parser.add_argument("--since", metavar="DAY", default="", help="only from this day on, such as 2026-11-20")
        parser.add_argument("-o", "--output", type=Path, metavar="FILE", help="x.csv or x.parquet; -: CSV to stdout")

    def execute(self, args: list[str], opts: argparse.Namespace) -> None:
        from crawlers.operate.timeseries import Selection, shown, write
        from crawlers.store.index.database import connect, readable

        if len(args) != 1:
            raise ExportError(f"scrapy timeseries takes {self.syntax()}: name one source, before the options.")
        output = self.path("OUTPUT_DIR")
        self.catch_up(args)
        with readable(output), closing(connect(output)) as db:
            selection = Selection(db, args[0], opts.metric, opts.subject, opts.since)
            if opts.output:
                write(selection, opts.output)
            else:
                for line in shown(selection):
                    print(line)
