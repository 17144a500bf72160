"""The spider of a catalogue that is one listing in pages; what its pages are, a `Dialect` says."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

from crawlers import arguments
from crawlers.arguments import Argument
from crawlers.exceptions import ArgumentError
from crawlers.kind import registered
from crawlers.listing.lister import Lister
from crawlers.listing.spider import CatalogueSpider

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from scrapy import Request

    from crawlers.listing.confirmation import Confirmation
    from crawlers.listing.dialect import Dialect


class ListedSpider(CatalogueSpider):
    """A protocol inherits from this class, sets ``kind``, and says in `make_dialect` how its pages are read.

    Attributes:
        url: where the catalogue is; ``-a url=`` overrides it.
        gone: the questions about datasets that a whole listing lacks, of a kind that can ask for one.
        lister: what reads its pages.
    """

    address = "url"
    arguments: ClassVar[dict[str, Argument]] = CatalogueSpider.arguments | {
        "url": Argument(help="The catalogue's address.", parse=arguments.url),
    }
    url: str | None = None
    gone: Confirmation | None = None

    def __init__(self, **given: str) -> None:
        super().__init__(**given)
        address = self.args[self.address] or getattr(self, self.address)
        if address is None:
            kind = registered()[self.kind]
            message = f"spider {self.name} needs to know the {kind.title}: -a {kind.address}={kind.example}"
            raise ArgumentError(message)
        setattr(self, self.address, address)

    def make_dialect(self) -> Dialect[Any]:
        """Return what its pages are; the arguments are parsed."""
        raise NotImplementedError

    @cached_property
    def lister(self) -> Lister[Any]:
        return Lister(self, self.make_dialect(), self.withdrawals, self.gone)

    @property
    def portal(self) -> str | None:
        """The address that the user named: its host may be private."""
        return self.url

    async def start(self) -> AsyncIterator[Request]:
        for request in self.lister.begin():
            yield request
