"""``scrapy learn``: writes a rules file from a page and what the user sees on it."""

from __future__ import annotations

import argparse
from typing import Any

from scrapy.exceptions import UsageError

from crawlers.operate.strict_command import ProjectCommand


class Command(ProjectCommand):
    reads_output = False

    requires_crawler_process = True

    takes = '<URL|FILE> [--value title="..."] [--label license="Lizenz"] [--more URL ...] [--list URL] [-o FILE]'
    summary = "Learn the rules of an HTML catalogue from a page and what you see on it"
    description = (
        "Finds the fields of a dataset's page, and writes rules for `scrapy crawl html` that find them on every page. "
        "--value and --label correct what it finds by itself, and add to it; --without leaves a field out. "
        "Exit code: 0 learned, 1 not learned."
    )

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        super().add_options(parser)
        group = parser.add_argument_group(title="What to learn")
        repeated: dict[str, Any] = {"action": "append", "default": [], "metavar": "FIELD=TEXT"}
        group.add_argument("--value", **repeated, help="what the page shows; repeat it for each value of a list")
        group.add_argument("--label", **repeated, help="the label beside or above the value")
        group.add_argument("--without", action="append", default=[], metavar="FIELD", help="a field to leave out")
        group.add_argument("--more", nargs="+", default=[], metavar="URL", help="more pages to check the rules on")
        group.add_argument("--list", dest="listing", metavar="URL", help="a listing, to learn links and pager")
        group.add_argument("--browser", action="store_true", help="load the pages in a browser")
        group.add_argument("--encoding", help="of the pages, where they declare a wrong one")
        group.add_argument("-o", "--output", metavar="FILE", help="default: standard output")
        group.add_argument("--force", action="store_true", help="overwrite FILE")

    def execute(self, args: list[str], opts: argparse.Namespace) -> None:
        from crawlers.operate.learn.command import learn_rules

        if not args and opts.more:
            raise UsageError("--more takes all addresses that follow: put the page before it", print_help=False)
        if len(args) != 1:
            raise UsageError("name one dataset's page, as an address or a file", print_help=False)
        learn_rules(self, args[0], opts)
