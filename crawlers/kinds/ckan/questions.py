"""Questions about datasets that are asked by their ids, of the portal and of no cache."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, ClassVar

from crawlers.exceptions import AnswerError
from crawlers.kinds.ckan.api import LONGEST
from crawlers.kinds.ckan.cursor import Page, identity, resources
from crawlers.kinds.ckan.query import among
from crawlers.kinds.ckan.recovery import Refusal
from crawlers.listing.confirmation import flat
from crawlers.politeness import failures

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator

    from scrapy import Request
    from scrapy.http import Response
    from twisted.python.failure import Failure

    from crawlers.kinds.ckan.api import API
    from crawlers.kinds.ckan.listing import Output, Take
    from crawlers.listing.completeness import Completeness
    from crawlers.listing.crawl import Crawl

BATCH = 100
"""Ids in one question, at most."""
_TOO_LONG = (400, 413, 414, 431)
"""What servers answer to an address that is too long for them."""


class Batches(ABC):
    """Asks package_search for the datasets of a list of the ledger, as many at once as an address may name.

    A server may refuse an address for its length: then half as many are asked for, then all by POST, and later batches
    are as small, or go by POST, too. If a batch does not come for another reason, each is asked for by itself.

    Args:
        take: yields what a record leads to.

    Attributes:
        batch_list: the list of the ledger.
    """

    batch_list: ClassVar[str]

    def __init__(self, crawl: Crawl, portal_api: API, take: Take, completeness: Completeness) -> None:
        self.crawl = crawl
        self.completeness = completeness
        self.api = portal_api
        self.take_new = take

    @abstractmethod
    def batches_done(self, asked: dict[str, Any]) -> Iterator[Any]:
        """Yield what follows the last batch."""

    def ask_batch(self, asked: dict[str, Any]) -> Iterator[Any]:
        """Yield the request for the next batch, or what follows the last.

        Args:
            asked: see `begun`.
        """
        ids = self.batch(asked)
        if not ids:
            yield from self.batches_done(asked)
            return
        variant = asked["about"]["variant"]
        yield self.api.variants[variant | asked["is_post"]].request(
            "package_search",
            among(ids, self.api.query),
            callback=self.parse_batch,
            errback=self.batch_failed,
            cb_kwargs={"asked": asked, "ids": ids},
            meta={"dont_cache": True},
            dont_filter=True,  # the same may be asked twice: of ghosts, then of what is gone
        )

    def batch(self, asked: dict[str, Any]) -> list[str]:
        """Return the next ids: as many as the address may have."""
        ids = self.crawl.records.behind(asked["last"], self.batch_list, asked["most"])
        way, query = self.api.variants[asked["about"]["variant"] | asked["is_post"]], self.api.query
        while len(ids) > 1 and not way.post and len(way.address("package_search", among(ids, query))) > LONGEST:
            ids.pop()
        return ids

    def parse_batch(self, response: Response, asked: dict[str, Any], ids: list[str]) -> AsyncIterator[Any]:
        return flat(self.take_batch(response, asked, ids))

    def take_batch(self, response: Response, asked: dict[str, Any], ids: list[str]) -> Output:
        try:
            records = {identity(record): record for record in Page.read(response).alive}
        except AnswerError as error:
            yield from self.no_batch(Refusal.from_answer(error, response), response.request, asked, ids)
            return
        found = {dataset_id: records[dataset_id] for dataset_id in ids if dataset_id in records}
        self.leave([dataset_id for dataset_id in ids if dataset_id not in found])
        asked = {**asked, "last": ids[-1], "count": asked["count"] + len(found)}
        yield from self.take(response, found, asked)
        yield from self.ask_batch(asked)

    def take(self, response: Response, records: dict[str, Any], asked: dict[str, Any]) -> Output:
        """Yield what the records of a batch lead to.

        Args:
            records: by id.
            asked: see `begun`; with the batch's own numbers.
        """
        for position, record in enumerate(records.values()):
            yield from self.take_record(response, record, asked["about"]["variant"], position)

    def take_record(self, response: Response, record: Any, variant: int, position: int) -> Output:
        """Yield what a dataset that was requested by its id leads to, unless it was taken before."""
        if self.crawl.expect("dataset", record["id"], listed_by=response.request):
            output = self.take_new(response, record, resources(record), variant, position)
            yield from self.crawl.guarded(output, response, record)

    def batch_failed(self, failure: Failure) -> AsyncIterator[Any]:
        request = failures.request(failure)
        return flat(self.no_batch(Refusal.from_failure(failure), request, **request.cb_kwargs))

    def no_batch(self, refusal: Refusal, request: Request | None, asked: dict[str, Any], ids: list[str]) -> Output:
        """Ask in another form, if that was refused; else leave each of the ids to be asked for by itself."""
        if refusal.error.kind == "blocked":
            self.completeness.end(self.batch_list)
            self.crawl.failed("list", refusal.error, request, http_status=refusal.status)
            return
        message = "%s: %s; asking for %d datasets in another way"
        self.crawl.logger.info(message, self.api.portal, refusal.error, len(ids))
        if form := another_form(asked, refusal.status, len(ids)):
            yield from self.ask_batch(form)
            return
        self.leave(ids)
        yield from self.ask_batch({**asked, "last": ids[-1], "is_unanswered": True})

    @abstractmethod
    def leave(self, ids: list[str]) -> None:
        """Note ids whose records did not come."""


def begun(about: dict[str, Any], size: int = BATCH) -> dict[str, Any]:
    """Return what the first batch begins with, as JSON; the ``count`` is that of the records that came.

    It is ``is_unanswered`` if one of the questions was not answered in any form.

    Args:
        about: what the caller wants to carry along, and the ``variant`` that the portal answers to.
        size: the largest number of ids in one.
    """
    form = {"most": size, "whole": size, "is_post": False, "is_halved": False}
    return {"last": "", **form, "count": 0, "is_unanswered": False, "about": about}


def another_form(asked: dict[str, Any], status: int | None, count: int) -> dict[str, Any] | None:
    """Return how a batch is asked for whose address was refused; ``None`` if it was not that, or no form is left.

    >>> halved = another_form(begun({}), 414, 70)
    >>> halved["most"], halved["is_post"], another_form(halved, 414, 35)["is_post"], another_form(halved, 500, 35)
    (35, False, True, None)
    """
    if status not in _TOO_LONG or asked["is_post"]:
        return None
    if asked["is_halved"] or count == 1:
        return {**asked, "most": asked["whole"], "is_post": True}
    return {**asked, "most": count // 2, "is_halved": True}


def check_identity(record: Any, dataset_id: str) -> None:
    """Raise an error if a record is not the one that was requested.

    Raises:
        AnswerError: it has another id, or none (refused).
    """
    found = identity(record)
    if found != dataset_id:
        raise AnswerError("refused", f"the portal gave {str(found)[:100]!r} instead of the dataset")
