# ruff: noqa: N999 -- it is the command's name
"""``scrapy try``: shows what a rules file extracts from single pages, without a crawl."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scrapy.exceptions import UsageError

from crawlers.operate.strict_command import ProjectCommand

if TYPE_CHECKING:
    import argparse

MISSING = 3


class Command(ProjectCommand):
    """Exit code: 0 every page has what the rules require, 1 not tried, 3 something required is missing."""

    requires_crawler_process = True

    def syntax(self) -> str:
        return "[--list] [--json] <RULES> [URL|FILE ...]"

    def short_desc(self) -> str:
        return "Show what a rules file extracts from a page"

    def long_desc(self) -> str:
        return (
            "Shows what a rules file finds on datasets' pages, or on a listing: an address of `start`, or any page "
            "with --list. Without a page it uses `start`. "
            "Exit code: 0 all found, 1 not tried, 3 something required is missing."
        )

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        super().add_options(parser)
        parser.add_argument("--list", dest="listing", action="store_true", help="the pages are listings")
        parser.add_argument("--json", action="store_true", help="as JSON")

    def execute(self, args: list[str], opts: argparse.Namespace) -> None:
        from crawlers.operate.learn.preview import preview

        if not args:
            raise UsageError("name a rules file and a page, as an address or a file", print_help=False)
        self.exitcode = 0 if preview(self, args, opts) else MISSING
