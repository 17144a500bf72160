"""Crawls an SDMX service: its dataflows, which one answer lists."""

from __future__ import annotations

from typing import ClassVar

from crawlers import arguments
from crawlers.arguments import Argument
from crawlers.kinds.sdmx.dialect import Dataflows
from crawlers.kinds.sdmx.mapping import service
from crawlers.listing.spider import ListedSpider


class SDMXSpider(ListedSpider):
    """An SDMX service, in version 2.1 or 3.0 of its REST API.

    Attributes:
        url: the service's root, before ``/dataflow``; ``-a url=`` overrides it.
    """

    kind = "sdmx"
    arguments: ClassVar[dict[str, Argument]] = ListedSpider.arguments | {
        "url": Argument(
            help="The service's root: https://example.org/sdmx/2.1.", parse=lambda text: service(arguments.url(text))
        ),
    }

    def make_dialect(self) -> Dataflows:
        return Dataflows(self, str(self.url))


class SDMX(SDMXSpider):
    """Any SDMX service, the one that -a url= names."""

    name = "sdmx"
