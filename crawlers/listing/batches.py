"""Datasets that are asked for by their ids, many at once: a batch that fails, breaks off or is too long is halved."""

from __future__ import annotations

import inspect
from abc import ABC, abstractmethod
from dataclasses import asdict, dataclass, field, replace
from typing import TYPE_CHECKING, Any, ClassVar

from crawlers.components.politeness import failures
from crawlers.exceptions import AnswerError
from crawlers.listing.crawl import callback, flat
from crawlers.listing.dialect import LASTING, Fault

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Iterator

    from scrapy import Request
    from scrapy.http import Response
    from twisted.python.failure import Failure

    from crawlers.listing.crawl import Crawl

SIZE = 100
"""Ids in one question, at most."""
TOO_LONG = (400, 413, 414, 431)
"""What servers answer to an address that is too long for them."""
PATIENCE = 3
"""Smallest batches in a row that failed, after which a larger one that fails is not halved."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Batch:
    """Where the questions about a list of ids stand: plain data, which a stored request can carry.

    Args:
        about: what the kind carries along, as JSON.
        given: ids that are asked for in place of those of a list of the ledger.
        way: how the kind asks for the present ids, as JSON; empty for the usual way.
        ids: what is asked for now.
        last: the id behind which those begin.
        sizes: of the batches that a halved one became, the present one first.
        most: how many ids are asked for at once.
        whole: how many were before an address was refused for its length.
        least: so many that fail are not halved, but left to be asked for by themselves.
        is_post: whether they are asked for by POST, in no address.
        takes_post: whether POST may be tried; if not, an address that is too long is halved as what fails otherwise.
        is_halved: whether half of an address that was refused for its length has been tried.
        count: how many datasets came.
        alone: how many of the smallest batches failed in a row.
        is_unanswered: whether a question was not answered in any form.
    """

    about: dict[str, Any] = field(default_factory=dict)
    given: tuple[str, ...] = ()
    way: dict[str, Any] = field(default_factory=dict)
    ids: tuple[str, ...] = ()
    last: str = ""
    sizes: tuple[int, ...] = ()
    most: int = SIZE
    whole: int = SIZE
    least: int = 1
    is_post: bool = False
    takes_post: bool = True
    is_halved: bool = False
    count: int = 0
    alone: int = 0
    is_unanswered: bool = False

    @classmethod
    def restored(cls, plain: dict[str, Any]) -> Batch:
        """Return the batch of a stored request: JSON knows lists alone."""
        return cls(**plain | {name: tuple(plain[name]) for name in ("given", "ids", "sizes")})

    def plain(self) -> dict[str, Any]:
        return asdict(self) | {"given": list(self.given), "ids": list(self.ids), "sizes": list(self.sizes)}

    @property
    def size(self) -> int:
        """How many ids the next question may have."""
        return min(self.sizes[0], self.most) if self.sizes else self.most

    def behind(self, count: int) -> Batch:
        """Return the batch behind one of which `count` datasets came."""
        return replace(self._next(), count=self.count + count, alone=0)

    def left(self) -> Batch:
        """Return the batch behind one that was not answered in any form; if it is small, that is not for its size."""
        if len(self.ids) > self.least:
            return replace(self._next(), is_unanswered=True)
        most = self.most if self.is_halved else self.whole
        return replace(self._next(), most=most, alone=self.alone + 1, is_unanswered=True)

    def _next(self) -> Batch:
        given = self.given[len(self.ids) :]
        return replace(self, given=given, way={}, last=self.ids[-1], ids=(), sizes=self.sizes[1:])

    def instead(self, fault: Fault) -> Batch | None:
        """Return how the same is asked for in another way; ``None`` if no question about many helps.

        Args:
            fault: why it was not answered.
        """
        count, again = len(self.ids), replace(self, way={}, ids=())
        if fault.status in TOO_LONG and self.takes_post and not self.is_post:
            if self.is_halved or count == 1:
                return replace(again, most=self.whole, sizes=(), is_post=True)
            return replace(again, most=count // 2, sizes=(), is_halved=True)
        if fault.is_of_question or count <= self.least or self.alone >= PATIENCE:
            return None
        half = (count + 1) // 2
        most = half if fault.error.kind in LASTING else self.most
        return replace(again, most=most, sizes=(half, count - half, *self.sizes[1:]))


class Batches(ABC):
    """Asks for datasets: those that are given, or those of a list of the ledger, in the order of their ids.

    A kind says how some are asked for (`batch_question`), which an answer has (`found`), what they lead to (`take`),
    and what becomes of those that it lacks (`give_up`). The spider has it as an attribute: its callbacks are stored so.

    Attributes:
        batch_list: the list of the ledger; empty if all are given.
    """

    batch_list: ClassVar[str] = ""

    def __init__(self, crawl: Crawl) -> None:
        self.crawl = crawl

    @abstractmethod
    def batch_question(self, batch: Batch) -> Request:
        """Return the request for a batch, without callback, errback and keywords."""

    @abstractmethod
    def found(self, response: Response, batch: Batch) -> dict[str, Any] | Awaitable[dict[str, Any]]:
        """Return the records of an answer, by id.

        Raises:
            AnswerError: it is none.
        """

    @abstractmethod
    def take(self, response: Response, records: dict[str, Any], batch: Batch) -> Iterator[Any]:
        """Yield what the records of a batch lead to.

        Args:
            batch: behind it.
        """

    @abstractmethod
    def give_up(self, ids: list[str], batch: Batch, fault: Fault | None, request: Request | None) -> Iterator[Any]:
        """Yield what follows for ids whose records did not come.

        Args:
            batch: what was asked for.
            fault: why it was not answered in any form; ``None`` if its answer lacks these.
        """

    def batches_done(self, batch: Batch) -> Iterator[Any]:
        """Yield what follows the last batch."""
        return iter(())

    def instead(self, batch: Batch, fault: Fault) -> Batch | None:
        """Return how the same is asked for in another way; ``None`` if no question about many helps."""
        return batch.instead(fault)

    def fault(self, error: AnswerError, response: Response | None) -> Fault:
        """Return why a batch did not come, with what the portal says of it in words of its own."""
        return Fault(error, None if response is None else response.status)

    def usual(self) -> dict[str, Any]:
        """Return the way in which ids are asked for first, see `Batch`."""
        return {}

    def fits(self, batch: Batch) -> bool:
        """Return whether one request can ask for a batch; if not, it is made shorter."""
        return True

    def ask_batch(self, batch: Batch) -> Iterator[Any]:
        """Yield the request for the next batch, or what follows the last."""
        ids = batch.given[: batch.size]
        if not ids and self.batch_list:
            ids = tuple(self.crawl.records.behind(batch.last, self.batch_list, batch.size))
        if not ids:
            yield from self.batches_done(batch)
            return
        while len(ids) > 1 and not self.fits(replace(batch, ids=ids)):
            ids = ids[:-1]
        batch = replace(batch, ids=ids, way=batch.way or self.usual())
        request = self.batch_question(batch)
        meta = {"dont_cache": True} | ({"max_retry_times": 0} if batch.sizes else {}) | request.meta
        yield request.replace(
            callback=self.parse_batch,
            errback=self.batch_failed,
            cb_kwargs={"batch": batch.plain()},
            meta=meta,
            dont_filter=True,  # the same may be asked twice: of what is not given, then of what is gone
        )

    async def parse_batch(self, response: Response, batch: dict[str, Any]) -> AsyncIterator[Any]:
        here = Batch.restored(batch)
        try:
            records = self.found(response, here)
            records = await records if inspect.isawaitable(records) else records
        except AnswerError as error:
            outputs = self._not_taken(self.fault(error, response), response.request, here)
        else:
            outputs = self._taken(response, here, records)
        async for output in flat(outputs):
            yield output

    def _taken(self, response: Response, batch: Batch, records: dict[str, Any]) -> Iterator[Any]:
        given = {dataset_id: records[dataset_id] for dataset_id in batch.ids if dataset_id in records}
        lacking = [dataset_id for dataset_id in batch.ids if dataset_id not in given]
        behind = batch.behind(len(given))
        if lacking:
            yield from self.give_up(lacking, batch, None, response.request)
        yield from self.take(response, given, behind)
        yield from self.ask_batch(behind)

    @callback
    def batch_failed(self, failure: Failure) -> Iterator[Any]:
        request, response = failures.request(failure), getattr(failure.value, "response", None)
        has_waited = response is not None and "Retry-After" in response.headers
        fault = replace(self.fault(failures.from_failure(failure), response), has_waited=has_waited)
        return self._not_taken(fault, request, Batch.restored(request.cb_kwargs["batch"]))

    def _not_taken(self, fault: Fault, request: Request | None, batch: Batch) -> Iterator[Any]:
        """Ask in another way, or leave each of the ids to be asked for by itself."""
        if fault.is_of_host:
            yield from self.closed(batch, fault, request)
            return
        message = "%s: %s; asking for %d datasets in another way"
        self.crawl.logger.info(message, self.crawl.place, fault.error, len(batch.ids))
        if there := self.instead(batch, fault):
            yield from self.ask_batch(there)
            return
        yield from self.give_up([*batch.ids], batch, fault, request)
        yield from self.ask_batch(batch.left())

    def closed(self, batch: Batch, fault: Fault, request: Request | None) -> Iterator[Any]:
        """Yield what follows where the host answers no further question."""
        if self.crawl.run_state.walks.is_open(self.batch_list):
            self.crawl.run_state.walks.end(self.batch_list, "short")
        self.crawl.failed("list", fault.error, request, http_status=fault.status)
        return iter(())
