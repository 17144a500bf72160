"""The items of records, as a page or GetRecord gives them, and what GetRecord says of one that is no longer listed."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Any

from lxml import etree
from scrapy import Request

from crawlers.components.politeness import failures
from crawlers.exceptions import AnswerError
from crawlers.kinds.oai import answer as answers
from crawlers.kinds.oai.answer import OAIError, Record
from crawlers.listing.confirmation import Fate, GoneRecords
from crawlers.listing.walk import Entry
from crawlers.records import xml
from crawlers.records.moment import now

if TYPE_CHECKING:
    from collections.abc import Iterator

    from scrapy.http import Response
    from twisted.python.failure import Failure

    from crawlers.items import Dataset
    from crawlers.kinds.oai.endpoint import Endpoint
    from crawlers.listing.crawl import Crawl
    from crawlers.listing.withdrawals import Withdrawals


class Metadata:
    """Maps the metadata of records; requests a record again whose XML its page does not let us read.

    Args:
        gone: what the repository says is deleted.
    """

    def __init__(self, crawl: Crawl, gone: GoneOAI) -> None:
        self.crawl, self.gone, self.endpoint = crawl, gone, gone.endpoint

    def entry(self, record: Record, prefix: str) -> Entry:
        """Return a record as the listing takes it; its resources are counted only if the user limits them."""
        if record.identifier is None:
            xml = record.text if record.metadata is None else etree.tostring(record.metadata)
            return Entry(None, {"datestamp": record.datestamp, "xml": xml.decode("utf-8", "replace")})
        count = 0
        if self.crawl.limits.resources:
            with suppress(AnswerError):  # `keep` reports it
                count = len(self.item(record, prefix).resources)
        return Entry(record.identifier, record, count)

    def is_unread(self, records: list[Record]) -> bool:
        """Return whether none of these records can be read, although some have metadata."""
        given = [record.metadata for record in records if record.metadata is not None]
        return bool(given) and not any(map(xml.is_readable, given))

    def item(self, record: Record, prefix: str) -> Dataset:
        """Return the item of a record.

        Raises:
            AnswerError: it has no metadata, or such that can't be read.
        """
        if record.metadata is None:
            raise AnswerError("invalid_record", "the record has no metadata")
        name = str(record.identifier)
        address = self.endpoint.record(name, prefix)
        return xml.lazily(
            record.metadata,
            source=self.crawl.source,
            url=address,
            id=name,
            metadata_modified=record.datestamp or None,
            metadata_url=address,
            retrieved=now(),
        )

    def keep(self, response: Response, record: Record, prefix: str, allowed: int) -> Iterator[Dataset]:
        """Yield a record's item, with as many resources as the user's limit leaves; report one that can't be read."""
        try:
            dataset = self.item(record, prefix)
        except AnswerError as error:
            self.lost("parse", error, response.request, str(record.identifier))
            return
        if self.crawl.limits.resources:
            dataset.resources = dataset.resources[:allowed]
        yield dataset

    def request(self, identifier: str, prefix: str, allowed: int) -> Request:
        """Return the request for one record."""
        address = self.endpoint.record(identifier, prefix)
        keywords = {"identifier": identifier, "prefix": prefix, "allowed": allowed}
        return Request(address, self.parse, errback=self.request_failed, cb_kwargs=keywords)

    def parse(self, response: Response, identifier: str, prefix: str, allowed: int) -> Iterator[Any]:
        try:
            [record] = answers.page(response).records
        except AnswerError as error:
            self.lost("parse", error, response.request, identifier)
            return
        except ValueError:
            self.lost("parse", AnswerError("refused", "the answer has not one record"), response.request, identifier)
            return
        if record.is_deleted:
            self.gone.withdraw(identifier, prefix)
        elif record.text:
            broken = AnswerError("invalid_record", "the XML of the record can't be read")
            self.lost("parse", broken, response.request, identifier)
        else:
            yield from self.keep(response, record, prefix, allowed)

    def request_failed(self, failure: Failure) -> None:
        request = failures.request(failure)
        error, status = failures.from_failure(failure), failures.status(failure)
        self.lost("fetch", error, request, request.cb_kwargs["identifier"], status)

    def lost(
        self, stage: Any, error: AnswerError, request: Request | None, identifier: str, status: int | None = None
    ) -> None:
        """Report a record that is not kept."""
        subject = {"dataset_id": identifier, "missing": "dataset"}
        self.crawl.failed(stage, error, request, http_status=status, **subject)


class GoneOAI(GoneRecords):
    """Asks for the records by GetRecord."""

    by = "the repository"

    def __init__(self, crawl: Crawl, withdrawals: Withdrawals, endpoint: Endpoint) -> None:
        super().__init__(crawl, withdrawals)
        self.endpoint = endpoint

    def withdraw(self, identifier: str, prefix: str) -> None:
        """Mark a dataset that the repository says is deleted, if it is on disk."""
        known = self.crawl.opened_index().documents.get("dataset", identifier, None)
        if known is not None and known.status != "withdrawn":
            self.withdrawals.mark(identifier, self.endpoint.record(identifier, prefix), "deleted")

    def fate(self, response: Response, dataset_id: str, about: dict[str, Any]) -> Fate:
        """Return why a record is gone: it is unknown, deleted, or in other sets only."""
        try:
            found = answers.page(response).records
        except OAIError as error:
            if error.code != "idDoesNotExist":
                raise
            return Fate("not found")
        record = next((one for one in found if one.identifier == dataset_id), None)
        if record is None:
            raise AnswerError("refused", "the answer is not the record")
        if record.is_deleted:
            return Fate("deleted")
        chosen = self.endpoint.set
        is_outside = chosen and record.sets and not any(f"{one}:".startswith(f"{chosen}:") for one in record.sets)
        return Fate("no longer in the filter" if is_outside else None)


def is_service(record: Record) -> bool:
    """Return whether a record describes a service instead of data, by its own word."""
    if record.metadata is None:
        return False
    try:
        return xml.scope(record.metadata) == "service"
    except AnswerError:  # `Metadata.keep` reports it
        return False
