"""The descriptions of datasets, some at a time: a batch that fails or is cut is halved, until one dataset is left."""

from __future__ import annotations

from contextlib import closing
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

from crawlers.exceptions import AnswerError
from crawlers.kinds.sparql import answers, queries
from crawlers.kinds.sparql.row_limit import LOWEST, RowLimit
from crawlers.listing.faults import OF_HOST
from crawlers.politeness import failures
from crawlers.rdf.namespaces import DCAT
from crawlers.values.moment import now

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator, Sequence

    from scrapy import Request
    from scrapy.http import Response
    from twisted.python.failure import Failure

    from crawlers.items import Dataset
    from crawlers.kinds.dcat.page import RDFPage
    from crawlers.kinds.sparql.endpoint import Endpoint
    from crawlers.listing.crawl import Crawl

Form = Literal["construct", "describe"]

_DISTRIBUTION = DCAT + "distribution"
_SMALL = 1000  # datasets; a batch of more waits for its turn like any other
PATIENCE = 3
"""Datasets or empty batches in a row, after which a batch that fails is not halved."""
_QUERIES = {"construct": queries.construct, "describe": queries.describe}
_HOPELESS = OF_HOST | {"connection"}
"""Failures that a smaller batch does not cure."""
_REFUSES = {"http", "not_rdf", "not_json", "refused"}
"""Failures that may mean that the endpoint does not answer such a query."""


@dataclass(frozen=True, slots=True)
class Batch:
    """Datasets that are described in one answer.

    Args:
        method: the HTTP method of the request.
        form: the query's.
        least: how many triples the answer must have, by the endpoint's own count; 0 if it did not count them,
            ``None`` if it was not asked to.
    """

    iris: list[str]
    method: str
    form: Form
    least: int | None = None


class Graphs:
    """Reads answers, and judges whether they are whole.

    Attributes:
        row_limit: what is known of the number of triples at which answers are cut.
        is_counting: whether the endpoint counts the triples of a batch; ``None`` if it is not known.
        gaps: how many answers were whole although distributions lack in them.
    """

    def __init__(self, crawl: Crawl) -> None:
        self.crawl = crawl
        self.row_limit = RowLimit()
        self.is_counting: bool | None = None
        self.gaps = 0

    async def page(self, response: Response) -> RDFPage:
        """Return the graph of an answer.

        Raises:
            AnswerError: it is something else than RDF, or only a part.
        """
        max_json = self.crawl.crawler.settings.getint("JSON_MAXSIZE")
        language = self.crawl.args["language"]
        return await answers.graph(response, name=self.crawl.source, language=language, max_json=max_json)

    def is_proven(self, batch: Batch, page: RDFPage) -> bool:
        """Return whether an answer is whole; if not, its triples must be counted.

        An answer with faults is kept: the faults are errors.

        Raises:
            AnswerError: it was cut.
        """
        size = page.reader.count
        has_faults = not all(fault.is_repaired for fault in page.faults)
        if batch.least or has_faults:
            if size < (batch.least or 0) and not has_faults:
                raise _cut(size, f"the {batch.least} that there are")
            return True
        has_gap = self.gaps < PATIENCE and self.has_gap(batch, page)
        if batch.form == "describe" or self.is_counting is False or batch.least == 0:
            self.check_uncounted(batch, size, has_gap=has_gap)
            return True
        may_cut = self.row_limit.may_cut(size)
        if size in self.row_limit.cuts and len(batch.iris) > 1:
            raise _cut(size, "all: the endpoint cuts its answers there")
        return not may_cut and not has_gap

    def check_uncounted(self, batch: Batch, size: int, *, has_gap: bool) -> None:
        """Check an answer whose triples the endpoint does not count.

        Raises:
            AnswerError: it may have been cut.
        """
        is_again = batch.least == 0
        if size in self.row_limit.cuts or (not is_again and self.row_limit.may_cut_uncounted(size)):
            raise _cut(size, "all: the endpoint may have cut it")
        if has_gap and len(batch.iris) > 1:
            raise AnswerError("undescribed", "the answer names distributions or datasets that it does not describe")
        self.gaps += has_gap

    def has_gap(self, batch: Batch, page: RDFPage) -> bool:
        """Return whether an answer describes some datasets and lacks others, or lacks distributions that it names."""
        described = [page.is_described(iri) for iri in batch.iris]
        if not all(described):
            return any(described)
        parts = (part for iri in batch.iris for part in page.catalogue.nodes.node(iri).get(_DISTRIBUTION, ()))
        return not all(page.is_described(part) for part in parts if isinstance(part, str))


