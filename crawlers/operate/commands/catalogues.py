"""``scrapy catalogues``: which kinds of catalogue and catalogues there are, and what their spiders take."""

from __future__ import annotations

import argparse
import inspect
import json
from collections.abc import Iterator
from itertools import groupby
from typing import TYPE_CHECKING, Any

from scrapy.exceptions import UsageError
from scrapy.spiderloader import get_spider_loader

from crawlers.kind import registered
from crawlers.operate.console import reporting_errors
from crawlers.operate.strict_command import StrictCommand

if TYPE_CHECKING:
    from crawlers.listing.spider import CatalogueSpider


class Command(StrictCommand):
    requires_project = True
    requires_crawler_process = False
    default_settings = {"LOG_ENABLED": False}  # noqa: RUF012

    takes = "[--json] [spider]"
    summary = "List the catalogues by kind, or one spider's arguments"

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        super().add_options(parser)
        parser.add_argument("--json", action="store_true", help="print JSON")

    def run(self, args: list[str], opts: argparse.Namespace) -> None:
        spiders = self._spiders()
        for name in args:
            if name not in spiders:
                raise UsageError(f"there is no spider {name!r}; `scrapy list` names them", print_help=False)
        found = [_described(spider) for name, spider in spiders.items() if not args or name in args]
        lines = [*map(_line, found), _arguments(found[0])] if args else _by_kind(found)
        with reporting_errors(self):
            print(json.dumps(found, indent=2) if opts.json else "\n".join(lines))

    def _spiders(self) -> dict[str, type[CatalogueSpider]]:
        from crawlers.listing.spider import CatalogueSpider

        loader = get_spider_loader(self.settings)
        spiders = {name: loader.load(name) for name in sorted(loader.list())}
        return {name: spider for name, spider in spiders.items() if issubclass(spider, CatalogueSpider)}


def _described(spider: type[CatalogueSpider]) -> dict[str, Any]:
    own = {name: getattr(spider, name, None) for name in (spider.address, "level")}
    kind = registered().get(spider.kind)
    return {
        "name": spider.name,
        "kind": spider.kind or None,
        "description": inspect.getdoc(spider),
        "address": spider.address,
        "example": kind.example if kind else None,
        **own,
        "arguments": {
            name: {"help": argument.help, "default": own.get(name) or argument.default}
            for name, argument in spider.arguments.items()
        },
    }


def _by_kind(found: list[dict[str, Any]]) -> Iterator[str]:
    """Yield a heading for each kind of catalogue, with its catalogues below."""
    kinds = [*registered(), None]
    place = {name: number for number, name in enumerate(kinds)}
    found = sorted(found, key=lambda spider: place.get(spider["kind"], len(place)))
    for name, those in groupby(found, key=lambda spider: spider["kind"] if spider["kind"] in place else None):
        kind = registered().get(name or "")
        yield f"{kind.title} (-a {kind.address}={kind.example}):" if kind else "Other catalogues:"
        yield from map(_line, those)


def _arguments(spider: dict[str, Any]) -> str:
    lines = [f"\nscrapy crawl {spider['name']} takes:"]
    for name, argument in spider["arguments"].items():
        default = f" Default: {argument['default']}." if argument["default"] else ""
        lines.append(f"  -a {name + '=':<15} {argument['help']}{default}")
    return "\n".join(lines)


def _line(spider: dict[str, Any]) -> str:
    summary = (spider["description"] or "-").splitlines()[0]
    kind = registered().get(spider["kind"] or "")
    takes = "FILE" if kind and kind.takes_file else "URL"
    where = spider[spider["address"]] or f"-a {spider['address']}={takes}"
    return f"{spider['name']:<20} {where:<32} {summary}"
