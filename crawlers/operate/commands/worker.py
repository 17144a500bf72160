"""``scrapy worker``: crawls what the queue gives it, as one of several nodes."""

from __future__ import annotations

import argparse

from crawlers.exceptions import CrawlersError, HarvestError
from crawlers.operate.console import open_streams, print_error
from crawlers.operate.strict_command import ProjectCommand


class Command(ProjectCommand):
    takes = "--queue postgresql://HOST/DATABASE [--parallel N] [--due]"
    summary = "Crawl what a queue gives, as one of several nodes"
    description = (
        "Crawl the sources that `scrapy harvest --queue` puts into a queue in PostgreSQL, until it is stopped. "
        "User and password come from PGUSER and PGPASSWORD. Ctrl-C stops the crawls so that other nodes go on "
        "with them. Exit code: 0 stopped, 1 could not start."
    )

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        super().add_options(parser)
        add = parser.add_argument
        add("--queue", metavar="URL", help="the queue's database (default: QUEUE)")
        add("--parallel", default="2", metavar="N", help="number of parallel crawls (default: 2)")
        add("--due", action="store_true", help="put sources that are due into the queue, every minute")

    def run(self, args: list[str], opts: argparse.Namespace) -> None:
        """Work; if the output can't be written, the work goes on."""
        from crawlers.fleet import load
        from crawlers.operate.harvest.crawls import number
        from crawlers.operate.mirrored import bring_up
        from crawlers.operate.sources.source import Known

        open_streams()
        self.exitcode = 1
        try:
            if args:
                raise HarvestError(f"{self.usage(args)}; the queue names the sources.")
            address = opts.queue or self.settings["QUEUE"]
            if not address:
                raise HarvestError("No queue is named: --queue postgresql://host/database, or the setting QUEUE.")
            bring_up(self.settings, creates=True)
            node = load("worker").Node(
                *(self.settings, Known(self.settings), opts.set),
                parallel=number(opts.parallel),
                queue=address,
                defers_due=opts.due,
            )
            node.work()
            self.exitcode = 0
        except CrawlersError as error:
            print_error(error)
