"""Crawls a catalogue service (CSW): every record of its GetRecords requests."""

from __future__ import annotations

from typing import ClassVar

from crawlers import arguments
from crawlers.arguments import Argument
from crawlers.kinds.csw import schemas
from crawlers.kinds.csw.dialect import GetRecords
from crawlers.kinds.csw.withdrawals import GoneCSW
from crawlers.listing.listed import ListedSpider
from crawlers.listing.since import SINCE


class CSWSpider(ListedSpider):
    """A catalogue service; one with a name of its own inherits from this class and sets ``name`` and ``url``."""

    kind = "csw"
    arguments: ClassVar[dict[str, Argument]] = ListedSpider.arguments | {
        "url": Argument(help="The address of the CSW, with or without a request in it.", parse=arguments.url),
        "schema": Argument(
            help="The form of the records: " + ", ".join(schemas.NAMES) + "; by default the richest one.",
            parse=schemas.name,
        ),
        "language": arguments.LANGUAGE,
        "since": SINCE,
    }

    def __init__(self, **given: str) -> None:
        super().__init__(**given)
        self.gone = GoneCSW(self, self.withdrawals)

    def make_dialect(self) -> GetRecords:
        return GetRecords(self, str(self.url))
