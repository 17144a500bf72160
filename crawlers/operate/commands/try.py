# ruff: noqa: N999 -- it is the command's name
"""``scrapy try``: shows what a rules file, or an API's declaration, extracts from single pages, without a crawl."""

from __future__ import annotations

import argparse
import tomllib
from pathlib import Path

from scrapy.exceptions import UsageError

from crawlers.operate.strict_command import ProjectCommand

MISSING = 3


def _is_declaration(name: str) -> bool:
    """Return whether a text names the declaration of an API: there is no such file, or it has a ``[list]``."""
    path = Path(name)
    try:
        return "list" in tomllib.loads(path.read_text(encoding="utf-8-sig")) if path.is_file() else not path.suffix
    except (OSError, ValueError, RecursionError):
        return False


class Command(ProjectCommand):
    reads_output = False

    requires_crawler_process = True

    takes = "[--list] [--json] [--save] [--check] <RULES|DECLARATION> [URL|FILE ...]"
    summary = "Show what a rules file, or the declaration of an API, extracts from a page"
    description = (
        "Shows what a rules file finds on datasets' pages, or on a listing: an address of `start`, or any page "
        "with --list. Without a page it uses `start`. "
        "Of the declaration of a JSON API, by its name or its file, it shows how many records of a page fill each "
        "field; a page is an address or a saved answer, and the portal's address stands for the first page. "
        "--save keeps the pages beside the rules file, with what was found; --check compares these with what is "
        "found now. Exit code: 0 all found, 1 not tried, 3 something required is missing, or differs."
    )

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        super().add_options(parser)
        parser.add_argument("--list", dest="listing", action="store_true", help="the pages are listings")
        parser.add_argument("--json", action="store_true", help="as JSON")
        parser.add_argument("--save", action="store_true", help="keep the pages, with what is found, as tests")
        parser.add_argument("--check", action="store_true", help="compare the saved pages with what is found now")

    def execute(self, args: list[str], opts: argparse.Namespace) -> None:
        if not args:
            raise UsageError("name a rules file and a page, as an address or a file", print_help=False)
        if opts.check and (opts.save or len(args) > 1):
            raise UsageError("--check takes a rules file only: it checks the pages that were saved", print_help=False)
        if _is_declaration(args[0]):
            if opts.save or opts.check:
                raise UsageError("--save and --check are for rules files", print_help=False)
            from crawlers.operate.learn.declared_page import preview
        else:
            from crawlers.operate.learn.preview import preview
        self.exitcode = 0 if preview(self, args, opts) else MISSING
