"""``scrapy fetch``: Scrapy's own; it writes no run, also where a spider is named."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scrapy.commands import fetch

from crawlers.commands._unrecorded import leave_nothing
from crawlers.strict_command import StrictCommand

if TYPE_CHECKING:
    import argparse


class Command(StrictCommand, fetch.Command):
    """Leaves nothing in OUTPUT_DIR, tells nobody, and counts for no schedule."""

    def process_options(self, args: list[str], opts: argparse.Namespace) -> None:
        """Read the options, and take out what records a run."""
        super().process_options(args, opts)
        leave_nothing(self.settings)  # type: ignore[arg-type]
