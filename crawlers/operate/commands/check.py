"""``scrapy check``: Scrapy's own; no spider here has contracts, so it only checks that the spiders import."""

from __future__ import annotations

from scrapy.commands import check

from crawlers.operate.strict_command import StrictCommand


class Command(StrictCommand, check.Command):
    """Checks contracts; the spiders here have none."""

    summary = "Only check that the spiders import: they have no contracts"
