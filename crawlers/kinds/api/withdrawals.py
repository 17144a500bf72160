"""What an API says of a record that it no longer lists."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from crawlers.exceptions import AnswerError
from crawlers.kinds.api import answers
from crawlers.listing.confirmation import Fate, GoneRecords
from crawlers.values.addresses import host

if TYPE_CHECKING:
    from collections.abc import Callable

    from scrapy import Request
    from scrapy.http import Response

    from crawlers.kinds.api.query import Query
    from crawlers.listing.crawl import Crawl
    from crawlers.listing.withdrawals import Withdrawals

_GONE = (404, 410)


class GoneAPI(GoneRecords):
    """Asks for the records by their ``metadata_url``, where the declaration's has their id."""

    by = "the API"

    def __init__(
        self, crawl: Crawl, withdrawals: Withdrawals, query: Query, document: Callable[[Response], Any]
    ) -> None:
        super().__init__(crawl, withdrawals)
        self.query, self.document = query, document

    def question(self, dataset_id: str, about: dict[str, Any]) -> Request | None:
        request = super().question(dataset_id, about)
        declared = self.query.declaration
        if request is None or {"id", *declared.names}.isdisjoint(declared.metadata_url.names):
            return None
        request.headers.update(self.query.headers())
        return request if host(request.url) in self.query.hosts else None

    def fate(self, response: Response, dataset_id: str, about: dict[str, Any]) -> Fate:
        """Return why a record is gone: it is not found, or is one that the declaration skips."""
        if response.status in _GONE:
            return Fate("not found")
        document, declared = self.document(response), self.query.declaration
        if answers.text(document, declared.id) == dataset_id:
            is_skipped = bool(declared.skip and declared.skip.find(document))
            return Fate("no longer public" if is_skipped else None)
        if not _has(document, dataset_id):
            raise AnswerError("refused", "the answer is not the record")
        return Fate()


def _has(document: Any, text: str) -> bool:
    """Return whether a JSON value has a text, or a number that is written so, anywhere."""
    waiting = [document]
    while waiting:
        found = waiting.pop()
        if isinstance(found, dict | list):
            waiting += found.values() if isinstance(found, dict) else found
        elif not isinstance(found, bool) and str(found) == text:
            return True
    return False
