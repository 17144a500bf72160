"""What happens to a dataset that a complete listing no longer has."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from scrapy.spidermiddlewares.httperror import HttpError

from crawlers.exceptions import AnswerError
from crawlers.kinds.html.conclusion import GONE
from crawlers.kinds.html.links import canonical
from crawlers.kinds.html.links import dataset_id as identify
from crawlers.kinds.html.mapping import missing
from crawlers.politeness import failures
from crawlers.resume.records import planned_among

if TYPE_CHECKING:
    from collections.abc import Iterator

    from scrapy import Request
    from scrapy.http import Response
    from twisted.python.failure import Failure

    from crawlers.kinds.html.spider import HTMLSpider
    from crawlers.store.index import Held

SOURCES = ("html", "schema_org", "rdf", "schema_org+html", "rdf+html")
"""The ``metadata_source`` of a record that began with a page."""


class GonePages:
    """Requests the page of each dataset that is no longer listed, and withdraws the dataset if it is gone."""

    def __init__(self, spider: HTMLSpider) -> None:
        self.spider = spider
        self.site = spider.site

    def requests(self) -> Iterator[Request]:
        withdrawals = self.spider.withdrawals
        ids = (held.dataset_id for held in self._known())
        if not withdrawals.find(ids, partial(planned_among, self.spider.records, "dataset")):
            return
        self.spider.run_state.is_whole_listing = True
        for dataset_id in withdrawals.ids():
            known = self.spider.opened_index().documents.get("dataset", dataset_id, None)
            url = str(known.metadata_url if known else None)
            if self._is_another(url, dataset_id):
                withdrawals.mark(dataset_id, url)
            else:
                yield self.spider.pages.request(url, dataset_id, self.parse_gone, self.gone_failed, dont_cache=True)

    def _is_listed(self, dataset_id: str) -> bool:
        return self.spider.records.is_planned("dataset", dataset_id)

    def _known(self) -> Iterator[Held]:
        """Yield the datasets on disk that are this catalogue's: another may be in the same folder."""
        for held in self.spider.opened_index().documents.held():
            is_own = f"#{self.spider.pages.owner}." in (held.metadata_modified or "")
            if is_own and held.metadata_url and held.metadata_source in SOURCES:
                yield held

    def _is_another(self, url: str, known_id: str) -> bool:
        """Return whether an address is that of a dataset that is listed, by another id."""
        current = identify(canonical(url, self.site.links.drop), self.site)
        return current != known_id and self._is_listed(current)

    def parse_gone(self, response: Response, dataset_id: str) -> None:
        """Withdraw the dataset unless its page still describes it: then it exists, listed or not."""
        if self._is_another(response.url, dataset_id):
            self.spider.withdrawals.mark(dataset_id, response.url)
            return
        try:
            found, link = self.spider.pages.read(response, dataset_id)
        except AnswerError as error:
            if error.kind == "missing_field":
                self._withdraw_later(dataset_id, response.url)
            else:
                self.spider.withdrawals.not_confirmed(
                    dataset_id, error, response.request, response.status, by="its page"
                )
            return
        if not link and not found.get("flaws") and missing(found, self.site):
            self._withdraw_later(dataset_id, response.url)

    def _withdraw_later(self, dataset_id: str, url: str) -> None:
        """Withdraw the dataset if the last complete listing lacked it too: this may be a night's maintenance."""
        if not self.spider.withdrawals.mark_if_missed_before(dataset_id, url):
            message = "%s is gone; if the next complete listing lacks it too, it is withdrawn"
            self.spider.logger.info(message, url)

    def gone_failed(self, failure: Failure) -> None:
        request, status = failures.request(failure), failures.status(failure)
        dataset_id = request.cb_kwargs["dataset_id"]
        if isinstance(failure.value, HttpError) and status in GONE:
            self.spider.withdrawals.mark(dataset_id, request.url)
        else:
            error = failures.from_failure(failure)
            self.spider.withdrawals.not_confirmed(dataset_id, error, request, status, by="its page")
