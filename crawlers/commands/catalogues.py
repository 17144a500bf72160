"""``scrapy catalogues``: which catalogues there are, and what their spiders take."""

from __future__ import annotations

import inspect
import json
from typing import TYPE_CHECKING, Any

from scrapy.exceptions import UsageError
from scrapy.spiderloader import get_spider_loader

from crawlers.catalogue import CatalogueSpider
from crawlers.commands._voice import speaking
from crawlers.strict_command import StrictCommand

if TYPE_CHECKING:
    import argparse


class Command(StrictCommand):
    requires_project = True
    requires_crawler_process = False
    default_settings = {"LOG_ENABLED": False}  # noqa: RUF012

    def syntax(self) -> str:
        return "[--json] [spider]"

    def short_desc(self) -> str:
        return "List the catalogues, or one spider's arguments"

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        super().add_options(parser)
        parser.add_argument("--json", action="store_true", help="for programs")

    def run(self, args: list[str], opts: argparse.Namespace) -> None:
        spiders = self._spiders()
        for name in args:
            if name not in spiders:
                raise UsageError(f"there is no spider {name!r}; `scrapy list` names them", print_help=False)
        found = [_described(spider) for name, spider in spiders.items() if not args or name in args]
        with speaking(self):
            print(json.dumps(found, indent=2) if opts.json else "\n".join(_lines(found, whole=bool(args))))

    def _spiders(self) -> dict[str, type[CatalogueSpider]]:
        loader = get_spider_loader(self.settings)  # type: ignore[arg-type]
        spiders = {name: loader.load(name) for name in sorted(loader.list())}
        return {name: one for name, one in spiders.items() if issubclass(one, CatalogueSpider)}


def _described(spider: type[CatalogueSpider]) -> dict[str, Any]:
    own = {name: getattr(spider, name, None) for name in (spider.address, "level")}
    return {
        "name": spider.name,
        "description": inspect.getdoc(spider),
        "address": spider.address,
        **own,
        "arguments": {
            name: {"help": argument.help, "default": own.get(name) or argument.default}
            for name, argument in spider.arguments.items()
        },
    }


def _lines(found: list[dict[str, Any]], *, whole: bool) -> list[str]:
    return [*map(_line, found), *(f"\n{_arguments(one)}" for one in found[:1] if whole)]


def _line(spider: dict[str, Any]) -> str:
    summary = (spider["description"] or "").splitlines()[0]
    kind = "FILE" if spider["address"] == "rules" else "URL"
    where = spider[spider["address"]] or f"-a {spider['address']}={kind}"
    return f"{spider['name']:<20} {where:<32} {summary}"


def _arguments(spider: dict[str, Any]) -> str:
    lines = [f"scrapy crawl {spider['name']} takes:"]
    for name, argument in spider["arguments"].items():
        default = f" Default: {argument['default']}." if argument["default"] else ""
        lines.append(f"  -a {name + '=':<15} {argument['help']}{default}")
    return "\n".join(lines)
