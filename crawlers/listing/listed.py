"""The spider of a catalogue that is one listing in pages; what its pages are, a `PagedListing` says."""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING, Any, ClassVar

from crawlers import arguments
from crawlers.arguments import Argument
from crawlers.exceptions import ArgumentError
from crawlers.kind import registered
from crawlers.listing.spider import CatalogueSpider

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from scrapy import Request

    from crawlers.listing.paging import PagedListing


class ListedSpider(CatalogueSpider):
    """A protocol inherits from this class, sets ``kind``, and says in `make_listing` how its pages are read.

    Attributes:
        url: where the catalogue is; ``-a url=`` overrides it.
        listing: its pages.
    """

    address = "url"
    arguments: ClassVar[dict[str, Argument]] = CatalogueSpider.arguments | {
        "url": Argument(help="The catalogue's address.", parse=arguments.url),
    }
    url: str | None = None

    def __init__(self, **given: str) -> None:
        super().__init__(**given)
        address = self.args[self.address] or getattr(self, self.address)
        if address is None:
            kind = registered()[self.kind]
            message = f"spider {self.name} needs to know the {kind.title}: -a {kind.address}={kind.example}"
            raise ArgumentError(message)
        setattr(self, self.address, address)
        self.listing = self.make_listing()

    @abstractmethod
    def make_listing(self) -> PagedListing[Any]:
        """Return the listing; the arguments are parsed."""

    @property
    def portal(self) -> str | None:
        """The address that the user named: its host may be private."""
        return self.url

    def beginning(self) -> Any:
        """Return the cursor of the first page."""
        return self.listing.cursor()

    async def start(self) -> AsyncIterator[Request]:
        yield self.listing.begin(self.beginning())
