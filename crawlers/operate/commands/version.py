"""``scrapy version``: of this project, and of Scrapy."""

from __future__ import annotations

import argparse

from scrapy.commands.version import Command as Scrapys

from crawlers.operate.strict_command import StrictCommand


class Command(StrictCommand, Scrapys):
    summary = "Print the versions of this project and of Scrapy"

    def run(self, args: list[str], opts: argparse.Namespace) -> None:
        """Print them, with -v those of the packages, too."""
        print(f"catalogue-crawlers {self.settings['VERSION']}")
        super().run(args, opts)
