"""``scrapy report``: the state of all sources as one HTML page."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

from crawlers.operate.console import print_error
from crawlers.operate.strict_command import ProjectCommand

if TYPE_CHECKING:
    import argparse


class Command(ProjectCommand):
    """Exit code: 0 written, 1 not written."""

    def syntax(self) -> str:
        return "[-o FILE] [source ...]"

    def short_desc(self) -> str:
        return "Write an HTML page: sources, runs, changes, errors and the datasets' metadata"

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        super().add_options(parser)
        parser.add_argument(
            "-o",
            "--output",
            type=Path,
            metavar="FILE",
            default=Path("report.html"),
            help="default: report.html in the working directory; -: standard output",
        )

    def execute(self, args: list[str], opts: argparse.Namespace) -> None:
        self._write(args, None if str(opts.output) == "-" else opts.output)

    def _write(self, args: list[str], file: Path | None) -> None:
        from crawlers.operate.report.report import has_files, write, write_links
        from crawlers.store.export.target import target
        from crawlers.store.index import catch_up
        from crawlers.store.index.reader import connect, readable
        from crawlers.store.runs import unfinished

        output, jobs = self.path("OUTPUT_DIR"), self.path("JOBS_DIR")
        catch_up(output, print_error, args)
        with readable(output), closing(connect(output)) as db:
            links = _beside(file) if file and has_files(db, args) else None
            with target(file) as into:
                write(db, into, args, current=unfinished(output, jobs), listed=links.name if links else None)
            if links:
                with target(links) as into:
                    write_links(db, into, args)
        if file:
            print(f"Wrote {file}{f' and {links}' if links else ''}.")


def _beside(page: Path) -> Path:
    """Return the CSV file of a page.

    >>> _beside(Path("out/report.html")).name
    'report.broken-links.csv'
    """
    return page.with_name(f"{page.stem}.broken-links.csv")
