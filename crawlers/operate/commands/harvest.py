"""``scrapy harvest``: crawls the sources of sources.toml, here as processes or on Scrapyd nodes."""

from __future__ import annotations

import argparse

from crawlers.exceptions import CrawlersError
from crawlers.operate.console import open_streams, print_error
from crawlers.operate.strict_command import ProjectCommand


class Command(ProjectCommand):
    takes_valid_settings_only = False  # its own and a crawl's are checked there

    takes = "NAME ... | --all | --due [--parallel N] [--dry-run] [--scrapyd URL ... | --queue URL [--wait]]"
    summary = "Crawl the sources of sources.toml"
    description = (
        "Crawl sources of sources.toml: the named ones, all enabled ones, or those that are due. Exit code: "
        "0 all complete or partial (stopped by a limit of yours), 1 nothing could start, 3 some incomplete, "
        "4 some blocked, failed or not started, 130 interrupted."
    )

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        super().add_options(parser)
        add = parser.add_argument
        add("--all", action="store_true", help="all enabled sources")
        add("--due", action="store_true", help="sources that are due by their schedule; for cron and systemd")
        add("--parallel", default="2", metavar="N", help="number of parallel crawls (default: 2)")
        nodes = "crawl on these nodes (default: SCRAPYD_NODES)"
        add("--scrapyd", nargs="+", action="extend", default=[], metavar="URL", help=nodes)
        add("--queue", metavar="URL", help="leave the crawls to the nodes that work on this queue (default: QUEUE)")
        add("--wait", action="store_true", help="with --queue: wait for the crawls; Ctrl-C stops them on their nodes")
        add("--dry-run", action="store_true", help="print what would be done, and do nothing")
        add("-v", "--verbose", action="store_true", help="with --due: print a line even if nothing is due")

    def run(self, args: list[str], opts: argparse.Namespace) -> None:
        """Harvest; if the output can't be written, the harvest goes on."""
        from crawlers.operate.harvest.crawls import Harvesting
        from crawlers.operate.harvest.harvest import NOTHING_STARTED

        open_streams()
        self.exitcode = NOTHING_STARTED
        try:
            self.exitcode = Harvesting(self.settings, opts).run(args)
        except CrawlersError as error:
            print_error(error)
