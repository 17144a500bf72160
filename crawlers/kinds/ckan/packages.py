"""What the spiders share that list the packages of a CKAN portal, whatever becomes of those."""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING, Any

from crawlers import arguments
from crawlers.arguments import Argument
from crawlers.listing.confirmation import flat
from crawlers.listing.spider import CatalogueSpider

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from scrapy.http import Response

    from crawlers.kinds.ckan.api import API
    from crawlers.kinds.ckan.cursor import Cursor
    from crawlers.kinds.ckan.incremental import Incremental
    from crawlers.kinds.ckan.listing import CKANListing, Found, Output
    from crawlers.kinds.ckan.withdrawals import Ghosts


ROWS = Argument(
    help="Datasets per listing request; a portal may return fewer.", parse=arguments.positive, default="1000"
)
"""The argument ``rows``, which the listing needs."""


class PackageSpider(CatalogueSpider):
    """A spider that lists packages with package_search: `CKANSpider` for one, which takes them as datasets.

    Attributes:
        portal: whose packages they are.
        api: how the portal is asked.
        listing: the pages of the listing.
        incremental: what ``since=`` lists; ``None`` if the spider does not take it.
        ghosts: the questions about ids without a dataset; ``None`` if the spider does not ask.
    """

    portal: str | None = None
    api: API
    listing: CKANListing
    incremental: Incremental | None = None
    ghosts: Ghosts | None = None

    async def parse_page(self, response: Response, cursor: dict[str, Any]) -> AsyncIterator[Found]:
        """Yield what a page leads to."""
        async for found in flat(self.listing.parse_page(response, cursor)):
            yield found

    @abstractmethod
    def parse_record(self, response: Response, record: Any, allowed: int, variant: int, position: int) -> Output:
        """Yield what a record leads to.

        Args:
            allowed: how many of its resources the user's limit leaves.
            variant: the index in `variants` of the one that the portal answers to.
            position: its place among those taken from its page.
        """

    @abstractmethod
    def list_complete(self, after: Cursor) -> AsyncIterator[Found]:
        """Yield what there is to do when a list was whole.

        Args:
            after: the cursor behind it.
        """
