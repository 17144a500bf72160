"""``scrapy runspider``: Scrapy's own; it runs the spider of a file, and writes no run."""

from __future__ import annotations

from scrapy.commands import runspider

from crawlers.operate.strict_command import UnrecordedCommand


class Command(UnrecordedCommand, runspider.Command):
    """Leaves nothing in OUTPUT_DIR."""
