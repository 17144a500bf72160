"""What has changed since the last complete crawl: a file that is the same, and datasets that are gone."""

from __future__ import annotations

from typing import TYPE_CHECKING

from crawlers.signals import FINDINGS
from crawlers.store.index import scope

if TYPE_CHECKING:
    from collections.abc import Iterator

    from scrapy import Request
    from scrapy.http import Response

    from crawlers.listing.crawl import Crawl
    from crawlers.listing.withdrawals import Withdrawals
    from crawlers.store.index import Held

_CONDITIONS = {"ETag": "If-None-Match", "Last-Modified": "If-Modified-Since"}


class Changes:
    """Compares a catalogue with the last complete crawl of it.

    Args:
        address: the catalogue's.
    """

    def __init__(self, crawl: Crawl, address: str, withdrawals: Withdrawals) -> None:
        self.crawl = crawl
        self.address = address
        self.withdrawals = withdrawals

    def conditional(self, request: Request) -> Request:
        """Return a request that is answered only if the catalogue has changed, if its documents are on disk."""
        index = self.crawl.opened_index()
        validators = index.runs.validators(scope(self.crawl.name, self.crawl.given))
        if not validators or not all(index.documents.is_whole(held.dataset_id) for held in index.documents.held()):
            return request
        headers = {_CONDITIONS[name]: value for name, value in validators.items()}
        meta = {"handle_httpstatus_list": [304], "dont_cache": True}
        return request.replace(headers={**request.headers, **headers}, meta={**request.meta, **meta})

    def note_validators(self, response: Response) -> None:
        """Remember the headers that a later crawl sends to ask whether the catalogue has changed."""
        found = {name: (response.headers.get(name) or b"").decode("latin-1") for name in _CONDITIONS}
        self.crawl.run_state.validators = {name: value for name, value in found.items() if value}

    def keep_all(self) -> None:
        """End a crawl that found the catalogue unchanged: what the last complete crawl listed is still there."""
        last, state = self.withdrawals.last_listing(), self.crawl.run_state
        listed = [held.dataset_id for held in self._known() if not (last and held.seen < last)]
        for dataset_id in listed:
            self.crawl.records.settle(("dataset", dataset_id, None), "unchanged")
        state.expected = len(listed)
        state.count_listed(len(listed))
        state.has_stale_answer = True
        self.crawl.logger.info("The catalogue has not changed since the last complete crawl")

    def end(self, *, is_one_answer: bool) -> None:
        """Withdraw what two complete listings in a row did not have, when all lists have ended."""
        crawl, state = self.crawl, self.crawl.run_state
        if not is_one_answer:
            state.validators = {}  # those of the first page do not cover the others
        has_failures = bool(crawl.records.failures.counts().keys() - FINDINGS)  # any of them may hide a record
        if crawl.limits.is_set or state.has_stale_answer or has_failures:
            return
        self.withdrawals.mark_missed_twice((held.dataset_id for held in self._known()), url=self.address)

    def _known(self) -> Iterator[Held]:
        """Yield the datasets on disk that are this catalogue's; the folder may have those of another."""
        addresses = (*self.crawl.records.listed("addresses"), self.address)
        pages = {address.partition("?")[0] for address in addresses}
        for held in self.crawl.opened_index().documents.held():
            if held.metadata_url and held.metadata_url.partition("?")[0] in pages:
                yield held
