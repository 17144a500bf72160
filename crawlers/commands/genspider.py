"""``scrapy genspider``: Scrapy's own, with this project's template as the default."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scrapy.commands import genspider

if TYPE_CHECKING:
    import argparse


class Command(genspider.Command):
    def short_desc(self) -> str:
        return "Write a new catalogue's spider"

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        super().add_options(parser)
        parser.set_defaults(template="ckan")
