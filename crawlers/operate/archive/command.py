"""What `scrapy archive` does: one function for each of its verbs, each with the holdings."""

from __future__ import annotations

from typing import TYPE_CHECKING

from crawlers.exceptions import DamagedError
from crawlers.operate.archive.holdings import Holdings
from crawlers.operate.console import print_error

if TYPE_CHECKING:
    import argparse

    from crawlers.operate.strict_command import ProjectCommand

DAMAGED = 3


def execute(command: ProjectCommand, args: list[str], opts: argparse.Namespace) -> int:
    """Do what the first word says; return the exit code.

    Raises:
        CrawlersError: a sentence for the user.
    """
    verb, names = command.verb(args, opts)
    settings = command.settings
    with Holdings(command.path("OUTPUT_DIR"), settings) as holdings:
        try:
            code = verb.function(holdings, names, opts)
        except DamagedError as error:
            print_error(error)
            return DAMAGED
        return int(code) or (DAMAGED if holdings.damaged else 0)
