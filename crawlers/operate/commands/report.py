"""``scrapy report``: the state of all sources as one HTML page, or as Markdown."""

from __future__ import annotations

from contextlib import closing
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from crawlers.operate.strict_command import ProjectCommand

if TYPE_CHECKING:
    import argparse
    import sqlite3
    from collections.abc import Callable


class Command(ProjectCommand):
    """Exit code: 0 written, 1 not written, 3 written, and a source can't be read."""

    sources = slice(None)
    takes = "[--format html|markdown] [-o FILE] [source ...]"
    summary = "Write an HTML page: sources, runs, changes, errors and the datasets' metadata"

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        super().add_options(parser)
        parser.add_argument(
            "-o",
            "--output",
            type=Path,
            metavar="FILE",
            help="default: report.html in the working directory, of Markdown standard output; -: standard output",
        )
        markdown = "markdown: only sources, runs and errors, for $GITHUB_STEP_SUMMARY (default: html)"
        parser.add_argument("--format", choices=("html", "markdown"), default="html", help=markdown)

    def execute(self, args: list[str], opts: argparse.Namespace) -> None:
        default = "-" if opts.format == "markdown" else "report.html"
        file = opts.output or Path(default)
        self._write(args, None if str(file) == "-" else file, opts.format)

    def _write(self, args: list[str], file: Path | None, form: str) -> None:
        from crawlers.operate.report.report import has_files, write, write_links, write_summary
        from crawlers.store.export.output import target
        from crawlers.store.index.database import connect, readable
        from crawlers.store.runs import unfinished

        output, jobs = self.path("OUTPUT_DIR"), self.path("JOBS_DIR")
        self.catch_up(args)
        with readable(output), closing(connect(output)) as db:
            is_page = form == "html"
            links = _beside(file) if is_page and file and has_files(db, args) else None
            current = unfinished(output, jobs)
            with target(file) as into:
                if is_page:
                    write(
                        db,
                        into,
                        args,
                        current=current,
                        linked=links.name if links else None,
                        complete=self._completed(db, args),
                    )
                else:
                    write_summary(db, into, args, current, self._completed(db, args))
            if links:
                with target(links) as into:
                    write_links(db, into, args)
        if file:
            print(f"Wrote {file}{f' and {links}' if links else ''}.")

    def _completed(self, db: sqlite3.Connection, names: list[str]) -> Callable[[dict[str, Any]], dict[str, Any]] | None:
        """Return what adds the sources of sources.toml to the overview; ``None`` if there is no such file."""
        listed = self.path("SOURCES_FILE")
        if not listed.exists():
            return None
        from crawlers.operate.sources.listing import with_all

        output, jobs = self.path("OUTPUT_DIR"), self.path("JOBS_DIR")
        return partial(with_all, db=db, output=output, jobs=jobs, listed=listed, names=names or None)


def _beside(page: Path) -> Path:
    """Return the CSV file of a page.

    >>> _beside(Path("out/report.html")).name
    'report.broken-links.csv'
    """
    return page.with_name(f"{page.stem}.broken-links.csv")
