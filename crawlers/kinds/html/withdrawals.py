"""What happens to a dataset that a complete listing no longer has."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, Any

from crawlers.components.resume.records import received
from crawlers.exceptions import AnswerError
from crawlers.kinds.html.links import canonical
from crawlers.kinds.html.links import dataset_id as identify
from crawlers.kinds.html.mapping import missing
from crawlers.listing.confirmation import Confirmation, Fate
from crawlers.listing.withdrawals import CONTROLS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from scrapy import Request
    from scrapy.http import Response

    from crawlers.kinds.html.pages import DatasetPages
    from crawlers.listing.crawl import Crawl
    from crawlers.listing.withdrawals import Withdrawals
    from crawlers.store.index import Held

GONE = (404, 410)
SOURCES = ("html", "schema_org", "rdf", "schema_org+html", "rdf+html")
"""The ``metadata_source`` of a record that began with a page."""


class GonePages(Confirmation):
    """Requests the page of each dataset that is no longer listed, and withdraws the dataset if it is gone."""

    list_name = "unlisted"
    by = "its page"

    def __init__(self, crawl: Crawl, withdrawals: Withdrawals, pages: DatasetPages) -> None:
        super().__init__(crawl, withdrawals)
        self.pages, self.site = pages, pages.site

    def requests(self) -> Iterator[Any]:
        """Yield the questions about what this whole listing lacks, and does not list by another id."""
        withdrawals, records = self.withdrawals, self.crawl.records
        yield from withdrawals.compare(held.dataset_id for held in self._known())
        for dataset_id in withdrawals.ids():
            url = self._address(dataset_id)
            if self._is_another(url, dataset_id):
                withdrawals.mark(dataset_id, url)
            else:
                self.crawl.seen(dataset_id, list_name=self.list_name, listed_by=None)
        if not records.count(self.list_name):
            self.crawl.run_state.is_whole_listing = True
            return
        there = list(islice(received(records, "dataset"), CONTROLS))  # their pages were there in this run
        controls = there or withdrawals.controls
        if withdrawals.is_to_ask(self.list_name, has_control=bool(controls)):
            yield from self.confirm(controls, {})

    def _address(self, dataset_id: str) -> str:
        known = self.crawl.opened_index().documents.get("dataset", dataset_id, None)
        return str(known.metadata_url if known else None)

    def question(self, dataset_id: str, about: dict[str, Any]) -> Request:
        return self.pages.request(self._address(dataset_id), dataset_id, None, None)

    def fate(self, response: Response, dataset_id: str, about: dict[str, Any]) -> Fate:
        """Return that a dataset is gone unless its page still describes it: then it exists, listed or not.

        A page that no longer describes it may be a night's maintenance.
        """
        if response.status >= 400 and response.status not in GONE:
            raise AnswerError("http", f"HTTP {response.status}")
        if response.status in GONE or self._is_another(response.url, dataset_id):
            return Fate("not found")
        try:
            found, link = self.pages.read(response, dataset_id)
        except AnswerError as error:
            if error.kind != "missing_field":
                raise
            return Fate("not found", is_doubtful=True)
        is_empty = not link and not found.get("flaws") and bool(missing(found, self.site))
        return Fate("not found" if is_empty else None, is_doubtful=is_empty)

    def settled(self, about: dict[str, Any]) -> Iterator[Any]:
        self.crawl.run_state.is_whole_listing = True
        yield from ()

    def _known(self) -> Iterator[Held]:
        """Yield the datasets on disk that are this catalogue's: another may be in the same folder."""
        for held in self.crawl.opened_index().documents.held():
            is_own = f"#{self.pages.owner}." in (held.metadata_modified or "")
            if is_own and held.metadata_url and held.metadata_source in SOURCES:
                yield held

    def _is_another(self, url: str, known_id: str) -> bool:
        """Return whether an address is that of a dataset that is listed, by another id."""
        current = identify(canonical(url, self.site.links.drop), self.site)
        return current != known_id and self.crawl.records.is_planned("dataset", current)
