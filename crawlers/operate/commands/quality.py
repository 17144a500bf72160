"""``scrapy quality``: the quality of the metadata, and what to mend first."""

from __future__ import annotations

import argparse
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

from crawlers.exceptions import ExportError, OutputError
from crawlers.operate.console import print_error
from crawlers.operate.strict_command import ProjectCommand, check_sources

if TYPE_CHECKING:
    import sqlite3

    from crawlers.operate.quality import Groups
    from crawlers.store.figures.quality import Conforms

_OWN_SHAPES = "dcat-ap"


class Command(ProjectCommand):
    sources = slice(1)
    takes = "[SOURCE] [--by publisher] [--shapes dcat-ap|PATH ...] [--json|--csv] [-o FILE.html]"
    summary = "Show the quality of the metadata by the points of data.europa.eu, and what to mend first"
    description = (
        "Without SOURCE a line for each source. What is not known is left out: whether addresses answer without an "
        "archive of the source, whether datasets conform without --shapes. "
        "Exit code: 0 shown, 1 no such source, or not written, 3 a source or a document can't be read."
    )

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        super().add_options(parser)
        parser.add_argument("--by", choices=("publisher",), help="publisher: a line for each publisher of SOURCE")
        parser.add_argument(
            "--shapes",
            action="append",
            default=[],
            metavar="PATH",
            help=f"validate by SHACL shapes: {_OWN_SHAPES}, a file in Turtle, or a folder of such; repeatable",
        )
        form = parser.add_mutually_exclusive_group()
        form.add_argument("--json", action="store_true", help="write JSON")
        form.add_argument("--csv", action="store_true", help="write CSV: a row for each check")
        parser.add_argument(
            "-o", "--output", type=Path, metavar="FILE", help="write an HTML page to send, or --json, --csv"
        )

    def execute(self, args: list[str], opts: argparse.Namespace) -> None:
        from crawlers.store.index.database import connect, readable
        from crawlers.store.index.index import sources_in

        if len(args) > 1 or (opts.by and not args):
            raise self.misuse(self.usage(args))
        output = self.path("OUTPUT_DIR")
        known = sources_in(output)
        check_sources(args, known, output, OutputError)
        self.catch_up(args or None)
        conforms = self._validated(args, opts.shapes) if opts.shapes else None
        with readable(output), closing(connect(output)) as db:
            self._show(db, args or known, opts, conforms)

    def _show(
        self, db: sqlite3.Connection, sources: list[str], opts: argparse.Namespace, conforms: Conforms | None
    ) -> None:
        from crawlers.operate import quality
        from crawlers.store.export.output import target
        from crawlers.store.figures.quality import assessment, by_publisher

        def publishers(source: str) -> Groups:
            return {(source, name): found for name, found in by_publisher(db, source, conforms).items()}

        if opts.by:
            groups = publishers(sources[0])
        else:
            groups = {(source, None): assessment(db, source, conforms=conforms) for source in sources}
            groups = {name: found for name, found in groups.items() if found.datasets} or groups
        if not groups:
            print(f"{sources[0]} has no datasets.")
        elif opts.output or opts.json or opts.csv:
            file = None if opts.output is None or str(opts.output) == "-" else opts.output
            with target(file) as into:
                if opts.json:
                    into.write(quality.as_json(groups, opts.by))
                elif opts.csv:
                    into.writelines(quality.as_csv(groups, opts.by))
                else:
                    theirs = {} if opts.by else {name: publishers(name) for name, _ in groups}
                    quality.write_page(into, groups, opts.by or "source", theirs)
        else:
            is_one = len(groups) == 1 and not opts.by
            ((source, _), found), *_ = groups.items()
            for line in quality.as_text(source, found) if is_one else quality.as_table(groups, opts.by or "source"):
                print(line)

    def _validated(self, sources: list[str], shapes: list[str]) -> Conforms:
        """Return what says whether a dataset conforms to the shapes."""
        from crawlers.operate.quality import validated

        paths = [Path(each) for each in shapes if each != _OWN_SHAPES]
        if paths and len(paths) < len(shapes):
            raise ExportError(f"--shapes {_OWN_SHAPES} goes alone: other shapes are instead of it.")
        return validated(self.path("OUTPUT_DIR"), sources, paths, self._report)

    def _report(self, sentence: str) -> None:
        self.is_damaged = True
        print_error(sentence)
