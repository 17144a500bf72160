"""``scrapy parse``: Scrapy's own; it tests a callback on one page, and writes no run."""

from __future__ import annotations

from scrapy.commands import parse

from crawlers.operate.strict_command import UnrecordedCommand


class Command(UnrecordedCommand, parse.Command):
    """Leaves nothing in OUTPUT_DIR."""
