"""``scrapy export``: what the index holds, for other programs."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from crawlers.commands._voice import speaking, tell
from crawlers.exceptions import ExportError
from crawlers.export import holdings
from crawlers.export.target import target
from crawlers.export.writers import BINARY, WRITERS
from crawlers.strict_command import StrictCommand

if TYPE_CHECKING:
    import argparse

INCOMPLETE = 3


class Command(StrictCommand):
    """Exit code: 0 written, 1 not written, 3 written without the documents that could not be read."""

    requires_project = True
    requires_crawler_process = False
    default_settings: ClassVar[dict[str, Any]] = {"LOG_ENABLED": False}

    def syntax(self) -> str:
        return "--format FORMAT [-o FILE] [source ...]"

    def short_desc(self) -> str:
        return "Write the datasets on disk as DCAT-AP, CSV, Parquet or Croissant"

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        super().add_options(parser)
        parser.add_argument("--format", required=True, choices=WRITERS, help=", ".join(WRITERS))
        parser.add_argument("-o", "--output", type=Path, metavar="FILE", help="default, and -: standard output")

    def run(self, args: list[str], opts: argparse.Namespace) -> None:
        self.lost = 0
        with speaking(self):
            self._write(args, opts)
            self.exitcode = INCOMPLETE if self.lost else 0

    def _write(self, args: list[str], opts: argparse.Namespace) -> None:
        file_given = None if str(opts.output) == "-" else opts.output
        if opts.format in BINARY and not file_given:
            raise ExportError(f"{opts.format} is no text: name a file with -o FILE.")
        output = Path(self.settings["OUTPUT_DIR"])  # type: ignore[index]
        datasets = holdings.items(output, holdings.sources(output, args), self._tell)
        with target(file_given) as file:
            WRITERS[opts.format](datasets, file)

    def _tell(self, sentence: str) -> None:
        self.lost += 1
        tell(sentence)
