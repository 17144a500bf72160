"""What has changed since the last crawl, and what is gone."""

from __future__ import annotations

import re
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any, ClassVar

from scrapy.spidermiddlewares.httperror import HttpError

from crawlers import failures
from crawlers.arguments import Argument
from crawlers.ckan import api
from crawlers.ckan.lister import CKANLister
from crawlers.ckan.listing import Cursor, resources
from crawlers.ckan.recovery import Refusal
from crawlers.exceptions import AnswerError
from crawlers.index import scope

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator

    from scrapy import Request
    from scrapy.http import Response
    from twisted.python.failure import Failure

    from crawlers.ckan.lister import Output

LAST = "last"
_SOURCES = ("package_search", "package_show")
OVERLAP = timedelta(hours=1)  # a portal's index lags behind its database, and clocks differ


def since(text: str) -> str:
    """``last``, or a date, or a time in UTC.

    >>> since("2026-11-01")
    '2026-11-01T00:00:00Z'
    """
    if text == LAST:
        return text
    if re.fullmatch(r"\d{4}-\d\d-\d\d(T\d\d:\d\d(:\d\d)?Z?)?", text):
        try:
            return f"{datetime.fromisoformat(text.removesuffix('Z')).isoformat(timespec='seconds')}Z"
        except ValueError:
            pass
    raise ValueError("last, a date such as 2026-11-01, or a time in UTC such as 2026-11-01T06:00:00Z")


class CKANIncremental(CKANLister):
    """The part of `CKANSpider` that knows of earlier crawls.

    With ``-a since=`` only what changed is listed, and the ids of everything besides, to find what is gone. Without it
    the listing itself tells. Only a complete list of everything does: a filter or a limit withdraws nothing.
    """

    arguments: ClassVar[dict[str, Argument]] = CKANLister.arguments | {
        "since": Argument(help="Only what changed since then: last (the last complete crawl), or a date.", parse=since),
    }

    async def start(self) -> AsyncIterator[Request]:
        self.query = self.query.changed(self.moment())
        async for request in super().start():
            yield request

    def moment(self) -> str | None:
        """When the changes begin; fixed for a job, however often it is resumed."""
        if self.args["since"] != LAST:
            return str(self.args["since"]) if self.args["since"] else None
        known = self.crawler.stats.get_value("catalogue/since")
        if known is None:
            last = self.opened_index().last_complete(scope(self.name, self.given))
            known = _before(last) if last else ""
            self.logger.info("Only what changed since %s", known) if known else self.logger.info(
                "There was no complete crawl of this before: everything is listed"
            )
            self.crawler.stats.set_value("catalogue/since", known)
        return str(known) or None

    def sees_everything(self) -> bool:
        return not self.query.filtered and not self.limited_by_user

    def list_complete(self, after: Cursor) -> Output:
        if not self.sees_everything():
            return
        if self.query.since and not after.ids:
            self.list_begun("ids")
            yield self.list_request(Cursor(rows=self.args["rows"], way=after.way, ids=True))
            return
        for dataset_id in self.overlooked() if after.ids and self.args["since"] == LAST else ():
            yield self.show(dataset_id, after.way, self.parse_overlooked, self.overlooked_failed)
        yield from self.withdrawals(after)

    def withdrawals(self, after: Cursor) -> Output:
        gone = list(self.gone())
        known = sum(1 for _ in self.known())
        if self.is_too_much(len(gone), known):
            return
        for dataset_id in gone:
            yield self.show(dataset_id, after.way, self.parse_gone, self.gone_failed)

    def show(self, dataset_id: str, way: int, callback: Any, errback: Any) -> Request:
        """Asks the portal, and no cache, for one dataset."""
        return self.ways[way].request(
            "package_show",
            {"id": dataset_id},
            callback=callback,
            errback=errback,
            cb_kwargs={"dataset_id": dataset_id, "way": way},
            meta={"dont_cache": True},
        )

    # What is there, and neither on disk nor among the changed: it came back, or was made public, with an old stamp

    def overlooked(self) -> Iterator[str]:
        for dataset_id in list(self.records.only_in("ids", "datasets")):
            known = self.opened_index().get("dataset", dataset_id, None)
            if known is None or known.status == "withdrawn":
                yield dataset_id

    def parse_overlooked(self, response: Response, dataset_id: str, way: int) -> Output:
        try:
            record = api.result(response)
        except AnswerError as error:
            self.not_had(dataset_id, Refusal(error, response.status), response.request)
            return
        if self.planned("dataset", dataset_id, by=response.request):
            yield from self.guarded(self.parse_record(response, record, resources(record), way, 0), response, record)

    def overlooked_failed(self, failure: Failure) -> None:
        request = failures.request(failure)
        self.not_had(request.cb_kwargs["dataset_id"], Refusal.of_failure(failure), request)

    def not_had(self, dataset_id: str, refusal: Refusal, request: Request | None) -> None:
        subject = {"http_status": refusal.status, "dataset_id": dataset_id, "missing": "dataset"}
        self.failed("fetch", refusal.error, request, **subject)

    # What is gone

    def gone(self) -> Iterator[str]:
        """The datasets that are on disk, and that the portal did not list."""
        return (dataset_id for dataset_id in self.known() if not self.records.is_listed(dataset_id))

    def known(self) -> Iterator[str]:
        """The source's datasets that are CKAN's: another spider may write into the same folder."""
        return (held.dataset_id for held in self.opened_index().held() if held.metadata_source in _SOURCES)

    def parse_gone(self, response: Response, dataset_id: str, way: int) -> None:  # noqa: ARG002
        """A dataset that answers is not gone, listed or not."""
        if api.not_found(response):
            self.withdraw(dataset_id, response.url)
            return
        try:
            api.result(response)
        except AnswerError as error:
            self.not_confirmed(dataset_id, Refusal(error, response.status), response.request)

    def gone_failed(self, failure: Failure) -> None:
        request = failures.request(failure)
        dataset_id = request.cb_kwargs["dataset_id"]
        if isinstance(failure.value, HttpError) and api.not_found(failure.value.response):
            self.withdraw(dataset_id, request.url)
        else:
            self.not_confirmed(dataset_id, Refusal.of_failure(failure), request)

    def not_confirmed(self, dataset_id: str, refusal: Refusal, request: Request | None) -> None:
        message = f"the dataset is no longer listed, and the portal does not say that it is gone: {refusal.error}"
        error = AnswerError(refusal.error.kind, message)
        self.failed("fetch", error, request, http_status=refusal.status, dataset_id=dataset_id)


def _before(moment: str) -> str:
    begun = datetime.fromisoformat(moment) - OVERLAP
    return begun.strftime("%Y-%m-%dT%H:%M:%SZ")
