"""Crawls a catalogue service (CSW): every record of its GetRecords requests; asks for those that it lists no more."""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING, Any, ClassVar

from lxml import etree

from crawlers import arguments
from crawlers.arguments import Argument
from crawlers.exceptions import AnswerError
from crawlers.kinds.csw import schemas
from crawlers.kinds.csw.answers import exception
from crawlers.kinds.csw.dialect import GetRecords
from crawlers.listing.confirmation import Fate, GoneRecords
from crawlers.listing.since import SINCE
from crawlers.listing.spider import ListedSpider
from crawlers.records.xml import root

if TYPE_CHECKING:
    from scrapy.http import Response


class GoneCSW(GoneRecords):
    """Asks for the records by GetRecordById."""

    by = "the server"

    def fate(self, response: Response, dataset_id: str, about: dict[str, Any]) -> Fate:
        """Return that a record is gone if the answer is empty, as in CSW 2.0.2, or names that, as in CSW 3.0."""
        top = root(response)
        if error := exception(top):
            words = error.about.split()
            if "notfound" in words or {"invalidparametervalue", "id"} <= set(words):
                return Fate("not found")
            raise error
        is_envelope = etree.QName(top).localname == "GetRecordByIdResponse"
        if is_envelope and not len(top):
            return Fate("not found")
        texts = chain(top.itertext(), (value for each in top.iter("{*}*") for value in each.attrib.values()))
        if any(text.strip() == dataset_id for text in texts):
            return Fate()
        raise AnswerError("refused", "the answer is not the record")


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


class CSW(CSWSpider):
    """Any catalogue service (CSW), the one that -a url= names."""

    name = "csw"
