"""``scrapy report``: what the index knows, as one HTML page."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from crawlers.commands._voice import speaking, tell
from crawlers.export.target import target
from crawlers.index import catch_up
from crawlers.index.reader import connect, readable
from crawlers.strict_command import StrictCommand

if TYPE_CHECKING:
    import argparse


class Command(StrictCommand):
    """Exit code: 0 written, 1 not written."""

    requires_project = True
    requires_crawler_process = False
    default_settings: ClassVar[dict[str, Any]] = {"LOG_ENABLED": False}

    def syntax(self) -> str:
        return "[-o FILE] [source ...]"

    def short_desc(self) -> str:
        return "Write an HTML page: sources, runs, changes, errors and what the datasets are like"

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        super().add_options(parser)
        parser.add_argument(
            "-o",
            "--output",
            type=Path,
            metavar="FILE",
            default=Path("report.html"),
            help="default: report.html where you are; -: standard output",
        )

    def run(self, args: list[str], opts: argparse.Namespace) -> None:
        with speaking(self):
            self._write(args, None if str(opts.output) == "-" else opts.output)

    def _write(self, args: list[str], file: Path | None) -> None:
        from crawlers.report.report import write  # noqa: PLC0415 -- Jinja takes 90 ms, and every command imports this file
        from crawlers.report.unfinished import unfinished  # noqa: PLC0415

        output, jobs = (Path(self.settings[name]) for name in ("OUTPUT_DIR", "JOBS_DIR"))  # type: ignore[index]
        catch_up(output, self._tell, args)
        with readable(output), closing(connect(output)) as db, target(file) as into:
            write(db, into, args, current=unfinished(output, jobs))
        if file:
            print(f"{file} is written.")

    def _tell(self, sentence: str) -> None:
        tell(sentence)