class Batches(Graphs):
    """Requests descriptions, and makes items of them.

    Attributes:
        size: datasets of a batch; smaller once the endpoint has cut an answer.
        form: the query that the endpoint answers.
        has_constructed: whether it has answered a CONSTRUCT.
        failed: how many datasets in a row failed on their own, and empty batches in a row.
    """

    def __init__(self, crawl: Crawl, endpoint: Endpoint, size: int) -> None:
        super().__init__(crawl)
        self.endpoint = endpoint
        self.size = size
        self.form: Form = "construct"
        self.has_constructed = False
        self.failed = 0

    def requests(self, iris: Sequence[str], method: str) -> Iterator[Request]:
        """Yield the requests for the descriptions of datasets."""
        for first in range(0, len(iris), self.size):
            yield self.request(Batch([*iris[first : first + self.size]], method, self.form))

    def request(self, batch: Batch) -> Request:
        """Return the request for a batch: it precedes the next page, and smaller batches precede larger ones."""
        query = _QUERIES[batch.form](batch.iris, self.endpoint.graph)
        keywords = {"batch": asdict(batch)}
        failed, again = self.not_answered, batch.least
        request = self.endpoint.request(query, batch.method, self.parse, failed, keywords, is_graph=True, page=again)
        return request.replace(priority=max(1, _SMALL - len(batch.iris)))

    async def parse(self, response: Response, batch: dict[str, Any]) -> AsyncIterator[Any]:
        """Yield the items of a batch, and the requests for what the answer lacks."""
        here = Batch(**batch)
        if "cached" in response.flags:
            self.crawl.run_state.has_stale_answer = True
        try:
            page = await self.page(response)
        except AnswerError as error:
            for request in self.retry(here, response.request, error, response.status):
                yield request
            return
        for output in self.described(response, here, page):
            yield output

    def described(self, response: Response, here: Batch, page: RDFPage) -> Iterator[Any]:
        """Yield the items of an answer that was read, and the requests for what it lacks."""
        self.has_constructed |= here.form == "construct"
        with closing(page):
            try:
                has_proof = self.is_proven(here, page)
            except AnswerError as error:
                yield from self.retry(here, response.request, error, None)
                return
            if not has_proof:
                yield self.count_request(here, page.reader.count)
                return
            found = {iri for iri in here.iris if page.is_described(iri)}
            for iri in here.iris:
                if iri in found:
                    yield from self.crawl.guarded(self.item(page, iri, response.request), response, {"id": iri})
            for sentence in page.misread:
                self.crawl.failed("parse", AnswerError("repaired_text", sentence), response.request)
            for fault in page.faults:
                owner = page.owner(fault)
                kind = "unreadable_statement" if page.costs_a_statement(fault) else "invalid_rdf"
                self.crawl.failed("parse", AnswerError(kind, fault.message), response.request, dataset_id=owner)
        self.failed = 0 if found else self.failed + (len(here.iris) > 1)
        if missing := [iri for iri in here.iris if iri not in found]:
            nothing = AnswerError("undescribed", "the endpoint lists the dataset, and its answer does not describe it")
            yield from self.retry(replace(here, iris=missing), response.request, nothing, None, is_part=bool(found))

    def count_request(self, batch: Batch, size: int) -> Request:
        """Return the request for the number of triples that the answer to a batch must have; it precedes batches."""
        query = queries.count_statements(batch.iris, self.endpoint.graph)
        keywords = {"batch": asdict(batch), "size": size}
        request = self.endpoint.request(query, batch.method, self.parse_count, self.count_failed, keywords)
        return request.replace(priority=_SMALL + 1)

    def parse_count(self, response: Response, batch: dict[str, Any], size: int) -> Iterator[Request]:
        """Request a batch again whose answer was whole, or its halves."""
        here = Batch(**batch)
        try:
            count = answers.number(response)
        except AnswerError as error:
            yield from self.without_count(here, response.request, error, response.status)
            return
        self.is_counting = True
        self.row_limit.counted(size, count)
        if size < count:
            cut = _cut(size, f"the {count} that there are")
            yield from self.retry(replace(here, least=count), response.request, cut, None)
            return
        self.gaps += size < LOWEST or size < self.row_limit.largest
        yield self.request(replace(here, least=count))

    def count_failed(self, failure: Failure) -> Iterator[Request]:
        request = failures.request(failure)
        batch, error = Batch(**request.cb_kwargs["batch"]), failures.from_failure(failure)
        yield from self.without_count(batch, request, error, failures.status(failure))

    def without_count(
        self, batch: Batch, request: Request | None, error: AnswerError, status: int | None
    ) -> Iterator[Request]:
        """Request a batch again, to be judged without a count if the endpoint never counted; else smaller ones."""
        if self.is_counting or error.kind in _HOPELESS:
            yield from self.retry(batch, request, error, status)
            return
        self.is_counting = False
        self.crawl.logger.warning("The endpoint does not count what it describes: %s", error)
        yield self.request(replace(batch, least=0))

    def item(self, page: RDFPage, iri: str, request: Request | None) -> Iterator[Dataset]:
        try:
            dataset = page.record(iri).item()
        except AnswerError as error:
            self.crawl.failed("parse", error, request, dataset_id=iri, missing="dataset")
            return
        dataset.metadata_source, dataset.metadata_url, dataset.retrieved = page.source, self.endpoint.url, now()
        yield dataset

    def not_answered(self, failure: Failure) -> Iterator[Request]:
        request = failures.request(failure)
        batch = Batch(**request.cb_kwargs["batch"])
        yield from self.retry(batch, request, failures.from_failure(failure), failures.status(failure))

    def retry(
        self, batch: Batch, request: Request | None, error: AnswerError, status: int | None, *, is_part: bool = False
    ) -> Iterator[Request]:
        """Yield the requests that may get what an answer lacks; report the datasets if there are none.

        Args:
            is_part: whether the answer has other datasets of the batch, so that one that it lacks may have been cut.
        """
        if error.kind in _HOPELESS or (self.failed >= PATIENCE and len(batch.iris) > 1):
            self.report(batch, request, error, status)
        elif batch.form == "construct" and self.may_describe(batch, error, status):
            self.form = "construct" if self.has_constructed else "describe"
            yield self.request(replace(batch, form="describe"))
        elif len(batch.iris) == 1 and not is_part:
            self.failed += 1
            self.report(batch, request, error, status)
        else:
            yield from self.halves(batch, error)

    def may_describe(self, batch: Batch, error: AnswerError, status: int | None) -> bool:
        """Return whether DESCRIBE may be answered: CONSTRUCT never was, or fails for a single dataset."""
        if self.has_constructed:
            return len(batch.iris) == 1 and error.kind in (*_REFUSES, "truncated")
        return error.kind in _REFUSES and (status is None or status < 500 or status == 501)

    def halves(self, batch: Batch, error: AnswerError) -> Iterator[Request]:
        """Yield the requests for both halves of a batch; later batches are smaller if the answer was cut."""
        middle = (len(batch.iris) + 1) // 2
        if error.kind == "truncated":
            self.size = min(self.size, middle)
        for iris in filter(None, (batch.iris[:middle], batch.iris[middle:])):
            yield self.request(replace(batch, iris=iris, least=None))

    def report(self, batch: Batch, request: Request | None, error: AnswerError, status: int | None) -> None:
        for iri in batch.iris:
            self.crawl.failed("fetch", error, request, http_status=status, dataset_id=iri, missing="dataset")


def _cut(size: int, wanted: str) -> AnswerError:
    return AnswerError("truncated", f"the answer has {size} triples, not {wanted}")
