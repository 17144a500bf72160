"""Questions about datasets that are asked by their ids, of the portal and of no cache."""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING, Any

from crawlers.exceptions import AnswerError
from crawlers.kinds.ckan import api
from crawlers.kinds.ckan.dialect import refused
from crawlers.kinds.ckan.query import among
from crawlers.listing.batches import Batch, Batches

if TYPE_CHECKING:
    from collections.abc import Iterator

    from scrapy import Request
    from scrapy.http import Response

    from crawlers.kinds.ckan.api import ApiVariant
    from crawlers.kinds.ckan.dialect import Output, PackageCrawl
    from crawlers.listing.dialect import Fault


FEW = 10
"""As many are requested singly in parallel: a question about all of them would be one request more."""


class ById(Batches):
    """Asks package_search for the datasets of a list of the ledger, as many at once as an address may name.

    What does not come is left to be asked for by itself. A batch's ``about`` has the ``variant`` of the API.
    """

    crawl: PackageCrawl

    def batch_question(self, batch: Batch) -> Request:
        return self.way(batch).request("package_search", among([*batch.ids], self.crawl.api.query))

    def fits(self, batch: Batch) -> bool:
        way = self.way(batch)
        return way.post or len(way.address("package_search", among([*batch.ids], self.crawl.api.query))) <= api.LONGEST

    def way(self, batch: Batch) -> ApiVariant:
        variant: int = batch.about["variant"]
        return self.crawl.api.variants[variant | batch.is_post]

    def found(self, response: Response, batch: Batch) -> dict[str, Any]:
        records, _ = api.packages(response)
        return {str(api.identity(record)): record for record in records if api.is_there(record)}

    def fault(self, error: AnswerError, response: Response | None) -> Fault:
        return refused(error, response)

    @abstractmethod
    def leave(self, ids: list[str]) -> None:
        """Note what is to be asked for by itself."""

    def give_up(self, ids: list[str], batch: Batch, fault: Fault | None, request: Request | None) -> Iterator[Any]:
        self.leave(ids)
        return iter(())

    def take(self, response: Response, records: dict[str, Any], batch: Batch) -> Iterator[Any]:
        for position, record in enumerate(records.values()):
            yield from self.take_record(response, record, batch.about["variant"], position)

    def take_record(self, response: Response, record: Any, variant: int, position: int) -> Output:
        """Yield what a dataset that was requested by its id leads to, unless it was taken before."""
        if self.crawl.expect("dataset", record["id"], listed_by=response.request):
            output = self.crawl.parse_record(response, record, api.resources(record), variant, position)
            yield from self.crawl.guarded(output, response, record)


def check_identity(record: Any, dataset_id: str) -> None:
    """Raise an error if a record is not the one that was requested.

    Raises:
        AnswerError: it has another id, or none (refused).
    """
    found = api.identity(record)
    if found != dataset_id:
        raise AnswerError("refused", f"the portal gave {str(found)[:100]!r} instead of the dataset")
