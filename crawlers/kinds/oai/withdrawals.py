"""What a repository says of a record that it no longer lists."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from crawlers.exceptions import AnswerError
from crawlers.kinds.oai import answer as answers
from crawlers.kinds.oai.answer import OAIError
from crawlers.listing.confirmation import Fate, GoneRecords

if TYPE_CHECKING:
    from scrapy.http import Response

    from crawlers.kinds.oai.endpoint import Endpoint
    from crawlers.listing.crawl import Crawl
    from crawlers.listing.withdrawals import Withdrawals


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
