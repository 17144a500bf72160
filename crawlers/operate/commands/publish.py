"""``scrapy publish``: writes what was harvested back to a CKAN portal, after a plan, with a journal and a way back."""

from __future__ import annotations

import argparse
import sys
from typing import Any

from crawlers.exceptions import CrawlersError, hint
from crawlers.operate.console import MISTAKE, open_streams, print_error
from crawlers.operate.strict_command import StrictCommand, Verb


class Command(StrictCommand):
    requires_project = True

    takes = (
        "sites|extensions|timeseries|archive|datasets [SOURCE] --to URL [--yes] [--dry-run] [--full] | --rollback RUN"
    )
    summary = "Write what was harvested back to a CKAN portal"
    description = (
        "Shows a plan, field by field, and asks; without a terminal, --yes approves it. Each record is "
        "written, read back and compared; if one fails for good, all that was written is restored. The token is "
        "in the environment: PUBLISH_TOKEN_ENV names the variable (CKAN_API_KEY). Exit code: 0 complete, or not "
        "approved, 1 not started, 3 a record is in conflict, 4 rolled back or failed, 130 interrupted."
    )

    def usage(self, args: list[str]) -> str:
        meant = hint(args[0], self.verbs) if args and args[0] not in self.verbs else ""
        return f"scrapy publish takes: {'|'.join(self.verbs)} [SOURCE] --to URL, or --rollback RUN.{meant}"

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        from crawlers.publish.targets import TARGETS

        super().add_options(parser)
        self.verbs = {name: Verb("", target.options, 0, 1) for name, target in TARGETS.items()}
        parser.add_argument("--to", metavar="URL", help="the CKAN portal that is written to")
        parser.add_argument("--yes", action="store_true", help="write without asking")
        parser.add_argument("--dry-run", action="store_true", help="show the plan, and write nothing")
        parser.add_argument("--full", action="store_true", help="show every record and every field of the plan")
        parser.add_argument("--dataset", metavar="NAME", help="timeseries: the portal's dataset that has the table")
        parser.add_argument("--resource", metavar="NAME", help="timeseries: its resource (default: Time series)")
        first = "timeseries: the first day that is compared (default: the first one there is)"
        parser.add_argument("--since", metavar="DAY", help=first)
        owner = "datasets: the organization that owns the packages (default: as sources.toml says)"
        parser.add_argument("--organization", metavar="NAME", help=owner)
        listed = "datasets: the portal's harvest source that lists the packages, by id, name or address (default: none)"
        parser.add_argument("--harvest-source", metavar="SOURCE", help=listed)
        most = "datasets: delete nothing if more of the source's packages would be deleted (default 50)"
        parser.add_argument("--max-deleted", metavar="PERCENT", help=most)
        parser.add_argument("--rollback", metavar="RUN", help="undo a publish, by the name of its run")

    def process_options(self, args: list[str], opts: argparse.Namespace) -> None:
        """Read the options; a terminal shows the plan, and no log below warnings unless it is asked for."""
        open_streams()  # before the log is configured, which writes to them
        super().process_options(args, opts)
        if sys.stderr.isatty() and self.settings.getpriority("LOG_LEVEL") < 40:  # type: ignore[operator]
            self.settings.set("LOG_LEVEL", "WARNING", "spider")
        if opts.dry_run:
            from crawlers.operate.unrecorded import leave_nothing

            leave_nothing(self.settings)

    def run(self, args: list[str], opts: argparse.Namespace) -> None:
        """Publish."""
        try:
            self.exitcode = self._publish(args, opts)
        except CrawlersError as error:
            self.exitcode = MISTAKE
            print_error(error)

    def _publish(self, args: list[str], opts: argparse.Namespace) -> int:
        from crawlers.operate.commands.crawl import conclude, has_started
        from crawlers.operate.mirrored import bring_up
        from crawlers.operate.publish import Publishing
        from crawlers.publish.spider import PublishSpider
        from crawlers.store.runs import EXIT_CODES

        bring_up(self.settings, args[1:])
        publishing = Publishing(self, opts)
        given = publishing.arguments(args)
        crawler = self.crawler_process.create_crawler(PublishSpider)
        publishing.connect(crawler)
        crawl: Any = self.crawler_process.crawl(crawler, **given)
        self.crawler_process.start()
        if not has_started(crawl, logged=bool(self.settings["LOG_FILE"])):
            return MISTAKE
        if not opts.dry_run:
            return conclude(crawler)
        return 0 if crawler.stats.get_value("finish_reason") == "finished" else EXIT_CODES["failed"]
