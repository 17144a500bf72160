"""``scrapy export``: the datasets on disk, for other programs."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from crawlers.exceptions import ExportError
from crawlers.operate.console import print_error
from crawlers.operate.strict_command import ProjectCommand

if TYPE_CHECKING:
    import argparse

INCOMPLETE = 3


class Command(ProjectCommand):
    """Exit code: 0 written, 1 not written, 3 written without the documents that could not be read."""

    def syntax(self) -> str:
        return "--format FORMAT [-o FILE] [source ...]"

    def short_desc(self) -> str:
        return "Write the datasets on disk as DCAT-AP, CSV, Parquet or Croissant"

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        from crawlers.store.export.writers import WRITERS

        super().add_options(parser)
        parser.add_argument("--format", required=True, choices=WRITERS, help=", ".join(WRITERS))
        parser.add_argument("-o", "--output", type=Path, metavar="FILE", help="default and -: standard output")

    def execute(self, args: list[str], opts: argparse.Namespace) -> None:
        self.lost = 0
        self._write(args, opts)
        self.exitcode = INCOMPLETE if self.lost else 0

    def _write(self, args: list[str], opts: argparse.Namespace) -> None:
        from crawlers.store.export import holdings
        from crawlers.store.export.target import target
        from crawlers.store.export.writers import BINARY, WRITERS

        file_given = None if str(opts.output) == "-" else opts.output
        if opts.format in BINARY and not file_given:
            raise ExportError(f"{opts.format} is a binary format: name a file with -o FILE.")
        output = self.path("OUTPUT_DIR")
        datasets = holdings.items(output, holdings.sources(output, args), self._report)
        with target(file_given) as file:
            WRITERS[opts.format](datasets, file)

    def _report(self, sentence: str) -> None:
        self.lost += 1
        print_error(sentence)
