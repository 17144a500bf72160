"""``scrapy sources``: the catalogues that are harvested, in sources.toml."""

from __future__ import annotations

from typing import TYPE_CHECKING

from crawlers.operate.strict_command import ProjectCommand

if TYPE_CHECKING:
    import argparse


class Command(ProjectCommand):
    """Exit code: 0 done, 1 not done, 3 a dry run that is neither complete nor partial."""

    requires_crawler_process = True
    takes_known_settings_only = False  # a table's settings are checked with the table

    def syntax(self) -> str:
        return "[--json] | add NAME [SPIDER] URL | validate [NAME ...] | enable|disable|remove NAME ..."

    def short_desc(self) -> str:
        return "List the sources of sources.toml; add, validate, enable, disable and remove them"

    def long_desc(self) -> str:
        return (
            "Without arguments: list the sources with their last verdict and their next run. add finds out what an "
            "address is, and writes the table, with the settings of -s. validate crawls at most 20 records of each "
            "source into a temporary folder, and shows what was found. "
            "Exit code: 0 done, 1 not done, 3 a dry run is neither complete nor partial."
        )

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        super().add_options(parser)
        parser.add_argument("--json", action="store_true", help="print the list as JSON")
        group = parser.add_argument_group(title="Adding")
        group.add_argument("--schedule", metavar="WHEN", help='"daily", "weekly sun 01:00-05:00", "15 3 * * *"')
        group.add_argument("--contact", metavar="TEXT", help="whom to ask at the catalogue; it is sent nowhere")
        group.add_argument("-a", dest="spargs", action="append", default=[], metavar="NAME=VALUE", help="an argument")
        group.add_argument(
            "--rules", metavar="FILE", help="file for learned rules; default: catalogues/NAME.toml beside sources.toml"
        )
        group.add_argument("--force", action="store_true", help="write the table without checking the address")

    def execute(self, args: list[str], opts: argparse.Namespace) -> None:
        from crawlers.operate.sources.command import execute

        self.exitcode = execute(self, args, opts)
