"""Crawls a catalogue service (CSW): every record of its GetRecords requests."""

from __future__ import annotations

from collections import Counter
from functools import cached_property
from itertools import islice
from typing import ClassVar

from crawlers import arguments
from crawlers.arguments import Argument
from crawlers.kinds.csw import getrecords, schemas
from crawlers.kinds.csw.listing import CSWListing
from crawlers.kinds.csw.position import Position
from crawlers.kinds.csw.withdrawals import GoneCSW
from crawlers.listing.listed import ListedSpider
from crawlers.listing.since import beginning, since

_SOME = 50


class CSWSpider(ListedSpider):
    """A catalogue service; one with a name of its own inherits from this class and sets ``name`` and ``url``."""

    kind = "csw"
    arguments: ClassVar[dict[str, Argument]] = ListedSpider.arguments | {
        "url": Argument(help="The address of the CSW, with or without a request in it.", parse=arguments.url),
        "schema": Argument(
            help="The form of the records: " + ", ".join(schemas.NAMES) + "; by default the richest one.",
            parse=schemas.name,
        ),
        "language": Argument(
            help="The language of titles and descriptions where there are several: fr, de.", parse=arguments.language
        ),
        "since": Argument(help="Only what changed since then: last (the last complete crawl), or a date.", parse=since),
    }

    def make_listing(self) -> CSWListing:
        self.gone = GoneCSW(self, self.withdrawals)
        return CSWListing(self, self.withdrawals, self.completeness, self.gone)

    def beginning(self) -> Position:
        moment = beginning(self) if self.args["since"] else ""
        return Position(endpoint=getrecords.endpoint(str(self.url)), since=moment)

    @cached_property
    def schema(self) -> str | None:
        """The name of the only schema that is wanted: the user's, or that of the datasets on disk."""
        own, held = self.args["schema"], self.held_schema()
        if own and held and own != held:
            self.logger.warning("This source's records are in %s; those in %s have other ids", held, own)
        return own or held

    def held_schema(self) -> str | None:
        """Return the schema of most of the source's datasets; ``None`` if there are none.

        A few may be in Dublin Core, where the server could not render them.
        """
        addresses = (one.metadata_url or "" for one in islice(self.opened_index().documents.held(), _SOME))
        uris = Counter(filter(None, map(getrecords.schema_of, addresses)))
        known = [uri for uri, _ in uris.most_common() if schemas.is_known(uri)]
        return schemas.by_uri(known[0]).name if known else None

    def count_apart(self) -> int:
        """Return how many records describe services and other things, not data, and publish it."""
        count = self.records.count("apart")
        if self.crawler.stats:
            self.crawler.stats.set_value("catalogue/not_datasets", count)
        return count
