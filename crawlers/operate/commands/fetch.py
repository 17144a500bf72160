"""``scrapy fetch``: Scrapy's own; it prints an answer, and writes no run even if a spider is named."""

from __future__ import annotations

from scrapy.commands import fetch

from crawlers.operate.strict_command import UnrecordedCommand


class Command(UnrecordedCommand, fetch.Command):
    """Leaves nothing in OUTPUT_DIR."""
