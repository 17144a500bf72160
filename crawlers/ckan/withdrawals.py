"""What is gone: datasets on disk that the portal does not list any more, each confirmed by the portal."""

from __future__ import annotations

import asyncio
from itertools import islice
from typing import TYPE_CHECKING, Any

from scrapy.spidermiddlewares.httperror import HttpError

from crawlers import failures
from crawlers.ckan import api
from crawlers.ckan.access import CKANAccess
from crawlers.ckan.listing import Page, among, identity, resources
from crawlers.ckan.recovery import Refusal
from crawlers.exceptions import AnswerError

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator

    from scrapy import Request
    from scrapy.http import Response
    from twisted.python.failure import Failure

    from crawlers.ckan.lister import Found, Output
    from crawlers.ckan.listing import Cursor
    from crawlers.signals import Reason

BATCH = 100  # ids in one question: they make an address of about 5,000 characters
FEW = 10  # that many are asked for one by one at once: a question about all of them would be one request more
_SOURCES = ("package_search", "package_show")
_LISTS = ("datasets", "ids", "stamps")
_SCANNED = 500  # datasets that are looked up before other work goes on


class CKANWithdrawals(CKANAccess):
    """The part of `CKANSpider` that finds what is gone.

    #. A complete list of everything is compared with the index, and what it lacks is remembered in the ledger.
    #. Those are asked for 100 at a time with package_search: what it finds is there after all.
    #. The control question: a dataset that is listed is asked for with package_show. Unless the portal gives it, what
       it says of others is no evidence.
    #. Each of the rest is asked for with package_show, which answers from the database and tells the reason; the search
       index, from which lists come, is rebuilt now and then.
    """

    async def withdrawals(self, after: Cursor) -> AsyncIterator[Found]:
        """Compare the list with the index, a part at a time, and ask for what it lacks."""
        known = gone = 0
        control, held = "", self.known()
        while ids := list(islice(held, _SCANNED)):
            missing = [one for one in ids if not self.records.is_listed(one, *_LISTS)]
            for dataset_id in missing:
                self.noticed(dataset_id, list_name="gone", by=None)
            known, gone = known + len(ids), gone + len(missing)
            control = control or next((one for one in ids if one not in missing), "")
            await asyncio.sleep(0)
        if gone and not self.is_refused() and not self.is_too_much(gone, known):
            for request in self.ask_for_gone("", control or self.any_listed(after, gone), after.way):
                yield request

    def any_listed(self, after: Cursor, gone: int) -> str:
        """Return the id of a dataset that the list has; empty if it has none, which is reported."""
        listed = self.records.behind("", after.name, 1)
        if listed:
            return listed[0]
        message = f"all {gone} datasets are no longer listed, and none is by which the portal could be checked"
        self.failed("list", AnswerError("shrink", f"{message}: nothing is withdrawn"))
        return ""

    def known(self) -> Iterator[str]:
        """The source's datasets that are CKAN's: another spider may write into the same folder."""
        return (held.dataset_id for held in self.opened_index().held() if held.metadata_source in _SOURCES)

    # Are they there after all?

    def ask_for_gone(self, last: str, control: str, way: int) -> Iterator[Request]:
        """Ask for the next of those that are not listed any more.

        Args:
            last: the id behind which they begin.
            control: a dataset that is listed, and on disk if one of those is; without one nothing is asked for.
        """
        ids = self.records.behind(last, "gone", BATCH) if control else []
        if len(ids) > FEW:
            keywords = {"ids": ids, "control": control, "way": way}
            yield self.ask_among(ids, way, self.parse_unlisted, self.unlisted_failed, keywords)
        elif ids:
            yield self.control_question(ids, ids[-1], control, way)

    def ask_among(self, ids: list[str], way: int, callback: Any, errback: Any, keywords: dict[str, Any]) -> Request:
        """Ask the portal, and no cache, which of these datasets it has."""
        return self.ways[way].request(
            "package_search",
            among(ids, self.query),
            callback=callback,
            errback=errback,
            cb_kwargs=keywords,
            meta={"dont_cache": True},
        )

    def parse_unlisted(self, response: Response, ids: list[str], control: str, way: int) -> Output:
        """Take what is there after all: it may have changed, and the list did not tell."""
        try:
            found = {identity(record): record for record in Page.read(response).records}
        except AnswerError:
            found = {}
        yield from self.ask_for_missing([one for one in ids if one not in found], ids[-1], control, way)
        for position, identifier in enumerate(ids):
            if identifier in found:
                yield from self.take_record(response, found[identifier], way, position)

    def take_record(self, response: Response, record: Any, way: int, position: int) -> Output:
        """Hand on a dataset that was asked for by its id, unless it was handed on before."""
        if self.planned("dataset", record["id"], by=response.request):
            output = self.parse_record(response, record, resources(record), way, position)
            yield from self.guarded(output, response, record)

    def unlisted_failed(self, failure: Failure) -> Output:
        """The batch could not be asked for: each dataset of it is."""
        asked = failures.request(failure).cb_kwargs
        yield from self.ask_for_missing(asked["ids"], asked["ids"][-1], asked["control"], asked["way"])

    def ask_for_missing(self, ids: list[str], last: str, control: str, way: int) -> Iterator[Request]:
        if ids:
            yield self.control_question(ids, last, control, way)
        else:
            yield from self.ask_for_gone(last, control, way)

    # Does the portal give what it lists?

    def control_question(self, ids: list[str], last: str, control: str, way: int) -> Request:
        request = self.show(control, way, self.parse_control, self.control_failed)
        request.cb_kwargs.update(ids=ids, last=last)
        return request

    def parse_control(self, response: Response, dataset_id: str, way: int, ids: list[str], last: str) -> Output:
        try:
            found = identity(api.result(response))
        except AnswerError as error:
            self.without_control(ids, Refusal(error, response.status), response.request)
            return
        if found != dataset_id:
            other = AnswerError("refused", f"it gave {str(found)[:100]!r}")
            self.without_control(ids, Refusal(other, response.status), response.request)
            return
        for one in ids:
            yield self.show(one, way, self.parse_gone, self.gone_failed)
        yield from self.ask_for_gone(last, dataset_id, way)

    def control_failed(self, failure: Failure) -> None:
        request = failures.request(failure)
        self.without_control(request.cb_kwargs["ids"], Refusal.of_failure(failure), request)

    def without_control(self, ids: list[str], refusal: Refusal, request: Request | None) -> None:
        many = "1 dataset is" if len(ids) == 1 else f"{len(ids)} datasets are"
        message = (
            f"{many} no longer listed, and nothing is withdrawn: the portal does not give one either that it lists"
        )
        message = f"{message} ({refusal.error})"
        self.failed("list", AnswerError(refusal.error.kind, message), request, http_status=refusal.status)

    # What became of each

    def show(self, dataset_id: str, way: int, callback: Any, errback: Any) -> Request:
        """Ask the portal, and no cache, for one dataset; before the next batch."""
        return self.ways[way].request(
            "package_show",
            {"id": dataset_id},
            callback=callback,
            errback=errback,
            cb_kwargs={"dataset_id": dataset_id, "way": way},
            meta={"dont_cache": True},
            priority=1,
            dont_filter=True,  # its export may be the same request
        )

    def parse_gone(self, response: Response, dataset_id: str, way: int) -> Output:
        """A dataset that answers is not gone, listed or not."""
        reason = self.what_became_of_it(response)
        if reason:
            self.withdraw(dataset_id, response.url, reason)
            return
        try:
            record = api.result(response)
        except AnswerError as error:
            self.not_confirmed(dataset_id, Refusal(error, response.status), response.request)
            return
        if identity(record) == dataset_id:
            yield from self.take_record(response, record, way, 0)

    def gone_failed(self, failure: Failure) -> None:
        request = failures.request(failure)
        dataset_id = request.cb_kwargs["dataset_id"]
        reason = self.what_became_of_it(failure.value.response) if isinstance(failure.value, HttpError) else None
        if reason:
            self.withdraw(dataset_id, request.url, reason)
        else:
            self.not_confirmed(dataset_id, Refusal.of_failure(failure), request)

    def what_became_of_it(self, response: Response) -> Reason | None:
        """Return why a dataset is gone; to a token that may have expired, private ones only look so."""
        reason = api.absence(response)
        is_doubtful = self.has_token and not self.is_accepted()
        return None if reason == "no longer public" and is_doubtful else reason

    def not_confirmed(self, dataset_id: str, refusal: Refusal, request: Request | None) -> None:
        message = f"the dataset is no longer listed, and the portal does not say that it is gone: {refusal.error}"
        error = AnswerError(refusal.error.kind, message)
        self.failed("fetch", error, request, http_status=refusal.status, dataset_id=dataset_id)
