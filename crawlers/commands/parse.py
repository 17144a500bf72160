"""``scrapy parse``: Scrapy's own; it tries a spider out, and writes no run."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scrapy.commands import parse

from crawlers.commands._unrecorded import leave_nothing
from crawlers.strict_command import StrictCommand

if TYPE_CHECKING:
    import argparse


class Command(StrictCommand, parse.Command):
    """Leaves nothing in OUTPUT_DIR, tells nobody, and counts for no schedule."""

    def process_options(self, args: list[str], opts: argparse.Namespace) -> None:
        """Read the options, and take out what records a run."""
        super().process_options(args, opts)
        leave_nothing(self.settings)  # type: ignore[arg-type]
