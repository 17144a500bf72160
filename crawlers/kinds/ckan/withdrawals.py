"""Datasets on disk that the portal no longer lists: each is marked as withdrawn only if the portal confirms it."""

from __future__ import annotations

import asyncio
from functools import partial
from typing import TYPE_CHECKING

from scrapy.spidermiddlewares.httperror import HttpError

from crawlers.exceptions import AnswerError
from crawlers.kinds.ckan import api
from crawlers.kinds.ckan.cursor import Page, identity
from crawlers.kinds.ckan.questions import BATCH, ask_among, check_identity, show, take_record
from crawlers.kinds.ckan.recovery import Refusal
from crawlers.politeness import failures
from crawlers.resume.records import listed_among

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator

    from scrapy import Request
    from scrapy.http import Response
    from twisted.python.failure import Failure

    from crawlers.kinds.ckan.cursor import Cursor
    from crawlers.kinds.ckan.listing import Found, Output
    from crawlers.kinds.ckan.spider import CKANSpider
    from crawlers.signals import Reason

FEW = 10
"""As many are requested singly in parallel: a question about all of them would be one request more."""
_SOURCES = ("package_search", "package_show")
_LISTS = ("datasets", "ids", "stamps")


class Gone:
    """Asks the portal about each dataset that a complete list of everything lacks.

    #. `Withdrawals` compares the list with the index and notes in the ledger what it lacks.
    #. package_search is asked about 100 of those at a time: what it finds is still there.
    #. The control question: package_show is asked for a dataset that is listed. If the portal does not give that, what
       it says of others does not count.
    #. package_show is asked for each of the rest: it answers from the database, with the reason, while lists come from
       the search index, which is rebuilt now and then.
    """

    def __init__(self, spider: CKANSpider) -> None:
        self.spider = spider

    async def find(self, after: Cursor) -> AsyncIterator[Found]:
        """Compare the list with the index, a part at a time, and yield the requests about what it lacks."""
        withdrawals = self.spider.withdrawals
        for _ in withdrawals.compare(self.known(), partial(listed_among, self.spider.records, _LISTS)):
            await asyncio.sleep(0)
        if withdrawals.gone and not self.spider.access.is_refused and withdrawals.is_believed():
            control = withdrawals.control or self.any_listed(after, withdrawals.gone)
            for request in self.ask("", control, after.variant):
                yield request

    def known(self) -> Iterator[str]:
        """Yield the source's datasets that are CKAN's: another spider may write into the same folder."""
        held = self.spider.opened_index().documents.held()
        return (known.dataset_id for known in held if known.metadata_source in _SOURCES)

    def any_listed(self, after: Cursor, gone: int) -> str:
        """Return the id of a dataset that the list has; empty if it has none, which is reported."""
        listed = self.spider.records.behind("", after.name, 1)
        if listed:
            return listed[0]
        message = f"all {gone} datasets are no longer listed, and none is left to check the portal by"
        self.spider.failed("list", AnswerError("shrink", f"{message}: nothing is withdrawn"))
        return ""

    # Are they still there?

    def ask(self, last: str, control: str, variant: int) -> Iterator[Request]:
        """Yield the request about the next of those that are no longer listed.

        Args:
            last: the id behind which they begin.
            control: a dataset that is listed, and on disk if one of those is; without one nothing is requested.
        """
        ids = self.spider.withdrawals.behind(last, BATCH) if control else []
        if len(ids) > FEW:
            keywords = {"ids": ids, "control": control, "variant": variant}
            callbacks = {"callback": self.parse_unlisted, "errback": self.unlisted_failed}
            yield ask_among(self.spider, ids, variant, **callbacks, cb_kwargs=keywords)
        elif ids:
            yield from self.ask_for_missing(ids, ids[-1], control, variant)

    def parse_unlisted(self, response: Response, ids: list[str], control: str, variant: int) -> Output:
        """Take what is still there: it may have changed unnoticed, as it is not listed."""
        try:
            found = {identity(record): record for record in Page.read(response).records}
        except AnswerError:
            found = {}
        missing = [dataset_id for dataset_id in ids if dataset_id not in found]
        yield from self.ask_for_missing(missing, ids[-1], control, variant)
        for position, identifier in enumerate(ids):
            if identifier in found:
                yield from take_record(self.spider, response, found[identifier], variant, position)

    def unlisted_failed(self, failure: Failure) -> Output:
        """Request each dataset of a batch that did not come."""
        asked = failures.request(failure).cb_kwargs
        yield from self.ask_for_missing(asked["ids"], asked["ids"][-1], asked["control"], asked["variant"])

    # Does the portal give what it lists?

    def ask_for_missing(self, ids: list[str], last: str, control: str, variant: int) -> Iterator[Request]:
        """Yield the control question before these are requested singly; without any, the request about the next."""
        if not ids:
            yield from self.ask(last, control, variant)
            return
        request = show(self.spider, control, variant, self.parse_control, self.control_failed)
        request.cb_kwargs.update(ids=ids, last=last)
        yield request

    def parse_control(self, response: Response, dataset_id: str, variant: int, ids: list[str], last: str) -> Output:
        try:
            check_identity(api.result(response), dataset_id)
        except AnswerError as error:
            self.without_control(ids, Refusal(error, response.status), response.request)
            return
        for missing in ids:
            yield show(self.spider, missing, variant, self.parse_gone, self.gone_failed)
        yield from self.ask(last, dataset_id, variant)

    def control_failed(self, failure: Failure) -> None:
        request = failures.request(failure)
        self.without_control(request.cb_kwargs["ids"], Refusal.from_failure(failure), request)

    def without_control(self, ids: list[str], refusal: Refusal, request: Request | None) -> None:
        many = "1 dataset is" if len(ids) == 1 else f"{len(ids)} datasets are"
        reason = "the portal does not give one either that it lists"
        message = f"{many} no longer listed, and nothing is withdrawn: {reason} ({refusal.error})"
        error = AnswerError(refusal.error.kind, message)
        self.spider.failed("list", error, request, http_status=refusal.status)

    # Why each is gone

    def parse_gone(self, response: Response, dataset_id: str, variant: int) -> Output:
        """Mark a dataset that the portal says is gone; one that it gives is not gone, listed or not."""
        reason = self.reason(response)
        if reason:
            self.spider.withdrawals.mark(dataset_id, response.url, reason)
            return
        try:
            record = api.result(response)
        except AnswerError as error:
            withdrawals = self.spider.withdrawals
            withdrawals.not_confirmed(dataset_id, error, response.request, response.status, by="the portal")
            return
        if identity(record) == dataset_id:
            yield from take_record(self.spider, response, record, variant, 0)

    def gone_failed(self, failure: Failure) -> None:
        request, withdrawals = failures.request(failure), self.spider.withdrawals
        dataset_id = request.cb_kwargs["dataset_id"]
        reason = self.reason(failure.value.response) if isinstance(failure.value, HttpError) else None
        if reason:
            withdrawals.mark(dataset_id, request.url, reason)
        else:
            refusal = Refusal.from_failure(failure)
            withdrawals.not_confirmed(dataset_id, refusal.error, request, refusal.status, by="the portal")

    def reason(self, response: Response) -> Reason | None:
        """Return why a dataset is gone; private ones only look gone to a token that may have expired."""
        reason = api.absence(response)
        is_doubtful = self.spider.has_token and not self.spider.access.is_accepted
        return None if reason == "no longer public" and is_doubtful else reason
