"""What the spiders share that list the packages of a CKAN portal, whatever becomes of those."""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING, Any

from crawlers import arguments
from crawlers.arguments import Argument
from crawlers.listing.spider import CatalogueSpider

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from scrapy.http import Response

    from crawlers.kinds.ckan.api import API
    from crawlers.kinds.ckan.dialect import Ask, Found, Output, Packages
    from crawlers.listing.lister import Lister


ROWS = Argument(
    help="Datasets per listing request; a portal may return fewer.", parse=arguments.positive, default="1000"
)
"""The argument ``rows``, which the listing needs."""


class PackageSpider(CatalogueSpider):
    """A spider that lists packages with package_search: `CKANSpider` for one, which takes them as datasets.

    Attributes:
        portal: whose packages they are.
        api: how the portal is asked.
        dialect: what its pages are.
        lister: what reads them.
    """

    portal: str | None = None
    api: API
    dialect: Packages
    lister: Lister[Ask]

    async def start(self) -> AsyncIterator[Any]:
        for request in self.lister.begin():
            yield request

    def parse_page(self, response: Response, **_: Any) -> AsyncIterator[Found]:
        """Yield what the first page of a listing leads to; for scrapy parse."""
        return self.lister.answered(response, self.dialect.first().plain())

    @abstractmethod
    def parse_record(self, response: Response, record: Any, allowed: int, variant: int, position: int) -> Output:
        """Yield what a record leads to, see `PackageCrawl`."""
