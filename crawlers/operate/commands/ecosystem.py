"""``scrapy ecosystem``: the weekly run of the CKAN ecosystem, and its CSV files."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from crawlers.exceptions import HarvestError
from crawlers.operate.console import print_lines
from crawlers.operate.ecosystem import CATALOGUE, STAGES
from crawlers.operate.strict_command import ProjectCommand

if TYPE_CHECKING:
    import argparse


class Command(ProjectCommand):
    """Exit code: 0 complete, 1 not started, 3 incomplete or conflicts, 4 failed or not published, 130 interrupted."""

    verbs = ("run", "csv")

    def syntax(self) -> str:
        return "run [--catalogue URL] [--publish-to URL] [--yes] [--dry-run] [--skip STAGE] | csv DIR [SOURCE ...]"

    def short_desc(self) -> str:
        return "Crawl the CKAN ecosystem's portals and extensions, and publish what was found"

    def long_desc(self) -> str:
        return (
            "run crawls the portals and the extensions of a catalogue, writes the CSV files, and publishes to a CKAN "
            "portal: records, then time series. An interrupted run is continued by the same command. csv writes the "
            "files alone. Exit code: 0 complete, 1 nothing could start, 3 incomplete or in conflict, 4 blocked, failed "
            "or not published, 130 interrupted."
        )

    def add_options(self, parser: argparse.ArgumentParser) -> None:
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

    def execute(self, args: list[str], opts: argparse.Namespace) -> None:
        match args:
            case ["run"]:
                from crawlers.operate.ecosystem.run import EcosystemRun

                self.exitcode = EcosystemRun(self.settings, opts).run()  # type: ignore[arg-type]
            case ["csv", folder, *sources]:
                self._write(Path(folder), sources)
            case _:
                raise HarvestError(self.usage(args))

    def _write(self, folder: Path, names: list[str]) -> None:
        """Write the CSV files of the sources that have portals or extensions.

        Raises:
            HarvestError: there is none, or there are several.
        """
        from crawlers.operate.ecosystem import tables
        from crawlers.publish.targets import TARGETS
        from crawlers.store.runs import last

        output, is_written = self.path("OUTPUT_DIR"), False
        for kind in tables.TABLES:
            found = [name for name in TARGETS[f"{kind}s"].sources(output) if not names or name in names]
            if len(found) > 1:
                raise HarvestError(f"Several sources have {kind}s: {', '.join(found)}. Name the one that you mean.")
            for name in found:
                run, is_written = last(output, name), True
                catalogue = run.arguments.get("catalogue", CATALOGUE) if run else CATALOGUE
                print_lines([tables.write(output, name, kind, catalogue, folder)])
        if not is_written:
            raise HarvestError(f"{output} has no portals and no extensions: scrapy ecosystem run finds them.")
